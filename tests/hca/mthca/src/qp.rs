// SPDX-License-Identifier: GPL-2.0

//! Queue pairs: their contexts, states, and the work that waits in them.

use crate::command::Status;
use bus::bytes::{be16, be32, byte, put_be32, put_byte};
use std::collections::VecDeque;
use std::time::Duration;

/// Bytes of a context; it follows eight bytes of option mask in a mailbox.
const CONTEXT: usize = 256;
const HEAD: usize = 8;

/// Fields of a context.
mod at {
    pub const FLAGS: usize = 0;
    pub const MTU: usize = 8;
    pub const UAR: usize = 12;
    pub const REMOTE_QPN: usize = 20;
    pub const PATH: usize = 32;
    pub const PORT_PKEY: usize = PATH;
    pub const RNR_RETRY: usize = PATH + 4;
    pub const REMOTE_LID: usize = PATH + 6;
    pub const ACK_TIMEOUT: usize = PATH + 8;
    pub const SL: usize = PATH + 12;
    pub const ALT_PATH: usize = 64;
    pub const DOMAIN: usize = 100;
    pub const KEY: usize = 108;
    pub const SEND: usize = 112;
    pub const SEND_PSN: usize = 120;
    pub const SEND_CQ: usize = 124;
    pub const RECEIVE: usize = 144;
    pub const RNR_PSN: usize = 148;
    pub const RECEIVE_CQ: usize = 156;
    pub const QKEY: usize = 168;
    pub const SRQ: usize = 172;
}

/// Bits of the option mask: what a transition may change.
mod option {
    pub const ALT_PATH: u32 = 1 << 0;
    pub const RIGHTS: u32 = 0b1110;
    pub const PKEY: u32 = 1 << 4;
    pub const QKEY: u32 = 1 << 5;
    pub const RNR_TIMER: u32 = 1 << 6;
    pub const PATH: u32 = 1 << 7;
    pub const SEND_DEPTH: u32 = 1 << 8;
    pub const RECEIVE_DEPTH: u32 = 1 << 9;
    pub const PORT: u32 = 1 << 11;
    pub const RETRY: u32 = 1 << 12;
    pub const ACK_TIMEOUT: u32 = 1 << 14;
    pub const RNR_RETRY: u32 = 1 << 15;
}

/// States, with the numbers they have in a context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    Init = 1,
    ReadyToReceive = 2,
    ReadyToSend = 3,
    Drained = 5,
    Error = 6,
}

/// Services.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Service {
    Reliable,
    Unreliable,
    Datagram,
    /// QP 0 and 1, whose packets software makes.
    Management,
}

/// A work request that waits: where it is, and what the doorbell said of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Work {
    /// Offset in the queue's region.
    pub at: u32,
    /// In units of 16 bytes.
    pub size: u8,
    pub opcode: u8,
}

/// A queue pair.
pub struct Qp {
    context: [u8; CONTEXT],
    pub state: State,
    /// The rest of the chain of the doorbell that is being worked on.
    pub chain: Option<Work>,
    /// Doorbells that wait.
    pub doorbells: VecDeque<Work>,
    pub receives: VecDeque<Work>,
    /// How often the current work request was tried again, by reason.
    pub retries: u32,
    pub rnr_retries: u32,
    /// A timer is set, after which it is tried again.
    pub waiting: bool,
}

/// Copies 32-bit words of a context.
fn copy(to: &mut [u8], from: &[u8], words: impl IntoIterator<Item = usize>) {
    for at in words {
        put_be32(to, at, be32(from, at));
    }
}

/// Takes some bits of a word.
fn merge(to: &mut [u8], from: &[u8], at: usize, mask: u32) {
    let word = be32(to, at) & !mask | be32(from, at) & mask;
    put_be32(to, at, word);
}

impl Qp {
    /// RST2INIT.
    pub fn new(parameters: &[u8]) -> Self {
        let mut context = [0; CONTEXT];
        let from = parameters.get(HEAD..HEAD + CONTEXT);
        if let Some(from) = from {
            context.copy_from_slice(from);
        }
        Self {
            context,
            state: State::Init,
            chain: None,
            doorbells: VecDeque::new(),
            receives: VecDeque::new(),
            retries: 0,
            rnr_retries: 0,
            waiting: false,
        }
    }

    /// One of the other transitions, by its opcode.
    pub fn modify(&mut self, opcode: u16, parameters: &[u8]) -> Result<(), Status> {
        use State::{Drained, Init, ReadyToReceive, ReadyToSend};
        let (from, to) = match opcode {
            0x2d => (Init, Init),
            0x1a => (Init, ReadyToReceive),
            0x1b => (ReadyToReceive, ReadyToSend),
            0x1c => (ReadyToSend, ReadyToSend),
            0x1f => (ReadyToSend, Drained),
            0x20 => (Drained, ReadyToSend),
            0x38 => (Drained, Drained),
            _ => return Err(Status::BadOperation),
        };
        let new = parameters
            .get(HEAD..HEAD + CONTEXT)
            .ok_or(Status::BadParameter)?;
        if self.state != from {
            return Err(Status::BadQpState);
        }
        let c = &mut self.context;
        match to {
            ReadyToReceive => {
                copy(c, new, [at::MTU, at::REMOTE_QPN]);
                merge(c, new, at::RNR_PSN, 0x00ff_ffff);
            }
            ReadyToSend if from == ReadyToReceive => copy(c, new, [at::SEND_PSN]),
            _ => {}
        }
        self.apply_options(be32(parameters, 0), new);
        self.state = to;
        Ok(())
    }

    fn apply_options(&mut self, options: u32, new: &[u8]) {
        let c = &mut self.context;
        let is_set = |bits: u32| options & bits != 0;
        if is_set(option::PATH) {
            let timeout = byte(c, at::ACK_TIMEOUT);
            merge(c, new, at::RNR_RETRY, 0x00ff_ffff);
            copy(c, new, (at::ACK_TIMEOUT..at::ALT_PATH).step_by(4));
            put_byte(c, at::ACK_TIMEOUT, timeout);
        }
        for (bits, field, mask) in [
            (option::PORT, at::PORT_PKEY, 0xff00_0000),
            (option::PKEY, at::PORT_PKEY, 0x0000_007f),
            (option::RNR_RETRY, at::RNR_RETRY, 0xff00_0000),
            (option::ACK_TIMEOUT, at::ACK_TIMEOUT, 0xff00_0000),
            (option::RETRY, at::SEND, 0x0007_0000),
            (option::SEND_DEPTH, at::SEND, 0x00e0_a000),
            (option::RIGHTS, at::RECEIVE, 0x0000_e000),
            (option::RECEIVE_DEPTH, at::RECEIVE, 0x00e0_0000),
            (option::RNR_TIMER, at::RNR_PSN, 0xff00_0000),
            (option::QKEY, at::QKEY, u32::MAX),
        ] {
            if is_set(bits) {
                merge(c, new, field, mask);
            }
        }
        if is_set(option::ALT_PATH) {
            copy(c, new, (at::ALT_PATH..at::ALT_PATH + 32).step_by(4));
        }
    }

    /// What QUERY_QPEE tells.
    pub fn query(&self) -> Vec<u8> {
        let mut reply = vec![0; HEAD];
        reply.extend_from_slice(&self.context);
        let flags = be32(&self.context, at::FLAGS) & 0x0fff_ffff;
        put_be32(
            &mut reply,
            HEAD + at::FLAGS,
            (self.state as u32) << 28 | flags,
        );
        reply
    }

    pub fn service(&self) -> Service {
        match be32(&self.context, at::FLAGS) >> 16 & 0xf {
            0 => Service::Reliable,
            1 => Service::Unreliable,
            3 => Service::Datagram,
            _ => Service::Management,
        }
    }

    pub fn uar(&self) -> u32 {
        be32(&self.context, at::UAR) & 0xff_ffff
    }

    pub fn domain(&self) -> u32 {
        be32(&self.context, at::DOMAIN) & 0xff_ffff
    }

    /// The key of the region that has the queues.
    pub fn key(&self) -> u32 {
        be32(&self.context, at::KEY)
    }

    pub fn remote_qpn(&self) -> u32 {
        be32(&self.context, at::REMOTE_QPN) & 0xff_ffff
    }

    pub fn remote_lid(&self) -> u16 {
        be16(&self.context, at::REMOTE_LID)
    }

    pub fn sl(&self) -> u8 {
        byte(&self.context, at::SL) >> 4
    }

    pub fn pkey_index(&self) -> u32 {
        be32(&self.context, at::PORT_PKEY) & 0x7f
    }

    pub fn send_cq(&self) -> u32 {
        be32(&self.context, at::SEND_CQ) & 0xff_ffff
    }

    pub fn receive_cq(&self) -> u32 {
        be32(&self.context, at::RECEIVE_CQ) & 0xff_ffff
    }

    pub fn qkey(&self) -> u32 {
        be32(&self.context, at::QKEY)
    }

    /// Whether every send has a completion.
    pub fn signals_all(&self) -> bool {
        be32(&self.context, at::SEND) & 1 << 3 != 0
    }

    pub fn allows_read(&self) -> bool {
        be32(&self.context, at::RECEIVE) & 1 << 15 != 0
    }

    pub fn allows_write(&self) -> bool {
        be32(&self.context, at::RECEIVE) & 1 << 14 != 0
    }

    pub fn allows_atomic(&self) -> bool {
        be32(&self.context, at::RECEIVE) & 1 << 13 != 0
    }

    pub fn srq(&self) -> Option<u32> {
        let word = be32(&self.context, at::SRQ);
        (word & 1 << 24 != 0).then_some(word & 0xff_ffff)
    }

    /// Whether it takes what comes.
    pub fn receives(&self) -> bool {
        matches!(
            self.state,
            State::ReadyToReceive | State::ReadyToSend | State::Drained
        )
    }

    /// How often to try again when nobody answers.
    pub fn retry_count(&self) -> u32 {
        be32(&self.context, at::SEND) >> 16 & 7
    }

    /// How often to try again when the other side has no receive; `None`: for ever.
    pub fn rnr_retry_count(&self) -> Option<u32> {
        let count = u32::from(byte(&self.context, at::RNR_RETRY) >> 5);
        (count < 7).then_some(count)
    }

    /// How long to wait for an answer: 4.096 us times a power of two. Zero is
    /// for ever, which is bounded here as hardware does.
    pub fn ack_timeout(&self) -> Duration {
        match byte(&self.context, at::ACK_TIMEOUT) >> 3 {
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
        let code = be32(&self.context, at::RNR_PSN) >> 24 & 0x1f;
        let hundredths = HUNDREDTHS.get(code as usize).copied().unwrap_or(1);
        Duration::from_micros(10 * hundredths)
    }

    /// The work request that is next to be sent.
    pub fn current(&self) -> Option<Work> {
        self.chain.or_else(|| self.doorbells.front().copied())
    }

    /// The current one is done, and `next` follows it in its chain.
    pub fn advance(&mut self, next: Option<Work>) {
        if self.chain.is_none() {
            self.doorbells.pop_front();
        }
        self.chain = next;
        self.retries = 0;
        self.rnr_retries = 0;
    }

    /// Takes all sends away: the current one, and how many doorbells follow.
    pub fn take_sends(&mut self) -> Option<(Work, usize)> {
        let current = self.current()?;
        let behind = self.doorbells.len() - usize::from(self.chain.is_none());
        self.chain = None;
        self.doorbells.clear();
        Some((current, behind))
    }

    /// Takes all receives away: the first one, and how many follow.
    pub fn take_receives(&mut self) -> Option<(Work, usize)> {
        let first = self.receives.pop_front()?;
        let behind = self.receives.len();
        self.receives.clear();
        Some((first, behind))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameters(options: u32, fields: &[(usize, u32)]) -> Vec<u8> {
        let mut p = vec![0; HEAD + CONTEXT];
        put_be32(&mut p, 0, options);
        for (field, value) in fields {
            put_be32(&mut p, HEAD + field, *value);
        }
        p
    }

    fn work(at: u32) -> Work {
        Work {
            at,
            size: 2,
            opcode: 8,
        }
    }

    #[test]
    fn transitions_take_what_is_theirs() {
        let mut qp = Qp::new(&parameters(0, &[(at::QKEY, 5), (at::PORT_PKEY, 1 << 24)]));
        let rtr = parameters(
            option::PATH,
            &[
                (at::REMOTE_QPN, 0x17),
                (at::QKEY, 9),
                (at::RNR_RETRY, 0xe000_0007),
            ],
        );
        assert_eq!(qp.modify(0x1b, &rtr), Err(Status::BadQpState));
        qp.modify(0x1a, &rtr).unwrap();
        assert_eq!(
            (qp.state, qp.remote_qpn(), qp.qkey()),
            (State::ReadyToReceive, 0x17, 5)
        );
        assert_eq!((qp.remote_lid(), qp.rnr_retry_count()), (7, Some(0)));
        let rts = parameters(
            option::RNR_RETRY | option::QKEY,
            &[(at::RNR_RETRY, 0xe000_0000), (at::QKEY, 9)],
        );
        qp.modify(0x1b, &rts).unwrap();
        assert_eq!(
            (qp.remote_lid(), qp.rnr_retry_count(), qp.qkey()),
            (7, None, 9)
        );
        assert_eq!(be32(&qp.query(), HEAD) >> 28, 3);
    }

    #[test]
    fn short_parameters() {
        assert_eq!(
            Qp::new(&[0; 5]).modify(0x1a, &[0; 5]),
            Err(Status::BadParameter)
        );
    }

    #[test]
    fn chains_and_doorbells() {
        let mut qp = Qp::new(&[]);
        qp.doorbells.extend([work(0), work(64), work(128)]);
        qp.advance(Some(work(32)));
        assert_eq!(qp.current(), Some(work(32)));
        assert_eq!(qp.doorbells.len(), 2);
        // What is behind the chain are two doorbells.
        assert_eq!(qp.take_sends(), Some((work(32), 2)));
        assert_eq!(qp.take_sends(), None);
        qp.doorbells.extend([work(0), work(64)]);
        assert_eq!(qp.take_sends(), Some((work(0), 1)));
    }
}
