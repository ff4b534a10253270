//! Windows from the command line, and places on their axes for messages: numbers, or dates where an axis is time.

use super::columns::number;
use super::time::{TimeAxis, TimeUnit, parse_iso};
use pointillist::{Axis, Window};
use std::path::Path;

/// How the numbers of an axis stand for dates, if they do.
pub fn time_axis(axis: &Axis) -> Option<TimeAxis> {
    let unit: TimeUnit = axis.unit.as_deref()?.parse().ok()?;
    Some(TimeAxis { origin_unix_seconds: axis.origin?, unit })
}

/// A place on an axis for a message: `2016-02-23T17:00:00Z`, or a number.
pub fn place(axis: &Axis, value: f64) -> String {
    time_axis(axis).map_or_else(|| number(value), |time| time.to_iso(value))
}

/// A window as `--window` takes it.
pub fn show_window(window: &Window) -> String {
    let ends = window.bounding_box().iter().zip(window.axes());
    ends.map(|(span, axis)| format!("{},{}", place(axis, span.lo), place(axis, span.hi))).collect::<Vec<_>>().join(",")
}

/// The window that `text`, the value of `option`, describes: lo,hi for each of the axes.
///
/// On an axis of time an end may be a date; on one for which `dates_only` holds it must be, because a number such as 1851 would be
/// taken for a count of days.
pub fn parse_window(option: &str, text: &str, axes: &[Axis], dates_only: &[bool]) -> Result<Window, String> {
    let parts: Vec<&str> = text.split(',').map(str::trim).collect();
    if parts.len() == 1 && (text.contains("json") || text.contains("shp") || Path::new(text).is_file()) {
        return Err(format!("{option} {text}: windows from files are not in this version; write lo,hi for each axis"));
    }
    if parts.len() != 2 * axes.len() {
        let names: Vec<&str> = axes.iter().map(|axis| axis.name.as_str()).collect();
        let (found, plural) = (parts.len(), if parts.len() == 1 { "" } else { "s" });
        return Err(format!(
            "{option} {text} has {found} number{plural}, but there {} {} ({}); write lo,hi for each",
            if axes.len() == 1 { "is" } else { "are" },
            if axes.len() == 1 { "one axis".into() } else { format!("{} axes", axes.len()) },
            names.join(", ")
        ));
    }
    let mut spans = Vec::with_capacity(axes.len());
    for ((ends, axis), &dates_only) in parts.chunks_exact(2).zip(axes).zip(dates_only) {
        let lo = parse_end(ends[0], axis, dates_only).map_err(|why| format!("{option} {text}: {why}"))?;
        let hi = parse_end(ends[1], axis, dates_only).map_err(|why| format!("{option} {text}: {why}"))?;
        if lo >= hi {
            let name = &axis.name;
            return Err(format!(
                "{option} {text}: on axis `{name}` the lower end {} is not below the upper end {}",
                ends[0], ends[1]
            ));
        }
        spans.push((lo, hi));
    }
    let window = Window::new(&spans).and_then(|window| window.with_axes(axes.to_vec()));
    window.map_err(|error| format!("{option} {text}: {error}"))
}

/// One end of a window on an axis.
fn parse_end(text: &str, axis: &Axis, dates_only: bool) -> Result<f64, String> {
    let name = &axis.name;
    if let Ok(value) = text.parse::<f64>() {
        return match value.is_finite() {
            true if !dates_only => Ok(value),
            true => Err(format!(
                "axis `{name}` holds dates; write its ends as dates too, like 2016-02-23 or 2016-02-23T17:00Z"
            )),
            false => Err(format!("{text} is not a finite number")),
        };
    }
    match time_axis(axis) {
        Some(time) => {
            time.from_iso(text).ok_or_else(|| format!("`{text}` is neither a number nor a date like 2016-02-23"))
        }
        None if parse_iso(text).is_some() => Err(format!("`{text}` is a date, but axis `{name}` holds numbers")),
        None => Err(format!("`{text}` is not a number")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(name: &str, origin: Option<f64>) -> Axis {
        Axis { name: name.into(), unit: origin.map(|_| "days".into()), origin }
    }

    #[test]
    fn numbers_and_dates_are_read() {
        let axes = [axis("t", Some(86_400.0)), axis("x", None)];
        let window = parse_window("--window", "1970-01-02,1970-01-05T12:00Z,-3,4e1", &axes, &[true, false]).unwrap();
        let spans = window.bounding_box();
        assert_eq!((spans[0].lo, spans[0].hi, spans[1].lo, spans[1].hi), (0.0, 3.5, -3.0, 40.0));
        assert_eq!(show_window(&window), "1970-01-02T00:00:00Z,1970-01-05T12:00:00Z,-3,40");
        assert!(parse_window("--in", "0,3.5,-3,40", &axes, &[false, false]).is_ok());
    }

    #[test]
    fn mistakes_are_named() {
        let axes = [axis("t", Some(0.0))];
        let refuse = |text: &str, what: &str| {
            let error = parse_window("--window", text, &axes, &[true]).unwrap_err();
            assert!(error.contains(what) && error.starts_with("--window"), "{error}");
        };
        refuse("1851,1962", "dates");
        refuse("2016-02-23", "lo,hi");
        refuse("2016-02-23,2016-02-23", "not below");
        refuse("2016-02-23,tomorrow", "`tomorrow`");
        refuse("2016-02-23,inf", "finite");
        refuse("border.geojson", "not in this version");
        let error = parse_window("--window", "0,2016-02-23", &[axis("x", None)], &[false]).unwrap_err();
        assert!(error.contains("holds numbers"), "{error}");
    }
}
