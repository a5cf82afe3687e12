// SPDX-License-Identifier: GPL-2.0
/*
 * Rabinovitch 2019: the importer deregisters after the exporter's context is
 * gone.  What an object needs of the context it was made on, it owns.
 */
#include "share_rig.h"

RIG_FIXTURE(importer_outlives_context)

static void outlive(struct __test_metadata *_metadata, struct rig *rig,
		    enum way way, enum peer_op op)
{
	struct peer *b = &rig->peers[1];

	rig_start(_metadata, rig, 2);
	rig_share(_metadata, rig, 1);
	EXPECT_EQ(0, rig_leave(&rig->peers[0], way));
	EXPECT_EQ(0, peer_tell(b, PEER_RDMA, 0, 5));
	EXPECT_EQ(0, peer_tell(b, op, PEER_MR, 0));
	EXPECT_TRUE(rig_has(rig, 1, 0));
	EXPECT_EQ(0, peer_tell(b, op, PEER_PD, 0));
	EXPECT_TRUE(rig_has(rig, 0, 0));
	rig_stop(_metadata, rig);
}

TEST_F(importer_outlives_context, closed)
{
	outlive(_metadata, &self->rig, WAY_CLOSE, PEER_DESTROY);
	outlive(_metadata, &self->rig, WAY_CLOSE, PEER_RELEASE);
}

TEST_F(importer_outlives_context, exited)
{
	outlive(_metadata, &self->rig, WAY_EXIT, PEER_DESTROY);
	outlive(_metadata, &self->rig, WAY_EXIT, PEER_RELEASE);
}

TEST_F(importer_outlives_context, killed)
{
	outlive(_metadata, &self->rig, WAY_KILL, PEER_DESTROY);
	outlive(_metadata, &self->rig, WAY_KILL, PEER_RELEASE);
}

TEST_HARNESS_MAIN
