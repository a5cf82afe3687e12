// SPDX-License-Identifier: GPL-2.0

//! The device numbers of the `infiniband_verbs` character devices.

use crate::bindings;
use core::ptr;
use kernel::{
    error::to_result,
    prelude::*,
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        global_lock, //
    },
};

const FIXED_MAJOR: u32 = 231;
const FIXED_MINOR: u32 = 192;
const FIXED_COUNT: u32 = 32;
const MAX_DEVICES: u32 = bindings::RDMA_MAX_PORTS;
const DYNAMIC_COUNT: u32 = MAX_DEVICES - FIXED_COUNT;
pub(crate) const NAME: &CStr = c"infiniband_verbs";

/// `MKDEV()`.
const fn mkdev(major: u32, minor: u32) -> bindings::dev_t {
    (major << 20) | minor
}

/// The first number of the dynamic range, once there is one.
static DYNAMIC: Atomic<u32> = Atomic::new(0);

global_lock! {
    // SAFETY: Initialised by `Regions::new`, before any number is taken.
    unsafe(uninit) static TAKEN: Mutex<Numbers> = Numbers([0; WORDS]);
}

const WORDS: usize = MAX_DEVICES.div_ceil(u64::BITS) as usize;

/// Bit `n` is set while number `n` is taken.
struct Numbers([u64; WORDS]);

impl Numbers {
    /// Takes the lowest free number.
    fn take(&mut self) -> Option<u32> {
        let (at, word) = (0u32..)
            .zip(self.0.iter_mut())
            .find(|(_, w)| **w != u64::MAX)?;
        let bit = word.trailing_ones();
        *word |= 1u64.checked_shl(bit)?;
        at.checked_mul(u64::BITS)?
            .checked_add(bit)
            .filter(|&n| n < MAX_DEVICES)
    }

    fn give_back(&mut self, number: u32) {
        if let Some(word) = self.0.get_mut((number / u64::BITS) as usize) {
            *word &= !(1u64 << (number % u64::BITS));
        }
    }
}

/// Both ranges of device numbers: the fixed one, and the dynamic one behind it.
pub(crate) struct Regions(());

impl Regions {
    /// `EBUSY` if `ib_uverbs` is loaded, as it has the fixed range.
    pub(crate) fn new() -> Result<Self> {
        // SAFETY: Called once, by the module's start-up.
        unsafe { TAKEN.init() };
        // SAFETY: The name is static.
        to_result(unsafe {
            bindings::register_chrdev_region(
                mkdev(FIXED_MAJOR, FIXED_MINOR),
                FIXED_COUNT,
                NAME.as_char_ptr(),
            )
        })?;
        let mut first = 0;
        // SAFETY: The name is static, and `first` valid for the call.
        let dynamic = to_result(unsafe {
            bindings::alloc_chrdev_region(&mut first, 0, DYNAMIC_COUNT, NAME.as_char_ptr())
        });
        if let Err(e) = dynamic {
            unregister(mkdev(FIXED_MAJOR, FIXED_MINOR), FIXED_COUNT);
            return Err(e);
        }
        DYNAMIC.store(first, Relaxed);
        Ok(Self(()))
    }
}

fn unregister(first: bindings::dev_t, count: u32) {
    // SAFETY: Both callers registered this range.
    unsafe { bindings::unregister_chrdev_region(first, count) };
}

impl Drop for Regions {
    fn drop(&mut self) {
        unregister(DYNAMIC.load(Relaxed), DYNAMIC_COUNT);
        unregister(mkdev(FIXED_MAJOR, FIXED_MINOR), FIXED_COUNT);
    }
}

/// The number of one device, given back on drop.
pub(crate) struct DevNum(u32);

impl DevNum {
    /// The lowest free number; `ENOSPC` if there is none.
    pub(crate) fn new() -> Result<Self> {
        TAKEN.lock().take().map(Self).ok_or(ENOSPC)
    }

    /// The `N` of `uverbsN`.
    pub(crate) fn index(&self) -> u32 {
        self.0
    }

    pub(crate) fn devt(&self) -> bindings::dev_t {
        match self.0.checked_sub(FIXED_COUNT) {
            Some(n) => DYNAMIC.load(Relaxed) + n,
            None => mkdev(FIXED_MAJOR, FIXED_MINOR + self.0),
        }
    }
}

impl Drop for DevNum {
    fn drop(&mut self) {
        TAKEN.lock().give_back(self.0);
    }
}

/// The class `infiniband_verbs`, registered.
///
/// # Invariants
///
/// The class is registered, and not written by anybody but the driver core.
pub(crate) struct Class(&'static bindings::class);

// SAFETY: By the type's invariant.
unsafe impl Send for Class {}
// SAFETY: By the type's invariant.
unsafe impl Sync for Class {}

impl Class {
    pub(crate) fn new(class: &'static bindings::class) -> Result<Self> {
        // SAFETY: The class is static.
        to_result(unsafe { bindings::class_register(ptr::from_ref(class)) })?;
        Ok(Self(class))
    }
}

impl Drop for Class {
    fn drop(&mut self) {
        // SAFETY: Registered in `new`.
        unsafe { bindings::class_unregister(ptr::from_ref(self.0)) };
    }
}
