// SPDX-License-Identifier: GPL-2.0

//! What a method finds that is asked to share something.

use crate::{
    backend,
    dispatch::Call,
    object::{
        fd::ObjectFd,
        shared::CONTEXT_ID,
        Right,
        Rights,
        Shared, //
    },
    sys, //
};
use kernel::prelude::*;

/// What the caller holds, as an owner of its own, and what it may do with it.
pub(super) struct Held {
    pub(super) shared: Shared,
    pub(super) rights: Rights,
}

impl Held {
    /// What a handle of the calling file holds or, for the id of contexts, the file itself. These
    /// have no handle.
    ///
    /// `EOPNOTSUPP` for a kind that cannot be shared on this device; `EINVAL` for a context with a
    /// handle or something else without one; else as [`Call::find_any`].
    pub(super) fn new(call: &Call<'_, '_>, object_id: u32, handle: u32) -> Result<Self> {
        let kind: u16 = call.constant(object_id)?;
        backend::of(call.live()?).check_shareable(kind)?;
        if (kind == CONTEXT_ID) == call.has(handle) {
            return Err(EINVAL);
        }
        if kind == CONTEXT_ID {
            let (holder, rights) = call.file.data().holder()?;
            return Ok(Self {
                shared: Shared::Context(holder.clone()),
                rights,
            });
        }
        let found = call.find_any(u32::from(kind), call.constant(handle)?)?;
        let entry = found.entry()?;
        Ok(Self {
            shared: Shared::Object(entry.owner.clone()),
            rights: entry.rights,
        })
    }

    /// What an object fd holds; `EBADF` if it is none, `EINVAL` for one that moves a handle.
    pub(super) fn by_fd(call: &Call<'_, '_>, fd: u32) -> Result<Self> {
        let fd = sys::file::lookup::<ObjectFd>(call.number(fd)?)?;
        if fd.departure().is_some() {
            return Err(EINVAL);
        }
        Ok(Self {
            shared: fd.shared().clone(),
            rights: fd.rights(),
        })
    }

    /// `EPERM` without the right to share it, or to share it as `revocable`; `EIO` if it is gone.
    pub(super) fn require_to_share(&self, revocable: bool) -> Result {
        self.rights.require(Right::Share)?;
        if revocable {
            self.rights.require(Right::Revoke)?;
        }
        self.shared.check()
    }
}
