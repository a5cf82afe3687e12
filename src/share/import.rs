// SPDX-License-Identifier: GPL-2.0

//! IMPORT: an object fd becomes a handle.

use crate::{
    abi::{
        cq::CqAttrs,
        mr::MrAttrs,
        qp::QpAttrs, //
    },
    bindings as b,
    dispatch::{
        Attr,
        Call,
        Method, //
    },
    events::Subscribed,
    object::{
        event_file::Sort,
        fd::ObjectFd,
        kinds::{
            Cq,
            Mr,
            Qp, //
        },
        AnyOwner,
        Kind,
        Right,
        Rights, //
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
        Attr::raw_fd(COMP_CHANNEL).optional(),
        Attr::output_struct::<CqAttrs>(CQ, size_of::<CqAttrs>()).optional(),
        Attr::output_struct::<QpAttrs>(QP, size_of::<QpAttrs>()).optional(),
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
const COMP_CHANNEL: u32 = b::shverbs_attrs_import_SHVERBS_ATTR_IMPORT_COMP_CHANNEL;
const CQ: u32 = b::shverbs_attrs_import_SHVERBS_ATTR_IMPORT_CQ;
const QP: u32 = b::shverbs_attrs_import_SHVERBS_ATTR_IMPORT_QP;
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
    let subscribed = subscribe(call, &owner, user_handle)?;
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
    describe(call, &owner, fd.rights())?;
    call.attach(handle, owner, fd.rights());
    if let Some(subscribed) = subscribed {
        call.subscribe(subscribed);
    }
    if let Some(revocation) = revocation {
        call.subscribe_revocation(revocation);
    }
    Ok(())
}

/// The importer's part of the object's events. `EINVAL` for a completion channel where there are no
/// completions.
fn subscribe(
    call: &Call<'_, '_>,
    owner: &AnyOwner,
    user_handle: u64,
) -> Result<Option<Subscribed>> {
    let files = call.file.data().events();
    let completions = if call.has(COMP_CHANNEL) {
        Cq::unwrap(owner).ok_or(EINVAL)?;
        Some(files.lookup(call.number(COMP_CHANNEL)?, Sort::Channel)?)
    } else {
        None
    };
    let subscribers = owner.subscribers(call.live()?)?;
    subscribers
        .map(|all| all.subscribe(user_handle, completions, files.default_queue()))
        .transpose()
}

/// Tells what the caller wants to know of the object.
fn describe(call: &mut Call<'_, '_>, owner: &AnyOwner, rights: Rights) -> Result {
    if call.has(MR) || call.has(CQ) || call.has(QP) {
        rights.require(Right::Use)?;
    }
    if call.has(MR) {
        call.write_struct(MR, &mr_attrs(call, owner)?)?;
    }
    if call.has(CQ) {
        call.write_struct(CQ, &cq_attrs(call, owner)?)?;
    }
    if call.has(QP) {
        call.write_struct(QP, &qp_attrs(call, owner)?)?;
    }
    if call.has(DRIVER) {
        call.write_bytes(DRIVER, owner.response())?;
    }
    Ok(())
}

/// What an importer must know of a completion queue; `ENOMSG` for other kinds.
fn cq_attrs(call: &Call<'_, '_>, owner: &AnyOwner) -> Result<CqAttrs> {
    let cq = Cq::unwrap(owner).ok_or(ENOMSG)?.lock(call.live()?)?;
    Ok(CqAttrs {
        cqe: cq.hw.cqe(),
        reserved: 0,
    })
}

/// What an importer must know of a queue pair; `ENOMSG` for other kinds.
fn qp_attrs(call: &Call<'_, '_>, owner: &AnyOwner) -> Result<QpAttrs> {
    let qp = Qp::unwrap(owner).ok_or(ENOMSG)?.lock(call.live()?)?;
    Ok(QpAttrs {
        qp_num: qp.hw.number(),
        qp_type: qp.hw.kind(),
    })
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
