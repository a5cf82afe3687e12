// SPDX-License-Identifier: GPL-2.0

//! Addresses of peers, and address handles.

use super::{
    bundle::Bundle,
    device::Live,
    face::Face,
    pd::Pd,
    ucontext::UcontextRef,
    Destroyed, //
};
use crate::{
    bindings,
    sys::mem, //
};
use core::{
    mem::ManuallyDrop,
    ptr::NonNull, //
};
use kernel::{
    error::{
        from_err_ptr,
        to_result, //
    },
    prelude::*, //
};

/// The way to a peer, as user space tells it.
#[derive(Clone, Copy, Default)]
pub(crate) struct Path {
    pub(crate) dlid: u32,
    pub(crate) sl: u8,
    pub(crate) src_path_bits: u8,
    pub(crate) static_rate: u8,
    pub(crate) port_num: u8,
    /// What a path with a global route header has.
    pub(crate) route: Option<Route>,
}

/// A global route header.
#[derive(Clone, Copy, Default)]
pub(crate) struct Route {
    pub(crate) dgid: [u8; 16],
    pub(crate) flow_label: u32,
    pub(crate) sgid_index: u8,
    pub(crate) hop_limit: u8,
    pub(crate) traffic_class: u8,
}

impl Path {
    /// The path as drivers want it, of the type that its port's protocol asks for.
    pub(super) fn to_raw(self, live: &Live<'_>) -> bindings::rdma_ah_attr {
        // SAFETY: Numbers and pointers, for which zeroes are valid.
        let mut raw = unsafe { mem::zeroed() };
        self.fill(live, &mut raw);
        raw
    }

    /// As [`Path::to_raw`], into zeroes.
    pub(super) fn fill(&self, live: &Live<'_>, raw: &mut bindings::rdma_ah_attr) {
        let port = u32::from(self.port_num);
        // SAFETY: The device is valid, and the port one of its ports or none.
        raw.type_ = unsafe { bindings::shverbs_ah_find_type(live.as_raw(), port) };
        raw.sl = self.sl;
        raw.static_rate = self.static_rate;
        raw.port_num = port;
        if let Some(route) = self.route {
            raw.ah_flags = GRH;
            raw.grh.dgid.raw = ManuallyDrop::new(route.dgid);
            raw.grh.flow_label = route.flow_label;
            raw.grh.sgid_index = route.sgid_index;
            raw.grh.hop_limit = route.hop_limit;
            raw.grh.traffic_class = route.traffic_class;
        }
        // SAFETY: An initialised structure with its type set.
        unsafe { bindings::shverbs_ah_set_lids(raw, self.dlid, self.src_path_bits) };
    }

    pub(super) fn from_raw(raw: &bindings::rdma_ah_attr) -> Self {
        let route = (raw.ah_flags & GRH != 0).then(|| Route {
            // SAFETY: Bytes in every case.
            dgid: **unsafe { &raw.grh.dgid.raw },
            flow_label: raw.grh.flow_label,
            sgid_index: raw.grh.sgid_index,
            hop_limit: raw.grh.hop_limit,
            traffic_class: raw.grh.traffic_class,
        });
        Self {
            // SAFETY: An initialised structure.
            dlid: unsafe { bindings::shverbs_ah_get_dlid(raw) },
            sl: raw.sl,
            // SAFETY: An initialised structure.
            src_path_bits: unsafe { bindings::shverbs_ah_get_path_bits(raw) },
            static_rate: raw.static_rate,
            // As wide as user space has it.
            port_num: raw.port_num as u8,
            route,
        }
    }
}

const GRH: u8 = bindings::ib_ah_flags_IB_AH_GRH as u8;

/// `EINVAL` if the device has no such port.
pub(crate) fn check_port(live: &Live<'_>, port: u8) -> Result {
    // SAFETY: The device is valid.
    if unsafe { bindings::shverbs_port_valid(live.as_raw(), u32::from(port)) } {
        Ok(())
    } else {
        Err(EINVAL)
    }
}

/// An address handle in hardware.
///
/// # Invariants
///
/// `ptr` is an address handle that the driver made, with `face` as its `uobject`, and counted in its
/// PD, which the owner of this keeps.
pub(crate) struct Ah {
    ptr: NonNull<bindings::ib_ah>,
    face: Face,
}

// SAFETY: An address handle may be used and destroyed in any task.
unsafe impl Send for Ah {}
// SAFETY: Drivers lock what concurrent calls share.
unsafe impl Sync for Ah {}

impl Ah {
    /// Resolves the path, too, where its port is Ethernet. Errors are the driver's, and those of
    /// the resolution.
    pub(crate) fn create(
        live: &Live<'_>,
        context: &UcontextRef<'_>,
        pd: &Pd,
        path: Path,
        bundle: &mut Bundle<'_>,
    ) -> Result<Self> {
        let mut face = Face::of_call(live, context, bundle)?;
        match Self::create_raw(live, &face, pd, path, bundle) {
            // INVARIANT: As made by `create_raw`.
            Ok(ptr) => Ok(Self { ptr, face }),
            Err(e) => {
                face.retire(live);
                Err(e)
            }
        }
    }

    fn create_raw(
        live: &Live<'_>,
        face: &Face,
        pd: &Pd,
        path: Path,
        bundle: &mut Bundle<'_>,
    ) -> Result<NonNull<bindings::ib_ah>> {
        if live.ops().create_user_ah.is_none() {
            return Err(EOPNOTSUPP);
        }
        bundle.set_context_raw(face.context());
        let mut attr = path.to_raw(live);
        // SAFETY: All are valid for the call, and the driver has the operation.
        let raw = from_err_ptr(unsafe {
            bindings::rdma_create_user_ah(pd.as_raw(), &mut attr, bundle.udata())
        })?;
        let ptr = NonNull::new(raw).ok_or(ENOMEM)?;
        // SAFETY: A new address handle, ours alone.
        unsafe { (*raw).uobject = face.uobject() };
        Ok(ptr)
    }

    pub(crate) fn as_raw(&self) -> *mut bindings::ib_ah {
        self.ptr.as_ptr()
    }

    /// The driver's error: then nothing has changed.
    pub(crate) fn destroy(mut self, live: &Live<'_>, bundle: &mut Bundle<'_>) -> Destroyed<Self> {
        bundle.set_context_raw(self.face.context());
        let flags = bindings::rdma_destroy_ah_flags_RDMA_DESTROY_AH_SLEEPABLE;
        // SAFETY: By the type's invariant; `self` is not used again if this succeeds.
        match to_result(unsafe {
            bindings::rdma_destroy_ah_user(self.as_raw(), flags, bundle.udata())
        }) {
            Ok(()) => {
                self.face.retire(live);
                Ok(())
            }
            Err(e) => Err((self, e)),
        }
    }
}
