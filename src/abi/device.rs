// SPDX-License-Identifier: GPL-2.0

//! Contexts, devices and ports: `ib_user_verbs.h` and `ib_user_ioctl_verbs.h`.

use super::wire;

wire! {
    struct GetContext = ib_uverbs_get_context {
        response: u64,
    }

    struct GetContextResp = ib_uverbs_get_context_resp {
        async_fd: u32,
        num_comp_vectors: u32,
    }

    struct QueryDevice = ib_uverbs_query_device {
        response: u64,
    }

    struct QueryDeviceResp = ib_uverbs_query_device_resp {
        fw_ver: u64,
        node_guid: u64,
        sys_image_guid: u64,
        max_mr_size: u64,
        page_size_cap: u64,
        vendor_id: u32,
        vendor_part_id: u32,
        hw_ver: u32,
        max_qp: u32,
        max_qp_wr: u32,
        device_cap_flags: u32,
        max_sge: u32,
        max_sge_rd: u32,
        max_cq: u32,
        max_cqe: u32,
        max_mr: u32,
        max_pd: u32,
        max_qp_rd_atom: u32,
        max_ee_rd_atom: u32,
        max_res_rd_atom: u32,
        max_qp_init_rd_atom: u32,
        max_ee_init_rd_atom: u32,
        atomic_cap: u32,
        max_ee: u32,
        max_rdd: u32,
        max_mw: u32,
        max_raw_ipv6_qp: u32,
        max_raw_ethy_qp: u32,
        max_mcast_grp: u32,
        max_mcast_qp_attach: u32,
        max_total_mcast_qp_attach: u32,
        max_ah: u32,
        max_fmr: u32,
        max_map_per_fmr: u32,
        max_srq: u32,
        max_srq_wr: u32,
        max_srq_sge: u32,
        max_pkeys: u16,
        local_ca_ack_delay: u8,
        phys_port_cnt: u8,
        reserved: [u8; 4],
    }

    struct ExQueryDevice = ib_uverbs_ex_query_device {
        comp_mask: u32,
        reserved: u32,
    }

    struct TransportCaps = ib_uverbs_odp_caps__bindgen_ty_1 {
        rc_odp_caps: u32,
        uc_odp_caps: u32,
        ud_odp_caps: u32,
    }

    struct OdpCaps = ib_uverbs_odp_caps {
        general_caps: u64,
        per_transport_caps: TransportCaps,
        reserved: u32,
    }

    struct RssCaps = ib_uverbs_rss_caps {
        supported_qpts: u32,
        max_rwq_indirection_tables: u32,
        max_rwq_indirection_table_size: u32,
        reserved: u32,
    }

    struct TmCaps = ib_uverbs_tm_caps {
        max_rndv_hdr_size: u32,
        max_num_tags: u32,
        flags: u32,
        max_ops: u32,
        max_sge: u32,
        reserved: u32,
    }

    struct CqModerationCaps = ib_uverbs_cq_moderation_caps {
        max_cq_moderation_count: u16,
        max_cq_moderation_period: u16,
        reserved: u32,
    }

    struct ExQueryDeviceResp = ib_uverbs_ex_query_device_resp {
        base: QueryDeviceResp,
        comp_mask: u32,
        response_length: u32,
        odp_caps: OdpCaps,
        timestamp_mask: u64,
        hca_core_clock: u64,
        device_cap_flags_ex: u64,
        rss_caps: RssCaps,
        max_wq_type_rq: u32,
        raw_packet_caps: u32,
        tm_caps: TmCaps,
        cq_moderation_caps: CqModerationCaps,
        max_dm_size: u64,
        xrc_odp_caps: u32,
        reserved: u32,
    }

    struct QueryPort = ib_uverbs_query_port {
        response: u64,
        port_num: u8,
        reserved: [u8; 7],
    }

    struct QueryPortResp = ib_uverbs_query_port_resp {
        port_cap_flags: u32,
        max_msg_sz: u32,
        bad_pkey_cntr: u32,
        qkey_viol_cntr: u32,
        gid_tbl_len: u32,
        pkey_tbl_len: u16,
        lid: u16,
        sm_lid: u16,
        state: u8,
        max_mtu: u8,
        active_mtu: u8,
        lmc: u8,
        max_vl_num: u8,
        sm_sl: u8,
        subnet_timeout: u8,
        init_type_reply: u8,
        active_width: u8,
        active_speed: u8,
        phys_state: u8,
        link_layer: u8,
        flags: u8,
        reserved: u8,
    }

    struct QueryPortRespEx = ib_uverbs_query_port_resp_ex {
        legacy_resp: QueryPortResp,
        port_cap_flags2: u16,
        reserved: [u8; 2],
        active_speed_ex: u32,
    }

    struct GidEntry = ib_uverbs_gid_entry {
        gid: [u64; 2],
        gid_index: u32,
        port_num: u32,
        gid_type: u32,
        netdev_ifindex: u32,
    }
}
