// SPDX-License-Identifier: GPL-2.0
/*
 * rdma-core's users: post_send on rxe from a process that received the queue
 * pair gives EACCES.  A doorbell, a POST_SEND without work requests, carries no
 * pointers, and every holder may ring it.
 */
#include <grp.h>
#include <sys/wait.h>

#include "share.h"

#include "abi_event.h"

#define LEN 64

FIXTURE(doorbell_from_receiver)
{
	struct sh sh;
	struct uv_cq cq;
	struct uv_qp from, to;
	struct uv_ring ring, sq, rq;
};

/* Two connected QPs, with a receive posted on one and a send that waits in the other's ring. */
FIXTURE_SETUP(doorbell_from_receiver)
{
	struct sh *sh = &self->sh;
	char *memory;

	sh_start(_metadata, sh);
	memory = sh->memory;
	ASSERT_EQ(0, uv_cq_create(sh->fd, 16, -1, 0, &self->cq));
	ASSERT_EQ(0, uv_qp_create(sh->fd, sh->pd, self->cq.handle,
				  IB_UVERBS_QPT_RC, &self->from));
	ASSERT_EQ(0, uv_qp_create(sh->fd, sh->pd, self->cq.handle,
				  IB_UVERBS_QPT_RC, &self->to));
	ASSERT_EQ(0, uv_ring_map(sh->fd, &self->cq.rxe.mi, &self->ring));
	ASSERT_EQ(0, uv_ring_map(sh->fd, &self->from.rxe.sq_mi, &self->sq));
	ASSERT_EQ(0, uv_ring_map(sh->fd, &self->to.rxe.rq_mi, &self->rq));
	ASSERT_EQ(0, uv_qp_connect(sh->fd, self->from.handle, self->to.qpn));
	ASSERT_EQ(0, uv_qp_connect(sh->fd, self->to.handle, self->from.qpn));
	uv_ring_recv(&self->rq, 1, memory + LEN, LEN, sh->mr.lkey);
	strcpy(memory, "rung by another");
	uv_ring_send(&self->sq, 2, 0, memory, LEN,
		     sh->mr.lkey);
}

FIXTURE_TEARDOWN(doorbell_from_receiver)
{
	uv_ring_unmap(&self->ring);
	uv_ring_unmap(&self->sq);
	uv_ring_unmap(&self->rq);
	sh_end(_metadata, &self->sh);
}

/* In another process, of another user, that has nothing but an object fd. */
static int ring_as_receiver(int object)
{
	struct sh_import import;
	struct uv_ctx ctx;
	int ret;

	if (setgroups(0, NULL) || setgid(65534) || setuid(65534))
		return -errno;
	ret = uv_ctx_open(&ctx);
	if (!ret)
		ret = sh_import(ctx.fd, object, &import);
	return ret ? ret : uv_doorbell(ctx.fd, UV_WRITE, import.handle);
}

static int in_child(int (*f)(int), int fd)
{
	int status;
	pid_t pid = fork();

	if (!pid)
		_exit(-f(fd));
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ?
	       -WEXITSTATUS(status) : -EPROTO;
}

TEST_F(doorbell_from_receiver, by_object_fd)
{
	const char *memory = self->sh.memory;
	int object = sh_export(self->sh.fd, UVERBS_OBJECT_QP, self->from.handle,
			       SHVERBS_RIGHT_USE);

	ASSERT_GE(object, 0);
	EXPECT_EQ(0, uv_ring_count(&self->ring));
	EXPECT_EQ(0, in_child(ring_as_receiver, object));
	EXPECT_TRUE(abi_completions(&self->ring, 2));
	EXPECT_STREQ("rung by another", memory + LEN);
	close(object);
}

TEST_F(doorbell_from_receiver, not_without_the_right)
{
	int object = sh_export(self->sh.fd, UVERBS_OBJECT_QP, self->from.handle,
			       SHVERBS_RIGHT_SHARE);

	ASSERT_GE(object, 0);
	EXPECT_EQ(-EPERM, in_child(ring_as_receiver, object));
	EXPECT_EQ(0, abi_poll(self->sh.abi.ctx.async_fd, 20));
	EXPECT_EQ(0, uv_ring_count(&self->ring));
	close(object);
}

static __u32 inherited_qp;

/* In a process that was given the file itself, and has become another user. */
static int ring_inherited(int fd)
{
	if (setgroups(0, NULL) || setgid(65534) || setuid(65534))
		return -errno;
	return uv_doorbell(fd, UV_WRITE, inherited_qp);
}

static int alloc_inherited(int fd)
{
	__u32 pd;

	if (setgroups(0, NULL) || setgid(65534) || setuid(65534))
		return -errno;
	return uv_pd_alloc(fd, UV_WRITE, &pd);
}

TEST_F(doorbell_from_receiver, by_the_file)
{
	inherited_qp = self->from.handle;
	EXPECT_EQ(0, in_child(ring_inherited, self->sh.fd));
	EXPECT_TRUE(abi_completions(&self->ring, 2));
	/* What carries pointers stays with whoever opened the file. */
	EXPECT_EQ(-EACCES, in_child(alloc_inherited, self->sh.fd));
}

TEST_HARNESS_MAIN
