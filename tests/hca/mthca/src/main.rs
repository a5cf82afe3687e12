// SPDX-License-Identifier: GPL-2.0

//! mthca SOCKET [CONTROL]: serves the model to one guest, on a socket for QEMU
//! and one for faults and counters.

use bus::{serve, Sockets};
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let Some(device) = arguments.next() else {
        eprintln!("usage: mthca SOCKET [CONTROL]");
        return ExitCode::from(2);
    };
    let mut sockets = Sockets::new(device);
    if let Some(control) = arguments.next() {
        sockets = sockets.with_control(control);
    }
    match serve(&sockets, &mthca::identity(), &mut mthca::Hca::default()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("mthca: {error}");
            ExitCode::FAILURE
        }
    }
}
