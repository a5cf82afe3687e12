// SPDX-License-Identifier: GPL-2.0

//! The initiator's side: work requests of send queues.

use crate::cq::{self, Completion, Source, Syndrome};
use crate::event::{self, kind};
use crate::hca::{gid, partition, Hca, FLUSH_PERIOD, FLUSH_TIMER, LID};
use crate::memory::Access;
use crate::qp::{Receives, Service, State};
use crate::receive::{Message, Refusal};
use crate::wqe::{self, opcode, Piece, Wqe, BLOCK};
use bus::bytes::{put_be16, put_be32, put_byte};
use bus::Bus;

/// The largest message that is moved; hardware takes twice that.
const MAX_MESSAGE: usize = 1 << 30;
/// The most work requests that one doorbell can be for.
const MAX_SENDS: usize = 1 << 16;
const MTU: usize = 4096;
const GSI_QPN: u32 = 1;
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

impl From<Refusal> for Trouble {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::NotReady => Self::NotReady,
            Refusal::Gone => Self::Unanswered,
            Refusal::InvalidRequest => Self::Failed(Syndrome::RemoteInvalidRequest),
            Refusal::Access => Self::Failed(Syndrome::RemoteAccess),
            Refusal::Operation => Self::Failed(Syndrome::RemoteOperation),
        }
    }
}

/// How many bytes a work request moved, for its completion.
type Moved = Result<usize, Trouble>;

impl Hca {
    /// Works on a QP's send queue until it is empty, or has to wait.
    pub(crate) fn run_send_queue(&mut self, bus: &mut Bus, qpn: u32) {
        for _ in 0..MAX_SENDS {
            if !self.send_next(bus, qpn) {
                return;
            }
        }
    }

    /// One work request; false when there is no other to be done now.
    fn send_next(&mut self, bus: &mut Bus, qpn: u32) -> bool {
        let Some(qp) = self.qps.get(qpn).filter(|qp| !qp.waiting) else {
            return false;
        };
        let posted = usize::from(qp.posted_blocks(bus));
        if posted == 0 || !matches!(qp.state, State::ReadyToSend | State::Error) {
            return false;
        }
        let Some(head) = qp.read_block(bus, qp.sent) else {
            self.queue_fatal(bus, qpn);
            return false;
        };
        let size = wqe::size(&head);
        let blocks = size.div_ceil(BLOCK);
        let in_error = qp.state == State::Error;
        let mut bytes = head;
        for block in 1..blocks {
            bytes.extend(
                qp.read_block(bus, qp.sent.wrapping_add(block as u16))
                    .unwrap_or_default(),
            );
        }
        bytes.truncate(size);
        let wqe = Wqe(bytes);
        if blocks > posted {
            // Software has not posted all of it.
            self.queue_fatal(bus, qpn);
            return false;
        }
        if in_error {
            self.finish(bus, qpn, &wqe, blocks, Err(Syndrome::Flushed));
            return true;
        }
        self.counts.work_requests += 1;
        let result = match qp.service() {
            _ if wqe.opcode() == opcode::NOP => Ok(0),
            _ if wqe.opcode() == opcode::UMR => self
                .change_key(bus, qpn, &wqe)
                .map(|()| 0)
                .map_err(Trouble::from),
            Some(Service::Reliable | Service::Unreliable | Service::Extended) => {
                self.send_connected(bus, qpn, &wqe)
            }
            Some(Service::Datagram | Service::Management) => self.send_datagram(bus, qpn, &wqe),
            _ => Err(Syndrome::LocalOperation.into()),
        };
        match result {
            Ok(moved) => self.finish(bus, qpn, &wqe, blocks, Ok(moved)),
            Err(trouble) => match self.retry(bus, qpn, trouble) {
                None => return false,
                Some(syndrome) => {
                    self.finish(bus, qpn, &wqe, blocks, Err(syndrome));
                    self.qp_to_error(bus, qpn);
                    return false;
                }
            },
        }
        true
    }

    /// A work request is done, well or not.
    fn finish(
        &mut self,
        bus: &mut Bus,
        qpn: u32,
        wqe: &Wqe,
        blocks: usize,
        result: Result<usize, Syndrome>,
    ) {
        let Some(qp) = self.qps.get_mut(qpn) else {
            return;
        };
        let mut completion = Completion {
            qpn,
            user_index: qp.user_index(),
            counter: qp.sent,
            opcode: cq::opcode::REQUEST,
            request: wqe.opcode(),
            ..Completion::default()
        };
        qp.sent = qp.sent.wrapping_add(blocks as u16);
        qp.retries = 0;
        qp.rnr_retries = 0;
        let cqn = qp.send_cq();
        match result {
            Ok(moved) => {
                completion.bytes = u32::try_from(moved).unwrap_or(u32::MAX);
                if wqe.wants_completion() {
                    self.complete(bus, cqn, &completion);
                }
            }
            Err(syndrome) => {
                completion.opcode = cq::opcode::REQUEST_ERROR;
                self.complete_with_error(bus, cqn, &completion, syndrome);
            }
        }
    }

    /// What a work request fails with; `None` where it is tried again later.
    fn retry(&mut self, bus: &mut Bus, qpn: u32, trouble: Trouble) -> Option<Syndrome> {
        let remote = self.qps.get(qpn)?.remote_qpn();
        let remote_delay = self.qps.get(remote).map(|remote| remote.rnr_delay());
        let qp = self.qps.get_mut(qpn)?;
        let (again, delay, syndrome) = match trouble {
            Trouble::Failed(syndrome) => return Some(syndrome),
            Trouble::NotReady => {
                qp.rnr_retries += 1;
                let again = qp
                    .rnr_retry_count()
                    .is_none_or(|most| qp.rnr_retries <= most);
                let delay = remote_delay.unwrap_or_default();
                (again, delay, Syndrome::RnrRetryExceeded)
            }
            Trouble::Unanswered => {
                qp.retries += 1;
                let again = qp.retries <= qp.retry_count();
                (again, qp.ack_timeout(), Syndrome::RetryExceeded)
            }
        };
        if !again {
            return Some(syndrome);
        }
        qp.waiting = true;
        bus.timers.set(delay, qpn.into());
        None
    }

    /// A QP goes to its error state, and everything in it is flushed.
    pub(crate) fn qp_to_error(&mut self, bus: &mut Bus, qpn: u32) {
        let Some(qp) = self.qps.get_mut(qpn) else {
            return;
        };
        let was_in_error = qp.state == State::Error;
        let has_srq = matches!(qp.receives_from(), Receives::Shared(_));
        qp.state = State::Error;
        qp.waiting = false;
        self.run_send_queue(bus, qpn);
        self.flush_receives(bus, qpn);
        if has_srq && !was_in_error {
            let entry = event::of_queue(kind::LAST_WQE, qpn, false);
            self.event(bus, kind::LAST_WQE, entry);
        }
        if !std::mem::replace(&mut self.flushing, true) {
            bus.timers.set(FLUSH_PERIOD, FLUSH_TIMER);
        }
    }

    /// A QP goes to its error state and the guest is told by an event.
    pub(crate) fn qp_fatal(&mut self, bus: &mut Bus, qpn: u32, kind: u8) {
        self.qp_to_error(bus, qpn);
        self.event(bus, kind, event::of_queue(kind, qpn, false));
    }

    /// A send queue makes no sense, so that nothing of it can be flushed.
    fn queue_fatal(&mut self, bus: &mut Bus, qpn: u32) {
        let Some(qp) = self.qps.get_mut(qpn) else {
            return;
        };
        if std::mem::replace(&mut qp.state, State::Error) != State::Error {
            let entry = event::of_queue(kind::WQ_FATAL, qpn, false);
            self.event(bus, kind::WQ_FATAL, entry);
        }
    }

    /// A receive that is posted to a QP in error rings no doorbell, so these
    /// are looked for.
    pub(crate) fn flush_late_receives(&mut self, bus: &mut Bus) {
        let failed = self.qps.iter().filter(|(_, qp)| qp.state == State::Error);
        let failed: Vec<u32> = failed.map(|(qpn, _)| qpn).collect();
        self.flushing = !failed.is_empty();
        for qpn in failed {
            self.flush_receives(bus, qpn);
        }
        if self.flushing {
            bus.timers.set(FLUSH_PERIOD, FLUSH_TIMER);
        }
    }

    /// The bytes of a send's pieces.
    fn gather(&self, bus: &Bus, domain: u32, pieces: &[Piece]) -> Result<Vec<u8>, Syndrome> {
        let mut data = Vec::with_capacity(total(pieces)?);
        for piece in pieces {
            match piece {
                Piece::Inline(bytes) => data.extend_from_slice(bytes),
                Piece::Memory { key, va, len } => {
                    let read = self.read_memory(bus, *key, domain, *va, *len, Access::LocalRead);
                    data.extend(read.map_err(|_| Syndrome::LocalProtection)?);
                }
            }
        }
        Ok(data)
    }

    fn send_connected(&mut self, bus: &mut Bus, qpn: u32, wqe: &Wqe) -> Moved {
        let qp = self.qps.get(qpn).ok_or(Trouble::Unanswered)?;
        let (domain, remote_qpn) = (qp.domain(), qp.remote_qpn());
        let reliable = qp.service() != Some(Service::Unreliable);
        let srq = (qp.service() == Some(Service::Extended)).then(|| wqe.remote_srq());
        let body = wqe.body(qp.transport());
        let (remote, pieces) = (wqe.remote(body), wqe.pieces(body));
        let code = wqe.opcode();
        let incoming = matches!(
            code,
            opcode::READ | opcode::COMPARE_SWAP | opcode::FETCH_ADD
        );
        let outgoing = matches!(
            code,
            opcode::SEND
                | opcode::SEND_IMMEDIATE
                | opcode::SEND_INVALIDATE
                | opcode::WRITE
                | opcode::WRITE_IMMEDIATE
        );
        if !(outgoing || incoming && reliable) {
            return Err(Syndrome::LocalOperation.into());
        }
        let data = match incoming {
            true => Vec::new(),
            false => self.gather(bus, domain, &pieces)?,
        };
        if !self.is_connected(qpn) {
            // Nobody is there: an unreliable message is lost.
            return match reliable {
                true => Err(Trouble::Unanswered),
                false => Ok(data.len()),
            };
        }
        let message = Message {
            opcode: code,
            data: &data,
            immediate: wqe.immediate(),
            solicited: wqe.is_solicited(),
            source: None,
            grh: None,
            srq,
        };
        let result = match code {
            opcode::READ => {
                let len = total(&pieces)?;
                let data = self.give_read(bus, remote_qpn, remote, len)?;
                self.scatter(bus, domain, &pieces, &data)?;
                Ok(len)
            }
            opcode::COMPARE_SWAP | opcode::FETCH_ADD => {
                let (operand, compare) = wqe.atomic(body);
                let old = self.take_atomic(bus, remote_qpn, remote, |old| match code {
                    opcode::FETCH_ADD => old.wrapping_add(operand),
                    _ if old == compare => operand,
                    _ => old,
                })?;
                self.scatter(bus, domain, &pieces, &old)?;
                Ok(old.len())
            }
            opcode::WRITE | opcode::WRITE_IMMEDIATE => self
                .take_write(bus, remote_qpn, remote, &message)
                .map(|()| data.len()),
            _ => self
                .take_message(bus, remote_qpn, &message)
                .map(|()| data.len()),
        };
        // What happens at the other side of an unreliable connection is its own affair.
        match reliable {
            true => Ok(result?),
            false => Ok(data.len()),
        }
    }

    /// Whether a QP's peer is there, and thinks the same of it.
    fn is_connected(&self, qpn: u32) -> bool {
        let Some(qp) = self.qps.get(qpn) else {
            return false;
        };
        self.port_up
            && qp.remote_lid() == u64::from(LID)
            && partition(qp.pkey_index()) != 0
            && self.qps.get(qp.remote_qpn()).is_some_and(|remote| {
                remote.receives()
                    && remote.service() == qp.service()
                    && remote.remote_qpn() == qpn
                    && partition(remote.pkey_index()) == partition(qp.pkey_index())
            })
    }

    fn send_datagram(&mut self, bus: &mut Bus, qpn: u32, wqe: &Wqe) -> Moved {
        let qp = self.qps.get(qpn).ok_or(Trouble::Unanswered)?;
        let address = wqe.address();
        if !matches!(wqe.opcode(), opcode::SEND | opcode::SEND_IMMEDIATE) {
            return Err(Syndrome::LocalOperation.into());
        }
        // With the high bit set, the QP's own key is meant (IBTA vol. 1, 10.2.5).
        let qkey = match address.qkey() {
            theirs if theirs >> 31 != 0 && qp.special().is_none() && qp.source_qpn().is_none() => {
                qp.qkey()
            }
            key => key,
        };
        let source_qpn = qp.special().or(qp.source_qpn()).unwrap_or(qpn);
        let data = self.gather(bus, qp.domain(), &wqe.pieces(wqe.body(qp.transport())))?;
        if data.len() > MTU {
            return Err(Syndrome::LocalLength.into());
        }
        let grh = address.gid().map(|to| global_header(&to, data.len()));
        let message = Message {
            opcode: wqe.opcode(),
            data: &data,
            immediate: wqe.immediate(),
            solicited: wqe.is_solicited(),
            source: Some(Source {
                qpn: source_qpn,
                lid: LID,
                sl: address.sl(),
                grh: grh.is_some(),
            }),
            grh,
            srq: None,
        };
        if let Some(group) = address.gid().filter(|_| address.qpn() == MULTICAST_QPN) {
            for member in self.groups.members(&group) {
                self.take_datagram(bus, member, qkey, &message);
            }
        } else if address.lid() == LID {
            let to = match address.qpn() {
                special @ (0 | GSI_QPN) => self
                    .qps
                    .iter()
                    .find(|(_, qp)| qp.special() == Some(special) && qp.receives())
                    .map(|(qpn, _)| qpn),
                other => Some(other),
            };
            if let Some(to) = to {
                self.take_datagram(bus, to, qkey, &message);
            }
        }
        Ok(data.len())
    }
}

/// How many bytes pieces have together.
fn total(pieces: &[Piece]) -> Result<usize, Syndrome> {
    let lengths = pieces.iter().map(|piece| match piece {
        Piece::Memory { len, .. } => *len,
        Piece::Inline(bytes) => bytes.len(),
    });
    let total = lengths.fold(0, usize::saturating_add);
    if total > MAX_MESSAGE {
        return Err(Syndrome::LocalLength);
    }
    Ok(total)
}

/// A global routing header of our port to `to` (IBTA vol. 1, 8.3).
fn global_header(to: &[u8; 16], payload: usize) -> [u8; 40] {
    let mut h = [0; 40];
    put_be32(&mut h, 0, 6 << 28);
    // BTH, DETH and the CRC count, too.
    put_be16(&mut h, 4, u16::try_from(payload + 24).unwrap_or(u16::MAX));
    put_byte(&mut h, 6, 0x1b);
    put_byte(&mut h, 7, 64);
    h[8..24].copy_from_slice(&gid());
    h[24..40].copy_from_slice(to);
    h
}
