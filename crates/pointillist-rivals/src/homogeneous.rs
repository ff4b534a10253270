//! One rate for the whole window, with its exact posterior: the baseline that any model of an intensity must beat.
//!
//! Events are Poisson with mean λ|T|; with a Gamma(a₀, b₀) prior the posterior of λ is Gamma(a₀ + N, b₀ + |T|), |T| the measure of the
//! window (each part counted as often as it was looked at, weighed by the exposure). The default prior is that of Jeffreys, a₀ = ½,
//! b₀ = 0: invariant under changes of unit, proper once there is a window. Held-out events H, K of them in a window of measure |H|:
//!
//! ```text
//! log E[p(H|λ)] = log Γ(a+K) − log Γ(a) + a log b − (a+K) log(b + |H|) + Σ log e(x_k)
//! ```
//!
//! where e is the exposure of that window, 1 if it has none.

use super::gamma;
use pointillist::Events;
use pointillist::{Error, Result};

/// The posterior of a constant rate.
#[derive(Debug, Clone, PartialEq)]
pub struct Homogeneous {
    shape: f64,
    inverse_scale: f64,
    events: usize,
}

impl Homogeneous {
    /// With Jeffreys' prior, Gamma(½, 0). No events at all are data too.
    pub fn fit(events: &Events) -> Result<Self> {
        Self::with_prior(events, 0.5, 0.0)
    }

    /// With the prior Gamma(`shape`, `inverse_scale`): as if `shape` events had been seen in a measure of `inverse_scale` before.
    pub fn with_prior(events: &Events, shape: f64, inverse_scale: f64) -> Result<Self> {
        for (name, value) in [("shape", shape), ("inverse scale", inverse_scale)] {
            if !(value.is_finite() && value >= 0.0) {
                return Err(Error::setting(name, value, "must be a finite number and not negative"));
            }
        }
        if shape == 0.0 && events.is_empty() {
            return Err(Error::NoEvents);
        }
        let measure = events.window().measure();
        let events = events.len();
        Ok(Self { shape: shape + events as f64, inverse_scale: inverse_scale + measure, events })
    }

    /// Shape and inverse scale of the posterior.
    pub fn parameters(&self) -> (f64, f64) {
        (self.shape, self.inverse_scale)
    }

    /// Number of events it was fitted to.
    pub fn len(&self) -> usize {
        self.events
    }

    /// Whether there were none.
    pub fn is_empty(&self) -> bool {
        self.events == 0
    }

    /// Posterior mean of the rate.
    pub fn mean(&self) -> f64 {
        self.shape / self.inverse_scale
    }

    /// Posterior standard deviation of the rate.
    pub fn sd(&self) -> f64 {
        self.shape.sqrt() / self.inverse_scale
    }

    /// Posterior quantiles of the rate.
    pub fn quantiles(&self, probabilities: &[f64]) -> Result<Vec<f64>> {
        if let Some(p) = probabilities.iter().find(|p| !(0.0..=1.0).contains(*p)) {
            return Err(Error::setting("quantile", p, "must lie between 0 and 1"));
        }
        Ok(probabilities.iter().map(|&p| gamma::quantile(self.shape, p) / self.inverse_scale).collect())
    }

    /// The posterior probability that the rate is below a value.
    pub fn probability_below(&self, rate: f64) -> f64 {
        gamma::tails(self.shape, rate * self.inverse_scale).0
    }

    /// log E[p(H|λ)] of held-out events.
    pub fn log_predictive(&self, held_out: &Events) -> f64 {
        let (count, measure) = (held_out.len() as f64, held_out.window().measure());
        let (a, b) = (self.shape, self.inverse_scale);
        // a log b − (a+K) log(b+|H|), without the cancellation of its large parts
        let ratio = -a * (measure / b).ln_1p() - count * (b + measure).ln();
        libm::lgamma(a + count) - libm::lgamma(a) + ratio + log_exposure(held_out)
    }

    /// log p(H|λ) of held-out events, λ the posterior mean.
    pub fn log_likelihood(&self, held_out: &Events) -> f64 {
        held_out.len() as f64 * self.mean().ln() - self.mean() * held_out.window().measure() + log_exposure(held_out)
    }
}

/// Σ log e(x_k).
fn log_exposure(events: &Events) -> f64 {
    events.points().rows().map(|row| events.window().exposure_at(row).ln()).sum()
}
