// SPDX-License-Identifier: GPL-2.0

//! The object file system: names for objects, in a directory for each device.
//!
//! A name is a regular file whose inode owns a [`Name`]; opening it gives an object fd. Directories
//! below the device's are the users'. There is a superblock for each network namespace that mounts
//! the type, with the devices that the namespace may see.
//!
//! A name whose object has died is invisible from then on (it is out of the hash of the dentry
//! cache), and is unlinked by a work item, as that needs the lock of its directory. See [`graves`].
//!
//! Lock order, outermost first:
//!
//! 1. `s_umount`, which the VFS holds while it mounts, remounts and unmounts;
//! 2. `Registry::state`: which devices and which mounts there are;
//! 3. `i_rwsem` of directories, parents before children, then of what is in them;
//! 4. `Graves::state`: which names are to be unlinked;
//! 5. `namespace_sem`, which the VFS takes where something was mounted on a name that goes, and
//!    holds while it shows mount options.
//!
//! No [`Shared`] is dropped under any of them: a strong name's is [`Deferred`].

#![forbid(unsafe_code)]

mod graves;
mod registry;
mod tree;

use self::{
    graves::Tombstone,
    registry::Registry,
    tree::ObjFs, //
};
use crate::{
    object::{
        name::{
            Name,
            Strength, //
        },
        sharing::{
            Counted,
            Role, //
        },
        Device,
        Obituary,
        Rights,
        Shared, //
    },
    sys::{
        deferred::Deferred,
        fs,
        service::{
            Installed,
            Service, //
        },
    },
};
use core::ptr;
use kernel::{
    fs::LocalFile,
    prelude::*, //
};

static TYPE: fs::Type = fs::Type::new();
static REGISTRY: Service<Registry> = Service::new();

/// The permission bits that a name can have.
const NAME_MODE: u16 = 0o777;

/// The file system is there to be mounted, at `/sys/fs/shverbs`.
pub(crate) struct Registration {
    _fs: fs::Registration<ObjFs>,
    // Goes after the last superblock.
    _registry: Installed<Registry>,
}

impl Registration {
    /// `EBUSY` if another file system has the name, `EEXIST` if the mount point is there.
    pub(crate) fn new() -> Result<Self> {
        let registry = REGISTRY.install(Registry::new()?)?;
        Ok(Self {
            _fs: fs::Registration::new(&TYPE)?,
            _registry: registry,
        })
    }
}

/// `device` gets its directory in each instance that may see it, now and later. `EEXIST` if another
/// device has its name.
pub(crate) fn device_added(device: &Device) -> Result {
    REGISTRY.get().ok_or(ENODEV)?.add(device)
}

/// Devices have other names now, and so have their directories.
pub(crate) fn devices_renamed() {
    if let Some(registry) = REGISTRY.get() {
        registry.rename();
    }
}

/// The directories of `device` go, with all names in them.
pub(crate) fn device_removed(device: &Device) {
    if let Some(registry) = REGISTRY.get() {
        registry.remove(device);
    }
}

/// Gives what is `shared` the name `name` in the directory `dir`, as `SHVERBS_METHOD_PUBLISH`
/// says, whose errors these are. The caller has seen to rights, and holds no lock that the destruction of an object takes.
pub(crate) fn publish(
    dir: &LocalFile,
    name: &[u8],
    mode: u16,
    shared: Shared,
    rights: Rights,
    strength: Strength,
) -> Result {
    let dir = fs::Directory::<ObjFs>::new(dir)?;
    if mode & !NAME_MODE != 0 {
        return Err(EINVAL);
    }
    let place = dir.data()?;
    if !place
        .device()
        .is_some_and(|device| ptr::eq(device, shared.device()))
    {
        return Err(EXDEV);
    }
    let held = match strength {
        Strength::Strong(charge) => {
            let counted = Counted::new(shared.clone(), Role::Name);
            Name::strong(Deferred::new(c"[shverbs-name]", counted)?, charge, rights)
        }
        Strength::Weak => Name::weak(shared.downgrade(), rights),
    };
    let tombstone = Tombstone::new(place.graves())?;
    tombstone.carve(dir.create(name, mode, shared.size(), held)?);
    shared
        .on_death(tombstone.clone())
        .inspect_err(|_| tombstone.gone())
}
