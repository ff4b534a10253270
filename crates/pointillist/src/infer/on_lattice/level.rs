//! One lattice of a search, with the events on it.

use super::Member;
use super::source::{self, Detail, Source};
use crate::data::points::Points;
use crate::data::summary::MANY;
use crate::error::Result;
use crate::field::lattice::{Hats, IntegralNodes, Lattice, Optimum, Theta, Weighted};
use crate::gaussian::step::Clamp;
use crate::gaussian::{Bordered, Diagonals, Sites};
use crate::terms::{self, LinkFormula, Marginals, Part};
use crate::window::Window;

/// Margin around the window, in ranges …
const MARGIN: f64 = 0.5;
/// … and at most in sides of the window.
const MOST_MARGIN: f64 = 0.3;

/// Events that are added to those about each node, so that no rate is 0.
const FEW: f64 = 0.05;

/// The margin on each axis for ranges on it, the window being the unit box.
pub(super) fn margin(ranges: &[f64]) -> Vec<f64> {
    ranges.iter().map(|range| (MARGIN * range).min(MOST_MARGIN)).collect()
}

/// The distance of the nodes on each axis.
pub(super) fn steps(nodes: &[usize], margin: &[f64]) -> Vec<f64> {
    nodes.iter().zip(margin).map(|(n, m)| (1.0 + 2.0 * m) / (n - 1) as f64).collect()
}

/// The sign of f is sure where its mean is so many standard deviations from 0.
const SURE: f64 = 3.0;

/// Hats at weighted points.
struct Placed {
    hats: Hats,
    weights: Vec<f64>,
}

impl Placed {
    fn said(&self) -> Weighted<'_> {
        Weighted { hats: &self.hats, weights: &self.weights }
    }
}

/// A lattice with the events, or the nodes that stand for them.
pub(in crate::infer) struct Level {
    pub(super) lattice: Lattice,
    pub(super) nodes: Vec<usize>,
    pub(super) margin: Vec<f64>,
    pub(super) detail: Detail,
    link: &'static dyn LinkFormula,
    /// The nodes that stand for events, if they do.
    summary: Option<Points>,
    events: Placed,
    /// Nodes of the integral, for a link that has sites there; and where they are.
    integral: Option<(Placed, Points)>,
}

impl Level {
    /// With events looked at in some detail. What is known of f (`before`) says where nodes may not stand for events.
    pub(super) fn new(
        (lattice, margin): (Lattice, Vec<f64>),
        (window, panels): (&Window, usize),
        link: &'static dyn LinkFormula,
        source: Source<'_>,
        detail: Detail,
        before: Option<(&Level, &Optimum)>,
    ) -> Result<Self> {
        let (detail, summary, events) = seen((&lattice, link), source, detail, before)?;
        let integral = match link.integral() {
            Part::Quadratic => None,
            Part::Sites(_) => {
                let IntegralNodes { hats, weights, points } = lattice.integral_nodes_by(window, panels)?;
                Some((Placed { hats, weights }, points))
            }
        };
        let nodes = lattice.grid().nodes();
        Ok(Self { lattice, nodes, margin, detail, link, summary, events, integral })
    }

    /// The same lattice, its events looked at otherwise.
    pub(super) fn with_detail(self, source: Source<'_>, detail: Detail) -> Result<Self> {
        let (detail, summary, events) = seen((&self.lattice, self.link), source, detail, None)?;
        Ok(Self { detail, summary, events, ..self })
    }

    /// Number of weighted points that stand for events.
    pub(super) fn len(&self) -> usize {
        self.events.weights.len()
    }

    pub(super) fn clamp(&self) -> Clamp {
        if self.len() < MANY { Clamp::UntilSettled } else { Clamp::Throughout }
    }

    /// All points that say something of f.
    pub(super) fn said(&self) -> Vec<Weighted<'_>> {
        std::iter::once(self.events.said()).chain(self.integral.as_ref().map(|(placed, _)| placed.said())).collect()
    }

    /// What they say where nothing is known of f but that `flat` is the level of the mean rate. Rates may span orders of magnitude: for
    /// a link with sites at the nodes of the integral f starts from the counts of events about the lattice's nodes.
    pub(super) fn first_sites(&self, flat: f64) -> Sites {
        let events = Sites::flat(self.link.events(), flat, self.len());
        match (self.link.integral(), &self.integral) {
            (Part::Sites(potential), Some((placed, _))) => {
                let (f, hats) = (self.counted(flat), &placed.hats);
                let mean: Vec<f64> = (0..hats.len()).map(|n| hats.sum(n, &f)).collect();
                let variance = vec![0.0; mean.len()];
                events.followed_by(Sites::of(potential, &Marginals { mean, variance }))
            }
            _ => events,
        }
    }

    /// f at the nodes of the lattice, from the events about each.
    fn counted(&self, flat: f64) -> Vec<f64> {
        let size = self.lattice.grid().size();
        let mut counts = vec![0.0; size];
        self.events.hats.add_sums(&mut counts, |n| self.events.weights[n]);
        let about = &self.lattice.region().linear[..size];
        let f = |(count, about): (&f64, &f64)| match *about > 0.0 {
            true => self.link.start((count.max(0.0) + FEW) / about).flat,
            false => flat,
        };
        counts.iter().zip(about).map(f).collect()
    }

    /// What they say for an f that is known at any place with any values of regressors.
    pub(super) fn sites_of(
        &self,
        source: Source<'_>,
        f: impl Fn(&Points, &[Vec<f64>]) -> Result<Marginals>,
    ) -> Result<Sites> {
        let events = Sites::of(self.link.events(), &f(self.places(source), &self.events.hats.dense)?);
        match (self.link.integral(), &self.integral) {
            (Part::Sites(potential), Some((placed, places))) => {
                Ok(events.followed_by(Sites::of(potential, &f(places, &placed.hats.dense)?)))
            }
            _ => Ok(events),
        }
    }

    /// What sites add to the precision of the unknowns.
    pub(super) fn precision_of(&self, sites: &Sites) -> Bordered<Diagonals> {
        let mut from = 0;
        let own = |said: Weighted<'_>| {
            let range = from..from + said.weights.len();
            from = range.end;
            range
        };
        let said = self.said();
        let ranges: Vec<_> = said.iter().copied().map(own).collect();
        let said: Vec<_> = said.into_iter().zip(ranges).map(|(said, own)| (said, &sites.precision[own])).collect();
        self.lattice.precision_of_sites(&said)
    }

    /// The posterior at Θ, from q at its optimum: for a link with sites in the integral, as wide as it is to the next order.
    pub(super) fn member(&self, theta: &Theta, sites: Sites, optimum: Optimum) -> Result<Member> {
        let (optimum, sites) = match &self.integral {
            Some((placed, _)) => self.lattice.to_next_order(placed.said(), theta, optimum, sites)?,
            None => (optimum, sites),
        };
        Ok(Member { theta: theta.clone(), optimum, said: self.precision_of(&sites) })
    }

    /// What q of another level says of f here, as sites.
    pub(super) fn sites_from(
        &self,
        other: &Level,
        (found, sites): (&Optimum, &Sites),
        source: Source<'_>,
    ) -> Result<Sites> {
        if self.summary.is_none() && other.summary.is_none() && self.integral.is_none() {
            return Ok(sites.clone()); // the same events
        }
        let grid = other.lattice.grid();
        self.sites_of(source, |places, dense| Ok(found.marginals(&grid.at(places)?.beside(dense.to_vec()))))
    }

    /// The sites of |f| under q of another level, where that is sure of f at some events with one sign and at some with the other; none where it is not.
    pub(super) fn folded_from(&self, other: &Level, found: &Optimum, source: Source<'_>) -> Result<Option<Sites>> {
        let at = other.lattice.grid().at(self.places(source))?.beside(self.events.hats.dense.clone());
        let mut f = found.marginals(&at);
        let is_sure = |sign: f64| {
            f.mean.iter().zip(&f.variance).any(|(mean, variance)| sign * mean > SURE * variance.max(0.0).sqrt())
        };
        if !(is_sure(1.0) && is_sure(-1.0)) {
            return Ok(None);
        }
        let sign = found.offset.signum();
        f.mean.iter_mut().for_each(|mean| *mean = sign * mean.abs());
        Ok(Some(Sites::of(self.link.events(), &f)))
    }

    /// The events, or what stands for them.
    pub(super) fn places<'a>(&'a self, source: Source<'a>) -> &'a Points {
        self.summary.as_ref().unwrap_or(source.points())
    }

    /// The data term at this q.
    pub(super) fn data_term(&self, found: &Optimum) -> f64 {
        self.log_rate(found, &self.events.hats, &self.events.weights)
    }

    fn log_rate(&self, found: &Optimum, hats: &Hats, weights: &[f64]) -> f64 {
        terms::expected_sum(self.link.events(), &found.marginals(hats), weights)
    }

    /// What nodes in place of events leave out of the data term at this q: Σ E[log λ] over the events, or in smaller cells where
    /// there are no events any more, less its value here.
    pub(super) fn left_out(&self, found: &Optimum, source: Source<'_>) -> Result<f64> {
        if self.summary.is_none() {
            return Ok(0.0);
        }
        let grid = self.lattice.grid();
        let whole = match source {
            Source::Points(points) => self.log_rate(found, &grid.at(points)?, &vec![1.0; points.len()]),
            Source::Cells(cells) => {
                let (at, weights) = source::finer(cells, &self.lattice).nodes();
                self.log_rate(found, &grid.at(&at)?, &weights)
            }
        };
        Ok(whole - self.data_term(found))
    }

    /// The step of the lattice on each axis.
    pub(super) fn steps(&self) -> Vec<f64> {
        (0..self.nodes.len()).map(|r| self.lattice.grid().axis(r).step).collect()
    }
}

/// What stands for the events on a lattice, and its hats.
fn seen(
    (lattice, link): (&Lattice, &dyn LinkFormula),
    source: Source<'_>,
    detail: Detail,
    before: Option<(&Level, &Optimum)>,
) -> Result<(Detail, Option<Points>, Placed)> {
    let (detail, summary) = match link.is_linear() {
        // Their sums of hats do not say where covariates are.
        true if lattice.regressors().is_some() => (Detail::Events, None),
        true => source.by_hats(lattice, detail)?,
        false => source.looked_at(lattice, detail, before)?,
    };
    let (summary, weights) = match (summary, source) {
        (Some((at, weights)), _) => (Some(at), weights),
        (None, Source::Points(points)) => (None, vec![1.0; points.len()]),
        (None, Source::Cells(cells)) => {
            let (at, weights) = cells.nodes();
            (Some(at), weights)
        }
    };
    let hats = lattice.at(summary.as_ref().unwrap_or(source.points()))?;
    Ok((detail, summary, Placed { hats, weights }))
}
