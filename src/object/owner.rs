// SPDX-License-Identifier: GPL-2.0

//! Objects and their owners.
//!
//! Lock order: [`Object::state`] is tried and never waited for; the locks of [`Watchers`] and of the
//! registry are taken last, and nothing is called or dropped under them.

use super::{
    context::Context,
    device::Device,
    kinds::Kind,
    obituary::{
        Obituary,
        Watchers, //
    },
    registry::{
        Member,
        Mortal, //
    },
    sharing::{
        self,
        Holders,
        Sharing, //
    },
};
use crate::{
    rdma::{
        bundle::Bundle,
        device::Live,
        sink::Sink, //
    },
    sys::{
        lineup::{
            self,
            Listed, //
        },
        uselock::{
            Exclusive,
            SharedSome,
            UseLock, //
        },
    },
};
use core::{
    mem,
    ops::Deref, //
};
use kernel::{
    prelude::*,
    sync::{
        aref::ARef,
        atomic::{
            Acquire,
            Atomic,
            Full,
            Relaxed,
            Release, //
        },
        Arc,
        UniqueArc, //
    },
};

/// One hardware object, whose memory outlives it while somebody looks.
///
/// # Invariants
///
/// `owners` is the number of [`Owner`]s: [`HOLDER`] for each who holds the object for itself, and
/// [`CHILD`] for each object that was made from it. Once it is zero it stays so, unless the attempt
/// to destroy the hardware object failed and its only owner got it back.
#[pin_data]
pub(crate) struct Object<K: Kind> {
    owners: Atomic<u64>,
    /// None once the hardware object is destroyed.
    state: UseLock<Option<Alive<K>>>,
    device: ARef<Device>,
    /// The bytes that the driver answered when it made the object.
    response: KVec<u8>,
    sharing: Sharing,
    #[pin]
    watchers: Watchers,
}

/// What there is of an object as long as its hardware is: fields go in this order, so that the
/// context outlives what is in it. Whoever only knows the object does not keep it.
struct Alive<K> {
    hardware: K,
    context: Arc<Context>,
}

/// One who holds an object for itself, in [`Object::owners`].
const HOLDER: u64 = 1;
/// One object that was made from another. So many holders do not fit into memory.
const CHILD: u64 = 1 << 32;

const fn holders(owners: u64) -> u64 {
    owners % CHILD
}

/// One owner of an object. The last to go destroys the hardware object.
///
/// Must be dropped in process context, and not under a lock that drivers or this module take.
///
/// # Invariants
///
/// Counted as `share` in `owners`; not at all if that is zero.
pub(crate) struct Owner<K: Kind> {
    object: Arc<Member<Object<K>>>,
    share: u64,
}

/// Somebody who knows an object without owning it.
pub(crate) struct Weak<K: Kind>(Arc<Member<Object<K>>>);

/// An object in use: it is not destroyed or changed before this is dropped.
pub(crate) struct InUse<'a, K: Kind> {
    alive: SharedSome<'a, Alive<K>>,
    owner: &'a Owner<K>,
}

/// Memory for an object whose hardware is yet to be made, so that nothing can fail once it is.
pub(crate) struct Seat<K: Kind>(UniqueArc<mem::MaybeUninit<Member<Object<K>>>>);

impl<K: Kind> Seat<K> {
    pub(crate) fn new() -> Result<Self> {
        Ok(Self(UniqueArc::new_uninit(GFP_KERNEL)?))
    }

    /// The object, with its first owner.
    pub(crate) fn fill(self, context: Arc<Context>, hardware: K, response: KVec<u8>) -> Owner<K> {
        let device = ARef::from(context.device());
        let home = device.objects().home();
        let object = pin_init!(Object {
            // INVARIANT: The owner below.
            owners: Atomic::new(HOLDER),
            state: UseLock::new(Some(Alive { hardware, context })),
            device,
            response,
            sharing: Sharing::new(),
            watchers <- Watchers::new(),
        });
        let object = match self.0.pin_init_with(Listed::new(home, object)) {
            Ok(object) => object,
            Err(never) => match never {},
        };
        let (object, listed) = lineup::pair(object);
        object.device.objects().enter(listed);
        // INVARIANT: The count of one is this one's.
        Owner {
            object,
            share: HOLDER,
        }
    }
}

impl<K: Kind> Owner<K> {
    /// Uses the object: `EIO` if it is destroyed, `EBUSY` while it is being changed.
    ///
    /// Only while the device lives: its removal destroys the object without asking who uses it,
    /// once it has waited for all [`Live`]s.
    pub(crate) fn lock<'a>(&'a self, _live: &'a Live<'_>) -> Result<InUse<'a, K>> {
        Ok(InUse {
            alive: self.object.state.try_shared()?.some().ok_or(EIO)?,
            owner: self,
        })
    }

    /// Changes the object and its parents, so that afterwards it counts as the newest: `EIO` if it
    /// is destroyed, `EBUSY` while anybody uses it or others are made from it.
    ///
    /// Only while the device lives, as with [`Owner::lock`].
    pub(crate) fn remake<R>(
        &self,
        _live: &Live<'_>,
        f: impl FnOnce(&mut K) -> Result<R>,
    ) -> Result<R> {
        let mut state = self.object.state.try_exclusive()?;
        let alive = state.as_mut().ok_or(EIO)?;
        // New children need the object in use.
        if self.object.owners.load(Relaxed) >= CHILD {
            return Err(EBUSY);
        }
        let result = f(&mut alive.hardware);
        self.object.device.objects().renew(&*self.object);
        result
    }

    /// Gives up this ownership. If it was the last one the hardware object is destroyed, and where
    /// the driver refuses that, all is as before.
    ///
    /// `EBUSY` if nobody else holds the object, but others were made from it.
    pub(crate) fn give_up(mut self) -> core::result::Result<(), (Self, Error)> {
        match self.object.leave_unless_busy() {
            Ok(Left::Others) => {
                // INVARIANT: Not counted any more.
                self.share = 0;
                return Ok(());
            }
            Ok(Left::Nobody) => {}
            Err(e) => return Err((self, e)),
        }
        match self.object.bury(K::check) {
            Ok(()) => {
                // INVARIANT: Not counted any more.
                self.share = 0;
                Ok(())
            }
            Err(e) => {
                // INVARIANT: The only owner is back.
                self.object.owners.store(HOLDER, Release);
                Err((self, e))
            }
        }
    }

    pub(crate) fn downgrade(&self) -> Weak<K> {
        Weak(self.object.clone())
    }

    pub(crate) fn device(&self) -> &Device {
        &self.object.device
    }

    /// The bytes that the driver answered when it made the object.
    pub(crate) fn response(&self) -> &[u8] {
        &self.object.response
    }

    /// On which terms it is shared, and by whom.
    pub(super) fn sharing(&self) -> &Sharing {
        &self.object.sharing
    }

    /// Whether both own one object.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.object, &other.object)
    }

    /// Destroys the hardware object at once, whoever holds it, and tells those who import it.
    ///
    /// `EPERM` if it is not shared as revocable, `EIO` if it is gone, `EBUSY` while anybody uses it
    /// or others are made from it; else what the driver says, and then nothing has changed.
    pub(crate) fn revoke(&self, live: &Live<'_>) -> Result {
        let object = &self.object;
        let importers = object.sharing.revocation().ok_or(EPERM)?;
        object.check()?;
        let state = object.state.try_exclusive()?;
        if state.is_none() {
            return Err(EIO);
        }
        // New children need the object in use.
        if object.owners.load(Relaxed) >= CHILD {
            return Err(EBUSY);
        }
        object.destroy_in(state, live)?;
        object.announce();
        importers.happened(sharing::REVOKED);
        Ok(())
    }

    /// The owners, each as what it is; others come and go meanwhile.
    pub(crate) fn holders(&self) -> Holders {
        let owners = self.object.owners.load(Relaxed);
        self.object.sharing.holders(holders(owners), owners / CHILD)
    }

    /// Asks for a call when the object is gone. If it is gone already the call comes at once.
    pub(crate) fn on_death(&self, watcher: Arc<dyn Obituary>) -> Result {
        self.object.watchers.add(watcher)?;
        // Device removal destroys objects that have owners.
        let gone = match self.device().live() {
            Ok(_live) => self
                .object
                .state
                .try_shared()
                .is_ok_and(|state| state.is_none()),
            Err(_) => true,
        };
        if gone {
            self.object.watchers.tell();
        }
        Ok(())
    }
}

impl<K: Kind> Clone for Owner<K> {
    fn clone(&self) -> Self {
        self.object.owner(HOLDER)
    }
}

impl<K: Kind> Drop for Owner<K> {
    fn drop(&mut self) {
        if self.share != 0 && self.object.owners.fetch_sub(self.share, Full) == self.share {
            self.object.end();
        }
    }
}

/// Who is left when a holder leaves.
enum Left {
    Others,
    /// The count is zero, from where nobody else can bring it up, and the caller owes the end of the
    /// hardware object.
    Nobody,
}

impl<K: Kind> Member<Object<K>> {
    /// One more owner, for whoever knows one.
    fn owner(self: &Arc<Self>, share: u64) -> Owner<K> {
        // INVARIANT: Counted; an owner exists, so the count was not zero.
        self.owners.add(share, Relaxed);
        Owner {
            object: self.clone(),
            share,
        }
    }

    /// Destroys the hardware object, if it is there and `check` agrees. On failure nothing has changed.
    fn bury(&self, check: impl FnOnce(&K) -> Result) -> Result {
        // Without a device its removal does this, or has done it. The object stays listed for it.
        let Ok(live) = self.device.live() else {
            return Ok(());
        };
        let state = self.state.try_exclusive()?;
        if let Some(alive) = &*state {
            check(&alive.hardware)?;
        }
        self.destroy_in(state, &live)?;
        drop(live);
        self.announce();
        Ok(())
    }

    /// Destroys the hardware object for whoever cannot be told that it failed.
    fn end(&self) {
        if let Err(e) = self.bury(|_| Ok(())) {
            self.leak(e);
            self.announce();
        }
    }

    /// Takes the object off the list of those that live, and tells those who watch.
    fn announce(&self) {
        self.device.objects().leave(self);
        self.watchers.tell();
    }
}

impl<K: Kind> Object<K> {
    /// One holder less. `EBUSY` if that would leave nobody but children.
    fn leave_unless_busy(&self) -> Result<Left> {
        let mut owners = self.owners.load(Relaxed);
        loop {
            if owners > CHILD && holders(owners) == HOLDER {
                return Err(EBUSY);
            }
            let fewer = owners.checked_sub(HOLDER).ok_or(EIO)?;
            match self.owners.cmpxchg(owners, fewer, Full) {
                Ok(_) if fewer == 0 => return Ok(Left::Nobody),
                Ok(_) => return Ok(Left::Others),
                Err(now) => owners = now,
            }
        }
    }

    /// As [`Kind::check`].
    fn check(&self) -> Result {
        let state = self.state.try_shared()?;
        state
            .as_ref()
            .map_or(Ok(()), |alive| alive.hardware.check())
    }

    fn destroy(&self, live: &Live<'_>) -> Result {
        self.destroy_in(self.state.try_exclusive()?, live)
    }

    fn destroy_in(&self, mut state: Exclusive<'_, Option<Alive<K>>>, live: &Live<'_>) -> Result {
        let Some(Alive { hardware, context }) = state.take() else {
            return Ok(());
        };
        let mut left = Some(hardware);
        let destroyed = Bundle::with_none(context.home(), |bundle| {
            let Some(hardware) = left.take() else {
                return Ok(());
            };
            hardware.destroy(live, bundle).map_err(|(hardware, e)| {
                left = Some(hardware);
                e
            })
        });
        *state = left.map(|hardware| Alive { hardware, context });
        destroyed
    }

    /// What the driver does not let go stays, with all that it was made from: its memory may be in
    /// use by the hardware.
    fn leak(&self, e: Error) {
        dev_err!(
            self.device.dev(),
            "{} cannot be destroyed ({}) and is leaked\n",
            K::NAME,
            e.to_errno()
        );
        if let Ok(mut state) = self.state.try_exclusive() {
            mem::forget(state.take());
        }
    }
}

impl<K: Kind> Mortal for Object<K> {
    fn kill(&self, live: &Live<'_>) {
        if let Err(e) = self.destroy(live) {
            self.leak(e);
        }
        self.watchers.tell();
    }
}

impl<K: Kind> InUse<'_, K> {
    /// One more owner of the object in use, for a child of it.
    pub(crate) fn owner(&self) -> Owner<K> {
        self.owner.object.owner(CHILD)
    }
}

impl<K: Kind> Deref for InUse<'_, K> {
    type Target = K;

    fn deref(&self) -> &K {
        &self.alive.hardware
    }
}

impl<K: Kind> Weak<K> {
    /// Whether it has no owners any more.
    pub(crate) fn is_gone(&self) -> bool {
        self.0.owners.load(Relaxed) == 0
    }

    /// Becomes an owner, if there is one.
    pub(crate) fn upgrade(&self) -> Option<Owner<K>> {
        let mut owners = self.0.owners.load(Relaxed);
        while owners != 0 {
            match self
                .0
                .owners
                .cmpxchg(owners, owners.checked_add(HOLDER)?, Acquire)
            {
                // INVARIANT: Counted.
                Ok(_) => {
                    return Some(Owner {
                        object: self.0.clone(),
                        share: HOLDER,
                    })
                }
                Err(now) => owners = now,
            }
        }
        None
    }
}
