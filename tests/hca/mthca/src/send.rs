// SPDX-License-Identifier: GPL-2.0

//! The initiator's side: work requests of send queues.

use crate::cq::{error_entry, Completion, Syndrome};
use crate::event::{self, kind};
use crate::groups::is_multicast;
use crate::hca::Hca;
use crate::limits::MAX_WQES;
use crate::mad;
use crate::memory::Access;
use crate::qp::{Service, State, Work};
use crate::receive::{Message, Refusal};
use crate::wqe::{opcode, Address, Packet, Piece, Wqe};
use bus::Bus;

/// The largest message; hardware takes twice that.
const MAX_MESSAGE: usize = 1 << 30;
/// Destination of datagrams to a group.
const MULTICAST_QPN: u32 = 0xff_ffff;

/// Why a work request is not done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trouble {
    Failed(Syndrome),
    /// The other side has no receive.
    NotReady,
    /// Nobody answers.
    Unanswered,
}

impl From<Syndrome> for Trouble {
    fn from(syndrome: Syndrome) -> Self {
        Self::Failed(syndrome)
    }
}

/// How many bytes a work request moved, for its completion.
type Moved = Result<usize, Trouble>;

impl Hca {
    /// Works on a QP's send queue until it is empty, or has to wait.
    pub(crate) fn run_send_queue(&mut self, bus: &mut Bus, qpn: u32) {
        for _ in 0..2 * MAX_WQES {
            if !self.send_next(bus, qpn) {
                return;
            }
        }
        // More than any queue can hold: its links go in a circle.
        self.qp_fatal(bus, qpn, kind::WQ_FATAL);
    }

    /// One work request; false when there is no other to be done now.
    fn send_next(&mut self, bus: &mut Bus, qpn: u32) -> bool {
        let Some(qp) = self.qps.get(&qpn) else {
            return false;
        };
        let Some(work) = qp.current().filter(|_| !qp.waiting) else {
            return false;
        };
        match qp.state {
            State::ReadyToSend => {}
            State::Error => {
                self.flush_sends(bus, qpn, Syndrome::Flushed);
                return false;
            }
            _ => return false,
        }
        let (key, domain, service) = (qp.key(), qp.domain(), qp.service());
        let bytes = usize::from(work.size) * 16;
        let Ok(bytes) = self.memory.read(
            bus,
            key,
            Some(domain),
            work.at.into(),
            bytes,
            Access::LocalRead,
        ) else {
            self.qp_fatal(bus, qpn, kind::WQ_FATAL);
            return false;
        };
        let wqe = Wqe::new(bytes);
        self.counts.work_requests += 1;
        let result = match service {
            Service::Reliable | Service::Unreliable => self.send_connected(bus, qpn, work, &wqe),
            Service::Datagram => self.send_datagram(bus, qpn, work, &wqe),
            Service::Management => self.send_management(bus, qpn, work, &wqe),
        };
        match result {
            Ok(moved) => {
                self.sent(bus, qpn, work, &wqe, moved);
                true
            }
            Err(trouble) => self.send_trouble(bus, qpn, trouble),
        }
    }

    /// A work request is done.
    fn sent(&mut self, bus: &mut Bus, qpn: u32, work: Work, wqe: &Wqe, moved: usize) {
        let Some(qp) = self.qps.get_mut(&qpn) else {
            return;
        };
        qp.advance(wqe.next());
        if qp.signals_all() || wqe.wants_completion() {
            let cqn = qp.send_cq();
            let completion = Completion {
                qpn,
                wqe: work.at,
                send: true,
                opcode: work.opcode,
                bytes: u32::try_from(moved).unwrap_or(u32::MAX),
                ..Completion::default()
            };
            self.complete(bus, cqn, &completion);
        }
    }

    /// A work request is tried again later, or fails; always false.
    fn send_trouble(&mut self, bus: &mut Bus, qpn: u32, trouble: Trouble) -> bool {
        let remote_delay = self.qps.get(&qpn).and_then(|qp| {
            let remote = self.qps.get(&qp.remote_qpn())?;
            Some(remote.rnr_delay())
        });
        let Some(qp) = self.qps.get_mut(&qpn) else {
            return false;
        };
        let syndrome = match trouble {
            Trouble::Failed(syndrome) => syndrome,
            Trouble::NotReady => {
                qp.rnr_retries += 1;
                if qp
                    .rnr_retry_count()
                    .is_none_or(|most| qp.rnr_retries <= most)
                {
                    qp.waiting = true;
                    bus.timers.set(remote_delay.unwrap_or_default(), qpn.into());
                    return false;
                }
                Syndrome::RnrRetryExceeded
            }
            Trouble::Unanswered => {
                qp.retries += 1;
                if qp.retries <= qp.retry_count() {
                    qp.waiting = true;
                    bus.timers.set(qp.ack_timeout(), qpn.into());
                    return false;
                }
                Syndrome::RetryExceeded
            }
        };
        self.flush_sends(bus, qpn, syndrome);
        self.qp_to_error(bus, qpn);
        false
    }

    /// The current work request ends with a syndrome, those behind it flushed.
    fn flush_sends(&mut self, bus: &mut Bus, qpn: u32, syndrome: Syndrome) {
        let Some(qp) = self.qps.get_mut(&qpn) else {
            return;
        };
        let cqn = qp.send_cq();
        if let Some((work, behind)) = qp.take_sends() {
            let entry = error_entry(qpn, work.at, true, syndrome, behind);
            self.put_cqe(bus, cqn, &entry, true);
        }
    }

    /// Receives of a QP in error are flushed; with an SRQ there are none.
    pub(crate) fn flush_receives(&mut self, bus: &mut Bus, qpn: u32) {
        let Some(qp) = self.qps.get_mut(&qpn) else {
            return;
        };
        let cqn = qp.receive_cq();
        if let Some((work, behind)) = qp.take_receives() {
            let entry = error_entry(qpn, work.at, false, Syndrome::Flushed, behind);
            self.put_cqe(bus, cqn, &entry, true);
        }
    }

    /// A QP goes to its error state, and everything in it is flushed.
    pub(crate) fn qp_to_error(&mut self, bus: &mut Bus, qpn: u32) {
        let Some(qp) = self.qps.get_mut(&qpn) else {
            return;
        };
        let was_in_error = qp.state == State::Error;
        let has_srq = qp.srq().is_some();
        qp.state = State::Error;
        qp.waiting = false;
        self.flush_sends(bus, qpn, Syndrome::Flushed);
        self.flush_receives(bus, qpn);
        if has_srq && !was_in_error {
            self.event(bus, &event::entry(kind::QP_LAST_WQE, 0, qpn));
        }
    }

    /// A QP goes to its error state and the guest is told by an event.
    pub(crate) fn qp_fatal(&mut self, bus: &mut Bus, qpn: u32, kind: u8) {
        self.qp_to_error(bus, qpn);
        self.event(bus, &event::entry(kind, 0, qpn));
    }

    /// The bytes of a send's pieces.
    fn gather(&self, bus: &Bus, domain: u32, pieces: &[Piece]) -> Result<Vec<u8>, Syndrome> {
        let length = |piece: &Piece| match piece {
            Piece::Memory { len, .. } => *len,
            Piece::Inline(bytes) => bytes.len(),
        };
        let total = pieces.iter().map(length).fold(0, usize::saturating_add);
        if total > MAX_MESSAGE {
            return Err(Syndrome::LocalLength);
        }
        let mut data = Vec::with_capacity(total);
        for piece in pieces {
            match piece {
                Piece::Inline(bytes) => data.extend_from_slice(bytes),
                Piece::Memory { key, va, len } => {
                    let read =
                        self.memory
                            .read(bus, *key, Some(domain), *va, *len, Access::LocalRead);
                    data.extend(read.map_err(|_| Syndrome::LocalProtection)?);
                }
            }
        }
        Ok(data)
    }

    fn send_connected(&mut self, bus: &mut Bus, qpn: u32, work: Work, wqe: &Wqe) -> Moved {
        let Some(qp) = self.qps.get(&qpn) else {
            return Err(Trouble::Unanswered);
        };
        let (service, domain, remote_qpn) = (qp.service(), qp.domain(), qp.remote_qpn());
        let pieces = wqe.send_pieces(service, work.opcode);
        let reliable = service == Service::Reliable;
        let valid = match work.opcode {
            opcode::SEND | opcode::SEND_IMMEDIATE | opcode::WRITE | opcode::WRITE_IMMEDIATE => true,
            opcode::READ | opcode::COMPARE_SWAP | opcode::FETCH_ADD => reliable,
            _ => false,
        };
        if !valid {
            return Err(Syndrome::LocalOperation.into());
        }
        let incoming = matches!(
            work.opcode,
            opcode::READ | opcode::COMPARE_SWAP | opcode::FETCH_ADD
        );
        let data = if incoming {
            Vec::new()
        } else {
            self.gather(bus, domain, &pieces)?
        };
        if !self.is_connected(qpn) {
            // Nobody is there: an unreliable message is lost.
            return if reliable {
                Err(Trouble::Unanswered)
            } else {
                Ok(data.len())
            };
        }
        let message = Message {
            opcode: work.opcode,
            data: &data,
            immediate: wqe.immediate(),
            solicited: wqe.is_solicited(),
            source_qpn: qpn,
            sl: qp.sl(),
            grh: None,
        };
        let result = match work.opcode {
            opcode::READ => self.read_remote(bus, domain, remote_qpn, wqe, &pieces),
            opcode::COMPARE_SWAP | opcode::FETCH_ADD => {
                self.atomic_remote(bus, domain, remote_qpn, work.opcode, wqe, &pieces)
            }
            opcode::WRITE | opcode::WRITE_IMMEDIATE => self
                .take_write(bus, remote_qpn, wqe.remote(), &message)
                .map(|()| data.len())
                .map_err(trouble),
            _ => self
                .take_message(bus, remote_qpn, &message)
                .map(|()| data.len())
                .map_err(trouble),
        };
        // What happens at the other side of an unreliable connection is its own affair.
        if reliable {
            result
        } else {
            Ok(data.len())
        }
    }

    /// Whether a QP's peer is there, and thinks the same of it.
    fn is_connected(&self, qpn: u32) -> bool {
        let Some(qp) = self.qps.get(&qpn) else {
            return false;
        };
        self.port_up
            && qp.remote_lid() == mad::LID
            && self.qps.get(&qp.remote_qpn()).is_some_and(|remote| {
                remote.receives()
                    && remote.service() == qp.service()
                    && remote.remote_qpn() == qpn
                    && mad::partition(qp.pkey_index()) != 0
                    && mad::partition(qp.pkey_index()) == mad::partition(remote.pkey_index())
            })
    }

    fn read_remote(
        &mut self,
        bus: &mut Bus,
        domain: u32,
        remote: u32,
        wqe: &Wqe,
        pieces: &[Piece],
    ) -> Moved {
        let memory = |piece: &Piece| match piece {
            Piece::Memory { len, .. } => Ok(*len),
            Piece::Inline(_) => Err(Syndrome::LocalOperation),
        };
        let mut total = 0usize;
        for piece in pieces {
            total = total.saturating_add(memory(piece)?);
        }
        if total > MAX_MESSAGE {
            return Err(Syndrome::LocalLength.into());
        }
        let data = self
            .give_read(bus, remote, wqe.remote(), total)
            .map_err(trouble)?;
        self.scatter(bus, domain, pieces, &data)
            .map_err(|()| Syndrome::LocalProtection)?;
        Ok(total)
    }

    fn atomic_remote(
        &mut self,
        bus: &mut Bus,
        domain: u32,
        remote: u32,
        code: u8,
        wqe: &Wqe,
        pieces: &[Piece],
    ) -> Moved {
        let (operand, compare) = wqe.atomic();
        let operation = |old: u64| match code {
            opcode::FETCH_ADD => old.wrapping_add(operand),
            _ if old == compare => operand,
            _ => old,
        };
        let old = self
            .take_atomic(bus, remote, wqe.remote(), operation)
            .map_err(trouble)?;
        self.scatter(bus, domain, pieces, &old)
            .map_err(|()| Syndrome::LocalProtection)?;
        Ok(old.len())
    }

    fn send_datagram(&mut self, bus: &mut Bus, qpn: u32, work: Work, wqe: &Wqe) -> Moved {
        let Some(qp) = self.qps.get(&qpn) else {
            return Err(Trouble::Unanswered);
        };
        let (domain, sender_qkey) = (qp.domain(), qp.qkey());
        let (key, at) = wqe.address_vector();
        let vector = self
            .memory
            .read(bus, key, Some(domain), at, Address::SIZE, Access::LocalRead);
        let vector = vector.map_err(|_| Syndrome::LocalProtection)?;
        let address = Address(&vector);
        let pieces = wqe.send_pieces(Service::Datagram, work.opcode);
        let data = self.gather(bus, domain, &pieces)?;
        if data.len() > 2048 {
            return Err(Syndrome::LocalLength.into());
        }
        let (to, qkey) = wqe.destination();
        // With the high bit set, the QP's own key is meant (IBTA vol. 1, 10.2.5).
        let qkey = if qkey >> 31 != 0 { sender_qkey } else { qkey };
        let gid = address.gid();
        let message = Message {
            opcode: work.opcode,
            data: &data,
            immediate: wqe.immediate(),
            solicited: wqe.is_solicited(),
            source_qpn: qpn,
            sl: address.sl(),
            grh: gid.map(|gid| global_header(&gid, data.len())),
        };
        match gid {
            Some(gid) if to == MULTICAST_QPN && is_multicast(&gid) => {
                for member in self.groups.members(&gid) {
                    self.take_datagram(bus, member, qkey, &message);
                }
            }
            _ if address.lid() == mad::LID => self.take_datagram(bus, to, qkey, &message),
            _ => {}
        }
        Ok(data.len())
    }

    fn send_management(&mut self, bus: &mut Bus, qpn: u32, work: Work, wqe: &Wqe) -> Moved {
        let Some(qp) = self.qps.get(&qpn) else {
            return Err(Trouble::Unanswered);
        };
        let pieces = wqe.send_pieces(Service::Management, work.opcode);
        let bytes = self.gather(bus, qp.domain(), &pieces)?;
        let packet = Packet::parse(&bytes).ok_or(Syndrome::LocalOperation)?;
        let message = Message {
            opcode: if packet.immediate.is_some() {
                opcode::SEND_IMMEDIATE
            } else {
                opcode::SEND
            },
            data: &packet.payload,
            immediate: packet.immediate.unwrap_or(0),
            solicited: wqe.is_solicited(),
            source_qpn: packet.source_qpn,
            sl: packet.sl,
            grh: packet.grh,
        };
        // The special QPs of the port follow one another: SMI, then GSI.
        let to = match packet.qpn {
            1 => self.special_qp(1),
            0 => self.special_qp(0),
            other => Some(other),
        };
        if let Some(to) = to.filter(|_| packet.lid == mad::LID) {
            self.take_datagram(bus, to, packet.qkey, &message);
        }
        Ok(packet.payload.len())
    }

    /// QP 0 or 1 by its real number. There are two for each, one a port.
    fn special_qp(&self, number: u32) -> Option<u32> {
        self.specials.map(|base| base + 2 * number)
    }
}

fn trouble(refusal: Refusal) -> Trouble {
    match refusal {
        Refusal::NotReady => Trouble::NotReady,
        Refusal::Gone => Trouble::Unanswered,
        Refusal::InvalidRequest => Trouble::Failed(Syndrome::RemoteInvalidRequest),
        Refusal::Access => Trouble::Failed(Syndrome::RemoteAccess),
        Refusal::Operation => Trouble::Failed(Syndrome::RemoteOperation),
    }
}

/// The global header of a packet to `gid` (IBTA vol. 1, 8.3).
fn global_header(gid: &[u8; 16], payload: usize) -> [u8; 40] {
    let mut h = [0; 40];
    bus::bytes::put_be32(&mut h, 0, 6 << 28);
    // BTH, DETH and the CRC count, too.
    bus::bytes::put_be16(&mut h, 4, u16::try_from(payload + 24).unwrap_or(u16::MAX));
    bus::bytes::put_byte(&mut h, 6, 0x1b);
    bus::bytes::put_byte(&mut h, 7, 64);
    h[8..24].copy_from_slice(&mad::gid());
    h[24..40].copy_from_slice(gid);
    h
}
