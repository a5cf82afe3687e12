// SPDX-License-Identifier: GPL-2.0
/* Reliable connections: operations, and each way in which one fails. */
#include "hca.h"

FIXTURE(rc)
{
	struct hca h;
	struct ibv_qp *a, *b;
};

static const struct hca_terms terms = {
	.access = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
	.retry = 7,
	.rnr_retry = 7,
};

static int reconnect(struct hca *h, struct ibv_qp *a, struct ibv_qp *b, struct hca_terms t)
{
	return hca_to(a, IBV_QPS_RESET) || hca_to(b, IBV_QPS_RESET) ||
	       hca_connect(h, a, b->qp_num, t) || hca_connect(h, b, a->qp_num, t);
}

FIXTURE_SETUP(rc)
{
	ASSERT_EQ(0, hca_open(&self->h));
	self->a = hca_qp(&self->h, IBV_QPT_RC, NULL);
	self->b = hca_qp(&self->h, IBV_QPT_RC, NULL);
	ASSERT_NE(NULL, self->a);
	ASSERT_NE(NULL, self->b);
	ASSERT_EQ(0, hca_connect(&self->h, self->a, self->b->qp_num, terms));
	ASSERT_EQ(0, hca_connect(&self->h, self->b, self->a->qp_num, terms));
}

FIXTURE_TEARDOWN(rc)
{
	EXPECT_EQ(0, ibv_destroy_qp(self->a));
	EXPECT_EQ(0, ibv_destroy_qp(self->b));
	EXPECT_EQ(0, hca_close(&self->h));
}

TEST_F(rc, write_and_read)
{
	struct hca *h = &self->h;
	struct hca_op write = { IBV_WR_RDMA_WRITE, 1, 1, 200001, 300003, .flags = IBV_SEND_SIGNALED };
	struct hca_op read = { IBV_WR_RDMA_READ, 2, 600005, 100000, 300003, .flags = IBV_SEND_SIGNALED };

	ASSERT_EQ(0, hca_send(h, self->a, write));
	ASSERT_EQ(IBV_WC_SUCCESS, hca_status(h, 1));
	EXPECT_EQ(0, memcmp(h->memory + 1, h->memory + 300003, 200001));
	ASSERT_EQ(0, hca_send(h, self->a, read));
	ASSERT_EQ(IBV_WC_SUCCESS, hca_status(h, 2));
	EXPECT_EQ(0, memcmp(h->memory + 600005, h->memory + 300003, 100000));
}

TEST_F(rc, send_inline_with_immediate)
{
	struct hca *h = &self->h;
	struct hca_op op = { IBV_WR_SEND_WITH_IMM, 3, 0, 50, .flags = IBV_SEND_INLINE };
	struct ibv_wc wc;

	ASSERT_EQ(0, hca_receive(h, self->b, NULL, 800000, 100, 77));
	ASSERT_EQ(0, hca_send(h, self->a, op));
	ASSERT_TRUE(hca_wait(h, &wc, 10000));
	EXPECT_EQ(77, wc.wr_id);
	EXPECT_EQ(IBV_WC_SUCCESS, wc.status);
	EXPECT_EQ(50, wc.byte_len);
	EXPECT_EQ(0x1234, ntohl(wc.imm_data));
	EXPECT_TRUE(wc.wc_flags & IBV_WC_WITH_IMM);
	EXPECT_EQ(0, memcmp(h->memory, h->memory + 800000, 50));
	/* Not signalled. */
	EXPECT_FALSE(hca_wait(h, &wc, 50));
}

TEST_F(rc, write_with_immediate)
{
	struct hca *h = &self->h;
	struct hca_op op = { IBV_WR_RDMA_WRITE_WITH_IMM, 3, 0, 5000, 400000, .flags = 0 };
	struct ibv_wc wc;

	ASSERT_EQ(0, hca_receive(h, self->b, NULL, 800000, 1, 77));
	ASSERT_EQ(0, hca_send(h, self->a, op));
	ASSERT_TRUE(hca_wait(h, &wc, 10000));
	EXPECT_EQ(IBV_WC_SUCCESS, wc.status);
	EXPECT_EQ(IBV_WC_RECV_RDMA_WITH_IMM, wc.opcode);
	EXPECT_EQ(5000, wc.byte_len);
	EXPECT_EQ(0, memcmp(h->memory, h->memory + 400000, 5000));
}

TEST_F(rc, atomics)
{
	struct hca *h = &self->h;
	uint64_t *word = (uint64_t *)(h->memory + 900000), *old = (uint64_t *)(h->memory + 910000);
	struct hca_op add = { IBV_WR_ATOMIC_FETCH_AND_ADD, 4, 910000, 8, 900000, .flags = IBV_SEND_SIGNALED };
	struct hca_op swap = { IBV_WR_ATOMIC_CMP_AND_SWP, 5, 910000, 8, 900000, .flags = IBV_SEND_SIGNALED };

	*word = 100;
	ASSERT_EQ(0, hca_send(h, self->a, add));
	ASSERT_EQ(IBV_WC_SUCCESS, hca_status(h, 4));
	EXPECT_EQ(100, *old);
	EXPECT_EQ(105, *word);
	/* It is not 5. */
	ASSERT_EQ(0, hca_send(h, self->a, swap));
	ASSERT_EQ(IBV_WC_SUCCESS, hca_status(h, 5));
	EXPECT_EQ(105, *word);
	*word = 5;
	ASSERT_EQ(0, hca_send(h, self->a, swap));
	ASSERT_EQ(IBV_WC_SUCCESS, hca_status(h, 5));
	EXPECT_EQ(9, *word);
}

/* Of the three sends one fails, the others and all receives are flushed, in order. */
TEST_F(rc, bad_rkey)
{
	struct hca *h = &self->h;
	struct hca_op bad = { IBV_WR_RDMA_WRITE, 5, 0, 64, 300000, .rkey = h->mr->rkey ^ 0x5500 };
	struct hca_op good = { IBV_WR_RDMA_WRITE, 6, 0, 64, 300000, .flags = IBV_SEND_SIGNALED };
	int flushed[2] = {}, i;
	struct ibv_wc wc;

	for (i = 0; i < 5; i++)
		ASSERT_EQ(0, hca_receive(h, self->b, NULL, 0, 16, 200 + i));
	ASSERT_EQ(0, hca_receive(h, self->a, NULL, 0, 16, 100));
	ASSERT_EQ(0, hca_send(h, self->a, bad));
	ASSERT_EQ(0, hca_send(h, self->a, good));
	good.flags = 0;
	ASSERT_EQ(0, hca_send(h, self->a, good));
	for (i = 0; i < 9; i++) {
		ASSERT_TRUE(hca_wait(h, &wc, 10000));
		EXPECT_EQ(wc.wr_id == 5 ? IBV_WC_REM_ACCESS_ERR : IBV_WC_WR_FLUSH_ERR, wc.status);
		flushed[wc.qp_num == self->b->qp_num] += wc.status == IBV_WC_WR_FLUSH_ERR;
	}
	EXPECT_EQ(3, flushed[0]);
	EXPECT_EQ(5, flushed[1]);
	EXPECT_FALSE(hca_wait(h, &wc, 50));
	EXPECT_EQ(IBV_QPS_ERR, hca_state(self->a));
	EXPECT_EQ(IBV_QPS_ERR, hca_state(self->b));
	EXPECT_EQ(IBV_EVENT_QP_ACCESS_ERR, hca_event(h, 5000));

	/* What is posted from now on is flushed, too, and after a reset all is well. */
	ASSERT_EQ(0, hca_send(h, self->a, good));
	EXPECT_EQ(IBV_WC_WR_FLUSH_ERR, hca_status(h, 6));
	ASSERT_EQ(0, reconnect(h, self->a, self->b, terms));
	good.flags = IBV_SEND_SIGNALED;
	ASSERT_EQ(0, hca_send(h, self->a, good));
	EXPECT_EQ(IBV_WC_SUCCESS, hca_status(h, 6));
}

TEST_F(rc, a_key_that_is_gone)
{
	struct hca *h = &self->h;
	struct ibv_mr *mr = ibv_reg_mr(h->pd, h->memory, 4096, HCA_ALL);
	struct hca_op op = { IBV_WR_RDMA_READ, 1, 8192, 64, 0, .flags = 0 };

	ASSERT_NE(NULL, mr);
	op.rkey = mr->rkey;
	ASSERT_EQ(0, ibv_dereg_mr(mr));
	ASSERT_EQ(0, hca_send(h, self->a, op));
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, hca_status(h, 1));
}

TEST_F(rc, a_right_that_a_region_does_not_grant)
{
	struct hca *h = &self->h;
	struct ibv_mr *mr = ibv_reg_mr(h->pd, h->memory, 4096, IBV_ACCESS_REMOTE_READ);
	struct hca_op read = { IBV_WR_RDMA_READ, 1, 8192, 64, 0, .flags = IBV_SEND_SIGNALED };
	struct hca_op write = { IBV_WR_RDMA_WRITE, 2, 8192, 64, 0, .flags = 0 };

	ASSERT_NE(NULL, mr);
	read.rkey = write.rkey = mr->rkey;
	ASSERT_EQ(0, hca_send(h, self->a, read));
	EXPECT_EQ(IBV_WC_SUCCESS, hca_status(h, 1));
	ASSERT_EQ(0, hca_send(h, self->a, write));
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, hca_status(h, 2));
	EXPECT_EQ(0, ibv_dereg_mr(mr));
}

TEST_F(rc, a_right_that_a_qp_does_not_grant)
{
	struct hca *h = &self->h;
	struct hca_terms less = terms;
	struct hca_op op = { IBV_WR_RDMA_WRITE, 2, 0, 64, 300000, .flags = 0 };

	less.access = IBV_ACCESS_REMOTE_READ;
	ASSERT_EQ(0, reconnect(h, self->a, self->b, less));
	ASSERT_EQ(0, hca_send(h, self->a, op));
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, hca_status(h, 2));
}

TEST_F(rc, the_end_of_a_region)
{
	struct hca *h = &self->h;
	struct hca_op last = { IBV_WR_RDMA_WRITE, 1, 0, 64, HCA_MEMORY - 64, .flags = IBV_SEND_SIGNALED };
	struct hca_op past = { IBV_WR_RDMA_WRITE, 2, 0, 64, HCA_MEMORY - 63, .flags = 0 };

	ASSERT_EQ(0, hca_send(h, self->a, last));
	EXPECT_EQ(IBV_WC_SUCCESS, hca_status(h, 1));
	ASSERT_EQ(0, hca_send(h, self->a, past));
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, hca_status(h, 2));
}

TEST_F(rc, another_protection_domain)
{
	struct hca *h = &self->h;
	struct ibv_pd *pd = ibv_alloc_pd(h->ctx);
	struct hca_op remote = { IBV_WR_RDMA_READ, 1, 8192, 64, 0, .flags = 0 };
	struct hca_op local = { IBV_WR_RDMA_WRITE, 2, 0, 64, 8192, .flags = 0 };
	struct ibv_mr *mr;

	ASSERT_NE(NULL, pd);
	mr = ibv_reg_mr(pd, h->memory, 4096, HCA_ALL);
	ASSERT_NE(NULL, mr);
	remote.rkey = mr->rkey;
	ASSERT_EQ(0, hca_send(h, self->a, remote));
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, hca_status(h, 1));
	ASSERT_EQ(0, reconnect(h, self->a, self->b, terms));
	local.lkey = mr->lkey;
	ASSERT_EQ(0, hca_send(h, self->a, local));
	EXPECT_EQ(IBV_WC_LOC_PROT_ERR, hca_status(h, 2));
	EXPECT_EQ(0, ibv_dereg_mr(mr));
	EXPECT_EQ(0, ibv_dealloc_pd(pd));
}

TEST_F(rc, a_receive_that_is_too_short)
{
	struct hca *h = &self->h;
	struct hca_op op = { .opcode = IBV_WR_SEND, .id = 1, .length = 64 };
	struct ibv_wc wc;
	int i;

	ASSERT_EQ(0, hca_receive(h, self->b, NULL, 800000, 63, 2));
	ASSERT_EQ(0, hca_send(h, self->a, op));
	for (i = 0; i < 2; i++) {
		ASSERT_TRUE(hca_wait(h, &wc, 10000));
		EXPECT_EQ(wc.wr_id == 1 ? IBV_WC_REM_INV_REQ_ERR : IBV_WC_LOC_LEN_ERR, wc.status);
	}
}

TEST_F(rc, no_receive_yet)
{
	struct hca *h = &self->h;
	struct hca_op op = { IBV_WR_SEND, 1, 0, 64, .flags = IBV_SEND_SIGNALED };
	struct ibv_wc wc;
	int i;

	ASSERT_EQ(0, hca_send(h, self->a, op));
	EXPECT_FALSE(hca_wait(h, &wc, 50));
	ASSERT_EQ(0, hca_receive(h, self->b, NULL, 800000, 64, 2));
	for (i = 0; i < 2; i++) {
		ASSERT_TRUE(hca_wait(h, &wc, 10000));
		EXPECT_EQ(IBV_WC_SUCCESS, wc.status);
	}
}

TEST_F(rc, no_receive_ever)
{
	struct hca *h = &self->h;
	struct hca_terms few = terms;
	struct hca_op op = { .opcode = IBV_WR_SEND, .id = 1, .length = 64 };

	few.rnr_retry = 2;
	ASSERT_EQ(0, reconnect(h, self->a, self->b, few));
	ASSERT_EQ(0, hca_send(h, self->a, op));
	EXPECT_EQ(IBV_WC_RNR_RETRY_EXC_ERR, hca_status(h, 1));
}

TEST_F(rc, nobody_there)
{
	struct hca *h = &self->h;
	struct hca_op op = { IBV_WR_RDMA_WRITE, 1, 0, 64, 300000, .flags = 0 };

	ASSERT_EQ(0, hca_to(self->b, IBV_QPS_RESET));
	ASSERT_EQ(0, hca_send(h, self->a, op));
	EXPECT_EQ(IBV_WC_RETRY_EXC_ERR, hca_status(h, 1));
}

TEST_HARNESS_MAIN
