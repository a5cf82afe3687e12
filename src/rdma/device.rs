// SPDX-License-Identifier: GPL-2.0

//! `struct ib_uverbs_device`: the character device of one `ib_device`, and whether that is still
//! there.

use super::ufile::UFile;
use crate::{
    bindings,
    sys::{
        chrdev::DevNum,
        net::Namespace, //
    },
};
use core::{
    mem::offset_of,
    ops::Deref,
    ptr::{
        self,
        NonNull, //
    },
};
use kernel::{
    device,
    error::to_result,
    prelude::*,
    sync::{
        aref::{
            ARef,
            AlwaysRefCounted, //
        },
        atomic::{
            Acquire,
            Atomic,
            Full,
            Relaxed,
            Release, //
        },
        srcu,
        static_lock_class,
        Srcu, //
    },
    types::Opaque, //
};

/// What a device's users keep with it.
pub(crate) trait DeviceData: Sized + Send + Sync + 'static {
    /// The operations of the character device.
    fn fops(can_mmap: bool) -> &'static bindings::file_operations;

    /// The class of the character device.
    fn class() -> &'static bindings::class;
}

/// The C structure that drivers see, and ours behind it. Counted by `raw.dev`.
///
/// # Invariants
///
/// `raw` is an initialised `ib_uverbs_device`, whose `ib_dev` is null or valid for as long as a
/// reader of `disassociate_srcu` that found it there.
#[pin_data(PinnedDrop)]
#[repr(C)]
pub(crate) struct UDevice<T: DeviceData> {
    #[pin]
    raw: Opaque<bindings::ib_uverbs_device>,
    #[pin]
    data: T,
}

// SAFETY: What is behind `raw` is guarded by locks of its own, and `T` is `Send`.
unsafe impl<T: DeviceData> Send for UDevice<T> {}
// SAFETY: What is behind `raw` is guarded by locks of its own, and `T` is `Sync`.
unsafe impl<T: DeviceData> Sync for UDevice<T> {}

// SAFETY: `get_device()` keeps the structure until `class::dev_release`.
unsafe impl<T: DeviceData> AlwaysRefCounted for UDevice<T> {
    fn inc_ref(&self) {
        // SAFETY: Initialised, by the type's invariant.
        unsafe { bindings::get_device(self.as_dev()) };
    }

    unsafe fn dec_ref(obj: NonNull<Self>) {
        // SAFETY: The caller owns a reference.
        unsafe { bindings::put_device(obj.as_ref().as_dev()) };
    }
}

impl<T: DeviceData> Deref for UDevice<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.data
    }
}

/// Device structures that exist: the class must not go, nor this module's text, before they do.
static EXISTING: Atomic<u32> = Atomic::new(0);

/// How many device structures exist.
pub(crate) fn existing() -> u32 {
    EXISTING.load(Acquire)
}

impl<T: DeviceData> UDevice<T> {
    /// Makes the character device of `ib` visible.
    ///
    /// # Safety
    ///
    /// `ib` must be valid until [`UDevice::disappear`] and, if that asks for it,
    /// [`UDevice::disassociate`] or [`UDevice::wait_for_files`] have returned.
    pub(crate) unsafe fn register(
        ib: NonNull<bindings::ib_device>,
        num: &DevNum,
        data: impl PinInit<T, Error>,
    ) -> Result<ARef<Self>> {
        let init = try_pin_init!(Self {
            // SAFETY: By this function's contract.
            raw <- Opaque::try_ffi_init(|slot| unsafe { init_raw(slot, ib) }),
            data <- data,
        }? Error);
        let this = KBox::pin_init(init, GFP_KERNEL)?;
        EXISTING.fetch_add(1, Relaxed);
        // SAFETY: `adopt` counts on the box staying where it is, as a pinned one does.
        let this = unsafe { Self::adopt(KBox::into_raw(Pin::into_inner_unchecked(this)), ib, num) };
        let dev = this.as_dev();
        // SAFETY: Initialised; the format takes one number.
        to_result(unsafe { bindings::dev_set_name(dev, c"uverbs%u".as_char_ptr(), num.index()) })?;
        // SAFETY: By this function's contract.
        let fops = T::fops(unsafe { (*ib.as_ptr()).ops.mmap }.is_some());
        // SAFETY: In bounds; the table is static.
        unsafe { bindings::cdev_init(&raw mut (*this.raw.get()).cdev, ptr::from_ref(fops)) };
        // SAFETY: In bounds, and not visible to anybody yet.
        unsafe { (*this.raw.get()).cdev.owner = fops.owner };
        // SAFETY: Both are initialised, and `cdev_device_del` comes before the last reference goes.
        to_result(unsafe { bindings::cdev_device_add(&raw mut (*this.raw.get()).cdev, dev) })?;
        Ok(this)
    }

    /// Hands the structure over to the reference count of its `struct device`.
    ///
    /// # Safety
    ///
    /// `this` must come from a pinned `KBox`, and `ib` be valid.
    unsafe fn adopt(this: *mut Self, ib: NonNull<bindings::ib_device>, num: &DevNum) -> ARef<Self> {
        // SAFETY: Valid, by this function's contract.
        let raw = unsafe { (*this).raw.get() };
        // SAFETY: `ib` is valid; the union's only use is that of its device.
        let parent = unsafe {
            (*(&raw mut (*ib.as_ptr()).__bindgen_anon_1.dev).cast::<bindings::device>()).parent
        };
        // SAFETY: `raw` is ours until `cdev_device_add`.
        unsafe {
            bindings::device_initialize(&raw mut (*raw).dev);
            (*raw).dev.class = ptr::from_ref(T::class());
            (*raw).dev.parent = parent;
            (*raw).dev.devt = num.devt();
        }
        // SAFETY: `device_initialize` made the count one, and that one is ours.
        unsafe { ARef::from_raw(NonNull::new_unchecked(this)) }
    }

    /// `class::dev_release` of [`DeviceData::class`].
    ///
    /// # Safety
    ///
    /// `dev` must be the `raw.dev` of a `UDevice<T>` whose count has gone to zero.
    pub(crate) unsafe extern "C" fn release(dev: *mut bindings::device) {
        // SAFETY: The last reference is gone; made by `KBox::into_raw` in `register`.
        drop(unsafe { KBox::from_raw(Self::container_of_dev(dev)) });
        EXISTING.fetch_sub(1, Release);
    }

    /// Stops new opens: the character device, its name and number are gone.
    pub(crate) fn disappear(&self) {
        // SAFETY: Added in `register`, and removed here only, by the one `remove` of the client.
        unsafe { bindings::cdev_device_del(&raw mut (*self.raw.get()).cdev, self.as_dev()) };
    }

    /// Makes every later [`UDevice::live`] fail, and waits until no [`Live`] of an earlier one is
    /// left. What is returned is then the only access to the hardware.
    ///
    /// # Safety
    ///
    /// The `ib_device` must stay valid as long as what is returned.
    pub(crate) unsafe fn disassociate(&self) -> Option<Live<'_>> {
        let raw = self.raw.get();
        // SAFETY: Initialised, by the type's invariant.
        let ib = unsafe { ib_dev_of(raw) }.xchg(ptr::null_mut(), Full);
        // SAFETY: As above.
        unsafe { srcu_of(raw) }.synchronize();
        let ib = NonNull::new(ib)?;
        Some(Live { ib, _guard: None })
    }

    /// Drops the first count of open files, and waits until the others are gone if `wait`.
    pub(crate) fn wait_for_files(&self, wait: bool) {
        let raw = self.raw.get();
        // SAFETY: `refcount` and `comp` are initialised, and this count is the one of `init_raw`.
        unsafe {
            if bindings::refcount_dec_and_test(&raw mut (*raw).refcount) {
                bindings::complete(&raw mut (*raw).comp);
            }
            if wait {
                bindings::wait_for_completion(&raw mut (*raw).comp);
            }
        }
    }

    /// The device, which cannot go before the result is dropped; `EIO` if it has gone.
    pub(crate) fn live(&self) -> Result<Live<'_>> {
        // SAFETY: Initialised, by the type's invariant.
        unsafe { live_of(self.raw.get()) }
    }

    pub(crate) fn as_raw(&self) -> *mut bindings::ib_uverbs_device {
        self.raw.get()
    }

    pub(crate) fn as_dev(&self) -> *mut bindings::device {
        // SAFETY: In bounds.
        unsafe { &raw mut (*self.raw.get()).dev }
    }

    /// For messages.
    pub(crate) fn dev(&self) -> &device::Device {
        // SAFETY: Initialised, and valid as long as `self`.
        unsafe { device::Device::from_raw(self.as_dev()) }
    }

    fn container_of_dev(dev: *mut bindings::device) -> *mut Self {
        let offset = offset_of!(Self, raw) + offset_of!(bindings::ib_uverbs_device, dev);
        dev.cast::<u8>().wrapping_sub(offset).cast()
    }

    /// # Safety
    ///
    /// `dev` must be the device of a `UDevice<T>` that outlives `'a`.
    pub(crate) unsafe fn from_dev<'a>(dev: *mut bindings::device) -> &'a Self {
        // SAFETY: By this function's contract.
        unsafe { &*Self::container_of_dev(dev) }
    }

    /// # Safety
    ///
    /// `cdev` must be the cdev of a `UDevice<T>` that outlives `'a`.
    pub(crate) unsafe fn from_cdev<'a>(cdev: *mut bindings::cdev) -> &'a Self {
        let offset = offset_of!(Self, raw) + offset_of!(bindings::ib_uverbs_device, cdev);
        // SAFETY: By this function's contract.
        unsafe { &*cdev.cast::<u8>().wrapping_sub(offset).cast::<Self>() }
    }
}

#[pinned_drop]
impl<T: DeviceData> PinnedDrop for UDevice<T> {
    fn drop(self: Pin<&mut Self>) {
        // SAFETY: Initialised in `init_raw`, pinned, and not used again.
        unsafe {
            ptr::drop_in_place((&raw mut (*self.raw.get()).disassociate_srcu).cast::<Srcu>())
        };
    }
}

/// # Safety
///
/// `slot` must be valid for writes and pinned, and `ib` be valid.
unsafe fn init_raw(
    slot: *mut bindings::ib_uverbs_device,
    ib: NonNull<bindings::ib_device>,
) -> Result {
    // SAFETY: By this function's contract; zeroes are a valid start for all of it.
    unsafe { slot.write_bytes(0, 1) };
    // SAFETY: As above; nobody else sees the structure yet.
    unsafe {
        (*slot).refcount.refs.counter = 1;
        (*slot).ib_dev = ib.as_ptr();
        (*slot).num_comp_vectors = (*ib.as_ptr()).num_comp_vectors.unsigned_abs();
        bindings::init_completion(&raw mut (*slot).comp);
        bindings::INIT_LIST_HEAD(&raw mut (*slot).uverbs_file_list);
        bindings::__mutex_init(
            &raw mut (*slot).lists_mutex,
            c"lists_mutex".as_char_ptr(),
            static_lock_class!().as_ptr(),
        );
        bindings::__mutex_init(
            &raw mut (*slot).xrcd_tree_mutex,
            c"xrcd_tree_mutex".as_char_ptr(),
            static_lock_class!().as_ptr(),
        );
    }
    let srcu = Srcu::new(c"disassociate_srcu", static_lock_class!());
    // SAFETY: `Srcu` is transparent over `srcu_struct`, and the slot is pinned.
    unsafe { srcu.__init((&raw mut (*slot).disassociate_srcu).cast()) }
}

/// # Safety
///
/// `raw` must be initialised, and stay so as long as the result.
unsafe fn ib_dev_of<'a>(
    raw: *mut bindings::ib_uverbs_device,
) -> &'a Atomic<*mut bindings::ib_device> {
    // SAFETY: By this function's contract, and accessed atomically once it is initialised.
    unsafe { Atomic::from_ptr((&raw mut (*raw).ib_dev).cast()) }
}

/// # Safety
///
/// `raw` must be initialised, and stay so as long as the result.
unsafe fn srcu_of<'a>(raw: *mut bindings::ib_uverbs_device) -> &'a Srcu {
    // SAFETY: Initialised in `init_raw` as an `Srcu`, which is transparent.
    unsafe { &*(&raw const (*raw).disassociate_srcu).cast::<Srcu>() }
}

/// # Safety
///
/// `raw` must be initialised, and stay so as long as the result.
unsafe fn live_of<'a>(raw: *mut bindings::ib_uverbs_device) -> Result<Live<'a>> {
    // SAFETY: By this function's contract.
    let guard = unsafe { srcu_of(raw) }.read_lock();
    // SAFETY: By this function's contract.
    let ib = unsafe { ib_dev_of(raw) }.load(Acquire);
    Ok(Live {
        ib: NonNull::new(ib).ok_or(EIO)?,
        _guard: Some(guard),
    })
}

/// As [`UDevice::live`], of a file's device.
pub(crate) fn live(ufile: &UFile) -> Result<Live<'_>> {
    // SAFETY: A file holds a reference on its device.
    unsafe { live_of(ufile.device()) }
}

/// Proof that an `ib_device` is there, and stays until this is dropped.
pub(crate) struct Live<'a> {
    ib: NonNull<bindings::ib_device>,
    /// None in the removal itself, which waited for all others.
    _guard: Option<srcu::Guard<'a>>,
}

impl Live<'_> {
    pub(crate) fn as_raw(&self) -> *mut bindings::ib_device {
        self.ib.as_ptr()
    }

    pub(crate) fn ops(&self) -> &bindings::ib_device_ops {
        // SAFETY: The device is valid, and its operations do not change once it is registered.
        unsafe { &(*self.ib.as_ptr()).ops }
    }

    pub(crate) fn driver_id(&self) -> u32 {
        self.ops().driver_id
    }

    /// Whether the device takes a plain command of `enum ib_uverbs_write_cmds`.
    pub(crate) fn takes_command(&self, number: u32) -> bool {
        // SAFETY: The device is valid, and the mask does not change once it is registered.
        let mask = unsafe { (*self.ib.as_ptr()).uverbs_cmd_mask };
        1u64.checked_shl(number).is_some_and(|bit| mask & bit != 0)
    }

    /// The device's properties, as the driver gave them at registration.
    pub(crate) fn attrs(&self) -> &bindings::ib_device_attr {
        // SAFETY: The device is valid, and its attributes do not change once it is registered.
        unsafe { &(*self.ib.as_ptr()).attrs }
    }

    pub(crate) fn node_guid(&self) -> u64 {
        // SAFETY: The device is valid; a number that user space may see torn, as in `ib_uverbs`.
        unsafe { ptr::read_volatile(&raw const (*self.ib.as_ptr()).node_guid) }
    }

    pub(crate) fn phys_port_cnt(&self) -> u32 {
        // SAFETY: The device is valid, and its number of ports does not change.
        unsafe { (*self.ib.as_ptr()).phys_port_cnt }
    }

    pub(crate) fn num_comp_vectors(&self) -> u32 {
        // SAFETY: The device is valid, and the number does not change.
        unsafe { (*self.ib.as_ptr()).num_comp_vectors }.unsigned_abs()
    }

    /// Whether DMA goes through bounce buffers of a confidential guest.
    pub(crate) fn cc_dma_bounce(&self) -> bool {
        // SAFETY: The device is valid, and the bit does not change once it is registered.
        unsafe { (*self.ib.as_ptr()).cc_dma_bounce() != 0 }
    }

    /// Whether the caller has `CAP_NET_RAW` over the device.
    pub(crate) fn has_raw_cap(&self) -> bool {
        // SAFETY: The device is valid.
        unsafe { bindings::rdma_dev_has_raw_cap(self.ib.as_ptr()) }
    }

    /// The name of the RDMA device, `rxe0`.
    pub(crate) fn name(&self) -> &CStr {
        // SAFETY: The device is valid; the union's only use is that of its device.
        let dev = unsafe { &raw mut (*self.ib.as_ptr()).__bindgen_anon_1.dev };
        // SAFETY: As above.
        let dev: &device::Device = unsafe { device::Device::from_raw(dev.cast()) };
        dev.name()
    }

    /// Whether a network namespace may see the device.
    pub(crate) fn accessible_from(&self, namespace: &Namespace) -> bool {
        // SAFETY: Both are valid.
        unsafe { bindings::rdma_dev_access_netns(self.ib.as_ptr(), namespace.as_ptr()) }
    }

    /// Whether the caller's network namespace may see the device.
    pub(crate) fn accessible(&self) -> bool {
        // SAFETY: The device is valid.
        unsafe { bindings::shverbs_dev_access_current(self.ib.as_ptr()) }
    }
}
