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

#include "shverbs/context.h"
#include "shverbs/fd.h"
#include "shverbs/hold.h"
#include "shverbs/import.h"
#include "shverbs/ioctl.h"
#include "shverbs/share.h"

#endif
