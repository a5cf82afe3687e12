// SPDX-License-Identifier: GPL-2.0

//! `write()`: a command with its response's address in it. Plain commands count in words of 4
//! bytes, header included; extended ones in 8, and have a second header.

use super::{
    call::Call,
    command::Command, //
};
use crate::{
    abi::{
        self,
        post::PostSend, //
    },
    bindings,
    object::OpenFile,
    rdma::{
        bundle::{
            Bundle,
            Span, //
        },
        device::Live, //
    },
    sys::user::UserAddr,
    verbs, //
};
use kernel::prelude::*;

const EXTENDED: u32 = bindings::IB_USER_VERBS_CMD_FLAG_EXTENDED;
const NUMBER: u32 = bindings::IB_USER_VERBS_CMD_COMMAND_MASK;
const HEADER: usize = size_of::<abi::CommandHeader>();
const BOTH_HEADERS: usize = HEADER + size_of::<abi::ExtendedHeader>();

/// Where a command's request and response are, its own and the driver's.
struct Layout {
    core_in: Span,
    core_out: Span,
    driver_in: Span,
    driver_out: Span,
}

/// The command with this number: `EINVAL` for bits that mean nothing, `EOPNOTSUPP` for one that
/// there is not, or that the driver leaves to user space, and `EIO` for one that the device is no
/// longer there for.
pub(crate) fn command(live: Option<&Live<'_>>, number: u32) -> Result<&'static Command> {
    if number & !(EXTENDED | NUMBER) != 0 {
        return Err(EINVAL);
    }
    let command = verbs::command(number).ok_or(EOPNOTSUPP)?;
    match live {
        Some(live) if number & EXTENDED == 0 && !live.takes_command(number) => Err(EOPNOTSUPP),
        Some(live) if !(command.needs)(live.ops()) => Err(EOPNOTSUPP),
        None if !command.after_removal => Err(EIO),
        _ => Ok(command),
    }
}

/// The errno for a command that there is not. Where its number lies among those of others its
/// header is looked at first, as that of a plain command.
fn no_command(header: abi::CommandHeader, count: usize) -> Error {
    const LAST: u32 = bindings::ib_uverbs_write_cmds_IB_USER_VERBS_CMD_OPEN_QP;
    const LAST_EXTENDED: u32 = bindings::IB_USER_VERBS_EX_CMD_MODIFY_CQ;
    let last = if header.command & EXTENDED != 0 {
        LAST_EXTENDED
    } else {
        LAST
    };
    if header.command & NUMBER <= last && words(header.in_words, 4) != count {
        return EINVAL;
    }
    EOPNOTSUPP
}

/// Runs the command of `count` bytes at `at`.
pub(crate) fn run(file: &OpenFile, at: UserAddr, count: usize) -> Result {
    if count < HEADER {
        return Err(EINVAL);
    }
    let header: abi::CommandHeader = at.read()?;
    let live = file.data().device().live();
    let live = live.as_ref().ok();
    let command = command(live, header.command).map_err(|e| {
        if e == EOPNOTSUPP && !verbs::is_known(header.command) {
            no_command(header, count)
        } else {
            e
        }
    })?;
    let layout = if header.command & EXTENDED != 0 {
        extended(command, header, at, count)?
    } else {
        plain(command, header, at, count)?
    };
    Bundle::with_none(file.ufile(), |bundle| {
        bundle.set_udata(layout.driver_in, layout.driver_out);
        let mut call = Call::new(live, file, bundle);
        call.core_in = layout.core_in;
        call.core_out = layout.core_out;
        (command.run)(&mut call)?;
        call.commit()
    })
}

/// Rings the doorbell of a QP for a caller who has not the credentials that the file was opened
/// with. `EACCES` for every other command.
///
/// Such a caller may be a program that was handed the file and made to write, by whoever else has
/// it, what it would read a response into. A `POST_SEND` without work requests can do no harm to
/// it: nothing is read but the bytes that it wrote, and nothing is written. Its response, which
/// would be a zero, is left out: the response's address is a pointer that the caller need not have
/// chosen. Libraries that ring doorbells in this way do not read it, as the `write()` itself fails
/// where there is an error.
pub(crate) fn doorbell(file: &OpenFile, at: UserAddr, count: usize) -> Result {
    const POST_SEND: u32 = bindings::ib_uverbs_write_cmds_IB_USER_VERBS_CMD_POST_SEND;
    const LENGTH: usize = HEADER + size_of::<PostSend>();
    if count != LENGTH {
        return Err(EACCES);
    }
    let header: abi::CommandHeader = at.read().map_err(|_| EACCES)?;
    let request: PostSend = at.offset(HEADER)?.read().map_err(|_| EACCES)?;
    if header.command != POST_SEND
        || words(header.in_words, 4) != LENGTH
        || request.wr_count != 0
        || request.sge_count != 0
    {
        return Err(EACCES);
    }
    let live = file.data().device().live()?;
    command(Some(&live), POST_SEND)?;
    verbs::doorbell(&live, file, &request)
}

fn words(count: u16, size: usize) -> usize {
    usize::from(count) * size
}

fn span(at: UserAddr, len: usize) -> Span {
    if len == 0 {
        Span::EMPTY
    } else {
        Span { at, len }
    }
}

fn plain(
    command: &Command,
    header: abi::CommandHeader,
    at: UserAddr,
    count: usize,
) -> Result<Layout> {
    let mut in_len = words(header.in_words, 4);
    let out_len = words(header.out_words, 4);
    if in_len != count {
        return Err(EINVAL);
    }
    if count < command.request + HEADER {
        // rdma-core 18 and 19 send DESTROY_CQ 8 bytes short; its response address is there, and
        // the rest is read from what follows.
        if header.command != bindings::ib_uverbs_write_cmds_IB_USER_VERBS_CMD_DESTROY_CQ
            || count != 16
        {
            return Err(ENOSPC);
        }
        in_len = 24;
    }
    if out_len < command.response {
        return Err(ENOSPC);
    }
    let at = at.offset(HEADER)?;
    let in_len = in_len - HEADER;
    let response = if command.response != 0 {
        UserAddr::new(at.read()?)?
    } else {
        UserAddr::from_usize(0)
    };
    if !command.has_udata {
        return Ok(Layout {
            core_in: span(at, in_len),
            core_out: span(response, out_len),
            driver_in: Span::EMPTY,
            driver_out: Span::EMPTY,
        });
    }
    Ok(Layout {
        core_in: span(at, command.request),
        core_out: span(response, command.response),
        driver_in: span(
            at.offset(command.request)?,
            in_len.saturating_sub(command.request),
        ),
        driver_out: span(
            response.offset(command.response)?,
            if command.response == 0 {
                0
            } else {
                out_len - command.response
            },
        ),
    })
}

fn extended(
    command: &Command,
    header: abi::CommandHeader,
    at: UserAddr,
    count: usize,
) -> Result<Layout> {
    if count < BOTH_HEADERS {
        return Err(EINVAL);
    }
    let ex: abi::ExtendedHeader = at.offset(HEADER)?.read()?;
    let core_in = words(header.in_words, 8);
    let core_out = words(header.out_words, 8);
    let driver_in = words(ex.provider_in_words, 8);
    let driver_out = words(ex.provider_out_words, 8);
    if core_in + driver_in != count - BOTH_HEADERS {
        return Err(EINVAL);
    }
    if core_in < command.request {
        return Err(ENOSPC);
    }
    if ex.cmd_hdr_reserved != 0 {
        return Err(EINVAL);
    }
    if (ex.response == 0) != (core_out + driver_out == 0) {
        return Err(EINVAL);
    }
    if ex.response != 0 && core_out < command.response {
        return Err(ENOSPC);
    }
    let response = UserAddr::new(ex.response)?;
    let at = at.offset(BOTH_HEADERS)?;
    Ok(Layout {
        core_in: span(at, core_in),
        core_out: span(response, core_out),
        driver_in: span(at.offset(core_in)?, driver_in),
        driver_out: span(response.offset(core_out)?, driver_out),
    })
}
