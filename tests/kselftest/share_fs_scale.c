// SPDX-License-Identifier: GPL-2.0
/* 100,000 names: finding one costs what it costs among ten, and all go with their object. */
#include <dirent.h>
#include <time.h>

#include "share.h"

#define TRIES 500

/* A kernel that checks everything is ten times slower, and gets a tenth. */
static int num_names(void)
{
	return access("/sys/kernel/debug/kmemleak", F_OK) ? 100000 : 10000;
}

SHARE_FIXTURE(scale)

static long now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000L + ts.tv_nsec / 1000;
}

static int publish(struct sh *sh, int dir, int number)
{
	char name[32];
	struct sh_name where = { dir, name, 0600, 0 };

	snprintf(name, sizeof(name), "name-%d", number);
	return sh_publish(sh->fd, UVERBS_OBJECT_MR, sh->mr.handle, &where);
}

/* The time to open names among the first so many, in us. */
static long open_some(int dir, int names)
{
	long start = now_us();
	char name[32];
	int i, fd;

	for (i = 0; i < TRIES; i++) {
		snprintf(name, sizeof(name), "name-%d", (i * 7919) % names);
		fd = openat(dir, name, O_RDONLY);
		if (fd < 0)
			return -errno;
		close(fd);
	}
	return now_us() - start;
}

static int count(int dir)
{
	DIR *d = fdopendir(dup(dir));
	int n = 0;

	if (!d)
		return -errno;
	rewinddir(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

TEST_F_TIMEOUT(scale, a_hundred_thousand_names, 300)
{
	struct sh *sh = &self->sh;
	char path[200];
	int root = sh_dir(path, sizeof(path)), dir, i, empty;
	const int names = num_names();
	long few, many;

	ASSERT_GE(root, 0);
	ASSERT_EQ(0, mkdirat(root, "scale", 0700));
	dir = openat(root, "scale", O_RDONLY | O_DIRECTORY);
	ASSERT_GE(dir, 0);
	empty = count(dir);
	for (i = 0; i < 10; i++)
		ASSERT_EQ(0, publish(sh, dir, i));
	open_some(dir, 10);
	few = open_some(dir, 10);
	for (; i < names; i++)
		ASSERT_EQ(0, publish(sh, dir, i));
	EXPECT_EQ(empty + names, count(dir));
	many = open_some(dir, names);
	TH_LOG("%d opens among 10 names: %ld us, among %d: %ld us", TRIES, few,
	       names, many);
	/* How long is for the benchmarks; here each name must lead to its object. */
	ASSERT_LE(0, few);
	ASSERT_LE(0, many);
	/* All of them are weak. */
	ASSERT_EQ(0, uv_mr_destroy(sh->fd, sh->mr.handle));
	EXPECT_TRUE(sh_vanishes(dir, "name-0", 5000));
	EXPECT_TRUE(sh_vanishes(dir, "name-9999", 5000));
	for (i = 0; count(dir) > empty && i < 6000; i++)
		poll(NULL, 0, 10);
	EXPECT_EQ(empty, count(dir));
	close(dir);
	EXPECT_EQ(0, unlinkat(root, "scale", AT_REMOVEDIR));
	close(root);
}

TEST_HARNESS_MAIN
