/* SPDX-License-Identifier: GPL-2.0 */
/* Real objects, made through the raw ABI. */
#ifndef SHVERBS_TEST_UVERBS_OBJ_H
#define SHVERBS_TEST_UVERBS_OBJ_H

#include <netinet/in.h>
#include <rdma/rdma_user_rxe.h>

#include "uverbs_raw.h"

/* enum ib_qp_attr_mask and enum ib_qp_state, which no uapi header has. */
enum {
	UV_QP_STATE = 1 << 0,
	UV_QP_CUR_STATE = 1 << 1,
	UV_QP_EN_SQD_ASYNC_NOTIFY = 1 << 2,
	UV_QP_ACCESS_FLAGS = 1 << 3,
	UV_QP_PKEY_INDEX = 1 << 4,
	UV_QP_PORT = 1 << 5,
	UV_QP_QKEY = 1 << 6,
	UV_QP_AV = 1 << 7,
	UV_QP_PATH_MTU = 1 << 8,
	UV_QP_TIMEOUT = 1 << 9,
	UV_QP_RETRY_CNT = 1 << 10,
	UV_QP_RNR_RETRY = 1 << 11,
	UV_QP_RQ_PSN = 1 << 12,
	UV_QP_MAX_QP_RD_ATOMIC = 1 << 13,
	UV_QP_ALT_PATH = 1 << 14,
	UV_QP_MIN_RNR_TIMER = 1 << 15,
	UV_QP_SQ_PSN = 1 << 16,
	UV_QP_MAX_DEST_RD_ATOMIC = 1 << 17,
	UV_QP_DEST_QPN = 1 << 20,
	UV_QP_RATE_LIMIT = 1 << 25,
};

enum { UV_RESET, UV_INIT, UV_RTR, UV_RTS, UV_SQD, UV_SQE, UV_ERR };

#define UV_ACCESS_ALL                                                    \
	(IB_UVERBS_ACCESS_LOCAL_WRITE | IB_UVERBS_ACCESS_REMOTE_WRITE | \
	 IB_UVERBS_ACCESS_REMOTE_READ | IB_UVERBS_ACCESS_REMOTE_ATOMIC)

/* ---- contexts ---- */

struct uv_ctx {
	int fd;
	int async_fd;
	__u32 num_comp;
};

static inline int uv_get_context(int fd, __u32 *num_comp, __u64 *core_support)
{
	struct uv_cmd cmd;

	uv_init(&cmd, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_GET_CONTEXT);
	uv_out(&cmd, UVERBS_ATTR_GET_CONTEXT_NUM_COMP_VECTORS, num_comp,
	       sizeof(*num_comp));
	uv_out(&cmd, UVERBS_ATTR_GET_CONTEXT_CORE_SUPPORT, core_support,
	       sizeof(*core_support));
	return uv_ioctl(fd, &cmd);
}

/* A new async event fd, or -errno. */
static inline int uv_async_event(int fd)
{
	struct uv_cmd cmd;
	int ret;

	uv_init(&cmd, UVERBS_OBJECT_ASYNC_EVENT,
		UVERBS_METHOD_ASYNC_EVENT_ALLOC);
	uv_fd(&cmd, UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE, 0);
	ret = uv_ioctl(fd, &cmd);
	return ret ? ret : (int)cmd.hdr.attrs[0].data_s64;
}

/* A file with a context and its async event fd. */
static inline int uv_ctx_open(struct uv_ctx *ctx)
{
	__u64 core_support;
	int ret;

	ctx->async_fd = -1;
	ctx->fd = uv_open();
	if (ctx->fd < 0)
		return ctx->fd;
	ret = uv_get_context(ctx->fd, &ctx->num_comp, &core_support);
	if (!ret) {
		ctx->async_fd = uv_async_event(ctx->fd);
		ret = ctx->async_fd < 0 ? ctx->async_fd : 0;
	}
	if (ret)
		close(ctx->fd);
	return ret;
}

static inline void uv_ctx_close(struct uv_ctx *ctx)
{
	if (ctx->async_fd >= 0)
		close(ctx->async_fd);
	if (ctx->fd >= 0)
		close(ctx->fd);
	ctx->fd = -1;
	ctx->async_fd = -1;
}

/* ---- destruction by ioctl: the handle is always attribute 0 ---- */

static inline int uv_destroy_resp(int fd, __u16 object, __u16 method,
				  __u64 handle, void *resp, __u16 len)
{
	struct uv_cmd cmd;

	uv_init(&cmd, object, method);
	uv_idr(&cmd, 0, handle);
	if (len)
		uv_out(&cmd, 1, resp, len);
	return uv_ioctl(fd, &cmd);
}

static inline int uv_pd_destroy(int fd, __u64 pd)
{
	return uv_destroy_resp(fd, UVERBS_OBJECT_PD, UVERBS_METHOD_PD_DESTROY,
			       pd, NULL, 0);
}

static inline int uv_mr_destroy(int fd, __u64 mr)
{
	return uv_destroy_resp(fd, UVERBS_OBJECT_MR, UVERBS_METHOD_MR_DESTROY,
			       mr, NULL, 0);
}

static inline int uv_ah_destroy(int fd, __u64 ah)
{
	return uv_destroy_resp(fd, UVERBS_OBJECT_AH, UVERBS_METHOD_AH_DESTROY,
			       ah, NULL, 0);
}

static inline int uv_cq_destroy(int fd, __u64 cq,
				struct ib_uverbs_destroy_cq_resp *resp)
{
	struct ib_uverbs_destroy_cq_resp none;

	return uv_destroy_resp(fd, UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_DESTROY,
			       cq, resp ? resp : &none, sizeof(none));
}

static inline int uv_qp_destroy(int fd, __u64 qp,
				struct ib_uverbs_destroy_qp_resp *resp)
{
	struct ib_uverbs_destroy_qp_resp none;

	return uv_destroy_resp(fd, UVERBS_OBJECT_QP, UVERBS_METHOD_QP_DESTROY,
			       qp, resp ? resp : &none, sizeof(none));
}

/* ---- PDs and MRs ---- */

static inline int uv_pd_alloc(int fd, enum uv_form form, __u32 *pd)
{
	struct ib_uverbs_alloc_pd req = {};
	struct ib_uverbs_alloc_pd_resp resp = {};
	struct uv_call call = {
		.command = IB_USER_VERBS_CMD_ALLOC_PD,
		.req = &req, .req_len = sizeof(req),
		.resp = &resp, .resp_len = sizeof(resp),
	};
	int ret = uv_call(fd, form, &call);

	*pd = resp.pd_handle;
	return ret;
}

struct uv_mr {
	__u32 handle, lkey, rkey;
};

static inline int uv_mr_call(int fd, enum uv_form form,
			     const struct ib_uverbs_reg_mr *req,
			     struct uv_mr *mr)
{
	struct ib_uverbs_reg_mr_resp resp = {};
	struct uv_call call = {
		.command = IB_USER_VERBS_CMD_REG_MR,
		.req = req, .req_len = sizeof(*req),
		.resp = &resp, .resp_len = sizeof(resp),
	};
	int ret = uv_call(fd, form, &call);

	mr->handle = resp.mr_handle;
	mr->lkey = resp.lkey;
	mr->rkey = resp.rkey;
	return ret;
}

static inline int uv_mr_reg(int fd, __u32 pd, const void *addr, size_t len,
			    __u32 access, struct uv_mr *mr)
{
	struct ib_uverbs_reg_mr req = {
		.start = uv_u64(addr),
		.hca_va = uv_u64(addr),
		.length = len,
		.pd_handle = pd,
		.access_flags = access,
	};

	return uv_mr_call(fd, UV_WRITE, &req, mr);
}

/* ---- completion channels and CQs ---- */

/* A new completion channel's fd, or -errno. */
static inline int uv_channel(int fd, enum uv_form form)
{
	struct ib_uverbs_create_comp_channel req = {};
	struct ib_uverbs_create_comp_channel_resp resp = {};
	struct uv_call call = {
		.command = IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL,
		.req = &req, .req_len = sizeof(req),
		.resp = &resp, .resp_len = sizeof(resp),
	};
	int ret = uv_call(fd, form, &call);

	return ret ? ret : (int)resp.fd;
}

struct uv_cq {
	__u32 handle, cqe;
	struct rxe_create_cq_resp rxe;
};

static inline int uv_cq_call(int fd, enum uv_form form,
			     const struct ib_uverbs_create_cq *req,
			     struct uv_cq *cq)
{
	struct ib_uverbs_create_cq_resp resp = {};
	struct uv_call call = {
		.command = IB_USER_VERBS_CMD_CREATE_CQ,
		.req = req, .req_len = sizeof(*req),
		.resp = &resp, .resp_len = sizeof(resp),
		.uhw_out = &cq->rxe, .uhw_out_len = sizeof(cq->rxe),
	};
	int ret = uv_call(fd, form, &call);

	cq->handle = resp.cq_handle;
	cq->cqe = resp.cqe;
	return ret;
}

/* @channel is a completion channel's fd or -1. */
static inline int uv_cq_create(int fd, __u32 cqe, int channel, __u64 user,
			       struct uv_cq *cq)
{
	struct ib_uverbs_create_cq req = {
		.user_handle = user,
		.cqe = cqe,
		.comp_channel = channel,
	};

	return uv_cq_call(fd, UV_WRITE, &req, cq);
}

/* ---- QPs ---- */

struct uv_qp {
	__u32 handle, qpn, max_send_wr, max_recv_wr;
	struct rxe_create_qp_resp rxe;
};

static inline int uv_qp_call(int fd, enum uv_form form,
			     const struct ib_uverbs_create_qp *req,
			     struct uv_qp *qp)
{
	struct ib_uverbs_create_qp_resp resp = {};
	struct uv_call call = {
		.command = IB_USER_VERBS_CMD_CREATE_QP,
		.req = req, .req_len = sizeof(*req),
		.resp = &resp, .resp_len = sizeof(resp),
		.uhw_out = &qp->rxe, .uhw_out_len = sizeof(qp->rxe),
	};
	int ret = uv_call(fd, form, &call);

	qp->handle = resp.qp_handle;
	qp->qpn = resp.qpn;
	qp->max_send_wr = resp.max_send_wr;
	qp->max_recv_wr = resp.max_recv_wr;
	return ret;
}

static inline int uv_qp_create(int fd, __u32 pd, __u32 cq, __u8 type,
			       struct uv_qp *qp)
{
	struct ib_uverbs_create_qp req = {
		.user_handle = 0x5150,
		.pd_handle = pd,
		.send_cq_handle = cq,
		.recv_cq_handle = cq,
		.max_send_wr = 8,
		.max_recv_wr = 8,
		.max_send_sge = 1,
		.max_recv_sge = 1,
		.sq_sig_all = 1,
		.qp_type = type,
	};

	return uv_qp_call(fd, UV_WRITE, &req, qp);
}

static inline int uv_qp_modify(int fd, enum uv_form form,
			       const struct ib_uverbs_modify_qp *req)
{
	struct uv_call call = {
		.command = IB_USER_VERBS_CMD_MODIFY_QP,
		.req = req, .req_len = sizeof(*req),
	};

	return uv_call(fd, form, &call);
}

static inline int uv_qp_query(int fd, enum uv_form form, __u32 qp,
			      struct ib_uverbs_query_qp_resp *resp)
{
	struct ib_uverbs_query_qp req = {
		.qp_handle = qp,
		.attr_mask = UV_QP_STATE,
	};
	struct uv_call call = {
		.command = IB_USER_VERBS_CMD_QUERY_QP,
		.req = &req, .req_len = sizeof(req),
		.resp = resp, .resp_len = sizeof(*resp),
	};

	return uv_call(fd, form, &call);
}

/* RESET to INIT, as RC and UC QPs want it. */
static inline int uv_qp_init(int fd, __u32 qp)
{
	struct ib_uverbs_modify_qp req = {
		.qp_handle = qp,
		.qp_state = UV_INIT,
		.port_num = 1,
		.qp_access_flags = UV_ACCESS_ALL,
		.attr_mask = UV_QP_STATE | UV_QP_PKEY_INDEX | UV_QP_PORT |
			     UV_QP_ACCESS_FLAGS,
	};

	return uv_qp_modify(fd, UV_WRITE, &req);
}

static inline int uv_qp_error(int fd, __u32 qp)
{
	struct ib_uverbs_modify_qp req = {
		.qp_handle = qp,
		.qp_state = UV_ERR,
		.attr_mask = UV_QP_STATE,
	};

	return uv_qp_modify(fd, UV_WRITE, &req);
}

/* ---- addresses: port 1's first GID, which rxe's own address is ---- */

static inline int uv_gid_entry(int fd, __u32 port, __u32 index,
			       struct ib_uverbs_gid_entry *entry)
{
	struct uv_cmd cmd;

	uv_init(&cmd, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_GID_ENTRY);
	uv_const(&cmd, UVERBS_ATTR_QUERY_GID_ENTRY_PORT, port);
	uv_const(&cmd, UVERBS_ATTR_QUERY_GID_ENTRY_GID_INDEX, index);
	uv_const(&cmd, UVERBS_ATTR_QUERY_GID_ENTRY_FLAGS, 0);
	uv_out(&cmd, UVERBS_ATTR_QUERY_GID_ENTRY_RESP_ENTRY, entry,
	       sizeof(*entry));
	return uv_ioctl(fd, &cmd);
}

static inline int uv_dest(int fd, struct ib_uverbs_qp_dest *dest)
{
	struct ib_uverbs_gid_entry gid = {};
	int ret = uv_gid_entry(fd, 1, 0, &gid);

	memset(dest, 0, sizeof(*dest));
	memcpy(dest->dgid, gid.gid, sizeof(dest->dgid));
	dest->is_global = 1;
	dest->hop_limit = 64;
	dest->port_num = 1;
	return ret;
}

static inline int uv_qp_rtr(int fd, __u32 qp, __u32 dest_qpn)
{
	struct ib_uverbs_modify_qp req = {
		.qp_handle = qp,
		.qp_state = UV_RTR,
		.path_mtu = 3,	/* 1024 bytes */
		.dest_qp_num = dest_qpn,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 1,
		.attr_mask = UV_QP_STATE | UV_QP_AV | UV_QP_PATH_MTU |
			     UV_QP_DEST_QPN | UV_QP_RQ_PSN |
			     UV_QP_MAX_DEST_RD_ATOMIC | UV_QP_MIN_RNR_TIMER,
	};
	int ret = uv_dest(fd, &req.dest);

	return ret ? ret : uv_qp_modify(fd, UV_WRITE, &req);
}

static inline int uv_qp_rts(int fd, __u32 qp)
{
	struct ib_uverbs_modify_qp req = {
		.qp_handle = qp,
		.qp_state = UV_RTS,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.max_rd_atomic = 1,
		.attr_mask = UV_QP_STATE | UV_QP_TIMEOUT | UV_QP_RETRY_CNT |
			     UV_QP_RNR_RETRY | UV_QP_SQ_PSN |
			     UV_QP_MAX_QP_RD_ATOMIC,
	};

	return uv_qp_modify(fd, UV_WRITE, &req);
}

/* Connects one RC QP to another on the same device. */
static inline int uv_qp_connect(int fd, __u32 qp, __u32 dest_qpn)
{
	int ret = uv_qp_init(fd, qp);

	if (!ret)
		ret = uv_qp_rtr(fd, qp, dest_qpn);
	return ret ? ret : uv_qp_rts(fd, qp);
}

/* ---- AHs ---- */

static inline int uv_ah_attr(int fd, struct ib_uverbs_ah_attr *attr)
{
	struct ib_uverbs_gid_entry gid = {};
	int ret = uv_gid_entry(fd, 1, 0, &gid);

	memset(attr, 0, sizeof(*attr));
	memcpy(attr->grh.dgid, gid.gid, sizeof(attr->grh.dgid));
	attr->grh.hop_limit = 64;
	attr->is_global = 1;
	attr->port_num = 1;
	return ret;
}

struct uv_ah {
	__u32 handle;
	struct rxe_create_ah_resp rxe;
};

static inline int uv_ah_call(int fd, enum uv_form form,
			     const struct ib_uverbs_create_ah *req,
			     struct uv_ah *ah)
{
	struct ib_uverbs_create_ah_resp resp = {};
	struct uv_call call = {
		.command = IB_USER_VERBS_CMD_CREATE_AH,
		.req = req, .req_len = sizeof(*req),
		.resp = &resp, .resp_len = sizeof(resp),
		.uhw_out = &ah->rxe, .uhw_out_len = sizeof(ah->rxe),
	};
	int ret = uv_call(fd, form, &call);

	ah->handle = resp.ah_handle;
	return ret;
}

static inline int uv_ah_create(int fd, __u32 pd, struct uv_ah *ah)
{
	struct ib_uverbs_create_ah req = { .pd_handle = pd };
	int ret = uv_ah_attr(fd, &req.attr);

	return ret ? ret : uv_ah_call(fd, UV_WRITE, &req, ah);
}

#endif
