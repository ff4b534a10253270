//! The lower bound on log p(events | Θ), as a function of whitened features and q(v) = N(m, R Rᵀ) (docs/derivation.md (9)).
//!
//! `bound = Σ w_n E[log f_n²] − ∫ E[f²] − KL`. It never sees a kernel. Its adjoint is in `adjoint.rs`.
//! Cost: one N·M² product for the variances, one M³.

mod adjoint;

pub use adjoint::bound_adjoint;

use crate::field::inducing::{Features, PointFeatures, RegionFeatures};
use crate::numerics::linalg::{self, Matrix};
use crate::parallel;
use crate::terms::{self, LOG_SQUARE, Marginals};

/// q(v) = N(mean, root rootᵀ), root lower triangular.
#[derive(Debug, Clone, PartialEq)]
pub struct Gaussian {
    /// Mean of v. // (M)
    pub mean: Vec<f64>,
    /// Lower triangular root of its covariance. // (M, M)
    pub root: Matrix,
}

impl Gaussian {
    /// The covariance.
    pub fn covariance(&self) -> Matrix {
        linalg::lower_square(&self.root)
    }
}

/// The bound in its parts: `total = log_rate − integral − kl`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bound {
    /// Σ w_n E[log f(x_n)²].
    pub log_rate: f64,
    /// `∫ E[f]²`.
    pub integral_of_mean_square: f64,
    /// `∫ Var[f]`.
    pub integral_of_variance: f64,
    /// KL(q ‖ prior).
    pub kl: f64,
}

impl Bound {
    /// From a bound and its other parts: the divergence is what is left.
    pub(crate) fn of_step(bound: f64, log_rate: f64, integral_of_mean_square: f64, integral_of_variance: f64) -> Self {
        let kl = log_rate - integral_of_mean_square - integral_of_variance - bound;
        Self { log_rate, integral_of_mean_square, integral_of_variance, kl }
    }

    /// The bound itself.
    pub fn total(&self) -> f64 {
        self.log_rate - self.integral() - self.kl
    }

    /// `∫ E[f²]`: the expected number of events.
    pub fn integral(&self) -> f64 {
        self.integral_of_mean_square + self.integral_of_variance
    }
}

/// The bound. `weights` are those of the points: 1 for raw events.
pub fn bound(features: &Features, weights: &[f64], q: &Gaussian) -> Bound {
    let marginals = marginals(&features.points, features.offset, q);
    Bound {
        log_rate: terms::expected_sum(&LOG_SQUARE, &marginals, weights),
        integral_of_mean_square: features.region.of_square(features.offset, &q.mean),
        integral_of_variance: integral_of_variance(&features.region, q),
        kl: kl_divergence(q, &features.prior_mean),
    }
}

/// Mean and variance of f at points: μ = β + aᵀm, σ² = c + |Rᵀa|².
pub fn marginals(points: &PointFeatures, offset: f64, q: &Gaussian) -> Marginals {
    let (size, count) = (q.mean.len(), points.residual.len());
    let transposed = Matrix::from_fn(size, size, |i, j| if i <= j { q.root[(j, i)] } else { 0.0 });
    let block = parallel::block_length(count);
    let blocks = points.a.data().chunks(block * size).zip(points.residual.chunks(block));
    let parts = parallel::map(blocks, count * size, |(a, residual)| {
        let mut rotated = vec![0.0; a.len()];
        linalg::product_columns(&transposed, a, &mut rotated);
        let mean: Vec<f64> = a.chunks_exact(size).map(|a| offset + linalg::dot(a, &q.mean)).collect();
        let variance: Vec<f64> = rotated.chunks_exact(size).zip(residual).map(|(r, c)| c + linalg::dot(r, r)).collect();
        (mean, variance)
    });
    let mut all = Marginals::default();
    for (mean, variance) in parts {
        all.mean.extend(mean);
        all.variance.extend(variance);
    }
    all
}

/// ∫c + tr(S A).
pub fn integral_of_variance(region: &RegionFeatures, q: &Gaussian) -> f64 {
    let product = linalg::product(&region.square, &q.root);
    region.residual + linalg::dot(product.data(), q.root.data())
}

/// KL(N(m, R Rᵀ) ‖ N(b, I)).
pub fn kl_divergence(q: &Gaussian, prior_mean: &[f64]) -> f64 {
    let size = q.mean.len();
    let trace = linalg::dot(q.root.data(), q.root.data());
    let log_determinant: f64 = (0..size).map(|i| 2.0 * q.root[(i, i)].abs().ln()).sum();
    let distance: f64 = q.mean.iter().zip(prior_mean).map(|(m, b)| (m - b) * (m - b)).sum();
    0.5 * (trace + distance - log_determinant - size as f64)
}
