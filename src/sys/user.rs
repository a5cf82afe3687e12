// SPDX-License-Identifier: GPL-2.0

//! User memory, as the verbs ABI reads and writes it.

use crate::bindings;
use core::{
    mem::MaybeUninit,
    slice, //
};
use kernel::{
    prelude::*,
    uaccess::{
        UserPtr,
        UserSlice, //
    },
};
use zerocopy::{
    FromBytes,
    Immutable,
    IntoBytes, //
};

/// An address that user space passed as a 64-bit number. Every use of it can give `EFAULT`.
#[derive(Clone, Copy)]
pub(crate) struct UserAddr(usize);

impl UserAddr {
    pub(crate) fn new(addr: u64) -> Result<Self> {
        Ok(Self(usize::try_from(addr).map_err(|_| EFAULT)?))
    }

    pub(crate) const fn from_usize(addr: usize) -> Self {
        Self(addr)
    }

    pub(crate) fn as_usize(self) -> usize {
        self.0
    }

    pub(crate) fn offset(self, by: usize) -> Result<Self> {
        Ok(Self(self.0.checked_add(by).ok_or(EFAULT)?))
    }

    fn slice(self, len: usize) -> UserSlice {
        UserSlice::new(UserPtr::from_addr(self.0), len)
    }

    /// The checks of hardened usercopy are left out here and in [`Self::write_bytes`], as the
    /// `kernel` crate leaves them out for sized types: a slice is as long as it says.
    pub(crate) fn read_uninit(self, to: &mut [MaybeUninit<u8>]) -> Result {
        // SAFETY: The slice is valid for writes of its length; C checks the user's side.
        let left = unsafe {
            bindings::_copy_from_user(to.as_mut_ptr().cast(), self.0 as *const c_void, to.len())
        };
        if left == 0 {
            Ok(())
        } else {
            Err(EFAULT)
        }
    }

    pub(crate) fn read_bytes(self, to: &mut [u8]) -> Result {
        // SAFETY: What is written are bytes.
        let to = unsafe { slice::from_raw_parts_mut(to.as_mut_ptr().cast(), to.len()) };
        self.read_uninit(to)
    }

    pub(crate) fn read<T: FromBytes + IntoBytes>(self) -> Result<T> {
        let mut value = T::new_zeroed();
        self.read_bytes(value.as_mut_bytes())?;
        Ok(value)
    }

    /// Reads a structure that may be shorter or longer there: what is missing is zero, and what
    /// this kernel does not know must be zero, or `EOPNOTSUPP`.
    pub(crate) fn read_struct<T: FromBytes + IntoBytes>(self, len: usize) -> Result<T> {
        let mut value = T::new_zeroed();
        let known = len.min(size_of::<T>());
        if let Some(to) = value.as_mut_bytes().get_mut(..known) {
            self.read_bytes(to)?;
        }
        if self.offset(known)?.is_zero(len.saturating_sub(known))? {
            Ok(value)
        } else {
            Err(EOPNOTSUPP)
        }
    }

    /// Whether `len` bytes are all zero.
    pub(crate) fn is_zero(self, len: usize) -> Result<bool> {
        if len == 0 {
            return Ok(true);
        }
        let mut chunk = [0u8; 64];
        let mut reader = self.slice(len).reader();
        while !reader.is_empty() {
            let n = reader.len().min(chunk.len());
            let chunk = chunk.get_mut(..n).ok_or(EFAULT)?;
            reader.read_slice(chunk)?;
            if chunk.iter().any(|&b| b != 0) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    pub(crate) fn write_bytes(self, from: &[u8]) -> Result {
        // SAFETY: The slice is valid for reads of its length; C checks the user's side.
        let left = unsafe {
            bindings::_copy_to_user(self.0 as *mut c_void, from.as_ptr().cast(), from.len())
        };
        if left == 0 {
            Ok(())
        } else {
            Err(EFAULT)
        }
    }

    pub(crate) fn write<T: IntoBytes + Immutable>(self, value: &T) -> Result {
        self.write_bytes(value.as_bytes())
    }

    /// Writes a structure into room of another size: cut, or filled up with zeroes.
    pub(crate) fn write_struct<T: IntoBytes + Immutable>(self, value: &T, room: usize) -> Result {
        let known = room.min(size_of::<T>());
        if let Some(from) = value.as_bytes().get(..known) {
            self.write_bytes(from)?;
        }
        self.offset(known)?.zero(room.saturating_sub(known))
    }

    /// Writes `len` zeroes.
    pub(crate) fn zero(self, len: usize) -> Result {
        if len == 0 {
            return Ok(());
        }
        let zeroes = [0u8; 64];
        let mut writer = self.slice(len).writer();
        while !writer.is_empty() {
            let n = writer.len().min(zeroes.len());
            writer.write_slice(zeroes.get(..n).ok_or(EFAULT)?)?;
        }
        Ok(())
    }
}
