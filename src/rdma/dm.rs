// SPDX-License-Identifier: GPL-2.0

//! Memory of the device.

use super::{
    bundle::Bundle,
    device::Live,
    face::Face,
    ucontext::UcontextRef,
    Destroyed, //
};
use crate::bindings;
use core::ptr::NonNull;
use kernel::{
    error::{
        from_err_ptr,
        to_result, //
    },
    prelude::*,
    sync::atomic::{
        Atomic,
        Relaxed, //
    },
};

/// A piece of the device's memory.
///
/// # Invariants
///
/// `ptr` is a piece that the driver gave out, with `face` as its `uobject`.
pub(crate) struct Dm {
    ptr: NonNull<bindings::ib_dm>,
    face: Face,
}

// SAFETY: Device memory may be used and given back in any task.
unsafe impl Send for Dm {}
// SAFETY: Drivers lock what concurrent calls share.
unsafe impl Sync for Dm {}

impl Dm {
    /// `length` bytes at an address with the low `alignment` bits clear. `EOPNOTSUPP` if the device
    /// gives none; else errors are the driver's, `ENOMEM`, and that of the rdma cgroup.
    pub(crate) fn alloc(
        live: &Live<'_>,
        context: &UcontextRef<'_>,
        length: u64,
        alignment: u32,
        bundle: &mut Bundle<'_>,
    ) -> Result<Self> {
        let alloc = live.ops().alloc_dm.ok_or(EOPNOTSUPP)?;
        let mut attr = bindings::ib_dm_alloc_attr {
            length,
            alignment,
            flags: 0,
        };
        let mut face = Face::new(live, context)?;
        bundle.set_context_raw(face.context());
        // SAFETY: All are valid for the call.
        let made = from_err_ptr(unsafe {
            alloc(live.as_raw(), face.context(), &mut attr, bundle.as_raw())
        });
        match made.and_then(|raw| NonNull::new(raw).ok_or(ENOMEM)) {
            Ok(ptr) => {
                let raw = ptr.as_ptr();
                // SAFETY: A new piece, ours alone. Drivers tell lengths in 32 bits, as all that
                // there is of such memory is less.
                unsafe {
                    (*raw).device = live.as_raw();
                    (*raw).length = length as u32;
                    (*raw).uobject = face.uobject();
                    (*raw).usecnt.counter = 0;
                }
                // INVARIANT: As just made.
                Ok(Self { ptr, face })
            }
            Err(e) => {
                face.retire(live);
                Err(e)
            }
        }
    }

    pub(crate) fn as_raw(&self) -> *mut bindings::ib_dm {
        self.ptr.as_ptr()
    }

    /// In bytes.
    pub(crate) fn length(&self) -> u64 {
        // SAFETY: By the type's invariant; the length does not change.
        u64::from(unsafe { (*self.as_raw()).length })
    }

    /// How many memory regions are in it.
    pub(super) fn usecnt(&self) -> &Atomic<i32> {
        // SAFETY: By the type's invariant; the layout of `atomic_t` is that of `Atomic<i32>`.
        unsafe { Atomic::from_ptr(&raw mut (*self.as_raw()).usecnt.counter) }
    }

    /// `EBUSY` while there are memory regions in it, or the driver's error: then nothing has
    /// changed.
    pub(crate) fn destroy(mut self, live: &Live<'_>, bundle: &mut Bundle<'_>) -> Destroyed<Self> {
        let Some(dealloc) = live.ops().dealloc_dm else {
            return Err((self, EOPNOTSUPP));
        };
        if self.usecnt().load(Relaxed) != 0 {
            return Err((self, EBUSY));
        }
        bundle.set_context_raw(self.face.context());
        // SAFETY: By the type's invariant; `self` is not used again if this succeeds.
        match to_result(unsafe { dealloc(self.as_raw(), bundle.as_raw()) }) {
            Ok(()) => {
                self.face.retire(live);
                Ok(())
            }
            Err(e) => Err((self, e)),
        }
    }
}
