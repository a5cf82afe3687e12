// SPDX-License-Identifier: GPL-2.0
/* Address handles. */
#include "abi.h"

FIXTURE(ah)
{
	struct abi abi;
	struct ib_uverbs_create_ah req;
	int fd;
	__u32 pd;
};

FIXTURE_VARIANT(ah)
{
	enum uv_form form;
};

FIXTURE_VARIANT_ADD(ah, write)
{
	.form = UV_WRITE,
};

FIXTURE_VARIANT_ADD(ah, invoke)
{
	.form = UV_INVOKE,
};

FIXTURE_SETUP(ah)
{
	abi_start(_metadata, &self->abi);
	self->fd = self->abi.fd;
	ASSERT_EQ(0, uv_pd_alloc(self->fd, UV_WRITE, &self->pd));
	self->req.pd_handle = self->pd;
	ASSERT_EQ(0, uv_ah_attr(self->fd, &self->req.attr));
}

FIXTURE_TEARDOWN(ah)
{
	/* No count tells of AHs, but a PD with one is busy. */
	EXPECT_EQ(0, uv_pd_destroy(self->fd, self->pd));
	abi_end(_metadata, &self->abi);
}

static int destroy(int fd, enum uv_form form, __u32 ah)
{
	struct ib_uverbs_destroy_ah req = { .ah_handle = ah };
	struct uv_call call = {
		.command = IB_USER_VERBS_CMD_DESTROY_AH,
		.req = &req, .req_len = sizeof(req),
	};

	return uv_call(fd, form, &call);
}

TEST_F(ah, create_and_destroy)
{
	struct uv_ah a = {}, b = {};

	ASSERT_EQ(0, uv_ah_call(self->fd, variant->form, &self->req, &a));
	ASSERT_EQ(0, uv_ah_call(self->fd, variant->form, &self->req, &b));
	EXPECT_NE(a.handle, b.handle);
	EXPECT_NE(0, a.rxe.ah_num);
	EXPECT_NE(a.rxe.ah_num, b.rxe.ah_num);
	EXPECT_EQ(-EBUSY, uv_pd_destroy(self->fd, self->pd));
	EXPECT_EQ(0, destroy(self->fd, variant->form, a.handle));
	EXPECT_EQ(-ENOENT, destroy(self->fd, variant->form, a.handle));
	EXPECT_EQ(-EBUSY, uv_pd_destroy(self->fd, self->pd));
	EXPECT_EQ(0, uv_ah_destroy(self->fd, b.handle));
	EXPECT_EQ(-ENOENT, uv_ah_destroy(self->fd, b.handle));
}

static void port_0(struct ib_uverbs_create_ah *req)
{
	req->attr.port_num = 0;
}

static void port_2(struct ib_uverbs_create_ah *req)
{
	req->attr.port_num = 2;
}

static void no_pd(struct ib_uverbs_create_ah *req)
{
	req->pd_handle = ABI_NO_HANDLE;
}

static void local(struct ib_uverbs_create_ah *req)
{
	req->attr.is_global = 0;
}

static void empty_gid(struct ib_uverbs_create_ah *req)
{
	req->attr.grh.sgid_index = 255;
}

static const struct {
	const char *name;
	void (*change)(struct ib_uverbs_create_ah *req);
	int want;
} cases[] = {
	{ "port 0", port_0, -EINVAL },
	{ "port 2", port_2, -EINVAL },
	{ "no such PD", no_pd, -ENOENT },
	{ "no GID", local, -EINVAL },
	{ "no such GID of ours", empty_gid, -ENODATA },
};

TEST_F(ah, bad_input)
{
	struct ib_uverbs_create_ah req;
	struct uv_ah ah;
	size_t i;
	int ret;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		memcpy(&req, &self->req, sizeof(req));
		cases[i].change(&req);
		ret = uv_ah_call(self->fd, variant->form, &req, &ah);
		ABI_EXPECT(cases[i].want, ret, cases[i].name);
	}
}

TEST_F(ah, handles_of_other_types)
{
	struct ib_uverbs_create_ah req;
	struct uv_ah ah, none;
	struct uv_cq cq;

	ASSERT_EQ(0, uv_cq_create(self->fd, 16, -1, 0, &cq));
	memcpy(&req, &self->req, sizeof(req));
	req.pd_handle = cq.handle;
	EXPECT_EQ(-EINVAL, uv_ah_call(self->fd, variant->form, &req, &none));
	ASSERT_EQ(0, uv_ah_call(self->fd, variant->form, &self->req, &ah));
	req.pd_handle = ah.handle;
	EXPECT_EQ(-EINVAL, uv_ah_call(self->fd, variant->form, &req, &none));
	EXPECT_EQ(-EINVAL, destroy(self->fd, variant->form, cq.handle));
	EXPECT_EQ(-EINVAL, destroy(self->fd, variant->form, self->pd));
	EXPECT_EQ(-ENOENT, destroy(self->fd, variant->form, ABI_NO_HANDLE));
	EXPECT_EQ(-EINVAL, uv_cq_destroy(self->fd, ah.handle, NULL));
	EXPECT_EQ(0, destroy(self->fd, variant->form, ah.handle));
}

static int create(int fd, enum uv_form form,
		  const struct ib_uverbs_create_ah *req, size_t req_len,
		  void *resp, size_t resp_len)
{
	struct uv_call call = {
		.command = IB_USER_VERBS_CMD_CREATE_AH,
		.req = req, .req_len = req_len,
		.resp = resp, .resp_len = resp_len,
	};
	struct uv_write w;

	if (form == UV_INVOKE)
		return uv_call(fd, UV_INVOKE, &call);
	uv_wprep(&w, call.command, req, req_len, resp, resp_len);
	return uv_wsend(fd, &w);
}

/* An rxe provider of old asks for no number. */
TEST_F(ah, without_driver_response)
{
	struct ib_uverbs_create_ah_resp resp = {};

	ASSERT_EQ(0, create(self->fd, variant->form, &self->req,
			    sizeof(self->req), &resp, sizeof(resp)));
	EXPECT_EQ(0, destroy(self->fd, variant->form, resp.ah_handle));
}

TEST_F(ah, bad_sizes_and_pointers)
{
	struct ib_uverbs_create_ah_resp resp;
	const size_t len = sizeof(self->req);
	const int fd = self->fd;

	EXPECT_EQ(-ENOSPC, create(fd, variant->form, &self->req, len - 4,
				  &resp, sizeof(resp)));
	EXPECT_EQ(-ENOSPC, create(fd, variant->form, &self->req, len, &resp,
				  0));
	EXPECT_EQ(-EFAULT, create(fd, variant->form, &self->req, len,
				  UV_BAD_PTR, sizeof(resp)));
}

TEST_F(ah, many)
{
	struct uv_ah ah[100];
	int i;

	for (i = 0; i < 100; i++) {
		ASSERT_EQ(0, uv_ah_call(self->fd, variant->form, &self->req,
					&ah[i]));
	}
	for (i = 99; i >= 0; i--) {
		ASSERT_EQ(0, destroy(self->fd, variant->form, ah[i].handle));
	}
}

TEST_HARNESS_MAIN
