/* SPDX-License-Identifier: GPL-2.0 */
/* Taking an rxe device away, and bringing it back. */
#ifndef SHVERBS_TEST_ABI_PLUG_H
#define SHVERBS_TEST_ABI_PLUG_H

#include <sys/wait.h>

#include "abi.h"

static inline int run(const char *const argv[])
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		/* What it prints is no TAP. */
		dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);
		execvp(argv[0], (char *const *)argv);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

static inline int unplug(const struct uv_dev *dev)
{
	const char *const argv[] = { "rdma", "link", "delete", dev->ibdev,
				     NULL };

	return run(argv);
}

static inline int plug(const struct uv_dev *dev, const char *netdev)
{
	const char *const argv[] = { "rdma", "link",   "add",  dev->ibdev, "type",
				     "rxe",  "netdev", netdev, NULL };
	struct uv_dev found;
	long end = uv_now_ms() + 5000;
	int ret = run(argv);

	/* Its node is made by devtmpfs, or by udev in its own time. */
	while (!ret && uv_dev_find(&found) && uv_now_ms() < end)
		poll(NULL, 0, 10);
	return ret ? ret : uv_dev_find(&found);
}

#endif
