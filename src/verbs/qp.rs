// SPDX-License-Identifier: GPL-2.0

//! Queue pairs: making and destroying them, in whichever form user space asks for it.

use crate::{
    abi::qp::DestroyQpResp,
    bindings as b,
    dispatch::Call,
    events::{
        Queue,
        Subscribers, //
    },
    object::{
        file::{
            Entry,
            Found, //
        },
        kinds::{
            Cq,
            Pd,
            Qp,
            Srq, //
        },
        Right,
        Seat, //
    },
    rdma::{
        self,
        device::Live,
        handle::{
            self,
            ApiObject,
            Reservation, //
        },
        qp::{
            Caps,
            Init, //
        }, //
    },
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

pub(super) mod command;
pub(super) mod method;
pub(super) mod modify;

/// The handles that a QP is made from.
struct Parents<'a> {
    pd: Found<'a>,
    send_cq: Found<'a>,
    recv_cq: Option<Found<'a>>,
    srq: Option<Found<'a>>,
}

/// What a QP is to be, however user space says so.
struct Wish {
    kind: u32,
    caps: Caps,
    signal_all: bool,
    flags: u32,
    source_qpn: u32,
    user_handle: u64,
    events: Option<Arc<Queue>>,
}

/// `EINVAL` for types that are not user space's, and `EPERM` for raw packets without `CAP_NET_RAW`.
fn check_kind(live: &Live<'_>, kind: u32) -> Result {
    match kind {
        b::ib_qp_type_IB_QPT_RAW_PACKET if !live.has_raw_cap() => Err(EPERM),
        b::ib_qp_type_IB_QPT_RAW_PACKET
        | b::ib_qp_type_IB_QPT_RC
        | b::ib_qp_type_IB_QPT_UC
        | b::ib_qp_type_IB_QPT_UD
        | b::ib_qp_type_IB_QPT_XRC_INI
        | b::ib_qp_type_IB_QPT_XRC_TGT
        | b::ib_qp_type_IB_QPT_DRIVER => Ok(()),
        _ => Err(EINVAL),
    }
}

/// The error of a handle of a kind of which there are no objects yet: what finding one would give.
fn none(call: &Call<'_, '_>, id: i64) -> Error {
    static NONE: ApiObject = ApiObject::new(u16::MAX);
    match handle::find::<Entry>(call.file.ufile(), id, &NONE) {
        Ok(_) => EINVAL,
        Err(e) => e,
    }
}

/// As [`none`], of an indirection table: `EINVAL` where the device cannot have any.
fn no_table(call: &Call<'_, '_>, id: i64) -> Error {
    if call
        .live()
        .is_ok_and(|live| live.ops().create_rwq_ind_table.is_none())
    {
        return EINVAL;
    }
    none(call, id)
}

fn create<'a>(
    call: &mut Call<'a, '_>,
    handle: Reservation<'a, Entry>,
    parents: &Parents<'_>,
    wish: Wish,
) -> Result<(u32, Caps)> {
    let pd = parents.pd.lock::<Pd>(Right::Use)?;
    let send_cq = parents.send_cq.lock::<Cq>(Right::Use)?;
    let recv_cq = match &parents.recv_cq {
        Some(cq) => Some(cq.lock::<Cq>(Right::Use)?),
        None => None,
    };
    let srq = match &parents.srq {
        Some(srq) => Some(srq.lock::<Srq>(Right::Use)?),
        None => None,
    };
    // Those of XRC domains are for no QP.
    if srq
        .as_ref()
        .is_some_and(|srq| srq.hw.kind() == b::ib_srq_type_IB_SRQT_XRC)
    {
        return Err(EINVAL);
    }
    let seat = Seat::new()?;
    let subscribers = Subscribers::new()?;
    let subscribed = subscribers.subscribe(wish.user_handle, None, wish.events)?;
    let context = call.context()?.lock(call.live()?)?;
    let init = Init {
        kind: wish.kind,
        pd: Some(&pd.hw),
        send_cq: Some(&send_cq.hw),
        recv_cq: recv_cq.as_ref().map(|cq| &cq.hw),
        srq: srq.as_ref().map(|srq| &srq.hw),
        caps: wish.caps,
        signal_all: wish.signal_all,
        flags: wish.flags,
        source_qpn: wish.source_qpn,
    };
    let (hw, caps) = rdma::qp::Qp::create(
        call.live()?,
        &context.borrow(),
        init,
        subscribers.clone(),
        call.bundle,
    )?;
    let qpn = hw.number();
    let qp = Qp {
        hw,
        pd: Some(pd.owner()),
        send_cq: Some(send_cq.owner()),
        recv_cq: recv_cq.map(|cq| cq.owner()),
        srq: srq.map(|srq| srq.owner()),
        subscribers,
    };
    call.create(handle, seat, qp)?;
    call.subscribe(subscribed);
    Ok((qpn, caps))
}

fn destroy(call: &Call<'_, '_>, id: i64) -> Result<DestroyQpResp> {
    let reported = call.file.destroy::<Qp>(id)?;
    Ok(DestroyQpResp {
        events_reported: reported.events,
    })
}
