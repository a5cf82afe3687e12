/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For tests that run on the device that HCA_DEVICE names, through its own
 * provider: a model of an HCA, or anything else that does what IBTA says.
 */
#ifndef SHVERBS_TEST_HCA_H
#define SHVERBS_TEST_HCA_H

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <infiniband/verbs.h>

#include "kselftest_harness.h"
#include "loopback.h"

#define HCA_MEMORY	(1u << 20)
#define HCA_DEPTH	16
#define HCA_ALL		(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | \
			 IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)

static inline const char *hca_device(void)
{
	return getenv("HCA_DEVICE") ?: "mthca0";
}

/* A device, memory registered on it, and a CQ. */
struct hca {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_cq *cq;
	char *memory;
	uint16_t lid;
};

static inline uint64_t hca_at(const struct hca *h, size_t offset)
{
	return (uintptr_t)h->memory + offset;
}

static inline int hca_close(struct hca *h)
{
	int ret = 0;

	ret |= h->cq ? ibv_destroy_cq(h->cq) : 0;
	ret |= h->mr ? ibv_dereg_mr(h->mr) : 0;
	ret |= h->pd ? ibv_dealloc_pd(h->pd) : 0;
	ret |= h->ctx ? ibv_close_device(h->ctx) : 0;
	munmap(h->memory, HCA_MEMORY);
	return ret;
}

static inline int hca_open(struct hca *h)
{
	struct ibv_port_attr port;
	size_t i;

	memset(h, 0, sizeof(*h));
	h->memory = mmap(NULL, HCA_MEMORY, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (h->memory == MAP_FAILED)
		return -errno;
	for (i = 0; i < HCA_MEMORY / 4; i++)
		h->memory[i] = (char)(i * 7);
	h->ctx = loop_open_device(hca_device());
	if (!h->ctx || ibv_query_port(h->ctx, 1, &port))
		return -ENODEV;
	h->lid = port.lid;
	h->pd = ibv_alloc_pd(h->ctx);
	h->mr = h->pd ? ibv_reg_mr(h->pd, h->memory, HCA_MEMORY, HCA_ALL) : NULL;
	h->cq = ibv_create_cq(h->ctx, 4 * HCA_DEPTH, NULL, NULL, 0);
	return h->mr && h->cq ? 0 : -errno;
}

static inline struct ibv_qp *hca_qp(struct hca *h, enum ibv_qp_type type,
				    struct ibv_srq *srq)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = h->cq,
		.recv_cq = h->cq,
		.srq = srq,
		.qp_type = type,
		.cap = {
			.max_send_wr = HCA_DEPTH,
			.max_recv_wr = srq ? 0 : HCA_DEPTH,
			.max_send_sge = 2,
			.max_recv_sge = srq ? 0 : 2,
			.max_inline_data = 64,
		},
	};

	return ibv_create_qp(h->pd, &attr);
}

/* What a connection allows, and how long it tries. */
struct hca_terms {
	int access;
	uint8_t retry;
	uint8_t rnr_retry;
};

static inline int hca_connect(struct hca *h, struct ibv_qp *qp, uint32_t dest,
			      struct hca_terms terms)
{
	int rc = qp->qp_type == IBV_QPT_RC;
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = terms.access,
	};
	int ret;

	ret = ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX |
			    IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
	if (ret)
		return ret;
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = dest,
		.max_dest_rd_atomic = 4,
		.min_rnr_timer = 1,
		.ah_attr = { .dlid = h->lid, .port_num = 1 },
	};
	ret = ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
			    IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			    (rc ? IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER : 0));
	if (ret)
		return ret;
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTS,
		.timeout = 8,
		.retry_cnt = terms.retry,
		.rnr_retry = terms.rnr_retry,
		.max_rd_atomic = 4,
	};
	return ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN |
			     (rc ? IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			      IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC : 0));
}

/* A work request from and to the registered memory. */
struct hca_op {
	enum ibv_wr_opcode opcode;
	uint64_t id;
	size_t from;
	uint32_t length;
	size_t to;
	uint32_t rkey;		/* of the registered memory if 0 */
	uint32_t lkey;		/* likewise */
	int flags;
};

static inline int hca_send(struct hca *h, struct ibv_qp *qp, struct hca_op op)
{
	struct ibv_sge sge = {
		.addr = hca_at(h, op.from),
		.length = op.length,
		.lkey = op.lkey ?: h->mr->lkey,
	};
	struct ibv_send_wr *bad, wr = {
		.wr_id = op.id,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = op.opcode,
		.send_flags = op.flags,
		.imm_data = htonl(0x1234),
	};

	if (op.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD ||
	    op.opcode == IBV_WR_ATOMIC_CMP_AND_SWP) {
		wr.wr.atomic.remote_addr = hca_at(h, op.to);
		wr.wr.atomic.rkey = op.rkey ?: h->mr->rkey;
		wr.wr.atomic.compare_add = 5;
		wr.wr.atomic.swap = 9;
	} else {
		wr.wr.rdma.remote_addr = hca_at(h, op.to);
		wr.wr.rdma.rkey = op.rkey ?: h->mr->rkey;
	}
	return ibv_post_send(qp, &wr, &bad);
}

static inline int hca_receive(struct hca *h, struct ibv_qp *qp, struct ibv_srq *srq,
			      size_t to, uint32_t length, uint64_t id)
{
	struct ibv_sge sge = {
		.addr = hca_at(h, to),
		.length = length,
		.lkey = h->mr->lkey,
	};
	struct ibv_recv_wr *bad, wr = { .wr_id = id, .sg_list = &sge, .num_sge = 1 };

	return srq ? ibv_post_srq_recv(srq, &wr, &bad) : ibv_post_recv(qp, &wr, &bad);
}

static inline uint64_t hca_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000ull + now.tv_nsec / 1000000;
}

/* The next completion; false if none comes within so many milliseconds. */
static inline int hca_wait(struct hca *h, struct ibv_wc *wc, unsigned int ms)
{
	uint64_t end = hca_now_ms() + ms;
	int n;

	do {
		n = ibv_poll_cq(h->cq, 1, wc);
	} while (n == 0 && hca_now_ms() < end);
	return n == 1;
}

/* The status of the next completion, which must be of this work request; -1 otherwise. */
static inline int hca_status(struct hca *h, uint64_t id)
{
	struct ibv_wc wc;

	if (!hca_wait(h, &wc, 10000)) {
		printf("# no completion of %llu\n", (unsigned long long)id);
		return -1;
	}
	if (wc.wr_id != id) {
		printf("# %s of %llu instead of %llu\n", ibv_wc_status_str(wc.status),
		       (unsigned long long)wc.wr_id, (unsigned long long)id);
		return -1;
	}
	return wc.status;
}

/* The next asynchronous event's type; -1 if none comes. */
static inline int hca_event(struct hca *h, unsigned int ms)
{
	struct pollfd fd = { .fd = h->ctx->async_fd, .events = POLLIN };
	struct ibv_async_event event;

	if (poll(&fd, 1, (int)ms) != 1 || ibv_get_async_event(h->ctx, &event))
		return -1;
	ibv_ack_async_event(&event);
	return event.event_type;
}

static inline enum ibv_qp_state hca_state(struct ibv_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	return ibv_query_qp(qp, &attr, IBV_QP_STATE, &init) ? IBV_QPS_UNKNOWN : attr.qp_state;
}

static inline int hca_to(struct ibv_qp *qp, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };

	return ibv_modify_qp(qp, &attr, IBV_QP_STATE);
}

#endif
