//! Tables of any size to a summary, in one pass and little memory.
//!
//! While a batch of events is added to the summary the next one is read. Batches are added in the order of the files, so the
//! summary does not depend on the number of threads.

use super::datasets::{self, Dataset};
use super::events::{
    DRAW_COLUMN, EventSettings, Misplaced, Peeked, TRIAL_COLUMN, Words, axes, bounding_box, degrees, file_name, kept,
    on_map, own_window, read_options, skipped,
};
use super::geography::{self, Pair, SaidBy};
use super::geojson_points::Systems;
use super::input_error::InputError;
use super::message::{Message, Setting};
use super::observed::{self, Looks};
use super::spec::counts;
use super::stream::{Chunk, Extent, Stream};
use super::summary_file::SummaryFile;
use super::table::{Counting, ReadOptions, source_name};
use super::time::{TimeAxis, TimeUnit};
use super::window::{Given, On, show_box, show_point};
use crate::message;
use pointillist::internals::parallel;
use pointillist::{Axis, Points, Summary, Window};
use std::time::Instant;

/// So many events are looked at to see what may be wrong with a window that they miss.
const SAMPLE: usize = 1000;

/// A summary just made, and what there is to say.
pub struct Summarised {
    /// As it goes into a file.
    pub file: SummaryFile,
    /// What the user should know of how the events were read.
    pub warnings: Vec<Message>,
}

/// What is being done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SummaryStage {
    /// The box around the events is looked for.
    Extent,
    /// The events are summarised.
    Summary,
}

/// How far it is.
#[derive(Clone, Copy, Debug)]
pub struct SummaryProgress {
    /// What is being done.
    pub stage: SummaryStage,
    /// Events so far.
    pub events: u64,
    /// The part of all bytes that has been read, if that is known.
    pub share: Option<f64>,
    /// Since it began.
    pub seconds: Option<f64>,
}

/// Who is told how far it is.
pub type Watch<'a> = &'a mut dyn FnMut(&SummaryProgress);

/// Several files in a few words.
pub fn names(paths: &[String]) -> String {
    match paths {
        [] => String::new(),
        [path] => part_name(path),
        [path, others @ ..] => format!("{} and {} more", part_name(path), others.len()),
    }
}

/// What stands between the name of a file and the condition that its rows satisfy.
const WHERE: &str = " where ";

/// The name of a file, with the condition that its rows satisfy if there is one: parts of one file under different conditions are different parts.
fn part_name(path: &str) -> String {
    match path.split_once(WHERE) {
        Some((path, condition)) => format!("{}{WHERE}{condition}", file_name(path)),
        None => file_name(path),
    }
}

/// Tables with the same columns.
pub struct Tables {
    given: Vec<Peeked>,
    /// The bundled set, if it is the only table.
    dataset: Option<&'static Dataset>,
    read: ReadOptions,
    /// The first of them, opened.
    first: Option<Stream>,
    /// Its columns, and which hold dates.
    names: Vec<String>,
    dates: Vec<bool>,
    settings: EventSettings,
    /// The reference system that they name, if it is that of a map.
    crs: Option<String>,
    /// What the user should know of how they are read.
    notes: Vec<Message>,
}

impl Tables {
    /// Looks at the first of them.
    pub fn new(mut given: Vec<Peeked>, settings: &EventSettings) -> Result<Self, InputError> {
        refuse(&given, settings)?;
        let dataset = if let [only] = &given[..] { datasets::find(only.path()) } else { None };
        let read = read_options(dataset, settings)?;
        let first = open(&mut given[0], &read)?;
        let crs = first.crs().map(String::from);
        // The others are in the same system.
        let read = ReadOptions { systems: crs.clone().map_or(Systems::Degrees, Systems::Map), ..read };
        let (names, dates) = (first.names().to_vec(), first.dates().to_vec());
        let (settings, notes) = (settings.clone(), first.notes().to_vec());
        Ok(Self { given, dataset, read, first: Some(first), names, dates, settings, crs, notes })
    }

    /// Whether a coordinate is a date.
    pub fn has_dates(&self) -> bool {
        self.dates.contains(&true)
    }

    /// Whether two coordinates are, or could be taken for, degrees on the globe.
    pub fn has_degrees(&self, settings: &EventSettings) -> Result<bool, InputError> {
        let axes = self.axes(&self.provisional())?;
        Ok(self.pair(settings)?.is_some() || geography::called(&axes).is_some())
    }

    /// The axes that are degrees on the globe.
    fn pair(&self, settings: &EventSettings) -> Result<Option<Pair>, Message> {
        let time = self.provisional();
        degrees(&self.axes(&time)?, &self.names, &time, self.dataset, settings)
    }

    /// Axes of time, before it is known where they begin.
    fn provisional(&self) -> Vec<Option<TimeAxis>> {
        self.dates.iter().map(|&is_date| is_date.then(|| TimeAxis::epoch(self.unit()))).collect()
    }

    fn unit(&self) -> TimeUnit {
        self.read.time_unit
    }

    /// A table, which must have the columns of the first.
    fn open(&mut self, place: usize) -> Result<Stream, InputError> {
        if place == 0
            && let Some(first) = self.first.take()
        {
            return Ok(first);
        }
        let stream = open(&mut self.given[place], &self.read)?;
        let same_names = self.read.columns.is_some() || stream.names() == self.names;
        if same_names && stream.dates() == self.dates {
            return Ok(stream);
        }
        let shown = |names: &[String], dates: &[bool]| {
            let column =
                |(name, is_date): (&String, &bool)| format!("{name}{}", if *is_date { " (dates)" } else { "" });
            names.iter().zip(dates).map(column).collect::<Vec<_>>().join(", ")
        };
        let (first, own) = (shown(&self.names, &self.dates), shown(stream.names(), stream.dates()));
        let (path, other) = (stream.source(), self.given[0].path());
        let why =
            message!["{path} has the columns {own}, but {other} has {first}; choose the same with ", Setting::Columns];
        Err(why.into())
    }

    /// Reads the events, all of them in one window, into a summary with so many cells (`100x100`): in one pass, or in a second after one that
    /// finds the box around the events.
    pub fn summarised(
        mut self,
        settings: &EventSettings,
        cells: Option<&str>,
        watch: Watch<'_>,
    ) -> Result<Summarised, InputError> {
        let mut warnings = self.notes.clone();
        let (plain, time) = self.window(settings, &mut warnings, watch)?;
        let plain = match self.pair(settings)? {
            Some(pair) => {
                let has_own = self.dataset.is_some() || !settings.window.is_empty();
                let said_by = if has_own { SaidBy::User } else { SaidBy::Events };
                geography::on_globe(plain, pair, said_by, &mut warnings)?
            }
            None => plain,
        };
        let repeats = settings.repeats.unwrap_or(self.dataset.map_or(1, |set| set.repeats));
        let looks = Looks { repeats, exposure: settings.exposure.as_deref(), units: &settings.unit };
        let window = observed::looked_at(plain, looks, &self.dates, &mut warnings)?;
        let cells = match cells {
            Some(text) => counts(Given { setting: Setting::Cells, text }, window.axes())?,
            None => Summary::usual_cells(window.dims()),
        };
        let mut pass = Pass::new(Summary::new(&window, &cells)?, time);
        let shares = self.shares();
        for (place, share) in shares.into_iter().enumerate() {
            let stream = self.open(place)?;
            pass.table(stream, share, watch)?;
        }
        pass.finish()?;
        let said = pass.misplaced(settings.clip)?;
        warnings.extend(kept(&settings.rows, pass.total, pass.left_out));
        let word = if pass.only_rows { Counting::Rows } else { Counting::Lines };
        warnings.splice(0..0, said.into_iter().chain(skipped(pass.skipped, word)));
        let condition = settings.rows.filter.as_ref().map_or(String::new(), |condition| format!("{WHERE}{condition}"));
        let sources = self.given.iter().map(|given| file_name(given.path()) + &condition).collect();
        let dropped = pass.outside.count + pass.unseen.count;
        let file = SummaryFile { summary: pass.summary, sources, skipped: pass.skipped, dropped };
        Ok(Summarised { file, warnings })
    }

    /// Where the events were looked for, and the axes of time on which their dates are counted.
    fn window(
        &mut self,
        settings: &EventSettings,
        warnings: &mut Vec<Message>,
        watch: Watch<'_>,
    ) -> Result<(Window, Vec<Option<TimeAxis>>), InputError> {
        let dates = self.dates.clone();
        let unit = self.unit();
        if !settings.window.is_empty() {
            // A window that is given says where time begins, whatever events there are: summaries of parts must agree on it.
            let start = |r: usize| match observed::first_midnight(r, &settings.window) {
                Some(origin_unix_seconds) => TimeAxis { origin_unix_seconds, unit, zone: None },
                None => TimeAxis::epoch(unit),
            };
            let time: Vec<_> = dates.iter().enumerate().map(|(r, &is_date)| is_date.then(|| start(r))).collect();
            let north_first = self.pair(settings)?.map(Pair::is_north_first);
            let on = On { axes: &self.axes(&time)?, dates_only: &dates, north_first };
            return Ok((observed::union(Setting::Window, &settings.window, on)?, time));
        }
        if let Some(set) = self.dataset {
            let provisional = self.provisional();
            if let Some(window) = own_window(set, &self.axes(&provisional)?) {
                let starts = window.bounding_box().into_iter().zip(&provisional);
                let time: Vec<_> = starts.map(|(span, time)| Some((*time)?.moved_before(span.lo))).collect();
                return Ok((own_window(set, &self.axes(&time)?).unwrap_or(window), time));
            }
        }
        let extents = self.extents(watch)?;
        let time: Vec<_> = extents.iter().map(|extent| extent.time_axis(unit)).collect();
        let ends: Vec<_> = extents.iter().zip(&time).map(|(extent, time)| extent.ends(*time)).collect();
        Ok((bounding_box(&ends, &self.axes(&time)?, warnings)?, time))
    }

    fn axes(&self, time: &[Option<TimeAxis>]) -> Result<Vec<Axis>, Message> {
        on_map(axes(&self.names, time, self.dataset, &self.settings.unit)?, self.crs.as_deref(), &self.settings)
    }

    /// For each table what part of all bytes comes before it, and what part it has; none if one of them has no size.
    fn shares(&self) -> Vec<Option<Share>> {
        let size = |given: &Peeked| match datasets::find(given.path()) {
            Some(set) => Some(set.csv.len() as f64),
            None => {
                std::fs::metadata(given.path()).ok().filter(|found| found.is_file()).map(|found| found.len() as f64)
            }
        };
        let Some(sizes) = self.given.iter().map(size).collect::<Option<Vec<f64>>>() else {
            return vec![None; self.given.len()];
        };
        let all = sizes.iter().sum::<f64>().max(1.0);
        let before = sizes.iter().scan(0.0, |sum, size| Some(std::mem::replace(sum, *sum + size)));
        before.zip(&sizes).map(|(before, size)| Some(Share { before: before / all, own: size / all })).collect()
    }

    /// How far the events of all tables reach; those that do not say so are read.
    fn extents(&mut self, watch: Watch<'_>) -> Result<Vec<Extent>, InputError> {
        let (mut all, mut rows, mut skipped, mut nothing) = (None, 0, 0, None);
        let shares = self.shares();
        for (place, share) in shares.into_iter().enumerate() {
            let mut stream = self.open(place)?;
            stream.go_on_from(skipped);
            if let Some(extents) = stream.known_extents() {
                all = joined(all, Some(extents));
                continue;
            }
            while let Some(chunks) = stream.next_chunks()? {
                let dates = stream.dates();
                let parts = parallel::each(chunks.len(), |i| chunks[i].extents(dates));
                all = parts.into_iter().fold(all, joined);
                rows += chunks.iter().map(Chunk::len).sum::<usize>() as u64;
                let done = share.and_then(|share| share.done(&stream));
                watch(&SummaryProgress { stage: SummaryStage::Extent, events: rows, share: done, seconds: None });
            }
            skipped = stream.skipped();
            nothing = stream.nothing_kept();
        }
        if let (None, Some(nothing)) = (&all, nothing) {
            return Err(nothing);
        }
        let paths: Vec<String> = self.given.iter().map(|given| given.path().to_string()).collect();
        let paths = names(&paths);
        all.ok_or_else(|| message!["{paths}: there is no event left; see the lines skipped"].into())
    }
}

/// The part of all bytes that a table has, and the part before it.
#[derive(Clone, Copy)]
struct Share {
    before: f64,
    own: f64,
}

impl Share {
    /// The part of all bytes that has been read, now that the table is being read.
    fn done(self, stream: &Stream) -> Option<f64> {
        Some(self.before + self.own * stream.share()?)
    }
}

fn joined(all: Option<Vec<Extent>>, more: Option<Vec<Extent>>) -> Option<Vec<Extent>> {
    match (all, more) {
        (Some(all), Some(more)) => Some(all.into_iter().zip(more).map(|(a, b)| a.joined(b)).collect()),
        (all, more) => all.or(more),
    }
}

/// What the settings ask for and a pass cannot do.
fn refuse(given: &[Peeked], settings: &EventSettings) -> Result<(), InputError> {
    if given.iter().filter(|given| given.path() == "-").count() > 1 {
        return Err(message!["standard input was given twice; name it once"].into());
    }
    if let Some(zone) = &settings.time_zone {
        let zone = Setting::TimeZone.given(zone);
        return Err(message![zone, ": summaries keep UTC; fit the table itself, or leave it out"].into());
    }
    match given.iter().find(|given| !given.can_be_read_again()) {
        Some(once) if settings.window.is_empty() => {
            let name = source_name(once.path());
            Err(message!["{name} can be read only once, so its window must be known; give ", Setting::Window].into())
        }
        _ => Ok(()),
    }
}

fn open(given: &mut Peeked, read: &ReadOptions) -> Result<Stream, InputError> {
    Stream::open(given.open()?, read, &[TRIAL_COLUMN, DRAW_COLUMN])
}

/// Events that cannot stay, and the first of them.
#[derive(Default)]
struct Strays {
    count: u64,
    first: Option<Stray>,
}

/// One of them.
struct Stray {
    source: String,
    /// Its line or row.
    place: String,
    point: Vec<f64>,
}

impl Strays {
    fn add(&mut self, other: Self) {
        self.count += other.count;
        self.first = self.first.take().or(other.first);
    }

    /// In the words for them.
    fn misplaced(&self, total: u64, axes: &[Axis]) -> Option<Misplaced> {
        let first = self.first.as_ref()?;
        let (source, at) = (first.source.clone(), show_point(&first.point, axes));
        Some(Misplaced { count: self.count, total, source, first: first.place.clone(), at })
    }
}

/// Rows that were looked at: those that stay, and the others.
#[derive(Default)]
struct Sifted {
    coordinates: Vec<f64>,
    total: u64,
    outside: Strays,
    unseen: Strays,
    /// How far those outside reach.
    reach: Vec<(f64, f64)>,
}

/// The pass: what has been read so far.
struct Pass {
    summary: Summary,
    time: Vec<Option<TimeAxis>>,
    /// Events that wait to be added while more are read.
    waiting: Option<Points>,
    started: Instant,
    total: u64,
    skipped: u64,
    outside: Strays,
    unseen: Strays,
    reach: Vec<(f64, f64)>,
    /// Some events, to see what may be wrong.
    sample: Vec<f64>,
    /// Whether all tables so far count rows.
    only_rows: bool,
    /// Rows that the filter left out, ...
    left_out: u64,
    /// ... and what to say if that is all of a table.
    nothing: Option<InputError>,
}

impl Pass {
    fn new(summary: Summary, time: Vec<Option<TimeAxis>>) -> Self {
        let reach = vec![(f64::INFINITY, f64::NEG_INFINITY); time.len()];
        Self {
            summary,
            time,
            waiting: None,
            started: Instant::now(),
            total: 0,
            skipped: 0,
            outside: Strays::default(),
            unseen: Strays::default(),
            reach,
            sample: Vec::new(),
            only_rows: true,
            left_out: 0,
            nothing: None,
        }
    }

    /// Reads a table.
    fn table(&mut self, mut stream: Stream, share: Option<Share>, watch: Watch<'_>) -> Result<(), InputError> {
        stream.go_on_from(self.skipped);
        self.only_rows &= stream.counting() == Counting::Rows;
        loop {
            let (window, time) = (self.summary.window().clone(), &self.time);
            let (waiting, summary) = (self.waiting.take(), &mut self.summary);
            let (added, next) = rayon::join(
                || waiting.map_or(Ok(()), |points| summary.add(&points)),
                || next(&mut stream, &window, time),
            );
            added?;
            let Some(parts) = next? else { break };
            self.take(parts)?;
            let done = share.and_then(|share| share.done(&stream));
            let seconds = self.started.elapsed().as_secs_f64();
            let (stage, seconds) = (SummaryStage::Summary, Some(seconds));
            watch(&SummaryProgress { stage, events: self.total, share: done, seconds });
        }
        self.skipped = stream.skipped();
        self.left_out += stream.left_out();
        self.nothing = stream.nothing_kept();
        Ok(())
    }

    /// Notes what was sifted, and lets the events wait.
    fn take(&mut self, parts: Vec<Sifted>) -> Result<(), InputError> {
        let mut coordinates = Vec::with_capacity(parts.iter().map(|part| part.coordinates.len()).sum());
        for part in parts {
            coordinates.extend_from_slice(&part.coordinates);
            self.total += part.total;
            for (all, (lo, hi)) in self.reach.iter_mut().zip(part.reach) {
                *all = (all.0.min(lo), all.1.max(hi));
            }
            let missing = (SAMPLE * self.time.len()).saturating_sub(self.sample.len());
            let strays = part.outside.first.iter().flat_map(|stray| stray.point.iter());
            self.sample.extend(strays.chain(&part.coordinates).take(missing));
            self.outside.add(part.outside);
            self.unseen.add(part.unseen);
        }
        self.waiting = Some(Points::new(self.time.len(), coordinates)?);
        Ok(())
    }

    /// Adds what still waits.
    fn finish(&mut self) -> Result<(), InputError> {
        Ok(self.waiting.take().map_or(Ok(()), |points| self.summary.add(&points))?)
    }

    /// Refuses events that cannot stay, or with `clip` says that they were dropped.
    fn misplaced(&mut self, clip: bool) -> Result<Vec<Message>, InputError> {
        if let (0, Some(nothing)) = (self.total, self.nothing.take()) {
            return Err(nothing);
        }
        let window = self.summary.window();
        let mut said = Vec::new();
        if let Some(misplaced) = self.outside.misplaced(self.total, window.axes()) {
            let sample = Points::new(window.dims(), self.sample.clone())?;
            let around = show_box(self.reach.iter().copied(), window.axes());
            said.push(misplaced.judge(Words::outside(window, &sample, &around, Some(Setting::Window)), clip)?);
        }
        let inside = self.total - self.outside.count;
        if let Some(misplaced) = self.unseen.misplaced(inside, window.axes()) {
            said.push(misplaced.judge(Words::unseen(), clip)?);
        }
        Ok(said)
    }
}

/// The next rows of a table, looked at on all threads.
fn next(stream: &mut Stream, window: &Window, time: &[Option<TimeAxis>]) -> Result<Option<Vec<Sifted>>, InputError> {
    let Some(chunks) = stream.next_chunks()? else { return Ok(None) };
    let (source, word) = (stream.source(), stream.counting().word());
    let sift = |chunk: Chunk| sifted(chunk, window, time, |line| (source.to_string(), format!("{word} {line}")));
    Ok(Some(parallel::map(chunks.into_iter(), usize::MAX, sift)))
}

/// Takes the rows apart that cannot stay.
fn sifted(
    mut chunk: Chunk,
    window: &Window,
    time: &[Option<TimeAxis>],
    place: impl Fn(u64) -> (String, String),
) -> Sifted {
    let (dims, total) = (time.len(), chunk.len());
    let mut coordinates = chunk.coordinates(time);
    geography::rows_inward(&mut coordinates, window.axes());
    let mut sifted = Sifted { total: total as u64, ..Sifted::default() };
    let rows = || coordinates.chunks_exact(dims);
    let bounds = window.bounding_box();
    let is_inside = |row: &[f64]| match window.is_one_box() {
        true => row.iter().zip(&bounds).all(|(&x, span)| span.contains(x)),
        false => window.contains(row),
    };
    let has_exposure = window.exposure().is_some();
    let stays = |row: &[f64]| is_inside(row) && !(has_exposure && window.exposure_at(row) <= 0.0);
    if rows().all(stays) {
        return Sifted { coordinates, ..sifted };
    }
    sifted.reach = vec![(f64::INFINITY, f64::NEG_INFINITY); dims];
    for (n, row) in rows().enumerate() {
        let strays = match is_inside(row) {
            _ if stays(row) => {
                sifted.coordinates.extend_from_slice(row);
                continue;
            }
            true => &mut sifted.unseen,
            false => {
                for (reach, &x) in sifted.reach.iter_mut().zip(row) {
                    *reach = (reach.0.min(x), reach.1.max(x));
                }
                &mut sifted.outside
            }
        };
        strays.count += 1;
        strays.first.get_or_insert_with(|| {
            let (source, place) = place(chunk.line(n));
            Stray { source, place, point: row.to_vec() }
        });
    }
    sifted
}
