// SPDX-License-Identifier: GPL-2.0
/* PUBLISH: what it refuses, and what a name is that it made. */
#include "share.h"

FIXTURE(publish)
{
	struct sh sh;
	char path[200];
	int dir;
};

FIXTURE_SETUP(publish)
{
	sh_start(_metadata, &self->sh);
	self->dir = sh_dir(self->path, sizeof(self->path));
	ASSERT_GE(self->dir, 0);
	umask(0);
}

FIXTURE_TEARDOWN(publish)
{
	close(self->dir);
	sh_end(_metadata, &self->sh);
}

static int publish_dir = -1;

static void fill_publish(struct sh *sh, struct uv_cmd *cmd)
{
	struct sh_name name = { publish_dir, "long-enough-name", 0600, 0 };

	uv_init(cmd, SHVERBS_OBJECT_SHARE, SHVERBS_METHOD_PUBLISH);
	uv_const(cmd, SHVERBS_ATTR_PUBLISH_OBJECT_ID, UVERBS_OBJECT_MR);
	uv_const(cmd, SHVERBS_ATTR_PUBLISH_HANDLE, sh->mr.handle);
	sh_name_attrs(cmd, &name);
}

static void undo_publish(struct __test_metadata *_metadata, struct sh *sh,
			 struct uv_cmd *cmd)
{
	(void)sh;
	(void)cmd;
	EXPECT_EQ(0, unlinkat(publish_dir, "long-enough-name", 0));
}

TEST_F(publish, attributes)
{
	static const struct sh_attr attrs[] = {
		SH_ATTR(SHVERBS_ATTR_PUBLISH_OBJECT_ID, SH_CONST),
		SH_ATTR(SHVERBS_ATTR_PUBLISH_HANDLE, SH_CONST),
		SH_ATTR(SHVERBS_ATTR_PUBLISH_DIR_FD, SH_RAW_FD),
		SH_ATTR(SHVERBS_ATTR_PUBLISH_NAME, SH_IN),
		SH_ATTR(SHVERBS_ATTR_PUBLISH_MODE, SH_CONST),
		SH_OPTIONAL(SHVERBS_ATTR_PUBLISH_FLAGS, SH_FLAGS),
	};
	const struct sh_method method = { attrs, 6, fill_publish, undo_publish };

	publish_dir = self->dir;
	sh_spoil_method(_metadata, &self->sh, &method);
	EXPECT_FALSE(sh_exists(self->dir, "long-enough-name"));
}

TEST_F(publish, handle_and_fd_at_once)
{
	struct sh *sh = &self->sh;
	int fd = sh_export(sh->fd, UVERBS_OBJECT_MR, sh->mr.handle, 0);
	struct uv_cmd cmd;

	publish_dir = self->dir;
	fill_publish(sh, &cmd);
	uv_fd(&cmd, SHVERBS_ATTR_PUBLISH_FD, fd);
	EXPECT_EQ(-EINVAL, uv_ioctl(sh->fd, &cmd));
	uv_drop(&cmd, SHVERBS_ATTR_PUBLISH_HANDLE);
	EXPECT_EQ(-EINVAL, uv_ioctl(sh->fd, &cmd));
	uv_drop(&cmd, SHVERBS_ATTR_PUBLISH_OBJECT_ID);
	EXPECT_EQ(0, uv_ioctl(sh->fd, &cmd));
	undo_publish(_metadata, sh, &cmd);
	close(fd);
}

TEST_F(publish, names_that_are_not)
{
	char longest[257];
	const struct {
		const char *name;
		int want;
	} names[] = {
		{ ".", -EINVAL }, { "..", -EINVAL },
		{ "a/b", -EINVAL }, { "/", -EINVAL }, { "ab/", -EINVAL },
		{ longest, -ENAMETOOLONG },
	};
	struct sh *sh = &self->sh;
	size_t i;
	int ret;

	memset(longest, 'n', sizeof(longest));
	longest[256] = 0;
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct sh_name name = { self->dir, names[i].name, 0600, 0 };

		ret = sh_publish(sh->fd, UVERBS_OBJECT_MR, sh->mr.handle, &name);
		ABI_EXPECT(names[i].want, ret, names[i].name);
	}
	longest[255] = 0;
	{
		struct sh_name name = { self->dir, longest, 0600, 0 };

		EXPECT_EQ(0, sh_publish(sh->fd, UVERBS_OBJECT_MR, sh->mr.handle,
					&name));
		EXPECT_EQ(0, unlinkat(self->dir, longest, 0));
	}
}

TEST_F(publish, name_with_a_nul)
{
	struct ib_uverbs_attr *attr;
	struct uv_cmd cmd;

	publish_dir = self->dir;
	fill_publish(&self->sh, &cmd);
	attr = uv_find(&cmd, SHVERBS_ATTR_PUBLISH_NAME);
	attr->data = uv_u64("nul\0in-the-middle");
	attr->len = 17;
	EXPECT_EQ(-EINVAL, uv_ioctl(self->sh.fd, &cmd));
	EXPECT_FALSE(sh_exists(self->dir, "nul"));
}

TEST_F(publish, directories_that_are_not)
{
	struct sh *sh = &self->sh;
	struct sh_name taken = { self->dir, "a-name", 0600, 0 };
	const struct {
		const char *path;
		int want;
	} dirs[] = {
		{ "/tmp", -EINVAL },
		{ "/", -EINVAL },
		/* The root is no device's. */
		{ SHVERBS_FS_MOUNT_POINT, -EXDEV },
		{ "/dev/null", -ENOTDIR },
		{ "/etc/passwd", -ENOTDIR },
	};
	size_t i;
	int ret;

	for (i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++) {
		int dir = open(dirs[i].path, O_RDONLY | O_CLOEXEC);
		struct sh_name name = { dir, "a-name", 0600, 0 };

		ASSERT_GE(dir, 0);
		ret = sh_publish(sh->fd, UVERBS_OBJECT_MR, sh->mr.handle, &name);
		ABI_EXPECT(dirs[i].want, ret, dirs[i].path);
		close(dir);
	}
	taken.dir = -1;
	EXPECT_EQ(-EBADF, sh_publish(sh->fd, UVERBS_OBJECT_MR, sh->mr.handle,
				     &taken));
}

/* Neither another name, nor a directory, nor an object fd where one must be. */
TEST_F(publish, name_as_a_directory)
{
	struct sh *sh = &self->sh;
	struct sh_name name = { self->dir, "a-name", 0600, 0 };
	int fd;

	ASSERT_EQ(0, sh_publish(sh->fd, UVERBS_OBJECT_MR, sh->mr.handle, &name));
	EXPECT_EQ(-EEXIST, sh_publish(sh->fd, UVERBS_OBJECT_PD, sh->pd, &name));
	EXPECT_EQ(-EEXIST, sh_publish(sh->fd, UVERBS_OBJECT_MR, sh->mr.handle,
				      &name));
	fd = openat(self->dir, "a-name", O_RDWR | O_CLOEXEC);
	ASSERT_GE(fd, 0);
	name.dir = fd;
	EXPECT_EQ(-ENOTDIR, sh_publish(sh->fd, UVERBS_OBJECT_MR, sh->mr.handle,
				       &name));
	close(fd);
	EXPECT_EQ(0, unlinkat(self->dir, "a-name", 0));
}

TEST_F(publish, handles_that_are_not)
{
	struct sh *sh = &self->sh;
	struct sh_name name = { self->dir, "a-name", 0600, 0 };

	EXPECT_EQ(-ENOENT, sh_publish(sh->fd, UVERBS_OBJECT_MR, ABI_NO_HANDLE,
				      &name));
	EXPECT_EQ(-EINVAL, sh_publish(sh->fd, UVERBS_OBJECT_MR, sh->pd, &name));
	EXPECT_EQ(-ENOENT, sh_publish(sh->other, UVERBS_OBJECT_PD, sh->pd, &name));
	EXPECT_EQ(-EBADF, sh_publish_fd(sh->fd, sh->fd, &name));
	EXPECT_EQ(-EBADF, sh_publish_fd(sh->fd, self->dir, &name));
	EXPECT_EQ(-EBADF, sh_publish_fd(sh->fd, -1, &name));
	EXPECT_FALSE(sh_exists(self->dir, "a-name"));
}

TEST_F(publish, mode_is_permission_bits)
{
	struct sh *sh = &self->sh;
	struct sh_name name = { self->dir, "a-name", 010000, 0 };

	EXPECT_EQ(-EINVAL, sh_publish(sh->fd, UVERBS_OBJECT_MR, sh->mr.handle,
				      &name));
	name.mode = S_IFDIR | 0600;
	EXPECT_EQ(-EINVAL, sh_publish(sh->fd, UVERBS_OBJECT_MR, sh->mr.handle,
				      &name));
	name.mode = (1ULL << 32) | 0600;
	EXPECT_EQ(-EINVAL, sh_publish(sh->fd, UVERBS_OBJECT_MR, sh->mr.handle,
				      &name));
}

TEST_F(publish, through_an_object_fd)
{
	struct sh *sh = &self->sh;
	struct sh_name name = { self->dir, "a-name", 0600, 0 };
	int with = sh_export(sh->fd, UVERBS_OBJECT_MR, sh->mr.handle, 0);
	int without = sh_export(sh->fd, UVERBS_OBJECT_MR, sh->mr.handle,
				SHVERBS_RIGHT_USE | SHVERBS_RIGHT_MODIFY);

	EXPECT_EQ(-EPERM, sh_publish_fd(sh->other, without, &name));
	EXPECT_EQ(0, sh_publish_fd(sh->other, with, &name));
	EXPECT_TRUE(sh_exists(self->dir, "a-name"));
	close(with);
	close(without);
	EXPECT_EQ(0, unlinkat(self->dir, "a-name", 0));
}

/* A name gives no more than the handle that it was made from. */
TEST_F(publish, rights_of_a_name)
{
	struct sh *sh = &self->sh;
	struct sh_name all = { self->dir, "all", 0600, 0 };
	struct sh_name some = { self->dir, "some", 0600, 0 };
	const __u32 use = SHVERBS_RIGHT_USE, modify = SHVERBS_RIGHT_MODIFY;
	int fd = sh_export(sh->fd, UVERBS_OBJECT_MR, sh->mr.handle,
			   SHVERBS_RIGHT_USE | SHVERBS_RIGHT_SHARE);
	const struct {
		const char *name;
		int flags;
		__u32 want;
	} opens[] = {
		{ "all", O_RDONLY, use }, { "all", O_RDWR, use | modify },
		{ "some", O_RDONLY, use }, { "some", O_RDWR, use },
	};
	struct sh_import import;
	size_t i;

	ASSERT_EQ(0, sh_publish(sh->fd, UVERBS_OBJECT_MR, sh->mr.handle, &all));
	ASSERT_EQ(0, sh_publish_fd(sh->fd, fd, &some));
	close(fd);
	for (i = 0; i < sizeof(opens) / sizeof(opens[0]); i++) {
		fd = openat(self->dir, opens[i].name, opens[i].flags | O_CLOEXEC);
		ASSERT_GE(fd, 0);
		ASSERT_EQ(0, sh_import(sh->other, fd, &import));
		EXPECT_EQ(opens[i].want, import.rights)
		{
			TH_LOG("%s opened with flags %d", opens[i].name,
			       opens[i].flags);
		}
		close(fd);
	}
	EXPECT_EQ(0, unlinkat(self->dir, "all", 0));
	EXPECT_EQ(0, unlinkat(self->dir, "some", 0));
}

TEST_F(publish, unlinked_directory)
{
	struct sh *sh = &self->sh;
	struct sh_name name = { -1, "a-name", 0600, 0 };

	ASSERT_EQ(0, mkdirat(self->dir, "going", 0700));
	name.dir = openat(self->dir, "going", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ASSERT_GE(name.dir, 0);
	EXPECT_EQ(0, sh_publish(sh->fd, UVERBS_OBJECT_MR, sh->mr.handle, &name));
	EXPECT_EQ(0, unlinkat(name.dir, "a-name", 0));
	ASSERT_EQ(0, unlinkat(self->dir, "going", AT_REMOVEDIR));
	EXPECT_EQ(-ENOENT, sh_publish(sh->fd, UVERBS_OBJECT_MR, sh->mr.handle,
				      &name));
	close(name.dir);
}

TEST_HARNESS_MAIN
