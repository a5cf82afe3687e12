// SPDX-License-Identifier: GPL-2.0

//! Values whose destructor must run without any lock of the caller's.

use crate::bindings;
use core::{
    marker::PhantomData,
    ops::Deref,
    ptr::NonNull, //
};
use kernel::{
    error::from_err_ptr,
    fs::File,
    module::this_module,
    prelude::*,
    sync::aref::ARef, //
};

/// A `T` that may be given up under any lock: its destructor runs as the release of a file does, by
/// the same task before it returns to user space, or by a work item where there is no user space to
/// return to. Until then it keeps this module, so that nothing has to be waited for at unload.
///
/// # Invariants
///
/// `file` has the operations [`Self::TABLE`] and, until its release, a `KBox<T>` in `private_data`.
pub(crate) struct Deferred<T: Send + Sync + 'static> {
    file: ARef<File>,
    _value: PhantomData<T>,
}

impl<T: Send + Sync + 'static> Deferred<T> {
    const TABLE: bindings::file_operations = bindings::file_operations {
        owner: this_module::<crate::LocalModule>().as_ptr(),
        release: Some(Self::release),
        ..pin_init::zeroed()
    };

    const fn table() -> &'static bindings::file_operations {
        &Self::TABLE
    }

    /// `ENFILE` where there are too many files, `ENOMEM`; `value` is then destroyed at once.
    pub(crate) fn new(name: &'static CStr, value: T) -> Result<Self> {
        let value = KBox::into_raw(KBox::new(value, GFP_KERNEL)?);
        // SAFETY: The name and the table are static; the file takes `value` over on success.
        let file = from_err_ptr(unsafe {
            bindings::anon_inode_getfile(name.as_char_ptr(), Self::table(), value.cast(), 0)
        })
        .inspect_err(|_| {
            // SAFETY: From `KBox::into_raw`, and no file took it over.
            drop(unsafe { KBox::from_raw(value) });
        })?;
        let file = NonNull::new(file).ok_or(EINVAL)?;
        // SAFETY: A new file, whose only reference is ours, and which nobody can seek.
        let file = unsafe { ARef::<File>::from_raw(file.cast()) };
        // INVARIANT: Just so.
        Ok(Self {
            file,
            _value: PhantomData,
        })
    }

    /// # Safety
    ///
    /// Only for the VFS, once, on a file of [`Self::new`].
    unsafe extern "C" fn release(_inode: *mut bindings::inode, file: *mut bindings::file) -> c_int {
        // SAFETY: The VFS passes a valid file.
        let value = unsafe { (*file).private_data };
        // SAFETY: By the type's invariant, and `release` runs once.
        drop(unsafe { KBox::<T>::from_raw(value.cast()) });
        0
    }
}

impl<T: Send + Sync + 'static> Deref for Deferred<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: `self` has a reference to the file.
        let value = unsafe { (*self.file.as_ptr()).private_data };
        // SAFETY: By the type's invariant; the release is yet to come.
        unsafe { &*value.cast::<T>() }
    }
}
