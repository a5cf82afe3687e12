// SPDX-License-Identifier: GPL-2.0

//! Shared receive queues.

use crate::{
    abi::srq::{
        CreateSrq,
        CreateSrqResp,
        CreateXsrq,
        DestroySrq,
        DestroySrqResp,
        ModifySrq,
        QuerySrq,
        QuerySrqResp, //
    },
    bindings as b,
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
    events::{
        Queue,
        Subscribers, //
    },
    object::{
        event_file::Sort,
        file::{
            Entry,
            Found, //
        },
        kinds::{
            Cq,
            Pd,
            Srq,
            Xrcd, //
        },
        Right,
        Seat, //
    },
    rdma::{
        self,
        handle::Reservation,
        srq::{
            has_cq,
            Attrs,
            Init, //
        }, //
    }, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

pub(super) const METHODS: &[Method] = &[
    Method::new(
        b::uverbs_methods_srq_UVERBS_METHOD_SRQ_CREATE,
        &[
            Attr::handle(new::HANDLE),
            Attr::handle(new::PD),
            Attr::constant(new::TYPE),
            Attr::input::<u64>(new::USER_HANDLE),
            Attr::input::<u32>(new::MAX_WR),
            Attr::input::<u32>(new::MAX_SGE),
            Attr::input::<u32>(new::LIMIT),
            Attr::handle(new::XRCD).optional(),
            Attr::handle(new::CQ).optional(),
            Attr::input::<u32>(new::MAX_NUM_TAGS).optional(),
            Attr::fd(new::EVENT_FD).optional(),
            Attr::output::<u32>(new::RESP_MAX_WR),
            Attr::output::<u32>(new::RESP_MAX_SGE),
            Attr::output::<u32>(new::RESP_SRQ_NUM).optional(),
            // Where the ring is: for the driver, which finds this in the call.
            Attr::input::<b::ib_uverbs_buffer_desc>(new::BUF_UMEM).optional(),
            UHW_IN,
            UHW_OUT,
        ],
        create_ioctl,
    ),
    Method::new(
        b::uverbs_methods_srq_UVERBS_METHOD_SRQ_DESTROY,
        &[
            Attr::handle(DESTROY_HANDLE),
            Attr::output::<DestroySrqResp>(DESTROY_RESP),
        ],
        |call| {
            let resp = destroy(call, call.number(DESTROY_HANDLE)?)?;
            call.write(DESTROY_RESP, &resp)
        },
    )
    .after_removal(),
];

pub(super) const COMMANDS: &[Command] = &[
    Command::new::<CreateSrq, CreateSrqResp>(
        b::ib_uverbs_write_cmds_IB_USER_VERBS_CMD_CREATE_SRQ,
        |call| {
            let old: CreateSrq = call.request()?;
            create_command(call, old.into())
        },
    )
    .needs(|ops| ops.create_srq.is_some()),
    Command::new::<CreateXsrq, CreateSrqResp>(
        b::ib_uverbs_write_cmds_IB_USER_VERBS_CMD_CREATE_XSRQ,
        |call| {
            let request = call.request()?;
            create_command(call, request)
        },
    )
    .needs(|ops| ops.create_srq.is_some()),
    Command::new::<ModifySrq, ()>(b::ib_uverbs_write_cmds_IB_USER_VERBS_CMD_MODIFY_SRQ, modify)
        .needs(|ops| ops.modify_srq.is_some()),
    Command::new::<QuerySrq, QuerySrqResp>(
        b::ib_uverbs_write_cmds_IB_USER_VERBS_CMD_QUERY_SRQ,
        query,
    )
    .needs(|ops| ops.query_srq.is_some())
    .no_udata(),
    Command::new::<DestroySrq, DestroySrqResp>(
        b::ib_uverbs_write_cmds_IB_USER_VERBS_CMD_DESTROY_SRQ,
        |call| {
            let request: DestroySrq = call.request()?;
            let resp = destroy(call, i64::from(request.srq_handle))?;
            call.respond(&resp)
        },
    )
    .needs(|ops| ops.destroy_srq.is_some())
    .no_udata()
    .after_removal(),
];

/// The attributes of `UVERBS_METHOD_SRQ_CREATE`.
mod new {
    use crate::bindings as b;
    pub(super) const HANDLE: u32 =
        b::uverbs_attrs_create_srq_cmd_attr_ids_UVERBS_ATTR_CREATE_SRQ_HANDLE;
    pub(super) const PD: u32 =
        b::uverbs_attrs_create_srq_cmd_attr_ids_UVERBS_ATTR_CREATE_SRQ_PD_HANDLE;
    pub(super) const XRCD: u32 =
        b::uverbs_attrs_create_srq_cmd_attr_ids_UVERBS_ATTR_CREATE_SRQ_XRCD_HANDLE;
    pub(super) const CQ: u32 =
        b::uverbs_attrs_create_srq_cmd_attr_ids_UVERBS_ATTR_CREATE_SRQ_CQ_HANDLE;
    pub(super) const USER_HANDLE: u32 =
        b::uverbs_attrs_create_srq_cmd_attr_ids_UVERBS_ATTR_CREATE_SRQ_USER_HANDLE;
    pub(super) const MAX_WR: u32 =
        b::uverbs_attrs_create_srq_cmd_attr_ids_UVERBS_ATTR_CREATE_SRQ_MAX_WR;
    pub(super) const MAX_SGE: u32 =
        b::uverbs_attrs_create_srq_cmd_attr_ids_UVERBS_ATTR_CREATE_SRQ_MAX_SGE;
    pub(super) const LIMIT: u32 =
        b::uverbs_attrs_create_srq_cmd_attr_ids_UVERBS_ATTR_CREATE_SRQ_LIMIT;
    pub(super) const MAX_NUM_TAGS: u32 =
        b::uverbs_attrs_create_srq_cmd_attr_ids_UVERBS_ATTR_CREATE_SRQ_MAX_NUM_TAGS;
    pub(super) const TYPE: u32 =
        b::uverbs_attrs_create_srq_cmd_attr_ids_UVERBS_ATTR_CREATE_SRQ_TYPE;
    pub(super) const EVENT_FD: u32 =
        b::uverbs_attrs_create_srq_cmd_attr_ids_UVERBS_ATTR_CREATE_SRQ_EVENT_FD;
    pub(super) const RESP_MAX_WR: u32 =
        b::uverbs_attrs_create_srq_cmd_attr_ids_UVERBS_ATTR_CREATE_SRQ_RESP_MAX_WR;
    pub(super) const RESP_MAX_SGE: u32 =
        b::uverbs_attrs_create_srq_cmd_attr_ids_UVERBS_ATTR_CREATE_SRQ_RESP_MAX_SGE;
    pub(super) const RESP_SRQ_NUM: u32 =
        b::uverbs_attrs_create_srq_cmd_attr_ids_UVERBS_ATTR_CREATE_SRQ_RESP_SRQ_NUM;
    pub(super) const BUF_UMEM: u32 =
        b::uverbs_attrs_create_srq_cmd_attr_ids_UVERBS_ATTR_CREATE_SRQ_BUF_UMEM;
}

const DESTROY_HANDLE: u32 = b::uverbs_attrs_destroy_srq_cmd_attr_ids_UVERBS_ATTR_DESTROY_SRQ_HANDLE;
const DESTROY_RESP: u32 = b::uverbs_attrs_destroy_srq_cmd_attr_ids_UVERBS_ATTR_DESTROY_SRQ_RESP;

const BASIC: u32 = b::ib_srq_type_IB_SRQT_BASIC;
const XRC: u32 = b::ib_srq_type_IB_SRQT_XRC;
const TM: u32 = b::ib_srq_type_IB_SRQT_TM;

impl From<CreateSrq> for CreateXsrq {
    fn from(old: CreateSrq) -> Self {
        Self {
            response: old.response,
            user_handle: old.user_handle,
            srq_type: BASIC,
            pd_handle: old.pd_handle,
            max_wr: old.max_wr,
            max_sge: old.max_sge,
            srq_limit: old.srq_limit,
            max_num_tags: 0,
            xrcd_handle: 0,
            cq_handle: 0,
        }
    }
}

/// The handles that an SRQ is made from.
struct Parents<'a> {
    pd: Found<'a>,
    cq: Option<Found<'a>>,
    xrcd: Option<Found<'a>>,
}

/// What an SRQ is to be, however user space says so.
struct Wish {
    kind: u32,
    attrs: Attrs,
    max_num_tags: u32,
    user_handle: u64,
    events: Option<Arc<Queue>>,
}

fn create_command(call: &mut Call<'_, '_>, request: CreateXsrq) -> Result {
    let handle = call.reserve(None)?;
    let srq_handle = handle.id();
    let xrcd = if request.srq_type == XRC {
        let found = call.find::<Xrcd>(i64::from(request.xrcd_handle));
        Some(found.map_err(|_| EINVAL)?)
    } else {
        None
    };
    let cq = if has_cq(request.srq_type) {
        Some(call.find::<Cq>(i64::from(request.cq_handle))?)
    } else {
        None
    };
    let parents = Parents {
        pd: call.find::<Pd>(i64::from(request.pd_handle))?,
        cq,
        xrcd,
    };
    let wish = Wish {
        kind: request.srq_type,
        attrs: Attrs {
            max_wr: request.max_wr,
            max_sge: request.max_sge,
            limit: request.srq_limit,
        },
        max_num_tags: if request.srq_type == TM {
            request.max_num_tags
        } else {
            0
        },
        user_handle: request.user_handle,
        events: call.file.data().events().default_queue(),
    };
    let (attrs, srqn) = create(call, handle, &parents, wish)?;
    call.respond(&CreateSrqResp {
        srq_handle,
        max_wr: attrs.max_wr,
        max_sge: attrs.max_sge,
        srqn: srqn.unwrap_or(0),
    })
}

fn create_ioctl(call: &mut Call<'_, '_>) -> Result {
    let handle = call.reserve(Some(new::HANDLE))?;
    let pd = call.find::<Pd>(call.number(new::PD)?)?;
    let cq = if call.has(new::CQ) {
        Some(call.find::<Cq>(call.number(new::CQ)?)?)
    } else {
        None
    };
    let xrcd = if call.has(new::XRCD) {
        if call.live()?.ops().dealloc_xrcd.is_none() {
            return Err(EINVAL);
        }
        Some(call.find::<Xrcd>(call.number(new::XRCD)?)?)
    } else {
        None
    };
    let files = call.file.data().events();
    let events = if call.has(new::EVENT_FD) {
        Some(files.lookup(call.number(new::EVENT_FD)?, Sort::Async)?)
    } else {
        files.default_queue()
    };
    let kind = call.constant(new::TYPE)?;
    let (cq, xrcd) = match kind {
        BASIC => (None, None),
        TM => (Some(cq.ok_or(ENOENT)?), None),
        XRC => {
            let xrcd = Some(xrcd.ok_or(ENOENT)?);
            (Some(cq.ok_or(ENOENT)?), xrcd)
        }
        _ => return Err(EINVAL),
    };
    let wish = Wish {
        kind,
        attrs: Attrs {
            max_wr: call.read(new::MAX_WR)?,
            max_sge: call.read(new::MAX_SGE)?,
            limit: call.read(new::LIMIT)?,
        },
        max_num_tags: if kind == TM {
            call.read(new::MAX_NUM_TAGS)?
        } else {
            0
        },
        user_handle: call.read(new::USER_HANDLE)?,
        events,
    };
    let (attrs, srqn) = create(call, handle, &Parents { pd, cq, xrcd }, wish)?;
    call.write(new::RESP_MAX_WR, &attrs.max_wr)?;
    call.write(new::RESP_MAX_SGE, &attrs.max_sge)?;
    srqn.map_or(Ok(()), |srqn| call.write(new::RESP_SRQ_NUM, &srqn))
}

/// Makes the SRQ, and tells what it has become, and its number if it is of an XRC domain.
fn create<'a>(
    call: &mut Call<'a, '_>,
    handle: Reservation<'a, Entry>,
    parents: &Parents<'_>,
    wish: Wish,
) -> Result<(Attrs, Option<u32>)> {
    let pd = parents.pd.lock::<Pd>(Right::Use)?;
    let cq = match &parents.cq {
        Some(cq) => Some(cq.lock::<Cq>(Right::Use)?),
        None => None,
    };
    let xrcd = match &parents.xrcd {
        Some(xrcd) => Some(xrcd.lock::<Xrcd>(Right::Use)?),
        None => None,
    };
    let seat = Seat::new()?;
    let subscribers = Subscribers::new()?;
    let subscribed = subscribers.subscribe(wish.user_handle, None, wish.events)?;
    let context = call.context()?.lock(call.live()?)?;
    let init = Init {
        kind: wish.kind,
        pd: &pd.hw,
        cq: cq.as_ref().map(|cq| &cq.hw),
        xrcd: xrcd.as_ref().map(|xrcd| &xrcd.hw),
        attrs: wish.attrs,
        max_num_tags: wish.max_num_tags,
    };
    let (hw, attrs) = rdma::srq::Srq::create(
        call.live()?,
        &context.borrow(),
        init,
        subscribers.clone(),
        call.bundle,
    )?;
    let number = xrcd.is_some().then(|| hw.number());
    let srq = Srq {
        hw,
        pd: pd.owner(),
        cq: cq.map(|cq| cq.owner()),
        xrcd: xrcd.map(|xrcd| xrcd.owner()),
        subscribers,
    };
    call.create(handle, seat, srq)?;
    call.subscribe(subscribed);
    Ok((attrs, number))
}

fn modify(call: &mut Call<'_, '_>) -> Result {
    let request: ModifySrq = call.request()?;
    let found = call.find::<Srq>(i64::from(request.srq_handle))?;
    let srq = found.lock::<Srq>(Right::Modify)?;
    let attrs = Attrs {
        max_wr: request.max_wr,
        max_sge: 0,
        limit: request.srq_limit,
    };
    srq.hw
        .modify(call.live()?, attrs, request.attr_mask, call.bundle)
}

fn query(call: &mut Call<'_, '_>) -> Result {
    let request: QuerySrq = call.request()?;
    let found = call.find::<Srq>(i64::from(request.srq_handle))?;
    let attrs = found.lock::<Srq>(Right::Use)?.hw.query()?;
    call.respond(&QuerySrqResp {
        max_wr: attrs.max_wr,
        max_sge: attrs.max_sge,
        srq_limit: attrs.limit,
        reserved: 0,
    })
}

fn destroy(call: &Call<'_, '_>, id: i64) -> Result<DestroySrqResp> {
    let reported = call.file.destroy::<Srq>(id)?;
    Ok(DestroySrqResp {
        events_reported: reported.events,
    })
}
