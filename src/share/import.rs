// SPDX-License-Identifier: GPL-2.0

//! IMPORT: an object fd becomes a handle.

use crate::{
    abi::mr::MrAttrs,
    bindings as b,
    dispatch::{
        Attr,
        Call,
        Method, //
    },
    object::{
        fd::ObjectFd,
        kinds::Mr,
        AnyOwner,
        Kind,
        Right, //
    },
    sys, //
};
use kernel::prelude::*;

pub(super) const METHOD: Method = Method::new(
    b::shverbs_methods_share_SHVERBS_METHOD_IMPORT,
    &[
        Attr::raw_fd(FD),
        Attr::input::<u64>(USER_HANDLE).optional(),
        Attr::output::<u32>(HANDLE),
        Attr::output::<u32>(OBJECT_ID),
        Attr::output::<u32>(RIGHTS).optional(),
        Attr::output_struct::<MrAttrs>(MR, size_of::<MrAttrs>()).optional(),
        Attr::output_min(DRIVER, 0).optional(),
        Attr::output::<u32>(FLAGS).optional(),
    ],
    run,
);

const FD: u32 = b::shverbs_attrs_import_SHVERBS_ATTR_IMPORT_FD;
const USER_HANDLE: u32 = b::shverbs_attrs_import_SHVERBS_ATTR_IMPORT_USER_HANDLE;
const HANDLE: u32 = b::shverbs_attrs_import_SHVERBS_ATTR_IMPORT_HANDLE;
const OBJECT_ID: u32 = b::shverbs_attrs_import_SHVERBS_ATTR_IMPORT_OBJECT_ID;
const RIGHTS: u32 = b::shverbs_attrs_import_SHVERBS_ATTR_IMPORT_RIGHTS;
const MR: u32 = b::shverbs_attrs_import_SHVERBS_ATTR_IMPORT_MR;
const DRIVER: u32 = b::shverbs_attrs_import_SHVERBS_ATTR_IMPORT_DRIVER;
const FLAGS: u32 = b::shverbs_attrs_import_SHVERBS_ATTR_IMPORT_FLAGS;
const REVOCABLE: u32 = b::shverbs_import_flags_SHVERBS_IMPORT_REVOCABLE;

fn run(call: &mut Call<'_, '_>) -> Result {
    call.context()?.lock(call.live()?)?;
    let fd = sys::file::lookup::<ObjectFd>(call.number(FD)?)?;
    let owner = fd.shared().object()?.clone();
    // Of a device that is gone nothing can be had, and another may have its name by now.
    owner.device().live()?;
    if !core::ptr::eq(owner.device(), call.file.data().device()) {
        return Err(EXDEV);
    }
    // Also tells whether it is still there.
    owner.as_ptr(call.live()?)?;
    let user_handle = if call.has(USER_HANDLE) {
        call.read(USER_HANDLE)?
    } else {
        0
    };
    let subscribed = match owner.subscribers(call.live()?)? {
        Some(subscribers) => {
            let events = call.file.data().events().default_queue();
            Some(subscribers.subscribe(user_handle, None, events)?)
        }
        None => None,
    };
    let revocation = match owner.revocation() {
        Some(importers) => {
            let events = call.file.data().events().default_queue();
            Some(importers.subscribe(user_handle, None, events)?)
        }
        None => None,
    };
    let flags = if revocation.is_some() { REVOCABLE } else { 0 };
    call.write_if(FLAGS, &flags)?;
    if let Some(departure) = fd.departure() {
        call.take_over(departure.begin(&owner)?);
    }
    let handle = call.reserve(None)?;
    call.write(HANDLE, &handle.id())?;
    call.write(OBJECT_ID, &u32::from(owner.id()))?;
    call.write_if(RIGHTS, &u32::from(fd.rights()))?;
    if call.has(MR) {
        fd.rights().require(Right::Use)?;
        call.write_struct(MR, &mr_attrs(call, &owner)?)?;
    }
    if call.has(DRIVER) {
        call.write_bytes(DRIVER, owner.response())?;
    }
    call.attach(handle, owner, fd.rights());
    if let Some(subscribed) = subscribed {
        call.subscribe(subscribed);
    }
    if let Some(revocation) = revocation {
        call.subscribe_revocation(revocation);
    }
    Ok(())
}

/// What an importer must know of a region; `ENOMSG` for other kinds.
fn mr_attrs(call: &Call<'_, '_>, owner: &AnyOwner) -> Result<MrAttrs> {
    let mr = Mr::unwrap(owner).ok_or(ENOMSG)?.lock(call.live()?)?;
    let keys = mr.hw.keys();
    Ok(MrAttrs {
        iova: keys.iova,
        length: keys.length,
        lkey: keys.lkey,
        rkey: keys.rkey,
        access: mr.access,
        reserved: 0,
    })
}
