// SPDX-License-Identifier: GPL-2.0

//! Memory regions.

use super::{
    bundle::Bundle,
    device::Live,
    face::Face,
    pd::Pd,
    restrack,
    ucontext::UcontextRef,
    Destroyed, //
};
use crate::bindings;
use core::{
    mem::ManuallyDrop,
    ptr::{
        self,
        NonNull, //
    },
};
use kernel::{
    error::{
        from_err_ptr,
        to_result, //
    },
    prelude::*,
    sync::atomic::Relaxed, //
};

/// What a registration asks for.
#[derive(Clone, Copy)]
pub(crate) struct Range {
    /// First byte in the caller's address space.
    pub(crate) start: u64,
    /// In bytes.
    pub(crate) length: u64,
    /// First address as the hardware and remote peers write it.
    pub(crate) iova: u64,
    /// `enum ib_access_flags`.
    pub(crate) access: u32,
}

/// What others must know to use a region.
#[derive(Clone, Copy)]
pub(crate) struct Keys {
    pub(crate) lkey: u32,
    pub(crate) rkey: u32,
    pub(crate) iova: u64,
    pub(crate) length: u64,
}

/// A memory region in hardware, over memory of the process that made it.
///
/// # Invariants
///
/// `ptr` is an MR that the driver made, tracked, with `face` as its `uobject`, and counted in its
/// PD, which the owner of this keeps.
pub(crate) struct Mr {
    ptr: NonNull<bindings::ib_mr>,
    face: Face,
}

// SAFETY: An MR may be used and destroyed in any task.
unsafe impl Send for Mr {}
// SAFETY: Drivers lock what concurrent calls share.
unsafe impl Sync for Mr {}

/// `EINVAL` for access flags that contradict each other, `EOPNOTSUPP` for those the device lacks.
pub(crate) fn check_access(live: &Live<'_>, access: u32) -> Result {
    // SAFETY: The device is valid.
    to_result(unsafe { bindings::shverbs_check_mr_access(live.as_raw(), access) })
}

impl Mr {
    /// Registers memory of the calling process. Errors are the driver's.
    pub(crate) fn register(
        live: &Live<'_>,
        context: &UcontextRef<'_>,
        pd: &Pd,
        range: Range,
        bundle: &mut Bundle<'_>,
    ) -> Result<Self> {
        let mut face = Face::new(live, context)?;
        match Self::register_raw(live, &face, pd, range, bundle) {
            Ok(ptr) => Ok(Self { ptr, face }),
            Err(e) => {
                face.retire(live);
                Err(e)
            }
        }
    }

    fn register_raw(
        live: &Live<'_>,
        face: &Face,
        pd: &Pd,
        range: Range,
        bundle: &mut Bundle<'_>,
    ) -> Result<NonNull<bindings::ib_mr>> {
        let register = live.ops().reg_user_mr.ok_or(EOPNOTSUPP)?;
        let access = c_int::try_from(range.access).map_err(|_| EINVAL)?;
        bundle.set_context_raw(face.context());
        // SAFETY: The PD is valid, and the rest are numbers that the driver checks.
        let raw = from_err_ptr(unsafe {
            register(
                pd.as_raw(),
                range.start,
                range.length,
                range.iova,
                access,
                ptr::null_mut(),
                bundle.udata(),
            )
        })?;
        let ptr = NonNull::new(raw).ok_or(ENOMEM)?;
        // SAFETY: A new MR, ours alone.
        unsafe {
            (*raw).device = live.as_raw();
            (*raw).pd = pd.as_raw();
            (*raw).type_ = bindings::ib_mr_type_IB_MR_TYPE_USER;
            (*raw).dm = ptr::null_mut();
            (*raw).dmah = ptr::null_mut();
            (*raw).sig_attrs = ptr::null_mut();
            (*raw).__bindgen_anon_1.uobject = ManuallyDrop::new(face.uobject());
            (*raw).iova = range.iova;
            (*raw).length = range.length;
            restrack::start(
                &raw mut (*raw).res,
                bindings::rdma_restrack_type_RDMA_RESTRACK_MR,
            );
            bindings::rdma_restrack_add(&raw mut (*raw).res);
        }
        pd.usecnt().add(1, Relaxed);
        Ok(ptr)
    }

    pub(crate) fn as_raw(&self) -> *mut bindings::ib_mr {
        self.ptr.as_ptr()
    }

    pub(crate) fn keys(&self) -> Keys {
        // SAFETY: By the type's invariant; numbers that change under exclusion only.
        unsafe {
            let raw = self.as_raw();
            Keys {
                lkey: (*raw).lkey,
                rkey: (*raw).rkey,
                iova: (*raw).iova,
                length: (*raw).length,
            }
        }
    }

    /// The driver's error, such as `EINVAL` while memory windows are bound to it: then nothing has
    /// changed.
    pub(crate) fn destroy(mut self, live: &Live<'_>, bundle: &mut Bundle<'_>) -> Destroyed<Self> {
        bundle.set_context_raw(self.face.context());
        // SAFETY: By the type's invariant; `self` is not used again if this succeeds.
        match to_result(unsafe { bindings::ib_dereg_mr_user(self.as_raw(), bundle.udata()) }) {
            Ok(()) => {
                self.face.retire(live);
                Ok(())
            }
            Err(e) => Err((self, e)),
        }
    }
}
