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
            Dentry,
            FileOperations,
            FileSystem,
            Ownership,
            SharedOwnership, //
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

/// A directory.
pub(super) struct Dir {
    graves: Arc<Graves>,
    place: Place,
}

/// Where a directory is.
enum Place {
    /// It is the root. The directories of devices are owned like this.
    Root(SharedOwnership),
    /// It is this device's, or below.
    Device(ARef<Device>),
}

impl Dir {
    /// The directory of `device`, or one below.
    pub(super) fn new(graves: &Arc<Graves>, device: &Device) -> Self {
        Self {
            graves: graves.clone(),
            place: Place::Device(device.into()),
        }
    }

    /// The device whose objects can have names here; the root has none.
    pub(super) fn device(&self) -> Option<&Device> {
        match &self.place {
            Place::Root(_) => None,
            Place::Device(device) => Some(device),
        }
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
    const DEFAULT_OWNERSHIP: Ownership = Ownership::new(0o1777);

    type Dir = Dir;
    type File = Name;

    fn file_operations() -> &'static FileOperations {
        ObjectFd::fops()
    }

    fn new_root(ownership: Ownership) -> Result<Dir> {
        Ok(Dir {
            graves: Graves::new()?,
            place: Place::Root(SharedOwnership::new(ownership)),
        })
    }

    fn mounted(root: &Dentry<Self>, namespace: &Namespace) -> Result {
        let dir = root.dir().ok_or(ENOTDIR)?;
        dir.graves.open(root);
        let registry = REGISTRY.get().ok_or(ENODEV)?;
        registry.mount(&dir.graves, namespace, Self::ownership(dir), root)
    }

    fn unmount(root: &Dir) {
        if let Some(registry) = REGISTRY.get() {
            registry.unmount(&root.graves);
        }
        root.graves.close();
    }

    fn ownership(root: &Dir) -> Ownership {
        match &root.place {
            Place::Root(ownership) => ownership.load(),
            Place::Device(_) => Self::DEFAULT_OWNERSHIP,
        }
    }

    fn reconfigure(root: &Dir, ownership: Ownership) {
        if let Place::Root(shared) = &root.place {
            shared.store(ownership);
        }
        if let Some(registry) = REGISTRY.get() {
            registry.reconfigure(&root.graves, ownership);
        }
    }

    /// `EPERM` in the root, whose directories are the devices'.
    fn mkdir(parent: &Dir) -> Result<Dir> {
        let device = parent.device().ok_or(EPERM)?;
        Ok(Dir::new(&parent.graves, device))
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
