// SPDX-License-Identifier: GPL-2.0
/* What verbs cost through unmodified libibverbs, on whichever module is loaded. */
#include <rdma/ib_user_verbs.h>

#include "bench.h"
#include "loopback.h"

#define KIB	1024UL
#define MIB	(1024 * KIB)
#define ACCESS	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | \
		 IBV_ACCESS_REMOTE_READ)
#define WARM	20
#define TIMES	101

struct verbs {
	struct ibv_device *device;
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_qp *qp;	/* connected to itself */
	struct ibv_qp *idle;	/* goes from state to state */
	struct ibv_srq *srq;
	struct ibv_ah_attr address;
	void *memory;
	size_t length;		/* of what is registered */
};

static int open_close(void *arg)
{
	struct verbs *v = arg;
	struct ibv_context *ctx;

	bench_start();
	ctx = ibv_open_device(v->device);
	if (!ctx || ibv_close_device(ctx))
		return errno;
	bench_stop();
	return 0;
}

static int query_port(void *arg)
{
	struct verbs *v = arg;
	struct ibv_port_attr attr;
	int err;

	bench_start();
	err = ibv_query_port(v->ctx, 1, &attr);
	bench_stop();
	return err;
}

static int query_device(void *arg)
{
	struct verbs *v = arg;
	struct ibv_device_attr attr;
	int err;

	bench_start();
	err = ibv_query_device(v->ctx, &attr);
	bench_stop();
	return err;
}

static int query_gid(void *arg)
{
	struct verbs *v = arg;
	struct ibv_gid_entry entry;
	int err;

	bench_start();
	err = ibv_query_gid_ex(v->ctx, 1, 0, &entry, 0);
	bench_stop();
	return err;
}

static int pd(void *arg)
{
	struct verbs *v = arg;
	struct ibv_pd *made;
	int err;

	bench_start();
	made = ibv_alloc_pd(v->ctx);
	if (!made)
		return errno;
	err = ibv_dealloc_pd(made);
	bench_stop();
	return err;
}

static int mr(void *arg)
{
	struct verbs *v = arg;
	struct ibv_mr *made;
	int err;

	bench_start();
	made = ibv_reg_mr(v->pd, v->memory, v->length, ACCESS);
	if (!made)
		return errno;
	err = ibv_dereg_mr(made);
	bench_stop();
	return err;
}

static int rereg_mr(void *arg)
{
	struct verbs *v = arg;
	int err;

	bench_start();
	err = ibv_rereg_mr(v->mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
			   ACCESS);
	bench_stop();
	return err ? errno : 0;
}

static int mw(void *arg)
{
	struct verbs *v = arg;
	struct ibv_mw *made;
	int err;

	bench_start();
	made = ibv_alloc_mw(v->pd, IBV_MW_TYPE_1);
	if (!made)
		return errno;
	err = ibv_dealloc_mw(made);
	bench_stop();
	return err;
}

static int channel(void *arg)
{
	struct verbs *v = arg;
	struct ibv_comp_channel *made;
	int err;

	bench_start();
	made = ibv_create_comp_channel(v->ctx);
	if (!made)
		return errno;
	err = ibv_destroy_comp_channel(made);
	bench_stop();
	return err;
}

static int cq(void *arg)
{
	struct verbs *v = arg;
	struct ibv_cq *made;
	int err;

	bench_start();
	made = ibv_create_cq(v->ctx, 64, NULL, NULL, 0);
	if (!made)
		return errno;
	err = ibv_destroy_cq(made);
	bench_stop();
	return err;
}

static int resize_cq(void *arg)
{
	struct verbs *v = arg;
	int err;

	bench_start();
	err = ibv_resize_cq(v->cq, 64);
	bench_stop();
	return err;
}

static int notify_cq(void *arg)
{
	struct verbs *v = arg;
	int err;

	bench_start();
	err = ibv_req_notify_cq(v->cq, 0);
	bench_stop();
	return err;
}

static int ah(void *arg)
{
	struct verbs *v = arg;
	struct ibv_ah *made;
	int err;

	bench_start();
	made = ibv_create_ah(v->pd, &v->address);
	if (!made)
		return errno;
	err = ibv_destroy_ah(made);
	bench_stop();
	return err;
}

static struct ibv_srq *new_srq(struct verbs *v)
{
	struct ibv_srq_init_attr attr = {
		.attr = { .max_wr = 64, .max_sge = 1 },
	};

	return ibv_create_srq(v->pd, &attr);
}

static int srq(void *arg)
{
	struct verbs *v = arg;
	struct ibv_srq *made;
	int err;

	bench_start();
	made = new_srq(v);
	if (!made)
		return errno;
	err = ibv_destroy_srq(made);
	bench_stop();
	return err;
}

static int modify_srq(void *arg)
{
	struct verbs *v = arg;
	struct ibv_srq_attr attr = { .srq_limit = 1 };
	int err;

	if (!v->srq)
		return EOPNOTSUPP;
	bench_start();
	err = ibv_modify_srq(v->srq, &attr, IBV_SRQ_LIMIT);
	bench_stop();
	return err;
}

static int query_srq(void *arg)
{
	struct verbs *v = arg;
	struct ibv_srq_attr attr;
	int err;

	if (!v->srq)
		return EOPNOTSUPP;
	bench_start();
	err = ibv_query_srq(v->srq, &attr);
	bench_stop();
	return err;
}

static int qp(void *arg)
{
	struct verbs *v = arg;
	struct ibv_qp *made;
	int err;

	bench_start();
	made = loop_qp(v->pd, v->cq);
	if (!made)
		return errno;
	err = ibv_destroy_qp(made);
	bench_stop();
	return err;
}

static int qp_state(struct ibv_qp *qp, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };

	return ibv_modify_qp(qp, &attr, IBV_QP_STATE);
}

static int to_init(struct verbs *v)
{
	int err = qp_state(v->idle, IBV_QPS_RESET);

	return err ? err : -loop_to_init(v->idle);
}

static int to_rtr(struct verbs *v)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = v->idle->qp_num,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 1,
		.ah_attr = v->address,
	};

	return ibv_modify_qp(v->idle, &attr,
			     IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
			     IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			     IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
}

static int qp_reset_init(void *arg)
{
	int err;

	bench_start();
	err = to_init(arg);
	bench_stop();
	return err;
}

static int qp_rtr(void *arg)
{
	int err = to_init(arg);

	if (err)
		return err;
	bench_start();
	err = to_rtr(arg);
	bench_stop();
	return err;
}

static int qp_rts(void *arg)
{
	struct verbs *v = arg;
	int err = to_init(v);

	if (!err)
		err = to_rtr(v);
	if (err)
		return err;
	bench_start();
	err = -loop_to_rts(v->idle);
	bench_stop();
	return err;
}

static int query_qp(void *arg)
{
	struct verbs *v = arg;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	int err;

	bench_start();
	err = ibv_query_qp(v->qp, &attr, IBV_QP_STATE, &init);
	bench_stop();
	return err;
}

/* What rxe's provider does at the end of ibv_post_send(). */
static int doorbell(void *arg)
{
	struct verbs *v = arg;
	struct ib_uverbs_post_send_resp resp;
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_post_send cmd;
	} req = {
		.hdr = {
			.command = IB_USER_VERBS_CMD_POST_SEND,
			.in_words = sizeof(req) / 4,
			.out_words = sizeof(resp) / 4,
		},
		.cmd = {
			.response = (uintptr_t)&resp,
			.qp_handle = v->qp->handle,
			.wqe_size = sizeof(struct ib_uverbs_send_wr),
		},
	};
	ssize_t n;

	bench_start();
	n = write(v->ctx->cmd_fd, &req, sizeof(req));
	bench_stop();
	return n == sizeof(req) ? 0 : errno;
}

static int event(void *arg)
{
	struct verbs *v = arg;
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { .remote_addr = (uintptr_t)v->mr->addr,
			     .rkey = v->mr->rkey },
	}, *bad;
	struct ibv_cq *cq;
	struct ibv_wc wc;
	void *context;
	int err;

	bench_settle();
	bench_start();
	err = ibv_req_notify_cq(v->cq, 0);
	if (!err)
		err = ibv_post_send(v->qp, &wr, &bad);
	if (err)
		return err;
	if (ibv_get_cq_event(v->channel, &cq, &context))
		return errno;
	ibv_ack_cq_events(cq, 1);
	err = ibv_poll_cq(cq, 1, &wc) == 1 && !wc.status ? 0 : EIO;
	bench_stop();
	return err;
}

/* The event that the send queue is drained, which it is from the start. */
static int async_event(void *arg)
{
	struct verbs *v = arg;
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_SQD,
		.en_sqd_async_notify = 1,
	};
	struct ibv_async_event got;
	int err = to_init(v);

	if (!err)
		err = to_rtr(v);
	if (!err)
		err = -loop_to_rts(v->idle);
	if (err)
		return err;
	bench_settle();
	bench_start();
	err = ibv_modify_qp(v->idle, &attr,
			    IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY);
	if (err)
		return err;
	if (ibv_get_async_event(v->ctx, &got))
		return errno;
	ibv_ack_async_event(&got);
	bench_stop();
	return 0;
}

static void set_up(struct verbs *v)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	v->device = bench_need(list ? list[0] : NULL, "no device");
	v->ctx = bench_need(ibv_open_device(v->device), "ibv_open_device");
	v->pd = bench_need(ibv_alloc_pd(v->ctx), "ibv_alloc_pd");
	v->memory = bench_memory(128 * MIB);
	v->mr = bench_need(ibv_reg_mr(v->pd, v->memory, 4 * KIB, ACCESS),
			   "ibv_reg_mr");
	v->address = (struct ibv_ah_attr){ .is_global = 1, .port_num = 1,
					   .grh.hop_limit = 64 };
	bench_must(ibv_query_gid(v->ctx, 1, 0, &v->address.grh.dgid),
		   "ibv_query_gid");
	v->channel = bench_need(ibv_create_comp_channel(v->ctx),
				"ibv_create_comp_channel");
	v->cq = bench_need(ibv_create_cq(v->ctx, 64, NULL, v->channel, 0),
			   "ibv_create_cq");
	v->srq = new_srq(v);
	v->qp = loop_qp(v->pd, v->cq);
	v->idle = v->qp ? loop_qp(v->pd, v->cq) : NULL;
	if (v->qp)
		bench_must(-loop_connect(v->qp, v->qp->qp_num), "loop_connect");
}

static void mrs(struct verbs *v)
{
	v->length = 4 * KIB;
	bench("verbs", "register MR 4 KiB", WARM, TIMES, mr, v);
	v->length = MIB;
	bench("verbs", "register MR 1 MiB", WARM, TIMES, mr, v);
	v->length = 128 * MIB;
	bench("verbs", "register MR 128 MiB", 2, 9, mr, v);
}

static void qps(struct verbs *v)
{
	if (!v->idle)
		return;
	bench("verbs", "create QP", WARM, TIMES, qp, v);
	bench("verbs", "modify QP, RESET and INIT", WARM, TIMES, qp_reset_init, v);
	bench("verbs", "modify QP, RTR", WARM, TIMES, qp_rtr, v);
	bench("verbs", "modify QP, RTS", WARM, TIMES, qp_rts, v);
	bench("verbs", "query QP", WARM, TIMES, query_qp, v);
	bench_least = true;
	bench("verbs", "post_send doorbell", WARM, TIMES, doorbell, v);
	bench_least = false;
	bench("verbs", "completion event, round trip", WARM, TIMES, event, v);
	bench("verbs", "asynchronous event", WARM, TIMES, async_event, v);
}

int main(void)
{
	static struct verbs v;

	set_up(&v);
	bench("verbs", "open", WARM, TIMES, open_close, &v);
	bench("verbs", "query_port", WARM, TIMES, query_port, &v);
	bench("verbs", "query_device", WARM, TIMES, query_device, &v);
	bench("verbs", "query_gid", WARM, TIMES, query_gid, &v);
	bench("verbs", "allocate PD", WARM, TIMES, pd, &v);
	mrs(&v);
	bench("verbs", "reregister MR, access", WARM, TIMES, rereg_mr, &v);
	bench("verbs", "allocate MW", WARM, TIMES, mw, &v);
	bench("verbs", "create AH", WARM, TIMES, ah, &v);
	bench("verbs", "create completion channel", WARM, TIMES, channel, &v);
	bench("verbs", "create CQ", WARM, TIMES, cq, &v);
	bench("verbs", "resize CQ", WARM, TIMES, resize_cq, &v);
	bench("verbs", "req_notify_cq", WARM, TIMES, notify_cq, &v);
	bench("verbs", "create SRQ", WARM, TIMES, srq, &v);
	bench("verbs", "modify SRQ", WARM, TIMES, modify_srq, &v);
	bench("verbs", "query SRQ", WARM, TIMES, query_srq, &v);
	qps(&v);
	return 0;
}
