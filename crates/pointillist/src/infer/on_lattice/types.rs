//! Types of events on one lattice as the search sees them: fields that they share and fields of their own (`field/layers/`).
//!
//! Families and hyper-parameters are found on a lattice that is coarse enough for many natural steps. Where that does not show the ranges that were
//! found, or more nodes are asked for, the Θ that count are looked at again on a finer one, each from what the coarser one knew.

use super::level::{margin, steps};
use super::ranges::{AxisBounds, Ranges};
use super::{LEAST_STEPS, LONGEST, MOST_STEPS};
use crate::covariates::Regressors;
use crate::data::points::Points;
use crate::error::{Error, Result};
use crate::field::lattice::{Grid, IntegralNodes, Smoothness, Theta, from_above};
use crate::field::layers::{Layers, LayersOptimum, LayersTheta, Observed, Set, VAGUE, one_of};
use crate::gaussian::bordered::BorderedSpread;
use crate::gaussian::step::{Clamp, Until};
use crate::gaussian::{Bordered, Diagonals, Sites};
use crate::infer::Prior;
use crate::infer::beliefs::{self, Isotropy};
use crate::infer::lbfgs::Curvature;
use crate::infer::members::{Members, log_evidence};
use crate::infer::profile::Profile;
use crate::infer::sampled::Sampled;
use crate::infer::search::{By, Found, Kind, Look, Named, Run, Search, Start, Way, describe};
use crate::infer::tally::Tally;
use crate::infer::theta::{Layout, Slot};
use crate::infer::tuning::{self, Tuning};
use crate::kernel::Affine;
use crate::terms::Marginals;
use crate::window::{Scaling, Window};
use std::f64::consts::LN_2;
use std::sync::Arc;

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
/// The longest range of a field of variance 1: of how little varies inside the window the loads would else be thought to say more than they do. One in thirteen is
/// believed to be longer.
const LONGEST_LATENT: f64 = 30.0;
/// The range of variances, as logarithms, and of loads.
const VARIANCES: (f64, f64) = (-14.0, 4.6);
const LOADS: (f64, f64) = (-8.0, 8.0);
/// The same of the logarithm of the first load of a field.
const FIRST_LOADS: (f64, f64) = (-4.0, 2.1);
/// Prior standard deviation of the first load of a field, and of others over it.
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
    /// Groups whose variance is 1: their scale is in the loads, and their sign is free.
    pub(crate) unit: bool,
    /// For each field with learned loads the type that has a positive one. It is learned by its logarithm, and the others over it: what the events leave
    /// open is above all how high all of them are, and that is skew.
    pub(crate) first: Vec<usize>,
}

/// A load that was learned: of a type on a field.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LearnedLoad {
    pub(crate) kind: usize,
    pub(crate) field: usize,
    /// Its median; where Θ was not sampled, its most probable value.
    pub(crate) value: f64,
    /// The ends of a 90 % interval.
    pub(crate) interval: Option<(f64, f64)>,
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
    /// Whether more is asked than its evidence.
    pub(crate) is_answer: bool,
    pub(crate) gain: f64,
    /// What covariates add to the logarithm of a rate, if there are any.
    pub(crate) regressors: Option<Arc<Regressors>>,
}

/// The data in unit coordinates, and one family.
pub(crate) struct OnLayers<'a> {
    seen: &'a [Seen],
    measured: Option<&'a Measured>,
    structure: Structure,
    smoothness: Smoothness,
    gain: f64,
    regressors: Option<Arc<Regressors>>,
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
    pub(crate) loads: Vec<LearnedLoad>,
    /// How many independent draws of Θ the intervals of loads are worth.
    pub(crate) effective: Option<f64>,
    /// The density of each slope of measurements, where it could be found.
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
        for (kind, field, name) in &structure.learned {
            let unit = Affine { scale: 1.0, shift: 0.0 };
            let priors = vec![Prior::Normal { mean: 0.0, sd: LOAD }];
            slots.push(match structure.first[*field] == *kind {
                true => Slot { priors, by_log: true, ..Slot::positive(name.clone(), unit, FIRST_LOADS) },
                false => Slot { scale: Some(1.0), priors, ..Slot::positive(name.clone(), unit, LOADS) },
            });
        }
        if let Some(measured) = measured {
            let spread = variance_of(&measured.values).max(1e-12);
            let unit = Affine { scale: 1.0, shift: 0.0 };
            let bounds = ((1e-6 * spread).ln(), (10.0 * spread).ln());
            let priors = vec![beliefs::deviation(3.0 * spread.sqrt())];
            slots.push(Slot { priors, by_log: true, ..Slot::positive("noise variance".into(), unit, bounds) });
        }
        let layout = Layout { slots, axes: window.axes().iter().map(|axis| axis.name.clone()).collect() };
        let TypesWanted { smoothness, gain, ref regressors, .. } = *wanted;
        Self { seen, measured, structure, smoothness, gain, regressors: regressors.clone(), layout, ranges }
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
        let layers = layers.with_regressors(self.regressors.clone());
        let (mut sets, mut places) = (vec![], vec![]);
        // Types mostly have one window, whose nodes take time where there are covariates.
        let of_first = layers.integral_nodes(window)?;
        for (kind, seen) in self.seen.iter().enumerate() {
            let IntegralNodes { hats: at, weights, points } = match seen.window == *window {
                true => of_first.clone(),
                false => layers.integral_nodes(&seen.window)?,
            };
            let events = vec![1.0; seen.events.len()];
            if !events.is_empty() {
                let hats = layers.at(&seen.events)?;
                sets.push(Set { kind, hats, weights: events, is_integral: false });
                places.push(seen.events.clone());
            }
            sets.push(Set { kind, hats: at, weights, is_integral: true });
            places.push(points);
        }
        let observed = match self.measured {
            None => None,
            Some(measured) => Some(Observed {
                kind: self.seen.len(),
                hats: layers.at(&measured.places)?,
                values: measured.values.clone(),
            }),
        };
        Ok(TypesLevel { layers, nodes: nodes.to_vec(), margin, sets, places, observed })
    }

    fn layout_on(&self, level: &TypesLevel) -> Layout {
        let (mut layout, steps) = (self.layout.clone(), steps(&level.nodes, &level.margin));
        let of_axis = |r: usize| {
            let least = LEAST_STEPS * steps[r];
            let longest = if self.structure.unit { LONGEST_LATENT } else { LONGEST };
            let most = longest.max(2.0 * least);
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
        values.extend(self.structure.learned.iter().map(|(c, l, _)| match self.structure.first[*l] {
            first if first == *c => theta.loads[*c][*l],
            first => theta.loads[*c][*l] / theta.loads[first][*l],
        }));
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
        let firsts = &self.structure.first;
        self.structure.learned.iter().zip(rest).for_each(|((c, l, _), value)| loads[*c][*l] = *value);
        for (c, l, _) in self.structure.learned.iter().filter(|(c, l, _)| firsts[*l] != *c) {
            loads[*c][*l] *= loads[firsts[*l]][*l];
        }
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

    fn bars(&self, level: &TypesLevel, optimum: &LayersOptimum, theta: &TypesTheta) -> Vec<f64> {
        let values = self.values(theta);
        let learned: Vec<(usize, usize)> = self.structure.learned.iter().map(|(c, l, _)| (*c, *l)).collect();
        let slopes = level.layers.slopes(&self.layers_theta(theta), level.said(theta.noise), optimum, &learned);
        let mut bars = vec![];
        let mut first = 0;
        for (_, count) in &self.structure.groups {
            let own = &slopes.fields[first..first + count];
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
        let by_slot = |(kind, field, _): &(usize, usize, String)| {
            let first = self.structure.first[*field];
            let of_first = theta.loads[first][*field];
            match first == *kind {
                // All loads of the field go with the first.
                true => {
                    (0..theta.loads.len()).map(|c| slopes.loads[c][*field] * theta.loads[c][*field]).sum::<f64>()
                        / of_first
                }
                false => slopes.loads[*kind][*field] * of_first,
            }
        };
        bars.extend(self.structure.learned.iter().map(by_slot));
        bars.extend(self.measured.map(|_| slopes.log_noise / theta.noise));
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

    /// The loads that were learned, with 90 % intervals where Θ was sampled.
    fn loads(&self, best: &TypesTheta, sampled: Option<&Sampled<TypesTheta>>) -> Vec<LearnedLoad> {
        let load = |(kind, field, _): &(usize, usize, String)| {
            let (kind, field) = (*kind, *field);
            let all = sampled.map(|sampled| sampled.of(|theta| theta.loads[kind][field]));
            let value = all.as_ref().map_or(best.loads[kind][field], |all| all.quantile(0.5));
            let interval = all.map(|all| (all.quantile(0.05), all.quantile(0.95)));
            LearnedLoad { kind, field, value, interval }
        };
        self.structure.learned.iter().map(load).collect()
    }

    /// What an f that is known says at the points of a level, as sites.
    fn sites_from(&self, level: &TypesLevel, f: impl Fn(&Set, &Points) -> Result<Marginals>) -> Result<Sites> {
        let mut sites = Sites::none();
        for (set, places) in level.sets.iter().zip(&level.places) {
            sites = sites.followed_by(Sites::of(set.potential(), &f(set, places)?));
        }
        Ok(sites)
    }

    /// f at the places of a set of another level under some q.
    fn f_at(
        &self,
        level: &TypesLevel,
        theta: &LayersTheta,
        (mean, spread): (&[f64], &BorderedSpread<Diagonals>),
        (set, places): (&Set, &Points),
    ) -> Result<Marginals> {
        // Where a covariate jumps a place has the values of the part of the window that it stands for.
        let hats = level.layers.grid().at(places)?.beside(set.hats.dense.clone());
        let rows = level.layers.taking(&hats, theta, &one_of(set.kind, level.layers.types()));
        Ok(level.layers.moments(&rows, mean, spread))
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
            Some((_, gradient)) => self.layout.gradient(&self.values(theta), &self.bars(level, &kept, theta), gradient),
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
                self.sites_from(&level, |set, places| {
                    self.f_at(&run.level, &own, (&run.kept.mean, &run.kept.spread), (set, places))
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
        let sites = self.sites_from(&level, |set, places| {
            self.f_at(&before.level, &own, (&before.kept.mean, &before.kept.spread), (set, places))
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
        let (types, hats) = (level.layers.types(), level.layers.at(places)?);
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
    let Members { list, left_out, .. } = match wanted.average {
        true => search.members(&run)?,
        false => {
            let kept = search.evaluate(&run.level, &run.theta, run.sites.clone(), (NEAR, 60), None)?;
            let member = search.kind.member(&run.level, &run.theta, &kept.sites, kept.kept)?;
            Members { list: vec![(kept.value, member)], ..Members::none(None) }
        }
    };
    // Slopes of measurements are told by a density along a ridge, loads of types by a sample.
    let slopes = search.kind.structure.learned.iter().filter(|_| search.kind.measured.is_some());
    let learned = slopes.map(|(_, _, name)| search.profile(&run, name)).collect::<Result<_>>()?;
    let converged = run.end != crate::infer::lbfgs::End::Evaluations;
    let priors = search.kind.layout.priors();
    // Each field whose sign is free has a mirror image, which nobody looked at.
    let mirrored = if search.kind.structure.unit { search.kind.structure.count() as f64 } else { 0.0 };
    let log_evidence = log_evidence(&list) + left_out + mirrored * LN_2;
    let has_loads = search.kind.structure.unit && wanted.average;
    let sampled = if has_loads { Some(search.sampled(&run)?) } else { None };
    let loads = search.kind.loads(&run.theta, sampled.as_ref());
    let effective = sampled.map(|sampled| sampled.effective);
    let nodes = wanted.nodes.clone().unwrap_or_else(|| search.kind.showing(&run.theta, &first));
    let (layers, members) = match nodes == run.level.nodes || !wanted.is_answer {
        true => (run.level.layers, list),
        false => finer(&search, (&run.level, list), &nodes)?,
    };
    let structure = search.kind.structure;
    Ok(FoundTypes { structure, layers, members, log_evidence, converged, priors, loads, effective, learned })
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
        let f = |set: &Set, places: &Points| {
            kind.f_at(coarse, &member.layers, (&member.mean, &member.spread), (set, places))
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
        first: vec![],
    };
    vec![
        ("shared and own", structure(vec![("shared", 1), ("own", types)], both.collect())),
        ("shared alone", structure(vec![("shared", 1)], vec![vec![1.0]; types])),
        ("own alone", structure(vec![("own", types)], (0..types).map(|c| own(c, 0, types)).collect())),
    ]
}

/// So many latent fields, of which each type has a share that is learned. Types are taken in an order: the first of them has a share of the first field alone,
/// the second of the first two, and so on, which leaves no two sets of loads that mean the same but for signs. `start` is where loads begin.
pub(crate) fn outputs(fields: usize, order: &[usize], start: &[Vec<f64>]) -> Structure {
    let mut loads = vec![vec![0.0; fields]; order.len()];
    let mut learned = vec![];
    for (place, kind) in order.iter().enumerate() {
        for field in 0..fields.min(place + 1) {
            loads[*kind][field] = start[*kind][field];
            learned.push((*kind, field, format!("load of type {} on field {}", kind + 1, field + 1)));
        }
    }
    let groups = (1..=fields).map(|field| (format!("field {field}"), 1)).collect();
    Structure { groups, loads, learned, unit: true, first: order[..fields].to_vec() }
}

/// Bins per axis in which types are compared for a start, on a line, in a plane and in space.
const BINS: [usize; 3] = [12, 5, 3];
/// The least variance that a field is thought to add to a type, and the largest load, at a start.
const LEAST_START: f64 = 0.05;
const MOST_START: f64 = 2.0;

/// Where the loads of so many fields may begin: the numbers of events in bins, over what an even rate would have, vary together as rates do.
pub(crate) fn starting_loads(seen: &[Seen], order: &[usize], fields: usize) -> Result<Vec<Vec<f64>>> {
    let covariance = covariance_of_bins(seen)?;
    let mut loads = vec![vec![0.0; fields]; seen.len()];
    for field in 0..fields {
        let pivot = order[field];
        let left = |a: usize, b: usize, loads: &[Vec<f64>]| {
            covariance[a][b] - (0..field).map(|l| loads[a][l] * loads[b][l]).sum::<f64>()
        };
        let root = left(pivot, pivot, &loads).max(LEAST_START).sqrt().min(MOST_START);
        for kind in &order[field..] {
            loads[*kind][field] = (left(*kind, pivot, &loads) / root).clamp(-MOST_START, MOST_START);
        }
        loads[pivot][field] = root;
    }
    Ok(loads)
}

/// The covariance of relative rates, by counts in bins, without what counts vary by themselves.
fn covariance_of_bins(seen: &[Seen]) -> Result<Vec<Vec<f64>>> {
    let window = &seen[0].window;
    let dims = window.dims();
    let bins = BINS[dims - 1];
    let bin =
        |row: &[f64]| row.iter().fold(0, |place, x| place * bins + ((x * bins as f64).max(0.0) as usize).min(bins - 1));
    let grid = Grid::around(window, &vec![4 * bins + 1; dims], &vec![0.0; dims])?;
    let (places, weights) = from_above(&grid, window)?;
    let mut measure = vec![0.0; bins.pow(dims as u32)];
    places.rows().zip(&weights).for_each(|(row, weight)| measure[bin(row)] += weight);
    let total: f64 = measure.iter().sum();
    let off = |seen: &Seen| -> Vec<f64> {
        let mut counts = vec![0.0; measure.len()];
        seen.events.rows().for_each(|row| counts[bin(row)] += 1.0);
        let rate = (seen.events.len() as f64).max(HALF) / total;
        counts.iter().zip(&measure).map(|(count, e)| if *e > 0.0 { count / (rate * e) - 1.0 } else { 0.0 }).collect()
    };
    let off: Vec<Vec<f64>> = seen.iter().map(off).collect();
    let entry = |a: usize, b: usize| {
        let sum = (0..measure.len()).map(|k| measure[k] / total * off[a][k] * off[b][k]).sum::<f64>();
        let own = measure.len() as f64 / (seen[a].events.len() as f64).max(HALF);
        sum - if a == b { own } else { 0.0 }
    };
    Ok((0..seen.len()).map(|a| (0..seen.len()).map(|b| entry(a, b)).collect()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two_types() -> Vec<Seen> {
        let window = Window::interval(0.0, 1.0).unwrap();
        let seen = |times: &[f64]| Seen { window: window.clone(), events: Points::line(times).unwrap() };
        vec![seen(&[0.1, 0.12, 0.15, 0.2, 0.22, 0.3, 0.5, 0.9]), seen(&[0.3, 0.55, 0.7, 0.72, 0.8, 0.95])]
    }

    /// The gradient by the search's coordinates, of which the loads over the first one are some, against differences.
    #[test]
    fn the_gradient_by_loads_is_that_of_the_objective() {
        let seen = two_types();
        let structure = outputs(2, &[0, 1], &[vec![0.7, 0.0], vec![-0.4, 0.5]]);
        let smoothness = Smoothness::Two;
        let wanted =
            TypesWanted { nodes: None, smoothness, average: true, is_answer: true, gain: 1e-3, regressors: None };
        let window = Window::interval(0.0, 1.0).unwrap();
        let kind = OnLayers::new((&seen, None), structure, &wanted, &Scaling::of(&window), &window);
        let start = kind.start(Some(&vec![16]), 0.4, None).unwrap();
        let (x, _) = kind.pack(&start.level, &start.theta);
        assert_eq!(x.len(), 5);
        let value = |x: &[f64], gradient: &mut [f64]| {
            let theta = kind.unpack(&start.level, x, &start.theta);
            let until =
                Until { tolerance: 1e-12, most: 300, clamp: Clamp::UntilSettled, foresees: false, pulse: &|| Ok(()) };
            kind.evaluate(&start.level, &theta, start.sites.clone(), until, Some((x, gradient))).unwrap().value
        };
        let (mut gradient, mut unused) = (vec![0.0; 5], vec![0.0; 5]);
        value(&x, &mut gradient);
        for i in 0..5 {
            let mut at = |by: f64| {
                let mut moved = x.clone();
                moved[i] += by;
                value(&moved, &mut unused)
            };
            let slope = (at(1e-4) - at(-1e-4)) / 2e-4;
            assert!((gradient[i] - slope).abs() < 1e-4 * (1.0 + slope.abs()), "{i}: {} {slope}", gradient[i]);
        }
    }

    /// Types that rise where others fall begin with loads of different signs.
    #[test]
    fn starting_loads_have_the_signs_of_what_varies_together() {
        let loads = starting_loads(&two_types(), &[0, 1], 1).unwrap();
        assert!(loads[0][0] > 0.0 && loads[1][0] < 0.0, "{loads:?}");
    }
}
