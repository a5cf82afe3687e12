// SPDX-License-Identifier: GPL-2.0

//! What users do to directories and to what is in them.

use super::{
    inode::{
        Inode,
        NewInode,
        DIRECTORY, //
    },
    FileSystem, //
};
use crate::bindings;
use core::{
    marker::PhantomData,
    ptr, //
};
use kernel::{
    error::from_result,
    prelude::*, //
};

/// The tables of `F`. ACLs are only in the VFS's cache of them, which drops none.
struct Tables<F>(PhantomData<F>);

impl<F: FileSystem> Tables<F> {
    const DIR: bindings::inode_operations = bindings::inode_operations {
        lookup: Some(bindings::simple_lookup),
        create: Some(create),
        unlink: Some(bindings::simple_unlink),
        mkdir: Some(mkdir::<F>),
        rmdir: Some(rmdir::<F>),
        rename: Some(rename::<F>),
        setattr: Some(setattr),
        listxattr: Some(bindings::generic_listxattr),
        set_acl: Some(bindings::shverbs_set_acl),
        ..pin_init::zeroed()
    };

    const fn dir() -> &'static bindings::inode_operations {
        &Self::DIR
    }
}

const FILE: bindings::inode_operations = bindings::inode_operations {
    setattr: Some(setattr),
    listxattr: Some(bindings::generic_listxattr),
    set_acl: Some(bindings::shverbs_set_acl),
    ..pin_init::zeroed()
};

pub(super) const fn dir_inode_operations<F: FileSystem>() -> &'static bindings::inode_operations {
    Tables::<F>::dir()
}

pub(super) const fn file_inode_operations() -> &'static bindings::inode_operations {
    &FILE
}

/// What the directory `dir` owns.
///
/// # Safety
///
/// `dir` must be a complete inode of a superblock of `F`, with a reference for `'a`.
unsafe fn data<'a, F: FileSystem>(dir: *mut bindings::inode) -> Result<&'a F::Dir> {
    // SAFETY: By this function's contract.
    unsafe { Inode::<F>::from_raw(dir) }.dir().ok_or(ENOTDIR)
}

/// Refuses `creat(2)` and regular `mknod(2)`: without this the VFS would say `EACCES`.
///
/// # Safety
///
/// Only for the VFS.
unsafe extern "C" fn create(
    _idmap: *mut bindings::mnt_idmap,
    _dir: *mut bindings::inode,
    _entry: *mut bindings::dentry,
    _mode: bindings::umode_t,
) -> c_int {
    EPERM.to_errno()
}

/// # Safety
///
/// Only for the VFS, on a locked directory of `F` and a negative entry in it.
unsafe extern "C" fn mkdir<F: FileSystem>(
    _idmap: *mut bindings::mnt_idmap,
    dir: *mut bindings::inode,
    entry: *mut bindings::dentry,
    mode: bindings::umode_t,
) -> *mut bindings::dentry {
    // SAFETY: By this function's contract.
    match unsafe { try_mkdir::<F>(dir, entry, mode) } {
        Ok(()) => ptr::null_mut(),
        Err(error) => error.to_ptr(),
    }
}

/// # Safety
///
/// As of [`mkdir`].
unsafe fn try_mkdir<F: FileSystem>(
    dir: *mut bindings::inode,
    entry: *mut bindings::dentry,
    mode: bindings::umode_t,
) -> Result {
    // SAFETY: A directory of `F`, by this function's contract.
    let new = F::mkdir(unsafe { data::<F>(dir) }?)?;
    let new = KBox::new(new, GFP_KERNEL_ACCOUNT)?;
    // SAFETY: By this function's contract.
    let sb = unsafe { (*dir).i_sb };
    // SAFETY: By this function's contract.
    let inode = unsafe { NewInode::<F>::new(sb, dir, mode | DIRECTORY) }?;
    // SAFETY: By this function's contract.
    unsafe { inode.inherit_acl(dir) }?;
    // SAFETY: By this function's contract.
    unsafe { inode.label(dir, &raw const (*entry).__bindgen_anon_1.d_name) }?;
    // SAFETY: `dir` is locked.
    unsafe { bindings::inc_nlink(dir) };
    // SAFETY: `entry` is negative, and takes the inode over.
    unsafe { bindings::d_make_persistent(entry, inode.into_dir(new)) };
    // SAFETY: `dir` is locked.
    unsafe { bindings::shverbs_touch_dir(dir) };
    Ok(())
}

/// # Safety
///
/// Only for the VFS, on a locked directory of `F` and a locked directory in it.
unsafe extern "C" fn rmdir<F: FileSystem>(
    dir: *mut bindings::inode,
    entry: *mut bindings::dentry,
) -> c_int {
    from_result(|| {
        // SAFETY: A directory of `F`, by this function's contract.
        F::may_rmdir(unsafe { data::<F>(dir) }?)?;
        // SAFETY: By this function's contract.
        Ok(unsafe { bindings::simple_rmdir(dir, entry) })
    })
}

/// # Safety
///
/// Only for the VFS, on locked directories of `F` and entries in them.
unsafe extern "C" fn rename<F: FileSystem>(
    idmap: *mut bindings::mnt_idmap,
    old_dir: *mut bindings::inode,
    old: *mut bindings::dentry,
    new_dir: *mut bindings::inode,
    new: *mut bindings::dentry,
    flags: c_uint,
) -> c_int {
    from_result(|| {
        // SAFETY: Both are directories of `F`, by this function's contract.
        let (from, to) = unsafe { (data::<F>(old_dir)?, data::<F>(new_dir)?) };
        F::may_rename(from, to)?;
        // SAFETY: By this function's contract.
        Ok(unsafe { bindings::simple_rename(idmap, old_dir, old, new_dir, new, flags) })
    })
}

/// Changes what `chmod(2)`, `chown(2)` and `utimensat(2)` change, but not the size.
///
/// # Safety
///
/// Only for the VFS, on a locked inode.
unsafe extern "C" fn setattr(
    idmap: *mut bindings::mnt_idmap,
    entry: *mut bindings::dentry,
    attr: *mut bindings::iattr,
) -> c_int {
    // SAFETY: The VFS passes valid attributes.
    let valid = unsafe { (*attr).ia_valid };
    if valid & bindings::ATTR_SIZE != 0 {
        return EPERM.to_errno();
    }
    // SAFETY: As the VFS called this.
    let error = unsafe { bindings::simple_setattr(idmap, entry, attr) };
    if error != 0 || valid & bindings::ATTR_MODE == 0 {
        return error;
    }
    // SAFETY: As the VFS called this.
    unsafe { bindings::shverbs_acl_chmod(idmap, entry) }
}
