/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note OR BSD-2-Clause */
/* Contexts that several processes share.  Included by shverbs.h. */
#ifndef SHVERBS_CONTEXT_H
#define SHVERBS_CONTEXT_H

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "ioctl.h"
#include "share.h"

#ifdef __cplusplus
extern "C" {
#endif

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

/* shv_publish_context() - as shv_publish_pd(). */
static inline int shv_publish_context(struct ibv_context *ctx, int dirfd,
				      const char *path, mode_t mode,
				      uint32_t flags)
{
	struct shv_priv_cmd cmd;

	shv_priv_begin(&cmd, SHVERBS_METHOD_PUBLISH);
	shv_priv_value(&cmd, SHVERBS_ATTR_PUBLISH_OBJECT_ID, UVERBS_OBJECT_DEVICE);
	return shv_priv_publish(ctx, &cmd, dirfd, path, mode, flags);
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

#ifdef __cplusplus
}
#endif

#endif
