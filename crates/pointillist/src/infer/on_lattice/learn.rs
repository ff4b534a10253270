//! Learning Θ, the nodes and the margin on a lattice: what is asked, what comes of it.
//!
//! `infer/search.rs` finds Θ; here the last natural steps are taken, and the report is made. Coordinates are those of the unit
//! box: the caller has scaled them. Cost: about 25 natural steps at full size.

use super::level::{Level, margin};
use super::source::Detail;
use super::{LITTLE_FINER, Member, OnLattice};
use crate::covariates::Regressors;
use crate::data::points::Points;
use crate::error::{Error, Result};
use crate::field::lattice::size::{bytes, bytes_of_places, describe_bytes, ladder, largest, seconds};
use crate::field::lattice::{Lattice, Optimum, PANELS, Smoothness, Theta, is_large};
use crate::gaussian::{Bordered, Diagonals};
use crate::infer::beliefs::Isotropy;
use crate::infer::lbfgs::Curvature;
use crate::infer::members::Members;
use crate::infer::search::{Kind, Run, Search, Start, describe};
use crate::infer::tally::Tally;
use crate::infer::tuning::LATTICE;
use crate::infer::{AtBound, Budget, Prior, Stop};
use crate::terms::{Link, Marginals, Part};
use crate::window::{Scaling, Window};
use std::sync::Arc;
use std::sync::atomic::Ordering;

pub(crate) use super::source::Source;

/// Gain at which q has reached its optimum in the end, on a large lattice; in proportion on smaller ones.
const LAST_GAIN: f64 = 1e-4;
/// The same where steps are dear: q is then this near (nats) to the best.
const LAST_GAIN_IF_DEAR: f64 = 1e-2;
/// … or where the search left it, if another step is foreseen to gain no more than this.
const LEFT_IF_DEAR: f64 = 0.05;
/// A margin this much (sides) narrower than the range asks for is set anew. A wider one does no harm.
const MARGIN_OFF: f64 = 0.06;
/// Nodes in place of events may change the data term by this many nats, and this many more per event. If they change it
/// more, the last steps are taken with the events themselves.
const MOST_LEFT_OUT: f64 = 0.5;
const LEFT_OUT_PER_EVENT: f64 = 2e-6;

/// A step is quick that takes less than so many seconds.
const QUICK: f64 = 0.2;
/// Where the logarithm of a ratio is beyond this, it is far from 1.
const FAR: f64 = 0.7;

/// What is asked of a lattice fit.
#[derive(Debug, Clone)]
pub(crate) struct Wanted {
    /// Nodes on each axis, those of the margin included; none for as many as pay.
    pub(crate) nodes: Option<Vec<usize>>,
    pub(crate) smoothness: Smoothness,
    pub(crate) link: Link,
    /// Whether the scale of f varies over the window.
    pub(crate) varies: bool,
    /// Whether the constant is an unknown of q.
    pub(crate) integrates_constant: bool,
    /// What covariates add to f, if there are any.
    pub(crate) regressors: Option<Arc<Regressors>>,
    /// Priors and held values of hyper-parameters, in the user's units.
    pub(crate) priors: Vec<(String, Prior)>,
    pub(crate) fixed: Vec<(String, f64)>,
    /// Whether standard errors are asked for.
    pub(crate) errors: bool,
    /// Whether hyper-parameters of which nothing is said have penalised-complexity priors.
    pub(crate) penalise: bool,
    /// Whether axes that share a unit share a range.
    pub(crate) isotropy: Isotropy,
    /// Whether the answer is averaged over Θ.
    pub(crate) average: bool,
    /// The memory that may be used.
    pub(crate) most_bytes: usize,
    /// The work that `auto` may take on.
    pub(crate) budget: Budget,
    /// Cost of a step, in seconds, from which on Θ is only corrected, having been learned on coarser lattices.
    pub(crate) dear: f64,
    /// Gain of the bound, in nats, below which it has converged.
    pub(crate) gain: f64,
    /// The sign of f, ±1: f and −f are the same intensity.
    pub(crate) sign: f64,
    /// Whether events are never replaced by nodes.
    pub(crate) exact: bool,
    /// Another family: a lattice that cannot reach it is not refined.
    pub(crate) rival: Option<Rival>,
}

impl Wanted {
    /// Whether a fit on a lattice finds memory enough.
    pub(super) fn fits(&self, nodes: &[usize]) -> bool {
        self.bytes(nodes) <= self.most_bytes as f64
    }

    /// The bytes that a fit on a lattice holds at once.
    pub(super) fn bytes(&self, nodes: &[usize]) -> f64 {
        bytes_of_family(nodes, self.smoothness, self.link)
    }

    /// The sign of f, where it makes no difference to the intensity.
    pub(super) fn sign(&self) -> f64 {
        if self.link.formula().is_even() { self.sign } else { 1.0 }
    }
}

/// What another family reached, in the coordinates of the unit box.
#[derive(Debug, Clone)]
pub(crate) struct Rival {
    /// Its bound in the end, with the log prior.
    pub(crate) best: f64,
    /// The number of nodes and the bound of each lattice on the way.
    pub(crate) levels: Vec<(usize, f64)>,
    /// How many nats of evidence a scale that varies over the window promises, if it can vary.
    pub(crate) promise: Option<f64>,
}

impl Rival {
    /// The best bound on a lattice that is at most a little finer than one with so many nodes.
    pub(super) fn best_at(&self, size: usize) -> f64 {
        let there = self.levels.iter().filter(|(nodes, _)| *nodes as f64 <= LITTLE_FINER * size as f64);
        there.map(|(_, bound)| *bound).fold(f64::NEG_INFINITY, f64::max)
    }
}

/// Nodes that stood for events.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Summarised {
    /// How many there were.
    pub(crate) nodes: usize,
    /// What they left out of the data term, in nats, with its sign. The bound has it back.
    pub(crate) error: f64,
    /// Cells on each axis by which that was found, of a summary.
    pub(crate) cells: Vec<usize>,
}

/// A lattice with its Θ and q, and the story.
pub(crate) struct Learned {
    pub(crate) lattice: Lattice,
    pub(crate) theta: Theta,
    pub(crate) optimum: Optimum,
    /// What the sites add to the precision of the unknowns; none where members stand for this one Θ.
    pub(crate) said: Option<Bordered<Diagonals>>,
    /// The posterior at several Θ, if an average is asked for, and standard errors if they were.
    pub(crate) members: Members<Member>,
    /// What other families are to be compared with.
    pub(crate) as_rival: Rival,
    /// log p(Θ), and the priors that make it.
    pub(crate) log_prior: f64,
    pub(crate) priors: Vec<(String, Prior)>,
    pub(crate) stop: Stop,
    /// What natural steps cost, in seconds.
    pub(crate) work: f64,
    /// Steps of the optimiser over Θ.
    pub(crate) iterations: usize,
    /// Starting ranges (sides of the window) with their bounds.
    pub(crate) starts: Vec<(f64, f64)>,
    /// How the nodes were chosen, in a sentence.
    pub(crate) choice: String,
    /// Whether it ended before the lattice that was asked for, because another family is far ahead.
    pub(crate) is_left_behind: bool,
    pub(crate) summary: Option<Summarised>,
    /// Σ E[log f²] over the events, as far as they are known.
    pub(crate) log_rate: f64,
    /// What ended at a bound of its search.
    pub(crate) at_bounds: Vec<AtBound>,
    /// Whether the lattice hardly sees inside the parts of the window.
    pub(crate) is_blind: bool,
}

/// Mean and variance of f at points.
pub(crate) type FieldAt<'a> = Box<dyn Fn(&Points) -> Result<Marginals> + 'a>;

/// What an earlier fit found.
pub(crate) struct Before<'a> {
    pub(crate) nodes: Vec<usize>,
    pub(crate) margin: Vec<f64>,
    pub(crate) theta: Theta,
    pub(crate) f: FieldAt<'a>,
}

/// Learns Θ and q from points in a window whose bounding box is the unit box; `scaling` is how it came to be that.
pub(crate) fn learn(
    source: Source<'_>,
    (window, scaling): (&Window, &Scaling),
    wanted: &Wanted,
    before: Option<&Before<'_>>,
    tally: &Tally<'_>,
) -> Result<Learned> {
    check(source, window, wanted)?;
    let spacing = source.spacing();
    let on = OnLattice::with_spacing((source, spacing.clone()), window, wanted, scaling)?;
    let mut search = Search::new(on, tally, source.events());
    search.averages = wanted.average;
    let ratios = Wanted { isotropy: Isotropy::Ratios, ..wanted.clone() };
    if wanted.isotropy == Isotropy::Tied && before.is_none() {
        let on = OnLattice::with_spacing((source, spacing), window, &ratios, scaling)?;
        let mut other = Search::new(on, tally, source.events());
        other.averages = wanted.average;
        if !other.kind.ratios().is_empty() {
            return tied_or_not(search, other);
        }
    }
    let (run, choice) = match search.whole(before)? {
        // Other events may have made what was learned before a bad start.
        (run, _) if before.is_some() && !run.kept.converged => search.whole(None)?,
        found => found,
    };
    if wanted.varies {
        let mut run = run;
        let log_volume = search.hold_scale(&mut run)?;
        let mut learned = search.finish(run, choice)?;
        learned.members.list.iter_mut().for_each(|(log_weight, _)| *log_weight += log_volume);
        return Ok(learned);
    }
    search.finish(run, choice)
}

/// One range for axes that share a unit, or ratios of them where the evidence is for those. Where they are far from 1 on a coarse lattice already, no finer
/// one is tried without them.
fn tied_or_not<'a, 't, 'w>(
    mut search: Search<'t, 'w, OnLattice<'a>>,
    mut other: Search<'t, 'w, OnLattice<'a>>,
) -> Result<Learned> {
    if let Some(nodes) = search.kind.wanted.nodes.clone() {
        let ladder = search.kind.ladder(&nodes);
        let cheap = ladder.iter().take_while(|rung| !search.is_dear_at(rung)).count();
        if 0 < cheap && cheap < ladder.len() {
            return tied_or_not_before(search, other, (&ladder, cheap));
        }
    }
    let first = match &search.kind.wanted.nodes {
        Some(_) => None,
        None => Some(search.coarsest()?),
    };
    if let Some(first) = &first
        && other.with_ratios_after(first)?.is_some_and(|found| other.is_far(&found))
    {
        return other.all_over(search.work.get());
    }
    let (run, choice) = match first {
        Some(first) => search.ever_finer(first)?,
        None => search.whole(None)?,
    };
    let found = match search.is_dear(&run.level) {
        true => other.with_ratios_of_coarser(&run, &mut search)?,
        false => other.with_ratios_after(&run)?,
    };
    match found {
        None => {
            search.work.set(search.work.get() + other.work.get());
            search.finish(run, choice)
        }
        Some(found) if other.is_far(&found) => other.all_over(search.work.get()),
        Some(found) => {
            other.take_over(search);
            other.finish(found, choice)
        }
    }
}

/// The same for a lattice on which steps are dear, after so many coarser ones on which they are not: it is decided on the last of these.
fn tied_or_not_before<'a, 't, 'w>(
    mut search: Search<'t, 'w, OnLattice<'a>>,
    mut other: Search<'t, 'w, OnLattice<'a>>,
    (ladder, cheap): (&[Vec<usize>], usize),
) -> Result<Learned> {
    let nodes = &ladder[ladder.len() - 1];
    search.refuse_unresolved(nodes, &search.kind.steps_asked(nodes))?;
    let run = search.along(ladder, 0..cheap, None)?;
    other.kind.leads_on(true);
    let found = if search.is_left_behind { None } else { other.with_ratios_after(&run)? };
    match found {
        Some(found) => {
            other.take_over(search);
            other.up_from(found, (ladder, cheap))
        }
        None => {
            search.work.set(search.work.get() + other.work.get());
            search.up_from(run, (ladder, cheap))
        }
    }
}

fn check(source: Source<'_>, window: &Window, wanted: &Wanted) -> Result<()> {
    let dims = window.dims();
    if dims > 3 {
        let why = format!("has at most three axes, and there are {dims}; use inducing points");
        return Err(Error::setting("basis", "lattice", why));
    }
    if source.events() == 0 {
        return Err(Error::NoEvents);
    }
    match &wanted.nodes {
        Some(nodes) => check_nodes(nodes, dims, |nodes| wanted.bytes(nodes), wanted.most_bytes),
        None => Ok(()),
    }
}

/// The bytes that a fit of one family holds at once: its matrices, and for a link with sites in the integral their places, where there are many the fewest that
/// there can be.
pub(crate) fn bytes_of_family(nodes: &[usize], smoothness: Smoothness, link: Link) -> f64 {
    let panels = if is_large(nodes) { 1 } else { PANELS[nodes.len() - 1] };
    let of_places = match link.formula().integral() {
        Part::Quadratic => 0.0,
        Part::Sites(_) => bytes_of_places(nodes, panels),
    };
    bytes(nodes, smoothness) + of_places
}

/// The bytes of several fields that depend on each other at every node: as many times as long, and as wide.
pub(crate) fn bytes_of_fields(fields: usize, nodes: &[usize], smoothness: Smoothness) -> f64 {
    (fields * fields) as f64 * bytes(nodes, smoothness)
}

/// The finest lattice on the way to one on which steps are quick, if those on the one itself are dear.
pub(crate) fn quick_before(nodes: &[usize], smoothness: Smoothness, dear: f64) -> Option<Vec<usize>> {
    let step = |nodes: &[usize]| seconds(nodes, smoothness);
    let is_one = (1..=3).contains(&nodes.len()) && nodes.iter().all(|n| *n > 1);
    if !is_one || step(nodes) < dear {
        return None;
    }
    ladder(nodes, LATTICE.direct[nodes.len() - 1]).into_iter().rev().find(|rung| step(rung) < QUICK.min(dear))
}

/// Refuses a lattice that is none on so many axes, or does not fit into memory.
pub(crate) fn check_nodes(
    nodes: &[usize],
    dims: usize,
    bytes: impl Fn(&[usize]) -> f64,
    most_bytes: usize,
) -> Result<()> {
    if nodes.len() != dims {
        return Err(Error::Dimension { what: "nodes of the lattice", expected: dims, found: nodes.len() });
    }
    if nodes.iter().any(|n| *n < 2) {
        return Err(Error::setting("nodes", describe(nodes), "must be at least 2 on each axis"));
    }
    let fits = |nodes: &[usize]| bytes(nodes) <= most_bytes as f64;
    if !fits(nodes) {
        let needed = describe_bytes(bytes(nodes));
        let allowed = describe_bytes(most_bytes as f64);
        let most = describe(&largest(nodes, fits));
        let why = format!("need about {needed} of memory, and {allowed} may be used: {most} would fit");
        return Err(Error::setting("nodes", describe(nodes), why));
    }
    Ok(())
}

impl<'a> Search<'_, '_, OnLattice<'a>> {
    /// Θ on the lattice that is asked for, or on one that is found; and in words which.
    fn whole(&mut self, before: Option<&Before<'_>>) -> Result<(Run<OnLattice<'a>>, String)> {
        let wanted = self.kind.wanted;
        match (before, &wanted.nodes) {
            (Some(before), _) => self.again(before),
            (None, Some(nodes)) => {
                self.refuse_unresolved(nodes, &self.kind.steps_asked(nodes))?;
                let run = self.by_way_of_coarser(nodes)?;
                let choice = self.arrived(&run, nodes);
                Ok((run, choice))
            }
            (None, None) => {
                let first = self.coarsest()?;
                self.ever_finer(first)
            }
        }
    }

    /// In words, how a run came to its lattice if this one was asked for.
    fn arrived(&self, run: &Run<OnLattice<'a>>, nodes: &[usize]) -> String {
        self.kind.more_would_show.store(self.kind.is_short_of_nodes(&run.level), Ordering::Relaxed);
        let (asked, own) = (describe(nodes), describe(&run.level.nodes));
        match () {
            _ if self.is_left_behind => format!("{own} nodes: too far below another family to go on to {asked}"),
            _ if asked == own => format!("{asked} nodes, as asked for"),
            _ => format!("{asked} nodes: {own}, to fit the summary"),
        }
    }

    /// The last of some lattices, from the run on one of those before it.
    fn up_from(mut self, run: Run<OnLattice<'a>>, (ladder, rung): (&[Vec<usize>], usize)) -> Result<Learned> {
        let run = if self.is_left_behind { run } else { self.along(ladder, rung..ladder.len(), Some(run))? };
        let choice = self.arrived(&run, &ladder[ladder.len() - 1]);
        self.finish(run, choice)
    }

    /// Goes on from where a search with fewer hyper-parameters came.
    fn take_over(&mut self, search: Self) {
        self.work.set(self.work.get() + search.work.get());
        (self.iterations, self.starts, self.levels) = (search.iterations, search.starts, search.levels);
    }

    /// Whether steps on a lattice with so many nodes are dear.
    fn is_dear_at(&self, nodes: &Vec<usize>) -> bool {
        self.kind.cost_of(nodes) >= self.kind.dear()
    }

    /// The best Θ with ratios from one without, where steps are so dear that coarser lattices have to say whether the evidence is for them. `search` has none.
    fn with_ratios_of_coarser(
        &mut self,
        tied: &Run<OnLattice<'a>>,
        search: &mut Self,
    ) -> Result<Option<Run<OnLattice<'a>>>> {
        let ladder = self.kind.ladder(&tied.level.nodes);
        let Some(nodes) = ladder.iter().rev().find(|nodes| !self.is_dear_at(nodes)) else { return Ok(None) };
        let (start, loose) = (search.kind.continued(nodes, tied)?, search.loose);
        search.loose = 0.0;
        let coarse = search.climb(start)?;
        search.loose = loose;
        let Some(found) = self.with_ratios_after(&coarse)? else { return Ok(None) };
        let start = self.kind.continued(&tied.level.nodes, &found)?;
        self.climb(start).map(Some)
    }

    /// Θ on the first of the lattices that are tried where none is asked for.
    fn coarsest(&mut self) -> Result<Run<OnLattice<'a>>> {
        let wanted = self.kind.wanted;
        let nodes = largest(&self.kind.first_nodes(), |nodes| wanted.fits(nodes));
        self.first(Some(&nodes))
    }

    /// The best Θ with ratios from one without, if the evidence is for it.
    fn with_ratios_after(&mut self, tied: &Run<OnLattice<'a>>) -> Result<Option<Run<OnLattice<'a>>>> {
        let start = self.kind.continued_with(&tied.level.nodes, tied.level.margin.clone(), tied)?;
        self.with_ratios(tied, start)
    }

    /// Whether ratios are so far from 1 that the lattice itself should be another.
    fn is_far(&self, run: &Run<OnLattice<'a>>) -> bool {
        let (x, _) = self.kind.pack(&run.level, &run.theta);
        self.kind.ratios().into_iter().any(|at| x[at].abs() > FAR)
    }

    /// Everything with ratios, after so much work without.
    fn all_over(mut self, work: f64) -> Result<Learned> {
        self.work.set(self.work.get() + work);
        let (run, choice) = self.whole(None)?;
        self.finish(run, choice)
    }

    /// Learns Θ from where an earlier fit arrived, on its lattice.
    fn again(&mut self, before: &Before<'_>) -> Result<(Run<OnLattice<'a>>, String)> {
        self.loose = 0.0;
        let level = self.kind.level_as(&before.nodes, before.margin.clone(), Detail::Nodes, None)?;
        let sites = level.sites_of(self.kind.source, |places, _| (before.f)(places))?;
        let why = if self.kind.wanted.varies { "as without a local scale" } else { "as before" };
        let choice = format!("{} nodes, {why}", describe(&level.nodes));
        let theta = self.kind.held(&before.theta);
        Ok((self.climb(Start { level, theta, sites, curvature: Curvature::near() })?, choice))
    }

    /// The margin that the range asks for, q at its optimum, and the report.
    fn finish(mut self, mut run: Run<OnLattice<'a>>, choice: String) -> Result<Learned> {
        let wanted_margin = margin(&run.theta.ranges());
        let is_off = run.level.margin.iter().zip(&wanted_margin).any(|(is, wanted)| wanted - is > MARGIN_OFF);
        self.kind.on_the_way = false;
        self.loose = 0.0;
        if is_off || run.gain > self.last_gain(&run.level) || run.level.detail == Detail::Bins {
            let margin = if is_off { wanted_margin } else { run.level.margin.clone() };
            let start = self.kind.continued_with(&run.level.nodes, margin, &run)?;
            run = self.climb(start)?;
        }
        self.refuse_unresolved(&run.level.nodes, &run.level.steps())?;
        let (mut run, summary) = self.settle(run)?;
        let at_bounds = self.kind.at_bounds(&run.level, &run.theta);
        let members = match self.kind.wanted.average {
            true => self.members(&run)?,
            false if self.kind.wanted.errors => Members::none(self.standard_errors(&run)?),
            false => Members::none(None),
        };
        let promise = self.kind.promise(&run.level, &run.theta, &run.kept);
        let as_rival = Rival { best: run.value, levels: std::mem::take(&mut self.levels), promise };
        let log_prior = self.kind.layout.log_prior(&self.kind.values(&run.theta));
        if self.kind.link.formula().is_even() && run.theta.mean * self.kind.wanted.sign() < 0.0 {
            run.theta.mean = -run.theta.mean;
            run.kept = run.kept.negated();
        }
        let error = summary.as_ref().map_or(0.0, |summary| summary.error);
        let choice = match self.looks {
            Some(looks) => {
                format!("{choice}; hyper-parameters from coarser ones, corrected by {looks} looks at this one")
            }
            None => choice,
        };
        let (theta, optimum, said) = match members.list.is_empty() {
            true => {
                let Member { theta, optimum, said } = run.level.member(&run.theta, run.sites, run.kept)?;
                (theta, optimum, Some(said))
            }
            false => (run.theta, run.kept, None),
        };
        Ok(Learned {
            is_blind: self.kind.is_blind_inside_parts(&run.level.steps()),
            log_rate: optimum.log_rate + error,
            said,
            stop: if optimum.converged { run.end.into() } else { Stop::Evaluations },
            lattice: run.level.lattice,
            theta,
            optimum,
            members,
            as_rival,
            log_prior,
            priors: self.kind.layout.priors(),
            work: self.work.get(),
            iterations: self.iterations,
            starts: self.starts,
            choice,
            is_left_behind: self.is_left_behind,
            summary,
            at_bounds,
        })
    }

    fn last_gain(&self, level: &Level) -> f64 {
        Kind::last_gain(&self.kind, level)
    }

    /// A range that is held must be one that the lattice can show.
    fn refuse_unresolved(&self, nodes: &[usize], steps: &[f64]) -> Result<()> {
        if self.kind.is_too_fine(steps) {
            let requirement = "is too fine for the length-scale that is held: digits would be lost; ask for fewer nodes, or for smoothness 2";
            return Err(Error::setting("lattice", describe(nodes), requirement));
        }
        if !self.kind.is_too_coarse(steps) {
            return Ok(());
        }
        let requirement =
            format!("is too coarse for the length-scale that is held; ask for more than {} nodes", describe(nodes));
        Err(Error::setting("lattice", describe(nodes), requirement))
    }

    /// Natural steps to the end at the last Θ. What nodes in place of events left out is added to the bound, which is
    /// then that of the events at this q. If it is much, steps with the events themselves follow.
    fn settle(&mut self, mut run: Run<OnLattice<'a>>) -> Result<(Run<OnLattice<'a>>, Option<Summarised>)> {
        run = self.settled(run)?;
        if run.level.detail == Detail::Events {
            return Ok((run, None));
        }
        let source = self.kind.source;
        let error = run.level.left_out(&run.kept, source)?;
        if error.abs() <= MOST_LEFT_OUT + LEFT_OUT_PER_EVENT * self.kind.events as f64 {
            run.kept.bound += error;
            let nodes = run.level.len();
            let cells = source.cells_for(&run.level.lattice);
            return Ok((run, Some(Summarised { nodes, error, cells })));
        }
        let level = run.level.with_detail(source, Detail::Events)?;
        let grid = level.lattice.grid();
        run.sites =
            level.sites_of(source, |places, dense| Ok(run.kept.marginals(&grid.at(places)?.beside(dense.to_vec()))))?;
        run.level = level;
        Ok((self.settled(run)?, None))
    }

    /// q at its optimum.
    fn settled(&mut self, mut run: Run<OnLattice<'a>>) -> Result<Run<OnLattice<'a>>> {
        let is_dear = self.is_dear(&run.level);
        if is_dear && run.kept.converged && run.kept.lacks <= LEFT_IF_DEAR {
            return Ok(run);
        }
        let last = if is_dear { LAST_GAIN_IF_DEAR } else { LAST_GAIN };
        let tolerance = last * (run.level.lattice.grid().size() as f64 / LATTICE.large).min(1.0);
        let steps = (tolerance, LATTICE.most_steps);
        let found = self.evaluate(&run.level, &run.theta, run.sites, steps, None)?;
        (run.sites, run.kept, run.value) = (found.sites, found.kept, found.value);
        Ok(run)
    }
}

#[cfg(test)]
mod tests;
