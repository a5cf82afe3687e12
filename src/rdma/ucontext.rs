// SPDX-License-Identifier: GPL-2.0

//! `struct ib_ucontext`: a driver's user context, with its UARs and doorbells.

use super::{
    bundle::Bundle,
    device::Live,
    restrack,
    ufile::UFile, //
};
use crate::bindings;
use core::{
    marker::PhantomData,
    ptr::{
        self,
        NonNull, //
    },
};
use kernel::{
    error::to_result,
    prelude::*,
    sync::{
        aref::ARef,
        atomic::Release, //
    },
};

const HCA_HANDLE: bindings::rdmacg_resource_type =
    bindings::rdmacg_resource_type_RDMACG_RESOURCE_HCA_HANDLE;

/// A driver's context, and the file that it belongs to in the driver's eyes.
///
/// # Invariants
///
/// `ptr` is a context that the driver made, tracked and charged; `home.ucontext` is the same.
pub(crate) struct Ucontext {
    ptr: NonNull<bindings::ib_ucontext>,
    home: ARef<UFile>,
}

// SAFETY: A context may be used and destroyed in any task.
unsafe impl Send for Ucontext {}
// SAFETY: Drivers lock what concurrent calls share.
unsafe impl Sync for Ucontext {}

/// A context that cannot go as long as the guard that it was borrowed from.
#[derive(Clone, Copy)]
pub(crate) struct UcontextRef<'a> {
    ptr: NonNull<bindings::ib_ucontext>,
    _borrow: PhantomData<&'a Ucontext>,
}

impl UcontextRef<'_> {
    pub(crate) fn as_raw(&self) -> *mut bindings::ib_ucontext {
        self.ptr.as_ptr()
    }

    /// The file that the driver finds in the context.
    pub(super) fn ufile(&self) -> *mut bindings::ib_uverbs_file {
        // SAFETY: A valid context; the field does not change.
        unsafe { (*self.ptr.as_ptr()).ufile }
    }
}

impl Ucontext {
    /// Asks the driver for a context, with the call's udata.
    ///
    /// `ucaps` are descriptors of `/dev/infiniband/...ucap` files, for what needs them.
    ///
    /// Errors are the driver's, `ENOMEM`, that of the rdma cgroup, and `EBADF` or `EINVAL` for what
    /// is no ucap.
    pub(crate) fn alloc(
        live: &Live<'_>,
        home: ARef<UFile>,
        ucaps: &mut [i32],
        bundle: &mut Bundle<'_>,
    ) -> Result<Self> {
        let alloc = live.ops().alloc_ucontext.ok_or(EOPNOTSUPP)?;
        // SAFETY: The device is valid.
        let ptr = unsafe { bindings::shverbs_zalloc_ucontext(live.as_raw()) };
        let ptr = NonNull::new(ptr).ok_or(ENOMEM)?;
        let raw = ptr.as_ptr();
        // SAFETY: A new structure, ours alone.
        unsafe {
            (*raw).device = live.as_raw();
            (*raw).ufile = home.as_raw();
            bindings::xa_init_flags(&raw mut (*raw).mmap_xa, bindings::XA_FLAGS_ALLOC);
            restrack::start(
                &raw mut (*raw).res,
                bindings::rdma_restrack_type_RDMA_RESTRACK_CTX,
            );
        }
        bundle.set_context_raw(raw);
        // SAFETY: The device is valid, and so is the context.
        let made = to_result(unsafe {
            bindings::ib_rdmacg_try_charge(&raw mut (*raw).cg_obj, live.as_raw(), HCA_HANDLE)
        })
        .and_then(|()| {
            Self::read_ucaps(raw, ucaps)
                // SAFETY: All are valid for the call; on failure nothing of the driver stays.
                .and_then(|()| to_result(unsafe { alloc(raw, bundle.udata()) }))
                .inspect_err(|_| Self::uncharge(raw, live))
        });
        if let Err(e) = made {
            bundle.set_context_raw(ptr::null_mut());
            // SAFETY: Not added to the list; the put gives the task back.
            unsafe { bindings::rdma_restrack_put(&raw mut (*raw).res) };
            // SAFETY: Nobody has seen the structure.
            unsafe { bindings::kfree(raw.cast()) };
            return Err(e);
        }
        // SAFETY: Started above.
        unsafe { bindings::rdma_restrack_add(&raw mut (*raw).res) };
        home.ucontext_ptr().store(raw, Release);
        // INVARIANT: As made above.
        Ok(Self { ptr, home })
    }

    fn read_ucaps(raw: *mut bindings::ib_ucontext, ucaps: &mut [i32]) -> Result {
        if ucaps.is_empty() {
            return Ok(());
        }
        let count = c_int::try_from(ucaps.len()).map_err(|_| EINVAL)?;
        // SAFETY: Both are valid, and there are so many descriptors.
        to_result(unsafe {
            bindings::ib_get_ucaps(ucaps.as_mut_ptr(), count, &raw mut (*raw).enabled_caps)
        })
    }

    fn uncharge(raw: *mut bindings::ib_ucontext, live: &Live<'_>) {
        // SAFETY: Charged in `alloc`; both are valid.
        unsafe { bindings::ib_rdmacg_uncharge(&raw mut (*raw).cg_obj, live.as_raw(), HCA_HANDLE) };
    }

    pub(crate) fn borrow(&self) -> UcontextRef<'_> {
        UcontextRef {
            ptr: self.ptr,
            _borrow: PhantomData,
        }
    }

    /// Gives the context back to the driver. If the device is being removed, its mappings must
    /// have been zapped.
    pub(crate) fn dealloc(self, live: &Live<'_>, removal: bool) {
        let raw = self.ptr.as_ptr();
        self.home.ucontext_ptr().store(ptr::null_mut(), Release);
        if removal {
            if let Some(disassociate) = live.ops().disassociate_ucontext {
                // SAFETY: A valid context.
                unsafe { disassociate(raw) };
            }
        }
        Self::uncharge(raw, live);
        // SAFETY: Added in `alloc`.
        unsafe { bindings::rdma_restrack_del(&raw mut (*raw).res) };
        if let Some(dealloc) = live.ops().dealloc_ucontext {
            // SAFETY: A valid context, in which nothing is left.
            unsafe { dealloc(raw) };
        }
        // SAFETY: Allocated in `alloc`, and unknown to everybody from here on.
        unsafe { bindings::kfree(raw.cast()) };
    }
}
