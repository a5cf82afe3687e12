// SPDX-License-Identifier: GPL-2.0

//! Multicast groups: which QPs take the datagrams to a GID.

use std::collections::{BTreeSet, HashMap};

pub type Gid = [u8; 16];

/// The groups; one that is empty is none.
#[derive(Default)]
pub struct Groups(HashMap<Gid, BTreeSet<u32>>);

impl Groups {
    pub fn attach(&mut self, gid: Gid, qpn: u32) {
        self.0.entry(gid).or_default().insert(qpn);
    }

    /// False where the QP is no member.
    pub fn detach(&mut self, gid: &Gid, qpn: u32) -> bool {
        let Some(members) = self.0.get_mut(gid) else {
            return false;
        };
        let was = members.remove(&qpn);
        if members.is_empty() {
            self.0.remove(gid);
        }
        was
    }

    pub fn members(&self, gid: &Gid) -> Vec<u32> {
        let members = self.0.get(gid).into_iter().flatten();
        members.copied().collect()
    }

    /// Whether a QP is in any.
    pub fn has(&self, qpn: u32) -> bool {
        self.0.values().any(|members| members.contains(&qpn))
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_come_and_go() {
        let (mut groups, gid) = (Groups::default(), [0xff; 16]);
        groups.attach(gid, 5);
        groups.attach(gid, 5);
        groups.attach(gid, 4);
        assert_eq!(groups.members(&gid), [4, 5]);
        assert!(groups.has(5) && groups.detach(&gid, 5) && !groups.has(5));
        assert!(!groups.detach(&gid, 5));
        assert!(groups.detach(&gid, 4));
        assert_eq!((groups.len(), groups.members(&gid).len()), (0, 0));
    }
}
