// SPDX-License-Identifier: GPL-2.0

//! Drivers that nothing is known of: PDs and MRs are numbers to all of them.

use super::{
    bits,
    Backend, //
};
use crate::bindings as b;

pub(super) struct Generic;

impl Backend for Generic {
    fn class(&self) -> u32 {
        b::shverbs_backend_SHVERBS_BACKEND_GENERIC
    }

    fn shareable(&self) -> u64 {
        const {
            bits(&[
                b::uverbs_default_objects_UVERBS_OBJECT_DEVICE,
                b::uverbs_default_objects_UVERBS_OBJECT_PD,
                b::uverbs_default_objects_UVERBS_OBJECT_MR,
            ])
        }
    }
}
