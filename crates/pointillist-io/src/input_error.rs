//! What can be wrong with an input, with the data that says where; and the sentence on it.

use super::memory::show_bytes;
use super::message::{Action, Message, Setting, impl_error};
use super::table::Counting;
use crate::message;
use std::io;

/// Why a table could not be read; its [message](InputError::message) is one sentence with the place and the remedy.
#[derive(Debug)]
#[allow(missing_docs)] // the fields are the words of the sentences
#[allow(dead_code)] // some are for builds with Parquet, one for those without
pub enum InputError {
    /// There is no such file.
    Missing { file: String },
    /// The path names a directory.
    IsDirectory { file: String },
    /// The file may not be read.
    NoPermission { file: String },
    /// Anything else the system reports.
    Unreadable { file: String, error: io::Error },
    /// A gzip stream that stops before its end.
    TruncatedGzip { file: String },
    /// A gzip stream that does not decompress.
    DamagedGzip { file: String, error: io::Error },
    /// A summary where events are needed.
    IsSummary { file: String },
    /// More bad rows than are allowed.
    TooManyBad { error: Box<InputError>, skipped: u64, counting: Counting },
    /// More than memory allows.
    TooLarge { file: String, limit: u64 },
    /// The same of a document.
    LargeDocument { file: String, size: u64, limit: u64 },
    /// A line without end.
    LongLine { file: String, line: u64, megabytes: usize },
    /// A Parquet file, and a program without the means to read it.
    NoParquet { file: String },
    /// A Parquet file that cannot be read.
    DamagedParquet { file: String, why: String },
    /// A Parquet file with something newer or rarer than is known here.
    UnsupportedParquet { file: String, why: String },
    /// A Parquet file without rows.
    NoRows { file: String },
    /// A null where a coordinate is needed.
    Null { file: String, row: u64, column: String },
    /// NaN or infinity in a Parquet file.
    NotFiniteRow { file: String, row: u64, column: String, text: String },
    /// A Parquet column that is not made of numbers or dates.
    WrongType { file: String, column: String, holds: String },
    /// A column inside another.
    Nested { file: String, column: String },
    /// A format that is not delimited text.
    Unsupported { file: String, format: &'static str },
    /// Text in another encoding.
    NotUtf8 { file: String, line: u64 },
    /// Nothing but blank lines and comments.
    Empty { file: String },
    /// A header and nothing after it.
    HeaderOnly { file: String, line: u64 },
    /// A quote without its partner.
    OpenQuote { file: String, line: u64 },
    /// A row that is longer or shorter than the first.
    Ragged { file: String, line: u64, found: usize, first_line: u64, expected: usize },
    /// A value that is not there.
    EmptyField { file: String, line: u64, column: String },
    /// NaN or infinity.
    NotFinite { file: String, line: u64, column: String, text: String },
    /// Text in a column of numbers.
    NotANumber { file: String, line: u64, column: String, text: String, mostly_numbers: bool },
    /// Something else in a column of dates.
    NotADate { file: String, line: u64, column: String, text: String, written: String },
    /// Dates of which nobody knows what comes first.
    AmbiguousDates { file: String, column: String, example: String, formats: [String; 2] },
    /// A format in which nothing is written.
    NoSuchDates { file: String, format: String, examples: Vec<String> },
    /// A unit in which nothing is counted.
    NoEpoch { file: String, unit: &'static str },
    /// A way of writing dates where they are not written.
    NeedsNoFormat { file: String },
    /// Several ways to take the columns.
    SeveralReadings { file: String, readings: Vec<String> },
    /// A condition that no row satisfies.
    NothingKept { file: String, text: String, total: u64, counting: Counting, column: String, examples: Vec<String> },
    /// A column that was asked for and is not there.
    NoSuchColumn { file: String, asked: String, columns: Vec<String>, has_header: bool },
    /// A column of the condition that is not there.
    NoColumnForWhere { file: String, asked: String, columns: Vec<String> },
    /// A name that several columns have.
    AmbiguousColumn { file: String, asked: String, numbers: Vec<String> },
    /// A column that was asked for twice.
    RepeatedColumn { file: String, asked: String },
    /// More columns of numbers than can be meant.
    TooManyColumns { file: String, columns: Vec<String> },
    /// Dates in more than one column.
    SeveralDateColumns { file: String, columns: Vec<String> },
    /// Neither numbers nor dates anywhere.
    NoNumbers { file: String, columns: Vec<String>, examples: Vec<String> },
    /// Events where none could have been seen.
    Misplaced(Message),
    /// What one sentence says.
    Said(Message),
    /// What the library refused.
    Library(pointillist::Error),
}

impl_error!(InputError);

impl From<Message> for InputError {
    fn from(message: Message) -> Self {
        Self::Said(message)
    }
}

impl From<pointillist::Error> for InputError {
    fn from(error: pointillist::Error) -> Self {
        Self::Library(error)
    }
}

impl InputError {
    /// The sentence.
    pub fn message(&self) -> Message {
        match self {
            Self::Said(message) | Self::Misplaced(message) => message.clone(),
            Self::Library(error) => error.to_string().into(),
            Self::TooManyBad { error, skipped, counting } => {
                let rows = counting.words();
                message![
                    error.message(),
                    "; {skipped} bad {rows} before it were skipped, as many as ",
                    Setting::SkipBad,
                    " allows"
                ]
            }
            // Of the file as a whole.
            Self::Missing { file } => message!["{file} does not exist; check the name and the directory"],
            Self::IsDirectory { file } => message!["{file} is a directory; give the name of a file in it"],
            Self::NoPermission { file } => {
                message!["{file} may not be read: permission denied; change its permissions or copy it"]
            }
            Self::Unreadable { file, error } => message!["{file} cannot be read: {error}"],
            Self::TruncatedGzip { file } => {
                message!["{file} is a gzip file that ends too early; fetch or compress it again"]
            }
            Self::DamagedGzip { file, error } => {
                message!["{file} is a damaged gzip file ({error}); fetch or compress it again"]
            }
            Self::IsSummary { file } => message![
                "{file} is a summary of events, not a table of them; ",
                Action::Fit.of(file),
                " makes a model of it, and the other commands take that"
            ],
            Self::TooLarge { file, limit } => {
                let limit = show_bytes(*limit);
                message![
                    "{file} needs more memory than ",
                    Setting::MaxMemory,
                    " allows ({limit}); raise that, give fewer rows, or if they are events to be fitted, make a summary of them with ",
                    Action::Summarize.of(file)
                ]
            }
            Self::LargeDocument { file, size, limit } => {
                let limit = show_bytes(*limit);
                message![
                    "{file} holds {size} bytes or more, which need more memory than ",
                    Setting::MaxMemory,
                    " allows ({limit}); raise that, or give another file"
                ]
            }
            Self::NoParquet { file } => message![
                "{file} is a Parquet file, which this build of pointillist does not read; build it with the feature `parquet`, or save \
                 the events as CSV"
            ],
            Self::DamagedParquet { file, why } => message![
                "{file} is a damaged or truncated Parquet file ({why}); write or copy it again, or save the events as CSV"
            ],
            Self::UnsupportedParquet { file, why } => message![
                "{file} is a Parquet file with something that is not supported ({why}); write it plain or with snappy, gzip or zstd, or \
                 save the events as CSV"
            ],
            Self::NoRows { file } => message!["{file} is a Parquet file without rows; it should hold one event a row"],
            Self::NeedsNoFormat { file } => message![
                "{file} is a Parquet file, whose dates say themselves what they are; leave ",
                Setting::DateFormat,
                " out"
            ],
            Self::Unsupported { file, format } => {
                message!["{file} is {format}, not a table in text; save the events as CSV or TSV (gzip is fine)"]
            }
            Self::Empty { file } => message!["{file} is empty; it should hold one event a line"],
            Self::HeaderOnly { file, line } => {
                message!["{file} has a header (line {line}) but no events; put one event a line below it"]
            }
            // Of one line or row.
            Self::LongLine { file, line, megabytes } => {
                message!["{file}, line {line}: the line is longer than {megabytes} MB; write one event a line"]
            }
            Self::NotUtf8 { file, line } => {
                message!["{file}, line {line}: the text is not UTF-8; save the file in the UTF-8 encoding"]
            }
            Self::OpenQuote { file, line } => {
                message!["{file}, line {line}: a quotation mark is opened and never closed; close it or remove it"]
            }
            Self::Null { file, row, column } => {
                let column = shortened(column);
                message![
                    "{file}, row {row}: column `{column}` is null; fill it in, remove the row, or choose others with ",
                    Setting::Columns
                ]
            }
            Self::NotFiniteRow { file, row, column, text } => {
                let column = shortened(column);
                message![
                    "{file}, row {row}: column `{column}` holds `{text}`, which is not a finite number; correct it or remove the row"
                ]
            }
            Self::Ragged { file, line, found, first_line, expected } => {
                let fields = if *found == 1 { "field" } else { "fields" };
                let mut said = message![
                    "{file}, line {line}: {found} {fields} where line {first_line} has {expected}; make the rows equally long"
                ];
                if *expected == 1 {
                    said.add(", or if these are dates, say how they are written with ");
                    said.add(Setting::DateFormat);
                }
                said
            }
            Self::EmptyField { file, line, column } => {
                let column = shortened(column);
                message![
                    "{file}, line {line}: column `{column}` is empty; fill it in, remove the line, or choose others with ",
                    Setting::Columns
                ]
            }
            Self::NotFinite { file, line, column, text } => {
                let column = shortened(column);
                message![
                    "{file}, line {line}: column `{column}` holds `{text}`, which is not a finite number; correct it or remove the line"
                ]
            }
            Self::NotANumber { file, line, column, text, mostly_numbers } => {
                let (column, or_date) = (shortened(column), if *mostly_numbers { "" } else { " or a date" });
                let remedy = match has_decimal_comma(text) {
                    true => DECIMALS.into(),
                    false => message!["correct it, remove the line, or choose other columns with ", Setting::Columns],
                };
                message![
                    "{file}, line {line}: column `{column}` holds `{text}`, which is not a number{or_date}; ",
                    remedy
                ]
            }
            Self::NotADate { file, line, column, text, written } => {
                let column = shortened(column);
                message![
                    "{file}, line {line}: column `{column}` holds `{text}`, which is not a date {written}, or choose other columns with ",
                    Setting::Columns
                ]
            }
            // Of columns: which there are, and what they hold.
            Self::WrongType { file, column, holds } => {
                let column = shortened(column);
                message![
                    "{file}: column `{column}` holds {holds}, not numbers or dates; choose others with ",
                    Setting::Columns,
                    ", or convert it"
                ]
            }
            Self::Nested { file, column } => {
                let column = shortened(column);
                message![
                    "{file}: column `{column}` is nested, and one event a row needs plain columns; flatten it, or choose others with ",
                    Setting::Columns
                ]
            }
            Self::AmbiguousDates { file, column, example, formats: [first, second] } => {
                let column = shortened(column);
                message![
                    "{file}: the dates in column `{column}` (`{example}`) can be read with the day or the month first; say which with ",
                    Setting::DateFormat.given(first),
                    " or '{second}'"
                ]
            }
            Self::NoSuchDates { file, format, examples } => {
                let examples = listed(examples);
                message![
                    "{file}: no column holds dates in the ",
                    Setting::DateFormat.given(format),
                    "; its first values are {examples}"
                ]
            }
            Self::NoEpoch { file, unit } => message![
                "{file}: no column of numbers can be {unit} since 1970 (between 1980 and 2100); check ",
                Setting::Epoch,
                ", or name the column with ",
                Setting::Columns
            ],
            Self::SeveralReadings { file, readings } => {
                let readings = readings.iter().map(|columns| Setting::Columns.given(shortened(columns)));
                message!["{file} can be read in more than one way; choose with ", Message::joined(readings, " or ")]
            }
            Self::NothingKept { file, text, total, counting, column, examples } => {
                let (rows, column, examples) = (counting.words(), shortened(column), listed(examples));
                message![
                    Setting::Filter.given(text),
                    " keeps none of the {total} {rows} of {file}; column `{column}` holds {examples}"
                ]
            }
            Self::NoSuchColumn { file, asked, columns, has_header } => {
                let (asked, columns) = (shortened(asked), listed(columns));
                let by_number = if *has_header {
                    ", or by number from 0"
                } else {
                    " (there is no header, so columns go by number)"
                };
                message!["{file} has no column `{asked}`; choose with ", Setting::Columns, " from {columns}{by_number}"]
            }
            Self::NoColumnForWhere { file, asked, columns } => {
                let (asked, columns) = (shortened(asked), listed(columns));
                message![Setting::Filter, " asks for a column `{asked}`, and {file} has none; it has {columns}"]
            }
            Self::AmbiguousColumn { file, asked, numbers } => {
                let (asked, numbers) = (shortened(asked), listed(numbers));
                message![
                    "{file} has several columns `{asked}`; choose with ",
                    Setting::Columns,
                    " by number, one of {numbers}"
                ]
            }
            Self::RepeatedColumn { file, asked } => {
                let asked = shortened(asked);
                message!["column `{asked}` of {file} was chosen twice; name each column once in ", Setting::Columns]
            }
            Self::TooManyColumns { file, columns } => {
                let (count, all) = (columns.len(), listed(columns));
                let some = shortened(&columns[..2.min(count)].join(","));
                message![
                    "{file} has {count} columns of numbers ({all}); choose those that place the events, as in ",
                    Setting::Columns.given(some)
                ]
            }
            Self::SeveralDateColumns { file, columns } => {
                let (count, all) = (columns.len(), listed(columns));
                message![
                    "{file} has {count} columns of dates ({all}); choose one with ",
                    Setting::Columns,
                    ", as in ",
                    Setting::Columns.given(shortened(&columns[0]))
                ]
            }
            Self::NoNumbers { file, columns, examples } => {
                let (all, first) = (listed(columns), listed(examples));
                let remedy = match examples.iter().any(|text| has_decimal_comma(text)) {
                    true => DECIMALS.into(),
                    false => message![
                        "write events as numbers or ISO dates, or say how the dates are written with ",
                        Setting::DateFormat
                    ],
                };
                message![
                    "{file} has no column of numbers or of dates that are recognised (its columns: {all}; first values: {first}); ",
                    remedy
                ]
            }
        }
    }

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
pub(super) fn shortened(text: &str) -> String {
    let shown: String = text.chars().take(40).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    if text.chars().nth(40).is_some() { shown + "…" } else { shown }
}

/// The remedy for numbers with commas.
const DECIMALS: &str = "write decimals with a point and nothing between thousands";

/// Whether a text would be a number if its commas were points, or nothing.
fn has_decimal_comma(text: &str) -> bool {
    let with_point = text.replace(',', ".");
    with_point != text && with_point.replace('.', "").parse::<f64>().is_ok()
}
