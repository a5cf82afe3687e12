// SPDX-License-Identifier: GPL-2.0

//! User space verbs with shared ownership, in the place of `ib_uverbs`.

use kernel::prelude::*;

mod abi;
mod backend;
mod bindings;
mod chardev;
mod dispatch;
mod events;
mod object;
mod objfs;
mod rdma;
mod share;
mod sys;
mod verbs;

module! {
    type: Shverbs,
    name: "shverbs",
    authors: ["The shverbs developers"],
    description: "User space verbs with shared ownership of RDMA objects",
    license: "GPL",
    alias: ["rdma-client-uverbs"],
    imports_ns: ["rdma_core"],
}

/// What is registered, in the order in which it goes: devices first, then what they use.
struct Shverbs {
    _client: Pin<KBox<rdma::client::Registration<object::device::Inner>>>,
    _objfs: objfs::Registration,
    _class: rdma::class::Registration,
    _regions: sys::chrdev::Regions,
}

impl kernel::Module for Shverbs {
    fn init(_module: &'static ThisModule) -> Result<Self> {
        let regions = sys::chrdev::Regions::new().inspect_err(|_| {
            pr_err!("the device numbers of InfiniBand verbs are taken: unload ib_uverbs first\n");
        })?;
        let class = rdma::class::Registration::new(chardev::class())?;
        let objfs = objfs::Registration::new()?;
        let client = KBox::pin_init(rdma::client::Registration::new(), GFP_KERNEL)?;
        Ok(Self {
            _client: client,
            _objfs: objfs,
            _class: class,
            _regions: regions,
        })
    }
}

/// See `rdma_user_mmap_disassociate()` in `marshall.c`.
#[no_mangle]
extern "C" fn shverbs_mmap_disassociate(ib: *mut bindings::ib_device) {
    // SAFETY: For drivers, on a device of theirs that is registered.
    unsafe {
        rdma::client::with_device::<object::device::Inner>(ib, |device| device.contexts().zap_all())
    };
}
