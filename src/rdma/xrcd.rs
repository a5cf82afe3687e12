// SPDX-License-Identifier: GPL-2.0

//! XRC domains.

use super::{
    bundle::Bundle,
    device::Live,
    face::Face,
    ucontext::UcontextRef,
    Destroyed, //
};
use crate::{
    bindings,
    sys::inode::Inode, //
};
use core::ptr::{
    self,
    NonNull, //
};
use kernel::{
    error::{
        from_err_ptr,
        to_result, //
    },
    prelude::*, //
};

/// An XRC domain in hardware.
///
/// # Invariants
///
/// `ptr` is a domain that the driver made, whose `inode` is ours.
pub(crate) struct Xrcd {
    ptr: NonNull<bindings::ib_xrcd>,
    face: Face,
    inode: Option<Inode>,
}

// SAFETY: A domain may be used and given back in any task.
unsafe impl Send for Xrcd {}
// SAFETY: `ib_core` and drivers lock what concurrent calls share.
unsafe impl Sync for Xrcd {}

impl Xrcd {
    /// A domain, maybe one that others find by an inode. `EOPNOTSUPP` if the device has none; else
    /// errors are the driver's, `ENOMEM`, and that of the rdma cgroup.
    pub(crate) fn alloc(
        live: &Live<'_>,
        context: &UcontextRef<'_>,
        inode: Option<Inode>,
        bundle: &mut Bundle<'_>,
    ) -> Result<Self> {
        let mut face = Face::new(live, context)?;
        bundle.set_context_raw(face.context());
        let raw = inode.as_ref().map_or(ptr::null_mut(), Inode::as_raw);
        // SAFETY: All are valid for the call, and the inode as long as the domain.
        let made = from_err_ptr(unsafe {
            bindings::ib_alloc_xrcd_user(live.as_raw(), raw.cast(), bundle.udata())
        });
        match made.and_then(|raw| NonNull::new(raw).ok_or(ENOMEM)) {
            // INVARIANT: As just made.
            Ok(ptr) => Ok(Self { ptr, face, inode }),
            Err(e) => {
                face.retire(live);
                Err(e)
            }
        }
    }

    pub(crate) fn as_raw(&self) -> *mut bindings::ib_xrcd {
        self.ptr.as_ptr()
    }

    /// `EBUSY` while anything is in it, or the driver's error: then nothing has changed.
    pub(crate) fn destroy(mut self, live: &Live<'_>, bundle: &mut Bundle<'_>) -> Destroyed<Self> {
        bundle.set_context_raw(self.face.context());
        // SAFETY: By the type's invariant; `self` is not used again if this succeeds.
        match to_result(unsafe { bindings::ib_dealloc_xrcd_user(self.as_raw(), bundle.udata()) }) {
            Ok(()) => {
                self.face.retire(live);
                drop(self.inode);
                Ok(())
            }
            Err(e) => Err((self, e)),
        }
    }
}
