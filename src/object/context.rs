// SPDX-License-Identifier: GPL-2.0

//! A driver's user context, owned by the Files that are attached to it and the Objects in it.
//!
//! Lock order: the lock of [`Core::holding`] is taken last, and nothing is called or dropped under it.

use super::{
    device::Device,
    obituary::{
        Obituary,
        Watchers, //
    },
    registry::{
        Member,
        Mortal, //
    },
    sharing::{
        Holders,
        Sharing, //
    },
};
use crate::{
    rdma::{
        bundle::Bundle,
        device::Live,
        mmap::{
            self,
            Home,
            Keep, //
        },
        ucontext::Ucontext,
        ufile::{
            FileBox,
            OwnedFile,
            UFile, //
        }, //
    },
    sys::{
        lineup::{
            self,
            Listed, //
        },
        uselock::{
            SharedSome,
            UseLock, //
        },
    },
};
use core::ops::Deref;
use kernel::{
    new_mutex,
    prelude::*,
    sync::{
        aref::ARef,
        Arc,
        Mutex,
        SetOnce,
        UniqueArc, //
    },
};

/// A context. Whoever has an `Arc` of it owns it; the last to go gives the driver's context back.
pub(crate) struct Context {
    core: Arc<Member<Core>>,
}

/// What is left to a context whose owners are gone, or whose device is.
#[pin_data]
struct Core {
    device: ARef<Device>,
    home: OwnedFile<Home>,
    /// None once the driver has it back.
    ucontext: UseLock<Option<Ucontext>>,
    /// The bytes that the driver answered when it made the context.
    response: SetOnce<KVec<u8>>,
    #[pin]
    holding: Mutex<Holding>,
    sharing: Sharing,
    #[pin]
    watchers: Watchers,
}

/// How many can attach Files to a context, which is there as long as that is not zero.
struct Holding {
    holders: u64,
    context: Option<Arc<Context>>,
}

/// Somebody who can attach Files to a context: a File that is attached, an object fd, a strong Name.
///
/// Objects keep a context, too, but once the last holder is gone nobody can attach to it any more.
pub(crate) struct Holder(Arc<Context>);

/// Somebody who knows a context without holding it.
pub(crate) struct Weak(Arc<Member<Core>>);

impl Context {
    /// Asks the driver for a context, with the call's udata. The result is its first holder.
    pub(crate) fn make(
        device: &Device,
        live: &Live<'_>,
        ucaps: &mut [i32],
        bundle: &mut Bundle<'_>,
    ) -> Result<Holder> {
        let home = FileBox::open(device, live, Home::new())?;
        let ufile = ARef::from(home.ufile());
        let core = pin_init!(Core {
            device: ARef::from(device),
            home,
            ucontext: UseLock::new(None),
            response: SetOnce::new(),
            holding <- new_mutex!(Holding {
                holders: 0,
                context: None
            }),
            sharing: Sharing::new(),
            watchers <- Watchers::new(),
        });
        let core = UniqueArc::pin_init(Listed::new(device.contexts().home(), core), GFP_KERNEL)?;
        let (core, listed) = lineup::pair(core);
        // From here on dropping gives back what there is.
        let this = Arc::new(Self { core: core.clone() }, GFP_KERNEL)?;
        *core.ucontext.try_exclusive()? = Some(Ucontext::alloc(live, ufile, ucaps, bundle)?);
        core.response.populate(bundle.driver_answer()?);
        device.contexts().enter(listed);
        Ok(Holder::new(this))
    }

    pub(crate) fn device(&self) -> &Device {
        &self.core.device
    }

    /// The driver's context; `EIO` once it is gone. Only while the device lives, as with
    /// [`Owner::lock`](super::Owner::lock).
    pub(crate) fn lock<'a>(&'a self, _live: &'a Live<'_>) -> Result<SharedSome<'a, Ucontext>> {
        self.core.ucontext.try_shared()?.some().ok_or(EIO)
    }

    /// The bytes that the driver answered when it made the context.
    pub(crate) fn response(&self) -> &[u8] {
        self.core.response.as_ref().map_or(&[], |bytes| bytes)
    }

    /// The file that the driver finds in the context.
    pub(crate) fn home(&self) -> &UFile {
        self.core.home.ufile()
    }

    /// The file that mappings of this context are moved to.
    pub(crate) fn map_home(&self) -> &FileBox<Home> {
        &self.core.home
    }
}

impl Keep for Context {}

impl Holder {
    /// One more, of a context that the caller owns.
    fn new(context: Arc<Context>) -> Self {
        let mut holding = context.core.holding.lock();
        if holding.holders == 0 {
            holding.context = Some(context.clone());
        }
        holding.holders = holding.holders.saturating_add(1);
        drop(holding);
        Self(context)
    }

    pub(crate) fn context(&self) -> &Arc<Context> {
        &self.0
    }

    pub(crate) fn downgrade(&self) -> Weak {
        Weak(self.0.core.clone())
    }

    pub(super) fn sharing(&self) -> &Sharing {
        &self.0.core.sharing
    }

    /// The holders, each as what it is; others come and go meanwhile.
    pub(super) fn holders(&self) -> Holders {
        let holders = self.0.core.holding.lock().holders;
        self.sharing().holders(holders, 0)
    }

    /// Asks for a call when the last holder or the device is gone. If that is so already the call
    /// comes at once.
    pub(crate) fn on_death(&self, watcher: Arc<dyn Obituary>) -> Result {
        let watchers = &self.0.core.watchers;
        watchers.add(watcher)?;
        if self.0.device().live().is_err() {
            watchers.tell();
        }
        Ok(())
    }
}

impl Deref for Holder {
    type Target = Context;

    fn deref(&self) -> &Context {
        &self.0
    }
}

impl Clone for Holder {
    fn clone(&self) -> Self {
        Self::new(self.0.clone())
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        let mut holding = self.0.core.holding.lock();
        holding.holders = holding.holders.saturating_sub(1);
        if holding.holders != 0 {
            return;
        }
        let last = holding.context.take();
        drop(holding);
        self.0.core.watchers.tell();
        drop(last);
    }
}

impl Weak {
    /// Becomes a holder, if there is one.
    pub(crate) fn upgrade(&self) -> Option<Holder> {
        let mut holding = self.0.holding.lock();
        let context = holding.context.clone()?;
        holding.holders = holding.holders.saturating_add(1);
        Some(Holder(context))
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // Without a device its removal does this, or has done it.
        if let Ok(live) = self.core.device.live() {
            self.core.dealloc(&live, false);
            self.core.device.contexts().leave(&*self.core);
        }
    }
}

impl Core {
    fn dealloc(&self, live: &Live<'_>, removal: bool) {
        // Nobody has it locked: there is no owner, or no call that got past the removal.
        match self.ucontext.try_exclusive() {
            Ok(mut ucontext) => {
                if let Some(ucontext) = ucontext.take() {
                    ucontext.dealloc(live, removal);
                }
            }
            Err(_) => dev_err!(self.device.dev(), "a context is in use and leaked\n"),
        }
    }
}

impl Mortal for Core {
    fn kill(&self, live: &Live<'_>) {
        mmap::zap_all(self.home.ufile());
        self.dealloc(live, true);
        self.watchers.tell();
    }

    fn zap(&self) {
        mmap::zap_all(self.home.ufile());
    }
}
