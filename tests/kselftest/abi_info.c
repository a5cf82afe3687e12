// SPDX-License-Identifier: GPL-2.0
/* Lists of handles, and what rxe does not have. */
#include "abi.h"

/* Debian's user space headers are older than the kernel. */
enum {
	METHOD_QUERY_PORT_SPEED = UVERBS_METHOD_QUERY_GID_ENTRY + 1,
	METHOD_QUERY_COMP_CNTR_CAPS,
};

ABI_FIXTURE(info)

struct list {
	__u32 total;
	__u32 ids[8];
};

static void info_cmd(struct uv_cmd *cmd, __u64 object, struct list *list,
		     __u16 len)
{
	memset(list, 0x55, sizeof(*list));
	uv_init(cmd, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INFO_HANDLES);
	uv_const(cmd, UVERBS_ATTR_INFO_OBJECT_ID, object);
	uv_out(cmd, UVERBS_ATTR_INFO_TOTAL_HANDLES, &list->total, 4);
	uv_out(cmd, UVERBS_ATTR_INFO_HANDLES_LIST, list->ids, len);
}

static int info(int fd, __u64 object, struct list *list)
{
	struct uv_cmd cmd;

	info_cmd(&cmd, object, list, sizeof(list->ids));
	return uv_ioctl(fd, &cmd);
}

TEST_F(info, handles)
{
	struct list list;
	struct uv_cmd cmd;
	struct uv_cq cq;
	__u32 pd[10];
	int i;

	ASSERT_EQ(0, info(self->fd, UVERBS_OBJECT_PD, &list));
	EXPECT_EQ(0, list.total);
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, uv_pd_alloc(self->fd, UV_WRITE, &pd[i]));
		ASSERT_EQ(0, uv_cq_create(self->fd, 16, -1, 0, &cq));
	}
	ASSERT_EQ(0, info(self->fd, UVERBS_OBJECT_PD, &list));
	ASSERT_EQ(3, list.total);
	/* The newest first. */
	for (i = 0; i < 3; i++) {
		EXPECT_EQ(pd[2 - i], list.ids[i]);
	}
	EXPECT_EQ(0x55555555, list.ids[3]);
	ASSERT_EQ(0, uv_pd_destroy(self->fd, pd[1]));
	ASSERT_EQ(0, info(self->fd, UVERBS_OBJECT_PD, &list));
	ASSERT_EQ(2, list.total);
	EXPECT_EQ(pd[2], list.ids[0]);
	EXPECT_EQ(pd[0], list.ids[1]);
	/* As many as there is room for. */
	info_cmd(&cmd, UVERBS_OBJECT_PD, &list, 4);
	ASSERT_EQ(0, uv_ioctl(self->fd, &cmd));
	EXPECT_EQ(1, list.total);
	EXPECT_EQ(pd[2], list.ids[0]);
	EXPECT_EQ(0x55555555, list.ids[1]);
	/* Those of others are not seen. */
	i = uv_open();
	ASSERT_LE(0, i);
	ASSERT_EQ(0, info(i, UVERBS_OBJECT_PD, &list));
	EXPECT_EQ(0, list.total);
	close(i);
}

TEST_F(info, objects)
{
	const struct {
		__u64 object;
		int want;
	} cases[] = {
		{ UVERBS_OBJECT_DEVICE, 0 },
		{ UVERBS_OBJECT_PD, 0 },
		{ UVERBS_OBJECT_COMP_CHANNEL, 0 },
		{ UVERBS_OBJECT_CQ, 0 },
		{ UVERBS_OBJECT_QP, 0 },
		{ UVERBS_OBJECT_SRQ, 0 },
		{ UVERBS_OBJECT_AH, 0 },
		{ UVERBS_OBJECT_MR, 0 },
		{ UVERBS_OBJECT_MW, 0 },
		{ UVERBS_OBJECT_FLOW, -ENOENT },
		{ UVERBS_OBJECT_XRCD, -ENOENT },
		{ UVERBS_OBJECT_RWQ_IND_TBL, -ENOENT },
		{ UVERBS_OBJECT_WQ, -ENOENT },
		{ UVERBS_OBJECT_FLOW_ACTION, -ENOENT },
		{ UVERBS_OBJECT_DM, -ENOENT },
		{ UVERBS_OBJECT_COUNTERS, -ENOENT },
		{ 18, -ENOENT },	/* DMAH */
		{ 19, -ENOENT },	/* DMABUF */
		{ 20, -ENOENT },	/* COMP_CNTR */
		{ 21, -ENOENT },
		{ 0x1000, -ENOENT },
		{ 0xfffe, -ENOENT },
		{ 0xffff, -ENOMSG },
		{ 0x10000, -EINVAL },
		{ 1ULL << 32, -EINVAL },
		{ ~0ULL, -EINVAL },
	};
	struct list list;
	char name[32];
	size_t i;
	int ret;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		ret = info(self->fd, cases[i].object, &list);
		snprintf(name, sizeof(name), "object %#llx", cases[i].object);
		ABI_EXPECT(cases[i].want, ret, name);
		if (!ret)
			EXPECT_EQ(0, list.total);
	}
}

TEST_F(info, bad_input)
{
	struct list list;
	struct uv_cmd cmd;

	info_cmd(&cmd, UVERBS_OBJECT_PD, &list, 6);
	EXPECT_EQ(-EINVAL, uv_ioctl(self->fd, &cmd));
	info_cmd(&cmd, UVERBS_OBJECT_PD, &list, 0);
	EXPECT_EQ(-EINVAL, uv_ioctl(self->fd, &cmd));
	info_cmd(&cmd, UVERBS_OBJECT_PD, &list, 4);
	uv_drop(&cmd, UVERBS_ATTR_INFO_HANDLES_LIST);
	EXPECT_EQ(-EINVAL, uv_ioctl(self->fd, &cmd));
	info_cmd(&cmd, UVERBS_OBJECT_PD, &list, 4);
	uv_drop(&cmd, UVERBS_ATTR_INFO_OBJECT_ID);
	EXPECT_EQ(-EINVAL, uv_ioctl(self->fd, &cmd));
	/* It says that it may be left out, but it may not. */
	info_cmd(&cmd, UVERBS_OBJECT_PD, &list, 4);
	uv_drop(&cmd, UVERBS_ATTR_INFO_TOTAL_HANDLES);
	EXPECT_EQ(-ENOENT, uv_ioctl(self->fd, &cmd));
	info_cmd(&cmd, UVERBS_OBJECT_PD, &list, 4);
	uv_find(&cmd, UVERBS_ATTR_INFO_TOTAL_HANDLES)->data =
		uv_u64(UV_BAD_PTR);
	EXPECT_EQ(-EFAULT, uv_ioctl(self->fd, &cmd));
}

TEST_F(info, port_speed)
{
	struct uv_cmd cmd;
	__u64 speed;
	int fd;

	uv_init(&cmd, UVERBS_OBJECT_DEVICE, METHOD_QUERY_PORT_SPEED);
	uv_const(&cmd, 0, 1);
	uv_out(&cmd, 1, &speed, sizeof(speed));
	EXPECT_EQ(-EOPNOTSUPP, uv_ioctl(self->fd, &cmd));
	fd = uv_open();
	ASSERT_LE(0, fd);
	EXPECT_EQ(-EINVAL, uv_ioctl(fd, &cmd));
	close(fd);
	uv_drop(&cmd, 1);
	EXPECT_EQ(-EINVAL, uv_ioctl(self->fd, &cmd));
}

TEST_F(info, comp_cntr_caps)
{
	__u32 counters, ops;
	struct uv_cmd cmd;
	__u64 value;
	int fd;

	uv_init(&cmd, UVERBS_OBJECT_DEVICE, METHOD_QUERY_COMP_CNTR_CAPS);
	EXPECT_EQ(-EOPNOTSUPP, uv_ioctl(self->fd, &cmd));
	uv_out(&cmd, 0, &counters, sizeof(counters));
	uv_out(&cmd, 1, &value, sizeof(value));
	uv_out(&cmd, 2, &ops, sizeof(ops));
	EXPECT_EQ(-EOPNOTSUPP, uv_ioctl(self->fd, &cmd));
	fd = uv_open();
	ASSERT_LE(0, fd);
	EXPECT_EQ(-EINVAL, uv_ioctl(fd, &cmd));
	close(fd);
}

/* What rxe has no functions for is as if nobody had ever thought of it. */
TEST_F(info, methods_that_are_none)
{
	const struct {
		__u16 object, methods;
	} none[] = {
		{ UVERBS_OBJECT_FLOW, 1 },	{ UVERBS_OBJECT_XRCD, 1 },
		{ UVERBS_OBJECT_RWQ_IND_TBL, 1 }, { UVERBS_OBJECT_WQ, 2 },
		{ UVERBS_OBJECT_FLOW_ACTION, 3 }, { UVERBS_OBJECT_DM, 2 },
		{ UVERBS_OBJECT_COUNTERS, 3 },	{ 18, 2 }, { 19, 1 }, { 20, 4 },
	};
	struct uv_cmd cmd;
	size_t i;
	__u16 m;

	for (i = 0; i < ARRAY_SIZE(none); i++) {
		for (m = 0; m < none[i].methods; m++) {
			uv_init(&cmd, none[i].object, m);
			EXPECT_EQ(-EPROTONOSUPPORT, uv_ioctl(self->fd, &cmd))
			{
				TH_LOG("object %u method %u", none[i].object,
				       m);
			}
		}
	}
}

TEST_F(info, commands_that_are_none)
{
	const __u32 none[] = {
		IB_USER_VERBS_CMD_OPEN_XRCD,
		IB_USER_VERBS_CMD_CLOSE_XRCD,
		IB_USER_VERBS_CMD_OPEN_QP,
		IB_USER_VERBS_CMD_BIND_MW,
		IB_USER_VERBS_CMD_REG_SMR,
		IB_USER_VERBS_CMD_QUERY_MR,
		IB_USER_VERBS_CMD_MODIFY_AH,
		IB_USER_VERBS_CMD_QUERY_AH,
		IB_USER_VERBS_CMD_POST_SRQ_RECV,
		UV_EX(IB_USER_VERBS_EX_CMD_CREATE_FLOW),
		UV_EX(IB_USER_VERBS_EX_CMD_DESTROY_FLOW),
		UV_EX(IB_USER_VERBS_EX_CMD_CREATE_WQ),
		UV_EX(IB_USER_VERBS_EX_CMD_MODIFY_WQ),
		UV_EX(IB_USER_VERBS_EX_CMD_DESTROY_WQ),
		UV_EX(IB_USER_VERBS_EX_CMD_CREATE_RWQ_IND_TBL),
		UV_EX(IB_USER_VERBS_EX_CMD_DESTROY_RWQ_IND_TBL),
	};
	__u64 req[32] = {}, resp[32];
	struct uv_call call = {
		.req = req, .req_len = sizeof(req),
		.resp = resp, .resp_len = sizeof(resp),
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(none); i++) {
		call.command = none[i];
		EXPECT_EQ(-EOPNOTSUPP, uv_call(self->fd, UV_WRITE, &call))
		{
			TH_LOG("command %#x by write", none[i]);
		}
		EXPECT_EQ(-EOPNOTSUPP, uv_call(self->fd, UV_INVOKE, &call))
		{
			TH_LOG("command %#x by ioctl", none[i]);
		}
	}
}

TEST_HARNESS_MAIN
