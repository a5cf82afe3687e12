/* SPDX-License-Identifier: GPL-2.0 */
/* What the programs of the demonstration have in common. */
#ifndef SHVERBS_DEMO_H
#define SHVERBS_DEMO_H

#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <shverbs.h>

#include "../include/loopback.h"

#define POOL_SIZE	(64UL << 20)
#define STAGE_SIZE	(4UL << 20)

/*
 * The programs are started by tests/demo/run with the device's name and the
 * directory of the object file system to use.  They print what they did,
 * then "ok" alone on a line, and wait for the next command on their standard
 * input, until that is closed or says "quit".
 */
struct demo {
	struct ibv_context *ctx;
	const char *dir;
	char path[300];		/* see name() */
};

static inline void demo_start(struct demo *demo, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!argv[1] || !argv[2])
		errx(2, "usage: %s DEVICE DIRECTORY", argv[0]);
	demo->dir = argv[2];
	demo->ctx = loop_open_device(argv[1]);
	if (!demo->ctx)
		err(1, "cannot open %s", argv[1]);
	if (!shv_supported(demo->ctx))
		err(1, "%s cannot share objects", argv[1]);
}

/* Says "ok" and gets the next command with its number; 0 at the end. */
static inline int demo_next(char *command, unsigned int *number)
{
	char line[80];

	puts("ok");
	if (!fgets(line, sizeof(line), stdin))
		return 0;
	*number = 0;
	if (sscanf(line, "%15s %u", command, number) < 1)
		errx(2, "an empty command");
	return strcmp(command, "quit") != 0;
}

static inline const char *name(struct demo *demo, const char *object)
{
	snprintf(demo->path, sizeof(demo->path), "%s/%s", demo->dir, object);
	return demo->path;
}

static inline double now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

/* The pages that this process is charged for as pinned, in KiB. */
static inline long vm_pin(void)
{
	char line[200];
	long kb = -1;
	FILE *file = fopen("/proc/self/status", "re");

	if (!file)
		err(1, "/proc/self/status");
	while (kb < 0 && fgets(line, sizeof(line), file))
		sscanf(line, "VmPin: %ld", &kb);
	fclose(file);
	return kb;
}

static inline void *map_memory(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (memory == MAP_FAILED)
		err(1, "mmap");
	return memory;
}

/* No two words of a pattern are the same, nor are those of two patterns. */
static inline uint64_t pattern(unsigned int seed, size_t offset)
{
	return ((uint64_t)seed << 48) + (offset + 1) * 0x9E3779B97F4A7C15u;
}

static inline void pattern_fill(void *memory, size_t size, unsigned int seed,
				size_t offset)
{
	uint64_t *word = (uint64_t *)memory;
	size_t i;

	for (i = 0; i < size / sizeof(*word); i++)
		word[i] = pattern(seed, offset + i * sizeof(*word));
}

static inline void pattern_check(const void *memory, size_t size,
				 unsigned int seed, size_t offset)
{
	const uint64_t *word = (const uint64_t *)memory;
	size_t i;

	for (i = 0; i < size / sizeof(*word); i++)
		if (word[i] != pattern(seed, offset + i * sizeof(*word)))
			errx(1, "pattern %u is wrong at byte %zu", seed,
			     offset + i * sizeof(*word));
}

/* A pool that somebody else registered, and what is needed to reach into it. */
struct pool {
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct loop loop;
	void *stage;
	struct ibv_mr *stage_mr;
	double pd_us, mr_us;	/* what the imports took */
};

static inline int open_name(struct demo *demo, const char *object)
{
	int fd = shv_open(name(demo, object), O_RDONLY);

	if (fd < 0)
		err(1, "%s", demo->path);
	return fd;
}

static inline void import_objects(struct demo *demo, struct pool *pool)
{
	int pd_fd = open_name(demo, "pool.pd"), mr_fd = open_name(demo, "pool.mr");
	double start = now_us();

	pool->pd = shv_import_pd(demo->ctx, pd_fd);
	if (!pool->pd)
		err(1, "importing the PD");
	pool->pd_us = now_us() - start;
	start = now_us();
	pool->mr = shv_import_mr(pool->pd, mr_fd);
	if (!pool->mr)
		err(1, "importing the MR");
	pool->mr_us = now_us() - start;
	close(pd_fd);
	close(mr_fd);
	if (pool->mr->length != POOL_SIZE)
		errx(1, "the MR has %zu bytes", pool->mr->length);
}

static inline void import_pool(struct demo *demo, struct pool *pool)
{
	int ret;

	import_objects(demo, pool);
	pool->stage = map_memory(STAGE_SIZE);
	/* On the shared PD: it belongs to this process like any other. */
	pool->stage_mr = ibv_reg_mr(pool->pd, pool->stage, STAGE_SIZE,
				    IBV_ACCESS_LOCAL_WRITE);
	if (!pool->stage_mr)
		err(1, "registering 4 MiB on the shared PD");
	ret = loop_open(&pool->loop, pool->pd);
	if (ret)
		errx(1, "QPs on the shared PD: %s", strerror(-ret));
}

static inline void pool_rdma(struct pool *pool, enum ibv_wr_opcode opcode,
			     size_t offset)
{
	struct loop_op op = {
		.opcode = opcode,
		.local = (uintptr_t)pool->stage,
		.lkey = pool->stage_mr->lkey,
		.remote = (uintptr_t)pool->mr->addr + offset,
		.rkey = pool->mr->rkey,
		.length = STAGE_SIZE,
	};
	int ret = loop_rdma(&pool->loop, &op);

	if (ret)
		errx(1, "RDMA at byte %zu: %s", offset, strerror(-ret));
}

static inline void release_pool(struct pool *pool)
{
	if (loop_close(&pool->loop))
		errx(1, "destroying QPs and CQ");
	if (ibv_dereg_mr(pool->stage_mr))
		err(1, "deregistering 4 MiB");
	if (shv_release_mr(pool->mr) || shv_release_pd(pool->pd))
		err(1, "releasing the imports");
}

#endif
