// SPDX-License-Identifier: GPL-2.0

//! Multicast groups of queue pairs.

use crate::{
    abi::qp::Mcast,
    bindings as b,
    dispatch::{
        Call,
        Command, //
    },
    object::{
        kinds::Qp,
        Right, //
    },
    rdma::qp::{
        self,
        groups::Group, //
    },
};
use kernel::prelude::*;

pub(super) const COMMANDS: &[Command] = &[
    Command::new::<Mcast, ()>(
        b::ib_uverbs_write_cmds_IB_USER_VERBS_CMD_ATTACH_MCAST,
        |call| run(call, qp::Qp::attach),
    )
    .needs(|ops| ops.attach_mcast.is_some() && ops.detach_mcast.is_some())
    .no_udata(),
    Command::new::<Mcast, ()>(
        b::ib_uverbs_write_cmds_IB_USER_VERBS_CMD_DETACH_MCAST,
        |call| run(call, qp::Qp::detach),
    )
    .needs(|ops| ops.detach_mcast.is_some())
    .no_udata(),
];

fn run(call: &Call<'_, '_>, f: fn(&qp::Qp, Group) -> Result) -> Result {
    let request: Mcast = call.request()?;
    let found = call.find::<Qp>(i64::from(request.qp_handle))?;
    let qp = found.lock::<Qp>(Right::Modify)?;
    let group = Group {
        gid: request.gid,
        lid: request.mlid,
    };
    f(&qp.hw, group)
}
