// SPDX-License-Identifier: GPL-2.0

//! Work requests: `ib_user_verbs.h`.

use super::wire;

wire! {
    struct PostSend = ib_uverbs_post_send {
        response: u64,
        qp_handle: u32,
        wr_count: u32,
        sge_count: u32,
        wqe_size: u32,
    }

    struct PostRecv = ib_uverbs_post_recv {
        response: u64,
        qp_handle: u32,
        wr_count: u32,
        sge_count: u32,
        wqe_size: u32,
    }

    struct PostSrqRecv = ib_uverbs_post_srq_recv {
        response: u64,
        srq_handle: u32,
        wr_count: u32,
        sge_count: u32,
        wqe_size: u32,
    }

    /// What all answer: the place of the first work request that was not posted, counted from 1.
    struct PostResp = ib_uverbs_post_send_resp {
        bad_wr: u32,
    }

    /// `ex` is immediate data or a key, and `wr` a [`RdmaWr`], an [`AtomicWr`] or a [`UdWr`], as
    /// the opcode and the type of the QP say.
    struct SendWr = ib_uverbs_send_wr {
        wr_id: u64,
        num_sge: u32,
        opcode: u32,
        send_flags: u32,
        ex: u32,
        wr: [u8; 32],
    }

    struct RdmaWr = ib_uverbs_send_wr__bindgen_ty_2__bindgen_ty_1 {
        remote_addr: u64,
        rkey: u32,
        reserved: u32,
    }

    struct AtomicWr = ib_uverbs_send_wr__bindgen_ty_2__bindgen_ty_2 {
        remote_addr: u64,
        compare_add: u64,
        swap: u64,
        rkey: u32,
        reserved: u32,
    }

    struct UdWr = ib_uverbs_send_wr__bindgen_ty_2__bindgen_ty_3 {
        ah: u32,
        remote_qpn: u32,
        remote_qkey: u32,
        reserved: u32,
    }

    struct RecvWr = ib_uverbs_recv_wr {
        wr_id: u64,
        num_sge: u32,
        reserved: u32,
    }
}

const _: () =
    assert!(size_of::<PostResp>() == size_of::<crate::bindings::ib_uverbs_post_recv_resp>());
const _: () = assert!(
    size_of::<crate::rdma::work_request::Sge>() == size_of::<crate::bindings::ib_uverbs_sge>()
);
