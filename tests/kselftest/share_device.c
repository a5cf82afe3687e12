// SPDX-License-Identifier: GPL-2.0
/* Objects of one device and another device: EXDEV, whichever driver it has. */
#include "share_peer.h"

FIXTURE(device)
{
	struct ibv_context *one, *two;
	struct ibv_pd *pd;
	int fd;
};

FIXTURE_VARIANT(device)
{
	const char *driver;
	__u32 driver_id;
};

FIXTURE_VARIANT_ADD(device, rxe)
{
	.driver = "rxe",
	.driver_id = RDMA_DRIVER_RXE,
};

FIXTURE_VARIANT_ADD(device, siw)
{
	.driver = "siw",
	.driver_id = RDMA_DRIVER_SIW,
};

static int add_device(const char *driver)
{
	char command[200];

	snprintf(command, sizeof(command),
		 "ip link add dummy1 type dummy && ip link set dummy1 up && rdma link add second type %s netdev dummy1",
		 driver);
	return system(command);
}

FIXTURE_SETUP(device)
{
	struct uv_dev dev;

	if (!is_shverbs())
		SKIP(return, "needs shverbs");
	/* Debian's own kernel has no siw. */
	if (!strcmp(variant->driver, "siw") && system("modprobe -q siw"))
		SKIP(return, "needs siw");
	ASSERT_EQ(0, uv_dev_find(&dev));
	ASSERT_EQ(0, add_device(variant->driver));
	self->one = loop_open_device(dev.ibdev);
	self->two = loop_open_device("second");
	ASSERT_NE(NULL, self->one);
	ASSERT_NE(NULL, self->two);
	self->pd = ibv_alloc_pd(self->one);
	ASSERT_NE(NULL, self->pd);
	self->fd = shv_export_pd(self->pd, 0);
	ASSERT_GE(self->fd, 0);
}

FIXTURE_TEARDOWN(device)
{
	close(self->fd);
	EXPECT_EQ(0, ibv_dealloc_pd(self->pd));
	EXPECT_EQ(0, ibv_close_device(self->one));
	EXPECT_EQ(0, ibv_close_device(self->two));
	EXPECT_EQ(0, system("rdma link delete second && ip link delete dummy1"));
}

TEST_F(device, import)
{
	errno = 0;
	EXPECT_EQ(NULL, shv_import_pd(self->two, self->fd));
	EXPECT_EQ(EXDEV, errno);
}

TEST_F(device, publish)
{
	ASSERT_EQ(0, sh_mount());
	EXPECT_EQ(-1, shv_publish_pd(self->pd, AT_FDCWD,
				     SHVERBS_FS_MOUNT_POINT "/second/n", 0600, 0));
	EXPECT_EQ(EXDEV, errno);
	EXPECT_EQ(-1, shv_publish_fd(self->two, self->fd, AT_FDCWD,
				     SHVERBS_FS_MOUNT_POINT "/second/n", 0600, 0));
	EXPECT_EQ(EXDEV, errno);
}

/* The library finds the driver's id, and knows what it can import. */
TEST_F(device, library)
{
	struct shv_info info;
	struct ibv_pd *pd, *mine;
	int fd;

	ASSERT_EQ(0, shv_info(self->two, &info));
	EXPECT_EQ(variant->driver_id, info.driver_id);
	EXPECT_EQ(1, shv_supported(self->two));
	mine = ibv_alloc_pd(self->two);
	ASSERT_NE(NULL, mine);
	fd = shv_export_pd(mine, 0);
	ASSERT_GE(fd, 0);
	pd = shv_import_pd(self->two, fd);
	ASSERT_NE(NULL, pd);
	close(fd);
	EXPECT_EQ(0, ibv_dealloc_pd(mine));
	EXPECT_EQ(0, shv_release_pd(pd));
}

TEST_HARNESS_MAIN
