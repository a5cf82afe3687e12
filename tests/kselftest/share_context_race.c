// SPDX-License-Identifier: GPL-2.0
/*
 * Contexts whose last holder goes while others attach, and objects that are revoked
 * while others import, use and destroy them.  What the interface allows is right,
 * nothing else is, and nothing is left at the end.
 */
#include <pthread.h>

#include "share.h"

#define RUN_MS 1500
#define THREADS 3

SHARE_FIXTURE(race)

struct shared {
	struct sh *sh;
	int dir;
	int wrong;		/* the first errno that no race explains */
	int successes;
	long end;
};

static void note(struct shared *s, int ret)
{
	int none = 0;

	__atomic_compare_exchange_n(&s->wrong, &none, ret, false,
				    __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

/* The first function in one thread, the other in all others. */
static void run_threads(struct __test_metadata *_metadata, struct shared *s,
			void *(*first)(void *), void *(*others)(void *))
{
	pthread_t threads[THREADS];
	char path[200];
	int i;

	s->dir = sh_dir(path, sizeof(path));
	ASSERT_GE(s->dir, 0);
	s->end = uv_now_ms() + RUN_MS;
	for (i = 0; i < THREADS; i++)
		ASSERT_EQ(0, pthread_create(&threads[i], NULL,
					    i ? others : first, s));
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	close(s->dir);
	EXPECT_EQ(0, s->wrong)
	{
		TH_LOG("a thread got %s", strerrorname_np(-s->wrong));
	}
	EXPECT_LT(0, s->successes);
}

/* ---- contexts ---- */

static void *make_contexts(void *arg)
{
	struct shared *s = arg;
	struct sh_name name = { s->dir, "ctx-race", 0600, 0 };
	struct uv_ctx ctx;
	int ret;

	while (uv_now_ms() < s->end) {
		ret = uv_ctx_open(&ctx);
		if (!ret) {
			ret = sh_publish_context(ctx.fd, &name);
			/* Somebody is still attached to the last one. */
			if (ret == -EEXIST)
				ret = 0;
			sched_yield();
			uv_ctx_close(&ctx);
		}
		if (ret)
			note(s, ret);
	}
	return NULL;
}

static void *attach(void *arg)
{
	struct shared *s = arg;
	int object, fd, ret;
	__u32 pd;

	while (uv_now_ms() < s->end) {
		object = openat(s->dir, "ctx-race", O_RDONLY | O_CLOEXEC);
		if (object < 0) {
			if (errno != ENOENT)
				note(s, -errno);
			continue;
		}
		/* Who has the name open holds the context: this cannot fail. */
		fd = sh_open_attached(object);
		close(object);
		if (fd < 0) {
			note(s, fd);
			continue;
		}
		ret = uv_pd_alloc(fd, UV_WRITE, &pd);
		if (ret)
			note(s, ret);
		close(fd);
		__atomic_add_fetch(&s->successes, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

TEST_F_TIMEOUT(race, contexts, 60)
{
	struct shared s = { .sh = &self->sh };

	run_threads(_metadata, &s, make_contexts, attach);
	EXPECT_TRUE(uv_res_settles(&self->sh.made, 5000));
}

/* One file, attached by many at once: one of them does. */
static int one_file, context;

static void *attach_one(void *arg)
{
	struct shared *s = arg;
	int ret = sh_attach(one_file, context);

	if (!ret)
		__atomic_add_fetch(&s->successes, 1, __ATOMIC_RELAXED);
	else if (ret != -EINVAL)
		note(s, ret);
	return NULL;
}

static void *own_one(void *arg)
{
	struct shared *s = arg;
	__u64 support;
	__u32 vectors;
	int ret = uv_get_context(one_file, &vectors, &support);

	if (!ret)
		__atomic_add_fetch(&s->successes, 1, __ATOMIC_RELAXED);
	else if (ret != -EINVAL)
		note(s, ret);
	return NULL;
}

TEST_F_TIMEOUT(race, one_context_for_one_file, 60)
{
	int round;

	context = sh_export_context(self->sh.fd, 0);
	ASSERT_GE(context, 0);
	for (round = 0; round < 30; round++) {
		struct shared s = { .sh = &self->sh };

		one_file = uv_open();
		ASSERT_GE(one_file, 0);
		run_threads(_metadata, &s, own_one, attach_one);
		EXPECT_EQ(1, s.successes);
		close(one_file);
	}
	close(context);
	EXPECT_TRUE(uv_res_settles(&self->sh.made, 5000));
}

/* ---- revocation ---- */

static int allowed(int ret)
{
	return !ret || ret == -EIO || ret == -EBUSY || ret == -ENOENT;
}

static void *make_and_revoke(void *arg)
{
	struct shared *s = arg;
	struct sh_name name = { s->dir, "revoke-race", 0600,
				SHVERBS_PUBLISH_REVOCABLE };
	struct uv_mr mr;
	int ret;

	while (uv_now_ms() < s->end) {
		ret = uv_mr_reg(s->sh->fd, s->sh->pd, s->sh->memory, 4096,
				UV_ACCESS_ALL, &mr);
		if (!ret)
			ret = sh_publish(s->sh->fd, UVERBS_OBJECT_MR, mr.handle,
					 &name);
		sched_yield();
		if (!ret)
			while ((ret = sh_revoke(s->sh->fd, UVERBS_OBJECT_MR,
						mr.handle)) == -EBUSY)
				;
		/* The last one's name may not be unlinked yet. */
		if (ret && ret != -EEXIST)
			note(s, ret);
		ret = uv_mr_destroy(s->sh->fd, mr.handle);
		if (ret)
			note(s, ret);
	}
	return NULL;
}

static void *import_and_use(void *arg)
{
	struct shared *s = arg;
	struct sh_holders holders;
	struct sh_import import;
	int object, ret;

	while (uv_now_ms() < s->end) {
		object = openat(s->dir, "revoke-race", O_RDWR | O_CLOEXEC);
		if (object < 0) {
			if (errno != ENOENT)
				note(s, -errno);
			continue;
		}
		ret = sh_import_mr(s->sh->other, object, &import);
		close(object);
		if (!allowed(ret))
			note(s, ret);
		if (ret)
			continue;
		ret = sh_holders(s->sh->other, UVERBS_OBJECT_MR, import.handle,
				 &holders);
		if (!allowed(ret))
			note(s, ret);
		/* Giving up works in whichever state it is. */
		while ((ret = uv_mr_destroy(s->sh->other, import.handle)) == -EBUSY)
			;
		if (ret)
			note(s, ret);
		__atomic_add_fetch(&s->successes, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

TEST_F_TIMEOUT(race, revocation, 60)
{
	struct shared s = { .sh = &self->sh };

	run_threads(_metadata, &s, make_and_revoke, import_and_use);
	EXPECT_TRUE(uv_res_settles(&self->sh.made, 5000));
}

TEST_HARNESS_MAIN
