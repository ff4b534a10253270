//! The paper's own scheme: one L-BFGS over Θ, m and vech(R) together. Slower than the collapsed one; kept as its cross-check.
//!
//! q is that of v = L⁻¹(u − β), not of u: the same family and the same optimum, but K's conditioning does not enter.

use super::observed::Seen;
use super::parameters::Layout;
use super::{Problem, Run, State, lbfgs};
use crate::basis::{Basis, Scattered};
use crate::bound::{Gaussian, bound_adjoint};
use crate::error::{Error, Result};
use crate::numerics::linalg::{self, Matrix};
use crate::points::Points;

/// Maximises the bound over Θ (and Z if it moves), m and R together, from `state`.
pub(super) fn maximise(problem: &mut Problem<'_>, layout: &Layout, state: State, gain: f64) -> Result<Run> {
    let Seen::Points(points, weights) = problem.observed.seen.clone() else { return Err(Error::NoEvents) }; // as it is asked for
    let set = |locations: Points| if layout.moves() { Scattered::moving(locations) } else { Scattered::new(locations) };
    let basis = set(state.locations.clone()).basis(&state.hyper, problem.prior_mean, problem.jitter)?;
    let size = basis.size();
    // A flat f of the right height, somewhat uncertain.
    let (_, offset) = basis.prior();
    let mut mean = vec![problem.level() - offset; size];
    linalg::solve_lower(basis.whitening(), &mut mean);
    let start = Gaussian { mean, root: Matrix::scaled_identity(size, 0.3) };

    let theta = layout.pack(&state.hyper, &state.locations);
    let count = theta.len();
    let mut bounds = layout.bounds(&state.locations);
    let mut x = theta;
    pack_gaussian(&start, &mut x);
    bounds.resize(x.len(), (f64::NEG_INFINITY, f64::INFINITY));

    let settings = lbfgs::Settings { gain, most_evaluations: problem.evaluations_left(), first_step: 0.1 };
    let outcome = lbfgs::maximise(x, state.curvature.clone(), &bounds, settings, |x, gradient| {
        let (hyper, locations) = layout.unpack(&x[..count], &state.hyper, &state.locations);
        let Ok(basis) = set(locations).basis(&hyper, problem.prior_mean, problem.jitter) else { return Ok(None) };
        let q = unpack_gaussian(&x[count..], size);
        let features = basis.features(&points, &problem.window);
        let (bound, bar, q_bar) = bound_adjoint(&features, &weights, &q, true);
        let hyper_bar = basis.features_adjoint(&points, &problem.window, &features, bar, &[]);
        let log_prior = layout.gradient(&x[..count], &hyper, &hyper_bar, &mut gradient[..count]);
        pack_slice(&q_bar, &mut gradient[count..]);
        let value = bound.total() + log_prior;
        problem.report(value)?;
        Ok(value.is_finite().then_some(value))
    })?;
    let Some(outcome) = outcome else { return problem.unusable(&state) };
    let (hyper, locations) = layout.unpack(&outcome.x[..count], &state.hyper, &state.locations);
    let q = unpack_gaussian(&outcome.x[count..], size);
    Ok(Run::new(hyper, locations, state.sites, outcome, Some(q)))
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
