// SPDX-License-Identifier: GPL-2.0

//! Memory windows: `ib_user_verbs.h`.

use super::wire;

wire! {
    struct AllocMw = ib_uverbs_alloc_mw {
        response: u64,
        pd_handle: u32,
        mw_type: u8,
        reserved: [u8; 3],
    }

    struct AllocMwResp = ib_uverbs_alloc_mw_resp {
        mw_handle: u32,
        rkey: u32,
    }
}
