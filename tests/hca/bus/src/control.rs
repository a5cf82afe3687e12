// SPDX-License-Identifier: GPL-2.0

//! The control socket: lines with a request, each answered by one line, `ok`
//! and what was asked for, or `error: ` and why.

use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::{UnixListener, UnixStream};

/// A line is no longer than this; a peer that sends a longer one is cut off.
const MAX_LINE: usize = 1024;

struct Peer {
    stream: UnixStream,
    pending: Vec<u8>,
}

impl Peer {
    /// Whole lines that have come; `None` once the peer is gone.
    fn lines(&mut self) -> Option<Vec<String>> {
        let (mut buffer, mut open) = ([0; MAX_LINE], true);
        match self.stream.read(&mut buffer) {
            Ok(0) => open = false,
            Ok(n) => self.pending.extend(buffer.iter().take(n)),
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => open = false,
        }
        let mut lines = Vec::new();
        while let Some(end) = self.pending.iter().position(|&b| b == b'\n') {
            let line: Vec<u8> = self.pending.drain(..=end).collect();
            lines.push(String::from_utf8_lossy(&line).trim().to_owned());
        }
        (open && self.pending.len() <= MAX_LINE || !lines.is_empty()).then_some(lines)
    }
}

/// Listens for peers, and has those that came.
#[derive(Default)]
pub(crate) struct Control {
    listener: Option<UnixListener>,
    peers: Vec<Peer>,
}

impl Control {
    pub(crate) fn new(listener: Option<UnixListener>) -> io::Result<Self> {
        if let Some(listener) = &listener {
            listener.set_nonblocking(true)?;
        }
        Ok(Self {
            listener,
            peers: Vec::new(),
        })
    }

    /// What is to be polled for input.
    pub(crate) fn fds(&self) -> impl Iterator<Item = RawFd> + '_ {
        let listener = self.listener.iter().map(AsRawFd::as_raw_fd);
        listener.chain(self.peers.iter().map(|p| p.stream.as_raw_fd()))
    }

    /// Answers all lines that have come.
    pub(crate) fn serve(&mut self, mut answer: impl FnMut(&str) -> Result<String, String>) {
        while let Some(Ok((stream, _))) = self.listener.as_ref().map(UnixListener::accept) {
            if stream.set_nonblocking(true).is_ok() {
                self.peers.push(Peer {
                    stream,
                    pending: Vec::new(),
                });
            }
        }
        self.peers.retain_mut(|peer| {
            let Some(lines) = peer.lines() else {
                return false;
            };
            lines.iter().all(|line| {
                let reply = match answer(line) {
                    Ok(text) if text.is_empty() => "ok\n".to_owned(),
                    Ok(text) => format!("ok {text}\n"),
                    Err(why) => format!("error: {why}\n"),
                };
                peer.stream.write_all(reply.as_bytes()).is_ok()
            })
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_in_pieces() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        ours.set_nonblocking(true).unwrap();
        let mut control = Control::default();
        control.peers.push(Peer {
            stream: ours,
            pending: Vec::new(),
        });
        let mut seen = Vec::new();
        for piece in ["one tw", "o\nthree\n", "four"] {
            theirs.write_all(piece.as_bytes()).unwrap();
            control.serve(|line| {
                seen.push(line.to_owned());
                if line == "three" {
                    Err("no".into())
                } else {
                    Ok("yes".into())
                }
            });
        }
        assert_eq!(seen, ["one two", "three"]);
        let mut reply = [0; 17];
        theirs.read_exact(&mut reply).unwrap();
        assert_eq!(&reply, b"ok yes\nerror: no\n");
        drop(theirs);
        control.serve(|_| Ok(String::new()));
        assert!(control.peers.is_empty());
    }

    #[test]
    fn a_line_without_end() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        ours.set_nonblocking(true).unwrap();
        let mut control = Control::default();
        control.peers.push(Peer {
            stream: ours,
            pending: Vec::new(),
        });
        theirs.write_all(&[b'x'; 2 * MAX_LINE]).unwrap();
        for _ in 0..3 {
            control.serve(|_| Ok(String::new()));
        }
        assert!(control.peers.is_empty());
    }
}
