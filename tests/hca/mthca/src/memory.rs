// SPDX-License-Identifier: GPL-2.0

//! Memory protection and translation: regions by key, and their pages.

use bus::bytes::{be32, be64};
use bus::{Bus, Segment};
use std::collections::HashMap;

/// What an access is for, and so which of a region's rights it needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    LocalRead,
    LocalWrite,
    RemoteRead,
    RemoteWrite,
    RemoteAtomic,
}

impl Access {
    fn right(self) -> u32 {
        match self {
            Self::LocalRead => 1 << 10,
            Self::LocalWrite => 1 << 11,
            Self::RemoteRead => 1 << 12,
            Self::RemoteWrite => 1 << 13,
            Self::RemoteAtomic => 1 << 14,
        }
    }
}

/// Why an access is refused (IBTA vol. 1, 10.6.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// No region has this key.
    Key,
    /// The region is of another protection domain.
    Domain,
    /// The region does not grant this.
    Right,
    /// Not all bytes are in the region.
    Bounds,
    /// A page of the region has no translation, or no memory is there.
    Page,
}

const PHYSICAL: u32 = 1 << 9;
const PRESENT: u64 = 1;
/// Keys are the index of an entry of the table in their low bits.
const LOG_REGIONS: u32 = 17;
/// The most page table entries; the driver was told fewer.
const MAX_PAGES: usize = 1 << 24;

#[derive(Debug, Clone)]
struct Region {
    key: u32,
    domain: u32,
    flags: u32,
    page_shift: u32,
    start: u64,
    len: u64,
    pages: u64,
}

impl Region {
    /// An entry of the memory protection table, as SW2HW_MPT has it.
    fn parse(entry: &[u8]) -> Option<Self> {
        let page_shift = be32(entry, 4).checked_add(12)?;
        (page_shift < 40).then(|| Self {
            flags: be32(entry, 0),
            page_shift,
            key: be32(entry, 8),
            domain: be32(entry, 12) & 0xff_ffff,
            start: be64(entry, 16),
            len: be64(entry, 24),
            pages: be64(entry, 44),
        })
    }

    fn holds(&self, va: u64, len: u64) -> bool {
        va.checked_sub(self.start)
            .and_then(|into| into.checked_add(len))
            .is_some_and(|end| end <= self.len)
    }
}

/// The tables.
#[derive(Default)]
pub struct Memory {
    regions: HashMap<u32, Region>,
    pages: HashMap<u64, u64>,
}

impl Memory {
    /// How many regions there are.
    pub fn len(&self) -> usize {
        self.regions.len()
    }

    /// SW2HW_MPT; false for an entry or an index that cannot be.
    pub fn insert(&mut self, index: u32, entry: &[u8]) -> bool {
        let Some(region) = Region::parse(entry) else {
            return false;
        };
        let fits = index >> LOG_REGIONS == 0;
        if fits {
            self.regions.insert(index, region);
        }
        fits
    }

    /// HW2SW_MPT; false if there is none.
    pub fn remove(&mut self, index: u32) -> bool {
        self.regions.remove(&index).is_some()
    }

    /// WRITE_MTT: `count` entries for the table from the address in `mailbox`.
    pub fn write_pages(&mut self, mailbox: &[u8], count: u32) -> bool {
        let (at, count) = (be64(mailbox, 0), count as usize);
        let fits = 16 + 8 * count.min(4096) <= mailbox.len()
            && count <= 4096
            && self.pages.len() + count <= MAX_PAGES;
        if fits {
            for i in 0..count {
                self.pages
                    .insert(at.wrapping_add(8 * i as u64), be64(mailbox, 16 + 8 * i));
            }
        }
        fits
    }

    /// The pieces of memory that `len` bytes at `va` of a region are. Where
    /// `domain` is none the HCA itself asks, for a queue that software gave it.
    pub fn translate(
        &self,
        key: u32,
        domain: Option<u32>,
        va: u64,
        len: usize,
        access: Access,
    ) -> Result<Vec<Segment>, Refused> {
        let index = key & ((1 << LOG_REGIONS) - 1);
        let region = self.regions.get(&index).ok_or(Refused::Key)?;
        if region.key != key {
            return Err(Refused::Key);
        }
        if domain.is_some_and(|domain| domain != region.domain) {
            return Err(Refused::Domain);
        }
        if region.flags & access.right() == 0 {
            return Err(Refused::Right);
        }
        if !region.holds(va, len as u64) {
            return Err(Refused::Bounds);
        }
        if region.flags & PHYSICAL != 0 {
            return Ok(vec![Segment { addr: va, len }]);
        }
        self.walk(region, va, len)
    }

    fn walk(&self, region: &Region, va: u64, len: usize) -> Result<Vec<Segment>, Refused> {
        let size = 1u64 << region.page_shift;
        let base = region.start & !(size - 1);
        let mut segments: Vec<Segment> = Vec::new();
        let (mut at, mut left) = (va - base, len);
        while left > 0 {
            let entry_at = (at >> region.page_shift)
                .wrapping_mul(8)
                .wrapping_add(region.pages);
            let entry = self.pages.get(&entry_at).copied().unwrap_or(0);
            if entry & PRESENT == 0 {
                return Err(Refused::Page);
            }
            let into = at & (size - 1);
            let n = usize::try_from(size - into).unwrap_or(usize::MAX).min(left);
            let addr = (entry & !0xfff & !(size - 1)).wrapping_add(into);
            match segments.last_mut() {
                Some(last) if last.addr.wrapping_add(last.len as u64) == addr => last.len += n,
                _ => segments.push(Segment { addr, len: n }),
            }
            at += n as u64;
            left -= n;
        }
        Ok(segments)
    }

    /// Reads through a key.
    pub fn read(
        &self,
        bus: &Bus,
        key: u32,
        domain: Option<u32>,
        va: u64,
        len: usize,
        access: Access,
    ) -> Result<Vec<u8>, Refused> {
        let list = self.translate(key, domain, va, len, access)?;
        bus.dma.gather(&list).map_err(|_| Refused::Page)
    }

    /// Writes an entry of a ring of the HCA's own, owner byte last.
    pub fn publish(&self, bus: &Bus, key: u32, va: u64, entry: &[u8; 32]) -> Result<(), Refused> {
        let list = self.translate(key, None, va, entry.len(), Access::LocalWrite)?;
        match list[..] {
            // Entries are aligned, so that none lies across two pages.
            [Segment { addr, .. }] => bus.dma.publish(addr, entry, 31).map_err(|_| Refused::Page),
            _ => Err(Refused::Page),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use bus::bytes::{put_be32, put_be64};

    pub(crate) fn entry(
        key: u32,
        domain: u32,
        rights: &[Access],
        start: u64,
        len: u64,
        pages: u64,
    ) -> [u8; 64] {
        let mut e = [0; 64];
        put_be32(
            &mut e,
            0,
            rights.iter().fold(0, |flags, r| flags | r.right()),
        );
        put_be32(&mut e, 8, key);
        put_be32(&mut e, 12, domain);
        put_be64(&mut e, 16, start);
        put_be64(&mut e, 24, len);
        put_be64(&mut e, 44, pages);
        e
    }

    fn memory() -> Memory {
        let mut memory = Memory::default();
        let mut mailbox = vec![0; 64];
        put_be64(&mut mailbox, 0, 0x8000);
        for (i, page) in [0x5_0000u64, 0x5_1000, 0x9_0000].iter().enumerate() {
            put_be64(&mut mailbox, 16 + 8 * i, page | PRESENT);
        }
        assert!(memory.write_pages(&mailbox, 3));
        let rights = [Access::LocalRead, Access::RemoteRead];
        assert!(memory.insert(5, &entry(0x2_0005, 7, &rights, 0x1_0800, 0x2800, 0x8000)));
        memory
    }

    fn read(memory: &Memory, va: u64, len: usize) -> Result<Vec<Segment>, Refused> {
        memory.translate(0x2_0005, Some(7), va, len, Access::RemoteRead)
    }

    #[test]
    fn pages_of_a_region() {
        let list = read(&memory(), 0x1_0800, 0x2800).unwrap();
        // The first two pages are one piece of memory.
        let want = [(0x5_0800, 0x1800), (0x9_0000, 0x1000)];
        assert_eq!(
            list.iter().map(|s| (s.addr, s.len)).collect::<Vec<_>>(),
            want
        );
    }

    #[test]
    fn bounds() {
        let memory = memory();
        assert_eq!(read(&memory, 0x1_07ff, 1), Err(Refused::Bounds));
        assert_eq!(read(&memory, 0x1_0800, 0x2801), Err(Refused::Bounds));
        assert_eq!(read(&memory, u64::MAX, 2), Err(Refused::Bounds));
        assert_eq!(read(&memory, 0x1_3000, 0), Ok(vec![]));
    }

    #[test]
    fn who_may() {
        let m = memory();
        let key = 0x2_0005;
        let ask = |key, domain, access| m.translate(key, domain, 0x1_0800, 8, access);
        assert!(ask(key, None, Access::LocalRead).is_ok());
        assert_eq!(ask(key, Some(8), Access::LocalRead), Err(Refused::Domain));
        assert_eq!(ask(key, Some(7), Access::RemoteWrite), Err(Refused::Right));
        // The same index, and an older key.
        assert_eq!(ask(0x4_0005, Some(7), Access::LocalRead), Err(Refused::Key));
        assert_eq!(ask(6, Some(7), Access::LocalRead), Err(Refused::Key));
    }

    #[test]
    fn what_a_guest_may_say() {
        let mut m = Memory::default();
        assert!(!m.insert(1 << LOG_REGIONS, &entry(0, 0, &[], 0, 0, 0)));
        let mut bad = entry(0, 0, &[], 0, 0, 0);
        put_be32(&mut bad, 4, u32::MAX);
        assert!(!m.insert(0, &bad));
        assert!(!m.write_pages(&[0; 64], u32::MAX));
        assert!(!m.write_pages(&[0; 64], 7));
        assert!(!m.remove(3));
        // A region as long as can be, without pages.
        assert!(m.insert(1, &entry(1, 0, &[Access::LocalRead], 0, u64::MAX, u64::MAX)));
        assert_eq!(
            m.translate(1, None, 1, usize::MAX, Access::LocalRead),
            Err(Refused::Bounds)
        );
        assert_eq!(
            m.translate(1, None, 1 << 50, 1 << 40, Access::LocalRead),
            Err(Refused::Page)
        );
    }
}
