//! Events and points in: a table, the window it belongs to, and the axes both share.

use super::datasets::{self, Dataset};
use super::filter::Filter;
use super::geography::{self, Geography, Pair, SaidBy};
use super::geojson_points::Systems;
use super::geotiff::map_of;
use super::input_error::InputError;
use super::message::{Message, Setting};
use super::observed::{self, Looks};
use super::pattern::Pattern;
use super::source::{Input, Opened};
use super::spec::{plural, repeated};
use super::table::{Counting, Dates, ReadOptions, Table, read_bytes, read_header, source_name};
use super::time::{Epoch, TimeAxis, TimeUnit};
use super::trials::Trials;
use super::window::{Given, On, column_of, onto_axis, show_box, show_point, show_window, time_axis};
use super::zone::{Zone, by_clocks, left_out, looks, on_clocks};
use crate::message;
use pointillist::{Axis, Events, Points, Window};
use std::borrow::Cow;
use std::collections::HashMap;

/// The column of trials, unless another is named.
pub const TRIAL_COLUMN: &str = "trial";
/// The column that tells the draws of `simulate` and `sample` apart, which are taken as trials.
pub const DRAW_COLUMN: &str = "draw";

/// Names of columns that say how many events a row stands for.
const COUNTS: [&str; 7] = ["count", "counts", "cases", "weight", "weights", "freq", "frequency"];

/// Which rows of a table are taken, and how its dates are written.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RowSettings {
    /// A condition that they satisfy, as in `species == "oak" and height > 3`.
    pub filter: Option<String>,
    /// How dates are written, as in `%d/%m/%Y`; ISO, or what is beyond doubt, if it is not said.
    pub date_format: Option<String>,
    /// What numbers that are dates count from 1970 on.
    pub epoch: Option<Epoch>,
}

/// Which events, and where, how often and how closely they were looked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EventSettings {
    /// The columns that place them; by default a column of dates, else one to three of numbers.
    pub columns: Option<Vec<String>>,
    /// Which rows, and how they are written.
    pub rows: RowSettings,
    /// Boxes (`0,5`) and borders (`border.geojson`) that make the window together; none for the bounding box of the events.
    pub window: Vec<String>,
    /// How often the window was looked at.
    pub repeats: Option<usize>,
    /// A table of trials, each with its start and end.
    pub trials: Option<String>,
    /// The column that names the trial of an event.
    pub trial_column: Option<String>,
    /// The column that names the type of an event.
    pub type_column: Option<String>,
    /// A table of how closely the window was looked at.
    pub exposure: Option<String>,
    /// Drop events that lie outside the window, in place of refusing them.
    pub clip: bool,
    /// The coordinate reference system of a map, if it is said.
    pub crs: Option<String>,
    /// The unit in which dates are counted.
    pub time_unit: TimeUnit,
    /// The time zone whose clocks the axis of time follows, by its name; UTC if it is not said.
    pub time_zone: Option<String>,
    /// Units of axes, as in `t=s`.
    pub unit: Vec<String>,
    /// How many bad rows may be passed over.
    pub skip_bad: u64,
    /// Whether coordinates are degrees on the globe.
    pub geography: Geography,
}

/// Events ready to be fitted.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The events in their window.
    pub events: Events,
    /// For each event the number of its trial from 0, if they have trials.
    pub trials: Option<Vec<usize>>,
    /// Their types, if they have any.
    pub types: Option<TypeLabels>,
    /// Whether a coordinate is a date.
    pub has_dates: bool,
    /// Whether two coordinates are, or could be taken for, degrees on the globe.
    pub has_degrees: bool,
    /// Where they came from: the last part of the path.
    pub source: String,
    /// What the user should know of how they were read.
    pub warnings: Vec<Message>,
}

/// Types of events.
#[derive(Clone, Debug, PartialEq)]
pub struct TypeLabels {
    /// Their names: by value if they are numbers, else as they come.
    pub names: Vec<String>,
    /// The number of the type of each event, from 0.
    pub kinds: Vec<usize>,
}

/// Points on the axes of a model, with the lines they stood on and the trials they belong to.
#[derive(Clone, Debug)]
pub struct Placed {
    /// The points.
    pub points: Points,
    /// The line of the file for each, or its row.
    lines: Vec<u64>,
    /// Which of the two.
    counting: Counting,
    /// The trial of each, if they have trials.
    trials: Option<Vec<usize>>,
    /// The name of the file, for messages.
    source: String,
    /// What the user should know of how they were read.
    pub notes: Vec<Message>,
}

/// What to do about events that cannot stay.
#[derive(Clone, Copy, Debug)]
pub struct Strictness {
    /// Drop them.
    pub clip: bool,
    /// The setting that may be wrong, if there is one.
    pub remedy: Option<Setting>,
}

/// Reads events as the settings say, from a file or a bundled set.
///
/// ```
/// use pointillist_io::{EventSettings, read_events};
///
/// let settings = EventSettings { window: vec!["1900,1950".into()], clip: true, ..EventSettings::default() };
/// let loaded = read_events("coal", &settings)?;
/// assert_eq!(loaded.events.window().axes()[0].name, "year");
/// assert_eq!(loaded.warnings[0].to_string(), "139 of 191 events lie outside the window 1900,1950, dropped");
/// # Ok::<(), pointillist_io::InputError>(())
/// ```
pub fn read_events(path: &str, settings: &EventSettings) -> Result<Loaded, InputError> {
    events_from(path, &bytes_of(path)?, settings)
}

/// The same with the bytes of the file already at hand.
pub fn events_from(path: &str, bytes: &[u8], settings: &EventSettings) -> Result<Loaded, InputError> {
    let (dataset, source) = (datasets::find(path), source_name(path));
    let read = read_options(dataset, settings)?;
    let trial = TrialColumn {
        named: settings.trial_column.as_deref(),
        needed: settings.trials.is_some(),
        coordinates: settings.columns.as_deref(),
    };
    let header = read_header(source, bytes, &read.dates)?;
    let label = match &settings.type_column {
        Some(column) => {
            if let (None, Some(label)) = (&settings.columns, trial.find(source, &header)?) {
                let given = Setting::Type.given(column);
                let said = message![given, ": {source} has a column {label} too, and an event has one label; name the"];
                return Err(message![said, " coordinates with ", Setting::Columns].into());
            }
            Some(type_column(source, column, &header, settings)?)
        }
        None => trial.find(source, &header)?,
    };
    let read = ReadOptions { label, ..read };
    if settings.columns.is_none() && dataset.is_none() {
        // What a column is, whose values are asked for, has been said.
        let is_label = |name: &str| settings.type_column.as_ref().is_some_and(|own| own.eq_ignore_ascii_case(name));
        refuse_counts(source, header.iter().map(|(name, _)| name.as_str()).filter(|name| !is_label(name)))?;
    }
    let mut table = read_bytes(source, bytes, &read)?;
    count_from_window(&mut table, &settings.window);
    let axes = axes(&table.names, &table.time, dataset, &settings.unit)?;
    let axes = on_map(axes, table.crs.as_deref(), settings)?;
    let pair = degrees(&axes, &table.names, &table.time, dataset, settings)?;
    // A number would be taken for a count of days since a midnight that nobody was told of.
    let dates_only: Vec<bool> = table.time.iter().map(Option::is_some).collect();
    let on = On { axes: &axes, dates_only: &dates_only, north_first: pair.map(Pair::is_north_first) };
    let mut warnings: Vec<Message> =
        skipped(table.skipped, table.counting).into_iter().chain(notes(&table, &settings.rows)).collect();
    let trials = settings.trials.as_ref().map(|path| observed::trials(path, on)).transpose()?;
    let plain = match &trials {
        Some(trials) => Window::trials(&trials.intervals())?.with_axes(axes.clone())?,
        None if !settings.window.is_empty() => observed::union(Setting::Window, &settings.window, on)?,
        None => match dataset.and_then(|set| own_window(set, &axes)) {
            Some(window) => window,
            None => bounding_box(&ends(&table), &axes, &mut warnings)?,
        },
    };
    let plain = match pair {
        Some(pair) => {
            let has_own = dataset.is_some() || !settings.window.is_empty();
            let said_by = if has_own { SaidBy::User } else { SaidBy::Events };
            geography::on_globe(plain, pair, said_by, &mut warnings)?
        }
        None => plain,
    };
    geography::rows_inward(&mut table.rows, plain.axes());
    if let (Some(path), Some(zone)) = (&settings.trials, &settings.time_zone) {
        return Err(trials_by_clocks(Setting::Trials.given(path), zone).into());
    }
    let plain = by_clocks(plain, settings.window.is_empty())?;
    let repeats = match &trials {
        Some(_) => 1,
        None => settings.repeats.unwrap_or(dataset.map_or(1, |set| set.repeats)),
    };
    let looks = Looks { repeats, exposure: settings.exposure.as_deref(), units: &settings.unit };
    let window = observed::looked_at(plain, looks, &dates_only, &mut warnings)?;
    let names = settings.type_column.is_some().then(|| names_of(&table.labels));
    // Types may be as many as they like, as far as reading goes.
    let most = if names.is_some() { usize::MAX } else { repeats };
    let mut placed = Placed::new(table, trials.as_ref(), most, &mut warnings)?;
    let strictness = Strictness { clip: settings.clip, remedy: trials.is_none().then_some(Setting::Window) };
    let dropped = match &trials {
        Some(trials) => placed.in_their_trials(trials, &window, strictness)?,
        None => None,
    };
    let outside = placed.inside(&window, strictness)?;
    warnings.splice(0..0, dropped.into_iter().chain(outside));
    let events = Events::new(placed.points, window)?;
    let has_dates = dates_only.contains(&true);
    let has_degrees = pair.is_some() || geography::called(&axes).is_some();
    let (trials, types) = match names {
        Some(names) => (None, Some(TypeLabels { names, kinds: placed.trials.unwrap_or_default() })),
        None => (placed.trials, None),
    };
    Ok(Loaded { events, trials, types, has_dates, has_degrees, source: file_name(path), warnings })
}

/// The column of types, once it is known to be there.
fn type_column(
    source: &str,
    column: &str,
    header: &[(String, bool)],
    settings: &EventSettings,
) -> Result<String, InputError> {
    let given = Setting::Type.given(column);
    if settings.trials.is_some() || settings.trial_column.is_some() {
        let said = message![given, " cannot be had with trials: an event has one label; give ", Setting::Repeats];
        return Err(message![said, " if all trials have the same window"].into());
    }
    if !header.iter().any(|(name, _)| name.eq_ignore_ascii_case(column)) {
        let names = header.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ");
        return Err(message![given, ": {source} has no such column, only {names}; name one of them"].into());
    }
    if settings.columns.iter().flatten().any(|own| own.eq_ignore_ascii_case(column)) {
        let said = message![given, " is a coordinate too; leave it out of ", Setting::Columns];
        return Err(said.into());
    }
    Ok(column.into())
}

/// Why trials cannot go by the clocks of a zone.
pub(super) fn trials_by_clocks(trials: Message, zone: &str) -> Message {
    let zone = Setting::TimeZone.given(zone);
    message![zone, " is not for ", trials, ", which have clocks of their own; leave one of them out"]
}

/// The axes that are degrees on the globe, which have no unit of their own.
pub fn degrees(
    axes: &[Axis],
    names: &[String],
    time: &[Option<TimeAxis>],
    dataset: Option<&Dataset>,
    settings: &EventSettings,
) -> Result<Option<Pair>, Message> {
    let geography = match (settings.geography, dataset) {
        (Geography::Recognised, Some(set)) => set.geography,
        (geography, _) => geography,
    };
    let pair = geography::pair(axes, geography)?;
    if let Some(pair) = pair {
        geography::refuse_units(pair, axes, &self::axes(names, time, dataset, &[])?)?;
    }
    Ok(pair)
}

/// Counts dates from the midnight before the window that is given, whatever events there are: models of one window then agree on time.
fn count_from_window(table: &mut Table, window: &[String]) {
    for r in 0..table.dims {
        if let Some(origin) = observed::first_midnight(r, window) {
            table.count_from(r, origin);
        }
    }
}

/// What axes are called if nothing calls them anything.
const USUAL_NAMES: [&str; 3] = ["x", "y", "z"];

/// Whether a column of this name says how many events a row stands for.
pub fn says_how_many(name: &str) -> bool {
    COUNTS.contains(&name.trim().to_lowercase().as_str())
}

/// Refuses a table in which a row seems to stand for several events, unless columns are named: taken for one event, or the number for a place, it would
/// give a wrong answer.
pub fn refuse_counts<'a>(source: &str, names: impl Iterator<Item = &'a str>) -> Result<(), Message> {
    let mut names = names;
    let Some(name) = names.find(|name| says_how_many(name)) else { return Ok(()) };
    Err(message![
        "{source} has a column `{name}`: a row is one event here, whatever a column says of their number; repeat each row as often as it counts, or \
         name the columns of the coordinates with ",
        Setting::Columns,
        " to leave `{name}` out"
    ])
}

/// The reference system that a setting names, in short.
fn system(name: &str) -> Result<String, Message> {
    Ok(format!("EPSG:{}", map_of(name)?))
}

/// The axes on a map with this reference system, or with that of the setting, if there is one.
pub(super) fn on_map(mut axes: Vec<Axis>, found: Option<&str>, settings: &EventSettings) -> Result<Vec<Axis>, Message> {
    let given = settings.crs.as_deref().map(system).transpose()?;
    let Some(crs) = given.as_deref().or(found) else { return Ok(axes) };
    // `--geography plane` says that they are no degrees, whatever they are called.
    if let (Some(given), Some(pair)) = (&given, geography::pair(&axes, settings.geography)?) {
        let [east, north] = [pair.east, pair.north].map(|r| &axes[r].name);
        return Err(message![
            "`{east}` and `{north}` are degrees, and ",
            Setting::Crs.given(given),
            " is a map: leave it out, or name the columns of the map with ",
            Setting::Columns
        ]);
    }
    match &mut axes[..] {
        [one, other, ..] if one.origin.is_none() && other.origin.is_none() => {
            [one, other].into_iter().for_each(|axis| axis.crs = Some(crs.into()));
        }
        // Who takes other columns of a file than its coordinates has no map.
        _ if given.is_none() => {}
        _ => {
            return Err(message![
                Setting::Crs.given(crs),
                " is of two coordinates on a map; name them with ",
                Setting::Columns
            ]);
        }
    }
    Ok(axes)
}

/// What is read of a table.
pub fn read_options(dataset: Option<&Dataset>, settings: &EventSettings) -> Result<ReadOptions, Message> {
    let time_unit = settings.time_unit;
    let own_columns = || dataset.map(|set| set.default_columns.iter().map(|name| name.to_string()).collect());
    let columns = settings.columns.clone().or_else(own_columns);
    let (dates, filter) = rows(&settings.rows)?;
    let dates = Dates { zone: settings.time_zone.as_deref().map(Zone::named).transpose()?, ..dates };
    let systems = match &settings.crs {
        Some(name) => Systems::Map(system(name)?),
        None => Systems::Any,
    };
    Ok(ReadOptions { columns, time_unit, label: None, skip_bad: settings.skip_bad, dates, filter, systems })
}

/// The columns of a table of events, and which of them hold numbers or dates.
pub fn header_of(source: &str, bytes: &[u8], settings: &RowSettings) -> Result<Vec<(String, bool)>, InputError> {
    read_header(source_name(source), bytes, &rows(settings)?.0)
}

/// Which rows are read, and how.
fn rows(settings: &RowSettings) -> Result<(Dates, Option<Filter>), Message> {
    let format = settings.date_format.as_deref().map(Pattern::parse).transpose()?;
    Ok((
        Dates { format, epoch: settings.epoch, zone: None },
        settings.filter.as_deref().map(Filter::parse).transpose()?,
    ))
}

/// What to say of how a table was read.
fn notes(table: &Table, settings: &RowSettings) -> Vec<Message> {
    let kept = kept(settings, table.lines.len() as u64, table.left_out);
    table.notes.iter().cloned().chain(kept).collect()
}

/// What to say of rows that the filter left out.
pub fn kept(settings: &RowSettings, taken: u64, left_out: u64) -> Option<Message> {
    let (condition, total) = (settings.filter.as_deref().unwrap_or_default(), taken + left_out);
    (left_out > 0).then(|| message![Setting::Filter.given(condition), " kept {taken} of {total} rows"])
}

/// What to say of bad rows that were passed over.
pub fn skipped(count: u64, counting: Counting) -> Option<Message> {
    let (word, words) = (counting.word(), counting.words());
    match count {
        0 => None,
        1 => Some(message!["1 bad {word} was skipped"]),
        _ => Some(message!["{count} bad {words} were skipped"]),
    }
}

/// How far the columns of a table reach.
fn ends(table: &Table) -> Vec<(f64, f64)> {
    let values = |r: usize| table.rows.iter().skip(r).step_by(table.dims).copied();
    let reach = |r: usize| values(r).fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), v| (lo.min(v), hi.max(v)));
    (0..table.dims).map(reach).collect()
}

/// What is known of the column that says to which trial an event belongs.
struct TrialColumn<'a> {
    /// Its name, if it was said.
    named: Option<&'a str>,
    /// Whether there must be one.
    needed: bool,
    /// The columns of coordinates.
    coordinates: Option<&'a [String]>,
}

impl TrialColumn<'_> {
    /// Its name: the one that was said, else `trial` if there is one that is not a coordinate.
    fn find(&self, source: &str, header: &[(String, bool)]) -> Result<Option<String>, InputError> {
        let has = |name: &str| header.iter().any(|(found, _)| found.to_lowercase() == name.to_lowercase());
        let needed = self.needed || self.named.is_some();
        let usual = if !needed && !has(TRIAL_COLUMN) { DRAW_COLUMN } else { TRIAL_COLUMN };
        let name = self.named.unwrap_or(usual);
        let is_there = has(name);
        if needed && !is_there {
            let names = header.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ");
            return Err(message![
                "{source} has no column `{name}`; say with ",
                Setting::TrialColumn,
                " which of {names} names the trial"
            ]
            .into());
        }
        let coordinates = self.coordinates.iter().copied().flatten();
        let is_coordinate = || coordinates.clone().any(|column| column.to_lowercase() == name.to_lowercase());
        Ok((is_there && (needed || !is_coordinate())).then(|| name.to_string()))
    }
}

impl Placed {
    /// The points of a table; its labels are trials, known from a file or `repeats` in number.
    fn new(
        table: Table,
        trials: Option<&Trials>,
        repeats: usize,
        warnings: &mut Vec<Message>,
    ) -> Result<Self, InputError> {
        let Table { rows, dims, lines, counting, labels, source, .. } = table;
        let numbers = match trials {
            _ if labels.is_empty() => None,
            Some(trials) => Some(trials.places(&source, &labels, &lines)?),
            None => {
                let (numbers, count) = numbered(&labels);
                if repeats == 1 && count > 1 {
                    warnings.push(message![
                        "{source} has events of {count} trials, and their rates add up: for the rate of one trial, give ",
                        Setting::Repeats,
                        " or ",
                        Setting::Trials
                    ]);
                } else if count > repeats {
                    return Err(more_trials(&source, count, repeats, Setting::Repeats).into());
                }
                Some(numbers)
            }
        };
        Ok(Self { points: Points::new(dims, rows)?, lines, counting, trials: numbers, source, notes: Vec::new() })
    }

    /// Refuses points outside the window, or where it was not looked at; with `clip` drops them, and says so in the sentences it returns.
    pub fn inside(&mut self, window: &Window, strictness: Strictness) -> Result<Vec<Message>, InputError> {
        let never = match left_out(window) {
            Some((zone, is_left_out)) => {
                let is_shown = |_: usize, point: &[f64]| !is_left_out(point);
                self.sift(window.axes(), strictness.clip, is_shown, Words::never(zone), |_| String::new())?
            }
            None => None,
        };
        let words = Words::outside(window, &self.points, &self.bounding_box(window.axes()), strictness.remedy);
        let is_inside = |_: usize, point: &[f64]| window.contains(point);
        let outside = self.sift(window.axes(), strictness.clip, is_inside, words, |_| String::new())?;
        let words = Words::unseen();
        let is_seen = |_: usize, point: &[f64]| window.exposure_at(point) > 0.0;
        let unseen = self.sift(window.axes(), strictness.clip, is_seen, words, |_| String::new())?;
        Ok(never.into_iter().chain(outside).chain(unseen).collect())
    }

    /// The same for the trial that each belongs to.
    fn in_their_trials(
        &mut self,
        trials: &Trials,
        window: &Window,
        strictness: Strictness,
    ) -> Result<Option<Message>, InputError> {
        let (axis, source) = (&window.axes()[0], &trials.source);
        let own = self.trials.clone().unwrap_or_default();
        let words = Words {
            place: "outside their trial".into(),
            missed: message!["no event lies inside its trial; see {source}"],
            remedy: message!["correct {source}, or "],
        };
        let is_inside = |n: usize, point: &[f64]| trials.covers(own[n], point[0]);
        self.sift(window.axes(), strictness.clip, is_inside, words, |n| format!("; {}", trials.show(own[n], axis)))
    }

    /// Keeps the points for which `keep` holds: all of them, or with `clip` those that are left, and a sentence on the others.
    fn sift(
        &mut self,
        axes: &[Axis],
        clip: bool,
        keep: impl Fn(usize, &[f64]) -> bool,
        words: Words,
        detail: impl Fn(usize) -> String,
    ) -> Result<Option<Message>, InputError> {
        let kept: Vec<bool> = self.points.rows().enumerate().map(|(n, row)| keep(n, row)).collect();
        let Some(first) = kept.iter().position(|kept| !kept) else { return Ok(None) };
        let misplaced = Misplaced {
            count: kept.iter().filter(|kept| !**kept).count() as u64,
            total: self.points.len() as u64,
            source: self.source.clone(),
            first: format!("{} {}", self.counting.word(), self.lines[first]),
            at: show_point(self.points.row(first), axes) + &detail(first),
        };
        let sentence = misplaced.judge(words, clip)?;
        self.keep(&kept)?;
        Ok(Some(sentence))
    }

    fn keep(&mut self, kept: &[bool]) -> Result<(), InputError> {
        let rows = self.points.rows().zip(kept).filter(|(_, kept)| **kept);
        self.points = Points::new(self.points.dims(), rows.flat_map(|(row, _)| row.to_vec()).collect())?;
        let mut places = kept.iter();
        self.lines.retain(|_| places.next().copied().unwrap_or(false));
        if let Some(trials) = &mut self.trials {
            let mut places = kept.iter();
            trials.retain(|_| places.next().copied().unwrap_or(false));
        }
        Ok(())
    }

    /// The box around the points, for a message.
    fn bounding_box(&self, axes: &[Axis]) -> String {
        let reach = |r: usize| {
            let fold = |(lo, hi): (f64, f64), row: &[f64]| (lo.min(row[r]), hi.max(row[r]));
            self.points.rows().fold((f64::INFINITY, f64::NEG_INFINITY), fold)
        };
        show_box((0..self.points.dims()).map(reach), axes)
    }
}

/// Events that cannot stay.
#[derive(Clone, Debug)]
pub struct Misplaced {
    /// How many.
    pub count: u64,
    /// Of how many.
    pub total: u64,
    /// The file of the first of them.
    pub source: String,
    /// Its line or row.
    pub first: String,
    /// Where it is.
    pub at: String,
}

impl Misplaced {
    /// Refuses them, or with `clip` gives a sentence that they were dropped.
    pub fn judge(&self, words: Words, clip: bool) -> Result<Message, InputError> {
        let Self { count, total, source, first, at } = self;
        let Words { place, missed, remedy } = words;
        let of = format!("of {total} events lie{}", if *count == 1 { "s" } else { "" });
        match clip {
            _ if count == total => Err(InputError::Misplaced(message!["{source}: ", missed])),
            true => Ok(message!["{count} {of} {place}, dropped"]),
            false => Err(InputError::Misplaced(message![
                "{source}: {count} {of} {place}, the first on {first} ({at}); ",
                remedy,
                "drop such events with ",
                Setting::Clip
            ])),
        }
    }
}

/// The words for points that cannot stay.
#[derive(Clone, Debug)]
pub struct Words {
    /// Where they lie.
    place: String,
    /// What to say if all of them do.
    missed: Message,
    /// What to do about it besides dropping them, with a comma and `or`.
    remedy: Message,
}

impl Words {
    /// For those outside the window; some of the events tell what may be wrong, and all of them lie in `around`.
    pub fn outside(window: &Window, events: &Points, around: &str, remedy: Option<Setting>) -> Self {
        let shown = show_window(window);
        let missed = message!["no event lies inside the window {shown}: they lie in {around}"];
        let (missed, remedy) = match (observed::doubt(events, window), remedy) {
            (Some(doubt), _) => (message![missed, "; ", doubt.clone()], message![doubt, ", or "]),
            (None, None) => (message![missed, "; give others"], Message::default()),
            (None, Some(setting)) => {
                (message![missed, "; give another window"], message!["give a larger ", setting, ", or "])
            }
        };
        Self { place: format!("outside the window {shown}"), missed, remedy }
    }

    /// For those at times that the clocks of a zone never show.
    pub(super) fn never(zone: &str) -> Self {
        Self {
            place: format!("in time that the clocks of {zone} leave out"),
            missed: message![
                "every event lies in time that the clocks of {zone} leave out; correct ",
                Setting::TimeZone
            ],
            remedy: message!["correct their times or ", Setting::TimeZone, ", or "],
        }
    }

    /// For those where nobody looked.
    pub fn unseen() -> Self {
        Self {
            place: "where the exposure is zero".into(),
            missed: message!["every event lies where the exposure is zero; give another ", Setting::Exposure],
            remedy: "correct the exposure, or ".into(),
        }
    }
}

/// What to say of more trials than there are looks.
fn more_trials(source: &str, count: usize, repeats: usize, setting: Setting) -> Message {
    message!["{source} has events of {count} trials, more than the {repeats} of ", setting, "; correct it"]
}

/// The names among labels: by value if they are numbers, else as they come.
fn names_of(labels: &[String]) -> Vec<String> {
    let mut names: Vec<&str> = Vec::new();
    let mut seen = HashMap::new();
    for label in labels {
        seen.entry(label.as_str()).or_insert_with(|| names.push(label));
    }
    let values: Option<Vec<f64>> = names.iter().map(|name| name.parse().ok()).collect();
    if let Some(values) = values {
        let mut order: Vec<usize> = (0..names.len()).collect();
        order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
        names = order.iter().map(|&i| names[i]).collect();
    }
    names.into_iter().map(String::from).collect()
}

/// Labels as numbers from 0, in the order of their names, and how many there are.
fn numbered(labels: &[String]) -> (Vec<usize>, usize) {
    let names = names_of(labels);
    let places: HashMap<&str, usize> = names.iter().enumerate().map(|(i, name)| (name.as_str(), i)).collect();
    (labels.iter().map(|label| places[label.as_str()]).collect(), names.len())
}

/// Reads points for a model: in the columns asked for, else in those called as its axes, else in the numeric ones.
pub fn read_points(
    path: &str,
    columns: Option<&[String]>,
    axes: &[Axis],
    settings: &RowSettings,
) -> Result<Placed, InputError> {
    let table = on_axes((source_name(path), &bytes_of(path)?), columns, None, axes, settings)?;
    let notes = notes(&table, settings);
    let points = Points::new(axes.len(), table.rows)?;
    Ok(Placed { points, lines: table.lines, counting: table.counting, trials: None, source: table.source, notes })
}

/// The same, with the texts of another column.
pub(super) fn labelled_points(
    path: &str,
    label: &str,
    axes: &[Axis],
    settings: &RowSettings,
) -> Result<(Points, Vec<String>), InputError> {
    let (source, bytes) = (source_name(path), bytes_of(path)?);
    let header = read_header(source, &bytes, &Dates::default())?;
    let named = |wanted: &str| header.iter().any(|(name, _)| name.eq_ignore_ascii_case(wanted));
    let missing = axes.iter().find(|axis| column_of(&header, axis).is_none()).map(|axis| axis.name.as_str());
    if let Some(missing) = missing.or((!named(label)).then_some(label)) {
        let names = header.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ");
        return Err(message!["{source} has no column {missing}, only {names}; call its columns as the axes of the events, and the values {label}"].into());
    }
    let table = on_axes((source, &bytes), None, Some(label.into()), axes, settings)?;
    Ok((Points::new(axes.len(), table.rows)?, table.labels))
}

/// A table in those columns, with its numbers on the axes of a model, and its labels if it has a column of them.
fn on_axes(
    (source, bytes): (&str, &[u8]),
    columns: Option<&[String]>,
    label: Option<String>,
    axes: &[Axis],
    settings: &RowSettings,
) -> Result<Table, InputError> {
    // Dates are read in the model's unit, so that only the origin of time can differ.
    let time_unit = axes.iter().find_map(time_axis).map(|time| time.unit).unwrap_or_default();
    let (dates, filter) = rows(settings)?;
    let dates = Dates { zone: axes.iter().find_map(time_axis).and_then(|time| time.zone), ..dates };
    let read = ReadOptions { time_unit, dates, filter, label, systems: Systems::of(axes), ..Default::default() };
    let read_columns = |columns| read_bytes(source, bytes, &ReadOptions { columns, ..read.clone() });
    let own_column = |header: &[(String, bool)], axis: &Axis| column_of(header, axis).unwrap_or(&axis.name).to_string();
    let mut table = match columns {
        Some(columns) => read_columns(Some(columns.to_vec()))?,
        None => {
            let header = read_header(source, bytes, &read.dates)?;
            match read_columns(Some(axes.iter().map(|axis| own_column(&header, axis)).collect())) {
                Err(InputError::NoSuchColumn { .. }) => read_columns(None)?,
                table => table?,
            }
        }
    };
    if table.dims != axes.len() {
        let names: Vec<&str> = axes.iter().map(|axis| axis.name.as_str()).collect();
        let (found, needed) = (plural(table.dims, "column", "columns"), plural(axes.len(), "axis", "axes"));
        let (source, names) = (&table.source, names.join(", "));
        return Err(message![
            "{source} gives {found}, but the model has {needed} ({names}); choose with ",
            Setting::Columns
        ]
        .into());
    }
    for (r, axis) in axes.iter().enumerate() {
        onto_axis(&mut table, r, axis, false)?;
    }
    Ok(table)
}

/// What is said of held-out events.
#[derive(Clone, Debug)]
pub struct HeldOut<'a> {
    /// Where they are.
    pub path: &'a str,
    /// In which columns, if it is said.
    pub columns: Option<&'a [String]>,
    /// How many looks at the window they come from, if it is said.
    pub repeats: Option<usize>,
    /// The table of their trials.
    pub trials: Option<&'a str>,
    /// The column that names their trials.
    pub trial_column: Option<&'a str>,
    /// Which rows they are, and how these are read.
    pub rows: RowSettings,
    /// Drop those that cannot stay.
    pub clip: bool,
    /// By which settings `repeats` and `trials` were given.
    pub said_by: LooksSaidBy,
}

/// The settings that say how often held-out events were looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LooksSaidBy {
    /// Those of events, where held-out ones are the only ones.
    Own,
    /// Settings of their own, beside those of the events that are fitted.
    HeldOut,
}

impl LooksSaidBy {
    fn repeats(self) -> Setting {
        match self {
            Self::Own => Setting::Repeats,
            Self::HeldOut => Setting::HeldOutRepeats,
        }
    }

    fn trials(self) -> Setting {
        match self {
            Self::Own => Setting::Trials,
            Self::HeldOut => Setting::HeldOutTrials,
        }
    }
}

/// Held-out events, and how many trials they come from.
#[derive(Clone, Debug)]
pub struct HeldOutEvents {
    /// The events in what was looked at of the window.
    pub events: Events,
    /// Trials, repeats, looks.
    pub trials: usize,
    /// What the user should know of how they were read.
    pub warnings: Vec<Message>,
    /// What was taken for granted.
    pub notes: Vec<Message>,
}

/// Reads held-out events for what was fitted over `window`: they come from there, but were looked for as often as they themselves say.
pub fn read_held_out(asked: &HeldOut<'_>, window: &Window) -> Result<HeldOutEvents, InputError> {
    let (path, axes) = (asked.path, window.axes());
    let bytes = bytes_of(path)?;
    let names: Vec<String> = axes.iter().map(|axis| axis.name.clone()).collect();
    let given = (source_name(path), &bytes[..]);
    let trial = TrialColumn {
        named: asked.trial_column,
        needed: asked.trials.is_some(),
        coordinates: Some(asked.columns.unwrap_or(&names)),
    };
    let label = trial.find(given.0, &read_header(given.0, given.1, &rows(&asked.rows)?.0)?)?;
    let table = on_axes(given, asked.columns, label, axes, &asked.rows)?;
    if let (Some(path), Some(zone)) = (asked.trials, axes.iter().find_map(|axis| axis.zone.as_deref())) {
        return Err(trials_by_clocks(asked.said_by.trials().given(path), zone).into());
    }
    let trials = asked.trials.map(|path| observed::trials(path, On::any(axes))).transpose()?;
    let mut taken = Vec::new();
    let (own, count) = match &trials {
        Some(trials) => (trials_inside(trials, window, asked.clip)?, trials.len()),
        None => {
            let labelled = if table.labels.is_empty() { None } else { Some(numbered(&table.labels).1) };
            let said = Repeats { said: asked.repeats, labelled, bundled: datasets::find(path).map(|set| set.repeats) };
            let repeats = repeats_held_out(said, given.0, asked.said_by, window, &mut taken)?;
            let once = window.clone().looked_at_once();
            (on_clocks(once.clone())?.unwrap_or(once).with_repeats(repeats)?, repeats)
        }
    };
    // How many trials there are has been settled.
    let mut warnings = notes(&table, &asked.rows);
    let mut placed = Placed::new(table, trials.as_ref(), usize::MAX, &mut Vec::new())?;
    let strictness = Strictness { clip: asked.clip, remedy: None };
    if let Some(trials) = &trials {
        warnings.extend(placed.in_their_trials(trials, &own, strictness)?);
    }
    warnings.extend(placed.inside(&own, strictness)?);
    Ok(HeldOutEvents { events: Events::new(placed.points, own)?, trials: count, warnings, notes: taken })
}

/// What is known of how many looks held-out events come from.
#[derive(Clone, Copy, Debug, Default)]
pub struct Repeats {
    /// What was said.
    pub said: Option<usize>,
    /// How many trials their labels tell apart.
    pub labelled: Option<usize>,
    /// That of a bundled set.
    pub bundled: Option<usize>,
}

/// How many looks at the window held-out events come from, if nothing says when each trial was looked at. What cannot be told is refused:
/// with another number the scores would be those of other events.
pub fn repeats_held_out(
    known: Repeats,
    source: &str,
    said_by: LooksSaidBy,
    window: &Window,
    taken: &mut Vec<Message>,
) -> Result<usize, Message> {
    let (setting, labelled) = (said_by.repeats(), known.labelled);
    if let Some(repeats) = known.said {
        return match (repeats, labelled) {
            (0, _) => Err(message![setting.given(0), " means that nobody looked; give at least 1"]),
            // One look may be all trials together.
            (2.., Some(count)) if count > repeats => Err(more_trials(source, count, repeats, setting)),
            _ => Ok(repeats),
        };
    }
    if let Some(repeats) = known.bundled {
        return Ok(repeats);
    }
    let often = looks(window);
    if often.iter().any(|repeats| *repeats != often[0]) {
        return Err(message![
            "the trials that were fitted differ in their times, so those of {source} must be known: give ",
            said_by.trials(),
            ", or ",
            setting,
            " if each was looked at over the whole window"
        ]);
    }
    match (often[0], labelled) {
        (1.0, None | Some(1)) => Ok(1),
        (1.0, Some(count)) => Err(message![
            "{source} has events of {count} trials, but one look at the window was fitted: give ",
            setting.given(count),
            " if its rate is that of one trial, ",
            setting.given(1),
            " if it is that of all together"
        ]),
        (_, Some(count)) => {
            taken.push(message![
                "{source} has events of {count} trials, taken for all that were looked at; if some had no event, give ",
                setting
            ]);
            Ok(count)
        }
        (fitted, None) => Err(message![
            "{fitted} trials were fitted, and {source} does not say how many it has: give ",
            setting,
            ", or name a column of trials with ",
            Setting::TrialColumn
        ]),
    }
}

/// The window of held-out trials, which lies in `window` and has its exposure; with `clip` the part that does.
fn trials_inside(trials: &Trials, window: &Window, clip: bool) -> Result<Window, InputError> {
    let own = Window::trials(&trials.intervals())?;
    let (source, shown) = (&trials.source, show_window(window));
    let Some(inside) = window.intersection(&own) else {
        return Err(message!["{source}: no trial lies inside the window {shown} that was fitted"].into());
    };
    let reaches_beyond = inside.volume() < own.volume() * (1.0 - 1e-9);
    if reaches_beyond && !clip {
        return Err(message![
            "{source}: trials reach beyond the window {shown} that was fitted; drop what lies beyond it with ",
            Setting::Clip
        ]
        .into());
    }
    Ok(inside)
}

/// The bytes of a bundled set or of a table in a file.
pub fn bytes_of(path: &str) -> Result<Cow<'static, [u8]>, InputError> {
    match datasets::find(path) {
        Some(set) => Ok(set.csv.into()),
        None => open(path)?.table().map(Cow::from),
    }
}

/// The same, opened and not yet read.
pub fn open(path: &str) -> Result<Opened, InputError> {
    match datasets::find(path) {
        Some(set) => Opened::new(path, Input::Memory(set.csv)),
        None => Opened::open(path).map_err(or_misspelt),
    }
}

/// One of several inputs, opened to see what it is. Files are closed again, since there may be many; a pipe stays open for the one time that it
/// can be read.
pub struct Peeked {
    path: String,
    kept: Option<Opened>,
    is_summary: bool,
    can_be_read_again: bool,
}

impl Peeked {
    /// Looks at the input at a path.
    pub fn look(path: &str) -> Result<Self, InputError> {
        let opened = open(path)?;
        let (is_summary, can_be_read_again) = (opened.is_summary(), opened.can_be_read_again());
        Ok(Self { path: path.into(), kept: (!can_be_read_again).then_some(opened), is_summary, can_be_read_again })
    }

    /// All of several.
    pub fn look_at(paths: &[String]) -> Result<Vec<Self>, InputError> {
        paths.iter().map(|path| Self::look(path)).collect()
    }

    /// As it was given.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Whether it is a summary.
    pub fn is_summary(&self) -> bool {
        self.is_summary
    }

    /// Whether it can be opened more than once.
    pub fn can_be_read_again(&self) -> bool {
        self.can_be_read_again
    }

    /// Opens it, at its beginning.
    pub fn open(&mut self) -> Result<Opened, InputError> {
        self.kept.take().map_or_else(|| open(&self.path), Ok)
    }
}

/// A bare word may be a misspelt bundled set.
fn or_misspelt(error: InputError) -> InputError {
    match error {
        InputError::Missing { file } if !file.contains(['.', '/', '\\']) => {
            InputError::Missing { file: format!("{file} is no bundled set ({}), and as a file it", datasets::names()) }
        }
        error => error,
    }
}

/// Names for axes that have only numbers: those of columns without a header.
fn usual_names(time: &[Option<TimeAxis>]) -> Vec<String> {
    let many = time.len() > USUAL_NAMES.len() || time.iter().flatten().count() > 1;
    let name = |(r, time): (usize, &Option<TimeAxis>)| match time {
        _ if many => format!("x{}", r + 1),
        Some(_) => "time".into(),
        None => USUAL_NAMES[r].into(),
    };
    time.iter().enumerate().map(name).collect()
}

/// What the columns mean, in the units that the options name.
pub fn axes(
    names: &[String],
    time: &[Option<TimeAxis>],
    dataset: Option<&Dataset>,
    units: &[String],
) -> Result<Vec<Axis>, Message> {
    let names = if names.iter().all(|name| name.parse::<usize>().is_ok()) { usual_names(time) } else { names.to_vec() };
    let axis = |(name, time): (&String, &Option<TimeAxis>)| {
        let known = dataset.and_then(|set| set.column(name));
        let (unit, origin) = match (time, known) {
            (Some(time), _) => (Some(time.unit.to_string()), Some(time.origin_unix_seconds)),
            (None, Some(column)) => (Some(column.unit.to_string()), column.origin.and_then(seconds)),
            (None, None) => (None, None),
        };
        let zone = time.and_then(|time| time.zone).map(|zone| zone.name().to_string());
        Axis { name: name.clone(), unit, origin, zone, ..Axis::default() }
    };
    let mut axes: Vec<Axis> = names.iter().zip(time).map(axis).collect();
    let named: Vec<&str> = units.iter().map(|text| text.split_once('=').map_or("", |(name, _)| name.trim())).collect();
    if repeated(&named).is_some() {
        let given = Message::joined(units.iter().map(|unit| Setting::Unit.given(unit)), " ");
        return Err(message![given, ": one axis cannot have two units; give one"]);
    }
    units.iter().try_for_each(|text| name_unit(text, &mut axes))?;
    Ok(axes)
}

/// What is no axis, but may have a unit.
const EXPOSURE: &str = "exposure";

/// The unit that one of these gives the exposure, as in `exposure=person-years`; an axis that is called so has the name for itself.
pub(super) fn exposure_unit(units: &[String], axes: &[Axis]) -> Result<Option<String>, Message> {
    let named = units.iter().find(|text| is_of_exposure(text, axes));
    named.map(|text| named_unit(text).map(|(_, unit)| unit.to_string())).transpose()
}

fn is_of_exposure(text: &str, axes: &[Axis]) -> bool {
    let is_exposure = |name: &str| name.trim().eq_ignore_ascii_case(EXPOSURE);
    text.split_once('=').is_some_and(|(name, _)| is_exposure(name)) && !axes.iter().any(|axis| is_exposure(&axis.name))
}

/// A setting of a unit as what it names, if it does, and the unit.
fn named_unit(text: &str) -> Result<(&str, &str), Message> {
    let (name, unit) = text.split_once('=').map_or(("", text), |(name, unit)| (name.trim(), unit));
    let unit = unit.trim();
    if unit.is_empty() || unit.chars().any(char::is_control) {
        return Err(message![
            Setting::Unit.given(text),
            ": the unit is empty; write it as in ",
            Setting::Unit.given("t=s")
        ]);
    }
    Ok((name, unit))
}

/// Gives axes a unit: `t=s` one of them, `area=km²` those of a plane, `m` all that hold numbers. That of the exposure is none of theirs.
fn name_unit(text: &str, axes: &mut [Axis]) -> Result<(), Message> {
    let (name, unit) = named_unit(text)?;
    if is_of_exposure(text, axes) {
        // The window has it.
        return Ok(());
    }
    let refuse = |why: Message| Err(message![Setting::Unit.given(text), ": ", why]);
    let names = axes.iter().map(|axis| axis.name.as_str()).collect::<Vec<_>>().join(", ");
    let is_called = |axis: &Axis| axis.name.to_lowercase() == name.to_lowercase();
    let chosen: Vec<usize> = match name {
        _ if !text.contains('=') => (0..axes.len()).filter(|&r| axes[r].origin.is_none()).collect(),
        _ if axes.iter().any(is_called) => (0..axes.len()).filter(|&r| is_called(&axes[r])).collect(),
        "area" if axes.len() > 1 => vec![0, 1],
        _ => return refuse(message!["there is no axis `{name}`; name one of {names}"]),
    };
    // The unit of an area is the square of that of its sides.
    let side = ["²", "^2", "2"].iter().find_map(|power| unit.strip_suffix(power)).map(str::trim);
    let is_area = name == "area" && !axes.iter().any(is_called);
    let unit = match side.filter(|side| !side.is_empty()) {
        Some(side) if is_area => side,
        _ if is_area => return refuse("an area has the square of a unit; write it as in area=km²".into()),
        _ => unit,
    };
    for r in chosen {
        if axes[r].origin.is_some() {
            let name = &axes[r].name;
            return refuse(message!["`{name}` is time, whose unit is that of ", Setting::TimeUnit]);
        }
        axes[r].unit = Some(unit.into());
    }
    Ok(())
}

/// A date in seconds since 1970.
fn seconds(date: &str) -> Option<f64> {
    TimeAxis::epoch(TimeUnit::Seconds).from_iso(date)
}

/// The window of a bundled set, if it is known for all the axes.
pub fn own_window(set: &Dataset, axes: &[Axis]) -> Option<Window> {
    let spans: Option<Vec<&str>> = axes.iter().map(|axis| set.column(&axis.name).map(|column| column.span)).collect();
    let text = &spans?.join(",");
    observed::region(Given { setting: Setting::Window, text }, On::any(axes)).ok()
}

/// The smallest box around events that reach so far, with a warning; an axis on which all are equal is given some room.
pub fn bounding_box(ends: &[(f64, f64)], axes: &[Axis], warnings: &mut Vec<Message>) -> Result<Window, InputError> {
    let mut spans = Vec::with_capacity(axes.len());
    let mut widened = Vec::new();
    for (axis, &(lo, hi)) in axes.iter().zip(ends) {
        // Half a unit, or more where numbers are so large that half a unit is nothing.
        let room = if lo < hi { 0.0 } else { 0.5f64.max(1e-9 * lo.abs()) };
        if room > 0.0 {
            widened.push(format!("`{}`", axis.name));
        }
        spans.push((lo - room, hi + room));
    }
    let window = Window::new(&spans)?.with_axes(axes.to_vec())?;
    let shown = show_window(&window);
    let widened = match widened.len() {
        0 => String::new(),
        _ => format!(", widened on {} where all events are at one place", widened.join(" and ")),
    };
    warnings.push(message![
        "no ",
        Setting::Window,
        " was given, so the bounding box of the events is taken{widened}: {shown}; if events were looked for beyond it, give ",
        Setting::Window
    ]);
    Ok(window)
}

/// The last part of a path.
pub fn file_name(path: &str) -> String {
    let name = std::path::Path::new(path).file_name().map(|name| name.to_string_lossy().into_owned());
    if path == "-" { source_name(path).into() } else { name.unwrap_or_else(|| path.into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trials_are_numbered_by_value_or_as_they_come() {
        let numbers = |labels: &[&str]| numbered(&labels.iter().map(ToString::to_string).collect::<Vec<_>>());
        assert_eq!(numbers(&["10", "9", "10", "1"]), (vec![2, 1, 2, 0], 3));
        assert_eq!(numbers(&["b", "9", "b", "a"]), (vec![0, 1, 0, 2], 3));
    }
}
