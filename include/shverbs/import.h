/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note OR BSD-2-Clause */
/* Objects of others become one's own, and are given up.  Included by shverbs.h. */
#ifndef SHVERBS_IMPORT_H
#define SHVERBS_IMPORT_H

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "ioctl.h"

#ifdef __cplusplus
extern "C" {
#endif

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

#ifdef __cplusplus
}
#endif

#endif
