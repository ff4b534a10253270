//! Rows of plain numbers, read without taking them apart first.
//!
//! Most lines of a large table are `0.25,-12.5`: digits, perhaps a sign and a point, nothing quoted and no blanks. Such a row is
//! read in one walk. Whatever else is met, the row is left as it was for [`Records::next`], which knows the whole dialect;
//! what is taken here it would have read to the same bits.

use super::table::{How, Layout, Records, Rows, Separator, Value, Wanted, is_line_end};
use super::time::parse_iso;

/// Powers of ten that are exact.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20,
    1e21, 1e22,
];
/// Up to here whole numbers are exact.
const MOST_EXACT: u64 = 1 << f64::MANTISSA_DIGITS;
/// So many digits always fit into 64 bits.
const MOST_DIGITS: usize = 19;

/// What to do with a column.
#[derive(Clone, Copy)]
enum Take {
    Number(usize),
    Date(usize),
    Nothing,
}

/// What to do with each column of a table.
pub(super) struct Plan {
    takes: Vec<Take>,
    dims: usize,
    possible: bool,
}

impl Plan {
    /// For these columns of a table.
    pub(super) fn new(layout: &Layout, wanted: &Wanted) -> Self {
        let take = |column: usize| match wanted.chosen.iter().position(|&chosen| chosen == column) {
            Some(axis) if layout.kinds[column] == Value::Date => Take::Date(axis),
            Some(axis) => Take::Number(axis),
            None => Take::Nothing,
        };
        let takes = (0..layout.names.len()).map(take).collect();
        let is_plain = wanted.chosen.iter().all(|&column| layout.how[column] == How::Plain);
        let possible = wanted.label.is_none() && wanted.clauses.is_empty() && is_plain && layout.zone.is_none();
        Self { takes, dims: wanted.chosen.len(), possible }
    }

    /// Reads the row that begins here if it is plain; if not, nothing has happened.
    pub(super) fn row(&self, records: &mut Records, rows: &mut Rows) -> bool {
        let count = rows.lines.len();
        match self.end_of_row(records, rows) {
            Some(end) => {
                rows.lines.push(records.line);
                records.position = end;
                // The last line may have no end.
                if end < records.text.len() {
                    records.skip_line_end();
                }
                true
            }
            None => {
                rows.values.truncate(count * self.dims);
                rows.instants.iter_mut().for_each(|instants| instants.truncate(count));
                false
            }
        }
    }

    /// Adds the values of the row, and says where its line ends.
    fn end_of_row(&self, records: &Records, rows: &mut Rows) -> Option<usize> {
        let (Separator::Byte(separator), true) = (records.separator, self.possible) else { return None };
        let (text, bytes) = (records.text, records.text.as_bytes());
        let mut at = records.position;
        // Comments, blank lines and the end.
        if matches!(bytes.get(at), None | Some(b'#' | b' ' | b'\t')) {
            return None;
        }
        let first = rows.values.len();
        rows.values.resize(first + self.dims, 0.0);
        for (column, take) in self.takes.iter().enumerate() {
            if column > 0 {
                if bytes.get(at) != Some(&separator) {
                    return None;
                }
                at += 1;
            }
            let start = at;
            match *take {
                Take::Number(axis) => {
                    let (value, length) = number(text, start)?;
                    rows.values[first + axis] = value;
                    at += length;
                }
                Take::Date(axis) => {
                    at = end_of_field(bytes, start, separator);
                    rows.instants[axis].push(parse_iso(text.get(start..at)?)?);
                }
                Take::Nothing if matches!(bytes.get(at), Some(b'"' | b' ')) => return None,
                Take::Nothing => at = end_of_field(bytes, start, separator),
            }
        }
        bytes.get(at).copied().is_none_or(is_line_end).then_some(at)
    }
}

fn end_of_field(bytes: &[u8], start: usize, separator: u8) -> usize {
    let is_end = |&byte: &u8| byte == separator || is_line_end(byte);
    bytes[start..].iter().position(is_end).map_or(bytes.len(), |length| start + length)
}

/// The plain number that begins at `start`, and its length.
///
/// With few digits it is a whole number divided by a power of ten, both exact, and one division rounds correctly; with more the standard
/// library reads it.
fn number(text: &str, start: usize) -> Option<(f64, usize)> {
    let bytes = &text.as_bytes()[start..];
    let is_negative = bytes.first() == Some(&b'-');
    let sign = usize::from(is_negative);
    let (mut whole, mut at) = digits(bytes, sign, 0);
    let (mut count, mut places) = (at - sign, 0);
    if bytes.get(at) == Some(&b'.') {
        let point = at;
        (whole, at) = digits(bytes, at + 1, whole);
        places = at - point - 1;
        count += places;
    }
    if count == 0 || matches!(bytes.get(at), Some(b'e' | b'E')) {
        return None;
    }
    if count > MOST_DIGITS || whole > MOST_EXACT || places >= POWERS.len() {
        let value = text.get(start..start + at)?.parse::<f64>().ok()?;
        return value.is_finite().then_some((value, at));
    }
    let value = whole as f64 / POWERS[places];
    Some((if is_negative { -value } else { value }, at))
}

/// Goes on with a whole number through the digits from `at`, and says where they end; it may overflow if there are many.
#[inline(always)]
fn digits(bytes: &[u8], mut at: usize, mut whole: u64) -> (u64, usize) {
    while let Some(digit) = bytes.get(at).map(|byte| byte.wrapping_sub(b'0')).filter(|&digit| digit < 10) {
        whole = whole.wrapping_mul(10).wrapping_add(digit.into());
        at += 1;
    }
    (whole, at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_standard_library() {
        let mut state = 7u64;
        let mut random = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            state >> 11
        };
        for case in 0..20_000 {
            let value =
                random() as f64 / 10f64.powi((random() % 30) as i32 - 4) * if case % 2 == 0 { -1.0 } else { 1.0 };
            for text in
                [format!("{value}"), format!("{value:.3}"), format!("{:.12}", value / 1e12), format!("{value:.25}")]
            {
                let (read, length) = number(&text, 0).unwrap();
                assert_eq!((read.to_bits(), length), (text.parse::<f64>().unwrap().to_bits(), text.len()), "{text}");
            }
        }
        for text in ["-0", "0.", ".5", "-.5", "007", "9007199254740993", "123456789012345678901234567890.5"] {
            let read = number(text, 0).unwrap();
            assert_eq!((read.0.to_bits(), read.1), (text.parse::<f64>().unwrap().to_bits(), text.len()), "{text}");
        }
    }

    #[test]
    fn what_is_not_plain_is_left_alone() {
        for text in ["", "-", ".", "-.", "+1", "1e5", "nan", "inf", "x", " 1", "\"1\""] {
            assert_eq!(number(text, 0), None, "{text}");
        }
        assert_eq!(number("a,1.5,b", 2), Some((1.5, 3)));
        assert_eq!(number(&"9".repeat(400), 0), None);
    }
}
