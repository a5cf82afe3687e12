// SPDX-License-Identifier: GPL-2.0

//! Timers: a token for [`crate::Device::timer`], and when.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::{Duration, Instant};

/// Timers under way, each with the token it was set with.
#[derive(Default)]
pub struct Timers(BinaryHeap<Reverse<(Instant, u64)>>);

impl Timers {
    /// [`crate::Device::timer`] is called with `token`, once, after `delay`.
    ///
    /// The same token may be set several times. There is no way to take one
    /// back: a model that no longer wants it ignores the call.
    pub fn set(&mut self, delay: Duration, token: u64) {
        self.0.push(Reverse((Instant::now() + delay, token)));
    }

    /// Forgets all of them, as a reset does.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// How long until the next is due; `None` where there is none.
    pub(crate) fn next_in(&self, now: Instant) -> Option<Duration> {
        let Reverse((when, _)) = self.0.peek()?;
        Some(when.saturating_duration_since(now))
    }

    /// Takes the first one that is due.
    pub(crate) fn take_due(&mut self, now: Instant) -> Option<u64> {
        let Reverse((when, _)) = self.0.peek()?;
        if *when > now {
            return None;
        }
        self.0.pop().map(|Reverse((_, token))| token)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn due_in_order_of_time() {
        let mut timers = Timers::default();
        timers.set(Duration::from_millis(20), 2);
        timers.set(Duration::from_millis(10), 1);
        let now = Instant::now();
        assert_eq!(timers.take_due(now), None);
        assert!(timers
            .next_in(now)
            .is_some_and(|d| d <= Duration::from_millis(10)));
        let later = now + Duration::from_millis(30);
        assert_eq!(timers.take_due(later), Some(1));
        assert_eq!(timers.take_due(later), Some(2));
        assert_eq!(timers.take_due(later), None);
        assert_eq!(timers.next_in(later), None);
    }
}
