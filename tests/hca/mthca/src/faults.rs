// SPDX-License-Identifier: GPL-2.0

//! Faults on demand, and counts of what is there: the control socket.

use crate::cq;
use crate::event::{self, kind};
use crate::hca::Hca;
use bus::bytes::put_be32;
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
    pub withheld: Vec<(u32, [u8; 32], bool)>,
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
    pub(crate) fn change_port(&mut self, bus: &mut Bus, up: bool) {
        self.port_up = up;
        // Subtype 1 is down, 4 is active; the port is in the third word.
        let mut e = event::entry(kind::PORT, if up { 4 } else { 1 }, 0);
        put_be32(&mut e, 12, 1 << 28);
        self.event(bus, &e);
    }

    fn release(&mut self, bus: &mut Bus) {
        self.faults.withhold = false;
        for (cqn, entry, solicited) in std::mem::take(&mut self.faults.withheld) {
            self.put_cqe(bus, cqn, &entry, solicited);
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
    /// | `catastrophe` | the HCA is; the driver finds out within five seconds |
    pub(crate) fn control_line(&mut self, bus: &mut Bus, words: &[&str]) -> Result<String, String> {
        match *words {
            ["counters"] => return Ok(self.counters()),
            ["fail", opcode, status] => self.fail(opcode, status, "0")?,
            ["fail", opcode, status, after] => self.fail(opcode, status, after)?,
            ["withhold"] => self.faults.withhold = true,
            ["release"] => self.release(bus),
            ["port", "up"] => self.change_port(bus, true),
            ["port", "down"] => self.change_port(bus, false),
            ["cq-error", cqn] => self.cq_error(bus, number(cqn)?, cq::ERROR_OVERRUN),
            ["qp-fatal", qpn] => self.qp_fatal(bus, number(qpn)?, kind::WQ_FATAL),
            ["catastrophe"] => self.catastrophe = true,
            _ => return Err(format!("no such command: {}", words.join(" "))),
        }
        Ok(String::new())
    }

    fn fail(&mut self, opcode: &str, status: &str, after: &str) -> Result<(), String> {
        let small = |word| u8::try_from(number(word)?).map_err(|_| format!("too large: {word}"));
        self.faults.commands.push(Failing {
            opcode: u16::try_from(number(opcode)?).map_err(|_| format!("too large: {opcode}"))?,
            status: small(status)?,
            after: number(after)?,
        });
        Ok(())
    }

    fn counters(&self) -> String {
        let uars: std::collections::BTreeSet<u32> = self.qps.values().map(|qp| qp.uar()).collect();
        let c = &self.counts;
        format!(
            "regions {} eqs {} cqs {} srqs {} qps {} groups {} uars {} commands {} unknown-commands {} \
             work-requests {} completions {} dropped-datagrams {} stray-doorbells {} lost-events {}",
            self.memory.len(),
            self.eqs.len(),
            self.cqs.len(),
            self.srqs.len(),
            self.qps.len(),
            self.groups.len(),
            uars.len(),
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
    fn the_command_after_so_many_fails_once() {
        let mut hca = Hca::default();
        let mut bus = Bus::new(0);
        let mut line = |text: &str| {
            let words: Vec<&str> = text.split_whitespace().collect();
            hca.control_line(&mut bus, &words)
        };
        assert!(line("fail 0x16 3 1").is_ok());
        assert!(line("fail nonsense 3").is_err());
        assert!(line("fail 0x16 300").is_err());
        assert!(line("what").is_err());
        assert_eq!(hca.faults.take_command(0x16), None);
        assert_eq!(hca.faults.take_command(0x17), None);
        assert_eq!(hca.faults.take_command(0x16), Some(3));
        assert_eq!(hca.faults.take_command(0x16), None);
    }
}
