// SPDX-License-Identifier: GPL-2.0

//! One open of the character device: a table of handles, attached to a Context.

use super::{
    any::{
        self,
        AnyOwner, //
    },
    context::{
        Context,
        Holder, //
    },
    departure::{
        Departure,
        Door, //
    },
    device::Device,
    event_file::{
        EventFiles,
        Family, //
    },
    kinds::Kind,
    owner::InUse,
    rights::{
        Right,
        Rights, //
    },
};
use crate::{
    events::{
        Reported,
        Subscribed, //
    },
    rdma::{
        bundle::Bundle,
        device::Live,
        handle::{
            self,
            NextId,
            Reservation,
            SharedHandle, //
        },
        ufile::FileBox, //
    }, //
};
use kernel::{
    new_mutex,
    prelude::*,
    sync::{
        aref::ARef,
        Arc,
        Mutex,
        SetOnce, //
    },
};

/// What we keep with one open of the character device.
#[pin_data]
pub(crate) struct File {
    device: ARef<Device>,
    attached: SetOnce<Attached>,
    /// Held while the file gets its context.
    #[pin]
    attaching: Mutex<()>,
    next: NextId,
    /// For handles that move to other files.
    door: SetOnce<Arc<Door>>,
    events: Arc<Family>,
}

/// The context of a File, its own or another's.
struct Attached {
    context: Holder,
    /// All, or those of the object fd that it was attached by.
    rights: Rights,
}

/// A [`File`] with the C structure that drivers see.
pub(crate) type OpenFile = FileBox<File>;

/// What a handle holds.
pub(crate) struct Entry {
    pub(crate) owner: AnyOwner,
    pub(crate) rights: Rights,
    /// To the object's events, under this holder's user handle; none for kinds without events.
    pub(crate) subscribed: Option<Subscribed>,
    /// To the news that the object is revoked, where that can be.
    pub(crate) revocation: Option<Subscribed>,
}

/// A handle that somebody uses: it cannot be destroyed meanwhile.
pub(crate) struct Found<'a> {
    handle: SharedHandle<Entry>,
    live: &'a Live<'a>,
}

impl Found<'_> {
    /// The object of the handle, in use: `EPERM` without `right`, `EIO` if it is destroyed, `EBUSY`
    /// while it is being changed.
    pub(crate) fn lock<K: Kind>(&self, right: Right) -> Result<InUse<'_, K>> {
        let entry = self.entry()?;
        entry.rights.require(right)?;
        K::unwrap(&entry.owner).ok_or(EINVAL)?.lock(self.live)
    }

    /// As [`Owner::remake`], with the right to modify.
    pub(crate) fn remake<K: Kind, R>(&self, f: impl FnOnce(&mut K) -> Result<R>) -> Result<R> {
        let entry = self.entry()?;
        entry.rights.require(Right::Modify)?;
        let owner = K::unwrap(&entry.owner).ok_or(EINVAL)?;
        owner.remake(self.live, f)
    }

    pub(crate) fn entry(&self) -> Result<&Entry> {
        self.handle.as_ref().ok_or(ENOENT)
    }
}

impl File {
    pub(crate) fn new(device: &Device) -> impl PinInit<Self, Error> {
        let device = ARef::from(device);
        try_pin_init!(Self {
            attached: SetOnce::new(),
            attaching <- new_mutex!(()),
            next: NextId::new(),
            door: SetOnce::new(),
            // Last, as nobody tells it if anything else fails.
            events: EventFiles::new(&device)?,
            device,
        }? Error)
    }

    pub(crate) fn device(&self) -> &Device {
        &self.device
    }

    /// The context; `EINVAL` before there is one.
    pub(crate) fn context(&self) -> Result<&Arc<Context>> {
        Ok(self.holder()?.0.context())
    }

    /// This file as a holder of its context, and what it may do with that; `EINVAL` before there is
    /// one.
    pub(crate) fn holder(&self) -> Result<(&Holder, Rights)> {
        let attached = self.attached.as_ref().ok_or(EINVAL)?;
        Ok((&attached.context, attached.rights))
    }

    /// The event files that were made on this file.
    pub(crate) fn events(&self) -> &Arc<Family> {
        &self.events
    }
}

impl OpenFile {
    /// Gives the file a context of its own. `EINVAL` if it has one.
    pub(crate) fn make_context(
        &self,
        live: &Live<'_>,
        ucaps: &mut [i32],
        bundle: &mut Bundle<'_>,
    ) -> Result {
        self.set_context(Rights::all(), || {
            Context::make(&self.data().device, live, ucaps, bundle)
        })
    }

    /// Attaches the file to a context of its device. `EINVAL` if it has one, `EIO` if the driver's
    /// context is gone.
    pub(crate) fn attach(&self, live: &Live<'_>, context: &Holder, rights: Rights) -> Result {
        self.set_context(rights, || {
            context.lock(live)?;
            Ok(context.clone())
        })
    }

    fn set_context(&self, rights: Rights, get: impl FnOnce() -> Result<Holder>) -> Result {
        let file = self.data();
        let _attaching = file.attaching.lock();
        if file.attached.as_ref().is_some() {
            return Err(EINVAL);
        }
        let context = get()?;
        self.ufile().adopt_ucontext(context.home());
        // Nobody else gets here, so this is the first.
        file.attached.populate(Attached { context, rights });
        Ok(())
    }

    /// An id for a new handle, not yet visible.
    pub(crate) fn reserve(&self) -> Result<Reservation<'_, Entry>> {
        Reservation::new(self.ufile(), &self.data().next)
    }

    /// Finds a handle of kind `K`: `ENOENT` if there is none with this id, `EINVAL` if it is of
    /// another kind, `EBUSY` while it is being destroyed.
    pub(crate) fn find<'a, K: Kind>(&self, live: &'a Live<'a>, id: i64) -> Result<Found<'a>> {
        let handle = handle::find(self.ufile(), id, K::api())?.share()?;
        Ok(Found { handle, live })
    }

    /// As [`Self::find`], of the kind with an id of `enum uverbs_default_objects`.
    pub(crate) fn find_any<'a>(&self, live: &'a Live<'a>, kind: u32, id: i64) -> Result<Found<'a>> {
        let api = any::api_of(kind).ok_or(EOPNOTSUPP)?;
        let handle = handle::find(self.ufile(), id, api)?.share()?;
        Ok(Found { handle, live })
    }

    /// The ids of all handles of a kind of `enum uverbs_default_objects`, the oldest first.
    pub(crate) fn handles(&self, kind: u16) -> Result<KVec<u32>> {
        any::api_of(u32::from(kind)).map_or(Ok(KVec::new()), |api| handle::ids(self.ufile(), api))
    }

    /// Gives a handle up. If it was the last owner the object is destroyed, and where the driver
    /// refuses that, nothing has changed. `EBUSY` while the handle is in use.
    ///
    /// Tells which of the object's events were read by this holder; the others are gone.
    pub(crate) fn destroy<K: Kind>(&self, id: i64) -> Result<Reported> {
        let (mut entry, handle) = handle::find::<Entry>(self.ufile(), id, K::api())?.exclude()?;
        match entry.owner.give_up() {
            Ok(()) => {
                handle.erase(self.ufile());
                Ok(entry
                    .subscribed
                    .map_or(Reported::default(), Subscribed::end))
            }
            Err((owner, e)) => {
                entry.owner = owner;
                handle.restore(entry);
                Err(e)
            }
        }
    }

    /// Gives a handle up, whatever the hardware says.
    pub(crate) fn release(&self, kind: u32, id: i64) -> Result {
        let api = any::api_of(kind).ok_or(EOPNOTSUPP)?;
        let (entry, handle) = handle::find::<Entry>(self.ufile(), id, api)?.exclude()?;
        handle.erase(self.ufile());
        drop(entry);
        Ok(())
    }

    /// What an object fd knows of the handle that it moves elsewhere.
    pub(crate) fn departure(&self, id: u32) -> Result<Arc<Departure>> {
        let door = &self.data().door;
        if door.as_ref().is_none() {
            // If another call comes first, its door does as well.
            door.populate(Door::new(self.ufile())?);
        }
        Departure::new(door.as_ref().ok_or(EBUSY)?.clone(), id)
    }

    /// The end of the file: nobody uses it any more.
    pub(crate) fn close(&self) {
        if let Some(door) = self.data().door.as_ref() {
            door.shut();
        }
        handle::drain::<Entry>(self.ufile(), any::api_of, drop);
        self.data().events.close();
        self.ufile().disown_ucontext();
    }
}
