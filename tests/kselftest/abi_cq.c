// SPDX-License-Identifier: GPL-2.0
/* Completion queues: creation in each form, notification, destruction. */
#include "abi.h"

enum { CQ_WRITE, CQ_INVOKE, CQ_EX, CQ_EX_INVOKE, CQ_METHOD };

FIXTURE(cq)
{
	struct abi abi;
	int fd;
};

FIXTURE_VARIANT(cq)
{
	int how;
};

FIXTURE_VARIANT_ADD(cq, write)
{
	.how = CQ_WRITE,
};

FIXTURE_VARIANT_ADD(cq, invoke)
{
	.how = CQ_INVOKE,
};

FIXTURE_VARIANT_ADD(cq, ex)
{
	.how = CQ_EX,
};

FIXTURE_VARIANT_ADD(cq, ex_invoke)
{
	.how = CQ_EX_INVOKE,
};

FIXTURE_VARIANT_ADD(cq, method)
{
	.how = CQ_METHOD,
};

FIXTURE_SETUP(cq)
{
	abi_start(_metadata, &self->abi);
	self->fd = self->abi.fd;
}

FIXTURE_TEARDOWN(cq)
{
	abi_end(_metadata, &self->abi);
}

struct want {
	__u64 user;
	__u32 cqe, vector, flags;
	int channel;
};

static int create_ex(int fd, enum uv_form form, const struct want *want,
		     struct uv_cq *cq)
{
	struct ib_uverbs_ex_create_cq req = {
		.user_handle = want->user,
		.cqe = want->cqe,
		.comp_vector = want->vector,
		.comp_channel = want->channel,
		.flags = want->flags,
	};
	struct ib_uverbs_ex_create_cq_resp resp = {};
	struct uv_call call = {
		.command = UV_EX(IB_USER_VERBS_EX_CMD_CREATE_CQ),
		.req = &req, .req_len = sizeof(req),
		.resp = &resp, .resp_len = sizeof(resp),
		.uhw_out = &cq->rxe, .uhw_out_len = sizeof(cq->rxe),
	};
	int ret = uv_call(fd, form, &call);

	if (!ret && resp.response_length != sizeof(resp))
		return -EPROTO;
	cq->handle = resp.base.cq_handle;
	cq->cqe = resp.base.cqe;
	return ret;
}

static void method_cmd(struct uv_cmd *cmd, const struct want *want,
		       struct uv_cq *cq)
{
	uv_init(cmd, UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_CREATE);
	uv_idr(cmd, UVERBS_ATTR_CREATE_CQ_HANDLE, 0);
	uv_u32(cmd, UVERBS_ATTR_CREATE_CQ_CQE, want->cqe);
	uv_const(cmd, UVERBS_ATTR_CREATE_CQ_USER_HANDLE, want->user);
	if (want->channel >= 0)
		uv_fd(cmd, UVERBS_ATTR_CREATE_CQ_COMP_CHANNEL, want->channel);
	uv_u32(cmd, UVERBS_ATTR_CREATE_CQ_COMP_VECTOR, want->vector);
	if (want->flags)
		uv_u32(cmd, UVERBS_ATTR_CREATE_CQ_FLAGS, want->flags);
	uv_out(cmd, UVERBS_ATTR_CREATE_CQ_RESP_CQE, &cq->cqe, sizeof(cq->cqe));
	uv_out(cmd, UVERBS_ATTR_UHW_OUT, &cq->rxe, sizeof(cq->rxe));
}

static int create(int fd, int how, const struct want *want, struct uv_cq *cq)
{
	struct ib_uverbs_create_cq req = {
		.user_handle = want->user,
		.cqe = want->cqe,
		.comp_vector = want->vector,
		.comp_channel = want->channel,
	};
	struct uv_cmd cmd;
	int ret;

	memset(cq, 0, sizeof(*cq));
	switch (how) {
	case CQ_WRITE:
		return uv_cq_call(fd, UV_WRITE, &req, cq);
	case CQ_INVOKE:
		return uv_cq_call(fd, UV_INVOKE, &req, cq);
	case CQ_EX:
		return create_ex(fd, UV_WRITE, want, cq);
	case CQ_EX_INVOKE:
		return create_ex(fd, UV_INVOKE, want, cq);
	}
	method_cmd(&cmd, want, cq);
	ret = uv_ioctl(fd, &cmd);
	cq->handle = uv_find(&cmd, UVERBS_ATTR_CREATE_CQ_HANDLE)->data;
	return ret;
}

static int destroy(int fd, int how, __u32 cq,
		   struct ib_uverbs_destroy_cq_resp *resp)
{
	struct ib_uverbs_destroy_cq req = { .cq_handle = cq };
	struct uv_call call = {
		.command = IB_USER_VERBS_CMD_DESTROY_CQ,
		.req = &req, .req_len = sizeof(req),
		.resp = resp, .resp_len = sizeof(*resp),
	};
	bool invoke = how == CQ_INVOKE || how == CQ_EX_INVOKE;

	if (how == CQ_METHOD)
		return uv_cq_destroy(fd, cq, resp);
	return uv_call(fd, invoke ? UV_INVOKE : UV_WRITE, &call);
}

static const struct want plain = { .user = 7, .cqe = 100, .channel = -1 };

TEST_F(cq, create_and_destroy)
{
	struct ib_uverbs_destroy_cq_resp resp = { 1, 1 };
	struct uv_res want = self->abi.base;
	struct uv_cq cq;

	ASSERT_EQ(0, create(self->fd, variant->how, &plain, &cq));
	EXPECT_LE(100, cq.cqe);
	EXPECT_NE(0, cq.rxe.mi.size);
	want.cq++;
	abi_same(_metadata, &want, "created");
	ASSERT_EQ(0, destroy(self->fd, variant->how, cq.handle, &resp));
	EXPECT_EQ(0, resp.comp_events_reported);
	EXPECT_EQ(0, resp.async_events_reported);
	abi_same(_metadata, &self->abi.base, "destroyed");
	EXPECT_EQ(-ENOENT, destroy(self->fd, variant->how, cq.handle, &resp));
}

TEST_F(cq, comp_vectors)
{
	struct ib_uverbs_destroy_cq_resp resp;
	struct want want = plain;
	struct uv_cq cq;

	want.vector = self->abi.ctx.num_comp - 1;
	ASSERT_EQ(0, create(self->fd, variant->how, &want, &cq));
	EXPECT_EQ(0, destroy(self->fd, variant->how, cq.handle, &resp));
	want.vector++;
	EXPECT_EQ(-EINVAL, create(self->fd, variant->how, &want, &cq));
	want.vector = ~0U;
	EXPECT_EQ(-EINVAL, create(self->fd, variant->how, &want, &cq));
	abi_same(_metadata, &self->abi.base, "bad vectors");
}

TEST_F(cq, sizes)
{
	const __u32 bad[] = { 0, 32768, 0x7fffffff, 0x80000000, ~0U };
	const __u32 good[] = { 1, 2, 32767 };
	struct ib_uverbs_destroy_cq_resp resp;
	struct want want = plain;
	struct uv_cq cq;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		want.cqe = bad[i];
		EXPECT_EQ(-EINVAL, create(self->fd, variant->how, &want, &cq))
		{
			TH_LOG("cqe %u", bad[i]);
		}
		abi_same(_metadata, &self->abi.base, "bad size");
	}
	for (i = 0; i < ARRAY_SIZE(good); i++) {
		want.cqe = good[i];
		ASSERT_EQ(0, create(self->fd, variant->how, &want, &cq));
		EXPECT_LE(good[i], cq.cqe);
		EXPECT_EQ(0, destroy(self->fd, variant->how, cq.handle, &resp));
	}
}

TEST_F(cq, channels)
{
	int ch = uv_channel(self->fd, UV_WRITE);
	struct ib_uverbs_destroy_cq_resp resp;
	const int bad[] = { 1000, self->fd, self->abi.ctx.async_fd };
	struct want want = plain;
	struct uv_cq cq;
	size_t i;

	want.channel = ch;
	ASSERT_EQ(0, create(self->fd, variant->how, &want, &cq));
	EXPECT_EQ(0, destroy(self->fd, variant->how, cq.handle, &resp));
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		want.channel = bad[i];
		EXPECT_EQ(-EBADF, create(self->fd, variant->how, &want, &cq));
	}
	abi_same(_metadata, &self->abi.base, "no channels");
	close(ch);
}

/* The plain form has none; rxe supports none of those that exist. */
TEST_F(cq, flags)
{
	struct want want = plain;
	struct uv_cq cq;

	if (variant->how == CQ_WRITE || variant->how == CQ_INVOKE)
		SKIP(return, "this form has no flags");
	want.flags = IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION;
	EXPECT_EQ(-EOPNOTSUPP, create(self->fd, variant->how, &want, &cq));
	want.flags = 1U << 31;
	EXPECT_EQ(variant->how == CQ_METHOD ? -EINVAL : -EOPNOTSUPP,
		  create(self->fd, variant->how, &want, &cq));
	abi_same(_metadata, &self->abi.base, "flags");
}

TEST_F(cq, destroy_bad_handles)
{
	struct ib_uverbs_destroy_cq_resp resp;
	struct uv_cq cq;
	__u32 pd;

	ASSERT_EQ(0, uv_pd_alloc(self->fd, UV_WRITE, &pd));
	ASSERT_EQ(0, create(self->fd, variant->how, &plain, &cq));
	EXPECT_EQ(-EINVAL, destroy(self->fd, variant->how, pd, &resp));
	EXPECT_EQ(-ENOENT,
		  destroy(self->fd, variant->how, ABI_NO_HANDLE, &resp));
	EXPECT_EQ(-ENOENT, destroy(self->fd, variant->how, ~0U, &resp));
	EXPECT_EQ(0, destroy(self->fd, variant->how, cq.handle, &resp));
}

TEST_F(cq, destroy_busy)
{
	struct ib_uverbs_destroy_cq_resp resp = {};
	struct uv_res want;
	struct uv_cq cq;
	struct uv_qp qp;
	__u32 pd;

	ASSERT_EQ(0, uv_pd_alloc(self->fd, UV_WRITE, &pd));
	ASSERT_EQ(0, create(self->fd, variant->how, &plain, &cq));
	ASSERT_EQ(0, uv_qp_create(self->fd, pd, cq.handle, IB_UVERBS_QPT_RC,
				  &qp));
	ASSERT_EQ(0, uv_res_get(&want));
	EXPECT_EQ(-EBUSY, destroy(self->fd, variant->how, cq.handle, &resp));
	abi_same(_metadata, &want, "busy");
	EXPECT_EQ(0, uv_req_notify(self->fd, UV_WRITE, cq.handle, 0));
	EXPECT_EQ(0, uv_qp_destroy(self->fd, qp.handle, NULL));
	EXPECT_EQ(0, destroy(self->fd, variant->how, cq.handle, &resp));
	EXPECT_EQ(0, uv_pd_destroy(self->fd, pd));
}

TEST_F(cq, req_notify)
{
	enum uv_form form = variant->how == CQ_INVOKE ? UV_INVOKE : UV_WRITE;
	struct uv_cq cq;
	__u32 pd;

	ASSERT_EQ(0, uv_pd_alloc(self->fd, UV_WRITE, &pd));
	ASSERT_EQ(0, create(self->fd, variant->how, &plain, &cq));
	EXPECT_EQ(0, uv_req_notify(self->fd, form, cq.handle, 0));
	EXPECT_EQ(0, uv_req_notify(self->fd, form, cq.handle, 1));
	EXPECT_EQ(0, uv_req_notify(self->fd, form, cq.handle, ~0U));
	EXPECT_EQ(-EINVAL, uv_req_notify(self->fd, form, pd, 0));
	EXPECT_EQ(-ENOENT, uv_req_notify(self->fd, form, ABI_NO_HANDLE, 0));
}

/* rxe's provider polls its ring itself, and rxe leaves the command out. */
TEST_F(cq, poll_is_not_supported)
{
	struct uv_cq cq;
	struct ib_uverbs_poll_cq req = { .ne = 1 };
	__u64 resp[8];
	struct uv_call call = {
		.command = IB_USER_VERBS_CMD_POLL_CQ,
		.req = &req, .req_len = sizeof(req),
		.resp = resp, .resp_len = sizeof(resp),
	};

	ASSERT_EQ(0, create(self->fd, variant->how, &plain, &cq));
	req.cq_handle = cq.handle;
	EXPECT_EQ(-EOPNOTSUPP, uv_call(self->fd, UV_WRITE, &call));
	EXPECT_EQ(-EOPNOTSUPP, uv_call(self->fd, UV_INVOKE, &call));
}

/* Neither half of the response may be missing, and nothing stays behind. */
TEST_F(cq, driver_response)
{
	struct uv_cq cq;
	struct ib_uverbs_create_cq req = { .cqe = 16, .comp_channel = -1 };
	struct ib_uverbs_create_cq_resp resp;
	struct uv_call call = {
		.command = IB_USER_VERBS_CMD_CREATE_CQ,
		.req = &req, .req_len = sizeof(req),
		.resp = &resp, .resp_len = sizeof(resp),
		.uhw_out = &cq.rxe, .uhw_out_len = 8,
	};
	enum uv_form form = variant->how == CQ_INVOKE ? UV_INVOKE : UV_WRITE;

	EXPECT_EQ(-EINVAL, uv_call(self->fd, form, &call));
	call.uhw_out_len = 0;
	EXPECT_EQ(-EINVAL, uv_call(self->fd, form, &call));
	call.resp_len = 4;
	EXPECT_EQ(-ENOSPC, uv_call(self->fd, form, &call));
	abi_same(_metadata, &self->abi.base, "short responses");
}

ABI_FIXTURE(cq_method);

static void no_handle(struct uv_cmd *cmd)
{
	uv_drop(cmd, UVERBS_ATTR_CREATE_CQ_HANDLE);
}

static void no_vector(struct uv_cmd *cmd)
{
	uv_drop(cmd, UVERBS_ATTR_CREATE_CQ_COMP_VECTOR);
}

static void no_resp(struct uv_cmd *cmd)
{
	uv_drop(cmd, UVERBS_ATTR_CREATE_CQ_RESP_CQE);
}

static void no_uhw(struct uv_cmd *cmd)
{
	uv_drop(cmd, UVERBS_ATTR_UHW_OUT);
}

static void long_cqe(struct uv_cmd *cmd)
{
	uv_find(cmd, UVERBS_ATTR_CREATE_CQ_CQE)->len = 8;
}

static void resp_unmapped(struct uv_cmd *cmd)
{
	uv_find(cmd, UVERBS_ATTR_CREATE_CQ_RESP_CQE)->data =
		uv_u64(UV_BAD_PTR);
}

static void uhw_unmapped(struct uv_cmd *cmd)
{
	uv_find(cmd, UVERBS_ATTR_UHW_OUT)->data = uv_u64(UV_BAD_PTR);
}

static void channel_with_length(struct uv_cmd *cmd)
{
	uv_fd(cmd, UVERBS_ATTR_CREATE_CQ_COMP_CHANNEL, 0)->len = 4;
}

static void channel_reserved(struct uv_cmd *cmd)
{
	uv_fd(cmd, UVERBS_ATTR_CREATE_CQ_COMP_CHANNEL, 0)->attr_data.reserved =
		1;
}

static void channel_beyond_int(struct uv_cmd *cmd)
{
	uv_attr(cmd, UVERBS_ATTR_CREATE_CQ_COMP_CHANNEL, 0, 1ULL << 32);
}

static void channel_negative(struct uv_cmd *cmd)
{
	uv_fd(cmd, UVERBS_ATTR_CREATE_CQ_COMP_CHANNEL, -1);
}

static void event_fd_bad(struct uv_cmd *cmd)
{
	uv_fd(cmd, UVERBS_ATTR_CREATE_CQ_EVENT_FD, -1);
}

static const struct {
	const char *name;
	void (*change)(struct uv_cmd *cmd);
	int want;
} cases[] = {
	{ "no handle", no_handle, -EINVAL },
	{ "no vector", no_vector, -EINVAL },
	{ "no place for the size", no_resp, -EINVAL },
	{ "no driver response", no_uhw, -EINVAL },
	{ "size of 8 bytes", long_cqe, -EINVAL },
	{ "size to unmapped memory", resp_unmapped, -EFAULT },
	{ "driver response unmapped", uhw_unmapped, -EFAULT },
	{ "channel with a length", channel_with_length, -EINVAL },
	{ "channel: reserved", channel_reserved, -EINVAL },
	{ "channel beyond int", channel_beyond_int, -EINVAL },
	{ "channel -1", channel_negative, -EBADF },
	{ "event fd -1", event_fd_bad, -EBADF },
};

TEST_F(cq_method, bad_attributes)
{
	struct uv_cmd cmd;
	struct uv_cq cq;
	size_t i;
	int ret;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		method_cmd(&cmd, &plain, &cq);
		cases[i].change(&cmd);
		ret = uv_ioctl(self->fd, &cmd);
		ABI_EXPECT(cases[i].want, ret, cases[i].name);
		abi_same(_metadata, &self->abi.base, cases[i].name);
	}
}

TEST_HARNESS_MAIN
