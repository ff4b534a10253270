//! Files in, files out: tables of events, trials and exposure, borders, dates as numbers, models, summaries, results written whole or not at all.
//!
//! Everything that is read is [`Opened`] once; tables then come through [`read_bytes`], or if they are too large for that through [`Stream`].
//! Everything that is written leaves through [`write_atomically`]. The crate fits nothing and draws nothing, and it never prints: an error is
//! one sentence for the caller to show.

mod base64;
mod checkpoint_file;
mod checksum;
mod columns;
pub mod datasets;
mod exposure;
mod filter;
mod finite;
mod geojson;
mod memory;
mod model_file;
mod output;
#[cfg_attr(not(feature = "parquet"), path = "no_parquet.rs")]
mod parquet;
mod pattern;
mod plain;
mod source;
mod stream;
mod summary_file;
mod table;
mod time;
mod trials;
mod window;

pub use checkpoint_file::{CheckpointError, checkpoint_from, read_checkpoint, write_checkpoint};
pub use checksum::resealed;
pub use columns::{Column, csv_text, json_text, number};
pub use exposure::{ExposureTable, choose_columns, exposure_table};
pub use filter::Filter;
pub use finite::not_finite;
pub use geojson::{Feature, GROWTH as BORDER_GROWTH, Ring, read_features, read_polygons, ring_name};
pub use memory::{given_limit, set_limit};
pub use model_file::{GROWTH as MODEL_GROWTH, KeptEvents, MOST_EVENTS, ModelFile, ModelFileError};
pub use output::{OutputError, Written, begin_writing, check_name, check_target, give_up, write_atomically};
pub use pattern::Pattern;
pub use source::{Input, Opened, read_file};
pub use stream::{Chunk, Extent, Stream};
pub use summary_file::{SummaryFile, SummaryFileError};
pub use table::{Counting, Dates, InputError, ReadOptions, Table, read_bytes, read_header, read_table, source_name};
pub use time::{Epoch, TimeAxis, TimeUnit};
pub use trials::Trials;
pub use window::{column_of, is_end, onto_axis, parse_box, place, show_box, show_point, show_window, time_axis};
