// SPDX-License-Identifier: GPL-2.0

//! A model of an mlx5-class HCA (ConnectX-5) with one InfiniBand port.
//!
//! It is made from what the drivers `mlx5_core`, `mlx5_ib` and the provider
//! libmlx5 do and expect, with the rules of the InfiniBand architecture where
//! these leave something open. It shows that software keeps to its side of the
//! interface; it says nothing about silicon.
//!
//! - `ifc`: fields, at the places that the kernel's own header has for them
//! - `command`: the command queue, and a module for each family of commands
//! - `table`: what commands make, and who may refer to it
//! - `ring`, `event`, `cq`: how the guest hears of something
//! - `memory`: memory keys, their rights and pages
//! - `qp`, `srq`, `wqe`: what the guest wants done
//! - `send`, `receive`, `umr`: doing it; all QPs are on one port, which talks to
//!   itself
//! - `groups`: multicast
//! - `faults`: the control socket
//!
//! Messages move whole. There are no packets, so none is lost: retries come
//! from QPs that are not there, RNR retries from receives that are not.

#![forbid(unsafe_code)]

mod command;
mod cq;
mod event;
mod faults;
mod groups;
mod hca;
mod ifc;
mod memory;
mod qp;
mod receive;
mod ring;
mod send;
mod srq;
mod table;
mod umr;
mod wqe;

pub use hca::{identity, Hca};
