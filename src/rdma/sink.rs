// SPDX-License-Identifier: GPL-2.0

//! Where drivers report what happens to a hardware object.

use crate::bindings;
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// Somebody who is told of a hardware object's events.
///
/// Drivers call in any context: with interrupts off, and with locks of theirs held.
pub(crate) trait Sink: Send + Sync {
    /// A completion queue that was armed has a completion.
    fn completed(&self) {}

    /// `event` is one of `enum ib_event_type`.
    fn happened(&self, event: u32);
}

/// What a driver hands back to us with each event: a thin pointer to the sink.
///
/// Whoever keeps a hardware object keeps its hook, until the driver has destroyed the object: then
/// no callback runs any more.
pub(crate) struct Hook(KBox<Arc<dyn Sink>>);

impl Hook {
    pub(crate) fn new(sink: Arc<dyn Sink>) -> Result<Self> {
        Ok(Self(KBox::new(sink, GFP_KERNEL)?))
    }

    /// For `cq_context` and its like.
    pub(super) fn as_context(&self) -> *mut c_void {
        (&raw const *self.0).cast_mut().cast()
    }
}

/// # Safety
///
/// `context` must be from [`Hook::as_context`] of a hook that outlives `'a`.
unsafe fn sink<'a>(context: *mut c_void) -> &'a dyn Sink {
    // SAFETY: By this function's contract.
    let sink = unsafe { &*context.cast::<Arc<dyn Sink>>() };
    &**sink
}

/// `comp_handler` of a CQ.
///
/// # Safety
///
/// For drivers, with the `cq_context` of a CQ that has a [`Hook`].
pub(super) unsafe extern "C" fn on_completion(_cq: *mut bindings::ib_cq, context: *mut c_void) {
    // SAFETY: By this function's contract.
    unsafe { sink(context) }.completed();
}

/// `event_handler` of any hardware object.
///
/// # Safety
///
/// For drivers, with the context of an object that has a [`Hook`], and a valid event.
pub(super) unsafe extern "C" fn on_event(event: *mut bindings::ib_event, context: *mut c_void) {
    // SAFETY: By this function's contract.
    let kind = unsafe { (*event).event };
    // SAFETY: By this function's contract.
    unsafe { sink(context) }.happened(kind);
}
