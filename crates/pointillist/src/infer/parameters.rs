//! Θ (and Z) as a vector without constraints, which the optimiser moves, and gradients by it.
//!
//! Positive parameters go by their logarithm, the prior mean in units of √rate, inducing locations by the paper's sine change of
//! variables, z = ½ + ½ sin ω in the unit box, which keeps them inside. Parameters held fixed are left out. Log-priors are added
//! here, in the user's units.

use super::at_bound::{AtBound, Bounded, RangeEnd};
use super::prior::Prior;
use crate::basis::{Hyper, HyperBar};
use crate::error::{Error, Result};
use crate::kernel::{Affine, Expression, Factor, Kernel, Parameter, Part, Unit};
use crate::points::Points;
use crate::window::{Axis, Scaling, Span, Window};
use std::f64::consts::FRAC_PI_2;

/// A period is looked for within this factor of where it starts.
const PERIODS: f64 = 1.5;
/// Each further term with the same factor on the same axis starts with a length-scale this many times as long as the one before.
const SHORTER: f64 = 0.3;
/// The variance, up to this multiple of the mean rate …
pub(crate) const MOST_VARIANCE: f64 = 1e3;
/// … and down to this over the window's measure. N events leave f uncertain by ½/√|T| however flat they are; a prior variance that
/// maximum likelihood takes to 0 would deny it, and the band with it.
const LEAST_VARIANCE: f64 = 4.0;
/// The prior mean, between these multiples of the root of the mean rate.
pub(crate) const MEANS: (f64, f64) = (-10.0, 10.0);

/// The floor of the variance in unit coordinates, for a window of this measure; with very few events no more than half their rate.
pub(crate) fn least_variance(rate: f64, measure: f64) -> f64 {
    (LEAST_VARIANCE / measure).min(0.5 * rate)
}

/// One number the search may move: one parameter, or several that are tied.
#[derive(Debug, Clone)]
struct Slot {
    name: String,
    /// What it is also called, if it is tied by a label.
    label: Option<String>,
    /// The parameters of the kernel it stands for, each with its inner value as a multiple of the first one's; none for the mean.
    members: Vec<(usize, f64)>,
    /// What the first one is worth outside.
    unit: Affine,
    bounds: (f64, f64),
    logarithmic: bool,
    priors: Vec<Prior>,
    /// The inner value at which it is held.
    fixed: Option<f64>,
    /// The axis along which it is a length, if it is one; a period is none.
    axis: Option<usize>,
    /// How starting length-scales apply to it: not at all, or this many times as long.
    scanned: Option<f64>,
}

/// The map between Θ and the optimiser's vector.
#[derive(Debug, Clone)]
pub(crate) struct Layout {
    slots: Vec<Slot>,
    /// The box inducing points move in, if they do.
    moving: Option<Vec<Span>>,
    mean_scale: f64,
    axes: Vec<String>,
}

impl Layout {
    /// For the parameters of `hyper`, asked for by `expression`, in the coordinates of `scaling`, with `window` and the mean rate
    /// there.
    pub(crate) fn new(
        hyper: &Hyper,
        expression: &Expression,
        window: &Window,
        scaling: &Scaling,
        rate: f64,
    ) -> Result<Self> {
        let (kernel, axes) = (&hyper.kernel, window.axes());
        let (least, shortest) = (least_variance(rate, window.measure()), window.shortest_length());
        let (units, names, values) = (kernel.units(scaling), kernel.parameter_names(), kernel.parameters());
        let along = lengths_along(kernel);
        let mut slots: Vec<Slot> = Vec::new();
        for (i, (said, parameter)) in expression.parameters().into_iter().enumerate() {
            let shares = |slot: &&mut Slot| said.label.is_some() && slot.label == said.label;
            let ratio = units[i].scale.recip();
            if let Some(slot) = slots.iter_mut().find(shares) {
                slot.members.push((i, ratio * slot.unit.scale));
                if slot.fixed.is_none() && said.held {
                    slot.fixed = Some(values[slot.members[0].0]);
                }
                continue;
            }
            let held = said.held || parameter.is_some_and(|p| !p.learned);
            slots.push(Slot {
                name: with_axis_name(&names[i], axes),
                label: said.label.clone(),
                members: vec![(i, 1.0)],
                unit: units[i],
                bounds: bounds(parameter, values[i], rate, least / kernel.terms.len() as f64, shortest),
                logarithmic: true,
                priors: vec![],
                fixed: held.then_some(values[i]),
                axis: along[i],
                scanned: said.value.is_none().then(|| shortening(kernel, i)).flatten(),
            });
        }
        slots.push(Slot {
            name: "mean".into(),
            label: None,
            members: vec![],
            unit: Affine { scale: 1.0 / scaling.volume().sqrt(), shift: 0.0 },
            bounds: MEANS,
            logarithmic: false,
            priors: vec![],
            fixed: None,
            axis: None,
            scanned: None,
        });
        let axes = axes.iter().map(|axis| axis.name.clone()).collect();
        Ok(Self { slots, moving: None, mean_scale: rate.sqrt(), axes })
    }

    /// Inducing points move too, inside these spans.
    pub(crate) fn with_moving(mut self, spans: Vec<Span>) -> Self {
        self.moving = Some(spans);
        self
    }

    /// Puts a prior on every parameter called `name` (`lengthscale` means those of all axes).
    pub(crate) fn add_prior(&mut self, name: &str, prior: Prior, kernel: &Kernel) -> Result<()> {
        self.for_named(name, kernel, |slot| slot.priors.push(prior))
    }

    /// Holds every parameter called `name` at `value` (the user's units).
    pub(crate) fn fix(&mut self, name: &str, value: f64, hyper: &mut Hyper) -> Result<()> {
        self.for_named(name, &hyper.kernel, |slot| slot.fixed = Some(slot.unit.inward(value)))?;
        let mut values = hyper.kernel.parameters();
        for slot in &self.slots {
            let Some(inner) = slot.fixed else { continue };
            match slot.members.is_empty() {
                true => hyper.mean = inner,
                false => slot.spread(inner, &mut values),
            }
        }
        hyper.kernel = hyper.kernel.with_parameters(&values);
        hyper.kernel.check()
    }

    fn for_named(&mut self, name: &str, kernel: &Kernel, mut change: impl FnMut(&mut Slot)) -> Result<()> {
        let axes: Vec<&str> = self.axes.iter().map(String::as_str).collect();
        let called = kernel.parameters_called(name, &axes);
        let meant = |slot: &Slot| {
            slot.name == name
                || slot.label.as_deref() == Some(name)
                || slot.members.iter().any(|(i, _)| called.contains(i))
        };
        let mut found = false;
        for slot in self.slots.iter_mut().filter(|slot| meant(slot)) {
            change(slot);
            found = true;
        }
        let known = || self.slots.iter().map(|s| s.name.as_str()).collect::<Vec<_>>().join(", ");
        if found { Ok(()) } else { Err(Error::setting("parameter", name, format!("the model has {}", known()))) }
    }

    /// Whether inducing points move.
    pub(crate) fn moves(&self) -> bool {
        self.moving.is_some()
    }

    /// The same layout with inducing points that stay.
    pub(crate) fn at_rest(&self) -> Self {
        Self { moving: None, ..self.clone() }
    }

    /// Θ with every length-scale of which nothing is said set to `l`.
    pub(crate) fn with_lengthscale(&self, hyper: &Hyper, l: f64) -> Hyper {
        let mut values = hyper.kernel.parameters();
        for slot in self.slots.iter().filter(|slot| slot.fixed.is_none()) {
            if let Some(times) = slot.scanned {
                slot.spread(times * l, &mut values);
            }
        }
        Hyper { kernel: hyper.kernel.with_parameters(&values), mean: hyper.mean }
    }

    /// Whether starting length-scales change anything.
    pub(crate) fn scans(&self) -> bool {
        self.slots.iter().any(|slot| slot.fixed.is_none() && slot.scanned.is_some())
    }

    /// log p(Θ).
    pub(crate) fn log_prior(&self, hyper: &Hyper) -> f64 {
        self.slots.iter().zip(self.values(hyper)).map(|(slot, v)| slot.log_prior(v).0).sum()
    }

    /// Inner values of all slots.
    fn values(&self, hyper: &Hyper) -> Vec<f64> {
        let parameters = hyper.kernel.parameters();
        self.slots.iter().map(|slot| slot.members.first().map_or(hyper.mean, |(i, _)| parameters[*i])).collect()
    }

    /// The vector at Θ (and Z).
    pub(crate) fn pack(&self, hyper: &Hyper, locations: &Points) -> Vec<f64> {
        let coordinate = |slot: &Slot, v: f64| if slot.logarithmic { v.ln() } else { v / self.mean_scale };
        let values = self.values(hyper);
        let free = self.slots.iter().zip(values).filter(|(slot, _)| slot.fixed.is_none());
        let mut x: Vec<f64> = free.map(|(slot, v)| coordinate(slot, v).clamp(slot.bounds.0, slot.bounds.1)).collect();
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
    pub(crate) fn bounds(&self, locations: &Points) -> Vec<(f64, f64)> {
        let free = self.slots.iter().filter(|slot| slot.fixed.is_none()).map(|slot| slot.bounds);
        let moving = if self.moving.is_some() { locations.coordinates().len() } else { 0 };
        free.chain(std::iter::repeat_n((-2.0 * FRAC_PI_2, 2.0 * FRAC_PI_2), moving)).collect()
    }

    /// Θ and Z from the vector; what is fixed comes from `base`.
    pub(crate) fn unpack(&self, x: &[f64], base: &Hyper, locations: &Points) -> (Hyper, Points) {
        let mut values = base.kernel.parameters();
        let mut mean = base.mean;
        let mut rest = x.iter();
        for slot in self.slots.iter().filter(|slot| slot.fixed.is_none()) {
            let Some(&x) = rest.next() else { break };
            match slot.members.is_empty() {
                true => mean = x * self.mean_scale,
                false => slot.spread(x.exp(), &mut values),
            }
        }
        let locations = match &self.moving {
            None => locations.clone(),
            Some(spans) => {
                let omega: Vec<f64> = rest.copied().collect();
                let mut at = 0;
                locations.map(|r, _| {
                    at += 1;
                    spans[r].lo + 0.5 * spans[r].length() * (1.0 + omega[at - 1].sin())
                })
            }
        };
        (Hyper { kernel: base.kernel.with_parameters(&values), mean }, locations)
    }

    /// log p(Θ), and the gradient of the objective by the vector: that of the bound (`bar`) plus that of log p.
    pub(crate) fn gradient(&self, x: &[f64], hyper: &Hyper, bar: &HyperBar, gradient: &mut [f64]) -> f64 {
        let mut log_prior = 0.0;
        let mut at = 0;
        for (slot, value) in self.slots.iter().zip(self.values(hyper)) {
            let of_members = || slot.members.iter().map(|&(i, ratio)| bar.parameters[i] * ratio).sum();
            let bar: f64 = if slot.members.is_empty() { bar.mean } else { of_members() };
            let (log_density, slope) = slot.log_prior(value);
            log_prior += log_density;
            if slot.fixed.is_none() {
                let chain = if slot.logarithmic { value } else { self.mean_scale };
                gradient[at] = (bar + slope) * chain;
                at += 1;
            }
        }
        if let Some(spans) = &self.moving {
            for (i, bar) in bar.locations.iter().enumerate() {
                gradient[at + i] = bar * 0.5 * spans[i % spans.len()].length() * x[at + i].cos();
            }
        }
        log_prior
    }

    /// The parameters that stand at a bound of their search.
    pub(crate) fn at_bounds(&self, hyper: &Hyper) -> Vec<AtBound> {
        let variances = self.slots.iter().filter(|slot| slot.name.starts_with("variance")).count();
        let at_bound = |(slot, v): (&Slot, f64)| {
            let x = if slot.logarithmic { v.ln() } else { v / self.mean_scale };
            let end = RangeEnd::of(x, slot.bounds).filter(|_| slot.fixed.is_none())?;
            let what = match slot.axis {
                Some(r) => Bounded::Length { axis: self.axes[r].clone(), sides: v, unresolved: false },
                None if slot.name.starts_with("variance") => Bounded::Variance { of_term: variances > 1 },
                None => Bounded::Other,
            };
            Some(AtBound { name: slot.name.clone(), what, end })
        };
        self.slots.iter().zip(self.values(hyper)).filter_map(at_bound).collect()
    }
}

impl Slot {
    /// Writes the inner value `first` of its first parameter, and what follows for the others.
    fn spread(&self, first: f64, values: &mut [f64]) {
        self.members.iter().for_each(|&(i, ratio)| values[i] = ratio * first);
    }

    /// Σ log p at an inner value, and its derivative by that value.
    fn log_prior(&self, value: f64) -> (f64, f64) {
        self.priors
            .iter()
            .map(|prior| prior.log_density(self.unit.outward(value)))
            .fold((0.0, 0.0), |(sum, slope), (p, d)| (sum + p, slope + d * self.unit.scale))
    }
}

/// `lengthscale[0]` as `lengthscale[lon]`, where axis 0 has a name.
fn with_axis_name(name: &str, axes: &[Axis]) -> String {
    let number = name.strip_suffix(']').and_then(|rest| rest.rsplit_once('['));
    let axis = number
        .filter(|(base, _)| *base != "variance")
        .and_then(|(base, r)| Some((base, axes.get(r.parse::<usize>().ok()?)?)));
    match axis {
        Some((base, axis)) if !axis.name.is_empty() => format!("{base}[{}]", axis.name),
        _ => name.into(),
    }
}

/// The range of a parameter (a variance if it is none of a factor), as logarithms of inner values.
fn bounds(parameter: Option<&Parameter>, start: f64, rate: f64, least_variance: f64, shortest: f64) -> (f64, f64) {
    let (lo, hi) = match parameter {
        None => (least_variance, MOST_VARIANCE * rate),
        // The bound has a peak for every multiple of a period: search near the start.
        Some(p) if p.name == Parameter::PERIOD.name => (start / PERIODS, start * PERIODS),
        Some(p) if p.unit == Unit::Length => (p.range.0.max(shortest), p.range.1),
        Some(p) => p.range,
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
