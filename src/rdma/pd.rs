// SPDX-License-Identifier: GPL-2.0

//! Protection domains.

use super::{
    bundle::Bundle,
    device::Live,
    face::Face,
    restrack,
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

/// A protection domain in hardware.
///
/// # Invariants
///
/// `ptr` is a PD that the driver made, tracked, with `face` as its `uobject`.
pub(crate) struct Pd {
    ptr: NonNull<bindings::ib_pd>,
    face: Face,
}

// SAFETY: A PD may be used and destroyed in any task.
unsafe impl Send for Pd {}
// SAFETY: Drivers lock what concurrent calls share.
unsafe impl Sync for Pd {}

/// As [`Pd::usecnt`].
///
/// # Safety
///
/// `pd` must be valid as long as the result.
pub(super) unsafe fn usecnt_of<'a>(pd: *mut bindings::ib_pd) -> &'a Atomic<i32> {
    // SAFETY: By this function's contract, and accessed atomically only.
    unsafe { Atomic::from_ptr(&raw mut (*pd).usecnt.counter) }
}

impl Pd {
    /// Errors are the driver's, `ENOMEM`, and that of the rdma cgroup.
    pub(crate) fn alloc(
        live: &Live<'_>,
        context: &UcontextRef<'_>,
        bundle: &mut Bundle<'_>,
    ) -> Result<Self> {
        let alloc = live.ops().alloc_pd.ok_or(EOPNOTSUPP)?;
        let mut face = Face::of_call(live, context, bundle)?;
        match Self::alloc_raw(live, alloc, &face, bundle) {
            Ok(ptr) => Ok(Self { ptr, face }),
            Err(e) => {
                face.retire(live);
                Err(e)
            }
        }
    }

    fn alloc_raw(
        live: &Live<'_>,
        alloc: unsafe extern "C" fn(*mut bindings::ib_pd, *mut bindings::ib_udata) -> c_int,
        face: &Face,
        bundle: &mut Bundle<'_>,
    ) -> Result<NonNull<bindings::ib_pd>> {
        bundle.set_context_raw(face.context());
        // SAFETY: The device is valid.
        let ptr = unsafe { bindings::shverbs_zalloc_pd(live.as_raw()) };
        let ptr = NonNull::new(ptr).ok_or(ENOMEM)?;
        let raw = ptr.as_ptr();
        // SAFETY: A new structure, ours alone.
        unsafe {
            (*raw).device = live.as_raw();
            (*raw).uobject = face.uobject();
            restrack::start(
                &raw mut (*raw).res,
                bindings::rdma_restrack_type_RDMA_RESTRACK_PD,
            );
        }
        // SAFETY: Both are valid for the call.
        if let Err(e) = to_result(unsafe { alloc(raw, bundle.udata()) }) {
            // SAFETY: Not added to the list; the put gives the task back.
            unsafe { bindings::rdma_restrack_put(&raw mut (*raw).res) };
            // SAFETY: The driver refused it, and nobody else has seen it.
            unsafe { bindings::kfree(raw.cast()) };
            return Err(e);
        }
        // SAFETY: Started above.
        unsafe { bindings::rdma_restrack_add(&raw mut (*raw).res) };
        Ok(ptr)
    }

    pub(crate) fn as_raw(&self) -> *mut bindings::ib_pd {
        self.ptr.as_ptr()
    }

    /// How many hardware objects are in this PD.
    pub(super) fn usecnt(&self) -> &Atomic<i32> {
        // SAFETY: Valid as long as `self`.
        unsafe { usecnt_of(self.as_raw()) }
    }

    /// `EBUSY` while there are objects in it, or the driver's error: then nothing has changed.
    pub(crate) fn destroy(mut self, live: &Live<'_>, bundle: &mut Bundle<'_>) -> Destroyed<Self> {
        if self.usecnt().load(Relaxed) != 0 {
            return Err((self, EBUSY));
        }
        bundle.set_context_raw(self.face.context());
        // SAFETY: By the type's invariant; `self` is not used again if this succeeds.
        match to_result(unsafe { bindings::ib_dealloc_pd_user(self.as_raw(), bundle.udata()) }) {
            Ok(()) => {
                self.face.retire(live);
                Ok(())
            }
            Err(e) => Err((self, e)),
        }
    }
}
