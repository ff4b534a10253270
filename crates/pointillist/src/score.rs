//! Scores on held-out events: the paper's L_p, L_0, M_p and M_0 (docs/derivation.md (27) to (29)).
//!
//! L_p = E[log p(H|f)] is the bound without its KL term, L_0 the same with q collapsed to its mean. M_p and M_0 are
//! log E[p(H|f)], the quantities that those bound, by sampling: f at the held-out points and ∫f² are written in terms of
//! ε ~ N(0, I), exp(−∫f²) is folded into the Gaussian exactly (`Field::folded`), and only Π f_k² is averaged, over draws from
//! Gaussians at its modes (f may have either sign at each point, so there can be several), weighted by importance. Where these are too many
//! or too far from Gaussian, which the weights' Pareto k̂ tells, the average is annealed instead (`sample/annealing.rs`).

use crate::data::events::Events;
use crate::data::points::Points;
use crate::error::{Error, Result};
use crate::limits;
use crate::numerics::linalg::{self, Matrix};
use crate::numerics::newton::{self, Concave};
use crate::posterior::{Component as PosteriorComponent, Field, Posterior, in_blocks};
use crate::sample::annealing::{self, Effort};
use crate::sample::importance::{self, LogMean};
use crate::sample::{self, gaussian};
use crate::terms;
use crate::watch::{PartWatch, Work, unwatched};
use crate::window::Window;
use rand_chacha::ChaCha8Rng;

/// Draws made at a time: one matrix product.
const BATCH: usize = 256;
/// The proposal: this share of the draws from the Gaussians at the modes, with this part of their curvature. The last, which has none,
/// is the Gaussian that Π f_k² is averaged over itself: it bounds the weights.
const MIXTURE: [(f64, f64); 4] = [(0.6, 1.0), (0.2, 0.5), (0.1, 0.25), (0.1, 0.0)];
/// Climbs made in search of modes, where they are cheap; and how cheap they must be (multiplications a Newton step).
const CLIMBS: usize = 80;
const CHEAP: usize = 2_000_000;
/// Modes with less than e^−this of the largest mass are left to the wide components.
const NEGLIGIBLE_MODE: f64 = 10.0;

/// Weights up to which a component is left out of a score, and the fewest draws for one that is not.
const UNHEARD: f64 = 1e-3;
const FEWEST: usize = 1000;
/// Newton steps to a mode.
const MOST_NEWTON: usize = 50;
/// k̂ above which importance weights are not trusted.
const UNTRUSTED: f64 = 0.7;
/// An annealed average: its size, where there is one run for each so many draws asked for; the multiplications it may cost; and the number
/// of runs below which it says nothing.
const ANNEALING: Effort = Effort { runs: 0, steps: 1000, moves: 8 };
const DRAWS_A_RUN: usize = 200;
const WORK: f64 = 1e10;
const LEAST_RUNS: usize = 20;

/// Scores of a posterior on held-out events; log-intensities in the user's units.
///
/// ```
/// use pointillist::{Events, Model, Points, Window};
///
/// let window = Window::interval(0.0, 5.0)?;
/// let [seen, held_out] = [&[1.0, 1.2, 1.9, 4.0], &[0.9, 1.5, 1.6, 3.0]]
///     .map(|times| Events::new(Points::line(times)?, window.clone()));
/// let score = Model::default().fit(&seen?)?.posterior.score(&held_out?, 1000, 0)?;
/// assert!(score.l_p < score.m_p.value); // the one bounds the other
/// # Ok::<(), pointillist::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Score {
    /// Number of held-out events.
    pub events: usize,
    /// E[log p(H|f)].
    pub l_p: f64,
    /// The same with q(u) collapsed to its mean.
    pub l_0: f64,
    /// log E[p(H|f)], with Monte Carlo error and Pareto k̂.
    pub m_p: LogMean,
    /// The same with q(u) collapsed to its mean.
    pub m_0: LogMean,
}

impl Posterior {
    /// The log-likelihood of held-out events at the posterior mean of the rate. Their window, which lies inside that of the fit, says
    /// where, how often and how closely they were looked for.
    pub fn log_likelihood(&self, held_out: &Events) -> Result<f64> {
        let window = held_out.window();
        self.window().check_covers(window)?;
        let rates = self.rate(held_out.points())?.mean;
        let log = |(row, rate): (&[f64], &f64)| (window.exposure_at(row) * rate).ln();
        Ok(held_out.points().rows().zip(&rates).map(log).sum::<f64>() - self.expected(window)?)
    }

    /// Scores held-out events, with `samples` draws for M_p and M_0. Their window, which lies inside that of the fit, says where, how often
    /// and how closely they were looked for.
    pub fn score(&self, held_out: &Events, samples: usize, seed: u64) -> Result<Score> {
        self.score_watched(held_out, samples, seed, &unwatched)
    }

    /// The same, telling `watch` which part of it is done.
    pub fn score_watched(&self, held_out: &Events, samples: usize, seed: u64, watch: &PartWatch<'_>) -> Result<Score> {
        self.window().check_covers(held_out.window())?;
        if samples < 2 {
            return Err(Error::setting("samples", samples, "must be at least 2"));
        }
        limits::draws("samples", samples)?;
        let held = HeldOut {
            points: self.scaling().points_inward(held_out.points()),
            window: held_out.window().scaled(self.scaling()),
            units: self.scaling().log_units(held_out.window(), held_out.points()),
        };
        // Draws where they count; a part that hardly counts is not heard.
        let alone = self.components().len() == 1;
        let heard = || self.components().iter().filter(|component| alone || component.weight > UNHEARD);
        let share =
            |weight: f64| if alone { samples } else { ((samples as f64 * weight) as usize).max(FEWEST.min(samples)) };
        let averages = heard().map(|component| 2 * (held.points.len() + units_of(share(component.weight))));
        let work = Work::new(averages.sum(), watch);
        let score = |component: &PosteriorComponent| {
            held.score(component, Draws { count: share(component.weight), seed, work: &work })
        };
        let scores = heard().map(|component| Ok((component.weight, score(component)?)));
        Ok(Score::mixed(&scores.collect::<Result<Vec<_>>>()?))
    }
}

/// Draws that an average is taken of, and the work that they are part of.
#[derive(Clone, Copy)]
pub(crate) struct Draws<'a> {
    pub(crate) count: usize,
    pub(crate) seed: u64,
    pub(crate) work: &'a Work<'a>,
}

impl Draws<'_> {
    /// Units of the work that their average is.
    pub(crate) fn units(&self) -> usize {
        units_of(self.count)
    }
}

/// Units of the work that an average over so many draws is: one for each of them, and as many for an annealed average if it needs one.
fn units_of(draws: usize) -> usize {
    2 * draws
}

/// Held-out events, in the coordinates of the unit box.
struct HeldOut {
    points: Points,
    window: Window,
    units: f64,
}

impl HeldOut {
    fn score(&self, component: &PosteriorComponent, draws: Draws<'_>) -> Result<Score> {
        let potential = component.link.formula().events();
        let expected = |field: &dyn Field| {
            let marginals = in_blocks(&self.points, draws.work, |block| field.marginals(block))?;
            let log_rate: f64 = terms::expected(potential, &marginals).value.iter().sum();
            Ok(log_rate - field.expected(&self.window)? - self.units)
        };
        let sampled = |field: &dyn Field| {
            Ok::<_, Error>(field.log_predictive(&self.points, &self.window, draws)?.times(-self.units))
        };
        let (field, collapsed) = (component.field(), component.field().collapsed());
        Ok(Score {
            events: self.points.len(),
            l_p: expected(field)?,
            l_0: expected(&*collapsed)?,
            m_p: sampled(field)?,
            m_0: sampled(&*collapsed)?,
        })
    }
}

impl Score {
    /// Of a mixture: log-likelihoods average, likelihoods average.
    fn mixed(parts: &[(f64, Score)]) -> Self {
        if let [(_, one)] = parts {
            return one.clone();
        }
        let total: f64 = parts.iter().map(|(weight, _)| weight).sum();
        let average = |of: &dyn Fn(&Score) -> f64| parts.iter().map(|(weight, score)| weight / total * of(score)).sum();
        let log_average = |of: &dyn Fn(&Score) -> LogMean| {
            LogMean::mixed(&parts.iter().map(|(weight, score)| (weight / total, of(score))).collect::<Vec<_>>())
        };
        Self {
            events: parts[0].1.events,
            l_p: average(&|score| score.l_p),
            l_0: average(&|score| score.l_0),
            m_p: log_average(&|score| score.m_p),
            m_0: log_average(&|score| score.m_0),
        }
    }
}

/// Π_k (f_k² + extra_k), f_k = mean_k + rows_kᵀδ, δ ~ N(0, I).
pub(crate) struct SquareProduct {
    pub(crate) mean: Vec<f64>,
    pub(crate) rows: Matrix, // (D, K)
    pub(crate) extra: Vec<f64>,
}

/// One Gaussian of the proposal.
struct Component {
    weight: f64,
    centre: Vec<f64>,
    /// Cholesky factor of its precision.
    root: Matrix,
    log_determinant: f64,
}

impl SquareProduct {
    fn log_value(&self, k: usize, f: f64) -> f64 {
        (f * f + self.extra[k]).ln()
    }

    /// log of its expectation.
    pub(crate) fn log_expectation(&self, draws: Draws<'_>) -> Result<LogMean> {
        let Draws { count: samples, seed, work } = draws;
        let dims = self.rows.rows();
        if dims == 0 || self.mean.is_empty() {
            work.advance(draws.units())?;
            let value = (0..self.mean.len()).map(|k| self.log_value(k, self.mean[k])).sum();
            return Ok(LogMean { value, se: 0.0, k: f64::NEG_INFINITY });
        }
        let components = self.proposal(draws)?;
        let mut log_weights = Vec::with_capacity(samples);
        for (batch, start) in (0..samples).step_by(BATCH).enumerate() {
            let count = BATCH.min(samples - start);
            log_weights.extend(self.batch(&components, count, seed, batch as u64));
            work.advance(count)?;
        }
        let sampled = importance::log_mean(&log_weights);
        let annealed = if sampled.k > UNTRUSTED { self.annealed(draws)? } else { None };
        if annealed.is_none() {
            work.advance(draws.units() - samples)?;
        }
        Ok(annealed.filter(|annealed| annealed.k < sampled.k).unwrap_or(sampled))
    }

    /// The same average without a proposal, if it can be had: as much effort as the draws asked for, within limits. Moves are those of f at
    /// the points, not of δ.
    fn annealed(&self, draws: Draws<'_>) -> Result<Option<LogMean>> {
        let a_run = (ANNEALING.steps * ANNEALING.moves * self.rows.rows() * self.mean.len()) as f64;
        let runs = ((WORK / a_run) as usize).min(draws.count / DRAWS_A_RUN);
        let draw = |rng: &mut ChaCha8Rng| {
            let noise = gaussian::standard_normal(rng, self.rows.rows());
            (0..self.mean.len()).map(|k| linalg::dot(self.rows.col(k), &noise)).collect::<Vec<_>>()
        };
        let log_product = |f: &[f64]| f.iter().enumerate().map(|(k, f)| self.log_value(k, self.mean[k] + f)).sum();
        if runs < LEAST_RUNS {
            return Ok(None);
        }
        let tell = |done: usize| draws.work.advance(done * (draws.count / runs));
        annealing::log_mean(draw, log_product, Effort { runs, ..ANNEALING }, draws.seed, tell).map(Some)
    }

    /// log of target over proposal for a batch of draws.
    fn batch(&self, components: &[Component], count: usize, seed: u64, stream: u64) -> Vec<f64> {
        let dims = self.rows.rows();
        let mut rng = sample::stream(seed, stream);
        let mut draws = Matrix::zeros(dims, count);
        for i in 0..count {
            // Stratified over the components: the same share of every batch.
            let share = (i as f64 + 0.5) / count as f64;
            let mut before = 0.0;
            let component = components.iter().find(|c| {
                before += c.weight;
                share < before
            });
            let component = component.unwrap_or(&components[0]);
            let mut draw = gaussian::standard_normal(&mut rng, dims);
            linalg::solve_lower_transposed(&component.root, &mut draw);
            linalg::add_scaled(&mut draw, 1.0, &component.centre);
            draws.col_mut(i).copy_from_slice(&draw);
        }
        let mut log_proposal = vec![f64::NEG_INFINITY; count];
        for component in components {
            for (i, log_proposal) in log_proposal.iter_mut().enumerate() {
                let step: Vec<f64> = draws.col(i).iter().zip(&component.centre).map(|(d, c)| d - c).collect();
                let rotated = linalg::lower_transposed_times(&component.root, &step);
                let log_density =
                    component.weight.ln() + 0.5 * component.log_determinant - 0.5 * linalg::dot(&rotated, &rotated);
                *log_proposal = log_add(*log_proposal, log_density);
            }
        }
        let rows = Matrix::from_fn(self.mean.len(), dims, |k, d| self.rows[(d, k)]);
        let f = linalg::product(&rows, &draws);
        (0..count)
            .map(|i| {
                let log_likelihood: f64 =
                    f.col(i).iter().enumerate().map(|(k, f)| self.log_value(k, self.mean[k] + f)).sum();
                log_likelihood - 0.5 * linalg::dot(draws.col(i), draws.col(i)) - log_proposal[i]
            })
            .collect()
    }

    /// log of the target, Π f_k² N(δ; 0, I), up to a constant, and f.
    pub(crate) fn log_target(&self, delta: &[f64]) -> (f64, Vec<f64>) {
        let f: Vec<f64> = (0..self.mean.len()).map(|k| self.mean[k] + linalg::dot(self.rows.col(k), delta)).collect();
        let log_likelihood: f64 = f.iter().enumerate().map(|(k, f)| self.log_value(k, *f)).sum();
        (log_likelihood - 0.5 * linalg::dot(delta, delta), f)
    }

    /// Gaussians around the modes of the target, each narrow and wide, and the standard one.
    fn proposal(&self, draws: Draws<'_>) -> Result<Vec<Component>> {
        let dims = self.rows.rows();
        let modes = self.modes(draws)?;
        let top = modes.iter().map(|m| m.log_mass).fold(f64::NEG_INFINITY, f64::max);
        let total: f64 = modes.iter().map(|m| (m.log_mass - top).exp()).sum();
        let mut components = Vec::new();
        for (share, part) in MIXTURE {
            if part == 0.0 {
                let root = Matrix::scaled_identity(dims, 1.0);
                components.push(Component { weight: share, centre: vec![0.0; dims], root, log_determinant: 0.0 });
                continue;
            }
            for mode in &modes {
                let root = self.precision_root(&mode.curvature, part)?;
                let log_determinant = linalg::log_determinant(&root);
                let weight = share * (mode.log_mass - top).exp() / total;
                components.push(Component { weight, centre: mode.delta.clone(), root, log_determinant });
            }
        }
        Ok(components)
    }

    /// The modes of the target: from its centre and a few draws, then by turning the sign of f at one point after another, where f
    /// might well have either.
    fn modes(&self, draws: Draws<'_>) -> Result<Vec<Mode>> {
        let dims = self.rows.rows();
        let cheap = dims * dims * self.mean.len() <= CHEAP;
        let mut starts = vec![vec![0.0; dims]];
        if cheap {
            let mut rng = sample::stream(draws.seed, u64::MAX);
            starts.extend((0..8).map(|_| gaussian::standard_normal(&mut rng, dims)));
        }
        let mut modes: Vec<Mode> = Vec::new();
        let mut climbs = 0;
        while let Some(start) = starts.pop()
            && climbs < CLIMBS
        {
            climbs += 1;
            let mode = self.climb(start, &|| draws.work.pulse())?;
            let gap = |other: &Mode| mode.delta.iter().zip(&other.delta).map(|(a, b)| (a - b) * (a - b)).sum::<f64>();
            if modes.iter().any(|other| gap(other) < 1e-4 * dims as f64) {
                continue;
            }
            if cheap && modes.iter().all(|other| mode.log_mass > other.log_mass - NEGLIGIBLE_MODE) {
                starts.extend(self.turned(&mode.delta));
            }
            modes.push(mode);
        }
        let top = modes.iter().map(|m| m.log_mass).fold(f64::NEG_INFINITY, f64::max);
        modes.retain(|m| m.log_mass > top - NEGLIGIBLE_MODE);
        Ok(modes)
    }

    /// δ moved as little as turns f's sign at one point, for each point at which f lies within three standard deviations of 0.
    fn turned(&self, delta: &[f64]) -> Vec<Vec<f64>> {
        let turn = |k: usize| {
            let row = self.rows.col(k);
            let variance = linalg::dot(row, row);
            let f = self.mean[k] + linalg::dot(row, delta);
            let plausible = self.mean[k] * self.mean[k] < 9.0 * variance;
            plausible.then(|| {
                let mut moved = delta.to_vec();
                linalg::add_scaled(&mut moved, -1.5 * f / variance, row);
                moved
            })
        };
        (0..self.mean.len()).filter_map(turn).collect()
    }

    /// −∂² log f_k² at each point.
    fn curvature(&self, f: &[f64]) -> Vec<f64> {
        f.iter().zip(&self.extra).map(|(f, extra)| 2.0 / (f * f + extra)).collect()
    }

    /// The mode of the target near `delta`. Between the zeros of f the target is log-concave.
    pub(crate) fn climb(&self, delta: Vec<f64>, pulse: &dyn Fn() -> Result<()>) -> Result<Mode> {
        let delta = newton::climb(self, delta, 1e-8, MOST_NEWTON, pulse)?;
        let (value, f) = self.log_target(&delta);
        let curvature = self.curvature(&f);
        let log_mass = value - 0.5 * linalg::log_determinant(&self.precision_root(&curvature, 1.0)?);
        Ok(Mode { delta, curvature, log_mass })
    }

    /// Cholesky factor of I + part · Σ curvature_k rows_k rows_kᵀ.
    pub(crate) fn precision_root(&self, curvature: &[f64], part: f64) -> Result<Matrix> {
        let dims = self.rows.rows();
        let mut scaled = self.rows.clone();
        for (k, c) in curvature.iter().enumerate() {
            scaled.col_mut(k).iter_mut().for_each(|v| *v *= part * c);
        }
        let mut root = Matrix::scaled_identity(dims, 1.0);
        linalg::add_outer_lower(&mut root, 1.0, scaled.data(), self.rows.data());
        linalg::cholesky(&mut root).map_err(|pivot| Error::NotPositiveDefinite { pivot, size: dims, jitter: 0.0 })?;
        Ok(root)
    }
}

impl Concave for SquareProduct {
    fn value(&self, delta: &[f64]) -> f64 {
        self.log_target(delta).0
    }

    fn step(&self, delta: &[f64]) -> Result<(Vec<f64>, f64)> {
        let f = self.log_target(delta).1;
        let curvature = self.curvature(&f);
        let root = self.precision_root(&curvature, 1.0)?;
        let pull: Vec<f64> = f.iter().zip(&curvature).map(|(f, c)| f * c).collect();
        let mut step = linalg::columns_times(self.rows.data(), delta.len(), &pull);
        linalg::add_scaled(&mut step, -1.0, delta);
        let gradient = step.clone();
        linalg::solve_lower(&root, &mut step);
        linalg::solve_lower_transposed(&root, &mut step);
        let expected = linalg::dot(&gradient, &step);
        Ok((step, expected))
    }
}

/// A mode of Π f_k² N(δ; 0, I).
pub(crate) struct Mode {
    pub(crate) delta: Vec<f64>,
    /// −∂² log f_k² at each point.
    pub(crate) curvature: Vec<f64>,
    /// log of its mass, by Laplace's method, up to a constant.
    log_mass: f64,
}

/// log(eᵃ + eᵇ).
fn log_add(a: f64, b: f64) -> f64 {
    let (small, large) = if a < b { (a, b) } else { (b, a) };
    if large == f64::NEG_INFINITY { large } else { large + (small - large).exp().ln_1p() }
}
