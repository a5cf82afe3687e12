// SPDX-License-Identifier: GPL-2.0

//! Commands of the write ABI, of which an ioctl can invoke each, too.

use super::{
    call::Call,
    method::Needs, //
};
use crate::{
    abi::OneHandle,
    bindings,
    object::Kind, //
};
use kernel::prelude::*;
use zerocopy::{
    FromBytes,
    IntoBytes, //
};

/// A command.
pub(crate) struct Command {
    /// Its number in `enum ib_uverbs_write_cmds`.
    pub(crate) id: u32,
    /// The least sizes of the request and the response, in bytes.
    pub(crate) request: usize,
    pub(crate) response: usize,
    /// Whether what follows them is the driver's.
    pub(crate) has_udata: bool,
    /// Whether it works once the device is gone.
    pub(crate) after_removal: bool,
    pub(crate) needs: Needs,
    pub(crate) run: fn(&mut Call<'_, '_>) -> Result,
}

impl Command {
    /// With a request of type `Q`, a response of type `S` (`()` for none) and the driver's data
    /// behind both.
    pub(crate) const fn new<Q, S>(id: u32, run: fn(&mut Call<'_, '_>) -> Result) -> Self {
        Self {
            id,
            request: size_of::<Q>(),
            response: size_of::<S>(),
            has_udata: true,
            after_removal: false,
            needs: |_| true,
            run,
        }
    }

    /// Gives up an object of kind `K`.
    pub(crate) const fn destroy<K: Kind>(id: u32) -> Self {
        Self::new::<OneHandle, ()>(id, |call| {
            let request: OneHandle = call.request()?;
            call.file
                .destroy::<K>(i64::from(request.pd_handle))
                .map(drop)
        })
        .no_udata()
        .after_removal()
    }

    /// A command that only some drivers have.
    pub(crate) const fn needs(mut self, needs: Needs) -> Self {
        self.needs = needs;
        self
    }

    /// Without the driver's data.
    pub(crate) const fn no_udata(mut self) -> Self {
        self.has_udata = false;
        self
    }

    /// Works once the device is gone: it gives something up.
    pub(crate) const fn after_removal(mut self) -> Self {
        self.after_removal = true;
        self
    }

    /// An extended command: what does not fit of its request is zero, and of its response is cut, so
    /// that it has no least sizes.
    pub(crate) const fn extended(id: u32, run: fn(&mut Call<'_, '_>) -> Result) -> Self {
        Self {
            id: bindings::IB_USER_VERBS_CMD_FLAG_EXTENDED | id,
            request: 0,
            response: 0,
            has_udata: true,
            after_removal: false,
            needs: |_| true,
            run,
        }
    }
}

impl Call<'_, '_> {
    /// The request of a write command: what is missing of it is zero, and what is beyond must be, or
    /// `EOPNOTSUPP`.
    pub(crate) fn request<T: FromBytes + IntoBytes>(&self) -> Result<T> {
        self.core_in.at.read_struct(self.core_in.len)
    }
}
