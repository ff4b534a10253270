//! The command `pointillist`: events in, an intensity with its uncertainty out.

use std::process::ExitCode;

fn main() -> ExitCode {
    pointillist_cli::main()
}
