//! q(w) on the lattice at fixed Θ: the natural steps of `infer/sites.rs` (docs/derivation.md (14) to (18)) with the
//! identity replaced by Q, A by the mass matrix and a(x) by the hats at x:
//!
//!   P = Q + 2𝓜 + Σ w η2 ψψᵀ,   P m = Σ w (η1 − η2 ū) ψ − 2ū p,
//!   bound = Σ w E[log f²] − ∫μ² − ½ mᵀQm − ½ log|P| + ½ log|Q| + ½ Σ w η2 ψᵀSψ.
//!
//! Cost of a step: one factor of P, its inverse on the diagonals of Q, and a few dozen operations an event.

use super::{Diagonals, Factor, Hats, Lattice, Mass, Theta};
use crate::bound::{self, ExpectedLogs, Marginals};
use crate::error::{Error, Result};
use crate::infer::sites::{self, Clamp, EventTerms, Sites};
use crate::numerics::linalg;
use crate::numerics::special::expected_log_square;
use crate::parallel;

/// Derivatives of the bound by Θ.
#[derive(Debug, Clone, PartialEq)]
pub struct Slopes {
    /// By log range.
    pub log_range: f64,
    /// By log variance.
    pub log_variance: f64,
    /// By ū.
    pub mean: f64,
    /// By each log s_r.
    pub log_stretch: Vec<f64>,
}

/// q(w) = N(mean, P⁻¹) at its optimum.
#[derive(Debug, Clone)]
pub struct Optimum {
    /// Mean of w. // (M)
    pub mean: Vec<f64>,
    /// Covariance of w between neighbours, and wherever else Q is not zero.
    pub covariance: Diagonals,
    /// P, the precision of w.
    pub precision: Diagonals,
    /// ū.
    pub offset: f64,
    /// The lower bound on log p(events | Θ).
    pub bound: f64,
    /// Where the steps ended: a warm start for another Θ or another lattice.
    pub sites: Sites,
    /// Steps that were tried.
    pub evaluations: usize,
    /// Whether the last step gained less than the tolerance.
    pub converged: bool,
    slopes: Slopes,
}

impl Optimum {
    /// Mean and variance of f at points.
    pub fn marginals(&self, hats: &Hats) -> Marginals {
        marginals(hats, self.offset, &self.mean, &self.covariance)
    }

    /// E[log f²] at points: threads over blocks of them.
    pub(crate) fn expected_logs(&self, hats: &Hats) -> Vec<f64> {
        let f = self.marginals(hats);
        let block = parallel::block_length(hats.len());
        let blocks = f.mean.chunks(block).zip(f.variance.chunks(block));
        let parts = parallel::map(blocks, 16 * hats.len(), |(mean, variance)| {
            mean.iter().zip(variance).map(|(m, v)| expected_log_square(*m, *v).value).collect::<Vec<_>>()
        });
        parts.concat()
    }

    /// `∫ E[f²]` over a window: the expected number of events there.
    pub fn integral(&self, mass: &Mass) -> f64 {
        mass.integral_of_square(self.offset, &self.mean) + self.covariance.trace_of_product(&mass.square)
    }

    /// The gradient of the bound by Θ, q at its optimum (envelope theorem).
    pub fn slopes(&self) -> &Slopes {
        &self.slopes
    }

    /// The q of −f, which is the same intensity.
    pub(super) fn negated(mut self) -> Self {
        self.mean.iter_mut().for_each(|m| *m = -*m);
        self.sites = self.sites.negated();
        (self.offset, self.slopes.mean) = (-self.offset, -self.slopes.mean);
        self
    }

    /// The factor of P, for draws and for covariances between any two places. It is large, so it is made when asked
    /// for.
    pub fn factor(&self) -> Result<Factor> {
        Factor::new(&self.precision)
    }

    /// Makes M independent standard normal numbers a draw of w from q; `factor` is that of P.
    pub fn draw(&self, factor: &Factor, mut noise: Vec<f64>) -> Vec<f64> {
        factor.solve_lower_transposed(&mut noise);
        linalg::add_scaled(&mut noise, 1.0, &self.mean);
        noise
    }
}

/// Mean and variance of f at points, f = offset + Σ w ψ and w of this mean and covariance: threads over blocks of them.
pub(super) fn marginals(hats: &Hats, offset: f64, mean: &[f64], covariance: &Diagonals) -> Marginals {
    let pairs = hats.pair_places(covariance);
    let block = parallel::block_length(hats.len());
    let blocks = (0..hats.len()).step_by(block).map(|start| start..hats.len().min(start + block));
    let parts = parallel::map(blocks, hats.len() * pairs.len(), |block| {
        block.map(|n| (offset + hats.sum(n, mean), hats.quadratic(n, &pairs, covariance))).collect::<Vec<_>>()
    });
    let (mean, variance) = parts.into_iter().flatten().unzip();
    Marginals { mean, variance }
}

/// q(w) = N(mean, P⁻¹), P⁻¹ where it is asked for.
struct Solved {
    mean: Vec<f64>,
    covariance: Diagonals,
    precision: Diagonals,
}

/// q(w) from sites, its bound, and f at the events.
type Step = sites::Step<Solved>;

/// The bound as a function of sites.
pub(super) struct Problem<'a> {
    lattice: &'a Lattice,
    hats: &'a Hats,
    weights: &'a [f64],
    theta: &'a Theta,
    precision: Diagonals,
    log_determinant: f64,
}

impl<'a> Problem<'a> {
    pub(super) fn new(lattice: &'a Lattice, hats: &'a Hats, weights: &'a [f64], theta: &'a Theta) -> Self {
        let precision = lattice.prior.precision(theta);
        let log_determinant = lattice.prior.log_determinant(theta);
        Self { lattice, hats, weights, theta, precision, log_determinant }
    }

    /// Natural steps until one gains less than `tolerance` nats, at most `most` of them.
    pub(super) fn maximise(&self, sites: Sites, tolerance: f64, most: usize, clamp: Clamp) -> Result<Optimum> {
        let found = sites::maximise(sites, tolerance, most, clamp, |sites| self.evaluate(sites))?;
        let slopes = self.slopes(&found.step);
        let sites::Optimum { step: Step { q, bound, .. }, sites, evaluations, converged } = found;
        let Solved { mean, covariance, precision } = q;
        let offset = self.theta.mean;
        Ok(Optimum { mean, covariance, precision, offset, bound, sites, evaluations, converged, slopes })
    }

    /// −½ [tr((S + m mᵀ) dQ) − d log|Q|], and by ū: Σ w g1 − 2ū|T| − 2pᵀm.
    fn slopes(&self, step: &Step) -> Slopes {
        let (prior, mass) = (&self.lattice.prior, &self.lattice.mass);
        let of_precision = prior.precision_slopes(self.theta, &step.q.covariance, &step.q.mean);
        let of_log = prior.log_determinant_slopes(self.theta);
        let stretch = of_log.log_stretch.iter().zip(&of_precision.log_stretch);
        let pull = linalg::dot(self.weights, &step.events.slope) - 2.0 * linalg::dot(&mass.linear, &step.q.mean);
        Slopes {
            log_range: 0.5 * (of_log.log_range - of_precision.log_range),
            log_variance: 0.5 * (of_log.log_variance - of_precision.log_variance),
            mean: pull - 2.0 * self.theta.mean * mass.measure,
            log_stretch: stretch.map(|(log, precision)| 0.5 * (log - precision)).collect(),
        }
    }

    /// q(w) from sites, and its bound.
    fn evaluate(&self, sites: &Sites) -> Result<Step> {
        let (precision, mut mean) = self.combine(sites);
        let factor = Factor::new(&precision)?;
        factor.solve(&mut mean);
        let covariance = factor.selected_inverse(self.precision.shifts());
        let f = marginals(self.hats, self.theta.mean, &mean, &covariance);
        let ExpectedLogs { value, slope, by_variance } = bound::expected_logs(&f);
        let curvature = by_variance.iter().map(|g| -2.0 * g).collect();
        let Marginals { mean: level, variance } = f;
        let spread = (0..level.len()).map(|n| self.weights[n] * sites.precision[n] * variance[n]).sum::<f64>();
        let square = linalg::dot(&mean, &self.precision.times(&mean));
        let bound = linalg::dot(self.weights, &value) - self.lattice.mass.integral_of_square(self.theta.mean, &mean)
            + 0.5 * (self.log_determinant - factor.log_determinant() + spread - square);
        if !bound.is_finite() {
            let Theta { range, variance, mean, stretch } = self.theta;
            return Err(Error::NotANumber { parameters: [&[*range, *variance, *mean], &stretch[..]].concat() });
        }
        let events = EventTerms { level, slope, curvature };
        Ok(Step { q: Solved { mean, covariance, precision }, bound, events })
    }

    /// P, and P m.
    fn combine(&self, sites: &Sites) -> (Diagonals, Vec<f64>) {
        let (mass, offset) = (&self.lattice.mass, self.theta.mean);
        let mut precision = self.precision.clone();
        precision.add_scaled(2.0, &mass.square);
        self.hats.add_squares(&mut precision, |n| self.weights[n] * sites.precision[n]);
        let mut pull: Vec<f64> = mass.linear.iter().map(|p| -2.0 * offset * p).collect();
        self.hats.add_sums(&mut pull, |n| self.weights[n] * (sites.linear[n] - sites.precision[n] * offset));
        (precision, pull)
    }
}
