// SPDX-License-Identifier: GPL-2.0

//! What each class of drivers allows to be shared.
//!
//! Nothing outside this folder asks which driver a device has.

mod generic;
mod rxe;

use crate::{
    bindings as b,
    rdma::device::Live, //
};
use kernel::prelude::*;

/// A class of drivers.
pub(crate) trait Backend: Sync {
    /// `enum shverbs_backend`.
    fn class(&self) -> u32;

    /// Bit `n` is set where objects of id `n` of `enum uverbs_default_objects` can be shared.
    fn shareable(&self) -> u64;

    /// `EOPNOTSUPP` for a kind of object that cannot be shared.
    fn check_shareable(&self, kind: u16) -> Result {
        let bit = 1u64.checked_shl(u32::from(kind)).unwrap_or(0);
        if self.shareable() & bit != 0 {
            Ok(())
        } else {
            Err(EOPNOTSUPP)
        }
    }
}

/// The backend of a device.
pub(crate) fn of(live: &Live<'_>) -> &'static dyn Backend {
    match live.driver_id() {
        b::rdma_driver_id_RDMA_DRIVER_RXE => &rxe::Rxe,
        _ => &generic::Generic,
    }
}

/// The bits of [`Backend::shareable`].
const fn bits(kinds: &[u32]) -> u64 {
    let mut bits = 0;
    let mut at = 0;
    while at < kinds.len() {
        bits |= 1 << kinds[at];
        at += 1;
    }
    bits
}
