// SPDX-License-Identifier: GPL-2.0
/*
 * Rabinovitch 2019: a bullet-proof sharer process is needed.  It is not: a
 * strong name owns its object, with no process at all, until it is unlinked.
 */
#include "share_rig.h"

RIG_FIXTURE(strong_name_outlives_processes)

static long publish(struct peer *peer, enum peer_what what, const char *path,
		    __u64 flags)
{
	long ret = peer_send(peer, PEER_PUBLISH, what, flags, path);

	return ret ? ret : peer_wait(peer);
}

static long import_name(struct peer *peer, enum peer_what what, int dir,
			const char *name)
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	long ret = fd < 0 ? -errno : peer_import_fd(peer, what, fd);

	close(fd);
	return ret;
}

struct objects {
	int dir;
	char pd[300];
	char mr[300];
};

static void publish_both(struct __test_metadata *_metadata, struct rig *rig,
			 struct objects *o)
{
	char path[200];

	o->dir = sh_dir(path, sizeof(path));
	ASSERT_GE(o->dir, 0);
	snprintf(o->pd, sizeof(o->pd), "%s/strong.pd", path);
	snprintf(o->mr, sizeof(o->mr), "%s/strong.mr", path);
	ASSERT_EQ(0, publish(&rig->peers[0], PEER_PD, o->pd, SHVERBS_PUBLISH_STRONG));
	ASSERT_EQ(0, publish(&rig->peers[0], PEER_MR, o->mr, SHVERBS_PUBLISH_STRONG));
}

static void unlink_both(struct __test_metadata *_metadata, struct rig *rig,
			struct objects *o)
{
	EXPECT_EQ(0, unlink(o->pd));
	EXPECT_TRUE(rig_has(rig, 1, 1));	/* the MR owns its PD */
	EXPECT_EQ(0, unlink(o->mr));
	EXPECT_TRUE(rig_has(rig, 0, 0));
	EXPECT_TRUE(rig_pinned_settles(rig->pinned));
	close(o->dir);
}

/* Everybody dies; one who comes later finds the data of the first. */
TEST_F(strong_name_outlives_processes, found_again)
{
	struct rig *rig = &self->rig;
	struct peer *late = &rig->peers[2];
	struct objects o;

	rig_start(_metadata, rig, 2);
	rig_share(_metadata, rig, 1);
	publish_both(_metadata, rig, &o);
	EXPECT_EQ(0, peer_tell(&rig->peers[1], PEER_RDMA, 0, 11));
	EXPECT_EQ(0, rig_leave(&rig->peers[0], WAY_KILL));
	EXPECT_EQ(0, rig_leave(&rig->peers[1], WAY_KILL));
	EXPECT_TRUE(rig_has(rig, 1, 1));
	EXPECT_TRUE(rig_pinned_settles(rig->pinned + PEER_KB));

	ASSERT_EQ(0, peer_start(late, rig->device));
	ASSERT_EQ(0, peer_tell(late, PEER_OPEN, 0, 0));
	ASSERT_EQ(0, import_name(late, PEER_PD, o.dir, "strong.pd"));
	ASSERT_EQ(0, import_name(late, PEER_MR, o.dir, "strong.mr"));
	EXPECT_EQ(0, peer_tell(late, PEER_READ, 0, 11));
	EXPECT_EQ(0, peer_tell(late, PEER_RDMA, 0, 12));
	EXPECT_EQ(0, rig_leave(late, WAY_KILL));
	EXPECT_TRUE(rig_has(rig, 1, 1));
	unlink_both(_metadata, rig, &o);
}

/* And nobody else dies with the names, either. */
TEST_F(strong_name_outlives_processes, unlinked_while_in_use)
{
	struct rig *rig = &self->rig;
	struct objects o;

	rig_start(_metadata, rig, 2);
	publish_both(_metadata, rig, &o);
	EXPECT_EQ(0, rig_leave(&rig->peers[0], WAY_KILL));
	ASSERT_EQ(0, import_name(&rig->peers[1], PEER_PD, o.dir, "strong.pd"));
	ASSERT_EQ(0, import_name(&rig->peers[1], PEER_MR, o.dir, "strong.mr"));
	EXPECT_EQ(0, unlink(o.pd));
	EXPECT_EQ(0, unlink(o.mr));
	EXPECT_TRUE(rig_has(rig, 1, 1));
	EXPECT_EQ(0, peer_tell(&rig->peers[1], PEER_RDMA, 0, 13));
	EXPECT_EQ(0, rig_leave(&rig->peers[1], WAY_DESTROY));
	EXPECT_TRUE(rig_has(rig, 0, 0));
	close(o.dir);
}

/* A weak name is the other thing: it keeps nothing. */
TEST_F(strong_name_outlives_processes, weak_does_not)
{
	struct rig *rig = &self->rig;
	char path[200], name[300];
	int dir = sh_dir(path, sizeof(path));

	ASSERT_GE(dir, 0);
	snprintf(name, sizeof(name), "%s/weak.mr", path);
	rig_start(_metadata, rig, 1);
	ASSERT_EQ(0, publish(&rig->peers[0], PEER_MR, name, 0));
	EXPECT_TRUE(sh_exists(dir, "weak.mr"));
	EXPECT_EQ(0, rig_leave(&rig->peers[0], WAY_KILL));
	EXPECT_TRUE(sh_vanishes(dir, "weak.mr", 2000));
	EXPECT_TRUE(rig_has(rig, 0, 0));
	close(dir);
}

TEST_HARNESS_MAIN
