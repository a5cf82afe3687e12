// SPDX-License-Identifier: GPL-2.0

//! Memory that is locked for a user rather than a process, as what outlives processes is:
//! `user_struct::locked_vm` against RLIMIT_MEMLOCK, as io_uring and BPF count it.

use crate::bindings as b;
use core::ptr::NonNull;
use kernel::{
    page::{
        PAGE_SHIFT,
        PAGE_SIZE, //
    },
    prelude::*,
    sync::atomic::{
        Atomic,
        Relaxed, //
    },
};

/// So many pages, charged to a user until this is dropped.
///
/// # Invariants
///
/// `user` has a reference of ours, and `pages` are in its `locked_vm`.
pub(crate) struct UserLocked {
    user: NonNull<b::user_struct>,
    pages: i64,
}

// SAFETY: A user may be changed and put by any task.
unsafe impl Send for UserLocked {}
// SAFETY: There are no methods on `&self`.
unsafe impl Sync for UserLocked {}

impl UserLocked {
    /// Charges `bytes`, at least a page, to the user of the calling task. None is charged for one with
    /// CAP_IPC_LOCK.
    ///
    /// As `mlock(2)`: `ENOMEM` beyond RLIMIT_MEMLOCK, `EPERM` if that is zero.
    pub(crate) fn charge(bytes: u64) -> Result<Option<Self>> {
        if capable_ipc_lock() {
            return Ok(None);
        }
        // SAFETY: Asks about the calling task only.
        let limit = unsafe { b::shverbs_memlock_limit() };
        if limit == 0 {
            return Err(EPERM);
        }
        let pages = bytes.div_ceil(u64::try_from(PAGE_SIZE)?).max(1);
        let pages = i64::try_from(pages).map_err(|_| ENOMEM)?;
        // Without a limit there are more pages than there can be.
        let most = i64::try_from(limit >> PAGE_SHIFT).unwrap_or(i64::MAX);
        // SAFETY: The calling task has a user.
        let user = unsafe { b::shverbs_current_user() };
        // INVARIANT: The reference is ours, and so far nothing is charged.
        let mut this = Self {
            user: NonNull::new(user).ok_or(EPERM)?,
            pages: 0,
        };
        let locked = this.locked();
        let mut now = locked.load(Relaxed);
        loop {
            let more = now.checked_add(pages).filter(|more| *more <= most);
            match locked.cmpxchg(now, more.ok_or(ENOMEM)?, Relaxed) {
                Ok(_) => break,
                Err(other) => now = other,
            }
        }
        // INVARIANT: Charged just now.
        this.pages = pages;
        Ok(Some(this))
    }

    fn locked(&self) -> &Atomic<i64> {
        // SAFETY: By the type's invariant the user is there; the field is accessed atomically only.
        unsafe { Atomic::from_ptr(&raw mut (*self.user.as_ptr()).locked_vm.counter) }
    }
}

impl Drop for UserLocked {
    fn drop(&mut self) {
        self.locked().fetch_sub(self.pages, Relaxed);
        // SAFETY: By the type's invariant.
        unsafe { b::free_uid(self.user.as_ptr()) };
    }
}

/// Whether the caller may lock memory without limit.
fn capable_ipc_lock() -> bool {
    // SAFETY: Asks about the calling task only.
    unsafe { b::capable(b::CAP_IPC_LOCK as kernel::ffi::c_int) }
}
