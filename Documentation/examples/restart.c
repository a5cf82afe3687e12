// SPDX-License-Identifier: GPL-2.0
/*
 * restart DEVICE: a worker whose registration outlives it.
 *
 * The worker keeps its state in a file of /dev/shm that it registers once, under
 * strong names.  It is killed in the middle of its work, again and again; each
 * new one finds the names, imports what its predecessor registered, and continues
 * where that was.  Nothing is registered a second time.
 */
#include <err.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

#include <shverbs.h>

#include "loopback.h"

#define SIZE (8UL << 20)
#define LIVES 4

struct state {
	uint64_t steps;		/* done, by all lives; written by RDMA */
	uint32_t registrations;
	uint32_t rkey;		/* of the first registration */
};

struct worker {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct state *state;
	char path[200];
};

static const char *name_of(struct worker *worker, const char *device,
			   const char *object)
{
	snprintf(worker->path, sizeof(worker->path),
		 SHVERBS_FS_MOUNT_POINT "/%s/restart.%s", device, object);
	return worker->path;
}

static struct state *map_state(void)
{
	int fd = shm_open("/shverbs-restart", O_RDWR | O_CREAT, 0600);
	void *map;

	if (fd < 0 || ftruncate(fd, SIZE))
		err(1, "the state's file");
	map = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		err(1, "mapping the state");
	close(fd);
	return map;
}

/* What the last life left; false in the first one. */
static int find(struct worker *worker, const char *device)
{
	int pd = shv_open(name_of(worker, device, "pd"), O_RDONLY);
	int mr = shv_open(name_of(worker, device, "mr"), O_RDONLY);

	if (pd < 0 || mr < 0)
		return 0;
	worker->pd = shv_import_pd(worker->ctx, pd);
	worker->mr = worker->pd ? shv_import_mr(worker->pd, mr) : NULL;
	if (!worker->mr)
		err(1, "importing what the last one registered");
	close(pd);
	close(mr);
	return 1;
}

/* The PD's name last: whoever finds both finds all. */
static void make(struct worker *worker, const char *device)
{
	worker->pd = ibv_alloc_pd(worker->ctx);
	worker->mr = worker->pd ? ibv_reg_mr(worker->pd, worker->state, SIZE,
					     LOOP_ACCESS) : NULL;
	if (!worker->mr)
		err(1, "registering the state");
	worker->state->registrations++;
	worker->state->rkey = worker->mr->rkey;
	if (shv_publish_mr(worker->mr, AT_FDCWD, name_of(worker, device, "mr"),
			   0600, SHVERBS_PUBLISH_STRONG) ||
	    shv_publish_pd(worker->pd, AT_FDCWD, name_of(worker, device, "pd"),
			   0600, SHVERBS_PUBLISH_STRONG))
		err(1, "publishing the state");
}

/* Counts steps, by RDMA into the state, until it is killed. */
static void run(struct worker *worker)
{
	uint64_t next = worker->state->steps;
	struct ibv_mr *local = ibv_reg_mr(worker->pd, &next, sizeof(next),
					  IBV_ACCESS_LOCAL_WRITE);
	struct loop loop;

	if (!local || loop_open(&loop, worker->pd))
		errx(1, "connecting QPs");
	for (;;) {
		struct loop_op op = {
			.opcode = IBV_WR_RDMA_WRITE,
			.local = (uintptr_t)&next,
			.lkey = local->lkey,
			.remote = (uintptr_t)worker->mr->addr,
			.rkey = worker->mr->rkey,
			.length = sizeof(next),
		};

		next++;
		if (loop_rdma(&loop, &op))
			errx(1, "step %llu", (unsigned long long)next);
	}
}

static void live(const char *device)
{
	struct worker worker = { .ctx = loop_open_device(device) };

	if (!worker.ctx)
		err(1, "opening %s", device);
	worker.state = map_state();
	if (!find(&worker, device))
		make(&worker, device);
	if (worker.state->rkey != worker.mr->rkey)
		errx(1, "that is not what was registered");
	run(&worker);
}

/* Waits until so many steps are done, at most a minute. */
static void wait_for(const struct state *state, uint64_t steps, pid_t pid)
{
	time_t end = time(NULL) + 60;

	while (__atomic_load_n(&state->steps, __ATOMIC_ACQUIRE) < steps) {
		if (time(NULL) > end || waitpid(pid, NULL, WNOHANG))
			errx(1, "the worker does not work");
		usleep(1000);
	}
}

int main(int argc, char **argv)
{
	struct state *state;
	struct worker names;
	uint64_t steps = 0;
	int i;

	if (argc != 2)
		errx(2, "usage: %s DEVICE", argv[0]);
	shm_unlink("/shverbs-restart");
	state = map_state();
	for (i = 0; i < LIVES; i++) {
		pid_t pid = fork();

		if (pid < 0)
			err(1, "fork");
		if (!pid)
			live(argv[1]);
		wait_for(state, steps + 10, pid);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		if (state->steps < steps + 10)
			errx(1, "life %d began at the beginning", i);
		steps = state->steps;
	}
	printf("%llu steps in %d lives, with %u registration\n",
	       (unsigned long long)steps, LIVES, state->registrations);
	/* Nobody holds it now: unlinking ends it. */
	if (unlink(name_of(&names, argv[1], "mr")) ||
	    unlink(name_of(&names, argv[1], "pd")) ||
	    shm_unlink("/shverbs-restart"))
		err(1, "unlinking");
	return state->registrations == 1 ? 0 : 1;
}
