//! Pairs of events beside pairs of events drawn from the posterior: whether events stand closer together, or further apart, than the rate explains.
//!
//! The inhomogeneous K-function K(r) = Σ_{i≠j} 1{|x_i − x_j| < r} / (λ(x_i) λ(x_j)) / |T| of the events, with the posterior mean for λ, beside those of sets
//! drawn from the posterior (an intensity, then events). Pairs across the border are missing from both, so that no correction is needed. The fit has seen the events and the
//! drawn sets have not been fitted: differences that the rate has taken up are not seen, and p errs upwards.

use super::Posterior;
use crate::data::points::Points;
use crate::error::Result;
use crate::parallel;
use crate::watch::PartWatch;
use std::ops::ControlFlow;

/// Distances, up to this part of the shortest side of the box around the window.
const DISTANCES: usize = 12;
const FURTHEST: f64 = 0.2;
/// Sets that are drawn.
const SETS: usize = 99;
/// Fewer events have too few pairs, and more too many.
const EVENTS: std::ops::RangeInclusive<usize> = 20..=5000;
/// Rates lower than this part of the mean rate count as that: one event there must not outweigh all others.
const LOWEST: f64 = 0.02;
/// The part of the sets on either side of the envelope.
const TAIL: f64 = 0.025;

/// Pairs of events within distances, each weighed by the rates at its two places.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Pairs {
    /// The distances.
    pub distances: Vec<f64>,
    /// K of the events.
    pub seen: Vec<f64>,
    /// The mean of K over sets drawn from the posterior, …
    pub expected: Vec<f64>,
    /// … and the envelope of 95 % of them.
    pub envelope: Vec<(f64, f64)>,
    /// How often a drawn set is as far from the others as the events are.
    pub p: f64,
    /// The distance at which the events are furthest off, and whether they are closer together there.
    pub furthest: (f64, bool),
}

impl Posterior {
    /// Pairs of `events` beside those of sets drawn from the posterior; nothing where the events are too few or too many, or where axes have different units.
    pub fn pairs(&self, events: &Points, seed: u64, watch: &PartWatch<'_>) -> Result<Option<Pairs>> {
        let axes = self.window().axes();
        if !EVENTS.contains(&events.len()) || axes.iter().any(|axis| axis.unit != axes[0].unit) {
            return Ok(None);
        }
        let shortest = self.window().bounding_box().iter().map(|span| span.length()).fold(f64::INFINITY, f64::min);
        let distances: Vec<f64> = (1..=DISTANCES).map(|k| FURTHEST * shortest * k as f64 / DISTANCES as f64).collect();
        let of =
            |points: &Points| -> Result<Vec<f64>> { Ok(k_function(points, &self.inverse_rates(points)?, &distances)) };
        let seen = of(events)?;
        let mut drawn = Vec::with_capacity(SETS);
        for set in 0..SETS {
            if let ControlFlow::Break(()) = watch(set as f64 / SETS as f64) {
                return Err(crate::Error::Cancelled);
            }
            drawn.push(of(&self.sample_events(seed, set as u64)?)?);
        }
        Ok(Some(compared(distances, seen, &drawn)))
    }

    fn inverse_rates(&self, points: &Points) -> Result<Vec<f64>> {
        let measure = self.window().measure();
        let mean = self.expected(self.window())? / measure;
        Ok(self.rate(points)?.mean.iter().map(|rate| 1.0 / rate.max(LOWEST * mean)).collect())
    }
}

/// Σ over pairs nearer than each distance, of the product of their weights.
fn k_function(points: &Points, weights: &[f64], distances: &[f64]) -> Vec<f64> {
    let count = points.len();
    let step = distances[0];
    let row = |i: usize| {
        let mut sums = vec![0.0; distances.len()];
        for j in i + 1..count {
            let apart: f64 = points.row(i).iter().zip(points.row(j)).map(|(a, b)| (a - b) * (a - b)).sum::<f64>();
            // Distances are even steps.
            let place = (apart.sqrt() / step) as usize;
            if place < sums.len() {
                sums[place] += 2.0 * weights[i] * weights[j];
            }
        }
        sums
    };
    let mut total = vec![0.0; distances.len()];
    for sums in parallel::map(0..count, count * count, row) {
        total.iter_mut().zip(sums).for_each(|(total, sum)| *total += sum);
    }
    (1..total.len()).for_each(|k| total[k] += total[k - 1]);
    total
}

/// The K of the events beside those of drawn sets.
fn compared(distances: Vec<f64>, seen: Vec<f64>, drawn: &[Vec<f64>]) -> Pairs {
    let count = drawn.len() as f64;
    let (mut expected, mut envelope, mut spreads) = (vec![], vec![], vec![]);
    for k in 0..distances.len() {
        let mut values: Vec<f64> = drawn.iter().map(|set| set[k]).collect();
        values.sort_by(f64::total_cmp);
        let mean = values.iter().sum::<f64>() / count;
        let spread = (values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / count).sqrt();
        let rank = ((TAIL * count) as usize).min(values.len() - 1);
        expected.push(mean);
        spreads.push(spread);
        envelope.push((values[rank], values[values.len() - 1 - rank]));
    }
    let off = |set: &[f64], k: usize| if spreads[k] > 0.0 { (set[k] - expected[k]) / spreads[k] } else { 0.0 };
    let furthest = |set: &[f64]| {
        let all = (0..set.len()).map(|k| (off(set, k), k));
        all.reduce(|a, b| if b.0.abs() > a.0.abs() { b } else { a }).unwrap_or((0.0, 0))
    };
    let (own, at) = furthest(&seen);
    let as_far = drawn.iter().filter(|set| furthest(set).0.abs() >= own.abs()).count() as f64;
    let p = (1.0 + as_far) / (1.0 + count);
    let furthest = (distances[at], own > 0.0);
    Pairs { distances, seen, expected, envelope, p, furthest }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_counted_once_each_way() {
        let points = Points::line(&[0.0, 0.5, 1.4, 9.0]).unwrap();
        assert_eq!(
            k_function(&points, &[1.0, 2.0, 3.0, 1.0], &[1.0, 2.0]),
            [2.0 * (2.0 + 6.0), 2.0 * (2.0 + 6.0 + 3.0)]
        );
    }

    #[test]
    fn what_is_unlike_all_others_has_a_small_p() {
        let drawn: Vec<Vec<f64>> = (0..99).map(|i| vec![f64::from(i % 10), 2.0 * f64::from(i % 7)]).collect();
        let alike = compared(vec![1.0, 2.0], vec![4.0, 6.0], &drawn);
        assert!(alike.p > 0.5, "{alike:?}");
        let unlike = compared(vec![1.0, 2.0], vec![4.0, 60.0], &drawn);
        assert!(unlike.p == 0.01 && unlike.furthest == (2.0, true), "{unlike:?}");
        assert_eq!(unlike.envelope[0], (0.0, 9.0));
    }
}
