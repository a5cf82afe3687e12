// SPDX-License-Identifier: GPL-2.0
/*
 * Gunthorpe 2019: no sequencing of ucontext destroy, no waiting.  An owner
 * closes, exits or dies at once, whatever the others do; here they are stopped,
 * and could not answer if anybody asked.
 */
#include "share_rig.h"

#define AT_ONCE 5000	/* ms; an emulated machine is slow, a wait is for ever */

RIG_FIXTURE(close_never_waits)

static void leave_at_once(struct __test_metadata *_metadata, struct rig *rig,
			  int who, enum way way)
{
	struct peer *stopped = &rig->peers[!who];
	long start;

	rig_start(_metadata, rig, 2);
	rig_share(_metadata, rig, 1);
	ASSERT_EQ(0, peer_tell(stopped, PEER_QPS, 0, 0));
	ASSERT_EQ(0, kill(stopped->pid, SIGSTOP));
	start = uv_now_ms();
	EXPECT_EQ(0, rig_leave(&rig->peers[who], way));
	EXPECT_LT(uv_now_ms() - start, AT_ONCE);
	ASSERT_EQ(0, kill(stopped->pid, SIGCONT));
	EXPECT_EQ(0, peer_tell(stopped, PEER_RDMA, 0, 6));
	rig_stop(_metadata, rig);
}

TEST_F(close_never_waits, maker)
{
	int way;

	for (way = 0; way < WAYS; way++)
		leave_at_once(_metadata, &self->rig, 0, way);
}

TEST_F(close_never_waits, importer)
{
	int way;

	for (way = 0; way < WAYS; way++)
		leave_at_once(_metadata, &self->rig, 1, way);
}

/* The new life of a process is not held up by its old one. */
TEST_F(close_never_waits, open_again)
{
	struct rig *rig = &self->rig;
	long start;

	rig_start(_metadata, rig, 2);
	rig_share(_metadata, rig, 1);
	ASSERT_EQ(0, kill(rig->peers[1].pid, SIGSTOP));
	start = uv_now_ms();
	EXPECT_EQ(0, peer_tell(&rig->peers[0], PEER_CLOSE, 0, 0));
	EXPECT_EQ(0, peer_tell(&rig->peers[0], PEER_OPEN, 0, 0));
	EXPECT_EQ(0, peer_tell(&rig->peers[0], PEER_MAKE, 0, 0));
	EXPECT_LT(uv_now_ms() - start, AT_ONCE);
	EXPECT_EQ(0, peer_tell(&rig->peers[0], PEER_RDMA, 0, 1));
	EXPECT_TRUE(rig_has(rig, 2, 2));
	ASSERT_EQ(0, kill(rig->peers[1].pid, SIGCONT));
}

TEST_HARNESS_MAIN
