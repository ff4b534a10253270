//! The posterior density of one hyper-parameter: along a line through the best Θ, with the others where they are most probable for each of its values.
//!
//! The line is the regression of the others on the one, by the curvature at the best Θ. At each of its points a Newton step of the others, by the
//! envelope gradient there, says how much higher the ridge is, so that what is skew is seen. The volume of the others is taken to be the same all along.
//! Cost: some natural steps for each of eleven points.

use super::search::{Curved, Kind, Look, Run, Search};
use crate::error::Result;
use crate::numerics::linalg::{self, Matrix};

/// Points on either side of the best, and how far apart, in standard deviations.
const SIDE: i32 = 5;
const STEP: f64 = 0.75;
/// How near (nats) q is brought to its optimum.
const NEAR: f64 = 1e-4;
/// A Newton step of the others is taken at its word up to so many nats.
const MOST_GAIN: f64 = 3.0;
/// By how much the one alone is moved for its curvature, where there is none of all.
const ALONE: f64 = 0.05;
/// No standard deviation is taken for wider than this.
const WIDEST: f64 = 3.0;
/// Points at which a density is tabulated.
const FINE: usize = 2001;

/// The logarithm of a density, up to a constant, at some values.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Profile {
    values: Vec<f64>,
    log_density: Vec<f64>,
}

/// A density on a fine grid, as weights that add up to 1.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tabulated {
    values: Vec<f64>,
    weights: Vec<f64>,
}

impl<K: Kind> Search<'_, '_, K> {
    /// Of the hyper-parameter with this name, in its own coordinate.
    pub(super) fn profile(&self, run: &Run<K>, name: &str) -> Result<Option<Profile>> {
        let Some(which) = self.kind.named(&run.theta).iter().position(|named| named.name == name) else {
            return Ok(None);
        };
        let (x, bounds) = self.kind.pack(&run.level, &run.theta);
        let Some((direction, sd, others)) = self.ridge(run, which, x.len())? else { return Ok(None) };
        let at = |k: i32| -> Vec<f64> {
            let by = f64::from(k) * STEP * sd;
            x.iter().zip(&direction).map(|(x, d)| x + by * d).collect()
        };
        // One that is at a bound stays there.
        let is_inside = |x: &Vec<f64>| x.iter().zip(&bounds).all(|(x, (low, high))| low <= x && x <= high);
        let places: Vec<Vec<f64>> = (-SIDE..=SIDE).map(at).filter(is_inside).collect();
        let look = |x: &Vec<f64>| Look {
            theta: self.kind.unpack(&run.level, x, &run.theta),
            sites: run.sites.clone(),
            by: Some(x.clone()),
        };
        let looks: Vec<_> = places.iter().map(look).collect();
        let seen = self.evaluate_each(&run.level, &looks, (NEAR, self.kind.tuning().most_steps))?;
        let (mut values, mut log_density) = (vec![], vec![]);
        for (place, seen) in places.iter().zip(seen) {
            let Ok((found, gradient)) = seen else { continue };
            values.push(place[which]);
            log_density.push(found.value + others.as_ref().map_or(0.0, |others| gain(others, &gradient, which)));
        }
        Ok((values.len() > 2).then_some(Profile { values, log_density }))
    }

    /// How all coordinates change with one of them, its standard deviation, and the factor of the curvature of the others.
    #[allow(clippy::type_complexity)] // three things that belong together for a moment
    fn ridge(&self, run: &Run<K>, which: usize, count: usize) -> Result<Option<(Vec<f64>, f64, Option<Matrix>)>> {
        if let Some(Curved { matrix, .. }) = self.curvature(run, count)? {
            let mut all = matrix.clone();
            let left: Vec<usize> = (0..count).filter(|i| *i != which).collect();
            let mut others = Matrix::from_fn(left.len(), left.len(), |i, j| matrix[(left[i], left[j])]);
            let is_maximum =
                linalg::cholesky(&mut all).is_ok() && (left.is_empty() || linalg::cholesky(&mut others).is_ok());
            if is_maximum {
                let covariance = linalg::inverse_from_cholesky(&all);
                let own = covariance[(which, which)];
                let direction = (0..count).map(|i| covariance[(i, which)] / own).collect();
                return Ok(Some((direction, own.sqrt().min(WIDEST), (!left.is_empty()).then_some(others))));
            }
        }
        // Some of the others are at their bounds, or not known: they stay.
        let (x, _) = self.kind.pack(&run.level, &run.theta);
        let look = |by: f64| {
            let mut x = x.clone();
            x[which] += by;
            Look { theta: self.kind.unpack(&run.level, &x, &run.theta), sites: run.sites.clone(), by: Some(x) }
        };
        let steps = (NEAR, self.kind.tuning().most_steps);
        let sides = self.evaluate_each(&run.level, &[look(ALONE), look(-ALONE)], steps)?;
        let slopes = sides.into_iter().map(|side| Ok(side?.1[which])).collect::<Result<Vec<f64>>>()?;
        let curvature = (slopes[1] - slopes[0]) / (2.0 * ALONE);
        let direction = (0..count).map(|i| f64::from(u8::from(i == which))).collect();
        let sd = curvature.max(WIDEST.powi(-2)).powf(-0.5);
        Ok(Some((direction, sd, None)))
    }
}

/// ½ gᵀ H⁻¹ g of the others.
fn gain(others: &Matrix, gradient: &[f64], which: usize) -> f64 {
    let left: Vec<f64> = gradient.iter().enumerate().filter(|(i, _)| *i != which).map(|(_, g)| *g).collect();
    let mut solved = left.clone();
    linalg::solve_lower(others, &mut solved);
    (0.5 * linalg::dot(&solved, &solved)).min(MOST_GAIN)
}

impl Profile {
    /// The logarithm of the density at a value: cubics through four neighbours; −∞ beyond them.
    fn at(&self, value: f64) -> f64 {
        let last = self.values.len() - 1;
        if value < self.values[0] || value > self.values[last] {
            return f64::NEG_INFINITY;
        }
        let above = self.values.iter().position(|own| *own >= value).unwrap_or(last).max(1);
        let count = self.values.len().min(4);
        let first = above.saturating_sub(2).min(self.values.len() - count);
        let near = first..first + count;
        let term = |i: usize| {
            let others = near.clone().filter(|j| *j != i);
            let share: f64 = others.map(|j| (value - self.values[j]) / (self.values[i] - self.values[j])).product();
            share * self.log_density[i]
        };
        near.clone().map(term).sum()
    }
}

impl Tabulated {
    /// The average of densities with these weights, each of its own.
    pub(crate) fn mixed(parts: &[(f64, &Profile)]) -> Option<Self> {
        let ends = |pick: fn(f64, f64) -> f64, of: fn(&Profile) -> f64| {
            parts.iter().map(|(_, profile)| of(profile)).reduce(pick)
        };
        let low = ends(f64::min, |profile| profile.values[0])?;
        let high = ends(f64::max, |profile| profile.values[profile.values.len() - 1])?;
        let step = (high - low) / (FINE - 1) as f64;
        let values: Vec<f64> = (0..FINE).map(|i| low + step * i as f64).collect();
        let mut weights = vec![0.0; FINE];
        for (weight, profile) in parts {
            let logs: Vec<f64> = values.iter().map(|value| profile.at(*value)).collect();
            let top = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let own: Vec<f64> = logs.iter().map(|log| (log - top).exp()).collect();
            let total: f64 = own.iter().sum();
            weights.iter_mut().zip(own).for_each(|(sum, own)| *sum += weight * own / total);
        }
        let total: f64 = weights.iter().sum();
        weights.iter_mut().for_each(|weight| *weight /= total);
        total.is_finite().then_some(Self { values, weights })
    }

    /// Mean and standard deviation.
    pub(crate) fn moments(&self) -> (f64, f64) {
        let mean: f64 = self.values.iter().zip(&self.weights).map(|(value, weight)| value * weight).sum();
        let square: f64 = self.values.iter().zip(&self.weights).map(|(v, w)| w * (v - mean).powi(2)).sum();
        (mean, square.sqrt())
    }

    /// Where so much of it lies below.
    pub(crate) fn quantile(&self, probability: f64) -> f64 {
        let mut below = 0.0;
        for (k, weight) in self.weights.iter().enumerate() {
            if below + weight >= probability && *weight > 0.0 {
                let step = self.values[1] - self.values[0];
                return self.values[k] + step * ((probability - below) / weight - 0.5);
            }
            below += weight;
        }
        self.values[self.values.len() - 1]
    }

    /// How much of it lies above 0.
    pub(crate) fn positive(&self) -> f64 {
        self.values.iter().zip(&self.weights).filter(|(value, _)| **value > 0.0).map(|(_, weight)| weight).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A bell and a skew density, beside what is known of them.
    #[test]
    fn tables_have_the_moments_and_quantiles_of_densities() {
        let places: Vec<f64> = (-SIDE..=SIDE).map(|k| 2.0 + 0.75 * 3.0 * f64::from(k)).collect();
        let bell = Profile {
            log_density: places.iter().map(|x| 7.0 - 0.5 * ((x - 2.0) / 3.0).powi(2)).collect(),
            values: places,
        };
        let table = Tabulated::mixed(&[(1.0, &bell)]).unwrap();
        let (mean, sd) = table.moments();
        assert!((mean - 2.0).abs() < 1e-9 && (sd / 3.0 - 1.0).abs() < 2e-3, "{mean} {sd}");
        assert!((table.quantile(0.95) - (2.0 + 3.0 * 1.6449)).abs() < 0.01, "{}", table.quantile(0.95));
        assert!((table.positive() - 0.7475).abs() < 2e-3, "{}", table.positive());
        // A gamma density with shape 9: mean 9, sd 3; its median is near 8.669.
        let places: Vec<f64> = (-3..=SIDE).map(|k| 8.0 + 2.2 * f64::from(k)).collect();
        let skew = Profile { log_density: places.iter().map(|x| 8.0 * x.ln() - x).collect(), values: places };
        let table = Tabulated::mixed(&[(1.0, &skew)]).unwrap();
        assert!((table.quantile(0.5) - 8.669).abs() < 0.05, "{}", table.quantile(0.5));
        // Two of them, one with a quarter of the weight.
        let both = Tabulated::mixed(&[(0.75, &bell), (0.25, &skew)]).unwrap();
        assert!((both.moments().0 - (0.75 * 2.0 + 0.25 * table.moments().0)).abs() < 1e-2);
    }
}
