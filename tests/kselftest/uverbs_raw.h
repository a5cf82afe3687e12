/* SPDX-License-Identifier: GPL-2.0 */
/* Devices, and commands in each of the three forms that the ABI has. */
#ifndef SHVERBS_TEST_UVERBS_RAW_H
#define SHVERBS_TEST_UVERBS_RAW_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>

/* The driver that the tests know: the errnos of its own are rxe's. */
#define UV_DRIVER RDMA_DRIVER_RXE

/* Debian's user space headers are older than the kernel. */
#define UV_GET_CONTEXT_FD_ARR 2
#define UV_METHOD_REG_MR 5
enum {
	UV_REG_MR_HANDLE,
	UV_REG_MR_PD_HANDLE,
	UV_REG_MR_DMA_HANDLE,
	UV_REG_MR_IOVA,
	UV_REG_MR_ADDR,
	UV_REG_MR_LENGTH,
	UV_REG_MR_ACCESS_FLAGS,
	UV_REG_MR_FD,
	UV_REG_MR_FD_OFFSET,
	UV_REG_MR_RESP_LKEY,
	UV_REG_MR_RESP_RKEY,
};

/* Addresses that user space may have, but has not: below mmap_min_addr. */
#define UV_BAD_PTR ((void *)0x1000UL)

static inline __u64 uv_u64(const void *ptr)
{
	return (__u64)(uintptr_t)ptr;
}

/* Whether the module under test is ours, for the few deliberate differences. */
static inline bool is_shverbs(void)
{
	return !access("/sys/module/shverbs", F_OK);
}

/* ---- the ioctl form ---- */

#define UV_MAX_ATTRS 32

struct uv_cmd {
	union {
		struct ib_uverbs_ioctl_hdr hdr;
		__u8 raw[sizeof(struct ib_uverbs_ioctl_hdr) +
			 UV_MAX_ATTRS * sizeof(struct ib_uverbs_attr)];
	};
};

static inline void uv_init(struct uv_cmd *cmd, __u16 object, __u16 method)
{
	memset(cmd, 0, sizeof(*cmd));
	cmd->hdr.object_id = object;
	cmd->hdr.method_id = method;
	cmd->hdr.driver_id = UV_DRIVER;
}

/* Adds a mandatory attribute; the caller may change every field of it. */
static inline struct ib_uverbs_attr *uv_attr(struct uv_cmd *cmd, __u16 id,
					     __u16 len, __u64 data)
{
	struct ib_uverbs_attr *attr = &cmd->hdr.attrs[cmd->hdr.num_attrs++];

	attr->attr_id = id;
	attr->len = len;
	attr->flags = UVERBS_ATTR_F_MANDATORY;
	attr->data = data;
	return attr;
}

/* Values of up to 8 bytes travel in the attribute itself. */
static inline struct ib_uverbs_attr *uv_in(struct uv_cmd *cmd, __u16 id,
					   const void *ptr, __u16 len)
{
	struct ib_uverbs_attr *attr = uv_attr(cmd, id, len, uv_u64(ptr));

	if (len <= sizeof(attr->data)) {
		attr->data = 0;
		memcpy(&attr->data, ptr, len);
	}
	return attr;
}

static inline struct ib_uverbs_attr *uv_out(struct uv_cmd *cmd, __u16 id,
					    void *ptr, __u16 len)
{
	return uv_attr(cmd, id, len, uv_u64(ptr));
}

/* UVERBS_ATTR_CONST_IN and FLAGS_IN take 8 bytes, whatever their type is. */
static inline struct ib_uverbs_attr *uv_const(struct uv_cmd *cmd, __u16 id,
					      __u64 value)
{
	return uv_attr(cmd, id, sizeof(value), value);
}

static inline struct ib_uverbs_attr *uv_u32(struct uv_cmd *cmd, __u16 id,
					    __u32 value)
{
	return uv_attr(cmd, id, sizeof(value), value);
}

static inline struct ib_uverbs_attr *uv_idr(struct uv_cmd *cmd, __u16 id,
					    __u64 handle)
{
	return uv_attr(cmd, id, 0, handle);
}

static inline struct ib_uverbs_attr *uv_fd(struct uv_cmd *cmd, __u16 id, int fd)
{
	return uv_attr(cmd, id, 0, (__u64)(__s64)fd);
}

/* The attribute with this id, to change it or to read what came back. */
static inline struct ib_uverbs_attr *uv_find(struct uv_cmd *cmd, __u16 id)
{
	int i;

	for (i = 0; i < cmd->hdr.num_attrs; i++)
		if (cmd->hdr.attrs[i].attr_id == id)
			return &cmd->hdr.attrs[i];
	return NULL;
}

static inline void uv_drop(struct uv_cmd *cmd, __u16 id)
{
	struct ib_uverbs_attr *attr = uv_find(cmd, id);
	struct ib_uverbs_attr *end = &cmd->hdr.attrs[cmd->hdr.num_attrs];

	if (!attr)
		return;
	memmove(attr, attr + 1, (char *)end - (char *)(attr + 1));
	cmd->hdr.num_attrs--;
}

/* Sends whatever the pointer points to. */
static inline int uv_ioctl_raw(int fd, const void *hdr)
{
	return ioctl(fd, RDMA_VERBS_IOCTL, hdr) ? -errno : 0;
}

static inline int uv_ioctl(int fd, struct uv_cmd *cmd)
{
	cmd->hdr.length = sizeof(cmd->hdr) +
			  cmd->hdr.num_attrs * sizeof(cmd->hdr.attrs[0]);
	return uv_ioctl_raw(fd, &cmd->hdr);
}

/* ---- the write forms ---- */

#define UV_EX(command) (IB_USER_VERBS_CMD_FLAG_EXTENDED | (command))

struct uv_write {
	size_t count;		/* what is passed to write(2) */
	union {
		struct {
			struct ib_uverbs_cmd_hdr hdr;
			struct ib_uverbs_ex_cmd_hdr ex;
		};
		__u8 raw[1024];
	};
};

static inline int uv_wsend(int fd, const struct uv_write *w)
{
	ssize_t n = write(fd, w->raw, w->count);

	if (n < 0)
		return -errno;
	return (size_t)n == w->count ? 0 : -EMSGSIZE;
}

static inline __u8 *uv_wbody(struct uv_write *w)
{
	if (w->hdr.command & IB_USER_VERBS_CMD_FLAG_EXTENDED)
		return w->raw + sizeof(w->hdr) + sizeof(w->ex);
	return w->raw + sizeof(w->hdr);
}

/*
 * @req is the command's structure.  In the plain form one that has a response
 * starts with its address, which is filled in here.
 */
static inline void uv_wprep(struct uv_write *w, __u32 command, const void *req,
			    size_t req_len, void *resp, size_t resp_len)
{
	bool ex = command & IB_USER_VERBS_CMD_FLAG_EXTENDED;
	__u64 response = uv_u64(resp);
	__u8 *body;

	memset(w, 0, sizeof(*w));
	w->hdr.command = command;
	body = uv_wbody(w);
	memcpy(body, req, req_len);
	w->count = body - w->raw + req_len;
	if (ex) {
		w->hdr.in_words = req_len / 8;
		w->hdr.out_words = resp_len / 8;
		w->ex.response = response;
		return;
	}
	w->hdr.in_words = w->count / 4;
	w->hdr.out_words = resp_len / 4;
	if (resp)
		memcpy(body, &response, sizeof(response));
}

/* How a command that has a write form is sent. */
enum uv_form { UV_WRITE, UV_INVOKE };

struct uv_call {
	__u32 command;
	const void *req;
	size_t req_len;
	void *resp;
	size_t resp_len;
	void *uhw_out;		/* what the driver adds to the response */
	size_t uhw_out_len;
};

static inline int uv_call_write(int fd, const struct uv_call *call)
{
	bool ex = call->command & IB_USER_VERBS_CMD_FLAG_EXTENDED;
	size_t total = call->resp_len + call->uhw_out_len;
	__u64 resp[64] = {};
	struct uv_write w;
	int ret;

	uv_wprep(&w, call->command, call->req, call->req_len,
		 total ? resp : NULL, ex ? call->resp_len : total);
	if (ex)
		w.ex.provider_out_words = call->uhw_out_len / 8;
	ret = uv_wsend(fd, &w);
	if (call->resp)
		memcpy(call->resp, resp, call->resp_len);
	if (call->uhw_out)
		memcpy(call->uhw_out, (__u8 *)resp + call->resp_len,
		       call->uhw_out_len);
	return ret;
}

static inline void uv_invoke_prep(struct uv_cmd *cmd,
				  const struct uv_call *call)
{
	uv_init(cmd, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE);
	uv_const(cmd, UVERBS_ATTR_WRITE_CMD, call->command);
	if (call->req_len)
		uv_in(cmd, UVERBS_ATTR_CORE_IN, call->req, call->req_len);
	if (call->resp_len)
		uv_out(cmd, UVERBS_ATTR_CORE_OUT, call->resp, call->resp_len);
	if (call->uhw_out_len)
		uv_out(cmd, UVERBS_ATTR_UHW_OUT, call->uhw_out,
		       call->uhw_out_len);
}

static inline int uv_call(int fd, enum uv_form form, const struct uv_call *call)
{
	struct uv_cmd cmd;

	if (form == UV_WRITE)
		return uv_call_write(fd, call);
	uv_invoke_prep(&cmd, call);
	return uv_ioctl(fd, &cmd);
}

/* ---- devices ---- */

struct uv_dev {
	char uverbs[32];	/* uverbs0 */
	char ibdev[64];		/* rxe0 */
	char node[64];		/* /dev/infiniband/uverbs0 */
};

static inline int uv_read_line(const char *path, char *buf, size_t len)
{
	ssize_t n;
	int fd;

	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = read(fd, buf, len - 1);
	close(fd);
	if (n < 0)
		return -EIO;
	buf[n] = 0;
	buf[strcspn(buf, "\n")] = 0;
	return 0;
}

/*
 * Whether the open device is rxe: the driver id is checked before the object
 * id, and no device has this object.
 */
static inline bool uv_is_rxe(int fd)
{
	struct uv_cmd cmd;

	uv_init(&cmd, 0xfff, 0);
	return uv_ioctl(fd, &cmd) == -EPROTONOSUPPORT;
}

static inline int uv_try_dev(struct uv_dev *dev, const char *name)
{
	char path[300];
	int fd, ret;

	if (strncmp(name, "uverbs", 6))
		return -ENODEV;
	snprintf(dev->uverbs, sizeof(dev->uverbs), "%.31s", name);
	snprintf(dev->node, sizeof(dev->node), "/dev/infiniband/%s",
		 dev->uverbs);
	snprintf(path, sizeof(path), "/sys/class/infiniband_verbs/%s/ibdev",
		 dev->uverbs);
	ret = uv_read_line(path, dev->ibdev, sizeof(dev->ibdev));
	if (ret)
		return ret;
	fd = open(dev->node, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ret = uv_is_rxe(fd) ? 0 : -ENODEV;
	close(fd);
	return ret;
}

/* The first rxe device. */
static inline int uv_dev_find(struct uv_dev *dev)
{
	DIR *dir = opendir("/sys/class/infiniband_verbs");
	int ret = -ENODEV;
	struct dirent *e;

	if (!dir)
		return -errno;
	while (ret && (e = readdir(dir)))
		ret = uv_try_dev(dev, e->d_name);
	closedir(dir);
	return ret;
}

/* A new file on the first rxe device, without a context. */
static inline int uv_open(void)
{
	struct uv_dev dev;
	int ret, fd;

	ret = uv_dev_find(&dev);
	if (ret)
		return ret;
	fd = open(dev.node, O_RDWR | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

#endif
