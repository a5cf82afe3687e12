// SPDX-License-Identifier: GPL-2.0

//! Waiting for work items, which `kernel::workqueue` cannot.

use crate::bindings;
use core::ptr;
use kernel::{
    prelude::*,
    sync::{
        Arc,
        Completion, //
    },
    workqueue::{
        self,
        Work, //
    },
};

/// Waits until `work` is neither queued nor running. Whoever does not want that to be out of date
/// at once must have seen to it that nobody queues it again.
pub(crate) fn flush<T: ?Sized, const ID: u64>(work: &Work<T, ID>) {
    // SAFETY: A reference is not dangling.
    let work = unsafe { Work::raw_get(ptr::from_ref(work)) };
    // SAFETY: A `Work` that can be referred to is initialised.
    unsafe { bindings::flush_work(work) };
}

/// Runs `f` in a kernel thread, and waits for it.
///
/// The last reference on a `struct file` that a kernel thread drops goes by itself, and not when the
/// thread returns to user space. So this is for what drops files and is followed by a wait for them.
pub(crate) fn in_kernel_thread(f: impl FnOnce() + Send + 'static) -> Result {
    let done = Arc::pin_init(Completion::new(), GFP_KERNEL)?;
    let tell = done.clone();
    workqueue::system_unbound().try_spawn(GFP_KERNEL, move || {
        f();
        tell.complete_all();
    })?;
    done.wait_for_completion();
    Ok(())
}
