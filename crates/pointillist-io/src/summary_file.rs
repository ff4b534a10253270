//! The summary file: the events of a window by cell, as `summarize` writes and `fit` reads them (docs/summary-file.md).
//!
//! A mark, a version, a header in JSON, the cells in binary, and a checksum over all of it, so that a file that was cut or changed
//! anywhere is refused. It holds no time of day: the same events give the same bytes.

use super::checksum::{Checksum, Summed};
use super::input_error::InputError;
use super::message::{Action, Message, Setting, impl_error};
use super::model_file::one_line;
use super::output::{OutputError, write_through};
use super::source::Opened;
use super::window::show_window;
use crate::message;
use pointillist::Record;
use pointillist::{Axis, Summary, Window};
use serde::{Deserialize, Serialize};
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// What every summary begins with. No text does: the first byte is none of UTF-8.
const MAGIC: &[u8; 8] = b"\x89PTSUM\r\n";
/// The version this program writes, and the only one it reads.
const VERSION: u32 = 1;
/// Mark, version and length of the header.
const PREFIX: usize = 8 + 4 + 4;
/// The checksum.
const SUFFIX: usize = 8;

/// A summary with what belongs to it.
#[derive(Clone, Debug)]
pub struct SummaryFile {
    /// The events by cell.
    pub summary: Summary,
    /// The names of the files they came from.
    pub sources: Vec<String>,
    /// Bad rows that were passed over.
    pub skipped: u64,
    /// Events outside the window that were dropped.
    pub dropped: u64,
}

/// Why a summary could not be read, or not added to another; its [message](SummaryFileError::message) is one sentence with the remedy.
#[derive(Debug)]
#[allow(missing_docs)] // the fields are the words of the sentences
pub enum SummaryFileError {
    /// The file itself cannot be read.
    Input(InputError),
    /// Something else.
    Foreign { file: String },
    /// From the future.
    Newer { file: String, found: u32 },
    /// It stops before its end.
    CutShort { file: String },
    /// A bit is not what it was.
    Checksum { file: String },
    /// The checksum is right and it makes no sense all the same.
    Damaged { file: String, why: String },
    /// Two that do not belong together, and the settings that would make them.
    Mismatch { first: String, second: String, why: String, settings: Vec<Setting> },
}

impl_error!(SummaryFileError);

impl From<InputError> for SummaryFileError {
    fn from(error: InputError) -> Self {
        Self::Input(error)
    }
}

impl SummaryFileError {
    /// The sentence.
    pub fn message(&self) -> Message {
        match self {
            Self::Input(error) => error.message(),
            Self::Foreign { file } => {
                message!["{file} is not a summary; write one with ", Action::Summarize.of("EVENTS")]
            }
            Self::Newer { file, found } => message![
                "{file} was made by a newer version of pointillist (summary format {found}, this one reads {VERSION}); update pointillist"
            ],
            Self::CutShort { file } => message!["{file} is cut short; copy it again, or summarise again"],
            Self::Checksum { file } => {
                message!["{file} is damaged (its checksum is wrong); copy it again, or summarise again"]
            }
            Self::Damaged { file, why } => message!["{file} is damaged ({why}); copy it again, or summarise again"],
            Self::Mismatch { first, second, why, settings } => {
                let settings: Message = match &settings[..] {
                    [] => "options".into(),
                    [rest @ .., last] if !rest.is_empty() => {
                        message![Message::joined(rest.iter().copied(), ", "), " and ", *last]
                    }
                    _ => Message::joined(settings.iter().copied(), ", "),
                };
                message!["{first} and {second} do not add up: {why}; summarise both with the same ", settings]
            }
        }
    }
}

/// What is said before the cells.
#[derive(Serialize, Deserialize)]
struct Header {
    created_by: String,
    window: Window,
    cells: Vec<usize>,
    order: usize,
    events: u64,
    log_exposure: f64,
    sources: Vec<String>,
    skipped: u64,
    dropped: u64,
    /// Cells that follow.
    records: u64,
    /// Bytes they take.
    bytes: u64,
}

/// Whether bytes begin as a summary does.
pub fn is_summary(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

impl SummaryFile {
    /// Writes it to the file at `path`, whole or not at all.
    pub fn write(&self, path: &Path) -> Result<(), OutputError> {
        write_through(path, |file: &mut dyn Write| self.write_to(file))
    }

    /// The same as bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        // Memory does not refuse to be written to.
        let _ = self.write_to(&mut bytes);
        bytes
    }

    /// The same to anything that can be written to.
    pub fn write_to(&self, file: &mut dyn Write) -> io::Result<()> {
        let summary = &self.summary;
        let sizes = summary.records().map(|record| 16 + 8 * record.values.len() as u64);
        let (records, bytes) = sizes.fold((0, 0), |(count, sum), size| (count + 1, sum + size));
        let header = Header {
            created_by: format!("pointillist {}", env!("CARGO_PKG_VERSION")),
            window: summary.window().clone(),
            cells: summary.cells(),
            order: summary.order(),
            events: summary.events(),
            log_exposure: summary.log_exposure(),
            sources: self.sources.clone(),
            skipped: self.skipped,
            dropped: self.dropped,
            records,
            bytes,
        };
        let header = serde_json::to_vec(&header).map_err(io::Error::other)?;
        let length = u32::try_from(header.len()).map_err(io::Error::other)?;
        let mut file = Summed { inner: BufWriter::new(file), sum: Checksum::default() };
        file.write_all(MAGIC)?;
        file.write_all(&VERSION.to_le_bytes())?;
        file.write_all(&length.to_le_bytes())?;
        file.write_all(&header)?;
        let mut cell = Vec::new();
        for record in summary.records() {
            cell.clear();
            cell.extend_from_slice(&(record.index as u64).to_le_bytes());
            cell.extend_from_slice(&record.count.to_le_bytes());
            record.values.iter().for_each(|value| cell.extend_from_slice(&value.to_le_bytes()));
            file.write_all(&cell)?;
        }
        let sum = file.sum.0;
        file.write_all(&sum.to_le_bytes())?;
        file.flush()
    }

    /// Reads the summary that was opened.
    pub fn read(opened: Opened) -> Result<Self, SummaryFileError> {
        let name = opened.source().to_string();
        Self::from_bytes(&name, &opened.summary()?)
    }

    /// The summary in `bytes`; `file` stands for it in messages.
    pub fn from_bytes(file: &str, bytes: &[u8]) -> Result<Self, SummaryFileError> {
        let file = || file.to_string();
        let damaged = |why: String| SummaryFileError::Damaged { file: file(), why };
        if !is_summary(bytes) {
            return Err(SummaryFileError::Foreign { file: file() });
        }
        let mut rest = Fields(&bytes[MAGIC.len()..]);
        let cut_short = || SummaryFileError::CutShort { file: file() };
        let version = rest.u32().ok_or_else(cut_short)?;
        if version > VERSION {
            return Err(SummaryFileError::Newer { file: file(), found: version });
        }
        if version == 0 {
            return Err(damaged("there is no summary format 0".into()));
        }
        let length = rest.u32().ok_or_else(cut_short)? as usize;
        let header = rest.take(length).ok_or_else(cut_short)?;
        let header: Result<Header, _> = serde_json::from_slice(header);
        // How long the file should be is in the header; with that damaged too, the checksum is what is left to go by.
        if let Ok(header) = &header
            && (bytes.len() as u64) < ((PREFIX + length + SUFFIX) as u64).saturating_add(header.bytes)
        {
            return Err(cut_short());
        }
        let (body, sum) = bytes.split_at_checked(bytes.len() - SUFFIX).unwrap_or((bytes, &[]));
        if body.len() < PREFIX + length || Checksum::of(body).0.to_le_bytes() != sum {
            return Err(SummaryFileError::Checksum { file: file() });
        }
        let header = header.map_err(|error| damaged(one_line(&error)))?;
        let summary = summary(&header, &body[PREFIX + length..]).map_err(damaged)?;
        let Header { sources, skipped, dropped, .. } = header;
        Ok(Self { summary, sources, skipped, dropped })
    }

    /// All these summaries, added up.
    pub fn read_all(inputs: impl IntoIterator<Item = Result<Opened, InputError>>) -> Result<Self, SummaryFileError> {
        let mut sum: Option<(Self, String)> = None;
        for opened in inputs {
            let opened = opened?;
            let name = opened.source().to_string();
            let part = Self::read(opened)?;
            match &mut sum {
                None => sum = Some((part, name)),
                Some((sum, first)) => sum.add(part, first, &name)?,
            }
        }
        sum.map(|(sum, _)| sum).ok_or_else(|| SummaryFileError::Foreign { file: "nothing".into() })
    }

    /// Adds another; `first` and `second` stand for the two in messages.
    pub fn add(&mut self, other: Self, first: &str, second: &str) -> Result<(), SummaryFileError> {
        let mismatch = |why: String, settings: &[Setting]| {
            let (first, second) = (first.to_string(), second.to_string());
            Err(SummaryFileError::Mismatch { first, second, why, settings: settings.to_vec() })
        };
        if let Some((why, settings)) = difference(&self.summary, &other.summary) {
            return mismatch(why, settings);
        }
        if let Err(error) = self.summary.merge(&other.summary) {
            return mismatch(error.to_string(), &[]);
        }
        self.sources.extend(other.sources);
        self.skipped += other.skipped;
        self.dropped += other.dropped;
        Ok(())
    }
}

/// The cells that follow a header.
fn summary(header: &Header, bytes: &[u8]) -> Result<Summary, String> {
    let dims = header.cells.len();
    let empty = Summary::new(&header.window, &header.cells).map_err(|error| error.to_string())?;
    if empty.order() != header.order {
        return Err(format!("cells of order {} are not known", header.order));
    }
    let nodes = (header.order as u64).pow(dims as u32);
    let mut rest = Fields(bytes);
    let mut next = || {
        let (index, count) = (rest.u64()?, rest.u64()?);
        let values = if count <= nodes { count as usize * dims } else { nodes as usize };
        let values = rest.take(8 * values)?.chunks_exact(8);
        let values = values.filter_map(|value| value.try_into().ok()).map(f64::from_le_bytes).collect();
        Some(Record { index: usize::try_from(index).ok()?, count, values })
    };
    let mut found = 0;
    let records = (0..header.records).map_while(|_| next()).inspect(|_| found += 1);
    let summary = Summary::from_records(&header.window, &header.cells, header.log_exposure, records);
    let summary = summary.map_err(|error| error.to_string())?;
    if found != header.records || !rest.0.is_empty() {
        return Err("the cells are not as many as it says".into());
    }
    if summary.events() != header.events {
        return Err("the number of events is not the number it gives".into());
    }
    Ok(summary)
}

/// Why two summaries cannot be added, and the settings that differed.
fn difference(a: &Summary, b: &Summary) -> Option<(String, &'static [Setting])> {
    let (left, right) = (a.window(), b.window());
    // Maps about different places come from different windows.
    let kinds = |window: &Window| {
        let kind =
            |axis: &Axis| (axis.name.clone(), axis.unit.clone(), axis.origin, axis.globe.is_some(), axis.crs.clone());
        window.axes().iter().map(kind).collect::<Vec<_>>()
    };
    if kinds(left) != kinds(right) {
        return Some((
            format!("their axes are {} and {}", show_axes(left), show_axes(right)),
            &[Setting::Columns, Setting::TimeUnit, Setting::Window],
        ));
    }
    if left.pieces() != right.pieces() || left.axes() != right.axes() {
        let times = |window: &Window| match window.pieces() {
            [piece] if piece.repeats != 1.0 => format!(" ({} times)", piece.repeats),
            _ => String::new(),
        };
        let shown = |window: &Window| show_window(window) + &times(window);
        return Some((
            format!("their windows are {} and {}", shown(left), shown(right)),
            &[Setting::Window, Setting::Repeats],
        ));
    }
    if left != right {
        return Some(("their exposures differ".into(), &[Setting::Exposure]));
    }
    let cells = |summary: &Summary| summary.cells().iter().map(usize::to_string).collect::<Vec<_>>().join("x");
    let differ = || (format!("their cells are {} and {}", cells(a), cells(b)), &[Setting::Cells][..]);
    (a.cells() != b.cells()).then(differ)
}

/// The axes of a window with their units and origins, for a message: `lon, t (days since 2016-02-23T00:00:00Z)`.
pub fn show_axes(window: &Window) -> String {
    let shown = |axis: &Axis| match (&axis.unit, super::window::time_axis(axis)) {
        (Some(unit), Some(time)) => format!("{} ({unit} since {})", axis.name, time.to_iso(0.0)),
        (Some(unit), None) => format!("{} ({unit})", axis.name),
        (None, _) => axis.name.clone(),
    };
    let shown = |axis: &Axis| shown(axis) + &axis.crs.as_ref().map(|crs| format!(" of {crs}")).unwrap_or_default();
    window.axes().iter().map(shown).collect::<Vec<_>>().join(", ")
}

/// Numbers from the beginning of bytes.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take(4)?.try_into().ok().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.take(8)?.try_into().ok().map(u64::from_le_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pointillist::Points;

    fn example() -> SummaryFile {
        let axes = ["t", "x"].map(|name| Axis { name: name.into(), ..Axis::default() });
        let window = Window::new(&[(0.0, 1.0), (-3.0, 5.0)]).unwrap().with_axes(axes.to_vec()).unwrap();
        let mut summary = Summary::new(&window, &[3, 2]).unwrap();
        let coordinates = (0..400).map(|n| 0.1 + 0.002 * f64::from(n)).collect();
        summary.add(&Points::new(2, coordinates).unwrap()).unwrap();
        summary.add(&Points::from_rows(&[[0.01, 4.5], [0.99, 4.0]]).unwrap()).unwrap();
        SummaryFile { summary, sources: vec!["a.csv".into()], skipped: 3, dropped: 1 }
    }

    fn bytes(file: &SummaryFile) -> Vec<u8> {
        let mut bytes = Vec::new();
        file.write_to(&mut bytes).unwrap();
        bytes
    }

    fn refused(bytes: &[u8]) -> String {
        SummaryFile::from_bytes("a.summary", bytes).unwrap_err().to_string()
    }

    #[test]
    fn a_summary_survives_the_file() {
        let written = example();
        let read = SummaryFile::from_bytes("a.summary", &bytes(&written)).unwrap();
        assert_eq!(read.summary, written.summary);
        assert_eq!((read.sources, read.skipped, read.dropped), (written.sources, 3, 1));
    }

    #[test]
    fn every_cut_and_every_change_is_found() {
        let whole = bytes(&example());
        for length in 0..whole.len() {
            let sentence = refused(&whole[..length]);
            let expected = if length < MAGIC.len() { "not a summary" } else { "cut short" };
            assert!(sentence.contains(expected), "{length}: {sentence}");
        }
        for place in 0..whole.len() {
            let mut changed = whole.clone();
            changed[place] ^= 0x10;
            assert!(!refused(&changed).is_empty(), "{place}");
        }
        let longer = [&whole[..], b"\n"].concat();
        assert!(refused(&longer).contains("checksum"), "{}", refused(&longer));
    }

    #[test]
    fn a_newer_one_and_a_header_that_makes_no_sense_are_told_apart() {
        let mut newer = bytes(&example());
        newer[8] = 9;
        assert!(refused(&newer).contains("newer version") && refused(&newer).contains("format 9"));
        let mut header = bytes(&example());
        let place = header.windows(8).position(|part| part == b"\"events\"").unwrap();
        header[place + 1] = b'x';
        assert!(refused(&header).contains("checksum"));
        let end = header.len() - SUFFIX;
        let sum = Checksum::of(&header[..end]).0.to_le_bytes();
        header[end..].copy_from_slice(&sum);
        assert!(refused(&header).contains("damaged") && refused(&header).contains("events"), "{}", refused(&header));
    }

    #[test]
    fn parts_add_up_and_others_do_not() {
        let mut sum = example();
        sum.add(example(), "a", "b").unwrap();
        assert_eq!((sum.summary.events(), sum.skipped, sum.sources.len()), (404, 6, 2));
        let other = |window: Window, cells: &[usize]| {
            let file = SummaryFile { summary: Summary::new(&window, cells).unwrap(), ..example() };
            example().add(file, "a.summary", "b.summary").unwrap_err().to_string()
        };
        let window = example().summary.window().clone();
        let cells = other(window.clone(), &[3, 4]);
        assert!(cells.contains("3x2 and 3x4") && cells.contains("a.summary and b.summary"), "{cells}");
        let repeats = other(window.clone().with_repeats(4).unwrap(), &[3, 2]);
        assert!(repeats.contains("0,1,-3,5 and 0,1,-3,5 (4 times)"), "{repeats}");
        let axes = ["t", "y"].map(|name| Axis { name: name.into(), ..Axis::default() });
        let axes = other(window.with_axes(axes.to_vec()).unwrap(), &[3, 2]);
        assert!(axes.contains("t, x and t, y"), "{axes}");
    }
}
