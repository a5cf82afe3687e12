// SPDX-License-Identifier: GPL-2.0
/* Datagrams: to a QP, to a group, with another Q_Key; and unreliable connections. */
#include "hca.h"

#define QKEY 0x11111111

FIXTURE(datagrams)
{
	struct hca h;
	struct ibv_qp *qp[3];
	struct ibv_ah *ah;
	int count;
};

static int ud_to_rts(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = QKEY };
	int ret;

	ret = ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);
	attr.qp_state = IBV_QPS_RTR;
	ret = ret ?: ibv_modify_qp(qp, &attr, IBV_QP_STATE);
	attr.qp_state = IBV_QPS_RTS;
	return ret ?: ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN);
}

static int ud_send(struct hca *h, struct ibv_qp *qp, struct ibv_ah *ah, uint32_t to, uint32_t qkey)
{
	struct ibv_sge sge = { .addr = hca_at(h, 0), .length = 100, .lkey = h->mr->lkey };
	struct ibv_send_wr *bad, wr = {
		.wr_id = 1,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND_WITH_IMM,
		.imm_data = htonl(0x55),
		.send_flags = IBV_SEND_SIGNALED,
		.wr.ud = { .ah = ah, .remote_qpn = to, .remote_qkey = qkey },
	};

	return ibv_post_send(qp, &wr, &bad);
}

FIXTURE_SETUP(datagrams)
{
	struct ibv_ah_attr attr = { .port_num = 1 };

	ASSERT_EQ(0, hca_open(&self->h));
	for (; self->count < 3; self->count++) {
		self->qp[self->count] = hca_qp(&self->h, IBV_QPT_UD, NULL);
		ASSERT_NE(NULL, self->qp[self->count]);
		ASSERT_EQ(0, ud_to_rts(self->qp[self->count]));
	}
	attr.dlid = self->h.lid;
	self->ah = ibv_create_ah(self->h.pd, &attr);
	ASSERT_NE(NULL, self->ah);
}

FIXTURE_TEARDOWN(datagrams)
{
	EXPECT_EQ(0, ibv_destroy_ah(self->ah));
	while (self->count--)
		EXPECT_EQ(0, ibv_destroy_qp(self->qp[self->count]));
	EXPECT_EQ(0, hca_close(&self->h));
}

TEST_F(datagrams, to_a_qp)
{
	struct hca *h = &self->h;
	struct ibv_wc wc;
	int i;

	ASSERT_EQ(0, hca_receive(h, self->qp[1], NULL, 800000, 140, 2));
	ASSERT_EQ(0, ud_send(h, self->qp[0], self->ah, self->qp[1]->qp_num, QKEY));
	for (i = 0; i < 2; i++) {
		ASSERT_TRUE(hca_wait(h, &wc, 10000));
		EXPECT_EQ(IBV_WC_SUCCESS, wc.status);
		if (wc.wr_id != 2)
			continue;
		EXPECT_EQ(140, wc.byte_len);
		EXPECT_EQ(self->qp[0]->qp_num, wc.src_qp);
		EXPECT_EQ(h->lid, wc.slid);
		EXPECT_EQ(0x55, ntohl(wc.imm_data));
	}
	/* After the room for a global header. */
	EXPECT_EQ(0, memcmp(h->memory, h->memory + 800040, 100));
}

TEST_F(datagrams, lost_without_a_word)
{
	struct hca *h = &self->h;
	struct ibv_wc wc;

	ASSERT_EQ(0, hca_receive(h, self->qp[1], NULL, 800000, 140, 2));
	ASSERT_EQ(0, ud_send(h, self->qp[0], self->ah, self->qp[1]->qp_num, QKEY + 1));
	EXPECT_EQ(IBV_WC_SUCCESS, hca_status(h, 1));
	ASSERT_EQ(0, ud_send(h, self->qp[0], self->ah, self->qp[2]->qp_num, QKEY));
	EXPECT_EQ(IBV_WC_SUCCESS, hca_status(h, 1));
	EXPECT_FALSE(hca_wait(h, &wc, 50));
}

TEST_F(datagrams, to_a_group)
{
	union ibv_gid gid = { .raw = { 0xff, 0x12, 0xa0, 0x1b, [14] = 4, [15] = 2 } };
	struct ibv_ah_attr attr = {
		.dlid = 0xc003,
		.is_global = 1,
		.grh = { .dgid = gid, .hop_limit = 1 },
		.port_num = 1,
	};
	struct hca *h = &self->h;
	struct ibv_ah *ah = ibv_create_ah(h->pd, &attr);
	int seen = 0, i;
	struct ibv_wc wc;

	ASSERT_NE(NULL, ah);
	for (i = 1; i < 3; i++) {
		ASSERT_EQ(0, ibv_attach_mcast(self->qp[i], &gid, 0xc003));
		ASSERT_EQ(0, hca_receive(h, self->qp[i], NULL, 800000 + 1000 * i, 140, 10 + i));
	}
	ASSERT_EQ(0, ud_send(h, self->qp[0], ah, 0xffffff, QKEY));
	for (i = 0; i < 3; i++) {
		ASSERT_TRUE(hca_wait(h, &wc, 10000));
		EXPECT_EQ(IBV_WC_SUCCESS, wc.status);
		seen |= 1 << wc.wr_id;
		if (wc.wr_id > 10)
			EXPECT_TRUE(wc.wc_flags & IBV_WC_GRH);
	}
	EXPECT_EQ(1 << 1 | 1 << 11 | 1 << 12, seen);
	/* The group's GID is in the global header. */
	EXPECT_EQ(0, memcmp(h->memory + 801024, &gid, 16));

	ASSERT_EQ(0, ibv_detach_mcast(self->qp[1], &gid, 0xc003));
	ASSERT_EQ(0, hca_receive(h, self->qp[1], NULL, 801000, 140, 11));
	ASSERT_EQ(0, hca_receive(h, self->qp[2], NULL, 802000, 140, 12));
	ASSERT_EQ(0, ud_send(h, self->qp[0], ah, 0xffffff, QKEY));
	for (i = 0; i < 2; i++) {
		ASSERT_TRUE(hca_wait(h, &wc, 10000));
		EXPECT_NE(11, wc.wr_id);
	}
	EXPECT_FALSE(hca_wait(h, &wc, 50));
	ASSERT_EQ(0, ibv_detach_mcast(self->qp[2], &gid, 0xc003));
	EXPECT_EQ(0, ibv_destroy_ah(ah));
}

/* An unreliable connection does not tell its initiator what happens at the other end. */
TEST_F(datagrams, unreliable_connection)
{
	static const struct hca_terms terms = { .access = IBV_ACCESS_REMOTE_WRITE };
	struct hca_op op = { IBV_WR_RDMA_WRITE, 1, 0, 5000, 300000, .flags = IBV_SEND_SIGNALED };
	struct hca *h = &self->h;
	struct ibv_qp *a = hca_qp(h, IBV_QPT_UC, NULL), *b = hca_qp(h, IBV_QPT_UC, NULL);

	ASSERT_NE(NULL, a);
	ASSERT_NE(NULL, b);
	ASSERT_EQ(0, hca_connect(h, a, b->qp_num, terms));
	ASSERT_EQ(0, hca_connect(h, b, a->qp_num, terms));
	ASSERT_EQ(0, hca_send(h, a, op));
	EXPECT_EQ(IBV_WC_SUCCESS, hca_status(h, 1));
	EXPECT_EQ(0, memcmp(h->memory, h->memory + 300000, 5000));
	op.rkey = h->mr->rkey ^ 0x5500;
	ASSERT_EQ(0, hca_send(h, a, op));
	EXPECT_EQ(IBV_WC_SUCCESS, hca_status(h, 1));
	EXPECT_EQ(IBV_QPS_RTS, hca_state(a));
	EXPECT_EQ(0, ibv_destroy_qp(a));
	EXPECT_EQ(0, ibv_destroy_qp(b));
}

TEST_HARNESS_MAIN
