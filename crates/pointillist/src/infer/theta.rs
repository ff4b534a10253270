//! Θ as a vector without constraints, which the optimiser moves, and gradients by it: one layout for every family.
//!
//! A [`Slot`] is one number that the search may move (docs/derivation.md (24)). Positive ones go by their logarithm, the prior
//! mean in units of what f is for the mean rate. Slots held fixed are left out. Log-priors are added here, in the user's units.
//! What a slot stands for (parameters of a kernel, the range of a lattice) is its family's: `kernel_theta.rs`, `on_lattice/mod.rs`.

use super::at_bound::{AtBound, Bounded, RangeEnd};
use super::prior::Prior;
use super::search::Named;
use crate::error::{Error, Result};
use crate::kernel::Affine;
use crate::terms::LinkRange;
use crate::window::Axis;

/// The range of a variance, as logarithms of inner values; of one of so many terms.
pub(super) fn variances(range: &LinkRange, terms: usize) -> (f64, f64) {
    let (least, most) = range.variance;
    ((least / terms as f64).ln(), most.ln())
}

/// One number that the search may move: one parameter, or several that are tied.
#[derive(Debug, Clone)]
pub(super) struct Slot {
    pub(super) name: String,
    /// What it is also called, if it is tied by a label.
    pub(super) label: Option<String>,
    /// What it is worth outside.
    pub(super) unit: Affine,
    pub(super) bounds: (f64, f64),
    /// What a coordinate of 1 is worth inside; none if coordinates are logarithms.
    pub(super) scale: Option<f64>,
    pub(super) priors: Vec<Prior>,
    /// The inner value at which it is held.
    pub(super) fixed: Option<f64>,
    /// The axis along which it is a length, if it is one; a period is none.
    pub(super) axis: Option<usize>,
    /// Whether the objective has the density of its logarithm, as averages ask for, instead of its own.
    pub(super) by_log: bool,
}

impl Slot {
    /// A positive number.
    pub(super) fn positive(name: String, unit: Affine, bounds: (f64, f64)) -> Self {
        Self { name, label: None, unit, bounds, scale: None, priors: vec![], fixed: None, axis: None, by_log: false }
    }

    /// The same with a prior of its logarithm.
    pub(super) fn with_prior(self, prior: Prior) -> Self {
        Self { priors: vec![prior], by_log: true, ..self }
    }

    /// The prior mean of f, in units of what matters to it.
    pub(super) fn mean(unit: Affine, range: &LinkRange) -> Self {
        let (low, high) = range.mean;
        Self { scale: Some(range.unit), ..Self::positive("mean".into(), unit, (low / range.unit, high / range.unit)) }
    }

    fn coordinate(&self, value: f64) -> f64 {
        self.scale.map_or_else(|| value.ln(), |scale| value / scale)
    }

    fn value(&self, coordinate: f64) -> f64 {
        self.scale.map_or_else(|| coordinate.exp(), |scale| coordinate * scale)
    }

    /// Σ log p at an inner value, and its derivative by that value.
    fn log_prior(&self, value: f64) -> (f64, f64) {
        let own = if self.by_log && !self.priors.is_empty() {
            (self.unit.outward(value).ln(), 1.0 / value)
        } else {
            (0.0, 0.0)
        };
        self.priors
            .iter()
            .map(|prior| prior.log_density(self.unit.outward(value)))
            .fold(own, |(sum, slope), (p, d)| (sum + p, slope + d * self.unit.scale))
    }

    fn is_variance(&self) -> bool {
        self.name.starts_with("variance")
    }
}

/// The map between Θ, one inner value per slot, and the optimiser's vector.
#[derive(Debug, Clone)]
pub(super) struct Layout {
    pub(super) slots: Vec<Slot>,
    /// Names of the window's axes.
    pub(super) axes: Vec<String>,
}

impl Layout {
    /// The slots that are meant by a name, for `change` to work on.
    pub(super) fn for_named(
        &mut self,
        name: &str,
        meant: impl Fn(usize, &Slot) -> bool,
        mut change: impl FnMut(&mut Slot),
    ) -> Result<()> {
        let is_meant =
            |i: usize, slot: &Slot| slot.name == name || slot.label.as_deref() == Some(name) || meant(i, slot);
        let mut found = false;
        for (_, slot) in self.slots.iter_mut().enumerate().filter(|(i, slot)| is_meant(*i, slot)) {
            change(slot);
            found = true;
        }
        let known = || self.slots.iter().map(|s| s.name.as_str()).collect::<Vec<_>>().join(", ");
        if found { Ok(()) } else { Err(Error::setting("parameter", name, format!("the model has {}", known()))) }
    }

    /// What is held has no use for a prior.
    pub(super) fn refuse_held_with_prior(&self) -> Result<()> {
        let Some(slot) = self.slots.iter().find(|slot| slot.fixed.is_some() && !slot.priors.is_empty()) else {
            return Ok(());
        };
        let value = slot.fixed.map_or(f64::NAN, |held| slot.unit.outward(held));
        let requirement = "is held at this value, so that a prior on it has no say; leave one of them out";
        Err(Error::setting(&slot.name, value, requirement))
    }

    /// Number of slots that are not held.
    pub(super) fn free(&self) -> usize {
        self.slots.iter().filter(|slot| slot.fixed.is_none()).count()
    }

    /// log p(Θ).
    pub(super) fn log_prior(&self, values: &[f64]) -> f64 {
        self.slots.iter().zip(values).map(|(slot, v)| slot.log_prior(*v).0).sum()
    }

    /// The priors of what is learned, by name.
    pub(super) fn priors(&self) -> Vec<(String, Prior)> {
        let free = self.slots.iter().filter(|slot| slot.fixed.is_none());
        free.flat_map(|slot| slot.priors.iter().map(|prior| (slot.name.clone(), *prior))).collect()
    }

    /// What is learned, by name.
    pub(super) fn named(&self, values: &[f64]) -> Vec<Named> {
        let free = self.slots.iter().zip(values).filter(|(slot, _)| slot.fixed.is_none());
        let named = |(slot, value): (&Slot, &f64)| Named {
            name: slot.name.clone(),
            value: slot.unit.outward(*value),
            slope: slot.unit.scale * slot.scale.unwrap_or(*value),
        };
        free.map(named).collect()
    }

    /// The vector at Θ.
    pub(super) fn pack(&self, values: &[f64]) -> Vec<f64> {
        let free = self.slots.iter().zip(values).filter(|(slot, _)| slot.fixed.is_none());
        free.map(|(slot, v)| slot.coordinate(*v).clamp(slot.bounds.0, slot.bounds.1)).collect()
    }

    /// Bounds of the vector.
    pub(super) fn bounds(&self) -> Vec<(f64, f64)> {
        self.slots.iter().filter(|slot| slot.fixed.is_none()).map(|slot| slot.bounds).collect()
    }

    /// Θ from the vector; what is held stays as it is.
    pub(super) fn unpack(&self, x: &[f64], values: &mut [f64]) {
        let free = self.slots.iter().zip(values).filter(|(slot, _)| slot.fixed.is_none());
        free.zip(x).for_each(|((slot, value), x)| *value = slot.value(*x));
    }

    /// log p(Θ), and the gradient of the objective by the vector: that of the bound by inner values (`bars`) plus that of log p.
    pub(super) fn gradient(&self, values: &[f64], bars: &[f64], gradient: &mut [f64]) -> f64 {
        let mut log_prior = 0.0;
        let mut at = 0;
        for ((slot, value), bar) in self.slots.iter().zip(values).zip(bars) {
            let (log_density, slope) = slot.log_prior(*value);
            log_prior += log_density;
            if slot.fixed.is_none() {
                gradient[at] = (bar + slope) * slot.scale.unwrap_or(*value);
                at += 1;
            }
        }
        log_prior
    }

    /// The parameters that stand at a bound of their search. `length` makes of the inner value of a length what is said of it.
    pub(super) fn at_bounds(&self, values: &[f64], length: impl Fn(f64) -> Bounded) -> Vec<AtBound> {
        let variances = self.slots.iter().filter(|slot| slot.is_variance()).count();
        let at_bound = |(slot, v): (&Slot, &f64)| {
            let end = RangeEnd::of(slot.coordinate(*v), slot.bounds).filter(|_| slot.fixed.is_none())?;
            let what = match slot.axis {
                Some(r) => match length(*v) {
                    Bounded::Length { sides, unresolved, .. } => {
                        Bounded::Length { axis: self.axes[r].clone(), sides, unresolved }
                    }
                    other => other,
                },
                None if slot.is_variance() => Bounded::Variance { of_term: variances > 1 },
                None => Bounded::Other,
            };
            Some(AtBound { name: slot.name.clone(), what, end })
        };
        self.slots.iter().zip(values).filter_map(at_bound).collect()
    }
}

/// `lengthscale[0]` as `lengthscale[lon]`, where axis 0 has a name.
pub(super) fn with_axis_name(name: &str, axes: &[Axis]) -> String {
    let number = name.strip_suffix(']').and_then(|rest| rest.rsplit_once('['));
    let axis = number
        .filter(|(base, _)| *base != "variance")
        .and_then(|(base, r)| Some((base, axes.get(r.parse::<usize>().ok()?)?)));
    match axis {
        Some((base, axis)) if !axis.name.is_empty() => format!("{base}[{}]", axis.name),
        _ => name.into(),
    }
}
