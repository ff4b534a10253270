//! Where learning starts: the kernel with what the user said of its parameters, and for the rest what the window and the events suggest.

use crate::data::seen::Seen;
use crate::error::{Error, Result};
use crate::kernel::{Expression, Kernel, Parameter, Part, PartExpression, Said, Term, TermExpression, Unit};
use crate::terms::Link;
use crate::window::{Scaling, Window};
use std::f64::consts::TAU;

/// Periods are looked for down to this part of the window.
const SHORTEST_PERIOD: f64 = 1.0 / 200.0;

/// Lengths that are given must be at least this part of the window's side, ...
const SHORTEST_LENGTH: f64 = 1e-4;
/// ... and periods this.
const SHORTEST_WAVE: f64 = 1e-8;

/// The kernel to start from, in unit coordinates.
pub(super) fn kernel(
    expression: &Expression,
    seen: &Seen,
    scaling: &Scaling,
    window: &Window,
    rate: f64,
) -> Result<Kernel> {
    let measure = window.measure();
    let link = Link::Square.formula();
    let share =
        f64::max(link.start(rate).variance, link.range(rate, measure).variance.0) / expression.terms.len() as f64;
    let part = |part: &PartExpression| {
        let start = |parameter: &Parameter| match parameter.name == Parameter::PERIOD.name {
            true => strongest_period(&seen.axis(part.axis)),
            false => parameter.start,
        };
        let known = part.factor.parameters().iter().zip(&part.parameters);
        // What is said is in the user's units; it is put in its place below.
        let parameters = known.map(|(p, said)| if said.value.is_some() { p.start } else { start(p) }).collect();
        Part { axis: part.axis, factor: part.factor, parameters }
    };
    let term = |term: &TermExpression| Term { variance: share, parts: term.parts.iter().map(part).collect() };
    let kernel = Kernel { dims: scaling.dims(), terms: expression.terms.iter().map(term).collect() };
    let mut values = kernel.parameters();
    // Degrees come first: the unit of a variance depends on them.
    for ((said, parameter), value) in expression.parameters().into_iter().zip(&mut values) {
        if let (Some(given), Some(Parameter { learned: false, unit: Unit::Number, .. })) = (said.value, parameter) {
            *value = given;
        }
    }
    let units = kernel.with_parameters(&values).units(scaling);
    let labelled = labelled_values(expression);
    for (i, (said, _)) in expression.parameters().into_iter().enumerate() {
        let by_label = || labelled.iter().find(|(label, _)| said.label.as_ref() == Some(label)).map(|(_, v)| *v);
        if let Some(given) = said.value.or_else(by_label) {
            values[i] = units[i].inward(given);
        }
    }
    tie(expression, &units, &mut values);
    let kernel = kernel.with_parameters(&values);
    kernel.check()?;
    refuse_unresolved(&kernel, window)?;
    Ok(kernel)
}

/// The shortest length-scale, in sides of the window, that can be given.
pub(crate) fn shortest_length(window: &Window) -> f64 {
    SHORTEST_LENGTH.max(window.shortest_length())
}

/// Refuses lengths and periods that cannot be resolved. There are some thousands of inducing points at most. Places in the window
/// are known to some 16 digits, of which a short period leaves few for the phase. And nodes over an outline or an exposure are
/// limited.
pub(super) fn refuse_unresolved(kernel: &Kernel, window: &Window) -> Result<()> {
    for part in kernel.terms.iter().flat_map(|term| &term.parts) {
        for (value, parameter) in part.parameters.iter().zip(part.factor.parameters()) {
            let is_period = parameter.name == Parameter::PERIOD.name;
            let least = if is_period { SHORTEST_WAVE.max(window.shortest_length()) } else { shortest_length(window) };
            if parameter.unit == Unit::Length && *value < least {
                let requirement =
                    format!("is too short: here nothing below {least:e} of it can be resolved; take a longer one");
                let value = format!("{value:.1e} of the window's side");
                return Err(Error::setting(parameter.name, value, requirement));
            }
        }
    }
    Ok(())
}

/// Labels that were given a value.
fn labelled_values(expression: &Expression) -> Vec<(String, f64)> {
    expression.parameters().into_iter().filter_map(|(said, _)| Some((said.label.clone()?, said.value?))).collect()
}

/// Gives parameters with one label one value in the user's units, that of the first.
fn tie(expression: &Expression, units: &[crate::kernel::Affine], values: &mut [f64]) {
    let said: Vec<&Said> = expression.parameters().into_iter().map(|(said, _)| said).collect();
    for i in 0..said.len() {
        let first = (0..i).find(|&j| said[j].label.is_some() && said[j].label == said[i].label);
        if let Some(j) = first {
            values[i] = units[i].inward(units[j].outward(values[j]));
        }
    }
}

/// The period at which the events of the unit interval are most unevenly spread, by their periodogram |Σ e^{2πi x/p}|².
fn strongest_period((x, weights): &(Vec<f64>, Vec<f64>)) -> f64 {
    let power = |frequency: f64| {
        let (sine, cosine) = x.iter().zip(weights).fold((0.0, 0.0), |(s, c), (x, w)| {
            let (sine, cosine) = (TAU * frequency * x).sin_cos();
            (s + w * sine, c + w * cosine)
        });
        sine * sine + cosine * cosine
    };
    // At least two whole periods, in steps of a quarter: a peak is one wide.
    let most = (1.0 / SHORTEST_PERIOD).min(x.len() as f64);
    let candidates = (8..).map(|i| 0.25 * i as f64).take_while(|f| *f <= most.max(2.0));
    let best = candidates.map(|f| (power(f), f)).max_by(|a, b| a.0.total_cmp(&b.0));
    best.map_or(Parameter::PERIOD.start, |(_, frequency)| 1.0 / frequency)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_period_of_regular_events_is_found() {
        // seven bursts of events per window, each over a third of its period
        let x: Vec<f64> = (0..210).map(|i| ((i % 7) as f64 + (i / 7) as f64 / 90.0) / 7.0).collect();
        let found = strongest_period(&(x, vec![1.0; 210]));
        assert!((found - 1.0 / 7.0).abs() < 1e-12, "{found}");
    }
}
