//! The command `pointillist`: events in, an intensity with its uncertainty out.

mod args;
mod commands;
mod datasets;
mod interrupt;
mod io;
mod options;
mod plot;

use std::process::ExitCode;

fn main() -> ExitCode {
    commands::main()
}
