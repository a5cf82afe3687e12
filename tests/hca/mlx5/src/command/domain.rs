// SPDX-License-Identifier: GPL-2.0

//! What other things are made in: user contexts, protection and other domains,
//! doorbell pages; and memory keys.

use super::{Call, Reply, Result, Status};
use crate::hca::Hca;
use crate::ifc::{
    alloc_pd_out, alloc_transport_domain_out, alloc_uar_out, alloc_xrcd_out, create_mkey_in,
    create_mkey_out, create_uctx_out, dealloc_pd_in, dealloc_transport_domain_in, dealloc_uar_in,
    dealloc_xrcd_in, destroy_mkey_in, destroy_uctx_in, op,
};
use crate::memory::Mkey;
use crate::table::Uid;

impl Hca {
    pub(super) fn domain_command(&mut self, call: &Call, reply: &mut Reply) -> Result {
        let uid = call.uid;
        match call.opcode {
            op::CREATE_UCTX => {
                let made = self.uctxs.insert(0, ())?;
                reply.set(create_uctx_out::UID, made);
            }
            op::DESTROY_UCTX => self.destroy_uctx(call.get(destroy_uctx_in::UID))?,
            op::ALLOC_PD => reply.set(alloc_pd_out::PD, self.pds.insert(uid, ())?),
            op::DEALLOC_PD => {
                let pd = call.get(dealloc_pd_in::PD);
                self.pds.check(pd, uid)?;
                self.not_used(
                    self.qps.iter().any(|(_, qp)| qp.domain() == pd)
                        || self.srqs.iter().any(|(_, srq)| srq.domain() == pd),
                )?;
                self.pds.remove(pd, uid)?;
            }
            op::ALLOC_XRCD => reply.set(alloc_xrcd_out::XRCD, self.xrcds.insert(uid, ())?),
            op::DEALLOC_XRCD => {
                let xrcd = call.get(dealloc_xrcd_in::XRCD);
                self.xrcds.check(xrcd, uid)?;
                self.not_used(self.srqs.iter().any(|(_, srq)| srq.xrcd == Some(xrcd)))?;
                self.xrcds.remove(xrcd, uid)?;
            }
            op::ALLOC_TRANSPORT_DOMAIN => {
                let made = self.transport_domains.insert(uid, ())?;
                reply.set(alloc_transport_domain_out::TRANSPORT_DOMAIN, made);
            }
            op::DEALLOC_TRANSPORT_DOMAIN => {
                let domain = call.get(dealloc_transport_domain_in::TRANSPORT_DOMAIN);
                self.transport_domains.remove(domain, uid)?;
            }
            op::ALLOC_UAR => reply.set(alloc_uar_out::UAR, self.uars.insert(uid, ())?),
            op::DEALLOC_UAR => {
                let uar = call.get(dealloc_uar_in::UAR);
                self.uars.check(uar, uid)?;
                self.not_used(
                    self.qps.iter().any(|(_, qp)| qp.uar() == uar)
                        || self.cqs.iter().any(|(_, cq)| cq.uar == uar),
                )?;
                self.uars.remove(uar, uid)?;
            }
            op::CREATE_MKEY => {
                if call.input.len() < create_mkey_in::BYTES {
                    return Err(Status::BadInputLength);
                }
                let made = self.mkeys.insert(uid, Mkey::parse(&call.input))?;
                reply.set(create_mkey_out::MKEY_INDEX, made);
            }
            op::DESTROY_MKEY => {
                let index = call.get(destroy_mkey_in::MKEY_INDEX);
                self.mkeys.remove(index, uid)?;
            }
            _ => return Err(Status::BadOperation),
        }
        Ok(())
    }

    /// What others need does not go away before them.
    pub(super) fn not_used(&self, used: bool) -> Result {
        if used {
            return Err(Status::BadResourceState);
        }
        Ok(())
    }

    /// A context ends, if nothing of its own is left.
    fn destroy_uctx(&mut self, number: u32) -> Result {
        self.uctxs.check(number, 0)?;
        let uid = Uid::try_from(number).map_err(|_| Status::BadIndex)?;
        self.not_used(
            self.pds.any_of(uid)
                || self.uars.any_of(uid)
                || self.cqs.any_of(uid)
                || self.qps.any_of(uid)
                || self.srqs.any_of(uid)
                || self.transport_domains.any_of(uid),
        )?;
        self.uctxs.remove(number, 0)
    }
}
