// SPDX-License-Identifier: GPL-2.0
/* EXPORT: object fds, what they are, and what they own. */
#include "share.h"

SHARE_FIXTURE(export)

static void fill_export(struct sh *sh, struct uv_cmd *cmd)
{
	uv_init(cmd, SHVERBS_OBJECT_SHARE, SHVERBS_METHOD_EXPORT);
	uv_const(cmd, SHVERBS_ATTR_EXPORT_OBJECT_ID, UVERBS_OBJECT_MR);
	uv_const(cmd, SHVERBS_ATTR_EXPORT_HANDLE, sh->mr.handle);
	uv_const(cmd, SHVERBS_ATTR_EXPORT_RIGHTS, SHVERBS_RIGHT_USE);
	uv_fd(cmd, SHVERBS_ATTR_EXPORT_FD, 0);
}

static void undo_export(struct __test_metadata *_metadata, struct sh *sh,
			struct uv_cmd *cmd)
{
	(void)sh;
	EXPECT_EQ(0, close(uv_find(cmd, SHVERBS_ATTR_EXPORT_FD)->data_s64));
}

TEST_F(export, attributes)
{
	static const struct sh_attr attrs[] = {
		SH_ATTR(SHVERBS_ATTR_EXPORT_OBJECT_ID, SH_CONST),
		SH_ATTR(SHVERBS_ATTR_EXPORT_HANDLE, SH_CONST),
		SH_OPTIONAL(SHVERBS_ATTR_EXPORT_RIGHTS, SH_FLAGS),
		SH_ATTR(SHVERBS_ATTR_EXPORT_FD, SH_NEW_FD),
	};
	const struct sh_method method = { attrs, 4, fill_export, undo_export };

	sh_spoil_method(_metadata, &self->sh, &method);
}

/* A failed EXPORT must not leave an fd behind that nobody knows of. */
TEST_F(export, failure_leaves_no_fd)
{
	int next = dup(0), fd;

	close(next);
	EXPECT_EQ(-ENOENT, sh_export(self->sh.fd, UVERBS_OBJECT_MR,
				     ABI_NO_HANDLE, 0));
	EXPECT_EQ(-EINVAL, sh_export(self->sh.fd, UVERBS_OBJECT_PD,
				     self->sh.mr.handle, 0));
	fd = sh_export(self->sh.fd, UVERBS_OBJECT_MR, self->sh.mr.handle, 0);
	EXPECT_EQ(next, fd);
	close(fd);
}

TEST_F(export, flags_of_four_bytes)
{
	struct uv_cmd cmd;

	fill_export(&self->sh, &cmd);
	uv_find(&cmd, SHVERBS_ATTR_EXPORT_RIGHTS)->len = 4;
	ASSERT_EQ(0, uv_ioctl(self->sh.fd, &cmd));
	undo_export(_metadata, &self->sh, &cmd);
}

TEST_F(export, handles_that_are_not)
{
	struct sh *sh = &self->sh;

	EXPECT_EQ(-ENOENT, sh_export(sh->fd, UVERBS_OBJECT_PD, ABI_NO_HANDLE, 0));
	EXPECT_EQ(-ENOENT, sh_export(sh->fd, UVERBS_OBJECT_PD, 1ULL << 32, 0));
	EXPECT_EQ(-ENOENT, sh_export(sh->fd, UVERBS_OBJECT_PD,
				     (1ULL << 32) + sh->pd, 0));
	/* Another file's table is another's. */
	EXPECT_EQ(-ENOENT, sh_export(sh->other, UVERBS_OBJECT_MR, sh->mr.handle, 0));
}

TEST_F(export, handles_of_another_type)
{
	struct sh *sh = &self->sh;

	EXPECT_EQ(-EINVAL, sh_export(sh->fd, UVERBS_OBJECT_PD, sh->mr.handle, 0));
	EXPECT_EQ(-EINVAL, sh_export(sh->fd, UVERBS_OBJECT_MR, sh->pd, 0));
}

TEST_F(export, kinds_that_cannot_be_shared)
{
	struct sh *sh = &self->sh;

	/* The device has none, either. */
	EXPECT_EQ(-EOPNOTSUPP, sh_export(sh->fd, UVERBS_OBJECT_XRCD, sh->pd, 0));
	EXPECT_EQ(-EOPNOTSUPP, sh_export(sh->fd, UVERBS_OBJECT_FLOW, sh->pd, 0));
}

TEST_F(export, fd_is_close_on_exec)
{
	struct sh *sh = &self->sh;
	int fd = sh_export(sh->fd, UVERBS_OBJECT_PD, sh->pd, 0);

	ASSERT_GE(fd, 0);
	EXPECT_EQ(FD_CLOEXEC, fcntl(fd, F_GETFD));
	close(fd);
}

/* Two fds of one object, of two objects; closing one leaves the others. */
TEST_F(export, many_fds)
{
	struct sh *sh = &self->sh;
	int fds[64], i;

	for (i = 0; i < 64; i++) {
		fds[i] = sh_export(sh->fd, UVERBS_OBJECT_MR, sh->mr.handle, 0);
		ASSERT_GE(fds[i], 0);
	}
	for (i = 0; i < 63; i++)
		close(fds[i]);
	EXPECT_EQ(0, uv_mr_destroy(sh->fd, sh->mr.handle));
	abi_same(_metadata, &sh->made, "one fd is left");
	close(fds[63]);
	sh->made.mr--;
	EXPECT_TRUE(uv_res_settles(&sh->made, 2000));
}

TEST_F(export, fd_owns_the_object)
{
	struct sh *sh = &self->sh;
	int mr = sh_export(sh->fd, UVERBS_OBJECT_MR, sh->mr.handle, 0);
	struct uv_res want = sh->abi.base;

	ASSERT_GE(mr, 0);
	/* The last file of the context that the objects were made on. */
	uv_ctx_close(&sh->abi.ctx);
	uv_ctx_close(&sh->other_ctx);
	want.mr++;	/* the MR itself */
	want.pd++;	/* which owns its PD */
	EXPECT_TRUE(sh_settles_any_ctx(&want));
	EXPECT_EQ(SH_MR_SIZE / 1024, uv_vmpin_kb());
	close(mr);
	EXPECT_TRUE(uv_res_settles(&sh->abi.idle, 2000));
	EXPECT_EQ(0, uv_vmpin_kb());
}

/* An object fd is not a file to read, to map or to send verbs to. */
TEST_F(export, fd_does_nothing_else)
{
	struct sh *sh = &self->sh;
	int fd = sh_export(sh->fd, UVERBS_OBJECT_MR, sh->mr.handle, 0);
	struct uv_cmd cmd;

	ASSERT_GE(fd, 0);
	fill_export(sh, &cmd);
	EXPECT_EQ(-ENOTTY, uv_ioctl(fd, &cmd));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0));
	EXPECT_EQ(-1, write(fd, "x", 1));
	close(fd);
}

/* Without a context there is nothing to export, and no device to import to. */
TEST_F(export, needs_a_context)
{
	struct sh *sh = &self->sh;
	struct sh_import import;
	int bare = uv_open();
	int fd = sh_export(sh->fd, UVERBS_OBJECT_PD, sh->pd, 0);

	ASSERT_GE(bare, 0);
	ASSERT_GE(fd, 0);
	EXPECT_GT(0, sh_export(bare, UVERBS_OBJECT_PD, sh->pd, 0));
	EXPECT_EQ(-EINVAL, sh_import(bare, fd, &import));
	close(fd);
	close(bare);
}

TEST_HARNESS_MAIN
