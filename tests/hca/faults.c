// SPDX-License-Identifier: GPL-2.0
/* Faults that a model of an HCA makes on demand, and what the programs above see. */
#include "hca.h"

FIXTURE(faults)
{
	struct hca h;
	char model[16];
};

/* Says a line to the model; what it answered is in `answer`. */
static int control(const char *model, const char *line, char *answer, size_t size)
{
	char command[128];
	FILE *pipe;

	snprintf(command, sizeof(command), "hca-control %s %s", model, line);
	pipe = popen(command, "r");
	if (!pipe)
		return -errno;
	if (!fgets(answer, (int)size, pipe))
		answer[0] = '\0';
	return pclose(pipe);
}

static int say(const char *model, const char *line)
{
	char answer[512];

	return control(model, line, answer, sizeof(answer));
}

/* One of the model's counters. */
static long counter(const char *model, const char *name)
{
	char answer[512] = " ", word[64], *at;

	if (control(model, "counters", answer + 1, sizeof(answer) - 1))
		return -1;
	snprintf(word, sizeof(word), " %s ", name);
	at = strstr(answer, word);
	return at ? atol(at + strlen(word)) : -1;
}

/* mlx5_ib tells of a new speed, too, with each event of a port. */
static int wait_for(struct hca *h, int type)
{
	int try, event;

	for (try = 0; try < 5; try++) {
		event = hca_event(h, 5000);
		if (event == type || event < 0)
			break;
	}
	return event == type ? 0 : -1;
}

FIXTURE_SETUP(faults)
{
	/* mthca0, mlx5_0: the model is named as the driver, and 5 is mlx5's. */
	sscanf(hca_device(), "%[a-z5]", self->model);
	if (say(self->model, "counters"))
		SKIP(return, "%s is no model", hca_device());
	ASSERT_EQ(0, hca_open(&self->h));
}

FIXTURE_TEARDOWN(faults)
{
	EXPECT_EQ(0, hca_close(&self->h));
}

TEST_F(faults, the_port_goes_down_and_up)
{
	struct ibv_port_attr port;
	int try;

	ASSERT_EQ(0, say(self->model, "port down"));
	EXPECT_EQ(0, wait_for(&self->h, IBV_EVENT_PORT_ERR));
	for (try = 0; try < 50; try++) {
		ASSERT_EQ(0, ibv_query_port(self->h.ctx, 1, &port));
		if (port.state == IBV_PORT_DOWN)
			break;
		usleep(100000);
	}
	EXPECT_EQ(IBV_PORT_DOWN, port.state);
	ASSERT_EQ(0, say(self->model, "port up"));
	EXPECT_EQ(0, wait_for(&self->h, IBV_EVENT_PORT_ACTIVE));
}

TEST_F(faults, a_qp_in_error)
{
	struct ibv_qp *qp = hca_qp(&self->h, IBV_QPT_RC, NULL);
	char line[64];

	ASSERT_NE(NULL, qp);
	ASSERT_EQ(0, hca_connect(&self->h, qp, qp->qp_num, (struct hca_terms){}));
	ASSERT_EQ(0, hca_receive(&self->h, qp, NULL, 0, 8, 3));
	snprintf(line, sizeof(line), "qp-fatal %u", qp->qp_num);
	ASSERT_EQ(0, say(self->model, line));
	EXPECT_EQ(IBV_EVENT_QP_FATAL, hca_event(&self->h, 5000));
	EXPECT_EQ(IBV_WC_WR_FLUSH_ERR, hca_status(&self->h, 3));
	EXPECT_EQ(IBV_QPS_ERR, hca_state(qp));
	EXPECT_EQ(0, ibv_destroy_qp(qp));
}

TEST_F(faults, a_completion_is_kept_back)
{
	static const struct hca_terms terms = { .access = IBV_ACCESS_REMOTE_WRITE };
	struct hca_op op = { IBV_WR_RDMA_WRITE, 1, 0, 64, 300000, .flags = IBV_SEND_SIGNALED };
	struct ibv_qp *qp = hca_qp(&self->h, IBV_QPT_RC, NULL);
	struct ibv_wc wc;

	ASSERT_NE(NULL, qp);
	ASSERT_EQ(0, hca_connect(&self->h, qp, qp->qp_num, terms));
	ASSERT_EQ(0, say(self->model, "withhold"));
	ASSERT_EQ(0, hca_send(&self->h, qp, op));
	EXPECT_FALSE(hca_wait(&self->h, &wc, 200));
	/* The data is there all the same. */
	EXPECT_EQ(0, memcmp(self->h.memory, self->h.memory + 300000, 64));
	ASSERT_EQ(0, say(self->model, "release"));
	EXPECT_EQ(IBV_WC_SUCCESS, hca_status(&self->h, 1));
	EXPECT_EQ(0, ibv_destroy_qp(qp));
}

/* A creation that the HCA refuses leaves nothing behind, there or here. */
TEST_F(faults, a_command_that_fails)
{
	long cqs, regions;
	struct ibv_cq *cq;

	if (strcmp(self->model, "mthca"))
		SKIP(return, "the opcode is mthca's");
	cqs = counter(self->model, "cqs");
	regions = counter(self->model, "regions");
	ASSERT_GT(cqs, 0);
	ASSERT_EQ(0, say(self->model, "fail 0x16 8"));
	cq = ibv_create_cq(self->h.ctx, 16, NULL, NULL, 0);
	EXPECT_EQ(NULL, cq);
	EXPECT_EQ(ENOMEM, errno);
	EXPECT_EQ(cqs, counter(self->model, "cqs"));
	EXPECT_EQ(regions, counter(self->model, "regions"));
	cq = ibv_create_cq(self->h.ctx, 16, NULL, NULL, 0);
	ASSERT_NE(NULL, cq);
	EXPECT_EQ(0, ibv_destroy_cq(cq));
}

/* A process that is killed leaves nothing in the HCA. */
TEST_F(faults, a_killed_process_is_cleaned)
{
	long qps = counter(self->model, "qps"), regions = counter(self->model, "regions");
	long cqs = counter(self->model, "cqs");
	int gate[2], status, try;
	pid_t pid;

	ASSERT_GE(qps, 0);
	ASSERT_EQ(0, pipe(gate));
	pid = fork();
	ASSERT_GE(pid, 0);
	if (!pid) {
		struct ibv_qp *qp;
		struct hca h;

		/* The HCA knows of a QP once that is out of its reset state. */
		if (hca_open(&h) || !(qp = hca_qp(&h, IBV_QPT_RC, NULL)) ||
		    hca_connect(&h, qp, qp->qp_num, (struct hca_terms){}) ||
		    write(gate[1], "", 1) != 1)
			_exit(1);
		pause();
		_exit(0);
	}
	ASSERT_EQ(1, read(gate[0], &(char){ 0 }, 1));
	EXPECT_EQ(qps + 1, counter(self->model, "qps"));
	ASSERT_EQ(0, kill(pid, SIGKILL));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	for (try = 0; try < 50 && counter(self->model, "cqs") != cqs; try++)
		usleep(100000);
	EXPECT_EQ(qps, counter(self->model, "qps"));
	EXPECT_EQ(cqs, counter(self->model, "cqs"));
	/* mlx5_ib keeps keys to use them again. */
	if (strcmp(self->model, "mlx5"))
		EXPECT_EQ(regions, counter(self->model, "regions"));
	close(gate[0]);
	close(gate[1]);
}

TEST_HARNESS_MAIN
