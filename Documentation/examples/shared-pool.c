// SPDX-License-Identifier: GPL-2.0
/*
 * shared-pool DEVICE [WORKERS]: a server that registers a pool of memory once, and
 * as many workers, separate programs with contexts and QPs of their own, that use
 * the one registration.
 *
 * Each worker RDMA-writes its number into its slot of the pool.  At the end the
 * server finds all of them there, and that the pool was pinned once.
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <shverbs.h>

#include "loopback.h"

#define SLOT 4096
#define MAX_WORKERS 1024

/* The name of an object of this server's: its process id tells it from others. */
static const char *name_of(const char *device, pid_t server, const char *object)
{
	static char path[200];

	snprintf(path, sizeof(path), SHVERBS_FS_MOUNT_POINT "/%s/pool-%d.%s", device,
		 server, object);
	return path;
}

static long pinned_kb(void)
{
	char line[128];
	long kb = -1;
	FILE *f = fopen("/proc/self/status", "re");

	if (!f)
		err(1, "/proc/self/status");
	while (fgets(line, sizeof(line), f))
		sscanf(line, "VmPin: %ld", &kb);
	fclose(f);
	return kb;
}

/* ---- a worker ---- */

static int work(const char *device, pid_t server, unsigned int number)
{
	struct ibv_context *ctx = loop_open_device(device);
	static uint64_t stage[SLOT / sizeof(uint64_t)];
	struct ibv_mr *pool, *local;
	struct loop_op op;
	struct loop loop;
	struct ibv_pd *pd;
	size_t i;
	int fd;

	if (!ctx)
		err(1, "opening %s", device);
	/* The fds may be closed at once: the handles own the objects. */
	fd = shv_open(name_of(device, server, "pd"), O_RDONLY);
	pd = shv_import_pd(ctx, fd);
	if (!pd)
		err(1, "importing the PD");
	close(fd);
	fd = shv_open(name_of(device, server, "mr"), O_RDONLY);
	pool = shv_import_mr(pd, fd);
	if (!pool)
		err(1, "importing the pool");
	close(fd);

	/* From here on all is as if the pool were its own. */
	if (loop_open(&loop, pd))
		errx(1, "connecting QPs");
	for (i = 0; i < SLOT / sizeof(uint64_t); i++)
		stage[i] = number;
	local = ibv_reg_mr(pd, stage, SLOT, IBV_ACCESS_LOCAL_WRITE);
	if (!local)
		err(1, "registering the stage");
	op = (struct loop_op){
		.opcode = IBV_WR_RDMA_WRITE,
		.local = (uintptr_t)stage,
		.lkey = local->lkey,
		.remote = (uintptr_t)pool->addr + (size_t)number * SLOT,
		.rkey = pool->rkey,
		.length = SLOT,
	};
	if (loop_rdma(&loop, &op))
		errx(1, "writing slot %u", number);
	/* Nothing is given back here: what a process has goes with it. */
	return 0;
}

/* ---- the server ---- */

static void start_workers(char **argv, const char *device, unsigned int workers)
{
	char server[16], number[16];
	unsigned int i;

	snprintf(server, sizeof(server), "%d", getpid());
	for (i = 0; i < workers; i++) {
		pid_t pid = fork();

		if (pid < 0)
			err(1, "fork");
		if (pid)
			continue;
		snprintf(number, sizeof(number), "%u", i);
		execl("/proc/self/exe", argv[0], device, "--worker", server, number,
		      NULL);
		err(1, "exec");
	}
}

static void wait_for_workers(unsigned int workers)
{
	int status;

	while (workers--) {
		if (wait(&status) < 0)
			err(1, "wait");
		if (status)
			errx(1, "a worker failed");
	}
}

static int serve(char **argv, const char *device, unsigned int workers)
{
	size_t size = (size_t)workers * SLOT, i;
	struct ibv_context *ctx = loop_open_device(device);
	struct shv_holders holders;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	uint64_t *pool;

	if (!ctx)
		err(1, "opening %s", device);
	if (!shv_supported(ctx))
		err(1, "%s cannot share objects", device);
	pool = mmap(NULL, size, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pd = ibv_alloc_pd(ctx);
	mr = pd ? ibv_reg_mr(pd, pool, size, LOOP_ACCESS) : NULL;
	if (!mr)
		err(1, "registering the pool");
	if (shv_publish_pd(pd, AT_FDCWD, name_of(device, getpid(), "pd"), 0600, 0) ||
	    shv_publish_mr(mr, AT_FDCWD, name_of(device, getpid(), "mr"), 0600, 0))
		err(1, "publishing the pool");

	start_workers(argv, device, workers);
	wait_for_workers(workers);
	for (i = 0; i < size / sizeof(uint64_t); i++)
		if (pool[i] != i / (SLOT / sizeof(uint64_t)))
			errx(1, "slot %zu is not as its worker left it",
			     i / (SLOT / sizeof(uint64_t)));
	if (shv_holders_mr(mr, &holders))
		err(1, "counting holders");
	printf("%u workers wrote into one registration; %ld kB are pinned, and %u handle is left\n",
	       workers, pinned_kb(), holders.handles);
	/* Weak names go with the objects. */
	if (pinned_kb() != (long)(size / 1024) || ibv_dereg_mr(mr) ||
	    ibv_dealloc_pd(pd) || ibv_close_device(ctx))
		errx(1, "not all is as it should be");
	return 0;
}

int main(int argc, char **argv)
{
	unsigned long workers = argc > 2 ? strtoul(argv[2], NULL, 10) : 64;

	if (argc == 5 && !strcmp(argv[2], "--worker"))
		return work(argv[1], atoi(argv[3]),
			    (unsigned int)strtoul(argv[4], NULL, 10));
	if (argc < 2 || argc > 3 || !workers || workers > MAX_WORKERS)
		errx(2, "usage: %s DEVICE [WORKERS]", argv[0]);
	return serve(argv, argv[1], (unsigned int)workers);
}
