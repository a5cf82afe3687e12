// SPDX-License-Identifier: GPL-2.0

//! A device that we serve.

use super::{
    domains::Domains,
    registry::Registry, //
};
use crate::{
    rdma::device::UDevice,
    sys::net::Namespace, //
};
use kernel::prelude::*;

/// One `ib_device` and its character device.
pub(crate) type Device = UDevice<Inner>;

/// What we keep with a device.
#[pin_data]
pub(crate) struct Inner {
    #[pin]
    objects: Registry,
    #[pin]
    contexts: Registry,
    #[pin]
    domains: Domains,
}

impl Inner {
    pub(crate) fn new() -> impl PinInit<Self, Error> {
        try_pin_init!(Self {
            objects <- Registry::new(),
            contexts <- Registry::new(),
            domains <- Domains::new(),
        }? Error)
    }

    /// The objects of all contexts: one may be made from another context's.
    pub(crate) fn objects(&self) -> &Registry {
        &self.objects
    }

    /// The XRC domains that are found by an inode.
    pub(crate) fn domains(&self) -> &Domains {
        &self.domains
    }

    /// The contexts of this device.
    pub(crate) fn contexts(&self) -> &Registry {
        &self.contexts
    }
}

impl Device {
    /// Whether a network namespace may see the device.
    pub(crate) fn accessible_from(&self, namespace: &Namespace) -> bool {
        self.live()
            .is_ok_and(|live| live.accessible_from(namespace))
    }
}
