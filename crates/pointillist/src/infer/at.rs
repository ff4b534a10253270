//! q at its optimum for one Θ: by dense matrices (`natural.rs`) or axis by axis (`grid.rs`).

use super::grid::{self, GridProblem};
use super::lbfgs::Curvature;
use super::observed::{Seen, Tensor};
use super::sites::{Optimum, Sites};
use super::{Problem, State, natural};
use crate::basis::{Basis, Features, GridPoints, Hyper, HyperBar, RegionFeatures, Scattered, ScatteredBasis};
use crate::bound::{self, Bound, Gaussian, Marginals, bound_adjoint};
use crate::error::{Error, Result};
use crate::numerics::linalg;
use crate::points::Points;
use crate::posterior::{Field, InducingField, Posterior, PosteriorBasis};
use crate::window::Window;

/// q at its optimum for one Θ.
pub(super) enum At<'a> {
    Dense(Box<ScatteredBasis>, Box<Features>, Optimum<natural::Solved>),
    Grid(Box<GridProblem<'a>>, Optimum<grid::Solved>),
}

impl Problem<'_> {
    /// Natural steps from `sites` until one gains less than `tolerance` nats, at most `most` of them.
    pub(super) fn at(
        &self,
        hyper: &Hyper,
        locations: &Points,
        moving: bool,
        sites: Sites,
        tolerance: f64,
        most: usize,
    ) -> Result<At<'_>> {
        match &self.observed.seen {
            Seen::Points(points, weights) => {
                let set = if moving { Scattered::moving(locations.clone()) } else { Scattered::new(locations.clone()) };
                let basis = set.basis(hyper, self.prior_mean, self.jitter)?;
                let features = basis.features(points, &self.window);
                let optimum = natural::maximise(&features, weights, sites, tolerance, most)?;
                Ok(At::Dense(Box::new(basis), Box::new(features), optimum))
            }
            Seen::Tensor(Tensor { axes, weights }) => {
                let grid = GridPoints::of(locations)
                    .ok_or_else(|| Error::setting("inducing", "some points", "must be a full grid here"))?;
                let basis = grid.basis(hyper, self.prior_mean, self.jitter)?;
                let problem = GridProblem::new(basis, axes, weights, &self.window, self.spare.clone())?;
                let optimum = problem.maximise(sites, tolerance, most)?;
                Ok(At::Grid(Box::new(problem), optimum))
            }
        }
    }

    /// What was learned before as a start, if the kernel is still the same. f grows with the root of the number of events.
    pub(super) fn continued(&self, before: &Posterior, start: &Hyper) -> Option<State> {
        let PosteriorBasis::Inducing(field) = before.basis() else { return None };
        if field.hyper.kernel.parameter_names() != start.kernel.parameter_names() {
            return None;
        }
        let f = self.marginals(field).ok()?;
        let times = (self.events as f64 / before.field().expected(&self.window).ok()?).sqrt();
        let hyper = Hyper { kernel: field.hyper.kernel.clone().times(times * times), mean: times * field.hyper.mean };
        let mean = f.mean.iter().map(|f| times * f).collect();
        let sites = Sites::of(&Marginals { mean, variance: f.variance });
        Some(State { hyper, locations: field.locations.clone(), sites, curvature: Curvature::near() })
    }

    /// Mean and variance of f where this fit sees events.
    fn marginals(&self, field: &InducingField) -> Result<Marginals> {
        match (&self.observed.seen, GridPoints::of(&field.locations)) {
            (Seen::Tensor(Tensor { axes, weights }), Some(grid)) => {
                let basis = grid.basis(&field.hyper, field.prior_mean, field.jitter)?;
                let problem = GridProblem::new(basis, axes, weights, &self.window, self.spare.clone())?;
                Ok(problem.marginals(&field.q.mean, &field.q.covariance()))
            }
            (Seen::Points(points, _), _) => field.marginals(points),
            _ => Err(Error::NoEvents), // inducing points anywhere do not go axis by axis
        }
    }
}

impl At<'_> {
    /// Whether K was factored axis by axis.
    pub(super) fn is_by_axis(&self) -> bool {
        matches!(self, At::Grid(..))
    }

    pub(super) fn bound(&self) -> f64 {
        match self {
            At::Dense(_, _, optimum) => optimum.step.bound,
            At::Grid(_, optimum) => optimum.step.bound,
        }
    }

    /// Natural steps that were taken, and whether they reached the optimum.
    pub(super) fn steps(&self) -> (usize, bool) {
        match self {
            At::Dense(_, _, optimum) => (optimum.evaluations, optimum.converged),
            At::Grid(_, optimum) => (optimum.evaluations, optimum.converged),
        }
    }

    pub(super) fn into_sites(self) -> Sites {
        match self {
            At::Dense(_, _, optimum) => optimum.sites,
            At::Grid(_, optimum) => optimum.sites,
        }
    }

    pub(super) fn region(&self) -> &RegionFeatures {
        match self {
            At::Dense(_, features, _) => &features.region,
            At::Grid(problem, _) => problem.region(),
        }
    }

    pub(super) fn gaussian(&self) -> Result<Gaussian> {
        match self {
            At::Dense(_, _, optimum) => optimum.step.gaussian(),
            At::Grid(_, optimum) => optimum.step.gaussian(),
        }
    }

    /// The bound, and its gradient by Θ (and Z): that at fixed q, which is the whole one at the optimum of q.
    pub(super) fn gradient(&self, problem: &Problem<'_>) -> Result<(f64, HyperBar)> {
        match (self, &problem.observed.seen) {
            (At::Dense(basis, features, optimum), Seen::Points(points, weights)) => {
                let (bound, bar, _) = bound_adjoint(features, weights, &optimum.step.gaussian()?, false);
                Ok((bound.total(), basis.features_adjoint(points, &problem.window, features, bar, &[])))
            }
            (At::Grid(grid, optimum), _) => Ok((optimum.step.bound, grid.gradient(optimum))),
            _ => Err(Error::NoEvents), // dense matrices are for points alone
        }
    }

    /// The bound of a q, in its parts: that of the optimum if it is axis by axis.
    pub(super) fn parts(&self, problem: &Problem<'_>, q: &Gaussian) -> Bound {
        match self {
            At::Dense(_, features, _) => bound::bound(features, problem.observed.seen.weights(), q),
            At::Grid(grid, optimum) => grid.parts(optimum),
        }
    }

    /// The prior as it was factored.
    pub(super) fn basis(&self) -> &dyn Basis {
        match self {
            At::Dense(basis, ..) => &**basis,
            At::Grid(problem, _) => problem.basis(),
        }
    }

    /// Σ w E[log f²] over other nodes, for the q of [`At::parts`].
    fn data_term(&self, seen: &Seen, q: &Gaussian, window: &Window) -> Result<f64> {
        match (self, seen) {
            (At::Grid(grid, optimum), Seen::Tensor(Tensor { axes, weights })) => {
                grid.data_term(optimum, axes, weights, window)
            }
            (At::Dense(basis, features, _), Seen::Points(points, weights)) => {
                let f = bound::marginals(&basis.at(points), features.offset, q);
                Ok(linalg::dot(weights, &bound::expected_logs(&f).value))
            }
            _ => Err(Error::NoEvents), // both see the events in the same way
        }
    }

    /// What nodes in place of events leave out of the data term `own` of a q, as far as cells of another size show.
    pub(super) fn left_out(&self, problem: &Problem<'_>, q: &Gaussian, own: f64) -> Result<Option<f64>> {
        let Some((other, share)) = &problem.observed.other else { return Ok(None) };
        let other = self.data_term(other, q, &problem.window)?;
        Ok(Some(share * (other - own).abs()))
    }
}
