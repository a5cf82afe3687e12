// SPDX-License-Identifier: GPL-2.0

//! Inodes of other file systems, as names for something of ours.

use crate::bindings;
use core::ptr::NonNull;
use kernel::{
    fs::LocalFile,
    prelude::*, //
};

/// An inode.
///
/// # Invariants
///
/// A reference to it is ours.
pub(crate) struct Inode(NonNull<bindings::inode>);

// SAFETY: References to inodes may be held and dropped in any task.
unsafe impl Send for Inode {}
// SAFETY: Nothing is done with it but telling it from others.
unsafe impl Sync for Inode {}

impl Inode {
    /// That of the file behind a descriptor of the caller; `EBADF` if there is none.
    pub(crate) fn of_fd(fd: u32) -> Result<Self> {
        let file = LocalFile::fget(fd).map_err(|_| EBADF)?;
        // SAFETY: The file is counted, and its inode does not change.
        let inode = unsafe { (*file.as_ptr()).f_inode };
        let inode = NonNull::new(inode).ok_or(EBADF)?;
        // SAFETY: The file holds it.
        unsafe { bindings::ihold(inode.as_ptr()) };
        // INVARIANT: As just taken.
        Ok(Self(inode))
    }

    pub(crate) fn as_raw(&self) -> *mut bindings::inode {
        self.0.as_ptr()
    }

    /// What no other inode has while anybody holds this one.
    pub(crate) fn id(&self) -> usize {
        self.as_raw().addr()
    }
}

impl Drop for Inode {
    fn drop(&mut self) {
        // SAFETY: By the type's invariant.
        unsafe { bindings::iput(self.as_raw()) };
    }
}
