//! Differences and ratios of numbers of events, between regions of one posterior or of two: read from joint draws.

use super::counts::{JointCounts, quantiles};
use crate::error::{Error, Result};
use crate::sample;
use rand::RngExt;

/// The seed of the order in which draws of two posteriors meet.
const SHUFFLING: u64 = 0x5851_f42d_4c95_7f2d;

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
        self.check_region(a)?;
        self.check_region(b)?;
        contrast(&self.matched(a), &self.matched(b), probabilities)
    }

    /// How a region compares with a region of another posterior, of which as many draws were made; the two are independent.
    pub fn contrast_with(&self, a: usize, other: &JointCounts, b: usize, probabilities: &[f64]) -> Result<Contrast> {
        self.check_region(a)?;
        other.check_region(b)?;
        if self.draws() != other.draws() {
            return Err(Error::Dimension { what: "draws", expected: self.draws(), found: other.draws() });
        }
        // In any order: draw i of one has nothing to do with draw i of the other, though both were made in the same way.
        let mut drawn = other.matched(b);
        let mut rng = sample::stream(SHUFFLING, 0);
        for i in (1..drawn.len()).rev() {
            drawn.swap(i, rng.random_range(0..=i));
        }
        contrast(&self.matched(a), &drawn, probabilities)
    }

    fn check_region(&self, region: usize) -> Result<()> {
        let count = self.moments().len();
        if region < count {
            return Ok(());
        }
        Err(Error::setting("region", region, format!("there are {count} regions, counted from 0")))
    }
}

fn contrast(a: &[f64], b: &[f64], probabilities: &[f64]) -> Result<Contrast> {
    super::predict::check_probabilities(probabilities)?;
    let pairs = || a.iter().zip(b);
    let higher = |(a, b): (&f64, &f64)| f64::from(a > b) + 0.5 * f64::from(a == b);
    Ok(Contrast {
        difference: Estimate::of(pairs().map(|(a, b)| a - b).collect(), probabilities),
        ratio: Estimate::of(pairs().map(|(a, b)| a / b).collect(), probabilities),
        probability: pairs().map(higher).sum::<f64>() / a.len() as f64,
    })
}

#[cfg(test)]
mod tests {
    use crate::{Events, Model, Points, Posterior, Window};

    fn posterior(times: &[f64]) -> Posterior {
        let events = Events::new(Points::line(times).unwrap(), Window::interval(0.0, 10.0).unwrap()).unwrap();
        Model::default().fit(&events).unwrap().posterior
    }

    #[test]
    fn contrasts_have_the_moments_of_their_parts() {
        let times: Vec<f64> = (0..60).map(|i| 10.0 * (f64::from(i) / 60.0).powi(2)).collect();
        let averaged = posterior(&times);
        let [left, right, all] = [(0.0, 4.0), (4.0, 10.0), (0.0, 10.0)].map(|(a, b)| Window::interval(a, b).unwrap());
        let counts = averaged.joint_counts(&[left, right, all], 20_000, 3).unwrap();
        let (moments, covariance) = (counts.moments(), counts.covariance());
        let close = |got: f64, want: f64, part: f64| assert!((got - want).abs() < part * want.abs(), "{got} {want}");
        // The parts add up to the whole, and so do their variances with twice their covariance.
        close(moments[0].mean + moments[1].mean, moments[2].mean, 1e-9);
        close(covariance[0] + covariance[4] + 2.0 * covariance[1], covariance[8], 1e-6);
        (0..3).for_each(|r| close(covariance[4 * r].sqrt(), moments[r].sd, 0.03));
        let contrast = counts.contrast(0, 1, &[0.05, 0.5, 0.95]).unwrap();
        close(contrast.difference.mean, moments[0].mean - moments[1].mean, 1e-6);
        close(contrast.difference.sd.powi(2), covariance[0] + covariance[4] - 2.0 * covariance[1], 0.01);
        let mirrored = counts.contrast(1, 0, &[0.05, 0.5, 0.95]).unwrap();
        close(contrast.probability, 1.0 - mirrored.probability, 1e-9);
        // Quantiles of a list: next to each other, not the same, on a scale that the standard deviation sets.
        let off = contrast.difference.quantiles[0] + mirrored.difference.quantiles[2];
        assert!(off.abs() < 0.01 * contrast.difference.sd, "{off}");
        close(contrast.ratio.quantiles[1], 1.0 / mirrored.ratio.quantiles[1], 0.01);
        // Two posteriors are independent, however many components they have, and whatever the seeds.
        let same = counts.contrast_with(2, &counts, 2, &[0.05, 0.95]).unwrap();
        close(same.difference.sd, 2f64.sqrt() * moments[2].sd, 0.03);
        assert!((same.probability - 0.5).abs() < 0.01, "{}", same.probability);
        assert!(counts.contrast(0, 3, &[0.5]).is_err() && counts.contrast(0, 1, &[1.5]).is_err());
    }
}
