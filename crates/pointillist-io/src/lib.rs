//! Files for [`pointillist`]: tables of events, trials and exposure, borders, dates as numbers, models, summaries, results written whole or not
//! at all; bundled data sets; and what a user says of a model, with what a fit says of itself.
//!
//! ```
//! use pointillist_io::{EventSettings, read_events};
//!
//! // A bundled set; the path of a CSV or Parquet file works as well.
//! let coal = read_events("coal", &EventSettings::default())?;
//! assert_eq!(coal.events.len(), 191);
//!
//! // An error is one sentence. Settings in it are spelled by the front end, here by none.
//! let sentence = read_events("no-such-file.csv", &EventSettings::default()).unwrap_err().to_string();
//! assert_eq!(sentence, "no-such-file.csv does not exist; check the name and the directory");
//! # Ok::<(), pointillist_io::InputError>(())
//! ```
//!
//! Everything that is read is [`Opened`] once; tables then come through [`read_bytes`], or if they are too large for that through [`Stream`].
//! Everything that is written leaves through [`write_atomically`]. The crate fits nothing and draws nothing, and it never prints: an error is
//! a [`Message`] for the caller to show.

pub mod arrays;
mod averaged;
mod checkpoint_file;
mod checksum;
mod columns;
pub mod covariates;
pub mod components;
pub mod datasets;
pub mod events;
mod exposure;
pub mod fault;
mod filter;
mod finite;
pub mod fit_summary;
pub mod geography;
mod geojson;
mod geojson_points;
pub mod geotiff;
mod geotiff_in;
mod in_words;
pub mod joint_summary;
mod input_error;
mod memory;
pub mod measured;
mod message;
mod model_file;
mod model_settings;
pub mod observed;
mod outage;
mod output;
#[cfg_attr(not(feature = "parquet"), path = "no_parquet.rs")]
mod parquet;
mod pattern;
mod plain;
pub mod regions;
pub mod sampling;
mod source;
pub mod spec;
mod stream;
pub mod summarise;
mod summary_file;
mod table;
mod time;
mod trials;
pub mod types;
pub mod update;
mod window;
mod zone;

pub use checkpoint_file::{CheckpointError, checkpoint_from, read_checkpoint, write_checkpoint};
pub use checksum::{Checksum, resealed};
pub use columns::{Column, csv_text, geojson_text, json_text, number};
pub use events::{
    EventSettings, HeldOut, HeldOutEvents, Loaded, LooksSaidBy, Placed, RowSettings, TypeLabels, header_of,
    read_events, read_held_out, read_points,
};
pub use filter::Filter;
pub use finite::not_finite;
pub use geography::Geography;
pub use geojson::Feature;
pub use geojson_points::is_geojson;
pub use in_words::NO_MEMORY;
pub use input_error::InputError;
pub use memory::set_limit;
pub use message::{Action, Message, Plain, Setting, Spelling};
pub use model_file::{
    GROWTH as MODEL_GROWTH, KeptEvents, KeptTypes, MOST_EVENTS, ModelFile, ModelFileError, Reference,
};
pub use model_settings::{Basis, Degrees, FitSettings, InducingSetting, Mean, Shape};
pub use outage::outage;
pub use output::{OutputError, Written, begin_writing, check_name, check_target, ending, give_up, write_atomically};
pub use pattern::Pattern;
pub use pointillist::internals::base64;
pub use regions::{Region, RegionGroup};
pub use source::{Input, Opened, read_file};
pub use stream::{Chunk, Extent, Stream};
pub use summary_file::{SummaryFile, SummaryFileError, show_axes};
pub use table::{Counting, Dates, ReadOptions, Table, read_bytes, read_header, source_name};
pub use time::{Epoch, TimeAxis, TimeUnit};
pub use trials::Trials;
pub use window::{Given, On, column_of, onto_axis, place, show_box, show_point, show_window, time_axis};
pub use zone::{Zone, looks, odd_times, on_clocks};
