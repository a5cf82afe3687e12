// SPDX-License-Identifier: GPL-2.0

//! Sets of counters, which flows count into.

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
    error::to_result,
    prelude::*,
    sync::atomic::{
        Atomic,
        Relaxed, //
    },
};

/// A set of counters in hardware.
///
/// # Invariants
///
/// `ptr` is a set that the driver made, with `face` as its `uobject`.
pub(crate) struct Counters {
    ptr: NonNull<bindings::ib_counters>,
    face: Face,
}

// SAFETY: Counters may be read and destroyed in any task.
unsafe impl Send for Counters {}
// SAFETY: Drivers lock what concurrent calls share.
unsafe impl Sync for Counters {}

impl Counters {
    /// `EOPNOTSUPP` if the device makes none; else errors are the driver's, `ENOMEM`, and that of
    /// the rdma cgroup.
    pub(crate) fn create(
        live: &Live<'_>,
        context: &UcontextRef<'_>,
        bundle: &mut Bundle<'_>,
    ) -> Result<Self> {
        let mut face = Face::new(live, context)?;
        match Self::create_raw(live, &face, bundle) {
            // INVARIANT: As just made.
            Ok(ptr) => Ok(Self { ptr, face }),
            Err(e) => {
                face.retire(live);
                Err(e)
            }
        }
    }

    fn create_raw(
        live: &Live<'_>,
        face: &Face,
        bundle: &mut Bundle<'_>,
    ) -> Result<NonNull<bindings::ib_counters>> {
        let create = live.ops().create_counters.ok_or(EOPNOTSUPP)?;
        bundle.set_context_raw(face.context());
        // SAFETY: The device is valid.
        let ptr = unsafe { bindings::shverbs_zalloc_counters(live.as_raw()) };
        let ptr = NonNull::new(ptr).ok_or(ENOMEM)?;
        let raw = ptr.as_ptr();
        // SAFETY: A new structure, ours alone.
        unsafe {
            (*raw).device = live.as_raw();
            (*raw).uobject = face.uobject();
        }
        // SAFETY: Both are valid for the call.
        if let Err(e) = to_result(unsafe { create(raw, bundle.as_raw()) }) {
            // SAFETY: The driver refused it, and nobody else has seen it.
            unsafe { bindings::kfree(raw.cast()) };
            return Err(e);
        }
        Ok(ptr)
    }

    pub(crate) fn as_raw(&self) -> *mut bindings::ib_counters {
        self.ptr.as_ptr()
    }

    /// Whether anything counts into them.
    pub(crate) fn is_bound(&self) -> bool {
        // SAFETY: By the type's invariant; the layout of `atomic_t` is that of `Atomic<i32>`.
        let usecnt: &Atomic<i32> =
            unsafe { Atomic::from_ptr(&raw mut (*self.as_raw()).usecnt.counter) };
        usecnt.load(Relaxed) != 0
    }

    /// Reads the first of them into `values`, and tells how many those are. `flags` are of
    /// `enum ib_uverbs_read_counters_flags`; errors are the driver's.
    pub(crate) fn read(
        &self,
        live: &Live<'_>,
        flags: u32,
        values: &mut [u64],
        bundle: &mut Bundle<'_>,
    ) -> Result<usize> {
        let read = live.ops().read_counters.ok_or(EOPNOTSUPP)?;
        let mut attr = bindings::ib_counters_read_attr {
            counters_buff: values.as_mut_ptr(),
            ncounters: u32::try_from(values.len()).map_err(|_| EINVAL)?,
            flags,
        };
        // SAFETY: By the type's invariant; there are so many values.
        to_result(unsafe { read(self.as_raw(), &mut attr, bundle.as_raw()) })?;
        usize::try_from(attr.ncounters).map_err(|_| EINVAL)
    }

    /// `EBUSY` while anything counts into them, or the driver's error: then nothing has changed.
    pub(crate) fn destroy(mut self, live: &Live<'_>, bundle: &mut Bundle<'_>) -> Destroyed<Self> {
        let Some(destroy) = live.ops().destroy_counters else {
            return Err((self, EOPNOTSUPP));
        };
        if self.is_bound() {
            return Err((self, EBUSY));
        }
        bundle.set_context_raw(self.face.context());
        let raw = self.as_raw();
        // SAFETY: By the type's invariant.
        if let Err(e) = to_result(unsafe { destroy(raw) }) {
            return Err((self, e));
        }
        // SAFETY: The driver has let it go, and `self` is not used again.
        unsafe { bindings::kfree(raw.cast()) };
        self.face.retire(live);
        Ok(())
    }
}
