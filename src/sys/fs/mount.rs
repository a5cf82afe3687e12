// SPDX-License-Identifier: GPL-2.0

//! Mounting, mount options, and the life of a superblock.

use super::{
    inode::{
        evict_inode,
        NewInode,
        DIRECTORY,
        PERMISSIONS, //
    },
    Dentry,
    FileSystem, //
};
use crate::{
    bindings,
    sys::net::Namespace, //
};
use core::{
    marker::PhantomData,
    ptr::{
        self,
        NonNull, //
    },
};
use kernel::{
    error::{
        from_result,
        to_result, //
    },
    prelude::*,
    seq_file::SeqFile,
    seq_print,
    str::as_char_ptr_in_const_context,
    sync::{
        aref::ARef,
        atomic::{
            Atomic,
            Relaxed, //
        },
    },
};

/// `MAX_LFS_FILESIZE` of a 64-bit kernel.
const MAX_FILE_SIZE: i64 = i64::MAX;

/// The mount options `mode=`, `uid=` and `gid=`: whose directories are, and what for.
#[derive(Clone, Copy)]
pub(crate) struct Ownership {
    mode: u16,
    uid: bindings::kuid_t,
    gid: bindings::kgid_t,
}

impl Ownership {
    /// The superuser's, with the permissions `mode`.
    pub(crate) const fn new(mode: u16) -> Self {
        Self {
            mode: mode & PERMISSIONS,
            uid: bindings::kuid_t { val: 0 },
            gid: bindings::kgid_t { val: 0 },
        }
    }

    /// # Safety
    ///
    /// `inode` must be valid, and locked or not visible to others.
    pub(super) unsafe fn apply(self, inode: *mut bindings::inode) {
        // SAFETY: By this function's contract.
        let mode = unsafe { (*inode).i_mode };
        // SAFETY: As above.
        unsafe { (*inode).i_mode = (mode & !PERMISSIONS) | self.mode };
        // SAFETY: As above.
        unsafe { (*inode).i_uid = self.uid };
        // SAFETY: As above.
        unsafe { (*inode).i_gid = self.gid };
    }

    /// Takes the option with the number `option` of [`PARAMETERS`].
    fn set(&mut self, option: u8, value: &bindings::fs_parse_result) -> Result {
        match option {
            MODE => {
                // SAFETY: The specification makes this a `u32`.
                let mode = unsafe { *value.__bindgen_anon_1.uint_32 };
                let mode = u16::try_from(mode)?;
                if mode & !PERMISSIONS != 0 {
                    return Err(EINVAL);
                }
                self.mode = mode;
            }
            // SAFETY: The specification makes this a user.
            UID => self.uid = unsafe { *value.__bindgen_anon_1.uid },
            // SAFETY: The specification makes this a group.
            GID => self.gid = unsafe { *value.__bindgen_anon_1.gid },
            _ => return Err(EINVAL),
        }
        Ok(())
    }

    /// The options as `/proc/mounts` has them.
    fn show(&self, m: &SeqFile) {
        let ns = &raw mut bindings::init_user_ns;
        // SAFETY: The initial user namespace is static.
        let uid = unsafe { bindings::from_kuid_munged(ns, self.uid) };
        // SAFETY: As above.
        let gid = unsafe { bindings::from_kgid_munged(ns, self.gid) };
        if uid != 0 {
            seq_print!(m, ",uid={uid}");
        }
        if gid != 0 {
            seq_print!(m, ",gid={gid}");
        }
        seq_print!(m, ",mode={:o}", self.mode);
    }
}

/// An [`Ownership`] that is read without a lock. Whoever reads while it changes may get some of the
/// new one and some of the old.
pub(crate) struct SharedOwnership {
    mode: Atomic<u32>,
    uid: Atomic<u32>,
    gid: Atomic<u32>,
}

impl SharedOwnership {
    pub(crate) fn new(ownership: Ownership) -> Self {
        Self {
            mode: Atomic::new(ownership.mode.into()),
            uid: Atomic::new(ownership.uid.val),
            gid: Atomic::new(ownership.gid.val),
        }
    }

    pub(crate) fn load(&self) -> Ownership {
        let mode = self.mode.load(Relaxed);
        Ownership {
            // It was a `u16` when it was stored.
            mode: u16::try_from(mode).unwrap_or_default(),
            uid: bindings::kuid_t {
                val: self.uid.load(Relaxed),
            },
            gid: bindings::kgid_t {
                val: self.gid.load(Relaxed),
            },
        }
    }

    pub(crate) fn store(&self, ownership: Ownership) {
        self.mode.store(ownership.mode.into(), Relaxed);
        self.uid.store(ownership.uid.val, Relaxed);
        self.gid.store(ownership.gid.val, Relaxed);
    }
}

const MODE: u8 = 0;
const UID: u8 = 1;
const GID: u8 = 2;

/// A specification of the option `name` with the number `option`; `data` is the base of a number.
const fn parameter(
    name: &'static CStr,
    option: u8,
    kind: bindings::fs_param_type,
    data: usize,
) -> bindings::fs_parameter_spec {
    bindings::fs_parameter_spec {
        name: as_char_ptr_in_const_context(name),
        type_: kind,
        opt: option,
        data: ptr::without_provenance(data),
        ..pin_init::zeroed()
    }
}

const PARAMETERS: [bindings::fs_parameter_spec; 4] = [
    parameter(c"mode", MODE, Some(bindings::fs_param_is_u32), 8),
    parameter(c"uid", UID, Some(bindings::fs_param_is_uid), 0),
    parameter(c"gid", GID, Some(bindings::fs_param_is_gid), 0),
    pin_init::zeroed(),
];

const fn specification() -> &'static [bindings::fs_parameter_spec; 4] {
    &PARAMETERS
}

/// The same for `file_system_type`, whose bindings only declare the type.
pub(super) const fn parameters() -> *const kernel::bindings::fs_parameter_spec {
    specification().as_ptr().cast()
}

/// The tables of `F`.
struct Tables<F>(PhantomData<F>);

impl<F: FileSystem> Tables<F> {
    const CONTEXT: bindings::fs_context_operations = bindings::fs_context_operations {
        free: Some(free),
        parse_param: Some(parse_param),
        get_tree: Some(get_tree::<F>),
        reconfigure: Some(reconfigure::<F>),
        ..pin_init::zeroed()
    };

    const SUPER: bindings::super_operations = bindings::super_operations {
        statfs: Some(bindings::simple_statfs),
        drop_inode: Some(bindings::inode_just_drop),
        evict_inode: Some(evict_inode::<F>),
        show_options: Some(show_options::<F>),
        ..pin_init::zeroed()
    };

    const fn context() -> &'static bindings::fs_context_operations {
        &Self::CONTEXT
    }

    const fn superblock() -> &'static bindings::super_operations {
        &Self::SUPER
    }
}

/// The root of the superblock that is mounted or reconfigured.
///
/// # Safety
///
/// `root` must be null or the root entry of a superblock of `F`, with a reference for `'a`.
unsafe fn root<'a, F: FileSystem>(root: *mut bindings::dentry) -> Option<&'a Dentry<F>> {
    if root.is_null() {
        return None;
    }
    // SAFETY: By this function's contract.
    Some(unsafe { Dentry::from_raw(root) })
}

/// # Safety
///
/// Only for the VFS, on a context being set up for `F`.
pub(super) unsafe extern "C" fn init_fs_context<F: FileSystem>(
    fc: *mut kernel::bindings::fs_context,
) -> c_int {
    let fc = fc.cast::<bindings::fs_context>();
    from_result(|| {
        // SAFETY: The context is ours until this returns.
        let entry = unsafe { (*fc).root };
        // SAFETY: Not null when a superblock of `F` is to be reconfigured.
        let ownership = unsafe { root::<F>(entry) }
            .and_then(Dentry::dir)
            .map_or(F::DEFAULT_OWNERSHIP, F::ownership);
        let ownership = KBox::new(ownership, GFP_KERNEL)?;
        // SAFETY: As above.
        unsafe { (*fc).fs_private = KBox::into_raw(ownership).cast() };
        // SAFETY: As above.
        unsafe { (*fc).ops = Tables::<F>::context() };
        // SAFETY: As above.
        unsafe { (*fc).s_iflags |= bindings::SB_I_NOEXEC | bindings::SB_I_NODEV };
        Ok(0)
    })
}

/// # Safety
///
/// Only for the VFS, on a context of [`init_fs_context`] that goes.
unsafe extern "C" fn free(fc: *mut bindings::fs_context) {
    // SAFETY: The context is ours until this returns.
    let ownership = unsafe { (*fc).fs_private };
    // SAFETY: From `init_fs_context`, and not used any more.
    drop(unsafe { KBox::<Ownership>::from_raw(ownership.cast()) });
    // SAFETY: As above.
    if let Some(key) = NonNull::new(unsafe { (*fc).s_fs_info }) {
        // SAFETY: The reference of `get_tree`, which no superblock took over.
        drop(unsafe { ARef::<Namespace>::from_raw(key.cast()) });
    }
}

/// # Safety
///
/// Only for the VFS, on a context of [`init_fs_context`].
unsafe extern "C" fn parse_param(
    fc: *mut bindings::fs_context,
    param: *mut bindings::fs_parameter,
) -> c_int {
    from_result(|| {
        let mut value = bindings::fs_parse_result::default();
        // SAFETY: The context is ours until this returns.
        let log = unsafe { &raw mut (*fc).log };
        // SAFETY: All are valid for this call, and the specification ends with a null name.
        let option =
            unsafe { bindings::__fs_parse(log, specification().as_ptr(), param, &mut value) };
        to_result(option)?;
        let option = u8::try_from(option)?;
        // SAFETY: As above.
        let ownership = unsafe { (*fc).fs_private }.cast::<Ownership>();
        // SAFETY: From `init_fs_context`; contexts are used by one task at a time.
        unsafe { (*ownership).set(option, &value) }?;
        Ok(0)
    })
}

/// # Safety
///
/// Only for the VFS, on a context of [`init_fs_context`].
unsafe extern "C" fn get_tree<F: FileSystem>(fc: *mut bindings::fs_context) -> c_int {
    // SAFETY: The context has a reference to the network namespace it was made in.
    let key = unsafe { bindings::shverbs_get_net((*fc).net_ns) };
    // SAFETY: The context takes the reference over, and a new superblock from it.
    unsafe { bindings::get_tree_keyed(fc, Some(fill_super::<F>), key.cast()) }
}

/// # Safety
///
/// Only for the VFS, on a new superblock for a context of [`init_fs_context`].
unsafe extern "C" fn fill_super<F: FileSystem>(
    sb: *mut bindings::super_block,
    fc: *mut bindings::fs_context,
) -> c_int {
    from_result(|| {
        // SAFETY: The superblock is ours alone until this returns.
        unsafe { (*sb).s_magic = F::MAGIC };
        // SAFETY: As above.
        unsafe { (*sb).s_maxbytes = MAX_FILE_SIZE };
        // SAFETY: As above.
        unsafe { (*sb).s_blocksize = bindings::PAGE_SIZE };
        // SAFETY: As above.
        unsafe { (*sb).s_blocksize_bits = u8::try_from(bindings::PAGE_SHIFT)? };
        // SAFETY: As above.
        unsafe { (*sb).s_time_gran = 1 };
        // SAFETY: As above. Negative entries are of no use where a lookup costs nothing.
        unsafe { (*sb).s_d_flags = bindings::dentry_flags_DCACHE_DONTCACHE };
        // SAFETY: As above.
        unsafe { (*sb).s_flags |= bindings::shverbs_sb_posixacl };
        // SAFETY: As above.
        unsafe { (*sb).s_xattr = (&raw const bindings::shverbs_xattr_handlers).cast() };
        // SAFETY: As above.
        unsafe { (*sb).s_op = Tables::<F>::superblock() };
        // SAFETY: From `init_fs_context`; contexts are used by one task at a time.
        let ownership = unsafe { *(*fc).fs_private.cast::<Ownership>() };
        // SAFETY: The key, which is a network namespace with a reference of the superblock's.
        let namespace = unsafe { &*(*sb).s_fs_info.cast::<Namespace>() };
        let data = KBox::new(F::new_root(ownership)?, GFP_KERNEL_ACCOUNT)?;
        // SAFETY: `sb` is a superblock of `F`.
        let inode = unsafe { NewInode::<F>::new(sb, ptr::null(), DIRECTORY) }?;
        inode.set_ownership(Ownership::new(0o755));
        // SAFETY: It takes the inode over, even if it fails.
        let entry = unsafe { bindings::d_make_root(inode.into_dir(data)) };
        // SAFETY: As above. The superblock takes the entry over.
        unsafe { (*sb).s_root = entry };
        // SAFETY: Null, or the root of `F`, which the superblock has a reference to.
        F::mounted(unsafe { root(entry) }.ok_or(ENOMEM)?, namespace)?;
        Ok(0)
    })
}

/// # Safety
///
/// Only for the VFS, on a context of [`init_fs_context`] for a superblock's remount.
unsafe extern "C" fn reconfigure<F: FileSystem>(fc: *mut bindings::fs_context) -> c_int {
    from_result(|| {
        // SAFETY: From `init_fs_context`; contexts are used by one task at a time.
        let ownership = unsafe { *(*fc).fs_private.cast::<Ownership>() };
        // SAFETY: The context is ours until this returns.
        let entry = unsafe { (*fc).root };
        // SAFETY: The root of the superblock of `F` that is remounted.
        let dir = unsafe { root::<F>(entry) }
            .and_then(Dentry::dir)
            .ok_or(EINVAL)?;
        F::reconfigure(dir, ownership);
        Ok(0)
    })
}

/// # Safety
///
/// Only for the VFS, on a superblock of `F` that nobody uses any more.
pub(super) unsafe extern "C" fn kill_sb<F: FileSystem>(sb: *mut bindings::super_block) {
    // SAFETY: The superblock is ours until this returns.
    let key = unsafe { (*sb).s_fs_info };
    // SAFETY: As above.
    let entry = unsafe { (*sb).s_root };
    // SAFETY: Null if `fill_super` failed early, else the root of `F`.
    if let Some(dir) = unsafe { root::<F>(entry) }.and_then(Dentry::dir) {
        F::unmount(dir);
    }
    // SAFETY: As above, and `F` has given its references back.
    unsafe { bindings::kill_anon_super(sb) };
    // A mounter that compares the key before the superblock is marked dead compares its address
    // only, and then waits.
    if let Some(key) = NonNull::new(key) {
        // SAFETY: The reference of `get_tree`.
        drop(unsafe { ARef::<Namespace>::from_raw(key.cast()) });
    }
}

/// # Safety
///
/// Only for the VFS, on the root of a superblock of `F`.
unsafe extern "C" fn show_options<F: FileSystem>(
    m: *mut bindings::seq_file,
    entry: *mut bindings::dentry,
) -> c_int {
    // SAFETY: The VFS passes a `seq_file` for this call.
    let m = unsafe { SeqFile::from_raw(m) };
    // SAFETY: The VFS passes the root of a superblock of `F`.
    if let Some(dir) = unsafe { root::<F>(entry) }.and_then(Dentry::dir) {
        F::ownership(dir).show(m);
    }
    0
}
