// SPDX-License-Identifier: GPL-2.0
/*
 * A device whose driver cannot take a context away from a process
 * (disassociate_ucontext): its removal lets nobody new in, and waits.
 */
#include <dirent.h>
#include <limits.h>

#include "hca.h"

static int write_to(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY), ret;

	if (fd < 0)
		return -errno;
	ret = write(fd, text, strlen(text)) < 0 ? -errno : 0;
	close(fd);
	return ret;
}

TEST(waits_for_files)
{
	char path[PATH_MAX], link[PATH_MAX] = "", driver[PATH_MAX], *slot;
	char node[sizeof("/dev/infiniband/") + IBV_SYSFS_NAME_MAX];
	int status = -1, fd, try, gone = 0, gate[2];
	struct ibv_mr *mr;
	struct hca h;
	pid_t pid;

	if (strcmp(hca_device(), "mthca0"))
		SKIP(return, "this driver takes contexts away");
	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/device", hca_device());
	ASSERT_GT(readlink(path, link, sizeof(link) - 1), 0);
	slot = strrchr(link, '/') + 1;
	snprintf(driver, sizeof(driver), "/sys/class/infiniband/%s/device/driver/unbind", hca_device());

	/* Forked before anything is open, or it would wait for itself. */
	ASSERT_EQ(0, pipe(gate));
	pid = fork();
	ASSERT_GE(pid, 0);
	if (!pid)
		_exit(read(gate[0], &(char){ 0 }, 1) != 1 || write_to(driver, slot));
	ASSERT_EQ(0, hca_open(&h));
	snprintf(node, sizeof(node), "/dev/infiniband/%s", h.ctx->device->dev_name);
	ASSERT_EQ(1, write(gate[1], "", 1));
	usleep(1000000);
	EXPECT_EQ(0, waitpid(pid, &status, WNOHANG));
	fd = open(node, O_RDWR);
	EXPECT_LT(fd, 0) {
		close(fd);
	}
	/* What is open goes on working. */
	mr = ibv_reg_mr(h.pd, h.memory, 4096, HCA_ALL);
	EXPECT_NE(NULL, mr);
	EXPECT_EQ(0, mr ? ibv_dereg_mr(mr) : 0);
	EXPECT_EQ(0, hca_close(&h));
	for (try = 0; try < 100 && !gone; try++) {
		gone = waitpid(pid, &status, WNOHANG) == pid;
		usleep(100000);
	}
	EXPECT_TRUE(gone);
	EXPECT_EQ(0, status);
	if (!gone)
		kill(pid, SIGKILL);
	EXPECT_EQ(0, system("load-hca mthca"));
	/* And it is as good as new. */
	ASSERT_EQ(0, hca_open(&h));
	EXPECT_EQ(0, hca_close(&h));
}

TEST_HARNESS_MAIN
