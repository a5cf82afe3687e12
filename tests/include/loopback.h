/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A pair of RC QPs connected to each other on one PD, and RDMA through it: the
 * data path that shows whether a PD and the keys of an MR work.
 *
 * Functions return 0, or a negative errno.
 */
#ifndef SHVERBS_TEST_LOOPBACK_H
#define SHVERBS_TEST_LOOPBACK_H

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include <infiniband/verbs.h>

#define LOOP_DEPTH	16		/* work requests under way */
#define LOOP_CHUNK	(256u << 10)	/* bytes of each */
#define LOOP_PATIENCE	20		/* seconds without a completion */
#define LOOP_ACCESS	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | \
			 IBV_ACCESS_REMOTE_READ)

struct loop {
	struct ibv_cq *cq;
	struct ibv_qp *qp[2];
};

/* A range of this process, and one that an rkey names. */
struct loop_op {
	enum ibv_wr_opcode opcode;	/* IBV_WR_RDMA_WRITE or IBV_WR_RDMA_READ */
	uint64_t local;
	uint32_t lkey;
	uint64_t remote;
	uint32_t rkey;
	size_t length;
};

static inline struct ibv_context *loop_open_device(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx = NULL;
	int i;

	if (!list)
		return NULL;
	errno = ENODEV;
	for (i = 0; list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			break;
	if (list[i])
		ctx = ibv_open_device(list[i]);
	ibv_free_device_list(list);
	return ctx;
}

static inline struct ibv_qp *loop_qp(struct ibv_pd *pd, struct ibv_cq *cq)
{
	struct ibv_qp_init_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.send_cq = cq;
	attr.recv_cq = cq;
	attr.qp_type = IBV_QPT_RC;
	attr.cap.max_send_wr = LOOP_DEPTH;
	attr.cap.max_recv_wr = 1;
	attr.cap.max_send_sge = 1;
	attr.cap.max_recv_sge = 1;
	return ibv_create_qp(pd, &attr);
}

static inline int loop_to_init(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.qp_state = IBV_QPS_INIT;
	attr.port_num = 1;
	attr.qp_access_flags = LOOP_ACCESS;
	return -ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX |
				IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

static inline int loop_to_rtr(struct ibv_qp *qp, uint32_t dest)
{
	struct ibv_port_attr port;
	struct ibv_qp_attr attr;
	int ret;

	memset(&attr, 0, sizeof(attr));
	ret = ibv_query_port(qp->context, 1, &port);
	if (ret)
		return -ret;
	if (ibv_query_gid(qp->context, 1, 0, &attr.ah_attr.grh.dgid))
		return -EADDRNOTAVAIL;
	attr.qp_state = IBV_QPS_RTR;
	attr.path_mtu = port.active_mtu;
	attr.dest_qp_num = dest;
	attr.max_dest_rd_atomic = LOOP_DEPTH;
	attr.min_rnr_timer = 1;
	/* InfiniBand goes by this, and RoCE by the GID. */
	attr.ah_attr.dlid = port.lid;
	attr.ah_attr.is_global = 1;
	attr.ah_attr.grh.hop_limit = 1;
	attr.ah_attr.port_num = 1;
	return -ibv_modify_qp(qp, &attr,
			      IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
			      IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			      IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
}

static inline int loop_to_rts(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.qp_state = IBV_QPS_RTS;
	/* Nothing is lost on a loopback, but a busy machine may be slow. */
	attr.timeout = 18;
	attr.retry_cnt = 7;
	attr.rnr_retry = 7;
	attr.max_rd_atomic = LOOP_DEPTH;
	return -ibv_modify_qp(qp, &attr,
			      IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			      IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
			      IBV_QP_MAX_QP_RD_ATOMIC);
}

static inline int loop_connect(struct ibv_qp *qp, uint32_t dest)
{
	int ret = loop_to_init(qp);

	if (!ret)
		ret = loop_to_rtr(qp, dest);
	return ret ? ret : loop_to_rts(qp);
}

/* Returns the first error, and takes everything down all the same. */
static inline int loop_close(struct loop *loop)
{
	int i, ret, first = 0;

	for (i = 0; i < 2; i++) {
		ret = loop->qp[i] ? ibv_destroy_qp(loop->qp[i]) : 0;
		first = first ? first : ret;
	}
	ret = loop->cq ? ibv_destroy_cq(loop->cq) : 0;
	memset(loop, 0, sizeof(*loop));
	return -(first ? first : ret);
}

static inline int loop_open(struct loop *loop, struct ibv_pd *pd)
{
	int ret = 0, i;

	memset(loop, 0, sizeof(*loop));
	loop->cq = ibv_create_cq(pd->context, 2 * LOOP_DEPTH, NULL, NULL, 0);
	if (!loop->cq)
		return -errno;
	for (i = 0; i < 2 && !ret; i++) {
		loop->qp[i] = loop_qp(pd, loop->cq);
		ret = loop->qp[i] ? 0 : -errno;
	}
	for (i = 0; i < 2 && !ret; i++)
		ret = loop_connect(loop->qp[i], loop->qp[!i]->qp_num);
	if (ret)
		loop_close(loop);
	return ret;
}

static inline int loop_post(struct loop *loop, const struct loop_op *op,
			    size_t done, size_t length)
{
	struct ibv_send_wr wr, *bad;
	struct ibv_sge sge;

	memset(&wr, 0, sizeof(wr));
	sge.addr = op->local + done;
	sge.length = (uint32_t)length;
	sge.lkey = op->lkey;
	wr.sg_list = &sge;
	wr.num_sge = 1;
	wr.opcode = op->opcode;
	wr.send_flags = IBV_SEND_SIGNALED;
	wr.wr.rdma.remote_addr = op->remote + done;
	wr.wr.rdma.rkey = op->rkey;
	return -ibv_post_send(loop->qp[0], &wr, &bad);
}

/* What a work completion's status is as an errno. */
static inline int loop_status(const struct ibv_wc *wc)
{
	switch (wc->status) {
	case IBV_WC_SUCCESS:
		return 0;
	case IBV_WC_LOC_PROT_ERR:
	case IBV_WC_REM_ACCESS_ERR:
		return -EACCES;
	default:
		return -EREMOTEIO;
	}
}

static inline int loop_wait(struct loop *loop)
{
	struct timespec now;
	struct ibv_wc wc;
	time_t end = 0;
	int n;

	while (!(n = ibv_poll_cq(loop->cq, 1, &wc))) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		if (!end)
			end = now.tv_sec + LOOP_PATIENCE;
		if (now.tv_sec > end)
			return -ETIMEDOUT;
	}
	return n < 0 ? -EIO : loop_status(&wc);
}

/* Moves the whole range; EACCES where a key does not allow it. */
static inline int loop_rdma(struct loop *loop, const struct loop_op *op)
{
	size_t posted = 0, length;
	int under_way = 0, ret = 0;

	while (!ret && (posted < op->length || under_way)) {
		if (posted < op->length && under_way < LOOP_DEPTH) {
			length = op->length - posted;
			if (length > LOOP_CHUNK)
				length = LOOP_CHUNK;
			ret = loop_post(loop, op, posted, length);
			posted += length;
			under_way++;
		} else {
			ret = loop_wait(loop);
			under_way--;
		}
	}
	return ret;
}

#endif
