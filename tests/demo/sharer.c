// SPDX-License-Identifier: GPL-2.0
/* Registers a pool of memory, gives its PD and MR names, and waits. */
#include "demo.h"

static struct ibv_mr *register_pool(struct ibv_pd *pd, void *memory)
{
	double start = now_us();
	struct ibv_mr *mr = ibv_reg_mr(pd, memory, POOL_SIZE, LOOP_ACCESS);

	if (!mr)
		err(1, "registering %lu MiB", POOL_SIZE >> 20);
	printf("registered %lu MiB in %.0f us; VmPin %ld kB\n", POOL_SIZE >> 20,
	       now_us() - start, vm_pin());
	return mr;
}

static void publish(struct demo *demo, struct ibv_pd *pd, struct ibv_mr *mr)
{
	double start;

	/* The group may use them, whatever the umask was. */
	umask(0007);
	start = now_us();
	if (shv_publish_pd(pd, AT_FDCWD, name(demo, "pool.pd"), 0660, 0))
		err(1, "publishing %s", demo->path);
	if (shv_publish_mr(mr, AT_FDCWD, name(demo, "pool.mr"), 0660, 0))
		err(1, "publishing %s", demo->path);
	printf("published pool.pd and pool.mr, mode 0660, in %.0f us\n",
	       now_us() - start);
}

int main(int argc, char **argv)
{
	unsigned int seed;
	char command[16];
	struct demo demo;
	struct ibv_pd *pd;
	void *memory;

	(void)argc;
	demo_start(&demo, argv);
	memory = map_memory(POOL_SIZE);
	pd = ibv_alloc_pd(demo.ctx);
	if (!pd)
		err(1, "allocating a PD");
	publish(&demo, pd, register_pool(pd, memory));
	while (demo_next(command, &seed)) {
		pattern_check(memory, POOL_SIZE, seed, 0);
		printf("sees pattern %u in its own memory, every byte\n", seed);
	}
	return 0;
}
