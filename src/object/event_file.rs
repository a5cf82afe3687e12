// SPDX-License-Identifier: GPL-2.0

//! Event files: descriptors that events are read from.
//!
//! Each belongs to the File that it was made on, and gets no more events once that is closed. Its
//! queue lives longer where objects report to it.

use super::{
    device::Device,
    registry::{
        Member,
        Mortal, //
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
        lineup::{
            self,
            Lineup,
            Listed, //
        },
        user::UserAddr, //
    },
};
use kernel::{
    fs::{
        file::flags,
        File, //
    },
    list::ListArc,
    new_mutex,
    prelude::*,
    sync::{
        aref::ARef,
        poll::PollTable,
        Arc,
        ArcBorrow,
        Mutex,
        SetOnce,
        UniqueArc, //
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

/// The event files of one open of the character device, which end with it or with the device.
pub(crate) type Family = Member<EventFiles>;

/// One event file, among those of its family.
pub(crate) type Open = Listed<EventFile, EventFile>;

/// What is in a [`Family`].
#[pin_data]
pub(crate) struct EventFiles {
    device: ARef<Device>,
    /// What objects report to by default: the first one for asynchronous events.
    default: SetOnce<Arc<Queue>>,
    #[pin]
    open: Lineup<EventFile>,
}

/// One event file.
#[pin_data]
pub(crate) struct EventFile {
    sort: Sort,
    queue: Arc<Queue>,
    family: Arc<Family>,
    /// None of a channel.
    #[pin]
    watch: Mutex<Option<Watch<Queue>>>,
}

/// An event file that is yet to be published, and gets no events of the device so far.
pub(crate) struct Opening {
    file: Arc<Open>,
    listed: ListArc<Open>,
}

impl EventFiles {
    /// Only while the device lives.
    pub(crate) fn new(device: &Device) -> Result<Arc<Family>> {
        let this = pin_init!(Self {
            device: ARef::from(device),
            default: SetOnce::new(),
            open <- Lineup::new(),
        });
        let this = UniqueArc::pin_init(Listed::new(device.contexts().home(), this), GFP_KERNEL)?;
        let (this, listed) = lineup::pair(this);
        device.contexts().enter(listed);
        Ok(this)
    }

    /// Where objects report to that were told nothing else; none before there is an event file.
    pub(crate) fn default_queue(&self) -> Option<Arc<Queue>> {
        self.default.as_ref().cloned()
    }
}

impl Family {
    /// A new event file, with the descriptor for it.
    pub(crate) fn create(self: &Arc<Self>, sort: Sort) -> Result<(PendingFd, Opening)> {
        let queue = Queue::new()?;
        let watch = match sort {
            Sort::Channel => None,
            Sort::Async => Some(Watch::new(queue.clone())?),
        };
        let file = pin_init!(EventFile {
            sort,
            queue,
            family: self.clone(),
            watch <- new_mutex!(watch),
        });
        let file = UniqueArc::pin_init(Listed::new(self.open.home(), file), GFP_KERNEL)?;
        let (file, listed) = lineup::pair(file);
        let fd = PendingFd::new(file.clone(), flags::O_RDONLY)?;
        Ok((fd, Opening { file, listed }))
    }

    /// The queue of the event file behind a descriptor of the caller: `EBADF` if it is not one of
    /// this sort, or of another open of the character device.
    pub(crate) fn lookup(self: &Arc<Self>, fd: i64, sort: Sort) -> Result<Arc<Queue>> {
        let fd = i32::try_from(fd).map_err(|_| EINVAL)?;
        let file = file::lookup::<Open>(i64::from(fd))?;
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
            self.device.contexts().leave(self);
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
        let Self { file, listed } = self;
        let family = &file.family;
        if let Some(watch) = &mut *file.watch.lock() {
            // Only the first is taken.
            family.default.populate(file.queue.clone());
            watch.start(live);
        }
        family.open.enter(listed);
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
impl FileType for Open {
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
            this.family.open.leave(&this);
        }
    }
}
