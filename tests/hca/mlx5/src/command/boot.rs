// SPDX-License-Identifier: GPL-2.0

//! How the driver starts the HCA, what that can do, and the pages that it wants.

use super::{Call, Reply, Result, Status};
use crate::hca::Hca;
use crate::ifc::{
    atomic_caps, cmd_hca_cap, manage_pages_in, manage_pages_out, op, query_adapter_out,
    query_adapter_param_block, query_issi_out, query_pages_out, query_special_contexts_out, Field,
};
use bus::bytes::{be64, put_be64};
use std::collections::HashMap;

/// Pages that firmware asks for before and after it is initialised.
const BOOT_PAGES: u32 = 16;
const INIT_PAGES: u32 = 64;

/// Mellanox, as the IEEE knows it.
const VENDOR: u64 = 0x2c9;

/// Kinds of capabilities.
const GENERAL: u16 = 0;
const ATOMIC: u16 = 3;
const CAPABILITIES: usize = 4096;
const HEAD: usize = 16;

const GENERAL_CAPABILITIES: &[(Field, u64)] = &[
    (cmd_hca_cap::PORT_TYPE, 0),
    (cmd_hca_cap::NUM_PORTS, 1),
    (cmd_hca_cap::IB_VIRT, 1),
    (cmd_hca_cap::CQE_VERSION, 1),
    (cmd_hca_cap::CMDIF_CHECKSUM, 0),
    (cmd_hca_cap::RC, 1),
    (cmd_hca_cap::UC, 1),
    (cmd_hca_cap::UD, 1),
    (cmd_hca_cap::XRC, 1),
    (cmd_hca_cap::APM, 0),
    (cmd_hca_cap::ATOMIC, 1),
    (cmd_hca_cap::QKV, 1),
    (cmd_hca_cap::PKV, 1),
    (cmd_hca_cap::IMAICL, 1),
    (cmd_hca_cap::BF, 1),
    (cmd_hca_cap::LOG_BF_REG_SIZE, 9),
    (cmd_hca_cap::NUM_OF_UARS_PER_PAGE, 1),
    (cmd_hca_cap::LOG_PG_SZ, 12),
    (cmd_hca_cap::LOG_MAX_QP, 17),
    (cmd_hca_cap::LOG_MAX_QP_SZ, 15),
    (cmd_hca_cap::LOG_MAX_CQ, 15),
    (cmd_hca_cap::CQ_RESIZE, 1),
    (cmd_hca_cap::LOG_MAX_CQ_SZ, 20),
    (cmd_hca_cap::LOG_MAX_SRQ, 15),
    (cmd_hca_cap::LOG_MAX_SRQ_SZ, 15),
    (cmd_hca_cap::LOG_MAX_EQ, 6),
    (cmd_hca_cap::LOG_MAX_EQ_SZ, 16),
    (cmd_hca_cap::LOG_MAX_MKEY, 20),
    (cmd_hca_cap::LOG_MAX_MRW_SZ, 40),
    (cmd_hca_cap::LOG_MAX_KLM_LIST_SIZE, 16),
    (cmd_hca_cap::MAX_INDIRECTION, 4),
    (cmd_hca_cap::FIXED_BUFFER_SIZE, 1),
    (cmd_hca_cap::LOG_MAX_PD, 16),
    (cmd_hca_cap::LOG_MAX_XRCD, 16),
    (cmd_hca_cap::LOG_MAX_TRANSPORT_DOMAIN, 8),
    (cmd_hca_cap::LOG_MAX_RA_REQ_QP, 4),
    (cmd_hca_cap::LOG_MAX_RA_RES_QP, 4),
    (cmd_hca_cap::LOG_MAX_MCG, 10),
    (cmd_hca_cap::MAX_QP_MCG, 256),
    (cmd_hca_cap::LOG_MAX_UCTX, 8),
    (cmd_hca_cap::MAX_WQE_SZ_SQ, 1024),
    (cmd_hca_cap::MAX_WQE_SZ_RQ, 512),
    (cmd_hca_cap::MAX_WQE_SZ_SQ_DC, 512),
    // Tables of 8 GIDs and 128 partition keys.
    (cmd_hca_cap::GID_TABLE_SIZE, 0),
    (cmd_hca_cap::PKEY_TABLE_SIZE, 0),
    (cmd_hca_cap::DEVICE_FREQUENCY_KHZ, 156_250),
    (cmd_hca_cap::LOCAL_CA_ACK_DELAY, 16),
    (cmd_hca_cap::STAT_RATE_SUPPORT, 0xff),
];

/// Compare and swap, fetch and add, of 8 bytes in the host's order.
const ATOMIC_CAPABILITIES: &[(Field, u64)] = &[
    (atomic_caps::SUPPORTED_ATOMIC_REQ_8B_ENDIANNESS_MODE_1, 1),
    (atomic_caps::ATOMIC_OPERATIONS, 3),
    (atomic_caps::ATOMIC_SIZE_QP, 8),
    (atomic_caps::ATOMIC_SIZE_DC, 8),
];

/// What the HCA can do, by kind; the driver may turn things off.
pub struct Capabilities(HashMap<u16, Vec<u8>>);

impl Default for Capabilities {
    fn default() -> Self {
        let table = |fields: &[(Field, u64)]| {
            let mut bytes = vec![0; CAPABILITIES];
            for (field, value) in fields {
                field.set(&mut bytes, *value);
            }
            bytes
        };
        Self(HashMap::from([
            (GENERAL, table(GENERAL_CAPABILITIES)),
            (ATOMIC, table(ATOMIC_CAPABILITIES)),
        ]))
    }
}

impl Capabilities {
    fn query(&self, kind: u16, reply: &mut Reply) {
        if let Some(known) = self.0.get(&kind) {
            let place = reply.0.get_mut(HEAD..).unwrap_or_default();
            for (to, from) in place.iter_mut().zip(known) {
                *to = *from;
            }
        }
    }

    fn set(&mut self, kind: u16, new: &[u8]) -> Result {
        let known = self.0.get_mut(&kind).ok_or(Status::BadParameter)?;
        if kind == ATOMIC {
            // Nothing else of them can be set.
            atomic_caps::ATOMIC_REQ_8B_ENDIANNESS_MODE.copy(known, new);
            return Ok(());
        }
        for (to, from) in known.iter_mut().zip(new) {
            *to = *from;
        }
        Ok(())
    }
}

impl Hca {
    pub(super) fn boot_command(&mut self, call: &Call, reply: &mut Reply) -> Result {
        match call.opcode {
            op::ENABLE_HCA
            | op::DISABLE_HCA
            | op::INIT_HCA
            | op::TEARDOWN_HCA
            | op::SET_ISSI
            | op::SET_DRIVER_VERSION => {}
            op::QUERY_ISSI => reply.set(query_issi_out::SUPPORTED_ISSI_DW0, 2u32),
            op::QUERY_HCA_CAP => self.capabilities.query(call.modifier >> 1, reply),
            op::SET_HCA_CAP => {
                let new = call.input.get(HEAD..).unwrap_or_default();
                self.capabilities.set(call.modifier >> 1, new)?;
            }
            op::QUERY_PAGES => {
                let pages = match call.modifier {
                    1 => BOOT_PAGES,
                    2 => INIT_PAGES,
                    _ => 0,
                };
                reply.set(query_pages_out::NUM_PAGES, pages);
            }
            op::MANAGE_PAGES => return self.manage_pages(call, reply),
            op::QUERY_ADAPTER => {
                let adapter = query_adapter_out::QUERY_ADAPTER_STRUCT.part_mut(&mut reply.0);
                query_adapter_param_block::IEEE_VENDOR_ID.set(adapter, VENDOR);
            }
            op::QUERY_SPECIAL_CONTEXTS => {
                reply.set(query_special_contexts_out::RESD_LKEY, 0x100u32);
                reply.set(query_special_contexts_out::NULL_MKEY, 0x101u32);
                reply.set(query_special_contexts_out::DUMP_FILL_MKEY, 0x102u32);
            }
            _ => return Err(Status::BadOperation),
        }
        Ok(())
    }

    /// The driver gives pages, or takes them back.
    fn manage_pages(&mut self, call: &Call, reply: &mut Reply) -> Result {
        let count = call.get(manage_pages_in::INPUT_NUM_ENTRIES) as usize;
        match call.modifier {
            // It has none.
            0 => {}
            1 => {
                let list = call.input.get(manage_pages_in::BYTES..).unwrap_or_default();
                let pages = list.chunks_exact(8).take(count);
                self.pages.extend(pages.map(|page| be64(page, 0)));
            }
            2 => {
                let room = reply.0.len().saturating_sub(manage_pages_out::BYTES) / 8;
                let left = self.pages.len().saturating_sub(count.min(room));
                let taken = self.pages.split_off(left);
                reply.set(manage_pages_out::OUTPUT_NUM_ENTRIES, taken.len() as u64);
                for (i, page) in taken.iter().enumerate() {
                    put_be64(&mut reply.0, manage_pages_out::BYTES + 8 * i, *page);
                }
            }
            _ => return Err(Status::BadParameter),
        }
        Ok(())
    }
}
