// SPDX-License-Identifier: GPL-2.0

//! What must end when something else does: the Objects and Contexts of a Device when that goes, and
//! the event files of a File when that is closed.
//!
//! They end newest first, so that a child ends before what it was made from.

use crate::rdma::device::Live;
use kernel::{
    new_mutex,
    prelude::*,
    rbtree::{
        RBTree,
        RBTreeNodeReservation, //
    },
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        Arc,
        Mutex, //
    },
};

/// Something that ends with its device.
pub(crate) trait Mortal: Send + Sync {
    /// Destroys what is left of it in hardware. Nobody else has access to the device.
    fn kill(&self, live: &Live<'_>);

    /// Takes back what is mapped of it into user space.
    fn zap(&self) {}
}

/// Those that live, in the order of their making. The lock is taken last, and nothing is called
/// under it.
#[pin_data]
pub(crate) struct Registry<T: ?Sized = dyn Mortal> {
    #[pin]
    living: Mutex<Living<T>>,
}

struct Living<T: ?Sized> {
    next: u64,
    all: RBTree<u64, Arc<T>>,
}

/// Room for one more.
pub(crate) struct Room<T: ?Sized = dyn Mortal>(RBTreeNodeReservation<u64, Arc<T>>);

impl<T: ?Sized> Room<T> {
    pub(crate) fn new() -> Result<Self> {
        Ok(Self(RBTreeNodeReservation::new(GFP_KERNEL)?))
    }
}

/// A place in a registry.
#[derive(Clone, Copy)]
pub(crate) struct Place(u64);

/// The place of one that [`Registry::renew`] may move. One task at a time does that, and nobody
/// makes it leave meanwhile.
pub(crate) struct MovingPlace(Atomic<u64>);

impl MovingPlace {
    pub(crate) fn new(place: Place) -> Self {
        Self(Atomic::new(place.0))
    }

    pub(crate) fn get(&self) -> Place {
        Place(self.0.load(Relaxed))
    }
}

impl<T: ?Sized> Registry<T> {
    pub(crate) fn new() -> impl PinInit<Self> {
        pin_init!(Self {
            living <- new_mutex!(Living { next: 0, all: RBTree::new() }),
        })
    }

    /// The place that the next one to enter gets, if it is passed to [`Registry::enter`].
    pub(crate) fn next_place(&self) -> Place {
        let mut living = self.living.lock();
        let place = living.next;
        // 2^64 objects take centuries.
        living.next = living.next.wrapping_add(1);
        Place(place)
    }

    pub(crate) fn enter(&self, room: Room<T>, place: Place, one: Arc<T>) {
        let node = room.0.into_node(place.0, one);
        self.living.lock().all.insert(node);
    }

    /// Makes one the newest of all.
    pub(crate) fn renew(&self, room: Room<T>, place: &MovingPlace) {
        let newest = self.next_place();
        let old = place.get();
        let mut living = self.living.lock();
        let Some(one) = living.all.get(&old.0).cloned() else {
            return;
        };
        let node = living.all.remove_node(&old.0);
        living.all.insert(room.0.into_node(newest.0, one));
        place.0.store(newest.0, Relaxed);
        drop(living);
        drop(node);
    }

    /// Leaves; the memory of the entry is freed here, not under the lock.
    pub(crate) fn leave(&self, place: Place) {
        let node = self.living.lock().all.remove_node(&place.0);
        drop(node);
    }

    /// Takes the newest out.
    pub(crate) fn take_newest(&self) -> Option<Arc<T>> {
        let mut living = self.living.lock();
        let cursor = living.all.cursor_back_mut()?;
        let (_, node) = cursor.remove_current();
        drop(living);
        Some(node.to_key_value().1)
    }
}

impl Registry {
    /// Ends all, newest first.
    pub(crate) fn kill_all(&self, live: &Live<'_>) {
        while let Some(one) = self.take_newest() {
            one.kill(live);
        }
    }

    /// Takes back what is mapped of any.
    pub(crate) fn zap_all(&self) {
        let mut from = 0;
        while let Some((key, one)) = self.first_from(from) {
            one.zap();
            from = key.wrapping_add(1);
        }
    }

    fn first_from(&self, key: u64) -> Option<(u64, Arc<dyn Mortal>)> {
        let living = self.living.lock();
        let cursor = living.all.cursor_lower_bound(&key)?;
        let (key, one) = cursor.current();
        Some((*key, one.clone()))
    }
}
