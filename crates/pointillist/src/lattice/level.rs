//! One lattice of a search with the events on it, and Θ as the search moves it.

use super::natural::Problem;
use super::source::{self, Detail, Source};
use super::{Hats, Lattice, Optimum, Sites, Slopes, Smoothness, Theta};
use crate::error::Result;
use crate::infer::sites::Clamp;
use crate::infer::{MEANS, MOST_VARIANCE, RangeEnd, least_variance};
use crate::numerics::linalg;
use crate::points::Points;
use crate::summary::MANY;
use crate::window::Window;

/// Margin around the window, in ranges …
const MARGIN: f64 = 0.5;
/// … and at most in sides of the window.
const MOST_MARGIN: f64 = 0.3;
/// The range, at least in steps of the lattice: below, f is noise on its nodes …
const LEAST_STEPS: f64 = 1.75;
/// … at most in sides of the window …
const LONGEST: f64 = 4.0;
/// … and for α = 4 at most in steps: beyond, digits are lost.
const MOST_STEPS: f64 = 80.0;

/// The margin on each axis for ranges on it, the window being the unit box.
pub(super) fn margin(ranges: &[f64]) -> Vec<f64> {
    ranges.iter().map(|range| (MARGIN * range).min(MOST_MARGIN)).collect()
}

/// The distance of the nodes on each axis.
pub(super) fn steps(nodes: &[usize], margin: &[f64]) -> Vec<f64> {
    nodes.iter().zip(margin).map(|(n, m)| (1.0 + 2.0 * m) / (n - 1) as f64).collect()
}

/// A lattice with the events, or the nodes that stand for them.
pub(super) struct Level {
    pub(super) lattice: Lattice,
    pub(super) nodes: Vec<usize>,
    pub(super) margin: Vec<f64>,
    pub(super) detail: Detail,
    /// The nodes that stand for events, if they do.
    summary: Option<Points>,
    hats: Hats,
    weights: Vec<f64>,
}

impl Level {
    /// A lattice with about so many nodes and this margin around the window. What is known of f (`before`) says where nodes may not
    /// stand for events.
    pub(super) fn new(
        source: Source<'_>,
        window: &Window,
        nodes: &[usize],
        margin: Vec<f64>,
        smoothness: Smoothness,
        detail: Detail,
        before: Option<(&Level, &Optimum)>,
    ) -> Result<Self> {
        let (nodes, margin) = source.placed(nodes, margin);
        let lattice = Lattice::new(window, &nodes, &margin, smoothness)?;
        Self::on(lattice, nodes, margin, source, detail, before)
    }

    fn on(
        lattice: Lattice,
        nodes: Vec<usize>,
        margin: Vec<f64>,
        source: Source<'_>,
        detail: Detail,
        before: Option<(&Level, &Optimum)>,
    ) -> Result<Self> {
        let (detail, summary) = source.looked_at(&lattice, detail, before)?;
        let (summary, weights) = match (summary, source) {
            (Some((at, weights)), _) => (Some(at), weights),
            (None, Source::Points(points)) => (None, vec![1.0; points.len()]),
            (None, Source::Cells(cells)) => {
                let (at, weights) = cells.nodes();
                (Some(at), weights)
            }
        };
        let hats = lattice.grid.at(summary.as_ref().unwrap_or(source.points()))?;
        Ok(Self { lattice, nodes, margin, detail, summary, hats, weights })
    }

    /// The same lattice, its events looked at otherwise.
    pub(super) fn with_detail(self, source: Source<'_>, detail: Detail) -> Result<Self> {
        Self::on(self.lattice, self.nodes, self.margin, source, detail, None)
    }

    /// Number of weighted points.
    pub(super) fn len(&self) -> usize {
        self.weights.len()
    }

    /// q at its optimum.
    pub(super) fn maximise(&self, theta: &Theta, sites: Sites, tolerance: f64, most: usize) -> Result<Optimum> {
        let clamp = if self.len() < MANY { Clamp::UntilSettled } else { Clamp::Throughout };
        Problem::new(&self.lattice, &self.hats, &self.weights, theta).maximise(sites, tolerance, most, clamp)
    }

    /// What q of another level says of f here, as sites.
    pub(super) fn sites_from(&self, other: &Level, found: &Optimum, source: Source<'_>) -> Result<Sites> {
        if self.summary.is_none() && other.summary.is_none() {
            return Ok(found.sites.clone()); // the same events
        }
        Ok(Sites::of(&found.marginals(&other.lattice.grid.at(self.places(source))?)))
    }

    /// The events, or what stands for them.
    pub(super) fn places<'a>(&'a self, source: Source<'a>) -> &'a Points {
        self.summary.as_ref().unwrap_or(source.points())
    }

    /// The data term at this q.
    pub(super) fn data_term(&self, found: &Optimum) -> f64 {
        linalg::dot(&self.weights, &found.expected_logs(&self.hats))
    }

    /// What nodes in place of events leave out of the data term at this q: Σ E[log f²] over the events, or in smaller cells where
    /// there are no events any more, less its value here.
    pub(super) fn left_out(&self, found: &Optimum, source: Source<'_>) -> Result<f64> {
        if self.summary.is_none() {
            return Ok(0.0);
        }
        let whole = match source {
            Source::Points(points) => found.expected_logs(&self.lattice.grid.at(points)?).iter().sum(),
            Source::Cells(cells) => {
                let (at, weights) = source::finer(cells, &self.lattice).nodes();
                linalg::dot(&weights, &found.expected_logs(&self.lattice.grid.at(&at)?))
            }
        };
        Ok(whole - self.data_term(found))
    }

    /// The step of the lattice on each axis.
    pub(super) fn steps(&self) -> Vec<f64> {
        (0..self.nodes.len()).map(|r| self.lattice.grid.axis(r).step).collect()
    }
}

/// Θ as a vector without constraints but bounds: log ρ_r of each axis, log variance, and the mean in units of √rate.
pub(super) struct Coordinates {
    pub(super) bounds: Vec<(f64, f64)>,
    mean_scale: f64,
}

impl Coordinates {
    /// For a lattice with these steps, with `rate` the mean rate and `measure` the measure of the window.
    pub(super) fn new(steps: &[f64], smoothness: Smoothness, rate: f64, measure: f64) -> Self {
        let longest = |step: f64| match smoothness {
            Smoothness::Two => LONGEST,
            Smoothness::Four => LONGEST.min(MOST_STEPS * step),
        };
        let of_step = |step: &f64| ((LEAST_STEPS * step).ln(), longest(*step).max(2.0 * LEAST_STEPS * step).ln());
        let mut bounds: Vec<(f64, f64)> = steps.iter().map(of_step).collect();
        bounds.extend([(least_variance(rate, measure).ln(), (MOST_VARIANCE * rate).ln()), MEANS]);
        Self { bounds, mean_scale: rate.sqrt() }
    }

    pub(super) fn pack(&self, theta: &Theta) -> Vec<f64> {
        let mut x: Vec<f64> = theta.ranges().iter().map(|range| range.ln()).collect();
        x.extend([theta.variance.ln(), theta.mean / self.mean_scale]);
        x.iter().zip(&self.bounds).map(|(x, (lo, hi))| x.clamp(*lo, *hi)).collect()
    }

    pub(super) fn unpack(&self, x: &[f64]) -> Theta {
        let dims = x.len() - 2;
        let ranges: Vec<f64> = x[..dims].iter().map(|log| log.exp()).collect();
        Theta::of_ranges(&ranges, x[dims].exp(), x[dims + 1] * self.mean_scale)
    }

    /// The gradient by the vector. A log ρ_r moves the log of the range by a share of itself, and all stretches with it.
    pub(super) fn gradient(&self, slopes: &Slopes, gradient: &mut [f64]) {
        let dims = slopes.log_stretch.len();
        let common = (slopes.log_range - 2.0 * slopes.log_stretch.iter().sum::<f64>()) / dims as f64;
        (0..dims).for_each(|r| gradient[r] = common + 2.0 * slopes.log_stretch[r]);
        gradient[dims] = slopes.log_variance;
        gradient[dims + 1] = slopes.mean * self.mean_scale;
    }

    /// Which of them stand at an end of their bounds.
    pub(super) fn ends(&self, theta: &Theta) -> Vec<Option<RangeEnd>> {
        self.pack(theta).into_iter().zip(&self.bounds).map(|(x, bounds)| RangeEnd::of(x, *bounds)).collect()
    }
}
