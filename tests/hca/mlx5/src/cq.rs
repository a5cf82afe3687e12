// SPDX-License-Identifier: GPL-2.0

//! Completion queues.

use crate::event::{self, kind};
use crate::hca::Hca;
use crate::ifc::{cqc, create_cq_in, modify_cq_in};
use crate::ring::Ring;
use bus::bytes::{be32, byte, put_be16, put_be32, put_byte};
use bus::Bus;

/// Counters of a CQ have 24 bits.
const COUNTER: u32 = 0xff_ffff;
const ENTRY: u64 = 64;

/// The syndrome of a queue that had no room, and of one that is not in memory.
pub const ERROR_OVERRUN: u8 = 1;
const ERROR_ACCESS: u8 = 2;

/// Opcodes of completions.
pub mod opcode {
    pub const REQUEST: u8 = 0;
    pub const WRITE_IMMEDIATE: u8 = 1;
    pub const SEND: u8 = 2;
    pub const SEND_IMMEDIATE: u8 = 3;
    pub const SEND_INVALIDATE: u8 = 4;
    pub const RESIZED: u8 = 5;
    pub const REQUEST_ERROR: u8 = 13;
    pub const RESPONSE_ERROR: u8 = 14;
}

/// Why a work request failed (the syndrome of its completion).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Syndrome {
    LocalLength = 0x01,
    LocalOperation = 0x02,
    LocalProtection = 0x04,
    Flushed = 0x05,
    MwBind = 0x06,
    RemoteInvalidRequest = 0x12,
    RemoteAccess = 0x13,
    RemoteOperation = 0x14,
    RetryExceeded = 0x15,
    RnrRetryExceeded = 0x16,
}

/// Which completions the guest wants to hear of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Armed {
    No,
    Any,
    Solicited,
}

/// A completion queue.
pub struct Cq {
    ring: Ring,
    log_size: u32,
    /// Bytes from one entry to the next; an entry is at the end of its place.
    stride: u64,
    pub eqn: u32,
    pub uar: u32,
    /// Where software writes how many it has taken.
    record: u64,
    ignores_overrun: bool,
    produced: u32,
    armed: Armed,
    failed: bool,
}

impl Cq {
    /// From a CREATE_CQ.
    pub fn parse(input: &[u8]) -> Self {
        let context = create_cq_in::CQ_CONTEXT.part(input);
        let list = input.get(create_cq_in::BYTES..).unwrap_or_default();
        Self {
            ring: Ring::new(
                list,
                cqc::LOG_PAGE_SIZE.get32(context),
                cqc::PAGE_OFFSET.get32(context),
            ),
            log_size: cqc::LOG_CQ_SIZE.get32(context).min(22),
            stride: ENTRY << cqc::CQE_SZ.get(context).min(1),
            eqn: cqc::C_EQN_OR_APU_ELEMENT.get32(context),
            uar: cqc::UAR_PAGE.get32(context),
            record: cqc::DBR_ADDR.get(context),
            ignores_overrun: cqc::OI.is_set(context),
            produced: 0,
            armed: Armed::No,
            failed: false,
        }
    }

    /// From a MODIFY_CQ on, entries go to another ring, at the indices that
    /// follow those of the old one.
    fn move_to(&mut self, input: &[u8]) {
        let context = modify_cq_in::CQ_CONTEXT.part(input);
        let list = input.get(modify_cq_in::BYTES..).unwrap_or_default();
        self.ring = Ring::new(
            list,
            cqc::LOG_PAGE_SIZE.get32(context),
            cqc::PAGE_OFFSET.get32(context),
        );
        self.log_size = cqc::LOG_CQ_SIZE.get32(context).min(22);
        self.stride = ENTRY << cqc::CQE_SZ.get(context).min(1);
    }

    /// Whether there is no room; a record that cannot be read does not say so.
    fn is_full(&self, bus: &Bus) -> bool {
        let mut record = [0; 4];
        if self.ignores_overrun || bus.dma.read(self.record, &mut record).is_err() {
            return false;
        }
        let taken = be32(&record, 0);
        self.produced.wrapping_sub(taken) & COUNTER == 1 << self.log_size
    }
}

/// A completion. The work request's place in its queue is `counter`.
#[derive(Default)]
pub struct Completion {
    pub qpn: u32,
    pub user_index: u32,
    pub counter: u16,
    pub opcode: u8,
    /// Of a request: the opcode it had.
    pub request: u8,
    pub bytes: u32,
    pub immediate: u32,
    pub source: Option<Source>,
    pub solicited: bool,
}

/// Where a datagram came from.
#[derive(Clone, Copy, Default)]
pub struct Source {
    pub qpn: u32,
    pub lid: u16,
    pub sl: u8,
    pub grh: bool,
}

impl Completion {
    fn entry(&self) -> [u8; 64] {
        let mut e = [0; 64];
        if let Some(source) = self.source {
            let flags = (u32::from(source.sl & 0xf) << 24) | (u32::from(source.grh) << 28);
            put_be16(&mut e, 0x16, source.lid);
            put_be32(&mut e, 0x18, flags | source.qpn & 0xff_ffff);
        }
        put_be32(&mut e, 0x20, self.user_index);
        put_be32(&mut e, 0x24, self.immediate);
        put_be32(&mut e, 0x2c, self.bytes);
        put_be32(&mut e, 0x38, (u32::from(self.request) << 24) | self.qpn);
        put_be16(&mut e, 0x3c, self.counter);
        put_byte(&mut e, 0x3f, self.opcode << 4);
        e
    }

    fn error_entry(&self, syndrome: Syndrome) -> [u8; 64] {
        let mut e = [0; 64];
        put_be32(&mut e, 0x20, self.user_index);
        put_byte(&mut e, 0x37, syndrome as u8);
        put_be32(&mut e, 0x38, (u32::from(self.request) << 24) | self.qpn);
        put_be16(&mut e, 0x3c, self.counter);
        put_byte(&mut e, 0x3f, self.opcode << 4);
        e
    }
}

impl Hca {
    pub(crate) fn complete(&mut self, bus: &mut Bus, cqn: u32, completion: &Completion) {
        self.put_cqe(bus, cqn, completion.entry(), completion.solicited);
    }

    pub(crate) fn complete_with_error(
        &mut self,
        bus: &mut Bus,
        cqn: u32,
        completion: &Completion,
        syndrome: Syndrome,
    ) {
        self.put_cqe(bus, cqn, completion.error_entry(syndrome), true);
    }

    /// Puts an entry into a completion queue; one that is full is in error.
    pub(crate) fn put_cqe(
        &mut self,
        bus: &mut Bus,
        cqn: u32,
        mut entry: [u8; 64],
        solicited: bool,
    ) {
        if self.faults.withhold {
            self.faults.withheld.push((cqn, entry, solicited));
            return;
        }
        let Some(cq) = self.cqs.get_mut(cqn).filter(|cq| !cq.failed) else {
            return;
        };
        if cq.is_full(bus) {
            return self.cq_error(bus, cqn, ERROR_OVERRUN);
        }
        let owner = ((cq.produced >> cq.log_size) & 1) as u8;
        let head = byte(&entry, 63);
        put_byte(&mut entry, 63, head | owner);
        let slot = u64::from(cq.produced & ((1 << cq.log_size) - 1));
        let at = slot * cq.stride + cq.stride - ENTRY;
        if cq.ring.publish(bus, at, &entry).is_err() {
            return self.cq_error(bus, cqn, ERROR_ACCESS);
        }
        cq.produced = cq.produced.wrapping_add(1);
        self.counts.completions += 1;
        if cq.armed == Armed::Any || cq.armed == Armed::Solicited && solicited {
            self.notify(bus, cqn);
        }
    }

    /// A ring is replaced by another one. The last entry of the old one says so;
    /// software copies those before it, if it has not taken them.
    pub(crate) fn resize_cq(&mut self, bus: &mut Bus, cqn: u32, input: &[u8]) {
        let mut last = [0; 64];
        put_byte(&mut last, 0x3f, opcode::RESIZED << 4);
        self.put_cqe(bus, cqn, last, false);
        if let Some(cq) = self.cqs.get_mut(cqn) {
            cq.move_to(input);
        }
    }

    /// Tells the guest that a queue has completions.
    fn notify(&mut self, bus: &mut Bus, cqn: u32) {
        if let Some(cq) = self.cqs.get_mut(cqn) {
            cq.armed = Armed::No;
            let eqn = cq.eqn;
            self.event_to(bus, eqn, event::entry(kind::COMPLETION, 0, 24, cqn));
        }
    }

    /// A completion queue is in error, and takes nothing any more.
    pub(crate) fn cq_error(&mut self, bus: &mut Bus, cqn: u32, syndrome: u8) {
        if let Some(cq) = self.cqs.get_mut(cqn) {
            cq.failed = true;
            let mut entry = event::entry(kind::CQ_ERROR, 0, 0, cqn);
            put_byte(&mut entry, 32 + 11, syndrome);
            self.event(bus, kind::CQ_ERROR, entry);
        }
    }

    /// A doorbell of a completion queue arms it, after so many that were taken.
    pub(crate) fn cq_doorbell(&mut self, bus: &mut Bus, uar: u32, high: u32, low: u32) {
        let cqn = low & 0xff_ffff;
        let Some(cq) = self.cqs.get_mut(cqn).filter(|cq| cq.uar == uar) else {
            self.counts.stray_doorbells += 1;
            return;
        };
        // Bits 28 and 29 count arming, so that software tells one from another.
        cq.armed = if (high >> 24) & 1 == 1 {
            Armed::Solicited
        } else {
            Armed::Any
        };
        if cq.produced & COUNTER != high & COUNTER {
            self.notify(bus, cqn);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries() {
        let completion = Completion {
            qpn: 0x45,
            user_index: 0x17,
            counter: 9,
            opcode: opcode::SEND_IMMEDIATE,
            bytes: 100,
            immediate: 0x1234,
            source: Some(Source {
                qpn: 0x46,
                lid: 7,
                sl: 3,
                grh: true,
            }),
            ..Completion::default()
        };
        let e = completion.entry();
        assert_eq!(be32(&e, 0x18), 0x1300_0046);
        assert_eq!((be32(&e, 0x20), be32(&e, 0x24)), (0x17, 0x1234));
        assert_eq!((be32(&e, 0x2c), be32(&e, 0x38), e[0x3f]), (100, 0x45, 0x30));
        let e = completion.error_entry(Syndrome::Flushed);
        assert_eq!((e[0x37], be32(&e, 0x3c) >> 16), (5, 9));
    }
}
