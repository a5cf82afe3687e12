// SPDX-License-Identifier: GPL-2.0
/*
 * Asynchronous events: of a CQ (rxe reports that it is full) and of a QP (the
 * send queue has been drained).
 */
#include <signal.h>

#include "abi_event.h"

#define CQ_USER 0xc0c0c0c0c0c0c0c0ULL
#define QP_USER 0x5150	/* of uv_qp_create() */
#define SIZE ((int)sizeof(struct ib_uverbs_async_event_desc))

FIXTURE(async)
{
	struct abi abi;
	struct uv_cq cq;
	struct uv_qp qp;
	int fd, ev;
	__u32 pd;
};

FIXTURE_SETUP(async)
{
	abi_start(_metadata, &self->abi);
	self->fd = self->abi.fd;
	self->ev = self->abi.ctx.async_fd;
	ASSERT_EQ(0, abi_nonblock(self->ev));
	ASSERT_EQ(0, uv_pd_alloc(self->fd, UV_WRITE, &self->pd));
	/* Room for one. */
	ASSERT_EQ(0, uv_cq_create(self->fd, 1, -1, CQ_USER, &self->cq));
	ASSERT_EQ(1, self->cq.cqe);
}

FIXTURE_TEARDOWN(async)
{
	abi_end(_metadata, &self->abi);
}

/* More completions than there is room for: one event. */
static int overrun(struct _test_data_async *self)
{
	return abi_flush(self->fd, self->pd, self->cq.handle, 4, &self->qp);
}

static int drain(struct _test_data_async *self)
{
	struct ib_uverbs_modify_qp req = {
		.qp_state = UV_SQD,
		.en_sqd_async_notify = 1,
		.attr_mask = UV_QP_STATE | UV_QP_EN_SQD_ASYNC_NOTIFY,
	};
	int ret;

	ret = uv_qp_create(self->fd, self->pd, self->cq.handle,
			   IB_UVERBS_QPT_RC, &self->qp);
	if (!ret)
		ret = uv_qp_connect(self->fd, self->qp.handle, self->qp.qpn);
	req.qp_handle = self->qp.handle;
	return ret ? ret : uv_qp_modify(self->fd, UV_WRITE, &req);
}

TEST_F(async, nothing_to_read)
{
	struct ib_uverbs_async_event_desc event;

	EXPECT_EQ(0, abi_poll(self->ev, 0));
	EXPECT_EQ(-EAGAIN, abi_read(self->ev, &event, SIZE));
}

TEST_F(async, of_a_cq)
{
	struct ib_uverbs_async_event_desc event[2] = {};

	ASSERT_EQ(0, overrun(self));
	ASSERT_EQ(POLLIN, abi_poll(self->ev, 3000));
	EXPECT_EQ(-EINVAL, abi_read(self->ev, event, SIZE - 1));
	EXPECT_EQ(SIZE, abi_read(self->ev, event, sizeof(event)));
	EXPECT_EQ(CQ_USER, event[0].element);
	EXPECT_EQ(UV_EVENT_CQ_ERR, event[0].event_type);
	EXPECT_EQ(0, event[0].reserved);
	EXPECT_EQ(0, event[1].element);
}

TEST_F(async, of_a_qp)
{
	struct ib_uverbs_destroy_qp_resp resp = {};
	struct ib_uverbs_async_event_desc event = {};

	ASSERT_EQ(0, drain(self));
	ASSERT_EQ(POLLIN, abi_poll(self->ev, 3000));
	EXPECT_EQ(SIZE, abi_read(self->ev, &event, SIZE));
	EXPECT_EQ(QP_USER, event.element);
	EXPECT_EQ(UV_EVENT_SQ_DRAINED, event.event_type);
	EXPECT_EQ(0, uv_qp_destroy(self->fd, self->qp.handle, &resp));
	EXPECT_EQ(1, resp.events_reported);
}

TEST_F(async, unread_events_go_with_their_object)
{
	struct ib_uverbs_destroy_qp_resp qp_resp = { 9 };
	struct ib_uverbs_destroy_cq_resp cq_resp = { 9, 9 };

	ASSERT_EQ(0, drain(self));
	ASSERT_EQ(POLLIN, abi_poll(self->ev, 3000));
	EXPECT_EQ(0, uv_qp_destroy(self->fd, self->qp.handle, &qp_resp));
	EXPECT_EQ(0, qp_resp.events_reported);
	EXPECT_EQ(0, abi_poll(self->ev, 0));
	ASSERT_EQ(0, overrun(self));
	ASSERT_EQ(POLLIN, abi_poll(self->ev, 3000));
	EXPECT_EQ(0, uv_qp_destroy(self->fd, self->qp.handle, NULL));
	EXPECT_EQ(0, uv_cq_destroy(self->fd, self->cq.handle, &cq_resp));
	EXPECT_EQ(0, cq_resp.async_events_reported);
	EXPECT_EQ(0, abi_poll(self->ev, 0));
}

TEST_F(async, cq_destroy_tells_what_was_read)
{
	struct ib_uverbs_async_event_desc event;
	struct ib_uverbs_destroy_cq_resp resp = {};

	ASSERT_EQ(0, overrun(self));
	ASSERT_EQ(POLLIN, abi_poll(self->ev, 3000));
	ASSERT_EQ(SIZE, abi_read(self->ev, &event, SIZE));
	ASSERT_EQ(0, uv_qp_destroy(self->fd, self->qp.handle, NULL));
	EXPECT_EQ(0, uv_cq_destroy(self->fd, self->cq.handle, &resp));
	EXPECT_EQ(1, resp.async_events_reported);
	EXPECT_EQ(0, resp.comp_events_reported);
}

static volatile sig_atomic_t sigio;

static void on_sigio(int sig)
{
	(void)sig;
	sigio = 1;
}

TEST_F(async, sigio)
{
	long end = uv_now_ms() + 3000;

	signal(SIGIO, on_sigio);
	ASSERT_EQ(0, fcntl(self->ev, F_SETOWN, getpid()));
	ASSERT_EQ(0, fcntl(self->ev, F_SETFL, O_ASYNC | O_NONBLOCK));
	ASSERT_EQ(0, overrun(self));
	while (!sigio && uv_now_ms() < end)
		poll(NULL, 0, 1);
	EXPECT_EQ(1, sigio);
}

/* The first event fd of a file is the one that objects use by default. */
TEST_F(async, second_fd)
{
	int second = uv_async_event(self->fd);

	ASSERT_LE(0, second);
	ASSERT_EQ(0, overrun(self));
	EXPECT_EQ(POLLIN, abi_poll(self->ev, 3000));
	EXPECT_EQ(0, abi_poll(second, 0));
	close(second);
}

/* A CQ made by the ioctl method may name another. */
TEST_F(async, event_fd_of_a_cq)
{
	int own = uv_async_event(self->fd);
	struct uv_cq cq = {};
	struct uv_cmd cmd;

	ASSERT_LE(0, own);
	uv_init(&cmd, UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_CREATE);
	uv_idr(&cmd, UVERBS_ATTR_CREATE_CQ_HANDLE, 0);
	uv_u32(&cmd, UVERBS_ATTR_CREATE_CQ_CQE, 1);
	uv_const(&cmd, UVERBS_ATTR_CREATE_CQ_USER_HANDLE, 77);
	uv_u32(&cmd, UVERBS_ATTR_CREATE_CQ_COMP_VECTOR, 0);
	uv_fd(&cmd, UVERBS_ATTR_CREATE_CQ_EVENT_FD, own);
	uv_out(&cmd, UVERBS_ATTR_CREATE_CQ_RESP_CQE, &cq.cqe, sizeof(cq.cqe));
	uv_out(&cmd, UVERBS_ATTR_UHW_OUT, &cq.rxe, sizeof(cq.rxe));
	ASSERT_EQ(0, uv_ioctl(self->fd, &cmd));
	cq.handle = uv_find(&cmd, UVERBS_ATTR_CREATE_CQ_HANDLE)->data;
	ASSERT_EQ(0, abi_flush(self->fd, self->pd, cq.handle, 4, &self->qp));
	EXPECT_EQ(POLLIN, abi_poll(own, 3000));
	EXPECT_EQ(0, abi_poll(self->ev, 0));
	/* The object holds what it reports to. */
	close(own);
	EXPECT_EQ(0, uv_qp_destroy(self->fd, self->qp.handle, NULL));
	EXPECT_EQ(0, uv_cq_destroy(self->fd, cq.handle, NULL));
}

TEST_F(async, wrong_event_fds)
{
	const int ch = uv_channel(self->fd, UV_WRITE);
	const int bad[] = { -1, self->fd, ch, 1000 };
	struct uv_res want;
	struct uv_cq cq;
	struct uv_cmd cmd;
	size_t i;

	ASSERT_EQ(0, uv_res_get(&want));
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		uv_init(&cmd, UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_CREATE);
		uv_idr(&cmd, UVERBS_ATTR_CREATE_CQ_HANDLE, 0);
		uv_u32(&cmd, UVERBS_ATTR_CREATE_CQ_CQE, 1);
		uv_const(&cmd, UVERBS_ATTR_CREATE_CQ_USER_HANDLE, 77);
		uv_u32(&cmd, UVERBS_ATTR_CREATE_CQ_COMP_VECTOR, 0);
		uv_fd(&cmd, UVERBS_ATTR_CREATE_CQ_EVENT_FD, bad[i]);
		uv_out(&cmd, UVERBS_ATTR_CREATE_CQ_RESP_CQE, &cq.cqe, 4);
		uv_out(&cmd, UVERBS_ATTR_UHW_OUT, &cq.rxe, sizeof(cq.rxe));
		EXPECT_EQ(-EBADF, uv_ioctl(self->fd, &cmd));
		abi_same(_metadata, &want, "wrong event fd");
	}
	close(ch);
}

/* Objects keep the queue of a closed event fd; events to it vanish. */
TEST_F(async, fd_closed_before_the_event)
{
	close(self->ev);
	self->abi.ctx.async_fd = -1;
	ASSERT_EQ(0, drain(self));
	EXPECT_EQ(0, uv_qp_destroy(self->fd, self->qp.handle, NULL));
	ASSERT_EQ(0, overrun(self));
	EXPECT_EQ(0, uv_qp_destroy(self->fd, self->qp.handle, NULL));
	EXPECT_EQ(0, uv_cq_destroy(self->fd, self->cq.handle, NULL));
}

/* Events that nobody read are no hindrance to closing the file first. */
TEST_F(async, file_closed_with_events_unread)
{
	struct ib_uverbs_async_event_desc event;
	int ev = dup(self->ev);

	ASSERT_EQ(0, overrun(self));
	ASSERT_EQ(POLLIN, abi_poll(ev, 3000));
	uv_ctx_close(&self->abi.ctx);
	/*
	 * The CQ's event went with the CQ.  Other than a channel this fd is
	 * not told of the end: that is only done when the device goes.
	 */
	EXPECT_EQ(0, abi_poll(ev, 20));
	EXPECT_EQ(-EAGAIN, abi_read(ev, &event, SIZE));
	close(ev);
}

TEST_HARNESS_MAIN
