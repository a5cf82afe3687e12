// SPDX-License-Identifier: GPL-2.0

//! Small pieces of memory.

use core::mem::MaybeUninit;

/// A small structure of zeroes, made as [`zero`] does.
///
/// # Safety
///
/// Zeroes must be a valid `T`.
#[inline(always)]
pub(crate) unsafe fn zeroed<T>() -> T {
    let mut value = MaybeUninit::uninit();
    // SAFETY: Valid for writes.
    unsafe { zero(value.as_mut_ptr()) };
    // SAFETY: All bytes are written, and by this function's contract.
    unsafe { value.assume_init() }
}

/// Zeroes a small structure word by word: up to a few hundred bytes, a call of `memset()`, which is for
/// any size, takes longer than the stores do.
///
/// # Safety
///
/// `slot` must be valid for writes.
#[inline(always)]
pub(crate) unsafe fn zero<T>(slot: *mut T) {
    // SAFETY: By this function's contract.
    unsafe { zero_behind::<T, ()>(slot) };
}

/// As [`zero`], but for the `Head` that the structure begins with.
///
/// # Safety
///
/// `slot` must be valid for writes.
#[inline(always)]
pub(crate) unsafe fn zero_behind<T, Head>(slot: *mut T) {
    const WORD: usize = size_of::<u64>();
    const { assert!(size_of::<T>() % WORD == 0 && align_of::<T>() % WORD == 0) };
    const { assert!(size_of::<Head>() % WORD == 0) };
    for at in size_of::<Head>() / WORD..size_of::<T>() / WORD {
        let word = slot.cast::<u64>().wrapping_add(at);
        // Volatile, since compilers make a `memset()` of such loops.
        // SAFETY: In bounds, by this function's contract.
        unsafe { word.write_volatile(0) };
    }
}
