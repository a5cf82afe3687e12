// SPDX-License-Identifier: GPL-2.0

//! The operations of the character device.

use super::{
    device::{
        DeviceData,
        UDevice, //
    },
    mmap::NewVma,
    ufile::{
        FileBox,
        OwnedFile, //
    },
};
use crate::{
    bindings,
    sys::user::UserAddr, //
};
use core::marker::PhantomData;
use kernel::{
    error::from_result,
    module::this_module,
    prelude::*, //
};

/// What an open file of the character device does.
pub(crate) trait CharFile: Sized + Send + Sync + 'static {
    type Device: DeviceData;

    fn new(device: &UDevice<Self::Device>) -> impl PinInit<Self, Error>;

    fn ioctl(file: &FileBox<Self>, cmd: u32, at: UserAddr) -> Result;

    /// `trusted` tells whether the caller has the credentials that the file was opened with.
    fn write(file: &FileBox<Self>, at: UserAddr, count: usize, trusted: bool) -> Result;

    fn mmap(file: &FileBox<Self>, vma: NewVma<'_>) -> Result;

    /// The last descriptor was closed, and nobody uses the file any more.
    fn close(file: &FileBox<Self>);
}

/// The table of operations for `T`.
pub(crate) struct Fops<T>(PhantomData<T>);

impl<T: CharFile> Fops<T> {
    const MMAP: bindings::file_operations = bindings::file_operations {
        mmap: Some(Self::mmap),
        ..Self::NO_MMAP
    };

    const NO_MMAP: bindings::file_operations = bindings::file_operations {
        owner: this_module::<crate::LocalModule>().as_ptr(),
        open: Some(Self::open),
        write: Some(Self::write),
        unlocked_ioctl: Some(Self::ioctl),
        compat_ioctl: kernel::bindings::compat_ptr_ioctl,
        release: Some(Self::release),
        ..pin_init::zeroed()
    };

    /// Without `mmap` for a driver that has none.
    pub(crate) const fn table(can_mmap: bool) -> &'static bindings::file_operations {
        if can_mmap {
            &Self::MMAP
        } else {
            &Self::NO_MMAP
        }
    }

    /// # Safety
    ///
    /// For the VFS, on an inode of a cdev of a `UDevice<T::Device>`.
    unsafe extern "C" fn open(inode: *mut bindings::inode, file: *mut bindings::file) -> c_int {
        from_result(|| {
            // SAFETY: By this function's contract; the VFS holds the cdev's device.
            let device =
                unsafe { UDevice::<T::Device>::from_cdev((*inode).__bindgen_anon_5.i_cdev) };
            let live = device.live()?;
            if !live.accessible() {
                return Err(EPERM);
            }
            let owned = FileBox::open(device, &live, T::new(device))?;
            // SAFETY: The file is being opened; `release` takes this back.
            unsafe { (*file).private_data = owned.into_private() };
            // SAFETY: Both are valid.
            Ok(unsafe { bindings::stream_open(inode, file) })
        })
    }

    /// # Safety
    ///
    /// `file` must be one that `open` has opened, and outlive `'a`.
    unsafe fn file<'a>(file: *mut bindings::file) -> &'a FileBox<T> {
        // SAFETY: By this function's contract.
        unsafe { FileBox::from_private((*file).private_data) }
    }

    /// # Safety
    ///
    /// For the VFS.
    unsafe extern "C" fn ioctl(file: *mut bindings::file, cmd: c_uint, arg: c_ulong) -> c_long {
        from_result(|| {
            // SAFETY: The VFS holds the file.
            T::ioctl(unsafe { Self::file(file) }, cmd, UserAddr::from_usize(arg))?;
            Ok(0)
        })
    }

    /// # Safety
    ///
    /// For the VFS.
    unsafe extern "C" fn write(
        file: *mut bindings::file,
        from: *const c_char,
        count: usize,
        _pos: *mut bindings::loff_t,
    ) -> isize {
        from_result(|| {
            // SAFETY: The VFS holds the file.
            let trusted = unsafe { bindings::shverbs_safe_file_access(file) };
            let at = UserAddr::from_usize(from as usize);
            // SAFETY: The VFS holds the file.
            T::write(unsafe { Self::file(file) }, at, count, trusted)?;
            isize::try_from(count).map_err(|_| EINVAL)
        })
    }

    /// # Safety
    ///
    /// For the VFS.
    unsafe extern "C" fn mmap(
        file: *mut bindings::file,
        vma: *mut bindings::vm_area_struct,
    ) -> c_int {
        from_result(|| {
            // SAFETY: A new mapping.
            let vma = unsafe { NewVma::new(vma) };
            // SAFETY: The VFS holds the file.
            T::mmap(unsafe { Self::file(file) }, vma)?;
            Ok(0)
        })
    }

    /// # Safety
    ///
    /// For the VFS, once.
    unsafe extern "C" fn release(_inode: *mut bindings::inode, file: *mut bindings::file) -> c_int {
        // SAFETY: From `open`; runs once.
        let owned = unsafe { OwnedFile::<T>::from_private((*file).private_data) };
        T::close(&owned);
        0
    }
}
