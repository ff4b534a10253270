//! Learning Θ, the nodes and the margin on a lattice: what is asked, what comes of it.
//!
//! `infer/search.rs` finds Θ; here the last natural steps are taken, and the report is made. Coordinates are those of the unit
//! box: the caller has scaled them. Cost: about 25 natural steps at full size.

use super::level::{Level, margin};
use super::source::Detail;
use super::{Member, OnLattice};
use crate::covariates::Regressors;
use crate::data::points::Points;
use crate::error::{Error, Result};
use crate::field::lattice::size::{bytes, describe_bytes, largest};
use crate::field::lattice::{Lattice, Optimum, Smoothness, Theta};
use crate::gaussian::{Bordered, Diagonals};
use crate::infer::beliefs::Isotropy;
use crate::infer::lbfgs::Curvature;
use crate::infer::members::Members;
use crate::infer::search::{Kind, Run, Search, Start, describe};
use crate::infer::tally::Tally;
use crate::infer::tuning::LATTICE;
use crate::infer::{AtBound, Budget, Prior, Stop};
use crate::terms::{Link, Marginals};
use crate::window::{Scaling, Window};
use std::sync::Arc;
use std::sync::atomic::Ordering;

pub(crate) use super::source::Source;

/// Gain at which q has reached its optimum in the end, on a large lattice; in proportion on smaller ones.
const LAST_GAIN: f64 = 1e-4;
/// A margin this much (sides) narrower than the range asks for is set anew. A wider one does no harm.
const MARGIN_OFF: f64 = 0.06;
/// Nodes in place of events may change the data term by this many nats, and this many more per event. If they change it
/// more, the last steps are taken with the events themselves.
const MOST_LEFT_OUT: f64 = 0.5;
const LEFT_OUT_PER_EVENT: f64 = 2e-6;

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
    let mut search = Search::new(OnLattice::new(source, window, wanted, scaling)?, tally, source.events());
    search.averages = wanted.average;
    let ratios = Wanted { isotropy: Isotropy::Ratios, ..wanted.clone() };
    if wanted.isotropy == Isotropy::Tied && before.is_none() {
        let mut other = Search::new(OnLattice::new(source, window, &ratios, scaling)?, tally, source.events());
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
    match other.with_ratios_after(&run)? {
        None => {
            search.work.set(search.work.get() + other.work.get());
            search.finish(run, choice)
        }
        Some(found) if other.is_far(&found) => other.all_over(search.work.get()),
        Some(found) => {
            (other.iterations, other.starts, other.levels) = (search.iterations, search.starts, search.levels);
            other.work.set(other.work.get() + search.work.get());
            other.finish(found, choice)
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
        Some(nodes) => check_nodes(nodes, (dims, 1), wanted.smoothness, wanted.most_bytes),
        None => Ok(()),
    }
}

/// Refuses a lattice that is none on so many axes, or on which so many fields do not fit into memory.
pub(crate) fn check_nodes(
    nodes: &[usize],
    (dims, fields): (usize, usize),
    smoothness: Smoothness,
    most_bytes: usize,
) -> Result<()> {
    if nodes.len() != dims {
        return Err(Error::Dimension { what: "nodes of the lattice", expected: dims, found: nodes.len() });
    }
    if nodes.iter().any(|n| *n < 2) {
        return Err(Error::setting("nodes", describe(nodes), "must be at least 2 on each axis"));
    }
    // Fields that depend on each other at every node: as many times as long, and as wide.
    let bytes = |nodes: &[usize]| (fields * fields) as f64 * bytes(nodes, smoothness);
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
                self.kind.more_would_show.store(self.kind.is_short_of_nodes(&run.level), Ordering::Relaxed);
                let choice = match run.level.nodes == *nodes {
                    true => format!("{} nodes, as asked for", describe(nodes)),
                    false => format!("{} nodes: {}, to fit the summary", describe(nodes), describe(&run.level.nodes)),
                };
                Ok((run, choice))
            }
            (None, None) => {
                let first = self.coarsest()?;
                self.ever_finer(first)
            }
        }
    }

    /// Θ on the first of the lattices that are tried where none is asked for.
    fn coarsest(&mut self) -> Result<Run<OnLattice<'a>>> {
        let wanted = self.kind.wanted;
        let fits = |nodes: &[usize]| bytes(nodes, wanted.smoothness) <= wanted.most_bytes as f64;
        let nodes = largest(&self.kind.first_nodes(), fits);
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
        let tolerance = LAST_GAIN * (run.level.lattice.grid().size() as f64 / LATTICE.large).min(1.0);
        let steps = (tolerance, LATTICE.most_steps);
        let found = self.evaluate(&run.level, &run.theta, run.sites, steps, None)?;
        (run.sites, run.kept, run.value) = (found.sites, found.kept, found.value);
        Ok(run)
    }
}

#[cfg(test)]
mod tests;
