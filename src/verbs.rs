// SPDX-License-Identifier: GPL-2.0

//! The verbs: a file for each kind of object. Adding one is adding a method or a command to a list.

#![forbid(unsafe_code)]

mod ah;
mod async_event;
mod comp_channel;
mod counters;
mod cq;
mod device;
mod dm;
mod info;
mod mcast;
mod mr;
mod mw;
mod pd;
mod post;
mod qp;
mod srq;
mod xrcd;

use crate::{
    bindings,
    dispatch::{
        method::Object,
        Command,
        Method, //
    },
    rdma::device::Live,
    share, //
};

/// The objects of the ioctl ABI.
static OBJECTS: [Object; 16] = [
    Object::new(
        bindings::uverbs_default_objects_UVERBS_OBJECT_DEVICE,
        device::METHODS,
    ),
    Object::new(
        bindings::uverbs_default_objects_UVERBS_OBJECT_DEVICE,
        info::METHODS,
    ),
    Object::new(
        bindings::uverbs_default_objects_UVERBS_OBJECT_PD,
        pd::METHODS,
    )
    .needs(|ops| ops.dealloc_pd.is_some()),
    Object::new(
        bindings::uverbs_default_objects_UVERBS_OBJECT_MR,
        mr::METHODS,
    )
    .needs(|ops| ops.dereg_mr.is_some()),
    Object::new(
        bindings::uverbs_default_objects_UVERBS_OBJECT_MR,
        dm::MR_METHODS,
    )
    .needs(|ops| ops.dereg_mr.is_some() && ops.dealloc_dm.is_some()),
    Object::new(
        bindings::uverbs_default_objects_UVERBS_OBJECT_DM,
        dm::METHODS,
    )
    .needs(|ops| ops.dealloc_dm.is_some()),
    Object::new(
        bindings::uverbs_default_objects_UVERBS_OBJECT_XRCD,
        xrcd::METHODS,
    )
    .needs(|ops| ops.dealloc_xrcd.is_some()),
    Object::new(
        bindings::uverbs_default_objects_UVERBS_OBJECT_COUNTERS,
        counters::METHODS,
    )
    .needs(|ops| ops.destroy_counters.is_some()),
    Object::new(
        bindings::uverbs_default_objects_UVERBS_OBJECT_MW,
        mw::METHODS,
    )
    .needs(|ops| ops.dealloc_mw.is_some()),
    Object::new(
        bindings::uverbs_default_objects_UVERBS_OBJECT_CQ,
        cq::METHODS,
    )
    .needs(|ops| ops.destroy_cq.is_some()),
    Object::new(
        bindings::uverbs_default_objects_UVERBS_OBJECT_AH,
        ah::METHODS,
    )
    .needs(|ops| ops.destroy_ah.is_some()),
    Object::new(
        bindings::uverbs_default_objects_UVERBS_OBJECT_QP,
        qp::method::METHODS,
    )
    .needs(|ops| ops.destroy_qp.is_some()),
    Object::new(
        bindings::uverbs_default_objects_UVERBS_OBJECT_SRQ,
        srq::METHODS,
    )
    .needs(|ops| ops.destroy_srq.is_some()),
    Object::new(
        bindings::uverbs_default_objects_UVERBS_OBJECT_ASYNC_EVENT,
        async_event::METHODS,
    ),
    Object::new(
        bindings::uverbs_default_objects_UVERBS_OBJECT_COMP_CHANNEL,
        &[],
    ),
    Object::new(
        bindings::shverbs_objects_SHVERBS_OBJECT_SHARE,
        share::METHODS,
    ),
];

/// The commands of the write ABI, plain and extended.
static COMMANDS: [&[Command]; 13] = [
    // First, as it is what takes part in data transfer.
    post::COMMANDS,
    device::COMMANDS,
    pd::COMMANDS,
    mr::COMMANDS,
    mw::COMMANDS,
    comp_channel::COMMANDS,
    cq::COMMANDS,
    ah::COMMANDS,
    qp::command::COMMANDS,
    qp::modify::COMMANDS,
    srq::COMMANDS,
    mcast::COMMANDS,
    xrcd::COMMANDS,
];

pub(crate) use self::post::doorbell;

/// The lists of methods of an object; none if the device, while it is there, has no such objects.
fn objects<'a>(live: Option<&'a Live<'a>>, id: u16) -> impl Iterator<Item = &'static Object> + 'a {
    OBJECTS
        .iter()
        .filter(move |o| o.id == id && live.is_none_or(|live| (o.needs)(live.ops())))
}

/// Whether the device has such objects.
pub(crate) fn has_object(live: &Live<'_>, id: u16) -> bool {
    objects(Some(live), id).next().is_some()
}

/// The method of an object, if the device has such objects.
pub(crate) fn method(live: Option<&Live<'_>>, id: u16, method: u16) -> Option<&'static Method> {
    objects(live, id)
        .flat_map(|o| o.methods)
        .find(|m| m.id == method)
}

/// The command with a number, of which an extended one has `IB_USER_VERBS_CMD_FLAG_EXTENDED`.
pub(crate) fn command(number: u32) -> Option<&'static Command> {
    COMMANDS.iter().copied().flatten().find(|c| c.id == number)
}

/// Whether there is a command with a number, be it one that no device here has what it needs for.
pub(crate) fn is_known(number: u32) -> bool {
    const EXTENDED: u32 = bindings::IB_USER_VERBS_CMD_FLAG_EXTENDED;
    const PLAIN: u32 = bindings::ib_uverbs_write_cmds_IB_USER_VERBS_CMD_OPEN_QP;
    const EX: [u32; 7] = [
        bindings::IB_USER_VERBS_EX_CMD_CREATE_FLOW,
        bindings::IB_USER_VERBS_EX_CMD_DESTROY_FLOW,
        bindings::IB_USER_VERBS_EX_CMD_CREATE_WQ,
        bindings::IB_USER_VERBS_EX_CMD_MODIFY_WQ,
        bindings::IB_USER_VERBS_EX_CMD_DESTROY_WQ,
        bindings::IB_USER_VERBS_EX_CMD_CREATE_RWQ_IND_TBL,
        bindings::IB_USER_VERBS_EX_CMD_DESTROY_RWQ_IND_TBL,
    ];
    command(number).is_some()
        || number == PLAIN
        || (number & EXTENDED != 0 && EX.contains(&(number & !EXTENDED)))
}
