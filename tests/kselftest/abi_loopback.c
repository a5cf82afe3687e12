// SPDX-License-Identifier: GPL-2.0
/* Data through a pair of RC QPs of one device, by hand. */
#include "abi_event.h"

#define LEN 8192
#define UV_SEND_SOLICITED 4	/* enum ib_send_flags */

struct side {
	struct uv_cq cq;
	struct uv_qp qp;
	struct uv_mr mr;
	struct uv_ring sq, rq, done;
	char *buf;
	int ch;
};

FIXTURE(loopback)
{
	struct abi abi;
	struct side a, b;
	int fd;
	__u32 pd;
};

FIXTURE_VARIANT(loopback)
{
	enum uv_form form;
};

FIXTURE_VARIANT_ADD(loopback, write)
{
	.form = UV_WRITE,
};

FIXTURE_VARIANT_ADD(loopback, invoke)
{
	.form = UV_INVOKE,
};

static int side_make(int fd, __u32 pd, struct side *s)
{
	int ret;

	s->ch = uv_channel(fd, UV_WRITE);
	s->buf = mmap(NULL, LEN, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ret = s->ch < 0 ? s->ch : abi_nonblock(s->ch);
	if (!ret)
		ret = uv_mr_reg(fd, pd, s->buf, LEN, UV_ACCESS_ALL, &s->mr);
	if (!ret)
		ret = uv_cq_create(fd, 16, s->ch, s->ch, &s->cq);
	if (!ret)
		ret = uv_qp_create(fd, pd, s->cq.handle, IB_UVERBS_QPT_RC,
				   &s->qp);
	if (!ret)
		ret = uv_ring_map(fd, &s->cq.rxe.mi, &s->done);
	if (!ret)
		ret = uv_ring_map(fd, &s->qp.rxe.sq_mi, &s->sq);
	if (!ret)
		ret = uv_ring_map(fd, &s->qp.rxe.rq_mi, &s->rq);
	return ret;
}

static void side_unmap(struct side *s)
{
	uv_ring_unmap(&s->done);
	uv_ring_unmap(&s->sq);
	uv_ring_unmap(&s->rq);
	munmap(s->buf, LEN);
	close(s->ch);
}

FIXTURE_SETUP(loopback)
{
	abi_start(_metadata, &self->abi);
	self->fd = self->abi.fd;
	ASSERT_EQ(0, uv_pd_alloc(self->fd, UV_WRITE, &self->pd));
	ASSERT_EQ(0, side_make(self->fd, self->pd, &self->a));
	ASSERT_EQ(0, side_make(self->fd, self->pd, &self->b));
	ASSERT_EQ(0, uv_qp_connect(self->fd, self->a.qp.handle,
				   self->b.qp.qpn));
	ASSERT_EQ(0, uv_qp_connect(self->fd, self->b.qp.handle,
				   self->a.qp.qpn));
}

FIXTURE_TEARDOWN(loopback)
{
	side_unmap(&self->a);
	side_unmap(&self->b);
	abi_end(_metadata, &self->abi);
}

static int send_to(int fd, enum uv_form form, struct side *from, struct side *to,
		__u32 flags)
{
	uv_ring_recv(&to->rq, 2, to->buf, LEN, to->mr.lkey);
	uv_ring_send(&from->sq, 1, flags, from->buf, LEN, from->mr.lkey);
	return uv_doorbell(fd, form, from->qp.handle);
}

TEST_F(loopback, data_arrives)
{
	int i;

	for (i = 0; i < LEN; i++)
		self->a.buf[i] = i * 7;
	ASSERT_EQ(0, send_to(self->fd, variant->form, &self->a, &self->b, 0));
	ASSERT_TRUE(abi_completions(&self->a.done, 1));
	ASSERT_TRUE(abi_completions(&self->b.done, 1));
	EXPECT_EQ(0, memcmp(self->a.buf, self->b.buf, LEN));
	/* And back. */
	memset(self->b.buf, 0x55, LEN);
	ASSERT_EQ(0, send_to(self->fd, variant->form, &self->b, &self->a, 0));
	ASSERT_TRUE(abi_completions(&self->a.done, 2));
	ASSERT_TRUE(abi_completions(&self->b.done, 2));
	EXPECT_EQ(0, memcmp(self->a.buf, self->b.buf, LEN));
}

TEST_F(loopback, solicited_events)
{
	struct side *a = &self->a, *b = &self->b;
	__u64 event;

	ASSERT_EQ(0, uv_req_notify(self->fd, variant->form, b->cq.handle, 1));
	ASSERT_EQ(0, send_to(self->fd, variant->form, a, b, 0));
	ASSERT_TRUE(abi_completions(&b->done, 1));
	EXPECT_EQ(0, abi_poll(b->ch, 20));
	ASSERT_EQ(0, send_to(self->fd, variant->form, a, b, UV_SEND_SOLICITED));
	ASSERT_TRUE(abi_completions(&b->done, 2));
	EXPECT_EQ(POLLIN, abi_poll(b->ch, 3000));
	EXPECT_EQ(8, abi_read(b->ch, &event, 8));
	EXPECT_EQ(b->ch, (int)event);
	EXPECT_EQ(0, abi_poll(a->ch, 0));
}

/* A key of memory that is gone is an error of the work, not of the call. */
TEST_F(loopback, deregistered_memory)
{
	struct ib_uverbs_query_qp_resp resp;

	ASSERT_EQ(0, uv_mr_destroy(self->fd, self->a.mr.handle));
	ASSERT_EQ(0, send_to(self->fd, variant->form, &self->a, &self->b, 0));
	ASSERT_TRUE(abi_completions(&self->a.done, 1));
	ASSERT_EQ(0, uv_qp_query(self->fd, variant->form, self->a.qp.handle,
				 &resp));
	EXPECT_EQ(UV_ERR, resp.qp_state);
	EXPECT_EQ(0, uv_ring_count(&self->b.done));
}

/* Destroying what is at work ends the work. */
TEST_F(loopback, destroy_at_work)
{
	int i;

	for (i = 0; i < 7; i++) {
		ASSERT_EQ(0, send_to(self->fd, variant->form, &self->a,
				  &self->b, 0));
	}
	EXPECT_EQ(0, uv_qp_destroy(self->fd, self->a.qp.handle, NULL));
	EXPECT_EQ(0, uv_qp_destroy(self->fd, self->b.qp.handle, NULL));
	EXPECT_EQ(0, uv_cq_destroy(self->fd, self->a.cq.handle, NULL));
	EXPECT_EQ(0, uv_cq_destroy(self->fd, self->b.cq.handle, NULL));
	EXPECT_EQ(0, uv_mr_destroy(self->fd, self->a.mr.handle));
	EXPECT_EQ(0, uv_mr_destroy(self->fd, self->b.mr.handle));
	EXPECT_EQ(0, uv_pd_destroy(self->fd, self->pd));
}

TEST_HARNESS_MAIN
