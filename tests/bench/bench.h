/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What an operation costs: the time stamp counter before and after, many times
 * over.  In a guest under QEMU's -icount with shift=0 the counter counts
 * instructions, those of user space and of the kernel.
 *
 * A line for each operation goes to standard output:
 *
 *	SERVER <tab> SECTION <tab> OPERATION <tab> MEDIAN <tab> MIN <tab> MAX
 *
 * with "skip" and the error in the place of numbers for what the kernel does not
 * offer.
 */
#ifndef SHVERBS_BENCH_H
#define SHVERBS_BENCH_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <x86intrin.h>

#include <infiniband/verbs.h>

#define BENCH_MOST	1001	/* repetitions that are kept */

/* Runs once; start and stop enclose what is measured.  0 or a positive errno. */
typedef int (*bench_op)(void *arg);

static uint64_t bench_started, bench_stopped;
static bool bench_counts;	/* this run does */

/* Tells the minimum in the place of the median: a driver's worker may cut in. */
static bool bench_least;

/* Marks, which do nothing, for the plugin in profile.c. */
static inline void bench_start(void)
{
	if (bench_counts)
		__asm__ volatile("xchg %%rsi, %%rsi" : : : "memory");
	bench_started = __rdtsc();
}

static inline void bench_stop(void)
{
	bench_stopped = __rdtsc();
	if (bench_counts)
		__asm__ volatile("xchg %%rbp, %%rbp" : : : "memory");
}

static inline void bench_written(void)
{
	__asm__ volatile("xchg %%r8, %%r8" : : : "memory");
}

static inline bool bench_shverbs(void)
{
	return !access("/sys/module/shverbs", F_OK);
}

static int bench_compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static inline void bench_name(const char *section, const char *name)
{
	printf("%s\t%s\t%s\t", bench_shverbs() ? "shverbs" : "ib_uverbs", section,
	       name);
}

/*
 * Measures one operation: @warm runs that do not count, then @times that do.
 * What fails with an errno that means "not offered" is skipped, anything else is
 * the end.
 */
static inline void bench(const char *section, const char *name, int warm,
			 int times, bench_op op, void *arg)
{
	static uint64_t taken[BENCH_MOST];
	int i, err = 0;

	if (times > BENCH_MOST)
		times = BENCH_MOST;
	for (i = 0; i < warm + times && !err; i++) {
		bench_counts = i >= warm;
		err = op(arg);
		if (i >= warm)
			taken[i - warm] = bench_stopped - bench_started;
	}
	bench_counts = false;
	bench_written();
	bench_name(section, name);
	if (err == EOPNOTSUPP || err == EPROTONOSUPPORT || err == ENOSYS) {
		printf("skip\t%s\n", strerror(err));
	} else if (err) {
		printf("fail\t%s\n", strerror(err));
		exit(1);
	} else {
		qsort(taken, times, sizeof(*taken), bench_compare);
		printf("%lu\t%lu\t%lu\n", taken[bench_least ? 0 : times / 2],
		       taken[0], taken[times - 1]);
	}
	fflush(stdout);
}

/*
 * Memory to register, in huge pages: how pages of 4 KiB lie in physical memory
 * depends on what was there before, and what a registration costs on that.
 */
#define BENCH_HUGE	(2UL << 20)

static inline void *bench_memory(size_t size)
{
	void *memory = aligned_alloc(BENCH_HUGE, size);

	if (!memory || madvise(memory, size, MADV_HUGEPAGE)) {
		perror("memory");
		exit(1);
	}
	memset(memory, 1, size);
	return memory;
}

/* Lets what earlier operations have queued come to its end. */
static inline void bench_settle(void)
{
	usleep(2000);
}

/* For what everything else needs. */
static inline void *bench_need(void *made, const char *what)
{
	if (made)
		return made;
	perror(what);
	exit(1);
}

static inline void bench_must(int err, const char *what)
{
	if (!err)
		return;
	errno = err > 0 ? err : errno;
	perror(what);
	exit(1);
}

#endif
