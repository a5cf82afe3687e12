// SPDX-License-Identifier: GPL-2.0

//! Memory regions: `ib_user_verbs.h`, and how importers learn of them.

use super::wire;

wire! {
    struct RegMr = ib_uverbs_reg_mr {
        response: u64,
        start: u64,
        length: u64,
        hca_va: u64,
        pd_handle: u32,
        access_flags: u32,
    }

    struct RegMrResp = ib_uverbs_reg_mr_resp {
        mr_handle: u32,
        lkey: u32,
        rkey: u32,
    }

    struct ReregMr = ib_uverbs_rereg_mr {
        response: u64,
        mr_handle: u32,
        flags: u32,
        start: u64,
        length: u64,
        hca_va: u64,
        pd_handle: u32,
        access_flags: u32,
    }

    struct ReregMrResp = ib_uverbs_rereg_mr_resp {
        lkey: u32,
        rkey: u32,
    }

    struct MrAttrs = shverbs_mr_attrs {
        iova: u64,
        length: u64,
        lkey: u32,
        rkey: u32,
        access: u32,
        reserved: u32,
    }
}
