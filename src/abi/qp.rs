// SPDX-License-Identifier: GPL-2.0

//! Queue pairs: `ib_user_verbs.h` and `ib_user_ioctl_verbs.h`.

use super::wire;

wire! {
    struct QpCap = ib_uverbs_qp_cap {
        max_send_wr: u32,
        max_recv_wr: u32,
        max_send_sge: u32,
        max_recv_sge: u32,
        max_inline_data: u32,
    }

    struct CreateQp = ib_uverbs_create_qp {
        response: u64,
        user_handle: u64,
        pd_handle: u32,
        send_cq_handle: u32,
        recv_cq_handle: u32,
        srq_handle: u32,
        max_send_wr: u32,
        max_recv_wr: u32,
        max_send_sge: u32,
        max_recv_sge: u32,
        max_inline_data: u32,
        sq_sig_all: u8,
        qp_type: u8,
        is_srq: u8,
        reserved: u8,
    }

    struct CreateQpResp = ib_uverbs_create_qp_resp {
        qp_handle: u32,
        qpn: u32,
        max_send_wr: u32,
        max_recv_wr: u32,
        max_send_sge: u32,
        max_recv_sge: u32,
        max_inline_data: u32,
        reserved: u32,
    }

    struct ExCreateQp = ib_uverbs_ex_create_qp {
        user_handle: u64,
        pd_handle: u32,
        send_cq_handle: u32,
        recv_cq_handle: u32,
        srq_handle: u32,
        max_send_wr: u32,
        max_recv_wr: u32,
        max_send_sge: u32,
        max_recv_sge: u32,
        max_inline_data: u32,
        sq_sig_all: u8,
        qp_type: u8,
        is_srq: u8,
        reserved: u8,
        comp_mask: u32,
        create_flags: u32,
        rwq_ind_tbl_handle: u32,
        source_qpn: u32,
    }

    struct ExCreateQpResp = ib_uverbs_ex_create_qp_resp {
        base: CreateQpResp,
        comp_mask: u32,
        response_length: u32,
    }

    struct DestroyQp = ib_uverbs_destroy_qp {
        response: u64,
        qp_handle: u32,
        reserved: u32,
    }

    struct DestroyQpResp = ib_uverbs_destroy_qp_resp {
        events_reported: u32,
    }

    /// What attaching and detaching have in common.
    struct Mcast = ib_uverbs_attach_mcast {
        gid: [u8; 16],
        qp_handle: u32,
        mlid: u16,
        reserved: u16,
    }

    struct QpDest = ib_uverbs_qp_dest {
        dgid: [u8; 16],
        flow_label: u32,
        dlid: u16,
        reserved: u16,
        sgid_index: u8,
        hop_limit: u8,
        traffic_class: u8,
        sl: u8,
        src_path_bits: u8,
        static_rate: u8,
        is_global: u8,
        port_num: u8,
    }

    struct ModifyQp = ib_uverbs_modify_qp {
        dest: QpDest,
        alt_dest: QpDest,
        qp_handle: u32,
        attr_mask: u32,
        qkey: u32,
        rq_psn: u32,
        sq_psn: u32,
        dest_qp_num: u32,
        qp_access_flags: u32,
        pkey_index: u16,
        alt_pkey_index: u16,
        qp_state: u8,
        cur_qp_state: u8,
        path_mtu: u8,
        path_mig_state: u8,
        en_sqd_async_notify: u8,
        max_rd_atomic: u8,
        max_dest_rd_atomic: u8,
        min_rnr_timer: u8,
        port_num: u8,
        timeout: u8,
        retry_cnt: u8,
        rnr_retry: u8,
        alt_port_num: u8,
        alt_timeout: u8,
        reserved: [u8; 2],
    }

    struct ExModifyQp = ib_uverbs_ex_modify_qp {
        base: ModifyQp,
        rate_limit: u32,
        reserved: u32,
    }

    struct ExModifyQpResp = ib_uverbs_ex_modify_qp_resp {
        comp_mask: u32,
        response_length: u32,
    }

    struct QueryQp = ib_uverbs_query_qp {
        response: u64,
        qp_handle: u32,
        attr_mask: u32,
    }

    struct QueryQpResp = ib_uverbs_query_qp_resp {
        dest: QpDest,
        alt_dest: QpDest,
        max_send_wr: u32,
        max_recv_wr: u32,
        max_send_sge: u32,
        max_recv_sge: u32,
        max_inline_data: u32,
        qkey: u32,
        rq_psn: u32,
        sq_psn: u32,
        dest_qp_num: u32,
        qp_access_flags: u32,
        pkey_index: u16,
        alt_pkey_index: u16,
        qp_state: u8,
        cur_qp_state: u8,
        path_mtu: u8,
        path_mig_state: u8,
        sq_draining: u8,
        max_rd_atomic: u8,
        max_dest_rd_atomic: u8,
        min_rnr_timer: u8,
        port_num: u8,
        timeout: u8,
        retry_cnt: u8,
        rnr_retry: u8,
        alt_port_num: u8,
        alt_timeout: u8,
        sq_sig_all: u8,
        reserved: [u8; 5],
    }

    /// Memory that user space has for a driver's rings, as the driver takes it from the call.
    struct BufferDesc = ib_uverbs_buffer_desc {
        type_: u32,
        fd: i32,
        flags: u32,
        optional_flags: u32,
        addr: u64,
        length: u64,
    }

    struct QpAttrs = shverbs_qp_attrs {
        qp_num: u32,
        qp_type: u32,
    }
}
