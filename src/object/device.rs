// SPDX-License-Identifier: GPL-2.0

//! A device that we serve.

use super::registry::Registry;
use crate::{
    rdma::device::{
        Live,
        UDevice, //
    },
    sys::net::Namespace, //
};
use kernel::{
    prelude::*,
    str::CString, //
};

/// One `ib_device` and its character device.
pub(crate) type Device = UDevice<Inner>;

/// What we keep with a device.
#[pin_data]
pub(crate) struct Inner {
    name: CString,
    #[pin]
    contexts: Registry,
}

impl Inner {
    pub(crate) fn new(live: &Live<'_>) -> Result<impl PinInit<Self, Error>> {
        let name = CString::try_from(live.name())?;
        Ok(try_pin_init!(Self {
            name,
            contexts <- Registry::new(),
        }? Error))
    }

    /// The name that the RDMA device had when it came, `rxe0`.
    pub(crate) fn name(&self) -> &CStr {
        &self.name
    }

    /// The contexts of this device.
    pub(crate) fn contexts(&self) -> &Registry {
        &self.contexts
    }
}

impl Device {
    /// Whether a network namespace may see the device.
    pub(crate) fn accessible_from(&self, namespace: &Namespace) -> bool {
        self.live().is_ok_and(|live| live.accessible_from(namespace))
    }
}
