//! Learning Θ, the nodes and the margin on a lattice: what is asked, what comes of it.
//!
//! `search.rs` finds Θ; here the last natural steps are taken, and the story is told. The coordinates are those of the unit
//! box: who calls has scaled them. Cost: about 25 natural steps at full size.

use super::level::margin;
use super::search::{MOST_STEPS, Run, Search};
use super::size::{LARGE, bytes, describe_bytes, largest};
use super::source::Detail;
use super::{Lattice, Optimum, Sites, Theta};
use crate::bound::Marginals;
use crate::error::{Error, Result};
use crate::infer::{AtBound, Bounded, RangeEnd, Stop, describe};
use crate::points::Points;
use crate::window::Window;

pub(crate) use super::search::{Wanted, Watch};
pub(crate) use super::source::Source;

/// Gain at which q has reached its optimum in the end, on a large lattice; in proportion on smaller ones.
const LAST_GAIN: f64 = 1e-4;
/// A margin this much (sides) narrower than the range asks for is set anew. A wider one does no harm.
const MARGIN_OFF: f64 = 0.06;
/// Nodes in place of events may change the data term by this many nats, and this many more an event; else the events
/// themselves have the last word.
const MOST_LEFT_OUT: f64 = 0.5;
const LEFT_OUT_AN_EVENT: f64 = 2e-6;

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
#[derive(Debug, Clone)]
pub(crate) struct Learned {
    pub(crate) lattice: Lattice,
    pub(crate) theta: Theta,
    pub(crate) optimum: Optimum,
    pub(crate) stop: Stop,
    /// Steps of the optimiser over Θ.
    pub(crate) iterations: usize,
    /// Natural steps in all.
    pub(crate) evaluations: usize,
    /// Starting ranges (sides of the window) with their bounds.
    pub(crate) starts: Vec<(f64, f64)>,
    /// How the nodes were chosen, in a sentence.
    pub(crate) choice: String,
    pub(crate) summary: Option<Summarised>,
    /// Σ E[log f²] over the events, as far as they are known.
    pub(crate) log_rate: f64,
    /// What ended at a bound of its search.
    pub(crate) at_bounds: Vec<AtBound>,
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

/// Learns Θ and q from points in a window whose bounding box is the unit box.
pub(crate) fn learn(
    source: Source<'_>,
    window: &Window,
    wanted: &Wanted,
    before: Option<&Before<'_>>,
    watch: &mut Watch<'_>,
) -> Result<Learned> {
    check(source, window, wanted)?;
    let mut search = Search::new(source, window, wanted, watch);
    let (run, choice) = match (before, &wanted.nodes) {
        (Some(before), _) => search.again(before)?,
        (None, Some(nodes)) => {
            let run = search.by_way_of_coarser(nodes)?;
            search.more_would_show = search.is_short_of_nodes(&run);
            let choice = match run.level.nodes == *nodes {
                true => format!("{} nodes, as asked for", describe(nodes)),
                false => format!("{} nodes: {}, to fit the summary", describe(nodes), describe(&run.level.nodes)),
            };
            (run, choice)
        }
        (None, None) => search.auto()?,
    };
    search.finish(run, choice)
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
    let Some(nodes) = &wanted.nodes else { return Ok(()) };
    if nodes.len() != dims {
        return Err(Error::Dimension { what: "nodes of the lattice", expected: dims, found: nodes.len() });
    }
    if nodes.iter().any(|n| *n < 2) {
        return Err(Error::setting("nodes", describe(nodes), "must be at least 2 on each axis"));
    }
    let fits = |nodes: &[usize]| bytes(nodes, wanted.smoothness) <= wanted.most_bytes as f64;
    if !fits(nodes) {
        let needed = describe_bytes(bytes(nodes, wanted.smoothness));
        let allowed = describe_bytes(wanted.most_bytes as f64);
        let most = describe(&largest(nodes, fits));
        let why = format!("need about {needed} of memory, and {allowed} may be used: {most} would fit");
        return Err(Error::setting("nodes", describe(nodes), why));
    }
    Ok(())
}

impl Search<'_, '_> {
    /// The margin that the range asks for, q at its optimum, and the report.
    fn finish(mut self, mut run: Run, choice: String) -> Result<Learned> {
        let wanted_margin = margin(&run.theta.ranges());
        let is_off = run.level.margin.iter().zip(&wanted_margin).any(|(is, wanted)| wanted - is > MARGIN_OFF);
        (self.on_the_way, self.loose) = (false, 0.0);
        if is_off || run.gain > self.last_gain(&run.level) || run.level.detail == Detail::Bins {
            let margin = if is_off { wanted_margin } else { run.level.margin.clone() };
            let start = self.continued(&run.level.nodes, margin, &run)?;
            run = self.climb(start)?;
        }
        let (mut run, summary) = self.settle(run)?;
        let log_rate = run.level.data_term(&run.optimum) + summary.as_ref().map_or(0.0, |summary| summary.error);
        let stop = if run.optimum.converged { run.end.into() } else { Stop::Evaluations };
        let at_bounds = self.at_bounds(&run);
        if run.theta.mean * self.wanted.sign < 0.0 {
            run.theta.mean = -run.theta.mean;
            run.optimum = run.optimum.negated();
        }
        Ok(Learned {
            lattice: run.level.lattice,
            theta: run.theta,
            optimum: run.optimum,
            stop,
            iterations: self.iterations,
            evaluations: self.evaluations,
            starts: self.starts,
            choice,
            summary,
            log_rate,
            at_bounds,
        })
    }

    /// Natural steps to the end at the last Θ. What nodes in place of events left out is added to the bound, which is
    /// then that of the events at this q; if it is much, the events themselves have the last word.
    fn settle(&mut self, mut run: Run) -> Result<(Run, Option<Summarised>)> {
        let share = (run.level.lattice.grid.size() as f64 / LARGE).min(1.0);
        let tolerance = LAST_GAIN * share;
        let mut sites = run.optimum.sites.clone();
        run.optimum = run.level.maximise(&run.theta, sites, tolerance, MOST_STEPS)?;
        self.report(&run.optimum, &run.level)?;
        if run.level.detail == Detail::Events {
            return Ok((run, None));
        }
        let error = run.level.left_out(&run.optimum, self.source)?;
        if error.abs() <= MOST_LEFT_OUT + LEFT_OUT_AN_EVENT * self.events as f64 {
            run.optimum.bound += error;
            let nodes = run.level.len();
            let cells = self.source.cells_for(&run.level.lattice);
            return Ok((run, Some(Summarised { nodes, error, cells })));
        }
        let level = run.level.with_detail(self.source, Detail::Events)?;
        sites = Sites::of(&run.optimum.marginals(&level.lattice.grid.at(level.places(self.source))?));
        run.level = level;
        run.optimum = run.level.maximise(&run.theta, sites, tolerance, MOST_STEPS)?;
        self.report(&run.optimum, &run.level)?;
        Ok((run, None))
    }

    fn at_bounds(&self, run: &Run) -> Vec<AtBound> {
        let ends = self.coordinates(&run.level).ends(&run.theta);
        let (axes, ranges) = (self.window.axes(), run.theta.ranges());
        let of_range = |r: usize| {
            let axis = axes[r].name.clone();
            let name = if axis.is_empty() { format!("lengthscale[{r}]") } else { format!("lengthscale[{axis}]") };
            // as the summary has it: half the range
            let what = Bounded::Length { axis, sides: 0.5 * ranges[r], unresolved: self.more_would_show };
            Some(AtBound { name, what, end: ends[r]? })
        };
        let variance = ends[axes.len()].filter(|end| *end == RangeEnd::Lowest).map(|end| AtBound {
            name: "variance".into(),
            what: Bounded::Variance { of_term: false },
            end,
        });
        (0..axes.len()).filter_map(of_range).chain(variance).collect()
    }
}

#[cfg(test)]
mod tests;
