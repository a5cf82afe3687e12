// SPDX-License-Identifier: GPL-2.0

//! Network namespaces.

use crate::bindings;
use core::ptr::NonNull;
use kernel::{
    sync::aref::AlwaysRefCounted,
    types::Opaque, //
};

/// A network namespace, `struct net`.
///
/// # Invariants
///
/// Counted by `get_net()` and `put_net()`.
#[repr(transparent)]
pub(crate) struct Namespace(Opaque<bindings::net>);

// SAFETY: A namespace may be used and put by any task.
unsafe impl Send for Namespace {}
// SAFETY: There are no methods on `&self` but taking the address.
unsafe impl Sync for Namespace {}

// SAFETY: By the type's invariant.
unsafe impl AlwaysRefCounted for Namespace {
    fn inc_ref(&self) {
        // SAFETY: `self` is a namespace with a reference.
        unsafe { bindings::shverbs_get_net(self.0.get()) };
    }

    unsafe fn dec_ref(obj: NonNull<Self>) {
        // SAFETY: The caller gives a reference up.
        unsafe { bindings::shverbs_put_net(obj.as_ptr().cast()) };
    }
}

impl Namespace {
    /// For what asks C about the namespace.
    pub(crate) fn as_ptr(&self) -> *mut bindings::net {
        self.0.get()
    }
}
