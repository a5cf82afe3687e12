// SPDX-License-Identifier: GPL-2.0

//! Protection domains.

use crate::{
    abi::pd::{
        AllocPd,
        AllocPdResp, //
    },
    bindings,
    dispatch::{
        Call,
        Command,
        Method, //
    },
    object::{
        kinds::Pd,
        Seat, //
    },
    rdma, //
};
use kernel::prelude::*;

pub(super) const METHODS: &[Method] = &[Method::destroy::<Pd, HANDLE>(
    bindings::uverbs_methods_pd_UVERBS_METHOD_PD_DESTROY,
)];

pub(super) const COMMANDS: &[Command] = &[
    Command::new::<AllocPd, AllocPdResp>(
        bindings::ib_uverbs_write_cmds_IB_USER_VERBS_CMD_ALLOC_PD,
        alloc,
    ),
    Command::destroy::<Pd>(bindings::ib_uverbs_write_cmds_IB_USER_VERBS_CMD_DEALLOC_PD),
];

const HANDLE: u32 = bindings::uverbs_attrs_pd_destroy_ids_UVERBS_ATTR_DESTROY_PD_HANDLE;

fn alloc(call: &mut Call<'_, '_>) -> Result {
    let _request: AllocPd = call.request()?;
    let handle = call.reserve(None)?;
    let seat = Seat::new()?;
    let context = call.context()?.lock(call.live()?)?;
    let hw = rdma::pd::Pd::alloc(call.live()?, &context.borrow(), call.bundle)?;
    let id = handle.id();
    call.create(handle, seat, Pd { hw })?;
    call.respond(&AllocPdResp { pd_handle: id })
}
