// SPDX-License-Identifier: GPL-2.0

//! Who gets the events of an object.

use super::queue::{
    Queue,
    Ticket, //
};
use crate::rdma::sink::Sink;
use kernel::{
    new_spinlock_irq,
    prelude::*,
    sync::{
        Arc,
        SpinLockIrq, //
    },
};

/// What one holder wants of an object's events.
struct Subscription {
    /// This holder's user handle.
    element: u64,
    completions: Option<Ticket>,
    events: Option<Ticket>,
}

/// All who get the events of one object. A hardware object reports here.
#[pin_data]
pub(crate) struct Subscribers {
    #[pin]
    all: SpinLockIrq<KVec<Arc<Subscription>>>,
}

/// How many events a holder has read.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub(crate) struct Reported {
    pub(crate) completions: u32,
    pub(crate) events: u32,
}

/// A holder's place among the subscribers. Nothing comes any more once it is dropped, and what has
/// come and was not read is gone.
pub(crate) struct Subscribed {
    subscribers: Arc<Subscribers>,
    subscription: Arc<Subscription>,
}

impl Subscribers {
    pub(crate) fn new() -> Result<Arc<Self>> {
        Arc::pin_init(
            pin_init!(Self {
                all <- new_spinlock_irq!(KVec::new()),
            }),
            GFP_KERNEL,
        )
    }

    /// Lets a holder's queues have the events, under its user handle.
    pub(crate) fn subscribe(
        self: &Arc<Self>,
        element: u64,
        completions: Option<Arc<Queue>>,
        events: Option<Arc<Queue>>,
    ) -> Result<Subscribed> {
        let subscription = Arc::new(
            Subscription {
                element,
                completions: completions.map(Ticket::new).transpose()?,
                events: events.map(Ticket::new).transpose()?,
            },
            GFP_KERNEL,
        )?;
        self.all.lock().push(subscription.clone(), GFP_ATOMIC)?;
        Ok(Subscribed {
            subscribers: self.clone(),
            subscription,
        })
    }

    /// Afterwards nothing is pushed for `subscription`.
    fn remove(&self, subscription: &Arc<Subscription>) {
        let removed = {
            let mut all = self.all.lock();
            let at = all.iter().position(|s| Arc::ptr_eq(s, subscription));
            at.and_then(|at| all.remove(at).ok())
        };
        drop(removed);
    }
}

impl Sink for Subscribers {
    fn completed(&self) {
        for subscription in self.all.lock().iter() {
            if let Some(ticket) = &subscription.completions {
                ticket.push(subscription.element, 0);
            }
        }
    }

    fn happened(&self, event: u32) {
        for subscription in self.all.lock().iter() {
            if let Some(ticket) = &subscription.events {
                ticket.push(subscription.element, event);
            }
        }
    }
}

impl Subscribed {
    /// Gives the subscription up, and tells what was read under it.
    pub(crate) fn end(self) -> Reported {
        self.subscribers.remove(&self.subscription);
        let settle = |ticket: &Option<Ticket>| ticket.as_ref().map_or(0, Ticket::settle);
        Reported {
            completions: settle(&self.subscription.completions),
            events: settle(&self.subscription.events),
        }
    }
}

impl Drop for Subscribed {
    fn drop(&mut self) {
        self.subscribers.remove(&self.subscription);
    }
}

#[kunit_tests(shverbs_event_subscription)]
mod tests {
    use super::*;

    fn next(queue: &Queue) -> Result<(u64, u32)> {
        queue
            .next(true, true)
            .map(|event| (event.element, event.kind))
    }

    #[test]
    fn each_holder_has_its_own_handle() -> Result {
        let (first, second) = (Queue::new()?, Queue::new()?);
        let cq = Subscribers::new()?;
        let a = cq.subscribe(1, Some(first.clone()), Some(second.clone()))?;
        let b = cq.subscribe(2, Some(second.clone()), None)?;
        cq.completed();
        cq.happened(7);
        assert_eq!(next(&first), Ok((1, 0)));
        assert_eq!(next(&second), Ok((2, 0)));
        assert_eq!(next(&second), Ok((1, 7)));
        assert_eq!(next(&first), Err(EAGAIN));
        assert_eq!(next(&second), Err(EAGAIN));
        assert_eq!(
            a.end(),
            Reported {
                completions: 1,
                events: 1
            }
        );
        assert_eq!(
            b.end(),
            Reported {
                completions: 1,
                events: 0
            }
        );
        Ok(())
    }

    #[test]
    fn a_holder_that_left_gets_nothing() -> Result {
        let queue = Queue::new()?;
        let cq = Subscribers::new()?;
        let a = cq.subscribe(1, Some(queue.clone()), Some(queue.clone()))?;
        let b = cq.subscribe(2, Some(queue.clone()), None)?;
        cq.completed();
        drop(a);
        cq.completed();
        cq.happened(7);
        assert_eq!(next(&queue), Ok((2, 0)));
        assert_eq!(next(&queue), Ok((2, 0)));
        assert_eq!(next(&queue), Err(EAGAIN));
        assert_eq!(
            b.end(),
            Reported {
                completions: 2,
                events: 0
            }
        );
        Ok(())
    }
}
