/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note OR BSD-2-Clause */
/* Who else holds an object, and taking it away.  Included by shverbs.h. */
#ifndef SHVERBS_HOLD_H
#define SHVERBS_HOLD_H

#include <stdint.h>

#include "ioctl.h"

#ifdef __cplusplus
extern "C" {
#endif

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

#ifdef __cplusplus
}
#endif

#endif
