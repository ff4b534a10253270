//! A Poisson process on a box by thinning a homogeneous one.

use rand::{Rng, RngExt};
use rand_distr::{Distribution, Poisson};

/// A draw from Poisson(mean); 0 for a mean of 0.
pub fn poisson(rng: &mut impl Rng, mean: f64) -> u64 {
    Poisson::new(mean).map_or(0, |p| p.sample(rng) as u64)
}

/// Homogeneous candidates at rate `ceiling` per unit of measure over a box: rows of coordinates.
pub fn candidates(rng: &mut impl Rng, lo: &[f64], hi: &[f64], ceiling: f64) -> Vec<f64> {
    let measure: f64 = lo.iter().zip(hi).map(|(l, h)| h - l).product();
    let count = poisson(rng, ceiling * measure);
    (0..count)
        .flat_map(|_| (0..lo.len()).collect::<Vec<_>>())
        .map(|r| lo[r] + (hi[r] - lo[r]) * rng.random::<f64>())
        .collect()
}

/// Which candidates stay: each with probability rate/ceiling.
pub fn keep(rng: &mut impl Rng, rates: &[f64], ceiling: f64) -> Vec<bool> {
    rates.iter().map(|rate| rng.random::<f64>() * ceiling < *rate).collect()
}
