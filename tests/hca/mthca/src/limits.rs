// SPDX-License-Identifier: GPL-2.0

//! What the HCA says of itself.

use bus::bytes::{put_be16, put_be32, put_be64, put_byte};

/// Event queues; completion queues; shared receive queues.
pub const EQS: u32 = 32;
pub const CQS: u32 = 1 << 16;
pub const SRQS: u32 = 1 << 10;
/// The most work requests of a queue, and so of a walk along its links.
pub const MAX_WQES: usize = 1 << 14;
/// Pages of doorbells, a process has one each: 1 MB of them.
pub const UARS: u32 = 256;

/// Where in BAR 0 the catastrophic error buffer is.
pub const ERROR_BUFFER: u64 = 0x9_0000;

const MEMORY_MB: u64 = 1 << 30;

/// QUERY_FW.
pub fn firmware() -> Vec<u8> {
    let mut b = vec![0; 256];
    put_be64(&mut b, 0x00, 4 << 32 | 200 << 16 | 8); // version 4.8.200
    put_byte(&mut b, 0x0f, 4); // log2 of commands at a time
    put_be64(&mut b, 0x20, MEMORY_MB);
    put_be64(&mut b, 0x28, MEMORY_MB + 0x10_0000);
    put_be64(&mut b, 0x30, ERROR_BUFFER);
    put_be32(&mut b, 0x38, 4);
    b
}

/// QUERY_DDR: 1 GB, which the guest does not see.
pub fn attached_memory() -> Vec<u8> {
    let mut b = vec![0; 256];
    put_be64(&mut b, 0x08, MEMORY_MB + 0x1f_ffff);
    put_byte(&mut b, 0x13, 1 << 4);
    b
}

/// QUERY_ADAPTER.
pub fn adapter() -> Vec<u8> {
    let mut b = vec![0; 256];
    put_be32(&mut b, 0x00, 0x15b3);
    put_be32(&mut b, 0x04, 0x6278);
    put_be32(&mut b, 0x08, 0xa0);
    put_byte(&mut b, 0x10, 31);
    b
}

/// Bytes of QUERY_DEV_LIM; most are logarithms.
const DEVICE: &[(usize, u8)] = &[
    (0x10, 14),   // work requests of an SRQ
    (0x11, 14),   // work requests of a QP
    (0x12, 4),    // reserved QPs
    (0x13, 16),   // QPs
    (0x14, 0x40), // reserved SRQs
    (0x15, 10),   // SRQs
    (0x19, 17),   // entries of a CQ
    (0x1a, 7),    // reserved CQs
    (0x1b, 16),   // CQs
    (0x1d, 17),   // regions
    (0x1f, 5),    // EQs
    (0x20, 0x40), // reserved MTT segments
    (0x21, 31),   // bytes of a region
    (0x22, 4),    // reserved regions
    (0x23, 20),   // MTT segments
    (0x27, 15),   // address vectors
    (0x29, 7),    // reads under way, as initiator
    (0x2b, 2),    // as target
    (0x2f, 16),   // on the whole
    (0x35, 15),   // ACK delay
    (0x36, 0x43), // MTU 2048, 12X
    (0x37, 0x41), // four VLs, one port
    (0x3b, 5),    // GIDs
    (0x3d, 0x0f), // rates
    (0x3f, 6),    // partition keys
    (0x48, 0x10), // reserved UARs
    (0x49, 0),    // megabytes of UARs
    (0x4b, 12),   // page size
    (0x51, 29),   // pieces of a work request
    (0x61, 8),    // QPs of a multicast group
    (0x63, 13),   // multicast groups
    (0x65, 16),   // protection domains
];

/// Transports, SRQ, counters of bad keys, atomics, multicast.
const FLAGS: u32 = 0x7 | 1 << 6 | 1 << 8 | 1 << 9 | 1 << 18 | 1 << 21;

/// QUERY_DEV_LIM.
pub fn device() -> Vec<u8> {
    let mut b = vec![0; 256];
    for (at, value) in DEVICE {
        put_byte(&mut b, *at, *value);
    }
    put_be32(&mut b, 0x44, FLAGS);
    put_be16(&mut b, 0x52, 1008); // bytes of a work request
    for (at, size) in [
        (0x82, 256),
        (0x86, 32),
        (0x88, 64),
        (0x8a, 64),
        (0x8c, 32),
        (0x8e, 32),
    ] {
        put_be16(&mut b, at, size); // bytes of a context, in attached memory
    }
    b
}
