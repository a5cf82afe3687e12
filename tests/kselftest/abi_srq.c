// SPDX-License-Identifier: GPL-2.0
/* Shared receive queues. */
#include "abi_srq.h"

#define EVENT_SRQ_LIMIT 15	/* IB_EVENT_SRQ_LIMIT_REACHED */

FIXTURE(srq)
{
	struct abi abi;
	struct uv_res with_pd;
	struct srq_want want;
	int fd;
	__u32 pd;
};

FIXTURE_VARIANT(srq)
{
	int how;
};

FIXTURE_VARIANT_ADD(srq, write)
{
	.how = SRQ_WRITE,
};

FIXTURE_VARIANT_ADD(srq, invoke)
{
	.how = SRQ_INVOKE,
};

FIXTURE_VARIANT_ADD(srq, xwrite)
{
	.how = SRQ_XWRITE,
};

FIXTURE_VARIANT_ADD(srq, xinvoke)
{
	.how = SRQ_XINVOKE,
};

FIXTURE_VARIANT_ADD(srq, method)
{
	.how = SRQ_METHOD,
};

FIXTURE_SETUP(srq)
{
	abi_start(_metadata, &self->abi);
	self->fd = self->abi.fd;
	ASSERT_EQ(0, uv_pd_alloc(self->fd, UV_WRITE, &self->pd));
	ASSERT_EQ(0, uv_res_get(&self->with_pd));
	self->want = (struct srq_want){
		.pd = self->pd,
		.max_wr = 16,
		.max_sge = 2,
	};
}

FIXTURE_TEARDOWN(srq)
{
	abi_end(_metadata, &self->abi);
}

TEST_F(srq, create_and_destroy)
{
	struct ib_uverbs_destroy_srq_resp resp = { .events_reported = 7 };
	struct uv_res want = self->with_pd;
	struct srq srq;

	ASSERT_EQ(0, srq_create(self->fd, variant->how, &self->want, &srq));
	EXPECT_LE(16, srq.max_wr);
	EXPECT_LE(2, srq.max_sge);
	want.srq++;
	abi_same(_metadata, &want, "created");
	ASSERT_EQ(0, srq_destroy(self->fd, variant->how, srq.handle, &resp));
	EXPECT_EQ(0, resp.events_reported);
	abi_same(_metadata, &self->with_pd, "destroyed");
	EXPECT_EQ(-ENOENT, srq_destroy(self->fd, variant->how, srq.handle,
				       NULL));
}

TEST_F(srq, pd_is_busy)
{
	struct srq srq;

	ASSERT_EQ(0, srq_create(self->fd, variant->how, &self->want, &srq));
	EXPECT_EQ(-EBUSY, uv_pd_destroy(self->fd, self->pd));
	ASSERT_EQ(0, srq_destroy(self->fd, variant->how, srq.handle, NULL));
	EXPECT_EQ(0, uv_pd_destroy(self->fd, self->pd));
}

TEST_F(srq, bad_input)
{
	const bool typed = variant->how > SRQ_INVOKE;
	const bool method = variant->how == SRQ_METHOD;
	struct {
		const char *name;
		struct srq_want want;
		int ret;
	} cases[] = {
		{ "no such PD", { .pd = ABI_NO_HANDLE, .max_wr = 1 }, -ENOENT },
		{ "too many", { .max_wr = 1U << 31, .max_sge = 1 }, -EINVAL },
		{ "most", { .max_wr = ~0U, .max_sge = 1 }, -EINVAL },
		{ "none", { .max_wr = 0, .max_sge = 1 }, -EINVAL },
		{ "too many pieces", { .max_wr = 1, .max_sge = 4096 },
		  -EINVAL },
		{ "XRC", { .type = IB_UVERBS_SRQT_XRC, .max_wr = 1 },
		  method ? -ENOENT : -EINVAL },
		{ "tags without a CQ",
		  { .type = IB_UVERBS_SRQT_TM, .max_wr = 1,
		    .cq = ABI_NO_HANDLE }, -ENOENT },
		{ "unknown type", { .type = 3, .max_wr = 1, .max_sge = 1 },
		  method ? -EINVAL : -EOPNOTSUPP },
	};
	struct srq srq;
	size_t i;
	int ret;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		if (cases[i].want.type && !typed)
			continue;
		if (!cases[i].want.pd)
			cases[i].want.pd = self->pd;
		ret = srq_create(self->fd, variant->how, &cases[i].want, &srq);
		ABI_EXPECT(cases[i].ret, ret, cases[i].name);
		abi_same(_metadata, &self->with_pd, cases[i].name);
	}
	EXPECT_EQ(0, uv_pd_destroy(self->fd, self->pd));
}

TEST_F(srq, tag_matching)
{
	struct srq srq;
	struct uv_cq cq;
	struct uv_cmd cmd;

	if (variant->how <= SRQ_INVOKE)
		return;
	ASSERT_EQ(0, uv_cq_create(self->fd, 16, -1, 0, &cq));
	self->want.type = IB_UVERBS_SRQT_TM;
	self->want.cq = cq.handle;
	if (variant->how != SRQ_METHOD) {
		EXPECT_EQ(-EOPNOTSUPP, srq_create(self->fd, variant->how,
						  &self->want, &srq));
	} else {
		srq_method_cmd(&cmd, &self->want, &srq);
		uv_idr(&cmd, UVERBS_ATTR_CREATE_SRQ_CQ_HANDLE, cq.handle);
		EXPECT_EQ(-ENOENT, uv_ioctl(self->fd, &cmd));
		uv_u32(&cmd, UVERBS_ATTR_CREATE_SRQ_MAX_NUM_TAGS, 4);
		EXPECT_EQ(-EOPNOTSUPP, uv_ioctl(self->fd, &cmd));
		uv_idr(&cmd, UVERBS_ATTR_CREATE_SRQ_XRCD_HANDLE, 1);
		EXPECT_EQ(-EINVAL, uv_ioctl(self->fd, &cmd));
	}
	EXPECT_EQ(0, uv_cq_destroy(self->fd, cq.handle, NULL));
}

TEST_F(srq, query_and_modify)
{
	struct ib_uverbs_query_srq_resp resp = {};
	struct srq srq;
	const int fd = self->fd, how = variant->how;

	self->want.limit = 3;
	ASSERT_EQ(0, srq_create(fd, how, &self->want, &srq));
	ASSERT_EQ(0, srq_query(fd, how, srq.handle, &resp));
	EXPECT_LE(16, resp.max_wr);
	EXPECT_EQ(srq.max_sge, resp.max_sge);
	EXPECT_EQ(0, resp.reserved);
	ASSERT_EQ(0, srq_modify(fd, how, srq.handle, SRQ_LIMIT, 0, 5));
	ASSERT_EQ(0, srq_query(fd, how, srq.handle, &resp));
	EXPECT_EQ(5, resp.srq_limit);
	EXPECT_EQ(-EINVAL, srq_modify(fd, how, srq.handle, SRQ_LIMIT, 0,
				      1000));
	ASSERT_EQ(0, srq_modify(fd, how, srq.handle, 0, 0, 0));
	EXPECT_EQ(-ENOENT, srq_modify(fd, how, ABI_NO_HANDLE, SRQ_LIMIT, 0, 5));
	EXPECT_EQ(-EINVAL, srq_modify(fd, how, self->pd, SRQ_LIMIT, 0, 5));
	EXPECT_EQ(-ENOENT, srq_query(fd, how, ABI_NO_HANDLE, &resp));
	EXPECT_EQ(-EINVAL, srq_query(fd, how, self->pd, &resp));
	EXPECT_EQ(-EINVAL, srq_destroy(fd, how, self->pd, NULL));
	EXPECT_EQ(0, srq_destroy(fd, how, srq.handle, NULL));
}

TEST_F(srq, response_to_unmapped_memory)
{
	struct ib_uverbs_create_srq req = {
		.pd_handle = self->pd, .max_wr = 16, .max_sge = 2,
	};
	struct rxe_create_srq_resp rxe;
	struct uv_call call = {
		.command = IB_USER_VERBS_CMD_CREATE_SRQ,
		.req = &req, .req_len = sizeof(req),
		.resp = UV_BAD_PTR,
		.resp_len = sizeof(struct ib_uverbs_create_srq_resp),
		.uhw_out = &rxe, .uhw_out_len = sizeof(rxe),
	};
	struct uv_cmd cmd;
	struct srq srq;

	if (variant->how == SRQ_INVOKE) {
		EXPECT_EQ(-EFAULT, uv_call(self->fd, UV_INVOKE, &call));
	} else if (variant->how == SRQ_METHOD) {
		srq_method_cmd(&cmd, &self->want, &srq);
		uv_find(&cmd, UVERBS_ATTR_CREATE_SRQ_RESP_MAX_WR)->data =
			uv_u64(UV_BAD_PTR);
		EXPECT_EQ(-EFAULT, uv_ioctl(self->fd, &cmd));
	}
	abi_same(_metadata, &self->with_pd, "unmapped");
	EXPECT_EQ(0, uv_pd_destroy(self->fd, self->pd));
}

/* ---- QPs on it ---- */

#define LEN 4096

struct side {
	struct uv_cq cq;
	struct uv_qp qp;
	struct uv_ring sq, done;
};

static int side_make(int fd, __u32 pd, __u32 srq, bool method, struct side *s)
{
	struct ib_uverbs_create_qp req = {
		.pd_handle = pd,
		.srq_handle = srq,
		.is_srq = 1,
		.max_send_wr = 8,
		.max_send_sge = 1,
		.sq_sig_all = 1,
		.qp_type = IB_UVERBS_QPT_RC,
	};
	int ret = uv_cq_create(fd, 16, -1, 0, &s->cq);

	req.send_cq_handle = s->cq.handle;
	req.recv_cq_handle = s->cq.handle;
	if (!ret)
		ret = uv_qp_call(fd, method ? UV_INVOKE : UV_WRITE, &req,
				 &s->qp);
	if (!ret)
		ret = uv_ring_map(fd, &s->cq.rxe.mi, &s->done);
	if (!ret)
		ret = uv_ring_map(fd, &s->qp.rxe.sq_mi, &s->sq);
	return ret;
}

static void side_unmap(struct side *s)
{
	uv_ring_unmap(&s->done);
	uv_ring_unmap(&s->sq);
}

TEST_F(srq, qps_share_it)
{
	struct ib_uverbs_destroy_srq_resp resp = {};
	struct ib_uverbs_async_event_desc event;
	const int fd = self->fd, how = variant->how;
	struct uv_ring rq = {};
	struct side a = {}, b = {};
	static char buf[2 * LEN];
	struct srq srq;
	struct uv_mr mr;
	int i;

	ASSERT_EQ(0, srq_create(fd, how, &self->want, &srq));
	ASSERT_EQ(0, uv_ring_map(fd, &srq.rxe.mi, &rq));
	ASSERT_EQ(0, uv_mr_reg(fd, self->pd, buf, sizeof(buf), UV_ACCESS_ALL,
			       &mr));
	ASSERT_EQ(0, side_make(fd, self->pd, srq.handle, how == SRQ_METHOD,
			       &a));
	ASSERT_EQ(0, side_make(fd, self->pd, srq.handle, how == SRQ_METHOD,
			       &b));
	EXPECT_EQ(-EBUSY, srq_destroy(fd, how, srq.handle, NULL));
	ASSERT_EQ(0, uv_qp_connect(fd, a.qp.handle, b.qp.qpn));
	ASSERT_EQ(0, uv_qp_connect(fd, b.qp.handle, a.qp.qpn));
	for (i = 0; i < 6; i++)
		uv_ring_recv(&rq, i, buf + LEN, LEN, mr.lkey);
	ASSERT_EQ(0, srq_modify(fd, how, srq.handle, SRQ_LIMIT, 0, 5));
	ASSERT_EQ(0, abi_nonblock(self->abi.ctx.async_fd));
	memset(buf, 0x5a, LEN);
	uv_ring_send(&a.sq, 1, 0, buf, LEN, mr.lkey);
	ASSERT_EQ(0, uv_doorbell(fd, UV_WRITE, a.qp.handle));
	ASSERT_TRUE(abi_completions(&a.done, 1));
	ASSERT_TRUE(abi_completions(&b.done, 1));
	EXPECT_EQ(0, memcmp(buf, buf + LEN, LEN));
	uv_ring_send(&b.sq, 1, 0, buf, LEN, mr.lkey);
	ASSERT_EQ(0, uv_doorbell(fd, UV_WRITE, b.qp.handle));
	ASSERT_TRUE(abi_completions(&a.done, 2));
	/* Fewer than five were left. */
	ASSERT_EQ(POLLIN, abi_poll(self->abi.ctx.async_fd, 3000));
	do {
		ASSERT_EQ(sizeof(event), abi_read(self->abi.ctx.async_fd,
						  &event, sizeof(event)));
	} while (event.event_type == UV_EVENT_COMM_EST);
	EXPECT_EQ(EVENT_SRQ_LIMIT, event.event_type);
	EXPECT_EQ(SRQ_USER, event.element);
	side_unmap(&a);
	side_unmap(&b);
	uv_ring_unmap(&rq);
	EXPECT_EQ(0, uv_qp_destroy(fd, a.qp.handle, NULL));
	EXPECT_EQ(-EBUSY, srq_destroy(fd, how, srq.handle, NULL));
	EXPECT_EQ(0, uv_qp_destroy(fd, b.qp.handle, NULL));
	EXPECT_EQ(0, srq_destroy(fd, how, srq.handle, &resp));
	EXPECT_EQ(1, resp.events_reported);
}

/* A file that is closed with all of this in it. */
TEST_F(srq, close)
{
	struct side a = {};
	struct srq srq;

	ASSERT_EQ(0, srq_create(self->fd, variant->how, &self->want, &srq));
	ASSERT_EQ(0, side_make(self->fd, self->pd, srq.handle, false, &a));
	side_unmap(&a);
}

TEST_HARNESS_MAIN
