// SPDX-License-Identifier: GPL-2.0

//! Ports and their GID tables.

use super::device::Live;
use crate::bindings;
use crate::sys::num::Unsigned;
use core::ptr::{
    self,
    NonNull, //
};
use kernel::{
    error::{
        from_err_ptr,
        to_result, //
    },
    prelude::*, //
};

/// What user space learns of a port, beside the driver's own attributes.
pub(crate) struct Port {
    pub(crate) attr: bindings::ib_port_attr,
    pub(crate) lid: u16,
    pub(crate) sm_lid: u16,
    pub(crate) grh_required: bool,
    pub(crate) link_layer: i32,
}

/// `EINVAL` if there is no such port, or the driver's error.
pub(crate) fn query(live: &Live<'_>, port: u32) -> Result<Port> {
    let ib = live.as_raw();
    let mut attr = bindings::ib_port_attr::default();
    // SAFETY: The device is valid; the core checks the port.
    to_result(unsafe { bindings::ib_query_port(ib, port, &mut attr) })?;
    // SAFETY: The device is valid, and has this port, as it could be queried.
    let (lid, sm_lid, grh_required, link_layer) = unsafe {
        (
            bindings::shverbs_lid_to_user(ib, port, attr.lid),
            bindings::shverbs_lid_to_user(ib, port, attr.sm_lid),
            bindings::shverbs_grh_required(ib, port),
            bindings::shverbs_port_link_layer(ib, port),
        )
    };
    Ok(Port {
        attr,
        lid,
        sm_lid,
        grh_required,
        link_layer,
    })
}

pub(crate) fn is_valid(live: &Live<'_>, port: u32) -> bool {
    // SAFETY: The device is valid.
    unsafe { bindings::shverbs_port_valid(live.as_raw(), port) }
}

/// In units of 100 Mb/s. `EOPNOTSUPP` if the driver does not tell.
pub(crate) fn speed(live: &Live<'_>, port: u32) -> Result<u64> {
    let query = live.ops().query_port_speed.ok_or(EOPNOTSUPP)?;
    let mut speed = 0;
    // SAFETY: The device is valid, and so is the port, which the caller has checked.
    to_result(unsafe { query(live.as_raw(), port, &mut speed) })?;
    Ok(speed)
}

/// Fills `entries` from the GID tables of all ports, and tells how many there were. `EINVAL` if
/// that cannot be done, or there is not enough room.
pub(crate) fn gid_table(
    live: &Live<'_>,
    entries: &mut [bindings::ib_uverbs_gid_entry],
) -> Result<usize> {
    // SAFETY: The device is valid, and there is room for so many entries.
    let n = unsafe {
        bindings::rdma_query_gid_table(live.as_raw(), entries.as_mut_ptr(), entries.len())
    };
    usize::try_from(n).map_err(|_| EINVAL)
}

/// One GID. Errors are those of `rdma_get_gid_attr()`.
pub(crate) fn gid_entry(
    live: &Live<'_>,
    port: u32,
    index: u32,
) -> Result<bindings::ib_uverbs_gid_entry> {
    let index = c_int::try_from(index).map_err(|_| EINVAL)?;
    // SAFETY: The device is valid, and so is the port, which the caller has checked or the core
    // does.
    let attr = unsafe { bindings::rdma_get_gid_attr(live.as_raw(), port, index) };
    let attr = from_err_ptr(attr.cast_mut())?;
    let attr = GidAttr(NonNull::new(attr).ok_or(EINVAL)?);
    attr.entry()
}

/// A reference on a GID.
struct GidAttr(NonNull<bindings::ib_gid_attr>);

impl GidAttr {
    fn entry(&self) -> Result<bindings::ib_uverbs_gid_entry> {
        let raw = self.0.as_ptr();
        let mut entry = bindings::ib_uverbs_gid_entry::default();
        // SAFETY: Counted; a GID does not change.
        unsafe {
            ptr::copy_nonoverlapping(
                (&raw const (*raw).gid).cast::<u8>(),
                (&raw mut entry.gid).cast::<u8>(),
                size_of_val(&entry.gid),
            );
            entry.gid_index = u32::from((*raw).index);
            entry.port_num = (*raw).port_num;
            entry.gid_type = (*raw).gid_type;
        }
        // SAFETY: Counted.
        let ifindex = unsafe { bindings::shverbs_gid_ifindex(raw) };
        to_result(ifindex.min(0))?;
        entry.netdev_ifindex = ifindex.to_unsigned();
        Ok(entry)
    }
}

impl Drop for GidAttr {
    fn drop(&mut self) {
        // SAFETY: From `rdma_get_gid_attr`.
        unsafe { bindings::rdma_put_gid_attr(self.0.as_ptr()) };
    }
}
