// SPDX-License-Identifier: GPL-2.0
/* Memory regions: what else is done with them than registering. */
#include <sys/syscall.h>

#include "abi.h"

#define LEN 8192

/* enum ib_mr_rereg_flags, which no uapi header has. */
enum { REREG_TRANS = 1, REREG_PD = 2, REREG_ACCESS = 4 };

FIXTURE(rereg)
{
	struct abi abi;
	struct uv_mr mr;
	char *buf;
	int fd;
	__u32 pd, other;
};

FIXTURE_VARIANT(rereg)
{
	enum uv_form form;
};

FIXTURE_VARIANT_ADD(rereg, write)
{
	.form = UV_WRITE,
};

FIXTURE_VARIANT_ADD(rereg, invoke)
{
	.form = UV_INVOKE,
};

FIXTURE_SETUP(rereg)
{
	abi_start(_metadata, &self->abi);
	self->fd = self->abi.fd;
	self->buf = mmap(NULL, LEN, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->buf);
	ASSERT_EQ(0, uv_pd_alloc(self->fd, UV_WRITE, &self->pd));
	ASSERT_EQ(0, uv_mr_reg(self->fd, self->pd, self->buf, LEN,
			       UV_ACCESS_ALL, &self->mr));
	/* Newer than the region that is put into it. */
	ASSERT_EQ(0, uv_pd_alloc(self->fd, UV_WRITE, &self->other));
}

FIXTURE_TEARDOWN(rereg)
{
	abi_end(_metadata, &self->abi);
	munmap(self->buf, LEN);
}

static int call_rereg(int fd, enum uv_form form,
		      const struct ib_uverbs_rereg_mr *req, struct uv_mr *mr)
{
	struct ib_uverbs_rereg_mr_resp resp = {};
	struct uv_call call = {
		.command = IB_USER_VERBS_CMD_REREG_MR,
		.req = req, .req_len = sizeof(*req),
		.resp = &resp, .resp_len = sizeof(resp),
	};
	int ret = uv_call(fd, form, &call);

	mr->lkey = resp.lkey;
	mr->rkey = resp.rkey;
	return ret;
}

TEST_F(rereg, access)
{
	struct ib_uverbs_rereg_mr req = {
		.mr_handle = self->mr.handle,
		.flags = REREG_ACCESS,
		.access_flags = IB_UVERBS_ACCESS_LOCAL_WRITE,
	};
	struct uv_mr mr;

	ASSERT_EQ(0, call_rereg(self->fd, variant->form, &req, &mr));
	EXPECT_EQ(self->mr.lkey, mr.lkey);
	EXPECT_EQ(self->mr.rkey, mr.rkey);
	EXPECT_EQ(0, uv_mr_destroy(self->fd, self->mr.handle));
}

TEST_F(rereg, pd)
{
	struct ib_uverbs_rereg_mr req = {
		.mr_handle = self->mr.handle,
		.flags = REREG_PD,
		.pd_handle = self->other,
	};
	struct uv_mr mr;

	EXPECT_EQ(-EBUSY, uv_pd_destroy(self->fd, self->pd));
	ASSERT_EQ(0, call_rereg(self->fd, variant->form, &req, &mr));
	EXPECT_EQ(self->mr.lkey, mr.lkey);
	EXPECT_EQ(-EBUSY, uv_pd_destroy(self->fd, self->other));
	EXPECT_EQ(0, uv_pd_destroy(self->fd, self->pd));
	/* Into the same once more. */
	ASSERT_EQ(0, call_rereg(self->fd, variant->form, &req, &mr));
	EXPECT_EQ(-EBUSY, uv_pd_destroy(self->fd, self->other));
	EXPECT_EQ(0, uv_mr_destroy(self->fd, self->mr.handle));
	EXPECT_EQ(0, uv_pd_destroy(self->fd, self->other));
}

/* There and back again, so that the oldest PD has the newest region. */
TEST_F(rereg, pd_and_close)
{
	struct ib_uverbs_rereg_mr req = {
		.mr_handle = self->mr.handle,
		.flags = REREG_PD | REREG_ACCESS,
		.access_flags = UV_ACCESS_ALL,
	};
	struct uv_mr mr;
	int i;

	for (i = 0; i < 101; i++) {
		req.pd_handle = i % 2 ? self->pd : self->other;
		ASSERT_EQ(0, call_rereg(self->fd, variant->form, &req, &mr));
	}
}

TEST_F(rereg, bad_input)
{
	struct {
		const char *name;
		struct ib_uverbs_rereg_mr req;
		int want;
	} cases[] = {
		{ "nothing", { .flags = 0 }, -EINVAL },
		{ "unknown", { .flags = 8 }, -EOPNOTSUPP },
		{ "nothing and no such", { .mr_handle = ABI_NO_HANDLE },
		  -EINVAL },
		{ "no such", { .mr_handle = ABI_NO_HANDLE, .flags = REREG_PD },
		  -ENOENT },
		{ "a PD", { .mr_handle = self->other, .flags = REREG_PD },
		  -EINVAL },
		{ "no such PD",
		  { .flags = REREG_PD, .pd_handle = ABI_NO_HANDLE }, -ENOENT },
		{ "no PD", { .flags = REREG_PD, .pd_handle = self->mr.handle },
		  -EINVAL },
		{ "remote write alone",
		  { .flags = REREG_ACCESS,
		    .access_flags = IB_UVERBS_ACCESS_REMOTE_WRITE }, -EINVAL },
		{ "access comes before the PD",
		  { .flags = REREG_ACCESS | REREG_PD,
		    .pd_handle = ABI_NO_HANDLE,
		    .access_flags = IB_UVERBS_ACCESS_REMOTE_WRITE }, -EINVAL },
		{ "unaligned",
		  { .flags = REREG_TRANS, .start = 1, .length = 1,
		    .hca_va = 2 }, -EINVAL },
		{ "unaligned and no such",
		  { .flags = REREG_TRANS, .mr_handle = ABI_NO_HANDLE,
		    .start = 1, .hca_va = 2 }, -EINVAL },
		/* rxe cannot do that. */
		{ "other memory",
		  { .flags = REREG_TRANS, .start = uv_u64(self->buf),
		    .length = 4096, .hca_va = uv_u64(self->buf) },
		  -EOPNOTSUPP },
	};
	struct uv_res want;
	struct uv_mr mr;
	size_t i;
	int ret;

	ASSERT_EQ(0, uv_res_get(&want));
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		if (!cases[i].req.mr_handle)
			cases[i].req.mr_handle = self->mr.handle;
		ret = call_rereg(self->fd, variant->form, &cases[i].req, &mr);
		ABI_EXPECT(cases[i].want, ret, cases[i].name);
		abi_same(_metadata, &want, cases[i].name);
	}
	/* And it is in the same PD as before. */
	EXPECT_EQ(0, uv_pd_destroy(self->fd, self->other));
	EXPECT_EQ(-EBUSY, uv_pd_destroy(self->fd, self->pd));
	EXPECT_EQ(0, uv_mr_destroy(self->fd, self->mr.handle));
}

TEST_F(rereg, short_input)
{
	struct ib_uverbs_rereg_mr req = {
		.mr_handle = self->mr.handle,
		.flags = REREG_PD,
		.pd_handle = self->other,
	};
	struct ib_uverbs_rereg_mr_resp resp;
	struct uv_call call = {
		.command = IB_USER_VERBS_CMD_REREG_MR,
		.req = &req, .req_len = sizeof(req) - 4,
		.resp = &resp, .resp_len = sizeof(resp),
	};

	EXPECT_EQ(-ENOSPC, uv_call(self->fd, variant->form, &call));
	call.req_len = sizeof(req);
	call.resp_len = 4;
	EXPECT_EQ(-ENOSPC, uv_call(self->fd, variant->form, &call));
	EXPECT_EQ(0, uv_pd_destroy(self->fd, self->other));
}

/* Advice is for memory on demand. */

static void advise_cmd(struct uv_cmd *cmd, __u32 pd, __u64 flags,
		       const struct ib_uverbs_sge *sge, __u16 len)
{
	uv_init(cmd, UVERBS_OBJECT_MR, UVERBS_METHOD_ADVISE_MR);
	uv_idr(cmd, UVERBS_ATTR_ADVISE_MR_PD_HANDLE, pd);
	uv_const(cmd, UVERBS_ATTR_ADVISE_MR_ADVICE,
		 IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH);
	uv_const(cmd, UVERBS_ATTR_ADVISE_MR_FLAGS, flags);
	uv_in(cmd, UVERBS_ATTR_ADVISE_MR_SGE_LIST, sge, len);
}

TEST_F(rereg, advise)
{
	struct ib_uverbs_sge sge[2] = {
		{ .addr = uv_u64(self->buf), .length = LEN,
		  .lkey = self->mr.lkey },
	};
	struct uv_cmd cmd;

	if (variant->form == UV_WRITE)
		return;
	advise_cmd(&cmd, self->pd, 0, sge, sizeof(sge));
	EXPECT_EQ(-EINVAL, uv_ioctl(self->fd, &cmd));
	advise_cmd(&cmd, self->pd, 2, sge, sizeof(sge));
	EXPECT_EQ(-EINVAL, uv_ioctl(self->fd, &cmd));
	advise_cmd(&cmd, self->pd, 0, sge, sizeof(sge[0]) + 4);
	EXPECT_EQ(-EINVAL, uv_ioctl(self->fd, &cmd));
	advise_cmd(&cmd, self->pd, 0, sge, 8);
	EXPECT_EQ(-EINVAL, uv_ioctl(self->fd, &cmd));
	advise_cmd(&cmd, ABI_NO_HANDLE, 0, sge, sizeof(sge));
	EXPECT_EQ(-ENOENT, uv_ioctl(self->fd, &cmd));
	advise_cmd(&cmd, self->mr.handle, 0, sge, sizeof(sge));
	EXPECT_EQ(-EINVAL, uv_ioctl(self->fd, &cmd));
	advise_cmd(&cmd, self->pd, 0, sge, sizeof(sge));
	uv_drop(&cmd, UVERBS_ATTR_ADVISE_MR_FLAGS);
	EXPECT_EQ(-EINVAL, uv_ioctl(self->fd, &cmd));
}

TEST_F(rereg, advise_on_demand)
{
	const __u32 access = IB_UVERBS_ACCESS_ON_DEMAND | UV_ACCESS_ALL;
	struct ib_uverbs_sge sge[2];
	struct uv_cmd cmd;
	struct uv_mr mr;
	int i, ret;

	if (variant->form == UV_WRITE)
		return;
	ret = uv_mr_reg(self->fd, self->pd, self->buf, LEN, access, &mr);
	if (ret == -EOPNOTSUPP)
		SKIP(return, "no memory on demand");
	ASSERT_EQ(0, ret);
	for (i = 0; i < 2; i++) {
		sge[i].addr = uv_u64(self->buf) + i * LEN / 2;
		sge[i].length = LEN / 2;
		sge[i].lkey = mr.lkey;
	}
	advise_cmd(&cmd, self->pd, IB_UVERBS_ADVISE_MR_FLAG_FLUSH, sge,
		   sizeof(sge));
	EXPECT_EQ(0, uv_ioctl(self->fd, &cmd));
	sge[1].lkey ^= 1;
	EXPECT_EQ(-EINVAL, uv_ioctl(self->fd, &cmd));
	/* Of another PD. */
	sge[1].lkey ^= 1;
	uv_find(&cmd, UVERBS_ATTR_ADVISE_MR_PD_HANDLE)->data = self->other;
	EXPECT_EQ(-EINVAL, uv_ioctl(self->fd, &cmd));
	EXPECT_EQ(0, uv_mr_destroy(self->fd, mr.handle));
}

/* rxe has no dma-bufs. */

static void dmabuf_cmd(struct uv_cmd *cmd, __u32 pd, __u32 fd, __u32 *keys)
{
	uv_init(cmd, UVERBS_OBJECT_MR, UVERBS_METHOD_REG_DMABUF_MR);
	uv_idr(cmd, UVERBS_ATTR_REG_DMABUF_MR_HANDLE, 0);
	uv_idr(cmd, UVERBS_ATTR_REG_DMABUF_MR_PD_HANDLE, pd);
	uv_const(cmd, UVERBS_ATTR_REG_DMABUF_MR_OFFSET, 0);
	uv_const(cmd, UVERBS_ATTR_REG_DMABUF_MR_LENGTH, 4096);
	uv_const(cmd, UVERBS_ATTR_REG_DMABUF_MR_IOVA, 0);
	uv_u32(cmd, UVERBS_ATTR_REG_DMABUF_MR_FD, fd);
	uv_const(cmd, UVERBS_ATTR_REG_DMABUF_MR_ACCESS_FLAGS, 1);
	uv_out(cmd, UVERBS_ATTR_REG_DMABUF_MR_RESP_LKEY, &keys[0], 4);
	uv_out(cmd, UVERBS_ATTR_REG_DMABUF_MR_RESP_RKEY, &keys[1], 4);
}

TEST_F(rereg, dmabuf)
{
	int fd = syscall(SYS_memfd_create, "buffer", 0);
	struct uv_cmd cmd;
	struct uv_res want;
	__u32 keys[2];

	if (variant->form == UV_WRITE)
		return;
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, uv_res_get(&want));
	dmabuf_cmd(&cmd, self->pd, fd, keys);
	EXPECT_EQ(-EOPNOTSUPP, uv_ioctl(self->fd, &cmd));
	dmabuf_cmd(&cmd, self->pd, -1, keys);
	EXPECT_EQ(-EOPNOTSUPP, uv_ioctl(self->fd, &cmd));
	dmabuf_cmd(&cmd, ABI_NO_HANDLE, fd, keys);
	EXPECT_EQ(-ENOENT, uv_ioctl(self->fd, &cmd));
	dmabuf_cmd(&cmd, self->mr.handle, fd, keys);
	EXPECT_EQ(-EINVAL, uv_ioctl(self->fd, &cmd));
	dmabuf_cmd(&cmd, self->pd, fd, keys);
	uv_drop(&cmd, UVERBS_ATTR_REG_DMABUF_MR_IOVA);
	EXPECT_EQ(-EINVAL, uv_ioctl(self->fd, &cmd));
	abi_same(_metadata, &want, "dma-bufs");
	close(fd);
}

TEST_HARNESS_MAIN
