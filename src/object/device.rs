// SPDX-License-Identifier: GPL-2.0

//! A device that we serve.

use super::registry::Registry;
use crate::{
    bindings,
    chardev,
    rdma::{
        client::Client,
        device::{
            DeviceData,
            Live,
            UDevice, //
        }, //
    },
};
use kernel::prelude::*;

/// One `ib_device` and its character device.
pub(crate) type Device = UDevice<Inner>;

/// What we keep with a device.
#[pin_data]
pub(crate) struct Inner {
    #[pin]
    contexts: Registry,
}

impl Inner {
    /// The contexts of this device.
    pub(crate) fn contexts(&self) -> &Registry {
        &self.contexts
    }
}

impl DeviceData for Inner {
    fn fops(can_mmap: bool) -> &'static bindings::file_operations {
        chardev::fops(can_mmap)
    }

    fn class() -> &'static bindings::class {
        chardev::class()
    }
}

impl Client for Inner {
    fn new() -> impl PinInit<Self, Error> {
        try_pin_init!(Self {
            contexts <- Registry::new(),
        }? Error)
    }

    fn added(_device: &Device) -> Result {
        Ok(())
    }

    fn removing(_device: &Device) {}

    fn destroy_all(device: &Device, live: &Live<'_>) {
        device.contexts().kill_all(live);
    }
}
