// SPDX-License-Identifier: GPL-2.0
/*
 * A module that misbehaves on demand, for scripts/selftest: a bench that
 * cannot see these faults would not see ours.
 */
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

static char *how = "";
module_param(how, charp, 0);

static DEFINE_MUTEX(first);
static DEFINE_MUTEX(second);

static void *forgotten;

static int __init splat_init(void)
{
	if (!strcmp(how, "warn")) {
		WARN(1, "splat: as asked for\n");
	} else if (!strcmp(how, "oops")) {
		*(volatile int *)8 = 1;
	} else if (!strcmp(how, "refcount")) {
		refcount_t count = REFCOUNT_INIT(0);

		refcount_inc(&count);
	} else if (!strcmp(how, "hang")) {
		local_irq_disable();
		for (;;)
			cpu_relax();
	} else if (!strcmp(how, "out-of-bounds")) {
		volatile char *memory = kmalloc(16, GFP_KERNEL);

		if (memory)
			memory[16] = 1;
		kfree((void *)memory);
	} else if (!strcmp(how, "deadlock")) {
		mutex_lock(&first);
		mutex_lock(&second);
		mutex_unlock(&second);
		mutex_unlock(&first);
		mutex_lock(&second);
		mutex_lock(&first);
		mutex_unlock(&first);
		mutex_unlock(&second);
	} else if (!strcmp(how, "leak")) {
		int i;

		/* Many, since a stale copy of a pointer may hide one. */
		for (i = 0; i < 100; i++)
			WRITE_ONCE(forgotten, kmalloc(64, GFP_KERNEL));
		WRITE_ONCE(forgotten, NULL);
	} else if (strcmp(how, "none")) {
		return -EINVAL;
	}
	return 0;
}

static void __exit splat_exit(void)
{
}

module_init(splat_init);
module_exit(splat_exit);
MODULE_DESCRIPTION("Faults on demand, for the bench's own tests");
MODULE_LICENSE("GPL");
