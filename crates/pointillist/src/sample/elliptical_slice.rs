//! Elliptical slice sampling (Murray, Adams and MacKay 2010): a step that leaves N(0, Σ) times a likelihood invariant.
//!
//! The state f and a fresh draw n from N(0, Σ) span an ellipse f cos φ + n sin φ, on which the prior is flat; a slice of the likelihood
//! chooses the angle, and the bracket shrinks towards the state until a point of the slice is found. No step size, never rejected.
//!
//! What it does not do: know Σ. Cost: one likelihood per angle tried, a handful per step.

use rand::{Rng, RngExt};
use std::f64::consts::TAU;

/// Angles tried before the state is kept as it is. The bracket shrinks geometrically, so this is reached only where rounding makes the
/// likelihood of the state itself irreproducible.
const MOST_ANGLES: usize = 200;

/// Moves `state` (with its log-likelihood) one step on its ellipse with `draw`, a draw from the same zero-mean Gaussian prior.
/// Returns how many angles were tried.
pub fn step(
    rng: &mut impl Rng,
    state: &mut [f64],
    draw: &[f64],
    log_likelihood: &mut f64,
    mut of: impl FnMut(&[f64]) -> f64,
) -> usize {
    let height = *log_likelihood + (1.0 - rng.random::<f64>()).ln();
    let mut angle = TAU * rng.random::<f64>();
    let (mut low, mut high) = (angle - TAU, angle);
    let mut proposal = vec![0.0; state.len()];
    for tried in 1..=MOST_ANGLES {
        let (sin, cos) = angle.sin_cos();
        proposal.iter_mut().zip(state.iter().zip(draw)).for_each(|(p, (s, d))| *p = s * cos + d * sin);
        let found = of(&proposal);
        if found > height {
            state.copy_from_slice(&proposal);
            *log_likelihood = found;
            return tried;
        }
        if angle < 0.0 {
            low = angle
        } else {
            high = angle
        }
        angle = low + (high - low) * rng.random::<f64>();
    }
    MOST_ANGLES
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{gaussian, stream};

    /// Mean and variance of the first coordinate over many steps from N(0, I) tilted by `of`.
    fn moments(dims: usize, of: impl Fn(&[f64]) -> f64) -> (f64, f64) {
        let mut rng = stream(1, 0);
        let mut state = vec![0.3; dims];
        let mut height = of(&state);
        let steps = 60_000;
        let (mut sum, mut square) = (0.0, 0.0);
        for _ in 0..steps {
            let draw = gaussian::standard_normal(&mut rng, dims);
            step(&mut rng, &mut state, &draw, &mut height, &of);
            assert_eq!(height, of(&state));
            sum += state[0];
            square += state[0] * state[0];
        }
        let mean = sum / steps as f64;
        (mean, square / steps as f64 - mean * mean)
    }

    #[test]
    fn a_flat_likelihood_leaves_the_prior() {
        let (mean, variance) = moments(3, |_| 0.0);
        assert!(mean.abs() < 0.02 && (variance - 1.0).abs() < 0.03, "{mean} {variance}");
    }

    #[test]
    fn a_gaussian_likelihood_gives_the_conjugate_posterior() {
        // N(0, 1) times N(x; 2, 1/2): mean 4/3, variance 1/3.
        let (mean, variance) = moments(2, |x| -(x[0] - 2.0).powi(2));
        assert!((mean - 4.0 / 3.0).abs() < 0.02 && (variance - 1.0 / 3.0).abs() < 0.015, "{mean} {variance}");
    }

    #[test]
    fn a_wall_is_never_crossed() {
        // The half normal: mean √(2/π), variance 1 − 2/π.
        let (mean, variance) = moments(1, |x| if x[0] > 0.0 { 0.0 } else { f64::NEG_INFINITY });
        assert!((mean - 0.797_885).abs() < 0.02 && (variance - 0.363_380).abs() < 0.02, "{mean} {variance}");
    }
}
