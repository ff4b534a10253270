//! Types of events on one lattice as the search sees them: fields that they share and fields of their own (`field/layers/`).
//!
//! Families and hyper-parameters are found on a lattice that is coarse enough for many natural steps. Where that does not show the ranges that were
//! found, or more nodes are asked for, the Θ that count are looked at again on a finer one, each from what the coarser one knew.

use super::level::{margin, steps};
use super::ranges::{AxisBounds, Ranges};
use super::{LEAST_STEPS, LONGEST, MOST_STEPS};
use crate::data::points::Points;
use crate::error::{Error, Result};
use crate::field::lattice::{Smoothness, Theta, from_above};
use crate::field::layers::{Layers, LayersOptimum, LayersTheta, Observed, Set, VAGUE, one_of};
use crate::gaussian::bordered::BorderedSpread;
use crate::gaussian::step::{Clamp, Until};
use crate::gaussian::{Bordered, Diagonals, Sites};
use crate::infer::Prior;
use crate::infer::beliefs::{self, Isotropy};
use crate::infer::lbfgs::Curvature;
use crate::infer::members::log_evidence;
use crate::infer::profile::Profile;
use crate::infer::search::{By, Found, Kind, Look, Named, Run, Search, Start, Way, describe};
use crate::infer::tally::Tally;
use crate::infer::theta::{Layout, Slot};
use crate::infer::tuning::{self, Tuning};
use crate::kernel::Affine;
use crate::terms::Marginals;
use crate::window::{Scaling, Window};

/// Nodes on each axis on which families and Θ are found, on a line, in a plane and in space …
const FIRST: [usize; 3] = [96, 20, 8];
/// … and in all at most, times the square of the number of fields.
const MOST_FIRST: f64 = 20_000.0;
/// A range is shown by so many steps of a lattice; a finer one has at most so many nodes per axis, and a step on it takes at most so many seconds.
const SHOWN: f64 = 5.0;
const FINEST: [usize; 3] = [384, 48, 12];
const MOST_SECONDS: f64 = 0.5;
/// On the finer lattice so many Θ are looked at, those that weigh at least this part of the heaviest.
const MOST_MEMBERS: usize = 8;
const UNHEARD: f64 = 0.03;
/// How near (nats) q is brought to its optimum there.
const NEAR: f64 = 1e-3;
/// Products and sums per second.
const SPEED: f64 = 1e10;
const LINE_SPEED: f64 = 4e8;
/// The range of variances, as logarithms, and of loads.
const VARIANCES: (f64, f64) = (-14.0, 4.6);
const LOADS: (f64, f64) = (-8.0, 8.0);
/// Prior standard deviation of a load.
const LOAD: f64 = 1.0;
/// A margin this much (sides) narrower than the range asks for is set anew.
const MARGIN_OFF: f64 = 0.06;
/// Events added to those of a type for the level of its rate.
const HALF: f64 = 0.5;

/// One type: where it was looked for, and its events, in the coordinates of the unit box.
pub(crate) struct Seen {
    pub(crate) window: Window,
    pub(crate) events: Points,
}

/// Real numbers measured at places: a type of their own without events.
pub(crate) struct Measured {
    pub(crate) places: Points,
    pub(crate) values: Vec<f64>,
}

/// How types and fields belong together.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Structure {
    /// The name of each group of fields that have one Θ, and how many fields these are.
    pub(crate) groups: Vec<(String, usize)>,
    /// The loads, by type and field; those that are learned are where they start.
    pub(crate) loads: Vec<Vec<f64>>,
    /// Which loads are learned: (type, field), with the name of each.
    pub(crate) learned: Vec<(usize, usize, String)>,
    /// Groups whose variance is 1: their scale is in the loads.
    pub(crate) unit: bool,
}

impl Structure {
    pub(crate) fn count(&self) -> usize {
        self.groups.iter().map(|(_, count)| count).sum()
    }
}

/// Θ: that of the fields, the loads, and the variance of noise.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TypesTheta {
    /// Ranges along the axes and variance of each group.
    groups: Vec<(Vec<f64>, f64)>,
    loads: Vec<Vec<f64>>,
    noise: f64,
}

/// The posterior at one Θ.
pub(crate) struct TypesMember {
    theta: TypesTheta,
    pub(crate) layers: LayersTheta,
    pub(crate) mean: Vec<f64>,
    pub(crate) spread: BorderedSpread<Diagonals>,
    pub(crate) said: Bordered<Diagonals>,
    bound: f64,
}

impl TypesMember {
    /// The variance of the noise of what was measured.
    pub(crate) fn noise(&self) -> f64 {
        self.theta.noise
    }

    /// The name, the ranges and the variance of each group of fields.
    pub(crate) fn groups<'a>(&'a self, structure: &'a Structure) -> impl Iterator<Item = (&'a str, &'a [f64], f64)> {
        let both = structure.groups.iter().zip(&self.theta.groups);
        both.map(|((name, _), (ranges, variance))| (name.as_str(), ranges.as_slice(), *variance))
    }
}

/// A lattice with the events of all types on it.
pub(crate) struct TypesLevel {
    pub(crate) layers: Layers,
    nodes: Vec<usize>,
    margin: Vec<f64>,
    sets: Vec<Set>,
    places: Vec<Points>,
    observed: Option<Observed>,
}

/// What is asked.
#[derive(Debug, Clone)]
pub(crate) struct TypesWanted {
    pub(crate) nodes: Option<Vec<usize>>,
    pub(crate) smoothness: Smoothness,
    pub(crate) average: bool,
    pub(crate) gain: f64,
}

/// The data in unit coordinates, and one family.
pub(crate) struct OnLayers<'a> {
    seen: &'a [Seen],
    measured: Option<&'a Measured>,
    structure: Structure,
    smoothness: Smoothness,
    gain: f64,
    layout: Layout,
    ranges: Ranges,
}

/// What one family came to.
pub(crate) struct FoundTypes {
    pub(crate) structure: Structure,
    pub(crate) layers: Layers,
    pub(crate) members: Vec<(f64, TypesMember)>,
    pub(crate) log_evidence: f64,
    pub(crate) converged: bool,
    pub(crate) priors: Vec<(String, Prior)>,
    /// The density of each load that is learned, where it could be found.
    pub(crate) learned: Vec<Option<Profile>>,
}

impl<'a> OnLayers<'a> {
    pub(crate) fn new(
        (seen, measured): (&'a [Seen], Option<&'a Measured>),
        structure: Structure,
        wanted: &TypesWanted,
        scaling: &Scaling,
        window: &Window,
    ) -> Self {
        let ranges = Ranges::new(window, scaling, Isotropy::Tied);
        let mut slots = vec![];
        for (name, _) in &structure.groups {
            for (slot, kind) in ranges.slots(window, scaling).into_iter().zip(&ranges.kinds) {
                let axes = match kind {
                    super::ranges::RangeSlot::Common(axes) => axes.clone(),
                    super::ranges::RangeSlot::Ratio(..) => vec![0],
                };
                let called = format!("{name} {}", slot.name);
                slots.push(Slot { name: called, priors: vec![beliefs::length(&axes, scaling)], by_log: true, ..slot });
            }
            let unit = Affine { scale: 1.0, shift: 0.0 };
            let variance = Slot::positive(format!("{name} variance"), unit, VARIANCES);
            let priors = vec![beliefs::deviation(VAGUE)];
            let fixed = structure.unit.then_some(1.0);
            let priors = if structure.unit { vec![] } else { priors };
            slots.push(Slot { priors, by_log: true, fixed, ..variance });
        }
        for (_, _, name) in &structure.learned {
            let unit = Affine { scale: 1.0, shift: 0.0 };
            let priors = vec![Prior::Normal { mean: 0.0, sd: LOAD }];
            slots.push(Slot { scale: Some(1.0), priors, ..Slot::positive(name.clone(), unit, LOADS) });
        }
        if let Some(measured) = measured {
            let spread = variance_of(&measured.values).max(1e-12);
            let unit = Affine { scale: 1.0, shift: 0.0 };
            let bounds = ((1e-6 * spread).ln(), (10.0 * spread).ln());
            let priors = vec![beliefs::deviation(3.0 * spread.sqrt())];
            slots.push(Slot { priors, by_log: true, ..Slot::positive("noise variance".into(), unit, bounds) });
        }
        let layout = Layout { slots, axes: window.axes().iter().map(|axis| axis.name.clone()).collect() };
        Self { seen, measured, structure, smoothness: wanted.smoothness, gain: wanted.gain, layout, ranges }
    }

    fn dims(&self) -> usize {
        self.seen[0].window.dims()
    }

    /// The level of the mean rate of each type, and of what was measured.
    fn levels(&self) -> Vec<f64> {
        let level = |seen: &Seen| ((seen.events.len() as f64).max(HALF) / seen.window.measure()).ln();
        let measured = self.measured.map(|measured| measured.values.iter().sum::<f64>() / measured.values.len() as f64);
        self.seen.iter().map(level).chain(measured).collect()
    }

    fn level(&self, nodes: &[usize], margin: Vec<f64>) -> Result<TypesLevel> {
        let window = &self.seen[0].window;
        let count = self.structure.count();
        let layers = Layers::new(window, (nodes, &margin), self.smoothness, count, self.levels())?;
        let (mut sets, mut places) = (vec![], vec![]);
        for (kind, seen) in self.seen.iter().enumerate() {
            let (at, weights) = from_above(layers.grid(), &seen.window)?;
            let events = vec![1.0; seen.events.len()];
            if !events.is_empty() {
                let hats = layers.grid().at(&seen.events)?;
                sets.push(Set { kind, hats, weights: events, is_integral: false });
                places.push(seen.events.clone());
            }
            sets.push(Set { kind, hats: layers.grid().at(&at)?, weights, is_integral: true });
            places.push(at);
        }
        let observed = match self.measured {
            None => None,
            Some(measured) => Some(Observed {
                kind: self.seen.len(),
                hats: layers.grid().at(&measured.places)?,
                values: measured.values.clone(),
            }),
        };
        Ok(TypesLevel { layers, nodes: nodes.to_vec(), margin, sets, places, observed })
    }

    fn layout_on(&self, level: &TypesLevel) -> Layout {
        let (mut layout, steps) = (self.layout.clone(), steps(&level.nodes, &level.margin));
        let of_axis = |r: usize| {
            let least = LEAST_STEPS * steps[r];
            let most = LONGEST.max(2.0 * least);
            let digits = if self.smoothness == Smoothness::Four { most.min(MOST_STEPS * steps[r]) } else { most };
            AxisBounds { least, most, digits }
        };
        let bounds = self.ranges.bounds(of_axis);
        let per_group = self.ranges.len() + 1;
        for g in 0..self.structure.groups.len() {
            for (slot, bounds) in layout.slots[g * per_group..].iter_mut().zip(&bounds) {
                slot.bounds = bounds.unwrap_or(slot.bounds);
            }
        }
        layout
    }

    fn values(&self, theta: &TypesTheta) -> Vec<f64> {
        let mut values = vec![];
        for (ranges, variance) in &theta.groups {
            values.extend(self.ranges.to_slots(ranges));
            values.push(*variance);
        }
        values.extend(self.structure.learned.iter().map(|(c, l, _)| theta.loads[*c][*l]));
        values.extend(self.measured.map(|_| theta.noise));
        values
    }

    fn of_values(&self, values: &[f64]) -> TypesTheta {
        let per_group = self.ranges.len() + 1;
        let mut loads = self.structure.loads.clone();
        let group = |g: usize| {
            let own = &values[g * per_group..][..per_group];
            (self.ranges.of_slots(&own[..per_group - 1]), own[per_group - 1])
        };
        let groups: Vec<_> = (0..self.structure.groups.len()).map(group).collect();
        let rest = &values[groups.len() * per_group..];
        self.structure.learned.iter().zip(rest).for_each(|((c, l, _), value)| loads[*c][*l] = *value);
        let noise = self.measured.and(rest.last().copied()).unwrap_or(1.0);
        TypesTheta { groups, loads, noise }
    }

    /// Θ of each field.
    fn layers_theta(&self, theta: &TypesTheta) -> LayersTheta {
        let both = self.structure.groups.iter().zip(&theta.groups);
        let fields = both.flat_map(|((_, count), (ranges, variance))| {
            std::iter::repeat_n(Theta::of_ranges(ranges, *variance, 0.0), *count)
        });
        LayersTheta { fields: fields.collect(), loads: theta.loads.clone() }
    }

    fn bars(&self, optimum: &LayersOptimum, theta: &TypesTheta) -> Vec<f64> {
        let values = self.values(theta);
        let mut bars = vec![];
        let mut first = 0;
        for (_, count) in &self.structure.groups {
            let own = &optimum.slopes.fields[first..first + count];
            first += count;
            let dims = self.dims();
            let mut by_log = vec![0.0; dims];
            for slopes in own {
                let common = (slopes.log_range - 2.0 * slopes.log_stretch.iter().sum::<f64>()) / dims as f64;
                by_log.iter_mut().zip(&slopes.log_stretch).for_each(|(sum, slope)| *sum += common + 2.0 * slope);
            }
            for slope in self.ranges.slopes(&by_log) {
                bars.push(slope / values[bars.len()]);
            }
            bars.push(own.iter().map(|slopes| slopes.log_variance).sum::<f64>() / values[bars.len()]);
        }
        bars.extend(self.structure.learned.iter().map(|(c, l, _)| optimum.slopes.loads[*c][*l]));
        bars.extend(self.measured.map(|_| optimum.slopes.log_noise / theta.noise));
        bars
    }

    /// About the seconds of a natural step.
    fn seconds(&self, nodes: &[usize]) -> f64 {
        let (count, total) = (self.structure.count() as f64, nodes.iter().map(|n| *n as f64).product::<f64>());
        let alpha = self.smoothness.alpha() as f64;
        match nodes.len() {
            1 => 3.0 * total * count.powi(3) * alpha * alpha / LINE_SPEED,
            2 => 30.0 * total.powf(1.5) * (alpha * count).powi(3) / SPEED,
            _ => 3.0 * total.powf(7.0 / 3.0) * alpha * alpha * count.powi(3) / SPEED,
        }
    }

    /// The lattice on which families are compared.
    fn first_nodes(&self, wanted: &TypesWanted) -> Vec<usize> {
        let dims = self.dims();
        let count = self.structure.count() as f64;
        let most = (MOST_FIRST / (count * count)).powf(1.0 / dims as f64) as usize;
        let usual = vec![FIRST[dims - 1].min(most.max(8)); dims];
        match &wanted.nodes {
            Some(nodes) => usual.iter().zip(nodes).map(|(usual, asked)| (*usual).min(*asked)).collect(),
            None => usual,
        }
    }

    /// A lattice that shows the ranges of a Θ, no coarser than another and no dearer than allowed.
    fn showing(&self, theta: &TypesTheta, first: &[usize]) -> Vec<usize> {
        let dims = self.dims();
        let shortest = |r: usize| theta.groups.iter().map(|(ranges, _)| ranges[r]).fold(f64::INFINITY, f64::min);
        let all: Vec<f64> = (0..dims).map(shortest).collect();
        let margin = self.margin_of(theta);
        let needed = |r: usize| ((1.0 + 2.0 * margin[r]) * SHOWN / all[r]).ceil() as usize + 1;
        let mut nodes: Vec<usize> = (0..dims).map(|r| needed(r).min(FINEST[dims - 1]).max(first[r])).collect();
        while self.seconds(&nodes) > MOST_SECONDS && nodes.iter().zip(first).any(|(n, first)| n > first) {
            nodes = nodes.iter().zip(first).map(|(n, first)| (n * 9 / 10).max(*first)).collect();
        }
        nodes
    }

    /// The margin for the longest of the ranges.
    fn margin_of(&self, theta: &TypesTheta) -> Vec<f64> {
        let longest = |r: usize| theta.groups.iter().map(|(ranges, _)| ranges[r]).fold(0.0, f64::max);
        margin(&(0..self.dims()).map(longest).collect::<Vec<_>>())
    }

    /// What an f that is known says at the points of a level, as sites.
    fn sites_from(&self, level: &TypesLevel, f: impl Fn(usize, &Points) -> Result<Marginals>) -> Result<Sites> {
        let mut sites = Sites::none();
        for (set, places) in level.sets.iter().zip(&level.places) {
            sites = sites.followed_by(Sites::of(set.potential(), &f(set.kind, places)?));
        }
        Ok(sites)
    }

    /// f of one type at places under some q.
    fn f_at(
        &self,
        level: &TypesLevel,
        theta: &LayersTheta,
        (mean, spread): (&[f64], &BorderedSpread<Diagonals>),
        (kind, places): (usize, &Points),
    ) -> Result<Marginals> {
        Ok(level.layers.moments(&level.layers.of_type(places, theta, kind)?, mean, spread))
    }
}

/// The variance of some numbers.
fn variance_of(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / values.len() as f64
}

impl TypesLevel {
    fn said(&self, noise: f64) -> (&[Set], Option<(&Observed, f64)>) {
        (&self.sets, self.observed.as_ref().map(|observed| (observed, noise)))
    }
}

impl Kind for OnLayers<'_> {
    type Fineness = Vec<usize>;
    type Level = TypesLevel;
    type Theta = TypesTheta;
    type Kept = LayersOptimum;
    type Member = TypesMember;

    fn window(&self) -> &Window {
        &self.seen[0].window
    }

    fn tuning(&self) -> &'static Tuning {
        &tuning::LATTICE
    }

    fn size(&self, level: &TypesLevel) -> usize {
        level.layers.size()
    }

    fn cost(&self, level: &TypesLevel) -> f64 {
        level.layers.work() / if self.dims() == 1 { LINE_SPEED } else { SPEED }
    }

    fn cost_of(&self, nodes: &Vec<usize>) -> f64 {
        self.seconds(nodes)
    }

    fn last_gain(&self, _: &TypesLevel) -> f64 {
        self.gain
    }

    fn clamp(&self, _: &TypesLevel) -> Clamp {
        Clamp::UntilSettled
    }

    fn pack(&self, level: &TypesLevel, theta: &TypesTheta) -> (Vec<f64>, Vec<(f64, f64)>) {
        let layout = self.layout_on(level);
        (layout.pack(&self.values(theta)), layout.bounds())
    }

    fn unpack(&self, _: &TypesLevel, x: &[f64], base: &TypesTheta) -> TypesTheta {
        let mut values = self.values(base);
        self.layout.unpack(x, &mut values);
        self.of_values(&values)
    }

    fn evaluate(
        &self,
        level: &TypesLevel,
        theta: &TypesTheta,
        sites: Sites,
        until: Until<'_>,
        by: By<'_>,
    ) -> Result<Found<LayersOptimum>> {
        let mut kept = level.layers.optimum(level.said(theta.noise), &self.layers_theta(theta), sites, until)?;
        let log_prior = match by {
            Some((_, gradient)) => self.layout.gradient(&self.values(theta), &self.bars(&kept, theta), gradient),
            None => self.layout.log_prior(&self.values(theta)),
        };
        let sites = std::mem::replace(&mut kept.sites, Sites::none());
        Ok(Found { value: kept.bound + log_prior, sites, kept })
    }

    fn flat_sites(&self, level: &TypesLevel) -> Sites {
        let levels = level.layers.levels();
        let flat = |set: &Set| Sites::flat(set.potential(), levels[set.kind], set.weights.len());
        level.sets.iter().map(flat).fold(Sites::none(), Sites::followed_by)
    }

    fn start(&self, nodes: Option<&Vec<usize>>, length: f64, before: Option<&Run<Self>>) -> Result<Start<Self>> {
        let usual = vec![FIRST[self.dims() - 1]; self.dims()];
        let nodes = nodes.unwrap_or(&usual);
        let level = self.level(nodes, margin(&vec![length; self.dims()]))?;
        let resolved = |step: &f64| length.max(tuning::LATTICE.resolved * step);
        let ranges: Vec<f64> = steps(nodes, &level.margin).iter().map(resolved).collect();
        let variance = if self.structure.unit { 1.0 } else { 0.5 };
        let noise = self.measured.map_or(1.0, |measured| 0.3 * variance_of(&measured.values).max(1e-12));
        let groups = vec![(ranges, variance); self.structure.groups.len()];
        let theta = TypesTheta { groups, loads: self.structure.loads.clone(), noise };
        let sites = match before {
            Some(run) => {
                let own = self.layers_theta(&run.theta);
                self.sites_from(&level, |kind, places| {
                    self.f_at(&run.level, &own, (&run.kept.mean, &run.kept.spread), (kind, places))
                })?
            }
            None => self.flat_sites(&level),
        };
        Ok(Start { level, theta, sites, curvature: Curvature::default() })
    }

    fn shortest(&self, nodes: Option<&Vec<usize>>, length: f64) -> bool {
        let Some(nodes) = nodes else { return true };
        steps(nodes, &margin(&vec![length; nodes.len()])).iter().any(|step| length >= tuning::LATTICE.resolved * step)
    }

    fn scans(&self) -> bool {
        true
    }

    fn has_one_optimum(&self) -> bool {
        true
    }

    fn continued(&self, nodes: &Vec<usize>, before: &Run<Self>) -> Result<Start<Self>> {
        let level = self.level(nodes, self.margin_of(&before.theta))?;
        let own = self.layers_theta(&before.theta);
        let sites = self.sites_from(&level, |kind, places| {
            self.f_at(&before.level, &own, (&before.kept.mean, &before.kept.spread), (kind, places))
        })?;
        Ok(Start { level, theta: before.theta.clone(), sites, curvature: before.curvature.times(1.0) })
    }

    fn ladder(&self, nodes: &Vec<usize>) -> Vec<Vec<usize>> {
        vec![nodes.clone()]
    }

    fn next(&self, run: &Run<Self>, _: &Way<'_>) -> std::result::Result<Vec<usize>, String> {
        Err(format!(" nodes for {} fields", run.level.layers.count()))
    }

    fn enough(&self, _: &Run<Self>, _: &Vec<usize>, _: f64) -> Result<Option<String>> {
        Ok(None)
    }

    fn free(&self) -> usize {
        self.layout.free()
    }

    fn ratios(&self) -> Vec<usize> {
        vec![]
    }

    fn member(
        &self,
        level: &TypesLevel,
        theta: &TypesTheta,
        sites: &Sites,
        kept: LayersOptimum,
    ) -> Result<TypesMember> {
        let layers = self.layers_theta(theta);
        let said = level.said(theta.noise);
        let bound = kept.bound;
        let (optimum, sites) = level.layers.to_next_order(said, &layers, kept, sites.clone())?;
        let said = level.layers.precision_of_sites(said, &layers, &sites);
        let LayersOptimum { mean, spread, .. } = optimum;
        Ok(TypesMember { theta: theta.clone(), layers, mean, spread, said, bound })
    }

    fn marginals(&self, level: &TypesLevel, member: &TypesMember, places: &Points) -> Result<Marginals> {
        let (types, hats) = (level.layers.types(), level.layers.grid().at(places)?);
        let mut all = Marginals::default();
        let mut add = |shares: &[f64]| {
            let rows = level.layers.taking(&hats, &member.layers, shares);
            let f = level.layers.moments(&rows, &member.mean, &member.spread);
            all.mean.extend(f.mean);
            all.variance.extend(f.variance);
        };
        // What is asked of types are their rates and how these differ.
        for kind in 0..types {
            add(&one_of(kind, types));
            let mut shares = one_of(kind, types);
            shares[(kind + 1) % types] -= 1.0;
            add(&shares);
        }
        Ok(all)
    }

    fn named(&self, theta: &TypesTheta) -> Vec<Named> {
        self.layout.named(&self.values(theta))
    }

    fn describe(&self, level: &TypesLevel) -> String {
        describe(&level.nodes)
    }

    fn describe_fineness(&self, nodes: &Vec<usize>) -> String {
        describe(nodes)
    }
}

/// One family: Θ and q on a coarse lattice, and, where it is worth it, on a finer one.
pub(crate) fn learn_types(kind: OnLayers<'_>, wanted: &TypesWanted, tally: &Tally<'_>) -> Result<FoundTypes> {
    let events = kind.seen.iter().map(|seen| seen.events.len()).sum();
    let mut search = Search::new(kind, tally, events);
    search.averages = wanted.average;
    search.loose = 0.0;
    let first = search.kind.first_nodes(wanted);
    let mut run = search.fit(Some(&first), None)?;
    let asked = search.kind.margin_of(&run.theta);
    if asked.iter().zip(&run.level.margin).any(|(asked, is)| asked - is > MARGIN_OFF) {
        let start = search.kind.continued(&first, &run)?;
        run = search.climb(start)?;
    }
    let list = match wanted.average {
        true => search.members(&run)?.list,
        false => {
            let kept = search.evaluate(&run.level, &run.theta, run.sites.clone(), (NEAR, 60), None)?;
            let member = search.kind.member(&run.level, &run.theta, &kept.sites, kept.kept)?;
            vec![(kept.value, member)]
        }
    };
    let loads = search.kind.structure.learned.iter();
    let learned = loads.map(|(_, _, name)| search.profile(&run, name)).collect::<Result<_>>()?;
    let converged = run.end != crate::infer::lbfgs::End::Evaluations;
    let priors = search.kind.layout.priors();
    let log_evidence = log_evidence(&list);
    let nodes = wanted.nodes.clone().unwrap_or_else(|| search.kind.showing(&run.theta, &first));
    let (layers, members) = match nodes == run.level.nodes {
        true => (run.level.layers, list),
        false => finer(&search, (&run.level, list), &nodes)?,
    };
    let structure = search.kind.structure;
    Ok(FoundTypes { structure, layers, members, log_evidence, converged, priors, learned })
}

/// The members that count, on a lattice with these nodes.
#[allow(clippy::type_complexity)] // a lattice, and members with their weights
fn finer(
    search: &Search<'_, '_, OnLayers<'_>>,
    (coarse, mut list): (&TypesLevel, Vec<(f64, TypesMember)>),
    nodes: &[usize],
) -> Result<(Layers, Vec<(f64, TypesMember)>)> {
    let kind = &search.kind;
    list.sort_by(|a, b| b.0.total_cmp(&a.0));
    let heaviest = list.first().map_or(0.0, |(weight, _)| *weight);
    list.retain(|(weight, _)| *weight > heaviest + UNHEARD.ln());
    list.truncate(MOST_MEMBERS);
    let Some((_, best)) = list.first() else { return Err(Error::NoEvents) };
    let level = kind.level(nodes, kind.margin_of(&best.theta))?;
    let look = |(_, member): &(f64, TypesMember)| -> Result<Look<TypesTheta>> {
        let f = |kind_of: usize, places: &Points| {
            kind.f_at(coarse, &member.layers, (&member.mean, &member.spread), (kind_of, places))
        };
        Ok(Look { theta: member.theta.clone(), sites: kind.sites_from(&level, f)?, by: None })
    };
    let looks = list.iter().map(look).collect::<Result<Vec<_>>>()?;
    let seen = search.evaluate_each(&level, &looks, (NEAR, tuning::LATTICE.most_steps))?;
    let mut members = vec![];
    for ((weight, coarse), (look, seen)) in list.iter().zip(looks.iter().zip(seen)) {
        let Ok((found, _)) = seen else { continue };
        // The prior of Θ and what the member stands for stay.
        let weight = weight + found.kept.bound - coarse.bound;
        members.push((weight, kind.member(&level, &look.theta, &found.sites, found.kept)?));
    }
    if members.is_empty() {
        return Err(Error::NotANumber { parameters: vec![] });
    }
    Ok((level.layers, members))
}

/// Families of types with so many of them.
pub(crate) fn families(types: usize) -> Vec<(&'static str, Structure)> {
    let own = |c: usize, first: usize, count: usize| -> Vec<f64> {
        (0..count).map(|l| f64::from(u8::from(l == c + first))).collect()
    };
    let both = (0..types).map(|c| {
        let mut loads = own(c, 1, types + 1);
        loads[0] = 1.0;
        loads
    });
    let structure = |groups: Vec<(&str, usize)>, loads: Vec<Vec<f64>>| Structure {
        groups: groups.into_iter().map(|(name, count)| (name.to_string(), count)).collect(),
        loads,
        learned: vec![],
        unit: false,
    };
    vec![
        ("shared and own", structure(vec![("shared", 1), ("own", types)], both.collect())),
        ("shared alone", structure(vec![("shared", 1)], vec![vec![1.0]; types])),
        ("own alone", structure(vec![("own", types)], (0..types).map(|c| own(c, 0, types)).collect())),
    ]
}
