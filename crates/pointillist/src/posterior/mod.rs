//! The posterior of the intensity: rate, quantiles, counts, draws. It holds no events.
//!
//! λ(x) = f(x)² with f(x) ~ N(μ, σ²): mean μ² + σ², variance 2σ⁴ + 4μ²σ², exact quantiles (docs/derivation.md (25), (26)). Inside, coordinates are
//! those of the unit box; everything that comes out is in the user's units. Cost: M² a point.

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

use crate::basis::PriorMean;
use crate::bound::Marginals;
use crate::error::{Error, Result};
use crate::kernel::Kernel;
use crate::lattice::Smoothness;
use crate::limits;
use crate::numerics::special::{expected_log_square, square_quantile};
use crate::points::Points;
use crate::sample::{self, gaussian, thinning};
use crate::window::{Scaling, Window};
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

    /// Mean and variance of f at points, in the user's units.
    pub fn marginals(&self, points: &Points) -> Result<Marginals> {
        self.check_dims(points)?;
        let mut marginals = self.field().marginals(&self.scaling.points_inward(points))?;
        let volume = self.scaling.volume();
        marginals.mean.iter_mut().for_each(|m| *m /= volume.sqrt());
        marginals.variance.iter_mut().for_each(|v| *v /= volume);
        Ok(marginals)
    }

    fn check_dims(&self, points: &Points) -> Result<()> {
        let (expected, found) = (self.window.dims(), points.dims());
        if expected == found { Ok(()) } else { Err(Error::Dimension { what: "points", expected, found }) }
    }

    /// Mean and standard deviation of the rate at points.
    pub fn rate(&self, points: &Points) -> Result<Rate> {
        let f = self.marginals(points)?;
        let mean = f.mean.iter().zip(&f.variance).map(|(m, v)| m * m + v).collect();
        let sd = f.mean.iter().zip(&f.variance).map(|(m, v)| (2.0 * v * v + 4.0 * m * m * v).sqrt()).collect();
        Ok(Rate { mean, sd })
    }

    /// E[log λ] at points: what each event adds to the data term of the bound.
    pub fn expected_log_rate(&self, points: &Points) -> Result<Vec<f64>> {
        let f = self.marginals(points)?;
        Ok(f.mean.iter().zip(&f.variance).map(|(m, v)| expected_log_square(*m, *v).value).collect())
    }

    /// Exact posterior quantiles of the rate: for each probability, one value a point.
    pub fn quantiles(&self, points: &Points, probabilities: &[f64]) -> Result<Vec<Vec<f64>>> {
        if let Some(p) = probabilities.iter().find(|p| !(0.0..=1.0).contains(*p)) {
            return Err(Error::setting("quantile", p, "must lie between 0 and 1"));
        }
        let f = self.marginals(points)?;
        let quantile = |p: f64| f.mean.iter().zip(&f.variance).map(|(m, v)| square_quantile(*m, v.sqrt(), p)).collect();
        Ok(probabilities.iter().map(|&p| quantile(p)).collect())
    }

    /// `draws` joint draws of the intensity at points.
    pub fn sample(&self, points: &Points, draws: usize, seed: u64) -> Result<Vec<Vec<f64>>> {
        self.check_dims(points)?;
        limits::numbers("draws", draws, points.len())?;
        let inner = self.scaling.points_inward(points);
        let at = self.field().at(&inner)?;
        let volume = self.scaling.volume();
        (0..draws)
            .map(|draw| {
                let mut rng = sample::stream(seed, draw as u64);
                let coefficients = self.draw_coefficients(&mut rng)?;
                Ok(at.draw(&coefficients, &mut rng).iter().map(|f| f * f / volume).collect())
            })
            .collect()
    }

    fn draw_coefficients(&self, rng: &mut ChaCha8Rng) -> Result<Vec<f64>> {
        self.field().draw(&gaussian::standard_normal(rng, self.field().size()))
    }

    /// The expected number of events in that part of a region that lies inside the window: of one repeat, unless the region says
    /// otherwise, and under the window's exposure. What inducing points leave unexplained counts in the mean, not in the standard deviation.
    pub fn count(&self, region: &Window) -> Result<Count> {
        self.field().count(&self.region(region)?)
    }

    /// Draws of the expected number of events in a region, and of a number of events given each.
    pub fn count_draws(&self, region: &Window, draws: usize, seed: u64) -> Result<Vec<(f64, u64)>> {
        limits::draws("draws", draws)?;
        let over = self.field().over(&self.region(region)?)?;
        (0..draws)
            .map(|draw| {
                let mut rng = sample::stream(seed, draw as u64);
                let expected = over(&self.draw_coefficients(&mut rng)?);
                Ok((expected, thinning::poisson(&mut rng, expected)))
            })
            .collect()
    }

    /// The part of a region that lies inside the window, in inner coordinates.
    fn region(&self, region: &Window) -> Result<Window> {
        if region.dims() != self.window.dims() {
            return Err(Error::Dimension { what: "region", expected: self.window.dims(), found: region.dims() });
        }
        let ends = |window: &Window| {
            window.bounding_box().iter().map(|s| format!("{},{}", s.lo, s.hi)).collect::<Vec<_>>().join(",")
        };
        let Some(inside) = self.window.intersection(region) else {
            let requirement = format!("lies outside the window {}", ends(&self.window));
            return Err(Error::setting("region", ends(region), requirement));
        };
        Ok(inside.scaled(&self.scaling))
    }

    /// A whole new set of events: an intensity from the posterior, then events from it. Draw number `draw` of `seed`.
    pub fn sample_events(&self, seed: u64, draw: u64) -> Result<Points> {
        let mut rng = sample::stream(seed, draw);
        let coefficients = self.draw_coefficients(&mut rng)?;
        let dims = self.window.dims();
        let mut ceiling = self.ceiling(&coefficients)?;
        let most = self.window.most_coverage();
        loop {
            let everywhere = thinning::candidates(&mut rng, &vec![0.0; dims], &vec![1.0; dims], most * ceiling);
            let outer = self.scaling.points_outward(&Points::new(dims, everywhere)?);
            let outer = outer.filter(|row| self.window.contains(row));
            let inner = self.scaling.points_inward(&outer);
            let f = self.field().at(&inner)?.draw(&coefficients, &mut rng);
            let squares: Vec<f64> = f.iter().map(|f| f * f).collect();
            let highest = squares.iter().copied().fold(0.0, f64::max);
            if highest > ceiling {
                ceiling = 1.5 * highest; // the ceiling was not one: thin anew under a true one
                continue;
            }
            let rates: Vec<f64> = outer.rows().zip(&squares).map(|(row, f)| self.window.coverage(row) * f).collect();
            let keep = thinning::keep(&mut rng, &rates, most * ceiling);
            let kept = outer.rows().zip(keep).filter(|(_, keep)| *keep).flat_map(|(row, _)| row.to_vec()).collect();
            return Points::new(dims, kept);
        }
    }

    /// A rate that the intensity of these coefficients hardly exceeds: the largest on a grid, residual included, and a fifth more.
    fn ceiling(&self, coefficients: &[f64]) -> Result<f64> {
        let dims = self.window.dims();
        let side = if dims == 1 { 400 } else { (10_000f64.powf(1.0 / dims as f64) as usize).max(5) };
        let grid = self.window.grid(&vec![side; dims]);
        let inside = grid.filter(|row| self.window.contains(row));
        let grid = self.scaling.points_inward(if inside.is_empty() { &grid } else { &inside });
        let at = self.field().at(&grid)?;
        let f = at.mean(coefficients);
        let rate = |(f, residual): (&f64, &f64)| (f.abs() + 4.0 * residual.sqrt()).powi(2);
        Ok(1.2 * f.iter().zip(at.residual()).map(rate).fold(f64::MIN_POSITIVE, f64::max))
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
