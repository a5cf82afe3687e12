// SPDX-License-Identifier: GPL-2.0

//! XRC domains: `ib_user_verbs.h`.

use super::wire;

wire! {
    struct OpenXrcd = ib_uverbs_open_xrcd {
        response: u64,
        fd: u32,
        oflags: u32,
    }

    struct OpenXrcdResp = ib_uverbs_open_xrcd_resp {
        xrcd_handle: u32,
    }
}
