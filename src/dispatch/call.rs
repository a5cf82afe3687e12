// SPDX-License-Identifier: GPL-2.0

//! One call, as a verb sees it.

use super::method::UHW_OUT;
use crate::sys::num::Signed;
use crate::{
    backend,
    events::Subscribed,
    object::{
        departure::Leaving,
        file::{
            Entry,
            Found, //
        },
        AnyOwner,
        Context,
        Kind,
        OpenFile,
        Owner,
        Rights,
        Seat, //
    },
    rdma::{
        bundle::{
            key_of,
            Bundle,
            Present,
            Span, //
        },
        device::Live,
        handle::Reservation, //
    },
    sys::file::{
        self,
        FileType,
        PendingFd, //
    },
};
use kernel::{
    fs::LocalFile,
    prelude::*,
    sync::{
        aref::ARef,
        Arc, //
    },
};
use zerocopy::{
    FromBytes,
    FromZeros,
    Immutable,
    IntoBytes, //
};

/// One call.
///
/// A new handle or descriptor is pending until the call has succeeded in all it does, the copy of
/// its response included; then it is published, and before that it is undone by being dropped.
pub(crate) struct Call<'a, 'b> {
    /// None once the device is gone.
    live: Option<&'a Live<'a>>,
    pub(crate) file: &'a OpenFile,
    pub(crate) bundle: &'a mut Bundle<'b>,
    /// The request and the response of a write command.
    pub(crate) core_in: Span,
    pub(crate) core_out: Span,
    core_attr: Option<Present>,
    handle: Option<PendingHandle<'a>>,
    leaving: Option<Leaving>,
    fd: Option<PendingFd>,
}

struct PendingHandle<'a> {
    reservation: Reservation<'a, Entry>,
    entry: Entry,
}

impl<'a, 'b> Call<'a, 'b> {
    pub(crate) fn new(
        live: Option<&'a Live<'a>>,
        file: &'a OpenFile,
        bundle: &'a mut Bundle<'b>,
    ) -> Self {
        Self {
            live,
            file,
            bundle,
            core_in: Span::EMPTY,
            core_out: Span::EMPTY,
            core_attr: None,
            handle: None,
            leaving: None,
            fd: None,
        }
    }

    /// The device; `EIO` once it is gone. Only calls that give something up get so far then.
    pub(crate) fn live(&self) -> Result<&'a Live<'a>> {
        self.live.ok_or(EIO)
    }

    /// The attribute with this id; `ENOENT` if user space did not pass it.
    pub(crate) fn attr(&self, id: u32) -> Result<Present> {
        let key = u16::try_from(id).ok().and_then(key_of).ok_or(EINVAL)?;
        self.bundle.get(key).ok_or(ENOENT)
    }

    pub(crate) fn has(&self, id: u32) -> bool {
        self.attr(id).is_ok()
    }

    /// A `UVERBS_ATTR_CONST_IN`; `EINVAL` if it does not fit.
    pub(crate) fn constant<T: TryFrom<u64>>(&self, id: u32) -> Result<T> {
        T::try_from(self.attr(id)?.data).map_err(|_| EINVAL)
    }

    /// A `UVERBS_ATTR_FLAGS_IN`, zero if it was not passed; `EINVAL` for unknown bits.
    pub(crate) fn flags(&self, id: u32, known: u32) -> Result<u32> {
        let Ok(attr) = self.attr(id) else {
            return Ok(0);
        };
        let [a, b, c, d, ..] = attr.data.to_ne_bytes();
        let flags = match attr.len {
            4 => u64::from(u32::from_ne_bytes([a, b, c, d])),
            8 => attr.data,
            _ => return Err(EINVAL),
        };
        let flags = u32::try_from(flags).map_err(|_| EINVAL)?;
        if flags & !known != 0 {
            return Err(EINVAL);
        }
        Ok(flags)
    }

    /// A handle's number, in whichever way an attribute has one.
    pub(crate) fn number(&self, id: u32) -> Result<i64> {
        Ok(self.attr(id)?.data.to_signed())
    }

    /// A structure; what user space did not pass of it is zero.
    pub(crate) fn read<T: FromBytes + IntoBytes>(&self, id: u32) -> Result<T> {
        let attr = self.attr(id)?;
        let mut value = T::new_zeroed();
        let known = attr.len.min(size_of::<T>());
        let to = value.as_mut_bytes().get_mut(..known).ok_or(EINVAL)?;
        if attr.len <= size_of::<u64>() {
            // Inline, and copied already: user space may have changed it since.
            to.copy_from_slice(attr.data.to_ne_bytes().get(..known).ok_or(EINVAL)?);
        } else {
            self.bundle.span(attr)?.at.read_bytes(to)?;
        }
        Ok(value)
    }

    /// The file that a raw descriptor in an attribute stands for.
    pub(crate) fn any_file(&self, id: u32) -> Result<ARef<LocalFile>> {
        file::any(self.number(id)?)
    }

    /// An array of numbers; `EINVAL` if there is a part of one.
    pub(crate) fn read_array(&self, id: u32) -> Result<KVec<i32>> {
        const SIZE: usize = size_of::<i32>();
        let bytes = self.read_bytes(id, usize::from(u16::MAX))?;
        if bytes.len() % SIZE != 0 {
            return Err(EINVAL);
        }
        let mut numbers = KVec::with_capacity(bytes.len() / SIZE, GFP_KERNEL)?;
        for number in bytes.chunks_exact(SIZE) {
            let number = number.try_into().map_err(|_| EINVAL)?;
            numbers.push(i32::from_ne_bytes(number), GFP_KERNEL)?;
        }
        Ok(numbers)
    }

    /// An array of structures; `EINVAL` if there is a part of one.
    pub(crate) fn read_list<T: FromZeros + FromBytes + IntoBytes + Copy>(
        &self,
        id: u32,
    ) -> Result<KVec<T>> {
        let attr = self.attr(id)?;
        let size = size_of::<T>();
        if size <= size_of::<u64>() || attr.len % size != 0 {
            return Err(EINVAL);
        }
        let mut list = KVec::from_elem(T::new_zeroed(), attr.len / size, GFP_KERNEL)?;
        let to = list.as_mut_slice().as_mut_bytes();
        self.bundle.span(attr)?.at.read_bytes(to)?;
        Ok(list)
    }

    /// Bytes, at most `max`; `ENAMETOOLONG` if there are more.
    pub(crate) fn read_bytes(&self, id: u32, max: usize) -> Result<KVec<u8>> {
        let attr = self.attr(id)?;
        if attr.len > max {
            return Err(ENAMETOOLONG);
        }
        let mut bytes = KVec::from_elem(0, attr.len, GFP_KERNEL)?;
        if attr.len <= size_of::<u64>() {
            bytes.copy_from_slice(attr.data.to_ne_bytes().get(..attr.len).ok_or(EINVAL)?);
        } else {
            self.bundle.span(attr)?.at.read_bytes(&mut bytes)?;
        }
        Ok(bytes)
    }

    /// Answers an output attribute: cut to the room there is.
    pub(crate) fn write<T: IntoBytes + Immutable>(&self, id: u32, value: &T) -> Result {
        self.write_bytes(id, value.as_bytes())
    }

    /// As [`Call::write`].
    pub(crate) fn write_bytes(&self, id: u32, bytes: &[u8]) -> Result {
        let attr = self.attr(id)?;
        let span = self.out_span(attr)?;
        span.at
            .write_bytes(bytes.get(..span.len.min(bytes.len())).ok_or(EINVAL)?)?;
        self.bundle.mark_written(attr)
    }

    /// Answers an output attribute: cut to the room there is, or filled up with zeroes.
    pub(crate) fn write_struct<T: IntoBytes + Immutable>(&self, id: u32, value: &T) -> Result {
        let attr = self.attr(id)?;
        let span = self.out_span(attr)?;
        span.at.write_struct(value, span.len)?;
        self.bundle.mark_written(attr)
    }

    /// Answers an output attribute if user space passed it.
    pub(crate) fn write_if<T: IntoBytes + Immutable>(&self, id: u32, value: &T) -> Result {
        if self.has(id) {
            self.write(id, value)
        } else {
            Ok(())
        }
    }

    /// Where an output attribute goes: it is never inline.
    pub(crate) fn out_span(&self, attr: Present) -> Result<Span> {
        Ok(Span {
            at: crate::sys::user::UserAddr::new(attr.data)?,
            len: attr.len,
        })
    }

    pub(crate) fn mark_written(&self, attr: Present) -> Result {
        self.bundle.mark_written(attr)
    }

    /// The span of an attribute, empty if it was not passed.
    pub(crate) fn span_or_empty(&self, id: u32) -> Result<Span> {
        self.attr(id)
            .map_or(Ok(Span::EMPTY), |attr| self.bundle.span(attr))
    }

    /// Makes the spans of a write command those of two attributes.
    pub(crate) fn set_core(&mut self, input: u32, output: u32) -> Result {
        self.core_in = self.span_or_empty(input)?;
        self.core_attr = self.attr(output).ok();
        self.core_out = match self.core_attr {
            Some(attr) => self.out_span(attr)?,
            None => Span::EMPTY,
        };
        Ok(())
    }

    /// Answers a write command: cut to the room there is, or filled up with zeroes.
    pub(crate) fn respond<T: IntoBytes + Immutable>(&self, response: &T) -> Result {
        self.core_out.at.write_struct(response, self.core_out.len)?;
        self.core_written()
    }

    /// Tells user space that the response of a write command is there.
    pub(crate) fn core_written(&self) -> Result {
        self.core_attr
            .map_or(Ok(()), |attr| self.bundle.mark_written(attr))
    }

    /// The `response_length` of an extended command: how much of `T` there is room for.
    pub(crate) fn response_length<T>(&self) -> u32 {
        u32::try_from(self.core_out.len.min(size_of::<T>())).unwrap_or(0)
    }

    /// The file's context; `EINVAL` before there is one.
    pub(crate) fn context(&self) -> Result<&'a Arc<Context>> {
        self.file.data().context()
    }

    /// A handle of kind `K`: `ENOENT` if there is none with this id, `EINVAL` if it is of another
    /// kind, `EBUSY` while it is being destroyed.
    pub(crate) fn find<K: Kind>(&self, id: i64) -> Result<Found<'a>> {
        self.file.find::<K>(self.live()?, id)
    }

    /// As [`Call::find`], of the kind with an id of `enum uverbs_default_objects`.
    pub(crate) fn find_any(&self, kind: u32, id: i64) -> Result<Found<'a>> {
        self.file.find_any(self.live()?, kind, id)
    }

    /// A new handle's id, which an ioctl gives to user space in the attribute `id`.
    pub(crate) fn reserve(&self, id: Option<u32>) -> Result<Reservation<'a, Entry>> {
        // Before there is a context there are no objects.
        self.context()?;
        let mut reservation = self.file.reserve()?;
        self.bundle.offer_face(reservation.take_face());
        if let Some(id) = id {
            self.bundle
                .put_data(self.attr(id)?, i64::from(reservation.id()))?;
        }
        Ok(reservation)
    }

    /// Makes an object of new hardware, whose handle is published at the end of the call.
    pub(crate) fn create<K: Kind>(
        &mut self,
        reservation: Reservation<'a, Entry>,
        seat: Seat<K>,
        hardware: K,
    ) -> Result<Owner<K>> {
        let context = self.context()?.clone();
        let response = match self.driver_response::<K>() {
            Ok(response) => response,
            Err(e) => {
                // Destroys it.
                drop(seat.fill(context, hardware, KVec::new()));
                return Err(e);
            }
        };
        let owner = seat.fill(context, hardware, response);
        self.attach(reservation, K::wrap(owner.clone()), Rights::all());
        Ok(owner)
    }

    /// Gives an object a handle, which is published at the end of the call.
    pub(crate) fn attach(
        &mut self,
        reservation: Reservation<'a, Entry>,
        owner: AnyOwner,
        rights: Rights,
    ) {
        self.handle = Some(PendingHandle {
            reservation,
            entry: Entry {
                owner,
                rights,
                subscribed: None,
                revocation: None,
            },
        });
    }

    /// Gives the handle of [`Call::create`] or [`Call::attach`] a subscription, which goes with it.
    pub(crate) fn subscribe(&mut self, subscribed: Subscribed) {
        if let Some(handle) = &mut self.handle {
            handle.entry.subscribed = Some(subscribed);
        }
    }

    /// As [`Call::subscribe`], to the news of a revocation.
    pub(crate) fn subscribe_revocation(&mut self, subscribed: Subscribed) {
        if let Some(handle) = &mut self.handle {
            handle.entry.revocation = Some(subscribed);
        }
    }

    /// Another file's handle goes when this call has succeeded, and else stays there.
    pub(crate) fn take_over(&mut self, leaving: Leaving) {
        self.leaving = Some(leaving);
    }

    /// Gives user space a descriptor in the attribute `id`, published at the end of the call.
    pub(crate) fn attach_fd<T: FileType>(&mut self, id: u32, value: Arc<T>, mode: u32) -> Result {
        self.pend_fd_in(id, PendingFd::new(value, mode)?)
    }

    /// As [`Call::attach_fd`], of a descriptor that is there already.
    pub(crate) fn pend_fd_in(&mut self, id: u32, fd: PendingFd) -> Result {
        self.bundle
            .put_data(self.attr(id)?, i64::from(fd.number()))?;
        self.fd = Some(fd);
        Ok(())
    }

    /// As [`Call::attach_fd`], where the number goes into a response.
    pub(crate) fn pend_fd(&mut self, fd: PendingFd) {
        self.fd = Some(fd);
    }

    /// What the driver has answered, for those who import the object, where that can be.
    fn driver_response<K: Kind>(&self) -> Result<KVec<u8>> {
        let out = self.bundle.udata_out();
        if out.len == 0 || backend::of(self.live()?).check_shareable(K::ID).is_err() {
            return Ok(KVec::new());
        }
        self.bundle.driver_answer()
    }

    /// The call has succeeded: what it made becomes visible.
    pub(crate) fn commit(&mut self) -> Result {
        if let Ok(attr) = self.attr(u32::from(UHW_OUT.id)) {
            // Nobody knows whether the driver wrote it.
            self.bundle.mark_written(attr)?;
        }
        if let Some(handle) = self.handle.take() {
            let object = handle.entry.owner.as_ptr(self.live()?)?;
            let api = handle.entry.owner.api();
            handle.reservation.publish(handle.entry, object, api);
        }
        if let Some(leaving) = self.leaving.take() {
            leaving.complete();
        }
        if let Some(fd) = self.fd.take() {
            fd.publish();
        }
        Ok(())
    }
}
