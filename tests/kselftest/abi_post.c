// SPDX-License-Identifier: GPL-2.0
/*
 * POST_SEND and POST_RECV.  For rxe POST_SEND is the doorbell: the work
 * requests are in the ring that user space maps, and those in the command are
 * checked and then not used.
 */
#include <stddef.h>

#include "abi_event.h"

FIXTURE(post)
{
	struct abi abi;
	struct uv_cq cq;
	struct uv_qp qp;
	int fd;
	__u32 pd;
};

FIXTURE_VARIANT(post)
{
	enum uv_form form;
};

FIXTURE_VARIANT_ADD(post, write)
{
	.form = UV_WRITE,
};

FIXTURE_VARIANT_ADD(post, invoke)
{
	.form = UV_INVOKE,
};

FIXTURE_SETUP(post)
{
	abi_start(_metadata, &self->abi);
	self->fd = self->abi.fd;
	ASSERT_EQ(0, uv_pd_alloc(self->fd, UV_WRITE, &self->pd));
	ASSERT_EQ(0, uv_cq_create(self->fd, 16, -1, 1, &self->cq));
	ASSERT_EQ(0, uv_qp_create(self->fd, self->pd, self->cq.handle,
				  IB_UVERBS_QPT_RC, &self->qp));
}

FIXTURE_TEARDOWN(post)
{
	abi_end(_metadata, &self->abi);
}

/* A command with one work request and one sge, to be spoilt. */
struct post {
	struct ib_uverbs_post_send head;
	struct ib_uverbs_send_wr wr;
	struct ib_uverbs_sge sge;
	__u64 tail;
};

#define POST_LEN offsetof(struct post, tail)

static void good(__u32 qp, struct post *p)
{
	memset(p, 0, sizeof(*p));
	p->head.qp_handle = qp;
	p->head.wr_count = 1;
	p->head.sge_count = 1;
	p->head.wqe_size = sizeof(p->wr);
	p->wr.num_sge = 1;
	p->wr.opcode = IB_UVERBS_WR_SEND;
}

static int post(int fd, enum uv_form form, struct post *p, size_t len)
{
	struct ib_uverbs_post_send_resp resp = {};
	struct uv_call call = {
		.command = IB_USER_VERBS_CMD_POST_SEND,
		.req = p, .req_len = len,
		.resp = &resp, .resp_len = sizeof(resp),
	};
	int ret = uv_call(fd, form, &call);

	return !ret && resp.bad_wr ? -EPROTO : ret;
}

TEST_F(post, doorbell_by_state)
{
	struct ib_uverbs_modify_qp req = {};

	EXPECT_EQ(-EINVAL, uv_doorbell(self->fd, variant->form,
				       self->qp.handle));
	ASSERT_EQ(0, uv_qp_init(self->fd, self->qp.handle));
	EXPECT_EQ(-EINVAL, uv_doorbell(self->fd, variant->form,
				       self->qp.handle));
	ASSERT_EQ(0, uv_qp_rtr(self->fd, self->qp.handle, self->qp.qpn));
	EXPECT_EQ(-EINVAL, uv_doorbell(self->fd, variant->form,
				       self->qp.handle));
	ASSERT_EQ(0, uv_qp_rts(self->fd, self->qp.handle));
	EXPECT_EQ(0, uv_doorbell(self->fd, variant->form, self->qp.handle));
	ASSERT_EQ(0, uv_qp_error(self->fd, self->qp.handle));
	EXPECT_EQ(0, uv_doorbell(self->fd, variant->form, self->qp.handle));
	req.qp_handle = self->qp.handle;
	req.attr_mask = UV_QP_STATE;
	ASSERT_EQ(0, uv_qp_modify(self->fd, UV_WRITE, &req));
	EXPECT_EQ(-EINVAL, uv_doorbell(self->fd, variant->form,
				       self->qp.handle));
}

TEST_F(post, bad_handles)
{
	EXPECT_EQ(-ENOENT, uv_doorbell(self->fd, variant->form,
				       ABI_NO_HANDLE));
	EXPECT_EQ(-EINVAL, uv_doorbell(self->fd, variant->form, self->pd));
	EXPECT_EQ(-EINVAL, uv_doorbell(self->fd, variant->form,
				       self->cq.handle));
	ASSERT_EQ(0, uv_qp_destroy(self->fd, self->qp.handle, NULL));
	EXPECT_EQ(-ENOENT, uv_doorbell(self->fd, variant->form,
				       self->qp.handle));
}

static void as_is(struct post *p)
{
	(void)p;
}

static void none(struct post *p)
{
	p->head.wr_count = 0;
	p->head.sge_count = 0;
	memset(&p->wr, 0, sizeof(p->wr) + sizeof(p->sge));
}

/* What is not counted must be zero. */
static void uncounted(struct post *p)
{
	p->head.wr_count = 0;
}

static void two_wrs(struct post *p)
{
	p->head.wr_count = 2;
}

static void two_sges(struct post *p)
{
	p->head.sge_count = 2;
}

static void wr_count_max(struct post *p)
{
	p->head.wr_count = ~0U;
}

static void sge_count_max(struct post *p)
{
	p->head.sge_count = ~0U;
}

/* 2^32 * 2^32 and 2^29 * 2^3 are no sizes at all. */
static void all_max(struct post *p)
{
	p->head.wr_count = ~0U;
	p->head.wqe_size = ~0U;
	p->head.sge_count = ~0U;
}

static void product_of_2_32(struct post *p)
{
	p->head.wr_count = 1 << 29;
	p->head.wqe_size = 1 << 3;
}

static void product_of_2_63(struct post *p)
{
	p->head.wr_count = 1U << 31;
	p->head.wqe_size = ~0U;
}

static void wqe_short(struct post *p)
{
	p->head.wqe_size = sizeof(p->wr) - 8;
}

static void wqe_0(struct post *p)
{
	p->head.wqe_size = 0;
}

static void wqe_huge(struct post *p)
{
	none(p);
	p->head.wqe_size = ~0U;
}

static void wr_sges(struct post *p)
{
	p->wr.num_sge = 2;
}

static void wr_sges_max(struct post *p)
{
	p->wr.num_sge = ~0U;
}

static void opcode_bad(struct post *p)
{
	p->wr.opcode = 99;
}

static void opcode_local_inv(struct post *p)
{
	p->wr.opcode = IB_UVERBS_WR_LOCAL_INV;
}

static void opcode_bind(struct post *p)
{
	p->wr.opcode = IB_UVERBS_WR_BIND_MW;
}

static void opcode_atomic(struct post *p)
{
	p->wr.opcode = IB_UVERBS_WR_ATOMIC_FETCH_AND_ADD;
}

static const struct {
	const char *name;
	void (*change)(struct post *p);
	int want;
} cases[] = {
	{ "as it should be", as_is, 0 },
	{ "an atomic", opcode_atomic, 0 },
	{ "nothing", none, 0 },
	{ "something that is not counted", uncounted, -EOPNOTSUPP },
	{ "two of one", two_wrs, -ENOSPC },
	{ "two sges of one", two_sges, -ENOSPC },
	{ "2^32 - 1 of one", wr_count_max, -ENOSPC },
	{ "2^32 - 1 sges of one", sge_count_max, -ENOSPC },
	{ "all at most", all_max, -ENOSPC },
	{ "product of 2^32", product_of_2_32, -ENOSPC },
	{ "product of almost 2^63", product_of_2_63, -ENOSPC },
	{ "short work request", wqe_short, -EOPNOTSUPP },
	{ "work request of 0 bytes", wqe_0, -EOPNOTSUPP },
	{ "work request of 4 GiB", wqe_huge, -ENOMEM },
	{ "more sges than there are", wr_sges, -EINVAL },
	{ "2^32 - 1 sges", wr_sges_max, -EINVAL },
	{ "opcode 99", opcode_bad, -EINVAL },
	{ "opcode LOCAL_INV", opcode_local_inv, -EINVAL },
	{ "opcode BIND_MW", opcode_bind, -EINVAL },
};

TEST_F(post, send)
{
	struct uv_res want;
	struct post p;
	size_t i;
	int ret;

	ASSERT_EQ(0, uv_qp_connect(self->fd, self->qp.handle, self->qp.qpn));
	ASSERT_EQ(0, uv_res_get(&want));
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		good(self->qp.handle, &p);
		p.sge.length = 1;	/* so that it is not all zeros */
		p.wr.wr_id = 1;
		cases[i].change(&p);
		ret = post(self->fd, variant->form, &p, POST_LEN);
		ABI_EXPECT(cases[i].want, ret, cases[i].name);
		abi_same(_metadata, &want, cases[i].name);
	}
}

/* wqe_size too short, with nothing left over that could be not zero. */
TEST_F(post, short_work_requests)
{
	struct post p = { .head.qp_handle = self->qp.handle };

	ASSERT_EQ(0, uv_qp_connect(self->fd, self->qp.handle, self->qp.qpn));
	EXPECT_EQ(-EINVAL, post(self->fd, variant->form, &p, sizeof(p.head)));
	p.head.wqe_size = sizeof(p.wr) - 1;
	EXPECT_EQ(-EINVAL, post(self->fd, variant->form, &p, sizeof(p.head)));
	p.head.wqe_size = sizeof(p.wr);
	EXPECT_EQ(0, post(self->fd, variant->form, &p, sizeof(p.head)));
	EXPECT_EQ(-ENOSPC, post(self->fd, variant->form, &p,
				sizeof(p.head) - 4));
}

/* Longer ones are for programs of the future. */
TEST_F(post, long_work_request)
{
	struct post p;

	ASSERT_EQ(0, uv_qp_connect(self->fd, self->qp.handle, self->qp.qpn));
	good(self->qp.handle, &p);
	p.head.wqe_size = sizeof(p.wr) + sizeof(p.sge);
	EXPECT_EQ(-ENOSPC, post(self->fd, variant->form, &p, POST_LEN));
	p.head.sge_count = 0;
	p.wr.num_sge = 0;
	EXPECT_EQ(0, post(self->fd, variant->form, &p, POST_LEN));
}

/* A datagram's work request names an address handle. */
TEST_F(post, ud)
{
	struct ib_uverbs_modify_qp req = {
		.qp_state = UV_INIT,
		.port_num = 1,
		.qkey = 0x11,
		.attr_mask = UV_QP_STATE | UV_QP_PKEY_INDEX | UV_QP_PORT |
			     UV_QP_QKEY,
	};
	struct uv_qp ud;
	struct uv_ah ah;
	struct post p;

	ASSERT_EQ(0, uv_qp_create(self->fd, self->pd, self->cq.handle,
				  IB_UVERBS_QPT_UD, &ud));
	ASSERT_EQ(0, uv_ah_create(self->fd, self->pd, &ah));
	req.qp_handle = ud.handle;
	ASSERT_EQ(0, uv_qp_modify(self->fd, UV_WRITE, &req));
	req.qp_state = UV_RTR;
	req.attr_mask = UV_QP_STATE;
	ASSERT_EQ(0, uv_qp_modify(self->fd, UV_WRITE, &req));
	req.qp_state = UV_RTS;
	req.attr_mask = UV_QP_STATE | UV_QP_SQ_PSN;
	ASSERT_EQ(0, uv_qp_modify(self->fd, UV_WRITE, &req));

	good(ud.handle, &p);
	p.wr.wr.ud.ah = ah.handle;
	EXPECT_EQ(0, post(self->fd, variant->form, &p, POST_LEN));
	p.wr.wr.ud.ah = ABI_NO_HANDLE;
	EXPECT_EQ(-ENOENT, post(self->fd, variant->form, &p, POST_LEN));
	p.wr.wr.ud.ah = self->pd;
	EXPECT_EQ(-EINVAL, post(self->fd, variant->form, &p, POST_LEN));
	p.wr.wr.ud.ah = ah.handle;
	p.wr.opcode = IB_UVERBS_WR_RDMA_WRITE;
	EXPECT_EQ(-EINVAL, post(self->fd, variant->form, &p, POST_LEN));
	/* No failure keeps the address handle. */
	EXPECT_EQ(0, uv_ah_destroy(self->fd, ah.handle));
}

TEST_F(post, response)
{
	struct ib_uverbs_post_send req = {
		.qp_handle = self->qp.handle,
		.wqe_size = sizeof(struct ib_uverbs_send_wr),
	};
	struct uv_call call = {
		.command = IB_USER_VERBS_CMD_POST_SEND,
		.req = &req, .req_len = sizeof(req),
	};
	struct uv_write w;

	ASSERT_EQ(0, uv_qp_connect(self->fd, self->qp.handle, self->qp.qpn));
	EXPECT_EQ(-ENOSPC, uv_call(self->fd, variant->form, &call));
	call.resp = UV_BAD_PTR;
	call.resp_len = 4;
	EXPECT_EQ(-EFAULT, uv_call(self->fd, UV_INVOKE, &call));
	uv_wprep(&w, call.command, &req, sizeof(req), UV_BAD_PTR, 4);
	EXPECT_EQ(-EFAULT, uv_wsend(self->fd, &w));
}

/* rxe leaves these commands out. */
TEST_F(post, recv_is_not_supported)
{
	struct {
		struct ib_uverbs_post_recv head;
		struct ib_uverbs_recv_wr wr;
	} req = {
		.head.qp_handle = self->qp.handle,
		.head.wr_count = 1,
		.head.wqe_size = sizeof(req.wr),
	};
	__u32 resp;
	struct uv_call call = {
		.command = IB_USER_VERBS_CMD_POST_RECV,
		.req = &req, .req_len = sizeof(req),
		.resp = &resp, .resp_len = sizeof(resp),
	};

	ASSERT_EQ(0, uv_qp_init(self->fd, self->qp.handle));
	EXPECT_EQ(-EOPNOTSUPP, uv_call(self->fd, variant->form, &call));
	call.command = IB_USER_VERBS_CMD_POST_SRQ_RECV;
	EXPECT_EQ(-EOPNOTSUPP, uv_call(self->fd, variant->form, &call));
	/* Before a look at its sizes. */
	call.req_len = 4;
	EXPECT_EQ(-EOPNOTSUPP, uv_call(self->fd, variant->form, &call));
}

TEST_HARNESS_MAIN
