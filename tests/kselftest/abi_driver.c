// SPDX-License-Identifier: GPL-2.0
/*
 * Kinds of objects that rdma_rxe has not, on the driver in tests/driver, which
 * counts them and looks at what it is passed.
 */
#include <sys/syscall.h>

#include "abi.h"

#define DRIVER "/shverbs/objverbs.ko"
#define PARAMETERS "/sys/module/objverbs/parameters/"
#define PAGE 4096

FIXTURE(driver)
{
	int fd;
};

static int get(const char *parameter)
{
	char path[100], line[32];

	snprintf(path, sizeof(path), PARAMETERS "%s", parameter);
	return uv_read_line(path, line, sizeof(line)) ? -1 : atoi(line);
}

static void set(const char *parameter, const char *value)
{
	char path[100];
	int fd;

	snprintf(path, sizeof(path), PARAMETERS "%s", parameter);
	fd = open(path, O_WRONLY);
	if (fd < 0 || write(fd, value, 1) != 1)
		perror(path);
	close(fd);
}

/* A file on the driver's device, without a context. */
static int open_device(void)
{
	char path[300], ibdev[64];
	struct dirent *e;
	int fd = -ENODEV;
	DIR *dir = opendir("/sys/class/infiniband_verbs");

	while (fd < 0 && (e = readdir(dir))) {
		snprintf(path, sizeof(path),
			 "/sys/class/infiniband_verbs/%s/ibdev", e->d_name);
		if (uv_read_line(path, ibdev, sizeof(ibdev)) ||
		    strncmp(ibdev, "objverbs", 8))
			continue;
		snprintf(path, sizeof(path), "/dev/infiniband/%s", e->d_name);
		fd = open(path, O_RDWR | O_CLOEXEC);
	}
	closedir(dir);
	return fd;
}

FIXTURE_SETUP(driver)
{
	__u64 core_support;
	__u32 num_comp;
	int ko = open(DRIVER, O_RDONLY | O_CLOEXEC);

	self->fd = -1;
	if (ko < 0)
		SKIP(return, "no " DRIVER);
	ASSERT_EQ(0, syscall(SYS_finit_module, ko, "", 0));
	close(ko);
	self->fd = open_device();
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, uv_get_context(self->fd, &num_comp, &core_support));
}

FIXTURE_TEARDOWN(driver)
{
	int i, ret = -1;

	if (self->fd >= 0)
		close(self->fd);
	/* An open file of a process that has ended is closed a moment later. */
	for (i = 0; i < 100 && (get("dms") || get("mrs") || get("counters") ||
				get("xrcds") || get("srqs")); i++)
		usleep(10000);
	EXPECT_EQ(0, get("dms"));
	EXPECT_EQ(0, get("mrs"));
	EXPECT_EQ(0, get("counters"));
	EXPECT_EQ(0, get("xrcds"));
	EXPECT_EQ(0, get("srqs"));
	EXPECT_EQ(0, get("wrong"));
	for (i = 0; i < 100 && ret; i++) {
		ret = syscall(SYS_delete_module, "objverbs", O_NONBLOCK);
		if (ret)
			usleep(10000);
	}
	EXPECT_EQ(0, ret);
}

/* ---- device memory ---- */

static int dm_alloc(int fd, __u64 length, __u32 alignment, __u32 *handle)
{
	struct uv_cmd cmd;
	int ret;

	uv_init(&cmd, UVERBS_OBJECT_DM, UVERBS_METHOD_DM_ALLOC);
	uv_idr(&cmd, UVERBS_ATTR_ALLOC_DM_HANDLE, 0);
	uv_in(&cmd, UVERBS_ATTR_ALLOC_DM_LENGTH, &length, sizeof(length));
	uv_u32(&cmd, UVERBS_ATTR_ALLOC_DM_ALIGNMENT, alignment);
	ret = uv_ioctl(fd, &cmd);
	*handle = cmd.hdr.attrs[0].data;
	return ret;
}

static int dm_free(int fd, __u32 handle)
{
	return uv_destroy_resp(fd, UVERBS_OBJECT_DM, UVERBS_METHOD_DM_FREE,
			       handle, NULL, 0);
}

struct dm_mr {
	__u64 offset, length;
	__u32 pd, dm;
	__u64 access;
	__u32 handle, lkey, rkey;
};

static void dm_mr_cmd(struct uv_cmd *cmd, struct dm_mr *mr)
{
	uv_init(cmd, UVERBS_OBJECT_MR, UVERBS_METHOD_DM_MR_REG);
	uv_idr(cmd, UVERBS_ATTR_REG_DM_MR_HANDLE, 0);
	uv_in(cmd, UVERBS_ATTR_REG_DM_MR_OFFSET, &mr->offset, 8);
	uv_in(cmd, UVERBS_ATTR_REG_DM_MR_LENGTH, &mr->length, 8);
	uv_idr(cmd, UVERBS_ATTR_REG_DM_MR_PD_HANDLE, mr->pd);
	uv_const(cmd, UVERBS_ATTR_REG_DM_MR_ACCESS_FLAGS, mr->access);
	uv_idr(cmd, UVERBS_ATTR_REG_DM_MR_DM_HANDLE, mr->dm);
	uv_out(cmd, UVERBS_ATTR_REG_DM_MR_RESP_LKEY, &mr->lkey, 4);
	uv_out(cmd, UVERBS_ATTR_REG_DM_MR_RESP_RKEY, &mr->rkey, 4);
}

static int dm_mr_reg(int fd, struct dm_mr *mr)
{
	struct uv_cmd cmd;
	int ret;

	dm_mr_cmd(&cmd, mr);
	ret = uv_ioctl(fd, &cmd);
	mr->handle = cmd.hdr.attrs[0].data;
	return ret;
}

TEST_F(driver, device_memory)
{
	__u32 one, two;

	ASSERT_EQ(0, dm_alloc(self->fd, PAGE, 0, &one));
	ASSERT_EQ(0, dm_alloc(self->fd, PAGE, 0, &two));
	EXPECT_NE(one, two);
	EXPECT_EQ(2, get("dms"));
	/* What the driver says. */
	EXPECT_EQ(-EINVAL, dm_alloc(self->fd, 1 << 20, 0, &two));
	EXPECT_EQ(-EINVAL, dm_alloc(self->fd, PAGE, 17, &two));
	EXPECT_EQ(0, dm_free(self->fd, one));
	EXPECT_EQ(1, get("dms"));
	EXPECT_EQ(-ENOENT, dm_free(self->fd, one));
	EXPECT_EQ(-ENOENT, dm_free(self->fd, ABI_NO_HANDLE));
}

TEST_F(driver, device_memory_that_the_driver_keeps)
{
	__u32 dm;

	ASSERT_EQ(0, dm_alloc(self->fd, PAGE, 0, &dm));
	set("refuse", "1");
	EXPECT_EQ(-EBUSY, dm_free(self->fd, dm));
	set("refuse", "0");
	EXPECT_EQ(1, get("dms"));
	EXPECT_EQ(0, dm_free(self->fd, dm));
}

TEST_F(driver, region_of_device_memory)
{
	struct dm_mr mr = { .offset = 16, .length = 64,
			    .access = IB_UVERBS_ACCESS_ZERO_BASED };

	ASSERT_EQ(0, uv_pd_alloc(self->fd, UV_WRITE, &mr.pd));
	ASSERT_EQ(0, dm_alloc(self->fd, PAGE, 0, &mr.dm));
	ASSERT_EQ(0, dm_mr_reg(self->fd, &mr));
	EXPECT_EQ(0x1010, mr.lkey);
	EXPECT_EQ(0x2010, mr.rkey);
	EXPECT_EQ(1, get("mrs"));
	/* Its parents are in use. */
	EXPECT_EQ(-EBUSY, dm_free(self->fd, mr.dm));
	EXPECT_EQ(-EBUSY, uv_pd_destroy(self->fd, mr.pd));
	EXPECT_EQ(0, uv_mr_destroy(self->fd, mr.handle));
	EXPECT_EQ(0, get("mrs"));
	EXPECT_EQ(0, dm_free(self->fd, mr.dm));
	EXPECT_EQ(0, uv_pd_destroy(self->fd, mr.pd));
}

/* Closing the file gives all up, whatever was made from what. */
TEST_F(driver, region_goes_with_the_file)
{
	struct dm_mr mr = { .length = PAGE,
			    .access = IB_UVERBS_ACCESS_ZERO_BASED };

	ASSERT_EQ(0, uv_pd_alloc(self->fd, UV_WRITE, &mr.pd));
	ASSERT_EQ(0, dm_alloc(self->fd, PAGE, 0, &mr.dm));
	ASSERT_EQ(0, dm_mr_reg(self->fd, &mr));
}

static const struct {
	const char *name;
	__u64 offset, length, access;
	int want;
} regions[] = {
	{ "all of it", 0, PAGE, IB_UVERBS_ACCESS_ZERO_BASED, 0 },
	{ "its end", PAGE, 0, IB_UVERBS_ACCESS_ZERO_BASED, 0 },
	{ "a byte beyond", 1, PAGE, IB_UVERBS_ACCESS_ZERO_BASED, -EINVAL },
	{ "from beyond", PAGE + 1, 0, IB_UVERBS_ACCESS_ZERO_BASED, -EINVAL },
	{ "too long", 0, PAGE + 1, IB_UVERBS_ACCESS_ZERO_BASED, -EINVAL },
	{ "that wraps", ~0ULL, 2, IB_UVERBS_ACCESS_ZERO_BASED, -EINVAL },
	{ "not from zero", 0, PAGE, 0, -EINVAL },
	{ "remote write alone", 0, PAGE,
	  IB_UVERBS_ACCESS_ZERO_BASED | IB_UVERBS_ACCESS_REMOTE_WRITE,
	  -EINVAL },
	{ "unknown flags", 0, PAGE, IB_UVERBS_ACCESS_ZERO_BASED | 1ULL << 40,
	  -EINVAL },
};

TEST_F(driver, regions_that_there_may_be)
{
	struct dm_mr mr = {};
	size_t i;
	int ret;

	ASSERT_EQ(0, uv_pd_alloc(self->fd, UV_WRITE, &mr.pd));
	ASSERT_EQ(0, dm_alloc(self->fd, PAGE, 0, &mr.dm));
	for (i = 0; i < ARRAY_SIZE(regions); i++) {
		mr.offset = regions[i].offset;
		mr.length = regions[i].length;
		mr.access = regions[i].access;
		ret = dm_mr_reg(self->fd, &mr);
		ABI_EXPECT(regions[i].want, ret, regions[i].name);
		if (!ret)
			EXPECT_EQ(0, uv_mr_destroy(self->fd, mr.handle));
		EXPECT_EQ(0, get("mrs"));
	}
}

TEST_F(driver, region_with_bad_attributes)
{
	struct dm_mr good = { .length = PAGE,
			      .access = IB_UVERBS_ACCESS_ZERO_BASED };
	struct dm_mr bad;
	struct uv_cmd cmd;
	int i, id;

	ASSERT_EQ(0, uv_pd_alloc(self->fd, UV_WRITE, &good.pd));
	ASSERT_EQ(0, dm_alloc(self->fd, PAGE, 0, &good.dm));
	bad = good;
	bad.pd = good.dm;
	EXPECT_EQ(-EINVAL, dm_mr_reg(self->fd, &bad));
	bad = good;
	bad.dm = good.pd;
	EXPECT_EQ(-EINVAL, dm_mr_reg(self->fd, &bad));
	bad = good;
	bad.dm = ABI_NO_HANDLE;
	EXPECT_EQ(-ENOENT, dm_mr_reg(self->fd, &bad));
	/* Each attribute missing, and doubled. */
	for (i = 0; i < 8; i++) {
		dm_mr_cmd(&cmd, &good);
		id = cmd.hdr.attrs[i].attr_id;
		uv_drop(&cmd, id);
		EXPECT_EQ(-EINVAL, uv_ioctl(self->fd, &cmd));
		dm_mr_cmd(&cmd, &good);
		cmd.hdr.attrs[cmd.hdr.num_attrs++] = cmd.hdr.attrs[i];
		EXPECT_EQ(-EINVAL, uv_ioctl(self->fd, &cmd));
	}
	EXPECT_EQ(0, get("mrs"));
}

TEST_F(driver, region_is_not_registered_anew)
{
	struct ib_uverbs_rereg_mr req = { .flags = 4 /* IB_MR_REREG_ACCESS */ };
	struct ib_uverbs_rereg_mr_resp resp;
	struct uv_call call = {
		.command = IB_USER_VERBS_CMD_REREG_MR,
		.req = &req, .req_len = sizeof(req),
		.resp = &resp, .resp_len = sizeof(resp),
	};
	struct dm_mr mr = { .length = PAGE,
			    .access = IB_UVERBS_ACCESS_ZERO_BASED };

	ASSERT_EQ(0, uv_pd_alloc(self->fd, UV_WRITE, &mr.pd));
	ASSERT_EQ(0, dm_alloc(self->fd, PAGE, 0, &mr.dm));
	ASSERT_EQ(0, dm_mr_reg(self->fd, &mr));
	req.mr_handle = mr.handle;
	EXPECT_EQ(-EINVAL, uv_call(self->fd, UV_WRITE, &call));
	EXPECT_EQ(1, get("mrs"));
}

TEST_F(driver, region_that_the_driver_keeps)
{
	struct dm_mr mr = { .length = PAGE,
			    .access = IB_UVERBS_ACCESS_ZERO_BASED };

	ASSERT_EQ(0, uv_pd_alloc(self->fd, UV_WRITE, &mr.pd));
	ASSERT_EQ(0, dm_alloc(self->fd, PAGE, 0, &mr.dm));
	ASSERT_EQ(0, dm_mr_reg(self->fd, &mr));
	set("refuse", "1");
	EXPECT_EQ(-EBUSY, uv_mr_destroy(self->fd, mr.handle));
	set("refuse", "0");
	EXPECT_EQ(1, get("mrs"));
}

/* ---- counters ---- */

static int counters_create(int fd, __u32 *handle)
{
	struct uv_cmd cmd;
	int ret;

	uv_init(&cmd, UVERBS_OBJECT_COUNTERS, UVERBS_METHOD_COUNTERS_CREATE);
	uv_idr(&cmd, UVERBS_ATTR_CREATE_COUNTERS_HANDLE, 0);
	ret = uv_ioctl(fd, &cmd);
	*handle = cmd.hdr.attrs[0].data;
	return ret;
}

static int counters_destroy(int fd, __u32 handle)
{
	return uv_destroy_resp(fd, UVERBS_OBJECT_COUNTERS,
			       UVERBS_METHOD_COUNTERS_DESTROY, handle, NULL, 0);
}

static int counters_read(int fd, __u32 handle, __u64 flags, void *values,
			 __u16 len)
{
	struct uv_cmd cmd;

	uv_init(&cmd, UVERBS_OBJECT_COUNTERS, UVERBS_METHOD_COUNTERS_READ);
	uv_idr(&cmd, UVERBS_ATTR_READ_COUNTERS_HANDLE, handle);
	uv_out(&cmd, UVERBS_ATTR_READ_COUNTERS_BUFF, values, len);
	uv_const(&cmd, UVERBS_ATTR_READ_COUNTERS_FLAGS, flags);
	return uv_ioctl(fd, &cmd);
}

TEST_F(driver, counters)
{
	__u64 values[4] = { 1, 2, 3, 4 };
	__u32 unused, counters;

	ASSERT_EQ(0, counters_create(self->fd, &unused));
	/* Those that nothing counts into are not read. */
	EXPECT_EQ(-EINVAL, counters_read(self->fd, unused, 0, values, 16));
	set("bound", "1");
	ASSERT_EQ(0, counters_create(self->fd, &counters));
	EXPECT_EQ(2, get("counters"));
	EXPECT_EQ(0, counters_read(self->fd, counters, 0, values, 16));
	EXPECT_EQ(100, values[0]);
	EXPECT_EQ(101, values[1]);
	EXPECT_EQ(3, values[2]);
	EXPECT_EQ(0, counters_read(self->fd, counters,
				   IB_UVERBS_READ_COUNTERS_PREFER_CACHED,
				   values, 32));
	EXPECT_EQ(1103, values[3]);
	EXPECT_EQ(-EINVAL, counters_read(self->fd, counters, 2, values, 16));
	EXPECT_EQ(-EFAULT, counters_read(self->fd, counters, 0, UV_BAD_PTR,
					 16));
	EXPECT_EQ(-ENOENT, counters_read(self->fd, ABI_NO_HANDLE, 0, values,
					 16));
	/* A part of one is not written. */
	values[1] = 7;
	EXPECT_EQ(0, counters_read(self->fd, counters, 0, values, 12));
	EXPECT_EQ(7, values[1]);
	EXPECT_EQ(-EBUSY, counters_destroy(self->fd, counters));
	set("bound", "0");
	EXPECT_EQ(0, counters_destroy(self->fd, counters));
	EXPECT_EQ(-ENOENT, counters_destroy(self->fd, counters));
	EXPECT_EQ(1, get("counters"));
}

/* ---- XRC domains, and SRQs of them ---- */

static int xrcd_open(int fd, int of, __u32 oflags, __u32 *handle)
{
	struct ib_uverbs_open_xrcd req = { .fd = of, .oflags = oflags };
	struct ib_uverbs_open_xrcd_resp resp = {};
	struct uv_call call = {
		.command = IB_USER_VERBS_CMD_OPEN_XRCD,
		.req = &req, .req_len = sizeof(req),
		.resp = &resp, .resp_len = sizeof(resp),
	};
	int ret = uv_call(fd, UV_WRITE, &call);

	*handle = resp.xrcd_handle;
	return ret;
}

static int xrcd_close(int fd, __u32 handle)
{
	struct ib_uverbs_close_xrcd req = { .xrcd_handle = handle };
	struct uv_call call = {
		.command = IB_USER_VERBS_CMD_CLOSE_XRCD,
		.req = &req, .req_len = sizeof(req),
	};

	return uv_call(fd, UV_WRITE, &call);
}

static int xsrq_create(int fd, __u32 pd, __u32 cq, __u32 xrcd,
		       struct ib_uverbs_create_srq_resp *resp)
{
	struct ib_uverbs_create_xsrq req = {
		.srq_type = IB_UVERBS_SRQT_XRC, .pd_handle = pd,
		.max_wr = 1, .max_sge = 1,
		.xrcd_handle = xrcd, .cq_handle = cq,
	};
	struct uv_call call = {
		.command = IB_USER_VERBS_CMD_CREATE_XSRQ,
		.req = &req, .req_len = sizeof(req),
		.resp = resp, .resp_len = sizeof(*resp),
	};

	return uv_call(fd, UV_WRITE, &call);
}

static int srq_destroy(int fd, __u32 handle)
{
	struct ib_uverbs_destroy_srq_resp resp;

	return uv_destroy_resp(fd, UVERBS_OBJECT_SRQ, UVERBS_METHOD_SRQ_DESTROY,
			       handle, &resp, sizeof(resp));
}

TEST_F(driver, domain_of_nobody_else)
{
	__u32 one, two;

	ASSERT_EQ(0, xrcd_open(self->fd, -1, 0, &one));
	ASSERT_EQ(0, xrcd_open(self->fd, -1, O_CREAT | O_EXCL, &two));
	EXPECT_EQ(2, get("xrcds"));
	/* ib_uverbs counts one user more then, and never closes it. */
	if (is_shverbs()) {
		set("refuse", "1");
		EXPECT_EQ(-EBUSY, xrcd_close(self->fd, one));
		set("refuse", "0");
	}
	EXPECT_EQ(0, xrcd_close(self->fd, one));
	EXPECT_EQ(-ENOENT, xrcd_close(self->fd, one));
	EXPECT_EQ(0, uv_destroy_resp(self->fd, UVERBS_OBJECT_XRCD,
				     UVERBS_METHOD_XRCD_DESTROY, two, NULL, 0));
	EXPECT_EQ(0, get("xrcds"));
}

TEST_F(driver, domain_of_a_file)
{
	int file = open("/tmp/abi_driver.xrcd", O_RDWR | O_CREAT, 0600);
	int other = open_device();
	__u32 one, two, num_comp;
	__u64 core_support;

	ASSERT_LE(0, file);
	ASSERT_LE(0, other);
	ASSERT_EQ(0, uv_get_context(other, &num_comp, &core_support));
	EXPECT_EQ(-EBADF, xrcd_open(self->fd, 999, O_CREAT, &one));
	/* There is none yet. */
	EXPECT_EQ(-EAGAIN, xrcd_open(self->fd, file, 0, &one));
	EXPECT_EQ(-EAGAIN, xrcd_open(self->fd, file, O_EXCL, &one));
	ASSERT_EQ(0, xrcd_open(self->fd, file, O_CREAT | O_EXCL, &one));
	EXPECT_EQ(1, get("xrcds"));
	/* Now there is, for every file of the device. */
	EXPECT_EQ(-EINVAL, xrcd_open(other, file, O_CREAT | O_EXCL, &two));
	ASSERT_EQ(0, xrcd_open(other, file, 0, &two));
	EXPECT_EQ(1, get("xrcds"));
	/* It lives until the last has closed it. */
	EXPECT_EQ(0, xrcd_close(self->fd, one));
	EXPECT_EQ(1, get("xrcds"));
	ASSERT_EQ(0, xrcd_open(self->fd, file, O_CREAT, &one));
	EXPECT_EQ(1, get("xrcds"));
	EXPECT_EQ(0, xrcd_close(other, two));
	EXPECT_EQ(0, xrcd_close(self->fd, one));
	EXPECT_EQ(0, get("xrcds"));
	EXPECT_EQ(-EAGAIN, xrcd_open(self->fd, file, 0, &one));
	close(other);
	unlink("/tmp/abi_driver.xrcd");
}

TEST_F(driver, srq_of_a_domain)
{
	struct ib_uverbs_create_srq_resp resp = {};
	__u32 pd, xrcd;
	struct uv_cq cq;

	ASSERT_EQ(0, uv_pd_alloc(self->fd, UV_WRITE, &pd));
	ASSERT_EQ(0, uv_cq_create(self->fd, 16, -1, 0, &cq));
	ASSERT_EQ(0, xrcd_open(self->fd, -1, 0, &xrcd));
	EXPECT_EQ(-EINVAL, xsrq_create(self->fd, pd, cq.handle, pd, &resp));
	EXPECT_EQ(-EINVAL, xsrq_create(self->fd, pd, cq.handle, ABI_NO_HANDLE,
				       &resp));
	ASSERT_EQ(0, xsrq_create(self->fd, pd, cq.handle, xrcd, &resp));
	EXPECT_EQ(77, resp.srqn);
	EXPECT_EQ(-EBUSY, xrcd_close(self->fd, xrcd));
	EXPECT_EQ(-EBUSY, uv_pd_destroy(self->fd, pd));
	EXPECT_EQ(0, srq_destroy(self->fd, resp.srq_handle));
	EXPECT_EQ(0, xrcd_close(self->fd, xrcd));
}

/* The file is closed with all in it. */
TEST_F(driver, srq_of_a_domain_goes_with_the_file)
{
	struct ib_uverbs_create_srq_resp resp = {};
	__u32 pd, xrcd;
	struct uv_cq cq;

	ASSERT_EQ(0, uv_pd_alloc(self->fd, UV_WRITE, &pd));
	ASSERT_EQ(0, uv_cq_create(self->fd, 16, -1, 0, &cq));
	ASSERT_EQ(0, xrcd_open(self->fd, -1, 0, &xrcd));
	ASSERT_EQ(0, xsrq_create(self->fd, pd, cq.handle, xrcd, &resp));
}

TEST_HARNESS_MAIN
