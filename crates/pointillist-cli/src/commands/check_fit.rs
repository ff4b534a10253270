//! `check --fit`: whether the events look like events of the model, where they do not, and what to try.

use super::count::{counting, regions};
use super::meter::{plan, shown};
use super::summary::{ComponentSummary, GoodnessSummary, Summary, brief};
use super::types::Chosen;
use super::{Context, Failure, Outcome, input, json_line, spec};
use crate::args::CheckArgs;
use crate::io::{self, Column, ModelFile, NO_MEMORY, Written};
use pointillist::report::{Bin, Closest, Goodness, Nearness, Pairs};
use pointillist::window::Span;
use pointillist::{Axis, Points, Posterior, Window};
use serde::{Deserialize, Serialize};

/// Pairs, or rescaled times, with a lower p are amiss.
const AMISS: f64 = 0.05;
/// So many anomalies are printed, …
const MOST_SHOWN: usize = 12;
/// … and so many named in a sentence.
const MOST_NAMED: usize = 3;
/// A bin as far out as the least likely one, in fewer than this part of such sets, is pointed at even where it may be chance.
const WORTH_A_LOOK: f64 = 0.2;

/// About how long counts at several scales, pairs and bins take, beside each other.
const STAGES: [f64; 3] = [1.0, 3.0, 3.0];

/// What is said of one bin.
#[derive(Serialize)]
struct BinTold {
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
    outside: bool,
}

impl BinTold {
    fn new(name: String, bin: &Bin) -> Self {
        let outside = bin.is_outside();
        let region = bin.region.bounding_box().iter().map(|span| [span.lo, span.hi]).collect();
        let Bin { seen, expected, lower, upper, p, .. } = *bin;
        Self { name, region, seen, expected, lower, upper, p, outside }
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
    /// Whether clusters look like memory, events that bring about others: the pairs say so, or the rate changes too fast to be one.
    memory: bool,
    #[serde(skip)]
    bursts: Option<String>,
    bins: Vec<BinTold>,
}

#[derive(Serialize)]
struct PairsTold {
    /// How often independent events at the rate have so many more pairs at any distance, …
    p: f64,
    /// … and how often they lack half of them, and so many.
    p_fewer: f64,
    /// What that says, and the distance that it is said of.
    #[serde(serialize_with = "named")]
    nearness: Nearness,
    distance: f64,
    distances: Vec<f64>,
    seen: Vec<f64>,
    expected: Vec<f64>,
    envelope: Vec<(f64, f64)>,
    closest: ClosestTold,
}

fn named<S: serde::Serializer>(nearness: &Nearness, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(nearness.name())
}

/// Pairs that are much closer together than the first distance.
#[derive(Serialize)]
struct ClosestTold {
    p: f64,
    distance: f64,
    seen: usize,
    expected: f64,
    #[serde(skip)]
    is_amiss: bool,
}

impl From<Pairs> for PairsTold {
    fn from(pairs: Pairs) -> Self {
        let nearness = pairs.nearness();
        let Pairs { distances, seen, expected, envelope, p, p_fewer, most_within, closest, .. } = pairs;
        let distance = match nearness {
            Nearness::Closer(within) | Nearness::Apart(within) => within,
            _ => most_within,
        };
        let is_amiss = closest.is_amiss();
        let Closest { p: of_closest, distance: within, seen: close, expected: usual, .. } = closest;
        let closest = ClosestTold { p: of_closest, distance: within, seen: close, expected: usual, is_amiss };
        Self { p, p_fewer, nearness, distance, distances, seen, expected, envelope, closest }
    }
}

impl PairsTold {
    fn is_closer(&self) -> bool {
        matches!(self.nearness, Nearness::Closer(_))
    }
}

/// What the fit said of a rate that changes too fast.
fn bursts(model: &ModelFile) -> Option<String> {
    let warnings = Summary::deserialize(&model.summary).ok()?.warnings;
    warnings.into_iter().find(|warning| ComponentSummary::is_of_bursts(warning))
}

/// Does what was asked for.
pub fn run(args: &CheckArgs, context: &Context) -> Result<Outcome, Failure> {
    if let Some(path) = &args.output {
        io::check_name(path, if context.json() { Written::Json } else { Written::Csv })?;
        io::check_target(path)?;
    }
    let model = Chosen::read(&args.model, args.of.as_deref())?.one(&args.model)?;
    let points = events(args, &model, context)?;
    if points.len() != model.event_count {
        let (found, fitted) = (points.len(), model.event_count);
        context.note(&format!("the model was fitted to {fitted} events and there are {found}: others are looked at"));
    }
    let posterior = &model.posterior;
    plan(&STAGES);
    let goodness: Option<Goodness> =
        shown("counts at several scales", |watch| posterior.goodness_of_fit_watched(&points, watch))?;
    let pairs = shown("pairs of events", |watch| posterior.pairs(&points, context.seed(), watch))?;
    let pairs = pairs.map(PairsTold::from);
    let bursts = bursts(&model);
    let told = Told {
        memory: bursts.is_some() || pairs.as_ref().is_some_and(PairsTold::is_closer),
        bursts,
        events: points.len(),
        goodness: goodness.as_ref().map(GoodnessSummary::new),
        rescaled_times: rescaled(&model, &points)?,
        pairs,
        bins: bins(args, &model, &points, context)?,
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
fn bins(args: &CheckArgs, model: &ModelFile, points: &Points, context: &Context) -> Result<Vec<BinTold>, Failure> {
    let (posterior, window) = (&model.posterior, model.posterior.window());
    if args.regions.is_empty() && args.every.is_none() {
        let named = |bin: &Bin| BinTold::new(place_of(bin, window.axes()), bin);
        return Ok(even_bins(posterior, points, context)?.iter().map(named).collect());
    }
    // What reaches beyond the window was not looked at there.
    let asked = regions((&args.regions, args.every.as_deref(), None), posterior, context)?;
    let known = asked.iter().filter(|region| io::regions::is_within(&region.counted, window));
    let (names, parts): (Vec<&String>, Vec<Window>) =
        known.filter_map(|region| Some((&region.name, window.looked_at(&region.window)?))).unzip();
    let bins = counting(|watch| posterior.bins(&parts, points, context.seed(), watch))?;
    Ok(names.into_iter().zip(&bins).map(|(name, bin)| BinTold::new(name.clone(), bin)).collect())
}

/// Counts in even bins over the window beside their bands.
pub(super) fn even_bins(posterior: &Posterior, points: &Points, context: &Context) -> Result<Vec<Bin>, Failure> {
    let parts = posterior.even_bins(points.len())?;
    counting(|watch| posterior.bins(&parts, points, context.seed(), watch))
}

/// Where a bin is.
fn place_of(bin: &Bin, axes: &[Axis]) -> String {
    let shown = |(axis, span): (&Axis, &Span)| format!("{},{}", said(axis, span.lo), said(axis, span.hi));
    axes.iter().zip(&bin.region.bounding_box()).map(shown).collect::<Vec<_>>().join(",")
}

/// A value on an axis, in few digits, or a date.
fn said(axis: &Axis, value: f64) -> String {
    match io::time_axis(axis) {
        Some(_) => io::place(axis, value),
        None => brief(io::geography::outward(axis, value)),
    }
}

fn columns(bins: &[BinTold], axes: &[Axis]) -> Vec<Column> {
    let numbers = |name: String, of: &dyn Fn(&BinTold) -> f64| Column::Numbers(name, bins.iter().map(of).collect());
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
    columns.push(Column::Whole("outside".into(), bins.iter().map(|bin| bin.outside.into()).collect()));
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
            let words = match pairs.nearness {
                Nearness::Closer(within) => {
                    format!("more of them within {} than the rate explains, p = {:.2}", apart(within, axes), pairs.p)
                }
                Nearness::Apart(within) => {
                    let within = apart(within, axes);
                    format!("less than half as many within {within} as the rate explains, p = {:.2}", pairs.p_fewer)
                }
                Nearness::Followed => {
                    "fewer than independent events have, since the rate follows the events closely: they tell little"
                        .into()
                }
                _ => format!("no more of them than independent events at this rate have, p = {:.2}", pairs.p),
            };
            row("pairs", words);
            if pairs.closest.is_amiss {
                let ClosestTold { distance, seen, expected, p, .. } = &pairs.closest;
                let close = spec::plural(*seen, "pair", "pairs");
                let (distance, expected) = (apart(*distance, axes), brief(*expected));
                row(
                    "closest pairs",
                    format!("{close} within {distance}, where {expected} are usual, p = {p:.2}: duplicates?"),
                );
            }
        }
        if !self.bins.is_empty() {
            let outside = self.bins.iter().filter(|bin| bin.outside).count();
            // At most: counts are whole, so that bands hold more than 95 %, and the fit has followed the events.
            let chance = Bin::OUTSIDE * self.bins.len() as f64;
            row(
                "bins",
                format!(
                    "{outside} of {} outside of their bands of 95 %, where at most about {} are by chance",
                    self.bins.len(),
                    brief(chance)
                ),
            );
        }
        text + &self.anomalies() + &self.advice(axes, goodness)
    }

    /// The bins that are outside of their bands, the most surprising first.
    fn anomalies(&self) -> String {
        let mut outside: Vec<&BinTold> = self.bins.iter().filter(|bin| bin.outside).collect();
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
        if let Some(pairs) = self.pairs.as_ref().filter(|pairs| pairs.closest.is_amiss) {
            advice.push(format!(
                "events within {} of each other may be one event that was written down twice (duplicates), twins, or places that were rounded; leave out what is double",
                apart(pairs.closest.distance, axes)
            ));
        }
        match self.pairs.as_ref().map(|pairs| pairs.nearness) {
            Some(Nearness::Closer(within)) => advice.push(format!(
                "events come in clusters within {} that the rate does not explain. {NO_MEMORY} Places that were counted twice, or a rate with peaks narrower than the lattice shows, look the same: try \
                 more nodes, or --smoothness 1 on a line",
                apart(within, axes)
            )),
            Some(Nearness::Apart(_)) => advice.push(
                "events keep a distance from each other, which no rate explains: bands of counts are too wide".to_string(),
            ),
            _ => {}
        }
        if let Some(bursts) = &self.bursts {
            advice.push(format!("{bursts}. {NO_MEMORY}"));
        }
        advice.extend(self.surprises());
        if advice.is_empty() {
            let doubt = self.doubt().map(|one| format!("  {one}\n")).unwrap_or_default();
            doubt + "  nothing speaks against the model; the fit has seen these events, so that this is no proof\n"
        } else {
            advice.iter().map(|one| format!("  {one}\n")).collect()
        }
    }

    /// How often a bin as far out as this one is among so many by chance, at most (Bonferroni).
    fn chance(&self, bin: &BinTold) -> f64 {
        bin.p * self.bins.len() as f64
    }

    /// Bins that are beyond chance even among so many: where they are, and what to do about them.
    fn surprises(&self) -> Vec<String> {
        let beyond = self.bins.iter().filter(|bin| self.chance(bin) < AMISS);
        let (empty, others): (Vec<&BinTold>, Vec<&BinTold>) = beyond.partition(|bin| bin.seen == 0);
        let mut found = Vec::new();
        if !empty.is_empty() {
            let words = spec::plural(empty.len(), "bin is empty", "bins are empty");
            found.push(format!(
                "{words} beyond chance ({}): if nothing could be recorded there (an outage), say so in the fit, by a --window with a gap or an --exposure of 0, and not by another model",
                places(empty)
            ));
        }
        if !others.is_empty() {
            let words = spec::plural(others.len(), "bin is", "bins are");
            found.push(format!(
                "{words} beyond chance even among {} ({}): an event or a burst that the rate does not show; fit a shorter window about it, and look closer by --every",
                self.bins.len(),
                places(others)
            ));
        }
        found
    }

    /// The least likely bin, where it may be chance and is worth a look.
    fn doubt(&self) -> Option<String> {
        let least = self.bins.iter().min_by(|a, b| a.p.total_cmp(&b.p))?;
        let chance = Some(self.chance(least)).filter(|chance| *chance < WORTH_A_LOOK)?;
        let (place, percent) = (&least.name, (100.0 * chance).ceil());
        Some(format!(
            "one of {} bins is as far out as {place} by chance in at most {percent} % of such sets: worth a look",
            self.bins.len()
        ))
    }
}

/// A distance between events, with its unit.
fn apart(distance: f64, axes: &[Axis]) -> String {
    let unit = axes.first().and_then(|axis| axis.unit.as_ref());
    brief(distance) + &unit.map(|unit| format!(" {unit}")).unwrap_or_default()
}

/// Where bins are, the least likely first.
fn places(mut bins: Vec<&BinTold>) -> String {
    bins.sort_by(|a, b| a.p.total_cmp(&b.p));
    let named: Vec<&str> = bins.iter().take(MOST_NAMED).map(|bin| bin.name.as_str()).collect();
    named.join("; ") + if bins.len() > MOST_NAMED { "; …" } else { "" }
}
