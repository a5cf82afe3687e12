// SPDX-License-Identifier: GPL-2.0

//! HOLDERS: how many hold an object, and in which way.

use super::held::Held;
use crate::{
    bindings as b,
    dispatch::{
        Attr,
        Call,
        Method, //
    }, //
};
use kernel::prelude::*;

pub(super) const METHOD: Method = Method::new(
    b::shverbs_methods_share_SHVERBS_METHOD_HOLDERS,
    &[
        Attr::constant(OBJECT_ID),
        Attr::constant(HANDLE).optional(),
        Attr::output::<u32>(HANDLES).optional(),
        Attr::output::<u32>(FDS).optional(),
        Attr::output::<u32>(NAMES).optional(),
        Attr::output::<u32>(CHILDREN).optional(),
        Attr::output::<u32>(FLAGS).optional(),
    ],
    run,
);

const OBJECT_ID: u32 = b::shverbs_attrs_holders_SHVERBS_ATTR_HOLDERS_OBJECT_ID;
const HANDLE: u32 = b::shverbs_attrs_holders_SHVERBS_ATTR_HOLDERS_HANDLE;
const HANDLES: u32 = b::shverbs_attrs_holders_SHVERBS_ATTR_HOLDERS_HANDLES;
const FDS: u32 = b::shverbs_attrs_holders_SHVERBS_ATTR_HOLDERS_FDS;
const NAMES: u32 = b::shverbs_attrs_holders_SHVERBS_ATTR_HOLDERS_NAMES;
const CHILDREN: u32 = b::shverbs_attrs_holders_SHVERBS_ATTR_HOLDERS_CHILDREN;
const FLAGS: u32 = b::shverbs_attrs_holders_SHVERBS_ATTR_HOLDERS_FLAGS;
const REVOCABLE: u32 = b::shverbs_import_flags_SHVERBS_IMPORT_REVOCABLE;

fn run(call: &mut Call<'_, '_>) -> Result {
    let held = Held::new(call, OBJECT_ID, HANDLE)?;
    held.shared.check()?;
    let holders = held.shared.holders();
    // What is held here is one more, for this call.
    call.write_if(HANDLES, &holders.handles.saturating_sub(1))?;
    call.write_if(FDS, &holders.fds)?;
    call.write_if(NAMES, &holders.names)?;
    call.write_if(CHILDREN, &holders.children)?;
    let flags = if held.shared.is_revocable() {
        REVOCABLE
    } else {
        0
    };
    call.write_if(FLAGS, &flags)
}
