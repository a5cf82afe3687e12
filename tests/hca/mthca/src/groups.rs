// SPDX-License-Identifier: GPL-2.0

//! Multicast groups: a table that software keeps, in chains from the hash of a
//! group's GID.

use crate::command;
use bus::bytes::{be32, byte};
use std::collections::HashMap;

/// Bytes of an entry: the next one's index, the GID, the members.
const ENTRY: usize = 256;
const MAX_INDEX: u32 = 1 << 16;

/// The table.
pub struct Groups {
    entries: HashMap<u32, Vec<u8>>,
    hash_mask: u32,
}

impl Default for Groups {
    fn default() -> Self {
        Self {
            entries: HashMap::new(),
            hash_mask: 0,
        }
    }
}

impl Groups {
    /// How many groups have members.
    pub fn len(&self) -> usize {
        let has_members = |e: &&Vec<u8>| be32(e, 32) >> 31 != 0;
        self.entries.values().filter(has_members).count()
    }

    /// INIT_HCA tells the size of the part that is indexed by hash.
    pub fn set_hash_size(&mut self, size: u32) {
        let size = size & 0xffff;
        self.hash_mask = if size.is_power_of_two() { size - 1 } else { 0 };
    }

    /// READ_MGM.
    pub fn read(&self, index: u32) -> Option<Vec<u8>> {
        let entry = || {
            self.entries
                .get(&index)
                .cloned()
                .unwrap_or_else(|| vec![0; ENTRY])
        };
        (index < MAX_INDEX).then(entry)
    }

    /// WRITE_MGM.
    pub fn write(&mut self, index: u32, mailbox: &[u8]) -> bool {
        let entry = mailbox.get(..ENTRY).filter(|_| index < MAX_INDEX);
        entry
            .map(|e| self.entries.insert(index, e.to_vec()))
            .is_some()
    }

    /// MGID_HASH.
    pub fn hash(&self, mailbox: &[u8]) -> u64 {
        u64::from(self.hash_of(&command::gid(mailbox)))
    }

    fn hash_of(&self, gid: &[u8; 16]) -> u32 {
        let fold = |h: u32, b: &u8| h.rotate_left(5) ^ u32::from(*b);
        gid.iter().fold(0, fold) & self.hash_mask
    }

    /// The QPs of a group.
    pub fn members(&self, gid: &[u8; 16]) -> Vec<u32> {
        let mut index = self.hash_of(gid);
        // A chain that is longer than the table is a loop.
        for _ in 0..=self.entries.len() {
            let Some(entry) = self.entries.get(&index) else {
                break;
            };
            if entry.get(16..32) == Some(gid) {
                let words = (32..ENTRY).step_by(4).map(|at| be32(entry, at));
                return words
                    .take_while(|w| w >> 31 != 0)
                    .map(|w| w & 0xff_ffff)
                    .collect();
            }
            index = be32(entry, 0) >> 6;
            if index == 0 {
                break;
            }
        }
        Vec::new()
    }
}

/// Whether a GID is that of a group.
pub fn is_multicast(gid: &[u8]) -> bool {
    byte(gid, 0) == 0xff
}

#[cfg(test)]
mod tests {
    use super::*;
    use bus::bytes::{put_be32, put_byte};

    fn entry(gid: u8, next: u32, members: &[u32]) -> Vec<u8> {
        let mut e = vec![0; ENTRY];
        put_be32(&mut e, 0, next << 6);
        put_byte(&mut e, 16, 0xff);
        put_byte(&mut e, 31, gid);
        for (i, qpn) in members.iter().enumerate() {
            put_be32(&mut e, 32 + 4 * i, qpn | 1 << 31);
        }
        e
    }

    fn gid(last: u8) -> [u8; 16] {
        let mut gid = [0; 16];
        (gid[0], gid[15]) = (0xff, last);
        gid
    }

    #[test]
    fn chains() {
        let mut groups = Groups::default();
        assert!(groups.write(0, &entry(1, 9, &[0x11, 0x12])));
        assert!(groups.write(9, &entry(2, 0, &[0x13])));
        assert_eq!(groups.members(&gid(1)), [0x11, 0x12]);
        assert_eq!(groups.members(&gid(2)), [0x13]);
        assert_eq!(groups.members(&gid(3)), []);
        assert_eq!(groups.len(), 2);
    }

    #[test]
    fn a_chain_in_a_circle() {
        let mut groups = Groups::default();
        groups.write(0, &entry(1, 9, &[]));
        groups.write(9, &entry(2, 9, &[]));
        assert_eq!(groups.members(&gid(3)), []);
    }

    #[test]
    fn out_of_the_table() {
        let mut groups = Groups::default();
        assert!(!groups.write(MAX_INDEX, &entry(1, 0, &[])));
        assert!(!groups.write(0, &[0; 8]));
        assert!(groups.read(MAX_INDEX).is_none());
    }
}
