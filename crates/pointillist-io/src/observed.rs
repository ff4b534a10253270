//! The window that settings describe: boxes, borders, trials, repeats, exposure; and what may be wrong when events miss it.

use super::columns::number;
use super::datasets;
use super::events::exposure_unit;
pub use super::exposure::ExposureTable;
use super::exposure::{choose_columns, exposure_table};
use super::geography::{
    is_east, no_degrees, onto_map, outward, refuse_long_way, rings_inward, row_inward, row_outward,
};
use super::geojson::{self, Feature, Ring, named_crs, read_features, read_polygons, ring_name};
use super::geojson_points::Systems;
use super::geotiff::same_crs;
use super::input_error::InputError;
use super::message::{Message, Setting};
use super::source::Opened;
use super::table::{Dates, ReadOptions, read_bytes, read_header, read_table, source_name};
use super::time::{TimeAxis, TimeUnit};
use super::trials::Trials;
use super::window::{Given, On, column_of, is_end, onto_axis, parse_box, place, time_axis};
use crate::message;
use pointillist::window::{Exposure, Polygons, Spread};
use pointillist::{Axis, Error, Points, Window};
use std::borrow::Cow;
use std::path::Path;

/// Share of the events that must lie outside before their units are doubted.
const MOST: f64 = 0.5;
/// Coordinates beyond this are no degrees.
const CLEARLY_METRES: f64 = 1000.0;
const SECONDS_PER_DAY: f64 = 86_400.0;

/// The window that the values of a setting describe together.
pub fn union(setting: Setting, texts: &[String], on: On<'_>) -> Result<Window, InputError> {
    let windows = texts.iter().map(|text| region(Given { setting, text }, on)).collect::<Result<Vec<_>, _>>()?;
    joined(setting, texts, windows, on.axes)
}

/// Windows as one; `texts` stand for them in messages.
pub fn joined(setting: Setting, texts: &[String], windows: Vec<Window>, axes: &[Axis]) -> Result<Window, InputError> {
    if let [only] = &windows[..] {
        return Ok(only.clone());
    }
    Window::union(&windows).map_err(|error| match error {
        Error::Overlap { first, second, at } => {
            let (first, second) = (setting.given(&texts[first]), setting.given(&texts[second]));
            let reach = |(axis, (lo, hi)): (&Axis, &(f64, f64))| {
                format!("{} {} to {}", axis.name, place(axis, *lo), place(axis, *hi))
            };
            let place: Vec<String> = axes.iter().zip(&at).map(reach).collect();
            let place = place.join(", ");
            message![first, " and ", second, " overlap in {place}; give windows that do not overlap"].into()
        }
        error => error.into(),
    })
}

/// One box, or one border: `0,5`, `border.geojson`, `border.geojson,0,5`.
pub fn region(given: Given<'_>, on: On<'_>) -> Result<Window, InputError> {
    let text = given.text;
    let parts: Vec<&str> = text.split(',').map(str::trim).collect();
    if Path::new(text).is_file() {
        return border(given, text, &[], on);
    }
    match &parts[..] {
        // A name that is quoted in a sentence must be one.
        [""] => Err(message![given.setting, " is empty; write lo,hi for each axis, or a GeoJSON file"].into()),
        [first, rest @ ..] if !is_end(first) => border(given, first, rest, on),
        ends => Ok(onto_map(parse_box(given, ends, on)?).map_err(|why| message![given.message(), " ", why])?),
    }
}

/// How many axes of a window are those of a border, and the ends on the others.
pub fn parts(window: &str) -> (usize, Vec<&str>) {
    if Path::new(window).is_file() {
        return (2, Vec::new());
    }
    let parts: Vec<&str> = window.split(',').map(str::trim).collect();
    match &parts[..] {
        [first, rest @ ..] if !first.is_empty() && !is_end(first) => (2, rest.to_vec()),
        ends => (0, ends.to_vec()),
    }
}

/// The midnight before the earliest date that windows give on axis number r, in seconds since 1970; none if they give numbers.
pub fn first_midnight(r: usize, windows: &[String]) -> Option<f64> {
    let ends = |text: &String| {
        let (flat, ends) = parts(text);
        let first = 2 * r.saturating_sub(flat);
        let own = if r < flat { None } else { ends.get(first..(first + 2).min(ends.len())) };
        own.unwrap_or_default().iter().filter_map(|end| seconds(end)).collect::<Vec<f64>>()
    };
    let earliest = windows.iter().flat_map(ends).reduce(f64::min);
    earliest.map(|seconds| (seconds / SECONDS_PER_DAY).floor() * SECONDS_PER_DAY)
}

/// A date in seconds since 1970; nothing if it is a number or no date.
fn seconds(text: &str) -> Option<f64> {
    if text.parse::<f64>().is_ok() { None } else { TimeAxis::epoch(TimeUnit::Seconds).from_iso(text) }
}

/// What lies inside the polygons of a file, and between `ends` on the axes after the second.
fn border(given: Given<'_>, file: &str, ends: &[&str], on: On<'_>) -> Result<Window, InputError> {
    let bytes = border_bytes(given, file)?;
    border_of(given, file, &bytes, ends, on)
}

/// The same with the bytes of the file at hand.
pub fn border_of(given: Given<'_>, file: &str, bytes: &[u8], ends: &[&str], on: On<'_>) -> Result<Window, InputError> {
    let border = read_polygons(source_name(file), bytes).map_err(Message::from)?;
    refuse_other_crs(file, border.crs.as_deref(), on)?;
    within(given, file, border.polygons, ends, on)
}

/// The regions of each feature of a file of borders, with its properties.
pub fn features(given: Given<'_>, axes: &[Axis]) -> Result<Vec<(Feature, Window)>, InputError> {
    let text = given.text;
    let parts: Vec<&str> = text.split(',').map(str::trim).collect();
    let (file, ends) = if Path::new(text).is_file() { (text, &[][..]) } else { (parts[0], &parts[1..]) };
    let bytes = border_bytes(given, file)?;
    let features = read_features(source_name(file), &bytes).map_err(Message::from)?;
    refuse_other_crs(file, named_crs(file, &bytes).map_err(Message::from)?.as_deref(), On::any(axes))?;
    let several = features.len() > 1;
    let window = |(number, feature): (usize, Feature)| {
        let place = if several { format!("{file}, feature {}", number + 1) } else { file.to_string() };
        let window = within(given, &place, feature.polygons.clone(), ends, On::any(axes))?;
        Ok((feature, window))
    };
    features.into_iter().enumerate().map(window).collect()
}

/// Refuses a border that says that it is in another system than the axes. On a plane whose system nobody knows it is taken to be in that.
fn refuse_other_crs(file: &str, crs: Option<&str>, on: On<'_>) -> Result<(), Message> {
    let Some(crs) = crs else { return Ok(()) };
    if let Some(own) = on.axes.iter().find_map(|axis| axis.crs.as_ref()).filter(|own| !same_crs(own, crs)) {
        return Err(message![
            "{file} is in {crs}, and the events are in {own}: convert it, as with ogr2ogr -t_srs {own}"
        ]);
    }
    if on.north_first.is_none() || geojson::is_degrees(crs) {
        return Ok(());
    }
    Err(message![
        "{file} is in {crs}, and the axes are degrees: convert the border to longitude and latitude (EPSG:4326), as with ogr2ogr -t_srs EPSG:4326"
    ])
}

/// What lies inside rings, and between `ends` on the axes after the second.
fn within(
    given: Given<'_>,
    file: &str,
    rings: Vec<Vec<Ring>>,
    ends: &[&str],
    on: On<'_>,
) -> Result<Window, InputError> {
    let [_, _, others @ ..] = on.axes else {
        let name = &on.axes[0].name;
        let why =
            message![": a border stands on two axes, but there is one ({name}); choose two with ", Setting::Columns];
        return Err(message![given.message(), why].into());
    };
    if ends.len() != 2 * others.len() {
        let names: Vec<&str> = others.iter().map(|axis| axis.name.as_str()).collect();
        let form = format!("{file}{}", ",lo,hi".repeat(others.len()));
        let why = match &names[..] {
            [] => format!("has numbers after the border, but there are two axes; write {form}"),
            names => format!("needs lo,hi for {} after the border; write {form}", names.join(" and ")),
        };
        return Err(message![given.message(), " {why}"].into());
    }
    let rings = if on.north_first == Some(true) { turned(rings) } else { rings };
    refuse_no_degrees(file, &rings, on.axes)?;
    if let Some(east) = on.axes[..2].iter().position(is_east) {
        refuse_long_way(file, &rings, east)?;
    }
    let rings = rings_inward(&rings, on.axes);
    let inside = Polygons::new(rings).map(Window::inside).map_err(|error| polygon_fault(file, error, on.axes))?;
    let window = match others {
        [] => inside,
        _ => inside.times(&parse_box(given, ends, on.after(2))?)?,
    };
    Ok(onto_map(window.with_axes(on.axes.to_vec())?).map_err(|why| message!["{file} ", why])?)
}

/// Refuses corners that are not on the globe though the axes are.
fn refuse_no_degrees(file: &str, polygons: &[Vec<Ring>], axes: &[Axis]) -> Result<(), Message> {
    for (polygon, rings) in polygons.iter().enumerate() {
        for (ring, corners) in rings.iter().enumerate() {
            let wrong = |corner: &[f64; 2]| {
                [0, 1].into_iter().find_map(|r| Some((no_degrees(&axes[r], corner[r])?, corner[r])))
            };
            let Some((place, (what, value))) =
                corners.iter().enumerate().find_map(|(place, corner)| Some((place, wrong(corner)?)))
            else {
                continue;
            };
            let (polygon, ring, place, value) = (polygon + 1, ring_name(ring), place + 1, number(value));
            return Err(message![
                "{file}: polygon {polygon}: {ring}, position {place}: {value} is no {what}; give degrees, longitude before latitude"
            ]);
        }
    }
    Ok(())
}

/// Positions with their coordinates exchanged.
fn turned(polygons: Vec<Vec<Ring>>) -> Vec<Vec<Ring>> {
    let turn = |ring: Ring| ring.into_iter().map(|[x, y]| [y, x]).collect();
    polygons.into_iter().map(|rings| rings.into_iter().map(turn).collect()).collect()
}

/// The bytes of a bundled border or of a file.
fn border_bytes(given: Given<'_>, file: &str) -> Result<Cow<'static, [u8]>, InputError> {
    let there = datasets::border_names();
    if let Some(set) = datasets::find(file) {
        let why = || message![given.message(), ": {file} has no bundled border; those that have one: {there}"];
        return Ok(set.border.ok_or_else(why)?.geojson.into());
    }
    let read = Opened::open(file).and_then(|opened| opened.document(geojson::GROWTH));
    read.map(Cow::from).map_err(|error| match error {
        InputError::Missing { .. } if !file.contains(['.', '/', '\\']) => {
            let why = message![": `{file}` is neither a number, a date, a file nor a bundled border ({there})"];
            message![given.message(), why].into()
        }
        error => message![given.message(), ": ", error.message()].into(),
    })
}

/// A polygon that is none, with the words of the file.
fn polygon_fault(file: &str, error: Error, axes: &[Axis]) -> InputError {
    let Error::Polygon { polygon, ring, why, place } = error else { return error.into() };
    let (polygon, ring, why) = (polygon + 1, ring_name(ring), from_one(&why));
    let [x, y] = [0, 1].map(|r| outward(&axes[r], place[r]));
    message!["{file}: polygon {polygon}: {ring} {why} near ({x}, {y}); repair the border and try again"].into()
}

/// The library counts polygons and rings from 0, people from 1.
fn from_one(why: &str) -> String {
    let words: Vec<&str> = why.split(' ').collect();
    let is_counted = |place: usize| place > 0 && matches!(words[place - 1], "polygon" | "ring");
    let counted = |(place, word): (usize, &&str)| match word.parse::<usize>() {
        Ok(number) if is_counted(place) => (number + 1).to_string(),
        _ => word.to_string(),
    };
    words.iter().enumerate().map(counted).collect::<Vec<_>>().join(" ")
}

/// The trials in a table.
pub fn trials(path: &str, on: On<'_>) -> Result<Trials, InputError> {
    let [axis] = on.axes else {
        let names: Vec<&str> = on.axes.iter().map(|axis| axis.name.as_str()).collect();
        let names = names.join(", ");
        return Err(message![
            Setting::Trials.given(path),
            " is for events on one axis, but there are several ({names}); choose one with ",
            Setting::Columns
        ]
        .into());
    };
    Trials::read(source_name(path), &read_table(path)?, axis, on.needs_dates(0))
}

/// How often and how closely a window was looked at.
#[derive(Clone, Copy, Debug)]
pub struct Looks<'a> {
    /// How often.
    pub repeats: usize,
    /// The table of exposures.
    pub exposure: Option<&'a str>,
    /// Units of axes, and of the exposure.
    pub units: &'a [String],
}

/// The window looked at so; what the user should know of the exposure joins the warnings.
pub fn looked_at(
    window: Window,
    looks: Looks<'_>,
    dates_only: &[bool],
    warnings: &mut Vec<Message>,
) -> Result<Window, InputError> {
    let Looks { repeats, exposure, units } = looks;
    if repeats == 0 {
        return Err(message![Setting::Repeats.given(0), " means that nobody looked; give at least 1"].into());
    }
    let window = if repeats > 1 { window.with_repeats(repeats)? } else { window };
    let window = match exposure {
        None => window,
        Some(path) => exposed(window, path, dates_only, warnings)?,
    };
    Ok(with_unit_of_exposure(window, units)?)
}

/// The window with the unit of its exposure named, if one of the units is that: `exposure=person-years`.
pub fn with_unit_of_exposure(window: Window, units: &[String]) -> Result<Window, Message> {
    let Some(unit) = exposure_unit(units, window.axes())? else { return Ok(window) };
    if window.exposure().is_some() {
        return Ok(window.with_exposure_unit(Some(unit)));
    }
    let given = Setting::Unit.given(format!("exposure={unit}"));
    Err(message![given, ": there is no exposure; give one with ", Setting::Exposure, ", or leave its unit out"])
}

/// The window with the exposure in a file.
fn exposed(window: Window, path: &str, dates_only: &[bool], warnings: &mut Vec<Message>) -> Result<Window, InputError> {
    let axes = window.axes().to_vec();
    let (source, bytes) = (source_name(path), read_table(path)?);
    let header = read_header(source, &bytes, &Default::default())?;
    let (there, value) = choose_columns(source, &header, &axes).map_err(Message::from)?;
    let chosen: Vec<&Axis> = there.iter().map(|&r| &axes[r]).collect();
    let own_column = |axis: &&Axis| column_of(&header, axis).unwrap_or(&axis.name).to_string();
    let columns = chosen.iter().map(own_column).chain([value]).collect();
    let time_unit = axes.iter().find_map(time_axis).map(|time| time.unit).unwrap_or_default();
    let dates = Dates { zone: axes.iter().find_map(time_axis).and_then(|time| time.zone), ..Dates::default() };
    let systems = Systems::of(&axes);
    let options = ReadOptions { columns: Some(columns), time_unit, dates, systems, ..ReadOptions::default() };
    let mut table = read_bytes(source, &bytes, &options)?;
    for (column, &r) in there.iter().enumerate() {
        onto_axis(&mut table, column, &axes[r], dates_only[r])?;
    }
    let said = exposure_table(&table, &chosen).map_err(Message::from)?;
    with_exposure(window, path, there, said, warnings)
}

/// The window with an exposure along these of its axes; `name` stands for it in messages.
pub fn with_exposure(
    window: Window,
    name: &str,
    there: Vec<usize>,
    exposure: ExposureTable,
    warnings: &mut Vec<Message>,
) -> Result<Window, InputError> {
    let (source, dims) = (source_name(name), window.dims());
    let exposure = match exposure {
        ExposureTable::Grid { lines, values } => {
            check_covers(source, &window, &there, &lines)?;
            Exposure::grid(there, lines, values)
        }
        ExposureTable::Weights { rows, weights } => {
            let lost: f64 = rows
                .chunks(dims)
                .zip(&weights)
                .filter(|(place, _)| !window.contains(place))
                .map(|(_, weight)| weight)
                .sum();
            let share = lost / weights.iter().sum::<f64>();
            let spread = Points::new(dims, rows).and_then(|places| Exposure::spread(&window, &places, &weights));
            spread.map(|Spread { exposure, left_out }| {
                warnings.extend(outside_words(source, (left_out, weights.len()), share));
                exposure
            })
        }
    };
    let exposed = exposure.and_then(|exposure| window.with_exposure(exposure));
    exposed.map_err(|error| {
        let why = match error {
            Error::Setting { requirement, .. } => requirement,
            error => error.to_string(),
        };
        message![Setting::Exposure.given(name), ": {why}"].into()
    })
}

/// What to say of weights outside the window.
fn outside_words(source: &str, (outside, all): (usize, usize), share: f64) -> Option<Message> {
    let lie = if outside == 1 { "lies outside the window and does" } else { "lie outside the window and do" };
    let percent = format!("{:.1}", 100.0 * share);
    (outside > 0).then(|| message!["{outside} of {all} weights in {source} {lie} not count: {percent} % of their sum"])
}

/// Refuses a grid that leaves a part of the window out.
fn check_covers(source: &str, window: &Window, there: &[usize], lines: &[Vec<f64>]) -> Result<(), Message> {
    let spans = window.bounding_box();
    for (&r, line) in there.iter().zip(lines) {
        let (axis, span) = (&window.axes()[r], spans[r]);
        // As much as a number may lose in the writing.
        let slack = 1e-9 * span.length();
        let (lo, hi) = (line[0], line[line.len() - 1]);
        if lo > span.lo + slack || hi < span.hi - slack {
            let shown = |lo, hi| format!("{} to {}", place(axis, lo), place(axis, hi));
            let (name, found, needed) = (&axis.name, shown(lo, hi), shown(span.lo, span.hi));
            return Err(message![
                "{source} covers `{name}` from {found}, but the window needs {needed}; extend the grid or give a smaller window"
            ]);
        }
    }
    Ok(())
}

/// What may be the matter when most events lie outside the window.
pub fn doubt(points: &Points, window: &Window) -> Option<Message> {
    let axes = window.axes();
    let share = |inside: &dyn Fn(&[f64]) -> bool| {
        points.rows().filter(|row| inside(row)).count() as f64 / points.len().max(1) as f64
    };
    if axes.len() < 2 || share(&|row| window.contains(row)) > MOST {
        return None;
    }
    let swapped = |row: &[f64]| {
        let row = row_outward(row, axes);
        row_inward(&[&[row[1], row[0]], &row[2..]].concat(), axes)
    };
    if share(&|row| window.contains(&swapped(row))) > MOST {
        let names: Vec<&str> = axes.iter().map(|axis| axis.name.as_str()).collect();
        if axes[0].globe.is_some() && axes[1].globe.is_some() {
            // Their order means nothing here, but their names do.
            let (one, other) = (names[0], names[1]);
            return Some(message![
                "`{one}` and `{other}` seem to be swapped: exchange the names of the columns, or the ends of the window"
            ]);
        }
        let order = [&[names[1], names[0]], &names[2..]].concat().join(",");
        return Some(message!["the first two columns seem to be swapped: try ", Setting::Columns.given(order)]);
    }
    let largest = |values: &mut dyn Iterator<Item = f64>| values.fold(0.0, |most: f64, x| most.max(x.abs()));
    let of_events = |r: usize| largest(&mut points.rows().map(|row| outward(&axes[r], row[r])));
    let of_window = |r: usize| {
        let span = window.bounding_box()[r];
        largest(&mut [span.lo, span.hi].into_iter().map(|end| outward(&axes[r], end)))
    };
    let are_degrees = |of: &dyn Fn(usize) -> f64| of(0) <= 180.0 && of(1) <= 90.0;
    let are_metres = |of: &dyn Fn(usize) -> f64| of(0).max(of(1)) > CLEARLY_METRES;
    let differ = |these: &str, those: &str| {
        message!["the window seems to be in {these} and the events in {those}: bring both into the same projection"]
    };
    if are_degrees(&of_window) && are_metres(&of_events) {
        return Some(differ("degrees", "metres"));
    }
    (are_metres(&of_window) && are_degrees(&of_events)).then(|| differ("metres", "degrees"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plane(spans: [(f64, f64); 2]) -> Window {
        let axes = ["lon", "lat"].map(|name| Axis { name: name.into(), ..Axis::default() });
        Window::new(&spans).unwrap().with_axes(axes.to_vec()).unwrap()
    }

    #[test]
    fn units_and_swaps_are_suspected() {
        let window = plane([(30.0, 40.0), (-5.0, 5.0)]);
        let doubt =
            |rows: &[[f64; 2]]| doubt(&Points::from_rows(rows).unwrap(), &window).map(|doubt| doubt.to_string());
        assert_eq!(doubt(&[[35.0, 0.0], [36.0, 1.0], [1.0, 36.0]]), None);
        assert!(doubt(&[[0.0, 35.0], [1.0, 36.0]]).unwrap().contains("`columns = lat,lon`"));
        assert!(doubt(&[[3.5e6, 1e4], [3.6e6, -1e4]]).unwrap().contains("degrees and the events in metres"));
        assert_eq!(doubt(&[[80.0, 35.0], [81.0, 36.0]]), None);
        let metres = plane([(3e6, 4e6), (-5e5, 5e5)]);
        let points = Points::from_rows(&[[35.0, 1.0]]).unwrap();
        assert!(super::doubt(&points, &metres).unwrap().to_string().contains("metres and the events in degrees"));
        assert_eq!(super::doubt(&Points::line(&[5.0]).unwrap(), &Window::interval(0.0, 1.0).unwrap()), None);
    }

    #[test]
    fn rings_are_counted_from_one() {
        assert_eq!(from_one("crosses ring 0 of polygon 2"), "crosses ring 1 of polygon 3");
        assert_eq!(from_one("has fewer than 3 distinct points"), "has fewer than 3 distinct points");
    }

    #[test]
    fn bundled_borders_stand_for_windows() {
        let axes = plane([(0.0, 1.0), (0.0, 1.0)]).axes().to_vec();
        let region = |text: &str| region(Given { setting: Setting::Window, text }, On::any(&axes));
        let refused = |text: &str| region(text).unwrap_err().to_string();
        assert!(refused("coal").contains("no bundled border") && refused("coal").contains("kenya"));
        assert!(refused("kenia").contains("neither a number"));
        assert!(refused("./missing.geojson").contains("does not exist"));
        assert!(refused("kenya,0,5").contains("two axes"));
        let kenya = region("kenya").unwrap();
        assert!(kenya.contains(&[36.8, -1.3]) && !kenya.contains(&[34.0, 4.9]), "Nairobi, and a corner of the box");
    }
}
