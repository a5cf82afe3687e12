// SPDX-License-Identifier: GPL-2.0
/* Queue pairs: creation in each form, and destruction. */
#include "abi_qp_create.h"

FIXTURE(qp)
{
	struct abi abi;
	struct uv_res base;	/* with the PD and the CQs */
	struct uv_cq scq, rcq;
	struct qp_want want;
	int fd;
	__u32 pd;
};

FIXTURE_VARIANT(qp)
{
	int how;
};

FIXTURE_VARIANT_ADD(qp, write)
{
	.how = QP_WRITE,
};

FIXTURE_VARIANT_ADD(qp, invoke)
{
	.how = QP_INVOKE,
};

FIXTURE_VARIANT_ADD(qp, ex)
{
	.how = QP_EX,
};

FIXTURE_VARIANT_ADD(qp, ex_invoke)
{
	.how = QP_EX_INVOKE,
};

FIXTURE_VARIANT_ADD(qp, method)
{
	.how = QP_METHOD,
};

FIXTURE_SETUP(qp)
{
	abi_start(_metadata, &self->abi);
	self->fd = self->abi.fd;
	ASSERT_EQ(0, uv_pd_alloc(self->fd, UV_WRITE, &self->pd));
	ASSERT_EQ(0, uv_cq_create(self->fd, 16, -1, 1, &self->scq));
	ASSERT_EQ(0, uv_cq_create(self->fd, 16, -1, 2, &self->rcq));
	ASSERT_EQ(0, uv_res_get(&self->base));
	self->want = (struct qp_want){
		.cap = { 8, 8, 2, 2, 64 },
		.type = IB_UVERBS_QPT_RC,
		.pd = self->pd,
		.send_cq = self->scq.handle,
		.recv_cq = self->rcq.handle,
	};
}

FIXTURE_TEARDOWN(qp)
{
	abi_end(_metadata, &self->abi);
}

TEST_F(qp, create_and_destroy)
{
	const __u32 types[] = { IB_UVERBS_QPT_RC, IB_UVERBS_QPT_UC,
				IB_UVERBS_QPT_UD };
	struct ib_uverbs_destroy_qp_resp resp;
	struct uv_res want = self->base;
	struct uv_qp qp;
	size_t i;

	want.qp++;
	for (i = 0; i < ARRAY_SIZE(types); i++) {
		self->want.type = types[i];
		ASSERT_EQ(0, qp_create(self->fd, variant->how, &self->want,
				       &qp));
		EXPECT_LT(1, qp.qpn);
		EXPECT_LE(8, qp.max_send_wr);
		EXPECT_LE(8, qp.max_recv_wr);
		EXPECT_NE(0, qp.rxe.sq_mi.size);
		EXPECT_NE(0, qp.rxe.rq_mi.size);
		abi_same(_metadata, &want, "created");
		resp.events_reported = 9;
		ASSERT_EQ(0, qp_destroy(self->fd, variant->how, qp.handle,
					&resp));
		EXPECT_EQ(0, resp.events_reported);
		abi_same(_metadata, &self->base, "destroyed");
		EXPECT_EQ(-ENOENT, qp_destroy(self->fd, variant->how,
					      qp.handle, &resp));
	}
}

TEST_F(qp, one_cq_for_both)
{
	struct ib_uverbs_destroy_qp_resp resp;
	struct uv_qp a, b;

	self->want.recv_cq = self->want.send_cq;
	ASSERT_EQ(0, qp_create(self->fd, variant->how, &self->want, &a));
	ASSERT_EQ(0, qp_create(self->fd, variant->how, &self->want, &b));
	EXPECT_NE(a.qpn, b.qpn);
	EXPECT_NE(a.handle, b.handle);
	EXPECT_EQ(0, uv_cq_destroy(self->fd, self->rcq.handle, NULL));
	EXPECT_EQ(-EBUSY, uv_cq_destroy(self->fd, self->scq.handle, NULL));
	EXPECT_EQ(0, qp_destroy(self->fd, variant->how, a.handle, &resp));
	EXPECT_EQ(-EBUSY, uv_cq_destroy(self->fd, self->scq.handle, NULL));
	EXPECT_EQ(0, qp_destroy(self->fd, variant->how, b.handle, &resp));
	EXPECT_EQ(0, uv_cq_destroy(self->fd, self->scq.handle, NULL));
}

TEST_F(qp, parents_are_busy)
{
	struct ib_uverbs_destroy_qp_resp resp;
	struct uv_res want;
	struct uv_qp qp;

	ASSERT_EQ(0, qp_create(self->fd, variant->how, &self->want, &qp));
	ASSERT_EQ(0, uv_res_get(&want));
	EXPECT_EQ(-EBUSY, uv_pd_destroy(self->fd, self->pd));
	EXPECT_EQ(-EBUSY, uv_cq_destroy(self->fd, self->scq.handle, NULL));
	EXPECT_EQ(-EBUSY, uv_cq_destroy(self->fd, self->rcq.handle, NULL));
	abi_same(_metadata, &want, "busy");
	EXPECT_EQ(0, qp_destroy(self->fd, variant->how, qp.handle, &resp));
	EXPECT_EQ(0, uv_pd_destroy(self->fd, self->pd));
	EXPECT_EQ(0, uv_cq_destroy(self->fd, self->scq.handle, NULL));
	EXPECT_EQ(0, uv_cq_destroy(self->fd, self->rcq.handle, NULL));
}

/* Which word of struct qp_want a case changes. */
#define AT(member) (offsetof(struct qp_want, member) / sizeof(__u32))

struct qp_case {
	const char *name;
	size_t at;
	__u32 value;
	int want;
};

static const struct qp_case cases[] = {
	{ "no such PD", AT(pd), ABI_NO_HANDLE, -ENOENT },
	{ "no such send CQ", AT(send_cq), ABI_NO_HANDLE, -ENOENT },
	{ "no such recv CQ", AT(recv_cq), ABI_NO_HANDLE, -ENOENT },
	{ "handle ~0", AT(pd), ~0U, -ENOENT },
	{ "SMI", AT(type), 0, -EINVAL },
	{ "GSI", AT(type), 1, -EINVAL },
	{ "raw IPv6", AT(type), 5, -EINVAL },
	{ "raw packet", AT(type), IB_UVERBS_QPT_RAW_PACKET, -EOPNOTSUPP },
	/* Its PD's handle is one of an XRCD; the method has an attribute. */
	{ "XRC target", AT(type), IB_UVERBS_QPT_XRC_TGT, -EINVAL },
	{ "XRC initiator", AT(type), IB_UVERBS_QPT_XRC_INI, -EOPNOTSUPP },
	{ "a driver's type", AT(type), IB_UVERBS_QPT_DRIVER, -EOPNOTSUPP },
	{ "unknown type", AT(type), 0x42, -EINVAL },
	{ "send wr", AT(cap.max_send_wr), (1 << 20) + 1, -EINVAL },
	{ "send wr ~0", AT(cap.max_send_wr), ~0U, -EINVAL },
	{ "recv wr", AT(cap.max_recv_wr), (1 << 20) + 1, -EINVAL },
	{ "recv wr ~0", AT(cap.max_recv_wr), ~0U, -EINVAL },
	{ "send sge", AT(cap.max_send_sge), 33, -EINVAL },
	{ "send sge ~0", AT(cap.max_send_sge), ~0U, -EINVAL },
	{ "recv sge", AT(cap.max_recv_sge), 33, -EINVAL },
	{ "recv sge ~0", AT(cap.max_recv_sge), ~0U, -EINVAL },
	{ "inline", AT(cap.max_inline_data), 4096, -EINVAL },
	{ "inline ~0", AT(cap.max_inline_data), ~0U, -EINVAL },
};

TEST_F(qp, bad_input)
{
	const struct qp_case *c;
	struct qp_want want;
	struct uv_qp qp;
	size_t i;
	int ret;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		c = &cases[i];
		want = self->want;
		((__u32 *)&want)[c->at] = c->value;
		ret = qp_create(self->fd, variant->how, &want, &qp);
		ABI_EXPECT(c->want, ret, c->name);
		abi_same(_metadata, &self->base, c->name);
	}
	/* No failure kept a parent busy. */
	EXPECT_EQ(0, uv_pd_destroy(self->fd, self->pd));
	EXPECT_EQ(0, uv_cq_destroy(self->fd, self->scq.handle, NULL));
	EXPECT_EQ(0, uv_cq_destroy(self->fd, self->rcq.handle, NULL));
}

TEST_F(qp, handles_of_other_types)
{
	struct qp_want want = self->want;
	struct uv_qp qp;

	want.pd = self->scq.handle;
	EXPECT_EQ(-EINVAL, qp_create(self->fd, variant->how, &want, &qp));
	want = self->want;
	want.send_cq = self->pd;
	EXPECT_EQ(-EINVAL, qp_create(self->fd, variant->how, &want, &qp));
	want = self->want;
	want.recv_cq = self->pd;
	EXPECT_EQ(-EINVAL, qp_create(self->fd, variant->how, &want, &qp));
	want = self->want;
	want.is_srq = true;
	want.srq = self->pd;
	EXPECT_EQ(-EINVAL, qp_create(self->fd, variant->how, &want, &qp));
	want.srq = ABI_NO_HANDLE;
	EXPECT_EQ(-ENOENT, qp_create(self->fd, variant->how, &want, &qp));
	abi_same(_metadata, &self->base, "other types");
}

TEST_F(qp, flags)
{
	const struct {
		__u32 flag;
		int ex, method;
	} flags[] = {
		/* BLOCK_MULTICAST_LOOPBACK, which rxe has not. */
		{ 1 << 1, -EOPNOTSUPP, -EINVAL },
		{ 1 << 8, -EOPNOTSUPP, -EINVAL },	/* SCATTER_FCS */
		{ 1 << 0, -EINVAL, -EINVAL },	/* IPOIB_UD_LSO: kernel's */
		{ 1U << 31, -EINVAL, -EINVAL },
	};
	struct uv_qp qp;
	size_t i;

	if (variant->how == QP_WRITE || variant->how == QP_INVOKE)
		SKIP(return, "this form has no flags");
	for (i = 0; i < ARRAY_SIZE(flags); i++) {
		int want = variant->how == QP_METHOD ? flags[i].method :
						       flags[i].ex;
		int ret;

		self->want.flags = flags[i].flag;
		ret = qp_create(self->fd, variant->how, &self->want, &qp);
		ABI_EXPECT(want, ret, "flag");
		abi_same(_metadata, &self->base, "flags");
	}
}

/* As nobody, without CAP_NET_RAW; only ioctl() may change credentials. */
TEST_F(qp, raw_packet_needs_a_capability)
{
	struct uv_qp qp;
	int ret;

	if (geteuid())
		SKIP(return, "needs root");
	if (variant->how == QP_WRITE || variant->how == QP_EX)
		SKIP(return, "write() refuses other credentials");
	self->want.type = IB_UVERBS_QPT_RAW_PACKET;
	ASSERT_EQ(0, seteuid(65534));
	ret = qp_create(self->fd, variant->how, &self->want, &qp);
	ASSERT_EQ(0, seteuid(0));
	EXPECT_EQ(-EPERM, ret);
	abi_same(_metadata, &self->base, "raw packet");
}

TEST_F(qp, destroy_bad_handles)
{
	struct ib_uverbs_destroy_qp_resp resp;
	struct uv_qp qp;

	ASSERT_EQ(0, qp_create(self->fd, variant->how, &self->want, &qp));
	EXPECT_EQ(-EINVAL,
		  qp_destroy(self->fd, variant->how, self->pd, &resp));
	EXPECT_EQ(-EINVAL, qp_destroy(self->fd, variant->how,
				      self->scq.handle, &resp));
	EXPECT_EQ(-ENOENT,
		  qp_destroy(self->fd, variant->how, ABI_NO_HANDLE, &resp));
	EXPECT_EQ(0, qp_destroy(self->fd, variant->how, qp.handle, &resp));
}

/* A QP's handle in each place where another type is meant. */
TEST_F(qp, is_nothing_else)
{
	struct uv_qp qp;

	ASSERT_EQ(0, qp_create(self->fd, variant->how, &self->want, &qp));
	EXPECT_EQ(-EINVAL, uv_pd_destroy(self->fd, qp.handle));
	EXPECT_EQ(-EINVAL, uv_cq_destroy(self->fd, qp.handle, NULL));
	EXPECT_EQ(-EINVAL, uv_mr_destroy(self->fd, qp.handle));
	EXPECT_EQ(-EINVAL, uv_ah_destroy(self->fd, qp.handle));
	EXPECT_EQ(-EINVAL, uv_req_notify(self->fd, UV_WRITE, qp.handle, 0));
	EXPECT_EQ(0, uv_qp_destroy(self->fd, qp.handle, NULL));
}

ABI_FIXTURE(qp_ex);

static void base_req(struct ib_uverbs_ex_create_qp *req, __u32 pd, __u32 cq)
{
	struct qp_want want = {
		.cap = { 8, 8, 2, 2, 64 },
		.type = IB_UVERBS_QPT_RC,
		.pd = pd,
		.send_cq = cq,
		.recv_cq = cq,
	};

	qp_ex_req(&want, req);
}

/* What only the extended command can have wrong. */
TEST_F(qp_ex, bad_input)
{
	struct ib_uverbs_ex_create_qp req;
	struct uv_res base;
	struct uv_cq cq;
	struct uv_qp qp;
	enum uv_form form;
	__u32 pd;

	ASSERT_EQ(0, uv_pd_alloc(self->fd, UV_WRITE, &pd));
	ASSERT_EQ(0, uv_cq_create(self->fd, 16, -1, 1, &cq));
	ASSERT_EQ(0, uv_res_get(&base));
	for (form = UV_WRITE; form <= UV_INVOKE; form++) {
		base_req(&req, pd, cq.handle);
		req.comp_mask = 2;
		EXPECT_EQ(-EINVAL, qp_ex_call(self->fd, form, &req, &qp));
		base_req(&req, pd, cq.handle);
		req.reserved = 1;
		EXPECT_EQ(-EINVAL, qp_ex_call(self->fd, form, &req, &qp));
		/* rxe has no such tables. */
		base_req(&req, pd, cq.handle);
		req.comp_mask = IB_UVERBS_CREATE_QP_MASK_IND_TABLE;
		EXPECT_EQ(-EINVAL, qp_ex_call(self->fd, form, &req, &qp));
	}
	abi_same(_metadata, &base, "extended");
}

TEST_HARNESS_MAIN
