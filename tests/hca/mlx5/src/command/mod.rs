// SPDX-License-Identifier: GPL-2.0

//! Commands: the guest puts one into a ring of entries, with lists of
//! mailboxes for what does not fit there, and hears of its end by polling or
//! by an event.

mod boot;
mod domain;
mod port;
mod queue;
mod transport;

pub use boot::Capabilities;

use crate::event::{self, kind};
use crate::hca::Hca;
use crate::ifc::{op, Field};
use crate::table::{Uid, SHARED};
use bus::bytes::{be16, be32, be64, put_be32, put_byte};
use bus::{Bus, Fault};

/// How a command failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    BadOperation = 0x02,
    BadParameter = 0x03,
    BadResource = 0x05,
    ExceedsLimit = 0x08,
    BadResourceState = 0x09,
    BadIndex = 0x0a,
    NoResources = 0x0f,
    BadQpState = 0x10,
    BadInputLength = 0x50,
}

/// A command: its input, whose first words are the same in all.
pub struct Call {
    pub opcode: u16,
    pub modifier: u16,
    pub uid: Uid,
    pub input: Vec<u8>,
}

impl Call {
    fn new(input: Vec<u8>) -> Self {
        Self {
            opcode: be16(&input, 0),
            uid: be16(&input, 2),
            modifier: be16(&input, 6),
            input,
        }
    }

    fn get(&self, field: Field) -> u32 {
        field.get32(&self.input)
    }
}

/// The output, as long as the driver wants it; the first words are the status.
pub struct Reply(Vec<u8>);

impl Reply {
    fn set(&mut self, field: Field, value: impl Into<u64>) {
        field.set(&mut self.0, value.into());
    }
}

type Result = std::result::Result<(), Status>;

/// A whole entry of the ring.
const ENTRY: u64 = 64;
const ENTRIES: u32 = 32;
/// What of input and output is in the entry itself.
const HEAD: usize = 16;
/// A mailbox's bytes, and where the address of the next one is.
const MAILBOX: usize = 512;
const NEXT: usize = 560;
const MAILBOX_ENTRY: usize = 576;
/// The most bytes that a command has: a CREATE_MKEY of the largest table.
const MAX_BYTES: usize = 1 << 24;

/// Fields of an entry.
mod at {
    pub const INPUT_LENGTH: usize = 4;
    pub const INPUT_LIST: usize = 8;
    pub const INPUT: usize = 16;
    pub const OUTPUT: u64 = 32;
    pub const OUTPUT_LIST: usize = 48;
    pub const OUTPUT_LENGTH: usize = 56;
    pub const OWNER: u64 = 63;
}

fn read_input(bus: &Bus, entry: &[u8]) -> std::result::Result<Vec<u8>, Fault> {
    let length = (be32(entry, at::INPUT_LENGTH) as usize).clamp(HEAD, MAX_BYTES);
    let mut input = entry
        .get(at::INPUT..at::INPUT + HEAD)
        .unwrap_or_default()
        .to_vec();
    let mut next = be64(entry, at::INPUT_LIST);
    while input.len() < length && next != 0 {
        let mailbox = bus.dma.read_vec(next, MAILBOX_ENTRY)?;
        let n = (length - input.len()).min(MAILBOX);
        input.extend_from_slice(mailbox.get(..n).unwrap_or_default());
        next = be64(&mailbox, NEXT);
    }
    input.resize(length, 0);
    Ok(input)
}

fn write_output(bus: &Bus, at: u64, entry: &[u8], output: &[u8]) -> std::result::Result<(), Fault> {
    let (head, rest) = output.split_at(HEAD.min(output.len()));
    bus.dma.write(at + at::OUTPUT, head)?;
    let mut next = be64(entry, at::OUTPUT_LIST);
    for part in rest.chunks(MAILBOX) {
        if next == 0 {
            break;
        }
        bus.dma.write(next, part)?;
        next = be64(&bus.dma.read_vec(next, MAILBOX_ENTRY)?, NEXT);
    }
    Ok(())
}

impl Hca {
    /// A doorbell: the entries whose bits are set are new.
    pub(crate) fn run_commands(&mut self, bus: &mut Bus, doorbell: u32) {
        for index in (0..ENTRIES).filter(|index| (doorbell >> index) & 1 == 1) {
            let at = self.queue.wrapping_add(u64::from(index) * ENTRY);
            // Where the ring is not in memory, there is nobody to answer.
            if self.run_command(bus, at, 1 << index).is_err() {
                eprintln!("mlx5: the command queue is not in memory");
            }
        }
    }

    fn run_command(&mut self, bus: &mut Bus, at: u64, bit: u32) -> std::result::Result<(), Fault> {
        let entry = bus.dma.read_vec(at, ENTRY as usize)?;
        let call = Call::new(read_input(bus, &entry)?);
        let length = (be32(&entry, at::OUTPUT_LENGTH) as usize).clamp(HEAD, MAX_BYTES);
        // The command that makes the queue for such events is polled itself.
        let waiting = self.queues_for(kind::COMMAND);
        let output = self.answer(bus, &call, length);
        write_output(bus, at, &entry, &output)?;
        bus.dma.write(at + at::OWNER, &[0])?;
        for eqn in waiting {
            self.event_to(bus, eqn, event::entry(kind::COMMAND, 0, 0, bit));
        }
        Ok(())
    }

    /// Runs a command; its output.
    fn answer(&mut self, bus: &mut Bus, call: &Call, length: usize) -> Vec<u8> {
        self.counts.commands += 1;
        let mut reply = Reply(vec![0; length]);
        let result = match self.faults.take_command(call.opcode) {
            Some(status) => Err(status),
            None => self
                .dispatch(bus, call, &mut reply)
                .map_err(|status| status as u8),
        };
        let mut output = reply.0;
        if let Err(status) = result {
            eprintln!(
                "mlx5: {} {:#x} of uid {} failed with status {status:#x}",
                op::name(call.opcode),
                call.modifier,
                call.uid
            );
            output.fill(0);
            put_byte(&mut output, 0, status);
            // The syndrome tells firmware's engineers where; here, which command.
            put_be32(&mut output, 4, u32::from(call.opcode));
        }
        output
    }

    /// Each family knows its own opcodes.
    fn dispatch(&mut self, bus: &mut Bus, call: &Call, reply: &mut Reply) -> Result {
        if !matches!(call.uid, 0 | SHARED) && call.opcode != op::DESTROY_UCTX {
            self.uctxs.check(call.uid.into(), 0)?;
        }
        let families = [Self::boot_command, Self::port_command, Self::domain_command];
        for family in families {
            match family(self, call, reply) {
                Err(Status::BadOperation) => {}
                result => return result,
            }
        }
        let result = match self.queue_command(bus, call, reply) {
            Err(Status::BadOperation) => self.transport_command(bus, call, reply),
            result => result,
        };
        if result == Err(Status::BadOperation) {
            self.counts.unknown_commands += 1;
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ifc::{alloc_pd_out, create_qp_in, create_uctx_out, qpc};
    use bus::bytes::{byte, put_be16};

    /// Runs a command of a context; its status and output.
    fn run(hca: &mut Hca, opcode: u16, uid: Uid, fields: &[(Field, u64)]) -> (u8, Vec<u8>) {
        let mut input = vec![0; 512];
        for (field, value) in fields {
            field.set(&mut input, *value);
        }
        put_be16(&mut input, 0, opcode);
        put_be16(&mut input, 2, uid);
        let output = hca.answer(&mut Bus::new(0), &Call::new(input), 512);
        (byte(&output, 0), output)
    }

    fn new_uid(hca: &mut Hca) -> Uid {
        let (status, output) = run(hca, op::CREATE_UCTX, 0, &[]);
        assert_eq!(status, 0);
        create_uctx_out::UID.get(&output) as Uid
    }

    fn new_pd(hca: &mut Hca, uid: Uid) -> u64 {
        let (status, output) = run(hca, op::ALLOC_PD, uid, &[]);
        assert_eq!(status, 0);
        alloc_pd_out::PD.get(&output)
    }

    fn create_qp(hca: &mut Hca, uid: Uid, pd: u64) -> u8 {
        let mut input = vec![0; 512];
        let context = create_qp_in::QPC.part_mut(&mut input);
        qpc::PD.set(context, pd);
        // QP 1 of a port: its CQs are not looked at.
        qpc::ST.set(context, 8);
        qpc::RQ_TYPE.set(context, 3);
        put_be16(&mut input, 0, op::CREATE_QP);
        put_be16(&mut input, 2, uid);
        byte(&hca.answer(&mut Bus::new(0), &Call::new(input), 64), 0)
    }

    #[test]
    fn contexts_do_not_refer_to_each_other() {
        let mut hca = Hca::default();
        let (mine, theirs) = (new_uid(&mut hca), new_uid(&mut hca));
        let pd = new_pd(&mut hca, mine);
        assert_eq!(create_qp(&mut hca, theirs, pd), Status::BadResource as u8);
        assert_eq!(create_qp(&mut hca, 0, pd), Status::BadResource as u8);
        assert_eq!(create_qp(&mut hca, 99, pd), Status::BadIndex as u8);
        let kernel_pd = new_pd(&mut hca, 0);
        assert_eq!(
            create_qp(&mut hca, mine, kernel_pd),
            Status::BadResource as u8
        );
        assert_eq!(create_qp(&mut hca, mine, pd), 0);
        assert_eq!(create_qp(&mut hca, 0, kernel_pd), 0);
    }

    #[test]
    fn a_command_that_nobody_knows() {
        let mut hca = Hca::default();
        let (status, _) = run(&mut hca, 0xfff, 0, &[]);
        assert_eq!(status, Status::BadOperation as u8);
        assert_eq!(hca.counts.unknown_commands, 1);
    }

    #[test]
    fn commands_of_any_length() {
        let mut hca = Hca::default();
        for opcode in 0..=0xfff_u16 {
            for length in [HEAD, 17, 100, 4096] {
                let mut input = vec![0xff; length];
                put_be16(&mut input, 0, opcode);
                put_be16(&mut input, 2, 0);
                hca.answer(&mut Bus::new(0), &Call::new(input), length);
            }
        }
    }

    #[test]
    fn a_cq_wants_an_event_queue() {
        let mut hca = Hca::default();
        let (status, _) = run(&mut hca, op::CREATE_CQ, 0, &[]);
        assert_eq!(status, Status::BadIndex as u8);
    }
}
