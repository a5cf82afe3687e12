// SPDX-License-Identifier: GPL-2.0

//! Lists of things in the order in which they came, where each is itself the entry: to come and to go
//! needs no memory and no search.

use core::{
    ops::Deref,
    ptr, //
};
use kernel::{
    list::{
        impl_list_arc_safe,
        impl_list_item,
        List,
        ListArc,
        ListLinksSelfPtr, //
    },
    new_mutex,
    prelude::*,
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        Arc,
        Mutex,
        UniqueArc, //
    },
};

/// Those that have come and not gone. The lock is taken last, and nothing is called or dropped under
/// it.
#[pin_data]
pub(crate) struct Lineup<D: ?Sized> {
    #[pin]
    inner: Mutex<Inner<D>>,
}

struct Inner<D: ?Sized> {
    next_age: u64,
    list: List<Listed<D, D>>,
}

/// Which lineup; compared only.
pub(crate) struct Home<D: ?Sized>(*const Lineup<D>);

/// A `T` that can be in one lineup of `D`s, such as `dyn Trait`.
///
/// # Invariants
///
/// It is in no list but that of the lineup `home`.
#[pin_data]
pub(crate) struct Listed<T: ?Sized, D: ?Sized> {
    home: Home<D>,
    age: Atomic<u64>,
    #[pin]
    links: ListLinksSelfPtr<Listed<D, D>>,
    #[pin]
    value: T,
}

impl_list_arc_safe! {
    impl{T: ?Sized, D: ?Sized} ListArcSafe<0> for Listed<T, D> { untracked; }
}
impl_list_item! {
    impl{D: ?Sized} ListItem<0> for Listed<D, D> { using ListLinksSelfPtr { self.links }; }
}

// SAFETY: `home` is not followed; all else is as `T` is.
unsafe impl<T: Send + ?Sized, D: Send + Sync + ?Sized> Send for Listed<T, D> {}
// SAFETY: As above; the links are guarded by the lineup's lock.
unsafe impl<T: Sync + ?Sized, D: Send + Sync + ?Sized> Sync for Listed<T, D> {}

impl<T: ?Sized, D: ?Sized> Deref for Listed<T, D> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T, D: ?Sized> Listed<T, D> {
    /// For one lineup only.
    pub(crate) fn new(home: Home<D>, value: impl PinInit<T>) -> impl PinInit<Self> {
        // INVARIANT: In no list.
        pin_init!(Self {
            home,
            age: Atomic::new(0),
            links <- ListLinksSelfPtr::new(),
            value <- value,
        })
    }
}

impl<D: ?Sized> Lineup<D> {
    pub(crate) fn new() -> impl PinInit<Self> {
        pin_init!(Self {
            inner <- new_mutex!(Inner {
                next_age: 0,
                list: List::new(),
            }),
        })
    }

    pub(crate) fn home(&self) -> Home<D> {
        Home(self)
    }

    /// Comes, as the newest. What is at home elsewhere does not.
    pub(crate) fn enter(&self, one: Entry<D, D>) {
        if self.is_home_of(&one) {
            self.inner.lock().push(one);
        }
    }

    /// Becomes the newest, if it has not gone.
    pub(crate) fn renew(&self, one: &Listed<D, D>) {
        if !self.is_home_of(one) {
            return;
        }
        let mut inner = self.inner.lock();
        // SAFETY: By the invariant of `Listed` it is in no other list than this.
        if let Some(one) = unsafe { inner.list.remove(one) } {
            inner.push(one);
        }
    }

    /// Goes, if it has not gone.
    pub(crate) fn leave(&self, one: &Listed<D, D>) {
        if !self.is_home_of(one) {
            return;
        }
        let mut inner = self.inner.lock();
        // SAFETY: By the invariant of `Listed` it is in no other list than this.
        let gone = unsafe { inner.list.remove(one) };
        drop(inner);
        drop(gone);
    }

    /// Takes the newest out.
    pub(crate) fn take_newest(&self) -> Option<Arc<Listed<D, D>>> {
        let newest = self.inner.lock().list.pop_back();
        newest.map(ListArc::into_arc)
    }

    /// Calls `f` with each, the oldest first. Those that come and go meanwhile may be left out.
    ///
    /// As the lock is not held over a call, each is looked for anew: this is for what is rare.
    pub(crate) fn for_each(&self, f: impl Fn(&D)) {
        let mut from = 0;
        while let Some(one) = self.first_from(from) {
            f(&one);
            from = one.age.load(Relaxed).saturating_add(1);
        }
    }

    fn first_from(&self, age: u64) -> Option<Arc<Listed<D, D>>> {
        let mut inner = self.inner.lock();
        let mut cursor = inner.list.cursor_front();
        while let Some(one) = cursor.peek_next() {
            if one.age.load(Relaxed) >= age {
                return Some(one.arc().into());
            }
            cursor.move_next();
        }
        None
    }

    fn is_home_of(&self, one: &Listed<D, D>) -> bool {
        ptr::eq(one.home.0, self)
    }
}

impl<D: ?Sized> Inner<D> {
    fn push(&mut self, one: Entry<D, D>) {
        one.age.store(self.next_age, Relaxed);
        // 2^64 of them take centuries.
        self.next_age = self.next_age.wrapping_add(1);
        self.list.push_back(one);
    }
}

/// What comes into a lineup: there is one of a thing.
pub(crate) type Entry<T, D> = ListArc<Listed<T, D>>;

/// A thing, and what is to come into its lineup for it.
pub(crate) fn pair<T, D: ?Sized>(
    one: Pin<UniqueArc<Listed<T, D>>>,
) -> (Arc<Listed<T, D>>, Entry<T, D>) {
    let one = ListArc::from(one);
    (one.clone_arc(), one)
}

#[kunit_tests(shverbs_lineup)]
mod tests {
    use super::*;

    trait Name: Send + Sync {
        fn name(&self) -> u32;
    }

    impl Name for u32 {
        fn name(&self) -> u32 {
            *self
        }
    }

    type All = Lineup<dyn Name>;

    fn lineup() -> Arc<All> {
        Arc::pin_init(All::new(), GFP_KERNEL).unwrap()
    }

    fn enter(all: &All, name: u32) -> Arc<Listed<u32, dyn Name>> {
        let (one, listed) =
            pair(UniqueArc::pin_init(Listed::new(all.home(), name), GFP_KERNEL).unwrap());
        all.enter(listed);
        one
    }

    fn newest(all: &All) -> Option<u32> {
        all.take_newest().map(|one| one.name())
    }

    #[test]
    fn the_newest_goes_first() {
        let all = lineup();
        let (_, two, _) = (enter(&all, 1), enter(&all, 2), enter(&all, 3));
        all.leave(&*two);
        all.leave(&*two);
        assert_eq!(newest(&all), Some(3));
        assert_eq!(newest(&all), Some(1));
        assert_eq!(newest(&all), None);
    }

    #[test]
    fn who_is_renewed_is_the_newest() {
        let all = lineup();
        let (one, _) = (enter(&all, 1), enter(&all, 2));
        all.renew(&*one);
        assert_eq!(newest(&all), Some(1));
        all.renew(&*one);
        assert_eq!(newest(&all), Some(2));
        assert_eq!(newest(&all), None);
    }

    #[test]
    fn a_lineup_is_left_by_its_own_only() {
        let (here, there) = (lineup(), lineup());
        let one = enter(&here, 1);
        there.leave(&*one);
        there.renew(&*one);
        assert_eq!(newest(&there), None);
        assert_eq!(newest(&here), Some(1));
    }

    #[test]
    fn all_are_called_in_order() {
        let all = lineup();
        let _kept = (enter(&all, 1), enter(&all, 2), enter(&all, 3));
        let sum = Atomic::new(0u32);
        all.for_each(|one| sum.store(sum.load(Relaxed) * 10 + one.name(), Relaxed));
        assert_eq!(sum.load(Relaxed), 123);
    }
}
