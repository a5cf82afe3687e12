// SPDX-License-Identifier: GPL-2.0

//! REVOKE: destroys a hardware object under its holders.

use crate::{
    backend,
    bindings as b,
    dispatch::{
        Attr,
        Call,
        Method, //
    },
    object::Right, //
};
use kernel::prelude::*;

pub(super) const METHOD: Method = Method::new(
    b::shverbs_methods_share_SHVERBS_METHOD_REVOKE,
    &[Attr::constant(OBJECT_ID), Attr::constant(HANDLE)],
    run,
);

const OBJECT_ID: u32 = b::shverbs_attrs_revoke_SHVERBS_ATTR_REVOKE_OBJECT_ID;
const HANDLE: u32 = b::shverbs_attrs_revoke_SHVERBS_ATTR_REVOKE_HANDLE;

fn run(call: &mut Call<'_, '_>) -> Result {
    let kind: u16 = call.constant(OBJECT_ID)?;
    backend::of(call.live()?).check_shareable(kind)?;
    let found = call.find_any(u32::from(kind), call.constant(HANDLE)?)?;
    let entry = found.entry()?;
    entry.rights.require(Right::Revoke)?;
    entry.owner.revoke(call.live()?)
}
