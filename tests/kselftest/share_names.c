// SPDX-License-Identifier: GPL-2.0
/* The object file system: who may do what with a name, and when it goes. */
#include <grp.h>
#include <sys/resource.h>

#include "share.h"

#define ALICE 2001
#define BOB 2002
#define GROUP 2000

FIXTURE(names)
{
	struct sh sh;
	char path[200];
	int dir;
};

FIXTURE_SETUP(names)
{
	sh_start(_metadata, &self->sh);
	self->dir = sh_dir(self->path, sizeof(self->path));
	ASSERT_GE(self->dir, 0);
	umask(0);
}

FIXTURE_TEARDOWN(names)
{
	close(self->dir);
	sh_end(_metadata, &self->sh);
}

static int publish_mr(struct sh *sh, int dir, const char *name, __u64 mode,
		      __u64 flags)
{
	struct sh_name where = { dir, name, mode, flags };

	return sh_publish(sh->fd, UVERBS_OBJECT_MR, sh->mr.handle, &where);
}

/* Runs in a child of another user, with no capability; its answer or -errno. */
#define AS(user, group, what)                                              \
	({                                                                 \
		int status = -1;                                           \
		pid_t pid = fork();                                        \
		if (!pid) {                                                \
			if (setgroups(0, NULL) || setgid(group) ||         \
			    setuid(user))                                  \
				_exit(255);                                \
			_exit((what) < 0 ? errno : 0);                     \
		}                                                          \
		ASSERT_EQ(pid, waitpid(pid, &status, 0));                  \
		ASSERT_TRUE(WIFEXITED(status));                            \
		WEXITSTATUS(status);                                       \
	})

TEST_F(names, mode_and_umask)
{
	struct stat st;

	ASSERT_EQ(0, publish_mr(&self->sh, self->dir, "plain", 0640, 0));
	ASSERT_EQ(0, fstatat(self->dir, "plain", &st, 0));
	EXPECT_EQ(S_IFREG | 0640, st.st_mode);
	EXPECT_EQ(getuid(), st.st_uid);
	EXPECT_EQ(getgid(), st.st_gid);
	EXPECT_EQ(1, st.st_nlink);
	umask(0027);
	ASSERT_EQ(0, publish_mr(&self->sh, self->dir, "masked", 0666, 0));
	ASSERT_EQ(0, fstatat(self->dir, "masked", &st, 0));
	EXPECT_EQ(S_IFREG | 0640, st.st_mode);
	EXPECT_EQ(0, unlinkat(self->dir, "plain", 0));
	EXPECT_EQ(0, unlinkat(self->dir, "masked", 0));
}

TEST_F(names, who_may_open)
{
	struct sh *sh = &self->sh;

	ASSERT_EQ(0, publish_mr(sh, self->dir, "n", 0640, 0));
	ASSERT_EQ(0, fchownat(self->dir, "n", ALICE, GROUP, 0));
	EXPECT_EQ(0, AS(ALICE, GROUP, openat(self->dir, "n", O_RDWR)));
	EXPECT_EQ(0, AS(BOB, GROUP, openat(self->dir, "n", O_RDONLY)));
	EXPECT_EQ(EACCES, AS(BOB, GROUP, openat(self->dir, "n", O_RDWR)));
	EXPECT_EQ(EACCES, AS(BOB, BOB, openat(self->dir, "n", O_RDONLY)));
	ASSERT_EQ(0, fchmodat(self->dir, "n", 0604, 0));
	EXPECT_EQ(EACCES, AS(BOB, GROUP, openat(self->dir, "n", O_RDONLY)));
	EXPECT_EQ(0, AS(BOB, BOB, openat(self->dir, "n", O_RDONLY)));
	/* Neither the mode nor the owner are for others to change. */
	EXPECT_EQ(EPERM, AS(BOB, GROUP, fchmodat(self->dir, "n", 0666, 0)));
	EXPECT_EQ(0, AS(ALICE, GROUP, fchmodat(self->dir, "n", 0660, 0)));
	EXPECT_EQ(0, unlinkat(self->dir, "n", 0));
}

TEST_F(names, who_may_publish)
{
	struct sh *sh = &self->sh;
	struct sh_name where;
	struct stat st;

	ASSERT_EQ(0, mkdirat(self->dir, "alices", 0755));
	ASSERT_EQ(0, fchownat(self->dir, "alices", ALICE, GROUP, 0));
	where.dir = openat(self->dir, "alices", O_RDONLY | O_DIRECTORY);
	ASSERT_GE(where.dir, 0);
	EXPECT_EQ(EACCES, AS(BOB, GROUP, (errno = -publish_mr(sh, where.dir, "n", 0600, 0)) ? -1 : 0));
	EXPECT_FALSE(sh_exists(where.dir, "n"));
	EXPECT_EQ(0, AS(ALICE, GROUP, (errno = -publish_mr(sh, where.dir, "n", 0600, 0)) ? -1 : 0));
	ASSERT_EQ(0, fstatat(where.dir, "n", &st, 0));
	EXPECT_EQ(ALICE, st.st_uid);
	EXPECT_EQ(GROUP, st.st_gid);
	EXPECT_EQ(EACCES, AS(BOB, GROUP, unlinkat(where.dir, "n", 0)));
	EXPECT_EQ(0, AS(ALICE, GROUP, unlinkat(where.dir, "n", 0)));
	close(where.dir);
	EXPECT_EQ(0, unlinkat(self->dir, "alices", AT_REMOVEDIR));
}

/* The group of a set-group-id directory, and the sticky bit, as anywhere. */
TEST_F(names, directory_bits)
{
	struct sh *sh = &self->sh;
	struct stat st;
	int dir;

	ASSERT_EQ(0, mkdirat(self->dir, "open", 0700));
	ASSERT_EQ(0, fchownat(self->dir, "open", 0, GROUP, 0));
	ASSERT_EQ(0, fchmodat(self->dir, "open", 03777, 0));
	dir = openat(self->dir, "open", O_RDONLY | O_DIRECTORY);
	ASSERT_EQ(0, publish_mr(sh, dir, "n", 0600, 0));
	ASSERT_EQ(0, fstatat(dir, "n", &st, 0));
	EXPECT_EQ(GROUP, st.st_gid);
	EXPECT_EQ(EPERM, AS(BOB, BOB, unlinkat(dir, "n", 0)));
	EXPECT_EQ(0, unlinkat(dir, "n", 0));
	close(dir);
	EXPECT_EQ(0, unlinkat(self->dir, "open", AT_REMOVEDIR));
}

TEST_F(names, rename)
{
	struct sh *sh = &self->sh;
	struct sh_import import;
	int fd;

	ASSERT_EQ(0, mkdirat(self->dir, "below", 0700));
	ASSERT_EQ(0, publish_mr(sh, self->dir, "one", 0600, 0));
	EXPECT_EQ(0, renameat(self->dir, "one", self->dir, "two"));
	EXPECT_EQ(0, renameat(self->dir, "two", self->dir, "below/three"));
	EXPECT_FALSE(sh_exists(self->dir, "one"));
	EXPECT_FALSE(sh_exists(self->dir, "two"));
	fd = openat(self->dir, "below/three", O_RDONLY);
	ASSERT_GE(fd, 0);
	EXPECT_EQ(0, sh_import(sh->other, fd, &import));
	close(fd);
	/* Not out of the device's directory, where it would mean another thing. */
	EXPECT_NE(0, renameat(self->dir, "below/three", self->dir, "../three"));
	EXPECT_EQ(0, unlinkat(self->dir, "below/three", 0));
	EXPECT_EQ(0, unlinkat(self->dir, "below", AT_REMOVEDIR));
}

TEST_F(names, rename_over_another)
{
	struct sh *sh = &self->sh;
	struct sh_name pd = { self->dir, "pd", 0600, 0 };
	struct sh_import import;
	int fd;

	ASSERT_EQ(0, publish_mr(sh, self->dir, "mr", 0600, 0));
	ASSERT_EQ(0, sh_publish(sh->fd, UVERBS_OBJECT_PD, sh->pd, &pd));
	EXPECT_EQ(0, renameat(self->dir, "mr", self->dir, "pd"));
	EXPECT_FALSE(sh_exists(self->dir, "mr"));
	fd = openat(self->dir, "pd", O_RDONLY);
	ASSERT_GE(fd, 0);
	ASSERT_EQ(0, sh_import(sh->other, fd, &import));
	EXPECT_EQ(UVERBS_OBJECT_MR, import.object_id);
	close(fd);
	EXPECT_EQ(0, unlinkat(self->dir, "pd", 0));
}

TEST_F(names, nothing_else_is_made_here)
{
	ASSERT_EQ(0, publish_mr(&self->sh, self->dir, "n", 0600, 0));
	EXPECT_EQ(-1, openat(self->dir, "file", O_CREAT | O_RDWR, 0600));
	EXPECT_EQ(-1, symlinkat("n", self->dir, "link"));
	EXPECT_EQ(-1, linkat(self->dir, "n", self->dir, "link", 0));
	EXPECT_EQ(-1, mknodat(self->dir, "fifo", S_IFIFO | 0600, 0));
	EXPECT_EQ(-1, mknodat(self->dir, "null", S_IFCHR | 0600, 0x103));
	EXPECT_EQ(0, unlinkat(self->dir, "n", 0));
}

TEST_F(names, directories_of_devices_stay)
{
	EXPECT_EQ(-1, rmdir(self->path));
	EXPECT_EQ(-1, rename(self->path, SHVERBS_FS_MOUNT_POINT "/other"));
	EXPECT_EQ(-1, mkdir(SHVERBS_FS_MOUNT_POINT "/other", 0700));
	EXPECT_TRUE(sh_exists(self->dir, "."));
}

/* key: value lines for people and scripts. */
TEST_F(names, cat)
{
	char text[2048] = "", want[64];
	ssize_t n;
	int fd;

	ASSERT_EQ(0, publish_mr(&self->sh, self->dir, "n", 0600, 0));
	fd = openat(self->dir, "n", O_RDONLY);
	ASSERT_GE(fd, 0);
	n = read(fd, text, sizeof(text) - 1);
	ASSERT_GT(n, 0);
	EXPECT_EQ('\n', text[n - 1]);
	EXPECT_NE(NULL, strstr(text, "kind: mr\n"));
	EXPECT_NE(NULL, strstr(text, "device: "));
	snprintf(want, sizeof(want), ": %d\n", SH_MR_SIZE);
	EXPECT_NE(NULL, strstr(text, want));
	/* No pointer of the kernel, and no key either: those take an import. */
	EXPECT_EQ(NULL, strstr(text, "ffff8"));
	EXPECT_EQ(NULL, strstr(text, "key"));
	EXPECT_EQ(0, read(fd, text, sizeof(text)));
	close(fd);
	EXPECT_EQ(0, unlinkat(self->dir, "n", 0));
}

/* ---- weak and strong ---- */

TEST_F(names, weak_goes_with_the_last_owner)
{
	struct sh *sh = &self->sh;
	int fd;

	ASSERT_EQ(0, publish_mr(sh, self->dir, "weak", 0600, 0));
	fd = openat(self->dir, "weak", O_RDONLY);
	ASSERT_GE(fd, 0);
	EXPECT_EQ(0, uv_mr_destroy(sh->fd, sh->mr.handle));
	/* The fd owns the MR now, so the name is there, and gives more. */
	EXPECT_TRUE(sh_exists(self->dir, "weak"));
	abi_same(_metadata, &sh->made, "the fd owns it");
	close(fd);
	EXPECT_TRUE(sh_vanishes(self->dir, "weak", 2000));
	sh->made.mr--;
	EXPECT_TRUE(uv_res_settles(&sh->made, 2000));
}

TEST_F(names, weak_does_not_keep)
{
	struct sh *sh = &self->sh;

	ASSERT_EQ(0, publish_mr(sh, self->dir, "weak", 0600, 0));
	EXPECT_EQ(0, uv_mr_destroy(sh->fd, sh->mr.handle));
	EXPECT_TRUE(sh_vanishes(self->dir, "weak", 2000));
	EXPECT_EQ(-1, openat(self->dir, "weak", O_RDONLY));
	EXPECT_EQ(ENOENT, errno);
	EXPECT_EQ(0, uv_vmpin_kb());
}

/* Neither the object nor its context, by a look at a name. */
TEST_F(names, who_looks_keeps_nothing)
{
	struct sh *sh = &self->sh;
	struct sh_name where = { self->dir, "seen", 0600, 0 };
	struct uv_ctx ctx;
	struct uv_mr mr;
	__u32 pd;
	int fd;

	ASSERT_EQ(0, uv_ctx_open(&ctx));
	ASSERT_EQ(0, uv_pd_alloc(ctx.fd, UV_WRITE, &pd));
	ASSERT_EQ(0, uv_mr_reg(ctx.fd, pd, sh->memory, SH_MR_SIZE,
			       UV_ACCESS_ALL, &mr));
	ASSERT_EQ(0, sh_publish(ctx.fd, UVERBS_OBJECT_MR, mr.handle, &where));
	fd = openat(self->dir, "seen", O_PATH);
	ASSERT_GE(fd, 0);
	uv_ctx_close(&ctx);
	EXPECT_TRUE(uv_res_settles(&sh->made, 2000));
	EXPECT_TRUE(sh_vanishes(self->dir, "seen", 2000));
	close(fd);
}

TEST_F(names, several_of_one_object)
{
	struct sh *sh = &self->sh;

	ASSERT_EQ(0, publish_mr(sh, self->dir, "one", 0600, 0));
	ASSERT_EQ(0, publish_mr(sh, self->dir, "two", 0600, 0));
	EXPECT_EQ(0, unlinkat(self->dir, "one", 0));
	EXPECT_TRUE(sh_exists(self->dir, "two"));
	EXPECT_EQ(0, uv_mr_destroy(sh->fd, sh->mr.handle));
	EXPECT_TRUE(sh_vanishes(self->dir, "two", 2000));
}

TEST_F(names, unlink_leaves_the_object)
{
	struct sh *sh = &self->sh;

	ASSERT_EQ(0, publish_mr(sh, self->dir, "weak", 0600, 0));
	EXPECT_EQ(0, unlinkat(self->dir, "weak", 0));
	abi_same(_metadata, &sh->made, "its handle owns it");
	EXPECT_EQ(0, uv_mr_destroy(sh->fd, sh->mr.handle));
}

TEST_F(names, strong_keeps)
{
	struct sh *sh = &self->sh;
	struct sh_import import;
	int fd;

	ASSERT_EQ(0, publish_mr(sh, self->dir, "strong", 0600,
				SHVERBS_PUBLISH_STRONG));
	EXPECT_EQ(0, uv_mr_destroy(sh->fd, sh->mr.handle));
	abi_same(_metadata, &sh->made, "the name owns it");
	fd = openat(self->dir, "strong", O_RDONLY);
	ASSERT_GE(fd, 0);
	EXPECT_EQ(0, sh_import_mr(sh->other, fd, &import));
	EXPECT_EQ(sh->mr.rkey, import.mr.rkey);
	close(fd);
	EXPECT_EQ(0, uv_mr_destroy(sh->other, import.handle));
	EXPECT_TRUE(sh_exists(self->dir, "strong"));
	EXPECT_EQ(0, unlinkat(self->dir, "strong", 0));
	sh->made.mr--;
	EXPECT_TRUE(uv_res_settles(&sh->made, 2000));
	EXPECT_EQ(0, uv_vmpin_kb());
}

/* An unlinked name that is still open is an object fd and nothing more. */
TEST_F(names, strong_unlinked_while_open)
{
	struct sh *sh = &self->sh;
	int fd;

	ASSERT_EQ(0, publish_mr(sh, self->dir, "strong", 0600,
				SHVERBS_PUBLISH_STRONG));
	fd = openat(self->dir, "strong", O_RDONLY);
	ASSERT_GE(fd, 0);
	EXPECT_EQ(0, uv_mr_destroy(sh->fd, sh->mr.handle));
	EXPECT_EQ(0, unlinkat(self->dir, "strong", 0));
	abi_same(_metadata, &sh->made, "the fd owns it");
	close(fd);
	sh->made.mr--;
	EXPECT_TRUE(uv_res_settles(&sh->made, 2000));
}

/* Without capabilities, and with so much of RLIMIT_MEMLOCK. */
static int publish_strong(struct sh *sh, int dir, const char *name, rlim_t limit)
{
	struct rlimit room = { limit, limit };

	errno = setrlimit(RLIMIT_MEMLOCK, &room) ? EDOM :
		-publish_mr(sh, dir, name, 0600, SHVERBS_PUBLISH_STRONG);
	return errno ? -1 : 0;
}

/* CAP_IPC_LOCK, or room for as many bytes as the object has, at least a page. */
TEST_F(names, strong_takes_room)
{
	struct sh *sh = &self->sh;
	struct sh_name pd;
	int dir;

	ASSERT_EQ(0, mkdirat(self->dir, "any", 0777));
	dir = openat(self->dir, "any", O_RDONLY | O_DIRECTORY);
	EXPECT_EQ(EPERM, AS(ALICE, GROUP, publish_strong(sh, dir, "n", 0)));
	EXPECT_EQ(ENOMEM, AS(ALICE, GROUP, publish_strong(sh, dir, "n",
							  SH_MR_SIZE - 1)));
	EXPECT_FALSE(sh_exists(dir, "n"));
	EXPECT_EQ(0, AS(ALICE, GROUP, publish_strong(sh, dir, "a", SH_MR_SIZE)));
	/* It is the user's, whichever process published it, and not another's. */
	EXPECT_EQ(ENOMEM, AS(ALICE, GROUP, publish_strong(sh, dir, "b",
							  SH_MR_SIZE)));
	EXPECT_EQ(ENOMEM, AS(ALICE, GROUP, publish_strong(sh, dir, "b",
							  2 * SH_MR_SIZE - 1)));
	EXPECT_EQ(0, AS(BOB, GROUP, publish_strong(sh, dir, "c", SH_MR_SIZE)));
	EXPECT_EQ(0, AS(ALICE, GROUP, publish_strong(sh, dir, "b",
						     2 * SH_MR_SIZE)));
	/* A PD takes a page. */
	pd = (struct sh_name){ dir, "pd", 0600, SHVERBS_PUBLISH_STRONG };
	EXPECT_EQ(ENOMEM, AS(ALICE, GROUP, ({
		struct rlimit room = { 2 * SH_MR_SIZE, 2 * SH_MR_SIZE };

		setrlimit(RLIMIT_MEMLOCK, &room);
		errno = -sh_publish(sh->fd, UVERBS_OBJECT_PD, sh->pd, &pd);
		errno ? -1 : 0;
	})));
	/* Room comes back with unlink, and a publish that fails takes none. */
	EXPECT_EQ(0, unlinkat(dir, "a", 0));
	EXPECT_EQ(EEXIST, AS(ALICE, GROUP, publish_strong(sh, dir, "b",
							  2 * SH_MR_SIZE)));
	EXPECT_EQ(0, AS(ALICE, GROUP, publish_strong(sh, dir, "a",
						     2 * SH_MR_SIZE)));
	EXPECT_EQ(0, unlinkat(dir, "a", 0));
	EXPECT_EQ(0, unlinkat(dir, "b", 0));
	EXPECT_EQ(0, unlinkat(dir, "c", 0));
	EXPECT_EQ(0, AS(ALICE, GROUP, publish_strong(sh, dir, "a", SH_MR_SIZE)));
	EXPECT_EQ(0, unlinkat(dir, "a", 0));
	close(dir);
	EXPECT_EQ(0, unlinkat(self->dir, "any", AT_REMOVEDIR));
}

TEST_F(names, reading_needs_no_rdma)
{
	EXPECT_EQ(0, publish_mr(&self->sh, self->dir, "n", 0644, 0));
	EXPECT_EQ(0, AS(BOB, BOB, openat(self->dir, "n", O_RDONLY)));
	EXPECT_EQ(0, unlinkat(self->dir, "n", 0));
}

TEST_HARNESS_MAIN
