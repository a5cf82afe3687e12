/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Makes the Nth allocation or user copy of a call fail, for N = 1, 2, … until
 * the call comes through.  After each failure everything must be as before.
 *
 * Documentation/fault-injection/fault-injection.rst of the kernel, fail-nth.
 */
#ifndef SHVERBS_TEST_FAULT_H
#define SHVERBS_TEST_FAULT_H

#include "share.h"

/* No call has so many places where it can fail. */
#define FAULT_MAX 2000

/* What can fail, for this task only, and quietly: a trace is a failed run. */
static const char *const fault_knobs[][2] = {
	{ "failslab/verbose", "0" },
	{ "failslab/times", "-1" },
	{ "failslab/ignore-gfp-wait", "N" },
	{ "fail_page_alloc/verbose", "0" },
	{ "fail_page_alloc/times", "-1" },
	{ "fail_page_alloc/ignore-gfp-wait", "N" },
	{ "fail_page_alloc/ignore-gfp-highmem", "N" },
	{ "fail_page_alloc/min-order", "0" },
	{ "fail_usercopy/verbose", "0" },
	{ "fail_usercopy/times", "-1" },
};

static inline int fault_knob(const char *name, const char *value)
{
	char path[100];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/sys/kernel/debug/%s", name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = write(fd, value, strlen(value));
	close(fd);
	return n < 0 ? -errno : 0;
}

/* An fd to make this task's calls fail with; -ENOENT if the kernel cannot. */
static inline int fault_open(void)
{
	int fd = open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);
	int ret = fd < 0 ? -errno : 0;
	size_t i;

	for (i = 0; !ret && i < sizeof(fault_knobs) / sizeof(*fault_knobs); i++)
		ret = fault_knob(fault_knobs[i][0], fault_knobs[i][1]);
	return ret ? ret : fd;
}

static inline void fault_arm(int fd, int nth)
{
	char number[16];

	snprintf(number, sizeof(number), "%d", nth);
	pwrite(fd, number, strlen(number), 0);
}

/* Whether it has struck since; nothing fails any more. */
static inline bool fault_struck(int fd)
{
	char number[16] = {};

	/* If it strikes this very read it had not before. */
	if (pread(fd, number, sizeof(number) - 1, 0) < 0)
		return false;
	if (atoi(number) == 0)
		return true;
	/* If it strikes this one, that is as good. */
	pwrite(fd, "0", 1, 0);
	return false;
}

/*
 * One call to try.  What prepare() makes is there when call() comes, and settle()
 * takes away what there is when call() has succeeded.  A call() that fails leaves
 * all as prepare() made it, and take_back() undoes that.
 */
struct fault_op {
	const char *name;
	int (*prepare)(void *rig);
	int (*call)(void *rig);
	int (*settle)(void *rig);
	int (*take_back)(void *rig);
	/*
	 * call() destroys and then answers, as the ABI has it: if the answer
	 * cannot be written it is EFAULT, with the object gone.
	 */
	bool answers;
};

/* What an allocation or a user copy that fails may become: rxe's QPs are sockets. */
static inline bool fault_is_honest(int ret)
{
	return ret == -ENOMEM || ret == -EFAULT || ret == -ENFILE;
}

static inline void fault_expect_same(struct __test_metadata *_metadata,
				     const struct fault_op *op, int nth,
				     const struct uv_res *want, long pinned)
{
	bool same = uv_res_settles(want, 2000);

	EXPECT_TRUE(same)
		TH_LOG("%s: other objects after fault %d", op->name, nth);
	EXPECT_EQ(pinned, uv_vmpin_kb())
		TH_LOG("%s: other pages pinned after fault %d", op->name, nth);
}

/* After a failure: nothing has changed, and nothing of it sticks. */
static inline void fault_failed(struct __test_metadata *_metadata,
				const struct fault_op *op, void *rig, int nth,
				const struct uv_res *before, long pinned,
				int error)
{
	int ret;

	if (op->answers && error == -EFAULT) {
		ret = op->take_back(rig);
		EXPECT_TRUE(!ret || ret == -ENOENT);
		return;
	}
	fault_expect_same(_metadata, op, nth, before, pinned);
	ret = op->take_back ? op->take_back(rig) : 0;
	EXPECT_EQ(0, ret)
		TH_LOG("%s: take back after fault %d: %s", op->name, nth,
		       strerrorname_np(-ret));
}

/* The Nth fault of one call.  Returns whether it was reached. */
static inline bool fault_try(struct __test_metadata *_metadata, int fd,
			     const struct fault_op *op, void *rig, int nth)
{
	struct uv_res before;
	bool struck;
	long pinned;
	int ret;

	EXPECT_EQ(0, op->prepare ? op->prepare(rig) : 0)
		TH_LOG("%s: prepare before fault %d", op->name, nth);
	EXPECT_EQ(0, uv_res_get(&before));
	pinned = uv_vmpin_kb();
	fault_arm(fd, nth);
	ret = op->call(rig);
	struck = fault_struck(fd);
	if (ret) {
		EXPECT_TRUE(struck && fault_is_honest(ret))
			TH_LOG("%s: fault %d %s gave %s", op->name, nth,
			       struck ? "struck and" : "did not strike, which",
			       strerrorname_np(-ret));
		fault_failed(_metadata, op, rig, nth, &before, pinned, ret);
		return struck;
	}
	ret = op->settle ? op->settle(rig) : 0;
	EXPECT_EQ(0, ret)
		TH_LOG("%s: settle after fault %d: %s", op->name, nth,
		       strerrorname_np(-ret));
	return struck;
}

/* Every fault of each call.  A sweep that meets none has tested nothing. */
static inline void fault_sweep(struct __test_metadata *_metadata, int fd,
			       const struct fault_op *op, void *rig)
{
	int nth = 1;

	while (nth < FAULT_MAX && fault_try(_metadata, fd, op, rig, nth))
		nth++;
	EXPECT_LT(nth, FAULT_MAX)
		TH_LOG("%s never comes through", op->name);
	EXPECT_GT(nth, 1)
		TH_LOG("%s: nothing could fail", op->name);
	TH_LOG("%s: %d faults", op->name, nth - 1);
}

#endif
