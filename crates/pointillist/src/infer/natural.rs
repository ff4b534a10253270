//! The fast fixed point of q(v) at fixed Θ (math.md §4), in the form of one pair of numbers an event.
//!
//! −∫f² is quadratic in v and so conjugate; only E[log f²] is not. A natural step replaces it at each event by a Gaussian site:
//! precision η2 ≥ 0 and linear term η1, so that
//!
//!   P = I + 2A + Σ w η2 a aᵀ,   P m = Σ w (η1 − η2 β) a − 2β p + b,   and next   η2 = −2 min(g2, 0),   η1 = g1 + η2 μ.
//!
//! Sites speak of f at the events, not of v: they stay a good start when Θ, the inducing points or their number change.
//! The clamp keeps P positive definite far from the optimum; `polish` says whether it was still at work at the end.
//! Because tr(S P) = M, the traces in the bound are ½ Σ w η2 aᵀSa: no inverse is formed. Cost of a step: two N·M² products, one Cholesky.

use crate::basis::Features;
use crate::bound::Gaussian;
use crate::error::{Error, Result};
use crate::numerics::linalg::{self, Matrix};
use crate::numerics::special::expected_log_square;
use crate::parallel;

/// Relative rounding of a bound summed over many events.
const ROUNDING: f64 = 1e-12;

/// One Gaussian site an event.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Sites {
    linear: Vec<f64>,
    precision: Vec<f64>,
}

impl Sites {
    /// The sites of a flat intensity: f = `level` at every event, known well.
    pub(crate) fn flat(level: f64, events: usize) -> Self {
        let precision = 2.0 / (level * level);
        Self { linear: vec![2.0 / level + precision * level; events], precision: vec![precision; events] }
    }

    /// (1−ρ) self + ρ other.
    fn blend(&self, other: &Sites, rho: f64) -> Self {
        let mix = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a + rho * (b - a)).collect();
        Self { linear: mix(&self.linear, &other.linear), precision: mix(&self.precision, &other.precision) }
    }
}

/// q(v) from sites, its bound, and the sites of the next step.
pub(crate) struct Step {
    mean: Vec<f64>,
    /// Cholesky factor of P = S⁻¹.
    precision_root: Matrix,
    pub(crate) bound: f64,
    next: Sites,
    /// Whether some event's curvature was clamped: then the next sites are not those of a stationary point.
    clamped: bool,
}

impl Step {
    /// q(v) as mean and root of the covariance.
    pub(crate) fn gaussian(&self) -> Result<Gaussian> {
        let mut root = linalg::inverse_from_cholesky(&self.precision_root);
        let size = root.rows();
        linalg::cholesky(&mut root).map_err(|pivot| Error::NotPositiveDefinite { pivot, size, jitter: 0.0 })?;
        Ok(Gaussian { mean: self.mean.clone(), root })
    }
}

/// Where [`maximise`] arrived.
pub(crate) struct Optimum {
    pub(crate) step: Step,
    pub(crate) sites: Sites,
    pub(crate) evaluations: usize,
    /// Whether the last step gained less than the tolerance.
    pub(crate) converged: bool,
}

/// Natural steps from `sites` until one gains less than `tolerance` nats.
pub(crate) fn maximise(
    features: &Features,
    weights: &[f64],
    sites: Sites,
    tolerance: f64,
    most: usize,
) -> Result<Optimum> {
    let mut best = evaluate(features, weights, &sites, true)?;
    // The bound of many events is a large number: a gain below its rounding is none.
    let tolerance = tolerance.max(ROUNDING * best.bound.abs());
    let (mut sites, mut evaluations, mut rho, mut clamp) = (sites, 1, 1.0, true);
    while evaluations < most {
        let trial_sites = sites.blend(&best.next, rho);
        let trial = evaluate(features, weights, &trial_sites, clamp);
        evaluations += 1;
        let gain = match &trial {
            Ok(trial) => trial.bound - best.bound,
            Err(_) => f64::NAN,
        };
        if gain >= 0.0 || gain > -tolerance {
            if let Ok(trial) = trial
                && gain >= 0.0
            {
                (best, sites) = (trial, trial_sites);
            }
            if gain < tolerance && rho == 1.0 {
                if clamp && best.clamped {
                    // Stationary for the clamped curvature only: go on without the clamp.
                    clamp = false;
                    best = evaluate(features, weights, &sites, clamp)?;
                    evaluations += 1;
                    continue;
                }
                return Ok(Optimum { step: best, sites, evaluations, converged: true });
            }
            rho = f64::min(1.0, 2.0 * rho);
        } else {
            rho *= 0.5;
            if rho < 1e-6 {
                // No step along the natural gradient gains: as good as it gets in double precision.
                return Ok(Optimum { step: best, sites, evaluations, converged: !clamp || !gain.is_nan() });
            }
        }
    }
    Ok(Optimum { step: best, sites, evaluations, converged: false })
}

/// q(v) from sites, and its bound.
fn evaluate(features: &Features, weights: &[f64], sites: &Sites, clamp: bool) -> Result<Step> {
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
        refresh_block(a, residual, weights, precision, features.offset, &mean, &precision_root, clamp)
    });

    let offset = features.offset;
    let mean_square = crate::bound::integral_of_mean_square(region, offset, &mean);
    let distance: f64 = mean.iter().zip(&features.prior_mean).map(|(m, b)| (m - b) * (m - b)).sum();
    let mut bound =
        -mean_square - region.residual - 0.5 * (distance + linalg::log_determinant(&precision_root));
    let mut next = Sites { linear: Vec::with_capacity(weights.len()), precision: Vec::with_capacity(weights.len()) };
    let mut clamped = false;
    for part in parts {
        bound += part.bound;
        next.linear.extend(part.next.linear);
        next.precision.extend(part.next.precision);
        clamped |= part.clamped;
    }
    if bound.is_nan() {
        return Err(Error::NotANumber { parameters: vec![] });
    }
    Ok(Step { mean, precision_root, bound, next, clamped })
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
    let mut scaled = vec![0.0; size * GRAM_COLUMNS.min(weights.len())];
    let pieces = a.chunks(size * GRAM_COLUMNS).zip(weights.chunks(GRAM_COLUMNS).zip(precision.chunks(GRAM_COLUMNS)));
    for (a, (weights, precision)) in pieces {
        let scaled = &mut scaled[..a.len()];
        for (n, (to, from)) in scaled.chunks_exact_mut(size).zip(a.chunks_exact(size)).enumerate() {
            let factor = weights[n] * precision[n];
            to.iter_mut().zip(from).for_each(|(to, from)| *to = factor * from);
        }
        linalg::add_outer_lower(gram, 1.0, scaled, a);
    }
}

/// What one block of events adds to the bound, and its next sites.
struct BlockStep {
    bound: f64,
    next: Sites,
    clamped: bool,
}

fn refresh_block(
    a: &[f64],
    residual: &[f64],
    weights: &[f64],
    precision: &[f64],
    offset: f64,
    mean: &[f64],
    precision_root: &Matrix,
    clamp: bool,
) -> BlockStep {
    let size = mean.len();
    let mut rotated = vec![0.0; size * GRAM_COLUMNS.min(weights.len())];
    let mut step = BlockStep {
        bound: 0.0,
        next: Sites { linear: Vec::with_capacity(weights.len()), precision: Vec::with_capacity(weights.len()) },
        clamped: false,
    };
    for (piece, a) in a.chunks(size * GRAM_COLUMNS).enumerate() {
        let rotated = &mut rotated[..a.len()];
        rotated.copy_from_slice(a);
        linalg::solve_lower(precision_root, rotated);
        for (i, (a, rotated)) in a.chunks_exact(size).zip(rotated.chunks_exact(size)).enumerate() {
            let n = piece * GRAM_COLUMNS + i;
            let (level, spread) = (offset + linalg::dot(a, mean), linalg::dot(rotated, rotated));
            let e = expected_log_square(level, residual[n] + spread);
            step.bound += weights[n] * (e.value + 0.5 * precision[n] * spread);
            step.clamped |= e.d_variance > 0.0;
            let curvature = -2.0 * if clamp { e.d_variance.min(0.0) } else { e.d_variance };
            step.next.precision.push(curvature);
            step.next.linear.push(e.d_mean + curvature * level);
        }
    }
    step
}
