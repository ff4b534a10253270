//! Tables of events in: delimited text, plain or gzip, from a file, from standard input or from memory.
//!
//! The whole text is held once and walked twice: a look at the first [`SAMPLE_ROWS`] rows decides separator, header and
//! which columns are numbers or dates; a strict pass then reads the chosen columns into one flat vector, where every
//! value must be what its column promised. Nothing is repaired and no row is dropped in silence. Cost: one `f64` a value
//! and one `u64` a row, no allocation a field.
//!
//! Parquet files are left to `parquet.rs`, texts too large to be held to `stream.rs`, which uses the same [`Records`] and
//! [`Layout`]. GeoJSON is made a text by `geojson_points.rs`. It knows nothing of windows.

use std::io::{self, ErrorKind};

use super::columns::number;
use super::filter::{Cell, Clause, Filter};
use super::geography::{inward, no_degrees, place_inward};
use super::geojson_points::{self, Flat, Systems};
use super::input_error::{InputError, shortened};
use super::memory;
use super::message::{Message, Setting};
use super::pattern::Pattern;
use super::source::Opened;
use super::time::{Epoch, TimeAxis, TimeUnit, parse_iso, parse_reading};
use super::zone::Zone;
use super::{parquet, plain, summary_file};
use crate::message;
use pointillist::Axis;

/// Rows that are looked at before the kinds of the columns are settled.
const SAMPLE_ROWS: usize = 1000;
/// Bytes from which the number of rows is guessed.
const SAMPLE_BYTES: usize = 8192;
/// Lines that are looked at before the separator is settled.
const SAMPLE_LINES: usize = 20;
/// Rows between one look at the memory that they take and the next.
const ROWS_BETWEEN: usize = 1 << 16;
/// What a label takes, about.
const LABEL_BYTES: usize = 48;
/// The most columns that are taken without being asked for.
const MOST_DEFAULT_COLUMNS: usize = 3;
/// Values of a column that are shown in a sentence.
const EXAMPLES: usize = 4;
/// What ends the name of a column of dates beside one of the same times as numbers, as this program writes them.
pub(super) const TWIN: &str = "_iso";
/// Pairs of names that clearly place events in the plane.
const PLACES: [[&str; 2]; 7] = [
    ["x", "y"],
    ["lon", "lat"],
    ["long", "lat"],
    ["lng", "lat"],
    ["longitude", "latitude"],
    ["easting", "northing"],
    ["east", "north"],
];
/// Names that clearly belong to a third axis beside such a pair.
const THIRD_AXES: [&str; 20] = [
    "t", "time", "z", "day", "days", "hour", "hours", "minute", "minutes", "second", "seconds", "week", "weeks",
    "month", "year", "years", "t_days", "depth", "altitude", "alt",
];
/// Names of columns of time.
pub(super) const TIMES: [&str; 9] = ["t", "time", "timestamp", "ts", "date", "datetime", "epoch", "when", "unixtime"];
/// Numbers that are seconds since 1970 between 2001 and 2033.
const RECENT_SECONDS: std::ops::Range<f64> = 1e9..2e9;

/// What to read from a table.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    /// The columns, by name (exactly, else without regard to case) or by number from 0; `None` takes the numeric ones.
    pub columns: Option<Vec<String>>,
    /// The unit in which dates are counted.
    pub time_unit: TimeUnit,
    /// A column that names what a row belongs to, kept as text; it is not taken for a number unless asked for.
    pub label: Option<String>,
    /// So many bad rows are passed over.
    pub skip_bad: u64,
    /// How dates are written, where that has been said.
    pub dates: Dates,
    /// Which rows are taken; all if there is none.
    pub filter: Option<Filter>,
    /// Which reference systems the points of GeoJSON may be in.
    pub systems: Systems,
}

/// How dates are written.
#[derive(Clone, Debug, Default)]
pub struct Dates {
    /// In this format.
    pub format: Option<Pattern>,
    /// As numbers that count from 1970.
    pub epoch: Option<Epoch>,
    /// Whose clocks are meant where nothing else is said, and followed by the axis of time.
    pub zone: Option<Zone>,
}

/// What the rows of a table are counted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counting {
    /// The lines of a text.
    Lines,
    /// The rows of a binary table.
    Rows,
    /// The features of a GeoJSON document.
    Features,
}

impl Counting {
    /// The word before a number.
    pub fn word(self) -> &'static str {
        match self {
            Self::Lines => "line",
            Self::Rows => "row",
            Self::Features => "feature",
        }
    }

    /// The word after a number.
    pub fn words(self) -> &'static str {
        match self {
            Self::Lines => "lines",
            Self::Rows => "rows",
            Self::Features => "features",
        }
    }
}

/// The chosen columns of a file, every value a finite number.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// The names of the chosen columns; a column without a name goes by its number in the file, from 0.
    pub names: Vec<String>,
    /// The values, row after row.
    pub rows: Vec<f64>,
    /// How many columns were chosen.
    pub dims: usize,
    /// For each row, the line of the file on which it begins (in a binary table its number), from 1.
    pub lines: Vec<u64>,
    /// Which of the two.
    pub counting: Counting,
    /// How many bad rows were passed over.
    pub skipped: u64,
    /// For each chosen column, how its numbers stand for dates, if it was a column of dates.
    pub time: Vec<Option<TimeAxis>>,
    /// For each row, the text in the column of labels; empty if none was asked for.
    pub labels: Vec<String>,
    /// The name of the file, for messages.
    pub source: String,
    /// How many rows the filter left out.
    pub left_out: u64,
    /// What the user should know of how it was read.
    pub notes: Vec<Message>,
    /// The reference system that a GeoJSON document names, if it is not longitude and latitude.
    pub crs: Option<String>,
}

/// What `path` is called in messages.
pub fn source_name(path: &str) -> &str {
    match path {
        "-" | "/dev/stdin" => "standard input",
        // What a shell puts in place of `<(command)`.
        _ if path.starts_with("/dev/fd/") || path.starts_with("/proc/self/fd/") => "a pipe",
        _ => path,
    }
}

/// The bytes of the table at `path`, or on standard input if that is `-`, decompressed.
pub fn read_table(path: &str) -> Result<Vec<u8>, InputError> {
    Opened::open(path)?.table()
}

/// What the system says of a file, as a sentence.
pub(super) fn unreadable(source: &str, error: io::Error) -> InputError {
    let file = source.to_string();
    match error.kind() {
        ErrorKind::NotFound => InputError::Missing { file },
        ErrorKind::IsADirectory => InputError::IsDirectory { file },
        ErrorKind::PermissionDenied => InputError::NoPermission { file },
        _ => InputError::Unreadable { file, error },
    }
}

/// Reads a table from memory, decompressed as [`Opened::table`] gives it; `source` stands for it in messages.
pub fn read_bytes(source: &str, bytes: &[u8], options: &ReadOptions) -> Result<Table, InputError> {
    if is_parquet(bytes) {
        return parquet::read_bytes(source, bytes.to_vec(), options);
    }
    if let Some(points) = geojson_points::flat(source, bytes)? {
        return read_geojson(source, points, options);
    }
    let records = Records::new(text_of(source, bytes)?, &options.dates);
    let layout = Layout::sample(source, records.clone(), options)?;
    let wanted = layout.wanted(source, options)?;
    layout.read(source, records, &wanted, options)
}

/// The events of a GeoJSON document, on the columns of their coordinates unless others are asked for.
fn read_geojson(source: &str, points: Flat, options: &ReadOptions) -> Result<Table, InputError> {
    options.systems.check(source, points.crs.as_deref())?;
    let columns = options.columns.clone().unwrap_or_else(|| points.columns());
    let options = ReadOptions { columns: Some(columns), ..options.clone() };
    // What a sentence may say of a line must be true.
    let table = read_bytes(&geojson_points::lines_of(source), points.text.as_bytes(), &options)?;
    let feature = |line: &u64| points.features.get(*line as usize - 2).copied().unwrap_or(*line);
    let lines = table.lines.iter().map(feature).collect();
    Ok(Table { lines, counting: Counting::Features, source: source.to_string(), crs: points.crs, ..table })
}

/// The columns of a table, and which of them hold numbers or dates, so written.
pub fn read_header(source: &str, bytes: &[u8], dates: &Dates) -> Result<Vec<(String, bool)>, InputError> {
    if let Some(points) = geojson_points::flat(source, bytes)? {
        return read_header(source, points.text.as_bytes(), dates);
    }
    let layout = match is_parquet(bytes) {
        true => parquet::layout(source, bytes.to_vec())?,
        // Whether a row may be of another length is not asked yet.
        false => {
            let dates = Dates { epoch: None, ..dates.clone() };
            let options = ReadOptions { skip_bad: u64::MAX, dates, ..ReadOptions::default() };
            Layout::sample(source, Records::new(text_of(source, bytes)?, &options.dates), &options)?
        }
    };
    Ok(layout.names.into_iter().zip(layout.kinds.iter().map(|&kind| kind != Value::Text)).collect())
}

/// What the decompression says of a file, as a sentence.
pub(super) fn bad_gzip(source: &str, error: io::Error) -> InputError {
    match error.kind() {
        ErrorKind::UnexpectedEof => InputError::TruncatedGzip { file: source.to_string() },
        _ => InputError::DamagedGzip { file: source.to_string(), error },
    }
}

/// Whether bytes are a Parquet file, whole or cut short; a text may begin as one does.
pub(super) fn is_parquet(bytes: &[u8]) -> bool {
    bytes.starts_with(b"PAR1") && (bytes.ends_with(b"PAR1") && bytes.len() >= 8 || !is_text(bytes))
}

/// Whether bytes are a text, or the beginning of one.
pub(super) fn is_text(bytes: &[u8]) -> bool {
    let is_utf8 = std::str::from_utf8(bytes).map_or_else(|error| error.error_len().is_none(), |_| true);
    is_utf8 && !bytes.contains(&0)
}

/// The bytes as text without byte-order mark, or what else they are.
pub(super) fn text_of<'a>(file: &str, bytes: &'a [u8]) -> Result<&'a str, InputError> {
    let unsupported = |format| Err(InputError::Unsupported { file: file.to_string(), format });
    if summary_file::is_summary(bytes) {
        return Err(InputError::IsSummary { file: file.to_string() });
    }
    let text = std::str::from_utf8(bytes);
    for (magic, format) in [
        (&b"PK\x03\x04"[..], "a zip archive or a spreadsheet"),
        (b"\x89HDF", "an HDF5 file"),
        (b"\x28\xb5\x2f\xfd", "compressed with zstd"),
        (b"\xfd7zXZ", "compressed with xz"),
    ] {
        if bytes.starts_with(magic) {
            return unsupported(format);
        }
    }
    if is_parquet(bytes) {
        return unsupported("a Parquet file in another one");
    }
    // This begins with letters, which a header may do as well.
    if bytes.starts_with(b"BZh") && !is_text(bytes) {
        return unsupported("compressed with bzip2");
    }
    match text {
        // The byte-order marks of UTF-16, which is full of zeros as well.
        Err(_) if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") => {
            Err(InputError::NotUtf8 { file: file.to_string(), line: 1 })
        }
        _ if bytes.contains(&0) => unsupported("a binary file"),
        Err(error) => Err(not_utf8(file, bytes, error, 1)),
        Ok(text) => {
            let text = text.strip_prefix('\u{feff}').unwrap_or(text);
            if text.trim_start().starts_with('{') { unsupported("JSON") } else { Ok(text) }
        }
    }
}

/// The error for bytes that are no text, the first of them on line `first_line`.
pub(super) fn not_utf8(file: &str, bytes: &[u8], error: std::str::Utf8Error, first_line: u64) -> InputError {
    let before = &bytes[..error.valid_up_to()];
    let line = first_line + before.iter().filter(|&&byte| byte == b'\n').count() as u64;
    InputError::NotUtf8 { file: file.to_string(), line }
}

/// What stands between the fields of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Separator {
    Byte(u8),
    /// Any run of spaces and tabs.
    Whitespace,
}

impl Separator {
    /// Judges by the first lines: a byte that every one of them has equally often is best, then one that most have,
    /// then blanks.
    fn detect(text: &str, dates: &Dates) -> Self {
        let is_content = |line: &&str| !line.trim().is_empty() && !line.trim().starts_with('#');
        let lines: Vec<&str> = text.split(['\n', '\r']).filter(is_content).take(SAMPLE_LINES).collect();
        let counts = |separator| lines.iter().map(move |line| count_unquoted(line, separator));
        let is_in_all_equally = |&separator: &u8| {
            let first = counts(separator).next().unwrap_or(0);
            first > 0 && counts(separator).all(|count| count == first)
        };
        let is_in_most = |&separator: &u8| 2 * counts(separator).filter(|&count| count > 0).count() >= lines.len();
        let has_decimal_commas = |&separator: &u8| lines.iter().skip(1).all(|line| splits_decimals(line, separator));
        let bytes = [b',', b'\t', b';'];
        if let Some(byte) = [b'\t', b';'].into_iter().filter(is_in_all_equally).find(has_decimal_commas)
            && lines.len() > 1
        {
            return Self::Byte(byte);
        }
        if let Some(byte) = bytes.into_iter().find(is_in_all_equally).or_else(|| bytes.into_iter().find(is_in_most)) {
            return Self::Byte(byte);
        }
        // A value with a blank in it, such as `2016-02-23 17:11`, is one column; so is `event time` over numbers.
        let is_value = |line: &&&str| Value::of(line, dates) != Value::Text && with_point(unquoted(line)).is_none();
        let values = lines.iter().filter(is_value).count();
        if values > 0 && 2 * values + 1 >= lines.len() { Self::Byte(b',') } else { Self::Whitespace }
    }

    fn matches(self, byte: u8) -> bool {
        match self {
            Self::Byte(separator) => byte == separator,
            Self::Whitespace => is_blank(byte),
        }
    }
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

pub(super) fn is_line_end(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}

/// Whether there are decimal commas between such separators, and no other commas.
fn splits_decimals(line: &str, separator: u8) -> bool {
    let has_comma = |field: &&str| field.contains(',');
    let mut fields = line.split(separator as char).filter(has_comma).peekable();
    fields.peek().is_some() && fields.all(|field| with_point(field.trim()).is_some())
}

fn count_unquoted(line: &str, separator: u8) -> usize {
    // Every second part lies between quotes.
    line.split('"').step_by(2).map(|part| part.bytes().filter(|&byte| byte == separator).count()).sum()
}

/// What a field holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value {
    /// A number, finite or not.
    Number,
    /// An ISO 8601 date.
    Date,
    /// Anything else, also nothing.
    Text,
}

impl Value {
    fn of(field: &str, dates: &Dates) -> Self {
        let mut tally = Tally::default();
        tally.add(field, dates);
        tally.settled(1, dates).0
    }
}

/// How the values of a column are written.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum How {
    /// Numbers with a point, ISO dates.
    Plain,
    /// Numbers with a comma for the point.
    DecimalComma,
    /// Dates in a format.
    Written(Pattern),
    /// Dates in either of two formats, as far as can be told.
    Either(Pattern, Pattern),
    /// Dates as numbers that count from 1970.
    Epoch(Epoch),
}

/// What the values of a column are, counted.
#[derive(Clone, Default)]
struct Tally {
    numbers: usize,
    /// Of these, those with a point.
    points: usize,
    iso_dates: usize,
    /// Numbers with a comma, ...
    commas: usize,
    /// ... and of these, those in which it cannot be one between thousands.
    decimals: usize,
    /// Dates in the format that was given.
    given: usize,
    /// Dates in the formats that are known.
    known: Vec<usize>,
    /// How far the numbers reach.
    reach: Option<(f64, f64)>,
}

impl Tally {
    fn add(&mut self, field: &str, dates: &Dates) {
        let field = unquoted(field);
        if dates.format.as_ref().is_some_and(|format| format.instant(field).is_some()) {
            self.given += 1;
        }
        if let Ok(value) = field.parse::<f64>() {
            self.numbers += 1;
            self.points += usize::from(field.contains('.'));
            let (lo, hi) = self.reach.unwrap_or((value, value));
            self.reach = Some((lo.min(value), hi.max(value)));
        } else if parse_iso(field).is_some() {
            self.iso_dates += 1;
        } else if with_point(field).is_some() {
            self.commas += 1;
            self.decimals += usize::from(field.rsplit(',').next().is_some_and(|after| after.len() != 3));
        } else if Pattern::may_be_known(field) {
            self.known.resize(Pattern::known().len(), 0);
            for (count, pattern) in self.known.iter_mut().zip(Pattern::known()) {
                *count += usize::from(pattern.instant(field).is_some());
            }
        }
    }

    /// What a column with so many rows is.
    fn settled(&self, rows: usize, dates: &Dates) -> (Value, How) {
        let is_half = |count: usize| count > 0 && 2 * count >= rows;
        if let Some(format) = dates.format.as_ref().filter(|_| is_half(self.given)) {
            return (Value::Date, How::Written(format.clone()));
        }
        if self.decimals > 0 && self.points == 0 && is_half(self.numbers + self.commas) {
            return (Value::Number, How::DecimalComma);
        }
        match (is_half(self.numbers), is_half(self.iso_dates)) {
            (true, _) => return (Value::Number, How::Plain),
            (false, true) => return (Value::Date, How::Plain),
            (false, false) => {}
        }
        let most = self.known.iter().copied().max().unwrap_or(0);
        match self.known.iter().position(|&count| count == most).filter(|_| is_half(most)) {
            None => (Value::Text, How::Plain),
            Some(place) => (Value::Date, self.written(place)),
        }
    }

    /// The known format at a place, or that and the other if day and month could be exchanged in all dates.
    fn written(&self, place: usize) -> How {
        let (known, pattern) = (Pattern::known(), &Pattern::known()[place]);
        let swapped = pattern.swapped();
        let as_often = |other: &Pattern| known.iter().position(|known| known == other).map(|at| self.known[at]);
        match swapped.filter(|other| as_often(other) == Some(self.known[place])) {
            Some(other) => How::Either(pattern.clone(), other.clone()),
            None => How::Written(pattern.clone()),
        }
    }
}

/// A number with a comma for its point, as it is read: `1,5`.
fn with_point(field: &str) -> Option<String> {
    let is_number =
        |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'-' | b'+' | b'e' | b'E' | b','));
    let (whole, fraction) = field.split_once(',')?;
    let starts_well = fraction.starts_with(|c: char| c.is_ascii_digit()) && !whole.contains(['e', 'E']);
    let text = (starts_well && is_number(field)).then(|| format!("{whole}.{fraction}"))?;
    text.parse::<f64>().is_ok().then_some(text)
}

/// A field without the blanks and quotes around it; doubled quotes inside stay doubled.
fn unquoted(field: &str) -> &str {
    let field = field.trim_ascii();
    field.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).map_or(field, str::trim_ascii)
}

/// Walks through the rows of a text, past blank lines and comments.
#[derive(Clone)]
pub(super) struct Records<'a> {
    pub(super) text: &'a str,
    pub(super) position: usize,
    pub(super) line: u64,
    pub(super) separator: Separator,
}

impl<'a> Records<'a> {
    pub(super) fn new(text: &'a str, dates: &Dates) -> Self {
        Self::within(text, 1, Separator::detect(text, dates))
    }

    /// A part of a longer text, which begins on `line`.
    pub(super) fn within(text: &'a str, line: u64, separator: Separator) -> Self {
        Self { text, position: 0, line, separator }
    }

    /// Puts the fields of the next row, as they stand, into `fields` and returns its line, or `None` at the end.
    pub(super) fn next(&mut self, file: &str, fields: &mut Vec<&'a str>) -> Result<Option<u64>, InputError> {
        let bytes = self.text.as_bytes();
        fields.clear();
        if !self.skip_to_row() {
            return Ok(None);
        }
        let first_line = self.line;
        loop {
            let start = self.position;
            let mut end = start;
            while bytes.get(end) == Some(&b' ') {
                end += 1;
            }
            if bytes.get(end) == Some(&b'"') {
                let open_quote = || InputError::OpenQuote { file: file.to_string(), line: first_line };
                end = self.closing_quote(end).ok_or_else(open_quote)? + 1;
            }
            // Web servers put a date with a blank in it into brackets.
            if self.separator == Separator::Whitespace && bytes.get(end) == Some(&b'[') {
                let line = bytes[end..].iter().take_while(|&&byte| !is_line_end(byte));
                end += line.take(60).position(|&byte| byte == b']').unwrap_or(0);
            }
            while end < bytes.len() && !self.separator.matches(bytes[end]) && !is_line_end(bytes[end]) {
                end += 1;
            }
            // Both ends lie next to ASCII bytes or to the ends of the text, so this never falls back.
            fields.push(self.text.get(start..end).unwrap_or_default());
            self.position = end;
            if self.separator == Separator::Whitespace {
                self.skip_blanks();
            }
            match bytes.get(self.position) {
                Some(&byte) if is_line_end(byte) => self.skip_line_end(),
                None => {}
                Some(_) if self.separator == Separator::Whitespace => continue,
                Some(_) => {
                    self.position += 1;
                    continue;
                }
            }
            return Ok(Some(first_line));
        }
    }

    /// Goes to the start of the next line that is neither blank nor a comment; false if there is none.
    fn skip_to_row(&mut self) -> bool {
        let bytes = self.text.as_bytes();
        loop {
            let start = self.position;
            self.skip_blanks();
            match bytes.get(self.position) {
                None => return false,
                Some(&byte) if is_line_end(byte) => self.skip_line_end(),
                Some(b'#') => {
                    let length = bytes[self.position..].iter().position(|&byte| is_line_end(byte));
                    self.position = length.map_or(bytes.len(), |length| self.position + length);
                }
                Some(_) => {
                    // A tab before the first value is an empty field, unless runs of blanks separate.
                    if self.separator != Separator::Whitespace {
                        self.position = start;
                    }
                    return true;
                }
            }
        }
    }

    fn skip_blanks(&mut self) {
        while self.text.as_bytes().get(self.position).copied().is_some_and(is_blank) {
            self.position += 1;
        }
    }

    /// Steps over `\n`, `\r\n` or `\r`.
    pub(super) fn skip_line_end(&mut self) {
        let is_pair = self.text.as_bytes()[self.position..].starts_with(b"\r\n");
        self.position += if is_pair { 2 } else { 1 };
        self.line += 1;
    }

    /// The place of the quote that closes the one at `open`; the lines in between are counted.
    fn closing_quote(&mut self, open: usize) -> Option<usize> {
        let bytes = self.text.as_bytes();
        let mut at = open + 1;
        loop {
            match (bytes.get(at)?, bytes.get(at + 1)) {
                (b'"', Some(b'"')) => at += 1,
                (b'"', _) => return Some(at),
                (b'\r', Some(b'\n')) => {}
                (b'\n' | b'\r', _) => self.line += 1,
                _ => {}
            }
            at += 1;
        }
    }
}

/// How a table is laid out: its columns, and whether the first row names them.
pub(super) struct Layout {
    pub(super) names: Vec<String>,
    pub(super) kinds: Vec<Value>,
    /// How the values of each column are written.
    pub(super) how: Vec<How>,
    /// Some values of each column.
    pub(super) examples: Vec<Vec<String>>,
    /// The columns that seem to count seconds or milliseconds since 1970, with the word for the unit.
    pub(super) epochs: Vec<(usize, &'static str)>,
    pub(super) has_header: bool,
    pub(super) first_line: u64,
    /// Whose clocks are followed.
    pub(super) zone: Option<Zone>,
}

/// The places of the columns to read.
pub(super) struct Wanted {
    /// The coordinates.
    pub(super) chosen: Vec<usize>,
    /// What they are called.
    pub(super) names: Vec<String>,
    /// The labels.
    pub(super) label: Option<usize>,
    /// What rows must satisfy, with the places of the columns.
    pub(super) clauses: Vec<(usize, Clause)>,
    /// What to say of the choice.
    pub(super) notes: Vec<Message>,
}

/// The places of columns, what they are called, and what to say of the choice.
type Choice = (Vec<usize>, Vec<String>, Vec<Message>);

/// Rows as they stand in a table; dates wait as exact instants until the earliest of all is known.
#[derive(Debug, Default)]
pub(super) struct Rows {
    /// The values, row after row; those of dates are 0 as yet.
    pub(super) values: Vec<f64>,
    /// For each chosen column its dates; none if it holds numbers.
    pub(super) instants: Vec<Vec<i64>>,
    /// For each row its line.
    pub(super) lines: Vec<u64>,
    /// For each row its label; none if there is no column of labels.
    pub(super) labels: Vec<String>,
    /// Rows that the filter left out.
    pub(super) left_out: u64,
}

/// Decides whether a bad row ends the reading.
pub(super) type Judge<'a> = dyn FnMut(InputError) -> Result<(), InputError> + 'a;

impl Rows {
    pub(super) fn new(dims: usize) -> Self {
        Self { instants: vec![Vec::new(); dims], ..Self::default() }
    }

    pub(super) fn len(&self) -> usize {
        self.lines.len()
    }

    /// Makes room: to grow by doubling would take twice the memory.
    fn reserve(&mut self, count: usize) {
        self.values.reserve(count * self.instants.len());
        self.lines.reserve(count);
    }

    /// About how many bytes they take.
    fn bytes(&self) -> usize {
        let instants: usize = self.instants.iter().map(Vec::len).sum();
        8 * (self.values.len() + self.lines.len() + instants) + LABEL_BYTES * self.labels.len()
    }

    /// Refuses more of them than memory allows beside the `held` bytes of the file `source`.
    pub(super) fn check_memory(&self, source: &str, held: usize) -> Result<(), InputError> {
        let limit = memory::limit();
        match (held + self.bytes()) as u64 > limit {
            true => Err(InputError::TooLarge { file: source.to_string(), limit }),
            false => Ok(()),
        }
    }

    /// Counts the dates on these axes of time.
    pub(super) fn put_on(&mut self, time: &[Option<TimeAxis>]) {
        let dims = self.instants.len();
        for (axis, (instants, time)) in self.instants.iter().zip(time).enumerate() {
            let Some(time) = time else { continue };
            for (row, &instant) in self.values.chunks_exact_mut(dims).zip(instants) {
                row[axis] = time.value_at(instant);
            }
        }
    }

    /// Takes back what was read of a row that turned out bad.
    fn truncate(&mut self, count: usize) {
        self.values.truncate(count * self.instants.len());
        self.instants.iter_mut().for_each(|instants| instants.truncate(count));
        self.labels.truncate(count);
    }
}

impl Layout {
    /// Looks at the first rows. A column is what at least half of its values are; a stray value among them is then an
    /// error of the strict pass, where leaving out the whole column would go unnoticed.
    ///
    /// The first row is a header if it has text over a column of numbers or dates, and no number or date itself:
    /// a row of values with one slip in it must not pass for a header.
    ///
    /// Where bad rows may be passed over, one of another length says nothing; how many there are is not counted here.
    pub(super) fn sample(file: &str, mut records: Records, options: &ReadOptions) -> Result<Self, InputError> {
        let dates = &options.dates;
        let mut fields = Vec::new();
        let Some(first_line) = records.next(file, &mut fields)? else {
            return Err(InputError::Empty { file: file.to_string() });
        };
        let first_row = fields.clone();
        let first_is_text = first_row.iter().all(|field| Value::of(field, dates) == Value::Text);

        let (mut rows, mut tallies) = (0, vec![Tally::default(); first_row.len()]);
        let mut examples = vec![Vec::new(); first_row.len()];
        let mut first_bad = None;
        while rows < SAMPLE_ROWS
            && let Some(line) = records.next(file, &mut fields)?
        {
            match check_length(file, line, fields.len(), first_line, first_row.len()) {
                Err(bad) if options.skip_bad > 0 => {
                    first_bad = first_bad.or(Some(bad));
                    continue;
                }
                checked => checked?,
            }
            for ((field, tally), examples) in fields.iter().zip(&mut tallies).zip(&mut examples) {
                tally.add(field, dates);
                note_example(examples, field);
            }
            rows += 1;
        }
        if rows == 0 && first_is_text {
            let nothing = InputError::HeaderOnly { file: file.to_string(), line: first_line };
            return Err(first_bad.unwrap_or(nothing));
        }
        if rows == 0 {
            for ((field, tally), examples) in first_row.iter().zip(&mut tallies).zip(&mut examples) {
                tally.add(field, dates);
                note_example(examples, field);
            }
            rows = 1;
        }
        let (kinds, mut how): (Vec<Value>, Vec<How>) = tallies.iter().map(|tally| tally.settled(rows, dates)).unzip();
        let nothing_but_text = kinds.iter().all(|&kind| kind == Value::Text);
        let names_a_column = |(field, kind): (&&str, &Value)| *kind != Value::Text && could_be_a_name(unquoted(field));
        let has_header = first_is_text && (nothing_but_text || first_row.iter().zip(&kinds).any(names_a_column));
        let name = |(column, field): (usize, &&str)| match unquoted(field) {
            name if has_header && !name.is_empty() => name.replace("\"\"", "\""),
            _ => column.to_string(),
        };
        let names = first_row.iter().enumerate().map(name).collect();
        if !has_header {
            // The first row may be the one that tells day and month apart.
            for ((field, tally), how) in first_row.iter().zip(&mut tallies).zip(&mut how) {
                if matches!(how, How::Either(..)) {
                    tally.add(field, dates);
                    *how = tally.settled(rows + 1, dates).1;
                }
            }
        }
        let zone = dates.zone;
        let mut layout = Self { names, kinds, how, examples, epochs: Vec::new(), has_header, first_line, zone };
        layout.settle_dates(file, &tallies, options)?;
        Ok(layout)
    }

    /// Looks for the dates that the options promise, and for those that they forget.
    fn settle_dates(&mut self, source: &str, tallies: &[Tally], options: &ReadOptions) -> Result<(), InputError> {
        let file = || source.to_string();
        if let Some(format) = &options.dates.format
            && !self.how.iter().any(|how| matches!(how, How::Written(used) if used == format))
        {
            let examples = self.examples.iter().filter_map(|values| values.first()).map(|text| format!("`{text}`"));
            let (format, examples) = (format.text.clone(), examples.collect());
            return Err(InputError::NoSuchDates { file: file(), format, examples });
        }
        let reach = |column: usize| tallies[column].reach.filter(|_| self.kinds[column] == Value::Number);
        let Some(epoch) = options.dates.epoch else {
            let recent = |unit: f64| {
                move |(lo, hi): (f64, f64)| {
                    RECENT_SECONDS.contains(&(lo / unit)) && RECENT_SECONDS.contains(&(hi / unit))
                }
            };
            let word = |column: usize| match reach(column)? {
                ends if recent(1.0)(ends) => Some((column, "s")),
                ends if recent(1e3)(ends) => Some((column, "ms")),
                _ => None,
            };
            let is_time = |column: &usize| TIMES.contains(&self.names[*column].to_lowercase().as_str());
            self.epochs = (0..self.names.len()).filter(is_time).filter_map(word).collect();
            return Ok(());
        };
        let mut found: Vec<usize> =
            (0..self.names.len()).filter(|&column| reach(column).is_some_and(|ends| epoch.covers(ends))).collect();
        if let (Some([only]), true) = (options.columns.as_deref(), found.is_empty()) {
            found.push(self.find(source, only.trim())?);
        }
        if found.is_empty() {
            return Err(InputError::NoEpoch { file: file(), unit: epoch.name() });
        }
        for column in found {
            (self.kinds[column], self.how[column]) = (Value::Date, How::Epoch(epoch));
        }
        Ok(())
    }

    /// The columns that the options ask for.
    pub(super) fn wanted(&self, source: &str, options: &ReadOptions) -> Result<Wanted, InputError> {
        let label = options.label.as_ref().map(|name| self.find(source, name.trim())).transpose()?;
        let clauses = options.filter.iter().flat_map(|filter| &filter.clauses);
        let of_where = |error| match error {
            InputError::NoSuchColumn { file, asked, columns, .. } => {
                InputError::NoColumnForWhere { file, asked, columns }
            }
            other => other,
        };
        let place = |name: &str| self.find(source, name.trim()).map_err(of_where);
        let clauses = clauses.map(|clause| Ok((place(&clause.column)?, clause.clone())));
        let clauses = clauses.collect::<Result<Vec<_>, InputError>>()?;
        let (chosen, names, mut notes) = match options.columns.as_ref().filter(|asked| !asked.is_empty()) {
            Some(asked) => {
                let chosen = self.asked(source, asked)?;
                let names = chosen.iter().map(|&column| self.names[column].clone()).collect();
                (chosen, names, Vec::new())
            }
            None => self.usual(source, label)?,
        };
        for &column in &chosen {
            let name = &self.names[column];
            if let How::Either(first, second) = &self.how[column] {
                let (file, column_name) = (source.to_string(), name.clone());
                let example = self.examples[column].first().cloned().unwrap_or_default();
                let formats = [first.text.clone(), second.text.clone()];
                return Err(InputError::AmbiguousDates { file, column: column_name, example, formats });
            }
            if let Some((_, word)) = self.epochs.iter().find(|(epoch, _)| *epoch == column) {
                notes.push(message![
                    "column `{name}` of {source} is taken as numbers; if it counts {word} since 1970, ",
                    Setting::Epoch.given(word),
                    " reads it as dates"
                ]);
            }
        }
        Ok(Wanted { chosen, names, label, clauses, notes })
    }

    /// The places of the columns asked for.
    fn asked(&self, source: &str, asked: &[String]) -> Result<Vec<usize>, InputError> {
        let mut chosen = Vec::with_capacity(asked.len());
        for name in asked {
            let column = self.find(source, name.trim())?;
            if chosen.contains(&column) {
                return Err(InputError::RepeatedColumn { file: source.to_string(), asked: name.clone() });
            }
            chosen.push(column);
        }
        Ok(chosen)
    }

    /// The places and names of the columns that are taken if none are asked for, and what to say of that: a column of dates before numbers,
    /// else the columns of numbers, as long as there is no doubt.
    fn usual(&self, source: &str, label: Option<usize>) -> Result<Choice, InputError> {
        let file = source.to_string();
        let is_free = |&column: &usize| Some(column) != label;
        let of_kind = |kind| -> Vec<usize> {
            (0..self.kinds.len()).filter(|&column| self.kinds[column] == kind).filter(is_free).collect()
        };
        let names =
            |columns: &[usize]| -> Vec<String> { columns.iter().map(|&column| self.names[column].clone()).collect() };
        let (mut numbers, mut dates) = (of_kind(Value::Number), of_kind(Value::Date));
        // Times that this program wrote as numbers stand beside it as dates, and those tell where they count from.
        let own_names = names(&numbers);
        for column in &mut numbers {
            let twin = format!("{}{TWIN}", self.names[*column]);
            if let Some(place) = dates.iter().position(|&date| self.names[date] == twin) {
                *column = dates.remove(place);
            }
        }
        let pair = self.place(&numbers);
        let reading = |columns: &[usize]| names(columns).join(",");
        match (numbers.len(), &dates[..]) {
            (0, []) => {
                let examples = self.examples.iter().filter_map(|values| values.first()).map(|text| format!("`{text}`"));
                Err(InputError::NoNumbers { file, columns: self.names.clone(), examples: examples.collect() })
            }
            (0, [_]) => Ok((dates.clone(), names(&dates), Vec::new())),
            (1.., [date]) => match pair {
                None => {
                    let name = self.names[*date].clone();
                    let note = message![
                        "column `{name}` of {source} holds dates, and is taken as the place of the events in time; for others give ",
                        Setting::Columns
                    ];
                    Ok((vec![*date], vec![name], vec![note]))
                }
                Some(pair) => {
                    let both = [&pair[..], &[*date]].concat();
                    let readings = vec![reading(&pair), reading(&both), reading(&[*date])];
                    Err(InputError::SeveralReadings { file, readings })
                }
            },
            (_, [_, _, ..]) => Err(InputError::SeveralDateColumns { file, columns: names(&dates) }),
            (1..=MOST_DEFAULT_COLUMNS, []) => match (pair, self.third(&numbers, pair)) {
                (Some(pair), Some(third)) => {
                    let readings = vec![reading(&pair), reading(&[pair[0], pair[1], third])];
                    Err(InputError::SeveralReadings { file, readings })
                }
                _ => match (1..own_names.len()).find(|&i| own_names[..i].contains(&own_names[i])) {
                    Some(i) => {
                        let (asked, numbers) = (own_names[i].clone(), numbers.iter().map(usize::to_string).collect());
                        Err(InputError::AmbiguousColumn { file, asked, numbers })
                    }
                    None => Ok((numbers, own_names, Vec::new())),
                },
            },
            (_, []) => {
                let columns = match pair {
                    Some(pair) => {
                        pair.iter().chain(numbers.iter().filter(|column| !pair.contains(column))).copied().collect()
                    }
                    None => numbers,
                };
                Err(InputError::TooManyColumns { file, columns: names(&columns) })
            }
        }
    }

    /// The two columns that clearly are a place in the plane, if there are such.
    fn place(&self, columns: &[usize]) -> Option<[usize; 2]> {
        let find = |name: &str| columns.iter().copied().find(|&column| self.names[column].eq_ignore_ascii_case(name));
        PLACES.iter().find_map(|[x, y]| Some([find(x)?, find(y)?]))
    }

    /// A column beside such a pair of which nobody can tell whether it is an axis.
    fn third(&self, columns: &[usize], pair: Option<[usize; 2]>) -> Option<usize> {
        let is_axis = |column: usize| {
            let name = self.names[column].to_lowercase();
            THIRD_AXES.contains(&name.strip_suffix(TWIN).unwrap_or(&name))
        };
        let is_beside = |column: &usize| pair.is_some_and(|pair| !pair.contains(column));
        columns.iter().copied().find(|column| is_beside(column) && !is_axis(*column))
    }

    /// The place of the column called `asked`: by exact name, by name without regard to case, by number.
    fn find(&self, source: &str, asked: &str) -> Result<usize, InputError> {
        let file = || source.to_string();
        let places = |is_meant: &dyn Fn(&str) -> bool| -> Vec<usize> {
            (0..self.names.len()).filter(|&column| is_meant(&self.names[column])).collect()
        };
        let mut by_name = places(&|name| name == asked);
        if by_name.is_empty() {
            by_name = places(&|name| name.to_lowercase() == asked.to_lowercase());
        }
        match (by_name.as_slice(), asked.parse::<usize>()) {
            ([column], _) => Ok(*column),
            ([], Ok(column)) if column < self.names.len() => Ok(column),
            ([], _) => Err(InputError::NoSuchColumn {
                file: file(),
                asked: asked.to_string(),
                columns: self.names.clone(),
                has_header: self.has_header,
            }),
            (several, _) => {
                let numbers = several.iter().map(usize::to_string).collect();
                Err(InputError::AmbiguousColumn { file: file(), asked: asked.to_string(), numbers })
            }
        }
    }

    /// The whole table.
    fn read(
        &self,
        source: &str,
        mut records: Records,
        wanted: &Wanted,
        options: &ReadOptions,
    ) -> Result<Table, InputError> {
        if self.has_header {
            records.next(source, &mut Vec::new())?;
        }
        let mut skipped = 0;
        let rows = self.parse(source, &mut records, wanted, &mut |error| {
            skipped += 1;
            allowed(error, skipped, options.skip_bad, Counting::Lines)
        })?;
        self.check_kept(source, &rows, wanted, options, Counting::Lines)?;
        Ok(Table::new(source, wanted, rows, (options.time_unit, self.zone), Counting::Lines, skipped))
    }

    /// Refuses a filter that leaves nothing.
    pub(super) fn check_kept(
        &self,
        source: &str,
        rows: &Rows,
        wanted: &Wanted,
        options: &ReadOptions,
        counting: Counting,
    ) -> Result<(), InputError> {
        match rows.len() {
            0 if rows.left_out > 0 => Err(self.nothing_kept(source, rows.left_out, wanted, options, counting)),
            _ => Ok(()),
        }
    }

    /// What to say of a filter that left out all rows.
    pub(super) fn nothing_kept(
        &self,
        source: &str,
        total: u64,
        wanted: &Wanted,
        options: &ReadOptions,
        counting: Counting,
    ) -> InputError {
        let column = wanted.clauses.first().map_or(0, |(column, _)| *column);
        let text = options.filter.as_ref().map(|filter| filter.text.clone()).unwrap_or_default();
        let (file, examples) = (source.to_string(), self.examples[column].clone());
        InputError::NothingKept { file, text, total, counting, column: self.names[column].clone(), examples }
    }

    /// The strict pass over the rows that are left; `bad` is told of those that are not what they should be.
    pub(super) fn parse(
        &self,
        source: &str,
        records: &mut Records,
        wanted: &Wanted,
        bad: &mut Judge,
    ) -> Result<Rows, InputError> {
        let mut rows = Rows::new(wanted.chosen.len());
        let (held, row_bytes) = (records.text.len(), 8 * (wanted.chosen.len() + 1));
        let room = (memory::limit() as usize).saturating_sub(held) / row_bytes;
        rows.reserve(expected_rows(&records.text.as_bytes()[records.position..]).min(room));
        let quick = plain::Plan::new(self, wanted);
        let mut fields = Vec::with_capacity(self.names.len());
        let mut next_look = ROWS_BETWEEN;
        loop {
            if rows.len() >= next_look {
                rows.check_memory(source, held)?;
                next_look += ROWS_BETWEEN;
            }
            if quick.row(records, &mut rows) {
                continue;
            }
            let Some(line) = records.next(source, &mut fields)? else { return Ok(rows) };
            match self.push(source, line, &fields, wanted, &mut rows) {
                Ok(true) => rows.lines.push(line),
                Ok(false) => rows.left_out += 1,
                Err(error) => {
                    rows.truncate(rows.len());
                    bad(error)?;
                }
            }
        }
    }

    /// Adds the fields of a row, unless the filter leaves it out.
    fn push(
        &self,
        source: &str,
        line: u64,
        fields: &[&str],
        wanted: &Wanted,
        rows: &mut Rows,
    ) -> Result<bool, InputError> {
        check_length(source, line, fields.len(), self.first_line, self.names.len())?;
        let field = |column: usize| Field { layout: self, column, text: unquoted(fields[column]) };
        if !wanted.clauses.iter().all(|(column, clause)| clause.holds(&field(*column))) {
            return Ok(false);
        }
        for (axis, &column) in wanted.chosen.iter().enumerate() {
            let field = unquoted(fields[column]);
            if self.kinds[column] == Value::Date {
                let instant = self.instant(column, field).ok_or_else(|| self.misfit(source, line, column, field))?;
                rows.instants[axis].push(instant);
                rows.values.push(0.0);
            } else {
                match self.number(column, field) {
                    Some(value) if value.is_finite() => rows.values.push(value),
                    _ => return Err(self.misfit(source, line, column, field)),
                }
            }
        }
        if let Some(column) = wanted.label {
            rows.labels.push(self.label(source, line, column, fields[column])?);
        }
        Ok(true)
    }

    /// A field of a column of numbers.
    fn number(&self, column: usize, field: &str) -> Option<f64> {
        match self.how[column] {
            How::DecimalComma if field.contains('.') => None,
            How::DecimalComma => with_point(field).as_deref().unwrap_or(field).parse().ok(),
            _ => field.parse().ok(),
        }
    }

    /// A field of a column of dates, as the clocks that are followed show it.
    fn instant(&self, column: usize, field: &str) -> Option<i64> {
        let shown = |instant: i64| self.zone.map_or(instant, |zone| zone.shown(instant));
        match &self.how[column] {
            How::Written(pattern) | How::Either(pattern, _) if pattern.has_offset() => {
                pattern.instant(field).map(shown)
            }
            How::Written(pattern) | How::Either(pattern, _) => pattern.instant(field),
            How::Epoch(epoch) => epoch.instant(field.parse().ok()?).map(shown),
            How::Plain | How::DecimalComma => parse_reading(field, self.zone),
        }
    }

    /// The text of a label, which must be there.
    fn label(&self, source: &str, line: u64, column: usize, field: &str) -> Result<String, InputError> {
        match unquoted(field) {
            "" => Err(InputError::EmptyField { file: source.to_string(), line, column: self.names[column].clone() }),
            text => Ok(text.replace("\"\"", "\"")),
        }
    }

    /// The error for a field that is not what its column promised.
    fn misfit(&self, source: &str, line: u64, column: usize, field: &str) -> InputError {
        let (file, text) = (source.to_string(), shortened(field));
        let written = match &self.how[column] {
            How::Written(pattern) | How::Either(pattern, _) => {
                format!("in the format {} as the others are", pattern.text)
            }
            How::Epoch(epoch) => format!("in {} since 1970; correct it", epoch.name()),
            How::Plain | How::DecimalComma => "like 2016-02-23 or 2016-02-23T17:11:30Z; write it so".into(),
        };
        let (kind, column) = (self.kinds[column], self.names[column].clone());
        match kind {
            _ if field.is_empty() => InputError::EmptyField { file, line, column },
            Value::Date => InputError::NotADate { file, line, column, text, written },
            _ if field.parse::<f64>().is_ok() => InputError::NotFinite { file, line, column, text },
            _ => InputError::NotANumber { file, line, column, text, mostly_numbers: kind == Value::Number },
        }
    }
}

/// A field, as a filter looks at it.
struct Field<'a> {
    layout: &'a Layout,
    column: usize,
    text: &'a str,
}

impl Cell for Field<'_> {
    fn text(&self) -> Option<&str> {
        Some(self.text)
    }

    fn number(&self) -> Option<f64> {
        self.layout.number(self.column, self.text)
    }

    fn instant(&self) -> Option<i64> {
        match self.layout.kinds[self.column] {
            Value::Number => None,
            _ => self.layout.instant(self.column, self.text),
        }
    }
}

impl Table {
    /// Counts a column of dates from another instant, in seconds since 1970. A column of numbers stays.
    pub(crate) fn count_from(&mut self, column: usize, origin_unix_seconds: f64) {
        let Some(time) = self.time[column] else { return };
        let shift = (time.origin_unix_seconds - origin_unix_seconds) / time.unit.seconds();
        self.rows.iter_mut().skip(column).step_by(self.dims).for_each(|value| *value += shift);
        self.time[column] = Some(TimeAxis { origin_unix_seconds, ..time });
    }

    /// Counts a column of degrees in the km of an axis on the globe. On any other axis it stays.
    pub(crate) fn on_globe(&mut self, column: usize, axis: &Axis) -> Result<(), Message> {
        self.refuse_no_degrees(column, axis)?;
        if axis.globe.is_some() {
            self.rows.iter_mut().skip(column).step_by(self.dims).for_each(|value| *value = place_inward(axis, *value));
        }
        Ok(())
    }

    /// The same where numbers are ends of something that is placed as a whole.
    pub(crate) fn ends_on_globe(&mut self, column: usize, axis: &Axis) -> Result<(), Message> {
        self.refuse_no_degrees(column, axis)?;
        self.rows.iter_mut().skip(column).step_by(self.dims).for_each(|value| *value = inward(axis, *value));
        Ok(())
    }

    /// Refuses a number that is none on the globe.
    fn refuse_no_degrees(&self, column: usize, axis: &Axis) -> Result<(), Message> {
        let values = self.rows.iter().skip(column).step_by(self.dims);
        let wrong = values.enumerate().find_map(|(row, value)| Some((row, *value, no_degrees(axis, *value)?)));
        let Some((row, value, what)) = wrong else { return Ok(()) };
        let (source, name, value) = (&self.source, &self.names[column], number(value));
        let place = self.lines.get(row).map_or(String::new(), |line| format!(", line {line}"));
        Err(message!["{source}{place}: `{name}` is {value}, which is no {what}; correct it, or leave that line out"])
    }

    /// A table of rows, dates counted from the midnight before the earliest.
    pub(super) fn new(
        source: &str,
        wanted: &Wanted,
        mut rows: Rows,
        (unit, zone): (TimeUnit, Option<Zone>),
        counting: Counting,
        skipped: u64,
    ) -> Self {
        let earliest = rows.instants.iter().map(|instants| instants.iter().min());
        let time: Vec<_> = earliest.map(|first| Some(TimeAxis::starting_before(*first?, unit))).collect();
        rows.put_on(&time);
        // Dates were read as the clocks of the zone show them.
        let time = time.into_iter().map(|time| Some(TimeAxis { zone, ..time? })).collect();
        let Rows { values, lines, labels, left_out, .. } = rows;
        let (names, notes) = (wanted.names.clone(), wanted.notes.clone());
        let (dims, source) = (names.len(), source.to_string());
        Self { names, rows: values, dims, lines, counting, skipped, time, labels, source, left_out, notes, crs: None }
    }
}

/// Keeps a value of a column, if it is not there yet and there is room.
pub(super) fn note_example(examples: &mut Vec<String>, field: &str) {
    let field = unquoted(field);
    if examples.len() < EXAMPLES && !examples.iter().any(|known| known == field) {
        examples.push(shortened(field));
    }
}

/// About how many rows there are in a text, going by its first lines.
fn expected_rows(text: &[u8]) -> usize {
    let seen = &text[..text.len().min(SAMPLE_BYTES)];
    let lines = seen.iter().filter(|&&byte| is_line_end(byte)).count();
    // A little more than that: lines differ.
    (text.len() as f64 / seen.len().max(1) as f64 * lines as f64 * 1.05) as usize
}

/// Passes over a bad row, the `skipped`-th, if so many may be.
pub(super) fn allowed(error: InputError, skipped: u64, most: u64, counting: Counting) -> Result<(), InputError> {
    match most {
        _ if skipped <= most => Ok(()),
        0 => Err(error),
        most => Err(InputError::TooManyBad { error: Box::new(error), skipped: most, counting }),
    }
}

/// Whether a text may name a column; the usual signs for a missing value may not.
fn could_be_a_name(text: &str) -> bool {
    !matches!(text.to_ascii_lowercase().as_str(), "" | "na" | "n/a" | "null" | "none" | "-" | "?")
}

fn check_length(source: &str, line: u64, found: usize, first_line: u64, expected: usize) -> Result<(), InputError> {
    if found == expected {
        return Ok(());
    }
    Err(InputError::Ragged { file: source.to_string(), line, found, first_line, expected })
}

#[cfg(test)]
mod tests {
    use super::super::source::Input;
    use super::*;
    use flate2::{Compression, write::GzEncoder};
    use std::io::Write;

    fn asked(columns: &[&str]) -> ReadOptions {
        ReadOptions { columns: Some(columns.iter().map(ToString::to_string).collect()), ..ReadOptions::default() }
    }

    /// Through the door by which files come.
    fn read_packed(bytes: impl AsRef<[u8]>, options: &ReadOptions) -> Result<Table, InputError> {
        let input = Input::Memory(bytes.as_ref().to_vec().leak());
        read_bytes("events.csv", &Opened::new("events.csv", input)?.table()?, options)
    }

    fn read(text: &str) -> Table {
        let result = read_packed(text, &ReadOptions::default());
        result.unwrap_or_else(|error| panic!("{text:?}: {error}"))
    }

    fn error_of(bytes: impl AsRef<[u8]>, options: &ReadOptions) -> String {
        let sentence = read_packed(bytes, options).unwrap_err().to_string();
        assert!(sentence.contains("events.csv") && !sentence.contains('\n') && !sentence.contains("  "), "{sentence}");
        sentence
    }

    /// The default reading fails with a sentence that has each of `parts`.
    fn fails(bytes: impl AsRef<[u8]>, parts: &[&str]) {
        let sentence = error_of(bytes, &ReadOptions::default());
        for part in parts {
            assert!(sentence.contains(part), "{part:?} is not in: {sentence}");
        }
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn every_separator_and_line_end_gives_the_same_table() {
        let plain = "lon,lat\n1,2.5\n-3e1,4\n";
        let expected = read(plain);
        assert_eq!(expected.names, ["lon", "lat"]);
        assert_eq!(expected.rows, [1.0, 2.5, -30.0, 4.0]);
        assert_eq!((expected.dims, &expected.lines[..], &expected.time[..]), (2, &[2, 3][..], &[None, None][..]));
        for text in [
            plain.replace('\n', "\r\n"),
            plain.replace('\n', "\r"),
            plain.trim_end().to_string(),
            plain.replace(',', "\t"),
            plain.replace(',', " ; "),
            plain.replace(',', "   "),
            plain.replace(',', " \t "),
            plain.replace('\n', "  \n  "),
            format!("\u{feff}{plain}"),
            "\"lon\",\"lat\"\n\"1\",\"2.5\"\n -3e1 , \" 4\"\n".to_string(),
        ] {
            assert_eq!(read(&text), expected, "{text:?}");
        }
    }

    #[test]
    fn comments_and_blank_lines_are_passed_and_counted() {
        let table = read("# a, b, c\n\nt\n1\n  # note\n\n   \n2\n\n#end");
        assert_eq!((table.rows, table.lines), (vec![1.0, 2.0], vec![4, 8]));
        let table = read("who,t\n\"two\r\nlines, \"\"quoted\"\"\",1\nx,2\n");
        assert_eq!((table.names, table.lines), (vec!["t".to_string()], vec![2, 4]));
        assert_eq!(read("\"a \"\"b\"\"\"\n1\n").names, ["a \"b\""]);
    }

    #[test]
    fn a_header_is_told_from_data() {
        assert_eq!(read("1,2\n3,4\n").names, ["0", "1"]);
        assert_eq!(read("1,2\n3,4\n").rows.len(), 4);
        assert_eq!(read("1.5").rows, [1.5]);
        assert_eq!(read("note,t\na,1\nb,2\n").names, ["t"]);
        assert_eq!(read("a,1\nb,2\n").rows, [1.0, 2.0], "text in both rows of a column makes no header");
        assert_eq!(read(",lon\n7,1\n8,2\n").names, ["0", "lon"]);
        assert_eq!(read("event time\n1\n2\n").names, ["event time"]);
        fails("1.2x,3\n4,5\n", &["line 1", "`0`", "`1.2x`"]);
        fails("NA\n4\n5\n", &["line 1", "`NA`"]);
        fails("t\noops\n5\n6\n", &["line 2", "`t`", "`oops`"]);
    }

    #[test]
    fn separators_inside_values_do_not_mislead() {
        assert_eq!(read("name\tlon\tlat\nSmith, J\t1\t2\nDoe, A, B\t3\t4\n").rows, [1.0, 2.0, 3.0, 4.0]);
        assert_eq!(read("\"a, b\";x\n\"c, d\";1\n").names, ["x"]);
        assert_eq!(read("when\n2016-02-23 12:00\n2016-02-24 00:00:00\n").rows, [0.5, 1.0]);
        assert_eq!(read("\"x y\"  z\n1 2\n").names, ["x y", "z"]);
        assert_eq!(read("a\tb\tc\n\t1\t2\nx\t3\t4\n").rows, [1.0, 2.0, 3.0, 4.0], "an empty first field stays a field");
        fails("x\ty\n\t2\n3\t4\n", &["line 2", "`x`", "empty"]);
        fails("x\ty\n1\t2\n3\t\n", &["line 3", "`y`", "empty"]);
        assert_eq!(read("2016-02-23 12:00").rows, [0.5]);
        fails("1 2\n3 4\n5,6\n", &["line 3", "1 field where"]);
    }

    #[test]
    fn columns_are_found_by_name_or_number() {
        let text = "year,t_days,date\n1851.2,0,1851-03-15\n1851.6,157,1851-08-19\n";
        let names = |columns: &[&str]| read_bytes("c", text.as_bytes(), &asked(columns)).unwrap().names;
        assert_eq!(names(&["year"]), ["year"]);
        assert_eq!(names(&["T_Days", "0"]), ["t_days", "year"]);
        assert_eq!(names(&[]), ["date"], "dates are taken before numbers");
        let dates = read_bytes("c", text.as_bytes(), &asked(&["date"])).unwrap();
        assert_eq!(dates.rows, [0.0, 157.0]);
        assert_eq!(dates.time[0].unwrap().to_iso(157.0), "1851-08-19T00:00:00Z");
        let swapped = read_bytes("c", b"1,2\n3,4\n", &asked(&["1", "0"])).unwrap();
        assert_eq!((swapped.names, swapped.rows), (vec!["1".into(), "0".into()], vec![2.0, 1.0, 4.0, 3.0]));

        let sentence = error_of(text, &asked(&["lat"]));
        assert!(sentence.contains("`lat`") && sentence.contains("year, t_days, date"), "{sentence}");
        assert!(error_of(text, &asked(&["3"])).contains("no column `3`"));
        assert!(error_of("1,2\n3,4\n", &asked(&["x"])).contains("no header"));
        assert!(error_of("x,x\n1,2\n", &asked(&["x"])).contains("one of 0, 1"));
        assert_eq!(read_bytes("c", b"x,X\n1,2\n", &asked(&["X"])).unwrap().rows, [2.0]);
        assert_eq!(read_bytes("c", b"Lon,LAT\n1,2\n", &asked(&["lAt"])).unwrap().names, ["LAT"]);
        assert!(error_of("x,X\n1,2\n", &asked(&["X", "X"])).contains("twice"));
    }

    #[test]
    fn labels_stay_text_and_are_no_coordinates() {
        let labelled = |name: &str| ReadOptions { label: Some(name.into()), ..ReadOptions::default() };
        let table = read_bytes("c", b"trial,t\n1,0.5\n02, 1\n\"a \"\"b\"\"\",2\n", &labelled("trial")).unwrap();
        assert_eq!((table.names, table.rows), (vec!["t".to_string()], vec![0.5, 1.0, 2.0]));
        assert_eq!(table.labels, ["1", "02", "a \"b\""]);
        assert!(error_of("trial,t\n1,0\n,1\n", &labelled("trial")).contains("line 3"));
        assert!(error_of("run,t\n1,0\n", &labelled("trial")).contains("no column `trial`"));
        assert_eq!(
            read_header("c", b"who,t\nx,1\n", &Dates::default()).unwrap(),
            [("who".to_string(), false), ("t".to_string(), true)]
        );
    }

    #[test]
    fn default_columns_must_be_beyond_doubt() {
        fails("a,b,c,d\n1,2,3,4\n", &["4 columns", "a, b, c, d", "`columns = a,b`"]);
        fails("from,to\n2016-01-01,2016-01-02\n", &["2 columns of dates", "from, to", "`columns`"]);
        fails("who,what\nx,y\n", &["no column of numbers", "who, what"]);
        assert_eq!(read("who,when\nx,2016-01-01T06:00Z\n").rows, [0.25]);
        assert_eq!(read("x,note,y\n1,a,2\n3,,4\n").names, ["x", "y"]);
        assert!(error_of("who,t\nx,1\n", &asked(&["who"])).contains("not a number or a date"));
    }

    #[test]
    fn a_column_of_dates_comes_before_numbers() {
        let log = read("timestamp,status,path,latency\n2024-01-01T06:00Z,200,/,3.5\n2024-01-02,404,/x,1\n");
        assert_eq!((log.names, log.rows), (vec!["timestamp".to_string()], vec![0.25, 1.0]));
        assert!(
            log.notes[0].to_string().contains("`timestamp`") && log.notes[0].to_string().contains("`columns`"),
            "{:?}",
            log.notes
        );
        fails("from,x,to\n2016-01-01,1,2016-01-02\n", &["2 columns of dates", "from, to", "`columns = from`"]);
        let place = "when,lon,lat\n2016-01-01,1,2\n";
        fails(place, &["more than one way", "`columns = lon,lat` or `columns = lon,lat,when` or `columns = when`"]);
        fails("x,y,mag\n1,2,3\n", &["`columns = x,y` or `columns = x,y,mag`"]);
        fails("id,mag,lat,lon\n1,2,3,4\n", &["4 columns", "as in `columns = lon,lat`"]);
        assert_eq!(read("x,y,t\n1,2,3\n").names, ["x", "y", "t"]);
        assert_eq!(read("a,b,c\n1,2,3\n").names, ["a", "b", "c"]);
        // As this program writes them.
        let own = read("x,t,t_iso\n1,0.5,2016-01-01T12:00:00Z\n2,1.5,2016-01-02T12:00:00Z\n");
        assert_eq!((own.names, own.rows), (vec!["x".to_string(), "t".into()], vec![1.0, 0.5, 2.0, 1.5]));
        assert!(own.time[0].is_none() && own.time[1].is_some() && own.notes.is_empty());
    }

    #[test]
    fn dates_in_other_forms_are_known_where_there_is_no_doubt() {
        for (text, days) in [
            ("when\n31/12/2025\n01/01/2026\n", [0.0, 1.0]),
            ("when\n12/31/2025 11 PM\n01/01/2026 12 PM\n", [23.0 / 24.0, 1.5]),
            ("when,status\n31.12.2025 06:00,200\n01.01.2026 12:00,404\n", [0.25, 1.5]),
            ("31/12/2025\n01/01/2026\n", [0.0, 1.0]),
            (
                "h - - [10/Oct/2000:06:00:00 +0000] \"GET /\" 200 5\nh - - [10/Oct/2000:13:00:00 -0500] \"GET, /\" 404 -\n",
                [0.25, 0.75],
            ),
        ] {
            assert_eq!(read(text).rows, days, "{text}");
        }
        fails("when\n01/02/2025\n03/04/2025\n", &["`when`", "`01/02/2025`", "`date_format = %d/%m/%Y` or '%m/%d/%Y'"]);
        fails("when\n31/12/2025\n12/31/2025\n30/12/2025\n", &["line 3", "`12/31/2025`", "%d/%m/%Y"]);
        fails("when\n5th of May\n6th of May\n", &["line 2", "3 fields", "`date_format`"]);
        fails("when\nMonday\nTuesday\n", &["no column of numbers", "`Monday`", "`date_format`"]);
        let format = |text: &str| ReadOptions {
            dates: Dates { format: Some(Pattern::parse(text).unwrap()), ..Dates::default() },
            ..ReadOptions::default()
        };
        let months = read_packed("when,n\n01/02/2025,7\n03/04/2025,8\n", &format("%m/%d/%Y")).unwrap();
        assert_eq!((months.names, months.rows), (vec!["when".to_string()], vec![0.0, 61.0]));
        let compact = read_packed("day,n\n20240131,7\n20240201,8\n", &format("%Y%m%d")).unwrap();
        assert_eq!(compact.rows, [0.0, 1.0]);
        let named = read_packed("when\n5 January 2024\n6 January 2024\n", &format("%d %B %Y")).unwrap();
        assert_eq!(named.rows, [0.0, 1.0]);
        let wrong = error_of("when\n01/02/2025\n", &format("%Y-%m"));
        assert!(wrong.contains("`date_format = %Y-%m`") && wrong.contains("`01/02/2025`"), "{wrong}");
    }

    #[test]
    fn epochs_are_read_where_they_are_asked_for() {
        let text = "timestamp,x\n1700000000,5\n1700086400,6\n";
        let epoch = |epoch: Epoch, columns: Option<Vec<String>>| ReadOptions {
            dates: Dates { epoch: Some(epoch), ..Dates::default() },
            columns,
            time_unit: TimeUnit::Hours,
            ..ReadOptions::default()
        };
        let table = read_packed(text, &epoch(Epoch::Seconds, None)).unwrap();
        assert_eq!((table.names, table.rows[1] - table.rows[0]), (vec!["timestamp".to_string()], 24.0));
        assert_eq!(table.time[0].unwrap().to_iso(table.rows[0]), "2023-11-14T22:13:20Z");
        let millis = text.replace(",5", "000,5").replace("86400,", "86400000,");
        assert_eq!(read_packed(&millis, &epoch(Epoch::Millis, None)).unwrap().rows, table.rows);
        assert!(error_of(text, &epoch(Epoch::Millis, None)).contains("milliseconds since 1970"));
        let old = read_packed("t,x\n3600,1\n7200,2\n", &epoch(Epoch::Seconds, Some(vec!["t".into()]))).unwrap();
        assert_eq!(old.rows, [1.0, 2.0]);
        let plain = read(text);
        assert_eq!(plain.names, ["timestamp", "x"]);
        assert!(plain.notes[0].to_string().contains("`epoch = s`"), "{:?}", plain.notes);
        assert!(read(&millis).notes[0].to_string().contains("`epoch = ms`"));
    }

    #[test]
    fn decimal_commas_are_read_where_they_separate_nothing() {
        for text in
            ["lon;lat\n1,5;2\n-3,25;4,5\n", "lon\tlat\n1,5\t2\n-3,25\t4,5\n", "lon,lat\n\"1,5\",2\n\"-3,25\",\"4,5\"\n"]
        {
            let table = read(text);
            assert_eq!((table.names, table.rows), (vec!["lon".to_string(), "lat".into()], vec![1.5, 2.0, -3.25, 4.5]));
        }
        assert_eq!(read("1,5;2,5\n3,5;4,5\n").rows, [1.5, 2.5, 3.5, 4.5]);
        assert!(error_of("t;x\n1,500;1\n2,500;2\n", &asked(&["t"])).contains("decimals with a point"));
        fails("t;x\n1.5;1\n2,5;2\n3.5;3\n", &["line 3", "`2,5`", "decimals with a point"]);
    }

    #[test]
    fn a_filter_takes_some_rows() {
        let text = "species,t,when\noak,1,2024-01-05\nelm,x,2024-01-06\noak,3,2024-02-01\n";
        let filtered = |filter: &str| ReadOptions {
            filter: Some(Filter::parse(filter).unwrap()),
            columns: Some(vec!["t".into()]),
            ..ReadOptions::default()
        };
        let table = read_packed(text, &filtered("species == \"oak\"")).unwrap();
        assert_eq!((table.rows, table.lines, table.left_out), (vec![1.0, 3.0], vec![2, 4], 1));
        assert_eq!(read_packed(text, &filtered("when < 2024-02-01 and t <= 1")).unwrap().rows, [1.0]);
        let nothing = error_of(text, &filtered("species == \"ash\""));
        assert!(nothing.contains("none of the 3 lines") && nothing.contains("oak, elm"), "{nothing}");
        assert!(error_of(text, &filtered("kind == 1")).contains("`filter` asks for a column `kind`"));
    }

    #[test]
    fn dates_become_numbers_from_the_first_midnight() {
        let text = "t\n2016-02-23T17:11:30.000001Z\n2016-02-22 12:00:00\n2016-02-24T01:00:00+02:00\n";
        let options = |time_unit| ReadOptions { time_unit, ..ReadOptions::default() };
        let table = read_bytes("t", text.as_bytes(), &options(TimeUnit::Seconds)).unwrap();
        assert_eq!(table.rows, [148_290.000_001, 43_200.0, 169_200.0]);
        let axis = table.time[0].unwrap();
        assert_eq!(axis.to_iso(table.rows[0]), "2016-02-23T17:11:30.000001Z");
        assert_eq!((axis.to_iso(0.0), axis.unit), ("2016-02-22T00:00:00Z".to_string(), TimeUnit::Seconds));
        assert_eq!(read_bytes("t", text.as_bytes(), &options(TimeUnit::Hours)).unwrap().rows[1], 12.0);
        fails("t\n2016-02-23\n2016-02-30\n2016-03-01\n", &["line 3", "`t`", "`2016-02-30`", "not a date"]);
    }

    #[test]
    fn faults_are_named_with_their_place() {
        fails("", &["empty"]);
        fails("\u{feff}# only a comment\n\n", &["empty"]);
        fails("# c\nlon,lat\n", &["header", "line 2"]);
        fails("x,y\n1,2\n3,\n", &["line 3", "`y`", "empty", "`columns`"]);
        fails("x,y\n1,2\n3,NaN\n", &["line 3", "`y`", "`NaN`", "finite"]);
        fails("x,y\n1,2\n-inf,3\n", &["line 3", "`x`", "`-inf`", "finite"]);
        fails("x\n1\n1e999\n", &["line 3", "`1e999`", "finite"]);
        fails(format!("x,y\n1,2\n3,{}\u{1b}\n", "ab".repeat(99)), &["line 3", "`y`", "abab…`", "not a number"]);
        fails("x,y\n1,2\n3,4,5\n", &["line 3", "3 fields", "line 1 has 2"]);
        fails("x,y\n1,2\n3\n", &["line 3", "1 field where"]);
        fails("x,y\n\"1,2\n3,4\n", &["line 2", "quotation mark"]);
        fails("x\n1\n\u{1b}[2J\n", &["line 3", "`\u{fffd}[2J`"]);
        let (many, late) = ("1,2\n".repeat(3 * SAMPLE_ROWS), format!("line {}", 3 * SAMPLE_ROWS + 1));
        fails(many.clone() + "1,b\n", &[&late, "`1`", "`b`"]);
        fails(many + "1,2,3\n", &[&late, "3 fields"]);
        fails(b"x\n1\n\xe9\n", &["line 3", "UTF-8"]);
        fails(b"\xff\xfex\x00\n\x00", &["line 1", "UTF-8"]);
    }

    #[test]
    fn other_formats_are_told_what_is_supported() {
        for (bytes, format) in [
            (&b"PK\x03\x04rest"[..], "zip"),
            (b"\x89HDF\r\n\x1a\n", "HDF5"),
            (b"1,2\n\0,3\n", "binary"),
            (b" {\"type\": \"FeatureCollection\"}", "JSON"),
        ] {
            fails(bytes, &[format, "CSV or TSV"]);
        }
        for bytes in [&b"PAR1\x15\x00\x15PAR1"[..], b"PAR1\x15\x04\x00", b"PAR1\x15\x00PAR1", b"PAR1\0\0\0\x7fPAR1"] {
            let why = if cfg!(feature = "parquet") { "damaged or truncated" } else { "does not read" };
            fails(bytes, &["a", "Parquet file", why, "as CSV"]);
        }
        assert_eq!(read("PAR1,y\n1,2\n").names, ["PAR1", "y"]);
    }

    #[test]
    fn gzip_is_known_by_its_first_bytes() {
        let packed = gzip(b"x,y\n1,2\n");
        let two_members = [packed.clone(), gzip(b"3,4\n")].concat();
        let table = read_packed(&two_members, &ReadOptions::default()).unwrap();
        assert_eq!(table.rows, [1.0, 2.0, 3.0, 4.0]);
        for length in 2..packed.len() {
            fails(&packed[..length], &["gzip", "too early"]);
        }
        let mut damaged = packed.clone();
        damaged[12] ^= 0xff;
        fails(damaged, &["gzip", "again"]);
    }

    #[test]
    fn unreadable_paths_are_told_apart() {
        let directory = std::env::temp_dir().join(format!("pointillist-table-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let path = |name: &str| directory.join(name).to_str().unwrap().to_string();
        let read = |name: &str| read_bytes(&path(name), &read_table(&path(name))?, &ReadOptions::default());
        std::fs::write(path("t.csv"), "t\n1\n").unwrap();
        let (good, missing, is_directory) = (read("t.csv"), read("missing.csv"), read(""));
        #[cfg(unix)]
        let forbidden = {
            use std::os::unix::fs::PermissionsExt;
            std::fs::set_permissions(path("t.csv"), std::fs::Permissions::from_mode(0o000)).unwrap();
            read("t.csv")
        };
        std::fs::remove_dir_all(&directory).unwrap();
        let good = good.unwrap();
        assert_eq!((good.rows, good.source), (vec![1.0], path("t.csv")));
        assert!(matches!(missing, Err(InputError::Missing { .. })));
        assert!(matches!(is_directory, Err(InputError::IsDirectory { .. })));
        // The superuser may read everything.
        #[cfg(unix)]
        assert!(matches!(forbidden, Err(InputError::NoPermission { .. }) | Ok(_)));
    }

    #[test]
    fn no_bytes_make_it_panic() {
        let alphabet = b"1.,;\t \n\r\"#eNax-\xc3\xa9\xff\0{";
        let mut state = 1_u64;
        for _ in 0..50_000 {
            let mut bytes = Vec::new();
            for _ in 0..state % 24 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                bytes.push(alphabet[(state >> 33) as usize % alphabet.len()]);
            }
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(bytes.len() as u64 | 1);
            for options in [ReadOptions::default(), asked(&["1", "0"])] {
                if let Ok(table) = read_bytes("x", &bytes, &options) {
                    assert_eq!(table.rows.len(), table.dims * table.lines.len());
                    assert!(table.rows.iter().all(|value| value.is_finite()));
                    assert!(table.dims > 0 && !table.lines.is_empty());
                }
            }
        }
    }
}
