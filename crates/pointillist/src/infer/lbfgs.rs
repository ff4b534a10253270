//! Maximising a smooth function: L-BFGS with a strong Wolfe line search and simple bounds.
//!
//! Value and gradient come from one call. A point where the function cannot be evaluated (a Cholesky that fails) is only a step
//! that was too long. Components that would leave their bounds are held there. Cost beyond the function: 4·memory·n.

use crate::error::Result;
use crate::numerics::linalg::{add_scaled, dot};
use std::collections::VecDeque;

/// Pairs of steps and gradient changes that are remembered.
const MEMORY: usize = 12;
/// Sufficient increase and curvature of the strong Wolfe conditions.
const INCREASE: f64 = 1e-4;
const CURVATURE: f64 = 0.9;
/// Longest first trial of a line search, in the largest component.
const LONGEST_STEP: f64 = 1.5;
/// A line search ends where less than this part of the gain that matters is left to it.
const HARDLY: f64 = 0.1;
/// A direction that knows of the curvature, promises less than this many nats and does not keep it ends at the rounding of the function: a bound of thousands of
/// nats, by nearly singular matrices, has no more digits.
const HIDDEN: f64 = 0.01;
/// Trials in one line search.
const TRIALS: usize = 20;

/// When to stop.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// Gain, expected and made, below which it has converged.
    pub gain: f64,
    /// Evaluations of the function after which it ends.
    pub most_evaluations: usize,
    /// Longest first step, in the largest component.
    pub first_step: f64,
}

/// Why it stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Converged,
    /// The line search found no better point although one was expected.
    Stuck,
    Evaluations,
}

/// Steps with the changes of the gradient along them: what is known of the curvature.
#[derive(Debug, Clone, Default)]
pub(crate) struct Curvature {
    pairs: VecDeque<Pair>,
    /// Whether the maximum is near.
    near: bool,
}

/// Longest first step where the maximum is near.
const NEAR: f64 = 0.03;

impl Curvature {
    /// Nothing is known but that the maximum is near.
    pub(crate) fn near() -> Self {
        Self { near: true, ..Self::default() }
    }

    /// That of a function which is so many times as curved.
    pub(crate) fn times(&self, factor: f64) -> Self {
        let scaled = |change: &[f64]| change.iter().map(|c| factor * c).collect();
        let pairs = self.pairs.iter().map(|(step, change, product)| (step.clone(), scaled(change), factor * product));
        Self { pairs: pairs.collect(), near: self.near }
    }
}

/// A step, the fall of the gradient along it, and their product.
type Pair = (Vec<f64>, Vec<f64>, f64);

/// Where it stopped.
pub(crate) struct Outcome {
    pub(crate) x: Vec<f64>,
    /// A good start for a function much like this one.
    pub(crate) curvature: Curvature,
    pub(crate) value: f64,
    pub(crate) end: End,
    pub(crate) iterations: usize,
    #[cfg(test)]
    pub(crate) evaluations: usize,
}

/// A value with its gradient at a point.
#[derive(Clone)]
struct Trial {
    x: Vec<f64>,
    value: f64,
    gradient: Vec<f64>,
}

/// The function, with a count of its evaluations. `Ok(None)` from the closure: cannot be evaluated there.
struct Objective<'a, F> {
    function: F,
    bounds: &'a [(f64, f64)],
    evaluations: usize,
}

impl<F: FnMut(&[f64], &mut [f64]) -> Result<Option<f64>>> Objective<'_, F> {
    fn at(&mut self, mut x: Vec<f64>) -> Result<Option<Trial>> {
        x.iter_mut().zip(self.bounds).for_each(|(x, (lo, hi))| *x = x.clamp(*lo, *hi));
        let mut gradient = vec![0.0; x.len()];
        self.evaluations += 1;
        let value = (self.function)(&x, &mut gradient)?.filter(|v| v.is_finite());
        stay_inside(&mut gradient, &x, self.bounds);
        Ok(value.map(|value| Trial { x, value, gradient }))
    }
}

/// Maximises `function` from `start` with what is known of its curvature; `None` if it cannot be evaluated there.
pub(crate) fn maximise(
    start: Vec<f64>,
    curvature: Curvature,
    bounds: &[(f64, f64)],
    settings: Settings,
    function: impl FnMut(&[f64], &mut [f64]) -> Result<Option<f64>>,
) -> Result<Option<Outcome>> {
    let mut objective = Objective { function, bounds, evaluations: 0 };
    let Some(mut now) = objective.at(start)? else { return Ok(None) };
    // A gain below the rounding of a large value is none.
    let settings = Settings { gain: settings.gain.max(1e-12 * now.value.abs()), ..settings };
    let near = curvature.near;
    let first_step = if near { NEAR.min(settings.first_step) } else { settings.first_step };
    let mut memory = curvature.pairs;
    memory.retain(|(step, ..)| step.len() == now.x.len()); // other variables, other curvature
    let mut iterations = 0;
    let end = loop {
        let mut direction = two_loop(&memory, &now.gradient);
        stay_inside(&mut direction, &now.x, bounds);
        let mut slope = dot(&direction, &now.gradient);
        if slope <= 0.0 {
            memory.clear();
            direction.clone_from(&now.gradient);
            slope = dot(&direction, &now.gradient);
        }
        let first = memory.is_empty();
        if slope == 0.0 || (!first && 0.5 * slope < settings.gain) {
            break End::Converged;
        }
        if objective.evaluations >= settings.most_evaluations {
            break End::Evaluations;
        }
        let longest = direction.iter().fold(0.0, |m: f64, d| m.max(d.abs()));
        let initial = if first { (first_step / longest).min(1.0) } else { (LONGEST_STEP / longest).min(1.0) };
        let Some(next) = line_search(&mut objective, &now, &direction, slope, initial, settings)? else {
            if !first && 0.5 * slope < HIDDEN {
                break End::Converged;
            }
            if !first {
                memory.clear(); // try once more along the gradient
                continue;
            }
            // Where the maximum is near and nothing better is found, it has been reached.
            break if near || 0.5 * slope * initial < settings.gain { End::Converged } else { End::Stuck };
        };
        iterations += 1;
        let gain = next.value - now.value;
        remember(&mut memory, &now, &next);
        now = next;
        if gain < settings.gain && !first {
            break End::Converged;
        }
    };
    Ok(Some(Outcome {
        x: now.x,
        curvature: Curvature { pairs: memory, near: false },
        value: now.value,
        end,
        iterations,
        #[cfg(test)]
        evaluations: objective.evaluations,
    }))
}

/// Sets to 0 the components of a direction that would leave their bounds at once: the slope along it must be that of the
/// function.
fn stay_inside(direction: &mut [f64], x: &[f64], bounds: &[(f64, f64)]) {
    for ((d, x), (lo, hi)) in direction.iter_mut().zip(x).zip(bounds) {
        if (*d < 0.0 && x <= lo) || (*d > 0.0 && x >= hi) {
            *d = 0.0;
        }
    }
}

fn remember(memory: &mut VecDeque<Pair>, now: &Trial, next: &Trial) {
    let step: Vec<f64> = next.x.iter().zip(&now.x).map(|(a, b)| a - b).collect();
    let change: Vec<f64> = now.gradient.iter().zip(&next.gradient).map(|(a, b)| a - b).collect();
    let curvature = dot(&step, &change);
    if curvature > 1e-12 * dot(&change, &change).sqrt() * dot(&step, &step).sqrt() {
        if memory.len() == MEMORY {
            memory.pop_front();
        }
        memory.push_back((step, change, curvature));
    }
}

/// The inverse Hessian of the memory times the gradient.
fn two_loop(memory: &VecDeque<Pair>, gradient: &[f64]) -> Vec<f64> {
    let mut direction = gradient.to_vec();
    let mut factors = Vec::with_capacity(memory.len());
    for (step, change, curvature) in memory.iter().rev() {
        let factor = dot(step, &direction) / curvature;
        add_scaled(&mut direction, -factor, change);
        factors.push(factor);
    }
    if let Some((_, change, curvature)) = memory.back() {
        let scale = curvature / dot(change, change);
        direction.iter_mut().for_each(|d| *d *= scale);
    }
    for ((step, change, curvature), factor) in memory.iter().zip(factors.iter().rev()) {
        let correction = factor - dot(change, &direction) / curvature;
        add_scaled(&mut direction, correction, step);
    }
    direction
}

/// A point along `direction` that meets the strong Wolfe conditions, or at least the best increase that was seen.
fn line_search<F: FnMut(&[f64], &mut [f64]) -> Result<Option<f64>>>(
    objective: &mut Objective<'_, F>,
    now: &Trial,
    direction: &[f64],
    slope: f64,
    initial: f64,
    settings: Settings,
) -> Result<Option<Trial>> {
    let budget = settings.most_evaluations.saturating_sub(objective.evaluations).max(1);
    let (mut low, mut low_value, mut low_slope) = (0.0, now.value, slope);
    let mut high: Option<f64> = None;
    let mut step = initial;
    let mut best: Option<Trial> = None;
    for _ in 0..TRIALS.min(budget) {
        if (step - low).abs() * slope < HARDLY * settings.gain {
            break; // where it now looks nothing more is to be gained
        }
        let mut x = now.x.clone();
        add_scaled(&mut x, step, direction);
        let trial = objective.at(x)?;
        let Some(trial) = trial else {
            high = Some(step);
            step = 0.5 * (low + step);
            continue;
        };
        let trial_slope = dot(&trial.gradient, direction);
        if trial.value < now.value + INCREASE * step * slope || trial.value < low_value {
            high = Some(step);
            step = interpolate(low, low_value, low_slope, step, trial.value, trial_slope);
            continue;
        }
        let good_enough = trial_slope.abs() <= CURVATURE * slope;
        let end = step;
        if trial_slope >= 0.0 {
            (low, low_value, low_slope) = (step, trial.value, trial_slope);
            step = high.map_or(2.5 * step, |high| 0.5 * (low + high));
        } else {
            let back = interpolate(low, low_value, low_slope, step, trial.value, trial_slope);
            high = Some(low);
            (low, low_value, low_slope) = (step, trial.value, trial_slope);
            step = back;
        }
        best = Some(trial);
        if good_enough || (step - end).abs() < 1e-14 * end {
            break;
        }
    }
    Ok(best)
}

/// The maximum between two points of the cubic through their values and slopes, kept away from both.
fn interpolate(a: f64, value_a: f64, slope_a: f64, b: f64, value_b: f64, slope_b: f64) -> f64 {
    let width = b - a;
    let d1 = slope_a + slope_b - 3.0 * (value_b - value_a) / width;
    let root = (d1 * d1 - slope_a * slope_b).sqrt() * width.signum();
    let cubic = b - width * (slope_b - root - d1) / (slope_b - slope_a - 2.0 * root);
    let (lo, hi) = (a.min(b) + 0.1 * width.abs(), a.max(b) - 0.1 * width.abs());
    if cubic.is_finite() { cubic.clamp(lo, hi) } else { 0.5 * (a + b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIGHT: Settings = Settings { gain: 1e-14, most_evaluations: 500, first_step: 0.3 };
    const FREE: (f64, f64) = (f64::NEG_INFINITY, f64::INFINITY);

    fn rosenbrock(x: &[f64], g: &mut [f64]) -> f64 {
        g[0] = 2.0 * (1.0 - x[0]) + 400.0 * x[0] * (x[1] - x[0] * x[0]);
        g[1] = -200.0 * (x[1] - x[0] * x[0]);
        -(1.0 - x[0]).powi(2) - 100.0 * (x[1] - x[0] * x[0]).powi(2)
    }

    #[test]
    fn climbs_the_banana() {
        let out = maximise(vec![-1.2, 1.0], Curvature::default(), &[FREE; 2], TIGHT, |x, g| Ok(Some(rosenbrock(x, g))))
            .unwrap()
            .unwrap();
        assert_eq!(out.end, End::Converged);
        assert!((out.x[0] - 1.0).abs() < 1e-5 && (out.x[1] - 1.0).abs() < 1e-5, "{:?}", out.x);
        assert!(out.evaluations < 80, "{}", out.evaluations);
    }

    #[test]
    fn stops_at_a_bound_and_backs_away_from_where_there_is_no_value() {
        let out = maximise(vec![0.0], Curvature::default(), &[(-5.0, 2.0)], TIGHT, |x, g| {
            g[0] = -2.0 * (x[0] - 3.0);
            Ok((x[0] < 2.5).then_some(-(x[0] - 3.0).powi(2)))
        });
        assert_eq!(out.unwrap().unwrap().x, [2.0]);
        let out = maximise(vec![0.0], Curvature::default(), &[FREE], TIGHT, |x, g| {
            g[0] = -2.0 * (x[0] - 3.0);
            Ok((x[0] < 3.1).then_some(-(x[0] - 3.0).powi(2)))
        });
        assert!((out.unwrap().unwrap().x[0] - 3.0).abs() < 1e-6);
    }

    #[test]
    fn says_when_the_budget_ran_out() {
        let settings = Settings { most_evaluations: 5, ..TIGHT };
        let out =
            maximise(vec![-1.2, 1.0], Curvature::default(), &[FREE; 2], settings, |x, g| Ok(Some(rosenbrock(x, g))))
                .unwrap()
                .unwrap();
        assert_eq!(out.end, End::Evaluations);
        assert!(out.evaluations <= 6);
    }
}
