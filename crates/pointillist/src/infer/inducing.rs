//! Inducing points as the search sees them: which grids there are, and what a Θ is worth on one.
//!
//! q is found by dense matrices, or axis by axis where everything is a product over the axes (`field/inducing/by_axis.rs`).

use super::kernel_theta::KernelLayout;
use super::lbfgs::{Curvature, End};
use super::observed::Observed;
use super::search::{By, Found, Kind, Named, Run, Scheme, Start, Way, describe};
use super::tuning::{self, Tuning};
use super::{Inducing, Method, joint};
use crate::bound::{self, Bound, Gaussian, bound_adjoint};
use crate::data::points::Points;
use crate::data::seen::{Seen, Tensor};
use crate::error::{Error, Result};
use crate::field::inducing::by_axis::{ByAxis, Covariance, Spare};
use crate::field::inducing::{
    Basis, Features, GridBasis, GridPoints, Hyper, HyperBar, PriorMean, RegionFeatures, Scattered, ScatteredBasis,
    TensorFeatures, region_with_constant,
};
use crate::gaussian::bordered::{self, BorderedSpread};
use crate::gaussian::step::{Clamp, Optimum, PriorOf, Problem, Said, Until};
use crate::gaussian::{Bordered, BorderedDesign, DenseFactor, Design, Precision, Sites};
use crate::kernel::Kernel;
use crate::numerics::linalg::{self, Matrix};
use crate::posterior::InducingField;
use crate::terms::{self, LOG_SQUARE, Marginals};
use crate::window::{Axis, Window};

/// Most inducing points `auto` uses: beyond, a dense q costs more than it gives …
pub(super) const AUTO_MOST: usize = 576;
/// … and so does more than this many per event, or for few events this many in all.
const AUTO_PER_EVENT: usize = 4;
const AUTO_FEW: usize = 64;
/// A kernel whose held parameters ask for more than this is refused: they would not fit.
const AUTO_AT_ALL: usize = 4 * AUTO_MOST;
/// `auto` goes on while more than this part of the expected events comes from what the inducing points leave unexplained.
const AUTO_UNEXPLAINED: f64 = 1e-4;
/// Points per axis that `auto` starts with, in one, two and three dimensions.
const AUTO_LEAST: [usize; 3] = [12, 8, 5];
/// Where there are cycles on one of several axes, `auto` starts with so many points in each of them, and so many in all of them at least, ...
const AUTO_PER_CYCLE: f64 = 2.5;
const AUTO_IN_CYCLES: usize = 14;
/// ... and with so many on each other axis, in a plane and in space.
const AUTO_ACROSS: [usize; 2] = [5, 3];
/// Points that leave a larger part of a cycle without one do not show it, wherever in other cycles they stand.
const WIDEST_GAP: f64 = 1.0 / 6.0;
/// From so many points on a line on Θ is learned with half as many first.
const ROUGH_FROM: usize = 200;
/// Relative jitter is not raised beyond this.
const MOST_JITTER: f64 = 1e-4;

/// The data in unit coordinates, the model's words on Θ, and where it starts.
pub(super) struct OnInducing<'a> {
    pub(super) observed: &'a Observed,
    pub(super) window: &'a Window,
    /// Number of events.
    pub(super) events: usize,
    pub(super) prior_mean: PriorMean,
    /// The prior standard deviation of the constant, if that is an unknown of q.
    pub(super) constant: Option<f64>,
    pub(super) jitter: f64,
    /// The f of a flat intensity: its sign is + unless the user's own word on the mean is negative.
    pub(super) level: f64,
    pub(super) gain: f64,
    pub(super) method: Method,
    /// Θ of which nothing is learned yet.
    pub(super) hyper: Hyper,
    pub(super) layout: KernelLayout,
    /// Whether points stay where they are for now.
    pub(super) at_rest: bool,
    pub(super) spare: Spare,
}

/// Where the inducing points are.
#[derive(Clone)]
pub(super) enum Places {
    /// A grid with so many points per axis.
    Grid(Vec<usize>),
    /// Anywhere.
    At(Points),
}

/// Inducing points where they are before they move.
#[derive(Clone)]
pub(super) struct PointsLevel {
    pub(super) locations: Points,
    pub(super) counts: Vec<usize>,
}

/// Θ and Z.
#[derive(Clone)]
pub(super) struct HyperAt {
    pub(super) hyper: Hyper,
    pub(super) locations: Points,
}

/// What is kept of q beside its sites.
pub(super) enum Kept {
    Nothing,
    /// All of it, where a member may be made of it: to find it again takes as long as an evaluation.
    Dense(Gaussian),
    /// That of the joint scheme, which has no sites.
    Joint(Gaussian),
}

impl Kept {
    pub(super) fn is_joint(&self) -> bool {
        matches!(self, Self::Joint(_))
    }
}

/// q at its optimum for one Θ.
pub(super) enum At {
    Dense(Box<ScatteredBasis>, Box<Features>, Optimum<DenseFactor>),
    Grid(Box<GridBasis>, Box<TensorFeatures>, Optimum<BorderedSpread<Covariance>>),
}

impl OnInducing<'_> {
    /// Natural steps at one Θ.
    pub(super) fn at(&self, theta: &HyperAt, moving: bool, sites: Sites, until: Until<'_>) -> Result<At> {
        let (hyper, locations) = (&theta.hyper, &theta.locations);
        match &self.observed.seen {
            Seen::Points(points, weights) => {
                let set = if moving { Scattered::moving(locations.clone()) } else { Scattered::new(locations.clone()) };
                let basis = set.basis(hyper, self.prior_mean, self.jitter)?;
                let features = basis.features(points, self.window).with_constant(self.constant);
                let before = (&features.prior_mean[..], features.offset, &features.region);
                let optimum = optimum(&features.points.rows(), weights, before, sites, until)?;
                Ok(At::Dense(Box::new(basis), Box::new(features), optimum))
            }
            Seen::Tensor(Tensor { axes, weights }) => {
                let grid = GridPoints::of(locations)
                    .ok_or_else(|| Error::setting("inducing", "some points", "must be a full grid here"))?;
                let basis = grid.basis(hyper, self.prior_mean, self.jitter)?;
                let features = basis.tensor_features(axes, self.window)?;
                let optimum = grid_optimum(&self.rows(&basis, &features), weights, sites, until)?;
                Ok(At::Grid(Box::new(basis), Box::new(features), optimum))
            }
        }
    }

    /// The field of a q.
    pub(super) fn field(&self, theta: HyperAt, mut q: Gaussian, by_axis: bool) -> Result<InducingField> {
        let HyperAt { mut hyper, locations } = theta;
        if hyper.mean < 0.0 && self.level > 0.0 {
            // f and −f are the same intensity: report the positive one.
            hyper.mean = -hyper.mean;
            q.mean.iter_mut().for_each(|m| *m = -*m);
        }
        InducingField::new(hyper, (self.prior_mean, self.constant), self.jitter, by_axis, locations, q)
    }

    /// From the cotangents of features, those of a constant among them, to Θ (and Z).
    pub(super) fn features_adjoint(
        &self,
        basis: &ScatteredBasis,
        points: &Points,
        features: &Features,
        bar: Features,
    ) -> HyperBar {
        let (inner, bar) = (features.without_constant(self.constant), bar.with_constant_adjoint(self.constant));
        basis.features_adjoint(points, self.window, &inner, bar, &[])
    }

    /// Rows axis by axis.
    fn rows<'f>(&'f self, basis: &'f GridBasis, features: &'f TensorFeatures) -> BorderedDesign<ByAxis<'f>> {
        BorderedDesign::with_constant(ByAxis { basis, features, spare: &self.spare }, self.constant)
    }

    fn is_moving(&self) -> bool {
        self.layout.moves() && !self.at_rest
    }

    /// The layout of what moves for now.
    pub(super) fn active(&self) -> std::borrow::Cow<'_, KernelLayout> {
        match self.layout.moves() && self.at_rest {
            true => std::borrow::Cow::Owned(self.layout.at_rest()),
            false => std::borrow::Cow::Borrowed(&self.layout),
        }
    }

    pub(super) fn flat(&self) -> Sites {
        Sites::flat(&LOG_SQUARE, self.level, self.observed.seen.weights().len())
    }

    /// About the entries that a natural step with so many inducing points touches.
    pub(super) fn work(&self, size: usize) -> f64 {
        let size = size as f64;
        match &self.observed.seen {
            Seen::Points(points, _) => points.len() as f64 * size * size,
            Seen::Tensor(tensor) => size * size * size + tensor.weights.len() as f64 * size,
        }
    }

    /// The prior factored at Θ, in the way that suits what is seen.
    pub(super) fn basis(&self, theta: &HyperAt) -> Result<Box<dyn Basis>> {
        match (&self.observed.seen, GridPoints::of(&theta.locations)) {
            (Seen::Tensor(_), Some(grid)) => Ok(Box::new(grid.basis(&theta.hyper, self.prior_mean, self.jitter)?)),
            _ => {
                let set = Scattered::new(theta.locations.clone());
                Ok(Box::new(set.basis(&theta.hyper, self.prior_mean, self.jitter)?))
            }
        }
    }

    /// What was learned before as a start, if the kernel is still the same. f grows with the root of the number of events.
    pub(super) fn again(&self, field: &InducingField) -> Option<Start<Self>> {
        if field.hyper.kernel.parameter_names() != self.hyper.kernel.parameter_names() {
            return None;
        }
        let f = self.marginals(field).ok()?;
        let times = (self.events as f64 / field.expected_over(self.window)).sqrt();
        // Where the constant is an unknown, the mean is the level of the mean rate.
        let mean = if self.constant.is_some() { self.hyper.mean } else { times * field.hyper.mean };
        let hyper = Hyper { kernel: field.hyper.kernel.clone().times(times * times), mean };
        let mean = f.mean.iter().map(|f| times * f).collect();
        let sites = Sites::of(&LOG_SQUARE, &Marginals { mean, variance: f.variance });
        let locations = field.locations.clone();
        let counts = GridPoints::of(&locations).map_or_else(|| vec![locations.len()], |grid| grid.counts());
        let level = PointsLevel { locations: locations.clone(), counts };
        Some(Start { level, theta: HyperAt { hyper, locations }, sites, curvature: Curvature::near() })
    }

    /// Mean and variance of f where this fit sees events.
    fn marginals(&self, field: &InducingField) -> Result<Marginals> {
        match (&self.observed.seen, GridPoints::of(&field.locations)) {
            (Seen::Tensor(Tensor { axes, .. }), Some(grid)) => {
                let basis = grid.basis(&field.hyper, field.prior_mean, field.jitter)?;
                let features = basis.tensor_features(axes, self.window)?;
                let rows = ByAxis { basis: &basis, features: &features, spare: &self.spare };
                let rows = BorderedDesign::with_constant(rows, field.constant);
                Ok(rows.marginals(&field.q.mean, &field.q.covariance()))
            }
            (Seen::Points(points, _), _) => Ok(field.at_points(points)),
            _ => Err(Error::NoEvents), // inducing points anywhere do not go axis by axis
        }
    }

    fn level_at(&self, places: &Places) -> PointsLevel {
        match places {
            Places::Grid(counts) => PointsLevel { locations: self.window.grid_nearby(counts), counts: counts.clone() },
            Places::At(points) => PointsLevel { locations: points.clone(), counts: vec![points.len()] },
        }
    }

    /// Most points that `auto` uses.
    fn most(&self) -> usize {
        AUTO_MOST.min(AUTO_FEW.max(AUTO_PER_EVENT.saturating_mul(self.events)))
    }

    /// A grid just fine enough for a length-scale; where that is too much because of cycles, one that shows these.
    fn counts_for(&self, length: f64) -> Vec<usize> {
        let counts = self.plain_counts_for(length);
        let cycled = cycled_counts(&self.hyper.kernel);
        match cycled.filter(|_| product(&counts) > self.most()) {
            Some(cycled) if product(&cycled) <= AUTO_MOST => cycled,
            _ => counts,
        }
    }

    /// A grid just fine enough for a length-scale, whatever it takes.
    fn plain_counts_for(&self, length: f64) -> Vec<usize> {
        let dims = self.window.dims();
        let least = AUTO_LEAST.get(dims - 1).copied().unwrap_or(3);
        let kernel = self.layout.with_lengthscale(&self.hyper, length).kernel;
        let counts: Vec<usize> = (0..dims).map(|r| least_count(&kernel, r, least)).collect();
        spread(&counts, &kernel)
    }

    /// Whether `auto` may start with the grid for a length-scale.
    fn is_affordable(&self, length: f64) -> bool {
        let dims = self.window.dims();
        let least = AUTO_LEAST.get(dims - 1).copied().unwrap_or(3);
        let size = product(&self.counts_for(length));
        let is_cycled = product(&self.plain_counts_for(length)) > size;
        if is_cycled {
            return self.is_resolved_by(size, length);
        }
        size <= self.most() && (size <= least.pow(dims as u32) || self.work(size) <= tuning::INDUCING.cheap)
    }

    /// Refuses a kernel that would need more points than there can be.
    pub(super) fn check_needed(&self) -> Result<()> {
        let counts = self.counts_for(tuning::INDUCING.longest_start);
        let needed = product(&counts);
        if needed <= AUTO_AT_ALL {
            return Ok(());
        }
        if let Some(cycled) = cycled_counts(&self.hyper.kernel) {
            return Err(self.too_many_cycles(&cycled));
        }
        let requirement = format!(
            "so short a length-scale or period, which is held or given, needs some {needed} of them and at most {AUTO_AT_ALL} are used: \
             take a longer one, or a lattice"
        );
        Err(Error::setting("inducing points", "auto", requirement))
    }

    /// That a window of several axes has too many cycles, with a grid that can be asked for all the same.
    fn too_many_cycles(&self, cycled: &[usize]) -> Error {
        let (axis, period) = shortest_period(&self.hyper.kernel).unwrap_or((0, 1.0));
        let mut few = cycled.to_vec();
        few[axis] = 1;
        few[axis] = (AUTO_MOST / product(&few)).min(cycled[axis]);
        few = spread_on(&few, &self.hyper.kernel, &|r| r == axis, true);
        let grid: Vec<String> = few.iter().map(usize::to_string).collect();
        let requirement = format!(
            "is there {:.0} times in the window, for which `auto` would take {} inducing points on so many axes, and it takes at most {AUTO_MOST}; give a \
             shorter window or a longer cycle, or say how many points there are on each axis, as in {}",
            1.0 / period,
            product(cycled),
            grid.join("x")
        );
        Error::setting("inducing points", "auto", requirement)
    }

    /// Whether so many points are enough for structures of this length.
    fn is_resolved_by(&self, size: usize, length: f64) -> bool {
        length >= tuning::INDUCING.resolved * (size as f64).powf(-1.0 / self.window.dims() as f64)
    }

    /// Whether a grid is fine enough for what the kernel does at any length-scale: a period, say. Where there are many periods, another
    /// grid stands in other phases, and what it finds is no guide.
    fn resolves(&self, counts: &[usize]) -> bool {
        let kernel = self.layout.with_lengthscale(&self.hyper, tuning::INDUCING.longest_start).kernel;
        (0..counts.len()).all(|r| counts[r] >= least_count(&kernel, r, 1) && !kernel.has_short_waves(r))
    }

    /// The part of the expected events that the residual variance accounts for.
    fn unexplained(&self, theta: &HyperAt) -> Result<f64> {
        Ok(self.basis(theta)?.over(self.window).residual / self.events as f64)
    }
}

impl Kind for OnInducing<'_> {
    type Fineness = Places;
    type Level = PointsLevel;
    type Theta = HyperAt;
    type Kept = Kept;
    type Member = InducingField;

    fn window(&self) -> &Window {
        self.window
    }

    fn free(&self) -> usize {
        self.layout.free()
    }

    fn ratios(&self) -> Vec<usize> {
        self.layout.ratios()
    }

    fn member(&self, _: &PointsLevel, theta: &HyperAt, sites: &Sites, kept: Kept) -> Result<InducingField> {
        if let Kept::Dense(q) = kept {
            return self.field(theta.clone(), q, false);
        }
        let until = Until { tolerance: 0.0, most: 1, clamp: Clamp::UntilSettled, foresees: false, pulse: &|| Ok(()) };
        let at = self.at(theta, false, sites.clone(), until)?;
        let by_axis = at.is_by_axis();
        self.field(theta.clone(), if let Kept::Joint(q) = kept { q } else { at.gaussian()? }, by_axis)
    }

    fn marginals(&self, _: &PointsLevel, member: &InducingField, places: &Points) -> Result<Marginals> {
        Ok(member.at_points(places))
    }

    fn tuning(&self) -> &'static Tuning {
        if self.layout.has_priors() { &tuning::INDUCING_WITH_PRIORS } else { &tuning::INDUCING }
    }

    fn size(&self, level: &PointsLevel) -> usize {
        level.locations.len()
    }

    fn cost(&self, level: &PointsLevel) -> f64 {
        self.work(level.locations.len())
    }

    fn cost_of(&self, places: &Places) -> f64 {
        self.work(match places {
            Places::Grid(counts) => counts.iter().product(),
            Places::At(points) => points.len(),
        })
    }

    fn last_gain(&self, _: &PointsLevel) -> f64 {
        self.gain
    }

    fn clamp(&self, _: &PointsLevel) -> Clamp {
        Clamp::UntilSettled
    }

    fn pack(&self, level: &PointsLevel, theta: &HyperAt) -> (Vec<f64>, Vec<(f64, f64)>) {
        let layout = self.active();
        (layout.pack(&theta.hyper, &theta.locations), layout.bounds(&level.locations))
    }

    fn unpack(&self, _: &PointsLevel, x: &[f64], base: &HyperAt) -> HyperAt {
        let (hyper, locations) = self.active().unpack(x, &base.hyper, &base.locations);
        HyperAt { hyper, locations }
    }

    fn evaluate(
        &self,
        _: &PointsLevel,
        theta: &HyperAt,
        sites: Sites,
        until: Until<'_>,
        by: By<'_>,
    ) -> Result<Found<Kept>> {
        let at = self.at(theta, self.is_moving() && by.is_some(), sites, until)?;
        let (log_prior, kept) = match by {
            Some((x, gradient)) => {
                let bar = at.gradient(self)?;
                (self.active().gradient(x, &theta.hyper, &bar, gradient), Kept::Nothing)
            }
            None => (self.layout.log_prior(&theta.hyper), at.kept()?),
        };
        Ok(Found { value: at.bound() + log_prior, sites: at.into_sites(), kept })
    }

    fn flat_sites(&self, _: &PointsLevel) -> Sites {
        self.flat()
    }

    fn start(&self, places: Option<&Places>, length: f64, before: Option<&Run<Self>>) -> Result<Start<Self>> {
        let level = match places {
            Some(places) => self.level_at(places),
            None => self.level_at(&Places::Grid(self.counts_for(length))),
        };
        let hyper = self.layout.with_lengthscale(&self.hyper, length);
        let sites = before.map_or_else(|| self.flat(), |run| run.sites.clone());
        let theta = HyperAt { hyper, locations: level.locations.clone() };
        Ok(Start { level, theta, sites, curvature: Curvature::default() })
    }

    fn shortest(&self, places: Option<&Places>, length: f64) -> bool {
        match places {
            None => self.is_affordable(length),
            Some(places) => {
                let size = self.level_at(places).locations.len();
                self.is_resolved_by(size, length)
            }
        }
    }

    fn scans(&self) -> bool {
        self.layout.scans()
    }

    fn continued(&self, places: &Places, before: &Run<Self>) -> Result<Start<Self>> {
        let level = self.level_at(places);
        let theta = HyperAt { hyper: before.theta.hyper.clone(), locations: level.locations.clone() };
        Ok(Start { level, theta, sites: before.sites.clone(), curvature: before.curvature.clone() })
    }

    /// Where rounding leaves no usable start, ten times the jitter, which the report tells.
    fn relaxed(&mut self, error: &Error) -> bool {
        let is_rounding = matches!(error, Error::NotPositiveDefinite { .. } | Error::NotANumber { .. });
        let relaxed = is_rounding && self.jitter < MOST_JITTER;
        if relaxed {
            self.jitter = (10.0 * self.jitter).max(1e-10);
        }
        relaxed
    }

    /// On a line half as many points show most of what many do, for an eighth of the work.
    fn rougher(&self, start: &Run<Self>) -> Option<(Places, Places)> {
        let counts = &start.level.counts;
        let is_large =
            counts.len() == 1 && counts[0] > ROUGH_FROM && self.method == Method::Collapsed && !self.is_moving();
        let half = spread(&[counts[0].div_ceil(2)], &start.theta.hyper.kernel);
        is_large.then(|| (Places::Grid(half), Places::Grid(counts.clone())))
    }

    fn otherwise(&self) -> Option<Scheme<Self>> {
        (self.method == Method::Joint).then_some(joint::maximise)
    }

    /// Inducing points are moved only at the end; a coarse fit only finds Θ.
    fn leads_on(&mut self, on: bool) {
        self.at_rest = on;
    }

    fn ladder(&self, places: &Places) -> Vec<Places> {
        let Places::Grid(counts) = places else { return vec![places.clone()] };
        let mut ladder = vec![counts.clone()];
        let direct = tuning::INDUCING.direct[(counts.len() - 1).min(2)];
        while let Some(last) = ladder.last()
            && last.iter().product::<usize>() > direct
        {
            let coarser: Vec<usize> = last.iter().map(|&c| if c > 4 { c.div_ceil(2) + 1 } else { c }).collect();
            if coarser == *last || !self.resolves(&coarser) {
                break;
            }
            ladder.push(coarser);
        }
        ladder.into_iter().rev().map(Places::Grid).collect()
    }

    fn next(&self, run: &Run<Self>, _: &Way<'_>) -> std::result::Result<Places, String> {
        let kernel = &run.theta.hyper.kernel;
        let next = spread(&grown(&run.level.counts, kernel), kernel);
        if self.window.grid_nearby(&next).len() <= self.most() {
            return Ok(Places::Grid(next));
        }
        // Where cycles take most of the points, places between them may still be shown better.
        if let Some((axis, _)) = shortest_period(kernel).filter(|_| kernel.dims > 1) {
            let counts = &run.level.counts;
            let across: Vec<usize> = (0..counts.len()).map(|r| if r == axis { counts[r] } else { next[r] }).collect();
            if across != *counts && self.window.grid_nearby(&across).len() <= self.most() {
                return Ok(Places::Grid(across));
            }
        }
        let unexplained = self.unexplained(&run.theta).unwrap_or(f64::NAN);
        Err(format!("; stopped at the most that auto uses, with {unexplained:.1e} of the expected events unexplained"))
    }

    fn enough(&self, run: &Run<Self>, next: &Places, gain: f64) -> Result<Option<String>> {
        let unexplained = self.unexplained(&run.theta)?;
        let enough = gain < tuning::INDUCING.auto_gain && unexplained < AUTO_UNEXPLAINED;
        Ok(enough.then(|| {
            let (next, gain) = (self.describe_fineness(next), gain.max(0.0));
            format!(": {unexplained:.1e} of the expected events are unexplained and {next} would gain {gain:.4} nats")
        }))
    }

    fn named(&self, theta: &HyperAt) -> Vec<Named> {
        self.layout.named(&theta.hyper)
    }

    fn describe(&self, level: &PointsLevel) -> String {
        describe(&level.counts)
    }

    fn describe_fineness(&self, places: &Places) -> String {
        describe(&self.level_at(places).counts)
    }
}

impl Inducing {
    /// Where these points are, in unit coordinates; nothing if that is to be found.
    pub(super) fn places(&self, scaling: &crate::window::Scaling) -> Option<Places> {
        match self {
            Inducing::Auto => None,
            Inducing::Grid(counts) => Some(Places::Grid(counts.clone())),
            Inducing::At(points) => Some(Places::At(scaling.points_inward(points))),
        }
    }
}

impl Run<OnInducing<'_>> {
    /// Where the joint scheme arrived.
    pub(super) fn joint(start: (PointsLevel, HyperAt, Sites), value: f64, end: End, q: Gaussian) -> Self {
        let (level, theta, sites) = start;
        Self { level, theta, sites, kept: Kept::Joint(q), value, curvature: Curvature::default(), gain: 0.0, end }
    }
}

/// What the features say of v before events are seen: prior mean, β, and the window's integrals.
type Before<'a> = (&'a [f64], f64, &'a RegionFeatures);

/// q(v) at its optimum, v ~ N(b, I), with dense rows.
pub(crate) fn optimum<D: Design<Precision = Matrix>>(
    design: &D,
    weights: &[f64],
    (mean, offset, region): Before<'_>,
    sites: Sites,
    until: Until<'_>,
) -> Result<Optimum<D::Spread>> {
    let said = vec![Said { design, weights, potential: &LOG_SQUARE }];
    let prior = PriorOf { precision: None, mean, log_determinant: 0.0, offset };
    let identity = || Matrix::scaled_identity(mean.len(), 1.0);
    Problem::new(prior, Some(region), said, identity).maximise(sites, until)
}

/// The same axis by axis.
pub(crate) fn grid_optimum(
    design: &BorderedDesign<ByAxis<'_>>,
    weights: &[f64],
    sites: Sites,
    until: Until<'_>,
) -> Result<Optimum<BorderedSpread<Covariance>>> {
    let (features, unknowns) = (design.inner.features, design.dense.len());
    let mean = [&features.prior_mean[..], &vec![0.0; unknowns]].concat();
    let region = bordered::with_constant(features.region.clone(), design.sd());
    let said = vec![Said { design, weights, potential: &LOG_SQUARE }];
    let prior = PriorOf { precision: None, mean: &mean, log_determinant: 0.0, offset: features.offset };
    let identity = || Bordered::beside(Matrix::scaled_identity(features.prior_mean.len(), 1.0), unknowns);
    Problem::new(prior, Some(&region), said, identity).maximise(sites, until)
}

impl At {
    /// Whether K was factored axis by axis.
    pub(super) fn is_by_axis(&self) -> bool {
        matches!(self, At::Grid(..))
    }

    pub(super) fn bound(&self) -> f64 {
        match self {
            At::Dense(_, _, optimum) => optimum.step.bound,
            At::Grid(_, _, optimum) => optimum.step.bound,
        }
    }

    /// Natural steps that were taken.
    pub(super) fn steps(&self) -> usize {
        match self {
            At::Dense(_, _, optimum) => optimum.evaluations,
            At::Grid(_, _, optimum) => optimum.evaluations,
        }
    }

    /// Whether they reached the optimum.
    pub(super) fn converged(&self) -> bool {
        match self {
            At::Dense(_, _, optimum) => optimum.converged,
            At::Grid(_, _, optimum) => optimum.converged,
        }
    }

    fn into_sites(self) -> Sites {
        match self {
            At::Dense(_, _, optimum) => optimum.sites,
            At::Grid(_, _, optimum) => optimum.sites,
        }
    }

    /// ∫ of the prior variance of f that the inducing points explain, without that of a constant, and of the rest.
    pub(super) fn explained(&self, on: &OnInducing<'_>) -> (f64, f64) {
        match self {
            At::Dense(_, features, _) => {
                let region = &features.region;
                let of_constant = on.constant.map_or(0.0, |sd| sd * sd * region.measure);
                (region.square.trace() - of_constant, region.residual)
            }
            At::Grid(_, features, _) => (features.region.square.trace(), features.region.residual),
        }
    }

    fn kept(&self) -> Result<Kept> {
        match self {
            At::Dense(..) => Ok(Kept::Dense(self.gaussian()?)),
            At::Grid(..) => Ok(Kept::Nothing),
        }
    }

    /// q as mean and root of the covariance.
    pub(super) fn gaussian(&self) -> Result<Gaussian> {
        let (mean, covariance) = match self {
            At::Dense(_, _, optimum) => {
                (optimum.step.mean.clone(), linalg::inverse_from_cholesky(&optimum.step.spread.0))
            }
            At::Grid(_, _, optimum) => (optimum.step.mean.clone(), optimum.step.spread.covariance()),
        };
        Ok(Gaussian { mean, root: covariance.factor()?.0 })
    }

    /// The gradient by Θ (and Z): that at fixed q, which is the whole one at the optimum of q.
    fn gradient(&self, on: &OnInducing<'_>) -> Result<HyperBar> {
        match (self, &on.observed.seen) {
            (At::Dense(basis, features, _), Seen::Points(points, weights)) => {
                let (_, bar, _) = bound_adjoint(features, weights, &self.gaussian()?, false);
                Ok(on.features_adjoint(basis, points, features, bar))
            }
            (At::Grid(basis, features, optimum), seen) => {
                Ok(on.rows(basis, features).gradient(optimum, seen.weights()))
            }
            _ => Err(Error::NoEvents), // dense matrices are for points alone
        }
    }

    /// The bound of a q, in its parts: that of the optimum if it is axis by axis.
    pub(super) fn parts(&self, on: &OnInducing<'_>, q: &Gaussian) -> Bound {
        match self {
            At::Dense(_, features, _) => bound::bound(features, on.observed.seen.weights(), q),
            At::Grid(_, features, optimum) => {
                let (step, region) = (&optimum.step, region_with_constant(features.region.clone(), on.constant));
                Bound::of_step(
                    step.bound,
                    step.sums[0],
                    region.of_square(features.offset, &step.mean),
                    region.of_variance(&step.spread.covariance()),
                )
            }
        }
    }

    /// The prior as it was factored.
    pub(super) fn basis(&self) -> &dyn Basis {
        match self {
            At::Dense(basis, ..) => &**basis,
            At::Grid(basis, ..) => &**basis,
        }
    }

    /// Σ w E[log f²] over other nodes, for the q of [`At::parts`].
    fn data_term(&self, seen: &Seen, q: &Gaussian, on: &OnInducing<'_>) -> Result<f64> {
        let f = match (self, seen) {
            (At::Grid(basis, _, optimum), Seen::Tensor(Tensor { axes, .. })) => {
                let features = basis.tensor_features(axes, on.window)?;
                on.rows(basis, &features).marginals(&optimum.step.mean, &optimum.step.spread.covariance())
            }
            (At::Dense(basis, features, _), Seen::Points(points, _)) => {
                bound::marginals(&basis.at(points).with_constant(on.constant), features.offset, q)
            }
            _ => return Err(Error::NoEvents), // both see the events in the same way
        };
        Ok(terms::expected_sum(&LOG_SQUARE, &f, seen.weights()))
    }

    /// What nodes in place of events leave out of the data term `own` of a q, as far as cells of another size show.
    pub(super) fn left_out(&self, on: &OnInducing<'_>, q: &Gaussian, own: f64) -> Result<Option<f64>> {
        let Some((other, share)) = &on.observed.other else { return Ok(None) };
        Ok(Some(share * (self.data_term(other, q, on)? - own).abs()))
    }
}

/// Whether a kernel asks for more inducing points than so many places of events could have a say in: a structure so fine is none of theirs.
pub(super) fn is_crowded(kernel: &Kernel, places: usize) -> bool {
    let needed: f64 = (0..kernel.dims).map(|r| kernel.points_needed(r)).product();
    needed > (AUTO_PER_EVENT * places).max(AUTO_FEW) as f64
}

/// Points on an axis of length 1 for a kernel: as many as it needs, no fewer than `least`; one alone if it is constant.
fn least_count(kernel: &Kernel, axis: usize, least: usize) -> usize {
    let needed = kernel.points_needed(axis);
    if kernel.length(axis).is_infinite() { 1 } else { least.max(needed.min(1e6).ceil() as usize) }
}

/// About half as many points again on every axis that does not yet have well over what the kernel needs, or on all.
fn grown(counts: &[usize], kernel: &Kernel) -> Vec<usize> {
    let coarse = |r: usize| (counts[r] as f64 - 1.0).max(1.0) < 2.0 * (kernel.points_needed(r) - 1.0);
    let any = (0..counts.len()).any(coarse);
    let varies = |r: usize| kernel.length(r).is_finite();
    let grow = |r: usize| if varies(r) && (!any || coarse(r)) { (3 * counts[r]).div_ceil(2) } else { counts[r] };
    (0..counts.len()).map(grow).collect()
}

/// These counts, a few more on an axis with many periods: points evenly apart must not all fall into the same phase. Taken is the number
/// whose points are least alike.
fn spread(counts: &[usize], kernel: &Kernel) -> Vec<usize> {
    // On a line points that are dense in every period need nothing of it.
    let has_phases = |r: usize| kernel.has_short_waves(r) || kernel.dims > 1 && period_on(kernel, r).is_some();
    spread_on(counts, kernel, &has_phases, false)
}

/// The same on these axes, with fewer in place of more if so asked.
fn spread_on(counts: &[usize], kernel: &Kernel, has_phases: &dyn Fn(usize) -> bool, fewer: bool) -> Vec<usize> {
    let most_alike = |r: usize, count: usize| {
        let step = 1.0 / (count as f64 - 1.0).max(1.0);
        (1..count).map(|i| kernel.likeness(r, step * i as f64)).fold(f64::NEG_INFINITY, f64::max)
    };
    let count = |r: usize| {
        let few = counts[r] / 8 + 4;
        let range = if fewer { counts[r].saturating_sub(few).max(2)..=counts[r] } else { counts[r]..=counts[r] + few };
        let candidates = range.map(|count| (most_alike(r, count), count));
        candidates.min_by(|a, b| a.0.total_cmp(&b.0)).map_or(counts[r], |(_, count)| count)
    };
    let is_spread = |r: usize| has_phases(r) && counts[r] > 1 && counts[r] <= AUTO_AT_ALL;
    (0..counts.len()).map(|r| if is_spread(r) { count(r) } else { counts[r] }).collect()
}

/// The shortest period of a kernel on an axis.
fn period_on(kernel: &Kernel, axis: usize) -> Option<f64> {
    let parts = kernel.terms.iter().flat_map(|term| &term.parts).filter(|part| part.axis == axis);
    parts.filter_map(|part| part.factor.period(&part.parameters)).min_by(f64::total_cmp)
}

/// The shortest period of a kernel of which a window has several, with its axis.
fn shortest_period(kernel: &Kernel) -> Option<(usize, f64)> {
    let of_axis = |r: usize| Some((r, period_on(kernel, r)?));
    (0..kernel.dims).filter_map(of_axis).filter(|(_, period)| *period <= 0.5).min_by(|a, b| a.1.total_cmp(&b.1))
}

/// A grid with which `auto` may start where one of several axes has cycles: dense there, in places that differ from cycle to cycle, and coarse elsewhere.
fn cycled_counts(kernel: &Kernel) -> Option<Vec<usize>> {
    let across = *AUTO_ACROSS.get(kernel.dims.checked_sub(2)?)?;
    let (axis, period) = shortest_period(kernel)?;
    let mut counts = vec![across; kernel.dims];
    counts[axis] = ((AUTO_PER_CYCLE / period).ceil() as usize).max(AUTO_IN_CYCLES);
    Some(spread(&counts, kernel))
}

fn product(counts: &[usize]) -> usize {
    counts.iter().fold(1usize, |n, &c| n.saturating_mul(c))
}

/// What to say of inducing points that stand in so few parts of a cycle that they cannot show it. The window is the unit box.
pub(super) fn unseen_cycle(kernel: &Kernel, locations: &Points, axes: &[Axis]) -> Option<String> {
    let (axis, period) = shortest_period(kernel)?;
    let mut places = locations.axis(axis);
    places.sort_by(f64::total_cmp);
    places.dedup_by(|a, b| (*a - *b).abs() < 1e-9);
    if widest_gap(&places, period) <= WIDEST_GAP {
        return None;
    }
    let even = |count: &usize| (0..*count).map(|i| i as f64 / (*count as f64 - 1.0)).collect::<Vec<f64>>();
    // Within a few cycles of points there is always such a number.
    let enough =
        (places.len().max(2)..10 * AUTO_AT_ALL).find(|count| widest_gap(&even(count), period) <= WIDEST_GAP / 1.5)?;
    let name = &axes.get(axis)?.name;
    Some(format!(
        "the {} inducing points on `{name}` stand in few parts of a cycle and leave {:.0} % of it without any: peaks between them come out too low; take {enough} \
         points on `{name}`, which stand elsewhere in each cycle",
        places.len(),
        100.0 * widest_gap(&places, period)
    ))
}

/// The largest part of a cycle in which no place stands, whichever cycle that is.
fn widest_gap(places: &[f64], period: f64) -> f64 {
    let mut phases: Vec<f64> = places.iter().map(|x| (x / period).rem_euclid(1.0)).collect();
    phases.sort_by(f64::total_cmp);
    let around = phases.first().zip(phases.last()).map_or(1.0, |(first, last)| first + 1.0 - last);
    phases.windows(2).map(|pair| pair[1] - pair[0]).fold(around, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{Factor, Part, Term};

    /// A trend and a cycle on the last of three axes.
    fn kernel(period: f64) -> Kernel {
        let part = |axis, factor, parameters| Part { axis, factor, parameters };
        let slow: Vec<Part> = (0..3).map(|r| part(r, Factor::SquaredExponential, vec![0.5])).collect();
        let term = |parts| Term { variance: 1.0, parts };
        let cycle = part(2, Factor::Periodic, vec![period, 1.0]);
        Kernel::new(3, vec![term(slow.clone()), term(slow.into_iter().chain([cycle]).collect())]).unwrap()
    }

    #[test]
    fn points_in_few_parts_of_a_cycle_are_told_with_a_number_that_is_enough() {
        let (kernel, axes) =
            (kernel(1.0 / 7.0), ["x", "y", "t"].map(|name| Axis { name: name.into(), ..Axis::default() }));
        let on = |count: usize| Points::grid(&[0.0; 3], &[1.0; 3], &[2, 2, count]);
        for good in [14, 24, 44] {
            assert_eq!(unseen_cycle(&kernel, &on(good), &axes), None, "{good}");
        }
        for (poor, part) in [(8, "100 %"), (29, "25 %"), (15, "50 %")] {
            let said = unseen_cycle(&kernel, &on(poor), &axes).unwrap();
            assert!(said.contains(&format!("the {poor} inducing points on `t`")) && said.contains(part), "{said}");
            let number = said.split("take ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
            assert_eq!(unseen_cycle(&kernel, &on(number), &axes), None, "{said}");
        }
    }

    #[test]
    fn a_grid_for_cycles_stands_in_all_parts_of_them() {
        for cycles in [2.0, 3.0, 7.0, 14.0, 20.0] {
            let counts = cycled_counts(&kernel(1.0 / cycles)).unwrap();
            let places: Vec<f64> = (0..counts[2]).map(|i| i as f64 / (counts[2] as f64 - 1.0)).collect();
            assert!(counts[..2] == [3, 3] && widest_gap(&places, 1.0 / cycles) <= 1.0 / 8.0, "{cycles}: {counts:?}");
            assert!(product(&counts) <= AUTO_MOST, "{counts:?}");
        }
    }
}
