//! Θ of a kernel (and Z) as the slots of a [`Layout`].
//!
//! A slot stands for one parameter of the kernel, or for several that are tied by a label; the last one for the prior mean. Inducing
//! locations go by the paper's sine change of variables, z = ½ + ½ sin ω in the unit box, which keeps them inside.

use super::at_bound::{AtBound, Bounded};
use super::prior::Prior;
use super::search::Named;
use super::theta::{Layout, Slot, variances, with_axis_name};
use crate::data::points::Points;
use crate::error::Result;
use crate::field::inducing::{Hyper, HyperBar};
use crate::kernel::{Affine, Expression, Factor, Kernel, Parameter, Part, Unit};
use crate::terms::Link;
use crate::window::{Scaling, Span, Window};
use std::f64::consts::FRAC_PI_2;

/// A period is looked for within this factor of where it starts.
const PERIODS: f64 = 1.5;
/// Each further term with the same factor on the same axis starts with a length-scale this many times as long as the one before.
const SHORTER: f64 = 0.3;

/// Parameters of a kernel that go together, each with its inner value as a multiple of the first one's.
type Members = Vec<(usize, f64)>;

/// The map between the parameters of a kernel (and inducing locations) and the optimiser's vector.
#[derive(Debug, Clone)]
pub(super) struct KernelLayout {
    layout: Layout,
    /// For each slot the parameters of the kernel that it stands for, none for the mean. Each has its inner value as a multiple
    /// of that of the first.
    members: Vec<Members>,
    /// How starting length-scales apply to each slot: not at all, or this many times as long.
    scanned: Vec<Option<f64>>,
    /// The box inducing points move in, if they do.
    moving: Option<Vec<Span>>,
}

impl KernelLayout {
    /// For the parameters of `hyper`, asked for by `expression`, in the coordinates of `scaling`, with `window` and the mean rate
    /// there.
    pub(super) fn new(hyper: &Hyper, expression: &Expression, window: &Window, scaling: &Scaling, rate: f64) -> Self {
        let (kernel, axes) = (&hyper.kernel, window.axes());
        let range = Link::Square.formula().range(rate, window.measure());
        let variance = variances(&range, kernel.terms.len());
        let (units, names, values) = (kernel.units(scaling), kernel.parameter_names(), kernel.parameters());
        let along = lengths_along(kernel);
        let (mut slots, mut members, mut scanned) = (Vec::<Slot>::new(), Vec::<Members>::new(), vec![]);
        for (i, (said, parameter)) in expression.parameters().into_iter().enumerate() {
            let shares = |slot: &Slot| said.label.is_some() && slot.label == said.label;
            if let Some(at) = slots.iter().position(shares) {
                members[at].push((i, slots[at].unit.scale / units[i].scale));
                if slots[at].fixed.is_none() && said.held {
                    slots[at].fixed = Some(values[members[at][0].0]);
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
            members.push(vec![(i, 1.0)]);
            scanned.push(said.value.is_none().then(|| shortening(kernel, i)).flatten());
        }
        slots.push(Slot::mean(Affine { scale: 1.0 / scaling.volume().sqrt(), shift: 0.0 }, &range));
        members.push(vec![]);
        scanned.push(None);
        let axes = axes.iter().map(|axis| axis.name.clone()).collect();
        Self { layout: Layout { slots, axes }, members, scanned, moving: None }
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
        let members = &self.members;
        self.layout.for_named(name, |i, _| members[i].iter().any(|(i, _)| called.contains(i)), change)
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
        self.members.iter().map(|members| members.first().map_or(hyper.mean, |(i, _)| parameters[*i])).collect()
    }

    /// Θ from the values of all slots; what no slot stands for comes from `base`.
    fn hyper(&self, values: &[f64], base: &Hyper) -> Hyper {
        let (mut parameters, mut mean) = (base.kernel.parameters(), base.mean);
        for (members, value) in self.members.iter().zip(values) {
            members.iter().for_each(|&(i, ratio)| parameters[i] = ratio * value);
            if members.is_empty() {
                mean = *value;
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
        let of_members = |members: &Members| -> f64 {
            match members.is_empty() {
                true => bar.mean,
                false => members.iter().map(|&(i, ratio)| bar.parameters[i] * ratio).sum(),
            }
        };
        let bars: Vec<f64> = self.members.iter().map(of_members).collect();
        let log_prior = self.layout.gradient(&self.values(hyper), &bars, gradient);
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
