// SPDX-License-Identifier: GPL-2.0
/*
 * write(2) carries pointers, so that whoever writes must be who opened the
 * file: not a child, not after a change of user.  ioctl(2) has no such rule.
 */
#include <sys/wait.h>

#include "abi_event.h"

ABI_FIXTURE(creds);

static int query_port(int fd, enum uv_form form)
{
	struct ib_uverbs_query_port req = { .port_num = 1 };
	struct ib_uverbs_query_port_resp resp;
	struct uv_call call = {
		.command = IB_USER_VERBS_CMD_QUERY_PORT,
		.req = &req, .req_len = sizeof(req),
		.resp = &resp, .resp_len = sizeof(resp),
	};

	return uv_call(fd, form, &call);
}

TEST_F(creds, after_a_change_of_user)
{
	int by_write, by_ioctl;

	if (geteuid())
		SKIP(return, "needs root");
	EXPECT_EQ(0, query_port(self->fd, UV_WRITE));
	ASSERT_EQ(0, seteuid(65534));
	by_write = query_port(self->fd, UV_WRITE);
	by_ioctl = query_port(self->fd, UV_INVOKE);
	ASSERT_EQ(0, seteuid(0));
	EXPECT_EQ(-EACCES, by_write);
	EXPECT_EQ(0, by_ioctl);
	/* The same user again, but not the same credentials. */
	EXPECT_EQ(-EACCES, query_port(self->fd, UV_WRITE));
	EXPECT_EQ(0, query_port(self->fd, UV_INVOKE));
}

/* Even what is no command at all. */
TEST_F(creds, is_checked_first)
{
	char none[4] = "";

	if (geteuid())
		SKIP(return, "needs root");
	ASSERT_EQ(0, seteuid(65534));
	ASSERT_EQ(0, seteuid(0));
	EXPECT_EQ(-1, write(self->fd, none, 1));
	EXPECT_EQ(EACCES, errno);
	EXPECT_EQ(-1, write(self->fd, UV_BAD_PTR, 8));
	EXPECT_EQ(EACCES, errno);
}

/* Runs @what in a child and gives what it returned: 0 or -errno. */
static int in_child(int (*what)(void *), void *arg)
{
	pid_t pid = fork();
	int status;

	if (!pid)
		_exit(-what(arg));
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -ECHILD;
	return -WEXITSTATUS(status);
}

struct child {
	int fd;
	__u32 handle;
	enum uv_form form;
};

static int child_query(void *arg)
{
	struct child *c = arg;

	return query_port(c->fd, c->form);
}

static int child_pd(void *arg)
{
	struct child *c = arg;

	return uv_pd_alloc(c->fd, c->form, &c->handle);
}

static int child_destroy(void *arg)
{
	struct child *c = arg;

	return uv_pd_destroy(c->fd, c->handle);
}

static int child_doorbell(void *arg)
{
	struct child *c = arg;

	return uv_doorbell(c->fd, c->form, c->handle);
}

static int child_send(void *arg)
{
	struct {
		struct ib_uverbs_post_send head;
		struct ib_uverbs_send_wr wr;
	} req = {
		.head.wr_count = 1,
		.head.wqe_size = sizeof(req.wr),
		.wr.opcode = IB_UVERBS_WR_SEND,
	};
	struct ib_uverbs_post_send_resp resp = {};
	struct uv_call call = {
		.command = IB_USER_VERBS_CMD_POST_SEND,
		.req = &req, .req_len = sizeof(req),
		.resp = &resp, .resp_len = sizeof(resp),
	};
	struct child *c = arg;

	req.head.qp_handle = c->handle;
	return uv_call(c->fd, c->form, &call);
}

TEST_F(creds, in_a_child)
{
	struct child c = { .fd = self->fd, .form = UV_WRITE };

	EXPECT_EQ(-EACCES, in_child(child_query, &c));
	EXPECT_EQ(-EACCES, in_child(child_pd, &c));
	abi_same(_metadata, &self->abi.base, "refused");
	c.form = UV_INVOKE;
	EXPECT_EQ(0, in_child(child_query, &c));
	/* What a child makes through the parent's file is the file's. */
	EXPECT_EQ(0, in_child(child_pd, &c));
	/* The parent may still write. */
	EXPECT_EQ(0, query_port(self->fd, UV_WRITE));
}

TEST_F(creds, child_destroys_the_parents_object)
{
	struct child c = { .fd = self->fd };

	ASSERT_EQ(0, uv_pd_alloc(self->fd, UV_WRITE, &c.handle));
	EXPECT_EQ(0, in_child(child_destroy, &c));
	EXPECT_EQ(-ENOENT, uv_pd_destroy(self->fd, c.handle));
	abi_same(_metadata, &self->abi.base, "destroyed by a child");
}

/*
 * A deliberate difference (DESIGN section 4, doorbell_from_receiver): a
 * doorbell without work requests carries no pointer but that of its answer,
 * and shverbs lets every holder ring it.
 */
TEST_F(creds, doorbell_in_a_child)
{
	struct child c = { .fd = self->fd, .form = UV_WRITE };
	struct uv_cq cq;
	struct uv_qp qp;
	__u32 pd;

	ASSERT_EQ(0, uv_pd_alloc(self->fd, UV_WRITE, &pd));
	ASSERT_EQ(0, uv_cq_create(self->fd, 16, -1, 0, &cq));
	ASSERT_EQ(0, uv_qp_create(self->fd, pd, cq.handle, IB_UVERBS_QPT_RC,
				  &qp));
	ASSERT_EQ(0, uv_qp_connect(self->fd, qp.handle, qp.qpn));
	c.handle = qp.handle;
	EXPECT_EQ(is_shverbs() ? 0 : -EACCES, in_child(child_doorbell, &c));
	EXPECT_EQ(-EACCES, in_child(child_send, &c));
	c.form = UV_INVOKE;
	EXPECT_EQ(0, in_child(child_doorbell, &c));
}

TEST_HARNESS_MAIN
