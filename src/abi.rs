// SPDX-License-Identifier: GPL-2.0

//! The structures of the ABI, as bytes that may be read from user space and written to it.
//!
//! Each is checked against the kernel's own header at build time: its size, and the place of every
//! field.

#![forbid(unsafe_code)]

use crate::bindings;
pub(crate) mod ah;
pub(crate) mod cq;
pub(crate) mod device;
pub(crate) mod event;
pub(crate) mod mr;
pub(crate) mod mw;
pub(crate) mod pd;
pub(crate) mod post;
pub(crate) mod qp;
pub(crate) mod srq;
pub(crate) mod xrcd;

/// Defines structures with the layout of those in the uapi headers.
macro_rules! wire {
    ($(
        $(#[$attr:meta])*
        struct $name:ident = $c:ident {
            $($field:ident: $type:ty,)*
        }
    )*) => {$(
        $(#[$attr])*
        #[derive(
            Clone, Copy,
            zerocopy_derive::FromBytes, zerocopy_derive::IntoBytes, zerocopy_derive::Immutable,
            zerocopy_derive::KnownLayout,
        )]
        #[repr(C)]
        pub(crate) struct $name {
            $(pub(crate) $field: $type,)*
        }

        const _: () = {
            use core::mem::{offset_of, size_of};
            assert!(size_of::<$name>() == size_of::<crate::bindings::$c>());
            $(assert!(offset_of!($name, $field) == offset_of!(crate::bindings::$c, $field));)*
        };
    )*};
}
pub(crate) use wire;

wire! {
    /// What every ioctl begins with.
    struct IoctlHeader = ib_uverbs_ioctl_hdr {
        length: u16,
        object_id: u16,
        method_id: u16,
        num_attrs: u16,
        reserved1: u64,
        driver_id: u32,
        reserved2: u32,
    }

    /// What every `write()` begins with.
    struct CommandHeader = ib_uverbs_cmd_hdr {
        command: u32,
        in_words: u16,
        out_words: u16,
    }

    /// The request that gives up an object of a kind of which nothing is reported then.
    struct OneHandle = ib_uverbs_dealloc_pd {
        pd_handle: u32,
    }

    /// What follows in an extended one.
    struct ExtendedHeader = ib_uverbs_ex_cmd_hdr {
        response: u64,
        provider_in_words: u16,
        provider_out_words: u16,
        cmd_hdr_reserved: u32,
    }
}

// The others' requests are the same.
const _: () = {
    assert!(size_of::<OneHandle>() == size_of::<bindings::ib_uverbs_dereg_mr>());
    assert!(size_of::<OneHandle>() == size_of::<bindings::ib_uverbs_dealloc_mw>());
    assert!(size_of::<OneHandle>() == size_of::<bindings::ib_uverbs_destroy_ah>());
    assert!(size_of::<OneHandle>() == size_of::<bindings::ib_uverbs_close_xrcd>());
};

pub(crate) const IOCTL_ATTR_SIZE: usize = size_of::<bindings::ib_uverbs_attr>();

/// `RDMA_VERBS_IOCTL`.
pub(crate) const RDMA_VERBS_IOCTL: u32 =
    kernel::ioctl::_IOWR::<IoctlHeader>(bindings::RDMA_IOCTL_MAGIC, 1);
