// SPDX-License-Identifier: GPL-2.0

//! Owners of objects of any kind, as handles, object fds and names hold them.

use super::{
    kinds::{
        Ah,
        Counters,
        Cq,
        Dm,
        Kind,
        Mr,
        Mw,
        Pd,
        Qp,
        Srq,
        Xrcd, //
    },
    obituary::Obituary,
    owner::{
        Owner,
        Weak, //
    },
    sharing::{
        Holders,
        Sharing, //
    },
    Device, //
};
use crate::{
    events::Subscribers,
    rdma::{
        device::Live,
        handle::ApiObject, //
    }, //
};
use core::ffi::c_void;
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// Defines the enums of all kinds, and what is done with any of them.
macro_rules! any {
    ($($kind:ident),*) => {
        /// An owner of an object of some kind.
        #[derive(Clone)]
        pub(crate) enum AnyOwner {
            $($kind(Owner<$kind>),)*
        }

        /// Somebody who knows an object of some kind without owning it.
        pub(crate) enum AnyWeak {
            $($kind(Weak<$kind>),)*
        }

        impl AnyOwner {
            /// As [`Owner::give_up`].
            pub(crate) fn give_up(self) -> core::result::Result<(), (Self, Error)> {
                match self {
                    $(Self::$kind(owner) => owner.give_up().map_err(|(o, e)| (Self::$kind(o), e)),)*
                }
            }

            pub(crate) fn downgrade(&self) -> AnyWeak {
                match self {
                    $(Self::$kind(owner) => AnyWeak::$kind(owner.downgrade()),)*
                }
            }

            /// As [`Owner::on_death`].
            pub(crate) fn on_death(&self, watcher: Arc<dyn Obituary>) -> Result {
                match self {
                    $(Self::$kind(owner) => owner.on_death(watcher),)*
                }
            }

            pub(crate) fn device(&self) -> &Device {
                match self {
                    $(Self::$kind(owner) => owner.device(),)*
                }
            }

            /// The bytes that the driver answered when it made the object.
            pub(crate) fn response(&self) -> &[u8] {
                match self {
                    $(Self::$kind(owner) => owner.response(),)*
                }
            }

            pub(super) fn sharing(&self) -> &Sharing {
                match self {
                    $(Self::$kind(owner) => owner.sharing(),)*
                }
            }

            /// As [`Owner::holders`].
            pub(crate) fn holders(&self) -> Holders {
                match self {
                    $(Self::$kind(owner) => owner.holders(),)*
                }
            }

            /// As [`Owner::revoke`].
            pub(crate) fn revoke(&self, live: &Live<'_>) -> Result {
                match self {
                    $(Self::$kind(owner) => owner.revoke(live),)*
                }
            }

            /// Whether both own one object.
            pub(super) fn is_same(&self, other: &Self) -> bool {
                match (self, other) {
                    $((Self::$kind(a), Self::$kind(b)) => a.is_same(b),)*
                    _ => false,
                }
            }

            /// `EIO` if the hardware object is destroyed.
            pub(crate) fn as_ptr(&self, live: &Live<'_>) -> Result<*mut c_void> {
                match self {
                    $(Self::$kind(owner) => Ok(owner.lock(live)?.as_ptr()),)*
                }
            }

            /// The kind's id in `enum uverbs_default_objects`.
            pub(crate) fn id(&self) -> u16 {
                match self {
                    $(Self::$kind(_) => $kind::ID,)*
                }
            }

            pub(crate) fn kind(&self) -> &'static str {
                match self {
                    $(Self::$kind(_) => $kind::NAME,)*
                }
            }

            pub(crate) fn api(&self) -> &'static ApiObject {
                match self {
                    $(Self::$kind(_) => $kind::api(),)*
                }
            }
        }

        impl AnyWeak {
            /// Becomes an owner, if there is one.
            pub(crate) fn upgrade(&self) -> Option<AnyOwner> {
                match self {
                    $(Self::$kind(weak) => weak.upgrade().map(AnyOwner::$kind),)*
                }
            }
        }

        /// The type of handles with this id, if it is one of ours.
        pub(crate) fn api_of(id: u32) -> Option<&'static ApiObject> {
            match u16::try_from(id).ok()? {
                $($kind::ID => Some($kind::api()),)*
                _ => None,
            }
        }
    }
}

any!(Pd, Mr, Mw, Cq, Srq, Ah, Qp, Dm, Counters, Xrcd);

impl AnyOwner {
    /// Those who are told when it is revoked; none if that cannot be.
    pub(crate) fn revocation(&self) -> Option<&Arc<Subscribers>> {
        self.sharing().revocation()
    }

    /// In bytes; zero where a kind has no size, or the object is gone.
    pub(crate) fn size(&self) -> u64 {
        let Ok(live) = self.device().live() else {
            return 0;
        };
        match self {
            Self::Mr(mr) => mr.lock(&live).map_or(0, |mr| mr.hw.keys().length),
            _ => 0,
        }
    }

    /// Those who get the object's events; none for kinds without events. `EIO` if it is destroyed.
    pub(crate) fn subscribers(&self, live: &Live<'_>) -> Result<Option<Arc<Subscribers>>> {
        Ok(match self {
            Self::Cq(cq) => Some(cq.lock(live)?.subscribers.clone()),
            Self::Qp(qp) => Some(qp.lock(live)?.subscribers.clone()),
            Self::Srq(srq) => Some(srq.lock(live)?.subscribers.clone()),
            _ => None,
        })
    }
}
