// SPDX-License-Identifier: GPL-2.0
/*
 * rdma-core's users: a killed importer's objects stay until the last fd closes.
 * Here objects belong to the file that made them, and what the importer made
 * on the shared PD goes with it, while the PD goes on.
 */
#include "share_rig.h"

RIG_FIXTURE(killed_importer_is_cleaned)


TEST_F(killed_importer_is_cleaned, its_objects_go)
{
	struct rig *rig = &self->rig;
	struct peer *a = &rig->peers[0], *b = &rig->peers[1];
	struct uv_res alone, with;
	int pd, mr;

	rig_start(_metadata, rig, 1);
	ASSERT_EQ(0, uv_res_get(&alone));
	/* Other owners' fds are open all the time, and the importer had them. */
	pd = peer_export(a, PEER_PD);
	mr = peer_export(a, PEER_MR);
	ASSERT_EQ(0, peer_start(b, rig->device));
	ASSERT_EQ(0, peer_tell(b, PEER_OPEN, 0, 0));
	ASSERT_EQ(0, peer_import_fd(b, PEER_PD, pd));
	ASSERT_EQ(0, peer_import_fd(b, PEER_MR, mr));
	ASSERT_EQ(0, peer_tell(b, PEER_QPS, 0, 0));
	ASSERT_EQ(0, uv_res_get(&with));
	EXPECT_EQ(alone.qp + 2, with.qp);
	EXPECT_EQ(alone.cq + 1, with.cq);
	EXPECT_EQ(alone.ctx + 1, with.ctx);

	EXPECT_EQ(SIGKILL, peer_kill(b));
	EXPECT_TRUE(uv_res_settles(&alone, 5000));
	EXPECT_EQ(0, peer_tell(a, PEER_RDMA, 0, 1));
	EXPECT_EQ(0, peer_tell(a, PEER_SEES, 0, 1));
	close(pd);
	close(mr);
	EXPECT_EQ(0, rig_leave(a, WAY_DESTROY));
}

/* Killed in the midst of RDMA, again and again. */
TEST_F_TIMEOUT(killed_importer_is_cleaned, at_any_moment, 120)
{
	struct rig *rig = &self->rig;
	struct peer *a = &rig->peers[0], *b = &rig->peers[1];
	struct uv_res alone;
	int i;

	rig_start(_metadata, rig, 1);
	ASSERT_EQ(0, uv_res_get(&alone));
	for (i = 0; i < 20; i++) {
		ASSERT_EQ(0, peer_start(b, rig->device));
		ASSERT_EQ(0, peer_tell(b, PEER_OPEN, 0, 0));
		rig_share(_metadata, rig, 1);
		ASSERT_EQ(0, peer_send(b, PEER_RDMA, 0, i, NULL));
		usleep(i * 300);
		EXPECT_EQ(SIGKILL, peer_kill(b));
		EXPECT_TRUE(uv_res_settles(&alone, 5000));
		EXPECT_EQ(0, peer_tell(a, PEER_RDMA, 0, 100 + i));
	}
}

TEST_HARNESS_MAIN
