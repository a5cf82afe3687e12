// SPDX-License-Identifier: GPL-2.0

//! Event queues, completion queues and shared receive queues.

use super::{Call, Reply, Result, Status};
use crate::cq::Cq;
use crate::event::Eq;
use crate::hca::Hca;
use crate::ifc::{
    arm_rq_in, arm_xrc_srq_in, create_cq_in, create_cq_out, create_eq_in, create_eq_out,
    create_rmp_in, create_rmp_out, create_xrc_srq_in, create_xrc_srq_out, destroy_cq_in,
    destroy_eq_in, destroy_rmp_in, destroy_xrc_srq_in, modify_cq_in, modify_rmp_in, op,
    query_rmp_in, query_rmp_out, query_xrc_srq_in, query_xrc_srq_out, rmpc, wq, xrc_srqc,
};
use crate::qp::Receives;
use crate::srq::Srq;
use bus::Bus;

/// MODIFY_CQ with this modifier gives another ring.
const RESIZE: u16 = 1;

impl Hca {
    pub(super) fn queue_command(
        &mut self,
        bus: &mut Bus,
        call: &Call,
        reply: &mut Reply,
    ) -> Result {
        match call.opcode {
            op::CREATE_EQ => {
                long_enough(call, create_eq_in::BYTES)?;
                let eqn = self.eqs.insert(call.uid, Eq::parse(&call.input))?;
                reply.set(create_eq_out::EQ_NUMBER, eqn);
            }
            op::DESTROY_EQ => {
                let eqn = call.get(destroy_eq_in::EQ_NUMBER);
                self.eqs.check(eqn, call.uid)?;
                self.not_used(self.cqs.iter().any(|(_, cq)| cq.eqn == eqn))?;
                self.eqs.remove(eqn, call.uid)?;
            }
            op::CREATE_CQ => {
                long_enough(call, create_cq_in::BYTES)?;
                let cq = Cq::parse(&call.input);
                // Event queues are the driver's, whoever makes the CQ.
                self.eqs.check(cq.eqn, 0)?;
                let cqn = self.cqs.insert(call.uid, cq)?;
                reply.set(create_cq_out::CQN, cqn);
            }
            op::MODIFY_CQ => {
                let cqn = call.get(modify_cq_in::CQN);
                self.cqs.check(cqn, call.uid)?;
                // Else it is moderation: there is nothing to moderate.
                if call.modifier == RESIZE {
                    long_enough(call, modify_cq_in::BYTES)?;
                    self.resize_cq(bus, cqn, &call.input);
                }
            }
            op::DESTROY_CQ => {
                let cqn = call.get(destroy_cq_in::CQN);
                self.cqs.check(cqn, call.uid)?;
                self.not_used(self.has_users(cqn))?;
                self.cqs.remove(cqn, call.uid)?;
            }
            _ => return self.srq_command(call, reply),
        }
        Ok(())
    }

    fn has_users(&self, cqn: u32) -> bool {
        self.qps
            .iter()
            .any(|(_, qp)| qp.send_cq() == cqn || qp.receive_cq() == cqn)
    }

    fn srq_command(&mut self, call: &Call, reply: &mut Reply) -> Result {
        match call.opcode {
            op::CREATE_RMP => {
                long_enough(call, create_rmp_in::BYTES)?;
                let srq = Srq::parse_rmp(&call.input);
                self.pds.check(srq.domain(), call.uid)?;
                reply.set(create_rmp_out::RMPN, self.srqs.insert(call.uid, srq)?);
            }
            op::CREATE_XRC_SRQ => {
                long_enough(call, create_xrc_srq_in::BYTES)?;
                let srq = Srq::parse_xrc(&call.input);
                // One for XRC is the driver's, whoever's its domain is.
                self.pds.queried(srq.domain(), call.uid)?;
                let srqn = self.srqs.insert(call.uid, srq)?;
                reply.set(create_xrc_srq_out::XRC_SRQN, srqn);
            }
            op::DESTROY_RMP => self.destroy_srq(call.get(destroy_rmp_in::RMPN), call)?,
            op::DESTROY_XRC_SRQ => {
                self.destroy_srq(call.get(destroy_xrc_srq_in::XRC_SRQN), call)?;
            }
            op::MODIFY_RMP => {
                let queue = rmpc::WQ.part(modify_rmp_in::CTX.part(&call.input));
                let limit = wq::LWM.get32(queue);
                self.set_limit(call.get(modify_rmp_in::RMPN), call, limit)?;
            }
            op::QUERY_RMP => {
                let srq = self.srqs.queried(call.get(query_rmp_in::RMPN), call.uid)?;
                let context = query_rmp_out::RMP_CONTEXT.part_mut(&mut reply.0);
                wq::LWM.set(rmpc::WQ.part_mut(context), srq.limit.into());
            }
            op::QUERY_XRC_SRQ => {
                let srqn = call.get(query_xrc_srq_in::XRC_SRQN);
                let srq = self.srqs.queried(srqn, call.uid)?;
                let context = query_xrc_srq_out::XRC_SRQ_CONTEXT_ENTRY.part_mut(&mut reply.0);
                xrc_srqc::LWM.set(context, srq.limit.into());
            }
            op::ARM_RQ => {
                let limit = call.get(arm_rq_in::LWM);
                self.set_limit(call.get(arm_rq_in::SRQ_NUMBER), call, limit)?;
            }
            op::ARM_XRC_SRQ => {
                let limit = call.get(arm_xrc_srq_in::LWM);
                self.set_limit(call.get(arm_xrc_srq_in::XRC_SRQN), call, limit)?;
            }
            _ => return Err(Status::BadOperation),
        }
        Ok(())
    }

    fn destroy_srq(&mut self, srqn: u32, call: &Call) -> Result {
        self.srqs.check(srqn, call.uid)?;
        let user = Receives::Shared(srqn);
        self.not_used(self.qps.iter().any(|(_, qp)| qp.receives_from() == user))?;
        self.srqs.remove(srqn, call.uid).map(drop)
    }

    fn set_limit(&mut self, srqn: u32, call: &Call, limit: u32) -> Result {
        let limit = u16::try_from(limit).map_err(|_| Status::ExceedsLimit)?;
        self.srqs.named(srqn, call.uid)?.limit = limit;
        Ok(())
    }
}

fn long_enough(call: &Call, bytes: usize) -> Result {
    if call.input.len() < bytes {
        return Err(Status::BadInputLength);
    }
    Ok(())
}
