// SPDX-License-Identifier: GPL-2.0
/* RLIMIT_MEMLOCK, and whose pinned_vm a registration is charged to. */
#include <sys/resource.h>

#include "abi.h"

#define PAGE 4096UL
#define PAGES 16
#define KB (PAGES * 4)

/* The file is opened as nobody: write(2) wants the opener's credentials. */
FIXTURE(memlock)
{
	struct uv_res idle;
	struct uv_ctx ctx;
	char *buf;
	int fd;
	__u32 pd;
};

FIXTURE_SETUP(memlock)
{
	if (geteuid())
		SKIP(return, "needs root");
	ASSERT_EQ(0, uv_res_get(&self->idle));
	ASSERT_EQ(0, seteuid(65534));
	ASSERT_EQ(0, uv_ctx_open(&self->ctx));
	self->fd = self->ctx.fd;
	ASSERT_EQ(0, uv_pd_alloc(self->fd, UV_WRITE, &self->pd));
	self->buf = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->buf);
}

FIXTURE_TEARDOWN(memlock)
{
	uv_ctx_close(&self->ctx);
	ASSERT_EQ(0, seteuid(0));
	EXPECT_TRUE(uv_res_settles(&self->idle, 2000));
	EXPECT_EQ(0, uv_vmpin_kb());
}

static int limit(unsigned long bytes)
{
	struct rlimit lim;

	if (getrlimit(RLIMIT_MEMLOCK, &lim))
		return -errno;
	lim.rlim_cur = bytes;
	return setrlimit(RLIMIT_MEMLOCK, &lim) ? -errno : 0;
}

TEST_F(memlock, up_to_the_limit)
{
	struct uv_mr mr, more;

	ASSERT_EQ(0, limit(PAGES * PAGE));
	ASSERT_EQ(0, uv_mr_reg(self->fd, self->pd, self->buf, PAGES * PAGE,
			       UV_ACCESS_ALL, &mr));
	EXPECT_EQ(KB, uv_vmpin_kb());
	/* Another buffer, so that no page of it is charged already. */
	EXPECT_EQ(-ENOMEM, uv_mr_reg(self->fd, self->pd, &mr, 1, 0, &more));
	EXPECT_EQ(KB, uv_vmpin_kb());
	EXPECT_EQ(0, uv_mr_destroy(self->fd, mr.handle));
	EXPECT_EQ(0, uv_vmpin_kb());
	EXPECT_EQ(0, uv_mr_reg(self->fd, self->pd, &mr, 1, 0, &more));
}

TEST_F(memlock, beyond_the_limit)
{
	struct uv_mr mr;
	struct uv_res before;

	ASSERT_EQ(0, uv_res_get(&before));
	ASSERT_EQ(0, limit(PAGES * PAGE - 1));
	EXPECT_EQ(-ENOMEM, uv_mr_reg(self->fd, self->pd, self->buf,
				     PAGES * PAGE, UV_ACCESS_ALL, &mr));
	EXPECT_EQ(0, uv_vmpin_kb());
	abi_same(_metadata, &before, "too much");
	/* What the failure charged is there for the next. */
	EXPECT_EQ(0, uv_mr_reg(self->fd, self->pd, self->buf,
			       (PAGES - 1) * PAGE, UV_ACCESS_ALL, &mr));
	EXPECT_EQ(KB - 4, uv_vmpin_kb());
}

TEST_F(memlock, nothing_allowed)
{
	struct uv_mr mr;

	ASSERT_EQ(0, limit(0));
	EXPECT_EQ(-EPERM, uv_mr_reg(self->fd, self->pd, self->buf, PAGE, 0,
				    &mr));
	EXPECT_EQ(0, uv_vmpin_kb());
}

/* Capabilities count at the call, not at open: root may pin past it. */
TEST_F(memlock, root_is_not_bound)
{
	struct uv_ctx root;
	struct uv_mr mr;
	__u32 pd;

	ASSERT_EQ(0, limit(PAGE));
	ASSERT_EQ(0, seteuid(0));
	ASSERT_EQ(0, uv_ctx_open(&root));
	ASSERT_EQ(0, uv_pd_alloc(root.fd, UV_WRITE, &pd));
	EXPECT_EQ(0, uv_mr_reg(root.fd, pd, self->buf, PAGES * PAGE,
			       UV_ACCESS_ALL, &mr));
	EXPECT_EQ(KB, uv_vmpin_kb());
	uv_ctx_close(&root);
	EXPECT_EQ(0, uv_vmpin_kb());
}

/* Memory that goes away stays pinned and charged until it is deregistered. */
TEST_F(memlock, munmap_changes_nothing)
{
	struct uv_mr mr;

	ASSERT_EQ(0, uv_mr_reg(self->fd, self->pd, self->buf, PAGES * PAGE,
			       UV_ACCESS_ALL, &mr));
	ASSERT_EQ(0, munmap(self->buf, PAGES * PAGE));
	EXPECT_EQ(KB, uv_vmpin_kb());
	EXPECT_EQ(0, uv_mr_destroy(self->fd, mr.handle));
	EXPECT_EQ(0, uv_vmpin_kb());
}

/* Closing the file uncharges without a word about the MRs. */
TEST_F(memlock, close_uncharges)
{
	struct uv_mr mr;
	unsigned long i;

	for (i = 0; i < PAGES; i++) {
		ASSERT_EQ(0, uv_mr_reg(self->fd, self->pd,
				       self->buf + i * PAGE, PAGE, 0, &mr));
	}
	EXPECT_EQ(KB, uv_vmpin_kb());
	uv_ctx_close(&self->ctx);
	EXPECT_EQ(0, uv_vmpin_kb());
}

TEST_HARNESS_MAIN
