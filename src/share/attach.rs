// SPDX-License-Identifier: GPL-2.0

//! ATTACH_CONTEXT: a file gets another's context instead of one of its own.

use crate::{
    bindings as b,
    dispatch::{
        Attr,
        Call,
        Method, //
    },
    object::{
        fd::ObjectFd,
        Right, //
    },
    sys, //
};
use kernel::prelude::*;

pub(super) const METHOD: Method = Method::new(
    b::shverbs_methods_share_SHVERBS_METHOD_ATTACH_CONTEXT,
    &[
        Attr::raw_fd(FD),
        Attr::output::<u32>(NUM_COMP_VECTORS).optional(),
        Attr::output::<u32>(RIGHTS).optional(),
        Attr::output_min(DRIVER, 0).optional(),
    ],
    run,
);

const FD: u32 = b::shverbs_attrs_attach_context_SHVERBS_ATTR_ATTACH_CONTEXT_FD;
const NUM_COMP_VECTORS: u32 =
    b::shverbs_attrs_attach_context_SHVERBS_ATTR_ATTACH_CONTEXT_NUM_COMP_VECTORS;
const RIGHTS: u32 = b::shverbs_attrs_attach_context_SHVERBS_ATTR_ATTACH_CONTEXT_RIGHTS;
const DRIVER: u32 = b::shverbs_attrs_attach_context_SHVERBS_ATTR_ATTACH_CONTEXT_DRIVER;

fn run(call: &mut Call<'_, '_>) -> Result {
    let fd = sys::file::lookup::<ObjectFd>(call.number(FD)?)?;
    let context = fd.shared().context()?;
    // Of a device that is gone nothing can be had, and another may have its name by now.
    context.device().live()?;
    if !core::ptr::eq(context.device(), call.file.data().device()) {
        return Err(EXDEV);
    }
    fd.rights().require(Right::Use)?;
    // The response first: a context cannot be taken back from the file that has it.
    call.write_if(NUM_COMP_VECTORS, &call.live()?.num_comp_vectors())?;
    call.write_if(RIGHTS, &u32::from(fd.rights()))?;
    if call.has(DRIVER) {
        call.write_bytes(DRIVER, context.response())?;
    }
    call.file.attach(call.live()?, context, fd.rights())
}
