//! Files in, files out: tables of events, dates as numbers, windows, model files, results written whole or not at all.
//!
//! Everything the command reads as a table comes through [`read_bytes`]; everything it writes leaves
//! through [`write_atomically`] or [`stdout_text`]. The module fits nothing and draws nothing, and it never prints: an error is one
//! sentence for the caller to show.

mod columns;
mod model_file;
mod output;
mod table;
mod time;
mod window;

pub use columns::{Column, csv_text, json_text};
pub use model_file::{MOST_EVENTS, ModelFile, ModelFileError, is_json};
pub use output::{OutputError, check_target, remove_unfinished, stdout_text, write_atomically};
pub use table::{InputError, ReadOptions, Table, read_bytes, read_file, source_name};
pub use time::{TimeAxis, TimeUnit};
pub use window::{parse_window, place, show_window, time_axis};
