// SPDX-License-Identifier: GPL-2.0

//! Queues of events that wait for a reader.

use crate::{
    rdma::watch::DeviceSink,
    sys::fasync::Fasync, //
};
use kernel::{
    fs::File,
    list::{
        impl_list_arc_safe,
        impl_list_item,
        List,
        ListArc,
        ListLinks, //
    },
    new_spinlock_irq,
    prelude::*,
    static_lock_class,
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        poll::{
            PollCondVarBox,
            PollTable, //
        },
        Arc,
        SpinLockIrq, //
    },
};

/// An event that nobody has read yet.
#[pin_data]
pub(crate) struct Event {
    /// The user handle of an object, or a port's number.
    pub(crate) element: u64,
    /// `enum ib_event_type`; zero for completions.
    pub(crate) kind: u32,
    ticket: Option<Arc<Tally>>,
    #[pin]
    links: ListLinks,
}

impl_list_arc_safe! {
    impl ListArcSafe<0> for Event { untracked; }
}
impl_list_item! {
    impl ListItem<0> for Event { using ListLinks { self.links }; }
}

/// How many events of one object were read from one queue.
struct Tally {
    read: Atomic<u32>,
}

/// What a descriptor reads. Events may come in any context.
#[pin_data]
pub(crate) struct Queue {
    #[pin]
    inner: SpinLockIrq<Inner>,
    readers: PollCondVarBox,
    signal: Fasync,
}

struct Inner {
    events: List<Event>,
    /// No more events will come.
    ended: bool,
}

impl Queue {
    pub(crate) fn new() -> Result<Arc<Self>> {
        Arc::pin_init(
            try_pin_init!(Self {
                inner <- new_spinlock_irq!(Inner {
                    events: List::new(),
                    ended: false,
                }),
                readers: PollCondVarBox::new(c"shverbs_event_readers", static_lock_class!())?,
                signal: Fasync::new(),
            }),
            GFP_KERNEL,
        )
    }

    /// An event that belongs to no object.
    pub(crate) fn push(&self, element: u64, kind: u32) {
        self.enqueue(element, kind, None);
    }

    fn enqueue(&self, element: u64, kind: u32, ticket: Option<Arc<Tally>>) {
        let event = ListArc::pin_init(
            try_pin_init!(Event {
                element,
                kind,
                ticket,
                links <- ListLinks::new(),
            }),
            GFP_ATOMIC,
        );
        // Without memory the event is lost: nobody could be told.
        let Ok(event) = event else { return };
        let refused = {
            let mut inner = self.inner.lock();
            if inner.ended {
                Some(event)
            } else {
                inner.events.push_back(event);
                None
            }
        };
        if refused.is_none() {
            self.wake();
        }
    }

    fn wake(&self) {
        self.readers.notify_all();
        self.signal.readable();
    }

    /// Takes the oldest event, unless it does not fit into what the reader has room for.
    ///
    /// `EIO` if there is none and none will come, `EAGAIN` if there is none and the reader does not
    /// want to wait, `EINVAL` if it does not fit.
    pub(crate) fn next(&self, nonblocking: bool, fits: bool) -> Result<ListArc<Event>> {
        let mut inner = self.inner.lock();
        while inner.events.is_empty() {
            if inner.ended {
                return Err(EIO);
            }
            if nonblocking {
                return Err(EAGAIN);
            }
            let interrupted = self.readers.wait_interruptible(&mut inner);
            if interrupted && inner.events.is_empty() && !inner.ended {
                return Err(ERESTARTSYS);
            }
        }
        if !fits {
            return Err(EINVAL);
        }
        let event = inner.events.pop_front().ok_or(EIO)?;
        if let Some(tally) = &event.ticket {
            tally.read.add(1, Relaxed);
        }
        Ok(event)
    }

    /// `EPOLL*` bits.
    pub(crate) fn poll(&self, file: &File, table: &PollTable<'_>) -> u32 {
        table.register_wait(file, &self.readers);
        let inner = self.inner.lock();
        if !inner.events.is_empty() {
            crate::bindings::POLLIN | crate::bindings::POLLRDNORM
        } else if inner.ended {
            crate::bindings::POLLERR
        } else {
            0
        }
    }

    pub(crate) fn signal(&self) -> &Fasync {
        &self.signal
    }

    /// No more events will come; those that are here can be read.
    pub(crate) fn finish(&self) {
        self.inner.lock().ended = true;
        self.wake();
    }

    /// As [`Queue::finish`], after a last event.
    pub(crate) fn finish_with(&self, element: u64, kind: u32) {
        self.push(element, kind);
        self.finish();
    }

    /// No more events will come, and those that are here are gone.
    pub(crate) fn close(&self) {
        let unread = {
            let mut inner = self.inner.lock();
            inner.ended = true;
            core::mem::take(&mut inner.events)
        };
        drop(unread);
        self.wake();
    }

    /// Takes away the events of one ticket.
    fn forget(&self, ticket: &Arc<Tally>) {
        let mut forgotten = List::new();
        let mut inner = self.inner.lock();
        let mut cursor = inner.events.cursor_front();
        while let Some(event) = cursor.peek_next() {
            if event
                .ticket
                .as_ref()
                .is_some_and(|t| Arc::ptr_eq(t, ticket))
            {
                forgotten.push_back(event.remove());
            } else {
                cursor.move_next();
            }
        }
        drop(inner);
        drop(forgotten);
    }
}

impl DeviceSink for Queue {
    fn happened(&self, port: u32, event: u32) {
        self.push(u64::from(port), event);
    }
}

/// One object's access to a queue. When it is dropped, its unread events go.
pub(crate) struct Ticket {
    queue: Arc<Queue>,
    tally: Arc<Tally>,
}

impl Ticket {
    pub(crate) fn new(queue: Arc<Queue>) -> Result<Self> {
        let tally = Arc::new(
            Tally {
                read: Atomic::new(0),
            },
            GFP_KERNEL,
        )?;
        Ok(Self { queue, tally })
    }

    pub(crate) fn push(&self, element: u64, kind: u32) {
        self.queue.enqueue(element, kind, Some(self.tally.clone()));
    }

    /// Takes the unread events away, and tells how many were read.
    pub(crate) fn settle(&self) -> u32 {
        self.queue.forget(&self.tally);
        self.tally.read.load(Relaxed)
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.queue.forget(&self.tally);
    }
}

#[kunit_tests(shverbs_event_queue)]
mod tests {
    use super::*;

    fn next(queue: &Queue) -> Result<(u64, u32)> {
        queue
            .next(true, true)
            .map(|event| (event.element, event.kind))
    }

    #[test]
    fn events_come_in_order() -> Result {
        let queue = Queue::new()?;
        assert_eq!(next(&queue), Err(EAGAIN));
        queue.push(1, 10);
        queue.push(2, 20);
        queue.push(1, 30);
        assert_eq!(next(&queue), Ok((1, 10)));
        assert_eq!(next(&queue), Ok((2, 20)));
        assert_eq!(next(&queue), Ok((1, 30)));
        assert_eq!(next(&queue), Err(EAGAIN));
        Ok(())
    }

    #[test]
    fn a_short_read_takes_nothing() -> Result {
        let queue = Queue::new()?;
        assert_eq!(queue.next(true, false).err(), Some(EAGAIN));
        queue.push(1, 10);
        assert_eq!(queue.next(true, false).err(), Some(EINVAL));
        assert_eq!(next(&queue), Ok((1, 10)));
        Ok(())
    }

    #[test]
    fn what_is_read_counts() -> Result {
        let queue = Queue::new()?;
        let (a, b) = (Ticket::new(queue.clone())?, Ticket::new(queue.clone())?);
        a.push(1, 0);
        b.push(2, 0);
        a.push(1, 0);
        a.push(1, 0);
        assert_eq!(next(&queue), Ok((1, 0)));
        assert_eq!(next(&queue), Ok((2, 0)));
        assert_eq!(next(&queue), Ok((1, 0)));
        assert_eq!(a.settle(), 2);
        assert_eq!(b.settle(), 1);
        assert_eq!(next(&queue), Err(EAGAIN));
        Ok(())
    }

    #[test]
    fn one_objects_events_go_alone() -> Result {
        let queue = Queue::new()?;
        let (a, b) = (Ticket::new(queue.clone())?, Ticket::new(queue.clone())?);
        for round in 0..3 {
            a.push(1, round);
            b.push(2, round);
            queue.push(3, round);
        }
        drop(a);
        assert_eq!(b.settle(), 0);
        for round in 0..3 {
            assert_eq!(next(&queue), Ok((3, round)));
        }
        assert_eq!(next(&queue), Err(EAGAIN));
        Ok(())
    }

    #[test]
    fn a_closed_queue_is_empty() -> Result {
        let queue = Queue::new()?;
        let ticket = Ticket::new(queue.clone())?;
        ticket.push(1, 0);
        queue.close();
        ticket.push(1, 0);
        assert_eq!(next(&queue), Err(EIO));
        assert_eq!(ticket.settle(), 0);
        Ok(())
    }

    #[test]
    fn a_finished_queue_is_read_to_its_end() -> Result {
        let queue = Queue::new()?;
        queue.push(1, 10);
        queue.finish_with(0, 8);
        queue.push(2, 20);
        assert_eq!(next(&queue), Ok((1, 10)));
        assert_eq!(next(&queue), Ok((0, 8)));
        assert_eq!(next(&queue), Err(EIO));
        Ok(())
    }
}
