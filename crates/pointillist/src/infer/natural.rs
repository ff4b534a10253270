//! The fast fixed point of q(v) at fixed Θ (docs/derivation.md (14) to (18)), in the form of one pair of numbers an event.
//!
//! −∫f² is quadratic in v and so conjugate; only E[log f²] is not. A natural step replaces it at each event by a Gaussian site:
//! precision η2 and linear term η1, so that
//!
//!   P = I + 2A + Σ w η2 a aᵀ,   P m = Σ w (η1 − η2 β) a − 2β p + b,   and next   η2 = −2 min(g2, 0),   η1 = g1 + η2 μ.
//!
//! Sites speak of f at the events, not of v: they stay a good start when Θ, the inducing points or their number change.
//! The clamp keeps P positive definite far from the optimum; where it is still at work at the end, steps without it follow.
//! Because tr(S P) = M, the traces in the bound are ½ Σ w η2 aᵀSa: no inverse is formed. Cost of a step: two N·M² products, one Cholesky.

use crate::basis::Features;
use crate::bound::Gaussian;
use crate::error::{Error, Result};
use crate::numerics::linalg::{self, Matrix};
use crate::numerics::special::expected_log_squares;
use crate::parallel;

/// Steps that must gain at a shorter length before a longer one is tried again: where a few events leave f's sign open, full steps
/// overshoot all the way.
const PATIENCE: usize = 4;
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

    /// Whether some precision is negative, as at the optimum it may be where f could have either sign.
    fn any_negative(&self) -> bool {
        self.precision.iter().any(|p| *p < 0.0)
    }

    /// The same sites without the negative ones: P is then positive definite whatever Θ is.
    fn without_negative(&self) -> Self {
        let keep =
            |values: &[f64]| values.iter().zip(&self.precision).map(|(v, p)| if *p < 0.0 { 0.0 } else { *v }).collect();
        Self { linear: keep(&self.linear), precision: keep(&self.precision) }
    }

    /// (1−ρ) self + ρ other.
    fn blend(&self, other: &Sites, rho: f64) -> Self {
        let mix = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a + rho * (b - a)).collect();
        Self { linear: mix(&self.linear, &other.linear), precision: mix(&self.precision, &other.precision) }
    }
}

/// q(v) from sites, its bound, and f at the events.
pub(crate) struct Step {
    mean: Vec<f64>,
    /// Cholesky factor of P = S⁻¹.
    precision_root: Matrix,
    pub(crate) bound: f64,
    events: EventTerms,
}

/// What each event says at the present q: μ, g1 = ∂E/∂μ and −2 g2 = −2 ∂E/∂σ².
#[derive(Default)]
struct EventTerms {
    level: Vec<f64>,
    slope: Vec<f64>,
    curvature: Vec<f64>,
}

impl Step {
    /// The sites of the next step; with the clamp none is negative.
    fn next(&self, clamp: bool) -> Sites {
        let EventTerms { level, slope, curvature } = &self.events;
        let precision: Vec<f64> = curvature.iter().map(|c| if clamp { c.max(0.0) } else { *c }).collect();
        let linear = (0..level.len()).map(|n| slope[n] + precision[n] * level[n]).collect();
        Sites { linear, precision }
    }

    /// Whether the clamp changes the next step: then its fixed point is not that of the bound.
    fn clamp_matters(&self) -> bool {
        self.events.curvature.iter().any(|c| *c < 0.0)
    }

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

/// Natural steps from `sites` until one gains less than `tolerance` nats, halved when the bound falls.
pub(crate) fn maximise(
    features: &Features,
    weights: &[f64],
    mut sites: Sites,
    tolerance: f64,
    most: usize,
) -> Result<Optimum> {
    let mut clamp = !sites.any_negative();
    let mut best = match evaluate(features, weights, &sites) {
        Ok(step) => step,
        Err(_) if !clamp => {
            (sites, clamp) = (sites.without_negative(), true);
            evaluate(features, weights, &sites)?
        }
        Err(error) => return Err(error),
    };
    // The bound of many events is a large number: a gain below its rounding is none.
    let tolerance = tolerance.max(ROUNDING * best.bound.abs());
    let (mut evaluations, mut rho, mut gained) = (1, 1.0, 0);
    while evaluations < most {
        let trial_sites = sites.blend(&best.next(clamp), rho);
        let trial = evaluate(features, weights, &trial_sites);
        evaluations += 1;
        let gain = trial.as_ref().map_or(f64::NEG_INFINITY, |trial| trial.bound - best.bound);
        let mut settled = gain.abs() <= tolerance * rho;
        match trial {
            Ok(trial) if gain >= 0.0 => {
                (best, sites) = (trial, trial_sites);
                gained += 1;
                if gained >= PATIENCE {
                    (rho, gained) = (f64::min(1.0, 2.0 * rho), 0);
                }
            }
            _ => (rho, gained) = (0.5 * rho, 0),
        }
        // The clamp is for the way there. Once it holds nothing more, or leads nowhere, the true curvature takes over.
        if clamp && best.clamp_matters() && (settled || rho < 0.2) {
            (clamp, rho, settled) = (false, 1.0, false);
        }
        if settled || rho < 1e-5 {
            return Ok(Optimum { step: best, sites, evaluations, converged: settled });
        }
    }
    Ok(Optimum { step: best, sites, evaluations, converged: false })
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
    Ok(Step { mean, precision_root, bound, events })
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
