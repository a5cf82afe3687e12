// SPDX-License-Identifier: GPL-2.0

//! Queue pairs: their contexts and states.

use crate::command::Status;
use crate::ifc::{ads, create_qp_in, op, qpc, Field};
use crate::ring::Ring;
use crate::wqe::{Transport, BLOCK};
use bus::bytes::be32;
use bus::Bus;
use std::time::Duration;

/// States, with the numbers they have in a context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    Reset = 0,
    Init = 1,
    ReadyToReceive = 2,
    ReadyToSend = 3,
    Error = 6,
}

/// Services.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Service {
    Reliable,
    Unreliable,
    Datagram,
    /// Reliable, with receives from SRQs that each send names.
    Extended,
    /// QP 0 and QP 1.
    Management,
    /// Only changes memory keys.
    Registration,
}

/// Where a QP's receives come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Receives {
    Own,
    Shared(u32),
    None,
}

/// Bits of the option mask, and what each lets a transition change.
const OPTIONS: &[(u32, &[Field])] = &[
    (1 << 1, &[qpc::RRE]),
    (1 << 2, &[qpc::RAE]),
    (1 << 3, &[qpc::RWE]),
    (1 << 5, &[qpc::Q_KEY]),
    (1 << 6, &[qpc::MIN_RNR_NAK]),
    (1 << 8, &[qpc::LOG_SRA_MAX]),
    (1 << 9, &[qpc::LOG_RRA_MAX]),
    (1 << 12, &[qpc::RETRY_COUNT]),
    (1 << 13, &[qpc::RNR_RETRY]),
];
const OPTION_PKEY: u32 = 1 << 4;
const OPTION_PATH: u32 = 1 << 7;
const OPTION_TIMEOUT: u32 = 1 << 14;

/// What transitions to a state always change.
fn required(to: State) -> &'static [Field] {
    match to {
        State::Init => &[
            qpc::PRIMARY_ADDRESS_PATH,
            qpc::Q_KEY,
            qpc::RRE,
            qpc::RWE,
            qpc::RAE,
        ],
        State::ReadyToReceive => &[
            qpc::MTU,
            qpc::LOG_MSG_MAX,
            qpc::REMOTE_QPN,
            qpc::PRIMARY_ADDRESS_PATH,
            qpc::LOG_RRA_MAX,
            qpc::MIN_RNR_NAK,
            qpc::NEXT_RCV_PSN,
        ],
        State::ReadyToSend => &[
            qpc::LOG_SRA_MAX,
            qpc::RETRY_COUNT,
            qpc::RNR_RETRY,
            qpc::NEXT_SEND_PSN,
        ],
        _ => &[],
    }
}

/// A queue pair.
pub struct Qp {
    pub context: Vec<u8>,
    ring: Ring,
    pub state: State,
    /// How many blocks were sent, and how many receives were taken.
    pub sent: u16,
    pub received: u16,
    /// How often the current send was tried again, by reason.
    pub retries: u32,
    pub rnr_retries: u32,
    /// A timer is set, after which it is tried again.
    pub waiting: bool,
}

impl Qp {
    /// From a CREATE_QP.
    pub fn parse(input: &[u8]) -> Self {
        let mut context = create_qp_in::QPC.part(input).to_vec();
        context.resize(qpc::BYTES, 0);
        let list = input.get(create_qp_in::BYTES..).unwrap_or_default();
        let ring = Ring::new(
            list,
            qpc::LOG_PAGE_SIZE.get32(&context),
            qpc::PAGE_OFFSET.get32(&context),
        );
        Self {
            context,
            ring,
            state: State::Reset,
            sent: 0,
            received: 0,
            retries: 0,
            rnr_retries: 0,
            waiting: false,
        }
    }

    /// Back to how it was created.
    pub fn reset(&mut self) {
        self.state = State::Reset;
        self.sent = 0;
        self.received = 0;
        self.retries = 0;
        self.rnr_retries = 0;
        self.waiting = false;
    }

    /// One of the transitions that take a context, by its opcode.
    pub fn modify(&mut self, opcode: u16, options: u32, new: &[u8]) -> Result<(), Status> {
        use State::{Init, ReadyToReceive, ReadyToSend, Reset};
        let (from, to) = match opcode {
            op::RST2INIT_QP => (Reset, Init),
            op::INIT2INIT_QP => (Init, Init),
            op::INIT2RTR_QP => (Init, ReadyToReceive),
            op::RTR2RTS_QP => (ReadyToReceive, ReadyToSend),
            op::RTS2RTS_QP => (ReadyToSend, ReadyToSend),
            _ => return Err(Status::BadOperation),
        };
        if self.state != from {
            return Err(Status::BadQpState);
        }
        let timeout = ads::ACK_TIMEOUT.get(self.path());
        if from != to {
            for field in required(to) {
                field.copy(&mut self.context, new);
            }
        }
        if from == ReadyToReceive || options & OPTION_TIMEOUT != 0 {
            let new = ads::ACK_TIMEOUT.get(qpc::PRIMARY_ADDRESS_PATH.part(new));
            self.set_timeout(new);
        } else {
            self.set_timeout(timeout);
        }
        self.apply_options(options, new);
        self.state = to;
        Ok(())
    }

    fn set_timeout(&mut self, timeout: u64) {
        let path = qpc::PRIMARY_ADDRESS_PATH.part_mut(&mut self.context);
        ads::ACK_TIMEOUT.set(path, timeout);
    }

    fn apply_options(&mut self, options: u32, new: &[u8]) {
        for (bit, fields) in OPTIONS {
            if options & bit != 0 {
                fields
                    .iter()
                    .for_each(|field| field.copy(&mut self.context, new));
            }
        }
        if options & OPTION_PATH != 0 {
            let timeout = ads::ACK_TIMEOUT.get(self.path());
            qpc::PRIMARY_ADDRESS_PATH.copy(&mut self.context, new);
            self.set_timeout(timeout);
        }
        if options & OPTION_PKEY != 0 {
            let index = ads::PKEY_INDEX.get(qpc::PRIMARY_ADDRESS_PATH.part(new));
            let path = qpc::PRIMARY_ADDRESS_PATH.part_mut(&mut self.context);
            ads::PKEY_INDEX.set(path, index);
        }
    }

    fn path(&self) -> &[u8] {
        qpc::PRIMARY_ADDRESS_PATH.part(&self.context)
    }

    pub fn service(&self) -> Option<Service> {
        match qpc::ST.get(&self.context) {
            0x0 => Some(Service::Reliable),
            0x1 => Some(Service::Unreliable),
            0x2 => Some(Service::Datagram),
            0x3 => Some(Service::Extended),
            0x7 | 0x8 => Some(Service::Management),
            0xc => Some(Service::Registration),
            _ => None,
        }
    }

    pub fn transport(&self) -> Transport {
        match self.service() {
            Some(Service::Datagram | Service::Management) => Transport::Datagram,
            Some(Service::Extended) => Transport::Shared,
            _ => Transport::Plain,
        }
    }

    /// Which of the port's special QPs it is.
    pub fn special(&self) -> Option<u32> {
        match qpc::ST.get(&self.context) {
            0x7 => Some(0),
            0x8 => Some(1),
            _ => None,
        }
    }

    pub fn domain(&self) -> u32 {
        qpc::PD.get32(&self.context)
    }

    pub fn uar(&self) -> u32 {
        qpc::UAR_PAGE.get32(&self.context)
    }

    pub fn user_index(&self) -> u32 {
        qpc::USER_INDEX.get32(&self.context)
    }

    pub fn send_cq(&self) -> u32 {
        qpc::CQN_SND.get32(&self.context)
    }

    pub fn receive_cq(&self) -> u32 {
        qpc::CQN_RCV.get32(&self.context)
    }

    pub fn remote_qpn(&self) -> u32 {
        qpc::REMOTE_QPN.get32(&self.context)
    }

    pub fn remote_lid(&self) -> u64 {
        ads::RLID.get(self.path())
    }

    pub fn pkey_index(&self) -> u64 {
        ads::PKEY_INDEX.get(self.path())
    }

    pub fn qkey(&self) -> u32 {
        qpc::Q_KEY.get32(&self.context)
    }

    /// The number that its datagrams say they come from, where it is not its own.
    pub fn source_qpn(&self) -> Option<u32> {
        Some(qpc::DETH_SQPN.get32(&self.context)).filter(|&qpn| qpn != 0)
    }

    pub fn allows(&self, right: Field) -> bool {
        right.is_set(&self.context)
    }

    pub fn receives_from(&self) -> Receives {
        match qpc::RQ_TYPE.get(&self.context) {
            0 => Receives::Own,
            1 => Receives::Shared(qpc::SRQN_RMPN_XRQN.get32(&self.context)),
            _ => Receives::None,
        }
    }

    /// Whether it takes what comes.
    pub fn receives(&self) -> bool {
        matches!(self.state, State::ReadyToReceive | State::ReadyToSend)
    }

    /// How often to try again when nobody answers.
    pub fn retry_count(&self) -> u32 {
        qpc::RETRY_COUNT.get32(&self.context)
    }

    /// How often to try again when the other side has no receive; `None`: for ever.
    pub fn rnr_retry_count(&self) -> Option<u32> {
        Some(qpc::RNR_RETRY.get32(&self.context)).filter(|&count| count < 7)
    }

    /// How long to wait for an answer: 4.096 us times a power of two. Zero is
    /// for ever, which is bounded here as hardware does.
    pub fn ack_timeout(&self) -> Duration {
        match ads::ACK_TIMEOUT.get32(self.path()) {
            0 => Duration::from_secs(4),
            log => Duration::from_nanos(4096) * (1 << log.min(20)),
        }
    }

    /// How long others are to wait for a receive (IBTA vol. 1, 9.7.5.2.8).
    pub fn rnr_delay(&self) -> Duration {
        const HUNDREDTHS: [u64; 32] = [
            65536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768,
            1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152,
        ];
        let code = qpc::MIN_RNR_NAK.get32(&self.context) as usize;
        Duration::from_micros(10 * HUNDREDTHS.get(code).copied().unwrap_or(1))
    }

    fn record(&self, bus: &Bus, at: u64) -> Option<u16> {
        let mut record = [0; 4];
        let record_at = qpc::DBR_ADDR.get(&self.context).wrapping_add(at);
        bus.dma.read(record_at, &mut record).ok()?;
        Some((be32(&record, 0) & 0xffff) as u16)
    }

    /// How many receives software has posted that were not taken.
    pub fn posted_receives(&self, bus: &Bus) -> u16 {
        match self.receives_from() {
            Receives::Own => self
                .record(bus, 0)
                .map_or(0, |posted| posted.wrapping_sub(self.received)),
            _ => 0,
        }
    }

    /// How many blocks of sends software has posted that were not sent.
    pub fn posted_blocks(&self, bus: &Bus) -> u16 {
        if qpc::NO_SQ.is_set(&self.context) {
            return 0;
        }
        self.record(bus, 4)
            .map_or(0, |posted| posted.wrapping_sub(self.sent))
    }

    fn receive_queue(&self) -> (u64, u64) {
        let stride = 16u64 << qpc::LOG_RQ_STRIDE.get(&self.context);
        match self.receives_from() {
            Receives::Own => (1 << qpc::LOG_RQ_SIZE.get(&self.context), stride),
            _ => (0, stride),
        }
    }

    /// The next receive's bytes.
    pub fn read_receive(&self, bus: &Bus) -> Option<Vec<u8>> {
        let (count, stride) = self.receive_queue();
        let slot = u64::from(self.received) & count.checked_sub(1)?;
        let len = usize::try_from(stride).ok()?;
        self.ring.read(bus, slot * stride, len).ok()
    }

    /// A block of the send queue, which follows the receive queue.
    pub fn read_block(&self, bus: &Bus, index: u16) -> Option<Vec<u8>> {
        let (count, stride) = self.receive_queue();
        let blocks = 1u64 << qpc::LOG_SQ_SIZE.get(&self.context);
        let at = count * stride + (u64::from(index) & (blocks - 1)) * BLOCK as u64;
        self.ring.read(bus, at, BLOCK).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn qp() -> Qp {
        Qp::parse(&[])
    }

    fn context(fields: &[(Field, u64)]) -> Vec<u8> {
        let mut context = vec![0; qpc::BYTES];
        for (field, value) in fields {
            field.set(&mut context, *value);
        }
        context
    }

    #[test]
    fn transitions_take_what_is_theirs() {
        let mut qp = qp();
        let new = context(&[(qpc::Q_KEY, 5), (qpc::REMOTE_QPN, 9)]);
        assert_eq!(qp.modify(op::INIT2RTR_QP, 0, &new), Err(Status::BadQpState));
        qp.modify(op::RST2INIT_QP, 0, &new).unwrap();
        assert_eq!((qp.qkey(), qp.remote_qpn()), (5, 0));
        let mut new = context(&[(qpc::Q_KEY, 6), (qpc::REMOTE_QPN, 9)]);
        ads::RLID.set(qpc::PRIMARY_ADDRESS_PATH.part_mut(&mut new), 7);
        qp.modify(op::INIT2RTR_QP, 0, &new).unwrap();
        assert_eq!((qp.qkey(), qp.remote_qpn(), qp.remote_lid()), (5, 9, 7));
        let new = context(&[(qpc::RNR_RETRY, 7), (qpc::Q_KEY, 6), (qpc::RRE, 1)]);
        qp.modify(op::RTR2RTS_QP, 1 << 5, &new).unwrap();
        assert_eq!((qp.qkey(), qp.rnr_retry_count()), (6, None));
        assert_eq!((qp.remote_lid(), qp.allows(qpc::RRE)), (7, false));
        assert!(qp.receives());
        qp.reset();
        assert!(!qp.receives());
    }

    #[test]
    fn the_timeout_is_not_part_of_the_path() {
        let mut qp = qp();
        let mut new = context(&[]);
        qp.modify(op::RST2INIT_QP, 0, &new).unwrap();
        qp.modify(op::INIT2RTR_QP, 0, &new).unwrap();
        ads::ACK_TIMEOUT.set(qpc::PRIMARY_ADDRESS_PATH.part_mut(&mut new), 14);
        qp.modify(op::RTR2RTS_QP, 0, &new).unwrap();
        assert_eq!(qp.ack_timeout(), Duration::from_nanos(4096 << 14));
        qp.modify(op::RTS2RTS_QP, OPTION_PATH, &context(&[]))
            .unwrap();
        assert_eq!(qp.ack_timeout(), Duration::from_nanos(4096 << 14));
    }
}
