// SPDX-License-Identifier: GPL-2.0

//! Queue pairs by write commands.

use super::{
    check_kind,
    create,
    destroy,
    no_table,
    Parents,
    Wish, //
};
use crate::{
    abi::qp::{
        CreateQp,
        CreateQpResp,
        DestroyQp,
        DestroyQpResp,
        ExCreateQp,
        ExCreateQpResp, //
    },
    bindings as b,
    dispatch::{
        Call,
        Command, //
    },
    object::kinds::{
        Cq,
        Pd,
        Srq, //
    },
    rdma::qp::{
        create_flags,
        Caps, //
    },
};
use kernel::prelude::*;

pub(in crate::verbs) const COMMANDS: &[Command] = &[
    Command::new::<CreateQp, CreateQpResp>(
        b::ib_uverbs_write_cmds_IB_USER_VERBS_CMD_CREATE_QP,
        |call| {
            let request: CreateQp = call.request()?;
            run(call, request.into())
        },
    ),
    Command::extended(b::IB_USER_VERBS_EX_CMD_CREATE_QP, |call| {
        let request: ExCreateQp = call.request()?;
        if request.comp_mask & !b::IB_UVERBS_CREATE_QP_SUP_COMP_MASK != 0 || request.reserved != 0 {
            return Err(EINVAL);
        }
        run(call, request)
    }),
    Command::new::<DestroyQp, DestroyQpResp>(
        b::ib_uverbs_write_cmds_IB_USER_VERBS_CMD_DESTROY_QP,
        |call| {
            let request: DestroyQp = call.request()?;
            let response = destroy(call, i64::from(request.qp_handle))?;
            call.respond(&response)
        },
    )
    .no_udata()
    .after_removal(),
];

impl From<CreateQp> for ExCreateQp {
    fn from(old: CreateQp) -> Self {
        Self {
            user_handle: old.user_handle,
            pd_handle: old.pd_handle,
            send_cq_handle: old.send_cq_handle,
            recv_cq_handle: old.recv_cq_handle,
            srq_handle: old.srq_handle,
            max_send_wr: old.max_send_wr,
            max_recv_wr: old.max_recv_wr,
            max_send_sge: old.max_send_sge,
            max_recv_sge: old.max_recv_sge,
            max_inline_data: old.max_inline_data,
            sq_sig_all: old.sq_sig_all,
            qp_type: old.qp_type,
            is_srq: old.is_srq,
            reserved: 0,
            comp_mask: 0,
            create_flags: 0,
            rwq_ind_tbl_handle: 0,
            source_qpn: 0,
        }
    }
}

fn run(call: &mut Call<'_, '_>, mut request: ExCreateQp) -> Result {
    let kind = u32::from(request.qp_type);
    check_kind(call.live()?, kind)?;
    let handle = call.reserve(None)?;
    let id = handle.id();
    if request.comp_mask & b::ib_uverbs_create_qp_mask_IB_UVERBS_CREATE_QP_MASK_IND_TABLE != 0 {
        return Err(no_table(call, i64::from(request.rwq_ind_tbl_handle)));
    }
    let parents = parents(call, &mut request, kind)?;
    if request.create_flags & !create_flags::WRITE != 0 {
        return Err(EINVAL);
    }
    let has_source = request.create_flags & create_flags::SOURCE_QPN != 0;
    if has_source && !call.live()?.has_raw_cap() {
        return Err(EPERM);
    }
    let wish = Wish {
        kind,
        caps: Caps {
            max_send_wr: request.max_send_wr,
            max_recv_wr: request.max_recv_wr,
            max_send_sge: request.max_send_sge,
            max_recv_sge: request.max_recv_sge,
            max_inline_data: request.max_inline_data,
        },
        signal_all: request.sq_sig_all != 0,
        flags: request.create_flags,
        source_qpn: if has_source { request.source_qpn } else { 0 },
        user_handle: request.user_handle,
        events: call.file.data().events().default_queue(),
    };
    let (qpn, caps) = create(call, handle, &parents, wish)?;
    call.respond(&ExCreateQpResp {
        base: CreateQpResp {
            qp_handle: id,
            qpn,
            max_send_wr: caps.max_send_wr,
            max_recv_wr: caps.max_recv_wr,
            max_send_sge: caps.max_send_sge,
            max_recv_sge: caps.max_recv_sge,
            max_inline_data: caps.max_inline_data,
            reserved: 0,
        },
        comp_mask: 0,
        response_length: call.response_length::<ExCreateQpResp>(),
    })
}

/// The parents of a QP that a write command makes.
fn parents<'a>(call: &Call<'a, '_>, request: &mut ExCreateQp, kind: u32) -> Result<Parents<'a>> {
    let send = i64::from(request.send_cq_handle);
    let recv = i64::from(request.recv_cq_handle);
    let (mut recv_cq, mut srq) = (None, None);
    match kind {
        // The handle of its PD is one of an XRC domain, and there are none.
        b::ib_qp_type_IB_QPT_XRC_TGT => return Err(EINVAL),
        b::ib_qp_type_IB_QPT_XRC_INI => {
            request.max_recv_wr = 0;
            request.max_recv_sge = 0;
        }
        _ => {
            if request.is_srq != 0 {
                srq = Some(call.find::<Srq>(i64::from(request.srq_handle))?);
            }
            recv_cq = Some(call.find::<Cq>(recv)?);
        }
    }
    Ok(Parents {
        recv_cq,
        srq,
        send_cq: call.find::<Cq>(send)?,
        pd: call.find::<Pd>(i64::from(request.pd_handle))?,
    })
}
