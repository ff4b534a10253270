//! From events to a posterior: a [`Model`] says what is believed, [`Model::fit`] does the rest.
//!
//! The order of a fit: the families to try (`family.rs`); coordinates to the unit box; a scan of starting lengths and L-BFGS over
//! Θ, from coarse fields to fine ones (`search.rs`), or the paper's scheme (`joint.rs`); natural steps to the end at the last Θ.
//! `inducing.rs` and `on_lattice/` say what the search sees of each family.

mod at_bound;
mod beliefs;
mod checked;
mod course;
mod effects;
mod family;
mod given;
mod inducing;
mod joint;
mod kernel_theta;
mod lattice;
pub(crate) mod lbfgs;
mod layered;
mod measured;
mod members;
mod model;
mod observed;
mod on_lattice;
mod prior;
mod profile;
mod sampled;
mod ratios;
mod search;
mod start;
mod tally;
mod theta;
mod tuning;
mod types;

pub use at_bound::{AtBound, Bounded, RangeEnd};
pub use family::Tried;
pub use given::{Given, Gradient, bound_at};
#[cfg(test)]
pub(crate) use inducing::{grid_optimum, optimum};
pub use layered::{FieldReport, JointReport};
pub use measured::{MeasuredFit, MeasuredReport, Measurements, Slope};
pub use members::Alone;
pub use model::{Budget, Family, Inducing, InducingPoints, LatticeChoice, Method, Model, Vary};
pub use prior::Prior;
pub use types::{Latent, Loading, TypesFit, TypesReport, by_type};

use crate::bound::{self, Bound, Gaussian};
use crate::covariates::{Covariate, Regressors};
use crate::data::seen::Data;
use crate::data::summary::Summary;
use crate::error::{Error, Result};
use crate::exact::Coverage;
use crate::field::inducing::by_axis::Spare;
use crate::field::inducing::{Basis, GridPoints, Hyper, PriorMean, WithConstant};
use crate::field::lattice::Smoothness;
use crate::gaussian::step::{Clamp, Until};
use crate::kernel::{Expression, Factor, Part, Term, TermExpression};
use crate::limits;
use crate::posterior::{Component, Goodness, InducingField, Posterior, PosteriorBasis};
use crate::terms::Link;
use crate::window::{Scaling, Window};
use beliefs::Isotropy;
use inducing::{HyperAt, Kept, OnInducing};
use kernel_theta::KernelLayout;
use members::Members;
use observed::Observed;
use search::{Run, Search, describe};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant;
use tally::Tally;

/// A [`Model`] as its parts ask for it: all families' settings side by side.
#[derive(Debug, Clone)]
struct Asked {
    kernel: Option<Expression>,
    prior_mean: PriorMean,
    kind: AskedKind,
    lattice: LatticeChoice,
    inducing: Inducing,
    optimise_inducing: bool,
    method: Method,
    priors: Vec<(String, Prior)>,
    fixed: Vec<(String, f64)>,
    jitter: f64,
    gain: f64,
    most_evaluations: usize,
    most_bytes: usize,
    budget: Budget,
    /// Where a step on a lattice takes so many seconds or more, Θ is learned on coarser ones.
    dear: f64,
    exact: bool,
    tolerance: f64,
    errors: bool,
    average: bool,
    penalise: bool,
    covariates: Vec<Covariate>,
    /// What these add to f over the window of the events, once that is known.
    regressors: Option<Arc<Regressors>>,
    checked: bool,
}

/// Which families are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AskedKind {
    Auto,
    Inducing,
    Lattice,
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
///
/// ```
/// use pointillist::{Events, Model, Points, Progress, Window};
/// use std::ops::ControlFlow;
///
/// let events = Events::new(Points::line(&[0.4, 1.0, 1.1, 3.9])?, Window::interval(0.0, 5.0)?)?;
/// let mut best = f64::NEG_INFINITY;
/// let mut watch = |progress: &Progress| {
///     best = best.max(progress.bound);
///     ControlFlow::Continue(())
/// };
/// Model::default().fit_watched(&events, &mut watch)?;
/// assert!(best.is_finite());
/// # Ok::<(), pointillist::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Progress {
    /// Evaluations of the bound so far.
    pub evaluations: usize,
    /// The bound at the last of them, in the user's units.
    pub bound: f64,
    /// Inducing points, or nodes of the lattice, in use.
    pub size: usize,
    /// What it is at.
    pub stage: FitStage,
    /// The part of the work that is done, from 0 to 1, as far as can be foreseen: it never falls, is about linear in time, and 1 at the end.
    pub part: f64,
}

impl Progress {
    /// Nothing is done.
    #[cfg(test)]
    const BEGUN: Self = Self { evaluations: 0, bound: f64::NAN, size: 0, stage: FitStage::Search, part: 0.0 };
}

/// What a fit is at. With several families to try, the first two follow each other for each of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FitStage {
    /// It looks for the best hyper-parameters.
    Search,
    /// It looks at others about them.
    Average,
    /// It compares its answer with the exact posterior, and the events with its answer.
    Check,
}

impl FitStage {
    /// In words.
    pub fn as_str(self) -> &'static str {
        match self {
            FitStage::Search => "looking for the best hyper-parameters",
            FitStage::Average => "averaging over hyper-parameters",
            FitStage::Check => "checking the answer",
        }
    }
}

/// What stood for events in a fit.
#[derive(Debug, Clone, PartialEq)]
pub struct Summarised {
    /// Weighted nodes.
    pub nodes: usize,
    /// About what they left out of the data term, in nats.
    pub error: f64,
    /// Cells on each axis in which the events of a summary must be known for such a fit; none if there was no summary.
    pub cells: Vec<usize>,
}

/// A hyper-parameter with its standard error, in the user's units.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct StandardError {
    /// Its name, as in [`Model::fixed`].
    pub name: String,
    /// Its value.
    pub value: f64,
    /// Its standard error: from the curvature of bound and log prior.
    pub se: f64,
}

/// What a fit did.
///
/// ```
/// # use pointillist::{Events, Model, Points, Window};
/// # let events = Events::new(Points::line(&[0.4, 1.0, 1.1, 3.9])?, Window::interval(0.0, 5.0)?)?;
/// let report = Model::default().fit(&events)?.report;
/// assert!(report.stop.converged());
/// assert!((report.bound.integral() - 4.0).abs() < 1.0); // about as many events as were seen
/// for warning in &report.warnings {
///     println!("{warning}"); // "there are only 4 events: the answer leans on the prior"
/// }
/// # Ok::<(), pointillist::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Report {
    /// The bound (log-intensities in the user's units), in its parts.
    pub bound: Bound,
    /// log p(Θ) under the priors, 0 without.
    pub log_prior: f64,
    /// The priors that were in force on a lattice, by the names of hyper-parameters and in the user's units.
    pub priors: Vec<(String, Prior)>,
    /// About log p(events), bound and prior integrated over Θ, where the answer is an average.
    pub log_evidence: Option<f64>,
    /// The standard errors of the hyper-parameters that were learned, if they were asked for ([`Model::errors`]) and the bound has a maximum in all
    /// of them.
    pub standard_errors: Option<Vec<StandardError>>,
    /// Why it stopped.
    pub stop: Stop,
    /// Steps of the optimiser over Θ.
    pub iterations: usize,
    /// Evaluations of the bound, natural steps included.
    pub evaluations: usize,
    /// What natural steps on lattices cost in all, in seconds of a machine of two cores: from numbers of nodes and events alone, so that it is the same
    /// everywhere.
    pub work: f64,
    /// Wall time.
    pub seconds: f64,
    /// The families that were tried.
    pub tried: Vec<Tried>,
    /// Why an average is over families alone and not over hyper-parameters too, if it is.
    pub alone: Option<Alone>,
    /// Number of inducing points, by axis where they form a grid; none on a lattice.
    pub inducing: Vec<usize>,
    /// How they, or the nodes of the lattice, were chosen, in a sentence.
    pub choice: String,
    /// Why this is not the lattice that was asked for, if another family was so far ahead that it was not worth going on to that one.
    pub ended_early: Option<String>,
    /// What stood for events, where there were too many of them.
    pub summarised: Option<Summarised>,
    /// Part of the prior variance over the window that the inducing points leave unexplained. Harmless where that variance is itself a
    /// small part of the rate.
    pub unexplained: f64,
    /// An estimate of the relative error of the integral over the window, where it is found by quadrature.
    pub integral_error: Option<f64>,
    /// Relative jitter on K.
    pub jitter: f64,
    /// The starting length-scales tried (in units of the window's sides), each with its bound.
    pub starts: Vec<(f64, f64)>,
    /// The hyper-parameters that ended at a bound of their search.
    pub at_bounds: Vec<AtBound>,
    /// How near the answer is to the exact posterior of the same model, where that was looked at ([`Model::checked`]).
    pub coverage: Option<Coverage>,
    /// Whether the events look like events drawn from the answer, where that was looked at.
    pub goodness: Option<Goodness>,
    /// What each covariate adds to the log evidence of the best family, which is fitted anew without it, Θ and all; where that was looked at.
    pub gains: Vec<(String, f64)>,
    /// Whatever the user should know, in sentences; those of `at_bounds` are among them.
    pub warnings: Vec<String>,
}

/// A posterior with the story of its making.
///
/// ```
/// use pointillist::{Events, Fit, Model, Points, Window};
///
/// let events = Events::new(Points::line(&[0.4, 1.0, 1.1, 3.9])?, Window::interval(0.0, 5.0)?)?;
/// let Fit { posterior, report, .. } = Model::default().fit(&events)?;
/// assert!(report.evaluations > 0);
/// assert!(posterior.rate(&Points::line(&[1.0])?)?.mean[0] > 0.0);
/// # Ok::<(), pointillist::Error>(())
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Fit {
    /// The posterior.
    pub posterior: Posterior,
    /// How it came about.
    pub report: Report,
}

impl Fit {
    /// Tells that there is an answer, which is checked.
    fn tell(&self, part: f64, watch: &mut FitWatch<'_>) -> Result<()> {
        let (evaluations, bound) = (self.report.evaluations, self.report.bound.total());
        let size = self.posterior.components()[0].field().size();
        match watch(&Progress { evaluations, bound, size, stage: FitStage::Check, part }) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(Error::Cancelled),
        }
    }
}

/// Events on a line that are counted in cells first.
const MANY_ON_A_LINE: usize = 100_000;
/// The logarithm of a ratio of length-scales that is 1 but for rounding.
const EVEN: f64 = 1e-6;
/// Cells are made shorter up to so many times.
const MOST_TIMES: usize = 8;

/// Called after every evaluation; `Break` cancels the fit.
pub type FitWatch<'a> = dyn FnMut(&Progress) -> ControlFlow<()> + 'a;

impl Inducing {
    /// Most inducing points: a dense q of more would not fit into the memory of most machines.
    pub const MOST: usize = 5_000;

    /// Refuses more points than can be used.
    fn check_size(&self) -> Result<()> {
        let count = match self {
            Inducing::Auto => return Ok(()),
            Inducing::Grid(counts) => counts.iter().fold(1usize, |n, &c| n.saturating_mul(c)),
            Inducing::At(points) => points.len(),
        };
        limits::at_most("inducing", count, Self::MOST, "every one of them is compared with every other")
    }
}

impl Asked {
    /// This model with the inducing points, or the lattice, of an earlier fit.
    fn continuing(&self, before: &Posterior) -> Result<Self> {
        let mut model = self.clone();
        // A constant rate has a lattice that stands for nothing.
        let varying = before.components().iter().find(|component| !component.is_constant());
        match &varying.unwrap_or(&before.components()[0]).basis {
            PosteriorBasis::Inducing(field) => {
                model.kind = AskedKind::Inducing;
                model.prior_mean = field.prior_mean;
                model.inducing = match GridPoints::of(&field.locations) {
                    Some(grid) => Inducing::Grid(grid.counts()),
                    None => Inducing::At(before.scaling().points_outward(&field.locations)),
                };
                let asked = self.expression(before.window().dims());
                let same = |(term, asked): (&Term, &TermExpression)| {
                    let factors = |part: &Part| (part.axis, part.factor);
                    term.parts.iter().map(factors).eq(asked.parts.iter().map(|part| (part.axis, part.factor)))
                };
                let terms = &field.hyper.kernel.terms;
                if terms.len() != asked.terms.len() || !terms.iter().zip(&asked.terms).all(same) {
                    let axes: Vec<&str> = before.window().axes().iter().map(|axis| axis.name.as_str()).collect();
                    let own = field.hyper.kernel.expression(&axes);
                    let requirement = "is that of the model which is updated, and must be asked for again";
                    return Err(Error::setting("kernel", own, requirement));
                }
            }
            PosteriorBasis::Layers(_) => {
                let requirement = "cannot be updated; fit all events";
                return Err(Error::setting("update", "a model of several types", requirement));
            }
            PosteriorBasis::Lattice(field) => {
                model.kind = AskedKind::Lattice;
                model.lattice.nodes = Some(field.nodes());
                model.lattice.mean = field.mean_kind();
                // The families that counted; what had no say before has none now.
                let families: Vec<(Smoothness, Link)> = before
                    .components()
                    .iter()
                    .filter(|component| !component.is_constant())
                    .filter_map(Component::family)
                    .collect();
                let is_one = families.iter().all(|(smoothness, _)| *smoothness == field.smoothness());
                model.lattice.smoothness = is_one.then(|| field.smoothness());
                model.lattice.links =
                    Link::ALL.iter().copied().filter(|link| families.iter().any(|(_, own)| own == link)).collect();
            }
        }
        Ok(model)
    }

    fn fit_data(&self, data: Data<'_>, before: Option<&Posterior>, watch: &mut FitWatch<'_>) -> Result<Fit> {
        self.check(data)?;
        let started = Instant::now();
        if !self.covariates.is_empty() && self.regressors.is_none() {
            return self.with_covariates(data)?.fit_data(data, before, watch);
        }
        let summary = self.summary_on_a_line(data)?;
        let mut fit = self.fit_families(summary.as_ref().map_or(data, Data::Summary), before, watch)?;
        if self.checked && !self.covariates.is_empty() {
            fit.report.gains = self.gains(data, &fit, watch)?;
        }
        fit.report.warnings.splice(0..0, few_or_tied(data));
        if self.checked {
            fit.report.check(&fit.posterior, data)?;
        }
        fit.tell(1.0, watch)?;
        fit.report.seconds = started.elapsed().as_secs_f64();
        Ok(fit)
    }

    /// On a line cells are cheap: many events are best counted in small ones before anything else, if no lattice is asked for that is
    /// finer still.
    fn summary_on_a_line(&self, data: Data<'_>) -> Result<Option<Summary>> {
        let Data::Events(events) = data else { return Ok(None) };
        let cells = Summary::usual_cells(1);
        let asked = self.lattice.nodes.as_ref().and_then(|nodes| nodes.first());
        let is_fine = asked.is_some_and(|nodes| 2 * nodes > cells[0]);
        if self.exact || self.regressors.is_some() || is_fine || data.window().dims() > 1 || data.len() < MANY_ON_A_LINE
        {
            return Ok(None);
        }
        let mut summary = Summary::new(events.window(), &cells)?;
        summary.add(events.points())?;
        Ok(Some(summary))
    }

    /// The fit with inducing points. Where events are summarised in cells too long for the tolerance, once more in shorter ones.
    fn fit_inducing(&self, data: Data<'_>, before: Option<&Posterior>, watch: &mut FitWatch<'_>) -> Result<Fit> {
        let mut times = 1;
        let mut fit = self.fit_in_cells(data, before, times, &mut |progress| watch(progress))?;
        while fit.left_out > self.tolerance && fit.can_be_finer && times < MOST_TIMES {
            times *= 2;
            let (iterations, evaluations) = (fit.fit.report.iterations, fit.fit.report.evaluations);
            fit = self.fit_in_cells(data, Some(&fit.fit.posterior), times, &mut |progress| watch(progress))?;
            fit.fit.report.iterations += iterations;
            fit.fit.report.evaluations += evaluations;
        }
        if fit.left_out > self.tolerance {
            fit.fit.report.warnings.push(format!(
                "the summary leaves out {:.0e} of the data term, more than {:e}: it needs more cells",
                fit.left_out, self.tolerance
            ));
        }
        Ok(fit.fit)
    }

    /// The fit with events in cells so many `times` as short as the inducing points suggest, if they are in cells.
    fn fit_in_cells<'a>(
        &self,
        data: Data<'_>,
        before: Option<&Posterior>,
        times: usize,
        watch: &'a mut FitWatch<'a>,
    ) -> Result<InCells> {
        let scaling = Scaling::of(data.window());
        let window = data.window().scaled(&scaling);
        let observed = self.observed_for(data, &scaling, times)?;
        let tally = Tally::new(watch, self.most_evaluations, data.log_units(&scaling));
        let on = self.on_inducing(data, &scaling, &window, &observed)?;
        let again = before.and_then(|before| match &before.components()[0].basis {
            PosteriorBasis::Inducing(field) => on.again(field),
            PosteriorBasis::Lattice(_) | PosteriorBasis::Layers(_) => None,
        });
        let mut search = Search::new(on, &tally, data.len());
        search.averages = self.average;
        let is_new = again.is_none();
        if let Some(start) = again.as_ref().filter(|_| self.isotropy() == Isotropy::Tied) {
            // What the evidence was for before.
            let ratios = self.layout_with_ratios(&search.kind, &scaling)?;
            let x = ratios.pack(&start.theta.hyper, &start.theta.locations);
            if ratios.ratios().into_iter().any(|at| x[at].abs() > EVEN) {
                search.kind.layout = ratios;
            }
        }
        let (mut run, choice) = self.searched(&mut search, again, &scaling)?;
        if is_new && !run.kept.is_joint() && self.isotropy() == Isotropy::Tied {
            run = self.with_ratios(&mut search, run, &scaling)?;
        }
        self.finish(&search, (run, choice), (data, &scaling), times)
    }

    /// The slots of Θ with ratios of length-scales.
    fn layout_with_ratios(&self, on: &OnInducing<'_>, scaling: &Scaling) -> Result<KernelLayout> {
        let (window, mut hyper) = (on.window, on.hyper.clone());
        let (rate, expression) = (on.events as f64 / window.measure(), self.expression(window.dims()));
        self.kernel_layout(&mut hyper, &expression, (window, scaling), rate, Isotropy::Ratios)
    }

    /// A run with ratios of the length-scales that it has tied, where the evidence is for them.
    fn with_ratios<'a>(
        &self,
        search: &mut Search<'_, '_, OnInducing<'a>>,
        tied: Run<OnInducing<'a>>,
        scaling: &Scaling,
    ) -> Result<Run<OnInducing<'a>>> {
        let layout = self.layout_with_ratios(&search.kind, scaling)?;
        if layout.ratios().is_empty() {
            return Ok(tied);
        }
        let (level, theta) = (tied.level.clone(), tied.theta.clone());
        let start = search::Start { level, theta, sites: tied.sites.clone(), curvature: tied.curvature.clone() };
        let without = std::mem::replace(&mut search.kind.layout, layout);
        match search.with_ratios(&tied, start)? {
            Some(run) => Ok(run),
            None => {
                search.kind.layout = without;
                Ok(tied)
            }
        }
    }

    /// The best fit, and how its inducing points were chosen.
    fn searched<'a>(
        &self,
        search: &mut Search<'_, '_, OnInducing<'a>>,
        again: Option<search::Start<OnInducing<'a>>>,
        scaling: &Scaling,
    ) -> Result<(Run<OnInducing<'a>>, String)> {
        let (run, choice) = match (again, self.inducing.places(scaling)) {
            (Some(start), _) => {
                let choice = format!("{}, as before", describe(&start.level.counts));
                (search.climb(start)?, choice)
            }
            (None, Some(places)) => {
                let choice = match places {
                    inducing::Places::Grid(_) => "a regular grid, as asked for",
                    inducing::Places::At(_) => "the locations given",
                };
                (search.by_way_of_coarser(&places)?, choice.to_string())
            }
            (None, None) => {
                search.kind.check_needed()?;
                search.auto(None)?
            }
        };
        let moved = if self.optimise_inducing { ", then moved to where they serve best" } else { "" };
        Ok((run, format!("{choice}{moved}")))
    }

    /// What is seen of the events.
    fn observed_for(&self, data: Data<'_>, scaling: &Scaling, times: usize) -> Result<Observed> {
        let by_axis = self.goes_by_axis(&self.expression(data.window().dims()), data.window());
        self.observed(data, by_axis, scaling, times)
    }

    /// The data in unit coordinates, with Θ where it starts.
    fn on_inducing<'a>(
        &self,
        data: Data<'_>,
        scaling: &Scaling,
        window: &'a Window,
        observed: &'a Observed,
    ) -> Result<OnInducing<'a>> {
        let rate = data.len() as f64 / window.measure();
        let start = Link::Square.formula().start(rate);
        let expression = self.expression(window.dims());
        let kernel = start::kernel(&expression, &observed.seen, scaling, window, rate)?;
        let mut hyper = Hyper { kernel, mean: self.sign() * start.mean };
        let prior_mean = self.kind_of_mean();
        let constant = (prior_mean == PriorMean::Integrated).then_some(start.vague);
        let layout = self.kernel_layout(&mut hyper, &expression, (window, scaling), rate, self.isotropy())?;
        Ok(OnInducing {
            observed,
            window,
            events: data.len(),
            prior_mean,
            constant,
            jitter: self.jitter,
            level: self.sign() * start.flat,
            gain: self.gain,
            method: self.method,
            hyper,
            layout,
            at_rest: false,
            spare: Spare::default(),
        })
    }

    /// What becomes of the mean: nothing is integrated over of which something is said.
    fn kind_of_mean(&self) -> PriorMean {
        match self.prior_mean {
            PriorMean::Integrated if self.says_of("mean") => PriorMean::Constant,
            other => other,
        }
    }

    /// The slots of Θ with what is said of it, and with what is believed where nothing is said.
    fn kernel_layout(
        &self,
        hyper: &mut Hyper,
        expression: &Expression,
        (window, scaling): (&Window, &Scaling),
        rate: f64,
        isotropy: Isotropy,
    ) -> Result<KernelLayout> {
        let start = Link::Square.formula().start(rate);
        let mut layout = KernelLayout::new(hyper, expression, (window, scaling), rate, isotropy);
        for (name, prior) in &self.priors {
            layout.add_prior(name, *prior, &hyper.kernel)?;
        }
        for (name, value) in &self.fixed {
            layout.fix(name, *value, hyper)?;
            start::refuse_unresolved(&hyper.kernel, window)?;
        }
        layout.refuse_held_with_prior()?;
        if self.kind_of_mean() == PriorMean::Integrated {
            layout.hold_mean(self.sign() * start.flat, hyper);
        }
        if self.penalise {
            let vague = start.vague * Link::Square.formula().outward(scaling.volume()).0;
            layout.believe(&hyper.kernel, |axes| beliefs::length(axes, scaling), beliefs::deviation(vague));
        }
        if self.penalise || self.average {
            layout.by_logarithms();
        }
        Ok(if self.optimise_inducing { layout.with_moving(window.bounding_box()) } else { layout })
    }

    /// The bound of a summary at this Θ, in the coordinates of the unit box, after at most so many natural steps from a flat
    /// intensity; and how many they were. For whoever wants to see what a step costs.
    fn bound_at_fixed(&self, summary: &Summary, hyper: &Hyper, most_steps: usize) -> Result<(f64, usize)> {
        let (data, scaling) = (Data::Summary(summary), Scaling::of(summary.window()));
        let Inducing::Grid(counts) = &self.inducing else {
            return Err(Error::setting("inducing", "none", "needs a grid here"));
        };
        let (window, observed) = (data.window().scaled(&scaling), self.observed_for(data, &scaling, 1)?);
        let on = self.on_inducing(data, &scaling, &window, &observed)?;
        let theta = HyperAt { hyper: hyper.clone(), locations: window.grid_nearby(counts) };
        let until =
            Until { tolerance: 0.0, most: most_steps, clamp: Clamp::UntilSettled, foresees: false, pulse: &|| Ok(()) };
        let at = on.at(&theta, false, on.flat(), until)?;
        Ok((at.bound() - data.log_units(&scaling), at.steps()))
    }

    /// The kernel that is asked for.
    fn expression(&self, dims: usize) -> Expression {
        match &self.kernel {
            Some(expression) => expression.clone(),
            None => Expression::on_all_axes(Factor::SquaredExponential, dims),
        }
    }

    fn check(&self, data: Data<'_>) -> Result<()> {
        if data.len() == 0 {
            return Err(Error::NoEvents);
        }
        if self.exact && matches!(data, Data::Summary(_)) {
            return Err(Error::setting("exact", true, "needs the events themselves, not a summary of them"));
        }
        if self.tolerance.is_nan() || self.tolerance <= 0.0 {
            return Err(Error::setting("tolerance", self.tolerance, "must be positive"));
        }
        let dims = data.window().dims();
        self.inducing.check_size()?;
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
        if let Budget::Seconds(seconds) = self.budget
            && !(seconds > 0.0 && seconds.is_finite())
        {
            return Err(Error::setting("budget", seconds, "must be a positive number of seconds"));
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

    /// Natural steps to the end at the last Θ, and the report.
    fn finish<'a>(
        &self,
        search: &Search<'_, '_, OnInducing<'a>>,
        (run, choice): (Run<OnInducing<'a>>, String),
        (data, scaling): (Data<'_>, &Scaling),
        times: usize,
    ) -> Result<InCells> {
        let (on, tally) = (&search.kind, search.tally);
        let most = if run.kept.is_joint() { 1 } else { 200 };
        let until =
            Until { tolerance: 1e-9, most, clamp: Clamp::UntilSettled, foresees: false, pulse: &|| tally.pulse() };
        let at = on.at(&run.theta, false, run.sites.clone(), until)?;
        let (q, settled) = match &run.kept {
            Kept::Joint(q) => (q.clone(), true),
            _ => (at.gaussian()?, at.converged()),
        };
        let mut total = at.parts(on, &q);
        let (explained, residual) = at.explained(on);
        let basis = WithConstant { inner: at.basis(), sd: on.constant };
        let integral_error = integral_error(&basis, on.window, &q, total.integral());
        let left_out = at.left_out(on, &q, total.log_rate)?;
        let relative = left_out.map_or(0.0, |error| error / total.log_rate.abs());
        let is_last = relative <= self.tolerance || !on.observed.can_be_finer || times >= MOST_TIMES;
        let by_axis = at.is_by_axis();
        drop(at);
        total.log_rate -= tally.log_units();
        let kernel = &run.theta.hyper.kernel;
        let at_bounds = on.layout.at_bounds(&run.theta.hyper);
        let is_without_structure =
            at_bounds.iter().any(AtBound::is_without_structure) || inducing::is_crowded(kernel, distinct(data));
        let mut warnings = warnings(&at_bounds, residual / data.len() as f64, is_without_structure);
        warnings.extend(inducing::unseen_cycle(kernel, &run.theta.locations, data.window().axes()));
        if on.jitter > self.jitter {
            warnings.push(format!("the jitter on K was raised from {:e} to {:e}", self.jitter, on.jitter));
        }
        let Members { list, standard_errors, alone, .. } = match !run.kept.is_joint() && is_last {
            true if self.average => search.members(&run)?,
            true if self.errors => Members::none(search.standard_errors(&run)?),
            _ => Members::none(None),
        };
        let report = Report {
            log_evidence: (!list.is_empty()).then(|| members::log_evidence(&list) - tally.log_units()),
            bound: total,
            log_prior: on.layout.log_prior(&run.theta.hyper),
            standard_errors,
            stop: if settled { Stop::from(run.end) } else { Stop::Evaluations },
            iterations: search.iterations,
            evaluations: tally.steps() + 1,
            work: 0.0,
            seconds: 0.0,
            tried: vec![],
            alone,
            priors: on.layout.priors(),
            inducing: run.level.counts,
            choice,
            ended_early: None,
            summarised: left_out.map(|error| Summarised {
                nodes: on.observed.seen.weights().len(),
                error,
                cells: on.observed.cells.clone(),
            }),
            unexplained: residual / (explained + residual),
            integral_error,
            jitter: on.jitter,
            starts: search.starts.clone(),
            coverage: None,
            goodness: None,
            gains: vec![],
            warnings,
            at_bounds,
        };
        let posterior = |field: InducingField| {
            Posterior::new(data.window().clone(), scaling.clone(), Link::Square, PosteriorBasis::Inducing(field))
        };
        let posterior = match list.is_empty() {
            true => posterior(on.field(run.theta, q, by_axis)?),
            false => Posterior::average(list.into_iter().map(|(weight, field)| (weight, posterior(field))).collect())?,
        };
        Ok(InCells { fit: Fit { posterior, report }, left_out: relative, can_be_finer: on.observed.can_be_finer })
    }
}

/// A fit, and what weighted nodes in place of events left out.
struct InCells {
    fit: Fit,
    /// Relative to the data term.
    left_out: f64,
    /// Whether shorter cells can be had.
    can_be_finer: bool,
}

/// The relative change of the integral over the window when it is given more nodes; `None` where it has a closed form.
fn integral_error(basis: &dyn Basis, window: &Window, q: &Gaussian, integral: f64) -> Option<f64> {
    if window.outlines().next().is_none() && window.exposure().is_none() {
        return None;
    }
    let (finer, offset) = (basis.over_more_nodes(window), basis.prior().1);
    let again = finer.of_square(offset, &q.mean) + bound::integral_of_variance(&finer, q);
    Some(((again - integral) / integral).abs())
}

/// What there is to say of events that are few or at the same places.
fn few_or_tied(data: Data<'_>) -> Option<String> {
    let Data::Events(events) = data else { return None }; // of a summary nobody knows any more
    let repeated = data.window().pieces().iter().any(|piece| piece.repeats > 1.0);
    match (events.len(), events.distinct()) {
        (1, _) => Some("there is only one event: the answer is mostly the prior".into()),
        (n, 1) => Some(format!(
            "all {n} events are at the same place: how wide their peak is, and what is around it, is the prior's word"
        )),
        (n, _) if n < 5 => Some(format!("there are only {n} events: the answer leans on the prior")),
        // the same time in two trials is no tie
        (n, distinct) if distinct < n && !repeated => {
            Some(format!("{n} events are at {distinct} distinct places: ties count as separate events"))
        }
        _ => None,
    }
}

/// Number of distinct places of the events; of a summary nobody knows any more.
fn distinct(data: Data<'_>) -> usize {
    match data {
        Data::Events(events) => events.distinct(),
        Data::Summary(summary) => summary.events() as usize,
    }
}

/// What ended at a bound, and what the inducing points leave unexplained; more of them are advised only where the events have a structure
/// that these could show.
fn warnings(at_bounds: &[AtBound], unexplained: f64, is_without_structure: bool) -> Vec<String> {
    let mut warnings = at_bound::sentences(at_bounds);
    if unexplained > 0.01 {
        let advice = match is_without_structure {
            true => ", at a scale at which the events show no structure",
            false => ": more of them would help",
        };
        let percent = 100.0 * unexplained;
        warnings.push(format!("the inducing points leave {percent:.1} % of the expected events unexplained{advice}"));
    }
    warnings
}
