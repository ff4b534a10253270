//! The posterior of f itself, by sampling: the truth that the variational answer is checked against.
//!
//! Same kernel, same Θ, same window: p(f | x) ∝ GP(f) exp(−∫f²) Π f(x_n)². f at the events, at the points asked about and (where the inducing
//! points leave something unexplained) at quadrature nodes is linear in ε ~ N(0, I), and exp(−∫f²) is folded into that Gaussian exactly
//! (`score.rs`). What is left, Π f(x_n)², is sampled by elliptical slice moves about the Gaussian at its mode. Cost per move: N·D, D the number of
//! directions; on a lattice a band solve and N.

use crate::data::points::Points;
use crate::error::{Error, Result};
use crate::limits;
use crate::numerics::linalg::{self, Matrix};
use crate::parallel;
use crate::posterior::{Component, Posterior};
use crate::sample::importance::{self, LogMean};
use crate::sample::{self, elliptical_slice, gaussian};
use crate::score::SquareProduct;
use crate::terms::Potential;
use crate::watch::{PartWatch, Work, unwatched};
use rand_chacha::ChaCha8Rng;

/// Part of the curvature at the mode that the reference Gaussian has: a little wider than the target.
pub(crate) const CURVATURE: f64 = 0.8;

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
    fn only_component(&self) -> Result<&Component> {
        let [component] = self.components() else {
            let requirement =
                "are more than the exact sampler checks at a time: take one of them, or fit without averaging";
            return Err(Error::setting("components", self.components().len(), requirement));
        };
        Ok(component)
    }

    /// The intensity at `points` drawn from the exact posterior given `events`, those that this posterior was fitted to.
    pub fn sample_exact(&self, events: &Points, points: &Points, sampling: Sampling) -> Result<ExactDraws> {
        self.sample_exact_watched(events, points, sampling, &unwatched)
    }

    /// The same, telling `watch` which part of it is done.
    pub fn sample_exact_watched(
        &self,
        events: &Points,
        points: &Points,
        sampling: Sampling,
        watch: &PartWatch<'_>,
    ) -> Result<ExactDraws> {
        self.window().check_inside(events)?;
        if sampling.chains == 0 || sampling.draws == 0 {
            return Err(Error::setting("draws", 0, "must be at least 1"));
        }
        limits::numbers("draws", sampling.draws, points.len().saturating_mul(sampling.chains))?;
        let component = self.only_component()?;
        let [seen, asked] = [events, points].map(|points| self.scaling().points_inward(points));
        let reference = component.field().exact(&seen, &asked, &self.window().scaled(self.scaling()))?;
        let volume = self.scaling().volume();
        let each = sampling.warm_up + sampling.draws;
        let work = Work::new(sampling.chains * each, watch);
        let chain = |chain: usize| {
            let mut walk = Walk::new(reference.as_ref(), sampling.seed, chain as u64);
            let mut draws = Vec::with_capacity(sampling.draws);
            for draw in 0..each {
                (0..sampling.moves.max(1)).for_each(|_| walk.step());
                if draw >= sampling.warm_up {
                    draws.push(walk.rates().iter().map(|rate| rate / volume).collect());
                }
                work.advance(1)?;
            }
            Ok(draws)
        };
        let chains = parallel::try_each(sampling.chains, chain)?;
        Ok(ExactDraws { chains })
    }

    /// How well q covers the exact posterior: the weights p(x, f)/q(f) over draws of q. Their log-mean is the log-evidence (which the bound
    /// lies below), their Pareto k̂ says whether q could serve as a proposal: below 0.5 it is close, above 0.7 it misses something.
    pub fn coverage_of_q(&self, events: &Points, samples: usize, seed: u64) -> Result<LogMean> {
        self.coverage_of_q_watched(events, samples, seed, &unwatched)
    }

    /// The same, telling `watch` which part of it is done.
    pub fn coverage_of_q_watched(
        &self,
        events: &Points,
        samples: usize,
        seed: u64,
        watch: &PartWatch<'_>,
    ) -> Result<LogMean> {
        self.window().check_inside(events)?;
        limits::draws("samples", samples)?;
        let points = self.scaling().points_inward(events);
        let units = self.scaling().log_units(self.window(), events);
        let component = self.only_component()?;
        let (link, window) = (component.formula(), self.window().scaled(self.scaling()));
        let field = component.field();
        let (at, over) = (field.at(&points)?, field.over(&window)?);
        let work = Work::new(samples, watch);
        let weight = |draw: usize| -> Result<f64> {
            let noise = gaussian::standard_normal(&mut sample::stream(seed, draw as u64), field.size());
            let coefficients = field.draw(&noise)?;
            let f = at.mean(&coefficients);
            let log_rate: f64 = f.iter().zip(at.residual()).map(|(f, c)| link.moments(*f, *c).0.ln()).sum();
            work.advance(1)?;
            Ok(log_rate - over(&coefficients) + field.log_prior_over_q(&coefficients, &noise)? - units)
        };
        Ok(importance::log_mean(&parallel::try_each(samples, weight)?))
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
}

impl SquareProduct {
    /// A δ for which the f_k are near these values, each the nearer the higher the curvature is there.
    fn nearest(&self, f: &[f64]) -> Result<Vec<f64>> {
        let curvature: Vec<f64> = f.iter().zip(&self.extra).map(|(f, extra)| 2.0 / (f * f + extra)).collect();
        let root = self.precision_root(&curvature, 1.0)?;
        let pull: Vec<f64> = (0..f.len()).map(|k| curvature[k] * (f[k] - self.mean[k])).collect();
        let mut delta = linalg::columns_times(self.rows.data(), self.rows.rows(), &pull);
        linalg::solve_lower(&root, &mut delta);
        linalg::solve_lower_transposed(&root, &mut delta);
        Ok(delta)
    }
}

/// What is walked on: what points say of f, times a Gaussian, seen from its mode.
pub(crate) struct Target {
    pub(crate) parts: Vec<Part>,
}

/// What one point says.
pub(crate) struct Part {
    /// f there, at the mode.
    pub(crate) f: f64,
    /// The curvature there, with its sign turned.
    pub(crate) curvature: f64,
    pub(crate) says: Says,
}

/// How it says it.
pub(crate) enum Says {
    /// log(f² + extra): an event, where the unknowns leave so much of f open.
    Square { extra: f64 },
    /// A weighted potential.
    Potential { weight: f64, potential: &'static dyn Potential },
}

/// The Gaussian about the mode of a target, a little wider than it.
pub(crate) trait Reference: Send + Sync {
    /// The target.
    fn target(&self) -> &Target;

    /// Draws of it less the mode, one or several at a time. Each is followed by what the target asks of it, all of which is linear: how
    /// much f is higher at each event, and the slope of the target's own Gaussian at the mode along it.
    fn draws(&self, rng: &mut ChaCha8Rng) -> Vec<Vec<f64>>;

    /// The rate at the points asked about.
    fn rates(&self, from_mode: &[f64]) -> Vec<f64>;
}

/// By f as a linear function of δ ~ N(0, I).
pub(crate) struct Dense {
    joint: SquareProduct,
    target: Target,
    mode: Vec<f64>,
    /// Cholesky factor of the reference's precision.
    root: Matrix,
}

impl Dense {
    /// The first points of the product are events, the others are asked about. The mode is searched for near `f` at the events: where
    /// events are many, the Gaussian without them has f near 0, with either sign, and a climb from there ends on some other mode.
    pub(crate) fn new(joint: SquareProduct, f: &[f64]) -> Result<Self> {
        let seen = joint.first(f.len());
        let mode = seen.climb(seen.nearest(f)?, &|| Ok(()))?;
        let root = seen.precision_root(&mode.curvature, CURVATURE)?;
        let f = seen.log_target(&mode.delta).1;
        let known = f.into_iter().zip(mode.curvature).zip(seen.extra);
        let parts = known.map(|((f, curvature), extra)| Part { f, curvature, says: Says::Square { extra } }).collect();
        let target = Target { parts };
        Ok(Self { joint, target, mode: mode.delta, root })
    }
}

impl Reference for Dense {
    fn target(&self) -> &Target {
        &self.target
    }

    fn draws(&self, rng: &mut ChaCha8Rng) -> Vec<Vec<f64>> {
        let mut draw = gaussian::standard_normal(rng, self.mode.len());
        linalg::solve_lower_transposed(&self.root, &mut draw);
        let events = self.target.parts.len();
        let higher: Vec<f64> = (0..events).map(|k| linalg::dot(self.joint.rows.col(k), &draw)).collect();
        let slope = linalg::dot(&self.mode, &draw);
        draw.extend(higher);
        draw.push(slope);
        vec![draw]
    }

    fn rates(&self, from_mode: &[f64]) -> Vec<f64> {
        let delta: Vec<f64> = self.mode.iter().zip(from_mode).map(|(m, d)| m + d).collect();
        let SquareProduct { mean, rows, extra } = &self.joint;
        let square = |k: usize| (mean[k] + linalg::dot(rows.col(k), &delta)).powi(2) + extra[k];
        (self.target.parts.len()..mean.len()).map(square).collect()
    }
}

/// A chain of elliptical slice moves: the ellipses are those of the reference, and the slice is of the target over it.
struct Walk<'a> {
    reference: &'a dyn Reference,
    /// As a draw of the reference is.
    state: Vec<f64>,
    log_ratio: f64,
    /// Draws not used yet.
    waiting: Vec<Vec<f64>>,
    rng: ChaCha8Rng,
}

impl Says {
    fn at(&self, f: f64) -> f64 {
        match self {
            Says::Square { extra } => (f * f + extra).ln(),
            Says::Potential { weight, potential } => weight * potential.at(f)[0],
        }
    }
}

impl Target {
    /// log of the target over the reference, up to a constant.
    fn log_ratio(&self, state: &[f64]) -> f64 {
        let (rest, slope) = state.split_at(state.len() - 1);
        let higher = &rest[rest.len() - self.parts.len()..];
        let log_ratio = |(part, higher): (&Part, &f64)| {
            part.says.at(part.f + higher) + 0.5 * CURVATURE * part.curvature * higher * higher
        };
        self.parts.iter().zip(higher).map(log_ratio).sum::<f64>() - slope[0]
    }
}

impl<'a> Walk<'a> {
    fn new(reference: &'a dyn Reference, seed: u64, chain: u64) -> Self {
        let rng = sample::stream(seed, chain);
        let mut walk = Self { reference, state: Vec::new(), log_ratio: 0.0, waiting: Vec::new(), rng };
        walk.state = walk.next_draw();
        walk.log_ratio = reference.target().log_ratio(&walk.state);
        walk
    }

    fn next_draw(&mut self) -> Vec<f64> {
        if self.waiting.is_empty() {
            self.waiting = self.reference.draws(&mut self.rng);
        }
        self.waiting.pop().unwrap_or_default()
    }

    fn step(&mut self) {
        let draw = self.next_draw();
        let target = self.reference.target();
        elliptical_slice::step(&mut self.rng, &mut self.state, &draw, &mut self.log_ratio, |at| target.log_ratio(at));
    }

    fn rates(&self) -> Vec<f64> {
        let size = self.state.len() - 1 - self.reference.target().parts.len();
        self.reference.rates(&self.state[..size])
    }
}
