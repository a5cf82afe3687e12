// SPDX-License-Identifier: GPL-2.0

//! INFO: what can be shared on this device.

use crate::{
    backend,
    bindings as b,
    dispatch::{
        Attr,
        Call,
        Method, //
    }, //
};
use kernel::prelude::*;

pub(super) const METHOD: Method = Method::new(
    b::shverbs_methods_share_SHVERBS_METHOD_INFO,
    &[
        Attr::output::<u32>(VERSION).optional(),
        Attr::output::<u32>(BACKEND).optional(),
        Attr::output::<u64>(SHAREABLE).optional(),
    ],
    run,
);

const VERSION: u32 = b::shverbs_attrs_info_SHVERBS_ATTR_INFO_VERSION;
const BACKEND: u32 = b::shverbs_attrs_info_SHVERBS_ATTR_INFO_BACKEND;
const SHAREABLE: u32 = b::shverbs_attrs_info_SHVERBS_ATTR_INFO_SHAREABLE;

fn run(call: &mut Call<'_, '_>) -> Result {
    let backend = backend::of(call.live()?);
    call.write_if(VERSION, &b::SHVERBS_ABI_VERSION)?;
    call.write_if(BACKEND, &backend.class())?;
    call.write_if(SHAREABLE, &backend.shareable())
}
