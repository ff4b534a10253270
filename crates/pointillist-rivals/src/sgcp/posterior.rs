//! The posterior of the intensity, as states of the chains: draws of the rate, its mean and quantiles, scores on held-out events.
//!
//! A draw of the rate is a state, then f at the points asked for from the GP given that state, jointly. Integrals are sums over
//! quadrature nodes of such a draw. Cost: a root (`field.rs`) of all points, a draw, in parallel over draws.

use super::chain::rate_given;
use super::diagnostics::{self, Diagnostics};
use super::field::{self, Keep, Root};
use super::state::{Latent, refuse_exposure};
use pointillist::Events;
use pointillist::Points;
use pointillist::Rate;
use pointillist::Window;
use pointillist::estimates::LogMean;
use pointillist::internals::{self, Nodes};
use pointillist::internals::{parallel, sample};
use pointillist::{Error, Result};

/// Most quadrature nodes for a score.
const SCORE_NODES: usize = 2500;

/// States drawn from the posterior of the sigmoidal Gaussian Cox process.
#[derive(Debug, Clone)]
pub struct SgcpPosterior {
    window: Window,
    /// Events and sentinels: where every state holds f besides its thinned events.
    head: Points,
    jitter: f64,
    /// States by chain.
    states: Vec<Vec<Latent>>,
    diagnostics: Diagnostics,
}

/// Scores on held-out events; log-intensities in the user's units.
#[derive(Debug, Clone, PartialEq)]
pub struct SgcpScore {
    /// Number of held-out events.
    pub events: usize,
    /// log E[p(H|f)], with its Monte Carlo error (autocorrelation of the chains included) and Pareto k̂.
    pub log_predictive: LogMean,
    /// E[log p(H|f)].
    pub expected_log: f64,
    /// log p(H|λ̂) at the posterior mean λ̂ of the rate.
    pub plug_in: f64,
    /// ∫λ̂.
    pub expected: f64,
}

impl SgcpPosterior {
    pub(super) fn new(
        window: Window,
        head: Points,
        jitter: f64,
        states: Vec<Vec<Latent>>,
        diagnostics: Diagnostics,
    ) -> Self {
        Self { window, head, jitter, states, diagnostics }
    }

    /// How the sampling went.
    pub fn diagnostics(&self) -> &Diagnostics {
        &self.diagnostics
    }

    /// The window.
    pub fn window(&self) -> &Window {
        &self.window
    }

    /// The states, by chain.
    pub fn states(&self) -> &[Vec<Latent>] {
        &self.states
    }

    /// `draws` joint draws of the rate at points: from as many states, evenly spread over all, or from every state in turn.
    pub fn rate_draws(&self, points: &Points, draws: usize, seed: u64) -> Result<Vec<Vec<f64>>> {
        let states: Vec<&Latent> = self.states.iter().flatten().collect();
        if states.is_empty() {
            return Err(Error::setting(
                "draws",
                draws,
                "the run has not left its warm-up: there are no states to draw from",
            ));
        }
        let chosen = |draw: usize| match draws {
            few if few < states.len() => (2 * draw + 1) * states.len() / (2 * few),
            _ => draw % states.len(),
        };
        let one = |draw: usize| self.rate_draw(states[chosen(draw)], points, seed, draw as u64);
        parallel::try_each(draws, one)
    }

    fn rate_draw(&self, latent: &Latent, points: &Points, seed: u64, draw: u64) -> Result<Vec<f64>> {
        let known = self.head.followed_by(&latent.thinned);
        let lengthscales = &latent.parameters.lengthscales;
        let order = field::farthest_first(&known, lengthscales);
        let failed = Error::NotPositiveDefinite { pivot: 0, size: known.len(), jitter: self.jitter };
        let root = Root::new(&known, order, lengthscales, Keep::Above(self.jitter)).ok_or(failed)?;
        rate_given(&mut sample::stream(seed, draw), latent, &self.head, points, &root, self.jitter)
    }

    /// Mean and standard deviation of the rate at points, over `draws` draws.
    pub fn rate(&self, points: &Points, draws: usize, seed: u64) -> Result<Rate> {
        Ok(self.rate_and_quantiles(points, &[], draws, seed)?.0)
    }

    /// Quantiles of the rate over `draws` draws: for each probability, one value per point.
    pub fn quantiles(&self, points: &Points, probabilities: &[f64], draws: usize, seed: u64) -> Result<Vec<Vec<f64>>> {
        Ok(self.rate_and_quantiles(points, probabilities, draws, seed)?.1)
    }

    /// Both, from the same draws.
    pub fn rate_and_quantiles(
        &self,
        points: &Points,
        probabilities: &[f64],
        draws: usize,
        seed: u64,
    ) -> Result<(Rate, Vec<Vec<f64>>)> {
        if let Some(p) = probabilities.iter().find(|p| !(0.0..=1.0).contains(*p)) {
            return Err(Error::setting("quantile", p, "must lie between 0 and 1"));
        }
        let rates = self.rate_draws(points, at_least_two(draws)?, seed)?;
        let mean = means(&rates);
        let variance = |i: usize| rates.iter().map(|r| (r[i] - mean[i]).powi(2)).sum::<f64>() / (draws - 1) as f64;
        let sd = (0..points.len()).map(|i| variance(i).sqrt()).collect();
        let sorted: Vec<Vec<f64>> = (0..points.len())
            .map(|i| {
                let mut column: Vec<f64> = rates.iter().map(|r| r[i]).collect();
                column.sort_by(f64::total_cmp);
                column
            })
            .collect();
        let quantiles = probabilities.iter().map(|&p| sorted.iter().map(|column| quantile(column, p)).collect());
        Ok((Rate { mean, sd }, quantiles.collect()))
    }

    /// Scores held-out events, with `draws` draws of the rate at them and at the quadrature nodes, jointly. Their window, which lies inside
    /// that of the fit, says how often they were looked for.
    pub fn score(&self, held_out: &Events, draws: usize, seed: u64) -> Result<SgcpScore> {
        let mut scores = self.scores(std::slice::from_ref(held_out), draws, seed)?;
        scores.pop().ok_or(Error::NoEvents)
    }

    /// Scores several such sets, each on its own, with the same draws of the rate.
    pub fn scores(&self, held_out: &[Events], draws: usize, seed: u64) -> Result<Vec<SgcpScore>> {
        let mut all = Points::of_rows(self.window.dims(), vec![]);
        // Sets from the same window share its nodes.
        let (mut known, mut nodes): (Vec<&Window>, Vec<NodePlaces>) = (vec![], vec![]);
        let mut of_set = Vec::with_capacity(held_out.len());
        for set in held_out {
            internals::check_covers(&self.window, set.window())?;
            refuse_exposure(set.window())?;
            let place = known.iter().position(|window| *window == set.window()).unwrap_or(known.len());
            if place == known.len() {
                let Nodes { points, weights } = self.score_nodes(set.window());
                known.push(set.window());
                nodes.push(NodePlaces { first: all.len(), weights });
                all = all.followed_by(&points);
            }
            of_set.push(place);
        }
        let mut first = all.len();
        all = held_out.iter().fold(all, |all, set| all.followed_by(set.points()));
        let rates = self.rate_draws(&all, at_least_two(draws)?, seed)?;
        let score = |(set, place): (&Events, usize)| {
            let own = first..first + set.len();
            first = own.end;
            self.score_of(own, &nodes[place], &rates)
        };
        Ok(held_out.iter().zip(of_set).map(score).collect())
    }

    /// The score of the events in these places of each draw.
    fn score_of(&self, events: std::ops::Range<usize>, nodes: &NodePlaces, rates: &[Vec<f64>]) -> SgcpScore {
        let integral =
            |rates: &[f64]| -> f64 { rates[nodes.first..].iter().zip(&nodes.weights).map(|(rate, w)| rate * w).sum() };
        let log_likelihood =
            |rates: &[f64]| rates[events.clone()].iter().map(|rate| rate.ln()).sum::<f64>() - integral(rates);
        let mean = means(rates);
        let logs: Vec<f64> = rates.iter().map(|rates| log_likelihood(rates)).collect();
        let mut log_predictive = sample::log_mean(&logs);
        log_predictive.se *= self.dependence(&logs);
        SgcpScore {
            events: events.len(),
            log_predictive,
            expected_log: logs.iter().sum::<f64>() / rates.len() as f64,
            plug_in: log_likelihood(&mean),
            expected: integral(&mean),
        }
    }

    /// Nodes fine enough for a rate that varies over half the shorter length-scales of the states.
    fn score_nodes(&self, window: &Window) -> Nodes {
        let length = |r: usize| {
            let mut all: Vec<f64> = self.states.iter().flatten().map(|s| s.parameters.lengthscales[r]).collect();
            all.sort_by(f64::total_cmp);
            0.5 * all.get(all.len() / 10).copied().unwrap_or(1.0)
        };
        let lengths: Vec<f64> = (0..self.window.dims()).map(length).collect();
        internals::nodes(window, &lengths, SCORE_NODES)
    }

    /// By what factor the autocorrelation of the chains widens the standard error of a mean of exp(logs).
    fn dependence(&self, logs: &[f64]) -> f64 {
        let largest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let weights: Vec<f64> = logs.iter().map(|l| (l - largest).exp()).collect();
        let length = logs.len() / self.states.len();
        let chains: Vec<Vec<f64>> = weights.chunks_exact(length.max(1)).map(<[f64]>::to_vec).collect();
        let effective = diagnostics::effective(&chains);
        if effective > 0.0 { (logs.len() as f64 / effective).sqrt().max(1.0) } else { 1.0 }
    }
}

/// Where the rates at the nodes of a window begin in each draw, and what they weigh.
struct NodePlaces {
    first: usize,
    weights: Vec<f64>,
}

fn at_least_two(draws: usize) -> Result<usize> {
    if draws >= 2 { Ok(draws) } else { Err(Error::setting("draws", draws, "must be at least 2")) }
}

/// The mean of each column of draws.
fn means(draws: &[Vec<f64>]) -> Vec<f64> {
    let sum = |i: usize| draws.iter().map(|d| d[i]).sum::<f64>();
    (0..draws[0].len()).map(|i| sum(i) / draws.len() as f64).collect()
}

/// A quantile of sorted values, straight between neighbours.
fn quantile(sorted: &[f64], p: f64) -> f64 {
    let place = p * (sorted.len() - 1) as f64;
    let below = place as usize;
    let above = (below + 1).min(sorted.len() - 1);
    sorted[below] + (place - below as f64) * (sorted[above] - sorted[below])
}
