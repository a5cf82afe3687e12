// SPDX-License-Identifier: GPL-2.0
/*
 * The device goes, with objects on it that depend on each other in ways that
 * are not those of their age.
 */
#include "abi_plug.h"
#include "abi_srq.h"

FIXTURE(order)
{
	struct uv_dev dev;
	char netdev[32];
	struct uv_res idle;
	struct uv_ctx ctx;
	int fd;
};

FIXTURE_SETUP(order)
{
	const char *const version[] = { "rdma", "-V", NULL };
	char path[128];

	self->ctx.fd = self->ctx.async_fd = -1;
	if (geteuid() || run(version))
		SKIP(return, "needs root and the rdma tool");
	ASSERT_EQ(0, uv_dev_find(&self->dev));
	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/parent",
		 self->dev.ibdev);
	ASSERT_EQ(0, uv_read_line(path, self->netdev, sizeof(self->netdev)));
	ASSERT_EQ(0, uv_res_get(&self->idle));
	ASSERT_EQ(0, uv_ctx_open(&self->ctx));
	self->fd = self->ctx.fd;
}

FIXTURE_TEARDOWN(order)
{
	struct uv_dev found;

	uv_ctx_close(&self->ctx);
	if (uv_dev_find(&found))
		EXPECT_EQ(0, plug(&self->dev, self->netdev));
	EXPECT_TRUE(uv_res_settles(&self->idle, 3000));
	EXPECT_EQ(0, uv_vmpin_kb());
}

/* A region that is older than its PD. */
TEST_F(order, moved_region)
{
	static char buf[4096] __attribute__((aligned(4096)));
	struct ib_uverbs_rereg_mr req = { .flags = 2 /* IB_MR_REREG_PD */ };
	struct ib_uverbs_rereg_mr_resp resp;
	struct uv_call call = {
		.command = IB_USER_VERBS_CMD_REREG_MR,
		.req = &req, .req_len = sizeof(req),
		.resp = &resp, .resp_len = sizeof(resp),
	};
	struct uv_mr mr;
	__u32 pd;

	ASSERT_EQ(0, uv_pd_alloc(self->fd, UV_WRITE, &pd));
	ASSERT_EQ(0, uv_mr_reg(self->fd, pd, buf, sizeof(buf), 1, &mr));
	ASSERT_EQ(0, uv_pd_alloc(self->fd, UV_WRITE, &req.pd_handle));
	req.mr_handle = mr.handle;
	ASSERT_EQ(0, uv_call(self->fd, UV_WRITE, &call));
	ASSERT_EQ(0, unplug(&self->dev));
	EXPECT_EQ(-EIO, uv_call(self->fd, UV_WRITE, &call));
	EXPECT_EQ(0, uv_mr_destroy(self->fd, mr.handle));
	EXPECT_EQ(0, uv_pd_destroy(self->fd, pd));
}

/* A QP on an SRQ, in a multicast group. */
TEST_F(order, all_kinds)
{
	struct ib_uverbs_attach_mcast mcast = {
		.gid = { 0xff, 0x0e, [10] = 0xff, 0xff, 224, 0, 1, 9 },
	};
	struct uv_call attach = {
		.command = IB_USER_VERBS_CMD_ATTACH_MCAST,
		.req = &mcast, .req_len = sizeof(mcast),
	};
	struct ib_uverbs_create_qp req = {
		.is_srq = 1,
		.max_send_wr = 8,
		.max_send_sge = 1,
		.qp_type = IB_UVERBS_QPT_UD,
	};
	struct srq_want want = { .max_wr = 16, .max_sge = 1 };
	struct srq srq;
	struct uv_cq cq;
	struct uv_qp qp;
	__u32 pd;

	ASSERT_EQ(0, uv_pd_alloc(self->fd, UV_WRITE, &pd));
	want.pd = pd;
	ASSERT_EQ(0, srq_create(self->fd, SRQ_WRITE, &want, &srq));
	ASSERT_EQ(0, uv_cq_create(self->fd, 16, -1, 0, &cq));
	req.pd_handle = pd;
	req.srq_handle = srq.handle;
	req.send_cq_handle = req.recv_cq_handle = cq.handle;
	ASSERT_EQ(0, uv_qp_call(self->fd, UV_WRITE, &req, &qp));
	mcast.qp_handle = qp.handle;
	ASSERT_EQ(0, uv_call(self->fd, UV_WRITE, &attach));
	ASSERT_EQ(0, unplug(&self->dev));
	EXPECT_EQ(-EIO, uv_call(self->fd, UV_WRITE, &attach));
	EXPECT_EQ(-EIO, srq_modify(self->fd, SRQ_WRITE, srq.handle, SRQ_LIMIT,
				   0, 5));
	EXPECT_EQ(0, uv_qp_destroy(self->fd, qp.handle, NULL));
	EXPECT_EQ(0, srq_destroy(self->fd, SRQ_METHOD, srq.handle, NULL));
}

TEST_HARNESS_MAIN
