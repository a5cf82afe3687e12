// SPDX-License-Identifier: GPL-2.0

//! `struct ib_uverbs_file`: one open of the character device as drivers and `ib_uverbs_support`
//! see it, with the table of handles.
//!
//! It is a kmalloc of its own with a count of its own, which C code holds and drops, too:
//! `ib_uverbs_release_file()` frees it. So what Rust keeps with it, a [`FileBox`]'s `data`, lives
//! shorter: until the `struct file` is released.

use super::device::{
    DeviceData,
    Live,
    UDevice, //
};
use crate::bindings;
use core::{
    marker::PhantomData,
    ptr::{
        self,
        NonNull, //
    },
};
use kernel::{
    prelude::*,
    sync::{
        aref::AlwaysRefCounted,
        atomic::{
            Acquire,
            Atomic, //
        },
        static_lock_class, //
    },
    types::Opaque, //
};

/// The C part, counted.
///
/// # Invariants
///
/// An initialised `ib_uverbs_file`, which holds a reference on its device.
#[repr(transparent)]
pub(crate) struct UFile(Opaque<bindings::ib_uverbs_file>);

// SAFETY: What is in the structure is guarded by locks of its own.
unsafe impl Send for UFile {}
// SAFETY: What is in the structure is guarded by locks of its own.
unsafe impl Sync for UFile {}

// SAFETY: The count keeps the structure, and `ib_uverbs_release_file` frees it with the last one.
unsafe impl AlwaysRefCounted for UFile {
    fn inc_ref(&self) {
        // SAFETY: Initialised, by the type's invariant.
        unsafe { bindings::shverbs_ufile_get(self.as_raw()) };
    }

    unsafe fn dec_ref(obj: NonNull<Self>) {
        // SAFETY: The caller owns a reference.
        unsafe { bindings::shverbs_ufile_put(obj.as_ref().as_raw()) };
    }
}

impl UFile {
    pub(crate) fn as_raw(&self) -> *mut bindings::ib_uverbs_file {
        self.0.get()
    }

    pub(super) fn device(&self) -> *mut bindings::ib_uverbs_device {
        // SAFETY: By the type's invariant; the field does not change.
        unsafe { (*self.as_raw()).device }
    }

    /// The driver's context as C code finds it; null before there is one, and once it is gone.
    pub(super) fn ucontext_ptr(&self) -> &Atomic<*mut bindings::ib_ucontext> {
        // SAFETY: Valid and aligned as long as `self`, and accessed atomically only.
        unsafe { Atomic::from_ptr(&raw mut (*self.as_raw()).ucontext) }
    }

    /// Lets C code that is handed this file find `home`'s context.
    pub(crate) fn adopt_ucontext(&self, home: &UFile) {
        let ucontext = home.ucontext_ptr().load(Acquire);
        self.ucontext_ptr()
            .store(ucontext, kernel::sync::atomic::Release);
    }

    /// As [`UFile::adopt_ucontext`], back again.
    pub(crate) fn disown_ucontext(&self) {
        self.ucontext_ptr()
            .store(ptr::null_mut(), kernel::sync::atomic::Release);
    }
}

/// An `ib_uverbs_file` and what Rust keeps with it. `private_data` of a `struct file` points here,
/// as drivers want to find an `ib_uverbs_file` there.
#[pin_data]
#[repr(C)]
pub(crate) struct FileBox<T> {
    #[pin]
    raw: UFile,
    #[pin]
    data: T,
}

/// The owner of a [`FileBox`]'s data. There is one for each `struct file`.
///
/// # Invariants
///
/// Points to a `FileBox<T>` whose data is initialised, and owns that and one count.
pub(crate) struct OwnedFile<T>(NonNull<FileBox<T>>, PhantomData<T>);

// SAFETY: Owns a `T`, and gives references to it away.
unsafe impl<T: Send> Send for OwnedFile<T> {}
// SAFETY: Gives references to a `T` away.
unsafe impl<T: Sync> Sync for OwnedFile<T> {}

impl<T> FileBox<T> {
    /// Counts as an open file of `device`, and keeps the driver's module where the driver cannot
    /// take a context back.
    ///
    /// `ENXIO` if the device is being removed, `ENODEV` if its driver is.
    pub(crate) fn open<D: DeviceData>(
        device: &UDevice<D>,
        live: &Live<'_>,
        data: impl PinInit<T, Error>,
    ) -> Result<OwnedFile<T>> {
        let hold = Hold::new(device, live)?;
        let this = KBox::try_pin_init(
            try_pin_init!(Self {
                // SAFETY: The slot is `raw`'s, and `release` of the C structure gives the hold back.
                raw <- unsafe { pin_init::pin_init_from_closure::<UFile, Error>(|slot: *mut UFile| {
                    init_raw(slot.cast(), device.as_raw());
                    Ok(())
                }) },
                data <- data,
            }? Error),
            GFP_KERNEL,
        )?;
        core::mem::forget(hold);
        // SAFETY: Stays where it is: C code frees it, after `OwnedFile` has dropped the data.
        let this = KBox::into_raw(unsafe { Pin::into_inner_unchecked(this) });
        // SAFETY: Not null.
        let this = unsafe { NonNull::new_unchecked(this) };
        // INVARIANT: Both parts are initialised, and the count is one.
        Ok(OwnedFile(this, PhantomData))
    }

    pub(crate) fn ufile(&self) -> &UFile {
        &self.raw
    }

    pub(crate) fn data(&self) -> &T {
        &self.data
    }

    /// # Safety
    ///
    /// `private` must be from [`OwnedFile::into_private`], and its owner outlive `'a`.
    pub(crate) unsafe fn from_private<'a>(private: *mut c_void) -> &'a Self {
        // SAFETY: By this function's contract.
        unsafe { &*private.cast::<Self>() }
    }
}

impl<T> OwnedFile<T> {
    pub(crate) fn into_private(self) -> *mut c_void {
        let this = self.0;
        core::mem::forget(self);
        this.as_ptr().cast()
    }

    /// # Safety
    ///
    /// `private` must be from [`OwnedFile::into_private`], once.
    pub(crate) unsafe fn from_private(private: *mut c_void) -> Self {
        // SAFETY: By this function's contract.
        let this = unsafe { NonNull::new_unchecked(private.cast()) };
        // INVARIANT: Ownership comes back.
        Self(this, PhantomData)
    }
}

impl<T> core::ops::Deref for OwnedFile<T> {
    type Target = FileBox<T>;

    fn deref(&self) -> &FileBox<T> {
        // SAFETY: By the type's invariant.
        unsafe { self.0.as_ref() }
    }
}

impl<T> Drop for OwnedFile<T> {
    fn drop(&mut self) {
        let this = self.0.as_ptr();
        // SAFETY: By the type's invariant; nothing reads the data after this.
        unsafe { ptr::drop_in_place(&raw mut (*this).data) };
        // SAFETY: By the type's invariant the count is ours; `raw` is the first field, so that
        // what C code frees in the end is the whole allocation.
        unsafe { bindings::shverbs_ufile_put((*this).raw.as_raw()) };
    }
}

/// What `ib_uverbs_release_file()` gives back: a count of the device's open files, a reference on
/// its structure and, where the driver cannot take contexts back, one on the driver's module.
struct Hold {
    device: *mut bindings::ib_uverbs_device,
    owner: Option<NonNull<bindings::module>>,
}

impl Hold {
    fn new<D: DeviceData>(device: &UDevice<D>, live: &Live<'_>) -> Result<Self> {
        let raw = device.as_raw();
        // SAFETY: Initialised.
        if !unsafe { bindings::shverbs_device_get_unless_zero(raw) } {
            return Err(ENXIO);
        }
        let mut hold = Self {
            device: raw,
            owner: None,
        };
        if live.ops().disassociate_ucontext.is_none() {
            let owner = live.ops().owner;
            // SAFETY: The driver has a device, so its module is there.
            if !unsafe { bindings::try_module_get(owner) } {
                return Err(ENODEV);
            }
            hold.owner = NonNull::new(owner);
        }
        Ok(hold)
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        if let Some(owner) = self.owner {
            // SAFETY: Taken in `new`.
            unsafe { bindings::module_put(owner.as_ptr()) };
        }
        // SAFETY: Taken in `new`.
        unsafe { bindings::shverbs_device_put(self.device) };
    }
}

/// Makes a file of `device`, without a context.
fn init_raw(slot: *mut bindings::ib_uverbs_file, device: *mut bindings::ib_uverbs_device) {
    // SAFETY: The caller passes a slot that is valid for writes, and pinned.
    unsafe {
        slot.write_bytes(0, 1);
        (*slot).ref_.refcount.refs.counter = 1;
        (*slot).device = device;
        bindings::INIT_LIST_HEAD(&raw mut (*slot).list);
        bindings::INIT_LIST_HEAD(&raw mut (*slot).uobjects);
        bindings::INIT_LIST_HEAD(&raw mut (*slot).umaps);
        bindings::xa_init_flags(&raw mut (*slot).idr, bindings::XA_FLAGS_ALLOC);
        bindings::__mutex_init(
            &raw mut (*slot).ucontext_lock,
            c"ucontext_lock".as_char_ptr(),
            static_lock_class!().as_ptr(),
        );
        bindings::__mutex_init(
            &raw mut (*slot).umap_lock,
            c"umap_lock".as_char_ptr(),
            static_lock_class!().as_ptr(),
        );
        bindings::__spin_lock_init(
            &raw mut (*slot).uobjects_lock,
            c"uobjects_lock".as_char_ptr(),
            static_lock_class!().as_ptr(),
        );
        bindings::__init_rwsem(
            &raw mut (*slot).hw_destroy_rwsem,
            c"hw_destroy_rwsem".as_char_ptr(),
            static_lock_class!().as_ptr(),
        );
    }
}

#[cfg(CONFIG_KUNIT = "y")]
pub(super) mod tests {
    use super::*;

    /// A file of no device, for what needs a table only.
    pub(crate) struct TestFile(Pin<KBox<UFile>>);

    impl TestFile {
        pub(crate) fn new() -> Self {
            // SAFETY: The slot is valid and pinned; the device is not looked at.
            let init = unsafe {
                pin_init::pin_init_from_closure::<UFile, Error>(|slot: *mut UFile| {
                    init_raw(slot.cast(), ptr::null_mut());
                    Ok(())
                })
            };
            Self(KBox::try_pin_init(init, GFP_KERNEL).unwrap())
        }

        pub(crate) fn ufile(&self) -> &UFile {
            &self.0
        }
    }

    impl Drop for TestFile {
        fn drop(&mut self) {
            // SAFETY: Initialised, and nobody uses it any more.
            unsafe { bindings::xa_destroy(&raw mut (*self.0.as_raw()).idr) };
        }
    }
}
