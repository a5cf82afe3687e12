// SPDX-License-Identifier: GPL-2.0
/* The attributes of the ioctl method that makes a QP. */
#include "abi_qp_create.h"

FIXTURE(qp_method)
{
	struct abi abi;
	struct uv_res base;
	struct uv_cq cq;
	struct qp_want want;
	int fd;
	__u32 pd;
};

FIXTURE_SETUP(qp_method)
{
	abi_start(_metadata, &self->abi);
	self->fd = self->abi.fd;
	ASSERT_EQ(0, uv_pd_alloc(self->fd, UV_WRITE, &self->pd));
	ASSERT_EQ(0, uv_cq_create(self->fd, 16, -1, 1, &self->cq));
	ASSERT_EQ(0, uv_res_get(&self->base));
	self->want = (struct qp_want){
		.cap = { 8, 8, 2, 2, 64 },
		.type = IB_UVERBS_QPT_RC,
		.pd = self->pd,
		.send_cq = self->cq.handle,
		.recv_cq = self->cq.handle,
	};
}

FIXTURE_TEARDOWN(qp_method)
{
	abi_end(_metadata, &self->abi);
}

static void no_handle(struct uv_cmd *cmd)
{
	uv_drop(cmd, UVERBS_ATTR_CREATE_QP_HANDLE);
}

static void no_pd(struct uv_cmd *cmd)
{
	uv_drop(cmd, UVERBS_ATTR_CREATE_QP_PD_HANDLE);
}

static void no_send_cq(struct uv_cmd *cmd)
{
	uv_drop(cmd, UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE);
}

static void no_recv_cq(struct uv_cmd *cmd)
{
	uv_drop(cmd, UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE);
}

static void no_user_handle(struct uv_cmd *cmd)
{
	uv_drop(cmd, UVERBS_ATTR_CREATE_QP_USER_HANDLE);
}

static void no_cap(struct uv_cmd *cmd)
{
	uv_drop(cmd, UVERBS_ATTR_CREATE_QP_CAP);
}

static void no_type(struct uv_cmd *cmd)
{
	uv_drop(cmd, UVERBS_ATTR_CREATE_QP_TYPE);
}

static void no_resp_cap(struct uv_cmd *cmd)
{
	uv_drop(cmd, UVERBS_ATTR_CREATE_QP_RESP_CAP);
}

static void no_resp_qpn(struct uv_cmd *cmd)
{
	uv_drop(cmd, UVERBS_ATTR_CREATE_QP_RESP_QP_NUM);
}

static void no_uhw(struct uv_cmd *cmd)
{
	uv_drop(cmd, UVERBS_ATTR_UHW_OUT);
}

static void short_uhw(struct uv_cmd *cmd)
{
	uv_find(cmd, UVERBS_ATTR_UHW_OUT)->len--;
}

/* rxe wants to hear nothing. */
static void uhw_in(struct uv_cmd *cmd)
{
	uv_const(cmd, UVERBS_ATTR_UHW_IN, 0);
}

static void short_cap(struct uv_cmd *cmd)
{
	uv_find(cmd, UVERBS_ATTR_CREATE_QP_CAP)->len -= 4;
}

static void cap_unmapped(struct uv_cmd *cmd)
{
	uv_find(cmd, UVERBS_ATTR_CREATE_QP_CAP)->data = uv_u64(UV_BAD_PTR);
}

static struct {
	struct ib_uverbs_qp_cap cap;
	__u32 more[3];
} long_cap;

static void cap_with_zeros(struct uv_cmd *cmd)
{
	struct ib_uverbs_attr *attr = uv_find(cmd, UVERBS_ATTR_CREATE_QP_CAP);

	memset(&long_cap, 0, sizeof(long_cap));
	memcpy(&long_cap, (void *)(uintptr_t)attr->data, sizeof(long_cap.cap));
	attr->data = uv_u64(&long_cap);
	attr->len = sizeof(long_cap);
}

static void cap_with_tail(struct uv_cmd *cmd)
{
	cap_with_zeros(cmd);
	long_cap.more[2] = 1 << 24;
}

/* The tail is looked at, and not there. */
static void cap_tail_unmapped(struct uv_cmd *cmd)
{
	struct ib_uverbs_attr *attr = uv_find(cmd, UVERBS_ATTR_CREATE_QP_CAP);

	attr->data = uv_u64(UV_BAD_PTR);
	attr->len = sizeof(long_cap);
}

static void type_beyond_its_size(struct uv_cmd *cmd)
{
	uv_find(cmd, UVERBS_ATTR_CREATE_QP_TYPE)->data |= 1ULL << 32;
}

static void resp_unmapped(struct uv_cmd *cmd)
{
	uv_find(cmd, UVERBS_ATTR_CREATE_QP_RESP_QP_NUM)->data =
		uv_u64(UV_BAD_PTR);
}

static void resp_cap_unmapped(struct uv_cmd *cmd)
{
	uv_find(cmd, UVERBS_ATTR_CREATE_QP_RESP_CAP)->data =
		uv_u64(UV_BAD_PTR);
}

static void uhw_unmapped(struct uv_cmd *cmd)
{
	uv_find(cmd, UVERBS_ATTR_UHW_OUT)->data = uv_u64(UV_BAD_PTR);
}

static void pd_in_64_bits(struct uv_cmd *cmd)
{
	uv_find(cmd, UVERBS_ATTR_CREATE_QP_PD_HANDLE)->data |= 1ULL << 32;
}

static void pd_negative(struct uv_cmd *cmd)
{
	uv_find(cmd, UVERBS_ATTR_CREATE_QP_PD_HANDLE)->data = ~0ULL;
}

static void pd_with_length(struct uv_cmd *cmd)
{
	uv_find(cmd, UVERBS_ATTR_CREATE_QP_PD_HANDLE)->len = 4;
}

/* Objects that rxe has not. */
static void xrcd(struct uv_cmd *cmd)
{
	uv_idr(cmd, UVERBS_ATTR_CREATE_QP_XRCD_HANDLE, ABI_NO_HANDLE);
}

static void ind_table(struct uv_cmd *cmd)
{
	uv_idr(cmd, UVERBS_ATTR_CREATE_QP_IND_TABLE_HANDLE, ABI_NO_HANDLE);
}

static void event_fd(struct uv_cmd *cmd)
{
	uv_fd(cmd, UVERBS_ATTR_CREATE_QP_EVENT_FD, -1);
}

static void flags_4(struct uv_cmd *cmd)
{
	uv_u32(cmd, UVERBS_ATTR_CREATE_QP_FLAGS, 0);
}

static void flags_unknown(struct uv_cmd *cmd)
{
	uv_const(cmd, UVERBS_ATTR_CREATE_QP_FLAGS, 1ULL << 40);
}

static const struct {
	const char *name;
	void (*change)(struct uv_cmd *cmd);
	int want;
} cases[] = {
	{ "no handle", no_handle, -EINVAL },
	{ "no PD", no_pd, -ENOENT },
	{ "no send CQ", no_send_cq, -ENOENT },
	{ "no recv CQ", no_recv_cq, -ENOENT },
	{ "no user handle", no_user_handle, -EINVAL },
	{ "no capabilities", no_cap, -EINVAL },
	{ "no type", no_type, -EINVAL },
	{ "no place for capabilities", no_resp_cap, -EINVAL },
	{ "no place for the number", no_resp_qpn, -EINVAL },
	{ "no driver response", no_uhw, -EINVAL },
	{ "short driver response", short_uhw, -EINVAL },
	{ "driver request", uhw_in, -EINVAL },
	{ "short capabilities", short_cap, -EINVAL },
	{ "capabilities unmapped", cap_unmapped, -EFAULT },
	{ "longer by zeros", cap_with_zeros, 0 },
	{ "longer by something", cap_with_tail, -EOPNOTSUPP },
	{ "longer by nothing mapped", cap_tail_unmapped, -EOPNOTSUPP },
	{ "type beyond its size", type_beyond_its_size, -EINVAL },
	{ "number to unmapped memory", resp_unmapped, -EFAULT },
	{ "capabilities to unmapped", resp_cap_unmapped, -EFAULT },
	{ "driver response unmapped", uhw_unmapped, -EFAULT },
	{ "PD's handle in 64 bits", pd_in_64_bits, -ENOENT },
	{ "PD's handle -1", pd_negative, -EINVAL },
	{ "PD with a length", pd_with_length, -EINVAL },
	{ "an XRCD", xrcd, -EINVAL },
	{ "an indirection table", ind_table, -EINVAL },
	{ "event fd -1", event_fd, -EBADF },
	{ "flags of 4 bytes", flags_4, 0 },
	{ "unknown flags", flags_unknown, -EINVAL },
};

TEST_F(qp_method, attributes)
{
	struct ib_uverbs_qp_cap cap;
	struct uv_cmd cmd;
	struct uv_qp qp;
	size_t i;
	int ret;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		qp_method_cmd(&cmd, &self->want, &qp, &cap);
		cases[i].change(&cmd);
		ret = uv_ioctl(self->fd, &cmd);
		ABI_EXPECT(cases[i].want, ret, cases[i].name);
		if (!ret)
			uv_qp_destroy(self->fd, cmd.hdr.attrs[0].data, NULL);
		abi_same(_metadata, &self->base, cases[i].name);
	}
	EXPECT_EQ(0, uv_pd_destroy(self->fd, self->pd));
	EXPECT_EQ(0, uv_cq_destroy(self->fd, self->cq.handle, NULL));
}

TEST_HARNESS_MAIN
