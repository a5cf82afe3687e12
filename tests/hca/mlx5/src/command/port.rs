// SPDX-License-Identifier: GPL-2.0

//! The port: its state, identifiers, registers, and management datagrams.

use super::{Call, Reply, Result, Status};
use crate::hca::{partition, port_state, Hca, GID_PREFIX, LID, NODE_GUID, PORT_GUID};
use crate::ifc::{
    access_register_in, hca_vport_context, op, ptys_reg, pvlc_reg, query_hca_vport_context_out,
    query_hca_vport_gid_out, query_hca_vport_pkey_in, query_hca_vport_pkey_out,
    query_vport_state_out,
};
use bus::bytes::{put_be16, put_be64, put_byte};

/// Registers that ACCESS_REG reads and writes.
mod register {
    /// Maximum transfer units.
    pub const PMTU: u32 = 0x5003;
    /// Link widths and speeds.
    pub const PTYS: u32 = 0x5004;
    /// Virtual lanes.
    pub const PVLC: u32 = 0x500f;
    /// What the driver says of its host.
    pub const HOST_ENDIANNESS: u32 = 0x7004;
}

const DATA: usize = 16;
/// All partition keys are asked for.
const ALL: u64 = 0xffff;
const MTU: u16 = 4096;
const MAD: usize = 256;
const METHOD_RESPONSE: u8 = 0x81;

impl Hca {
    pub(super) fn port_command(&mut self, call: &Call, reply: &mut Reply) -> Result {
        match call.opcode {
            op::MODIFY_HCA_VPORT_CONTEXT => {}
            op::QUERY_HCA_VPORT_CONTEXT => self.vport_context(reply),
            op::QUERY_HCA_VPORT_GID => {
                reply.set(query_hca_vport_gid_out::GIDS_NUM, 1u32);
                put_be64(&mut reply.0, query_hca_vport_gid_out::BYTES, GID_PREFIX);
                put_be64(&mut reply.0, query_hca_vport_gid_out::BYTES + 8, PORT_GUID);
            }
            op::QUERY_HCA_VPORT_PKEY => {
                let index = query_hca_vport_pkey_in::PKEY_INDEX.get(&call.input);
                let first = if index == ALL { 0 } else { index };
                // Each takes four bytes, in the lower half.
                let at = query_hca_vport_pkey_out::BYTES + 2;
                put_be16(&mut reply.0, at, partition(first));
            }
            op::QUERY_VPORT_STATE => {
                reply.set(query_vport_state_out::STATE, u8::from(self.port_up));
                reply.set(query_vport_state_out::ADMIN_STATE, 1u32);
            }
            op::ACCESS_REG => return access_register(call, reply),
            op::MAD_IFC => {
                let mad = call.input.get(DATA..DATA + MAD);
                let mad = mad.ok_or(Status::BadInputLength)?;
                if let Some(place) = reply.0.get_mut(DATA..DATA + MAD) {
                    place.copy_from_slice(mad);
                }
                put_byte(&mut reply.0, DATA + 3, METHOD_RESPONSE);
            }
            _ => return Err(Status::BadOperation),
        }
        Ok(())
    }

    fn vport_context(&self, reply: &mut Reply) {
        let context = query_hca_vport_context_out::HCA_VPORT_CONTEXT.part_mut(&mut reply.0);
        let state = u64::from(port_state(self.port_up));
        // LinkUp or Polling (IBTA vol. 1, 14.2.5.6).
        let physical = if self.port_up { 5 } else { 2 };
        for (field, value) in [
            (hca_vport_context::PORT_STATE, state),
            (hca_vport_context::VPORT_STATE, state),
            (hca_vport_context::PORT_PHYSICAL_STATE, physical),
            (hca_vport_context::SYSTEM_IMAGE_GUID, NODE_GUID),
            (hca_vport_context::NODE_GUID, NODE_GUID),
            (hca_vport_context::PORT_GUID, PORT_GUID),
            (hca_vport_context::CAP_MASK1, 0x0250_0868),
            (hca_vport_context::LID, LID.into()),
            (hca_vport_context::SM_LID, LID.into()),
            (hca_vport_context::SUBNET_TIMEOUT, 18),
            (hca_vport_context::HAS_SMI, 1),
        ] {
            field.set(context, value);
        }
    }
}

/// What is written to a register is given back, save what the port knows itself.
fn access_register(call: &Call, reply: &mut Reply) -> Result {
    let from = call.input.get(DATA..).unwrap_or_default();
    let data = reply.0.get_mut(DATA..).unwrap_or_default();
    for (to, from) in data.iter_mut().zip(from) {
        *to = *from;
    }
    match call.get(access_register_in::REGISTER_ID) {
        register::HOST_ENDIANNESS => {}
        register::PTYS => {
            // 4X of EDR, of 1X and 4X.
            ptys_reg::IB_LINK_WIDTH_OPER.set(data, 2);
            ptys_reg::IB_PROTO_OPER.set(data, 0x20);
            ptys_reg::IB_LINK_WIDTH_CAPABILITY.set(data, 3);
        }
        register::PMTU => {
            // The largest, what is set, and what is used.
            for at in [4, 8, 12] {
                put_be16(data, at, MTU);
            }
        }
        register::PVLC => {
            for field in [
                pvlc_reg::VL_HW_CAP,
                pvlc_reg::VL_ADMIN,
                pvlc_reg::VL_OPERATIONAL,
            ] {
                // VL 0 to 7.
                field.set(data, 4);
            }
        }
        // Others, which report on hardware that there is not, have nothing to say.
        _ => {}
    }
    Ok(())
}
