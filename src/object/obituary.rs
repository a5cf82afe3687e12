// SPDX-License-Identifier: GPL-2.0

//! Who is told when something that is shared has gone.

use core::mem;
use kernel::{
    new_mutex,
    prelude::*,
    sync::{
        atomic::{
            Atomic,
            Full, //
        },
        Arc,
        Mutex, //
    },
};

/// Somebody who wants to know when an object has gone.
pub(crate) trait Obituary: Send + Sync {
    /// Called once, in process context, with no lock of this module held.
    fn gone(&self);

    /// Whether the call would do nothing any more, so that this need not be kept.
    fn is_moot(&self) -> bool;
}

/// All who want to know of one object. The lock is taken last, and nobody is called under it.
#[pin_data]
pub(super) struct Watchers {
    /// Whether there may be any, so that those that nobody watches go without the lock.
    any: Atomic<bool>,
    #[pin]
    all: Mutex<KVVec<Arc<dyn Obituary>>>,
}

impl Watchers {
    pub(super) fn new() -> impl PinInit<Self> {
        pin_init!(Self {
            any: Atomic::new(false),
            all <- new_mutex!(KVVec::new()),
        })
    }

    /// Whoever adds one looks afterwards whether the object has gone meanwhile.
    pub(super) fn add(&self, watcher: Arc<dyn Obituary>) -> Result {
        self.forget_moot()?;
        self.all.lock().push(watcher, GFP_KERNEL)?;
        // Before the caller looks: whoever makes the object go sees this, or the caller sees that it
        // has gone.
        self.any.xchg(true, Full);
        Ok(())
    }

    /// Whoever publishes and unlinks an object again and again leaves as many watchers. They are
    /// asked each time the list is full, and not under its lock; should the object go meanwhile, our
    /// caller sees that.
    fn forget_moot(&self) -> Result {
        let mut watchers = {
            let mut watchers = self.all.lock();
            if watchers.len() < watchers.capacity() {
                return Ok(());
            }
            mem::take(&mut *watchers)
        };
        watchers.retain(|watcher| !watcher.is_moot());
        let mut now = self.all.lock();
        // Mostly there are none.
        watchers.reserve(now.len(), GFP_KERNEL)?;
        for watcher in mem::replace(&mut *now, watchers) {
            now.push(watcher, GFP_KERNEL)?;
        }
        Ok(())
    }

    /// The object has gone.
    pub(super) fn tell(&self) {
        if !self.any.xchg(false, Full) {
            return;
        }
        let watchers = mem::take(&mut *self.all.lock());
        for watcher in watchers {
            watcher.gone();
        }
    }
}
