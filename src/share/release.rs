// SPDX-License-Identifier: GPL-2.0

//! RELEASE: gives a handle up, whatever the hardware says.

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
    b::shverbs_methods_share_SHVERBS_METHOD_RELEASE,
    &[Attr::constant(OBJECT_ID), Attr::constant(HANDLE)],
    run,
)
.after_removal();

const OBJECT_ID: u32 = b::shverbs_attrs_release_SHVERBS_ATTR_RELEASE_OBJECT_ID;
const HANDLE: u32 = b::shverbs_attrs_release_SHVERBS_ATTR_RELEASE_HANDLE;

fn run(call: &mut Call<'_, '_>) -> Result {
    let kind: u16 = call.constant(OBJECT_ID)?;
    call.file.release(u32::from(kind), call.constant(HANDLE)?)
}
