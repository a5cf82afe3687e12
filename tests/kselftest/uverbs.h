/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The verbs ABI spoken by hand, for tests that must see what the kernel
 * answers and not what libibverbs makes of it.
 *
 *	uverbs_raw.h	devices, the two write forms, the ioctl form
 *	uverbs_res.h	what exists: rdma netlink counts, VmPin, VmLck
 *	uverbs_obj.h	contexts, PDs, MRs, CQs, QPs, AHs
 *	uverbs_rxe.h	the rings of rxe, to make completions and events
 *
 * Every function returns 0 (or a number that the caller asked for) on success
 * and a negative errno on failure.
 */
#ifndef SHVERBS_TEST_UVERBS_H
#define SHVERBS_TEST_UVERBS_H

#include "uverbs_raw.h"
#include "uverbs_res.h"
#include "uverbs_obj.h"
#include "uverbs_rxe.h"

#endif
