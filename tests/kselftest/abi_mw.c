// SPDX-License-Identifier: GPL-2.0
/* Memory windows. */
#include "abi.h"

FIXTURE(mw)
{
	struct abi abi;
	struct uv_res with_pd;
	int fd;
	__u32 pd;
};

FIXTURE_VARIANT(mw)
{
	enum uv_form form;
};

FIXTURE_VARIANT_ADD(mw, write)
{
	.form = UV_WRITE,
};

FIXTURE_VARIANT_ADD(mw, invoke)
{
	.form = UV_INVOKE,
};

FIXTURE_SETUP(mw)
{
	abi_start(_metadata, &self->abi);
	self->fd = self->abi.fd;
	ASSERT_EQ(0, uv_pd_alloc(self->fd, UV_WRITE, &self->pd));
	ASSERT_EQ(0, uv_res_get(&self->with_pd));
}

FIXTURE_TEARDOWN(mw)
{
	abi_end(_metadata, &self->abi);
}

struct mw {
	__u32 handle, rkey;
};

static int alloc(int fd, enum uv_form form, __u32 pd, __u8 type, struct mw *mw)
{
	struct ib_uverbs_alloc_mw req = { .pd_handle = pd, .mw_type = type };
	struct ib_uverbs_alloc_mw_resp resp = {};
	struct uv_call call = {
		.command = IB_USER_VERBS_CMD_ALLOC_MW,
		.req = &req, .req_len = sizeof(req),
		.resp = &resp, .resp_len = sizeof(resp),
	};
	int ret = uv_call(fd, form, &call);

	mw->handle = resp.mw_handle;
	mw->rkey = resp.rkey;
	return ret;
}

static int dealloc(int fd, enum uv_form form, __u32 mw)
{
	struct ib_uverbs_dealloc_mw req = { .mw_handle = mw };
	struct uv_call call = {
		.command = IB_USER_VERBS_CMD_DEALLOC_MW,
		.req = &req, .req_len = sizeof(req),
	};

	return uv_call(fd, form, &call);
}

static int destroy(int fd, __u64 mw)
{
	return uv_destroy_resp(fd, UVERBS_OBJECT_MW, UVERBS_METHOD_MW_DESTROY,
			       mw, NULL, 0);
}

TEST_F(mw, alloc_and_dealloc)
{
	struct mw one, two;

	ASSERT_EQ(0, alloc(self->fd, variant->form, self->pd, 1, &one));
	ASSERT_EQ(0, alloc(self->fd, variant->form, self->pd, 2, &two));
	EXPECT_NE(one.handle, two.handle);
	EXPECT_NE(one.rkey, two.rkey);
	EXPECT_NE(0, one.rkey);
	ASSERT_EQ(0, dealloc(self->fd, variant->form, one.handle));
	EXPECT_EQ(-ENOENT, dealloc(self->fd, variant->form, one.handle));
	ASSERT_EQ(0, destroy(self->fd, two.handle));
	EXPECT_EQ(-ENOENT, destroy(self->fd, two.handle));
	ASSERT_EQ(0, uv_pd_destroy(self->fd, self->pd));
	abi_same(_metadata, &self->abi.base, "all gone");
}

TEST_F(mw, pd_is_busy)
{
	struct mw mw;

	ASSERT_EQ(0, alloc(self->fd, variant->form, self->pd, 1, &mw));
	EXPECT_EQ(-EBUSY, uv_pd_destroy(self->fd, self->pd));
	EXPECT_EQ(0, dealloc(self->fd, variant->form, mw.handle));
	EXPECT_EQ(0, uv_pd_destroy(self->fd, self->pd));
}

TEST_F(mw, types_that_are_none)
{
	const __u8 bad[] = { 0, 3, 255 };
	struct mw mw;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		EXPECT_EQ(-EINVAL, alloc(self->fd, variant->form, self->pd,
					 bad[i], &mw));
	}
	/* The PD comes first. */
	EXPECT_EQ(-ENOENT, alloc(self->fd, variant->form, ABI_NO_HANDLE, 0,
				 &mw));
	EXPECT_EQ(0, uv_pd_destroy(self->fd, self->pd));
}

TEST_F(mw, handles_of_other_types)
{
	struct uv_cq cq;
	struct mw mw;

	ASSERT_EQ(0, uv_cq_create(self->fd, 16, -1, 0, &cq));
	ASSERT_EQ(0, alloc(self->fd, variant->form, self->pd, 1, &mw));
	EXPECT_EQ(-EINVAL, alloc(self->fd, variant->form, cq.handle, 1, &mw));
	EXPECT_EQ(-EINVAL, dealloc(self->fd, variant->form, self->pd));
	EXPECT_EQ(-EINVAL, destroy(self->fd, self->pd));
	EXPECT_EQ(-EINVAL, destroy(self->fd, 1ULL << 63));
	EXPECT_EQ(-ENOENT, dealloc(self->fd, variant->form, ABI_NO_HANDLE));
}

TEST_F(mw, response_to_unmapped_memory)
{
	struct ib_uverbs_alloc_mw req = { .pd_handle = self->pd, .mw_type = 1 };
	struct uv_call call = {
		.command = IB_USER_VERBS_CMD_ALLOC_MW,
		.req = &req, .req_len = sizeof(req),
		.resp = UV_BAD_PTR,
		.resp_len = sizeof(struct ib_uverbs_alloc_mw_resp),
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
	/* No window is left in the PD. */
	EXPECT_EQ(0, uv_pd_destroy(self->fd, self->pd));
}

TEST_F(mw, short_input)
{
	struct ib_uverbs_alloc_mw req = { .pd_handle = self->pd, .mw_type = 1 };
	struct ib_uverbs_alloc_mw_resp resp;
	struct uv_call call = {
		.command = IB_USER_VERBS_CMD_ALLOC_MW,
		.req = &req, .req_len = sizeof(req) - 4,
		.resp = &resp, .resp_len = sizeof(resp),
	};

	EXPECT_EQ(-ENOSPC, uv_call(self->fd, variant->form, &call));
	call.req_len = sizeof(req);
	call.resp_len = 4;
	EXPECT_EQ(-ENOSPC, uv_call(self->fd, variant->form, &call));
	EXPECT_EQ(0, uv_pd_destroy(self->fd, self->pd));
}

/* Windows and regions of a file that is closed go in the right order. */
TEST_F(mw, close)
{
	struct mw mw;
	int i;

	for (i = 0; i < 20; i++) {
		ASSERT_EQ(0, alloc(self->fd, variant->form, self->pd,
				   1 + i % 2, &mw));
	}
}

TEST_HARNESS_MAIN
