// SPDX-License-Identifier: GPL-2.0

//! PCI devices in user space, served to QEMU over vfio-user.
//!
//! A model implements [`Device`] and describes its PCI function with
//! [`Identity`]; [`serve`] listens on a socket for QEMU's `vfio-user-pci` and
//! calls the model for each access of the guest:
//!
//! ```no_run
//! use bus::{serve, Bar, Bus, Device, Identity, Sockets};
//!
//! struct Counter(u64);
//!
//! impl Device for Counter {
//!     fn read(&mut self, _: &mut Bus, _bar: usize, _at: u64, data: &mut [u8]) {
//!         self.0 += 1;
//!         data.fill(self.0 as u8);
//!     }
//!     fn write(&mut self, bus: &mut Bus, _bar: usize, _at: u64, _data: &[u8]) {
//!         bus.irq.raise(0);
//!     }
//! }
//!
//! let identity = Identity {
//!     vendor: 0x1234,
//!     device: 0x0001,
//!     class: 0xff_0000,
//!     bars: vec![Bar { index: 0, size: 4096 }],
//!     ..Identity::default()
//! };
//! serve(&Sockets::new("device.sock"), &identity, &mut Counter(0)).unwrap();
//! ```
//!
//! Everything happens in one thread: an access, a timer and a line on the
//! control socket are handled one after the other, so a model needs no locks,
//! and two runs with the same input do the same.
//!
//! The protocol's server is our own. The crate `vfio_user` 0.1.7 takes a short
//! read of a header for a whole one, ends on a malformed version string, and
//! has no place for timers; see [`wire`] for how messages are read here.

#![warn(missing_docs)]

pub mod bytes;
mod config;
mod control;
mod dma;
mod irq;
mod server;
mod timer;
pub mod wire;

pub use config::{Bar, Identity, Msix};
pub use dma::{Dma, Fault, Segment};
pub use irq::Irqs;
pub use server::{serve, Sockets};
pub use timer::Timers;

use std::time::{Duration, Instant};

/// What a model may do to the machine that it is plugged into.
pub struct Bus {
    /// The guest's memory.
    pub dma: Dma,
    /// MSI-X vectors and INTx.
    pub irq: Irqs,
    /// When [`Device::timer`] is to be called.
    pub timers: Timers,
    started: Instant,
}

impl Bus {
    /// A bus with no memory and nobody to interrupt; what unit tests start with.
    pub fn new(vectors: usize) -> Self {
        Self {
            dma: Dma::default(),
            irq: Irqs::new(vectors),
            timers: Timers::default(),
            started: Instant::now(),
        }
    }

    /// The time since the model was started.
    pub fn now(&self) -> Duration {
        self.started.elapsed()
    }
}

/// A PCI function's behaviour; its configuration space is the bus's own.
///
/// Nothing that the guest does may end a model: offsets, lengths and everything
/// read from the guest's memory are the guest's.
pub trait Device {
    /// The guest reads `data.len()` bytes of a BAR; `data` is zeroed before.
    fn read(&mut self, bus: &mut Bus, bar: usize, at: u64, data: &mut [u8]);

    /// The guest writes to a BAR.
    fn write(&mut self, bus: &mut Bus, bar: usize, at: u64, data: &[u8]);

    /// A function level reset, or a new guest: everything is as after power on.
    fn reset(&mut self, _bus: &mut Bus) {}

    /// A timer of [`Timers::set`] is due.
    fn timer(&mut self, _bus: &mut Bus, _token: u64) {}

    /// A line came on the control socket that is none of the bus's own
    /// commands. The answer is sent back; an `Err` as `error: ...`.
    fn control(&mut self, _bus: &mut Bus, words: &[&str]) -> Result<String, String> {
        Err(format!("no such command: {}", words.join(" ")))
    }
}
