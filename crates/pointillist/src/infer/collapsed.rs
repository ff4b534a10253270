//! The default scheme: q(v) is brought to its optimum by natural steps at every Θ, and L-BFGS moves Θ (and Z) alone.
//!
//! At the optimum of q the gradient by Θ is the partial one (envelope theorem), so a step of L-BFGS costs a few warm natural steps
//! and one adjoint.

use super::parameters::Layout;
use super::{Problem, Run, State, lbfgs, natural};
use crate::basis::{Hyper, InducingSet};
use crate::bound::bound_adjoint;
use crate::error::Result;
use crate::points::Points;

/// Natural steps allowed at one Θ.
const MOST_STEPS: usize = 60;

/// Maximises the bound over Θ (and Z if it moves) from `state`, to within `gain`.
pub(super) fn maximise(problem: &mut Problem<'_>, layout: &Layout, state: State, gain: f64) -> Result<Run> {
    let x = layout.pack(&state.hyper, &state.locations);
    let bounds = layout.bounds(&state.locations);
    let settings = lbfgs::Settings { gain, most_evaluations: problem.evaluations_left(), first_step: 0.4 };
    let mut sites = state.sites.clone();
    let outcome = lbfgs::maximise(x, state.curvature.clone(), &bounds, settings, |x, gradient| {
        let (hyper, locations) = layout.unpack(x, &state.hyper, &state.locations);
        let set = problem.inducing_set(&locations, layout);
        let Ok(basis) = set.basis(&hyper, problem.prior_mean, problem.jitter) else { return Ok(None) };
        let features = basis.features(&problem.points, &problem.window);
        // The envelope gradient is wrong by the root of what q still lacks, so q must be nearer its optimum than Θ.
        let Ok(optimum) = natural::maximise(&features, &problem.weights, sites.clone(), 0.3 * gain, MOST_STEPS) else {
            return Ok(None);
        };
        problem.evaluations += optimum.evaluations;
        let Ok(q) = optimum.step.gaussian() else { return Ok(None) };
        let (bound, bar, _) = bound_adjoint(&features, &problem.weights, &q, false);
        let hyper_bar = basis.features_adjoint(&problem.points, &problem.window, &features, bar, &[]);
        let value = bound.total() + layout.gradient(x, &hyper, &hyper_bar, gradient);
        sites = optimum.sites;
        problem.report(value)?;
        Ok(Some(value))
    })?;
    let Some(outcome) = outcome else { return problem.unusable(&state) };
    let (hyper, locations) = layout.unpack(&outcome.x, &state.hyper, &state.locations);
    Ok(Run::new(hyper, locations, sites, outcome, None))
}

/// The bound at Θ after natural steps that stop early: good enough to compare starting points.
pub(super) fn quick_bound(
    problem: &mut Problem<'_>,
    hyper: &Hyper,
    locations: &Points,
    sites: natural::Sites,
) -> Result<(f64, natural::Sites)> {
    let set = problem.inducing_set_at_rest(locations);
    let basis = set.basis(hyper, problem.prior_mean, problem.jitter)?;
    let features = basis.features(&problem.points, &problem.window);
    let optimum = natural::maximise(&features, &problem.weights, sites, 0.3, 8)?;
    problem.evaluations += optimum.evaluations;
    problem.report(optimum.step.bound)?;
    Ok((optimum.step.bound, optimum.sites))
}
