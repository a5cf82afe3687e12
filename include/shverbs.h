/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note OR BSD-2-Clause */
/*
 * shverbs.h: RDMA objects that several processes own together, for programs
 * that use libibverbs.
 *
 * A process makes a PD and an MR with ibv_alloc_pd() and ibv_reg_mr() and gives
 * them to others, as a file descriptor or as a name:
 *
 *	shv_publish_pd(pd, AT_FDCWD, "/sys/fs/shverbs/mlx5_0/pool.pd", 0660, 0);
 *	shv_publish_mr(mr, AT_FDCWD, "/sys/fs/shverbs/mlx5_0/pool.mr", 0660, 0);
 *
 * Another, unrelated one opens the same device, and uses what it imports as if
 * it had made it:
 *
 *	fd = shv_open("/sys/fs/shverbs/mlx5_0/pool.pd", O_RDWR);
 *	pd = shv_import_pd(ctx, fd);
 *	...
 *	qp = ibv_create_qp(pd, &attr);
 *
 * The object lives until the last owner is gone, in whatever order they go.
 *
 * Header only, C11 or C++11, on top of unmodified libibverbs and its providers.
 * Link with -libverbs.  Functions that return an int return -1 with errno set
 * when they fail, those that return a pointer NULL, as libibverbs' own.  They
 * are as thread safe as the libibverbs calls on the same objects.
 *
 * The struct ibv_pd or ibv_mr of an import must be one that the provider can
 * free.  Where the provider has ibv_import_pd() and ibv_import_mr() (mlx5), they
 * make it.  rxe and siw allocate both with calloc() and put nothing behind the
 * public part, so here it is done for them.  On other providers shv_import_*()
 * fails with EOPNOTSUPP; export and publish work on all of them.
 */
#ifndef SHVERBS_H
#define SHVERBS_H

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <infiniband/verbs.h>
#include <rdma/shverbs.h>

#include "shverbs_ioctl.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What shv_info() tells. */
struct shv_info {
	uint32_t version;	/* SHVERBS_ABI_VERSION of the kernel */
	uint32_t backend;	/* enum shverbs_backend */
	uint64_t shareable;	/* bit n: objects of id n can be shared */
	uint32_t driver_id;	/* enum rdma_driver_id */
};

/*
 * shv_info() - what the kernel can share on this device.
 *
 * EPROTONOSUPPORT: the kernel runs ib_uverbs, or a module older than this header.
 */
static inline int shv_info(struct ibv_context *ctx, struct shv_info *info)
{
	struct shv_priv_cmd cmd;

	memset(info, 0, sizeof(*info));
	shv_priv_begin(&cmd, SHVERBS_METHOD_INFO);
	shv_priv_out(&cmd, SHVERBS_ATTR_INFO_VERSION, &info->version,
		     sizeof(info->version));
	shv_priv_out(&cmd, SHVERBS_ATTR_INFO_BACKEND, &info->backend,
		     sizeof(info->backend));
	shv_priv_out(&cmd, SHVERBS_ATTR_INFO_SHAREABLE, &info->shareable,
		     sizeof(info->shareable));
	if (shv_priv_run(ctx, &cmd))
		return -1;
	info->driver_id = cmd.driver_id;
	return 0;
}

/* shv_supported() - 1 where the device's objects can be shared, 0 on ib_uverbs. */
static inline int shv_supported(struct ibv_context *ctx)
{
	struct shv_info info;

	return !shv_info(ctx, &info);
}

static inline int shv_priv_export(struct ibv_context *ctx, uint16_t object_id,
				  uint32_t handle, uint32_t rights,
				  uint32_t flags)
{
	struct ib_uverbs_attr *fd;
	struct shv_priv_cmd cmd;

	shv_priv_begin(&cmd, SHVERBS_METHOD_EXPORT);
	shv_priv_value(&cmd, SHVERBS_ATTR_EXPORT_OBJECT_ID, object_id);
	shv_priv_value(&cmd, SHVERBS_ATTR_EXPORT_HANDLE, handle);
	if (rights)
		shv_priv_value(&cmd, SHVERBS_ATTR_EXPORT_RIGHTS, rights);
	if (flags)
		shv_priv_value(&cmd, SHVERBS_ATTR_EXPORT_FLAGS, flags);
	fd = shv_priv_fd(&cmd, SHVERBS_ATTR_EXPORT_FD, 0);
	if (shv_priv_run(ctx, &cmd))
		return -1;
	return (int)fd->data_s64;
}

/*
 * shv_export_pd(), shv_export_mr() - a file descriptor that owns the object.
 * @rights: enum shverbs_rights that it gives; 0: all that the caller has
 *
 * The fd is close-on-exec; pass it on with shv_send_fd().
 */
static inline int shv_export_pd(struct ibv_pd *pd, uint32_t rights)
{
	return shv_priv_export(pd->context, UVERBS_OBJECT_PD, pd->handle, rights,
			       0);
}

static inline int shv_export_mr(struct ibv_mr *mr, uint32_t rights)
{
	return shv_priv_export(mr->context, UVERBS_OBJECT_MR, mr->handle, rights,
			       0);
}

/*
 * shv_export_pd_as(), shv_export_mr_as() - the same, on other terms.
 * @flags: SHVERBS_EXPORT_REVOCABLE, so that shv_revoke_...() can take it away.
 *	SHVERBS_EXPORT_MOVE: the import takes the caller's handle away, and all that
 *	may be done with its struct from then on is to release it, which says ENOENT
 */
static inline int shv_export_pd_as(struct ibv_pd *pd, uint32_t rights,
				   uint32_t flags)
{
	return shv_priv_export(pd->context, UVERBS_OBJECT_PD, pd->handle, rights,
			       flags);
}

static inline int shv_export_mr_as(struct ibv_mr *mr, uint32_t rights,
				   uint32_t flags)
{
	return shv_priv_export(mr->context, UVERBS_OBJECT_MR, mr->handle, rights,
			       flags);
}

/*
 * shv_export_context() - a file descriptor that owns the context, for
 * shv_attach_context().
 */
static inline int shv_export_context(struct ibv_context *ctx, uint32_t rights)
{
	struct ib_uverbs_attr *fd;
	struct shv_priv_cmd cmd;

	shv_priv_begin(&cmd, SHVERBS_METHOD_EXPORT);
	shv_priv_value(&cmd, SHVERBS_ATTR_EXPORT_OBJECT_ID, UVERBS_OBJECT_DEVICE);
	if (rights)
		shv_priv_value(&cmd, SHVERBS_ATTR_EXPORT_RIGHTS, rights);
	fd = shv_priv_fd(&cmd, SHVERBS_ATTR_EXPORT_FD, 0);
	if (shv_priv_run(ctx, &cmd))
		return -1;
	return (int)fd->data_s64;
}

/* Opens the directory of a path and finds where its last part begins. */
static inline int shv_priv_open_parent(int dirfd, const char *path,
				       const char **name)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
	const char *slash = strrchr(path, '/');
	char *dir;
	int fd, saved;

	*name = slash ? slash + 1 : path;
	if (!slash)
		return openat(dirfd, ".", flags);
	dir = strndup(path, (size_t)(slash - path) + 1);
	if (!dir)
		return -1;
	fd = openat(dirfd, dir, flags);
	saved = errno;
	free(dir);
	errno = saved;
	return fd;
}

/* Adds where the name goes to the command, and runs it. */
static inline int shv_priv_publish(struct ibv_context *ctx,
				   struct shv_priv_cmd *cmd, int dirfd,
				   const char *path, mode_t mode, uint32_t flags)
{
	const char *name;
	int dir, ret, saved;

	dir = shv_priv_open_parent(dirfd, path, &name);
	if (dir < 0)
		return -1;
	shv_priv_fd(cmd, SHVERBS_ATTR_PUBLISH_DIR_FD, dir);
	shv_priv_in(cmd, SHVERBS_ATTR_PUBLISH_NAME, name, strlen(name));
	shv_priv_value(cmd, SHVERBS_ATTR_PUBLISH_MODE, mode);
	shv_priv_value(cmd, SHVERBS_ATTR_PUBLISH_FLAGS, flags);
	ret = shv_priv_run(ctx, cmd);
	saved = errno;
	close(dir);
	errno = saved;
	return ret;
}

static inline int shv_priv_publish_handle(struct ibv_context *ctx,
					  uint16_t object_id, uint32_t handle,
					  int dirfd, const char *path,
					  mode_t mode, uint32_t flags)
{
	struct shv_priv_cmd cmd;

	shv_priv_begin(&cmd, SHVERBS_METHOD_PUBLISH);
	shv_priv_value(&cmd, SHVERBS_ATTR_PUBLISH_OBJECT_ID, object_id);
	shv_priv_value(&cmd, SHVERBS_ATTR_PUBLISH_HANDLE, handle);
	return shv_priv_publish(ctx, &cmd, dirfd, path, mode, flags);
}

/*
 * shv_publish_pd(), shv_publish_mr(), shv_publish_context(), shv_publish_fd() -
 * give the object a name.
 * @dirfd, @path: where, as in openat(2), in the device's directory of the object
 *	file system or below it
 * @mode: permission bits, less the umask
 * @flags: SHVERBS_PUBLISH_STRONG for a name that owns the object until it is
 *	unlinked, which takes CAP_IPC_LOCK or room under RLIMIT_MEMLOCK; a name without
 *	it vanishes with the last owner
 */
static inline int shv_publish_pd(struct ibv_pd *pd, int dirfd, const char *path,
				 mode_t mode, uint32_t flags)
{
	return shv_priv_publish_handle(pd->context, UVERBS_OBJECT_PD, pd->handle,
				       dirfd, path, mode, flags);
}

static inline int shv_publish_mr(struct ibv_mr *mr, int dirfd, const char *path,
				 mode_t mode, uint32_t flags)
{
	return shv_priv_publish_handle(mr->context, UVERBS_OBJECT_MR, mr->handle,
				       dirfd, path, mode, flags);
}

static inline int shv_publish_context(struct ibv_context *ctx, int dirfd,
				      const char *path, mode_t mode,
				      uint32_t flags)
{
	struct shv_priv_cmd cmd;

	shv_priv_begin(&cmd, SHVERBS_METHOD_PUBLISH);
	shv_priv_value(&cmd, SHVERBS_ATTR_PUBLISH_OBJECT_ID, UVERBS_OBJECT_DEVICE);
	return shv_priv_publish(ctx, &cmd, dirfd, path, mode, flags);
}

static inline int shv_publish_fd(struct ibv_context *ctx, int fd, int dirfd,
				 const char *path, mode_t mode, uint32_t flags)
{
	struct shv_priv_cmd cmd;

	shv_priv_begin(&cmd, SHVERBS_METHOD_PUBLISH);
	shv_priv_fd(&cmd, SHVERBS_ATTR_PUBLISH_FD, fd);
	return shv_priv_publish(ctx, &cmd, dirfd, path, mode, flags);
}

/*
 * shv_open() - an object fd from a name.
 * @flags: O_RDONLY gives SHVERBS_RIGHT_USE, O_RDWR SHVERBS_RIGHT_MODIFY, too
 */
static inline int shv_open(const char *path, int flags)
{
	return open(path, flags | O_CLOEXEC);
}

/* Attaches a new file of a device; the result is that file. */
static inline int shv_priv_attach(struct ibv_device *device, int fd,
				  uint32_t *driver_id)
{
	char path[sizeof("/dev/infiniband/") + sizeof(device->dev_name)];
	struct shv_priv_cmd cmd;
	int cmd_fd, saved;

	strcpy(path, "/dev/infiniband/");
	strcat(path, device->dev_name);
	cmd_fd = open(path, O_RDWR | O_CLOEXEC);
	if (cmd_fd < 0)
		return -1;
	shv_priv_begin(&cmd, SHVERBS_METHOD_ATTACH_CONTEXT);
	shv_priv_fd(&cmd, SHVERBS_ATTR_ATTACH_CONTEXT_FD, fd);
	if (shv_priv_run_on(cmd_fd, &cmd)) {
		saved = errno;
		close(cmd_fd);
		errno = saved;
		return -1;
	}
	*driver_id = cmd.driver_id;
	return cmd_fd;
}

/*
 * shv_attach_context() - a context that shares the driver's context, and its
 * doorbell pages, with that of an object fd.
 *
 * The fd may be closed afterwards.  Objects made on it go with it, by
 * ibv_close_device() at the latest, and the driver's context with the last that
 * needs it.
 *
 * EXDEV: a context of another device.  EINVAL: not a context.  EOPNOTSUPP: the
 * provider library has no ibv_import_device().
 */
static inline struct ibv_context *shv_attach_context(struct ibv_device *device,
						     int fd)
{
	uint32_t driver_id;
	int cmd_fd = shv_priv_attach(device, fd, &driver_id);

	if (cmd_fd < 0)
		return NULL;
	if (shv_priv_provider(driver_id) != SHV_PRIV_IMPORTS) {
		close(cmd_fd);
		errno = EOPNOTSUPP;
		return NULL;
	}
	/* Closes it when it fails. */
	return ibv_import_device(cmd_fd);
}

/* What the kernel says of an import; for PDs, mr stays zero. */
struct shv_priv_import {
	uint32_t handle;
	uint32_t object_id;
	uint32_t driver_id;
	struct shverbs_mr_attrs mr;
};

static inline int shv_priv_release(struct ibv_context *ctx, uint16_t object_id,
				   uint32_t handle)
{
	struct shv_priv_cmd cmd;

	shv_priv_begin(&cmd, SHVERBS_METHOD_RELEASE);
	shv_priv_value(&cmd, SHVERBS_ATTR_RELEASE_OBJECT_ID, object_id);
	shv_priv_value(&cmd, SHVERBS_ATTR_RELEASE_HANDLE, handle);
	return shv_priv_run(ctx, &cmd);
}

/* Gives the handle of an import back that came to nothing; errno stays. */
static inline void shv_priv_undo(struct ibv_context *ctx,
				 const struct shv_priv_import *import)
{
	int saved = errno;

	shv_priv_release(ctx, (uint16_t)import->object_id, import->handle);
	errno = saved;
}

static inline int shv_priv_import(struct ibv_context *ctx, int fd,
				  uint16_t object_id,
				  struct shv_priv_import *import)
{
	struct shv_priv_cmd cmd;

	memset(import, 0, sizeof(*import));
	shv_priv_begin(&cmd, SHVERBS_METHOD_IMPORT);
	shv_priv_fd(&cmd, SHVERBS_ATTR_IMPORT_FD, fd);
	shv_priv_out(&cmd, SHVERBS_ATTR_IMPORT_HANDLE, &import->handle,
		     sizeof(import->handle));
	shv_priv_out(&cmd, SHVERBS_ATTR_IMPORT_OBJECT_ID, &import->object_id,
		     sizeof(import->object_id));
	if (object_id == UVERBS_OBJECT_MR)
		shv_priv_out(&cmd, SHVERBS_ATTR_IMPORT_MR, &import->mr,
			     sizeof(import->mr));
	if (shv_priv_run(ctx, &cmd))
		return -1;
	import->driver_id = cmd.driver_id;
	if (import->object_id != object_id) {
		errno = ENOMSG;
		shv_priv_undo(ctx, import);
		return -1;
	}
	return 0;
}

/*
 * shv_import_pd() - a PD of one's own from an object fd.
 * @ctx: opened by this process; of the device that the PD is of
 *
 * The fd may be closed afterwards.  Give the PD up with shv_release_pd() or with
 * ibv_dealloc_pd(): while others own it, both leave it alone.
 *
 * EXDEV: a PD of another device.  ENOMSG: not a PD.  EIO: the device is gone.
 * EOPNOTSUPP: see the head of this file.
 */
static inline struct ibv_pd *shv_import_pd(struct ibv_context *ctx, int fd)
{
	struct shv_priv_import import;
	struct ibv_pd *pd;

	if (shv_priv_import(ctx, fd, UVERBS_OBJECT_PD, &import))
		return NULL;
	if (shv_priv_provider(import.driver_id) == SHV_PRIV_PLAIN) {
		pd = (struct ibv_pd *)calloc(1, sizeof(*pd));
		if (pd) {
			pd->context = ctx;
			pd->handle = import.handle;
		}
	} else {
		pd = ibv_import_pd(ctx, import.handle);
	}
	if (!pd)
		shv_priv_undo(ctx, &import);
	return pd;
}

static inline struct ibv_mr *shv_priv_plain_mr(struct ibv_pd *pd,
					       const struct shv_priv_import *import)
{
	struct shv_priv_mr *mr = (struct shv_priv_mr *)calloc(1, sizeof(*mr));

	if (!mr)
		return NULL;
	mr->mr.context = pd->context;
	mr->mr.pd = pd;
	mr->mr.handle = import->handle;
	mr->mr.lkey = import->mr.lkey;
	mr->mr.rkey = import->mr.rkey;
	mr->type = SHV_PRIV_MR_IMPORTED;
	mr->access = (int)import->mr.access;
	return &mr->mr;
}

/*
 * shv_import_mr() - an MR of one's own from an object fd.
 * @pd: the PD that the MR was registered on, imported as well
 *
 * The keys work on QPs of that PD for as long as the MR is held.  mr->addr is the
 * MR's first address as work requests name it, for remote ones and for local
 * ones: it is an address of the process that registered it, and nothing of this
 * process is mapped there.
 *
 * Otherwise as shv_import_pd(), with shv_release_mr() and ibv_dereg_mr().
 */
static inline struct ibv_mr *shv_import_mr(struct ibv_pd *pd, int fd)
{
	struct shv_priv_import import;
	struct ibv_mr *mr;

	if (shv_priv_import(pd->context, fd, UVERBS_OBJECT_MR, &import))
		return NULL;
	if (shv_priv_provider(import.driver_id) == SHV_PRIV_PLAIN)
		mr = shv_priv_plain_mr(pd, &import);
	else
		mr = ibv_import_mr(pd, import.handle);
	if (!mr) {
		shv_priv_undo(pd->context, &import);
		return NULL;
	}
	mr->addr = (void *)(uintptr_t)import.mr.iova;
	mr->length = (size_t)import.mr.length;
	return mr;
}

/*
 * shv_release_pd(), shv_release_mr() - give an object up, imported or not.
 *
 * The object lives on for its other owners, its children (an MR or QP on a PD)
 * among them; the last one to go destroys it.  Unlike ibv_dealloc_pd() and
 * ibv_dereg_mr() this does not fail with EBUSY.  The struct is freed.
 *
 * On providers whose structs only ibv_dealloc_pd() and ibv_dereg_mr() can free
 * (see the head of this file), those are called.
 */
static inline int shv_priv_errno(int err)
{
	if (!err)
		return 0;
	errno = err;
	return -1;
}

/* RELEASE, except where only the provider can free the struct. */
static inline int shv_priv_give_up(struct ibv_context *ctx, uint16_t object_id,
				   uint32_t handle,
				   enum shv_priv_provider *provider)
{
	struct shv_priv_cmd cmd;

	/* Asks for nothing but the driver's id. */
	shv_priv_begin(&cmd, SHVERBS_METHOD_INFO);
	if (shv_priv_run(ctx, &cmd))
		return -1;
	*provider = shv_priv_provider(cmd.driver_id);
	if (*provider == SHV_PRIV_OPAQUE)
		return 0;
	return shv_priv_release(ctx, object_id, handle);
}

static inline int shv_release_pd(struct ibv_pd *pd)
{
	enum shv_priv_provider provider;

	if (shv_priv_give_up(pd->context, UVERBS_OBJECT_PD, pd->handle, &provider))
		return -1;
	if (provider == SHV_PRIV_OPAQUE)
		return shv_priv_errno(ibv_dealloc_pd(pd));
	if (provider == SHV_PRIV_IMPORTS)
		ibv_unimport_pd(pd);
	else
		free(pd);
	return 0;
}

static inline int shv_release_mr(struct ibv_mr *mr)
{
	enum shv_priv_provider provider;

	if (shv_priv_give_up(mr->context, UVERBS_OBJECT_MR, mr->handle, &provider))
		return -1;
	if (provider == SHV_PRIV_OPAQUE)
		return shv_priv_errno(ibv_dereg_mr(mr));
	if (provider == SHV_PRIV_IMPORTS)
		ibv_unimport_mr(mr);
	else
		free(mr);
	return 0;
}

static inline int shv_priv_revoke(struct ibv_context *ctx, uint16_t object_id,
				  uint32_t handle)
{
	struct shv_priv_cmd cmd;

	shv_priv_begin(&cmd, SHVERBS_METHOD_REVOKE);
	shv_priv_value(&cmd, SHVERBS_ATTR_REVOKE_OBJECT_ID, object_id);
	shv_priv_value(&cmd, SHVERBS_ATTR_REVOKE_HANDLE, handle);
	return shv_priv_run(ctx, &cmd);
}

/*
 * shv_revoke_pd(), shv_revoke_mr() - destroy what others hold, too.
 *
 * At once, and nobody reaches anything by an MR's keys afterwards.  The structs
 * are still to be released, here and by the others, whose other calls fail with
 * EIO and whose async event fd gets SHVERBS_EVENT_REVOKED.
 *
 * EPERM: it was not shared as revocable, or without SHVERBS_RIGHT_REVOKE to the
 * caller.  EBUSY: an MR or QP is on the PD, or a call is using the object.
 */
static inline int shv_revoke_pd(struct ibv_pd *pd)
{
	return shv_priv_revoke(pd->context, UVERBS_OBJECT_PD, pd->handle);
}

static inline int shv_revoke_mr(struct ibv_mr *mr)
{
	return shv_priv_revoke(mr->context, UVERBS_OBJECT_MR, mr->handle);
}

/* What shv_holders_...() tell: how many hold an object, and in which way. */
struct shv_holders {
	uint32_t handles;
	uint32_t fds;
	uint32_t names;		/* strong ones */
	uint32_t children;	/* objects made from it */
	uint32_t flags;		/* enum shverbs_import_flags */
};

static inline int shv_priv_holders(struct ibv_context *ctx, uint16_t object_id,
				   uint32_t handle, struct shv_holders *holders)
{
	struct shv_priv_cmd cmd;

	shv_priv_begin(&cmd, SHVERBS_METHOD_HOLDERS);
	shv_priv_value(&cmd, SHVERBS_ATTR_HOLDERS_OBJECT_ID, object_id);
	shv_priv_value(&cmd, SHVERBS_ATTR_HOLDERS_HANDLE, handle);
	shv_priv_out(&cmd, SHVERBS_ATTR_HOLDERS_HANDLES, &holders->handles, 4);
	shv_priv_out(&cmd, SHVERBS_ATTR_HOLDERS_FDS, &holders->fds, 4);
	shv_priv_out(&cmd, SHVERBS_ATTR_HOLDERS_NAMES, &holders->names, 4);
	shv_priv_out(&cmd, SHVERBS_ATTR_HOLDERS_CHILDREN, &holders->children, 4);
	shv_priv_out(&cmd, SHVERBS_ATTR_HOLDERS_FLAGS, &holders->flags, 4);
	return shv_priv_run(ctx, &cmd);
}

/* shv_holders_pd(), shv_holders_mr() - how many hold it, at this moment. */
static inline int shv_holders_pd(struct ibv_pd *pd, struct shv_holders *holders)
{
	return shv_priv_holders(pd->context, UVERBS_OBJECT_PD, pd->handle, holders);
}

static inline int shv_holders_mr(struct ibv_mr *mr, struct shv_holders *holders)
{
	return shv_priv_holders(mr->context, UVERBS_OBJECT_MR, mr->handle, holders);
}

/* Room for one fd in a control message, aligned as one. */
union shv_priv_control {
	struct cmsghdr header;
	char room[CMSG_SPACE(sizeof(int))];
};

/* shv_send_fd() - pass an fd over a Unix socket, with one byte of data. */
static inline int shv_send_fd(int sock, int fd)
{
	union shv_priv_control control;
	struct cmsghdr *header;
	struct msghdr msg;
	struct iovec iov;
	char byte = 0;

	memset(&control, 0, sizeof(control));
	memset(&msg, 0, sizeof(msg));
	iov.iov_base = &byte;
	iov.iov_len = sizeof(byte);
	msg.msg_iov = &iov;
	msg.msg_iovlen = 1;
	msg.msg_control = control.room;
	msg.msg_controllen = sizeof(control.room);
	header = CMSG_FIRSTHDR(&msg);
	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(header), &fd, sizeof(fd));
	return sendmsg(sock, &msg, MSG_NOSIGNAL) == 1 ? 0 : -1;
}

/*
 * shv_recv_fd() - take an fd that shv_send_fd() sent.
 *
 * EPIPE: the peer is gone.  EBADMSG: a message without an fd.
 */
static inline int shv_recv_fd(int sock)
{
	union shv_priv_control control;
	struct cmsghdr *header;
	struct msghdr msg;
	struct iovec iov;
	ssize_t n;
	char byte;
	int fd;

	memset(&msg, 0, sizeof(msg));
	iov.iov_base = &byte;
	iov.iov_len = sizeof(byte);
	msg.msg_iov = &iov;
	msg.msg_iovlen = 1;
	msg.msg_control = control.room;
	msg.msg_controllen = sizeof(control.room);
	n = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC);
	if (n <= 0) {
		if (!n)
			errno = EPIPE;
		return -1;
	}
	header = CMSG_FIRSTHDR(&msg);
	if (!header || header->cmsg_level != SOL_SOCKET ||
	    header->cmsg_type != SCM_RIGHTS ||
	    header->cmsg_len != CMSG_LEN(sizeof(fd))) {
		errno = EBADMSG;
		return -1;
	}
	memcpy(&fd, CMSG_DATA(header), sizeof(fd));
	return fd;
}

#ifdef __cplusplus
}
#endif

#endif
