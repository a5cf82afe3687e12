/* SPDX-License-Identifier: GPL-2.0 */
/*
 * rxe's rings, as its provider uses them: enough to post a work request and
 * so to make completions and events without a library that reads them away.
 */
#ifndef SHVERBS_TEST_UVERBS_RXE_H
#define SHVERBS_TEST_UVERBS_RXE_H

#include <sys/mman.h>

#include "uverbs_obj.h"

struct uv_ring {
	struct rxe_queue_buf *buf;
	size_t size;
};

static inline int uv_ring_map(int fd, const struct mminfo *mi,
			      struct uv_ring *ring)
{
	void *map = mmap(NULL, mi->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			 mi->offset);

	if (map == MAP_FAILED)
		return -errno;
	ring->buf = map;
	ring->size = mi->size;
	return 0;
}

static inline void uv_ring_unmap(struct uv_ring *ring)
{
	if (ring->buf)
		munmap(ring->buf, ring->size);
	ring->buf = NULL;
}

static inline void *uv_ring_slot(struct uv_ring *ring)
{
	return ring->buf->data + ((size_t)ring->buf->producer_index
				  << ring->buf->log2_elem_size);
}

static inline void uv_ring_produce(struct uv_ring *ring)
{
	__u32 next = (ring->buf->producer_index + 1) & ring->buf->index_mask;

	__atomic_store_n(&ring->buf->producer_index, next, __ATOMIC_RELEASE);
}

static inline void uv_ring_sge(struct rxe_dma_info *dma, const void *addr,
			       __u32 len, __u32 lkey)
{
	dma->length = len;
	dma->resid = len;
	dma->num_sge = len ? 1 : 0;
	if (!len)
		return;
	dma->sge[0].addr = uv_u64(addr);
	dma->sge[0].length = len;
	dma->sge[0].lkey = lkey;
}

static inline void uv_ring_recv(struct uv_ring *rq, __u64 wr_id,
				const void *addr, __u32 len, __u32 lkey)
{
	struct rxe_recv_wqe *wqe = uv_ring_slot(rq);

	memset(wqe, 0, sizeof(*wqe));
	wqe->wr_id = wr_id;
	uv_ring_sge(&wqe->dma, addr, len, lkey);
	uv_ring_produce(rq);
}

/* A SEND, which the doorbell (POST_SEND without work requests) starts. */
static inline void uv_ring_send(struct uv_ring *sq, __u64 wr_id, __u32 flags,
				const void *addr, __u32 len, __u32 lkey)
{
	struct rxe_send_wqe *wqe = uv_ring_slot(sq);
	static __u32 ssn;

	memset(wqe, 0, sizeof(*wqe));
	wqe->wr.wr_id = wr_id;
	wqe->wr.opcode = IB_UVERBS_WR_SEND;
	wqe->wr.send_flags = flags;
	wqe->ssn = ++ssn;
	uv_ring_sge(&wqe->dma, addr, len, lkey);
	uv_ring_produce(sq);
}

static inline int uv_doorbell(int fd, enum uv_form form, __u32 qp)
{
	struct ib_uverbs_post_send req = {
		.qp_handle = qp,
		.wqe_size = sizeof(struct ib_uverbs_send_wr),
	};
	struct ib_uverbs_post_send_resp resp = {};
	struct uv_call call = {
		.command = IB_USER_VERBS_CMD_POST_SEND,
		.req = &req, .req_len = sizeof(req),
		.resp = &resp, .resp_len = sizeof(resp),
	};

	return uv_call(fd, form, &call);
}

/* How many completions wait in a mapped CQ ring. */
static inline __u32 uv_ring_count(const struct uv_ring *cq)
{
	__u32 prod = __atomic_load_n(&cq->buf->producer_index,
				     __ATOMIC_ACQUIRE);

	return (prod - cq->buf->consumer_index) & cq->buf->index_mask;
}

static inline int uv_req_notify(int fd, enum uv_form form, __u32 cq,
				__u32 solicited_only)
{
	struct ib_uverbs_req_notify_cq req = {
		.cq_handle = cq,
		.solicited_only = solicited_only,
	};
	struct uv_call call = {
		.command = IB_USER_VERBS_CMD_REQ_NOTIFY_CQ,
		.req = &req, .req_len = sizeof(req),
	};

	return uv_call(fd, form, &call);
}

#endif
