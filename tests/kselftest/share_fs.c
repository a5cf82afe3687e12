// SPDX-License-Identifier: GPL-2.0
/*
 * The object file system as a file system: how it is mounted and unmounted, by
 * whom, and what the tools that everybody knows find in it.
 */
#include <linux/mount.h>
#include <sched.h>
#include <sys/inotify.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>

#include "share.h"

#define ALICE 2001
#define GROUP 2000
#define WHERE "/tmp/shverbs-fs"

FIXTURE(fs)
{
	struct sh sh;
	struct uv_dev dev;
	char path[200];
	int dir;
};

FIXTURE_SETUP(fs)
{
	sh_start(_metadata, &self->sh);
	ASSERT_EQ(0, uv_dev_find(&self->dev));
	self->dir = sh_dir(self->path, sizeof(self->path));
	ASSERT_GE(self->dir, 0);
	umask(0);
	mkdir(WHERE, 0755);
}

FIXTURE_TEARDOWN(fs)
{
	close(self->dir);
	rmdir(WHERE);
	sh_end(_metadata, &self->sh);
}

static int publish(struct sh *sh, int dir, const char *name, __u64 flags)
{
	struct sh_name where = { dir, name, 0644, flags };

	return sh_publish(sh->fd, UVERBS_OBJECT_MR, sh->mr.handle, &where);
}

/*
 * Runs a function in a child with mounts of its own and, as there is an instance
 * for each network namespace, with a fresh one of those.  0, or the line it failed
 * at.
 */
static int apart(int (*what)(const struct uv_dev *), const struct uv_dev *dev)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		if (unshare(CLONE_NEWNS | CLONE_NEWNET) ||
		    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
			_exit(__LINE__ & 0xff);
		_exit(what(dev) & 0xff);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

#define CHECK(what)                                                        \
	do {                                                               \
		if (!(what))                                               \
			return __LINE__;                                   \
	} while (0)

static int mount_at(const char *options)
{
	return mount("shverbs", WHERE, "shverbs", 0, options) ? -errno : 0;
}

static int device_is(const struct uv_dev *dev, uid_t uid, gid_t gid, mode_t mode)
{
	struct stat st;
	char path[200];

	snprintf(path, sizeof(path), WHERE "/%s", dev->ibdev);
	return !stat(path, &st) && st.st_uid == uid && st.st_gid == gid &&
	       st.st_mode == (S_IFDIR | mode);
}

/* What /proc/mounts says of the options. */
static int mounts_say(const char *options)
{
	char line[512];
	FILE *f = fopen("/proc/mounts", "re");
	int found = 0;

	if (!f)
		return 0;
	while (fgets(line, sizeof(line), f))
		found |= strstr(line, WHERE) && strstr(line, options);
	fclose(f);
	return found;
}

static int with_options(const struct uv_dev *dev)
{
	CHECK(!mount_at("uid=2001,gid=2000,mode=0750"));
	CHECK(device_is(dev, ALICE, GROUP, 0750));
	CHECK(mounts_say("uid=2001,gid=2000,mode=750"));
	/* What a remount does not name stays. */
	CHECK(!mount(NULL, WHERE, NULL, MS_REMOUNT, "mode=1770"));
	CHECK(device_is(dev, ALICE, GROUP, 01770));
	CHECK(!mount(NULL, WHERE, NULL, MS_REMOUNT, "uid=0,gid=0"));
	CHECK(device_is(dev, 0, 0, 01770));
	CHECK(mount(NULL, WHERE, NULL, MS_REMOUNT, "mode=17777") && errno == EINVAL);
	CHECK(device_is(dev, 0, 0, 01770));
	CHECK(!mount(NULL, WHERE, NULL, MS_REMOUNT | MS_RDONLY, NULL));
	CHECK(mounts_say(" ro,"));
	CHECK(!umount(WHERE));
	return 0;
}

TEST_F(fs, mount_options)
{
	EXPECT_EQ(0, apart(with_options, &self->dev));
}

static int wrong_options(const struct uv_dev *dev)
{
	const char *const wrong[] = { "mode=17777", "mode=8", "mode=", "mode",
				      "uid=alice", "uid=-1", "gid=4294967295",
				      "size=1", "x" };
	size_t i;

	(void)dev;
	for (i = 0; i < ARRAY_SIZE(wrong); i++)
		CHECK(mount_at(wrong[i]) == -EINVAL);
	CHECK(!mount_at(NULL));
	CHECK(!umount(WHERE));
	return 0;
}

TEST_F(fs, wrong_mount_options)
{
	EXPECT_EQ(0, apart(wrong_options, &self->dev));
}

/* Two mounts of one network namespace are the same instance. */
TEST_F(fs, one_for_each_namespace)
{
	char path[300];
	struct stat a, b;

	ASSERT_EQ(0, mount_at(NULL));
	ASSERT_EQ(0, publish(&self->sh, self->dir, "both", 0));
	snprintf(path, sizeof(path), WHERE "/%s/both", self->dev.ibdev);
	EXPECT_EQ(0, stat(path, &a));
	EXPECT_EQ(0, fstatat(self->dir, "both", &b, 0));
	EXPECT_EQ(a.st_dev, b.st_dev);
	EXPECT_EQ(a.st_ino, b.st_ino);
	EXPECT_EQ(0, unlink(path));
	EXPECT_FALSE(sh_exists(self->dir, "both"));
	EXPECT_EQ(0, umount(WHERE));
}

static int other_instance(const struct uv_dev *dev)
{
	char path[300];

	CHECK(!mount_at(NULL));
	snprintf(path, sizeof(path), WHERE "/%s/here", dev->ibdev);
	CHECK(access(path, F_OK) && errno == ENOENT);
	CHECK(!umount(WHERE));
	return 0;
}

TEST_F(fs, names_are_not_seen_from_another_namespace)
{
	ASSERT_EQ(0, publish(&self->sh, self->dir, "here", 0));
	EXPECT_EQ(0, apart(other_instance, &self->dev));
	EXPECT_EQ(0, unlinkat(self->dir, "here", 0));
}

/*
 * Who is root in a user namespace only may not mount it: device directories
 * would be theirs to give to anybody.
 */
static int in_user_namespace(const struct uv_dev *dev)
{
	(void)dev;
	CHECK(!unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET));
	CHECK(mount_at(NULL) == -EPERM);
	return 0;
}

TEST_F(fs, not_from_a_user_namespace)
{
	EXPECT_EQ(0, apart(in_user_namespace, &self->dev));
}

/* No id maps: PUBLISH makes names as the caller's user, which a map would hide. */
TEST_F(fs, no_id_mapped_mounts)
{
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_IDMAP };
	int tree, status, hold[2];
	char path[64];
	pid_t pid;

	ASSERT_EQ(0, pipe(hold));
	pid = fork();
	if (!pid) {
		char byte = 0;

		if (unshare(CLONE_NEWUSER) || write(hold[1], &byte, 1) != 1)
			_exit(1);
		pause();
		_exit(0);
	}
	ASSERT_EQ(1, read(hold[0], path, 1));
	snprintf(path, sizeof(path), "/proc/%d/uid_map", pid);
	attr.userns_fd = open(path, O_WRONLY);
	ASSERT_EQ(10, write(attr.userns_fd, "0 100000 1", 10));
	close(attr.userns_fd);
	snprintf(path, sizeof(path), "/proc/%d/gid_map", pid);
	attr.userns_fd = open(path, O_WRONLY);
	ASSERT_EQ(10, write(attr.userns_fd, "0 100000 1", 10));
	close(attr.userns_fd);
	snprintf(path, sizeof(path), "/proc/%d/ns/user", pid);
	attr.userns_fd = open(path, O_RDONLY);
	tree = syscall(SYS_open_tree, AT_FDCWD, SHVERBS_FS_MOUNT_POINT,
		       OPEN_TREE_CLONE);
	ASSERT_GE(tree, 0);
	EXPECT_EQ(-1, syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH, &attr,
			      sizeof(attr)));
	EXPECT_EQ(EINVAL, errno);
	close(tree);
	close(attr.userns_fd);
	kill(pid, SIGKILL);
	EXPECT_EQ(pid, waitpid(pid, &status, 0));
}

TEST_F(fs, statfs)
{
	struct statfs fs;

	ASSERT_EQ(0, fstatfs(self->dir, &fs));
	EXPECT_EQ(SHVERBS_FS_MAGIC, fs.f_type);
	EXPECT_EQ(255, fs.f_namelen);
	EXPECT_EQ(sysconf(_SC_PAGESIZE), fs.f_bsize);
	/* No space to be used up: df leaves it out, df -a shows it. */
	EXPECT_EQ(0, fs.f_blocks);
	EXPECT_EQ(0, WEXITSTATUS(system("df -a " SHVERBS_FS_MOUNT_POINT
					" >/dev/null")));
}

TEST_F(fs, long_names)
{
	char name[257];

	memset(name, 'n', sizeof(name));
	name[255] = 0;
	EXPECT_EQ(0, publish(&self->sh, self->dir, name, 0));
	EXPECT_TRUE(sh_exists(self->dir, name));
	EXPECT_EQ(-EEXIST, publish(&self->sh, self->dir, name, 0));
	EXPECT_EQ(0, renameat(self->dir, name, self->dir, "short"));
	EXPECT_EQ(0, renameat(self->dir, "short", self->dir, name));
	EXPECT_EQ(0, unlinkat(self->dir, name, 0));
	name[255] = 'n';
	name[256] = 0;
	EXPECT_EQ(-ENAMETOOLONG, publish(&self->sh, self->dir, name, 0));
	EXPECT_EQ(-1, mkdirat(self->dir, name, 0755));
	EXPECT_EQ(ENAMETOOLONG, errno);
}

TEST_F(fs, read_only)
{
	char path[300];
	int dir, object;

	ASSERT_EQ(0, mount_at(NULL));
	ASSERT_EQ(0, mount(NULL, WHERE, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY,
			   NULL));
	snprintf(path, sizeof(path), WHERE "/%s", self->dev.ibdev);
	dir = open(path, O_RDONLY | O_DIRECTORY);
	ASSERT_GE(dir, 0);
	EXPECT_EQ(-EROFS, publish(&self->sh, dir, "n", 0));
	ASSERT_EQ(0, publish(&self->sh, self->dir, "n", 0));
	/* Which does not keep anybody from using what is there. */
	object = openat(dir, "n", O_RDONLY);
	EXPECT_GE(object, 0);
	close(object);
	EXPECT_EQ(-1, unlinkat(dir, "n", 0));
	EXPECT_EQ(EROFS, errno);
	EXPECT_EQ(0, unlinkat(self->dir, "n", 0));
	close(dir);
	EXPECT_EQ(0, umount(WHERE));
}

static int unmount_while_open(const struct uv_dev *dev)
{
	struct sh_import import;
	struct sh_name name = { .name = "n", .mode = 0600,
				.flags = SHVERBS_PUBLISH_STRONG };
	struct uv_ctx maker, user;
	char path[300];
	int object;
	__u32 pd;

	CHECK(!mount_at(NULL));
	snprintf(path, sizeof(path), WHERE "/%s", dev->ibdev);
	name.dir = open(path, O_RDONLY | O_DIRECTORY);
	CHECK(name.dir >= 0);
	CHECK(!uv_ctx_open(&maker) && !uv_ctx_open(&user));
	CHECK(!uv_pd_alloc(maker.fd, UV_WRITE, &pd));
	CHECK(!sh_publish(maker.fd, UVERBS_OBJECT_PD, pd, &name));
	uv_ctx_close(&maker);
	object = openat(name.dir, "n", O_RDONLY);
	CHECK(object >= 0);
	close(name.dir);
	/* The object fd holds it, as any open file does. */
	CHECK(umount(WHERE) && errno == EBUSY);
	CHECK(!umount2(WHERE, MNT_DETACH));
	CHECK(!sh_import(user.fd, object, &import));
	close(object);
	/* Now the instance and its names are gone, and the handle stays. */
	CHECK(!uv_pd_destroy(user.fd, import.handle));
	uv_ctx_close(&user);
	return 0;
}

TEST_F(fs, unmounted_while_open)
{
	EXPECT_EQ(0, apart(unmount_while_open, &self->dev));
	EXPECT_TRUE(uv_res_settles(&self->sh.made, 2000));
}

/* Strong names go with their instance, as files of a tmpfs do. */
static int unmount_with_names(const struct uv_dev *dev)
{
	struct sh_name name = { .name = "n", .mode = 0600,
				.flags = SHVERBS_PUBLISH_STRONG };
	struct uv_ctx maker;
	char path[300];
	__u32 pd;

	CHECK(!mount_at(NULL));
	snprintf(path, sizeof(path), WHERE "/%s", dev->ibdev);
	name.dir = open(path, O_RDONLY | O_DIRECTORY);
	CHECK(!uv_ctx_open(&maker));
	CHECK(!uv_pd_alloc(maker.fd, UV_WRITE, &pd));
	CHECK(!sh_publish(maker.fd, UVERBS_OBJECT_PD, pd, &name));
	uv_ctx_close(&maker);
	close(name.dir);
	CHECK(!umount(WHERE));
	return 0;
}

TEST_F(fs, unmounted_with_strong_names)
{
	EXPECT_EQ(0, apart(unmount_with_names, &self->dev));
	EXPECT_TRUE(uv_res_settles(&self->sh.made, 2000));
}

/* The mask of the next event, and its name. */
static __u32 next_event(int fd, char *name, size_t len)
{
	char buf[sizeof(struct inotify_event) + NAME_MAX + 1];
	struct inotify_event *event = (struct inotify_event *)buf;
	struct pollfd pfd = { .fd = fd, .events = POLLIN };

	if (poll(&pfd, 1, 5000) != 1 || read(fd, buf, sizeof(buf)) <= 0)
		return 0;
	snprintf(name, len, "%s", event->len ? event->name : "");
	return event->mask;
}

TEST_F(fs, inotify)
{
	int fd = inotify_init1(IN_CLOEXEC);
	char name[NAME_MAX + 1];

	ASSERT_GE(fd, 0);
	ASSERT_GE(inotify_add_watch(fd, self->path, IN_CREATE | IN_DELETE), 0);
	ASSERT_EQ(0, publish(&self->sh, self->dir, "first", 0));
	EXPECT_EQ(IN_CREATE, next_event(fd, name, sizeof(name)));
	EXPECT_STREQ("first", name);
	ASSERT_EQ(0, unlinkat(self->dir, "first", 0));
	EXPECT_EQ(IN_DELETE, next_event(fd, name, sizeof(name)));
	/* And when a weak name vanishes, which nobody unlinks. */
	ASSERT_EQ(0, publish(&self->sh, self->dir, "second", 0));
	EXPECT_EQ(IN_CREATE, next_event(fd, name, sizeof(name)));
	ASSERT_EQ(0, uv_mr_destroy(self->sh.fd, self->sh.mr.handle));
	EXPECT_EQ(IN_DELETE, next_event(fd, name, sizeof(name)));
	EXPECT_STREQ("second", name);
	close(fd);
}

/* An ACL of the mode 0600 that lets one more user read, as setfacl writes it. */
struct acl {
	__le32 version;
	struct {
		__le16 tag, perm;
		__le32 id;
	} entries[5];
};

static int try_open_as(int dir, const char *name, uid_t user)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		if (setgid(user) || setuid(user))
			_exit(255);
		_exit(openat(dir, name, O_RDONLY) < 0 ? errno : 0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

TEST_F(fs, acl)
{
	const struct acl acl = { 2, {
		{ 0x01, 6, -1 },	/* the owner */
		{ 0x02, 4, ALICE },
		{ 0x04, 0, -1 },	/* the group */
		{ 0x10, 4, -1 },	/* the mask */
		{ 0x20, 0, -1 },	/* others */
	} };
	char path[300];

	ASSERT_EQ(0, publish(&self->sh, self->dir, "acl", 0));
	ASSERT_EQ(0, fchmodat(self->dir, "acl", 0600, 0));
	EXPECT_EQ(EACCES, try_open_as(self->dir, "acl", ALICE));
	snprintf(path, sizeof(path), "%s/acl", self->path);
	ASSERT_EQ(0, setxattr(path, "system.posix_acl_access", &acl, sizeof(acl),
			      0));
	EXPECT_EQ(0, try_open_as(self->dir, "acl", ALICE));
	EXPECT_EQ(EACCES, try_open_as(self->dir, "acl", ALICE + 1));
	EXPECT_EQ(0, unlinkat(self->dir, "acl", 0));
}

TEST_HARNESS_MAIN
