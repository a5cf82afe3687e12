// SPDX-License-Identifier: GPL-2.0

//! A try-only lock: calls that use a thing share it, calls that change or end it exclude them, and
//! nobody ever waits.

use core::{
    cell::UnsafeCell,
    ops::{
        Deref,
        DerefMut, //
    },
    ptr::NonNull,
};
use kernel::{
    prelude::*,
    sync::atomic::{
        Acquire,
        Atomic,
        Relaxed,
        Release, //
    },
};

/// The value of `users` while somebody has exclusive access.
const EXCLUSIVE: i32 = -1;

/// Data that many may use at once, or one may change.
///
/// This is the rule of the verbs ABI for concurrent calls: the loser of a race gets `EBUSY`.
///
/// # Invariants
///
/// `users` is the number of [`Shared`] guards, or [`EXCLUSIVE`] while there is an [`Exclusive`]
/// one; never both.
pub(crate) struct UseLock<T> {
    users: Atomic<i32>,
    data: UnsafeCell<T>,
}

// SAFETY: The lock gives away `T` and `&mut T`, to one thread at a time.
unsafe impl<T: Send> Send for UseLock<T> {}
// SAFETY: The lock gives `&T` to several threads, and `&mut T` to one at a time.
unsafe impl<T: Send + Sync> Sync for UseLock<T> {}

impl<T> UseLock<T> {
    pub(crate) const fn new(data: T) -> Self {
        // INVARIANT: There are no guards yet.
        Self {
            users: Atomic::new(0),
            data: UnsafeCell::new(data),
        }
    }

    /// Shares the data; `EBUSY` while somebody excludes others.
    pub(crate) fn try_shared(&self) -> Result<Shared<'_, T>> {
        let mut users = self.users.load(Relaxed);
        loop {
            if users == EXCLUSIVE {
                return Err(EBUSY);
            }
            let more = users.checked_add(1).ok_or(EBUSY)?;
            match self.users.cmpxchg(users, more, Acquire) {
                // INVARIANT: Counted just now.
                Ok(_) => return Ok(Shared { lock: self }),
                Err(now) => users = now,
            }
        }
    }

    /// Takes the data for oneself; `EBUSY` while anybody uses it.
    pub(crate) fn try_exclusive(&self) -> Result<Exclusive<'_, T>> {
        match self.users.cmpxchg(0, EXCLUSIVE, Acquire) {
            // INVARIANT: There was no guard, and from here on no other can be made.
            Ok(_) => Ok(Exclusive { lock: self }),
            Err(_) => Err(EBUSY),
        }
    }
}

/// Shared access.
pub(crate) struct Shared<'a, T> {
    lock: &'a UseLock<T>,
}

impl<T> Deref for Shared<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: By the invariant of `UseLock` nobody writes while this guard exists.
        unsafe { &*self.lock.data.get() }
    }
}

impl<T> Drop for Shared<'_, T> {
    fn drop(&mut self) {
        self.lock.users.fetch_sub(1, Release);
    }
}

impl<'a, T> Shared<'a, Option<T>> {
    /// Access to what is in the option; none if there is nothing.
    pub(crate) fn some(self) -> Option<SharedSome<'a, T>> {
        let inner = NonNull::from((*self).as_ref()?);
        // INVARIANT: Inside the data of `self`, which nobody writes while it exists.
        Some(SharedSome {
            inner,
            _shared: self,
        })
    }
}

/// Shared access to what is in an option.
///
/// # Invariants
///
/// `inner` points into the data of `_shared`.
pub(crate) struct SharedSome<'a, T> {
    inner: NonNull<T>,
    _shared: Shared<'a, Option<T>>,
}

impl<T> Deref for SharedSome<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: By the type's invariant.
        unsafe { self.inner.as_ref() }
    }
}

/// Exclusive access.
pub(crate) struct Exclusive<'a, T> {
    lock: &'a UseLock<T>,
}

impl<T> Deref for Exclusive<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: By the invariant of `UseLock` this guard is the only one.
        unsafe { &*self.lock.data.get() }
    }
}

impl<T> DerefMut for Exclusive<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: By the invariant of `UseLock` this guard is the only one.
        unsafe { &mut *self.lock.data.get() }
    }
}

impl<T> Drop for Exclusive<'_, T> {
    fn drop(&mut self) {
        self.lock.users.store(0, Release);
    }
}

#[kunit_tests(shverbs_uselock)]
mod tests {
    use super::*;

    #[test]
    fn shared_excludes_exclusive() {
        let lock = UseLock::new(1);
        let a = lock.try_shared().unwrap();
        let b = lock.try_shared().unwrap();
        assert_eq!(lock.try_exclusive().err(), Some(EBUSY));
        drop(a);
        assert_eq!(lock.try_exclusive().err(), Some(EBUSY));
        drop(b);
        assert!(lock.try_exclusive().is_ok());
    }

    #[test]
    fn exclusive_excludes_all() {
        let lock = UseLock::new(1);
        let mut a = lock.try_exclusive().unwrap();
        *a = 2;
        assert_eq!(lock.try_shared().err(), Some(EBUSY));
        assert_eq!(lock.try_exclusive().err(), Some(EBUSY));
        drop(a);
        assert_eq!(*lock.try_shared().unwrap(), 2);
    }
}
