// SPDX-License-Identifier: GPL-2.0

//! What an owner may do with an object: `enum shverbs_rights`.

use crate::bindings;
use kernel::{
    impl_flags,
    prelude::*, //
};

impl_flags!(
    /// A set of rights.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
    pub(crate) struct Rights(u32);

    /// One right.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(crate) enum Right {
        /// Refer to it from one's own objects, and get its keys.
        Use = bindings::shverbs_rights_SHVERBS_RIGHT_USE,
        /// Modify, resize, rereg, attach.
        Modify = bindings::shverbs_rights_SHVERBS_RIGHT_MODIFY,
        /// Export and publish it on.
        Share = bindings::shverbs_rights_SHVERBS_RIGHT_SHARE,
        /// Destroy it under its other owners.
        Revoke = bindings::shverbs_rights_SHVERBS_RIGHT_REVOKE,
    }
);

impl TryFrom<u32> for Rights {
    type Error = Error;

    /// `EINVAL` for unknown bits.
    fn try_from(bits: u32) -> Result<Self> {
        let mut rights = Self::default();
        for right in [Right::Use, Right::Modify, Right::Share, Right::Revoke] {
            if bits & u32::from(Self::from(right)) != 0 {
                rights |= right;
            }
        }
        if u32::from(rights) == bits {
            Ok(rights)
        } else {
            Err(EINVAL)
        }
    }
}

impl Rights {
    /// Those of whoever made the object.
    pub(crate) fn all() -> Self {
        Right::Use | Right::Modify | Right::Share | Right::Revoke
    }

    /// `EPERM` without `right`.
    pub(crate) fn require(self, right: Right) -> Result {
        if self.contains(right) {
            Ok(())
        } else {
            Err(EPERM)
        }
    }

    /// `EPERM` unless all of `wanted` are there.
    pub(crate) fn require_all(self, wanted: Rights) -> Result {
        if self.contains_all(wanted) {
            Ok(())
        } else {
            Err(EPERM)
        }
    }
}

#[kunit_tests(shverbs_rights)]
mod tests {
    use super::*;

    #[test]
    fn rights_do_not_grow() {
        let reader: Rights = Right::Use.into();
        assert!(reader.require(Right::Use).is_ok());
        assert_eq!(reader.require(Right::Share), Err(EPERM));
        assert_eq!(reader.require_all(Right::Use | Right::Modify), Err(EPERM));
        assert!(Rights::all().require_all(reader).is_ok());
    }
}
