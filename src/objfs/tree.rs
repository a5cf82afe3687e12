// SPDX-License-Identifier: GPL-2.0

//! The tree that users see.

use super::{
    graves::Graves,
    REGISTRY, //
};
use crate::{
    object::{
        fd::ObjectFd,
        name::Name,
        Device, //
    },
    sys::{
        fs::{
            Access,
            Dentry,
            FileOperations,
            FileSystem, //
        },
        net::Namespace, //
    },
};
use core::ptr;
use kernel::{
    prelude::*,
    sync::{
        aref::ARef,
        Arc, //
    },
};

/// The object file system.
pub(super) struct ObjFs;

/// A directory: of the device, or the root.
pub(super) struct Dir {
    graves: Arc<Graves>,
    device: Option<ARef<Device>>,
}

impl Dir {
    pub(super) fn new(graves: &Arc<Graves>, device: Option<&Device>) -> Self {
        Self {
            graves: graves.clone(),
            device: device.map(Into::into),
        }
    }

    /// The device whose objects can have names here; the root has none.
    pub(super) fn device(&self) -> Option<&Device> {
        self.device.as_deref()
    }

    /// Where names from here go.
    pub(super) fn graves(&self) -> &Arc<Graves> {
        &self.graves
    }
}

impl FileSystem for ObjFs {
    const NAME: &'static CStr = c"shverbs";
    /// `SHVERBS_FS_MAGIC`.
    const MAGIC: usize = 0x7368_7662;
    /// As of `/tmp` and `/dev/shm`.
    const DEFAULT_ACCESS: Access = Access::new(0o1777);

    type Dir = Dir;
    type File = Name;

    fn file_operations() -> &'static FileOperations {
        ObjectFd::fops()
    }

    fn new_root() -> Result<Dir> {
        Ok(Dir {
            graves: Graves::new()?,
            device: None,
        })
    }

    fn mounted(root: &Dentry<Self>, namespace: &Namespace, access: Access) -> Result {
        let dir = root.dir().ok_or(ENOTDIR)?;
        dir.graves.open(root);
        let registry = REGISTRY.get().ok_or(ENODEV)?;
        registry.mount(&dir.graves, namespace, access, root)
    }

    fn unmount(root: &Dir) {
        if let Some(registry) = REGISTRY.get() {
            registry.unmount(&root.graves);
        }
        root.graves.close();
    }

    fn access(root: &Dir) -> Access {
        REGISTRY
            .get()
            .and_then(|registry| registry.access(&root.graves))
            .unwrap_or(Self::DEFAULT_ACCESS)
    }

    fn reconfigure(root: &Dir, access: Access) {
        if let Some(registry) = REGISTRY.get() {
            registry.reconfigure(&root.graves, access);
        }
    }

    /// `EPERM` in the root, whose directories are the devices'.
    fn mkdir(parent: &Dir) -> Result<Dir> {
        let device = parent.device().ok_or(EPERM)?;
        Ok(Dir::new(&parent.graves, Some(device)))
    }

    fn may_rmdir(parent: &Dir) -> Result {
        parent.device().ok_or(EPERM).map(|_| ())
    }

    /// `EPERM` for the directories of devices, `EXDEV` from one device's to another's.
    fn may_rename(from: &Dir, to: &Dir) -> Result {
        let from = from.device().ok_or(EPERM)?;
        let to = to.device().ok_or(EPERM)?;
        if ptr::eq(from, to) {
            Ok(())
        } else {
            Err(EXDEV)
        }
    }
}
