/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note OR BSD-2-Clause */
/* What can be shared, and how objects get fds and names.  Included by shverbs.h. */
#ifndef SHVERBS_SHARE_H
#define SHVERBS_SHARE_H

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ioctl.h"

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
 * shv_publish_pd(), shv_publish_mr(), shv_publish_fd() - give the object a name.
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

#ifdef __cplusplus
}
#endif

#endif
