// SPDX-License-Identifier: GPL-2.0
/*
 * Tsirkin 2007: release user resources without destroying the kernel object.
 * RELEASE gives a handle up, whoever else owns the object; the last owner
 * destroys it.
 */
#include "share_rig.h"

RIG_FIXTURE(release_without_destroy)

TEST_F(release_without_destroy, others_go_on)
{
	struct rig *rig = &self->rig;
	struct peer *a = &rig->peers[0], *b = &rig->peers[1];

	rig_start(_metadata, rig, 2);
	rig_share(_metadata, rig, 1);
	ASSERT_EQ(0, peer_tell(b, PEER_QPS, 0, 0));
	EXPECT_EQ(0, peer_tell(b, PEER_RDMA, 0, 1));
	EXPECT_EQ(0, peer_tell(a, PEER_RELEASE, PEER_PD, 0));
	EXPECT_EQ(0, peer_tell(a, PEER_RELEASE, PEER_MR, 0));
	/* The same QPs, the same keys, and memory of one who owns it no more. */
	EXPECT_TRUE(rig_has(rig, 1, 1));
	EXPECT_EQ(0, peer_tell(b, PEER_RDMA, 0, 2));
	EXPECT_EQ(0, peer_tell(a, PEER_SEES, 0, 2));
	EXPECT_EQ(PEER_KB, peer_tell(a, PEER_VMPIN, 0, 0));
	EXPECT_EQ(0, peer_end(b));
	EXPECT_TRUE(rig_has(rig, 0, 0));
	EXPECT_EQ(0, peer_tell(a, PEER_VMPIN, 0, 0));
}

/* DESTROY of the PD fails with EBUSY here; RELEASE has nothing to report. */
TEST_F(release_without_destroy, children_do_not_hinder_it)
{
	struct rig *rig = &self->rig;
	struct peer *a = &rig->peers[0];

	rig_start(_metadata, rig, 1);
	EXPECT_EQ(-EBUSY, peer_tell(a, PEER_DESTROY, PEER_PD, 0));
	EXPECT_TRUE(rig_has(rig, 1, 1));
	EXPECT_EQ(0, peer_tell(a, PEER_RELEASE, PEER_PD, 0));
	EXPECT_TRUE(rig_has(rig, 1, 1));
	EXPECT_EQ(0, peer_tell(a, PEER_RELEASE, PEER_MR, 0));
	EXPECT_TRUE(rig_has(rig, 0, 0));
	EXPECT_EQ(0, peer_tell(a, PEER_VMPIN, 0, 0));
}

TEST_HARNESS_MAIN
