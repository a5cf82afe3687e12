// SPDX-License-Identifier: GPL-2.0

//! Completion queues.

use super::{
    bundle::Bundle,
    device::Live,
    face::Face,
    qp::Qp,
    restrack,
    sink::{
        self,
        Hook,
        Sink, //
    },
    ucontext::UcontextRef,
    Destroyed, //
};
use crate::{
    bindings,
    sys::num::Unsigned, //
};
use core::ptr::{
    self,
    NonNull, //
};
use kernel::{
    error::to_result,
    prelude::*,
    sync::Arc, //
};

/// What a CQ is asked for.
#[derive(Clone, Copy)]
pub(crate) struct Attrs {
    /// The least number of completions that it must have room for.
    pub(crate) cqe: u32,
    pub(crate) vector: u32,
    /// `enum ib_uverbs_ex_create_cq_flags`.
    pub(crate) flags: u32,
}

impl Attrs {
    /// `EINVAL` for no room, or a vector that the device lacks.
    pub(crate) fn check(&self, live: &Live<'_>) -> Result {
        if self.cqe == 0 || self.vector >= live.num_comp_vectors() {
            return Err(EINVAL);
        }
        Ok(())
    }
}

/// A completion queue in hardware.
///
/// # Invariants
///
/// `ptr` is a CQ that the driver made, tracked, with `face` as its `uobject` and `hook` as what it
/// reports to.
pub(crate) struct Cq {
    ptr: NonNull<bindings::ib_cq>,
    face: Face<bindings::ib_ucq_object>,
    hook: Hook,
}

// SAFETY: A CQ may be used and destroyed in any task.
unsafe impl Send for Cq {}
// SAFETY: Drivers lock what concurrent calls share.
unsafe impl Sync for Cq {}

impl Completion {
    /// Whether it is one of `qp`. The QP that the driver names may be gone by now, so that this is
    /// all that may be asked of it.
    pub(crate) fn is_of(&self, qp: &Qp) -> bool {
        ptr::eq(self.wc.qp, qp.as_raw())
    }
}

impl Cq {
    /// `EINVAL` for no room or a vector that the device lacks, `EOPNOTSUPP` if the device has no
    /// CQs for user space; else errors are the driver's, `ENOMEM`, and that of the rdma cgroup.
    pub(crate) fn create(
        live: &Live<'_>,
        context: &UcontextRef<'_>,
        attrs: Attrs,
        sink: Arc<dyn Sink>,
        bundle: &mut Bundle<'_>,
    ) -> Result<Self> {
        let create = live
            .ops()
            .create_user_cq
            .or(live.ops().create_cq)
            .ok_or(EOPNOTSUPP)?;
        if live.ops().destroy_cq.is_none() {
            return Err(EOPNOTSUPP);
        }
        attrs.check(live)?;
        let hook = Hook::new(sink)?;
        let mut face = Face::of_call(live, context, bundle)?;
        match Self::create_raw(live, create, &face, &hook, attrs, bundle) {
            // INVARIANT: As just made.
            Ok(ptr) => Ok(Self { ptr, face, hook }),
            Err(e) => {
                face.retire(live);
                Err(e)
            }
        }
    }

    fn create_raw(
        live: &Live<'_>,
        create: unsafe extern "C" fn(
            *mut bindings::ib_cq,
            *const bindings::ib_cq_init_attr,
            *mut bindings::uverbs_attr_bundle,
        ) -> c_int,
        face: &Face<bindings::ib_ucq_object>,
        hook: &Hook,
        attrs: Attrs,
        bundle: &mut Bundle<'_>,
    ) -> Result<NonNull<bindings::ib_cq>> {
        bundle.set_context_raw(face.context());
        // SAFETY: The device is valid.
        let ptr = unsafe { bindings::shverbs_zalloc_cq(live.as_raw()) };
        let ptr = NonNull::new(ptr).ok_or(ENOMEM)?;
        let raw = ptr.as_ptr();
        // SAFETY: A new structure, ours alone.
        unsafe {
            (*raw).device = live.as_raw();
            (*raw).uobject = face.as_raw();
            (*raw).comp_handler = Some(sink::on_completion);
            (*raw).event_handler = Some(sink::on_event);
            (*raw).cq_context = hook.as_context();
            restrack::start(
                &raw mut (*raw).res,
                bindings::rdma_restrack_type_RDMA_RESTRACK_CQ,
            );
        }
        let init = bindings::ib_cq_init_attr {
            cqe: attrs.cqe,
            comp_vector: attrs.vector,
            flags: attrs.flags,
        };
        // SAFETY: All are valid for the call, and `hook` as long as the CQ.
        if let Err(e) = to_result(unsafe { create(raw, &init, bundle.as_raw()) }) {
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

    pub(crate) fn as_raw(&self) -> *mut bindings::ib_cq {
        self.ptr.as_ptr()
    }

    /// How many completions it has room for.
    pub(crate) fn cqe(&self) -> u32 {
        // SAFETY: By the type's invariant; whoever resizes it meanwhile changes one number.
        unsafe { (&raw const (*self.as_raw()).cqe).read_volatile() }.to_unsigned()
    }

    /// Arms it: the next completion, or the next solicited one, is reported. `EOPNOTSUPP` if the
    /// driver leaves that to user space.
    pub(crate) fn arm(&self, live: &Live<'_>, solicited: bool) -> Result {
        let notify = live.ops().req_notify_cq.ok_or(EOPNOTSUPP)?;
        let what = if solicited {
            bindings::ib_cq_notify_flags_IB_CQ_SOLICITED
        } else {
            bindings::ib_cq_notify_flags_IB_CQ_NEXT_COMP
        };
        // SAFETY: By the type's invariant. Like `ib_uverbs`, nobody asks whether it succeeded.
        let _ = unsafe { notify(self.as_raw(), what) };
        Ok(())
    }

    /// Takes the oldest completion, if there is one. `EOPNOTSUPP` if the driver leaves that to user
    /// space.
    pub(crate) fn poll(&self, live: &Live<'_>) -> Result<Option<Completion>> {
        let poll = live.ops().poll_cq.ok_or(EOPNOTSUPP)?;
        let mut wc = bindings::ib_wc::default();
        // SAFETY: By the type's invariant, and there is room for one.
        let n = unsafe { poll(self.as_raw(), 1, &mut wc) };
        to_result(n.min(0))?;
        if n == 0 {
            return Ok(None);
        }
        // SAFETY: The device is valid.
        let slid = unsafe { bindings::shverbs_lid_to_user(live.as_raw(), wc.port_num, wc.slid) };
        // SAFETY: Numbers, whichever of the union's fields the driver has filled.
        let (wr_id, ex) = unsafe {
            (
                (&raw const wc.__bindgen_anon_1).cast::<u64>().read(),
                (&raw const wc.ex).cast::<u32>().read(),
            )
        };
        Ok(Some(Completion {
            wc,
            wr_id,
            ex,
            slid,
        }))
    }

    /// Gives it room for at least `cqe` completions. Errors are the driver's.
    pub(crate) fn resize(&self, live: &Live<'_>, cqe: u32, bundle: &mut Bundle<'_>) -> Result {
        let resize = live.ops().resize_user_cq.ok_or(EOPNOTSUPP)?;
        bundle.set_context_raw(self.face.context());
        // SAFETY: By the type's invariant; the driver excludes other calls that change it.
        to_result(unsafe { resize(self.as_raw(), cqe, bundle.udata()) })
    }

    /// Lets the device wait for so many completions, or so many microseconds, with an event. Errors
    /// are the driver's.
    pub(crate) fn moderate(&self, count: u16, period: u16) -> Result {
        // SAFETY: By the type's invariant.
        to_result(unsafe { bindings::rdma_set_cq_moderation(self.as_raw(), count, period) })
    }

    /// `EBUSY` while there are QPs on it, or the driver's error: then nothing has changed.
    pub(crate) fn destroy(mut self, live: &Live<'_>, bundle: &mut Bundle<'_>) -> Destroyed<Self> {
        bundle.set_context_raw(self.face.context());
        // SAFETY: By the type's invariant; `self` is not used again if this succeeds.
        match to_result(unsafe { bindings::ib_destroy_cq_user(self.as_raw(), bundle.udata()) }) {
            Ok(()) => {
                self.face.retire(live);
                // From here on no callback runs.
                drop(self.hook);
                Ok(())
            }
            Err(e) => Err((self, e)),
        }
    }
}

/// A completion that the driver has polled.
pub(crate) struct Completion {
    pub(crate) wc: bindings::ib_wc,
    pub(crate) wr_id: u64,
    /// Immediate data, or an invalidated rkey, as they are in `wc`.
    pub(crate) ex: u32,
    pub(crate) slid: u16,
}
