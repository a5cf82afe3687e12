// SPDX-License-Identifier: GPL-2.0

//! Inodes, and what they own.

use super::{
    dirops,
    mount::Ownership,
    FileSystem, //
};
use crate::bindings;
use core::{
    marker::PhantomData,
    mem::ManuallyDrop,
    ptr::NonNull, //
};
use kernel::{
    error::to_result,
    prelude::*,
    sync::{
        aref::AlwaysRefCounted,
        atomic::{
            Atomic,
            Relaxed, //
        },
    },
    types::Opaque, //
};

/// The permission bits of a mode.
pub(super) const PERMISSIONS: u16 = 0o7777;
/// `S_IFDIR` and `S_IFREG` of `include/uapi/linux/stat.h`, which are wider than a mode there.
pub(super) const DIRECTORY: u16 = 0o040000;
pub(super) const REGULAR: u16 = 0o100000;
const FORMAT: u16 = 0o170000;

/// Inode numbers, which no two inodes of this module's superblocks ever share; 1 is the root's.
static NEXT_INO: Atomic<u64> = Atomic::new(ROOT_INO + 1);
const ROOT_INO: u64 = 1;

/// An inode of a superblock of `F`.
///
/// # Invariants
///
/// Complete: `i_private` has a `KBox<F::Dir>` if this is a directory and else a `KBox<F::File>`.
#[repr(transparent)]
pub(crate) struct Inode<F: FileSystem>(Opaque<bindings::inode>, PhantomData<F>);

// SAFETY: Inodes may be used and put by any task, and so may what they own.
unsafe impl<F: FileSystem> Send for Inode<F> {}
// SAFETY: The VFS locks what changes; what an inode owns is `Sync`.
unsafe impl<F: FileSystem> Sync for Inode<F> {}

// SAFETY: `ihold()` keeps an inode until `iput()`.
unsafe impl<F: FileSystem> AlwaysRefCounted for Inode<F> {
    fn inc_ref(&self) {
        // SAFETY: `self` has a reference already.
        unsafe { bindings::ihold(self.as_ptr()) };
    }

    unsafe fn dec_ref(obj: NonNull<Self>) {
        // SAFETY: The caller gives a reference up.
        unsafe { bindings::iput(obj.as_ptr().cast()) };
    }
}

impl<F: FileSystem> Inode<F> {
    /// # Safety
    ///
    /// `inode` must be a complete inode of a superblock of `F`, with a reference for `'a`.
    pub(super) unsafe fn from_raw<'a>(inode: *mut bindings::inode) -> &'a Self {
        // SAFETY: By this function's contract; the layouts agree.
        unsafe { &*inode.cast() }
    }

    pub(super) fn as_ptr(&self) -> *mut bindings::inode {
        self.0.get()
    }

    pub(super) fn superblock(&self) -> *mut bindings::super_block {
        // SAFETY: `self` is valid, and `i_sb` constant.
        unsafe { (*self.as_ptr()).i_sb }
    }

    /// What a directory owns; `None` of a regular file.
    pub(crate) fn dir(&self) -> Option<&F::Dir> {
        // SAFETY: `self` is valid, and the format constant.
        if !is_dir(unsafe { (*self.as_ptr()).i_mode }) {
            return None;
        }
        // SAFETY: `self` is valid, and `i_private` constant.
        let data = unsafe { (*self.as_ptr()).i_private };
        // SAFETY: By the type's invariant, for as long as `self`.
        Some(unsafe { &*data.cast() })
    }

    /// Sets owner, group and permissions.
    pub(super) fn set_ownership(&self, ownership: Ownership) {
        let inode = self.as_ptr();
        // SAFETY: `self` is valid; nothing of this inode's is locked by a caller.
        unsafe { bindings::shverbs_inode_lock(inode) };
        // SAFETY: Locked.
        unsafe { ownership.apply(inode) };
        // SAFETY: Valid.
        unsafe { bindings::shverbs_touch_ctime(inode) };
        // SAFETY: Locked above.
        unsafe { bindings::shverbs_inode_unlock(inode) };
    }
}

pub(super) const fn is_dir(mode: u16) -> bool {
    mode & FORMAT == DIRECTORY
}

/// A new inode that owns nothing yet.
///
/// # Invariants
///
/// An inode of a superblock of `F` with null in `i_private`, whose one reference is ours.
pub(super) struct NewInode<F: FileSystem>(NonNull<bindings::inode>, PhantomData<F>);

impl<F: FileSystem> NewInode<F> {
    /// An inode to be put into the directory `dir`, or to be the root if that is null. It belongs
    /// to the calling task's file system user and group, or to the group of a setgid directory.
    ///
    /// # Safety
    ///
    /// `sb` must be a valid superblock of `F`, and `dir` null or a directory in it.
    pub(super) unsafe fn new(
        sb: *mut bindings::super_block,
        dir: *const bindings::inode,
        mode: u16,
    ) -> Result<Self> {
        // SAFETY: By this function's contract.
        let inode = unsafe { bindings::new_inode(sb) };
        // INVARIANT: New.
        let this = Self(NonNull::new(inode).ok_or(ENOMEM)?, PhantomData);
        let ino = if dir.is_null() {
            ROOT_INO
        } else {
            NEXT_INO.fetch_add(1, Relaxed)
        };
        // SAFETY: New, and ours alone.
        unsafe { (*inode).i_ino = ino };
        // SAFETY: As above.
        unsafe { bindings::simple_inode_init_ts(inode) };
        // SAFETY: There are no mounts of `F` with an id map; the rest as above.
        unsafe { bindings::inode_init_owner(&raw mut bindings::nop_mnt_idmap, inode, dir, mode) };
        Ok(this)
    }

    pub(super) fn as_ptr(&self) -> *mut bindings::inode {
        self.0.as_ptr()
    }

    pub(super) fn set_ownership(&self, ownership: Ownership) {
        // SAFETY: Ours alone, by the type's invariant.
        unsafe { ownership.apply(self.as_ptr()) };
    }

    /// Applies the default ACL of the directory `dir` or, where that has none, the umask.
    ///
    /// # Safety
    ///
    /// `dir` must be a locked directory in the same superblock.
    pub(super) unsafe fn inherit_acl(&self, dir: *mut bindings::inode) -> Result {
        // SAFETY: By this function's contract and the type's invariant.
        to_result(unsafe { bindings::shverbs_inherit_acl(dir, self.as_ptr()) })
    }

    /// Asks the security module to label the inode for `name` in `dir`.
    ///
    /// # Safety
    ///
    /// `dir` must be a locked directory in the same superblock, and `name` an entry of it.
    pub(super) unsafe fn label(
        &self,
        dir: *mut bindings::inode,
        name: *const bindings::qstr,
    ) -> Result {
        // SAFETY: By this function's contract and the type's invariant.
        match to_result(unsafe { bindings::shverbs_security_label(self.as_ptr(), dir, name) }) {
            Err(EOPNOTSUPP) => Ok(()),
            result => result,
        }
    }

    /// Makes it a directory that owns `data`. The caller takes the reference over.
    pub(super) fn into_dir(self, data: KBox<F::Dir>) -> *mut bindings::inode {
        let inode = ManuallyDrop::new(self).as_ptr();
        // SAFETY: Ours alone, by the type's invariant.
        unsafe { (*inode).i_op = dirops::dir_inode_operations::<F>() };
        // SAFETY: As above.
        unsafe { (*inode).__bindgen_anon_3.i_fop = &raw const bindings::simple_dir_operations };
        // SAFETY: As above; "." is the second link.
        unsafe { bindings::set_nlink(inode, 2) };
        // SAFETY: As above.
        unsafe { (*inode).i_private = KBox::into_raw(data).cast() };
        inode
    }

    /// Makes it a regular file of `size` bytes that owns `data`, and that [`super::Dentry::find`]
    /// finds. The caller takes the reference over.
    pub(super) fn into_file(self, size: u64, data: KBox<F::File>) -> *mut bindings::inode {
        let inode = ManuallyDrop::new(self).as_ptr();
        // SAFETY: Ours alone, by the type's invariant.
        unsafe { (*inode).i_op = dirops::file_inode_operations() };
        // SAFETY: As above.
        unsafe { (*inode).__bindgen_anon_3.i_fop = F::file_operations() };
        // SAFETY: As above.
        unsafe { (*inode).i_size = i64::try_from(size).unwrap_or(i64::MAX) };
        // SAFETY: As above.
        unsafe { (*inode).i_private = KBox::into_raw(data).cast() };
        // SAFETY: As above.
        let ino = unsafe { (*inode).i_ino };
        // SAFETY: As above, and not hashed yet.
        unsafe { bindings::__insert_inode_hash(inode, ino) };
        inode
    }
}

impl<F: FileSystem> Drop for NewInode<F> {
    fn drop(&mut self) {
        // SAFETY: The reference is ours, by the type's invariant.
        unsafe { bindings::iput(self.as_ptr()) };
    }
}

/// # Safety
///
/// Only for the VFS, as `super_operations::evict_inode` of a superblock of `F`.
pub(super) unsafe extern "C" fn evict_inode<F: FileSystem>(inode: *mut bindings::inode) {
    // SAFETY: The VFS passes an inode that nobody uses any more; it has no pages.
    unsafe { bindings::clear_inode(inode) };
    // SAFETY: As above.
    let data = unsafe { (*inode).i_private };
    if data.is_null() {
        return;
    }
    // SAFETY: As above.
    if is_dir(unsafe { (*inode).i_mode }) {
        // SAFETY: A directory owns this, and nobody refers to it any more.
        drop(unsafe { KBox::<F::Dir>::from_raw(data.cast()) });
    } else {
        // SAFETY: A regular file owns this, and nobody refers to it any more.
        drop(unsafe { KBox::<F::File>::from_raw(data.cast()) });
    }
}
