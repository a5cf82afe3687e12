// SPDX-License-Identifier: GPL-2.0

//! Memory protection and translation: memory keys.

use crate::hca::Hca;
use crate::ifc::{create_mkey_in, mkc, Field};
use bus::bytes::{be32, be64};
use bus::{Bus, Segment};

/// The most bytes of a translation table.
const MAX_TABLE: usize = 1 << 25;
/// Keys that refer to keys; the driver was told of four levels.
const MAX_DEPTH: u32 = 4;

/// What an access is for, and so which of a key's rights it needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    LocalRead,
    LocalWrite,
    RemoteRead,
    RemoteWrite,
    RemoteAtomic,
}

impl Access {
    fn right(self) -> Field {
        match self {
            Self::LocalRead => mkc::LR,
            Self::LocalWrite => mkc::LW,
            Self::RemoteRead => mkc::RR,
            Self::RemoteWrite => mkc::RW,
            Self::RemoteAtomic => mkc::A,
        }
    }
}

/// Why an access is refused (IBTA vol. 1, 10.6.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// There is no such key, or it is free.
    Key,
    /// The key is of another protection domain.
    Domain,
    /// The key does not grant this.
    Right,
    /// Not all bytes are in its range.
    Bounds,
    /// A page has no translation, or no memory is there.
    Page,
}

/// How a key's addresses are translated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// They are bus addresses.
    Physical,
    /// Through pages of one size.
    Pages,
    /// Through parts of other keys, of any length or of one.
    Parts,
    FixedParts,
}

/// A memory key: its context, as commands have it, and its translations.
#[derive(Clone)]
pub struct Mkey {
    pub context: Vec<u8>,
    table: Vec<u8>,
}

impl Mkey {
    /// From a CREATE_MKEY.
    pub fn parse(input: &[u8]) -> Self {
        let mut context = create_mkey_in::MEMORY_KEY_MKEY_ENTRY.part(input).to_vec();
        context.resize(mkc::BYTES, 0);
        let table = input.get(create_mkey_in::BYTES..).unwrap_or_default();
        Self {
            context,
            table: table.to_vec(),
        }
    }

    /// Puts entries into the table from byte `at` on; false past its end.
    pub fn write_table(&mut self, at: usize, entries: &[u8]) -> bool {
        let Some(end) = at.checked_add(entries.len()).filter(|&e| e <= MAX_TABLE) else {
            return false;
        };
        if self.table.len() < end {
            self.table.resize(end, 0);
        }
        if let Some(place) = self.table.get_mut(at..end) {
            place.copy_from_slice(entries);
        }
        true
    }

    fn mode(&self) -> Option<Mode> {
        let c = &self.context;
        match (mkc::ACCESS_MODE_4_2.get(c) << 2) | mkc::ACCESS_MODE_1_0.get(c) {
            0 => Some(Mode::Physical),
            1 => Some(Mode::Pages),
            2 => Some(Mode::Parts),
            3 => Some(Mode::FixedParts),
            _ => None,
        }
    }

    pub fn domain(&self) -> u32 {
        mkc::PD.get32(&self.context)
    }

    pub fn is_free(&self) -> bool {
        mkc::FREE.is_set(&self.context)
    }

    fn start(&self) -> u64 {
        mkc::START_ADDR.get(&self.context)
    }

    fn page_shift(&self) -> u32 {
        mkc::LOG_PAGE_SIZE.get32(&self.context).min(62)
    }

    fn holds(&self, va: u64, len: u64) -> bool {
        let size = mkc::LEN.get(&self.context);
        mkc::LENGTH64.is_set(&self.context)
            || va
                .checked_sub(self.start())
                .and_then(|into| into.checked_add(len))
                .is_some_and(|end| end <= size)
    }

    /// The memory of a range, by pages.
    fn pages(&self, va: u64, len: usize) -> Result<Vec<Segment>, Refused> {
        let size = 1u64 << self.page_shift();
        let base = self.start() & !(size - 1);
        let mut segments: Vec<Segment> = Vec::new();
        let mut at = va.checked_sub(base).ok_or(Refused::Bounds)?;
        let mut left = len;
        while left > 0 {
            let index = usize::try_from(at / size).unwrap_or(usize::MAX);
            let entry_at = index.saturating_mul(8);
            if entry_at.saturating_add(8) > self.table.len() {
                return Err(Refused::Page);
            }
            let into = at % size;
            let n = usize::try_from(size - into).unwrap_or(left).min(left);
            // The low bits of an entry are flags.
            let page = be64(&self.table, entry_at) & !0xfff & !(size - 1);
            let addr = page.wrapping_add(into);
            match segments.last_mut() {
                Some(last) if last.addr.wrapping_add(last.len as u64) == addr => last.len += n,
                _ => segments.push(Segment { addr, len: n }),
            }
            at += n as u64;
            left -= n;
        }
        Ok(segments)
    }

    /// The parts of other keys that a range is: key, address and length.
    fn parts(&self, va: u64, len: usize, fixed: bool) -> Result<Vec<(u32, u64, usize)>, Refused> {
        let mut skip = va.checked_sub(self.start()).ok_or(Refused::Bounds)?;
        let mut left = len;
        let mut parts = Vec::new();
        for entry in self.table.chunks_exact(16) {
            if left == 0 {
                break;
            }
            let size = match fixed {
                true => 1u64 << self.page_shift(),
                false => u64::from(be32(entry, 0)),
            };
            if skip >= size {
                skip -= size;
                continue;
            }
            let n = usize::try_from(size - skip).unwrap_or(left).min(left);
            parts.push((be32(entry, 4), be64(entry, 8).wrapping_add(skip), n));
            skip = 0;
            left -= n;
        }
        if left > 0 {
            return Err(Refused::Page);
        }
        Ok(parts)
    }
}

impl Hca {
    /// The pieces of memory that `len` bytes at `va` of a key are.
    pub(crate) fn translate(
        &self,
        key: u32,
        domain: u32,
        va: u64,
        len: usize,
        access: Access,
    ) -> Result<Vec<Segment>, Refused> {
        self.translate_below(key, domain, va, len, access, MAX_DEPTH)
    }

    fn translate_below(
        &self,
        key: u32,
        domain: u32,
        va: u64,
        len: usize,
        access: Access,
        depth: u32,
    ) -> Result<Vec<Segment>, Refused> {
        if len == 0 {
            return Ok(Vec::new());
        }
        let mkey = self.mkeys.get(key >> 8).ok_or(Refused::Key)?;
        let variant = mkc::MKEY_7_0.get32(&mkey.context);
        if mkey.is_free() || variant != key & 0xff {
            return Err(Refused::Key);
        }
        if mkey.domain() != domain {
            return Err(Refused::Domain);
        }
        if !access.right().is_set(&mkey.context) {
            return Err(Refused::Right);
        }
        if !mkey.holds(va, len as u64) {
            return Err(Refused::Bounds);
        }
        let fixed = match mkey.mode().ok_or(Refused::Key)? {
            Mode::Physical => return Ok(vec![Segment { addr: va, len }]),
            Mode::Pages => return mkey.pages(va, len),
            Mode::Parts => false,
            Mode::FixedParts => true,
        };
        let depth = depth.checked_sub(1).ok_or(Refused::Key)?;
        // What a part grants to remote accesses is the upper key's to say.
        let below = match access {
            Access::LocalRead | Access::RemoteRead => Access::LocalRead,
            _ => Access::LocalWrite,
        };
        let mut segments = Vec::new();
        for (key, va, n) in mkey.parts(va, len, fixed)? {
            segments.extend(self.translate_below(key, domain, va, n, below, depth)?);
        }
        Ok(segments)
    }

    /// Reads through a key.
    pub(crate) fn read_memory(
        &self,
        bus: &Bus,
        key: u32,
        domain: u32,
        va: u64,
        len: usize,
        access: Access,
    ) -> Result<Vec<u8>, Refused> {
        let list = self.translate(key, domain, va, len, access)?;
        bus.dma.gather(&list).map_err(|_| Refused::Page)
    }

    /// Writes through a key.
    pub(crate) fn write_memory(
        &self,
        bus: &Bus,
        key: u32,
        domain: u32,
        va: u64,
        data: &[u8],
        access: Access,
    ) -> Result<(), Refused> {
        let list = self.translate(key, domain, va, data.len(), access)?;
        bus.dma
            .scatter(&list, data)
            .map(drop)
            .map_err(|_| Refused::Page)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bus::bytes::{put_be32, put_be64};

    fn mkey(mode: u64, rights: &[Access], start: u64, len: u64, table: &[u8]) -> Mkey {
        let mut context = vec![0; mkc::BYTES];
        mkc::ACCESS_MODE_1_0.set(&mut context, mode);
        mkc::MKEY_7_0.set(&mut context, 0x55);
        mkc::PD.set(&mut context, 7);
        mkc::START_ADDR.set(&mut context, start);
        mkc::LEN.set(&mut context, len);
        mkc::LOG_PAGE_SIZE.set(&mut context, 12);
        for access in rights {
            access.right().set(&mut context, 1);
        }
        let table = table.to_vec();
        Mkey { context, table }
    }

    /// An HCA with a key of two pages, which starts in the midst of the first.
    fn hca() -> (Hca, u32) {
        let mut table = [0; 16];
        put_be64(&mut table, 0, 0x5_0003);
        put_be64(&mut table, 8, 0x9_0003);
        let rights = [Access::LocalRead, Access::LocalWrite, Access::RemoteRead];
        let mut hca = Hca::default();
        let mkey = mkey(1, &rights, 0x1_0800, 0x1000, &table);
        let index = hca.mkeys.insert(0, mkey).unwrap();
        (hca, (index << 8) | 0x55)
    }

    #[test]
    fn pages_of_a_key() {
        let (hca, key) = hca();
        let list = hca.translate(key, 7, 0x1_0800, 0x1000, Access::RemoteRead);
        let list: Vec<_> = list.unwrap().iter().map(|s| (s.addr, s.len)).collect();
        assert_eq!(list, [(0x5_0800, 0x800), (0x9_0000, 0x800)]);
    }

    #[test]
    fn what_is_refused() {
        let (hca, key) = hca();
        let read = |key, domain, va, len, access| hca.translate(key, domain, va, len, access);
        let local = Access::LocalRead;
        assert_eq!(read(key ^ 1, 7, 0x1_0800, 1, local), Err(Refused::Key));
        assert_eq!(read(key ^ 0x100, 7, 0x1_0800, 1, local), Err(Refused::Key));
        assert_eq!(read(key, 8, 0x1_0800, 1, local), Err(Refused::Domain));
        assert_eq!(
            read(key, 7, 0x1_0800, 1, Access::RemoteWrite),
            Err(Refused::Right)
        );
        assert_eq!(read(key, 7, 0x1_07ff, 1, local), Err(Refused::Bounds));
        assert_eq!(read(key, 7, 0x1_0801, 0x1000, local), Err(Refused::Bounds));
        assert_eq!(read(key, 7, u64::MAX, 2, local), Err(Refused::Bounds));
    }

    #[test]
    fn keys_of_keys() {
        let (mut hca, key) = hca();
        let mut table = [0; 32];
        for at in [0, 16] {
            put_be32(&mut table, at, 0x10);
            put_be32(&mut table, at + 4, key);
            put_be64(&mut table, at + 8, 0x1_0800 + at as u64);
        }
        let parts = mkey(2, &[Access::RemoteWrite], 0, 0x20, &table);
        let index = hca.mkeys.insert(0, parts).unwrap();
        let list = hca.translate((index << 8) | 0x55, 7, 8, 0x10, Access::RemoteWrite);
        let list: Vec<_> = list.unwrap().iter().map(|s| (s.addr, s.len)).collect();
        assert_eq!(list, [(0x5_0808, 8), (0x5_0810, 8)]);
    }

    #[test]
    fn a_key_of_itself_ends() {
        let mut hca = Hca::default();
        let mut table = [0; 16];
        put_be32(&mut table, 0, 0x1000);
        put_be32(&mut table, 4, (0x200 << 8) | 0x55);
        let itself = mkey(2, &[Access::LocalRead], 0, 0x1000, &table);
        assert_eq!(hca.mkeys.insert(0, itself), Ok(0x200));
        let read = hca.translate((0x200 << 8) | 0x55, 7, 0, 1, Access::LocalRead);
        assert_eq!(read, Err(Refused::Key));
    }
}
