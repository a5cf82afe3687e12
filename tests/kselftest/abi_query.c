// SPDX-License-Identifier: GPL-2.0
/* The queries of a device: its attributes, its ports, its GIDs. */
#include <stddef.h>

#include "abi.h"

FIXTURE(query)
{
	struct abi abi;
	int fd;
};

FIXTURE_VARIANT(query)
{
	enum uv_form form;
};

FIXTURE_VARIANT_ADD(query, write)
{
	.form = UV_WRITE,
};

FIXTURE_VARIANT_ADD(query, invoke)
{
	.form = UV_INVOKE,
};

FIXTURE_SETUP(query)
{
	abi_start(_metadata, &self->abi);
	self->fd = self->abi.fd;
}

FIXTURE_TEARDOWN(query)
{
	abi_same(_metadata, &self->abi.base, "queries");
	abi_end(_metadata, &self->abi);
}

/* A query with responses of any length; 0xaa shows what was not written. */
static int query(int fd, enum uv_form form, __u32 command, const void *req,
		 size_t req_len, void *resp, size_t resp_len)
{
	struct uv_call call = {
		.command = command,
		.req = req, .req_len = req_len,
		.resp = resp, .resp_len = resp_len,
	};

	memset(resp, 0xaa, resp_len);
	return uv_call(fd, form, &call);
}

static bool all_zero(const void *ptr, size_t len)
{
	const __u8 *at = ptr;

	while (len--)
		if (*at++)
			return false;
	return true;
}

TEST_F(query, device)
{
	struct ib_uverbs_query_device req = {};
	struct {
		struct ib_uverbs_query_device_resp dev;
		__u8 tail[64];
	} r;
	const __u32 cmd = IB_USER_VERBS_CMD_QUERY_DEVICE;
	enum uv_form form = variant->form;

	ASSERT_EQ(0, query(self->fd, form, cmd, &req, sizeof(req), &r.dev,
			   sizeof(r.dev)));
	EXPECT_EQ(1, r.dev.phys_port_cnt);
	EXPECT_EQ(0xffffff, r.dev.vendor_id);
	EXPECT_NE(0, r.dev.node_guid);
	EXPECT_LT(16, r.dev.max_qp);
	EXPECT_EQ(32, r.dev.max_sge);
	EXPECT_EQ(64, r.dev.max_pkeys);
	EXPECT_TRUE(all_zero(r.dev.reserved, sizeof(r.dev.reserved)));
	/* A longer answer than the kernel knows is filled with zeros. */
	ASSERT_EQ(0, query(self->fd, form, cmd, &req, sizeof(req), &r,
			   sizeof(r)));
	EXPECT_TRUE(all_zero(r.tail, sizeof(r.tail)));
	EXPECT_EQ(-ENOSPC, query(self->fd, form, cmd, &req, sizeof(req),
				 &r, sizeof(r.dev) - 4));
	EXPECT_EQ(-ENOSPC, query(self->fd, form, cmd, &req, sizeof(req),
				 &r, 0));
}

TEST_F(query, device_to_unmapped_memory)
{
	struct ib_uverbs_query_device req = {};
	struct uv_call call = {
		.command = IB_USER_VERBS_CMD_QUERY_DEVICE,
		.req = &req, .req_len = sizeof(req),
		.resp = UV_BAD_PTR,
		.resp_len = sizeof(struct ib_uverbs_query_device_resp),
	};
	struct uv_write w;

	EXPECT_EQ(-EFAULT, uv_call(self->fd, UV_INVOKE, &call));
	uv_wprep(&w, call.command, &req, sizeof(req), UV_BAD_PTR,
		 call.resp_len);
	EXPECT_EQ(-EFAULT, uv_wsend(self->fd, &w));
}

TEST_F(query, device_ex)
{
	struct ib_uverbs_ex_query_device req = {};
	struct ib_uverbs_ex_query_device_resp resp, want;
	const __u32 cmd = UV_EX(IB_USER_VERBS_EX_CMD_QUERY_DEVICE);
	const size_t head = offsetof(struct ib_uverbs_ex_query_device_resp,
				     odp_caps);
	enum uv_form form = variant->form;

	ASSERT_EQ(0, query(self->fd, form, cmd, &req, sizeof(req), &want,
			   sizeof(want)));
	EXPECT_EQ(sizeof(want), want.response_length);
	EXPECT_EQ(0, want.comp_mask);
	EXPECT_EQ(1, want.base.phys_port_cnt);
	/* An older program knows less of it, and is told how much it got. */
	memset(&resp, 0xaa, sizeof(resp));
	ASSERT_EQ(0, query(self->fd, form, cmd, &req, sizeof(req), &resp, head));
	EXPECT_EQ(head, resp.response_length);
	EXPECT_EQ(want.base.node_guid, resp.base.node_guid);
	EXPECT_EQ(0xaa, *((__u8 *)&resp + head));
	/* Extended commands have no least size: what does not fit is cut. */
	EXPECT_EQ(0, query(self->fd, form, cmd, &req, sizeof(req), &resp, 8));
	EXPECT_EQ(want.base.fw_ver, resp.base.fw_ver);
	EXPECT_EQ(0, query(self->fd, form, cmd, &req, 0, &resp, sizeof(resp)));
	EXPECT_EQ(want.base.node_guid, resp.base.node_guid);
}

TEST_F(query, device_ex_bad_input)
{
	struct {
		struct ib_uverbs_ex_query_device req;
		__u64 tail;
	} req = {};
	struct ib_uverbs_ex_query_device_resp resp;
	const __u32 cmd = UV_EX(IB_USER_VERBS_EX_CMD_QUERY_DEVICE);
	enum uv_form form = variant->form;

	req.req.comp_mask = 1;
	EXPECT_EQ(-EINVAL, query(self->fd, form, cmd, &req, sizeof(req.req),
				 &resp, sizeof(resp)));
	req.req.comp_mask = 0;
	req.req.reserved = 1;
	EXPECT_EQ(-EINVAL, query(self->fd, form, cmd, &req, sizeof(req.req),
				 &resp, sizeof(resp)));
	/* A newer program may say more, if that is nothing. */
	req.req.reserved = 0;
	EXPECT_EQ(0, query(self->fd, form, cmd, &req, sizeof(req), &resp,
			   sizeof(resp)));
	req.tail = 1;
	EXPECT_EQ(-EOPNOTSUPP, query(self->fd, form, cmd, &req, sizeof(req),
				     &resp, sizeof(resp)));
}

TEST_F(query, port)
{
	struct ib_uverbs_query_port req = { .port_num = 1 };
	struct ib_uverbs_query_port_resp resp;
	const __u32 cmd = IB_USER_VERBS_CMD_QUERY_PORT;
	enum uv_form form = variant->form;
	const __u8 bad[] = { 0, 2, 128, 255 };
	size_t i;

	ASSERT_EQ(0, query(self->fd, form, cmd, &req, sizeof(req), &resp,
			   sizeof(resp)));
	EXPECT_EQ(4, resp.state);	/* active */
	EXPECT_EQ(2, resp.link_layer);	/* Ethernet */
	EXPECT_EQ(1024, resp.gid_tbl_len);
	EXPECT_LE(1, resp.active_mtu);
	EXPECT_GE(5, resp.active_mtu);
	EXPECT_EQ(IB_UVERBS_QPF_GRH_REQUIRED, resp.flags);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		req.port_num = bad[i];
		EXPECT_EQ(-EINVAL, query(self->fd, form, cmd, &req,
					 sizeof(req), &resp, sizeof(resp)));
	}
	req.port_num = 1;
	EXPECT_EQ(-ENOSPC, query(self->fd, form, cmd, &req, sizeof(req), &resp,
				 sizeof(resp) - 4));
}

ABI_FIXTURE(query_ioctl);

static int port_query(int fd, __u64 port, __u16 port_len, void *resp,
		      __u16 resp_len)
{
	struct uv_cmd cmd;

	uv_init(&cmd, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_PORT);
	uv_const(&cmd, UVERBS_ATTR_QUERY_PORT_PORT_NUM, port)->len = port_len;
	uv_out(&cmd, UVERBS_ATTR_QUERY_PORT_RESP, resp, resp_len);
	return uv_ioctl(fd, &cmd);
}

/* Bytes of struct ib_uverbs_query_port_resp_ex up to active_speed_ex. */
#define PORT_EX 48

TEST_F(query_ioctl, port)
{
	struct {
		struct ib_uverbs_query_port_resp port;
		__u8 more[40];
	} r;

	memset(&r, 0xaa, sizeof(r));
	ASSERT_EQ(0, port_query(self->fd, 1, 8, &r, sizeof(r)));
	EXPECT_EQ(4, r.port.state);
	EXPECT_EQ(1024, r.port.gid_tbl_len);
	EXPECT_TRUE(all_zero((__u8 *)&r + PORT_EX, sizeof(r) - PORT_EX));
	EXPECT_EQ(0, port_query(self->fd, 1, 8, &r, PORT_EX));
	EXPECT_EQ(-EINVAL, port_query(self->fd, 1, 8, &r, sizeof(r.port)));
	EXPECT_EQ(-EINVAL, port_query(self->fd, 1, 8, &r, 0));
	EXPECT_EQ(-EINVAL, port_query(self->fd, 1, 1, &r, sizeof(r)));
	EXPECT_EQ(-EFAULT, port_query(self->fd, 1, 8, UV_BAD_PTR, PORT_EX));
}

TEST_F(query_ioctl, port_bad_numbers)
{
	const __u64 bad[] = { 0, 2, 255, 256, 257, 1ULL << 32 | 1, ~0ULL };
	__u8 resp[PORT_EX];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		EXPECT_EQ(-EINVAL, port_query(self->fd, bad[i], 8, resp,
					      sizeof(resp)))
		{
			TH_LOG("port %llx", bad[i]);
		}
	}
}

/* How many GIDs there are, or -errno. */
static int gid_table(int fd, __u64 entry_size, __u64 flags, void *entries,
		     __u16 len)
{
	struct uv_cmd cmd;
	__u64 num = ~0ULL;
	int ret;

	uv_init(&cmd, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_GID_TABLE);
	uv_const(&cmd, UVERBS_ATTR_QUERY_GID_TABLE_ENTRY_SIZE, entry_size);
	uv_const(&cmd, UVERBS_ATTR_QUERY_GID_TABLE_FLAGS, flags);
	uv_out(&cmd, UVERBS_ATTR_QUERY_GID_TABLE_RESP_ENTRIES, entries, len);
	uv_out(&cmd, UVERBS_ATTR_QUERY_GID_TABLE_RESP_NUM_ENTRIES, &num,
	       sizeof(num));
	ret = uv_ioctl(fd, &cmd);
	return ret ? ret : (int)num;
}

#define GID_SIZE sizeof(struct ib_uverbs_gid_entry)

TEST_F(query_ioctl, gid_table)
{
	struct ib_uverbs_gid_entry table[32], entry;
	int n, i;

	n = gid_table(self->fd, GID_SIZE, 0, table, sizeof(table));
	ASSERT_LE(1, n);
	ASSERT_GE(32, n);
	for (i = 0; i < n; i++) {
		EXPECT_EQ(1, table[i].port_num);
		memset(&entry, 0xaa, sizeof(entry));
		ASSERT_EQ(0, uv_gid_entry(self->fd, 1, table[i].gid_index,
					  &entry));
		EXPECT_EQ(0, memcmp(&table[i], &entry, sizeof(entry)));
		EXPECT_FALSE(all_zero(entry.gid, sizeof(entry.gid)));
		EXPECT_NE(0, entry.netdev_ifindex);
	}
}

/* What is allocated for the answer depends on the caller's numbers. */
TEST_F(query_ioctl, gid_table_of_single_bytes)
{
	struct ib_uverbs_gid_entry table[32];
	static __u8 bytes[0xffff];
	int n, i;

	n = gid_table(self->fd, GID_SIZE, 0, table, sizeof(table));
	ASSERT_LE(1, n);
	memset(bytes, 0xaa, sizeof(bytes));
	ASSERT_EQ(n, gid_table(self->fd, 1, 0, bytes, sizeof(bytes)));
	for (i = 0; i < n; i++) {
		ASSERT_EQ(*(__u8 *)&table[i], bytes[i]);
	}
	EXPECT_EQ(0xaa, bytes[n]);
}

/* Programs of other ages: shorter entries are cut, longer ones padded. */
TEST_F(query_ioctl, gid_table_entry_sizes)
{
	struct ib_uverbs_gid_entry table[32];
	__u8 more[32 * (GID_SIZE + 8)], cut[32 * 16];
	int n, i;

	n = gid_table(self->fd, GID_SIZE, 0, table, sizeof(table));
	ASSERT_LE(1, n);
	memset(more, 0xaa, sizeof(more));
	EXPECT_EQ(n, gid_table(self->fd, GID_SIZE + 8, 0, more, sizeof(more)));
	EXPECT_EQ(n, gid_table(self->fd, 16, 0, cut, sizeof(cut)));
	for (i = 0; i < n; i++) {
		const __u8 *at = more + i * (GID_SIZE + 8);

		EXPECT_EQ(0, memcmp(at, &table[i], GID_SIZE));
		EXPECT_TRUE(all_zero(at + GID_SIZE, 8));
		EXPECT_EQ(0, memcmp(cut + i * 16, &table[i], 16));
	}
}

TEST_F(query_ioctl, gid_table_bad_input)
{
	struct ib_uverbs_gid_entry table[32];
	int n = gid_table(self->fd, GID_SIZE, 0, table, sizeof(table));
	const __u16 len = sizeof(table);

	ASSERT_LE(1, n);
	EXPECT_EQ(-EINVAL, gid_table(self->fd, 0, 0, table, len));
	EXPECT_EQ(-EINVAL, gid_table(self->fd, GID_SIZE, 1, table, len));
	EXPECT_EQ(-EINVAL, gid_table(self->fd, GID_SIZE, 0, table, 0));
	EXPECT_EQ(-EINVAL, gid_table(self->fd, GID_SIZE, 0, table, len - 1));
	EXPECT_EQ(-EINVAL, gid_table(self->fd, len + 1, 0, table, len));
	EXPECT_EQ(-EINVAL, gid_table(self->fd, 1ULL << 32 | GID_SIZE, 0, table,
				     len));
	EXPECT_EQ(-EINVAL, gid_table(self->fd, ~0ULL, 0, table, len));
	/* The table does not fit. */
	EXPECT_EQ(n > 1 ? -EINVAL : 1,
		  gid_table(self->fd, GID_SIZE, 0, table, GID_SIZE));
	EXPECT_EQ(-EFAULT, gid_table(self->fd, GID_SIZE, 0, UV_BAD_PTR, len));
	EXPECT_EQ(-EFAULT, gid_table(self->fd, 16, 0, UV_BAD_PTR, 32 * 16));
	abi_same(_metadata, &self->abi.base, "GID table");
}

TEST_F(query_ioctl, gid_entry_bad_input)
{
	struct ib_uverbs_gid_entry entry;
	const __u32 ports[] = { 0, 2, 255, 256, ~0U };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(ports); i++) {
		EXPECT_EQ(-EINVAL, uv_gid_entry(self->fd, ports[i], 0, &entry));
	}
	EXPECT_EQ(-EINVAL, uv_gid_entry(self->fd, 1, 1024, &entry));
	EXPECT_EQ(-EINVAL, uv_gid_entry(self->fd, 1, ~0U, &entry));
	/* A place that nothing is in. */
	EXPECT_EQ(-ENODATA, uv_gid_entry(self->fd, 1, 1023, &entry));
}

TEST_HARNESS_MAIN
