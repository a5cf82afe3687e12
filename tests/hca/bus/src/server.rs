// SPDX-License-Identifier: GPL-2.0

//! The server: waits for the guest's accesses, for timers and for lines on the
//! control socket, and hands each to where it belongs.

use crate::bytes::{le32, le64, put_le32, put_le64};
use crate::config::{Config, Identity};
use crate::control::Control;
use crate::wire::{command, Connection, Message, MAX_DATA, MAX_FDS};
use crate::{Bus, Device};
use libc::EINVAL;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Regions of a PCI function in vfio: six BARs, the ROM, config space, VGA.
const REGIONS: u32 = 9;
const CONFIG: u32 = 7;
/// Kinds of interrupts of a PCI function in vfio.
const IRQS: u32 = 5;
const IRQ_INTX: u32 = 0;
const IRQ_MSIX: u32 = 2;

const REGION_READ_WRITE: u32 = 3;
const DEVICE_RESET_AND_PCI: u32 = 3;
const IRQ_EVENTFD: u32 = 1 << 0;
const IRQ_MASKABLE: u32 = 1 << 1;
const IRQ_NORESIZE: u32 = 1 << 3;
const SET_IRQ_TRIGGER: u32 = 1 << 5;
const DMA_MAP_WRITE: u32 = 1 << 1;
const DMA_UNMAP_ALL: u32 = 1 << 2;

/// What the server says of itself; QEMU wants JSON that ends with a NUL.
fn capabilities() -> Vec<u8> {
    let mut reply = vec![0; 4]; // version 0.0
    let json = format!(
        "{{\"capabilities\":{{\"max_msg_fds\":{MAX_FDS},\"max_data_xfer_size\":{MAX_DATA}}}}}\0"
    );
    reply.extend_from_slice(json.as_bytes());
    reply
}

/// Where a model listens.
#[derive(Debug, Clone)]
pub struct Sockets {
    /// For QEMU.
    pub device: PathBuf,
    /// For whoever injects faults and reads counters, if anybody may.
    pub control: Option<PathBuf>,
}

impl Sockets {
    /// A device's socket, and no control socket.
    pub fn new(device: impl Into<PathBuf>) -> Self {
        Self {
            device: device.into(),
            control: None,
        }
    }

    /// With a control socket.
    pub fn with_control(self, control: impl Into<PathBuf>) -> Self {
        Self {
            control: Some(control.into()),
            ..self
        }
    }
}

fn listen(path: &Path) -> io::Result<UnixListener> {
    match std::fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
        _ => UnixListener::bind(path),
    }
}

/// Serves one guest, from when its QEMU connects until it is gone.
///
/// The control socket also takes commands of the bus itself:
///
/// | command | what it does |
/// |---|---|
/// | `remove` | the function is pulled out: reads give all ones, writes and interrupts are lost |
/// | `insert` | and is back, as after power on |
/// | `stall MS` | the guest's accesses wait for so many milliseconds |
/// | `die` | the connection to QEMU is closed, as if the model had crashed |
/// | `bus` | counts of accesses and of interrupts |
pub fn serve(sockets: &Sockets, identity: &Identity, device: &mut dyn Device) -> io::Result<()> {
    let control = sockets.control.as_deref().map(listen).transpose()?;
    let control = Control::new(control)?;
    let (stream, _) = listen(&sockets.device)?.accept()?;
    let vectors = identity.msix.map_or(0, |msix| usize::from(msix.vectors));
    Server {
        connection: Connection::new(stream),
        control,
        function: Function {
            config: Config::new(identity),
            identity,
            bus: Bus::new(vectors),
            device,
            removed: false,
            accesses: 0,
        },
        stalled_until: None,
        dead: false,
    }
    .run()
}

struct Server<'a> {
    connection: Connection,
    control: Control,
    function: Function<'a>,
    stalled_until: Option<Instant>,
    dead: bool,
}

impl Server<'_> {
    fn run(mut self) -> io::Result<()> {
        while !self.dead {
            let (guest, control) = self.wait()?;
            if control {
                self.serve_control();
            }
            self.function.run_timers();
            if guest && !self.serve_guest()? {
                break;
            }
        }
        Ok(())
    }

    /// One message; false once the guest is gone.
    fn serve_guest(&mut self) -> io::Result<bool> {
        let Some(mut message) = self.connection.receive()? else {
            return Ok(false);
        };
        let answer = self.function.handle(&mut message);
        if !message.wants_reply {
            return Ok(true);
        }
        match self
            .connection
            .reply(&message, answer.as_deref().map_err(|e| *e))
        {
            Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(false),
            result => result.map(|()| true),
        }
    }

    /// Waits until there is something to do; whether the guest, and whether
    /// somebody on the control socket, has something to say.
    fn wait(&mut self) -> io::Result<(bool, bool)> {
        let now = Instant::now();
        self.stalled_until = self.stalled_until.filter(|&until| until > now);
        let stalled = self.stalled_until.map(|until| until - now);
        let timer = self.function.bus.timers.next_in(now);
        let timeout = [stalled, timer].into_iter().flatten().min();

        let entry = |fd: RawFd| libc::pollfd {
            fd,
            events: libc::POLLIN,
            revents: 0,
        };
        // poll() passes over a negative descriptor.
        let guest = if stalled.is_some() {
            -1
        } else {
            self.connection.stream().as_raw_fd()
        };
        let mut fds = vec![entry(guest)];
        fds.extend(self.control.fds().map(entry));
        poll(&mut fds, timeout)?;
        let mut ready = fds.iter().map(|fd| fd.revents != 0);
        Ok((ready.next() == Some(true), ready.any(|r| r)))
    }

    fn serve_control(&mut self) {
        let Self {
            control,
            function,
            stalled_until,
            dead,
            ..
        } = self;
        control.serve(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            match words[..] {
                ["die"] => *dead = true,
                ["stall", ms] => {
                    let ms = ms
                        .parse()
                        .map_err(|_| "stall wants milliseconds".to_owned())?;
                    *stalled_until = Instant::now().checked_add(Duration::from_millis(ms));
                }
                _ => return function.control(&words),
            }
            Ok(String::new())
        });
    }
}

fn poll(fds: &mut [libc::pollfd], timeout: Option<Duration>) -> io::Result<()> {
    let timeout = timeout.map(|t| libc::timespec {
        tv_sec: libc::time_t::try_from(t.as_secs()).unwrap_or(libc::time_t::MAX),
        tv_nsec: t.subsec_nanos().into(),
    });
    let at = timeout
        .as_ref()
        .map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: `fds` is an array of so many entries, `at` null or a timespec.
    let n = unsafe {
        libc::ppoll(
            fds.as_mut_ptr(),
            fds.len() as libc::nfds_t,
            at,
            std::ptr::null(),
        )
    };
    if n < 0 {
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    Ok(())
}

/// The function behind the connection.
struct Function<'a> {
    config: Config,
    identity: &'a Identity,
    bus: Bus,
    device: &'a mut dyn Device,
    removed: bool,
    accesses: u64,
}

type Answer = Result<Vec<u8>, i32>;

impl Function<'_> {
    fn handle(&mut self, message: &mut Message) -> Answer {
        let body = &message.body;
        match message.command {
            command::VERSION => Ok(capabilities()),
            command::DEVICE_INFO => Ok(words(&[16, DEVICE_RESET_AND_PCI, REGIONS, IRQS])),
            command::REGION_INFO => self.region_info(le32(body, 8)),
            command::IRQ_INFO => self.irq_info(le32(body, 8)),
            command::SET_IRQS => {
                let fds = std::mem::take(&mut message.fds);
                self.set_irqs(&message.body, fds)
            }
            command::DMA_MAP => self.dma_map(message),
            command::DMA_UNMAP => self.dma_unmap(body),
            command::REGION_READ => self.region_read(body),
            command::REGION_WRITE => self.region_write(body),
            command::RESET => {
                self.reset();
                Ok(Vec::new())
            }
            _ => Err(libc::ENOTSUP),
        }
    }

    fn region_size(&self, region: u32) -> u64 {
        if region == CONFIG {
            return Config::SIZE as u64;
        }
        let bar = self
            .identity
            .bars
            .iter()
            .find(|bar| bar.index == region as usize);
        bar.map_or(0, |bar| bar.size)
    }

    fn region_info(&self, region: u32) -> Answer {
        if region >= REGIONS {
            return Err(EINVAL);
        }
        let size = self.region_size(region);
        let flags = if size > 0 { REGION_READ_WRITE } else { 0 };
        let mut info = words(&[32, flags, region, 0, 0, 0, 0, 0]);
        put_le64(&mut info, 16, size);
        Ok(info)
    }

    fn irq_info(&self, index: u32) -> Answer {
        let vectors = self.identity.msix.map_or(0, |msix| u32::from(msix.vectors));
        let (flags, count) = match index {
            IRQ_INTX => (IRQ_EVENTFD | IRQ_MASKABLE, u32::from(self.identity.intx)),
            IRQ_MSIX => (IRQ_EVENTFD | IRQ_NORESIZE, vectors),
            _ if index < IRQS => (IRQ_EVENTFD, 0),
            _ => return Err(EINVAL),
        };
        Ok(words(&[16, flags, index, count]))
    }

    fn set_irqs(&mut self, body: &[u8], mut fds: Vec<std::fs::File>) -> Answer {
        let (flags, index) = (le32(body, 4), le32(body, 8));
        let (start, count) = (le32(body, 12) as usize, le32(body, 16) as usize);
        // Masking is QEMU's own affair.
        if flags & SET_IRQ_TRIGGER != 0 {
            match index {
                IRQ_INTX => self.bus.irq.set_intx(fds.pop()),
                IRQ_MSIX => self.bus.irq.set_msix(start, count, fds),
                _ if index < IRQS => {}
                _ => return Err(EINVAL),
            }
        }
        Ok(Vec::new())
    }

    fn dma_map(&mut self, message: &Message) -> Answer {
        let body = &message.body;
        // Memory without a file is not for devices (the ROMs of QEMU's machine).
        if let Some(file) = message.fds.first() {
            let writable = le32(body, 4) & DMA_MAP_WRITE != 0;
            let (offset, addr, len) = (le64(body, 8), le64(body, 16), le64(body, 24));
            let mapped = self.bus.dma.map(file, offset, addr, len, writable);
            mapped.map_err(|e| e.raw_os_error().unwrap_or(EINVAL))?;
        }
        Ok(Vec::new())
    }

    fn dma_unmap(&mut self, body: &[u8]) -> Answer {
        if le32(body, 4) & DMA_UNMAP_ALL != 0 {
            self.bus.dma.unmap_all();
        } else {
            self.bus.dma.unmap(le64(body, 8), le64(body, 16));
        }
        Ok(body.to_vec())
    }

    /// Where an access goes; `EINVAL` for one that does not fit the region.
    fn place(&self, body: &[u8]) -> Result<(u64, u32, usize), i32> {
        let (at, region, count) = (le64(body, 0), le32(body, 8), le32(body, 12));
        let end = at.checked_add(count.into()).ok_or(EINVAL)?;
        if body.len() < 16 || end > self.region_size(region) || count as usize > MAX_DATA {
            return Err(EINVAL);
        }
        Ok((at, region, count as usize))
    }

    fn region_read(&mut self, body: &[u8]) -> Answer {
        let (at, region, count) = self.place(body)?;
        self.accesses += 1;
        let mut reply = body.get(..16).unwrap_or_default().to_vec();
        let mut data = vec![0; count];
        if self.removed {
            data.fill(0xff);
        } else if region == CONFIG {
            self.config.read(at, &mut data);
        } else {
            self.device
                .read(&mut self.bus, region as usize, at, &mut data);
        }
        reply.extend(data);
        Ok(reply)
    }

    fn region_write(&mut self, body: &[u8]) -> Answer {
        let (at, region, count) = self.place(body)?;
        let data = body.get(16..16 + count).ok_or(EINVAL)?;
        self.accesses += 1;
        if self.removed {
        } else if region == CONFIG {
            self.config.write(at, data);
        } else {
            self.device.write(&mut self.bus, region as usize, at, data);
        }
        Ok(body.get(..16).unwrap_or_default().to_vec())
    }

    fn reset(&mut self) {
        self.config.reset();
        self.bus.timers.clear();
        self.device.reset(&mut self.bus);
    }

    fn run_timers(&mut self) {
        let now = Instant::now();
        // Those that a timer sets are for the next round, or it would never end.
        while let Some(token) = self.bus.timers.take_due(now) {
            if !self.removed {
                self.device.timer(&mut self.bus, token);
            }
        }
    }

    fn control(&mut self, words: &[&str]) -> Result<String, String> {
        match words {
            ["remove"] => {
                self.removed = true;
                self.bus.irq.disconnect();
            }
            ["insert"] => {
                self.removed = false;
                self.reset();
            }
            ["bus"] => {
                let raised = self.bus.irq.raised();
                return Ok(format!("accesses {} interrupts {raised}", self.accesses));
            }
            _ => return self.device.control(&mut self.bus, words),
        }
        Ok(String::new())
    }
}

/// A body of 32-bit words.
fn words(words: &[u32]) -> Vec<u8> {
    let mut body = vec![0; 4 * words.len()];
    for (i, word) in words.iter().enumerate() {
        put_le32(&mut body, 4 * i, *word);
    }
    body
}

#[cfg(test)]
#[path = "server_tests.rs"]
mod tests;
