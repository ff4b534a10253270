//! A lattice as the search sees it: which lattices there are, and what a Θ is worth on one.
//!
//! `level.rs` (a lattice with the events on it), `source.rs` (what stands for the events), `learn.rs` (what is asked, what comes of it).

pub(crate) mod learn;
mod level;
pub(crate) mod ranges;
mod source;
pub(crate) mod types;
mod varying;

use super::at_bound::Bounded;
use super::beliefs::{self, MOST_SCALE, RANGE};
use super::lbfgs::Curvature;
use super::members::{self, MANY_EVENTS};
use super::search::{By, Found, Kind, Named, Run, Start, Way, describe};
use super::theta::{Layout, Slot, variances};
use super::tuning::{self, Tuning};
use super::{AtBound, Budget};
use crate::data::points::Points;
use crate::error::Result;
use crate::field::lattice::size::{bytes, bytes_of_places, describe_bytes, grown, ladder, seconds};
use crate::field::lattice::{Lattice, Optimum, PANELS, Smoothness, Theta, excess, is_large};
use crate::gaussian::step::{Clamp, Until};
use crate::gaussian::{Bordered, Diagonals, Sites};
use crate::kernel::Affine;
use crate::terms::{Link, LinkStart, Marginals};
use crate::window::{Scaling, Window};
use learn::Wanted;
use level::{Level, margin, steps};
use ranges::{AxisBounds, RangeSlot, Ranges};
use source::{Detail, Source, Spacing};
use std::sync::atomic::{AtomicBool, Ordering};

/// Nodes on each axis with which `auto` starts, in one, two and three dimensions.
const AUTO_FIRST: [usize; 3] = [128, 24, 8];
/// Fewest, however coordinates are rounded.
const AUTO_LEAST: usize = 8;
/// How many times as many nodes it tries next. In space a fit costs M^7/3.
const AUTO_TIMES: [f64; 3] = [4.0, 4.0, 3.4];
/// Where those are too many, so many times as many, if …
const AUTO_FEWER: [f64; 3] = [2.8, 2.0, 1.5];
/// … the last refinement gained this many nats per event.
const AUTO_MUCH: f64 = 0.01;
/// Where even those are too many, with many events so many times as many, which may take so many times as long as another lattice, unless another
/// family is out of reach.
const AUTO_LAST: (f64, f64) = (1.3, 1.75);
/// A family is not refined further that is so many nats, and so many more per event, behind another on a lattice that is at most so many times
/// as fine.
const OUT_OF_REACH: f64 = 12.0;
const OUT_OF_REACH_PER_EVENT: f64 = 5e-3;
const LITTLE_FINER: f64 = 1.3;
/// On the way to a lattice that is asked for, where it is behind by more than this part of what the other gained on finer lattices than the present one.
const CATCHES_UP: f64 = 0.5;
/// `auto` stops where it would need more nodes per event than this, …
const AUTO_PER_EVENT: usize = 50;
/// … or than this, on a line, in a plane and in space, after a refinement that gained so much, …
const AUTO_PER_EVENT_AFTER_MUCH: [usize; 3] = [200, 50, 50];
/// … or more work than this many seconds of natural steps for few events, and for many, …
const AUTO_SECONDS: [f64; 2] = [0.55, 60.0];
/// … where there are at least so many events per second …
const EVENTS_PER_SECOND: f64 = 2_250.0;
/// … a lattice needing about so many steps.
const STEPS_PER_LATTICE: f64 = 25.0;
/// A lattice hardly resolves a range of fewer steps than this.
const ROUGH: f64 = 8.0;
/// Steps inside each part of a window on a line: fewer show only its mean.
const STEPS_PER_PART: f64 = 8.0;
/// Seconds per event and natural step.
const EVENT_SECONDS: f64 = 1e-7;
/// The range, at least in steps of the lattice: below, f is noise on its nodes …
const LEAST_STEPS: f64 = 1.75;
/// … in sides of the window at least …
const SHORTEST: f64 = 1e-5;
/// … at most in sides of the window …
const LONGEST: f64 = 4.0;
/// … and for α = 4 at most in steps: beyond, digits are lost.
const MOST_STEPS: f64 = 80.0;
/// So `auto` begins with fewer nodes for it, which show every range, …
const FIRST_FOR_FOUR: usize = 40;
/// … and refines as long as so many times the best range can be shown.
const ROOM: f64 = 3.0;
/// Below this part of the longest range, it is digits that end the search.
const SHORT_OF_LONGEST: f64 = 0.98;
/// On a large lattice the integral has fewer places, where they make it too high by less than this part of it.
const MOST_EXCESS: f64 = 1e-6;

/// The posterior at one Θ.
pub(crate) struct Member {
    pub(crate) theta: Theta,
    pub(crate) optimum: Optimum,
    /// What the sites add to the precision of the unknowns.
    pub(crate) said: Bordered<Diagonals>,
}

/// The data in unit coordinates, and the model's words on the lattice.
pub(super) struct OnLattice<'a> {
    source: Source<'a>,
    window: &'a Window,
    wanted: &'a Wanted,
    link: Link,
    /// The prior standard deviation of the constant, if that is an unknown.
    constant: Option<f64>,
    /// Number of events, and their mean rate.
    events: usize,
    rate: f64,
    /// Number of their places, where they are known.
    distinct: usize,
    /// Θ with its priors and what is held; the bounds of the ranges are those of a level.
    layout: Layout,
    /// How the ranges along the axes come from its first slots.
    ranges: Ranges,
    /// How far apart nodes must be on each axis.
    finest: Vec<f64>,
    /// Whether the present lattice only leads to a finer one.
    on_the_way: bool,
    /// Whether a finer lattice might show what this one does not: it was not tried, and events are there to show it.
    more_would_show: AtomicBool,
}

impl<'a> OnLattice<'a> {
    #[cfg(test)]
    pub(super) fn new(source: Source<'a>, window: &'a Window, wanted: &'a Wanted, scaling: &Scaling) -> Result<Self> {
        Self::with_spacing((source, source.spacing()), window, wanted, scaling)
    }

    /// The same where the spacing of the events is known.
    fn with_spacing(
        (source, spacing): (Source<'a>, Spacing),
        window: &'a Window,
        wanted: &'a Wanted,
        scaling: &Scaling,
    ) -> Result<Self> {
        let events = source.events();
        let rate = events as f64 / window.measure();
        let LinkStart { flat, vague, .. } = wanted.link.formula().start(rate);
        let ranges = Ranges::new(window, scaling, wanted.isotropy);
        let mut layout = layout(window, scaling, (wanted, &ranges), rate);
        for (name, prior) in &wanted.priors {
            for_named(&mut layout, name, |slot| slot.priors.push(*prior))?;
        }
        for (name, value) in &wanted.fixed {
            for_named(&mut layout, name, |slot| slot.fixed = Some(slot.unit.inward(*value)))?;
        }
        layout.refuse_held_with_prior()?;
        let mean = ranges.len() + 1;
        if wanted.penalise {
            believe(&mut layout, scaling, (wanted, &ranges), rate);
        }
        let is_averaged = |slot: &&mut Slot| (wanted.average || wanted.penalise) && slot.scale.is_none();
        layout.slots.iter_mut().filter(is_averaged).for_each(|slot| slot.by_log = true);
        check_held(&layout, &wanted.fixed)?;
        refuse_flat(&layout)?;
        refuse_short(&layout)?;
        let has_prior = !layout.slots[mean].priors.is_empty();
        if wanted.integrates_constant && has_prior {
            let requirement = "has no say where the constant is integrated over, about the level of the mean rate; leave it out, or learn the constant";
            return Err(crate::Error::setting("prior", "mean", requirement));
        }
        let constant = wanted.integrates_constant.then(|| {
            // A vague prior about the level of the mean rate.
            let mean = &mut layout.slots[mean];
            mean.fixed = mean.fixed.or(Some(wanted.sign() * flat));
            vague
        });
        Ok(Self {
            constant,
            source,
            window,
            wanted,
            link: wanted.link,
            events,
            rate,
            distinct: spacing.distinct,
            layout,
            ranges,
            finest: spacing.finest,
            on_the_way: false,
            more_would_show: AtomicBool::new(false),
        })
    }

    /// The f of a flat intensity.
    fn flat(&self) -> f64 {
        self.wanted.sign() * self.link.formula().start(self.rate).flat
    }

    /// Panels of the integral in each cell: on a large lattice fewer, where that makes hardly a difference at the Θ that is known, or memory is short.
    fn panels(&self, (nodes, steps): (&[usize], &[f64]), before: Option<&Run<Self>>) -> usize {
        let usual = PANELS[nodes.len() - 1];
        let Some(before) = before.filter(|_| is_large(nodes)) else { return usual };
        let has_room =
            bytes(nodes, self.wanted.smoothness) + bytes_of_places(nodes, usual) < self.wanted.most_bytes as f64;
        let is_rough = excess(&before.theta, self.wanted.smoothness, steps) > MOST_EXCESS;
        if is_rough && has_room { usual } else { 1 }
    }

    /// A lattice with about so many nodes and this margin around the window.
    fn level(&self, nodes: &[usize], margin: Vec<f64>, before: Option<&Run<Self>>) -> Result<Level> {
        let detail = match self.wanted.exact {
            true => Detail::Events,
            false if before.is_none() || self.on_the_way => Detail::Bins,
            false => Detail::Nodes,
        };
        self.level_as(nodes, margin, detail, before)
    }

    fn level_as(&self, nodes: &[usize], margin: Vec<f64>, detail: Detail, before: Option<&Run<Self>>) -> Result<Level> {
        let (nodes, margin) = self.source.placed(nodes, margin);
        let panels = self.panels((&nodes, &steps(&nodes, &margin)), before);
        let before = before.map(|run| (&run.level, &run.kept));
        let lattice = Lattice::new(self.window, &nodes, &margin, self.wanted.smoothness)?;
        let lattice = lattice.for_steps().with_constant(self.constant).with_regressors(self.wanted.regressors.clone());
        Level::new((lattice, margin), (self.window, panels), self.link.formula(), self.source, detail, before)
    }

    /// What was found on one lattice as a start on another with this margin.
    fn continued_with(&self, nodes: &[usize], margin: Vec<f64>, before: &Run<Self>) -> Result<Start<Self>> {
        let level = self.level(nodes, margin, Some(before))?;
        let sites = level.sites_from(&before.level, (&before.kept, &before.sites), self.source)?;
        let curvature = before.curvature.times(more_curved(&level, before));
        Ok(Start { level, theta: before.theta.clone(), sites, curvature })
    }

    /// The layout of Θ on a level.
    fn layout_on(&self, level: &Level) -> Layout {
        let (mut layout, steps) = (self.layout.clone(), level.steps());
        let bounds = self.ranges.bounds(|r| self.axis_bounds(steps[r]));
        for (slot, bounds) in layout.slots.iter_mut().zip(bounds) {
            slot.bounds = bounds.unwrap_or(slot.bounds);
        }
        layout
    }

    /// The ranges that an axis with this step can have.
    fn axis_bounds(&self, step: f64) -> AxisBounds {
        AxisBounds {
            least: LEAST_STEPS * step,
            most: LONGEST.max(2.0 * LEAST_STEPS * step),
            digits: self.longest(step),
        }
    }

    /// The inner values of the slots of Θ.
    fn values(&self, theta: &Theta) -> Vec<f64> {
        let mut values = self.ranges.to_slots(&theta.ranges());
        values.extend([theta.variance, theta.mean]);
        let knots = self.layout.slots.len() - values.len();
        values.extend((0..knots).map(|k| theta.scale.get(k).copied().unwrap_or(1.0)));
        values
    }

    fn of_values(&self, values: &[f64]) -> Theta {
        let count = self.ranges.len();
        let even = Theta::of_ranges(&self.ranges.of_slots(&values[..count]), values[count], values[count + 1]);
        Theta { scale: values[count + 2..].to_vec(), ..even }
    }

    /// The gradient of the bound by the inner values of the slots.
    fn bars(&self, optimum: &Optimum, theta: &Theta) -> Vec<f64> {
        let values = self.values(theta);
        let by_log = self.ranges.slopes(&by_log_ranges(optimum));
        let mut bars: Vec<f64> = by_log.iter().zip(&values).map(|(slope, value)| slope / value).collect();
        let slopes = optimum.slopes();
        bars.extend([slopes.log_variance / theta.variance, slopes.mean]);
        bars.extend(slopes.log_scale.iter().zip(&theta.scale).map(|(slope, scale)| slope / scale));
        bars
    }

    /// Θ with whatever is held.
    fn held(&self, theta: &Theta) -> Theta {
        let mut values = self.values(theta);
        let slots = self.layout.slots.iter().zip(&mut values);
        slots.filter_map(|(slot, value)| Some((slot.fixed?, value))).for_each(|(held, value)| *value = held);
        self.of_values(&values)
    }

    /// The range along each axis, if it is held.
    fn held_ranges(&self) -> Vec<Option<f64>> {
        let slots = &self.layout.slots[..self.ranges.len()];
        let held: Vec<f64> = slots.iter().map(|slot| slot.fixed.unwrap_or(f64::NAN)).collect();
        self.ranges.of_slots(&held).into_iter().map(|range| range.is_finite().then_some(range)).collect()
    }

    /// Whether a range is held that is longer than a lattice with these steps can have in so many digits.
    fn is_too_fine(&self, steps: &[f64]) -> bool {
        let held = self.held_ranges();
        held.iter().zip(steps).any(|(held, step)| held.is_some_and(|range| range > (1.0 + 1e-9) * self.longest(*step)))
    }

    /// The longest range on a lattice with this step.
    fn longest(&self, step: f64) -> f64 {
        let longest = match self.wanted.smoothness {
            Smoothness::One | Smoothness::Two => LONGEST,
            Smoothness::Four => LONGEST.min(MOST_STEPS * step),
        };
        longest.max(2.0 * LEAST_STEPS * step)
    }

    /// The steps of a lattice with so many nodes, the margin being that of the ranges that are held.
    fn steps_asked(&self, nodes: &[usize]) -> Vec<f64> {
        let held: Vec<f64> = self.held_ranges().into_iter().map(|held| held.unwrap_or(0.0)).collect();
        steps(nodes, &margin(&held))
    }

    /// Whether a range is held that a lattice with these steps cannot show.
    fn is_too_coarse(&self, steps: &[f64]) -> bool {
        let held = self.held_ranges();
        held.iter().zip(steps).any(|(held, step)| held.is_some_and(|range| range < LEAST_STEPS * step))
    }

    /// Whether a window on a line has parts so far from each other that a lattice with these steps hardly sees inside one.
    fn is_blind_inside_parts(&self, steps: &[f64]) -> bool {
        // Pieces that touch, as where clocks were set back, are one part.
        let parts = if steps.len() == 1 { self.window.stretches() } else { vec![] };
        parts.len() > 1 && parts.iter().any(|(lo, hi)| hi - lo < STEPS_PER_PART * steps[0])
    }

    /// Whether a finer lattice could show something: there are events enough for more nodes, and their places are not rounded.
    fn is_short_of_nodes(&self, level: &Level) -> bool {
        let nodes = &level.nodes;
        let twice: Vec<usize> = nodes.iter().map(|n| n.saturating_mul(2)).collect();
        let is_rounded = matches!(self.source, Source::Points(_)) && self.not_too_fine(&twice, level) == *nodes;
        !is_rounded && self.too_many(&twice, AUTO_PER_EVENT).is_none()
    }

    /// A lattice with its nodes no nearer than coordinates are rounded, and no fewer than a level has.
    fn not_too_fine(&self, nodes: &[usize], level: &Level) -> Vec<usize> {
        (0..nodes.len()).map(|r| nodes[r].min(self.most_nodes(r, level.margin[r])).max(level.nodes[r])).collect()
    }

    /// A lattice no finer than digits allow at ranges some times as long as these, and no coarser than a level.
    fn within_digits(&self, nodes: &[usize], ranges: &[f64], level: &Level) -> Vec<usize> {
        if self.wanted.smoothness != Smoothness::Four {
            return nodes.to_vec();
        }
        let most = |(range, margin): (&f64, f64)| (MOST_STEPS * (1.0 + 2.0 * margin) / (ROOM * range)) as usize;
        let most = ranges.iter().zip(margin(ranges)).map(most);
        nodes.iter().zip(most).zip(&level.nodes).map(|((n, most), own)| (*n).min(most).max(*own)).collect()
    }

    /// The lattice with which `auto` starts.
    fn first_nodes(&self) -> Vec<usize> {
        let dims = self.window.dims();
        let usual = match self.wanted.smoothness {
            Smoothness::One | Smoothness::Two => AUTO_FIRST[dims - 1],
            Smoothness::Four => AUTO_FIRST[dims - 1].min(FIRST_FOR_FOUR),
        };
        (0..dims).map(|r| usual.min(self.most_nodes(r, 0.0)).max(AUTO_LEAST)).collect()
    }

    /// So many nodes along an axis with such a margin are no nearer than coordinates are rounded: any number if they are not.
    fn most_nodes(&self, r: usize, margin: f64) -> usize {
        ((1.0 + 2.0 * margin) / self.finest[r] + 1.0) as usize
    }

    /// Why a lattice is more than `auto` uses, having come so far, if it may take so many times as long as usual and have so many nodes per event.
    fn too_much(&self, nodes: &[usize], (way, times): (&Way<'_>, f64), per_event: usize) -> Option<String> {
        let (needed, most) = (self.wanted.bytes(nodes), self.wanted.most_bytes as f64);
        if needed > most {
            let (needed, most) = (describe_bytes(needed), describe_bytes(most));
            return Some(format!("would need {needed} of memory, and {most} may be used"));
        }
        let too_dear = match self.wanted.budget {
            Budget::Usual => {
                let step = self.step_seconds(nodes, self.events);
                let is_dear = STEPS_PER_LATTICE * step > times * self.most_seconds(nodes.len());
                is_dear.then(|| format!("are more work than auto takes on for {} events", self.events))
            }
            Budget::Seconds(most) => {
                let needed = self.foreseen(nodes, way.steps);
                (way.work + needed > most).then(|| {
                    format!("need about {} more, and the budget has not so much left", describe_seconds(needed))
                })
            }
            Budget::Unlimited => None,
        };
        too_dear.or_else(|| self.too_many(nodes, per_event))
    }

    /// The seconds that a lattice is foreseen to take after one that took so many steps, with an average over Θ if one is asked for.
    fn foreseen(&self, nodes: &[usize], steps: f64) -> f64 {
        let members = if self.wanted.average { members::steps(self.free(), self.events) } else { 0.0 };
        (STEPS_PER_LATTICE.max(steps) + members) * self.step_seconds(nodes, self.events)
    }

    /// The seconds that `auto` takes for a lattice.
    fn most_seconds(&self, dims: usize) -> f64 {
        // In space there are more of them.
        let share = if dims == 3 { 0.6 } else { 1.0 };
        share * (self.events as f64 / EVENTS_PER_SECOND).clamp(AUTO_SECONDS[0], AUTO_SECONDS[1])
    }

    /// Whether there are far more nodes than events.
    fn too_many(&self, nodes: &[usize], per_event: usize) -> Option<String> {
        let size = nodes.iter().fold(1usize, |n, &axis| n.saturating_mul(axis));
        let too_many = size > per_event.saturating_mul(self.distinct);
        too_many.then(|| format!("are more than {per_event} per event, which is where auto stops"))
    }

    fn step_seconds(&self, nodes: &[usize], events: usize) -> f64 {
        seconds(nodes, self.wanted.smoothness) + EVENT_SECONDS * events as f64
    }

    /// The lattice that `auto` tries after a level with these ranges, or why none.
    fn finer(&self, run: &Run<Self>, way: &Way<'_>) -> std::result::Result<Vec<usize>, String> {
        let (level, ranges) = (&run.level, &run.theta.ranges());
        let lengths: Vec<f64> = ranges.iter().zip(margin(ranges)).map(|(r, m)| (1.0 + 2.0 * m) / r).collect();
        let grown = |times: f64| {
            let nodes = self.not_too_fine(&grown(&level.nodes, &lengths, times), level);
            self.within_digits(&nodes, ranges, level)
        };
        let next = grown(AUTO_TIMES[lengths.len() - 1]);
        if next == level.nodes {
            let is_rounded = self.not_too_fine(&next.iter().map(|n| 2 * n).collect::<Vec<_>>(), level) == level.nodes;
            let digits = "more of them leave too few digits for so long a range";
            return Err(if is_rounded { self.source.why_no_finer().into() } else { digits.into() });
        }
        let pays = way.gain.is_finite() && way.gain > AUTO_MUCH * self.events as f64;
        let per_event = if pays || self.is_blind_inside_parts(&level.steps()) {
            AUTO_PER_EVENT_AFTER_MUCH[next.len() - 1]
        } else {
            AUTO_PER_EVENT
        };
        let Some(why) = self.too_much(&next, (way, 1.0), per_event) else { return Ok(next) };
        let best = self.wanted.rival.as_ref().map(|rival| rival.best);
        let is_near = best.is_none_or(|best| !self.is_out_of_reach(run, best));
        let last = (self.events > MANY_EVENTS && is_near).then_some(AUTO_LAST);
        let fewer = AUTO_FEWER.iter().map(|times| (*times, 1.0)).chain(last);
        let mut fewer = fewer.map(|(nodes, work)| (grown(nodes), work));
        let fitting = fewer
            .find(|(nodes, times)| pays && self.too_much(nodes, (way, *times), per_event).is_none())
            .map(|(nodes, _)| nodes);
        fitting.ok_or_else(|| format!("{} {why}{}", describe(&next), might_gain(way)))
    }

    /// Whether another family had a bound on lattices no finer than this that is out of reach. With each refinement the distance shrinks by less than with the one
    /// before, if it shrinks at all.
    fn is_left_behind(&self, run: &Run<Self>, way: &Way<'_>) -> bool {
        let Some(rival) = &self.wanted.rival else { return false };
        let behind: Vec<f64> =
            way.levels.iter().rev().take(2).map(|(size, bound)| rival.best_at(*size) - bound).collect();
        let stays_behind = behind.windows(2).any(|pair| {
            let [now, before] = [pair[0], pair[1]];
            before.is_finite() && now - (before - now).max(0.0) > OUT_OF_REACH
        });
        stays_behind || self.is_out_of_reach(run, rival.best_at(self.size(&run.level)))
    }

    fn is_out_of_reach(&self, run: &Run<Self>, bound: f64) -> bool {
        let behind = bound - self.worth(run).unwrap_or(f64::INFINITY);
        behind > OUT_OF_REACH + OUT_OF_REACH_PER_EVENT * self.events as f64
    }

    fn at_bounds(&self, level: &Level, theta: &Theta) -> Vec<AtBound> {
        let unresolved = self.more_would_show.load(Ordering::Relaxed);
        // as the summary has it: half the range
        let length = |range: f64| Bounded::Length { axis: String::new(), sides: range / RANGE, unresolved };
        let mut at_bounds = self.layout_on(level).at_bounds(&self.values(theta), length);
        for at in at_bounds.iter_mut().filter(|at| at.end == super::RangeEnd::Highest) {
            if let Bounded::Length { sides, unresolved, .. } = &mut at.what {
                *unresolved = *sides * RANGE < SHORT_OF_LONGEST * LONGEST;
            }
        }
        let matters = |at: &AtBound| match at.what {
            // With ratios a length common to several axes is that of none of them.
            Bounded::Length { .. } => at.end == super::RangeEnd::Lowest || self.ratios().is_empty(),
            Bounded::Variance { .. } => at.end == super::RangeEnd::Lowest,
            Bounded::Other => false,
        };
        at_bounds.into_iter().filter(matters).collect()
    }
}

/// What a lattice that is not tried might gain: refinements gain ever less, in about the same proportion.
fn might_gain(way: &Way<'_>) -> String {
    let last: Vec<f64> = way.levels.windows(2).rev().take(2).map(|pair| pair[1].1 - pair[0].1).collect();
    match last[..] {
        [last, before] if last > 0.0 => format!("; they might gain {:.0} nats", last * (last / before).clamp(0.0, 1.0)),
        _ => String::new(),
    }
}

/// `40 s`, or `3 min`.
fn describe_seconds(seconds: f64) -> String {
    if seconds < 100.0 { format!("{:.0} s", seconds.max(1.0)) } else { format!("{:.0} min", seconds / 60.0) }
}

/// Θ as slots: the ranges, the variance, the prior mean.
fn layout(window: &Window, scaling: &Scaling, (wanted, ranges): (&Wanted, &Ranges), rate: f64) -> Layout {
    let mut slots = ranges.slots(window, scaling);
    let link = wanted.link.formula();
    let (range, (scale, shift)) = (link.range(rate, window.measure()), link.outward(scaling.volume()));
    slots.push(Slot::positive("variance".into(), Affine { scale: scale * scale, shift: 0.0 }, variances(&range, 1)));
    slots.push(Slot::mean(Affine { scale, shift }, &range));
    let knots = if wanted.varies { varying::knots(window.dims()) } else { 0 };
    slots.extend((0..knots).map(|k| {
        let unit = Affine { scale: 1.0, shift: 0.0 };
        Slot::positive(format!("scale[{k}]"), unit, (-MOST_SCALE, MOST_SCALE)).with_prior(beliefs::scale())
    }));
    Layout { slots, axes: window.axes().iter().map(|axis| axis.name.clone()).collect() }
}

/// Priors where nothing is said. Under them a variance may be as small as it likes: the constant is an unknown of its own.
fn believe(layout: &mut Layout, scaling: &Scaling, (wanted, ranges): (&Wanted, &Ranges), rate: f64) {
    let prior = |kind: &RangeSlot| match kind {
        RangeSlot::Common(axes) => beliefs::length(axes, scaling),
        RangeSlot::Ratio(..) => beliefs::ratio(),
    };
    let most = wanted.link.formula().start(rate).vague * wanted.link.formula().outward(scaling.volume()).0;
    let mut priors: Vec<crate::Prior> = ranges.kinds.iter().map(prior).collect();
    priors.push(beliefs::deviation(most));
    for (slot, prior) in layout.slots.iter_mut().zip(priors) {
        if slot.priors.is_empty() && slot.fixed.is_none() {
            slot.priors.push(prior);
        }
        if matches!(prior, crate::Prior::Deviation { .. }) {
            slot.bounds.0 -= beliefs::SMALLER;
        }
    }
}

/// The slots called `name`: `lengthscale` means those of all axes, and an axis also has its number.
fn for_named(layout: &mut Layout, name: &str, change: impl FnMut(&mut Slot)) -> Result<()> {
    let meant =
        |_: usize, slot: &Slot| slot.axis.is_some_and(|r| name == "lengthscale" || name == format!("lengthscale[{r}]"));
    layout.for_named(name, meant, change)
}

/// What is held must be numbers that a field can have.
fn check_held(layout: &Layout, fixed: &[(String, f64)]) -> Result<()> {
    let is_bad =
        |slot: &&Slot| slot.scale.is_none() && slot.fixed.is_some_and(|held| !(held.is_finite() && held > 0.0));
    let bad_mean = |slot: &&Slot| slot.fixed.is_some_and(|held| !held.is_finite());
    match layout.slots.iter().find(|slot| is_bad(slot) || bad_mean(slot)) {
        Some(slot) => {
            let value =
                fixed.iter().map(|(_, value)| *value).find(|v| !(v.is_finite() && *v > 0.0)).unwrap_or(f64::NAN);
            let requirement =
                if slot.scale.is_none() { "must be a positive number" } else { "must be a finite number" };
            Err(crate::Error::setting(&slot.name, value, requirement))
        }
        None => Ok(()),
    }
}

/// A range that is held must not be so short that no lattice has nodes for it.
fn refuse_short(layout: &Layout) -> Result<()> {
    let is_short = |slot: &&Slot| slot.axis.is_some() && slot.fixed.is_some_and(|range| range < SHORTEST);
    let Some(slot) = layout.slots.iter().find(is_short) else { return Ok(()) };
    let (value, least) = (slot.unit.outward(slot.fixed.unwrap_or(f64::NAN)), slot.unit.outward(SHORTEST));
    Err(crate::Error::setting(&slot.name, value, format!("is too short for any lattice: at least {least:.4e}")))
}

/// A range that is held must not be so long that digits are lost: f would be flat, and its precision is nearly singular.
fn refuse_flat(layout: &Layout) -> Result<()> {
    let Some(slot) =
        layout.slots.iter().find(|slot| slot.axis.is_some() && slot.fixed.is_some_and(|range| range > LONGEST))
    else {
        return Ok(());
    };
    let (value, most) = (slot.unit.outward(slot.fixed.unwrap_or(f64::NAN)), slot.unit.outward(LONGEST));
    let requirement =
        format!("is longer than a lattice can show, at most {most:.4}; take inducing points for longer ones");
    Err(crate::Error::setting(&slot.name, value, requirement))
}

/// The gradient of the bound by the logarithms of the ranges. One of them moves the log of the common range by a share of itself, and all
/// stretches with it.
fn by_log_ranges(optimum: &Optimum) -> Vec<f64> {
    let slopes = optimum.slopes();
    let dims = slopes.log_stretch.len();
    let common = (slopes.log_range - 2.0 * slopes.log_stretch.iter().sum::<f64>()) / dims as f64;
    slopes.log_stretch.iter().map(|slope| common + 2.0 * slope).collect()
}

/// How many times as much a lattice determines Θ as the one before. If that one hardly resolved f, every node is news.
fn more_curved(level: &Level, before: &Run<OnLattice<'_>>) -> f64 {
    let is_rough = before.theta.ranges().iter().zip(before.level.steps()).any(|(range, step)| *range < ROUGH * step);
    let nodes = |level: &Level| level.lattice.grid().size() as f64;
    if is_rough { nodes(level) / nodes(&before.level) } else { 1.0 }
}

impl Kind for OnLattice<'_> {
    type Fineness = Vec<usize>;
    type Level = Level;
    type Theta = Theta;
    type Kept = Optimum;
    type Member = Member;

    fn window(&self) -> &Window {
        self.window
    }

    fn free(&self) -> usize {
        self.layout.free()
    }

    fn ratios(&self) -> Vec<usize> {
        let slots = self.layout.slots.iter().zip(&self.ranges.kinds).filter(|(slot, _)| slot.fixed.is_none());
        slots.enumerate().filter(|(_, (_, kind))| matches!(kind, RangeSlot::Ratio(..))).map(|(at, _)| at).collect()
    }

    fn rival(&self) -> f64 {
        self.wanted.rival.as_ref().map_or(f64::NEG_INFINITY, |rival| rival.best)
    }

    fn member(&self, level: &Level, theta: &Theta, sites: &Sites, kept: Optimum) -> Result<Member> {
        level.member(theta, sites.clone(), kept)
    }

    fn marginals(&self, level: &Level, member: &Member, places: &Points) -> Result<Marginals> {
        Ok(member.optimum.marginals(&level.lattice.at(places)?))
    }

    fn tuning(&self) -> &'static Tuning {
        &tuning::LATTICE
    }

    fn size(&self, level: &Level) -> usize {
        level.lattice.grid().size()
    }

    fn cost(&self, level: &Level) -> f64 {
        self.step_seconds(&level.nodes, level.len())
    }

    fn cost_of(&self, nodes: &Vec<usize>) -> f64 {
        self.step_seconds(nodes, self.events)
    }

    fn dearest(&self, cost: f64) -> f64 {
        match self.wanted.budget {
            Budget::Usual => self.most_seconds(self.window.dims()) / STEPS_PER_LATTICE,
            Budget::Seconds(most) => most / STEPS_PER_LATTICE,
            Budget::Unlimited => cost,
        }
    }

    fn dear(&self) -> f64 {
        self.wanted.dear
    }

    fn last_gain(&self, level: &Level) -> f64 {
        if self.cost(level) >= self.dear() {
            return self.wanted.gain.max(tuning::LATTICE.dear_gain);
        }
        let share = self.size(level) as f64 / tuning::LATTICE.large;
        self.wanted.gain.max(tuning::LATTICE.large_gain * share.min(1.0))
    }

    fn clamp(&self, level: &Level) -> Clamp {
        level.clamp()
    }

    fn pack(&self, level: &Level, theta: &Theta) -> (Vec<f64>, Vec<(f64, f64)>) {
        let layout = self.layout_on(level);
        (layout.pack(&self.values(theta)), layout.bounds())
    }

    fn unpack(&self, _: &Level, x: &[f64], base: &Theta) -> Theta {
        let mut values = self.values(base);
        self.layout.unpack(x, &mut values);
        self.of_values(&values)
    }

    fn evaluate(
        &self,
        level: &Level,
        theta: &Theta,
        sites: Sites,
        until: Until<'_>,
        by: By<'_>,
    ) -> Result<Found<Optimum>> {
        let mut kept = level.lattice.optimum(self.link.formula(), &level.said(), theta, sites, until)?;
        let log_prior = match by {
            Some((_, gradient)) => self.layout.gradient(&self.values(theta), &self.bars(&kept, theta), gradient),
            None => self.layout.log_prior(&self.values(theta)),
        };
        let sites = std::mem::replace(&mut kept.sites, Sites::none());
        Ok(Found { value: kept.bound + log_prior, sites, kept })
    }

    fn is_behind(&self, run: &Run<Self>, way: &Way<'_>) -> bool {
        let Some(rival) = &self.wanted.rival else { return false };
        let steps = run.level.steps();
        let there = rival.best_at(self.size(&run.level));
        // What finer lattices still gain may be more than that of the other, by a part of it.
        let may_gain = CATCHES_UP * (rival.best - there).max(0.0);
        let behind = there - way.levels.last().map_or(f64::INFINITY, |(_, bound)| *bound);
        behind > OUT_OF_REACH + may_gain && !self.is_too_coarse(&steps) && !self.is_blind_inside_parts(&steps)
    }

    fn copied(&self, kept: &Optimum) -> Option<Optimum> {
        Some(kept.clone())
    }

    fn flat_sites(&self, level: &Level) -> Sites {
        level.first_sites(self.flat())
    }

    fn start(&self, nodes: Option<&Vec<usize>>, length: f64, before: Option<&Run<Self>>) -> Result<Start<Self>> {
        let first = self.first_nodes();
        let nodes = nodes.unwrap_or(&first);
        // The margin of a range that is held is its own.
        let held: Vec<f64> = self.held_ranges().into_iter().map(|held| held.unwrap_or(length)).collect();
        let level = self.level(nodes, margin(&held), None)?;
        let resolved = |step: &f64| length.max(tuning::LATTICE.resolved * step);
        let ranges: Vec<f64> = level.steps().iter().map(resolved).collect();
        let LinkStart { mean, variance, .. } = self.link.formula().start(self.rate);
        let theta = self.held(&Theta::of_ranges(&ranges, variance, self.wanted.sign() * mean));
        let sites = match before {
            Some(run) => level.sites_from(&run.level, (&run.kept, &run.sites), self.source)?,
            None => self.flat_sites(&level),
        };
        Ok(Start { level, theta, sites, curvature: Curvature::default() })
    }

    fn shortest(&self, nodes: Option<&Vec<usize>>, length: f64) -> bool {
        let Some(nodes) = nodes else { return true };
        let margin = margin(&vec![length; nodes.len()]);
        steps(nodes, &margin).iter().any(|step| length >= tuning::LATTICE.resolved * step)
    }

    fn scans(&self) -> bool {
        self.layout.slots.iter().any(|slot| slot.axis.is_some() && slot.fixed.is_none())
    }

    fn continued(&self, nodes: &Vec<usize>, before: &Run<Self>) -> Result<Start<Self>> {
        self.continued_with(nodes, margin(&before.theta.ranges()), before)
    }

    fn folded(&self, start: &Start<Self>, before: &Run<Self>) -> Result<Option<Sites>> {
        match self.link.formula().is_even() {
            true => start.level.folded_from(&before.level, &before.kept, self.source),
            false => Ok(None),
        }
    }

    /// Where nodes in place of events lead nowhere, their negative weights can be at fault.
    fn safer(&self, level: Level) -> Result<Option<Level>> {
        let detail = match level.detail {
            Detail::Nodes => Detail::Bins,
            Detail::Bins => Detail::Events,
            Detail::Events => return Ok(None),
        };
        level.with_detail(self.source, detail).map(Some)
    }

    /// exp(f) is convex.
    fn has_one_optimum(&self) -> bool {
        !self.link.formula().is_even()
    }

    fn is_alike(&self, start: &Start<Self>, before: &Run<Self>) -> bool {
        let mut ranges = before.theta.ranges().into_iter().zip(before.level.steps());
        let is_seen_whole = |level: &Level| level.detail == Detail::Events || self.link.formula().is_linear();
        ranges.all(|(range, step)| range > ROUGH * step) && is_seen_whole(&before.level) && is_seen_whole(&start.level)
    }

    fn is_at_its_finest(&self, run: &Run<Self>) -> bool {
        let free = self.held_ranges().into_iter().map(|held| held.is_none());
        let ranges = run.theta.ranges().into_iter().zip(run.level.steps());
        free.zip(ranges).any(|(is_free, (range, step))| is_free && range < 1.2 * LEAST_STEPS * step)
    }

    fn leads_on(&mut self, on: bool) {
        self.on_the_way = on;
    }

    fn ladder(&self, nodes: &Vec<usize>) -> Vec<Vec<usize>> {
        ladder(nodes, tuning::LATTICE.direct[nodes.len() - 1])
    }

    fn next(&self, run: &Run<Self>, way: &Way<'_>) -> std::result::Result<Vec<usize>, String> {
        if self.is_left_behind(run, way) {
            return Err(" nodes: too far below another family to go on".into());
        }
        self.finer(run, way).map_err(|why| {
            self.more_would_show.store(self.is_short_of_nodes(&run.level), Ordering::Relaxed);
            format!(" nodes: {why}")
        })
    }

    /// The bound with the events themselves, at the q that was found.
    fn worth(&self, run: &Run<Self>) -> Result<f64> {
        Ok(run.value + run.level.left_out(&run.kept, self.source)?)
    }

    fn enough(&self, run: &Run<Self>, next: &Vec<usize>, gain: f64) -> Result<Option<String>> {
        let steps = run.level.steps();
        let is_coarse = self.is_too_coarse(&steps) || self.is_blind_inside_parts(&steps);
        let enough = gain < tuning::LATTICE.auto_gain && !is_coarse;
        Ok(enough.then(|| format!(" nodes: {} would gain {:.2} nats", describe(next), gain.max(0.0))))
    }

    fn named(&self, theta: &Theta) -> Vec<Named> {
        self.layout.named(&self.values(theta))
    }

    fn describe(&self, level: &Level) -> String {
        describe(&level.nodes)
    }

    fn describe_fineness(&self, nodes: &Vec<usize>) -> String {
        describe(nodes)
    }
}
