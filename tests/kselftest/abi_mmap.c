// SPDX-License-Identifier: GPL-2.0
/* mmap: which of rxe's rings a file may map, and how often. */
#include <signal.h>
#include <sys/wait.h>

#include "abi_event.h"

FIXTURE(map)
{
	struct abi abi;
	struct uv_cq cq;
	size_t size;
	int fd;
};

FIXTURE_SETUP(map)
{
	abi_start(_metadata, &self->abi);
	self->fd = self->abi.fd;
	ASSERT_EQ(0, uv_cq_create(self->fd, 100, -1, 0, &self->cq));
	self->size = self->cq.rxe.mi.size;
	ASSERT_LE(2 * 4096, self->size);
}

FIXTURE_TEARDOWN(map)
{
	abi_end(_metadata, &self->abi);
}

/* Maps, and unmaps what could be: 0 or -errno. */
static int try(int fd, size_t size, int prot, int flags, __u64 offset)
{
	void *p = mmap(NULL, size, prot, flags, fd, offset);

	if (p == MAP_FAILED)
		return -errno;
	munmap(p, size);
	return 0;
}

#define RW (PROT_READ | PROT_WRITE)

TEST_F(map, ring)
{
	struct uv_ring ring = {};

	ASSERT_EQ(0, uv_ring_map(self->fd, &self->cq.rxe.mi, &ring));
	EXPECT_LE(100, ring.buf->index_mask);
	EXPECT_EQ(0, ring.buf->producer_index);
	EXPECT_EQ(0, ring.buf->consumer_index);
	ring.buf->pad_1[0] = 1;
	EXPECT_EQ(1, ring.buf->pad_1[0]);
	uv_ring_unmap(&ring);
}

/* rxe lets each be mapped once. */
TEST_F(map, once)
{
	const __u64 offset = self->cq.rxe.mi.offset;

	EXPECT_EQ(0, try(self->fd, self->size, RW, MAP_SHARED, offset));
	EXPECT_EQ(-EINVAL, try(self->fd, self->size, RW, MAP_SHARED, offset));
}

TEST_F(map, bad_offsets)
{
	const __u64 offset = self->cq.rxe.mi.offset;
	const __u64 bad[] = { 0, 4096, offset + 4096, offset + (1ULL << 32),
			      1ULL << 40, 1ULL << 62 };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		EXPECT_EQ(-EINVAL, try(self->fd, 4096, RW, MAP_SHARED, bad[i]))
		{
			TH_LOG("offset %llx", bad[i]);
		}
	}
	/* And none of it used up the one that is good. */
	EXPECT_EQ(0, try(self->fd, self->size, RW, MAP_SHARED, offset));
}

TEST_F(map, sizes)
{
	const __u64 offset = self->cq.rxe.mi.offset;

	EXPECT_EQ(-EINVAL, try(self->fd, self->size + 4096, RW, MAP_SHARED,
			       offset));
	EXPECT_EQ(-EINVAL, try(self->fd, 1ULL << 40, RW, MAP_SHARED, offset));
	/* Less is fine. */
	EXPECT_EQ(0, try(self->fd, 4096, RW, MAP_SHARED, offset));
}

/* There is no rule of the core's: rxe allows it. */
TEST_F(map, read_only)
{
	EXPECT_EQ(0, try(self->fd, self->size, PROT_READ, MAP_SHARED,
			 self->cq.rxe.mi.offset));
}

TEST_F(map, without_context)
{
	int other = uv_open();

	ASSERT_LE(0, other);
	EXPECT_EQ(-EINVAL, try(other, self->size, RW, MAP_SHARED,
			       self->cq.rxe.mi.offset));
	EXPECT_EQ(-EINVAL, try(other, 4096, RW, MAP_SHARED, 0));
	close(other);
}

TEST_F(map, of_another_file)
{
	struct uv_ctx other;

	ASSERT_EQ(0, uv_ctx_open(&other));
	EXPECT_EQ(-EINVAL, try(other.fd, self->size, RW, MAP_SHARED,
			       self->cq.rxe.mi.offset));
	uv_ctx_close(&other);
	EXPECT_EQ(0, try(self->fd, self->size, RW, MAP_SHARED,
			 self->cq.rxe.mi.offset));
}

TEST_F(map, of_event_fds)
{
	int ch = uv_channel(self->fd, UV_WRITE);

	EXPECT_EQ(-ENODEV, try(ch, 4096, PROT_READ, MAP_SHARED, 0));
	EXPECT_EQ(-ENODEV, try(self->abi.ctx.async_fd, 4096, PROT_READ,
			       MAP_SHARED, 0));
	close(ch);
}

/* The mapping keeps its pages when the CQ goes, and the file. */
TEST_F(map, outlives_the_object)
{
	struct uv_ring ring = {};

	ASSERT_EQ(0, uv_ring_map(self->fd, &self->cq.rxe.mi, &ring));
	ring.buf->pad_1[0] = 0x1234;
	ASSERT_EQ(0, uv_cq_destroy(self->fd, self->cq.handle, NULL));
	abi_same(_metadata, &self->abi.base, "CQ destroyed");
	EXPECT_EQ(0x1234, ring.buf->pad_1[0]);
	EXPECT_EQ(-EINVAL, try(self->fd, self->size, RW, MAP_SHARED,
			       self->cq.rxe.mi.offset));
	uv_ring_unmap(&ring);
}

/*
 * A mapping holds the context until it is gone, too.  With ib_uverbs it does
 * so by holding the file, with all of its objects; with shverbs a file that is
 * closed gives up its objects (DESIGN sections 1 and 3).
 */
TEST_F(map, holds_the_context)
{
	struct uv_ring ring = {};
	struct uv_res want = self->abi.base;

	if (!is_shverbs())
		want.cq++;
	ASSERT_EQ(0, uv_ring_map(self->fd, &self->cq.rxe.mi, &ring));
	uv_ctx_close(&self->abi.ctx);
	abi_same(_metadata, &want, "file closed, ring mapped");
	ring.buf->pad_1[0] = 1;
	uv_ring_unmap(&ring);
	EXPECT_TRUE(uv_res_settles(&self->abi.idle, 2000));
}

/* A child has the parent's mapping, and its memory. */
TEST_F(map, across_fork)
{
	struct uv_ring ring = {};
	int status;
	pid_t pid;

	ASSERT_EQ(0, uv_ring_map(self->fd, &self->cq.rxe.mi, &ring));
	ring.buf->pad_1[0] = 1;
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		if (ring.buf->pad_1[0] != 1)
			_exit(1);
		ring.buf->pad_1[0] = 2;
		_exit(0);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_EQ(2, ring.buf->pad_1[0]);
	uv_ring_unmap(&ring);
}

/* Private mappings would be copies: rxe allows them, of pages to read. */
TEST_F(map, private)
{
	int ret = try(self->fd, self->size, RW, MAP_PRIVATE,
		      self->cq.rxe.mi.offset);

	EXPECT_EQ(0, ret);
}

TEST_HARNESS_MAIN
