// SPDX-License-Identifier: GPL-2.0

//! Faults on demand, and counts of what is there: the control socket.

use crate::cq;
use crate::event::{self, kind};
use crate::hca::{port_state, Hca};
use bus::Bus;

/// Counts of what happened.
#[derive(Default)]
pub struct Counts {
    pub commands: u64,
    pub unknown_commands: u64,
    pub work_requests: u64,
    pub completions: u64,
    pub dropped_datagrams: u64,
    /// Doorbells for what is not there, or on a page that is not the owner's.
    pub stray_doorbells: u64,
    pub lost_events: u64,
}

/// A command that is to fail.
struct Failing {
    opcode: u16,
    status: u8,
    /// How many of them go well before.
    after: u32,
}

/// Faults that are set.
#[derive(Default)]
pub struct Faults {
    commands: Vec<Failing>,
    pub withhold: bool,
    pub withheld: Vec<(u32, [u8; 64], bool)>,
    /// What the health buffer says is wrong.
    pub health: u8,
}

impl Faults {
    /// The status that this command is to fail with, if it is.
    pub fn take_command(&mut self, opcode: u16) -> Option<u8> {
        let at = self.commands.iter().position(|f| f.opcode == opcode)?;
        let failing = self.commands.get_mut(at)?;
        if failing.after > 0 {
            failing.after -= 1;
            return None;
        }
        Some(self.commands.remove(at).status)
    }
}

/// A number as people write it, decimal or with 0x.
fn number(word: &str) -> Result<u32, String> {
    let parsed = match word.strip_prefix("0x") {
        Some(hex) => u32::from_str_radix(hex, 16),
        None => word.parse(),
    };
    parsed.map_err(|_| format!("not a number: {word}"))
}

impl Hca {
    /// The link goes up or down.
    fn change_port(&mut self, bus: &mut Bus, up: bool) {
        self.port_up = up;
        // The port is in the upper half of the ninth byte.
        let entry = event::entry(kind::PORT, port_state(up), 8, 1 << 28);
        self.event(bus, kind::PORT, entry);
    }

    fn release(&mut self, bus: &mut Bus) {
        self.faults.withhold = false;
        for (cqn, entry, solicited) in std::mem::take(&mut self.faults.withheld) {
            self.put_cqe(bus, cqn, entry, solicited);
        }
    }

    /// One line of the control socket:
    ///
    /// | command | what it does |
    /// |---|---|
    /// | `counters` | what is there, and what happened |
    /// | `fail OPCODE STATUS [AFTER]` | a command fails, after so many that do not |
    /// | `withhold`, `release` | completions are kept back, and come after all |
    /// | `port up`, `port down` | the link changes |
    /// | `cq-error CQN` | a completion queue is in error |
    /// | `qp-fatal QPN` | a QP is in error |
    /// | `health SYNDROME` | the health buffer says so, and that it is serious |
    /// | `catastrophe` | an internal error, as the driver finds it by polling |
    pub(crate) fn control_line(&mut self, bus: &mut Bus, words: &[&str]) -> Result<String, String> {
        let small = |word| u8::try_from(number(word)?).map_err(|_| format!("too large: {word}"));
        match *words {
            ["counters"] => return Ok(self.counters()),
            ["fail", opcode, status] => self.fail(opcode, small(status)?, "0")?,
            ["fail", opcode, status, after] => self.fail(opcode, small(status)?, after)?,
            ["withhold"] => self.faults.withhold = true,
            ["release"] => self.release(bus),
            ["port", "up"] => self.change_port(bus, true),
            ["port", "down"] => self.change_port(bus, false),
            ["cq-error", cqn] => self.cq_error(bus, number(cqn)?, cq::ERROR_OVERRUN),
            ["qp-fatal", qpn] => self.qp_fatal(bus, number(qpn)?, kind::WQ_FATAL),
            ["health", syndrome] => self.faults.health = small(syndrome)?,
            ["catastrophe"] => self.faults.health = 0x1,
            _ => return Err(format!("no such command: {}", words.join(" "))),
        }
        Ok(String::new())
    }

    fn fail(&mut self, opcode: &str, status: u8, after: &str) -> Result<(), String> {
        self.faults.commands.push(Failing {
            opcode: u16::try_from(number(opcode)?).map_err(|_| format!("too large: {opcode}"))?,
            status,
            after: number(after)?,
        });
        Ok(())
    }

    fn counters(&self) -> String {
        let c = &self.counts;
        format!(
            "regions {} eqs {} cqs {} srqs {} qps {} uars {} pds {} xrcds {} uctxs {} groups {} pages {} \
             commands {} unknown {} sends {} completions {} dropped {} stray {} lost {}",
            self.mkeys.len(),
            self.eqs.len(),
            self.cqs.len(),
            self.srqs.len(),
            self.qps.len(),
            self.uars.len(),
            self.pds.len(),
            self.xrcds.len(),
            self.uctxs.len(),
            self.groups.len(),
            self.pages.len(),
            c.commands,
            c.unknown_commands,
            c.work_requests,
            c.completions,
            c.dropped_datagrams,
            c.stray_doorbells,
            c.lost_events,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_fails_once_after_some() {
        let mut hca = Hca::default();
        let mut bus = Bus::new(0);
        hca.control_line(&mut bus, &["fail", "0x500", "5", "1"])
            .unwrap();
        assert_eq!(hca.faults.take_command(0x500), None);
        assert_eq!(hca.faults.take_command(0x400), None);
        assert_eq!(hca.faults.take_command(0x500), Some(5));
        assert_eq!(hca.faults.take_command(0x500), None);
        assert!(hca.control_line(&mut bus, &["fail", "x", "5"]).is_err());
        assert!(hca.control_line(&mut bus, &["health", "300"]).is_err());
    }
}
