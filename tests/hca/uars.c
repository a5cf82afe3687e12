// SPDX-License-Identifier: GPL-2.0
/* Doorbell pages are a process's own, and there are only so many of them. */
#include "hca.h"

/* As many contexts as there are pages work; then an error, and all come back. */
TEST(contexts_run_out_of_pages)
{
	static struct ibv_context *ctx[2048];
	int n = 0, round, i;

	if (strcmp(hca_device(), "mthca0"))
		SKIP(return, "the number is mthca's");
	for (round = 0; round < 2; round++) {
		for (n = 0; n < 2048; n++) {
			ctx[n] = loop_open_device(hca_device());
			if (!ctx[n])
				break;
		}
		/* Of 256 one is the HCA's, one the driver's, and one the driver leaves out. */
		EXPECT_EQ(253, n);
		for (i = 0; i < n; i++)
			ASSERT_EQ(0, ibv_close_device(ctx[i]));
	}
}

TEST_HARNESS_MAIN
