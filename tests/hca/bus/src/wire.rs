// SPDX-License-Identifier: GPL-2.0

//! Messages of the vfio-user protocol, as QEMU's client sends them: a header of
//! 16 bytes, a body, and file descriptors beside them.
//!
//! A stream gives what it has: a header may come in two pieces, and the next
//! message with the end of this one. So exactly one header is asked for, and
//! then exactly its body, as often as it takes; descriptors then can only be
//! those of this message.

use crate::bytes::{le16, le32, put_le16, put_le32};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream;

/// What a message asks for; numbers of the protocol.
#[allow(missing_docs)]
pub mod command {
    pub const VERSION: u16 = 1;
    pub const DMA_MAP: u16 = 2;
    pub const DMA_UNMAP: u16 = 3;
    pub const DEVICE_INFO: u16 = 4;
    pub const REGION_INFO: u16 = 5;
    pub const IRQ_INFO: u16 = 7;
    pub const SET_IRQS: u16 = 8;
    pub const REGION_READ: u16 = 9;
    pub const REGION_WRITE: u16 = 10;
    pub const RESET: u16 = 13;
}

/// Bytes of a header.
pub const HEADER: usize = 16;
/// The most that one access of a region carries.
pub const MAX_DATA: usize = 1 << 20;
/// The most descriptors that one message carries.
pub const MAX_FDS: usize = 8;

const REPLY: u32 = 1;
const NO_REPLY: u32 = 1 << 4;
const ERROR: u32 = 1 << 5;

/// A request.
#[derive(Debug)]
pub struct Message {
    id: u16,
    /// One of [`command`].
    pub command: u16,
    /// Whether the other side waits for an answer.
    pub wants_reply: bool,
    /// All after the header.
    pub body: Vec<u8>,
    /// Descriptors that came with it.
    pub fds: Vec<File>,
}

/// The connection to QEMU.
pub struct Connection(UnixStream);

impl Connection {
    /// The server's side of a connected stream.
    pub fn new(stream: UnixStream) -> Self {
        Self(stream)
    }

    pub(crate) fn stream(&self) -> &UnixStream {
        &self.0
    }

    /// The next message; `None` once the other side is gone.
    ///
    /// A message that cannot be one is an error of kind `InvalidData`: nothing
    /// that follows can be told apart any more.
    pub fn receive(&mut self) -> io::Result<Option<Message>> {
        let (mut header, mut fds) = ([0; HEADER], Vec::new());
        if !self.fill(&mut header, &mut fds)? {
            return Ok(None);
        }
        let size = le32(&header, 4) as usize;
        let len = size
            .checked_sub(HEADER)
            .filter(|&len| len <= MAX_DATA + 64)
            .ok_or(io::ErrorKind::InvalidData)?;
        let mut body = vec![0; len];
        if !self.fill(&mut body, &mut fds)? {
            return Ok(None);
        }
        Ok(Some(Message {
            id: le16(&header, 0),
            command: le16(&header, 2),
            wants_reply: le32(&header, 8) & NO_REPLY == 0,
            body,
            fds,
        }))
    }

    /// Answers `to` with a body, or with an errno.
    pub fn reply(&mut self, to: &Message, answer: Result<&[u8], i32>) -> io::Result<()> {
        let (body, errno) = match answer {
            Ok(body) => (body, 0),
            Err(errno) => (&[][..], errno),
        };
        let mut bytes = vec![0; HEADER];
        put_le16(&mut bytes, 0, to.id);
        put_le16(&mut bytes, 2, to.command);
        put_le32(&mut bytes, 4, (HEADER + body.len()) as u32);
        put_le32(
            &mut bytes,
            8,
            if errno == 0 { REPLY } else { REPLY | ERROR },
        );
        put_le32(&mut bytes, 12, errno.unsigned_abs());
        bytes.extend_from_slice(body);
        self.0.write_all(&bytes)
    }

    /// Fills `into`; false if the stream ended before that.
    fn fill(&mut self, into: &mut [u8], fds: &mut Vec<File>) -> io::Result<bool> {
        let mut done = 0;
        while done < into.len() {
            match self.receive_some(&mut into[done..], fds) {
                Ok(0) => return Ok(false),
                Ok(n) => done += n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) if e.kind() == io::ErrorKind::ConnectionReset => return Ok(false),
                Err(e) => return Err(e),
            }
        }
        Ok(true)
    }

    /// One `recvmsg`: bytes, and any descriptors that come with the first.
    fn receive_some(&mut self, into: &mut [u8], fds: &mut Vec<File>) -> io::Result<usize> {
        // Room for the descriptors of one message, aligned as a cmsghdr is.
        let mut space = [0u64; 16];
        let mut iov = libc::iovec {
            iov_base: into.as_mut_ptr().cast(),
            iov_len: into.len(),
        };
        // SAFETY: all zeroes is a valid msghdr.
        let mut msg: libc::msghdr = unsafe { std::mem::zeroed() };
        msg.msg_iov = &raw mut iov;
        msg.msg_iovlen = 1;
        msg.msg_control = space.as_mut_ptr().cast();
        msg.msg_controllen = size_of_val(&space);
        // SAFETY: `msg` points to `into` and `space`, with their lengths.
        let n = unsafe { libc::recvmsg(self.0.as_raw_fd(), &raw mut msg, libc::MSG_CMSG_CLOEXEC) };
        let n = usize::try_from(n).map_err(|_| io::Error::last_os_error())?;
        // SAFETY: the call above filled `msg` in.
        let mut cmsg = unsafe { libc::CMSG_FIRSTHDR(&raw const msg) };
        while !cmsg.is_null() {
            // SAFETY: not null, so a header within `space`.
            take_fds(unsafe { &*cmsg }, fds);
            // SAFETY: `cmsg` is one of the headers of `msg`.
            cmsg = unsafe { libc::CMSG_NXTHDR(&raw const msg, cmsg) };
        }
        Ok(n)
    }
}

/// Takes over the descriptors of a control message that the kernel wrote.
fn take_fds(cmsg: &libc::cmsghdr, fds: &mut Vec<File>) {
    if cmsg.cmsg_level != libc::SOL_SOCKET || cmsg.cmsg_type != libc::SCM_RIGHTS {
        return;
    }
    // SAFETY: arithmetic on a constant.
    let head = unsafe { libc::CMSG_LEN(0) } as usize;
    let count = cmsg.cmsg_len.saturating_sub(head) / size_of::<i32>();
    // SAFETY: a header's data follows it.
    let data: *const i32 = unsafe { libc::CMSG_DATA(&raw const *cmsg) }.cast();
    for i in 0..count {
        // SAFETY: `i` is below the number of descriptors that the header counts.
        let fd = unsafe { data.add(i).read_unaligned() };
        // SAFETY: the kernel has just made this descriptor for us.
        fds.push(File::from(unsafe { OwnedFd::from_raw_fd(fd) }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::thread;
    use std::time::Duration;

    fn request(id: u16, command: u16, flags: u32, body: &[u8]) -> Vec<u8> {
        let mut m = vec![0; HEADER];
        put_le16(&mut m, 0, id);
        put_le16(&mut m, 2, command);
        put_le32(&mut m, 4, (HEADER + body.len()) as u32);
        put_le32(&mut m, 8, flags);
        m.extend_from_slice(body);
        m
    }

    #[test]
    fn messages_in_pieces_and_in_one() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let mut bytes = request(1, command::REGION_WRITE, NO_REPLY, b"abc");
        bytes.extend(request(2, command::RESET, 0, b""));
        bytes.extend(request(3, command::REGION_READ, 0, b"0123456789"));
        let sender = thread::spawn(move || {
            // Headers end in the middle of pieces, pieces in the middle of headers.
            for piece in bytes.chunks(7) {
                theirs.write_all(piece).unwrap();
                thread::sleep(Duration::from_millis(1));
            }
        });
        let mut connection = Connection::new(ours);
        let mut seen = Vec::new();
        while let Some(m) = connection.receive().unwrap() {
            seen.push((m.id, m.command, m.wants_reply, m.body));
        }
        sender.join().unwrap();
        assert_eq!(
            seen,
            [
                (1, command::REGION_WRITE, false, b"abc".to_vec()),
                (2, command::RESET, true, vec![]),
                (3, command::REGION_READ, true, b"0123456789".to_vec()),
            ]
        );
    }

    #[test]
    fn the_other_side_goes_in_the_middle() {
        for cut in 0..HEADER + 3 {
            let (ours, mut theirs) = UnixStream::pair().unwrap();
            let bytes = request(1, command::REGION_WRITE, 0, b"abc");
            theirs.write_all(&bytes[..cut]).unwrap();
            drop(theirs);
            assert!(
                Connection::new(ours).receive().unwrap().is_none(),
                "cut at {cut}"
            );
        }
    }

    #[test]
    fn lengths_that_cannot_be() {
        for size in [0u32, 15, (MAX_DATA + HEADER + 65) as u32, u32::MAX] {
            let (ours, mut theirs) = UnixStream::pair().unwrap();
            let mut bytes = request(1, command::REGION_WRITE, 0, b"");
            put_le32(&mut bytes, 4, size);
            theirs.write_all(&bytes).unwrap();
            let error = Connection::new(ours).receive().unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        }
    }

    #[test]
    fn replies() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        theirs
            .write_all(&request(7, command::IRQ_INFO, 0, b""))
            .unwrap();
        let mut connection = Connection::new(ours);
        let message = connection.receive().unwrap().unwrap();
        connection.reply(&message, Ok(b"xy")).unwrap();
        connection.reply(&message, Err(libc::EINVAL)).unwrap();
        let mut bytes = [0; 2 * HEADER + 2];
        theirs.read_exact(&mut bytes).unwrap();
        assert_eq!(
            (le16(&bytes, 0), le32(&bytes, 4), le32(&bytes, 8)),
            (7, 18, REPLY)
        );
        assert_eq!(&bytes[16..18], b"xy");
        assert_eq!(
            (le32(&bytes, 18 + 8), le32(&bytes, 18 + 12)),
            (REPLY | ERROR, 22)
        );
    }
}
