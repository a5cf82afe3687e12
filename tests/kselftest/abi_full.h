/* SPDX-License-Identifier: GPL-2.0 */
/* A file with one of everything, and more than nothing going on. */
#ifndef SHVERBS_TEST_ABI_FULL_H
#define SHVERBS_TEST_ABI_FULL_H

#include "abi_event.h"

#define FULL_PAGES 8

struct full {
	struct uv_ctx ctx;
	int ch;
	__u32 pd;
	struct uv_mr mr;
	struct uv_cq cq;
	struct uv_qp qp;
	struct uv_ah ah;
	struct uv_ring ring;	/* of the CQ; not mapped by full_make() */
	char *buf;
};

/* On a file that is open already. */
static inline int full_fill(struct full *f)
{
	const int fd = f->ctx.fd;
	int ret;

	f->ch = uv_channel(fd, UV_INVOKE);
	if (f->ch < 0)
		return f->ch;
	f->buf = mmap(NULL, FULL_PAGES * 4096, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ret = uv_pd_alloc(fd, UV_INVOKE, &f->pd);
	if (!ret)
		ret = uv_mr_reg(fd, f->pd, f->buf, FULL_PAGES * 4096,
				UV_ACCESS_ALL, &f->mr);
	if (!ret)
		ret = uv_cq_create(fd, 16, f->ch, 1, &f->cq);
	if (!ret)
		ret = uv_qp_create(fd, f->pd, f->cq.handle, IB_UVERBS_QPT_RC,
				   &f->qp);
	if (!ret)
		ret = uv_ah_create(fd, f->pd, &f->ah);
	return ret;
}

static inline int full_make(struct full *f)
{
	int ret;

	memset(f, 0, sizeof(*f));
	ret = uv_ctx_open(&f->ctx);
	return ret ? ret : full_fill(f);
}

/* Connects the QP to itself, with work in both of its queues. */
static inline int full_work(struct full *f)
{
	struct uv_ring sq = {}, rq = {};
	int i, ret;

	ret = uv_qp_connect(f->ctx.fd, f->qp.handle, f->qp.qpn);
	if (!ret)
		ret = uv_ring_map(f->ctx.fd, &f->qp.rxe.sq_mi, &sq);
	if (!ret)
		ret = uv_ring_map(f->ctx.fd, &f->qp.rxe.rq_mi, &rq);
	for (i = 0; !ret && i < 7; i++) {
		uv_ring_recv(&rq, i, f->buf, 4096, f->mr.lkey);
		uv_ring_send(&sq, i, 0, f->buf + 4096, 4096, f->mr.lkey);
	}
	if (!ret)
		ret = uv_doorbell(f->ctx.fd, UV_INVOKE, f->qp.handle);
	uv_ring_unmap(&sq);
	uv_ring_unmap(&rq);
	return ret;
}

#endif
