//! Covariates in: tables of coordinates with values, as a grid, and GeoTIFFs. Every column that is not called as an axis is a covariate of that name: a
//! number if its values are numbers, a category if they are texts. So is every band of a GeoTIFF.
//!
//! Values are those of cells about the places of the grid, which end half way between them. Rows may come in any order, and cells may be missing
//! where the window does not need them. Of a GeoTIFF only those cells are read that the window needs.

use super::columns::number;
use super::fit_summary::brief;
use super::geography::{directions, inward, is_on_globe, northing_of_centre};
use super::geojson_points::Systems;
use super::geotiff::map_of;
use super::geotiff_in::{GeoTiff, Ground, is_geotiff};
use super::input_error::InputError;
use super::message::{Message, Setting};
use super::spec::repeated;
use super::table::{Dates, ReadOptions, Table, read_bytes, read_header, read_table, source_name};
use super::window::{column_of, onto_axis, place, show_point, time_axis};
use super::{RowSettings, TypeLabels, header_of};
use crate::message;
use pointillist::settings::CovariateKind;
use pointillist::state::EffectState;
use pointillist::{Axis, Covariate, Error, Events, Points, Posterior, Window};
use std::collections::HashMap;
use std::ops::Range;

/// A grid may have this many times the cells that were given before it is taken for none at all.
const HARDLY_A_GRID: usize = 4;
/// Most levels of a category: each but one has an effect of its own.
const MOST_LEVELS: usize = 30;

/// Most cells of a GeoTIFF that are read: more than can be used, which the library says better.
const MOST_CELLS: usize = 4_000_000;

/// A table of covariates.
#[derive(Clone, Debug, PartialEq)]
pub enum CovariateSource {
    /// The path of a table or of a GeoTIFF.
    Path(String),
    /// The text of a table that is in memory.
    Text {
        /// What to call it.
        name: String,
        /// What it says.
        bytes: Vec<u8>,
    },
}

/// What is said of covariates.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CovariateSettings {
    /// Where they are.
    pub sources: Vec<CovariateSource>,
    /// The number of the events' reference system in the register of EPSG, if it is known.
    pub epsg: Option<u16>,
    /// Those whose numbers are names of levels.
    pub categorical: Vec<String>,
    /// Those whose effect is a curve.
    pub spline: Vec<String>,
}

impl CovariateSettings {
    /// Whether nothing is said.
    pub fn is_empty(&self) -> bool {
        self.sources.is_empty() && self.categorical.is_empty() && self.spline.is_empty()
    }

    /// Refuses what is said of a covariate that is not there, or that cannot be meant.
    fn check(&self, all: &[Covariate]) -> Result<(), Message> {
        let named =
            |setting: Setting, names: &[String]| names.iter().map(|name| (setting, name.clone())).collect::<Vec<_>>();
        for (setting, name) in
            [named(Setting::Categorical, &self.categorical), named(Setting::Spline, &self.spline)].concat()
        {
            let there = all.iter().map(Covariate::name).collect::<Vec<_>>().join(", ");
            match all.iter().find(|covariate| covariate.name() == name) {
                None if self.sources.is_empty() => {
                    return Err(message![
                        setting.given(name),
                        " is about a covariate, and there is none; add ",
                        Setting::Covariate
                    ]);
                }
                None => return Err(message![setting.given(name), ": there is no such covariate, only {there}"]),
                Some(one) if setting == Setting::Spline && *one.kind() != CovariateKind::Spline => {
                    return Err(message![
                        setting.given(name),
                        ": its values are levels, which have no curve; leave it out"
                    ]);
                }
                Some(_) => {}
            }
        }
        Ok(())
    }
}

/// The covariates that are meant, for events.
pub fn read_covariates(settings: &CovariateSettings, events: &Events) -> Result<Vec<Covariate>, InputError> {
    let mut all: Vec<Covariate> = Vec::new();
    for source in &settings.sources {
        all.extend(match source {
            CovariateSource::Path(path) if is_geotiff(path) => of_geotiff(path, settings, events)?,
            CovariateSource::Path(path) => of_table(source_name(path), &read_table(path)?, settings, events)?,
            CovariateSource::Text { name, bytes } => of_table(name, bytes, settings, events)?,
        });
    }
    if let Some(name) = repeated(&all.iter().map(Covariate::name).collect::<Vec<_>>()) {
        return Err(message![
            Setting::Covariate,
            ": `{name}` is there twice; give it once, or call one of them otherwise"
        ]
        .into());
    }
    settings.check(&all)?;
    Ok(all)
}

/// The names of covariates of which the table of events has a column of its own. That is not used: the integral over the window is of the raster, and values
/// from another source at the events would make the effect that of their difference too (docs/covariates.md).
pub fn columns_beside<'a>(
    (source, bytes): (&str, &[u8]),
    rows: &RowSettings,
    all: &'a [Covariate],
) -> Result<Vec<&'a Covariate>, InputError> {
    let header = header_of(source, bytes, rows)?;
    Ok(all.iter().filter(|covariate| header.iter().any(|(column, _)| column == covariate.name())).collect())
}

/// A sentence on a column that is not used, and on how it agrees with the raster at the events; `column`: where these are and what it says, if it could be read.
pub fn not_used(source: &str, covariate: &Covariate, column: Option<(&Points, &TypeLabels)>) -> String {
    let (source, name) = (source_name(source), covariate.name());
    let agreement = column.map_or_else(
        || "how the two agree is not known, because values of it are missing".to_string(),
        |(places, labels)| agreement(covariate, places, labels),
    );
    format!(
        "{source} has a column `{name}` too, which is not used: an event has the value of its cell in the raster, as the integral over the window has; {agreement}"
    )
}

/// How a column agrees with the raster at the events.
fn agreement(covariate: &Covariate, places: &Points, labels: &TypeLabels) -> String {
    let texts = labels.kinds.iter().map(|kind| labels.names[*kind].trim());
    let pairs: Vec<(f64, &str)> = places.rows().map(|row| covariate.at(row)).zip(texts).collect();
    match covariate.kind() {
        CovariateKind::Categorical { levels } => {
            let is_same = |(value, text): &&(f64, &str)| levels.get(*value as usize).is_some_and(|level| level == text);
            let same = pairs.iter().filter(is_same).count();
            let doubt = if 10 * same < 9 * pairs.len() { DOUBT } else { "" };
            format!("the two agree at {same} of {} events{doubt}", pairs.len())
        }
        CovariateKind::Linear | CovariateKind::Spline => {
            let of_both =
                |(value, text): &(f64, &str)| Some((*value, text.parse::<f64>().ok().filter(|x| x.is_finite())?));
            numbers_agree(&pairs.iter().filter_map(of_both).collect::<Vec<_>>(), pairs.len())
        }
    }
}

/// What may be wrong where column and raster differ much.
const DOUBT: &str = ", so little that one of them may be of other places, of another time or in another unit";
/// Below this correlation, or above this part of a standard deviation between the means, two columns of numbers differ much.
const AGREE: (f64, f64) = (0.9, 0.5);

/// How numbers of a raster and of a column agree, of which some may be missing.
fn numbers_agree(pairs: &[(f64, f64)], events: usize) -> String {
    let count = pairs.len() as f64;
    let missing = if pairs.len() < events {
        format!(" ({} of the column are no numbers)", events - pairs.len())
    } else {
        String::new()
    };
    let mean = |of: &dyn Fn(&(f64, f64)) -> f64| pairs.iter().map(of).sum::<f64>() / count;
    let (raster, column) = (mean(&|pair| pair.0), mean(&|pair| pair.1));
    let product = |a: &dyn Fn(&(f64, f64)) -> f64, b: &dyn Fn(&(f64, f64)) -> f64| mean(&|pair| a(pair) * b(pair));
    let (off_raster, off_column) = (|pair: &(f64, f64)| pair.0 - raster, |pair: &(f64, f64)| pair.1 - column);
    let (v, w) = (product(&off_raster, &off_raster), product(&off_column, &off_column));
    let correlation = product(&off_raster, &off_column) / (v * w).sqrt();
    let difference = column - raster;
    if !(correlation.is_finite() && difference.is_finite()) {
        return format!("how the two agree at the events cannot be told{missing}");
    }
    let doubt = if correlation < AGREE.0 || difference.abs() > AGREE.1 * v.sqrt() { DOUBT } else { "" };
    format!(
        "at the events the two correlate by {correlation:.2}, and the column is higher by {} on average{missing}{doubt}",
        brief(difference)
    )
}

/// What becomes of a column or a band.
fn kind(name: &str, is_number: bool, settings: &CovariateSettings) -> Kind {
    let is_in = |names: &[String]| names.iter().any(|known| known == name);
    match () {
        () if !is_number || is_in(&settings.categorical) => Kind::Levels,
        () if is_in(&settings.spline) => Kind::Curve,
        () => Kind::Line,
    }
}

fn of_table(
    source: &str,
    bytes: &[u8],
    settings: &CovariateSettings,
    events: &Events,
) -> Result<Vec<Covariate>, InputError> {
    let axes = events.window().axes();
    let header = read_header(source, bytes, &Default::default())?;
    let columns: Vec<Option<&str>> = axes.iter().map(|axis| column_of(&header, axis)).collect();
    let there: Vec<usize> = (0..axes.len()).filter(|&r| columns[r].is_some()).collect();
    let found = header.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ");
    if there.is_empty() {
        let names = axes.iter().map(|axis| axis.name.as_str()).collect::<Vec<_>>().join(", ");
        return Err(message![
            "{source} has no column called as an axis of the events ({names}), only {found}; give it a header with such a name"
        ]
        .into());
    }
    let own: Vec<String> = there.iter().filter_map(|&r| columns[r].map(String::from)).collect();
    let is_place = |name: &str| {
        own.iter().any(|column| column == name) || axes.iter().any(|axis| axis.name.eq_ignore_ascii_case(name))
    };
    let values: Vec<&(String, bool)> = header.iter().filter(|(name, _)| !is_place(name)).collect();
    if values.is_empty() {
        return Err(message!["{source} has no column of values beside {found}; add one with the covariate"].into());
    }
    let mut covariates = Vec::new();
    for (name, is_number) in values {
        let last = is_number.then(|| name.clone());
        let label = (!is_number).then(|| name.clone());
        let time_unit = axes.iter().find_map(time_axis).map(|time| time.unit).unwrap_or_default();
        let dates = Dates { zone: axes.iter().find_map(time_axis).and_then(|time| time.zone), ..Dates::default() };
        let columns = Some(own.iter().cloned().chain(last).collect());
        let systems = Systems::of(axes);
        let options = ReadOptions { columns, label, time_unit, dates, systems, ..ReadOptions::default() };
        let mut table = read_bytes(source, bytes, &options)?;
        for (column, &r) in there.iter().enumerate() {
            onto_axis(&mut table, column, &axes[r], time_axis(&axes[r]).is_some())?;
        }
        let raster = Raster::of(&table, &there, axes)?;
        check_covers(&raster.axes, &raster.lines, source, events)?;
        covariates.push(raster.covariate(source, name, kind(name, *is_number, settings))?);
    }
    Ok(covariates)
}

/// The bands of a GeoTIFF, on the axes that go east and north.
fn of_geotiff(path: &str, settings: &CovariateSettings, events: &Events) -> Result<Vec<Covariate>, InputError> {
    let (source, window) = (source_name(path), events.window());
    let mut file = GeoTiff::open(path, source)?;
    if window.dims() < 2 {
        return Err(message!["{source} is a map, and the events have one axis; give the covariate as a table"].into());
    }
    let [east, north] = directions(window.axes());
    let [x, y] = on_axes(&file, source, settings, window)?;
    // In the order of the axes.
    let is_east_first = east < north;
    let axes = sorted(is_east_first, east, north);
    check_covers(&axes, &sorted(is_east_first, x.clone(), y.clone()), source, events)?;
    let (columns, rows) = (needed(&x, window, east), needed(&y, window, north));
    let cells = columns.len() * rows.len();
    if cells > MOST_CELLS {
        let remedy = format!("gdalwarp -tr EAST NORTH -r average {source} coarser.tif");
        return Err(message![
            "{source} has {cells} cells in the window, more than can be used; give means over larger cells, as `{remedy}` does"
        ]
        .into());
    }
    let lines = sorted(is_east_first, x[columns.start..=columns.end].to_vec(), y[rows.start..=rows.end].to_vec());
    let (width, height) = (columns.len(), rows.len());
    let names = file.names();
    let bands = file.read(columns, rows)?;
    let mut covariates = Vec::new();
    for (name, band) in names.iter().zip(bands) {
        let value = |i: usize| Some(band[i]).filter(|value| value.is_finite()).map(Value::Number);
        let cells = match is_east_first {
            true => (0..width).flat_map(|i| (0..height).map(move |j| j * width + i)).map(value).collect(),
            false => (0..cells).map(value).collect(),
        };
        let raster = Raster { axes: axes.clone(), lines: lines.clone(), cells };
        covariates.push(raster.covariate(source, name, kind(name, true, settings))?);
    }
    Ok(covariates)
}

fn sorted<T>(is_first: bool, one: T, other: T) -> Vec<T> {
    if is_first { vec![one, other] } else { vec![other, one] }
}

/// Where the cells of a GeoTIFF begin and end on the axes of a window, going east and north; what is in other coordinates is refused.
fn on_axes(
    file: &GeoTiff,
    source: &str,
    settings: &CovariateSettings,
    window: &Window,
) -> Result<[Vec<f64>; 2], Message> {
    let (axes, own) = (window.axes(), [file.lines_east(), file.lines_north()]);
    let elsewhere = |there: String, here: String, system: String| {
        message![
            "{source} is in {there}, and the events are in {here}; bring it there, as `gdalwarp -t_srs {system} {source} other.tif` does"
        ]
    };
    let [east, north] = directions(axes).map(|r| &axes[r]);
    let Some(globe) = north.globe.filter(|_| is_on_globe(axes)) else {
        let of_axes = axes.iter().find_map(|axis| map_of(axis.crs.as_ref()?).ok());
        return match (file.ground, of_axes.or(settings.epsg)) {
            (Ground::Map(Some(code)), Some(known)) if code != known => {
                Err(elsewhere(format!("EPSG:{code}"), format!("EPSG:{known}"), format!("EPSG:{known}")))
            }
            (Ground::Degrees | Ground::EqualArea { .. }, Some(known)) if of_axes.is_some() => Err(elsewhere(
                "degrees, or on the map of a window".into(),
                format!("EPSG:{known}"),
                format!("EPSG:{known}"),
            )),
            _ => Ok(own),
        };
    };
    let degrees = |there: String| elsewhere(there, "degrees".into(), "EPSG:4326".into());
    match file.ground {
        Ground::Map(Some(code)) => Err(degrees(format!("the map EPSG:{code}"))),
        Ground::Map(None) => Err(degrees("a map".into())),
        Ground::EqualArea { parallel, meridian, northing } => {
            let near = |one: f64, other: f64| (one - other).abs() < 1e-6;
            let is_own = near(parallel, globe.parallel)
                && near(meridian, globe.centre[0])
                && near(northing, -northing_of_centre(&globe));
            if is_own { Ok(own) } else { Err(degrees("km on the map of another window".into())) }
        }
        Ground::Degrees | Ground::Unknown => {
            let [x, y] = own;
            // A raster from -180 to 180 may be that of a window from 170 to 190: the turn that brings it nearest to the middle.
            let middle = 0.5 * (x[0] + x[x.len() - 1]);
            let turn = 360.0 * ((globe.centre[0] - middle) / 360.0).round();
            Ok([
                x.iter().map(|degrees| inward(east, degrees + turn)).collect(),
                y.iter().map(|degrees| inward(north, *degrees)).collect(),
            ])
        }
    }
}

/// The cells between lines that a window reaches into.
fn needed(lines: &[f64], window: &Window, axis: usize) -> Range<usize> {
    let span = window.bounding_box()[axis];
    let first = lines.partition_point(|line| *line <= span.lo).saturating_sub(1);
    let last = lines.partition_point(|line| *line < span.hi).min(lines.len() - 1);
    first..last.max(first + 1)
}

/// Rows on a grid.
struct Raster {
    /// The axes that it has.
    axes: Vec<usize>,
    /// Where its cells begin and end.
    lines: Vec<Vec<f64>>,
    /// What each cell has: a number, or a text; nothing if it was not given.
    cells: Vec<Option<Value>>,
}

/// What becomes of a column.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Line,
    Curve,
    Levels,
}

#[derive(Clone)]
enum Value {
    Number(f64),
    Text(String),
}

impl Raster {
    fn of(table: &Table, there: &[usize], axes: &[Axis]) -> Result<Self, Message> {
        let (file, dims) = (&table.source, there.len());
        let rows = || table.rows.chunks_exact(table.dims);
        let distinct = |r: usize| {
            let mut places: Vec<f64> = rows().map(|row| row[r] + 0.0).collect();
            places.sort_by(f64::total_cmp);
            places.dedup();
            places
        };
        let places: Vec<Vec<f64>> = (0..dims).map(distinct).collect();
        if let Some(r) = places.iter().position(|line| line.len() < 2) {
            let name = &axes[there[r]].name;
            return Err(message![
                "{file}: the grid has one place on `{name}`; give two or more, or leave that column out"
            ]);
        }
        let given = table.lines.len();
        let cells = places.iter().try_fold(1usize, |cells, line| cells.checked_mul(line.len()));
        let Some(cells) = cells.filter(|&cells| cells / HARDLY_A_GRID <= given) else {
            let sizes = places.iter().map(|line| line.len().to_string()).collect::<Vec<_>>().join(" × ");
            return Err(message![
                "{file} is not a grid: {given} rows, but {sizes} places; give values on a regular raster"
            ]);
        };
        let index: Vec<HashMap<u64, usize>> = places
            .iter()
            .map(|line| line.iter().enumerate().map(|(i, x)| ((x + 0.0).to_bits(), i)).collect())
            .collect();
        let (mut all, mut seen) = (vec![None; cells], vec![0u64; cells]);
        for (n, (row, &line)) in rows().zip(&table.lines).enumerate() {
            let cell = (0..dims).fold(0, |cell, r| cell * places[r].len() + index[r][&(row[r] + 0.0).to_bits()]);
            if seen[cell] > 0 {
                let (first, at) = (seen[cell], show_point(&row[..dims], there.iter().map(|&r| &axes[r])));
                return Err(message![
                    "{file}, line {line}: {at} was given on line {first} already; keep one of the two"
                ]);
            }
            seen[cell] = line;
            all[cell] = Some(match row.get(dims) {
                Some(value) => Value::Number(*value),
                None => Value::Text(table.labels[n].trim().to_string()),
            });
        }
        let lines = places.iter().map(|line| Covariate::lines_about(line)).collect();
        Ok(Self { axes: there.to_vec(), lines, cells: all })
    }

    fn covariate(self, source: &str, name: &str, kind: Kind) -> Result<Covariate, InputError> {
        let made = match kind {
            Kind::Line | Kind::Curve => {
                let value = |cell: &Option<Value>| match cell {
                    Some(Value::Number(value)) => *value,
                    _ => f64::NAN,
                };
                let make = if kind == Kind::Curve { Covariate::spline } else { Covariate::linear };
                make(name, self.axes, self.lines, self.cells.iter().map(value).collect())
            }
            Kind::Levels => {
                let text = |cell: &Option<Value>| match cell {
                    Some(Value::Number(value)) => Some(number(*value)),
                    Some(Value::Text(text)) if !text.is_empty() => Some(text.clone()),
                    _ => None,
                };
                let texts: Vec<Option<String>> = self.cells.iter().map(text).collect();
                let mut levels: Vec<String> = texts.iter().flatten().cloned().collect();
                levels.sort();
                levels.dedup();
                let count = levels.len();
                if count > MOST_LEVELS {
                    return Err(message![
                        "{source}: `{name}` has {count} levels, and each would have an effect of its own; join them into at most {MOST_LEVELS}"
                    ]
                    .into());
                }
                let values: Vec<Option<usize>> =
                    texts.iter().map(|text| levels.binary_search(text.as_ref()?).ok()).collect();
                Covariate::categorical(name, self.axes, self.lines, levels, &values)
            }
        };
        made.map_err(|error| message!["{source}: {error}"].into())
    }
}

/// Refuses a raster that leaves a part of the window out, and says how many events lie beyond it.
fn check_covers(axes: &[usize], lines: &[Vec<f64>], source: &str, events: &Events) -> Result<(), Message> {
    let (window, spans) = (events.window(), events.window().bounding_box());
    for (&r, line) in axes.iter().zip(lines) {
        let (axis, span) = (&window.axes()[r], spans[r]);
        // As much as a number may lose in the writing.
        let slack = 1e-9 * span.length();
        let (lo, hi) = (line[0], line[line.len() - 1]);
        if lo <= span.lo + slack && hi >= span.hi - slack {
            continue;
        }
        let total = events.len();
        let outside = events.points().axis(r).iter().filter(|x| **x < lo - slack || **x > hi + slack).count();
        let shown = |lo, hi| format!("{} to {}", place(axis, lo), place(axis, hi));
        let (name, found, needed) = (&axis.name, shown(lo, hi), shown(span.lo, span.hi));
        let remedy = match hi < span.lo || lo > span.hi {
            true => "are both in the same coordinates? Give it in those of the events",
            false => "extend the raster or give a smaller window",
        };
        return Err(message![
            "{source} covers `{name}` from {found}, but the window needs {needed}, and {outside} of {total} events lie outside; {remedy}"
        ]);
    }
    Ok(())
}

/// The sentence of an error about a covariate, if it is one.
pub fn fault(error: &Error) -> Option<Message> {
    let Error::Setting { name, value, requirement } = error else { return None };
    (name == "covariate").then(|| message![Setting::Covariate, ": {value} {requirement}"])
}

/// A sentence on numbers that covariates are held at and that they have nowhere near the window.
pub fn beyond(posterior: &Posterior) -> Option<String> {
    let of_one = |state: EffectState| {
        let held = state.held.filter(|_| !matches!(state.covariate.kind(), CovariateKind::Categorical { .. }))?;
        let (low, high) = state.covariate.reach();
        (held < low || held > high).then(|| {
            let name = state.covariate.name();
            format!("{name}={held} lies beyond what `{name}` was seen at, {low} to {high}: what the model says there is its effect drawn on, not what was seen")
        })
    };
    let all: Vec<String> = posterior.state().covariates.into_iter().filter_map(of_one).collect();
    (!all.is_empty()).then(|| all.join("; "))
}

/// The posterior with covariates held at values, as in `elevation=200` or `cover=wood`.
pub fn set(posterior: &Posterior, texts: &[String]) -> Result<Posterior, InputError> {
    if texts.is_empty() {
        return Ok(posterior.clone());
    }
    let names = posterior.covariates();
    let mut values: Vec<(String, f64)> = Vec::new();
    for text in texts {
        let given = || Setting::Set.given(text);
        let Some((name, value)) = text.split_once('=').map(|(name, value)| (name.trim(), value.trim())) else {
            return Err(message![
                given(),
                " is not understood; write NAME=VALUE, as in ",
                Setting::Set.given("elevation=200")
            ]
            .into());
        };
        if names.is_empty() {
            return Err(message![given(), ": the model has no covariates; leave it out"].into());
        }
        if !names.iter().any(|known| known == name) {
            let there = names.join(", ");
            return Err(message![given(), ": there is no covariate `{name}` in the model, only {there}"].into());
        }
        if values.iter().any(|(known, _)| known == name) {
            return Err(message![Setting::Set, ": {name} is given twice; give it once"].into());
        }
        let states = posterior.state().covariates;
        let state = states.iter().find(|state| state.covariate.name() == name);
        let found = match state.map(|state| state.covariate.kind()) {
            Some(CovariateKind::Categorical { levels }) => posterior.level(name, value).ok_or_else(|| {
                let own = state.map_or(&[][..], |state| &state.levels).iter().map(|level| levels[*level].as_str());
                let there = own.collect::<Vec<_>>().join(", ");
                message![given(), ": `{name}` has no level `{value}` in the window; there are {there}"]
            })?,
            _ => match value.parse::<f64>() {
                Ok(number) if number.is_finite() => number,
                _ => return Err(message![given(), ": {value} is not a number; `{name}` is one"].into()),
            },
        };
        values.push((name.to_string(), found));
    }
    Ok(posterior.with_covariates(&values)?)
}
