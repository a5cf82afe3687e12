// SPDX-License-Identifier: GPL-2.0

//! File systems that live in the dentry cache, in the manner of ramfs and bpffs: directories that
//! users make, and regular files that only this module makes.
//!
//! A directory's inode owns a [`FileSystem::Dir`] and a regular file's a [`FileSystem::File`], in
//! `i_private`, from before anybody can find the inode until it is evicted.
//!
//! What is made persistent (`d_make_persistent()`) is made discardable again, and `d_parent`
//! changes, under the parent's `i_rwsem` only.

mod dentry;
mod dirops;
mod inode;
mod mount;
mod pile;
mod publish;

pub(crate) use self::{
    dentry::Dentry,
    mount::{
        Ownership,
        SharedOwnership, //
    },
    pile::Pile,
    publish::Directory, //
};

use super::net::Namespace;
use crate::bindings;
use core::marker::PhantomData;
use kernel::{
    error::to_result,
    module::this_module,
    prelude::*,
    sync::atomic::{
        Atomic,
        Full,
        Release, //
    },
    types::Opaque, //
};

/// What an open of a regular file does.
pub(crate) type FileOperations = bindings::file_operations;

/// A file system. Its instances are one for each network namespace that mounts it.
///
/// [`Self::Dir`] and [`Self::File`] are dropped in whatever context an inode is evicted in, with
/// locks of the VFS held, `s_umount` and the `i_rwsem` of directories among them. Nor may that call
/// back into this file system, as an eviction can be waited for ([`Dentry::find`]).
///
/// Whoever keeps a counted [`Dentry`] beyond a callback gives it back before
/// [`Self::unmount`] returns: the superblock goes right after.
pub(crate) trait FileSystem: Sized + Send + Sync + 'static {
    /// The type's name.
    const NAME: &'static CStr;
    /// `f_type` of `statfs(2)`; no other file system of this module has it.
    const MAGIC: usize;
    /// What is mounted without options.
    const DEFAULT_OWNERSHIP: Ownership;
    /// What a directory's inode owns.
    type Dir: Send + Sync + 'static;
    /// What a regular file's inode owns.
    type File: Send + Sync + 'static;

    /// The operations of open regular files, which find a [`Self::File`] in `i_private`.
    fn file_operations() -> &'static FileOperations;

    /// What the root directory of a new instance owns.
    fn new_root(ownership: Ownership) -> Result<Self::Dir>;

    /// The new instance, for those in `namespace`, has its root. If this fails, [`Self::unmount`]
    /// is called all the same.
    fn mounted(root: &Dentry<Self>, namespace: &Namespace) -> Result;

    /// The last mount of the instance has gone, and `s_umount` is held.
    fn unmount(root: &Self::Dir);

    /// The mount options, for `/proc/mounts`. `namespace_sem` is held, which comes after all
    /// sleeping locks of a file system.
    fn ownership(root: &Self::Dir) -> Ownership;

    /// Remounted with other options.
    fn reconfigure(root: &Self::Dir, ownership: Ownership);

    /// What a directory owns that a user makes in `parent`. `parent` is locked.
    fn mkdir(parent: &Self::Dir) -> Result<Self::Dir>;

    /// Whether directories can be removed from `parent`.
    fn may_rmdir(parent: &Self::Dir) -> Result;

    /// Whether anything can be moved from `from` to `to`, or exchanged between them.
    fn may_rename(from: &Self::Dir, to: &Self::Dir) -> Result;
}

/// The place for a `struct file_system_type`, which must be static: its lock classes are.
pub(crate) struct Type {
    raw: Opaque<bindings::file_system_type>,
    taken: Atomic<bool>,
}

// SAFETY: `raw` is written by the [`Registration`] that took the place, before it registers it.
unsafe impl Sync for Type {}

impl Type {
    pub(crate) const fn new() -> Self {
        Self {
            raw: Opaque::uninit(),
            taken: Atomic::new(false),
        }
    }
}

/// A registered file system with its mount point in `/sys/fs`.
///
/// # Invariants
///
/// `place` is taken by this registration, and its `raw` registered.
pub(crate) struct Registration<F: FileSystem> {
    place: &'static Type,
    _fs: PhantomData<F>,
}

impl<F: FileSystem> Registration<F> {
    const TYPE: bindings::file_system_type = bindings::file_system_type {
        owner: this_module::<crate::LocalModule>().as_ptr(),
        name: kernel::str::as_char_ptr_in_const_context(F::NAME),
        init_fs_context: Some(mount::init_fs_context::<F>),
        parameters: mount::parameters(),
        kill_sb: Some(mount::kill_sb::<F>),
        ..pin_init::zeroed()
    };

    /// `EBUSY` if `place` is taken or the name is; `EEXIST` if the mount point is there.
    pub(crate) fn new(place: &'static Type) -> Result<Self> {
        if place.taken.xchg(true, Full) {
            return Err(EBUSY);
        }
        let raw = place.raw.get();
        // SAFETY: Valid for writes, and ours alone as `taken` was not set.
        unsafe { raw.write(Self::TYPE) };
        // SAFETY: Initialised and static.
        to_result(unsafe { bindings::register_filesystem(raw) })
            .inspect_err(|_| place.taken.store(false, Release))?;
        // INVARIANT: Taken and registered.
        let this = Self {
            place,
            _fs: PhantomData,
        };
        // SAFETY: The VFS made `fs_kobj` at boot; it is never written again.
        let parent = unsafe { bindings::fs_kobj };
        // SAFETY: `parent` is a kobject, and the name NUL-terminated.
        to_result(unsafe { bindings::sysfs_create_mount_point(parent, F::NAME.as_char_ptr()) })?;
        Ok(this)
    }
}

impl<F: FileSystem> Drop for Registration<F> {
    fn drop(&mut self) {
        // SAFETY: As in `new`.
        let parent = unsafe { bindings::fs_kobj };
        // SAFETY: As in `new`; a mount point that is not there is let pass.
        unsafe { bindings::sysfs_remove_mount_point(parent, F::NAME.as_char_ptr()) };
        // SAFETY: Registered, by the type's invariant. No instance is left, as each has a reference
        // to this module.
        unsafe { bindings::unregister_filesystem(self.place.raw.get()) };
        self.place.taken.store(false, Release);
    }
}
