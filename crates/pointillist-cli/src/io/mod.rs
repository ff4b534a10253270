//! Files in, files out: tables of events, trials and exposure, borders, dates as numbers, models, summaries, results written whole or not at all.
//!
//! Everything the command reads as a table comes through [`read_bytes`], or if it is too large for that through [`Stream`]; everything it writes leaves
//! through [`write_atomically`] or [`stdout_text`]. The module fits nothing and draws nothing, and it never prints: an error is one
//! sentence for the caller to show.

mod base64;
mod columns;
mod exposure;
mod geojson;
mod model_file;
mod output;
#[cfg_attr(not(feature = "parquet"), path = "no_parquet.rs")]
mod parquet;
mod plain;
mod stream;
mod summary_file;
mod table;
mod time;
mod trials;
mod window;

pub use columns::{Column, csv_text, json_text, number};
pub use exposure::{ExposureTable, choose_columns, exposure_table};
pub use geojson::{Feature, Ring, read_features, read_polygons, ring_name};
pub use model_file::{KeptEvents, MOST_EVENTS, ModelFile, ModelFileError, is_json};
pub use output::{OutputError, check_target, remove_unfinished, stdout_text, write_atomically};
pub use stream::{Chunk, Extent, Input, Stream, parquet_rows};
pub use summary_file::{SummaryFile, SummaryFileError, is_summary_at};
pub use table::{Counting, InputError, ReadOptions, Table, read_bytes, read_file, read_header, source_name};
pub use time::{TimeAxis, TimeUnit};
pub use trials::Trials;
pub use window::{is_end, onto_axis, parse_box, place, show_box, show_point, show_window, time_axis};
