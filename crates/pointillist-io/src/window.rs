//! Boxes from text, and places on the axes of a window for messages: numbers, or dates where an axis is time.

use super::columns::number;
use super::geography::{inward, no_degrees, outward, synonyms};
use super::message::{Message, Setting};
use super::table::{TWIN, Table};
use super::time::{TimeAxis, TimeUnit, has_offset, parse_iso};
use super::zone::{Zone, refuse_halves};
use crate::message;
use pointillist::window::Direction;
use pointillist::{Axis, Window};

/// So many boxes of a window are named in a message.
const MOST_BOXES_SHOWN: usize = 3;

/// How the numbers of an axis stand for dates, if they do.
pub fn time_axis(axis: &Axis) -> Option<TimeAxis> {
    let unit: TimeUnit = axis.unit.as_deref()?.parse().ok()?;
    // A name that was read from a file and is not known is refused there.
    let zone = axis.zone.as_deref().and_then(|name| Zone::named(name).ok());
    Some(TimeAxis { origin_unix_seconds: axis.origin?, unit, zone })
}

/// The column of a table in which an axis stands, if there is one: on an axis of time before all others the dates that this program writes beside
/// the numbers, which count from wherever that table begins.
pub fn column_of<'a>(header: &'a [(String, bool)], axis: &Axis) -> Option<&'a str> {
    let called =
        |name: String| header.iter().map(|(found, _)| found.as_str()).find(|found| found.to_lowercase() == name);
    let name = axis.name.to_lowercase();
    let dates = time_axis(axis).and_then(|_| called(format!("{name}{TWIN}")));
    let synonyms = || synonyms(&name).iter().find_map(|name| called(name.to_string()));
    dates.or_else(|| called(name.clone())).or_else(synonyms)
}

/// A place on an axis for a message: `2016-02-23T17:00:00Z`, or a number, on the globe in degrees.
pub fn place(axis: &Axis, value: f64) -> String {
    time_axis(axis).map_or_else(|| number(outward(axis, value)), |time| time.to_iso(value))
}

/// A point for a message: `lon 3, lat 4`.
pub fn show_point<'a>(point: &[f64], axes: impl IntoIterator<Item = &'a Axis>) -> String {
    let coordinate = |(&x, axis): (&f64, &Axis)| format!("{} {}", axis.name, place(axis, x));
    point.iter().zip(axes).map(coordinate).collect::<Vec<_>>().join(", ")
}

/// A box for a message, as [`Setting::Window`] takes it.
pub fn show_box(spans: impl IntoIterator<Item = (f64, f64)>, axes: &[Axis]) -> String {
    let ends = spans.into_iter().zip(axes);
    ends.map(|((lo, hi), axis)| format!("{},{}", place(axis, lo), place(axis, hi))).collect::<Vec<_>>().join(",")
}

/// A window for a message: its boxes as [`Setting::Window`] takes them, and of anything more the box around it.
pub fn show_window(window: &Window) -> String {
    let boxed = |spans: &[pointillist::window::Span]| show_box(spans.iter().map(|s| (s.lo, s.hi)), window.axes());
    let (pieces, whole) = (window.pieces(), boxed(&window.bounding_box()));
    // Trials cut time where their number changes; what matters here is where they reach.
    let even = pieces.iter().all(|piece| piece.repeats == pieces[0].repeats);
    match pieces {
        _ if window.outlines().next().is_some() => format!("(a border within {whole})"),
        [_] => whole,
        _ if even && pieces.len() <= MOST_BOXES_SHOWN => {
            pieces.iter().map(|piece| boxed(&piece.spans)).collect::<Vec<_>>().join(" and ")
        }
        _ => format!("({} pieces within {whole})", pieces.len()),
    }
}

/// Whether a text may be one end of a box: a number or a date.
pub fn is_end(text: &str) -> bool {
    text.parse::<f64>().is_ok() || parse_iso(text).is_some()
}

/// What was given for a setting.
#[derive(Clone, Copy, Debug)]
pub struct Given<'a> {
    /// The setting.
    pub setting: Setting,
    /// Its value.
    pub text: &'a str,
}

impl Given<'_> {
    /// Both, for a sentence.
    pub fn message(&self) -> Message {
        self.setting.given(self.text)
    }
}

/// Axes, and on which of them only dates are understood: where events are dates, a number such as 1851 would be taken for a count of days.
#[derive(Clone, Copy, Debug)]
pub struct On<'a> {
    /// The axes.
    pub axes: &'a [Axis],
    /// On which only dates are; none of them where it is shorter.
    pub dates_only: &'a [bool],
    /// If the first two are degrees on the globe, whether they are latitude and longitude: borders have them the other way round.
    pub north_first: Option<bool>,
}

/// If the first axis is on the globe, whether it goes north.
fn is_north_first(axes: &[Axis]) -> Option<bool> {
    axes.first().and_then(|axis| axis.globe).map(|globe| globe.direction == Direction::North)
}

impl<'a> On<'a> {
    /// Axes on all of which numbers are understood.
    pub fn any(axes: &'a [Axis]) -> Self {
        Self { axes, dates_only: &[], north_first: is_north_first(axes) }
    }

    /// The axes from this one on.
    pub fn after(self, first: usize) -> Self {
        let dates_only = self.dates_only.get(first..).unwrap_or_default();
        Self { axes: &self.axes[first..], dates_only, north_first: None }
    }

    /// Whether only dates are understood on an axis.
    pub fn needs_dates(&self, axis: usize) -> bool {
        self.dates_only.get(axis).copied().unwrap_or(false)
    }
}

/// The box that the `ends`, lo and hi for each of the axes, in what was given describe.
///
/// On an axis of time an end may be a date; it must be where only dates are understood.
pub fn parse_box(given: Given<'_>, ends: &[&str], on: On<'_>) -> Result<Window, Message> {
    let axes = on.axes;
    if ends.len() != 2 * axes.len() {
        let names = axes.iter().map(|axis| axis.name.as_str()).collect::<Vec<_>>().join(", ");
        let numbers = if ends.len() == 1 { "number" } else { "numbers" };
        let (found, there_are) = (ends.len(), if axes.len() == 1 { "is" } else { "are" });
        let needed = if axes.len() == 1 { "one axis".into() } else { format!("{} axes", axes.len()) };
        return Err(message![
            given.message(),
            " has {found} {numbers}, but there {there_are} {needed} ({names}); write lo,hi for each"
        ]);
    }
    let mut spans = Vec::with_capacity(axes.len());
    for (r, (ends, axis)) in ends.chunks_exact(2).zip(axes).enumerate() {
        let end =
            |text: &str| parse_end(text, axis, on.needs_dates(r)).map_err(|why| message![given.message(), ": {why}"]);
        let (lo, hi) = (end(ends[0])?, end(ends[1])?);
        if lo >= hi {
            let (name, lo, hi) = (&axis.name, ends[0], ends[1]);
            let is_across = axis.globe.is_some() || name.to_lowercase().starts_with("lon");
            let remedy = match hi.parse::<f64>() {
                Ok(east) if is_across && (-180.0..0.0).contains(&east) => {
                    format!("across the antimeridian write {} for {hi}", east + 360.0)
                }
                _ => "write the lower one first".into(),
            };
            return Err(message![
                given.message(),
                ": on axis `{name}` the lower end {lo} is not below the upper end {hi}; {remedy}"
            ]);
        }
        spans.push((lo, hi));
    }
    let window = Window::new(&spans).and_then(|window| window.with_axes(axes.to_vec()));
    let window = window.map_err(|error| message![given.message(), ": {error}"])?;
    refuse_halves(&window).map_err(|why| message![given.message(), ": ", why])?;
    Ok(window)
}

/// One end of a box on an axis; a reason if it is none.
fn parse_end(text: &str, axis: &Axis, dates_only: bool) -> Result<f64, String> {
    let name = &axis.name;
    if let Ok(value) = text.parse::<f64>() {
        return match value.is_finite() {
            true if !dates_only => match no_degrees(axis, value) {
                None => Ok(inward(axis, value)),
                Some(what) => Err(format!("{text} is no {what}; give degrees, in the order of the axes")),
            },
            true => Err(format!(
                "axis `{name}` holds dates; write its ends as dates too, like 2016-02-23 or 2016-02-23T17:00Z"
            )),
            false => Err(format!("{text} is not a finite number")),
        };
    }
    let time = time_axis(axis);
    if let Some(zone) = time.and_then(|time| time.zone).filter(|zone| is_second(text, *zone)) {
        let zone = zone.name();
        return Err(format!(
            "`{text}` is when the clocks of {zone} show a time again, which has no place of its own on them; take the end of what they show twice, without \
             an offset"
        ));
    }
    match time {
        Some(time) => {
            time.from_iso(text).ok_or_else(|| format!("`{text}` is neither a number nor a date like 2016-02-23"))
        }
        None if parse_iso(text).is_some() => Err(format!("`{text}` is a date, but axis `{name}` holds numbers")),
        None => Err(format!("`{text}` is not a number")),
    }
}

/// Whether a date with an offset is an instant at which clocks show something for the second time.
fn is_second(text: &str, zone: Zone) -> bool {
    has_offset(text) && parse_iso(text).is_some_and(|instant| zone.is_second(instant))
}

/// Brings a column of a table onto an axis: dates are counted from the axis's own origin, in whose unit they must have been read, and degrees in
/// the km of the axis.
/// With `dates_only` numbers are refused.
pub fn onto_axis(table: &mut Table, column: usize, axis: &Axis, dates_only: bool) -> Result<(), Message> {
    let (source, name, column_name) = (&table.source, &axis.name, &table.names[column]);
    if table.time[column].is_none() {
        if dates_only {
            return Err(message![
                "{source}: column `{column_name}` holds numbers, but `{name}` of the events holds dates; write dates there too"
            ]);
        }
        return table.on_globe(column, axis);
    }
    let Some(time) = time_axis(axis) else {
        return Err(message![
            "{source}: column `{column_name}` holds dates, but the axis `{name}` holds numbers; give numbers there, or other columns with ",
            Setting::Columns
        ]);
    };
    table.count_from(column, time.origin_unix_seconds);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(name: &str, origin: Option<f64>) -> Axis {
        Axis { name: name.into(), unit: origin.map(|_| "days".into()), origin, ..Axis::default() }
    }

    fn parse(text: &str, axes: &[Axis], dates_only: &[bool]) -> Result<Window, Message> {
        let ends: Vec<&str> = text.split(',').collect();
        parse_box(Given { setting: Setting::Window, text }, &ends, On { axes, dates_only, north_first: None })
    }

    #[test]
    fn numbers_and_dates_are_read() {
        let axes = [axis("t", Some(86_400.0)), axis("x", None)];
        let window = parse("1970-01-02,1970-01-05T12:00Z,-3,4e1", &axes, &[true, false]).unwrap();
        let spans = window.bounding_box();
        assert_eq!((spans[0].lo, spans[0].hi, spans[1].lo, spans[1].hi), (0.0, 3.5, -3.0, 40.0));
        assert_eq!(show_window(&window), "1970-01-02T00:00:00Z,1970-01-05T12:00:00Z,-3,40");
        assert!(parse("0,3.5,-3,40", &axes, &[false, false]).is_ok());
    }

    #[test]
    fn windows_of_several_boxes_are_shown() {
        let boxes = |ends: &[(f64, f64)]| {
            let windows: Vec<Window> = ends.iter().map(|&(lo, hi)| Window::interval(lo, hi).unwrap()).collect();
            show_window(&Window::union(&windows).unwrap())
        };
        assert_eq!(boxes(&[(0.0, 1.0), (2.5, 3.0)]), "0,1 and 2.5,3");
        assert_eq!(boxes(&[(0.0, 1.0), (2.0, 3.0), (4.0, 5.0), (6.0, 7.0)]), "(4 pieces within 0,7)");
        assert_eq!(show_window(&Window::trials(&[(0.0, 2.0), (1.0, 3.0)]).unwrap()), "(3 pieces within 0,3)");
    }

    #[test]
    fn mistakes_are_named() {
        let axes = [axis("t", Some(0.0))];
        let refuse = |text: &str, what: &str| {
            let error = parse(text, &axes, &[true]).unwrap_err().to_string();
            assert!(error.contains(what) && error.starts_with("`window = "), "{error}");
        };
        refuse("1851,1962", "dates");
        refuse("2016-02-23", "lo,hi");
        refuse("2016-02-23,2016-02-23", "not below");
        refuse("2016-02-23,tomorrow", "`tomorrow`");
        refuse("2016-02-23,inf", "finite");
        let error = parse("0,2016-02-23", &[axis("x", None)], &[false]).unwrap_err().to_string();
        assert!(error.contains("holds numbers"), "{error}");
    }
}
