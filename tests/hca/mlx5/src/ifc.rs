// SPDX-License-Identifier: GPL-2.0

//! Bit fields of commands and contexts, at the places that the kernel's header
//! has for them; `build.rs` makes the modules.

use bus::bytes::{byte, put_byte};

/// A field of a structure: bits are counted from the most significant one of
/// its first byte on.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    at: usize,
    bits: usize,
}

impl Field {
    const fn new(at: usize, bits: usize) -> Self {
        Self { at, bits }
    }

    /// Its value in `of`, at most 64 bits; what lies past the end is zero.
    pub fn get(self, of: &[u8]) -> u64 {
        let end = self.at + self.bits;
        let mut value: u128 = 0;
        for at in self.at / 8..end.div_ceil(8) {
            value = (value << 8) | u128::from(byte(of, at));
        }
        let value = value >> (end.next_multiple_of(8) - end);
        (value & ((1 << self.bits) - 1)) as u64
    }

    /// Its value, where it has at most 32 bits.
    pub fn get32(self, of: &[u8]) -> u32 {
        self.get(of) as u32
    }

    /// Whether it is not zero.
    pub fn is_set(self, of: &[u8]) -> bool {
        self.get(of) != 0
    }

    /// Sets it, at most 64 bits, to the low bits of `value`.
    pub fn set(self, of: &mut [u8], value: u64) {
        for bit in 0..self.bits {
            let at = self.at + bit;
            let (place, mask) = (at / 8, 0x80 >> (at % 8));
            let one = (value >> (self.bits - 1 - bit)) & 1 == 1;
            let rest = byte(of, place) & !mask;
            put_byte(of, place, if one { rest | mask } else { rest });
        }
    }

    /// The bytes of a field that is a structure; none where `of` is too short.
    pub fn part(self, of: &[u8]) -> &[u8] {
        of.get(self.at / 8..(self.at + self.bits) / 8)
            .unwrap_or_default()
    }

    /// The same, to be changed.
    pub fn part_mut(self, of: &mut [u8]) -> &mut [u8] {
        of.get_mut(self.at / 8..(self.at + self.bits) / 8)
            .unwrap_or_default()
    }

    /// Copies it from another structure of its kind.
    pub fn copy(self, to: &mut [u8], from: &[u8]) {
        if self.bits > 64 {
            let to = self.part_mut(to);
            if let Some(from) = self.part(from).get(..to.len()) {
                to.copy_from_slice(from);
            }
        } else {
            self.set(to, self.get(from));
        }
    }
}

#[allow(dead_code)]
mod generated {
    use super::Field;
    include!(concat!(env!("OUT_DIR"), "/ifc.rs"));
}
pub use generated::*;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_any_width() {
        let mut b = [0u8; 24];
        Field::new(3, 5).set(&mut b, 0x15);
        Field::new(12, 1).set(&mut b, 1);
        assert_eq!(b[..2], [0x15, 0x08]);
        Field::new(20, 64).set(&mut b, 0x0123_4567_89ab_cdef);
        assert_eq!(Field::new(20, 64).get(&b), 0x0123_4567_89ab_cdef);
        assert_eq!(Field::new(3, 5).get(&b), 0x15);
        assert!(!Field::new(188, 64).is_set(&b));
        Field::new(188, 64).set(&mut b, u64::MAX);
    }

    #[test]
    fn what_the_header_says() {
        // Places that are in every description of this interface.
        assert_eq!(qpc::BYTES, 232);
        assert_eq!(cqc::BYTES, 64);
        assert_eq!(mkc::BYTES, 64);
        assert_eq!(create_cq_in::BYTES, 272);
        assert_eq!(op::CREATE_QP, 0x500);
        assert_eq!(op::name(op::TO_2RST_QP), "2RST_QP");
    }
}
