// SPDX-License-Identifier: GPL-2.0
/* IMPORT and RELEASE: handles from object fds, and rights that never grow. */
#include <sys/eventfd.h>

#include "share.h"

SHARE_FIXTURE(import)

static struct sh_import got;
static int shared = -1;		/* the object fd that fill_import() imports */

static void fill_import(struct sh *sh, struct uv_cmd *cmd)
{
	__u64 user = 0x1234;

	if (shared < 0)
		shared = sh_export(sh->fd, UVERBS_OBJECT_MR, sh->mr.handle, 0);
	sh_import_prep(cmd, shared, &got);
	uv_out(cmd, SHVERBS_ATTR_IMPORT_MR, &got.mr, sizeof(got.mr));
	uv_in(cmd, SHVERBS_ATTR_IMPORT_USER_HANDLE, &user, sizeof(user));
}

/* The handle is not known where the call did not ask for it: one is just made. */
static void undo_import(struct __test_metadata *_metadata, struct sh *sh,
			struct uv_cmd *cmd)
{
	(void)cmd;
	EXPECT_EQ(0, sh_release(sh->fd, UVERBS_OBJECT_MR, got.handle));
}

TEST_F(import, attributes)
{
	static const struct sh_attr attrs[] = {
		SH_ATTR(SHVERBS_ATTR_IMPORT_FD, SH_RAW_FD),
		SH_ATTR(SHVERBS_ATTR_IMPORT_HANDLE, SH_OUT),
		SH_ATTR(SHVERBS_ATTR_IMPORT_OBJECT_ID, SH_OUT),
		SH_OPTIONAL(SHVERBS_ATTR_IMPORT_RIGHTS, SH_OUT),
		SH_OPTIONAL(SHVERBS_ATTR_IMPORT_MR, SH_OUT),
	};
	const struct sh_method method = { attrs, 5, fill_import, undo_import };

	sh_spoil_method(_metadata, &self->sh, &method);
	close(shared);
	shared = -1;
	/* A handle that a failed import left behind would own the MR still. */
	EXPECT_EQ(0, uv_mr_destroy(self->sh.fd, self->sh.mr.handle));
	self->sh.made.mr--;
	EXPECT_TRUE(uv_res_settles(&self->sh.made, 2000));
}

TEST_F(import, user_handle)
{
	struct sh *sh = &self->sh;
	struct ib_uverbs_attr *attr;
	struct uv_cmd cmd;

	fill_import(sh, &cmd);
	attr = uv_find(&cmd, SHVERBS_ATTR_IMPORT_USER_HANDLE);
	attr->len = 4;
	EXPECT_EQ(-EINVAL, uv_ioctl(sh->fd, &cmd));
	attr->len = 16;
	EXPECT_EQ(-EINVAL, uv_ioctl(sh->fd, &cmd));
	uv_drop(&cmd, SHVERBS_ATTR_IMPORT_USER_HANDLE);
	EXPECT_EQ(0, uv_ioctl(sh->fd, &cmd));
	undo_import(_metadata, sh, &cmd);
	close(shared);
	shared = -1;
}

TEST_F(import, marks_its_output)
{
	struct uv_cmd cmd;
	int i;

	fill_import(&self->sh, &cmd);
	ASSERT_EQ(0, uv_ioctl(self->sh.fd, &cmd));
	for (i = 0; i < cmd.hdr.num_attrs; i++)
		if (cmd.hdr.attrs[i].attr_id != SHVERBS_ATTR_IMPORT_FD &&
		    cmd.hdr.attrs[i].attr_id != SHVERBS_ATTR_IMPORT_USER_HANDLE)
			EXPECT_TRUE(cmd.hdr.attrs[i].flags &
				    UVERBS_ATTR_F_VALID_OUTPUT);
	undo_import(_metadata, &self->sh, &cmd);
	close(shared);
	shared = -1;
}

TEST_F(import, says_what_it_is)
{
	struct sh *sh = &self->sh;
	struct sh_import import;
	int pd = sh_export(sh->fd, UVERBS_OBJECT_PD, sh->pd, 0);
	int mr = sh_export(sh->fd, UVERBS_OBJECT_MR, sh->mr.handle, 0);

	ASSERT_EQ(0, sh_import_mr(sh->other, mr, &import));
	EXPECT_EQ(UVERBS_OBJECT_MR, import.object_id);
	EXPECT_EQ(SH_ALL, import.rights & SH_ALL);
	EXPECT_EQ(uv_u64(sh->memory), import.mr.iova);
	EXPECT_EQ(SH_MR_SIZE, import.mr.length);
	EXPECT_EQ(sh->mr.lkey, import.mr.lkey);
	EXPECT_EQ(sh->mr.rkey, import.mr.rkey);
	EXPECT_EQ(UV_ACCESS_ALL, import.mr.access);
	EXPECT_EQ(0, import.mr.reserved);
	ASSERT_EQ(0, sh_import(sh->other, pd, &import));
	EXPECT_EQ(UVERBS_OBJECT_PD, import.object_id);
	/* Owning it twice more made no new hardware objects. */
	abi_same(_metadata, &sh->made, "two imports");
	close(pd);
	close(mr);
}

TEST_F(import, mr_attributes_of_a_pd)
{
	struct sh *sh = &self->sh;
	struct sh_import import;
	int pd = sh_export(sh->fd, UVERBS_OBJECT_PD, sh->pd, 0);

	EXPECT_EQ(-ENOMSG, sh_import_mr(sh->other, pd, &import));
	close(pd);
	/* And left no handle: the PD goes with its own. */
	EXPECT_EQ(0, uv_mr_destroy(sh->fd, sh->mr.handle));
	EXPECT_EQ(0, uv_pd_destroy(sh->fd, sh->pd));
	sh->made.mr--;
	sh->made.pd--;
	EXPECT_TRUE(uv_res_settles(&sh->made, 2000));
}

/* The driver's answer: as much as there is room for, and no byte after it. */
TEST_F(import, driver_bytes)
{
	struct sh *sh = &self->sh;
	int mr = sh_export(sh->fd, UVERBS_OBJECT_MR, sh->mr.handle, 0);
	struct sh_import import;
	struct uv_cmd cmd;
	__u8 bytes[64];

	memset(bytes, 0xa5, sizeof(bytes));
	sh_import_prep(&cmd, mr, &import);
	uv_out(&cmd, SHVERBS_ATTR_IMPORT_DRIVER, bytes, 16);
	EXPECT_EQ(0, uv_ioctl(sh->other, &cmd));
	EXPECT_EQ(0xa5, bytes[16]);
	EXPECT_EQ(0xa5, bytes[63]);
	close(mr);
}

TEST_F(import, same_file_gets_another_handle)
{
	struct sh *sh = &self->sh;
	struct sh_import first, second;
	int mr = sh_export(sh->fd, UVERBS_OBJECT_MR, sh->mr.handle, 0);

	ASSERT_EQ(0, sh_import(sh->fd, mr, &first));
	ASSERT_EQ(0, sh_import(sh->fd, mr, &second));
	EXPECT_NE(first.handle, second.handle);
	EXPECT_NE(first.handle, sh->mr.handle);
	close(mr);
	EXPECT_EQ(0, uv_mr_destroy(sh->fd, sh->mr.handle));
	EXPECT_EQ(0, uv_mr_destroy(sh->fd, second.handle));
	abi_same(_metadata, &sh->made, "one handle is left");
	EXPECT_EQ(0, uv_mr_destroy(sh->fd, first.handle));
	sh->made.mr--;
	EXPECT_TRUE(uv_res_settles(&sh->made, 2000));
}

/* What is an fd, but not of an object. */
TEST_F(import, wrong_fds)
{
	struct sh *sh = &self->sh;
	char dir[200];
	const struct {
		const char *what;
		int fd;
	} fds[] = {
		{ "none", -1 },
		{ "one that is closed", 999 },
		{ "AT_FDCWD", AT_FDCWD },
		{ "a device file", open("/dev/null", O_RDWR) },
		{ "a directory", open("/", O_RDONLY) },
		{ "a directory of ours", sh_dir(dir, sizeof(dir)) },
		{ "a regular file", open("/proc/self/exe", O_RDONLY) },
		{ "a socket", socket(AF_UNIX, SOCK_STREAM, 0) },
		{ "an eventfd", eventfd(0, 0) },
		{ "a verbs file", sh->fd },
		{ "an async event fd", sh->abi.ctx.async_fd },
		{ "a completion channel", uv_channel(sh->fd, UV_WRITE) },
	};
	struct sh_import import;
	size_t i;
	int ret;

	for (i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
		ret = sh_import(sh->other, fds[i].fd, &import);
		ABI_EXPECT(-EBADF, ret, fds[i].what);
		if (fds[i].fd != sh->fd && fds[i].fd != sh->abi.ctx.async_fd)
			close(fds[i].fd);
	}
}

TEST_F(import, fd_number_out_of_range)
{
	struct sh *sh = &self->sh;
	struct sh_import import;
	struct uv_cmd cmd;

	sh_import_prep(&cmd, 0, &import);
	uv_find(&cmd, SHVERBS_ATTR_IMPORT_FD)->data = 1ULL << 32;
	EXPECT_EQ(-EINVAL, uv_ioctl(sh->other, &cmd));
}

/* ---- rights ---- */

/* A handle of sh->other with these rights, made the usual way. */
static int import_with(struct sh *sh, __u64 rights, struct sh_import *import)
{
	int fd = sh_export(sh->fd, UVERBS_OBJECT_MR, sh->mr.handle, rights);
	int ret = fd < 0 ? fd : sh_import(sh->other, fd, import);

	if (fd >= 0)
		close(fd);
	return ret;
}

TEST_F(import, rights_are_those_of_the_fd)
{
	static const __u32 sets[] = {
		SHVERBS_RIGHT_USE,
		SHVERBS_RIGHT_USE | SHVERBS_RIGHT_MODIFY,
		SHVERBS_RIGHT_USE | SHVERBS_RIGHT_SHARE,
		SH_ALL,
	};
	struct sh_import import;
	size_t i;

	for (i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
		ASSERT_EQ(0, import_with(&self->sh, sets[i], &import));
		EXPECT_EQ(sets[i], import.rights);
	}
}

TEST_F(import, rights_never_grow)
{
	struct sh *sh = &self->sh;
	struct sh_import import, again;
	int fd;

	ASSERT_EQ(0, import_with(sh, SHVERBS_RIGHT_USE | SHVERBS_RIGHT_SHARE,
				 &import));
	EXPECT_EQ(-EPERM, sh_export(sh->other, UVERBS_OBJECT_MR, import.handle,
				    SHVERBS_RIGHT_MODIFY));
	EXPECT_EQ(-EPERM, sh_export(sh->other, UVERBS_OBJECT_MR, import.handle,
				    SH_ALL));
	EXPECT_EQ(-EPERM, sh_export(sh->other, UVERBS_OBJECT_MR, import.handle,
				    SHVERBS_RIGHT_USE | SHVERBS_RIGHT_REVOKE));
	/* The default is what the handle has, not what the object allows. */
	fd = sh_export(sh->other, UVERBS_OBJECT_MR, import.handle, 0);
	ASSERT_GE(fd, 0);
	ASSERT_EQ(0, sh_import(sh->other, fd, &again));
	EXPECT_EQ(SHVERBS_RIGHT_USE | SHVERBS_RIGHT_SHARE, again.rights);
	close(fd);
}

TEST_F(import, without_share_it_stays_here)
{
	struct sh *sh = &self->sh;
	struct sh_import import;
	char path[200];
	int dir = sh_dir(path, sizeof(path));
	struct sh_name name = { dir, "without_share", 0600, 0 };

	ASSERT_GE(dir, 0);
	ASSERT_EQ(0, import_with(sh, SHVERBS_RIGHT_USE | SHVERBS_RIGHT_MODIFY,
				 &import));
	EXPECT_EQ(-EPERM, sh_export(sh->other, UVERBS_OBJECT_MR, import.handle, 0));
	EXPECT_EQ(-EPERM, sh_export(sh->other, UVERBS_OBJECT_MR, import.handle,
				    SHVERBS_RIGHT_USE));
	EXPECT_EQ(-EPERM, sh_publish(sh->other, UVERBS_OBJECT_MR, import.handle,
				     &name));
	EXPECT_FALSE(sh_exists(dir, name.name));
	close(dir);
}

/* ---- RELEASE ---- */

static void fill_release(struct sh *sh, struct uv_cmd *cmd)
{
	int fd = sh_export(sh->fd, UVERBS_OBJECT_MR, sh->mr.handle, 0);

	sh_import(sh->fd, fd, &got);
	close(fd);
	uv_init(cmd, SHVERBS_OBJECT_SHARE, SHVERBS_METHOD_RELEASE);
	uv_const(cmd, SHVERBS_ATTR_RELEASE_OBJECT_ID, UVERBS_OBJECT_MR);
	uv_const(cmd, SHVERBS_ATTR_RELEASE_HANDLE, got.handle);
}

static void undo_release(struct __test_metadata *_metadata, struct sh *sh,
			 struct uv_cmd *cmd)
{
	(void)cmd;
	/* It is gone, and so is not there to be released again. */
	EXPECT_EQ(-ENOENT, sh_release(sh->fd, UVERBS_OBJECT_MR, got.handle));
}

TEST_F(import, release_attributes)
{
	static const struct sh_attr attrs[] = {
		SH_ATTR(SHVERBS_ATTR_RELEASE_OBJECT_ID, SH_CONST),
		SH_ATTR(SHVERBS_ATTR_RELEASE_HANDLE, SH_CONST),
	};
	const struct sh_method method = { attrs, 2, fill_release, undo_release };

	sh_spoil_method(_metadata, &self->sh, &method);
}

TEST_F(import, release_what_is_not)
{
	struct sh *sh = &self->sh;

	EXPECT_EQ(-ENOENT, sh_release(sh->fd, UVERBS_OBJECT_PD, ABI_NO_HANDLE));
	EXPECT_EQ(-ENOENT, sh_release(sh->fd, UVERBS_OBJECT_PD,
				      (1ULL << 32) + sh->pd));
	EXPECT_EQ(-ENOENT, sh_release(sh->other, UVERBS_OBJECT_PD, sh->pd));
	EXPECT_EQ(-EINVAL, sh_release(sh->fd, UVERBS_OBJECT_MR, sh->pd));
	abi_same(_metadata, &sh->made, "nothing was released");
}

TEST_HARNESS_MAIN
