//! Events and points in: a table, the window it belongs to, and the axes both share.

use super::{Failure, spec};
use crate::args::FitOptions;
use crate::datasets::{self, Dataset};
use crate::io::{self, InputError, ReadOptions, Table, TimeAxis, TimeUnit};
use pointillist::{Axis, Events, Points, Window};
use std::borrow::Cow;

/// Events ready to be fitted.
pub struct Loaded {
    /// The events in their window.
    pub events: Events,
    /// Where they came from: the last part of the path.
    pub source: String,
    /// What the user should know of how they were read.
    pub warnings: Vec<String>,
}

/// Points on the axes of a model, with the lines they stood on.
pub struct Placed {
    /// The points.
    pub points: Points,
    /// The line of the file for each.
    pub lines: Vec<u64>,
}

/// Reads events as the options say.
pub fn events(path: &str, options: &FitOptions) -> Result<Loaded, Failure> {
    events_from(path, None, options)
}

/// The same with the bytes of the file already at hand.
pub fn events_from(path: &str, bytes: Option<&[u8]>, options: &FitOptions) -> Result<Loaded, Failure> {
    if let [_, second, ..] = &options.window[..] {
        return Err(format!("--window {second}: several windows are not in this version; give one").into());
    }
    let time_unit: TimeUnit = options.time_unit.parse().map_err(|error| format!("--time-unit: {error}"))?;
    let dataset = datasets::find(path);
    let own_columns = || dataset.map(|set| set.default_columns.iter().map(|name| name.to_string()).collect());
    let read_options = ReadOptions { columns: options.columns.clone().or_else(own_columns), time_unit };
    let bytes = bytes.map_or_else(|| bytes_of(path), |bytes| Ok(bytes.into()))?;
    let table = io::read_bytes(io::source_name(path), &bytes, &read_options)?;
    let axes = axes(&table, dataset);
    let mut warnings = Vec::new();
    let window = match options.window.first() {
        Some(text) => {
            // A number would be taken for a count of days since the first event's midnight, which nobody knows beforehand.
            let dates_only: Vec<bool> = table.time.iter().map(Option::is_some).collect();
            io::parse_window("--window", text, &axes, &dates_only)?
        }
        None => match dataset.and_then(|set| own_window(set, &axes)) {
            Some(window) => window,
            None => bounding_box(&table, &axes, &mut warnings)?,
        },
    };
    let points = Points::new(table.dims, table.rows)?;
    let placed = Placed { points, lines: table.lines };
    let (points, dropped) = placed.inside(&window, options.clip, &table.source, "--window")?;
    if let Some(dropped) = dropped {
        warnings.insert(0, dropped);
    }
    Ok(Loaded { events: Events::new(points, window)?, source: file_name(path), warnings })
}

impl Placed {
    /// The points, if all lie in the window; with `clip` those that do, and a sentence on the others.
    pub fn inside(
        self,
        window: &Window,
        clip: bool,
        source: &str,
        remedy: &str,
    ) -> Result<(Points, Option<String>), Failure> {
        let outside: Vec<usize> = (0..self.points.len()).filter(|&n| !window.contains(self.points.row(n))).collect();
        let Some(&first) = outside.first() else { return Ok((self.points, None)) };
        let (count, total, shown) = (outside.len(), self.points.len(), io::show_window(window));
        let of = if total == 1 {
            "event lies".into()
        } else {
            format!("of {total} events lie{}", if count == 1 { "s" } else { "" })
        };
        if !clip {
            let coordinates = self.points.row(first).iter().zip(window.axes());
            let place: Vec<String> =
                coordinates.map(|(v, axis)| format!("{} {}", axis.name, io::place(axis, *v))).collect();
            let (line, place) = (self.lines[first], place.join(", "));
            let larger = if remedy.is_empty() { String::new() } else { format!("give a larger {remedy}, or ") };
            return Err(format!(
                "{source}: {count} {of} outside the window {shown}, the first on line {line} ({place}); \
                 {larger}drop such events with --clip"
            )
            .into());
        }
        if count == total {
            return Err(format!("{source}: no event lies inside the window {shown}; give another window").into());
        }
        let kept = self.points.filter(|row| window.contains(row));
        Ok((kept, Some(format!("{count} {of} outside the window {shown}, dropped"))))
    }
}

/// Reads points for a model: in the columns asked for, else in those called as its axes, else in the numeric ones.
pub fn points(path: &str, columns: Option<&[String]>, axes: &[Axis]) -> Result<Placed, Failure> {
    // Dates are read in the model's unit, so that only the origin of time can differ.
    let time_unit = axes.iter().find_map(io::time_axis).map(|time| time.unit).unwrap_or_default();
    let bytes = bytes_of(path)?;
    let read_columns = |columns: Option<Vec<String>>| {
        io::read_bytes(io::source_name(path), &bytes, &ReadOptions { columns, time_unit })
    };
    let table = match columns {
        Some(columns) => read_columns(Some(columns.to_vec()))?,
        None => match read_columns(Some(axes.iter().map(|axis| axis.name.clone()).collect())) {
            Err(InputError::NoSuchColumn { .. }) => read_columns(None)?,
            table => table?,
        },
    };
    if table.dims != axes.len() {
        let names: Vec<&str> = axes.iter().map(|axis| axis.name.as_str()).collect();
        let (found, needed) = (spec::plural(table.dims, "column", "columns"), spec::plural(axes.len(), "axis", "axes"));
        let (source, names) = (&table.source, names.join(", "));
        return Err(
            format!("{source} gives {found}, but the model has {needed} ({names}); choose with --columns").into()
        );
    }
    let mut rows = table.rows;
    for (r, axis) in axes.iter().enumerate() {
        let Some(found) = table.time[r] else { continue };
        let Some(time) = io::time_axis(axis) else {
            let (source, name, column) = (&table.source, &axis.name, &table.names[r]);
            return Err(format!(
                "{source}: column `{column}` holds dates, but the model's axis `{name}` holds numbers"
            )
            .into());
        };
        let shift = (found.origin_unix_seconds - time.origin_unix_seconds) / time.unit.seconds();
        rows.iter_mut().skip(r).step_by(axes.len()).for_each(|value| *value += shift);
    }
    Ok(Placed { points: Points::new(axes.len(), rows)?, lines: table.lines })
}

/// The bytes of a bundled set or a file.
pub fn bytes_of(path: &str) -> Result<Cow<'static, [u8]>, InputError> {
    match datasets::find(path) {
        Some(set) => Ok(set.csv.into()),
        None => io::read_file(path).map(Cow::from).map_err(|error| match error {
            // A bare word may be a misspelt bundled set.
            InputError::Missing { file } if !file.contains(['.', '/', '\\']) => InputError::Missing {
                file: format!("{file} is no bundled set ({}), and as a file it", datasets::names()),
            },
            error => error,
        }),
    }
}

/// What the columns mean.
fn axes(table: &Table, dataset: Option<&Dataset>) -> Vec<Axis> {
    let axis = |(name, time): (&String, &Option<TimeAxis>)| {
        let known = dataset.and_then(|set| set.column(name));
        let (unit, origin) = match (time, known) {
            (Some(time), _) => (Some(time.unit.to_string()), Some(time.origin_unix_seconds)),
            (None, Some(column)) => (Some(column.unit.to_string()), column.origin.and_then(seconds)),
            (None, None) => (None, None),
        };
        Axis { name: name.clone(), unit, origin }
    };
    table.names.iter().zip(&table.time).map(axis).collect()
}

/// A date in seconds since 1970.
fn seconds(date: &str) -> Option<f64> {
    TimeAxis { origin_unix_seconds: 0.0, unit: TimeUnit::Seconds }.from_iso(date)
}

/// The window of a bundled set, if it is known for all the axes.
fn own_window(set: &Dataset, axes: &[Axis]) -> Option<Window> {
    let spans: Option<Vec<&str>> = axes.iter().map(|axis| set.column(&axis.name).map(|column| column.span)).collect();
    io::parse_window("window", &spans?.join(","), axes, &vec![false; axes.len()]).ok()
}

/// The smallest box around the events, with a warning; an axis on which all are equal is given some room.
fn bounding_box(table: &Table, axes: &[Axis], warnings: &mut Vec<String>) -> Result<Window, Failure> {
    let mut spans = Vec::with_capacity(axes.len());
    let mut widened = Vec::new();
    for (r, axis) in axes.iter().enumerate() {
        let values = || table.rows.iter().skip(r).step_by(table.dims).copied();
        let (lo, hi) = values().fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), v| (lo.min(v), hi.max(v)));
        // Half a unit, or more where numbers are so large that half a unit is nothing.
        let room = if lo < hi { 0.0 } else { 0.5f64.max(1e-9 * lo.abs()) };
        if room > 0.0 {
            widened.push(format!("`{}`", axis.name));
        }
        spans.push((lo - room, hi + room));
    }
    let window = Window::new(&spans)?.with_axes(axes.to_vec())?;
    let shown = io::show_window(&window);
    let widened = match widened.len() {
        0 => String::new(),
        _ => format!(", widened on {} where all events are at one place", widened.join(" and ")),
    };
    warnings.push(format!(
        "no --window was given, so the bounding box of the events is taken{widened}: {shown}; if events were looked for \
         beyond it, give --window"
    ));
    Ok(window)
}

/// The last part of a path.
fn file_name(path: &str) -> String {
    let name = std::path::Path::new(path).file_name().map(|name| name.to_string_lossy().into_owned());
    if path == "-" { io::source_name(path).into() } else { name.unwrap_or_else(|| path.into()) }
}
