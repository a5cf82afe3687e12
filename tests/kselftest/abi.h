/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the tests of the verbs ABI share.  They run on ib_uverbs and on
 * shverbs; the errnos are those of ib_uverbs of Linux 7.3 with rdma_rxe.
 */
#ifndef SHVERBS_TEST_ABI_H
#define SHVERBS_TEST_ABI_H

#include "kselftest_harness.h"

#include "uverbs.h"

/* A handle that nothing has: handles start low. */
#define ABI_NO_HANDLE 0x7ffffff0

/* A failed call must leave as many objects behind as there were before it. */
static inline void abi_same(struct __test_metadata *_metadata,
			    const struct uv_res *want, const char *what)
{
	struct uv_res now;

	ASSERT_EQ(0, uv_res_get(&now));
	EXPECT_TRUE(uv_res_same(&now, want))
	{
		TH_LOG("%s: pd %lu/%lu cq %lu/%lu qp %lu/%lu mr %lu/%lu ctx %lu/%lu",
		       what, now.pd, want->pd, now.cq, want->cq, now.qp,
		       want->qp, now.mr, want->mr, now.ctx, want->ctx);
	}
}

/* One line of a table: what the call answered, and what it should have. */
#define ABI_EXPECT(want, got, name)                                       \
	EXPECT_EQ(want, got)                                              \
	{                                                                 \
		TH_LOG("%s: want %s, got %s", name,                       \
		       (want) ? strerrorname_np(-(want)) : "success",     \
		       (got) < 0 ? strerrorname_np(-(got)) : "success");  \
	}

/* A file with a context, and the counts around it. */
struct abi {
	struct uv_ctx ctx;
	int fd;			/* ctx.fd, for short */
	struct uv_res idle;	/* before the context was made */
	struct uv_res base;	/* with it */
};

static inline void abi_start(struct __test_metadata *_metadata, struct abi *abi)
{
	ASSERT_EQ(0, uv_res_get(&abi->idle));
	ASSERT_EQ(0, uv_ctx_open(&abi->ctx));
	abi->fd = abi->ctx.fd;
	ASSERT_EQ(0, uv_res_get(&abi->base));
	ASSERT_EQ(abi->idle.ctx + 1, abi->base.ctx);
}

/* Closing the file takes everything away that the test made. */
static inline void abi_end(struct __test_metadata *_metadata, struct abi *abi)
{
	uv_ctx_close(&abi->ctx);
	EXPECT_TRUE(uv_res_settles(&abi->idle, 2000));
	EXPECT_EQ(0, uv_vmpin_kb());
}

/* For fixtures that are nothing but a context. */
#define ABI_FIXTURE(name)                                                  \
	FIXTURE(name)                                                      \
	{                                                                  \
		struct abi abi;                                            \
		int fd;                                                    \
	};                                                                 \
	FIXTURE_SETUP(name)                                                \
	{                                                                  \
		abi_start(_metadata, &self->abi);                          \
		self->fd = self->abi.fd;                                   \
	}                                                                  \
	FIXTURE_TEARDOWN(name)                                             \
	{                                                                  \
		abi_end(_metadata, &self->abi);                            \
	}

#endif
