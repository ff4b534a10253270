//! The model file: one JSON document with all numbers of a posterior (docs/model-file.md).
//!
//! It holds no time of day and no duration, so the same events and options give the same bytes. Its last field is the checksum of all
//! before it: a file that lost anything, or in which a digit is not what it was, is refused.

use super::base64;
use super::checksum::{Header, check_seal, sealed};
use super::input_error::InputError;
use super::message::{Action, Message, impl_error};
use super::output::{OutputError, write_atomically};
use super::source::read_file;
use super::summary_file::{SummaryFile, is_summary};
use super::table::source_name;
use super::zone::Zone;
use crate::message;
use pointillist::measurements::MeasuredPosterior;
use pointillist::state::{MeasuredState, PosteriorState};
use pointillist::types::TypesPosterior;
use pointillist::{Axis, Points, Posterior};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// What every model file says of itself.
const FORMAT: &str = "pointillist-model";
/// The version this program writes, and the only one it reads.
const VERSION: u64 = 1;
/// Bytes of memory for each byte of a model file that is read.
pub const GROWTH: u64 = 4;
/// Up to this many events are kept, for the pictures; they are no part of the model.
pub const MOST_EVENTS: usize = 20_000;

/// A model with what belongs to it.
#[derive(Clone, Debug)]
pub struct ModelFile {
    /// The name of the file the events came from.
    pub source: String,
    /// What a fit says of itself, without its duration.
    pub summary: serde_json::Value,
    /// The posterior.
    pub posterior: Posterior,
    /// Number of events it was fitted to.
    pub event_count: usize,
    /// The events, unless there were too many to keep.
    pub events: Option<KeptEvents>,
    /// The events by cell, if they came so: more may be added to them.
    pub cells: Option<SummaryFile>,
    /// The types of events, if the posterior is of several: then it is that of the first, and the others are views of it.
    pub types: Option<KeptTypes>,
    /// What was measured beside the events, if anything was: a view of the posterior too.
    pub measured: Option<MeasuredState>,
    /// What front ends know of the coordinates beyond their axes.
    pub reference: Reference,
    /// The command that made it, without what changes nothing in it.
    pub command: Option<String>,
}

/// How coordinates are meant.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Reference {
    /// The coordinate reference system, as in `EPSG:4326`, or WKT.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crs: Option<String>,
    /// The time zone in which dates are shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_zone: Option<String>,
}

impl Reference {
    /// What axes say of themselves.
    pub fn of(axes: &[Axis]) -> Self {
        Self { crs: axes.iter().find_map(|axis| axis.crs.clone()), time_zone: None }
    }
}

/// Types of events, with what is kept of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeptTypes {
    /// Their names.
    pub names: Vec<String>,
    /// How many events there are of each.
    pub counts: Vec<usize>,
    /// The number of the type of each event that is kept, from 0.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kinds: Vec<usize>,
}

/// Events kept for pictures.
#[derive(Clone, Debug)]
pub struct KeptEvents {
    /// Where they are.
    pub points: Points,
    /// For each the number of its trial from 0, if they have trials.
    pub trials: Option<Vec<usize>>,
}

/// Why a model could not be read; its [message](ModelFileError::message) is one sentence with the remedy.
#[derive(Debug)]
#[allow(missing_docs)] // the fields are the words of the sentences
pub enum ModelFileError {
    /// The file itself cannot be read.
    Input(InputError),
    /// No bytes.
    Empty { file: String },
    /// Something else.
    Foreign { file: String },
    /// A summary of events.
    Summary { file: String },
    /// JSON that stops before its end.
    CutShort { file: String },
    /// Of several types, where one rate is asked for.
    Types { file: String, names: Vec<String> },
    /// Of another version.
    Version { file: String, found: u64 },
    /// It says it is a model, but makes no sense.
    Damaged { file: String, why: String },
}

impl_error!(ModelFileError);

impl From<InputError> for ModelFileError {
    fn from(error: InputError) -> Self {
        Self::Input(error)
    }
}

impl ModelFileError {
    /// The sentence.
    pub fn message(&self) -> Message {
        match self {
            Self::Input(error) => error.message(),
            Self::Empty { file } => message!["{file} is empty; write a model with ", Action::Fit.of("EVENTS")],
            Self::Foreign { file } => message!["{file} is not a model file; write one with ", Action::Fit.of("EVENTS")],
            Self::Summary { file } => {
                message!["{file} is a summary of events, not a model; make one of it with ", Action::Fit.of(file)]
            }
            Self::Types { file, names } => {
                let names = names.join(", ");
                message![
                    "{file} is a model of several types ({names}), and what is asked for is not known of those; predict, count, contrast, plot, sample, simulate, score, report, show and the check of a fit are; \
                     or fit one type by itself"
                ]
            }
            Self::CutShort { file } => message!["{file} is cut short; copy it again, or fit again"],
            Self::Version { file, found } => message![
                "{file} was made by another version of pointillist (model format {found}, this one reads {VERSION}); fit again, or use that \
                 version"
            ],
            Self::Damaged { file, why } => message!["{file} is damaged ({why}); copy it again, or fit again"],
        }
    }
}

/// The whole document.
#[derive(Serialize, Deserialize)]
struct Document {
    format: String,
    version: u64,
    created_by: String,
    source: String,
    summary: serde_json::Value,
    event_count: usize,
    posterior: PosteriorState,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    types: Option<KeptTypes>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    measured: Option<MeasuredState>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    events: Option<EventRows>,
    /// A summary file, in base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cells: Option<String>,
    #[serde(flatten)]
    reference: Reference,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    command: Option<String>,
}

/// Kept events as they are written.
#[derive(Serialize, Deserialize)]
struct EventRows {
    names: Vec<String>,
    points: Vec<Vec<f64>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    trials: Option<Vec<usize>>,
}

impl ModelFile {
    /// The file's text.
    pub fn to_json(&self) -> String {
        self.to_json_referred(&self.reference)
    }

    /// The same with coordinates meant so.
    pub fn to_json_referred(&self, reference: &Reference) -> String {
        let axes = self.posterior.window().axes();
        let events = self.events.as_ref().map(|events| EventRows {
            names: axes.iter().map(|axis| axis.name.clone()).collect(),
            points: events.points.rows().map(<[f64]>::to_vec).collect(),
            trials: events.trials.clone(),
        });
        let document = Document {
            format: FORMAT.into(),
            version: VERSION,
            created_by: format!("pointillist {}", env!("CARGO_PKG_VERSION")),
            source: self.source.clone(),
            summary: self.summary.clone(),
            event_count: self.event_count,
            posterior: self.posterior.state(),
            types: self.types.clone(),
            measured: self.measured.clone(),
            events,
            cells: self.cells.as_ref().map(|cells| base64::encode(&cells.to_bytes())),
            reference: reference.clone(),
            command: self.command.clone(),
        };
        // Names and finite numbers always serialise.
        sealed(serde_json::to_string(&document).unwrap_or_default())
    }

    /// Writes it to `path`, whole or not at all.
    pub fn write(&self, path: &Path) -> Result<(), OutputError> {
        write_atomically(path, self.to_json().as_bytes())
    }

    /// Reads the model at `path`, `-` for standard input. One of several types is refused.
    pub fn read(path: &str) -> Result<Self, ModelFileError> {
        Self::from_bytes(source_name(path), &read_file(path)?)
    }

    /// The same for who knows of types.
    pub fn read_any(path: &str) -> Result<Self, ModelFileError> {
        Self::any_from_bytes(source_name(path), &read_file(path)?)
    }

    /// The model in `bytes`; `file` stands for it in messages. One of several types is refused.
    pub fn from_bytes(file: &str, bytes: &[u8]) -> Result<Self, ModelFileError> {
        let model = Self::any_from_bytes(file, bytes)?;
        match &model.types {
            Some(types) => Err(ModelFileError::Types { file: file.into(), names: types.names.clone() }),
            None => Ok(model),
        }
    }

    /// The same for who knows of types.
    pub fn any_from_bytes(file: &str, bytes: &[u8]) -> Result<Self, ModelFileError> {
        let file = || file.to_string();
        if bytes.trim_ascii().is_empty() {
            return Err(ModelFileError::Empty { file: file() });
        }
        if is_summary(bytes) {
            return Err(ModelFileError::Summary { file: file() });
        }
        if !is_json(bytes) {
            return Err(ModelFileError::Foreign { file: file() });
        }
        let header: Header = serde_json::from_slice(bytes).map_err(|error| match error.classify() {
            serde_json::error::Category::Eof => ModelFileError::CutShort { file: file() },
            serde_json::error::Category::Data => ModelFileError::Foreign { file: file() },
            _ => ModelFileError::Damaged { file: file(), why: one_line(&error) },
        })?;
        if header.format != FORMAT {
            return Err(ModelFileError::Foreign { file: file() });
        }
        if header.version != VERSION {
            return Err(ModelFileError::Version { file: file(), found: header.version });
        }
        let damaged = |why: String| ModelFileError::Damaged { file: file(), why };
        check_seal(bytes).map_err(|unsealed| damaged(unsealed.to_string()))?;
        let document: Document = serde_json::from_slice(bytes).map_err(|error| damaged(one_line(&error)))?;
        let posterior = Posterior::from_state(document.posterior).map_err(|error| damaged(error.to_string()))?;
        let dims = posterior.window().dims();
        let events = document.events.map(|rows| rows.kept(dims)).transpose().map_err(damaged)?;
        if events.as_ref().is_some_and(|events| events.points.len() != document.event_count) {
            return Err(damaged("the number of events kept is not the number it gives".into()));
        }
        if let Some(types) = &document.types {
            let kept = events.as_ref().map_or(0, |events| events.points.len());
            types.check(&posterior, document.event_count, kept).map_err(damaged)?;
        }
        if let Some(measured) = &document.measured {
            MeasuredPosterior::new(posterior.clone(), measured.clone()).map_err(|error| damaged(error.to_string()))?;
        }
        let zones = posterior.window().axes().iter().filter_map(|axis| axis.zone.as_deref());
        for zone in zones {
            Zone::named(zone).map_err(|_| damaged(format!("there is no time zone {}", zone.escape_default())))?;
        }
        let cells = document.cells.map(|text| cells(&text)).transpose().map_err(damaged)?;
        let Document { source, summary, event_count, reference, command, types, measured, .. } = document;
        Ok(Self { source, summary, posterior, event_count, events, cells, types, measured, reference, command })
    }
}

impl KeptTypes {
    /// Refuses numbers that do not fit each other.
    fn check(&self, posterior: &Posterior, events: usize, kept: usize) -> Result<(), String> {
        TypesPosterior::new(self.names.clone(), posterior.clone()).map_err(|error| error.to_string())?;
        let of_each = (0..self.names.len()).map(|kind| self.kinds.iter().filter(|own| **own == kind).count());
        let fits = self.kinds.len() == kept
            && self.counts.len() == self.names.len()
            && self.counts.iter().try_fold(0usize, |sum, count| sum.checked_add(*count)) == Some(events)
            && (kept == 0 || of_each.eq(self.counts.iter().copied()));
        if fits { Ok(()) } else { Err("the types of its events do not fit their numbers".into()) }
    }
}

/// A summary file from base64.
fn cells(text: &str) -> Result<SummaryFile, String> {
    let bytes = base64::decode(text).ok_or("its cells are not base64")?;
    SummaryFile::from_bytes("its summary", &bytes).map_err(|error| error.to_string())
}

impl EventRows {
    fn kept(self, dims: usize) -> Result<KeptEvents, String> {
        if self.points.iter().any(|row| row.len() != dims) {
            return Err(format!("an event does not have {dims} coordinates"));
        }
        let count = self.points.len();
        if self.trials.as_ref().is_some_and(|trials| trials.len() != count) {
            return Err("the number of trials is not that of the events".into());
        }
        let points = Points::new(dims, self.points.concat()).map_err(|error| error.to_string())?;
        Ok(KeptEvents { points, trials: self.trials })
    }
}

/// Whether bytes begin as a JSON object does, which no table of events can.
pub fn is_json(bytes: &[u8]) -> bool {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    bytes.trim_ascii_start().first() == Some(&b'{')
}

/// What serde says may quote the file.
pub(super) fn one_line(error: &serde_json::Error) -> String {
    error.to_string().chars().map(|c| if c.is_control() { ' ' } else { c }).take(200).collect()
}
