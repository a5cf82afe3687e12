// SPDX-License-Identifier: GPL-2.0
/*
 * The device goes while it has names, object fds, imports, QPs and owners in
 * several processes: all of them learn it at once, none of them hinders it, and
 * nothing of it is left.
 */
#include "share_rig.h"

FIXTURE(unplug)
{
	struct rig rig;
	char path[200];
	int dir, pd, mr;
	struct uv_ctx ctx;	/* of the test itself, to speak by hand */
	__u32 handle;		/* of the MR, in the test's own file */
	long module;		/* references on the module before the test */
};

static long module_references(void)
{
	char text[32];

	if (uv_read_line("/sys/module/shverbs/refcnt", text, sizeof(text)))
		return -1;
	return atol(text);
}

static int run(const char *command, const char *device)
{
	char line[200];

	snprintf(line, sizeof(line), command, device);
	return system(line);
}

FIXTURE_SETUP(unplug)
{
	struct rig *rig = &self->rig;
	struct sh_name weak = { .name = "weak", .mode = 0600 };
	struct sh_name strong = { .name = "strong", .mode = 0600,
				  .flags = SHVERBS_PUBLISH_STRONG };
	struct sh_import import;

	rig_setup(_metadata, rig);
	self->dir = sh_dir(self->path, sizeof(self->path));
	ASSERT_GE(self->dir, 0);
	weak.dir = strong.dir = self->dir;
	self->module = module_references();
	rig_start(_metadata, rig, 3);
	rig_share(_metadata, rig, 1);
	rig_share(_metadata, rig, 2);
	ASSERT_EQ(0, peer_tell(&rig->peers[1], PEER_QPS, 0, 0));
	self->pd = peer_export(&rig->peers[0], PEER_PD);
	self->mr = peer_export(&rig->peers[0], PEER_MR);
	ASSERT_EQ(0, uv_ctx_open(&self->ctx));
	ASSERT_EQ(0, sh_import(self->ctx.fd, self->mr, &import));
	self->handle = import.handle;
	ASSERT_EQ(0, sh_publish_fd(self->ctx.fd, self->mr, &weak));
	ASSERT_EQ(0, sh_publish_fd(self->ctx.fd, self->mr, &strong));
	ASSERT_EQ(0, mkdirat(self->dir, "below", 0700));
	ASSERT_EQ(0, run("rdma link delete %s", rig->device));
}

FIXTURE_TEARDOWN(unplug)
{
	int i;

	close(self->dir);
	close(self->pd);
	close(self->mr);
	uv_ctx_close(&self->ctx);
	for (i = 0; i < RIG_PEERS; i++)
		if (self->rig.peers[i].pid > 0) {
			EXPECT_EQ(0, peer_end(&self->rig.peers[i]));
		}
	ASSERT_EQ(0, run("rdma link add %s type rxe netdev dummy0",
			 self->rig.device));
	EXPECT_TRUE(uv_res_settles(&self->rig.idle, 2000));
	/* A file or object that was leaked would hold the module for ever. */
	EXPECT_LE(module_references(), self->module);
	/* All is as on the first day. */
	ASSERT_EQ(0, peer_start(&self->rig.peers[0], self->rig.device));
	EXPECT_EQ(0, peer_tell(&self->rig.peers[0], PEER_OPEN, 0, 0));
	EXPECT_EQ(0, peer_tell(&self->rig.peers[0], PEER_MAKE, 0, 0));
	EXPECT_EQ(0, peer_tell(&self->rig.peers[0], PEER_RDMA, 0, 1));
	EXPECT_EQ(0, peer_end(&self->rig.peers[0]));
}

/* Hardware, pins and charges go at once, not when somebody closes something. */
TEST_F_TIMEOUT(unplug, nothing_stays_pinned, 120)
{
	EXPECT_TRUE(rig_pinned_settles(self->rig.pinned));
	EXPECT_EQ(0, peer_tell(&self->rig.peers[0], PEER_VMPIN, 0, 0));
}

TEST_F_TIMEOUT(unplug, names_vanish, 120)
{
	EXPECT_EQ(-1, access(self->path, F_OK));
	EXPECT_EQ(ENOENT, errno);
	/* Also for one who stands in the directory that was. */
	EXPECT_FALSE(sh_exists(self->dir, "weak"));
	EXPECT_FALSE(sh_exists(self->dir, "strong"));
	EXPECT_FALSE(sh_exists(self->dir, "below"));
	EXPECT_EQ(-1, mkdirat(self->dir, "new", 0700));
}

TEST_F_TIMEOUT(unplug, everything_says_eio, 120)
{
	int fd = self->ctx.fd;
	struct sh_name name = { self->dir, "late", 0600, 0 };
	struct sh_import import;

	EXPECT_EQ(-EIO, sh_import(fd, self->pd, &import));
	EXPECT_EQ(-EIO, sh_import(fd, self->mr, &import));
	EXPECT_EQ(-EIO, sh_export(fd, UVERBS_OBJECT_PD, 1, 0));
	EXPECT_EQ(-EIO, sh_publish_fd(fd, self->mr, &name));
	/* What one has may be given up, once. */
	EXPECT_EQ(0, sh_release(fd, UVERBS_OBJECT_MR, self->handle));
	EXPECT_EQ(-ENOENT, sh_release(fd, UVERBS_OBJECT_MR, self->handle));
}

TEST_F_TIMEOUT(unplug, owners_may_go_in_any_order, 120)
{
	close(self->mr);
	self->mr = -1;
	EXPECT_EQ(SIGKILL, peer_kill(&self->rig.peers[0]));
	EXPECT_EQ(0, peer_end(&self->rig.peers[2]));
}

/* The device that comes back under the same name is another device. */
TEST_F_TIMEOUT(unplug, old_fds_are_not_the_new_devices, 120)
{
	struct sh_import import;
	struct uv_ctx ctx;

	ASSERT_EQ(0, run("rdma link add %s type rxe netdev dummy0",
			 self->rig.device));
	ASSERT_EQ(0, uv_ctx_open(&ctx));
	EXPECT_EQ(-EIO, sh_import(ctx.fd, self->pd, &import));
	EXPECT_EQ(-EIO, sh_import(ctx.fd, self->mr, &import));
	uv_ctx_close(&ctx);
	ASSERT_EQ(0, run("rdma link delete %s", self->rig.device));
}

TEST_HARNESS_MAIN
