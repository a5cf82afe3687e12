// SPDX-License-Identifier: GPL-2.0

//! `ib_core`'s objects, and the C structures of `ib_uverbs` that drivers see, as Rust owners.
//!
//! Everything here that stands for hardware is made and destroyed with a [`Live`](device::Live) at
//! hand, the proof that the device is there; an owner that is dropped without it is leaked, as its
//! memory may still be in use.

pub(crate) mod ah;
pub(crate) mod bundle;
pub(crate) mod class;
pub(crate) mod client;
pub(crate) mod counters;
pub(crate) mod cq;
pub(crate) mod device;
pub(crate) mod dm;
pub(crate) mod face;
pub(crate) mod fops;
pub(crate) mod handle;
pub(crate) mod mmap;
pub(crate) mod mr;
pub(crate) mod mw;
pub(crate) mod pd;
pub(crate) mod port;
pub(crate) mod qp;
pub(crate) mod query;
pub(crate) mod restrack;
pub(crate) mod sink;
pub(crate) mod srq;
pub(crate) mod ucontext;
pub(crate) mod ufile;
pub(crate) mod uobject;
pub(crate) mod watch;
pub(crate) mod work_request;
pub(crate) mod xrcd;

/// What became of an attempt to destroy hardware: on failure the owner comes back, unchanged, with
/// the reason.
pub(crate) type Destroyed<T> = core::result::Result<(), (T, kernel::error::Error)>;
