// SPDX-License-Identifier: GPL-2.0
/* Verbs whose allocations and user copies fail, each in its turn. */
#include "fault.h"

#include "abi_qp_create.h"
#include "abi_srq.h"

struct rig {
	struct sh sh;
	struct uv_dev dev;
	int fault;
	int fd;			/* sh.fd, for short */
	struct uv_cq cq;
	struct uv_qp qp;
	/* What a call makes. */
	struct uv_ctx ctx;
	__u32 handle;
	struct uv_mr mr;
	struct uv_cq new_cq;
	struct uv_qp new_qp;
	struct uv_ah ah;
	struct srq srq;
	int made_fd;
};

FIXTURE(fault_verbs)
{
	struct rig rig;
};

FIXTURE_SETUP(fault_verbs)
{
	struct rig *rig = &self->rig;

	rig->fault = fault_open();
	if (rig->fault == -ENOENT)
		SKIP(return, "the kernel has no fault injection");
	ASSERT_GE(rig->fault, 0);
	sh_start(_metadata, &rig->sh);
	rig->fd = rig->sh.fd;
	ASSERT_EQ(0, uv_dev_find(&rig->dev));
	ASSERT_EQ(0, uv_cq_create(rig->fd, 16, -1, 0, &rig->cq));
	ASSERT_EQ(0, uv_qp_create(rig->fd, rig->sh.pd, rig->cq.handle,
				  IB_UVERBS_QPT_RC, &rig->qp));
}

FIXTURE_TEARDOWN(fault_verbs)
{
	if (self->rig.fault < 0)
		return;
	sh_end(_metadata, &self->rig.sh);
	close(self->rig.fault);
}

/* ---- files and contexts ---- */

static int open_close(void *data)
{
	struct rig *rig = data;
	int fd = open(rig->dev.node, O_RDWR | O_CLOEXEC);

	return fd < 0 ? -errno : close(fd);
}

static int context_prepare(void *data)
{
	struct rig *rig = data;

	rig->ctx.fd = open(rig->dev.node, O_RDWR | O_CLOEXEC);
	return rig->ctx.fd < 0 ? -errno : 0;
}

static int context_get(void *data)
{
	struct rig *rig = data;
	__u64 support;

	return uv_get_context(rig->ctx.fd, &rig->ctx.num_comp, &support);
}

static int context_close(void *data)
{
	struct rig *rig = data;

	return close(rig->ctx.fd);
}

/* A file whose GET_CONTEXT failed can have one all the same. */
static int context_again(void *data)
{
	int ret = context_get(data);

	return ret ? ret : context_close(data);
}

static int async_event(void *data)
{
	struct rig *rig = data;

	rig->made_fd = uv_async_event(rig->fd);
	return rig->made_fd < 0 ? rig->made_fd : 0;
}

static int channel(void *data)
{
	struct rig *rig = data;

	rig->made_fd = uv_channel(rig->fd, UV_WRITE);
	return rig->made_fd < 0 ? rig->made_fd : 0;
}

static int close_made(void *data)
{
	struct rig *rig = data;

	return close(rig->made_fd);
}

TEST_F(fault_verbs, files)
{
	const struct fault_op ops[] = {
		{ .name = "open", .call = open_close },
		{ .name = "GET_CONTEXT", .prepare = context_prepare,
		  .call = context_get, .settle = context_close,
		  .take_back = context_again },
		{ .name = "async event file", .call = async_event, .settle = close_made },
		{ .name = "completion channel", .call = channel, .settle = close_made },
	};
	size_t i;

	for (i = 0; i < sizeof(ops) / sizeof(*ops); i++)
		fault_sweep(_metadata, self->rig.fault, &ops[i], &self->rig);
}

/* ---- PDs, MRs, AHs ---- */

static int pd_make(void *data)
{
	struct rig *rig = data;

	return uv_pd_alloc(rig->fd, UV_WRITE, &rig->handle);
}

static int pd_invoke(void *data)
{
	struct rig *rig = data;

	return uv_pd_alloc(rig->fd, UV_INVOKE, &rig->handle);
}

static int pd_destroy(void *data)
{
	struct rig *rig = data;

	return uv_pd_destroy(rig->fd, rig->handle);
}

static int mr_make(void *data)
{
	struct rig *rig = data;

	return uv_mr_reg(rig->fd, rig->sh.pd, rig->sh.memory, SH_MR_SIZE,
			 UV_ACCESS_ALL, &rig->mr);
}

static int mr_destroy(void *data)
{
	struct rig *rig = data;

	return uv_mr_destroy(rig->fd, rig->mr.handle);
}

static int ah_make(void *data)
{
	struct rig *rig = data;

	return uv_ah_create(rig->fd, rig->sh.pd, &rig->ah);
}

static int ah_destroy(void *data)
{
	struct rig *rig = data;

	return uv_ah_destroy(rig->fd, rig->ah.handle);
}

TEST_F(fault_verbs, plain)
{
	const struct fault_op ops[] = {
		{ .name = "ALLOC_PD", .call = pd_make, .settle = pd_destroy },
		{ .name = "ALLOC_PD by ioctl", .call = pd_invoke,
		  .settle = pd_destroy },
		{ .name = "DEALLOC_PD", .prepare = pd_make, .call = pd_destroy,
		  .take_back = pd_destroy },
		{ .name = "REG_MR", .call = mr_make, .settle = mr_destroy },
		{ .name = "DEREG_MR", .prepare = mr_make, .call = mr_destroy,
		  .take_back = mr_destroy },
		{ .name = "CREATE_AH", .call = ah_make, .settle = ah_destroy },
		{ .name = "DESTROY_AH", .prepare = ah_make, .call = ah_destroy,
		  .take_back = ah_destroy },
	};
	size_t i;

	for (i = 0; i < sizeof(ops) / sizeof(*ops); i++)
		fault_sweep(_metadata, self->rig.fault, &ops[i], &self->rig);
}

/* ---- queues ---- */

static int cq_make(void *data)
{
	struct rig *rig = data;

	return uv_cq_create(rig->fd, 16, -1, 0, &rig->new_cq);
}

static int cq_destroy(void *data)
{
	struct rig *rig = data;

	return uv_cq_destroy(rig->fd, rig->new_cq.handle, NULL);
}

static int srq_make_as(struct rig *rig, int how)
{
	const struct srq_want want = { .pd = rig->sh.pd, .max_wr = 8, .max_sge = 1 };

	return srq_create(rig->fd, how, &want, &rig->srq);
}

static int srq_make(void *data)
{
	return srq_make_as(data, SRQ_WRITE);
}

static int srq_make_method(void *data)
{
	return srq_make_as(data, SRQ_METHOD);
}

static int srq_end(void *data)
{
	struct rig *rig = data;
	struct ib_uverbs_destroy_srq_resp resp;

	return uv_destroy_resp(rig->fd, UVERBS_OBJECT_SRQ,
			       UVERBS_METHOD_SRQ_DESTROY, rig->srq.handle, &resp,
			       sizeof(resp));
}

static int qp_make(void *data)
{
	struct rig *rig = data;

	return uv_qp_create(rig->fd, rig->sh.pd, rig->cq.handle,
			    IB_UVERBS_QPT_RC, &rig->new_qp);
}

static int qp_destroy_made(void *data)
{
	struct rig *rig = data;

	return uv_qp_destroy(rig->fd, rig->new_qp.handle, NULL);
}

static int qp_state(void *data)
{
	struct rig *rig = data;
	struct ib_uverbs_query_qp_resp resp;

	return uv_qp_query(rig->fd, UV_WRITE, rig->qp.handle, &resp);
}

static int qp_to_init(void *data)
{
	struct rig *rig = data;

	return uv_qp_init(rig->fd, rig->qp.handle);
}

static int qp_to_reset(void *data)
{
	struct rig *rig = data;
	struct ib_uverbs_modify_qp req = {
		.qp_handle = rig->qp.handle,
		.qp_state = UV_RESET,
		.attr_mask = UV_QP_STATE,
	};

	return uv_qp_modify(rig->fd, UV_WRITE, &req);
}

TEST_F(fault_verbs, queues)
{
	const struct fault_op ops[] = {
		{ .name = "CREATE_CQ", .call = cq_make, .settle = cq_destroy },
		{ .name = "DESTROY_CQ", .prepare = cq_make, .call = cq_destroy,
		  .take_back = cq_destroy, .answers = true },
		{ .name = "CREATE_SRQ", .call = srq_make, .settle = srq_end },
		{ .name = "CREATE_SRQ by method", .call = srq_make_method,
		  .settle = srq_end },
		{ .name = "DESTROY_SRQ", .prepare = srq_make, .call = srq_end,
		  .take_back = srq_end, .answers = true },
		{ .name = "CREATE_QP", .call = qp_make,
		  .settle = qp_destroy_made },
		{ .name = "DESTROY_QP", .prepare = qp_make,
		  .call = qp_destroy_made, .take_back = qp_destroy_made,
		  .answers = true },
		{ .name = "QUERY_QP", .call = qp_state },
		{ .name = "MODIFY_QP", .call = qp_to_init,
		  .settle = qp_to_reset },
	};
	size_t i;

	for (i = 0; i < sizeof(ops) / sizeof(*ops); i++)
		fault_sweep(_metadata, self->rig.fault, &ops[i], &self->rig);
}

TEST_HARNESS_MAIN
