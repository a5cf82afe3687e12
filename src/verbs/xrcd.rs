// SPDX-License-Identifier: GPL-2.0

//! XRC domains.

use crate::{
    abi::xrcd::{
        OpenXrcd,
        OpenXrcdResp, //
    },
    bindings as b,
    dispatch::{
        Call,
        Command,
        Method, //
    },
    object::{
        domains::How,
        file::Entry,
        kinds::Xrcd,
        AnyOwner,
        Owner,
        Rights,
        Seat, //
    },
    rdma::{
        self,
        handle::Reservation, //
    },
    sys::inode::Inode, //
};
use kernel::prelude::*;

pub(super) const METHODS: &[Method] = &[Method::destroy::<Xrcd, HANDLE>(
    b::uverbs_methods_xrcd_UVERBS_METHOD_XRCD_DESTROY,
)];

pub(super) const COMMANDS: &[Command] = &[
    Command::new::<OpenXrcd, OpenXrcdResp>(
        b::ib_uverbs_write_cmds_IB_USER_VERBS_CMD_OPEN_XRCD,
        open,
    )
    .needs(|ops| ops.alloc_xrcd.is_some()),
    Command::destroy::<Xrcd>(b::ib_uverbs_write_cmds_IB_USER_VERBS_CMD_CLOSE_XRCD)
        .needs(|ops| ops.dealloc_xrcd.is_some()),
];

const HANDLE: u32 = b::uverbs_attrs_xrcd_destroy_ids_UVERBS_ATTR_DESTROY_XRCD_HANDLE;

/// `-1` for a descriptor: a domain that nobody else finds.
const NO_FD: u32 = u32::MAX;

fn open(call: &mut Call<'_, '_>) -> Result {
    let request: OpenXrcd = call.request()?;
    if request.fd == NO_FD {
        let handle = call.reserve(None)?;
        let id = handle.id();
        make(call, handle, None)?;
        return call.respond(&OpenXrcdResp { xrcd_handle: id });
    }
    let inode = Inode::of_fd(request.fd)?;
    // Made by whoever comes first, and else found.
    let kept = Inode::of_fd(request.fd)?;
    let how = How {
        create: request.oflags & b::O_CREAT != 0,
        exclusive: request.oflags & b::O_EXCL != 0,
    };
    let mut id = None;
    let found = call.file.data().device().domains().open(&inode, how, || {
        let handle = call.reserve(None)?;
        id = Some(handle.id());
        make(call, handle, Some(kept))
    })?;
    if let Some(owner) = found {
        let handle = call.reserve(None)?;
        id = Some(handle.id());
        call.attach(handle, AnyOwner::Xrcd(owner), Rights::all());
    }
    call.respond(&OpenXrcdResp {
        xrcd_handle: id.ok_or(EINVAL)?,
    })
}

fn make<'a>(
    call: &mut Call<'a, '_>,
    handle: Reservation<'a, Entry>,
    inode: Option<Inode>,
) -> Result<Owner<Xrcd>> {
    let seat = Seat::new()?;
    let context = call.context()?.lock(call.live()?)?;
    let hw = rdma::xrcd::Xrcd::alloc(call.live()?, &context.borrow(), inode, call.bundle)?;
    call.create(handle, seat, Xrcd { hw })
}
