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
        Right,
        Rights, //
    },
};
use kernel::{
    fs::file::flags,
    prelude::*, //
};

pub(super) const METHOD: Method = Method::new(
    b::shverbs_methods_share_SHVERBS_METHOD_EXPORT,
    &[
        Attr::constant(OBJECT_ID),
        Attr::constant(HANDLE).optional(),
        Attr::flags(RIGHTS).optional(),
        Attr::fd(FD),
    ],
    run,
);

const OBJECT_ID: u32 = b::shverbs_attrs_export_SHVERBS_ATTR_EXPORT_OBJECT_ID;
const HANDLE: u32 = b::shverbs_attrs_export_SHVERBS_ATTR_EXPORT_HANDLE;
const RIGHTS: u32 = b::shverbs_attrs_export_SHVERBS_ATTR_EXPORT_RIGHTS;
const FD: u32 = b::shverbs_attrs_export_SHVERBS_ATTR_EXPORT_FD;

fn run(call: &mut Call<'_, '_>) -> Result {
    let held = Held::new(call, OBJECT_ID, HANDLE)?;
    held.rights.require(Right::Share)?;
    let rights = if call.has(RIGHTS) {
        Rights::try_from(call.flags(RIGHTS, Rights::all().into())?)?
    } else {
        held.rights
    };
    held.rights.require_all(rights)?;
    let fd = ObjectFd::new(held.shared, rights)?;
    call.attach_fd(FD, fd, flags::O_RDONLY)
}
