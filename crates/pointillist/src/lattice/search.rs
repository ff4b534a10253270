//! The search for Θ: starting ranges, then from coarse lattices to fine ones.
//!
//! Starting ranges are compared by a few natural steps on a coarse lattice, and every local best is followed; a finer
//! lattice then starts from what the coarser one learned: Θ, the curvature around it, and what the events said of f (the
//! sites). So few steps run at full size. At each lattice L-BFGS moves Θ by the envelope gradient, q at its optimum.

use super::learn::Before;
use super::level::{Coordinates, Level, margin, steps};
use super::size::{LARGE, bytes, describe_bytes, grown, ladder, largest, seconds};
use super::source::{Detail, Source};
use super::{Optimum, Sites, Smoothness, Theta};
use crate::error::{Error, Result};
use crate::infer::lbfgs::{self, Curvature, End};
use crate::infer::{describe, peaks};
use crate::window::Window;
use std::ops::ControlFlow;

/// Nodes on each axis with which `auto` starts, in one, two and three dimensions.
const AUTO_FIRST: [usize; 3] = [128, 24, 10];
/// How many times as many nodes it tries next. In space a fit costs M^7/3.
const AUTO_TIMES: [f64; 3] = [4.0, 4.0, 3.4];
/// Where those are too many, so many times as many, if …
const AUTO_FEWER: [f64; 3] = [2.8, 2.0, 1.5];
/// … the last refinement gained this many nats an event.
const AUTO_MUCH: f64 = 0.01;
/// A refinement gains less than this many times what the one before gained.
const AUTO_HOPE: f64 = 2.0;
/// It stops where a refinement gained less than this (nats) …
const AUTO_GAIN: f64 = 0.1;
/// … or would need more nodes an event than this, …
const AUTO_AN_EVENT: usize = 50;
/// … or more work than this many seconds of natural steps, of which a lattice needs about so many.
const AUTO_SECONDS: f64 = 60.0;
const STEPS_A_LATTICE: f64 = 25.0;
/// Lattices up to this many nodes are fitted at once, larger ones by way of coarser ones.
const DIRECT: [usize; 3] = [400, 600, 1000];
/// The first starting range, in sides of the window; the next ones are each half as long, …
const LONGEST_START: f64 = 1.0;
/// … down to this many steps of the lattice.
const RESOLVED: f64 = 2.0;
/// A lattice hardly resolves a range of fewer steps than this.
const ROUGH: f64 = 8.0;
/// Part of the mean rate that the variance starts with, and of its root that the mean does.
const VARIANCE: f64 = 0.36;
const MEAN: f64 = 0.8;
/// Seconds of a natural step up to which more than one start is followed; and how many are.
const CHEAP: f64 = 0.01;
const MOST_RUNS: usize = 3;
/// A start this many nats below the best one is not followed: learning Θ from it gains less. It grows by so much an event.
const HOPELESS: f64 = 10.0;
const AN_EVENT: f64 = 0.02;
/// Gain (nats) below which learning Θ on a large lattice has converged. On smaller ones it is in proportion, down to what is
/// asked for.
const LARGE_GAIN: f64 = 0.02;
/// Before the last lattice it is also this part of what the refinement before gained; at first, so much an event.
const LOOSE: f64 = 1e-6;
const LOOSE_AN_EVENT: f64 = 1e-7;
/// q is brought nearer its optimum than this part of what another Θ may gain …
const NEARER: f64 = 3e-3;
/// … which, on a large lattice, is at first so many nats an event.
const PROMISED_AN_EVENT: f64 = 2e-3;
/// Natural steps at one Θ; at one start.
pub(super) const MOST_STEPS: usize = 60;
const QUICK_STEPS: usize = 8;
/// Gain (nats) of a natural step at which starts are compared.
const QUICK_GAIN: f64 = 0.3;
/// Seconds that an event costs a natural step.
const EVENT_SECONDS: f64 = 1e-7;

/// What is asked of a lattice fit.
#[derive(Debug, Clone)]
pub(crate) struct Wanted {
    /// Nodes on each axis, those of the margin included; none for as many as pay.
    pub(crate) nodes: Option<Vec<usize>>,
    pub(crate) smoothness: Smoothness,
    /// The memory that may be used.
    pub(crate) most_bytes: usize,
    /// Gain of the bound, in nats, below which it has converged.
    pub(crate) gain: f64,
    /// Most evaluations by Θ.
    pub(crate) most_evaluations: usize,
    /// The sign of f, ±1: f and −f are the same intensity.
    pub(crate) sign: f64,
    /// Whether events are never replaced by nodes.
    pub(crate) exact: bool,
    /// The bound of another basis: a lattice that cannot reach it is not refined.
    pub(crate) rival: Option<f64>,
}

/// Called after every evaluation by Θ with the natural steps so far, the bound and the number of nodes; `Break` cancels.
pub(crate) type Watch<'a> = dyn FnMut(usize, f64, usize) -> ControlFlow<()> + 'a;

/// A point of the search on its lattice.
pub(super) struct Start {
    level: Level,
    theta: Theta,
    sites: Sites,
    curvature: Curvature,
}

/// Where L-BFGS arrived on a lattice.
pub(super) struct Run {
    pub(super) level: Level,
    pub(super) theta: Theta,
    pub(super) optimum: Optimum,
    curvature: Curvature,
    /// That at which it has converged.
    pub(super) gain: f64,
    pub(super) end: End,
}

impl From<Run> for Start {
    fn from(run: Run) -> Self {
        Self { level: run.level, theta: run.theta, sites: run.optimum.sites, curvature: run.curvature }
    }
}

/// The search in progress.
pub(super) struct Search<'a, 'w> {
    pub(super) source: Source<'a>,
    /// Number of events.
    pub(super) events: usize,
    pub(super) window: &'a Window,
    pub(super) wanted: &'a Wanted,
    /// Mean rate.
    rate: f64,
    watch: &'a mut Watch<'w>,
    pub(super) evaluations: usize,
    theta_evaluations: usize,
    pub(super) iterations: usize,
    pub(super) starts: Vec<(f64, f64)>,
    /// Starting ranges below this have not been tried.
    tried_down_to: f64,
    /// Whether the present lattice only leads to a finer one.
    pub(super) on_the_way: bool,
    /// How far apart nodes must be on each axis.
    finest: Vec<f64>,
    /// Whether a finer lattice might show what this one does not: it was not tried, and events are there to show it.
    pub(super) more_would_show: bool,
    /// What the refinement before promises of the next: so much gain is not worth learning Θ closer now.
    pub(super) loose: f64,
}

impl<'a, 'w> Search<'a, 'w> {
    pub(super) fn new(source: Source<'a>, window: &'a Window, wanted: &'a Wanted, watch: &'a mut Watch<'w>) -> Self {
        let events = source.events();
        Self {
            source,
            events,
            window,
            wanted,
            rate: events as f64 / window.measure(),
            watch,
            evaluations: 0,
            theta_evaluations: 0,
            iterations: 0,
            starts: vec![],
            tried_down_to: f64::INFINITY,
            on_the_way: false,
            finest: source.finest(),
            more_would_show: false,
            loose: LARGE_GAIN + LOOSE_AN_EVENT * events as f64,
        }
    }

    /// A lattice as asked for, after coarser ones.
    pub(super) fn by_way_of_coarser(&mut self, nodes: &[usize]) -> Result<Run> {
        let mut run = None;
        for coarser in ladder(nodes, DIRECT[nodes.len() - 1]) {
            self.on_the_way = coarser != nodes;
            if !self.on_the_way {
                self.loose = 0.0;
            }
            let finer = self.fit(&coarser, run.as_ref())?;
            self.loosen(run.as_ref().map(|run: &Run| finer.optimum.bound - run.optimum.bound));
            run = Some(finer);
        }
        run.ok_or(Error::NoEvents) // there is always a first lattice
    }

    /// Learns Θ from where an earlier fit arrived, on its lattice.
    pub(super) fn again(&mut self, before: &Before<'_>) -> Result<(Run, String)> {
        self.loose = 0.0;
        let level = self.level_as(&before.nodes, before.margin.clone(), Detail::Nodes, None)?;
        let sites = Sites::of(&(before.f)(level.places(self.source))?);
        let choice = format!("{} nodes, as before", describe(&level.nodes));
        let run = self.climb(Start { level, theta: before.theta.clone(), sites, curvature: Curvature::near() })?;
        Ok((run, choice))
    }

    /// Finer lattices until nothing is gained.
    pub(super) fn auto(&mut self) -> Result<(Run, String)> {
        let dims = self.window.dims();
        let fits = |nodes: &[usize]| bytes(nodes, self.wanted.smoothness) <= self.wanted.most_bytes as f64;
        let first = largest(&vec![AUTO_FIRST[dims - 1]; dims], fits);
        let mut run = self.fit(&first, None)?;
        let mut story = describe(&run.level.nodes);
        let mut bound = self.bound_of_events(&run)?;
        let mut last_gain = f64::INFINITY;
        loop {
            let next = match self.next(&run, last_gain) {
                Ok(next) => next,
                Err(why) => {
                    self.more_would_show = self.is_short_of_nodes(&run);
                    return Ok((run, format!("{story} nodes: {why}")));
                }
            };
            let finer = self.fit(&next, Some(&run))?;
            let finer_bound = self.bound_of_events(&finer)?;
            let gain = finer_bound - bound;
            if gain < AUTO_GAIN {
                let gain = gain.max(0.0);
                return Ok((run, format!("{story} nodes: {} would gain {gain:.2} nats", describe(&next))));
            }
            self.loosen(Some(gain));
            story = format!("{story} → {}", describe(&next));
            (run, bound, last_gain) = (finer, finer_bound, gain);
            if self.wanted.rival.is_some_and(|rival| bound + AUTO_HOPE * gain < rival) {
                return Ok((run, format!("{story} nodes: too far below another basis to go on")));
            }
        }
    }

    /// The lattice to try after one, or why there is none.
    fn next(&self, run: &Run, last_gain: f64) -> std::result::Result<Vec<usize>, String> {
        let ranges = run.theta.ranges();
        let lengths: Vec<f64> = ranges.iter().zip(margin(&ranges)).map(|(r, m)| (1.0 + 2.0 * m) / r).collect();
        let grown = |times: f64| self.not_too_fine(&grown(&run.level.nodes, &lengths, times), &run.level);
        let next = grown(AUTO_TIMES[lengths.len() - 1]);
        if next == run.level.nodes {
            return Err(self.source.why_no_finer().into());
        }
        let Some(why) = self.too_much(&next) else { return Ok(next) };
        let pays = last_gain.is_finite() && last_gain > AUTO_MUCH * self.events as f64;
        let mut fewer = AUTO_FEWER.iter().map(|times| grown(*times));
        let fitting = fewer.find(|nodes| pays && self.too_much(nodes).is_none());
        fitting.ok_or_else(|| format!("{} {why}", describe(&next)))
    }

    /// Whether there are events enough for nodes nearer than those of a lattice to show something: more than one for so many nodes, at
    /// places that are not rounded.
    pub(super) fn is_short_of_nodes(&self, run: &Run) -> bool {
        let nodes = &run.level.nodes;
        let twice: Vec<usize> = nodes.iter().map(|n| n.saturating_mul(2)).collect();
        let is_rounded = matches!(self.source, Source::Points(_)) && self.not_too_fine(&twice, &run.level) == *nodes;
        !is_rounded && self.too_many(&twice).is_none()
    }

    /// A lattice with its nodes no nearer than coordinates are rounded, and no fewer than a level has.
    fn not_too_fine(&self, nodes: &[usize], level: &Level) -> Vec<usize> {
        let most = |r: usize| ((1.0 + 2.0 * level.margin[r]) / self.finest[r] + 1.0) as usize; // any number if not rounded
        (0..nodes.len()).map(|r| nodes[r].min(most(r)).max(level.nodes[r])).collect()
    }

    /// Takes note of what a refinement gained.
    fn loosen(&mut self, gain: Option<f64>) {
        if let Some(gain) = gain {
            self.loose = LARGE_GAIN + LOOSE * gain.max(0.0);
        }
    }

    /// The bound with the events themselves, at the q that was found.
    fn bound_of_events(&self, run: &Run) -> Result<f64> {
        Ok(run.optimum.bound + run.level.left_out(&run.optimum, self.source)?)
    }

    /// Why a lattice is more than `auto` uses.
    fn too_much(&self, nodes: &[usize]) -> Option<String> {
        let (needed, most) = (bytes(nodes, self.wanted.smoothness), self.wanted.most_bytes as f64);
        let work = STEPS_A_LATTICE * self.step_seconds(nodes, self.events);
        if needed > most {
            let (needed, most) = (describe_bytes(needed), describe_bytes(most));
            return Some(format!("would need {needed} of memory, and {most} may be used"));
        }
        if work > AUTO_SECONDS {
            return Some(format!("would take about {work:.0} s, and auto stops at {AUTO_SECONDS:.0}"));
        }
        self.too_many(nodes)
    }

    /// Whether there are far more nodes than events.
    fn too_many(&self, nodes: &[usize]) -> Option<String> {
        let size = nodes.iter().fold(1usize, |n, &axis| n.saturating_mul(axis));
        let too_many = size > AUTO_AN_EVENT.saturating_mul(self.events);
        too_many.then(|| format!("are more than {AUTO_AN_EVENT} per event, which is where auto stops"))
    }

    fn step_seconds(&self, nodes: &[usize], events: usize) -> f64 {
        seconds(nodes, self.wanted.smoothness) + EVENT_SECONDS * events as f64
    }

    /// Learns Θ on a lattice: from what a coarser one found, and from the starting ranges that none could resolve so far.
    fn fit(&mut self, nodes: &[usize], before: Option<&Run>) -> Result<Run> {
        let mut best: Option<Run> = None;
        if let Some(before) = before {
            let start = self.continued(nodes, margin(&before.theta.ranges()), before)?;
            best = Some(self.climb(start)?);
        }
        let cheap = best.as_ref().is_none_or(|run| self.step_seconds(nodes, run.level.len()) < CHEAP);
        let scanned = if cheap { self.scan(nodes)? } else { vec![] };
        let enough = best.as_ref().map_or(f64::NEG_INFINITY, |run| run.optimum.bound) - self.hopeless();
        for start in scanned.into_iter().filter(|run| run.optimum.bound > enough) {
            let run = self.climb(start.into())?;
            if best.as_ref().is_none_or(|best| run.optimum.bound > best.optimum.bound) {
                best = Some(run);
            }
        }
        let best = best.ok_or(Error::NoEvents)?; // there is always a first start
        if cheap { self.afresh(best) } else { Ok(best) }
    }

    /// The same Θ with nothing known of f, if that leads higher. Where there are few events f can have either sign; what came from
    /// another Θ keeps the signs it had there.
    fn afresh(&mut self, best: Run) -> Result<Run> {
        let found = best.level.maximise(&best.theta, self.flat_sites(&best.level), best.gain, MOST_STEPS);
        let Ok(optimum) = found else { return Ok(best) };
        self.report(&optimum, &best.level)?;
        if optimum.bound < best.optimum.bound + best.gain {
            return Ok(best);
        }
        self.climb(Run { optimum, ..best }.into())
    }

    /// What learning Θ from a start can make up for, in nats.
    fn hopeless(&self) -> f64 {
        HOPELESS + AN_EVENT * self.events as f64
    }

    fn level(&self, nodes: &[usize], margin: Vec<f64>, before: Option<&Run>) -> Result<Level> {
        let detail = match self.wanted.exact {
            true => Detail::Events,
            false if before.is_none() || self.on_the_way => Detail::Bins,
            false => Detail::Nodes,
        };
        self.level_as(nodes, margin, detail, before)
    }

    fn level_as(&self, nodes: &[usize], margin: Vec<f64>, detail: Detail, before: Option<&Run>) -> Result<Level> {
        let before = before.map(|run| (&run.level, &run.optimum));
        Level::new(self.source, self.window, nodes, margin, self.wanted.smoothness, detail, before)
    }

    /// What was found on one lattice as a start on another.
    pub(super) fn continued(&self, nodes: &[usize], margin: Vec<f64>, before: &Run) -> Result<Start> {
        let level = self.level(nodes, margin, Some(before))?;
        let sites = level.sites_from(&before.level, &before.optimum, self.source)?;
        let curvature = before.curvature.times(self.more_curved(&level, before));
        Ok(Start { level, theta: before.theta.clone(), sites, curvature })
    }

    /// How many times as much a lattice determines Θ as the one before. If that one hardly resolved f, every node is news.
    fn more_curved(&self, level: &Level, before: &Run) -> f64 {
        let is_rough =
            before.theta.ranges().iter().zip(before.level.steps()).any(|(range, step)| *range < ROUGH * step);
        let nodes = |level: &Level| level.lattice.grid.size() as f64;
        if is_rough { nodes(level) / nodes(&before.level) } else { 1.0 }
    }

    /// The best of the starting ranges that no lattice so far could resolve, the very best first.
    fn scan(&mut self, nodes: &[usize]) -> Result<Vec<Run>> {
        let mut found: Vec<Run> = vec![];
        for range in self.untried(nodes) {
            let run = self.compared(nodes, range, found.last())?;
            self.starts.push((range, run.optimum.bound));
            found.push(run);
        }
        let mut found = peaks(found, |run| run.optimum.bound);
        found.sort_by(|a, b| b.optimum.bound.total_cmp(&a.optimum.bound));
        found.truncate(MOST_RUNS);
        let best = found.first().map_or(0.0, |run| run.optimum.bound);
        found.retain(|run| run.optimum.bound > best - self.hopeless());
        Ok(found)
    }

    /// Starting ranges that this lattice resolves on some axis and none so far did.
    fn untried(&mut self, nodes: &[usize]) -> Vec<f64> {
        let resolved = |range: &f64| {
            let margin = margin(&vec![*range; nodes.len()]);
            steps(nodes, &margin).iter().any(|step| *range >= RESOLVED * step)
        };
        let halves = std::iter::successors(Some(LONGEST_START), |range| Some(0.5 * range));
        let mut ranges: Vec<f64> =
            halves.take_while(resolved).filter(|range| *range < 0.99 * self.tried_down_to).collect();
        if ranges.is_empty() && self.tried_down_to.is_infinite() {
            ranges.push(LONGEST_START);
        }
        self.tried_down_to = ranges.last().copied().unwrap_or(self.tried_down_to);
        ranges
    }

    /// A starting range after a few natural steps.
    fn compared(&mut self, nodes: &[usize], range: f64, before: Option<&Run>) -> Result<Run> {
        let mut level = self.level(nodes, margin(&vec![range; nodes.len()]), None)?;
        let ranges: Vec<f64> = level.steps().iter().map(|step| range.max(RESOLVED * step)).collect();
        let theta = Theta::of_ranges(&ranges, VARIANCE * self.rate, MEAN * self.flat());
        let sites = match before {
            Some(run) => level.sites_from(&run.level, &run.optimum, self.source)?,
            None => self.flat_sites(&level),
        };
        let mut found = level.maximise(&theta, sites, QUICK_GAIN, QUICK_STEPS);
        if let (Err(_), Some(detail)) = (&found, safer(level.detail)) {
            level = level.with_detail(self.source, detail)?;
            found = level.maximise(&theta, self.flat_sites(&level), QUICK_GAIN, QUICK_STEPS);
        }
        let optimum = found?;
        self.report(&optimum, &level)?;
        Ok(Run { level, theta, optimum, curvature: Curvature::default(), gain: QUICK_GAIN, end: End::Evaluations })
    }

    /// The f of a flat intensity.
    fn flat(&self) -> f64 {
        self.wanted.sign * self.rate.sqrt()
    }

    fn flat_sites(&self, level: &Level) -> Sites {
        Sites::flat(self.flat(), level.len())
    }

    /// Counts an evaluation by Θ and tells the watcher.
    pub(super) fn report(&mut self, optimum: &Optimum, level: &Level) -> Result<()> {
        self.theta_evaluations += 1;
        self.evaluations += optimum.evaluations;
        match (self.watch)(self.evaluations, optimum.bound, level.nodes.iter().product()) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(Error::Cancelled),
        }
    }

    pub(super) fn coordinates(&self, level: &Level) -> Coordinates {
        Coordinates::new(&level.steps(), self.wanted.smoothness, self.rate, self.window.measure())
    }

    /// The gain at which learning Θ on a lattice has converged in the end.
    pub(super) fn last_gain(&self, level: &Level) -> f64 {
        let share = level.lattice.grid.size() as f64 / LARGE;
        self.wanted.gain.max(LARGE_GAIN * share.min(1.0))
    }

    /// L-BFGS over Θ on one lattice; the best Θ that was seen.
    pub(super) fn climb(&mut self, start: Start) -> Result<Run> {
        let Start { level, theta, mut sites, curvature } = start;
        let (coordinates, gain) = (self.coordinates(&level), self.last_gain(&level).max(self.loose));
        let most_evaluations = self.wanted.most_evaluations.saturating_sub(self.theta_evaluations);
        let settings = lbfgs::Settings { gain, most_evaluations, first_step: 0.4 };
        let mut best: Option<(Theta, Optimum)> = None;
        // What the next Θ may gain: at first so much an event, then what the last one did.
        let mut promised =
            if level.lattice.grid.size() as f64 > LARGE { PROMISED_AN_EVENT * self.events as f64 } else { 0.0 };
        let x = coordinates.pack(&theta);
        let outcome = lbfgs::maximise(x, curvature, &coordinates.bounds, settings, |x, gradient| {
            let theta = coordinates.unpack(x);
            // The envelope gradient is wrong by the root of what q still lacks, so q must be nearer its optimum than Θ.
            let tolerance = 0.3 * gain.max(NEARER * promised);
            let Ok(optimum) = level.maximise(&theta, sites.clone(), tolerance, MOST_STEPS) else { return Ok(None) };
            promised = best.as_ref().map_or(promised, |(_, best)| (optimum.bound - best.bound).abs());
            self.report(&optimum, &level)?;
            coordinates.gradient(optimum.slopes(), gradient);
            sites.clone_from(&optimum.sites);
            let value = optimum.bound;
            if best.as_ref().is_none_or(|(_, best)| value > best.bound) {
                best = Some((theta, optimum));
            }
            Ok(Some(value))
        })?;
        match (outcome, best, safer(level.detail)) {
            (Some(outcome), Some((theta, optimum)), _) => {
                self.iterations += outcome.iterations;
                Ok(Run { level, theta, optimum, curvature: outcome.curvature, gain, end: outcome.end })
            }
            (_, _, Some(detail)) => {
                let level = level.with_detail(self.source, detail)?;
                let sites = self.flat_sites(&level);
                self.climb(Start { level, theta, sites, curvature: Curvature::default() })
            }
            _ => Err(level.maximise(&theta, sites, gain, MOST_STEPS).map_or_else(|error| error, |_| Error::NoEvents)),
        }
    }
}

/// What to try where nodes in place of events lead nowhere: their negative weights can be at fault.
fn safer(detail: Detail) -> Option<Detail> {
    match detail {
        Detail::Nodes => Some(Detail::Bins),
        Detail::Bins => Some(Detail::Events),
        Detail::Events => None,
    }
}
