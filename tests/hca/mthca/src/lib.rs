// SPDX-License-Identifier: GPL-2.0

//! A model of an mthca-class HCA: an MT25208 in the mode in which it takes the
//! place of an MT23108 ("Tavor"), with its memory hidden.
//!
//! It is made from what the driver `ib_mthca` and the provider libmthca do and
//! expect, with the rules of the InfiniBand architecture where these leave
//! something open. It shows that software keeps to its side of the interface;
//! it says nothing about silicon.
//!
//! - `command`: commands, and each one's effect
//! - `memory`: regions, their rights and pages
//! - `event`, `cq`: how the guest hears of something
//! - `qp`, `srq`, `wqe`: what the guest wants done
//! - `send`, `receive`: doing it; all QPs are on one port, which talks to itself
//! - `groups`, `mad`: multicast and management
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
mod limits;
mod mad;
mod memory;
mod qp;
mod receive;
mod send;
mod srq;
mod wqe;

pub use hca::{identity, Hca};
