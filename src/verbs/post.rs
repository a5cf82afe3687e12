// SPDX-License-Identifier: GPL-2.0

//! Posting work requests through the kernel: for drivers without rings that user space fills, and
//! for those that want their doorbell rung with a system call.

use crate::{
    abi::post::{
        AtomicWr,
        PostRecv,
        PostResp,
        PostSend,
        PostSrqRecv,
        RdmaWr,
        RecvWr,
        SendWr,
        UdWr, //
    },
    bindings as b,
    dispatch::{
        Call,
        Command, //
    },
    object::{
        kinds::{
            Ah,
            Qp,
            Srq, //
        },
        OpenFile,
        Right, //
    },
    rdma::{
        self,
        device::Live,
        work_request::{
            Posted,
            Receives,
            Send,
            Sends,
            Sge,
            Target, //
        }, //
    },
    sys::user::UserAddr, //
};
use kernel::prelude::*;
use zerocopy::{
    FromBytes,
    FromZeros,
    IntoBytes, //
};

pub(super) const COMMANDS: &[Command] = &[
    Command::new::<PostSend, PostResp>(b::ib_uverbs_write_cmds_IB_USER_VERBS_CMD_POST_SEND, send)
        .no_udata(),
    Command::new::<PostRecv, PostResp>(b::ib_uverbs_write_cmds_IB_USER_VERBS_CMD_POST_RECV, recv)
        .no_udata(),
    Command::new::<PostSrqRecv, PostResp>(
        b::ib_uverbs_write_cmds_IB_USER_VERBS_CMD_POST_SRQ_RECV,
        srq_recv,
    )
    .needs(|ops| ops.post_srq_recv.is_some())
    .no_udata(),
];

/// The largest work request that `ib_uverbs` has room for: what `kmalloc()` gives.
const MAX_WQE: usize = 4 << 20;

/// How a command's arrays lie behind its structure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shape {
    /// In bytes.
    wqe_size: usize,
    wr_count: usize,
    sge_count: usize,
    /// Where each begins, in bytes from the begin of the structure.
    wqes: usize,
    sges: usize,
    end: usize,
}

impl Shape {
    /// Of a command of `total` bytes, of which `head` are its structure. `ENOSPC` if the arrays
    /// are not all there.
    fn new(
        total: usize,
        head: usize,
        wqe_size: u32,
        wr_count: u32,
        sge_count: u32,
    ) -> Result<Self> {
        let number = |n: u32| usize::try_from(n).map_err(|_| ENOSPC);
        let behind = |at: usize, count: usize, size: usize| {
            let end = count
                .checked_mul(size)
                .and_then(|length| at.checked_add(length));
            end.filter(|&end| end <= total).ok_or(ENOSPC)
        };
        let (wqe_size, wr_count) = (number(wqe_size)?, number(wr_count)?);
        let sge_count = number(sge_count)?;
        let wqes = behind(head, 0, 0)?;
        let sges = behind(wqes, wr_count, wqe_size)?;
        let end = behind(sges, sge_count, size_of::<Sge>())?;
        Ok(Self {
            wqe_size,
            wr_count,
            sge_count,
            wqes,
            sges,
            end,
        })
    }

    /// `EINVAL` if a work request is shorter than `T`.
    fn check_wqe<T>(&self) -> Result {
        if self.wqe_size < size_of::<T>() {
            Err(EINVAL)
        } else {
            Ok(())
        }
    }

    /// As `ib_uverbs`, which copies each work request as a whole.
    fn check_memory(&self) -> Result {
        if self.wqe_size > MAX_WQE {
            Err(ENOMEM)
        } else {
            Ok(())
        }
    }
}

/// A command's arrays.
struct Arrays {
    at: UserAddr,
    shape: Shape,
}

impl Arrays {
    /// `EOPNOTSUPP` if something follows them.
    fn new(call: &Call<'_, '_>, shape: Shape) -> Result<Self> {
        let at = call.core_in.at;
        let rest = call.core_in.len.checked_sub(shape.end).ok_or(ENOSPC)?;
        // What cannot be read is not zero either.
        if !at.offset(shape.end)?.is_zero(rest).unwrap_or(false) {
            return Err(EOPNOTSUPP);
        }
        Ok(Self { at, shape })
    }

    /// What is known of each work request.
    fn requests<T: FromBytes + IntoBytes>(&self) -> Result<KVVec<T>> {
        let mut requests = KVVec::with_capacity(self.shape.wr_count, GFP_KERNEL)?;
        let mut at = self.at.offset(self.shape.wqes)?;
        for _ in 0..self.shape.wr_count {
            requests.push(at.read()?, GFP_KERNEL)?;
            at = at.offset(self.shape.wqe_size)?;
        }
        Ok(requests)
    }

    fn sges(&self) -> Result<KVVec<Sge>> {
        let mut sges = KVVec::from_elem(Sge::new_zeroed(), self.shape.sge_count, GFP_KERNEL)?;
        let at = self.at.offset(self.shape.sges)?;
        at.read_bytes(sges.as_mut_slice().as_mut_bytes())?;
        Ok(sges)
    }
}

/// The structure that a command begins with; what follows it is not its.
fn head<T: FromBytes + IntoBytes>(call: &Call<'_, '_>) -> Result<T> {
    if call.core_in.len < size_of::<T>() {
        return Err(ENOSPC);
    }
    call.core_in.at.read()
}

fn send(call: &mut Call<'_, '_>) -> Result {
    let request: PostSend = head(call)?;
    let shape = Shape::new(
        call.core_in.len,
        size_of::<PostSend>(),
        request.wqe_size,
        request.wr_count,
        request.sge_count,
    )?;
    let arrays = Arrays::new(call, shape)?;
    shape.check_wqe::<SendWr>()?;
    shape.check_memory()?;
    let qp = call.find::<Qp>(i64::from(request.qp_handle))?;
    let qp = qp.lock::<Qp>(Right::Use)?;
    let posted = if shape.wr_count == 0 {
        Posted {
            result: qp.hw.ring(call.live()?),
            bad: 0,
        }
    } else {
        post_sends(call, &qp.hw, &arrays)?
    };
    respond(call, posted)
}

/// [`send`] of a request without work requests, whose response nobody gets.
pub(crate) fn doorbell(live: &Live<'_>, file: &OpenFile, request: &PostSend) -> Result {
    let size = size_of::<PostSend>();
    let shape = Shape::new(
        size,
        size,
        request.wqe_size,
        request.wr_count,
        request.sge_count,
    )?;
    shape.check_wqe::<SendWr>()?;
    shape.check_memory()?;
    let qp = file.find::<Qp>(live, i64::from(request.qp_handle))?;
    let qp = qp.lock::<Qp>(Right::Use)?;
    qp.hw.ring(live)
}

fn respond(call: &Call<'_, '_>, posted: Posted) -> Result {
    call.respond(&PostResp { bad_wr: posted.bad })?;
    posted.result
}

fn post_sends(call: &Call<'_, '_>, qp: &rdma::qp::Qp, arrays: &Arrays) -> Result<Posted> {
    let is_ud = qp.kind() == b::ib_qp_type_IB_QPT_UD;
    let requests = arrays.requests::<SendWr>()?;
    let mut unused = arrays.shape.sge_count;
    // Address handles stay in use until the driver has copied what it needs.
    let mut found = KVVec::new();
    for request in &requests {
        unused = take_sges(unused, request.num_sge)?;
        check_opcode(is_ud, request.opcode)?;
        if is_ud {
            let ud: UdWr = operands(request)?;
            found.push(call.find::<Ah>(i64::from(ud.ah))?, GFP_KERNEL)?;
        }
    }
    let mut handles = KVVec::with_capacity(found.len(), GFP_KERNEL)?;
    for one in &found {
        handles.push(one.lock::<Ah>(Right::Use)?, GFP_KERNEL)?;
    }
    let mut sends = Sends::new(requests.len(), arrays.sges()?)?;
    let mut handles = handles.iter();
    for request in &requests {
        let target = if is_ud {
            let ud: UdWr = operands(request)?;
            Target::Datagram {
                ah: &handles.next().ok_or(EINVAL)?.hw,
                qpn: ud.remote_qpn,
                qkey: ud.remote_qkey,
            }
        } else {
            target(request)?
        };
        let send = Send {
            wr_id: request.wr_id,
            opcode: request.opcode,
            flags: request.send_flags,
            ex: if has_ex(request.opcode) {
                request.ex
            } else {
                0
            },
            target,
        };
        sends.push(&send, request.num_sge)?;
    }
    qp.post_send(call.live()?, sends)
}

/// `EINVAL` if fewer entries are left than `num_sge`.
fn take_sges(unused: usize, num_sge: u32) -> Result<usize> {
    let num_sge = usize::try_from(num_sge).map_err(|_| EINVAL)?;
    unused.checked_sub(num_sge).ok_or(EINVAL)
}

/// `EINVAL` for what user space cannot post through the kernel on a QP that is UD, or is not.
fn check_opcode(is_ud: bool, opcode: u32) -> Result {
    match opcode {
        b::ib_wr_opcode_IB_WR_SEND | b::ib_wr_opcode_IB_WR_SEND_WITH_IMM => Ok(()),
        b::ib_wr_opcode_IB_WR_SEND_WITH_INV
        | b::ib_wr_opcode_IB_WR_RDMA_WRITE
        | b::ib_wr_opcode_IB_WR_RDMA_WRITE_WITH_IMM
        | b::ib_wr_opcode_IB_WR_RDMA_READ
        | b::ib_wr_opcode_IB_WR_ATOMIC_CMP_AND_SWP
        | b::ib_wr_opcode_IB_WR_ATOMIC_FETCH_AND_ADD
            if !is_ud =>
        {
            Ok(())
        }
        _ => Err(EINVAL),
    }
}

/// Whether work requests with this opcode have immediate data, or a key to invalidate.
fn has_ex(opcode: u32) -> bool {
    matches!(
        opcode,
        b::ib_wr_opcode_IB_WR_SEND_WITH_IMM
            | b::ib_wr_opcode_IB_WR_RDMA_WRITE_WITH_IMM
            | b::ib_wr_opcode_IB_WR_SEND_WITH_INV
    )
}

/// The part of a work request that depends on its opcode.
fn operands<T: FromBytes>(request: &SendWr) -> Result<T> {
    match T::read_from_prefix(&request.wr) {
        Ok((operands, _)) => Ok(operands),
        Err(_) => Err(EINVAL),
    }
}

/// Where a work request of a QP that is not UD goes to.
fn target(request: &SendWr) -> Result<Target<'static>> {
    Ok(match request.opcode {
        b::ib_wr_opcode_IB_WR_RDMA_WRITE
        | b::ib_wr_opcode_IB_WR_RDMA_WRITE_WITH_IMM
        | b::ib_wr_opcode_IB_WR_RDMA_READ => {
            let rdma: RdmaWr = operands(request)?;
            Target::Memory {
                addr: rdma.remote_addr,
                rkey: rdma.rkey,
            }
        }
        b::ib_wr_opcode_IB_WR_ATOMIC_CMP_AND_SWP | b::ib_wr_opcode_IB_WR_ATOMIC_FETCH_AND_ADD => {
            let atomic: AtomicWr = operands(request)?;
            Target::Atomic {
                addr: atomic.remote_addr,
                compare_add: atomic.compare_add,
                swap: atomic.swap,
                rkey: atomic.rkey,
            }
        }
        _ => Target::Peer,
    })
}

fn recv(call: &mut Call<'_, '_>) -> Result {
    let request: PostRecv = head(call)?;
    let receives = receives(
        call,
        size_of::<PostRecv>(),
        request.wqe_size,
        request.wr_count,
        request.sge_count,
    )?;
    let qp = call.find::<Qp>(i64::from(request.qp_handle))?;
    let qp = qp.lock::<Qp>(Right::Use)?;
    let posted = qp.hw.post_recv(call.live()?, receives)?;
    respond(call, posted)
}

fn srq_recv(call: &mut Call<'_, '_>) -> Result {
    let request: PostSrqRecv = head(call)?;
    let receives = receives(
        call,
        size_of::<PostSrqRecv>(),
        request.wqe_size,
        request.wr_count,
        request.sge_count,
    )?;
    let srq = call.find::<Srq>(i64::from(request.srq_handle))?;
    let srq = srq.lock::<Srq>(Right::Use)?;
    let posted = srq.hw.post_recv(call.live()?, receives)?;
    respond(call, posted)
}

/// The places to receive into that follow the `head` bytes of a command.
fn receives(
    call: &Call<'_, '_>,
    head: usize,
    wqe_size: u32,
    wr_count: u32,
    sge_count: u32,
) -> Result<Receives> {
    // This comes first, unlike with sends.
    if usize::try_from(wqe_size).map_or(true, |size| size < size_of::<RecvWr>()) {
        return Err(EINVAL);
    }
    let shape = Shape::new(call.core_in.len, head, wqe_size, wr_count, sge_count)?;
    let arrays = Arrays::new(call, shape)?;
    shape.check_memory()?;
    let requests = arrays.requests::<RecvWr>()?;
    let mut receives = Receives::new(requests.len(), arrays.sges()?)?;
    for request in &requests {
        receives.push(request.wr_id, request.num_sge)?;
    }
    Ok(receives)
}

#[kunit_tests(shverbs_post)]
mod tests {
    use super::*;

    const HEAD: usize = size_of::<PostSend>();
    const WR: usize = size_of::<SendWr>();
    const SGE: usize = size_of::<Sge>();

    fn ends(
        total: usize,
        wqe_size: u32,
        wrs: u32,
        sges: u32,
    ) -> core::result::Result<usize, Error> {
        Shape::new(total, HEAD, wqe_size, wrs, sges).map(|shape| shape.end)
    }

    #[test]
    fn arrays_lie_one_behind_the_other() -> Result {
        let shape = Shape::new(HEAD + 2 * WR + 3 * SGE, HEAD, 56, 2, 3)?;
        assert_eq!((shape.wqes, shape.sges), (HEAD, HEAD + 2 * WR));
        assert_eq!(shape.end, HEAD + 2 * WR + 3 * SGE);
        Ok(())
    }

    #[test]
    fn arrays_are_inside_the_command() {
        assert_eq!(ends(HEAD, 56, 0, 0), Ok(HEAD));
        assert_eq!(ends(HEAD - 1, 56, 0, 0), Err(ENOSPC));
        assert_eq!(ends(HEAD + WR - 1, 56, 1, 0), Err(ENOSPC));
        assert_eq!(ends(HEAD + WR + SGE - 1, 56, 1, 1), Err(ENOSPC));
        assert_eq!(ends(HEAD + WR + SGE, 56, 1, 1), Ok(HEAD + WR + SGE));
    }

    #[test]
    fn sizes_do_not_overflow() {
        for count in [1 << 29, 1 << 31, u32::MAX] {
            for size in [1, 8, 1 << 31, u32::MAX] {
                assert_eq!(ends(HEAD + WR, size, count, 0), Err(ENOSPC));
                assert_eq!(ends(HEAD + WR, size, count, u32::MAX), Err(ENOSPC));
            }
        }
        assert_eq!(ends(HEAD + WR, 0, u32::MAX, u32::MAX), Err(ENOSPC));
        // No work requests of any size are nothing.
        assert_eq!(ends(HEAD, u32::MAX, 0, 0), Ok(HEAD));
    }

    #[test]
    fn work_requests_are_as_long_as_we_know_them() -> Result {
        let short = Shape::new(HEAD, HEAD, 55, 0, 0)?;
        assert_eq!(short.check_wqe::<SendWr>(), Err(EINVAL));
        assert_eq!(
            Shape::new(HEAD, HEAD, u32::MAX, 0, 0)?.check_memory(),
            Err(ENOMEM)
        );
        Shape::new(HEAD, HEAD, 56, 0, 0)?.check_wqe::<SendWr>()
    }

    #[test]
    fn entries_are_taken_once() {
        assert_eq!(take_sges(3, 2), Ok(1));
        assert_eq!(take_sges(1, 2), Err(EINVAL));
        assert_eq!(take_sges(1, u32::MAX), Err(EINVAL));
    }

    #[test]
    fn datagrams_are_only_sent() {
        assert!(check_opcode(true, b::ib_wr_opcode_IB_WR_SEND_WITH_IMM).is_ok());
        assert_eq!(
            check_opcode(true, b::ib_wr_opcode_IB_WR_RDMA_WRITE),
            Err(EINVAL)
        );
        assert_eq!(
            check_opcode(true, b::ib_wr_opcode_IB_WR_SEND_WITH_INV),
            Err(EINVAL)
        );
        assert!(check_opcode(false, b::ib_wr_opcode_IB_WR_SEND_WITH_INV).is_ok());
        assert_eq!(
            check_opcode(false, b::ib_wr_opcode_IB_WR_BIND_MW),
            Err(EINVAL)
        );
        assert_eq!(
            check_opcode(false, b::ib_wr_opcode_IB_WR_LOCAL_INV),
            Err(EINVAL)
        );
        assert_eq!(check_opcode(false, 99), Err(EINVAL));
    }
}
