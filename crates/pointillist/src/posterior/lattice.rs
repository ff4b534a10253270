//! q(f) on a lattice: the coefficients are those of the hats, f(x) = ū + ψ(x)ᵀw, and nothing is left open.
//!
//! q(w) = N(m, P⁻¹) with P = Q + 2𝓜 + what the events say, a band matrix. Q and 𝓜 follow from Θ and the window, so that only m
//! and what the events say are kept. The covariance between neighbours gives the rate at any place. Draws and sums over a
//! region need the factor of P, which is made when first asked for.

use super::Count;
use super::field::{Field, Given, Integral, Parts, RegionForm};
use crate::covariates::Regressors;
use crate::data::points::Points;
use crate::error::{Error, Result};
use crate::exact::{self, Reference};
use crate::field::lattice::{
    Hats, IntegralNodes, Lattice, LatticeMean, Optimum, Rows, Smoothness, Theta, between, of_variance,
};
use crate::gaussian::bordered::{BorderedFactor, BorderedSpread};
use crate::gaussian::{BandedFactor, Bordered, Design, Diagonals, Factor, Precision, Region};
use crate::numerics::linalg::{self, Matrix};
use crate::numerics::newton::{self, Concave};
use crate::parallel;
use crate::sample::importance::{self, LogMean};
use crate::sample::{self, gaussian};
use crate::score::{Draws, SquareProduct};
use crate::terms::{Link, Marginals, Part, Potential};
use crate::window::{Nodes, Span, Window};
use rand_chacha::ChaCha8Rng;
use std::sync::{Arc, OnceLock};

/// The step by which P is moved along a mass matrix for the variance of a sum. The error of the difference is the square of this,
/// and rounding is far below.
const STEP: f64 = 1e-3;
/// Most points whose joint distribution is written down as a matrix, and most multiplications to get there.
const DENSE_POINTS: usize = 2500;
const DENSE_WORK: f64 = 1e11;
/// Where there are more: multiplications of the draws for a score, and the fewest draws.
const DRAWS_WORK: f64 = 5e10;
const FEWEST_DRAWS: usize = 50;
/// Newton steps to a mode.
const MOST_NEWTON: usize = 1000;
/// Multiplications of the draws for the standard deviation of a count, where it has no closed form; the fewest and the most pairs of draws;
/// and their seed.
const COUNT_WORK: f64 = 1e10;
const FEWEST_PAIRS: f64 = 100.0;
const MOST_PAIRS: f64 = 1000.0;
const COUNT_SEED: u64 = 0;
/// Draws of the exact posterior's reference that are made at a time.
const DRAWN_TOGETHER: usize = 16;

/// Distance, in ranges, between what is asked about beyond the window and the border of the lattice, because near its border the
/// prior's variance is not that of f.
const BORDER: f64 = 1.0;

/// q(f) on a lattice.
/// All matrices are over the unknowns: those of the lattice, bordered by the constant if that is among them.
#[derive(Clone)]
pub(crate) struct LatticeField {
    lattice: Arc<Lattice>,
    pub(crate) theta: Theta,
    link: Link,
    /// Of the unknowns: the hats' coefficients, then the constant if it is one of them.
    mean: Vec<f64>,
    /// What the events add to the precision of the unknowns.
    events: Bordered<Diagonals>,
    /// The covariance between neighbours.
    spread: Arc<BorderedSpread<Diagonals>>,
    /// The factor of P, once it was asked for.
    factor: Arc<OnceLock<BorderedFactor<BandedFactor>>>,
    /// The variances at nodes that bands are made of, the same.
    shown: Arc<OnceLock<Vec<f64>>>,
    /// Whether q is its mean alone.
    collapsed: bool,
}

/// All its numbers, in the coordinates of the unit box.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct LatticeState {
    /// Nodes on each axis.
    pub nodes: Vec<usize>,
    /// How far the lattice reaches beyond the window on each axis.
    pub margin: Vec<f64>,
    /// α.
    pub smoothness: usize,
    /// √(8ν)/κ.
    pub range: f64,
    /// The squared ratio of each axis' range to that.
    pub stretch: Vec<f64>,
    /// The variance of f.
    pub variance: f64,
    /// ū.
    pub mean: f64,
    /// How much more than elsewhere f varies about each knot over the window, the last axis going fastest; empty if that is the same everywhere.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Vec::is_empty"))]
    pub scale: Vec<f64>,
    /// Mean of q(w).
    #[cfg_attr(feature = "serde", serde(with = "super::packed"))]
    pub q_mean: Vec<f64>,
    /// What the events add to the precision of w, one diagonal after another: that of each node with itself and with its neighbours.
    #[cfg_attr(feature = "serde", serde(with = "super::packed"))]
    pub q_events: Vec<f64>,
    /// The covariance of w, the same; given the constant, if that is unknown.
    #[cfg_attr(feature = "serde", serde(with = "super::packed"))]
    pub q_covariance: Vec<f64>,
    /// The constant, if it is unknown.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub constant: Option<ConstantState>,
    /// The unknowns beside the lattice, `constant` among them, if there are covariates.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub beside: Option<BesideState>,
}

/// An unknown constant beside the lattice: f = ū + sd ζ + Σ w ψ, ζ standard normal before events are seen. Its mean comes last in `q_mean`.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ConstantState {
    /// Its prior standard deviation.
    pub sd: f64,
    /// The posterior variance of ζ.
    pub variance: f64,
    /// How the mean of each w falls as ζ grows.
    #[cfg_attr(feature = "serde", serde(with = "super::packed"))]
    pub border: Vec<f64>,
}

/// The unknowns beside a lattice where covariates are among them.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct BesideState {
    /// The prior standard deviation of the constant, if that is the first of them.
    pub constant: Option<f64>,
    /// How the mean of each w falls as each of them grows, one unknown after another.
    #[cfg_attr(feature = "serde", serde(with = "super::packed"))]
    pub border: Vec<f64>,
    /// The Cholesky factor of their posterior precision, column after column.
    pub root: Vec<f64>,
    /// What the events add to the precision between w and each of them, one unknown after another.
    #[cfg_attr(feature = "serde", serde(with = "super::packed"))]
    pub events_border: Vec<f64>,
    /// What they add to the precision between these, column after column.
    pub events_corner: Vec<f64>,
}

impl BesideState {
    fn numbers(&self) -> impl Iterator<Item = f64> + '_ {
        [&self.border, &self.root, &self.events_border, &self.events_corner].into_iter().flatten().copied()
    }

    /// What the events add to the precision of all unknowns, and what variances are read from, given those of the hats' coefficients.
    fn with(
        self,
        lattice: &Lattice,
        events: Diagonals,
        inner: Diagonals,
    ) -> Result<(Bordered<Diagonals>, BorderedSpread<Diagonals>)> {
        let (size, count) = (lattice.grid().size(), lattice.beside().len());
        let corner = |values: Vec<f64>| Matrix::from_columns(count, values);
        let sizes = [self.border.len(), self.events_border.len(), self.root.len(), self.events_corner.len()];
        let is_whole = sizes == [size * count, size * count, count * count, count * count];
        let is_root = is_whole && (0..count).all(|k| self.root[k * count + k] > 0.0);
        if !is_root || self.constant.is_some_and(|sd| !(sd.is_finite() && sd > 0.0)) {
            return Err(Error::setting("q", count, "does not fit the covariates"));
        }
        let events = Bordered { inner: events, border: self.events_border, corner: corner(self.events_corner) };
        Ok((events, BorderedSpread { inner, border: self.border, corner: corner(self.root) }))
    }
}

impl LatticeField {
    /// The posterior mean of its unknowns.
    pub(super) fn mean(&self) -> &[f64] {
        &self.mean
    }

    /// The window is the one that the lattice was made for.
    /// `events` is what they add to the precision of the unknowns.
    pub(crate) fn new(
        lattice: Arc<Lattice>,
        theta: Theta,
        link: Link,
        optimum: Optimum,
        events: Bordered<Diagonals>,
    ) -> Self {
        let BorderedSpread { inner, border, corner } = optimum.spread;
        let inner = inner.on(lattice.grid().neighbour_shifts());
        let spread = Arc::new(BorderedSpread { inner, border, corner });
        let (factor, shown) = (Arc::default(), Arc::default());
        Self { lattice, theta, link, mean: optimum.mean, events, spread, factor, shown, collapsed: false }
    }

    /// The same with a factor of its own, which can take much memory.
    pub(super) fn apart(&self) -> Self {
        Self { factor: Arc::default(), ..self.clone() }
    }

    pub(crate) fn nodes(&self) -> Vec<usize> {
        self.lattice.grid().nodes()
    }

    pub(crate) fn margin(&self) -> Vec<f64> {
        self.lattice.grid().margin()
    }

    /// Whether the constant is an unknown, or ū itself.
    pub(crate) fn mean_kind(&self) -> LatticeMean {
        if self.lattice.constant().is_some() { LatticeMean::Integrated } else { LatticeMean::Learned }
    }

    pub(crate) fn smoothness(&self) -> Smoothness {
        self.lattice.prior().smoothness()
    }

    pub(super) fn state(&self) -> LatticeState {
        let Theta { range, variance, mean, stretch, scale } = self.theta.clone();
        LatticeState {
            nodes: self.nodes(),
            margin: self.margin(),
            smoothness: self.smoothness().alpha(),
            range,
            stretch,
            variance,
            mean,
            scale,
            q_mean: self.mean.clone(),
            q_events: self.events.inner.values().to_vec(),
            q_covariance: self.spread.inner.values().to_vec(),
            constant: self.lattice.constant().filter(|_| !self.has_covariates()).map(|sd| ConstantState {
                sd,
                variance: self.spread.corner_covariance()[(0, 0)],
                border: self.spread.border.clone(),
            }),
            beside: self.has_covariates().then(|| BesideState {
                constant: self.lattice.constant(),
                border: self.spread.border.clone(),
                root: self.spread.corner.data().to_vec(),
                events_border: self.events.border.clone(),
                events_corner: self.events.corner.data().to_vec(),
            }),
        }
    }

    fn has_covariates(&self) -> bool {
        self.lattice.beside().covariates > 0
    }

    /// What covariates add to f, if there are any.
    pub(crate) fn regressors(&self) -> Option<&Arc<Regressors>> {
        self.lattice.regressors()
    }

    /// The same with other values of covariates.
    pub(super) fn with_regressors(&self, regressors: &Arc<Regressors>) -> Self {
        let lattice = Lattice::clone(&self.lattice).with_regressors(Some(regressors.clone()));
        Self { lattice: Arc::new(lattice), ..self.clone() }
    }

    /// Mean and covariance of the unknowns of the regressors.
    pub(super) fn of_regressors(&self) -> (Vec<f64>, Matrix) {
        let beside = self.lattice.beside();
        let covariance = self.spread.corner_covariance();
        let first = beside.len() - beside.covariates;
        let own = Matrix::from_fn(beside.covariates, beside.covariates, |k, l| covariance[(first + k, first + l)]);
        (self.mean[self.lattice.grid().size() + first..].to_vec(), own)
    }

    /// With these numbers over a window, in the coordinates of the unit box, once they are found to make sense.
    pub(super) fn from_state(
        state: LatticeState,
        link: Link,
        window: &Window,
        regressors: Option<Arc<Regressors>>,
    ) -> Result<Self> {
        if regressors.is_some() != state.beside.is_some() || (regressors.is_some() && link != Link::Log) {
            return Err(Error::setting("q", "covariates", "are not those of the model"));
        }
        let LatticeState { nodes, margin, smoothness, range, stretch, variance, mean, scale, .. } = state;
        let theta = Theta { range, variance, mean, stretch, scale };
        theta.check(window.dims())?;
        if smoothness % 2 != 0 && !theta.scale.is_empty() {
            return Err(Error::setting("scale", theta.scale.len(), "cannot vary where the smoothness is 1"));
        }
        let own = state.constant.iter().flat_map(|constant| [constant.sd, constant.variance]).collect::<Vec<_>>();
        let border = state.constant.as_ref().map_or(&[][..], |constant| &constant.border);
        let beside = state.beside.iter().flat_map(BesideState::numbers).collect::<Vec<_>>();
        let numbers = [&state.q_mean, &state.q_events, &state.q_covariance, border, &own, &beside];
        if numbers.iter().any(|list| list.iter().any(|v| !v.is_finite())) || own.iter().any(|v| *v <= 0.0) {
            return Err(Error::setting("q", "a number", "is not finite"));
        }
        // Before anything of that size is made.
        let covariates = regressors.as_ref().map_or(0, |regressors| regressors.len());
        let has_constant =
            state.constant.is_some() || state.beside.as_ref().is_some_and(|beside| beside.constant.is_some());
        let unknowns = usize::from(has_constant) + covariates;
        let size = nodes.iter().try_fold(1usize, |size, n| size.checked_mul(*n));
        if size.and_then(|size| size.checked_add(unknowns)) != Some(state.q_mean.len()) {
            return Err(Error::setting("q", state.q_mean.len(), "is not the number of nodes of the lattice"));
        }
        let lattice = Lattice::new(window, &nodes, &margin, Smoothness::of(smoothness)?)?;
        let neighbours = lattice.grid().neighbour_shifts();
        let diagonals = |values: Vec<f64>| {
            let count = values.len();
            Diagonals::of_values(lattice.grid().size(), neighbours.clone(), values)
                .ok_or_else(|| Error::setting("q", count, "does not fit the neighbours of the lattice's nodes"))
        };
        let (events, inner) = (diagonals(state.q_events)?, diagonals(state.q_covariance)?);
        if let Some(beside) = state.beside {
            let lattice = lattice.clone().with_constant(beside.constant).with_regressors(regressors);
            let (events, spread) = beside.with(&lattice, events, inner)?;
            let (lattice, spread) = (Arc::new(lattice), Arc::new(spread));
            let (factor, shown) = (Arc::default(), Arc::default());
            return Ok(Self {
                lattice,
                theta,
                link,
                mean: state.q_mean,
                events,
                spread,
                factor,
                shown,
                collapsed: false,
            });
        }
        let (sd, border, corner) = match state.constant {
            None => (None, vec![], Matrix::zeros(0, 0)),
            Some(ConstantState { sd, variance, border }) if border.len() == lattice.grid().size() => {
                (Some(sd), border, Matrix::scaled_identity(1, 1.0 / variance.sqrt()))
            }
            Some(constant) => {
                return Err(Error::setting("q", constant.border.len(), "does not fit the nodes of the lattice"));
            }
        };
        let spread = Arc::new(BorderedSpread { inner, border, corner });
        let lattice = Arc::new(lattice.with_constant(sd));
        let events = lattice.with_sums(events);
        let (factor, shown) = (Arc::default(), Arc::default());
        Ok(Self { lattice, theta, link, mean: state.q_mean, events, spread, factor, shown, collapsed: false })
    }

    fn hats(&self, points: &Points) -> Result<Hats> {
        self.lattice.at(points)
    }

    fn is_quadratic(&self) -> bool {
        matches!(self.link.formula().integral(), Part::Quadratic)
    }

    /// The integral of the intensity over a region, as this link has it.
    fn integral_over(&self, region: &Window) -> Result<Over> {
        match self.link.formula().integral() {
            Part::Quadratic => Ok(Over::Quadratic(self.lattice.over(region)?)),
            Part::Sites(potential) => {
                let IntegralNodes { hats, weights, .. } = self.lattice.integral_nodes(region)?;
                Ok(Over::Nodes(SaidAt { hats, weights, potential }))
            }
        }
    }

    /// ∫ E[f²] over a region.
    fn expected_square(&self, region: &Region<Bordered<Diagonals>>) -> f64 {
        region.of_square(self.theta.mean, &self.mean) + of_variance(region, &self.spread)
    }

    /// ∫ E[λ] over a region by Gauss-Legendre nodes inside the cells of the lattice.
    fn expected_by_nodes(&self, region: &Window) -> Result<f64> {
        let link = self.link.formula();
        if let Some(regressors) = self.regressors() {
            regressors.check_covers(&region.bounding_box())?;
        }
        let Nodes { points, weights } = Nodes::of_pieces(&self.lattice.between_lines(region));
        let f = self.marginals(&points)?;
        let rates = f.mean.iter().zip(&f.variance).map(|(mean, variance)| link.moments(*mean, *variance).0);
        Ok(rates.zip(&weights).map(|(rate, weight)| weight * rate).sum())
    }

    /// Mean and standard deviation of ∫λ by draws, as many as are cheap.
    fn drawn_count(&self, region: &Window) -> Result<Count> {
        let form = self.form(region)?;
        let pairs = (COUNT_WORK / self.factor()?.inner.multiplications()).clamp(FEWEST_PAIRS, MOST_PAIRS) as u64;
        let draw = |pair: usize| {
            let noise = gaussian::standard_normal(&mut sample::stream(COUNT_SEED, pair as u64), self.mean.len());
            Ok(form.parts.at(&self.deviations(noise)?))
        };
        Ok(form.moments(&parallel::try_each(pairs as usize, draw)?.concat()))
    }

    /// P.
    fn precision(&self) -> Bordered<Diagonals> {
        let mut precision = self.lattice.precision(&self.theta);
        if self.is_quadratic() {
            precision.add_scaled(2.0, &self.lattice.region().square);
        }
        precision.add_scaled(1.0, &self.events);
        precision
    }

    fn factor(&self) -> Result<&BorderedFactor<BandedFactor>> {
        if self.factor.get().is_none() {
            let factor = self.precision().factor()?;
            return Ok(self.factor.get_or_init(|| factor));
        }
        self.factor.get().ok_or_else(|| Error::NotANumber { parameters: vec![] })
    }

    /// The same for many solves, which do not depend on the order in which P is factored, as draws do: with a factor in the order that takes least.
    pub(super) fn for_solves(&self) -> Result<Self> {
        let lattice = Lattice::clone(&self.lattice).for_steps();
        let field = match lattice.elimination() == self.lattice.elimination() {
            true => self.clone(),
            false => Self { lattice: Arc::new(lattice), factor: Arc::default(), ..self.clone() },
        };
        field.factor()?;
        Ok(field)
    }

    /// P⁻¹v for a list of columns, once P was factored.
    pub(super) fn solve(&self, v: &mut [f64]) {
        self.factor.get().into_iter().for_each(|factor| factor.solve(v));
    }

    pub(super) fn link(&self) -> Link {
        self.link
    }

    /// Visits the entries of the rows of points: the point, the unknown, and the value.
    pub(super) fn for_each_entry(&self, points: &Points, mut visit: impl FnMut(usize, usize, f64)) -> Result<()> {
        let hats = self.hats(points)?;
        for n in 0..hats.len() {
            hats.pairs(n).for_each(|(i, value)| visit(n, i, value));
            let beside = self.lattice.constant().into_iter().chain(hats.dense.iter().map(|z| z[n]));
            beside.enumerate().for_each(|(k, z)| visit(n, self.lattice.grid().size() + k, z));
        }
        Ok(())
    }

    /// Hats as rows over the unknowns.
    fn rows<'a>(&self, hats: &'a Hats) -> Rows<'a> {
        self.lattice.rows(hats, &[])
    }

    /// Mean and variance of f at the points of these hats.
    fn marginals_at(&self, hats: &Hats) -> Marginals {
        let rows = self.lattice.rows(hats, self.spread.inner.shifts());
        let (mut mean, variance) = rows.moments(&self.mean, &self.spread);
        mean.iter_mut().for_each(|f| *f += self.theta.mean);
        Marginals { mean, variance }
    }

    /// f at the points of these rows.
    fn f(&self, rows: &Rows<'_>, unknowns: &[f64]) -> Vec<f64> {
        rows.levels(unknowns).iter().map(|level| self.theta.mean + level).collect()
    }

    fn q(&self) -> Result<Banded> {
        let precision = self.precision();
        Ok(Banded { log_determinant: self.factor()?.log_determinant(), mean: self.mean.clone(), precision })
    }

    fn prior(&self) -> Banded {
        Banded {
            mean: vec![0.0; self.mean.len()],
            precision: self.lattice.precision(&self.theta),
            log_determinant: self.lattice.prior().log_determinant(&self.theta),
        }
    }

    /// exp(−∫f²) times a Gaussian of w.
    fn tilted(&self, gaussian: Banded, region: &Region<Bordered<Diagonals>>) -> Result<Tilted> {
        let offset = self.theta.mean;
        let mut precision = gaussian.precision.clone();
        precision.add_scaled(2.0, &region.square);
        let factor = precision.clone().factor()?;
        let mut mean = gaussian.precision.times(&gaussian.mean);
        linalg::add_scaled(&mut mean, -2.0 * offset, &region.linear);
        factor.solve(&mut mean);
        let moved: Vec<f64> = mean.iter().zip(&gaussian.mean).map(|(a, b)| a - b).collect();
        // The exponent is highest at the new mean.
        let highest = -0.5 * linalg::dot(&moved, &gaussian.precision.times(&moved)) - region.of_square(offset, &mean);
        let log_mass = highest + 0.5 * (gaussian.log_determinant - factor.log_determinant());
        Ok(Tilted { mean, precision, factor, log_mass })
    }

    /// f at points under a Gaussian of w with this mean and factor.
    fn at_points(&self, tilted: &Tilted, points: &Points) -> Result<SquareProduct> {
        if points.is_empty() {
            return Ok(SquareProduct { mean: vec![], rows: Matrix::zeros(0, 0), extra: vec![] });
        }
        let hats = self.hats(points)?;
        if !self.is_dense(points.len(), &tilted.factor) {
            let requirement = format!("are too many on a lattice of {} nodes; give fewer of them", self.mean.len());
            return Err(Error::setting("points", points.len(), requirement));
        }
        let (rows, size) = (self.rows(&hats), self.mean.len());
        let column = |n: usize| {
            let mut x = vec![0.0; size];
            hats.pairs(n).for_each(|(i, value)| x[i] += value);
            self.lattice.constant().into_iter().for_each(|z| x[size - 1] = z);
            tilted.factor.solve(&mut x);
            rows.levels(&x)
        };
        let columns: Vec<Vec<f64>> = parallel::each(hats.len(), column);
        let covariance = Matrix::from_columns(hats.len(), columns.concat());
        let mean = self.f(&rows, &tilted.mean);
        Ok(SquareProduct { mean, rows: linalg::pivoted_cholesky(&covariance), extra: vec![0.0; hats.len()] })
    }

    fn is_dense(&self, points: usize, factor: &BorderedFactor<BandedFactor>) -> bool {
        points <= DENSE_POINTS && points as f64 * factor.inner.multiplications() <= DENSE_WORK
    }

    /// A Gaussian of w times the likelihood of events over a window: what of it leaves a Gaussian is folded in, the rest is said by points.
    fn with_data(&self, gaussian: Banded, events: &Points, window: &Window) -> Result<(Tilted, Vec<SaidAt>)> {
        let hats = self.hats(events)?;
        let events = SaidAt { weights: vec![1.0; hats.len()], hats, potential: self.link.formula().events() };
        match self.integral_over(window)? {
            Over::Quadratic(region) => Ok((self.tilted(gaussian, &region)?, vec![events])),
            Over::Nodes(nodes) => {
                let Banded { mean, precision, log_determinant: _ } = gaussian;
                let factor = precision.clone().factor()?;
                Ok((Tilted { mean, precision, factor, log_mass: 0.0 }, vec![events, nodes]))
            }
        }
    }

    /// log of the expectation of what the points say under a Gaussian of w, by draws about its mode.
    fn sampled(&self, tilted: &Tilted, said: &[SaidAt], draws: Draws<'_>) -> Result<LogMean> {
        let target = Target::new(self, tilted, said);
        let mode = target.mode(tilted.mean.clone(), &|| draws.work.pulse())?;
        let count = draws.count.min((DRAWS_WORK / mode.factor.inner.multiplications()) as usize).max(FEWEST_DRAWS);
        let log_weight = |draw: usize| {
            let noise = gaussian::standard_normal(&mut sample::stream(draws.seed, draw as u64), self.mean.len());
            let mut w = noise.clone();
            mode.factor.solve_lower_transposed(&mut w);
            linalg::add_scaled(&mut w, 1.0, &mode.place);
            draws.work.advance(draws.units() / count)?;
            Ok(target.value(&w) + 0.5 * linalg::dot(&noise, &noise))
        };
        let log_weights: Vec<f64> = parallel::try_each(count, log_weight)?;
        draws.work.advance(draws.units() % count)?;
        let mut mean = importance::log_mean(&log_weights);
        mean.value += 0.5 * (tilted.factor.log_determinant() - mode.factor.log_determinant());
        Ok(mean)
    }
}

/// A Gaussian of w by its precision.
struct Banded {
    mean: Vec<f64>,
    precision: Bordered<Diagonals>,
    log_determinant: f64,
}

/// A Gaussian of w that is exp(−∫f²) times another.
struct Tilted {
    mean: Vec<f64>,
    precision: Bordered<Diagonals>,
    factor: BorderedFactor<BandedFactor>,
    /// log of its mass.
    log_mass: f64,
}

/// The integral of the intensity over a region.
enum Over {
    /// ∫f² by the integrals of hats.
    Quadratic(Region<Bordered<Diagonals>>),
    /// By the nodes of a rule, which say −λ.
    Nodes(SaidAt),
}

/// Weighted points that say something of f: the potential is that of an event, or of a node of the integral.
struct SaidAt {
    hats: Hats,
    weights: Vec<f64>,
    potential: &'static dyn Potential,
}

impl SaidAt {
    /// Σ w g for f at the points.
    fn value(&self, f: &[f64]) -> f64 {
        f.iter().zip(&self.weights).map(|(f, weight)| weight * self.potential.at(*f)[0]).sum()
    }
}

/// Takes the weights of nodes whose sum lies above the integral, the more the coarser the lattice, down to a mean that is that of the integral itself: so draws
/// scatter about it, and not about what the bound has.
pub(super) fn onto_the_integral(weights: &mut [f64], mean: f64, (link, f): (Link, &Marginals)) {
    let rates = f.mean.iter().zip(&f.variance).map(|(mean, variance)| link.formula().moments(*mean, *variance).0);
    let above: f64 = rates.zip(&*weights).map(|(rate, weight)| weight * rate).sum();
    let part = mean / above;
    if part.is_finite() && part > 0.0 {
        weights.iter_mut().for_each(|weight| *weight *= part);
    }
}

/// ∫λ by the nodes of a rule: the halves of sum and difference for m + z and m − z.
struct Mirrored {
    lattice: Arc<Lattice>,
    nodes: SaidAt,
    /// f at the nodes for the mean of the unknowns, and ∫λ there.
    f: Vec<f64>,
    level: f64,
}

impl Parts for Mirrored {
    fn at(&self, z: &[f64]) -> Vec<[f64; 2]> {
        let SaidAt { hats, weights, potential } = &self.nodes;
        let rows = self.lattice.rows(hats, &[]);
        // Draws are many and nodes few: nothing is made anew for a draw.
        let parts = |z: &[f64]| {
            let (z, beside) = z.split_at(z.len() - rows.dense.len());
            let (mut up, mut down) = (0.0, 0.0);
            for (n, (f, weight)) in self.f.iter().zip(weights).enumerate() {
                let more = hats.sum(n, z) + rows.dense.iter().zip(beside).map(|(row, z)| row[n] * z).sum::<f64>();
                up -= weight * potential.at(f + more)[0];
                down -= weight * potential.at(f - more)[0];
            }
            [0.5 * (up - down), 0.5 * (up + down) - self.level]
        };
        z.chunks_exact(self.lattice.size()).map(parts).collect()
    }

    fn bytes(&self) -> usize {
        8 * (self.f.len() * (3 + self.nodes.hats.shifts.len()))
    }
}

/// What points say of f times a Gaussian of w, up to the latter's constant.
struct Target<'a> {
    field: &'a LatticeField,
    tilted: &'a Tilted,
    said: Vec<(Rows<'a>, &'a SaidAt)>,
}

/// The Gaussian about a mode.
struct Mode {
    place: Vec<f64>,
    factor: BorderedFactor<BandedFactor>,
}

impl<'a> Target<'a> {
    fn new(field: &'a LatticeField, tilted: &'a Tilted, said: &'a [SaidAt]) -> Self {
        Self { field, tilted, said: said.iter().map(|said| (field.rows(&said.hats), said)).collect() }
    }

    /// f at the points of each set.
    fn f(&self, w: &[f64]) -> Vec<Vec<f64>> {
        self.said.iter().map(|(rows, _)| self.field.f(rows, w)).collect()
    }

    /// The target's precision about a w, the points' part of it so many times, and the slope of what they say there.
    fn about(&self, w: &[f64], times: f64) -> (Bordered<Diagonals>, Vec<f64>) {
        let (mut precision, mut slope) = (self.tilted.precision.clone(), vec![0.0; self.tilted.mean.len()]);
        for ((rows, said), f) in self.said.iter().zip(self.f(w)) {
            let weighed = |i: usize, times: f64| -> Vec<f64> {
                f.iter().zip(&said.weights).map(|(f, weight)| times * weight * said.potential.at(*f)[i]).collect()
            };
            rows.add_sites(&weighed(2, times), &weighed(1, 1.0), &mut precision, &mut slope);
        }
        (precision, slope)
    }

    /// Between the zeros of f the square's target is log-concave; that of exp f is so everywhere.
    fn mode(&self, start: Vec<f64>, pulse: &dyn Fn() -> Result<()>) -> Result<Mode> {
        let place = newton::climb(self, start, 1e-6, MOST_NEWTON, pulse)?;
        let factor = self.about(&place, 1.0).0.factor()?;
        Ok(Mode { place, factor })
    }
}

impl Concave for Target<'_> {
    fn value(&self, w: &[f64]) -> f64 {
        let moved: Vec<f64> = w.iter().zip(&self.tilted.mean).map(|(a, b)| a - b).collect();
        let said: f64 = self.said.iter().zip(self.f(w)).map(|((_, said), f)| said.value(&f)).sum();
        said - 0.5 * linalg::dot(&moved, &self.tilted.precision.times(&moved))
    }

    fn step(&self, place: &[f64]) -> Result<(Vec<f64>, f64)> {
        let (precision, mut gradient) = self.about(place, 1.0);
        let moved: Vec<f64> = self.tilted.mean.iter().zip(place).map(|(a, b)| a - b).collect();
        linalg::add_scaled(&mut gradient, 1.0, &self.tilted.precision.times(&moved));
        let mut step = gradient.clone();
        precision.factor()?.solve(&mut step);
        let expected = linalg::dot(&gradient, &step);
        Ok((step, expected))
    }
}

impl Field for LatticeField {
    fn marginals(&self, points: &Points) -> Result<Marginals> {
        Ok(self.marginals_at(&self.hats(points)?))
    }

    fn shown(&self, points: &Points) -> Result<Marginals> {
        let (hats, link) = (self.hats(points)?, self.link.formula());
        let Marginals { mut mean, mut variance } = self.marginals_at(&hats);
        if !self.collapsed {
            let at_nodes = self.shown.get_or_init(|| self.lattice.shown_variances(&self.spread));
            // What nodes lack is the lattice's, wherever covariates are.
            let bare = (!hats.dense.is_empty()).then(|| self.marginals_at(&hats.clone().beside(vec![])).variance);
            for n in 0..hats.len() {
                let own = bare.as_ref().map_or(variance[n], |bare| bare[n]);
                let more = between::of_first_order(hats.sum(n, at_nodes) - own, own);
                (mean[n], variance[n]) = link.widened(mean[n], variance[n], more);
            }
        }
        Ok(Marginals { mean, variance })
    }

    fn count(&self, region: &Window) -> Result<Count> {
        if !self.is_quadratic() {
            return self.drawn_count(region);
        }
        let region = self.lattice.over(region)?;
        let mean = self.expected_square(&region);
        // Var = 2 tr(ASAS) + 4 hᵀSh, h = Am + ūp; and tr(AS) falls by tr(ASAS) as P grows along A.
        let trace = |step: f64| -> Result<f64> {
            let mut precision = self.precision();
            precision.add_scaled(step, &region.square);
            let shifts = region.square.inner.shifts();
            let factor = precision.factor()?;
            Ok(of_variance(&region, &factor.spread(factor.inner.selected_inverse(shifts))))
        };
        let squares = (trace(-STEP)? - trace(STEP)?) / (2.0 * STEP);
        let mut rotated = region.half_pull(self.theta.mean, &self.mean);
        self.factor()?.solve_lower(&mut rotated);
        Ok(Count { mean, sd: (2.0 * squares + 4.0 * linalg::dot(&rotated, &rotated)).sqrt() })
    }

    fn expected(&self, region: &Window) -> Result<f64> {
        if !self.is_quadratic() {
            return self.expected_by_nodes(region);
        }
        Ok(self.expected_square(&self.lattice.over(region)?))
    }

    /// The same sites under the prior of a larger lattice.
    fn reaching(&self, spans: &[Span], _counted: bool) -> Result<Option<Box<dyn Field>>> {
        let reach: Vec<f64> = self.theta.ranges().iter().map(|range| BORDER * range).collect();
        let Some(wide) = self.lattice.widened(spans, &reach)? else { return Ok(None) };
        let Bordered { inner, border, corner } = &self.events;
        let columns = border.chunks_exact(inner.size().max(1)).flat_map(|column| wide.vector(column));
        let events = Bordered { inner: wide.matrix(inner), border: columns.collect(), corner: corner.clone() };
        // What the sites pull at, P m, does not depend on the prior, whose mean is 0.
        let pull = self.precision().times(&self.mean);
        let (of_hats, beside) = pull.split_at(inner.size());
        let mut mean = wide.vector(of_hats);
        mean.extend(beside);
        let lattice = Arc::new(wide.lattice);
        let (link, theta, spread) = (self.link, self.theta.clone(), self.spread.clone());
        let (factor, shown) = (Arc::default(), Arc::default());
        let mut field = Self { lattice, theta, link, mean: vec![], events, spread, factor, shown, collapsed: false };
        field.factor()?.solve(&mut mean);
        field.mean = mean;
        let factor = field.factor()?;
        let spread = factor.spread(factor.inner.selected_inverse(field.events.inner.shifts()));
        field.spread = Arc::new(spread);
        Ok(Some(Box::new(field)))
    }

    fn collapsed(&self) -> Arc<dyn Field> {
        let inner = Diagonals::zeros(self.events.inner.size(), self.spread.inner.shifts().to_vec());
        // An infinite precision: a variance of 0.
        let corner = Matrix::scaled_identity(self.spread.corner.rows(), f64::INFINITY);
        let spread = Arc::new(BorderedSpread { inner, border: self.spread.border.clone(), corner });
        Arc::new(Self { spread, collapsed: true, ..self.clone() })
    }

    fn size(&self) -> usize {
        self.mean.len()
    }

    fn deviations(&self, mut noise: Vec<f64>) -> Result<Vec<f64>> {
        self.factor()?.solve_lower_transposed(&mut noise);
        Ok(noise)
    }

    fn draw(&self, noise: &[f64]) -> Result<Vec<f64>> {
        let mut w = noise.to_vec();
        self.factor()?.solve_lower_transposed(&mut w);
        linalg::add_scaled(&mut w, 1.0, &self.mean);
        Ok(w)
    }

    fn log_prior_over_q(&self, w: &[f64], noise: &[f64]) -> Result<f64> {
        let prior = self.prior();
        let from_prior = linalg::dot(w, &prior.precision.times(w));
        let determinants = prior.log_determinant - self.factor()?.log_determinant();
        Ok(0.5 * (determinants - from_prior + linalg::dot(noise, noise)))
    }

    fn at<'a>(&'a self, points: &'a Points) -> Result<Box<dyn Given + 'a>> {
        let hats = self.hats(points)?;
        Ok(Box::new(At { residual: vec![0.0; hats.len()], hats, field: self }))
    }

    fn over(&self, region: &Window) -> Result<Integral> {
        let offset = self.theta.mean;
        match self.integral_over(region)? {
            Over::Quadratic(region) => Ok(Box::new(move |w| region.of_square(offset, w))),
            Over::Nodes(nodes) => {
                let field = self.clone();
                Ok(Box::new(move |w| -nodes.value(&field.f(&field.rows(&nodes.hats), w))))
            }
        }
    }

    /// 2 tr(𝓜S𝓜S), the variance of the quadratic part, needs the inverse of P on all of the region: it is left to draws.
    fn form(&self, region: &Window) -> Result<RegionForm> {
        let offset = self.theta.mean;
        let region = match self.integral_over(region)? {
            Over::Quadratic(region) => region,
            Over::Nodes(mut nodes) => {
                let mean = self.expected_by_nodes(region)?;
                let above = self.marginals_at(&nodes.hats);
                onto_the_integral(&mut nodes.weights, mean, (self.link, &above));
                let f = self.f(&self.rows(&nodes.hats), &self.mean);
                let level = -nodes.value(&f);
                let parts = Box::new(Mirrored { lattice: self.lattice.clone(), nodes, f, level });
                return Ok(RegionForm { mean, level, linear_variance: None, square_variance: None, parts });
            }
        };
        let half_pull = region.half_pull(offset, &self.mean);
        let parts = Sparse::new(&region, &half_pull);
        let mut rotated = half_pull;
        self.factor()?.solve_lower(&mut rotated);
        Ok(RegionForm {
            mean: self.expected_square(&region),
            level: region.of_square(offset, &self.mean),
            linear_variance: Some(4.0 * linalg::dot(&rotated, &rotated)),
            square_variance: None,
            parts: Box::new(parts),
        })
    }

    fn folded(&self, points: &Points, window: &Window) -> Result<(SquareProduct, f64)> {
        if self.collapsed {
            let f = self.marginals(points)?;
            let (rows, extra) = (Matrix::zeros(0, points.len()), vec![0.0; points.len()]);
            return Ok((SquareProduct { mean: f.mean, rows, extra }, -self.expected(window)?));
        }
        let tilted = self.tilted(self.q()?, &self.lattice.over(window)?)?;
        Ok((self.at_points(&tilted, points)?, tilted.log_mass))
    }

    fn exact(&self, events: &Points, points: &Points, window: &Window) -> Result<Box<dyn Reference>> {
        let (tilted, said) = self.with_data(self.prior(), events, window)?;
        Ok(Box::new(Walkable::new(self.clone(), &tilted, said, self.hats(points)?)?))
    }

    fn log_predictive(&self, points: &Points, window: &Window, draws: Draws<'_>) -> Result<LogMean> {
        if self.collapsed {
            let f = self.marginals(points)?.mean;
            let log_rate: f64 = f.iter().map(|f| self.link.formula().events().at(*f)[0]).sum();
            draws.work.advance(draws.units())?;
            return Ok(importance::log_mean(&[log_rate - self.expected(window)?; FEWEST_DRAWS]));
        }
        if self.is_quadratic() && self.is_dense(points.len(), self.factor()?) {
            let (product, log_mass) = self.folded(points, window)?;
            return Ok(product.log_expectation(draws)?.times(log_mass));
        }
        let (tilted, said) = self.with_data(self.q()?, points, window)?;
        Ok(self.sampled(&tilted, &said, draws)?.times(tilted.log_mass))
    }
}

/// 2hᵀz and zᵀ𝓜z, by the nodes that a region touches.
struct Sparse {
    size: usize,
    /// Nodes, with 2h.
    linear: Vec<(u32, f64)>,
    /// Pairs of neighbours, with their entries of 𝓜 (both of them).
    square: Vec<(u32, u32, f64)>,
}

impl Sparse {
    fn new(region: &Region<Bordered<Diagonals>>, half_pull: &[f64]) -> Self {
        let touched = |values: &[f64]| {
            let some = values.iter().enumerate().filter(|(_, value)| **value != 0.0);
            some.map(|(i, value)| (i as u32, *value)).collect::<Vec<_>>()
        };
        let linear = touched(half_pull).into_iter().map(|(i, h)| (i, 2.0 * h)).collect();
        let Bordered { inner, border, corner } = &region.square;
        let mut square = Vec::new();
        for (place, &shift) in inner.shifts().iter().enumerate() {
            let times = if shift == 0 { 1.0 } else { 2.0 };
            let entries = touched(inner.diagonal(place));
            square.extend(entries.into_iter().map(|(i, value)| (i, i + shift as u32, times * value)));
        }
        // The constant, if it is an unknown, is the last.
        let last = inner.size() as u32;
        square.extend(touched(border).into_iter().map(|(i, value)| (i, last, 2.0 * value)));
        square.extend(corner.data().iter().map(|value| (last, last, *value)));
        Self { size: half_pull.len(), linear, square }
    }
}

impl Parts for Sparse {
    fn at(&self, z: &[f64]) -> Vec<[f64; 2]> {
        let parts = |z: &[f64]| {
            let linear = self.linear.iter().map(|&(i, h)| h * z[i as usize]).sum();
            [linear, self.square.iter().map(|&(i, j, value)| value * z[i as usize] * z[j as usize]).sum()]
        };
        z.chunks_exact(self.size).map(parts).collect()
    }

    fn bytes(&self) -> usize {
        16 * (self.linear.len() + self.square.len())
    }
}

/// The exact posterior of w about its mode, by band matrices: what a move costs grows with the nodes and with the events, never with
/// their product.
struct Walkable {
    target: exact::Target,
    mode: Vec<f64>,
    /// P (mode − mean) of the Gaussian that the product of f² stands beside.
    pull: Vec<f64>,
    /// Of the precision about the mode.
    factor: BorderedFactor<BandedFactor>,
    said: Vec<SaidAt>,
    points: Hats,
    field: LatticeField,
}

impl Walkable {
    /// The mode is searched for from the mean of q, where f has the sign that it should have.
    fn new(field: LatticeField, tilted: &Tilted, said: Vec<SaidAt>, points: Hats) -> Result<Self> {
        let target = Target::new(&field, tilted, &said);
        let mode = newton::climb(&target, field.mean.clone(), 1e-6, MOST_NEWTON, &|| Ok(()))?;
        let (f, precision) = (target.f(&mode), target.about(&mode, exact::CURVATURE).0);
        let moved: Vec<f64> = mode.iter().zip(&tilted.mean).map(|(a, b)| a - b).collect();
        let (pull, factor) = (tilted.precision.times(&moved), precision.factor()?);
        let sets = f
            .iter()
            .zip(&said)
            .flat_map(|(f, said)| f.iter().zip(&said.weights).map(|(f, w)| (*f, *w, said.potential)));
        let parts = sets.map(|(f, weight, potential)| exact::Part {
            f,
            curvature: weight * potential.at(f)[2],
            says: exact::Says::Potential { weight, potential },
        });
        let target = exact::Target { parts: parts.collect() };
        Ok(Self { target, mode, pull, factor, said, points, field })
    }
}

impl Reference for Walkable {
    fn target(&self) -> &exact::Target {
        &self.target
    }

    fn draws(&self, rng: &mut ChaCha8Rng) -> Vec<Vec<f64>> {
        let size = self.mode.len();
        let mut columns = gaussian::standard_normal(rng, size * DRAWN_TOGETHER);
        self.factor.solve_lower_transposed(&mut columns);
        let whole = |w: &[f64]| {
            let mut draw = w.to_vec();
            self.said.iter().for_each(|said| draw.extend(self.field.rows(&said.hats).levels(w)));
            draw.push(linalg::dot(&self.pull, w));
            draw
        };
        columns.chunks_exact(size).map(whole).collect()
    }

    fn rates(&self, from_mode: &[f64]) -> Vec<f64> {
        let (rows, link) = (self.field.rows(&self.points), self.field.link.formula());
        let f = self.field.f(&rows, &self.mode);
        f.iter().zip(rows.levels(from_mode)).map(|(f, more)| link.rate(f + more)).collect()
    }
}

/// f at points.
struct At<'a> {
    hats: Hats,
    field: &'a LatticeField,
    residual: Vec<f64>,
}

impl Given for At<'_> {
    fn mean(&self, w: &[f64]) -> Vec<f64> {
        self.field.f(&self.field.rows(&self.hats), w)
    }

    fn residual(&self) -> &[f64] {
        &self.residual
    }

    fn draw(&self, w: &[f64], _: &mut ChaCha8Rng) -> Vec<f64> {
        self.mean(w)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::BasisState;
    use crate::watch::{Work, unwatched};
    use crate::{Events, LatticeChoice, Model};

    /// A fit to 60 events, and places for as many more.
    fn field() -> (LatticeField, Points, Window) {
        let times: Vec<f64> = (0..60).map(|i| (f64::from(i) / 60.0).powi(2)).collect();
        let window = Window::interval(0.0, 1.0).unwrap();
        let events = Events::new(Points::line(&times).unwrap(), window.clone()).unwrap();
        let lattice = LatticeChoice {
            nodes: Some(vec![40]),
            smoothness: Some(Smoothness::Two),
            ..LatticeChoice::as_in_the_paper()
        };
        let model = Model { family: lattice.into(), ..Model::of_maximum_likelihood() };
        let component = model.fit(&events).unwrap().posterior.state().components.remove(0);
        let BasisState::Lattice(state) = component.basis else { panic!() };
        let held_out = Points::line(&times.iter().map(|t| 0.98 * t + 0.01).collect::<Vec<_>>()).unwrap();
        (LatticeField::from_state(state, Link::Square, &window, None).unwrap(), held_out, window)
    }

    #[test]
    fn both_ways_to_a_score_agree() {
        let (field, held_out, window) = field();
        let (product, log_mass) = field.folded(&held_out, &window).unwrap();
        let work = Work::new(0, &unwatched);
        let draws = |seed: u64| Draws { count: 20_000, seed, work: &work };
        let dense = product.log_expectation(draws(1)).unwrap().times(log_mass);
        let (tilted, said) = field.with_data(field.q().unwrap(), &held_out, &window).unwrap();
        let sampled = field.sampled(&tilted, &said, draws(2)).unwrap().times(tilted.log_mass);
        assert!(dense.k < 0.7 && sampled.k < 0.7, "{dense:?} {sampled:?}");
        assert!((dense.value - sampled.value).abs() < 5.0 * (dense.se + sampled.se), "{dense:?} {sampled:?}");
    }

    #[test]
    fn the_weights_of_q_have_the_prior_and_q_in_them() {
        // log of prior over q, from dense matrices
        let (field, ..) = field();
        let noise = gaussian::standard_normal(&mut sample::stream(1, 2), field.size());
        let w = field.draw(&noise).unwrap();
        let dense = |matrix: &Diagonals| Matrix::from_fn(w.len(), w.len(), |i, j| matrix.entry(i, j));
        let log_density = |precision: &Diagonals, mean: &[f64]| {
            let mut root = dense(precision);
            linalg::cholesky(&mut root).unwrap();
            let moved: Vec<f64> = w.iter().zip(mean).map(|(a, b)| a - b).collect();
            0.5 * linalg::log_determinant(&root) - 0.5 * linalg::dot(&moved, &linalg::times(&dense(precision), &moved))
        };
        let expected = log_density(&field.prior().precision.inner, &vec![0.0; w.len()])
            - log_density(&field.precision().inner, &field.mean);
        let got = field.log_prior_over_q(&w, &noise).unwrap();
        assert!((got - expected).abs() < 1e-6 * expected.abs(), "{got} {expected}");
    }
}
