//! The small languages of a figure's options: sizes, limits, places of an axis.

use super::Failure;
use super::figure::Times;
use crate::args::{FigureOptions, PaletteName, PointsName};
use crate::io;
use pointillist::{Axis, Window};
use pointillist_plot::{EventsShown, Mark, Palette, Size, Style};
use std::ops::RangeInclusive;

/// Columns of journals, in millimetres.
const ONE_COLUMN: f64 = 85.0;
const TWO_COLUMNS: f64 = 174.0;
/// The sides of a figure on paper, in millimetres: on less its words have no room.
const WIDTHS: (f64, f64) = (60.0, 300.0);
const HEIGHTS: (f64, f64) = (50.0, 300.0);
/// Limits must differ by more than this, as a part of the larger.
const CLOSEST_LIMITS: f64 = 1e-9;
/// A forecast reaches no further than so many lengths of the window.
const MOST_BEYOND: f64 = 10.0;
/// Most maps side by side.
const MOST_TIMES: usize = 24;

/// How a figure is drawn.
pub fn style(options: &FigureOptions) -> Result<Style, Failure> {
    Ok(Style {
        palette: match options.palette.unwrap_or(PaletteName::Viridis) {
            PaletteName::Viridis => Palette::Viridis,
            PaletteName::Magma => Palette::Magma,
            PaletteName::Cividis => Palette::Cividis,
            PaletteName::Grey => Palette::Grey,
        },
        log: options.log,
        limits: options.limits.as_deref().map(|text| limits(text, options.log)).transpose()?,
        events: match options.points {
            None => EventsShown::Usual,
            Some(PointsName::Hide) => EventsShown::Hidden,
            Some(PointsName::Thin) => EventsShown::Thinned,
            Some(PointsName::All) => EventsShown::All,
        },
        size: options.size.as_deref().map_or(Ok(Size::Screen), size)?,
    })
}

/// Two numbers with a comma between them.
fn pair(text: &str) -> Option<(f64, f64)> {
    let (first, second) = text.split_once(',')?;
    let number = |text: &str| text.trim().parse::<f64>().ok().filter(|value| value.is_finite());
    Some((number(first)?, number(second)?))
}

fn limits(text: &str, log: bool) -> Result<(f64, f64), Failure> {
    match pair(text) {
        Some((lo, _)) if log && lo <= 0.0 => {
            Err(format!("--limits {text}: with --log the lower limit must be above 0, as in 0.1,10").into())
        }
        Some((lo, hi)) if are_apart(lo, hi) => Ok((lo, hi)),
        _ => Err(format!("--limits {text}: give the lowest and the highest rate, as in 0,10").into()),
    }
}

/// Whether an axis can go from one to the other.
fn are_apart(lo: f64, hi: f64) -> bool {
    let size = lo.abs().max(hi.abs());
    lo < hi && hi - lo > CLOSEST_LIMITS * size && (1e-200..1e200).contains(&size)
}

fn size(text: &str) -> Result<Size, Failure> {
    let inside = |side: f64, (least, most): (f64, f64)| (least..=most).contains(&side);
    match (text, pair(text)) {
        ("one-column", _) => Ok(Size::Wide(ONE_COLUMN)),
        ("two-column", _) => Ok(Size::Wide(TWO_COLUMNS)),
        (_, Some((width, height))) if inside(width, WIDTHS) && inside(height, HEIGHTS) => {
            Ok(Size::Paper(width, height))
        }
        (_, Some(_)) => Err(format!(
            "--size {text}: the width must be {} to {} mm, and the height {} to {} mm",
            WIDTHS.0, WIDTHS.1, HEIGHTS.0, HEIGHTS.1
        )
        .into()),
        _ => {
            Err(format!("--size {text}: write one-column, two-column, or width and height in mm, as in 120,80").into())
        }
    }
}

/// A place of an axis: a number, or a date where there are dates.
fn place(option: &str, text: &str, axis: &Axis) -> Result<f64, Failure> {
    let time = io::time_axis(axis);
    let number = text.parse::<f64>().ok().filter(|value| value.is_finite());
    number.or_else(|| time.and_then(|time| time.from_iso(text))).ok_or_else(|| {
        let example = if time.is_some() { "a date, as in 2016-02-23, or a number" } else { "a number" };
        format!("{option}: `{text}` is no place of axis `{}`; write {example}", axis.name).into()
    })
}

/// The same between these ends of what is drawn.
fn place_inside(option: &str, text: &str, axis: &Axis, (lo, hi): (f64, f64)) -> Result<f64, Failure> {
    let value = place(option, text, axis)?;
    if (lo..=hi).contains(&value) {
        return Ok(value);
    }
    let (name, lo, hi) = (&axis.name, io::place(axis, lo), io::place(axis, hi));
    Err(format!("{option}: {text} lies outside the figure; give a place of axis `{name}` from {lo} to {hi}").into())
}

/// The places to point at on an axis that is drawn between these ends.
pub fn marks(options: &FigureOptions, axis: &Axis, ends: (f64, f64)) -> Result<Vec<Mark>, Failure> {
    let mark = |text: &String| {
        let (at, label) = text.split_once('=').unwrap_or((text, ""));
        let x = place_inside(&format!("--mark {text}"), at.trim(), axis, ends)?;
        Ok(Mark { x, label: label.trim().into() })
    };
    options.mark.iter().map(mark).collect()
}

/// How far a curve goes on beyond the window of a model on a line, if it does.
pub fn until(options: &FigureOptions, window: &Window) -> Result<Option<f64>, Failure> {
    let Some(text) = &options.until else { return Ok(None) };
    let option = format!("--until {text}");
    let (axis, span) = (&window.axes()[0], window.bounding_box()[0]);
    let at = place(&option, text.trim(), axis)?;
    let (end, most) = (io::place(axis, span.hi), MOST_BEYOND * span.length());
    if at <= span.hi {
        return Err(format!("{option} is not beyond the window, which ends at {end}; give a later place").into());
    }
    if at - span.hi > most {
        let last = io::place(axis, span.hi + most);
        return Err(format!("{option} is further beyond the window, which ends at {end}, than {MOST_BEYOND} times its length: the model knows nothing there; give a place up to {last}").into());
    }
    Ok(Some(at))
}

/// Where the last axis of a window is cut.
pub fn times(options: &FigureOptions, window: &Window) -> Result<Times, Failure> {
    cut(options.times.as_deref(), options.at_times.as_deref(), window, 1..=MOST_TIMES)
}

/// The same into so many maps.
pub fn cut(
    times: Option<&str>,
    at_times: Option<&str>,
    window: &Window,
    count: RangeInclusive<usize>,
) -> Result<Times, Failure> {
    let (least, most) = (count.start(), count.end());
    if let Some(text) = at_times {
        let option = format!("--at-times {text}");
        let last = window.dims() - 1;
        let (axis, span) = (&window.axes()[last], window.bounding_box()[last]);
        let place = |at: &str| place_inside(&option, at.trim(), axis, (span.lo, span.hi));
        let places = text.split(',').map(place).collect::<Result<Vec<_>, _>>()?;
        return match places.len() {
            many if many > *most => Err(format!("{option}: {many} maps are too many; ask for at most {most}").into()),
            few if few < *least => Err(format!("{option}: give at least {least} places").into()),
            _ if io::spec::repeated(&places).is_some() => {
                Err(format!("{option}: a place is given twice; give it once").into())
            }
            _ => Ok(Times::At(places)),
        };
    }
    let Some(text) = times else { return Ok(Times::default()) };
    match text.trim().parse() {
        Ok(number) if count.contains(&number) => Ok(Times::Even(number)),
        _ => Err(format!("--times {text}: give a number of maps from {least} to {most}").into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_limits_are_read() {
        assert_eq!(size("one-column").ok(), Some(Size::Wide(85.0)));
        assert_eq!(size("120, 80").ok(), Some(Size::Paper(120.0, 80.0)));
        for text in ["", "column", "120", "120,8", "1e9,80", "nan,80", "-120,80", "120,80,60", "59,80", "120,49"] {
            assert!(size(text).is_err(), "{text}");
        }
        assert_eq!(limits("-1,2.5", false).ok(), Some((-1.0, 2.5)));
        for (text, log) in [
            ("0,5", true),
            ("5,0", false),
            ("5", false),
            ("a,b", false),
            ("1,1", false),
            ("0,inf", false),
            ("0,1e-320", false),
        ] {
            assert!(limits(text, log).is_err(), "{text}");
        }
    }
}
