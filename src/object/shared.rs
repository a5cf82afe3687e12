// SPDX-License-Identifier: GPL-2.0

//! What object fds and names stand for: an object of any kind, or a context.

use super::{
    any::{
        AnyOwner,
        AnyWeak, //
    },
    context::{
        Holder,
        Weak, //
    },
    device::Device,
    obituary::Obituary,
    sharing::{
        Holders,
        Sharing, //
    },
};
use crate::bindings;
use kernel::{
    fmt,
    prelude::*,
    sync::Arc, //
};

/// A context's id among those of `enum uverbs_default_objects`: to user space it is the device that
/// it has opened.
pub(crate) const CONTEXT_ID: u16 = bindings::uverbs_default_objects_UVERBS_OBJECT_DEVICE as u16;

/// An owner of what can be shared.
#[derive(Clone)]
pub(crate) enum Shared {
    Object(AnyOwner),
    Context(Holder),
}

/// Somebody who knows what can be shared without owning it.
pub(crate) enum WeakShared {
    Object(AnyWeak),
    Context(Weak),
}

impl Shared {
    /// The object; `EINVAL` if this is a context.
    pub(crate) fn object(&self) -> Result<&AnyOwner> {
        match self {
            Self::Object(owner) => Ok(owner),
            Self::Context(_) => Err(EINVAL),
        }
    }

    /// The context; `EINVAL` if this is an object.
    pub(crate) fn context(&self) -> Result<&Holder> {
        match self {
            Self::Object(_) => Err(EINVAL),
            Self::Context(holder) => Ok(holder),
        }
    }

    pub(crate) fn downgrade(&self) -> WeakShared {
        match self {
            Self::Object(owner) => WeakShared::Object(owner.downgrade()),
            Self::Context(holder) => WeakShared::Context(holder.downgrade()),
        }
    }

    /// Asks for a call when the object is gone, or the last holder of the context.
    pub(crate) fn on_death(&self, watcher: Arc<dyn Obituary>) -> Result {
        match self {
            Self::Object(owner) => owner.on_death(watcher),
            Self::Context(holder) => holder.on_death(watcher),
        }
    }

    pub(crate) fn device(&self) -> &Device {
        match self {
            Self::Object(owner) => owner.device(),
            Self::Context(holder) => holder.device(),
        }
    }

    /// `EIO` if the object or the driver's context is gone.
    pub(crate) fn check(&self) -> Result {
        let live = self.device().live()?;
        match self {
            Self::Object(owner) => owner.as_ptr(&live).map(|_| ()),
            Self::Context(holder) => holder.lock(&live).map(|_| ()),
        }
    }

    /// In bytes, as `ls -l` shows it.
    pub(crate) fn size(&self) -> u64 {
        match self {
            Self::Object(owner) => owner.size(),
            Self::Context(_) => 0,
        }
    }

    fn kind(&self) -> &'static str {
        match self {
            Self::Object(owner) => owner.kind(),
            Self::Context(_) => "ctx",
        }
    }

    pub(super) fn sharing(&self) -> &Sharing {
        match self {
            Self::Object(owner) => owner.sharing(),
            Self::Context(holder) => holder.sharing(),
        }
    }

    /// Settles whether those who import it can rely on it for as long as they hold it, or lose it to
    /// whoever revokes it. The first who shares it decides.
    ///
    /// `EPERM` to make revocable what is shared already without that; `EINVAL` for contexts.
    pub(crate) fn settle(&self, revocable: bool) -> Result {
        if revocable {
            self.object()?;
        }
        self.sharing().settle(revocable)
    }

    pub(crate) fn is_revocable(&self) -> bool {
        self.sharing().revocation().is_some()
    }

    /// Who holds it. A caller that is no handle or fd counts as a handle.
    pub(crate) fn holders(&self) -> Holders {
        match self {
            Self::Object(owner) => owner.holders(),
            Self::Context(holder) => holder.holders(),
        }
    }

    /// What `cat` of a name shows.
    pub(crate) fn description(&self) -> Description<'_> {
        Description(self)
    }
}

impl WeakShared {
    /// Becomes an owner, if there is one.
    pub(crate) fn upgrade(&self) -> Option<Shared> {
        match self {
            Self::Object(weak) => weak.upgrade().map(Shared::Object),
            Self::Context(weak) => weak.upgrade().map(Shared::Context),
        }
    }
}

/// `key: value` lines.
pub(crate) struct Description<'a>(&'a Shared);

impl fmt::Display for Description<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shared = self.0;
        writeln!(f, "kind: {}", shared.kind())?;
        if let Ok(live) = shared.device().live() {
            writeln!(f, "device: {}", live.name().to_str().unwrap_or("?"))?;
        }
        writeln!(f, "size: {}", shared.size())?;
        // Whoever reads this owns it meanwhile.
        let holders = shared.holders();
        let fds = holders.fds.saturating_sub(1);
        writeln!(f, "handles: {}", holders.handles)?;
        writeln!(f, "fds: {fds}")?;
        writeln!(f, "names: {}", holders.names)?;
        writeln!(f, "children: {}", holders.children)?;
        let flags = if shared.is_revocable() {
            "revocable"
        } else {
            ""
        };
        writeln!(f, "flags: {flags}")
    }
}
