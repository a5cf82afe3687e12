// SPDX-License-Identifier: GPL-2.0
/* Objects in every order of destruction, and all the ways a file may end. */
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#include "abi_full.h"

FIXTURE(life)
{
	struct uv_res idle;
};

FIXTURE_SETUP(life)
{
	ASSERT_EQ(0, uv_res_get(&self->idle));
}

/* Whatever a test did, nothing is left of it. */
FIXTURE_TEARDOWN(life)
{
	EXPECT_TRUE(uv_res_settles(&self->idle, 3000));
	EXPECT_EQ(0, uv_vmpin_kb());
}

enum { PD, MR, CQ, QP, AH, CH, KINDS };

static int destroy(struct full *f, int kind)
{
	switch (kind) {
	case PD:
		return uv_pd_destroy(f->ctx.fd, f->pd);
	case MR:
		return uv_mr_destroy(f->ctx.fd, f->mr.handle);
	case CQ:
		return uv_cq_destroy(f->ctx.fd, f->cq.handle, NULL);
	case QP:
		return uv_qp_destroy(f->ctx.fd, f->qp.handle, NULL);
	case AH:
		return uv_ah_destroy(f->ctx.fd, f->ah.handle);
	default:
		return close(f->ch) ? -errno : 0;
	}
}

#define BIT(n) (1U << (n))

/* What uses a kind, and so keeps it. */
static const unsigned int users[KINDS] = {
	[PD] = BIT(MR) | BIT(QP) | BIT(AH),
	[CQ] = BIT(QP),
};

/*
 * Destroys all kinds in the given order, round after round until nothing is
 * left, and compares each answer with what the users say.
 */
static void in_order(struct __test_metadata *_metadata, struct full *f,
		     const int *order)
{
	unsigned int alive = BIT(KINDS) - 1;
	int i, ret, rounds;

	for (rounds = 0; alive && rounds < KINDS; rounds++) {
		for (i = 0; i < KINDS; i++) {
			int kind = order[i];

			if (!(alive & BIT(kind)))
				continue;
			ret = destroy(f, kind);
			EXPECT_EQ(alive & users[kind] ? -EBUSY : 0, ret)
			{
				TH_LOG("kind %d, alive %x", kind, alive);
			}
			if (!ret)
				alive &= ~BIT(kind);
		}
	}
	EXPECT_EQ(0, alive);
	munmap(f->buf, FULL_PAGES * 4096);
}

/* The next permutation in lexical order of all kinds but the channel. */
static bool permute(int *p)
{
	int i = CH - 2, j = CH - 1, tmp;

	while (i >= 0 && p[i] > p[i + 1])
		i--;
	if (i < 0)
		return false;
	while (p[j] < p[i])
		j--;
	tmp = p[i], p[i] = p[j], p[j] = tmp;
	for (i++, j = CH - 1; i < j; i++, j--)
		tmp = p[i], p[i] = p[j], p[j] = tmp;
	return true;
}

/* Puts the channel, which nothing depends on, into the given place. */
static void with_channel(const int *others, int place, int *order)
{
	memcpy(order, others, place * sizeof(*order));
	order[place] = CH;
	memcpy(order + place + 1, others + place,
	       (CH - place) * sizeof(*order));
}

TEST_F_TIMEOUT(life, every_order_of_destruction, 120)
{
	int others[CH] = { PD, MR, CQ, QP, AH }, order[KINDS], orders = 0;
	struct uv_res base;
	struct full f;

	memset(&f, 0, sizeof(f));
	ASSERT_EQ(0, uv_ctx_open(&f.ctx));
	ASSERT_EQ(0, uv_res_get(&base));
	do {
		with_channel(others, orders % KINDS, order);
		ASSERT_EQ(0, full_fill(&f));
		in_order(_metadata, &f, order);
		abi_same(_metadata, &base, "all destroyed");
		orders++;
	} while (permute(others));
	EXPECT_EQ(120, orders);
	EXPECT_EQ(0, uv_vmpin_kb());
	uv_ctx_close(&f.ctx);
}

TEST_F(life, close_with_everything_alive)
{
	struct full f;

	ASSERT_EQ(0, full_make(&f));
	EXPECT_EQ(FULL_PAGES * 4, uv_vmpin_kb());
	uv_ctx_close(&f.ctx);
	EXPECT_EQ(0, uv_vmpin_kb());
	abi_same(_metadata, &self->idle, "closed");
	close(f.ch);
}

/* The three fds of a file, closed in each order. */
TEST_F(life, close_in_every_order)
{
	static const int orders[6][3] = { { 0, 1, 2 }, { 0, 2, 1 },
					  { 1, 0, 2 }, { 1, 2, 0 },
					  { 2, 0, 1 }, { 2, 1, 0 } };
	struct full f;
	int i, j;

	for (i = 0; i < 6; i++) {
		ASSERT_EQ(0, full_make(&f));
		for (j = 0; j < 3; j++) {
			const int fds[] = { f.ctx.fd, f.ctx.async_fd, f.ch };

			EXPECT_EQ(0, close(fds[orders[i][j]]));
		}
		abi_same(_metadata, &self->idle, "three fds closed");
		EXPECT_EQ(0, uv_vmpin_kb());
	}
}

TEST_F(life, close_at_work)
{
	struct full f;
	int i;

	for (i = 0; i < 20; i++) {
		ASSERT_EQ(0, full_make(&f));
		ASSERT_EQ(0, full_work(&f));
		close(f.ch);
		uv_ctx_close(&f.ctx);
		abi_same(_metadata, &self->idle, "closed at work");
	}
}

/* A pipe of which a child holds one end for as long as the test wants. */
struct held {
	pid_t pid;
	int go[2], ready[2];
};

static int hold_start(struct held *h)
{
	if (pipe(h->go) || pipe(h->ready))
		return -errno;
	h->pid = fork();
	if (h->pid < 0)
		return -errno;
	if (h->pid) {
		close(h->go[0]);
		close(h->ready[1]);
	} else {
		close(h->go[1]);
		close(h->ready[0]);
	}
	return h->pid ? 1 : 0;
}

/* In the child: says that it is there, and waits. */
static void hold_wait(struct held *h)
{
	char c = 0;

	if (write(h->ready[1], &c, 1) != 1 || read(h->go[0], &c, 1) < 0)
		_exit(1);
}

/* In the parent: is the child there?  It says nothing if it failed. */
static bool hold_ready(struct held *h)
{
	char c;

	return read(h->ready[0], &c, 1) == 1;
}

static int hold_end(struct held *h)
{
	int status;

	close(h->go[1]);
	close(h->ready[0]);
	return waitpid(h->pid, &status, 0) == h->pid ? status : -1;
}

/* The file is the child's, too: it ends with the last of them. */
TEST_F(life, fork_and_close)
{
	struct held h = {};
	struct uv_res made;
	struct full f;
	int parent;

	ASSERT_EQ(0, full_make(&f));
	ASSERT_EQ(0, uv_res_get(&made));
	parent = hold_start(&h);
	ASSERT_LE(0, parent);
	if (!parent) {
		hold_wait(&h);
		_exit(0);
	}
	ASSERT_TRUE(hold_ready(&h));
	close(f.ch);
	uv_ctx_close(&f.ctx);
	abi_same(_metadata, &made, "held by the child");
	/* Charged to whom it was pinned for. */
	EXPECT_EQ(FULL_PAGES * 4, uv_vmpin_kb());
	EXPECT_EQ(0, uv_status_kb(h.pid, "VmPin"));
	EXPECT_EQ(0, hold_end(&h));
	EXPECT_TRUE(uv_res_settles(&self->idle, 3000));
	EXPECT_EQ(0, uv_vmpin_kb());
}

/* The child may use what it holds after its parent has let it go. */
TEST_F(life, fork_and_go_on)
{
	struct held h = {};
	struct full f;
	int parent;

	ASSERT_EQ(0, full_make(&f));
	parent = hold_start(&h);
	ASSERT_LE(0, parent);
	if (!parent) {
		hold_wait(&h);
		_exit(uv_pd_destroy(f.ctx.fd, f.pd) != -EBUSY ||
		      uv_qp_destroy(f.ctx.fd, f.qp.handle, NULL) ||
		      uv_mr_destroy(f.ctx.fd, f.mr.handle) ||
		      uv_ah_destroy(f.ctx.fd, f.ah.handle) ||
		      uv_pd_destroy(f.ctx.fd, f.pd));
	}
	ASSERT_TRUE(hold_ready(&h));
	close(f.ch);
	uv_ctx_close(&f.ctx);
	EXPECT_EQ(0, hold_end(&h));
}

static void child_with_everything(struct held *h)
{
	struct full f;

	if (full_make(&f) || uv_ring_map(f.ctx.fd, &f.cq.rxe.mi, &f.ring) ||
	    full_work(&f))
		_exit(1);
	hold_wait(h);
	for (;;)
		pause();
}

TEST_F(life, kill)
{
	struct held h;
	int i, parent;

	for (i = 0; i < 10; i++) {
		parent = hold_start(&h);
		ASSERT_LE(0, parent);
		if (!parent)
			child_with_everything(&h);
		ASSERT_TRUE(hold_ready(&h));
		EXPECT_EQ(FULL_PAGES * 4, uv_status_kb(h.pid, "VmPin"));
		ASSERT_EQ(0, kill(h.pid, SIGKILL));
		EXPECT_EQ(SIGKILL, hold_end(&h));
		EXPECT_TRUE(uv_res_settles(&self->idle, 3000));
	}
}

static void *wait_for_event(void *arg)
{
	__u64 event;
	int *ch = arg;

	abi_read(*ch, &event, sizeof(event));
	return NULL;
}

static void child_with_reader(struct held *h)
{
	pthread_t thread;
	struct full f;

	if (full_make(&f) ||
	    pthread_create(&thread, NULL, wait_for_event, &f.ch))
		_exit(1);
	hold_wait(h);
	for (;;)
		pause();
}

TEST_F(life, kill_while_a_thread_reads)
{
	struct held h;
	int parent = hold_start(&h);

	ASSERT_LE(0, parent);
	if (!parent)
		child_with_reader(&h);
	ASSERT_TRUE(hold_ready(&h));
	ASSERT_EQ(0, kill(h.pid, SIGKILL));
	EXPECT_EQ(SIGKILL, hold_end(&h));
}

/* An MR of a child's memory, through a file that the parent keeps. */
TEST_F(life, memory_of_a_dead_process)
{
	struct held h = {};
	struct uv_res made;
	struct full f;
	int parent;

	memset(&f, 0, sizeof(f));
	ASSERT_EQ(0, uv_ctx_open(&f.ctx));
	parent = hold_start(&h);
	ASSERT_LE(0, parent);
	if (!parent) {
		struct ib_uverbs_reg_mr req = {
			.start = 0x10000000,
			.hca_va = 0x10000000,
			.length = 4096,
		};

		mmap((void *)0x10000000, 4096, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		if (uv_pd_alloc(f.ctx.fd, UV_INVOKE, &req.pd_handle) ||
		    uv_mr_call(f.ctx.fd, UV_INVOKE, &req, &f.mr))
			_exit(1);
		hold_wait(&h);
		_exit(0);
	}
	ASSERT_TRUE(hold_ready(&h));
	EXPECT_EQ(4, uv_status_kb(h.pid, "VmPin"));
	EXPECT_EQ(0, uv_vmpin_kb());
	ASSERT_EQ(0, uv_res_get(&made));
	EXPECT_EQ(self->idle.mr + 1, made.mr);
	EXPECT_EQ(0, hold_end(&h));
	/* Its pages and its mm_struct outlive it, until the file ends. */
	abi_same(_metadata, &made, "after the child");
	uv_ctx_close(&f.ctx);
}

TEST_HARNESS_MAIN
