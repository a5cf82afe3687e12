/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Up to four peers around one PD and one MR, the ways in which an owner can
 * go, and what must be so when the last one has.
 */
#ifndef SHVERBS_TEST_SHARE_RIG_H
#define SHVERBS_TEST_SHARE_RIG_H

#include "share_peer.h"

#define RIG_PEERS 4

struct rig {
	char device[64];
	struct uv_res idle;
	long pinned;		/* in kB, by all processes, dead ones too */
	struct peer peers[RIG_PEERS];
};

/* Peer 0 makes the objects in all tests. */
#define RIG_MAKER 0

enum way { WAY_RELEASE, WAY_DESTROY, WAY_CLOSE, WAY_EXIT, WAY_KILL, WAYS };

static const char *const way_names[] = {
	"release", "destroy", "close", "exit", "kill",
};

/*
 * What is pinned for devices by anybody: the difference of two counters, which
 * are exact once the processors' parts have been added up.
 */
static inline long rig_pinned_kb(void)
{
	unsigned long got = 0, given = 0;
	char line[128];
	FILE *f;
	int fd;

	fd = open("/proc/sys/vm/stat_refresh", O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (write(fd, "1", 1) != 1) {
		close(fd);
		return -EIO;
	}
	close(fd);
	f = fopen("/proc/vmstat", "re");
	if (!f)
		return -errno;
	while (fgets(line, sizeof(line), f)) {
		sscanf(line, "nr_foll_pin_acquired %lu", &got);
		sscanf(line, "nr_foll_pin_released %lu", &given);
	}
	fclose(f);
	return (long)(got - given) * 4;
}

static inline bool rig_pinned_settles(long want)
{
	long end = uv_now_ms() + 2000, now;

	do {
		now = rig_pinned_kb();
		if (now == want)
			return true;
		poll(NULL, 0, 5);
	} while (uv_now_ms() < end);
	fprintf(stderr, "# %ld kB are pinned, not %ld\n", now, want);
	return false;
}

/*
 * Whether so many more PDs and MRs are there than before the test.  Peers may
 * have QPs, and whether an object keeps its context is the backend's.
 */
static inline bool rig_has(struct rig *rig, unsigned int pds, unsigned int mrs)
{
	struct uv_res want;

	if (uv_res_get(&want))
		return false;
	want.pd = rig->idle.pd + pds;
	want.mr = rig->idle.mr + mrs;
	return uv_res_settles(&want, 2000);
}

static inline void rig_setup(struct __test_metadata *_metadata, struct rig *rig)
{
	struct uv_dev dev;

	if (!is_shverbs())
		SKIP(return, "needs shverbs");
	ASSERT_EQ(0, uv_dev_find(&dev));
	memcpy(rig->device, dev.ibdev, sizeof(rig->device));
	ASSERT_EQ(0, uv_res_get(&rig->idle));
	rig->pinned = rig_pinned_kb();
	ASSERT_GE(rig->pinned, 0);
}

/* Starts peers that have a context each; the first one has the objects. */
static inline void rig_start(struct __test_metadata *_metadata, struct rig *rig,
			     int peers)
{
	int i;

	for (i = 0; i < peers; i++) {
		ASSERT_EQ(0, peer_start(&rig->peers[i], rig->device));
		ASSERT_EQ(0, peer_tell(&rig->peers[i], PEER_OPEN, 0, 0));
	}
	ASSERT_EQ(0, peer_tell(&rig->peers[RIG_MAKER], PEER_MAKE, 0, 0));
	ASSERT_TRUE(rig_has(rig, 1, 1));
}

/* Makes a peer an owner of both objects. */
static inline void rig_share(struct __test_metadata *_metadata, struct rig *rig,
			     int to)
{
	struct peer *maker = &rig->peers[RIG_MAKER];

	ASSERT_EQ(0, peer_pass(maker, &rig->peers[to], PEER_PD));
	ASSERT_EQ(0, peer_pass(maker, &rig->peers[to], PEER_MR));
}

/* An owner gives up both objects, or goes and they with it. */
static inline long rig_leave(struct peer *peer, enum way way)
{
	enum peer_op op = way == WAY_RELEASE ? PEER_RELEASE : PEER_DESTROY;
	long ret;

	switch (way) {
	case WAY_RELEASE:
	case WAY_DESTROY:
		ret = peer_tell(peer, op, PEER_MR, 0);
		return ret ? ret : peer_tell(peer, op, PEER_PD, 0);
	case WAY_CLOSE:
		return peer_tell(peer, PEER_CLOSE, 0, 0);
	case WAY_EXIT:
		return peer_end(peer);
	default:
		return peer_kill(peer) == SIGKILL ? 0 : -ECHILD;
	}
}

/* Ends the peers that are left, and looks at what they leave. */
static inline void rig_stop(struct __test_metadata *_metadata, struct rig *rig)
{
	int i;

	for (i = 0; i < RIG_PEERS; i++)
		if (rig->peers[i].pid > 0) {
			EXPECT_EQ(0, peer_end(&rig->peers[i]));
		}
	EXPECT_TRUE(uv_res_settles(&rig->idle, 2000));
	EXPECT_TRUE(rig_pinned_settles(rig->pinned));
}

#define RIG_FIXTURE(name)                                                  \
	FIXTURE(name)                                                      \
	{                                                                  \
		struct rig rig;                                            \
	};                                                                 \
	FIXTURE_SETUP(name)                                                \
	{                                                                  \
		rig_setup(_metadata, &self->rig);                          \
	}                                                                  \
	FIXTURE_TEARDOWN(name)                                             \
	{                                                                  \
		rig_stop(_metadata, &self->rig);                           \
	}

#endif
