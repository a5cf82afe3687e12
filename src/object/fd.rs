// SPDX-License-Identifier: GPL-2.0

//! Object fds: descriptors that own an object or a context, to be passed to other processes.

use super::{
    departure::Departure,
    name::Name,
    rights::Rights,
    shared::Shared,
    sharing::{
        Counted,
        Role, //
    },
};
use crate::sys::file::{
    Access,
    FileType,
    Fops,
    Reading, //
};
use kernel::{
    prelude::*,
    str::CString,
    sync::{
        Arc,
        ArcBorrow, //
    },
};

/// What is owned by a `struct file`.
pub(crate) struct ObjectFd {
    shared: Counted,
    rights: Rights,
    /// Of the handle that goes from its file to the importer's.
    moves: Option<Arc<Departure>>,
}

impl ObjectFd {
    pub(crate) fn new(shared: Shared, rights: Rights) -> Result<Arc<Self>> {
        Self::make(shared, rights, None)
    }

    /// One whose import takes a handle away from its file.
    pub(crate) fn moving(
        shared: Shared,
        rights: Rights,
        departure: Arc<Departure>,
    ) -> Result<Arc<Self>> {
        Self::make(shared, rights, Some(departure))
    }

    fn make(shared: Shared, rights: Rights, moves: Option<Arc<Departure>>) -> Result<Arc<Self>> {
        let this = Self {
            shared: Counted::new(shared, Role::Fd),
            rights,
            moves,
        };
        Ok(Arc::new(this, GFP_KERNEL)?)
    }

    /// The handle that its import takes away.
    pub(crate) fn departure(&self) -> Option<&Arc<Departure>> {
        self.moves.as_ref()
    }

    pub(crate) fn shared(&self) -> &Shared {
        &self.shared
    }

    pub(crate) fn rights(&self) -> Rights {
        self.rights
    }

    /// The operations of files of this type, for inodes that hold a [`Name`].
    pub(crate) fn fops() -> &'static crate::bindings::file_operations {
        Fops::<Self>::table()
    }
}

#[vtable]
impl FileType for ObjectFd {
    const NAME: &'static CStr = c"[shverbs-object]";

    type Source = Name;

    fn open(name: &Name, access: Access) -> Result<Arc<Self>> {
        name.open(access)
    }

    fn read(this: ArcBorrow<'_, Self>, reading: Reading<'_>) -> Result<usize> {
        let text = CString::try_from_fmt(fmt!("{}", this.shared.description()))?;
        reading.answer_from(text.to_bytes())
    }
}
