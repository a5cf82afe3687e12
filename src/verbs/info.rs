// SPDX-License-Identifier: GPL-2.0

//! What else user space asks of the device: handles, speeds, completion counters.

use crate::{
    bindings as b,
    dispatch::{
        Attr,
        Call,
        Method, //
    },
    rdma::{
        port,
        query, //
    },
    verbs, //
};
use kernel::prelude::*;

pub(super) const METHODS: &[Method] = &[
    Method::new(
        b::uverbs_methods_device_UVERBS_METHOD_INFO_HANDLES,
        &[
            Attr::constant(handles::OBJECT),
            Attr::output::<u32>(handles::TOTAL).optional(),
            Attr::output_min(handles::LIST, 4).optional(),
        ],
        info_handles,
    ),
    Method::new(
        b::uverbs_methods_device_UVERBS_METHOD_QUERY_PORT_SPEED,
        &[
            Attr::constant(speed::PORT),
            Attr::output::<u64>(speed::RESP),
        ],
        query_port_speed,
    ),
    Method::new(
        b::uverbs_methods_device_UVERBS_METHOD_QUERY_COMP_CNTR_CAPS,
        &[
            Attr::output::<u32>(counters::MAX_COUNTERS).optional(),
            Attr::output::<u64>(counters::MAX_VALUE).optional(),
            Attr::output::<u32>(counters::QP_OPS).optional(),
        ],
        query_comp_cntr_caps,
    ),
];

mod handles {
    use crate::bindings as b;
    pub(super) const OBJECT: u32 = b::uverbs_attrs_info_handles_id_UVERBS_ATTR_INFO_OBJECT_ID;
    pub(super) const TOTAL: u32 = b::uverbs_attrs_info_handles_id_UVERBS_ATTR_INFO_TOTAL_HANDLES;
    pub(super) const LIST: u32 = b::uverbs_attrs_info_handles_id_UVERBS_ATTR_INFO_HANDLES_LIST;
}

mod speed {
    use crate::bindings as b;
    pub(super) const PORT: u32 =
        b::uverbs_attrs_query_port_speed_cmd_attr_ids_UVERBS_ATTR_QUERY_PORT_SPEED_PORT_NUM;
    pub(super) const RESP: u32 =
        b::uverbs_attrs_query_port_speed_cmd_attr_ids_UVERBS_ATTR_QUERY_PORT_SPEED_RESP;
}

mod counters {
    use crate::bindings as b;
    pub(super) const MAX_COUNTERS: u32 =
        b::uverbs_attrs_query_comp_cntr_caps_attr_ids_UVERBS_ATTR_QUERY_COMP_CNTR_CAPS_MAX_COUNTERS;
    pub(super) const MAX_VALUE: u32 =
        b::uverbs_attrs_query_comp_cntr_caps_attr_ids_UVERBS_ATTR_QUERY_COMP_CNTR_CAPS_MAX_VALUE;
    pub(super) const QP_OPS: u32 =
        b::uverbs_attrs_query_comp_cntr_caps_attr_ids_UVERBS_ATTR_QUERY_COMP_CNTR_CAPS_SUPPORTED_QP_ATTACH_OPS;
}

/// The caller's handles of one kind, newest first, as many as there is room for.
///
/// `ENOENT` for a kind that the device has not, `ENOMSG` for that of all kinds.
fn info_handles(call: &mut Call<'_, '_>) -> Result {
    const SIZE: usize = size_of::<u32>();
    let attr = call.attr(handles::LIST).map_err(|_| EINVAL)?;
    if attr.len % SIZE != 0 {
        return Err(EINVAL);
    }
    let object: u16 = call.constant(handles::OBJECT)?;
    if u32::from(object) == b::UVERBS_IDR_ANY_OBJECT {
        return Err(ENOMSG);
    }
    if !verbs::has_object(call.live()?, object) {
        return Err(ENOENT);
    }
    let ids = call.file.handles(object)?;
    let mut at = call.out_span(attr)?.at;
    let mut total: u64 = 0;
    for id in ids.iter().rev().take(attr.len / SIZE) {
        at.write(id)?;
        at = at.offset(SIZE)?;
        total = total.saturating_add(1);
    }
    call.mark_written(attr)?;
    call.write(handles::TOTAL, &total)
}

fn query_port_speed(call: &mut Call<'_, '_>) -> Result {
    call.context()?;
    if call.live()?.ops().query_port_speed.is_none() {
        return Err(EOPNOTSUPP);
    }
    let number = call.constant(speed::PORT)?;
    if !port::is_valid(call.live()?, number) {
        return Err(EINVAL);
    }
    let speed = port::speed(call.live()?, number)?;
    call.write(speed::RESP, &speed)
}

fn query_comp_cntr_caps(call: &mut Call<'_, '_>) -> Result {
    let context = call.context()?.lock(call.live()?)?;
    let caps = query::comp_cntr_caps(call.live()?, &context.borrow(), call.bundle)?;
    call.write_if(counters::MAX_COUNTERS, &caps.max_counters)?;
    call.write_if(counters::MAX_VALUE, &caps.max_value)?;
    call.write_if(counters::QP_OPS, &caps.supported_qp_attach_ops)
}
