//! Priors on hyper-parameters: with one, the fit is MAP instead of ML.
//!
//! A density on the parameter itself, in the user's units (no Jacobian: MAP maximises bound + log p(Θ)).

use crate::error::{Error, Result};
use std::f64::consts::PI;

/// A prior density.
///
/// ```
/// use pointillist::{Model, Prior};
///
/// // A length-scale of about 10, give or take a factor of 2.
/// let prior = Prior::LogNormal { location: 10f64.ln(), scale: 2f64.ln() };
/// assert!(prior.log_density(10.0).0 > prior.log_density(40.0).0);
/// let model = Model { priors: vec![("lengthscale".into(), prior)], ..Model::default() };
/// assert_eq!(model.priors.len(), 1);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Prior {
    /// log x ~ N(location, scale²).
    LogNormal {
        /// Mean of the logarithm.
        location: f64,
        /// Standard deviation of the logarithm.
        scale: f64,
    },
    /// Density ∝ x^{shape−1} e^{−rate·x}.
    Gamma {
        /// Shape.
        shape: f64,
        /// Rate (inverse scale).
        rate: f64,
    },
    /// 1/x is gamma: density ∝ x^{−shape−1} e^{−scale/x}.
    InverseGamma {
        /// Shape.
        shape: f64,
        /// Scale.
        scale: f64,
    },
    /// |N(0, scale²)|.
    HalfNormal {
        /// Scale.
        scale: f64,
    },
    /// A length x whose P(x < least) is `share` in so many dimensions, and the less the shorter it is: density ∝ x^{−d/2−1} e^{−λ x^{−d/2}}, the
    /// penalised-complexity prior of a range (Fuglstad et al. 2019).
    Length {
        /// Dimensions of the field.
        dims: usize,
        /// A length that is short.
        least: f64,
        /// The probability of one that is shorter.
        share: f64,
    },
    /// A variance x with P(√x > most) = `share`: √x is exponential, the penalised-complexity prior of a standard deviation (Simpson et al. 2017).
    Deviation {
        /// A standard deviation that is large.
        most: f64,
        /// The probability of a larger one.
        share: f64,
    },
    /// N(mean, sd²).
    Normal {
        /// Mean.
        mean: f64,
        /// Standard deviation.
        sd: f64,
    },
}

impl Prior {
    /// The prior called `name` with its numbers in order.
    pub fn by_name(name: &str, numbers: &[f64]) -> Result<Self> {
        let prior = match (name, numbers) {
            ("lognormal", &[location, scale]) => Prior::LogNormal { location, scale },
            ("gamma", &[shape, rate]) => Prior::Gamma { shape, rate },
            ("inverse_gamma" | "inversegamma", &[shape, scale]) => Prior::InverseGamma { shape, scale },
            ("half_normal" | "halfnormal", &[scale]) => Prior::HalfNormal { scale },
            ("normal", &[mean, sd]) => Prior::Normal { mean, sd },
            ("penalised_length", &[least, share]) => Prior::Length { dims: 1, least, share },
            ("penalised_deviation", &[most, share]) => Prior::Deviation { most, share },
            _ => {
                let known = "lognormal(location, scale), gamma(shape, rate), inverse_gamma(shape, scale), \
                             half_normal(scale), normal(mean, sd), penalised_length(least, share), penalised_deviation(most, share)";
                return Err(Error::setting("prior", name, format!("one of {known}")));
            }
        };
        let positive = match prior {
            Prior::LogNormal { scale, .. } => vec![scale],
            Prior::Gamma { shape, rate } => vec![shape, rate],
            Prior::InverseGamma { shape, scale } => vec![shape, scale],
            Prior::HalfNormal { scale } => vec![scale],
            Prior::Normal { sd, .. } => vec![sd],
            Prior::Length { least: size, share, .. } | Prior::Deviation { most: size, share } => {
                vec![size, share, 1.0 - share]
            }
        };
        let good = numbers.iter().all(|v| v.is_finite()) && positive.iter().all(|&v| v > 0.0);
        if good {
            Ok(prior)
        } else {
            let requirement = "scales, shapes and rates must be positive, and shares lie between 0 and 1";
            Err(Error::setting("prior", format!("{name}{numbers:?}"), requirement))
        }
    }

    /// log p(x) and its derivative.
    pub fn log_density(&self, x: f64) -> (f64, f64) {
        let half_log_2pi = 0.5 * (2.0 * PI).ln();
        match *self {
            Prior::LogNormal { location, scale } => {
                let z = (x.ln() - location) / scale;
                (-0.5 * z * z - x.ln() - scale.ln() - half_log_2pi, -(z / scale + 1.0) / x)
            }
            Prior::Gamma { shape, rate } => {
                let constant = shape * rate.ln() - libm::lgamma(shape);
                ((shape - 1.0) * x.ln() - rate * x + constant, (shape - 1.0) / x - rate)
            }
            Prior::InverseGamma { shape, scale } => {
                let constant = shape * scale.ln() - libm::lgamma(shape);
                (-(shape + 1.0) * x.ln() - scale / x + constant, -(shape + 1.0) / x + scale / (x * x))
            }
            Prior::HalfNormal { scale } => {
                let z = x / scale;
                (-0.5 * z * z - scale.ln() - half_log_2pi + 2f64.ln(), -z / scale)
            }
            Prior::Length { dims, least, share } => {
                let half = 0.5 * dims as f64;
                let rate = -share.ln() * least.powf(half);
                let power = rate * x.powf(-half);
                ((half * rate).ln() - (half + 1.0) * x.ln() - power, (half * power - half - 1.0) / x)
            }
            Prior::Deviation { most, share } => {
                let rate = -share.ln() / most;
                let root = x.sqrt();
                ((0.5 * rate).ln() - root.ln() - rate * root, -0.5 * (1.0 / root + rate) / root)
            }
            Prior::Normal { mean, sd } => {
                let z = (x - mean) / sd;
                (-0.5 * z * z - sd.ln() - half_log_2pi, -z / sd)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numerics::gauss::GaussLegendre;

    #[test]
    fn densities_integrate_to_one_and_slopes_are_their_slopes() {
        let priors = [
            ("lognormal", vec![0.3, 0.6]),
            ("gamma", vec![2.5, 1.7]),
            ("inverse_gamma", vec![3.0, 2.0]),
            ("half_normal", vec![1.4]),
            ("normal", vec![1.0, 0.5]),
            ("penalised_length", vec![0.7, 0.05]),
            ("penalised_deviation", vec![1.5, 0.05]),
        ];
        let rule = GaussLegendre::new(40);
        for (name, numbers) in priors {
            let prior = Prior::by_name(name, &numbers).unwrap();
            // x = e^s, so that both tails are covered; a normal also has mass below zero
            let positive: f64 =
                (-60..60) // a length has a long tail
                    .flat_map(|i| rule.on(i as f64 / 2.0, (i + 1) as f64 / 2.0).collect::<Vec<_>>())
                    .map(|(s, w)| w * s.exp() * prior.log_density(s.exp()).0.exp())
                    .sum();
            let below = if name == "normal" { crate::numerics::special::normal_cdf(-2.0) } else { 0.0 };
            assert!((positive + below - 1.0).abs() < 1e-6, "{name} {positive}");
            for x in [0.2, 0.9, 3.0] {
                let slope = (prior.log_density(x + 1e-6).0 - prior.log_density(x - 1e-6).0) / 2e-6;
                assert!((prior.log_density(x).1 - slope).abs() < 1e-6 * slope.abs().max(1.0), "{name} {x}");
            }
        }
        assert!(Prior::by_name("gamma", &[1.0]).is_err());
        assert!(Prior::by_name("gamma", &[1.0, -1.0]).is_err());
        assert!(Prior::by_name("cauchy", &[1.0, 1.0]).is_err());
    }
}
