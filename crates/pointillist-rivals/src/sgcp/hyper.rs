//! Hamiltonian Monte Carlo over log length-scales, log variance and mean of f.
//!
//! Whitened: f = mean + √variance L(ℓ) ν with ν held and f moving along, so that the step is not tied to the f of the moment (given f at
//! hundreds of points a smooth kernel leaves its length-scale hardly any freedom; given ν only the events hold it). The target is
//! p(Θ) times the factors of [`Likelihood`] at f(Θ, ν); ν ~ N(0, I) has no part in it.
//!
//! Force: exact by mean and variance but for the margin of the levels; by log ℓ_r from f at a slightly longer ℓ_r, one more root instead of
//! the several that a reverse pass through one costs. A force need not be exact (`sample/hmc.rs`).
//!
//! Step size by dual averaging during warm-up; scales from the spread of the warm-up's draws. Cost: (axes + 1) roots a leapfrog step.

use super::field::{Keep, Root};
use super::hmc::{self, DualAveraging, Place};
use super::settings::Parameters;
use super::state::{Latent, Likelihood, Problem};
use pointillist::Points;
use pointillist::internals::numerics::linalg;
use rand::{Rng, RngExt};

/// The relative step of ℓ for the force: small against any bend, large against rounding.
const NUDGE: f64 = 1e-4;
/// The first step size, in units of the scales.
const FIRST_STEP: f64 = 0.2;
/// Spread assumed of a parameter before any is seen.
const FIRST_SCALE: f64 = 0.5;
/// Shares of the warm-up after which the scales are learned anew.
const LEARN_AT: [f64; 3] = [0.2, 0.4, 0.7];

/// What a chain has learned about its trajectories.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct Tuner {
    step: DualAveraging,
    scales: Vec<f64>,
    /// Positions since the scales were last learned.
    seen: Vec<Vec<f64>>,
}

/// Which parameters move, in the order of a position: log ℓ_r, log variance, mean.
struct Free {
    lengthscales: bool,
    variance: bool,
    mean: bool,
}

impl Free {
    fn of(problem: &Problem) -> Self {
        let fixed = &problem.settings.fixed;
        Self {
            lengthscales: fixed.lengthscales.is_none(),
            variance: fixed.variance.is_none(),
            mean: fixed.mean.is_none(),
        }
    }

    fn count(&self, dims: usize) -> usize {
        dims * usize::from(self.lengthscales) + usize::from(self.variance) + usize::from(self.mean)
    }

    fn position(&self, parameters: &Parameters) -> Vec<f64> {
        let mut position = Vec::new();
        if self.lengthscales {
            position.extend(parameters.lengthscales.iter().map(|l| l.ln()));
        }
        if self.variance {
            position.push(parameters.variance.ln());
        }
        if self.mean {
            position.push(parameters.mean);
        }
        position
    }

    /// The parameters at a position, those that do not move from `at`.
    fn parameters(&self, position: &[f64], at: &Parameters) -> Parameters {
        let mut parameters = at.clone();
        let mut rest = position.iter();
        if self.lengthscales {
            parameters.lengthscales.iter_mut().zip(&mut rest).for_each(|(l, log)| *l = log.exp());
        }
        if self.variance {
            parameters.variance = rest.next().map_or(at.variance, |log| log.exp());
        }
        if self.mean {
            parameters.mean = rest.next().copied().unwrap_or(at.mean);
        }
        parameters
    }

    /// log p(Θ) in the coordinates of a position, constants left out, and its slope.
    fn log_prior(&self, position: &[f64], problem: &Problem) -> (f64, Vec<f64>) {
        let settings = &problem.settings;
        let mut priors: Vec<(f64, f64)> = Vec::new();
        if self.lengthscales {
            priors.extend(problem.medians.iter().map(|median| (median.ln(), settings.lengthscale.log_sd)));
        }
        if self.variance {
            priors.push((settings.variance.median.ln(), settings.variance.log_sd));
        }
        if self.mean {
            priors.push((settings.mean.mean, settings.mean.sd));
        }
        let z: Vec<f64> = position.iter().zip(&priors).map(|(x, (centre, sd))| (x - centre) / sd).collect();
        let slope = z.iter().zip(&priors).map(|(z, (_, sd))| -z / sd).collect();
        (-0.5 * linalg::dot(&z, &z), slope)
    }
}

/// What an evaluation leaves behind.
struct Held {
    parameters: Parameters,
    root: Option<Root>, // none where the length-scales did not move
    f: Vec<f64>,
}

/// The target, at a state whose ν is held.
struct Target<'a> {
    problem: &'a Problem,
    free: Free,
    points: Points,
    likelihood: Likelihood<'a>,
    white: Vec<f64>,
    start: &'a Parameters,
    root: &'a Root,
}

impl<'a> Target<'a> {
    fn new(rng: &mut impl Rng, problem: &'a Problem, latent: &'a Latent, root: &'a Root) -> Self {
        let white = root.whiten(&latent.standardised(), rng);
        let likelihood = Likelihood::new(problem, &latent.levels, &latent.thinned);
        let (free, points) = (Free::of(problem), latent.points(problem));
        Self { problem, free, points, likelihood, white, start: &latent.parameters, root }
    }

    fn evaluate(&self, position: Vec<f64>) -> Option<Place<Held>> {
        let parameters = self.free.parameters(&position, self.start);
        let moved = self.free.lengthscales && position != self.free.position(self.start);
        let root = if moved { Some(self.root_at(&parameters.lengthscales)?) } else { None };
        let spread = parameters.variance.sqrt();
        let unit = root.as_ref().unwrap_or(self.root).colour(&self.white);
        let f: Vec<f64> = unit.iter().map(|u| parameters.mean + spread * u).collect();
        let margin = self.problem.regions.margin(&parameters.lengthscales, parameters.variance);
        let (log_prior, mut force) = self.free.log_prior(&position, self.problem);
        let log_density = log_prior + self.likelihood.log(&f, margin);
        let slope = self.likelihood.slope(&f, margin);
        let mut at = 0;
        let mut add = |pull: f64| {
            force[at] += pull;
            at += 1;
        };
        if self.free.lengthscales {
            for axis in 0..parameters.lengthscales.len() {
                let longer = self.nudged(root.as_ref().unwrap_or(self.root), &parameters.lengthscales, axis)?;
                add(spread * slope.iter().zip(longer.iter().zip(&unit)).map(|(s, (l, u))| s * (l - u)).sum::<f64>()
                    / NUDGE);
            }
        }
        if self.free.variance {
            add(0.5 * spread * linalg::dot(&slope, &unit));
        }
        if self.free.mean {
            add(slope.iter().sum());
        }
        let sound = log_density.is_finite() && force.iter().all(|force| force.is_finite());
        sound.then_some(Place { position, log_density, force, extra: Held { parameters, root, f } })
    }

    /// None where the factorisation fails: a place the trajectory cannot go.
    fn root_at(&self, lengthscales: &[f64]) -> Option<Root> {
        let order = self.root.order().to_vec();
        Root::new(&self.points, order, lengthscales, Keep::Above(self.problem.settings.jitter))
    }

    /// What ν stands for with one length-scale nudged, in the directions of the root that is not.
    fn nudged(&self, root: &Root, lengthscales: &[f64], axis: usize) -> Option<Vec<f64>> {
        let mut longer = lengthscales.to_vec();
        longer[axis] *= NUDGE.exp();
        Some(Root::new(&self.points, root.order().to_vec(), &longer, Keep::As(root))?.colour(&self.white))
    }
}

impl Tuner {
    pub(super) fn new(problem: &Problem) -> Self {
        let scales = vec![FIRST_SCALE; Free::of(problem).count(problem.window.dims())];
        Self { step: DualAveraging::starting_at(FIRST_STEP), scales, seen: vec![] }
    }

    /// The step size in use once warm-up is over, in units of the scales.
    pub(super) fn step(&self) -> f64 {
        self.step.learned()
    }

    /// Whether it is about as many parameters as the problem has.
    pub(super) fn fits(&self, problem: &Problem) -> bool {
        let count = Free::of(problem).count(problem.window.dims());
        let mut numbers = self.scales.iter().chain(self.seen.iter().flatten());
        self.scales.len() == count
            && self.seen.iter().all(|position| position.len() == count)
            && numbers.all(|number| number.is_finite())
            && self.step.is_finite()
    }

    /// One trajectory; `warming` says which sweep of the warm-up this is. Returns the acceptance probability.
    pub(super) fn sweep(
        &mut self,
        rng: &mut impl Rng,
        problem: &Problem,
        latent: &mut Latent,
        root: &mut Root,
        warming: Option<usize>,
    ) -> f64 {
        if self.scales.is_empty() || latent.f.is_empty() {
            return 1.0;
        }
        let step = if warming.is_some() { self.step.trial() } else { self.step.learned() };
        let (accepted, probability) = self.trajectory(rng, problem, latent, root, step);
        if let Some(held) = accepted {
            (latent.parameters, latent.f) = (held.parameters, held.f);
            if let Some(moved) = held.root {
                *root = moved;
            }
        }
        if let Some(sweep) = warming {
            self.learn(probability, sweep, problem, latent);
        }
        probability
    }

    fn trajectory(
        &self,
        rng: &mut impl Rng,
        problem: &Problem,
        latent: &Latent,
        root: &Root,
        step: f64,
    ) -> (Option<Held>, f64) {
        let steps = rng.random_range(1..=2 * problem.settings.leapfrogs - 1);
        let target = Target::new(rng, problem, latent, root);
        let Some(start) = target.evaluate(target.free.position(&latent.parameters)) else { return (None, 0.0) };
        let outcome = hmc::trajectory(rng, &start, &self.scales, step, steps, |position| target.evaluate(position));
        (outcome.accepted.map(|place| place.extra), outcome.probability)
    }

    fn learn(&mut self, probability: f64, sweep: usize, problem: &Problem, latent: &Latent) {
        self.step.learn(probability);
        self.seen.push(Free::of(problem).position(&latent.parameters));
        let warm_up = problem.settings.warm_up;
        let due = LEARN_AT.iter().any(|share| sweep == (share * warm_up as f64) as usize);
        if due && self.seen.len() >= 20 {
            self.scales = spreads(&self.seen);
            self.step = DualAveraging::starting_at(self.step.learned().clamp(0.05, 2.0));
            self.seen.clear();
        }
        if sweep + 1 == warm_up {
            self.seen.clear();
        }
    }
}

/// The standard deviation of each coordinate, kept within reason.
fn spreads(seen: &[Vec<f64>]) -> Vec<f64> {
    let count = seen.len() as f64;
    (0..seen[0].len())
        .map(|i| {
            let mean = seen.iter().map(|position| position[i]).sum::<f64>() / count;
            let square = seen.iter().map(|position| (position[i] - mean).powi(2)).sum::<f64>();
            (square / (count - 1.0)).sqrt().clamp(0.02, 5.0)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::settings::{Settings, Thinning};
    use super::super::walk::{Over, Walk};
    use super::*;
    use pointillist::Events;
    use pointillist::Window;
    use pointillist::internals::sample::stream;
    use pointillist::testing::check_gradient;

    #[test]
    fn the_force_is_the_slope_of_the_log_density() {
        let window = Window::new(&[(0.0, 1.0), (0.0, 2.0)]).unwrap();
        let events = Events::new(Points::from_rows(&[[0.1, 0.2], [0.5, 1.9], [0.6, 1.2]]).unwrap(), window).unwrap();
        let settings = Settings { thinning: Thinning::Uniform, ..Settings::default() };
        let problem = Problem::new(&events, &settings).unwrap();
        let mut rng = stream(4, 0);
        let mut latent = Latent::start(&problem, &mut rng);
        latent.parameters = Parameters { ceiling: 3.0, lengthscales: vec![0.3, 0.7], variance: 1.4, mean: 0.2 };
        let mut root = problem.root(&latent.points(&problem), &latent.parameters.lengthscales).unwrap();
        super::super::moves::thinned(&mut rng, &problem, &mut latent, &mut root, &Walk::new(&problem, Over::Levels))
            .unwrap();
        let target = Target::new(&mut rng, &problem, &latent, &root);
        let position = target.free.position(&latent.parameters);
        let place = target.evaluate(position.clone()).unwrap();
        let log_density = |q: &[f64]| target.evaluate(q.to_vec()).unwrap().log_density;
        let worst = check_gradient(log_density, &position, &place.force);
        assert!(worst < 1e-3, "{worst}"); // by ℓ it is a one-sided difference
        for (a, b) in place.extra.f.iter().zip(&latent.f) {
            assert!((a - b).abs() < 1e-8);
        }
    }
}
