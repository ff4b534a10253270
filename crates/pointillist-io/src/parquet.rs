//! Tables in Parquet files: plain columns of numbers and of dates, one event a row.
//!
//! Only the columns that are needed are decoded, row group by row group, in batches. DOUBLE, FLOAT, INT32 and INT64 are numbers;
//! TIMESTAMP (INT64, or INT96 of old) and DATE are dates, as ISO dates are in a text. Rows count from 1. Nothing is repaired: a
//! null, NaN or infinity makes a row bad. Decimals, times of day and nested columns are refused.
//!
//! The decoder is not ours and may panic on a damaged file, which here is the same as an error.

use super::filter::Cell;
use super::input_error::InputError;
use super::stream::Extent;
use super::table::{
    Counting, How, Judge, Layout, ReadOptions, Rows, TIMES, Table, Value, Wanted, allowed, note_example, unreadable,
};
use super::time::{Epoch, parse_iso};
use ::parquet::basic::{ConvertedType, LogicalType, TimeUnit, Type};
use ::parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use ::parquet::data_type::DataType;
use ::parquet::errors::ParquetError;
use ::parquet::file::reader::{FileReader, SerializedFileReader};
use ::parquet::file::statistics::Statistics;
use ::parquet::schema::types::ColumnDescriptor;
use bytes::Bytes;
use std::collections::BTreeMap;
use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Rows that are decoded at a time when all are wanted.
const BATCH: usize = 1 << 16;
const MICROS_PER_DAY: i64 = 86_400_000_000;

/// What the values of a column mean.
#[derive(Clone, Debug, PartialEq)]
enum Meaning {
    /// Numbers.
    Number,
    /// Whole numbers without sign.
    Unsigned,
    /// Dates, counted in this.
    Date(Tick),
    /// Part of something else.
    Nested,
    /// Anything else, in words.
    Other(String),
}

/// What a date is counted in, from 1970.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Tick {
    Days,
    Seconds,
    Millis,
    Micros,
    Nanos,
}

impl From<Epoch> for Tick {
    fn from(epoch: Epoch) -> Self {
        match epoch {
            Epoch::Seconds => Self::Seconds,
            Epoch::Millis => Self::Millis,
            Epoch::Micros => Self::Micros,
            Epoch::Nanos => Self::Nanos,
        }
    }
}

impl Tick {
    /// In microseconds, of a number with a fraction.
    fn micros_of(self, count: f64) -> i64 {
        let micros = match self {
            Self::Days => MICROS_PER_DAY as f64,
            Self::Seconds => 1e6,
            Self::Millis => 1e3,
            Self::Micros => 1.0,
            Self::Nanos => 1e-3,
        };
        (count * micros).round() as i64
    }

    /// In microseconds.
    fn micros(self, count: i64) -> i64 {
        match self {
            Self::Days => count.saturating_mul(MICROS_PER_DAY),
            Self::Seconds => count.saturating_mul(1_000_000),
            Self::Millis => count.saturating_mul(1000),
            Self::Micros => count,
            Self::Nanos => count.saturating_add(500).div_euclid(1000),
        }
    }
}

impl Meaning {
    fn of(column: &ColumnDescriptor) -> Self {
        if column.max_rep_level() > 0 || column.path().parts().len() > 1 {
            return Self::Nested;
        }
        match (column.physical_type(), column.logical_type_ref()) {
            (Type::DOUBLE | Type::FLOAT, _) => Self::Number,
            // The timestamps of old; nothing else was ever written so.
            (Type::INT96, _) => Self::Date(Tick::Micros),
            (Type::INT32 | Type::INT64, Some(logical)) => Self::of_logical(logical),
            (Type::INT32 | Type::INT64, None) => Self::of_converted(column.converted_type()),
            (Type::BOOLEAN, _) => Self::Other("true and false".into()),
            (_, Some(LogicalType::String)) => Self::Other("text".into()),
            _ if column.converted_type() == ConvertedType::UTF8 => Self::Other("text".into()),
            (kind, _) => Self::Other(format!("values of type {kind}")),
        }
    }

    fn of_logical(logical: &LogicalType) -> Self {
        match logical {
            LogicalType::Date => Self::Date(Tick::Days),
            LogicalType::Timestamp(stamp) => Self::Date(match stamp.unit {
                TimeUnit::MILLIS => Tick::Millis,
                TimeUnit::MICROS => Tick::Micros,
                TimeUnit::NANOS => Tick::Nanos,
            }),
            LogicalType::Integer(integer) if integer.is_signed => Self::Number,
            LogicalType::Integer(_) => Self::Unsigned,
            LogicalType::Decimal(_) => Self::Other("decimals".into()),
            LogicalType::Time(_) => Self::Other("times of day".into()),
            other => Self::Other(format!("values of type {other:?}")),
        }
    }

    fn of_converted(converted: ConvertedType) -> Self {
        use ConvertedType as C;
        match converted {
            C::NONE | C::INT_8 | C::INT_16 | C::INT_32 | C::INT_64 => Self::Number,
            C::UINT_8 | C::UINT_16 | C::UINT_32 | C::UINT_64 => Self::Unsigned,
            C::DATE => Self::Date(Tick::Days),
            C::TIMESTAMP_MILLIS => Self::Date(Tick::Millis),
            C::TIMESTAMP_MICROS => Self::Date(Tick::Micros),
            other => Self::Other(format!("values of type {other}")),
        }
    }

    fn value(&self) -> Value {
        match self {
            Self::Number | Self::Unsigned => Value::Number,
            Self::Date(_) => Value::Date,
            Self::Nested | Self::Other(_) => Value::Text,
        }
    }
}

/// A Parquet file, wherever it is.
pub(super) struct Parquet {
    source: String,
    file: Box<dyn FileReader>,
    meanings: Vec<Meaning>,
    layout: Layout,
}

/// The columns of a file in memory.
pub(super) fn layout(source: &str, bytes: Vec<u8>) -> Result<Layout, InputError> {
    Ok(Parquet::of_bytes(source, bytes)?.layout)
}

/// A whole table from memory.
pub(super) fn read_bytes(source: &str, bytes: Vec<u8>, options: &ReadOptions) -> Result<Table, InputError> {
    let held = bytes.len();
    let mut groups = Parquet::of_bytes(source, bytes)?.choose(options)?;
    let mut rows = Rows::new(groups.wanted.chosen.len());
    let mut skipped = 0;
    let mut judge = |error| {
        skipped += 1;
        allowed(error, skipped, options.skip_bad, Counting::Rows)
    };
    while let Some(mut more) = groups.next(BATCH, &mut judge)? {
        rows.values.append(&mut more.values);
        rows.lines.append(&mut more.lines);
        rows.labels.append(&mut more.labels);
        rows.instants.iter_mut().zip(&mut more.instants).for_each(|(all, more)| all.append(more));
        rows.left_out += more.left_out;
        rows.check_memory(source, held)?;
    }
    groups.parquet.layout.check_kept(source, &rows, &groups.wanted, options, Counting::Rows)?;
    if let Some(zone) = options.dates.zone {
        // Times of Parquet are instants.
        rows.instants.iter_mut().flatten().for_each(|instant| *instant = zone.shown(*instant));
    }
    Ok(Table::new(source, &groups.wanted, rows, (options.time_unit, options.dates.zone), Counting::Rows, skipped))
}

impl Parquet {
    /// From memory.
    pub(super) fn of_bytes(source: &str, bytes: Vec<u8>) -> Result<Self, InputError> {
        let open = || SerializedFileReader::new(Bytes::from(bytes)).map(|file| Box::new(file) as Box<dyn FileReader>);
        Self::new(source, guarded(source, open)?)
    }

    /// From a file, of which only the parts that are needed are read.
    pub(super) fn of_file(source: &str, file: File) -> Result<Self, InputError> {
        file.metadata().map_err(|error| unreadable(source, error))?;
        let open = || SerializedFileReader::new(file).map(|file| Box::new(file) as Box<dyn FileReader>);
        Self::new(source, guarded(source, open)?)
    }

    fn new(source: &str, file: Box<dyn FileReader>) -> Result<Self, InputError> {
        let columns = file.metadata().file_metadata().schema_descr().columns();
        let meanings: Vec<Meaning> = columns.iter().map(|column| Meaning::of(column)).collect();
        let names = columns.iter().map(|column| column.path().string()).collect();
        let kinds = meanings.iter().map(Meaning::value).collect();
        let (how, examples) = (vec![How::Plain; meanings.len()], vec![Vec::new(); meanings.len()]);
        let layout =
            Layout { names, kinds, how, examples, epochs: Vec::new(), has_header: true, first_line: 0, zone: None };
        Ok(Self { source: source.to_string(), file, meanings, layout })
    }

    /// How many rows there are.
    pub(super) fn rows(&self) -> u64 {
        u64::try_from(self.file.metadata().file_metadata().num_rows()).unwrap_or(0)
    }

    /// The columns.
    pub(super) fn columns(&self) -> &[String] {
        &self.layout.names
    }

    /// Makes ready to read the columns that the options ask for.
    pub(super) fn choose(mut self, options: &ReadOptions) -> Result<Groups, InputError> {
        if options.dates.format.is_some() {
            return Err(InputError::NeedsNoFormat { file: self.source });
        }
        if let Some(epoch) = options.dates.epoch {
            self.count_from_1970(epoch, options)?;
        }
        let file = || self.source.clone();
        let wanted = self.layout.wanted(&self.source, options)?;
        for &(place, _) in &wanted.clauses {
            if self.meanings[place] == Meaning::Nested {
                return Err(InputError::Nested { file: file(), column: self.layout.names[place].clone() });
            }
        }
        for &place in &wanted.chosen {
            let column = self.layout.names[place].clone();
            match &self.meanings[place] {
                Meaning::Nested => return Err(InputError::Nested { file: file(), column }),
                Meaning::Other(holds) => {
                    return Err(InputError::WrongType { file: file(), column, holds: holds.clone() });
                }
                _ => {}
            }
        }
        if self.rows() == 0 {
            return Err(InputError::NoRows { file: file() });
        }
        Ok(Groups { parquet: self, wanted, group: 0, columns: Vec::new(), left: 0, row: 0 })
    }
}

impl Parquet {
    /// Takes columns of numbers for dates: those asked for that are called as times are, or the only one asked for.
    fn count_from_1970(&mut self, epoch: Epoch, options: &ReadOptions) -> Result<(), InputError> {
        let asked: Vec<&str> = options.columns.iter().flatten().map(|name| name.trim()).collect();
        let is_meant = |name: &String| {
            let is_asked = asked.is_empty() || asked.iter().any(|asked| asked.eq_ignore_ascii_case(name));
            is_asked && (asked.len() == 1 || TIMES.contains(&name.to_lowercase().as_str()))
        };
        let mut found = false;
        for (place, name) in self.layout.names.iter().enumerate() {
            if is_meant(name) && self.layout.kinds[place] == Value::Number {
                (self.meanings[place], self.layout.kinds[place], found) =
                    (Meaning::Date(epoch.into()), Value::Date, true);
            }
        }
        if found { Ok(()) } else { Err(InputError::NoEpoch { file: self.source.clone(), unit: epoch.name() }) }
    }
}

/// The chosen columns of a file, read from its beginning to its end.
pub(super) struct Groups {
    parquet: Parquet,
    wanted: Wanted,
    /// The row group after the one that is being read.
    group: usize,
    /// Where each chosen column, each one that the filter looks at, and the labels of that one are.
    columns: Vec<ColumnReader>,
    /// Its rows that are still to come.
    left: usize,
    /// Rows that have been read.
    row: u64,
}

/// Some values of a column; where there are none stands 0.
enum Values {
    Numbers(Vec<f64>),
    Dates(Vec<i64>),
}

/// A batch of a column.
struct Batch {
    values: Values,
    /// The rows, from 0, that are null.
    nulls: Vec<usize>,
}

impl Groups {
    /// The same without its column of labels.
    pub(super) fn without_labels(mut self) -> Self {
        self.wanted.label = None;
        self
    }

    /// The names of the chosen columns.
    pub(super) fn names(&self) -> Vec<String> {
        self.wanted.names.clone()
    }

    /// What to say of their choice.
    pub(super) fn notes(&self) -> Vec<super::message::Message> {
        self.wanted.notes.clone()
    }

    /// All columns, and which of them are wanted.
    pub(super) fn form(&self) -> (&Layout, &Wanted) {
        (&self.parquet.layout, &self.wanted)
    }

    /// Which of them hold dates.
    pub(super) fn dates(&self) -> Vec<bool> {
        self.wanted.chosen.iter().map(|&column| self.parquet.layout.kinds[column] == Value::Date).collect()
    }

    /// How many rows there are, and how many of them have been read.
    pub(super) fn progress(&self) -> (u64, u64) {
        (self.row, self.parquet.rows())
    }

    /// The next rows, at most so many; `bad` is told of those that are not what they should be.
    pub(super) fn next(&mut self, most: usize, bad: &mut Judge) -> Result<Option<Rows>, InputError> {
        while self.left == 0 {
            if self.group == self.parquet.file.num_row_groups() {
                return Ok(None);
            }
            self.open_group()?;
        }
        let count = most.min(self.left);
        let source = self.parquet.source.clone();
        let columns = &mut self.columns;
        let Wanted { chosen, label, clauses, .. } = &self.wanted;
        let meanings = &self.parquet.meanings;
        let (batches, looked_at, labels) = guarded(&source, || {
            let read = columns.iter_mut().zip(chosen).map(|(column, &place)| batch(column, count, &meanings[place]));
            let batches = read.collect::<Result<Vec<_>, _>>()?;
            let others = columns.iter_mut().skip(chosen.len()).zip(clauses);
            let looked_at = others.map(|(column, (place, _))| cells(column, count, &meanings[*place]));
            let looked_at = looked_at.collect::<Result<Vec<_>, _>>()?;
            let labels = match (label, columns.last_mut()) {
                (Some(place), Some(column)) => Some(texts(column, count, &meanings[*place])?),
                _ => None,
            };
            Ok((batches, looked_at, labels))
        })?;
        let kept = self.kept(&looked_at, count);
        let rows = self.rows(batches, labels, &kept, bad)?;
        self.left -= count;
        self.row += count as u64;
        Ok(Some(rows))
    }

    /// Which of the next rows the filter takes.
    fn kept(&mut self, looked_at: &[Vec<Looked>], count: usize) -> Vec<bool> {
        for ((place, _), cells) in self.wanted.clauses.iter().zip(looked_at) {
            let examples = &mut self.parquet.layout.examples[*place];
            cells.iter().filter_map(|cell| cell.text.as_ref()).for_each(|text| note_example(examples, text));
        }
        let holds = |row: usize| {
            self.wanted.clauses.iter().zip(looked_at).all(|((_, clause), cells)| clause.holds(&cells[row]))
        };
        (0..count).map(holds).collect()
    }

    /// Goes to the beginning of the next row group.
    fn open_group(&mut self) -> Result<(), InputError> {
        let Wanted { chosen, label, clauses, .. } = &self.wanted;
        let looked_at = clauses.iter().map(|(place, _)| *place);
        let places: Vec<usize> = chosen.iter().copied().chain(looked_at).chain(*label).collect();
        let (file, group) = (&self.parquet.file, self.group);
        let (columns, rows) = guarded(&self.parquet.source, || {
            let group = file.get_row_group(group)?;
            let columns = places.iter().map(|&place| group.get_column_reader(place)).collect::<Result<Vec<_>, _>>()?;
            Ok((columns, group.metadata().num_rows()))
        })?;
        let negative = |_| InputError::DamagedParquet {
            file: self.parquet.source.clone(),
            why: "a number of rows makes no sense".into(),
        };
        (self.columns, self.left, self.group) = (columns, usize::try_from(rows).map_err(negative)?, self.group + 1);
        Ok(())
    }

    /// Columns as rows, the bad ones left out.
    fn rows(
        &self,
        batches: Vec<Batch>,
        labels: Option<Vec<Option<String>>>,
        kept: &[bool],
        bad: &mut Judge,
    ) -> Result<Rows, InputError> {
        let (dims, count) = (batches.len(), kept.len());
        let mut rows = Rows::new(dims);
        let mut faults = BTreeMap::new();
        rows.values = vec![0.0; count * dims];
        for (axis, Batch { values, nulls }) in batches.into_iter().enumerate() {
            for row in nulls {
                faults.entry(row).or_insert_with(|| self.null(row, self.wanted.chosen[axis]));
            }
            match values {
                Values::Dates(instants) => rows.instants[axis] = instants,
                Values::Numbers(numbers) => {
                    for (n, (row, value)) in rows.values.chunks_exact_mut(dims).zip(numbers).enumerate() {
                        row[axis] = value;
                        if !value.is_finite() {
                            faults.entry(n).or_insert_with(|| self.not_finite(n, self.wanted.chosen[axis], value));
                        }
                    }
                }
            }
        }
        for (n, label) in labels.into_iter().flatten().enumerate() {
            let column = self.wanted.label.unwrap_or_default();
            rows.labels.push(label.unwrap_or_else(|| {
                faults.entry(n).or_insert_with(|| self.null(n, column));
                String::new()
            }));
        }
        rows.lines = (self.row + 1..=self.row + count as u64).collect();
        // What is wrong with a row that is left out does not matter.
        faults.retain(|&row, _| kept[row]);
        let places: Vec<usize> = (0..count).filter(|row| !kept[*row] || faults.contains_key(row)).collect();
        rows.left_out = kept.iter().filter(|kept| !**kept).count() as u64;
        faults.into_values().try_for_each(bad)?;
        without(&mut rows, dims, &places);
        Ok(rows)
    }

    fn null(&self, row: usize, column: usize) -> InputError {
        let (file, row) = (self.parquet.source.clone(), self.row + 1 + row as u64);
        InputError::Null { file, row, column: self.parquet.layout.names[column].clone() }
    }

    fn not_finite(&self, row: usize, column: usize, value: f64) -> InputError {
        let (file, row) = (self.parquet.source.clone(), self.row + 1 + row as u64);
        InputError::NotFiniteRow {
            file,
            row,
            column: self.parquet.layout.names[column].clone(),
            text: value.to_string(),
        }
    }

    /// How far the chosen columns reach, if the file says so of every row group.
    pub(super) fn extents(&self) -> Option<Vec<Extent>> {
        self.wanted.chosen.iter().map(|&place| self.extent(place)).collect()
    }

    fn extent(&self, place: usize) -> Option<Extent> {
        let mut all: Option<Extent> = None;
        for group in self.parquet.file.metadata().row_groups().iter().filter(|group| group.num_rows() > 0) {
            let statistics = group.column(place).statistics().filter(|found| !found.is_min_max_deprecated())?;
            if statistics.null_count_opt() != Some(0) {
                return None;
            }
            let one = extent_of(statistics, &self.parquet.meanings[place])?;
            all = Some(all.map_or(one, |all| all.joined(one)));
        }
        all
    }
}

/// How far the values of a column reach. Numbers of fixed length are never cut short in statistics.
fn extent_of(statistics: &Statistics, meaning: &Meaning) -> Option<Extent> {
    let whole = |lo: i64, hi: i64| match meaning {
        Meaning::Date(tick) => Some(Extent::Dates(tick.micros(lo), tick.micros(hi))),
        Meaning::Number => Some(Extent::Numbers(lo as f64, hi as f64)),
        // The order of unsigned numbers has not always been kept.
        _ => None,
    };
    let finite = |lo: f64, hi: f64| (lo.is_finite() && hi.is_finite()).then_some(Extent::Numbers(lo, hi));
    match statistics {
        Statistics::Double(found) => finite(*found.min_opt()?, *found.max_opt()?),
        Statistics::Float(found) => finite((*found.min_opt()?).into(), (*found.max_opt()?).into()),
        Statistics::Int32(found) => whole((*found.min_opt()?).into(), (*found.max_opt()?).into()),
        Statistics::Int64(found) => whole(*found.min_opt()?, *found.max_opt()?),
        _ => None,
    }
}

/// Takes out the rows at rising `places`.
fn without(rows: &mut Rows, dims: usize, places: &[usize]) {
    if places.is_empty() {
        return;
    }
    fn keep<T>(list: &mut Vec<T>, width: usize, places: &[usize]) {
        let mut n = 0;
        list.retain(|_| {
            n += 1;
            places.binary_search(&((n - 1) / width)).is_err()
        });
    }
    keep(&mut rows.values, dims, places);
    keep(&mut rows.lines, 1, places);
    keep(&mut rows.labels, 1, places);
    rows.instants.iter_mut().for_each(|instants| keep(instants, 1, places));
}

/// The next `count` values of a column.
fn batch(column: &mut ColumnReader, count: usize, meaning: &Meaning) -> Result<Batch, ParquetError> {
    use ColumnReader as C;
    let numbers = |(values, nulls)| Batch { values: Values::Numbers(values), nulls };
    let dates = |(values, nulls)| Batch { values: Values::Dates(values), nulls };
    match (column, meaning) {
        (C::DoubleColumnReader(reader), Meaning::Date(tick)) => take(reader, count, |v| tick.micros_of(*v)).map(dates),
        (C::FloatColumnReader(reader), Meaning::Date(tick)) => {
            take(reader, count, |v| tick.micros_of((*v).into())).map(dates)
        }
        (C::DoubleColumnReader(reader), _) => take(reader, count, |v| *v).map(numbers),
        (C::FloatColumnReader(reader), _) => take(reader, count, |v| (*v).into()).map(numbers),
        (C::Int96ColumnReader(reader), _) => take(reader, count, |v| v.to_micros()).map(dates),
        (C::Int32ColumnReader(reader), Meaning::Date(tick)) => {
            take(reader, count, |v| tick.micros((*v).into())).map(dates)
        }
        (C::Int64ColumnReader(reader), Meaning::Date(tick)) => take(reader, count, |v| tick.micros(*v)).map(dates),
        (C::Int32ColumnReader(reader), Meaning::Unsigned) => take(reader, count, |v| (*v as u32).into()).map(numbers),
        (C::Int64ColumnReader(reader), Meaning::Unsigned) => take(reader, count, |v| *v as u64 as f64).map(numbers),
        (C::Int32ColumnReader(reader), _) => take(reader, count, |v| (*v).into()).map(numbers),
        (C::Int64ColumnReader(reader), _) => take(reader, count, |v| *v as f64).map(numbers),
        _ => Err(ParquetError::General("a column changed its type".into())),
    }
}

/// A value, as a filter looks at it; nothing of all for a null.
#[derive(Clone, Debug, Default)]
struct Looked {
    text: Option<String>,
    number: Option<f64>,
    instant: Option<i64>,
}

impl Cell for Looked {
    fn text(&self) -> Option<&str> {
        self.text.as_deref()
    }

    fn number(&self) -> Option<f64> {
        self.number
    }

    fn instant(&self) -> Option<i64> {
        self.instant
    }
}

/// The next `count` values of a column that the filter looks at.
fn cells(column: &mut ColumnReader, count: usize, meaning: &Meaning) -> Result<Vec<Looked>, ParquetError> {
    use ColumnReader as C;
    let of_text = |text: String| Looked { number: text.parse().ok(), instant: parse_iso(&text), text: Some(text) };
    let of_bytes = |bytes: &[u8]| of_text(String::from_utf8_lossy(bytes).into_owned());
    let (mut cells, nulls) = match column {
        C::ByteArrayColumnReader(reader) => take(reader, count, |v| of_bytes(v.data()))?,
        C::FixedLenByteArrayColumnReader(reader) => take(reader, count, |v| of_bytes(v.data()))?,
        C::BoolColumnReader(reader) => take(reader, count, |v| of_text(v.to_string()))?,
        column => {
            let Batch { values, nulls } = batch(column, count, meaning)?;
            let cells = match values {
                Values::Numbers(values) => values.into_iter().map(|v| of_text(v.to_string())).collect(),
                Values::Dates(values) => {
                    values.into_iter().map(|v| Looked { instant: Some(v), ..Looked::default() }).collect()
                }
            };
            (cells, nulls)
        }
    };
    nulls.into_iter().for_each(|row| cells[row] = Looked::default());
    Ok(cells)
}

/// The next `count` labels, none for a null.
fn texts(column: &mut ColumnReader, count: usize, meaning: &Meaning) -> Result<Vec<Option<String>>, ParquetError> {
    let (texts, nulls) = match column {
        ColumnReader::ByteArrayColumnReader(reader) => {
            take(reader, count, |v| String::from_utf8_lossy(v.data()).into_owned())?
        }
        column => {
            let Batch { values, nulls } = batch(column, count, meaning)?;
            let texts = match values {
                Values::Numbers(values) => values.iter().map(f64::to_string).collect(),
                Values::Dates(values) => values.iter().map(i64::to_string).collect(),
            };
            (texts, nulls)
        }
    };
    let mut texts: Vec<Option<String>> = texts.into_iter().map(Some).collect();
    nulls.into_iter().for_each(|row| texts[row] = None);
    Ok(texts)
}

/// The next `count` values of a column of a known type, and which of them are null.
fn take<T: DataType, V: Default>(
    reader: &mut ColumnReaderImpl<T>,
    count: usize,
    convert: impl Fn(&T::T) -> V,
) -> Result<(Vec<V>, Vec<usize>), ParquetError> {
    let (mut found, mut levels) = (Vec::with_capacity(count), Vec::new());
    let (records, values, _) = reader.read_records(count, Some(&mut levels), None, &mut found)?;
    if records != count || values != found.len() {
        return Err(ParquetError::General("a column is shorter than its row group".into()));
    }
    let mut found = found.iter().map(convert);
    if values == count {
        return Ok((found.collect(), Vec::new()));
    }
    // A plain column has one level, 1 where there is a value.
    let nulls = (0..count).filter(|&row| levels.get(row) != Some(&1)).collect();
    let value = |row: usize| if levels.get(row) == Some(&1) { found.next().unwrap_or_default() } else { V::default() };
    Ok(((0..count).map(value).collect(), nulls))
}

/// Does work with the decoder, whose errors and panics become sentences.
fn guarded<T>(source: &str, work: impl FnOnce() -> Result<T, ParquetError>) -> Result<T, InputError> {
    let file = || source.to_string();
    // It may quote the file.
    let brief = |why: String| why.chars().map(|c| if c.is_control() { ' ' } else { c }).take(120).collect::<String>();
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(ParquetError::NYI(why))) => Err(InputError::UnsupportedParquet { file: file(), why: brief(why) }),
        Ok(Err(ParquetError::General(why))) if why.contains("Disabled feature") => {
            Err(InputError::UnsupportedParquet { file: file(), why: brief(why) })
        }
        Ok(Err(ParquetError::General(why) | ParquetError::EOF(why))) => {
            Err(InputError::DamagedParquet { file: file(), why: brief(why) })
        }
        Ok(Err(error)) => Err(InputError::DamagedParquet { file: file(), why: brief(error.to_string()) }),
        Err(_) => Err(InputError::DamagedParquet { file: file(), why: "it does not decode".into() }),
    }
}
