// SPDX-License-Identifier: GPL-2.0
/* Completion channels: their fds, and who may use them. */
#include <sys/resource.h>

#include "abi.h"

FIXTURE(channel)
{
	struct abi abi;
	int fd;
};

FIXTURE_VARIANT(channel)
{
	enum uv_form form;
};

FIXTURE_VARIANT_ADD(channel, write)
{
	.form = UV_WRITE,
};

FIXTURE_VARIANT_ADD(channel, invoke)
{
	.form = UV_INVOKE,
};

FIXTURE_SETUP(channel)
{
	abi_start(_metadata, &self->abi);
	self->fd = self->abi.fd;
}

FIXTURE_TEARDOWN(channel)
{
	abi_end(_metadata, &self->abi);
}

TEST_F(channel, is_an_event_fd)
{
	char path[64], link[128] = "";
	int ch = uv_channel(self->fd, variant->form);

	ASSERT_LE(0, ch);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", ch);
	ASSERT_LT(0, readlink(path, link, sizeof(link) - 1));
	EXPECT_STREQ("anon_inode:[infinibandevent]", link);
	EXPECT_EQ(FD_CLOEXEC, fcntl(ch, F_GETFD));
	EXPECT_EQ(O_RDONLY, fcntl(ch, F_GETFL) & O_ACCMODE);
	EXPECT_EQ(-1, write(ch, &ch, sizeof(ch)));
	EXPECT_EQ(EBADF, errno);
	EXPECT_EQ(-1, lseek(ch, 0, SEEK_SET));
	close(ch);
	abi_same(_metadata, &self->abi.base, "channel closed");
}

/* What a failed call reserved is free again: the next fd is the same one. */
static int next_fd(void)
{
	int fd = open("/dev/null", O_RDONLY);

	close(fd);
	return fd;
}

TEST_F(channel, response_to_unmapped_memory)
{
	struct ib_uverbs_create_comp_channel req = {};
	struct uv_call call = {
		.command = IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL,
		.req = &req, .req_len = sizeof(req),
		.resp = UV_BAD_PTR,
		.resp_len = sizeof(struct ib_uverbs_create_comp_channel_resp),
	};
	int ret, fd = next_fd();
	struct uv_write w;

	if (variant->form == UV_INVOKE) {
		ret = uv_call(self->fd, UV_INVOKE, &call);
	} else {
		uv_wprep(&w, call.command, &req, sizeof(req), UV_BAD_PTR,
			 call.resp_len);
		ret = uv_wsend(self->fd, &w);
	}
	EXPECT_EQ(-EFAULT, ret);
	EXPECT_EQ(fd, next_fd());
}

TEST_F(channel, short_input)
{
	struct ib_uverbs_create_comp_channel req = {};
	struct uv_call no_resp = {
		.command = IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL,
		.req = &req, .req_len = sizeof(req),
	};
	struct uv_call short_req = {
		.command = IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL,
		.req = &req, .req_len = 4,
		.resp = &req, .resp_len = 4,
	};
	int fd = next_fd();

	EXPECT_EQ(-ENOSPC, uv_call(self->fd, variant->form, &no_resp));
	EXPECT_EQ(-ENOSPC, uv_call(self->fd, variant->form, &short_req));
	EXPECT_EQ(fd, next_fd());
}

TEST_F(channel, fd_limit)
{
	struct rlimit old, none;
	int ch;

	ASSERT_EQ(0, getrlimit(RLIMIT_NOFILE, &old));
	none = old;
	none.rlim_cur = next_fd();
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &none));
	ch = uv_channel(self->fd, variant->form);
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &old));
	EXPECT_EQ(-EMFILE, ch);
}

/* A CQ holds its channel: the fd may go first, and so may the CQ. */
TEST_F(channel, close_order)
{
	struct ib_uverbs_destroy_cq_resp resp;
	int ch = uv_channel(self->fd, variant->form);
	struct uv_cq first, second;

	ASSERT_LE(0, ch);
	ASSERT_EQ(0, uv_cq_create(self->fd, 16, ch, 1, &first));
	ASSERT_EQ(0, uv_cq_create(self->fd, 16, ch, 2, &second));
	ASSERT_EQ(0, uv_cq_destroy(self->fd, first.handle, &resp));
	ASSERT_EQ(0, close(ch));
	EXPECT_EQ(0, uv_req_notify(self->fd, variant->form, second.handle, 0));
	ASSERT_EQ(0, uv_cq_destroy(self->fd, second.handle, &resp));
	EXPECT_EQ(0, resp.comp_events_reported);
	abi_same(_metadata, &self->abi.base, "all destroyed");
}

/* The channel outlives the file that it came from, as an fd without events. */
TEST_F(channel, outlives_its_file)
{
	int ch = uv_channel(self->fd, variant->form);
	struct pollfd p = { .fd = ch, .events = POLLIN };
	__u64 event;

	ASSERT_LE(0, ch);
	uv_ctx_close(&self->abi.ctx);
	EXPECT_TRUE(uv_res_settles(&self->abi.idle, 2000));
	EXPECT_EQ(1, poll(&p, 1, 1000));
	EXPECT_EQ(POLLERR, p.revents);
	EXPECT_EQ(-1, read(ch, &event, sizeof(event)));
	EXPECT_EQ(EIO, errno);
	close(ch);
}

static int cq_on(int fd, int channel)
{
	struct uv_cq cq;

	return uv_cq_create(fd, 16, channel, 0, &cq);
}

TEST_F(channel, what_is_no_channel)
{
	struct uv_ctx other;
	int ch, null, foreign;

	ASSERT_EQ(0, uv_ctx_open(&other));
	ch = uv_channel(self->fd, variant->form);
	foreign = uv_channel(other.fd, variant->form);
	null = open("/dev/null", O_RDONLY);
	ASSERT_LE(0, ch);
	ASSERT_LE(0, foreign);
	EXPECT_EQ(-EBADF, cq_on(self->fd, next_fd()));
	EXPECT_EQ(-EBADF, cq_on(self->fd, null));
	EXPECT_EQ(-EBADF, cq_on(self->fd, self->fd));
	EXPECT_EQ(-EBADF, cq_on(self->fd, self->abi.ctx.async_fd));
	EXPECT_EQ(-EBADF, cq_on(self->fd, foreign));
	uv_ctx_close(&other);
	EXPECT_EQ(-EBADF, cq_on(self->fd, foreign));
	close(foreign);
	close(null);
	/* None of it made a CQ, or kept the channel. */
	abi_same(_metadata, &self->abi.base, "no CQ");
	close(ch);
}

/* A channel whose fd was passed on is a channel still. */
TEST_F(channel, duplicate_fd)
{
	int ch = uv_channel(self->fd, variant->form);
	int copy = dup(ch);

	ASSERT_LE(0, copy);
	close(ch);
	EXPECT_EQ(0, cq_on(self->fd, copy));
	close(copy);
}

TEST_HARNESS_MAIN
