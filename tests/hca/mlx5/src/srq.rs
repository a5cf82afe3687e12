// SPDX-License-Identifier: GPL-2.0

//! Shared receive queues. Their work requests are a list: each says which one
//! is next, so that software can post them in any order.

use crate::ifc::{create_rmp_in, create_xrc_srq_in, rmpc, wq, xrc_srqc};
use crate::ring::Ring;
use bus::bytes::{be16, be32};
use bus::Bus;

/// Bytes before the pieces of a work request, with the link.
const LINK: usize = 16;

/// A shared receive queue.
pub struct Srq {
    ring: Ring,
    log_size: u32,
    stride: usize,
    domain: u32,
    record: u64,
    /// Of an SRQ for XRC: its domain, its CQ, and its name for software.
    pub xrcd: Option<u32>,
    pub cqn: u32,
    pub user_index: u32,
    /// The next work request, and how many were taken.
    next: u16,
    taken: u16,
    /// An event is wanted when fewer are left; none where it is zero.
    pub limit: u16,
}

/// A work request that was taken.
pub struct Taken {
    pub index: u16,
    pub bytes: Vec<u8>,
    pub below_limit: bool,
}

impl Srq {
    /// From a CREATE_RMP.
    pub fn parse_rmp(input: &[u8]) -> Self {
        let queue = rmpc::WQ.part(create_rmp_in::CTX.part(input));
        let list = input.get(create_rmp_in::BYTES..).unwrap_or_default();
        Self {
            ring: Ring::new(
                list,
                wq::LOG_WQ_PG_SZ.get32(queue),
                wq::PAGE_OFFSET.get32(queue),
            ),
            log_size: wq::LOG_WQ_SZ.get32(queue).min(16),
            stride: 1 << wq::LOG_WQ_STRIDE.get32(queue),
            domain: wq::PD.get32(queue),
            record: wq::DBR_ADDR.get(queue),
            xrcd: None,
            cqn: 0,
            user_index: 0,
            next: 0,
            taken: 0,
            limit: wq::LWM.get32(queue) as u16,
        }
    }

    /// From a CREATE_XRC_SRQ.
    pub fn parse_xrc(input: &[u8]) -> Self {
        let context = create_xrc_srq_in::XRC_SRQ_CONTEXT_ENTRY.part(input);
        let list = input.get(create_xrc_srq_in::BYTES..).unwrap_or_default();
        let record = (xrc_srqc::DB_RECORD_ADDR_H.get(context) << 32)
            | (xrc_srqc::DB_RECORD_ADDR_L.get(context) << 2);
        Self {
            ring: Ring::new(
                list,
                xrc_srqc::LOG_PAGE_SIZE.get32(context),
                xrc_srqc::PAGE_OFFSET.get32(context),
            ),
            log_size: xrc_srqc::LOG_XRC_SRQ_SIZE.get32(context),
            stride: 16 << xrc_srqc::LOG_RQ_STRIDE.get32(context),
            domain: xrc_srqc::PD.get32(context),
            record,
            xrcd: Some(xrc_srqc::XRCD.get32(context)),
            cqn: xrc_srqc::CQN.get32(context),
            user_index: xrc_srqc::USER_INDEX.get32(context),
            next: 0,
            taken: 0,
            limit: xrc_srqc::LWM.get32(context) as u16,
        }
    }

    pub fn domain(&self) -> u32 {
        self.domain
    }

    fn left(&self, bus: &Bus) -> u16 {
        let mut record = [0; 4];
        match bus.dma.read(self.record, &mut record) {
            Ok(()) => ((be32(&record, 0) & 0xffff) as u16).wrapping_sub(self.taken),
            Err(_) => 0,
        }
    }

    pub fn is_empty(&self, bus: &Bus) -> bool {
        self.left(bus) == 0
    }

    /// Takes the next work request.
    pub fn take(&mut self, bus: &Bus) -> Option<Taken> {
        let left = self.left(bus).checked_sub(1)?;
        let index = self.next & ((1u32 << self.log_size) - 1) as u16;
        let at = u64::from(index) * self.stride as u64;
        let bytes = self.ring.read(bus, at, self.stride).ok()?;
        self.next = be16(&bytes, 2);
        self.taken = self.taken.wrapping_add(1);
        let below_limit = left < self.limit;
        if below_limit {
            self.limit = 0;
        }
        Some(Taken {
            index,
            bytes: bytes.get(LINK..).unwrap_or_default().to_vec(),
            below_limit,
        })
    }
}
