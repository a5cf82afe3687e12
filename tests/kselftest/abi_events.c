// SPDX-License-Identifier: GPL-2.0
/* Completion events: read, poll, SIGIO, and what destruction tells of them. */
#include <pthread.h>
#include <signal.h>

#include "abi_event.h"

#define USER 0xc0ffee0123456789ULL

FIXTURE(events)
{
	struct abi abi;
	struct uv_cq cq;
	struct uv_ring ring;
	struct uv_qp qp;
	int fd, ch;
	__u32 pd;
};

FIXTURE_SETUP(events)
{
	abi_start(_metadata, &self->abi);
	self->fd = self->abi.fd;
	self->ch = uv_channel(self->fd, UV_WRITE);
	ASSERT_LE(0, self->ch);
	ASSERT_EQ(0, abi_nonblock(self->ch));
	ASSERT_EQ(0, uv_pd_alloc(self->fd, UV_WRITE, &self->pd));
	ASSERT_EQ(0, uv_cq_create(self->fd, 64, self->ch, USER, &self->cq));
	ASSERT_EQ(0, uv_ring_map(self->fd, &self->cq.rxe.mi, &self->ring));
}

FIXTURE_TEARDOWN(events)
{
	uv_ring_unmap(&self->ring);
	close(self->ch);
	abi_end(_metadata, &self->abi);
}

static int arm(const struct _test_data_events *self)
{
	return uv_req_notify(self->fd, UV_WRITE, self->cq.handle, 0);
}

/* One completion, which is an event if the CQ is armed. */
static int complete(struct _test_data_events *self)
{
	return abi_flush(self->fd, self->pd, self->cq.handle, 1, &self->qp);
}

TEST_F(events, nothing_to_read)
{
	__u64 event;

	EXPECT_EQ(0, abi_poll(self->ch, 0));
	EXPECT_EQ(-EAGAIN, abi_read(self->ch, &event, sizeof(event)));
	EXPECT_EQ(-EAGAIN, abi_read(self->ch, &event, 0));
}

TEST_F(events, one_event)
{
	__u64 event[2] = {};

	ASSERT_EQ(0, arm(self));
	ASSERT_EQ(0, complete(self));
	EXPECT_EQ(POLLIN, abi_poll(self->ch, 3000));
	/* No more than one at a time, however much would fit. */
	EXPECT_EQ(8, abi_read(self->ch, event, sizeof(event)));
	EXPECT_EQ(USER, event[0]);
	EXPECT_EQ(0, event[1]);
	EXPECT_EQ(-EAGAIN, abi_read(self->ch, event, sizeof(event)));
	EXPECT_EQ(0, abi_poll(self->ch, 0));
}

TEST_F(events, no_event_without_arming)
{
	ASSERT_EQ(0, complete(self));
	ASSERT_TRUE(abi_completions(&self->ring, 1));
	EXPECT_EQ(0, abi_poll(self->ch, 20));
	/* Arming tells of what comes, not of what is there. */
	ASSERT_EQ(0, arm(self));
	EXPECT_EQ(0, abi_poll(self->ch, 20));
	ASSERT_EQ(0, complete(self));
	EXPECT_EQ(POLLIN, abi_poll(self->ch, 3000));
}

TEST_F(events, armed_for_one)
{
	__u64 event;

	ASSERT_EQ(0, arm(self));
	ASSERT_EQ(0, arm(self));
	ASSERT_EQ(0, abi_flush(self->fd, self->pd, self->cq.handle, 5,
			       &self->qp));
	ASSERT_TRUE(abi_completions(&self->ring, 5));
	EXPECT_EQ(8, abi_read(self->ch, &event, sizeof(event)));
	EXPECT_EQ(-EAGAIN, abi_read(self->ch, &event, sizeof(event)));
}

TEST_F(events, solicited_only)
{
	ASSERT_EQ(0, uv_req_notify(self->fd, UV_WRITE, self->cq.handle, 1));
	ASSERT_EQ(0, complete(self));
	ASSERT_TRUE(abi_completions(&self->ring, 1));
	EXPECT_EQ(0, abi_poll(self->ch, 20));
}

/* A buffer that is too short takes nothing away. */
TEST_F(events, short_read)
{
	__u64 event = 0;

	ASSERT_EQ(0, arm(self));
	ASSERT_EQ(0, complete(self));
	ASSERT_EQ(POLLIN, abi_poll(self->ch, 3000));
	EXPECT_EQ(-EINVAL, abi_read(self->ch, &event, 0));
	EXPECT_EQ(-EINVAL, abi_read(self->ch, &event, 7));
	EXPECT_EQ(POLLIN, abi_poll(self->ch, 0));
	EXPECT_EQ(8, abi_read(self->ch, &event, 8));
	EXPECT_EQ(USER, event);
}

/* ib_uverbs loses the event; to keep it is no worse.  Nothing else is lost. */
TEST_F(events, read_to_unmapped_memory)
{
	__u64 event;
	int ret;

	ASSERT_EQ(0, arm(self));
	ASSERT_EQ(0, complete(self));
	ASSERT_EQ(POLLIN, abi_poll(self->ch, 3000));
	EXPECT_EQ(-EFAULT, abi_read(self->ch, UV_BAD_PTR, 8));
	ret = abi_read(self->ch, &event, 8);
	EXPECT_TRUE(ret == -EAGAIN || (is_shverbs() && ret == 8));
	EXPECT_EQ(-EAGAIN, abi_read(self->ch, &event, 8));
	ASSERT_EQ(0, arm(self));
	ASSERT_EQ(0, complete(self));
	ASSERT_EQ(POLLIN, abi_poll(self->ch, 3000));
	EXPECT_EQ(8, abi_read(self->ch, &event, 8));
}

TEST_F(events, two_cqs_in_order)
{
	struct uv_qp qp;
	struct uv_cq cq;
	__u64 event;

	ASSERT_EQ(0, uv_cq_create(self->fd, 64, self->ch, 2, &cq));
	ASSERT_EQ(0, arm(self));
	ASSERT_EQ(0, uv_req_notify(self->fd, UV_WRITE, cq.handle, 0));
	ASSERT_EQ(0, abi_flush(self->fd, self->pd, cq.handle, 1, &qp));
	ASSERT_EQ(POLLIN, abi_poll(self->ch, 3000));
	ASSERT_EQ(0, complete(self));
	ASSERT_TRUE(abi_completions(&self->ring, 1));
	EXPECT_EQ(8, abi_read(self->ch, &event, 8));
	EXPECT_EQ(2, event);
	ASSERT_EQ(POLLIN, abi_poll(self->ch, 3000));
	EXPECT_EQ(8, abi_read(self->ch, &event, 8));
	EXPECT_EQ(USER, event);
}

/* libibverbs waits for as many acknowledgements as this tells. */
TEST_F(events, destroy_tells_what_was_read)
{
	struct ib_uverbs_destroy_cq_resp resp = {};
	struct uv_qp first;
	__u64 event;

	ASSERT_EQ(0, arm(self));
	ASSERT_EQ(0, complete(self));
	first = self->qp;
	ASSERT_EQ(POLLIN, abi_poll(self->ch, 3000));
	ASSERT_EQ(8, abi_read(self->ch, &event, 8));
	ASSERT_EQ(0, arm(self));
	ASSERT_EQ(0, complete(self));
	ASSERT_EQ(POLLIN, abi_poll(self->ch, 3000));
	ASSERT_EQ(0, uv_qp_destroy(self->fd, first.handle, NULL));
	ASSERT_EQ(0, uv_qp_destroy(self->fd, self->qp.handle, NULL));
	ASSERT_EQ(0, uv_cq_destroy(self->fd, self->cq.handle, &resp));
	/* Two were made, one was read; the other went with its CQ. */
	EXPECT_EQ(1, resp.comp_events_reported);
	EXPECT_EQ(0, resp.async_events_reported);
	EXPECT_EQ(-EAGAIN, abi_read(self->ch, &event, 8));
	EXPECT_EQ(0, abi_poll(self->ch, 0));
}

TEST_F(events, channel_closed_with_events_in_it)
{
	struct ib_uverbs_destroy_cq_resp resp = {};
	__u64 event;

	ASSERT_EQ(0, arm(self));
	ASSERT_EQ(0, complete(self));
	ASSERT_EQ(POLLIN, abi_poll(self->ch, 3000));
	ASSERT_EQ(8, abi_read(self->ch, &event, 8));
	ASSERT_EQ(0, arm(self));
	ASSERT_EQ(0, complete(self));
	ASSERT_EQ(POLLIN, abi_poll(self->ch, 3000));
	close(self->ch);
	/* Later completions find no channel. */
	ASSERT_EQ(0, arm(self));
	ASSERT_EQ(0, complete(self));
	ASSERT_TRUE(abi_completions(&self->ring, 3));
	ASSERT_EQ(-EBUSY, uv_cq_destroy(self->fd, self->cq.handle, &resp));
}

static volatile sig_atomic_t sigio;

static void on_signal(int sig)
{
	(void)sig;
	sigio = 1;
}

static void handle(int sig)
{
	struct sigaction sa = { .sa_handler = on_signal };	/* no restart */

	sigio = 0;
	sigaction(sig, &sa, NULL);
}

TEST_F(events, sigio)
{
	long end = uv_now_ms() + 3000;

	handle(SIGIO);
	ASSERT_EQ(0, fcntl(self->ch, F_SETOWN, getpid()));
	ASSERT_EQ(0, fcntl(self->ch, F_SETFL, O_ASYNC | O_NONBLOCK));
	ASSERT_EQ(0, arm(self));
	ASSERT_EQ(0, complete(self));
	while (!sigio && uv_now_ms() < end)
		poll(NULL, 0, 1);
	EXPECT_EQ(1, sigio);
	/* And no more of them once it is turned off. */
	ASSERT_EQ(0, fcntl(self->ch, F_SETFL, O_NONBLOCK));
	sigio = 0;
	ASSERT_EQ(0, arm(self));
	ASSERT_EQ(0, complete(self));
	ASSERT_TRUE(abi_completions(&self->ring, 2));
	EXPECT_EQ(0, sigio);
}

/* A reader in another thread, which waits. */
struct reader {
	pthread_t thread;
	int ch, ret;
	__u64 event;
	volatile pid_t tid;
};

static void *reader_main(void *arg)
{
	struct reader *r = arg;

	r->tid = gettid();
	r->ret = abi_read(r->ch, &r->event, sizeof(r->event));
	return NULL;
}

/* Waits until the thread sleeps in the kernel. */
static bool reader_sleeps(const struct reader *r)
{
	long end = uv_now_ms() + 3000;
	char path[64], line[256];
	const char *state;

	do {
		snprintf(path, sizeof(path), "/proc/self/task/%d/stat",
			 (int)r->tid);
		if (r->tid && !uv_read_line(path, line, sizeof(line))) {
			state = strrchr(line, ')');
			if (state && state[2] == 'S')
				return true;
		}
		poll(NULL, 0, 1);
	} while (uv_now_ms() < end);
	return false;
}

TEST_F(events, blocking_read)
{
	struct reader r = { .ch = self->ch, .ret = 1 };

	ASSERT_EQ(0, fcntl(self->ch, F_SETFL, 0));
	ASSERT_EQ(0, pthread_create(&r.thread, NULL, reader_main, &r));
	ASSERT_TRUE(reader_sleeps(&r));
	ASSERT_EQ(0, arm(self));
	ASSERT_EQ(0, complete(self));
	ASSERT_EQ(0, pthread_join(r.thread, NULL));
	EXPECT_EQ(8, r.ret);
	EXPECT_EQ(USER, r.event);
}

TEST_F(events, blocking_read_is_interrupted)
{
	struct reader r = { .ch = self->ch, .ret = 1 };

	handle(SIGUSR1);
	ASSERT_EQ(0, fcntl(self->ch, F_SETFL, 0));
	ASSERT_EQ(0, pthread_create(&r.thread, NULL, reader_main, &r));
	ASSERT_TRUE(reader_sleeps(&r));
	ASSERT_EQ(0, pthread_kill(r.thread, SIGUSR1));
	ASSERT_EQ(0, pthread_join(r.thread, NULL));
	EXPECT_EQ(-EINTR, r.ret);
}

/* Whoever waits learns that the device's file is gone. */
TEST_F(events, blocking_read_ends_with_the_file)
{
	struct reader r = { .ch = self->ch, .ret = 1 };

	ASSERT_EQ(0, fcntl(self->ch, F_SETFL, 0));
	ASSERT_EQ(0, pthread_create(&r.thread, NULL, reader_main, &r));
	ASSERT_TRUE(reader_sleeps(&r));
	uv_ring_unmap(&self->ring);
	uv_ctx_close(&self->abi.ctx);
	ASSERT_EQ(0, pthread_join(r.thread, NULL));
	EXPECT_EQ(-EIO, r.ret);
	EXPECT_EQ(POLLERR, abi_poll(self->ch, 0));
}

TEST_HARNESS_MAIN
