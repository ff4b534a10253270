//! The command `pointillist`: events in, an intensity with its uncertainty out.

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: pointillist_cli::OrEnd = pointillist_cli::OrEnd;

fn main() -> ExitCode {
    pointillist_cli::main()
}
