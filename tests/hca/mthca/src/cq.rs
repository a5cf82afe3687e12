// SPDX-License-Identifier: GPL-2.0

//! Completion queues.

use crate::command::Status;
use crate::event::{self, kind};
use crate::hca::Hca;
use bus::bytes::{be32, byte, put_be16, put_be32, put_byte};
use bus::Bus;

/// The syndrome of a queue that had no room.
pub const ERROR_OVERRUN: u8 = 1;
const ERROR_ACCESS: u8 = 2;

/// Which completions the guest wants to hear of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Armed {
    No,
    Any,
    Solicited,
}

/// A completion queue. Indices run freely; a slot is their low bits.
pub struct Cq {
    key: u32,
    log_size: u32,
    eqn: u32,
    uar: u32,
    produced: u32,
    /// `produced` after the last solicited completion.
    solicited: u32,
    consumed: u32,
    armed: Armed,
    overrun: bool,
}

/// How many entries of a ring have been produced and not been consumed, where
/// indices run freely.
fn outstanding(produced: u32, consumed: u32) -> u32 {
    let n = produced.wrapping_sub(consumed);
    if n > u32::MAX / 2 {
        0
    } else {
        n
    }
}

impl Cq {
    /// From its context, as SW2HW_CQ has it.
    pub fn parse(context: &[u8]) -> Self {
        Self {
            key: be32(context, 28),
            log_size: (be32(context, 12) >> 24 & 0x1f).min(24),
            eqn: be32(context, 20) & 0xff,
            uar: be32(context, 12) & 0xff_ffff,
            produced: 0,
            solicited: 0,
            consumed: 0,
            armed: Armed::No,
            overrun: false,
        }
    }

    pub fn disarm(&mut self) {
        self.armed = Armed::No;
    }

    fn size(&self) -> u32 {
        1 << self.log_size
    }

    /// RESIZE_CQ. What is outstanding stays at the end of what the old ring
    /// had, counted modulo its size: software copies it from there.
    pub fn resize(&mut self, mailbox: &[u8]) -> Result<(), Status> {
        let log_size = u32::from(byte(mailbox, 0x0c));
        let waiting = outstanding(self.produced, self.consumed);
        if log_size > 24 || waiting > 1 << log_size {
            return Err(Status::BadSize);
        }
        let unsolicited = self.produced.wrapping_sub(self.solicited);
        self.produced &= self.size() - 1;
        self.consumed = self.produced.wrapping_sub(waiting);
        self.solicited = self.produced.wrapping_sub(unsolicited);
        self.log_size = log_size;
        self.key = be32(mailbox, 0x1c);
        Ok(())
    }
}

/// A completion without error.
#[derive(Default)]
pub struct Completion {
    pub qpn: u32,
    /// Offset of the work request.
    pub wqe: u32,
    pub send: bool,
    pub opcode: u8,
    pub bytes: u32,
    pub immediate: u32,
    pub remote_qpn: u32,
    pub remote_lid: u16,
    pub sl: u8,
    pub grh: bool,
    pub solicited: bool,
}

impl Completion {
    fn entry(&self) -> [u8; 32] {
        let mut e = [0; 32];
        put_be32(&mut e, 0, self.qpn);
        put_be32(&mut e, 8, self.remote_qpn & 0xff_ffff);
        put_byte(&mut e, 12, self.sl << 4);
        put_byte(&mut e, 13, u8::from(self.grh) << 7);
        put_be16(&mut e, 14, self.remote_lid);
        put_be32(&mut e, 16, self.immediate);
        put_be32(&mut e, 20, self.bytes);
        put_be32(&mut e, 24, self.wqe);
        put_byte(&mut e, 28, self.opcode);
        put_byte(&mut e, 29, u8::from(self.send) << 7);
        e
    }
}

/// Why a work request failed (the syndrome of its completion).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Syndrome {
    LocalLength = 0x01,
    LocalOperation = 0x02,
    LocalProtection = 0x04,
    Flushed = 0x05,
    RemoteInvalidRequest = 0x12,
    RemoteAccess = 0x13,
    RemoteOperation = 0x14,
    RetryExceeded = 0x15,
    RnrRetryExceeded = 0x16,
}

/// A completion with error. It stands for all work requests behind it, too:
/// software finds these by their links, over so many doorbells.
pub fn error_entry(
    qpn: u32,
    wqe: u32,
    send: bool,
    syndrome: Syndrome,
    doorbells: usize,
) -> [u8; 32] {
    let mut e = [0; 32];
    put_be32(&mut e, 0, qpn);
    put_byte(&mut e, 16, syndrome as u8);
    put_be16(&mut e, 18, u16::try_from(doorbells).unwrap_or(u16::MAX));
    put_be32(&mut e, 24, wqe);
    put_byte(&mut e, 28, 0xfe | u8::from(send));
    e
}

impl Hca {
    pub(crate) fn complete(&mut self, bus: &mut Bus, cqn: u32, completion: &Completion) {
        self.put_cqe(bus, cqn, &completion.entry(), completion.solicited);
    }

    /// Puts an entry into a completion queue; one that is full is in error.
    pub(crate) fn put_cqe(&mut self, bus: &mut Bus, cqn: u32, entry: &[u8; 32], solicited: bool) {
        if self.faults.withhold {
            self.faults.withheld.push((cqn, *entry, solicited));
            return;
        }
        let Some(cq) = self.cqs.get_mut(&cqn).filter(|cq| !cq.overrun) else {
            return;
        };
        if outstanding(cq.produced, cq.consumed) >= cq.size() {
            cq.overrun = true;
            return self.cq_error(bus, cqn, ERROR_OVERRUN);
        }
        let at = u64::from(cq.produced & (cq.size() - 1)) * 32;
        if self.memory.publish(bus, cq.key, at, entry).is_err() {
            cq.overrun = true;
            return self.cq_error(bus, cqn, ERROR_ACCESS);
        }
        self.counts.completions += 1;
        cq.produced = cq.produced.wrapping_add(1);
        if solicited {
            cq.solicited = cq.produced;
        }
        if cq.armed == Armed::Any || cq.armed == Armed::Solicited && solicited {
            self.notify(bus, cqn);
        }
    }

    /// Tells the guest that a queue has completions.
    fn notify(&mut self, bus: &mut Bus, cqn: u32) {
        if let Some(cq) = self.cqs.get_mut(&cqn) {
            cq.disarm();
            let eqn = cq.eqn;
            self.event_to(bus, eqn, &event::entry(kind::COMPLETION, 0, cqn));
        }
    }

    /// A completion queue is in error.
    pub(crate) fn cq_error(&mut self, bus: &mut Bus, cqn: u32, syndrome: u8) {
        let mut e = event::entry(kind::CQ_ERROR, 0, cqn);
        put_byte(&mut e, 15, syndrome);
        self.event(bus, &e);
    }

    /// A doorbell of a completion queue.
    pub(crate) fn cq_doorbell(&mut self, bus: &mut Bus, uar: u32, high: u32, low: u32) {
        let (command, cqn) = (high >> 24, high & 0xff_ffff);
        let Some(cq) = self.cqs.get_mut(&cqn).filter(|cq| cq.uar == uar) else {
            self.counts.stray_doorbells += 1;
            return;
        };
        match command {
            1 => cq.consumed = cq.consumed.wrapping_add(low.wrapping_add(1)),
            4 => cq.consumed = low,
            2 | 3 => {
                let seen = if command == 2 {
                    cq.produced
                } else {
                    cq.solicited
                };
                if outstanding(seen, cq.consumed) > 0 {
                    return self.notify(bus, cqn);
                }
                cq.armed = if command == 2 {
                    Armed::Any
                } else {
                    Armed::Solicited
                };
            }
            _ => self.counts.stray_doorbells += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cq(produced: u32, consumed: u32) -> Cq {
        let mut context = [0; 64];
        put_be32(&mut context, 12, 2 << 24);
        let mut cq = Cq::parse(&context);
        (cq.produced, cq.consumed, cq.solicited) = (produced, consumed, produced);
        cq
    }

    fn sizes(log: u8) -> [u8; 64] {
        let mut mailbox = [0; 64];
        put_byte(&mut mailbox, 0x0c, log);
        mailbox
    }

    #[test]
    fn indices_wrap() {
        assert_eq!(outstanding(1, u32::MAX), 2);
        assert_eq!(outstanding(5, 5), 0);
        // A guest that has consumed what was never there.
        assert_eq!(outstanding(5, 6), 0);
    }

    #[test]
    fn a_larger_ring_goes_on_where_the_old_one_was() {
        let mut cq = cq(9, 7);
        cq.resize(&sizes(4)).unwrap();
        assert_eq!((cq.produced, cq.consumed, cq.size()), (1, u32::MAX, 16));
    }

    #[test]
    fn a_smaller_ring_must_hold_what_is_there() {
        let mut cq = cq(9, 6);
        assert!(cq.resize(&sizes(1)).is_err());
        assert!(cq.resize(&sizes(200)).is_err());
        assert_eq!((cq.produced, cq.consumed), (9, 6));
        cq.consumed = 8;
        assert!(cq.resize(&sizes(1)).is_ok());
    }
}
