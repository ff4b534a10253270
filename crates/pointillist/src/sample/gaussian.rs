//! Standard normal vectors.

use rand::Rng;
use rand_distr::{Distribution, StandardNormal};

/// `count` independent standard normal numbers.
pub fn standard_normal(rng: &mut impl Rng, count: usize) -> Vec<f64> {
    (0..count).map(|_| StandardNormal.sample(rng)).collect()
}
