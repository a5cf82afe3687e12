// SPDX-License-Identifier: GPL-2.0

//! Questions that the driver answers.

use super::{
    bundle::Bundle,
    device::Live,
    ucontext::UcontextRef, //
};
use crate::bindings;
use kernel::{
    error::to_result,
    prelude::*, //
};

/// The device's properties, with what the driver adds to the call's udata.
pub(crate) fn device(
    live: &Live<'_>,
    bundle: &mut Bundle<'_>,
) -> Result<KBox<bindings::ib_device_attr>> {
    let query = live.ops().query_device.ok_or(EOPNOTSUPP)?;
    let mut attr = KBox::init(
        pin_init::init_zeroed::<bindings::ib_device_attr>(),
        GFP_KERNEL,
    )?;
    // SAFETY: All are valid for the call.
    to_result(unsafe { query(live.as_raw(), &mut *attr, bundle.udata()) })?;
    Ok(attr)
}

/// What completion counters the device has. `EOPNOTSUPP` if it has none.
pub(crate) fn comp_cntr_caps(
    live: &Live<'_>,
    context: &UcontextRef<'_>,
    bundle: &mut Bundle<'_>,
) -> Result<bindings::ib_comp_cntr_caps> {
    let query = live.ops().query_comp_cntr_caps.ok_or(EOPNOTSUPP)?;
    let mut caps = bindings::ib_comp_cntr_caps::default();
    bundle.set_context_raw(context.as_raw());
    // SAFETY: All are valid for the call.
    to_result(unsafe { query(live.as_raw(), &mut caps, bundle.as_raw()) })?;
    Ok(caps)
}

/// A context's properties, which the driver writes to attributes of its own.
pub(crate) fn ucontext(
    live: &Live<'_>,
    context: &UcontextRef<'_>,
    bundle: &mut Bundle<'_>,
) -> Result {
    let query = live.ops().query_ucontext.ok_or(EOPNOTSUPP)?;
    // SAFETY: Both are valid for the call.
    to_result(unsafe { query(context.as_raw(), bundle.as_raw()) })
}
