// SPDX-License-Identifier: GPL-2.0

//! A driver's user context, owned by the Files that are attached to it and the Objects in it.

use super::{
    device::Device,
    registry::{
        Mortal,
        Place,
        Room, //
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
    sys::uselock::{
        SharedSome,
        UseLock, //
    },
};
use kernel::{
    prelude::*,
    sync::{
        aref::ARef,
        Arc, //
    },
};

/// A context. Whoever has an `Arc` of it owns it; the last to go gives the driver's context back.
pub(crate) struct Context {
    core: Arc<Core>,
}

/// What is left to a context whose owners are gone, or whose device is.
#[pin_data]
struct Core {
    device: ARef<Device>,
    home: OwnedFile<Home>,
    /// None once the driver has it back.
    ucontext: UseLock<Option<Ucontext>>,
    place: Place,
}

impl Context {
    /// Asks the driver for a context, with the call's udata.
    pub(crate) fn new(
        device: &Device,
        live: &Live<'_>,
        ucaps: &mut [i32],
        bundle: &mut Bundle<'_>,
    ) -> Result<Arc<Self>> {
        let home = FileBox::open(device, live, Home::new())?;
        let ufile = ARef::from(home.ufile());
        let room = Room::new()?;
        let place = device.contexts().next_place();
        let core = Arc::pin_init(
            pin_init!(Core {
                device: ARef::from(device),
                home,
                ucontext: UseLock::new(None),
                place,
            }),
            GFP_KERNEL,
        )?;
        // From here on dropping gives back what there is.
        let this = Arc::new(Self { core: core.clone() }, GFP_KERNEL)?;
        *core.ucontext.try_exclusive()? = Some(Ucontext::alloc(live, ufile, ucaps, bundle)?);
        device.contexts().enter(room, place, core);
        Ok(this)
    }

    pub(crate) fn device(&self) -> &Device {
        &self.core.device
    }

    /// The driver's context; `EIO` once it is gone. Only while the device lives, as with
    /// [`Owner::lock`](super::Owner::lock).
    pub(crate) fn lock<'a>(&'a self, _live: &'a Live<'_>) -> Result<SharedSome<'a, Ucontext>> {
        self.core.ucontext.try_shared()?.some().ok_or(EIO)
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

impl Drop for Context {
    fn drop(&mut self) {
        // Without a device its removal does this, or has done it.
        if let Ok(live) = self.core.device.live() {
            self.core.dealloc(&live, false);
            self.core.device.contexts().leave(self.core.place);
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
    }

    fn zap(&self) {
        mmap::zap_all(self.home.ufile());
    }
}
