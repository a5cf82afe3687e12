// SPDX-License-Identifier: GPL-2.0

//! A pile of entries that grows without allocating.

use super::{
    Dentry,
    FileSystem, //
};
use core::ptr::{
    self,
    NonNull, //
};
use kernel::{
    ffi::c_void,
    sync::{
        aref::ARef,
        atomic::{
            Atomic,
            Full,
            Relaxed,
            Release, //
        },
    },
};

/// Entries, last in first out, linked through `d_fsdata`, which nothing else uses.
///
/// # Invariants
///
/// `top` is null or an entry on this pile. Each entry on it has a reference that the pile owns, and
/// `d_fsdata` is the next one, or the entry itself if it is the last. `d_fsdata` of an entry that is
/// on no pile is null.
pub(crate) struct Pile<F: FileSystem> {
    top: *mut Dentry<F>,
}

// SAFETY: It owns references to entries, which are `Send`.
unsafe impl<F: FileSystem> Send for Pile<F> {}

impl<F: FileSystem> Pile<F> {
    pub(crate) const fn new() -> Self {
        // INVARIANT: Empty.
        Self {
            top: ptr::null_mut(),
        }
    }

    /// Puts `entry` on top, unless it is on a pile already.
    pub(crate) fn push(&mut self, entry: ARef<Dentry<F>>) {
        let raw = ptr::from_ref::<Dentry<F>>(&entry).cast_mut();
        let next = if self.top.is_null() { raw } else { self.top };
        if entry
            .link()
            .cmpxchg(ptr::null_mut(), next.cast(), Full)
            .is_ok()
        {
            // INVARIANT: The pile owns what `entry` owned.
            self.top = ARef::into_raw(entry).as_ptr();
        }
    }

    /// Takes the top one.
    pub(crate) fn pop(&mut self) -> Option<ARef<Dentry<F>>> {
        let top = NonNull::new(self.top)?;
        // SAFETY: The pile's reference, by the type's invariant; it gives the entry up below.
        let entry = unsafe { ARef::from_raw(top) };
        let next = entry.link().load(Relaxed).cast();
        // INVARIANT: The next one, or null after the last.
        self.top = if next == top.as_ptr() {
            ptr::null_mut()
        } else {
            next
        };
        // INVARIANT: On no pile any more.
        entry.link().store(ptr::null_mut(), Release);
        Some(entry)
    }
}

impl<F: FileSystem> Dentry<F> {
    /// `d_fsdata`.
    fn link(&self) -> &Atomic<*mut c_void> {
        // SAFETY: `self` is valid.
        let link = unsafe { &raw mut (*self.as_ptr()).d_fsdata };
        // SAFETY: Valid and aligned for as long as `self`; it is used through this only.
        unsafe { Atomic::from_ptr(link) }
    }
}

impl<F: FileSystem> Drop for Pile<F> {
    fn drop(&mut self) {
        while self.pop().is_some() {}
    }
}
