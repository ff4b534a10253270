//! Files in, files out: tables of events, dates as numbers, results written whole or not at all.
//!
//! Everything the command reads as a table comes through [`read_path`] or [`read_bytes`]; everything it writes leaves
//! through [`write_atomically`] or [`stdout_text`]. The module knows nothing of windows, models or pictures, and it
//! never prints: an error is one sentence for the caller to show.

mod output;
mod table;
mod time;

pub use output::{OutputError, remove_unfinished, stdout_text, write_atomically};
pub use table::{InputError, ReadOptions, Table, read_bytes, read_path};
pub use time::{TimeAxis, TimeUnit, UnknownTimeUnit};
