//! The mean of a likelihood under a Gaussian by annealed importance sampling (Neal 2001), for where no proposal is near enough.
//!
//! Each run begins with a draw from the Gaussian; the likelihood is raised to powers from 0 to 1 in small steps, and after each the state
//! makes elliptical slice moves that leave the Gaussian times that power invariant. The likelihoods at the states, each to the power by which
//! it was raised there, multiply to a weight whose mean is that of the likelihood.
//!
//! Cost: runs × steps × moves slice moves, the runs in parallel.

use super::elliptical_slice;
use super::importance::{self, LogMean};
use super::stream;
use crate::error::Result;
use crate::parallel;
use rand_chacha::ChaCha8Rng;

/// How much is spent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Effort {
    /// Independent runs.
    pub runs: usize,
    /// Powers of the likelihood from 0 to 1.
    pub steps: usize,
    /// Slice moves at each.
    pub moves: usize,
}

/// log of the mean of exp(`log_likelihood`) over the zero-mean Gaussian that `draw` draws from. `tell` is told how many more runs are done, none
/// at each step of a run, and may end it.
pub(crate) fn log_mean(
    draw: impl Fn(&mut ChaCha8Rng) -> Vec<f64> + Sync,
    log_likelihood: impl Fn(&[f64]) -> f64 + Sync,
    effort: Effort,
    seed: u64,
    tell: impl Fn(usize) -> Result<()> + Sync,
) -> Result<LogMean> {
    let run = |run: usize| {
        let mut rng = stream(seed, run as u64);
        let mut state = draw(&mut rng);
        let mut height = log_likelihood(&state);
        let mut log_weight = power(1, effort.steps) * height;
        for step in 1..effort.steps {
            let now = power(step, effort.steps);
            let mut tempered = now * height;
            for _ in 0..effort.moves {
                let fresh = draw(&mut rng);
                elliptical_slice::step(&mut rng, &mut state, &fresh, &mut tempered, |at| now * log_likelihood(at));
            }
            height = tempered / now;
            log_weight += (power(step + 1, effort.steps) - now) * height;
            tell(0)?;
        }
        tell(1)?;
        Ok(log_weight)
    };
    Ok(importance::log_mean(&parallel::try_each(effort.runs, run)?))
}

/// The power at a step. Most of them are small: there the likelihood varies most over the Gaussian.
fn power(step: usize, steps: usize) -> f64 {
    (step as f64 / steps as f64).powi(3)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use crate::sample::gaussian;
    use std::sync::atomic::{AtomicUsize, Ordering};

    const EFFORT: Effort = Effort { runs: 200, steps: 400, moves: 4 };

    #[test]
    fn a_gaussian_likelihood_has_its_known_mean() {
        // E[exp(−½ Σ (x − 2)²/s)] = (s/(1 + s))^{d/2} exp(−½ 4 d/(1 + s)), out in the tail of the Gaussian.
        let (dims, s) = (8, 0.3_f64);
        let exact = dims as f64 * (0.5 * (s / (1.0 + s)).ln() - 2.0 / (1.0 + s));
        let log_likelihood = |x: &[f64]| x.iter().map(|x| -0.5 * (x - 2.0) * (x - 2.0) / s).sum();
        let found =
            log_mean(|rng| gaussian::standard_normal(rng, dims), log_likelihood, EFFORT, 1, |_| Ok(())).unwrap();
        assert!((found.value - exact).abs() < 4.0 * found.se && found.se < 0.2, "{found:?}, exactly {exact}");
    }

    #[test]
    fn it_ends_when_it_is_told_to() {
        let told = AtomicUsize::new(0);
        let tell = |_| if told.fetch_add(1, Ordering::Relaxed) < 9 { Ok(()) } else { Err(Error::Cancelled) };
        let found = log_mean(|rng| gaussian::standard_normal(rng, 2), |_| 0.0, EFFORT, 1, tell);
        assert_eq!(found, Err(Error::Cancelled));
        // Runs that were under way on other threads end at their next step; none begins.
        assert!(told.into_inner() < 10 + EFFORT.runs);
    }

    #[test]
    fn both_signs_of_a_square_are_found() {
        // E[Π x_i²] over independent x_i ~ N(0, 1) is 1, from 2^d modes.
        let log_likelihood = |x: &[f64]| x.iter().map(|x| (x * x).ln()).sum();
        let found = log_mean(|rng| gaussian::standard_normal(rng, 12), log_likelihood, EFFORT, 1, |_| Ok(())).unwrap();
        assert!(found.value.abs() < 4.0 * found.se && found.se < 0.3, "{found:?}");
    }
}
