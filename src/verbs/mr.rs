// SPDX-License-Identifier: GPL-2.0

//! Memory regions.

use crate::{
    abi::mr::{
        DeregMr,
        RegMr,
        RegMrResp, //
    },
    bindings,
    dispatch::{
        method::{
            UHW_IN,
            UHW_OUT, //
        },
        Attr,
        Call,
        Command,
        Method, //
    },
    object::{
        file::Entry,
        kinds::{
            Mr,
            Pd, //
        },
        Right,
        Seat, //
    },
    rdma::{
        self,
        handle::Reservation,
        mr::{
            Keys,
            Range, //
        }, //
    },
};
use bindings as b;
use kernel::prelude::*;

pub(super) const METHODS: &[Method] = &[
    Method::new(
        b::uverbs_methods_mr_UVERBS_METHOD_MR_DESTROY,
        &[Attr::handle(DESTROY_HANDLE)],
        |call| call.file.destroy::<Mr>(call.number(DESTROY_HANDLE)?).map(drop),
    )
    .after_removal(),
    Method::new(
        b::uverbs_methods_mr_UVERBS_METHOD_QUERY_MR,
        &[
            Attr::handle(b::uverbs_attrs_query_mr_cmd_attr_ids_UVERBS_ATTR_QUERY_MR_HANDLE),
            Attr::output::<u32>(
                b::uverbs_attrs_query_mr_cmd_attr_ids_UVERBS_ATTR_QUERY_MR_RESP_LKEY,
            ),
            Attr::output::<u32>(
                b::uverbs_attrs_query_mr_cmd_attr_ids_UVERBS_ATTR_QUERY_MR_RESP_RKEY,
            ),
            Attr::output::<u64>(
                b::uverbs_attrs_query_mr_cmd_attr_ids_UVERBS_ATTR_QUERY_MR_RESP_LENGTH,
            ),
            Attr::output::<u64>(
                b::uverbs_attrs_query_mr_cmd_attr_ids_UVERBS_ATTR_QUERY_MR_RESP_IOVA,
            )
            .optional(),
        ],
        query,
    ),
    Method::new(
        b::uverbs_methods_mr_UVERBS_METHOD_REG_MR,
        &[
            Attr::handle(reg::HANDLE),
            Attr::handle(reg::PD),
            Attr::handle(reg::DMAH).optional(),
            Attr::input::<u64>(reg::IOVA),
            Attr::input::<u64>(reg::LENGTH),
            Attr::flags(reg::ACCESS),
            Attr::input::<u64>(reg::ADDR).optional(),
            Attr::input::<u64>(reg::FD_OFFSET).optional(),
            Attr::raw_fd(reg::FD).optional(),
            Attr::output::<u32>(reg::RESP_LKEY),
            Attr::output::<u32>(reg::RESP_RKEY),
            UHW_IN,
            UHW_OUT,
        ],
        register_ioctl,
    ),
];

pub(super) const COMMANDS: &[Command] = &[
    Command::new::<RegMr, RegMrResp>(
        b::ib_uverbs_write_cmds_IB_USER_VERBS_CMD_REG_MR,
        register_write,
    ),
    Command::new::<DeregMr, ()>(b::ib_uverbs_write_cmds_IB_USER_VERBS_CMD_DEREG_MR, |call| {
        let request: DeregMr = call.request()?;
        call.file.destroy::<Mr>(i64::from(request.mr_handle)).map(drop)
    })
    .no_udata()
    .after_removal(),
];

const DESTROY_HANDLE: u32 = b::uverbs_attrs_mr_destroy_ids_UVERBS_ATTR_DESTROY_MR_HANDLE;

/// The attributes of `UVERBS_METHOD_REG_MR`.
mod reg {
    use crate::bindings as b;
    pub(super) const HANDLE: u32 = b::uverbs_attrs_reg_mr_cmd_attr_ids_UVERBS_ATTR_REG_MR_HANDLE;
    pub(super) const PD: u32 = b::uverbs_attrs_reg_mr_cmd_attr_ids_UVERBS_ATTR_REG_MR_PD_HANDLE;
    pub(super) const DMAH: u32 = b::uverbs_attrs_reg_mr_cmd_attr_ids_UVERBS_ATTR_REG_MR_DMA_HANDLE;
    pub(super) const IOVA: u32 = b::uverbs_attrs_reg_mr_cmd_attr_ids_UVERBS_ATTR_REG_MR_IOVA;
    pub(super) const ADDR: u32 = b::uverbs_attrs_reg_mr_cmd_attr_ids_UVERBS_ATTR_REG_MR_ADDR;
    pub(super) const LENGTH: u32 = b::uverbs_attrs_reg_mr_cmd_attr_ids_UVERBS_ATTR_REG_MR_LENGTH;
    pub(super) const ACCESS: u32 =
        b::uverbs_attrs_reg_mr_cmd_attr_ids_UVERBS_ATTR_REG_MR_ACCESS_FLAGS;
    pub(super) const FD: u32 = b::uverbs_attrs_reg_mr_cmd_attr_ids_UVERBS_ATTR_REG_MR_FD;
    pub(super) const FD_OFFSET: u32 =
        b::uverbs_attrs_reg_mr_cmd_attr_ids_UVERBS_ATTR_REG_MR_FD_OFFSET;
    pub(super) const RESP_LKEY: u32 =
        b::uverbs_attrs_reg_mr_cmd_attr_ids_UVERBS_ATTR_REG_MR_RESP_LKEY;
    pub(super) const RESP_RKEY: u32 =
        b::uverbs_attrs_reg_mr_cmd_attr_ids_UVERBS_ATTR_REG_MR_RESP_RKEY;
}

fn register_write(call: &mut Call<'_, '_>) -> Result {
    let request: RegMr = call.request()?;
    let range = Range {
        start: request.start,
        length: request.length,
        iova: request.hca_va,
        access: request.access_flags,
    };
    check_offsets(range)?;
    let handle = call.reserve(None)?;
    let id = handle.id();
    let keys = register(call, handle, i64::from(request.pd_handle), range)?;
    call.respond(&RegMrResp {
        mr_handle: id,
        lkey: keys.lkey,
        rkey: keys.rkey,
    })
}

fn register_ioctl(call: &mut Call<'_, '_>) -> Result {
    let handle = call.reserve(Some(reg::HANDLE))?;
    check_source(call)?;
    let range = Range {
        start: call.read(reg::ADDR)?,
        length: call.read(reg::LENGTH)?,
        iova: call.read(reg::IOVA)?,
        access: call.flags(reg::ACCESS, b::ib_access_flags_IB_ACCESS_SUPPORTED)?,
    };
    check_offsets(range)?;
    let keys = register(call, handle, call.number(reg::PD)?, range)?;
    call.write(reg::RESP_LKEY, &keys.lkey)?;
    call.write(reg::RESP_RKEY, &keys.rkey)
}

/// What is registered is memory of the caller's; that of a descriptor comes with the rest of the verbs
/// ABI, and so do DMA handles.
fn check_source(call: &Call<'_, '_>) -> Result {
    if call.has(reg::FD) {
        return Err(EOPNOTSUPP);
    }
    if !call.has(reg::ADDR) || call.has(reg::FD_OFFSET) || call.has(reg::DMAH) {
        return Err(EINVAL);
    }
    Ok(())
}

/// The hardware's addresses and ours must agree within a page.
fn check_offsets(range: Range) -> Result {
    const IN_PAGE: u64 = !(kernel::page::PAGE_MASK as u64);
    if (range.start ^ range.iova) & IN_PAGE != 0 {
        return Err(EINVAL);
    }
    Ok(())
}

fn register<'a>(
    call: &mut Call<'a, '_>,
    handle: Reservation<'a, Entry>,
    pd: i64,
    range: Range,
) -> Result<Keys> {
    rdma::mr::check_access(call.live()?, range.access)?;
    let pd = call.find::<Pd>(pd)?;
    let pd = pd.lock::<Pd>(Right::Use)?;
    let seat = Seat::new()?;
    let context = call.context()?.lock(call.live()?)?;
    let hw = rdma::mr::Mr::register(call.live()?, &context.borrow(), &pd.hw, range, call.bundle)?;
    let keys = hw.keys();
    let mr = Mr {
        hw,
        access: range.access,
        pd: pd.owner(),
    };
    call.create(handle, seat, mr)?;
    Ok(keys)
}

fn query(call: &mut Call<'_, '_>) -> Result {
    let mr = call.number(b::uverbs_attrs_query_mr_cmd_attr_ids_UVERBS_ATTR_QUERY_MR_HANDLE)?;
    let mr = call.find::<Mr>(mr)?;
    let keys = mr.lock::<Mr>(Right::Use)?.hw.keys();
    call.write(
        b::uverbs_attrs_query_mr_cmd_attr_ids_UVERBS_ATTR_QUERY_MR_RESP_LKEY,
        &keys.lkey,
    )?;
    call.write(
        b::uverbs_attrs_query_mr_cmd_attr_ids_UVERBS_ATTR_QUERY_MR_RESP_RKEY,
        &keys.rkey,
    )?;
    call.write(
        b::uverbs_attrs_query_mr_cmd_attr_ids_UVERBS_ATTR_QUERY_MR_RESP_LENGTH,
        &keys.length,
    )?;
    call.write_if(
        b::uverbs_attrs_query_mr_cmd_attr_ids_UVERBS_ATTR_QUERY_MR_RESP_IOVA,
        &keys.iova,
    )
}
