// SPDX-License-Identifier: GPL-2.0
/* Imports the pool and writes patterns into it by RDMA. */
#include "demo.h"

#define IMPORTS 200
#define REGISTRATIONS 20

static void write_pattern(struct pool *pool, unsigned int seed)
{
	double start = now_us();
	size_t at;

	for (at = 0; at < POOL_SIZE; at += STAGE_SIZE) {
		pattern_fill(pool->stage, STAGE_SIZE, seed, at);
		pool_rdma(pool, IBV_WR_RDMA_WRITE, at);
	}
	printf("RDMA-wrote pattern %u, %lu MiB, in %.1f s\n", seed,
	       POOL_SIZE >> 20, (now_us() - start) / 1e6);
}

/* The fastest of many: the others were disturbed by something. */
static double fastest(double best, double start)
{
	double took = now_us() - start;

	return !best || took < best ? took : best;
}

/* What everybody who uses the pool did before there were imports. */
static double registration_us(struct pool *pool)
{
	void *memory = map_memory(POOL_SIZE);
	double best = 0;
	int i;

	for (i = 0; i < REGISTRATIONS; i++) {
		double start = now_us();
		struct ibv_mr *mr = ibv_reg_mr(pool->pd, memory, POOL_SIZE,
					       LOOP_ACCESS);

		if (!mr || ibv_dereg_mr(mr))
			err(1, "registration %d of %lu MiB", i, POOL_SIZE >> 20);
		best = fastest(best, start);
	}
	munmap(memory, POOL_SIZE);
	return best;
}

static double import_us(struct demo *demo, struct pool *pool)
{
	int fd = open_name(demo, "pool.mr"), i;
	double best = 0;

	for (i = 0; i < IMPORTS; i++) {
		double start = now_us();
		struct ibv_mr *mr = shv_import_mr(pool->pd, fd);

		if (!mr || shv_release_mr(mr))
			err(1, "import %d", i);
		best = fastest(best, start);
	}
	close(fd);
	return best;
}

static void compare(struct demo *demo, struct pool *pool)
{
	double import = import_us(demo, pool);
	double registration = registration_us(pool);

	printf("import and release of the MR: %.1f us, and pins nothing (fastest of %d)\n",
	       import, IMPORTS);
	printf("registration and deregistration of as much: %.0f us, %.0f times that (fastest of %d)\n",
	       registration, registration / import, REGISTRATIONS);
}

int main(int argc, char **argv)
{
	struct pool pool;
	struct demo demo;
	unsigned int seed;
	char command[16];

	(void)argc;
	demo_start(&demo, argv);
	import_pool(&demo, &pool);
	printf("imported the PD in %.1f us, the MR in %.1f us; VmPin %ld kB\n",
	       pool.pd_us, pool.mr_us, vm_pin());
	while (demo_next(command, &seed)) {
		if (!strcmp(command, "write")) {
			write_pattern(&pool, seed);
		} else if (!strcmp(command, "compare")) {
			compare(&demo, &pool);
		} else if (!strcmp(command, "release")) {
			release_pool(&pool);
			printf("released everything; VmPin %ld kB\n", vm_pin());
		} else {
			errx(2, "no such command: %s", command);
		}
	}
	return 0;
}
