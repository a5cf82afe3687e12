// SPDX-License-Identifier: GPL-2.0
/* Commands of the write ABI whose allocations and user copies fail, each in its turn. */
#include "fault.h"

enum { REREG_ACCESS = 4 };	/* enum ib_mr_rereg_flags, which no uapi header has */

struct rig {
	struct sh sh;
	int fault;
	int fd;			/* sh.fd, for short */
	enum uv_form form;
	struct uv_cq cq;
	struct uv_qp ud, rc;
	__u32 handle;
};

FIXTURE(fault_commands)
{
	struct rig rig;
};

FIXTURE_VARIANT(fault_commands)
{
	enum uv_form form;
};

FIXTURE_VARIANT_ADD(fault_commands, write)
{
	.form = UV_WRITE,
};

FIXTURE_VARIANT_ADD(fault_commands, invoke)
{
	.form = UV_INVOKE,
};

FIXTURE_SETUP(fault_commands)
{
	struct rig *rig = &self->rig;

	rig->fault = fault_open();
	if (rig->fault == -ENOENT)
		SKIP(return, "the kernel has no fault injection");
	ASSERT_GE(rig->fault, 0);
	sh_start(_metadata, &rig->sh);
	rig->fd = rig->sh.fd;
	rig->form = variant->form;
	ASSERT_EQ(0, uv_cq_create(rig->fd, 16, -1, 0, &rig->cq));
	ASSERT_EQ(0, uv_qp_create(rig->fd, rig->sh.pd, rig->cq.handle,
				  IB_UVERBS_QPT_UD, &rig->ud));
	ASSERT_EQ(0, uv_qp_create(rig->fd, rig->sh.pd, rig->cq.handle,
				  IB_UVERBS_QPT_RC, &rig->rc));
	ASSERT_EQ(0, uv_qp_connect(rig->fd, rig->rc.handle, rig->rc.qpn));
}

FIXTURE_TEARDOWN(fault_commands)
{
	if (self->rig.fault < 0)
		return;
	sh_end(_metadata, &self->rig.sh);
	close(self->rig.fault);
}

#define CALL(rig, number, request, response) ({                            \
	struct uv_call call = {                                            \
		.command = (number),                                       \
		.req = &(request), .req_len = sizeof(request),             \
		.resp = &(response), .resp_len = sizeof(response),         \
	};                                                                 \
	uv_call((rig)->fd, (rig)->form, &call);                            \
})

#define CALL_SILENT(rig, number, request) ({                               \
	struct uv_call call = {                                            \
		.command = (number),                                       \
		.req = &(request), .req_len = sizeof(request),             \
	};                                                                 \
	uv_call((rig)->fd, (rig)->form, &call);                            \
})

static int query_device(void *data)
{
	struct rig *rig = data;
	struct ib_uverbs_query_device req = {};
	struct ib_uverbs_query_device_resp resp;

	return CALL(rig, IB_USER_VERBS_CMD_QUERY_DEVICE, req, resp);
}

static int query_device_ex(void *data)
{
	struct rig *rig = data;
	struct ib_uverbs_ex_query_device req = {};
	struct ib_uverbs_ex_query_device_resp resp;

	return CALL(rig, UV_EX(IB_USER_VERBS_EX_CMD_QUERY_DEVICE), req, resp);
}

static int query_port(void *data)
{
	struct rig *rig = data;
	struct ib_uverbs_query_port req = { .port_num = 1 };
	struct ib_uverbs_query_port_resp resp;

	return CALL(rig, IB_USER_VERBS_CMD_QUERY_PORT, req, resp);
}

static int rereg_mr(void *data)
{
	struct rig *rig = data;
	struct ib_uverbs_rereg_mr req = {
		.mr_handle = rig->sh.mr.handle,
		.flags = REREG_ACCESS,
		.access_flags = IB_UVERBS_ACCESS_LOCAL_WRITE,
	};
	struct ib_uverbs_rereg_mr_resp resp;

	return CALL(rig, IB_USER_VERBS_CMD_REREG_MR, req, resp);
}

static int alloc_mw(void *data)
{
	struct rig *rig = data;
	struct ib_uverbs_alloc_mw req = { .pd_handle = rig->sh.pd, .mw_type = 1 };
	struct ib_uverbs_alloc_mw_resp resp = {};
	int ret = CALL(rig, IB_USER_VERBS_CMD_ALLOC_MW, req, resp);

	rig->handle = resp.mw_handle;
	return ret;
}

static int dealloc_mw(void *data)
{
	struct rig *rig = data;
	struct ib_uverbs_dealloc_mw req = { .mw_handle = rig->handle };

	return CALL_SILENT(rig, IB_USER_VERBS_CMD_DEALLOC_MW, req);
}

/* ff0e::ffff:224.0.1.9, an IPv4 group. */
#define GROUP { 0xff, 0x0e, [10] = 0xff, 0xff, 224, 0, 1, 9 }

static int attach_mcast(void *data)
{
	struct rig *rig = data;
	struct ib_uverbs_attach_mcast req = {
		.gid = GROUP,
		.qp_handle = rig->ud.handle,
	};

	return CALL_SILENT(rig, IB_USER_VERBS_CMD_ATTACH_MCAST, req);
}

static int detach_mcast(void *data)
{
	struct rig *rig = data;
	struct ib_uverbs_detach_mcast req = {
		.gid = GROUP,
		.qp_handle = rig->ud.handle,
	};

	return CALL_SILENT(rig, IB_USER_VERBS_CMD_DETACH_MCAST, req);
}

static int req_notify(void *data)
{
	struct rig *rig = data;

	return uv_req_notify(rig->fd, rig->form, rig->cq.handle, 0);
}

static int resize_cq(void *data)
{
	struct rig *rig = data;
	struct ib_uverbs_resize_cq req = { .cq_handle = rig->cq.handle, .cqe = 40 };
	struct ib_uverbs_resize_cq_resp resp = {};
	struct mminfo mi;
	struct uv_call call = {
		.command = IB_USER_VERBS_CMD_RESIZE_CQ,
		.req = &req, .req_len = sizeof(req),
		.resp = &resp, .resp_len = sizeof(resp),
		.uhw_out = &mi, .uhw_out_len = sizeof(mi),
	};

	return uv_call(rig->fd, rig->form, &call);
}

static int doorbell(void *data)
{
	struct rig *rig = data;

	return uv_doorbell(rig->fd, rig->form, rig->rc.handle);
}

TEST_F(fault_commands, each)
{
	const struct fault_op ops[] = {
		{ .name = "QUERY_DEVICE", .call = query_device },
		{ .name = "QUERY_DEVICE, extended", .call = query_device_ex },
		{ .name = "QUERY_PORT", .call = query_port },
		{ .name = "REREG_MR", .call = rereg_mr },
		{ .name = "ALLOC_MW", .call = alloc_mw, .settle = dealloc_mw },
		{ .name = "DEALLOC_MW", .prepare = alloc_mw, .call = dealloc_mw,
		  .take_back = dealloc_mw },
		{ .name = "ATTACH_MCAST", .call = attach_mcast, .settle = detach_mcast },
		{ .name = "DETACH_MCAST", .prepare = attach_mcast,
		  .call = detach_mcast, .take_back = detach_mcast },
		{ .name = "REQ_NOTIFY_CQ", .call = req_notify },
		{ .name = "RESIZE_CQ", .call = resize_cq },
		{ .name = "POST_SEND, the doorbell", .call = doorbell },
	};
	size_t i;

	for (i = 0; i < sizeof(ops) / sizeof(*ops); i++)
		fault_sweep(_metadata, self->rig.fault, &ops[i], &self->rig);
}

TEST_HARNESS_MAIN
