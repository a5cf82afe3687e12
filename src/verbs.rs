// SPDX-License-Identifier: GPL-2.0

//! The verbs: a file for each kind of object. Adding one is adding a method or a command to a list.

#![forbid(unsafe_code)]

mod ah;
mod async_event;
mod comp_channel;
mod cq;
mod device;
mod mr;
mod pd;
mod post;
mod qp;

use crate::{
    bindings,
    dispatch::{
        method::Object,
        Command,
        Method, //
    },
    share, //
};

/// The objects of the ioctl ABI.
static OBJECTS: [Object; 8] = [
    Object::new(
        bindings::uverbs_default_objects_UVERBS_OBJECT_DEVICE,
        device::METHODS,
    ),
    Object::new(
        bindings::uverbs_default_objects_UVERBS_OBJECT_PD,
        pd::METHODS,
    ),
    Object::new(
        bindings::uverbs_default_objects_UVERBS_OBJECT_MR,
        mr::METHODS,
    ),
    Object::new(
        bindings::uverbs_default_objects_UVERBS_OBJECT_CQ,
        cq::METHODS,
    ),
    Object::new(
        bindings::uverbs_default_objects_UVERBS_OBJECT_AH,
        ah::METHODS,
    ),
    Object::new(
        bindings::uverbs_default_objects_UVERBS_OBJECT_QP,
        qp::method::METHODS,
    ),
    Object::new(
        bindings::uverbs_default_objects_UVERBS_OBJECT_ASYNC_EVENT,
        async_event::METHODS,
    ),
    Object::new(
        bindings::shverbs_objects_SHVERBS_OBJECT_SHARE,
        share::METHODS,
    ),
];

/// The commands of the write ABI, plain and extended.
static COMMANDS: [&[Command]; 9] = [
    // First, as it is what takes part in data transfer.
    post::COMMANDS,
    device::COMMANDS,
    pd::COMMANDS,
    mr::COMMANDS,
    comp_channel::COMMANDS,
    cq::COMMANDS,
    ah::COMMANDS,
    qp::command::COMMANDS,
    qp::modify::COMMANDS,
];

pub(crate) use self::post::doorbell;

/// The method of an object.
pub(crate) fn method(object: u16, method: u16) -> Option<&'static Method> {
    let object = OBJECTS.iter().find(|o| o.id == object)?;
    object.methods.iter().find(|m| m.id == method)
}

/// The command with a number, of which an extended one has `IB_USER_VERBS_CMD_FLAG_EXTENDED`.
pub(crate) fn command(number: u32) -> Option<&'static Command> {
    COMMANDS.iter().copied().flatten().find(|c| c.id == number)
}
