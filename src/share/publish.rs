// SPDX-License-Identifier: GPL-2.0

//! PUBLISH: an object gets a name.

use crate::{
    backend,
    bindings as b,
    dispatch::{
        Attr,
        Call,
        Method, //
    },
    object::{
        fd::ObjectFd,
        AnyOwner,
        Right,
        Rights, //
    },
    objfs,
    sys, //
};
use kernel::prelude::*;

pub(super) const METHOD: Method = Method::new(
    b::shverbs_methods_share_SHVERBS_METHOD_PUBLISH,
    &[
        Attr::constant(OBJECT_ID).optional(),
        Attr::constant(HANDLE).optional(),
        Attr::raw_fd(FD).optional(),
        Attr::raw_fd(DIR_FD),
        Attr::input_min(NAME, 1),
        Attr::constant(MODE),
        Attr::flags(FLAGS).optional(),
    ],
    run,
);

const OBJECT_ID: u32 = b::shverbs_attrs_publish_SHVERBS_ATTR_PUBLISH_OBJECT_ID;
const HANDLE: u32 = b::shverbs_attrs_publish_SHVERBS_ATTR_PUBLISH_HANDLE;
const FD: u32 = b::shverbs_attrs_publish_SHVERBS_ATTR_PUBLISH_FD;
const DIR_FD: u32 = b::shverbs_attrs_publish_SHVERBS_ATTR_PUBLISH_DIR_FD;
const NAME: u32 = b::shverbs_attrs_publish_SHVERBS_ATTR_PUBLISH_NAME;
const MODE: u32 = b::shverbs_attrs_publish_SHVERBS_ATTR_PUBLISH_MODE;
const FLAGS: u32 = b::shverbs_attrs_publish_SHVERBS_ATTR_PUBLISH_FLAGS;
const STRONG: u32 = b::shverbs_publish_flags_SHVERBS_PUBLISH_STRONG;
const PERMISSIONS: u16 = 0o777;

fn run(call: &mut Call<'_, '_>) -> Result {
    let (owner, rights) = owner(call)?;
    let name = call.read_bytes(NAME, b::NAME_MAX as usize)?;
    let mode: u16 = call.constant(MODE)?;
    if mode & !PERMISSIONS != 0 {
        return Err(EINVAL);
    }
    let strong = call.flags(FLAGS, STRONG)? & STRONG != 0;
    if strong && !sys::capable_ipc_lock() {
        return Err(EPERM);
    }
    let dir = call.any_file(DIR_FD)?;
    objfs::publish(&dir, &name, mode, owner, rights, strong)
}

/// What is to be published, and the most that its name may give: a handle's object, or an object fd's.
fn owner(call: &Call<'_, '_>) -> Result<(AnyOwner, Rights)> {
    let (owner, rights) = if call.has(FD) {
        if call.has(HANDLE) || call.has(OBJECT_ID) {
            return Err(EINVAL);
        }
        let fd = sys::file::lookup::<ObjectFd>(call.number(FD)?)?;
        (fd.owner().clone(), fd.rights())
    } else {
        if !call.has(HANDLE) || !call.has(OBJECT_ID) {
            return Err(EINVAL);
        }
        let kind: u16 = call.constant(OBJECT_ID)?;
        backend::of(call.live()?).check_shareable(kind)?;
        let found = call.find_any(u32::from(kind), call.constant(HANDLE)?)?;
        let entry = found.entry()?;
        (entry.owner.clone(), entry.rights)
    };
    rights.require(Right::Share)?;
    owner.as_ptr(call.live()?)?;
    Ok((owner, rights))
}
