//! f on a lattice at one Θ: the natural step of `gaussian/step.rs` with hats as rows, and the gradient of its bound by Θ.

use super::hats::HatRows;
use super::{Hats, Innovation, Lattice, Theta};
use crate::error::{Error, Result};
use crate::gaussian::bordered::BorderedSpread;
use crate::gaussian::step::{self, PriorOf, Problem, Said, Step, Until};
use crate::gaussian::{Bordered, BorderedDesign, Design, Diagonals, Region, Sites};
use crate::numerics::linalg::{self, Matrix};
use crate::terms::{LinkFormula, Marginals, Part};

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
    /// By the logarithm of the scale at each knot.
    pub log_scale: Vec<f64>,
}

/// Hats with the unknowns beside the lattice: a constant, covariates.
pub(crate) type Rows<'a> = BorderedDesign<HatRows<'a>>;

/// The unknowns beside a lattice.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Beside {
    /// The prior standard deviation of the constant, if that is among them.
    pub(crate) constant: Option<f64>,
    /// Number of regressors of covariates, which follow.
    pub(crate) covariates: usize,
}

impl Beside {
    /// How many there are.
    pub(crate) fn len(self) -> usize {
        usize::from(self.constant.is_some()) + self.covariates
    }

    /// Rows of hats. Hats without values of regressors have them at 0, where covariates are at their means.
    pub(crate) fn rows<'a>(self, hats: &'a Hats, shifts: &'a [usize]) -> Rows<'a> {
        let mut rows = BorderedDesign::with_constant(HatRows { hats, shifts }, self.constant);
        match hats.dense.is_empty() {
            true => rows.dense.extend(vec![vec![0.0; hats.len()]; self.covariates]),
            false => rows.dense.extend(hats.dense.iter().cloned()),
        }
        rows
    }
}

/// Weighted points on a lattice that say something of f.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Weighted<'a> {
    pub(crate) hats: &'a Hats,
    pub(crate) weights: &'a [f64],
}

/// q of the hats' coefficients w, and of the unknowns beside them, at its optimum.
#[derive(Clone)]
pub struct Optimum {
    /// Mean of the unknowns. // (M + k)
    pub mean: Vec<f64>,
    /// What their variances are read from.
    pub(crate) spread: BorderedSpread<Diagonals>,
    /// β, or the prior mean of the constant.
    pub offset: f64,
    /// The lower bound on log p(events | Θ).
    pub bound: f64,
    /// Where the steps ended: a warm start for another Θ or another lattice.
    pub sites: Sites,
    /// Steps that were tried.
    pub evaluations: usize,
    /// Whether the last step gained less than the tolerance.
    pub converged: bool,
    /// What another natural step is foreseen to gain.
    pub(crate) lacks: f64,
    /// Σ w E[log λ] over the events, or what stands for them.
    pub(crate) log_rate: f64,
    /// −Σ w E[λ] over the nodes of the integral, for a link that has sites there.
    pub(crate) minus_integral: Option<f64>,
    pub(crate) beside: Beside,
    slopes: Slopes,
}

impl Lattice {
    /// Rows of hats, for this lattice's unknowns.
    pub(crate) fn rows<'a>(&self, hats: &'a Hats, shifts: &'a [usize]) -> Rows<'a> {
        self.beside.rows(hats, shifts)
    }

    /// Σ p ψψᵀ with the border of a constant: hats add up to 1, so that Σ p ψ is a sum of its rows. Without covariates.
    pub(crate) fn with_sums(&self, sums: Diagonals) -> Bordered<Diagonals> {
        let Some(z) = self.beside.constant else { return Bordered::beside(sums, 0) };
        let border: Vec<f64> = sums.times(&vec![1.0; sums.size()]).iter().map(|row| z * row).collect();
        let corner = Matrix::scaled_identity(1, z * border.iter().sum::<f64>());
        Bordered { inner: sums, border, corner }
    }

    /// What sites at weighted points add to the precision of the unknowns: Σ p (ψ, z)(ψ, z)ᵀ.
    pub(crate) fn precision_of_sites(&self, said: &[(Weighted<'_>, &[f64])]) -> Bordered<Diagonals> {
        let mut sums = Diagonals::zeros(self.grid.size(), self.grid.neighbour_shifts());
        if self.beside.covariates == 0 {
            for (Weighted { hats, weights }, precision) in said {
                hats.add_squares(&mut sums, |n| weights[n] * precision[n]);
            }
            return self.with_sums(sums);
        }
        let count = self.beside.len();
        let border = vec![0.0; self.grid.size() * count];
        let mut all = Bordered { inner: sums, border, corner: Matrix::zeros(count, count) };
        for (Weighted { hats, weights }, precision) in said {
            let weighed: Vec<f64> = weights.iter().zip(*precision).map(|(w, p)| w * p).collect();
            let nothing = vec![0.0; weighed.len()];
            self.rows(hats, &[]).add_sites(&weighed, &nothing, &mut all, &mut vec![0.0; self.size()]);
        }
        all
    }

    /// Q, with the unit prior of the unknowns beside it.
    pub(crate) fn precision(&self, theta: &Theta) -> Bordered<Diagonals> {
        Bordered::beside(self.prior.precision(theta), self.beside.len())
    }

    /// q at its optimum for fixed Θ. The events come first; the nodes of the integral second, for a link with sites there.
    pub(crate) fn optimum(
        &self,
        link: &dyn LinkFormula,
        said: &[Weighted<'_>],
        theta: &Theta,
        sites: Sites,
        until: Until<'_>,
    ) -> Result<Optimum> {
        let precision = self.precision(theta);
        let shifts = precision.inner.shifts().to_vec();
        let rows: Vec<Rows<'_>> = said.iter().map(|said| self.rows(said.hats, &shifts)).collect();
        let (potentials, region) = match link.integral() {
            Part::Quadratic => (vec![link.events()], Some(&self.region)),
            Part::Sites(integral) => (vec![link.events(), integral], None),
        };
        let all = rows.iter().zip(said).zip(potentials);
        let all = all.map(|((design, said), potential)| Said { design, weights: said.weights, potential }).collect();
        let prior = PriorOf {
            precision: Some(&precision),
            mean: &vec![0.0; self.size()],
            log_determinant: self.prior.log_determinant(theta),
            offset: theta.mean,
        };
        let found = Problem::new(prior, region, all, || precision.clone()).maximise(sites, until);
        let step::Optimum { step, sites, evaluations, converged, lacks } = found.map_err(|error| theta.named(error))?;
        let slopes = self.slopes(theta, said, region, &step);
        let Step { mean, spread, bound, sums, .. } = step;
        let (offset, beside, log_rate, minus_integral) = (theta.mean, self.beside, sums[0], sums.get(1).copied());
        Ok(Optimum {
            mean,
            spread,
            offset,
            bound,
            sites,
            evaluations,
            converged,
            lacks,
            log_rate,
            minus_integral,
            beside,
            slopes,
        })
    }

    /// −½ [tr((S + m mᵀ) dQ) − d log|Q|], and by ū: Σ w g1 − 2ū|T| − 2pᵀm.
    fn slopes(
        &self,
        theta: &Theta,
        said: &[Weighted<'_>],
        region: Option<&Region<Bordered<Diagonals>>>,
        step: &Step<BorderedSpread<Diagonals>>,
    ) -> Slopes {
        let w = &step.mean[..self.grid.size()];
        let of_precision = self.prior.precision_slopes(theta, &marginal(&step.spread), w);
        let of_log = self.prior.log_determinant_slopes(theta);
        let stretch = of_log.log_stretch.iter().zip(&of_precision.log_stretch);
        let scale = of_log.log_scale.iter().zip(&of_precision.log_scale);
        let mut from = 0;
        let mut pull = 0.0;
        for said in said {
            pull += linalg::dot(said.weights, &step.terms.slope[from..from + said.weights.len()]);
            from += said.weights.len();
        }
        let of_region =
            |region: &Region<_>| -2.0 * linalg::dot(&region.linear, &step.mean) - 2.0 * theta.mean * region.measure;
        Slopes {
            log_range: 0.5 * (of_log.log_range - of_precision.log_range),
            log_variance: 0.5 * (of_log.log_variance - of_precision.log_variance),
            mean: pull + region.map_or(0.0, of_region),
            log_stretch: stretch.map(|(log, precision)| 0.5 * (log - precision)).collect(),
            log_scale: scale.map(|(log, precision)| 0.5 * (log - precision)).collect(),
        }
    }
}

/// ∫Var f over a region.
pub(crate) fn of_variance(region: &Region<Bordered<Diagonals>>, spread: &BorderedSpread<Diagonals>) -> f64 {
    let mut variance = region.residual + marginal(spread).trace_of_product(&region.square.inner);
    let of_unknowns = spread.corner_covariance();
    let size = spread.inner.size();
    // cov(w, ζ) = −U T⁻¹
    for k in 0..of_unknowns.rows() {
        let border = &region.square.border[k * size..][..size];
        for l in 0..of_unknowns.rows() {
            let turned = linalg::dot(border, &spread.border[l * size..][..size]);
            variance += of_unknowns[(k, l)] * (region.square.corner[(k, l)] - 2.0 * turned);
        }
    }
    variance
}

/// The covariance of w, the unknowns beside it integrated out: P⁻¹ + U T⁻¹ Uᵀ on the diagonals of P⁻¹.
pub(crate) fn marginal(spread: &BorderedSpread<Diagonals>) -> std::borrow::Cow<'_, Diagonals> {
    if spread.border.is_empty() {
        return std::borrow::Cow::Borrowed(&spread.inner);
    }
    let size = spread.inner.size();
    let mut covariance = spread.inner.clone();
    let of_unknowns = spread.corner_covariance();
    for k in 0..of_unknowns.rows() {
        for l in 0..of_unknowns.rows() {
            let [a, b] = [k, l].map(|k| &spread.border[k * size..][..size]);
            covariance.add_outer(of_unknowns[(k, l)], a, b);
        }
    }
    std::borrow::Cow::Owned(covariance)
}

impl Optimum {
    /// Mean and variance of f at points.
    pub fn marginals(&self, hats: &Hats) -> Marginals {
        let shifts = self.spread.inner.shifts();
        let rows = self.beside.rows(hats, shifts);
        let (mut mean, variance) = rows.moments(&self.mean, &self.spread);
        mean.iter_mut().for_each(|f| *f += self.offset);
        Marginals { mean, variance }
    }

    /// ∫E[f²] over a region.
    pub fn expected(&self, region: &Region<Bordered<Diagonals>>) -> f64 {
        region.of_square(self.offset, &self.mean) + of_variance(region, &self.spread)
    }

    /// The covariance of the hats' coefficients between neighbours, and wherever else Q is not zero.
    pub fn covariance(&self) -> Diagonals {
        marginal(&self.spread).into_owned()
    }

    /// What q says of the innovations of the prior.
    pub(crate) fn innovations(&self, lattice: &Lattice, theta: &Theta) -> Vec<Innovation> {
        let mean = &self.mean[..lattice.grid.size()];
        lattice.prior.said_of_innovations(theta, &marginal(&self.spread), mean)
    }

    /// The gradient of the bound by Θ, q at its optimum (envelope theorem).
    pub fn slopes(&self) -> &Slopes {
        &self.slopes
    }

    /// The q of −f, which is the same intensity.
    pub(crate) fn negated(mut self) -> Self {
        self.mean.iter_mut().for_each(|m| *m = -*m);
        self.sites = self.sites.negated();
        (self.offset, self.slopes.mean) = (-self.offset, -self.slopes.mean);
        self
    }
}

impl Theta {
    /// An error about numbers that says which parameters led to them.
    fn named(&self, error: Error) -> Error {
        match error {
            Error::NotANumber { .. } | Error::NotPositiveDefinite { .. } => {
                let Theta { range, variance, mean, stretch, .. } = self;
                Error::NotANumber { parameters: [&[*range, *variance, *mean], &stretch[..]].concat() }
            }
            other => other,
        }
    }
}

#[cfg(test)]
mod tests;
