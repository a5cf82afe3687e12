// SPDX-License-Identifier: GPL-2.0

//! The table of handles: `ib_uverbs_file::idr`, and the `struct ib_uobject`s in it.
//!
//! A handle is a `struct ib_uobject` with a payload of ours behind it, in one allocation that C code
//! may look up, count and free, too: `ib_uverbs_support` does so for the objects that drivers define
//! themselves, which share the table. So the payload must be gone when the count goes to zero, and
//! it is: whoever takes a handle out of the table takes the payload first.
//!
//! The lock of a handle is its `usecnt`, in the way of `uverbs_try_lock_object()`: a positive number
//! of users, or -1 for one who excludes all. It is tried, and never waited for.

mod id;

use self::id::{
    erase_id,
    xa, //
};
use super::{
    ufile::UFile,
    uobject::{
        Room,
        Uobject, //
    }, //
};
use crate::bindings;
use crate::sys::num::Signed;
use crate::sys::num::Unsigned;
use core::{
    cell::UnsafeCell,
    ffi::c_void,
    marker::PhantomData,
    ptr::{
        self,
        NonNull, //
    },
};
use kernel::{
    prelude::*,
    sync::{
        atomic::{
            Acquire,
            Atomic,
            Relaxed,
            Release, //
        },
        rcu, //
    }, //
};

pub(crate) use self::id::NextId;

/// The types of handles of ours: in a `struct ib_uobject` the pointer to one of these tells what it
/// is, and that it is ours.
pub(crate) struct ApiObject(bindings::uverbs_api_object);

// SAFETY: Never written.
unsafe impl Sync for ApiObject {}

impl ApiObject {
    /// For objects of `id` of `enum uverbs_default_objects`.
    pub(crate) const fn new(id: u16) -> Self {
        Self(bindings::uverbs_api_object {
            type_class: &raw const bindings::uverbs_idr_class,
            id: id as u32,
            ..pin_init::zeroed()
        })
    }

    const fn as_raw(&'static self) -> *const bindings::uverbs_api_object {
        &raw const self.0
    }
}

/// The allocation behind a handle.
#[repr(C)]
struct Memory<P> {
    room: Room,
    payload: UnsafeCell<Option<P>>,
}

/// A counted handle.
///
/// # Invariants
///
/// Points to an initialised [`Memory<P>`] and owns one count of it. The payload is read only with
/// `usecnt` above zero, and written only with `usecnt` at -1.
pub(crate) struct Handle<P>(NonNull<Memory<P>>, PhantomData<P>);

impl<P> Handle<P> {
    /// # Safety
    ///
    /// `uobject` must be that of a [`Memory<P>`], of which the caller gives a count away.
    unsafe fn from_uobject(uobject: *mut bindings::ib_uobject) -> Self {
        // SAFETY: By this function's contract.
        let memory = unsafe { NonNull::new_unchecked(uobject.cast()) };
        // INVARIANT: By this function's contract.
        Self(memory, PhantomData)
    }

    fn usecnt(&self) -> &Atomic<i32> {
        // SAFETY: By the type's invariant, and accessed atomically only.
        unsafe { Atomic::from_ptr(&raw mut (*self.uobject()).usecnt.counter) }
    }

    fn uobject(&self) -> *mut bindings::ib_uobject {
        // At the beginning of the room.
        self.0.as_ptr().cast()
    }

    /// What it is a handle of; null while that is not known.
    fn api(&self) -> &Atomic<*mut bindings::uverbs_api_object> {
        // SAFETY: By the type's invariant, and written atomically only.
        unsafe { Atomic::from_ptr((&raw mut (*self.uobject()).uapi_object).cast()) }
    }

    fn payload(&self) -> *mut Option<P> {
        // SAFETY: By the type's invariant.
        unsafe { (*self.0.as_ptr()).payload.get() }
    }

    pub(crate) fn id(&self) -> u32 {
        // SAFETY: By the type's invariant; set before the handle is published.
        unsafe { (*self.uobject()).id }.to_unsigned()
    }

    /// Shares the payload; `EBUSY` while somebody excludes others.
    pub(crate) fn share(self) -> Result<SharedHandle<P>> {
        let mut users = self.usecnt().load(Relaxed);
        loop {
            let more = users.checked_add(1).filter(|&n| n > 0).ok_or(EBUSY)?;
            match self.usecnt().cmpxchg(users, more, Acquire) {
                // SAFETY: Counted just now, so nobody writes it.
                Ok(_) if unsafe { &*self.payload() }.is_some() => return Ok(SharedHandle(self)),
                Ok(_) => {
                    self.usecnt().fetch_sub(1, Release);
                    return Err(ENOENT);
                }
                Err(now) => users = now,
            }
        }
    }

    /// Takes the payload out, to be put back or dropped; `EBUSY` while anybody uses it.
    pub(crate) fn exclude(self) -> Result<(P, ExclusiveHandle<P>)> {
        if self.usecnt().cmpxchg(0, -1, Acquire).is_err() {
            return Err(EBUSY);
        }
        // SAFETY: Nobody else reads or writes it.
        let payload = unsafe { &mut *self.payload() }.take();
        let exclusive = ExclusiveHandle(Some(self));
        Ok((payload.ok_or(ENOENT)?, exclusive))
    }
}

impl<P> Drop for Handle<P> {
    fn drop(&mut self) {
        // SAFETY: By the type's invariant. The payload is gone when the last count goes: while the
        // handle is in a table that has one, and it is taken out of both together.
        unsafe { bindings::uverbs_uobject_put(self.uobject()) };
    }
}

/// A handle whose payload is shared.
///
/// # Invariants
///
/// Counted in `usecnt`, and the payload is there.
pub(crate) struct SharedHandle<P>(Handle<P>);

impl<P> core::ops::Deref for SharedHandle<P> {
    type Target = Option<P>;

    fn deref(&self) -> &Option<P> {
        // SAFETY: By the type's invariant nobody writes it.
        unsafe { &*self.0.payload() }
    }
}

impl<P> Drop for SharedHandle<P> {
    fn drop(&mut self) {
        self.0.usecnt().fetch_sub(1, Release);
    }
}

/// A handle whose payload was taken, in the table still; as it was if it is just dropped.
pub(crate) struct ExclusiveHandle<P>(Option<Handle<P>>);

impl<P> ExclusiveHandle<P> {
    /// Puts the payload back.
    pub(crate) fn restore(self, payload: P) {
        if let Some(handle) = &self.0 {
            // SAFETY: `usecnt` is -1 by `exclude`, so nobody else reads or writes it.
            unsafe { *handle.payload() = Some(payload) };
        }
    }

    /// Takes the handle out of the table. It stays locked, for those who found it before.
    pub(crate) fn erase(mut self, table: &UFile) {
        if let Some(handle) = self.0.take() {
            erase_id(table, handle.id());
            put_object_pointer(&handle, ptr::null_mut());
            // SAFETY: The count of the table, which it is no longer in.
            unsafe { bindings::uverbs_uobject_put(handle.uobject()) };
        }
    }
}

impl<P> Drop for ExclusiveHandle<P> {
    fn drop(&mut self) {
        if let Some(handle) = &self.0 {
            handle.usecnt().store(0, Release);
        }
    }
}

fn put_object_pointer<P>(handle: &Handle<P>, object: *mut c_void) {
    // SAFETY: The handle is locked exclusively, or not published yet.
    unsafe { (*handle.uobject()).object = object };
}

/// A handle in the making: it has an id and a place in the table, and is no object's yet, so that nobody
/// finds it. Undone if it is dropped.
pub(crate) struct Reservation<'a, P> {
    table: &'a UFile,
    handle: Handle<P>,
    face: Option<Uobject>,
}

impl<'a, P> Reservation<'a, P> {
    /// `next` must be the table's own.
    pub(crate) fn new(table: &'a UFile, next: &NextId) -> Result<Self> {
        let memory = KBox::<Memory<P>>::new_uninit(GFP_KERNEL)?;
        let memory = KBox::into_raw(memory).cast::<Memory<P>>();
        // SAFETY: A new allocation, in bounds.
        unsafe { (&raw mut (*memory).payload).write(UnsafeCell::new(None)) };
        // One count for the handle, one for the face.
        // SAFETY: As above.
        let raw = unsafe { Room::init(&raw mut (*memory).room, 2) };
        // SAFETY: One of the two counts. INVARIANT: As just initialised.
        let handle = unsafe { Handle::from_uobject(raw) };
        // SAFETY: The other one; a handle does not use what is the face's.
        let face = Some(unsafe { Uobject::from_raw(raw) });
        // SAFETY: Such are in the table.
        let id = unsafe { next.take(table, raw.cast()) }?;
        // SAFETY: Ours alone: whoever finds it now looks at its type only.
        unsafe { (*raw).id = id.to_signed() };
        Ok(Self {
            table,
            handle,
            face,
        })
    }

    pub(crate) fn id(&self) -> u32 {
        self.handle.id()
    }

    /// For the object that is made with this handle; there is one.
    pub(crate) fn take_face(&mut self) -> Option<Uobject> {
        self.face.take()
    }

    /// Makes the handle visible, with what it holds. `object` is what C code finds in it.
    pub(crate) fn publish(mut self, payload: P, object: *mut c_void, api: &'static ApiObject) {
        drop(self.take_face());
        // SAFETY: Not visible yet, and locked exclusively.
        unsafe { *self.handle.payload() = Some(payload) };
        put_object_pointer(&self.handle, object);
        self.handle.usecnt().store(0, Release);
        self.handle.api().store(api.as_raw().cast_mut(), Release);
        // The handle's count goes over to the table.
        core::mem::forget(self);
    }
}

impl<P> Drop for Reservation<'_, P> {
    fn drop(&mut self) {
        erase_id(self.table, self.id());
    }
}

/// Finds a handle of type `api`: `ENOENT` if there is none with this id, and `EINVAL` if it is of
/// another type or the id cannot be one.
pub(crate) fn find<P>(table: &UFile, id: i64, api: &'static ApiObject) -> Result<Handle<P>> {
    let id = usize::try_from(id).map_err(|_| EINVAL)?;
    let uobject = {
        let _rcu = rcu::read_lock();
        // SAFETY: The table is initialised; what is in it is freed by RCU.
        let uobject = unsafe { bindings::xa_load(xa(table), id) }.cast::<bindings::ib_uobject>();
        // SAFETY: Not freed before the RCU section ends.
        if uobject.is_null() || !unsafe { bindings::shverbs_uobject_get_unless_zero(uobject) } {
            return Err(ENOENT);
        }
        uobject
    };
    // SAFETY: Counted, and written atomically only where somebody may read it.
    let found = unsafe { Atomic::from_ptr((&raw mut (*uobject).uapi_object).cast()) }.load(Acquire);
    if !ptr::eq::<bindings::uverbs_api_object>(found, api.as_raw()) {
        // SAFETY: Counted above.
        unsafe { bindings::uverbs_uobject_put(uobject) };
        // Without a type it is not published yet.
        return Err(if found.is_null() { ENOENT } else { EINVAL });
    }
    // SAFETY: `api` is of ours, so this is a `Memory`, and the count is this one's.
    Ok(unsafe { Handle::from_uobject(uobject) })
}

/// The ids of all handles of type `api`, in order.
pub(crate) fn ids(table: &UFile, api: &'static ApiObject) -> Result<KVec<u32>> {
    let mut ids = KVec::new();
    let mut id = 0;
    loop {
        let is_ours = {
            let _rcu = rcu::read_lock();
            // SAFETY: The table is initialised; what is in it is freed by RCU.
            let entry =
                unsafe { bindings::xa_find(xa(table), &mut id, usize::MAX, bindings::XA_PRESENT) };
            if entry.is_null() {
                return Ok(ids);
            }
            let uobject = entry.cast::<bindings::ib_uobject>();
            // SAFETY: Not freed before the RCU section ends; set before it was published.
            ptr::eq(unsafe { (*uobject).uapi_object }, api.as_raw())
        };
        if is_ours {
            ids.push(u32::try_from(id).map_err(|_| EINVAL)?, GFP_KERNEL)?;
        }
        let Some(next) = id.checked_add(1) else {
            return Ok(ids);
        };
        id = next;
    }
}

/// Empties the table of all handles that `is_ours` knows, and gives their payloads to `f`. For the
/// end of a file: nobody may use the table meanwhile.
pub(crate) fn drain<P>(
    table: &UFile,
    is_ours: impl Fn(u32) -> Option<&'static ApiObject>,
    mut f: impl FnMut(P),
) {
    let mut id = 0;
    loop {
        // SAFETY: The table is initialised.
        let entry =
            unsafe { bindings::xa_find(xa(table), &mut id, usize::MAX, bindings::XA_PRESENT) };
        if entry.is_null() {
            return;
        }
        let uobject = entry.cast::<bindings::ib_uobject>();
        // SAFETY: The table holds a count; set before the handle was published.
        let api = unsafe { (*uobject).uapi_object };
        // SAFETY: As above.
        let ours = is_ours(unsafe { (*api).id }).is_some_and(|o| o.as_raw() == api);
        if ours {
            // SAFETY: A `Memory` by its type; takes the table's count over.
            let handle = unsafe { Handle::<P>::from_uobject(uobject) };
            erase_id(table, handle.id());
            put_object_pointer(&handle, ptr::null_mut());
            // SAFETY: By this function's contract nobody reads or writes it.
            let payload = unsafe { &mut *handle.payload() }.take();
            if let Some(payload) = payload {
                f(payload);
            }
        }
        let Some(next) = id.checked_add(1) else {
            return;
        };
        id = next;
    }
}

#[kunit_tests(shverbs_handle)]
mod tests {
    use super::{
        super::ufile::tests::TestFile,
        *, //
    };
    use kernel::sync::Arc;

    static PD: ApiObject = ApiObject::new(1);
    static MR: ApiObject = ApiObject::new(2);

    fn ours(id: u32) -> Option<&'static ApiObject> {
        (id == 1).then_some(&PD)
    }

    fn publish(table: &UFile, next: &NextId, payload: Arc<u32>) -> i64 {
        let reservation = Reservation::new(table, next).unwrap();
        let id = i64::from(reservation.id());
        reservation.publish(payload, ptr::null_mut(), &PD);
        id
    }

    fn find_error(table: &UFile, id: i64, api: &'static ApiObject) -> Option<Error> {
        find::<Arc<u32>>(table, id, api).err()
    }

    #[test]
    fn a_handle_is_seen_once_it_is_published() {
        let (file, next) = (TestFile::new(), NextId::new());
        let reservation = Reservation::<Arc<u32>>::new(file.ufile(), &next).unwrap();
        let id = i64::from(reservation.id());
        assert_eq!(find_error(file.ufile(), id, &PD), Some(ENOENT));
        drop(reservation);
        assert_eq!(find_error(file.ufile(), id, &PD), Some(ENOENT));
        assert_eq!(find_error(file.ufile(), -1, &PD), Some(EINVAL));
    }

    #[test]
    fn a_handle_has_a_type() {
        let (file, next) = (TestFile::new(), NextId::new());
        let payload = Arc::new(7, GFP_KERNEL).unwrap();
        let id = publish(file.ufile(), &next, payload.clone());
        assert_eq!(find_error(file.ufile(), id, &MR), Some(EINVAL));
        let shared = find::<Arc<u32>>(file.ufile(), id, &PD)
            .unwrap()
            .share()
            .unwrap();
        assert_eq!(shared.as_ref().map(|p| **p), Some(7));
        drop(shared);
        drain::<Arc<u32>>(file.ufile(), ours, drop);
        // The table's is gone, so this one is the last.
        assert!(Arc::into_unique_or_drop(payload).is_some());
    }

    #[test]
    fn the_loser_is_told_that_it_is_busy() {
        let (file, next) = (TestFile::new(), NextId::new());
        let id = publish(file.ufile(), &next, Arc::new(7, GFP_KERNEL).unwrap());
        let again = || find::<Arc<u32>>(file.ufile(), id, &PD).unwrap();
        let shared = again().share().unwrap();
        assert_eq!(again().exclude().err(), Some(EBUSY));
        drop(shared);
        let (payload, exclusive) = again().exclude().map_err(|_| ()).unwrap();
        assert_eq!(again().share().err(), Some(EBUSY));
        exclusive.restore(payload);
        let late = again();
        let (_, exclusive) = again().exclude().map_err(|_| ()).unwrap();
        exclusive.erase(file.ufile());
        assert_eq!(late.share().err(), Some(EBUSY));
        assert_eq!(find_error(file.ufile(), id, &PD), Some(ENOENT));
    }

    #[test]
    fn ids_are_not_used_again_soon() {
        let (file, next) = (TestFile::new(), NextId::new());
        let first = publish(file.ufile(), &next, Arc::new(1, GFP_KERNEL).unwrap());
        drain::<Arc<u32>>(file.ufile(), ours, drop);
        let second = publish(file.ufile(), &next, Arc::new(2, GFP_KERNEL).unwrap());
        assert!(first != second);
        drain::<Arc<u32>>(file.ufile(), ours, drop);
    }
}
