//! Θ (and Z) as a vector without constraints, which the optimiser moves, and gradients by it.
//!
//! Positive parameters go by their logarithm, the prior mean in units of √rate, inducing locations by the paper's sine change of
//! variables, z = ½ + ½ sin ω in the unit box, which keeps them inside. Parameters held fixed are left out. Log-priors are added
//! here, in the user's units.

use super::prior::Prior;
use crate::basis::{Hyper, HyperBar};
use crate::error::{Error, Result};
use crate::points::Points;
use crate::window::{Scaling, Span};
use std::f64::consts::FRAC_PI_2;

/// Length-scales are looked for between these multiples of the window's side.
const LENGTHSCALES: (f64, f64) = (1e-4, 1e2);
/// The variance, up to this multiple of the mean rate …
const MOST_VARIANCE: f64 = 1e3;
/// … and down to this over the window's measure. N events leave f uncertain by ½/√|T| however flat they are; a prior variance that
/// maximum likelihood takes to 0 would deny it, and the band with it.
const LEAST_VARIANCE: f64 = 4.0;
/// The prior mean, between these multiples of the root of the mean rate.
const MEANS: (f64, f64) = (-10.0, 10.0);

/// The floor of the variance in unit coordinates; with very few events no more than half their rate.
pub(super) fn least_variance(rate: f64) -> f64 {
    LEAST_VARIANCE.min(0.5 * rate)
}

/// One parameter: how it is called, what it is worth outside, and what is believed of it.
#[derive(Debug, Clone)]
struct Slot {
    name: String,
    /// User's value = `unit` × inner value.
    unit: f64,
    bounds: (f64, f64),
    logarithmic: bool,
    priors: Vec<Prior>,
    /// Its inner value, if it is held.
    fixed: Option<f64>,
}

/// The map between Θ and the optimiser's vector.
#[derive(Debug, Clone)]
pub(crate) struct Layout {
    slots: Vec<Slot>,
    /// The box inducing points move in, if they do.
    moving: Option<Vec<Span>>,
    mean_scale: f64,
}

impl Layout {
    /// For the parameters of `hyper`, in the coordinates of `scaling`, with `rate` the mean rate there.
    pub(crate) fn new(hyper: &Hyper, scaling: &Scaling, rate: f64) -> Self {
        let kernel = &hyper.kernel;
        let scales: Vec<f64> = (0..kernel.dims()).map(|r| scaling.scale(r)).collect();
        let ones = kernel.with_parameters(&vec![1.0; kernel.parameters().len()]);
        let units = ones.rescaled(&scales, scaling.volume()).parameters();
        let mut slots: Vec<Slot> = kernel
            .parameter_names()
            .into_iter()
            .zip(units)
            .enumerate()
            .map(|(i, (name, unit))| {
                let variances = (least_variance(rate), MOST_VARIANCE * rate);
                let (lo, hi) = if i == 0 { variances } else { LENGTHSCALES };
                Slot { name, unit, bounds: (lo.ln(), hi.ln()), logarithmic: true, priors: vec![], fixed: None }
            })
            .collect();
        let unit = 1.0 / scaling.volume().sqrt();
        slots.push(Slot { name: "mean".into(), unit, bounds: MEANS, logarithmic: false, priors: vec![], fixed: None });
        Self { slots, moving: None, mean_scale: rate.sqrt() }
    }

    /// Inducing points move too, inside these spans.
    pub(crate) fn with_moving(mut self, spans: Vec<Span>) -> Self {
        self.moving = Some(spans);
        self
    }

    /// Puts a prior on every parameter called `name` (`lengthscale` means those of all axes).
    pub(crate) fn add_prior(&mut self, name: &str, prior: Prior) -> Result<()> {
        self.for_named(name, |slot| slot.priors.push(prior))
    }

    /// Holds every parameter called `name` at `value` (the user's units).
    pub(crate) fn fix(&mut self, name: &str, value: f64, hyper: &mut Hyper) -> Result<()> {
        self.for_named(name, |slot| slot.fixed = Some(value / slot.unit))?;
        let mut values = self.values(hyper);
        for (slot, inner) in self.slots.iter().zip(&mut values) {
            *inner = slot.fixed.unwrap_or(*inner);
        }
        hyper.mean = values.pop().unwrap_or_default();
        hyper.kernel = hyper.kernel.with_parameters(&values);
        hyper.kernel.check()
    }

    fn for_named(&mut self, name: &str, mut change: impl FnMut(&mut Slot)) -> Result<()> {
        let matches = |slot: &Slot| slot.name == name || slot.name.split('[').next() == Some(name);
        let mut found = false;
        for slot in self.slots.iter_mut().filter(|slot| matches(slot)) {
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

    /// Θ with every length-scale that is not held set to `l`.
    pub(crate) fn with_lengthscale(&self, hyper: &Hyper, l: f64) -> Hyper {
        let mut values = hyper.kernel.parameters();
        for (slot, value) in self.slots.iter().zip(&mut values).skip(1) {
            *value = slot.fixed.unwrap_or(l);
        }
        Hyper { kernel: hyper.kernel.with_parameters(&values), mean: hyper.mean }
    }

    /// log p(Θ).
    pub(crate) fn log_prior(&self, hyper: &Hyper) -> f64 {
        self.slots.iter().zip(self.values(hyper)).map(|(slot, v)| slot.log_prior(v).0).sum()
    }

    /// Inner values of all parameters.
    fn values(&self, hyper: &Hyper) -> Vec<f64> {
        let mut values = hyper.kernel.parameters();
        values.push(hyper.mean);
        values
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
        let mut values = self.values(base);
        let mut rest = x.iter();
        for (slot, value) in self.slots.iter().zip(&mut values).filter(|(slot, _)| slot.fixed.is_none()) {
            if let Some(&x) = rest.next() {
                *value = if slot.logarithmic { x.exp() } else { x * self.mean_scale };
            }
        }
        let mean = values.pop().unwrap_or_default();
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
        let bars = bar.parameters.iter().chain(std::iter::once(&bar.mean));
        let mut log_prior = 0.0;
        let mut at = 0;
        for ((slot, value), &bar) in self.slots.iter().zip(self.values(hyper)).zip(bars) {
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

    /// A sentence for each parameter that stands at a bound of its search.
    pub(crate) fn at_bounds(&self, hyper: &Hyper) -> Vec<String> {
        let sentence = |(slot, v): (&Slot, f64)| {
            let x = if slot.logarithmic { v.ln() } else { v / self.mean_scale };
            let (low, high) = (x <= slot.bounds.0 + 1e-6, x >= slot.bounds.1 - 1e-6);
            match slot.name.as_str() {
                _ if slot.fixed.is_some() || !(low || high) => None,
                "variance" if low => Some("the events show no variation: the variance stands at its floor".to_string()),
                name => {
                    Some(format!("{name} ran to the end of its range: the events do not determine it (a prior would)"))
                }
            }
        };
        self.slots.iter().zip(self.values(hyper)).filter_map(sentence).collect()
    }
}

impl Slot {
    /// Σ log p at an inner value, and its derivative by that value.
    fn log_prior(&self, value: f64) -> (f64, f64) {
        self.priors
            .iter()
            .map(|prior| prior.log_density(value * self.unit))
            .fold((0.0, 0.0), |(sum, slope), (p, d)| (sum + p, slope + d * self.unit))
    }
}
