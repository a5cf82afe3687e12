// SPDX-License-Identifier: GPL-2.0

//! Named conversions between numbers, so that no bare `as` is needed.

/// The same bits, with the other reading of the highest one.
pub(crate) trait Signed {
    type Signed;

    fn to_signed(self) -> Self::Signed;
}

/// The same bits, with the other reading of the highest one.
pub(crate) trait Unsigned {
    type Unsigned;

    fn to_unsigned(self) -> Self::Unsigned;
}

macro_rules! sign_casts {
    ($($unsigned:ty, $signed:ty;)*) => {$(
        impl Signed for $unsigned {
            type Signed = $signed;

            fn to_signed(self) -> $signed {
                <$signed>::from_ne_bytes(self.to_ne_bytes())
            }
        }

        impl Unsigned for $signed {
            type Unsigned = $unsigned;

            fn to_unsigned(self) -> $unsigned {
                <$unsigned>::from_ne_bytes(self.to_ne_bytes())
            }
        }
    )*};
}

sign_casts! {
    u32, i32;
    u64, i64;
}

/// Numbers cut to what there is room for, as the ABI cuts them.
pub(crate) mod low {
    /// The low 8 bits.
    pub(crate) fn u8(n: u32) -> u8 {
        n.to_le_bytes()[0]
    }

    /// The low 16 bits.
    pub(crate) fn u16(n: u32) -> u16 {
        let [a, b, ..] = n.to_le_bytes();
        u16::from_le_bytes([a, b])
    }
}
