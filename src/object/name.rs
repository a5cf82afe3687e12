// SPDX-License-Identifier: GPL-2.0

//! Names: what a file of the object file system stands for.

use super::{
    fd::ObjectFd,
    rights::{
        Right,
        Rights, //
    },
    shared::{
        Shared,
        WeakShared, //
    },
    sharing::Counted, //
};
use crate::sys::{
    deferred::Deferred,
    file::Access,
    user_locked::UserLocked, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// A name, which gives no more rights than it was made with.
pub(crate) struct Name {
    object: Object,
    rights: Rights,
}

/// Whether a name owns its object.
pub(crate) enum Strength {
    /// No: it vanishes with the last other owner.
    Weak,
    /// Until it is unlinked, with what that is charged to its publisher, if anything.
    Strong(Option<UserLocked>),
}

/// A name knows its object, or owns it.
enum Object {
    /// Vanishes with the last other owner.
    Weak(WeakShared),
    /// Owns the object until it is unlinked.
    Strong {
        owner: Deferred<Counted>,
        _charge: Option<UserLocked>,
    },
}

impl Name {
    /// Vanishes with the last other owner of the object.
    pub(crate) fn weak(object: WeakShared, rights: Rights) -> Self {
        Self {
            object: Object::Weak(object),
            rights,
        }
    }

    /// Owns the object until it is unlinked.
    pub(crate) fn strong(
        owner: Deferred<Counted>,
        charge: Option<UserLocked>,
        rights: Rights,
    ) -> Self {
        Self {
            object: Object::Strong {
                owner,
                _charge: charge,
            },
            rights,
        }
    }

    /// The object; `ENOENT` if it is gone.
    pub(crate) fn shared(&self) -> Result<Shared> {
        match &self.object {
            Object::Weak(weak) => weak.upgrade().ok_or(ENOENT),
            Object::Strong { owner, .. } => Ok(Shared::clone(owner)),
        }
    }

    /// An object fd for whoever the file system let open the name. Writing alone says nothing.
    pub(crate) fn open(&self, access: Access) -> Result<Arc<ObjectFd>> {
        let rights: Rights = match access {
            Access::ReadOnly => Right::Use.into(),
            Access::ReadWrite => Right::Use | Right::Modify,
            Access::WriteOnly => return Err(EACCES),
        };
        ObjectFd::new(self.shared()?, rights & self.rights)
    }
}
