// SPDX-License-Identifier: GPL-2.0

//! The character devices `/dev/infiniband/uverbsN`, and what becomes of them as devices come and go.

#![forbid(unsafe_code)]

use crate::{
    bindings, dispatch,
    object::{
        device::Inner,
        Device,
        File,
        OpenFile, //
    },
    objfs,
    rdma::{
        class::{
            AttrList,
            Attrs,
            Class,
            Groups, //
        },
        client::Client,
        device::{
            DeviceData,
            Live, //
        },
        fops::{
            CharFile,
            Fops, //
        },
        mmap::{
            self,
            NewVma, //
        }, //
    },
    sys::{
        user::UserAddr,
        work, //
    },
};
use kernel::{
    prelude::*,
    sync::aref::ARef, //
};

static ATTRS: Attrs = Attrs::new::<Inner>();
static ATTR_LIST: AttrList = AttrList::new(&ATTRS);
static GROUPS: Groups = Groups::new(&ATTR_LIST, &GROUPS);
static CLASS: Class<Inner> = Class::new(&GROUPS);

pub(crate) fn class() -> &'static bindings::class {
    CLASS.as_raw()
}

impl DeviceData for Inner {
    fn fops(can_mmap: bool) -> &'static bindings::file_operations {
        Fops::<File>::table(can_mmap)
    }

    fn class() -> &'static bindings::class {
        CLASS.as_raw()
    }
}

impl Client for Inner {
    fn new() -> impl PinInit<Self, Error> {
        Self::new()
    }

    fn added(device: &Device) -> Result {
        objfs::device_added(device)
    }

    fn renamed() {
        objfs::devices_renamed();
    }

    fn removing(device: &Device) {
        // Strong names own files of the device, for which the removal may wait.
        let gone = ARef::from(device);
        if work::in_kernel_thread(move || objfs::device_removed(&gone)).is_err() {
            objfs::device_removed(device);
        }
    }

    fn destroy_all(device: &Device, live: &Live<'_>) {
        device.objects().kill_all(live);
        device.contexts().kill_all(live);
        device.domains().forget();
    }
}

impl CharFile for File {
    type Device = Inner;

    fn new(device: &Device) -> impl PinInit<Self, Error> {
        File::new(device)
    }

    fn ioctl(file: &OpenFile, cmd: u32, at: UserAddr) -> Result {
        dispatch::ioctl::run(file, cmd, at)
    }

    fn write(file: &OpenFile, at: UserAddr, count: usize, trusted: bool) -> Result {
        if trusted {
            dispatch::write::run(file, at, count)
        } else {
            dispatch::write::doorbell(file, at, count)
        }
    }

    fn mmap(file: &OpenFile, vma: NewVma<'_>) -> Result {
        let file = file.data();
        let live = file.device().live()?;
        let context = file.context()?;
        let ucontext = context.lock(&live)?;
        let keep = || -> kernel::sync::Arc<dyn mmap::Keep> { context.clone() };
        mmap::mmap(&live, &ucontext.borrow(), context.map_home(), keep, vma)
    }

    fn close(file: &OpenFile) {
        file.close();
    }
}
