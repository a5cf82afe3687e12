// SPDX-License-Identifier: GPL-2.0

//! The configuration space of a function: a type 0 header with power
//! management, PCI Express and MSI-X capabilities.

use crate::bytes::{put_byte, put_le16, put_le32};

/// A base address register, always a 64-bit prefetchable one, which takes
/// `index` and `index + 1`.
#[derive(Debug, Clone, Copy)]
pub struct Bar {
    /// 0, 2 or 4.
    pub index: usize,
    /// Bytes, a power of two.
    pub size: u64,
}

/// Where the MSI-X table is. The pending bits follow it at a page's distance.
#[derive(Debug, Clone, Copy)]
pub struct Msix {
    /// The BAR that has it.
    pub bar: usize,
    /// Offset in the BAR, a multiple of 4096.
    pub at: u32,
    /// Vectors, 1 to 256.
    pub vectors: u16,
}

/// What a function is.
#[derive(Debug, Clone, Default)]
pub struct Identity {
    /// PCI vendor.
    pub vendor: u16,
    /// PCI device.
    pub device: u16,
    /// Class, subclass and interface: 24 bits.
    pub class: u32,
    /// Revision.
    pub revision: u8,
    /// Its BARs.
    pub bars: Vec<Bar>,
    /// Message-signalled interrupts.
    pub msix: Option<Msix>,
    /// Whether it can use INTA#.
    pub intx: bool,
}

const POWER: usize = 0x40;
const EXPRESS: usize = 0x60;
const MSIX: usize = 0x9c;

/// A function's configuration space.
pub(crate) struct Config {
    bytes: Vec<u8>,
    /// The bits that the guest may change.
    writable: Vec<u8>,
    initial: Vec<u8>,
}

impl Config {
    pub(crate) const SIZE: usize = 4096;

    pub(crate) fn new(identity: &Identity) -> Self {
        let mut config = Self {
            bytes: vec![0; Self::SIZE],
            writable: vec![0; Self::SIZE],
            initial: Vec::new(),
        };
        config.header(identity);
        config.power();
        config.express();
        if let Some(msix) = &identity.msix {
            config.msix(msix);
        }
        config.initial.clone_from(&config.bytes);
        config
    }

    fn header(&mut self, identity: &Identity) {
        let c = &mut self.bytes;
        put_le16(c, 0x00, identity.vendor);
        put_le16(c, 0x02, identity.device);
        put_le16(c, 0x06, 0x0010); // status: has capabilities
        put_le32(c, 0x08, identity.class << 8 | u32::from(identity.revision));
        put_le16(c, 0x2c, identity.vendor);
        put_le16(c, 0x2e, identity.device);
        put_byte(c, 0x34, 0x40);
        put_byte(c, 0x3d, u8::from(identity.intx));
        // Command: memory, master, parity, SERR#, INTx disable.
        put_le16(&mut self.writable, 0x04, 0x0546);
        put_byte(&mut self.writable, 0x0c, 0xff);
        put_byte(&mut self.writable, 0x3c, 0xff);
        for bar in &identity.bars {
            let at = 0x10 + 4 * bar.index;
            let mask = !(bar.size.max(16) - 1);
            put_le32(&mut self.bytes, at, 0xc);
            put_le32(&mut self.writable, at, (mask & 0xffff_ffff) as u32);
            put_le32(&mut self.writable, at + 4, (mask >> 32) as u32);
        }
    }

    fn power(&mut self) {
        self.capability(POWER, EXPRESS, 0x01);
        put_le16(&mut self.bytes, POWER + 2, 0x0003); // version 3
        put_byte(&mut self.writable, POWER + 4, 0x03); // the power state
    }

    fn express(&mut self) {
        self.capability(EXPRESS, MSIX, 0x10);
        put_le16(&mut self.bytes, EXPRESS + 2, 0x0002); // version 2, an endpoint
        put_le32(&mut self.bytes, EXPRESS + 4, 0x1000_8000); // function level reset
        put_le16(&mut self.bytes, EXPRESS + 8, 0x2810);
        put_le16(&mut self.writable, EXPRESS + 8, 0x7fff);
        put_le32(&mut self.bytes, EXPRESS + 0xc, 0x0000_0083); // x8, 8 GT/s
        put_le16(&mut self.writable, EXPRESS + 0x10, 0x0fff);
        put_le16(&mut self.bytes, EXPRESS + 0x12, 0x0083);
        put_le16(&mut self.writable, EXPRESS + 0x28, 0xffff);
    }

    fn msix(&mut self, msix: &Msix) {
        self.capability(MSIX, 0, 0x11);
        let bar = msix.bar as u32;
        put_le16(
            &mut self.bytes,
            MSIX + 2,
            msix.vectors.saturating_sub(1) & 0x7ff,
        );
        put_byte(&mut self.writable, MSIX + 3, 0xc0); // enable, mask
        put_le32(&mut self.bytes, MSIX + 4, msix.at | bar);
        put_le32(&mut self.bytes, MSIX + 8, (msix.at + 0x1000) | bar);
    }

    /// A capability's first two bytes; one that has no successor ends the list.
    fn capability(&mut self, at: usize, next: usize, id: u8) {
        put_byte(&mut self.bytes, at, id);
        put_byte(&mut self.bytes, at + 1, next as u8);
    }

    pub(crate) fn read(&self, at: u64, data: &mut [u8]) {
        let at = usize::try_from(at).unwrap_or(usize::MAX);
        for (i, byte) in data.iter_mut().enumerate() {
            let found = at.checked_add(i).and_then(|at| self.bytes.get(at));
            *byte = found.copied().unwrap_or(0);
        }
    }

    pub(crate) fn write(&mut self, at: u64, data: &[u8]) {
        let at = usize::try_from(at).unwrap_or(usize::MAX);
        let places = self.bytes.iter_mut().zip(&self.writable).skip(at);
        for ((place, mask), byte) in places.zip(data) {
            *place = (*place & !mask) | (byte & mask);
        }
    }

    pub(crate) fn reset(&mut self) {
        self.bytes.clone_from(&self.initial);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::{be32, le16, le32};

    fn config() -> Config {
        Config::new(&Identity {
            vendor: 0x15b3,
            device: 0x6278,
            class: 0x0c_0600,
            revision: 0xa0,
            bars: vec![
                Bar {
                    index: 0,
                    size: 1 << 20,
                },
                Bar {
                    index: 2,
                    size: 1 << 33,
                },
            ],
            msix: Some(Msix {
                bar: 0,
                at: 0xa_0000,
                vectors: 32,
            }),
            intx: true,
        })
    }

    fn read(config: &Config, at: u64) -> u32 {
        let mut b = [0; 4];
        config.read(at, &mut b);
        le32(&b, 0)
    }

    #[test]
    fn identity() {
        let config = config();
        assert_eq!(read(&config, 0), 0x6278_15b3);
        assert_eq!(read(&config, 8), 0x0c06_00a0);
        assert_eq!(read(&config, 0x3c) >> 8, 1);
    }

    #[test]
    fn bars_tell_their_sizes() {
        let mut config = config();
        for at in (0x10..0x28).step_by(4) {
            config.write(at, &[0xff; 4]);
        }
        assert_eq!(read(&config, 0x10), 0xfff0_000c);
        assert_eq!(read(&config, 0x14), 0xffff_ffff);
        assert_eq!(read(&config, 0x18), 0x0000_000c);
        assert_eq!(read(&config, 0x1c), 0xffff_fffe);
        assert_eq!(read(&config, 0x20), 0);
    }

    #[test]
    fn capabilities_are_a_list() {
        let config = config();
        let (mut at, mut ids) = (u64::from(read(&config, 0x34) & 0xff), vec![]);
        while at != 0 && ids.len() < 8 {
            let head = read(&config, at).to_le_bytes();
            ids.push(head[0]);
            at = u64::from(head[1]);
        }
        assert_eq!(ids, [0x01, 0x10, 0x11]);
        assert_eq!(read(&config, 0x9c) >> 16, 31);
    }

    #[test]
    fn what_is_read_only_stays() {
        let mut config = config();
        config.write(0, &[0; 64]);
        assert_eq!(read(&config, 0), 0x6278_15b3);
        config.write(4, &[0xff, 0xff]);
        assert_eq!(read(&config, 4) & 0xffff, 0x0546);
        config.reset();
        assert_eq!(read(&config, 4) & 0xffff, 0);
    }

    #[test]
    fn past_the_end() {
        let mut config = config();
        let mut b = [0xff; 8];
        config.read(4092, &mut b);
        assert_eq!((be32(&b, 4), le16(&b, 4)), (0, 0));
        config.read(u64::MAX, &mut b);
        config.write(u64::MAX, &b);
        config.write(4095, &[1, 2, 3]);
    }
}
