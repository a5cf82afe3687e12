// SPDX-License-Identifier: GPL-2.0
/* The programs of Documentation/examples do what they say, and leave nothing. */
#include <sys/wait.h>

#include "share.h"

FIXTURE(examples)
{
	struct uv_res idle;
	struct uv_dev dev;
};

FIXTURE_SETUP(examples)
{
	if (!is_shverbs())
		SKIP(return, "needs shverbs");
	ASSERT_EQ(0, uv_res_get(&self->idle));
	ASSERT_EQ(0, uv_dev_find(&self->dev));
	ASSERT_EQ(0, sh_mount());
}

FIXTURE_TEARDOWN(examples)
{
	EXPECT_TRUE(uv_res_settles(&self->idle, 5000));
}

static int run(const char *program, const char *device, const char *argument)
{
	char path[100];
	int status;
	pid_t pid;

	snprintf(path, sizeof(path), "build/tests/examples/%s", program);
	pid = fork();
	if (!pid) {
		/* What it prints is no TAP. */
		dup2(STDERR_FILENO, STDOUT_FILENO);
		execl(path, program, device, argument, NULL);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

TEST_F_TIMEOUT(examples, shared_pool, 120)
{
	EXPECT_EQ(0, run("shared-pool", self->dev.ibdev, "64"));
}

TEST_F_TIMEOUT(examples, restart, 120)
{
	EXPECT_EQ(0, run("restart", self->dev.ibdev, NULL));
}

TEST_HARNESS_MAIN
