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
