//! Differences and ratios of numbers of events, between regions of one posterior or of two: read from joint draws.

use super::counts::{JointCounts, quantiles};
use crate::error::{Error, Result};
use crate::sample;
use rand::RngExt;

/// The order in which draws of two posteriors meet is that of this seed.
const ORDER: u64 = 0x636f_6e74_7261_7374;

/// Something that is known by draws of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Estimate {
    /// Posterior mean.
    pub mean: f64,
    /// Posterior standard deviation.
    pub sd: f64,
    /// Quantiles, one for each probability that was asked for.
    pub quantiles: Vec<f64>,
}

impl Estimate {
    fn of(draws: Vec<f64>, probabilities: &[f64]) -> Self {
        let count = draws.len() as f64;
        let mean = draws.iter().sum::<f64>() / count;
        let variance = draws.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (count - 1.0).max(1.0);
        Self { mean, sd: variance.sqrt(), quantiles: quantiles(draws, probabilities) }
    }
}

/// How the expected number of events in A compares with that in B.
///
/// ```
/// # use pointillist::{Events, Model, Points, Window};
/// # let events = Events::new(Points::line(&[1.0, 1.2, 1.4, 1.9, 4.0])?, Window::interval(0.0, 5.0)?)?;
/// let posterior = Model::default().fit(&events)?.posterior;
/// let halves = [Window::interval(0.0, 2.5)?, Window::interval(2.5, 5.0)?];
/// let counts = posterior.joint_counts(&halves, 2000, 0)?;
/// let contrast = counts.contrast(0, 1, &[0.05, 0.95])?;
/// assert!(contrast.difference.mean > 0.0 && contrast.probability > 0.5);
/// # Ok::<(), pointillist::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Contrast {
    /// A − B.
    pub difference: Estimate,
    /// A / B.
    pub ratio: Estimate,
    /// P(A > B).
    pub probability: f64,
}

impl JointCounts {
    /// The covariance of the expected numbers, region by region, row after row. // (regions, regions)
    ///
    /// ```
    /// # use pointillist::{Events, Model, Points, Window};
    /// # let events = Events::new(Points::line(&[1.0, 1.2, 1.4, 1.9, 4.0])?, Window::interval(0.0, 5.0)?)?;
    /// let posterior = Model::default().fit(&events)?.posterior;
    /// let halves = [Window::interval(0.0, 2.5)?, Window::interval(2.5, 5.0)?];
    /// let covariance = posterior.joint_counts(&halves, 2000, 0)?.covariance();
    /// assert!(covariance.len() == 4 && covariance[1] == covariance[2]);
    /// # Ok::<(), pointillist::Error>(())
    /// ```
    pub fn covariance(&self) -> Vec<f64> {
        let (regions, draws) = (self.moments().len(), self.draws());
        let centred: Vec<Vec<f64>> = (0..regions)
            .map(|r| {
                let mean = self.of(r).iter().sum::<f64>() / draws as f64;
                self.of(r).iter().map(|x| x - mean).collect()
            })
            .collect();
        let product = |a: usize, b: usize| -> f64 { centred[a].iter().zip(&centred[b]).map(|(x, y)| x * y).sum() };
        let mut covariance = vec![0.0; regions * regions];
        for a in 0..regions {
            for b in 0..=a {
                let value = product(a, b) / (draws as f64 - 1.0).max(1.0);
                (covariance[a * regions + b], covariance[b * regions + a]) = (value, value);
            }
        }
        covariance
    }

    /// How one region compares with another.
    pub fn contrast(&self, a: usize, b: usize, probabilities: &[f64]) -> Result<Contrast> {
        super::predict::check_probabilities(probabilities)?;
        self.check_region(a)?;
        self.check_region(b)?;
        Ok(Contrast::of(&self.matched(a), &self.matched(b), probabilities))
    }

    /// How a region compares with a region of another posterior, of which as many draws were made (with another seed, as they are independent).
    pub fn contrast_with(&self, a: usize, other: &JointCounts, b: usize, probabilities: &[f64]) -> Result<Contrast> {
        super::predict::check_probabilities(probabilities)?;
        self.check_region(a)?;
        other.check_region(b)?;
        if self.draws() != other.draws() {
            return Err(Error::Dimension { what: "draws", expected: self.draws(), found: other.draws() });
        }
        // Draws come one component after another; for those of two posteriors to be independent, one side needs another order.
        let mut others = other.matched(b);
        let mut rng = sample::stream(ORDER, 0);
        for last in (1..others.len()).rev() {
            others.swap(last, rng.random_range(0..=last));
        }
        Ok(Contrast::of(&self.matched(a), &others, probabilities))
    }

    fn check_region(&self, region: usize) -> Result<()> {
        let regions = self.moments().len();
        if region < regions {
            return Ok(());
        }
        Err(Error::setting("region", region, format!("there are {regions} regions, counted from 0")))
    }
}

impl Contrast {
    /// From draws of which those with the same number belong together.
    fn of(a: &[f64], b: &[f64], probabilities: &[f64]) -> Self {
        let pairs = || a.iter().zip(b);
        let higher: f64 = pairs()
            .map(|(a, b)| {
                if a > b {
                    1.0
                } else if a == b {
                    0.5
                } else {
                    0.0
                }
            })
            .sum();
        Self {
            difference: Estimate::of(pairs().map(|(a, b)| a - b).collect(), probabilities),
            ratio: Estimate::of(pairs().map(|(a, b)| a / b).collect(), probabilities),
            probability: higher / a.len() as f64,
        }
    }
}
