//! A scale of f that varies over the window: whether the events speak for one, and what its evidence is (docs/derivation.md (81), (82)).
//!
//! The logarithms γ of the scale at the knots have independent normal priors. They are searched for together with Θ, and stay at their best: their
//! evidence is that of a bell about it, whose curvature comes from differences of envelope gradients.

use super::OnLattice;
use super::level::Level;
use crate::error::Result;
use crate::field::lattice::{Innovation, Optimum, Theta};
use crate::infer::beliefs::SCALES;
use crate::infer::lbfgs::Curvature;
use crate::infer::search::{Kind, Look, Run, Search};
use crate::numerics::linalg::{self, Matrix};
use std::f64::consts::TAU;

/// Knots of the scale on a line, and on each axis of a plane.
const KNOTS: usize = 16;
const KNOTS_OF_A_PLANE: usize = 6;
/// By how much a logarithm of the scale is moved for the curvature, and how near (nats) q is brought to its optimum there.
const STEP: f64 = 0.1;
const NEAR: f64 = 1e-4;
/// About so many natural steps are made in all, which may take so many seconds.
const STEPS: f64 = 200.0;
const MOST_SECONDS: f64 = 4.0;

/// Knots of a scale that varies; none where it cannot.
pub(super) fn knots(dims: usize) -> usize {
    match dims {
        1 => KNOTS,
        2 => KNOTS_OF_A_PLANE * KNOTS_OF_A_PLANE,
        _ => 0,
    }
}

impl OnLattice<'_> {
    /// By how many nats a scale that varies promises to raise the evidence, at the best Θ without one; nothing where it cannot vary, or is not affordable.
    ///
    /// The bound rises by g_k = Σ_j b_k (E ε_j² − 1) per unit of γ_k, ε_j the innovations, and its curvature is at most h_k = 2 Σ_j b_k (1 − Var ε_j): what the
    /// events tell of them.
    pub(super) fn promise(&self, level: &Level, theta: &Theta, optimum: &Optimum) -> Option<f64> {
        let prior = level.lattice.prior();
        let knots = knots(self.window.dims());
        if knots == 0 || !prior.can_vary() || STEPS * self.cost(level) > MOST_SECONDS {
            return None;
        }
        let said = optimum.innovations(&level.lattice, theta);
        let slopes = prior.by_knot(knots, |j| said[j].variance + said[j].mean_square - 1.0);
        let known = prior.by_knot(knots, |j| 2.0 * told(said[j]));
        let own = SCALES.powi(-2);
        let gain = |(slope, known): (&f64, &f64)| 0.5 * slope * slope / (known + own) - 0.5 * (1.0 + known / own).ln();
        Some(slopes.iter().zip(&known).map(gain).map(|gain| gain.max(0.0)).sum())
    }

    /// Holds the scale where it is.
    fn hold_scale(&mut self, scale: &[f64]) {
        let first = self.ranges.len() + 2;
        for (slot, value) in self.layout.slots[first..].iter_mut().zip(scale) {
            slot.fixed = Some(*value);
        }
    }
}

/// How much the events tell of an innovation: 1 if they determine it.
fn told(innovation: Innovation) -> f64 {
    (1.0 - innovation.variance).clamp(0.0, 1.0)
}

impl<'a> Search<'_, '_, OnLattice<'a>> {
    /// Holds the scale at its best. Returns the logarithm of the volume of a bell about it, which its evidence has beside the objective.
    pub(super) fn hold_scale(&mut self, run: &mut Run<OnLattice<'a>>) -> Result<f64> {
        let log_volume = self.log_volume_of_scale(run)?;
        self.kind.hold_scale(&run.theta.scale);
        run.curvature = Curvature::near();
        Ok(log_volume)
    }

    fn log_volume_of_scale(&self, run: &Run<OnLattice<'a>>) -> Result<f64> {
        let (x, _) = self.kind.pack(&run.level, &run.theta);
        let (count, first) = (run.theta.scale.len(), x.len() - run.theta.scale.len());
        let look = |moved: Option<usize>| {
            let mut x = x.clone();
            moved.into_iter().for_each(|k| x[first + k] += STEP);
            let theta = self.kind.unpack(&run.level, &x, &run.theta);
            Look { theta, sites: run.sites.clone(), by: Some(x) }
        };
        let looks: Vec<Look<Theta>> = std::iter::once(None).chain((0..count).map(Some)).map(look).collect();
        let seen = self.evaluate_each(&run.level, &looks, (NEAR, self.kind.tuning().most_steps))?;
        let slopes: Vec<Vec<f64>> =
            seen.into_iter().map(|seen| seen.map(|(_, slopes)| slopes)).collect::<Result<_>>()?;
        let fall = |k: usize, l: usize| (slopes[0][first + l] - slopes[k + 1][first + l]) / STEP;
        let mut curvature = Matrix::from_fn(count, count, |k, l| 0.5 * (fall(k, l) + fall(l, k)));
        let own = SCALES.powi(-2);
        // What the events say can be no maximum in some direction: there the prior alone is counted on.
        let diagonal: f64 = (0..count).map(|k| curvature[(k, k)].max(own).ln()).sum();
        let is_maximum = linalg::cholesky(&mut curvature).is_ok();
        let log_determinant = if is_maximum { linalg::log_determinant(&curvature) } else { diagonal };
        Ok(0.5 * (count as f64 * TAU.ln() - log_determinant))
    }
}
