// SPDX-License-Identifier: GPL-2.0
/*
 * A PD and an MR with several owners, who go in every order and every way.
 * While one is left the data path works; after the last one nothing is left,
 * no object, no pinned page and no charge.
 */
#include "share_rig.h"

RIG_FIXTURE(lifetime)

/*
 * A kernel that checks everything is ten times slower, and gets every fifth
 * case; which ones they are differs with the loop that counts them.
 */
static bool left_out(int number)
{
	return !access("/sys/kernel/debug/kmemleak", F_OK) && number % 5;
}

/* What the owners that are left must be able to do. */
static void still_works(struct __test_metadata *_metadata, struct rig *rig,
			int who, __u64 seed)
{
	struct peer *peer = &rig->peers[who];

	EXPECT_EQ(0, peer_tell(peer, PEER_RDMA, 0, seed));
	if (who == RIG_MAKER) {
		EXPECT_EQ(0, peer_tell(peer, PEER_SEES, 0, seed));
	}
	EXPECT_TRUE(rig_has(rig, 1, 1));
	EXPECT_GE(rig_pinned_kb(), rig->pinned + PEER_KB);
}

/* The maker's charge lasts as long as the pages are pinned, and no longer. */
static void charge_is(struct __test_metadata *_metadata, struct rig *rig, long kb)
{
	struct peer *maker = &rig->peers[RIG_MAKER];

	if (maker->pid) {
		EXPECT_EQ(kb, peer_tell(maker, PEER_VMPIN, 0, 0));
	}
}

static void all_gone(struct __test_metadata *_metadata, struct rig *rig)
{
	EXPECT_TRUE(rig_has(rig, 0, 0));
	EXPECT_TRUE(rig_pinned_settles(rig->pinned));
	charge_is(_metadata, rig, 0);
	rig_stop(_metadata, rig);
}

static void two_owners(struct __test_metadata *_metadata, struct rig *rig,
		       int first, enum way way, enum way last_way)
{
	int last = !first;

	rig_start(_metadata, rig, 2);
	rig_share(_metadata, rig, 1);
	EXPECT_EQ(0, rig_leave(&rig->peers[first], way));
	still_works(_metadata, rig, last, 1 + way);
	charge_is(_metadata, rig, PEER_KB);
	EXPECT_EQ(0, rig_leave(&rig->peers[last], last_way));
	all_gone(_metadata, rig);
}

TEST_F_TIMEOUT(lifetime, two_owners, 300)
{
	int first, way, last_way, number = 0, failed = 0;

	for (first = 0; first < 2; first++)
		for (way = 0; way < WAYS; way++)
			for (last_way = 0; last_way < WAYS; last_way++) {
				if (left_out(number++ + way))
					continue;
				two_owners(_metadata, &self->rig, first, way,
					   last_way);
				if (!failed && !__test_passed(_metadata)) {
					failed = 1;
					TH_LOG("first wrong: %s leaves by %s, then the other by %s",
					       first ? "the importer" : "the maker",
					       way_names[way],
					       way_names[last_way]);
				}
			}
}

static void three_owners(struct __test_metadata *_metadata, struct rig *rig,
			 const int *order, int way)
{
	int i, j;

	rig_start(_metadata, rig, 3);
	rig_share(_metadata, rig, 1);
	rig_share(_metadata, rig, 2);
	for (i = 0; i < 3; i++) {
		EXPECT_EQ(0, rig_leave(&rig->peers[order[i]],
				       (way + 2 * i) % WAYS));
		for (j = i + 1; j < 3; j++)
			still_works(_metadata, rig, order[j], 10 * i + j + 1);
	}
	all_gone(_metadata, rig);
}

TEST_F_TIMEOUT(lifetime, three_owners, 300)
{
	static const int orders[6][3] = {
		{ 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 },
		{ 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 },
	};
	int i, way;

	for (i = 0; i < 6; i++)
		for (way = 0; way < WAYS; way++)
			if (!left_out(i + way))
				three_owners(_metadata, &self->rig, orders[i], way);
}

/* ---- each handle by itself ---- */

/* Handles of maker and importer, as bits: 1 << (2 * who + what). */
static int handles_of(int have, enum peer_what what)
{
	return !!(have & 1 << what) + !!(have & 4 << what);
}

/* Gives one handle up, and says which are left. */
static int give_up(struct __test_metadata *_metadata, struct rig *rig, int have,
		   int which, enum peer_op op)
{
	enum peer_what what = which & 1;
	/* The last handle of a PD whose MR lives: the driver's EBUSY. */
	bool busy = op == PEER_DESTROY && what == PEER_PD &&
		    handles_of(have, PEER_PD) == 1 && handles_of(have, PEER_MR);

	EXPECT_EQ(busy ? -EBUSY : 0,
		  peer_tell(&rig->peers[which >> 1], op, what, 0));
	return busy ? have : have & ~(1 << which);
}

static void one_by_one(struct __test_metadata *_metadata, struct rig *rig,
		       const int *order, enum peer_op op)
{
	int have = 0xf, i, who;

	rig_start(_metadata, rig, 2);
	rig_share(_metadata, rig, 1);
	for (i = 0; i < 4; i++) {
		have = give_up(_metadata, rig, have, order[i], op);
		EXPECT_TRUE(rig_has(rig, (have & 0xf) != 0,
				    handles_of(have, PEER_MR) > 0));
		for (who = 0; who < 2; who++)
			if ((have >> 2 * who & 3) == 3)
				still_works(_metadata, rig, who, i + 1);
	}
	for (i = 0; i < 4; i++)
		if (have & 1 << i)
			have = give_up(_metadata, rig, have, i, op);
	all_gone(_metadata, rig);
}

/* All orders of four things. */
static void permute(struct __test_metadata *_metadata, struct rig *rig,
		    int *order, int at, enum peer_op op)
{
	static int number;
	int i, swap;

	if (at == 4) {
		if (!left_out(number++))
			one_by_one(_metadata, rig, order, op);
		return;
	}
	for (i = at; i < 4; i++) {
		swap = order[at], order[at] = order[i], order[i] = swap;
		permute(_metadata, rig, order, at + 1, op);
		swap = order[at], order[at] = order[i], order[i] = swap;
	}
}

TEST_F_TIMEOUT(lifetime, handles_one_by_one_release, 300)
{
	int order[] = { 0, 1, 2, 3 };

	permute(_metadata, &self->rig, order, 0, PEER_RELEASE);
}

TEST_F_TIMEOUT(lifetime, handles_one_by_one_destroy, 300)
{
	int order[] = { 0, 1, 2, 3 };

	permute(_metadata, &self->rig, order, 0, PEER_DESTROY);
}

/* ---- object fds ---- */

TEST_F_TIMEOUT(lifetime, fds_are_owners, 120)
{
	struct rig *rig = &self->rig;
	int way, pd, mr;

	for (way = 0; way < WAYS; way++) {
		rig_start(_metadata, rig, 2);
		ASSERT_EQ(0, peer_tell(&rig->peers[0], PEER_RDMA, 0, 7));
		pd = peer_export(&rig->peers[0], PEER_PD);
		mr = peer_export(&rig->peers[0], PEER_MR);
		ASSERT_GE(pd, 0);
		ASSERT_GE(mr, 0);
		EXPECT_EQ(0, rig_leave(&rig->peers[0], way));
		/* Nobody has a handle, and all is there. */
		EXPECT_TRUE(rig_has(rig, 1, 1));
		EXPECT_EQ(0, peer_import_fd(&rig->peers[1], PEER_PD, pd));
		EXPECT_EQ(0, peer_import_fd(&rig->peers[1], PEER_MR, mr));
		EXPECT_EQ(0, peer_tell(&rig->peers[1], PEER_READ, 0, 7));
		EXPECT_EQ(0, rig_leave(&rig->peers[1], way));
		EXPECT_TRUE(rig_has(rig, 1, 1));
		close(pd);
		EXPECT_TRUE(rig_has(rig, 1, 1));	/* the MR owns its PD */
		close(mr);
		all_gone(_metadata, rig);
	}
}

/* An fd in a socket's queue owns the object, though no process has it. */
TEST_F_TIMEOUT(lifetime, fd_in_flight, 60)
{
	struct rig *rig = &self->rig;
	int socks[2], pd, mr, way;

	for (way = 0; way < WAYS; way++) {
		rig_start(_metadata, rig, 2);
		ASSERT_EQ(0, peer_tell(&rig->peers[0], PEER_RDMA, 0, 8));
		ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_SEQPACKET, 0, socks));
		pd = peer_export(&rig->peers[0], PEER_PD);
		mr = peer_export(&rig->peers[0], PEER_MR);
		ASSERT_EQ(0, shv_send_fd(socks[0], pd));
		ASSERT_EQ(0, shv_send_fd(socks[0], mr));
		close(pd);
		close(mr);
		EXPECT_EQ(0, rig_leave(&rig->peers[0], way));
		EXPECT_TRUE(rig_has(rig, 1, 1));
		pd = shv_recv_fd(socks[1]);
		EXPECT_EQ(0, peer_import_fd(&rig->peers[1], PEER_PD, pd));
		close(pd);
		EXPECT_EQ(0, rig_leave(&rig->peers[1], WAY_CLOSE));
		EXPECT_TRUE(rig_has(rig, 1, 1));
		/* The MR's is never taken out. */
		close(socks[0]);
		close(socks[1]);
		all_gone(_metadata, rig);
	}
}

/* ---- children ---- */

TEST_F(lifetime, qps_own_the_pd)
{
	struct rig *rig = &self->rig;
	struct peer *b = &rig->peers[1];

	rig_start(_metadata, rig, 2);
	rig_share(_metadata, rig, 1);
	ASSERT_EQ(0, peer_tell(b, PEER_QPS, 0, 0));
	EXPECT_EQ(0, rig_leave(&rig->peers[0], WAY_EXIT));
	EXPECT_EQ(0, peer_tell(b, PEER_RDMA, 0, 9));
	EXPECT_EQ(0, peer_tell(b, PEER_DESTROY, PEER_MR, 0));
	EXPECT_EQ(-EBUSY, peer_tell(b, PEER_DESTROY, PEER_PD, 0));
	EXPECT_EQ(0, peer_tell(b, PEER_RELEASE, PEER_PD, 0));
	peer_end(b);
	all_gone(_metadata, rig);
}

/* The importer's own MR and QPs on the shared PD go with the importer. */
TEST_F(lifetime, importers_children_on_a_shared_pd)
{
	struct rig *rig = &self->rig;

	rig_start(_metadata, rig, 2);
	rig_share(_metadata, rig, 1);
	ASSERT_EQ(0, peer_tell(&rig->peers[1], PEER_QPS, 0, 0));
	EXPECT_EQ(0, peer_tell(&rig->peers[1], PEER_RDMA, 0, 3));
	EXPECT_EQ(0, peer_tell(&rig->peers[0], PEER_DESTROY, PEER_MR, 0));
	EXPECT_EQ(0, peer_tell(&rig->peers[0], PEER_DESTROY, PEER_PD, 0));
	EXPECT_EQ(0, peer_tell(&rig->peers[1], PEER_RDMA, 0, 4));
	EXPECT_EQ(0, peer_tell(&rig->peers[0], PEER_SEES, 0, 4));
	EXPECT_EQ(0, rig_leave(&rig->peers[1], WAY_KILL));
	all_gone(_metadata, rig);
}

/* Shared on by one who did not make it. */
TEST_F(lifetime, chain)
{
	struct rig *rig = &self->rig;
	int i;

	rig_start(_metadata, rig, 4);
	for (i = 1; i < 4; i++) {
		ASSERT_EQ(0, peer_pass(&rig->peers[i - 1], &rig->peers[i], PEER_PD));
		ASSERT_EQ(0, peer_pass(&rig->peers[i - 1], &rig->peers[i], PEER_MR));
		EXPECT_EQ(0, rig_leave(&rig->peers[i - 1], i % WAYS));
		still_works(_metadata, rig, i, i);
	}
	EXPECT_EQ(0, rig_leave(&rig->peers[3], WAY_DESTROY));
	all_gone(_metadata, rig);
}

TEST_HARNESS_MAIN
