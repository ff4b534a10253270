//! Random walks over the parameters with the thinned events out of the way: the exchange algorithm (Murray, Ghahramani and MacKay 2006).
//!
//! A higher ceiling with a lower f gives nearly the same rate, but given the thinned events neither can move far: their number pins λ*. So
//! they are integrated out. What is left, p(Θ) Π_n λ(x_n) exp(−∫λ), has an integral that cannot be computed; but exp(−∫λ) is the
//! normalising constant of the density of the events, so events Y drawn from the proposal's rate λ′ take its place:
//!
//! accept with p(Θ′) Π_n λ′(x_n) Π_{y∈Y} λ(y)  /  p(Θ) Π_n λ(x_n) Π_{y∈Y} λ′(y).
//!
//! The whitened function ν is held, so that f = mean + √variance L(ℓ) ν moves with the parameters. Where rates hardly change the ratio
//! is near one, however large the step. Two walks take turns: λ*, variance and mean; length-scales and variance.
//!
//! Step: Gaussian, its covariance learned from the warm-up's draws, its size from acceptance.

use super::settings::Parameters;
use super::state::{Problem, log_sigmoid};
use pointillist::internals::numerics::{Matrix, linalg};
use pointillist::internals::sample;
use rand::Rng;
use std::ops::RangeInclusive;

/// Acceptance aimed at.
const TARGET: f64 = 0.3;
/// Between these lies the logarithm of the size of a step.
const SIZES: RangeInclusive<f64> = -5.0..=3.0;
/// The first step on every coordinate.
const FIRST_STEP: f64 = 0.15;
/// Draws from which a covariance may be learned.
const ENOUGH: usize = 50;
/// Shares of the warm-up after which it is.
const LEARN_AT: [f64; 3] = [0.2, 0.4, 0.7];

/// Which parameters a walk is over, the fixed ones left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) enum Over {
    /// λ*, variance, mean.
    Levels,
    /// Length-scales, variance.
    Lengths,
}

/// A coordinate of a walk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Coordinate {
    LogCeiling,
    LogVariance,
    Mean,
    LogLengthscale(usize),
}

impl Coordinate {
    fn of(self, at: &Parameters) -> f64 {
        match self {
            Coordinate::LogCeiling => at.ceiling.ln(),
            Coordinate::LogVariance => at.variance.ln(),
            Coordinate::Mean => at.mean,
            Coordinate::LogLengthscale(r) => at.lengthscales[r].ln(),
        }
    }

    fn set(self, at: &mut Parameters, value: f64) {
        match self {
            Coordinate::LogCeiling => at.ceiling = value.exp(),
            Coordinate::LogVariance => at.variance = value.exp(),
            Coordinate::Mean => at.mean = value,
            Coordinate::LogLengthscale(r) => at.lengthscales[r] = value.exp(),
        }
    }
}

impl Over {
    fn coordinates(self, problem: &Problem) -> Vec<Coordinate> {
        let fixed = &problem.settings.fixed;
        let variance = fixed.variance.is_none().then_some(Coordinate::LogVariance);
        match self {
            Over::Levels => {
                let ceiling = fixed.ceiling.is_none().then_some(Coordinate::LogCeiling);
                let mean = fixed.mean.is_none().then_some(Coordinate::Mean);
                ceiling.into_iter().chain(variance).chain(mean).collect()
            }
            Over::Lengths if fixed.lengthscales.is_some() => vec![],
            Over::Lengths => (0..problem.window.dims()).map(Coordinate::LogLengthscale).chain(variance).collect(),
        }
    }
}

/// log p(Θ, λ*) in the coordinates of the walks, constants left out.
fn log_prior(problem: &Problem, at: &Parameters) -> f64 {
    let (settings, ceiling) = (&problem.settings, problem.ceiling_prior);
    let square = |x: f64, sd: f64| (x / sd).powi(2);
    let lengthscales = at.lengthscales.iter().zip(&problem.medians);
    let squares = square((at.variance / settings.variance.median).ln(), settings.variance.log_sd)
        + square(at.mean - settings.mean.mean, settings.mean.sd)
        + lengthscales.map(|(l, median)| square((l / median).ln(), settings.lengthscale.log_sd)).sum::<f64>();
    ceiling.shape * at.ceiling.ln() - ceiling.rate() * at.ceiling - 0.5 * squares
}

/// Σ log λ at places with these h = (f − mean)/√variance.
fn log_rates(at: &Parameters, h: &[f64]) -> f64 {
    h.iter().map(|h| at.ceiling.ln() + log_sigmoid(at.mean + at.variance.sqrt() * h)).sum()
}

/// Parameters, and h at the events and at those drawn from the proposal.
pub(super) struct Side<'a> {
    pub(super) parameters: &'a Parameters,
    pub(super) at_events: &'a [f64],
    pub(super) at_drawn: &'a [f64],
}

/// The probability of going from one to the other.
pub(super) fn acceptance(problem: &Problem, from: &Side<'_>, to: &Side<'_>) -> f64 {
    let log_of = |side: &Side<'_>| {
        log_prior(problem, side.parameters) + log_rates(side.parameters, side.at_events)
            - log_rates(side.parameters, side.at_drawn)
    };
    (log_of(to) - log_of(from)).exp().min(1.0)
}

/// What a chain has learned about the steps of a walk.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct Walk {
    over: Over,
    log_size: f64,
    /// Root of the covariance of a step of size one, column by column.
    root: Vec<f64>,
    /// Positions since it was last learned.
    seen: Vec<Vec<f64>>,
    learned: usize,
}

impl Walk {
    pub(super) fn new(problem: &Problem, over: Over) -> Self {
        let count = over.coordinates(problem).len();
        let root = Matrix::scaled_identity(count, FIRST_STEP).data().to_vec();
        Self { over, log_size: 0.0, root, seen: vec![], learned: 0 }
    }

    /// Whether it is this walk of this problem.
    pub(super) fn fits(&self, problem: &Problem, over: Over) -> bool {
        let count = over.coordinates(problem).len();
        let mut numbers = self.root.iter().chain(self.seen.iter().flatten());
        self.over == over
            && self.root.len() == count * count
            && self.seen.iter().all(|seen| seen.len() == count)
            && SIZES.contains(&self.log_size)
            && numbers.all(|number| number.is_finite())
    }

    /// Where to go from here; nowhere if everything is fixed.
    pub(super) fn propose(&self, rng: &mut impl Rng, problem: &Problem, from: &Parameters) -> Option<Parameters> {
        let coordinates = self.over.coordinates(problem);
        if coordinates.is_empty() {
            return None;
        }
        let white = sample::standard_normal(rng, coordinates.len());
        let step = linalg::columns_times(&self.root, coordinates.len(), &white);
        let mut to = from.clone();
        for (coordinate, step) in coordinates.iter().zip(step) {
            coordinate.set(&mut to, coordinate.of(from) + self.log_size.exp() * step);
        }
        Some(to)
    }

    /// Learns from a proposal of the warm-up: its acceptance probability, and where the chain now stands.
    pub(super) fn learn(&mut self, probability: f64, sweep: usize, problem: &Problem, at: &Parameters) {
        self.learned += 1;
        self.log_size += (probability - TARGET) * 3.0 / (self.learned as f64 + 10.0).powf(0.6);
        self.log_size = self.log_size.clamp(*SIZES.start(), *SIZES.end());
        self.seen.push(self.over.coordinates(problem).iter().map(|coordinate| coordinate.of(at)).collect());
        let warm_up = problem.settings.warm_up;
        let due = LEARN_AT.iter().any(|share| sweep == (share * warm_up as f64) as usize);
        if due && self.seen.len() >= ENOUGH && !self.root.is_empty() {
            self.learn_covariance();
        }
        if sweep + 1 == warm_up {
            self.seen.clear();
        }
    }

    fn learn_covariance(&mut self) {
        let (size, count) = (self.seen[0].len(), self.seen.len() as f64);
        let mean: Vec<f64> = (0..size).map(|i| self.seen.iter().map(|p| p[i]).sum::<f64>() / count).collect();
        let product = |i: usize, j: usize| {
            self.seen.iter().map(|p| (p[i] - mean[i]) * (p[j] - mean[j])).sum::<f64>() / (count - 1.0)
        };
        let mut covariance = Matrix::from_fn(size, size, product);
        covariance.add_to_diagonal(1e-3); // so that no direction is shut, whatever was seen
        if linalg::cholesky(&mut covariance).is_ok() {
            self.root = covariance.data().to_vec();
            (self.log_size, self.learned) = (0.0, 0);
        }
        self.seen.clear();
    }
}
