//! Every method on the same events, scored on the same held-out ones by the same definitions.
//!
//! Two scores that all can have: the log-likelihood of the held-out events at the mean rate (plug-in), and, where a method has a posterior,
//! log E[p(H|λ)] with its Monte Carlo error. Training and held-out events are two halves of one set, so that both have the same rate.

use crate::baseline::sgcp::{Settings, Sgcp};
use crate::baseline::{EdgeCorrection, Homogeneous, KernelSmoother};
use crate::error::{Error, Result};
use crate::events::Events;
use crate::infer::Model;
use crate::points::Points;
use crate::sample::importance::LogMean;
use crate::sample::{self};
use rand::RngExt;
use std::ops::ControlFlow;
use std::time::Instant;

/// Draws for sampled scores.
const SAMPLES: usize = 10_000;
/// Draws of the sigmoidal process at points.
const SGCP_DRAWS: usize = 1000;

/// A way from events to an intensity.
#[derive(Debug, Clone, PartialEq)]
pub enum Contender {
    /// This library's own model.
    Variational(Model),
    /// Kernel smoothing.
    Smoother(EdgeCorrection),
    /// One rate everywhere.
    Homogeneous,
    /// The sigmoidal Gaussian Cox process, sampled.
    Sgcp(Settings),
}

/// How a contender did on one split.
#[derive(Debug, Clone, PartialEq)]
pub struct Performance {
    /// log p(H | mean rate).
    pub log_likelihood: f64,
    /// log E[p(H | λ)], where there is a posterior.
    pub m_p: Option<LogMean>,
    /// E[log p(H | λ)], where there is a posterior that gives it.
    pub l_p: Option<f64>,
    /// The variational scores with q collapsed to its mean.
    pub l_0: Option<f64>,
    /// See `l_0`.
    pub m_0: Option<LogMean>,
    /// The mean rate at the points asked about.
    pub rate: Vec<f64>,
    /// Seconds to fit; scoring is not counted.
    pub seconds: f64,
    /// Whether the fit converged, or the chains agree.
    pub converged: bool,
}

/// Fits a contender to `train` and scores it on `held_out`, which was looked for in the same window; its mean rate at `at` too.
pub fn perform(
    contender: &Contender,
    train: &Events,
    held_out: &Points,
    at: &Points,
    seed: u64,
) -> Result<Performance> {
    let started = Instant::now();
    match contender {
        Contender::Variational(model) => {
            let fit = model.fit(train)?;
            let seconds = started.elapsed().as_secs_f64();
            let score = fit.posterior.score(held_out, SAMPLES, seed)?;
            Ok(Performance {
                log_likelihood: fit.posterior.log_likelihood(held_out)?,
                m_p: Some(score.m_p),
                l_p: Some(score.l_p),
                l_0: Some(score.l_0),
                m_0: Some(score.m_0),
                rate: fit.posterior.rate(at)?.mean,
                seconds,
                converged: fit.report.stop.converged(),
            })
        }
        Contender::Smoother(edges) => {
            let smoother = KernelSmoother::fit(train, *edges)?;
            let seconds = started.elapsed().as_secs_f64();
            Ok(Performance::plain(smoother.log_likelihood(held_out)?, smoother.rate(at)?, seconds))
        }
        Contender::Homogeneous => {
            let rate = Homogeneous::fit(train)?;
            let seconds = started.elapsed().as_secs_f64();
            let exact = LogMean { value: rate.log_predictive(held_out.len()), se: 0.0, k: f64::NEG_INFINITY };
            let plain = Performance::plain(rate.log_likelihood(held_out.len()), vec![rate.mean(); at.len()], seconds);
            Ok(Performance { m_p: Some(exact), ..plain })
        }
        Contender::Sgcp(settings) => {
            let posterior = Sgcp::fit(train, settings, &mut |_, _| ControlFlow::Continue(()))?;
            let seconds = started.elapsed().as_secs_f64();
            let score = posterior.score(held_out, SGCP_DRAWS, seed)?;
            let rate = if at.is_empty() { vec![] } else { posterior.rate(at, SGCP_DRAWS, seed)?.mean };
            Ok(Performance {
                m_p: Some(score.log_predictive),
                l_p: Some(score.expected_log),
                converged: posterior.diagnostics().converged,
                ..Performance::plain(score.plug_in, rate, seconds)
            })
        }
    }
}

impl Performance {
    /// Of a method without a posterior.
    fn plain(log_likelihood: f64, rate: Vec<f64>, seconds: f64) -> Self {
        Self { log_likelihood, m_p: None, l_p: None, l_0: None, m_0: None, rate, seconds, converged: true }
    }
}

/// Split number `number` of `seed`: each event to one half or the other with equal chance, neither empty.
pub fn halves(events: &Events, seed: u64, number: u64) -> Result<(Events, Points)> {
    if events.len() < 4 {
        return Err(Error::setting("events", events.len(), "a split needs at least 4 of them"));
    }
    let mut rng = sample::stream(seed, number);
    loop {
        let first: Vec<bool> = (0..events.len()).map(|_| rng.random()).collect();
        let half = |which: bool| {
            let rows = events.points().rows().zip(&first).filter(|(_, first)| **first == which);
            Points::of_rows(events.points().dims(), rows.flat_map(|(row, _)| row.to_vec()).collect())
        };
        let (train, test) = (half(true), half(false));
        if train.len() >= 2 && !test.is_empty() {
            return Ok((Events::new(train, events.window().clone())?, test));
        }
    }
}

/// The mean of differences between paired scores, and its standard error.
pub fn paired(a: &[f64], b: &[f64]) -> (f64, f64) {
    let differences: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
    let count = differences.len() as f64;
    let mean = differences.iter().sum::<f64>() / count;
    let variance = differences.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / (count - 1.0).max(1.0);
    (mean, (variance / count).sqrt())
}
