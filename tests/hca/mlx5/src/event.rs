// SPDX-License-Identifier: GPL-2.0

//! Event queues: rings in the guest's memory that tell it of completions,
//! commands and everything else.

use crate::hca::Hca;
use crate::ifc::{create_eq_in, eqc};
use crate::ring::Ring;
use bus::bytes::{put_be32, put_byte};
use bus::Bus;

/// Types of events.
pub mod kind {
    pub const COMPLETION: u8 = 0x00;
    pub const CQ_ERROR: u8 = 0x04;
    pub const WQ_FATAL: u8 = 0x05;
    pub const PORT: u8 = 0x09;
    pub const COMMAND: u8 = 0x0a;
    pub const WQ_INVALID_REQUEST: u8 = 0x10;
    pub const WQ_ACCESS: u8 = 0x11;
    pub const LAST_WQE: u8 = 0x13;
    pub const SRQ_LIMIT: u8 = 0x14;
}

const ENTRY: usize = 64;
/// Where in an entry the data of its type starts.
const DATA: usize = 32;
/// Types that the first word of an EQ's mask has; the model has no others.
const MASKED: u8 = 64;

/// An event queue.
pub struct Eq {
    ring: Ring,
    log_size: u32,
    vector: usize,
    uar: u32,
    mask: u64,
    produced: u32,
    armed: bool,
}

impl Eq {
    /// From a CREATE_EQ.
    pub fn parse(input: &[u8]) -> Self {
        let context = create_eq_in::EQ_CONTEXT_ENTRY.part(input);
        let list = input.get(create_eq_in::BYTES..).unwrap_or_default();
        Self {
            ring: Ring::new(
                list,
                eqc::LOG_PAGE_SIZE.get32(context),
                eqc::PAGE_OFFSET.get32(context),
            ),
            log_size: eqc::LOG_EQ_SIZE.get32(context).min(24),
            vector: eqc::INTR.get32(context) as usize,
            uar: eqc::UAR_PAGE.get32(context),
            mask: create_eq_in::EVENT_BITMASK.get(input),
            produced: 0,
            armed: false,
        }
    }

    fn wants(&self, kind: u8) -> bool {
        kind < MASKED && (self.mask >> kind) & 1 == 1
    }
}

/// An entry of a type, with a word of data at `at`.
pub fn entry(kind: u8, subtype: u8, at: usize, value: u32) -> [u8; ENTRY] {
    let mut e = [0; ENTRY];
    put_byte(&mut e, 1, kind);
    put_byte(&mut e, 3, subtype);
    put_be32(&mut e, DATA + at, value);
    e
}

/// An event of a QP or an SRQ.
pub fn of_queue(kind: u8, number: u32, is_srq: bool) -> [u8; ENTRY] {
    let mut e = entry(kind, 0, 24, number);
    // The type of a resource: a QP or an SRQ.
    put_byte(&mut e, DATA + 20, if is_srq { 2 } else { 0 });
    e
}

impl Hca {
    /// Puts an entry into one queue, and interrupts if it is armed.
    pub(crate) fn event_to(&mut self, bus: &mut Bus, eqn: u32, mut entry: [u8; ENTRY]) {
        let Some(eq) = self.eqs.get_mut(eqn) else {
            return;
        };
        let slot = eq.produced & ((1 << eq.log_size) - 1);
        put_byte(&mut entry, 63, ((eq.produced >> eq.log_size) & 1) as u8);
        let at = u64::from(slot) * ENTRY as u64;
        if eq.ring.publish(bus, at, &entry).is_err() {
            self.counts.lost_events += 1;
            return;
        }
        eq.produced = eq.produced.wrapping_add(1);
        if std::mem::take(&mut eq.armed) {
            bus.irq.raise(eq.vector);
        }
    }

    /// The queues that a type of events goes to.
    pub(crate) fn queues_for(&self, kind: u8) -> Vec<u32> {
        let wanting = self.eqs.iter().filter(|(_, eq)| eq.wants(kind));
        wanting.map(|(eqn, _)| eqn).collect()
    }

    /// Puts an entry of a type into every queue that it goes to.
    pub(crate) fn event(&mut self, bus: &mut Bus, kind: u8, entry: [u8; ENTRY]) {
        for eqn in self.queues_for(kind) {
            self.event_to(bus, eqn, entry);
        }
    }

    /// A doorbell of an event queue says how many entries were taken.
    pub(crate) fn eq_doorbell(&mut self, bus: &mut Bus, uar: u32, value: u32, arm: bool) {
        let Some(eq) = self.eqs.get_mut(value >> 24).filter(|eq| eq.uar == uar) else {
            self.counts.stray_doorbells += 1;
            return;
        };
        if !arm {
            return;
        }
        if eq.produced & 0xff_ffff == value & 0xff_ffff {
            eq.armed = true;
        } else {
            bus.irq.raise(eq.vector);
        }
    }
}
