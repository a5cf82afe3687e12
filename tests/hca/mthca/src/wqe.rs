// SPDX-License-Identifier: GPL-2.0

//! Work requests as software writes them: a segment with the link to the next
//! one, segments of the operation, pieces of data.

use crate::qp::{Service, Work};
use bus::bytes::{be32, be64, byte};

/// Operations of a send queue.
pub mod opcode {
    pub const WRITE: u8 = 0x08;
    pub const WRITE_IMMEDIATE: u8 = 0x09;
    pub const SEND: u8 = 0x0a;
    pub const SEND_IMMEDIATE: u8 = 0x0b;
    pub const READ: u8 = 0x10;
    pub const COMPARE_SWAP: u8 = 0x11;
    pub const FETCH_ADD: u8 = 0x12;
}

const INVALID_KEY: u32 = 0x100;
const INLINE: u32 = 1 << 31;

/// A piece of data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// Memory by key.
    Memory { key: u32, va: u64, len: usize },
    /// In the work request itself.
    Inline(Vec<u8>),
}

/// A work request, whole.
pub struct Wqe(Vec<u8>);

impl Wqe {
    pub fn new(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    /// The next one of the chain, unless that has a doorbell of its own.
    pub fn next(&self) -> Option<Work> {
        let (at, size) = (be32(&self.0, 0), be32(&self.0, 4));
        let chained = size & 0x3f != 0 && size & 0x80 == 0;
        chained.then_some(Work {
            at: at & !0x3f,
            size: (size & 0x3f) as u8,
            opcode: (at & 0x1f) as u8,
        })
    }

    pub fn wants_completion(&self) -> bool {
        be32(&self.0, 8) & 1 << 3 != 0
    }

    pub fn is_solicited(&self) -> bool {
        be32(&self.0, 8) & 1 << 1 != 0
    }

    pub fn immediate(&self) -> u32 {
        be32(&self.0, 12)
    }

    /// Remote address and key.
    pub fn remote(&self) -> (u64, u32) {
        (be64(&self.0, 16), be32(&self.0, 24))
    }

    /// What to swap in or add, and what to compare with.
    pub fn atomic(&self) -> (u64, u64) {
        (be64(&self.0, 32), be64(&self.0, 40))
    }

    /// Key and address of a datagram's address vector.
    pub fn address_vector(&self) -> (u32, u64) {
        (be32(&self.0, 20), be64(&self.0, 24))
    }

    /// A datagram's QP and Q_Key.
    pub fn destination(&self) -> (u32, u32) {
        (be32(&self.0, 48) & 0xff_ffff, be32(&self.0, 52))
    }

    /// The pieces of data of a send.
    pub fn send_pieces(&self, service: Service, opcode: u8) -> Vec<Piece> {
        use opcode::{COMPARE_SWAP, FETCH_ADD, READ, WRITE, WRITE_IMMEDIATE};
        let from = match (service, opcode) {
            (Service::Datagram, _) => 64,
            (Service::Management, _) => 16,
            (_, COMPARE_SWAP | FETCH_ADD) => 48,
            (_, WRITE | WRITE_IMMEDIATE | READ) => 32,
            _ => 16,
        };
        self.pieces(from)
    }

    /// The places of a receive.
    pub fn receive_pieces(&self) -> Vec<Piece> {
        self.pieces(16)
    }

    fn pieces(&self, from: usize) -> Vec<Piece> {
        let (mut at, mut pieces) = (from, Vec::new());
        while at + 16 <= self.0.len() {
            let count = be32(&self.0, at);
            let len = (count & !INLINE) as usize;
            if count & INLINE != 0 {
                let end = (at + 4 + len).min(self.0.len());
                pieces.push(Piece::Inline(
                    self.0.get(at + 4..end).unwrap_or_default().to_vec(),
                ));
                at += (4 + len).next_multiple_of(16);
                continue;
            }
            let key = be32(&self.0, at + 4);
            if key == INVALID_KEY {
                break;
            }
            pieces.push(Piece::Memory {
                key,
                va: be64(&self.0, at + 8),
                len,
            });
            at += 16;
        }
        pieces
    }
}

/// An address vector.
pub struct Address<'a>(pub &'a [u8]);

impl Address<'_> {
    /// Bytes of one.
    pub const SIZE: usize = 32;

    pub fn lid(&self) -> u16 {
        bus::bytes::be16(self.0, 6)
    }

    pub fn sl(&self) -> u8 {
        byte(self.0, 12) >> 4
    }

    /// The GID that it goes to, where it has one.
    pub fn gid(&self) -> Option<[u8; 16]> {
        let has_one = byte(self.0, 5) & 0x80 != 0;
        let gid = self.0.get(16..32)?;
        gid.try_into().ok().filter(|_| has_one)
    }
}

/// A packet that software made for a management QP.
pub struct Packet {
    pub lid: u16,
    pub sl: u8,
    pub qpn: u32,
    pub source_qpn: u32,
    pub qkey: u32,
    pub immediate: Option<u32>,
    pub payload: Vec<u8>,
    /// Its global header.
    pub grh: Option<[u8; 40]>,
}

impl Packet {
    /// From its bytes; LRH, perhaps GRH, BTH, DETH, perhaps immediate data, the
    /// payload, and four bytes for the CRC (IBTA vol. 1, 5.2).
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        const UD_SEND_IMMEDIATE: u8 = 0x65;
        let grh: Option<[u8; 40]> = match byte(bytes, 1) & 3 {
            3 => Some(bytes.get(8..48)?.try_into().ok()?),
            _ => None,
        };
        let bth = if grh.is_some() { 48 } else { 8 };
        let immediate = (byte(bytes, bth) == UD_SEND_IMMEDIATE).then(|| be32(bytes, bth + 20));
        let from = bth + if immediate.is_some() { 24 } else { 20 };
        let to = bytes.len().checked_sub(4)?;
        Some(Self {
            lid: bus::bytes::be16(bytes, 2),
            sl: byte(bytes, 1) >> 4,
            qpn: be32(bytes, bth + 4) & 0xff_ffff,
            qkey: be32(bytes, bth + 12),
            source_qpn: be32(bytes, bth + 16) & 0xff_ffff,
            immediate,
            payload: bytes.get(from..to)?.to_vec(),
            grh,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bus::bytes::{put_be16, put_be32, put_be64, put_byte};

    #[test]
    fn links() {
        let mut b = vec![0; 64];
        put_be32(&mut b, 0, 0x140 | 8);
        put_be32(&mut b, 4, 3);
        assert_eq!(
            Wqe::new(b.clone()).next(),
            Some(Work {
                at: 0x140,
                size: 3,
                opcode: 8
            })
        );
        put_be32(&mut b, 4, 0x80 | 3);
        assert_eq!(Wqe::new(b).next(), None);
        assert_eq!(Wqe::new(vec![]).next(), None);
    }

    #[test]
    fn pieces() {
        let mut b = vec![0; 80];
        put_be32(&mut b, 16, INLINE | 13);
        put_byte(&mut b, 20, 1);
        put_be32(&mut b, 48, 100);
        put_be32(&mut b, 52, 0x77);
        put_be64(&mut b, 56, 0x1000);
        put_be32(&mut b, 68, INVALID_KEY);
        let pieces = Wqe::new(b).receive_pieces();
        let mut inline = vec![0; 13];
        inline[0] = 1;
        // 4 + 13 bytes of the inline piece take two units.
        assert_eq!(
            pieces,
            [
                Piece::Inline(inline),
                Piece::Memory {
                    key: 0x77,
                    va: 0x1000,
                    len: 100
                }
            ]
        );
    }

    #[test]
    fn an_inline_piece_without_end() {
        let mut b = vec![0; 32];
        put_be32(&mut b, 16, u32::MAX);
        assert_eq!(Wqe::new(b).receive_pieces(), [Piece::Inline(vec![0; 12])]);
    }

    #[test]
    fn packets() {
        let mut b = vec![0; 8 + 20 + 256 + 4];
        put_byte(&mut b, 1, 5 << 4 | 2);
        put_be16(&mut b, 2, 7);
        put_be32(&mut b, 12, 1);
        put_be32(&mut b, 20, 0x8001_0000);
        put_be32(&mut b, 24, 1);
        let p = Packet::parse(&b).unwrap();
        assert_eq!(
            (p.lid, p.sl, p.qpn, p.source_qpn, p.qkey),
            (7, 5, 1, 1, 0x8001_0000)
        );
        assert_eq!((p.payload.len(), p.immediate), (256, None));
        assert!(Packet::parse(&[0; 3]).is_none());
        assert!(Packet::parse(&[0, 3, 0, 0, 0]).is_none());
    }
}
