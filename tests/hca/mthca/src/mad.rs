// SPDX-License-Identifier: GPL-2.0

//! Management datagrams that the HCA answers itself (IBTA vol. 1, chapter 14).

use bus::bytes::{be16, be32, put_be16, put_be32, put_be64, put_byte};

/// The port's local identifier, and the subnet manager's.
pub const LID: u16 = 7;
const NODE_GUID: u64 = 0x0002_c902_00bb_cc00;
const PREFIX: u64 = 0xfe80 << 48;

/// GID 0 of the port.
pub fn gid() -> [u8; 16] {
    let mut gid = [0; 16];
    put_be64(&mut gid, 0, PREFIX);
    put_be64(&mut gid, 8, NODE_GUID + 1);
    gid
}

/// The partition key at an index; zero where there is none.
pub fn partition(index: u32) -> u16 {
    if index == 0 {
        0xffff
    } else {
        0
    }
}

const METHOD_RESPONSE: u8 = 0x81;
const STATUS_BAD_ATTRIBUTE: u16 = 0x000c;

/// MAD_IFC: the answer to a Get or a Set.
pub fn answer(request: &[u8], port_up: bool) -> Vec<u8> {
    let mut mad = request
        .get(..256)
        .map_or_else(|| vec![0; 256], <[u8]>::to_vec);
    let (attribute, modifier) = (be16(&mad, 16), be32(&mad, 20));
    put_byte(&mut mad, 3, METHOD_RESPONSE);
    let (head, data) = mad.split_at_mut(64);
    let data = data.get_mut(..64).unwrap_or_default();
    data.fill(0);
    match attribute {
        0x10 => data
            .iter_mut()
            .zip(b"mthca model")
            .for_each(|(to, from)| *to = *from),
        0x11 => node_info(data),
        0x14 if modifier == 0 => put_be64(data, 0, NODE_GUID + 1),
        0x15 => port_info(data, port_up),
        0x16 if modifier == 0 => put_be16(data, 0, partition(0)),
        0x14 | 0x16 => {}
        _ => put_be16(head, 4, STATUS_BAD_ATTRIBUTE),
    }
    mad
}

fn node_info(data: &mut [u8]) {
    put_be32(data, 0, 0x0101_0101); // versions, a channel adapter, one port
    put_be64(data, 4, NODE_GUID);
    put_be64(data, 12, NODE_GUID);
    put_be64(data, 20, NODE_GUID + 1);
    put_be16(data, 28, 64); // partition keys
    put_be16(data, 30, 0x6278);
    put_be32(data, 32, 0xa0);
    put_be32(data, 36, 1 << 24 | 0x2c9); // this port, vendor
}

fn port_info(data: &mut [u8], up: bool) {
    put_be64(data, 8, PREFIX);
    put_be16(data, 16, LID);
    put_be16(data, 18, LID);
    put_be32(data, 20, 0x0251_0868);
    put_byte(data, 28, 1); // this port
    put_byte(data, 29, 3); // widths: enabled, supported, active
    put_byte(data, 30, 3);
    put_byte(data, 31, 2);
    let (state, physical) = if up { (4, 5) } else { (1, 3) };
    put_byte(data, 32, 1 << 4 | state);
    put_byte(data, 33, physical << 4 | 2);
    put_byte(data, 35, 0x11); // 2.5 Gb/s
    put_byte(data, 36, 4 << 4); // MTU 2048
    put_byte(data, 37, 4 << 4); // four VLs
    put_byte(data, 41, 4);
    put_byte(data, 51, 18); // subnet timeout
}

#[cfg(test)]
mod tests {
    use super::*;
    use bus::bytes::{be64, byte};

    fn ask(attribute: u16, modifier: u32) -> Vec<u8> {
        let mut request = vec![0; 256];
        put_be16(&mut request, 16, attribute);
        put_be32(&mut request, 20, modifier);
        answer(&request, true)
    }

    #[test]
    fn attributes() {
        assert_eq!(be64(&ask(0x14, 0), 64), NODE_GUID + 1);
        assert_eq!(be64(&ask(0x14, 1), 64), 0);
        assert_eq!(byte(&ask(0x15, 0), 64 + 32) & 0xf, 4);
        assert_eq!(be16(&ask(0x16, 0), 64), 0xffff);
        assert_eq!(be16(&ask(0x77, 0), 4), STATUS_BAD_ATTRIBUTE);
    }

    #[test]
    fn a_short_request() {
        assert_eq!(answer(&[1, 2, 3], false).len(), 256);
    }
}
