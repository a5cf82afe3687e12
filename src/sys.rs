// SPDX-License-Identifier: GPL-2.0

//! What the `kernel` crate lacks: small wrappers of single C facilities, each with its contract.

pub(crate) mod chrdev;
pub(crate) mod deferred;
pub(crate) mod fasync;
pub(crate) mod file;
pub(crate) mod fs;
pub(crate) mod inode;
pub(crate) mod lineup;
pub(crate) mod mem;
pub(crate) mod net;
pub(crate) mod num;
pub(crate) mod service;
pub(crate) mod uselock;
pub(crate) mod user;
pub(crate) mod user_locked;
pub(crate) mod work;
