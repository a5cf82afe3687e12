// SPDX-License-Identifier: GPL-2.0

//! Rings in the guest's memory: lists of pages that a command gave.

use bus::bytes::be64;
use bus::{Bus, Fault, Segment};

/// Pages, and where in the first of them the ring starts.
pub struct Ring {
    pages: Vec<u64>,
    shift: u32,
    offset: u64,
}

impl Ring {
    /// From the list of addresses that ends a command. The page size is 4096
    /// times two to `log_page_size`, and `page_offset` counts 64ths of it.
    pub fn new(list: &[u8], log_page_size: u32, page_offset: u32) -> Self {
        let shift = 12 + log_page_size.min(31);
        let pages = list.chunks_exact(8).map(|page| be64(page, 0) & !0xfff);
        Self {
            pages: pages.collect(),
            shift,
            offset: u64::from(page_offset) << (shift - 6),
        }
    }

    /// The pieces of memory that `len` bytes at `at` are.
    fn segments(&self, at: u64, len: usize) -> Result<Vec<Segment>, Fault> {
        let size = 1u64 << self.shift;
        let mut at = at.saturating_add(self.offset);
        let mut left = len;
        let mut segments = Vec::new();
        while left > 0 {
            let page = usize::try_from(at >> self.shift).unwrap_or(usize::MAX);
            let page = self.pages.get(page).ok_or(Fault { addr: at })?;
            let into = at & (size - 1);
            let n = usize::try_from(size - into).unwrap_or(left).min(left);
            segments.push(Segment {
                addr: page.wrapping_add(into),
                len: n,
            });
            at += n as u64;
            left -= n;
        }
        Ok(segments)
    }

    /// Reads `len` bytes at `at`.
    pub fn read(&self, bus: &Bus, at: u64, len: usize) -> Result<Vec<u8>, Fault> {
        bus.dma.gather(&self.segments(at, len)?)
    }

    /// Writes an entry at `at`, its last byte, which says whose it is, last.
    pub fn publish(&self, bus: &Bus, at: u64, entry: &[u8; 64]) -> Result<(), Fault> {
        match self.segments(at, entry.len())?[..] {
            [Segment { addr, .. }] => bus.dma.publish(addr, entry, 63),
            // Entries are aligned, so that none lies across two pages.
            _ => Err(Fault { addr: at }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bus::bytes::put_be64;

    #[test]
    fn pages_and_offsets() {
        let mut list = [0; 17];
        put_be64(&mut list, 0, 0x10_0000);
        put_be64(&mut list, 8, 0x50_0000);
        let ring = Ring::new(&list, 1, 16);
        // The ring starts at a quarter of 8192 bytes.
        let pieces = ring.segments(0, 0x2000).unwrap();
        let pieces: Vec<_> = pieces.iter().map(|s| (s.addr, s.len)).collect();
        assert_eq!(pieces, [(0x10_0800, 0x1800), (0x50_0000, 0x800)]);
        assert!(ring.segments(0x3800, 1).is_err());
        assert!(ring.segments(u64::MAX, 1).is_err());
        assert!(Ring::new(&[], 99, 63).segments(0, 1).is_err());
    }
}
