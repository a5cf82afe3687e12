// SPDX-License-Identifier: GPL-2.0
/* Protection domains: the plainest of objects, so handles are tried here. */
#include "abi.h"

FIXTURE(pd)
{
	struct abi abi;
	int fd;
};

FIXTURE_VARIANT(pd)
{
	enum uv_form form;
};

FIXTURE_VARIANT_ADD(pd, write)
{
	.form = UV_WRITE,
};

FIXTURE_VARIANT_ADD(pd, invoke)
{
	.form = UV_INVOKE,
};

FIXTURE_SETUP(pd)
{
	abi_start(_metadata, &self->abi);
	self->fd = self->abi.fd;
}

FIXTURE_TEARDOWN(pd)
{
	abi_end(_metadata, &self->abi);
}

static int dealloc(int fd, enum uv_form form, __u32 pd)
{
	struct ib_uverbs_dealloc_pd req = { .pd_handle = pd };
	struct uv_call call = {
		.command = IB_USER_VERBS_CMD_DEALLOC_PD,
		.req = &req, .req_len = sizeof(req),
	};

	return uv_call(fd, form, &call);
}

TEST_F(pd, alloc_and_dealloc)
{
	struct uv_res want = self->abi.base;
	__u32 pd = ~0U;

	ASSERT_EQ(0, uv_pd_alloc(self->fd, variant->form, &pd));
	want.pd++;
	abi_same(_metadata, &want, "allocated");
	ASSERT_EQ(0, dealloc(self->fd, variant->form, pd));
	abi_same(_metadata, &self->abi.base, "deallocated");
	EXPECT_EQ(-ENOENT, dealloc(self->fd, variant->form, pd));
}

TEST_F(pd, destroy_by_ioctl)
{
	__u32 pd;

	ASSERT_EQ(0, uv_pd_alloc(self->fd, variant->form, &pd));
	ASSERT_EQ(0, uv_pd_destroy(self->fd, pd));
	abi_same(_metadata, &self->abi.base, "destroyed");
	EXPECT_EQ(-ENOENT, uv_pd_destroy(self->fd, pd));
}

TEST_F(pd, many)
{
	struct uv_res want = self->abi.base;
	__u32 pds[200];
	int i, j;

	for (i = 0; i < 200; i++) {
		ASSERT_EQ(0, uv_pd_alloc(self->fd, variant->form, &pds[i]));
		for (j = 0; j < i; j++) {
			ASSERT_NE(pds[j], pds[i]);
		}
	}
	want.pd += 200;
	abi_same(_metadata, &want, "200 PDs");
	/* From both ends, so that no order is a special one. */
	for (i = 0; i < 100; i++) {
		ASSERT_EQ(0, dealloc(self->fd, variant->form, pds[i]));
		ASSERT_EQ(0, dealloc(self->fd, variant->form, pds[199 - i]));
	}
	abi_same(_metadata, &self->abi.base, "no PD");
}

TEST_F(pd, handles_that_are_none)
{
	const __u32 bad[] = { ABI_NO_HANDLE, 0x80000000, ~0U };
	struct uv_res want;
	size_t i;
	__u32 pd;

	ASSERT_EQ(0, uv_pd_alloc(self->fd, variant->form, &pd));
	ASSERT_EQ(0, uv_res_get(&want));
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		EXPECT_EQ(-ENOENT, dealloc(self->fd, variant->form, bad[i]));
	}
	abi_same(_metadata, &want, "bad handles");
}

/* The ioctl form has room for handles that are no handles. */
TEST_F(pd, destroy_by_ioctl_bad_input)
{
	const struct {
		const char *name;
		__u64 handle;	/* added to that of a PD */
		__u16 len, reserved;
		int want;
	} cases[] = {
		{ "no such", ABI_NO_HANDLE, 0, 0, -ENOENT },
		{ "64 bits", 1ULL << 32, 0, 0, -ENOENT },
		{ "negative", 1ULL << 63, 0, 0, -EINVAL },
		{ "length 4", 0, 4, 0, -EINVAL },
		{ "reserved", 0, 0, 1, -EINVAL },
	};
	struct ib_uverbs_attr *attr;
	struct uv_res want;
	struct uv_cmd cmd;
	size_t i;
	__u32 pd;
	int ret;

	ASSERT_EQ(0, uv_pd_alloc(self->fd, variant->form, &pd));
	ASSERT_EQ(0, uv_res_get(&want));
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		uv_init(&cmd, UVERBS_OBJECT_PD, UVERBS_METHOD_PD_DESTROY);
		attr = uv_idr(&cmd, UVERBS_ATTR_DESTROY_PD_HANDLE,
			      pd + cases[i].handle);
		attr->len = cases[i].len;
		attr->attr_data.reserved = cases[i].reserved;
		ret = uv_ioctl(self->fd, &cmd);
		ABI_EXPECT(cases[i].want, ret, cases[i].name);
		abi_same(_metadata, &want, cases[i].name);
	}
	EXPECT_EQ(0, uv_pd_destroy(self->fd, pd));
}

TEST_F(pd, handle_of_another_type)
{
	struct uv_cq cq;
	__u32 pd;

	ASSERT_EQ(0, uv_pd_alloc(self->fd, variant->form, &pd));
	ASSERT_EQ(0, uv_cq_create(self->fd, 16, -1, 0, &cq));
	EXPECT_NE(pd, cq.handle);
	EXPECT_EQ(-EINVAL, dealloc(self->fd, variant->form, cq.handle));
	EXPECT_EQ(-EINVAL, uv_pd_destroy(self->fd, cq.handle));
	EXPECT_EQ(-EINVAL, uv_cq_destroy(self->fd, pd, NULL));
	EXPECT_EQ(-EINVAL, uv_mr_destroy(self->fd, pd));
	EXPECT_EQ(-EINVAL, uv_qp_destroy(self->fd, pd, NULL));
	EXPECT_EQ(-EINVAL, uv_ah_destroy(self->fd, pd));
	EXPECT_EQ(0, uv_cq_destroy(self->fd, cq.handle, NULL));
	EXPECT_EQ(0, dealloc(self->fd, variant->form, pd));
}

TEST_F(pd, busy)
{
	static char buf[4096] __attribute__((aligned(4096)));
	struct uv_res want;
	struct uv_mr mr;
	__u32 pd;

	ASSERT_EQ(0, uv_pd_alloc(self->fd, variant->form, &pd));
	ASSERT_EQ(0, uv_mr_reg(self->fd, pd, buf, sizeof(buf), 0, &mr));
	ASSERT_EQ(0, uv_res_get(&want));
	EXPECT_EQ(-EBUSY, dealloc(self->fd, variant->form, pd));
	EXPECT_EQ(-EBUSY, uv_pd_destroy(self->fd, pd));
	abi_same(_metadata, &want, "busy");
	/* And it is as good as before. */
	EXPECT_EQ(0, uv_mr_destroy(self->fd, mr.handle));
	EXPECT_EQ(0, dealloc(self->fd, variant->form, pd));
}

/* The PD must not stay when its handle cannot be told. */
TEST_F(pd, response_to_unmapped_memory)
{
	struct ib_uverbs_alloc_pd req = {};
	struct uv_call call = {
		.command = IB_USER_VERBS_CMD_ALLOC_PD,
		.req = &req, .req_len = sizeof(req),
		.resp = UV_BAD_PTR,
		.resp_len = sizeof(struct ib_uverbs_alloc_pd_resp),
	};
	struct uv_write w;
	int ret;

	if (variant->form == UV_INVOKE) {
		ret = uv_call(self->fd, UV_INVOKE, &call);
	} else {
		uv_wprep(&w, call.command, &req, sizeof(req), UV_BAD_PTR,
			 call.resp_len);
		ret = uv_wsend(self->fd, &w);
	}
	EXPECT_EQ(-EFAULT, ret);
	abi_same(_metadata, &self->abi.base, "unmapped response");
}

TEST_F(pd, short_input)
{
	struct ib_uverbs_alloc_pd req = {};
	struct ib_uverbs_alloc_pd_resp resp;
	struct ib_uverbs_dealloc_pd del = {};
	struct uv_call alloc = {
		.command = IB_USER_VERBS_CMD_ALLOC_PD,
		.req = &req, .req_len = sizeof(req) - 4,
		.resp = &resp, .resp_len = sizeof(resp),
	};
	struct uv_call no_resp = {
		.command = IB_USER_VERBS_CMD_ALLOC_PD,
		.req = &req, .req_len = sizeof(req),
	};
	struct uv_call no_req = {
		.command = IB_USER_VERBS_CMD_DEALLOC_PD,
		.req = &del, .req_len = 0,
	};

	EXPECT_EQ(-ENOSPC, uv_call(self->fd, variant->form, &alloc));
	EXPECT_EQ(-ENOSPC, uv_call(self->fd, variant->form, &no_resp));
	EXPECT_EQ(-ENOSPC, uv_call(self->fd, variant->form, &no_req));
	abi_same(_metadata, &self->abi.base, "short input");
}

TEST_HARNESS_MAIN
