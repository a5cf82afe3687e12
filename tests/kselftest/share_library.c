// SPDX-License-Identifier: GPL-2.0
/* include/shverbs.h: what it gives, and its errors. */
#include "share_peer.h"

FIXTURE(library)
{
	struct uv_res idle;
	struct uv_dev dev;
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	void *memory;
	char path[200];
	int dir;
};

FIXTURE_SETUP(library)
{
	if (!is_shverbs())
		SKIP(return, "needs shverbs");
	ASSERT_EQ(0, uv_res_get(&self->idle));
	ASSERT_EQ(0, uv_dev_find(&self->dev));
	self->dir = sh_dir(self->path, sizeof(self->path));
	ASSERT_GE(self->dir, 0);
	self->ctx = loop_open_device(self->dev.ibdev);
	ASSERT_NE(NULL, self->ctx);
	self->pd = ibv_alloc_pd(self->ctx);
	ASSERT_NE(NULL, self->pd);
	self->memory = mmap(NULL, SH_MR_SIZE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	ASSERT_NE(MAP_FAILED, self->memory);
	self->mr = ibv_reg_mr(self->pd, self->memory, SH_MR_SIZE, LOOP_ACCESS);
	ASSERT_NE(NULL, self->mr);
}

FIXTURE_TEARDOWN(library)
{
	close(self->dir);
	EXPECT_EQ(0, self->mr ? ibv_dereg_mr(self->mr) : 0);
	EXPECT_EQ(0, self->pd ? ibv_dealloc_pd(self->pd) : 0);
	EXPECT_EQ(0, ibv_close_device(self->ctx));
	EXPECT_TRUE(uv_res_settles(&self->idle, 2000));
	EXPECT_EQ(0, uv_vmpin_kb());
}

TEST_F(library, info)
{
	struct shv_info info;

	ASSERT_EQ(0, shv_info(self->ctx, &info));
	EXPECT_EQ(SHVERBS_ABI_VERSION, info.version);
	EXPECT_EQ(SHVERBS_BACKEND_RXE, info.backend);
	EXPECT_EQ(RDMA_DRIVER_RXE, info.driver_id);
	EXPECT_EQ(1, shv_supported(self->ctx));
}

TEST_F(library, imports_look_like_the_original)
{
	int pd_fd = shv_export_pd(self->pd, 0), mr_fd = shv_export_mr(self->mr, 0);
	struct ibv_pd *pd = shv_import_pd(self->ctx, pd_fd);
	struct ibv_mr *mr;

	ASSERT_NE(NULL, pd);
	mr = shv_import_mr(pd, mr_fd);
	ASSERT_NE(NULL, mr);
	EXPECT_EQ(self->ctx, pd->context);
	EXPECT_EQ(self->ctx, mr->context);
	EXPECT_EQ(pd, mr->pd);
	EXPECT_EQ(self->memory, mr->addr);
	EXPECT_EQ(SH_MR_SIZE, mr->length);
	EXPECT_EQ(self->mr->lkey, mr->lkey);
	EXPECT_EQ(self->mr->rkey, mr->rkey);
	close(pd_fd);
	close(mr_fd);
	EXPECT_EQ(0, ibv_dereg_mr(mr));
	EXPECT_EQ(0, ibv_dealloc_pd(pd));
}

/* The lkey, too: data goes out of and into memory that another registered. */
TEST_F(library, imported_lkey)
{
	int pd_fd = shv_export_pd(self->pd, 0), mr_fd = shv_export_mr(self->mr, 0);
	struct ibv_pd *pd = shv_import_pd(self->ctx, pd_fd);
	struct ibv_mr *mr = pd ? shv_import_mr(pd, mr_fd) : NULL;
	struct loop_op op = { .opcode = IBV_WR_RDMA_WRITE, .length = 4096 };
	struct loop loop;

	ASSERT_NE(NULL, mr);
	close(pd_fd);
	close(mr_fd);
	memset(self->memory, 0x5a, 4096);
	op.local = (uintptr_t)mr->addr;
	op.lkey = mr->lkey;
	op.remote = op.local + 8192;
	op.rkey = mr->rkey;
	ASSERT_EQ(0, loop_open(&loop, pd));
	EXPECT_EQ(0, loop_rdma(&loop, &op));
	EXPECT_EQ(0, memcmp(self->memory, (char *)self->memory + 8192, 4096));
	EXPECT_EQ(0, loop_close(&loop));
	EXPECT_EQ(0, shv_release_mr(mr));
	EXPECT_EQ(0, shv_release_pd(pd));
}

/* Of what was made here as of what was imported, and whoever owns it still. */
TEST_F(library, release)
{
	EXPECT_EQ(0, shv_release_pd(self->pd));
	EXPECT_EQ(0, shv_release_mr(self->mr));
	self->pd = NULL;
	self->mr = NULL;
}

TEST_F(library, import_of_the_wrong_kind)
{
	int pd_fd = shv_export_pd(self->pd, 0), mr_fd = shv_export_mr(self->mr, 0);

	errno = 0;
	EXPECT_EQ(NULL, shv_import_pd(self->ctx, mr_fd));
	EXPECT_EQ(ENOMSG, errno);
	errno = 0;
	EXPECT_EQ(NULL, shv_import_mr(self->pd, pd_fd));
	EXPECT_EQ(ENOMSG, errno);
	errno = 0;
	EXPECT_EQ(NULL, shv_import_pd(self->ctx, self->dir));
	EXPECT_EQ(EBADF, errno);
	close(pd_fd);
	close(mr_fd);
}

TEST_F(library, export_with_rights)
{
	int fd = shv_export_mr(self->mr, SHVERBS_RIGHT_USE);
	struct ibv_mr *mr;

	ASSERT_GE(fd, 0);
	mr = shv_import_mr(self->pd, fd);
	ASSERT_NE(NULL, mr);
	close(fd);
	EXPECT_EQ(-1, shv_export_mr(mr, 0));
	EXPECT_EQ(EPERM, errno);
	EXPECT_EQ(0, shv_release_mr(mr));
}

/* Paths as in openat(2). */
TEST_F(library, publish_paths)
{
	char path[300];
	int fd;

	snprintf(path, sizeof(path), "%s/lib-absolute", self->path);
	EXPECT_EQ(0, shv_publish_pd(self->pd, AT_FDCWD, path, 0600, 0));
	EXPECT_EQ(0, shv_publish_mr(self->mr, self->dir, "lib-relative", 0600, 0));
	ASSERT_EQ(0, mkdirat(self->dir, "lib-below", 0700));
	EXPECT_EQ(0, shv_publish_mr(self->mr, self->dir, "lib-below/n", 0600, 0));
	fd = shv_open(path, O_RDWR);
	EXPECT_GE(fd, 0);
	close(fd);
	EXPECT_EQ(0, unlink(path));
	EXPECT_EQ(0, unlinkat(self->dir, "lib-relative", 0));
	EXPECT_EQ(0, unlinkat(self->dir, "lib-below/n", 0));
	EXPECT_EQ(0, unlinkat(self->dir, "lib-below", AT_REMOVEDIR));
	EXPECT_EQ(-1, shv_publish_pd(self->pd, self->dir, "nowhere/n", 0600, 0));
	EXPECT_EQ(ENOENT, errno);
	EXPECT_EQ(-1, shv_publish_pd(self->pd, AT_FDCWD, "/tmp/n", 0600, 0));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(-1, shv_publish_pd(self->pd, self->dir, "", 0600, 0));
	EXPECT_EQ(-1, shv_open(path, O_RDONLY));
	EXPECT_EQ(ENOENT, errno);
}

TEST_F(library, publish_fd)
{
	int fd = shv_export_mr(self->mr, 0);

	ASSERT_GE(fd, 0);
	EXPECT_EQ(0, shv_publish_fd(self->ctx, fd, self->dir, "lib-fd", 0600, 0));
	close(fd);
	EXPECT_EQ(0, unlinkat(self->dir, "lib-fd", 0));
}

/* rxe's provider cannot import a device; the kernel does its part. */
TEST_F(library, context)
{
	int fd = shv_export_context(self->ctx, 0), pd = shv_export_pd(self->pd, 0);

	ASSERT_GE(fd, 0);
	EXPECT_EQ(NULL, shv_attach_context(self->ctx->device, fd));
	EXPECT_EQ(EOPNOTSUPP, errno);
	EXPECT_EQ(NULL, shv_attach_context(self->ctx->device, pd));
	EXPECT_EQ(EINVAL, errno);
	close(pd);
	close(fd);
	EXPECT_EQ(0, shv_publish_context(self->ctx, self->dir, "lib-ctx", 0600, 0));
	EXPECT_EQ(0, unlinkat(self->dir, "lib-ctx", 0));
}

TEST_F(library, passing_fds)
{
	int socks[2], fd = shv_export_pd(self->pd, 0), got;
	struct ibv_pd *pd;

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, socks));
	ASSERT_EQ(0, shv_send_fd(socks[0], fd));
	close(fd);
	got = shv_recv_fd(socks[1]);
	ASSERT_GE(got, 0);
	EXPECT_EQ(FD_CLOEXEC, fcntl(got, F_GETFD));
	pd = shv_import_pd(self->ctx, got);
	ASSERT_NE(NULL, pd);
	close(got);
	EXPECT_EQ(0, shv_release_pd(pd));
	/* A byte without an fd, no byte, and nobody to send to. */
	ASSERT_EQ(1, write(socks[0], "", 1));
	EXPECT_EQ(-1, shv_recv_fd(socks[1]));
	EXPECT_EQ(EBADMSG, errno);
	close(socks[0]);
	EXPECT_EQ(-1, shv_recv_fd(socks[1]));
	EXPECT_EQ(EPIPE, errno);
	EXPECT_EQ(-1, shv_send_fd(socks[1], 0));
	EXPECT_EQ(EPIPE, errno);
	close(socks[1]);
}

TEST_HARNESS_MAIN
