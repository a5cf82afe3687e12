// SPDX-License-Identifier: GPL-2.0
/*
 * Many threads on the same handles.  Each call may lose a race, but only in
 * the ways that there are: EBUSY (used), ENOENT (gone), EINVAL (another type
 * by now).
 */
#include <pthread.h>

#include "abi_event.h"

#define THREADS 8
#define SLOTS 16

FIXTURE(stress)
{
	struct abi abi;
	int fd;
};

FIXTURE_SETUP(stress)
{
	abi_start(_metadata, &self->abi);
	self->fd = self->abi.fd;
}

FIXTURE_TEARDOWN(stress)
{
	abi_end(_metadata, &self->abi);
}

/* Handles of any type, read and written by all without a lock. */
struct arena {
	int fd, ch;
	long end;
	__u32 slot[SLOTS];
	char *buf;
};

struct worker {
	pthread_t thread;
	struct arena *arena;
	unsigned int seed;
	unsigned long calls, won;
	int bad, bad_action;	/* an answer that there must not be */
};

static __u32 pick(struct worker *w)
{
	return __atomic_load_n(&w->arena->slot[rand_r(&w->seed) % SLOTS],
			       __ATOMIC_RELAXED);
}

static int keep(struct worker *w, int ret, __u32 handle)
{
	if (!ret)
		__atomic_store_n(&w->arena->slot[rand_r(&w->seed) % SLOTS],
				 handle, __ATOMIC_RELAXED);
	return ret;
}

static int make_pd(struct worker *w)
{
	__u32 pd = 0;
	int ret = uv_pd_alloc(w->arena->fd, UV_INVOKE, &pd);

	return keep(w, ret, pd);
}

static int make_mr(struct worker *w)
{
	struct uv_mr mr = {};
	int ret = uv_mr_reg(w->arena->fd, pick(w), w->arena->buf, 8192,
			    UV_ACCESS_ALL, &mr);

	return keep(w, ret, mr.handle);
}

static int make_cq(struct worker *w)
{
	struct uv_cq cq = {};
	int ret = uv_cq_create(w->arena->fd, 4, w->arena->ch, 0, &cq);

	return keep(w, ret, cq.handle);
}

static int make_qp(struct worker *w)
{
	struct uv_qp qp = {};
	int ret = uv_qp_create(w->arena->fd, pick(w), pick(w),
			       IB_UVERBS_QPT_RC, &qp);

	return keep(w, ret, qp.handle);
}

static int make_ah(struct worker *w)
{
	struct uv_ah ah = {};
	int ret = uv_ah_create(w->arena->fd, pick(w), &ah);

	return keep(w, ret, ah.handle);
}

static int destroy(struct worker *w)
{
	const int fd = w->arena->fd;
	__u32 handle = pick(w);

	switch (rand_r(&w->seed) % 5) {
	case 0:
		return uv_pd_destroy(fd, handle);
	case 1:
		return uv_mr_destroy(fd, handle);
	case 2:
		return uv_cq_destroy(fd, handle, NULL);
	case 3:
		return uv_qp_destroy(fd, handle, NULL);
	default:
		return uv_ah_destroy(fd, handle);
	}
}

static int use_qp(struct worker *w)
{
	struct ib_uverbs_query_qp_resp resp;
	__u32 qp = pick(w);
	int ret;

	ret = uv_qp_init(w->arena->fd, qp);
	if (!ret)
		ret = uv_qp_query(w->arena->fd, UV_INVOKE, qp, &resp);
	if (!ret)
		ret = uv_qp_error(w->arena->fd, qp);
	return ret;
}

static int use_cq(struct worker *w)
{
	return uv_req_notify(w->arena->fd, UV_INVOKE, pick(w), 0);
}

static int use_mr(struct worker *w)
{
	__u64 length, iova;
	struct uv_cmd cmd;
	__u32 lkey, rkey;

	uv_init(&cmd, UVERBS_OBJECT_MR, UVERBS_METHOD_QUERY_MR);
	uv_idr(&cmd, UVERBS_ATTR_QUERY_MR_HANDLE, pick(w));
	uv_out(&cmd, UVERBS_ATTR_QUERY_MR_RESP_LKEY, &lkey, 4);
	uv_out(&cmd, UVERBS_ATTR_QUERY_MR_RESP_RKEY, &rkey, 4);
	uv_out(&cmd, UVERBS_ATTR_QUERY_MR_RESP_LENGTH, &length, 8);
	uv_out(&cmd, UVERBS_ATTR_QUERY_MR_RESP_IOVA, &iova, 8);
	return uv_ioctl(w->arena->fd, &cmd);
}

static int (*const actions[])(struct worker *w) = {
	make_pd, make_mr, make_cq, make_qp, make_ah, use_qp, use_cq, use_mr,
	destroy, destroy, destroy, destroy, destroy, destroy, destroy, destroy,
};

static bool allowed(int ret)
{
	return !ret || ret == -EBUSY || ret == -ENOENT || ret == -EINVAL;
}

static void *work(void *arg)
{
	struct worker *w = arg;

	while (!w->bad && uv_now_ms() < w->arena->end) {
		int i = rand_r(&w->seed) % ARRAY_SIZE(actions);
		int ret = actions[i](w);

		w->calls++;
		w->won += !ret;
		if (!allowed(ret)) {
			w->bad = ret;
			w->bad_action = i;
		}
	}
	return NULL;
}

TEST_F(stress, all_on_the_same_handles)
{
	struct worker workers[THREADS] = {};
	struct arena arena = {
		.fd = self->fd,
		.ch = uv_channel(self->fd, UV_WRITE),
		.end = uv_now_ms() + 5000,
	};
	unsigned long won = 0;
	int i;

	arena.buf = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (i = 0; i < THREADS; i++) {
		workers[i].arena = &arena;
		workers[i].seed = i + 1;
		ASSERT_EQ(0, pthread_create(&workers[i].thread, NULL, work,
					    &workers[i]));
	}
	for (i = 0; i < THREADS; i++) {
		pthread_join(workers[i].thread, NULL);
		EXPECT_EQ(0, workers[i].bad)
		{
			TH_LOG("action %d", workers[i].bad_action);
		}
		won += workers[i].won;
	}
	/* Otherwise nothing was tried. */
	EXPECT_LT(100, won);
	close(arena.ch);
	munmap(arena.buf, 8192);
}

/* One object and as many destroyers: one of them did it. */
struct duel {
	pthread_barrier_t start;
	pthread_t thread[THREADS];
	int fd, rounds;
	__u32 handle;
	int ret[THREADS];
};

struct duelist {
	struct duel *duel;
	int me;
};

static void *duel_destroy(void *arg)
{
	struct duelist *d = arg;
	struct duel *duel = d->duel;
	int i;

	for (i = 0; i < duel->rounds; i++) {
		pthread_barrier_wait(&duel->start);
		duel->ret[d->me] = uv_pd_destroy(duel->fd, duel->handle);
		pthread_barrier_wait(&duel->start);
	}
	return NULL;
}

TEST_F(stress, one_of_many_destroys)
{
	struct duel duel = { .fd = self->fd, .rounds = 300 };
	struct duelist d[THREADS];
	int i, round, winners;

	pthread_barrier_init(&duel.start, NULL, THREADS + 1);
	for (i = 0; i < THREADS; i++) {
		d[i] = (struct duelist){ &duel, i };
		ASSERT_EQ(0, pthread_create(&duel.thread[i], NULL,
					    duel_destroy, &d[i]));
	}
	for (round = 0; round < duel.rounds; round++) {
		EXPECT_EQ(0, uv_pd_alloc(self->fd, UV_WRITE, &duel.handle));
		pthread_barrier_wait(&duel.start);
		pthread_barrier_wait(&duel.start);
		for (i = winners = 0; i < THREADS; i++) {
			winners += !duel.ret[i];
			EXPECT_TRUE(!duel.ret[i] || duel.ret[i] == -ENOENT ||
				    duel.ret[i] == -EBUSY);
		}
		EXPECT_EQ(1, winners);
	}
	for (i = 0; i < THREADS; i++)
		pthread_join(duel.thread[i], NULL);
	abi_same(_metadata, &self->abi.base, "all destroyed");
}

/* One file and as many contexts for it: one of them is it. */
static void *duel_context(void *arg)
{
	struct duelist *d = arg;
	struct duel *duel = d->duel;
	__u64 core_support;
	__u32 num_comp;
	int i;

	for (i = 0; i < duel->rounds; i++) {
		pthread_barrier_wait(&duel->start);
		duel->ret[d->me] = uv_get_context(duel->fd, &num_comp,
						  &core_support);
		pthread_barrier_wait(&duel->start);
	}
	return NULL;
}

TEST_F(stress, one_of_many_contexts)
{
	struct duel duel = { .rounds = 100 };
	struct duelist d[THREADS];
	int i, round, winners;

	pthread_barrier_init(&duel.start, NULL, THREADS + 1);
	for (i = 0; i < THREADS; i++) {
		d[i] = (struct duelist){ &duel, i };
		ASSERT_EQ(0, pthread_create(&duel.thread[i], NULL,
					    duel_context, &d[i]));
	}
	for (round = 0; round < duel.rounds; round++) {
		duel.fd = uv_open();
		EXPECT_LE(0, duel.fd);
		pthread_barrier_wait(&duel.start);
		pthread_barrier_wait(&duel.start);
		for (i = winners = 0; i < THREADS; i++) {
			winners += !duel.ret[i];
			EXPECT_TRUE(!duel.ret[i] || duel.ret[i] == -EINVAL);
		}
		EXPECT_EQ(1, winners);
		close(duel.fd);
	}
	for (i = 0; i < THREADS; i++)
		pthread_join(duel.thread[i], NULL);
	abi_same(_metadata, &self->abi.base, "all closed");
}

/* Files that come and go while others do. */
static void *open_and_close(void *arg)
{
	struct worker *w = arg;

	while (!w->bad && uv_now_ms() < w->arena->end) {
		struct uv_ctx ctx;
		__u32 pd;

		w->bad = uv_ctx_open(&ctx);
		if (w->bad)
			break;
		w->bad = uv_pd_alloc(ctx.fd, UV_WRITE, &pd);
		/* The two fds in either order. */
		if (w->calls++ & 1)
			close(ctx.async_fd), ctx.async_fd = -1;
		uv_ctx_close(&ctx);
	}
	return NULL;
}

TEST_F(stress, files_come_and_go)
{
	struct arena arena = { .end = uv_now_ms() + 2000 };
	struct worker workers[THREADS] = {};
	int i;

	for (i = 0; i < THREADS; i++) {
		workers[i].arena = &arena;
		ASSERT_EQ(0, pthread_create(&workers[i].thread, NULL,
					    open_and_close, &workers[i]));
	}
	for (i = 0; i < THREADS; i++) {
		pthread_join(workers[i].thread, NULL);
		EXPECT_EQ(0, workers[i].bad);
		EXPECT_LT(2, workers[i].calls);
	}
	abi_same(_metadata, &self->abi.base, "all closed");
}

/* Event fds that are closed while events come in. */
static void *make_events(void *arg)
{
	struct worker *w = arg;
	__u32 pd;

	w->bad = uv_pd_alloc(w->arena->fd, UV_WRITE, &pd);
	while (!w->bad && uv_now_ms() < w->arena->end) {
		int ch = uv_channel(w->arena->fd, UV_WRITE);
		struct uv_cq cq;
		struct uv_qp qp;

		w->bad = uv_cq_create(w->arena->fd, 4, ch, 0, &cq);
		if (!w->bad)
			w->bad = uv_req_notify(w->arena->fd, UV_WRITE,
					       cq.handle, 0);
		if (!w->bad)
			w->bad = abi_flush(w->arena->fd, pd, cq.handle, 8,
					   &qp);
		close(ch);
		if (!w->bad)
			w->bad = uv_qp_destroy(w->arena->fd, qp.handle, NULL);
		if (!w->bad)
			w->bad = uv_cq_destroy(w->arena->fd, cq.handle, NULL);
		w->calls++;
	}
	return NULL;
}

TEST_F(stress, events_to_fds_that_close)
{
	struct arena arena = { .fd = self->fd, .end = uv_now_ms() + 2000 };
	struct worker workers[THREADS] = {};
	int i;

	for (i = 0; i < THREADS; i++) {
		workers[i].arena = &arena;
		ASSERT_EQ(0, pthread_create(&workers[i].thread, NULL,
					    make_events, &workers[i]));
	}
	for (i = 0; i < THREADS; i++) {
		pthread_join(workers[i].thread, NULL);
		EXPECT_EQ(0, workers[i].bad);
		EXPECT_LT(2, workers[i].calls);
	}
}

TEST_HARNESS_MAIN
