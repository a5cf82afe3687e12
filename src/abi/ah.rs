// SPDX-License-Identifier: GPL-2.0

//! Address handles: `ib_user_verbs.h`.

use super::wire;

wire! {
    struct GlobalRoute = ib_uverbs_global_route {
        dgid: [u8; 16],
        flow_label: u32,
        sgid_index: u8,
        hop_limit: u8,
        traffic_class: u8,
        reserved: u8,
    }

    struct AhAttr = ib_uverbs_ah_attr {
        grh: GlobalRoute,
        dlid: u16,
        sl: u8,
        src_path_bits: u8,
        static_rate: u8,
        is_global: u8,
        port_num: u8,
        reserved: u8,
    }

    struct CreateAh = ib_uverbs_create_ah {
        response: u64,
        user_handle: u64,
        pd_handle: u32,
        reserved: u32,
        attr: AhAttr,
    }

    struct CreateAhResp = ib_uverbs_create_ah_resp {
        ah_handle: u32,
    }
}
