// SPDX-License-Identifier: GPL-2.0

//! Work requests that change memory keys (UMR), and invalidation.

use crate::cq::Syndrome;
use crate::hca::Hca;
use crate::ifc::{mkc, Field};
use crate::memory::Access;
use crate::qp::Service;
use crate::wqe::Wqe;
use bus::bytes::{be16, be32, be64, byte};
use bus::Bus;

/// Where the segments are.
const CONTROL: usize = 16;
const CONTEXT: usize = 64;
const LIST: usize = 128;
/// Translations are counted in units of so many bytes.
const OCTWORD: usize = 16;

const FLAG_INLINE: u8 = 1 << 7;
/// The key must not be free. Bit 5 is set by the driver for keys that are, and
/// by others for keys that are not, so that it is not looked at.
const FLAG_IN_USE: u8 = 1 << 6;
const FLAG_OFFSET: u8 = 1 << 4;

/// Fields of a context, by the bit of the mask that changes them.
const CHANGES: &[(u32, &[Field])] = &[
    (0, &[mkc::LEN, mkc::LENGTH64]),
    (1, &[mkc::LOG_PAGE_SIZE]),
    (6, &[mkc::START_ADDR]),
    (7, &[mkc::PD]),
    (8, &[mkc::EN_RINVAL]),
    (13, &[mkc::MKEY_7_0]),
    (14, &[mkc::QPN]),
    (17, &[mkc::LR]),
    (18, &[mkc::LW]),
    (19, &[mkc::RR]),
    (20, &[mkc::RW]),
    (21, &[mkc::A]),
    (29, &[mkc::FREE]),
];

impl Hca {
    /// A UMR: the key that the head of the work request names changes.
    pub(crate) fn change_key(&mut self, bus: &Bus, qpn: u32, wqe: &Wqe) -> Result<(), Syndrome> {
        let bytes = &wqe.0;
        let flags = byte(bytes, CONTROL);
        let octwords = usize::from(be16(bytes, CONTROL + 4));
        let offset = match flags & FLAG_OFFSET {
            0 => 0,
            _ => {
                ((be32(bytes, CONTROL + 16) as usize) << 16) | usize::from(be16(bytes, CONTROL + 6))
            }
        };
        let list = if octwords == 0 {
            Vec::new()
        } else if flags & FLAG_INLINE != 0 {
            let inline = bytes.get(LIST..).unwrap_or_default();
            inline.get(..octwords * OCTWORD).unwrap_or(inline).to_vec()
        } else if bytes.len() >= LIST + OCTWORD {
            let len = (be32(bytes, LIST) as usize).min(octwords * OCTWORD);
            let (key, va) = (be32(bytes, LIST + 4), be64(bytes, LIST + 8));
            let domain = self.list_domain(qpn, key);
            self.read_memory(bus, key, domain, va, len, Access::LocalRead)
                .map_err(|_| Syndrome::LocalProtection)?
        } else {
            Vec::new()
        };
        let new = bytes.get(CONTEXT..LIST).unwrap_or_default();
        let mkey = self.mkeys.get_mut(wqe.immediate() >> 8);
        let mkey = mkey.ok_or(Syndrome::MwBind)?;
        let refused = flags & FLAG_IN_USE != 0 && mkey.is_free();
        if refused || !mkey.write_table(offset.saturating_mul(OCTWORD), &list) {
            return Err(Syndrome::MwBind);
        }
        let mask = be64(bytes, CONTROL + 8);
        for (bit, fields) in CHANGES {
            if (mask >> bit) & 1 == 1 {
                fields
                    .iter()
                    .for_each(|field| field.copy(&mut mkey.context, new));
            }
        }
        Ok(())
    }

    /// The domain to read a list of translations in: a QP that only changes keys
    /// has none, and takes the list's own.
    fn list_domain(&self, qpn: u32, key: u32) -> u32 {
        match self.qps.get(qpn) {
            Some(qp) if qp.service() != Some(Service::Registration) => qp.domain(),
            _ => self.mkeys.get(key >> 8).map_or(0, |mkey| mkey.domain()),
        }
    }

    /// A send with invalidation came in for a key.
    pub(crate) fn invalidate(&mut self, qpn: u32, key: u32) -> Result<(), Syndrome> {
        let domain = self.qps.get(qpn).map(|qp| qp.domain());
        let mkey = self.mkeys.get_mut(key >> 8).filter(|mkey| {
            Some(mkey.domain()) == domain
                && !mkey.is_free()
                && mkc::MKEY_7_0.get32(&mkey.context) == key & 0xff
        });
        let mkey = mkey.ok_or(Syndrome::LocalProtection)?;
        mkc::FREE.set(&mut mkey.context, 1);
        Ok(())
    }
}
