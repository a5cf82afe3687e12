// SPDX-License-Identifier: GPL-2.0

//! Tables of the things that commands make, each with the user context that
//! made it.

use crate::command::Status;
use std::collections::BTreeMap;

/// Who made a thing: 0 is the driver, others are contexts made by CREATE_UCTX.
pub type Uid = u16;

/// Who makes what all may refer to: the driver's queues of completion events.
pub const SHARED: Uid = 0xffff;

/// Things by number. Numbers are not used again soon, so that a guest that
/// keeps one for too long is found out.
pub struct Table<T> {
    things: BTreeMap<u32, (Uid, T)>,
    first: u32,
    count: u32,
    next: u32,
}

impl<T> Table<T> {
    /// With numbers from `first` on, `count` of them.
    pub fn new(first: u32, count: u32) -> Self {
        Self {
            things: BTreeMap::new(),
            first,
            count,
            next: 0,
        }
    }

    /// Puts a thing in; its number.
    pub fn insert(&mut self, uid: Uid, thing: T) -> Result<u32, Status> {
        if self.things.len() as u64 >= u64::from(self.count) {
            return Err(Status::NoResources);
        }
        loop {
            let number = self.first + self.next;
            self.next = (self.next + 1) % self.count;
            if let std::collections::btree_map::Entry::Vacant(e) = self.things.entry(number) {
                e.insert((uid, thing));
                return Ok(number);
            }
        }
    }

    /// A thing, for the hardware, which asks nobody.
    pub fn get(&self, number: u32) -> Option<&T> {
        self.things.get(&number).map(|(_, thing)| thing)
    }

    /// The same, to be changed.
    pub fn get_mut(&mut self, number: u32) -> Option<&mut T> {
        self.things.get_mut(&number).map(|(_, thing)| thing)
    }

    /// Whether a command of `uid` may name a thing: firmware lets no context
    /// refer to what is another's, not even the driver's own to a user's.
    pub fn check(&self, number: u32, uid: Uid) -> Result<(), Status> {
        match self.things.get(&number) {
            None => Err(Status::BadIndex),
            Some((owner, _)) if *owner == uid || *owner == SHARED => Ok(()),
            Some(_) => Err(Status::BadResource),
        }
    }

    /// A thing that a command of `uid` names.
    pub fn named(&mut self, number: u32, uid: Uid) -> Result<&mut T, Status> {
        self.check(number, uid)?;
        self.get_mut(number).ok_or(Status::BadIndex)
    }

    /// A thing that a query of `uid` names: the driver may ask about all.
    pub fn queried(&self, number: u32, uid: Uid) -> Result<&T, Status> {
        if uid != 0 {
            self.check(number, uid)?;
        }
        self.get(number).ok_or(Status::BadIndex)
    }

    /// Takes a thing out for a command of `uid`.
    pub fn remove(&mut self, number: u32, uid: Uid) -> Result<T, Status> {
        self.check(number, uid)?;
        let (_, thing) = self.things.remove(&number).ok_or(Status::BadIndex)?;
        Ok(thing)
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        self.things
            .iter()
            .map(|(number, (_, thing))| (*number, thing))
    }

    /// Whether `uid` has made one.
    pub fn any_of(&self, uid: Uid) -> bool {
        self.things.values().any(|(owner, _)| *owner == uid)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.things.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_go_round() {
        let mut table = Table::new(16, 3);
        assert_eq!(table.insert(0, 'a'), Ok(16));
        assert_eq!(table.insert(0, 'b'), Ok(17));
        assert_eq!(table.remove(16, 0), Ok('a'));
        assert_eq!(table.insert(0, 'c'), Ok(18));
        assert_eq!(table.insert(0, 'd'), Ok(16));
        assert_eq!(table.insert(0, 'e'), Err(Status::NoResources));
    }

    #[test]
    fn a_context_sees_only_its_own() {
        let mut table = Table::new(0, 8);
        let mine = table.insert(3, ()).unwrap();
        assert_eq!(table.check(mine, 3), Ok(()));
        assert_eq!(table.check(mine, 4), Err(Status::BadResource));
        assert_eq!(table.check(mine, 0), Err(Status::BadResource));
        assert_eq!(table.remove(mine, 4), Err(Status::BadResource));
        assert_eq!(table.check(mine + 1, 3), Err(Status::BadIndex));
        let shared = table.insert(SHARED, ()).unwrap();
        assert_eq!(table.check(shared, 3), Ok(()));
        assert!(table.any_of(3) && !table.any_of(4));
        assert!(table.queried(mine, 0).is_ok());
        assert_eq!(table.queried(mine, 4), Err(Status::BadResource));
    }
}
