// SPDX-License-Identifier: GPL-2.0

//! Memory regions.

use crate::{
    abi::mr::{
        RegMr,
        RegMrResp,
        ReregMr,
        ReregMrResp, //
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
        file::{
            Entry,
            Found, //
        },
        kinds::{
            Mr,
            Pd, //
        },
        Owner,
        Right,
        Seat, //
    },
    rdma::{
        self,
        handle::Reservation,
        mr::{
            Change,
            FdRange,
            Keys,
            Range,
            REREG_ACCESS,
            REREG_PD,
            REREG_TRANS, //
        },
        work_request::Sge, //
    },
    sys::num::Signed, //
};
use bindings as b;
use kernel::prelude::*;

pub(super) const METHODS: &[Method] = &[
    Method::destroy::<Mr, DESTROY_HANDLE>(b::uverbs_methods_mr_UVERBS_METHOD_MR_DESTROY),
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
    Method::new(
        b::uverbs_methods_mr_UVERBS_METHOD_REG_DMABUF_MR,
        &[
            Attr::handle(dmabuf::HANDLE),
            Attr::handle(dmabuf::PD),
            Attr::input::<u64>(dmabuf::OFFSET),
            Attr::input::<u64>(dmabuf::LENGTH),
            Attr::input::<u64>(dmabuf::IOVA),
            Attr::input::<u32>(dmabuf::FD),
            Attr::flags(dmabuf::ACCESS).optional(),
            Attr::output::<u32>(dmabuf::RESP_LKEY),
            Attr::output::<u32>(dmabuf::RESP_RKEY),
        ],
        register_dmabuf,
    ),
    Method::new(
        b::uverbs_methods_mr_UVERBS_METHOD_ADVISE_MR,
        &[
            Attr::handle(advise::PD),
            Attr::constant(advise::ADVICE),
            Attr::flags(advise::FLAGS),
            Attr::input_min(advise::PIECES, 16),
        ],
        advise,
    ),
];

pub(super) const COMMANDS: &[Command] = &[
    Command::new::<RegMr, RegMrResp>(
        b::ib_uverbs_write_cmds_IB_USER_VERBS_CMD_REG_MR,
        register_write,
    )
    .needs(|ops| ops.reg_user_mr.is_some()),
    Command::destroy::<Mr>(b::ib_uverbs_write_cmds_IB_USER_VERBS_CMD_DEREG_MR)
        .needs(|ops| ops.dereg_mr.is_some()),
    Command::new::<ReregMr, ReregMrResp>(
        b::ib_uverbs_write_cmds_IB_USER_VERBS_CMD_REREG_MR,
        reregister,
    )
    .needs(|ops| ops.rereg_user_mr.is_some()),
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

/// The attributes of `UVERBS_METHOD_REG_DMABUF_MR`.
mod dmabuf {
    use crate::bindings as b;
    pub(super) const HANDLE: u32 =
        b::uverbs_attrs_reg_dmabuf_mr_cmd_attr_ids_UVERBS_ATTR_REG_DMABUF_MR_HANDLE;
    pub(super) const PD: u32 =
        b::uverbs_attrs_reg_dmabuf_mr_cmd_attr_ids_UVERBS_ATTR_REG_DMABUF_MR_PD_HANDLE;
    pub(super) const OFFSET: u32 =
        b::uverbs_attrs_reg_dmabuf_mr_cmd_attr_ids_UVERBS_ATTR_REG_DMABUF_MR_OFFSET;
    pub(super) const LENGTH: u32 =
        b::uverbs_attrs_reg_dmabuf_mr_cmd_attr_ids_UVERBS_ATTR_REG_DMABUF_MR_LENGTH;
    pub(super) const IOVA: u32 =
        b::uverbs_attrs_reg_dmabuf_mr_cmd_attr_ids_UVERBS_ATTR_REG_DMABUF_MR_IOVA;
    pub(super) const FD: u32 =
        b::uverbs_attrs_reg_dmabuf_mr_cmd_attr_ids_UVERBS_ATTR_REG_DMABUF_MR_FD;
    pub(super) const ACCESS: u32 =
        b::uverbs_attrs_reg_dmabuf_mr_cmd_attr_ids_UVERBS_ATTR_REG_DMABUF_MR_ACCESS_FLAGS;
    pub(super) const RESP_LKEY: u32 =
        b::uverbs_attrs_reg_dmabuf_mr_cmd_attr_ids_UVERBS_ATTR_REG_DMABUF_MR_RESP_LKEY;
    pub(super) const RESP_RKEY: u32 =
        b::uverbs_attrs_reg_dmabuf_mr_cmd_attr_ids_UVERBS_ATTR_REG_DMABUF_MR_RESP_RKEY;
}

/// The attributes of `UVERBS_METHOD_ADVISE_MR`.
mod advise {
    use crate::bindings as b;
    pub(super) const PD: u32 =
        b::uverbs_attrs_advise_mr_cmd_attr_ids_UVERBS_ATTR_ADVISE_MR_PD_HANDLE;
    pub(super) const ADVICE: u32 =
        b::uverbs_attrs_advise_mr_cmd_attr_ids_UVERBS_ATTR_ADVISE_MR_ADVICE;
    pub(super) const FLAGS: u32 =
        b::uverbs_attrs_advise_mr_cmd_attr_ids_UVERBS_ATTR_ADVISE_MR_FLAGS;
    pub(super) const PIECES: u32 =
        b::uverbs_attrs_advise_mr_cmd_attr_ids_UVERBS_ATTR_ADVISE_MR_SGE_LIST;
}

/// What memory that comes with a descriptor may be accessed for.
const FD_ACCESS: u32 = b::ib_access_flags_IB_ACCESS_LOCAL_WRITE
    | b::ib_access_flags_IB_ACCESS_REMOTE_READ
    | b::ib_access_flags_IB_ACCESS_REMOTE_WRITE
    | b::ib_access_flags_IB_ACCESS_REMOTE_ATOMIC
    | b::ib_access_flags_IB_ACCESS_RELAXED_ORDERING;

fn register_write(call: &mut Call<'_, '_>) -> Result {
    let request: RegMr = call.request()?;
    let range = Range {
        start: request.start,
        length: request.length,
        iova: request.hca_va,
        access: request.access_flags,
    };
    check_offsets(range.start, range.iova)?;
    let handle = call.reserve(None)?;
    let id = handle.id();
    rdma::mr::check_access(call.live()?, range.access)?;
    let pd = call.find::<Pd>(i64::from(request.pd_handle))?;
    let keys = register(call, handle, &pd, Source::Memory(range))?;
    call.respond(&RegMrResp {
        mr_handle: id,
        lkey: keys.lkey,
        rkey: keys.rkey,
    })
}

fn register_ioctl(call: &mut Call<'_, '_>) -> Result {
    let handle = call.reserve(Some(reg::HANDLE))?;
    let pd = call.find::<Pd>(call.number(reg::PD)?)?;
    // Nothing has made a DMA handle yet.
    if call.has(reg::DMAH) {
        return Err(EINVAL);
    }
    let source = if call.has(reg::FD) {
        Source::Fd(fd_range(call)?)
    } else {
        Source::Memory(memory_range(call)?)
    };
    rdma::mr::check_access(call.live()?, source.access())?;
    let keys = register(call, handle, &pd, source)?;
    call.write(reg::RESP_LKEY, &keys.lkey)?;
    call.write(reg::RESP_RKEY, &keys.rkey)
}

/// What is registered is memory of the caller's.
fn memory_range(call: &Call<'_, '_>) -> Result<Range> {
    if !call.has(reg::ADDR) || call.has(reg::FD_OFFSET) {
        return Err(EINVAL);
    }
    let (start, iova) = (call.read(reg::ADDR)?, call.read(reg::IOVA)?);
    check_offsets(start, iova)?;
    Ok(Range {
        start,
        length: call.read(reg::LENGTH)?,
        iova,
        access: call.flags(reg::ACCESS, b::ib_access_flags_IB_ACCESS_SUPPORTED)?,
    })
}

/// What is registered is behind a descriptor.
fn fd_range(call: &Call<'_, '_>) -> Result<FdRange> {
    if call.live()?.ops().reg_user_mr_dmabuf.is_none() {
        return Err(EOPNOTSUPP);
    }
    if !call.has(reg::FD_OFFSET) || call.has(reg::ADDR) {
        return Err(EINVAL);
    }
    let (offset, iova) = (call.read(reg::FD_OFFSET)?, call.read(reg::IOVA)?);
    check_offsets(offset, iova)?;
    Ok(FdRange {
        fd: i32::try_from(call.number(reg::FD)?).map_err(|_| EINVAL)?,
        offset,
        length: call.read(reg::LENGTH)?,
        iova,
        access: call.flags(reg::ACCESS, FD_ACCESS)?,
    })
}

fn register_dmabuf(call: &mut Call<'_, '_>) -> Result {
    let handle = call.reserve(Some(dmabuf::HANDLE))?;
    let pd = call.find::<Pd>(call.number(dmabuf::PD)?)?;
    if call.live()?.ops().reg_user_mr_dmabuf.is_none() {
        return Err(EOPNOTSUPP);
    }
    let (offset, iova) = (call.read(dmabuf::OFFSET)?, call.read(dmabuf::IOVA)?);
    check_offsets(offset, iova)?;
    let range = FdRange {
        fd: call.read::<u32>(dmabuf::FD)?.to_signed(),
        offset,
        length: call.read(dmabuf::LENGTH)?,
        iova,
        access: call.flags(dmabuf::ACCESS, FD_ACCESS)?,
    };
    rdma::mr::check_access(call.live()?, range.access)?;
    let keys = register(call, handle, &pd, Source::Fd(range))?;
    call.write(dmabuf::RESP_LKEY, &keys.lkey)?;
    call.write(dmabuf::RESP_RKEY, &keys.rkey)
}

/// Where the memory of a region comes from.
enum Source {
    Memory(Range),
    Fd(FdRange),
}

impl Source {
    fn access(&self) -> u32 {
        match self {
            Self::Memory(range) => range.access,
            Self::Fd(range) => range.access,
        }
    }
}

/// The hardware's addresses and ours must agree within a page.
fn check_offsets(start: u64, iova: u64) -> Result {
    const IN_PAGE: u64 = !(kernel::page::PAGE_MASK as u64);
    if (start ^ iova) & IN_PAGE != 0 {
        return Err(EINVAL);
    }
    Ok(())
}

fn register<'a>(
    call: &mut Call<'a, '_>,
    handle: Reservation<'a, Entry>,
    pd: &Found<'_>,
    source: Source,
) -> Result<Keys> {
    let pd = pd.lock::<Pd>(Right::Use)?;
    let seat = Seat::new()?;
    let context = call.context()?.lock(call.live()?)?;
    let context = context.borrow();
    let access = source.access();
    let hw = match source {
        Source::Memory(range) => {
            rdma::mr::Mr::register(call.live()?, &context, &pd.hw, range, call.bundle)?
        }
        Source::Fd(range) => {
            rdma::mr::Mr::register_fd(call.live()?, &context, &pd.hw, range, call.bundle)?
        }
    };
    let keys = hw.keys();
    let pd = pd.owner();
    let mr = Mr {
        hw,
        access,
        pd,
        dm: None,
    };
    call.create(handle, seat, mr)?;
    Ok(keys)
}

fn reregister(call: &mut Call<'_, '_>) -> Result {
    let request: ReregMr = call.request()?;
    if request.flags == 0 {
        return Err(EINVAL);
    }
    if request.flags & !(REREG_TRANS | REREG_PD | REREG_ACCESS) != 0 {
        return Err(EOPNOTSUPP);
    }
    if request.flags & REREG_TRANS != 0 {
        check_offsets(request.start, request.hca_va)?;
    }
    let found = call.find::<Mr>(i64::from(request.mr_handle))?;
    // The PD that it leaves, if any, may go with it, but not under its lock.
    let (keys, _left) = found.remake::<Mr, _>(|mr| change(call, mr, &request))?;
    call.respond(&ReregMrResp {
        lkey: keys.lkey,
        rkey: keys.rkey,
    })
}

fn change(
    call: &mut Call<'_, '_>,
    mr: &mut Mr,
    request: &ReregMr,
) -> Result<(Keys, Option<Owner<Pd>>)> {
    if mr.dm.is_some() {
        return Err(EINVAL);
    }
    let mut flags = request.flags;
    if flags & REREG_ACCESS != 0 {
        rdma::mr::check_access(call.live()?, request.access_flags)?;
    }
    let found = if flags & REREG_PD != 0 {
        Some(call.find::<Pd>(i64::from(request.pd_handle))?)
    } else {
        None
    };
    let mut pd = match &found {
        Some(found) => Some(found.lock::<Pd>(Right::Use)?),
        None => None,
    };
    if pd.as_ref().is_some_and(|pd| mr.hw.is_in(&pd.hw)) {
        flags &= !REREG_PD;
        pd = None;
    }
    let context = call.context()?.lock(call.live()?)?;
    let change = Change {
        flags,
        range: Range {
            start: request.start,
            length: request.length,
            iova: request.hca_va,
            access: request.access_flags,
        },
        pd: pd.as_ref().map(|pd| &pd.hw),
    };
    mr.hw
        .change(call.live()?, &context.borrow(), change, call.bundle)?;
    if flags & REREG_ACCESS != 0 {
        mr.access = request.access_flags;
    }
    let left = pd.map(|pd| core::mem::replace(&mut mr.pd, pd.owner()));
    Ok((mr.hw.keys(), left))
}

fn advise(call: &mut Call<'_, '_>) -> Result {
    const FLAGS: u32 = b::ib_uverbs_advise_mr_flag_IB_UVERBS_ADVISE_MR_FLAG_FLUSH;
    let found = call.find::<Pd>(call.number(advise::PD)?)?;
    let pd = found.lock::<Pd>(Right::Use)?;
    if call.live()?.ops().advise_mr.is_none() {
        return Err(EOPNOTSUPP);
    }
    let advice = call.constant(advise::ADVICE)?;
    let flags = call.flags(advise::FLAGS, FLAGS)?;
    let mut pieces = call.read_list::<Sge>(advise::PIECES)?;
    rdma::mr::advise(
        call.live()?,
        &pd.hw,
        advice,
        flags,
        &mut pieces,
        call.bundle,
    )
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
