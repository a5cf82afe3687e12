// SPDX-License-Identifier: GPL-2.0

//! Waiting for work items, which `kernel::workqueue` cannot.

use crate::bindings;
use core::ptr;
use kernel::workqueue::Work;

/// Waits until `work` is neither queued nor running. Whoever does not want that to be out of date
/// at once must have seen to it that nobody queues it again.
pub(crate) fn flush<T: ?Sized, const ID: u64>(work: &Work<T, ID>) {
    // SAFETY: A reference is not dangling.
    let work = unsafe { Work::raw_get(ptr::from_ref(work)) };
    // SAFETY: A `Work` that can be referred to is initialised.
    unsafe { bindings::flush_work(work) };
}
