// SPDX-License-Identifier: GPL-2.0

//! Queue pairs: changing them and asking for what they are.

use crate::{
    abi::qp::{
        ExModifyQp,
        ExModifyQpResp,
        ModifyQp,
        QpDest,
        QueryQp,
        QueryQpResp, //
    },
    bindings as b,
    dispatch::{
        Call,
        Command, //
    },
    object::{
        kinds::Qp,
        Right, //
    },
    rdma::{
        self,
        ah::{
            check_port,
            Path,
            Route, //
        },
        device::Live,
        qp::attr::Attrs, //
    },
    sys::num::{
        low,
        Signed,
        Unsigned, //
    },
};
use kernel::prelude::*;

pub(in crate::verbs) const COMMANDS: &[Command] = &[
    Command::new::<ModifyQp, ()>(
        b::ib_uverbs_write_cmds_IB_USER_VERBS_CMD_MODIFY_QP,
        |call| {
            let request: ModifyQp = call.request()?;
            check_mask(request.attr_mask, mask::STANDARD)?;
            modify(call, request, 0)
        },
    )
    .no_udata(),
    Command::extended(b::IB_USER_VERBS_EX_CMD_MODIFY_QP, |call| {
        let request: ExModifyQp = call.request()?;
        check_mask(request.base.attr_mask, mask::STANDARD | mask::RATE_LIMIT)?;
        modify(call, request.base, request.rate_limit)?;
        call.respond(&ExModifyQpResp {
            comp_mask: 0,
            response_length: call.response_length::<ExModifyQpResp>(),
        })
    }),
    Command::new::<QueryQp, QueryQpResp>(b::ib_uverbs_write_cmds_IB_USER_VERBS_CMD_QUERY_QP, query)
        .no_udata(),
];

/// `enum ib_qp_attr_mask`.
mod mask {
    use crate::bindings as b;
    pub(super) const STATE: u32 = b::ib_qp_attr_mask_IB_QP_STATE;
    pub(super) const CUR_STATE: u32 = b::ib_qp_attr_mask_IB_QP_CUR_STATE;
    pub(super) const EN_SQD_ASYNC_NOTIFY: u32 = b::ib_qp_attr_mask_IB_QP_EN_SQD_ASYNC_NOTIFY;
    pub(super) const ACCESS_FLAGS: u32 = b::ib_qp_attr_mask_IB_QP_ACCESS_FLAGS;
    pub(super) const PKEY_INDEX: u32 = b::ib_qp_attr_mask_IB_QP_PKEY_INDEX;
    pub(super) const PORT: u32 = b::ib_qp_attr_mask_IB_QP_PORT;
    pub(super) const QKEY: u32 = b::ib_qp_attr_mask_IB_QP_QKEY;
    pub(super) const AV: u32 = b::ib_qp_attr_mask_IB_QP_AV;
    pub(super) const PATH_MTU: u32 = b::ib_qp_attr_mask_IB_QP_PATH_MTU;
    pub(super) const TIMEOUT: u32 = b::ib_qp_attr_mask_IB_QP_TIMEOUT;
    pub(super) const RETRY_CNT: u32 = b::ib_qp_attr_mask_IB_QP_RETRY_CNT;
    pub(super) const RNR_RETRY: u32 = b::ib_qp_attr_mask_IB_QP_RNR_RETRY;
    pub(super) const RQ_PSN: u32 = b::ib_qp_attr_mask_IB_QP_RQ_PSN;
    pub(super) const MAX_QP_RD_ATOMIC: u32 = b::ib_qp_attr_mask_IB_QP_MAX_QP_RD_ATOMIC;
    pub(super) const ALT_PATH: u32 = b::ib_qp_attr_mask_IB_QP_ALT_PATH;
    pub(super) const MIN_RNR_TIMER: u32 = b::ib_qp_attr_mask_IB_QP_MIN_RNR_TIMER;
    pub(super) const SQ_PSN: u32 = b::ib_qp_attr_mask_IB_QP_SQ_PSN;
    pub(super) const MAX_DEST_RD_ATOMIC: u32 = b::ib_qp_attr_mask_IB_QP_MAX_DEST_RD_ATOMIC;
    pub(super) const PATH_MIG_STATE: u32 = b::ib_qp_attr_mask_IB_QP_PATH_MIG_STATE;
    pub(super) const DEST_QPN: u32 = b::ib_qp_attr_mask_IB_QP_DEST_QPN;
    pub(super) const RATE_LIMIT: u32 = b::ib_qp_attr_mask_IB_QP_RATE_LIMIT;
    /// Those that the plain command knows.
    pub(super) const STANDARD: u32 = b::ib_qp_attr_mask_IB_QP_ATTR_STANDARD_BITS;
}

/// A Q_Key with this bit is the privileged processes', IBTA 10.2.5.
const PRIVILEGED_QKEY: u32 = b::IB_QP_SET_QKEY;

fn check_mask(mask: u32, known: u32) -> Result {
    if mask & !known == 0 {
        Ok(())
    } else {
        Err(EOPNOTSUPP)
    }
}

/// Leaves out what a QP of one type ignores, and its driver would refuse.
fn relevant(kind: u32, mask: u32) -> u32 {
    match kind {
        b::ib_qp_type_IB_QPT_XRC_INI => mask & !(mask::MAX_DEST_RD_ATOMIC | mask::MIN_RNR_TIMER),
        b::ib_qp_type_IB_QPT_XRC_TGT => {
            mask & !(mask::MAX_QP_RD_ATOMIC | mask::RETRY_CNT | mask::RNR_RETRY)
        }
        _ => mask,
    }
}

fn modify(call: &mut Call<'_, '_>, request: ModifyQp, rate_limit: u32) -> Result {
    let qp = call.find::<Qp>(i64::from(request.qp_handle))?;
    let qp = qp.lock::<Qp>(Right::Modify)?;
    check_ports(call.live()?, &request)?;
    let request = with_port(request, qp.hw.port())?;
    check_states(&request)?;
    if request.attr_mask & mask::QKEY != 0
        && request.qkey & PRIVILEGED_QKEY != 0
        && !rdma::qp::may_use_privileged_qkey(call.live()?)
    {
        return Err(EPERM);
    }
    let relevant = relevant(qp.hw.kind(), request.attr_mask);
    let live = call.live()?;
    let mut attrs = attrs(&request, rate_limit);
    if request.attr_mask & mask::AV != 0 {
        attrs.set_path(live, request.dest.into());
    }
    if request.attr_mask & mask::ALT_PATH != 0 {
        attrs.set_alt_path(live, request.alt_dest.into());
    }
    qp.hw.modify(live, &mut attrs, relevant, call.bundle)
}

/// `EINVAL` for ports that the device has not, and for an alternate path that goes by another one
/// than its port.
fn check_ports(live: &Live<'_>, request: &ModifyQp) -> Result {
    let has = |bit| request.attr_mask & bit != 0;
    if has(mask::PORT) {
        check_port(live, request.port_num)?;
    }
    if has(mask::AV) {
        check_port(live, request.dest.port_num)?;
    }
    if has(mask::ALT_PATH) {
        check_port(live, request.alt_port_num)?;
        if request.alt_port_num != request.alt_dest.port_num {
            return Err(EINVAL);
        }
    }
    Ok(())
}

/// `EINVAL` for a primary path whose port is not the QP's.
///
/// On the way to RTR the port was set already, by the step before. In any other state in which it
/// can be changed the port goes with the path, also where user space does not say so.
fn with_port(mut request: ModifyQp, port: u32) -> Result<ModifyQp> {
    let has = |bit| request.attr_mask & bit != 0;
    if !has(mask::AV) {
        return Ok(request);
    }
    if has(mask::STATE) && u32::from(request.qp_state) == b::ib_qp_state_IB_QPS_RTR {
        if u32::from(request.dest.port_num) != port {
            return Err(EINVAL);
        }
    } else if !has(mask::PORT) {
        request.attr_mask |= mask::PORT;
        request.port_num = request.dest.port_num;
    } else if request.port_num != request.dest.port_num {
        return Err(EINVAL);
    }
    Ok(request)
}

/// `EINVAL` for what is no state.
fn check_states(request: &ModifyQp) -> Result {
    let is_bad = |bit: u32, state: u8| {
        request.attr_mask & bit != 0 && u32::from(state) > b::ib_qp_state_IB_QPS_ERR
    };
    if is_bad(mask::STATE, request.qp_state) || is_bad(mask::CUR_STATE, request.cur_qp_state) {
        return Err(EINVAL);
    }
    Ok(())
}

/// What the request's mask names, but for paths; all else is zero.
fn attrs(request: &ModifyQp, rate_limit: u32) -> Attrs {
    let mut attrs = Attrs::zeroed();
    let has = |bit| request.attr_mask & bit != 0;
    macro_rules! take {
        ($($bit:ident: $($field:ident),*;)*) => {$(
            if has(mask::$bit) {
                $(attrs.$field = request.$field.into();)*
            }
        )*}
    }
    take! {
        STATE: qp_state;
        CUR_STATE: cur_qp_state;
        PATH_MTU: path_mtu;
        PATH_MIG_STATE: path_mig_state;
        QKEY: qkey;
        RQ_PSN: rq_psn;
        SQ_PSN: sq_psn;
        DEST_QPN: dest_qp_num;
        PKEY_INDEX: pkey_index;
        EN_SQD_ASYNC_NOTIFY: en_sqd_async_notify;
        MAX_QP_RD_ATOMIC: max_rd_atomic;
        MAX_DEST_RD_ATOMIC: max_dest_rd_atomic;
        MIN_RNR_TIMER: min_rnr_timer;
        PORT: port_num;
        TIMEOUT: timeout;
        RETRY_CNT: retry_cnt;
        RNR_RETRY: rnr_retry;
        ALT_PATH: alt_port_num, alt_timeout, alt_pkey_index;
    }
    if has(mask::RATE_LIMIT) {
        attrs.rate_limit = rate_limit;
    }
    if has(mask::ACCESS_FLAGS) {
        attrs.qp_access_flags = request.qp_access_flags.to_signed();
    }
    attrs
}

impl From<QpDest> for Path {
    fn from(dest: QpDest) -> Self {
        let route = (dest.is_global != 0).then_some(Route {
            dgid: dest.dgid,
            flow_label: dest.flow_label,
            sgid_index: dest.sgid_index,
            hop_limit: dest.hop_limit,
            traffic_class: dest.traffic_class,
        });
        Self {
            dlid: u32::from(dest.dlid),
            sl: dest.sl,
            src_path_bits: dest.src_path_bits,
            static_rate: dest.static_rate,
            port_num: dest.port_num,
            route,
        }
    }
}

impl From<Path> for QpDest {
    /// The LID of a path is cut to what there is room for.
    fn from(path: Path) -> Self {
        let route = path.route.unwrap_or_default();
        Self {
            dgid: route.dgid,
            flow_label: route.flow_label,
            dlid: low::u16(path.dlid),
            reserved: 0,
            sgid_index: route.sgid_index,
            hop_limit: route.hop_limit,
            traffic_class: route.traffic_class,
            sl: path.sl,
            src_path_bits: path.src_path_bits,
            static_rate: path.static_rate,
            is_global: path.route.is_some().into(),
            port_num: path.port_num,
        }
    }
}

fn query(call: &mut Call<'_, '_>) -> Result {
    let request: QueryQp = call.request()?;
    let qp = call.find::<Qp>(i64::from(request.qp_handle))?;
    let mut attrs = Attrs::zeroed();
    let made = qp
        .lock::<Qp>(Right::Use)?
        .hw
        .query(call.live()?, request.attr_mask, &mut attrs)?;
    call.respond(&QueryQpResp {
        dest: attrs.path().into(),
        alt_dest: attrs.alt_path().into(),
        max_send_wr: made.caps.max_send_wr,
        max_recv_wr: made.caps.max_recv_wr,
        max_send_sge: made.caps.max_send_sge,
        max_recv_sge: made.caps.max_recv_sge,
        max_inline_data: made.caps.max_inline_data,
        qkey: attrs.qkey,
        rq_psn: attrs.rq_psn,
        sq_psn: attrs.sq_psn,
        dest_qp_num: attrs.dest_qp_num,
        qp_access_flags: attrs.qp_access_flags.to_unsigned(),
        pkey_index: attrs.pkey_index,
        alt_pkey_index: attrs.alt_pkey_index,
        qp_state: low::u8(attrs.qp_state),
        cur_qp_state: low::u8(attrs.cur_qp_state),
        path_mtu: low::u8(attrs.path_mtu),
        path_mig_state: low::u8(attrs.path_mig_state),
        sq_draining: attrs.sq_draining,
        max_rd_atomic: attrs.max_rd_atomic,
        max_dest_rd_atomic: attrs.max_dest_rd_atomic,
        min_rnr_timer: attrs.min_rnr_timer,
        port_num: low::u8(attrs.port_num),
        timeout: attrs.timeout,
        retry_cnt: attrs.retry_cnt,
        rnr_retry: attrs.rnr_retry,
        alt_port_num: low::u8(attrs.alt_port_num),
        alt_timeout: attrs.alt_timeout,
        sq_sig_all: made.signal_all.into(),
        reserved: [0; 5],
    })
}

#[kunit_tests(shverbs_qp_modify)]
mod tests {
    use super::*;
    use zerocopy::FromZeros;

    fn request(mask: u32) -> ModifyQp {
        let mut request = ModifyQp::new_zeroed();
        request.attr_mask = mask;
        request.dest.port_num = 1;
        request
    }

    #[test]
    fn unknown_bits_are_refused() {
        assert!(check_mask(mask::STATE | mask::AV, mask::STANDARD).is_ok());
        assert_eq!(
            check_mask(mask::RATE_LIMIT, mask::STANDARD),
            Err(EOPNOTSUPP)
        );
        assert_eq!(
            check_mask(1 << 31, mask::STANDARD | mask::RATE_LIMIT),
            Err(EOPNOTSUPP)
        );
    }

    #[test]
    fn masks_are_those_of_the_type() {
        let all = mask::STANDARD;
        assert_eq!(relevant(b::ib_qp_type_IB_QPT_RC, all), all);
        assert_eq!(
            all & !relevant(b::ib_qp_type_IB_QPT_XRC_INI, all),
            mask::MAX_DEST_RD_ATOMIC | mask::MIN_RNR_TIMER
        );
        assert_eq!(
            all & !relevant(b::ib_qp_type_IB_QPT_XRC_TGT, all),
            mask::MAX_QP_RD_ATOMIC | mask::RETRY_CNT | mask::RNR_RETRY
        );
    }

    #[test]
    fn a_path_brings_its_port() -> Result {
        let made = with_port(request(mask::AV), 2)?;
        assert_eq!((made.attr_mask, made.port_num), (mask::AV | mask::PORT, 1));
        let mut other = request(mask::AV | mask::PORT);
        other.port_num = 2;
        assert_eq!(with_port(other, 1).err(), Some(EINVAL));
        assert_eq!(with_port(request(mask::STATE), 2)?.attr_mask, mask::STATE);
        Ok(())
    }

    #[test]
    fn to_rtr_the_port_is_the_qps() -> Result {
        let mut rtr = request(mask::AV | mask::STATE);
        rtr.qp_state = 2;
        assert_eq!(with_port(rtr, 2).err(), Some(EINVAL));
        assert_eq!(with_port(rtr, 1)?.attr_mask, mask::AV | mask::STATE);
        Ok(())
    }

    #[test]
    fn states_end_with_the_error_state() {
        let mut state = request(mask::STATE);
        state.qp_state = 6;
        assert!(check_states(&state).is_ok());
        state.qp_state = 7;
        assert_eq!(check_states(&state), Err(EINVAL));
        state.attr_mask = mask::CUR_STATE;
        assert!(check_states(&state).is_ok());
    }

    #[test]
    fn what_the_mask_does_not_name_is_zero() {
        let mut request = request(mask::QKEY);
        request.qkey = 1;
        request.rq_psn = 2;
        let attrs = attrs(&request, 3);
        assert_eq!((attrs.qkey, attrs.rq_psn, attrs.rate_limit), (1, 0, 0));
        assert_eq!(attrs.ah_attr.port_num, 0);
    }
}
