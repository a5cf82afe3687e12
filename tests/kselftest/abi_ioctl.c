// SPDX-License-Identifier: GPL-2.0
/*
 * The ioctl form: what a header and its attributes may be.  None of it
 * depends on the method, so that a query, a creation of a CQ and one of a QP
 * stand for all.
 */
#include "abi.h"

ABI_FIXTURE(ioctl);

/* QUERY_GID_ENTRY: two constants, flags and an output structure. */
static void gid_cmd(struct uv_cmd *cmd, struct ib_uverbs_gid_entry *entry)
{
	uv_init(cmd, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_GID_ENTRY);
	uv_const(cmd, UVERBS_ATTR_QUERY_GID_ENTRY_PORT, 1);
	uv_const(cmd, UVERBS_ATTR_QUERY_GID_ENTRY_GID_INDEX, 0);
	uv_const(cmd, UVERBS_ATTR_QUERY_GID_ENTRY_FLAGS, 0);
	uv_out(cmd, UVERBS_ATTR_QUERY_GID_ENTRY_RESP_ENTRY, entry,
	       sizeof(*entry));
}

TEST_F(ioctl, other_number_is_refused)
{
	struct ib_uverbs_gid_entry entry;
	struct uv_cmd cmd;

	gid_cmd(&cmd, &entry);
	EXPECT_EQ(-1, ioctl(self->fd, RDMA_VERBS_IOCTL + 1, &cmd));
	EXPECT_EQ(ENOTTY, errno);
	EXPECT_EQ(-1, ioctl(self->fd, 0, &cmd));
	EXPECT_EQ(ENOTTY, errno);
	EXPECT_EQ(0, uv_ioctl(self->fd, &cmd));
}

#define LEN(n) (sizeof(struct ib_uverbs_ioctl_hdr) + \
		(n) * sizeof(struct ib_uverbs_attr))

struct header_case {
	const char *name;
	__u16 length, object, method, num_attrs;
	__u64 reserved1;
	__u32 driver, reserved2;
	int want;
};

#define DEV UVERBS_OBJECT_DEVICE
#define GID UVERBS_METHOD_QUERY_GID_ENTRY
#define RXE UV_DRIVER

static const struct header_case headers[] = {
	{ "good", LEN(4), DEV, GID, 4, 0, RXE, 0, 0 },
	{ "length 0", 0, DEV, GID, 4, 0, RXE, 0, -EINVAL },
	{ "no attributes' length", LEN(0), DEV, GID, 4, 0, RXE, 0, -EINVAL },
	{ "one byte short", LEN(4) - 1, DEV, GID, 4, 0, RXE, 0, -EINVAL },
	{ "one byte long", LEN(4) + 1, DEV, GID, 4, 0, RXE, 0, -EINVAL },
	{ "one attribute long", LEN(5), DEV, GID, 4, 0, RXE, 0, -EINVAL },
	{ "one more counted", LEN(4), DEV, GID, 5, 0, RXE, 0, -EINVAL },
	{ "more than a page", LEN(255), DEV, GID, 255, 0, RXE, 0, -EINVAL },
	{ "count of 65535", LEN(4), DEV, GID, 65535, 0, RXE, 0, -EINVAL },
	{ "count that wraps 16 bits", 8, DEV, GID, 4095, 0, RXE, 0, -EINVAL },
	{ "no attribute", LEN(0), DEV, GID, 0, 0, RXE, 0, -EINVAL },
	{ "a mandatory one missing", LEN(3), DEV, GID, 3, 0, RXE, 0, -EINVAL },
	{ "reserved1", LEN(4), DEV, GID, 4, 1, RXE, 0, -EPROTONOSUPPORT },
	{ "reserved1 high", LEN(4), DEV, GID, 4, 1ULL << 63, RXE, 0,
	  -EPROTONOSUPPORT },
	{ "reserved2", LEN(4), DEV, GID, 4, 0, RXE, 1, -EPROTONOSUPPORT },
	{ "driver 0", LEN(4), DEV, GID, 4, 0, 0, 0, -EINVAL },
	{ "another driver", LEN(4), DEV, GID, 4, 0, RXE ^ 1, 0, -EINVAL },
	{ "driver ~0", LEN(4), DEV, GID, 4, 0, ~0U, 0, -EINVAL },
	{ "unknown object", LEN(4), 99, GID, 4, 0, RXE, 0, -EPROTONOSUPPORT },
	{ "a driver's object", LEN(4), 0x1000, 0, 4, 0, RXE, 0,
	  -EPROTONOSUPPORT },
	{ "object 0xffff", LEN(4), 0xffff, 0, 4, 0, RXE, 0, -EPROTONOSUPPORT },
	{ "unknown method", LEN(4), DEV, 99, 4, 0, RXE, 0, -EPROTONOSUPPORT },
	{ "method 0xffff", LEN(4), DEV, 0xffff, 4, 0, RXE, 0,
	  -EPROTONOSUPPORT },
	/* In which order they are looked at. */
	{ "length before reserved", LEN(3), DEV, GID, 4, 1, RXE, 0, -EINVAL },
	{ "reserved before driver", LEN(4), DEV, GID, 4, 1, 0, 0,
	  -EPROTONOSUPPORT },
	{ "driver before object", LEN(4), 99, GID, 4, 0, 0, 0, -EINVAL },
};

TEST_F(ioctl, header)
{
	struct ib_uverbs_gid_entry entry;
	const struct header_case *c;
	struct uv_cmd cmd;
	size_t i;
	int ret;

	for (i = 0; i < ARRAY_SIZE(headers); i++) {
		c = &headers[i];
		gid_cmd(&cmd, &entry);
		cmd.hdr.length = c->length;
		cmd.hdr.object_id = c->object;
		cmd.hdr.method_id = c->method;
		cmd.hdr.num_attrs = c->num_attrs;
		cmd.hdr.reserved1 = c->reserved1;
		cmd.hdr.driver_id = c->driver;
		cmd.hdr.reserved2 = c->reserved2;
		ret = uv_ioctl_raw(self->fd, &cmd);
		ABI_EXPECT(c->want, ret, c->name);
		abi_same(_metadata, &self->abi.base, c->name);
	}
}

/* Two pages, of which the second is not there. */
static char *edge(void)
{
	size_t page = getpagesize();
	char *map = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	munmap(map + page, page);
	return map + page;
}

TEST_F(ioctl, header_in_unmapped_memory)
{
	struct ib_uverbs_gid_entry entry;
	struct uv_cmd cmd;
	char *end = edge();

	EXPECT_EQ(-EFAULT, uv_ioctl_raw(self->fd, NULL));
	EXPECT_EQ(-EFAULT, uv_ioctl_raw(self->fd, UV_BAD_PTR));
	EXPECT_EQ(-EFAULT, uv_ioctl_raw(self->fd, (void *)~0UL));

	/* The header's last byte is not there. */
	gid_cmd(&cmd, &entry);
	cmd.hdr.length = LEN(4);
	memcpy(end - LEN(0) + 1, &cmd, LEN(0) - 1);
	EXPECT_EQ(-EFAULT, uv_ioctl_raw(self->fd, end - LEN(0) + 1));

	/* The last attribute is not there. */
	memcpy(end - LEN(3), &cmd, LEN(3));
	EXPECT_EQ(-EFAULT, uv_ioctl_raw(self->fd, end - LEN(3)));

	/* All is there, and not a byte more is read. */
	memcpy(end - LEN(4), &cmd, LEN(4));
	EXPECT_EQ(0, uv_ioctl_raw(self->fd, end - LEN(4)));
	abi_same(_metadata, &self->abi.base, "unmapped header");
}

struct attr_case {
	const char *name;
	void (*change)(struct uv_cmd *cmd);
	int want;
};

static struct ib_uverbs_attr *port_attr(struct uv_cmd *cmd)
{
	return uv_find(cmd, UVERBS_ATTR_QUERY_GID_ENTRY_PORT);
}

static struct ib_uverbs_attr *flags_attr(struct uv_cmd *cmd)
{
	return uv_find(cmd, UVERBS_ATTR_QUERY_GID_ENTRY_FLAGS);
}

static struct ib_uverbs_attr *entry_attr(struct uv_cmd *cmd)
{
	return uv_find(cmd, UVERBS_ATTR_QUERY_GID_ENTRY_RESP_ENTRY);
}

static void unknown_mandatory(struct uv_cmd *cmd)
{
	uv_const(cmd, 40, 0);
}

static void unknown_optional(struct uv_cmd *cmd)
{
	uv_const(cmd, 40, 0)->flags = 0;
}

/* It is not looked into, either. */
static void unknown_optional_garbage(struct uv_cmd *cmd)
{
	struct ib_uverbs_attr *attr = uv_attr(cmd, 40, 0xffff, ~0ULL);

	attr->flags = 0;
	attr->attr_data.reserved = 0xffff;
}

static void unknown_twice(struct uv_cmd *cmd)
{
	unknown_optional(cmd);
	unknown_optional(cmd);
}

static void unknown_in_driver_ns(struct uv_cmd *cmd)
{
	uv_const(cmd, 0x1005, 0);
}

static void unknown_0xffff(struct uv_cmd *cmd)
{
	uv_const(cmd, 0xffff, 0);
}

static void unknown_0xffff_optional(struct uv_cmd *cmd)
{
	uv_const(cmd, 0xffff, 0)->flags = 0;
}

/* The method has no driver data. */
static void uhw_where_none_is(struct uv_cmd *cmd)
{
	uv_const(cmd, UVERBS_ATTR_UHW_IN, 0);
}

static void known_twice(struct uv_cmd *cmd)
{
	uv_const(cmd, UVERBS_ATTR_QUERY_GID_ENTRY_PORT, 1);
}

static void known_twice_optional(struct uv_cmd *cmd)
{
	uv_const(cmd, UVERBS_ATTR_QUERY_GID_ENTRY_PORT, 1)->flags = 0;
}

static void other_flags(struct uv_cmd *cmd)
{
	port_attr(cmd)->flags = 0xfffe;
}

static void reserved_const(struct uv_cmd *cmd)
{
	port_attr(cmd)->attr_data.reserved = 1;
}

static void reserved_out(struct uv_cmd *cmd)
{
	entry_attr(cmd)->attr_data.reserved = 0x100;
}

static void const_4_bytes(struct uv_cmd *cmd)
{
	port_attr(cmd)->len = 4;
}

static void const_0_bytes(struct uv_cmd *cmd)
{
	port_attr(cmd)->len = 0;
}

static void const_9_bytes(struct uv_cmd *cmd)
{
	port_attr(cmd)->len = 9;
}

static void const_too_big(struct uv_cmd *cmd)
{
	port_attr(cmd)->data = 1ULL << 32 | 1;
}

static void flags_4_bytes(struct uv_cmd *cmd)
{
	flags_attr(cmd)->len = 4;
}

static void flags_2_bytes(struct uv_cmd *cmd)
{
	flags_attr(cmd)->len = 2;
}

static void flags_unknown(struct uv_cmd *cmd)
{
	flags_attr(cmd)->data = 1;
}

static void flags_unknown_high(struct uv_cmd *cmd)
{
	flags_attr(cmd)->data = 1ULL << 63;
}

static void out_short(struct uv_cmd *cmd)
{
	entry_attr(cmd)->len = 19;
}

static void out_0_bytes(struct uv_cmd *cmd)
{
	entry_attr(cmd)->len = 0;
}

static void out_unmapped(struct uv_cmd *cmd)
{
	entry_attr(cmd)->data = uv_u64(UV_BAD_PTR);
}

static void out_kernel_address(struct uv_cmd *cmd)
{
	entry_attr(cmd)->data = 0xffff888000000000ULL;
}

static void missing(struct uv_cmd *cmd)
{
	uv_drop(cmd, UVERBS_ATTR_QUERY_GID_ENTRY_PORT);
}

static const struct attr_case attrs[] = {
	{ "unknown, mandatory", unknown_mandatory, -EPROTONOSUPPORT },
	{ "unknown, optional", unknown_optional, 0 },
	{ "unknown, optional, garbage", unknown_optional_garbage, 0 },
	{ "unknown, twice", unknown_twice, 0 },
	{ "unknown, a driver's", unknown_in_driver_ns, -EPROTONOSUPPORT },
	{ "0xffff, mandatory", unknown_0xffff, -EPROTONOSUPPORT },
	{ "0xffff, optional", unknown_0xffff_optional, 0 },
	{ "driver data where none is", uhw_where_none_is, -EPROTONOSUPPORT },
	{ "twice", known_twice, -EINVAL },
	{ "twice, optional", known_twice_optional, -EINVAL },
	{ "flags that mean nothing", other_flags, 0 },
	{ "constant: reserved", reserved_const, -EINVAL },
	{ "constant: 4 bytes", const_4_bytes, -EINVAL },
	{ "constant: 0 bytes", const_0_bytes, -EINVAL },
	{ "constant: 9 bytes", const_9_bytes, -EINVAL },
	{ "constant: beyond its type", const_too_big, -EINVAL },
	{ "flags: 4 bytes", flags_4_bytes, 0 },
	{ "flags: 2 bytes", flags_2_bytes, -EINVAL },
	{ "flags: unknown", flags_unknown, -EINVAL },
	{ "flags: unknown, high", flags_unknown_high, -EINVAL },
	{ "output: reserved", reserved_out, -EINVAL },
	{ "output: too short", out_short, -EINVAL },
	{ "output: 0 bytes", out_0_bytes, -EINVAL },
	{ "output: unmapped", out_unmapped, -EFAULT },
	{ "output: kernel's address", out_kernel_address, -EFAULT },
	{ "missing", missing, -EINVAL },
};

TEST_F(ioctl, attributes)
{
	struct ib_uverbs_gid_entry entry;
	struct uv_cmd cmd;
	size_t i;
	int ret;

	for (i = 0; i < ARRAY_SIZE(attrs); i++) {
		gid_cmd(&cmd, &entry);
		attrs[i].change(&cmd);
		ret = uv_ioctl(self->fd, &cmd);
		ABI_EXPECT(attrs[i].want, ret, attrs[i].name);
		abi_same(_metadata, &self->abi.base, attrs[i].name);
	}
}

TEST_F(ioctl, attributes_come_in_any_order)
{
	struct ib_uverbs_gid_entry entry, reversed;
	struct ib_uverbs_attr tmp;
	struct uv_cmd cmd;
	int i;

	gid_cmd(&cmd, &entry);
	ASSERT_EQ(0, uv_ioctl(self->fd, &cmd));
	gid_cmd(&cmd, &reversed);
	for (i = 0; i < 2; i++) {
		tmp = cmd.hdr.attrs[i];
		cmd.hdr.attrs[i] = cmd.hdr.attrs[3 - i];
		cmd.hdr.attrs[3 - i] = tmp;
	}
	ASSERT_EQ(0, uv_ioctl(self->fd, &cmd));
	EXPECT_EQ(0, memcmp(&entry, &reversed, sizeof(entry)));
}

/* As many attributes as fit in a page, all but the first four unknown. */
TEST_F(ioctl, a_page_of_attributes)
{
	struct ib_uverbs_gid_entry entry;
	__u64 raw[LEN(254) / 8] = {};
	struct ib_uverbs_ioctl_hdr *hdr = (void *)raw;
	struct uv_cmd cmd;
	int i;

	gid_cmd(&cmd, &entry);
	memcpy(raw, &cmd, LEN(4));
	hdr->num_attrs = 254;
	hdr->length = LEN(254);
	for (i = 4; i < 254; i++)
		hdr->attrs[i].attr_id = 40 + i;
	EXPECT_EQ(0, uv_ioctl_raw(self->fd, raw));
	hdr->attrs[253].flags = UVERBS_ATTR_F_MANDATORY;
	EXPECT_EQ(-EPROTONOSUPPORT, uv_ioctl_raw(self->fd, raw));
}

/* The part that the kernel does not know is zeroed, and marked as written. */
TEST_F(ioctl, long_output_is_zeroed)
{
	struct {
		struct ib_uverbs_gid_entry entry;
		__u8 tail[40];
	} out, zero = {};
	struct uv_cmd cmd;

	memset(&out, 0xaa, sizeof(out));
	gid_cmd(&cmd, &out.entry);
	entry_attr(&cmd)->len = sizeof(out);
	ASSERT_EQ(0, uv_ioctl(self->fd, &cmd));
	EXPECT_EQ(0, memcmp(out.tail, zero.tail, sizeof(out.tail)));
	EXPECT_EQ(1, out.entry.port_num);
	EXPECT_EQ(UVERBS_ATTR_F_MANDATORY | UVERBS_ATTR_F_VALID_OUTPUT,
		  entry_attr(&cmd)->flags);
	EXPECT_EQ(UVERBS_ATTR_F_MANDATORY, port_attr(&cmd)->flags);
}

/* Where the structure fits, but not the zeros. */
TEST_F(ioctl, long_output_in_unmapped_memory)
{
	char *end = edge();
	struct uv_cmd cmd;

	gid_cmd(&cmd, (void *)(end - sizeof(struct ib_uverbs_gid_entry)));
	EXPECT_EQ(0, uv_ioctl(self->fd, &cmd));
	entry_attr(&cmd)->len += 1;
	EXPECT_EQ(-EFAULT, uv_ioctl(self->fd, &cmd));
	entry_attr(&cmd)->len = 0xffff;
	EXPECT_EQ(-EFAULT, uv_ioctl(self->fd, &cmd));
}

TEST_F(ioctl, failure_marks_nothing)
{
	struct ib_uverbs_gid_entry entry;
	struct uv_cmd cmd;

	gid_cmd(&cmd, &entry);
	port_attr(&cmd)->data = 2;
	ASSERT_EQ(-EINVAL, uv_ioctl(self->fd, &cmd));
	EXPECT_EQ(UVERBS_ATTR_F_MANDATORY, entry_attr(&cmd)->flags);
}

TEST_F(ioctl, other_files)
{
	struct ib_uverbs_gid_entry entry;
	struct uv_cmd cmd;
	int fd;

	gid_cmd(&cmd, &entry);
	EXPECT_EQ(-EBADF, uv_ioctl(-1, &cmd));
	EXPECT_EQ(-ENOTTY, uv_ioctl(self->abi.ctx.async_fd, &cmd));
	fd = open("/dev/null", O_RDWR);
	EXPECT_EQ(-ENOTTY, uv_ioctl(fd, &cmd));
	close(fd);
}

TEST_HARNESS_MAIN
