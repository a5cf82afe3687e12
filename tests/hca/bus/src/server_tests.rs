// SPDX-License-Identifier: GPL-2.0

use super::*;
use crate::bytes::{le16, put_le16};
use crate::{Bar, Msix};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::thread::JoinHandle;

/// Reads give the low byte of their offset; a write of 8 bytes to 0 sets a
/// timer, which adds to what the control socket's `fired` tells.
#[derive(Default)]
struct Model {
    fired: u32,
    resets: u32,
}

impl Device for Model {
    fn read(&mut self, _: &mut Bus, bar: usize, at: u64, data: &mut [u8]) {
        assert_eq!(bar, 0);
        data.fill((at & 0xff) as u8);
    }

    fn write(&mut self, bus: &mut Bus, _bar: usize, at: u64, data: &[u8]) {
        if (at, data.len()) == (0, 8) {
            bus.timers.set(Duration::from_millis(1), 5);
        }
    }

    fn reset(&mut self, _: &mut Bus) {
        self.resets += 1;
    }

    fn timer(&mut self, _: &mut Bus, token: u64) {
        assert_eq!(token, 5);
        self.fired += 1;
    }

    fn control(&mut self, _: &mut Bus, words: &[&str]) -> Result<String, String> {
        match words {
            ["fired"] => Ok(self.fired.to_string()),
            ["resets"] => Ok(self.resets.to_string()),
            _ => Err("unknown".into()),
        }
    }
}

struct Peer {
    guest: UnixStream,
    control: BufReader<UnixStream>,
    server: JoinHandle<io::Result<()>>,
}

impl Peer {
    fn new(name: &str) -> Self {
        let dir = std::env::temp_dir().join(format!("bus-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let sockets = Sockets::new(dir.join("device")).with_control(dir.join("control"));
        let paths = sockets.clone();
        let server = std::thread::spawn(move || {
            let identity = Identity {
                bars: vec![Bar {
                    index: 0,
                    size: 4096,
                }],
                msix: Some(Msix {
                    bar: 0,
                    at: 0,
                    vectors: 2,
                }),
                ..Identity::default()
            };
            serve(&sockets, &identity, &mut Model::default())
        });
        let connect = |path: &Path| loop {
            match UnixStream::connect(path) {
                Ok(stream) => break stream,
                Err(_) => std::thread::sleep(Duration::from_millis(1)),
            }
        };
        let guest = connect(&paths.device);
        let control = connect(paths.control.as_deref().unwrap());
        let peer = Self {
            guest,
            control: BufReader::new(control),
            server,
        };
        std::fs::remove_dir_all(dir).unwrap();
        peer
    }

    /// The body of the answer, or the errno.
    fn call(&mut self, command: u16, body: &[u8]) -> Result<Vec<u8>, u32> {
        let mut m = vec![0; 16];
        put_le16(&mut m, 0, 9);
        put_le16(&mut m, 2, command);
        put_le32(&mut m, 4, (16 + body.len()) as u32);
        m.extend_from_slice(body);
        self.guest.write_all(&m).unwrap();
        let mut header = [0; 16];
        self.guest.read_exact(&mut header).unwrap();
        assert_eq!((le16(&header, 0), le16(&header, 2)), (9, command));
        let mut body = vec![0; le32(&header, 4) as usize - 16];
        self.guest.read_exact(&mut body).unwrap();
        match le32(&header, 12) {
            0 => Ok(body),
            errno => Err(errno),
        }
    }

    fn access(
        &mut self,
        command: u16,
        region: u32,
        at: u64,
        count: u32,
        data: &[u8],
    ) -> Result<Vec<u8>, u32> {
        let mut body = vec![0; 16];
        put_le64(&mut body, 0, at);
        put_le32(&mut body, 8, region);
        put_le32(&mut body, 12, count);
        body.extend_from_slice(data);
        self.call(command, &body)
    }

    fn read(&mut self, region: u32, at: u64, count: u32) -> Result<Vec<u8>, u32> {
        let reply = self.access(command::REGION_READ, region, at, count, b"")?;
        Ok(reply[16..].to_vec())
    }

    fn ask(&mut self, line: &str) -> String {
        self.control
            .get_mut()
            .write_all(format!("{line}\n").as_bytes())
            .unwrap();
        let mut reply = String::new();
        self.control.read_line(&mut reply).unwrap();
        reply.trim().to_owned()
    }

    fn end(self) {
        drop(self.guest);
        self.server.join().unwrap().unwrap();
    }
}

#[test]
fn what_qemu_asks_first() {
    let mut peer = Peer::new("first");
    let version = peer.call(command::VERSION, b"\0\0\0\0not json").unwrap();
    assert_eq!(version.last(), Some(&0));
    assert_eq!(
        peer.call(command::DEVICE_INFO, &[0; 16]).unwrap(),
        words(&[16, 3, 9, 5])
    );
    let info = peer
        .call(command::REGION_INFO, &words(&[32, 0, 0, 0, 0, 0, 0, 0]))
        .unwrap();
    assert_eq!((le32(&info, 4), le64(&info, 16)), (3, 4096));
    let info = peer
        .call(command::IRQ_INFO, &words(&[16, 0, IRQ_MSIX, 0]))
        .unwrap();
    assert_eq!(le32(&info, 12), 2);
    peer.end();
}

#[test]
fn accesses() {
    let mut peer = Peer::new("accesses");
    assert_eq!(peer.read(0, 0x123, 4).unwrap(), [0x23; 4]);
    assert_eq!(peer.read(CONFIG, 0x34, 1).unwrap(), [0x40]);
    // Not in the region, no such region, past what a message may carry.
    let einval = Err(EINVAL.unsigned_abs());
    assert_eq!(peer.read(0, 4095, 2), einval);
    assert_eq!(peer.read(0, u64::MAX, 2), einval);
    assert_eq!(peer.read(3, 0, 4), einval);
    assert_eq!(peer.read(99, 0, 4), einval);
    assert_eq!(
        peer.access(command::REGION_WRITE, 0, 0, 8, b"short"),
        einval
    );
    assert_eq!(peer.call(command::REGION_READ, b"short"), einval);
    assert_eq!(peer.call(77, b""), Err(libc::ENOTSUP.unsigned_abs()));
    // And it is still there.
    assert_eq!(peer.read(0, 1, 1).unwrap(), [1]);
    assert_eq!(peer.ask("bus"), "ok accesses 3 interrupts 0");
    peer.end();
}

#[test]
fn timers() {
    let mut peer = Peer::new("timers");
    peer.access(command::REGION_WRITE, 0, 0, 8, &[0; 8])
        .unwrap();
    let mut tries = 0;
    while peer.ask("fired") != "ok 1" {
        tries += 1;
        assert!(tries < 1000);
        std::thread::sleep(Duration::from_millis(1));
    }
    peer.end();
}

#[test]
fn pulled_out_and_back() {
    let mut peer = Peer::new("removal");
    assert_eq!(peer.ask("remove"), "ok");
    assert_eq!(peer.read(0, 1, 2).unwrap(), [0xff; 2]);
    assert_eq!(peer.read(CONFIG, 0, 2).unwrap(), [0xff; 2]);
    assert_eq!(peer.ask("insert"), "ok");
    assert_eq!(peer.read(0, 1, 2).unwrap(), [1; 2]);
    assert_eq!(peer.ask("resets"), "ok 1");
    assert_eq!(peer.ask("nonsense"), "error: unknown");
    peer.end();
}

#[test]
fn stalled_and_dead() {
    let mut peer = Peer::new("stall");
    assert_eq!(peer.ask("stall 30"), "ok");
    let before = Instant::now();
    assert_eq!(peer.read(0, 1, 1).unwrap(), [1]);
    assert!(before.elapsed() >= Duration::from_millis(25));
    assert_eq!(peer.ask("stall soon"), "error: stall wants milliseconds");
    assert_eq!(peer.ask("die"), "ok");
    assert_eq!(peer.guest.read(&mut [0]).unwrap(), 0);
    peer.end();
}
