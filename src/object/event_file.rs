// SPDX-License-Identifier: GPL-2.0

//! Event files: descriptors that events are read from.
//!
//! Each belongs to the File that it was made on, and gets no more events once that is closed. Its
//! queue lives longer where objects report to it.

use super::{
    device::Device,
    registry::{
        Mortal,
        Place,
        Registry,
        Room, //
    },
};
use crate::{
    abi::event::{
        AsyncEvent,
        CompEvent, //
    },
    bindings,
    events::Queue,
    rdma::{
        device::Live,
        watch::Watch, //
    },
    sys::{
        file::{
            self,
            FileType,
            PendingFd,
            Reading, //
        },
        user::UserAddr, //
    },
};
use kernel::{
    fs::{
        file::flags,
        File, //
    },
    new_mutex,
    prelude::*,
    sync::{
        aref::ARef,
        poll::PollTable,
        Arc,
        ArcBorrow,
        Mutex,
        SetOnce, //
    },
};

const DEVICE_FATAL: u32 = bindings::ib_event_type_IB_EVENT_DEVICE_FATAL;

/// What is read from an event file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sort {
    /// Completions of CQs.
    Channel,
    /// Asynchronous events of the device and of objects.
    Async,
}

/// The event files of one open of the character device.
#[pin_data]
pub(crate) struct EventFiles {
    device: ARef<Device>,
    /// What objects report to by default: the first one for asynchronous events.
    default: SetOnce<Arc<Queue>>,
    #[pin]
    open: Registry<EventFile>,
    place: Place,
}

/// One event file.
#[pin_data]
pub(crate) struct EventFile {
    sort: Sort,
    queue: Arc<Queue>,
    family: Arc<EventFiles>,
    place: Place,
    /// None of a channel.
    #[pin]
    watch: Mutex<Option<Watch<Queue>>>,
}

/// An event file that is yet to be published, and gets no events of the device so far.
pub(crate) struct Opening {
    file: Arc<EventFile>,
    room: Room<EventFile>,
}

impl EventFiles {
    /// Only while the device lives.
    pub(crate) fn new(device: &Device) -> Result<Arc<Self>> {
        let room = Room::new()?;
        let place = device.contexts().next_place();
        let this = Arc::pin_init(
            pin_init!(Self {
                device: ARef::from(device),
                default: SetOnce::new(),
                open <- Registry::new(),
                place,
            }),
            GFP_KERNEL,
        )?;
        device.contexts().enter(room, place, this.clone());
        Ok(this)
    }

    /// Where objects report to that were told nothing else; none before there is an event file.
    pub(crate) fn default_queue(&self) -> Option<Arc<Queue>> {
        self.default.as_ref().cloned()
    }

    /// A new event file, with the descriptor for it.
    pub(crate) fn create(self: &Arc<Self>, sort: Sort) -> Result<(PendingFd, Opening)> {
        let queue = Queue::new()?;
        let watch = match sort {
            Sort::Channel => None,
            Sort::Async => Some(Watch::new(queue.clone())?),
        };
        let room = Room::new()?;
        let place = self.open.next_place();
        let file = Arc::pin_init(
            pin_init!(EventFile {
                sort,
                queue,
                family: self.clone(),
                place,
                watch <- new_mutex!(watch),
            }),
            GFP_KERNEL,
        )?;
        let fd = PendingFd::new(file.clone(), flags::O_RDONLY)?;
        Ok((fd, Opening { file, room }))
    }

    /// The queue of the event file behind a descriptor of the caller: `EBADF` if it is not one of
    /// this sort, or of another open of the character device.
    pub(crate) fn lookup(self: &Arc<Self>, fd: i64, sort: Sort) -> Result<Arc<Queue>> {
        let fd = i32::try_from(fd).map_err(|_| EINVAL)?;
        let file = file::lookup::<EventFile>(i64::from(fd))?;
        if file.sort != sort || !Arc::ptr_eq(&file.family, self) {
            return Err(EBADF);
        }
        Ok(file.queue.clone())
    }

    /// The open of the character device ends.
    pub(crate) fn close(&self) {
        // Without a device its removal does this, or has done it.
        if let Ok(live) = self.device.live() {
            while let Some(file) = self.open.take_newest() {
                file.orphan(&live);
            }
            self.device.contexts().leave(self.place);
        }
    }
}

impl Mortal for EventFiles {
    fn kill(&self, live: &Live<'_>) {
        while let Some(file) = self.open.take_newest() {
            file.device_gone(live);
        }
    }
}

impl Opening {
    /// From here on there may be events.
    pub(crate) fn start(self, live: &Live<'_>) {
        let Self { file, room } = self;
        let family = &file.family;
        if let Some(watch) = &mut *file.watch.lock() {
            // Only the first is taken.
            family.default.populate(file.queue.clone());
            watch.start(live);
        }
        family.open.enter(room, file.place, file.clone());
    }
}

impl EventFile {
    fn unwatch(&self, live: &Live<'_>) {
        let watch = self.watch.lock().take();
        if let Some(mut watch) = watch {
            watch.stop(live);
        }
    }

    /// The open that it belongs to ends. A channel tells, and the others are just silent, as they
    /// are with `ib_uverbs`.
    fn orphan(&self, live: &Live<'_>) {
        self.unwatch(live);
        if self.sort == Sort::Channel {
            self.queue.close();
        }
    }

    fn device_gone(&self, live: &Live<'_>) {
        self.unwatch(live);
        match self.sort {
            Sort::Channel => self.queue.close(),
            Sort::Async => self.queue.finish_with(0, DEVICE_FATAL),
        }
    }
}

#[vtable]
impl FileType for EventFile {
    const NAME: &'static CStr = c"[infinibandevent]";

    type Source = ();

    fn read(this: ArcBorrow<'_, Self>, reading: Reading<'_>) -> Result<usize> {
        let size = match this.sort {
            Sort::Channel => size_of::<CompEvent>(),
            Sort::Async => size_of::<AsyncEvent>(),
        };
        let event = this
            .queue
            .next(reading.nonblocking(), reading.len >= size)?;
        let to: UserAddr = reading.to;
        match this.sort {
            Sort::Channel => to.write(&CompEvent {
                cq_handle: event.element,
            })?,
            Sort::Async => to.write(&AsyncEvent {
                element: event.element,
                event_type: event.kind,
                reserved: 0,
            })?,
        }
        Ok(size)
    }

    fn poll(this: ArcBorrow<'_, Self>, file: &File, table: PollTable<'_>) -> u32 {
        this.queue.poll(file, &table)
    }

    fn fasync(this: ArcBorrow<'_, Self>, fd: c_int, file: &File, on: c_int) -> Result<c_int> {
        this.queue.signal().set(fd, file, on)
    }

    fn release(this: Arc<Self>) {
        this.queue.close();
        // Without a device its removal does this, or has done it.
        if let Ok(live) = this.family.device.live() {
            this.unwatch(&live);
            this.family.open.leave(this.place);
        }
    }
}
