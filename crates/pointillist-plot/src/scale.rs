//! Axes as numbers and labels: drawable ranges, round ticks, number labels, calendar ticks.
//!
//! Positions are in data units; where they land on paper or screen is the caller's business.

use super::Calendar;

/// A closed interval of an axis.
pub(super) type Range = (f64, f64);

/// Beyond this a value counts as infinite, so that differences and products stay finite.
const LARGEST: f64 = 1e290;

/// Whether a value can be placed on an axis.
pub(super) fn is_drawable(value: f64) -> bool {
    value.abs() < LARGEST
}

/// Smallest interval holding every drawable value; none when there is no such value.
pub(super) fn finite_range(values: impl IntoIterator<Item = f64>) -> Option<Range> {
    let mut drawable = values.into_iter().filter(|&v| is_drawable(v));
    let first = drawable.next()?;
    Some(drawable.fold((first, first), |(lo, hi), v| (lo.min(v), hi.max(v))))
}

/// A range that can be divided by its length: sorted, finite and not too narrow.
pub(super) fn usable(range: Option<Range>) -> Range {
    let (a, b) = range.filter(|r| is_drawable(r.0) && is_drawable(r.1)).unwrap_or((0.0, 1.0));
    let (lo, hi) = (a.min(b), a.max(b));
    let size = lo.abs().max(hi.abs());
    if size < 1.0 / LARGEST {
        (-0.5, 0.5)
    } else if hi - lo < 1e-12 * size {
        (lo - 0.05 * size, hi + 0.05 * size)
    } else {
        (lo, hi)
    }
}

/// Where a value lies in a range: 0 at its start, 1 at its end.
pub(super) fn fraction(value: f64, (lo, hi): Range) -> f64 {
    (value - lo) / (hi - lo)
}

/// How values are spread over an axis, or over a scale of colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Spread {
    /// Each by itself.
    #[default]
    Even,
    /// By its root: where a few high ones would leave all others alike.
    Root,
    /// By its logarithm; the range is then positive.
    Log,
}

impl Spread {
    /// Where a value lies in a range: 0 at its start, 1 at its end. On a scale of logarithms what is not positive lies at its start.
    pub fn share(self, value: f64, range: Range) -> f64 {
        match self {
            Self::Even => fraction(value, range),
            Self::Root => fraction(value, range).max(0.0).sqrt(),
            Self::Log if value > 0.0 => fraction(value.ln(), (range.0.ln(), range.1.ln())),
            Self::Log if value.is_nan() => value,
            Self::Log => 0.0,
        }
    }
}

/// A range for logarithms: what is not positive is left out of it, and what lies orders of magnitude below `typical` values.
pub(super) fn log_range(values: impl IntoIterator<Item = f64>, typical: f64) -> Range {
    const MOST_BELOW: f64 = 1e-2;
    let positive = finite_range(values.into_iter().filter(|&value| value > 1.0 / LARGEST));
    let (lo, hi) = positive.unwrap_or((0.1, 1.0));
    let lo = if typical > 0.0 && is_drawable(typical) { lo.max(MOST_BELOW * typical).min(hi) } else { lo };
    // A range must have some length; a constant stands in the middle of a decade.
    if hi < 1.2 * lo { (lo / 3.0, hi * 3.0) } else { (lo / 1.1, hi * 1.1) }
}

/// A marked position of an axis.
#[derive(Debug)]
pub(super) struct Tick {
    pub value: f64,
    pub label: String,
}

/// The ticks of an axis, and what their labels leave unsaid.
#[derive(Debug)]
pub(super) struct Axis {
    pub ticks: Vec<Tick>,
    /// Such as "counted from 1,600,000,000" or the year the dates belong to.
    pub note: Option<String>,
}

impl Axis {
    /// The axis label together with the note.
    pub fn title(&self, label: &str) -> String {
        match &self.note {
            Some(note) if label.is_empty() => note.clone(),
            Some(note) => format!("{label}, {note}"),
            None => label.to_string(),
        }
    }
}

/// The axis with the most ticks, about `most` at the outside, whose labels keep clear.
///
/// `length` is the drawn length of the axis and `extent` the length a label takes along it,
/// gap included, in the same unit.
pub(super) fn fitted_axis(
    range: Range,
    calendar: Option<&Calendar>,
    length: f64,
    most: usize,
    extent: impl Fn(&str) -> f64,
) -> Axis {
    let axes = (1..=most).rev().map(|count| {
        calendar.and_then(|calendar| calendar_axis(range, calendar, count)).unwrap_or_else(|| number_axis(range, count))
    });
    first_that_fits(axes, |value| length * fraction(value, range), extent)
}

/// The axis with labels that are given, all of them or every second, third and so on, so that they keep clear.
pub(super) fn labelled_axis(labels: &[(f64, String)], range: Range, length: f64, extent: impl Fn(&str) -> f64) -> Axis {
    let every = |step: usize| {
        let ticks = labels.iter().step_by(step).filter(|(value, _)| (range.0..=range.1).contains(value));
        Axis { ticks: ticks.map(|(value, label)| Tick { value: *value, label: label.clone() }).collect(), note: None }
    };
    first_that_fits((1..=labels.len().max(1)).map(every), |value| length * fraction(value, range), extent)
}

/// The axis of values that are spread so, as [`fitted_axis`].
pub(super) fn value_axis(range: Range, spread: Spread, length: f64, most: usize, extent: impl Fn(&str) -> f64) -> Axis {
    match spread {
        Spread::Log => {
            let axes = log_axes(range).filter(|axis| axis.ticks.len() <= most + 1);
            first_that_fits(axes, |value| length * spread.share(value, range), extent)
        }
        _ => fitted_axis(range, None, length, most, extent),
    }
}

/// The first axis whose labels keep clear of each other; one tick of the last if none does.
fn first_that_fits(
    axes: impl Iterator<Item = Axis>,
    position: impl Fn(f64) -> f64,
    extent: impl Fn(&str) -> f64,
) -> Axis {
    let fits = |axis: &Axis| {
        axis.ticks.windows(2).all(|pair| {
            let distance = position(pair[1].value) - position(pair[0].value);
            distance >= (extent(&pair[0].label) + extent(&pair[1].label)) / 2.0
        })
    };
    let mut last = Axis { ticks: Vec::new(), note: None };
    for axis in axes {
        if fits(&axis) {
            return axis;
        }
        last = axis;
    }
    last.ticks.truncate(1);
    last
}

/// Axes of logarithms, those with more ticks first: round numbers within a decade, then decades, then every second and so on.
fn log_axes(range: Range) -> impl Iterator<Item = Axis> {
    let decades = (range.1 / range.0).log10();
    let even = (decades < 1.0).then(|| (1..6).rev().map(move |most| number_axis(range, most)));
    let digits: [(&[f64], i32); 7] =
        [(&[1.0, 2.0, 5.0], 1), (&[1.0, 3.0], 1), (&[1.0], 1), (&[1.0], 2), (&[1.0], 5), (&[1.0], 20), (&[1.0], 100)];
    even.into_iter().flatten().chain(digits.into_iter().map(move |(digits, every)| decade_axis(range, digits, every)))
}

/// Ticks at these digits of every so many decades.
fn decade_axis((lo, hi): Range, digits: &[f64], every: i32) -> Axis {
    let power = |value: f64| value.log10().floor().clamp(-300.0, 300.0) as i32;
    let powers = (power(lo)..=power(hi)).filter(|power| power.rem_euclid(every) == 0);
    let values = powers.flat_map(|power| digits.iter().map(move |digit| (digit * power_of_ten(power), power)));
    let inside = values.filter(|(value, _)| (lo..=hi).contains(value));
    let label = |value, power| number_labels(&[value], power).0.pop().unwrap_or_default();
    Axis { ticks: inside.map(|(value, power)| Tick { value, label: label(value, power) }).collect(), note: None }
}

/// Ticks at round numbers, about `most` of them.
pub(super) fn number_axis((lo, hi): Range, most: usize) -> Axis {
    let raw_step = (hi - lo) / most.max(1) as f64;
    let power = raw_step.log10().floor() as i32;
    let (step, power) = [(1.0, power), (2.0, power), (5.0, power)]
        .into_iter()
        .map(|(digit, power)| (digit * power_of_ten(power), power))
        .find(|&(step, _)| step >= raw_step * (1.0 - 1e-9))
        .unwrap_or((power_of_ten(power + 1), power + 1));
    let first = (lo / step - 1e-9).ceil();
    let count = ((hi / step + 1e-9).floor() - first).clamp(-1.0, 100.0) as i64 + 1;
    let values: Vec<f64> = (0..count).map(|i| ((first + i as f64) * step).clamp(lo, hi)).collect();
    let (labels, note) = number_labels(&values, power);
    let ticks = values.into_iter().zip(labels).map(|(value, label)| Tick { value, label }).collect();
    Axis { ticks, note }
}

/// The nearest double to ten to the power; `powi` is a few units off in the last place.
fn power_of_ten(power: i32) -> f64 {
    format!("1e{power}").parse().unwrap_or(1.0)
}

/// Labels that tell apart values a multiple of 10^`power` from each other.
///
/// Plain numbers when short, else powers of ten, else differences from a round number (the note).
fn number_labels(values: &[f64], power: i32) -> (Vec<String>, Option<String>) {
    let size = values.iter().fold(0.0f64, |size, v| size.max(v.abs()));
    if size == 0.0 {
        return (values.iter().map(|_| "0".to_string()).collect(), None);
    }
    let zero = power_of_ten(power) * 1e-6;
    let signed = |v: f64, label: String| match v {
        v if v.abs() <= zero => "0".to_string(),
        v if v < 0.0 => format!("−{label}"),
        _ => label,
    };
    let decimals = (-power).max(0) as usize;
    // Four-digit numbers, often years, stay whole unless longer ones stand beside them.
    let plain = |v: f64| match format!("{:.decimals$}", v.abs()) {
        text if size < 1e4 => text,
        text => group_thousands(&text),
    };
    if size < 1e7 && decimals <= 4 && plain(size).len() <= 9 {
        return (values.iter().map(|&v| signed(v, plain(v))).collect(), None);
    }
    let exponent = (size.log10() + 1e-9).floor() as i32;
    let digits = (exponent - power).max(0) as usize;
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let span = values.iter().copied().fold(f64::NEG_INFINITY, f64::max) - low;
    if digits > 3 && span < 1e-2 * size {
        let unit_power = span.max(power_of_ten(power)).log10().ceil() as i32;
        let unit = power_of_ten(unit_power);
        let origin = (low / unit).floor() * unit;
        let rest: Vec<f64> = values.iter().map(|v| v - origin).collect();
        let shown = if origin.abs() < 1e15 {
            group_thousands(&format!("{:.*}", (-unit_power).max(0) as usize, origin.abs()))
        } else {
            format!("{:e}", origin.abs())
        };
        let sign = if origin < 0.0 { "−" } else { "" };
        return (number_labels(&rest, power).0, Some(format!("counted from {sign}{shown}")));
    }
    let scientific = |v: f64| {
        // Two divisions: the power itself may be too small or too large for a double.
        let half = exponent / 2;
        let mantissa = v.abs() / power_of_ten(half) / power_of_ten(exponent - half);
        format!("{mantissa:.digits$}×10{}", superscript(exponent))
    };
    (values.iter().map(|&v| signed(v, scientific(v))).collect(), None)
}

/// The digits of a non-negative number with its thousands separated.
fn group_thousands(text: &str) -> String {
    let (whole, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
    let mut grouped = String::new();
    for (i, digit) in whole.chars().enumerate() {
        if i > 0 && (whole.len() - i) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped + rest
}

fn superscript(exponent: i32) -> String {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    let raise = |c: char| c.to_digit(10).map_or('⁻', |d| DIGITS[d as usize]);
    exponent.to_string().chars().map(raise).collect()
}

/// A count with separated thousands.
pub(super) fn count(n: usize) -> String {
    group_thousands(&n.to_string())
}

/// "1 event", "1,200 events".
pub(super) fn event_count(n: usize) -> String {
    format!("{} event{}", count(n), if n == 1 { "" } else { "s" })
}

/// One number to three significant digits.
pub(super) fn short(value: f64) -> String {
    if value == 0.0 || !is_drawable(value) {
        return "0".into();
    }
    let power = value.abs().log10().floor() as i32 - 2;
    number_labels(&[value], power).0.pop().unwrap_or_default()
}

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
const WEEK: i64 = 7 * DAY;
/// Mean length of a month in the Gregorian calendar.
const MONTH: f64 = 30.436875 * DAY as f64;
/// Dates further from 1970 than this many seconds (a million years) are shown as numbers.
const FURTHEST: f64 = 3.2e13;
const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Distance between calendar ticks.
#[derive(Clone, Copy)]
enum Step {
    Seconds(i64),
    Months(i64),
}

/// Ticks at round dates, about `most` of them.
///
/// None when the axis is not usable as time: a senseless calendar, geological ages, or less than
/// a few seconds.
fn calendar_axis((lo, hi): Range, calendar: &Calendar, most: usize) -> Option<Axis> {
    let Calendar { origin_unix_days: origin, unit_days: unit } = *calendar;
    let seconds = |x: f64| (origin + x * unit) * DAY as f64;
    let (start, end) = (seconds(lo), seconds(hi));
    let sensible = start.abs() < FURTHEST && end.abs() < FURTHEST && end - start >= 4.0;
    if !sensible {
        return None;
    }
    let step = nice_calendar_step((end - start) / most.max(1) as f64)?;
    let times = calendar_times(start, end, step);
    let (labels, note) = calendar_labels(&times, step);
    let position = |t: i64| ((t as f64 - origin * DAY as f64) / DAY as f64 / unit).clamp(lo, hi);
    let ticks = times.iter().zip(labels).map(|(&t, label)| Tick { value: position(t), label }).collect();
    Some(Axis { ticks, note })
}

/// The shortest customary step of at least `least` seconds.
fn nice_calendar_step(least: f64) -> Option<Step> {
    let clock = [1, 2, 5, 10, 15, 30].into_iter();
    let hours = [1, 2, 3, 6, 12].into_iter();
    let days = [DAY, 2 * DAY, WEEK, 2 * WEEK].into_iter();
    let below_month =
        (clock.clone().chain(clock.map(|m| m * MINUTE))).chain(hours.map(|h| h * HOUR)).chain(days).map(Step::Seconds);
    let years = (0..7).flat_map(|power| [1, 2, 5].map(|digit| digit * 10i64.pow(power)));
    let months = [1, 3, 6].into_iter().chain(years.map(|y| 12 * y)).map(Step::Months);
    below_month.chain(months).find(|step| match *step {
        Step::Seconds(s) => s as f64 >= least,
        Step::Months(m) => m as f64 * MONTH >= least,
    })
}

/// Multiples of the step from `start` to `end`, in seconds since 1970.
fn calendar_times(start: f64, end: f64, step: Step) -> Vec<i64> {
    let inside = |t: &i64| *t as f64 >= start && *t as f64 <= end;
    match step {
        Step::Seconds(s) => {
            // 1970 began on a Thursday; weeks are to begin on Mondays.
            let phase = if s % WEEK == 0 { 4 * DAY } else { 0 };
            let first = (start.floor() as i64 - phase).div_euclid(s);
            let last = (end.ceil() as i64 - phase).div_euclid(s);
            (first..=last).map(|i| i * s + phase).filter(inside).collect()
        }
        Step::Months(m) => {
            let month_index = |t: f64| {
                let (year, month, _) = civil_from_days((t as i64).div_euclid(DAY));
                12 * year + month - 1
            };
            let (first, last) = (month_index(start).div_euclid(m), month_index(end).div_euclid(m));
            let begin = |i: i64| days_from_civil((i * m).div_euclid(12), (i * m).rem_euclid(12) + 1) * DAY;
            (first..=last).map(begin).filter(inside).collect()
        }
    }
}

/// Labels as short as the step allows; what they share (the year, the day) becomes the note.
fn calendar_labels(times: &[i64], step: Step) -> (Vec<String>, Option<String>) {
    let date = |t: i64| civil_from_days(t.div_euclid(DAY));
    let month_name = |month: i64| MONTHS[(month - 1).rem_euclid(12) as usize];
    let day_and_month = |t: i64| format!("{} {}", date(t).2, month_name(date(t).1));
    let (Some(&first), Some(&last)) = (times.first(), times.last()) else {
        return (Vec::new(), None);
    };
    let years = match (date(first).0, date(last).0) {
        (a, b) if a == b => a.to_string(),
        (a, b) => format!("{a}–{b}"),
    };
    let same_day = first.div_euclid(DAY) == last.div_euclid(DAY);
    let clock = |t: i64| {
        let t = t.rem_euclid(DAY);
        match step {
            Step::Seconds(s) if s < MINUTE => {
                format!("{:02}:{:02}:{:02}", t / HOUR, t % HOUR / MINUTE, t % MINUTE)
            }
            _ => format!("{:02}:{:02}", t / HOUR, t % HOUR / MINUTE),
        }
    };
    let label = |&t: &i64| match step {
        Step::Months(m) if m % 12 == 0 => date(t).0.to_string(),
        Step::Months(_) => format!("{} {}", month_name(date(t).1), date(t).0),
        Step::Seconds(s) if s >= DAY => day_and_month(t),
        Step::Seconds(_) if same_day => clock(t),
        Step::Seconds(_) => format!("{} {}", day_and_month(t), clock(t)),
    };
    let note = match step {
        Step::Months(_) => None,
        Step::Seconds(s) if s < DAY && same_day => Some(format!("{} {years}", day_and_month(first))),
        Step::Seconds(_) => Some(years),
    };
    (times.iter().map(label).collect(), note)
}

/// Year, month (1–12) and day of the Gregorian calendar, from days since 1970-01-01.
///
/// Counts in 400-year cycles of years that begin in March, so that leap days come last.
fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let (cycle, day) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day_of_year = day - (365 * year + year / 4 - year / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    let day_of_month = day_of_year - (153 * march_month + 2) / 5 + 1;
    (400 * cycle + year + i64::from(month <= 2), month, day_of_month)
}

/// Days from 1970-01-01 to the first of a month; the inverse of [`civil_from_days`].
fn days_from_civil(year: i64, month: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let (cycle, year) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5;
    146_097 * cycle + 365 * year + year / 4 - year / 100 + day_of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis) -> Vec<&str> {
        axis.ticks.iter().map(|t| t.label.as_str()).collect()
    }

    #[test]
    fn ticks_lie_inside_and_labels_differ() {
        let offsets = [0.0, 1.0, -1.0, 1850.0, 4.5e6, 1.6e9, -1.6e9, 1e12];
        let spans = [1e-3, 0.7, 1.0, 3.3, 86_400.0, 1e6, 1e9];
        for lo in offsets {
            for span in spans {
                for most in 1..12 {
                    let (lo, hi) = usable(Some((lo, lo + span)));
                    let axis = number_axis((lo, hi), most);
                    assert!(axis.ticks.len() <= most + 1, "{lo} {span}");
                    assert!(most < 5 || axis.ticks.len() >= 2, "{lo} {span} {most}");
                    assert!(axis.ticks.iter().all(|t| t.value >= lo && t.value <= hi));
                    for pair in axis.ticks.windows(2) {
                        assert_ne!(pair[0].label, pair[1].label, "{lo} {span}");
                        assert!(pair[0].value < pair[1].value);
                    }
                    let longest = labels(&axis).iter().map(|l| l.chars().count()).max();
                    assert!(longest.unwrap_or(0) <= 10, "{:?}", labels(&axis));
                }
            }
        }
    }

    #[test]
    fn ticks_are_round_numbers() {
        assert_eq!(labels(&number_axis((1851.0, 1962.0), 6)), ["1860", "1880", "1900", "1920", "1940", "1960"]);
        assert_eq!(labels(&number_axis((-0.05, 0.31), 4)), ["0", "0.1", "0.2", "0.3"]);
        assert_eq!(labels(&number_axis((-5.0, 5.0), 4)), ["−5", "0", "5"]);
        assert_eq!(labels(&number_axis((0.0, 3e-6), 3)), ["0", "1×10⁻⁶", "2×10⁻⁶", "3×10⁻⁶"]);
        assert_eq!(labels(&number_axis((0.0, 10_000.0), 2)), ["0", "5,000", "10,000"]);
        assert_eq!(labels(&number_axis((0.0, 5_000.0), 1)), ["0", "5000"]);
    }

    #[test]
    fn logarithms_have_round_ticks() {
        let axis = |range, most| value_axis(range, Spread::Log, 300.0, most, |_| 26.0);
        assert_eq!(labels(&axis((0.09, 12.0), 8)), ["0.1", "0.2", "0.5", "1", "2", "5", "10"]);
        assert_eq!(labels(&axis((0.5, 2e4), 6)), ["1", "10", "100", "1000", "10,000"]);
        assert_eq!(labels(&axis((2.0, 6.5), 6)), ["2", "3", "4", "5", "6"]);
        assert!((2..=7).contains(&axis((1e-200, 1e200), 6).ticks.len()));
        assert_eq!(Spread::Log.share(10.0, (1.0, 100.0)), 0.5);
        assert_eq!((Spread::Log.share(0.0, (1.0, 9.0)), Spread::Root.share(1.0, (0.0, 4.0))), (0.0, 0.5));
    }

    #[test]
    fn a_range_of_logarithms_does_not_follow_values_that_vanish() {
        let (lo, hi) = log_range([0.0, 1e-30, 2.0, 40.0, f64::NAN], 2.0);
        assert!((lo - 0.02 / 1.1).abs() < 1e-12 && (hi - 44.0).abs() < 1e-12);
        assert_eq!(log_range([3.0], 3.0), (1.0, 9.0));
        for odd in [vec![], vec![0.0, -1.0], vec![f64::NAN, f64::INFINITY], vec![5e-324], vec![1e289]] {
            let (lo, hi) = log_range(odd, f64::NAN);
            assert!(lo > 0.0 && hi > lo && hi.is_finite() && (hi / lo).is_finite(), "{lo} {hi}");
        }
    }

    #[test]
    fn large_offsets_move_into_the_note() {
        let axis = number_axis((1.6e9, 1.6e9 + 86_400.0), 5);
        assert_eq!(labels(&axis), ["0", "20,000", "40,000", "60,000", "80,000"]);
        assert_eq!(axis.title("time (s)"), "time (s), counted from 1,600,000,000");
        assert_eq!(number_axis((0.0, 1.6e9), 5).note, None);
    }

    #[test]
    fn short_numbers_keep_three_digits() {
        assert_eq!(short(12.345), "12.3");
        assert_eq!(short(-0.000123), "−1.23×10⁻⁴");
        assert_eq!(short(1_234_567.0), "1,234,567");
        assert_eq!(event_count(1), "1 event");
        assert_eq!(event_count(1_200), "1,200 events");
    }

    #[test]
    fn civil_dates_agree_with_known_ones_and_invert() {
        assert_eq!(civil_from_days(0), (1970, 1, 1));
        assert_eq!(civil_from_days(-1), (1969, 12, 31));
        assert_eq!(civil_from_days(11_016), (2000, 2, 29));
        assert_eq!(civil_from_days(-719_528), (0, 1, 1));
        assert_eq!(civil_from_days(18_628), (2021, 1, 1));
        for day in (-1_000_000..1_000_000).step_by(97) {
            let (year, month, date) = civil_from_days(day);
            assert_eq!(days_from_civil(year, month) + date - 1, day);
        }
    }

    fn date_axis(from_day: f64, to_day: f64, most: usize) -> Axis {
        let calendar = Calendar { origin_unix_days: from_day, unit_days: 0.5 };
        calendar_axis((0.0, 2.0 * (to_day - from_day)), &calendar, most).expect("a calendar axis")
    }

    #[test]
    fn calendar_ticks_fit_the_span() {
        let new_year_2021 = 18_628.0;
        let axis = date_axis(new_year_2021 - 0.1, new_year_2021 + 3654.0, 6);
        assert_eq!(labels(&axis), ["2022", "2024", "2026", "2028", "2030"]);
        let axis = date_axis(new_year_2021 - 0.1, new_year_2021 + 150.0, 6);
        assert_eq!(labels(&axis), ["Jan 2021", "Feb 2021", "Mar 2021", "Apr 2021", "May 2021"]);
        assert!((axis.ticks[1].value - 2.0 * 31.1).abs() < 1e-6);
        let axis = date_axis(new_year_2021 - 10.0, new_year_2021 + 20.0, 6);
        assert_eq!(labels(&axis), ["28 Dec", "4 Jan", "11 Jan", "18 Jan"]);
        assert_eq!(axis.title("date"), "date, 2020–2021");
        let axis = date_axis(new_year_2021, new_year_2021 + 0.5, 4);
        assert_eq!(labels(&axis), ["00:00", "03:00", "06:00", "09:00", "12:00"]);
        assert_eq!(axis.title("time"), "time, 1 Jan 2021");
        let axis = date_axis(new_year_2021, new_year_2021 + 2.0, 4);
        assert_eq!(labels(&axis)[1], "1 Jan 12:00");
        let axis = date_axis(-43_464.0, -3_000.0, 6);
        assert_eq!(labels(&axis), ["1860", "1880", "1900", "1920", "1940", "1960"]);
    }

    #[test]
    fn senseless_calendars_fall_back_to_numbers() {
        for unit in [0.0, -1.0, f64::NAN, 1e200] {
            let calendar = Calendar { origin_unix_days: 0.0, unit_days: unit };
            assert!(calendar_axis((0.0, 10.0), &calendar, 5).is_none());
        }
    }

    #[test]
    fn fitted_labels_keep_clear_of_each_other() {
        let extent = |label: &str| label.chars().count() as f64 + 2.0;
        let calendar = Calendar { origin_unix_days: 18_000.0, unit_days: 1.0 };
        for length in [5.0, 20.0, 68.0, 200.0] {
            for hi in [0.01, 1.0, 3.0, 40.0, 400.0, 1e5] {
                for calendar in [None, Some(&calendar)] {
                    let axis = fitted_axis((0.0, hi), calendar, length, 9, extent);
                    for pair in axis.ticks.windows(2) {
                        let distance = (pair[1].value - pair[0].value) / hi * length;
                        assert!(distance >= (extent(&pair[0].label) + extent(&pair[1].label)) / 2.0);
                    }
                }
            }
        }
        assert!(fitted_axis((0.0, 400.0), Some(&calendar), 68.0, 9, extent).ticks.len() >= 3);
    }

    #[test]
    fn every_range_becomes_usable() {
        let odd =
            [None, Some((f64::NAN, 1.0)), Some((3.0, 3.0)), Some((0.0, 0.0)), Some((2.0, 1.0)), Some((5e-324, 1e-323))];
        for range in odd {
            let (lo, hi) = usable(range);
            assert!(hi > lo && fraction((lo + hi) / 2.0, (lo, hi)) > 0.4);
            assert!(!number_axis((lo, hi), 5).ticks.is_empty());
        }
    }
}
