// SPDX-License-Identifier: GPL-2.0

//! Who owns what: Devices, Contexts, Files, Objects and Handles.
//!
//! An Object lives exactly as long as something owns it. Owners are [`Owner`]s, wherever they are
//! kept: in a Handle, an object fd, a strong Name, or a child Object. The last one to go destroys the
//! hardware object, and nothing else does, save for the removal of the device.
//!
//! ```text
//!   File ── Handles ─┐
//!   object fd ───────┼─ Owner ─ Object ─┬─ hardware object
//!   strong Name ─────┘                  ├─ Owners of its parents (an MR's PD)
//!                                       └─ Context ─ driver's ucontext
//!   File ────────────┐                     │
//!   object fd ───────┼─ Holder ────────────┘
//!   strong Name ─────┘
//! ```
//!
//! A Context lives as long as anything here owns it; that others can attach to it, as long as it has
//! a [`context::Holder`].

#![forbid(unsafe_code)]

pub(crate) mod any;
pub(crate) mod context;
pub(crate) mod departure;
pub(crate) mod device;
pub(crate) mod domains;
pub(crate) mod event_file;
pub(crate) mod fd;
pub(crate) mod file;
pub(crate) mod kinds;
pub(crate) mod name;
mod obituary;
pub(crate) mod owner;
pub(crate) mod registry;
pub(crate) mod rights;
pub(crate) mod shared;
pub(crate) mod sharing;

pub(crate) use self::{
    any::AnyOwner,
    context::Context,
    device::Device,
    file::{
        File,
        OpenFile, //
    },
    kinds::Kind,
    obituary::Obituary,
    owner::{
        Owner,
        Seat, //
    },
    rights::{
        Right,
        Rights, //
    },
    shared::Shared, //
};
