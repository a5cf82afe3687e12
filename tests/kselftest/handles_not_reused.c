// SPDX-License-Identifier: GPL-2.0
/*
 * rdma-core's users: stale handles hit a new object.  Handle ids are given out
 * in turn, so that a stale one stays stale for long.
 */
#include "share.h"

#define ROUNDS 1000

SHARE_FIXTURE(handles_not_reused)

static int compare(const void *a, const void *b)
{
	__u32 x = *(const __u32 *)a, y = *(const __u32 *)b;

	return (x > y) - (x < y);
}

static bool all_different(__u32 *handles, int n)
{
	int i;

	qsort(handles, n, sizeof(*handles), compare);
	for (i = 1; i < n; i++)
		if (handles[i] == handles[i - 1])
			return false;
	return true;
}

TEST_F(handles_not_reused, new_objects)
{
	__u32 *handles = calloc(ROUNDS, sizeof(*handles));
	struct sh *sh = &self->sh;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		ASSERT_EQ(0, uv_pd_alloc(sh->fd, UV_WRITE, &handles[i]));
		ASSERT_EQ(0, uv_pd_destroy(sh->fd, handles[i]));
	}
	EXPECT_TRUE(all_different(handles, ROUNDS));
	free(handles);
}

TEST_F(handles_not_reused, imports)
{
	__u32 *handles = calloc(ROUNDS, sizeof(*handles));
	struct sh *sh = &self->sh;
	struct sh_import import;
	int i, mr;

	mr = sh_export(sh->fd, UVERBS_OBJECT_MR, sh->mr.handle, 0);
	ASSERT_GE(mr, 0);
	for (i = 0; i < ROUNDS; i++) {
		ASSERT_EQ(0, sh_import(sh->fd, mr, &import));
		handles[i] = import.handle;
		/* By turns, as the two are ways of their own through the kernel. */
		if (i & 1) {
			ASSERT_EQ(0, sh_release(sh->fd, UVERBS_OBJECT_MR, handles[i]));
		} else {
			ASSERT_EQ(0, uv_mr_destroy(sh->fd, handles[i]));
		}
	}
	EXPECT_TRUE(all_different(handles, ROUNDS));
	close(mr);
	free(handles);
}

/* What a program sees that uses a handle after it gave it up. */
TEST_F(handles_not_reused, stale_is_enoent)
{
	struct sh *sh = &self->sh;
	struct uv_mr mr;
	__u32 stale, pd;

	ASSERT_EQ(0, uv_pd_alloc(sh->fd, UV_WRITE, &stale));
	ASSERT_EQ(0, sh_release(sh->fd, UVERBS_OBJECT_PD, stale));
	ASSERT_EQ(0, uv_pd_alloc(sh->fd, UV_WRITE, &pd));
	EXPECT_EQ(-ENOENT, uv_pd_destroy(sh->fd, stale));
	EXPECT_EQ(-ENOENT, sh_release(sh->fd, UVERBS_OBJECT_PD, stale));
	EXPECT_EQ(-ENOENT, sh_export(sh->fd, UVERBS_OBJECT_PD, stale, 0));
	EXPECT_GT(0, uv_mr_reg(sh->fd, stale, sh->memory, 4096, UV_ACCESS_ALL,
			       &mr));
	EXPECT_EQ(0, uv_pd_destroy(sh->fd, pd));
}

TEST_HARNESS_MAIN
