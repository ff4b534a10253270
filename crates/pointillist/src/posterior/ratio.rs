//! The rate of one posterior over that of another at points, both uncertain: the relative risk of cases and controls.
//!
//! The two are independent: P(A/B ≤ r) = E[F_A(r B)] = E[1 − F_B(A/r)]. The distribution function of the wider one (on a scale of ratios) is taken as it is, and the narrower
//! one stands at [`SIDE`] of its quantiles, so that the steps between these are smoothed away. Nothing is random, and maps are smooth. Cost: about a hundred quantiles of a
//! rate per place.

use super::Posterior;
use super::predict::{Known, check_probabilities, crossing};
use crate::data::points::Points;
use crate::error::{Error, Result};
use crate::watch::{PartWatch, Work, unwatched};

/// Quantiles that stand for the narrower of the two rates.
const SIDE: usize = 32;
/// Quantiles further out than this are not seen by so few.
const FURTHEST: f64 = 0.005;

/// The ratio of two rates at points, by its quantiles: where the lower rate may be near 0 it has no mean.
///
/// ```
/// # use pointillist::{Events, Model, Points, Window};
/// # let fit = |times: &[f64]| -> Result<_, pointillist::Error> {
/// #     Ok(Model::default().fit(&Events::new(Points::line(times)?, Window::interval(0.0, 5.0)?)?)?.posterior)
/// # };
/// let cases = fit(&[1.0, 1.1, 1.2, 1.4, 1.9, 2.0])?;
/// let controls = fit(&[0.5, 1.5, 3.0, 3.5, 4.0, 4.5])?;
/// let ratio = cases.rate_ratio(&controls, &Points::line(&[1.1, 4.0])?, &[0.05, 0.5, 0.95], &[1.0])?;
/// let median = &ratio.quantiles[1];
/// assert!(median[0] > median[1]);
/// // Where cases are more common than controls, probably.
/// let higher = &ratio.exceedances[0];
/// assert!(higher[0] > 0.5 && higher[1] < 0.5);
/// # Ok::<(), pointillist::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct RateRatio {
    /// For each probability that was asked for, one value per point.
    pub quantiles: Vec<Vec<f64>>,
    /// For each threshold, the probability at each point that the ratio is higher.
    pub exceedances: Vec<Vec<f64>>,
}

impl Posterior {
    /// The rate over that of another posterior, learned from other events, at points of both.
    pub fn rate_ratio(
        &self,
        other: &Posterior,
        points: &Points,
        probabilities: &[f64],
        thresholds: &[f64],
    ) -> Result<RateRatio> {
        self.rate_ratio_watched(other, points, (probabilities, thresholds), &unwatched)
    }

    /// The same, telling `watch` which part of it is done.
    pub fn rate_ratio_watched(
        &self,
        other: &Posterior,
        points: &Points,
        (probabilities, thresholds): (&[f64], &[f64]),
        watch: &PartWatch<'_>,
    ) -> Result<RateRatio> {
        check_probabilities(probabilities)?;
        if let Some(p) = probabilities.iter().find(|p| !(FURTHEST..=1.0 - FURTHEST).contains(*p)) {
            let requirement = format!("of a ratio must lie between {FURTHEST} and {}", 1.0 - FURTHEST);
            return Err(Error::setting("quantile", p, requirement));
        }
        if let Some(threshold) = thresholds.iter().find(|threshold| threshold.is_nan()) {
            return Err(Error::setting("threshold", threshold, "must be a number"));
        }
        // The same numbers must mean the same place.
        if self.window.axes() != other.window.axes() {
            let names: Vec<&str> = other.window.axes().iter().map(|axis| axis.name.as_str()).collect();
            let requirement = "of the other model must have the names, units, origins and projection of this one's; fit both over the same window";
            return Err(Error::setting("axes", names.join(", "), requirement));
        }
        let work = Work::new(points.len() * (self.components.len() + other.components.len() + 1), watch);
        let (above, below) = (self.known(points, &work)?, other.known(points, &work)?);
        let answers = above.at_each(&work, |n| {
            let ratio = RatioAt::new(&above, &below, n);
            let higher = thresholds.iter().map(|threshold| (1.0 - ratio.at_most(*threshold)).clamp(0.0, 1.0));
            higher.chain(probabilities.iter().map(|p| ratio.quantile(*p))).collect::<Vec<f64>>()
        })?;
        let mut all: Vec<Vec<f64>> = (0..thresholds.len() + probabilities.len())
            .map(|k| answers.iter().map(|answer| answer[k]).collect())
            .collect();
        let quantiles = all.split_off(thresholds.len());
        Ok(RateRatio { quantiles, exceedances: all })
    }
}

/// The ratio at one place.
struct RatioAt<'a> {
    above: &'a Known,
    below: &'a Known,
    n: usize,
    /// Quantiles of the narrower of the two, and whether that is the one above.
    narrow: Vec<f64>,
    is_above: bool,
}

impl<'a> RatioAt<'a> {
    fn new(above: &'a Known, below: &'a Known, n: usize) -> Self {
        let width = |known: &Known| known.quantile(n, 0.75) / known.quantile(n, 0.25);
        let is_above = width(above) < width(below);
        let narrower = if is_above { above } else { below };
        let middle = |i: usize| (i as f64 + 0.5) / SIDE as f64;
        let narrow = (0..SIDE).map(|i| narrower.quantile(n, middle(i))).collect();
        Self { above, below, n, narrow, is_above }
    }

    /// P(A/B ≤ ratio).
    fn at_most(&self, ratio: f64) -> f64 {
        if ratio <= 0.0 {
            return 0.0;
        }
        let sum: f64 = match self.is_above {
            true => self.narrow.iter().map(|above| 1.0 - self.below.below(self.n, above / ratio)).sum(),
            false => self.narrow.iter().map(|below| self.above.below(self.n, ratio * below)).sum(),
        };
        sum / SIDE as f64
    }

    /// Between ratios of quantiles: A/B is below q_A(ε)/q_B(1−ε) only if one of the two is as far out, which has at most the probability 2ε.
    fn quantile(&self, p: f64) -> f64 {
        let ends = |of_above: f64, of_below: f64| {
            self.above.quantile(self.n, of_above) / self.below.quantile(self.n, of_below)
        };
        let (few, many) = (0.4 * p, 0.4 * (1.0 - p));
        let (mut low, mut high) = (ends(few, 1.0 - few), ends(1.0 - many, many));
        crossing(|ratio| self.at_most(ratio) - p, &mut low, &mut high)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numerics::special::normal_quantile;
    use crate::{Events, LatticeChoice, Link, Model, Window};

    const ASKED: [f64; 3] = [0.05, 0.5, 0.95];
    /// How near probabilities are.
    const RIGHT: f64 = 2e-3;

    fn posterior(times: &[f64], links: &[Link], average: bool) -> Posterior {
        let events = Events::new(Points::line(times).unwrap(), Window::interval(0.0, 10.0).unwrap()).unwrap();
        let lattice = LatticeChoice { links: links.to_vec(), ..LatticeChoice::default() };
        Model { family: lattice.into(), average, ..Model::default() }.fit(&events).unwrap().posterior
    }

    fn early() -> Vec<f64> {
        (0..60).map(|i| 10.0 * (f64::from(i) / 60.0).powi(2)).collect()
    }

    fn late() -> Vec<f64> {
        (0..40).map(|i| 10.0 - 10.0 * (f64::from(i) / 41.0).powi(3)).collect()
    }

    fn known(posterior: &Posterior, points: &Points) -> Known {
        posterior.known(points, &Work::new(points.len(), &unwatched)).unwrap()
    }

    /// The logarithm of the ratio of two log-normal rates is normal.
    #[test]
    fn of_two_log_normal_rates_it_is_log_normal() {
        let [a, b] = [early(), late()].map(|times| posterior(&times, &[Link::Log], false));
        let points = Points::line(&[0.3, 5.0, 9.7]).unwrap();
        let ratio = a.rate_ratio(&b, &points, &ASKED, &[1.0]).unwrap();
        let [of_a, of_b] = [&a, &b].map(|posterior| known(posterior, &points));
        let (above, below) = (&of_a.parts[0].2, &of_b.parts[0].2);
        for n in 0..points.len() {
            let (mean, sd) = (above.mean[n] - below.mean[n], (above.variance[n] + below.variance[n]).sqrt());
            for (p, found) in ASKED.iter().zip(&ratio.quantiles) {
                let z = normal_quantile(*p);
                let density = (-0.5 * z * z).exp() / (2.0 * std::f64::consts::PI).sqrt();
                let exact = mean + sd * z;
                assert!((found[n].ln() - exact).abs() < RIGHT / density * sd, "{n} {p}: {} {}", found[n].ln(), exact);
            }
            let higher = crate::numerics::special::normal_cdf(mean / sd);
            assert!((ratio.exceedances[0][n] - higher).abs() < RIGHT, "{} {higher}", ratio.exceedances[0][n]);
        }
    }

    /// P(A/B ≤ r) = E[F_A(rB)], with B at a great many of its own quantiles.
    #[test]
    fn of_two_averages_it_is_what_a_slow_integral_says() {
        let [a, b] = [early(), late()].map(|times| posterior(&times, Link::ALL, true));
        let points = Points::line(&[0.3, 9.0]).unwrap();
        let ratio = a.rate_ratio(&b, &points, &ASKED, &[0.5]).unwrap();
        let probabilities: Vec<f64> = (0..500).map(|i| (f64::from(i) + 0.5) / 500.0).collect();
        let lower = b.quantiles(&points, &probabilities).unwrap();
        let of_a = known(&a, &points);
        assert!(of_a.parts.len() > 5, "{}", of_a.parts.len());
        for n in 0..points.len() {
            let at_most = |r: f64| lower.iter().map(|b| of_a.below(n, r * b[n])).sum::<f64>() / lower.len() as f64;
            for (p, found) in ASKED.iter().zip(&ratio.quantiles) {
                assert!((at_most(found[n]) - p).abs() < RIGHT, "{n} {p}: {}", at_most(found[n]));
            }
            assert!((ratio.exceedances[0][n] + at_most(0.5) - 1.0).abs() < RIGHT);
        }
        // The other way round it is the inverse.
        let inverse = b.rate_ratio(&a, &points, &ASKED, &[]).unwrap();
        let product = ratio.quantiles[0][0] * inverse.quantiles[2][0];
        assert!((product - 1.0).abs() < 0.02, "{product}");
        assert!(a.rate_ratio(&b, &points, &[0.001], &[]).is_err());
        let mut elsewhere = b.clone();
        let axis = crate::Axis { unit: Some("km".into()), ..b.window().axes()[0].clone() };
        elsewhere.window = b.window().clone().with_axes(vec![axis]).unwrap();
        assert!(a.rate_ratio(&elsewhere, &points, &ASKED, &[]).is_err());
    }
}
