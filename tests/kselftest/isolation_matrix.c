// SPDX-License-Identifier: GPL-2.0
/*
 * Who gets at what: users, groups, modes, rights, namespaces, devices and
 * capabilities against names, object fds, handles, offsets and keys.
 */
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "share.h"

#define ALICE 2001
#define BOB 2002
#define MALLORY 2003
#define RDMA 2000
#define OTHERS 2999

FIXTURE(isolation)
{
	struct sh sh;
	char path[200];
	int dir;
};

FIXTURE_SETUP(isolation)
{
	sh_start(_metadata, &self->sh);
	self->dir = sh_dir(self->path, sizeof(self->path));
	ASSERT_GE(self->dir, 0);
	umask(0);
}

FIXTURE_TEARDOWN(isolation)
{
	close(self->dir);
	sh_end(_metadata, &self->sh);
}

/* ---- a process of some user, with what capabilities it keeps ---- */

struct who {
	const char *name;
	uid_t uid;
	gid_t gid;
	gid_t extra;		/* a supplementary group, if not 0 */
	unsigned long caps;	/* bits of capabilities, all effective */
	int unshare;		/* namespaces of its own */
};

static int become(const struct who *who)
{
	struct __user_cap_header_struct header = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct data[2] = {};
	int i;

	if (setgroups(who->extra ? 1 : 0, &who->extra) || setresgid(who->gid,
	    who->gid, who->gid) || prctl(PR_SET_KEEPCAPS, 1) ||
	    setresuid(who->uid, who->uid, who->uid))
		return -1;
	for (i = 0; i < 2; i++) {
		data[i].effective = (__u32)(who->caps >> (32 * i));
		data[i].permitted = data[i].effective;
	}
	if (syscall(SYS_capset, &header, data))
		return -1;
	return who->unshare ? unshare(who->unshare) : 0;
}

/* Runs something as somebody: its 0 or errno, and 255 if that cannot be. */
#define AS(who, what)                                                      \
	({                                                                 \
		int status = -1;                                           \
		pid_t pid = fork();                                        \
		if (!pid) {                                                \
			int ret;                                           \
			if (become(who))                                   \
				_exit(255);                                \
			ret = (what);                                      \
			_exit(ret < 0 ? -ret : 0);                         \
		}                                                          \
		ASSERT_EQ(pid, waitpid(pid, &status, 0));                  \
		ASSERT_TRUE(WIFEXITED(status));                            \
		WEXITSTATUS(status);                                       \
	})

#define CAP(cap) (1UL << (cap))

/* ---- modes against users ---- */

/* Imports by name, as far as it comes. */
static int import_by_name(int dir, const char *name, int flags, __u32 *rights)
{
	struct sh_import import = {};
	struct uv_ctx ctx;
	int object, ret;

	object = openat(dir, name, flags);
	if (object < 0)
		return -errno;
	ret = uv_ctx_open(&ctx);
	if (!ret)
		ret = sh_import_mr(ctx.fd, object, &import);
	*rights = import.rights;
	return ret;
}

static int import_exactly(int dir, const char *name, int flags, __u32 want)
{
	__u32 rights = 0;
	int ret = import_by_name(dir, name, flags, &rights);

	return ret ? ret : rights == want ? 0 : -EILSEQ;
}

static const struct who people[] = {
	{ .name = "alice", .uid = ALICE, .gid = RDMA },
	{ .name = "bob", .uid = BOB, .gid = RDMA },
	{ .name = "bob by a supplementary group", .uid = BOB, .gid = OTHERS,
	  .extra = RDMA },
	{ .name = "mallory", .uid = MALLORY, .gid = OTHERS },
	{ .name = "mallory with CAP_NET_ADMIN and CAP_IPC_LOCK",
	  .uid = MALLORY, .gid = OTHERS,
	  .caps = CAP(CAP_NET_ADMIN) | CAP(CAP_IPC_LOCK) },
	{ .name = "mallory, root in a user namespace", .uid = MALLORY,
	  .gid = OTHERS, .unshare = CLONE_NEWUSER },
	{ .name = "mallory with CAP_DAC_OVERRIDE", .uid = MALLORY, .gid = OTHERS,
	  .caps = CAP(CAP_DAC_OVERRIDE) },
};

#define R SHVERBS_RIGHT_USE
#define W (SHVERBS_RIGHT_USE | SHVERBS_RIGHT_MODIFY)

/* The name is alice's, of the group rdma. What each person gets, read-only and read-write. */
static const struct {
	mode_t mode;
	/* In the order of the people: 0 none, R, W. */
	__u32 gets[7];
} modes[] = {
	{ 0000, { 0, 0, 0, 0, 0, 0, W } },
	{ 0400, { R, 0, 0, 0, 0, 0, W } },
	{ 0600, { W, 0, 0, 0, 0, 0, W } },
	{ 0640, { W, R, R, 0, 0, 0, W } },
	{ 0660, { W, W, W, 0, 0, 0, W } },
	{ 0644, { W, R, R, R, R, R, W } },
	{ 0666, { W, W, W, W, W, W, W } },
	{ 0606, { W, 0, 0, W, W, W, W } },
	{ 0066, { 0, W, W, W, W, W, W } },
	/* To execute or to write only says nothing. */
	{ 0111, { 0, 0, 0, 0, 0, 0, W } },
	{ 0222, { 0, 0, 0, 0, 0, 0, W } },
};

TEST_F(isolation, modes_and_users)
{
	struct sh *sh = &self->sh;
	struct sh_name name = { self->dir, "matrix", 0600, 0 };
	size_t m, p;

	ASSERT_EQ(0, sh_publish(sh->fd, UVERBS_OBJECT_MR, sh->mr.handle, &name));
	ASSERT_EQ(0, fchownat(self->dir, "matrix", ALICE, RDMA, 0));
	for (m = 0; m < ARRAY_SIZE(modes); m++) {
		ASSERT_EQ(0, fchmodat(self->dir, "matrix", modes[m].mode, 0));
		for (p = 0; p < ARRAY_SIZE(people); p++) {
			__u32 gets = modes[m].gets[p];
			int r = AS(&people[p], import_exactly(self->dir, "matrix",
							      O_RDONLY, R));
			int w = AS(&people[p], import_exactly(self->dir, "matrix",
							      O_RDWR, W));
			int o = AS(&people[p], openat(self->dir, "matrix",
						      O_WRONLY) < 0 ? -errno : 0);

			EXPECT_EQ(gets ? 0 : EACCES, r)
			{
				TH_LOG("%s, mode %o, to read", people[p].name,
				       modes[m].mode);
			}
			EXPECT_EQ(gets == W ? 0 : EACCES, w)
			{
				TH_LOG("%s, mode %o, to read and write",
				       people[p].name, modes[m].mode);
			}
			EXPECT_EQ(EACCES, o);
		}
	}
	EXPECT_EQ(0, unlinkat(self->dir, "matrix", 0));
}

/* A directory in the way stops those who may not search it. */
TEST_F(isolation, directories)
{
	struct sh *sh = &self->sh;
	struct sh_name name = { .name = "n", .mode = 0666 };
	size_t p;

	ASSERT_EQ(0, mkdirat(self->dir, "private", 0700));
	ASSERT_EQ(0, fchownat(self->dir, "private", ALICE, RDMA, 0));
	name.dir = openat(self->dir, "private", O_RDONLY | O_DIRECTORY);
	ASSERT_EQ(0, sh_publish(sh->fd, UVERBS_OBJECT_MR, sh->mr.handle, &name));
	for (p = 0; p < ARRAY_SIZE(people); p++) {
		bool may = people[p].uid == ALICE ||
			   people[p].caps & CAP(CAP_DAC_OVERRIDE);

		EXPECT_EQ(may ? 0 : EACCES,
			  AS(&people[p], import_exactly(self->dir, "private/n",
							O_RDONLY, R)))
		{
			TH_LOG("%s", people[p].name);
		}
	}
	EXPECT_EQ(0, unlinkat(name.dir, "n", 0));
	close(name.dir);
	EXPECT_EQ(0, unlinkat(self->dir, "private", AT_REMOVEDIR));
}

/* ---- what takes a capability ---- */

static int publish_strong(struct sh *sh, int dir)
{
	struct sh_name name = { dir, "strong", 0600, SHVERBS_PUBLISH_STRONG };
	struct rlimit none = {};

	if (setrlimit(RLIMIT_MEMLOCK, &none))
		return -EDOM;
	return sh_publish(sh->fd, UVERBS_OBJECT_MR, sh->mr.handle, &name);
}

TEST_F(isolation, capabilities)
{
	struct sh *sh = &self->sh;
	const struct who bare = { .uid = ALICE, .gid = RDMA };
	const struct who lock = { .uid = ALICE, .gid = RDMA,
				  .caps = CAP(CAP_IPC_LOCK) };
	const struct who nearly_all = { .uid = ALICE, .gid = RDMA,
		.caps = ((1UL << (CAP_LAST_CAP + 1)) - 1) & ~CAP(CAP_IPC_LOCK) };

	EXPECT_EQ(EPERM, AS(&bare, publish_strong(sh, self->dir)));
	EXPECT_EQ(EPERM, AS(&nearly_all, publish_strong(sh, self->dir)));
	EXPECT_FALSE(sh_exists(self->dir, "strong"));
	EXPECT_EQ(0, AS(&lock, publish_strong(sh, self->dir)));
	EXPECT_EQ(0, unlinkat(self->dir, "strong", 0));
}

/* ---- rights: every set of them against every method ---- */

static int publish_as(int fd, int dir, __u32 handle, __u64 flags)
{
	struct sh_name name = { dir, "right", 0600, flags };
	int ret = sh_publish(fd, UVERBS_OBJECT_MR, handle, &name);

	if (!ret)
		unlinkat(dir, "right", 0);
	return ret;
}

static int export_once(int fd, __u32 handle, __u64 rights)
{
	int object = sh_export(fd, UVERBS_OBJECT_MR, handle, rights);

	if (object >= 0)
		close(object);
	return object < 0 ? object : 0;
}

TEST_F(isolation, rights)
{
	struct sh *sh = &self->sh;
	__u32 rights, wish;

	for (rights = 1; rights < 16; rights++) {
		struct sh_import import;
		int object = sh_export_as(sh->fd, UVERBS_OBJECT_MR,
					  sh->mr.handle, rights,
					  SHVERBS_EXPORT_REVOCABLE);
		bool share = rights & SHVERBS_RIGHT_SHARE;
		bool revoke = rights & SHVERBS_RIGHT_REVOKE;

		ASSERT_GE(object, 0);
		EXPECT_EQ(rights & SHVERBS_RIGHT_USE ? 0 : -EPERM,
			  sh_import_mr(sh->other, object, &import));
		ASSERT_EQ(0, sh_import(sh->other, object, &import));
		EXPECT_EQ(rights, import.rights);
		for (wish = 1; wish < 16; wish++) {
			EXPECT_EQ(share && !(wish & ~rights) ? 0 : -EPERM,
				  export_once(sh->other, import.handle, wish))
			{
				TH_LOG("rights %x, wish %x", rights, wish);
			}
		}
		EXPECT_EQ(share ? 0 : -EPERM,
			  publish_as(sh->other, self->dir, import.handle, 0));
		EXPECT_EQ(share && revoke ? 0 : -EPERM,
			  publish_as(sh->other, self->dir, import.handle,
				     SHVERBS_PUBLISH_REVOCABLE));
		if (!revoke) {
			EXPECT_EQ(-EPERM, sh_revoke(sh->other, UVERBS_OBJECT_MR,
						    import.handle));
		}
		EXPECT_EQ(0, sh_release(sh->other, UVERBS_OBJECT_MR,
					import.handle));
		close(object);
	}
	abi_same(_metadata, &sh->made, "rights");
}

/* ---- one who was never given anything ---- */

/* Tries every handle in every method with a file of its own; how often that worked. */
static int try_handles(const struct sh *sh)
{
	static const __u16 kinds[] = { UVERBS_OBJECT_PD, UVERBS_OBJECT_MR,
				       UVERBS_OBJECT_CQ, UVERBS_OBJECT_QP };
	struct sh_holders holders;
	struct uv_ctx ctx;
	struct uv_mr mr;
	int hits = 0, got;
	__u32 handle;
	size_t k;

	if (uv_ctx_open(&ctx))
		return 200;
	for (handle = 0; handle < 64; handle++) {
		for (k = 0; k < ARRAY_SIZE(kinds); k++) {
			got = sh_export(ctx.fd, kinds[k], handle, 0);
			hits += got >= 0;
			hits += !sh_holders(ctx.fd, kinds[k], handle, &holders);
			hits += !sh_revoke(ctx.fd, kinds[k], handle);
			hits += !sh_release(ctx.fd, kinds[k], handle);
		}
		hits += !uv_mr_reg(ctx.fd, handle, sh->memory, SH_MR_SIZE,
				   UV_ACCESS_ALL, &mr);
		hits += !uv_mr_destroy(ctx.fd, handle);
		hits += !uv_pd_destroy(ctx.fd, handle);
	}
	uv_ctx_close(&ctx);
	return hits;
}

/* Every descriptor that it could have inherited, were they not close-on-exec. */
static int try_fds(void)
{
	struct sh_import import;
	struct uv_ctx ctx;
	int fd, hits = 0;

	if (uv_ctx_open(&ctx))
		return 200;
	for (fd = -2; fd < 1024; fd++)
		if (fd != ctx.fd)
			hits += !sh_import(ctx.fd, fd, &import);
	uv_ctx_close(&ctx);
	return hits;
}

/* Every offset at which the rings of another might be. */
static int try_offsets(void)
{
	struct uv_ctx ctx;
	int hits = 0;
	__u64 page;
	void *map;

	if (uv_ctx_open(&ctx))
		return 200;
	for (page = 0; page < 4096; page++) {
		map = mmap(NULL, 4096, PROT_READ, MAP_SHARED, ctx.fd, page << 12);
		if (map != MAP_FAILED) {
			hits++;
			munmap(map, 4096);
		}
	}
	uv_ctx_close(&ctx);
	return hits;
}

TEST_F(isolation, never_given)
{
	struct sh *sh = &self->sh;
	const struct who mallory = { .uid = MALLORY, .gid = OTHERS };
	struct uv_res with;
	struct uv_cq cq;
	struct uv_qp qp;
	int object;

	ASSERT_EQ(0, uv_cq_create(sh->fd, 100, -1, 0, &cq));
	ASSERT_EQ(0, uv_qp_create(sh->fd, sh->pd, cq.handle, IB_UVERBS_QPT_RC,
				  &qp));
	object = sh_export(sh->fd, UVERBS_OBJECT_MR, sh->mr.handle, 0);
	ASSERT_GE(object, 0);
	ASSERT_EQ(0, uv_res_get(&with));
	EXPECT_EQ(0, AS(&mallory, -try_handles(sh)));
	/* As a program that was executed; the files of the parent are gone there. */
	EXPECT_EQ(0, AS(&mallory, (closefrom(3), -try_fds())));
	EXPECT_EQ(0, AS(&mallory, -try_offsets()));
	abi_same(_metadata, &with, "tried");
	close(object);
}

/* ---- network namespaces that may not see the device ---- */

static int set_netns(const char *mode)
{
	char line[64];

	snprintf(line, sizeof(line), "rdma system set netns %s", mode);
	return system(line);
}

/* With an object fd of the device at hand; 0, or what it reached. */
static int try_from_elsewhere(const struct uv_dev *dev, int object)
{
	char path[300];
	int fd;

	if (unshare(CLONE_NEWNS | CLONE_NEWNET) ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("shverbs", "/mnt", "shverbs", 0, NULL))
		return 1;
	snprintf(path, sizeof(path), "/mnt/%s", dev->ibdev);
	if (!access(path, F_OK))
		return 2;
	fd = open(dev->node, O_RDWR);
	if (fd >= 0)
		return 3;
	/* An object fd alone opens nothing: an import takes a file of the device. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", object);
	if (open(path, O_RDWR) >= 0)
		return 4;
	return 0;
}

TEST_F(isolation, network_namespaces)
{
	struct sh *sh = &self->sh;
	struct uv_dev dev;
	int object, status;
	pid_t pid;

	ASSERT_EQ(0, uv_dev_find(&dev));
	object = sh_export(sh->fd, UVERBS_OBJECT_MR, sh->mr.handle, 0);
	ASSERT_GE(object, 0);
	if (set_netns("exclusive"))
		SKIP(return, "other network namespaces are there");
	pid = fork();
	if (!pid)
		_exit(try_from_elsewhere(&dev, object));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status)
	{
		TH_LOG("reached: %d", WEXITSTATUS(status));
	}
	EXPECT_EQ(0, set_netns("shared"));
	close(object);
}

/* ---- nothing of the kernel's is to be learned ---- */

static bool has_pointer(const void *data, size_t len)
{
	const unsigned char *bytes = data;
	__u64 word;
	size_t i;

	for (i = 0; i + sizeof(word) <= len; i++) {
		memcpy(&word, bytes + i, sizeof(word));
		if (word >> 47 == 0x1ffff && word != ~0ULL)
			return true;
	}
	return false;
}

TEST_F(isolation, no_addresses)
{
	struct sh *sh = &self->sh;
	struct sh_name name = { self->dir, "leak", 0600, 0 };
	unsigned char driver[512];
	struct sh_holders holders;
	struct sh_import import;
	char text[4096] = "", link[200] = "", path[64];
	struct uv_cmd cmd;
	int object;
	ssize_t n;

	ASSERT_EQ(0, sh_publish(sh->fd, UVERBS_OBJECT_MR, sh->mr.handle, &name));
	object = openat(self->dir, "leak", O_RDWR);
	ASSERT_GE(object, 0);
	n = read(object, text, sizeof(text) - 1);
	ASSERT_LT(0, n);
	EXPECT_EQ(NULL, strstr(text, "ffff"));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", object);
	ASSERT_LT(0, readlink(path, link, sizeof(link) - 1));
	EXPECT_EQ(NULL, strstr(link, "ffff"));
	memset(driver, 0xa5, sizeof(driver));
	sh_import_prep(&cmd, object, &import);
	uv_out(&cmd, SHVERBS_ATTR_IMPORT_MR, &import.mr, sizeof(import.mr));
	uv_out(&cmd, SHVERBS_ATTR_IMPORT_DRIVER, driver, sizeof(driver));
	ASSERT_EQ(0, uv_ioctl(sh->other, &cmd));
	EXPECT_FALSE(has_pointer(&import, sizeof(import)));
	EXPECT_FALSE(has_pointer(driver, sizeof(driver)));
	EXPECT_FALSE(has_pointer(&cmd, sizeof(cmd)));
	ASSERT_EQ(0, sh_holders(sh->other, UVERBS_OBJECT_MR, import.handle,
				&holders));
	EXPECT_FALSE(has_pointer(&holders, sizeof(holders)));
	close(object);
	EXPECT_EQ(0, unlinkat(self->dir, "leak", 0));
}

TEST_HARNESS_MAIN
