// SPDX-License-Identifier: GPL-2.0

//! Soft-RoCE: objects are kernel memory, and rings kernel pages.

use super::{
    bits,
    Backend, //
};
use crate::bindings as b;

pub(super) struct Rxe;

impl Backend for Rxe {
    fn class(&self) -> u32 {
        b::shverbs_backend_SHVERBS_BACKEND_RXE
    }

    fn shareable(&self) -> u64 {
        const {
            bits(&[
                b::uverbs_default_objects_UVERBS_OBJECT_DEVICE,
                b::uverbs_default_objects_UVERBS_OBJECT_PD,
                b::uverbs_default_objects_UVERBS_OBJECT_MR,
                b::uverbs_default_objects_UVERBS_OBJECT_MW,
                b::uverbs_default_objects_UVERBS_OBJECT_AH,
                b::uverbs_default_objects_UVERBS_OBJECT_CQ,
                b::uverbs_default_objects_UVERBS_OBJECT_SRQ,
                b::uverbs_default_objects_UVERBS_OBJECT_QP,
            ])
        }
    }
}
