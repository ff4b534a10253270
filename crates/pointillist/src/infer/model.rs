//! What is believed of the intensity before events are seen, and how it is to be learned: a [`Model`], which cannot contradict itself.

use super::{Asked, AskedKind, Fit, FitWatch, Prior, Progress};
use crate::covariates::Covariate;
use crate::data::events::Events;
use crate::data::points::Points;
use crate::data::seen::Data;
use crate::data::summary::Summary;
use crate::error::{Error, Result};
use crate::field::inducing::{Hyper, PriorMean};
use crate::field::lattice::{LatticeMean, Smoothness};
use crate::kernel::Expression;
use crate::posterior::Posterior;
use crate::terms::Link;
use std::ops::ControlFlow;

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
    /// A regular grid with this many points per axis, the ends of the window included.
    Grid(Vec<usize>),
    /// These locations.
    At(Points),
}

/// f by inducing points, as in the paper.
///
/// ```
/// use pointillist::settings::Inducing;
/// use pointillist::{InducingPoints, Model};
///
/// let points = InducingPoints { points: Inducing::Grid(vec![31]), ..InducingPoints::default() };
/// let paper = Model { family: points.into(), ..Model::default() };
/// // The same in short, where nothing else is asked of them:
/// assert_eq!(paper, Model { family: Inducing::Grid(vec![31]).into(), ..Model::default() });
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct InducingPoints {
    /// The kernel; squared exponential on every axis if none is asked for.
    pub kernel: Option<Expression>,
    /// Where they are.
    pub points: Inducing,
    /// Whether their locations are optimised too.
    pub optimise: bool,
    /// How the bound is maximised.
    pub method: Method,
    /// The prior mean of f.
    pub prior_mean: PriorMean,
    /// Relative jitter on the diagonal of K.
    pub jitter: f64,
}

impl Default for InducingPoints {
    fn default() -> Self {
        Self {
            kernel: None,
            points: Inducing::Auto,
            optimise: false,
            method: Method::Collapsed,
            prior_mean: PriorMean::Integrated,
            jitter: 1e-8,
        }
    }
}

impl InducingPoints {
    /// The paper's model: a prior mean that is learned. With [`Model::of_maximum_likelihood`] it is fitted as in the paper.
    ///
    /// ```
    /// use pointillist::{InducingPoints, Model};
    ///
    /// let paper = Model { family: InducingPoints::as_in_the_paper().into(), ..Model::of_maximum_likelihood() };
    /// assert!(!paper.average && !paper.penalise);
    /// ```
    pub fn as_in_the_paper() -> Self {
        Self { prior_mean: PriorMean::Constant, ..Self::default() }
    }
}

/// f on a lattice of hats.
///
/// ```
/// use pointillist::settings::Smoothness;
/// use pointillist::{Family, LatticeChoice, Model};
///
/// let rough = LatticeChoice { nodes: Some(vec![60, 40]), smoothness: Some(Smoothness::Two), ..LatticeChoice::default() };
/// let model = Model { family: rough.into(), ..Model::default() };
/// assert!(matches!(model.family, Family::Lattice(_)));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct LatticeChoice {
    /// Nodes on each axis, margin included; refined until nothing is gained if none are asked for.
    pub nodes: Option<Vec<usize>>,
    /// How smooth f is; all degrees, if nothing is asked for.
    pub smoothness: Option<Smoothness>,
    /// The constant of f.
    pub mean: LatticeMean,
    /// How the intensity is made from f. A value or a prior of `variance` or `mean` has the unit of one link: then the first of these is taken.
    pub links: Vec<Link>,
    /// Whether the scale of f may vary over the window.
    pub vary: Vary,
}

/// Whether a scale of f that varies over the window is tried beside one that is the same everywhere. An average holds it by its evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Vary {
    /// For the best link and smoothness, where the events promise that it counts and it takes little time.
    #[default]
    Auto,
    /// For the best link and smoothness, whatever it promises.
    On,
    /// Never.
    Off,
}

impl Default for LatticeChoice {
    fn default() -> Self {
        Self {
            nodes: None,
            smoothness: None,
            mean: LatticeMean::default(),
            links: Link::ALL.to_vec(),
            vary: Vary::default(),
        }
    }
}

impl LatticeChoice {
    /// The paper's model on a lattice: the square link, and a constant that is learned.
    ///
    /// ```
    /// use pointillist::{LatticeChoice, Link};
    /// assert_eq!(LatticeChoice::as_in_the_paper().links, [Link::Square]);
    /// ```
    pub fn as_in_the_paper() -> Self {
        Self { mean: LatticeMean::Learned, links: vec![Link::Square], vary: Vary::Off, ..Self::default() }
    }
}

/// What f is made of.
///
/// ```
/// use pointillist::{Family, InducingPoints, LatticeChoice, Model};
///
/// let either = Model::default(); // lattices with both links
/// let lattice = Model { family: LatticeChoice::default().into(), ..Model::default() };
/// let inducing = Model { family: InducingPoints::default().into(), ..Model::default() };
/// assert_eq!(either.family, Family::Auto);
/// assert!(matches!((lattice.family, inducing.family), (Family::Lattice(_), Family::Inducing(_))));
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Family {
    /// A lattice, up to three axes; inducing points with more.
    #[default]
    Auto,
    /// Inducing points, as in the paper.
    Inducing(InducingPoints),
    /// A lattice of hats.
    Lattice(LatticeChoice),
}

impl From<Inducing> for Family {
    fn from(points: Inducing) -> Self {
        Family::Inducing(InducingPoints { points, ..InducingPoints::default() })
    }
}

impl From<InducingPoints> for Family {
    fn from(points: InducingPoints) -> Self {
        Family::Inducing(points)
    }
}

impl From<LatticeChoice> for Family {
    fn from(lattice: LatticeChoice) -> Self {
        Family::Lattice(lattice)
    }
}

/// How much work may go into a lattice whose nodes are not asked for. It is counted in what natural steps take on a machine of two cores, from numbers of
/// nodes and events alone: answers do not depend on the machine, on how busy it is, or on the number of threads.
///
/// ```
/// use pointillist::settings::Budget;
/// use pointillist::{Events, Model, Points, Window};
///
/// let events = Events::new(Points::line(&[0.4, 1.0, 1.1, 3.9])?, Window::interval(0.0, 5.0)?)?;
/// let model = Model { budget: Budget::Seconds(30.0), ..Model::default() };
/// assert!(model.fit(&events)?.report.work < 30.0);
/// # Ok::<(), pointillist::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Budget {
    /// As much as one likes to wait for: more with more events.
    #[default]
    Usual,
    /// About so many seconds, for all families together. The first lattice of each is made in any case.
    Seconds(f64),
    /// As long as more nodes gain something, and there is memory for them.
    Unlimited,
}

/// What is believed of the intensity before events are seen, and how it is to be learned.
///
/// ```
/// use pointillist::{Events, Model, Points, Prior, Window};
///
/// let events = Events::new(Points::line(&[0.4, 1.0, 1.1, 3.9])?, Window::interval(0.0, 5.0)?)?;
/// let prior = Prior::LogNormal { location: 0.0, scale: 1.0 };
/// let model = Model { priors: vec![("lengthscale".into(), prior)], ..Model::default() };
/// let fit = model.fit(&events)?;
/// assert!(fit.report.log_prior.is_finite());
/// # Ok::<(), pointillist::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// What f is made of.
    pub family: Family,
    /// Priors on hyper-parameters by name (`variance`, `lengthscale`, `lengthscale[1]`, `mean`), in the user's units.
    pub priors: Vec<(String, Prior)>,
    /// Hyper-parameters held at a value, by name, in the user's units.
    pub fixed: Vec<(String, f64)>,
    /// Gain of the bound, in nats, below which it has converged.
    pub gain: f64,
    /// Most evaluations of the bound and its gradient by Θ.
    pub most_evaluations: usize,
    /// Most memory of a lattice, in bytes.
    pub most_bytes: usize,
    /// How much work a lattice may take whose nodes are not asked for.
    pub budget: Budget,
    /// Whether events are never replaced by weighted nodes, however many they are.
    pub exact: bool,
    /// What weighted nodes in place of events may leave out of the data term, relative to it.
    pub tolerance: f64,
    /// Whether standard errors of the hyper-parameters are found too. That costs some ten evaluations by Θ.
    pub errors: bool,
    /// Whether the answer is an average over hyper-parameters and, on lattices, over links and degrees of smoothness, each with its weight;
    /// otherwise it is the best of them. The joint scheme has no average.
    pub average: bool,
    /// Whether hyper-parameters of which nothing is said have penalised-complexity priors, and axes that share a unit share a
    /// length-scale unless the events speak against it; otherwise the bound alone is maximised.
    pub penalise: bool,
    /// Known surfaces with effects on the logarithm of the rate: then f is on a lattice, its link is the log link, and what is fitted are events.
    pub covariates: Vec<Covariate>,
    /// Whether the answer is checked at the end: how near q is to the exact posterior, and whether the events look like events drawn from it. That
    /// takes a few per cent of the time of a fit. With covariates the best family is fitted without each of them too, for what that one adds to the
    /// evidence.
    pub checked: bool,
}

impl Default for Model {
    fn default() -> Self {
        Self {
            family: Family::Auto,
            priors: Vec::new(),
            fixed: Vec::new(),
            gain: 1e-5,
            most_evaluations: 2000,
            most_bytes: 4_000_000_000,
            budget: Budget::Usual,
            exact: false,
            tolerance: 1e-6,
            errors: false,
            average: true,
            penalise: true,
            covariates: Vec::new(),
            checked: true,
        }
    }
}

impl Model {
    /// The best hyper-parameters by the bound alone: no priors, no average.
    ///
    /// ```
    /// # use pointillist::Model;
    /// let likely = Model::of_maximum_likelihood();
    /// assert!(!likely.average && !likely.penalise);
    /// ```
    pub fn of_maximum_likelihood() -> Self {
        Self { average: false, penalise: false, ..Self::default() }
    }

    /// Fits the model.
    pub fn fit(&self, events: &Events) -> Result<Fit> {
        self.fit_watched(events, &mut |_| ControlFlow::Continue(()))
    }

    /// Fits the model, calling `watch` at natural steps (where two families are fitted side by side, at those on its own thread); `Break` from it cancels with
    /// [`Error::Cancelled`].
    ///
    /// ```
    /// # use pointillist::{Error, Events, Model, Points, Window};
    /// # use std::ops::ControlFlow;
    /// # let events = Events::new(Points::line(&[0.4, 1.0, 1.1, 3.9])?, Window::interval(0.0, 5.0)?)?;
    /// let mut steps = 0;
    /// let fit = Model::default().fit_watched(&events, &mut |progress| {
    ///     steps = progress.evaluations;
    ///     if steps < 3 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    /// });
    /// assert!(matches!(fit, Err(Error::Cancelled)) && steps >= 3);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn fit_watched<'a>(&self, events: &Events, watch: &'a mut FitWatch<'a>) -> Result<Fit> {
        Asked::from(self).fit_data(Data::Events(events), None, watch)
    }

    /// Fits the model to a summary of events.
    ///
    /// ```
    /// # use pointillist::{Model, Points, Summary, Window};
    /// let window = Window::interval(0.0, 5.0)?;
    /// let mut summary = Summary::new(&window, &[1000])?;
    /// summary.add(&Points::line(&[0.4, 1.0, 1.1, 3.9])?)?;
    /// let fit = Model::default().fit_summary(&summary)?;
    /// assert!((fit.report.bound.integral() - 4.0).abs() < 2.0);
    /// # Ok::<(), pointillist::Error>(())
    /// ```
    pub fn fit_summary(&self, summary: &Summary) -> Result<Fit> {
        self.fit_summary_watched(summary, &mut |_| ControlFlow::Continue(()))
    }

    /// The same, calling `watch` as [`Model::fit_watched`] does.
    pub fn fit_summary_watched<'a>(&self, summary: &Summary, watch: &'a mut FitWatch<'a>) -> Result<Fit> {
        Asked::from(self).fit_data(Data::Summary(summary), None, watch)
    }

    /// Fits the model to a summary, starting from what was learned before of some of its events.
    pub fn update_watched<'a>(
        &self,
        before: &Posterior,
        summary: &Summary,
        watch: &'a mut FitWatch<'a>,
    ) -> Result<Fit> {
        if !self.covariates.is_empty() || !before.effects().is_empty() {
            let requirement =
                "need the events themselves: a model with covariates cannot be updated by a summary; fit all events";
            return Err(Error::setting("covariate", "covariates", requirement));
        }
        if before.window() != summary.window() {
            return Err(Error::setting("update", "the summary", "must be of the same window as the model"));
        }
        let asked = Asked::from(self).continuing(before)?;
        // Of an average every part is found anew: where other events change what is likely, its old Θ leads nowhere.
        let before = Some(before).filter(|_| !asked.average);
        asked.fit_data(Data::Summary(summary), before, watch)
    }

    /// The bound of a summary at this Θ, in the coordinates of the unit box, after at most so many natural steps from a flat
    /// intensity; and how many they were. For whoever wants to see what a step costs.
    #[doc(hidden)]
    pub fn bound_at_fixed(&self, summary: &Summary, hyper: &Hyper, most_steps: usize) -> Result<(f64, usize)> {
        Asked::from(self).bound_at_fixed(summary, hyper, most_steps)
    }
}

impl From<&Model> for Asked {
    fn from(model: &Model) -> Self {
        let (kind, points, lattice) = match &model.family {
            Family::Auto => (AskedKind::Auto, InducingPoints::default(), LatticeChoice::default()),
            Family::Inducing(points) => (AskedKind::Inducing, points.clone(), LatticeChoice::default()),
            Family::Lattice(lattice) => (AskedKind::Lattice, InducingPoints::default(), lattice.clone()),
        };
        let InducingPoints { kernel, points: inducing, optimise, method, prior_mean, jitter } = points;
        Self {
            kernel,
            prior_mean,
            kind,
            lattice,
            inducing,
            optimise_inducing: optimise,
            method,
            priors: model.priors.clone(),
            fixed: model.fixed.clone(),
            jitter,
            gain: model.gain,
            most_evaluations: model.most_evaluations,
            most_bytes: model.most_bytes,
            budget: model.budget,
            dear: super::lattice::DEAR,
            exact: model.exact,
            tolerance: model.tolerance,
            errors: model.errors,
            average: model.average,
            penalise: model.penalise,
            covariates: model.covariates.clone(),
            regressors: None,
            checked: model.checked,
        }
    }
}

/// Nothing is shared between threads that must not be.
const _: fn() = || {
    fn is_send_and_sync<T: Send + Sync>() {}
    is_send_and_sync::<Model>();
    is_send_and_sync::<Fit>();
    is_send_and_sync::<Posterior>();
    is_send_and_sync::<Progress>();
    is_send_and_sync::<Events>();
    is_send_and_sync::<Summary>();
    is_send_and_sync::<Error>();
};
