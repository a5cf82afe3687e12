// SPDX-License-Identifier: GPL-2.0

//! A service of the module that callbacks without an argument of their own reach.

use core::ptr;
use kernel::{
    prelude::*,
    sync::{
        atomic::{
            Acquire,
            Atomic,
            Full,
            Release, //
        },
        rcu,
        Arc,
        ArcBorrow, //
    },
};

/// A place in a `static` for at most one `T`.
///
/// # Invariants
///
/// The pointer is null or that of an [`Installed`], which keeps its `T` for a grace period after
/// it has made the pointer null.
pub(crate) struct Service<T>(Atomic<*mut T>);

impl<T: Send + Sync + 'static> Service<T> {
    pub(crate) const fn new() -> Self {
        // INVARIANT: Null.
        Self(Atomic::new(ptr::null_mut()))
    }

    /// What is installed now.
    pub(crate) fn get(&self) -> Option<Arc<T>> {
        let _guard = rcu::read_lock();
        let service = self.0.load(Acquire);
        if service.is_null() {
            return None;
        }
        // SAFETY: Of an `Installed`, by the type's invariant, which keeps its reference at least
        // until `_guard` goes.
        let service = unsafe { ArcBorrow::from_raw(service) };
        Some(service.into())
    }

    /// Lets everybody reach `service` until the result goes. `EBUSY` if there is one already.
    pub(crate) fn install(&'static self, service: Arc<T>) -> Result<Installed<T>> {
        let new = Arc::as_ptr(&service).cast_mut();
        // INVARIANT: Of the `Installed` that is made next.
        self.0
            .cmpxchg(ptr::null_mut(), new, Full)
            .map_err(|_| EBUSY)?;
        Ok(Installed {
            place: self,
            _service: service,
        })
    }
}

/// A service that is installed.
pub(crate) struct Installed<T: Send + Sync + 'static> {
    place: &'static Service<T>,
    _service: Arc<T>,
}

impl<T: Send + Sync + 'static> Drop for Installed<T> {
    fn drop(&mut self) {
        // INVARIANT: Null, and `_service` goes only after the grace period.
        self.place.0.store(ptr::null_mut(), Release);
        rcu::synchronize_rcu();
    }
}
