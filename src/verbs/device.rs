// SPDX-License-Identifier: GPL-2.0

//! Contexts, the device and its ports.

use crate::sys::num::Unsigned;
use crate::{
    abi::device::{
        CqModerationCaps,
        ExQueryDevice,
        ExQueryDeviceResp,
        GetContext,
        GetContextResp,
        GidEntry,
        OdpCaps,
        QueryDevice,
        QueryDeviceResp,
        QueryPort,
        QueryPortResp,
        QueryPortRespEx,
        RssCaps,
        TmCaps,
        TransportCaps, //
    },
    bindings as b,
    dispatch::{
        self,
        method::{
            UHW_IN,
            UHW_OUT, //
        },
        Attr,
        Call,
        Command,
        Method, //
    },
    object::event_file::Sort,
    rdma::{
        device::Live,
        port::{
            self,
            Port, //
        },
        query, //
    },
};
use kernel::prelude::*;

pub(super) const METHODS: &[Method] = &[
    Method::new(
        b::uverbs_methods_device_UVERBS_METHOD_INVOKE_WRITE,
        &[
            Attr::constant(invoke::COMMAND),
            Attr::input_min(invoke::IN, 4).optional(),
            Attr::output_min(invoke::OUT, 0).optional(),
            UHW_IN,
            UHW_OUT,
        ],
        invoke_write,
    )
    .after_removal(),
    Method::new(
        b::uverbs_methods_device_UVERBS_METHOD_GET_CONTEXT,
        &[
            Attr::output::<u32>(context::GET_VECTORS).optional(),
            Attr::output::<u64>(context::GET_SUPPORT).optional(),
            Attr::input_min(context::UCAPS, 4).optional(),
            UHW_IN,
            UHW_OUT,
        ],
        get_context,
    ),
    Method::new(
        b::uverbs_methods_device_UVERBS_METHOD_QUERY_CONTEXT,
        &[
            Attr::output::<u32>(context::QUERY_VECTORS).optional(),
            Attr::output::<u64>(context::QUERY_SUPPORT).optional(),
        ],
        query_context,
    ),
    Method::new(
        b::uverbs_methods_device_UVERBS_METHOD_QUERY_PORT,
        &[
            Attr::constant(PORT_NUM),
            Attr::output_struct::<QueryPortRespEx>(PORT_RESP, size_of::<QueryPortRespEx>()),
        ],
        query_port_ioctl,
    ),
    Method::new(
        b::uverbs_methods_device_UVERBS_METHOD_QUERY_GID_TABLE,
        &[
            Attr::constant(gid::ENTRY_SIZE),
            Attr::flags(gid::FLAGS).optional(),
            Attr::output_min(gid::ENTRIES, 0),
            Attr::output::<u64>(gid::COUNT),
        ],
        query_gid_table,
    ),
    Method::new(
        b::uverbs_methods_device_UVERBS_METHOD_QUERY_GID_ENTRY,
        &[
            Attr::constant(gid::PORT),
            Attr::constant(gid::INDEX),
            Attr::flags(gid::ENTRY_FLAGS),
            Attr::output_struct::<GidEntry>(gid::ENTRY, size_of::<GidEntry>()),
        ],
        query_gid_entry,
    ),
];

pub(super) const COMMANDS: &[Command] = &[
    Command::new::<GetContext, GetContextResp>(
        b::ib_uverbs_write_cmds_IB_USER_VERBS_CMD_GET_CONTEXT,
        get_context_write,
    ),
    Command::new::<QueryDevice, QueryDeviceResp>(
        b::ib_uverbs_write_cmds_IB_USER_VERBS_CMD_QUERY_DEVICE,
        query_device,
    )
    .no_udata(),
    Command::new::<QueryPort, QueryPortResp>(
        b::ib_uverbs_write_cmds_IB_USER_VERBS_CMD_QUERY_PORT,
        query_port_write,
    )
    .no_udata(),
    Command::extended(b::IB_USER_VERBS_EX_CMD_QUERY_DEVICE, query_device_ex),
];

const PORT_NUM: u32 = b::uverbs_attrs_query_port_cmd_attr_ids_UVERBS_ATTR_QUERY_PORT_PORT_NUM;
const PORT_RESP: u32 = b::uverbs_attrs_query_port_cmd_attr_ids_UVERBS_ATTR_QUERY_PORT_RESP;

mod invoke {
    use crate::bindings as b;
    pub(super) const COMMAND: u32 = b::uverbs_attrs_invoke_write_cmd_attr_ids_UVERBS_ATTR_WRITE_CMD;
    pub(super) const IN: u32 = b::uverbs_attrs_invoke_write_cmd_attr_ids_UVERBS_ATTR_CORE_IN;
    pub(super) const OUT: u32 = b::uverbs_attrs_invoke_write_cmd_attr_ids_UVERBS_ATTR_CORE_OUT;
}

mod context {
    use crate::bindings as b;
    pub(super) const GET_VECTORS: u32 =
        b::uverbs_attrs_get_context_attr_ids_UVERBS_ATTR_GET_CONTEXT_NUM_COMP_VECTORS;
    pub(super) const GET_SUPPORT: u32 =
        b::uverbs_attrs_get_context_attr_ids_UVERBS_ATTR_GET_CONTEXT_CORE_SUPPORT;
    pub(super) const UCAPS: u32 =
        b::uverbs_attrs_get_context_attr_ids_UVERBS_ATTR_GET_CONTEXT_FD_ARR;
    pub(super) const QUERY_VECTORS: u32 =
        b::uverbs_attrs_query_context_attr_ids_UVERBS_ATTR_QUERY_CONTEXT_NUM_COMP_VECTORS;
    pub(super) const QUERY_SUPPORT: u32 =
        b::uverbs_attrs_query_context_attr_ids_UVERBS_ATTR_QUERY_CONTEXT_CORE_SUPPORT;
}

mod gid {
    use crate::bindings as b;
    pub(super) const ENTRY_SIZE: u32 =
        b::uverbs_attrs_query_gid_table_cmd_attr_ids_UVERBS_ATTR_QUERY_GID_TABLE_ENTRY_SIZE;
    pub(super) const FLAGS: u32 =
        b::uverbs_attrs_query_gid_table_cmd_attr_ids_UVERBS_ATTR_QUERY_GID_TABLE_FLAGS;
    pub(super) const ENTRIES: u32 =
        b::uverbs_attrs_query_gid_table_cmd_attr_ids_UVERBS_ATTR_QUERY_GID_TABLE_RESP_ENTRIES;
    pub(super) const COUNT: u32 =
        b::uverbs_attrs_query_gid_table_cmd_attr_ids_UVERBS_ATTR_QUERY_GID_TABLE_RESP_NUM_ENTRIES;
    pub(super) const PORT: u32 =
        b::uverbs_attrs_query_gid_entry_cmd_attr_ids_UVERBS_ATTR_QUERY_GID_ENTRY_PORT;
    pub(super) const INDEX: u32 =
        b::uverbs_attrs_query_gid_entry_cmd_attr_ids_UVERBS_ATTR_QUERY_GID_ENTRY_GID_INDEX;
    pub(super) const ENTRY_FLAGS: u32 =
        b::uverbs_attrs_query_gid_entry_cmd_attr_ids_UVERBS_ATTR_QUERY_GID_ENTRY_FLAGS;
    pub(super) const ENTRY: u32 =
        b::uverbs_attrs_query_gid_entry_cmd_attr_ids_UVERBS_ATTR_QUERY_GID_ENTRY_RESP_ENTRY;
}

/// Runs a write command with the marshalling of the ioctl.
fn invoke_write(call: &mut Call<'_, '_>) -> Result {
    let command = dispatch::write::command(call.live().ok(), call.constant(invoke::COMMAND)?)?;
    call.set_core(invoke::IN, invoke::OUT)?;
    if call.core_in.len < command.request || call.core_out.len < command.response {
        return Err(ENOSPC);
    }
    (command.run)(call)
}

/// What this kernel can do, `enum ib_uverbs_core_support`.
fn core_support(live: &Live<'_>) -> u64 {
    let mut support = b::ib_uverbs_core_support_IB_UVERBS_CORE_SUPPORT_OPTIONAL_MR_ACCESS;
    if live.ops().uverbs_robust_udata() != 0 {
        support |= b::ib_uverbs_core_support_IB_UVERBS_CORE_SUPPORT_ROBUST_UDATA;
    }
    u64::from(support)
}

fn get_context(call: &mut Call<'_, '_>) -> Result {
    call.write_if(context::GET_VECTORS, &call.live()?.num_comp_vectors())?;
    call.write_if(context::GET_SUPPORT, &core_support(call.live()?))?;
    let mut ucaps = if call.has(context::UCAPS) {
        call.read_array(context::UCAPS)?
    } else {
        KVec::new()
    };
    call.file
        .make_context(call.live()?, &mut ucaps, call.bundle)
}

/// As [`get_context`], with a descriptor for asynchronous events.
fn get_context_write(call: &mut Call<'_, '_>) -> Result {
    let _request: GetContext = call.request()?;
    let (fd, events) = call.file.data().events().create(Sort::Async)?;
    // The response first: a context cannot be taken back from the file that has it.
    call.respond(&GetContextResp {
        async_fd: fd.number(),
        num_comp_vectors: call.live()?.num_comp_vectors(),
    })?;
    call.file.make_context(call.live()?, &mut [], call.bundle)?;
    call.pend_fd(fd);
    events.start(call.live()?);
    Ok(())
}

fn query_context(call: &mut Call<'_, '_>) -> Result {
    let context = call.context()?.lock(call.live()?)?;
    if call.live()?.ops().query_ucontext.is_none() {
        return Err(EOPNOTSUPP);
    }
    call.write_if(context::QUERY_VECTORS, &call.live()?.num_comp_vectors())?;
    let support = b::ib_uverbs_core_support_IB_UVERBS_CORE_SUPPORT_OPTIONAL_MR_ACCESS;
    call.write_if(context::QUERY_SUPPORT, &u64::from(support))?;
    query::ucontext(call.live()?, &context.borrow(), call.bundle)
}

fn query_device(call: &mut Call<'_, '_>) -> Result {
    call.context()?;
    let _request: QueryDevice = call.request()?;
    call.respond(&device_resp(call.live()?, call.live()?.attrs()))
}

fn query_device_ex(call: &mut Call<'_, '_>) -> Result {
    call.context()?;
    let request: ExQueryDevice = call.request()?;
    if request.comp_mask != 0 || request.reserved != 0 {
        return Err(EINVAL);
    }
    let attr = query::device(call.live()?, call.bundle)?;
    let transport = &attr.odp_caps.per_transport_caps;
    let mut flags = attr.device_cap_flags;
    if call.live()?.cc_dma_bounce() {
        flags |= CC_DMA_BOUNCE;
    }
    call.respond(&ExQueryDeviceResp {
        base: device_resp(call.live()?, &attr),
        comp_mask: 0,
        response_length: call.response_length::<ExQueryDeviceResp>(),
        odp_caps: OdpCaps {
            general_caps: attr.odp_caps.general_caps,
            per_transport_caps: TransportCaps {
                rc_odp_caps: transport.rc_odp_caps,
                uc_odp_caps: transport.uc_odp_caps,
                ud_odp_caps: transport.ud_odp_caps,
            },
            reserved: 0,
        },
        timestamp_mask: attr.timestamp_mask,
        hca_core_clock: attr.hca_core_clock,
        device_cap_flags_ex: flags,
        rss_caps: RssCaps {
            supported_qpts: attr.rss_caps.supported_qpts,
            max_rwq_indirection_tables: attr.rss_caps.max_rwq_indirection_tables,
            max_rwq_indirection_table_size: attr.rss_caps.max_rwq_indirection_table_size,
            reserved: 0,
        },
        max_wq_type_rq: attr.max_wq_type_rq,
        raw_packet_caps: attr.raw_packet_caps,
        tm_caps: TmCaps {
            max_rndv_hdr_size: attr.tm_caps.max_rndv_hdr_size,
            max_num_tags: attr.tm_caps.max_num_tags,
            flags: attr.tm_caps.flags,
            max_ops: attr.tm_caps.max_ops,
            max_sge: attr.tm_caps.max_sge,
            reserved: 0,
        },
        cq_moderation_caps: CqModerationCaps {
            max_cq_moderation_count: attr.cq_caps.max_cq_moderation_count,
            max_cq_moderation_period: attr.cq_caps.max_cq_moderation_period,
            reserved: 0,
        },
        max_dm_size: attr.max_dm_size,
        xrc_odp_caps: transport.xrc_odp_caps,
        reserved: 0,
    })
}

/// Not among the bits that a driver sets.
const CC_DMA_BOUNCE: u64 = b::ib_uverbs_device_cap_flags_IB_UVERBS_DEVICE_CC_DMA_BOUNCE as u64;

/// The low half, where the ABI has no room for more.
fn low_half(flags: u64) -> u32 {
    u32::try_from(flags & u64::from(u32::MAX)).unwrap_or(0)
}

fn device_resp(live: &Live<'_>, a: &b::ib_device_attr) -> QueryDeviceResp {
    QueryDeviceResp {
        fw_ver: a.fw_ver,
        node_guid: live.node_guid(),
        sys_image_guid: a.sys_image_guid,
        max_mr_size: a.max_mr_size,
        page_size_cap: a.page_size_cap,
        vendor_id: a.vendor_id,
        vendor_part_id: a.vendor_part_id,
        hw_ver: a.hw_ver,
        max_qp: a.max_qp,
        max_qp_wr: a.max_qp_wr,
        device_cap_flags: low_half(a.device_cap_flags),
        max_sge: a.max_send_sge.min(a.max_recv_sge),
        max_sge_rd: a.max_sge_rd,
        max_cq: a.max_cq,
        max_cqe: a.max_cqe,
        max_mr: a.max_mr,
        max_pd: a.max_pd,
        max_qp_rd_atom: a.max_qp_rd_atom,
        max_ee_rd_atom: a.max_ee_rd_atom,
        max_res_rd_atom: a.max_res_rd_atom,
        max_qp_init_rd_atom: a.max_qp_init_rd_atom,
        max_ee_init_rd_atom: a.max_ee_init_rd_atom,
        atomic_cap: a.atomic_cap,
        max_ee: a.max_ee,
        max_rdd: a.max_rdd,
        max_mw: a.max_mw,
        max_raw_ipv6_qp: a.max_raw_ipv6_qp,
        max_raw_ethy_qp: a.max_raw_ethy_qp,
        max_mcast_grp: a.max_mcast_grp,
        max_mcast_qp_attach: a.max_mcast_qp_attach,
        max_total_mcast_qp_attach: a.max_total_mcast_qp_attach,
        max_ah: a.max_ah,
        max_fmr: 0,
        max_map_per_fmr: 0,
        max_srq: a.max_srq,
        max_srq_wr: a.max_srq_wr,
        max_srq_sge: a.max_srq_sge,
        max_pkeys: a.max_pkeys,
        local_ca_ack_delay: a.local_ca_ack_delay,
        phys_port_cnt: u8::try_from(live.phys_port_cnt()).unwrap_or(u8::MAX),
        reserved: [0; 4],
    }
}

/// What the ABI has 8 bits for.
fn low_byte(n: u32) -> u8 {
    n.to_le_bytes()[0]
}

fn port_resp(port: &Port) -> QueryPortResp {
    const IP_BASED_GIDS: u32 = b::ib_uverbs_query_port_cap_flags_IB_UVERBS_PCF_IP_BASED_GIDS;
    let a = &port.attr;
    // This bit has a meaning of its own here, unlike in PortInfo (IBTA 14.2.5.6).
    let mut caps = a.port_cap_flags & !IP_BASED_GIDS;
    if a.ip_gids() != 0 {
        caps |= IP_BASED_GIDS;
    }
    let speed = a.active_speed.min(NDR_SPEED);
    QueryPortResp {
        port_cap_flags: caps,
        max_msg_sz: a.max_msg_sz,
        bad_pkey_cntr: a.bad_pkey_cntr,
        qkey_viol_cntr: a.qkey_viol_cntr,
        gid_tbl_len: a.gid_tbl_len.to_unsigned(),
        pkey_tbl_len: a.pkey_tbl_len,
        lid: port.lid,
        sm_lid: port.sm_lid,
        state: low_byte(a.state),
        max_mtu: low_byte(a.max_mtu),
        active_mtu: low_byte(a.active_mtu),
        lmc: a.lmc,
        max_vl_num: a.max_vl_num,
        sm_sl: a.sm_sl,
        subnet_timeout: a.subnet_timeout,
        init_type_reply: a.init_type_reply,
        active_width: a.active_width,
        active_speed: low_byte(u32::from(speed)),
        phys_state: a.phys_state,
        link_layer: low_byte(port.link_layer.to_unsigned()),
        flags: if port.grh_required {
            low_byte(b::ib_uverbs_query_port_flags_IB_UVERBS_QPF_GRH_REQUIRED)
        } else {
            0
        },
        reserved: 0,
    }
}

/// The highest speed that fits into 8 bits; higher ones have a field of their own.
const NDR_SPEED: u16 = b::ib_port_speed_IB_SPEED_NDR as u16;

fn query_port_write(call: &mut Call<'_, '_>) -> Result {
    call.context()?;
    let request: QueryPort = call.request()?;
    let port = port::query(call.live()?, u32::from(request.port_num))?;
    call.respond(&port_resp(&port))
}

fn query_port_ioctl(call: &mut Call<'_, '_>) -> Result {
    call.context()?;
    let number: u8 = call.constant(PORT_NUM)?;
    let port = port::query(call.live()?, u32::from(number))?;
    call.write_struct(
        PORT_RESP,
        &QueryPortRespEx {
            legacy_resp: port_resp(&port),
            port_cap_flags2: port.attr.port_cap_flags2,
            reserved: [0; 2],
            active_speed_ex: u32::from(port.attr.active_speed),
        },
    )
}

fn gid_resp(entry: &b::ib_uverbs_gid_entry) -> GidEntry {
    GidEntry {
        gid: entry.gid,
        gid_index: entry.gid_index,
        port_num: entry.port_num,
        gid_type: entry.gid_type,
        netdev_ifindex: entry.netdev_ifindex,
    }
}

fn query_gid_table(call: &mut Call<'_, '_>) -> Result {
    call.flags(gid::FLAGS, 0)?;
    let entry_size: usize = call.constant(gid::ENTRY_SIZE)?;
    let attr = call.attr(gid::ENTRIES)?;
    let room = call.out_span(attr)?;
    if entry_size == 0 || room.len == 0 || room.len % entry_size != 0 {
        return Err(EINVAL);
    }
    call.context()?;
    let most = room.len / entry_size;
    let mut entries = KVVec::from_elem(b::ib_uverbs_gid_entry::default(), most, GFP_KERNEL)?;
    let count = port::gid_table(call.live()?, &mut entries)?;
    let mut at = room.at;
    for entry in entries.iter().take(count) {
        at.write_struct(&gid_resp(entry), entry_size)?;
        at = at.offset(entry_size)?;
    }
    call.mark_written(attr)?;
    call.write(gid::COUNT, &(count as u64))
}

fn query_gid_entry(call: &mut Call<'_, '_>) -> Result {
    call.flags(gid::ENTRY_FLAGS, 0)?;
    let number: u32 = call.constant(gid::PORT)?;
    let index: u32 = call.constant(gid::INDEX)?;
    call.context()?;
    if !port::is_valid(call.live()?, number) {
        return Err(EINVAL);
    }
    let entry = port::gid_entry(call.live()?, number, index)?;
    call.write_struct(gid::ENTRY, &gid_resp(&entry))
}
