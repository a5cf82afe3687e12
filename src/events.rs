// SPDX-License-Identifier: GPL-2.0

//! Events.

#![forbid(unsafe_code)]

use crate::{dispatch::{Call, Method}, sys::file::PendingFd};
use kernel::prelude::*;

pub(crate) const METHODS: &[Method] = &[];

pub(crate) struct Async;
impl Async { pub(crate) fn start(self, _call: &Call<'_, '_>) -> Result { Ok(()) } }
pub(crate) fn pending_async(_call: &Call<'_, '_>) -> Result<(PendingFd, Async)> { Err(EOPNOTSUPP) }
