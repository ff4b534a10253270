//! The posterior of f itself, by sampling: the truth that the variational answer is checked against.
//!
//! Same kernel, same Θ, same window: p(f | x) ∝ GP(f) exp(−∫f²) Π f(x_n)². f at the events, at the points asked about and (where the inducing
//! points leave something unexplained) at quadrature nodes is linear in ε ~ N(0, I), and exp(−∫f²) is folded into that Gaussian exactly
//! (`score.rs`). What is left, Π f(x_n)², is sampled by elliptical slice moves about the Gaussian at its mode. Cost: N·D a move, D the number of
//! directions.

use crate::error::{Error, Result};
use crate::limits;
use crate::numerics::linalg::{self, Matrix};
use crate::points::Points;
use crate::posterior::Posterior;
use crate::sample::importance::{self, LogMean};
use crate::sample::{self, elliptical_slice, gaussian};
use crate::score::SquareProduct;
use rayon::iter::{IntoParallelIterator, ParallelIterator};

/// Part of the curvature at the mode that the reference Gaussian has: a little wider than the target.
const CURVATURE: f64 = 0.8;

/// How much to sample.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sampling {
    /// Independent chains.
    pub chains: usize,
    /// Draws kept of each.
    pub draws: usize,
    /// Draws of each that are thrown away first.
    pub warm_up: usize,
    /// Slice moves from draw to draw.
    pub moves: usize,
    /// Seed.
    pub seed: u64,
}

impl Default for Sampling {
    fn default() -> Self {
        Self { chains: 4, draws: 2000, warm_up: 500, moves: 10, seed: 0 }
    }
}

/// Draws of the intensity from its exact posterior.
#[derive(Debug, Clone, PartialEq)]
pub struct ExactDraws {
    /// For each chain, the draws one after another, each with a rate for every point.
    pub chains: Vec<Vec<Vec<f64>>>,
}

impl ExactDraws {
    /// The rates at point `i` in all draws of all chains.
    pub fn at(&self, i: usize) -> Vec<f64> {
        self.chains.iter().flatten().map(|draw| draw[i]).collect()
    }
}

impl Posterior {
    /// The intensity at `points` drawn from the exact posterior given `events`, those that this posterior was fitted to.
    pub fn sample_exact(&self, events: &Points, points: &Points, sampling: Sampling) -> Result<ExactDraws> {
        self.window().check_inside(events)?;
        if sampling.chains == 0 || sampling.draws == 0 {
            return Err(Error::setting("draws", 0, "must be at least 1"));
        }
        limits::numbers("draws", sampling.draws, points.len().saturating_mul(sampling.chains))?;
        let inner = self.scaling().points_inward(&events.followed_by(points));
        let joint = self.field().prior_folded(&inner, &self.window().scaled(self.scaling()))?.0;
        let seen = joint.first(events.len());
        let volume = self.scaling().volume();
        let chain = |chain: usize| {
            let mut walk = Walk::new(&seen, sampling.seed, chain as u64)?;
            let mut draws = Vec::with_capacity(sampling.draws);
            for draw in 0..sampling.warm_up + sampling.draws {
                (0..sampling.moves.max(1)).for_each(|_| walk.step());
                if draw >= sampling.warm_up {
                    draws.push(joint.squares(&walk.delta(), events.len()).iter().map(|f| f / volume).collect());
                }
            }
            Ok(draws)
        };
        let chains = (0..sampling.chains).into_par_iter().map(chain).collect::<Result<Vec<_>>>()?;
        Ok(ExactDraws { chains })
    }

    /// How well q covers the exact posterior: the weights p(x, f)/q(f) over draws of q. Their log-mean is the log-evidence (which the bound
    /// lies below), their Pareto k̂ says whether q could serve as a proposal: below 0.5 it is close, above 0.7 it misses something.
    pub fn coverage_of_q(&self, events: &Points, samples: usize, seed: u64) -> Result<LogMean> {
        self.window().check_inside(events)?;
        limits::draws("samples", samples)?;
        let points = self.scaling().points_inward(events);
        let units = self.scaling().log_units(self.window(), events);
        let (field, window) = (self.field(), self.window().scaled(self.scaling()));
        let (at, over) = (field.at(&points)?, field.over(&window)?);
        let weight = |draw: usize| -> Result<f64> {
            let noise = gaussian::standard_normal(&mut sample::stream(seed, draw as u64), field.size());
            let coefficients = field.draw(&noise)?;
            let f = at.mean(&coefficients);
            let log_rate: f64 = f.iter().zip(at.residual()).map(|(f, c)| (f * f + c).ln()).sum();
            Ok(log_rate - over(&coefficients) + field.log_prior_over_q(&coefficients, &noise)? - units)
        };
        Ok(importance::log_mean(&(0..samples).into_par_iter().map(weight).collect::<Result<Vec<_>>>()?))
    }
}

impl SquareProduct {
    /// The same for the first `count` points alone.
    fn first(&self, count: usize) -> SquareProduct {
        let dims = self.rows.rows();
        SquareProduct {
            mean: self.mean[..count].to_vec(),
            rows: Matrix::from_columns(dims.max(1), self.rows.data()[..dims * count].to_vec()),
            extra: self.extra[..count].to_vec(),
        }
    }

    /// f² at the points from `first` on.
    fn squares(&self, delta: &[f64], first: usize) -> Vec<f64> {
        let square = |k: usize| (self.mean[k] + linalg::dot(self.rows.col(k), delta)).powi(2) + self.extra[k];
        (first..self.mean.len()).map(square).collect()
    }
}

/// A chain of elliptical slice moves. The target is Π f_k² N(δ; 0, I); the ellipses are those of a Gaussian about its mode, and the slice
/// is of the target over that Gaussian.
struct Walk<'a> {
    reference: Reference<'a>,
    /// δ less the mode.
    from_mode: Vec<f64>,
    log_ratio: f64,
    rng: rand_chacha::ChaCha8Rng,
}

/// The Gaussian about the mode of a target.
struct Reference<'a> {
    target: &'a SquareProduct,
    mode: Vec<f64>,
    /// Cholesky factor of its precision.
    root: Matrix,
}

impl Reference<'_> {
    fn draw(&self, rng: &mut impl rand::Rng) -> Vec<f64> {
        let mut draw = gaussian::standard_normal(rng, self.mode.len());
        linalg::solve_lower_transposed(&self.root, &mut draw);
        draw
    }

    fn place(&self, from_mode: &[f64]) -> Vec<f64> {
        self.mode.iter().zip(from_mode).map(|(m, d)| m + d).collect()
    }

    /// log of the target over this Gaussian.
    fn log_ratio(&self, from_mode: &[f64]) -> f64 {
        let rotated = linalg::lower_transposed_times(&self.root, from_mode);
        self.target.log_target(&self.place(from_mode)).0 + 0.5 * linalg::dot(&rotated, &rotated)
    }
}

impl<'a> Walk<'a> {
    fn new(target: &'a SquareProduct, seed: u64, chain: u64) -> Result<Self> {
        let mut rng = sample::stream(seed, chain);
        let mode = target.climb(vec![0.0; target.rows.rows()])?;
        let root = target.precision_root(&mode.curvature, CURVATURE)?;
        let reference = Reference { target, mode: mode.delta, root };
        let from_mode = reference.draw(&mut rng);
        let log_ratio = reference.log_ratio(&from_mode);
        Ok(Self { reference, from_mode, log_ratio, rng })
    }

    fn step(&mut self) {
        let draw = self.reference.draw(&mut self.rng);
        let Self { reference, from_mode, log_ratio, rng } = self;
        elliptical_slice::step(rng, from_mode, &draw, log_ratio, |at| reference.log_ratio(at));
    }

    fn delta(&self) -> Vec<f64> {
        self.reference.place(&self.from_mode)
    }
}
