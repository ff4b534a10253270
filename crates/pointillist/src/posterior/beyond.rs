//! q(f) beyond the window, by inducing points: more of them, drawn from the prior given those that there are.
//!
//! Away from the window the inducing points leave f unexplained. The variance of a rate at a point can take that in; the spread
//! of a count cannot. So places are added where the unexplained variance is largest until little is left; their whitened values are independent
//! standard normal numbers beside v, so that q grows by an identity. Where the kernel carries what is known (a period), nothing is added.
//! Regions are integrated by quadrature here.

use crate::bound::Gaussian;
use crate::data::points::Points;
use crate::error::{Error, Result};
use crate::field::inducing::{Basis, PointFeatures, RegionFeatures};
use crate::kernel::Kernel;
use crate::numerics::linalg::{self, Matrix};
use crate::window::{AxisRule, Nodes, Span, Window, node_count};
use std::sync::Arc;

/// Places among which new ones are chosen: so many for each length over which the kernel varies, and at most so many.
const PER_LENGTH: f64 = 2.0;
const MOST_CANDIDATES: f64 = 4000.0;
/// Unexplained variance, relative to the prior's, that is not worth another place.
const NEGLIGIBLE: f64 = 1e-4;
/// Places on each axis of the window at which is looked how much is left there, and how much more than that may be left beyond, if it is no more than a little.
const PLACES_INSIDE: usize = 9;
const AS_MUCH: f64 = 1.5;
const LITTLE: f64 = 0.02;
/// Most places added.
const MOST_ADDED: usize = 600;
/// Most nodes of a quadrature that ends at every kink, and how many are worked on at a time.
const MOST_NODES: usize = 2_000_000;
const BLOCK: usize = 2048;

/// A basis with more features: those of the places added, less what the others explain.
pub(super) struct Beyond {
    inner: Arc<dyn Basis>,
    kernel: Kernel,
    /// The prior variance of a constant, which is among the features.
    of_constant: f64,
    pub(super) places: Points,
    /// Features of the basis within at the places. // (M, added)
    features: Matrix,
    /// Cholesky factor of what those leave unexplained. // (added, added)
    root: Matrix,
    /// Coordinates at which the integrand may have kinks, on each axis.
    kinks: Vec<Vec<f64>>,
}

impl Beyond {
    /// With so many places that f is explained all over a box; none if it is already. The window is the unit box.
    pub(super) fn new(
        inner: Arc<dyn Basis>,
        (kernel, of_constant): (&Kernel, f64),
        locations: &Points,
        spans: &[Span],
    ) -> Result<Option<Self>> {
        let tolerated = tolerated(inner.as_ref(), kernel);
        let candidates = candidates(&of_weight(kernel, tolerated), spans)?;
        let chosen = choose(inner.as_ref(), (kernel, of_constant), &candidates, tolerated)?;
        if chosen.is_empty() {
            return Ok(None);
        }
        let places = Points::of_rows(kernel.dims, chosen.iter().flat_map(|&n| candidates.row(n).to_vec()).collect());
        let features = inner.at(&places).a;
        let mut root = kernel.gram(&places);
        root.data_mut().iter_mut().for_each(|k| *k += of_constant);
        linalg::add_scaled(root.data_mut(), -1.0, linalg::transposed_product(&features, &features).data());
        let size = places.len();
        linalg::cholesky(&mut root).map_err(|pivot| Error::NotPositiveDefinite { pivot, size, jitter: 0.0 })?;
        let kinks = |r: usize| if kernel.has_kinks(r) { locations.followed_by(&places).axis(r) } else { Vec::new() };
        let kinks = (0..kernel.dims).map(kinks).collect();
        Ok(Some(Self { inner, kernel: kernel.clone(), of_constant, places, features, root, kinks }))
    }

    /// q with the values at the places added. No event has said anything of these.
    pub(super) fn widened(&self, q: &Gaussian) -> Gaussian {
        let (old, size) = (q.mean.len(), self.size());
        let mut mean = q.mean.clone();
        mean.resize(size, 0.0);
        let mut root = Matrix::scaled_identity(size, 1.0);
        for j in 0..old {
            root.col_mut(j)[..old].copy_from_slice(q.root.col(j));
        }
        Gaussian { mean, root }
    }
}

/// How much of the prior variance may be left unexplained: next to nothing on a line, and with more axes as much as is left inside the window, where it counts in
/// means alone as well, if that is little.
fn tolerated(inner: &dyn Basis, kernel: &Kernel) -> f64 {
    let prior = kernel.variance();
    if kernel.dims == 1 {
        return NEGLIGIBLE * prior;
    }
    let inside = Points::grid(&vec![0.0; kernel.dims], &vec![1.0; kernel.dims], &vec![PLACES_INSIDE; kernel.dims]);
    let left = inner.at(&inside).residual.into_iter().fold(0.0, f64::max);
    (AS_MUCH * left).clamp(NEGLIGIBLE * prior, LITTLE * prior)
}

/// A kernel without the terms that together have no more variance than this.
fn of_weight(kernel: &Kernel, tolerated: f64) -> Kernel {
    let mut terms = kernel.terms.clone();
    terms.sort_by(|a, b| a.variance.total_cmp(&b.variance));
    let mut dropped = 0.0;
    terms.retain(|term| {
        dropped += term.variance;
        dropped > tolerated
    });
    Kernel { dims: kernel.dims, terms }
}

/// A grid over the parts of a box that lie outside the unit box. Where it would have too many places because something repeats itself, the places of an
/// axis stand in all parts of a cycle, each in another cycle.
fn candidates(kernel: &Kernel, spans: &[Span]) -> Result<Points> {
    let plain = |(r, span): (usize, &Span)| {
        let count = (PER_LENGTH * span.length() / kernel.length(r)).ceil() + 1.0;
        if count > MOST_CANDIDATES { None } else { Some(even(span.lo, span.hi, count as usize)) }
    };
    let by_phase = |(r, span): (usize, &Span)| {
        let stretches = [(span.lo, 0.0), (0.0, 1.0), (1.0, span.hi)];
        let inside = stretches.iter().filter(|(lo, hi)| lo < hi);
        let places = inside.map(|&(lo, hi)| in_all_phases(kernel, r, (lo, hi))).collect::<Option<Vec<_>>>()?.concat();
        Some(places)
    };
    let is_few = |axes: &Vec<Vec<f64>>| outside(axes) <= MOST_CANDIDATES;
    let even_grid: Option<Vec<Vec<f64>>> = spans.iter().enumerate().map(plain).collect();
    let phased = || {
        let along = |one: (usize, &Span)| by_phase(one).or_else(|| plain(one));
        spans.iter().enumerate().map(along).collect::<Option<Vec<Vec<f64>>>>()
    };
    let grid = even_grid.filter(is_few).or_else(|| phased().filter(is_few));
    let Some(grid) = grid else {
        let requirement = "reaches too far beyond the window: the kernel varies too often on the way; ask for a smaller part, or for rates at points";
        let ends: Vec<String> = spans.iter().map(|span| format!("{:.4} to {:.4}", span.lo, span.hi)).collect();
        return Err(Error::setting("region (in units of the window)", ends.join(", "), requirement));
    };
    let rows = grid.iter().fold(vec![vec![]], |rows: Vec<Vec<f64>>, axis| {
        rows.iter().flat_map(|row| axis.iter().map(move |x| [&row[..], &[*x]].concat())).collect()
    });
    let all = Points::of_rows(kernel.dims, rows.concat());
    Ok(all.filter(|row| row.iter().any(|x| !(0.0..=1.0).contains(x))))
}

/// How many places of a grid lie outside the unit box.
fn outside(axes: &[Vec<f64>]) -> f64 {
    let product = |of: &dyn Fn(&Vec<f64>) -> usize| axes.iter().map(|axis| of(axis) as f64).product::<f64>();
    product(&Vec::len) - product(&|axis| axis.iter().filter(|x| (0.0..=1.0).contains(*x)).count())
}

fn even(lo: f64, hi: f64, count: usize) -> Vec<f64> {
    Points::grid(&[lo], &[hi], &[count]).coordinates().to_vec()
}

/// Places on a part of an axis, of which no two stand at the same part of the shortest cycle: as many as the kernel can tell apart when it is known what
/// repeats itself. Nothing where it has no cycle there, or fewer than two.
fn in_all_phases(kernel: &Kernel, axis: usize, (lo, hi): (f64, f64)) -> Option<Vec<f64>> {
    // Golden sections of a circle are spread evenly over it, however many there are.
    const GOLDEN: f64 = 0.618_033_988_749_894_8;
    let (count, period) = kernel.phases_needed(axis, hi - lo)?;
    let cycles = (hi - lo) / period;
    let count = (PER_LENGTH * PER_LENGTH * count).ceil().min(2.0 * MOST_CANDIDATES) as usize;
    if cycles < 1.0 {
        let plain = (PER_LENGTH * (hi - lo) / kernel.length(axis)).ceil() as usize + 1;
        return Some(even(lo, hi, plain));
    }
    let place = |i: usize| {
        let cycle = (i as f64 * cycles / count as f64).floor();
        lo + (cycle + (i as f64 * GOLDEN).fract()) * period
    };
    let ends = [lo, hi];
    Some((0..count).map(place).filter(|x| *x < hi).chain(ends).collect())
}

/// One place after another where the variance left is largest: a pivoted Cholesky factorisation.
fn choose(
    inner: &dyn Basis,
    (kernel, of_constant): (&Kernel, f64),
    candidates: &Points,
    tolerated: f64,
) -> Result<Vec<usize>> {
    if candidates.is_empty() {
        return Ok(Vec::new());
    }
    let PointFeatures { a, residual: mut left } = inner.at(candidates);
    let (mut chosen, mut columns): (Vec<usize>, Vec<Vec<f64>>) = (Vec::new(), Vec::new());
    loop {
        let Some(next) = (0..left.len()).max_by(|&i, &j| left[i].total_cmp(&left[j])) else { return Ok(chosen) };
        if left[next] <= tolerated {
            return Ok(chosen);
        }
        if chosen.len() == MOST_ADDED {
            let requirement =
                "inducing points would be needed beyond the window; ask for a smaller part, or for rates at points";
            return Err(Error::setting("region", format!("more than {MOST_ADDED}"), requirement));
        }
        let root = left[next].sqrt();
        let entry = |n: usize| {
            let explained = linalg::dot(a.col(n), a.col(next));
            let known: f64 = columns.iter().map(|column| column[n] * column[next]).sum();
            (kernel.k(candidates.row(n), candidates.row(next)) + of_constant - explained - known) / root
        };
        let column: Vec<f64> = (0..left.len()).map(entry).collect();
        left.iter_mut().zip(&column).for_each(|(left, value)| *left = (*left - value * value).max(0.0));
        left[next] = 0.0;
        chosen.push(next);
        columns.push(column);
    }
}

impl Basis for Beyond {
    fn size(&self) -> usize {
        self.inner.size() + self.places.len()
    }

    fn at(&self, points: &Points) -> PointFeatures {
        let PointFeatures { a, residual } = self.inner.at(points);
        let (old, added, count) = (self.inner.size(), self.places.len(), points.len());
        let explained = linalg::transposed_product(&self.features, &a);
        let prior = |i: usize, n: usize| self.kernel.k(self.places.row(i), points.row(n)) + self.of_constant;
        let mut more = Matrix::from_fn(added, count, |i, n| prior(i, n) - explained[(i, n)]);
        linalg::solve_lower(&self.root, more.data_mut());
        let mut all = Matrix::zeros(old + added, count);
        let mut left = residual;
        for n in 0..count {
            all.col_mut(n)[..old].copy_from_slice(a.col(n));
            all.col_mut(n)[old..].copy_from_slice(more.col(n));
            left[n] = (left[n] - linalg::dot(more.col(n), more.col(n))).max(0.0);
        }
        PointFeatures { a: all, residual: left }
    }

    fn over(&self, window: &Window) -> RegionFeatures {
        let rule = |r: usize| AxisRule { length: self.kernel.length(r), kinks: &self.kinks[r] };
        let rules: Vec<AxisRule<'_>> = (0..self.kernel.dims).map(rule).collect();
        let mut pieces = window.nodes(&rules);
        if node_count(&pieces) > MOST_NODES {
            // Panels that do not end at the kinks are a little less exact.
            let smooth = |r: &AxisRule<'_>| AxisRule::smooth(r.length);
            pieces = window.nodes(&rules.iter().map(smooth).collect::<Vec<_>>());
        }
        let size = self.size();
        let mut region =
            RegionFeatures { square: Matrix::zeros(size, size), linear: vec![0.0; size], residual: 0.0, measure: 0.0 };
        let nodes = Nodes::of_pieces(&pieces);
        let blocks = nodes.points.coordinates().chunks(BLOCK * self.kernel.dims).zip(nodes.weights.chunks(BLOCK));
        for (coordinates, weights) in blocks {
            let PointFeatures { a, residual } = self.at(&Points::of_rows(self.kernel.dims, coordinates.to_vec()));
            let mut scaled = a.clone();
            for (n, weight) in weights.iter().enumerate() {
                scaled.col_mut(n).iter_mut().for_each(|value| *value *= weight);
                linalg::add_scaled(&mut region.linear, *weight, a.col(n));
                region.residual += weight * residual[n];
                region.measure += weight;
            }
            linalg::add_outer_lower(&mut region.square, 1.0, scaled.data(), a.data());
        }
        region.square.mirror_lower();
        region
    }

    fn over_more_nodes(&self, window: &Window) -> RegionFeatures {
        self.over(window)
    }

    fn prior(&self) -> (Vec<f64>, f64) {
        let (mut mean, offset) = self.inner.prior();
        mean.resize(self.size(), 0.0);
        (mean, offset)
    }
}
