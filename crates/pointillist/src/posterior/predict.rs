//! The rate at points: mean, standard deviation, quantiles, and the probability that it exceeds a threshold
//! (docs/derivation.md (49), (50)). Means average over the components. A quantile is where the averaged distribution function
//! reaches the probability.

use super::component::BLOCK;
use super::{Posterior, Rate};
use crate::data::points::Points;
use crate::error::{Error, Result};
use crate::parallel;
use crate::terms::{self, LinkFormula, Marginals};
use crate::watch::{PartWatch, Work, unwatched};

/// Most steps towards a quantile, and how near it is enough, as a part of it.
const HALVINGS: usize = 100;
const CLOSE: f64 = 1e-13;

/// f at points under each component, with its weight.
pub(super) struct Known {
    pub(super) parts: Vec<(f64, &'static dyn LinkFormula, Marginals)>,
    /// Rates inside are so many times those outside.
    pub(super) volume: f64,
    pub(super) count: usize,
}

impl Posterior {
    /// Each point is a unit of the work, for each component.
    pub(super) fn known(&self, points: &Points, work: &Work<'_>) -> Result<Known> {
        self.known_by(points, |component, inner| component.shown(inner, work))
    }

    fn known_by(&self, points: &Points, f: impl Fn(&super::Component, &Points) -> Result<Marginals>) -> Result<Known> {
        self.check_dims(points)?;
        let inner = self.scaling.points_inward(points);
        let part = |component: &super::Component| Ok((component.weight, component.formula(), f(component, &inner)?));
        let parts = self.components.iter().map(part).collect::<Result<Vec<_>>>()?;
        Ok(Known { parts, volume: self.scaling.volume(), count: points.len() })
    }

    /// Mean and standard deviation of the rate at points.
    ///
    /// ```
    /// # use pointillist::{Events, Model, Points, Window};
    /// # let events = Events::new(Points::line(&[1.0, 1.2, 1.9, 4.0])?, Window::interval(0.0, 5.0)?)?;
    /// let posterior = Model::default().fit(&events)?.posterior;
    /// let rate = posterior.rate(&Points::line(&[1.1, 3.0])?)?;
    /// assert!(rate.mean[0] > rate.mean[1] && rate.sd[0] > 0.0);
    /// # Ok::<(), pointillist::Error>(())
    /// ```
    pub fn rate(&self, points: &Points) -> Result<Rate> {
        Ok(self.rate_and_quantiles(points, &[])?.0)
    }

    /// The same with quantiles, for each probability one value for each point: one pass for all.
    pub fn rate_and_quantiles(&self, points: &Points, probabilities: &[f64]) -> Result<(Rate, Vec<Vec<f64>>)> {
        self.rate_and_quantiles_watched(points, probabilities, &unwatched)
    }

    /// The same, telling `watch` which part of it is done.
    ///
    /// ```
    /// # use pointillist::{Error, Events, Model, Points, Window};
    /// use std::ops::ControlFlow;
    /// # let events = Events::new(Points::line(&[1.0, 1.2, 1.9, 4.0])?, Window::interval(0.0, 5.0)?)?;
    /// # let posterior = Model::default().fit(&events)?.posterior;
    ///
    /// let many = posterior.window().grid(&[10_000]);
    /// let until_half = |done: f64| if done < 0.5 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) };
    /// let stopped = posterior.rate_and_quantiles_watched(&many, &[0.05, 0.95], &until_half);
    /// assert_eq!(stopped, Err(Error::Cancelled));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn rate_and_quantiles_watched(
        &self,
        points: &Points,
        probabilities: &[f64],
        watch: &PartWatch<'_>,
    ) -> Result<(Rate, Vec<Vec<f64>>)> {
        check_probabilities(probabilities)?;
        let work = Work::new(points.len() * (self.components.len() + probabilities.len()), watch);
        let known = self.known(points, &work)?;
        Ok((known.rate(), known.quantiles(probabilities, &work)?))
    }

    /// Posterior quantiles of the rate: for each probability, one value per point.
    ///
    /// ```
    /// # use pointillist::{Events, Model, Points, Window};
    /// # let events = Events::new(Points::line(&[1.0, 1.2, 1.9, 4.0])?, Window::interval(0.0, 5.0)?)?;
    /// let posterior = Model::default().fit(&events)?.posterior;
    /// let band = posterior.quantiles(&Points::line(&[1.1, 3.0])?, &[0.05, 0.95])?;
    /// assert!(band[0][0] < band[1][0]);
    /// # Ok::<(), pointillist::Error>(())
    /// ```
    pub fn quantiles(&self, points: &Points, probabilities: &[f64]) -> Result<Vec<Vec<f64>>> {
        Ok(self.rate_and_quantiles(points, probabilities)?.1)
    }

    /// The posterior probability that the rate at each point is higher than `threshold`.
    ///
    /// ```
    /// # use pointillist::{Events, Model, Points, Window};
    /// # let events = Events::new(Points::line(&[1.0, 1.2, 1.9, 4.0])?, Window::interval(0.0, 5.0)?)?;
    /// let posterior = Model::default().fit(&events)?.posterior;
    /// let at = Points::line(&[1.1, 3.0])?;
    /// let high = posterior.exceedance(&at, 1.0)?;
    /// assert!(high[0] > high[1] && high.iter().all(|p| (0.0..=1.0).contains(p)));
    /// // A rate exceeds its own median half of the time.
    /// let median = posterior.quantiles(&at, &[0.5])?[0][0];
    /// assert!((posterior.exceedance(&at, median)?[0] - 0.5).abs() < 1e-9);
    /// # Ok::<(), pointillist::Error>(())
    /// ```
    pub fn exceedance(&self, points: &Points, threshold: f64) -> Result<Vec<f64>> {
        self.exceedance_watched(points, threshold, &unwatched)
    }

    /// The same, telling `watch` which part of it is done.
    pub fn exceedance_watched(&self, points: &Points, threshold: f64, watch: &PartWatch<'_>) -> Result<Vec<f64>> {
        Ok(self.exceedances_watched(points, &[threshold], watch)?.pop().unwrap_or_default())
    }

    /// The same for several thresholds, in one pass.
    pub fn exceedances_watched(
        &self,
        points: &Points,
        thresholds: &[f64],
        watch: &PartWatch<'_>,
    ) -> Result<Vec<Vec<f64>>> {
        if let Some(threshold) = thresholds.iter().find(|threshold| threshold.is_nan()) {
            return Err(Error::setting("threshold", threshold, "must be a number"));
        }
        let work = Work::new(points.len() * (self.components.len() + thresholds.len()), watch);
        let known = self.known(points, &work)?;
        // Weights add up to 1 only up to rounding.
        let of = |threshold: &f64| known.at_each(&work, |n| (1.0 - known.below(n, *threshold)).clamp(0.0, 1.0));
        thresholds.iter().map(of).collect()
    }

    /// E[log λ] at points: what each event adds to the data term of the bound.
    pub fn expected_log_rate(&self, points: &Points) -> Result<Vec<f64>> {
        let work = Work::new(points.len() * self.components.len(), &unwatched);
        let known = self.known_by(points, |component, inner| component.marginals(inner, &work))?;
        let mut sum = vec![-known.volume.ln(); known.count];
        for (weight, link, f) in &known.parts {
            let logs = terms::expected(link.events(), f).value;
            sum.iter_mut().zip(logs).for_each(|(sum, log)| *sum += weight * log);
        }
        Ok(sum)
    }
}

impl Known {
    pub(super) fn rate(&self) -> Rate {
        let (mut mean, mut square) = (vec![0.0; self.count], vec![0.0; self.count]);
        if let [(_, link, f)] = &self.parts[..] {
            let both = f.mean.iter().zip(&f.variance).map(|(m, v)| link.moments(*m, *v));
            let (mean, sd) = both.map(|(mean, sd)| (mean / self.volume, sd / self.volume)).unzip();
            return Rate { mean, sd };
        }
        for (weight, link, f) in &self.parts {
            for n in 0..self.count {
                let (m, sd) = link.moments(f.mean[n], f.variance[n]);
                mean[n] += weight * m / self.volume;
                square[n] += weight * (m * m + sd * sd) / (self.volume * self.volume);
            }
        }
        let sd = mean.iter().zip(&square).map(|(m, s)| (s - m * m).max(0.0).sqrt()).collect();
        Rate { mean, sd }
    }

    /// P(λ ≤ rate) at a point.
    pub(super) fn below(&self, n: usize, rate: f64) -> f64 {
        let inner = rate * self.volume;
        self.parts.iter().map(|(weight, link, f)| weight * link.below(f.mean[n], f.variance[n], inner)).sum()
    }

    pub(super) fn quantiles(&self, probabilities: &[f64], work: &Work<'_>) -> Result<Vec<Vec<f64>>> {
        probabilities.iter().map(|&p| self.at_each(work, |n| self.quantile(n, p))).collect()
    }

    /// An answer for each point, which is a unit of the work: threads over blocks of them.
    pub(super) fn at_each<T: Send>(&self, work: &Work<'_>, answer: impl Fn(usize) -> T + Sync) -> Result<Vec<T>> {
        let block = |start: usize| {
            work.check()?;
            let answers: Vec<T> = (start..self.count.min(start + BLOCK)).map(&answer).collect();
            work.advance(answers.len())?;
            Ok(answers)
        };
        let starts = (0..self.count).step_by(BLOCK);
        let blocks = parallel::map(starts, 100 * self.count * self.parts.len(), block);
        Ok(blocks.into_iter().collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
    }

    pub(super) fn quantile(&self, n: usize, p: f64) -> f64 {
        let of_part = |(_, link, f): &(f64, &'static dyn LinkFormula, Marginals)| {
            link.quantile(f.mean[n], f.variance[n], p) / self.volume
        };
        if let [part] = &self.parts[..] {
            return of_part(part);
        }
        // Between the quantiles of the parts.
        let each = || self.parts.iter().map(of_part);
        let (mut low, mut high) = (each().fold(f64::INFINITY, f64::min), each().fold(0.0, f64::max));
        let off = |rate: f64| self.below(n, rate) - p;
        crossing(off, &mut low, &mut high)
    }
}

/// Where a rising function crosses 0 between two ends: straight lines through the ends (with the weight of an end that stays halved each time, Illinois), and a
/// halving whenever three of them have not halved the interval. About ten values instead of sixty.
pub(super) fn crossing(off: impl Fn(f64) -> f64, low: &mut f64, high: &mut f64) -> f64 {
    let (mut below, mut above) = (off(*low), off(*high));
    // Rounding: an end is the place itself.
    if below >= 0.0 {
        return *low;
    }
    if above <= 0.0 {
        return *high;
    }
    let (mut stayed, mut since, mut width) = (0i32, 0, *high - *low);
    for _ in 0..HALVINGS {
        if *high - *low <= CLOSE * low.abs().max(high.abs()) {
            break;
        }
        let is_slow = since >= 3 && *high - *low > 0.5 * width;
        if since >= 3 {
            (since, width) = (0, *high - *low);
        }
        let straight = *low - below * (*high - *low) / (above - below);
        let at = if is_slow || !(straight > *low && straight < *high) { 0.5 * (*low + *high) } else { straight };
        let value = off(at);
        if value == 0.0 {
            return at;
        }
        if value < 0.0 {
            (*low, below) = (at, value);
            above *= if stayed > 0 { 0.5 } else { 1.0 };
            stayed = 1;
        } else {
            (*high, above) = (at, value);
            below *= if stayed < 0 { 0.5 } else { 1.0 };
            stayed = -1;
        }
        since += 1;
    }
    0.5 * (*low + *high)
}

pub(super) fn check_probabilities(probabilities: &[f64]) -> Result<()> {
    match probabilities.iter().find(|p| !(0.0..=1.0).contains(*p)) {
        Some(p) => Err(Error::setting("quantile", p, "must lie between 0 and 1")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numerics::special::{normal_cdf, normal_quantile};

    /// Against plain halving, for mixtures whose parts lie far from each other and near.
    #[test]
    fn crossings_are_those_of_halving() {
        let mixtures: [&[(f64, f64, f64)]; 4] = [
            &[(0.5, 0.0, 1.0), (0.5, 1.0, 0.5)],
            &[(0.98, 0.0, 1e-3), (0.02, 5.0, 2.0)],
            &[(0.3, -6.0, 0.1), (0.3, 0.0, 0.1), (0.4, 6.0, 0.1)],
            &[(0.999, 0.0, 1.0), (0.001, 0.0, 8.0)],
        ];
        for parts in mixtures {
            for p in [1e-6, 0.05, 0.3, 0.5, 0.75, 0.95, 1.0 - 1e-6] {
                let off =
                    |rate: f64| parts.iter().map(|(w, m, s)| w * normal_cdf((rate.ln() - m) / s)).sum::<f64>() - p;
                let quantiles = parts.iter().map(|(_, m, s)| (m + s * normal_quantile(p)).exp());
                let ends = (quantiles.clone().fold(f64::INFINITY, f64::min), quantiles.fold(0.0, f64::max));
                let (mut low, mut high) = ends;
                for _ in 0..300 {
                    let middle = 0.5 * (low + high);
                    if off(middle) < 0.0 { low = middle } else { high = middle }
                }
                let (mut a, mut b) = ends;
                let found = crossing(off, &mut a, &mut b);
                assert!((found / high - 1.0).abs() < 1e-9 || off(found).abs() < 1e-13, "{parts:?} {p} {found} {high}");
            }
        }
    }
}
