//! What is believed before the events are seen, and how long to sample.
//!
//! λ(x) = λ* σ(f(x)), f ~ GP(mean, variance · exp(−½ Σ_r (x_r−y_r)²/ℓ_r²)). λ* is called the ceiling: no rate lies above it.

use pointillist::Window;
use pointillist::internals::limits;
use pointillist::internals::sample;
use pointillist::{Error, Result};
use rand::Rng;
use rand_distr::{Distribution, Gamma as GammaDraw, StandardNormal};
use std::ops::Range;

/// Most sweeps of a chain.
const MOST_SWEEPS: usize = 1_000_000_000;

/// log x ~ N(log median, log_sd²).
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct LogNormal {
    /// The median.
    pub median: f64,
    /// Standard deviation of the logarithm.
    pub log_sd: f64,
}

/// N(mean, sd²).
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Normal {
    /// The mean.
    pub mean: f64,
    /// The standard deviation.
    pub sd: f64,
}

/// A gamma density with this shape and mean.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Gamma {
    /// The shape; the larger, the narrower.
    pub shape: f64,
    /// The mean.
    pub mean: f64,
}

impl Gamma {
    /// Rate of the exponential tail.
    pub(super) fn rate(self) -> f64 {
        self.shape / self.mean
    }
}

/// Parameters held at a value; the others are sampled.
#[derive(Debug, Clone, PartialEq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Fixed {
    /// λ*, in events per unit of measure.
    pub ceiling: Option<f64>,
    /// One length-scale per axis, in the units of the axes.
    pub lengthscales: Option<Vec<f64>>,
    /// Variance of f.
    pub variance: Option<f64>,
    /// Mean of f.
    pub mean: Option<f64>,
}

/// Up to what rate the thinned events fill the window.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Thinning {
    /// Up to λ* everywhere (Adams, Murray and MacKay 2009).
    Uniform,
    /// Up to λ* times a level of its own in each of so many boxes per axis (after Gunter et al. 2014); without numbers, as many as the
    /// number of events suggests. It passes the same tests as uniform thinning. On the coal-mining data it holds 200 thinned events in
    /// place of 340 and was done in 0.6 of the time.
    Adaptive {
        /// Boxes on each axis.
        regions: Option<Vec<usize>>,
    },
}

/// The sampler's settings.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Settings {
    /// Prior of the length-scales, each in units of the window's side on its axis.
    pub lengthscale: LogNormal,
    /// Prior of the variance of f.
    pub variance: LogNormal,
    /// Prior of the mean of f.
    pub mean: Normal,
    /// Prior of λ*; if none, a gamma density with shape 2 and twice the mean rate of the events as its mean.
    pub ceiling: Option<Gamma>,
    /// What is known.
    pub fixed: Fixed,
    /// How events are thinned.
    pub thinning: Thinning,
    /// Independent chains.
    pub chains: usize,
    /// Sweeps of each chain that are not used, in which step sizes are learned.
    pub warm_up: usize,
    /// Sweeps from one recorded draw to the next.
    pub keep_every: usize,
    /// States kept for prediction, of each chain; when there are more, every other one is let go.
    pub most_states: usize,
    /// Elliptical slice steps a sweep.
    pub slices: usize,
    /// Leapfrog steps of a Hamiltonian trajectory, on average.
    pub leapfrogs: usize,
    /// Stop once every R̂ is below this …
    pub r_hat: f64,
    /// … and every effective number of draws is at least this.
    pub effective: f64,
    /// Sweeps between two looks at these.
    pub check_every: usize,
    /// Stop after so many sweeps of each chain, warm-up not counted.
    pub most_sweeps: usize,
    /// Refuse to hold f at more points than this; λ* is not let grow to where half as many candidates would be expected.
    pub most_points: usize,
    /// f is held to the root of this part of its variance; what is smaller is left out, so that the roots of its correlation are well
    /// conditioned, and short.
    pub jitter: f64,
    /// The seed; chain c draws from its stream c.
    pub seed: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            lengthscale: LogNormal { median: 0.2, log_sd: 1.0 },
            variance: LogNormal { median: 1.0, log_sd: 1.0 },
            mean: Normal { mean: 0.0, sd: 2.0 },
            ceiling: None,
            fixed: Fixed::default(),
            thinning: Thinning::Adaptive { regions: None },
            chains: 4,
            warm_up: 500,
            keep_every: 2,
            most_states: 500,
            slices: 10,
            leapfrogs: 6,
            r_hat: 1.01,
            effective: 400.0,
            check_every: 200,
            most_sweeps: 50_000,
            most_points: 6000,
            jitter: 1e-6,
            seed: 0,
        }
    }
}

/// The parameters of one intensity prior: what [`super::draw`] draws events with, and what a chain samples.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Parameters {
    /// λ*, in events per unit of measure.
    pub ceiling: f64,
    /// One length-scale per axis, in the units of the axes.
    pub lengthscales: Vec<f64>,
    /// Variance of f.
    pub variance: f64,
    /// Mean of f.
    pub mean: f64,
}

impl Parameters {
    pub(super) fn check(&self, dims: usize) -> Result<()> {
        if self.lengthscales.len() != dims {
            return Err(Error::Dimension { what: "lengthscales", expected: dims, found: self.lengthscales.len() });
        }
        positive("ceiling", self.ceiling)?;
        positive("variance", self.variance)?;
        self.lengthscales.iter().try_for_each(|&l| positive("lengthscale", l))?;
        if let Some(l) = self.lengthscales.iter().find(|l| **l < SHORTEST) {
            return Err(Error::setting(
                "lengthscale",
                format!("{l:e}"),
                "is too short to compute with; take 1e-100 or more",
            ));
        }
        if self.mean.is_finite() { Ok(()) } else { Err(Error::setting("mean", self.mean, "must be finite")) }
    }
}

/// Distances in units of a shorter length-scale are no numbers any more.
const SHORTEST: f64 = 1e-100;

impl Settings {
    /// Refuses what cannot be.
    pub(super) fn check(&self, dims: usize) -> Result<()> {
        positive("lengthscale median", self.lengthscale.median)?;
        positive("lengthscale log_sd", self.lengthscale.log_sd)?;
        positive("variance median", self.variance.median)?;
        positive("variance log_sd", self.variance.log_sd)?;
        positive("mean sd", self.mean.sd)?;
        positive("jitter", self.jitter)?;
        positive("r_hat", self.r_hat)?;
        positive("effective", self.effective)?;
        for (name, sweeps) in [("warm_up", self.warm_up), ("most_sweeps", self.most_sweeps)] {
            limits::at_most(name, sweeps, MOST_SWEEPS, "more would not end in a lifetime")?;
        }
        if let Some(gamma) = self.ceiling {
            positive("ceiling shape", gamma.shape)?;
            positive("ceiling mean", gamma.mean)?;
        }
        let counts = [
            ("chains", self.chains),
            ("keep_every", self.keep_every),
            ("slices", self.slices),
            ("leapfrogs", self.leapfrogs),
            ("check_every", self.check_every),
            ("most_sweeps", self.most_sweeps),
        ];
        if let Some((name, _)) = counts.iter().find(|(_, count)| *count == 0) {
            return Err(Error::setting(name, 0, "must be at least 1"));
        }
        if self.most_states < 2 {
            return Err(Error::setting("most_states", self.most_states, "must be at least 2"));
        }
        if let Thinning::Adaptive { regions: Some(regions) } = &self.thinning {
            if regions.len() != dims {
                return Err(Error::Dimension { what: "regions", expected: dims, found: regions.len() });
            }
            if regions.contains(&0) {
                return Err(Error::setting("regions", 0, "must be at least 1 on every axis"));
            }
        }
        self.filled_in(vec![1.0; dims], 1.0, 1.0, 0.0).check(dims)
    }

    /// Where a run ends at the latest.
    pub(super) fn last_sweep(&self) -> usize {
        self.warm_up.saturating_add(self.most_sweeps)
    }

    /// The round of sweeps that follows so many: from where to where.
    pub(super) fn round(&self, done: usize) -> Range<usize> {
        let (first, last) = if done < self.warm_up { (0, self.warm_up) } else { (self.warm_up, usize::MAX) };
        let start = first + (done - first) / self.check_every * self.check_every;
        start..start.saturating_add(self.check_every).min(last)
    }

    /// These parameters, but for the fixed ones.
    fn filled_in(&self, lengthscales: Vec<f64>, ceiling: f64, variance: f64, mean: f64) -> Parameters {
        Parameters {
            ceiling: self.fixed.ceiling.unwrap_or(ceiling),
            lengthscales: self.fixed.lengthscales.clone().unwrap_or(lengthscales),
            variance: self.fixed.variance.unwrap_or(variance),
            mean: self.fixed.mean.unwrap_or(mean),
        }
    }

    /// The prior of λ* for this many events in this window.
    pub(super) fn ceiling_prior(&self, window: &Window, events: usize) -> Gamma {
        self.ceiling.unwrap_or(Gamma { shape: 2.0, mean: 2.0 * (events.max(1) as f64) / window.measure() })
    }

    /// Parameters drawn from the priors, those that are fixed at their values: draw number `draw` of `seed`. The number of events
    /// matters only to a prior of λ* that is left to the data.
    pub fn draw_parameters(&self, window: &Window, events: usize, seed: u64, draw: u64) -> Result<Parameters> {
        self.check(window.dims())?;
        Ok(self.draw_wide(window, events, 1.0, &mut sample::stream(seed, draw)))
    }

    /// Parameters from priors whose spreads on the log scale are multiplied by `width`.
    pub(super) fn draw_wide(&self, window: &Window, events: usize, width: f64, rng: &mut impl Rng) -> Parameters {
        let mut normal = || width * Distribution::<f64>::sample(&StandardNormal, &mut *rng);
        let spans = window.bounding_box();
        let LogNormal { median, log_sd } = self.lengthscale;
        let lengthscales = spans.iter().map(|span| median * span.length() * (log_sd * normal()).exp()).collect();
        let variance = self.variance.median * (self.variance.log_sd * normal()).exp();
        let mean = self.mean.mean + self.mean.sd * normal();
        let prior = self.ceiling_prior(window, events);
        let ceiling = GammaDraw::new(prior.shape, 1.0 / prior.rate()).map_or(prior.mean, |gamma| gamma.sample(rng));
        self.filled_in(lengthscales, ceiling, variance, mean)
    }
}

fn positive(name: &str, value: f64) -> Result<()> {
    if value.is_finite() && value > 0.0 {
        Ok(())
    } else {
        Err(Error::setting(name, value, "must be positive and finite"))
    }
}
