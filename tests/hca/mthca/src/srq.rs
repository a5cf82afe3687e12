// SPDX-License-Identifier: GPL-2.0

//! Shared receive queues.

use crate::qp::Work;
use bus::bytes::{be16, be32, be64, put_be16};
use std::collections::VecDeque;

/// A shared receive queue.
pub struct Srq {
    context: Vec<u8>,
    /// Below this many work requests an event is due, once.
    pub limit: u16,
    pub work: VecDeque<Work>,
}

impl Srq {
    /// From its context, as SW2HW_SRQ has it.
    pub fn parse(context: &[u8]) -> Self {
        Self {
            context: context
                .iter()
                .copied()
                .chain(std::iter::repeat(0))
                .take(32)
                .collect(),
            limit: be16(context, 20),
            work: VecDeque::new(),
        }
    }

    /// The size of its work requests, in units of 16 bytes.
    pub fn wqe_size(&self) -> u8 {
        (be64(&self.context, 0) & 0x3f) as u8
    }

    pub fn domain(&self) -> u32 {
        be32(&self.context, 8) & 0xff_ffff
    }

    pub fn key(&self) -> u32 {
        be32(&self.context, 12)
    }

    pub fn uar(&self) -> u32 {
        be32(&self.context, 16) & 0xff_ffff
    }

    /// What QUERY_SRQ tells.
    pub fn context(&self) -> Vec<u8> {
        let mut context = self.context.clone();
        put_be16(&mut context, 20, self.limit);
        put_be16(
            &mut context,
            22,
            u16::try_from(self.work.len()).unwrap_or(u16::MAX),
        );
        context
    }

    /// Takes the oldest work request, and whether the limit was passed by that.
    pub fn take(&mut self) -> Option<(Work, bool)> {
        let work = self.work.pop_front()?;
        let below = self.limit != 0 && self.work.len() < usize::from(self.limit);
        if below {
            self.limit = 0;
        }
        Some((work, below))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_told_once() {
        let mut srq = Srq::parse(&[]);
        srq.limit = 2;
        srq.work.extend((0..4).map(|i| Work {
            at: 64 * i,
            size: 2,
            opcode: 0,
        }));
        let told: Vec<bool> = std::iter::from_fn(|| srq.take())
            .map(|(_, told)| told)
            .collect();
        assert_eq!(told, [false, false, true, false]);
        assert_eq!(srq.context().len(), 32);
    }
}
