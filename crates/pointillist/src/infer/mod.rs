//! From events to a posterior: a [`Model`] says what is believed, [`Model::fit`] does the rest.
//!
//! The order of a fit: coordinates to the unit box; a scan of starting length-scales; L-BFGS over Θ (and Z) by `collapsed.rs`
//! (default) or `joint.rs` (the paper's); on grids from coarse to fine (`schedule.rs`); natural steps to the end at the last Θ.

mod collapsed;
mod family;
mod given;
mod joint;
mod lattice;
pub(crate) mod lbfgs;
mod natural;
mod parameters;
mod prior;
mod schedule;
pub(crate) mod sites;
mod start;

pub use family::{Family, LatticeChoice, Tried};
pub use given::{Gradient, bound_at};
pub(crate) use parameters::{MEANS, MOST_VARIANCE, least_variance};
pub use prior::Prior;
pub(crate) use schedule::{describe, peaks};

use crate::basis::{Basis, Features, Hyper, InducingSet, PriorMean, Scattered};
use crate::bound::{self, Bound, Gaussian};
use crate::error::{Error, Result};
use crate::events::Events;
use crate::kernel::{Expression, Factor};
use crate::points::Points;
use crate::posterior::{InducingField, Posterior, PosteriorBasis};
use crate::window::{Exposure, Scaling, Window};
use lbfgs::Curvature;
use natural::Sites;
use parameters::Layout;
use std::ops::ControlFlow;
use std::time::Instant;

/// How the bound is maximised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Method {
    /// Natural steps for q(u), L-BFGS for Θ.
    #[default]
    Collapsed,
    /// The paper's L-BFGS over Θ, m and vech(L) together.
    Joint,
}

/// Where the inducing points stand.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Inducing {
    /// A grid grown until nothing is gained by growing it.
    #[default]
    Auto,
    /// A regular grid with this many points an axis, the ends of the window included.
    Grid(Vec<usize>),
    /// These locations.
    At(Points),
}

/// What is believed of the intensity before events are seen, and how it is to be learned.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// The kernel; squared exponential on every axis if none is asked for.
    pub kernel: Option<Expression>,
    /// The prior mean of f.
    pub prior_mean: PriorMean,
    /// What f is made of.
    pub family: Family,
    /// The lattice, where f is made of one.
    pub lattice: LatticeChoice,
    /// The inducing points.
    pub inducing: Inducing,
    /// Whether their locations are optimised too.
    pub optimise_inducing: bool,
    /// How the bound is maximised.
    pub method: Method,
    /// Priors on hyper-parameters by name (`variance`, `lengthscale`, `lengthscale[1]`, `mean`), in the user's units.
    pub priors: Vec<(String, Prior)>,
    /// Hyper-parameters held at a value, by name, in the user's units.
    pub fixed: Vec<(String, f64)>,
    /// Relative jitter on the diagonal of K.
    pub jitter: f64,
    /// Gain of the bound, in nats, below which it has converged.
    pub gain: f64,
    /// Most evaluations of the bound and its gradient by Θ.
    pub most_evaluations: usize,
}

impl Default for Model {
    fn default() -> Self {
        Self {
            kernel: None,
            prior_mean: PriorMean::default(),
            family: Family::default(),
            lattice: LatticeChoice::default(),
            inducing: Inducing::default(),
            optimise_inducing: false,
            method: Method::default(),
            priors: Vec::new(),
            fixed: Vec::new(),
            jitter: 1e-8,
            gain: 1e-5,
            most_evaluations: 2000,
        }
    }
}

/// Why a fit stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stop {
    /// The next step would gain less than asked for.
    Converged,
    /// A better point was expected but none was found.
    NoProgress,
    /// The allowed evaluations were used up.
    Evaluations,
}

impl From<lbfgs::End> for Stop {
    fn from(end: lbfgs::End) -> Self {
        match end {
            lbfgs::End::Converged => Stop::Converged,
            lbfgs::End::Stuck => Stop::NoProgress,
            lbfgs::End::Evaluations => Stop::Evaluations,
        }
    }
}

impl Stop {
    /// Whether the answer can be relied on.
    pub fn converged(self) -> bool {
        self == Stop::Converged
    }

    /// One word for files and tables.
    pub fn as_str(self) -> &'static str {
        match self {
            Stop::Converged => "converged",
            Stop::NoProgress => "no_progress",
            Stop::Evaluations => "max_evaluations",
        }
    }
}

/// What a fit tells while it runs.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Progress {
    /// Evaluations of the bound so far.
    pub evaluations: usize,
    /// The bound at the last of them, in the user's units.
    pub bound: f64,
    /// Inducing points, or nodes of the lattice, in use.
    pub size: usize,
}

/// What a fit did.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Report {
    /// The bound (log-intensities in the user's units), in its parts.
    pub bound: Bound,
    /// log p(Θ) under the priors, 0 without.
    pub log_prior: f64,
    /// Why it stopped.
    pub stop: Stop,
    /// Steps of the optimiser over Θ.
    pub iterations: usize,
    /// Evaluations of the bound, natural steps included.
    pub evaluations: usize,
    /// Wall time.
    pub seconds: f64,
    /// The families that were tried.
    pub tried: Vec<Tried>,
    /// Number of inducing points, by axis where they form a grid; none on a lattice.
    pub inducing: Vec<usize>,
    /// How they, or the nodes of the lattice, were chosen, in a sentence.
    pub choice: String,
    /// Nodes that stood for events, and what they left out of the bound (nats), where there were too many events.
    pub summarised: Option<(usize, f64)>,
    /// Part of the prior variance over the window that the inducing points leave unexplained. Harmless where that variance is itself a
    /// small part of the rate.
    pub unexplained: f64,
    /// An estimate of the relative error of the integral over the window, where it is found by quadrature.
    pub integral_error: Option<f64>,
    /// Relative jitter on K.
    pub jitter: f64,
    /// The starting length-scales tried (in units of the window's sides), each with its bound.
    pub starts: Vec<(f64, f64)>,
    /// Whatever the user should know.
    pub warnings: Vec<String>,
}

/// A posterior with the story of its making.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Fit {
    /// The posterior.
    pub posterior: Posterior,
    /// How it came about.
    pub report: Report,
}

/// Called after every evaluation; `Break` cancels the fit.
pub type Watch<'a> = dyn FnMut(&Progress) -> ControlFlow<()> + 'a;

/// The data in unit coordinates, and what every stage of a fit shares.
struct Problem<'a> {
    points: Points,
    window: Window,
    weights: Vec<f64>,
    prior_mean: PriorMean,
    jitter: f64,
    most_evaluations: usize,
    theta_evaluations: usize,
    evaluations: usize,
    /// N times the log of the volume scale, less the log of the exposure at the events: bound outside = bound inside − this.
    log_units: f64,
    /// The sign of f: + unless the user's own word on the mean is negative.
    sign: f64,
    inducing: usize,
    watch: &'a mut Watch<'a>,
}

impl Problem<'_> {
    /// Mean rate in unit coordinates.
    fn rate(&self) -> f64 {
        self.weights.iter().sum::<f64>() / self.window.measure()
    }

    /// The f of a flat intensity.
    fn level(&self) -> f64 {
        self.sign * self.rate().sqrt()
    }

    fn flat_sites(&self) -> Sites {
        Sites::flat(self.level(), self.weights.len())
    }

    fn inducing_set(&self, locations: &Points, layout: &Layout) -> Scattered {
        if layout.moves() { Scattered::moving(locations.clone()) } else { Scattered::new(locations.clone()) }
    }

    fn inducing_set_at_rest(&self, locations: &Points) -> Scattered {
        Scattered::new(locations.clone())
    }

    fn evaluations_left(&self) -> usize {
        self.most_evaluations.saturating_sub(self.theta_evaluations)
    }

    /// Counts an evaluation by Θ and tells the watcher.
    fn report(&mut self, value: f64) -> Result<()> {
        self.theta_evaluations += 1;
        let progress = Progress { evaluations: self.evaluations, bound: value - self.log_units, size: self.inducing };
        match (self.watch)(&progress) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(Error::Cancelled),
        }
    }

    /// The error for a start at which nothing can be evaluated.
    fn unusable<T>(&self, state: &State) -> Result<T> {
        self.inducing_set_at_rest(&state.locations).basis(&state.hyper, self.prior_mean, self.jitter)?;
        Err(Error::NotANumber { parameters: state.hyper.kernel.parameters() })
    }
}

/// A point of the search: Θ, Z, and what the events said of f there.
#[derive(Clone)]
struct State {
    hyper: Hyper,
    locations: Points,
    sites: Sites,
    curvature: Curvature,
}

impl State {
    /// A start about whose surroundings nothing is known.
    fn new(hyper: Hyper, locations: Points, sites: Sites) -> Self {
        Self { hyper, locations, sites, curvature: Curvature::default() }
    }
}

/// Where an optimiser arrived.
struct Run {
    state: State,
    value: f64,
    stop: Stop,
    iterations: usize,
    q: Option<Gaussian>,
}

impl Run {
    fn new(hyper: Hyper, locations: Points, sites: Sites, outcome: lbfgs::Outcome, q: Option<Gaussian>) -> Self {
        let stop = outcome.end.into();
        let state = State { hyper, locations, sites, curvature: outcome.curvature };
        Self { state, value: outcome.value, stop, iterations: outcome.iterations, q }
    }
}

impl Model {
    /// Fits the model.
    pub fn fit(&self, events: &Events) -> Result<Fit> {
        self.fit_watched(events, &mut |_| ControlFlow::Continue(()))
    }

    /// Fits the model, calling `watch` after every evaluation by Θ; `Break` from it cancels with [`Error::Cancelled`].
    pub fn fit_watched<'a>(&self, events: &Events, watch: &'a mut Watch<'a>) -> Result<Fit> {
        self.check(events)?;
        let started = Instant::now();
        let mut fit = self.fit_families(events, watch)?;
        fit.report.seconds = started.elapsed().as_secs_f64();
        Ok(fit)
    }

    /// The fit with inducing points.
    fn fit_inducing<'a>(&self, events: &Events, watch: &'a mut Watch<'a>) -> Result<Fit> {
        let scaling = Scaling::of(events.window());
        let mut problem = Problem {
            points: scaling.points_inward(events.points()),
            window: events.window().scaled(&scaling),
            weights: vec![1.0; events.len()],
            prior_mean: self.prior_mean,
            jitter: self.jitter,
            most_evaluations: self.most_evaluations,
            theta_evaluations: 0,
            evaluations: 0,
            log_units: scaling.log_units(events.window(), events.points()),
            sign: self.sign(),
            inducing: 0,
            watch,
        };
        let (start, layout) = self.layout(&problem, &scaling)?;
        let found = schedule::run(self, &mut problem, &layout, start, &scaling)?;
        self.finish(&mut problem, &layout, found, events, &scaling)
    }

    fn check(&self, events: &Events) -> Result<()> {
        if events.is_empty() {
            return Err(Error::NoEvents);
        }
        let dims = events.window().dims();
        match &self.inducing {
            Inducing::Grid(counts) if counts.len() != dims => {
                return Err(Error::Dimension { what: "inducing grid", expected: dims, found: counts.len() });
            }
            Inducing::Grid(counts) if counts.contains(&0) => {
                return Err(Error::setting("inducing", format!("{counts:?}"), "needs at least one point an axis"));
            }
            Inducing::At(points) if points.dims() != dims => {
                return Err(Error::Dimension { what: "inducing locations", expected: dims, found: points.dims() });
            }
            Inducing::At(points) if points.is_empty() => {
                return Err(Error::setting("inducing", "none", "needs at least one location"));
            }
            _ => {}
        }
        if !(self.jitter >= 0.0 && self.jitter < 1.0) {
            return Err(Error::setting("jitter", self.jitter, "must lie in [0, 1)"));
        }
        if !(self.gain > 0.0 && self.gain.is_finite()) {
            return Err(Error::setting("gain", self.gain, "must be positive"));
        }
        Ok(())
    }

    /// The sign of f that the fixed value of, or the priors on, its mean ask for; f and −f are the same intensity.
    fn sign(&self) -> f64 {
        let fixed = self.fixed.iter().any(|(name, value)| name == "mean" && *value < 0.0);
        let negative = |prior: &Prior| matches!(prior, Prior::Normal { mean, .. } if *mean < 0.0);
        let believed = self.priors.iter().any(|(name, prior)| name == "mean" && negative(prior));
        if fixed || believed { -1.0 } else { 1.0 }
    }

    /// Θ to start from, and the layout of the search.
    fn layout(&self, problem: &Problem<'_>, scaling: &Scaling) -> Result<(Hyper, Layout)> {
        let (dims, rate, measure) = (problem.window.dims(), problem.rate(), problem.window.measure());
        let expression = match &self.kernel {
            Some(expression) => expression.clone(),
            None => Expression::on_all_axes(Factor::SquaredExponential, dims),
        };
        let kernel = start::kernel(&expression, &problem.points, scaling, rate, measure)?;
        let mut hyper = Hyper { kernel, mean: 0.8 * problem.level() };
        let mut layout = Layout::new(&hyper, &expression, problem.window.axes(), scaling, rate, measure)?;
        for (name, prior) in &self.priors {
            layout.add_prior(name, *prior, &hyper.kernel)?;
        }
        for (name, value) in &self.fixed {
            layout.fix(name, *value, &mut hyper)?;
        }
        if self.optimise_inducing {
            layout = layout.with_moving(problem.window.bounding_box());
        }
        Ok((hyper, layout))
    }

    /// Natural steps to the end at the last Θ, and the report.
    fn finish(
        &self,
        problem: &mut Problem<'_>,
        layout: &Layout,
        found: schedule::Found,
        events: &Events,
        scaling: &Scaling,
    ) -> Result<Fit> {
        let schedule::Found { run, counts, choice, starts } = found;
        let State { mut hyper, locations, sites, .. } = run.state;
        let set = Scattered::new(locations.clone());
        let basis = set.basis(&hyper, self.prior_mean, problem.jitter)?;
        let features = basis.features(&problem.points, &problem.window);
        let (mut q, settled) = match run.q {
            Some(q) => (q, true),
            None => {
                let optimum = natural::maximise(&features, &problem.weights, sites, 1e-9, 200)?;
                problem.evaluations += optimum.evaluations;
                (optimum.step.gaussian()?, optimum.converged)
            }
        };
        let mut total = bound::bound(&features, &problem.weights, &q);
        let unexplained = features.region.residual / (features.region.square.trace() + features.region.residual);
        let integral_error = integral_error(&*basis, &problem.window, &features, &q, total.integral());
        let log_prior = layout.log_prior(&hyper);
        if hyper.mean < 0.0 && problem.sign > 0.0 {
            // f and −f are the same intensity: report the positive one.
            hyper.mean = -hyper.mean;
            q.mean.iter_mut().for_each(|m| *m = -*m);
        }
        total.log_rate -= problem.log_units;
        let stop = if settled { run.stop } else { Stop::Evaluations };
        let mut report = Report {
            bound: total,
            log_prior,
            stop,
            iterations: run.iterations,
            evaluations: problem.evaluations,
            seconds: 0.0,
            tried: vec![],
            inducing: counts,
            choice,
            summarised: None,
            unexplained,
            integral_error,
            jitter: problem.jitter,
            starts,
            warnings: warnings(events, &layout.at_bounds(&hyper), features.region.residual / events.len() as f64),
        };
        if problem.jitter > self.jitter {
            let raised = format!("the jitter on K was raised from {:e} to {:e}", self.jitter, problem.jitter);
            report.warnings.push(raised);
        }
        let field = InducingField::new(hyper, self.prior_mean, problem.jitter, locations, q)?;
        let posterior = Posterior::new(events.window().clone(), scaling.clone(), PosteriorBasis::Inducing(field));
        Ok(Fit { posterior, report })
    }
}

/// The relative change of the integral over the window when it is given more nodes; `None` where it has a closed form.
fn integral_error(basis: &dyn Basis, window: &Window, features: &Features, q: &Gaussian, integral: f64) -> Option<f64> {
    if window.outlines().next().is_none() && !matches!(window.exposure(), Some(Exposure::Grid { .. })) {
        return None;
    }
    let finer = basis.over_more_nodes(window);
    let again =
        bound::integral_of_mean_square(&finer, features.offset, &q.mean) + bound::integral_of_variance(&finer, q);
    Some(((again - integral) / integral).abs())
}

fn warnings(events: &Events, at_bounds: &[String], unexplained: f64) -> Vec<String> {
    let mut warnings = Vec::new();
    let repeated = events.window().pieces().iter().any(|piece| piece.repeats > 1.0);
    match (events.len(), events.distinct()) {
        (1, _) => warnings.push("there is only one event: the answer is mostly the prior".into()),
        (n, 1) => warnings.push(format!("all {n} events are at the same place: the answer is mostly the prior")),
        (n, _) if n < 5 => warnings.push(format!("there are only {n} events: the answer leans on the prior")),
        // the same time in two trials is no tie
        (n, distinct) if distinct < n && !repeated => {
            warnings.push(format!("{n} events are at {distinct} distinct places: ties count as separate events"));
        }
        _ => {}
    }
    warnings.extend_from_slice(at_bounds);
    if unexplained > 0.01 {
        let percent = 100.0 * unexplained;
        warnings.push(format!(
            "the inducing points leave {percent:.1} % of the expected events unexplained: more of them would help"
        ));
    }
    warnings
}
