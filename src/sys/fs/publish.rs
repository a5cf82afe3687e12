// SPDX-License-Identifier: GPL-2.0

//! Regular files that a user has this module make.

use super::{
    dentry::Creating,
    inode::{
        is_dir,
        Inode,
        NewInode,
        REGULAR, //
    },
    FileSystem, //
};
use crate::bindings;
use core::{
    marker::PhantomData,
    ptr, //
};
use kernel::{
    error::to_result,
    ffi::c_void,
    fs::LocalFile,
    module::this_module,
    prelude::*, //
};

/// The longest name, `NAME_MAX`.
const NAME_MAX: usize = 255;

/// A directory of `F` that user space has opened, perhaps with `O_PATH`.
///
/// # Invariants
///
/// `path` is that of an open file, on a mount of `F` and a directory.
pub(crate) struct Directory<'a, F: FileSystem> {
    path: *const bindings::path,
    _file: PhantomData<(&'a LocalFile, F)>,
}

impl<'a, F: FileSystem> Directory<'a, F> {
    /// `ENOTDIR` if `file` is no directory, `EINVAL` if it is one of another file system.
    pub(crate) fn new(file: &'a LocalFile) -> Result<Self> {
        // SAFETY: `file` is valid, and its path constant.
        let path = unsafe { &raw const (*file.as_ptr()).__bindgen_anon_1.f_path };
        // SAFETY: As above.
        let inode = unsafe { (*(*path).dentry).d_inode };
        // SAFETY: As above; an open file's entry is positive.
        if !is_dir(unsafe { (*inode).i_mode }) {
            return Err(ENOTDIR);
        }
        // SAFETY: As above.
        let sb = unsafe { (*inode).i_sb };
        // SAFETY: A mounted superblock has a type.
        let owner = unsafe { (*(*sb).s_type).owner };
        // SAFETY: As above.
        let magic = unsafe { (*sb).s_magic };
        if owner != this_module::<crate::LocalModule>().as_ptr() || magic != F::MAGIC {
            return Err(EINVAL);
        }
        // INVARIANT: A directory, and of this module's file system that has this magic number.
        Ok(Self {
            path,
            _file: PhantomData,
        })
    }

    fn entry(&self) -> *mut bindings::dentry {
        // SAFETY: By the type's invariant.
        unsafe { (*self.path).dentry }
    }

    fn inode(&self) -> &Inode<F> {
        // SAFETY: An open file's entry is positive.
        let inode = unsafe { (*self.entry()).d_inode };
        // SAFETY: Of `F`, by the type's invariant, and the open file keeps it.
        unsafe { Inode::from_raw(inode) }
    }

    /// What the directory owns.
    pub(crate) fn data(&self) -> Result<&F::Dir> {
        self.inode().dir().ok_or(ENOTDIR)
    }

    /// Makes the regular file `name` of `size` bytes, which owns `data`, as `mknod(2)` would for
    /// the calling task; the result is its inode number. If it fails, `data` is dropped with
    /// nothing locked.
    ///
    /// `EEXIST`, `EACCES`, `EROFS`, `ENOMEM`; `ENOENT` if the directory has been removed;
    /// `ENAMETOOLONG`, `ENOENT`, `EINVAL` if `name` is not a file name.
    pub(crate) fn create(&self, name: &[u8], mode: u16, size: u64, data: F::File) -> Result<u64> {
        let mut buffer = [0u8; NAME_MAX + 1];
        let name = file_name(name, &mut buffer)?;
        // Dropped after `entry` and `_write`, as it was made before them.
        let mut new = NewFile::<F> {
            data: Some(KBox::new(data, GFP_KERNEL_ACCOUNT)?),
            size,
            ino: 0,
        };
        let _write = WriteAccess::new(self)?;
        // SAFETY: There are no mounts of `F` with an id map; the open file keeps the inode.
        to_result(unsafe {
            bindings::inode_permission(
                &raw mut bindings::nop_mnt_idmap,
                self.inode().as_ptr(),
                c_int::try_from(bindings::MAY_EXEC)?,
            )
        })?;
        // SAFETY: A directory's entry that the open file keeps; the caller has locked nothing.
        let entry = unsafe { Creating::start(self.entry(), name) }?;
        let mode = REGULAR | mode;
        // SAFETY: The path and the entry are valid, and the directory is locked.
        to_result(unsafe { bindings::shverbs_security_mknod(self.path, entry.as_ptr(), mode) })?;
        let arg = ptr::from_mut(&mut new).cast();
        // SAFETY: The directory is locked, and `arg` is what `make` wants.
        to_result(unsafe { bindings::vfs_mkobj(entry.as_ptr(), mode, Some(make::<F>), arg) })?;
        Ok(new.ino)
    }
}

/// `name` with its NUL.
fn file_name<'a>(name: &[u8], buffer: &'a mut [u8; NAME_MAX + 1]) -> Result<&'a CStr> {
    if name.is_empty() {
        return Err(ENOENT);
    }
    if name.len() > NAME_MAX {
        return Err(ENAMETOOLONG);
    }
    if name == b"." || name == b".." || name.iter().any(|c| matches!(c, b'/' | 0)) {
        return Err(EINVAL);
    }
    buffer
        .get_mut(..name.len())
        .ok_or(ENAMETOOLONG)?
        .copy_from_slice(name);
    CStr::from_bytes_until_nul(buffer).map_err(|_| EINVAL)
}

/// Write access to a mount.
struct WriteAccess(*mut bindings::vfsmount);

impl WriteAccess {
    /// `EROFS` if the mount or the superblock is read-only.
    fn new<F: FileSystem>(dir: &Directory<'_, F>) -> Result<Self> {
        // SAFETY: By the invariant of `Directory`.
        let mount = unsafe { (*dir.path).mnt };
        // SAFETY: As above.
        to_result(unsafe { bindings::mnt_want_write(mount) })?;
        Ok(Self(mount))
    }
}

impl Drop for WriteAccess {
    fn drop(&mut self) {
        // SAFETY: `new` got the access, and the open file still keeps the mount.
        unsafe { bindings::mnt_drop_write(self.0) };
    }
}

/// What [`make`] wants, and what it answers.
struct NewFile<F: FileSystem> {
    data: Option<KBox<F::File>>,
    size: u64,
    ino: u64,
}

/// # Safety
///
/// Only for `vfs_mkobj()`, on a negative entry of a locked directory of `F` and a [`NewFile<F>`].
unsafe extern "C" fn make<F: FileSystem>(
    entry: *mut bindings::dentry,
    mode: bindings::umode_t,
    arg: *mut c_void,
) -> c_int {
    // SAFETY: By this function's contract.
    let new = unsafe { &mut *arg.cast::<NewFile<F>>() };
    // SAFETY: By this function's contract.
    match unsafe { try_make(entry, mode, new) } {
        Ok(()) => 0,
        Err(error) => error.to_errno(),
    }
}

/// # Safety
///
/// As of [`make`].
unsafe fn try_make<F: FileSystem>(
    entry: *mut bindings::dentry,
    mode: bindings::umode_t,
    new: &mut NewFile<F>,
) -> Result {
    // SAFETY: The parent is locked, by this function's contract.
    let dir = unsafe { (*(*entry).d_parent).d_inode };
    // SAFETY: As above.
    let sb = unsafe { (*dir).i_sb };
    // SAFETY: As above.
    let inode = unsafe { NewInode::<F>::new(sb, dir, mode) }?;
    // SAFETY: As above.
    unsafe { inode.inherit_acl(dir) }?;
    // SAFETY: As above.
    unsafe { inode.label(dir, &raw const (*entry).__bindgen_anon_1.d_name) }?;
    let data = new.data.take().ok_or(EINVAL)?;
    let inode = inode.into_file(new.size, data);
    // SAFETY: Complete, and the reference is ours.
    new.ino = unsafe { (*inode).i_ino };
    // SAFETY: `entry` is negative, and takes the inode over.
    unsafe { bindings::d_make_persistent(entry, inode) };
    // SAFETY: `dir` is locked.
    unsafe { bindings::shverbs_touch_dir(dir) };
    Ok(())
}

#[kunit_tests(shverbs_file_names)]
mod tests {
    use super::*;

    fn check(name: &[u8]) -> Result {
        let mut buffer = [0u8; NAME_MAX + 1];
        file_name(name, &mut buffer).map(|made| assert_eq!(made.to_bytes(), name))
    }

    #[test]
    fn names() {
        assert_eq!(check(b"a"), Ok(()));
        assert_eq!(check(b"..."), Ok(()));
        assert_eq!(check(b".hidden"), Ok(()));
        assert_eq!(check("\u{e9}\t\n".as_bytes()), Ok(()));
        assert_eq!(check(&[b'n'; NAME_MAX]), Ok(()));
    }

    #[test]
    fn not_names() {
        assert_eq!(check(b""), Err(ENOENT));
        assert_eq!(check(&[b'n'; NAME_MAX + 1]), Err(ENAMETOOLONG));
        for name in [
            &b"."[..],
            b"..",
            b"/",
            b"a/b",
            b"a/",
            b"\0",
            b"a\0",
            b"a\0b",
        ] {
            assert_eq!(check(name), Err(EINVAL));
        }
    }
}
