// SPDX-License-Identifier: GPL-2.0

//! Methods of the ioctl ABI, and the attributes that each takes.

use super::call::Call;
use crate::{
    bindings, object,
    rdma::bundle::{
        key_of,
        MAX_KEYS, //
    },
};
use kernel::prelude::*;

/// What an attribute is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Data from user space: at least `min` bytes, at most `max` that mean something. More must be
    /// zero if `tail`, and are refused if not.
    In { min: u16, max: u16, tail: bool },
    /// Room for data to user space, likewise; more than `max` is filled with zeroes.
    Out { min: u16, max: u16, tail: bool },
    /// A handle, old or (as an output) new.
    Handle,
    /// A descriptor that stands for an object of the verbs ABI, old or (as an output) new.
    Fd,
    /// Any descriptor.
    RawFd,
}

/// One attribute of a method.
#[derive(Clone, Copy)]
pub(crate) struct Attr {
    pub(crate) id: u16,
    pub(crate) kind: Kind,
    pub(crate) mandatory: bool,
}

impl Attr {
    const fn new(id: u32, kind: Kind) -> Self {
        assert!(id <= u16::MAX as u32);
        Self {
            id: id as u16,
            kind,
            mandatory: true,
        }
    }

    /// Data of exactly the size of `T`.
    pub(crate) const fn input<T>(id: u32) -> Self {
        let size = size_of::<T>() as u16;
        Self::new(
            id,
            Kind::In {
                min: size,
                max: size,
                tail: false,
            },
        )
    }

    /// Data of at least `min` bytes.
    pub(crate) const fn input_min(id: u32, min: u16) -> Self {
        Self::new(
            id,
            Kind::In {
                min,
                max: u16::MAX,
                tail: false,
            },
        )
    }

    /// A structure that may grow, at least as long as its first version of `min` bytes.
    pub(crate) const fn input_struct<T>(id: u32, min: usize) -> Self {
        let max = size_of::<T>() as u16;
        Self::new(
            id,
            Kind::In {
                min: min as u16,
                max,
                tail: true,
            },
        )
    }

    /// `UVERBS_ATTR_CONST_IN`: a number, always 8 bytes.
    pub(crate) const fn constant(id: u32) -> Self {
        Self::input::<u64>(id)
    }

    /// `UVERBS_ATTR_FLAGS_IN`: 4 or 8 bytes.
    pub(crate) const fn flags(id: u32) -> Self {
        Self::new(
            id,
            Kind::In {
                min: 4,
                max: 8,
                tail: false,
            },
        )
    }

    /// Room of exactly the size of `T`.
    pub(crate) const fn output<T>(id: u32) -> Self {
        let size = size_of::<T>() as u16;
        Self::new(
            id,
            Kind::Out {
                min: size,
                max: size,
                tail: false,
            },
        )
    }

    /// Room of at least `min` bytes.
    pub(crate) const fn output_min(id: u32, min: u16) -> Self {
        Self::new(
            id,
            Kind::Out {
                min,
                max: u16::MAX,
                tail: false,
            },
        )
    }

    /// Room for a structure that may grow, at least as long as its first version of `min` bytes.
    pub(crate) const fn output_struct<T>(id: u32, min: usize) -> Self {
        let max = size_of::<T>() as u16;
        Self::new(
            id,
            Kind::Out {
                min: min as u16,
                max,
                tail: true,
            },
        )
    }

    pub(crate) const fn handle(id: u32) -> Self {
        Self::new(id, Kind::Handle)
    }

    pub(crate) const fn fd(id: u32) -> Self {
        Self::new(id, Kind::Fd)
    }

    pub(crate) const fn raw_fd(id: u32) -> Self {
        Self::new(id, Kind::RawFd)
    }

    pub(crate) const fn optional(mut self) -> Self {
        self.mandatory = false;
        self
    }
}

/// The driver's own input and output: `UVERBS_ATTR_UHW()`.
pub(crate) const UHW_IN: Attr = Attr::input_min(bindings::UVERBS_ATTR_UHW_IN, 0).optional();
/// See [`UHW_IN`].
pub(crate) const UHW_OUT: Attr = Attr::output_min(bindings::UVERBS_ATTR_UHW_OUT, 0).optional();

/// One method.
///
/// # Invariants
///
/// `index` has, for the key of each of `attrs`, its place there plus one.
pub(crate) struct Method {
    pub(crate) id: u16,
    pub(crate) attrs: &'static [Attr],
    index: [u8; MAX_KEYS],
    /// Keys of mandatory attributes, as bits.
    pub(crate) mandatory: u64,
    /// One more than the highest key.
    pub(crate) keys: usize,
    pub(crate) has_udata: bool,
    /// Whether it works once the device is gone.
    pub(crate) after_removal: bool,
    pub(crate) run: fn(&mut Call<'_, '_>) -> Result,
}

impl Method {
    pub(crate) const fn new(
        id: u32,
        attrs: &'static [Attr],
        run: fn(&mut Call<'_, '_>) -> Result,
    ) -> Self {
        assert!(id <= u16::MAX as u32 && attrs.len() < u8::MAX as usize);
        let mut this = Self {
            id: id as u16,
            attrs,
            index: [0; MAX_KEYS],
            mandatory: 0,
            keys: 0,
            has_udata: false,
            after_removal: false,
            run,
        };
        let mut at = 0;
        while at < attrs.len() {
            let attr = attrs[at];
            let key = match key_of(attr.id) {
                Some(key) => key,
                None => panic!("an attribute's id has no key"),
            };
            at += 1;
            assert!(this.index[key] == 0, "an attribute is there twice");
            this.index[key] = at as u8;
            if attr.mandatory {
                this.mandatory |= 1 << key;
            }
            if key >= this.keys {
                this.keys = key + 1;
            }
            if attr.id == UHW_OUT.id {
                this.has_udata = true;
            }
        }
        this
    }

    /// Gives up an object of kind `K`, whose handle is in the attribute `HANDLE`.
    pub(crate) const fn destroy<K: object::Kind, const HANDLE: u32>(id: u32) -> Self {
        Self::new(id, const { &[Attr::handle(HANDLE)] }, |call| {
            call.file.destroy::<K>(call.number(HANDLE)?).map(drop)
        })
        .after_removal()
    }

    /// Works once the device is gone: it gives something up.
    pub(crate) const fn after_removal(mut self) -> Self {
        self.after_removal = true;
        self
    }

    /// The attribute with this id, and its key.
    pub(crate) fn attr(&self, id: u16) -> Option<(usize, &'static Attr)> {
        let key = key_of(id)?;
        let at = usize::from(*self.index.get(key)?).checked_sub(1)?;
        Some((key, self.attrs.get(at)?))
    }
}

/// Whether a driver has what something needs. What it has not is as if it were not known at all.
pub(crate) type Needs = fn(&bindings::ib_device_ops) -> bool;

/// The methods of one object.
pub(crate) struct Object {
    pub(crate) id: u16,
    pub(crate) methods: &'static [Method],
    pub(crate) needs: Needs,
}

impl Object {
    pub(crate) const fn new(id: u32, methods: &'static [Method]) -> Self {
        assert!(id <= u16::MAX as u32);
        Self {
            id: id as u16,
            methods,
            needs: |_| true,
        }
    }

    /// An object that only some drivers have.
    pub(crate) const fn needs(mut self, needs: Needs) -> Self {
        self.needs = needs;
        self
    }
}
