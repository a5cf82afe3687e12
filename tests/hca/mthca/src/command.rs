// SPDX-License-Identifier: GPL-2.0

//! Commands: the guest writes one into the HCA's command register, with
//! mailboxes in its memory, and hears of its end by polling or by an event.

use crate::cq::Cq;
use crate::event::{self, kind, Eq};
use crate::hca::Hca;
use crate::{limits, mad, qp, srq};
use bus::bytes::{be32, be64, put_be16, put_be64, put_byte};
use bus::Bus;
use std::collections::HashMap;

/// Bytes of a mailbox.
const MAILBOX: usize = 4096;

/// How a command failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    BadOperation = 0x02,
    BadParameter = 0x03,
    BadResource = 0x05,
    BadIndex = 0x0a,
    BadQpState = 0x10,
    BadSize = 0x40,
}

/// The command register, word by word.
#[derive(Default, Clone, Copy)]
pub struct Register(pub [u32; 7]);

const GO: u32 = 1 << 23;
const EVENT: u32 = 1 << 22;

impl Register {
    /// Whether what was written last starts a command.
    pub fn is_go(&self) -> bool {
        self.0[6] & GO != 0
    }
}

/// A command as it was written.
#[derive(Debug, Clone, Copy)]
pub struct Command {
    pub input: u64,
    pub modifier: u32,
    pub output: u64,
    pub token: u16,
    pub opcode: u16,
    pub sub: u8,
    by_event: bool,
}

impl From<Register> for Command {
    fn from(Register(r): Register) -> Self {
        let wide = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
        Self {
            input: wide(r[0], r[1]),
            modifier: r[2],
            output: wide(r[3], r[4]),
            token: (r[5] >> 16) as u16,
            opcode: (r[6] & 0xfff) as u16,
            sub: (r[6] >> 12 & 0xf) as u8,
            by_event: r[6] & EVENT != 0,
        }
    }
}

/// What a command gives back.
pub enum Reply {
    Nothing,
    /// In the register itself.
    Immediate(u64),
    /// In the output mailbox.
    Mailbox(Vec<u8>),
}

type Result = std::result::Result<Reply, Status>;

/// `Ok` where something was there.
fn found(there: bool) -> Result {
    if there {
        Ok(Reply::Nothing)
    } else {
        Err(Status::BadIndex)
    }
}

/// Whether an object of this number can be: its low bits are an index, the high
/// ones tell it from what had that index before.
fn has_room<T>(table: &HashMap<u32, T>, number: u32, most: u32) -> bool {
    number >> 24 == 0 && (table.len() as u64) < u64::from(most)
}

impl Hca {
    /// Runs the command that is in the register.
    pub(crate) fn run_command(&mut self, bus: &mut Bus) {
        let command = Command::from(self.register);
        self.counts.commands += 1;
        let result = match self.faults.take_command(command.opcode) {
            Some(status) => Err(status),
            None => self.dispatch(bus, &command).map_err(|status| status as u8),
        };
        let (status, immediate) = match result {
            Ok(Reply::Immediate(value)) => (0, value),
            Ok(Reply::Mailbox(bytes)) => {
                let written = bus.dma.write(command.output, &bytes);
                (if written.is_ok() { 0 } else { 1 }, command.output)
            }
            Ok(Reply::Nothing) => (0, command.output),
            Err(status) => (status, command.output),
        };
        if status != 0 {
            eprintln!("mthca: {command:x?} failed with status {status:#x}");
        }
        self.register.0[3] = (immediate >> 32) as u32;
        self.register.0[4] = immediate as u32;
        self.register.0[6] = u32::from(status) << 24;
        if command.by_event {
            let mut e = event::entry(kind::COMMAND, 0, 0);
            put_be16(&mut e, 6, command.token);
            put_byte(&mut e, 15, status);
            put_be64(&mut e, 16, immediate);
            self.event(bus, &e);
        }
    }

    fn dispatch(&mut self, bus: &mut Bus, c: &Command) -> Result {
        let mailbox = || {
            let read = bus.dma.read_vec(c.input, MAILBOX);
            read.map_err(|_| Status::BadParameter)
        };
        match c.opcode {
            // SYS_EN, SYS_DIS, SET_IB, SYNC_TPT, NOP.
            0x01 | 0x02 | 0x0c | 0x2f | 0x31 => Ok(Reply::Nothing),
            0x23 => {
                // CONF_SPECIAL_QP, of type SMI: the others follow.
                if c.sub == 0 {
                    self.specials = Some(c.modifier & 0xff_ffff);
                }
                Ok(Reply::Nothing)
            }
            0x03 => Ok(Reply::Mailbox(limits::device())),
            0x04 => Ok(Reply::Mailbox(limits::firmware())),
            0x05 => Ok(Reply::Mailbox(limits::attached_memory())),
            0x06 => Ok(Reply::Mailbox(limits::adapter())),
            0x07 => {
                self.groups.set_hash_size(be32(&mailbox()?, 0xd4));
                Ok(Reply::Nothing)
            }
            0x08 => {
                self.close();
                Ok(Reply::Nothing)
            }
            0x09 => self.set_port(bus, c.modifier, true),
            0x0a => self.set_port(bus, c.modifier, false),
            0x0d => found(self.memory.insert(c.modifier, &mailbox()?)),
            0x0f => {
                found(self.memory.remove(c.modifier))?;
                // The mailbox is optional.
                Ok(if c.sub == 0 {
                    Reply::Mailbox(vec![0; 64])
                } else {
                    Reply::Nothing
                })
            }
            0x11 => found(self.memory.write_pages(&mailbox()?, c.modifier)),
            0x12..=0x18 | 0x2c => self.queue_command(c, mailbox),
            0x24 => Ok(Reply::Mailbox(mad::answer(&mailbox()?, self.port_up))),
            0x25 => self
                .groups
                .read(c.modifier)
                .map(Reply::Mailbox)
                .ok_or(Status::BadIndex),
            0x26 => found(self.groups.write(c.modifier, &mailbox()?)),
            0x27 => Ok(Reply::Immediate(self.groups.hash(&mailbox()?))),
            0x35..=0x37 | 0x40 => self.srq_command(c, mailbox),
            0x19..=0x22 | 0x2d | 0x38 => {
                // Not all have one.
                let parameters = mailbox().unwrap_or_default();
                self.qp_command(bus, c, &parameters)
            }
            _ => {
                self.counts.unknown_commands += 1;
                Err(Status::BadOperation)
            }
        }
    }

    /// INIT_IB and CLOSE_IB.
    fn set_port(&mut self, bus: &mut Bus, port: u32, up: bool) -> Result {
        if port != 1 {
            return Err(Status::BadIndex);
        }
        if self.port_up != up {
            self.change_port(bus, up);
        }
        Ok(Reply::Nothing)
    }

    /// Commands of event and completion queues.
    fn queue_command(
        &mut self,
        c: &Command,
        mailbox: impl Fn() -> std::result::Result<Vec<u8>, Status>,
    ) -> Result {
        let context = Ok(Reply::Mailbox(vec![0; 64]));
        match c.opcode {
            0x12 => {
                let eq = self
                    .eqs
                    .get_mut(&(c.modifier & 0xff))
                    .ok_or(Status::BadIndex)?;
                if c.modifier >> 31 == 0 {
                    eq.mask |= c.input
                } else {
                    eq.mask &= !c.input
                }
                Ok(Reply::Nothing)
            }
            0x13 if c.modifier < limits::EQS => {
                self.eqs.insert(c.modifier, Eq::parse(&mailbox()?));
                Ok(Reply::Nothing)
            }
            0x14 => found(self.eqs.remove(&c.modifier).is_some()).and(context),
            0x16 if has_room(&self.cqs, c.modifier, limits::CQS) => {
                self.cqs.insert(c.modifier, Cq::parse(&mailbox()?));
                Ok(Reply::Nothing)
            }
            0x17 => found(self.cqs.remove(&c.modifier).is_some()).and(context),
            0x2c => {
                let cq = self.cqs.get_mut(&c.modifier).ok_or(Status::BadIndex)?;
                cq.resize(&mailbox()?).map(|()| Reply::Nothing)
            }
            0x13 | 0x16 => Err(Status::BadIndex),
            _ => {
                self.counts.unknown_commands += 1;
                Err(Status::BadOperation)
            }
        }
    }

    /// Commands of shared receive queues.
    fn srq_command(
        &mut self,
        c: &Command,
        mailbox: impl Fn() -> std::result::Result<Vec<u8>, Status>,
    ) -> Result {
        match c.opcode {
            0x35 if has_room(&self.srqs, c.modifier, limits::SRQS) => {
                self.srqs.insert(c.modifier, srq::Srq::parse(&mailbox()?));
                Ok(Reply::Nothing)
            }
            0x35 => Err(Status::BadIndex),
            0x36 => {
                let srq = self.srqs.remove(&c.modifier).ok_or(Status::BadIndex)?;
                Ok(Reply::Mailbox(srq.context()))
            }
            0x37 => {
                let srq = self.srqs.get(&c.modifier).ok_or(Status::BadIndex)?;
                Ok(Reply::Mailbox(srq.context()))
            }
            _ => {
                let srq = self.srqs.get_mut(&c.modifier).ok_or(Status::BadIndex)?;
                srq.limit = (c.input & 0xffff) as u16;
                Ok(Reply::Nothing)
            }
        }
    }

    /// Commands of queue pairs: transitions and QUERY_QPEE.
    fn qp_command(&mut self, bus: &mut Bus, c: &Command, parameters: &[u8]) -> Result {
        let qpn = c.modifier & 0xff_ffff;
        match c.opcode {
            0x22 => {
                let qp = self.qps.get(&qpn).ok_or(Status::BadIndex)?;
                Ok(Reply::Mailbox(qp.query()))
            }
            0x21 => {
                self.qps.remove(&qpn);
                // Bit 0: no output mailbox.
                let wanted = c.sub & 1 == 0 && c.output != 0;
                Ok(if wanted {
                    Reply::Mailbox(vec![0; 264])
                } else {
                    Reply::Nothing
                })
            }
            0x1e => {
                self.qp_to_error(bus, qpn);
                Ok(Reply::Nothing)
            }
            0x19 => {
                let qp = qp::Qp::new(parameters);
                if self.qps.contains_key(&qpn) {
                    return Err(Status::BadQpState);
                }
                self.qps.insert(qpn, qp);
                Ok(Reply::Nothing)
            }
            _ => {
                let qp = self.qps.get_mut(&qpn).ok_or(Status::BadResource)?;
                qp.modify(c.opcode, parameters)?;
                self.run_send_queue(bus, qpn);
                Ok(Reply::Nothing)
            }
        }
    }
}

/// The group of a mailbox that MGID_HASH got.
pub fn gid(mailbox: &[u8]) -> [u8; 16] {
    let mut gid = [0; 16];
    put_be64(&mut gid, 0, be64(mailbox, 0));
    put_be64(&mut gid, 8, be64(mailbox, 8));
    gid
}
