//! Every method on the same events, scored on the same held-out ones by the same definitions.
//!
//! Two scores that all can have: the log-likelihood of the held-out events at the mean rate (plug-in), and, where a method has a posterior,
//! log E[p(H|λ)] with its Monte Carlo error. The window of the held-out events says where and how often they were looked for; their rate is that of the training events.

use crate::sgcp::{Diagnostics, Settings, Sgcp, SgcpPosterior, SgcpScore};
use crate::{EdgeCorrection, Homogeneous, KernelSmoother};
use pointillist::Events;
use pointillist::Model;
use pointillist::Points;
use pointillist::Posterior;
use pointillist::estimates::LogMean;
use pointillist::internals::{parallel, sample};
use pointillist::settings::PriorMean;
use pointillist::watch::PartWatch;
use pointillist::{Error, Family, InducingPoints, Result};
use rand::RngExt;
use std::ops::ControlFlow;
use std::time::Instant;

/// Draws for sampled scores that suffice for most purposes.
pub const SAMPLES: usize = 10_000;
/// A draw of the sigmoidal process at points costs a root of its own: there are so many times fewer, and for rates, which need no rare
/// ones, fewer still.
const DEARER: usize = 10;
const DEARER_FOR_RATES: usize = 25;
/// What part of a performance is the fit, about.
const FITTING: f64 = 0.8;

/// The band of a rate: these quantiles.
const BAND: [f64; 2] = [0.05, 0.95];

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

/// A model with inducing points, whatever it had.
pub fn on_inducing(model: Model) -> Model {
    let family = match model.family {
        Family::Inducing(points) => Family::Inducing(points),
        _ => Family::Inducing(InducingPoints::default()),
    };
    Model { family, ..model }
}

/// A model with inducing points at the maximum of the bound, with the mean that is asked for.
pub fn as_in_the_paper(model: Model) -> Model {
    let family = match model.family {
        Family::Inducing(points) if points.prior_mean == PriorMean::Integrated => {
            InducingPoints { prior_mean: PriorMean::Constant, ..points }.into()
        }
        other => other,
    };
    Model { family, average: false, penalise: false, ..model }
}

/// A contender that has seen its training events.
#[derive(Debug)]
pub struct Fitted {
    answer: Answer,
    /// Seconds it took.
    pub seconds: f64,
    /// Whether the fit converged, or the chains agree.
    pub converged: bool,
}

#[derive(Debug)]
enum Answer {
    Variational(Box<Posterior>),
    Smoother(Box<KernelSmoother>),
    Homogeneous(Homogeneous),
    Sgcp(Box<SgcpPosterior>),
}

/// Scores of held-out events; higher is better.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Scores {
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
}

impl Scores {
    /// M_p, or the log-likelihood where there is no posterior: the same definition, since such a method has one rate only.
    pub fn predictive(&self) -> f64 {
        self.m_p.map_or(self.log_likelihood, |m_p| m_p.value)
    }
}

/// Rates at points.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Rates {
    /// Their means.
    pub mean: Vec<f64>,
    /// Their 5 % and 95 % quantiles, where there is a posterior.
    pub band: Option<[Vec<f64>; 2]>,
}

/// How a contender did on one split.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Performance {
    /// On the held-out events.
    pub scores: Scores,
    /// At the points asked about.
    pub rates: Rates,
    /// Seconds to fit; scoring is not counted.
    pub seconds: f64,
    /// Whether the fit converged, or the chains agree.
    pub converged: bool,
    /// The largest R̂ of the chains, where there are any.
    pub r_hat: Option<f64>,
}

impl Rates {
    /// Root mean squared error against true rates at the same points.
    pub fn rms(&self, truth: &[f64]) -> f64 {
        let squares = self.mean.iter().zip(truth).map(|(a, b)| (a - b) * (a - b));
        (squares.sum::<f64>() / truth.len() as f64).sqrt()
    }

    /// The share of true rates inside the band.
    pub fn coverage(&self, truth: &[f64]) -> Option<f64> {
        let [lower, upper] = self.band.as_ref()?;
        let inside = truth.iter().zip(lower.iter().zip(upper)).filter(|(t, (lo, hi))| (**lo..=**hi).contains(t));
        Some(inside.count() as f64 / truth.len() as f64)
    }
}

/// Of a method without a posterior.
fn plain(log_likelihood: f64) -> Scores {
    Scores { log_likelihood, m_p: None, l_p: None, l_0: None, m_0: None }
}

fn sampled(score: &SgcpScore) -> Scores {
    Scores { m_p: Some(score.log_predictive), l_p: Some(score.expected_log), ..plain(score.plug_in) }
}

impl Contender {
    /// Fits to `train` and scores on `held_out`, whose window lies inside that of `train`, with so many draws; the rate at `at` too.
    pub fn perform(
        &self,
        train: &Events,
        held_out: &Events,
        at: &Points,
        samples: usize,
        seed: u64,
    ) -> Result<Performance> {
        self.perform_watched(train, held_out, at, (samples, seed), &|_| ControlFlow::Continue(()))
    }

    /// The same with (draws, seed), telling `watch` now and then how far it is, and asking whether to go on.
    pub fn perform_watched(
        &self,
        train: &Events,
        held_out: &Events,
        at: &Points,
        (samples, seed): (usize, u64),
        watch: &PartWatch<'_>,
    ) -> Result<Performance> {
        let fitted = self.fit_watched(train, &|part| watch(FITTING * part))?;
        let scores = fitted.score_watched(held_out, samples, seed, &|part| watch(FITTING + (1.0 - FITTING) * part))?;
        let rates = fitted.rates(at, samples, seed)?;
        let r_hat = fitted.diagnostics().map(Diagnostics::worst_r_hat);
        Ok(Performance { scores, rates, seconds: fitted.seconds, converged: fitted.converged, r_hat })
    }

    /// Sees the events.
    pub fn fit(&self, train: &Events) -> Result<Fitted> {
        self.fit_watched(train, &|_| ControlFlow::Continue(()))
    }

    fn fit_watched(&self, train: &Events, watch: &PartWatch<'_>) -> Result<Fitted> {
        let started = Instant::now();
        let (answer, converged) = match self {
            Contender::Variational(model) => {
                // A fit that is compared with others says nothing of itself.
                let fit = Model { checked: false, ..model.clone() }
                    .fit_watched(train, &mut |progress| watch(progress.part))?;
                (Answer::Variational(Box::new(fit.posterior)), fit.report.stop.converged())
            }
            Contender::Smoother(edges) => (Answer::Smoother(Box::new(KernelSmoother::fit(train, *edges)?)), true),
            Contender::Homogeneous => (Answer::Homogeneous(Homogeneous::fit(train)?), true),
            Contender::Sgcp(settings) => {
                let posterior = Sgcp::fit(train, settings, &mut |_, progress| {
                    watch((progress.sweeps as f64 / settings.most_sweeps.max(1) as f64).min(1.0))
                })?;
                let converged = posterior.diagnostics().converged;
                (Answer::Sgcp(Box::new(posterior)), converged)
            }
        };
        Ok(Fitted { answer, seconds: started.elapsed().as_secs_f64(), converged })
    }
}

impl Fitted {
    /// Scores sets of events, each on its own; their windows lie inside that of the events it was fitted to.
    pub fn scores(&self, held_out: &[Events], samples: usize, seed: u64) -> Result<Vec<Scores>> {
        match &self.answer {
            // The draws of the rate cost most, and serve all sets.
            Answer::Sgcp(posterior) => {
                let scores = posterior.scores(held_out, samples.div_ceil(DEARER), seed)?.into_iter();
                Ok(scores.map(|score| sampled(&score)).collect())
            }
            _ => parallel::try_each(held_out.len(), |i| self.score(&held_out[i], samples, seed)),
        }
    }

    /// Scores one set.
    pub fn score(&self, held_out: &Events, samples: usize, seed: u64) -> Result<Scores> {
        self.score_watched(held_out, samples, seed, &|_| ControlFlow::Continue(()))
    }

    fn score_watched(&self, held_out: &Events, samples: usize, seed: u64, watch: &PartWatch<'_>) -> Result<Scores> {
        Ok(match &self.answer {
            Answer::Variational(posterior) => {
                let score = posterior.score_watched(held_out, samples, seed, watch)?;
                Scores {
                    log_likelihood: posterior.log_likelihood(held_out)?,
                    m_p: Some(score.m_p),
                    l_p: Some(score.l_p),
                    l_0: Some(score.l_0),
                    m_0: Some(score.m_0),
                }
            }
            Answer::Smoother(smoother) => plain(smoother.log_likelihood(held_out)?),
            Answer::Homogeneous(rate) => {
                let exact = LogMean { value: rate.log_predictive(held_out), se: 0.0, k: f64::NEG_INFINITY };
                Scores { m_p: Some(exact), ..plain(rate.log_likelihood(held_out)) }
            }
            Answer::Sgcp(posterior) => sampled(&posterior.score(held_out, samples.div_ceil(DEARER), seed)?),
        })
    }

    /// The rate at points.
    pub fn rates(&self, at: &Points, samples: usize, seed: u64) -> Result<Rates> {
        if at.is_empty() {
            return Ok(Rates { mean: vec![], band: None });
        }
        let band = |quantiles: Vec<Vec<f64>>| quantiles.try_into().ok();
        Ok(match &self.answer {
            Answer::Variational(posterior) => {
                Rates { mean: posterior.rate(at)?.mean, band: band(posterior.quantiles(at, &BAND)?) }
            }
            Answer::Smoother(smoother) => Rates { mean: smoother.rate(at)?, band: None },
            Answer::Homogeneous(rate) => {
                let level = |value: f64| vec![value; at.len()];
                Rates { mean: level(rate.mean()), band: band(rate.quantiles(&BAND)?.into_iter().map(level).collect()) }
            }
            Answer::Sgcp(posterior) => {
                let (rate, quantiles) =
                    posterior.rate_and_quantiles(at, &BAND, samples.div_ceil(DEARER_FOR_RATES), seed)?;
                Rates { mean: rate.mean, band: band(quantiles) }
            }
        })
    }

    /// How the sampling went, if there was any.
    pub fn diagnostics(&self) -> Option<&Diagnostics> {
        match &self.answer {
            Answer::Sgcp(posterior) => Some(posterior.diagnostics()),
            _ => None,
        }
    }
}

/// Split number `number` of `seed`: each event to one half or the other with equal chance, neither empty. Both are what half a chance to be
/// seen leaves of the events, in the same window, as often looked at.
pub fn halves(events: &Events, seed: u64, number: u64) -> Result<(Events, Events)> {
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
            let seen = |points: Points| Events::new(points, events.window().clone());
            return Ok((seen(train)?, seen(test)?));
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
