/* SPDX-License-Identifier: GPL-2.0 */
/* Input of bindgen: the headers that rust/bindings/bindings_helper.h lacks. */
#include <linux/hrtimer_types.h> /* see rust/bindings/bindings_helper.h on enums */

#include <linux/anon_inodes.h>
#include <linux/cdev.h>
#include <linux/fs_context.h>
#include <linux/fs_parser.h>
#include <linux/pseudo_fs.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_ucaps.h>
#include <rdma/ib_umem.h>
#include <rdma/ib_verbs.h>
#include <rdma/restrack.h>
#include <rdma/uverbs_ioctl.h>
#include <rdma/uverbs_types.h>
#include <rdma/rdma_netlink.h>
#include "core_priv.h"
#include "rdma_core.h"
#include "restrack.h"
#include "uverbs.h"
#include <uapi/rdma/shverbs.h>

#include "helpers.h"
#include "helpers_fs.h"
