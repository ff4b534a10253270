//! What the command `pointillist` is made of. It is a library only so that tests can get at it; use `pointillist` itself.

mod allocator;
mod args;
mod commands;
mod interrupt;
mod io;
mod options;
mod spelling;

use pointillist_io::datasets;

pub use allocator::OrEnd;
pub use commands::{hostile, main};
