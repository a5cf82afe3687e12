// SPDX-License-Identifier: GPL-2.0

//! `struct uverbs_attr_bundle` inside `struct bundle_priv`: one call, as drivers see it.

use super::{
    ufile::UFile,
    uobject::Uobject, //
};
use crate::{
    bindings,
    sys::user::UserAddr, //
};
use core::{
    cell::Cell,
    marker::PhantomData,
    mem::{
        offset_of,
        size_of,
        ManuallyDrop,
        MaybeUninit, //
    },
    ptr, slice,
};
use kernel::prelude::*;

type Raw = bindings::uverbs_attr_bundle;
type Slot = bindings::uverbs_attr;

const BUFFER_AT: usize = offset_of!(bindings::bundle_priv, internal_buffer);
/// What most calls need, on the stack.
const STACK_WORDS: usize = 128;

// Attribute slots are a flexible array that lies over the internal buffer.
const _: () =
    assert!(offset_of!(bindings::bundle_priv, bundle) + offset_of!(Raw, attrs) == BUFFER_AT);
const _: () =
    assert!(BUFFER_AT % size_of::<u64>() == 0 && size_of::<Slot>() % size_of::<u64>() == 0);

/// The number of keys that `attr_present` has bits for.
pub(crate) const MAX_KEYS: usize = 64;
const _: () = assert!(bindings::uapi_radix_data_UVERBS_API_ATTR_BKEY_LEN as usize <= MAX_KEYS);

/// Where an attribute's slot is: what `uapi_bkey_attr(uapi_key_attr(id))` gives.
pub(crate) const fn key_of(id: u16) -> Option<usize> {
    let low = (id & 0x0fff) as usize;
    if low + 1 >= MAX_KEYS / 2 {
        return None;
    }
    match id & bindings::UVERBS_ID_NS_MASK as u16 {
        0 => Some(low << 1),
        DRIVER_NS => Some(((low + 1) << 1) - 1),
        _ => None,
    }
}

const DRIVER_NS: u16 = bindings::UVERBS_ID_DRIVER_NS as u16;

/// An attribute as user space passed it.
#[derive(Clone, Copy)]
pub(crate) struct UserAttr {
    pub(crate) id: u16,
    pub(crate) len: u16,
    pub(crate) flags: u16,
    /// `attr_data`: an enum's id and a reserved byte, or two reserved bytes.
    pub(crate) extra: u16,
    pub(crate) data: u64,
}

/// An attribute that is there: its place in the user's list, and what that says.
#[derive(Clone, Copy)]
pub(crate) struct Present {
    index: usize,
    pub(crate) len: usize,
    pub(crate) data: u64,
}

/// A piece of user memory.
#[derive(Clone, Copy)]
pub(crate) struct Span {
    pub(crate) at: UserAddr,
    pub(crate) len: usize,
}

impl Span {
    pub(crate) const EMPTY: Self = Self {
        at: UserAddr::from_usize(0),
        len: 0,
    };
}

/// One call.
///
/// # Invariants
///
/// `private` is an initialised `bundle_priv` in memory that is exclusively ours for `'a`, followed
/// by room for `keys` attribute slots (those of `attr_present` are filled) and then by `count`
/// attributes, which `uattrs` points to.
pub(crate) struct Bundle<'a> {
    private: *mut bindings::bundle_priv,
    keys: usize,
    count: usize,
    user_attrs: UserAddr,
    /// Of the handle that was reserved for what the call makes.
    face: Cell<Option<Uobject>>,
    _memory: PhantomData<&'a mut u64>,
}

impl Bundle<'_> {
    /// Runs `f` with the bundle of a call with `count` attributes at `user_attrs`, for a method that
    /// knows keys below `keys`. The bundle is on the stack where it fits.
    pub(crate) fn with<R>(
        ufile: &UFile,
        user_attrs: UserAddr,
        count: usize,
        keys: usize,
        f: impl FnOnce(&mut Bundle<'_>) -> Result<R>,
    ) -> Result<R> {
        let bytes = keys
            .checked_mul(size_of::<Slot>())
            .zip(count.checked_mul(size_of::<bindings::ib_uverbs_attr>()))
            .and_then(|(slots, attrs)| slots.checked_add(attrs)?.checked_add(BUFFER_AT))
            .ok_or(EINVAL)?;
        if bytes <= STACK_WORDS * size_of::<u64>() {
            let mut memory = [const { MaybeUninit::<u64>::uninit() }; STACK_WORDS];
            let mut bundle = Bundle::new(&mut memory, ufile, user_attrs, count, keys)?;
            return f(&mut bundle);
        }
        let mut memory = KVec::<MaybeUninit<u64>>::new();
        memory.resize(
            bytes.div_ceil(size_of::<u64>()),
            MaybeUninit::uninit(),
            GFP_KERNEL,
        )?;
        let mut bundle = Bundle::new(&mut memory, ufile, user_attrs, count, keys)?;
        f(&mut bundle)
    }

    /// Runs `f` with a bundle without attributes, as for a `write()` or an object that dies.
    pub(crate) fn with_none<R>(
        ufile: &UFile,
        f: impl FnOnce(&mut Bundle<'_>) -> Result<R>,
    ) -> Result<R> {
        Self::with(ufile, UserAddr::from_usize(0), 0, 0, f)
    }

    fn new<'m>(
        memory: &'m mut [MaybeUninit<u64>],
        ufile: &UFile,
        user_attrs: UserAddr,
        count: usize,
        keys: usize,
    ) -> Result<Bundle<'m>> {
        let room = size_of_val(memory) - BUFFER_AT;
        let private = memory.as_mut_ptr().cast::<bindings::bundle_priv>();
        let used = keys * size_of::<Slot>();
        let at = BUFFER_AT + used;
        let attrs = memory
            .as_mut_ptr()
            .wrapping_byte_add(at)
            .cast::<bindings::ib_uverbs_attr>();
        let bytes = count * size_of::<bindings::ib_uverbs_attr>();
        if count != 0 {
            // SAFETY: `with` made the memory large enough; it needs no value.
            let to = unsafe { slice::from_raw_parts_mut(attrs.cast::<MaybeUninit<u8>>(), bytes) };
            user_attrs.read_uninit(to)?;
        }
        // The slots have no values before they are filled. Field by field, as most of this is a few
        // words, and each call does it.
        // SAFETY: `with` made the memory large enough for all of this. The internal buffer that
        // drivers allocate from begins after the slots and the attributes.
        unsafe {
            (&raw mut (*private).alloc_head.next).write(ptr::null_mut());
            (&raw mut (*private).allocated_mem).write(ptr::null_mut());
            (&raw mut (*private).internal_avail).write(room);
            (&raw mut (*private).internal_used).write(used + bytes);
            (&raw mut (*private).radix).write(ptr::null_mut());
            (&raw mut (*private).radix_slots).write(ptr::null_mut());
            (&raw mut (*private).radix_slots_len).write(0);
            (&raw mut (*private).method_key).write(0);
            (&raw mut (*private).user_attrs).write(user_attrs.as_usize() as *mut _);
            (&raw mut (*private).uattrs).write(attrs);
            (&raw mut (*private).uobj_finalize).write([0]);
            (&raw mut (*private).spec_finalize).write([0]);
            (&raw mut (*private).uobj_hw_obj_valid).write([0]);
            (&raw mut (*private).bundle.driver_udata).write(pin_init::zeroed());
            (&raw mut (*private).bundle.ucore).write(pin_init::zeroed());
            (&raw mut (*private).bundle.ufile).write(ufile.as_raw());
            (&raw mut (*private).bundle.context).write(ptr::null_mut());
            (&raw mut (*private).bundle.uobject).write(ptr::null_mut());
            (&raw mut (*private).bundle.method_elm).write(ptr::null());
            (&raw mut (*private).bundle.attr_present).write([0]);
        }
        // INVARIANT: As initialised above; no bit of `attr_present` is set.
        Ok(Bundle {
            private,
            keys,
            count,
            user_attrs,
            face: Cell::new(None),
            _memory: PhantomData,
        })
    }

    /// The `index`th attribute that user space passed.
    pub(crate) fn user_attr(&self, index: usize) -> Option<UserAttr> {
        if index >= self.count {
            return None;
        }
        // SAFETY: By the type's invariant; every bit pattern of the union is a number.
        unsafe {
            let a = (*self.private).uattrs.add(index);
            Some(UserAttr {
                id: (*a).attr_id,
                len: (*a).len,
                flags: (*a).flags,
                extra: (*a).attr_data.reserved,
                data: (*a).__bindgen_anon_1.data,
            })
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Fills the slot of `key` with the user's `index`th attribute.
    pub(crate) fn fill(&mut self, key: usize, index: usize) -> Result {
        let attr = self.user_attr(index).ok_or(EINVAL)?;
        if key >= self.keys {
            return Err(EINVAL);
        }
        let uattr_idx = u16::try_from(index).map_err(|_| EINVAL)?;
        // SAFETY: By the type's invariant there is such a slot.
        unsafe {
            self.slot(key).write(bindings::uverbs_ptr_attr {
                __bindgen_anon_1: bindings::uverbs_ptr_attr__bindgen_ty_1 {
                    data: ManuallyDrop::new(attr.data),
                },
                len: attr.len,
                uattr_idx,
                enum_id: 0,
            });
        }
        // SAFETY: By the type's invariant. INVARIANT: The slot is filled.
        unsafe { (*self.private).bundle.attr_present[0] |= 1 << key };
        Ok(())
    }

    /// The attribute with `key`, if it is there.
    pub(crate) fn get(&self, key: usize) -> Option<Present> {
        if !self.is_present(key) {
            return None;
        }
        // SAFETY: By the type's invariant the slot is filled, with a number in its union.
        unsafe {
            let slot = self.slot(key);
            Some(Present {
                index: usize::from((*slot).uattr_idx),
                len: usize::from((*slot).len),
                data: (&raw const (*slot).__bindgen_anon_1).cast::<u64>().read(),
            })
        }
    }

    pub(crate) fn is_present(&self, key: usize) -> bool {
        key < self.keys && self.present() & (1 << key) != 0
    }

    /// The keys that are there, as bits.
    pub(crate) fn present(&self) -> u64 {
        // SAFETY: By the type's invariant.
        unsafe { (*self.private).bundle.attr_present[0] as u64 }
    }

    fn slot(&self, key: usize) -> *mut bindings::uverbs_ptr_attr {
        self.private
            .wrapping_byte_add(BUFFER_AT)
            .cast::<Slot>()
            .wrapping_add(key)
            .cast()
    }

    /// Where the attribute's data is: in user memory, also if it is inline.
    pub(crate) fn span(&self, attr: Present) -> Result<Span> {
        let at = if attr.len > size_of::<u64>() {
            UserAddr::new(attr.data)?
        } else {
            self.user_field(attr, offset_of!(bindings::ib_uverbs_attr, __bindgen_anon_1))?
        };
        Ok(Span { at, len: attr.len })
    }

    /// Puts a new handle or descriptor into an attribute, where user space finds it.
    pub(crate) fn put_data(&self, attr: Present, data: i64) -> Result {
        self.user_field(attr, offset_of!(bindings::ib_uverbs_attr, __bindgen_anon_1))?
            .write(&data)
    }

    /// Tells user space that an output attribute was written.
    pub(crate) fn mark_written(&self, attr: Present) -> Result {
        let flags = self.user_attr(attr.index).ok_or(EINVAL)?.flags;
        let written = flags | bindings::UVERBS_ATTR_F_VALID_OUTPUT as u16;
        self.user_field(attr, offset_of!(bindings::ib_uverbs_attr, flags))?
            .write(&written)
    }

    fn user_field(&self, attr: Present, offset: usize) -> Result<UserAddr> {
        let at = attr.index * size_of::<bindings::ib_uverbs_attr>() + offset;
        self.user_attrs.offset(at)
    }

    /// What the driver reads and writes of user memory; an empty span is none.
    pub(crate) fn set_udata(&mut self, input: Span, output: Span) {
        // SAFETY: By the type's invariant.
        unsafe {
            (*self.private).bundle.driver_udata = bindings::ib_udata {
                inbuf: input.at.as_usize() as *const c_void,
                outbuf: output.at.as_usize() as *mut c_void,
                inlen: input.len,
                outlen: output.len,
            };
        }
    }

    /// Where the driver writes its response.
    pub(crate) fn udata_out(&self) -> Span {
        // SAFETY: By the type's invariant.
        let udata = unsafe { &(*self.private).bundle.driver_udata };
        Span {
            at: UserAddr::from_usize(udata.outbuf as usize),
            len: udata.outlen,
        }
    }

    /// What the driver has answered, at most 256 bytes of it. It was written to the caller's memory,
    /// and is read back from there: the caller can lie, to those who trust it.
    pub(crate) fn driver_answer(&self) -> Result<KVec<u8>> {
        const MOST: usize = 256;
        let out = self.udata_out();
        let mut bytes = KVec::from_elem(0, out.len.min(MOST), GFP_KERNEL)?;
        // What cannot be read was not written: then the driver has nothing to say.
        if !bytes.is_empty() && out.at.read_bytes(&mut bytes).is_err() {
            bytes.truncate(0);
        }
        Ok(bytes)
    }

    /// What the next object that the call makes can have as its face.
    pub(crate) fn offer_face(&self, face: Option<Uobject>) {
        self.face.set(face);
    }

    pub(super) fn take_face(&self) -> Option<Uobject> {
        self.face.take()
    }

    /// The context that the driver finds by `rdma_udata_to_drv_context()`.
    pub(super) fn set_context_raw(&mut self, context: *mut bindings::ib_ucontext) {
        // SAFETY: By the type's invariant.
        unsafe { (*self.private).bundle.context = context };
    }

    pub(super) fn udata(&mut self) -> *mut bindings::ib_udata {
        // SAFETY: By the type's invariant.
        unsafe { &raw mut (*self.private).bundle.driver_udata }
    }

    pub(super) fn as_raw(&mut self) -> *mut Raw {
        // SAFETY: By the type's invariant.
        unsafe { (&raw mut (*self.private).bundle).cast() }
    }
}

impl Drop for Bundle<'_> {
    fn drop(&mut self) {
        // SAFETY: By the type's invariant; `_uverbs_alloc` chains what it allocates for drivers.
        let mut block = unsafe { (*self.private).allocated_mem };
        while !block.is_null() {
            // SAFETY: A block begins with the pointer to the next one.
            let next = unsafe { block.cast::<*mut bindings::bundle_alloc_head>().read() };
            // SAFETY: From `kvmalloc`, and unchained.
            unsafe { bindings::kvfree(block.cast()) };
            block = next;
        }
        self.private = ptr::null_mut();
    }
}

#[kunit_tests(shverbs_bundle)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_those_of_the_uapi() {
        // uapi_key_attr() of a core attribute n is (n << 1) | 1, of a driver's (n + 1) << 1.
        assert_eq!(key_of(0), Some(0));
        assert_eq!(key_of(1), Some(2));
        assert_eq!(key_of(DRIVER_NS), Some(1));
        assert_eq!(key_of(DRIVER_NS | 1), Some(3));
        assert_eq!(key_of(0x2000), None);
        assert_eq!(key_of(0x0fff), None);
    }
}
