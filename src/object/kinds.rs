// SPDX-License-Identifier: GPL-2.0

//! The kinds of objects: what each is in hardware, and what it owns.
//!
//! A field that is an [`Owner`] is a parent. Fields are dropped after the hardware object is
//! destroyed, so that children go before parents without anybody saying so.

use super::{
    any::AnyOwner,
    owner::Owner, //
};
use crate::{
    bindings,
    events::Subscribers,
    rdma::{
        self,
        bundle::Bundle,
        device::Live,
        handle::ApiObject,
        Destroyed, //
    },
};
use core::ffi::c_void;
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// A kind of object.
pub(crate) trait Kind: Sized + Send + Sync + 'static {
    /// For messages and the object file system.
    const NAME: &'static str;

    /// The kind's id in `enum uverbs_default_objects`.
    const ID: u16;

    /// The kind as `struct ib_uobject`s tell it.
    fn api() -> &'static ApiObject;

    /// What C code finds in `ib_uobject::object`.
    fn as_ptr(&self) -> *mut c_void;

    /// Why the hardware object cannot be destroyed by its last holder, while it can if that just
    /// goes away.
    fn check(&self) -> Result {
        Ok(())
    }

    /// Destroys the hardware object; on failure all is as before.
    fn destroy(self, live: &Live<'_>, bundle: &mut Bundle<'_>) -> Destroyed<Self>;

    fn wrap(owner: Owner<Self>) -> AnyOwner;

    fn unwrap(any: &AnyOwner) -> Option<&Owner<Self>>;
}

/// A protection domain.
pub(crate) struct Pd {
    pub(crate) hw: rdma::pd::Pd,
}

impl Pd {
    pub(super) fn end(self, live: &Live<'_>, bundle: &mut Bundle<'_>) -> Destroyed<Self> {
        self.hw
            .destroy(live, bundle)
            .map_err(|(hw, e)| (Self { hw }, e))
    }
}

/// A memory region.
pub(crate) struct Mr {
    pub(crate) hw: rdma::mr::Mr,
    /// `enum ib_access_flags` of the registration.
    pub(crate) access: u32,
    pub(crate) pd: Owner<Pd>,
}

impl Mr {
    pub(super) fn end(self, live: &Live<'_>, bundle: &mut Bundle<'_>) -> Destroyed<Self> {
        let Self { hw, access, pd } = self;
        hw.destroy(live, bundle)
            .map_err(|(hw, e)| (Self { hw, access, pd }, e))
    }
}

/// A memory window.
pub(crate) struct Mw {
    pub(crate) hw: rdma::mw::Mw,
    pub(crate) pd: Owner<Pd>,
}

impl Mw {
    pub(super) fn end(self, live: &Live<'_>, bundle: &mut Bundle<'_>) -> Destroyed<Self> {
        let Self { hw, pd } = self;
        hw.destroy(live, bundle)
            .map_err(|(hw, e)| (Self { hw, pd }, e))
    }
}

/// A completion queue.
pub(crate) struct Cq {
    pub(crate) hw: rdma::cq::Cq,
    /// Those whom `hw` reports to.
    pub(crate) subscribers: Arc<Subscribers>,
}

impl Cq {
    pub(super) fn end(self, live: &Live<'_>, bundle: &mut Bundle<'_>) -> Destroyed<Self> {
        let Self { hw, subscribers } = self;
        hw.destroy(live, bundle)
            .map_err(|(hw, e)| (Self { hw, subscribers }, e))
    }
}

/// An address handle.
pub(crate) struct Ah {
    pub(crate) hw: rdma::ah::Ah,
    pub(crate) pd: Owner<Pd>,
}

impl Ah {
    pub(super) fn end(self, live: &Live<'_>, bundle: &mut Bundle<'_>) -> Destroyed<Self> {
        let Self { hw, pd } = self;
        hw.destroy(live, bundle)
            .map_err(|(hw, e)| (Self { hw, pd }, e))
    }
}

/// A shared receive queue.
pub(crate) struct Srq {
    pub(crate) hw: rdma::srq::Srq,
    pub(crate) pd: Owner<Pd>,
    /// Of types that have one.
    pub(crate) cq: Option<Owner<Cq>>,
    /// Those whom `hw` reports to.
    pub(crate) subscribers: Arc<Subscribers>,
}

impl Srq {
    pub(super) fn end(self, live: &Live<'_>, bundle: &mut Bundle<'_>) -> Destroyed<Self> {
        let Self {
            hw,
            pd,
            cq,
            subscribers,
        } = self;
        hw.destroy(live, bundle).map_err(|(hw, e)| {
            let all = Self {
                hw,
                pd,
                cq,
                subscribers,
            };
            (all, e)
        })
    }
}

/// A queue pair. It has the parents that its type asks for.
pub(crate) struct Qp {
    pub(crate) hw: rdma::qp::Qp,
    pub(crate) pd: Option<Owner<Pd>>,
    pub(crate) send_cq: Option<Owner<Cq>>,
    pub(crate) recv_cq: Option<Owner<Cq>>,
    pub(crate) srq: Option<Owner<Srq>>,
    /// Those whom `hw` reports to.
    pub(crate) subscribers: Arc<Subscribers>,
}

impl Qp {
    /// `EBUSY` while it is attached to a multicast group.
    fn check_unused(&self) -> Result {
        if self.hw.is_attached() {
            Err(EBUSY)
        } else {
            Ok(())
        }
    }

    pub(super) fn end(self, live: &Live<'_>, bundle: &mut Bundle<'_>) -> Destroyed<Self> {
        let Self {
            hw,
            pd,
            send_cq,
            recv_cq,
            srq,
            subscribers,
        } = self;
        hw.destroy(live, bundle).map_err(|(hw, e)| {
            let all = Self {
                hw,
                pd,
                send_cq,
                recv_cq,
                srq,
                subscribers,
            };
            (all, e)
        })
    }
}

/// Gives each kind what is the same for all.
macro_rules! kinds {
    ($($kind:ident: $name:literal, $id:ident $(, $check:ident)?;)*) => {$(
        impl Kind for $kind {
            const NAME: &'static str = $name;
            const ID: u16 = bindings::$id as u16;

            fn api() -> &'static ApiObject {
                static API: ApiObject = ApiObject::new($kind::ID);
                &API
            }

            fn as_ptr(&self) -> *mut c_void {
                self.hw.as_raw().cast()
            }

            $(fn check(&self) -> Result {
                self.$check()
            })?

            fn destroy(self, live: &Live<'_>, bundle: &mut Bundle<'_>) -> Destroyed<Self> {
                self.end(live, bundle)
            }

            fn wrap(owner: Owner<Self>) -> AnyOwner {
                AnyOwner::$kind(owner)
            }

            fn unwrap(any: &AnyOwner) -> Option<&Owner<Self>> {
                match any {
                    AnyOwner::$kind(owner) => Some(owner),
                    _ => None,
                }
            }
        }
    )*}
}

kinds! {
    Pd: "pd", uverbs_default_objects_UVERBS_OBJECT_PD;
    Mr: "mr", uverbs_default_objects_UVERBS_OBJECT_MR;
    Mw: "mw", uverbs_default_objects_UVERBS_OBJECT_MW;
    Cq: "cq", uverbs_default_objects_UVERBS_OBJECT_CQ;
    Srq: "srq", uverbs_default_objects_UVERBS_OBJECT_SRQ;
    Ah: "ah", uverbs_default_objects_UVERBS_OBJECT_AH;
    Qp: "qp", uverbs_default_objects_UVERBS_OBJECT_QP, check_unused;
}
