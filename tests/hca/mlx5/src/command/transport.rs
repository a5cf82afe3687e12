// SPDX-License-Identifier: GPL-2.0

//! Queue pairs.

use super::{Call, Reply, Result, Status};
use crate::groups::Gid;
use crate::hca::Hca;
use crate::ifc::{
    attach_to_mcg_in, create_qp_in, create_qp_out, destroy_qp_in, init2rtr_qp_in, op, qpc,
    query_qp_in, query_qp_out,
};
use crate::qp::{Qp, Receives, Service};
use bus::Bus;

impl Hca {
    pub(super) fn transport_command(
        &mut self,
        bus: &mut Bus,
        call: &Call,
        reply: &mut Reply,
    ) -> Result {
        // All that change a QP have its number at the same place.
        let qpn = call.get(init2rtr_qp_in::QPN);
        match call.opcode {
            op::CREATE_QP => {
                let qpn = self.create_qp(call)?;
                reply.set(create_qp_out::QPN, qpn);
            }
            op::DESTROY_QP => {
                let qpn = call.get(destroy_qp_in::QPN);
                self.qps.check(qpn, call.uid)?;
                self.not_used(self.groups.has(qpn))?;
                self.qps.remove(qpn, call.uid)?;
            }
            op::QUERY_QP => {
                let qp = self.qps.queried(call.get(query_qp_in::QPN), call.uid)?;
                let context = query_qp_out::QPC.part_mut(&mut reply.0);
                if let Some(known) = qp.context.get(..context.len()) {
                    context.copy_from_slice(known);
                }
                qpc::STATE.set(context, qp.state as u64);
            }
            op::ATTACH_TO_MCG => {
                let qpn = call.get(attach_to_mcg_in::QPN);
                self.qps.check(qpn, call.uid)?;
                self.groups.attach(group(call)?, qpn);
            }
            op::DETACH_FROM_MCG => {
                let qpn = call.get(attach_to_mcg_in::QPN);
                self.qps.check(qpn, call.uid)?;
                if !self.groups.detach(&group(call)?, qpn) {
                    return Err(Status::BadParameter);
                }
            }
            op::TO_2RST_QP => self.qps.named(qpn, call.uid)?.reset(),
            op::TO_2ERR_QP => {
                self.qps.check(qpn, call.uid)?;
                self.qp_to_error(bus, qpn);
            }
            _ => {
                let new = init2rtr_qp_in::QPC.part(&call.input);
                let options = call.get(init2rtr_qp_in::OPT_PARAM_MASK);
                is_transition(call.opcode)?;
                if new.is_empty() {
                    return Err(Status::BadInputLength);
                }
                let qp = self.qps.named(qpn, call.uid)?;
                qp.modify(call.opcode, options, new)?;
                self.run_send_queue(bus, qpn);
            }
        }
        Ok(())
    }

    /// A QP refers to a domain, CQs and an SRQ of the context that makes it.
    fn create_qp(&mut self, call: &Call) -> std::result::Result<u32, Status> {
        if call.input.len() < create_qp_in::BYTES {
            return Err(Status::BadInputLength);
        }
        let qp = Qp::parse(&call.input);
        let service = qp.service().ok_or(Status::BadParameter)?;
        // A QP that only changes keys is in no domain.
        match service {
            Service::Registration => {}
            // An XRC initiator is the driver's, whoever's its domain is.
            Service::Extended => drop(self.pds.queried(qp.domain(), call.uid)?),
            _ => self.pds.check(qp.domain(), call.uid)?,
        }
        // Those of XRC and of special QPs that are not used are the driver's own.
        if matches!(
            service,
            Service::Reliable | Service::Unreliable | Service::Datagram
        ) {
            self.cqs.check(qp.send_cq(), call.uid)?;
            self.cqs.check(qp.receive_cq(), call.uid)?;
            if let Receives::Shared(srqn) = qp.receives_from() {
                self.srqs.check(srqn, call.uid)?;
            }
        }
        self.qps.insert(call.uid, qp)
    }
}

/// The group that a command names, at its end.
fn group(call: &Call) -> std::result::Result<Gid, Status> {
    let at = attach_to_mcg_in::BYTES - size_of::<Gid>();
    let gid = call.input.get(at..).and_then(|gid| gid.first_chunk());
    gid.copied().ok_or(Status::BadInputLength)
}

fn is_transition(opcode: u16) -> Result {
    match opcode {
        op::RST2INIT_QP | op::INIT2INIT_QP | op::INIT2RTR_QP | op::RTR2RTS_QP | op::RTS2RTS_QP => {
            Ok(())
        }
        _ => Err(Status::BadOperation),
    }
}
