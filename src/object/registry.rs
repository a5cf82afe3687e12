// SPDX-License-Identifier: GPL-2.0

//! What must end when something else does: the Objects and Contexts of a Device when that goes.
//!
//! They end newest first, so that a child ends before what it was made from.

use crate::{
    rdma::device::Live,
    sys::lineup::{
        Lineup,
        Listed, //
    },
};

/// Something that ends with its device.
pub(crate) trait Mortal: Send + Sync {
    /// Destroys what is left of it in hardware. Nobody else has access to the device.
    fn kill(&self, live: &Live<'_>);

    /// Takes back what is mapped of it into user space.
    fn zap(&self) {}
}

/// Those that live, in the order of their making.
pub(crate) type Registry = Lineup<dyn Mortal>;

/// One that can be in a [`Registry`].
pub(crate) type Member<T> = Listed<T, dyn Mortal>;

impl Registry {
    /// Ends all, newest first.
    pub(crate) fn kill_all(&self, live: &Live<'_>) {
        while let Some(one) = self.take_newest() {
            one.kill(live);
        }
    }

    /// Takes back what is mapped of any.
    pub(crate) fn zap_all(&self) {
        self.for_each(|one| one.zap());
    }
}
