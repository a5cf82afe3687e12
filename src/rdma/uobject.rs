// SPDX-License-Identifier: GPL-2.0

//! Memory that begins with a `struct ib_uobject`, which counts who uses it.
//!
//! There is one for each handle. That of the handle that an object was made with is the object's
//! [`Face`](super::face::Face), too, and then both own a count: either may go before the other.

use crate::{
    bindings,
    sys::mem, //
};
use core::{
    mem::MaybeUninit,
    ptr::NonNull, //
};
use kernel::{
    prelude::*,
    types::Opaque, //
};

/// The size of the largest structure that begins with an `ib_uobject`.
pub(super) const ROOM: usize = size_of::<bindings::ib_uqp_object>();
const REST: usize = ROOM - size_of::<bindings::ib_uobject>();

/// Room for whichever structure begins with an `ib_uobject`.
#[repr(C)]
pub(super) struct Room {
    uobject: Opaque<bindings::ib_uobject>,
    rest: MaybeUninit<[u8; REST]>,
}

impl Room {
    /// Initialises the `ib_uobject`, excluding everybody from it.
    ///
    /// # Safety
    ///
    /// `slot` must be valid for writes.
    pub(super) unsafe fn init(slot: *mut Self, counts: c_int) -> *mut bindings::ib_uobject {
        let raw = slot.cast::<bindings::ib_uobject>();
        // SAFETY: By this function's contract; zeroes are a valid `ib_uobject`.
        unsafe { mem::zero(raw) };
        // SAFETY: As above.
        unsafe {
            (*raw).ref_.refcount.refs.counter = counts;
            (*raw).usecnt.counter = -1;
            bindings::INIT_LIST_HEAD(&raw mut (*raw).list);
        }
        raw
    }
}

/// One count of an `ib_uobject`, and the right to be what the driver finds there.
///
/// # Invariants
///
/// Points to an initialised `ib_uobject` at the beginning of a [`Room`] at the beginning of an
/// allocation, and owns a count of it. Nobody else uses its `context` and `cg_obj`, nor what is behind
/// it in the room.
pub(crate) struct Uobject(NonNull<bindings::ib_uobject>);

impl Uobject {
    /// One that is no handle's.
    pub(super) fn new() -> Result<Self> {
        let slot = KBox::into_raw(KBox::<Room>::new_uninit(GFP_KERNEL)?);
        // SAFETY: A new allocation. INVARIANT: The count of one is this one's.
        Ok(unsafe { Self::from_raw(Room::init(slot.cast(), 1)) })
    }

    /// # Safety
    ///
    /// As the type's invariants; the caller gives the count away.
    pub(super) unsafe fn from_raw(uobject: *mut bindings::ib_uobject) -> Self {
        // SAFETY: By this function's contract.
        Self(unsafe { NonNull::new_unchecked(uobject) })
    }

    pub(super) fn as_raw(&self) -> *mut bindings::ib_uobject {
        self.0.as_ptr()
    }
}

// SAFETY: Whoever has it may use what is its own from any task.
unsafe impl Send for Uobject {}
// SAFETY: Nothing can be done with a shared reference but to know the address.
unsafe impl Sync for Uobject {}

impl Drop for Uobject {
    fn drop(&mut self) {
        // SAFETY: By the type's invariant; frees the allocation after a grace period if this is the
        // last one.
        unsafe { bindings::uverbs_uobject_put(self.as_raw()) };
    }
}
