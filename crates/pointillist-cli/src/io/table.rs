//! Tables of events in: delimited text, plain or gzip, from a file, from standard input or from memory.
//!
//! The whole text is held once and walked twice: a look at the first [`SAMPLE_ROWS`] rows decides separator, header and
//! which columns are numbers or dates; a strict pass then reads the chosen columns into one flat vector, where every
//! value must be what its column promised. Nothing is repaired and no row is dropped in silence. Cost: one `f64` a value
//! and one `u64` a row, no allocation a field.
//!
//! Parquet files are left to `parquet.rs`, texts too large to be held to `stream.rs`, which uses the same [`Records`] and
//! [`Layout`]. It reads no GeoJSON, knows nothing of windows, and takes no decimal commas.

use std::io::{self, ErrorKind};

use super::memory::{self, show_bytes};
use super::source::Opened;
use super::time::{TimeAxis, TimeUnit, parse_iso};
use super::{parquet, plain, summary_file};

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
}

/// What the rows of a table are counted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counting {
    /// The lines of a text.
    Lines,
    /// The rows of a binary table.
    Rows,
}

impl Counting {
    /// The word before a number.
    pub fn word(self) -> &'static str {
        match self {
            Self::Lines => "line",
            Self::Rows => "row",
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
}

/// Why a table could not be read; its text is one sentence with the place and the remedy.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // the fields are the words of the sentences
#[allow(dead_code)] // some are for builds with Parquet, one for those without
pub enum InputError {
    /// There is no such file.
    #[error("{file} does not exist; check the name and the directory")]
    Missing { file: String },
    /// The path names a directory.
    #[error("{file} is a directory; give the name of a file in it")]
    IsDirectory { file: String },
    /// The file may not be read.
    #[error("{file} may not be read: permission denied; change its permissions or copy it")]
    NoPermission { file: String },
    /// Anything else the system reports.
    #[error("{file} cannot be read: {error}")]
    Unreadable { file: String, error: io::Error },
    /// A gzip stream that stops before its end.
    #[error("{file} is a gzip file that ends too early; fetch or compress it again")]
    TruncatedGzip { file: String },
    /// A gzip stream that does not decompress.
    #[error("{file} is a damaged gzip file ({error}); fetch or compress it again")]
    DamagedGzip { file: String, error: io::Error },
    /// A summary where events are needed.
    #[error(
        "{file} is a summary of events, not a table of them; `pointillist fit {file} -o MODEL` makes a model of it, \
        and the other commands take that"
    )]
    IsSummary { file: String },
    /// More bad rows than are allowed.
    #[error("{error}; {skipped} bad {}s before it were skipped, as many as --skip-bad allows", .counting.word())]
    TooManyBad { error: Box<InputError>, skipped: u64, counting: Counting },
    /// More than memory allows.
    #[error(
        "{file} needs more memory than --max-memory allows ({}); raise that, give fewer rows, or if they are events to be \
        fitted, make a summary of them with `pointillist summarize {file} -o SUMMARY`", show_bytes(*.limit))]
    TooLarge { file: String, limit: u64 },
    /// The same of a document.
    #[error(
        "{file} holds {} bytes or more, which need more memory than --max-memory allows ({}); raise that, or give another file",
        .size, show_bytes(*.limit))]
    LargeDocument { file: String, size: u64, limit: u64 },
    /// A line without end.
    #[error("{file}, line {line}: the line is longer than {megabytes} MB; write one event a line")]
    LongLine { file: String, line: u64, megabytes: usize },
    /// A Parquet file, and a program without the means to read it.
    #[error(
        "{file} is a Parquet file, which this build of pointillist does not read; build it with the feature \
        `parquet`, or save the events as CSV"
    )]
    NoParquet { file: String },
    /// A Parquet file that cannot be read.
    #[error("{file} is a damaged or truncated Parquet file ({why}); write or copy it again, or save the events as CSV")]
    DamagedParquet { file: String, why: String },
    /// A Parquet file with something newer or rarer than is known here.
    #[error(
        "{file} is a Parquet file with something that is not supported ({why}); write it plain or with snappy, \
        gzip or zstd, or save the events as CSV"
    )]
    UnsupportedParquet { file: String, why: String },
    /// A Parquet file without rows.
    #[error("{file} is a Parquet file without rows; it should hold one event a row")]
    NoRows { file: String },
    /// A null where a coordinate is needed.
    #[error("{file}, row {row}: column `{}` is null; fill it in, remove the row, or choose others with --columns",
        shortened(.column))]
    Null { file: String, row: u64, column: String },
    /// NaN or infinity in a Parquet file.
    #[error("{file}, row {row}: column `{}` holds `{text}`, which is not a finite number; correct it or remove the row",
        shortened(.column))]
    NotFiniteRow { file: String, row: u64, column: String, text: String },
    /// A Parquet column that is not made of numbers or dates.
    #[error("{file}: column `{}` holds {holds}, not numbers or dates; choose others with --columns, or convert it",
        shortened(.column))]
    WrongType { file: String, column: String, holds: String },
    /// A column inside another.
    #[error("{file}: column `{}` is nested, and one event a row needs plain columns; flatten it, or choose others with \
        --columns", shortened(.column))]
    Nested { file: String, column: String },
    /// A format that is not delimited text.
    #[error("{file} is {format}, not a table in text; save the events as CSV or TSV (gzip is fine)")]
    Unsupported { file: String, format: &'static str },
    /// Text in another encoding.
    #[error("{file}, line {line}: the text is not UTF-8; save the file in the UTF-8 encoding")]
    NotUtf8 { file: String, line: u64 },
    /// Nothing but blank lines and comments.
    #[error("{file} is empty; it should hold one event a line")]
    Empty { file: String },
    /// A header and nothing after it.
    #[error("{file} has a header (line {line}) but no events; put one event a line below it")]
    HeaderOnly { file: String, line: u64 },
    /// A quote without its partner.
    #[error("{file}, line {line}: a quotation mark is opened and never closed; close it or remove it")]
    OpenQuote { file: String, line: u64 },
    /// A row that is longer or shorter than the first.
    #[error("{file}, line {line}: {found} field{} where line {first_line} has {expected}; make the rows equally long",
        if *.found == 1 { "" } else { "s" })]
    Ragged { file: String, line: u64, found: usize, first_line: u64, expected: usize },
    /// A value that is not there.
    #[error("{file}, line {line}: column `{}` is empty; fill it in, remove the line, or choose others with --columns",
        shortened(.column))]
    EmptyField { file: String, line: u64, column: String },
    /// NaN or infinity.
    #[error("{file}, line {line}: column `{}` holds `{text}`, which is not a finite number; correct it or remove the line",
        shortened(.column))]
    NotFinite { file: String, line: u64, column: String, text: String },
    /// Text in a column of numbers.
    #[error("{file}, line {line}: column `{}` holds `{text}`, which is not a number{}; {}",
        shortened(.column), if *.mostly_numbers { "" } else { " or an ISO 8601 date" }, number_remedy(.text))]
    NotANumber { file: String, line: u64, column: String, text: String, mostly_numbers: bool },
    /// Something else in a column of dates.
    #[error("{file}, line {line}: column `{}` holds `{text}`, which is not a date; write it like 2016-02-23 or \
        2016-02-23T17:11:30Z, or choose other columns with --columns", shortened(.column))]
    NotADate { file: String, line: u64, column: String, text: String },
    /// A column that was asked for and is not there.
    #[error("{file} has no column `{}`; choose with --columns from {}{}", shortened(.asked), listed(.columns),
        if *.has_header { ", or by number from 0" } else { " (there is no header, so columns go by number)" })]
    NoSuchColumn { file: String, asked: String, columns: Vec<String>, has_header: bool },
    /// A name that several columns have.
    #[error("{file} has several columns `{}`; choose with --columns by number, one of {}",
        shortened(.asked), listed(.numbers))]
    AmbiguousColumn { file: String, asked: String, numbers: Vec<String> },
    /// A column that was asked for twice.
    #[error("column `{}` of {file} was chosen twice; name each column once in --columns", shortened(.asked))]
    RepeatedColumn { file: String, asked: String },
    /// More columns of numbers than can be meant.
    #[error("{file} has {} columns of numbers ({}); choose those that place the events, as in --columns {}",
        .columns.len(), listed(.columns), shortened(&.columns[..2.min(.columns.len())].join(",")))]
    TooManyColumns { file: String, columns: Vec<String> },
    /// No numbers, and dates in more than one column.
    #[error("{file} has {} columns of dates ({}) and none of numbers; choose one with --columns",
        .columns.len(), listed(.columns))]
    SeveralDateColumns { file: String, columns: Vec<String> },
    /// Neither numbers nor dates anywhere.
    #[error("{file} has no column of numbers or ISO 8601 dates (its columns: {}); write events as numbers or dates",
        listed(.columns))]
    NoNumbers { file: String, columns: Vec<String> },
}

impl InputError {
    /// Whether it is of one row, which could be passed over.
    pub(super) fn is_of_a_row(&self) -> bool {
        use InputError::*;
        matches!(
            self,
            Ragged { .. }
                | EmptyField { .. }
                | NotFinite { .. }
                | NotANumber { .. }
                | NotADate { .. }
                | Null { .. }
                | NotFiniteRow { .. }
        )
    }
}

/// Names for a sentence: the first twenty, and how many more there are.
fn listed(names: &[String]) -> String {
    let shown: Vec<_> = names.iter().take(20).map(|name| shortened(name)).collect();
    let more = if names.len() > 20 { format!(" and {} more", names.len() - 20) } else { String::new() };
    shown.join(", ") + &more
}

/// A text from a file, short and without control characters, which could disturb a terminal.
fn shortened(text: &str) -> String {
    let shown: String = text.chars().take(40).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    if text.chars().nth(40).is_some() { shown + "…" } else { shown }
}

fn number_remedy(text: &str) -> &'static str {
    let with_point = text.replace(',', ".");
    if with_point != text && with_point.replace('.', "").parse::<f64>().is_ok() {
        "write decimals with a point and nothing between thousands"
    } else {
        "correct it, remove the line, or choose other columns with --columns"
    }
}

/// What `path` is called in messages.
pub fn source_name(path: &str) -> &str {
    if path == "-" { "standard input" } else { path }
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
    let records = Records::new(text_of(source, bytes)?);
    let layout = Layout::sample(source, records.clone(), options.skip_bad)?;
    let wanted = layout.wanted(source, options)?;
    layout.read(source, records, &wanted, options)
}

/// The columns of a table, and which of them hold numbers or dates.
pub fn read_header(source: &str, bytes: &[u8]) -> Result<Vec<(String, bool)>, InputError> {
    let layout = match is_parquet(bytes) {
        true => parquet::layout(source, bytes.to_vec())?,
        // Whether a row may be of another length is not asked yet.
        false => Layout::sample(source, Records::new(text_of(source, bytes)?), u64::MAX)?,
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
    fn detect(text: &str) -> Self {
        let is_content = |line: &&str| !line.trim().is_empty() && !line.trim().starts_with('#');
        let lines: Vec<&str> = text.split(['\n', '\r']).filter(is_content).take(SAMPLE_LINES).collect();
        let counts = |separator| lines.iter().map(move |line| count_unquoted(line, separator));
        let is_in_all_equally = |&separator: &u8| {
            let first = counts(separator).next().unwrap_or(0);
            first > 0 && counts(separator).all(|count| count == first)
        };
        let is_in_most = |&separator: &u8| 2 * counts(separator).filter(|&count| count > 0).count() >= lines.len();
        let bytes = [b',', b'\t', b';'];
        if let Some(byte) = bytes.into_iter().find(is_in_all_equally).or_else(|| bytes.into_iter().find(is_in_most)) {
            return Self::Byte(byte);
        }
        // A value with a blank in it, such as `2016-02-23 17:11`, is one column; so is `event time` over numbers.
        let values = lines.iter().filter(|line| Value::of(line) != Value::Text).count();
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
    fn of(field: &str) -> Self {
        let field = unquoted(field);
        if field.parse::<f64>().is_ok() {
            Self::Number
        } else if parse_iso(field).is_some() {
            Self::Date
        } else {
            Self::Text
        }
    }
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
    pub(super) fn new(text: &'a str) -> Self {
        Self::within(text, 1, Separator::detect(text))
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
    pub(super) has_header: bool,
    pub(super) first_line: u64,
}

/// The places of the columns to read.
pub(super) struct Wanted {
    /// The coordinates.
    pub(super) chosen: Vec<usize>,
    /// The labels.
    pub(super) label: Option<usize>,
}

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
    /// Where bad rows may be passed over (`most_bad`), one of another length says nothing; how many there are is not counted here.
    pub(super) fn sample(file: &str, mut records: Records, most_bad: u64) -> Result<Self, InputError> {
        let mut fields = Vec::new();
        let Some(first_line) = records.next(file, &mut fields)? else {
            return Err(InputError::Empty { file: file.to_string() });
        };
        let first_row = fields.clone();
        let first_values: Vec<Value> = first_row.iter().map(|field| Value::of(field)).collect();
        let first_is_text = first_values.iter().all(|&value| value == Value::Text);

        let (mut rows, mut numbers, mut dates) = (0, vec![0; first_row.len()], vec![0; first_row.len()]);
        while rows < SAMPLE_ROWS
            && let Some(line) = records.next(file, &mut fields)?
        {
            match check_length(file, line, fields.len(), first_line, first_row.len()) {
                Err(_) if most_bad > 0 => continue,
                checked => checked?,
            }
            for (column, field) in fields.iter().enumerate() {
                match Value::of(field) {
                    Value::Number => numbers[column] += 1,
                    Value::Date => dates[column] += 1,
                    Value::Text => {}
                }
            }
            rows += 1;
        }
        if rows == 0 && first_is_text {
            return Err(InputError::HeaderOnly { file: file.to_string(), line: first_line });
        }
        let kind = |column: usize| match (2 * numbers[column] >= rows, 2 * dates[column] >= rows) {
            _ if rows == 0 => first_values[column],
            (true, _) => Value::Number,
            (false, true) => Value::Date,
            (false, false) => Value::Text,
        };
        let kinds: Vec<Value> = (0..first_row.len()).map(kind).collect();
        let nothing_but_text = kinds.iter().all(|&kind| kind == Value::Text);
        let names_a_column = |(field, kind): (&&str, &Value)| *kind != Value::Text && could_be_a_name(unquoted(field));
        let has_header = first_is_text && (nothing_but_text || first_row.iter().zip(&kinds).any(names_a_column));
        let name = |(column, field): (usize, &&str)| match unquoted(field) {
            name if has_header && !name.is_empty() => name.replace("\"\"", "\""),
            _ => column.to_string(),
        };
        let names = first_row.iter().enumerate().map(name).collect();
        Ok(Self { names, kinds, has_header, first_line })
    }

    /// The columns that the options ask for.
    pub(super) fn wanted(&self, source: &str, options: &ReadOptions) -> Result<Wanted, InputError> {
        let label = options.label.as_ref().map(|name| self.find(source, name.trim())).transpose()?;
        Ok(Wanted { chosen: self.choose(source, options, label)?, label })
    }

    /// The places of the coordinates: those asked for, or else the numeric ones.
    fn choose(&self, source: &str, options: &ReadOptions, label: Option<usize>) -> Result<Vec<usize>, InputError> {
        let file = source.to_string();
        if let Some(asked) = options.columns.as_ref().filter(|asked| !asked.is_empty()) {
            let mut chosen = Vec::with_capacity(asked.len());
            for name in asked {
                let column = self.find(source, name.trim())?;
                if chosen.contains(&column) {
                    return Err(InputError::RepeatedColumn { file, asked: name.clone() });
                }
                chosen.push(column);
            }
            return Ok(chosen);
        }
        let is_free = |&column: &usize| Some(column) != label;
        let of_kind = |kind| -> Vec<usize> {
            (0..self.kinds.len()).filter(|&column| self.kinds[column] == kind).filter(is_free).collect()
        };
        let names = |columns: &[usize]| columns.iter().map(|&column| self.names[column].clone()).collect();
        let (numbers, dates) = (of_kind(Value::Number), of_kind(Value::Date));
        match (numbers.len(), dates.len()) {
            (0, 0) => Err(InputError::NoNumbers { file, columns: self.names.clone() }),
            (0, 1) => Ok(dates),
            (0, _) => Err(InputError::SeveralDateColumns { file, columns: names(&dates) }),
            (1..=MOST_DEFAULT_COLUMNS, _) => Ok(numbers),
            _ => Err(InputError::TooManyColumns { file, columns: names(&numbers) }),
        }
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
        let names = wanted.chosen.iter().map(|&column| self.names[column].clone()).collect();
        Ok(Table::new(source, names, rows, options.time_unit, Counting::Lines, skipped))
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
                Ok(()) => rows.lines.push(line),
                Err(error) => {
                    rows.truncate(rows.len());
                    bad(error)?;
                }
            }
        }
    }

    /// Adds the fields of a row.
    fn push(
        &self,
        source: &str,
        line: u64,
        fields: &[&str],
        wanted: &Wanted,
        rows: &mut Rows,
    ) -> Result<(), InputError> {
        check_length(source, line, fields.len(), self.first_line, self.names.len())?;
        for (axis, &column) in wanted.chosen.iter().enumerate() {
            let field = unquoted(fields[column]);
            if self.kinds[column] == Value::Date {
                let instant = parse_iso(field).ok_or_else(|| self.misfit(source, line, column, field))?;
                rows.instants[axis].push(instant);
                rows.values.push(0.0);
            } else {
                match field.parse::<f64>() {
                    Ok(value) if value.is_finite() => rows.values.push(value),
                    _ => return Err(self.misfit(source, line, column, field)),
                }
            }
        }
        if let Some(column) = wanted.label {
            rows.labels.push(self.label(source, line, column, fields[column])?);
        }
        Ok(())
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
        let (kind, column) = (self.kinds[column], self.names[column].clone());
        match kind {
            _ if field.is_empty() => InputError::EmptyField { file, line, column },
            Value::Date => InputError::NotADate { file, line, column, text },
            _ if field.parse::<f64>().is_ok() => InputError::NotFinite { file, line, column, text },
            _ => InputError::NotANumber { file, line, column, text, mostly_numbers: kind == Value::Number },
        }
    }
}

impl Table {
    /// A table of rows, dates counted from the midnight before the earliest.
    pub(super) fn new(
        source: &str,
        names: Vec<String>,
        mut rows: Rows,
        unit: TimeUnit,
        counting: Counting,
        skipped: u64,
    ) -> Self {
        let earliest = rows.instants.iter().map(|instants| instants.iter().min());
        let time: Vec<_> = earliest.map(|first| Some(TimeAxis::starting_before(*first?, unit))).collect();
        rows.put_on(&time);
        let Rows { values, lines, labels, .. } = rows;
        let (dims, source) = (names.len(), source.to_string());
        Self { names, rows: values, dims, lines, counting, skipped, time, labels, source }
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
        fails("lon;lat\n1,5;2,5\n3,5;4,5\n", &["column"]);
        assert!(error_of("lon;lat\n1,5;2,5\n", &asked(&["lon"])).contains("decimals with a point"));
    }

    #[test]
    fn columns_are_found_by_name_or_number() {
        let text = "year,t_days,date\n1851.2,0,1851-03-15\n1851.6,157,1851-08-19\n";
        let names = |columns: &[&str]| read_bytes("c", text.as_bytes(), &asked(columns)).unwrap().names;
        assert_eq!(names(&["year"]), ["year"]);
        assert_eq!(names(&["T_Days", "0"]), ["t_days", "year"]);
        assert_eq!(names(&[]), ["year", "t_days"], "dates are not taken beside numbers");
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
        assert_eq!(read_header("c", b"who,t\nx,1\n").unwrap(), [("who".to_string(), false), ("t".to_string(), true)]);
    }

    #[test]
    fn default_columns_must_be_beyond_doubt() {
        fails("a,b,c,d\n1,2,3,4\n", &["4 columns", "a, b, c, d", "--columns a,b"]);
        fails("from,to\n2016-01-01,2016-01-02\n", &["2 columns of dates", "from, to", "--columns"]);
        fails("who,what\nx,y\n", &["no column of numbers", "who, what"]);
        assert_eq!(read("who,when\nx,2016-01-01T06:00Z\n").rows, [0.25]);
        assert_eq!(read("x,note,y\n1,a,2\n3,,4\n").names, ["x", "y"]);
        assert!(error_of("who,t\nx,1\n", &asked(&["who"])).contains("not a number or an ISO 8601 date"));
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
        fails("x,y\n1,2\n3,\n", &["line 3", "`y`", "empty", "--columns"]);
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
