/* SPDX-License-Identifier: GPL-2.0 */
/* The ways to make an SRQ. */
#ifndef SHVERBS_TEST_ABI_SRQ_H
#define SHVERBS_TEST_ABI_SRQ_H

#include "abi_event.h"

enum { SRQ_WRITE, SRQ_INVOKE, SRQ_XWRITE, SRQ_XINVOKE, SRQ_METHOD };

/* enum ib_srq_attr_mask, which no uapi header has. */
enum { SRQ_MAX_WR = 1, SRQ_LIMIT = 2 };

#define SRQ_USER 0x5350

struct srq_want {
	__u32 pd, type, max_wr, max_sge, limit, cq;
};

struct srq {
	__u32 handle, max_wr, max_sge;
	struct rxe_create_srq_resp rxe;
};

static inline int srq_create_command(int fd, int how,
				     const struct srq_want *want,
				     struct srq *srq)
{
	bool x = how == SRQ_XWRITE || how == SRQ_XINVOKE;
	struct ib_uverbs_create_srq req = {
		.user_handle = SRQ_USER,
		.pd_handle = want->pd,
		.max_wr = want->max_wr,
		.max_sge = want->max_sge,
		.srq_limit = want->limit,
	};
	struct ib_uverbs_create_xsrq xreq = {
		.user_handle = SRQ_USER,
		.srq_type = want->type,
		.pd_handle = want->pd,
		.max_wr = want->max_wr,
		.max_sge = want->max_sge,
		.srq_limit = want->limit,
		.cq_handle = want->cq,
	};
	struct ib_uverbs_create_srq_resp resp = {};
	struct uv_call call = {
		.command = x ? IB_USER_VERBS_CMD_CREATE_XSRQ :
			       IB_USER_VERBS_CMD_CREATE_SRQ,
		.req = x ? (void *)&xreq : (void *)&req,
		.req_len = x ? sizeof(xreq) : sizeof(req),
		.resp = &resp, .resp_len = sizeof(resp),
		.uhw_out = &srq->rxe, .uhw_out_len = sizeof(srq->rxe),
	};
	bool invoke = how == SRQ_INVOKE || how == SRQ_XINVOKE;
	int ret = uv_call(fd, invoke ? UV_INVOKE : UV_WRITE, &call);

	srq->handle = resp.srq_handle;
	srq->max_wr = resp.max_wr;
	srq->max_sge = resp.max_sge;
	return ret;
}

static inline void srq_method_cmd(struct uv_cmd *cmd,
				  const struct srq_want *want, struct srq *srq)
{
	uv_init(cmd, UVERBS_OBJECT_SRQ, UVERBS_METHOD_SRQ_CREATE);
	uv_idr(cmd, UVERBS_ATTR_CREATE_SRQ_HANDLE, 0);
	uv_idr(cmd, UVERBS_ATTR_CREATE_SRQ_PD_HANDLE, want->pd);
	uv_const(cmd, UVERBS_ATTR_CREATE_SRQ_TYPE, want->type);
	uv_const(cmd, UVERBS_ATTR_CREATE_SRQ_USER_HANDLE, SRQ_USER);
	uv_u32(cmd, UVERBS_ATTR_CREATE_SRQ_MAX_WR, want->max_wr);
	uv_u32(cmd, UVERBS_ATTR_CREATE_SRQ_MAX_SGE, want->max_sge);
	uv_u32(cmd, UVERBS_ATTR_CREATE_SRQ_LIMIT, want->limit);
	uv_out(cmd, UVERBS_ATTR_CREATE_SRQ_RESP_MAX_WR, &srq->max_wr, 4);
	uv_out(cmd, UVERBS_ATTR_CREATE_SRQ_RESP_MAX_SGE, &srq->max_sge, 4);
	uv_out(cmd, UVERBS_ATTR_UHW_OUT, &srq->rxe, sizeof(srq->rxe));
}

static inline int srq_create(int fd, int how, const struct srq_want *want,
			     struct srq *srq)
{
	struct uv_cmd cmd;
	int ret;

	memset(srq, 0, sizeof(*srq));
	if (how != SRQ_METHOD)
		return srq_create_command(fd, how, want, srq);
	srq_method_cmd(&cmd, want, srq);
	ret = uv_ioctl(fd, &cmd);
	srq->handle = uv_find(&cmd, UVERBS_ATTR_CREATE_SRQ_HANDLE)->data;
	return ret;
}

static inline enum uv_form srq_form(int how)
{
	return how == SRQ_WRITE || how == SRQ_XWRITE ? UV_WRITE : UV_INVOKE;
}

static inline int srq_destroy(int fd, int how, __u64 handle,
			      struct ib_uverbs_destroy_srq_resp *resp)
{
	struct ib_uverbs_destroy_srq req = { .srq_handle = handle };
	struct ib_uverbs_destroy_srq_resp none;
	struct uv_call call = {
		.command = IB_USER_VERBS_CMD_DESTROY_SRQ,
		.req = &req, .req_len = sizeof(req),
		.resp = resp ? resp : &none, .resp_len = sizeof(none),
	};

	if (how == SRQ_METHOD)
		return uv_destroy_resp(fd, UVERBS_OBJECT_SRQ,
				       UVERBS_METHOD_SRQ_DESTROY, handle,
				       resp ? resp : &none, sizeof(none));
	return uv_call(fd, srq_form(how), &call);
}

static inline int srq_modify(int fd, int how, __u32 handle, __u32 mask,
			     __u32 max_wr, __u32 limit)
{
	struct mminfo mi;
	struct {
		struct ib_uverbs_modify_srq core;
		struct rxe_modify_srq_cmd rxe;
	} req = {
		.core.srq_handle = handle,
		.core.attr_mask = mask,
		.core.max_wr = max_wr,
		.core.srq_limit = limit,
		.rxe.mmap_info_addr = uv_u64(&mi),
	};
	struct uv_call call = {
		.command = IB_USER_VERBS_CMD_MODIFY_SRQ,
		.req = &req, .req_len = sizeof(req),
	};
	struct uv_cmd cmd;

	if (srq_form(how) == UV_WRITE)
		return uv_call_write(fd, &call);
	call.req_len = sizeof(req.core);
	uv_invoke_prep(&cmd, &call);
	uv_in(&cmd, UVERBS_ATTR_UHW_IN, &req.rxe, sizeof(req.rxe));
	return uv_ioctl(fd, &cmd);
}

static inline int srq_query(int fd, int how, __u32 handle,
			    struct ib_uverbs_query_srq_resp *resp)
{
	struct ib_uverbs_query_srq req = { .srq_handle = handle };
	struct uv_call call = {
		.command = IB_USER_VERBS_CMD_QUERY_SRQ,
		.req = &req, .req_len = sizeof(req),
		.resp = resp, .resp_len = sizeof(*resp),
	};

	return uv_call(fd, srq_form(how), &call);
}

#endif
