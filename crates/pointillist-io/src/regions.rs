//! The regions that counts are asked for: boxes, the features of a file of borders, the rows of a table, equal bins.

use super::datasets;
use super::events::bytes_of;
use super::fit_summary::brief;
use super::geography::onto_map;
use super::geojson::{Feature, Ring};
use super::input_error::InputError;
use super::message::{Message, Setting};
use super::model_file::ModelFile;
use super::observed;
use super::spec::measure_name;
use super::table::{Dates, ReadOptions, read_bytes, read_header, source_name};
use super::time::{TimeAxis, TimeUnit};
use super::window::{Given, On, is_end, onto_axis, place, show_box, show_window, time_axis};
use super::zone::{self, on_clocks, refuse_halves};
use crate::message;
use pointillist::window::{Exposure, Span};
use pointillist::{Axis, Posterior, Window};
use serde_json::Value;
use std::path::Path;

/// Most bins.
const MOST_BINS: f64 = 100_000.0;
/// How the names of tables end.
const TABLES: [&str; 6] = [".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".parquet"];
/// What the ends of a row may be called on one axis.
const ENDS: [[&str; 2]; 2] = [["start", "end"], ["lo", "hi"]];
/// What a length may call months, and the seconds of the shortest.
const MONTHS: [&str; 3] = ["mo", "month", "months"];
const SHORTEST_MONTH: f64 = 28.0 * 86_400.0;
/// The column, or the property, that names a region.
const NAME: &str = "name";

/// A region, and what is known of it.
#[derive(Clone, Debug)]
pub struct Region {
    /// What to call it.
    pub name: String,
    /// Whether that says more than its place.
    pub is_named: bool,
    /// What its file says of it.
    pub properties: Vec<(String, Value)>,
    /// What is asked for.
    pub window: Window,
    /// The part of it that is counted.
    pub counted: Window,
    /// The polygons of its file, as they stand there; none for what has none.
    pub polygons: Vec<Vec<Ring>>,
}

impl Region {
    /// One that is known by its place alone.
    pub fn plain(name: String, window: Window) -> Self {
        let (properties, polygons) = (Vec::new(), Vec::new());
        Self { name, is_named: false, properties, counted: window.clone(), window, polygons }
    }
}

/// Regions that were asked for together.
#[derive(Clone, Debug)]
pub struct RegionGroup {
    /// By what: a value of the setting, or the window itself.
    pub asked_by: Message,
    /// They.
    pub regions: Vec<Region>,
}

/// The regions of each text, which is a box, a file of borders or a table; without any the whole window. Cut into bins of a length, if that is
/// given: `7d`.
pub fn regions(texts: &[String], every: Option<&str>, whole: &Window) -> Result<Vec<RegionGroup>, InputError> {
    let axes = whole.axes();
    let mut groups = Vec::new();
    for text in texts {
        let given = Given { setting: Setting::Regions, text };
        groups.push(RegionGroup { asked_by: given.message(), regions: of_text(given, axes)? });
    }
    if groups.is_empty() {
        // A box around a window that was looked at several times counts it once.
        let window = if is_repeated(whole) { box_around(whole)? } else { whole.clone().looked_at_once() };
        let region = Region::plain(show_window(whole), window);
        groups.push(RegionGroup { asked_by: "the window".into(), regions: vec![region] });
    }
    if let Some(length) = every {
        let cut = Cut::parse(length, axes)?;
        for group in &mut groups {
            let bins =
                group.regions.iter().map(|region| bins(region, length, &cut, axes)).collect::<Result<Vec<_>, _>>()?;
            group.regions = bins.into_iter().flatten().collect();
        }
    }
    for region in groups.iter_mut().flat_map(|group| &mut group.regions) {
        // One that clocks never show stays, to be named where it is left out.
        if let Some(window) = on_clocks(region.window.clone())? {
            region.window = window;
        }
        region.counted = region.window.clone();
    }
    Ok(groups)
}

/// Says how closely what lies beyond a window with an exposure is looked at.
pub fn expose_beyond(groups: &mut [RegionGroup], exposure: f64, posterior: &Posterior) -> Result<(), InputError> {
    let given = || Setting::ExposureBeyond.given(exposure);
    let window = posterior.window();
    if window.exposure().is_none() || window.dims() != 1 {
        return Err(message![given(), " is for a model on a line that has an exposure; leave it out"].into());
    }
    if !(exposure.is_finite() && exposure > 0.0) {
        return Err(message![given(), ": an exposure is a positive number; 1 is what rates are for"].into());
    }
    let end = window.bounding_box()[0].hi;
    let mut is_used = false;
    for region in groups.iter_mut().flat_map(|group| &mut group.regions) {
        let span = region.window.bounding_box()[0];
        if posterior.is_beyond(&region.window) {
            let even = Exposure::cells(vec![0], vec![vec![span.lo, span.hi]], vec![exposure])?;
            region.window = region.window.clone().with_exposure(even)?;
            is_used = true;
        } else if span.hi > end {
            let (name, end) = (&region.name, place(&window.axes()[0], end));
            let why = format!(
                ": {name} is partly inside the window and ends beyond it; ask for its parts before and after {end}"
            );
            return Err(message![given(), why].into());
        }
    }
    match is_used {
        true => Ok(()),
        false => Err(message![given(), ": no region lies beyond the window; leave it out"].into()),
    }
}

/// A part outside the window so small may be the rounding of a border.
const NOT_WORTH_A_WORD: f64 = 1e-6;
/// What becomes of what lies beyond the window.
const FORECAST: &str = "where the count is a forecast: its quantiles say more than its mean";
/// What becomes of gaps between the pieces of a window.
const GAP: &str = "in a gap: no events were observed there, and the count is what the model expects";
const NOT_COUNTED: &str = "and not counted";
/// So many regions are warned of one by one.
const FEW: usize = 3;

/// Each region of a group as it is counted, with what there is to say. What lies outside the window is said, and what cannot be counted at
/// all is left out, unless that is everything.
pub fn counted(group: RegionGroup, posterior: &Posterior) -> Result<(Vec<Region>, Vec<Message>), Message> {
    let (window, RegionGroup { asked_by, regions: group }) = (posterior.window(), group);
    let shown = show_window(window);
    let (total, mut outside, mut lost, mut never) = (group.len(), Vec::new(), Vec::new(), Vec::new());
    let mut regions = Vec::with_capacity(total);
    for region in group {
        if matches!(on_clocks(region.window.clone()), Ok(None)) {
            never.push(region.name);
            continue;
        }
        let part = |of: Option<Window>| of.map_or(0.0, |part| part.volume() / region.window.volume());
        let (beyond, gap) = (1.0 - part(window.intersection(&region.window)), part(gaps(&region.window, window)));
        let Some(counted) = posterior.counted(&region.window) else {
            lost.push(region.name);
            continue;
        };
        let uncounted = 1.0 - part(Some(counted.clone()));
        for (part, fate) in [(beyond - gap - uncounted, FORECAST), (gap - uncounted, GAP), (uncounted, NOT_COUNTED)] {
            if part > NOT_WORTH_A_WORD {
                outside.push((region.name.clone(), part, fate));
            }
        }
        regions.push(Region { counted, ..region });
    }
    let zone = window.axes().iter().find_map(|axis| axis.zone.as_deref()).unwrap_or_default();
    if never.len() == total {
        return Err(message![asked_by, " is left out by the clocks of {zone}, which never show it; give another time"]);
    }
    if regions.is_empty() {
        if window.dims() == 1 && window.exposure().is_some() {
            let why = "and how closely it will be looked at there is not known: the exposure of the model ends with the window";
            let remedy = message!["; say it with ", Setting::ExposureBeyond.given(1), ", or give a part of the window"];
            return Err(message![asked_by, " lies outside the window {shown}, {why}", remedy]);
        }
        return Err(message![asked_by, " lies outside the window {shown}; give a part of it"]);
    }
    let mut said = Vec::new();
    if !never.is_empty() {
        let (count, names) = (never.len(), shortened(&never));
        said.push(message![
            "{count} of the {total} regions of ",
            asked_by.clone(),
            " are never shown by the clocks of {zone} and are left out: {names}"
        ]);
    }
    if !lost.is_empty() {
        let (count, names) = (lost.len(), shortened(&lost));
        said.push(message![
            "{count} of the {total} regions of ",
            asked_by.clone(),
            " lie outside the window {shown} and are left out: {names}"
        ]);
    }
    let what = measure_name(window.dims());
    for (name, part, fate) in outside.iter().take(if outside.len() <= FEW { FEW } else { 0 }) {
        let percent = brief(100.0 * part);
        let whose = if total == 1 { asked_by.clone() } else { message![asked_by.clone(), " ({name})"] };
        said.push(message!["{percent} % of the {what} of ", whose, " is outside the window {shown}, {fate}"]);
    }
    if outside.len() > FEW {
        let count = outside.len();
        let first = outside[0].2;
        let fate = match outside.iter().all(|(_, _, fate)| *fate == first) {
            true => first,
            false => "before and after it, where counts are forecasts, or in its gaps, where no events were observed",
        };
        said.push(message![
            "{count} of the {total} regions of ",
            asked_by,
            " lie at least partly outside the window {shown}, {fate}"
        ]);
    }
    Ok((regions, said))
}

/// The part of a region on a line that lies between the pieces of a window.
fn gaps(region: &Window, window: &Window) -> Option<Window> {
    if window.dims() > 1 || window.exposure().is_some() {
        return None;
    }
    let mut spans: Vec<Span> = window.pieces().iter().map(|piece| piece.spans[0]).collect();
    spans.sort_by(|a, b| a.lo.total_cmp(&b.lo));
    let mut reached = spans[0].hi;
    let mut between = Vec::new();
    for span in spans {
        if span.lo > reached {
            between.extend(Window::interval(reached, span.lo));
        }
        reached = reached.max(span.hi);
    }
    Window::union(&between).ok()?.intersection(region)
}

/// The first few names.
fn shortened(names: &[String]) -> String {
    let rest = if names.len() > FEW { ", ..." } else { "" };
    format!("{}{rest}", names[..names.len().min(FEW)].join(", "))
}

/// Whether a part of the window was looked at more than once.
pub fn is_repeated(window: &Window) -> bool {
    zone::looks(window).iter().any(|looks| *looks != 1.0)
}

fn of_text(given: Given<'_>, axes: &[Axis]) -> Result<Vec<Region>, InputError> {
    let text = given.text;
    let lower = text.to_ascii_lowercase();
    if TABLES.iter().any(|end| lower.ends_with(end)) {
        return table(text, axes);
    }
    let first = text.split(',').next().unwrap_or_default().trim();
    if !Path::new(text).is_file() && (first.is_empty() || is_end(first)) {
        let window = observed::region(given, On::any(axes))?;
        return Ok(vec![Region::plain(text.into(), window)]);
    }
    if ![text, first].iter().any(|name| Path::new(name).exists() || datasets::find(name).is_some()) {
        return Err(message![
            given.message(),
            " is neither a box nor a file that exists; a box is lo,hi for each axis, with dates such as 2016-02-23"
        ]
        .into());
    }
    let features = observed::features(given, axes)?;
    let several = features.len() > 1;
    let region = |(number, (feature, window)): (usize, (Feature, Window))| Region {
        name: if several { feature_name(&feature, text, number + 1) } else { text.into() },
        is_named: true,
        properties: feature.properties,
        polygons: feature.polygons,
        counted: window.clone(),
        window,
    };
    Ok(features.into_iter().enumerate().map(region).collect())
}

/// By its name or number in the file, else by its place there.
fn feature_name(feature: &Feature, file: &str, number: usize) -> String {
    let find = |wanted: &str| feature.properties.iter().find(|(name, _)| name.eq_ignore_ascii_case(wanted));
    match find(NAME).or_else(|| find("id")) {
        Some((_, value)) if !value.is_null() => plain(value),
        _ => format!("feature {number} of {file}"),
    }
}

/// A value of JSON as a cell of a table.
pub fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// One region for each row of a table.
fn table(path: &str, axes: &[Axis]) -> Result<Vec<Region>, InputError> {
    let source = source_name(path);
    let bytes = bytes_of(path)?;
    let header = read_header(source, &bytes, &Dates::default())?;
    let is_there = |wanted: &str| header.iter().any(|(name, _)| name.eq_ignore_ascii_case(wanted));
    let mut columns = Vec::with_capacity(2 * axes.len());
    for axis in axes {
        let own = ["lo", "hi"].map(|end| format!("{}_{end}", axis.name));
        let short = ENDS.map(|ends| ends.map(String::from));
        let choices = [own.clone()].into_iter().chain(short.into_iter().filter(|_| axes.len() == 1));
        let Some(ends) = choices.into_iter().find(|ends| ends.iter().all(|end| is_there(end))) else {
            let found: Vec<&str> = header.iter().map(|(name, _)| name.as_str()).collect();
            let (found, [lo, hi]) = (found.join(", "), own);
            let or = if axes.len() == 1 { ", or start and end" } else { "" };
            return Err(message!["{source} has no columns `{lo}` and `{hi}`{or}, only {found}; name them so"].into());
        };
        columns.extend(ends);
    }
    let label = is_there(NAME).then(|| NAME.to_string());
    let time_unit = axes.iter().find_map(time_axis).map(|time| time.unit).unwrap_or_default();
    let dates = Dates { zone: axes.iter().find_map(time_axis).and_then(|time| time.zone), ..Dates::default() };
    let options = ReadOptions { columns: Some(columns), label, time_unit, dates, ..Default::default() };
    let mut table = read_bytes(source, &bytes, &options)?;
    for (r, axis) in axes.iter().enumerate() {
        for column in [2 * r, 2 * r + 1] {
            match axis.globe {
                Some(_) => table.ends_on_globe(column, axis)?,
                None => onto_axis(&mut table, column, axis, false)?,
            }
        }
    }
    let mut regions = Vec::with_capacity(table.lines.len());
    for (row, (ends, line)) in table.rows.chunks_exact(table.dims).zip(&table.lines).enumerate() {
        let spans: Vec<(f64, f64)> = ends.chunks_exact(2).map(|ends| (ends[0], ends[1])).collect();
        if let Some((axis, (lo, hi))) = axes.iter().zip(&spans).find(|(_, (lo, hi))| lo >= hi) {
            let (lo, hi, name) = (place(axis, *lo), place(axis, *hi), &axis.name);
            return Err(message![
                "{source}, line {line}: on axis `{name}` the lower end {lo} is not below the upper end {hi}; correct it"
            ]
            .into());
        }
        let shown = show_box(spans.iter().copied(), axes);
        let window = Window::new(&spans)?.with_axes(axes.to_vec())?;
        refuse_twice(&window).map_err(|why| message!["{source}, line {line}: ", why])?;
        let window = onto_map(window).map_err(|why| message!["{source}, line {line} ", why])?;
        regions.push(match table.labels.get(row) {
            Some(name) => Region { is_named: true, ..Region::plain(name.clone(), window) },
            None => Region::plain(shown, window),
        });
    }
    Ok(regions)
}

/// Refuses a row with an end that clocks show twice: a table does not keep the offset that tells which is meant.
fn refuse_twice(window: &Window) -> Result<(), Message> {
    refuse_halves(window)?;
    for (axis, span) in window.axes().iter().zip(window.bounding_box()) {
        let Some((time, zone)) = time_axis(axis).and_then(|time| Some((time, time.zone?))) else { continue };
        if let Some(end) = [span.lo, span.hi].into_iter().find(|end| zone.is_twice(time.reading_at(*end))) {
            let (end, zone) = (time.to_reading(end), zone.name());
            let why = "and a table does not say which time is meant";
            return Err(message![
                "the clocks of {zone} show {end} twice, {why}; give that region by ",
                Setting::Regions
            ]);
        }
    }
    Ok(())
}

/// How many of the events of a fit lie in each region: to be held beside what is expected there. Not known where the model has not kept its events, where several
/// trials were seen and one is counted, or where the region reaches beyond the window or into a gap of it.
pub fn seen_in_each(regions: &[Region], model: &ModelFile) -> Vec<Option<u64>> {
    let window = model.posterior.window();
    let Some(events) = model.events.as_ref().filter(|_| !is_repeated(window)) else { return vec![None; regions.len()] };
    let is_known = |region: &Region| {
        let gap = || gaps(&region.counted, window).map_or(0.0, |gap| gap.volume());
        is_within(&region.counted, window) && gap() <= NOT_WORTH_A_WORD * region.counted.volume()
    };
    let counts = model.posterior.seen_in_each(regions.iter().map(|region| &region.counted), &events.points);
    regions.iter().zip(counts).map(|(region, count)| is_known(region).then_some(count)).collect()
}

/// Whether the box around a region does not reach beyond that around a window.
pub fn is_within(region: &Window, window: &Window) -> bool {
    let inside = |(part, whole): (&Span, &Span)| {
        let slack = 1e-9 * whole.length();
        part.lo >= whole.lo - slack && part.hi <= whole.hi + slack
    };
    region.bounding_box().iter().zip(&window.bounding_box()).all(inside)
}

/// How bins are cut.
enum Cut {
    /// At every so many units of the axis, from the lower end on.
    Length(f64),
    /// At the beginning of every so many months (UTC).
    Months(u32, TimeAxis),
}

impl Cut {
    fn parse(text: &str, axes: &[Axis]) -> Result<Self, Message> {
        let [axis] = axes else {
            return Err(message![
                Setting::Every,
                " cuts one axis, but the model has several; give a table of boxes with ",
                Setting::Regions
            ]);
        };
        let number = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let unit = &text[number.len()..];
        let given = || Setting::Every.given(text);
        let wrong = || {
            let units = "1h, 30min, 7d, 1month";
            message![given(), " is not a length; write a number, or with dates a number and a unit: {units}"]
        };
        let is_months = MONTHS.contains(&unit);
        let length: f64 = match number.trim() {
            "" if is_months => 1.0,
            number => number.parse().map_err(|_| wrong())?,
        };
        let cut = match (unit, time_axis(axis)) {
            ("", _) => Self::Length(length),
            (_, Some(time)) if is_months && length.fract() == 0.0 && (1.0..=1200.0).contains(&length) => {
                Self::Months(length as u32, time)
            }
            (unit, Some(time)) => {
                Self::Length(length * unit.parse::<TimeUnit>().map_err(|_| wrong())?.seconds() / time.unit.seconds())
            }
            (unit, None) => {
                let name = &axis.name;
                return Err(message![given(), ": axis `{name}` holds numbers; leave `{unit}` out"]);
            }
        };
        match cut {
            Self::Length(length) if !(length.is_finite() && length > 0.0) => Err(wrong()),
            cut => Ok(cut),
        }
    }

    /// How many bins a stretch may have.
    fn count(&self, (lo, hi): (f64, f64)) -> f64 {
        match self {
            // A hair less, so that rounding does not leave a sliver at the end.
            Self::Length(step) => ((hi - lo) / step - 1e-9).ceil().max(1.0),
            Self::Months(months, time) => {
                ((hi - lo) * time.unit.seconds() / (SHORTEST_MONTH * f64::from(*months))).ceil() + 1.0
            }
        }
    }

    /// Their ends. The first and the last may be shorter.
    fn ends(&self, (lo, hi): (f64, f64)) -> Vec<f64> {
        match self {
            Self::Length(step) => {
                let end = |i: usize| (lo + step * i as f64).min(hi);
                (0..self.count((lo, hi)) as usize).map(end).chain([hi]).collect()
            }
            Self::Months(months, time) => {
                let starts = (1..).map(|i| time.month_after(lo, i, *months)).take_while(|end| *end < hi);
                std::iter::once(lo).chain(starts.filter(|end| *end > lo)).chain([hi]).collect()
            }
        }
    }
}

/// A region cut into bins.
fn bins(region: &Region, text: &str, cut: &Cut, axes: &[Axis]) -> Result<Vec<Region>, InputError> {
    let span = region.window.bounding_box()[0];
    let (span, count) = ((span.lo, span.hi), cut.count((span.lo, span.hi)));
    if count > MOST_BINS {
        let given = Setting::Every.given(text);
        return Err(message![given, " makes {count} bins; take longer ones, {MOST_BINS} are the most"].into());
    }
    // Of a window with gaps only what lies in its pieces is cut.
    let is_whole = region.window.is_one_box();
    let bin = |pair: &[f64]| -> Result<Option<Region>, InputError> {
        let ends = (pair[0], pair[1]);
        let whole = Window::new(&[ends])?.with_axes(axes.to_vec())?;
        let name = show_box([ends], axes);
        let window = match is_whole {
            true => whole,
            false => match region.window.intersection(&whole) {
                Some(part) => part,
                // One that clocks never show stays, to be named where it is left out.
                None if on_clocks(whole.clone())?.is_none() => whole,
                None => return Ok(None),
            },
        };
        Ok(Some(Region { properties: region.properties.clone(), ..Region::plain(name, window) }))
    };
    cut.ends(span).windows(2).filter_map(|pair| bin(pair).transpose()).collect()
}

fn box_around(window: &Window) -> Result<Window, InputError> {
    let spans: Vec<(f64, f64)> = window.bounding_box().iter().map(|span| (span.lo, span.hi)).collect();
    Ok(Window::new(&spans)?.with_axes(window.axes().to_vec())?)
}
