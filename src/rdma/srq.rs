// SPDX-License-Identifier: GPL-2.0

//! Shared receive queues.

use super::{
    bundle::Bundle,
    cq::Cq,
    device::Live,
    face::Face,
    pd::Pd,
    sink::{
        self,
        Hook,
        Sink, //
    },
    ucontext::UcontextRef,
    xrcd::Xrcd,
    Destroyed, //
};
use crate::bindings;
use core::ptr::{
    self,
    NonNull, //
};
use kernel::{
    error::{
        from_err_ptr,
        to_result, //
    },
    prelude::*,
    sync::Arc, //
};

/// How many work requests an SRQ has room for, with how many pieces of memory each, and with how
/// few left it reports that.
#[derive(Clone, Copy, Default)]
pub(crate) struct Attrs {
    pub(crate) max_wr: u32,
    pub(crate) max_sge: u32,
    pub(crate) limit: u32,
}

impl Attrs {
    fn to_raw(self) -> bindings::ib_srq_attr {
        bindings::ib_srq_attr {
            max_wr: self.max_wr,
            max_sge: self.max_sge,
            srq_limit: self.limit,
        }
    }

    fn from_raw(raw: &bindings::ib_srq_attr) -> Self {
        Self {
            max_wr: raw.max_wr,
            max_sge: raw.max_sge,
            limit: raw.srq_limit,
        }
    }
}

/// What an SRQ is made from.
#[derive(Clone, Copy)]
pub(crate) struct Init<'a> {
    /// `enum ib_srq_type`.
    pub(crate) kind: u32,
    pub(crate) pd: &'a Pd,
    /// Of types that have one.
    pub(crate) cq: Option<&'a Cq>,
    /// Of `IB_SRQT_XRC`.
    pub(crate) xrcd: Option<&'a Xrcd>,
    pub(crate) attrs: Attrs,
    pub(crate) max_num_tags: u32,
}

/// Whether SRQs of this type have a CQ.
pub(crate) fn has_cq(kind: u32) -> bool {
    matches!(
        kind,
        bindings::ib_srq_type_IB_SRQT_XRC | bindings::ib_srq_type_IB_SRQT_TM
    )
}

/// A shared receive queue in hardware.
///
/// # Invariants
///
/// `ptr` is an SRQ that the driver made, tracked, with `face` as its `uobject` and `hook` as what
/// it reports to, and counted in its PD, CQ and XRC domain, which the owner of this keeps.
pub(crate) struct Srq {
    ptr: NonNull<bindings::ib_srq>,
    face: Face<bindings::ib_usrq_object>,
    hook: Hook,
}

// SAFETY: An SRQ may be used and destroyed in any task.
unsafe impl Send for Srq {}
// SAFETY: Drivers lock what concurrent calls share.
unsafe impl Sync for Srq {}

impl Srq {
    /// Makes an SRQ, and tells what it has become. `EOPNOTSUPP` if the device has none; else errors
    /// are the driver's, `ENOMEM`, and that of the rdma cgroup.
    pub(crate) fn create(
        live: &Live<'_>,
        context: &UcontextRef<'_>,
        init: Init<'_>,
        sink: Arc<dyn Sink>,
        bundle: &mut Bundle<'_>,
    ) -> Result<(Self, Attrs)> {
        if live.ops().create_srq.is_none() || live.ops().destroy_srq.is_none() {
            return Err(EOPNOTSUPP);
        }
        let hook = Hook::new(sink)?;
        let mut face = Face::of_call(live, context, bundle)?;
        match Self::create_raw(&face, &hook, init, bundle) {
            // INVARIANT: As made by `create_raw`.
            Ok((ptr, attrs)) => Ok((Self { ptr, face, hook }, attrs)),
            Err(e) => {
                face.retire(live);
                Err(e)
            }
        }
    }

    fn create_raw(
        face: &Face<bindings::ib_usrq_object>,
        hook: &Hook,
        init: Init<'_>,
        bundle: &mut Bundle<'_>,
    ) -> Result<(NonNull<bindings::ib_srq>, Attrs)> {
        let mut attr = bindings::ib_srq_init_attr {
            event_handler: Some(sink::on_event),
            srq_context: hook.as_context(),
            attr: init.attrs.to_raw(),
            srq_type: init.kind,
            ..Default::default()
        };
        attr.ext.cq = init.cq.map_or(ptr::null_mut(), Cq::as_raw);
        let ext = &raw mut attr.ext.__bindgen_anon_1;
        match init.xrcd {
            // SAFETY: The union's field for an SRQ of an XRC domain.
            Some(xrcd) => unsafe { ext.cast::<*mut bindings::ib_xrcd>().write(xrcd.as_raw()) },
            // SAFETY: The union's field for other SRQs.
            None => unsafe { ext.cast::<u32>().write(init.max_num_tags) },
        }
        bundle.set_context_raw(face.context());
        // SAFETY: All are valid for the call, and the face, the hook, the PD, the CQ and the XRC
        // domain as long as the SRQ.
        let raw = from_err_ptr(unsafe {
            bindings::ib_create_srq_user(init.pd.as_raw(), &mut attr, face.as_raw(), bundle.udata())
        })?;
        let ptr = NonNull::new(raw).ok_or(ENOMEM)?;
        Ok((ptr, Attrs::from_raw(&attr.attr)))
    }

    pub(crate) fn as_raw(&self) -> *mut bindings::ib_srq {
        self.ptr.as_ptr()
    }

    /// `enum ib_srq_type`.
    pub(crate) fn kind(&self) -> u32 {
        // SAFETY: By the type's invariant; the type does not change.
        unsafe { (*self.as_raw()).srq_type }
    }

    /// The number that peers send to, of an SRQ of an XRC domain.
    pub(crate) fn number(&self) -> u32 {
        // SAFETY: By the type's invariant; the union has one field, which does not change.
        unsafe { (*self.as_raw()).ext.__bindgen_anon_1.xrc.srq_num }
    }

    /// Changes what `mask` of `enum ib_srq_attr_mask` says. Errors are the driver's.
    pub(crate) fn modify(
        &self,
        live: &Live<'_>,
        attrs: Attrs,
        mask: u32,
        bundle: &mut Bundle<'_>,
    ) -> Result {
        let modify = live.ops().modify_srq.ok_or(EOPNOTSUPP)?;
        let mut attr = attrs.to_raw();
        bundle.set_context_raw(self.face.context());
        // SAFETY: By the type's invariant; the driver excludes other calls that change it.
        to_result(unsafe { modify(self.as_raw(), &mut attr, mask, bundle.udata()) })
    }

    /// What it has become. Errors are the driver's.
    pub(crate) fn query(&self) -> Result<Attrs> {
        let mut attr = bindings::ib_srq_attr::default();
        // SAFETY: By the type's invariant.
        to_result(unsafe { bindings::ib_query_srq(self.as_raw(), &mut attr) })?;
        Ok(Attrs::from_raw(&attr))
    }

    /// `EBUSY` while there are QPs on it, or the driver's error: then nothing has changed.
    pub(crate) fn destroy(mut self, live: &Live<'_>, bundle: &mut Bundle<'_>) -> Destroyed<Self> {
        bundle.set_context_raw(self.face.context());
        // SAFETY: By the type's invariant; `self` is not used again if this succeeds.
        match to_result(unsafe { bindings::ib_destroy_srq_user(self.as_raw(), bundle.udata()) }) {
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
