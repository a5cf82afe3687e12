// SPDX-License-Identifier: GPL-2.0
/* Imports the pool and reads it by RDMA, checking every byte. */
#include "demo.h"

static void read_pattern(struct pool *pool, unsigned int seed)
{
	double start = now_us();
	size_t at;

	for (at = 0; at < POOL_SIZE; at += STAGE_SIZE) {
		/* Nothing of the last part may pass for the next. */
		memset(pool->stage, 0, STAGE_SIZE);
		pool_rdma(pool, IBV_WR_RDMA_READ, at);
		pattern_check(pool->stage, STAGE_SIZE, seed, at);
	}
	printf("RDMA-read %lu MiB in %.1f s: pattern %u, every byte\n",
	       POOL_SIZE >> 20, (now_us() - start) / 1e6, seed);
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
	printf("imported the PD in %.1f us, the MR in %.1f us\n", pool.pd_us,
	       pool.mr_us);
	while (demo_next(command, &seed))
		read_pattern(&pool, seed);
	release_pool(&pool);
	return 0;
}
