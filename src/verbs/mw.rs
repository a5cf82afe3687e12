// SPDX-License-Identifier: GPL-2.0

//! Memory windows.

use crate::{
    abi::mw::{
        AllocMw,
        AllocMwResp, //
    },
    bindings as b,
    dispatch::{
        Call,
        Command,
        Method, //
    },
    object::{
        kinds::{
            Mw,
            Pd, //
        },
        Right,
        Seat, //
    },
    rdma, //
};
use kernel::prelude::*;

pub(super) const METHODS: &[Method] = &[Method::destroy::<Mw, HANDLE>(
    b::uverbs_methods_mw_UVERBS_METHOD_MW_DESTROY,
)];

pub(super) const COMMANDS: &[Command] = &[
    Command::new::<AllocMw, AllocMwResp>(b::ib_uverbs_write_cmds_IB_USER_VERBS_CMD_ALLOC_MW, alloc)
        .needs(|ops| ops.alloc_mw.is_some()),
    Command::destroy::<Mw>(b::ib_uverbs_write_cmds_IB_USER_VERBS_CMD_DEALLOC_MW)
        .needs(|ops| ops.dealloc_mw.is_some()),
];

const HANDLE: u32 = b::uverbs_attrs_mw_destroy_ids_UVERBS_ATTR_DESTROY_MW_HANDLE;

fn alloc(call: &mut Call<'_, '_>) -> Result {
    let request: AllocMw = call.request()?;
    let handle = call.reserve(None)?;
    let found = call.find::<Pd>(i64::from(request.pd_handle))?;
    let pd = found.lock::<Pd>(Right::Use)?;
    let kind = u32::from(request.mw_type);
    if !matches!(
        kind,
        b::ib_mw_type_IB_MW_TYPE_1 | b::ib_mw_type_IB_MW_TYPE_2
    ) {
        return Err(EINVAL);
    }
    let seat = Seat::new()?;
    let context = call.context()?.lock(call.live()?)?;
    let hw = rdma::mw::Mw::alloc(call.live()?, &context.borrow(), &pd.hw, kind, call.bundle)?;
    let resp = AllocMwResp {
        mw_handle: handle.id(),
        rkey: hw.rkey(),
    };
    let pd = pd.owner();
    call.create(handle, seat, Mw { hw, pd })?;
    call.respond(&resp)
}
