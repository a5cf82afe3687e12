// SPDX-License-Identifier: GPL-2.0

//! Names: what a file of the object file system stands for.

use super::{
    any::{
        AnyOwner,
        AnyWeak, //
    },
    fd::ObjectFd,
    rights::{
        Right,
        Rights, //
    },
};
use crate::sys::{
    deferred::Deferred,
    file::Access, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// A name knows its object, or owns it.
pub(crate) enum Name {
    /// Vanishes with the last other owner.
    Weak(AnyWeak),
    /// Owns the object until it is unlinked.
    Strong(Deferred<AnyOwner>),
}

impl Name {
    /// The object; `ENOENT` if it is gone.
    pub(crate) fn owner(&self) -> Result<AnyOwner> {
        match self {
            Self::Weak(weak) => weak.upgrade().ok_or(ENOENT),
            Self::Strong(owner) => Ok(AnyOwner::clone(owner)),
        }
    }

    /// An object fd for whoever the file system let open the name. Writing alone says nothing.
    pub(crate) fn open(&self, access: Access) -> Result<Arc<ObjectFd>> {
        let rights: Rights = match access {
            Access::ReadOnly => Right::Use.into(),
            Access::ReadWrite => Right::Use | Right::Modify,
            Access::WriteOnly => return Err(EACCES),
        };
        ObjectFd::new(self.owner()?, rights)
    }
}
