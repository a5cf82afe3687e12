// SPDX-License-Identifier: GPL-2.0
/*
 * Processes that share a context: what each made goes with it, however it ends
 * and whatever the others do, and the context goes with the last.
 */
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "abi_event.h"
#include "share.h"

#define MEMBERS 4
#define AT_ONCE 5000	/* ms; an emulated machine is slow, a wait is for ever */

/* A process with a file on the context, and a PD, an MR, a CQ and a QP on it. */
struct member {
	pid_t pid;
	int sock;
};

FIXTURE(context)
{
	struct uv_res idle;
	struct uv_ctx ctx;
	int object;
	struct member members[MEMBERS];
};

FIXTURE_SETUP(context)
{
	if (!is_shverbs())
		SKIP(return, "needs shverbs");
	ASSERT_EQ(0, uv_res_get(&self->idle));
	ASSERT_EQ(0, uv_ctx_open(&self->ctx));
	self->object = sh_export_context(self->ctx.fd, 0);
	ASSERT_GE(self->object, 0);
}

FIXTURE_TEARDOWN(context)
{
	EXPECT_TRUE(uv_res_settles(&self->idle, 5000));
}

static int make_all(int fd)
{
	static char memory[4096];
	struct uv_mr mr;
	struct uv_cq cq;
	struct uv_qp qp;
	__u32 pd;
	int ret = uv_pd_alloc(fd, UV_WRITE, &pd);

	if (!ret)
		ret = uv_mr_reg(fd, pd, memory, sizeof(memory), UV_ACCESS_ALL,
				&mr);
	if (!ret)
		ret = uv_cq_create(fd, 10, -1, 0, &cq);
	if (!ret)
		ret = uv_qp_create(fd, pd, cq.handle, IB_UVERBS_QPT_RC, &qp);
	return ret;
}

/* For each byte that it gets it makes all that once more, and answers. */
static void be_member(int sock, int object)
{
	int fd = sh_open_attached(object), ret;
	char byte;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	close(object);
	if (fd < 0)
		_exit(1);
	while (read(sock, &byte, 1) == 1) {
		ret = make_all(fd);
		if (write(sock, &ret, sizeof(ret)) != sizeof(ret))
			_exit(2);
	}
	_exit(0);
}

static int ask(struct member *member)
{
	int ret;

	if (write(member->sock, "", 1) != 1 ||
	    read(member->sock, &ret, sizeof(ret)) != sizeof(ret))
		return -EPIPE;
	return ret;
}

/* Starts a member; it has made its objects when this returns. */
static int start(struct member *member, struct uv_ctx *ctx, int object)
{
	int socks[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, socks))
		return -errno;
	member->pid = fork();
	if (member->pid < 0)
		return -errno;
	if (!member->pid) {
		close(socks[0]);
		uv_ctx_close(ctx);
		be_member(socks[1], object);
	}
	close(socks[1]);
	member->sock = socks[0];
	return ask(member);
}

static int reap(struct member *member, int signal)
{
	int status;

	if (signal)
		kill(member->pid, signal);
	close(member->sock);
	if (waitpid(member->pid, &status, 0) != member->pid)
		return -ECHILD;
	return status;
}

/* A member inherits the sockets of those before it, so that they end by signals. */
static void start_all(struct __test_metadata *_metadata, struct member *members,
		      struct uv_ctx *ctx, int object)
{
	int i;

	for (i = 0; i < MEMBERS; i++)
		ASSERT_EQ(0, start(&members[i], ctx, object));
}

/* So many times what make_all() makes. */
static void more(struct uv_res *res, int sets)
{
	res->pd += sets;
	res->mr += sets;
	res->cq += sets;
	res->qp += sets;
}

TEST_F(context, each_takes_its_own_along)
{
	struct uv_res want = self->idle;
	int i;

	start_all(_metadata, self->members, &self->ctx, self->object);
	want.ctx++;
	more(&want, MEMBERS);
	EXPECT_TRUE(uv_res_settles(&want, 5000));
	/* The second has twice as much. */
	EXPECT_EQ(0, ask(&self->members[1]));
	more(&want, 1);
	EXPECT_TRUE(uv_res_settles(&want, 5000));
	for (i = 0; i < MEMBERS; i++) {
		EXPECT_EQ(SIGKILL, reap(&self->members[i], SIGKILL));
		more(&want, i == 1 ? -2 : -1);
		EXPECT_TRUE(uv_res_settles(&want, 5000));
	}
	close(self->object);
	uv_ctx_close(&self->ctx);
}

/* The one that made the context is the first to go. */
TEST_F(context, outlives_its_maker)
{
	struct uv_res want = self->idle;
	int i;

	start_all(_metadata, self->members, &self->ctx, self->object);
	close(self->object);
	uv_ctx_close(&self->ctx);
	want.ctx++;
	more(&want, MEMBERS);
	EXPECT_TRUE(uv_res_settles(&want, 5000));
	for (i = 0; i < MEMBERS; i++) {
		EXPECT_EQ(0, ask(&self->members[i]));
		EXPECT_EQ(SIGKILL, reap(&self->members[i], SIGKILL));
		more(&want, -1);
		/* With the last of them the context goes, too. */
		want.ctx = self->idle.ctx + (i + 1 < MEMBERS);
		EXPECT_TRUE(uv_res_settles(&want, 5000));
	}
}

/* Nobody waits for others that share the context, and are stopped. */
TEST_F(context, close_never_waits)
{
	long begin;
	int i;

	start_all(_metadata, self->members, &self->ctx, self->object);
	for (i = 1; i < MEMBERS; i++)
		kill(self->members[i].pid, SIGSTOP);
	begin = uv_now_ms();
	close(self->object);
	uv_ctx_close(&self->ctx);
	EXPECT_EQ(SIGKILL, reap(&self->members[0], SIGKILL));
	EXPECT_LT(uv_now_ms() - begin, AT_ONCE);
	for (i = 1; i < MEMBERS; i++) {
		kill(self->members[i].pid, SIGCONT);
		EXPECT_EQ(0, ask(&self->members[i]));
		EXPECT_EQ(SIGKILL, reap(&self->members[i], SIGKILL));
	}
}

/* Whether `rdma resource show` has an object of a kind that this process made. */
static bool rdma_shows(const char *kind, pid_t pid)
{
	char line[256], want[32];
	bool found = false;
	FILE *f;

	snprintf(line, sizeof(line), "rdma resource show %s", kind);
	snprintf(want, sizeof(want), " pid %d ", pid);
	f = popen(line, "r");
	if (!f)
		return false;
	while (fgets(line, sizeof(line), f))
		found |= strstr(line, want) != NULL;
	return !pclose(f) && found;
}

/* Each object is listed as its maker's, and the context as that of the one who asked for it. */
TEST_F(context, resource_tracking)
{
	static const char *const kinds[] = { "pd", "mr", "cq", "qp" };
	struct member *member = &self->members[0];
	size_t i;

	ASSERT_EQ(0, start(member, &self->ctx, self->object));
	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		EXPECT_TRUE(rdma_shows(kinds[i], member->pid))
		{
			TH_LOG("%s", kinds[i]);
		}
		EXPECT_FALSE(rdma_shows(kinds[i], getpid()));
	}
	EXPECT_TRUE(rdma_shows("ctx", getpid()));
	EXPECT_FALSE(rdma_shows("ctx", member->pid));
	EXPECT_EQ(SIGKILL, reap(member, SIGKILL));
	close(self->object);
	uv_ctx_close(&self->ctx);
}

/* QUERY_CONTEXT says through an attached file what it says through the first. */
static int query_context(int fd, __u32 *vectors, __u64 *support)
{
	struct uv_cmd cmd;

	uv_init(&cmd, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_CONTEXT);
	uv_out(&cmd, UVERBS_ATTR_QUERY_CONTEXT_NUM_COMP_VECTORS, vectors,
	       sizeof(*vectors));
	uv_out(&cmd, UVERBS_ATTR_QUERY_CONTEXT_CORE_SUPPORT, support,
	       sizeof(*support));
	return uv_ioctl(fd, &cmd);
}

TEST_F(context, query)
{
	int attached = sh_open_attached(self->object), bare = uv_open();
	__u64 support[2] = {};
	__u32 vectors[2] = {};
	int first;

	ASSERT_GE(attached, 0);
	first = query_context(self->ctx.fd, &vectors[0], &support[0]);
	EXPECT_EQ(first, query_context(attached, &vectors[1], &support[1]));
	EXPECT_EQ(vectors[0], vectors[1]);
	EXPECT_EQ(support[0], support[1]);
	EXPECT_EQ(-EINVAL, query_context(bare, &vectors[0], &support[0]));
	close(bare);
	close(attached);
	close(self->object);
	uv_ctx_close(&self->ctx);
}

/* A CQ with room for one overruns: an event, under the user handle. */
static int overrun(int fd, __u64 user)
{
	struct uv_cq cq;
	struct uv_qp qp;
	__u32 pd;
	int ret = uv_pd_alloc(fd, UV_WRITE, &pd);

	if (!ret)
		ret = uv_cq_create(fd, 1, -1, user, &cq);
	return ret ? ret : abi_flush(fd, pd, cq.handle, 4, &qp);
}

/* Events of what a file made come to its own event fd, and to no other's. */
TEST_F(context, events)
{
	struct ib_uverbs_async_event_desc event = {};
	int attached = sh_open_attached(self->object), events;

	ASSERT_GE(attached, 0);
	events = uv_async_event(attached);
	ASSERT_GE(events, 0);
	ASSERT_EQ(0, overrun(attached, 2));
	ASSERT_EQ(POLLIN, abi_poll(events, 3000));
	EXPECT_EQ(0, abi_poll(self->ctx.async_fd, 0));
	EXPECT_EQ(sizeof(event), abi_read(events, &event, sizeof(event)));
	EXPECT_EQ(2, event.element);
	EXPECT_EQ(UV_EVENT_CQ_ERR, event.event_type);
	ASSERT_EQ(0, overrun(self->ctx.fd, 1));
	ASSERT_EQ(POLLIN, abi_poll(self->ctx.async_fd, 3000));
	EXPECT_EQ(0, abi_poll(events, 0));
	EXPECT_EQ(sizeof(event),
		  abi_read(self->ctx.async_fd, &event, sizeof(event)));
	EXPECT_EQ(1, event.element);
	close(events);
	close(attached);
	close(self->object);
	uv_ctx_close(&self->ctx);
}

TEST_HARNESS_MAIN
