// SPDX-License-Identifier: GPL-2.0

//! Shared receive queues: `ib_user_verbs.h`.

use super::wire;

wire! {
    struct CreateSrq = ib_uverbs_create_srq {
        response: u64,
        user_handle: u64,
        pd_handle: u32,
        max_wr: u32,
        max_sge: u32,
        srq_limit: u32,
    }

    struct CreateXsrq = ib_uverbs_create_xsrq {
        response: u64,
        user_handle: u64,
        srq_type: u32,
        pd_handle: u32,
        max_wr: u32,
        max_sge: u32,
        srq_limit: u32,
        max_num_tags: u32,
        xrcd_handle: u32,
        cq_handle: u32,
    }

    struct CreateSrqResp = ib_uverbs_create_srq_resp {
        srq_handle: u32,
        max_wr: u32,
        max_sge: u32,
        srqn: u32,
    }

    struct ModifySrq = ib_uverbs_modify_srq {
        srq_handle: u32,
        attr_mask: u32,
        max_wr: u32,
        srq_limit: u32,
    }

    struct QuerySrq = ib_uverbs_query_srq {
        response: u64,
        srq_handle: u32,
        reserved: u32,
    }

    struct QuerySrqResp = ib_uverbs_query_srq_resp {
        max_wr: u32,
        max_sge: u32,
        srq_limit: u32,
        reserved: u32,
    }

    struct DestroySrq = ib_uverbs_destroy_srq {
        response: u64,
        srq_handle: u32,
        reserved: u32,
    }

    struct DestroySrqResp = ib_uverbs_destroy_srq_resp {
        events_reported: u32,
    }
}
