// SPDX-License-Identifier: GPL-2.0
/*
 * Tsirkin, Dreier 2007: doorbell pages must be mapped again by the importer.
 * What a context has to be mapped, every file maps that is attached to it, and
 * no other; here these are rxe's rings, which go by the same way as doorbells.
 */
#include "abi_plug.h"
#include "share.h"

FIXTURE(doorbell_remap)
{
	struct abi abi;
	int fd;
	struct uv_cq cq;	/* of the first file */
	int context;		/* an object fd */
	int attached;		/* a file */
};

FIXTURE_SETUP(doorbell_remap)
{
	if (!is_shverbs())
		SKIP(return, "needs shverbs");
	abi_start(_metadata, &self->abi);
	self->fd = self->abi.fd;
	ASSERT_EQ(0, uv_cq_create(self->fd, 100, -1, 0, &self->cq));
	self->context = sh_export_context(self->fd, 0);
	ASSERT_GE(self->context, 0);
	self->attached = sh_open_attached(self->context);
	ASSERT_GE(self->attached, 0);
}

FIXTURE_TEARDOWN(doorbell_remap)
{
	close(self->context);
	if (self->attached >= 0)
		close(self->attached);
	abi_end(_metadata, &self->abi);
}

TEST_F(doorbell_remap, through_the_attached_file)
{
	struct uv_ring ring = {};

	ASSERT_EQ(0, uv_ring_map(self->attached, &self->cq.rxe.mi, &ring));
	EXPECT_LE(100, ring.buf->index_mask);
	uv_ring_unmap(&ring);
}

/* One that has a context of its own reaches nothing by the same offset. */
TEST_F(doorbell_remap, not_through_another)
{
	struct uv_ring ring = {};
	struct uv_ctx other;
	int bare = uv_open();

	ASSERT_GE(bare, 0);
	ASSERT_EQ(0, uv_ctx_open(&other));
	EXPECT_EQ(-EINVAL, uv_ring_map(other.fd, &self->cq.rxe.mi, &ring));
	EXPECT_EQ(-EINVAL, uv_ring_map(bare, &self->cq.rxe.mi, &ring));
	uv_ctx_close(&other);
	close(bare);
}

/* What the attached file makes, the first one maps. */
TEST_F(doorbell_remap, both_ways)
{
	struct uv_ring ring = {};
	struct uv_cq cq;

	ASSERT_EQ(0, uv_cq_create(self->attached, 10, -1, 0, &cq));
	ASSERT_EQ(0, uv_ring_map(self->fd, &cq.rxe.mi, &ring));
	EXPECT_LE(10, ring.buf->index_mask);
	uv_ring_unmap(&ring);
	EXPECT_EQ(0, uv_cq_destroy(self->attached, cq.handle, NULL));
}

/* A mapping stays, and keeps the context, when both files are closed. */
TEST_F(doorbell_remap, outlives_the_files)
{
	struct uv_res want = self->abi.idle, closed;
	struct uv_ring ring = {};

	ASSERT_EQ(0, uv_ring_map(self->attached, &self->cq.rxe.mi, &ring));
	close(self->attached);
	self->attached = -1;
	close(self->context);
	self->context = -1;
	uv_ctx_close(&self->abi.ctx);
	ASSERT_EQ(0, uv_res_get(&closed));
	EXPECT_EQ(want.cq, closed.cq);
	EXPECT_EQ(want.ctx + 1, closed.ctx);
	ring.buf->pad_1[0] = 1;
	EXPECT_EQ(1, ring.buf->pad_1[0]);
	uv_ring_unmap(&ring);
	EXPECT_TRUE(uv_res_settles(&want, 2000));
}

/*
 * The device goes under a mapping in another process.  rxe's rings are plain
 * memory, which stays for those who have it mapped.
 */
TEST_F(doorbell_remap, device_goes)
{
	struct uv_ring ring = {};
	struct uv_dev dev;
	int go[2], done[2], status;
	char byte = 0;
	pid_t pid;

	ASSERT_EQ(0, uv_dev_find(&dev));
	ASSERT_EQ(0, pipe(go));
	ASSERT_EQ(0, pipe(done));
	pid = fork();
	if (!pid) {
		if (uv_ring_map(self->attached, &self->cq.rxe.mi, &ring))
			_exit(1);
		if (write(done[1], &byte, 1) != 1 || read(go[0], &byte, 1) != 1)
			_exit(2);
		_exit(ring.buf->index_mask < 100 ? 3 : 0);
	}
	ASSERT_EQ(1, read(done[0], &byte, 1));
	ASSERT_EQ(0, unplug(&dev));
	ASSERT_EQ(1, write(go[1], &byte, 1));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	/* Nor can anything be had of it any more. */
	EXPECT_EQ(-EIO, uv_ring_map(self->attached, &self->cq.rxe.mi, &ring));
	uv_ctx_close(&self->abi.ctx);
	close(self->attached);
	self->attached = -1;
	ASSERT_EQ(0, plug(&dev, "dummy0"));
	/* The device that has its name now is another. */
	EXPECT_EQ(-EIO, sh_open_attached(self->context));
}

TEST_HARNESS_MAIN
