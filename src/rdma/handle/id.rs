// SPDX-License-Identifier: GPL-2.0

//! The ids of handles: places in a table, `ib_uverbs_file::idr`.

use crate::{
    bindings,
    rdma::ufile::UFile, //
};
use core::{
    cell::UnsafeCell,
    ffi::c_void,
    mem::offset_of,
    ptr, //
};
use kernel::{
    error::to_result,
    prelude::*, //
};

pub(super) fn xa(table: &UFile) -> *mut bindings::xarray {
    // SAFETY: In bounds.
    unsafe { &raw mut (*table.as_raw()).idr }
}

pub(super) fn erase_id(table: &UFile, id: u32) {
    // SAFETY: The table is initialised.
    unsafe { bindings::xa_erase(xa(table), id as usize) };
}

/// Which id comes next, so that an id is not used again soon.
pub(crate) struct NextId(UnsafeCell<Next>);

struct Next {
    /// Where the search for a free id begins.
    search: u32,
    /// An id that nobody gets, among those that come next. So the node of the table that they are taken
    /// from does not come and go with each handle.
    anchor: Option<u32>,
}

/// How many ids are in a node of the table.
const NODE: u32 = ((offset_of!(bindings::xa_node, __bindgen_anon_2)
    - offset_of!(bindings::xa_node, slots))
    / size_of::<*mut c_void>()) as u32;

// SAFETY: Accessed under the table's lock only, in `take`.
unsafe impl Send for NextId {}
// SAFETY: Accessed under the table's lock only, in `take`.
unsafe impl Sync for NextId {}

impl NextId {
    pub(crate) const fn new() -> Self {
        Self(UnsafeCell::new(Next {
            search: 0,
            anchor: None,
        }))
    }

    /// Puts `entry` into a free place of `table`, whose own this must be.
    ///
    /// # Safety
    ///
    /// `entry` must be what is in such tables, and valid until it is erased.
    pub(super) unsafe fn take(&self, table: &UFile, entry: *mut c_void) -> Result<u32> {
        let _lock = TableLock::new(table);
        // SAFETY: By this function's contract. Locked; the lock may be dropped for memory, but is held
        // again on return.
        let id = unsafe { allocate(table, entry, &raw mut (*self.0.get()).search) }?;
        // SAFETY: Locked.
        let anchor = unsafe { (*self.0.get()).anchor };
        if anchor.is_none_or(|anchor| anchor / NODE != id / NODE) {
            // SAFETY: Locked, and by this function's contract.
            unsafe { self.move_anchor(table) };
        }
        Ok(id)
    }

    /// Moves the anchor to where the next ids are. Without memory it stays, which costs nothing but
    /// nodes that come and go.
    ///
    /// # Safety
    ///
    /// The table must be locked, and be the one whose this is.
    unsafe fn move_anchor(&self, table: &UFile) {
        let next = self.0.get();
        // SAFETY: By this function's contract; an empty entry is valid.
        let Ok(new) = (unsafe { allocate(table, ptr::null_mut(), &raw mut (*next).search) }) else {
            return;
        };
        // SAFETY: By this function's contract.
        let old = unsafe { (*next).anchor.replace(new) };
        if let Some(old) = old {
            // SAFETY: By this function's contract.
            unsafe { bindings::__xa_erase(xa(table), old as usize) };
        }
    }
}

/// Puts an entry into a free place; an empty one keeps it from others, and is not found there.
///
/// # Safety
///
/// The table must be locked, and `search` be guarded by that. For `entry` as [`NextId::take`].
unsafe fn allocate(table: &UFile, entry: *mut c_void, search: *mut u32) -> Result<u32> {
    let mut id = 0;
    let limit = bindings::xa_limit {
        min: 0,
        max: u32::MAX,
    };
    // SAFETY: By this function's contract.
    let found = unsafe {
        bindings::__xa_alloc_cyclic(
            xa(table),
            &mut id,
            entry,
            limit,
            search,
            bindings::GFP_KERNEL,
        )
    };
    // 1 tells that the search has wrapped round.
    to_result(found.min(0))?;
    Ok(id)
}

/// The lock of a table.
struct TableLock<'a>(&'a UFile);

impl<'a> TableLock<'a> {
    fn new(table: &'a UFile) -> Self {
        // SAFETY: The table is initialised.
        unsafe { bindings::xa_lock(xa(table)) };
        Self(table)
    }
}

impl Drop for TableLock<'_> {
    fn drop(&mut self) {
        // SAFETY: Locked in `new`.
        unsafe { bindings::xa_unlock(xa(self.0)) };
    }
}
