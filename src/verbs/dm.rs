// SPDX-License-Identifier: GPL-2.0

//! Memory of the device, and memory regions of it.

use crate::{
    bindings as b,
    dispatch::{
        Attr,
        Call,
        Method, //
    },
    object::{
        kinds::{
            Dm,
            Mr,
            Pd, //
        },
        Right,
        Seat, //
    },
    rdma::{
        self,
        mr::DmRange, //
    },
};
use kernel::prelude::*;

pub(super) const METHODS: &[Method] = &[
    Method::new(
        b::uverbs_methods_dm_UVERBS_METHOD_DM_ALLOC,
        &[
            Attr::handle(NEW),
            Attr::input::<u64>(LENGTH),
            Attr::input::<u32>(ALIGNMENT),
        ],
        alloc,
    ),
    Method::destroy::<Dm, FREE>(b::uverbs_methods_dm_UVERBS_METHOD_DM_FREE),
];

/// Of the object `UVERBS_OBJECT_MR`.
pub(super) const MR_METHODS: &[Method] = &[Method::new(
    b::uverbs_methods_mr_UVERBS_METHOD_DM_MR_REG,
    &[
        Attr::handle(reg::HANDLE),
        Attr::input::<u64>(reg::OFFSET),
        Attr::input::<u64>(reg::LENGTH),
        Attr::handle(reg::PD),
        Attr::flags(reg::ACCESS).optional(),
        Attr::handle(reg::DM),
        Attr::output::<u32>(reg::RESP_LKEY),
        Attr::output::<u32>(reg::RESP_RKEY),
    ],
    register,
)];

const NEW: u32 = b::uverbs_attrs_alloc_dm_cmd_attr_ids_UVERBS_ATTR_ALLOC_DM_HANDLE;
const LENGTH: u32 = b::uverbs_attrs_alloc_dm_cmd_attr_ids_UVERBS_ATTR_ALLOC_DM_LENGTH;
const ALIGNMENT: u32 = b::uverbs_attrs_alloc_dm_cmd_attr_ids_UVERBS_ATTR_ALLOC_DM_ALIGNMENT;
const FREE: u32 = b::uverbs_attrs_free_dm_cmd_attr_ids_UVERBS_ATTR_FREE_DM_HANDLE;

/// The attributes of `UVERBS_METHOD_DM_MR_REG`.
mod reg {
    use crate::bindings as b;
    pub(super) const HANDLE: u32 =
        b::uverbs_attrs_reg_dm_mr_cmd_attr_ids_UVERBS_ATTR_REG_DM_MR_HANDLE;
    pub(super) const OFFSET: u32 =
        b::uverbs_attrs_reg_dm_mr_cmd_attr_ids_UVERBS_ATTR_REG_DM_MR_OFFSET;
    pub(super) const LENGTH: u32 =
        b::uverbs_attrs_reg_dm_mr_cmd_attr_ids_UVERBS_ATTR_REG_DM_MR_LENGTH;
    pub(super) const PD: u32 =
        b::uverbs_attrs_reg_dm_mr_cmd_attr_ids_UVERBS_ATTR_REG_DM_MR_PD_HANDLE;
    pub(super) const ACCESS: u32 =
        b::uverbs_attrs_reg_dm_mr_cmd_attr_ids_UVERBS_ATTR_REG_DM_MR_ACCESS_FLAGS;
    pub(super) const DM: u32 =
        b::uverbs_attrs_reg_dm_mr_cmd_attr_ids_UVERBS_ATTR_REG_DM_MR_DM_HANDLE;
    pub(super) const RESP_LKEY: u32 =
        b::uverbs_attrs_reg_dm_mr_cmd_attr_ids_UVERBS_ATTR_REG_DM_MR_RESP_LKEY;
    pub(super) const RESP_RKEY: u32 =
        b::uverbs_attrs_reg_dm_mr_cmd_attr_ids_UVERBS_ATTR_REG_DM_MR_RESP_RKEY;
}

fn alloc(call: &mut Call<'_, '_>) -> Result {
    let handle = call.reserve(Some(NEW))?;
    let (length, alignment) = (call.read(LENGTH)?, call.read(ALIGNMENT)?);
    let seat = Seat::new()?;
    let context = call.context()?.lock(call.live()?)?;
    let hw = rdma::dm::Dm::alloc(
        call.live()?,
        &context.borrow(),
        length,
        alignment,
        call.bundle,
    )?;
    call.create(handle, seat, Dm { hw }).map(drop)
}

fn register(call: &mut Call<'_, '_>) -> Result {
    let handle = call.reserve(Some(reg::HANDLE))?;
    let found_pd = call.find::<Pd>(call.number(reg::PD)?)?;
    let found_dm = call.find::<Dm>(call.number(reg::DM)?)?;
    if call.live()?.ops().reg_dm_mr.is_none() {
        return Err(EOPNOTSUPP);
    }
    let range = DmRange {
        offset: call.read(reg::OFFSET)?,
        length: call.read(reg::LENGTH)?,
        access: call.flags(reg::ACCESS, b::ib_access_flags_IB_ACCESS_SUPPORTED)?,
    };
    // Addresses of device memory begin at zero.
    if range.access & b::ib_access_flags_IB_ZERO_BASED == 0 {
        return Err(EINVAL);
    }
    rdma::mr::check_access(call.live()?, range.access)?;
    let pd = found_pd.lock::<Pd>(Right::Use)?;
    let dm = found_dm.lock::<Dm>(Right::Use)?;
    let seat = Seat::new()?;
    let context = call.context()?.lock(call.live()?)?;
    let hw = rdma::mr::Mr::register_dm(
        call.live()?,
        &context.borrow(),
        &pd.hw,
        &dm.hw,
        range,
        call.bundle,
    )?;
    let keys = hw.keys();
    let mr = Mr {
        hw,
        access: range.access,
        pd: pd.owner(),
        dm: Some(dm.owner()),
    };
    call.create(handle, seat, mr)?;
    call.write(reg::RESP_LKEY, &keys.lkey)?;
    call.write(reg::RESP_RKEY, &keys.rkey)
}
