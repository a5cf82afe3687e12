// SPDX-License-Identifier: GPL-2.0

//! The guest's memory: windows that QEMU maps for the device, each a part of a
//! file that we map, too.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;
use std::sync::atomic::{fence, Ordering};

/// An access that no window holds: what an IOMMU would refuse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    /// The first address that is not there.
    pub addr: u64,
}

/// A piece of the guest's memory, part of a scatter list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// Bus address.
    pub addr: u64,
    /// Bytes.
    pub len: usize,
}

/// A window.
///
/// # Invariants
///
/// `base` is the start of a shared mapping of `len` bytes that is ours alone,
/// readable, and writable where `writable`; it is unmapped by `Drop` only.
struct Window {
    addr: u64,
    len: usize,
    base: NonNull<u8>,
    writable: bool,
}

impl Drop for Window {
    fn drop(&mut self) {
        // SAFETY: by the invariants these bytes are a mapping of ours, and
        // nothing refers to it once the window is gone.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.len) };
    }
}

impl Window {
    fn map(file: &File, offset: u64, addr: u64, len: u64, writable: bool) -> io::Result<Self> {
        let invalid = |_| io::Error::from(io::ErrorKind::InvalidInput);
        let len = usize::try_from(len).map_err(invalid)?;
        let offset = libc::off_t::try_from(offset).map_err(invalid)?;
        if len == 0 || addr.checked_add(len as u64).is_none() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        // Past its end, memory of a file gives SIGBUS.
        if file.metadata()?.len() < (offset as u64).saturating_add(len as u64) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let prot = if writable {
            libc::PROT_READ | libc::PROT_WRITE
        } else {
            libc::PROT_READ
        };
        // SAFETY: a new mapping, where the kernel wants it, takes nothing from anybody.
        let base = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                len,
                prot,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                offset,
            )
        };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let base = NonNull::new(base.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        // INVARIANT: just mapped, with this length and protection.
        Ok(Self {
            addr,
            len,
            base,
            writable,
        })
    }

    /// The pointer to `addr`, and how many bytes follow it in the window.
    fn find(&self, addr: u64) -> Option<(*mut u8, usize)> {
        let into = usize::try_from(addr.checked_sub(self.addr)?).ok()?;
        let left = self.len.checked_sub(into).filter(|&left| left > 0)?;
        // SAFETY: `into < len`, and by the invariants that many bytes follow `base`.
        Some((unsafe { self.base.as_ptr().add(into) }, left))
    }
}

/// The guest's memory as the device sees it. Each access is checked; one that
/// goes over the end of a window goes on in the next one.
///
/// The guest's processors use the same memory at the same time. Bytes are
/// copied, never referred to, so that nothing changes under a model after it
/// has looked.
#[derive(Default)]
pub struct Dma {
    windows: Vec<Window>,
}

impl Dma {
    /// Gives `len` bytes of `file` from `offset` on to the device at bus
    /// address `addr`.
    pub fn map(
        &mut self,
        file: &File,
        offset: u64,
        addr: u64,
        len: u64,
        writable: bool,
    ) -> io::Result<()> {
        self.windows
            .push(Window::map(file, offset, addr, len, writable)?);
        Ok(())
    }

    /// Takes away all windows within these bytes.
    pub fn unmap(&mut self, addr: u64, len: u64) {
        let end = addr.saturating_add(len);
        self.windows
            .retain(|w| w.addr < addr || w.addr + w.len as u64 > end);
    }

    /// Takes away all windows.
    pub fn unmap_all(&mut self) {
        self.windows.clear();
    }

    fn each(
        &self,
        addr: u64,
        len: usize,
        writing: bool,
        mut piece: impl FnMut(*mut u8, usize, usize),
    ) -> Result<(), Fault> {
        let mut done = 0;
        while done < len {
            let here = addr.checked_add(done as u64).ok_or(Fault { addr })?;
            let (at, left) = self
                .windows
                .iter()
                .filter(|w| w.writable || !writing)
                .find_map(|w| w.find(here))
                .ok_or(Fault { addr: here })?;
            let n = left.min(len - done);
            piece(at, done, n);
            done += n;
        }
        Ok(())
    }

    /// Reads `into.len()` bytes.
    pub fn read(&self, addr: u64, into: &mut [u8]) -> Result<(), Fault> {
        let to = into.as_mut_ptr();
        self.each(addr, into.len(), false, |from, done, n| {
            // SAFETY: `each` gives n readable bytes of a window, and
            // `done + n <= into.len()`; a window is never our own memory.
            unsafe { std::ptr::copy_nonoverlapping(from.cast_const(), to.add(done), n) }
        })?;
        fence(Ordering::Acquire);
        Ok(())
    }

    /// Writes `bytes`, after everything written before.
    pub fn write(&self, addr: u64, bytes: &[u8]) -> Result<(), Fault> {
        fence(Ordering::Release);
        let from = bytes.as_ptr();
        self.each(addr, bytes.len(), true, |to, done, n| {
            // SAFETY: `each` gives n writable bytes of a window, and
            // `done + n <= bytes.len()`; a window is never our own memory.
            unsafe { std::ptr::copy_nonoverlapping(from.add(done), to, n) }
        })
    }

    /// Whether all of these bytes may be written.
    pub fn check_write(&self, addr: u64, len: usize) -> Result<(), Fault> {
        self.each(addr, len, true, |_, _, _| ())
    }

    /// Reads `len` bytes. `len` is bounded by the caller.
    pub fn read_vec(&self, addr: u64, len: usize) -> Result<Vec<u8>, Fault> {
        let mut bytes = vec![0; len];
        self.read(addr, &mut bytes)?;
        Ok(bytes)
    }

    /// Writes an entry of a ring whose byte `owner` tells the guest that the
    /// entry is there: that byte goes last.
    pub fn publish(&self, addr: u64, entry: &[u8], owner: usize) -> Result<(), Fault> {
        self.check_write(addr, entry.len())?;
        let (before, rest) = entry.split_at(owner.min(entry.len()));
        let (mark, after) = rest.split_at(rest.len().min(1));
        self.write(addr, before)?;
        self.write(addr + (before.len() + mark.len()) as u64, after)?;
        fence(Ordering::SeqCst);
        self.write(addr + before.len() as u64, mark)
    }

    /// Reads the bytes of a scatter list, one after the other.
    pub fn gather(&self, list: &[Segment]) -> Result<Vec<u8>, Fault> {
        let mut bytes = vec![0; list.iter().map(|s| s.len).sum()];
        let mut rest = bytes.as_mut_slice();
        for segment in list {
            let (here, after) = rest.split_at_mut(segment.len);
            self.read(segment.addr, here)?;
            rest = after;
        }
        Ok(bytes)
    }

    /// Writes `bytes` to the places of a scatter list, and returns how many
    /// did not fit. Either all segments may be written or none is.
    pub fn scatter(&self, list: &[Segment], bytes: &[u8]) -> Result<usize, Fault> {
        for segment in list {
            self.check_write(segment.addr, segment.len)?;
        }
        let mut rest = bytes;
        for segment in list {
            let (here, after) = rest.split_at(segment.len.min(rest.len()));
            self.write(segment.addr, here)?;
            rest = after;
        }
        Ok(rest.len())
    }
}

// SAFETY: the mappings that windows own belong to the process, not to a thread.
unsafe impl Send for Window {}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::{FromRawFd, OwnedFd};

    fn memory(len: u64) -> File {
        // SAFETY: the name is a C string; the result is checked.
        let fd = unsafe { libc::memfd_create(c"test".as_ptr(), 0) };
        assert!(fd >= 0);
        // SAFETY: the call gave us this descriptor, and nobody else has it.
        let file = File::from(unsafe { OwnedFd::from_raw_fd(fd) });
        file.set_len(len).unwrap();
        file
    }

    /// Two windows side by side, the second one of the file's beginning.
    fn two() -> Dma {
        let (file, mut dma) = (memory(0x3000), Dma::default());
        dma.map(&file, 0x1000, 0x10_0000, 0x1000, true).unwrap();
        dma.map(&file, 0, 0x10_1000, 0x1000, true).unwrap();
        dma
    }

    #[test]
    fn over_the_end_of_a_window_into_the_next() {
        let dma = two();
        dma.write(0x10_0ffe, &[1, 2, 3, 4]).unwrap();
        assert_eq!(dma.read_vec(0x10_0ffd, 6).unwrap(), [0, 1, 2, 3, 4, 0]);
    }

    #[test]
    fn outside_is_a_fault() {
        let dma = two();
        assert_eq!(dma.read_vec(0xf_ffff, 1), Err(Fault { addr: 0xf_ffff }));
        assert_eq!(
            dma.write(0x10_1fff, &[0, 0]),
            Err(Fault { addr: 0x10_2000 })
        );
        assert!(dma.read_vec(u64::MAX, 2).is_err());
        assert_eq!(dma.read_vec(u64::MAX, 0), Ok(vec![]));
    }

    #[test]
    fn a_window_longer_than_its_file_is_refused() {
        let (file, mut dma) = (memory(0x1000), Dma::default());
        assert!(dma.map(&file, 0, 0, 0x2000, true).is_err());
        assert!(dma.map(&file, 0x1000, 0, 0x1000, true).is_err());
        assert!(dma.map(&file, 0, u64::MAX, 0x1000, true).is_err());
        assert!(dma.map(&file, 0, 0, 0, true).is_err());
    }

    #[test]
    fn a_read_only_window_is_not_written() {
        let (file, mut dma) = (memory(0x1000), Dma::default());
        dma.map(&file, 0, 0, 0x1000, false).unwrap();
        assert!(dma.write(0, &[1]).is_err());
        assert_eq!(dma.read_vec(0, 1).unwrap(), [0]);
    }

    #[test]
    fn unmapped_is_gone() {
        let mut dma = two();
        dma.unmap(0x10_0000, 0x1000);
        assert!(dma.read_vec(0x10_0000, 1).is_err());
        assert!(dma.read_vec(0x10_1000, 1).is_ok());
        // A window is not cut in two.
        dma.unmap(0x10_1000, 0x800);
        assert!(dma.read_vec(0x10_1000, 1).is_ok());
        dma.unmap(0, u64::MAX);
        assert!(dma.read_vec(0x10_1000, 1).is_err());
    }

    #[test]
    fn scatter_lists() {
        let dma = two();
        let list = [
            Segment {
                addr: 0x10_0000,
                len: 2,
            },
            Segment {
                addr: 0x10_1000,
                len: 3,
            },
        ];
        assert_eq!(dma.scatter(&list, b"abcdefg").unwrap(), 2);
        assert_eq!(dma.gather(&list).unwrap(), b"abcde");
        assert_eq!(dma.scatter(&list, b"x").unwrap(), 0);
        assert_eq!(dma.gather(&list).unwrap(), b"xbcde");
        let bad = [list[0], Segment { addr: 0, len: 1 }];
        assert!(dma.scatter(&bad, b"zzz").is_err());
        assert_eq!(dma.gather(&list).unwrap(), b"xbcde");
    }

    #[test]
    fn a_published_entry_is_whole() {
        let dma = two();
        dma.publish(0x10_0000, &[1, 2, 3, 4], 2).unwrap();
        assert_eq!(dma.read_vec(0x10_0000, 5).unwrap(), [1, 2, 3, 4, 0]);
        dma.publish(0x10_0000, &[9, 9], 7).unwrap();
        assert_eq!(dma.read_vec(0x10_0000, 3).unwrap(), [9, 9, 3]);
        assert!(dma.publish(0x10_1fff, &[1, 2], 0).is_err());
    }
}
