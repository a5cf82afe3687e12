// SPDX-License-Identifier: GPL-2.0

//! Object fds: descriptors that own an object or a context, to be passed to other processes.

use super::{
    name::Name,
    rights::Rights,
    shared::Shared, //
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
    shared: Shared,
    rights: Rights,
}

impl ObjectFd {
    pub(crate) fn new(shared: Shared, rights: Rights) -> Result<Arc<Self>> {
        Ok(Arc::new(Self { shared, rights }, GFP_KERNEL)?)
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
