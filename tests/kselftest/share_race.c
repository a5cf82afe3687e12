// SPDX-License-Identifier: GPL-2.0
/*
 * Owners that come and go at the same time.  Every outcome that the interface
 * allows is right, no other is, and nothing is left at the end.
 */
#include <pthread.h>

#include "share.h"

#define RUN_MS 1000
#define THREADS 4

SHARE_FIXTURE(race)

/* What the threads of a test have in common. */
struct shared {
	struct sh *sh;
	int fds[THREADS + 1];	/* files with a context, one for each thread */
	struct uv_ctx ctx[THREADS + 1];
	int dir;
	int object_fd;
	pthread_barrier_t barrier;
	__u32 handle;
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

struct worker {
	struct shared *s;
	int number;
	pthread_t thread;
};

static void run_threads(struct __test_metadata *_metadata, struct shared *s,
			void *(*first)(void *), void *(*others)(void *))
{
	struct worker workers[THREADS];
	int i;

	s->end = uv_now_ms() + RUN_MS;
	pthread_barrier_init(&s->barrier, NULL, THREADS);
	for (i = 0; i < THREADS; i++) {
		workers[i] = (struct worker){ .s = s, .number = i };
		ASSERT_EQ(0, pthread_create(&workers[i].thread, NULL,
					    i ? others : first,
					    &workers[i]));
	}
	for (i = 0; i < THREADS; i++)
		pthread_join(workers[i].thread, NULL);
	EXPECT_EQ(0, s->wrong)
	{
		TH_LOG("a thread got %s", strerrorname_np(-s->wrong));
	}
	pthread_barrier_destroy(&s->barrier);
}

static void open_files(struct __test_metadata *_metadata, struct shared *s,
		       struct sh *sh)
{
	char path[200];
	int i;

	memset(s, 0, sizeof(*s));
	s->sh = sh;
	s->dir = sh_dir(path, sizeof(path));
	ASSERT_GE(s->dir, 0);
	for (i = 0; i <= THREADS; i++) {
		ASSERT_EQ(0, uv_ctx_open(&s->ctx[i]));
		s->fds[i] = s->ctx[i].fd;
	}
}

static void close_files(struct shared *s)
{
	int i;

	for (i = 0; i <= THREADS; i++)
		uv_ctx_close(&s->ctx[i]);
	close(s->dir);
}

/* ---- imports and releases of one object by many files ---- */

static void *import_and_release(void *arg)
{
	struct worker *w = arg;
	struct shared *s = w->s;
	struct sh_import import;
	int ret, round = 0;

	while (uv_now_ms() < s->end) {
		ret = sh_import_mr(s->fds[w->number], s->object_fd, &import);
		if (!ret)
			ret = round++ & 1 ?
				sh_release(s->fds[w->number], UVERBS_OBJECT_MR, import.handle) :
				uv_mr_destroy(s->fds[w->number], import.handle);
		if (ret)
			note(s, ret);
	}
	return NULL;
}

TEST_F(race, imports)
{
	struct sh *sh = &self->sh;
	struct shared s;

	open_files(_metadata, &s, sh);
	s.object_fd = sh_export(sh->fd, UVERBS_OBJECT_MR, sh->mr.handle, 0);
	run_threads(_metadata, &s, import_and_release, import_and_release);
	EXPECT_EQ(0, uv_mr_destroy(sh->fd, sh->mr.handle));
	close(s.object_fd);
	close_files(&s);
	sh->made.mr--;
	EXPECT_TRUE(uv_res_settles(&sh->made, 2000));
	EXPECT_EQ(0, uv_vmpin_kb());
}

/* ---- a weak name whose last owner goes ---- */

static void *make_and_destroy(void *arg)
{
	struct shared *s = ((struct worker *)arg)->s;
	struct sh_name name = { s->dir, "race", 0600, 0 };
	struct uv_mr mr;
	int ret;

	while (uv_now_ms() < s->end) {
		ret = uv_mr_reg(s->sh->fd, s->sh->pd, s->sh->memory, 4096,
				UV_ACCESS_ALL, &mr);
		if (!ret)
			ret = sh_publish(s->sh->fd, UVERBS_OBJECT_MR, mr.handle, &name);
		/* The last one's name is there while somebody else holds it. */
		if (ret == -EEXIST)
			ret = 0;
		if (!ret)
			ret = uv_mr_destroy(s->sh->fd, mr.handle);
		if (ret)
			note(s, ret);
	}
	return NULL;
}

static void *open_and_import(void *arg)
{
	struct worker *w = arg;
	struct shared *s = w->s;
	struct sh_import import;
	int fd, ret;

	while (uv_now_ms() < s->end) {
		fd = openat(s->dir, "race", O_RDWR | O_CLOEXEC);
		if (fd < 0) {
			if (errno != ENOENT)
				note(s, -errno);
			continue;
		}
		/* An open name owns the object: nothing can go wrong from here. */
		ret = sh_import_mr(s->fds[w->number], fd, &import);
		close(fd);
		if (!ret)
			ret = uv_mr_destroy(s->fds[w->number], import.handle);
		if (ret)
			note(s, ret);
		__atomic_add_fetch(&s->successes, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

TEST_F(race, weak_names)
{
	struct sh *sh = &self->sh;
	struct shared s;

	open_files(_metadata, &s, sh);
	run_threads(_metadata, &s, make_and_destroy, open_and_import);
	EXPECT_GT(s.successes, 0);
	EXPECT_TRUE(sh_vanishes(s.dir, "race", 2000));
	close_files(&s);
	abi_same(_metadata, &sh->made, "all of the race is over");
	EXPECT_EQ(SH_MR_SIZE / 1024, uv_vmpin_kb());
}

/* ---- one handle, several threads that give it up ---- */

#define ROUNDS 300

static bool last_here(struct shared *s)
{
	return pthread_barrier_wait(&s->barrier) == PTHREAD_BARRIER_SERIAL_THREAD;
}

static void *give_up(void *arg)
{
	struct worker *w = arg;
	struct shared *s = w->s;
	int ret, i;

	for (i = 0; i < ROUNDS; i++) {
		if (last_here(s) && uv_pd_alloc(s->sh->fd, UV_WRITE, &s->handle))
			note(s, -ENOMEM);
		last_here(s);
		ret = w->number & 1 ?
			sh_release(s->sh->fd, UVERBS_OBJECT_PD, s->handle) :
			uv_pd_destroy(s->sh->fd, s->handle);
		if (!ret)
			__atomic_add_fetch(&s->successes, 1, __ATOMIC_RELAXED);
		else if (ret != -ENOENT && ret != -EBUSY)
			note(s, ret);
		/* Exactly one of them had it to give up. */
		if (last_here(s) &&
		    __atomic_exchange_n(&s->successes, 0, __ATOMIC_RELAXED) != 1)
			note(s, -ERANGE);
	}
	return NULL;
}

TEST_F(race, one_handle)
{
	struct sh *sh = &self->sh;
	struct shared s;

	open_files(_metadata, &s, sh);
	run_threads(_metadata, &s, give_up, give_up);
	close_files(&s);
	abi_same(_metadata, &sh->made, "all of the race is over");
}

/* ---- names ---- */

static void *publish_and_unlink(void *arg)
{
	struct worker *w = arg;
	struct shared *s = w->s;
	struct sh_name name = { s->dir, "race", 0600,
				w->number & 1 ? SHVERBS_PUBLISH_STRONG : 0 };
	int ret;

	while (uv_now_ms() < s->end) {
		ret = sh_publish_fd(s->fds[w->number], s->object_fd, &name);
		if (ret && ret != -EEXIST)
			note(s, ret);
		if (renameat(s->dir, "race", s->dir, "race2") && errno != ENOENT)
			note(s, -errno);
		if (unlinkat(s->dir, "race2", 0) && errno != ENOENT)
			note(s, -errno);
	}
	return NULL;
}

TEST_F(race, publish_rename_unlink)
{
	struct sh *sh = &self->sh;
	struct shared s;

	open_files(_metadata, &s, sh);
	s.object_fd = sh_export(sh->fd, UVERBS_OBJECT_MR, sh->mr.handle, 0);
	run_threads(_metadata, &s, publish_and_unlink, publish_and_unlink);
	unlinkat(s.dir, "race", 0);
	unlinkat(s.dir, "race2", 0);
	close(s.object_fd);
	close_files(&s);
	EXPECT_EQ(0, uv_mr_destroy(sh->fd, sh->mr.handle));
	/* A name that was lost on the way would own it still. */
	sh->made.mr--;
	EXPECT_TRUE(uv_res_settles(&sh->made, 2000));
}

/* A weak name that vanishes while it is moved about. */
static void *rename_back_and_forth(void *arg)
{
	struct shared *s = ((struct worker *)arg)->s;

	while (uv_now_ms() < s->end) {
		if (renameat(s->dir, "race", s->dir, "race2") && errno != ENOENT)
			note(s, -errno);
		if (renameat(s->dir, "race2", s->dir, "race") && errno != ENOENT)
			note(s, -errno);
	}
	return NULL;
}

TEST_F(race, rename_against_the_end)
{
	struct sh *sh = &self->sh;
	struct shared s;

	open_files(_metadata, &s, sh);
	run_threads(_metadata, &s, make_and_destroy, rename_back_and_forth);
	EXPECT_TRUE(sh_vanishes(s.dir, "race", 2000));
	EXPECT_TRUE(sh_vanishes(s.dir, "race2", 2000));
	close_files(&s);
	abi_same(_metadata, &sh->made, "all of the race is over");
}

TEST_HARNESS_MAIN
