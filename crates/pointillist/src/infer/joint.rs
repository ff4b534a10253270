//! The paper's own scheme: one L-BFGS over Θ, m and vech(R) together. Slower than the collapsed one; kept as its cross-check.
//!
//! q is that of v = L⁻¹(u − β), not of u: the same family and the same optimum, but K's conditioning does not enter.

use super::inducing::{HyperAt, OnInducing};
use super::lbfgs;
use super::search::{Run, Start};
use super::tally::Tally;
use crate::bound::{Gaussian, bound_adjoint};
use crate::data::points::Points;
use crate::data::seen::Seen;
use crate::error::{Error, Result};
use crate::field::inducing::{Basis, Scattered};
use crate::numerics::linalg::{self, Matrix};

/// It stops at this part of the gain at which the other scheme stops, because it approaches its end more slowly.
const CLOSER: f64 = 0.01;

/// Maximises the bound over Θ (and Z if it moves), m and R together; with the steps of the optimiser.
pub(super) fn maximise<'a>(
    on: &OnInducing<'a>,
    start: Start<OnInducing<'a>>,
    tally: &Tally<'_>,
) -> Result<(Run<OnInducing<'a>>, usize)> {
    let layout = on.active();
    let Seen::Points(points, weights) = &on.observed.seen else { return Err(Error::NoEvents) }; // as it is asked for
    let Start { level, theta: HyperAt { hyper: base, locations }, sites, curvature } = start;
    let set = |locations: Points| if layout.moves() { Scattered::moving(locations) } else { Scattered::new(locations) };
    let basis = set(locations.clone()).basis(&base, on.prior_mean, on.jitter)?;
    let size = basis.size() + usize::from(on.constant.is_some());
    tally.resize(size, on.work(size));
    // A flat f of the right height, somewhat uncertain.
    let (_, offset) = basis.prior();
    let mut mean = vec![on.level - offset; basis.size()];
    linalg::solve_lower(basis.whitening(), &mut mean);
    mean.resize(size, 0.0);
    let flat = Gaussian { mean, root: Matrix::scaled_identity(size, 0.3) };

    let mut x = layout.pack(&base, &locations);
    let count = x.len();
    let mut bounds = layout.bounds(&locations);
    pack_gaussian(&flat, &mut x);
    bounds.resize(x.len(), (f64::NEG_INFINITY, f64::INFINITY));

    let settings = lbfgs::Settings { gain: CLOSER * on.gain, most_evaluations: tally.thetas_left(), first_step: 0.1 };
    let outcome = lbfgs::maximise(x, curvature, &bounds, settings, |x, gradient| {
        let (hyper, locations) = layout.unpack(&x[..count], &base, &locations);
        let Ok(basis) = set(locations).basis(&hyper, on.prior_mean, on.jitter) else { return Ok(None) };
        let q = unpack_gaussian(&x[count..], size);
        let features = basis.features(points, on.window).with_constant(on.constant);
        let (bound, bar, q_bar) = bound_adjoint(&features, weights, &q, true);
        let hyper_bar = on.features_adjoint(&basis, points, &features, bar);
        let log_prior = layout.gradient(&x[..count], &hyper, &hyper_bar, &mut gradient[..count]);
        pack_slice(&q_bar, &mut gradient[count..]);
        let value = bound.total() + log_prior;
        tally.theta(value)?;
        Ok(value.is_finite().then_some(value))
    })?;
    let outcome = outcome.ok_or_else(|| Error::NotANumber { parameters: base.kernel.parameters() })?;
    let (hyper, locations) = layout.unpack(&outcome.x[..count], &base, &locations);
    let q = unpack_gaussian(&outcome.x[count..], size);
    let theta = HyperAt { hyper, locations };
    Ok((Run::joint((level, theta, sites), outcome.value, outcome.end, q), outcome.iterations))
}

fn pack_gaussian(q: &Gaussian, x: &mut Vec<f64>) {
    let start = x.len();
    let size = q.mean.len();
    x.resize(start + size + size * (size + 1) / 2, 0.0);
    pack_slice(q, &mut x[start..]);
}

/// m, then the columns of the lower triangle.
fn pack_slice(q: &Gaussian, out: &mut [f64]) {
    let size = q.mean.len();
    out[..size].copy_from_slice(&q.mean);
    let mut at = size;
    for j in 0..size {
        out[at..at + size - j].copy_from_slice(&q.root.col(j)[j..]);
        at += size - j;
    }
}

fn unpack_gaussian(x: &[f64], size: usize) -> Gaussian {
    let mut root = Matrix::zeros(size, size);
    let mut at = size;
    for j in 0..size {
        root.col_mut(j)[j..].copy_from_slice(&x[at..at + size - j]);
        at += size - j;
    }
    Gaussian { mean: x[..size].to_vec(), root }
}
