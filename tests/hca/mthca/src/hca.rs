// SPDX-License-Identifier: GPL-2.0

//! The HCA: its tables, and the registers and doorbells in its BARs.

use crate::command::Register;
use crate::cq::Cq;
use crate::event::{kind, Eq};
use crate::faults::{Counts, Faults};
use crate::groups::Groups;
use crate::limits;
use crate::memory::Memory;
use crate::qp::{Qp, Work};
use crate::srq::Srq;
use bus::bytes::{be32, put_be32};
use bus::{Bar, Bus, Device, Identity, Msix};
use std::collections::{BTreeMap, HashMap};

/// What the PCI function is: MT25208 in the mode in which it takes the place of
/// an older one.
pub fn identity() -> Identity {
    Identity {
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
                size: 8 << 20,
            },
        ],
        msix: Some(Msix {
            bar: 0,
            at: 0xa_0000,
            vectors: 32,
        }),
        intx: true,
    }
}

/// Registers in BAR 0.
const COMMAND: u64 = 0x8_0680;
const COMMAND_END: u64 = COMMAND + 0x1c;
const CAUSE: u64 = 0x8_0704;
const CLEAR_CAUSE: u64 = 0x8_070c;
const RESET: u64 = 0xf_0010;

/// Doorbells in a page of BAR 2.
const SEND: u64 = 0x10;
const RECEIVE: u64 = 0x18;
const CQ: u64 = 0x20;
const EQ: u64 = 0x28;

/// The HCA.
#[derive(Default)]
pub struct Hca {
    pub(crate) register: Register,
    pub(crate) memory: Memory,
    pub(crate) eqs: BTreeMap<u32, Eq>,
    pub(crate) cqs: HashMap<u32, Cq>,
    pub(crate) srqs: HashMap<u32, Srq>,
    pub(crate) qps: BTreeMap<u32, Qp>,
    pub(crate) groups: Groups,
    /// The number of the first special QP.
    pub(crate) specials: Option<u32>,
    pub(crate) port_up: bool,
    /// Event queues that have something new, for a guest without MSI-X.
    pub(crate) cause: u32,
    pub(crate) catastrophe: bool,
    pub(crate) counts: Counts,
    pub(crate) faults: Faults,
}

impl Hca {
    /// CLOSE_HCA, or a reset: nothing of the guest's is left, but counts are.
    pub(crate) fn close(&mut self) {
        let (register, counts) = (self.register, std::mem::take(&mut self.counts));
        let faults = std::mem::take(&mut self.faults);
        *self = Self {
            register,
            counts,
            faults,
            ..Self::default()
        };
        self.faults.withheld.clear();
    }

    fn send_doorbell(&mut self, bus: &mut Bus, uar: u32, high: u32, low: u32) {
        let qpn = low >> 8;
        let Some(qp) = self.qps.get_mut(&qpn).filter(|qp| qp.uar() == uar) else {
            self.counts.stray_doorbells += 1;
            return;
        };
        if qp.doorbells.len() >= limits::MAX_WQES {
            return self.qp_fatal(bus, qpn, kind::WQ_FATAL);
        }
        qp.doorbells.push_back(Work {
            at: high & !0x3f,
            size: (low & 0x3f) as u8,
            opcode: (high & 0x1f) as u8,
        });
        self.run_send_queue(bus, qpn);
    }

    fn write_register(&mut self, bus: &mut Bus, at: u64, value: u32) {
        match at {
            COMMAND..COMMAND_END => {
                let word = ((at - COMMAND) / 4) as usize;
                if let Some(place) = self.register.0.get_mut(word) {
                    *place = value;
                }
                if word == 6 && self.register.is_go() {
                    self.run_command(bus);
                }
            }
            CLEAR_CAUSE => self.cause &= !value,
            RESET => {
                self.close();
                self.register = Register::default();
            }
            // The MSI-X table is QEMU's, and the others do nothing.
            _ => {}
        }
    }
}

impl Device for Hca {
    fn read(&mut self, _: &mut Bus, bar: usize, at: u64, data: &mut [u8]) {
        let value = match (bar, at) {
            (0, COMMAND..COMMAND_END) => {
                let word = ((at - COMMAND) / 4) as usize;
                self.register.0.get(word).copied().unwrap_or(0)
            }
            (0, CAUSE) => self.cause,
            (0, limits::ERROR_BUFFER) => u32::from(self.catastrophe),
            _ => 0,
        };
        put_be32(data, 0, value);
    }

    fn write(&mut self, bus: &mut Bus, bar: usize, at: u64, data: &[u8]) {
        let (high, low) = (be32(data, 0), be32(data, 4));
        match (bar, data.len()) {
            (0, 4) => self.write_register(bus, at, high),
            (2, 8) => {
                let uar = u32::try_from(at >> 12).unwrap_or(u32::MAX);
                match at & 0xfff {
                    _ if uar >= limits::UARS => self.counts.stray_doorbells += 1,
                    SEND => self.send_doorbell(bus, uar, high, low),
                    RECEIVE => self.receive_doorbell(bus, uar, high, low),
                    CQ => self.cq_doorbell(bus, uar, high, low),
                    EQ => self.eq_doorbell(bus, uar, high, low),
                    _ => self.counts.stray_doorbells += 1,
                }
            }
            _ => {}
        }
    }

    fn reset(&mut self, _: &mut Bus) {
        self.close();
        self.register = Register::default();
    }

    fn timer(&mut self, bus: &mut Bus, token: u64) {
        let qpn = u32::try_from(token).unwrap_or(u32::MAX);
        if let Some(qp) = self.qps.get_mut(&qpn).filter(|qp| qp.waiting) {
            qp.waiting = false;
            self.run_send_queue(bus, qpn);
        }
    }

    fn control(&mut self, bus: &mut Bus, words: &[&str]) -> Result<String, String> {
        self.control_line(bus, words)
    }
}
