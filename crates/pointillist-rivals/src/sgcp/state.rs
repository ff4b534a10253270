//! The latent state: parameters, levels, thinned events, f at every point that is held, and the joint density of all of these.
//!
//! With events x_n, thinned events x̃_m, boxes r and their bounds B_r ([`super::regions`]), per unit of the window's measure:
//!
//! p = p(Θ) p(λ*) · GP(f at events, sentinels, thinned events | Θ) · Π_n λ* σ(f_n) · Π_m λ* (B_{r(m)} − σ(f̃_m)) · exp(−λ* Σ_r B_r |T_r|)
//!     · Π_r p(k_r | f at the watchers of r, Θ)
//!
//! Thinned events are a set: their number and places are free, and integrating over them gives back Π_n λ(x_n) exp(−∫ min(λ, λ* B)).
//! Where f stays below the bounds this is the likelihood of the plain model, and since the last factor sums to one over the levels,
//! the posterior of f, Θ and λ* is that of the plain model. It differs from it only through functions that climb over a bound between
//! the points at which they are watched (`regions.rs` has the margin that makes this rare; candidates found above are counted).
//! With uniform thinning there is one bound, 1, and no difference.

use super::field::{self, Keep, Root};
use super::regions::{self, Regions};
use super::settings::{Gamma, Parameters, Settings};
use pointillist::Events;
use pointillist::Points;
use pointillist::Window;
use pointillist::internals::{self, Nodes};
use pointillist::{Error, Result};
use rand::Rng;

/// Most nodes for the integral that is watched while sampling.
const WATCHED_NODES: usize = 600;

/// What the process is not made for.
pub(super) fn refuse_exposure(window: &Window) -> Result<()> {
    let why = "the SGCP knows windows, polygons and repeats, but no exposure that varies from place to place";
    if window.exposure().is_some() { Err(Error::setting("exposure", "given", why)) } else { Ok(()) }
}

/// What all chains share.
#[derive(Debug, Clone)]
pub(super) struct Problem {
    pub(super) events: Points,
    pub(super) window: Window,
    pub(super) settings: Settings,
    pub(super) regions: Regions,
    pub(super) watchers: Vec<Vec<usize>>,
    pub(super) ceiling_prior: Gamma,
    /// λ* above this would need more points than there may be: the prior ends here.
    pub(super) most_ceiling: f64,
    /// Medians of the length-scales, in the units of the axes.
    pub(super) medians: Vec<f64>,
    /// Events, then sentinels.
    pub(super) head: Points,
    pub(super) nodes: Nodes,
}

impl Problem {
    pub(super) fn new(events: &Events, settings: &Settings) -> Result<Self> {
        let window = events.window();
        settings.check(window.dims())?;
        refuse_exposure(window)?;
        let regions = Regions::new(window, events.len(), settings)?;
        let sides: Vec<f64> = window.bounding_box().iter().map(|span| span.length()).collect();
        let lengths: Vec<f64> = sides.iter().map(|side| side / 4.0).collect();
        let problem = Self {
            events: events.points().clone(),
            watchers: regions.watchers(events.points()),
            head: events.points().followed_by(&regions.sentinels),
            ceiling_prior: settings.ceiling_prior(window, events.len()),
            most_ceiling: 0.5 * settings.most_points as f64 / window.measure(),
            medians: sides.iter().map(|side| settings.lengthscale.median * side).collect(),
            nodes: internals::nodes(window, &lengths, WATCHED_NODES),
            window: window.clone(),
            settings: settings.clone(),
            regions,
        };
        problem.check_size(problem.head.len() as f64)?;
        let least = settings.fixed.ceiling.unwrap_or(0.5 * problem.ceiling_prior.mean);
        problem.check_size(2.0 * least * window.measure())?;
        Ok(problem)
    }

    /// The same with other events; boxes, sentinels and priors stay.
    pub(super) fn with_events(&self, events: Points) -> Self {
        Self {
            watchers: self.regions.watchers(&events),
            head: events.followed_by(&self.regions.sentinels),
            events,
            ..self.clone()
        }
    }

    /// Refuses more points than the settings allow.
    pub(super) fn check_size(&self, points: f64) -> Result<()> {
        let most = self.settings.most_points;
        if points <= most as f64 {
            return Ok(());
        }
        let why = format!(
            "f would be held at more than most_points = {most} points (events, sentinels and thinned events): \
             this sampler costs up to the cube of their number"
        );
        Err(Error::setting("points", points.round(), why))
    }

    /// The root of the correlation at points, in an order that depends on their places alone.
    pub(super) fn root(&self, points: &Points, lengthscales: &[f64]) -> Result<Root> {
        let (size, jitter) = (points.len(), self.settings.jitter);
        let order = field::farthest_first(points, &self.medians);
        Root::new(points, order, lengthscales, Keep::Above(jitter)).ok_or(Error::NotPositiveDefinite {
            pivot: 0,
            size,
            jitter,
        })
    }
}

/// Everything a chain does not know.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Latent {
    /// λ* and the hyper-parameters of f.
    pub parameters: Parameters,
    /// Level of every box.
    pub levels: Vec<u8>,
    /// The thinned events.
    pub thinned: Points,
    /// f at the events, the sentinels and the thinned events.
    pub f: Vec<f64>,
}

impl Latent {
    /// A start: parameters and f from (narrowed) priors, nothing thinned yet.
    pub(super) fn start(problem: &Problem, rng: &mut impl Rng) -> Self {
        let settings = &problem.settings;
        let mut parameters = settings.draw_wide(&problem.window, problem.events.len(), 0.5, rng);
        if settings.fixed.ceiling.is_none() {
            // Where λ* starts is of no consequence to the posterior, but one far above costs thousands of thinned events.
            parameters.ceiling =
                parameters.ceiling.clamp(0.5 * problem.ceiling_prior.mean, 2.0 * problem.ceiling_prior.mean);
            parameters.ceiling = parameters.ceiling.min(problem.most_ceiling);
        }
        let white = field::prior_draw(rng, &problem.head, &parameters.lengthscales, settings.jitter);
        let f = white.iter().map(|w| parameters.mean + parameters.variance.sqrt() * w).collect();
        let thinned = Points::of_rows(problem.window.dims(), vec![]);
        Self { parameters, levels: vec![0; problem.regions.len()], thinned, f }
    }

    /// Events, sentinels and thinned events, in the order of f.
    pub(super) fn points(&self, problem: &Problem) -> Points {
        problem.head.followed_by(&self.thinned)
    }

    /// (f − mean) / √variance.
    pub(super) fn standardised(&self) -> Vec<f64> {
        let Parameters { mean, variance, .. } = self.parameters;
        self.f.iter().map(|f| (f - mean) / variance.sqrt()).collect()
    }

    pub(super) fn margin(&self, problem: &Problem) -> f64 {
        problem.regions.margin(&self.parameters.lengthscales, self.parameters.variance)
    }

    /// Refuses a state, from a file, that does not fit its problem.
    pub(super) fn check(&self, problem: &Problem) -> Result<()> {
        self.parameters.check(problem.window.dims())?;
        problem.window.check_inside(&self.thinned)?;
        let whole = self.levels.len() == problem.regions.len()
            && self.levels.iter().all(|&level| level <= regions::TIGHTEST)
            && self.f.len() == problem.head.len() + self.thinned.len()
            && self.f.iter().all(|f| f.is_finite());
        if whole { Ok(()) } else { Err(Error::setting("state", "latent", "does not fit its events and settings")) }
    }
}

/// The factors of the joint density that f has besides its Gaussian.
pub(super) struct Likelihood<'a> {
    problem: &'a Problem,
    levels: &'a [u8],
    /// B at each thinned event.
    bounds: Vec<f64>,
}

impl<'a> Likelihood<'a> {
    pub(super) fn new(problem: &'a Problem, levels: &'a [u8], thinned: &Points) -> Self {
        let bounds = thinned.rows().map(|row| regions::bound(levels[problem.regions.index_of(row)])).collect();
        Self { problem, levels, bounds }
    }

    /// Their logarithm; −∞ where a bound is violated.
    pub(super) fn log(&self, f: &[f64], margin: f64) -> f64 {
        let (events, thinned) = (&f[..self.problem.events.len()], &f[self.problem.head.len()..]);
        let kept: f64 = events.iter().map(|&f| log_sigmoid(f)).sum();
        let dropped: f64 = thinned.iter().zip(&self.bounds).map(|(&f, &bound)| log_room(f, bound)).sum();
        kept + dropped + self.problem.regions.log_prior(self.levels, &self.problem.watchers, f, margin)
    }

    /// Its slope by f.
    pub(super) fn slope(&self, f: &[f64], margin: f64) -> Vec<f64> {
        let head = self.problem.head.len();
        let mut slope = vec![0.0; f.len()];
        for n in 0..self.problem.events.len() {
            slope[n] = sigmoid(-f[n]);
        }
        for (m, &bound) in self.bounds.iter().enumerate() {
            let sigma = sigmoid(f[head + m]);
            slope[head + m] = if bound == 1.0 { -sigma } else { -sigma * (1.0 - sigma) / (bound - sigma) };
        }
        self.problem.regions.add_slope(self.levels, &self.problem.watchers, f, margin, &mut slope);
        slope
    }
}

/// 1/(1 + e^{−f}).
pub(super) fn sigmoid(f: f64) -> f64 {
    1.0 / (1.0 + (-f).exp())
}

/// log σ(f), without overflow.
pub(super) fn log_sigmoid(f: f64) -> f64 {
    f.min(0.0) - (-f.abs()).exp().ln_1p()
}

/// log (bound − σ(f)); −∞ where there is no room.
fn log_room(f: f64, bound: f64) -> f64 {
    if bound == 1.0 {
        return log_sigmoid(-f);
    }
    let room = bound - sigmoid(f);
    if room > 0.0 { room.ln() } else { f64::NEG_INFINITY }
}

#[cfg(test)]
mod tests {
    use super::super::settings::Thinning;
    use super::*;
    use pointillist::testing::check_gradient;

    #[test]
    fn slopes_are_those_of_the_log_likelihood() {
        let window = Window::interval(0.0, 1.0).unwrap();
        let events = Events::new(Points::line(&[0.1, 0.2, 0.9]).unwrap(), window).unwrap();
        let settings = Settings { thinning: Thinning::Adaptive { regions: Some(vec![2]) }, ..Settings::default() };
        let problem = Problem::new(&events, &settings).unwrap();
        let thinned = Points::line(&[0.3, 0.45, 0.7]).unwrap();
        let levels = [0, 1];
        let likelihood = Likelihood::new(&problem, &levels, &thinned);
        // Three events, five sentinels, three thinned events, all well below the bounds.
        let f = [0.5, -0.3, -1.0, -2.0, -2.1, -1.9, -2.2, -3.0, 0.4, -0.8, -1.2];
        let slope = likelihood.slope(&f, 0.1);
        assert!(check_gradient(|f| likelihood.log(f, 0.1), &f, &slope) < 1e-8);
        let mut above = f;
        above[10] = 0.1; // σ above ½ in the box that thins up to ½
        assert_eq!(likelihood.log(&above, 0.1), f64::NEG_INFINITY);
        assert!((log_sigmoid(-800.0) + 800.0).abs() < 1e-9 && log_sigmoid(800.0) == 0.0);
    }
}
