/* SPDX-License-Identifier: GPL-2.0 */
/* Making completions and events, and reading them with a bound on the wait. */
#ifndef SHVERBS_TEST_ABI_EVENT_H
#define SHVERBS_TEST_ABI_EVENT_H

#include "abi.h"

/* enum ib_event_type. */
enum { UV_EVENT_CQ_ERR, UV_EVENT_QP_FATAL, UV_EVENT_QP_REQ_ERR,
       UV_EVENT_QP_ACCESS_ERR, UV_EVENT_COMM_EST, UV_EVENT_SQ_DRAINED,
       UV_EVENT_DEVICE_FATAL = 8 };

/*
 * Receives on a QP that goes to the error state: rxe completes each with a
 * flush error, as an unsolicited completion.
 */
static inline int abi_flush(int fd, __u32 pd, __u32 cq, int receives,
			    struct uv_qp *qp)
{
	struct uv_ring rq = {};
	int ret;

	ret = uv_qp_create(fd, pd, cq, IB_UVERBS_QPT_RC, qp);
	if (!ret)
		ret = uv_ring_map(fd, &qp->rxe.rq_mi, &rq);
	if (!ret)
		ret = uv_qp_init(fd, qp->handle);
	while (!ret && receives--)
		uv_ring_recv(&rq, receives, NULL, 0, 0);
	if (!ret)
		ret = uv_qp_error(fd, qp->handle);
	uv_ring_unmap(&rq);
	return ret;
}

/* The revents of an fd within @ms; 0 if there are none. */
static inline int abi_poll(int fd, int ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, ms) < 0 ? -errno : p.revents;
}

static inline int abi_nonblock(int fd)
{
	return fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

/* How many bytes came, or -errno. */
static inline int abi_read(int fd, void *buf, size_t len)
{
	ssize_t n = read(fd, buf, len);

	return n < 0 ? -errno : (int)n;
}

/* Waits until a mapped CQ has this many completions. */
static inline bool abi_completions(const struct uv_ring *cq, __u32 want)
{
	long end = uv_now_ms() + 3000;

	while (uv_ring_count(cq) < want && uv_now_ms() < end)
		poll(NULL, 0, 1);
	return uv_ring_count(cq) == want;
}

#endif
