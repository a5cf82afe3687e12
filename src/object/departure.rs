// SPDX-License-Identifier: GPL-2.0

//! Handles that move from one File to another.
//!
//! An object fd that was exported to MOVE a handle knows where that is. An import takes it out of the
//! exporter's table, from whichever process, and puts it back if it fails.
//!
//! Lock order: the lock of a [`Door`] is held for single steps on a table, and nothing is called,
//! dropped or copied under it. So a File's close waits for such a step, and never for an import.

use super::{
    any::AnyOwner,
    file::Entry, //
};
use crate::rdma::{
    handle::{
        self,
        ExclusiveHandle, //
    },
    ufile::UFile, //
};
use kernel::{
    new_mutex,
    prelude::*,
    sync::{
        aref::ARef,
        atomic::{
            Acquire,
            Atomic,
            Release, //
        },
        Arc,
        Mutex, //
    },
};

/// The way into a File's table from outside, as long as the File is open.
#[pin_data]
pub(super) struct Door {
    #[pin]
    table: Mutex<Option<ARef<UFile>>>,
}

impl Door {
    pub(super) fn new(table: &UFile) -> Result<Arc<Self>> {
        let table = Some(ARef::from(table));
        Arc::pin_init(
            pin_init!(Self {
                table <- new_mutex!(table),
            }),
            GFP_KERNEL,
        )
    }

    /// Afterwards nobody touches the table from outside.
    pub(super) fn shut(&self) {
        let table = self.table.lock().take();
        drop(table);
    }
}

const READY: u32 = 0;
const LEAVING: u32 = 1;
const GONE: u32 = 2;

/// A handle that is to move.
pub(crate) struct Departure {
    door: Arc<Door>,
    id: u32,
    state: Atomic<u32>,
}

/// A handle on its way. If this is just dropped, it is where it was.
pub(crate) struct Leaving {
    departure: Arc<Departure>,
    /// None if the exporter has given it up.
    taken: Option<(Entry, ExclusiveHandle<Entry>)>,
}

impl Departure {
    pub(super) fn new(door: Arc<Door>, id: u32) -> Result<Arc<Self>> {
        let this = Self {
            door,
            id,
            state: Atomic::new(READY),
        };
        Ok(Arc::new(this, GFP_KERNEL)?)
    }

    /// Takes the exporter's handle on `owner`, if it still has it, so that nobody can use it.
    ///
    /// `ESTALE` if it has moved, `EBUSY` while somebody uses or moves it.
    pub(crate) fn begin(self: &Arc<Self>, owner: &AnyOwner) -> Result<Leaving> {
        match self.state.cmpxchg(READY, LEAVING, Acquire) {
            Ok(_) => {}
            Err(GONE) => return Err(ESTALE),
            Err(_) => return Err(EBUSY),
        }
        // From here on dropping it undoes what there is.
        let mut leaving = Leaving {
            departure: self.clone(),
            taken: None,
        };
        leaving.taken = self.take(owner)?;
        Ok(leaving)
    }

    fn take(&self, owner: &AnyOwner) -> Result<Option<(Entry, ExclusiveHandle<Entry>)>> {
        let table = self.door.table.lock();
        let Some(table) = &*table else {
            return Ok(None);
        };
        let Ok(handle) = handle::find::<Entry>(table, i64::from(self.id), owner.api()) else {
            return Ok(None);
        };
        match handle.exclude() {
            Ok((entry, handle)) if entry.owner.is_same(owner) => Ok(Some((entry, handle))),
            // Another object's, after so many others that the number came round.
            Ok((entry, handle)) => {
                handle.restore(entry);
                Ok(None)
            }
            Err(ENOENT) => Ok(None),
            Err(e) => Err(e),
        }
    }
}

impl Leaving {
    /// The import has succeeded: the exporter's handle goes.
    pub(crate) fn complete(mut self) {
        self.departure.state.store(GONE, Release);
        let Some((entry, handle)) = self.taken.take() else {
            return;
        };
        {
            let table = self.departure.door.table.lock();
            if let Some(table) = &*table {
                handle.erase(table);
            }
        }
        drop(entry);
    }
}

impl Drop for Leaving {
    fn drop(&mut self) {
        if let Some((entry, handle)) = self.taken.take() {
            let table = self.departure.door.table.lock();
            let left = if table.is_some() {
                handle.restore(entry);
                None
            } else {
                // The exporter is gone, and so is its table.
                Some(entry)
            };
            drop(table);
            drop(left);
        }
        // Unless it has moved.
        let _ = self.departure.state.cmpxchg(LEAVING, READY, Release);
    }
}
