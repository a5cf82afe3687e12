// SPDX-License-Identifier: GPL-2.0

//! Resource tracking: what `rdma resource show` lists.

use crate::bindings;
use core::ptr;

/// Starts tracking for the calling process: the entry knows its task, but is not listed yet.
///
/// # Safety
///
/// `res` must be the zeroed entry of an object of this type, and valid until it is deleted.
pub(super) unsafe fn start(
    res: *mut bindings::rdma_restrack_entry,
    kind: bindings::rdma_restrack_type,
) {
    // SAFETY: By this function's contract.
    unsafe { bindings::rdma_restrack_new(res, kind) };
    // SAFETY: By this function's contract; no name stands for the calling task.
    unsafe { bindings::rdma_restrack_set_name(res, ptr::null()) };
}
