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
    sys::num::{
        Signed,
        Unsigned, //
    },
};
use core::mem;
use kernel::{
    error::to_result,
    prelude::*, //
};

/// Defines [`Attrs`] of the fields that are numbers with the same name and type on both sides.
macro_rules! attrs {
    ($($field:ident: $type:ty,)*) => {
        /// What can be changed of a QP, and asked for. A mask of `enum ib_qp_attr_mask` tells which
        /// of it means something.
        #[derive(Clone, Copy, Default)]
        pub(crate) struct Attrs {
            $(pub(crate) $field: $type,)*
            /// `enum ib_access_flags`.
            pub(crate) qp_access_flags: u32,
            pub(crate) path: Path,
            pub(crate) alt_path: Path,
        }

        impl Attrs {
            fn fill(&self, live: &Live<'_>, raw: &mut bindings::ib_qp_attr, mask: u32) {
                $(raw.$field = self.$field;)*
                raw.qp_access_flags = self.qp_access_flags.to_signed();
                if mask & bindings::ib_qp_attr_mask_IB_QP_AV != 0 {
                    raw.ah_attr = self.path.to_raw(live);
                }
                if mask & bindings::ib_qp_attr_mask_IB_QP_ALT_PATH != 0 {
                    raw.alt_ah_attr = self.alt_path.to_raw(live);
                }
            }

            fn from_raw(raw: &bindings::ib_qp_attr) -> Self {
                Self {
                    $($field: raw.$field,)*
                    qp_access_flags: raw.qp_access_flags.to_unsigned(),
                    path: Path::from_raw(&raw.ah_attr),
                    alt_path: Path::from_raw(&raw.alt_ah_attr),
                }
            }
        }
    }
}

attrs! {
    qp_state: u32,
    cur_qp_state: u32,
    path_mtu: u32,
    path_mig_state: u32,
    qkey: u32,
    rq_psn: u32,
    sq_psn: u32,
    dest_qp_num: u32,
    pkey_index: u16,
    alt_pkey_index: u16,
    en_sqd_async_notify: u8,
    sq_draining: u8,
    max_rd_atomic: u8,
    max_dest_rd_atomic: u8,
    min_rnr_timer: u8,
    port_num: u32,
    timeout: u8,
    retry_cnt: u8,
    rnr_retry: u8,
    alt_port_num: u32,
    alt_timeout: u8,
    rate_limit: u32,
}

/// What a QP was made with, as its driver tells it.
pub(crate) struct Made {
    pub(crate) caps: Caps,
    pub(crate) signal_all: bool,
}

/// Not on the stack, for its size.
fn zeroed() -> Result<KBox<bindings::ib_qp_attr>> {
    // SAFETY: Numbers and pointers, for which zeroes are valid.
    Ok(KBox::new(unsafe { mem::zeroed() }, GFP_KERNEL)?)
}

impl Qp {
    /// Changes what `mask` says. `EINVAL` if the QP's state and type do not allow that, and errors
    /// of the driver.
    pub(crate) fn modify(
        &self,
        live: &Live<'_>,
        attrs: &Attrs,
        mask: u32,
        bundle: &mut Bundle<'_>,
    ) -> Result {
        let mut raw = zeroed()?;
        attrs.fill(live, &mut raw, mask);
        if live.ops().modify_qp.is_none() {
            return Err(EOPNOTSUPP);
        }
        bundle.set_context_raw(self.face.context());
        // SAFETY: By the type's invariant; the others are valid for the call.
        to_result(unsafe {
            bindings::ib_modify_qp_with_udata(
                self.as_raw(),
                &mut *raw,
                mask.to_signed(),
                bundle.udata(),
            )
        })
    }

    /// What the driver knows of the QP; `mask` tells it what is asked for.
    pub(crate) fn query(&self, _live: &Live<'_>, mask: u32) -> Result<(Attrs, Made)> {
        let mut attr = zeroed()?;
        let mut init = KBox::new(pin_init::zeroed::<bindings::ib_qp_init_attr>(), GFP_KERNEL)?;
        // SAFETY: By the type's invariant; the others are valid for the call.
        to_result(unsafe {
            bindings::ib_query_qp(self.as_raw(), &mut *attr, mask.to_signed(), &mut *init)
        })?;
        let made = Made {
            caps: Caps::from_raw(&init.cap),
            signal_all: init.sq_sig_type == bindings::ib_sig_type_IB_SIGNAL_ALL_WR,
        };
        Ok((Attrs::from_raw(&attr), made))
    }
}
