//! Events, windows and exposures that are in memory already, as the arrays of another language are: the same story as that of a file, from
//! where its table has been read.

use super::events::{
    Loaded, LooksSaidBy, Misplaced, Repeats, Words, axes as axes_of, bounding_box, repeats_held_out, trials_by_clocks,
};
use super::geography::{self, Geography, Pair, SaidBy, is_on_globe};
use super::input_error::InputError;
use super::message::{Message, Setting};
use super::observed::{self, ExposureTable, first_midnight};
use super::time::{TimeAxis, TimeUnit};
use super::window::{Given, On, show_box, show_point};
use super::zone::{Zone, by_clocks, left_out, on_clocks};
use crate::message;
use pointillist::{Axis, Error, Events, Points, Window};

/// What messages call events that have no file.
pub const ARRAY: &str = "the events";

/// A part of a window.
#[derive(Clone, Debug)]
pub enum WindowPart {
    /// As the setting of the window takes it: `0,5`, `border.geojson`.
    Text(String),
    /// What lies inside the polygons of a GeoJSON document, and between ends on the axes after the second.
    Border {
        /// What to call it.
        name: String,
        /// The document.
        document: Vec<u8>,
        /// lo, hi for each other axis.
        ends: Vec<String>,
    },
    /// A window that stands on axes already.
    Ready(Window),
}

impl WindowPart {
    /// For messages.
    fn text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Border { name, ends, .. } => [std::slice::from_ref(name), ends].concat().join(","),
            Self::Ready(window) => super::window::show_window(window),
        }
    }

    fn on(&self, setting: Setting, on: On<'_>) -> Result<Window, InputError> {
        let text = &self.text();
        let given = Given { setting, text };
        match self {
            Self::Text(text) => observed::region(Given { setting, text }, on),
            Self::Border { name, document, ends } => {
                let ends: Vec<&str> = ends.iter().map(String::as_str).collect();
                observed::border_of(given, name, document, &ends, on)
            }
            Self::Ready(window) if window.dims() != on.axes.len() => {
                let (found, needed) = (window.dims(), on.axes.len());
                Err(message![
                    given.message(),
                    " has {found} axes, but there are {needed}; give a window on the same axes"
                ]
                .into())
            }
            Self::Ready(window) => geography::onto(window, on.axes)
                .map_err(|error| message![given.message(), ": ", error.message()].into()),
        }
    }
}

/// How often a window was looked at.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Looked {
    /// Once.
    #[default]
    Once,
    /// So many times, all of it.
    Times(usize),
    /// In trials, each from here to there: numbers or dates.
    Trials(Vec<[String; 2]>),
}

/// An exposure along some axes of a window.
#[derive(Clone, Debug)]
pub struct ArrayExposure {
    /// Which axes it is known along; all of them if it is not said.
    pub along: Option<Vec<usize>>,
    /// What it is.
    pub table: ExposureTable,
}

/// Where, how often and how closely events were looked for, in words that axes give a meaning to.
#[derive(Clone, Debug, Default)]
pub struct WindowWords {
    /// Its parts.
    pub parts: Vec<WindowPart>,
    /// How often.
    pub looked: Looked,
    /// How closely.
    pub exposure: Option<ArrayExposure>,
    /// Units of axes, and of the exposure.
    pub units: Vec<String>,
    /// Whether coordinates are degrees on the globe.
    pub geography: Geography,
    /// The time zone whose clocks an axis of dates follows; UTC if it is not said.
    pub time_zone: Option<Zone>,
}

impl WindowWords {
    /// The window that is meant on axes, which say whether they are on the globe. What the user should know joins the warnings.
    pub fn on(&self, on: On<'_>, warnings: &mut Vec<Message>) -> Result<Window, InputError> {
        self.looked_at(self.plain(on)?, on.dates_only, warnings)
    }

    /// The window of events, on whose axes numbers are degrees if these are recognised as such: then it is on the globe, and its axes say so. Where
    /// nothing is said of it, it is what lies `around` the events.
    pub fn of_events(
        &self,
        axes: &[Axis],
        dates: &[bool],
        around: Option<Window>,
        warnings: &mut Vec<Message>,
    ) -> Result<Window, InputError> {
        let pair = self.pair(axes)?;
        let north_first = pair.map(Pair::is_north_first).or(On::any(axes).north_first);
        let on = On { axes, dates_only: dates, north_first };
        let is_own = around.is_some();
        let said_by = if is_own { SaidBy::Events } else { SaidBy::User };
        let plain = around.map_or_else(|| self.plain(on), Ok)?;
        let placed = match pair {
            Some(pair) => geography::on_globe(plain, pair, said_by, warnings)?,
            None => plain,
        };
        let clocks = axes.iter().find_map(|axis| axis.zone.as_deref());
        if let (Looked::Trials(_), Some(zone)) = (&self.looked, clocks) {
            return Err(trials_by_clocks(Setting::Trials.into(), zone).into());
        }
        // What stands on axes already has been cut by their clocks.
        let placed = if self.is_ready() { placed } else { by_clocks(placed, is_own)? };
        self.looked_at(placed, dates, warnings)
    }

    /// A region of what was fitted over a window with these axes.
    pub fn region_on(&self, axes: &[Axis], warnings: &mut Vec<Message>) -> Result<Window, InputError> {
        let window = self.on(On::any(axes), warnings)?;
        if self.is_ready() {
            return Ok(window);
        }
        // One that clocks never show stays, to be named where it is left out.
        Ok(on_clocks(window.clone())?.unwrap_or(window))
    }

    fn is_ready(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, WindowPart::Ready(_)))
    }

    /// The axes that are degrees and have to be put onto the globe. What stands on axes already stays there.
    fn pair(&self, axes: &[Axis]) -> Result<Option<Pair>, Message> {
        if self.is_ready() {
            return Ok(None);
        }
        let pair = geography::pair(axes, self.geography)?;
        if let Some(pair) = pair {
            let without = axes.iter().map(|axis| Axis { unit: None, ..axis.clone() }).collect::<Vec<_>>();
            geography::refuse_units(pair, axes, &without)?;
        }
        Ok(pair)
    }

    fn plain(&self, on: On<'_>) -> Result<Window, InputError> {
        let setting = Setting::Window;
        match &self.looked {
            Looked::Trials(trials) => {
                if !self.parts.is_empty() {
                    return Err(message![
                        Setting::Trials,
                        " say where events were looked for, so ",
                        setting,
                        " has no effect; leave one of them out"
                    ]
                    .into());
                }
                trials_on(trials, on)
            }
            _ => {
                let texts: Vec<String> = self.parts.iter().map(WindowPart::text).collect();
                let windows =
                    self.parts.iter().map(|part| part.on(setting, on)).collect::<Result<Vec<_>, InputError>>()?;
                observed::joined(setting, &texts, windows, on.axes)
            }
        }
    }

    /// The window as often and as closely as it was looked at.
    fn looked_at(&self, plain: Window, dates_only: &[bool], warnings: &mut Vec<Message>) -> Result<Window, InputError> {
        let repeats = if let Looked::Times(times) = self.looked { times } else { 1 };
        let looks = observed::Looks { repeats, exposure: None, units: &[] };
        let window = observed::looked_at(plain, looks, dates_only, warnings)?;
        let Some(ArrayExposure { along, table }) = &self.exposure else {
            return Ok(observed::with_unit_of_exposure(window, &self.units)?);
        };
        let along = along.clone().unwrap_or_else(|| (0..window.dims()).collect());
        if let Some(axis) = along.iter().find(|axis| **axis >= window.dims()) {
            let dims = window.dims();
            return Err(message![
                Setting::Exposure,
                " names axis {axis}, but there are {dims}, counted from 0; correct it"
            ]
            .into());
        }
        let table = table_inward(table.clone(), &along, window.axes());
        let exposed = observed::with_exposure(window, "exposure", along, table, warnings)?;
        Ok(observed::with_unit_of_exposure(exposed, &self.units)?)
    }

    /// Whether it says where events were looked for.
    pub fn says_where(&self) -> bool {
        !self.parts.is_empty() || matches!(self.looked, Looked::Trials(_))
    }

    /// The axes that it has by itself: time counts from the midnight before its first date.
    pub fn own_axes(&self, names: &[String], unit: TimeUnit) -> Result<(Vec<Axis>, Vec<bool>), Message> {
        if let Some(WindowPart::Ready(window)) = self.parts.first() {
            return Ok((window.axes().to_vec(), vec![false; window.dims()]));
        }
        let mut texts: Vec<String> = self.parts.iter().map(WindowPart::plain_ends).collect();
        if let Looked::Trials(trials) = &self.looked {
            texts.extend(trials.iter().map(|ends| ends.join(",")));
        }
        let time = |r: usize| {
            let of_first = |origin_unix_seconds| TimeAxis { origin_unix_seconds, unit, zone: self.time_zone };
            first_midnight(r, &texts).map(of_first)
        };
        let times: Vec<Option<TimeAxis>> = (0..names.len()).map(time).collect();
        let dates = times.iter().map(Option::is_some).collect();
        Ok((axes_of(names, &times, None, &self.units)?, dates))
    }
}

/// An exposure along these of the axes, in km where they are on the globe.
fn table_inward(table: ExposureTable, along: &[usize], axes: &[Axis]) -> ExposureTable {
    match table {
        ExposureTable::Grid { mut lines, values } => {
            for (line, &r) in lines.iter_mut().zip(along) {
                line.iter_mut().for_each(|value| *value = geography::inward(&axes[r], *value));
            }
            ExposureTable::Grid { lines, values }
        }
        ExposureTable::Weights { mut rows, weights } => {
            geography::rows_inward(&mut rows, axes);
            ExposureTable::Weights { rows, weights }
        }
    }
}

impl WindowPart {
    /// Its ends where a border's name stands for itself.
    fn plain_ends(&self) -> String {
        match self {
            Self::Border { ends, .. } => [&["border".to_string()], &ends[..]].concat().join(","),
            other => other.text(),
        }
    }
}

fn trials_on(trials: &[[String; 2]], on: On<'_>) -> Result<Window, InputError> {
    let [_] = on.axes else {
        return Err(message![
            Setting::Trials,
            " are for events on one axis, but there are several; give ",
            Setting::Repeats
        ]
        .into());
    };
    let interval = |ends: &[String; 2]| {
        let text = &ends.join(",");
        let window = observed::region(Given { setting: Setting::Trials, text }, on)?;
        let span = window.bounding_box()[0];
        Ok((span.lo, span.hi))
    };
    let intervals = trials.iter().map(interval).collect::<Result<Vec<_>, InputError>>()?;
    Ok(Window::trials(&intervals)?.with_axes(on.axes.to_vec())?)
}

/// The coordinates of events on one axis.
#[derive(Clone, Debug)]
pub enum Coordinates<'a> {
    /// Numbers.
    Numbers(&'a [f64]),
    /// Dates, in microseconds since 1970.
    Instants(&'a [i64]),
}

/// Points of columns on axes of their own: time counts from the midnight before the first date, and follows the clocks of a zone if there is one.
pub fn points_of_columns(
    columns: &[Coordinates<'_>],
    unit: TimeUnit,
    zone: Option<Zone>,
) -> Result<(Points, Vec<Option<TimeAxis>>), InputError> {
    let time = |column: &Coordinates<'_>| match column {
        Coordinates::Numbers(_) => None,
        Coordinates::Instants(instants) => {
            // Clocks that go back show an early time late.
            let shown = |instant: &i64| zone.map_or(*instant, |zone| zone.shown(*instant));
            let first = instants.iter().map(shown).min().unwrap_or(0);
            Some(TimeAxis { zone, ..TimeAxis::starting_before(first, unit) })
        }
    };
    let times: Vec<Option<TimeAxis>> = columns.iter().map(time).collect();
    Ok((points_counted_from(columns, &times)?, times))
}

/// Points of columns on axes that are known: dates are counted from the origin of theirs.
pub fn points_on_axes(columns: &[Coordinates<'_>], axes: &[Axis], source: &str) -> Result<Points, InputError> {
    if columns.len() != axes.len() {
        let names: Vec<&str> = axes.iter().map(|axis| axis.name.as_str()).collect();
        let (found, needed, names) = (columns.len(), axes.len(), names.join(", "));
        return Err(message![
            "{source}: {found} coordinates a point, but there are {needed} axes ({names}); give an array with {needed} columns"
        ]
        .into());
    }
    let time = |(column, axis): (&Coordinates<'_>, &Axis)| match column {
        Coordinates::Numbers(_) => Ok(None),
        Coordinates::Instants(_) => super::window::time_axis(axis).map(Some).ok_or_else(|| {
            let name = &axis.name;
            message!["{source}: there are dates, but axis `{name}` holds numbers; give numbers there"]
        }),
    };
    let times = columns.iter().zip(axes).map(time).collect::<Result<Vec<_>, Message>>()?;
    points_counted_from(columns, &times)
}

fn points_counted_from(columns: &[Coordinates<'_>], times: &[Option<TimeAxis>]) -> Result<Points, InputError> {
    let count = columns.first().map_or(0, Coordinates::len);
    let mut rows = vec![0.0; count * columns.len()];
    for (r, (column, time)) in columns.iter().zip(times).enumerate() {
        if column.len() != count {
            let found = column.len();
            let why = "give columns of one length";
            return Err(message!["the columns of the events have {count} and {found} rows; {why}"].into());
        }
        let places = rows.iter_mut().skip(r).step_by(columns.len());
        match (column, time) {
            (Coordinates::Numbers(values), _) => places.zip(*values).for_each(|(place, value)| *place = *value),
            (Coordinates::Instants(values), Some(time)) => {
                places.zip(*values).for_each(|(place, value)| *place = time.value_at(*value));
            }
            (Coordinates::Instants(_), None) => {}
        }
    }
    Ok(Points::new(columns.len(), rows)?)
}

impl Coordinates<'_> {
    fn len(&self) -> usize {
        match self {
            Self::Numbers(values) => values.len(),
            Self::Instants(values) => values.len(),
        }
    }
}

/// Events of arrays, before they stand in a window.
#[derive(Clone, Debug)]
pub struct ArrayEvents {
    /// Where they are.
    pub points: Points,
    /// For each the number of its trial from 0, if they have trials.
    pub trials: Option<Vec<usize>>,
    /// The axes.
    pub axes: Vec<Axis>,
    /// On which of them events are dates.
    pub dates: Vec<bool>,
    /// Where they came from.
    pub source: String,
}

impl ArrayEvents {
    /// The events in the window that is meant, or in their bounding box. Those outside are refused, or with `clip` dropped.
    pub fn looked_for(self, words: &WindowWords, clip: bool) -> Result<Loaded, InputError> {
        let mut warnings = Vec::new();
        let around = match words.says_where() {
            true => None,
            false if self.points.is_empty() => return Err(Error::NoEvents.into()),
            false => Some(bounding_box(&ends(&self.points), &self.axes, &mut warnings)?),
        };
        let window = words.of_events(&self.axes, &self.dates, around, &mut warnings)?;
        // A window that stood on axes before gave the events these; on others they are still degrees.
        let is_placed = is_on_globe(&self.axes) || !is_on_globe(window.axes());
        let points = if is_placed { self.points } else { geography::points_inward(self.points, window.axes())? };
        let axes = window.axes().to_vec();
        Self { points, axes, ..self }.within(window, clip, Some(Setting::Window), warnings)
    }

    /// The events in a window on their axes.
    pub fn within(
        self,
        window: Window,
        clip: bool,
        remedy: Option<Setting>,
        mut warnings: Vec<Message>,
    ) -> Result<Loaded, InputError> {
        let has_dates = self.dates.contains(&true);
        let placed = match left_out(&window) {
            Some((zone, is_left_out)) => {
                let is_shown = |row: &[f64]| !is_left_out(row);
                self.sifted(window.axes(), clip, is_shown, |_| Words::never(zone), &mut warnings)?
            }
            None => self,
        };
        let is_inside = |row: &[f64]| window.contains(row);
        let around = |points: &Points| show_box(ends(points), window.axes());
        let outside = |points: &Points| Words::outside(&window, points, &around(points), remedy);
        let inside = placed.sifted(window.axes(), clip, is_inside, outside, &mut warnings)?;
        let is_seen = |row: &[f64]| window.exposure_at(row) > 0.0;
        let Self { points, trials, source, .. } = match window.exposure() {
            None => inside,
            Some(_) => inside.sifted(window.axes(), clip, is_seen, |_| Words::unseen(), &mut warnings)?,
        };
        let events = Events::new(points, window)?;
        let has_degrees = is_on_globe(events.window().axes());
        Ok(Loaded { events, trials, types: None, has_dates, has_degrees, source, warnings })
    }

    /// Those for which `keep` holds: all of them without a copy, or with `clip` those that are left, and a warning of the others.
    fn sifted(
        self,
        axes: &[Axis],
        clip: bool,
        keep: impl Fn(&[f64]) -> bool,
        words: impl Fn(&Points) -> Words,
        warnings: &mut Vec<Message>,
    ) -> Result<Self, InputError> {
        let Some(first) = self.points.rows().position(|row| !keep(row)) else { return Ok(self) };
        let misplaced = Misplaced {
            count: self.points.rows().filter(|row| !keep(row)).count() as u64,
            total: self.points.len() as u64,
            source: self.source.clone(),
            first: format!("row {first}"),
            at: show_point(self.points.row(first), axes),
        };
        warnings.insert(0, misplaced.judge(words(&self.points), clip)?);
        let kept = |trials: Vec<usize>| {
            trials.into_iter().zip(self.points.rows()).filter(|(_, row)| keep(row)).map(|(trial, _)| trial).collect()
        };
        Ok(Self { trials: self.trials.map(kept), points: self.points.filter(keep), ..self })
    }

    /// Held-out events for what was fitted over `window`: they come from there, but were looked for as often as they themselves say.
    pub fn held_out(self, window: &Window, repeats: Option<usize>, clip: bool) -> Result<Loaded, InputError> {
        let labelled = self.trials.as_ref().map(|trials| trials.iter().max().map_or(0, |most| most + 1));
        let known = Repeats { said: repeats, labelled, bundled: None };
        let mut warnings = Vec::new();
        let times = repeats_held_out(known, &self.source, LooksSaidBy::Own, window, &mut warnings)?;
        let once = window.clone().looked_at_once();
        let own = on_clocks(once.clone())?.unwrap_or(once).with_repeats(times)?;
        self.within(own, clip, None, warnings)
    }
}

/// How far points reach.
fn ends(points: &Points) -> Vec<(f64, f64)> {
    let reach = |r: usize| {
        let fold = |(lo, hi): (f64, f64), row: &[f64]| (lo.min(row[r]), hi.max(row[r]));
        points.rows().fold((f64::INFINITY, f64::NEG_INFINITY), fold)
    };
    (0..points.dims()).map(reach).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axes(names: &[&str]) -> Vec<Axis> {
        names.iter().map(|name| Axis { name: name.to_string(), ..Axis::default() }).collect()
    }

    fn on_a_line(values: &[f64]) -> ArrayEvents {
        let points = Points::line(values).unwrap();
        ArrayEvents { points, trials: None, axes: axes(&["t"]), dates: vec![false], source: ARRAY.into() }
    }

    #[test]
    fn events_outside_are_refused_or_dropped() {
        let words = WindowWords { parts: vec![WindowPart::Text("0,5".into())], ..WindowWords::default() };
        let said = on_a_line(&[1.0, 6.0]).looked_for(&words, false).unwrap_err().to_string();
        assert!(said.contains("1 of 2 events lies outside the window 0,5, the first on row 1 (t 6)"), "{said}");
        let mut given = on_a_line(&[1.0, 6.0, 2.0]);
        given.trials = Some(vec![0, 1, 2]);
        let loaded = given.looked_for(&words, true).unwrap();
        assert_eq!((loaded.events.len(), loaded.trials), (2, Some(vec![0, 2])));
        assert!(on_a_line(&[6.0]).looked_for(&words, true).is_err());
    }

    #[test]
    fn without_a_window_there_is_the_box_and_a_warning() {
        let loaded = on_a_line(&[1.0, 6.0]).looked_for(&WindowWords::default(), false).unwrap();
        let words = WindowWords { looked: Looked::Times(3), ..WindowWords::default() };
        let thrice = on_a_line(&[1.0, 6.0]).looked_for(&words, false).unwrap();
        assert_eq!((loaded.events.window().measure(), thrice.events.window().measure()), (5.0, 15.0));
        assert!(loaded.warnings[0].to_string().contains("bounding box"));
        assert!(on_a_line(&[]).looked_for(&WindowWords::default(), false).is_err());
    }

    #[test]
    fn dates_count_from_the_first_midnight_of_events_or_window() {
        let noon = 43_200_000_000;
        let columns = [Coordinates::Instants(&[86_400_000_000 + noon, 3 * 86_400_000_000])];
        let (points, times) = points_of_columns(&columns, TimeUnit::Days, None).unwrap();
        assert_eq!((points.coordinates(), times[0].unwrap().origin_unix_seconds), (&[0.5, 2.0][..], 86_400.0));
        let words = WindowWords {
            parts: vec![WindowPart::Text("1970-01-01T12:00Z,1970-01-05".into())],
            ..WindowWords::default()
        };
        let (own, dates) = words.own_axes(&["t".into()], TimeUnit::Days).unwrap();
        assert_eq!((own[0].origin, dates), (Some(0.0), vec![true]));
        assert_eq!(points_on_axes(&columns, &own, ARRAY).unwrap().coordinates(), [1.5, 3.0]);
        assert!(points_on_axes(&columns, &axes(&["x"]), ARRAY).is_err());
    }
}
