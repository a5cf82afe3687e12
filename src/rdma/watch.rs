// SPDX-License-Identifier: GPL-2.0

//! `struct ib_event_handler`: events of a device and its ports.

use super::device::Live;
use crate::bindings;
use core::mem::{
    offset_of,
    ManuallyDrop, //
};
use kernel::{
    prelude::*,
    sync::Arc,
    types::Opaque, //
};

/// Somebody who is told of a device's events, in process context.
pub(crate) trait DeviceSink: Send + Sync + 'static {
    /// `event` is one of `enum ib_event_type`.
    fn happened(&self, port: u32, event: u32);
}

#[repr(C)]
struct Inner<T> {
    raw: Opaque<bindings::ib_event_handler>,
    sink: Arc<T>,
}

/// A sink's registration with a device. If it is dropped before it was stopped its memory stays, as
/// the device knows it.
///
/// # Invariants
///
/// While `running`, `inner` is on the list of the device that it was started with.
pub(crate) struct Watch<T: DeviceSink> {
    inner: ManuallyDrop<KBox<Inner<T>>>,
    running: bool,
}

// SAFETY: A handler may be registered and unregistered by any task.
unsafe impl<T: DeviceSink> Send for Watch<T> {}
// SAFETY: Nothing can be done with a shared reference.
unsafe impl<T: DeviceSink> Sync for Watch<T> {}

impl<T: DeviceSink> Watch<T> {
    pub(crate) fn new(sink: Arc<T>) -> Result<Self> {
        let inner = KBox::new(
            Inner {
                raw: Opaque::zeroed(),
                sink,
            },
            GFP_KERNEL,
        )?;
        // INVARIANT: Not running.
        Ok(Self {
            inner: ManuallyDrop::new(inner),
            running: false,
        })
    }

    pub(crate) fn start(&mut self, live: &Live<'_>) {
        if self.running {
            return;
        }
        let raw = self.inner.raw.get();
        // SAFETY: Ours alone, as it is not running.
        unsafe {
            (*raw).device = live.as_raw();
            (*raw).handler = Some(Self::handle);
            bindings::INIT_LIST_HEAD(&raw mut (*raw).list);
        }
        // SAFETY: Initialised, and stays where it is until `stop`. The device is valid.
        unsafe { bindings::ib_register_event_handler(raw) };
        // INVARIANT: Just so.
        self.running = true;
    }

    /// Waits until no call of the sink runs. `live` must be of the device that it was started with.
    pub(crate) fn stop(&mut self, _live: &Live<'_>) {
        if core::mem::take(&mut self.running) {
            // SAFETY: By the type's invariant; the device is valid. INVARIANT: Off the list.
            unsafe { bindings::ib_unregister_event_handler(self.inner.raw.get()) };
        }
    }

    /// # Safety
    ///
    /// For the RDMA core, with the `raw` of an `Inner<T>`, and a valid event of a device.
    unsafe extern "C" fn handle(
        handler: *mut bindings::ib_event_handler,
        event: *mut bindings::ib_event,
    ) {
        let inner = handler
            .wrapping_byte_sub(offset_of!(Inner<T>, raw))
            .cast::<Inner<T>>();
        // SAFETY: By this function's contract; `stop` waits for this call.
        let sink = unsafe { &(*inner).sink };
        // SAFETY: By this function's contract; what `port_num` is zero for has no port.
        let (port, kind) = unsafe {
            (
                (&raw const (*event).element).cast::<u32>().read(),
                (*event).event,
            )
        };
        sink.happened(port, kind);
    }
}

impl<T: DeviceSink> Drop for Watch<T> {
    fn drop(&mut self) {
        if !self.running {
            // SAFETY: Dropped here only, and by the type's invariant nobody else knows it.
            unsafe { ManuallyDrop::drop(&mut self.inner) };
        }
    }
}
