// SPDX-License-Identifier: GPL-2.0

//! The target's side: what comes in at a QP.

use crate::cq::{self, Completion, Source, Syndrome};
use crate::event::{self, kind};
use crate::hca::Hca;
use crate::ifc::qpc;
use crate::memory::Access;
use crate::qp::{Receives, Service, State};
use crate::wqe::{opcode, receive_pieces, Piece};
use bus::Bus;

/// The most receives of a queue.
const MAX_RECEIVES: usize = 1 << 16;
/// Datagrams have room for a global header before them, always.
const GLOBAL_HEADER: usize = 40;
const GSI_QKEY: u32 = 0x8001_0000;

/// A message on its way.
pub struct Message<'a> {
    pub opcode: u8,
    pub data: &'a [u8],
    pub immediate: u32,
    pub solicited: bool,
    /// Of a datagram.
    pub source: Option<Source>,
    pub grh: Option<[u8; GLOBAL_HEADER]>,
    /// The SRQ that it names, of an XRC send.
    pub srq: Option<u32>,
}

impl Message<'_> {
    fn completion_opcode(&self) -> u8 {
        match self.opcode {
            opcode::WRITE_IMMEDIATE => cq::opcode::WRITE_IMMEDIATE,
            opcode::SEND_IMMEDIATE => cq::opcode::SEND_IMMEDIATE,
            opcode::SEND_INVALIDATE => cq::opcode::SEND_INVALIDATE,
            _ => cq::opcode::SEND,
        }
    }
}

/// What the target answers instead of an acknowledgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    NotReady,
    InvalidRequest,
    Access,
    Operation,
    /// Nothing.
    Gone,
}

/// A receive, taken off its queue.
struct Receive {
    domain: u32,
    counter: u16,
    cqn: u32,
    user_index: u32,
    pieces: Vec<Piece>,
}

impl Hca {
    /// The SRQ that a message's receive comes from, if from one.
    fn srq_for(&self, qpn: u32, message: &Message<'_>) -> Result<Option<u32>, Refusal> {
        let qp = self.qps.get(qpn).ok_or(Refusal::Gone)?;
        match (message.srq, qp.receives_from()) {
            (Some(srqn), _) => {
                // An XRC send names an SRQ of the target's XRC domain.
                let xrcd = self.srqs.get(srqn).and_then(|srq| srq.xrcd);
                if xrcd != Some(qpc::XRCD.get32(&qp.context)) {
                    return Err(Refusal::InvalidRequest);
                }
                Ok(Some(srqn))
            }
            (None, Receives::Shared(srqn)) => Ok(Some(srqn)),
            (None, Receives::Own) => Ok(None),
            (None, Receives::None) => Err(Refusal::NotReady),
        }
    }

    fn take_receive(
        &mut self,
        bus: &mut Bus,
        qpn: u32,
        message: &Message<'_>,
    ) -> Result<Receive, Refusal> {
        let srqn = self.srq_for(qpn, message)?;
        let qp = self.qps.get_mut(qpn).ok_or(Refusal::Gone)?;
        let (cqn, user_index) = (qp.receive_cq(), qp.user_index());
        let Some(srqn) = srqn else {
            if qp.posted_receives(bus) == 0 {
                return Err(Refusal::NotReady);
            }
            let bytes = qp.read_receive(bus).ok_or(Refusal::Operation)?;
            let counter = qp.received;
            qp.received = counter.wrapping_add(1);
            return Ok(Receive {
                domain: qp.domain(),
                counter,
                cqn,
                user_index,
                pieces: receive_pieces(&bytes),
            });
        };
        let srq = self.srqs.get_mut(srqn).ok_or(Refusal::NotReady)?;
        let taken = srq.take(bus).ok_or(Refusal::NotReady)?;
        let receive = Receive {
            domain: srq.domain(),
            counter: taken.index,
            cqn: if message.srq.is_some() { srq.cqn } else { cqn },
            user_index: match message.srq {
                Some(_) => srq.user_index,
                None => user_index,
            },
            pieces: receive_pieces(&taken.bytes),
        };
        if taken.below_limit {
            let entry = event::of_queue(kind::SRQ_LIMIT, srqn, true);
            self.event(bus, kind::SRQ_LIMIT, entry);
        }
        Ok(receive)
    }

    /// A send, or the immediate data of a write, comes in: it takes a receive.
    pub(crate) fn take_message(
        &mut self,
        bus: &mut Bus,
        qpn: u32,
        message: &Message<'_>,
    ) -> Result<(), Refusal> {
        let receive = self.take_receive(bus, qpn, message)?;
        let placed = match message.opcode {
            opcode::WRITE_IMMEDIATE => Ok(message.data.len()),
            _ => self.place(bus, &receive, message),
        };
        let invalidated = match message.opcode {
            opcode::SEND_INVALIDATE => self.invalidate(qpn, message.immediate),
            _ => Ok(()),
        };
        let mut completion = Completion {
            qpn,
            user_index: receive.user_index,
            counter: receive.counter,
            opcode: message.completion_opcode(),
            immediate: message.immediate,
            source: message.source,
            solicited: message.solicited,
            ..Completion::default()
        };
        match placed.and_then(|bytes| invalidated.map(|()| bytes)) {
            Ok(bytes) => {
                completion.bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
                self.complete(bus, receive.cqn, &completion);
                Ok(())
            }
            Err(syndrome) => {
                completion.opcode = cq::opcode::RESPONSE_ERROR;
                self.complete_with_error(bus, receive.cqn, &completion, syndrome);
                self.qp_to_error(bus, qpn);
                Err(match syndrome {
                    Syndrome::LocalLength => Refusal::InvalidRequest,
                    _ => Refusal::Operation,
                })
            }
        }
    }

    /// Puts a message where its receive says; the bytes that are there then.
    fn place(
        &self,
        bus: &Bus,
        receive: &Receive,
        message: &Message<'_>,
    ) -> Result<usize, Syndrome> {
        let mut data = Vec::new();
        if message.source.is_some() {
            data.extend_from_slice(&message.grh.unwrap_or([0; GLOBAL_HEADER]));
        }
        data.extend_from_slice(message.data);
        let room = receive.pieces.iter().fold(0usize, |room, piece| {
            room.saturating_add(match piece {
                Piece::Memory { len, .. } => *len,
                Piece::Inline(_) => 0,
            })
        });
        if room < data.len() {
            return Err(Syndrome::LocalLength);
        }
        self.scatter(bus, receive.domain, &receive.pieces, &data)?;
        Ok(data.len())
    }

    /// Writes bytes to pieces of memory, one after the other.
    pub(crate) fn scatter(
        &self,
        bus: &Bus,
        domain: u32,
        pieces: &[Piece],
        data: &[u8],
    ) -> Result<(), Syndrome> {
        let mut rest = data;
        for piece in pieces {
            let Piece::Memory { key, va, len } = piece else {
                return Err(Syndrome::LocalOperation);
            };
            let (here, after) = rest.split_at((*len).min(rest.len()));
            self.write_memory(bus, *key, domain, *va, here, Access::LocalWrite)
                .map_err(|_| Syndrome::LocalProtection)?;
            rest = after;
        }
        Ok(())
    }

    /// An RDMA write comes in.
    pub(crate) fn take_write(
        &mut self,
        bus: &mut Bus,
        qpn: u32,
        (va, key): (u64, u32),
        message: &Message<'_>,
    ) -> Result<(), Refusal> {
        let with_immediate = message.opcode == opcode::WRITE_IMMEDIATE;
        if with_immediate && !self.has_receive(bus, qpn, message)? {
            return Err(Refusal::NotReady);
        }
        let qp = self.qps.get(qpn).ok_or(Refusal::Gone)?;
        if !message.data.is_empty() {
            let access = Access::RemoteWrite;
            let write = || self.write_memory(bus, key, qp.domain(), va, message.data, access);
            if !qp.allows(qpc::RWE) || write().is_err() {
                return Err(self.violation(bus, qpn));
            }
        }
        if with_immediate {
            return self.take_message(bus, qpn, message);
        }
        Ok(())
    }

    fn has_receive(&self, bus: &Bus, qpn: u32, message: &Message<'_>) -> Result<bool, Refusal> {
        let qp = self.qps.get(qpn).ok_or(Refusal::Gone)?;
        Ok(match self.srq_for(qpn, message)? {
            Some(srqn) => self.srqs.get(srqn).is_some_and(|srq| !srq.is_empty(bus)),
            None => qp.posted_receives(bus) > 0,
        })
    }

    /// An RDMA read comes in.
    pub(crate) fn give_read(
        &mut self,
        bus: &mut Bus,
        qpn: u32,
        (va, key): (u64, u32),
        len: usize,
    ) -> Result<Vec<u8>, Refusal> {
        let qp = self.qps.get(qpn).ok_or(Refusal::Gone)?;
        if len == 0 {
            return Ok(Vec::new());
        }
        match self.read_memory(bus, key, qp.domain(), va, len, Access::RemoteRead) {
            Ok(data) if qp.allows(qpc::RRE) => Ok(data),
            _ => Err(self.violation(bus, qpn)),
        }
    }

    /// An atomic operation comes in; what was there before, as it lay there.
    /// It works on numbers in the guest's byte order, as the driver asks for.
    pub(crate) fn take_atomic(
        &mut self,
        bus: &mut Bus,
        qpn: u32,
        (va, key): (u64, u32),
        operation: impl Fn(u64) -> u64,
    ) -> Result<[u8; 8], Refusal> {
        let qp = self.qps.get(qpn).ok_or(Refusal::Gone)?;
        if va % 8 != 0 {
            self.qp_fatal(bus, qpn, kind::WQ_INVALID_REQUEST);
            return Err(Refusal::InvalidRequest);
        }
        let list = self.translate(key, qp.domain(), va, 8, Access::RemoteAtomic);
        let list = match list {
            Ok(list) if qp.allows(qpc::RAE) => list,
            _ => return Err(self.violation(bus, qpn)),
        };
        let old = bus.dma.gather(&list).ok();
        let Some(old) = old.and_then(|bytes| <[u8; 8]>::try_from(bytes).ok()) else {
            return Err(self.violation(bus, qpn));
        };
        let new = operation(u64::from_le_bytes(old)).to_le_bytes();
        match bus.dma.scatter(&list, &new) {
            Ok(_) => Ok(old),
            Err(_) => Err(self.violation(bus, qpn)),
        }
    }

    /// Somebody tried what he may not: the target of a reliable connection goes
    /// to its error state, too (IBTA vol. 1, 9.9.3.1).
    fn violation(&mut self, bus: &mut Bus, qpn: u32) -> Refusal {
        let service = self.qps.get(qpn).and_then(|qp| qp.service());
        if matches!(service, Some(Service::Reliable | Service::Extended)) {
            self.qp_fatal(bus, qpn, kind::WQ_ACCESS);
        }
        Refusal::Access
    }

    /// A datagram comes in; one that nobody can take is lost.
    pub(crate) fn take_datagram(
        &mut self,
        bus: &mut Bus,
        qpn: u32,
        qkey: u32,
        message: &Message<'_>,
    ) {
        let fits = self.qps.get(qpn).is_some_and(|qp| {
            let key_fits = match qp.service() {
                Some(Service::Datagram) => qp.qkey() == qkey,
                Some(Service::Management) => qkey == GSI_QKEY || qp.special() == Some(0),
                _ => false,
            };
            key_fits && qp.receives()
        });
        if !self.port_up || !fits || self.take_message(bus, qpn, message).is_err() {
            self.counts.dropped_datagrams += 1;
        }
    }

    /// Receives of a QP in error are flushed; an SRQ's stay.
    pub(crate) fn flush_receives(&mut self, bus: &mut Bus, qpn: u32) {
        for _ in 0..MAX_RECEIVES {
            let Some(qp) = self.qps.get_mut(qpn) else {
                return;
            };
            if qp.state != State::Error || qp.posted_receives(bus) == 0 {
                return;
            }
            let completion = Completion {
                qpn,
                user_index: qp.user_index(),
                counter: qp.received,
                opcode: cq::opcode::RESPONSE_ERROR,
                ..Completion::default()
            };
            qp.received = qp.received.wrapping_add(1);
            let cqn = qp.receive_cq();
            self.complete_with_error(bus, cqn, &completion, Syndrome::Flushed);
        }
    }
}
