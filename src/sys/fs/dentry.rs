// SPDX-License-Identifier: GPL-2.0

//! Entries of directories.

use super::{
    inode::{
        Inode,
        NewInode,
        DIRECTORY, //
    },
    mount::Ownership,
    FileSystem, //
};
use crate::bindings;
use core::{
    marker::PhantomData,
    ptr::NonNull, //
};
use kernel::{
    error::from_err_ptr,
    prelude::*,
    sync::aref::{
        ARef,
        AlwaysRefCounted, //
    },
    types::Opaque, //
};

/// An entry of a superblock of `F` that has, or had, a name.
///
/// # Invariants
///
/// Positive, as an entry stays for anyone who has a reference beside the one that unlinks it.
#[repr(transparent)]
pub(crate) struct Dentry<F: FileSystem>(Opaque<bindings::dentry>, PhantomData<F>);

// SAFETY: Entries may be used and put by any task, and so may what their inodes own.
unsafe impl<F: FileSystem> Send for Dentry<F> {}
// SAFETY: The dentry cache locks what changes.
unsafe impl<F: FileSystem> Sync for Dentry<F> {}

// SAFETY: `dget()` keeps an entry until `dput()`.
unsafe impl<F: FileSystem> AlwaysRefCounted for Dentry<F> {
    fn inc_ref(&self) {
        // SAFETY: `self` has a reference already.
        unsafe { bindings::shverbs_dget(self.as_ptr()) };
    }

    unsafe fn dec_ref(obj: NonNull<Self>) {
        // SAFETY: The caller gives a reference up.
        unsafe { bindings::dput(obj.as_ptr().cast()) };
    }
}

/// Ends the creation of an entry, and with it the lock of the directory.
///
/// # Invariants
///
/// An entry of `simple_start_creating()`.
pub(super) struct Creating(*mut bindings::dentry);

impl Creating {
    /// Locks `dir` and looks up `name`, of which only `EEXIST` comes if it is there.
    ///
    /// # Safety
    ///
    /// `dir` must be a directory's entry with a reference, and no inode of its superblock may be
    /// locked by this task.
    pub(super) unsafe fn start(dir: *mut bindings::dentry, name: &CStr) -> Result<Self> {
        // SAFETY: By this function's contract.
        let entry = unsafe { bindings::simple_start_creating(dir, name.as_char_ptr()) };
        let entry = from_err_ptr(entry)?;
        // INVARIANT: Just so.
        Ok(Self(entry))
    }

    pub(super) fn as_ptr(&self) -> *mut bindings::dentry {
        self.0
    }
}

impl Drop for Creating {
    fn drop(&mut self) {
        // SAFETY: By the type's invariant.
        unsafe { bindings::simple_done_creating(self.0) };
    }
}

/// A directory, locked so that what is in it stays there.
///
/// # Invariants
///
/// The inode is locked as a parent.
struct ParentLock<F: FileSystem>(ARef<Dentry<F>>);

impl<F: FileSystem> ParentLock<F> {
    fn dir(&self) -> *mut bindings::inode {
        self.0.inode().as_ptr()
    }
}

impl<F: FileSystem> Drop for ParentLock<F> {
    fn drop(&mut self) {
        // SAFETY: Locked, by the type's invariant.
        unsafe { bindings::shverbs_inode_unlock(self.dir()) };
    }
}

/// What a lookup found, perhaps a negative entry.
///
/// # Invariants
///
/// There is a reference to it that is ours.
struct Looked(*mut bindings::dentry);

impl Drop for Looked {
    fn drop(&mut self) {
        // SAFETY: Ours, by the type's invariant.
        unsafe { bindings::dput(self.0) };
    }
}

impl<F: FileSystem> Dentry<F> {
    /// # Safety
    ///
    /// `dentry` must be a positive entry of a superblock of `F`, with a reference for `'a`.
    pub(super) unsafe fn from_raw<'a>(dentry: *mut bindings::dentry) -> &'a Self {
        // SAFETY: By this function's contract; the layouts agree.
        unsafe { &*dentry.cast() }
    }

    pub(super) fn as_ptr(&self) -> *mut bindings::dentry {
        self.0.get()
    }

    fn inode(&self) -> &Inode<F> {
        // SAFETY: `self` is valid, and the inode constant by the type's invariant.
        let inode = unsafe { (*self.as_ptr()).d_inode };
        // SAFETY: Of `F`, and the entry keeps it.
        unsafe { Inode::from_raw(inode) }
    }

    /// What a directory owns; `None` of a regular file.
    pub(crate) fn dir(&self) -> Option<&F::Dir> {
        self.inode().dir()
    }

    /// Makes a directory in this one, as the file system itself: no permission is asked for. No
    /// inode of the file system may be locked by this task. `EEXIST`, `ENOENT` if this directory
    /// has been removed, `ENOMEM`.
    pub(crate) fn make_dir(
        &self,
        name: &CStr,
        ownership: Ownership,
        data: F::Dir,
    ) -> Result<ARef<Self>> {
        let data = KBox::new(data, GFP_KERNEL)?;
        let dir = self.inode().as_ptr();
        // SAFETY: The superblock and the directory are of `F`.
        let inode = unsafe { NewInode::<F>::new(self.inode().superblock(), dir, DIRECTORY) }?;
        inode.set_ownership(ownership);
        // SAFETY: `self` has a reference; the lock is by this function's contract.
        let entry = unsafe { Creating::start(self.as_ptr(), name) }?;
        // SAFETY: `dir` is locked, and `entry` in it.
        unsafe { inode.label(dir, &raw const (*entry.as_ptr()).__bindgen_anon_1.d_name) }?;
        // SAFETY: `dir` is locked.
        unsafe { bindings::inc_nlink(dir) };
        // SAFETY: `entry` is negative, as it was to be created; it takes the inode over.
        unsafe { bindings::d_make_persistent(entry.as_ptr(), inode.into_dir(data)) };
        // SAFETY: `dir` is locked.
        unsafe { bindings::shverbs_touch_dir(dir) };
        // SAFETY: `dir` is locked, so that the name is stable.
        unsafe { bindings::shverbs_fsnotify_mkdir(dir, entry.as_ptr()) };
        // SAFETY: Positive now, and `entry` has a reference.
        Ok(unsafe { Self::from_raw(entry.as_ptr()) }.into())
    }

    /// Removes this directory with all that is in it. Those who are in there, or have it open, stay
    /// in an empty directory that nothing can be made in. No inode of the file system may be locked
    /// by this task.
    pub(crate) fn remove_tree(&self) {
        // SAFETY: `self` has a reference; the locks are by this function's contract.
        unsafe { bindings::simple_recursive_removal(self.as_ptr(), None) };
    }

    /// Sets owner, group and permissions.
    pub(crate) fn set_ownership(&self, ownership: Ownership) {
        self.inode().set_ownership(ownership);
    }

    /// The entry, anywhere in the same superblock, of the regular file with the inode number `ino`;
    /// `None` if it has none any more.
    pub(crate) fn find(&self, ino: u64) -> Option<ARef<Self>> {
        // SAFETY: The superblock lives as long as `self` does.
        let inode = NonNull::new(unsafe { bindings::ilookup(self.inode().superblock(), ino) })?;
        // SAFETY: Regular files are hashed when they are complete; the reference is ours.
        let inode = unsafe { ARef::<Inode<F>>::from_raw(inode.cast()) };
        // SAFETY: `inode` has a reference.
        let entry = NonNull::new(unsafe { bindings::d_find_any_alias(inode.as_ptr()) })?;
        // SAFETY: An alias of an inode is positive; the reference is ours.
        Some(unsafe { ARef::from_raw(entry.cast()) })
    }

    /// From now on lookups and readers of the directory miss this entry, its name can be given to
    /// another, and what was mounted on it is not. No lock is needed; the entry still exists until
    /// [`Self::discard`].
    pub(crate) fn invalidate(&self) {
        // SAFETY: `self` has a reference.
        unsafe { bindings::d_invalidate(self.as_ptr()) };
    }

    /// Unlinks the regular file, as the file system itself, if nobody else did. No inode of the
    /// file system may be locked by this task.
    pub(crate) fn discard(&self) {
        while !self.try_discard() {}
    }

    /// `false` if it was moved in the meantime.
    fn try_discard(&self) -> bool {
        let Some(parent) = self.lock_parent() else {
            return false;
        };
        // SAFETY: `self` is valid; under the lock of its parent this does not change.
        let flags = unsafe { (*self.as_ptr()).d_flags };
        if flags & bindings::dentry_flags_DCACHE_PERSISTENT != 0 {
            // SAFETY: `parent` is locked, and the entry persistent.
            unsafe { self.unlink_from(parent.dir()) };
        }
        true
    }

    /// Locks the directory that this entry is in, so that it stays there. `None` if it was moved in
    /// the meantime.
    fn lock_parent(&self) -> Option<ParentLock<F>> {
        // SAFETY: `self` has a reference.
        let parent = NonNull::new(unsafe { bindings::dget_parent(self.as_ptr()) })?;
        // SAFETY: A parent is positive, of the same superblock, and the reference is ours.
        let parent = unsafe { ARef::<Self>::from_raw(parent.cast()) };
        // SAFETY: A directory's inode; nothing else is locked, by the contract of the callers.
        unsafe { bindings::shverbs_inode_lock_parent(parent.inode().as_ptr()) };
        // INVARIANT: Just locked.
        let lock = ParentLock(parent);
        // SAFETY: `self` is valid, and its parent locked if it is this one.
        let here = unsafe { (*self.as_ptr()).d_parent } == lock.0.as_ptr();
        here.then_some(lock)
    }

    /// Gives this directory another name in the same place, as the file system itself. No inode of
    /// the file system may be locked by this task. `EEXIST` if another entry has that name.
    pub(crate) fn rename(&self, name: &CStr) -> Result {
        let entry = self.as_ptr();
        let parent = self.lock_parent().ok_or(ENOENT)?;
        // SAFETY: `parent` is a locked directory.
        let target = unsafe { bindings::shverbs_lookup(parent.0.as_ptr(), name.as_char_ptr()) };
        let target = Looked(from_err_ptr(target)?);
        if target.0 == entry {
            return Ok(());
        }
        // SAFETY: `target` has a reference, and under the lock this does not change.
        if !unsafe { (*target.0).d_inode }.is_null() {
            return Err(EEXIST);
        }
        let mut old = bindings::name_snapshot::default();
        // SAFETY: `old` stays where it is until it is released.
        unsafe { bindings::take_dentry_name_snapshot(&mut old, entry) };
        // SAFETY: Both are in the same locked directory, and `target` is negative.
        unsafe { bindings::d_move(entry, target.0) };
        // SAFETY: `parent` is locked.
        unsafe { bindings::shverbs_touch_dir(parent.dir()) };
        // SAFETY: `parent` is locked, so that the name is stable.
        unsafe { bindings::shverbs_fsnotify_rename(parent.dir(), &old, entry) };
        // SAFETY: Taken above.
        unsafe { bindings::release_dentry_name_snapshot(&mut old) };
        Ok(())
    }

    /// # Safety
    ///
    /// `dir` must be the locked parent, and the entry persistent.
    unsafe fn unlink_from(&self, dir: *mut bindings::inode) {
        let entry = self.as_ptr();
        let inode = self.inode().as_ptr();
        // A rename may have made it visible again.
        self.invalidate();
        // SAFETY: Valid; under the parent's lock the link count does not change. The removal of a
        // tree, which may have been overtaken by `invalidate`, sets it to 0.
        if unsafe { (*inode).__bindgen_anon_1.i_nlink } != 0 {
            // SAFETY: By this function's contract.
            unsafe { bindings::__simple_unlink(dir, entry) };
        }
        // SAFETY: By this function's contract the name is stable.
        unsafe { bindings::shverbs_fsnotify_delete(dir, inode, entry) };
        // SAFETY: By this function's contract; `self` has a reference of its own.
        unsafe { bindings::d_make_discardable(entry) };
    }
}
