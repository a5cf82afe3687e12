// SPDX-License-Identifier: GPL-2.0

//! EXPORT: a handle, or the file's context, becomes an object fd.

use super::held::Held;
use crate::{
    bindings as b,
    dispatch::{
        Attr,
        Call,
        Method, //
    },
    object::{
        fd::ObjectFd,
        Rights, //
    },
};
use kernel::{
    fs::file::flags as fs,
    prelude::*, //
};

pub(super) const METHOD: Method = Method::new(
    b::shverbs_methods_share_SHVERBS_METHOD_EXPORT,
    &[
        Attr::constant(OBJECT_ID),
        Attr::constant(HANDLE).optional(),
        Attr::flags(RIGHTS).optional(),
        Attr::fd(FD),
        Attr::flags(FLAGS).optional(),
    ],
    run,
);

const OBJECT_ID: u32 = b::shverbs_attrs_export_SHVERBS_ATTR_EXPORT_OBJECT_ID;
const HANDLE: u32 = b::shverbs_attrs_export_SHVERBS_ATTR_EXPORT_HANDLE;
const RIGHTS: u32 = b::shverbs_attrs_export_SHVERBS_ATTR_EXPORT_RIGHTS;
const FLAGS: u32 = b::shverbs_attrs_export_SHVERBS_ATTR_EXPORT_FLAGS;
const REVOCABLE: u32 = b::shverbs_export_flags_SHVERBS_EXPORT_REVOCABLE;
const MOVE: u32 = b::shverbs_export_flags_SHVERBS_EXPORT_MOVE;
const FD: u32 = b::shverbs_attrs_export_SHVERBS_ATTR_EXPORT_FD;

fn run(call: &mut Call<'_, '_>) -> Result {
    let flags = call.flags(FLAGS, REVOCABLE | MOVE)?;
    let revocable = flags & REVOCABLE != 0;
    let held = Held::new(call, OBJECT_ID, HANDLE)?;
    held.require_to_share(revocable)?;
    let rights = if call.has(RIGHTS) {
        Rights::try_from(call.flags(RIGHTS, Rights::all().into())?)?
    } else {
        held.rights
    };
    held.rights.require_all(rights)?;
    let shared = held.shared.clone();
    let fd = if flags & MOVE != 0 {
        shared.object()?;
        let handle = call.constant(HANDLE)?;
        ObjectFd::moving(shared, rights, call.file.departure(handle)?)?
    } else {
        ObjectFd::new(shared, rights)?
    };
    call.attach_fd(FD, fd, fs::O_RDONLY)?;
    // Last, as it cannot be undone.
    held.shared.settle(revocable)
}
