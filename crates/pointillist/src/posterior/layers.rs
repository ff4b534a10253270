//! q(f) of one type, or of a combination of types such as the difference of two, where several fields share a lattice (`field/layers/`).
//!
//! All types have the same unknowns, of which each is a view. Draws with the same number and seed are of the same unknowns, whichever view is asked.
//! Nothing is known outside the window.

use super::Count;
use super::field::{Field, Given, Integral, Parts, RegionForm};
use super::lattice::onto_the_integral;
use crate::covariates::Regressors;
use crate::data::points::Points;
use crate::error::{Error, Result};
use crate::exact::Reference;
use crate::field::lattice::{Hats, IntegralNodes, Smoothness, Theta, between};
use crate::field::layers::{Layers, LayersTheta, one_of};
use crate::gaussian::bordered::{BorderedFactor, BorderedSpread};
use crate::gaussian::{BandedFactor, Bordered, Diagonals, Factor, Precision};
use crate::numerics::linalg::{self, Matrix};
use crate::parallel;
use crate::sample::importance::{self, LogMean};
use crate::sample::{self, gaussian};
use crate::score::{Draws, SquareProduct};
use crate::terms::{Link, Marginals};
use crate::window::{Nodes, Span, Window};
use rand_chacha::ChaCha8Rng;
use std::sync::{Arc, OnceLock};

/// Rounding of coordinates on their way into the unit box.
const ROUNDING: f64 = 1e-9;
/// Multiplications of the draws for the standard deviation of a count; the fewest and the most pairs of draws; and their seed.
const COUNT_WORK: f64 = 1e10;
const FEWEST_PAIRS: f64 = 100.0;
const MOST_PAIRS: f64 = 1000.0;
const COUNT_SEED: u64 = 0;

/// The unknowns of all types.
pub(crate) struct Joint {
    theta: LayersTheta,
    mean: Vec<f64>,
    /// What events and measurements add to the precision of the unknowns.
    events: Bordered<Diagonals>,
    spread: BorderedSpread<Diagonals>,
    factor: OnceLock<BorderedFactor<BandedFactor>>,
    /// … and of each type.
    shown: Vec<OnceLock<Vec<f64>>>,
}

/// Σ_c share_c f_c + offset.
#[derive(Clone)]
pub(crate) struct LayersField {
    joint: Arc<Joint>,
    /// With the covariates that are asked about.
    layers: Arc<Layers>,
    shares: Vec<f64>,
    offset: f64,
    /// The variances at nodes that are interpolated between them: of what is looked at, …
    shown: Arc<OnceLock<Vec<f64>>>,
    collapsed: bool,
}

/// All its numbers, in the coordinates of the unit box.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct LayersState {
    /// Nodes on each axis.
    pub nodes: Vec<usize>,
    /// How far the lattice reaches beyond the window on each axis.
    pub margin: Vec<f64>,
    /// α.
    pub smoothness: usize,
    /// The range along each axis, by field.
    pub ranges: Vec<Vec<f64>>,
    /// The variance of each field.
    pub variances: Vec<f64>,
    /// The share of each type in each field.
    pub loads: Vec<Vec<f64>>,
    /// The levels about which the constants of the types are before events are seen.
    pub levels: Vec<f64>,
    /// Mean of the unknowns: the fields node by node, then the constants, then the effects of covariates, type by type.
    #[cfg_attr(feature = "serde", serde(with = "super::packed"))]
    pub q_mean: Vec<f64>,
    /// What the events add to the precision of the fields, one diagonal after another: neighbours, all pairs of fields.
    #[cfg_attr(feature = "serde", serde(with = "super::packed"))]
    pub q_events: Vec<f64>,
    /// The same between fields and constants, and between these.
    #[cfg_attr(feature = "serde", serde(with = "super::packed"))]
    pub q_border: Vec<f64>,
    /// See `q_border`.
    #[cfg_attr(feature = "serde", serde(with = "super::packed"))]
    pub q_corner: Vec<f64>,
    /// The shares of the types in what is looked at, and what is added to it.
    pub shares: Vec<f64>,
    /// See `shares`.
    pub offset: f64,
}

impl LayersField {
    /// Of the first type.
    pub(crate) fn new(
        layers: Arc<Layers>,
        theta: LayersTheta,
        mean: Vec<f64>,
        events: Bordered<Diagonals>,
        spread: BorderedSpread<Diagonals>,
    ) -> Self {
        let BorderedSpread { inner, border, corner } = spread;
        let spread = BorderedSpread { inner: inner.on(layers.neighbour_shifts()), border, corner };
        let shares = one_of(0, layers.types());
        let shown = vec![OnceLock::new(); layers.types()];
        let joint = Joint { theta, mean, events, spread, factor: OnceLock::new(), shown };
        Self { joint: Arc::new(joint), layers, shares, offset: 0.0, shown: Arc::default(), collapsed: false }
    }

    /// The same unknowns, looked at otherwise.
    pub(crate) fn taking(&self, shares: &[f64], offset: f64) -> Self {
        let (joint, layers, shown) = (self.joint.clone(), self.layers.clone(), Arc::default());
        Self { joint, layers, shares: shares.to_vec(), offset, shown, collapsed: false }
    }

    /// What covariates add to f, if there are any.
    pub(super) fn regressors(&self) -> Option<&Arc<Regressors>> {
        self.layers.regressors()
    }

    /// The same with other values of covariates.
    pub(super) fn with_regressors(&self, regressors: &Arc<Regressors>) -> Self {
        let layers = Layers::clone(&self.layers).with_regressors(Some(regressors.clone()));
        Self { layers: Arc::new(layers), ..self.clone() }
    }

    /// Mean and covariance of what the effects add up to in what is looked at, Σ_c share_c ζ_c.
    pub(super) fn of_regressors(&self) -> (Vec<f64>, Matrix) {
        let (count, types, first) = (self.layers.covariates(), self.shares.len(), self.layers.coefficients());
        let (mean, covariance) = (&self.joint.mean[first..], self.joint.spread.corner_covariance());
        let place = |c: usize, k: usize| types + c * count + k;
        let over = |of: &dyn Fn(usize) -> f64| self.shares.iter().enumerate().map(|(c, share)| share * of(c)).sum();
        let means = (0..count).map(|k| over(&|c| mean[place(c, k)])).collect();
        let entry = |k: usize, l: usize| over(&|a| over(&|b| covariance[(place(a, k), place(b, l))]));
        (means, Matrix::from_fn(count, count, entry))
    }

    /// The posterior mean of its unknowns.
    pub(super) fn mean(&self) -> &[f64] {
        &self.joint.mean
    }

    /// How many types there are.
    pub(super) fn types(&self) -> usize {
        self.layers.types()
    }

    /// Nodes on each axis.
    pub(crate) fn nodes(&self) -> Vec<usize> {
        self.layers.grid().nodes()
    }

    /// The same with a factor of its own, which can take much memory.
    pub(super) fn apart(&self) -> Self {
        self.clone()
    }

    pub(super) fn state(&self) -> LayersState {
        let (layers, Joint { theta, mean, events, .. }) = (&self.layers, &*self.joint);
        LayersState {
            nodes: layers.grid().nodes(),
            margin: layers.grid().margin(),
            smoothness: layers.smoothness().alpha(),
            ranges: theta.fields.iter().map(Theta::ranges).collect(),
            variances: theta.fields.iter().map(|theta| theta.variance).collect(),
            loads: theta.loads.clone(),
            levels: layers.levels().to_vec(),
            q_mean: mean.clone(),
            q_events: events.inner.values().to_vec(),
            q_border: events.border.clone(),
            q_corner: events.corner.data().to_vec(),
            shares: self.shares.clone(),
            offset: self.offset,
        }
    }

    /// With these numbers over a window, in the coordinates of the unit box, once they are found to make sense.
    pub(super) fn from_state(state: LayersState, window: &Window, regressors: Option<Arc<Regressors>>) -> Result<Self> {
        let (count, types) = (state.variances.len(), state.levels.len());
        let covariates = regressors.as_ref().map_or(0, |regressors| regressors.len());
        let beside = types.saturating_mul(1 + covariates);
        let lists = [&state.q_mean, &state.q_events, &state.q_border, &state.q_corner, &state.levels, &state.shares];
        let is_finite = lists
            .into_iter()
            .flatten()
            .chain(state.loads.iter().flatten())
            .chain([&state.offset])
            .all(|v| v.is_finite());
        if !is_finite {
            return Err(Error::setting("q", "a number", "is not finite"));
        }
        let size = state.nodes.iter().try_fold(count, |size, n| size.checked_mul(*n));
        let is_whole = size.and_then(|size| size.checked_add(beside)) == Some(state.q_mean.len())
            && state.q_border.len() == size.unwrap_or(0).saturating_mul(beside)
            && state.q_corner.len() == beside.saturating_mul(beside)
            && state.shares.len() == types
            && state.ranges.len() == count
            && state.ranges.iter().all(|ranges| ranges.len() == window.dims())
            && state.loads.len() == types
            && state.loads.iter().all(|loads| loads.len() == count);
        if !is_whole || count == 0 || types == 0 {
            let requirement = "does not fit the types, the covariates and the nodes of the lattice";
            return Err(Error::setting("q", state.q_mean.len(), requirement));
        }
        let field = |(ranges, variance): (&Vec<f64>, &f64)| Theta::of_ranges(ranges, *variance, 0.0);
        let fields: Vec<Theta> = state.ranges.iter().zip(&state.variances).map(field).collect();
        fields.iter().try_for_each(|theta| theta.check(window.dims()))?;
        let theta = LayersTheta { fields, loads: state.loads };
        let smoothness = Smoothness::of(state.smoothness)?;
        let layers = Layers::new(window, (&state.nodes, &state.margin), smoothness, count, state.levels)?;
        let layers = layers.with_regressors(regressors);
        let found = state.q_events.len();
        let inner = Diagonals::of_values(layers.coefficients(), layers.neighbour_shifts(), state.q_events)
            .ok_or_else(|| Error::setting("q", found, "does not fit the neighbours of the lattice's nodes"))?;
        let corner = Matrix::from_columns(beside, state.q_corner);
        let events = Bordered { inner, border: state.q_border, corner };
        let mut precision = layers.precision(&theta);
        precision.add_scaled(1.0, &events);
        let factor = precision.factor()?;
        let spread = factor.spread(factor.inner.selected_inverse(&layers.neighbour_shifts()));
        let (layers, shown) = (Arc::new(layers), vec![OnceLock::new(); types]);
        let joint = Joint { theta, mean: state.q_mean, events, spread, factor: factor.into(), shown };
        let (joint, shown) = (Arc::new(joint), Arc::default());
        Ok(Self { joint, layers, shares: state.shares, offset: state.offset, shown, collapsed: false })
    }

    /// Rows at points; none are known outside the window's box.
    fn rows(&self, points: &Points) -> Result<Hats> {
        let is_inside = |row: &[f64]| row.iter().all(|x| (-ROUNDING..=1.0 + ROUNDING).contains(x));
        if let Some(index) = points.rows().position(|row| !is_inside(row)) {
            let requirement = "lies outside the window, where nothing is known of types; ask inside it";
            return Err(Error::setting("point", index, requirement));
        }
        Ok(self.taking_hats(&self.layers.at(points)?))
    }

    fn taking_hats(&self, hats: &Hats) -> Hats {
        self.layers.taking(hats, &self.joint.theta, &self.shares)
    }

    /// f at rows.
    fn f(&self, rows: &Hats, unknowns: &[f64]) -> Vec<f64> {
        self.layers.levels_at(rows, unknowns).iter().map(|f| f + self.offset).collect()
    }

    fn marginals_at(&self, rows: &Hats) -> Marginals {
        if self.collapsed {
            return Marginals { mean: self.f(rows, &self.joint.mean), variance: vec![0.0; rows.len()] };
        }
        let mut f = self.layers.moments(rows, &self.joint.mean, &self.joint.spread);
        f.mean.iter_mut().for_each(|f| *f += self.offset);
        f
    }

    /// How far the integral of the bound over a region lies above what it should be.
    pub(super) fn integral_error(&self, region: &Window) -> Result<f64> {
        let (rows, weights) = self.integral(region)?;
        let Marginals { mean, variance } = self.marginals_at(&rows);
        let rates = mean.iter().zip(&variance).map(|(mean, variance)| (mean + 0.5 * variance).exp());
        let above: f64 = rates.zip(&weights).map(|(rate, weight)| weight * rate).sum();
        Ok(above / self.expected(region)? - 1.0)
    }

    /// Rows and weights of ∫λ over a region that never fall short of it: those of the bound.
    fn integral(&self, region: &Window) -> Result<(Hats, Vec<f64>)> {
        let IntegralNodes { hats, weights, .. } = self.layers.integral_nodes(region)?;
        Ok((self.taking_hats(&hats), weights))
    }

    fn factor(&self) -> Result<&BorderedFactor<BandedFactor>> {
        let (layers, Joint { theta, events, factor, .. }) = (&self.layers, &*self.joint);
        if factor.get().is_none() {
            let mut precision = layers.precision(theta);
            precision.add_scaled(1.0, events);
            let made = precision.factor()?;
            return Ok(factor.get_or_init(|| made));
        }
        factor.get().ok_or_else(|| Error::NotANumber { parameters: vec![] })
    }

    /// The variances that are interpolated between nodes, as `field/lattice/between.rs` has it for one field: covariates being at their means.
    fn shown_variances(&self) -> Vec<f64> {
        let grid = self.layers.grid();
        let Ok(at_nodes) = grid.at(&grid.node_places()) else { return vec![] };
        let mut shown = self.marginals_at(&self.taking_hats(&at_nodes)).variance;
        if self.layers.smoothness() == Smoothness::One {
            return shown;
        }
        let middles = grid.middles();
        let variances = self.marginals_at(&self.taking_hats(&middles)).variance;
        let (mut around, mut cells) = (vec![0.0; shown.len()], vec![0.0; shown.len()]);
        for (n, variance) in variances.iter().enumerate() {
            middles.pairs(n).for_each(|(node, _)| {
                around[node] += variance;
                cells[node] += 1.0;
            });
        }
        let both = around.iter().zip(&cells);
        shown.iter_mut().zip(both).for_each(|(v, (sum, count))| *v += between::MIDDLE * (sum / count - *v));
        shown
    }
}

/// ∫λ by the nodes of a rule: the halves of sum and difference for m + z and m − z.
struct Mirrored {
    layers: Arc<Layers>,
    rows: Hats,
    weights: Vec<f64>,
    f: Vec<f64>,
    level: f64,
}

impl Parts for Mirrored {
    fn at(&self, z: &[f64]) -> Vec<[f64; 2]> {
        let parts = |z: &[f64]| {
            let more = self.layers.levels_at(&self.rows, z);
            let total = |sign: f64| -> f64 {
                let f = self.f.iter().zip(&more).map(|(f, more)| f + sign * more);
                f.zip(&self.weights).map(|(f, weight)| weight * f.exp()).sum()
            };
            let [up, down] = [total(1.0), total(-1.0)];
            [0.5 * (up - down), 0.5 * (up + down) - self.level]
        };
        z.chunks_exact(self.layers.size()).map(parts).collect()
    }

    fn bytes(&self) -> usize {
        8 * self.f.len() * (3 + self.rows.shifts.len())
    }
}

/// What a question about one field alone is answered with.
fn unknown(what: &str) -> Error {
    Error::setting("types", what, "is not known of several types; fit one of them by itself")
}

impl Field for LayersField {
    fn marginals(&self, points: &Points) -> Result<Marginals> {
        Ok(self.marginals_at(&self.rows(points)?))
    }

    fn shown(&self, points: &Points) -> Result<Marginals> {
        let Marginals { mut mean, mut variance } = self.marginals(points)?;
        if self.collapsed {
            return Ok(Marginals { mean, variance });
        }
        // What nodes lack is the lattice's, wherever covariates are.
        let plain = self.layers.grid().at(points)?;
        let bare = |field: &Self| field.marginals_at(&field.taking_hats(&plain)).variance;
        let more = |at_nodes: &[f64], variance: &[f64]| -> Vec<f64> {
            let more = |n: usize| between::of_first_order(plain.sum(n, at_nodes) - variance[n], variance[n]);
            (0..plain.len()).map(more).collect()
        };
        // The mean rate of each type stays: a combination has the shares of what that takes from each.
        for (c, share) in self.shares.iter().enumerate().filter(|(_, share)| **share != 0.0) {
            let of_type = self.taking(&one_of(c, self.shares.len()), 0.0);
            let at_nodes = self.joint.shown[c].get_or_init(|| of_type.shown_variances());
            let own = bare(&of_type);
            mean.iter_mut().zip(more(at_nodes, &own)).for_each(|(mean, more)| *mean -= 0.5 * share * more);
        }
        let own = self.shown.get_or_init(|| self.shown_variances());
        let more = more(own, &bare(self));
        variance.iter_mut().zip(more).for_each(|(variance, more)| *variance += more);
        Ok(Marginals { mean, variance })
    }

    fn count(&self, region: &Window) -> Result<Count> {
        let form = self.form(region)?;
        let pairs = (COUNT_WORK / self.factor()?.inner.multiplications()).clamp(FEWEST_PAIRS, MOST_PAIRS) as usize;
        let draw = |pair: usize| {
            let noise = gaussian::standard_normal(&mut sample::stream(COUNT_SEED, pair as u64), self.size());
            Ok(form.parts.at(&self.deviations(noise)?))
        };
        Ok(form.moments(&parallel::try_each(pairs, draw)?.concat()))
    }

    fn expected(&self, region: &Window) -> Result<f64> {
        if let Some(regressors) = self.regressors() {
            regressors.check_covers(&region.bounding_box())?;
        }
        // Inside the cells of the lattice, and of the covariates: so parts of a region add up to the whole.
        let Nodes { points, weights } = Nodes::of_pieces(&self.layers.between_lines(region));
        let f = self.marginals(&points)?;
        let rates = f.mean.iter().zip(&f.variance).map(|(mean, variance)| (mean + 0.5 * variance).exp());
        Ok(rates.zip(&weights).map(|(rate, weight)| weight * rate).sum())
    }

    fn reaching(&self, _: &[Span], counted: bool) -> Result<Option<Box<dyn Field>>> {
        match counted {
            true => Err(Error::setting("region", "beyond the window", "is not known of types; ask inside the window")),
            false => Ok(None),
        }
    }

    fn collapsed(&self) -> Arc<dyn Field> {
        Arc::new(Self { collapsed: true, ..self.clone() })
    }

    fn size(&self) -> usize {
        self.joint.mean.len()
    }

    fn deviations(&self, mut noise: Vec<f64>) -> Result<Vec<f64>> {
        self.factor()?.solve_lower_transposed(&mut noise);
        Ok(noise)
    }

    fn draw(&self, noise: &[f64]) -> Result<Vec<f64>> {
        let mut unknowns = self.deviations(noise.to_vec())?;
        linalg::add_scaled(&mut unknowns, 1.0, &self.joint.mean);
        Ok(unknowns)
    }

    fn log_prior_over_q(&self, draw: &[f64], noise: &[f64]) -> Result<f64> {
        let (layers, Joint { theta, .. }) = (&self.layers, &*self.joint);
        let off: Vec<f64> = draw.iter().zip(layers.prior_mean()).map(|(w, b)| w - b).collect();
        let from_prior = linalg::dot(&off, &layers.precision(theta).times(&off));
        let determinants = layers.log_determinant(theta) - self.factor()?.log_determinant();
        Ok(0.5 * (determinants - from_prior + linalg::dot(noise, noise)))
    }

    fn at<'a>(&'a self, points: &'a Points) -> Result<Box<dyn Given + 'a>> {
        let rows = self.rows(points)?;
        Ok(Box::new(At { residual: vec![0.0; rows.len()], rows, field: self }))
    }

    fn over(&self, region: &Window) -> Result<Integral> {
        let (rows, weights) = self.integral(region)?;
        let field = self.clone();
        Ok(Box::new(move |unknowns| {
            field.f(&rows, unknowns).iter().zip(&weights).map(|(f, weight)| weight * f.exp()).sum()
        }))
    }

    fn form(&self, region: &Window) -> Result<RegionForm> {
        let mean = self.expected(region)?;
        let (rows, mut weights) = self.integral(region)?;
        onto_the_integral(&mut weights, mean, (Link::Log, &self.marginals_at(&rows)));
        let f = self.f(&rows, &self.joint.mean);
        let level = f.iter().zip(&weights).map(|(f, weight)| weight * f.exp()).sum();
        let parts = Box::new(Mirrored { layers: self.layers.clone(), rows, weights, f, level });
        Ok(RegionForm { mean, level, linear_variance: None, square_variance: None, parts })
    }

    fn folded(&self, _: &Points, _: &Window) -> Result<(SquareProduct, f64)> {
        Err(unknown("a product of squares"))
    }

    /// By draws of q: enough where q is known well beside the held-out events.
    fn log_predictive(&self, points: &Points, window: &Window, draws: Draws<'_>) -> Result<LogMean> {
        let (rows, over) = (self.rows(points)?, self.over(window)?);
        let log_weight = |draw: usize| {
            let noise = gaussian::standard_normal(&mut sample::stream(draws.seed, draw as u64), self.size());
            let unknowns = if self.collapsed { self.joint.mean.clone() } else { self.draw(&noise)? };
            draws.work.pulse()?;
            Ok(self.f(&rows, &unknowns).iter().sum::<f64>() - over(&unknowns))
        };
        let log_weights: Vec<f64> = parallel::try_each(draws.count, log_weight)?;
        draws.work.advance(draws.units())?;
        Ok(importance::log_mean(&log_weights))
    }

    fn exact(&self, _: &Points, _: &Points, _: &Window) -> Result<Box<dyn Reference>> {
        Err(unknown("the exact posterior"))
    }
}

/// f at points.
struct At<'a> {
    rows: Hats,
    field: &'a LayersField,
    residual: Vec<f64>,
}

impl Given for At<'_> {
    fn mean(&self, unknowns: &[f64]) -> Vec<f64> {
        self.field.f(&self.rows, unknowns)
    }

    fn residual(&self) -> &[f64] {
        &self.residual
    }

    fn draw(&self, unknowns: &[f64], _: &mut ChaCha8Rng) -> Vec<f64> {
        self.mean(unknowns)
    }
}
