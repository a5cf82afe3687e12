// SPDX-License-Identifier: GPL-2.0
/* EXPORT with MOVE: the exporter's handle goes when the importer's comes, and not before. */
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "share.h"

SHARE_FIXTURE(move)

static int export_move(struct sh *sh)
{
	return sh_export_as(sh->fd, UVERBS_OBJECT_MR, sh->mr.handle, 0,
			    SHVERBS_EXPORT_MOVE);
}

/* Whether the exporter has its handle. */
static int has(struct sh *sh)
{
	struct sh_holders now;

	return sh_holders(sh->fd, UVERBS_OBJECT_MR, sh->mr.handle, &now);
}

TEST_F(move, hands_over)
{
	struct sh *sh = &self->sh;
	struct sh_import import;
	struct sh_holders now;
	int object = export_move(sh);

	ASSERT_GE(object, 0);
	EXPECT_EQ(0, has(sh));
	ASSERT_EQ(0, sh_import(sh->other, object, &import));
	EXPECT_EQ(-ENOENT, has(sh));
	EXPECT_EQ(-ENOENT, uv_mr_destroy(sh->fd, sh->mr.handle));
	EXPECT_EQ(-ESTALE, sh_import(sh->other, object, &import));
	close(object);
	ASSERT_EQ(0, sh_holders(sh->other, UVERBS_OBJECT_MR, import.handle, &now));
	EXPECT_EQ(1, now.handles);
	/* The importer is now the last owner. */
	EXPECT_EQ(0, uv_mr_destroy(sh->other, import.handle));
	EXPECT_EQ(0, uv_pd_destroy(sh->fd, sh->pd));
}

TEST_F(move, not_imported_it_stays)
{
	struct sh *sh = &self->sh;
	int object = export_move(sh);

	ASSERT_GE(object, 0);
	close(object);
	EXPECT_EQ(0, has(sh));
	abi_same(_metadata, &sh->made, "closed");
	EXPECT_EQ(0, uv_mr_destroy(sh->fd, sh->mr.handle));
}

/* An import that fails at its very end puts the handle back. */
TEST_F(move, failed_it_stays)
{
	struct sh *sh = &self->sh;
	struct sh_import import;
	struct uv_cmd cmd;
	int object = export_move(sh);
	const __u16 outputs[] = { SHVERBS_ATTR_IMPORT_HANDLE,
				  SHVERBS_ATTR_IMPORT_OBJECT_ID,
				  SHVERBS_ATTR_IMPORT_RIGHTS };
	size_t i;

	ASSERT_GE(object, 0);
	for (i = 0; i < ARRAY_SIZE(outputs); i++) {
		sh_import_prep(&cmd, object, &import);
		uv_find(&cmd, outputs[i])->data = uv_u64(UV_BAD_PTR);
		EXPECT_EQ(-EFAULT, uv_ioctl(sh->other, &cmd));
		EXPECT_EQ(0, has(sh));
	}
	EXPECT_EQ(0, sh_import(sh->other, object, &import));
	EXPECT_EQ(-ENOENT, has(sh));
	close(object);
}

/* The exporter may go meanwhile: the fd owns the object, as any does. */
TEST_F(move, exporter_is_gone)
{
	struct sh *sh = &self->sh;
	struct sh_import import;
	int object = export_move(sh);

	ASSERT_GE(object, 0);
	EXPECT_EQ(0, uv_mr_destroy(sh->fd, sh->mr.handle));
	EXPECT_EQ(0, sh_import(sh->other, object, &import));
	close(object);
	EXPECT_EQ(0, uv_mr_destroy(sh->other, import.handle));

	ASSERT_EQ(0, uv_mr_reg(sh->fd, sh->pd, sh->memory, SH_MR_SIZE,
			       UV_ACCESS_ALL, &sh->mr));
	object = export_move(sh);
	ASSERT_GE(object, 0);
	uv_ctx_close(&sh->abi.ctx);
	EXPECT_EQ(0, sh_import(sh->other, object, &import));
	close(object);
	EXPECT_EQ(0, uv_mr_destroy(sh->other, import.handle));
}

TEST_F(move, takes_no_detours)
{
	struct sh *sh = &self->sh;
	struct sh_name name = { .name = "moved", .mode = 0600 };
	struct uv_cmd cmd;
	char path[200];
	int object = export_move(sh);

	name.dir = sh_dir(path, sizeof(path));
	ASSERT_GE(name.dir, 0);
	ASSERT_GE(object, 0);
	EXPECT_EQ(-EINVAL, sh_publish_fd(sh->fd, object, &name));
	uv_init(&cmd, SHVERBS_OBJECT_SHARE, SHVERBS_METHOD_EXPORT);
	uv_const(&cmd, SHVERBS_ATTR_EXPORT_OBJECT_ID, UVERBS_OBJECT_DEVICE);
	uv_const(&cmd, SHVERBS_ATTR_EXPORT_FLAGS, SHVERBS_EXPORT_MOVE);
	uv_fd(&cmd, SHVERBS_ATTR_EXPORT_FD, 0);
	EXPECT_EQ(-EINVAL, uv_ioctl(sh->fd, &cmd));
	close(object);
	close(name.dir);
}

/*
 * A broker makes a hundred and hands them out to ten workers; when it dies, each
 * works on with what it got, and what it leaves goes with it.
 */
#define WORKERS 10
#define EACH 10

static void be_worker(int sock)
{
	char byte, control[CMSG_SPACE(sizeof(int))];
	struct iovec iov = { &byte, 1 };
	struct sh_import import;
	struct uv_ctx ctx;
	int got = 0, fd;

	if (uv_ctx_open(&ctx))
		_exit(1);
	while (got < EACH) {
		struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1,
				      .msg_control = control,
				      .msg_controllen = sizeof(control) };

		if (recvmsg(sock, &msg, MSG_CMSG_CLOEXEC) != 1 ||
		    !CMSG_FIRSTHDR(&msg))
			_exit(2);
		memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(fd));
		if (sh_import_mr(ctx.fd, fd, &import) || !import.mr.rkey)
			_exit(3);
		close(fd);
		got++;
	}
	if (write(sock, "", 1) != 1 || read(sock, &byte, 1) != 1)
		_exit(4);
	_exit(0);
}

static int send_fd(int sock, int fd)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control = { .header = { .cmsg_len = CMSG_LEN(sizeof(fd)),
				  .cmsg_level = SOL_SOCKET,
				  .cmsg_type = SCM_RIGHTS } };
	char byte = 0;
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1,
			      .msg_control = &control,
			      .msg_controllen = sizeof(control) };

	memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	return sendmsg(sock, &msg, MSG_NOSIGNAL) == 1 ? 0 : -errno;
}

TEST_F_TIMEOUT(move, broker, 120)
{
	struct sh *sh = &self->sh;
	struct uv_res want = sh->made;
	pid_t pids[WORKERS];
	int socks[WORKERS], pair[2], object, w, i, status;
	struct uv_ctx broker;
	struct uv_mr mr;
	char byte;
	__u32 pd;

	for (w = 0; w < WORKERS; w++) {
		ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0,
					pair));
		pids[w] = fork();
		if (!pids[w]) {
			close(pair[0]);
			be_worker(pair[1]);
		}
		close(pair[1]);
		socks[w] = pair[0];
	}
	ASSERT_EQ(0, uv_ctx_open(&broker));
	ASSERT_EQ(0, uv_pd_alloc(broker.fd, UV_WRITE, &pd));
	for (i = 0; i < EACH; i++) {
		for (w = 0; w < WORKERS; w++) {
			ASSERT_EQ(0, uv_mr_reg(broker.fd, pd, sh->memory, 4096,
					       UV_ACCESS_ALL, &mr));
			object = sh_export_as(broker.fd, UVERBS_OBJECT_MR,
					      mr.handle, 0, SHVERBS_EXPORT_MOVE);
			ASSERT_GE(object, 0);
			ASSERT_EQ(0, send_fd(socks[w], object));
			close(object);
		}
	}
	for (w = 0; w < WORKERS; w++)
		ASSERT_EQ(1, read(socks[w], &byte, 1));
	/* All of them have left: the broker holds none, and may go. */
	EXPECT_EQ(-ENOENT, sh_release(broker.fd, UVERBS_OBJECT_MR, mr.handle));
	uv_ctx_close(&broker);
	want.mr += WORKERS * EACH;
	want.pd++;
	want.ctx += WORKERS;
	EXPECT_TRUE(sh_settles_any_ctx(&want));
	for (w = 0; w < WORKERS; w++) {
		ASSERT_EQ(1, write(socks[w], "", 1));
		ASSERT_EQ(pids[w], waitpid(pids[w], &status, 0));
		EXPECT_EQ(0, status);
		close(socks[w]);
		want.mr -= EACH;
		want.pd -= w == WORKERS - 1;
		EXPECT_TRUE(sh_settles_any_ctx(&want));
	}
}

/*
 * Many at one fd, from as many processes, while the exporter closes: one gets
 * it at most, and nothing is left.
 */
#define RACERS 4
#define ROUNDS 60

static void race(int object, const int *start)
{
	struct sh_import import;
	struct uv_ctx ctx;
	char byte;
	int ret;

	if (uv_ctx_open(&ctx) || read(start[0], &byte, 1) != 0)
		_exit(2);
	do
		ret = sh_import(ctx.fd, object, &import);
	while (ret == -EBUSY);
	_exit(ret == 0 ? 1 : ret == -ESTALE ? 0 : 2);
}

TEST_F_TIMEOUT(move, one_gets_it, 120)
{
	struct sh *sh = &self->sh;
	int round, i;

	for (round = 0; round < ROUNDS; round++) {
		pid_t pids[RACERS];
		struct uv_ctx from;
		struct uv_mr mr;
		int start[2], object, won = 0, status;
		__u32 pd;

		ASSERT_EQ(0, pipe(start));
		ASSERT_EQ(0, uv_ctx_open(&from));
		ASSERT_EQ(0, uv_pd_alloc(from.fd, UV_WRITE, &pd));
		ASSERT_EQ(0, uv_mr_reg(from.fd, pd, sh->memory, 4096,
				       UV_ACCESS_ALL, &mr));
		object = sh_export_as(from.fd, UVERBS_OBJECT_MR, mr.handle, 0,
				      SHVERBS_EXPORT_MOVE);
		ASSERT_GE(object, 0);
		for (i = 0; i < RACERS; i++) {
			pids[i] = fork();
			if (!pids[i]) {
				close(start[1]);
				uv_ctx_close(&from);
				race(object, start);
			}
			ASSERT_LT(0, pids[i]);
		}
		close(start[1]);
		if (round % 2)
			uv_ctx_close(&from);
		for (i = 0; i < RACERS; i++) {
			ASSERT_EQ(pids[i], waitpid(pids[i], &status, 0));
			ASSERT_TRUE(WIFEXITED(status));
			ASSERT_NE(2, WEXITSTATUS(status));
			won += WEXITSTATUS(status);
		}
		EXPECT_EQ(1, won);
		close(start[0]);
		close(object);
		if (!(round % 2)) {
			EXPECT_EQ(-ENOENT, uv_mr_destroy(from.fd, mr.handle));
			uv_ctx_close(&from);
		}
		EXPECT_TRUE(uv_res_settles(&sh->made, 2000));
	}
}

TEST_HARNESS_MAIN
