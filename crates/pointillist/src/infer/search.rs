//! The one search over Θ and over how fine a field is, for every family.
//!
//! Starting lengths are compared by a few natural steps each, and every local best is followed where that is cheap. A finer field
//! starts from what the coarser one learned: Θ, the curvature around it, and what the events said of f (the sites). So few steps
//! run at full size. At each Θ natural steps bring q to its optimum. The gradient by Θ is then the partial one (envelope theorem,
//! docs/derivation.md (19)), and L-BFGS moves Θ alone. What differs between families is behind [`Kind`]; the numbers are in
//! `tuning.rs`.

use super::lbfgs::{self, Curvature, End};
use super::tally::Tally;
use super::tuning::Tuning;
use super::{FitStage, StandardError, members};
use crate::data::points::Points;
use crate::error::{Error, Result};
use crate::gaussian::Sites;
use crate::gaussian::step::{Clamp, Until};
use crate::numerics::linalg::{self, Matrix};
use crate::parallel;
use crate::terms::Marginals;
use crate::window::Window;
use std::cell::Cell;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Coordinates (logarithms) are moved by this for the curvature of the bound, or by ever less where it then falls by more than so many nats, down to
/// the least (a period is known far better than a length) …
const STEP: f64 = 0.05;
const MOST_FALL: f64 = 2.0;
const LEAST_STEP: f64 = 1e-4;
/// … at which q is brought this near (nats) to its optimum, less near by as much again for each so many events: they make the bound fall fast.
const NEAR: f64 = 1e-6;
const NEAR_EVENTS: f64 = 10.0;
/// A finer field shows nothing new if its bound at the same Θ differs by less than this part of what is worth a refinement.
const NOTHING_NEW: f64 = 0.3;

/// On a coarser field, which only leads to the start on another, Θ is learned to this gain (nats).
const ROUGHLY: f64 = 0.1;

/// For what is foreseen: natural steps on a field until Θ is learned, …
const STEPS: f64 = 25.0;
/// … and how many times as much a step costs on the next finer field.
const FINER_COSTS: f64 = 8.0;

/// A kind of field, as the search sees it.
pub(super) trait Kind: Sized + Sync {
    /// How fine it is: points or nodes per axis.
    type Fineness: Clone;
    /// A field that fine, with what is seen of the events on it.
    type Level: Sync;
    /// Θ (and Z).
    type Theta: Clone + Sync;
    /// What is kept of q at its optimum.
    type Kept: Send;
    /// The posterior at one Θ, as an average holds it.
    type Member;

    fn window(&self) -> &Window;

    fn tuning(&self) -> &'static Tuning;

    /// Number of unknowns.
    fn size(&self, level: &Self::Level) -> usize;

    /// Cost of a natural step.
    fn cost(&self, level: &Self::Level) -> f64;

    /// About the same for a field that is not made yet.
    fn cost_of(&self, fineness: &Self::Fineness) -> f64;

    /// About what a step on the finest field that `auto` may come to costs, after one that costs so much.
    fn dearest(&self, cost: f64) -> f64 {
        cost
    }

    /// Cost of a step from which on Θ is only corrected, having been learned on coarser fields.
    fn dear(&self) -> f64 {
        f64::INFINITY
    }

    /// The gain at which learning Θ has converged in the end.
    fn last_gain(&self, level: &Self::Level) -> f64;

    fn clamp(&self, level: &Self::Level) -> Clamp;

    /// The optimiser's vector, its bounds, and Θ from it.
    fn pack(&self, level: &Self::Level, theta: &Self::Theta) -> (Vec<f64>, Vec<(f64, f64)>);
    fn unpack(&self, level: &Self::Level, x: &[f64], base: &Self::Theta) -> Self::Theta;

    /// Natural steps at one Θ, and, if it is asked for, the gradient by the optimiser's vector.
    fn evaluate(
        &self,
        level: &Self::Level,
        theta: &Self::Theta,
        sites: Sites,
        until: Until<'_>,
        by: By<'_>,
    ) -> Result<Found<Self::Kept>>;

    /// The sites of a flat intensity: where nothing is known of f yet.
    fn flat_sites(&self, level: &Self::Level) -> Sites;

    /// A start at this length, on a field of this fineness or, without one, on a field that suits the length. `before` is the
    /// start that was tried last.
    fn start(&self, fineness: Option<&Self::Fineness>, length: f64, before: Option<&Run<Self>>) -> Result<Start<Self>>;

    /// Whether a length is worth a start: not so short that the field could not show it.
    fn shortest(&self, fineness: Option<&Self::Fineness>, length: f64) -> bool;

    /// Whether starting lengths change anything.
    fn scans(&self) -> bool;

    /// What was found on one field as a start on another.
    fn continued(&self, fineness: &Self::Fineness, before: &Run<Self>) -> Result<Start<Self>>;

    /// The sites of |f|, where a coarser field that a start continues is sure of f with either sign; none where it is not.
    fn folded(&self, _start: &Start<Self>, _before: &Run<Self>) -> Result<Option<Sites>> {
        Ok(None)
    }

    /// The same field, seen in a way that is slower and safer, where this one leads nowhere.
    fn safer(&self, _level: Self::Level) -> Result<Option<Self::Level>> {
        Ok(None)
    }

    /// Changes something after this error, if it can; then it is worth beginning again.
    fn relaxed(&mut self, _error: &Error) -> bool {
        false
    }

    /// Another scheme than [`Search::climb`], if Θ is to be learned by one.
    fn otherwise(&self) -> Option<Scheme<Self>> {
        None
    }

    /// Whether natural steps lead to the same q from wherever they begin.
    fn has_one_optimum(&self) -> bool {
        false
    }

    /// Whether a start on a finer field and the run that it continues show the same things, if their bounds are the same.
    fn is_alike(&self, _start: &Start<Self>, _before: &Run<Self>) -> bool {
        false
    }

    /// Whether a length is as short as the field can show.
    fn is_at_its_finest(&self, _run: &Run<Self>) -> bool {
        false
    }

    /// A coarser field on which Θ is learned first for less, and that of the start itself, if that is worth it.
    fn rougher(&self, _start: &Run<Self>) -> Option<(Self::Fineness, Self::Fineness)> {
        None
    }

    /// Told before a fit whether it only leads to a finer field.
    fn leads_on(&mut self, _on: bool) {}

    /// Coarser fields on the way to one, and that one last.
    fn ladder(&self, fineness: &Self::Fineness) -> Vec<Self::Fineness>;

    /// How fine a field to try after a run, or why none.
    fn next(&self, run: &Run<Self>, way: &Way<'_>) -> std::result::Result<Self::Fineness, String>;

    /// The bound of a run, corrected for what weighted points in place of events left out, where that is known.
    fn worth(&self, run: &Run<Self>) -> Result<f64> {
        Ok(run.value)
    }

    /// Why to stop at a run because the next fineness gained so little; none to go on. The sentence follows the numbers of
    /// points or nodes.
    fn enough(&self, run: &Run<Self>, next: &Self::Fineness, gain: f64) -> Result<Option<String>>;

    /// The number of hyper-parameters that are learned: what the optimiser's vector begins with.
    fn free(&self) -> usize;

    /// Where ratios of lengths stand in the optimiser's vector.
    fn ratios(&self) -> Vec<usize>;

    /// Whether a run on the way to the field that is asked for is so far behind another family that it is not worth going on.
    fn is_behind(&self, _run: &Run<Self>, _way: &Way<'_>) -> bool {
        false
    }

    /// The same q once more, where to find it again takes long.
    fn copied(&self, _kept: &Self::Kept) -> Option<Self::Kept> {
        None
    }

    /// What another family has reached.
    fn rival(&self) -> f64 {
        f64::NEG_INFINITY
    }

    /// The posterior at one Θ, from what natural steps found there.
    fn member(&self, level: &Self::Level, theta: &Self::Theta, sites: &Sites, kept: Self::Kept)
    -> Result<Self::Member>;

    /// Mean and variance of f under it.
    fn marginals(&self, level: &Self::Level, member: &Self::Member, places: &Points) -> Result<Marginals>;

    /// The names of what the optimiser's vector begins with, their values for the user, and the derivatives of these by the vector.
    fn named(&self, theta: &Self::Theta) -> Vec<Named>;

    fn describe(&self, level: &Self::Level) -> String;
    fn describe_fineness(&self, fineness: &Self::Fineness) -> String;
}

/// How `auto` came to a field.
pub(super) struct Way<'a> {
    /// What the last refinement gained; infinite on the first field.
    pub(super) gain: f64,
    /// What natural steps have cost so far.
    pub(super) work: f64,
    /// About how many of them the last refinement took; 0 on the first field.
    pub(super) steps: f64,
    /// The number of unknowns and the bound of each field that was kept, the present one last.
    pub(super) levels: &'a [(usize, f64)],
}

/// A way to learn Θ from a start; with the steps of its optimiser.
pub(super) type Scheme<K> = fn(&K, Start<K>, &Tally<'_>) -> Result<(Run<K>, usize)>;

/// A hyper-parameter that is learned.
pub(super) struct Named {
    pub(super) name: String,
    /// In the user's units.
    pub(super) value: f64,
    /// Its derivative by the coordinate that the optimiser moves.
    pub(super) slope: f64,
}

/// A vector and room for the gradient by it, if that is asked for.
pub(super) type By<'a> = Option<(&'a [f64], &'a mut [f64])>;

/// What natural steps at one Θ found.
pub(super) struct Found<Q> {
    /// The bound and log p(Θ).
    pub(super) value: f64,
    pub(super) sites: Sites,
    pub(super) kept: Q,
}

/// A Θ to look at: where its natural steps begin, and the optimiser's vector if the gradient by it is asked for.
pub(super) struct Look<T> {
    pub(super) theta: T,
    pub(super) sites: Sites,
    pub(super) by: Option<Vec<f64>>,
}

/// What natural steps found at a Θ, with the gradient that was asked for.
pub(super) type Seen<Q> = Result<(Found<Q>, Vec<f64>)>;

/// A point of the search on its field.
pub(super) struct Start<K: Kind> {
    pub(super) level: K::Level,
    pub(super) theta: K::Theta,
    pub(super) sites: Sites,
    pub(super) curvature: Curvature,
}

/// Where L-BFGS arrived on a field.
pub(super) struct Run<K: Kind> {
    pub(super) level: K::Level,
    pub(super) theta: K::Theta,
    pub(super) sites: Sites,
    pub(super) kept: K::Kept,
    pub(super) value: f64,
    pub(super) curvature: Curvature,
    /// The gain at which it has converged.
    pub(super) gain: f64,
    pub(super) end: End,
}

impl<K: Kind> From<Run<K>> for Start<K> {
    fn from(run: Run<K>) -> Self {
        Self { level: run.level, theta: run.theta, sites: run.sites, curvature: run.curvature }
    }
}

/// The search in progress.
pub(super) struct Search<'a, 'w, K: Kind> {
    pub(super) kind: K,
    pub(super) tally: &'a Tally<'w>,
    /// Number of events.
    pub(super) events: usize,
    pub(super) iterations: usize,
    /// Starting lengths with their bounds.
    pub(super) starts: Vec<(f64, f64)>,
    /// The number of unknowns and the bound of each field that was kept on the way.
    pub(super) levels: Vec<(usize, f64)>,
    /// Starting lengths below this have not been tried.
    tried_down_to: f64,
    /// Θ need not be learned closer than this gain before the next refinement, which will gain far more.
    pub(super) loose: f64,
    /// What natural steps have cost so far.
    pub(super) work: Cell<f64>,
    /// Whether members will be asked for.
    pub(super) averages: bool,
    /// Whether it ended before the field that was asked for, because another family is far ahead.
    pub(super) is_left_behind: bool,
    /// At how many Θ the last field was looked at, if looks were counted there because they are dear.
    pub(super) looks: Option<usize>,
}

impl<'a, 'w, K: Kind> Search<'a, 'w, K> {
    pub(super) fn new(kind: K, tally: &'a Tally<'w>, events: usize) -> Self {
        let tuning = kind.tuning();
        let loose = tuning.large_gain + tuning.loose_per_event * events as f64;
        Self {
            kind,
            tally,
            events,
            iterations: 0,
            starts: vec![],
            levels: vec![],
            tried_down_to: f64::INFINITY,
            loose,
            work: Cell::new(0.0),
            averages: true,
            is_left_behind: false,
            looks: None,
        }
    }

    /// A field as asked for, after coarser ones; or the coarser one on which another family left this one behind.
    pub(super) fn by_way_of_coarser(&mut self, fineness: &K::Fineness) -> Result<Run<K>> {
        let ladder = self.kind.ladder(fineness);
        self.along(&ladder, 0..ladder.len(), None)
    }

    /// Part of the way to the last of these fields, from a run on the one before that part.
    pub(super) fn along(
        &mut self,
        ladder: &[K::Fineness],
        part: Range<usize>,
        mut run: Option<Run<K>>,
    ) -> Result<Run<K>> {
        let last = ladder.len() - 1;
        for at in part {
            let coarser = &ladder[at];
            self.kind.leads_on(at < last);
            if at == last {
                self.loose = 0.0;
            }
            let ahead: Vec<f64> = ladder[at..].iter().map(|finer| self.kind.cost_of(finer)).collect();
            self.foresee(&ahead);
            let finer = self.fit(Some(coarser), run.as_ref())?;
            if let Some(before) = &run {
                self.loosen(finer.value - before.value);
            }
            let is_behind = at < last && self.is_left_behind_on_the_way(&finer)?;
            let is_left = is_behind && ahead.last().is_some_and(|cost| *cost >= self.kind.tuning().worth_leaving);
            run = Some(finer);
            if is_left {
                self.is_left_behind = true;
                break;
            }
        }
        run.ok_or(Error::NoEvents) // there is always a first one
    }

    /// Takes note of a field on the way to the one that is asked for. Whether another family is so far ahead that it is not worth going on.
    pub(super) fn is_left_behind_on_the_way(&mut self, run: &Run<K>) -> Result<bool> {
        let worth = self.kind.worth(run)?;
        self.levels.push((self.kind.size(&run.level), worth));
        Ok(self.kind.is_behind(run, &self.way(f64::INFINITY, 0.0)))
    }

    /// Finer fields until nothing is gained, from `first` or from the field that suits the best starting length. Returns the
    /// last run, and in words how the field was chosen.
    pub(super) fn auto(&mut self, first: Option<&K::Fineness>) -> Result<(Run<K>, String)> {
        let run = self.first(first)?;
        self.ever_finer(run)
    }

    /// The first of these fields.
    pub(super) fn first(&mut self, first: Option<&K::Fineness>) -> Result<Run<K>> {
        self.foresee(&[self.kind.dearest(first.map_or(0.0, |first| self.kind.cost_of(first)))]);
        self.fit(first, None)
    }

    /// Finer fields after this one.
    pub(super) fn ever_finer(&mut self, mut run: Run<K>) -> Result<(Run<K>, String)> {
        let mut story = self.kind.describe(&run.level);
        let mut bound = self.kind.worth(&run)?;
        let (mut last_gain, mut steps) = (f64::INFINITY, 0.0);
        loop {
            self.levels.push((self.kind.size(&run.level), bound));
            let next = match self.kind.next(&run, &self.way(last_gain, steps)) {
                Ok(next) => next,
                Err(why) => return Ok((run, format!("{story}{why}"))),
            };
            let cost = self.kind.cost_of(&next);
            let dearest = self.kind.dearest(cost);
            self.foresee(&[if FINER_COSTS * cost < dearest { dearest } else { cost }]);
            let work = self.work.get();
            let finer = self.fit(Some(&next), Some(&run))?;
            steps = (self.work.get() - work) / self.kind.cost(&finer.level);
            let finer_bound = self.kind.worth(&finer)?;
            let gain = finer_bound - bound;
            if let Some(why) = self.kind.enough(&run, &next, gain)? {
                // Where a length is as short as a field can show, the bound of the next finer one may be lower, and rise again.
                let further = match self.kind.is_at_its_finest(&run) {
                    true => self.kind.next(&finer, &self.way(gain, steps)).ok(),
                    false => None,
                };
                let Some(further) = further else { return Ok((run, format!("{story}{why}"))) };
                let finest = self.fit(Some(&further), Some(&finer))?;
                let finest_bound = self.kind.worth(&finest)?;
                if finest_bound - bound < self.kind.tuning().auto_gain {
                    return Ok((run, format!("{story}{why}")));
                }
                let [next, further] = [&next, &further].map(|one| self.kind.describe_fineness(one));
                story = format!("{story} → {next} → {further}");
                (run, last_gain, bound) = (finest, finest_bound - bound, finest_bound);
                continue;
            }
            self.loosen(gain);
            story = format!("{story} → {}", self.kind.describe_fineness(&next));
            (run, bound, last_gain) = (finer, finer_bound, gain);
        }
    }

    /// Tells how much work is left: fields on which a step costs so much, and what comes after the last of them.
    fn foresee(&self, costs: &[f64]) {
        let members = if self.averages { members::steps(self.kind.free(), self.events) } else { 0.0 };
        let after = costs.last().map_or(0.0, |cost| cost * members);
        self.tally.foresee(FitStage::Search, STEPS * costs.iter().sum::<f64>() + after);
    }

    /// How it came here, if the last refinement gained so much in so many steps.
    fn way(&self, gain: f64, steps: f64) -> Way<'_> {
        Way { gain, work: self.work.get(), steps, levels: &self.levels }
    }

    /// Takes note of what a refinement gained.
    fn loosen(&mut self, gain: f64) {
        let tuning = self.kind.tuning();
        self.loose = tuning.large_gain + tuning.loose * gain.max(0.0);
    }

    /// Learns Θ on a field: from what a coarser one found, and from the starting lengths that none could resolve so far.
    pub(super) fn fit(&mut self, fineness: Option<&K::Fineness>, before: Option<&Run<K>>) -> Result<Run<K>> {
        let tried_down_to = self.tried_down_to;
        loop {
            match self.fit_once(fineness, before) {
                Err(error) if self.kind.relaxed(&error) => self.tried_down_to = tried_down_to,
                other => return other,
            }
        }
    }

    fn fit_once(&mut self, fineness: Option<&K::Fineness>, before: Option<&Run<K>>) -> Result<Run<K>> {
        let tuning = self.kind.tuning();
        let mut best: Option<Run<K>> = None;
        if let (Some(before), Some(fineness)) = (before, fineness) {
            let start = self.kind.continued(fineness, before)?;
            let cost = self.kind.cost(&start.level);
            // Where steps are cheap, it is begun afresh below; where they are dear, coarser fields have seen to it.
            let may_fold = cost >= tuning.cheap && cost < self.kind.dear();
            let start = if may_fold { self.of_one_sign(start, before)? } else { start };
            best = Some(self.refined(start, before)?);
        }
        let cost = best.as_ref().map_or(0.0, |run| self.kind.cost(&run.level));
        let scanned = if cost < tuning.scan_below { self.scan(fineness)? } else { vec![] };
        let enough = best.as_ref().map_or(f64::NEG_INFINITY, |run| run.value) - self.margin(tuning.hopeless);
        for start in scanned {
            let is_dear = best.is_some() && self.kind.cost(&start.level) >= tuning.cheap;
            if start.value <= enough || is_dear {
                continue;
            }
            let start = if fineness.is_none() { self.approached(start)? } else { start.into() };
            let run = self.climb(start)?;
            if best.as_ref().is_none_or(|best| self.is_better(&run, best)) {
                best = Some(run);
            }
        }
        let best = best.ok_or(Error::NotANumber { parameters: vec![] })?;
        let is_cheap = self.kind.cost(&best.level) < tuning.cheap
            && self.kind.otherwise().is_none()
            && !self.kind.has_one_optimum();
        if is_cheap && (before.is_some() || tuning.afresh_first) { self.afresh(best) } else { Ok(best) }
    }

    /// A start with f of one sign, where the coarser field is sure of both and that leads higher: where signs meet among events there is a front that natural steps do
    /// not move.
    pub(super) fn of_one_sign(&self, start: Start<K>, before: &Run<K>) -> Result<Start<K>> {
        let Some(folded) = self.kind.folded(&start, before)? else { return Ok(start) };
        let tuning = self.kind.tuning();
        let mut best: Option<Found<K::Kept>> = None;
        for sites in [start.sites.clone(), folded] {
            match self.evaluate(&start.level, &start.theta, sites, (tuning.quick_gain, tuning.quick_steps), None) {
                Err(Error::Cancelled) => return Err(Error::Cancelled),
                Ok(found) if best.as_ref().is_none_or(|best| found.value > best.value) => best = Some(found),
                _ => {}
            }
        }
        let sites = best.map_or(start.sites, |found| found.sites);
        Ok(Start { sites, ..start })
    }

    /// Θ learned roughly on a coarser field, where steps on that of a start are dear; the start itself where that leads no higher.
    fn approached(&mut self, start: Run<K>) -> Result<Start<K>> {
        let Some((rough, own)) = self.kind.rougher(&start) else { return Ok(start.into()) };
        let begun = self.kind.continued(&rough, &start)?;
        let loose = std::mem::replace(&mut self.loose, ROUGHLY);
        let climbed = self.climb(begun);
        self.loose = loose;
        let next = match climbed {
            Err(Error::Cancelled) => return Err(Error::Cancelled),
            Err(_) => return Ok(start.into()),
            Ok(run) => self.kind.continued(&own, &run)?,
        };
        let steps = (ROUGHLY, self.kind.tuning().quick_steps);
        match self.evaluate(&next.level, &next.theta, next.sites.clone(), steps, None) {
            Err(Error::Cancelled) => Err(Error::Cancelled),
            Ok(found) if found.value > start.value => Ok(Start { sites: found.sites, ..next }),
            _ => Ok(start.into()),
        }
    }

    /// Learns Θ on a finer field, unless that shows nothing new.
    fn refined(&mut self, start: Start<K>, before: &Run<K>) -> Result<Run<K>> {
        if !self.kind.is_alike(&start, before) {
            return self.climb(start);
        }
        let tuning = self.kind.tuning();
        let steps = (0.3 * before.gain, tuning.most_steps);
        match self.evaluate(&start.level, &start.theta, start.sites.clone(), steps, None) {
            Err(Error::Cancelled) => Err(Error::Cancelled),
            Ok(Found { value, sites, kept }) if (value - before.value).abs() < NOTHING_NEW * tuning.auto_gain => {
                let Start { level, theta, curvature, .. } = start;
                Ok(Run { level, theta, sites, kept, value, curvature, gain: before.gain, end: before.end })
            }
            _ => self.climb(start),
        }
    }

    /// Whether a run is better than another. One with more unknowns must be better by `auto_gain`.
    fn is_better(&self, run: &Run<K>, best: &Run<K>) -> bool {
        let larger = self.kind.size(&run.level) > self.kind.size(&best.level);
        run.value > best.value + if larger { self.kind.tuning().auto_gain } else { 0.0 }
    }

    /// Begins again at the same Θ with nothing known of f, and goes on from there if that leads higher. Where there are few events
    /// f can have either sign, and sites that came from another Θ keep the signs they had there.
    fn afresh(&mut self, best: Run<K>) -> Result<Run<K>> {
        let tuning = self.kind.tuning();
        let sites = self.kind.flat_sites(&best.level);
        let found = match self.evaluate(&best.level, &best.theta, sites, (best.gain, tuning.afresh_steps), None) {
            Err(Error::Cancelled) => return Err(Error::Cancelled),
            Err(_) => return Ok(best),
            Ok(found) => found,
        };
        if found.value < best.value + best.gain {
            return Ok(best);
        }
        self.climb(Start { level: best.level, theta: best.theta, sites: found.sites, curvature: best.curvature })
    }

    /// So many nats, and more where there are many events.
    fn margin(&self, nats: f64) -> f64 {
        nats + self.kind.tuning().per_event * self.events as f64
    }

    /// The best of the starting lengths that were not tried yet, the very best first.
    fn scan(&mut self, fineness: Option<&K::Fineness>) -> Result<Vec<Run<K>>> {
        let tuning = self.kind.tuning();
        let mut found: Vec<Run<K>> = vec![];
        let mut best = f64::NEG_INFINITY;
        for length in self.untried(fineness) {
            let run = self.compared(fineness, length, found.last())?;
            self.starts.push((length, run.value - self.tally.log_units()));
            best = best.max(run.value);
            let given_up = run.value < best - self.margin(tuning.given_up);
            found.push(run);
            if given_up {
                break; // shorter ones are worse still
            }
        }
        let mut found = peaks(found, |run| run.value);
        found.sort_by(|a, b| b.value.total_cmp(&a.value));
        found.truncate(tuning.most_runs);
        let margin = self.margin(tuning.followed);
        found.retain(|run| run.value > best - margin);
        Ok(found)
    }

    /// Starting lengths that are resolved here, and were not before.
    fn untried(&mut self, fineness: Option<&K::Fineness>) -> Vec<f64> {
        let tuning = self.kind.tuning();
        let is_first = self.tried_down_to.is_infinite();
        if !self.kind.scans() {
            self.tried_down_to = 0.0;
            return if is_first { vec![tuning.longest_start] } else { vec![] };
        }
        let halves = std::iter::successors(Some(tuning.longest_start), |length| Some(0.5 * length));
        let mut lengths: Vec<f64> = halves
            .take_while(|length| *length > tuning.shortest_start && self.kind.shortest(fineness, *length))
            .filter(|length| *length < 0.99 * self.tried_down_to)
            .collect();
        if lengths.is_empty() && is_first {
            lengths.push(tuning.longest_start);
        }
        self.tried_down_to = lengths.last().copied().unwrap_or(self.tried_down_to);
        lengths
    }

    /// A start after a few natural steps.
    fn compared(&mut self, fineness: Option<&K::Fineness>, length: f64, before: Option<&Run<K>>) -> Result<Run<K>> {
        let tuning = self.kind.tuning();
        let Start { mut level, theta, mut sites, curvature } = self.kind.start(fineness, length, before)?;
        let steps = (tuning.quick_gain, tuning.quick_steps);
        loop {
            let found = match self.evaluate(&level, &theta, sites, steps, None) {
                Err(Error::Cancelled) => return Err(Error::Cancelled),
                Err(error) => {
                    level = self.kind.safer(level)?.ok_or(error)?;
                    sites = self.kind.flat_sites(&level);
                    continue;
                }
                Ok(found) => found,
            };
            let Found { value, sites, kept, .. } = found;
            return Ok(Run {
                level,
                theta,
                sites,
                kept,
                value,
                curvature,
                gain: tuning.quick_gain,
                end: End::Evaluations,
            });
        }
    }

    /// Natural steps at one Θ until one gains less than so much, at most so many.
    pub(super) fn evaluate(
        &self,
        level: &K::Level,
        theta: &K::Theta,
        sites: Sites,
        (tolerance, most): (f64, usize),
        by: By<'_>,
    ) -> Result<Found<K::Kept>> {
        self.tally.resize(self.kind.size(level), self.kind.cost(level));
        let pulse = || self.tally.pulse();
        let (clamp, foresees) = (self.kind.clamp(level), self.is_dear(level));
        let until = Until { tolerance, most, clamp, foresees, pulse: &pulse };
        let steps = self.tally.steps();
        let found = self.kind.evaluate(level, theta, sites, until, by)?;
        self.work.set(self.work.get() + (1 + self.tally.steps() - steps) as f64 * self.kind.cost(level));
        self.tally.theta(found.value)?;
        Ok(found)
    }

    /// The same at several Θ that do not need each other, two at a time where a step is dear. What is found does not depend on that.
    pub(super) fn evaluate_each(
        &self,
        level: &K::Level,
        looks: &[Look<K::Theta>],
        (tolerance, most): (f64, usize),
    ) -> Result<Vec<Seen<K::Kept>>> {
        let (kind, cost, clamp) = (&self.kind, self.kind.cost(level), self.kind.clamp(level));
        let foresees = self.is_dear(level);
        self.tally.resize(kind.size(level), cost);
        let (steps, cancelled) = (AtomicUsize::new(0), AtomicBool::new(false));
        let look = |i: usize, pulse: &dyn Fn() -> Result<()>| -> Seen<K::Kept> {
            let Look { theta, sites, by } = &looks[i];
            let pulse = || {
                steps.fetch_add(1, Ordering::Relaxed);
                pulse()
            };
            let until = Until { tolerance, most, clamp, foresees, pulse: &pulse };
            let mut gradient = vec![0.0; by.as_ref().map_or(0, Vec::len)];
            let by = by.as_ref().map(|x| (x.as_slice(), gradient.as_mut_slice()));
            let found = kind.evaluate(level, theta, sites.clone(), until, by)?;
            Ok((found, gradient))
        };
        let before = self.tally.steps();
        let own = || {
            self.tally.catch_up(before + steps.load(Ordering::Relaxed));
            let told = self.tally.tell();
            cancelled.fetch_or(told.is_err(), Ordering::Relaxed);
            told
        };
        let other = || if cancelled.load(Ordering::Relaxed) { Err(Error::Cancelled) } else { Ok(()) };
        let seen = match cost < kind.tuning().cheap {
            true => {
                let seen = (0..looks.len())
                    .map(|i| if cancelled.load(Ordering::Relaxed) { Err(Error::Cancelled) } else { look(i, &own) });
                seen.collect()
            }
            false => parallel::beside(looks.len(), |i| look(i, &own), |i| look(i, &other)),
        };
        let steps = steps.into_inner();
        self.tally.catch_up(before + steps);
        self.work.set(self.work.get() + (looks.len() + steps) as f64 * cost);
        for one in &seen {
            match one {
                Ok((found, _)) => self.tally.theta(found.value)?,
                Err(Error::Cancelled) => return Err(Error::Cancelled),
                Err(_) => {}
            }
        }
        Ok(seen)
    }

    /// Whether a natural step takes so long that Θ is only corrected there, having been learned on coarser fields.
    pub(super) fn is_dear(&self, level: &K::Level) -> bool {
        self.kind.cost(level) >= self.kind.dear()
    }

    /// L-BFGS over Θ on one field; the best Θ that was seen. Where a step is dear it begins with the curvature of the coarser field, and looks at few Θ.
    pub(super) fn climb(&mut self, start: Start<K>) -> Result<Run<K>> {
        if let Some(scheme) = self.kind.otherwise() {
            let (run, iterations) = scheme(&self.kind, start, self.tally)?;
            self.iterations += iterations;
            return Ok(run);
        }
        let tuning = self.kind.tuning();
        let Start { level, theta, mut sites, curvature } = start;
        let is_dear = self.is_dear(&level);
        let gain = self.kind.last_gain(&level).max(if is_dear { 0.0 } else { self.loose });
        let most = match self.kind.cost(&level) {
            cost if cost >= tuning.dearest => tuning.dearest_looks,
            _ if is_dear => tuning.dear_looks,
            _ => usize::MAX,
        };
        let most_evaluations = self.tally.thetas_left().min(most);
        let settings = lbfgs::Settings { gain, most_evaluations, first_step: tuning.first_step };
        let mut looks = 0;
        let mut best: Option<(K::Theta, Found<K::Kept>)> = None;
        // What the next Θ may gain: at first so much per event, then what the last one did.
        let is_large = self.kind.size(&level) as f64 > tuning.large;
        let per_event = if is_dear { tuning.promised_if_dear } else { tuning.promised_per_event };
        let mut promised = if is_large { per_event * self.events as f64 } else { 0.0 };
        let (x, bounds) = self.kind.pack(&level, &theta);
        let outcome = lbfgs::maximise(x, curvature, &bounds, settings, |x, gradient| {
            let theta = self.kind.unpack(&level, x, &theta);
            looks += 1;
            // The envelope gradient is wrong by the root of what q still lacks, so q must be nearer its optimum than Θ.
            let steps = (0.3 * gain.max(tuning.nearer * promised), tuning.most_steps);
            let found = match self.evaluate(&level, &theta, sites.clone(), steps, Some((x, gradient))) {
                Err(Error::Cancelled) => return Err(Error::Cancelled),
                Err(_) => return Ok(None),
                Ok(found) => found,
            };
            promised = best.as_ref().map_or(promised, |(_, best)| (found.value - best.value).abs());
            sites.clone_from(&found.sites);
            let value = found.value;
            if best.as_ref().is_none_or(|(_, best)| value > best.value) {
                best = Some((theta, found));
            }
            Ok(Some(value))
        })?;
        match (outcome, best) {
            (Some(outcome), Some((theta, Found { value, sites, kept, .. }))) => {
                self.iterations += outcome.iterations;
                self.looks = is_dear.then_some(looks);
                Ok(Run { level, theta, sites, kept, value, curvature: outcome.curvature, gain, end: outcome.end })
            }
            _ => {
                let steps = (gain, tuning.most_steps);
                let error = self.evaluate(&level, &theta, sites, steps, None).err();
                let error = error.unwrap_or(Error::NotANumber { parameters: vec![] });
                let level = self.kind.safer(level)?.ok_or(error)?;
                let sites = self.kind.flat_sites(&level);
                self.climb(Start { level, theta, sites, curvature: Curvature::default() })
            }
        }
    }
}

impl<K: Kind> Search<'_, '_, K> {
    /// The standard errors of the hyper-parameters: from the curvature of bound and log prior at their optimum, by differences of envelope
    /// gradients. None where it is no maximum in all of them, as at a bound of the search.
    pub(super) fn standard_errors(&self, run: &Run<K>) -> Result<Option<Vec<StandardError>>> {
        let found = self.curvature(run, self.kind.named(&run.theta).len())?;
        let Some(Curved { mut matrix, .. }) = found else { return Ok(None) };
        if linalg::cholesky(&mut matrix).is_err() {
            return Ok(None);
        }
        Ok(self.errors_from(&run.theta, &linalg::inverse_from_cholesky(&matrix)))
    }

    /// The standard errors that the covariance of the coordinates gives.
    pub(super) fn errors_from(&self, theta: &K::Theta, covariance: &Matrix) -> Option<Vec<StandardError>> {
        let of_slot = |(i, named): (usize, Named)| StandardError {
            value: named.value,
            se: named.slope.abs() * covariance[(i, i)].sqrt(),
            name: named.name,
        };
        Some(self.kind.named(theta).into_iter().enumerate().map(of_slot).collect())
    }

    /// The curvature of the objective by the first `count` coordinates. None at a bound of the search.
    pub(super) fn curvature(&self, run: &Run<K>, count: usize) -> Result<Option<Curved>> {
        let (x, bounds) = self.kind.pack(&run.level, &run.theta);
        let is_inside = |i: usize| x[i] - bounds[i].0 > STEP && bounds[i].1 - x[i] > STEP;
        if !(0..count).all(is_inside) {
            return Ok(None);
        }
        let moved = |i: usize, by: f64| {
            let mut moved = x.clone();
            moved[i] += by;
            let theta = self.kind.unpack(&run.level, &moved, &run.theta);
            Look { theta, sites: run.sites.clone(), by: Some(moved) }
        };
        let near = NEAR * (1.0 + self.events as f64 / NEAR_EVENTS);
        let steps = (near, self.kind.tuning().most_steps);
        // The gradients on either side, and what was found there.
        let around = |i: usize| -> Result<([Vec<f64>; 2], Sides)> {
            let mut step = STEP;
            loop {
                let mut sides = self.evaluate_each(&run.level, &[moved(i, step), moved(i, -step)], steps)?.into_iter();
                let mut side = || sides.next().unwrap_or(Err(Error::NotANumber { parameters: vec![] }));
                let [(high, above), (low, below)] = [side()?, side()?];
                if run.value - high.value.min(low.value) < MOST_FALL || step < LEAST_STEP {
                    return Ok(([above, below], Sides { above: high.sites, below: low.sites, apart: 2.0 * step }));
                }
                step *= 0.25;
            }
        };
        let (mut matrix, mut sides) = (Matrix::zeros(count, count), Vec::with_capacity(count));
        for i in 0..count {
            let ([above, below], found) = around(i)?;
            (0..count).for_each(|j| matrix[(j, i)] = (below[j] - above[j]) / found.apart);
            sides.push(found);
        }
        matrix.symmetrise();
        Ok(Some(Curved { matrix, sides }))
    }
}

/// The curvature of the objective about an optimum.
pub(super) struct Curved {
    /// Its second derivatives, with their sign turned.
    pub(super) matrix: Matrix,
    /// What was found on either side along each coordinate.
    pub(super) sides: Vec<Sides>,
}

/// The sites on either side of an optimum along one coordinate.
pub(super) struct Sides {
    pub(super) above: Sites,
    pub(super) below: Sites,
    /// How far apart the two are.
    pub(super) apart: f64,
}

/// What is better than its neighbours in the list.
fn peaks<T>(list: Vec<T>, value: impl Fn(&T) -> f64) -> Vec<T> {
    let values: Vec<f64> = list.iter().map(value).collect();
    let is_peak =
        |i: usize| (i == 0 || values[i] >= values[i - 1]) && values.get(i + 1).is_none_or(|next| values[i] > *next);
    list.into_iter().enumerate().filter(|(i, _)| is_peak(*i)).map(|(_, one)| one).collect()
}

/// `12` or `8×8`.
pub(crate) fn describe(counts: &[usize]) -> String {
    counts.iter().map(usize::to_string).collect::<Vec<_>>().join("×")
}
