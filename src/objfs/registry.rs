// SPDX-License-Identifier: GPL-2.0

//! Which devices there are, and which instances are mounted.

use super::{
    graves::Graves,
    tree::{
        Dir,
        ObjFs, //
    },
};
use crate::{
    object::Device,
    sys::{
        fs::{
            Dentry, //
            Ownership,
        },
        net::Namespace, //
    },
};
use core::ptr;
use kernel::{
    new_mutex,
    prelude::*,
    sync::{
        aref::ARef,
        Arc,
        Mutex, //
    },
};

#[pin_data]
pub(super) struct Registry {
    #[pin]
    state: Mutex<State>,
}

/// Each mount has a directory for each device that its namespace may see.
struct State {
    devices: KVec<ARef<Device>>,
    mounts: KVec<Mount>,
}

/// A mounted instance.
struct Mount {
    graves: Arc<Graves>,
    namespace: ARef<Namespace>,
    ownership: Ownership,
    root: ARef<Dentry<ObjFs>>,
    rooms: KVec<Room>,
}

/// The directory of a device.
struct Room {
    device: ARef<Device>,
    entry: ARef<Dentry<ObjFs>>,
}

impl Mount {
    fn add(&mut self, device: &Device) -> Result {
        if !device.accessible_from(&self.namespace) {
            return Ok(());
        }
        // A device that is going has no directory any more, or is about to lose it.
        let Ok(live) = device.live() else {
            return Ok(());
        };
        self.rooms.reserve(1, GFP_KERNEL)?;
        let room = Room {
            device: device.into(),
            entry: self.make_dir(device, live.name()).or_else(|error| {
                // A device that was renamed makes room for another before we are told.
                if error != EEXIST {
                    return Err(error);
                }
                self.rename();
                self.make_dir(device, live.name())
            })?,
        };
        self.rooms.push_within_capacity(room).map_err(|_| ENOMEM)
    }

    fn make_dir(&self, device: &Device, name: &CStr) -> Result<ARef<Dentry<ObjFs>>> {
        let dir = Dir::new(&self.graves, device);
        self.root.make_dir(name, self.ownership, dir)
    }

    /// Gives each directory the name that its device has now.
    fn rename(&self) {
        for room in &self.rooms {
            let Ok(live) = room.device.live() else {
                continue;
            };
            // A name that another directory still has is given when that one is renamed.
            let _ = room.entry.rename(live.name());
        }
    }

    fn remove(&mut self, device: &Device) {
        self.rooms.retain(|room| {
            let other = !ptr::eq(&*room.device, device);
            if !other {
                room.entry.remove_tree();
            }
            other
        });
    }
}

impl State {
    fn forget(&mut self, device: &Device) {
        self.devices.retain(|other| !ptr::eq(&**other, device));
        for mount in &mut self.mounts {
            mount.remove(device);
        }
    }
}

impl Registry {
    pub(super) fn new() -> Result<Arc<Self>> {
        let state = State {
            devices: KVec::new(),
            mounts: KVec::new(),
        };
        Arc::pin_init(
            pin_init!(Self {
                state <- new_mutex!(state),
            }),
            GFP_KERNEL,
        )
    }

    /// Makes the directories of `device`: in all mounts or, if it fails, in none.
    pub(super) fn add(&self, device: &Device) -> Result {
        let mut state = self.state.lock();
        state.devices.push(device.into(), GFP_KERNEL)?;
        let result = state
            .mounts
            .iter_mut()
            .try_for_each(|mount| mount.add(device));
        if result.is_err() {
            state.forget(device);
        }
        result
    }

    /// Renames the directories of devices whose names have changed.
    pub(super) fn rename(&self) {
        for mount in &self.state.lock().mounts {
            mount.rename();
        }
    }

    /// Removes the directories of `device`.
    pub(super) fn remove(&self, device: &Device) {
        self.state.lock().forget(device);
    }

    /// Makes the directories of all devices in a new instance.
    pub(super) fn mount(
        &self,
        graves: &Arc<Graves>,
        namespace: &Namespace,
        ownership: Ownership,
        root: &Dentry<ObjFs>,
    ) -> Result {
        let mut mount = Mount {
            graves: graves.clone(),
            namespace: namespace.into(),
            ownership,
            root: root.into(),
            rooms: KVec::new(),
        };
        let mut state = self.state.lock();
        state
            .devices
            .iter()
            .try_for_each(|device| mount.add(device))?;
        state.mounts.push(mount, GFP_KERNEL)?;
        Ok(())
    }

    /// Keeps nothing more of the instance with these `graves`.
    pub(super) fn unmount(&self, graves: &Arc<Graves>) {
        self.state
            .lock()
            .mounts
            .retain(|mount| !Arc::ptr_eq(&mount.graves, graves));
    }

    /// Gives the directories of the instance with these `graves` another owner and mode.
    pub(super) fn reconfigure(&self, graves: &Arc<Graves>, ownership: Ownership) {
        let mut state = self.state.lock();
        for mount in &mut state.mounts {
            if Arc::ptr_eq(&mount.graves, graves) {
                mount.ownership = ownership;
                for room in &mount.rooms {
                    room.entry.set_ownership(ownership);
                }
            }
        }
    }
}
