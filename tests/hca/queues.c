// SPDX-License-Identifier: GPL-2.0
/* Completion queues and shared receive queues: resizing, running over, events. */
#include "hca.h"

FIXTURE(queues)
{
	struct hca h;
	struct ibv_qp *a, *b;
};

static const struct hca_terms terms = {
	.access = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
	.retry = 7,
	.rnr_retry = 7,
};

static const struct hca_op tiny = {
	IBV_WR_RDMA_WRITE, 1, 0, 8, 300000, .flags = IBV_SEND_SIGNALED,
};

FIXTURE_SETUP(queues)
{
	ASSERT_EQ(0, hca_open(&self->h));
}

FIXTURE_TEARDOWN(queues)
{
	EXPECT_EQ(0, self->a ? ibv_destroy_qp(self->a) : 0);
	EXPECT_EQ(0, self->b ? ibv_destroy_qp(self->b) : 0);
	EXPECT_EQ(0, hca_close(&self->h));
}

static int pair(struct hca *h, struct ibv_qp **a, struct ibv_qp **b, struct ibv_srq *srq)
{
	*a = hca_qp(h, IBV_QPT_RC, NULL);
	*b = hca_qp(h, IBV_QPT_RC, srq);
	if (!*a || !*b)
		return -errno;
	return hca_connect(h, *a, (*b)->qp_num, terms) ?: hca_connect(h, *b, (*a)->qp_num, terms);
}

/* Completions that are in the queue survive, in order, wherever in the ring they are. */
TEST_F(queues, resize_with_completions)
{
	static const int sizes[] = { 200, 20, 100, 64 };
	struct hca *h = &self->h;
	struct hca_op op = tiny;
	size_t round;
	int i;

	ASSERT_EQ(0, pair(h, &self->a, &self->b, NULL));
	for (round = 0; round < 4 * sizeof(sizes) / sizeof(*sizes); round++) {
		for (i = 0; i < 9; i++) {
			op.id = 100 + i;
			ASSERT_EQ(0, hca_send(h, self->a, op));
		}
		/* All nine are there before. */
		usleep(20000);
		EXPECT_EQ(IBV_WC_SUCCESS, hca_status(h, 100));
		ASSERT_EQ(0, ibv_resize_cq(h->cq, sizes[round % 4])) {
			TH_LOG("round %zu", round);
		}
		for (i = 1; i < 9; i++)
			ASSERT_EQ(IBV_WC_SUCCESS, hca_status(h, 100 + i));
	}
}

TEST_F(queues, a_cq_that_runs_over)
{
	struct hca *h = &self->h;
	int i, round;

	ASSERT_EQ(0, ibv_destroy_cq(h->cq));
	h->cq = ibv_create_cq(h->ctx, 4, NULL, NULL, 0);
	ASSERT_NE(NULL, h->cq);
	ASSERT_EQ(0, pair(h, &self->a, &self->b, NULL));
	for (round = 0; round < 2 + h->cq->cqe / 8; round++)
		for (i = 0; i < 8; i++)
			ASSERT_EQ(0, hca_send(h, self->a, tiny));
	EXPECT_EQ(IBV_EVENT_CQ_ERR, hca_event(h, 5000));
}

TEST_F(queues, completion_events)
{
	struct hca *h = &self->h;
	struct ibv_comp_channel *channel = ibv_create_comp_channel(h->ctx);
	struct hca_op op = { .opcode = IBV_WR_SEND, .id = 1, .length = 8 };
	struct pollfd fd = { .events = POLLIN };
	struct ibv_cq *cq;
	void *context;
	int i;

	ASSERT_NE(NULL, channel);
	ASSERT_EQ(0, ibv_destroy_cq(h->cq));
	h->cq = ibv_create_cq(h->ctx, 64, h, channel, 0);
	ASSERT_NE(NULL, h->cq);
	ASSERT_EQ(0, pair(h, &self->a, &self->b, NULL));
	fd.fd = channel->fd;

	/* Not armed; then for solicited ones only; then one event for one of them. */
	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, hca_receive(h, self->b, NULL, 800000, 8, i));
	ASSERT_EQ(0, hca_send(h, self->a, op));
	EXPECT_EQ(IBV_WC_SUCCESS, hca_status(h, 0));
	EXPECT_EQ(0, poll(&fd, 1, 50));
	ASSERT_EQ(0, ibv_req_notify_cq(h->cq, 1));
	ASSERT_EQ(0, hca_send(h, self->a, op));
	EXPECT_EQ(IBV_WC_SUCCESS, hca_status(h, 1));
	EXPECT_EQ(0, poll(&fd, 1, 50));
	op.flags = IBV_SEND_SOLICITED;
	ASSERT_EQ(0, hca_send(h, self->a, op));
	ASSERT_EQ(1, poll(&fd, 1, 5000));
	ASSERT_EQ(0, ibv_get_cq_event(channel, &cq, &context));
	EXPECT_EQ(h->cq, cq);
	EXPECT_EQ((void *)h, context);
	EXPECT_EQ(0, poll(&fd, 1, 50));
	ibv_ack_cq_events(cq, 1);

	EXPECT_EQ(0, ibv_destroy_qp(self->a));
	EXPECT_EQ(0, ibv_destroy_qp(self->b));
	self->a = self->b = NULL;
	EXPECT_EQ(0, ibv_destroy_cq(h->cq));
	h->cq = NULL;
	EXPECT_EQ(0, ibv_destroy_comp_channel(channel));
}

TEST_F(queues, srq)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 16, .max_sge = 1 } };
	struct ibv_srq_attr limit = { .srq_limit = 3 };
	struct hca_op op = { .opcode = IBV_WR_SEND, .id = 1, .length = 40 };
	struct hca *h = &self->h;
	struct ibv_srq *srq = ibv_create_srq(h->pd, &init);
	int i;

	ASSERT_NE(NULL, srq);
	ASSERT_EQ(0, pair(h, &self->a, &self->b, srq));
	for (i = 0; i < 5; i++)
		ASSERT_EQ(0, hca_receive(h, NULL, srq, 800000 + 64 * i, 64, 10 + i));
	ASSERT_EQ(0, ibv_modify_srq(srq, &limit, IBV_SRQ_LIMIT));
	ASSERT_EQ(0, ibv_query_srq(srq, &limit));
	EXPECT_EQ(3, limit.srq_limit);
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, hca_send(h, self->a, op));
		EXPECT_EQ(IBV_WC_SUCCESS, hca_status(h, 10 + i));
		EXPECT_EQ(0, memcmp(h->memory, h->memory + 800000 + 64 * i, 40));
	}
	EXPECT_EQ(-1, hca_event(h, 50));
	ASSERT_EQ(0, hca_send(h, self->a, op));
	EXPECT_EQ(IBV_WC_SUCCESS, hca_status(h, 12));
	EXPECT_EQ(IBV_EVENT_SRQ_LIMIT_REACHED, hca_event(h, 5000));

	/* A QP with an SRQ leaves its receives to the others. */
	ASSERT_EQ(0, hca_to(self->b, IBV_QPS_ERR));
	EXPECT_EQ(IBV_EVENT_QP_LAST_WQE_REACHED, hca_event(h, 5000));
	EXPECT_EQ(0, ibv_destroy_qp(self->a));
	EXPECT_EQ(0, ibv_destroy_qp(self->b));
	ASSERT_EQ(0, pair(h, &self->a, &self->b, srq));
	ASSERT_EQ(0, hca_send(h, self->a, op));
	EXPECT_EQ(IBV_WC_SUCCESS, hca_status(h, 13));
	EXPECT_EQ(0, ibv_destroy_qp(self->b));
	self->b = NULL;
	EXPECT_EQ(0, ibv_destroy_srq(srq));
}

TEST_HARNESS_MAIN
