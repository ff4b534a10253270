//! Dates as numbers: units of time, ISO 8601 texts, and the axis that leads from one to the other and back.
//!
//! Instants are whole microseconds since 1970-01-01T00:00:00Z in an `i64` until the last division, so that a sum of
//! a large date and a small fraction loses nothing. The calendar is the Gregorian one, also before 1582, in UTC.
//! Time zones by name are in `zone.rs`: an axis that has one counts what its clocks show. There are no week dates or ordinal dates, and a leap second is the second after it.

use super::zone::Zone;
use std::fmt;
use std::str::FromStr;

pub(super) const MICROS_PER_SECOND: i64 = 1_000_000;
const MICROS_PER_DAY: i64 = 86_400 * MICROS_PER_SECOND;

/// The unit in which dates are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TimeUnit {
    /// Seconds.
    Seconds,
    /// Of 60 seconds.
    Minutes,
    /// Of 3600 seconds.
    Hours,
    /// Of 86 400 seconds.
    #[default]
    Days,
    /// Of seven days.
    Weeks,
    /// Julian ones, of 365.25 days.
    Years,
}

impl TimeUnit {
    /// All of them, from the shortest to the longest.
    pub const ALL: [Self; 6] = [Self::Seconds, Self::Minutes, Self::Hours, Self::Days, Self::Weeks, Self::Years];

    /// What it may be called; the first is its name.
    pub fn names(self) -> &'static [&'static str] {
        match self {
            Self::Seconds => &["seconds", "s", "sec", "secs", "second"],
            Self::Minutes => &["minutes", "min", "mins", "minute"],
            Self::Hours => &["hours", "h", "hour"],
            Self::Days => &["days", "d", "day"],
            Self::Weeks => &["weeks", "w", "week"],
            Self::Years => &["years", "y", "year"],
        }
    }

    /// The length of the unit in microseconds.
    fn micros(self) -> i64 {
        match self {
            Self::Seconds => MICROS_PER_SECOND,
            Self::Minutes => 60 * MICROS_PER_SECOND,
            Self::Hours => 3600 * MICROS_PER_SECOND,
            Self::Days => MICROS_PER_DAY,
            Self::Weeks => 7 * MICROS_PER_DAY,
            Self::Years => 365 * MICROS_PER_DAY + MICROS_PER_DAY / 4,
        }
    }

    /// The length of the unit in seconds.
    pub fn seconds(self) -> f64 {
        (self.micros() / MICROS_PER_SECOND) as f64
    }
}

impl fmt::Display for TimeUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.names()[0])
    }
}

/// A text that names no unit of time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a unit of time; use seconds, minutes, hours, days, weeks or years")]
pub struct UnknownTimeUnit(pub String);

impl FromStr for TimeUnit {
    type Err = UnknownTimeUnit;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let is_called = |unit: &Self| unit.names().iter().any(|name| name.eq_ignore_ascii_case(text.trim()));
        Self::ALL.into_iter().find(is_called).ok_or_else(|| UnknownTimeUnit(text.to_string()))
    }
}

/// The way from a number on a time axis to a date and back.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimeAxis {
    /// Where the axis reads zero, in seconds since 1970-01-01T00:00:00Z.
    pub origin_unix_seconds: f64,
    /// The unit in which the axis counts.
    pub unit: TimeUnit,
    /// Whose clocks it goes by, if not those of UTC: the origin is then what these clocks show.
    pub zone: Option<Zone>,
}

impl TimeAxis {
    /// The axis that starts in 1970.
    pub fn epoch(unit: TimeUnit) -> Self {
        Self { origin_unix_seconds: 0.0, unit, zone: None }
    }

    /// The axis in the same unit that starts at the midnight (UTC) before the instant at `value`.
    pub fn moved_before(self, value: f64) -> Self {
        // As exact as the date in a text: rounded to the microsecond.
        let since_origin = (value * self.unit.micros() as f64).round() as i64;
        Self::starting_before(self.origin_micros().saturating_add(since_origin), self.unit)
    }

    /// The axis for a column whose earliest instant is `earliest`, in microseconds since 1970: it starts at the midnight (UTC) before, so that
    /// the numbers stay small and whole days stay whole.
    pub fn starting_before(earliest: i64, unit: TimeUnit) -> Self {
        let midnight = earliest.div_euclid(MICROS_PER_DAY) * MICROS_PER_DAY;
        Self { origin_unix_seconds: (midnight / MICROS_PER_SECOND) as f64, unit, zone: None }
    }

    /// The date and time (to the microsecond) at `value`: `1851-03-15T00:00:00Z`, or with the offset of its zone.
    ///
    /// Always the long form, so that a column of dates has one format. Years outside 0 to 9999 get a sign and six
    /// digits; a value that is not finite stays as it is.
    pub fn to_iso(self, value: f64) -> String {
        if !value.is_finite() {
            return value.to_string();
        }
        let reading = self.reading_at(value);
        let text = format_iso(reading);
        match self.zone {
            None => text,
            Some(zone) => text.trim_end_matches('Z').to_string() + &format_offset(zone.offset_of(reading)),
        }
    }

    /// What the clocks of the axis show at a value, without their offset.
    pub fn to_reading(self, value: f64) -> String {
        format_iso(self.reading_at(value)).trim_end_matches('Z').to_string()
    }

    /// The value at an ISO 8601 date or date-time, or `None` if `text` is not one.
    #[allow(clippy::wrong_self_convention)] // the partner of `to_iso`
    pub fn from_iso(self, text: &str) -> Option<f64> {
        parse_reading(text, self.zone).map(|reading| self.value_of_reading(reading))
    }

    /// The value at an instant in microseconds since 1970.
    pub fn value_at(self, instant: i64) -> f64 {
        self.value_of_reading(self.zone.map_or(instant, |zone| zone.shown(instant)))
    }

    /// The value where the clocks of the axis show this, in microseconds since 1970.
    pub fn value_of_reading(self, reading: i64) -> f64 {
        reading.saturating_sub(self.origin_micros()) as f64 / self.unit.micros() as f64
    }

    /// What the clocks of the axis show at a value, in microseconds since 1970.
    pub fn reading_at(self, value: f64) -> i64 {
        self.origin_micros().saturating_add((value * self.unit.micros() as f64).round() as i64)
    }

    /// Where the `i`th stretch of so many months after a value begins: months are counted from January of the year 0, and in UTC.
    pub fn month_after(self, value: f64, i: i64, months: u32) -> f64 {
        let (year, month, _) = civil_from_days(self.reading_at(value).div_euclid(MICROS_PER_DAY));
        let months = i64::from(months);
        let number = ((12 * year + month - 1).div_euclid(months) + i) * months;
        let day = days_from_civil(number.div_euclid(12), number.rem_euclid(12) + 1, 1);
        self.value_of_reading(day.saturating_mul(MICROS_PER_DAY))
    }

    fn origin_micros(self) -> i64 {
        (self.origin_unix_seconds * MICROS_PER_SECOND as f64).round() as i64
    }
}

/// What numbers count that are dates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Epoch {
    /// Seconds since 1970.
    Seconds,
    /// Milliseconds.
    Millis,
    /// Microseconds.
    Micros,
    /// Nanoseconds.
    Nanos,
}

impl Epoch {
    /// How many make a second.
    fn per_second(self) -> f64 {
        match self {
            Self::Seconds => 1.0,
            Self::Millis => 1e3,
            Self::Micros => 1e6,
            Self::Nanos => 1e9,
        }
    }

    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Self::Seconds => "seconds",
            Self::Millis => "milliseconds",
            Self::Micros => "microseconds",
            Self::Nanos => "nanoseconds",
        }
    }

    /// In microseconds since 1970; none if that is no date.
    pub(super) fn instant(self, value: f64) -> Option<i64> {
        let micros = (value * (1e6 / self.per_second())).round();
        (micros.abs() < 9e18).then_some(micros as i64)
    }

    /// Whether numbers that reach so far can be meant: between 1980 and 2100.
    pub(super) fn covers(self, (lo, hi): (f64, f64)) -> bool {
        let (first, last) = (315_532_800.0 * self.per_second(), 4_102_444_800.0 * self.per_second());
        first <= lo && hi <= last
    }
}

/// A date in microseconds since 1970 as clocks of a zone show it: a date with an offset is an instant, one without is what the clocks show.
pub(super) fn parse_reading(text: &str, zone: Option<Zone>) -> Option<i64> {
    let instant = parse_iso(text)?;
    Some(zone.filter(|_| has_offset(text)).map_or(instant, |zone| zone.shown(instant)))
}

/// Whether a date says how far it is from UTC.
pub(super) fn has_offset(text: &str) -> bool {
    let clock = text.trim_ascii().get("2016-02-23".len()..).unwrap_or_default();
    clock.contains(['Z', 'z', '+', '-'])
}

/// `+01:00`.
fn format_offset(micros: i64) -> String {
    let minutes = micros.abs() / (60 * MICROS_PER_SECOND);
    format!("{}{:02}:{:02}", if micros < 0 { '-' } else { '+' }, minutes / 60, minutes % 60)
}

/// Reads `YYYY-MM-DD`, or that with `T` or a space and `HH:MM[:SS[.fff]]` and `Z`, `±HH:MM`, `±HHMM`, `±HH` or
/// nothing (UTC), into microseconds since 1970.
pub(super) fn parse_iso(text: &str) -> Option<i64> {
    let [y0, y1, y2, y3, b'-', m0, m1, b'-', d0, d1, rest @ ..] = text.trim_ascii().as_bytes() else {
        return None;
    };
    let (year, month, day) = (digits(&[*y0, *y1, *y2, *y3])?, digits(&[*m0, *m1])?, digits(&[*d0, *d1])?);
    if !(1..=12).contains(&month) || !(1..=days_in_month(year, month)).contains(&day) {
        return None;
    }
    let midnight = days_from_civil(year, month, day) * MICROS_PER_DAY;
    match rest {
        [] => Some(midnight),
        [b'T' | b't' | b' ', clock @ ..] => Some(midnight + parse_clock(clock)?),
        _ => None,
    }
}

/// `HH:MM[:SS[.fff]]` with its offset, in microseconds after midnight UTC; negative if the offset leads to the day before.
fn parse_clock(clock: &[u8]) -> Option<i64> {
    let end = clock.iter().position(|byte| matches!(byte, b'Z' | b'z' | b'+' | b'-')).unwrap_or(clock.len());
    let (clock, offset) = clock.split_at(end);
    let [h0, h1, b':', m0, m1, rest @ ..] = clock.trim_ascii_end() else {
        return None;
    };
    let (hour, minute) = (digits(&[*h0, *h1])?, digits(&[*m0, *m1])?);
    let (second, micros) = match rest {
        [] => (0, 0),
        [b':', s0, s1] => (digits(&[*s0, *s1])?, 0),
        [b':', s0, s1, b'.', fraction @ ..] => (digits(&[*s0, *s1])?, fraction_micros(fraction)?),
        _ => return None,
    };
    if hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let offset_minutes = match offset {
        [] | [b'Z' | b'z'] => 0,
        [sign, h0, h1, b':', m0, m1] | [sign, h0, h1, m0, m1] => signed_offset(*sign, [*h0, *h1], [*m0, *m1])?,
        [sign, h0, h1] => signed_offset(*sign, [*h0, *h1], *b"00")?,
        _ => return None,
    };
    Some(((hour * 60 + minute - offset_minutes) * 60 + second) * MICROS_PER_SECOND + micros)
}

fn signed_offset(sign: u8, hours: [u8; 2], minutes: [u8; 2]) -> Option<i64> {
    let (hours, minutes) = (digits(&hours)?, digits(&minutes)?);
    match sign {
        _ if hours > 23 || minutes > 59 => None,
        b'+' => Some(hours * 60 + minutes),
        b'-' => Some(-(hours * 60 + minutes)),
        _ => None,
    }
}

/// The digits after the decimal point in microseconds, rounded to the nearest.
fn fraction_micros(fraction: &[u8]) -> Option<i64> {
    if fraction.is_empty() || !fraction.iter().all(u8::is_ascii_digit) {
        return None;
    }
    // One digit more than is kept, for the rounding.
    let digit = |place: usize| i64::from(fraction.get(place).map_or(0, |byte| byte - b'0'));
    let tenths_of_micros = (0..7).fold(0, |sum, place| sum * 10 + digit(place));
    Some((tenths_of_micros + 5) / 10)
}

/// A short run of ASCII digits as a number.
fn digits(text: &[u8]) -> Option<i64> {
    text.iter().try_fold(0, |sum, byte| byte.is_ascii_digit().then(|| sum * 10 + i64::from(byte - b'0')))
}

fn format_iso(instant: i64) -> String {
    let (year, month, day) = civil_from_days(instant.div_euclid(MICROS_PER_DAY));
    let of_day = instant.rem_euclid(MICROS_PER_DAY);
    let (seconds, micros) = (of_day / MICROS_PER_SECOND, of_day % MICROS_PER_SECOND);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    let year = if (0..=9999).contains(&year) { format!("{year:04}") } else { format!("{year:+07}") };
    let fraction = if micros == 0 { String::new() } else { format!(".{micros:06}") };
    let fraction = fraction.trim_end_matches('0');
    format!("{year}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{fraction}Z")
}

pub(super) fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

// Both routines count in eras of 400 years (146 097 days) and in years that begin in March, so that the leap day is
// the last day of the year. 719 468 days lie between 0000-03-01 and 1970-01-01.

pub(super) fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let march_year = if month <= 2 { year - 1 } else { year };
    let (era, year_of_era) = (march_year.div_euclid(400), march_year.rem_euclid(400));
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * march_month + 2) / 5 + 1;
    let month = (march_month + 2) % 12 + 1;
    (era * 400 + year_of_era + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    const EPOCH: TimeAxis = TimeAxis { origin_unix_seconds: 0.0, unit: TimeUnit::Seconds, zone: None };

    #[test]
    fn the_calendar_agrees_with_counting_one_day_at_a_time() {
        // Where to start: the lengths of the years up to 1970, added up.
        let leap = |year: i64| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        let mut day_number = -(1500..1970).map(|year| if leap(year) { 366 } else { 365 }).sum::<i64>();
        for year in 1500..=2500 {
            let february = if leap(year) { 29 } else { 28 };
            for (month, length) in (1..).zip([31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]) {
                for day in 1..=length {
                    assert_eq!(days_from_civil(year, month, day), day_number);
                    assert_eq!(civil_from_days(day_number), (year, month, day));
                    let iso = format!("{year:04}-{month:02}-{day:02}");
                    assert_eq!(parse_iso(&iso), Some(day_number * MICROS_PER_DAY));
                    day_number += 1;
                }
                assert_eq!(parse_iso(&format!("{year:04}-{month:02}-{:02}", length + 1)), None);
            }
        }
    }

    #[test]
    fn instants_survive_formatting_to_the_microsecond() {
        let (first, last) = (parse_iso("1500-01-01").unwrap(), parse_iso("2500-12-31").unwrap());
        // A step coprime to everything visits all clock readings and signs of fraction.
        let step = 7_919_000_013_577_i64;
        for instant in (first..last).step_by(step as usize) {
            assert_eq!(parse_iso(&format_iso(instant)), Some(instant), "{}", format_iso(instant));
        }
    }

    #[test]
    fn values_survive_the_way_to_a_date_and_back() {
        use TimeUnit::*;
        for unit in [Seconds, Minutes, Hours, Days, Weeks, Years] {
            let axis = TimeAxis::starting_before(parse_iso("2016-02-23T17:11:30Z").unwrap(), unit);
            for text in ["2016-02-23T17:11:30.123456Z", "2015-12-31T23:59:59.999999Z", "2019-07-04T00:00:00Z"] {
                assert_eq!(axis.to_iso(axis.from_iso(text).unwrap()), text);
            }
        }
    }

    #[test]
    fn offsets_fractions_and_short_forms_are_understood() {
        let noon = Some(1_456_228_800.0);
        for text in [
            "2016-02-23T12:00Z",
            "2016-02-23 12:00:00",
            "2016-02-23t12:00:00.000z",
            "2016-02-23T14:30:00+02:30",
            "2016-02-23T04:00-0800",
            "2016-02-23 12:00:00 +00",
            "2016-02-24T01:00:00+13:00",
            " 2016-02-23T12:00:00Z ",
        ] {
            assert_eq!(EPOCH.from_iso(text), noon, "{text}");
        }
        assert_eq!(parse_iso("1970-01-01T00:00:00.5"), Some(500_000));
        assert_eq!(parse_iso("1970-01-01T00:00:00.0000014999"), Some(1));
        assert_eq!(parse_iso("1970-01-01T00:00:00.9999996"), Some(1_000_000));
        assert_eq!(parse_iso("1969-12-31T23:59:59.999999Z"), Some(-1));
        assert_eq!(parse_iso("2016-12-31T23:59:60Z"), parse_iso("2017-01-01"));
    }

    #[test]
    fn what_is_no_date_is_refused() {
        let dates =
            "|2016|2016-2-3|2016-13-01|2016-00-10|2015-02-29|1900-02-29|2016-02-00|2016/02/23|2016-02-23Z|2016-02-2é|é";
        let clocks = "|12|24:00|12:60|12:00:61|12:00:00.|12:00:00.x|12:00+2|12:00+24:00|12:00ZZ|12:00:00Zé|é";
        let with_clocks = clocks.split('|').map(|clock| format!("2016-02-23T{clock}"));
        for text in dates.split('|').map(String::from).chain(with_clocks) {
            assert_eq!(parse_iso(&text), None, "{text}");
        }
    }

    #[test]
    fn the_axis_starts_at_the_midnight_before() {
        let axis = TimeAxis::starting_before(parse_iso("1851-03-15T18:00:00Z").unwrap(), TimeUnit::Days);
        assert_eq!(axis.to_iso(0.0), "1851-03-15T00:00:00Z");
        assert_eq!(axis.from_iso("1851-03-15T18:00"), Some(0.75));
        assert_eq!(axis.from_iso("1851-03-14"), Some(-1.0));
        let years = TimeAxis { unit: TimeUnit::Years, ..axis };
        assert_eq!(years.from_iso("1855-03-15"), Some(4.0));
    }

    #[test]
    fn no_value_makes_a_date_panic() {
        assert_eq!(EPOCH.to_iso(f64::NAN), "NaN");
        assert_eq!(EPOCH.to_iso(f64::NEG_INFINITY), "-inf");
        assert_eq!(EPOCH.to_iso(-62_167_219_201.0), "-000001-12-31T23:59:59Z");
        assert_eq!(EPOCH.to_iso(253_402_300_800.0), "+010000-01-01T00:00:00Z");
        for origin_unix_seconds in [-1e300, 0.0, 1e300, f64::NAN] {
            let axis = TimeAxis { origin_unix_seconds, unit: TimeUnit::Years, zone: None };
            for value in [-1e300, 0.0, 1e300] {
                assert!(axis.to_iso(value).ends_with('Z'));
                assert!(axis.from_iso("2000-01-01").is_some());
            }
        }
    }

    #[test]
    fn units_have_short_and_long_names() {
        for (names, unit) in [
            ("s sec second seconds", TimeUnit::Seconds),
            ("min minute minutes", TimeUnit::Minutes),
            ("h hour Hours", TimeUnit::Hours),
            ("d day days", TimeUnit::Days),
            ("w week weeks", TimeUnit::Weeks),
            ("y year years", TimeUnit::Years),
        ] {
            for name in names.split(' ') {
                assert_eq!(name.parse(), Ok(unit));
            }
            assert_eq!(unit.to_string().parse(), Ok(unit));
        }
        let error = "fortnights".parse::<TimeUnit>().unwrap_err();
        assert!(error.to_string().contains("`fortnights`") && error.to_string().contains("weeks"));
        assert_eq!(TimeUnit::default(), TimeUnit::Days);
    }
}
