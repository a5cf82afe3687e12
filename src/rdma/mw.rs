// SPDX-License-Identifier: GPL-2.0

//! Memory windows.

use super::{
    bundle::Bundle,
    device::Live,
    face::Face,
    pd::{
        self,
        Pd, //
    },
    ucontext::UcontextRef,
    Destroyed, //
};
use crate::bindings;
use core::ptr::NonNull;
use kernel::{
    error::to_result,
    prelude::*,
    sync::atomic::Relaxed, //
};

/// A memory window in hardware, bound to a memory region or not.
///
/// # Invariants
///
/// `ptr` is a window that the driver made, with `face` as its `uobject`, and counted in its PD,
/// which the owner of this keeps.
pub(crate) struct Mw {
    ptr: NonNull<bindings::ib_mw>,
    face: Face,
}

// SAFETY: A window may be used and destroyed in any task.
unsafe impl Send for Mw {}
// SAFETY: Drivers lock what concurrent calls share.
unsafe impl Sync for Mw {}

impl Mw {
    /// A window of `kind`, of `enum ib_mw_type`. Errors are the driver's, `ENOMEM`, and that of the
    /// rdma cgroup.
    pub(crate) fn alloc(
        live: &Live<'_>,
        context: &UcontextRef<'_>,
        pd: &Pd,
        kind: u32,
        bundle: &mut Bundle<'_>,
    ) -> Result<Self> {
        let mut face = Face::of_call(live, context, bundle)?;
        match Self::alloc_raw(live, &face, pd, kind, bundle) {
            // INVARIANT: As just made.
            Ok(ptr) => Ok(Self { ptr, face }),
            Err(e) => {
                face.retire(live);
                Err(e)
            }
        }
    }

    fn alloc_raw(
        live: &Live<'_>,
        face: &Face,
        pd: &Pd,
        kind: u32,
        bundle: &mut Bundle<'_>,
    ) -> Result<NonNull<bindings::ib_mw>> {
        let alloc = live.ops().alloc_mw.ok_or(EOPNOTSUPP)?;
        bundle.set_context_raw(face.context());
        // SAFETY: The device is valid.
        let ptr = unsafe { bindings::shverbs_zalloc_mw(live.as_raw()) };
        let ptr = NonNull::new(ptr).ok_or(ENOMEM)?;
        let raw = ptr.as_ptr();
        // SAFETY: A new structure, ours alone.
        unsafe {
            (*raw).device = live.as_raw();
            (*raw).pd = pd.as_raw();
            (*raw).uobject = face.uobject();
            (*raw).type_ = kind;
        }
        // SAFETY: Both are valid for the call, and the PD as long as the window.
        if let Err(e) = to_result(unsafe { alloc(raw, bundle.udata()) }) {
            // SAFETY: The driver refused it, and nobody else has seen it.
            unsafe { bindings::kfree(raw.cast()) };
            return Err(e);
        }
        pd.usecnt().add(1, Relaxed);
        Ok(ptr)
    }

    pub(crate) fn as_raw(&self) -> *mut bindings::ib_mw {
        self.ptr.as_ptr()
    }

    /// The key before the window is bound.
    pub(crate) fn rkey(&self) -> u32 {
        // SAFETY: By the type's invariant; whoever binds it meanwhile changes one number.
        unsafe { (&raw const (*self.as_raw()).rkey).read_volatile() }
    }

    /// The driver's error: then nothing has changed.
    pub(crate) fn destroy(mut self, live: &Live<'_>, _bundle: &mut Bundle<'_>) -> Destroyed<Self> {
        let Some(dealloc) = live.ops().dealloc_mw else {
            return Err((self, EOPNOTSUPP));
        };
        let raw = self.as_raw();
        // SAFETY: By the type's invariant.
        let pd = unsafe { (*raw).pd };
        // SAFETY: By the type's invariant.
        if let Err(e) = to_result(unsafe { dealloc(raw) }) {
            return Err((self, e));
        }
        // SAFETY: By the type's invariant the PD is still there.
        unsafe { pd::usecnt_of(pd) }.fetch_sub(1, Relaxed);
        // SAFETY: The driver has let it go, and `self` is not used again.
        unsafe { bindings::kfree(raw.cast()) };
        self.face.retire(live);
        Ok(())
    }
}
