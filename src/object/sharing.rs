// SPDX-License-Identifier: GPL-2.0

//! What an object knows of being shared: on which terms, and by how many object fds and names.

use super::shared::Shared;
use crate::{
    bindings,
    events::Subscribers, //
};
use core::ops::Deref;
use kernel::{
    prelude::*,
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        Arc,
        SetOnce, //
    },
};

/// Kept with each object and context.
pub(crate) struct Sharing {
    terms: SetOnce<Terms>,
    fds: Atomic<u32>,
    names: Atomic<u32>,
}

/// What those who import an object may rely on; the first who shares it decides, for good.
enum Terms {
    /// It is there as long as they hold it.
    Permanent,
    /// It may be taken away from them, which they are told.
    Revocable(Arc<Subscribers>),
}

/// Who holds an object, at some moment.
pub(crate) struct Holders {
    /// Handles or, of a context, attached files.
    pub(crate) handles: u32,
    pub(crate) fds: u32,
    /// Strong ones.
    pub(crate) names: u32,
    /// Objects that were made from it.
    pub(crate) children: u32,
}

/// How something is held, if not by a handle.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Fd,
    Name,
}

/// An owner that is counted as what it is.
pub(crate) struct Counted {
    shared: Shared,
    role: Role,
}

impl Sharing {
    pub(super) const fn new() -> Self {
        Self {
            terms: SetOnce::new(),
            fds: Atomic::new(0),
            names: Atomic::new(0),
        }
    }

    /// Settles the terms if that is still to be done. `EPERM` for an object that is to be revocable
    /// and is shared without that.
    pub(super) fn settle(&self, revocable: bool) -> Result {
        if self.terms.as_ref().is_none() {
            // If another call comes first, that holds.
            self.terms.populate(if revocable {
                Terms::Revocable(Subscribers::new()?)
            } else {
                Terms::Permanent
            });
        }
        if revocable {
            self.revocation().map(|_| ()).ok_or(EPERM)
        } else {
            Ok(())
        }
    }

    /// Those who are told when a revocable object is revoked; none if it is not revocable.
    pub(super) fn revocation(&self) -> Option<&Arc<Subscribers>> {
        match self.terms.as_ref()? {
            Terms::Permanent => None,
            Terms::Revocable(subscribers) => Some(subscribers),
        }
    }

    /// Of so many owners, `holders` hold the object for themselves.
    pub(super) fn holders(&self, holders: u64, children: u64) -> Holders {
        let (fds, names) = (self.fds.load(Relaxed), self.names.load(Relaxed));
        let others = u64::from(fds).saturating_add(u64::from(names));
        let count = |n| u32::try_from(n).unwrap_or(u32::MAX);
        Holders {
            handles: count(holders.saturating_sub(others)),
            fds,
            names,
            children: count(children),
        }
    }

    fn count(&self, role: Role) -> &Atomic<u32> {
        match role {
            Role::Fd => &self.fds,
            Role::Name => &self.names,
        }
    }
}

impl Counted {
    pub(crate) fn new(shared: Shared, role: Role) -> Self {
        shared.sharing().count(role).add(1, Relaxed);
        Self { shared, role }
    }
}

impl Deref for Counted {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.shared
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.shared.sharing().count(self.role).fetch_sub(1, Relaxed);
    }
}

/// What subscribers read when an object is revoked.
pub(super) const REVOKED: u32 = bindings::shverbs_event_type_SHVERBS_EVENT_REVOKED;

#[kunit_tests(shverbs_sharing)]
mod tests {
    use super::*;

    #[test]
    fn the_first_decides() {
        let sharing = Sharing::new();
        assert_eq!(sharing.settle(false), Ok(()));
        assert_eq!(sharing.settle(true), Err(EPERM));
        assert!(sharing.revocation().is_none());
        let sharing = Sharing::new();
        assert_eq!(sharing.settle(true), Ok(()));
        assert_eq!(sharing.settle(false), Ok(()));
        assert!(sharing.revocation().is_some());
    }

    #[test]
    fn handles_are_the_others() {
        let sharing = Sharing::new();
        sharing.count(Role::Fd).add(2, Relaxed);
        sharing.count(Role::Name).add(1, Relaxed);
        let holders = sharing.holders(5, 7);
        assert_eq!((holders.handles, holders.fds), (2, 2));
        assert_eq!((holders.names, holders.children), (1, 7));
        // They come and go meanwhile.
        assert_eq!(sharing.holders(1, 0).handles, 0);
    }
}
