// SPDX-License-Identifier: GPL-2.0
/* HOLDERS: how many hold an object, and in which way. */
#include "share.h"

SHARE_FIXTURE(holders)

#define EXPECT_HOLDERS(h, n, f, s, c)                                      \
	do {                                                               \
		EXPECT_EQ(n, (h).handles);                                 \
		EXPECT_EQ(f, (h).fds);                                     \
		EXPECT_EQ(s, (h).names);                                   \
		EXPECT_EQ(c, (h).children);                                \
	} while (0)

TEST_F(holders, each_as_what_it_is)
{
	struct sh *sh = &self->sh;
	struct sh_name name = { .name = "held", .mode = 0600,
				.flags = SHVERBS_PUBLISH_STRONG };
	struct sh_name weak = { .name = "known", .mode = 0600 };
	struct sh_holders now;
	struct sh_import import;
	char path[200];
	int object, copy;

	name.dir = weak.dir = sh_dir(path, sizeof(path));
	ASSERT_GE(name.dir, 0);
	ASSERT_EQ(0, sh_holders(sh->fd, UVERBS_OBJECT_PD, sh->pd, &now));
	EXPECT_HOLDERS(now, 1, 0, 0, 1);
	EXPECT_EQ(0, now.flags);
	object = sh_export(sh->fd, UVERBS_OBJECT_PD, sh->pd, 0);
	ASSERT_GE(object, 0);
	/* Two numbers of one fd are one. */
	copy = dup(object);
	ASSERT_EQ(0, sh_import(sh->other, object, &import));
	ASSERT_EQ(0, sh_publish(sh->fd, UVERBS_OBJECT_PD, sh->pd, &name));
	ASSERT_EQ(0, sh_publish(sh->fd, UVERBS_OBJECT_PD, sh->pd, &weak));
	ASSERT_EQ(0, sh_holders(sh->fd, UVERBS_OBJECT_PD, sh->pd, &now));
	EXPECT_HOLDERS(now, 2, 1, 1, 1);
	/* Every holder sees the same. */
	ASSERT_EQ(0, sh_holders(sh->other, UVERBS_OBJECT_PD, import.handle, &now));
	EXPECT_HOLDERS(now, 2, 1, 1, 1);
	close(object);
	close(copy);
	EXPECT_EQ(0, unlinkat(name.dir, "held", 0));
	EXPECT_EQ(0, unlinkat(name.dir, "known", 0));
	EXPECT_EQ(0, uv_mr_destroy(sh->fd, sh->mr.handle));
	EXPECT_EQ(0, uv_pd_destroy(sh->fd, sh->pd));
	ASSERT_EQ(0, sh_holders(sh->other, UVERBS_OBJECT_PD, import.handle, &now));
	EXPECT_HOLDERS(now, 1, 0, 0, 0);
	close(name.dir);
}

TEST_F(holders, of_a_context)
{
	struct sh *sh = &self->sh;
	struct sh_holders now;
	int object, fd;

	ASSERT_EQ(0, sh_holders_context(sh->fd, &now));
	EXPECT_HOLDERS(now, 1, 0, 0, 0);
	object = sh_export_context(sh->fd, 0);
	ASSERT_GE(object, 0);
	fd = sh_open_attached(object);
	ASSERT_GE(fd, 0);
	ASSERT_EQ(0, sh_holders_context(sh->fd, &now));
	EXPECT_HOLDERS(now, 2, 1, 0, 0);
	close(object);
	close(fd);
	ASSERT_EQ(0, sh_holders_context(sh->fd, &now));
	EXPECT_HOLDERS(now, 1, 0, 0, 0);
}

/* It takes a handle, and no right. */
TEST_F(holders, who_may_ask)
{
	struct sh *sh = &self->sh;
	struct sh_holders now;
	struct sh_import import;
	int object;

	object = sh_export_as(sh->fd, UVERBS_OBJECT_MR, sh->mr.handle,
			      SHVERBS_RIGHT_USE, SHVERBS_EXPORT_REVOCABLE);
	ASSERT_GE(object, 0);
	ASSERT_EQ(0, sh_import(sh->other, object, &import));
	close(object);
	EXPECT_EQ(0, sh_holders(sh->other, UVERBS_OBJECT_MR, import.handle, &now));
	EXPECT_HOLDERS(now, 2, 0, 0, 0);
	EXPECT_EQ(SHVERBS_IMPORT_REVOCABLE, now.flags);
	EXPECT_EQ(-ENOENT, sh_holders(sh->other, UVERBS_OBJECT_MR, ABI_NO_HANDLE,
				      &now));
	EXPECT_EQ(-EINVAL, sh_holders(sh->fd, UVERBS_OBJECT_MR, sh->pd, &now));
	EXPECT_EQ(-EINVAL, sh_holders(sh->fd, UVERBS_OBJECT_DEVICE, 0, &now));
	ASSERT_EQ(0, sh_revoke(sh->fd, UVERBS_OBJECT_MR, sh->mr.handle));
	EXPECT_EQ(-EIO, sh_holders(sh->other, UVERBS_OBJECT_MR, import.handle,
				   &now));
}

TEST_HARNESS_MAIN
