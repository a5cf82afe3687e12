// SPDX-License-Identifier: GPL-2.0
/*
 * Dreier 2007: contexts in a file system, opened with permissions.  A context
 * gets a name; whoever may open that attaches a file to it, and has the same
 * driver's context with a table of handles of its own.
 */
#include <grp.h>
#include <sys/wait.h>

#include "share.h"

#define STRANGER 2099

FIXTURE(context_by_name)
{
	struct sh sh;
	char path[200];
	int dir;
};

FIXTURE_SETUP(context_by_name)
{
	sh_start(_metadata, &self->sh);
	self->dir = sh_dir(self->path, sizeof(self->path));
	ASSERT_GE(self->dir, 0);
	umask(0);
}

FIXTURE_TEARDOWN(context_by_name)
{
	close(self->dir);
	sh_end(_metadata, &self->sh);
}

static int publish(int fd, int dir, const char *name, __u64 mode, __u64 flags)
{
	struct sh_name where = { dir, name, mode, flags };

	return sh_publish_context(fd, &where);
}

/* Opens a name and attaches a new file; 0 or -errno. */
static int try_attach(int dir, const char *name)
{
	int object = openat(dir, name, O_RDONLY), fd;

	if (object < 0)
		return -errno;
	fd = sh_open_attached(object);
	close(object);
	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

static int try_attach_as(int dir, const char *name, uid_t user)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		if (setgroups(0, NULL) || setgid(user) || setuid(user))
			_exit(255);
		_exit(-try_attach(dir, name));
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -ECHILD;
	return -WEXITSTATUS(status);
}

TEST_F(context_by_name, attach)
{
	struct sh *sh = &self->sh;
	struct uv_res now, attached = sh->made;
	struct uv_mr mr;
	__u32 pd;
	int object, fd;

	ASSERT_EQ(0, publish(sh->fd, self->dir, "ctx", 0600, 0));
	object = openat(self->dir, "ctx", O_RDONLY);
	ASSERT_GE(object, 0);
	fd = sh_open_attached(object);
	ASSERT_GE(fd, 0);
	close(object);
	/* No second context of the driver's. */
	abi_same(_metadata, &attached, "attached");

	/* The handles are its own: those of the first file are not here. */
	EXPECT_EQ(-ENOENT, uv_mr_destroy(fd, sh->mr.handle));
	EXPECT_EQ(0, uv_pd_alloc(fd, UV_WRITE, &pd));
	EXPECT_EQ(0, uv_mr_reg(fd, pd, sh->memory, SH_MR_SIZE, UV_ACCESS_ALL,
			       &mr));
	ASSERT_EQ(0, uv_res_get(&now));
	EXPECT_EQ(attached.pd + 1, now.pd);
	EXPECT_EQ(attached.mr + 1, now.mr);
	/* And they go with it, not with the context. */
	close(fd);
	EXPECT_TRUE(uv_res_settles(&attached, 2000));
	EXPECT_EQ(0, unlinkat(self->dir, "ctx", 0));
}

TEST_F(context_by_name, who_may_attach)
{
	int fd = self->sh.fd;

	ASSERT_EQ(0, publish(fd, self->dir, "ctx", 0600, 0));
	EXPECT_EQ(0, try_attach(self->dir, "ctx"));
	EXPECT_EQ(-EACCES, try_attach_as(self->dir, "ctx", STRANGER));
	ASSERT_EQ(0, fchmodat(self->dir, "ctx", 0604, 0));
	EXPECT_EQ(0, try_attach_as(self->dir, "ctx", STRANGER));
	EXPECT_EQ(0, unlinkat(self->dir, "ctx", 0));
	EXPECT_EQ(-ENOENT, try_attach(self->dir, "ctx"));
}

/* A weak name goes with the last file that is attached; a strong one keeps the context. */
TEST_F(context_by_name, weak_and_strong)
{
	struct uv_ctx ctx;
	int object, fd;

	ASSERT_EQ(0, uv_ctx_open(&ctx));
	ASSERT_EQ(0, publish(ctx.fd, self->dir, "weak", 0600, 0));
	object = openat(self->dir, "weak", O_RDONLY);
	ASSERT_GE(object, 0);
	fd = sh_open_attached(object);
	ASSERT_GE(fd, 0);
	close(object);
	uv_ctx_close(&ctx);
	EXPECT_EQ(0, try_attach(self->dir, "weak"));
	close(fd);
	EXPECT_TRUE(sh_vanishes(self->dir, "weak", 2000));
	EXPECT_TRUE(uv_res_settles(&self->sh.made, 2000));

	ASSERT_EQ(0, uv_ctx_open(&ctx));
	ASSERT_EQ(0, publish(ctx.fd, self->dir, "strong", 0600,
			     SHVERBS_PUBLISH_STRONG));
	uv_ctx_close(&ctx);
	EXPECT_EQ(0, try_attach(self->dir, "strong"));
	EXPECT_EQ(0, unlinkat(self->dir, "strong", 0));
	EXPECT_TRUE(uv_res_settles(&self->sh.made, 2000));
}

/* Objects that others hold keep the driver's context, and no name of it. */
TEST_F(context_by_name, objects_are_no_holders)
{
	struct sh_import import;
	struct uv_ctx ctx;
	__u32 pd;
	int object;

	ASSERT_EQ(0, uv_ctx_open(&ctx));
	ASSERT_EQ(0, publish(ctx.fd, self->dir, "ctx", 0600, 0));
	ASSERT_EQ(0, uv_pd_alloc(ctx.fd, UV_WRITE, &pd));
	object = sh_export(ctx.fd, UVERBS_OBJECT_PD, pd, 0);
	ASSERT_GE(object, 0);
	ASSERT_EQ(0, sh_import(self->sh.fd, object, &import));
	close(object);
	uv_ctx_close(&ctx);
	EXPECT_TRUE(sh_vanishes(self->dir, "ctx", 2000));
	EXPECT_EQ(0, uv_pd_destroy(self->sh.fd, import.handle));
	EXPECT_TRUE(uv_res_settles(&self->sh.made, 2000));
}

TEST_F(context_by_name, cat)
{
	char text[200] = "";
	int object;

	ASSERT_EQ(0, publish(self->sh.fd, self->dir, "ctx", 0600, 0));
	object = openat(self->dir, "ctx", O_RDONLY);
	ASSERT_GE(object, 0);
	ASSERT_LT(0, read(object, text, sizeof(text) - 1));
	EXPECT_NE(NULL, strstr(text, "kind: ctx\n"));
	EXPECT_NE(NULL, strstr(text, "handles: 1\nfds: 0\n"));
	close(object);
	EXPECT_EQ(0, unlinkat(self->dir, "ctx", 0));
}

TEST_F(context_by_name, wrong_fds)
{
	struct sh *sh = &self->sh;
	int fd = uv_open(), context, pd, usable;

	context = sh_export_context(sh->fd, 0);
	usable = sh_export_context(sh->fd, SHVERBS_RIGHT_SHARE);
	pd = sh_export(sh->fd, UVERBS_OBJECT_PD, sh->pd, 0);
	ASSERT_GE(fd, 0);
	ASSERT_GE(context, 0);
	ASSERT_GE(usable, 0);
	ASSERT_GE(pd, 0);
	EXPECT_EQ(-EBADF, sh_attach(fd, -1));
	EXPECT_EQ(-EBADF, sh_attach(fd, sh->fd));
	EXPECT_EQ(-EBADF, sh_attach(fd, self->dir));
	EXPECT_EQ(-EINVAL, sh_attach(fd, pd));
	EXPECT_EQ(-EPERM, sh_attach(fd, usable));
	/* None of that gave the file a context. */
	EXPECT_EQ(-EINVAL, sh_export_context(fd, 0));
	EXPECT_EQ(0, sh_attach(fd, context));
	EXPECT_EQ(-EINVAL, sh_attach(fd, context));
	EXPECT_EQ(-EINVAL, sh_attach(sh->fd, context));
	close(usable);
	close(context);
	close(pd);
	close(fd);
}

TEST_F(context_by_name, attached_once)
{
	__u64 support;
	__u32 vectors;
	int context = sh_export_context(self->sh.fd, 0), fd;

	ASSERT_GE(context, 0);
	fd = sh_open_attached(context);
	ASSERT_GE(fd, 0);
	EXPECT_EQ(-EINVAL, uv_get_context(fd, &vectors, &support));
	close(fd);
	close(context);
}

/* A context is no object to import, and an object's handle no context's. */
TEST_F(context_by_name, contexts_have_no_handle)
{
	struct sh *sh = &self->sh;
	struct sh_import import;
	int context = sh_export_context(sh->fd, 0);

	ASSERT_GE(context, 0);
	EXPECT_EQ(-EINVAL, sh_import(sh->other, context, &import));
	EXPECT_EQ(-EINVAL, sh_export(sh->fd, UVERBS_OBJECT_DEVICE, 0, 0));
	EXPECT_EQ(-EOPNOTSUPP, sh_release(sh->fd, UVERBS_OBJECT_DEVICE, 0));
	close(context);
}

/* What one got without the right to share stays where it is. */
TEST_F(context_by_name, rights)
{
	struct sh *sh = &self->sh;
	struct uv_cmd cmd;
	__u32 rights = 0, vectors = 0;
	int context, fd = uv_open();

	context = sh_export_context(sh->fd, SHVERBS_RIGHT_USE);
	ASSERT_GE(context, 0);
	ASSERT_GE(fd, 0);
	uv_init(&cmd, SHVERBS_OBJECT_SHARE, SHVERBS_METHOD_ATTACH_CONTEXT);
	uv_fd(&cmd, SHVERBS_ATTR_ATTACH_CONTEXT_FD, context);
	uv_out(&cmd, SHVERBS_ATTR_ATTACH_CONTEXT_RIGHTS, &rights, sizeof(rights));
	uv_out(&cmd, SHVERBS_ATTR_ATTACH_CONTEXT_NUM_COMP_VECTORS, &vectors,
	       sizeof(vectors));
	ASSERT_EQ(0, uv_ioctl(fd, &cmd));
	EXPECT_EQ(SHVERBS_RIGHT_USE, rights);
	EXPECT_EQ(sh->abi.ctx.num_comp, vectors);
	EXPECT_EQ(-EPERM, sh_export_context(fd, 0));
	EXPECT_EQ(-EPERM, publish(fd, self->dir, "ctx", 0600, 0));
	EXPECT_FALSE(sh_exists(self->dir, "ctx"));
	close(fd);
	close(context);
}

/* A call that cannot tell what it did has not done it. */
TEST_F(context_by_name, bad_answer)
{
	int context = sh_export_context(self->sh.fd, 0), fd = uv_open();
	struct uv_cmd cmd;

	ASSERT_GE(context, 0);
	ASSERT_GE(fd, 0);
	uv_init(&cmd, SHVERBS_OBJECT_SHARE, SHVERBS_METHOD_ATTACH_CONTEXT);
	uv_fd(&cmd, SHVERBS_ATTR_ATTACH_CONTEXT_FD, context);
	uv_out(&cmd, SHVERBS_ATTR_ATTACH_CONTEXT_RIGHTS, UV_BAD_PTR, 4);
	EXPECT_EQ(-EFAULT, uv_ioctl(fd, &cmd));
	EXPECT_EQ(0, sh_attach(fd, context));
	close(fd);
	close(context);
}

TEST_HARNESS_MAIN
