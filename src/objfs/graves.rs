// SPDX-License-Identifier: GPL-2.0

//! What becomes of the names of dead objects.

use super::tree::ObjFs;
use crate::{
    object::Obituary,
    sys::{
        fs::{
            Dentry,
            Pile, //
        },
        work, //
    },
};
use core::mem;
use kernel::{
    impl_has_work, new_mutex, new_work,
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
    workqueue::{
        self,
        Work,
        WorkItem, //
    },
};

/// The names of a mounted instance that are still to be unlinked.
#[pin_data]
pub(super) struct Graves {
    #[pin]
    state: Mutex<State>,
    #[pin]
    work: Work<Self>,
}

/// Only while the instance is mounted there is a root, and entries on the pile.
struct State {
    root: Option<ARef<Dentry<ObjFs>>>,
    dead: Pile<ObjFs>,
}

impl_has_work! {
    impl HasWork<Self> for Graves { self.work }
}

impl WorkItem for Graves {
    type Pointer = Arc<Self>;

    fn run(this: Arc<Self>) {
        while let Some(name) = this.next() {
            name.discard();
        }
    }
}

impl Graves {
    pub(super) fn new() -> Result<Arc<Self>> {
        let state = State {
            root: None,
            dead: Pile::new(),
        };
        let init = pin_init!(Self {
            state <- new_mutex!(state),
            work <- new_work!("shverbs::Graves"),
        });
        Arc::pin_init(init, GFP_KERNEL)
    }

    /// The instance with this root is mounted.
    pub(super) fn open(&self, root: &Dentry<ObjFs>) {
        self.state.lock().root = Some(root.into());
    }

    /// The instance is unmounted, and all its names go: no entry of it is kept from here on.
    pub(super) fn close(&self) {
        let (root, dead) = {
            let mut state = self.state.lock();
            (
                state.root.take(),
                mem::replace(&mut state.dead, Pile::new()),
            )
        };
        drop((root, dead));
        // Without a root nothing is queued any more.
        work::flush(&self.work);
    }

    /// The name with the inode number `ino` is invisible from now on, and unlinked soon.
    fn bury(self: &Arc<Self>, ino: u64) {
        {
            let mut state = self.state.lock();
            let Some(name) = state.root.as_ref().and_then(|root| root.find(ino)) else {
                return;
            };
            name.invalidate();
            state.dead.push(name);
        }
        // If it is queued already, it has yet to look at the pile.
        let _ = workqueue::system_unbound().enqueue(self.clone());
    }

    /// Whether there still is a name with the inode number `ino`.
    fn has(&self, ino: u64) -> bool {
        let name = self
            .state
            .lock()
            .root
            .as_ref()
            .and_then(|root| root.find(ino));
        name.is_some()
    }

    fn next(&self) -> Option<ARef<Dentry<ObjFs>>> {
        self.state.lock().dead.pop()
    }
}

/// What a name learns of its object's death by. It does not keep the name, nor the instance.
pub(super) struct Tombstone {
    graves: Arc<Graves>,
    ino: Atomic<u64>,
}

impl Tombstone {
    pub(super) fn new(graves: &Arc<Graves>) -> Result<Arc<Self>> {
        let this = Self {
            graves: graves.clone(),
            ino: Atomic::new(0),
        };
        Ok(Arc::new(this, GFP_KERNEL_ACCOUNT)?)
    }

    /// The name's inode number, known once it exists.
    pub(super) fn carve(&self, ino: u64) {
        self.ino.store(ino, Release);
    }
}

impl Obituary for Tombstone {
    fn gone(&self) {
        self.graves.bury(self.ino.load(Acquire));
    }

    fn is_moot(&self) -> bool {
        !self.graves.has(self.ino.load(Acquire))
    }
}
