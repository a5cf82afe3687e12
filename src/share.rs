// SPDX-License-Identifier: GPL-2.0

//! Sharing: `include/uapi/rdma/shverbs.h`.

#![forbid(unsafe_code)]

mod attach;
mod export;
mod held;
mod holders;
mod import;
mod info;
mod publish;
mod release;
mod revoke;

use crate::dispatch::Method;

pub(crate) const METHODS: &[Method] = &[
    info::METHOD,
    export::METHOD,
    import::METHOD,
    publish::METHOD,
    release::METHOD,
    attach::METHOD,
    holders::METHOD,
    revoke::METHOD,
];
