// SPDX-License-Identifier: GPL-2.0
/* Memory regions: registering in both forms, and what it is charged. */
#include "abi.h"

#define PAGE 4096UL
#define PAGES 16

FIXTURE(mr)
{
	struct abi abi;
	struct uv_res with_pd;
	char *buf;
	int fd;
	__u32 pd;
};

/* REG_MR has a method of its own, too, beside the command. */
enum { BY_WRITE, BY_INVOKE, BY_METHOD };

FIXTURE_VARIANT(mr)
{
	int how;
};

FIXTURE_VARIANT_ADD(mr, write)
{
	.how = BY_WRITE,
};

FIXTURE_VARIANT_ADD(mr, invoke)
{
	.how = BY_INVOKE,
};

FIXTURE_VARIANT_ADD(mr, method)
{
	.how = BY_METHOD,
};

FIXTURE_SETUP(mr)
{
	abi_start(_metadata, &self->abi);
	self->fd = self->abi.fd;
	ASSERT_EQ(0, uv_pd_alloc(self->fd, UV_WRITE, &self->pd));
	ASSERT_EQ(0, uv_res_get(&self->with_pd));
	self->buf = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->buf);
}

FIXTURE_TEARDOWN(mr)
{
	abi_end(_metadata, &self->abi);
	munmap(self->buf, PAGES * PAGE);
}

static void method_cmd(struct uv_cmd *cmd, const struct ib_uverbs_reg_mr *req,
		       struct uv_mr *mr)
{
	uv_init(cmd, UVERBS_OBJECT_MR, UV_METHOD_REG_MR);
	uv_idr(cmd, UV_REG_MR_HANDLE, 0);
	uv_idr(cmd, UV_REG_MR_PD_HANDLE, req->pd_handle);
	uv_const(cmd, UV_REG_MR_IOVA, req->hca_va);
	uv_const(cmd, UV_REG_MR_ADDR, req->start);
	uv_const(cmd, UV_REG_MR_LENGTH, req->length);
	uv_const(cmd, UV_REG_MR_ACCESS_FLAGS, req->access_flags);
	uv_out(cmd, UV_REG_MR_RESP_LKEY, &mr->lkey, sizeof(mr->lkey));
	uv_out(cmd, UV_REG_MR_RESP_RKEY, &mr->rkey, sizeof(mr->rkey));
}

static int reg(int fd, int how, const struct ib_uverbs_reg_mr *req,
	       struct uv_mr *mr)
{
	struct uv_cmd cmd;
	int ret;

	if (how != BY_METHOD)
		return uv_mr_call(fd, how == BY_WRITE ? UV_WRITE : UV_INVOKE,
				  req, mr);
	method_cmd(&cmd, req, mr);
	ret = uv_ioctl(fd, &cmd);
	mr->handle = uv_find(&cmd, UV_REG_MR_HANDLE)->data;
	return ret;
}

static int dereg(int fd, int how, __u32 handle)
{
	struct ib_uverbs_dereg_mr req = { .mr_handle = handle };
	struct uv_call call = {
		.command = IB_USER_VERBS_CMD_DEREG_MR,
		.req = &req, .req_len = sizeof(req),
	};

	if (how == BY_METHOD)
		return uv_mr_destroy(fd, handle);
	return uv_call(fd, how == BY_WRITE ? UV_WRITE : UV_INVOKE, &call);
}

struct query {
	__u32 lkey, rkey;
	__u64 length, iova;
};

static void query_cmd(struct uv_cmd *cmd, __u64 mr, struct query *q)
{
	uv_init(cmd, UVERBS_OBJECT_MR, UVERBS_METHOD_QUERY_MR);
	uv_idr(cmd, UVERBS_ATTR_QUERY_MR_HANDLE, mr);
	uv_out(cmd, UVERBS_ATTR_QUERY_MR_RESP_LKEY, &q->lkey, 4);
	uv_out(cmd, UVERBS_ATTR_QUERY_MR_RESP_RKEY, &q->rkey, 4);
	uv_out(cmd, UVERBS_ATTR_QUERY_MR_RESP_LENGTH, &q->length, 8);
	uv_out(cmd, UVERBS_ATTR_QUERY_MR_RESP_IOVA, &q->iova, 8);
}

/*
 * ib_uverbs of 7.3 forgets both in its method, where it remembers them in the
 * command, and rxe relies on them: such an MR is of no use.  shverbs
 * remembers.
 */
static bool told(int how, const struct query *q, __u64 iova, __u64 length)
{
	if (how == BY_METHOD && !is_shverbs())
		return q->iova == 0 && q->length == 0;
	return q->iova == iova && q->length == length;
}

static void good(const struct _test_data_mr *self, struct ib_uverbs_reg_mr *req)
{
	*req = (struct ib_uverbs_reg_mr){
		.start = uv_u64(self->buf),
		.hca_va = uv_u64(self->buf),
		.length = PAGES * PAGE,
		.pd_handle = self->pd,
		.access_flags = UV_ACCESS_ALL,
	};
}

TEST_F(mr, reg_query_dereg)
{
	struct ib_uverbs_reg_mr req;
	struct uv_res want = self->with_pd;
	struct query q = {};
	struct uv_cmd cmd;
	struct uv_mr mr;

	good(self, &req);
	ASSERT_EQ(0, reg(self->fd, variant->how, &req, &mr));
	EXPECT_NE(0, mr.lkey);
	EXPECT_EQ(mr.lkey, mr.rkey);
	want.mr++;
	abi_same(_metadata, &want, "registered");
	query_cmd(&cmd, mr.handle, &q);
	ASSERT_EQ(0, uv_ioctl(self->fd, &cmd));
	EXPECT_EQ(mr.lkey, q.lkey);
	EXPECT_EQ(mr.rkey, q.rkey);
	EXPECT_TRUE(told(variant->how, &q, uv_u64(self->buf), PAGES * PAGE));
	ASSERT_EQ(0, dereg(self->fd, variant->how, mr.handle));
	EXPECT_EQ(-ENOENT, dereg(self->fd, variant->how, mr.handle));
	EXPECT_EQ(-ENOENT, uv_ioctl(self->fd, &cmd));
	abi_same(_metadata, &self->with_pd, "deregistered");
}

/* An address of one's own choice, and lengths that are no pages. */
TEST_F(mr, iova_and_odd_lengths)
{
	struct ib_uverbs_reg_mr req;
	struct query q = {};
	struct uv_cmd cmd;
	struct uv_mr mr;

	good(self, &req);
	req.start += 123;
	req.length = 3 * PAGE + 1;
	req.hca_va = 0xabc000 + 123;
	ASSERT_EQ(0, reg(self->fd, variant->how, &req, &mr));
	query_cmd(&cmd, mr.handle, &q);
	ASSERT_EQ(0, uv_ioctl(self->fd, &cmd));
	EXPECT_TRUE(told(variant->how, &q, 0xabc000 + 123, 3 * PAGE + 1));
	/* Bytes 123 to 123 + 12289: four pages. */
	EXPECT_EQ(4 * 4, uv_vmpin_kb());
	EXPECT_EQ(0, dereg(self->fd, variant->how, mr.handle));
}

TEST_F(mr, charged_to_pinned_vm)
{
	struct ib_uverbs_reg_mr req;
	long locked = uv_vmlck_kb();
	struct uv_mr mr, again;

	good(self, &req);
	EXPECT_EQ(0, uv_vmpin_kb());
	ASSERT_EQ(0, reg(self->fd, variant->how, &req, &mr));
	EXPECT_EQ(PAGES * 4, uv_vmpin_kb());
	ASSERT_EQ(0, reg(self->fd, variant->how, &req, &again));
	if (!is_shverbs()) {
		EXPECT_EQ(2 * PAGES * 4, uv_vmpin_kb());
	} else {
		/* DESIGN section 7: the same pages may be charged once. */
		EXPECT_LE(PAGES * 4, uv_vmpin_kb());
		EXPECT_GE(2 * PAGES * 4, uv_vmpin_kb());
	}
	EXPECT_EQ(locked, uv_vmlck_kb());
	ASSERT_EQ(0, dereg(self->fd, variant->how, mr.handle));
	EXPECT_EQ(PAGES * 4, uv_vmpin_kb());
	ASSERT_EQ(0, dereg(self->fd, variant->how, again.handle));
	EXPECT_EQ(0, uv_vmpin_kb());
}

static void unmapped(struct ib_uverbs_reg_mr *req)
{
	req->start = req->hca_va = uv_u64(UV_BAD_PTR) & ~(PAGE - 1);
}

static void half_mapped(struct ib_uverbs_reg_mr *req)
{
	munmap((void *)(uintptr_t)(req->start + 8 * PAGE), PAGE);
}

static void read_only(struct ib_uverbs_reg_mr *req)
{
	mprotect((void *)(uintptr_t)req->start, PAGES * PAGE, PROT_READ);
}

static void iova_misaligned(struct ib_uverbs_reg_mr *req)
{
	req->hca_va++;
}

static void no_length(struct ib_uverbs_reg_mr *req)
{
	req->length = 0;
}

static void wraps(struct ib_uverbs_reg_mr *req)
{
	req->length = -req->start;
}

static void whole_space(struct ib_uverbs_reg_mr *req)
{
	req->length = ~0ULL;
}

/* Much more than there is, and more pages than 32 bits can count. */
static void one_tib(struct ib_uverbs_reg_mr *req)
{
	req->length = 1ULL << 40;
}

static void too_many_pages(struct ib_uverbs_reg_mr *req)
{
	req->length = 1ULL << 45;
}

static void no_pd(struct ib_uverbs_reg_mr *req)
{
	req->pd_handle = ABI_NO_HANDLE;
}

static void remote_write_only(struct ib_uverbs_reg_mr *req)
{
	req->access_flags = IB_UVERBS_ACCESS_REMOTE_WRITE;
}

static void remote_atomic_only(struct ib_uverbs_reg_mr *req)
{
	req->access_flags = IB_UVERBS_ACCESS_REMOTE_ATOMIC;
}

static void unknown_access(struct ib_uverbs_reg_mr *req)
{
	req->access_flags |= 1 << 15;
}

static void unknown_access_high(struct ib_uverbs_reg_mr *req)
{
	req->access_flags |= 1U << 31;
}

static void huge_pages_access(struct ib_uverbs_reg_mr *req)
{
	req->access_flags |= 1 << 7;
}

static const struct {
	const char *name;
	void (*change)(struct ib_uverbs_reg_mr *req);
	int want;
} cases[] = {
	{ "unmapped", unmapped, -EFAULT },
	{ "a hole in it", half_mapped, -EFAULT },
	{ "read-only memory", read_only, -EFAULT },
	{ "iova of another offset", iova_misaligned, -EINVAL },
	{ "no length", no_length, -EINVAL },
	{ "end wraps to 0", wraps, -EINVAL },
	{ "all of the address space", whole_space, -EINVAL },
	{ "1 TiB", one_tib, -EFAULT },
	{ "2^33 pages", too_many_pages, -EINVAL },
	{ "no such PD", no_pd, -ENOENT },
	{ "remote write without local", remote_write_only, -EINVAL },
	{ "atomic without local write", remote_atomic_only, -EINVAL },
	{ "unknown access", unknown_access, -EINVAL },
	{ "unknown access, high", unknown_access_high, -EINVAL },
	/* Valid to the core, not to rxe. */
	{ "huge pages", huge_pages_access, -EOPNOTSUPP },
};

TEST_F(mr, bad_input)
{
	struct ib_uverbs_reg_mr req;
	struct uv_mr mr;
	size_t i;
	int ret;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		/* Some take the buffer apart. */
		ASSERT_NE(MAP_FAILED,
			  mmap(self->buf, PAGES * PAGE, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
		good(self, &req);
		cases[i].change(&req);
		ret = reg(self->fd, variant->how, &req, &mr);
		ABI_EXPECT(cases[i].want, ret, cases[i].name);
		EXPECT_EQ(0, uv_vmpin_kb());
		abi_same(_metadata, &self->with_pd, cases[i].name);
	}
	EXPECT_EQ(0, uv_pd_destroy(self->fd, self->pd));
}

TEST_F(mr, wrong_type_of_handle)
{
	struct ib_uverbs_reg_mr req;
	struct uv_mr mr, none;
	struct query q;
	struct uv_cmd cmd;

	good(self, &req);
	ASSERT_EQ(0, reg(self->fd, variant->how, &req, &mr));
	req.pd_handle = mr.handle;
	EXPECT_EQ(-EINVAL, reg(self->fd, variant->how, &req, &none));
	EXPECT_EQ(-EINVAL, dereg(self->fd, variant->how, self->pd));
	query_cmd(&cmd, self->pd, &q);
	EXPECT_EQ(-EINVAL, uv_ioctl(self->fd, &cmd));
	EXPECT_EQ(0, dereg(self->fd, variant->how, mr.handle));
	abi_same(_metadata, &self->with_pd, "wrong types");
}

TEST_F(mr, read_only_memory_may_be_read)
{
	struct ib_uverbs_reg_mr req;
	struct uv_mr mr;

	good(self, &req);
	ASSERT_EQ(0, mprotect(self->buf, PAGES * PAGE, PROT_READ));
	req.access_flags = IB_UVERBS_ACCESS_REMOTE_READ;
	ASSERT_EQ(0, reg(self->fd, variant->how, &req, &mr));
	EXPECT_EQ(0, dereg(self->fd, variant->how, mr.handle));
}

/* A key that nobody was told must not stay valid. */
TEST_F(mr, response_to_unmapped_memory)
{
	struct ib_uverbs_reg_mr req;
	struct uv_call call = {
		.command = IB_USER_VERBS_CMD_REG_MR,
		.req = &req, .req_len = sizeof(req),
		.resp = UV_BAD_PTR,
		.resp_len = sizeof(struct ib_uverbs_reg_mr_resp),
	};
	struct uv_write w;
	struct uv_cmd cmd;
	struct uv_mr mr;

	good(self, &req);
	if (variant->how == BY_METHOD) {
		method_cmd(&cmd, &req, &mr);
		uv_find(&cmd, UV_REG_MR_RESP_RKEY)->data = uv_u64(UV_BAD_PTR);
		EXPECT_EQ(-EFAULT, uv_ioctl(self->fd, &cmd));
	} else if (variant->how == BY_INVOKE) {
		EXPECT_EQ(-EFAULT, uv_call(self->fd, UV_INVOKE, &call));
	} else {
		uv_wprep(&w, call.command, &req, sizeof(req), UV_BAD_PTR,
			 call.resp_len);
		EXPECT_EQ(-EFAULT, uv_wsend(self->fd, &w));
	}
	EXPECT_EQ(0, uv_vmpin_kb());
	abi_same(_metadata, &self->with_pd, "unmapped response");
	EXPECT_EQ(0, uv_pd_destroy(self->fd, self->pd));
}

/* What only the method's attributes can have wrong. */
ABI_FIXTURE(mr_method);

static char area[PAGE] __attribute__((aligned(4096)));

static void no_addr(struct uv_cmd *cmd)
{
	uv_drop(cmd, UV_REG_MR_ADDR);
}

static void no_iova(struct uv_cmd *cmd)
{
	uv_drop(cmd, UV_REG_MR_IOVA);
}

static void no_access(struct uv_cmd *cmd)
{
	uv_drop(cmd, UV_REG_MR_ACCESS_FLAGS);
}

static void no_rkey(struct uv_cmd *cmd)
{
	uv_drop(cmd, UV_REG_MR_RESP_RKEY);
}

static void short_length(struct uv_cmd *cmd)
{
	uv_find(cmd, UV_REG_MR_LENGTH)->len = 4;
}

static void fd_offset_and_addr(struct uv_cmd *cmd)
{
	uv_const(cmd, UV_REG_MR_FD_OFFSET, 0);
}

/* rxe takes no dma-buf. */
static void by_fd(struct uv_cmd *cmd)
{
	uv_drop(cmd, UV_REG_MR_ADDR);
	uv_const(cmd, UV_REG_MR_FD_OFFSET, 0);
	uv_fd(cmd, UV_REG_MR_FD, 0);
}

static void fd_with_length(struct uv_cmd *cmd)
{
	by_fd(cmd);
	uv_find(cmd, UV_REG_MR_FD)->len = 4;
}

static void fd_beyond_int(struct uv_cmd *cmd)
{
	by_fd(cmd);
	uv_find(cmd, UV_REG_MR_FD)->data = 1ULL << 32;
}

static void no_such_dmah(struct uv_cmd *cmd)
{
	uv_idr(cmd, UV_REG_MR_DMA_HANDLE, ABI_NO_HANDLE);
}

static const struct {
	const char *name;
	void (*change)(struct uv_cmd *cmd);
	int want;
} method_cases[] = {
	{ "no address", no_addr, -EINVAL },
	{ "no iova", no_iova, -EINVAL },
	{ "no access flags", no_access, -EINVAL },
	{ "no place for the rkey", no_rkey, -EINVAL },
	{ "length of 4 bytes", short_length, -EINVAL },
	{ "fd's offset and address", fd_offset_and_addr, -EINVAL },
	{ "by fd", by_fd, -EOPNOTSUPP },
	{ "fd with a length", fd_with_length, -EINVAL },
	{ "fd beyond int", fd_beyond_int, -EINVAL },
	/* rxe has no such object. */
	{ "no such DMA handle", no_such_dmah, -EINVAL },
};

TEST_F(mr_method, bad_attributes)
{
	struct ib_uverbs_reg_mr req = {
		.start = uv_u64(area),
		.hca_va = uv_u64(area),
		.length = sizeof(area),
	};
	struct uv_res want;
	struct uv_cmd cmd;
	struct uv_mr mr;
	size_t i;
	int ret;

	ASSERT_EQ(0, uv_pd_alloc(self->fd, UV_WRITE, &req.pd_handle));
	ASSERT_EQ(0, uv_res_get(&want));
	for (i = 0; i < ARRAY_SIZE(method_cases); i++) {
		method_cmd(&cmd, &req, &mr);
		method_cases[i].change(&cmd);
		ret = uv_ioctl(self->fd, &cmd);
		ABI_EXPECT(method_cases[i].want, ret, method_cases[i].name);
		EXPECT_EQ(0, uv_vmpin_kb());
		abi_same(_metadata, &want, method_cases[i].name);
	}
	method_cmd(&cmd, &req, &mr);
	EXPECT_EQ(0, uv_ioctl(self->fd, &cmd));
}

TEST_HARNESS_MAIN
