// SPDX-License-Identifier: GPL-2.0

//! The target's side: what comes in at a QP.

use crate::cq::{error_entry, Completion, Syndrome};
use crate::event::{self, kind};
use crate::hca::Hca;
use crate::memory::Access;
use crate::qp::{Service, State, Work};
use crate::wqe::{opcode, Piece, Wqe};
use crate::{mad, qp};
use bus::Bus;

/// A message on its way.
pub struct Message<'a> {
    pub opcode: u8,
    pub data: &'a [u8],
    pub immediate: u32,
    pub solicited: bool,
    pub source_qpn: u32,
    pub sl: u8,
    pub grh: Option<[u8; 40]>,
}

impl Message<'_> {
    fn has_immediate(&self) -> bool {
        matches!(
            self.opcode,
            opcode::SEND_IMMEDIATE | opcode::WRITE_IMMEDIATE
        )
    }

    /// What the completion of a receive says of it (IBTA opcodes of packets).
    fn packet_opcode(&self) -> u8 {
        match self.opcode {
            opcode::SEND_IMMEDIATE => 0x05,
            opcode::WRITE_IMMEDIATE => 0x0b,
            _ => 0x04,
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
    work: Work,
    key: u32,
    domain: u32,
}

impl Hca {
    /// Takes a QP's next receive, from its own queue or its SRQ.
    fn take_receive(&mut self, bus: &mut Bus, qpn: u32) -> Option<Receive> {
        let qp = self.qps.get_mut(&qpn)?;
        let Some(srqn) = qp.srq() else {
            let work = qp.receives.pop_front()?;
            return Some(Receive {
                work,
                key: qp.key(),
                domain: qp.domain(),
            });
        };
        let srq = self.srqs.get_mut(&srqn)?;
        let (work, below_limit) = srq.take()?;
        let receive = Receive {
            work,
            key: srq.key(),
            domain: srq.domain(),
        };
        if below_limit {
            self.event(bus, &event::entry(kind::SRQ_LIMIT, 0, srqn));
        }
        Some(receive)
    }

    /// A send, or the immediate data of a write, comes in: it takes a receive.
    pub(crate) fn take_message(
        &mut self,
        bus: &mut Bus,
        qpn: u32,
        message: &Message<'_>,
    ) -> Result<(), Refusal> {
        let receive = self.take_receive(bus, qpn).ok_or(Refusal::NotReady)?;
        let datagram = self.qps.get(&qpn).is_some_and(is_datagram);
        let placed = if message.opcode == opcode::WRITE_IMMEDIATE {
            Ok(message.data.len())
        } else {
            self.place(bus, &receive, datagram, message)
        };
        let Some(qp) = self.qps.get(&qpn) else {
            return Err(Refusal::Gone);
        };
        let cqn = qp.receive_cq();
        match placed {
            Ok(bytes) => {
                let completion = Completion {
                    qpn,
                    wqe: receive.work.at,
                    opcode: message.packet_opcode(),
                    bytes: u32::try_from(bytes).unwrap_or(u32::MAX),
                    immediate: if message.has_immediate() {
                        message.immediate
                    } else {
                        0
                    },
                    remote_qpn: message.source_qpn,
                    remote_lid: mad::LID,
                    sl: message.sl,
                    grh: message.grh.is_some(),
                    solicited: message.solicited,
                    send: false,
                };
                self.complete(bus, cqn, &completion);
                Ok(())
            }
            Err(syndrome) => {
                let behind = if qp.srq().is_some() {
                    0
                } else {
                    qp.receives.len()
                };
                let entry = error_entry(qpn, receive.work.at, false, syndrome, behind);
                if let Some(qp) = self.qps.get_mut(&qpn) {
                    qp.receives.clear();
                }
                self.put_cqe(bus, cqn, &entry, true);
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
        &mut self,
        bus: &mut Bus,
        receive: &Receive,
        datagram: bool,
        message: &Message<'_>,
    ) -> Result<usize, Syndrome> {
        let size = usize::from(receive.work.size) * 16;
        let (key, domain) = (receive.key, receive.domain);
        let wqe = self.memory.read(
            bus,
            key,
            Some(domain),
            receive.work.at.into(),
            size,
            Access::LocalRead,
        );
        let pieces = Wqe::new(wqe.map_err(|_| Syndrome::LocalOperation)?).receive_pieces();
        let mut data = Vec::new();
        let data = if datagram {
            // Datagrams have room for a global header before them, always.
            data.extend_from_slice(&message.grh.unwrap_or([0; 40]));
            data.extend_from_slice(message.data);
            &data
        } else {
            message.data
        };
        let room = pieces.iter().fold(0usize, |room, piece| match piece {
            Piece::Memory { len, .. } => room.saturating_add(*len),
            Piece::Inline(_) => room,
        });
        if room < data.len() {
            return Err(Syndrome::LocalLength);
        }
        self.scatter(bus, domain, &pieces, data)
            .map_err(|()| Syndrome::LocalProtection)?;
        Ok(data.len())
    }

    /// Writes bytes to pieces of memory, one after the other.
    pub(crate) fn scatter(
        &self,
        bus: &Bus,
        domain: u32,
        pieces: &[Piece],
        data: &[u8],
    ) -> Result<(), ()> {
        let mut rest = data;
        for piece in pieces {
            let Piece::Memory { key, va, len } = piece else {
                return Err(());
            };
            let (here, after) = rest.split_at((*len).min(rest.len()));
            if here.is_empty() {
                continue;
            }
            let list =
                self.memory
                    .translate(*key, Some(domain), *va, here.len(), Access::LocalWrite);
            bus.dma
                .scatter(&list.map_err(|_| ())?, here)
                .map_err(|_| ())?;
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
        let Some(qp) = self.qps.get(&qpn) else {
            return Err(Refusal::Gone);
        };
        let (domain, allowed) = (qp.domain(), qp.allows_write());
        let waits = message.opcode == opcode::WRITE_IMMEDIATE && !self.has_receive(qpn);
        if waits {
            return Err(Refusal::NotReady);
        }
        if !message.data.is_empty() {
            let list = self.memory.translate(
                key,
                Some(domain),
                va,
                message.data.len(),
                Access::RemoteWrite,
            );
            let written = match list {
                Ok(list) if allowed => bus.dma.scatter(&list, message.data).is_ok(),
                _ => false,
            };
            if !written {
                return Err(self.violation(bus, qpn));
            }
        }
        if message.opcode == opcode::WRITE_IMMEDIATE {
            return self.take_message(bus, qpn, message);
        }
        Ok(())
    }

    fn has_receive(&self, qpn: u32) -> bool {
        self.qps.get(&qpn).is_some_and(|qp| match qp.srq() {
            Some(srqn) => self.srqs.get(&srqn).is_some_and(|srq| !srq.work.is_empty()),
            None => !qp.receives.is_empty(),
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
        let Some(qp) = self.qps.get(&qpn) else {
            return Err(Refusal::Gone);
        };
        if len == 0 {
            return Ok(Vec::new());
        }
        let data = self
            .memory
            .read(bus, key, Some(qp.domain()), va, len, Access::RemoteRead);
        match data {
            Ok(data) if qp.allows_read() => Ok(data),
            _ => Err(self.violation(bus, qpn)),
        }
    }

    /// An atomic operation comes in; what was there before, as it lay there.
    pub(crate) fn take_atomic(
        &mut self,
        bus: &mut Bus,
        qpn: u32,
        (va, key): (u64, u32),
        operation: impl Fn(u64) -> u64,
    ) -> Result<[u8; 8], Refusal> {
        let Some(qp) = self.qps.get(&qpn) else {
            return Err(Refusal::Gone);
        };
        if va % 8 != 0 {
            self.qp_fatal(bus, qpn, kind::WQ_INVALID_REQUEST);
            return Err(Refusal::InvalidRequest);
        }
        let (domain, allowed) = (qp.domain(), qp.allows_atomic());
        let list = self
            .memory
            .translate(key, Some(domain), va, 8, Access::RemoteAtomic);
        let list = match list {
            Ok(list) if allowed => list,
            _ => return Err(self.violation(bus, qpn)),
        };
        let old = bus
            .dma
            .gather(&list)
            .ok()
            .and_then(|bytes| bytes.try_into().ok());
        let Some(old) = old else {
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
        if self
            .qps
            .get(&qpn)
            .is_some_and(|qp| qp.service() == Service::Reliable)
        {
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
        const GSI_QKEY: u32 = 0x8001_0000;
        let Some(qp) = self.qps.get(&qpn) else {
            return;
        };
        let key_fits = match qp.service() {
            Service::Datagram => qp.qkey() == qkey,
            Service::Management => qkey == GSI_QKEY || qkey == 0,
            _ => false,
        };
        if !self.port_up || !key_fits || !qp.receives() {
            self.counts.dropped_datagrams += 1;
            return;
        }
        if self.take_message(bus, qpn, message).is_err() {
            self.counts.dropped_datagrams += 1;
        }
    }

    /// A receive doorbell: so many work requests, from the first one's links on.
    pub(crate) fn receive_doorbell(&mut self, bus: &mut Bus, uar: u32, high: u32, low: u32) {
        let count = if low & 0xff == 0 {
            256
        } else {
            (low & 0xff) as usize
        };
        let first = Work {
            at: high & !0x3f,
            size: (high & 0x3f) as u8,
            opcode: 0,
        };
        let number = low >> 8;
        // Only an SRQ knows the size of its work requests.
        if first.size == 0 {
            return self.srq_doorbell(bus, uar, number, first.at, count);
        }
        let Some(qp) = self.qps.get(&number).filter(|qp| qp.uar() == uar) else {
            self.counts.stray_doorbells += 1;
            return;
        };
        let (key, domain) = (qp.key(), qp.domain());
        let found = self.follow(bus, key, domain, first, count, |size| (size & 0x3f) as u8);
        let Some(qp) = self.qps.get_mut(&number) else {
            return;
        };
        if qp.receives.len() + found.len() > crate::limits::MAX_WQES {
            return self.qp_fatal(bus, number, kind::WQ_FATAL);
        }
        qp.receives.extend(found);
        if qp.state == State::Error {
            self.flush_receives(bus, number);
        }
    }

    fn srq_doorbell(&mut self, bus: &mut Bus, uar: u32, srqn: u32, at: u32, count: usize) {
        let Some(srq) = self.srqs.get(&srqn).filter(|srq| srq.uar() == uar) else {
            self.counts.stray_doorbells += 1;
            return;
        };
        let size = srq.wqe_size();
        let first = Work {
            at,
            size,
            opcode: 0,
        };
        let found = self.follow(bus, srq.key(), srq.domain(), first, count, |_| size);
        let Some(srq) = self.srqs.get_mut(&srqn) else {
            return;
        };
        if srq.work.len() + found.len() > crate::limits::MAX_WQES {
            self.event(bus, &event::entry(kind::SRQ_ERROR, 0, srqn));
            return;
        }
        srq.work.extend(found);
    }

    /// `count` work requests along their links; fewer where memory ends.
    fn follow(
        &self,
        bus: &Bus,
        key: u32,
        domain: u32,
        first: Work,
        count: usize,
        size: impl Fn(u32) -> u8,
    ) -> Vec<Work> {
        let mut work = first;
        let mut found = Vec::with_capacity(count);
        for _ in 0..count {
            found.push(work);
            let link =
                self.memory
                    .read(bus, key, Some(domain), work.at.into(), 8, Access::LocalRead);
            let Ok(link) = link else {
                break;
            };
            work = Work {
                at: bus::bytes::be32(&link, 0) & !0x3f,
                size: size(bus::bytes::be32(&link, 4)),
                opcode: 0,
            };
        }
        found
    }
}

fn is_datagram(qp: &qp::Qp) -> bool {
    matches!(qp.service(), Service::Datagram | Service::Management)
}
