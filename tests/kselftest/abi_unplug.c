// SPDX-License-Identifier: GPL-2.0
/*
 * The device goes while files are open on it.  rxe allows that at once:
 * everything is destroyed, and the files stay as such.
 */
#include <pthread.h>
#include <signal.h>

#include "abi_full.h"
#include "abi_plug.h"

FIXTURE(unplug)
{
	struct uv_dev dev;
	char netdev[32];
	struct uv_res idle;
	struct full f;
};

FIXTURE_SETUP(unplug)
{
	const char *const version[] = { "rdma", "-V", NULL };
	char path[128];

	if (geteuid() || run(version))
		SKIP(return, "needs root and the rdma tool");
	ASSERT_EQ(0, uv_dev_find(&self->dev));
	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/parent",
		 self->dev.ibdev);
	ASSERT_EQ(0, uv_read_line(path, self->netdev, sizeof(self->netdev)));
	ASSERT_EQ(0, uv_res_get(&self->idle));
	ASSERT_EQ(0, full_make(&self->f));
	ASSERT_EQ(0, uv_ring_map(self->f.ctx.fd, &self->f.cq.rxe.mi,
				 &self->f.ring));
}

/* A device is there after each test, and nothing is on it. */
FIXTURE_TEARDOWN(unplug)
{
	struct uv_dev found;

	uv_ring_unmap(&self->f.ring);
	uv_ctx_close(&self->f.ctx);
	if (uv_dev_find(&found))
		EXPECT_EQ(0, plug(&self->dev, self->netdev));
	EXPECT_TRUE(uv_res_settles(&self->idle, 3000));
	EXPECT_EQ(0, uv_vmpin_kb());
}

TEST_F(unplug, calls_give_eio)
{
	struct full *f = &self->f;
	const int fd = f->ctx.fd;
	struct ib_uverbs_gid_entry gid;
	enum uv_form form;
	struct uv_cq cq;
	struct uv_mr mr;
	__u32 pd;

	ASSERT_EQ(0, unplug(&self->dev));
	for (form = UV_WRITE; form <= UV_INVOKE; form++) {
		EXPECT_EQ(-EIO, uv_pd_alloc(fd, form, &pd));
		EXPECT_EQ(-EIO, uv_channel(fd, form));
		EXPECT_EQ(-EIO, uv_req_notify(fd, form, f->cq.handle, 0));
		EXPECT_EQ(-EIO, uv_doorbell(fd, form, f->qp.handle));
	}
	EXPECT_EQ(-EIO, uv_mr_reg(fd, f->pd, f->buf, 4096, 0, &mr));
	EXPECT_EQ(-EIO, uv_cq_create(fd, 16, -1, 0, &cq));
	EXPECT_EQ(-EIO, uv_qp_init(fd, f->qp.handle));
	EXPECT_EQ(-EIO, uv_async_event(fd));
	EXPECT_EQ(-EIO, uv_gid_entry(fd, 1, 0, &gid));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd,
				   f->qp.rxe.sq_mi.offset));
	EXPECT_EQ(EIO, errno);
}

/* A file that had no context gets none. */
TEST_F(unplug, no_context_any_more)
{
	__u64 core_support;
	__u32 num_comp;
	int fd = uv_open();

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, unplug(&self->dev));
	EXPECT_EQ(-EIO, uv_get_context(fd, &num_comp, &core_support));
	EXPECT_EQ(-EIO, uv_async_event(fd));
	close(fd);
}

/* libibverbs destroys what it has, and is told that it is destroyed. */
TEST_F(unplug, handles_can_be_given_up)
{
	struct ib_uverbs_destroy_cq_resp cq_resp = { 9, 9 };
	struct ib_uverbs_destroy_qp_resp qp_resp = { 9 };
	struct full *f = &self->f;
	const int fd = f->ctx.fd;

	ASSERT_EQ(0, unplug(&self->dev));
	/* In no order: nothing is busy any more. */
	EXPECT_EQ(0, uv_pd_destroy(fd, f->pd));
	EXPECT_EQ(0, uv_cq_destroy(fd, f->cq.handle, &cq_resp));
	EXPECT_EQ(0, cq_resp.comp_events_reported);
	EXPECT_EQ(0, uv_qp_destroy(fd, f->qp.handle, &qp_resp));
	EXPECT_EQ(0, qp_resp.events_reported);
	EXPECT_EQ(0, uv_mr_destroy(fd, f->mr.handle));
	EXPECT_EQ(0, uv_ah_destroy(fd, f->ah.handle));
	EXPECT_EQ(-ENOENT, uv_pd_destroy(fd, f->pd));
	EXPECT_EQ(-ENOENT, uv_qp_destroy(fd, f->qp.handle, &qp_resp));
}

TEST_F(unplug, memory_is_unpinned)
{
	EXPECT_EQ(FULL_PAGES * 4, uv_vmpin_kb());
	ASSERT_EQ(0, unplug(&self->dev));
	EXPECT_EQ(0, uv_vmpin_kb());
	/* The ring was rxe's memory, and is there for as long as it is mapped. */
	self->f.ring.buf->pad_1[0] = 1;
	EXPECT_EQ(1, self->f.ring.buf->pad_1[0]);
}

TEST_F(unplug, node_vanishes)
{
	ASSERT_EQ(0, unplug(&self->dev));
	EXPECT_EQ(-1, open(self->dev.node, O_RDWR));
	EXPECT_TRUE(errno == ENOENT || errno == ENXIO);
}

TEST_F(unplug, async_event)
{
	struct ib_uverbs_async_event_desc event = {};
	const int ev = self->f.ctx.async_fd;

	ASSERT_EQ(0, abi_nonblock(ev));
	ASSERT_EQ(0, unplug(&self->dev));
	EXPECT_EQ(POLLIN, abi_poll(ev, 1000));
	EXPECT_EQ((int)sizeof(event), abi_read(ev, &event, sizeof(event)));
	EXPECT_EQ(UV_EVENT_DEVICE_FATAL, event.event_type);
	EXPECT_EQ(0, event.element);
}

TEST_F(unplug, channel_ends)
{
	__u64 event;

	ASSERT_EQ(0, unplug(&self->dev));
	EXPECT_EQ(POLLERR, abi_poll(self->f.ch, 1000));
	EXPECT_EQ(-EIO, abi_read(self->f.ch, &event, sizeof(event)));
}

struct reader {
	pthread_t thread;
	int fd, ret;
	struct ib_uverbs_async_event_desc event;
};

static void *reader_main(void *arg)
{
	struct reader *r = arg;

	r->ret = abi_read(r->fd, &r->event, sizeof(r->event));
	return NULL;
}

/* Whoever waits is woken. */
TEST_F(unplug, readers_are_woken)
{
	struct reader ev = { .fd = self->f.ctx.async_fd, .ret = 1 };
	struct reader ch = { .fd = self->f.ch, .ret = 1 };

	ASSERT_EQ(0, pthread_create(&ev.thread, NULL, reader_main, &ev));
	ASSERT_EQ(0, pthread_create(&ch.thread, NULL, reader_main, &ch));
	ASSERT_EQ(0, unplug(&self->dev));
	pthread_join(ev.thread, NULL);
	pthread_join(ch.thread, NULL);
	EXPECT_EQ((int)sizeof(ev.event), ev.ret);
	EXPECT_EQ(UV_EVENT_DEVICE_FATAL, ev.event.event_type);
	EXPECT_EQ(-EIO, ch.ret);
}

TEST_F(unplug, at_work)
{
	ASSERT_EQ(0, full_work(&self->f));
	ASSERT_EQ(0, unplug(&self->dev));
	EXPECT_EQ(0, uv_vmpin_kb());
}

/* The files of the old device are no hindrance to the new one. */
TEST_F(unplug, and_plug_again)
{
	struct full again;
	__u32 pd;

	ASSERT_EQ(0, unplug(&self->dev));
	ASSERT_EQ(0, plug(&self->dev, self->netdev));
	ASSERT_EQ(0, full_make(&again));
	EXPECT_EQ(-EIO, uv_pd_alloc(self->f.ctx.fd, UV_WRITE, &pd));
	EXPECT_EQ(0, uv_qp_destroy(self->f.ctx.fd, self->f.qp.handle, NULL));
	EXPECT_EQ(0, uv_qp_destroy(again.ctx.fd, again.qp.handle, NULL));
	close(again.ch);
	uv_ctx_close(&again.ctx);
}

/* Threads that make and destroy, until the device is gone. */
struct caller {
	pthread_t thread;
	int fd, bad;
	unsigned long calls;
	volatile bool gone;
};

static void *call_until_gone(void *arg)
{
	struct caller *c = arg;
	__u32 pd;
	int ret;

	while (!c->bad && !c->gone) {
		ret = uv_pd_alloc(c->fd, UV_INVOKE, &pd);
		if (ret == -EIO)
			c->gone = true;
		else if (ret)
			c->bad = ret;
		else if (c->calls++ % 2)
			c->bad = uv_pd_destroy(c->fd, pd);
	}
	return NULL;
}

TEST_F(unplug, under_calls)
{
	struct caller callers[4] = {};
	int i;

	for (i = 0; i < 4; i++) {
		callers[i].fd = self->f.ctx.fd;
		ASSERT_EQ(0, pthread_create(&callers[i].thread, NULL,
					    call_until_gone, &callers[i]));
	}
	while (!__atomic_load_n(&callers[0].calls, __ATOMIC_RELAXED))
		poll(NULL, 0, 1);
	EXPECT_EQ(0, unplug(&self->dev));
	for (i = 0; i < 4; i++) {
		pthread_join(callers[i].thread, NULL);
		EXPECT_EQ(0, callers[i].bad);
		EXPECT_TRUE(callers[i].gone);
	}
}

TEST_HARNESS_MAIN
