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
use crate::window::Window;
use rand_chacha::ChaCha8Rng;
use std::ops::Range;

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

/// How near q is to the exact posterior, by the importance weights of draws of it.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Coverage {
    /// log p(events), which the bound lies below; of an average under the weights of its components.
    pub log_evidence: LogMean,
    /// Pareto k̂ of the weights, each over what the bound of its component says that they are: below 0.5 q is close, above 0.7 it misses something.
    pub k: f64,
    /// By how many nats the bound lies below: the divergence of q from the exact posterior.
    pub gap: f64,
}

impl Coverage {
    /// Above this k̂ the weights have no variance: q misses a part of the posterior, however little that part may be.
    pub const CLOSE: f64 = 0.7;
    /// Nats between q and the posterior above which bands cannot be relied on. On real sets with up to 4, and k̂ up to 1.6, bands of 90 % held
    /// between 88 and 90 % of the exact posterior on the mean.
    pub const FAR: f64 = 10.0;

    /// Whether bands cannot be relied on.
    pub fn is_far(&self) -> bool {
        !(self.gap <= Self::FAR || self.k <= Self::CLOSE)
    }
}

/// Draws of q that are weighed for each component at least.
const LEAST_WEIGHED: usize = 50;

impl Posterior {
    /// The intensity at `points` drawn from the exact posterior given `events`, those that this posterior was fitted to. Components keep their
    /// weights, and each has chains of its own.
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
        let [seen, asked] = [events, points].map(|points| self.scaling().points_inward(points));
        let window = self.window().scaled(self.scaling());
        let shares = self.shares(sampling.draws);
        let heard: Vec<_> = self.components().iter().zip(shares).filter(|(_, share)| *share > 0).collect();
        let work = Work::new(sampling.chains * (heard.len() * sampling.warm_up + sampling.draws), watch);
        let mut chains = vec![vec![]; sampling.chains];
        for (number, (component, draws)) in heard.into_iter().enumerate() {
            let reference = component.field().exact(&seen, &asked, &window)?;
            let own = Sampling { draws, ..sampling };
            let chain = |chain: usize| {
                let mut walk = Walk::new(reference.as_ref(), own.seed, (chain + number * own.chains) as u64);
                walk.draws(own, self.scaling().volume(), &work)
            };
            let more = parallel::try_each(sampling.chains, chain)?;
            chains.iter_mut().zip(more).for_each(|(chain, more): (&mut Vec<_>, Vec<_>)| chain.extend(more));
        }
        Ok(ExactDraws { chains })
    }

    /// How well q covers the exact posterior: the weights p(events, f)/q(f) over draws of q, about `samples` of them, as many for each
    /// component.
    pub fn coverage_of_q(&self, events: &Points, samples: usize, seed: u64) -> Result<Coverage> {
        self.coverage_of_q_watched(events, samples, seed, &unwatched)
    }

    /// The same, telling `watch` which part of it is done.
    pub fn coverage_of_q_watched(
        &self,
        events: &Points,
        samples: usize,
        seed: u64,
        watch: &PartWatch<'_>,
    ) -> Result<Coverage> {
        self.window().check_inside(events)?;
        limits::draws("samples", samples)?;
        let seen = Weighed {
            points: self.scaling().points_inward(events),
            weights: vec![1.0; events.len()],
            log_units: self.scaling().log_units(self.window(), events),
        };
        self.coverage(&seen, samples, seed, watch)
    }

    /// The same for weighted points.
    pub(crate) fn coverage(
        &self,
        seen: &Weighed,
        samples: usize,
        seed: u64,
        watch: &PartWatch<'_>,
    ) -> Result<Coverage> {
        let each = samples.div_ceil(self.components().len()).max(LEAST_WEIGHED);
        let work = Work::new(each * self.components().len(), watch);
        let window = self.window().scaled(self.scaling());
        let (mut evidence, mut over_bound, mut bound) = (vec![], vec![], 0.0);
        for (number, component) in self.components().iter().enumerate() {
            let first = number * each;
            let logs = component.log_weights(seen, &window, (seed, first..first + each), &work)?;
            let own = logs.iter().sum::<f64>() / each as f64;
            bound += component.weight * own;
            over_bound.extend(logs.iter().map(|log| log - own));
            evidence.push((component.weight, importance::log_mean(&logs)));
        }
        let gap = evidence.iter().map(|(weight, mean)| weight * mean.value).sum::<f64>() - bound;
        let k = importance::log_mean(&over_bound).k;
        Ok(Coverage { log_evidence: LogMean::mixed(&evidence), k, gap })
    }
}

/// Points that stand for events, in the coordinates of the unit box.
pub(crate) struct Weighed {
    pub(crate) points: Points,
    pub(crate) weights: Vec<f64>,
    /// By how much the log-likelihood is higher in these coordinates and without the exposure.
    pub(crate) log_units: f64,
}

impl Component {
    /// log of p(events, f)/q(f) at draws with these numbers.
    fn log_weights(
        &self,
        seen: &Weighed,
        window: &Window,
        (seed, draws): (u64, Range<usize>),
        work: &Work<'_>,
    ) -> Result<Vec<f64>> {
        let (link, field) = (self.formula(), self.field());
        let (at, over) = (field.at(&seen.points)?, field.over(window)?);
        let weight = |draw: usize| -> Result<f64> {
            let noise = gaussian::standard_normal(&mut sample::stream(seed, (draws.start + draw) as u64), field.size());
            let coefficients = field.draw(&noise)?;
            let rates = at.mean(&coefficients).into_iter().zip(at.residual()).map(|(f, c)| link.moments(f, *c).0);
            let log_rate: f64 = rates.zip(&seen.weights).map(|(rate, weight)| weight * rate.ln()).sum();
            work.advance(1)?;
            Ok(log_rate - over(&coefficients) + field.log_prior_over_q(&coefficients, &noise)? - seen.log_units)
        };
        parallel::try_each(draws.len(), weight)
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

    /// Draws in the user's units, after the warm-up.
    fn draws(&mut self, sampling: Sampling, volume: f64, work: &Work<'_>) -> Result<Vec<Vec<f64>>> {
        let mut draws = Vec::with_capacity(sampling.draws);
        for draw in 0..sampling.warm_up + sampling.draws {
            (0..sampling.moves.max(1)).for_each(|_| self.step());
            if draw >= sampling.warm_up {
                draws.push(self.rates().iter().map(|rate| rate / volume).collect());
            }
            work.advance(1)?;
        }
        Ok(draws)
    }

    fn rates(&self) -> Vec<f64> {
        let size = self.state.len() - 1 - self.reference.target().parts.len();
        self.reference.rates(&self.state[..size])
    }
}
