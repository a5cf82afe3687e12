// SPDX-License-Identifier: GPL-2.0
/* Multicast groups of queue pairs. */
#include "abi.h"

FIXTURE(mcast)
{
	struct abi abi;
	struct uv_cq cq;
	struct uv_qp ud, rc;
	int fd;
	__u32 pd;
};

FIXTURE_VARIANT(mcast)
{
	enum uv_form form;
};

FIXTURE_VARIANT_ADD(mcast, write)
{
	.form = UV_WRITE,
};

FIXTURE_VARIANT_ADD(mcast, invoke)
{
	.form = UV_INVOKE,
};

FIXTURE_SETUP(mcast)
{
	abi_start(_metadata, &self->abi);
	self->fd = self->abi.fd;
	ASSERT_EQ(0, uv_pd_alloc(self->fd, UV_WRITE, &self->pd));
	ASSERT_EQ(0, uv_cq_create(self->fd, 16, -1, 0, &self->cq));
	ASSERT_EQ(0, uv_qp_create(self->fd, self->pd, self->cq.handle,
				  IB_UVERBS_QPT_UD, &self->ud));
	ASSERT_EQ(0, uv_qp_create(self->fd, self->pd, self->cq.handle,
				  IB_UVERBS_QPT_RC, &self->rc));
}

FIXTURE_TEARDOWN(mcast)
{
	abi_end(_metadata, &self->abi);
}

/* ff0e::ffff:224.0.1.N, an IPv4 group. */
static void group(__u8 *gid, int n)
{
	memset(gid, 0, 16);
	gid[0] = 0xff;
	gid[1] = 0x0e;
	gid[10] = 0xff;
	gid[11] = 0xff;
	gid[12] = 224;
	gid[14] = 1;
	gid[15] = n;
}

static int attach(int fd, enum uv_form form, __u32 qp, const __u8 *gid)
{
	struct ib_uverbs_attach_mcast req = { .qp_handle = qp };
	struct uv_call call = {
		.command = IB_USER_VERBS_CMD_ATTACH_MCAST,
		.req = &req, .req_len = sizeof(req),
	};

	memcpy(req.gid, gid, 16);
	return uv_call(fd, form, &call);
}

static int detach(int fd, enum uv_form form, __u32 qp, const __u8 *gid)
{
	struct ib_uverbs_detach_mcast req = { .qp_handle = qp };
	struct uv_call call = {
		.command = IB_USER_VERBS_CMD_DETACH_MCAST,
		.req = &req, .req_len = sizeof(req),
	};

	memcpy(req.gid, gid, 16);
	return uv_call(fd, form, &call);
}

TEST_F(mcast, attach_and_detach)
{
	const __u32 qp = self->ud.handle;
	__u8 one[16], two[16];

	group(one, 1);
	group(two, 2);
	EXPECT_EQ(-EINVAL, detach(self->fd, variant->form, qp, one));
	ASSERT_EQ(0, attach(self->fd, variant->form, qp, one));
	/* Once more is none more. */
	ASSERT_EQ(0, attach(self->fd, variant->form, qp, one));
	ASSERT_EQ(0, attach(self->fd, variant->form, qp, two));
	EXPECT_EQ(-EBUSY, uv_qp_destroy(self->fd, qp, NULL));
	ASSERT_EQ(0, detach(self->fd, variant->form, qp, one));
	EXPECT_EQ(-EINVAL, detach(self->fd, variant->form, qp, one));
	EXPECT_EQ(-EBUSY, uv_qp_destroy(self->fd, qp, NULL));
	ASSERT_EQ(0, detach(self->fd, variant->form, qp, two));
	EXPECT_EQ(0, uv_qp_destroy(self->fd, qp, NULL));
	EXPECT_EQ(-ENOENT, attach(self->fd, variant->form, qp, one));
	EXPECT_EQ(-ENOENT, detach(self->fd, variant->form, qp, one));
}

TEST_F(mcast, qps_of_one_group)
{
	struct uv_qp other;
	__u8 gid[16];

	group(gid, 3);
	ASSERT_EQ(0, uv_qp_create(self->fd, self->pd, self->cq.handle,
				  IB_UVERBS_QPT_UD, &other));
	ASSERT_EQ(0, attach(self->fd, variant->form, self->ud.handle, gid));
	ASSERT_EQ(0, attach(self->fd, variant->form, other.handle, gid));
	ASSERT_EQ(0, detach(self->fd, variant->form, self->ud.handle, gid));
	EXPECT_EQ(0, uv_qp_destroy(self->fd, self->ud.handle, NULL));
	EXPECT_EQ(-EBUSY, uv_qp_destroy(self->fd, other.handle, NULL));
	ASSERT_EQ(0, detach(self->fd, variant->form, other.handle, gid));
	EXPECT_EQ(0, uv_qp_destroy(self->fd, other.handle, NULL));
}

TEST_F(mcast, bad_input)
{
	__u8 gid[16], unicast[16] = { 0xfe, 0x80 };

	group(gid, 4);
	EXPECT_EQ(-EINVAL, attach(self->fd, variant->form, self->rc.handle,
				  gid));
	EXPECT_EQ(-EINVAL, attach(self->fd, variant->form, self->ud.handle,
				  unicast));
	EXPECT_EQ(-EINVAL, attach(self->fd, variant->form, self->pd, gid));
	EXPECT_EQ(-ENOENT, attach(self->fd, variant->form, ABI_NO_HANDLE,
				  gid));
	EXPECT_EQ(-EINVAL, detach(self->fd, variant->form, self->pd, gid));
	EXPECT_EQ(-ENOENT, detach(self->fd, variant->form, ABI_NO_HANDLE,
				  gid));
	EXPECT_EQ(0, uv_qp_destroy(self->fd, self->ud.handle, NULL));
	EXPECT_EQ(0, uv_qp_destroy(self->fd, self->rc.handle, NULL));
}

/* What is not detached goes with the file. */
TEST_F(mcast, close)
{
	__u8 gid[16];
	int i;

	for (i = 0; i < 8; i++) {
		group(gid, 10 + i);
		ASSERT_EQ(0, attach(self->fd, variant->form, self->ud.handle,
				    gid));
	}
}

TEST_HARNESS_MAIN
