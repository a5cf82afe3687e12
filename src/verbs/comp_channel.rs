// SPDX-License-Identifier: GPL-2.0

//! Completion channels.

use crate::{
    abi::event::{
        CreateCompChannel,
        CreateCompChannelResp, //
    },
    bindings as b,
    dispatch::{
        Call,
        Command, //
    },
    object::event_file::Sort, //
};
use kernel::prelude::*;

pub(super) const COMMANDS: &[Command] =
    &[Command::new::<CreateCompChannel, CreateCompChannelResp>(
        b::ib_uverbs_write_cmds_IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL,
        create,
    )
    .no_udata()];

fn create(call: &mut Call<'_, '_>) -> Result {
    let _request: CreateCompChannel = call.request()?;
    call.context()?.lock(call.live()?)?;
    let (fd, channel) = call.file.data().events().create(Sort::Channel)?;
    call.respond(&CreateCompChannelResp { fd: fd.number() })?;
    call.pend_fd(fd);
    channel.start(call.live()?);
    Ok(())
}
