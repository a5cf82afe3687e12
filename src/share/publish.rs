// SPDX-License-Identifier: GPL-2.0

//! PUBLISH: an object gets a name.

use super::held::Held;
use crate::{
    bindings as b,
    dispatch::{
        Attr,
        Call,
        Method, //
    },
    object::name::Strength,
    objfs,
    sys::user_locked::UserLocked, //
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
const REVOCABLE: u32 = b::shverbs_publish_flags_SHVERBS_PUBLISH_REVOCABLE;
const PERMISSIONS: u16 = 0o777;

fn run(call: &mut Call<'_, '_>) -> Result {
    let name = call.read_bytes(NAME, b::NAME_MAX as usize)?;
    let mode: u16 = call.constant(MODE)?;
    if mode & !PERMISSIONS != 0 {
        return Err(EINVAL);
    }
    let flags = call.flags(FLAGS, STRONG | REVOCABLE)?;
    let revocable = flags & REVOCABLE != 0;
    let held = held(call)?;
    held.require_to_share(revocable)?;
    let strength = if flags & STRONG != 0 {
        Strength::Strong(UserLocked::charge(held.shared.size())?)
    } else {
        Strength::Weak
    };
    let dir = call.any_file(DIR_FD)?;
    held.shared.settle(revocable)?;
    objfs::publish(&dir, &name, mode, held.shared, held.rights, strength)
}

/// What is to be published, and the most that its name may give: what a handle or the file holds, or
/// an object fd.
fn held(call: &Call<'_, '_>) -> Result<Held> {
    if call.has(FD) {
        if call.has(HANDLE) || call.has(OBJECT_ID) {
            return Err(EINVAL);
        }
        Held::by_fd(call, FD)
    } else {
        if !call.has(OBJECT_ID) {
            return Err(EINVAL);
        }
        Held::new(call, OBJECT_ID, HANDLE)
    }
}
