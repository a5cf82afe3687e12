// SPDX-License-Identifier: GPL-2.0

//! The XRC domains of a device that are found by an inode: whoever may open a file may have its
//! domain, too.

use super::{
    kinds::Xrcd,
    owner::{
        Owner,
        Weak, //
    },
};
use crate::sys::inode::Inode;
use core::mem;
use kernel::{
    new_mutex,
    prelude::*,
    sync::Mutex, //
};

/// Which of `O_CREAT` and `O_EXCL` a domain is opened with.
#[derive(Clone, Copy)]
pub(crate) struct How {
    pub(crate) create: bool,
    pub(crate) exclusive: bool,
}

/// See above. The lock is held while a domain is made, so that an inode has one only.
#[pin_data]
pub(crate) struct Domains {
    #[pin]
    known: Mutex<KVec<Known>>,
}

/// A domain, which holds the inode with this id for as long as anybody owns it.
struct Known {
    inode: usize,
    domain: Weak<Xrcd>,
}

impl Domains {
    pub(super) fn new() -> impl PinInit<Self> {
        pin_init!(Self {
            known <- new_mutex!(KVec::new()),
        })
    }

    /// Forgets all, as the device goes, which their memory keeps.
    pub(crate) fn forget(&self) {
        let known = mem::take(&mut *self.known.lock());
        drop(known);
    }

    /// The domain of an inode, if there is one: `EAGAIN` if not, and it is not to be made, `EINVAL`
    /// if there is, and it is to be made. Otherwise `make` makes it.
    pub(crate) fn open(
        &self,
        inode: &Inode,
        how: How,
        make: impl FnOnce() -> Result<Owner<Xrcd>>,
    ) -> Result<Option<Owner<Xrcd>>> {
        // Dropped after the lock: it may be the last owner by now.
        let found;
        let mut known = self.known.lock();
        found = known
            .iter()
            .filter(|known| known.inode == inode.id())
            .find_map(|known| known.domain.upgrade());
        if found.is_some() {
            return if how.exclusive {
                Err(EINVAL)
            } else {
                Ok(found)
            };
        }
        if !how.create {
            return Err(EAGAIN);
        }
        known.retain(|known| !known.domain.is_gone());
        known.reserve(1, GFP_KERNEL)?;
        let domain = make()?.downgrade();
        let inode = inode.id();
        known.push(Known { inode, domain }, GFP_KERNEL)?;
        Ok(None)
    }
}
