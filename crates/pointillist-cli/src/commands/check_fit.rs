//! `check --fit`: whether the events look like events of the model, where they do not, and what to try.

use super::count::{joint_counts, regions};
use super::meter::shown;
use super::summary::{GoodnessSummary, brief, is_repeated};
use super::{Context, Failure, Outcome, input, json_line, spec};
use crate::args::CheckArgs;
use crate::io::{self, Column, KeptEvents, ModelFile, Region, Written};
use pointillist::report::{Goodness, Pairs};
use pointillist::{Axis, Points, Window};
use serde::Serialize;

/// Bins on a line and boxes on each side of a map have about so many events, …
const EVENTS_PER_BIN: f64 = 8.0;
/// … and there are at most so many of them along an axis, on a line and elsewhere.
const MOST_BINS: [usize; 2] = [64, 8];
/// Draws of the intensity for the bands of counts.
const DRAWS: usize = 2000;
/// A count with a lower p is outside of its band.
const OUTSIDE: f64 = 0.05;
/// Pairs, or rescaled times, with a lower p are amiss.
const AMISS: f64 = 0.05;
/// So many anomalies are printed.
const MOST_SHOWN: usize = 12;

/// What is said of one bin.
#[derive(Serialize)]
struct Bin {
    #[serde(skip)]
    name: String,
    /// `[lo, hi]` on each axis.
    region: Vec<[f64; 2]>,
    seen: u64,
    expected: f64,
    /// The band of 95 % of a new count.
    lower: f64,
    upper: f64,
    /// How often a new count is as far out.
    p: f64,
}

impl Bin {
    fn is_outside(&self) -> bool {
        self.p < OUTSIDE
    }
}

/// The JSON of `check --fit`; scripts rely on the names.
#[derive(Serialize)]
struct Told {
    events: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    goodness: Option<GoodnessSummary>,
    /// On a line: the largest distance of rescaled times from even ones, and the half width of the band of 95 % for a rate that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    rescaled_times: Option<[f64; 2]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pairs: Option<PairsTold>,
    bins: Vec<Bin>,
}

#[derive(Serialize)]
struct PairsTold {
    p: f64,
    /// The distance at which pairs are furthest from what is expected, and whether there are more of them.
    distance: f64,
    more: bool,
    distances: Vec<f64>,
    seen: Vec<f64>,
    expected: Vec<f64>,
    envelope: Vec<(f64, f64)>,
}

impl From<Pairs> for PairsTold {
    fn from(pairs: Pairs) -> Self {
        let (distance, more) = pairs.furthest;
        let Pairs { distances, seen, expected, envelope, p, .. } = pairs;
        Self { p, distance, more, distances, seen, expected, envelope }
    }
}

/// Does what was asked for.
pub fn run(args: &CheckArgs, context: &Context) -> Result<Outcome, Failure> {
    if let Some(path) = &args.output {
        io::check_name(path, if context.json() { Written::Json } else { Written::Csv })?;
        io::check_target(path)?;
    }
    let mut model = ModelFile::read(&args.model)?;
    let points = events(args, &model, context)?;
    model.events = Some(KeptEvents { points: points.clone(), trials: None });
    let posterior = &model.posterior;
    let goodness: Option<Goodness> = posterior.goodness_of_fit(&points)?;
    let pairs = shown("pairs of events", context, |watch| posterior.pairs(&points, context.seed(), watch))?;
    let told = Told {
        events: points.len(),
        goodness: goodness.as_ref().map(GoodnessSummary::new),
        rescaled_times: rescaled(&model, &points)?,
        pairs: pairs.map(PairsTold::from),
        bins: bins(args, &model, context)?,
    };
    let json = json_line(&told)?;
    if let Some(path) = &args.output {
        let text =
            if context.json() { json.clone() } else { io::csv_text(&columns(&told.bins, posterior.window().axes()))? };
        context.emit(Some(path), &text)?;
    }
    let axes = posterior.window().axes();
    io::stdout_text(&if context.json() { json } else { told.text(&model.source, axes, goodness.as_ref()) })?;
    Ok(Outcome::Done)
}

/// Those that are given, or those that the model keeps.
fn events(args: &CheckArgs, model: &ModelFile, context: &Context) -> Result<Points, Failure> {
    match (&args.events, &model.events) {
        (Some(path), _) => {
            let window = model.posterior.window();
            input::events_in(path, args.columns.as_deref(), window, args.clip, &args.rows, context)
        }
        (None, Some(kept)) => Ok(kept.points.clone()),
        (None, None) => Err(format!("{} has not kept its events; give them after it", args.model).into()),
    }
}

fn rescaled(model: &ModelFile, points: &Points) -> Result<Option<[f64; 2]>, Failure> {
    if points.dims() > 1 {
        return Ok(None);
    }
    let Some(residuals) = model.posterior.residuals(points)? else { return Ok(None) };
    Ok(Some(residuals.distance_and_band().into()))
}

/// Counts beside their bands: in the regions asked for, or in even bins.
fn bins(args: &CheckArgs, model: &ModelFile, context: &Context) -> Result<Vec<Bin>, Failure> {
    let posterior = &model.posterior;
    if is_repeated(posterior.window()) {
        context.note("several trials were seen, and counts are of one: no bins are compared");
        return Ok(vec![]);
    }
    let asked = match (&args.regions[..], &args.every) {
        ([], None) => even_boxes(model)?,
        (texts, every) => regions(texts, every.as_deref(), posterior, context)?,
    };
    let known: Vec<(Region, u64)> =
        asked.into_iter().filter_map(|region| io::regions::seen(&region, model).map(|seen| (region, seen))).collect();
    if known.is_empty() {
        return Ok(vec![]);
    }
    let list: Vec<Region> = known.iter().map(|(region, _)| region.clone()).collect();
    let counts = joint_counts(posterior, &list, DRAWS, context.seed(), context)?;
    let bin = |(number, (region, seen)): (usize, &(Region, u64))| {
        let band = counts.new_count_quantiles(number, &[0.5 * OUTSIDE, 1.0 - 0.5 * OUTSIDE], context.seed());
        Bin {
            name: region.name.clone(),
            region: region.counted.bounding_box().iter().map(|span| [span.lo, span.hi]).collect(),
            seen: *seen,
            expected: counts.moments()[number].mean,
            lower: band[0],
            upper: band[1],
            p: counts.surprise(number, *seen),
        }
    };
    Ok(known.iter().enumerate().map(bin).collect())
}

/// Even boxes over the window, each cut to it.
fn even_boxes(model: &ModelFile) -> Result<Vec<Region>, Failure> {
    let (posterior, window) = (&model.posterior, model.posterior.window());
    let dims = window.dims();
    let most = MOST_BINS[usize::from(dims > 1)];
    let each =
        (model.events.as_ref().map_or(0, |events| events.points.len()) as f64 / EVENTS_PER_BIN).powf(1.0 / dims as f64);
    let each = (each as usize).clamp(2, most);
    let spans = window.bounding_box();
    let mut all = Vec::new();
    for number in 0..each.pow(dims as u32) {
        let end = |r: usize, by: usize| {
            let place = number / each.pow(r as u32) % each + by;
            if place == each { spans[r].hi } else { spans[r].lo + spans[r].length() * place as f64 / each as f64 }
        };
        let ends: Vec<(f64, f64)> = (0..dims).map(|r| (end(r, 0), end(r, 1))).collect();
        let part = Window::new(&ends)?.with_axes(window.axes().to_vec())?;
        let Some(counted) = posterior.counted(&part) else { continue };
        let shown = |(axis, (lo, hi)): (&Axis, &(f64, f64))| format!("{},{}", said(axis, *lo), said(axis, *hi));
        let name: Vec<String> = window.axes().iter().zip(&ends).map(shown).collect();
        all.push(Region { counted, ..Region::plain(name.join(","), part) });
    }
    Ok(all)
}

/// A value on an axis, in few digits, or a date.
fn said(axis: &Axis, value: f64) -> String {
    match io::time_axis(axis) {
        Some(_) => io::place(axis, value),
        None => brief(io::geography::outward(axis, value)),
    }
}

fn columns(bins: &[Bin], axes: &[Axis]) -> Vec<Column> {
    let numbers = |name: String, of: &dyn Fn(&Bin) -> f64| Column::Numbers(name, bins.iter().map(of).collect());
    let mut columns = vec![Column::Texts("region".into(), bins.iter().map(|bin| bin.name.clone()).collect())];
    for (r, axis) in axes.iter().enumerate() {
        columns.push(numbers(format!("{}_lo", axis.name), &|bin| bin.region[r][0]));
        columns.push(numbers(format!("{}_hi", axis.name), &|bin| bin.region[r][1]));
    }
    columns.push(Column::Whole("seen".into(), bins.iter().map(|bin| bin.seen).collect()));
    columns.push(numbers("expected".into(), &|bin| bin.expected));
    columns.push(numbers("new_q0.025".into(), &|bin| bin.lower));
    columns.push(numbers("new_q0.975".into(), &|bin| bin.upper));
    columns.push(numbers("p".into(), &|bin| bin.p));
    columns.push(Column::Whole("outside".into(), bins.iter().map(|bin| bin.is_outside().into()).collect()));
    columns
}

impl Told {
    fn text(&self, source: &str, axes: &[Axis], goodness: Option<&Goodness>) -> String {
        let mut text = format!("{source}: {}\n", spec::plural(self.events, "event", "events"));
        let mut row = |name: &str, value: String| text += &format!("  {name:<16}{value}\n");
        if let Some(goodness) = &self.goodness {
            row("counts", goodness.text());
        }
        if let Some([apart, band]) = self.rescaled_times {
            let words = if apart > band { "outside of" } else { "inside" };
            row("rescaled times", format!("{apart:.3} apart at most, {words} the band of 95 %, ±{band:.3}"));
        }
        if let Some(pairs) = &self.pairs {
            let words = match (pairs.p < AMISS, pairs.more) {
                (false, _) => "as close together as those of events drawn from the model".to_string(),
                (true, true) => format!("more of them within {} than the rate explains", brief(pairs.distance)),
                (true, false) => format!("fewer of them within {} than the rate explains", brief(pairs.distance)),
            };
            row("pairs", format!("{words}, p = {:.2}", pairs.p));
        }
        if !self.bins.is_empty() {
            let outside = self.bins.iter().filter(|bin| bin.is_outside()).count();
            let chance = OUTSIDE * self.bins.len() as f64;
            row(
                "bins",
                format!(
                    "{outside} of {} outside of their bands of 95 %, where about {} are by chance",
                    self.bins.len(),
                    brief(chance)
                ),
            );
        }
        text + &self.anomalies() + &self.advice(axes, goodness)
    }

    /// The bins that are outside of their bands, the most surprising first.
    fn anomalies(&self) -> String {
        let mut outside: Vec<&Bin> = self.bins.iter().filter(|bin| bin.is_outside()).collect();
        if outside.is_empty() {
            return String::new();
        }
        outside.sort_by(|a, b| a.p.total_cmp(&b.p));
        let width = outside.iter().take(MOST_SHOWN).map(|bin| bin.name.chars().count()).max().unwrap_or(0).max(6);
        let mut text =
            format!("  {:<width$} {:>8} {:>10} {:>16} {:>8}\n", "where", "seen", "expected", "95 % band", "p");
        for bin in outside.iter().take(MOST_SHOWN) {
            let band = format!("{} to {}", brief(bin.lower), brief(bin.upper));
            let (seen, expected, p) = (bin.seen, brief(bin.expected), bin.p);
            text += &format!("  {:<width$} {seen:>8} {expected:>10} {band:>16} {p:>8.4}\n", bin.name);
        }
        if outside.len() > MOST_SHOWN {
            text += &format!("  … and {} more; -o FILE has all\n", outside.len() - MOST_SHOWN);
        }
        text
    }

    /// Where the model fails, and what to try.
    fn advice(&self, axes: &[Axis], goodness: Option<&Goodness>) -> String {
        let mut advice = Vec::new();
        if let Some(goodness) = goodness.filter(|goodness| goodness.p < AMISS) {
            advice.push(goodness.sentence(axes, said));
        }
        if let Some(pairs) = self.pairs.as_ref().filter(|pairs| pairs.p < AMISS) {
            advice.push(match pairs.more {
                true => "events come in clusters that the rate does not explain: events that bring about others, places that were counted twice, or a rate that changes \
                    faster than the model can; try more nodes, or --smoothness 1 on a line"
                    .into(),
                false => "events keep a distance from each other, which no rate explains: bands of counts are too wide".to_string(),
            });
        }
        let surprises = self.bins.iter().filter(|bin| bin.p < OUTSIDE / self.bins.len() as f64).count();
        if surprises > 0 {
            let words = spec::plural(surprises, "bin is", "bins are");
            advice.push(format!(
                "{words} beyond chance even among {}: an anomaly there, or a rate that is smoothed too much",
                self.bins.len()
            ));
        }
        if advice.is_empty() {
            "  nothing speaks against the model; the fit has seen these events, so that this is no proof\n".into()
        } else {
            advice.iter().map(|one| format!("  {one}\n")).collect()
        }
    }
}
