// SPDX-License-Identifier: GPL-2.0
/* INVOKE_WRITE: the commands of write(2) in the attributes of an ioctl. */
#include "abi.h"

ABI_FIXTURE(invoke);

static struct ib_uverbs_query_port_resp port;

static int invoke(int fd, __u64 command, const void *req, size_t req_len,
		  void *resp, size_t resp_len)
{
	struct uv_cmd cmd;

	uv_init(&cmd, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE);
	uv_const(&cmd, UVERBS_ATTR_WRITE_CMD, command);
	uv_in(&cmd, UVERBS_ATTR_CORE_IN, req, req_len);
	uv_out(&cmd, UVERBS_ATTR_CORE_OUT, resp, resp_len);
	return uv_ioctl(fd, &cmd);
}

TEST_F(invoke, sizes_and_commands)
{
	struct ib_uverbs_query_port req = { .port_num = 1 };
	const __u32 cmd = IB_USER_VERBS_CMD_QUERY_PORT;
	const size_t in = sizeof(req), out = sizeof(port);
	const int fd = self->fd;

	EXPECT_EQ(0, invoke(fd, cmd, &req, in, &port, out));
	EXPECT_EQ(-ENOSPC, invoke(fd, cmd, &req, in - 4, &port, out));
	EXPECT_EQ(-EINVAL, invoke(fd, cmd, &req, 3, &port, out));
	EXPECT_EQ(-EINVAL, invoke(fd, cmd, &req, 0, &port, out));
	EXPECT_EQ(-ENOSPC, invoke(fd, cmd, &req, in, &port, out - 4));
	EXPECT_EQ(-EFAULT, invoke(fd, cmd, UV_BAD_PTR, in, &port, out));
	EXPECT_EQ(-EFAULT, invoke(fd, cmd, &req, in, UV_BAD_PTR, out));
	EXPECT_EQ(-EOPNOTSUPP, invoke(fd, IB_USER_VERBS_CMD_PEEK_CQ, &req, in,
				      &port, out));
	EXPECT_EQ(-EOPNOTSUPP, invoke(fd, 127, &req, in, &port, out));
	EXPECT_EQ(-EINVAL, invoke(fd, 256, &req, in, &port, out));
	EXPECT_EQ(-EINVAL, invoke(fd, 1U << 30, &req, in, &port, out));
	EXPECT_EQ(-EINVAL, invoke(fd, 1ULL << 32 | cmd, &req, in, &port, out));
}

/* libibverbs finds out by this that INVOKE_WRITE is there, and the driver. */
TEST_F(invoke, probe)
{
	struct uv_cmd cmd;

	uv_init(&cmd, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE);
	EXPECT_EQ(-EINVAL, uv_ioctl(self->fd, &cmd));
	uv_const(&cmd, UVERBS_ATTR_WRITE_CMD, IB_USER_VERBS_CMD_QUERY_DEVICE);
	EXPECT_EQ(-ENOSPC, uv_ioctl(self->fd, &cmd));
	cmd.hdr.driver_id++;
	EXPECT_EQ(-EINVAL, uv_ioctl(self->fd, &cmd));
}

/* Both halves of a response, and where they may be. */
TEST_F(invoke, driver_data)
{
	struct ib_uverbs_create_cq req = { .cqe = 16, .comp_channel = -1 };
	struct ib_uverbs_create_cq_resp resp = {};
	struct uv_cq cq = {};
	struct uv_call call = {
		.command = IB_USER_VERBS_CMD_CREATE_CQ,
		.req = &req, .req_len = sizeof(req),
		.resp = &resp, .resp_len = sizeof(resp),
		.uhw_out = &cq.rxe, .uhw_out_len = sizeof(cq.rxe),
	};
	struct uv_cmd cmd;

	uv_invoke_prep(&cmd, &call);
	uv_find(&cmd, UVERBS_ATTR_UHW_OUT)->data = uv_u64(UV_BAD_PTR);
	EXPECT_EQ(-EFAULT, uv_ioctl(self->fd, &cmd));
	uv_invoke_prep(&cmd, &call);
	uv_find(&cmd, UVERBS_ATTR_UHW_OUT)->attr_data.reserved = 1;
	EXPECT_EQ(-EINVAL, uv_ioctl(self->fd, &cmd));
	uv_invoke_prep(&cmd, &call);
	uv_find(&cmd, UVERBS_ATTR_CORE_OUT)->data = uv_u64(UV_BAD_PTR);
	EXPECT_EQ(-EFAULT, uv_ioctl(self->fd, &cmd));
	abi_same(_metadata, &self->abi.base, "bad driver data");

	uv_invoke_prep(&cmd, &call);
	ASSERT_EQ(0, uv_ioctl(self->fd, &cmd));
	/* Both are marked as written. */
	EXPECT_TRUE(uv_find(&cmd, UVERBS_ATTR_CORE_OUT)->flags &
		    UVERBS_ATTR_F_VALID_OUTPUT);
	EXPECT_TRUE(uv_find(&cmd, UVERBS_ATTR_UHW_OUT)->flags &
		    UVERBS_ATTR_F_VALID_OUTPUT);
	EXPECT_NE(0, cq.rxe.mi.size);
	EXPECT_EQ(0, uv_cq_destroy(self->fd, resp.cq_handle, NULL));
}

/* What the driver does not ask for is not looked at. */
TEST_F(invoke, driver_request_unread)
{
	struct ib_uverbs_alloc_pd req = {};
	struct ib_uverbs_alloc_pd_resp resp = {};
	struct uv_call call = {
		.command = IB_USER_VERBS_CMD_ALLOC_PD,
		.req = &req, .req_len = sizeof(req),
		.resp = &resp, .resp_len = sizeof(resp),
	};
	const __u16 lengths[] = { 0, 1, 8, 9, 64, 0xffff };
	struct uv_cmd cmd;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(lengths); i++) {
		uv_invoke_prep(&cmd, &call);
		uv_attr(&cmd, UVERBS_ATTR_UHW_IN, lengths[i],
			uv_u64(UV_BAD_PTR));
		uv_attr(&cmd, UVERBS_ATTR_UHW_OUT, lengths[i],
			uv_u64(UV_BAD_PTR));
		EXPECT_EQ(0, uv_ioctl(self->fd, &cmd));
		EXPECT_EQ(0, uv_pd_destroy(self->fd, resp.pd_handle));
	}
}

/* Requests of up to 8 bytes are in the attribute, like any value. */
TEST_F(invoke, inline_request)
{
	struct ib_uverbs_dealloc_pd req = {};
	struct uv_call call = {
		.command = IB_USER_VERBS_CMD_DEALLOC_PD,
		.req = &req, .req_len = sizeof(req),
	};
	struct uv_cmd cmd;

	ASSERT_EQ(0, uv_pd_alloc(self->fd, UV_INVOKE, &req.pd_handle));
	uv_invoke_prep(&cmd, &call);
	/* More than the command has, and that is not nothing. */
	uv_find(&cmd, UVERBS_ATTR_CORE_IN)->len = 8;
	uv_find(&cmd, UVERBS_ATTR_CORE_IN)->data |= 1ULL << 32;
	EXPECT_EQ(-EOPNOTSUPP, uv_ioctl(self->fd, &cmd));
	uv_invoke_prep(&cmd, &call);
	uv_find(&cmd, UVERBS_ATTR_CORE_IN)->len = 8;
	EXPECT_EQ(0, uv_ioctl(self->fd, &cmd));
	abi_same(_metadata, &self->abi.base, "deallocated");
}

/* Nor is a request of more than 8 bytes ever in the attribute. */
TEST_F(invoke, request_by_pointer)
{
	struct ib_uverbs_query_port req = { .port_num = 1 };
	struct uv_call call = {
		.command = IB_USER_VERBS_CMD_QUERY_PORT,
		.req = &req, .req_len = sizeof(req),
		.resp = &port, .resp_len = sizeof(port),
	};
	struct uv_cmd cmd;

	uv_invoke_prep(&cmd, &call);
	uv_find(&cmd, UVERBS_ATTR_CORE_IN)->data = 1;
	EXPECT_EQ(-EFAULT, uv_ioctl(self->fd, &cmd));
	uv_invoke_prep(&cmd, &call);
	EXPECT_EQ(0, uv_ioctl(self->fd, &cmd));
}

TEST_HARNESS_MAIN
