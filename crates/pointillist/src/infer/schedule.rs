//! Which starts, which grids, in which order.
//!
//! Starting length-scales are compared by a few natural steps each, and every local best is followed where that is cheap; a grid is fitted from coarse to fine, so that few steps run at
//! full size; `auto` goes on growing until neither the bound nor the unexplained prior variance asks for more. What the events said
//! of f (the sites) carries over from grid to grid.

use super::parameters::Layout;
use super::{Inducing, Method, Model, Problem, Run, State, collapsed, joint};
use crate::basis::{GridPoints, Hyper};
use crate::error::{Error, Result};
use crate::kernel::Kernel;
use crate::points::Points;
use crate::window::Scaling;

/// Grids up to this size (on a line; in more dimensions) are fitted at once; larger ones first with about half the points an axis.
const DIRECT: [usize; 2] = [24, 64];
/// Most inducing points `auto` uses: beyond, a dense q costs more than it gives …
pub(super) const AUTO_MOST: usize = 576;
/// … and so does more than this many an event, or for few events this many in all.
const AUTO_AN_EVENT: usize = 4;
const AUTO_FEW: usize = 64;
/// A kernel whose held parameters ask for more than this is refused: they would not fit.
const AUTO_AT_ALL: usize = 4 * AUTO_MOST;
/// `auto` stops growing when the bound gained less than this (nats) …
const AUTO_GAIN: f64 = 0.01;
/// … and less than this part of the expected events comes from what the inducing points leave unexplained.
const AUTO_UNEXPLAINED: f64 = 1e-4;
/// A length-scale below this many grid spacings is not resolved: it is not a start.
const RESOLVED: f64 = 0.7;
/// Points an axis that `auto` starts with, in one, two and three dimensions.
const AUTO_LEAST: [usize; 3] = [12, 8, 5];
/// Work of a natural step (N·M²) up to which fits are run from several starts; and from how many.
const CHEAP: usize = 100_000_000;
const MOST_RUNS: usize = 3;
/// A better optimum of q is one by this many nats: less is only fewer steps taken.
const LOCAL: f64 = 0.5;
/// A start this many nats below the best start is not followed, …
const HOPELESS: f64 = 15.0;
/// … nor one this many below a fit already made: learning Θ from it gains less. …
const LEARNING: f64 = 8.0;
/// … Both grow by this much an event.
const AN_EVENT: f64 = 0.02;
/// Relative jitter is not raised beyond this.
const MOST_JITTER: f64 = 1e-4;
/// Longest starting length-scale, in sides of the window; the next ones are each half as long.
const LONGEST: f64 = 0.5;
/// … down to this.
const SHORTEST: f64 = 1e-3;

/// The best fit, its grid, and the story.
pub(super) struct Found {
    pub(super) run: Run,
    pub(super) counts: Vec<usize>,
    pub(super) choice: String,
    pub(super) starts: Vec<(f64, f64)>,
}

/// The search in progress.
struct Search<'m, 'p, 'w> {
    model: &'m Model,
    problem: &'p mut Problem<'w>,
    layout: Layout,
    starts: Vec<(f64, f64)>,
    /// Start length-scales below this have not been tried.
    tried_down_to: f64,
    iterations: usize,
}

pub(super) fn run(
    model: &Model,
    problem: &mut Problem<'_>,
    layout: &Layout,
    hyper: Hyper,
    before: Option<State>,
    scaling: &Scaling,
) -> Result<Found> {
    let mut search =
        Search { model, problem, layout: layout.clone(), starts: vec![], tried_down_to: f64::INFINITY, iterations: 0 };
    let (mut run, counts, choice) = match (before, &model.inducing) {
        (Some(before), _) => search.again(before)?,
        (None, Inducing::Auto) => search.auto(hyper)?,
        (None, Inducing::Grid(counts)) => {
            let choice = "a regular grid, as asked for".to_string();
            (search.coarse_to_fine(hyper, counts)?, counts.clone(), choice)
        }
        (None, Inducing::At(points)) => {
            let locations = scaling.points_inward(points);
            let count = locations.len();
            (search.fit(None, &hyper, locations)?, vec![count], "the locations given".to_string())
        }
    };
    run.iterations = search.iterations;
    let choice =
        if model.optimise_inducing { format!("{choice}, then moved to where they serve best") } else { choice };
    Ok(Found { run, counts, choice, starts: search.starts })
}

impl Search<'_, '_, '_> {
    fn grid(&self, counts: &[usize]) -> Points {
        self.problem.window.grid_nearby(counts)
    }

    /// Learns Θ from where an earlier fit arrived, with its inducing points.
    fn again(&mut self, before: State) -> Result<(Run, Vec<usize>, String)> {
        self.problem.inducing = before.locations.len();
        let counts = match GridPoints::of(&before.locations) {
            Some(grid) => grid.counts(),
            None => vec![before.locations.len()],
        };
        let choice = format!("{}, as before", describe(&counts));
        Ok((self.best_run(vec![(0.0, before)])?, counts, choice))
    }

    /// Fits at these locations; where rounding leaves no usable start, with ten times the jitter, which the report tells.
    fn fit(&mut self, before: Option<State>, hyper: &Hyper, locations: Points) -> Result<Run> {
        let tried_down_to = self.tried_down_to;
        loop {
            match self.fit_once(before.clone(), hyper, locations.clone()) {
                Err(Error::NotPositiveDefinite { .. } | Error::NotANumber { .. })
                    if self.problem.jitter < MOST_JITTER =>
                {
                    self.problem.jitter = (10.0 * self.problem.jitter).max(1e-10);
                    self.tried_down_to = tried_down_to;
                }
                other => return other,
            }
        }
    }

    /// Fits at these locations, from `before` and from the best of the starting length-scales not tried so far.
    fn fit_once(&mut self, before: Option<State>, hyper: &Hyper, locations: Points) -> Result<Run> {
        self.problem.inducing = locations.len();
        let mut starts = Vec::new();
        if let Some(state) = before {
            // What the coarser grid said of f may be a poorer optimum here (f may have either sign): also ask anew.
            let state = State { locations: locations.clone(), ..state };
            let anew = self.compared(State { sites: self.problem.flat_sites(), ..state.clone() })?;
            let kept = self.compared(state)?;
            starts.push(if anew.0 > kept.0 + LOCAL { anew } else { kept });
        }
        let spacing = (locations.len() as f64).powf(-1.0 / locations.dims() as f64);
        let scan = self.untried(RESOLVED * spacing);
        let margin = LEARNING + AN_EVENT * self.problem.events as f64;
        let learned = starts.first().map_or(f64::NEG_INFINITY, |(value, _)| *value);
        let found = peaks(self.scan(hyper, &scan, |_| locations.clone())?, |(value, _)| *value);
        starts.extend(found.into_iter().filter(|(value, _)| *value > learned - margin));
        if starts.is_empty() {
            starts.push((0.0, State::new(hyper.clone(), locations, self.problem.flat_sites())));
        }
        self.best_run(starts)
    }

    /// Starting length-scales down to `shortest` that no grid so far could resolve.
    fn untried(&mut self, shortest: f64) -> Vec<f64> {
        if !self.layout.scans() {
            let first = self.tried_down_to.is_infinite();
            self.tried_down_to = 0.0;
            return if first { vec![LONGEST] } else { vec![] };
        }
        let mut candidates: Vec<f64> = std::iter::successors(Some(LONGEST), |l| Some(0.5 * l))
            .take_while(|&l| l >= shortest && l > SHORTEST)
            .filter(|&l| l < 0.99 * self.tried_down_to)
            .collect();
        if candidates.is_empty() && self.tried_down_to.is_infinite() {
            candidates.push(LONGEST);
        }
        self.tried_down_to = candidates.last().copied().unwrap_or(self.tried_down_to);
        candidates
    }

    /// A state with its bound after a few natural steps.
    fn compared(&mut self, state: State) -> Result<(f64, State)> {
        let (bound, sites) = collapsed::quick_bound(self.problem, &state.hyper, &state.locations, state.sites)?;
        Ok((bound + self.layout.log_prior(&state.hyper), State { sites, ..state }))
    }

    /// The bound at each starting length-scale, on the inducing points for it.
    fn scan(
        &mut self,
        hyper: &Hyper,
        lengthscales: &[f64],
        locations: impl Fn(f64) -> Points,
    ) -> Result<Vec<(f64, State)>> {
        let mut sites = self.problem.flat_sites();
        let margin = HOPELESS + AN_EVENT * self.problem.events as f64;
        let mut found: Vec<(f64, State)> = Vec::new();
        let mut best = f64::NEG_INFINITY;
        for &l in lengthscales {
            let start = self.layout.with_lengthscale(hyper, l);
            let (value, state) = self.compared(State::new(start, locations(l), sites.clone()))?;
            self.starts.push((l, value - self.problem.log_units));
            sites.clone_from(&state.sites);
            found.push((value, state));
            best = best.max(value);
            if value < best - margin {
                break; // shorter ones are worse still
            }
        }
        found.retain(|(value, _)| *value >= best - margin);
        Ok(found)
    }

    /// The best fit from these starts: from each of them where that is cheap, else from the best.
    fn best_run(&mut self, mut starts: Vec<(f64, State)>) -> Result<Run> {
        starts.sort_by(|a, b| b.0.total_cmp(&a.0));
        let mut best: Option<Run> = None;
        for (at, (_, state)) in starts.into_iter().enumerate() {
            let work = self.problem.work(state.locations.len());
            if at > 0 && (work > CHEAP || at >= MOST_RUNS) {
                break;
            }
            let run = match self.model.method {
                Method::Collapsed => collapsed::maximise(self.problem, &self.layout, state, self.model.gain)?,
                Method::Joint => joint::maximise(self.problem, &self.layout, state, 0.01 * self.model.gain)?,
            };
            self.iterations += run.iterations;
            // More inducing points must earn their keep.
            let better = |best: &Run| {
                let larger = run.state.locations.len() > best.state.locations.len();
                run.value > best.value + if larger { AUTO_GAIN } else { 0.0 }
            };
            if best.as_ref().is_none_or(better) {
                best = Some(run);
            }
        }
        // There is always a first start, unless none of them has a bound.
        best.ok_or(Error::NotANumber { parameters: vec![] })
    }

    /// A grid by way of coarser ones.
    fn coarse_to_fine(&mut self, hyper: Hyper, counts: &[usize]) -> Result<Run> {
        let mut ladder = vec![counts.to_vec()];
        let direct = DIRECT[usize::from(counts.len() > 1)];
        while let Some(last) = ladder.last()
            && last.iter().product::<usize>() > direct
        {
            let coarser: Vec<usize> = last.iter().map(|&c| if c > 4 { c.div_ceil(2) + 1 } else { c }).collect();
            if coarser == *last || !self.resolves(&coarser, &hyper) {
                break;
            }
            ladder.push(coarser);
        }
        let mut state = None;
        while ladder.len() > 1 {
            let counts = ladder.pop().unwrap_or_default();
            // Inducing points are moved only at the end; a coarse fit only finds Θ.
            let rest = self.layout.at_rest();
            let moving = std::mem::replace(&mut self.layout, rest);
            let locations = self.grid(&counts);
            let run = self.fit(state.take(), &hyper, locations)?;
            self.layout = moving;
            state = Some(run.state);
        }
        let locations = self.grid(counts);
        self.fit(state, &hyper, locations)
    }

    /// Grows a grid until nothing is gained.
    fn auto(&mut self, hyper: Hyper) -> Result<(Run, Vec<usize>, String)> {
        let most = AUTO_MOST.min(AUTO_FEW.max(AUTO_AN_EVENT.saturating_mul(self.problem.events)));
        let (mut run, mut counts) = self.auto_start(&hyper, most)?;
        let mut story = vec![describe(&counts)];
        loop {
            let unexplained = self.unexplained(&run.state)?;
            let next = spread(&grown(&counts, &run.state.hyper.kernel), &run.state.hyper.kernel);
            if self.grid(&next).len() > most {
                let why = format!(
                    "{}; stopped at the most that auto uses, with {unexplained:.1e} of the expected events unexplained",
                    story.join(" → ")
                );
                return Ok((run, counts, why));
            }
            let locations = self.grid(&next);
            let finer = self.fit(Some(run.state.clone()), &hyper, locations)?;
            let gain = finer.value - run.value;
            if gain < AUTO_GAIN && unexplained < AUTO_UNEXPLAINED {
                let why = format!(
                    "{}: {unexplained:.1e} of the expected events are unexplained and {} would gain {:.4} nats",
                    story.join(" → "),
                    describe(&next),
                    gain.max(0.0)
                );
                return Ok((run, counts, why));
            }
            story.push(describe(&next));
            (run, counts) = (finer, next);
        }
    }

    /// Each starting length-scale is tried on a grid just fine enough for it; the fit starts on the grid of the best.
    fn auto_start(&mut self, hyper: &Hyper, most: usize) -> Result<(Run, Vec<usize>)> {
        let dims = self.problem.window.dims();
        let least = AUTO_LEAST.get(dims - 1).copied().unwrap_or(3);
        let layout = self.layout.clone();
        let counts = |l: f64| -> Vec<usize> {
            let kernel = layout.with_lengthscale(hyper, l).kernel;
            let counts: Vec<usize> = (0..dims).map(|r| least_count(&kernel, r, least)).collect();
            spread(&counts, &kernel)
        };
        let needed = counts(LONGEST).iter().fold(1usize, |n, &c| n.saturating_mul(c));
        if needed > AUTO_AT_ALL {
            let requirement = format!(
                "so short a length-scale or period, which is held or given, needs some {needed} of them and at most {AUTO_AT_ALL} are used: \
                 take a longer one, or a lattice"
            );
            return Err(Error::setting("inducing points", "auto", requirement));
        }
        let affordable = |l: f64| {
            let size = counts(l).iter().fold(1usize, |n, &c| n.saturating_mul(c));
            size <= most && (size <= least.pow(dims as u32) || self.problem.work(size) <= CHEAP)
        };
        let candidates = std::iter::successors(Some(LONGEST), |l| Some(0.5 * l)).take_while(|l| *l > SHORTEST);
        let shortest = candidates.take_while(|&l| affordable(l)).last();
        let lengthscales = self.untried(shortest.unwrap_or(LONGEST));
        let window = self.problem.window.clone();
        let found = self.scan(hyper, &lengthscales, |l| window.grid_nearby(&counts(l)))?;
        let run = self.best_run(peaks(found, |(value, _)| *value))?;
        let size = run.state.locations.len();
        let of_run = lengthscales.iter().map(|&l| counts(l)).find(|counts| window.grid_nearby(counts).len() == size);
        Ok((run, of_run.unwrap_or_else(|| vec![least; dims])))
    }

    /// Whether a grid is fine enough for what the kernel does at any length-scale: a period, say. Where there are many periods, another
    /// grid stands in other phases, and what it finds is no guide.
    fn resolves(&self, counts: &[usize], hyper: &Hyper) -> bool {
        let kernel = self.layout.with_lengthscale(hyper, LONGEST).kernel;
        (0..counts.len()).all(|r| counts[r] >= least_count(&kernel, r, 1) && !kernel.has_short_waves(r))
    }

    /// The part of the expected events that the residual variance accounts for.
    fn unexplained(&self, state: &State) -> Result<f64> {
        let basis = self.problem.basis(&state.hyper, &state.locations)?;
        Ok(basis.over(&self.problem.window).residual / self.problem.events as f64)
    }
}

/// Whether a kernel asks for more inducing points than so many places of events could have a say in: a structure so fine is none of theirs.
pub(super) fn is_crowded(kernel: &Kernel, places: usize) -> bool {
    let needed: f64 = (0..kernel.dims).map(|r| kernel.points_needed(r)).product();
    needed > (AUTO_AN_EVENT * places).max(AUTO_FEW) as f64
}

/// What is better than its neighbours in the list.
pub(crate) fn peaks<T>(list: Vec<T>, value: impl Fn(&T) -> f64) -> Vec<T> {
    let values: Vec<f64> = list.iter().map(value).collect();
    let is_peak =
        |i: usize| (i == 0 || values[i] >= values[i - 1]) && values.get(i + 1).is_none_or(|next| values[i] > *next);
    list.into_iter().enumerate().filter(|(i, _)| is_peak(*i)).map(|(_, one)| one).collect()
}

/// Points on an axis of length 1 for a kernel: as many as it needs, no fewer than `least`; one alone if it is constant.
fn least_count(kernel: &Kernel, axis: usize, least: usize) -> usize {
    let needed = kernel.points_needed(axis);
    if kernel.length(axis).is_infinite() { 1 } else { least.max(needed.min(1e6).ceil() as usize) }
}

/// About half as many points again on every axis that does not yet have well over what the kernel needs, or on all.
fn grown(counts: &[usize], kernel: &Kernel) -> Vec<usize> {
    let coarse = |r: usize| (counts[r] as f64 - 1.0).max(1.0) < 2.0 * (kernel.points_needed(r) - 1.0);
    let any = (0..counts.len()).any(coarse);
    let varies = |r: usize| kernel.length(r).is_finite();
    let grow = |r: usize| if varies(r) && (!any || coarse(r)) { (3 * counts[r]).div_ceil(2) } else { counts[r] };
    (0..counts.len()).map(grow).collect()
}

/// These counts, a few more on an axis with many periods: points evenly apart must not all fall into the same phase. Taken is the number
/// whose points are least alike.
fn spread(counts: &[usize], kernel: &Kernel) -> Vec<usize> {
    let most_alike = |r: usize, count: usize| {
        let step = 1.0 / (count as f64 - 1.0).max(1.0);
        (1..count).map(|i| kernel.likeness(r, step * i as f64)).fold(f64::NEG_INFINITY, f64::max)
    };
    let count = |r: usize| {
        let few = counts[r] / 8 + 4;
        let candidates = (counts[r]..=counts[r].saturating_add(few)).map(|count| (most_alike(r, count), count));
        candidates.min_by(|a, b| a.0.total_cmp(&b.0)).map_or(counts[r], |(_, count)| count)
    };
    let has_phases = |r: usize| kernel.has_short_waves(r) && counts[r] > 1 && counts[r] <= AUTO_AT_ALL;
    (0..counts.len()).map(|r| if has_phases(r) { count(r) } else { counts[r] }).collect()
}

/// `12` or `8×8`.
pub(crate) fn describe(counts: &[usize]) -> String {
    counts.iter().map(usize::to_string).collect::<Vec<_>>().join("×")
}
