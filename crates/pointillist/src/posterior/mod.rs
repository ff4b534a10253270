//! The posterior of the intensity: rate, quantiles, counts, draws. It holds no events.
//!
//! It is a weighted list of fields (`component.rs`). What is asked of the list: `predict.rs` (rates at points), `ratio.rs` (beside another
//! posterior's), `counts.rs` and `contrast.rs` (regions), `draw.rs`. What is asked of each field: `field.rs`, answered by `inducing.rs` and `lattice.rs`.
//! Inside, coordinates are those of the unit box; what comes out is in the user's units. Cost: M² per point and component.

mod additive;
mod beyond;
mod bins;
mod component;
mod contrast;
mod counts;
mod effects;
mod draw;
mod field;
mod folding;
mod following;
mod goodness;
mod inducing;
mod lattice;
mod layers;
mod measured;
#[cfg(feature = "serde")]
mod packed;
mod pairs;
mod predict;
mod ratio;
mod types;

pub use additive::{PartAtPlaces, PartOfF};
pub use bins::Bin;
pub(crate) use component::{Component, in_blocks};
pub use contrast::{Contrast, Estimate};
pub use counts::{CountProgress, CountStage, CountWatch, JointCounts};
pub(crate) use field::Field;
pub use goodness::{Goodness, Misfit, Residuals};
pub(crate) use inducing::InducingField;
pub use inducing::InducingState;
pub(crate) use lattice::LatticeField;
pub use lattice::{BesideState, ConstantState, LatticeState};
pub(crate) use layers::LayersField;
pub use layers::LayersState;
pub use measured::{MeasuredPosterior, MeasuredState, ValuesAt};
pub use pairs::{Closest, Nearness, Pairs};
pub use ratio::RateRatio;
pub use types::{ShareOfType, TypesPosterior};

use crate::covariates::{EffectState, Regressors};
use crate::data::points::Points;
use crate::error::{Error, Result};
use crate::field::inducing::PriorMean;
use crate::field::lattice::{LatticeMean, Smoothness};
use crate::kernel::Kernel;
use crate::limits;
use crate::sample::{self, thinning};
use crate::terms::{Link, Marginals};
use crate::watch::{PartWatch, Work, unwatched};
use crate::window::{Scaling, Window};
use std::sync::Arc;

/// The posterior of an intensity over a window.
///
/// It is a weighted list of components, each a Gaussian field with a link; a fit at one best Θ has one. Everything asked of it is asked of
/// the list: means average, quantiles are those of the mixture, draws pick a component by weight.
///
/// ```
/// # use pointillist::{Events, Model, Points, Window};
/// # let events = Events::new(Points::line(&[1.0, 1.2, 1.9, 4.0])?, Window::interval(0.0, 5.0)?)?;
/// let posterior = Model::default().fit(&events)?.posterior;
/// let at = Points::line(&[1.1, 3.0])?;
/// let (rate, band) = posterior.rate_and_quantiles(&at, &[0.05, 0.95])?;
/// assert!(band[0][0] < rate.mean[0] && rate.mean[0] < band[1][0]);
/// let draws = posterior.sample(&at, 10, 0)?;
/// assert_eq!(draws.len(), 10);
/// # Ok::<(), pointillist::Error>(())
/// ```
#[derive(Clone)]
pub struct Posterior {
    window: Window,
    scaling: Scaling,
    /// Their weights add up to 1; the heaviest comes first.
    components: Vec<Component>,
}

/// What f is made of.
#[derive(Clone)]
pub(crate) enum PosteriorBasis {
    Inducing(InducingField),
    Lattice(LatticeField),
    Layers(LayersField),
}

impl std::fmt::Debug for Posterior {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let sizes: Vec<usize> = self.components.iter().map(|component| component.field().size()).collect();
        f.debug_struct("Posterior").field("window", &self.window).field("sizes", &sizes).finish_non_exhaustive()
    }
}

/// Mean and standard deviation of the rate at points.
///
/// ```
/// # use pointillist::{Events, Model, Points, Window};
/// use pointillist::Rate;
/// # let events = Events::new(Points::line(&[1.0, 1.2, 1.9, 4.0])?, Window::interval(0.0, 5.0)?)?;
/// # let posterior = Model::default().fit(&events)?.posterior;
///
/// let Rate { mean, sd } = posterior.rate(&Points::line(&[1.1, 3.0])?)?;
/// assert!(mean[0] > mean[1] && sd.iter().all(|sd| *sd > 0.0));
/// # Ok::<(), pointillist::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Rate {
    /// Posterior means.
    pub mean: Vec<f64>,
    /// Posterior standard deviations.
    pub sd: Vec<f64>,
}

/// The expected number of events in a region, as a random quantity: its posterior mean and standard deviation.
///
/// ```
/// # use pointillist::{Events, Model, Points, Window};
/// use pointillist::Count;
/// # let events = Events::new(Points::line(&[1.0, 1.2, 1.9, 4.0])?, Window::interval(0.0, 5.0)?)?;
/// # let posterior = Model::default().fit(&events)?.posterior;
///
/// let Count { mean, sd } = posterior.count(&Window::interval(0.0, 2.0)?)?;
/// let new = (mean + sd * sd).sqrt(); // how much a new count there varies: by itself, and because its mean is uncertain
/// assert!(mean > 1.0 && new > sd);
/// # Ok::<(), pointillist::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Count {
    /// Mean of ∫λ.
    pub mean: f64,
    /// Standard deviation of ∫λ.
    pub sd: f64,
}

/// A lattice and its hyper-parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct LatticeSummary {
    /// Nodes on each axis.
    pub nodes: Vec<usize>,
    /// How smooth f is.
    pub smoothness: Smoothness,
    /// Whether its constant was learned or is an unknown of q.
    pub mean: LatticeMean,
    /// How the intensity is made from f.
    pub link: Link,
    /// The variance of f.
    pub variance: f64,
    /// The length-scale of the Matérn field along each axis: half its range, at which correlation has fallen to between 0.1 and 0.15.
    pub lengthscales: Vec<f64>,
    /// How much more than elsewhere f varies about each of a grid of knots over the window, the last axis going fastest; empty if that is the same everywhere.
    pub scale: Vec<f64>,
}

impl LatticeSummary {
    /// The variance of f, the logarithm of the rate, that stands for a rate which does not vary.
    pub(crate) const CONSTANT: f64 = 1e-6;

    /// Whether it stands for a rate that does not vary.
    pub fn is_constant(&self) -> bool {
        Self::hardly_varies(self.link, self.variance)
    }

    /// Whether an f of this variance stands for a rate that does not vary.
    pub(crate) fn hardly_varies(link: Link, variance: f64) -> bool {
        link == Link::Log && variance <= 1.001 * Self::CONSTANT
    }
}

/// All numbers of a posterior: what a file must hold to give the same answers to the last bit.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct PosteriorState {
    /// The window, in the user's units.
    pub window: Window,
    /// The components, the heaviest first.
    pub components: Vec<ComponentState>,
    /// The covariates, in the order of their unknowns.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Vec::is_empty"))]
    pub covariates: Vec<EffectState>,
}

/// One component of a posterior.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ComponentState {
    /// Its weight.
    pub weight: f64,
    /// How the intensity is made from f.
    pub link: Link,
    /// What f is made of.
    pub basis: BasisState,
}

/// The numbers of f, in the coordinates of the unit box.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
#[non_exhaustive]
pub enum BasisState {
    /// Inducing points.
    Inducing(InducingState),
    /// A lattice.
    Lattice(LatticeState),
    /// Several fields on one lattice, seen by one type or by several.
    Layers(LayersState),
}

impl Posterior {
    pub(crate) fn new(window: Window, scaling: Scaling, link: Link, basis: PosteriorBasis) -> Self {
        Self { window, scaling, components: vec![Component { weight: 1.0, link, basis }] }
    }

    /// The average of posteriors over one window, weighted by the exponentials of these numbers.
    ///
    /// ```
    /// # use pointillist::settings::Inducing;
    /// # use pointillist::{Events, Model, Points, Posterior, Window};
    /// # let events = Events::new(Points::line(&[1.0, 1.2, 1.9, 4.0])?, Window::interval(0.0, 5.0)?)?;
    /// let fits = [4, 8].map(|n| Model { family: Inducing::Grid(vec![n]).into(), ..Model::default() }.fit(&events));
    /// let parts: Vec<_> = fits.into_iter().map(|fit| fit.map(|fit| (fit.report.bound.total(), fit.posterior))).collect::<Result<_, _>>()?;
    /// let average = Posterior::average(parts)?;
    /// assert!((average.weights().iter().sum::<f64>() - 1.0).abs() < 1e-12);
    /// # Ok::<(), pointillist::Error>(())
    /// ```
    pub fn average(parts: Vec<(f64, Posterior)>) -> Result<Self> {
        let top = parts.iter().map(|(log, _)| *log).fold(f64::NEG_INFINITY, f64::max);
        let total: f64 = parts.iter().map(|(log, _)| (log - top).exp()).sum();
        let Some((_, first)) = parts.first() else {
            return Err(Error::setting("components", 0, "must be at least one"));
        };
        if !(top.is_finite() && total.is_finite()) {
            return Err(Error::setting(
                "weight",
                top,
                "must be a finite number for some component and not NaN for any",
            ));
        }
        if parts.iter().any(|(_, part)| part.window != first.window) {
            return Err(Error::setting("components", parts.len(), "must be posteriors over one window"));
        }
        let (window, scaling) = (first.window.clone(), first.scaling.clone());
        let mut components: Vec<Component> = Vec::new();
        for (log, part) in parts {
            let weight = (log - top).exp() / total;
            components.extend(part.components.into_iter().map(|own| Component { weight: weight * own.weight, ..own }));
        }
        components.sort_by(|a, b| b.weight.total_cmp(&a.weight));
        Ok(Self { window, scaling, components })
    }

    /// Without the components that weigh less than this part of the heaviest.
    pub(crate) fn without_lighter_than(mut self, part: f64) -> Self {
        let heaviest = self.components[0].weight;
        self.components.retain(|component| component.weight >= part * heaviest);
        let total: f64 = self.components.iter().map(|component| component.weight).sum();
        self.components.iter_mut().for_each(|component| component.weight /= total);
        self
    }

    /// The heaviest components alone, at most so many; their weights keep their ratios.
    pub fn heaviest(&self, most: usize) -> Posterior {
        let components = self.components[..most.clamp(1, self.components.len())].to_vec();
        Self { components, window: self.window.clone(), scaling: self.scaling.clone() }.without_lighter_than(0.0)
    }

    /// The same with nothing kept of what is made on demand.
    pub(crate) fn apart(mut self) -> Self {
        self.components.iter_mut().for_each(|component| *component = component.apart());
        self
    }

    /// The weights of the components, which add up to 1; the heaviest first.
    pub fn weights(&self) -> Vec<f64> {
        self.components.iter().map(|component| component.weight).collect()
    }

    /// One of the components, as a posterior of its own.
    pub fn component(&self, number: usize) -> Option<Posterior> {
        let component = Component { weight: 1.0, ..self.components.get(number)?.clone() };
        Some(Self { window: self.window.clone(), scaling: self.scaling.clone(), components: vec![component] })
    }

    /// How the intensity is made from f, in the heaviest component.
    pub fn link(&self) -> Link {
        self.components[0].link
    }

    /// All its numbers.
    pub fn state(&self) -> PosteriorState {
        let of_component = |component: &Component| ComponentState {
            weight: component.weight,
            link: component.link,
            basis: match &component.basis {
                PosteriorBasis::Inducing(field) => BasisState::Inducing(field.state()),
                PosteriorBasis::Lattice(field) => BasisState::Lattice(field.state()),
                PosteriorBasis::Layers(field) => BasisState::Layers(field.state()),
            },
        };
        let covariates = self.regressors().map_or_else(Vec::new, |regressors| regressors.states());
        let components = self.components.iter().map(of_component).collect();
        PosteriorState { window: self.window.clone(), components, covariates }
    }

    /// The posterior with these numbers, once they are found to make sense.
    pub fn from_state(state: PosteriorState) -> Result<Self> {
        let window = state.window;
        let scaling = Scaling::of(&window);
        let inner = window.scaled(&scaling);
        let regressors = match state.covariates.is_empty() {
            true => None,
            false => Some(Arc::new(Regressors::of_states(&window, state.covariates)?)),
        };
        let of_state = |ComponentState { weight, link, basis }| {
            let basis = match basis {
                BasisState::Inducing(_) if regressors.is_some() => {
                    return Err(Error::setting("q", "covariates", "need a lattice"));
                }
                BasisState::Inducing(state) => {
                    PosteriorBasis::Inducing(InducingField::from_state(state, window.dims())?)
                }
                BasisState::Layers(state) => {
                    PosteriorBasis::Layers(LayersField::from_state(state, &inner, regressors.clone())?)
                }
                BasisState::Lattice(state) => {
                    PosteriorBasis::Lattice(LatticeField::from_state(state, link, &inner, regressors.clone())?)
                }
            };
            Ok(Component { weight, link, basis })
        };
        let components = state.components.into_iter().map(of_state).collect::<Result<Vec<_>>>()?;
        let total: f64 = components.iter().map(|component| component.weight).sum();
        let positive = components.iter().all(|component| component.weight >= 0.0);
        if components.is_empty() || !positive || (total - 1.0).abs() > WEIGHTS_OFF {
            return Err(Error::setting("weight", total, "must be positive and add up to 1 over the components"));
        }
        Ok(Self { window, scaling, components })
    }

    /// The window.
    pub fn window(&self) -> &Window {
        &self.window
    }

    /// ū, in the user's units (the root of a rate).
    pub fn mean(&self) -> f64 {
        let mean = match &self.components[0].basis {
            PosteriorBasis::Inducing(field) => field.hyper.mean,
            PosteriorBasis::Lattice(field) => field.theta.mean,
            PosteriorBasis::Layers(_) => 0.0,
        };
        let (scale, shift) = self.components[0].formula().outward(self.scaling.volume());
        scale * mean + shift
    }

    /// The kind of prior mean.
    pub fn prior_mean(&self) -> PriorMean {
        match &self.components[0].basis {
            PosteriorBasis::Inducing(field) => field.prior_mean,
            PosteriorBasis::Lattice(_) | PosteriorBasis::Layers(_) => PriorMean::Constant,
        }
    }

    /// The kernel, in the user's units, where f is given by inducing points.
    pub fn kernel(&self) -> Option<Kernel> {
        Some(self.components[0].inducing()?.hyper.kernel.outward(&self.scaling))
    }

    /// The inducing locations, in the user's units, if f is given by any.
    pub fn inducing(&self) -> Option<Points> {
        Some(self.scaling.points_outward(&self.components[0].inducing()?.locations))
    }

    /// How far the integral of the bound lies above what it should be, where several fields share a lattice: that of the heaviest component.
    pub(crate) fn integral_error_of_layers(&self) -> Result<Option<f64>> {
        match &self.components[0].basis {
            PosteriorBasis::Layers(field) => Ok(Some(field.integral_error(&self.window.scaled(&self.scaling))?)),
            _ => Ok(None),
        }
    }

    /// The lattice and its hyper-parameters, in the user's units, if f is given on one.
    pub fn lattice(&self) -> Option<LatticeSummary> {
        let field = self.components[0].lattice()?;
        Some(LatticeSummary {
            nodes: field.nodes(),
            smoothness: field.smoothness(),
            mean: field.mean_kind(),
            link: self.link(),
            variance: field.theta.variance * self.components[0].formula().outward(self.scaling.volume()).0.powi(2),
            lengthscales: (field.theta.ranges().iter().enumerate())
                .map(|(r, range)| 0.5 * range * self.scaling.scale(r))
                .collect(),
            scale: field.theta.scale.clone(),
        })
    }

    /// Mean and variance of f at points, in the user's units (those of the root or of the logarithm of a rate), under the heaviest component.
    #[doc(hidden)]
    pub fn marginals(&self, points: &Points) -> Result<Marginals> {
        self.check_dims(points)?;
        let work = Work::new(points.len(), &unwatched);
        let mut marginals = self.components[0].marginals(&self.scaling.points_inward(points), &work)?;
        let (scale, shift) = self.components[0].formula().outward(self.scaling.volume());
        marginals.mean.iter_mut().for_each(|m| *m = scale * *m + shift);
        marginals.variance.iter_mut().for_each(|v| *v *= scale * scale);
        Ok(marginals)
    }

    fn check_dims(&self, points: &Points) -> Result<()> {
        let (expected, found) = (self.window.dims(), points.dims());
        if expected == found { Ok(()) } else { Err(Error::Dimension { what: "points", expected, found }) }
    }

    /// The expected number of events in a region: of one repeat, unless the region says otherwise. Which part of it is counted, and
    /// what lies beyond the window, is said by [`Posterior::counted`]. What inducing points leave unexplained counts in the mean, not in
    /// the standard deviation.
    ///
    /// ```
    /// # use pointillist::{Events, Model, Points, Window};
    /// # let events = Events::new(Points::line(&[1.0, 1.2, 1.9, 4.0])?, Window::interval(0.0, 5.0)?)?;
    /// let posterior = Model::default().fit(&events)?.posterior;
    /// let count = posterior.count(&Window::interval(0.0, 2.0)?)?;
    /// assert!(count.mean > 1.0 && count.sd > 0.0);
    /// # Ok::<(), pointillist::Error>(())
    /// ```
    pub fn count(&self, region: &Window) -> Result<Count> {
        let region = self.region(region)?;
        let of_component = |component: &Component| {
            let beyond = component.reaching_regions(std::slice::from_ref(&region), self.window.dims())?;
            Ok((component.weight, beyond.as_deref().unwrap_or(component.field()).count(&region)?))
        };
        let counts = self.components.iter().map(of_component).collect::<Result<Vec<_>>>()?;
        Ok(Count::mixed(&counts))
    }

    /// The expected number of events in a window inside that of the posterior, without its standard deviation: that costs far less.
    ///
    /// ```
    /// # use pointillist::{Events, Model, Points, Window};
    /// # let events = Events::new(Points::line(&[1.0, 1.2, 1.4, 1.9, 4.0])?, Window::interval(0.0, 5.0)?)?;
    /// let posterior = Model::default().fit(&events)?.posterior;
    /// let (expected, count) = (posterior.expected(events.window())?, posterior.count(events.window())?);
    /// assert!((expected / count.mean - 1.0).abs() < 0.05);
    /// # Ok::<(), pointillist::Error>(())
    /// ```
    pub fn expected(&self, window: &Window) -> Result<f64> {
        let inner = window.scaled(&self.scaling);
        let parts = self.components.iter().map(|component| Ok(component.weight * component.field().expected(&inner)?));
        parts.sum()
    }

    /// Draws of the expected number of events in a region, and of a number of events given each. Draw `i` belongs to the same intensity
    /// as draw `i` of [`Posterior::sample`] with the same seed.
    pub fn count_draws(&self, region: &Window, draws: usize, seed: u64) -> Result<Vec<(f64, u64)>> {
        self.count_draws_watched(region, draws, seed, &unwatched)
    }

    /// The same, telling `watch` which part of it is done.
    pub fn count_draws_watched(
        &self,
        region: &Window,
        draws: usize,
        seed: u64,
        watch: &PartWatch<'_>,
    ) -> Result<Vec<(f64, u64)>> {
        limits::draws("draws", draws)?;
        let (region, seed) = (self.region(region)?, self.own_seed(seed));
        let work = Work::new(draws, watch);
        let mut drawn = vec![(0.0, 0); draws];
        for (component, own) in self.components.iter().zip(self.draws_of_each(draws, seed)) {
            let beyond = component.reaching_regions(std::slice::from_ref(&region), self.window.dims())?;
            let field = beyond.as_deref().unwrap_or(component.field());
            let over = field.over(&region)?;
            for draw in own {
                let mut rng = sample::stream(seed, draw as u64);
                let expected = over(&draw::draw_coefficients(field, &mut rng)?);
                drawn[draw] = (expected, thinning::poisson(&mut rng, expected));
                work.advance(1)?;
            }
        }
        Ok(drawn)
    }

    /// The part of a region in which events are counted, if there is any. Where the window is one box looked at evenly, that is all of
    /// it: beyond the window the count is a forecast, for an exposure of 1. So it is on a line whose window is in several pieces, before and after them and in the
    /// gaps between. After a window on a line with an exposure, a region has to say its own. Any other window (a border, pieces of a plane) says itself
    /// where events can be, and only what lies inside it is counted.
    pub fn counted(&self, region: &Window) -> Option<Window> {
        let is_alike = region.dims() == self.window.dims();
        match (self.window.exposure(), region.exposure()) {
            _ if !is_alike => self.window.intersection(region),
            (None, None) if self.counts_beyond_the_window() => Some(region.clone()),
            (Some(_), Some(_)) if self.window.dims() == 1 && self.is_beyond(region) => Some(region.clone()),
            _ => self.window.intersection(region),
        }
    }

    /// Whether what lies outside the window is counted too, as a forecast: see [`Posterior::counted`].
    pub fn counts_beyond_the_window(&self) -> bool {
        self.window.is_one_box() || (self.window.dims() == 1 && self.window.is_boxes())
    }

    /// Whether no part of a region on a line lies between the ends of the window.
    pub fn is_beyond(&self, region: &Window) -> bool {
        let (own, other) = (self.window.bounding_box()[0], region.bounding_box()[0]);
        other.lo >= own.hi || other.hi <= own.lo
    }

    /// The part of a region that is counted, in inner coordinates.
    fn region(&self, region: &Window) -> Result<Window> {
        if region.dims() != self.window.dims() {
            return Err(Error::Dimension { what: "region", expected: self.window.dims(), found: region.dims() });
        }
        let ends = |window: &Window| {
            window.bounding_box().iter().map(|s| format!("{},{}", s.lo, s.hi)).collect::<Vec<_>>().join(",")
        };
        let Some(inside) = self.counted(region) else {
            let requirement = format!("lies outside the window {}", ends(&self.window));
            return Err(Error::setting("region", ends(region), requirement));
        };
        Ok(inside.scaled(&self.scaling))
    }

    pub(crate) fn components(&self) -> &[Component] {
        &self.components
    }

    pub(crate) fn scaling(&self) -> &Scaling {
        &self.scaling
    }
}

/// The weights of a file may add up to so much more or less than 1.
const WEIGHTS_OFF: f64 = 1e-6;

impl Count {
    /// Of a mixture.
    fn mixed(parts: &[(f64, Count)]) -> Self {
        if let [(_, one)] = parts {
            return *one;
        }
        let mean: f64 = parts.iter().map(|(weight, count)| weight * count.mean).sum();
        let square: f64 = parts.iter().map(|(weight, count)| weight * (count.mean.powi(2) + count.sd.powi(2))).sum();
        Self { mean, sd: (square - mean * mean).max(0.0).sqrt() }
    }
}
