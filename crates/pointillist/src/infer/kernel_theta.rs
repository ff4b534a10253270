//! Θ of a kernel (and Z) as the slots of a [`Layout`].
//!
//! A slot stands for one parameter of the kernel, or for several that are tied: by a label, or because they are length-scales along axes that share
//! a unit, which may have a ratio in a slot of its own. The last one of the kernel's is followed by the prior mean. Inducing
//! locations go by the paper's sine change of variables, z = ½ + ½ sin ω in the unit box, which keeps them inside.

use super::at_bound::{AtBound, Bounded};
use super::beliefs::{self, Isotropy, MOST_RATIO, groups};
use super::prior::Prior;
use super::search::Named;
use super::theta::{Layout, Slot, variances, with_axis_name};
use crate::data::points::Points;
use crate::error::Result;
use crate::field::inducing::{Hyper, HyperBar};
use crate::kernel::{Affine, Expression, Factor, Kernel, Parameter, Part, Term, Unit};
use crate::terms::Link;
use crate::window::{Scaling, Span, Window};
use std::f64::consts::FRAC_PI_2;

/// A period is looked for within this factor of where it starts.
const PERIODS: f64 = 1.5;
/// Each further term with the same factor on the same axis starts with a length-scale this many times as long as the one before.
const SHORTER: f64 = 0.3;

/// What a slot stands for.
#[derive(Debug, Clone)]
enum Meaning {
    /// Parameters of the kernel, each with its inner value as a multiple of the slot's.
    Parameters(Vec<(usize, f64)>),
    /// The ratio, in the user's units, of one of the parameters of another slot (its place among these) to the first of them; the value of the
    /// other slot is then their geometric mean.
    Ratio { of: usize, second: usize },
    /// The prior mean.
    Mean,
}

/// The map between the parameters of a kernel (and inducing locations) and the optimiser's vector.
#[derive(Debug, Clone)]
pub(super) struct KernelLayout {
    layout: Layout,
    meanings: Vec<Meaning>,
    /// How starting length-scales apply to each slot: not at all, or this many times as long.
    scanned: Vec<Option<f64>>,
    /// The box inducing points move in, if they do.
    moving: Option<Vec<Span>>,
}

impl KernelLayout {
    /// For the parameters of `hyper`, asked for by `expression`, in the coordinates of `scaling`, with `window` and the mean rate
    /// there.
    pub(super) fn new(
        hyper: &Hyper,
        expression: &Expression,
        (window, scaling): (&Window, &Scaling),
        rate: f64,
        isotropy: Isotropy,
    ) -> Self {
        let (kernel, axes) = (&hyper.kernel, window.axes());
        let range = Link::Square.formula().range(rate, window.measure());
        let variance = variances(&range, kernel.terms.len());
        let (units, names, values) = (kernel.units(scaling), kernel.parameter_names(), kernel.parameters());
        let along = lengths_along(kernel);
        let alike = lengths_alike(kernel, &groups(window, scaling, isotropy));
        let (mut slots, mut meanings, mut scanned) = (Vec::<Slot>::new(), Vec::<Vec<(usize, f64)>>::new(), vec![]);
        let said = expression.parameters();
        let is_open = |i: usize| said[i].0.label.is_none() && said[i].0.value.is_none() && !said[i].0.held;
        for (i, (said, parameter)) in said.iter().enumerate() {
            let is_tied = |first: usize| alike[i].is_some() && alike[i] == alike[first] && is_open(i) && is_open(first);
            let shares = |(slot, members): (&Slot, &Vec<(usize, f64)>)| {
                (said.label.is_some() && slot.label == said.label) || is_tied(members[0].0)
            };
            if let Some(at) = slots.iter().zip(&meanings).position(shares) {
                meanings[at].push((i, slots[at].unit.scale / units[i].scale));
                if slots[at].fixed.is_none() && said.held {
                    slots[at].fixed = Some(values[meanings[at][0].0]);
                }
                continue;
            }
            let held = said.held || parameter.is_some_and(|p| !p.learned);
            let bounds = parameter.map_or(variance, |parameter| bounds(parameter, values[i], window.shortest_length()));
            slots.push(Slot {
                label: said.label.clone(),
                fixed: held.then_some(values[i]),
                axis: along[i],
                ..Slot::positive(with_axis_name(&names[i], axes), units[i], bounds)
            });
            meanings.push(vec![(i, 1.0)]);
            scanned.push(said.value.is_none().then(|| shortening(kernel, i)).flatten());
        }
        let names_of = |members: &Vec<(usize, f64)>| -> Vec<String> {
            members.iter().filter_map(|(i, _)| along[*i]).map(|r| axes[r].name_or_number(r)).collect()
        };
        for (slot, members) in
            slots.iter_mut().zip(&meanings).filter(|(slot, members)| slot.label.is_none() && members.len() > 1)
        {
            let base = slot.name.split('[').next().unwrap_or("lengthscale").to_string();
            let is_all = members.len() == window.dims();
            slot.name = if is_all { base } else { format!("{base}[{}]", names_of(members).join(",")) };
        }
        let mut meanings: Vec<Meaning> = meanings.into_iter().map(Meaning::Parameters).collect();
        if isotropy == Isotropy::Ratios {
            let ratios = Self::ratios_of(&slots, &meanings, &along, |r| axes[r].name_or_number(r));
            for (slot, meaning) in ratios {
                slots.push(slot);
                meanings.push(meaning);
                scanned.push(None);
            }
        }
        slots.push(Slot::mean(Affine { scale: 1.0 / scaling.volume().sqrt(), shift: 0.0 }, &range));
        meanings.push(Meaning::Mean);
        scanned.push(None);
        let axes = axes.iter().map(|axis| axis.name.clone()).collect();
        Self { layout: Layout { slots, axes }, meanings, scanned, moving: None }
    }

    /// A slot for each ratio of tied length-scales.
    fn ratios_of(
        slots: &[Slot],
        meanings: &[Meaning],
        along: &[Option<usize>],
        name: impl Fn(usize) -> String,
    ) -> Vec<(Slot, Meaning)> {
        let mut found = vec![];
        for (of, (slot, meaning)) in slots.iter().zip(meanings).enumerate() {
            let Meaning::Parameters(members) = meaning else { continue };
            let axes: Vec<usize> = members.iter().filter_map(|(i, _)| along[*i]).collect();
            if slot.label.is_some() || slot.fixed.is_some() || axes.len() < 2 {
                continue;
            }
            for (second, axis) in axes.iter().enumerate().skip(1) {
                let called = format!("ratio[{}/{}]", name(*axis), name(axes[0]));
                let unit = Affine { scale: 1.0, shift: 0.0 };
                let bounds = (-MOST_RATIO.ln(), MOST_RATIO.ln());
                found.push((Slot::positive(called, unit, bounds), Meaning::Ratio { of, second }));
            }
        }
        found
    }

    /// Where ratios of length-scales stand in the optimiser's vector.
    pub(super) fn ratios(&self) -> Vec<usize> {
        let free = self.layout.slots.iter().zip(&self.meanings).filter(|(slot, _)| slot.fixed.is_none());
        free.enumerate()
            .filter(|(_, (_, meaning))| matches!(meaning, Meaning::Ratio { .. }))
            .map(|(at, _)| at)
            .collect()
    }

    /// Holds the prior mean, at an inner value.
    pub(super) fn hold_mean(&mut self, value: f64, hyper: &mut Hyper) {
        if let Some(mean) = self.layout.slots.last_mut() {
            mean.fixed = Some(value);
        }
        hyper.mean = value;
    }

    /// What is held has no use for a prior.
    pub(super) fn refuse_held_with_prior(&self) -> Result<()> {
        self.layout.refuse_held_with_prior()
    }

    /// The objective gets the densities of logarithms, as averages ask for.
    pub(super) fn by_logarithms(&mut self) {
        self.layout.slots.iter_mut().filter(|slot| slot.scale.is_none()).for_each(|slot| slot.by_log = true);
    }

    /// Penalised-complexity priors of length-scales and variances, and priors of ratios, where nothing is said: `length` makes that of a
    /// length-scale along so many axes, the first of which is given.
    pub(super) fn believe(&mut self, kernel: &Kernel, length: impl Fn(&[usize]) -> Prior, deviation: Prior) {
        let along = lengths_along(kernel);
        let stationary = stationary_variances(kernel);
        for (slot, meaning) in self.layout.slots.iter_mut().zip(&self.meanings) {
            let prior = match meaning {
                Meaning::Mean => continue,
                Meaning::Ratio { .. } => beliefs::ratio(),
                Meaning::Parameters(members) => {
                    let axes: Vec<usize> = members.iter().filter_map(|(i, _)| along[*i]).collect();
                    match () {
                        () if !axes.is_empty() => length(&axes),
                        () if stationary.contains(&members[0].0) => deviation,
                        () => continue, // nobody knows what is usual
                    }
                }
            };
            if slot.priors.is_empty() && slot.fixed.is_none() {
                slot.priors.push(prior);
            }
            if matches!(prior, Prior::Deviation { .. }) {
                slot.bounds.0 -= beliefs::SMALLER;
            }
        }
    }

    /// Whether anything is believed of what is learned.
    pub(super) fn has_priors(&self) -> bool {
        !self.layout.priors().is_empty()
    }

    /// The number of hyper-parameters that are learned.
    pub(super) fn free(&self) -> usize {
        self.layout.free()
    }

    /// The priors in force, by name.
    pub(super) fn priors(&self) -> Vec<(String, Prior)> {
        self.layout.priors()
    }

    /// Inducing points move too, inside these spans.
    pub(super) fn with_moving(mut self, spans: Vec<Span>) -> Self {
        self.moving = Some(spans);
        self
    }

    /// Puts a prior on every parameter called `name` (`lengthscale` means those of all axes).
    pub(super) fn add_prior(&mut self, name: &str, prior: Prior, kernel: &Kernel) -> Result<()> {
        self.for_named(name, kernel, |slot| slot.priors.push(prior))
    }

    /// Holds every parameter called `name` at `value` (the user's units).
    pub(super) fn fix(&mut self, name: &str, value: f64, hyper: &mut Hyper) -> Result<()> {
        self.for_named(name, &hyper.kernel, |slot| slot.fixed = Some(slot.unit.inward(value)))?;
        let mut values = self.values(hyper);
        let held = self.layout.slots.iter().zip(&mut values).filter_map(|(slot, value)| Some((slot.fixed?, value)));
        held.for_each(|(held, value)| *value = held);
        *hyper = self.hyper(&values, hyper);
        hyper.kernel.check()
    }

    fn for_named(&mut self, name: &str, kernel: &Kernel, change: impl FnMut(&mut Slot)) -> Result<()> {
        let axes: Vec<&str> = self.layout.axes.iter().map(String::as_str).collect();
        let called = kernel.parameters_called(name, &axes);
        let meanings = &self.meanings;
        let meant = |i: usize, _: &Slot| match &meanings[i] {
            Meaning::Parameters(members) => members.iter().any(|(i, _)| called.contains(i)),
            Meaning::Ratio { .. } | Meaning::Mean => false,
        };
        self.layout.for_named(name, meant, change)
    }

    /// Whether inducing points move.
    pub(super) fn moves(&self) -> bool {
        self.moving.is_some()
    }

    /// The same layout with inducing points that stay.
    pub(super) fn at_rest(&self) -> Self {
        Self { moving: None, ..self.clone() }
    }

    /// Θ with every length-scale of which nothing is said set to `l`.
    pub(super) fn with_lengthscale(&self, hyper: &Hyper, l: f64) -> Hyper {
        let mut values = self.values(hyper);
        for (i, _) in self.layout.slots.iter().enumerate().filter(|(_, slot)| slot.fixed.is_none()) {
            if let Some(times) = self.scanned[i] {
                values[i] = times * l;
            }
        }
        self.hyper(&values, hyper)
    }

    /// Whether starting length-scales change anything.
    pub(super) fn scans(&self) -> bool {
        self.layout.slots.iter().zip(&self.scanned).any(|(slot, scanned)| slot.fixed.is_none() && scanned.is_some())
    }

    /// log p(Θ).
    pub(super) fn log_prior(&self, hyper: &Hyper) -> f64 {
        self.layout.log_prior(&self.values(hyper))
    }

    /// Inner values of all slots.
    fn values(&self, hyper: &Hyper) -> Vec<f64> {
        let parameters = hyper.kernel.parameters();
        let own = |(i, ratio): &(usize, f64)| parameters[*i] / ratio;
        let with_ratio = |slot: usize| self.ratios_on(slot).next().is_some();
        let value = |(slot, meaning): (usize, &Meaning)| match meaning {
            Meaning::Mean => hyper.mean,
            Meaning::Parameters(members) if with_ratio(slot) => {
                (members.iter().map(|member| own(member).ln()).sum::<f64>() / members.len() as f64).exp()
            }
            Meaning::Parameters(members) => parameters[members[0].0],
            Meaning::Ratio { of, second } => {
                let members = self.parameters_of(*of);
                own(&members[*second]) / own(&members[0])
            }
        };
        self.meanings.iter().enumerate().map(value).collect()
    }

    /// The parameters that a slot stands for.
    fn parameters_of(&self, slot: usize) -> &[(usize, f64)] {
        match &self.meanings[slot] {
            Meaning::Parameters(members) => members,
            Meaning::Ratio { .. } | Meaning::Mean => &[],
        }
    }

    /// The slots with ratios of the parameters of a slot, and the place of the second parameter of each.
    fn ratios_on(&self, slot: usize) -> impl Iterator<Item = (usize, usize)> {
        self.meanings.iter().enumerate().filter_map(move |(at, meaning)| match meaning {
            Meaning::Ratio { of, second } if *of == slot => Some((at, *second)),
            _ => None,
        })
    }

    /// Θ from the values of all slots; what no slot stands for comes from `base`.
    fn hyper(&self, values: &[f64], base: &Hyper) -> Hyper {
        let (mut parameters, mut mean) = (base.kernel.parameters(), base.mean);
        for (slot, (meaning, value)) in self.meanings.iter().zip(values).enumerate() {
            match meaning {
                Meaning::Mean => mean = *value,
                Meaning::Ratio { .. } => {}
                Meaning::Parameters(members) => {
                    for (place, (i, ratio)) in members.iter().enumerate() {
                        let more: f64 = self
                            .ratios_on(slot)
                            .map(|(at, second)| power(place, second, members.len()) * values[at].ln())
                            .sum();
                        parameters[*i] = ratio * value * more.exp();
                    }
                }
            }
        }
        Hyper { kernel: base.kernel.with_parameters(&parameters), mean }
    }

    /// The vector at Θ (and Z).
    pub(super) fn pack(&self, hyper: &Hyper, locations: &Points) -> Vec<f64> {
        let mut x = self.layout.pack(&self.values(hyper));
        if let Some(spans) = &self.moving {
            let dims = spans.len();
            x.extend(locations.coordinates().iter().enumerate().map(|(i, &z)| {
                let span = spans[i % dims];
                let sine = 2.0 * (z - span.lo) / span.length() - 1.0;
                // A point exactly on the border would never leave it: the sine is flat there.
                sine.clamp(-0.9999, 0.9999).asin()
            }));
        }
        x
    }

    /// Bounds of the vector.
    pub(super) fn bounds(&self, locations: &Points) -> Vec<(f64, f64)> {
        let moving = if self.moving.is_some() { locations.coordinates().len() } else { 0 };
        let mut bounds = self.layout.bounds();
        bounds.extend(std::iter::repeat_n((-2.0 * FRAC_PI_2, 2.0 * FRAC_PI_2), moving));
        bounds
    }

    /// Θ and Z from the vector; what is held comes from `base`.
    pub(super) fn unpack(&self, x: &[f64], base: &Hyper, locations: &Points) -> (Hyper, Points) {
        let (theta, omega) = x.split_at(self.layout.free());
        let mut values = self.values(base);
        self.layout.unpack(theta, &mut values);
        let locations = match &self.moving {
            None => locations.clone(),
            Some(spans) => {
                let mut at = 0;
                locations.map(|r, _| {
                    at += 1;
                    spans[r].lo + 0.5 * spans[r].length() * (1.0 + omega[at - 1].sin())
                })
            }
        };
        (self.hyper(&values, base), locations)
    }

    /// log p(Θ), and the gradient of the objective by the vector: that of the bound (`bar`) plus that of log p.
    pub(super) fn gradient(&self, x: &[f64], hyper: &Hyper, bar: &HyperBar, gradient: &mut [f64]) -> f64 {
        let (values, parameters) = (self.values(hyper), hyper.kernel.parameters());
        let by_log = |(i, _): &(usize, f64)| bar.parameters[*i] * parameters[*i];
        let of_slot = |(meaning, value): (&Meaning, &f64)| match meaning {
            Meaning::Mean => bar.mean,
            Meaning::Parameters(members) => members.iter().map(by_log).sum::<f64>() / value,
            Meaning::Ratio { of, second } => {
                let members = self.parameters_of(*of);
                let of_place = |(place, member)| power(place, *second, members.len()) * by_log(member);
                members.iter().enumerate().map(of_place).sum::<f64>() / value
            }
        };
        let bars: Vec<f64> = self.meanings.iter().zip(&values).map(of_slot).collect();
        let log_prior = self.layout.gradient(&values, &bars, gradient);
        if let Some(spans) = &self.moving {
            let at = self.layout.free();
            for (i, bar) in bar.locations.iter().enumerate() {
                gradient[at + i] = bar * 0.5 * spans[i % spans.len()].length() * x[at + i].cos();
            }
        }
        log_prior
    }

    /// What is learned, by name.
    pub(super) fn named(&self, hyper: &Hyper) -> Vec<Named> {
        self.layout.named(&self.values(hyper))
    }

    /// The parameters that stand at a bound of their search.
    pub(super) fn at_bounds(&self, hyper: &Hyper) -> Vec<AtBound> {
        let length = |sides: f64| Bounded::Length { axis: String::new(), sides, unresolved: false };
        self.layout.at_bounds(&self.values(hyper), length)
    }
}

/// The range of a parameter of a factor, as logarithms of inner values.
fn bounds(parameter: &Parameter, start: f64, shortest: f64) -> (f64, f64) {
    let (lo, hi) = match parameter {
        // The bound has a peak for every multiple of a period: search near the start.
        p if p.name == Parameter::PERIOD.name => (start / PERIODS, start * PERIODS),
        p if p.unit == Unit::Length => (p.range.0.max(shortest), p.range.1),
        p => p.range,
    };
    (lo.ln(), hi.ln())
}

/// For each parameter of a kernel the axis along which it is a length, if it is one and no period.
fn lengths_along(kernel: &Kernel) -> Vec<Option<usize>> {
    let of_part = |part: &Part| {
        let axis = part.axis;
        let is_length = |p: &Parameter| p.unit == Unit::Length && p.name != Parameter::PERIOD.name;
        part.factor.parameters().iter().map(move |p| is_length(p).then_some(axis)).collect::<Vec<_>>()
    };
    kernel.terms.iter().flat_map(|term| std::iter::once(None).chain(term.parts.iter().flat_map(of_part))).collect()
}

/// For each parameter of a kernel that is a length: what it must have in common with another to be one length with it.
fn lengths_alike(kernel: &Kernel, groups: &[Vec<usize>]) -> Vec<Option<(usize, Factor, &'static str, usize)>> {
    let group = |axis: usize| groups.iter().position(|group| group.contains(&axis)).unwrap_or(axis);
    let of_term = |(t, term): (usize, &Term)| {
        let of_part = |part: &Part| {
            let (factor, group) = (part.factor, group(part.axis));
            let is_length = |p: &Parameter| p.name == Parameter::LENGTHSCALE.name && p.unit == Unit::Length;
            let key = move |p: &Parameter| is_length(p).then_some((t, factor, p.name, group));
            part.factor.parameters().iter().map(key).collect::<Vec<_>>()
        };
        std::iter::once(None).chain(term.parts.iter().flat_map(of_part)).collect::<Vec<_>>()
    };
    kernel.terms.iter().enumerate().flat_map(of_term).collect()
}

/// The places of variances that are the variance of f: those of terms that are 1 where two points are the same.
fn stationary_variances(kernel: &Kernel) -> Vec<usize> {
    let is_one = |term: &Term| term.parts.iter().all(|part| part.factor.has_unit_diagonal());
    kernel.terms.iter().zip(kernel.variance_places()).filter(|(term, _)| is_one(term)).map(|(_, at)| at).collect()
}

/// With what power a ratio of the parameter at place `second` to the first enters the one at `place` of so many.
fn power(place: usize, second: usize, count: usize) -> f64 {
    f64::from(place == second) - 1.0 / count as f64
}

/// For a length-scale in parameter `i`: how many times shorter than the starting length-scale it starts, because earlier terms
/// have the same factor on the same axis, and equal terms would stay equal.
fn shortening(kernel: &Kernel, i: usize) -> Option<f64> {
    let mut at = 0;
    let mut before: Vec<(Factor, usize)> = Vec::new();
    for term in &kernel.terms {
        at += 1;
        for part in &term.parts {
            for parameter in part.factor.parameters() {
                if at == i {
                    let earlier = before.iter().filter(|b| **b == (part.factor, part.axis)).count();
                    let is_length = parameter.name == Parameter::LENGTHSCALE.name && parameter.unit == Unit::Length;
                    return is_length.then(|| SHORTER.powi(earlier as i32));
                }
                at += 1;
            }
        }
        before.extend(term.parts.iter().map(|part| (part.factor, part.axis)));
    }
    None
}
