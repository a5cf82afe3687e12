// SPDX-License-Identifier: GPL-2.0

//! Work requests, as they lie in a queue.

use bus::bytes::{be16, be32, be64, byte};

/// Bytes of a basic block: a send takes a whole number of them.
pub const BLOCK: usize = 64;
const SEGMENT: usize = 16;
const ADDRESS: usize = 48;
/// The key that ends a list of pieces.
const NO_KEY: u32 = 0x100;

/// Opcodes of sends.
pub mod opcode {
    pub const NOP: u8 = 0x00;
    pub const SEND_INVALIDATE: u8 = 0x01;
    pub const WRITE: u8 = 0x08;
    pub const WRITE_IMMEDIATE: u8 = 0x09;
    pub const SEND: u8 = 0x0a;
    pub const SEND_IMMEDIATE: u8 = 0x0b;
    pub const READ: u8 = 0x10;
    pub const COMPARE_SWAP: u8 = 0x11;
    pub const FETCH_ADD: u8 = 0x12;
    pub const UMR: u8 = 0x25;
}

/// A part of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    Memory { key: u32, va: u64, len: usize },
    Inline(Vec<u8>),
}

/// A send, without what follows it in its queue.
pub struct Wqe(pub Vec<u8>);

/// How many bytes a send is that starts with these.
pub fn size(head: &[u8]) -> usize {
    // A send without anything is as long as its head.
    (be32(head, 4) as usize & 0x3f).max(1) * SEGMENT
}

impl Wqe {
    pub fn opcode(&self) -> u8 {
        byte(&self.0, 3)
    }

    /// Immediate data, or a key to invalidate or change.
    pub fn immediate(&self) -> u32 {
        be32(&self.0, 12)
    }

    pub fn wants_completion(&self) -> bool {
        byte(&self.0, 11) & 0xc == 8
    }

    pub fn is_solicited(&self) -> bool {
        byte(&self.0, 11) & 2 != 0
    }

    /// The address vector of a datagram.
    pub fn address(&self) -> Address<'_> {
        Address(self.0.get(SEGMENT..SEGMENT + ADDRESS).unwrap_or_default())
    }

    /// The SRQ that an XRC send is for.
    pub fn remote_srq(&self) -> u32 {
        be32(&self.0, SEGMENT) & 0xff_ffff
    }

    /// Where the segments start that follow those of the transport.
    pub fn body(&self, transport: Transport) -> usize {
        SEGMENT
            + match transport {
                Transport::Plain => 0,
                Transport::Datagram => ADDRESS,
                Transport::Shared => SEGMENT,
            }
    }

    /// Address and key of an RDMA operation.
    pub fn remote(&self, body: usize) -> (u64, u32) {
        (be64(&self.0, body), be32(&self.0, body + 8))
    }

    /// What to add or to put there, and what to compare with.
    pub fn atomic(&self, body: usize) -> (u64, u64) {
        let at = body + SEGMENT;
        (be64(&self.0, at), be64(&self.0, at + 8))
    }

    /// The pieces of a message.
    pub fn pieces(&self, body: usize) -> Vec<Piece> {
        let before = match self.opcode() {
            opcode::WRITE | opcode::WRITE_IMMEDIATE | opcode::READ => SEGMENT,
            opcode::COMPARE_SWAP | opcode::FETCH_ADD => 2 * SEGMENT,
            _ => 0,
        };
        let mut at = body + before;
        let mut pieces = Vec::new();
        while at + SEGMENT <= self.0.len() {
            let head = be32(&self.0, at);
            if head >> 31 == 0 {
                pieces.push(memory_piece(&self.0, at));
                at += SEGMENT;
                continue;
            }
            let len = head as usize & 0x3ff;
            let inline = self.0.get(at + 4..at + 4 + len).unwrap_or_default();
            pieces.push(Piece::Inline(inline.to_vec()));
            at += (4 + len).next_multiple_of(SEGMENT);
        }
        pieces
    }
}

fn memory_piece(bytes: &[u8], at: usize) -> Piece {
    let len = match be32(bytes, at) {
        // The largest length does not fit otherwise.
        0 => 1 << 31,
        len => len as usize,
    };
    Piece::Memory {
        key: be32(bytes, at + 4),
        va: be64(bytes, at + 8),
        len,
    }
}

/// The pieces of a receive.
pub fn receive_pieces(bytes: &[u8]) -> Vec<Piece> {
    (0..bytes.len() / SEGMENT)
        .map(|i| memory_piece(bytes, i * SEGMENT))
        .take_while(|piece| !matches!(piece, Piece::Memory { key: NO_KEY, .. }))
        .collect()
}

/// What comes between the head of a send and its own segments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    Plain,
    Datagram,
    Shared,
}

/// An address vector (`struct mlx5_av`).
pub struct Address<'a>(&'a [u8]);

impl Address<'_> {
    pub fn qkey(&self) -> u32 {
        be32(self.0, 0)
    }

    pub fn qpn(&self) -> u32 {
        be32(self.0, 8) & 0xff_ffff
    }

    pub fn sl(&self) -> u8 {
        byte(self.0, 12) & 0xf
    }

    pub fn lid(&self) -> u16 {
        be16(self.0, 14)
    }

    /// The destination's GID, if there is to be a global header.
    pub fn gid(&self) -> Option<[u8; 16]> {
        let wanted = (be32(self.0, 28) >> 30) & 1 == 1;
        wanted
            .then(|| self.0.get(32..48)?.try_into().ok())
            .flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bus::bytes::{put_be32, put_be64, put_byte};

    #[test]
    fn pieces_in_memory_and_inline() {
        let mut b = vec![0; 64];
        put_byte(&mut b, 3, opcode::SEND);
        put_be32(&mut b, 4, (0x45 << 8) | 4);
        put_be32(&mut b, 16, (1 << 31) | 5);
        b[20..25].copy_from_slice(b"hello");
        put_be32(&mut b, 32, 100);
        put_be32(&mut b, 36, 0x777);
        put_be64(&mut b, 40, 0x1_0000);
        assert_eq!(size(&b), 64);
        let wqe = Wqe(b);
        let memory = |len| Piece::Memory {
            key: 0x777,
            va: 0x1_0000,
            len,
        };
        let pieces = wqe.pieces(wqe.body(Transport::Plain));
        assert_eq!(pieces[..2], [Piece::Inline(b"hello".to_vec()), memory(100)]);
    }

    #[test]
    fn inline_data_past_the_end() {
        let mut b = vec![0; 32];
        put_byte(&mut b, 3, opcode::SEND);
        put_be32(&mut b, 16, (1 << 31) | 0x3ff);
        assert_eq!(Wqe(b).pieces(16), [Piece::Inline(vec![])]);
        assert!(Wqe(vec![]).pieces(16).is_empty());
        assert_eq!(Wqe(vec![0; 20]).address().gid(), None);
    }

    #[test]
    fn a_list_of_receive_pieces_ends() {
        let mut b = vec![0; 48];
        put_be32(&mut b, 0, 10);
        put_be32(&mut b, 4, 0x999);
        put_be32(&mut b, 20, NO_KEY);
        assert_eq!(receive_pieces(&b).len(), 1);
        assert!(receive_pieces(&[]).is_empty());
    }
}
