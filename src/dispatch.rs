// SPDX-License-Identifier: GPL-2.0

//! From a system call to a verb: the TLV format of `RDMA_VERBS_IOCTL`, and both forms of `write()`.

#![forbid(unsafe_code)]

pub(crate) mod call;
pub(crate) mod command;
pub(crate) mod ioctl;
pub(crate) mod method;
pub(crate) mod write;

pub(crate) use self::{
    call::Call,
    command::Command,
    method::{
        Attr,
        Method, //
    }, //
};
