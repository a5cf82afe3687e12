// SPDX-License-Identifier: GPL-2.0

//! The HCA: its tables, and the registers and doorbells in its BAR.

use crate::command::Capabilities;
use crate::cq::Cq;
use crate::event::Eq;
use crate::faults::{Counts, Faults};
use crate::groups::Groups;
use crate::memory::Mkey;
use crate::qp::Qp;
use crate::srq::Srq;
use crate::table::Table;
use bus::bytes::{be32, put_be32};
use bus::{Bar, Bus, Device, Identity, Msix};
use std::time::Duration;

/// Pages of the BAR; each has a UAR, save those that the registers take.
const PAGES: u32 = 1024;
const REGISTER_PAGES: u32 = 16;
const PAGE: u64 = 4096;

/// What the PCI function is: a ConnectX-5 with an InfiniBand port.
pub fn identity() -> Identity {
    Identity {
        vendor: 0x15b3,
        device: 0x1017,
        class: 0x02_0700,
        revision: 0,
        bars: vec![
            Bar {
                index: 0,
                size: u64::from(PAGES) * PAGE,
            },
            Bar {
                index: 2,
                size: 0x2000,
            },
        ],
        msix: Some(Msix {
            bar: 2,
            at: 0,
            vectors: 16,
        }),
        intx: false,
    }
}

/// Registers, in the first pages of the BAR (`struct mlx5_init_seg`).
mod register {
    pub const FIRMWARE: u64 = 0x0;
    pub const INTERFACE: u64 = 0x4;
    pub const QUEUE_HIGH: u64 = 0x10;
    pub const QUEUE_LOW: u64 = 0x14;
    pub const DOORBELL: u64 = 0x18;
    pub const HEALTH_SEVERITY: u64 = 0x238;
    pub const HEALTH_SYNDROME: u64 = 0x23c;
    pub const TIMER_HIGH: u64 = 0x1000;
    pub const TIMER_LOW: u64 = 0x1004;
    pub const HEALTH_COUNTER: u64 = 0x1010;
}

/// Doorbells, in the page of a UAR.
mod doorbell {
    pub const CQ: u64 = 0x20;
    pub const EQ_ARM: u64 = 0x40;
    pub const EQ: u64 = 0x48;
    /// Where BlueFlame registers start; each has two halves.
    pub const SEND: u64 = 0x800;
    pub const SEND_HALF: u64 = 0x100;
}

/// The token of the timer that looks for receives of QPs in error; others are
/// numbers of QPs.
pub(crate) const FLUSH_TIMER: u64 = u64::MAX;
pub(crate) const FLUSH_PERIOD: Duration = Duration::from_millis(5);

/// The HCA.
pub struct Hca {
    /// Where the command queue is.
    pub(crate) queue: u64,
    pub(crate) capabilities: Capabilities,
    /// Pages that the driver gave.
    pub(crate) pages: Vec<u64>,
    pub(crate) uctxs: Table<()>,
    pub(crate) uars: Table<()>,
    pub(crate) pds: Table<()>,
    pub(crate) xrcds: Table<()>,
    pub(crate) transport_domains: Table<()>,
    pub(crate) mkeys: Table<Mkey>,
    pub(crate) eqs: Table<Eq>,
    pub(crate) cqs: Table<Cq>,
    pub(crate) srqs: Table<Srq>,
    pub(crate) qps: Table<Qp>,
    pub(crate) groups: Groups,
    pub(crate) port_up: bool,
    /// Whether [`FLUSH_TIMER`] is set.
    pub(crate) flushing: bool,
    pub(crate) counts: Counts,
    pub(crate) faults: Faults,
}

impl Default for Hca {
    fn default() -> Self {
        Self {
            queue: 0,
            capabilities: Capabilities::default(),
            pages: Vec::new(),
            uctxs: Table::new(1, 256),
            uars: Table::new(REGISTER_PAGES, PAGES - REGISTER_PAGES),
            pds: Table::new(1, 1 << 16),
            xrcds: Table::new(1, 1 << 16),
            transport_domains: Table::new(1, 1 << 8),
            mkeys: Table::new(0x200, 1 << 20),
            eqs: Table::new(1, 63),
            cqs: Table::new(0x400, 1 << 15),
            srqs: Table::new(0x40, 1 << 15),
            qps: Table::new(0x40, 1 << 17),
            groups: Groups::default(),
            port_up: true,
            flushing: false,
            counts: Counts::default(),
            faults: Faults::default(),
        }
    }
}

impl Hca {
    /// A reset: nothing of the guest's is left, but counts are.
    fn power_on(&mut self) {
        *self = Self {
            counts: std::mem::take(&mut self.counts),
            ..Self::default()
        };
    }

    fn write_register(&mut self, bus: &mut Bus, at: u64, value: u32) {
        let value64 = u64::from(value);
        match at {
            register::QUEUE_HIGH => self.queue = self.queue & 0xffff_ffff | (value64 << 32),
            register::QUEUE_LOW => self.queue = self.queue & !0xffff_ffff | value64 & !0xfff,
            register::DOORBELL => self.run_commands(bus, value),
            _ => {}
        }
    }

    fn write_doorbell(&mut self, bus: &mut Bus, uar: u32, at: u64, data: &[u8]) {
        let (high, low) = (be32(data, 0), be32(data, 4));
        match (at, data.len()) {
            _ if self.uars.get(uar).is_none() => self.counts.stray_doorbells += 1,
            (doorbell::EQ_ARM, 4) => self.eq_doorbell(bus, uar, high, true),
            (doorbell::EQ, 4) => self.eq_doorbell(bus, uar, high, false),
            (doorbell::CQ, 8) => self.cq_doorbell(bus, uar, high, low),
            // The rest of a BlueFlame write repeats what is in the queue.
            (doorbell::SEND.., 8) if at % doorbell::SEND_HALF == 0 => {
                self.send_doorbell(bus, uar, low >> 8);
            }
            (doorbell::SEND.., _) => {}
            _ => self.counts.stray_doorbells += 1,
        }
    }

    fn send_doorbell(&mut self, bus: &mut Bus, uar: u32, qpn: u32) {
        if self.qps.get(qpn).is_some_and(|qp| qp.uar() == uar) {
            self.run_send_queue(bus, qpn);
        } else {
            self.counts.stray_doorbells += 1;
        }
    }
}

impl Device for Hca {
    fn read(&mut self, bus: &mut Bus, bar: usize, at: u64, data: &mut [u8]) {
        if bar != 0 {
            return;
        }
        let ticks = bus.now().as_nanos() / 1000 * 156_250 / 1_000_000;
        let value = match at {
            register::FIRMWARE => (35 << 16) | 16,
            register::INTERFACE => (5 << 16) | 4030,
            // 32 commands at a time, 64 bytes each.
            register::QUEUE_LOW => (5 << 4) | 6,
            // The driver is to take this syndrome seriously.
            register::HEALTH_SEVERITY => u32::from(self.faults.health != 0) << 7,
            register::HEALTH_SYNDROME => u32::from(self.faults.health) << 16,
            register::TIMER_HIGH => (ticks >> 32) as u32,
            register::TIMER_LOW => (ticks & 0xffff_ffff) as u32,
            register::HEALTH_COUNTER => ((bus.now().as_millis() / 10) & 0xff_ffff) as u32,
            _ => 0,
        };
        put_be32(data, 0, value);
    }

    fn write(&mut self, bus: &mut Bus, bar: usize, at: u64, data: &[u8]) {
        let page = u32::try_from(at / PAGE).unwrap_or(u32::MAX);
        match bar {
            0 if page >= REGISTER_PAGES => self.write_doorbell(bus, page, at % PAGE, data),
            0 if data.len() == 4 => self.write_register(bus, at, be32(data, 0)),
            _ => {}
        }
    }

    fn reset(&mut self, _: &mut Bus) {
        self.power_on();
    }

    fn timer(&mut self, bus: &mut Bus, token: u64) {
        if token == FLUSH_TIMER {
            return self.flush_late_receives(bus);
        }
        let qpn = u32::try_from(token).unwrap_or(u32::MAX);
        if let Some(qp) = self.qps.get_mut(qpn).filter(|qp| qp.waiting) {
            qp.waiting = false;
            self.run_send_queue(bus, qpn);
        }
    }

    fn control(&mut self, bus: &mut Bus, words: &[&str]) -> Result<String, String> {
        self.control_line(bus, words)
    }
}

/// The state of the port that a physical link makes: LinkUp, Active or Down.
pub(crate) fn port_state(up: bool) -> u8 {
    if up {
        4
    } else {
        1
    }
}

/// The only identifier of the port, and the subnet manager's.
pub(crate) const LID: u16 = 7;
pub(crate) const NODE_GUID: u64 = 0x0002_c903_00aa_bb00;
pub(crate) const PORT_GUID: u64 = NODE_GUID + 1;
pub(crate) const GID_PREFIX: u64 = 0xfe80 << 48;

/// GID 0 of the port.
pub(crate) fn gid() -> [u8; 16] {
    ((u128::from(GID_PREFIX) << 64) | u128::from(PORT_GUID)).to_be_bytes()
}

/// The partition key at an index; zero where there is none.
pub(crate) fn partition(index: u64) -> u16 {
    if index == 0 {
        0xffff
    } else {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_a_guest_writes_ends_the_model() {
        let (mut hca, mut bus) = (Hca::default(), Bus::new(16));
        for at in (0..u64::from(PAGES) * PAGE).step_by(4) {
            for len in [1, 4, 8, 64] {
                hca.write(&mut bus, 0, at, &[0xff; 64][..len]);
            }
        }
        hca.write(&mut bus, 0, u64::MAX, &[0; 8]);
        assert!(hca.counts.stray_doorbells > 0);
        let mut data = [0; 4];
        hca.read(&mut bus, 0, register::INTERFACE, &mut data);
        assert_eq!(data[..2], [0, 5]);
    }
}
