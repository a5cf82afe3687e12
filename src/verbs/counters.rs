// SPDX-License-Identifier: GPL-2.0

//! Sets of counters.

use crate::{
    bindings as b,
    dispatch::{
        Attr,
        Call,
        Method, //
    },
    object::{
        kinds::Counters,
        Right,
        Seat, //
    },
    rdma, //
};
use kernel::prelude::*;
use zerocopy::IntoBytes;

pub(super) const METHODS: &[Method] = &[
    Method::new(
        b::uverbs_methods_actions_counters_ops_UVERBS_METHOD_COUNTERS_CREATE,
        &[Attr::handle(NEW)],
        create,
    ),
    Method::destroy::<Counters, DESTROY>(
        b::uverbs_methods_actions_counters_ops_UVERBS_METHOD_COUNTERS_DESTROY,
    ),
    Method::new(
        b::uverbs_methods_actions_counters_ops_UVERBS_METHOD_COUNTERS_READ,
        &[
            Attr::handle(READ),
            Attr::output_min(BUFFER, 0),
            Attr::flags(FLAGS).optional(),
        ],
        read,
    ),
];

const NEW: u32 = b::uverbs_attrs_create_counters_cmd_attr_ids_UVERBS_ATTR_CREATE_COUNTERS_HANDLE;
const DESTROY: u32 =
    b::uverbs_attrs_destroy_counters_cmd_attr_ids_UVERBS_ATTR_DESTROY_COUNTERS_HANDLE;
const READ: u32 = b::uverbs_attrs_read_counters_cmd_attr_ids_UVERBS_ATTR_READ_COUNTERS_HANDLE;
const BUFFER: u32 = b::uverbs_attrs_read_counters_cmd_attr_ids_UVERBS_ATTR_READ_COUNTERS_BUFF;
const FLAGS: u32 = b::uverbs_attrs_read_counters_cmd_attr_ids_UVERBS_ATTR_READ_COUNTERS_FLAGS;

fn create(call: &mut Call<'_, '_>) -> Result {
    let handle = call.reserve(Some(NEW))?;
    let seat = Seat::new()?;
    let context = call.context()?.lock(call.live()?)?;
    let hw = rdma::counters::Counters::create(call.live()?, &context.borrow(), call.bundle)?;
    call.create(handle, seat, Counters { hw }).map(drop)
}

fn read(call: &mut Call<'_, '_>) -> Result {
    const KNOWN: u32 = b::ib_uverbs_read_counters_flags_IB_UVERBS_READ_COUNTERS_PREFER_CACHED;
    let found = call.find::<Counters>(call.number(READ)?)?;
    let counters = found.lock::<Counters>(Right::Use)?;
    if call.live()?.ops().read_counters.is_none() {
        return Err(EOPNOTSUPP);
    }
    if !counters.hw.is_bound() {
        return Err(EINVAL);
    }
    let flags = call.flags(FLAGS, KNOWN)?;
    let room = call.attr(BUFFER)?.len / size_of::<u64>();
    let mut values = KVec::from_elem(0u64, room, GFP_KERNEL)?;
    let known = counters
        .hw
        .read(call.live()?, flags, &mut values, call.bundle)?;
    let values = values.get(..known).ok_or(EINVAL)?;
    call.write_bytes(BUFFER, values.as_bytes())
}
