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

/// Defines the kinds: the structure of each, and what is the same for all. `unless` names a method
/// that tells why the last holder cannot destroy it.
macro_rules! kinds {
    ($(
        $(#[$doc:meta])*
        $kind:ident($name:literal, $id:ident $(, unless $check:ident)?) {
            hw: $hw:ty,
            $($(#[$field_doc:meta])* $field:ident: $type:ty,)*
        }
    )*) => {$(
        $(#[$doc])*
        pub(crate) struct $kind {
            pub(crate) hw: $hw,
            $($(#[$field_doc])* pub(crate) $field: $type,)*
        }

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
                let Self { hw, $($field,)* } = self;
                hw.destroy(live, bundle)
                    .map_err(|(hw, e)| (Self { hw, $($field,)* }, e))
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
    /// A protection domain.
    Pd("pd", uverbs_default_objects_UVERBS_OBJECT_PD) {
        hw: rdma::pd::Pd,
    }

    /// A memory region.
    Mr("mr", uverbs_default_objects_UVERBS_OBJECT_MR) {
        hw: rdma::mr::Mr,
        /// `enum ib_access_flags` of the registration.
        access: u32,
        pd: Owner<Pd>,
        /// Of a region of the device's own memory.
        dm: Option<Owner<Dm>>,
    }

    /// A memory window.
    Mw("mw", uverbs_default_objects_UVERBS_OBJECT_MW) {
        hw: rdma::mw::Mw,
        pd: Owner<Pd>,
    }

    /// A completion queue.
    Cq("cq", uverbs_default_objects_UVERBS_OBJECT_CQ) {
        hw: rdma::cq::Cq,
        /// Those whom `hw` reports to.
        subscribers: Arc<Subscribers>,
    }

    /// An address handle.
    Ah("ah", uverbs_default_objects_UVERBS_OBJECT_AH) {
        hw: rdma::ah::Ah,
        pd: Owner<Pd>,
    }

    /// A shared receive queue.
    Srq("srq", uverbs_default_objects_UVERBS_OBJECT_SRQ) {
        hw: rdma::srq::Srq,
        pd: Owner<Pd>,
        /// Of types that have one.
        cq: Option<Owner<Cq>>,
        xrcd: Option<Owner<Xrcd>>,
        /// Those whom `hw` reports to.
        subscribers: Arc<Subscribers>,
    }

    /// A queue pair. It has the parents that its type asks for.
    Qp("qp", uverbs_default_objects_UVERBS_OBJECT_QP, unless unused) {
        hw: rdma::qp::Qp,
        pd: Option<Owner<Pd>>,
        send_cq: Option<Owner<Cq>>,
        recv_cq: Option<Owner<Cq>>,
        srq: Option<Owner<Srq>>,
        /// Those whom `hw` reports to.
        subscribers: Arc<Subscribers>,
    }

    /// Memory of the device.
    Dm("dm", uverbs_default_objects_UVERBS_OBJECT_DM) {
        hw: rdma::dm::Dm,
    }

    /// An XRC domain.
    Xrcd("xrcd", uverbs_default_objects_UVERBS_OBJECT_XRCD) {
        hw: rdma::xrcd::Xrcd,
    }

    /// A set of counters.
    Counters("counters", uverbs_default_objects_UVERBS_OBJECT_COUNTERS) {
        hw: rdma::counters::Counters,
    }
}

impl Qp {
    /// `EBUSY` while it is attached to a multicast group.
    fn unused(&self) -> Result {
        if self.hw.is_attached() {
            Err(EBUSY)
        } else {
            Ok(())
        }
    }
}
