//! The fast fixed point of q(v) at fixed Θ (docs/derivation.md (14) to (18)): the loop of `sites.rs` with
//!
//!   P = I + 2A + Σ w η2 a aᵀ,   P m = Σ w (η1 − η2 β) a − 2β p + b.
//!
//! Because tr(S P) = M, the traces in the bound are ½ Σ w η2 aᵀSa: no inverse is formed. Cost of a step: two N·M² products, one Cholesky.

use super::sites::{self, Clamp, EventTerms};
use crate::basis::Features;
use crate::bound::Gaussian;
use crate::error::{Error, Result};
use crate::numerics::linalg::{self, Matrix};
use crate::numerics::special::expected_log_squares;
use crate::parallel;

pub(crate) use super::sites::Sites;

/// q(v) = N(mean, P⁻¹).
pub(crate) struct Solved {
    mean: Vec<f64>,
    /// Cholesky factor of P = S⁻¹.
    precision_root: Matrix,
}

/// q(v) from sites, its bound, and f at the events.
type Step = sites::Step<Solved>;

impl Step {
    /// q(v) as mean and root of the covariance.
    pub(crate) fn gaussian(&self) -> Result<Gaussian> {
        let mut root = linalg::inverse_from_cholesky(&self.q.precision_root);
        let size = root.rows();
        linalg::cholesky(&mut root).map_err(|pivot| Error::NotPositiveDefinite { pivot, size, jitter: 0.0 })?;
        Ok(Gaussian { mean: self.q.mean.clone(), root })
    }
}

/// Natural steps from `sites` until one gains less than `tolerance` nats, at most `most` of them.
pub(crate) fn maximise(
    features: &Features,
    weights: &[f64],
    sites: Sites,
    tolerance: f64,
    most: usize,
) -> Result<sites::Optimum<Solved>> {
    sites::maximise(sites, tolerance, most, Clamp::UntilSettled, |sites| evaluate(features, weights, sites))
}

/// q(v) from sites, and its bound.
fn evaluate(features: &Features, weights: &[f64], sites: &Sites) -> Result<Step> {
    let (size, region) = (features.size(), &features.region);
    let (precision_root, mean) = solve_sites(features, weights, sites)?;
    let block = parallel::block_length(weights.len());
    let blocks = features
        .points
        .a
        .data()
        .chunks(block * size)
        .zip(features.points.residual.chunks(block))
        .zip(weights.chunks(block).zip(sites.precision.chunks(block)));
    let parts = parallel::map(blocks, weights.len() * size, |((a, residual), (weights, precision))| {
        event_terms(a, residual, weights, precision, features.offset, &mean, &precision_root)
    });

    let mean_square = crate::bound::integral_of_mean_square(region, features.offset, &mean);
    let distance: f64 = mean.iter().zip(&features.prior_mean).map(|(m, b)| (m - b) * (m - b)).sum();
    let mut bound = -mean_square - region.residual - 0.5 * (distance + linalg::log_determinant(&precision_root));
    let mut events = EventTerms::default();
    for (part, sum) in parts {
        bound += sum;
        events.level.extend(part.level);
        events.slope.extend(part.slope);
        events.curvature.extend(part.curvature);
    }
    if !bound.is_finite() {
        return Err(Error::NotANumber { parameters: vec![] });
    }
    Ok(Step { q: Solved { mean, precision_root }, bound, events })
}

/// Cholesky factor of P, and m.
fn solve_sites(features: &Features, weights: &[f64], sites: &Sites) -> Result<(Matrix, Vec<f64>)> {
    let (size, region) = (features.size(), &features.region);
    let block = parallel::block_length(weights.len());
    let blocks = features
        .points
        .a
        .data()
        .chunks(block * size)
        .zip(weights.chunks(block))
        .zip(sites.precision.chunks(block).zip(sites.linear.chunks(block)));
    let parts = parallel::map(blocks, weights.len() * size, |((a, weights), (precision, linear))| {
        let mut gram = Matrix::zeros(size, size);
        add_weighted_gram(&mut gram, a, weights, precision);
        let pull = |n: usize| weights[n] * (linear[n] - precision[n] * features.offset);
        let pull: Vec<f64> = (0..weights.len()).map(pull).collect();
        (gram, linalg::columns_times(a, size, &pull))
    });
    let mut p = Matrix::zeros(size, size);
    let mut mean: Vec<f64> =
        (0..size).map(|i| features.prior_mean[i] - 2.0 * features.offset * region.linear[i]).collect();
    linalg::add_scaled(p.data_mut(), 2.0, region.square.data());
    p.add_to_diagonal(1.0);
    for (gram, pull) in &parts {
        linalg::add_scaled(p.data_mut(), 1.0, gram.data());
        linalg::add_scaled(&mut mean, 1.0, pull);
    }
    linalg::cholesky(&mut p).map_err(|pivot| Error::NotPositiveDefinite { pivot, size, jitter: 0.0 })?;
    linalg::solve_lower(&p, &mut mean);
    linalg::solve_lower_transposed(&p, &mut mean);
    Ok((p, mean))
}

/// Columns scaled at a time: the scaled copy stays in the cache.
const GRAM_COLUMNS: usize = 256;

/// Adds Σ w η2 a aᵀ to the lower triangle.
fn add_weighted_gram(gram: &mut Matrix, a: &[f64], weights: &[f64], precision: &[f64]) {
    let size = gram.rows();
    let mut scaled = Vec::with_capacity(size * GRAM_COLUMNS.min(weights.len()));
    let pieces = a.chunks(size * GRAM_COLUMNS).zip(weights.chunks(GRAM_COLUMNS).zip(precision.chunks(GRAM_COLUMNS)));
    for (a, (weights, precision)) in pieces {
        scaled.clear();
        for (n, a) in a.chunks_exact(size).enumerate() {
            let factor = weights[n] * precision[n];
            scaled.extend(a.iter().map(|a| factor * a));
        }
        linalg::add_outer_lower(gram, 1.0, &scaled, a);
    }
}

/// One block of events, and what it adds to the bound.
fn event_terms(
    a: &[f64],
    residual: &[f64],
    weights: &[f64],
    precision: &[f64],
    offset: f64,
    mean: &[f64],
    precision_root: &Matrix,
) -> (EventTerms, f64) {
    let (size, count) = (mean.len(), weights.len());
    let mut rotated = Vec::with_capacity(size * GRAM_COLUMNS.min(count));
    let (mut level, mut variance) = (Vec::with_capacity(count), Vec::with_capacity(count));
    let mut bound = 0.0;
    for (piece, a) in a.chunks(size * GRAM_COLUMNS).enumerate() {
        rotated.clear();
        rotated.extend_from_slice(a);
        linalg::solve_lower(precision_root, &mut rotated);
        for (i, (a, rotated)) in a.chunks_exact(size).zip(rotated.chunks_exact(size)).enumerate() {
            let n = piece * GRAM_COLUMNS + i;
            let spread = linalg::dot(rotated, rotated);
            bound += 0.5 * weights[n] * precision[n] * spread;
            level.push(offset + linalg::dot(a, mean));
            variance.push(residual[n] + spread);
        }
    }
    let (mut value, mut slope, mut curvature) = (vec![0.0; count], vec![0.0; count], vec![0.0; count]);
    expected_log_squares(&level, &variance, &mut value, &mut slope, &mut curvature);
    curvature.iter_mut().for_each(|c| *c *= -2.0);
    bound += linalg::dot(weights, &value);
    (EventTerms { level, slope, curvature }, bound)
}
