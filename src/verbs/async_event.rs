// SPDX-License-Identifier: GPL-2.0

//! Files for asynchronous events.

use crate::{
    bindings as b,
    dispatch::{
        Attr,
        Call,
        Method, //
    },
    object::event_file::Sort, //
};
use kernel::prelude::*;

pub(super) const METHODS: &[Method] = &[Method::new(
    b::uverbs_method_async_event_UVERBS_METHOD_ASYNC_EVENT_ALLOC,
    &[Attr::fd(FD)],
    alloc,
)];

const FD: u32 = b::uverbs_attrs_async_event_create_UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE;

fn alloc(call: &mut Call<'_, '_>) -> Result {
    call.context()?.lock(call.live()?)?;
    let (fd, events) = call.file.data().events().create(Sort::Async)?;
    call.pend_fd_in(FD, fd)?;
    events.start(call.live()?);
    Ok(())
}
