//! Dates as people and programs write them: a format such as `%d/%m/%Y %H:%M`, and the formats that are known without being told.
//!
//! A small part of strftime. Names of months are English, a date without an offset is UTC, and there are no weeks and no time zones by name.

use super::message::{Message, Setting};
use super::time::{MICROS_PER_SECOND, days_from_civil, days_in_month};
use crate::message;
use std::sync::OnceLock;

const MICROS_PER_DAY: i64 = 86_400 * MICROS_PER_SECOND;
const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];
/// Dates that are known by their look …
const DATES: [&str; 8] =
    ["%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%d.%m.%Y", "%Y/%m/%d", "%Y.%m.%d", "%d/%b/%Y"];
/// … with these times of day after them …
const CLOCKS: [&str; 6] = ["", " %H:%M:%S", " %H:%M", " %I:%M:%S %p", " %I:%M %p", " %I %p"];
/// … and what web servers write.
const APACHE: [&str; 3] = ["[%d/%b/%Y:%H:%M:%S %z]", "%d/%b/%Y:%H:%M:%S %z", "%d/%b/%Y:%H:%M:%S"];

/// A part of a format.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Item {
    Year,
    ShortYear,
    Month,
    MonthName,
    Day,
    Hour,
    HalfDayHour,
    Minute,
    /// With a fraction, if there is one.
    Second,
    HalfDay,
    Offset,
    /// One blank or more.
    Blanks,
    Sign(char),
}

/// How dates are written.
#[derive(Clone, Debug, PartialEq)]
pub struct Pattern {
    /// As it was given.
    pub text: String,
    items: Vec<Item>,
}

impl Pattern {
    /// Whether it says how far a date is from UTC.
    pub(super) fn has_offset(&self) -> bool {
        self.text.contains("%z")
    }

    /// Reads a format.
    pub fn parse(text: &str) -> Result<Self, Message> {
        let given = Setting::DateFormat.given(text);
        let help = "there are %Y %y %m %b %d %H %I %M %S %f %p %z %F %T %R and %%";
        // What is short for several.
        let long = text.replace("%F", "%Y-%m-%d").replace("%T", "%H:%M:%S").replace("%R", "%H:%M");
        // A second takes its fraction along.
        let long = long.replace("%S.%f", "%S").replace("%S,%f", "%S");
        let (mut items, mut signs) = (Vec::new(), long.trim().chars());
        while let Some(sign) = signs.next() {
            items.push(match sign {
                '%' => match signs.next() {
                    Some('Y') => Item::Year,
                    Some('y') => Item::ShortYear,
                    Some('m') => Item::Month,
                    Some('b' | 'B' | 'h') => Item::MonthName,
                    Some('d' | 'e') => Item::Day,
                    Some('H') => Item::Hour,
                    Some('I') => Item::HalfDayHour,
                    Some('M') => Item::Minute,
                    Some('S') => Item::Second,
                    Some('p' | 'P') => Item::HalfDay,
                    Some('z') => Item::Offset,
                    Some('%') => Item::Sign('%'),
                    Some('f') => return Err(message![given, ": %f follows %S, as in %S.%f"]),
                    Some(other) => return Err(message![given, ": %{other} is not known; {help}"]),
                    None => return Err(message![given, " ends in a single %; write %% for that sign"]),
                },
                sign if sign.is_whitespace() && items.last() == Some(&Item::Blanks) => continue,
                sign if sign.is_whitespace() => Item::Blanks,
                sign => Item::Sign(sign),
            });
        }
        let count = |kinds: &[Item]| items.iter().filter(|item| kinds.contains(item)).count();
        let (years, months, days) =
            (count(&[Item::Year, Item::ShortYear]), count(&[Item::Month, Item::MonthName]), count(&[Item::Day]));
        let example = "write it as in '%d/%m/%Y %H:%M'";
        if years == 0 {
            return Err(message![given, " has no year; {example}"]);
        }
        if days > 0 && months == 0 {
            return Err(message![given, " has a day but no month; {example}"]);
        }
        let clock = [[Item::Hour, Item::HalfDayHour], [Item::Minute; 2], [Item::Second; 2], [Item::HalfDay; 2]];
        let times = clock.iter().map(|kinds| count(kinds)).max().unwrap_or_default();
        if [years, months, days, times, count(&[Item::Offset])].iter().any(|&times| times > 1) {
            return Err(message![given, " has a part of the date twice; {example}"]);
        }
        Ok(Self { text: text.to_string(), items })
    }

    /// The instant in microseconds since 1970, if the whole text is so written.
    pub(super) fn instant(&self, text: &str) -> Option<i64> {
        let mut rest = text.trim();
        let (mut year, mut month, mut day, mut clock) = (0, 1, 1, 0);
        let (mut half_day_hour, mut afternoon) = (None, None);
        for item in &self.items {
            match item {
                Item::Year => year = number(&mut rest, 4, 4)?,
                Item::ShortYear => year = number(&mut rest, 2, 2).map(|y| if y < 69 { 2000 + y } else { 1900 + y })?,
                Item::Month => month = number(&mut rest, 1, 2).filter(|m| (1..=12).contains(m))?,
                Item::MonthName => month = month_name(&mut rest)?,
                Item::Day => day = number(&mut rest, 1, 2)?,
                Item::Hour => clock += 3600 * MICROS_PER_SECOND * number(&mut rest, 1, 2).filter(|h| *h < 24)?,
                Item::HalfDayHour => half_day_hour = Some(number(&mut rest, 1, 2).filter(|h| (1..=12).contains(h))?),
                Item::Minute => clock += 60 * MICROS_PER_SECOND * number(&mut rest, 2, 2).filter(|m| *m < 60)?,
                Item::Second => clock += second(&mut rest)?,
                Item::HalfDay => afternoon = Some(half_day(&mut rest)?),
                Item::Offset => clock -= offset(&mut rest)?,
                Item::Blanks => rest = rest.strip_prefix(char::is_whitespace)?.trim_start(),
                Item::Sign(sign) => rest = rest.strip_prefix(*sign)?,
            }
        }
        if !rest.is_empty() || !(1..=days_in_month(year, month)).contains(&day) {
            return None;
        }
        if let Some(hour) = half_day_hour {
            clock += 3600 * MICROS_PER_SECOND * (hour % 12 + if afternoon == Some(true) { 12 } else { 0 });
        }
        Some(days_from_civil(year, month, day) * MICROS_PER_DAY + clock)
    }

    /// The formats that are known by their look.
    pub(super) fn known() -> &'static [Self] {
        static KNOWN: OnceLock<Vec<Pattern>> = OnceLock::new();
        KNOWN.get_or_init(|| {
            let dated = DATES.iter().flat_map(|date| CLOCKS.iter().map(move |clock| format!("{date}{clock}")));
            let all = dated.chain(APACHE.iter().map(ToString::to_string));
            all.filter_map(|text| Pattern::parse(&text).ok()).collect()
        })
    }

    /// Whether a text is written in a way that is known; only then is it worth trying them all.
    pub(super) fn may_be_known(text: &str) -> bool {
        text.len() <= 40
            && text.starts_with(|sign: char| sign.is_ascii_digit() || sign == '[')
            && text.contains(['/', '.', '-'])
    }

    /// The same with day and month exchanged, if both are numbers with nothing but their order to tell them apart.
    pub(super) fn swapped(&self) -> Option<&'static Self> {
        let (day, month) = (self.text.strip_prefix("%d/%m/%Y"), self.text.strip_prefix("%d-%m-%Y"));
        let other = match (day, month) {
            (Some(clock), _) => format!("%m/%d/%Y{clock}"),
            (_, Some(clock)) => format!("%m-%d-%Y{clock}"),
            _ => return None,
        };
        Self::known().iter().find(|known| known.text == other)
    }
}

/// From `least` to `most` digits at the beginning.
fn number(rest: &mut &str, least: usize, most: usize) -> Option<i64> {
    let length = rest.bytes().take(most).take_while(u8::is_ascii_digit).count();
    if length < least {
        return None;
    }
    let (digits, after) = rest.split_at(length);
    *rest = after;
    digits.parse().ok()
}

/// Seconds and their fraction, in microseconds.
fn second(rest: &mut &str) -> Option<i64> {
    let whole = number(rest, 2, 2).filter(|second| *second <= 60)? * MICROS_PER_SECOND;
    let Some(fraction) = rest.strip_prefix(['.', ',']) else { return Some(whole) };
    let length = fraction.bytes().take_while(u8::is_ascii_digit).count();
    if length == 0 {
        return None;
    }
    let digit = |place: usize| fraction.as_bytes()[..length].get(place).map_or(0, |byte| i64::from(byte - b'0'));
    let tenths = (0..7).fold(0, |sum, place| sum * 10 + digit(place));
    *rest = &fraction[length..];
    Some(whole + (tenths + 5) / 10)
}

/// `oct` or `October`.
fn month_name(rest: &mut &str) -> Option<i64> {
    let length = rest.bytes().take_while(u8::is_ascii_alphabetic).count();
    let (word, after) = rest.split_at(length);
    let word = word.to_ascii_lowercase();
    let place = MONTHS.iter().position(|name| *name == word || word.len() == 3 && name.starts_with(&word))?;
    *rest = after;
    Some(place as i64 + 1)
}

/// `PM` or `p.m.`; whether it is after noon.
fn half_day(rest: &mut &str) -> Option<bool> {
    let forms = [("a.m.", false), ("p.m.", true), ("am", false), ("pm", true)];
    let (form, afternoon) = forms
        .into_iter()
        .find(|(form, _)| rest.get(..form.len()).is_some_and(|head| head.eq_ignore_ascii_case(form)))?;
    *rest = &rest[form.len()..];
    Some(afternoon)
}

/// `Z`, `-07`, `-0700` or `-07:00`, in microseconds.
fn offset(rest: &mut &str) -> Option<i64> {
    if let Some(after) = rest.strip_prefix(['Z', 'z']) {
        *rest = after;
        return Some(0);
    }
    let sign = if rest.starts_with('-') { -1 } else { 1 };
    *rest = rest.strip_prefix(['+', '-'])?;
    let hours = number(rest, 2, 2).filter(|hours| *hours < 24)?;
    let after_colon = rest.strip_prefix(':').unwrap_or(rest);
    let mut after = after_colon;
    let minutes = match number(&mut after, 2, 2) {
        Some(minutes) if minutes < 60 => {
            *rest = after;
            minutes
        }
        _ => 0,
    };
    Some(sign * (60 * hours + minutes) * 60 * MICROS_PER_SECOND)
}

#[cfg(test)]
mod tests {
    use super::super::time::parse_iso;
    use super::*;

    #[test]
    fn formats_give_the_instants_of_iso_dates() {
        for (format, text, iso) in [
            ("%d/%m/%Y", "31/12/2025", "2025-12-31"),
            ("%d/%m/%Y", "1/2/2025", "2025-02-01"),
            ("%m/%d/%Y %I %p", "12/31/2025 11 PM", "2025-12-31T23:00"),
            ("%m/%d/%Y %I %p", "12/31/2025 12 am", "2025-12-31T00:00"),
            ("%m/%d/%Y %I:%M %p", "12/31/2025 12:05 p.m.", "2025-12-31T12:05"),
            ("[%d/%b/%Y:%H:%M:%S %z]", "[10/Oct/2000:13:55:36 -0700]", "2000-10-10T20:55:36Z"),
            ("%F %T.%f", "2024-02-29 23:59:59.125", "2024-02-29T23:59:59.125Z"),
            ("%d %B %y", "5 march 99", "1999-03-05"),
            ("%Y%m%d", "20240131", "2024-01-31"),
            ("%Y", "1851", "1851-01-01"),
            ("100%% %Y", "100% 2000", "2000-01-01"),
        ] {
            let pattern = Pattern::parse(format).unwrap();
            assert_eq!(pattern.instant(text), Some(parse_iso(iso).unwrap()), "{format} {text}");
        }
        for (format, text) in [
            ("%d/%m/%Y", "12/31/2025"),
            ("%d/%m/%Y", "30/02/2024"),
            ("%d/%m/%Y", "1/2/25"),
            ("%d/%m/%Y", "1/2/2025 "),
            ("%d/%m/%Y", "1/2/2025x"),
            ("%H:%M %Y", "24:00 2000"),
            ("%I %p %Y", "13 pm 2000"),
            ("%b %Y", "é 2000"),
            ("%p %Y", "é 2000"),
        ] {
            let read = Pattern::parse(format).unwrap().instant(text);
            assert_eq!(read.is_some(), text == "1/2/2025 ", "{format} {text}");
        }
    }

    #[test]
    fn formats_that_make_no_sense_are_refused() {
        for (format, what) in
            [("%d/%m", "no year"), ("%Y %Q", "%Q"), ("%Y %", "single %"), ("%Y %f", "%S.%f"), ("", "no year")]
        {
            assert!(Pattern::parse(format).unwrap_err().to_string().contains(what), "{format}");
        }
    }

    #[test]
    fn what_is_known_is_known_once() {
        let reading = |text: &str| {
            let of = |pattern: &&Pattern| pattern.instant(text).is_some();
            Pattern::known().iter().filter(of).map(|pattern| pattern.text.as_str()).collect::<Vec<_>>()
        };
        assert_eq!(reading("31/12/2025"), ["%d/%m/%Y"]);
        assert_eq!(reading("12/31/2025 11 PM"), ["%m/%d/%Y %I %p"]);
        assert_eq!(reading("01/02/2025 10:30"), ["%d/%m/%Y %H:%M", "%m/%d/%Y %H:%M"]);
        assert_eq!(reading("[10/Oct/2000:13:55:36 -0700]"), ["[%d/%b/%Y:%H:%M:%S %z]"]);
        assert!(reading("1.2.3").is_empty() && reading("192.168.0.1").is_empty() && reading("555-1234").is_empty());
        assert_eq!(Pattern::known()[0].swapped().map(|other| other.text.as_str()), Some("%m/%d/%Y"));
    }
}
