// SPDX-License-Identifier: GPL-2.0

//! The class `infiniband_verbs`: where the character devices appear in sysfs and devtmpfs.

use super::device::{
    self,
    DeviceData,
    UDevice, //
};
use crate::{
    bindings,
    sys::chrdev, //
};
use core::{
    marker::PhantomData,
    ptr, //
};
use kernel::{
    device::Device,
    prelude::*,
    str::as_char_ptr_in_const_context,
    time::{
        delay::fsleep,
        Delta, //
    },
};

/// A static that C only reads.
#[repr(transparent)]
struct Shared<T>(T);

// SAFETY: Neither C nor Rust ever writes it.
unsafe impl<T> Sync for Shared<T> {}

// With lockdep there are more fields.
#[allow(clippy::needless_update)]
const fn attribute(name: &'static CStr) -> bindings::attribute {
    bindings::attribute {
        name: as_char_ptr_in_const_context(name),
        mode: 0o444,
        ..pin_init::zeroed()
    }
}

const fn group(attrs: *const *const bindings::attribute) -> bindings::attribute_group {
    bindings::attribute_group {
        __bindgen_anon_2: bindings::attribute_group__bindgen_ty_2 { attrs_const: attrs },
        ..pin_init::zeroed()
    }
}

static CLASS_ABI: Shared<bindings::class_attribute> = Shared(bindings::class_attribute {
    attr: attribute(c"abi_version"),
    show: Some(class_abi_show),
    store: None,
});
static CLASS_ATTRS: Shared<[*const bindings::attribute; 2]> =
    Shared([&raw const CLASS_ABI.0.attr, ptr::null()]);
static CLASS_GROUP: Shared<bindings::attribute_group> =
    Shared(group((&raw const CLASS_ATTRS.0).cast()));
static CLASS_GROUPS: Shared<[*const bindings::attribute_group; 2]> =
    Shared([&raw const CLASS_GROUP.0, ptr::null()]);

/// The attributes of each device.
///
/// # Invariants
///
/// The class is that of devices in `UDevice<T>`s.
#[repr(transparent)]
pub(crate) struct Class<T>(bindings::class, PhantomData<T>);

// SAFETY: Neither C nor Rust ever writes it.
unsafe impl<T> Sync for Class<T> {}

/// The statics behind a [`Class`]: `abi_version`, `ibdev`, and the list of both.
pub(crate) struct Attrs {
    abi: bindings::device_attribute,
    ibdev: bindings::device_attribute,
}

// SAFETY: Neither C nor Rust ever writes it.
unsafe impl Sync for Attrs {}

/// See [`Attrs`].
pub(crate) struct AttrList([*const bindings::attribute; 3]);

// SAFETY: Neither C nor Rust ever writes it.
unsafe impl Sync for AttrList {}

/// See [`Attrs`].
pub(crate) struct Groups {
    group: bindings::attribute_group,
    list: [*const bindings::attribute_group; 2],
}

// SAFETY: Neither C nor Rust ever writes it.
unsafe impl Sync for Groups {}

impl Attrs {
    pub(crate) const fn new<T: DeviceData>() -> Self {
        Self {
            abi: device_attribute(c"abi_version", abi_version_show::<T>),
            ibdev: device_attribute(c"ibdev", ibdev_show::<T>),
        }
    }
}

impl AttrList {
    pub(crate) const fn new(attrs: &'static Attrs) -> Self {
        Self([
            &raw const attrs.abi.attr,
            &raw const attrs.ibdev.attr,
            ptr::null(),
        ])
    }
}

impl Groups {
    /// `this` must be the static that is being made.
    pub(crate) const fn new(list: &'static AttrList, this: &'static Self) -> Self {
        Self {
            group: group((&raw const list.0).cast()),
            list: [&raw const this.group, ptr::null()],
        }
    }
}

impl<T: DeviceData> Class<T> {
    pub(crate) const fn new(groups: &'static Groups) -> Self {
        Self(
            bindings::class {
                name: as_char_ptr_in_const_context(chrdev::NAME),
                class_groups: (&raw const CLASS_GROUPS.0).cast_mut().cast(),
                dev_groups: (&raw const groups.list).cast_mut().cast(),
                devnode: Some(devnode),
                dev_release: Some(UDevice::<T>::release),
                ..pin_init::zeroed()
            },
            PhantomData,
        )
    }

    pub(crate) const fn as_raw(&'static self) -> &'static bindings::class {
        &self.0
    }
}

const fn device_attribute(
    name: &'static CStr,
    show: unsafe extern "C" fn(
        *mut bindings::device,
        *const bindings::device_attribute,
        *mut c_char,
    ) -> isize,
) -> bindings::device_attribute {
    bindings::device_attribute {
        attr: attribute(name),
        __bindgen_anon_1: bindings::device_attribute__bindgen_ty_1 {
            show_const: Some(show),
        },
        ..pin_init::zeroed()
    }
}

/// The registered class. It goes only when all its devices are freed, as their release is our code
/// and a reader of sysfs or netlink may hold one a moment longer.
pub(crate) struct Registration {
    _class: chrdev::Class,
}

impl Registration {
    pub(crate) fn new(class: &'static bindings::class) -> Result<Self> {
        Ok(Self {
            _class: chrdev::Class::new(class)?,
        })
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        while device::existing() != 0 {
            fsleep(Delta::from_millis(1));
        }
    }
}

/// # Safety
///
/// For the driver core.
unsafe extern "C" fn devnode(
    dev: *const bindings::device,
    mode: *mut bindings::umode_t,
) -> *mut c_char {
    if !mode.is_null() {
        // SAFETY: Valid for writes, as it is not null.
        unsafe { *mode = 0o666 };
    }
    // SAFETY: A valid, named device.
    let dev: &Device = unsafe { Device::from_raw(dev.cast_mut()) };
    // SAFETY: The format takes one string.
    unsafe {
        bindings::kasprintf(
            bindings::GFP_KERNEL,
            c"infiniband/%s".as_char_ptr(),
            dev.name().as_char_ptr(),
        )
    }
}

/// # Safety
///
/// For sysfs.
unsafe extern "C" fn class_abi_show(
    _class: *const bindings::class,
    _attr: *const bindings::class_attribute,
    buf: *mut c_char,
) -> isize {
    // SAFETY: sysfs passes its page; the format takes one number.
    let n = unsafe {
        bindings::sysfs_emit(
            buf,
            c"%u\n".as_char_ptr(),
            bindings::IB_USER_VERBS_ABI_VERSION,
        )
    };
    n as isize
}

/// # Safety
///
/// For sysfs, on a device of a `UDevice<T>`.
unsafe extern "C" fn abi_version_show<T: DeviceData>(
    dev: *mut bindings::device,
    _attr: *const bindings::device_attribute,
    buf: *mut c_char,
) -> isize {
    // SAFETY: By this function's contract.
    let Ok(live) = (unsafe { UDevice::<T>::from_dev(dev) }).live() else {
        return ENODEV.to_errno() as isize;
    };
    // SAFETY: sysfs passes its page; the format takes one number.
    let n = unsafe { bindings::sysfs_emit(buf, c"%u\n".as_char_ptr(), live.ops().uverbs_abi_ver) };
    n as isize
}

/// # Safety
///
/// For sysfs, on a device of a `UDevice<T>`.
unsafe extern "C" fn ibdev_show<T: DeviceData>(
    dev: *mut bindings::device,
    _attr: *const bindings::device_attribute,
    buf: *mut c_char,
) -> isize {
    // SAFETY: By this function's contract.
    let Ok(live) = (unsafe { UDevice::<T>::from_dev(dev) }).live() else {
        return ENODEV.to_errno() as isize;
    };
    // SAFETY: sysfs passes its page; the format takes one string.
    let n = unsafe { bindings::sysfs_emit(buf, c"%s\n".as_char_ptr(), live.name().as_char_ptr()) };
    n as isize
}
