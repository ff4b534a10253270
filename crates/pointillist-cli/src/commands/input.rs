//! Events and points in: a table, the window it belongs to, and the axes both share.

use super::{Context, Failure, spec, window};
use crate::args::{EpochName, EventOptions, HeldOutOptions, RivalOptions, RowOptions};
use crate::datasets::{self, Dataset};
use crate::io::{self, Counting, InputError, ReadOptions, Table, TimeAxis, TimeUnit, Trials};
use crate::options::Mode;
use pointillist::{Axis, Events, Points, Window};
use std::borrow::Cow;
use std::collections::HashMap;

/// The column of trials, unless another is named.
pub const TRIAL_COLUMN: &str = "trial";
/// The column that tells the draws of `simulate` and `sample` apart, which are taken as trials.
pub const DRAW_COLUMN: &str = "draw";

/// Events ready to be fitted.
pub struct Loaded {
    /// The events in their window.
    pub events: Events,
    /// For each event the number of its trial from 0, if they have trials.
    pub trials: Option<Vec<usize>>,
    /// Whether a coordinate is a date.
    pub has_dates: bool,
    /// Where they came from: the last part of the path.
    pub source: String,
    /// What the user should know of how they were read.
    pub warnings: Vec<String>,
}

impl Loaded {
    /// Refuses options that mean nothing for such events.
    pub fn refuse_idle(&self, context: &Context) -> Result<(), Failure> {
        if self.has_dates { Ok(()) } else { context.refuse_idle(Mode::NoDates) }
    }
}

/// Points on the axes of a model, with the lines they stood on and the trials they belong to.
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
    notes: Vec<String>,
}

/// What to do about events that cannot stay.
pub struct Strictness<'a> {
    /// Drop them.
    pub clip: bool,
    /// The option that may be wrong; empty if there is none.
    pub remedy: &'a str,
}

/// Reads events as the options say.
pub fn events(path: &str, options: &EventOptions) -> Result<Loaded, Failure> {
    events_from(path, None, options)
}

/// The same with the bytes of the file already at hand.
pub fn events_from(path: &str, bytes: Option<&[u8]>, options: &EventOptions) -> Result<Loaded, Failure> {
    let dataset = datasets::find(path);
    let bytes = bytes.map_or_else(|| bytes_of(path), |bytes| Ok(bytes.into()))?;
    let read = read_options(dataset, options)?;
    let (named, needed, given) =
        (options.trial_column.as_deref(), options.trials.is_some(), options.columns.as_deref());
    let label = trial_column((io::source_name(path), &bytes), &read.dates, named, needed, given)?;
    let read = ReadOptions { label, ..read };
    let table = io::read_bytes(io::source_name(path), &bytes, &read)?;
    let axes = axes(&table.names, &table.time, dataset, &options.unit)?;
    // A number would be taken for a count of days since the first event's midnight, which nobody knows beforehand.
    let dates_only: Vec<bool> = table.time.iter().map(Option::is_some).collect();
    let mut warnings: Vec<String> =
        skipped(table.skipped, table.counting).into_iter().chain(notes(&table, &options.rows)).collect();
    let trials = options.trials.as_ref().map(|path| window::trials(path, &axes, &dates_only)).transpose()?;
    let plain = match &trials {
        Some(trials) => Window::trials(&trials.intervals())?.with_axes(axes)?,
        None if !options.window.is_empty() => window::union("--window", &options.window, &axes, &dates_only)?,
        None => match dataset.and_then(|set| own_window(set, &axes)) {
            Some(window) => window,
            None => bounding_box(&ends(&table), &axes, &mut warnings)?,
        },
    };
    let repeats = match &trials {
        Some(_) => 1,
        None => options.repeats.unwrap_or(dataset.map_or(1, |set| set.repeats)),
    };
    let window = window::looked_at(plain, repeats, options.exposure.as_deref(), &dates_only, &mut warnings)?;
    let mut placed = Placed::new(table, trials.as_ref(), repeats, &mut warnings)?;
    let strictness = Strictness { clip: options.clip, remedy: if trials.is_some() { "" } else { "--window" } };
    let dropped = match &trials {
        Some(trials) => placed.in_their_trials(trials, &window, &strictness)?,
        None => None,
    };
    let outside = placed.inside(&window, &strictness)?;
    warnings.splice(0..0, dropped.into_iter().chain(outside));
    let events = Events::new(placed.points, window)?;
    let has_dates = dates_only.contains(&true);
    Ok(Loaded { events, trials: placed.trials, has_dates, source: file_name(path), warnings })
}

/// What is read of a table.
pub fn read_options(dataset: Option<&Dataset>, options: &EventOptions) -> Result<ReadOptions, Failure> {
    let time_unit = options.time_unit;
    let own_columns = || dataset.map(|set| set.default_columns.iter().map(|name| name.to_string()).collect());
    let columns = options.columns.clone().or_else(own_columns);
    let (dates, filter) = rows(&options.rows)?;
    Ok(ReadOptions { columns, time_unit, label: None, skip_bad: options.skip_bad, dates, filter })
}

/// Which rows are read, and how.
fn rows(options: &RowOptions) -> Result<(io::Dates, Option<io::Filter>), Failure> {
    let format = options.date_format.as_deref().map(io::Pattern::parse).transpose()?;
    let epoch = options.epoch.map(|unit| match unit {
        EpochName::S => io::Epoch::Seconds,
        EpochName::Ms => io::Epoch::Millis,
        EpochName::Us => io::Epoch::Micros,
        EpochName::Ns => io::Epoch::Nanos,
    });
    Ok((io::Dates { format, epoch }, options.filter.as_deref().map(io::Filter::parse).transpose()?))
}

/// What to say of how a table was read.
fn notes(table: &Table, options: &RowOptions) -> Vec<String> {
    let kept = kept(options, table.lines.len() as u64, table.left_out);
    table.notes.iter().cloned().chain(kept).collect()
}

/// What to say of rows that the filter left out.
pub fn kept(options: &RowOptions, taken: u64, left_out: u64) -> Option<String> {
    let condition = options.filter.as_deref().unwrap_or_default();
    (left_out > 0).then(|| format!("--where '{condition}' kept {taken} of {} rows", taken + left_out))
}

/// What to say of bad rows that were passed over.
pub fn skipped(count: u64, counting: Counting) -> Option<String> {
    let word = counting.word();
    match count {
        0 => None,
        1 => Some(format!("1 bad {word} was skipped")),
        _ => Some(format!("{count} bad {word}s were skipped")),
    }
}

/// How far the columns of a table reach.
fn ends(table: &Table) -> Vec<(f64, f64)> {
    let values = |r: usize| table.rows.iter().skip(r).step_by(table.dims).copied();
    let reach = |r: usize| values(r).fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), v| (lo.min(v), hi.max(v)));
    (0..table.dims).map(reach).collect()
}

/// The column that says to which trial an event belongs: the one named, else `trial` if there is one that is not a coordinate.
fn trial_column(
    (source, bytes): (&str, &[u8]),
    dates: &io::Dates,
    named: Option<&str>,
    needed: bool,
    coordinates: Option<&[String]>,
) -> Result<Option<String>, Failure> {
    let header = io::read_header(source, bytes, dates)?;
    let has = |name: &str| header.iter().any(|(found, _)| found.to_lowercase() == name.to_lowercase());
    let needed = needed || named.is_some();
    let usual = if !needed && !has(TRIAL_COLUMN) { DRAW_COLUMN } else { TRIAL_COLUMN };
    let name = named.unwrap_or(usual);
    let is_there = has(name);
    if needed && !is_there {
        let names: Vec<&str> = header.iter().map(|(name, _)| name.as_str()).collect();
        let names = names.join(", ");
        return Err(format!(
            "{source} has no column `{name}`; say with --trial-column which of {names} names the trial"
        )
        .into());
    }
    let is_coordinate =
        || coordinates.iter().copied().flatten().any(|column| column.to_lowercase() == name.to_lowercase());
    Ok((is_there && (needed || !is_coordinate())).then(|| name.to_string()))
}

impl Placed {
    /// The points of a table; its labels are trials, known from a file or `repeats` in number.
    fn new(table: Table, trials: Option<&Trials>, repeats: usize, warnings: &mut Vec<String>) -> Result<Self, Failure> {
        let Table { rows, dims, lines, counting, labels, source, .. } = table;
        let numbers = match trials {
            _ if labels.is_empty() => None,
            Some(trials) => Some(trials.places(&source, &labels, &lines)?),
            None => {
                let (numbers, count) = numbered(&labels);
                if repeats == 1 && count > 1 {
                    warnings.push(format!(
                        "{source} has events of {count} trials, and their rates add up: for the rate of one trial, give --repeats or --trials"
                    ));
                } else if count > repeats {
                    return Err(format!(
                        "{source} has events of {count} trials, more than the {repeats} of --repeats; correct it"
                    )
                    .into());
                }
                Some(numbers)
            }
        };
        Ok(Self { points: Points::new(dims, rows)?, lines, counting, trials: numbers, source, notes: Vec::new() })
    }

    /// Refuses points outside the window, or where it was not looked at; with `clip` drops them, and says so in the sentences it returns.
    pub fn inside(&mut self, window: &Window, strictness: &Strictness) -> Result<Vec<String>, Failure> {
        let words = Words::outside(window, &self.points, &self.bounding_box(window.axes()), strictness.remedy);
        let is_inside = |_: usize, point: &[f64]| window.contains(point);
        let outside = self.sift(window.axes(), strictness.clip, is_inside, words, |_| String::new())?;
        let words = Words::unseen();
        let is_seen = |_: usize, point: &[f64]| window.exposure_at(point) > 0.0;
        let unseen = self.sift(window.axes(), strictness.clip, is_seen, words, |_| String::new())?;
        Ok(outside.into_iter().chain(unseen).collect())
    }

    /// The same for the trial that each belongs to.
    fn in_their_trials(
        &mut self,
        trials: &Trials,
        window: &Window,
        strictness: &Strictness,
    ) -> Result<Option<String>, Failure> {
        let (axis, source) = (&window.axes()[0], &trials.source);
        let own = self.trials.clone().unwrap_or_default();
        let words = Words {
            place: "outside their trial".into(),
            missed: format!("no event lies inside its trial; see {source}"),
            remedy: format!("correct {source}, or "),
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
    ) -> Result<Option<String>, Failure> {
        let kept: Vec<bool> = self.points.rows().enumerate().map(|(n, row)| keep(n, row)).collect();
        let Some(first) = kept.iter().position(|kept| !kept) else { return Ok(None) };
        let misplaced = Misplaced {
            count: kept.iter().filter(|kept| !**kept).count() as u64,
            total: self.points.len() as u64,
            source: self.source.clone(),
            first: format!("{} {}", self.counting.word(), self.lines[first]),
            at: io::show_point(self.points.row(first), axes) + &detail(first),
        };
        let sentence = misplaced.judge(words, clip)?;
        self.keep(&kept)?;
        Ok(Some(sentence))
    }

    fn keep(&mut self, kept: &[bool]) -> Result<(), Failure> {
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
        io::show_box((0..self.points.dims()).map(reach), axes)
    }
}

/// Events that cannot stay.
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
    pub fn judge(&self, words: Words, clip: bool) -> Result<String, Failure> {
        let Self { count, total, source, first, at } = self;
        let Words { place, missed, remedy } = words;
        let of = format!("of {total} events lie{}", if *count == 1 { "s" } else { "" });
        match clip {
            _ if count == total => Err(format!("{source}: {missed}").into()),
            true => Ok(format!("{count} {of} {place}, dropped")),
            false => Err(format!(
                "{source}: {count} {of} {place}, the first on {first} ({at}); {remedy}drop such events with --clip"
            )
            .into()),
        }
    }
}

impl Words {
    /// For those outside the window; some of the events tell what may be wrong, and all of them lie in `around`.
    pub fn outside(window: &Window, events: &Points, around: &str, option: &str) -> Self {
        let shown = io::show_window(window);
        let missed = format!("no event lies inside the window {shown}: they lie in {around}");
        let (missed, remedy) = match (window::doubt(events, window), option) {
            (Some(doubt), _) => (format!("{missed}; {doubt}"), format!("{doubt}, or ")),
            (None, "") => (format!("{missed}; give others"), String::new()),
            (None, option) => (format!("{missed}; give another window"), format!("give a larger {option}, or ")),
        };
        Self { place: format!("outside the window {shown}"), missed, remedy }
    }

    /// For those where nobody looked.
    pub fn unseen() -> Self {
        Self {
            place: "where the exposure is zero".into(),
            missed: "every event lies where the exposure is zero; give another --exposure".into(),
            remedy: "correct the exposure, or ".into(),
        }
    }
}

/// The words for points that cannot stay.
pub struct Words {
    /// Where they lie.
    place: String,
    /// What to say if all of them do.
    missed: String,
    /// What to do about it besides dropping them, with a comma and `or`.
    remedy: String,
}

/// Labels as numbers from 0, and how many there are: by value if they are numbers, else as they come.
fn numbered(labels: &[String]) -> (Vec<usize>, usize) {
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
    let places: HashMap<&str, usize> = names.iter().enumerate().map(|(i, name)| (*name, i)).collect();
    (labels.iter().map(|label| places[label.as_str()]).collect(), names.len())
}

/// Reads points for a model: in the columns asked for, else in those called as its axes, else in the numeric ones.
pub fn points(path: &str, columns: Option<&[String]>, axes: &[Axis], options: &RowOptions) -> Result<Placed, Failure> {
    let table = on_axes((io::source_name(path), &bytes_of(path)?), columns, None, axes, options)?;
    let notes = notes(&table, options);
    let points = Points::new(axes.len(), table.rows)?;
    Ok(Placed { points, lines: table.lines, counting: table.counting, trials: None, source: table.source, notes })
}

/// A table in those columns, with its numbers on the axes of a model, and its labels if it has a column of them.
fn on_axes(
    (source, bytes): (&str, &[u8]),
    columns: Option<&[String]>,
    label: Option<String>,
    axes: &[Axis],
    options: &RowOptions,
) -> Result<Table, Failure> {
    // Dates are read in the model's unit, so that only the origin of time can differ.
    let time_unit = axes.iter().find_map(io::time_axis).map(|time| time.unit).unwrap_or_default();
    let (dates, filter) = rows(options)?;
    let read = ReadOptions { time_unit, dates, filter, label, ..Default::default() };
    let read_columns = |columns| io::read_bytes(source, bytes, &ReadOptions { columns, ..read.clone() });
    let own_column =
        |header: &[(String, bool)], axis: &Axis| io::column_of(header, axis).unwrap_or(&axis.name).to_string();
    let mut table = match columns {
        Some(columns) => read_columns(Some(columns.to_vec()))?,
        None => {
            let header = io::read_header(source, bytes, &read.dates)?;
            match read_columns(Some(axes.iter().map(|axis| own_column(&header, axis)).collect())) {
                Err(InputError::NoSuchColumn { .. }) => read_columns(None)?,
                table => table?,
            }
        }
    };
    if table.dims != axes.len() {
        let names: Vec<&str> = axes.iter().map(|axis| axis.name.as_str()).collect();
        let (found, needed) = (spec::plural(table.dims, "column", "columns"), spec::plural(axes.len(), "axis", "axes"));
        let (source, names) = (&table.source, names.join(", "));
        return Err(
            format!("{source} gives {found}, but the model has {needed} ({names}); choose with --columns").into()
        );
    }
    for (r, axis) in axes.iter().enumerate() {
        io::onto_axis(&mut table, r, axis, false)?;
    }
    Ok(table)
}

/// More events from a window that is known, in these columns; those outside it are refused, or with `clip` dropped.
pub fn events_in(
    path: &str,
    columns: Option<&[String]>,
    window: &Window,
    clip: bool,
    rows: &RowOptions,
    context: &Context,
) -> Result<Points, Failure> {
    let mut placed = points(path, columns, window.axes(), rows)?;
    placed.notes.iter().for_each(|note| context.warn(note));
    for dropped in placed.inside(window, &Strictness { clip, remedy: "" })? {
        context.warn(&dropped);
    }
    Ok(placed.points)
}

/// What is said of held-out events.
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
    pub rows: &'a RowOptions,
    /// Drop those that cannot stay.
    pub clip: bool,
    /// What the options for repeats and trials begin with, for messages.
    pub prefix: &'static str,
}

impl<'a> HeldOut<'a> {
    /// Beside events that were fitted with options of their own.
    pub fn beside(path: &'a str, looks: &'a HeldOutOptions, fitted: &'a EventOptions) -> Self {
        Self {
            path,
            columns: None,
            repeats: looks.heldout_repeats,
            trials: looks.heldout_trials.as_deref(),
            trial_column: fitted.trial_column.as_deref(),
            rows: &fitted.rows,
            clip: fitted.clip,
            prefix: "--heldout-",
        }
    }
}

/// Held-out events, and how many trials they come from.
pub struct HeldOutEvents {
    /// The events in what was looked at of the window.
    pub events: Events,
    /// Trials, repeats, looks.
    pub trials: usize,
}

/// Reads held-out events for what was fitted over `window`: they come from there, but were looked for as often as they themselves say.
pub fn held_out(asked: &HeldOut, window: &Window, context: &Context) -> Result<HeldOutEvents, Failure> {
    let (path, axes) = (asked.path, window.axes());
    let bytes = bytes_of(path)?;
    let names: Vec<String> = axes.iter().map(|axis| axis.name.clone()).collect();
    let coordinates = asked.columns.unwrap_or(&names);
    let (given, needed) = ((io::source_name(path), &bytes[..]), asked.trials.is_some());
    let label = trial_column(given, &rows(asked.rows)?.0, asked.trial_column, needed, Some(coordinates))?;
    let table = on_axes(given, asked.columns, label, axes, asked.rows)?;
    let trials = asked.trials.map(|path| window::trials(path, axes, &[false])).transpose()?;
    let (own, count) = match &trials {
        Some(trials) => (trials_inside(trials, window, asked)?, trials.len()),
        None => {
            let repeats = repeats_held_out(asked, &table, window, context)?;
            (window.clone().looked_at_once().with_repeats(repeats)?, repeats)
        }
    };
    // How many trials there are has been settled.
    let mut warnings = notes(&table, asked.rows);
    let mut placed = Placed::new(table, trials.as_ref(), usize::MAX, &mut Vec::new())?;
    let strictness = Strictness { clip: asked.clip, remedy: "" };
    if let Some(trials) = &trials {
        warnings.extend(placed.in_their_trials(trials, &own, &strictness)?);
    }
    warnings.extend(placed.inside(&own, &strictness)?);
    warnings.iter().for_each(|warning| context.warn(warning));
    Ok(HeldOutEvents { events: Events::new(placed.points, own)?, trials: count })
}

/// How many looks at the window held-out events come from, if nothing says when each trial was looked at. What cannot be told is refused:
/// with another number the scores would be those of other events.
fn repeats_held_out(asked: &HeldOut, table: &Table, window: &Window, context: &Context) -> Result<usize, Failure> {
    let (source, prefix) = (&table.source, asked.prefix);
    let labelled = if table.labels.is_empty() { None } else { Some(numbered(&table.labels).1) };
    if let Some(repeats) = asked.repeats {
        return match (repeats, labelled) {
            (0, _) => Err(format!("{prefix}repeats 0 means that nobody looked; give at least 1").into()),
            // One look may be all trials together.
            (2.., Some(count)) if count > repeats => Err(format!(
                "{source} has events of {count} trials, more than the {repeats} of {prefix}repeats; correct it"
            )
            .into()),
            _ => Ok(repeats),
        };
    }
    if let Some(set) = datasets::find(asked.path) {
        return Ok(set.repeats);
    }
    let often: Vec<f64> = window.pieces().iter().map(|piece| piece.repeats).collect();
    if often.iter().any(|repeats| *repeats != often[0]) {
        return Err(format!(
            "the trials that were fitted differ in their times, so those of {source} must be known: give {prefix}trials, or \
             {prefix}repeats if each was looked at over the whole window"
        )
        .into());
    }
    match (often[0], labelled) {
        (1.0, None | Some(1)) => Ok(1),
        (1.0, Some(count)) => Err(format!(
            "{source} has events of {count} trials, but one look at the window was fitted: give {prefix}repeats {count} if its rate is \
             that of one trial, {prefix}repeats 1 if it is that of all together"
        )
        .into()),
        (_, Some(count)) => {
            context.note(&format!(
                "{source} has events of {count} trials, taken for all that were looked at; if some had no event, give {prefix}repeats"
            ));
            Ok(count)
        }
        (fitted, None) => Err(format!(
            "{fitted} trials were fitted, and {source} does not say how many it has: give {prefix}repeats, or name a column of \
             trials with --trial-column"
        )
        .into()),
    }
}

/// The window of held-out trials, which lies in `window` and has its exposure; with `clip` the part that does.
fn trials_inside(trials: &Trials, window: &Window, asked: &HeldOut) -> Result<Window, Failure> {
    let own = Window::trials(&trials.intervals())?;
    let shown = io::show_window(window);
    let Some(inside) = window.intersection(&own) else {
        return Err(format!("{}: no trial lies inside the window {shown} that was fitted", trials.source).into());
    };
    let reaches_beyond = inside.volume() < own.volume() * (1.0 - 1e-9);
    if reaches_beyond && !asked.clip {
        return Err(format!(
            "{}: trials reach beyond the window {shown} that was fitted; drop what lies beyond it with --clip",
            trials.source
        )
        .into());
    }
    Ok(inside)
}

/// The events that a rival is to be scored on, if any.
pub fn held_out_of_rival(rival: &RivalOptions, window: &Window, context: &Context) -> Result<Option<Events>, Failure> {
    let read = |path: &String| held_out(&HeldOut::beside(path, &rival.looks, &rival.options), window, context);
    Ok(rival.heldout.as_ref().map(read).transpose()?.map(|read| read.events))
}

/// The bytes of a bundled set or of a table in a file.
pub fn bytes_of(path: &str) -> Result<Cow<'static, [u8]>, InputError> {
    match datasets::find(path) {
        Some(set) => Ok(set.csv.into()),
        None => open(path)?.table().map(Cow::from),
    }
}

/// The same, opened and not yet read.
pub fn open(path: &str) -> Result<io::Opened, InputError> {
    match datasets::find(path) {
        Some(set) => io::Opened::new(path, io::Input::Memory(set.csv)),
        None => io::Opened::open(path).map_err(or_misspelt),
    }
}

/// One of several inputs, opened to see what it is. Files are closed again, since there may be many; a pipe stays open for the one time that it
/// can be read.
pub struct Given {
    path: String,
    kept: Option<io::Opened>,
    is_summary: bool,
    can_be_read_again: bool,
}

impl Given {
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
    pub fn open(&mut self) -> Result<io::Opened, InputError> {
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

/// What the columns mean, in the units that the options name.
pub fn axes(
    names: &[String],
    time: &[Option<TimeAxis>],
    dataset: Option<&Dataset>,
    units: &[String],
) -> Result<Vec<Axis>, Failure> {
    let axis = |(name, time): (&String, &Option<TimeAxis>)| {
        let known = dataset.and_then(|set| set.column(name));
        let (unit, origin) = match (time, known) {
            (Some(time), _) => (Some(time.unit.to_string()), Some(time.origin_unix_seconds)),
            (None, Some(column)) => (Some(column.unit.to_string()), column.origin.and_then(seconds)),
            (None, None) => (None, None),
        };
        Axis { name: name.clone(), unit, origin }
    };
    let mut axes: Vec<Axis> = names.iter().zip(time).map(axis).collect();
    let named: Vec<&str> = units.iter().map(|text| text.split_once('=').map_or("", |(name, _)| name.trim())).collect();
    if spec::repeated(&named).is_some() {
        return Err(format!("--unit {}: one axis cannot have two units; give one", units.join(" --unit ")).into());
    }
    units.iter().try_for_each(|text| name_unit(text, &mut axes))?;
    Ok(axes)
}

/// Gives axes a unit: `t=s` one of them, `area=km²` those of a plane, `m` all that hold numbers.
fn name_unit(text: &str, axes: &mut [Axis]) -> Result<(), Failure> {
    let (name, unit) = text.split_once('=').map_or(("", text), |(name, unit)| (name.trim(), unit));
    let unit = unit.trim();
    let refuse = |why: String| Err(format!("--unit {text}: {why}").into());
    if unit.is_empty() || unit.chars().any(char::is_control) {
        return refuse("the unit is empty; write it as in --unit t=s".into());
    }
    let names = axes.iter().map(|axis| axis.name.as_str()).collect::<Vec<_>>().join(", ");
    let is_called = |axis: &Axis| axis.name.to_lowercase() == name.to_lowercase();
    let chosen: Vec<usize> = match name {
        _ if !text.contains('=') => (0..axes.len()).filter(|&r| axes[r].origin.is_none()).collect(),
        _ if axes.iter().any(is_called) => (0..axes.len()).filter(|&r| is_called(&axes[r])).collect(),
        "area" if axes.len() > 1 => vec![0, 1],
        _ => return refuse(format!("there is no axis `{name}`; name one of {names}")),
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
            return refuse(format!("`{}` is time, whose unit is that of --time-unit", axes[r].name));
        }
        axes[r].unit = Some(unit.into());
    }
    Ok(())
}

/// A date in seconds since 1970.
fn seconds(date: &str) -> Option<f64> {
    TimeAxis { origin_unix_seconds: 0.0, unit: TimeUnit::Seconds }.from_iso(date)
}

/// The window of a bundled set, if it is known for all the axes.
pub fn own_window(set: &Dataset, axes: &[Axis]) -> Option<Window> {
    let spans: Option<Vec<&str>> = axes.iter().map(|axis| set.column(&axis.name).map(|column| column.span)).collect();
    window::region("window", &spans?.join(","), axes, &vec![false; axes.len()]).ok()
}

/// The smallest box around events that reach so far, with a warning; an axis on which all are equal is given some room.
pub fn bounding_box(ends: &[(f64, f64)], axes: &[Axis], warnings: &mut Vec<String>) -> Result<Window, Failure> {
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
pub fn file_name(path: &str) -> String {
    let name = std::path::Path::new(path).file_name().map(|name| name.to_string_lossy().into_owned());
    if path == "-" { io::source_name(path).into() } else { name.unwrap_or_else(|| path.into()) }
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
