/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note OR BSD-2-Clause */
/*
 * The machinery under shverbs.h: one ioctl with its attributes, and what must be
 * known of provider libraries.  Not for programs.
 */
#ifndef SHVERBS_IOCTL_H
#define SHVERBS_IOCTL_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>

#include <infiniband/verbs.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <rdma/shverbs.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SHV_PRIV_MAX_ATTRS 8

/* struct ib_uverbs_ioctl_hdr, with room where that has a flexible array. */
struct shv_priv_cmd {
	uint16_t length;
	uint16_t object_id;
	uint16_t method_id;
	uint16_t num_attrs;
	uint64_t reserved1;
	uint32_t driver_id;
	uint32_t reserved2;
	struct ib_uverbs_attr attrs[SHV_PRIV_MAX_ATTRS];
};

static inline void shv_priv_begin(struct shv_priv_cmd *cmd, uint16_t method)
{
	memset(cmd, 0, sizeof(*cmd));
	cmd->object_id = SHVERBS_OBJECT_SHARE;
	cmd->method_id = method;
}

static inline struct ib_uverbs_attr *
shv_priv_attr(struct shv_priv_cmd *cmd, uint16_t id, size_t len)
{
	struct ib_uverbs_attr *attr = &cmd->attrs[cmd->num_attrs++];

	attr->attr_id = id;
	attr->len = (uint16_t)len;
	attr->flags = UVERBS_ATTR_F_MANDATORY;
	return attr;
}

/* "Const" and "flags" attributes, and plain 64 bit values. */
static inline void shv_priv_value(struct shv_priv_cmd *cmd, uint16_t id,
				  uint64_t value)
{
	shv_priv_attr(cmd, id, sizeof(value))->data = value;
}

/* An fd that goes in; its attribute comes back changed where one comes out. */
static inline struct ib_uverbs_attr *
shv_priv_fd(struct shv_priv_cmd *cmd, uint16_t id, int fd)
{
	struct ib_uverbs_attr *attr = shv_priv_attr(cmd, id, 0);

	attr->data_s64 = fd;
	return attr;
}

/* Input of up to 8 bytes lies in the attribute itself. */
static inline void shv_priv_in(struct shv_priv_cmd *cmd, uint16_t id,
			       const void *data, size_t len)
{
	struct ib_uverbs_attr *attr = shv_priv_attr(cmd, id, len);

	if (len <= sizeof(attr->data))
		memcpy(&attr->data, data, len);
	else
		attr->data = (uintptr_t)data;
}

static inline void shv_priv_out(struct shv_priv_cmd *cmd, uint16_t id,
				void *data, size_t len)
{
	shv_priv_attr(cmd, id, len)->data = (uintptr_t)data;
}

static inline int shv_priv_ioctl(int cmd_fd, struct shv_priv_cmd *cmd,
				 uint32_t driver_id)
{
	cmd->driver_id = driver_id;
	cmd->length = (uint16_t)(offsetof(struct shv_priv_cmd, attrs) +
				 cmd->num_attrs * sizeof(cmd->attrs[0]));
	return ioctl(cmd_fd, RDMA_VERBS_IOCTL, cmd);
}

/*
 * Every RDMA_VERBS_IOCTL carries the id of the kernel driver, which libibverbs
 * knows but does not tell.  A wrong one gives EINVAL before anything else is
 * looked at, so an INFO that asks for nothing finds the right one.
 */
#define SHV_PRIV_MAX_DRIVER 63

static inline int shv_priv_find_driver(int cmd_fd, uint32_t *driver_id)
{
	struct shv_priv_cmd cmd;
	uint32_t id;

	shv_priv_begin(&cmd, SHVERBS_METHOD_INFO);
	for (id = 0; id <= SHV_PRIV_MAX_DRIVER; id++) {
		if (!shv_priv_ioctl(cmd_fd, &cmd, id)) {
			*driver_id = id;
			return 0;
		}
		/* EPROTONOSUPPORT: the right id, and stock ib_uverbs. */
		if (errno != EINVAL)
			return -1;
	}
	errno = EPROTONOSUPPORT;
	return -1;
}

/* Runs the command; afterwards cmd->driver_id is the device's. */
static inline int shv_priv_run_on(int cmd_fd, struct shv_priv_cmd *cmd)
{
	/* Nearly all programs use devices of one driver. */
	static uint32_t last_driver;
	uint32_t guess = __atomic_load_n(&last_driver, __ATOMIC_RELAXED);
	uint32_t found;

	if (!shv_priv_ioctl(cmd_fd, cmd, guess))
		return 0;
	if (errno != EINVAL)
		return -1;
	if (shv_priv_find_driver(cmd_fd, &found))
		return -1;
	if (found == guess) {
		errno = EINVAL;
		return -1;
	}
	__atomic_store_n(&last_driver, found, __ATOMIC_RELAXED);
	return shv_priv_ioctl(cmd_fd, cmd, found);
}

static inline int shv_priv_run(struct ibv_context *ctx, struct shv_priv_cmd *cmd)
{
	return shv_priv_run_on(ctx->cmd_fd, cmd);
}

/* How the provider library makes and frees its struct ibv_pd and ibv_mr. */
enum shv_priv_provider {
	SHV_PRIV_PLAIN,		/* calloc() and free(), nothing behind the public part */
	SHV_PRIV_IMPORTS,	/* ibv_import_pd() and ibv_unimport_pd() */
	SHV_PRIV_OPAQUE,
};

static inline enum shv_priv_provider shv_priv_provider(uint32_t driver_id)
{
	switch (driver_id) {
	case RDMA_DRIVER_RXE:
	case RDMA_DRIVER_SIW:
		return SHV_PRIV_PLAIN;
	case RDMA_DRIVER_MLX5:
		return SHV_PRIV_IMPORTS;
	default:
		return SHV_PRIV_OPAQUE;
	}
}

/*
 * What providers have in the place of a struct ibv_mr.  ibv_dereg_mr() looks
 * at the type, and must not take an imported MR's address for one of this
 * process, whose MADV_DONTFORK it would undo.
 */
struct shv_priv_mr {
	struct ibv_mr mr;
	int type;
	int access;
	uint64_t room[4];
};

#define SHV_PRIV_MR_IMPORTED 2

#ifdef __cplusplus
}
#endif

#endif
