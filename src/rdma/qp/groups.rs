// SPDX-License-Identifier: GPL-2.0

//! The multicast groups that a QP is attached to.

use super::Qp;
use crate::bindings;
use kernel::{
    error::to_result,
    new_mutex,
    prelude::*,
    sync::Mutex, //
};

/// A multicast group.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Group {
    pub(crate) gid: [u8; 16],
    pub(crate) lid: u16,
}

/// Those that a QP is attached to. The driver is called under the lock, and takes its own inside.
#[pin_data]
pub(super) struct Groups {
    #[pin]
    all: Mutex<KVec<Group>>,
}

impl Groups {
    pub(super) fn new() -> Result<Pin<KBox<Self>>> {
        KBox::pin_init(
            pin_init!(Self {
                all <- new_mutex!(KVec::new()),
            }),
            GFP_KERNEL,
        )
    }
}

impl Qp {
    /// Attaches the QP to a group, if it is not already. `EINVAL` if that is none, or the QP is not
    /// one for datagrams; else errors are the driver's.
    pub(crate) fn attach(&self, group: Group) -> Result {
        let mut all = self.groups.all.lock();
        if all.contains(&group) {
            return Ok(());
        }
        all.reserve(1, GFP_KERNEL)?;
        let mut gid = group.gid;
        // SAFETY: By the type's invariant; a GID is so many bytes.
        to_result(unsafe {
            bindings::ib_attach_mcast(self.as_raw(), gid.as_mut_ptr().cast(), group.lid)
        })?;
        // There is room.
        all.push(group, GFP_KERNEL)?;
        Ok(())
    }

    /// Detaches the QP from a group. `EINVAL` if it is not attached to it; else errors are the
    /// driver's.
    pub(crate) fn detach(&self, group: Group) -> Result {
        let mut all = self.groups.all.lock();
        let at = all.iter().position(|one| *one == group).ok_or(EINVAL)?;
        self.detach_raw(group)?;
        all.remove(at).map_err(|_| EINVAL)?;
        Ok(())
    }

    /// Detaches the QP from all groups, as far as the driver lets it.
    pub(super) fn detach_all(&self) {
        self.groups
            .all
            .lock()
            .retain(|group| self.detach_raw(*group).is_err());
    }

    fn detach_raw(&self, group: Group) -> Result {
        let mut gid = group.gid;
        // SAFETY: By the type's invariant; a GID is so many bytes.
        to_result(unsafe {
            bindings::ib_detach_mcast(self.as_raw(), gid.as_mut_ptr().cast(), group.lid)
        })
    }

    /// Whether it is attached to any group.
    pub(crate) fn is_attached(&self) -> bool {
        !self.groups.all.lock().is_empty()
    }
}
