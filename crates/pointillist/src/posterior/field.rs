//! What the posterior asks of q(f), whatever f is made of: one trait, one implementation for each basis.
//!
//! f(x) is linear in coefficients, plus what they leave open at x. The coefficients are Gaussian, and ∫f² is a quadratic form of
//! them. Coordinates are those of the unit box.

use super::Count;
use crate::data::points::Points;
use crate::error::Result;
use crate::exact::Reference;
use crate::sample::importance::LogMean;
use crate::score::{Draws, SquareProduct};
use crate::terms::Marginals;
use crate::window::{Span, Window};
use rand_chacha::ChaCha8Rng;
use std::sync::Arc;

/// ∫f² as a function of the coefficients.
pub(crate) type Integral = Box<dyn Fn(&[f64]) -> f64 + Send + Sync>;

/// q(f).
pub(crate) trait Field: Send + Sync {
    /// Mean and variance of f at points of the window.
    fn marginals(&self, points: &Points) -> Result<Marginals>;

    /// The same as bands of the rate show it. A field whose f is known at nodes alone does not let it look better known between them.
    fn shown(&self, points: &Points) -> Result<Marginals> {
        self.marginals(points)
    }

    /// Mean and standard deviation of ∫f².
    fn count(&self, region: &Window) -> Result<Count>;

    /// ∫E[f²], which costs less.
    fn expected(&self, region: &Window) -> Result<f64>;

    /// The same f, known all over a box that reaches beyond the window, where the prior goes on from what is known inside; none if
    /// this one is known there. `counted`: whether it will be integrated there, or only asked for at points.
    fn reaching(&self, spans: &[Span], counted: bool) -> Result<Option<Box<dyn Field>>>;

    /// The same f with q collapsed to its mean.
    fn collapsed(&self) -> Arc<dyn Field>;

    /// Number of coefficients.
    fn size(&self) -> usize;

    /// Makes columns of independent standard normal numbers, as many in each as there are coefficients, draws of these less their mean.
    fn deviations(&self, noise: Vec<f64>) -> Result<Vec<f64>>;

    /// One draw with the mean.
    fn draw(&self, noise: &[f64]) -> Result<Vec<f64>>;

    /// log of prior over q at a draw, and the noise that it was made from.
    fn log_prior_over_q(&self, draw: &[f64], noise: &[f64]) -> Result<f64>;

    /// f at points, given coefficients.
    fn at<'a>(&'a self, points: &'a Points) -> Result<Box<dyn Given + 'a>>;

    /// ∫f² as a function of the coefficients; what they leave open counts by its mean.
    fn over(&self, region: &Window) -> Result<Integral>;

    /// ∫f² about the mean of the coefficients, for many draws of it.
    fn form(&self, region: &Window) -> Result<RegionForm>;

    /// exp(−∫f²) times q is a Gaussian again: f at points under it, and the log of its mass.
    fn folded(&self, points: &Points, window: &Window) -> Result<(SquareProduct, f64)>;

    /// log E[exp(−∫f²) Π f²] over points, by sampling.
    fn log_predictive(&self, points: &Points, window: &Window, draws: Draws<'_>) -> Result<LogMean> {
        let (product, log_mass) = self.folded(points, window)?;
        Ok(product.log_expectation(draws)?.times(log_mass))
    }

    /// The posterior of f itself given events, to be walked on; the points are those asked about.
    fn exact(&self, events: &Points, points: &Points, window: &Window) -> Result<Box<dyn Reference>>;
}

/// ∫λ over a region for coefficients m + z: level + a part that turns its sign with z + one that does not. For λ = f² they are linear and
/// quadratic in z.
pub(crate) struct RegionForm {
    /// The closed-form mean.
    pub(crate) mean: f64,
    /// ∫λ at the mean of the coefficients; what they leave open counts by its mean.
    pub(crate) level: f64,
    /// The variance of the linear part, where it has a closed form.
    pub(crate) linear_variance: Option<f64>,
    /// That of the quadratic part, where it is cheap.
    pub(crate) square_variance: Option<f64>,
    pub(crate) parts: Box<dyn Parts>,
}

/// The two parts of [`RegionForm`].
pub(crate) trait Parts: Send + Sync {
    /// The odd and the even part at each column of z.
    fn at(&self, z: &[f64]) -> Vec<[f64; 2]>;

    /// What it holds in memory.
    fn bytes(&self) -> usize;
}

impl RegionForm {
    /// Mean and standard deviation; what has no closed form comes from draws of the parts.
    pub(crate) fn moments(&self, parts: &[[f64; 2]]) -> Count {
        let sampled = || {
            let count = parts.len() as f64;
            let mean = parts.iter().map(|part| part[1]).sum::<f64>() / count;
            parts.iter().map(|part| (part[1] - mean).powi(2)).sum::<f64>() / (count - 1.0).max(1.0)
        };
        // It has no mean, and is not correlated with the other part.
        let odd = || parts.iter().map(|part| part[0].powi(2)).sum::<f64>() / parts.len() as f64;
        let variance = self.linear_variance.unwrap_or_else(odd) + self.square_variance.unwrap_or_else(sampled);
        Count { mean: self.mean, sd: variance.sqrt() }
    }
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
