//! Time zones by name: clocks that jump when summer time begins and ends.
//!
//! An axis of time with a zone counts what its clocks show, so that a daily cycle stays at its hour all year. When clocks go forward they show an hour less: that
//! part of the axis is cut out of windows, because no time passed there. When they go back they show an hour twice: that part was looked at two times. So a
//! rate stays one per real hour or day. The rules of all zones are part of the program; it asks no system for them.

use super::input_error::InputError;
use super::message::{Message, Setting};
use super::time::{MICROS_PER_SECOND, TimeAxis};
use super::window::time_axis;
use crate::message;
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, TimeZone, TimeZoneDatabase};
use pointillist::window::{Piece, Span};
use pointillist::{Axis, Error, Points, Window};
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// Most names that are proposed in place of one that is not known.
const MOST_NEAR: usize = 3;
/// Most changes of the clocks in a window.
const MOST_CHANGES: usize = 4000;

/// A time zone.
#[derive(Clone, Copy, Debug)]
pub struct Zone {
    name: &'static str,
    rules: &'static TimeZone,
}

impl PartialEq for Zone {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

/// What clocks do at a change: the readings that they leave out or show twice, in microseconds since 1970 by these clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// From here ...
    pub from: i64,
    /// ... to here.
    pub to: i64,
    /// Whether these readings come twice; else they never come.
    pub is_twice: bool,
}

impl Zone {
    /// The zone of this name; a sentence with near names if there is none.
    pub fn named(text: &str) -> Result<Self, Message> {
        // Axes are asked often.
        if let Some(zone) = Self::kept().get(text) {
            return Ok(*zone);
        }
        let (database, wanted) = (TimeZoneDatabase::bundled(), text.trim());
        match database.get(wanted) {
            Ok(rules) if !wanted.is_empty() => Ok(Self::keep(&rules)),
            _ => {
                let near = near(wanted, database.available().map(|name| name.to_string()));
                let proposed = match &near[..] {
                    [] => message!["write it as in ", Setting::TimeZone.given("Europe/Lisbon")],
                    names => Message::from(format!("near it are {}", names.join(", "))),
                };
                Err(message![Setting::TimeZone.given(text), ": there is no such time zone; ", proposed])
            }
        }
    }

    /// The zones that were asked for.
    fn kept() -> MutexGuard<'static, HashMap<String, Zone>> {
        static KEPT: OnceLock<Mutex<HashMap<String, Zone>>> = OnceLock::new();
        // A thread that panicked leaves nothing half done here.
        KEPT.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The one copy of its rules that is kept.
    fn keep(rules: &TimeZone) -> Self {
        let name = rules.iana_name().unwrap_or("UTC");
        // There are some six hundred zones: what is never given back is little.
        let new = || Self { name: Box::leak(name.into()), rules: Box::leak(Box::new(rules.clone())) };
        *Self::kept().entry(name.to_string()).or_insert_with(new)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        self.name
    }

    /// What its clocks show at an instant; both in microseconds since 1970.
    pub fn shown(self, instant: i64) -> i64 {
        instant.saturating_add(self.offset_at(instant))
    }

    /// How far its clocks are ahead of UTC at an instant, in microseconds.
    fn offset_at(self, instant: i64) -> i64 {
        // Clocks change at whole seconds; before 1970 a fraction would be rounded up to the next.
        let second = instant.div_euclid(MICROS_PER_SECOND);
        let clamped = second.clamp(Timestamp::MIN.as_second(), Timestamp::MAX.as_second());
        let at = Timestamp::from_second(clamped).unwrap_or(Timestamp::UNIX_EPOCH);
        i64::from(self.rules.to_offset(at).seconds()) * MICROS_PER_SECOND
    }

    /// The instant at which its clocks show this: the first if they do so twice, and as if they had not yet changed if they never do.
    pub fn instant(self, shown: i64) -> i64 {
        shown.saturating_sub(self.offset_of(shown))
    }

    /// Whether its clocks show this twice.
    pub fn is_twice(self, shown: i64) -> bool {
        self.changes(shown, shown + 1).iter().any(|change| change.is_twice)
    }

    /// Whether its clocks show for the second time what they show at an instant.
    pub fn is_second(self, instant: i64) -> bool {
        self.instant(self.shown(instant)) != instant
    }

    /// How far its clocks are ahead of UTC when they show this, in microseconds.
    pub fn offset_of(self, shown: i64) -> i64 {
        // What they show, read as UTC, is a date of the calendar.
        let read = |micros: i64| -> Option<DateTime> {
            Some(TimeZone::UTC.to_datetime(Timestamp::from_second(micros.div_euclid(MICROS_PER_SECOND)).ok()?))
        };
        let found = read(shown).map(|date| match self.rules.to_ambiguous_timestamp(date).offset() {
            AmbiguousOffset::Unambiguous { offset } => offset,
            AmbiguousOffset::Gap { before, .. } | AmbiguousOffset::Fold { before, .. } => before,
        });
        let found = found.map(|offset| i64::from(offset.seconds()) * MICROS_PER_SECOND);
        found.unwrap_or(0)
    }

    /// The changes of its clocks between two readings.
    fn changes(self, from: i64, to: i64) -> Vec<Change> {
        let day = 86_400 * MICROS_PER_SECOND;
        let Ok(start) = Timestamp::from_microsecond(from.saturating_sub(2 * day)) else { return Vec::new() };
        let before = |at: Timestamp| self.offset_at(at.as_microsecond() - 1);
        let change = |at: Timestamp| {
            let (old, new) = (before(at), self.offset_at(at.as_microsecond()));
            let (old, new) = (at.as_microsecond() + old, at.as_microsecond() + new);
            Change { from: old.min(new), to: old.max(new), is_twice: new < old }
        };
        let following = self.rules.following(start).take(MOST_CHANGES).map(|transition| change(transition.timestamp()));
        following
            .take_while(|change| change.from < to)
            .filter(|change| change.from < change.to && change.to > from)
            .collect()
    }
}

/// The axis of a window that goes by the clocks of a zone, and what they do there.
struct Clocks {
    axis: usize,
    time: TimeAxis,
    zone: Zone,
    changes: Vec<Change>,
}

impl Clocks {
    /// None without a zone.
    fn of(window: &Window) -> Option<Self> {
        let zoned = |(r, axis)| Some((r, time_axis(axis)?, time_axis(axis)?.zone?));
        let (axis, time, zone) = window.axes().iter().enumerate().find_map(zoned)?;
        let Span { lo, hi } = window.bounding_box()[axis];
        Some(Self { axis, time, zone, changes: zone.changes(time.reading_at(lo), time.reading_at(hi)) })
    }

    /// A change on the axis.
    fn ends(&self, change: &Change) -> (f64, f64) {
        (self.time.value_of_reading(change.from), self.time.value_of_reading(change.to))
    }

    /// The stretches that clocks show twice, or those that they never show.
    fn stretches(&self, is_twice: bool) -> impl Iterator<Item = (f64, f64)> {
        self.changes.iter().filter(move |change| change.is_twice == is_twice).map(|change| self.ends(change))
    }
}

/// A window or a region with what clocks do: without what they never show, and twice what they show twice. Without a zone it stays; none if clocks show
/// nothing of it.
pub fn on_clocks(window: Window) -> Result<Option<Window>, Error> {
    let Some(clocks) = Clocks::of(&window).filter(|clocks| !clocks.changes.is_empty()) else { return Ok(Some(window)) };
    let (axis, around) = (clocks.axis, window.bounding_box());
    let Span { lo, hi } = around[axis];
    // Stretches between changes, and the hours that come twice.
    let (mut parts, mut start) = (Vec::new(), lo);
    for change in &clocks.changes {
        let (from, to) = clocks.ends(change);
        let (from, to) = (from.clamp(lo, hi), to.clamp(lo, hi));
        parts.push((start, from, 1));
        if change.is_twice {
            parts.push((from, to, 2));
        }
        start = to;
    }
    parts.push((start, hi, 1));
    let mut pieces = Vec::new();
    for (from, to, times) in parts.into_iter().filter(|(from, to, _)| from < to) {
        let spans = around.iter().enumerate().map(|(r, span)| if r == axis { (from, to) } else { (span.lo, span.hi) });
        let slab = Window::new(&spans.collect::<Vec<_>>())?;
        let Some(piece) = slab.intersection(&window) else { continue };
        pieces.push(if times > 1 { piece.with_repeats(times)? } else { piece });
    }
    if pieces.is_empty() {
        return Ok(None);
    }
    let cut = Window::union(&pieces)?.with_axes(window.axes().to_vec())?;
    Ok(Some(match window.exposure() {
        Some(exposure) => cut.with_exposure(exposure.clone())?,
        None => cut,
    }))
}

/// The window of events with what clocks do. One that nobody gave (`is_own`), around the events, must not end where clocks show a time twice either.
pub fn by_clocks(window: Window, is_own: bool) -> Result<Window, InputError> {
    if is_own {
        refuse_halves(&window)
            .map_err(|why| message!["the window around the events: ", why, "; give a ", Setting::Window])?;
    }
    let never = || message![Setting::Window, " holds only what the clocks of the time zone never show; give another"];
    Ok(on_clocks(window)?.ok_or_else(never)?)
}

/// How often each piece of a window was looked at: an hour that clocks show twice is not looked at more often than others.
pub fn looks(window: &Window) -> Vec<f64> {
    let clocks = Clocks::of(window);
    let is_twice = |piece: &Piece| {
        clocks.as_ref().is_some_and(|clocks| {
            let Span { lo, hi } = piece.spans[clocks.axis];
            let middle = 0.5 * (lo + hi);
            clocks.stretches(true).any(|(from, to)| from < middle && middle < to)
        })
    };
    window.pieces().iter().map(|piece| if is_twice(piece) { 0.5 * piece.repeats } else { piece.repeats }).collect()
}

/// The zone whose clocks never show what a window holds, and whether a point lies there.
pub fn left_out(window: &Window) -> Option<(&'static str, impl Fn(&[f64]) -> bool)> {
    let clocks = Clocks::of(window).filter(|clocks| clocks.stretches(false).next().is_some())?;
    let name = clocks.zone.name();
    Some((name, move |point: &[f64]| {
        let at = point[clocks.axis];
        clocks.stretches(false).any(|(from, to)| from < at && at < to)
    }))
}

/// What to know of points at times that clocks never show, or show twice.
pub fn odd_times(points: &Points, axes: &[Axis]) -> Vec<Message> {
    let zoned = |(r, axis)| Some((r, time_axis(axis)?, time_axis(axis)?.zone?));
    let Some((r, time, zone)) = axes.iter().enumerate().find_map(zoned) else { return vec![] };
    let readings: Vec<i64> = points.rows().map(|row| time.reading_at(row[r])).collect();
    let (Some(first), Some(last)) = (readings.iter().min(), readings.iter().max()) else { return vec![] };
    let (changes, zone) = (zone.changes(*first, *last + 1), zone.name());
    let told = |is_twice: bool, what: &str| {
        let is_odd = |reading: &i64| {
            let mut kind = changes.iter().filter(|change| change.is_twice == is_twice);
            kind.any(|change| change.from <= *reading && *reading < change.to)
        };
        let count = readings.iter().filter(|reading| is_odd(reading)).count();
        let place = readings.iter().position(is_odd)?;
        let (shown, of) = (time.to_reading(points.row(place)[r]), readings.len());
        Some(message!["{count} of {of} points are at times that the clocks of {zone} {what}, the first {shown}"])
    };
    let never = told(false, "never show, because they go forward there: the rate stands for no real time");
    never.into_iter().chain(told(true, "show twice: one rate holds for both times")).collect()
}

/// Refuses a window with an end inside what clocks show twice: it does not say which of the two times is meant.
pub fn refuse_halves(window: &Window) -> Result<(), Message> {
    let Some(clocks) = Clocks::of(window) else { return Ok(()) };
    let ends = window.pieces().iter().flat_map(|piece| [piece.spans[clocks.axis].lo, piece.spans[clocks.axis].hi]);
    for end in ends {
        let Some((from, to)) = clocks.stretches(true).find(|(from, to)| *from < end && end < *to) else { continue };
        let [end, from, to] = [end, from, to].map(|at| clocks.time.to_reading(at));
        let zone = clocks.zone.name();
        return Err(message![
            "the clocks of {zone} show {end} twice, so it is no end; take {from} or {to}, between which they do so, or fit without ",
            Setting::TimeZone
        ]);
    }
    Ok(())
}

/// Names that are near a text: those that hold it, or that it takes few changes to make of it.
fn near(text: &str, names: impl Iterator<Item = String>) -> Vec<String> {
    let plain = |name: &str| name.to_lowercase().replace([' ', '-'], "_");
    let wanted = plain(text);
    let last = |name: &str| name.rsplit('/').next().unwrap_or_default().to_string();
    let distance = |name: &str| {
        let name = plain(name);
        let held = !wanted.is_empty() && name.contains(&wanted);
        let city = edits(&last(&name), &last(&wanted));
        if held { 0 } else { city.min(edits(&name, &wanted)) }
    };
    let mut found: Vec<(usize, String)> = names.map(|name| (distance(&name), name)).collect();
    found.retain(|(distance, _)| *distance <= 1 + wanted.len() / 6);
    found.sort();
    found.into_iter().map(|(_, name)| name).take(MOST_NEAR).collect()
}

/// How many letters must be put in, left out or exchanged to make one text of another.
fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let next = (diagonal + usize::from(x != *y)).min(row[j] + 1).min(row[j + 1] + 1);
            diagonal = std::mem::replace(&mut row[j + 1], next);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::super::time::{TimeUnit, parse_iso};
    use super::*;
    use pointillist::Axis;

    fn reading(text: &str) -> i64 {
        parse_iso(text).unwrap()
    }

    #[test]
    fn clocks_show_what_they_show() {
        let zone = Zone::named("Europe/Lisbon").unwrap();
        for (utc, local) in [
            ("2024-01-10T08:00:00Z", "2024-01-10T08:00:00"),
            ("2024-07-10T07:00:00Z", "2024-07-10T08:00:00"),
            ("2024-03-31T00:59:59Z", "2024-03-31T00:59:59"),
            ("2024-03-31T01:00:00Z", "2024-03-31T02:00:00"),
            ("2024-10-27T00:30:00Z", "2024-10-27T01:30:00"),
            ("2024-10-27T01:30:00Z", "2024-10-27T01:30:00"),
        ] {
            assert_eq!(zone.shown(reading(utc)), reading(local), "{utc}");
        }
        // What comes twice is taken for the first.
        assert_eq!(zone.instant(reading("2024-10-27T01:30:00")), reading("2024-10-27T00:30:00Z"));
        assert_eq!(zone.instant(reading("2024-07-10T08:00:00")), reading("2024-07-10T07:00:00Z"));
        // Where an hour is left out, its beginning is its end.
        assert_eq!(zone.instant(reading("2024-03-31T01:00:00")), zone.instant(reading("2024-03-31T02:00:00")));
        assert_eq!(Zone::named("europe/lisbon").unwrap(), zone);
    }

    #[test]
    fn windows_leave_out_what_never_was_and_count_twice_what_was_twice() {
        let zone = Some("Europe/Lisbon".to_string());
        let origin = reading("2024-01-01") as f64 / 1e6;
        let axis = Axis { name: "t".into(), unit: Some("hours".into()), origin: Some(origin), zone, ..Axis::default() };
        let window = |from: &str, to: &str| {
            let hours = |text: &str| (reading(text) - reading("2024-01-01")) as f64 / 3.6e9;
            Window::interval(hours(from), hours(to)).unwrap().with_axes(vec![axis.clone()]).unwrap()
        };
        let hours = |from, to| on_clocks(window(from, to)).unwrap().unwrap().measure();
        assert!((hours("2024-03-30", "2024-04-01") - 47.0).abs() < 1e-9);
        assert!((hours("2024-10-26", "2024-10-28") - 49.0).abs() < 1e-9);
        assert!((hours("2024-01-01", "2025-01-01") - 366.0 * 24.0).abs() < 1e-6);
        let summer = window("2024-06-01", "2024-06-03");
        assert_eq!(on_clocks(summer.clone()).unwrap(), Some(summer));
        assert_eq!(on_clocks(window("2024-03-31T01:00:00", "2024-03-31T02:00:00")).unwrap(), None);
        let night = on_clocks(window("2024-03-31", "2024-03-31T12:00:00")).unwrap().unwrap();
        assert_eq!(night.pieces().len(), 2);
        let time = TimeAxis {
            origin_unix_seconds: origin,
            unit: TimeUnit::Hours,
            zone: Some(Zone::named("Europe/Lisbon").unwrap()),
        };
        assert!(!night.contains(&[time.from_iso("2024-03-31T01:30:00").unwrap()]));
        assert_eq!(time.to_iso(time.from_iso("2024-07-10T07:00:00Z").unwrap()), "2024-07-10T08:00:00+01:00");
        assert_eq!(time.to_iso(time.from_iso("2024-01-10T08:00:00").unwrap()), "2024-01-10T08:00:00+00:00");
    }

    #[test]
    fn clocks_changed_before_1970_too() {
        let changed = |zone: &str, from: &str, to: &str| {
            let changes = Zone::named(zone).unwrap().changes(reading(from), reading(to));
            changes
                .iter()
                .map(|one| (one.is_twice, (one.to - one.from) / (3600 * MICROS_PER_SECOND)))
                .collect::<Vec<_>>()
        };
        // Alaska and the Philippines changed sides of the date line, a day each.
        assert_eq!(changed("America/Juneau", "1867-10-15", "1867-10-21"), [(true, 24)]);
        assert_eq!(changed("Asia/Manila", "1844-12-28", "1845-01-04"), [(false, 24)]);
        assert_eq!(changed("America/New_York", "1967-04-28", "1967-05-03"), [(false, 1)]);
        assert_eq!(changed("America/New_York", "1967-10-27", "1967-11-03"), [(true, 1)]);
        // A hair before a change nothing has changed, on either side of 1970.
        let zone = Zone::named("America/New_York").unwrap();
        for change in ["1967-04-30T07:00:00Z", "2024-03-10T07:00:00Z"] {
            let at = reading(change);
            assert_eq!(zone.shown(at) - zone.shown(at - 1), 3600 * MICROS_PER_SECOND + 1, "{change}");
        }
    }

    #[test]
    fn unknown_zones_are_refused_with_near_ones() {
        for (text, near) in
            [("Europe/Lisboa", "Europe/Lisbon"), ("lisbon", "Europe/Lisbon"), ("America/New York", "America/New_York")]
        {
            let sentence = Zone::named(text).unwrap_err().to_string();
            assert!(sentence.contains("no such time zone") && sentence.contains(near), "{sentence}");
        }
        assert!(Zone::named("Qwxyzt/Vbnmpl").unwrap_err().to_string().contains("Europe/Lisbon"));
        assert!(Zone::named("").is_err());
    }
}
