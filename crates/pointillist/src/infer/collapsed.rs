//! The default scheme: q(v) is brought to its optimum by natural steps at every Θ, and L-BFGS moves Θ (and Z) alone.
//!
//! At the optimum of q the gradient by Θ is the partial one (envelope theorem), so a step of L-BFGS costs a few warm natural steps
//! and one adjoint.

use super::parameters::Layout;
use super::sites::Sites;
use super::{Problem, Run, State, lbfgs};
use crate::basis::Hyper;
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
        // The envelope gradient is wrong by the root of what q still lacks, so q must be nearer its optimum than Θ.
        let Ok(at) = problem.at(&hyper, &locations, layout.moves(), sites.clone(), 0.3 * gain, MOST_STEPS) else {
            return Ok(None);
        };
        let Ok((bound, bar)) = at.gradient(problem) else { return Ok(None) };
        let value = bound + layout.gradient(x, &hyper, &bar, gradient);
        let steps = at.steps().0;
        sites = at.into_sites();
        problem.evaluations += steps;
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
    sites: Sites,
) -> Result<(f64, Sites)> {
    let at = problem.at(hyper, locations, false, sites, 0.3, 8)?;
    let (bound, steps) = (at.bound(), at.steps().0);
    let sites = at.into_sites();
    problem.evaluations += steps;
    problem.report(bound)?;
    Ok((bound, sites))
}
