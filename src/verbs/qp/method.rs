// SPDX-License-Identifier: GPL-2.0

//! Queue pairs by ioctl.

use super::{
    check_kind,
    create,
    destroy,
    no_table,
    none,
    Parents,
    Wish, //
};
use crate::{
    abi::qp::{
        BufferDesc,
        DestroyQpResp,
        QpCap, //
    },
    bindings as b,
    dispatch::{
        method::{
            UHW_IN,
            UHW_OUT, //
        },
        Attr,
        Call,
        Method, //
    },
    object::{
        event_file::Sort,
        kinds::{
            Cq,
            Pd,
            Srq, //
        },
    },
    rdma::qp::{
        create_flags,
        Caps, //
    },
};
use kernel::prelude::*;

pub(in crate::verbs) const METHODS: &[Method] = &[
    Method::new(
        b::uverbs_methods_qp_UVERBS_METHOD_QP_CREATE,
        &[
            Attr::handle(new::HANDLE),
            Attr::handle(new::XRCD).optional(),
            Attr::handle(new::PD).optional(),
            Attr::handle(new::SRQ).optional(),
            Attr::handle(new::SEND_CQ).optional(),
            Attr::handle(new::RECV_CQ).optional(),
            Attr::handle(new::TABLE).optional(),
            Attr::input::<u64>(new::USER_HANDLE),
            Attr::input_struct::<QpCap>(new::CAP, size_of::<QpCap>()),
            Attr::constant(new::TYPE),
            Attr::flags(new::FLAGS).optional(),
            Attr::input::<u32>(new::SOURCE_QPN).optional(),
            Attr::fd(new::EVENT_FD).optional(),
            Attr::output_struct::<QpCap>(new::RESP_CAP, size_of::<QpCap>()),
            Attr::output::<u32>(new::RESP_QP_NUM),
            // The driver reads these.
            Attr::input::<BufferDesc>(
                b::uverbs_attrs_create_qp_cmd_attr_ids_UVERBS_ATTR_CREATE_QP_BUF_UMEM,
            )
            .optional(),
            Attr::input::<BufferDesc>(
                b::uverbs_attrs_create_qp_cmd_attr_ids_UVERBS_ATTR_CREATE_QP_RQ_BUF_UMEM,
            )
            .optional(),
            Attr::input::<BufferDesc>(
                b::uverbs_attrs_create_qp_cmd_attr_ids_UVERBS_ATTR_CREATE_QP_SQ_BUF_UMEM,
            )
            .optional(),
            UHW_IN,
            UHW_OUT,
        ],
        run,
    ),
    Method::new(
        b::uverbs_methods_qp_UVERBS_METHOD_QP_DESTROY,
        &[
            Attr::handle(DESTROY_HANDLE),
            Attr::output::<DestroyQpResp>(DESTROY_RESP),
        ],
        |call| {
            let response = destroy(call, call.number(DESTROY_HANDLE)?)?;
            call.write(DESTROY_RESP, &response)
        },
    )
    .after_removal(),
];

const DESTROY_HANDLE: u32 = b::uverbs_attrs_destroy_qp_cmd_attr_ids_UVERBS_ATTR_DESTROY_QP_HANDLE;
const DESTROY_RESP: u32 = b::uverbs_attrs_destroy_qp_cmd_attr_ids_UVERBS_ATTR_DESTROY_QP_RESP;

/// The attributes of `UVERBS_METHOD_QP_CREATE`.
mod new {
    use crate::bindings as b;
    pub(super) const HANDLE: u32 =
        b::uverbs_attrs_create_qp_cmd_attr_ids_UVERBS_ATTR_CREATE_QP_HANDLE;
    pub(super) const XRCD: u32 =
        b::uverbs_attrs_create_qp_cmd_attr_ids_UVERBS_ATTR_CREATE_QP_XRCD_HANDLE;
    pub(super) const PD: u32 =
        b::uverbs_attrs_create_qp_cmd_attr_ids_UVERBS_ATTR_CREATE_QP_PD_HANDLE;
    pub(super) const SRQ: u32 =
        b::uverbs_attrs_create_qp_cmd_attr_ids_UVERBS_ATTR_CREATE_QP_SRQ_HANDLE;
    pub(super) const SEND_CQ: u32 =
        b::uverbs_attrs_create_qp_cmd_attr_ids_UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE;
    pub(super) const RECV_CQ: u32 =
        b::uverbs_attrs_create_qp_cmd_attr_ids_UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE;
    pub(super) const TABLE: u32 =
        b::uverbs_attrs_create_qp_cmd_attr_ids_UVERBS_ATTR_CREATE_QP_IND_TABLE_HANDLE;
    pub(super) const USER_HANDLE: u32 =
        b::uverbs_attrs_create_qp_cmd_attr_ids_UVERBS_ATTR_CREATE_QP_USER_HANDLE;
    pub(super) const CAP: u32 = b::uverbs_attrs_create_qp_cmd_attr_ids_UVERBS_ATTR_CREATE_QP_CAP;
    pub(super) const TYPE: u32 = b::uverbs_attrs_create_qp_cmd_attr_ids_UVERBS_ATTR_CREATE_QP_TYPE;
    pub(super) const FLAGS: u32 =
        b::uverbs_attrs_create_qp_cmd_attr_ids_UVERBS_ATTR_CREATE_QP_FLAGS;
    pub(super) const SOURCE_QPN: u32 =
        b::uverbs_attrs_create_qp_cmd_attr_ids_UVERBS_ATTR_CREATE_QP_SOURCE_QPN;
    pub(super) const EVENT_FD: u32 =
        b::uverbs_attrs_create_qp_cmd_attr_ids_UVERBS_ATTR_CREATE_QP_EVENT_FD;
    pub(super) const RESP_CAP: u32 =
        b::uverbs_attrs_create_qp_cmd_attr_ids_UVERBS_ATTR_CREATE_QP_RESP_CAP;
    pub(super) const RESP_QP_NUM: u32 =
        b::uverbs_attrs_create_qp_cmd_attr_ids_UVERBS_ATTR_CREATE_QP_RESP_QP_NUM;
}

impl From<QpCap> for Caps {
    fn from(cap: QpCap) -> Self {
        Self {
            max_send_wr: cap.max_send_wr,
            max_recv_wr: cap.max_recv_wr,
            max_send_sge: cap.max_send_sge,
            max_recv_sge: cap.max_recv_sge,
            max_inline_data: cap.max_inline_data,
        }
    }
}

impl From<Caps> for QpCap {
    fn from(caps: Caps) -> Self {
        Self {
            max_send_wr: caps.max_send_wr,
            max_recv_wr: caps.max_recv_wr,
            max_send_sge: caps.max_send_sge,
            max_recv_sge: caps.max_recv_sge,
            max_inline_data: caps.max_inline_data,
        }
    }
}

fn run(call: &mut Call<'_, '_>) -> Result {
    let handle = call.reserve(Some(new::HANDLE))?;
    let caps: QpCap = call.read(new::CAP)?;
    let user_handle = call.read(new::USER_HANDLE)?;
    let kind: u32 = call.constant(new::TYPE)?;
    check_kind(call.live()?, kind)?;
    let parents = parents(call, kind)?;
    let mut flags = call.flags(new::FLAGS, FLAGS)?;
    check_flags(kind, flags)?;
    let signal_all = flags & SQ_SIG_ALL != 0;
    flags &= !SQ_SIG_ALL;
    let files = call.file.data().events();
    let events = if call.has(new::EVENT_FD) {
        Some(files.lookup(call.number(new::EVENT_FD)?, Sort::Async)?)
    } else {
        files.default_queue()
    };
    let mut source_qpn = 0;
    if call.has(new::SOURCE_QPN) {
        source_qpn = call.read(new::SOURCE_QPN)?;
        flags |= create_flags::SOURCE_QPN;
    }
    let wish = Wish {
        kind,
        caps: caps.into(),
        signal_all,
        flags,
        source_qpn,
        user_handle,
        events,
    };
    let (qpn, caps) = create(call, handle, &parents, wish)?;
    call.write_struct(new::RESP_CAP, &QpCap::from(caps))?;
    call.write(new::RESP_QP_NUM, &qpn)
}

/// The parents of a QP that the ioctl makes.
fn parents<'a>(call: &Call<'a, '_>, kind: u32) -> Result<Parents<'a>> {
    if kind == b::ib_qp_type_IB_QPT_XRC_TGT {
        if [new::RECV_CQ, new::SEND_CQ, new::PD, new::TABLE]
            .iter()
            .any(|&id| call.has(id))
        {
            return Err(EINVAL);
        }
        return Err(none(call, call.number(new::XRCD)?));
    }
    let is_xrc = kind == b::ib_qp_type_IB_QPT_XRC_INI;
    if call.has(new::XRCD) || (call.has(new::SRQ) && is_xrc) {
        return Err(EINVAL);
    }
    let pd = call.find::<Pd>(call.number(new::PD)?)?;
    if call.has(new::TABLE) {
        return Err(no_table(call, call.number(new::TABLE)?));
    }
    let srq = if call.has(new::SRQ) {
        Some(call.find::<Srq>(call.number(new::SRQ)?)?)
    } else {
        None
    };
    let send_cq = call.find::<Cq>(call.number(new::SEND_CQ)?)?;
    let recv_cq = if is_xrc {
        None
    } else {
        Some(call.find::<Cq>(call.number(new::RECV_CQ)?)?)
    };
    Ok(Parents {
        pd,
        send_cq,
        recv_cq,
        srq,
    })
}

const SQ_SIG_ALL: u32 = b::ib_uverbs_qp_create_flags_IB_UVERBS_QP_CREATE_SQ_SIG_ALL;
const SCATTER_FCS: u32 = b::ib_uverbs_qp_create_flags_IB_UVERBS_QP_CREATE_SCATTER_FCS;
const CVLAN_STRIPPING: u32 = b::ib_uverbs_qp_create_flags_IB_UVERBS_QP_CREATE_CVLAN_STRIPPING;
/// All that the ioctl knows.
const FLAGS: u32 = b::ib_uverbs_qp_create_flags_IB_UVERBS_QP_CREATE_BLOCK_MULTICAST_LOOPBACK
    | SCATTER_FCS
    | CVLAN_STRIPPING
    | b::ib_uverbs_qp_create_flags_IB_UVERBS_QP_CREATE_PCI_WRITE_END_PADDING
    | SQ_SIG_ALL;

/// `EINVAL` for flags that the type of QP cannot have.
fn check_flags(kind: u32, flags: u32) -> Result {
    let allowed = match kind {
        b::ib_qp_type_IB_QPT_DRIVER | b::ib_qp_type_IB_QPT_RAW_PACKET => FLAGS,
        b::ib_qp_type_IB_QPT_UD => FLAGS & !(SCATTER_FCS | CVLAN_STRIPPING),
        _ => SQ_SIG_ALL,
    };
    if flags & !allowed == 0 {
        Ok(())
    } else {
        Err(EINVAL)
    }
}

#[kunit_tests(shverbs_qp_flags)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_those_of_the_type() {
        assert!(check_flags(b::ib_qp_type_IB_QPT_RC, SQ_SIG_ALL).is_ok());
        assert_eq!(
            check_flags(b::ib_qp_type_IB_QPT_RC, SCATTER_FCS),
            Err(EINVAL)
        );
        assert_eq!(
            check_flags(b::ib_qp_type_IB_QPT_UD, SCATTER_FCS),
            Err(EINVAL)
        );
        assert!(check_flags(
            b::ib_qp_type_IB_QPT_UD,
            FLAGS & !SCATTER_FCS & !CVLAN_STRIPPING
        )
        .is_ok());
        assert!(check_flags(b::ib_qp_type_IB_QPT_RAW_PACKET, FLAGS).is_ok());
        assert!(check_flags(b::ib_qp_type_IB_QPT_DRIVER, FLAGS).is_ok());
    }
}
