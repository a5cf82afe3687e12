/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Processes that share a PD and an MR.  A test starts some peers and tells each
 * what to do; peers use unmodified libibverbs and shverbs.h, each with a
 * context of its own.  Object fds go through the test, with SCM_RIGHTS.
 */
#ifndef SHVERBS_TEST_SHARE_PEER_H
#define SHVERBS_TEST_SHARE_PEER_H

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include <shverbs.h>

#include "loopback.h"
#include "share.h"

#define PEER_SIZE (256u << 10)	/* of the shared MR */
#define PEER_KB (PEER_SIZE / 1024)
#define PEER_STAGE 8192

enum peer_what { PEER_PD, PEER_MR };

enum peer_op {
	PEER_OPEN,	/* a context of its own */
	PEER_MAKE,	/* a PD, and an MR on it */
	PEER_EXPORT,	/* @what, flags @arg; an fd follows the answer */
	PEER_IMPORT,	/* @what, from an fd that follows the request */
	PEER_PUBLISH,	/* @what as @path; @arg: flags */
	PEER_RELEASE,	/* @what: RELEASE */
	PEER_REVOKE,	/* @what */
	PEER_DESTROY,	/* @what: ibv_dealloc_pd(), ibv_dereg_mr() */
	PEER_CLOSE,	/* ibv_close_device() */
	PEER_QPS,	/* connects two QPs on the PD, for good */
	PEER_RDMA,	/* writes pattern @arg into the MR, and reads it back */
	PEER_READ,	/* reads it back only */
	PEER_RKEY,	/* tells the MR's rkey */
	PEER_POKE,	/* an RDMA write of 8 bytes with rkey @arg */
	PEER_SEES,	/* whether its own memory has the pattern @arg */
	PEER_VMPIN,	/* in kB */
	PEER_EXIT,
};

struct peer_request {
	enum peer_op op;
	enum peer_what what;
	__u64 arg;
	char path[300];
};

struct peer {
	pid_t pid;
	int sock;
};

/* ---- in the peer ---- */

struct peer_state {
	int sock;
	const char *device;
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	uint64_t remote;	/* the MR's first address, also after it is gone */
	void *memory;		/* of an MR that was made here */
	struct loop loop;
	bool qps;
	uint64_t stage[PEER_STAGE / sizeof(uint64_t)];
};

static inline uint64_t peer_word(__u64 seed, size_t i)
{
	return (seed << 32) + (i + 1) * 0x9E3779B97F4A7C15ULL;
}

static inline long peer_make(struct peer_state *p)
{
	p->memory = mmap(NULL, PEER_SIZE, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (p->memory == MAP_FAILED)
		return -errno;
	p->pd = ibv_alloc_pd(p->ctx);
	if (!p->pd)
		return -errno;
	p->mr = ibv_reg_mr(p->pd, p->memory, PEER_SIZE, LOOP_ACCESS);
	if (!p->mr)
		return -errno;
	p->remote = (uintptr_t)p->memory;
	return 0;
}

static inline long peer_import(struct peer_state *p, enum peer_what what)
{
	int fd = shv_recv_fd(p->sock);
	long ret;

	if (fd < 0)
		return -errno;
	errno = 0;
	if (what == PEER_PD)
		p->pd = shv_import_pd(p->ctx, fd);
	else
		p->mr = shv_import_mr(p->pd, fd);
	ret = (what == PEER_PD ? !!p->pd : !!p->mr) ? 0 : -errno;
	close(fd);
	if (!ret && what == PEER_MR) {
		p->remote = (uintptr_t)p->mr->addr;
		ret = p->mr->length == PEER_SIZE ? 0 : -EMSGSIZE;
	}
	return ret;
}

/* One transfer on the QPs that are there, with a stage registered for it. */
static inline long peer_transfer(struct peer_state *p, enum ibv_wr_opcode opcode,
				 uint32_t rkey, size_t length)
{
	struct ibv_mr *stage = ibv_reg_mr(p->pd, p->stage, sizeof(p->stage),
					  IBV_ACCESS_LOCAL_WRITE);
	struct loop_op op = {
		.opcode = opcode,
		.local = (uintptr_t)p->stage,
		.remote = p->remote,
		.rkey = rkey,
		.length = length,
	};
	long ret;

	if (!stage)
		return -errno;
	op.lkey = stage->lkey;
	ret = p->qps ? 0 : loop_open(&p->loop, p->pd);
	if (!ret)
		ret = loop_rdma(&p->loop, &op);
	if (!p->qps) {
		int closed = loop_close(&p->loop);

		ret = ret ? ret : closed;
	}
	return ibv_dereg_mr(stage) && !ret ? -errno : ret;
}

static inline long peer_read(struct peer_state *p, __u64 seed)
{
	long ret;
	size_t i;

	memset(p->stage, 0, sizeof(p->stage));
	ret = peer_transfer(p, IBV_WR_RDMA_READ, p->mr->rkey, sizeof(p->stage));
	for (i = 0; !ret && i < PEER_STAGE / sizeof(uint64_t); i++)
		if (p->stage[i] != peer_word(seed, i))
			ret = -EILSEQ;
	return ret;
}

static inline long peer_rdma(struct peer_state *p, __u64 seed)
{
	long ret;
	size_t i;

	for (i = 0; i < PEER_STAGE / sizeof(uint64_t); i++)
		p->stage[i] = peer_word(seed, i);
	ret = peer_transfer(p, IBV_WR_RDMA_WRITE, p->mr->rkey, sizeof(p->stage));
	return ret ? ret : peer_read(p, seed);
}

static inline long peer_sees(struct peer_state *p, __u64 seed)
{
	const uint64_t *word = p->memory;
	size_t i;

	for (i = 0; i < PEER_STAGE / sizeof(uint64_t); i++)
		if (word[i] != peer_word(seed, i))
			return -EILSEQ;
	return 0;
}

static inline long peer_give_up(struct peer_state *p,
				const struct peer_request *r)
{
	bool release = r->op == PEER_RELEASE;
	int ret;

	if (r->what == PEER_PD) {
		ret = release ? shv_release_pd(p->pd) : ibv_dealloc_pd(p->pd);
		if (!ret)
			p->pd = NULL;
	} else {
		ret = release ? shv_release_mr(p->mr) : ibv_dereg_mr(p->mr);
		if (!ret)
			p->mr = NULL;
	}
	return ret ? -(ret < 0 ? errno : ret) : 0;
}

static inline long peer_publish(struct peer_state *p,
				const struct peer_request *r)
{
	int ret = r->what == PEER_PD ?
		shv_publish_pd(p->pd, AT_FDCWD, r->path, 0600, (__u32)r->arg) :
		shv_publish_mr(p->mr, AT_FDCWD, r->path, 0600, (__u32)r->arg);

	return ret ? -errno : 0;
}

static inline long peer_do(struct peer_state *p, const struct peer_request *r)
{
	int ret;

	switch (r->op) {
	case PEER_OPEN:
		p->ctx = loop_open_device(p->device);
		return p->ctx ? 0 : -errno;
	case PEER_MAKE:
		return peer_make(p);
	case PEER_EXPORT:
		ret = r->what == PEER_PD ?
			shv_export_pd_as(p->pd, 0, (__u32)r->arg) :
			shv_export_mr_as(p->mr, 0, (__u32)r->arg);
		return ret < 0 ? -errno : ret;
	case PEER_IMPORT:
		return peer_import(p, r->what);
	case PEER_PUBLISH:
		return peer_publish(p, r);
	case PEER_REVOKE:
		ret = r->what == PEER_PD ? shv_revoke_pd(p->pd) :
					   shv_revoke_mr(p->mr);
		return ret ? -errno : 0;
	case PEER_RELEASE:
	case PEER_DESTROY:
		return peer_give_up(p, r);
	case PEER_CLOSE:
		ret = ibv_close_device(p->ctx);
		p->ctx = NULL;
		return ret ? -errno : 0;
	case PEER_QPS:
		ret = loop_open(&p->loop, p->pd);
		p->qps = !ret;
		return ret;
	case PEER_RDMA:
		return peer_rdma(p, r->arg);
	case PEER_READ:
		return peer_read(p, r->arg);
	case PEER_RKEY:
		return p->mr->rkey;
	case PEER_POKE:
		return peer_transfer(p, IBV_WR_RDMA_WRITE, (uint32_t)r->arg, 8);
	case PEER_SEES:
		return peer_sees(p, r->arg);
	case PEER_VMPIN:
		return uv_vmpin_kb();
	case PEER_EXIT:
		_exit(0);
	}
	return -ENOSYS;
}

/* An exported fd is sent, and closed here. */
static inline void peer_answer(struct peer_state *p, const struct peer_request *r,
			       long value)
{
	if (write(p->sock, &value, sizeof(value)) != sizeof(value))
		_exit(1);
	if (r->op != PEER_EXPORT || value < 0)
		return;
	if (shv_send_fd(p->sock, (int)value))
		_exit(1);
	close((int)value);
}

static inline void peer_main(int sock, const char *device)
{
	struct peer_state *p = calloc(1, sizeof(*p));
	struct peer_request r;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	p->sock = sock;
	p->device = device;
	while (read(sock, &r, sizeof(r)) == sizeof(r))
		peer_answer(p, &r, peer_do(p, &r));
	_exit(0);
}

/* ---- in the test ---- */

static inline int peer_start(struct peer *peer, const char *device)
{
	int socks[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, socks))
		return -errno;
	peer->pid = fork();
	if (peer->pid < 0)
		return -errno;
	if (!peer->pid) {
		close(socks[0]);
		peer_main(socks[1], device);
	}
	close(socks[1]);
	peer->sock = socks[0];
	return 0;
}

static inline int peer_send(struct peer *peer, enum peer_op op,
			    enum peer_what what, __u64 arg, const char *path)
{
	struct peer_request r = { .op = op, .what = what, .arg = arg };

	if (path)
		snprintf(r.path, sizeof(r.path), "%s", path);
	return send(peer->sock, &r, sizeof(r), MSG_NOSIGNAL) == sizeof(r) ?
		0 : -errno;
}

/* -ETIMEDOUT where a peer hangs: nothing that is tested here may wait. */
static inline long peer_wait(struct peer *peer)
{
	struct pollfd pfd = { .fd = peer->sock, .events = POLLIN };
	long value;

	if (poll(&pfd, 1, 30000) != 1)
		return -ETIMEDOUT;
	if (read(peer->sock, &value, sizeof(value)) != sizeof(value))
		return -EPIPE;
	return value;
}

static inline long peer_tell(struct peer *peer, enum peer_op op,
			     enum peer_what what, __u64 arg)
{
	long ret = peer_send(peer, op, what, arg, NULL);

	return ret ? ret : peer_wait(peer);
}

/* An object fd of the peer's, exported with flags, or -errno. */
static inline int peer_export_as(struct peer *peer, enum peer_what what,
				 __u32 flags)
{
	long ret = peer_tell(peer, PEER_EXPORT, what, flags);
	int fd;

	if (ret < 0)
		return (int)ret;
	fd = shv_recv_fd(peer->sock);
	return fd < 0 ? -errno : fd;
}

static inline int peer_export(struct peer *peer, enum peer_what what)
{
	return peer_export_as(peer, what, 0);
}

static inline long peer_import_fd(struct peer *peer, enum peer_what what, int fd)
{
	long ret = peer_send(peer, PEER_IMPORT, what, 0, NULL);

	if (!ret && shv_send_fd(peer->sock, fd))
		ret = -errno;
	return ret ? ret : peer_wait(peer);
}

/* One peer gets what another has; no fd stays anywhere. */
static inline long peer_pass(struct peer *from, struct peer *to,
			     enum peer_what what)
{
	int fd = peer_export(from, what);
	long ret;

	if (fd < 0)
		return fd;
	ret = peer_import_fd(to, what, fd);
	close(fd);
	return ret;
}

static inline int peer_reap(struct peer *peer)
{
	long end = uv_now_ms() + 30000;
	int status;

	while (!waitpid(peer->pid, &status, WNOHANG)) {
		if (uv_now_ms() > end)
			return -ETIMEDOUT;
		poll(NULL, 0, 1);
	}
	close(peer->sock);
	peer->sock = -1;
	peer->pid = 0;
	return status;
}

/* Returns the wait status: 0, or what killed it. */
static inline int peer_end(struct peer *peer)
{
	peer_send(peer, PEER_EXIT, PEER_PD, 0, NULL);
	return peer_reap(peer);
}

static inline int peer_kill(struct peer *peer)
{
	kill(peer->pid, SIGKILL);
	return peer_reap(peer);
}

#endif
