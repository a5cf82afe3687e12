// SPDX-License-Identifier: GPL-2.0

//! Memory regions.

use super::{
    bundle::Bundle,
    device::Live,
    dm::Dm,
    face::Face,
    pd::{
        self,
        Pd, //
    },
    restrack,
    ucontext::UcontextRef,
    work_request::Sge,
    Destroyed, //
};
use crate::{
    bindings,
    sys::num::Signed, //
};
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

/// Memory behind a descriptor, such as a dma-buf.
#[derive(Clone, Copy)]
pub(crate) struct FdRange {
    pub(crate) fd: i32,
    /// First byte of it.
    pub(crate) offset: u64,
    /// In bytes.
    pub(crate) length: u64,
    /// As in [`Range`].
    pub(crate) iova: u64,
    pub(crate) access: u32,
}

/// A range of a piece of the device's memory, in bytes.
#[derive(Clone, Copy)]
pub(crate) struct DmRange {
    pub(crate) offset: u64,
    pub(crate) length: u64,
    /// `enum ib_access_flags`.
    pub(crate) access: u32,
}

/// What a region is to be from now on.
pub(crate) struct Change<'a> {
    /// `enum ib_mr_rereg_flags`, which tell what of `range` counts.
    pub(crate) flags: u32,
    pub(crate) range: Range,
    /// Another PD than it has, if that changes.
    pub(crate) pd: Option<&'a Pd>,
}

pub(crate) const REREG_TRANS: u32 = bindings::ib_mr_rereg_flags_IB_MR_REREG_TRANS;
pub(crate) const REREG_PD: u32 = bindings::ib_mr_rereg_flags_IB_MR_REREG_PD;
pub(crate) const REREG_ACCESS: u32 = bindings::ib_mr_rereg_flags_IB_MR_REREG_ACCESS;

/// What others must know to use a region.
#[derive(Clone, Copy)]
pub(crate) struct Keys {
    pub(crate) lkey: u32,
    pub(crate) rkey: u32,
    pub(crate) iova: u64,
    pub(crate) length: u64,
}

/// A memory region in hardware, over memory of the process that made it or of the device.
///
/// # Invariants
///
/// `ptr` is an MR that the driver made, tracked, with `face` as its `uobject`, and counted in its
/// PD and device memory, which the owner of this keeps.
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

/// Fills in what drivers leave to the core.
///
/// # Safety
///
/// `ptr` must be a new MR of `pd`, which nobody else uses, and `face` live as long.
unsafe fn adopt(ptr: NonNull<bindings::ib_mr>, live: &Live<'_>, pd: &Pd, face: &Face) {
    let raw = ptr.as_ptr();
    // SAFETY: By this function's contract.
    unsafe {
        (*raw).dm = ptr::null_mut();
        (*raw).dmah = ptr::null_mut();
        (*raw).sig_attrs = ptr::null_mut();
    }
    // SAFETY: By this function's contract.
    unsafe { adopt_raw(ptr, live, pd.as_raw(), face) };
}

/// As [`adopt`], of an MR that has taken over from another.
///
/// # Safety
///
/// As that of [`adopt`]; `pd` must be valid.
unsafe fn adopt_raw(
    ptr: NonNull<bindings::ib_mr>,
    live: &Live<'_>,
    pd: *mut bindings::ib_pd,
    face: &Face,
) {
    let raw = ptr.as_ptr();
    // SAFETY: By this function's contract.
    unsafe {
        (*raw).device = live.as_raw();
        (*raw).pd = pd;
        (*raw).type_ = bindings::ib_mr_type_IB_MR_TYPE_USER;
        (*raw).__bindgen_anon_1.uobject = ManuallyDrop::new(face.uobject());
        restrack::start(
            &raw mut (*raw).res,
            bindings::rdma_restrack_type_RDMA_RESTRACK_MR,
        );
        bindings::rdma_restrack_add(&raw mut (*raw).res);
    }
    // SAFETY: By this function's contract.
    unsafe { pd::usecnt_of(pd) }.add(1, Relaxed);
}

/// Advises the driver on how pieces of regions of `pd` will be used. Errors are the driver's.
pub(crate) fn advise(
    live: &Live<'_>,
    pd: &Pd,
    advice: u32,
    flags: u32,
    pieces: &mut [Sge],
    bundle: &mut Bundle<'_>,
) -> Result {
    let advise = live.ops().advise_mr.ok_or(EOPNOTSUPP)?;
    let count = u32::try_from(pieces.len()).map_err(|_| EINVAL)?;
    // SAFETY: The PD is valid, and there are so many pieces, which have the layout of `ib_sge`.
    to_result(unsafe {
        advise(
            pd.as_raw(),
            advice,
            flags,
            pieces.as_mut_ptr().cast(),
            count,
            bundle.as_raw(),
        )
    })
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
        let register = live.ops().reg_user_mr.ok_or(EOPNOTSUPP)?;
        let access = c_int::try_from(range.access).map_err(|_| EINVAL)?;
        let mr = Self::make(live, context, pd, bundle, |bundle| {
            // SAFETY: The PD is valid, and the rest are numbers that the driver checks.
            unsafe {
                register(
                    pd.as_raw(),
                    range.start,
                    range.length,
                    range.iova,
                    access,
                    ptr::null_mut(),
                    bundle.udata(),
                )
            }
        })?;
        mr.set_range(range);
        Ok(mr)
    }

    /// Registers what is behind a descriptor of the calling process. Errors are the driver's.
    pub(crate) fn register_fd(
        live: &Live<'_>,
        context: &UcontextRef<'_>,
        pd: &Pd,
        range: FdRange,
        bundle: &mut Bundle<'_>,
    ) -> Result<Self> {
        let register = live.ops().reg_user_mr_dmabuf.ok_or(EOPNOTSUPP)?;
        let access = c_int::try_from(range.access).map_err(|_| EINVAL)?;
        Self::make(live, context, pd, bundle, |bundle| {
            // SAFETY: The PD is valid, and the rest are numbers that the driver checks.
            unsafe {
                register(
                    pd.as_raw(),
                    range.offset,
                    range.length,
                    range.iova,
                    range.fd,
                    access,
                    ptr::null_mut(),
                    bundle.as_raw(),
                )
            }
        })
    }

    /// Registers memory of the device. `EINVAL` for what is not within `dm`; else errors are the
    /// driver's.
    pub(crate) fn register_dm(
        live: &Live<'_>,
        context: &UcontextRef<'_>,
        pd: &Pd,
        dm: &Dm,
        range: DmRange,
        bundle: &mut Bundle<'_>,
    ) -> Result<Self> {
        let register = live.ops().reg_dm_mr.ok_or(EOPNOTSUPP)?;
        let end = range.offset.checked_add(range.length).ok_or(EINVAL)?;
        if end > dm.length() {
            return Err(EINVAL);
        }
        let mut attr = bindings::ib_dm_mr_attr {
            length: range.length,
            offset: range.offset,
            access_flags: range.access,
        };
        let mr = Self::make(live, context, pd, bundle, |bundle| {
            // SAFETY: All are valid for the call.
            unsafe { register(pd.as_raw(), dm.as_raw(), &mut attr, bundle.as_raw()) }
        })?;
        let raw = mr.as_raw();
        // SAFETY: A new MR, whose owner keeps the device memory.
        unsafe {
            (*raw).type_ = bindings::ib_mr_type_IB_MR_TYPE_DM;
            (*raw).dm = dm.as_raw();
        }
        // `ib_dereg_mr_user()` counts down again.
        dm.usecnt().add(1, Relaxed);
        Ok(mr)
    }

    /// What all registrations have in common. `register` is the driver's, for this PD.
    fn make(
        live: &Live<'_>,
        context: &UcontextRef<'_>,
        pd: &Pd,
        bundle: &mut Bundle<'_>,
        register: impl FnOnce(&mut Bundle<'_>) -> *mut bindings::ib_mr,
    ) -> Result<Self> {
        let mut face = Face::of_call(live, context, bundle)?;
        bundle.set_context_raw(face.context());
        let made = from_err_ptr(register(bundle));
        match made.and_then(|raw| NonNull::new(raw).ok_or(ENOMEM)) {
            Ok(ptr) => {
                // SAFETY: A new MR of this PD, ours alone.
                unsafe { adopt(ptr, live, pd, &face) };
                // INVARIANT: As adopted just now.
                Ok(Self { ptr, face })
            }
            Err(e) => {
                face.retire(live);
                Err(e)
            }
        }
    }

    /// What the driver was asked for, where others find it.
    fn set_range(&self, range: Range) {
        let raw = self.as_raw();
        // SAFETY: By the type's invariant.
        unsafe { (*raw).iova = range.iova };
        // SAFETY: By the type's invariant.
        unsafe { (*raw).length = range.length };
    }

    /// Changes the region, and maybe puts another one in its place. Errors are the driver's; then
    /// nothing has changed.
    pub(crate) fn change(
        &mut self,
        live: &Live<'_>,
        context: &UcontextRef<'_>,
        change: Change<'_>,
        bundle: &mut Bundle<'_>,
    ) -> Result {
        let rereg = live.ops().rereg_user_mr.ok_or(EOPNOTSUPP)?;
        let Change { flags, range, pd } = change;
        let access = range.access.to_signed();
        // In case that the driver makes a new one.
        let mut face = Face::new(live, context)?;
        bundle.set_context_raw(face.context());
        // SAFETY: By the type's invariant.
        let old_pd = unsafe { (*self.as_raw()).pd };
        let new_pd = pd.map_or(old_pd, Pd::as_raw);
        // SAFETY: Both are valid, and the rest are numbers that the driver checks. Nobody else uses
        // the region.
        let made = from_err_ptr(unsafe {
            rereg(
                self.as_raw(),
                flags.to_signed(),
                range.start,
                range.length,
                range.iova,
                access,
                new_pd,
                bundle.udata(),
            )
        });
        match made.map(NonNull::new) {
            Ok(Some(ptr)) => {
                // SAFETY: A new MR of this PD, ours alone.
                unsafe { adopt_raw(ptr, live, new_pd, &face) };
                // INVARIANT: As adopted just now.
                let old = core::mem::replace(self, Self { ptr, face });
                if let Err((old, _)) = old.destroy(live, bundle) {
                    // The hardware still uses it.
                    core::mem::forget(old);
                }
                return Ok(());
            }
            Ok(None) => face.retire(live),
            Err(e) => {
                face.retire(live);
                return Err(e);
            }
        }
        if let Some(pd) = pd {
            self.move_to(pd, old_pd);
        }
        if flags & REREG_TRANS != 0 {
            self.set_range(range);
        }
        Ok(())
    }

    /// The driver has put it into another PD.
    fn move_to(&mut self, pd: &Pd, old_pd: *mut bindings::ib_pd) {
        let raw = self.as_raw();
        pd.usecnt().add(1, Relaxed);
        // SAFETY: By the type's invariant; whoever lists resources reads it at the same time.
        unsafe { (&raw mut (*raw).pd).write_volatile(pd.as_raw()) };
        // SAFETY: By the type's invariant. Afterwards nobody looks at the old PD any more.
        unsafe { bindings::rdma_restrack_sync(&raw mut (*raw).res) };
        // SAFETY: The region was in it until now, so the region's owner has kept it.
        unsafe { pd::usecnt_of(old_pd) }.fetch_sub(1, Relaxed);
    }

    pub(crate) fn as_raw(&self) -> *mut bindings::ib_mr {
        self.ptr.as_ptr()
    }

    pub(crate) fn is_in(&self, pd: &Pd) -> bool {
        // SAFETY: By the type's invariant; the PD changes under exclusion only.
        ptr::eq(unsafe { (*self.as_raw()).pd }, pd.as_raw())
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
