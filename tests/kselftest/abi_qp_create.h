/* SPDX-License-Identifier: GPL-2.0 */
/* The five ways to make a QP. */
#ifndef SHVERBS_TEST_ABI_QP_CREATE_H
#define SHVERBS_TEST_ABI_QP_CREATE_H

#include <stddef.h>

#include "abi.h"

enum { QP_WRITE, QP_INVOKE, QP_EX, QP_EX_INVOKE, QP_METHOD };

struct qp_want {
	struct ib_uverbs_qp_cap cap;
	__u32 type, pd, send_cq, recv_cq, srq, flags;
	bool is_srq;
};

static inline void qp_method_cmd(struct uv_cmd *cmd, const struct qp_want *want,
				 struct uv_qp *qp, struct ib_uverbs_qp_cap *cap)
{
	uv_init(cmd, UVERBS_OBJECT_QP, UVERBS_METHOD_QP_CREATE);
	uv_idr(cmd, UVERBS_ATTR_CREATE_QP_HANDLE, 0);
	uv_idr(cmd, UVERBS_ATTR_CREATE_QP_PD_HANDLE, want->pd);
	uv_idr(cmd, UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE, want->send_cq);
	uv_idr(cmd, UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE, want->recv_cq);
	if (want->is_srq)
		uv_idr(cmd, UVERBS_ATTR_CREATE_QP_SRQ_HANDLE, want->srq);
	uv_const(cmd, UVERBS_ATTR_CREATE_QP_USER_HANDLE, 0x5150);
	uv_in(cmd, UVERBS_ATTR_CREATE_QP_CAP, &want->cap, sizeof(want->cap));
	uv_const(cmd, UVERBS_ATTR_CREATE_QP_TYPE, want->type);
	if (want->flags)
		uv_u32(cmd, UVERBS_ATTR_CREATE_QP_FLAGS, want->flags);
	uv_out(cmd, UVERBS_ATTR_CREATE_QP_RESP_CAP, cap, sizeof(*cap));
	uv_out(cmd, UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, &qp->qpn,
	       sizeof(qp->qpn));
	uv_out(cmd, UVERBS_ATTR_UHW_OUT, &qp->rxe, sizeof(qp->rxe));
}

static inline int qp_create_method(int fd, const struct qp_want *want,
				   struct uv_qp *qp)
{
	struct ib_uverbs_qp_cap cap = {};
	struct uv_cmd cmd;
	int ret;

	qp_method_cmd(&cmd, want, qp, &cap);
	ret = uv_ioctl(fd, &cmd);
	qp->handle = uv_find(&cmd, UVERBS_ATTR_CREATE_QP_HANDLE)->data;
	qp->max_send_wr = cap.max_send_wr;
	qp->max_recv_wr = cap.max_recv_wr;
	return ret;
}

static inline void qp_ex_req(const struct qp_want *want,
			     struct ib_uverbs_ex_create_qp *req)
{
	*req = (struct ib_uverbs_ex_create_qp){
		.user_handle = 0x5150,
		.pd_handle = want->pd,
		.send_cq_handle = want->send_cq,
		.recv_cq_handle = want->recv_cq,
		.srq_handle = want->srq,
		.max_send_wr = want->cap.max_send_wr,
		.max_recv_wr = want->cap.max_recv_wr,
		.max_send_sge = want->cap.max_send_sge,
		.max_recv_sge = want->cap.max_recv_sge,
		.max_inline_data = want->cap.max_inline_data,
		.qp_type = want->type,
		.is_srq = want->is_srq,
		.create_flags = want->flags,
	};
}

static inline int qp_ex_call(int fd, enum uv_form form,
			     const struct ib_uverbs_ex_create_qp *req,
			     struct uv_qp *qp)
{
	struct ib_uverbs_ex_create_qp_resp resp = {};
	struct uv_call call = {
		.command = UV_EX(IB_USER_VERBS_EX_CMD_CREATE_QP),
		.req = req, .req_len = sizeof(*req),
		.resp = &resp, .resp_len = sizeof(resp),
		.uhw_out = &qp->rxe, .uhw_out_len = sizeof(qp->rxe),
	};
	int ret = uv_call(fd, form, &call);

	qp->handle = resp.base.qp_handle;
	qp->qpn = resp.base.qpn;
	qp->max_send_wr = resp.base.max_send_wr;
	qp->max_recv_wr = resp.base.max_recv_wr;
	if (!ret && resp.response_length != sizeof(resp))
		return -EPROTO;
	return ret;
}

static inline void qp_req(const struct qp_want *want,
			  struct ib_uverbs_create_qp *req)
{
	*req = (struct ib_uverbs_create_qp){
		.user_handle = 0x5150,
		.pd_handle = want->pd,
		.send_cq_handle = want->send_cq,
		.recv_cq_handle = want->recv_cq,
		.srq_handle = want->srq,
		.max_send_wr = want->cap.max_send_wr,
		.max_recv_wr = want->cap.max_recv_wr,
		.max_send_sge = want->cap.max_send_sge,
		.max_recv_sge = want->cap.max_recv_sge,
		.max_inline_data = want->cap.max_inline_data,
		.qp_type = want->type,
		.is_srq = want->is_srq,
	};
}

static inline int qp_create(int fd, int how, const struct qp_want *want,
			    struct uv_qp *qp)
{
	struct ib_uverbs_ex_create_qp ex;
	struct ib_uverbs_create_qp req;

	memset(qp, 0, sizeof(*qp));
	if (how == QP_METHOD)
		return qp_create_method(fd, want, qp);
	if (how == QP_WRITE || how == QP_INVOKE) {
		qp_req(want, &req);
		return uv_qp_call(fd, how == QP_WRITE ? UV_WRITE : UV_INVOKE,
				  &req, qp);
	}
	qp_ex_req(want, &ex);
	return qp_ex_call(fd, how == QP_EX ? UV_WRITE : UV_INVOKE, &ex, qp);
}

static inline int qp_destroy(int fd, int how, __u32 qp,
			     struct ib_uverbs_destroy_qp_resp *resp)
{
	struct ib_uverbs_destroy_qp req = { .qp_handle = qp };
	struct uv_call call = {
		.command = IB_USER_VERBS_CMD_DESTROY_QP,
		.req = &req, .req_len = sizeof(req),
		.resp = resp, .resp_len = sizeof(*resp),
	};
	bool invoke = how == QP_INVOKE || how == QP_EX_INVOKE;

	if (how == QP_METHOD)
		return uv_qp_destroy(fd, qp, resp);
	return uv_call(fd, invoke ? UV_INVOKE : UV_WRITE, &call);
}

#endif
