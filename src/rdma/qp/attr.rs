// SPDX-License-Identifier: GPL-2.0

//! The attributes of a queue pair: `struct ib_qp_attr`.

use super::{
    Caps,
    Qp, //
};
use crate::{
    bindings,
    rdma::{
        ah::Path,
        bundle::Bundle,
        device::Live, //
    },
    sys::{
        mem,
        num::Signed, //
    },
};
use core::ops::{
    Deref,
    DerefMut, //
};
use kernel::{
    error::to_result,
    prelude::*, //
};

/// What can be changed of a QP, and asked for. A mask of `enum ib_qp_attr_mask` tells which of it means
/// something.
pub(crate) struct Attrs(bindings::ib_qp_attr);

impl Attrs {
    pub(crate) fn zeroed() -> Self {
        // SAFETY: Numbers and pointers, for which zeroes are valid.
        Self(unsafe { mem::zeroed() })
    }

    /// Sets the primary path.
    pub(crate) fn set_path(&mut self, live: &Live<'_>, path: Path) {
        path.fill(live, &mut self.0.ah_attr);
    }

    /// Sets the alternate path.
    pub(crate) fn set_alt_path(&mut self, live: &Live<'_>, path: Path) {
        path.fill(live, &mut self.0.alt_ah_attr);
    }

    pub(crate) fn path(&self) -> Path {
        Path::from_raw(&self.0.ah_attr)
    }

    pub(crate) fn alt_path(&self) -> Path {
        Path::from_raw(&self.0.alt_ah_attr)
    }
}

impl Deref for Attrs {
    type Target = bindings::ib_qp_attr;

    fn deref(&self) -> &bindings::ib_qp_attr {
        &self.0
    }
}

impl DerefMut for Attrs {
    fn deref_mut(&mut self) -> &mut bindings::ib_qp_attr {
        &mut self.0
    }
}

/// What a QP was made with, as its driver tells it.
pub(crate) struct Made {
    pub(crate) caps: Caps,
    pub(crate) signal_all: bool,
}

impl Qp {
    /// Changes what `mask` says. `EINVAL` if the QP's state and type do not allow that, and errors
    /// of the driver.
    pub(crate) fn modify(
        &self,
        live: &Live<'_>,
        attrs: &mut Attrs,
        mask: u32,
        bundle: &mut Bundle<'_>,
    ) -> Result {
        if live.ops().modify_qp.is_none() {
            return Err(EOPNOTSUPP);
        }
        bundle.set_context_raw(self.face.context());
        // SAFETY: By the type's invariant; the others are valid for the call.
        to_result(unsafe {
            bindings::ib_modify_qp_with_udata(
                self.as_raw(),
                &mut attrs.0,
                mask.to_signed(),
                bundle.udata(),
            )
        })
    }

    /// What the driver knows of the QP; `mask` tells it what is asked for.
    pub(crate) fn query(&self, _live: &Live<'_>, mask: u32, attrs: &mut Attrs) -> Result<Made> {
        // SAFETY: Numbers and pointers, for which zeroes are valid.
        let mut init: bindings::ib_qp_init_attr = unsafe { mem::zeroed() };
        // SAFETY: By the type's invariant; the others are valid for the call.
        to_result(unsafe {
            bindings::ib_query_qp(self.as_raw(), &mut attrs.0, mask.to_signed(), &mut init)
        })?;
        Ok(Made {
            caps: Caps::from_raw(&init.cap),
            signal_all: init.sq_sig_type == bindings::ib_sig_type_IB_SIGNAL_ALL_WR,
        })
    }
}
