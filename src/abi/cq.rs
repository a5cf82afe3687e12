// SPDX-License-Identifier: GPL-2.0

//! Completion queues: `ib_user_verbs.h`.

use super::wire;

wire! {
    struct CreateCq = ib_uverbs_create_cq {
        response: u64,
        user_handle: u64,
        cqe: u32,
        comp_vector: u32,
        comp_channel: i32,
        reserved: u32,
    }

    struct CreateCqResp = ib_uverbs_create_cq_resp {
        cq_handle: u32,
        cqe: u32,
    }

    struct ExCreateCq = ib_uverbs_ex_create_cq {
        user_handle: u64,
        cqe: u32,
        comp_vector: u32,
        comp_channel: i32,
        comp_mask: u32,
        flags: u32,
        reserved: u32,
    }

    struct ExCreateCqResp = ib_uverbs_ex_create_cq_resp {
        base: CreateCqResp,
        comp_mask: u32,
        response_length: u32,
    }

    struct ResizeCq = ib_uverbs_resize_cq {
        response: u64,
        cq_handle: u32,
        cqe: u32,
    }

    struct ResizeCqResp = ib_uverbs_resize_cq_resp {
        cqe: u32,
        reserved: u32,
    }

    struct ModifyCq = ib_uverbs_ex_modify_cq {
        cq_handle: u32,
        attr_mask: u32,
        attr: Moderation,
        reserved: u32,
    }

    struct Moderation = ib_uverbs_cq_moderation {
        cq_count: u16,
        cq_period: u16,
    }

    struct ReqNotifyCq = ib_uverbs_req_notify_cq {
        cq_handle: u32,
        solicited_only: u32,
    }

    struct PollCq = ib_uverbs_poll_cq {
        response: u64,
        cq_handle: u32,
        ne: u32,
    }

    /// Followed by [`Wc`]s.
    struct PollCqResp = ib_uverbs_poll_cq_resp {
        count: u32,
        reserved: u32,
    }

    struct Wc = ib_uverbs_wc {
        wr_id: u64,
        status: u32,
        opcode: u32,
        vendor_err: u32,
        byte_len: u32,
        ex: u32,
        qp_num: u32,
        src_qp: u32,
        wc_flags: u32,
        pkey_index: u16,
        slid: u16,
        sl: u8,
        dlid_path_bits: u8,
        port_num: u8,
        reserved: u8,
    }

    struct DestroyCq = ib_uverbs_destroy_cq {
        response: u64,
        cq_handle: u32,
        reserved: u32,
    }

    struct DestroyCqResp = ib_uverbs_destroy_cq_resp {
        comp_events_reported: u32,
        async_events_reported: u32,
    }

    struct CqAttrs = shverbs_cq_attrs {
        cqe: u32,
        reserved: u32,
    }
}
