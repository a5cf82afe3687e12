// SPDX-License-Identifier: GPL-2.0

//! mlx5 SOCKET [CONTROL]: serves the model to one guest, on a socket for QEMU
//! and one for faults and counters.

use bus::{serve, Sockets};
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let Some(device) = arguments.next() else {
        eprintln!("usage: mlx5 SOCKET [CONTROL]");
        return ExitCode::from(2);
    };
    let mut sockets = Sockets::new(device);
    if let Some(control) = arguments.next() {
        sockets = sockets.with_control(control);
    }
    match serve(&sockets, &mlx5::identity(), &mut mlx5::Hca::default()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("mlx5: {error}");
            ExitCode::FAILURE
        }
    }
}
