// SPDX-License-Identifier: GPL-2.0
/* Is not in the group of the names, and tries to open them. */
#include "demo.h"

static void try_open(struct demo *demo, const char *object, int flags)
{
	int fd = shv_open(name(demo, object), flags);

	if (fd >= 0)
		errx(1, "%s opened", demo->path);
	if (errno != EACCES)
		err(1, "%s", demo->path);
}

int main(int argc, char **argv)
{
	unsigned int number;
	char command[16];
	struct demo demo;

	(void)argc;
	demo_start(&demo, argv);
	try_open(&demo, "pool.pd", O_RDONLY);
	try_open(&demo, "pool.pd", O_RDWR);
	try_open(&demo, "pool.mr", O_RDONLY);
	try_open(&demo, "pool.mr", O_RDWR);
	puts("gets EACCES for pool.pd and pool.mr");
	demo_next(command, &number);
	return 0;
}
