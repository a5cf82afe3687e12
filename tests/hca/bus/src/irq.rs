// SPDX-License-Identifier: GPL-2.0

//! Interrupts: eventfds that QEMU gave for the MSI-X vectors and for INTx.

use std::fs::File;
use std::io::Write;

/// The interrupts of a function.
pub struct Irqs {
    msix: Vec<Option<File>>,
    intx: Option<File>,
    raised: u64,
}

impl Irqs {
    pub(crate) fn new(vectors: usize) -> Self {
        Self {
            msix: (0..vectors).map(|_| None).collect(),
            intx: None,
            raised: 0,
        }
    }

    /// Raises MSI-X vector `vector`; INTx where the guest does not use MSI-X.
    /// An interrupt that the guest has not set up is lost, as on the wire.
    pub fn raise(&mut self, vector: usize) {
        if !self.msix_enabled() {
            return self.raise_intx();
        }
        if let Some(Some(fd)) = self.msix.get_mut(vector) {
            self.raised += 1;
            signal(fd);
        }
    }

    /// Asserts INTx. It is level triggered: the guest's next access to a BAR
    /// lets go of it, and a model that still has something to say asserts again.
    pub fn raise_intx(&mut self) {
        if let Some(fd) = &mut self.intx {
            self.raised += 1;
            signal(fd);
        }
    }

    /// Whether the guest has set up any MSI-X vector.
    pub fn msix_enabled(&self) -> bool {
        self.msix.iter().any(Option::is_some)
    }

    /// How many interrupts reached the guest.
    pub fn raised(&self) -> u64 {
        self.raised
    }

    pub(crate) fn set_intx(&mut self, fd: Option<File>) {
        self.intx = fd;
    }

    /// Vectors `start..start + count` signal these fds from now on, those past
    /// the end of `fds` none; a count of zero takes all of them away.
    pub(crate) fn set_msix(&mut self, start: usize, count: usize, fds: Vec<File>) {
        if count == 0 {
            self.msix.iter_mut().for_each(|vector| *vector = None);
            return;
        }
        let mut fds = fds.into_iter();
        for vector in self.msix.iter_mut().skip(start).take(count) {
            *vector = fds.next();
        }
    }

    pub(crate) fn disconnect(&mut self) {
        self.intx = None;
        self.set_msix(0, 0, Vec::new());
    }
}

/// A full eventfd, or one whose reader is gone, is not the model's concern.
fn signal(fd: &mut File) {
    let _ = fd.write_all(&1u64.to_ne_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::os::fd::{FromRawFd, OwnedFd};

    fn eventfd() -> (File, File) {
        // SAFETY: no memory is passed; the result is checked.
        let fd = unsafe { libc::eventfd(0, libc::EFD_NONBLOCK) };
        assert!(fd >= 0);
        // SAFETY: the call gave us this descriptor, and nobody else has it.
        let fd = File::from(unsafe { OwnedFd::from_raw_fd(fd) });
        (fd.try_clone().unwrap(), fd)
    }

    fn count(fd: &mut File) -> u64 {
        let mut n = [0; 8];
        fd.read_exact(&mut n).map_or(0, |()| u64::from_ne_bytes(n))
    }

    #[test]
    fn vectors_and_the_line_they_fall_back_to() {
        let (line, mut line_seen) = eventfd();
        let (vector, mut vector_seen) = eventfd();
        let mut irq = Irqs::new(4);
        irq.raise(2);
        assert_eq!(irq.raised(), 0);
        irq.set_intx(Some(line));
        irq.raise(2);
        assert_eq!(count(&mut line_seen), 1);
        irq.set_msix(2, 1, vec![vector]);
        irq.raise(2);
        irq.raise(3);
        irq.raise(99);
        assert_eq!((count(&mut vector_seen), count(&mut line_seen)), (1, 0));
        irq.set_msix(0, 0, Vec::new());
        assert!(!irq.msix_enabled());
        assert_eq!(irq.raised(), 2);
    }

    #[test]
    fn more_vectors_than_there_are() {
        let (vector, _) = eventfd();
        let mut irq = Irqs::new(1);
        irq.set_msix(5, usize::MAX, vec![vector]);
        assert!(!irq.msix_enabled());
    }
}
