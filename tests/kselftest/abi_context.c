// SPDX-License-Identifier: GPL-2.0
/* Opening a device, making its context, and what needs one. */
#include <sys/resource.h>
#include <sys/stat.h>

#include "abi.h"

FIXTURE(context)
{
	struct uv_res idle;
	int fd;
};

FIXTURE_SETUP(context)
{
	ASSERT_EQ(0, uv_res_get(&self->idle));
	self->fd = uv_open();
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(context)
{
	close(self->fd);
	EXPECT_TRUE(uv_res_settles(&self->idle, 2000));
}

static void get_context_cmd(struct uv_cmd *cmd)
{
	uv_init(cmd, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_GET_CONTEXT);
}

static int context_make(int fd)
{
	__u64 core_support;
	__u32 num_comp;

	return uv_get_context(fd, &num_comp, &core_support);
}

/* DESIGN section 1: what libibverbs looks for before it opens. */
TEST_F(context, sysfs_and_node)
{
	struct uv_dev dev;
	char path[128], line[64], want[64];
	struct stat st;

	ASSERT_EQ(0, uv_dev_find(&dev));
	snprintf(path, sizeof(path), "/sys/class/infiniband_verbs/%s/dev",
		 dev.uverbs);
	ASSERT_EQ(0, uv_read_line(path, line, sizeof(line)));
	ASSERT_EQ(0, stat(dev.node, &st));
	EXPECT_EQ(0666, st.st_mode & 07777);
	snprintf(want, sizeof(want), "%u:%u", (unsigned int)(st.st_rdev >> 8),
		 (unsigned int)(st.st_rdev & 0xff));
	EXPECT_STREQ(want, line);
	snprintf(path, sizeof(path),
		 "/sys/class/infiniband_verbs/%s/abi_version", dev.uverbs);
	ASSERT_EQ(0, uv_read_line(path, line, sizeof(line)));
	EXPECT_STREQ("2", line);
	ASSERT_EQ(0, uv_read_line("/sys/class/infiniband_verbs/abi_version",
				  line, sizeof(line)));
	EXPECT_STREQ("6", line);
}

TEST_F(context, get_context)
{
	__u64 core_support = 0;
	__u32 num_comp = 0;
	struct uv_res want;

	ASSERT_EQ(0, uv_get_context(self->fd, &num_comp, &core_support));
	EXPECT_LT(0, num_comp);
	EXPECT_GE(1024, num_comp);
	EXPECT_TRUE(core_support & IB_UVERBS_CORE_SUPPORT_OPTIONAL_MR_ACCESS);
	want = self->idle;
	want.ctx++;
	abi_same(_metadata, &want, "one context");
}

TEST_F(context, get_context_without_attributes)
{
	struct uv_cmd cmd;

	get_context_cmd(&cmd);
	EXPECT_EQ(0, uv_ioctl(self->fd, &cmd));
}

TEST_F(context, get_context_twice)
{
	struct uv_res one;

	ASSERT_EQ(0, context_make(self->fd));
	ASSERT_EQ(0, uv_res_get(&one));
	EXPECT_EQ(-EINVAL, context_make(self->fd));
	abi_same(_metadata, &one, "second context");
}

/* Whatever fails, the file can still have its context afterwards. */
TEST_F(context, get_context_bad_attributes)
{
	__u64 out;
	__s32 bad_fd = -1;
	const struct {
		const char *name;
		struct ib_uverbs_attr attr;
		int want;
	} cases[] = {
		{ "num_comp: 8 bytes",
		  { .attr_id = 0, .len = 8, .data = uv_u64(&out) }, -EINVAL },
		{ "num_comp: 2 bytes",
		  { .attr_id = 0, .len = 2, .data = uv_u64(&out) }, -EINVAL },
		{ "num_comp: unmapped",
		  { .attr_id = 0, .len = 4, .data = uv_u64(UV_BAD_PTR) },
		  -EFAULT },
		{ "core_support: 4 bytes",
		  { .attr_id = 1, .len = 4, .data = uv_u64(&out) }, -EINVAL },
		{ "core_support: unmapped",
		  { .attr_id = 1, .len = 8, .data = uv_u64(UV_BAD_PTR) },
		  -EFAULT },
		{ "fds: less than one", { .attr_id = 2, .len = 2 }, -EINVAL },
		{ "fds: one and a half",
		  { .attr_id = 2, .len = 6, .data = 0 }, -EINVAL },
		{ "fds: none such",
		  { .attr_id = 2, .len = 4, .data = (__u32)bad_fd }, -EBADF },
		{ "fds: unmapped",
		  { .attr_id = 2, .len = 16, .data = uv_u64(UV_BAD_PTR) },
		  -EFAULT },
	};
	struct uv_cmd cmd;
	size_t i;
	int ret;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		get_context_cmd(&cmd);
		cmd.hdr.attrs[0] = cases[i].attr;
		cmd.hdr.num_attrs = 1;
		ret = uv_ioctl(self->fd, &cmd);
		ABI_EXPECT(cases[i].want, ret, cases[i].name);
		abi_same(_metadata, &self->idle, cases[i].name);
	}
	EXPECT_EQ(0, context_make(self->fd));
}

/* A fd that is open, but no capability of the RDMA subsystem. */
TEST_F(context, get_context_fd_of_another_kind)
{
	struct uv_cmd cmd;

	get_context_cmd(&cmd);
	uv_u32(&cmd, UV_GET_CONTEXT_FD_ARR, self->fd);
	EXPECT_EQ(-EBADF, uv_ioctl(self->fd, &cmd));
	abi_same(_metadata, &self->idle, "fd array");
}

static int get_context_call(int fd, enum uv_form form,
			    struct ib_uverbs_get_context_resp *resp)
{
	struct ib_uverbs_get_context req = {};
	struct uv_call call = {
		.command = IB_USER_VERBS_CMD_GET_CONTEXT,
		.req = &req, .req_len = sizeof(req),
		.resp = resp, .resp_len = sizeof(*resp),
	};

	return uv_call(fd, form, &call);
}

/* The old way: the async event fd comes with the context. */
TEST_F(context, get_context_by_write)
{
	struct ib_uverbs_get_context_resp resp = {}, again = {};

	ASSERT_EQ(0, get_context_call(self->fd, UV_WRITE, &resp));
	EXPECT_LT(0, resp.num_comp_vectors);
	EXPECT_LE(0, fcntl((int)resp.async_fd, F_GETFD));
	EXPECT_EQ(-EINVAL, get_context_call(self->fd, UV_WRITE, &again));
	/* The fd that was reserved for the second is free again. */
	EXPECT_EQ(-1, fcntl((int)resp.async_fd + 1, F_GETFD));
	close(resp.async_fd);
}

/*
 * ib_uverbs of 7.3 takes attribute 2 of INVOKE_WRITE, the command number 0,
 * for GET_CONTEXT's fd array and answers EBADF or EINVAL (0 is stdin here).
 * shverbs does what is meant.
 */
TEST_F(context, get_context_by_invoke_write)
{
	struct ib_uverbs_get_context_resp resp = {};
	int ret = get_context_call(self->fd, UV_INVOKE, &resp);

	if (!is_shverbs()) {
		EXPECT_TRUE(ret == -EBADF || ret == -EINVAL);
		abi_same(_metadata, &self->idle, "INVOKE_WRITE");
		return;
	}
	ASSERT_EQ(0, ret);
	EXPECT_LT(0, resp.num_comp_vectors);
	EXPECT_LE(0, fcntl((int)resp.async_fd, F_GETFD));
	close(resp.async_fd);
}

TEST_F(context, query_context)
{
	__u32 num_comp = 0;
	struct uv_cmd cmd;

	uv_init(&cmd, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_CONTEXT);
	uv_out(&cmd, UVERBS_ATTR_QUERY_CONTEXT_NUM_COMP_VECTORS, &num_comp,
	       sizeof(num_comp));
	EXPECT_EQ(-EINVAL, uv_ioctl(self->fd, &cmd));
	ASSERT_EQ(0, context_make(self->fd));
	/* rxe has nothing to say. */
	EXPECT_EQ(-EOPNOTSUPP, uv_ioctl(self->fd, &cmd));
	uv_find(&cmd, 0)->len = 8;
	EXPECT_EQ(-EINVAL, uv_ioctl(self->fd, &cmd));
	EXPECT_EQ(0, num_comp);
}

/* What makes or asks for something on a file that has no context. */
TEST_F(context, nothing_without_a_context)
{
	struct ib_uverbs_query_device_resp dev;
	struct ib_uverbs_query_device dev_req = {};
	struct ib_uverbs_query_port port_req = { .port_num = 1 };
	struct ib_uverbs_query_port_resp port;
	struct uv_call dev_call = {
		.command = IB_USER_VERBS_CMD_QUERY_DEVICE,
		.req = &dev_req, .req_len = sizeof(dev_req),
		.resp = &dev, .resp_len = sizeof(dev),
	};
	struct uv_call port_call = {
		.command = IB_USER_VERBS_CMD_QUERY_PORT,
		.req = &port_req, .req_len = sizeof(port_req),
		.resp = &port, .resp_len = sizeof(port),
	};
	struct ib_uverbs_gid_entry gid;
	enum uv_form form;
	struct uv_cq cq;
	__u32 pd;

	for (form = UV_WRITE; form <= UV_INVOKE; form++) {
		EXPECT_EQ(-EINVAL, uv_pd_alloc(self->fd, form, &pd));
		EXPECT_EQ(-EINVAL, uv_channel(self->fd, form));
		EXPECT_EQ(-EINVAL, uv_call(self->fd, form, &dev_call));
		EXPECT_EQ(-EINVAL, uv_call(self->fd, form, &port_call));
		EXPECT_EQ(-ENOENT, uv_req_notify(self->fd, form, 0, 0));
	}
	EXPECT_EQ(-EINVAL, uv_cq_create(self->fd, 16, -1, 0, &cq));
	EXPECT_EQ(-EINVAL, uv_async_event(self->fd));
	EXPECT_EQ(-EINVAL, uv_gid_entry(self->fd, 1, 0, &gid));
	EXPECT_EQ(-ENOENT, uv_pd_destroy(self->fd, 0));
	abi_same(_metadata, &self->idle, "without a context");
}

static bool link_is(int fd, const char *want)
{
	char path[64], link[128] = "";

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return readlink(path, link, sizeof(link) - 1) > 0 &&
	       !strcmp(link, want);
}

TEST_F(context, async_event_fd)
{
	int fd, second;

	ASSERT_EQ(0, context_make(self->fd));
	fd = uv_async_event(self->fd);
	ASSERT_LE(0, fd);
	EXPECT_TRUE(link_is(fd, "anon_inode:[infinibandevent]"));
	EXPECT_EQ(FD_CLOEXEC, fcntl(fd, F_GETFD));
	EXPECT_EQ(O_RDONLY, fcntl(fd, F_GETFL) & O_ACCMODE);
	EXPECT_EQ(-1, write(fd, &fd, sizeof(fd)));
	EXPECT_EQ(EBADF, errno);
	/* A file may have several. */
	second = uv_async_event(self->fd);
	EXPECT_LT(fd, second);
	close(fd);
	close(second);
}

TEST_F(context, async_event_fd_bad_attributes)
{
	struct uv_cmd cmd;

	ASSERT_EQ(0, context_make(self->fd));
	uv_init(&cmd, UVERBS_OBJECT_ASYNC_EVENT, 0);
	EXPECT_EQ(-EINVAL, uv_ioctl(self->fd, &cmd));
	uv_fd(&cmd, 0, 0)->len = 4;
	EXPECT_EQ(-EINVAL, uv_ioctl(self->fd, &cmd));
	uv_find(&cmd, 0)->len = 0;
	uv_find(&cmd, 0)->attr_data.reserved = 1;
	EXPECT_EQ(-EINVAL, uv_ioctl(self->fd, &cmd));
	/* No fd was used up by any of it. */
	EXPECT_EQ(-1, fcntl(self->fd + 1, F_GETFD));
}

TEST_F(context, async_event_fd_limit)
{
	struct rlimit old, none;
	int fd;

	ASSERT_EQ(0, context_make(self->fd));
	ASSERT_EQ(0, getrlimit(RLIMIT_NOFILE, &old));
	none = old;
	none.rlim_cur = self->fd + 1;
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &none));
	fd = uv_async_event(self->fd);
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &old));
	EXPECT_EQ(-EMFILE, fd);
}

/*
 * The id is told in the user's attributes: where they cannot be written, the
 * fd is taken back.
 */
TEST_F(context, async_event_fd_in_read_only_memory)
{
	size_t page = getpagesize();
	struct uv_cmd *cmd = mmap(NULL, page, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ASSERT_EQ(0, context_make(self->fd));
	uv_init(cmd, UVERBS_OBJECT_ASYNC_EVENT, 0);
	uv_fd(cmd, 0, 0);
	cmd->hdr.length = sizeof(cmd->hdr) + sizeof(cmd->hdr.attrs[0]);
	ASSERT_EQ(0, mprotect(cmd, page, PROT_READ));
	EXPECT_EQ(-EFAULT, uv_ioctl_raw(self->fd, cmd));
	EXPECT_EQ(-1, fcntl(self->fd + 1, F_GETFD));
	munmap(cmd, page);
}

/* Two files of one process have nothing in common. */
TEST_F(context, files_are_apart)
{
	int other = uv_open();
	__u32 pd;

	ASSERT_LE(0, other);
	ASSERT_EQ(0, context_make(self->fd));
	ASSERT_EQ(0, context_make(other));
	ASSERT_EQ(0, uv_pd_alloc(self->fd, UV_WRITE, &pd));
	EXPECT_EQ(-ENOENT, uv_pd_destroy(other, pd));
	EXPECT_EQ(0, uv_pd_destroy(self->fd, pd));
	close(other);
}

TEST_HARNESS_MAIN
