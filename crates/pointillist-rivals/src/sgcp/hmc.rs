//! Hamiltonian (hybrid) Monte Carlo with a diagonal mass, its step size tuned by dual averaging (Hoffman and Gelman 2014).
//!
//! A leapfrog step is reversible and preserves volume whatever force drives it, so the force may be an approximation to the slope of
//! the log density: the accept step alone sees the density, and the sampler stays exact. A point where the target is not defined ends
//! the trajectory in a rejection, which is reversible too.
//!
//! What it does not do: choose the length of trajectories (no U-turn rule). Cost: one evaluation of density and force a leapfrog step.

use pointillist::internals::sample;
use rand::{Rng, RngExt};

/// A place, its log density, the force there, and whatever else the target computed on the way.
#[derive(Debug, Clone)]
pub(super) struct Place<T> {
    pub(super) position: Vec<f64>,
    pub(super) log_density: f64,
    pub(super) force: Vec<f64>,
    pub(super) extra: T,
}

/// The outcome of one trajectory.
pub(super) struct Outcome<T> {
    /// Where it led, if it was accepted.
    pub(super) accepted: Option<Place<T>>,
    /// The probability with which it was.
    pub(super) probability: f64,
}

/// One trajectory of `steps` leapfrog steps of size `step` in coordinates of which one unit is `scales`.
pub(super) fn trajectory<T>(
    rng: &mut impl Rng,
    start: &Place<T>,
    scales: &[f64],
    step: f64,
    steps: usize,
    mut evaluate: impl FnMut(Vec<f64>) -> Option<Place<T>>,
) -> Outcome<T> {
    let mut momentum = sample::standard_normal(rng, scales.len());
    let chance = 1.0 - rng.random::<f64>();
    let before = start.log_density - kinetic(&momentum);
    push(&mut momentum, &start.force, scales, 0.5 * step);
    let (mut position, mut end) = (start.position.clone(), None);
    for taken in 1..=steps {
        for (q, (p, scale)) in position.iter_mut().zip(momentum.iter().zip(scales)) {
            *q += step * scale * p;
        }
        let Some(place) = evaluate(position.clone()) else {
            return Outcome { accepted: None, probability: 0.0 };
        };
        push(&mut momentum, &place.force, scales, if taken == steps { 0.5 * step } else { step });
        end = Some(place);
    }
    let after = end.as_ref().map_or(f64::NEG_INFINITY, |place| place.log_density) - kinetic(&momentum);
    // NaN compares false: a trajectory that lost its way is rejected.
    let probability = if after - before > f64::NEG_INFINITY { (after - before).exp().min(1.0) } else { 0.0 };
    Outcome { accepted: end.filter(|_| chance < probability), probability }
}

fn kinetic(momentum: &[f64]) -> f64 {
    0.5 * momentum.iter().map(|p| p * p).sum::<f64>()
}

fn push(momentum: &mut [f64], force: &[f64], scales: &[f64], step: f64) {
    for (p, (force, scale)) in momentum.iter_mut().zip(force.iter().zip(scales)) {
        *p += step * scale * force;
    }
}

/// A step size that learns from acceptance probabilities.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct DualAveraging {
    centre: f64,
    count: u64,
    shortfall: f64,
    log_step: f64,
    log_average: f64,
}

impl DualAveraging {
    /// Acceptance aimed at.
    const TARGET: f64 = 0.8;

    pub(super) fn starting_at(step: f64) -> Self {
        // The search is drawn towards somewhat larger steps: too small ones cost more than they show.
        Self { centre: (2.0 * step).ln(), count: 0, shortfall: 0.0, log_step: step.ln(), log_average: step.ln() }
    }

    /// Whether both of its steps are numbers.
    pub(super) fn is_finite(&self) -> bool {
        [self.centre, self.shortfall, self.trial(), self.learned()].iter().all(|number| number.is_finite())
    }

    /// The step to try next while learning.
    pub(super) fn trial(&self) -> f64 {
        self.log_step.exp()
    }

    /// The step to use once learning is over.
    pub(super) fn learned(&self) -> f64 {
        self.log_average.exp()
    }

    pub(super) fn learn(&mut self, probability: f64) {
        self.count += 1;
        let count = self.count as f64;
        self.shortfall += (Self::TARGET - probability - self.shortfall) / (count + 10.0);
        self.log_step = self.centre - count.sqrt() / 0.05 * self.shortfall;
        self.log_average += count.powf(-0.75) * (self.log_step - self.log_average);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pointillist::internals::sample::stream;

    /// A correlated Gaussian tilted by a quartic term in its first coordinate, with a force that is off by a tenth if asked.
    fn place(position: Vec<f64>, quartic: f64, force_scale: f64) -> Place<()> {
        let (x, y) = (position[0], position[1]);
        let log_density = -0.5 * (x * x + (y - 0.8 * x).powi(2) / 0.36) - quartic * x.powi(4);
        let cross = (y - 0.8 * x) / 0.36;
        let force = vec![force_scale * (-x + 0.8 * cross - 4.0 * quartic * x.powi(3)), -force_scale * cross];
        Place { position, log_density, force, extra: () }
    }

    fn run(quartic: f64, force_scale: f64) -> (f64, f64, f64) {
        let mut rng = stream(3, 0);
        let mut tuner = DualAveraging::starting_at(0.05);
        let mut at = place(vec![0.5, -0.5], quartic, force_scale);
        let (mut xx, mut xy, mut accepted) = (0.0, 0.0, 0.0);
        let (warm_up, kept) = (500, 30_000);
        for sweep in 0..warm_up + kept {
            let learning = sweep < warm_up;
            let step = if learning { tuner.trial() } else { tuner.learned() };
            let steps = rng.random_range(1..=8);
            let outcome = trajectory(&mut rng, &at, &[1.0, 0.8], step, steps, |q| Some(place(q, quartic, force_scale)));
            if learning {
                tuner.learn(outcome.probability);
            } else {
                accepted += outcome.probability / kept as f64;
            }
            at = outcome.accepted.unwrap_or(at);
            if !learning {
                xx += at.position[0] * at.position[0] / kept as f64;
                xy += at.position[0] * at.position[1] / kept as f64;
            }
        }
        (xx, xy, accepted)
    }

    #[test]
    fn a_gaussian_comes_out_right_and_acceptance_near_its_target() {
        let (xx, xy, accepted) = run(0.0, 1.0);
        assert!((xx - 1.0).abs() < 0.04 && (xy - 0.8).abs() < 0.04, "{xx} {xy}");
        assert!((0.65..0.95).contains(&accepted), "{accepted}");
    }

    #[test]
    fn a_tilted_gaussian_comes_out_right_even_with_a_wrong_force() {
        // E x² under exp(−x²/2 − x⁴/10), by quadrature.
        let rule = pointillist::internals::numerics::GaussLegendre::new(200);
        let weigh = |x: f64| (-0.5 * x * x - 0.1 * x.powi(4)).exp();
        let total: f64 = rule.on(-8.0, 8.0).map(|(x, w)| w * weigh(x)).sum();
        let want = rule.on(-8.0, 8.0).map(|(x, w)| w * x * x * weigh(x)).sum::<f64>() / total;
        for force_scale in [1.0, 0.8] {
            let (xx, xy, _) = run(0.1, force_scale);
            assert!((xx - want).abs() < 0.03 && (xy - 0.8 * want).abs() < 0.03, "{xx} {xy} {want}");
        }
    }
}
