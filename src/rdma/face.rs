// SPDX-License-Identifier: GPL-2.0

//! The `struct ib_uobject` that a hardware object points to.
//!
//! Drivers read the context in it, and that it is there at all, which tells them that the object is
//! user space's. It lives as long as the object does, unlike the handles, of which an object may
//! have many; mostly it is in the memory of the first one of these.

use super::{
    bundle::Bundle,
    device::Live,
    ucontext::UcontextRef,
    uobject::{
        Uobject,
        ROOM, //
    }, //
};
use crate::{
    bindings,
    sys::mem, //
};
use core::marker::PhantomData;
use kernel::{
    error::to_result,
    prelude::*, //
};

const HCA_OBJECT: bindings::rdmacg_resource_type =
    bindings::rdmacg_resource_type_RDMACG_RESOURCE_HCA_OBJECT;

/// A C structure that begins with a `struct ib_uobject`.
///
/// # Safety
///
/// The structure's first field must be (of a structure whose first field is, and so on) an
/// `ib_uobject`, and zeroes must be valid for the rest until its owner fills it in.
pub(crate) unsafe trait UobjectLike: pin_init::Zeroable {}

// SAFETY: It is one.
unsafe impl UobjectLike for bindings::ib_uobject {}
// SAFETY: By the layout of `drivers/infiniband/core/uverbs.h`.
unsafe impl UobjectLike for bindings::ib_ucq_object {}
// SAFETY: By the layout of `drivers/infiniband/core/uverbs.h`.
unsafe impl UobjectLike for bindings::ib_uqp_object {}
// SAFETY: By the layout of `drivers/infiniband/core/uverbs.h`.
unsafe impl UobjectLike for bindings::ib_usrq_object {}

/// The face of one object, charged to the rdma cgroup of the process that made it.
///
/// # Invariants
///
/// `charged` tells whether `cg_obj` holds a charge.
pub(crate) struct Face<T: UobjectLike = bindings::ib_uobject> {
    uobject: Uobject,
    charged: bool,
    _kind: PhantomData<T>,
}

// SAFETY: Only the owner of the face changes it.
unsafe impl<T: UobjectLike> Send for Face<T> {}
// SAFETY: Only the owner of the face changes it.
unsafe impl<T: UobjectLike> Sync for Face<T> {}

impl<T: UobjectLike> Face<T> {
    /// For an object of `context`, in the memory of the handle that the call has reserved for it.
    pub(crate) fn of_call(
        live: &Live<'_>,
        context: &UcontextRef<'_>,
        bundle: &Bundle<'_>,
    ) -> Result<Self> {
        match bundle.take_face() {
            Some(uobject) => Self::with(uobject, live, context),
            None => Self::new(live, context),
        }
    }

    /// For an object of `context` that has no handle of its own.
    pub(crate) fn new(live: &Live<'_>, context: &UcontextRef<'_>) -> Result<Self> {
        Self::with(Uobject::new()?, live, context)
    }

    fn with(uobject: Uobject, live: &Live<'_>, context: &UcontextRef<'_>) -> Result<Self> {
        const { assert!(size_of::<T>() <= ROOM) };
        // INVARIANT: Not charged yet.
        let mut face = Self {
            uobject,
            charged: false,
            _kind: PhantomData,
        };
        // SAFETY: There is room for a `T`, and this is the face's own.
        unsafe { mem::zero_behind::<T, bindings::ib_uobject>(face.as_raw()) };
        let raw = face.uobject();
        // SAFETY: By the contract of `UobjectLike`; ours alone.
        unsafe {
            (*raw).context = context.as_raw();
            (*raw).ufile = context.ufile();
        }
        // SAFETY: The device is valid.
        to_result(unsafe {
            bindings::ib_rdmacg_try_charge(&raw mut (*raw).cg_obj, live.as_raw(), HCA_OBJECT)
        })?;
        // INVARIANT: As just done.
        face.charged = true;
        Ok(face)
    }

    pub(super) fn as_raw(&self) -> *mut T {
        self.uobject.as_raw().cast()
    }

    pub(super) fn uobject(&self) -> *mut bindings::ib_uobject {
        self.as_raw().cast()
    }

    /// The context that the driver finds here.
    pub(super) fn context(&self) -> *mut bindings::ib_ucontext {
        // SAFETY: By the contract of `UobjectLike`; set in `new`.
        unsafe { (*self.uobject()).context }
    }

    /// Gives the charge back. What is not retired stays charged, as the device's cgroup is needed
    /// for that.
    pub(crate) fn retire(&mut self, live: &Live<'_>) {
        if core::mem::take(&mut self.charged) {
            // SAFETY: By the type's invariant; the device is valid. INVARIANT: Given back.
            unsafe {
                bindings::ib_rdmacg_uncharge(
                    &raw mut (*self.uobject()).cg_obj,
                    live.as_raw(),
                    HCA_OBJECT,
                )
            };
        }
    }
}
