// SPDX-License-Identifier: GPL-2.0

//! Address handles.

use crate::{
    abi::ah::{
        AhAttr,
        CreateAh,
        CreateAhResp, //
    },
    bindings as b,
    dispatch::{
        Call,
        Command,
        Method, //
    },
    object::{
        kinds::{
            Ah,
            Pd, //
        },
        Right,
        Seat, //
    },
    rdma::{
        self,
        ah::{
            Path,
            Route, //
        }, //
    },
};
use kernel::prelude::*;

pub(super) const METHODS: &[Method] = &[Method::destroy::<Ah, HANDLE>(
    b::uverbs_methods_ah_UVERBS_METHOD_AH_DESTROY,
)];

pub(super) const COMMANDS: &[Command] = &[
    Command::new::<CreateAh, CreateAhResp>(
        b::ib_uverbs_write_cmds_IB_USER_VERBS_CMD_CREATE_AH,
        create,
    ),
    Command::destroy::<Ah>(b::ib_uverbs_write_cmds_IB_USER_VERBS_CMD_DESTROY_AH),
];

const HANDLE: u32 = b::uverbs_attrs_ah_destroy_ids_UVERBS_ATTR_DESTROY_AH_HANDLE;

impl From<AhAttr> for Path {
    fn from(attr: AhAttr) -> Self {
        let route = (attr.is_global != 0).then_some(Route {
            dgid: attr.grh.dgid,
            flow_label: attr.grh.flow_label,
            sgid_index: attr.grh.sgid_index,
            hop_limit: attr.grh.hop_limit,
            traffic_class: attr.grh.traffic_class,
        });
        Self {
            dlid: u32::from(attr.dlid),
            sl: attr.sl,
            src_path_bits: attr.src_path_bits,
            static_rate: attr.static_rate,
            port_num: attr.port_num,
            route,
        }
    }
}

fn create(call: &mut Call<'_, '_>) -> Result {
    let request: CreateAh = call.request()?;
    let handle = call.reserve(None)?;
    rdma::ah::check_port(call.live()?, request.attr.port_num)?;
    let pd = call.find::<Pd>(i64::from(request.pd_handle))?;
    let pd = pd.lock::<Pd>(Right::Use)?;
    let seat = Seat::new()?;
    let context = call.context()?.lock(call.live()?)?;
    let path = request.attr.into();
    let hw = rdma::ah::Ah::create(call.live()?, &context.borrow(), &pd.hw, path, call.bundle)?;
    let id = handle.id();
    call.create(handle, seat, Ah { hw, pd: pd.owner() })?;
    call.respond(&CreateAhResp { ah_handle: id })
}
