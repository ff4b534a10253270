//! The posterior of the intensity: rate, quantiles, counts, draws. It holds no events.
//!
//! λ(x) = f(x)² with f(x) ~ N(μ, σ²): mean μ² + σ², variance 2σ⁴ + 4μ²σ², exact quantiles (docs/derivation.md (25), (26)). Inside, coordinates are
//! those of the unit box; everything that comes out is in the user's units. Cost: M² a point.

mod beyond;
mod counts;
mod field;
mod folding;
mod inducing;
mod lattice;

pub use counts::{CountProgress, CountStage, CountWatch, JointCounts};
pub(crate) use field::Field;
pub(crate) use inducing::InducingField;
pub use inducing::InducingState;
pub(crate) use lattice::LatticeField;
pub use lattice::LatticeState;

use crate::data::points::Points;
use crate::error::{Error, Result};
use crate::field::inducing::PriorMean;
use crate::field::lattice::Smoothness;
use crate::kernel::Kernel;
use crate::limits;
use crate::numerics::special::{expected_log_square, square_quantile};
use crate::parallel;
use crate::sample::simulate::Simulation;
use crate::sample::{self, gaussian, thinning};
use crate::terms::Marginals;
use crate::window::{Scaling, Span, Window};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// The posterior of an intensity over a window.
#[derive(Clone)]
pub struct Posterior {
    window: Window,
    scaling: Scaling,
    basis: PosteriorBasis,
}

/// What f is made of.
#[derive(Clone)]
pub(crate) enum PosteriorBasis {
    Inducing(InducingField),
    Lattice(LatticeField),
}

impl std::fmt::Debug for Posterior {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let size = self.field().size();
        f.debug_struct("Posterior").field("window", &self.window).field("size", &size).finish_non_exhaustive()
    }
}

/// Mean and standard deviation of the rate at points.
#[derive(Debug, Clone, PartialEq)]
pub struct Rate {
    /// Posterior means.
    pub mean: Vec<f64>,
    /// Posterior standard deviations.
    pub sd: Vec<f64>,
}

/// The expected number of events in a region, as a random quantity: its posterior mean and standard deviation.
#[derive(Debug, Clone, Copy, PartialEq)]
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
    /// The variance of f.
    pub variance: f64,
    /// The length-scale of the Matérn field along each axis: half its range, at which correlation has fallen to between 0.1 and 0.15.
    pub lengthscales: Vec<f64>,
}

/// All numbers of a posterior: what a file must hold to give the same answers to the last bit.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct PosteriorState {
    /// The window, in the user's units.
    pub window: Window,
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
}

impl Posterior {
    pub(crate) fn new(window: Window, scaling: Scaling, basis: PosteriorBasis) -> Self {
        Self { window, scaling, basis }
    }

    /// All its numbers.
    pub fn state(&self) -> PosteriorState {
        let basis = match &self.basis {
            PosteriorBasis::Inducing(field) => BasisState::Inducing(field.state()),
            PosteriorBasis::Lattice(field) => BasisState::Lattice(field.state()),
        };
        PosteriorState { window: self.window.clone(), basis }
    }

    /// The posterior with these numbers, once they are found to make sense.
    pub fn from_state(state: PosteriorState) -> Result<Self> {
        let window = state.window;
        let scaling = Scaling::of(&window);
        let basis = match state.basis {
            BasisState::Inducing(state) => PosteriorBasis::Inducing(InducingField::from_state(state, window.dims())?),
            BasisState::Lattice(state) => {
                PosteriorBasis::Lattice(LatticeField::from_state(state, &window.scaled(&scaling))?)
            }
        };
        Ok(Self::new(window, scaling, basis))
    }

    /// The window.
    pub fn window(&self) -> &Window {
        &self.window
    }

    /// ū, in the user's units (the root of a rate).
    pub fn mean(&self) -> f64 {
        let mean = match &self.basis {
            PosteriorBasis::Inducing(field) => field.hyper.mean,
            PosteriorBasis::Lattice(field) => field.theta.mean,
        };
        mean / self.scaling.volume().sqrt()
    }

    /// The kind of prior mean.
    pub fn prior_mean(&self) -> PriorMean {
        match &self.basis {
            PosteriorBasis::Inducing(field) => field.prior_mean,
            PosteriorBasis::Lattice(_) => PriorMean::Constant,
        }
    }

    /// The kernel, in the user's units, where f is given by inducing points.
    pub fn kernel(&self) -> Option<Kernel> {
        match &self.basis {
            PosteriorBasis::Inducing(field) => Some(field.hyper.kernel.outward(&self.scaling)),
            PosteriorBasis::Lattice(_) => None,
        }
    }

    /// The inducing locations, in the user's units, if f is given by any.
    pub fn inducing(&self) -> Option<Points> {
        match &self.basis {
            PosteriorBasis::Inducing(field) => Some(self.scaling.points_outward(&field.locations)),
            PosteriorBasis::Lattice(_) => None,
        }
    }

    /// The lattice and its hyper-parameters, in the user's units, if f is given on one.
    pub fn lattice(&self) -> Option<LatticeSummary> {
        let PosteriorBasis::Lattice(field) = &self.basis else { return None };
        Some(LatticeSummary {
            nodes: field.nodes(),
            smoothness: field.smoothness(),
            variance: field.theta.variance / self.scaling.volume(),
            lengthscales: (field.theta.ranges().iter().enumerate())
                .map(|(r, range)| 0.5 * range * self.scaling.scale(r))
                .collect(),
        })
    }

    /// Mean and variance of f at points, in the user's units. Outside the window they are those of the prior given what is known
    /// inside. Worked on in blocks: memory grows with the points alone.
    pub fn marginals(&self, points: &Points) -> Result<Marginals> {
        self.check_dims(points)?;
        let inner = self.scaling.points_inward(points);
        let mut marginals = match self.beyond(&inner)? {
            None => in_blocks(self.field(), &inner)?,
            Some((field, near)) => {
                // Inside the window the answers are the same whatever else is asked for.
                let [mut inside, outside] = [in_blocks(self.field(), &inner)?, in_blocks(field.as_ref(), &near)?];
                for (n, _) in inner.rows().enumerate().filter(|(_, row)| !is_in_unit_box(row)) {
                    (inside.mean[n], inside.variance[n]) = (outside.mean[n], outside.variance[n]);
                }
                inside
            }
        };
        let volume = self.scaling.volume();
        marginals.mean.iter_mut().for_each(|m| *m /= volume.sqrt());
        marginals.variance.iter_mut().for_each(|v| *v /= volume);
        Ok(marginals)
    }

    /// What is known of points, in inner coordinates, of which some lie outside the window, if the field itself does not know: one that
    /// reaches them, and the points themselves. So far away that nothing is known any more they are moved nearer.
    fn beyond(&self, points: &Points) -> Result<Option<(Box<dyn Field>, Points)>> {
        if points.rows().all(is_in_unit_box) {
            return Ok(None);
        }
        let far = match &self.basis {
            PosteriorBasis::Inducing(_) => return Ok(None),
            PosteriorBasis::Lattice(field) => field.theta.ranges().iter().map(|range| FAR * range).collect::<Vec<_>>(),
        };
        let near = points.map(|r, x| x.clamp(-far[r], 1.0 + far[r]));
        Ok(self.field().reaching(&spans_of(&near), false)?.map(|field| (field, near)))
    }

    fn check_dims(&self, points: &Points) -> Result<()> {
        let (expected, found) = (self.window.dims(), points.dims());
        if expected == found { Ok(()) } else { Err(Error::Dimension { what: "points", expected, found }) }
    }

    /// Mean and standard deviation of the rate at points.
    pub fn rate(&self, points: &Points) -> Result<Rate> {
        Ok(rate_of(&self.marginals(points)?))
    }

    /// The same with exact quantiles, for each probability one value for each point: one pass for all.
    pub fn rate_and_quantiles(&self, points: &Points, probabilities: &[f64]) -> Result<(Rate, Vec<Vec<f64>>)> {
        check_probabilities(probabilities)?;
        let f = self.marginals(points)?;
        Ok((rate_of(&f), quantiles_of(&f, probabilities)))
    }

    /// E[log λ] at points: what each event adds to the data term of the bound.
    pub fn expected_log_rate(&self, points: &Points) -> Result<Vec<f64>> {
        let f = self.marginals(points)?;
        Ok(f.mean.iter().zip(&f.variance).map(|(m, v)| expected_log_square(*m, *v).value).collect())
    }

    /// Exact posterior quantiles of the rate: for each probability, one value a point.
    pub fn quantiles(&self, points: &Points, probabilities: &[f64]) -> Result<Vec<Vec<f64>>> {
        Ok(self.rate_and_quantiles(points, probabilities)?.1)
    }

    /// `draws` joint draws of the intensity at points. Worked on in blocks of points, so that memory grows with points times draws alone.
    pub fn sample(&self, points: &Points, draws: usize, seed: u64) -> Result<Vec<Vec<f64>>> {
        self.check_dims(points)?;
        limits::numbers("draws", draws, points.len())?;
        let inner = self.scaling.points_inward(points);
        let all_inside = inner.rows().all(is_in_unit_box);
        let beyond = if all_inside { None } else { self.field().reaching(&spans_of(&inner), false)? };
        let field = beyond.as_deref().unwrap_or(self.field());
        let blocks = even_blocks(&inner);
        let volume = self.scaling.volume();
        let mut drawn: Vec<Vec<f64>> = Vec::with_capacity(draws);
        let held = (DRAWS_HELD / field.size().max(1)).max(1);
        for first in (0..draws).step_by(held) {
            let group = first..draws.min(first + held);
            let start = |draw: usize| {
                let mut rng = sample::stream(seed, draw as u64);
                let coefficients = draw_coefficients(field, &mut rng)?;
                Ok((coefficients, rng))
            };
            let mut streams = group.clone().map(start).collect::<Result<Vec<_>>>()?;
            drawn.extend(group.map(|_| Vec::with_capacity(points.len())));
            for block in &blocks {
                let at = field.at(block)?;
                for (values, (coefficients, rng)) in drawn[first..].iter_mut().zip(&mut streams) {
                    values.extend(at.draw(coefficients, rng).iter().map(|f| f * f / volume));
                }
            }
        }
        Ok(drawn)
    }

    /// The expected number of events in a region: of one repeat, unless the region says otherwise. Which part of it is counted, and
    /// what lies beyond the window, is said by [`Posterior::counted`]. What inducing points leave unexplained counts in the mean, not in
    /// the standard deviation.
    pub fn count(&self, region: &Window) -> Result<Count> {
        let region = self.region(region)?;
        let beyond = self.field_over(std::slice::from_ref(&region))?;
        beyond.as_deref().unwrap_or(self.field()).count(&region)
    }

    /// Draws of the expected number of events in a region, and of a number of events given each. Draw `i` belongs to the same intensity
    /// as draw `i` of [`Posterior::sample`] with the same seed.
    pub fn count_draws(&self, region: &Window, draws: usize, seed: u64) -> Result<Vec<(f64, u64)>> {
        limits::draws("draws", draws)?;
        let region = self.region(region)?;
        let beyond = self.field_over(std::slice::from_ref(&region))?;
        let field = beyond.as_deref().unwrap_or(self.field());
        let over = field.over(&region)?;
        (0..draws)
            .map(|draw| {
                let mut rng = sample::stream(seed, draw as u64);
                let expected = over(&draw_coefficients(field, &mut rng)?);
                Ok((expected, thinning::poisson(&mut rng, expected)))
            })
            .collect()
    }

    /// The part of a region in which events are counted, if there is any. Where the window is one box looked at evenly, that is all of
    /// it: beyond the window the count is a forecast, for an exposure of 1. Any other window (a border, pieces, an exposure) says itself
    /// where events can be, and only what lies inside it is counted.
    pub fn counted(&self, region: &Window) -> Option<Window> {
        if self.counts_beyond_the_window() && region.exposure().is_none() && region.dims() == self.window.dims() {
            return Some(region.clone());
        }
        self.window.intersection(region)
    }

    /// Whether what lies outside the window is counted too, as a forecast: see [`Posterior::counted`].
    pub fn counts_beyond_the_window(&self) -> bool {
        self.window.is_one_box()
    }

    /// What knows f all over regions, in inner coordinates, if the field itself does not.
    fn field_over(&self, regions: &[Window]) -> Result<Option<Box<dyn Field>>> {
        let mut around: Vec<Span> = vec![Span { lo: 0.0, hi: 1.0 }; self.window.dims()];
        for span in regions.iter().map(Window::bounding_box) {
            around.iter_mut().zip(span).for_each(|(all, one)| {
                (all.lo, all.hi) = (all.lo.min(one.lo), all.hi.max(one.hi));
            });
        }
        // The ends of a window may be rounded on their way in.
        if around.iter().all(|span| span.lo > -ROUNDING && span.hi < 1.0 + ROUNDING) {
            return Ok(None);
        }
        self.field().reaching(&around, true)
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

    /// A whole new set of events: an intensity from the posterior, then events from it. Draw number `draw` of `seed`. What inducing
    /// points leave unexplained of the intensity counts by its mean, as in [`Posterior::count`].
    pub fn sample_events(&self, seed: u64, draw: u64) -> Result<Points> {
        let mut rng = sample::stream(seed, draw);
        let coefficients = draw_coefficients(self.field(), &mut rng)?;
        let volume = self.scaling.volume();
        let rates = |points: &Points| -> Result<Vec<f64>> {
            let inner = self.scaling.points_inward(points);
            let at = self.field().at(&inner)?;
            Ok(at.mean(&coefficients).iter().zip(at.residual()).map(|(f, c)| (f * f + c) / volume).collect())
        };
        // Its numbers must not be those that made the intensity.
        Simulation::of_batches(&self.window, rates)?.draw(rng.random(), draw)
    }

    /// What f is made of, in unit coordinates.
    pub(crate) fn basis(&self) -> &PosteriorBasis {
        &self.basis
    }

    pub(crate) fn field(&self) -> &dyn Field {
        match &self.basis {
            PosteriorBasis::Inducing(field) => field,
            PosteriorBasis::Lattice(field) => field,
        }
    }

    pub(crate) fn scaling(&self) -> &Scaling {
        &self.scaling
    }
}

/// Rounding of the ends of a window on their way into the unit box.
const ROUNDING: f64 = 1e-9;
/// Ranges from the window at which nothing is known any more: correlation is below 1e-3.
const FAR: f64 = 3.0;
/// Points worked on at a time: what is held for them grows with the number of coefficients.
const BLOCK: usize = 4096;
/// Coefficients of draws that are held at a time.
const DRAWS_HELD: usize = 1 << 24;

fn is_in_unit_box(row: &[f64]) -> bool {
    row.iter().all(|x| (-ROUNDING..=1.0 + ROUNDING).contains(x))
}

/// The box around points, and the window.
fn spans_of(points: &Points) -> Vec<Span> {
    let mut spans = vec![Span { lo: 0.0, hi: 1.0 }; points.dims()];
    for row in points.rows() {
        spans.iter_mut().zip(row).for_each(|(span, x)| (span.lo, span.hi) = (span.lo.min(*x), span.hi.max(*x)));
    }
    spans
}

/// Mean and variance of f at points, block by block.
pub(crate) fn in_blocks(field: &dyn Field, points: &Points) -> Result<Marginals> {
    let mut all = Marginals::default();
    for block in points.coordinates().chunks(BLOCK * points.dims()) {
        let part = field.marginals(&Points::of_rows(points.dims(), block.to_vec()))?;
        all.mean.extend(part.mean);
        all.variance.extend(part.variance);
    }
    Ok(all)
}

/// Points in as few blocks as may be, all about as long: none is so short that it would be drawn otherwise than the rest.
fn even_blocks(points: &Points) -> Vec<Points> {
    let count = points.len().div_ceil(BLOCK).max(1);
    let length = points.len().div_ceil(count).max(1);
    let block = |rows: &[f64]| Points::of_rows(points.dims(), rows.to_vec());
    points.coordinates().chunks(length * points.dims()).map(block).collect()
}

fn draw_coefficients(field: &dyn Field, rng: &mut ChaCha8Rng) -> Result<Vec<f64>> {
    field.draw(&gaussian::standard_normal(rng, field.size()))
}

fn rate_of(f: &Marginals) -> Rate {
    let both = || f.mean.iter().zip(&f.variance);
    Rate {
        mean: both().map(|(m, v)| m * m + v).collect(),
        sd: both().map(|(m, v)| (2.0 * v * v + 4.0 * m * m * v).sqrt()).collect(),
    }
}

fn check_probabilities(probabilities: &[f64]) -> Result<()> {
    match probabilities.iter().find(|p| !(0.0..=1.0).contains(*p)) {
        Some(p) => Err(Error::setting("quantile", p, "must lie between 0 and 1")),
        None => Ok(()),
    }
}

fn quantiles_of(f: &Marginals, probabilities: &[f64]) -> Vec<Vec<f64>> {
    let blocks = |p: f64| {
        let parts = f.mean.chunks(BLOCK).zip(f.variance.chunks(BLOCK));
        let quantiles = |(mean, variance): (&[f64], &[f64])| -> Vec<f64> {
            mean.iter().zip(variance).map(|(m, v)| square_quantile(*m, v.sqrt(), p)).collect()
        };
        parallel::map(parts, 100 * f.mean.len(), quantiles).concat()
    };
    probabilities.iter().map(|&p| blocks(p)).collect()
}
