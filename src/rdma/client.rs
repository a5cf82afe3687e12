// SPDX-License-Identifier: GPL-2.0

//! The RDMA core's client named "uverbs", which is where libibverbs asks for character devices.

use super::device::{
    Live,
    UDevice, //
};
use crate::sys::num::Signed;
use crate::{
    bindings,
    rdma::device::DeviceData,
    sys::chrdev::DevNum, //
};
use core::{
    marker::PhantomData,
    ptr::{
        self,
        NonNull, //
    },
};
use kernel::{
    error::{
        from_result,
        to_result, //
    },
    prelude::*,
    sync::{
        aref::ARef,
        atomic::{
            Acquire,
            Atomic,
            Release, //
        }, //
    },
    types::Opaque, //
};

/// What is done with devices as they come and go.
pub(crate) trait Client: DeviceData {
    fn new() -> impl PinInit<Self, Error>;

    /// The device can be opened from here on.
    fn added(device: &UDevice<Self>) -> Result;

    /// Some device has another name.
    fn renamed();

    /// The device can no longer be opened, and its driver wants it back.
    fn removing(device: &UDevice<Self>);

    /// Nobody else has access to the hardware: destroys all that is left of it.
    fn destroy_all(device: &UDevice<Self>, live: &Live<'_>);
}

/// A registered `struct ib_client`.
///
/// # Invariants
///
/// `inner` is registered, and `CLIENT` points to it.
#[pin_data(PinnedDrop)]
pub(crate) struct Registration<T: Client> {
    #[pin]
    inner: Opaque<bindings::ib_client>,
    _devices: PhantomData<T>,
}

// SAFETY: A client may be unregistered from any task.
unsafe impl<T: Client> Send for Registration<T> {}
// SAFETY: There are no methods on `&self`.
unsafe impl<T: Client> Sync for Registration<T> {}

/// The client, for the core's calls that need it: `add` runs before registration has returned.
static CLIENT: Atomic<*mut bindings::ib_client> = Atomic::new(ptr::null_mut());

/// What the core keeps for us with each device.
struct Registered<T: Client> {
    device: ARef<UDevice<T>>,
    /// Free as soon as the device is gone, while the structure may stay with open files.
    _num: DevNum,
}

impl<T: Client> Registration<T> {
    pub(crate) fn new() -> impl PinInit<Self, Error> {
        try_pin_init!(Self {
            inner <- Opaque::try_ffi_init(move |slot: *mut bindings::ib_client| {
                let client = bindings::ib_client {
                    name: c"uverbs".as_char_ptr(),
                    add: Some(add::<T>),
                    remove: Some(remove::<T>),
                    rename: Some(rename::<T>),
                    get_nl_info: Some(get_nl_info::<T>),
                    // no_kverbs_req: user space works without kernel verbs.
                    _bitfield_1: bindings::ib_client::new_bitfield_1(1),
                    ..pin_init::zeroed()
                };
                // SAFETY: `slot` is valid for writes.
                unsafe { slot.write(client) };
                CLIENT.store(slot, Release);
                // SAFETY: `slot` is pinned, and unregistered in `drop`.
                to_result(unsafe { bindings::ib_register_client(slot) })
            }),
            _devices: PhantomData,
        }? Error)
    }
}

#[pinned_drop]
impl<T: Client> PinnedDrop for Registration<T> {
    fn drop(self: Pin<&mut Self>) {
        // SAFETY: Registered, by the type's invariant.
        unsafe { bindings::ib_unregister_client(self.inner.get()) };
    }
}

/// # Safety
///
/// For the RDMA core.
unsafe extern "C" fn add<T: Client>(ib: *mut bindings::ib_device) -> c_int {
    from_result(|| {
        let ib = NonNull::new(ib).ok_or(EINVAL)?;
        // SAFETY: The core passes a valid device.
        let (no_users, smi) = unsafe {
            let ib = ib.as_ptr();
            (
                (*ib).ops.alloc_ucontext.is_none(),
                (*ib).type_ == bindings::rdma_nl_dev_type_RDMA_DEVICE_TYPE_SMI,
            )
        };
        if no_users || smi {
            return Err(EOPNOTSUPP);
        }
        let num = DevNum::new()?;
        let room = KBox::<Registered<T>>::new_uninit(GFP_KERNEL)?;
        // SAFETY: The core keeps the device until `remove` has returned, which does what this asks.
        let device = unsafe { UDevice::register(ib, &num, T::new()) }?;
        if let Err(e) = T::added(&device) {
            // SAFETY: As above.
            unsafe { withdraw(&device) };
            return Err(e);
        }
        let this = KBox::write(room, Registered { device, _num: num });
        // SAFETY: The client is being registered; `remove` takes the data back.
        unsafe {
            bindings::ib_set_client_data(
                ib.as_ptr(),
                CLIENT.load(Acquire),
                KBox::into_raw(this).cast(),
            )
        };
        Ok(0)
    })
}

/// # Safety
///
/// For the RDMA core.
unsafe extern "C" fn remove<T: Client>(_ib: *mut bindings::ib_device, data: *mut c_void) {
    // SAFETY: From `add`, and the core calls this once.
    let this = unsafe { KBox::from_raw(data.cast::<Registered<T>>()) };
    // SAFETY: The core keeps the device until this returns.
    unsafe { withdraw(&this.device) };
}

/// # Safety
///
/// For the RDMA core.
unsafe extern "C" fn rename<T: Client>(_ib: *mut bindings::ib_device, _data: *mut c_void) {
    T::renamed();
}

/// Ends a device. Where its driver can take contexts back it does so at once; where not, it waits
/// until all files are closed.
///
/// # Safety
///
/// The `ib_device` must be valid until this returns.
unsafe fn withdraw<T: Client>(device: &ARef<UDevice<T>>) {
    device.disappear();
    T::removing(device);
    let wait = device
        .live()
        .is_ok_and(|live| live.ops().disassociate_ucontext.is_none());
    if wait {
        device.wait_for_files(true);
    }
    // SAFETY: By this function's contract.
    if let Some(live) = unsafe { device.disassociate() } {
        T::destroy_all(device, &live);
    }
    if !wait {
        device.wait_for_files(false);
    }
    dev_dbg!(device.dev(), "removed\n");
}

/// Tells netlink, and so libibverbs, which character device a device has.
///
/// # Safety
///
/// For the RDMA core.
unsafe extern "C" fn get_nl_info<T: Client>(
    ib: *mut bindings::ib_device,
    data: *mut c_void,
    res: *mut bindings::ib_client_nl_info,
) -> c_int {
    from_result(|| {
        // SAFETY: From `add`; the core does not call `remove` meanwhile.
        let this = unsafe { &*data.cast::<Registered<T>>() };
        // SAFETY: Valid for this call.
        let (ops, res) = unsafe { (&raw const (*ib).ops, &mut *res) };
        // One character device serves all ports.
        if res.port != u32::MAX {
            return Err(EINVAL);
        }
        // SAFETY: Valid for this call.
        let (abi, id, no_id) = unsafe {
            (
                (*ops).uverbs_abi_ver,
                (*ops).driver_id,
                (*ops).uverbs_no_driver_id_binding(),
            )
        };
        res.abi = u64::from(abi);
        res.cdev = this.device.as_dev();
        if no_id == 0 {
            let attr = bindings::rdma_nldev_attr_RDMA_NLDEV_ATTR_UVERBS_DRIVER_ID;
            // SAFETY: The message is valid for this call, and `nla_put` checks its room.
            to_result(unsafe {
                bindings::nla_put(
                    res.nl_msg.cast(),
                    attr.to_signed(),
                    size_of::<u32>() as c_int,
                    (&raw const id).cast(),
                )
            })?;
        }
        Ok(0)
    })
}

/// The device that the core keeps for `ib`; none if this client does not serve it.
///
/// # Safety
///
/// `ib` must be valid, and not be removed before `f` returns.
pub(crate) unsafe fn with_device<T: Client>(
    ib: *mut bindings::ib_device,
    f: impl FnOnce(&UDevice<T>),
) {
    // SAFETY: By this function's contract; the client exists as long as it has devices.
    let data = unsafe { bindings::shverbs_client_data(ib, CLIENT.load(Acquire)) };
    if !data.is_null() {
        // SAFETY: From `add`.
        f(unsafe { &(*data.cast::<Registered<T>>()).device });
    }
}
