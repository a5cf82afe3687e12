// SPDX-License-Identifier: GPL-2.0

//! Numbers in slices of bytes that may be shorter than they should be.
//!
//! What a device reads past the end of something is zero, and what it writes
//! there is lost: a guest cannot make it do anything worse.

macro_rules! numbers {
    ($($get:ident $put:ident $ty:ident $from:ident $to:ident $doc:literal;)*) => {$(
        #[doc = concat!("The ", $doc, " at `at`; zero past the end.")]
        pub fn $get(bytes: &[u8], at: usize) -> $ty {
            const SIZE: usize = size_of::<$ty>();
            bytes
                .get(at..)
                .and_then(|rest| rest.first_chunk::<SIZE>())
                .map_or(0, |found| $ty::$from(*found))
        }

        #[doc = concat!("Puts the ", $doc, " `value` at `at`; nowhere past the end.")]
        pub fn $put(bytes: &mut [u8], at: usize, value: $ty) {
            const SIZE: usize = size_of::<$ty>();
            if let Some(place) = bytes.get_mut(at..).and_then(|rest| rest.first_chunk_mut::<SIZE>()) {
                *place = value.$to();
            }
        }
    )*};
}

numbers! {
    be16 put_be16 u16 from_be_bytes to_be_bytes "big-endian 16-bit number";
    be32 put_be32 u32 from_be_bytes to_be_bytes "big-endian 32-bit number";
    be64 put_be64 u64 from_be_bytes to_be_bytes "big-endian 64-bit number";
    le16 put_le16 u16 from_le_bytes to_le_bytes "little-endian 16-bit number";
    le32 put_le32 u32 from_le_bytes to_le_bytes "little-endian 32-bit number";
    le64 put_le64 u64 from_le_bytes to_le_bytes "little-endian 64-bit number";
}

/// The byte at `at`; zero past the end.
pub fn byte(bytes: &[u8], at: usize) -> u8 {
    bytes.get(at).copied().unwrap_or(0)
}

/// Puts a byte at `at`; nowhere past the end.
pub fn put_byte(bytes: &mut [u8], at: usize, value: u8) {
    if let Some(place) = bytes.get_mut(at) {
        *place = value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_their_byte_order() {
        let mut b = [0; 8];
        put_be32(&mut b, 2, 0x0102_0304);
        assert_eq!(b, [0, 0, 1, 2, 3, 4, 0, 0]);
        assert_eq!(le16(&b, 2), 0x0201);
        assert_eq!(be64(&b, 0), 0x0000_0102_0304_0000);
    }

    #[test]
    fn past_the_end_is_zero() {
        let mut b = [0xff; 4];
        assert_eq!(be32(&b, 1), 0);
        assert_eq!(be32(&b, usize::MAX), 0);
        put_be32(&mut b, 1, 0);
        assert_eq!(b, [0xff; 4]);
        assert_eq!(byte(&b, 4), 0);
    }
}
