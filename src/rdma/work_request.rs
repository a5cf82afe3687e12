// SPDX-License-Identifier: GPL-2.0

//! Work requests, and posting them.

use super::{
    ah::Ah,
    device::Live,
    qp::Qp,
    srq::Srq, //
};
use crate::{
    bindings,
    sys::num::Signed, //
};
use core::{
    marker::PhantomData,
    mem::{
        offset_of,
        ManuallyDrop, //
    },
    ptr,
};
use kernel::{
    error::to_result,
    prelude::*, //
};

/// A piece of local memory, `struct ib_sge`, which has the same layout for user space.
#[derive(
    Clone,
    Copy,
    zerocopy_derive::FromBytes,
    zerocopy_derive::IntoBytes,
    zerocopy_derive::KnownLayout,
)]
#[repr(C)]
pub(crate) struct Sge {
    addr: u64,
    length: u32,
    lkey: u32,
}

const _: () = {
    use bindings::ib_sge as Raw;
    assert!(size_of::<Sge>() == size_of::<Raw>());
    assert!(offset_of!(Sge, addr) == offset_of!(Raw, addr));
    assert!(offset_of!(Sge, length) == offset_of!(Raw, length));
    assert!(offset_of!(Sge, lkey) == offset_of!(Raw, lkey));
};

/// One thing to send.
pub(crate) struct Send<'a> {
    pub(crate) wr_id: u64,
    /// `enum ib_wr_opcode`.
    pub(crate) opcode: u32,
    /// `enum ib_send_flags`.
    pub(crate) flags: u32,
    /// Immediate data, or the key to invalidate, where the opcode has one.
    pub(crate) ex: u32,
    pub(crate) target: Target<'a>,
}

/// Where a work request goes to.
pub(crate) enum Target<'a> {
    /// The peer's receive queue.
    Peer,
    /// The peer's memory.
    Memory { addr: u64, rkey: u32 },
    /// Eight bytes of the peer's memory.
    Atomic {
        addr: u64,
        compare_add: u64,
        swap: u64,
        rkey: u32,
    },
    /// The receive queue of any peer.
    Datagram { ah: &'a Ah, qpn: u32, qkey: u32 },
}

/// A work request in a form that drivers know.
pub(crate) trait Request {
    fn num_sge(&self) -> usize;

    /// Lets it point to its `num_sge()` entries and to the request after it.
    fn link(&mut self, sges: *mut bindings::ib_sge, next: *mut Self);
}

/// Something to send as drivers know it. All begin with the same structure, whose opcode, with the
/// type of the QP, tells what follows.
#[repr(C)]
pub(crate) union SendRequest {
    plain: ManuallyDrop<bindings::ib_send_wr>,
    rdma: ManuallyDrop<bindings::ib_rdma_wr>,
    atomic: ManuallyDrop<bindings::ib_atomic_wr>,
    ud: ManuallyDrop<bindings::ib_ud_wr>,
}

const _: () = {
    assert!(offset_of!(bindings::ib_rdma_wr, wr) == 0);
    assert!(offset_of!(bindings::ib_atomic_wr, wr) == 0);
    assert!(offset_of!(bindings::ib_ud_wr, wr) == 0);
};

impl SendRequest {
    fn new(send: &Send<'_>, num_sge: c_int) -> Self {
        let wr = bindings::ib_send_wr {
            next: ptr::null_mut(),
            __bindgen_anon_1: bindings::ib_send_wr__bindgen_ty_1 {
                wr_id: ManuallyDrop::new(send.wr_id),
            },
            sg_list: ptr::null_mut(),
            num_sge,
            opcode: send.opcode,
            send_flags: send.flags.to_signed(),
            ex: bindings::ib_send_wr__bindgen_ty_2 {
                invalidate_rkey: ManuallyDrop::new(send.ex),
            },
        };
        match send.target {
            Target::Peer => Self {
                plain: ManuallyDrop::new(wr),
            },
            Target::Memory { addr, rkey } => Self {
                rdma: ManuallyDrop::new(bindings::ib_rdma_wr {
                    wr,
                    remote_addr: addr,
                    rkey,
                }),
            },
            Target::Atomic {
                addr,
                compare_add,
                swap,
                rkey,
            } => Self {
                atomic: ManuallyDrop::new(bindings::ib_atomic_wr {
                    wr,
                    remote_addr: addr,
                    compare_add,
                    swap,
                    compare_add_mask: 0,
                    swap_mask: 0,
                    rkey,
                }),
            },
            Target::Datagram { ah, qpn, qkey } => Self {
                ud: ManuallyDrop::new(bindings::ib_ud_wr {
                    wr,
                    ah: ah.as_raw(),
                    header: ptr::null_mut(),
                    hlen: 0,
                    mss: 0,
                    remote_qpn: qpn,
                    remote_qkey: qkey,
                    pkey_index: 0,
                    port_num: 0,
                }),
            },
        }
    }

    fn plain(&self) -> &bindings::ib_send_wr {
        // SAFETY: Each form begins with it, at the same place.
        unsafe { &self.plain }
    }

    fn plain_mut(&mut self) -> &mut bindings::ib_send_wr {
        // SAFETY: Each form begins with it, at the same place.
        unsafe { &mut self.plain }
    }
}

impl Request for SendRequest {
    fn num_sge(&self) -> usize {
        usize::try_from(self.plain().num_sge).unwrap_or(0)
    }

    fn link(&mut self, sges: *mut bindings::ib_sge, next: *mut Self) {
        let plain = self.plain_mut();
        plain.sg_list = sges;
        plain.next = next.cast();
    }
}

impl Request for bindings::ib_recv_wr {
    fn num_sge(&self) -> usize {
        usize::try_from(self.num_sge).unwrap_or(0)
    }

    fn link(&mut self, sges: *mut bindings::ib_sge, next: *mut Self) {
        self.sg_list = sges;
        self.next = next;
    }
}

/// Work requests in order, and the pieces of local memory of all of them. `'a` is how long what
/// they refer to stays.
///
/// # Invariants
///
/// The `requests` have `used` entries together, and there are at least as many `sges`.
pub(crate) struct List<'a, R> {
    requests: KVVec<R>,
    sges: KVVec<Sge>,
    used: usize,
    _refers_to: PhantomData<&'a ()>,
}

/// Things to send.
pub(crate) type Sends<'a> = List<'a, SendRequest>;

/// Places to receive into.
pub(crate) type Receives = List<'static, bindings::ib_recv_wr>;

/// What became of work requests.
pub(crate) struct Posted {
    pub(crate) result: Result,
    /// The place of the first that was not posted, counted from 1; 0 if all were.
    pub(crate) bad: u32,
}

impl<R: Request> List<'_, R> {
    /// Room for `count` work requests, whose entries are the `sges` in order.
    pub(crate) fn new(count: usize, sges: KVVec<Sge>) -> Result<Self> {
        // INVARIANT: No request, so no entries.
        Ok(Self {
            requests: KVVec::with_capacity(count, GFP_KERNEL)?,
            sges,
            used: 0,
            _refers_to: PhantomData,
        })
    }

    /// `EINVAL` if there are fewer entries left than the request has.
    fn push_raw(&mut self, request: R) -> Result {
        let used = self.used.checked_add(request.num_sge()).ok_or(EINVAL)?;
        if used > self.sges.len() {
            return Err(EINVAL);
        }
        self.requests.push(request, GFP_KERNEL)?;
        // INVARIANT: As checked just now.
        self.used = used;
        Ok(())
    }

    /// Links the requests to their entries and to each other. Null if there are none.
    fn link_all(&mut self) -> *mut R {
        let mut end = self.used;
        let mut next = ptr::null_mut();
        for request in self.requests.iter_mut().rev() {
            let count = request.num_sge();
            // By the type's invariant this does not wrap.
            end = end.saturating_sub(count);
            let sges = match self.sges.get_mut(end..) {
                Some(sges) if count != 0 => sges.as_mut_ptr().cast(),
                _ => ptr::null_mut(),
            };
            request.link(sges, next);
            next = ptr::from_mut(request);
        }
        next
    }

    fn posted(&self, ret: c_int, bad: *const R) -> Posted {
        let result = to_result(ret);
        let bad = match result {
            Ok(()) => 0,
            Err(_) => {
                let at = self.requests.iter().position(|r| ptr::eq(r, bad));
                at.map_or(self.requests.len(), |at| at.saturating_add(1))
            }
        };
        Posted {
            result,
            bad: u32::try_from(bad).unwrap_or(u32::MAX),
        }
    }
}

impl<'a> Sends<'a> {
    /// One more, with the next `num_sge` entries; `EINVAL` if there are not that many.
    pub(crate) fn push(&mut self, send: &Send<'a>, num_sge: u32) -> Result {
        let num_sge = c_int::try_from(num_sge).map_err(|_| EINVAL)?;
        self.push_raw(SendRequest::new(send, num_sge))
    }
}

impl Receives {
    /// As [`Sends::push`].
    pub(crate) fn push(&mut self, wr_id: u64, num_sge: u32) -> Result {
        self.push_raw(bindings::ib_recv_wr {
            next: ptr::null_mut(),
            __bindgen_anon_1: bindings::ib_recv_wr__bindgen_ty_1 {
                wr_id: ManuallyDrop::new(wr_id),
            },
            sg_list: ptr::null_mut(),
            num_sge: c_int::try_from(num_sge).map_err(|_| EINVAL)?,
        })
    }
}

impl Qp {
    /// Tells the driver to look for work in rings that user space fills: a doorbell.
    pub(crate) fn ring(&self, live: &Live<'_>) -> Result {
        // SAFETY: No work requests are valid ones.
        to_result(unsafe { self.post_send_raw(live, ptr::null_mut(), &mut ptr::null()) }?)
    }

    /// The requests that were posted are in the driver's rings, copied.
    pub(crate) fn post_send(&self, live: &Live<'_>, mut sends: Sends<'_>) -> Result<Posted> {
        let mut bad = ptr::null();
        // SAFETY: By the invariant of `List` a chain of work requests and their entries, of objects
        // that stay as long as `sends`.
        let ret = unsafe { self.post_send_raw(live, sends.link_all(), &mut bad) }?;
        Ok(sends.posted(ret, bad))
    }

    /// # Safety
    ///
    /// `first` must be null or the first of a valid chain that is of the QP's type.
    unsafe fn post_send_raw(
        &self,
        live: &Live<'_>,
        first: *mut SendRequest,
        bad: &mut *const SendRequest,
    ) -> Result<c_int> {
        let post = live.ops().post_send.ok_or(EOPNOTSUPP)?;
        // SAFETY: By this function's contract, and the type's invariant.
        Ok(unsafe { post(self.real(), first.cast(), ptr::from_mut(bad).cast()) })
    }

    /// As [`Qp::post_send`].
    pub(crate) fn post_recv(&self, live: &Live<'_>, mut receives: Receives) -> Result<Posted> {
        let post = live.ops().post_recv.ok_or(EOPNOTSUPP)?;
        let mut bad = ptr::null();
        // SAFETY: By the invariant of `List` a chain of work requests and their entries.
        let ret = unsafe { post(self.real(), receives.link_all(), &mut bad) };
        Ok(receives.posted(ret, bad))
    }
}

impl Srq {
    /// As [`Qp::post_send`].
    pub(crate) fn post_recv(&self, live: &Live<'_>, mut receives: Receives) -> Result<Posted> {
        let post = live.ops().post_srq_recv.ok_or(EOPNOTSUPP)?;
        let mut bad = ptr::null();
        // SAFETY: By the invariant of `List` a chain of work requests and their entries.
        let ret = unsafe { post(self.as_raw(), receives.link_all(), &mut bad) };
        Ok(receives.posted(ret, bad))
    }
}

#[kunit_tests(shverbs_work_request)]
mod tests {
    use super::*;

    fn sges(count: u64) -> Result<KVVec<Sge>> {
        let mut sges = KVVec::new();
        for addr in 0..count {
            sges.push(
                Sge {
                    addr,
                    length: 1,
                    lkey: 0,
                },
                GFP_KERNEL,
            )?;
        }
        Ok(sges)
    }

    #[test]
    fn requests_are_chained_to_their_entries() -> Result {
        let mut list = Receives::new(3, sges(3)?)?;
        list.push(7, 2)?;
        list.push(8, 0)?;
        list.push(9, 1)?;
        let first = list.link_all();
        let [a, b, c] = list.requests.as_slice() else {
            return Err(EINVAL);
        };
        assert!(ptr::eq(first, a) && ptr::eq(a.next, b) && ptr::eq(b.next, c));
        assert!(c.next.is_null() && b.sg_list.is_null());
        assert!(ptr::eq(a.sg_list.cast(), &list.sges[0]));
        assert!(ptr::eq(c.sg_list.cast(), &list.sges[2]));
        Ok(())
    }

    #[test]
    fn entries_are_not_used_twice() -> Result {
        let mut list = Receives::new(2, sges(2)?)?;
        assert_eq!(list.push(1, 3), Err(EINVAL));
        assert_eq!(list.push(1, u32::MAX), Err(EINVAL));
        list.push(1, 2)?;
        assert_eq!(list.push(2, 1), Err(EINVAL));
        list.push(2, 0)
    }

    #[test]
    fn no_requests_are_no_chain() -> Result {
        let mut list = Receives::new(0, sges(1)?)?;
        assert!(list.link_all().is_null());
        assert_eq!(list.posted(-22, ptr::null()).bad, 0);
        Ok(())
    }

    #[test]
    fn the_bad_one_is_counted_from_one() -> Result {
        let mut list = Receives::new(2, sges(0)?)?;
        list.push(1, 0)?;
        list.push(2, 0)?;
        let first: *const _ = list.link_all();
        assert_eq!(list.posted(0, first).bad, 0);
        assert_eq!(list.posted(-22, first).bad, 1);
        assert_eq!(list.posted(-22, ptr::null()).bad, 2);
        Ok(())
    }
}
