//! The effects of covariates: mixtures of Gaussians over the components, in the user's units; and the same posterior with covariates changed.

use super::{Component, Posterior, PosteriorBasis};
use crate::covariates::{Effect, Regressors};
use crate::error::{Error, Result};
use crate::numerics::linalg::{self, Matrix};
use crate::numerics::special::normal_cdf;
use std::sync::Arc;

/// The quantiles of [`Effect`].
const QUANTILES: [f64; 3] = [0.05, 0.5, 0.95];
/// Standard deviations beyond which no quantile lies, and halvings of what is between them.
const FAR: f64 = 10.0;
const HALVINGS: usize = 80;

impl Posterior {
    pub(super) fn regressors(&self) -> Option<&Arc<Regressors>> {
        self.components[0].regressors()
    }

    /// The lines across an axis of the unit box at which covariates jump.
    pub(super) fn lines_of_covariates(&self, axis: usize) -> Vec<f64> {
        self.regressors().map_or_else(Vec::new, |regressors| regressors.lines(axis))
    }

    /// The names of the covariates.
    pub fn covariates(&self) -> Vec<String> {
        self.regressors().map_or_else(Vec::new, |regressors| regressors.names())
    }

    /// The effects of the covariates on the logarithm of the rate: of each that is a number one, of a category one per level but the most common one, of a
    /// curve one at each of a few values, beside its mean over the window. Of a ratio of two types they are the differences of the effects of these.
    ///
    /// ```
    /// # use pointillist::{Covariate, Events, Model, Points, Window};
    /// # let window = Window::interval(0.0, 4.0)?;
    /// # let times: Vec<f64> = (0..30).map(|i| (1.7 * f64::from(i)) % 4.0).collect();
    /// # let events = Events::new(Points::line(&times)?, window)?;
    /// let rain = Covariate::linear("rain", vec![0], vec![vec![0.0, 1.0, 2.0, 3.0, 4.0]], vec![2.0, 0.0, 3.0, 1.0])?;
    /// let posterior = Model { covariates: vec![rain], ..Model::default() }.fit(&events)?.posterior;
    /// let [low, middle, high] = posterior.effects()[0].quantiles;
    /// println!("one more of it: {:.2} times the rate ({:.2} to {:.2})", middle.exp(), low.exp(), high.exp());
    /// # assert!(low < middle && middle < high);
    /// # Ok::<(), pointillist::Error>(())
    /// ```
    pub fn effects(&self) -> Vec<Effect> {
        let Some(regressors) = self.regressors() else { return vec![] };
        let parts: Vec<_> = self.components.iter().filter_map(|one| Some((one.weight, one.of_regressors()?))).collect();
        let of_one = |(effect, direction): (Effect, Vec<f64>)| {
            let of_component = |(weight, (mean, covariance)): &(f64, (Vec<f64>, Matrix))| {
                let variance = linalg::dot(&direction, &linalg::times(covariance, &direction));
                (*weight, linalg::dot(&direction, mean), variance.max(0.0).sqrt())
            };
            let mixture: Vec<(f64, f64, f64)> = parts.iter().map(of_component).collect();
            let mean: f64 = mixture.iter().map(|(weight, mean, _)| weight * mean).sum();
            let second: f64 = mixture.iter().map(|(weight, m, sd)| weight * (sd * sd + (m - mean).powi(2))).sum();
            Effect { mean, sd: second.sqrt(), quantiles: QUANTILES.map(|p| quantile(&mixture, p)), ..effect }
        };
        regressors.named().into_iter().map(of_one).collect()
    }

    /// The same posterior with covariates held at values all over the window, by name; a category at the number of a level.
    ///
    /// ```
    /// # use pointillist::{Covariate, Events, Model, Points, Window};
    /// # let events = Events::new(Points::line(&[0.2, 0.5, 0.6, 1.5, 3.1])?, Window::interval(0.0, 4.0)?)?;
    /// # let rain = Covariate::linear("rain", vec![0], vec![vec![0.0, 1.0, 4.0]], vec![2.0, 0.0])?;
    /// let posterior = Model { covariates: vec![rain], ..Model::default() }.fit(&events)?.posterior;
    /// let dry = posterior.with_covariates(&[("rain".into(), 0.0)])?;
    /// assert!(dry.expected(dry.window())? < posterior.expected(dry.window())?); // it rained in the busy part
    /// # Ok::<(), pointillist::Error>(())
    /// ```
    pub fn with_covariates(&self, values: &[(String, f64)]) -> Result<Self> {
        let Some(regressors) = self.regressors() else {
            return Err(Error::setting("covariate", "covariates", "cannot be changed: the model has none"));
        };
        let changed = Arc::new(regressors.holding(values)?);
        let with = |component: &Component| match &component.basis {
            PosteriorBasis::Lattice(field) => {
                Component { basis: PosteriorBasis::Lattice(field.with_regressors(&changed)), ..component.clone() }
            }
            PosteriorBasis::Layers(field) => {
                Component { basis: PosteriorBasis::Layers(field.with_regressors(&changed)), ..component.clone() }
            }
            PosteriorBasis::Inducing(_) => component.clone(),
        };
        let components = self.components.iter().map(with).collect();
        Ok(Self { components, window: self.window.clone(), scaling: self.scaling.clone() })
    }

    /// The number of a level of a covariate, by name, if the window has it.
    pub fn level(&self, covariate: &str, level: &str) -> Option<f64> {
        self.regressors()?.level(covariate, level)
    }
}

impl Component {
    /// What covariates add to f, if there are any.
    fn regressors(&self) -> Option<&Arc<Regressors>> {
        match &self.basis {
            PosteriorBasis::Lattice(field) => field.regressors(),
            PosteriorBasis::Layers(field) => field.regressors(),
            PosteriorBasis::Inducing(_) => None,
        }
    }

    /// Mean and covariance of the unknowns of the regressors.
    fn of_regressors(&self) -> Option<(Vec<f64>, Matrix)> {
        match &self.basis {
            PosteriorBasis::Lattice(field) => Some(field.of_regressors()),
            PosteriorBasis::Layers(field) => Some(field.of_regressors()),
            PosteriorBasis::Inducing(_) => None,
        }
    }
}

/// Where a mixture of weighted Gaussians (weight, mean, sd) reaches a probability.
pub(super) fn quantile(mixture: &[(f64, f64, f64)], probability: f64) -> f64 {
    let end = |sign: f64, pick: fn(f64, f64) -> f64| {
        mixture.iter().map(|(_, mean, sd)| mean + sign * FAR * sd).reduce(pick).unwrap_or(0.0)
    };
    let (mut low, mut high) = (end(-1.0, f64::min), end(1.0, f64::max));
    for _ in 0..HALVINGS {
        let middle = 0.5 * (low + high);
        let below: f64 = mixture.iter().map(|(weight, mean, sd)| weight * normal_cdf((middle - mean) / sd)).sum();
        if below < probability { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_mixture() {
        assert!((quantile(&[(1.0, 2.0, 3.0)], 0.95) - (2.0 + 3.0 * 1.644_853_626_951)).abs() < 1e-9);
        let two = [(0.25, -1.0, 0.5), (0.75, 2.0, 0.1)];
        let at = quantile(&two, 0.3);
        let below: f64 = two.iter().map(|(w, m, s)| w * normal_cdf((at - m) / s)).sum();
        assert!((below - 0.3).abs() < 1e-9 && at > 1.5, "{at} {below}");
    }
}
