// SPDX-License-Identifier: GPL-2.0

//! Event queues: rings in the guest's memory that tell it of completions,
//! commands and everything else.

use crate::hca::Hca;
use bus::bytes::{be32, byte, put_be32, put_byte};
use bus::Bus;

/// Types of events.
#[allow(dead_code)]
pub mod kind {
    pub const COMPLETION: u8 = 0x00;
    pub const CQ_ERROR: u8 = 0x04;
    pub const WQ_FATAL: u8 = 0x05;
    pub const PORT: u8 = 0x09;
    pub const COMMAND: u8 = 0x0a;
    pub const WQ_INVALID_REQUEST: u8 = 0x10;
    pub const WQ_ACCESS: u8 = 0x11;
    pub const SRQ_ERROR: u8 = 0x12;
    pub const QP_LAST_WQE: u8 = 0x13;
    pub const SRQ_LIMIT: u8 = 0x14;
}

/// An event queue.
pub struct Eq {
    key: u32,
    log_size: u32,
    vector: usize,
    uar: u32,
    produced: u32,
    consumed: u32,
    armed: bool,
    /// The types of events that go here, a bit each.
    pub mask: u64,
}

impl Eq {
    /// From its context, as SW2HW_EQ has it.
    pub fn parse(context: &[u8]) -> Self {
        Self {
            key: be32(context, 28),
            log_size: (be32(context, 12) >> 24 & 0x1f).min(24),
            vector: usize::from(byte(context, 23) & 0x7f),
            uar: be32(context, 12) & 0xff_ffff,
            produced: 0,
            consumed: 0,
            armed: true,
            mask: 0,
        }
    }

    fn slot(&self, index: u32) -> u32 {
        index & ((1 << self.log_size) - 1)
    }

    fn is_empty(&self) -> bool {
        self.slot(self.produced) == self.slot(self.consumed)
    }
}

/// An entry of a type, with a word that says whose event it is.
pub fn entry(kind: u8, subtype: u8, whose: u32) -> [u8; 32] {
    let mut e = [0; 32];
    put_byte(&mut e, 1, kind);
    put_byte(&mut e, 3, subtype);
    put_be32(&mut e, 4, whose);
    e
}

impl Hca {
    /// Puts an entry into one queue, and interrupts if it is armed.
    pub(crate) fn event_to(&mut self, bus: &mut Bus, eqn: u32, entry: &[u8; 32]) {
        let Some(eq) = self.eqs.get_mut(&eqn) else {
            return;
        };
        let at = u64::from(eq.slot(eq.produced)) * 32;
        if self.memory.publish(bus, eq.key, at, entry).is_err() {
            self.counts.lost_events += 1;
            return;
        }
        eq.produced = eq.produced.wrapping_add(1);
        self.cause |= 1u32.checked_shl(eqn).unwrap_or(0);
        if std::mem::take(&mut eq.armed) {
            bus.irq.raise(eq.vector);
        }
    }

    /// Puts an entry into every queue that its type goes to.
    pub(crate) fn event(&mut self, bus: &mut Bus, entry: &[u8; 32]) {
        let bit = 1u64.checked_shl(byte(entry, 1).into()).unwrap_or(0);
        let queues = self.eqs.iter().filter(|(_, eq)| eq.mask & bit != 0);
        let queues: Vec<u32> = queues.map(|(eqn, _)| *eqn).collect();
        for eqn in queues {
            self.event_to(bus, eqn, entry);
        }
    }

    /// A doorbell of an event queue.
    pub(crate) fn eq_doorbell(&mut self, bus: &mut Bus, uar: u32, high: u32, low: u32) {
        let (command, eqn) = (high >> 24, high & 0xff);
        if command == 3 {
            if let Some(cq) = self.cqs.get_mut(&(low & 0xff_ffff)) {
                cq.disarm();
            }
            return;
        }
        let Some(eq) = self.eqs.get_mut(&eqn).filter(|eq| eq.uar == uar) else {
            self.counts.stray_doorbells += 1;
            return;
        };
        match command {
            1 => eq.consumed = eq.consumed.wrapping_add(1),
            2 if eq.is_empty() => eq.armed = true,
            2 => bus.irq.raise(eq.vector),
            4 => eq.consumed = low,
            _ => self.counts.stray_doorbells += 1,
        }
    }
}
