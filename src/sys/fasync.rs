// SPDX-License-Identifier: GPL-2.0

//! `SIGIO` for those who asked for it with `O_ASYNC`.

use crate::{
    bindings,
    sys::num::Signed, //
};
use core::ptr;
use kernel::{
    error::to_result,
    fs::File,
    prelude::*,
    types::Opaque, //
};

/// The files whose owners get a signal.
///
/// # Invariants
///
/// The pointer is changed by `fasync_helper()` only. The VFS takes a file off the list before it
/// releases it, so that the list is empty once all files are gone whose `fasync` comes here.
pub(crate) struct Fasync(Opaque<*mut bindings::fasync_struct>);

// SAFETY: `fasync_helper()` and `kill_fasync()` lock what they change.
unsafe impl Send for Fasync {}
// SAFETY: `fasync_helper()` and `kill_fasync()` lock what they change.
unsafe impl Sync for Fasync {}

impl Fasync {
    pub(crate) const fn new() -> Self {
        // INVARIANT: No file is on the list.
        Self(Opaque::new(ptr::null_mut()))
    }

    /// For the `fasync` of a file. Tells whether anything changed, as that must.
    pub(crate) fn set(&self, fd: c_int, file: &File, on: c_int) -> Result<c_int> {
        // SAFETY: The file is valid, and by the type's invariant so is the list.
        let changed = unsafe { bindings::fasync_helper(fd, file.as_ptr(), on, self.0.get()) };
        to_result(changed.min(0))?;
        Ok(changed)
    }

    /// Tells that there is something to read. In any context.
    pub(crate) fn readable(&self) {
        let (signal, band) = (bindings::SIGIO.to_signed(), bindings::POLL_IN.to_signed());
        // SAFETY: By the type's invariant.
        unsafe { bindings::kill_fasync(self.0.get(), signal, band) };
    }
}
