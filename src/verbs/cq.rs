// SPDX-License-Identifier: GPL-2.0

//! Completion queues.

use crate::{
    abi::cq::{
        CreateCq,
        CreateCqResp,
        DestroyCq,
        DestroyCqResp,
        ExCreateCq,
        ExCreateCqResp,
        ModifyCq,
        PollCq,
        PollCqResp,
        ReqNotifyCq,
        ResizeCq,
        ResizeCqResp,
        Wc, //
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
        Reported,
        Subscribers, //
    },
    object::{
        event_file::Sort,
        file::Entry,
        kinds::{
            Cq,
            Qp, //
        },
        Kind,
        Right,
        Seat, //
    },
    rdma::{
        self,
        cq::{
            Attrs,
            Completion, //
        },
        handle::Reservation, //
    },
    sys::num::Unsigned, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

pub(super) const METHODS: &[Method] = &[
    Method::new(
        b::uverbs_methods_cq_UVERBS_METHOD_CQ_CREATE,
        &[
            Attr::handle(new::HANDLE),
            Attr::input::<u32>(new::CQE),
            Attr::input::<u64>(new::USER_HANDLE),
            Attr::fd(new::COMP_CHANNEL).optional(),
            Attr::input::<u32>(new::COMP_VECTOR),
            Attr::flags(new::FLAGS).optional(),
            Attr::output::<u32>(new::RESP_CQE),
            Attr::fd(new::EVENT_FD).optional(),
            // Where the ring is: for the driver, which finds these in the call.
            Attr::input::<u64>(new::BUFFER_VA).optional(),
            Attr::input::<u64>(new::BUFFER_LENGTH).optional(),
            Attr::raw_fd(new::BUFFER_FD).optional(),
            Attr::input::<u64>(new::BUFFER_OFFSET).optional(),
            Attr::input::<b::ib_uverbs_buffer_desc>(new::BUF_UMEM).optional(),
            UHW_IN,
            UHW_OUT,
        ],
        create_ioctl,
    ),
    Method::new(
        b::uverbs_methods_cq_UVERBS_METHOD_CQ_DESTROY,
        &[
            Attr::handle(DESTROY_HANDLE),
            Attr::output::<DestroyCqResp>(DESTROY_RESP),
        ],
        |call| {
            let reported = call.file.destroy::<Cq>(call.number(DESTROY_HANDLE)?)?;
            call.write(DESTROY_RESP, &destroy_resp(reported))
        },
    )
    .after_removal(),
];

pub(super) const COMMANDS: &[Command] = &[
    Command::new::<CreateCq, CreateCqResp>(
        b::ib_uverbs_write_cmds_IB_USER_VERBS_CMD_CREATE_CQ,
        create_write,
    ),
    Command::extended(b::IB_USER_VERBS_EX_CMD_CREATE_CQ, create_ex),
    Command::new::<ResizeCq, ResizeCqResp>(
        b::ib_uverbs_write_cmds_IB_USER_VERBS_CMD_RESIZE_CQ,
        resize,
    ),
    Command::extended(b::IB_USER_VERBS_EX_CMD_MODIFY_CQ, modify),
    Command::new::<ReqNotifyCq, ()>(
        b::ib_uverbs_write_cmds_IB_USER_VERBS_CMD_REQ_NOTIFY_CQ,
        req_notify,
    )
    .no_udata(),
    Command::new::<PollCq, PollCqResp>(b::ib_uverbs_write_cmds_IB_USER_VERBS_CMD_POLL_CQ, poll)
        .no_udata(),
    Command::new::<DestroyCq, DestroyCqResp>(
        b::ib_uverbs_write_cmds_IB_USER_VERBS_CMD_DESTROY_CQ,
        |call| {
            let request: DestroyCq = call.request()?;
            let reported = call.file.destroy::<Cq>(i64::from(request.cq_handle))?;
            call.respond(&destroy_resp(reported))
        },
    )
    .no_udata()
    .after_removal(),
];

mod new {
    use crate::bindings as b;
    pub(super) const HANDLE: u32 =
        b::uverbs_attrs_create_cq_cmd_attr_ids_UVERBS_ATTR_CREATE_CQ_HANDLE;
    pub(super) const CQE: u32 = b::uverbs_attrs_create_cq_cmd_attr_ids_UVERBS_ATTR_CREATE_CQ_CQE;
    pub(super) const USER_HANDLE: u32 =
        b::uverbs_attrs_create_cq_cmd_attr_ids_UVERBS_ATTR_CREATE_CQ_USER_HANDLE;
    pub(super) const COMP_CHANNEL: u32 =
        b::uverbs_attrs_create_cq_cmd_attr_ids_UVERBS_ATTR_CREATE_CQ_COMP_CHANNEL;
    pub(super) const COMP_VECTOR: u32 =
        b::uverbs_attrs_create_cq_cmd_attr_ids_UVERBS_ATTR_CREATE_CQ_COMP_VECTOR;
    pub(super) const FLAGS: u32 =
        b::uverbs_attrs_create_cq_cmd_attr_ids_UVERBS_ATTR_CREATE_CQ_FLAGS;
    pub(super) const RESP_CQE: u32 =
        b::uverbs_attrs_create_cq_cmd_attr_ids_UVERBS_ATTR_CREATE_CQ_RESP_CQE;
    pub(super) const EVENT_FD: u32 =
        b::uverbs_attrs_create_cq_cmd_attr_ids_UVERBS_ATTR_CREATE_CQ_EVENT_FD;
    pub(super) const BUFFER_VA: u32 =
        b::uverbs_attrs_create_cq_cmd_attr_ids_UVERBS_ATTR_CREATE_CQ_BUFFER_VA;
    pub(super) const BUFFER_LENGTH: u32 =
        b::uverbs_attrs_create_cq_cmd_attr_ids_UVERBS_ATTR_CREATE_CQ_BUFFER_LENGTH;
    pub(super) const BUFFER_FD: u32 =
        b::uverbs_attrs_create_cq_cmd_attr_ids_UVERBS_ATTR_CREATE_CQ_BUFFER_FD;
    pub(super) const BUFFER_OFFSET: u32 =
        b::uverbs_attrs_create_cq_cmd_attr_ids_UVERBS_ATTR_CREATE_CQ_BUFFER_OFFSET;
    pub(super) const BUF_UMEM: u32 =
        b::uverbs_attrs_create_cq_cmd_attr_ids_UVERBS_ATTR_CREATE_CQ_BUF_UMEM;
}

const DESTROY_HANDLE: u32 = b::uverbs_attrs_destroy_cq_cmd_attr_ids_UVERBS_ATTR_DESTROY_CQ_HANDLE;
const DESTROY_RESP: u32 = b::uverbs_attrs_destroy_cq_cmd_attr_ids_UVERBS_ATTR_DESTROY_CQ_RESP;

/// The flags that the ioctl knows. The extended command leaves that to the driver.
const FLAGS: u32 = b::ib_uverbs_ex_create_cq_flags_IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION
    | b::ib_uverbs_ex_create_cq_flags_IB_UVERBS_CQ_FLAGS_IGNORE_OVERRUN;

/// What each form of creation asks for.
struct Request {
    attrs: Attrs,
    user_handle: u64,
    completions: Option<Arc<Queue>>,
    events: Option<Arc<Queue>>,
}

fn create_write(call: &mut Call<'_, '_>) -> Result {
    let request: CreateCq = call.request()?;
    let resp = create_command(
        call,
        ExCreateCq {
            user_handle: request.user_handle,
            cqe: request.cqe,
            comp_vector: request.comp_vector,
            comp_channel: request.comp_channel,
            comp_mask: 0,
            flags: 0,
            reserved: 0,
        },
    )?;
    call.respond(&resp)
}

fn create_ex(call: &mut Call<'_, '_>) -> Result {
    let request: ExCreateCq = call.request()?;
    if request.comp_mask != 0 || request.reserved != 0 {
        return Err(EINVAL);
    }
    let base = create_command(call, request)?;
    call.respond(&ExCreateCqResp {
        base,
        comp_mask: 0,
        response_length: call.response_length::<ExCreateCqResp>(),
    })
}

fn create_command(call: &mut Call<'_, '_>, request: ExCreateCq) -> Result<CreateCqResp> {
    let attrs = Attrs {
        cqe: request.cqe,
        vector: request.comp_vector,
        flags: request.flags,
    };
    attrs.check(call.live()?)?;
    let handle = call.reserve(None)?;
    let files = call.file.data().events();
    let completions = match request.comp_channel {
        channel @ 0.. => Some(files.lookup(i64::from(channel), Sort::Channel)?),
        _ => None,
    };
    let request = Request {
        attrs,
        user_handle: request.user_handle,
        completions,
        events: files.default_queue(),
    };
    let cq_handle = handle.id();
    let cqe = create(call, handle, request)?;
    Ok(CreateCqResp { cq_handle, cqe })
}

fn create_ioctl(call: &mut Call<'_, '_>) -> Result {
    let handle = call.reserve(Some(new::HANDLE))?;
    let files = call.file.data().events();
    let completions = if call.has(new::COMP_CHANNEL) {
        Some(files.lookup(call.number(new::COMP_CHANNEL)?, Sort::Channel)?)
    } else {
        None
    };
    let events = if call.has(new::EVENT_FD) {
        Some(files.lookup(call.number(new::EVENT_FD)?, Sort::Async)?)
    } else {
        files.default_queue()
    };
    let request = Request {
        attrs: Attrs {
            cqe: call.read(new::CQE)?,
            vector: call.read(new::COMP_VECTOR)?,
            flags: call.flags(new::FLAGS, FLAGS)?,
        },
        user_handle: call.read(new::USER_HANDLE)?,
        completions,
        events,
    };
    let cqe = create(call, handle, request)?;
    call.write(new::RESP_CQE, &cqe)
}

/// Makes the CQ, and tells for how many completions it has room.
fn create<'a>(
    call: &mut Call<'a, '_>,
    handle: Reservation<'a, Entry>,
    request: Request,
) -> Result<u32> {
    let seat = Seat::new()?;
    let subscribers = Subscribers::new()?;
    let subscribed =
        subscribers.subscribe(request.user_handle, request.completions, request.events)?;
    let context = call.context()?.lock(call.live()?)?;
    let hw = rdma::cq::Cq::create(
        call.live()?,
        &context.borrow(),
        request.attrs,
        subscribers.clone(),
        call.bundle,
    )?;
    let cqe = hw.cqe();
    call.create(handle, seat, Cq { hw, subscribers })?;
    call.subscribe(subscribed);
    Ok(cqe)
}

fn resize(call: &mut Call<'_, '_>) -> Result {
    let request: ResizeCq = call.request()?;
    if request.cqe == 0 {
        return Err(EINVAL);
    }
    let found = call.find::<Cq>(i64::from(request.cq_handle))?;
    let cq = found.lock::<Cq>(Right::Modify)?;
    cq.hw.resize(call.live()?, request.cqe, call.bundle)?;
    call.respond(&ResizeCqResp {
        cqe: cq.hw.cqe(),
        reserved: 0,
    })
}

fn modify(call: &mut Call<'_, '_>) -> Result {
    const MODERATE: u32 = b::ib_cq_attr_mask_IB_CQ_MODERATE;
    let request: ModifyCq = call.request()?;
    if request.attr_mask == 0 || request.reserved != 0 {
        return Err(EINVAL);
    }
    if request.attr_mask > MODERATE {
        return Err(EOPNOTSUPP);
    }
    let found = call.find::<Cq>(i64::from(request.cq_handle))?;
    let cq = found.lock::<Cq>(Right::Modify)?;
    cq.hw
        .moderate(request.attr.cq_count, request.attr.cq_period)
}

fn req_notify(call: &mut Call<'_, '_>) -> Result {
    let request: ReqNotifyCq = call.request()?;
    let found = call.find::<Cq>(i64::from(request.cq_handle))?;
    let cq = found.lock::<Cq>(Right::Use)?;
    cq.hw.arm(call.live()?, request.solicited_only != 0)
}

/// Writes each completion as it is polled, and then how many there are; no more than fit.
fn poll(call: &mut Call<'_, '_>) -> Result {
    let request: PollCq = call.request()?;
    let found = call.find::<Cq>(i64::from(request.cq_handle))?;
    let cq = found.lock::<Cq>(Right::Use)?;
    let mut at = call.core_out.at.offset(size_of::<PollCqResp>())?;
    let room = call.core_out.len.saturating_sub(size_of::<PollCqResp>()) / size_of::<Wc>();
    let most = request.ne.min(u32::try_from(room).unwrap_or(u32::MAX));
    let mut count = 0;
    while count < most {
        let Some(completion) = cq.hw.poll(call.live()?)? else {
            break;
        };
        at.write(&wc(&completion, qp_number(call, &completion)?))?;
        at = at.offset(size_of::<Wc>())?;
        count += 1;
    }
    call.core_out.at.write(&PollCqResp { count, reserved: 0 })?;
    call.core_written()
}

/// The number of the QP of a completion, which the driver names by its address: that of a QP which
/// this file holds. Zero for one that it has given up; its address is not to be followed.
fn qp_number(call: &Call<'_, '_>, completion: &Completion) -> Result<u32> {
    for id in call.file.handles(Qp::ID)? {
        // Those that go meanwhile, or are in use exclusively, have no completions to tell of.
        let Ok(found) = call.find::<Qp>(i64::from(id)) else {
            continue;
        };
        let number = found
            .lock::<Qp>(Right::Use)
            .ok()
            .and_then(|qp| completion.is_of(&qp.hw).then(|| qp.hw.number()));
        if let Some(number) = number {
            return Ok(number);
        }
    }
    Ok(0)
}

fn wc(completion: &Completion, qp_num: u32) -> Wc {
    let wc = &completion.wc;
    Wc {
        wr_id: completion.wr_id,
        status: wc.status,
        opcode: wc.opcode,
        vendor_err: wc.vendor_err,
        byte_len: wc.byte_len,
        ex: completion.ex,
        qp_num,
        src_qp: wc.src_qp,
        wc_flags: wc.wc_flags.to_unsigned(),
        pkey_index: wc.pkey_index,
        slid: completion.slid,
        sl: wc.sl,
        dlid_path_bits: wc.dlid_path_bits,
        port_num: u8::try_from(wc.port_num & 0xff).unwrap_or(0),
        reserved: 0,
    }
}

fn destroy_resp(reported: Reported) -> DestroyCqResp {
    DestroyCqResp {
        comp_events_reported: reported.completions,
        async_events_reported: reported.events,
    }
}
