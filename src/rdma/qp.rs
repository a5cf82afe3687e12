// SPDX-License-Identifier: GPL-2.0

//! Queue pairs.

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
    srq::Srq,
    ucontext::UcontextRef,
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
    sync::{
        static_lock_class,
        Arc, //
    },
};

pub(crate) mod attr;
pub(crate) mod groups;

use self::groups::Groups;

/// `enum ib_qp_create_flags`, as the unsigned numbers that they are everywhere else.
pub(crate) mod create_flags {
    use crate::bindings as b;

    pub(crate) const SOURCE_QPN: u32 = b::ib_qp_create_flags_IB_QP_CREATE_SOURCE_QPN as u32;
    /// Those that the write command knows.
    pub(crate) const WRITE: u32 = SOURCE_QPN
        | (b::ib_qp_create_flags_IB_QP_CREATE_BLOCK_MULTICAST_LOOPBACK
            | b::ib_qp_create_flags_IB_QP_CREATE_CROSS_CHANNEL
            | b::ib_qp_create_flags_IB_QP_CREATE_MANAGED_SEND
            | b::ib_qp_create_flags_IB_QP_CREATE_MANAGED_RECV
            | b::ib_qp_create_flags_IB_QP_CREATE_SCATTER_FCS
            | b::ib_qp_create_flags_IB_QP_CREATE_CVLAN_STRIPPING
            | b::ib_qp_create_flags_IB_QP_CREATE_PCI_WRITE_END_PADDING) as u32;
}

/// Whether the caller may use Q_Keys of privileged processes: all may where the administrator said
/// so.
pub(crate) fn may_use_privileged_qkey(live: &Live<'_>) -> bool {
    // SAFETY: Reads a flag.
    live.has_raw_cap() || unsafe { bindings::rdma_nl_get_privileged_qkey() }
}

/// What a QP can hold, in numbers of work requests and of entries in each, and in bytes.
#[derive(Clone, Copy, Default)]
pub(crate) struct Caps {
    pub(crate) max_send_wr: u32,
    pub(crate) max_recv_wr: u32,
    pub(crate) max_send_sge: u32,
    pub(crate) max_recv_sge: u32,
    pub(crate) max_inline_data: u32,
}

impl Caps {
    fn to_raw(self) -> bindings::ib_qp_cap {
        bindings::ib_qp_cap {
            max_send_wr: self.max_send_wr,
            max_recv_wr: self.max_recv_wr,
            max_send_sge: self.max_send_sge,
            max_recv_sge: self.max_recv_sge,
            max_inline_data: self.max_inline_data,
            max_rdma_ctxs: 0,
        }
    }

    fn from_raw(raw: &bindings::ib_qp_cap) -> Self {
        Self {
            max_send_wr: raw.max_send_wr,
            max_recv_wr: raw.max_recv_wr,
            max_send_sge: raw.max_send_sge,
            max_recv_sge: raw.max_recv_sge,
            max_inline_data: raw.max_inline_data,
        }
    }
}

/// What a QP is made from.
#[derive(Clone, Copy)]
pub(crate) struct Init<'a> {
    /// `enum ib_qp_type`; not `IB_QPT_XRC_TGT`.
    pub(crate) kind: u32,
    pub(crate) pd: Option<&'a Pd>,
    pub(crate) send_cq: Option<&'a Cq>,
    pub(crate) recv_cq: Option<&'a Cq>,
    pub(crate) srq: Option<&'a Srq>,
    pub(crate) caps: Caps,
    /// Whether every work request ends in a completion.
    pub(crate) signal_all: bool,
    /// `enum ib_qp_create_flags`.
    pub(crate) flags: u32,
    pub(crate) source_qpn: u32,
}

/// A queue pair in hardware.
///
/// # Invariants
///
/// `ptr` is a QP that the driver made, tracked, with `face` as its `uobject` and `hook` as what it
/// reports to, and counted in its PD, CQs and SRQ, which the owner of this keeps.
pub(crate) struct Qp {
    ptr: NonNull<bindings::ib_qp>,
    face: Face<bindings::ib_uqp_object>,
    hook: Hook,
    groups: Pin<KBox<Groups>>,
}

// SAFETY: A QP may be used and destroyed in any task.
unsafe impl Send for Qp {}
// SAFETY: Drivers lock what concurrent calls share.
unsafe impl Sync for Qp {}

impl Qp {
    /// Makes a QP, and tells what it can hold. Errors are the driver's.
    pub(crate) fn create(
        live: &Live<'_>,
        context: &UcontextRef<'_>,
        init: Init<'_>,
        sink: Arc<dyn Sink>,
        bundle: &mut Bundle<'_>,
    ) -> Result<(Self, Caps)> {
        let hook = Hook::new(sink)?;
        let groups = Groups::new()?;
        let mut face = Face::of_call(live, context, bundle)?;
        init_face(&face);
        match Self::create_raw(live, &face, &hook, init, bundle) {
            // INVARIANT: As made by `create_raw`.
            Ok((ptr, caps)) => {
                let qp = Self {
                    ptr,
                    face,
                    hook,
                    groups,
                };
                Ok((qp, caps))
            }
            Err(e) => {
                face.retire(live);
                Err(e)
            }
        }
    }

    fn create_raw(
        live: &Live<'_>,
        face: &Face<bindings::ib_uqp_object>,
        hook: &Hook,
        init: Init<'_>,
        bundle: &mut Bundle<'_>,
    ) -> Result<(NonNull<bindings::ib_qp>, Caps)> {
        let pd = init.pd.map_or(ptr::null_mut(), Pd::as_raw);
        let mut attr = bindings::ib_qp_init_attr {
            event_handler: Some(sink::on_event),
            qp_context: hook.as_context(),
            send_cq: init.send_cq.map_or(ptr::null_mut(), Cq::as_raw),
            recv_cq: init.recv_cq.map_or(ptr::null_mut(), Cq::as_raw),
            srq: init.srq.map_or(ptr::null_mut(), Srq::as_raw),
            cap: init.caps.to_raw(),
            sq_sig_type: if init.signal_all {
                bindings::ib_sig_type_IB_SIGNAL_ALL_WR
            } else {
                bindings::ib_sig_type_IB_SIGNAL_REQ_WR
            },
            qp_type: init.kind,
            create_flags: init.flags,
            source_qpn: init.source_qpn,
            ..pin_init::zeroed()
        };
        bundle.set_context_raw(face.context());
        // SAFETY: All are valid for the call, and the face, the hook, the PD, the CQs and the SRQ
        // as long as the QP.
        let raw = from_err_ptr(unsafe {
            bindings::ib_create_qp_user(
                live.as_raw(),
                pd,
                &mut attr,
                bundle.as_raw(),
                face.as_raw(),
                c"shverbs".as_char_ptr(),
            )
        })?;
        let ptr = NonNull::new(raw).ok_or(ENOMEM)?;
        // SAFETY: A new QP; its destruction counts down again.
        unsafe { bindings::ib_qp_usecnt_inc(raw) };
        Ok((ptr, Caps::from_raw(&attr.cap)))
    }

    pub(crate) fn as_raw(&self) -> *mut bindings::ib_qp {
        self.ptr.as_ptr()
    }

    /// The QP that drivers know: another than [`Self::as_raw`] for one of an XRC domain.
    pub(super) fn real(&self) -> *mut bindings::ib_qp {
        // SAFETY: By the type's invariant; the field does not change.
        unsafe { (*self.as_raw()).real_qp }
    }

    pub(crate) fn number(&self) -> u32 {
        // SAFETY: By the type's invariant; the number does not change.
        unsafe { (*self.as_raw()).qp_num }
    }

    /// `enum ib_qp_type`.
    pub(crate) fn kind(&self) -> u32 {
        // SAFETY: By the type's invariant; the type does not change.
        unsafe { (*self.as_raw()).qp_type }
    }

    /// The port that the QP was last given.
    pub(crate) fn port(&self) -> u32 {
        // SAFETY: By the type's invariant the QP that drivers know is there, too; a number that may
        // change meanwhile.
        unsafe { ptr::read_volatile(&raw const (*self.real()).port) }
    }

    /// `EBUSY` while others use it, or the driver's error: then nothing has changed, but it is no
    /// longer attached to any group.
    pub(crate) fn destroy(mut self, live: &Live<'_>, bundle: &mut Bundle<'_>) -> Destroyed<Self> {
        self.detach_all();
        bundle.set_context_raw(self.face.context());
        // SAFETY: By the type's invariant; `self` is not used again if this succeeds.
        match to_result(unsafe { bindings::ib_destroy_qp_user(self.as_raw(), bundle.udata()) }) {
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

/// Makes the rest of a face that is zero valid. Its lists stay empty: nobody looks at them but
/// `ib_uverbs`.
fn init_face(face: &Face<bindings::ib_uqp_object>) {
    let raw = face.as_raw();
    // SAFETY: In bounds, and ours alone.
    unsafe { bindings::INIT_LIST_HEAD(&raw mut (*raw).uevent.event_list) };
    // SAFETY: In bounds, and ours alone.
    unsafe { bindings::INIT_LIST_HEAD(&raw mut (*raw).mcast_list) };
    // SAFETY: In bounds, and ours alone.
    unsafe {
        bindings::__mutex_init(
            &raw mut (*raw).mcast_lock,
            c"mcast_lock".as_char_ptr(),
            static_lock_class!().as_ptr(),
        )
    };
}
