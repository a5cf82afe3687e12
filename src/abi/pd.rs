// SPDX-License-Identifier: GPL-2.0

//! Protection domains: `ib_user_verbs.h`.

use super::wire;

wire! {
    struct AllocPd = ib_uverbs_alloc_pd {
        response: u64,
    }

    struct AllocPdResp = ib_uverbs_alloc_pd_resp {
        pd_handle: u32,
    }
}
