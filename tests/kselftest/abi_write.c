// SPDX-License-Identifier: GPL-2.0
/* The write forms: their headers, and who may write. */
#include <sys/uio.h>

#include "abi.h"

FIXTURE(wr)
{
	struct abi abi;
	int fd;
};

FIXTURE_SETUP(wr)
{
	abi_start(_metadata, &self->abi);
	self->fd = self->abi.fd;
}

FIXTURE_TEARDOWN(wr)
{
	abi_same(_metadata, &self->abi.base, "nothing is made here");
	abi_end(_metadata, &self->abi);
}

static struct ib_uverbs_query_port_resp port;

/* QUERY_PORT, which makes nothing: 2 + 4 words in, 10 words out. */
static void port_cmd(struct uv_write *w)
{
	struct ib_uverbs_query_port req = { .port_num = 1 };

	uv_wprep(w, IB_USER_VERBS_CMD_QUERY_PORT, &req, sizeof(req), &port,
		 sizeof(port));
}

static struct ib_uverbs_ex_query_device_resp dev;

static void dev_cmd(struct uv_write *w)
{
	struct ib_uverbs_ex_query_device req = {};

	uv_wprep(w, UV_EX(IB_USER_VERBS_EX_CMD_QUERY_DEVICE), &req,
		 sizeof(req), &dev, sizeof(dev));
}

struct wr_case {
	const char *name;
	void (*change)(struct uv_write *w);
	int want;
};

static void as_is(struct uv_write *w)
{
	(void)w;
}

static void count_0(struct uv_write *w)
{
	w->count = 0;
}

static void count_7(struct uv_write *w)
{
	w->count = 7;
}

static void count_8(struct uv_write *w)
{
	w->count = 8;
}

static void count_8_agreed(struct uv_write *w)
{
	w->count = 8;
	w->hdr.in_words = 2;
}

static void count_short(struct uv_write *w)
{
	w->count -= 4;
}

static void count_long(struct uv_write *w)
{
	w->count += 4;
}

static void count_odd(struct uv_write *w)
{
	w->count += 1;
}

static void short_agreed(struct uv_write *w)
{
	w->count -= 4;
	w->hdr.in_words -= 1;
}

static void long_zeros(struct uv_write *w)
{
	w->count += 8;
	w->hdr.in_words += 2;
}

static void long_tail(struct uv_write *w)
{
	long_zeros(w);
	w->raw[w->count - 1] = 1;
}

static void in_words_0(struct uv_write *w)
{
	w->hdr.in_words = 0;
}

static void in_words_max(struct uv_write *w)
{
	w->hdr.in_words = 0xffff;
}

static void out_words_0(struct uv_write *w)
{
	w->hdr.out_words = 0;
}

static void out_words_short(struct uv_write *w)
{
	w->hdr.out_words--;
}

static void response_null(struct uv_write *w)
{
	memset(uv_wbody(w), 0, 8);
}

static void response_unmapped(struct uv_write *w)
{
	__u64 bad = uv_u64(UV_BAD_PTR);

	memcpy(uv_wbody(w), &bad, 8);
}

static void response_kernel(struct uv_write *w)
{
	__u64 bad = 0xffff888000000000ULL;

	memcpy(uv_wbody(w), &bad, 8);
}

static void command_unused(struct uv_write *w)
{
	w->hdr.command = IB_USER_VERBS_CMD_PEEK_CQ;
}

static void command_unused_size(struct uv_write *w)
{
	command_unused(w);
	w->hdr.in_words++;
}

static void command_last(struct uv_write *w)
{
	w->hdr.command = 127;
}

static void command_255(struct uv_write *w)
{
	w->hdr.command = 255;
}

static void command_256(struct uv_write *w)
{
	w->hdr.command = 256 | IB_USER_VERBS_CMD_QUERY_PORT;
}

static void command_flag(struct uv_write *w)
{
	w->hdr.command |= 1U << 30;
}

static void command_flag_24(struct uv_write *w)
{
	w->hdr.command |= 1U << 24;
}

static const struct wr_case plain[] = {
	{ "as it should be", as_is, 0 },
	{ "0 bytes", count_0, -EINVAL },
	{ "7 bytes", count_7, -EINVAL },
	{ "8 bytes of 32", count_8, -EINVAL },
	{ "header only", count_8_agreed, -ENOSPC },
	{ "shorter than it says", count_short, -EINVAL },
	{ "longer than it says", count_long, -EINVAL },
	{ "one byte more", count_odd, -EINVAL },
	{ "short", short_agreed, -ENOSPC },
	{ "long, by zeros", long_zeros, 0 },
	{ "long, by something", long_tail, -EOPNOTSUPP },
	{ "in_words 0", in_words_0, -EINVAL },
	{ "in_words 65535", in_words_max, -EINVAL },
	{ "out_words 0", out_words_0, -ENOSPC },
	{ "out_words short", out_words_short, -ENOSPC },
	{ "response to NULL", response_null, -EFAULT },
	{ "response unmapped", response_unmapped, -EFAULT },
	{ "response to the kernel", response_kernel, -EFAULT },
	{ "a command that nobody has", command_unused, -EOPNOTSUPP },
	{ "and of another size", command_unused_size, -EINVAL },
	{ "command 127", command_last, -EOPNOTSUPP },
	{ "command 255", command_255, -EOPNOTSUPP },
	{ "command beyond a byte", command_256, -EINVAL },
	{ "command with bit 30", command_flag, -EINVAL },
	{ "command with bit 24", command_flag_24, -EINVAL },
};

TEST_F(wr, plain)
{
	struct uv_write w;
	size_t i;
	int ret;

	for (i = 0; i < ARRAY_SIZE(plain); i++) {
		port_cmd(&w);
		plain[i].change(&w);
		ret = uv_wsend(self->fd, &w);
		ABI_EXPECT(plain[i].want, ret, plain[i].name);
	}
}

static void ex_header_short(struct uv_write *w)
{
	w->count = sizeof(w->hdr) + sizeof(w->ex) - 1;
}

static void ex_header_only(struct uv_write *w)
{
	w->count = sizeof(w->hdr) + sizeof(w->ex);
}

/* No least size: what is not there is zero. */
static void ex_header_agreed(struct uv_write *w)
{
	ex_header_only(w);
	w->hdr.in_words = 0;
}

static void ex_count_long(struct uv_write *w)
{
	w->count += 8;
}

static void ex_provider_words(struct uv_write *w)
{
	w->ex.provider_in_words = 1;
}

static void ex_provider_agreed(struct uv_write *w)
{
	w->ex.provider_in_words = 1;
	w->count += 8;
}

static void ex_words_max(struct uv_write *w)
{
	w->hdr.in_words = 0xffff;
	w->ex.provider_in_words = 0xffff;
}

static void ex_reserved(struct uv_write *w)
{
	w->ex.cmd_hdr_reserved = 1;
}

static void ex_no_response(struct uv_write *w)
{
	w->ex.response = 0;
}

static void ex_no_out_words(struct uv_write *w)
{
	w->hdr.out_words = 0;
}

static void ex_neither(struct uv_write *w)
{
	w->ex.response = 0;
	w->hdr.out_words = 0;
}

static void ex_provider_out_only(struct uv_write *w)
{
	w->hdr.out_words = 0;
	w->ex.provider_out_words = 1;
}

static void ex_unmapped(struct uv_write *w)
{
	w->ex.response = uv_u64(UV_BAD_PTR);
}

static void ex_kernel(struct uv_write *w)
{
	w->ex.response = 0xffff888000000000ULL;
}

static void ex_end_of_space(struct uv_write *w)
{
	w->ex.response = 0x7ffffffffff8ULL;
}

static void ex_long_zeros(struct uv_write *w)
{
	w->count += 8;
	w->hdr.in_words++;
}

static void ex_long_tail(struct uv_write *w)
{
	ex_long_zeros(w);
	w->raw[w->count - 1] = 1;
}

static void ex_unknown(struct uv_write *w)
{
	w->hdr.command = UV_EX(127);
}

/*
 * There is a plain GET_CONTEXT, but no extended one.  What there is not has a
 * plain header.
 */
static void ex_of_a_plain_one(struct uv_write *w)
{
	w->hdr.command = UV_EX(IB_USER_VERBS_CMD_GET_CONTEXT);
}

static void ex_of_a_plain_one_sized(struct uv_write *w)
{
	ex_of_a_plain_one(w);
	w->hdr.in_words = w->count / 4;
}

static const struct wr_case extended[] = {
	{ "as it should be", as_is, 0 },
	{ "header one byte short", ex_header_short, -EINVAL },
	{ "no request", ex_header_only, -EINVAL },
	{ "no request, as it says", ex_header_agreed, 0 },
	{ "longer than it says", ex_count_long, -EINVAL },
	{ "provider words that are not there", ex_provider_words, -EINVAL },
	{ "provider words", ex_provider_agreed, 0 },
	{ "as many words as can be", ex_words_max, -EINVAL },
	{ "reserved", ex_reserved, -EINVAL },
	{ "out_words without response", ex_no_response, -EINVAL },
	{ "response without out_words", ex_no_out_words, -EINVAL },
	{ "neither", ex_neither, 0 },
	{ "the provider's only", ex_provider_out_only, 0 },
	{ "response unmapped", ex_unmapped, -EFAULT },
	{ "response to the kernel", ex_kernel, -EFAULT },
	{ "response across the end", ex_end_of_space, -EFAULT },
	{ "long, by zeros", ex_long_zeros, 0 },
	{ "long, by something", ex_long_tail, -EOPNOTSUPP },
	{ "unknown", ex_unknown, -EOPNOTSUPP },
	{ "a plain one", ex_of_a_plain_one, -EINVAL },
	{ "a plain one's size", ex_of_a_plain_one_sized, -EOPNOTSUPP },
};

TEST_F(wr, extended)
{
	struct uv_write w;
	size_t i;
	int ret;

	for (i = 0; i < ARRAY_SIZE(extended); i++) {
		dev_cmd(&w);
		extended[i].change(&w);
		ret = uv_wsend(self->fd, &w);
		ABI_EXPECT(extended[i].want, ret, extended[i].name);
	}
}

TEST_F(wr, unmapped_commands)
{
	size_t page = getpagesize();
	char *map = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct uv_write w;
	size_t there;

	ASSERT_EQ(0, munmap(map + page, page));
	EXPECT_EQ(-1, write(self->fd, UV_BAD_PTR, 32));
	EXPECT_EQ(EFAULT, errno);
	port_cmd(&w);
	/* As much of the command is there as this says. */
	for (there = 4; there < w.count; there += 4) {
		memcpy(map + page - there, w.raw, there);
		EXPECT_EQ(-1, write(self->fd, map + page - there, w.count));
		EXPECT_EQ(EFAULT, errno);
	}
	dev_cmd(&w);
	for (there = 4; there < w.count; there += 4) {
		memcpy(map + page - there, w.raw, there);
		EXPECT_EQ(-1, write(self->fd, map + page - there, w.count));
		EXPECT_EQ(EFAULT, errno);
	}
}

/* rdma-core 18 and 19 sent it with 16 bytes, and must work. */
TEST_F(wr, destroy_cq_of_16_bytes)
{
	struct ib_uverbs_destroy_cq_resp resp = {};
	struct ib_uverbs_destroy_cq req = {};
	struct uv_write w;
	struct uv_cq cq;

	ASSERT_EQ(0, uv_cq_create(self->fd, 16, -1, 0, &cq));
	req.cq_handle = cq.handle;
	uv_wprep(&w, IB_USER_VERBS_CMD_DESTROY_CQ, &req, sizeof(req), &resp,
		 sizeof(resp));
	w.count = 16;
	w.hdr.in_words = 4;
	/* It does not reach to the handle: the two words after it are read. */
	EXPECT_EQ(0, uv_wsend(self->fd, &w));
	EXPECT_EQ(-ENOENT, uv_cq_destroy(self->fd, cq.handle, NULL));
}

TEST_F(wr, other_ways_to_write_and_read)
{
	struct uv_write w;
	struct iovec iov;

	port_cmd(&w);
	iov = (struct iovec){ w.raw, w.count };
	EXPECT_EQ(-1, pwrite(self->fd, w.raw, w.count, 0));
	EXPECT_EQ(ESPIPE, errno);
	EXPECT_EQ((ssize_t)w.count, writev(self->fd, &iov, 1));
	EXPECT_EQ(-1, read(self->fd, w.raw, w.count));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(-1, lseek(self->fd, 0, SEEK_SET));
	EXPECT_EQ(ESPIPE, errno);
}

/* For ioctl() a file that was opened to read is as good as any. */
TEST_F(wr, read_only_file)
{
	struct uv_dev d;
	struct uv_write w;
	__u64 core_support;
	__u32 num_comp;
	int fd;

	ASSERT_EQ(0, uv_dev_find(&d));
	fd = open(d.node, O_RDONLY);
	ASSERT_LE(0, fd);
	EXPECT_EQ(0, uv_get_context(fd, &num_comp, &core_support));
	port_cmd(&w);
	EXPECT_EQ(-EBADF, uv_wsend(fd, &w));
	close(fd);
}

TEST_HARNESS_MAIN
