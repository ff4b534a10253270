//! What the posterior asks of q(f), whatever f is made of: one trait, one implementation for each basis.
//!
//! f(x) is linear in coefficients (plus what they leave open at x), the coefficients are Gaussian, ∫f² is a quadratic form of them. Coordinates
//! are those of the unit box.

use super::Count;
use crate::bound::Marginals;
use crate::error::Result;
use crate::points::Points;
use crate::sample::importance::LogMean;
use crate::score::SquareProduct;
use crate::window::Window;
use rand_chacha::ChaCha8Rng;
use std::sync::Arc;

/// ∫f² as a function of the coefficients.
pub(crate) type Integral = Box<dyn Fn(&[f64]) -> f64 + Send + Sync>;

/// q(f).
pub(crate) trait Field: Send + Sync {
    /// Mean and variance of f at points.
    fn marginals(&self, points: &Points) -> Result<Marginals>;

    /// Mean and standard deviation of ∫f².
    fn count(&self, region: &Window) -> Result<Count>;

    /// ∫E[f²], which costs less.
    fn expected(&self, region: &Window) -> Result<f64>;

    /// The same f with q collapsed to its mean.
    fn collapsed(&self) -> Arc<dyn Field>;

    /// Number of coefficients.
    fn size(&self) -> usize;

    /// Makes independent standard normal numbers, as many as there are coefficients, a draw of these.
    fn draw(&self, noise: &[f64]) -> Result<Vec<f64>>;

    /// log of prior over q at a draw, and the noise that it was made from.
    fn log_prior_over_q(&self, draw: &[f64], noise: &[f64]) -> Result<f64>;

    /// f at points, given coefficients.
    fn at<'a>(&'a self, points: &'a Points) -> Result<Box<dyn Given + 'a>>;

    /// ∫f² as a function of the coefficients; what they leave open counts by its mean.
    fn over(&self, region: &Window) -> Result<Integral>;

    /// exp(−∫f²) times q is a Gaussian again: f at points under it, and the log of its mass.
    fn folded(&self, points: &Points, window: &Window) -> Result<(SquareProduct, f64)>;

    /// log E[exp(−∫f²) Π f²] over points, by sampling.
    fn log_predictive(&self, points: &Points, window: &Window, samples: usize, seed: u64) -> Result<LogMean> {
        let (product, log_mass) = self.folded(points, window)?;
        Ok(product.log_expectation(samples, seed)?.times(log_mass))
    }

    /// [`Field::folded`] with the prior in place of q.
    fn prior_folded(&self, points: &Points, window: &Window) -> Result<(SquareProduct, f64)>;
}

/// f at a set of points, given coefficients.
pub(crate) trait Given: Send + Sync {
    /// Its mean.
    fn mean(&self, coefficients: &[f64]) -> Vec<f64>;

    /// The variance at each point that the coefficients leave open.
    fn residual(&self) -> &[f64];

    /// A draw.
    fn draw(&self, coefficients: &[f64], rng: &mut ChaCha8Rng) -> Vec<f64>;
}
