//! Tables too large to be held: the same rows that [`read_bytes`](super::read_bytes) gives, a batch at a time, in bounded memory.
//!
//! A text is cut into blocks of whole rows, and the blocks of a batch are read on all threads; they are handed on in the order of
//! the file, and where it is cut does not depend on the number of threads. The first block settles separator, header and kinds of
//! columns, as the first rows do in `table.rs`; a Parquet file says them itself. Lines are counted within a block and put right
//! when its place is known; so a block with an error is read twice, which nobody minds.
//!
//! Memory: some 50 MB for a batch of text and its rows, whatever the size of the file.

use super::events::refuse_counts;
use super::geojson;
use super::geojson_points::{self, Flat};
use super::input_error::InputError;
use super::parquet::Groups;
use super::source::{Opened, endless};
use super::table::{
    Counting, Dates, Layout, ReadOptions, Records, Rows, Separator, Value, Wanted, allowed, bad_gzip, is_line_end,
    not_utf8, text_of, unreadable,
};
use super::time::{TimeAxis, TimeUnit};
use pointillist::internals::parallel;
use std::borrow::Cow;
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes a block of text.
const BLOCK: usize = 1 << 20;
/// Rows a block of a Parquet file.
const BLOCK_ROWS: usize = 1 << 16;
/// Blocks a batch: enough for many threads, few enough for little memory.
const BLOCKS: usize = 8;
/// The longest row that is believed, ...
const LONGEST: usize = 64 << 20;
/// ... and the longest line: one that goes on is not of a table.
pub(super) const LONGEST_LINE: usize = 1 << 20;

/// How far a column reaches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Extent {
    /// The least and the largest number.
    Numbers(f64, f64),
    /// The first and the last date, in microseconds since 1970.
    Dates(i64, i64),
}

impl Extent {
    /// That of both; they are of one kind.
    pub fn joined(self, other: Self) -> Self {
        match (self, other) {
            (Self::Numbers(a, b), Self::Numbers(c, d)) => Self::Numbers(a.min(c), b.max(d)),
            (Self::Dates(a, b), Self::Dates(c, d)) => Self::Dates(a.min(c), b.max(d)),
            (first, _) => first,
        }
    }

    /// The axis of time that fits it, if it is one of dates.
    pub fn time_axis(self, unit: TimeUnit) -> Option<TimeAxis> {
        match self {
            Self::Numbers(..) => None,
            Self::Dates(first, _) => Some(TimeAxis::starting_before(first, unit)),
        }
    }

    /// Its ends, on an axis of time if it is one of dates.
    pub fn ends(self, time: Option<TimeAxis>) -> (f64, f64) {
        match (self, time) {
            (Self::Numbers(lo, hi), _) => (lo, hi),
            (Self::Dates(lo, hi), Some(time)) => (time.value_at(lo), time.value_at(hi)),
            (Self::Dates(lo, hi), None) => (lo as f64, hi as f64),
        }
    }
}

/// Rows that stand one after the other.
pub struct Chunk {
    rows: Rows,
    /// What to add to the lines of its rows.
    before: u64,
}

impl Chunk {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The line on which a row begins, or its number in a Parquet file.
    pub fn line(&self, row: usize) -> u64 {
        self.before + self.rows.lines[row]
    }

    /// The coordinates, row after row, with dates counted on these axes.
    pub fn coordinates(&mut self, time: &[Option<TimeAxis>]) -> Vec<f64> {
        self.rows.put_on(time);
        std::mem::take(&mut self.rows.values)
    }

    /// How far each column reaches; none without rows.
    pub fn extents(&self, dates: &[bool]) -> Option<Vec<Extent>> {
        let dims = dates.len();
        let extent = |(axis, &is_date): (usize, &bool)| match is_date {
            true => {
                let instants = &self.rows.instants[axis];
                Some(Extent::Dates(*instants.iter().min()?, *instants.iter().max()?))
            }
            false => {
                let numbers = self.rows.values.iter().skip(axis).step_by(dims);
                numbers.map(|&value| Extent::Numbers(value, value)).reduce(Extent::joined)
            }
        };
        dates.iter().enumerate().map(extent).collect()
    }
}

/// A table that is read from its beginning to its end.
pub struct Stream {
    source: String,
    /// What messages on single lines call it.
    lines_of: String,
    names: Vec<String>,
    dates: Vec<bool>,
    body: Body,
    most_bad: u64,
    skipped: u64,
    /// What to say of the choice of columns.
    notes: Vec<super::message::Message>,
    options: ReadOptions,
    /// The reference system that a GeoJSON document names, if it is not longitude and latitude.
    crs: Option<String>,
    /// Rows that were taken, and rows that the filter left out.
    taken: u64,
    left_out: u64,
}

enum Body {
    Text(Box<Text>),
    Parquet(Box<Groups>),
    /// The points of a GeoJSON document as a text, and the feature of each.
    Points(Box<Text>, Vec<u64>),
}

impl Stream {
    /// Settles the columns of a table. The first of the columns `aside` that there is is not taken unless asked for.
    pub fn open(opened: Opened, options: &ReadOptions, aside: &[&str]) -> Result<Self, InputError> {
        let set_aside = |names: &[String]| {
            let find = |aside: &&str| names.iter().find(|name| name.eq_ignore_ascii_case(aside)).cloned();
            let label = aside.iter().find_map(find).filter(|_| options.columns.is_none());
            ReadOptions { label, ..options.clone() }
        };
        let source = opened.source().to_string();
        let refuse_counts_in = |names: &[String]| match &options.columns {
            Some(_) => Ok(()),
            None => refuse_counts(&source, names.iter().map(String::as_str)),
        };
        let mut lines_of = source.clone();
        let mut crs = None;
        let (names, dates, notes, body) = if opened.is_parquet() {
            let parquet = opened.parquet()?;
            refuse_counts_in(parquet.columns())?;
            // Labels are not read, only kept from being taken for numbers: the columns are chosen by name after that.
            let options = set_aside(parquet.columns());
            let groups = parquet.choose(&options)?.without_labels();
            (groups.names(), groups.dates(), groups.notes(), Body::Parquet(Box::new(groups)))
        } else {
            let (bytes, points) = Bytes::of(opened)?;
            if let Some(points) = &points {
                lines_of = geojson_points::lines_of(&source);
                options.systems.check(&source, points.crs.as_deref())?;
                crs = points.crs.clone();
            }
            let own = |columns| ReadOptions { columns: Some(columns), ..options.clone() };
            let usual = points.as_ref().filter(|_| options.columns.is_none()).map(|points| own(points.columns()));
            let text = match usual {
                Some(usual) => Text::open(&lines_of, bytes, |_| usual.clone(), &usual)?,
                None => Text::open(&lines_of, bytes, set_aside, options)?,
            };
            let Form { layout, wanted, .. } = &text.form;
            refuse_counts_in(&layout.names)?;
            let dates = wanted.chosen.iter().map(|&column| layout.kinds[column] == Value::Date).collect();
            let (names, notes, text) = (wanted.names.clone(), wanted.notes.clone(), Box::new(text));
            let body = match points {
                Some(points) => Body::Points(text, points.features),
                None => Body::Text(text),
            };
            (names, dates, notes, body)
        };
        let (most_bad, options) = (options.skip_bad, options.clone());
        Ok(Self {
            source,
            lines_of,
            names,
            dates,
            body,
            most_bad,
            skipped: 0,
            notes,
            options,
            crs,
            taken: 0,
            left_out: 0,
        })
    }

    /// The reference system that a GeoJSON document names, if it is not longitude and latitude.
    pub fn crs(&self) -> Option<&str> {
        self.crs.as_deref()
    }

    /// What the user should know of how it is read.
    pub fn notes(&self) -> &[super::message::Message] {
        &self.notes
    }

    /// How many rows the filter has left out.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// What to say if the filter left out all rows, which have been read.
    pub fn nothing_kept(&self) -> Option<InputError> {
        if self.taken > 0 || self.left_out == 0 {
            return None;
        }
        let (layout, wanted) = match &self.body {
            Body::Text(text) | Body::Points(text, _) => (&text.form.layout, &text.form.wanted),
            Body::Parquet(groups) => groups.form(),
        };
        Some(layout.nothing_kept(&self.source, self.left_out, wanted, &self.options, self.counting()))
    }

    /// The names of the chosen columns.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Which of them hold dates.
    pub fn dates(&self) -> &[bool] {
        &self.dates
    }

    /// The name of the file, for messages.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// How many bad rows have been passed over.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Counts so many bad rows, of tables before this one, as passed over already.
    pub fn go_on_from(&mut self, skipped: u64) {
        self.skipped = skipped;
    }

    /// What its rows are counted by.
    pub fn counting(&self) -> Counting {
        match self.body {
            Body::Text(_) => Counting::Lines,
            Body::Points(..) => Counting::Features,
            Body::Parquet(_) => Counting::Rows,
        }
    }

    /// The part of the table that has been read, if that is known.
    pub fn share(&self) -> Option<f64> {
        let (read, all) = match &self.body {
            Body::Text(text) | Body::Points(text, _) => (text.read.load(Ordering::Relaxed), text.size?),
            Body::Parquet(groups) => groups.progress(),
        };
        Some(read as f64 / all.max(1) as f64)
    }

    /// How far the columns reach, if the file says so without being read.
    pub fn known_extents(&self) -> Option<Vec<Extent>> {
        match &self.body {
            Body::Text(_) | Body::Points(..) => None,
            // What the filter leaves out reaches farther.
            Body::Parquet(_) if self.options.filter.is_some() => None,
            Body::Parquet(groups) => groups.extents(),
        }
    }

    /// The next rows, in chunks; none at the end.
    pub fn next_chunks(&mut self) -> Result<Option<Vec<Chunk>>, InputError> {
        let chunks = self.read_on()?;
        for chunk in chunks.iter().flatten() {
            self.taken += chunk.len() as u64;
            self.left_out += chunk.rows.left_out;
        }
        Ok(chunks)
    }

    fn read_on(&mut self) -> Result<Option<Vec<Chunk>>, InputError> {
        match &mut self.body {
            Body::Text(text) => text.next(&self.lines_of, self.most_bad, &mut self.skipped),
            Body::Points(text, features) => {
                let mut chunks = text.next(&self.lines_of, self.most_bad, &mut self.skipped)?;
                for chunk in chunks.iter_mut().flatten() {
                    let before = std::mem::take(&mut chunk.before);
                    // After the header.
                    let feature =
                        |line: &mut u64| *line = features.get((before + *line) as usize - 2).copied().unwrap_or(*line);
                    chunk.rows.lines.iter_mut().for_each(feature);
                }
                Ok(chunks)
            }
            Body::Parquet(groups) => {
                let (most_bad, skipped) = (self.most_bad, &mut self.skipped);
                let mut judge = |error| {
                    *skipped += 1;
                    allowed(error, *skipped, most_bad, Counting::Rows)
                };
                let mut chunks = Vec::with_capacity(BLOCKS);
                while chunks.len() < BLOCKS
                    && let Some(rows) = groups.next(BLOCK_ROWS, &mut judge)?
                {
                    chunks.push(Chunk { rows, before: 0 });
                }
                Ok((!chunks.is_empty()).then_some(chunks))
            }
        }
    }
}

/// What the rows of a text look like.
struct Form {
    layout: Layout,
    wanted: Wanted,
    separator: Separator,
}

/// The bytes of a text that are yet to be read.
struct Bytes {
    input: Box<dyn Read + Send>,
    is_gzip: bool,
    /// How many have been read, and how many there are if that is known.
    read: Arc<AtomicU64>,
    size: Option<u64>,
}

impl Bytes {
    /// Those of a table; of a GeoJSON document those of the table of its points, with what else is known of these.
    fn of(opened: Opened) -> Result<(Self, Option<Flat>), InputError> {
        let read = Arc::<AtomicU64>::default();
        if !opened.is_json() {
            let (size, is_gzip) = (opened.size(), opened.is_gzip());
            return Ok((Self { input: opened.unpacked(read.clone()), is_gzip, read, size }, None));
        }
        let source = opened.source().to_string();
        let document = opened.document(geojson::GROWTH)?;
        let (bytes, points) = match geojson_points::flat(&source, &document)? {
            Some(mut points) => (std::mem::take(&mut points.text).into_bytes(), Some(points)),
            // Who reads it as a table will say what it is.
            None => (document, None),
        };
        let input = Box::new(io::Cursor::new(bytes));
        Ok((Self { input, is_gzip: false, read, size: None }, points))
    }
}

/// A delimited text.
struct Text {
    blocks: Blocks,
    /// The first block waits here while the columns are chosen.
    first: Option<Vec<u8>>,
    form: Form,
    /// Lines before the next block.
    line: u64,
    read: Arc<AtomicU64>,
    size: Option<u64>,
}

impl Text {
    fn open(
        source: &str,
        bytes: Bytes,
        set_aside: impl FnOnce(&[String]) -> ReadOptions,
        options: &ReadOptions,
    ) -> Result<Self, InputError> {
        let Bytes { input, is_gzip, read, size } = bytes;
        let mut blocks =
            Blocks { input, is_gzip, rest: Vec::new(), has_ended: false, is_endless: false, separator: None };
        let mut first = blocks.next(source)?.unwrap_or_default();
        blocks.check_lines(source, 1)?;
        // Without its byte-order mark, and known to be a text.
        let mark = first.len() - text_of(source, &first)?.len();
        first.drain(..mark);
        let text = text_of(source, &first)?;
        let mut records = Records::new(text, &options.dates);
        let layout = Layout::sample(source, records.clone(), options)?;
        let wanted = Wanted { label: None, ..layout.wanted(source, &set_aside(&layout.names))? };
        let separator = records.separator;
        if layout.has_header {
            records.next(source, &mut Vec::new())?;
        }
        let (start, line) = (records.position, records.line - 1);
        first.drain(..start);
        blocks.separator = Some(separator);
        Ok(Self { blocks, first: Some(first), form: Form { layout, wanted, separator }, line, read, size })
    }

    fn next(&mut self, source: &str, most_bad: u64, skipped: &mut u64) -> Result<Option<Vec<Chunk>>, InputError> {
        let mut blocks: Vec<Vec<u8>> = self.first.take().into_iter().collect();
        while blocks.len() < BLOCKS
            && let Some(block) = self.blocks.next(source)?
        {
            blocks.push(block);
        }
        if blocks.is_empty() {
            return self.blocks.check_lines(source, self.line + 1).map(|()| None);
        }
        let left = most_bad - *skipped;
        let form = &self.form;
        let parts = parallel::each(blocks.len(), |i| form.rows(source, &blocks[i], 1, left));
        let mut chunks = Vec::with_capacity(blocks.len());
        for (part, block) in parts.into_iter().zip(&blocks) {
            let part = match part {
                Ok(part) if *skipped + part.bad <= most_bad => part,
                // Again, now that its lines and what may still be skipped are known.
                _ => form.rows(source, block, self.line + 1, most_bad - *skipped).map_err(|error| match error {
                    error if most_bad == 0 || !error.is_of_a_row() => error,
                    error => {
                        InputError::TooManyBad { error: Box::new(error), skipped: most_bad, counting: Counting::Lines }
                    }
                })?,
            };
            *skipped += part.bad;
            chunks.push(Chunk { rows: part.rows, before: self.line });
            self.line += part.lines;
        }
        Ok(Some(chunks))
    }
}

impl Form {
    /// The rows of a block that begins on `line`, at most `most_bad` of them passed over.
    fn rows(&self, source: &str, block: &[u8], line: u64, most_bad: u64) -> Result<Part, InputError> {
        let text = match std::str::from_utf8(block) {
            Ok(text) => Cow::from(text),
            Err(error) if most_bad == 0 => return Err(not_utf8(source, block, error, line)),
            // Where the damage matters, the row is a bad one.
            Err(_) => String::from_utf8_lossy(block),
        };
        let mut records = Records::within(&text, line, self.separator);
        let mut bad = 0;
        let rows = self.layout.parse(source, &mut records, &self.wanted, &mut |error| {
            bad += 1;
            if bad > most_bad { Err(error) } else { Ok(()) }
        })?;
        Ok(Part { rows, bad, lines: records.line - line })
    }
}

/// The rows of a block.
struct Part {
    rows: Rows,
    bad: u64,
    lines: u64,
}

/// A text in blocks of whole rows.
struct Blocks {
    input: Box<dyn Read + Send>,
    is_gzip: bool,
    /// What has been read and not yet handed on.
    rest: Vec<u8>,
    has_ended: bool,
    /// Whether there is a line that goes on and on.
    is_endless: bool,
    /// Unknown before the first block.
    separator: Option<Separator>,
}

impl Blocks {
    /// The next block.
    fn next(&mut self, source: &str) -> Result<Option<Vec<u8>>, InputError> {
        let mut length = BLOCK;
        if self.is_endless {
            return Ok(None); // the line is refused once those before it have been read
        }
        loop {
            self.fill(length).map_err(|error| match self.is_gzip {
                true => bad_gzip(source, error),
                false => unreadable(source, error),
            })?;
            if self.has_ended {
                return Ok((!self.rest.is_empty()).then(|| std::mem::take(&mut self.rest)));
            }
            if let Some(end) = end_of_rows(&self.rest, self.separator) {
                let rest = self.rest.split_off(end);
                return Ok(Some(std::mem::replace(&mut self.rest, rest)));
            }
            // With line ends in it, it is a row with a quote that is not closed yet.
            let is_endless = length >= LONGEST_LINE && !self.rest.iter().any(|&byte| is_line_end(byte));
            if is_endless || length >= LONGEST {
                (self.has_ended, self.is_endless) = (true, is_endless);
                // Who reads the row will say where the quote is.
                return Ok((!is_endless).then(|| std::mem::take(&mut self.rest)));
            }
            length *= 2;
        }
    }

    /// Refuses a line that goes on and on, `line` of the text.
    fn check_lines(&self, source: &str, line: u64) -> Result<(), InputError> {
        match self.is_endless {
            true => Err(endless(source, &self.rest, line)),
            false => Ok(()),
        }
    }

    /// Reads until there are so many bytes, or no more.
    fn fill(&mut self, length: usize) -> io::Result<()> {
        let missing = length.saturating_sub(self.rest.len());
        self.rest.reserve(missing);
        let found = self.input.by_ref().take(missing as u64).read_to_end(&mut self.rest)?;
        self.has_ended = found < missing;
        Ok(())
    }
}

/// Where the last whole row ends in bytes that go on; none if there is no whole row.
///
/// Within quotes a line end is none, and only a walk through the rows tells what is within quotes.
fn end_of_rows(bytes: &[u8], separator: Option<Separator>) -> Option<usize> {
    // A `\r` at the very end may be half of a line end.
    let seen = bytes.strip_suffix(b"\r").unwrap_or(bytes);
    let end = 1 + seen.iter().rposition(|&byte| is_line_end(byte))?;
    let bytes = &bytes[..end];
    // What is no text will be found out where it is read.
    let Some(text) = bytes.contains(&b'"').then(|| std::str::from_utf8(bytes).ok()).flatten() else { return Some(end) };
    let new = || Records::new(text, &Dates::default());
    let mut records = separator.map_or_else(new, |separator| Records::within(text, 1, separator));
    let (mut fields, mut last) = (Vec::new(), 0);
    loop {
        match records.next("", &mut fields) {
            Ok(Some(_)) => last = records.position,
            Ok(None) => return Some(end),
            Err(_) => return (last > 0).then_some(last),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Input, read_bytes};

    fn leak(text: impl Into<Vec<u8>>) -> Opened {
        Opened::new("events.csv", Input::Memory(text.into().leak())).unwrap()
    }

    fn open(text: impl Into<Vec<u8>>, options: &ReadOptions) -> Stream {
        Stream::open(leak(text), options, &["trial"]).unwrap()
    }

    /// The rows and lines that a stream gives.
    fn all(mut stream: Stream) -> Result<(Vec<f64>, Vec<u64>), InputError> {
        let (mut values, mut lines) = (Vec::new(), Vec::new());
        while let Some(chunks) = stream.next_chunks()? {
            for mut chunk in chunks {
                lines.extend((0..chunk.len()).map(|row| chunk.line(row)));
                values.extend(chunk.coordinates(&[None, None]));
            }
        }
        Ok((values, lines))
    }

    /// Rows enough for several blocks.
    fn long(line_end: &str, quoted: bool) -> String {
        let mut text = format!("# a note{line_end}who,x,y{line_end}");
        for n in 0..180_000 {
            let who = match n % 5 {
                0 if quoted => format!("\"a \"\"b\"\",{line_end}c\""),
                1 if quoted => "5\" pipe".to_string(),
                _ => "someone".to_string(),
            };
            text += &format!("{who},{n}.25,-{}e-3{line_end}", n % 77);
            if n % 1000 == 0 {
                text += &format!("{line_end}# \"{line_end}");
            }
        }
        text
    }

    #[test]
    fn a_stream_gives_the_rows_of_the_table_wherever_it_is_cut() {
        for (line_end, quoted) in [("\n", false), ("\n", true), ("\r\n", true), ("\r", true), ("\r\n", false)] {
            let mut text = long(line_end, quoted);
            assert!(text.len() > 2 * BLOCK);
            for _ in 0..2 {
                let table = read_bytes("events.csv", text.as_bytes(), &ReadOptions::default()).unwrap();
                let (values, lines) = all(open(text.clone(), &ReadOptions::default())).unwrap();
                assert!(values == table.rows && lines == table.lines, "{line_end:?} {quoted}");
                // And once more without a line end after the last row.
                text.truncate(text.trim_end().len());
            }
        }
    }

    #[test]
    fn blocks_end_where_rows_end() {
        let end = |text: &str| end_of_rows(text.as_bytes(), Some(Separator::Byte(b',')));
        assert_eq!(end("1,2\n3,"), Some(4));
        assert_eq!(end("1,2\r\n3,4\r"), Some(5));
        assert_eq!(end("1,2\r3,4"), Some(4));
        assert_eq!(end("1,2"), None);
        assert_eq!(end("1,2\n\"a\nb"), Some(4));
        assert_eq!(end("\"a\nb"), None);
        assert_eq!(end("\"a\nb\",1\n2"), Some(8));
        assert_eq!(end("5\",1\n5\",2\n3"), Some(10), "a quote within a field is none");
        assert_eq!(end("# \"\n1,2\n"), Some(8), "nor is one in a comment");
    }

    #[test]
    fn a_bad_row_far_down_is_named_and_can_be_passed_over() {
        let mut text = long("\n", false);
        text += "x,oops,1\nx,1\n";
        let last = text.lines().count();
        let error = |skip_bad| {
            all(open(text.clone(), &ReadOptions { skip_bad, ..Default::default() })).unwrap_err().to_string()
        };
        assert!(error(0).contains(&format!("line {}:", last - 1)) && error(0).contains("`oops`"), "{}", error(0));
        assert!(error(1).contains(&format!("line {last}:")) && error(1).contains("1 bad line"), "{}", error(1));
        let mut stream = open(text.clone(), &ReadOptions { skip_bad: 2, ..Default::default() });
        while stream.next_chunks().unwrap().is_some() {}
        assert_eq!(stream.skipped(), 2);
        assert_eq!(stream.share(), Some(1.0));
    }

    #[test]
    fn a_line_without_end_is_refused() {
        let mut text = long("\n", false);
        let line = text.lines().count() + 1;
        text += &"7".repeat(2 * LONGEST_LINE + BLOCK);
        let error = all(open(text, &ReadOptions::default())).unwrap_err().to_string();
        assert!(error.contains("longer than 1 MB") && error.contains(&format!("line {line}:")), "{error}");
    }

    #[test]
    fn an_open_quote_is_found_out() {
        // To the end of the text, or as far as is believed.
        for after in [1000, LONGEST] {
            let mut text = long("\n", false);
            let line = text.lines().count() + 1;
            text += "\"x,1,2\n";
            text += &"x,1,2\n".repeat(after / 6);
            let error = all(open(text, &ReadOptions::default())).unwrap_err().to_string();
            assert!(error.contains("never closed") && error.contains(&format!("line {line}:")), "{error} {line}");
        }
    }

    #[test]
    fn a_column_of_trials_is_left_aside_unless_asked_for() {
        let names = |columns: Option<&[&str]>| {
            let columns = columns.map(|names| names.iter().map(ToString::to_string).collect());
            open("Trial,t\n1,2\n2,3\n", &ReadOptions { columns, ..Default::default() }).names().to_vec()
        };
        assert_eq!(names(None), ["t"]);
        assert_eq!(names(Some(&["trial", "t"])), ["Trial", "t"]);
    }

    #[test]
    fn extents_are_those_of_the_rows() {
        let mut stream = open(
            "t,x\n2016-02-23T12:00Z,3\n2016-02-25,-1\n",
            &ReadOptions { columns: Some(vec!["t".into(), "x".into()]), ..Default::default() },
        );
        let chunks = stream.next_chunks().unwrap().unwrap();
        let extents = chunks[0].extents(stream.dates()).unwrap();
        let time = extents[0].time_axis(TimeUnit::Days);
        assert_eq!(extents[0].ends(time), (0.5, 2.0));
        assert_eq!(extents[1], Extent::Numbers(-1.0, 3.0));
    }
}
