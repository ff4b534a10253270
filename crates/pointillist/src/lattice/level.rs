//! One lattice of a search with the events on it, and Θ as the search moves it.
//!
//! Where the cells of the lattice hold many events each, a few nodes stand for them (`summary.rs`): f is smooth inside a
//! cell and has its kinks between them.

use super::grid::GridAxis;
use super::natural::Problem;
use super::{Hats, Lattice, Optimum, Sites, Slopes, Smoothness, Theta};
use crate::error::Result;
use crate::infer::sites::Clamp;
use crate::infer::{MEANS, MOST_VARIANCE, least_variance};
use crate::numerics::linalg;
use crate::points::Points;
use crate::summary::Summary;
use crate::window::Window;

/// Margin around the window, in ranges …
const MARGIN: f64 = 0.5;
/// … and at most in sides of the window.
const MOST_MARGIN: f64 = 0.3;
/// Nodes an axis in a cell, where events are many and where they are not so many.
const ORDERS: [usize; 2] = [4, 3];
/// Bins an axis in a cell.
const BINS: usize = 4;
/// Error of E[log f²] between nodes, in nats an event, above which a cell keeps its events.
const ROUGH: f64 = 1e-3;
/// Part of the events in such cells from which on they are counted in bins instead.
const MOST_ROUGH: f64 = 0.25;
/// Nodes stand for events where they are fewer than this part of them …
const WORTHWHILE: f64 = 0.6;
/// … and the events are no fewer than this.
const MANY: usize = 5_000;
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

/// How closely the events are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Detail {
    /// One by one.
    Events,
    /// As a few nodes a cell, exact for what varies like a polynomial there.
    Nodes,
    /// Counted in bins. The weights are not negative: it works where f is too rough for the lattice, and shows about
    /// where Θ is.
    Bins,
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
    /// The lattice with this margin around the window. What is known of f (`before`) says where nodes may not stand for events.
    pub(super) fn new(
        points: &Points,
        window: &Window,
        nodes: &[usize],
        margin: Vec<f64>,
        smoothness: Smoothness,
        detail: Detail,
        before: Option<(&Level, &Optimum)>,
    ) -> Result<Self> {
        let lattice = Lattice::new(window, nodes, &margin, smoothness)?;
        Self::on(lattice, nodes.to_vec(), margin, points, detail, before)
    }

    fn on(
        lattice: Lattice,
        nodes: Vec<usize>,
        margin: Vec<f64>,
        points: &Points,
        detail: Detail,
        before: Option<(&Level, &Optimum)>,
    ) -> Result<Self> {
        let (detail, summary) = match detail {
            _ if points.len() < MANY => (Detail::Events, None),
            Detail::Events => (detail, None),
            Detail::Nodes => by_nodes(&lattice, points, before)?,
            Detail::Bins => by_bins(&lattice, points)?,
        };
        let (summary, weights) = summary.map_or_else(|| (None, vec![1.0; points.len()]), |(at, w)| (Some(at), w));
        let hats = lattice.grid.at(summary.as_ref().unwrap_or(points))?;
        Ok(Self { lattice, nodes, margin, detail, summary, hats, weights })
    }

    /// The same lattice, its events looked at otherwise.
    pub(super) fn with_detail(self, points: &Points, detail: Detail) -> Result<Self> {
        Self::on(self.lattice, self.nodes, self.margin, points, detail, None)
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
    pub(super) fn sites_from(&self, other: &Level, found: &Optimum, points: &Points) -> Result<Sites> {
        if self.summary.is_none() && other.summary.is_none() {
            return Ok(found.sites.clone()); // the same events
        }
        let here = self.summary.as_ref().unwrap_or(points);
        Ok(Sites::of(&found.marginals(&other.lattice.grid.at(here)?)))
    }

    /// What nodes in place of events leave out of the data term at this q: Σ E[log f²] over the events less its value here.
    pub(super) fn left_out(&self, found: &Optimum, points: &Points) -> Result<f64> {
        if self.summary.is_none() {
            return Ok(0.0);
        }
        let ours = found.expected_logs(&self.hats);
        Ok(found.expected_logs(&self.lattice.grid.at(points)?).iter().sum::<f64>() - linalg::dot(&self.weights, &ours))
    }

    /// The step of the lattice on each axis.
    pub(super) fn steps(&self) -> Vec<f64> {
        (0..self.nodes.len()).map(|r| self.lattice.grid.axis(r).step).collect()
    }
}

/// How the events are looked at, and what stands for them if they are not looked at one by one.
type Looked = (Detail, Option<(Points, Vec<f64>)>);

/// Bins, if they are fewer than the events.
fn by_bins(lattice: &Lattice, points: &Points) -> Result<Looked> {
    let counts = summary(lattice, points, BINS, 1)?;
    let worth = is_worth(counts.len(), points.len());
    Ok(if worth { (Detail::Bins, Some(counts.nodes())) } else { (Detail::Events, None) })
}

/// Nodes in cells where f is smooth and the events where it is not, if both are fewer than the events; bins if f is smooth
/// nearly nowhere.
fn by_nodes(lattice: &Lattice, points: &Points, before: Option<(&Level, &Optimum)>) -> Result<Looked> {
    let many = lattice.grid.size().saturating_mul(ORDERS[0].pow(points.dims() as u32));
    let order = ORDERS[usize::from(!is_worth(many, points.len()))];
    let rough = match before {
        Some((level, found)) => rough_cells(lattice, level, found, order)?,
        None => vec![false; lattice.grid.size()],
    };
    let is_rough = |row: &[f64]| rough[lattice.grid.hats_at(row).0];
    let kept = points.filter(is_rough);
    if kept.len() as f64 > MOST_ROUGH * points.len() as f64 {
        return by_bins(lattice, points);
    }
    let summary = summary(lattice, &points.filter(|row| !is_rough(row)), 1, order)?;
    if !is_worth(summary.len() + kept.len(), points.len()) {
        return Ok((Detail::Events, None));
    }
    let (nodes, mut weights) = summary.nodes();
    weights.resize(nodes.len() + kept.len(), 1.0);
    Ok((Detail::Nodes, Some((nodes.followed_by(&kept), weights))))
}

fn is_worth(nodes: usize, events: usize) -> bool {
    (nodes as f64) < WORTHWHILE * events as f64
}

fn summary(lattice: &Lattice, points: &Points, bins: usize, order: usize) -> Result<Summary> {
    let edges = (0..points.dims()).map(|r| edges(&lattice.grid.axis(r), bins)).collect();
    let mut summary = Summary::new(edges, order)?;
    summary.add(points)?;
    Ok(summary)
}

/// Whether log f² varies too much for `order` nodes an axis in the cell that begins at each node.
///
/// If f runs from a to b it is 2 log(1 + δt) and a constant, δ = (b − a)/(b + a), |t| ≤ 1, and its Chebyshev
/// coefficients fall like the powers of δ/(1 + √(1 − δ²)).
fn rough_cells(lattice: &Lattice, level: &Level, found: &Optimum, order: usize) -> Result<Vec<bool>> {
    let grid = &lattice.grid;
    let f = found.marginals(&level.lattice.grid.at(&grid.node_places())?).mean;
    let shifts = grid.corner_shifts();
    let is_rough = |first: usize| {
        let corners = shifts.iter().filter_map(|shift| f.get(first + shift)).map(|f| f.abs());
        let signs = shifts.iter().filter_map(|shift| f.get(first + shift)).any(|g| g * f[first] <= 0.0);
        let (low, high) = corners.fold((f64::INFINITY, 0.0), |(low, high): (f64, f64), f| (low.min(f), high.max(f)));
        let delta = (high - low) / (high + low);
        let falls = delta / (1.0 + (1.0 - delta * delta).sqrt());
        signs || falls.powi(order as i32) > ROUGH
    };
    Ok((0..grid.size()).map(is_rough).collect())
}

/// Where the bins of the cells of an axis end.
fn edges(axis: &GridAxis, bins: usize) -> Vec<f64> {
    let fine = GridAxis { step: axis.step / bins as f64, nodes: (axis.nodes - 1) * bins + 1, ..*axis };
    fine.places()
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

    /// Which of them stand at the lower (−1) or upper (+1) end of their bounds.
    pub(super) fn ends(&self, theta: &Theta) -> Vec<i8> {
        let end = |(x, (lo, hi)): (f64, &(f64, f64))| i8::from(x >= hi - 1e-6) - i8::from(x <= lo + 1e-6);
        self.pack(theta).into_iter().zip(&self.bounds).map(end).collect()
    }
}
