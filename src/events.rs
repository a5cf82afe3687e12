// SPDX-License-Identifier: GPL-2.0

//! Events: from a hardware object to all who hold it.
//!
//! A [`Queue`](queue::Queue) is what one descriptor reads. An object has
//! [`Subscribers`](subscription::Subscribers), one for each holder that wants its events, each with
//! its own user handle and queues. What a holder has read is counted, as its last acknowledgement is
//! waited for by libibverbs; what it has not read goes when its handle does.
//!
//! Lock order, all with interrupts off: the list of subscribers, then a queue, then what wakes up
//! its readers. Drivers may hold locks of theirs outside of these.

#![forbid(unsafe_code)]

pub(crate) mod queue;
pub(crate) mod subscription;

pub(crate) use self::{
    queue::Queue,
    subscription::{
        Reported,
        Subscribed,
        Subscribers, //
    }, //
};
