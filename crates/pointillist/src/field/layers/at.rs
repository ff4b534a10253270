//! Several fields at one Θ: the natural step of `gaussian/step.rs` with rows over all of them, and the gradient of its bound by Θ.

use super::{Layers, LayersTheta, one_of};
use crate::error::{Error, Result};
use crate::field::lattice::{HatRows, Hats, PriorSlopes, Theta, marginal};
use crate::gaussian::bordered::BorderedSpread;
use crate::gaussian::step::{self, PriorOf, Problem, Said, Step, Terms, Until};
use crate::gaussian::{Bordered, BorderedDesign, Design, Diagonals, Factor, Precision, Sites};
use crate::numerics::linalg;
use crate::terms::{Link, Marginals, Part, Potential};
use std::f64::consts::TAU;

/// Hats of several fields with the constants beside them.
pub(super) type Rows<'a> = BorderedDesign<HatRows<'a>>;

/// Weighted points that say something of one type: its events, or the nodes of the integral over its window.
pub(crate) struct Set {
    /// Which type.
    pub(crate) kind: usize,
    /// Hats of the lattice, whatever the fields are, with the regressors of covariates.
    pub(crate) hats: Hats,
    pub(crate) weights: Vec<f64>,
    pub(crate) is_integral: bool,
}

impl Set {
    /// What its points say.
    pub(crate) fn potential(&self) -> &'static dyn Potential {
        let link = Link::Log.formula();
        match link.integral() {
            Part::Sites(integral) if self.is_integral => integral,
            _ => link.events(),
        }
    }
}

/// Real numbers that were measured: y = f_kind(x) + noise of this variance.
pub(crate) struct Observed {
    pub(crate) kind: usize,
    pub(crate) hats: Hats,
    pub(crate) values: Vec<f64>,
}

/// q of the coefficients of all fields, and of the constants, at its optimum.
pub(crate) struct LayersOptimum {
    pub(crate) mean: Vec<f64>,
    pub(crate) spread: BorderedSpread<Diagonals>,
    pub(crate) bound: f64,
    pub(crate) sites: Sites,
    /// What each point says there.
    terms: Terms,
}

/// Derivatives of the bound by Θ.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LayersSlopes {
    /// By those of each field.
    pub(crate) fields: Vec<PriorSlopes>,
    /// By the loads. By type, then by field.
    pub(crate) loads: Vec<Vec<f64>>,
    /// By the logarithm of the variance of noise.
    pub(crate) log_noise: f64,
}

/// The prior, after what was measured is known.
struct Known {
    precision: Bordered<Diagonals>,
    mean: Vec<f64>,
    log_determinant: f64,
    /// log p(y).
    log_evidence: f64,
}

impl Layers {
    pub(super) fn rows<'a>(&self, hats: &'a Hats, shifts: &'a [usize]) -> Rows<'a> {
        BorderedDesign { inner: HatRows { hats, shifts }, dense: hats.dense.clone() }
    }

    /// Rows of each set.
    pub(super) fn hats_of(&self, sets: &[Set], theta: &LayersTheta) -> Vec<Hats> {
        sets.iter().map(|set| self.taking(&set.hats, theta, &one_of(set.kind, self.types()))).collect()
    }

    /// The Gaussian prior of the unknowns, given what was measured: a Gaussian again.
    fn known(&self, theta: &LayersTheta, observed: Option<(&Observed, f64)>) -> Result<Known> {
        let (mut precision, mut mean) = (self.precision(theta), self.prior_mean());
        let mut log_determinant = self.log_determinant(theta);
        let Some((observed, noise)) = observed else {
            return Ok(Known { precision, mean, log_determinant, log_evidence: 0.0 });
        };
        let hats = self.taking(&observed.hats, theta, &one_of(observed.kind, self.types()));
        let rows = self.rows(&hats, &[]);
        let count = observed.values.len();
        let off: Vec<f64> = observed.values.iter().zip(rows.levels(&mean)).map(|(y, f)| y - f).collect();
        let mut pull = vec![0.0; mean.len()];
        let scaled: Vec<f64> = off.iter().map(|off| off / noise).collect();
        rows.add_sites(&vec![1.0 / noise; count], &scaled, &mut precision, &mut pull);
        let factor = precision.clone().factor()?;
        let mut moved = pull.clone();
        factor.solve(&mut moved);
        // log N(y; Ab, noise + A Q⁻¹ Aᵀ), by the determinants before and after.
        let before = log_determinant;
        log_determinant = factor.log_determinant();
        let quadratic = linalg::dot(&off, &scaled) - linalg::dot(&pull, &moved);
        let log_evidence = -0.5 * (quadratic + log_determinant - before + count as f64 * (TAU * noise).ln());
        linalg::add_scaled(&mut mean, 1.0, &moved);
        Ok(Known { precision, mean, log_determinant, log_evidence })
    }

    /// q at its optimum for fixed Θ. `observed` is what was measured, with the variance of its noise.
    pub(crate) fn optimum(
        &self,
        (sets, observed): (&[Set], Option<(&Observed, f64)>),
        theta: &LayersTheta,
        sites: Sites,
        until: Until<'_>,
    ) -> Result<LayersOptimum> {
        let known = self.known(theta, observed)?;
        let hats = self.hats_of(sets, theta);
        let rows: Vec<Rows<'_>> = hats.iter().map(|hats| self.rows(hats, &self.shifts)).collect();
        let said = rows.iter().zip(sets);
        let said = said.map(|(design, set)| Said { design, weights: &set.weights, potential: set.potential() });
        let prior = PriorOf {
            precision: Some(&known.precision),
            mean: &known.mean,
            log_determinant: known.log_determinant,
            offset: 0.0,
        };
        let problem = Problem::new(prior, None, said.collect(), || known.precision.clone());
        let found = problem.maximise(sites, until).map_err(|error| theta.named(error))?;
        let step::Optimum { step, sites, .. } = found;
        let Step { mean, spread, bound, terms, .. } = step;
        let bound = bound + known.log_evidence;
        Ok(LayersOptimum { mean, spread, bound, sites, terms })
    }

    /// −½ [tr((S + m mᵀ) dQ) − d log|Q|] of each field; by loads, for these pairs of a type and a field, what the points say, through mean and variance there.
    pub(crate) fn slopes(
        &self,
        theta: &LayersTheta,
        (sets, observed): (&[Set], Option<(&Observed, f64)>),
        step: &LayersOptimum,
        learned: &[(usize, usize)],
    ) -> LayersSlopes {
        let covariance = marginal(&step.spread);
        let mut last: Option<(&Theta, PriorSlopes)> = None;
        let mut of_field = |l: usize| {
            let own = &theta.fields[l];
            let w: Vec<f64> = step.mean[..self.coefficients()].iter().skip(l).step_by(self.count).copied().collect();
            let of_precision = self.prior.precision_slopes(own, &self.of_field(&covariance, l), &w);
            // Fields next to each other often have one Θ.
            let of_log = match last.take() {
                Some((same, slopes)) if same == own => slopes,
                _ => self.prior.log_determinant_slopes(own),
            };
            last = Some((own, of_log.clone()));
            let half = |log: &[f64], precision: &[f64]| {
                log.iter().zip(precision).map(|(log, precision)| 0.5 * (log - precision)).collect()
            };
            PriorSlopes {
                log_range: 0.5 * (of_log.log_range - of_precision.log_range),
                log_variance: 0.5 * (of_log.log_variance - of_precision.log_variance),
                log_stretch: half(&of_log.log_stretch, &of_precision.log_stretch),
                log_scale: half(&of_log.log_scale, &of_precision.log_scale),
            }
        };
        let fields = (0..self.count).map(&mut of_field).collect();
        let mut loads = vec![vec![0.0; self.count]; self.types()];
        let of_kind = |kind: usize| -> Vec<usize> {
            learned.iter().filter(|(own, _)| *own == kind).map(|(_, field)| *field).collect()
        };
        let Terms { slope, curvature, .. } = &step.terms;
        let mut from = 0;
        for set in sets {
            let own = from..from + set.weights.len();
            from = own.end;
            let learned = of_kind(set.kind);
            if learned.is_empty() {
                continue;
            }
            let weighed = |values: &[f64]| -> Vec<f64> { set.weights.iter().zip(values).map(|(w, v)| w * v).collect() };
            let by_mean = weighed(&slope[own.clone()]);
            // Half the curvature is what a variance costs.
            let by_variance: Vec<f64> = weighed(&curvature[own]).iter().map(|c| -0.5 * c).collect();
            let said = (&by_mean[..], &by_variance[..]);
            self.add_load_slopes((&set.hats, set.kind, &learned), theta, said, step, &mut loads[set.kind]);
        }
        let mut log_noise = 0.0;
        if let Some((observed, noise)) = observed {
            let hats = self.taking(&observed.hats, theta, &one_of(observed.kind, self.types()));
            let (mean, variance) = self.rows(&hats, &self.shifts).moments(&step.mean, &step.spread);
            let by_mean: Vec<f64> = observed.values.iter().zip(&mean).map(|(y, m)| (y - m) / noise).collect();
            let squares: f64 =
                observed.values.iter().zip(mean.iter().zip(&variance)).map(|(y, (m, v))| (y - m).powi(2) + v).sum();
            log_noise = 0.5 * (squares / noise - observed.values.len() as f64);
            let by_variance = vec![-0.5 / noise; by_mean.len()];
            let (own, learned) = (&mut loads[observed.kind], of_kind(observed.kind));
            let said = (&by_mean[..], &by_variance[..]);
            self.add_load_slopes((&observed.hats, observed.kind, &learned), theta, said, step, own);
        }
        LayersSlopes { fields, loads, log_noise }
    }

    /// Adds Σ g1 E[g_l] + 2 g2 cov(g_l, f) of some points for each field that is learned.
    fn add_load_slopes(
        &self,
        (hats, kind, learned): (&Hats, usize, &[usize]),
        theta: &LayersTheta,
        (by_mean, by_variance): (&[f64], &[f64]),
        step: &LayersOptimum,
        slopes: &mut [f64],
    ) {
        let constants = one_of(kind, self.types());
        for &l in learned {
            let slope = &mut slopes[l];
            // cov(g, f) = ¼ [var(f + g) − var(f − g)]
            let moments = |sign: f64| {
                let mut loads = theta.loads[kind].clone();
                loads[l] += sign;
                let own = self.taking(hats, theta, &constants).dense;
                let moved = self.loaded(hats, &loads).beside(own);
                self.rows(&moved, &self.shifts).moments(&step.mean, &step.spread)
            };
            let [(above, more), (below, less)] = [moments(1.0), moments(-1.0)];
            for n in 0..by_mean.len() {
                *slope += by_mean[n] * 0.5 * (above[n] - below[n]) + by_variance[n] * 0.5 * (more[n] - less[n]);
            }
        }
    }

    /// What sites at the points of sets add to the precision of the unknowns, what was measured included.
    pub(crate) fn precision_of_sites(
        &self,
        (sets, observed): (&[Set], Option<(&Observed, f64)>),
        theta: &LayersTheta,
        sites: &Sites,
    ) -> Bordered<Diagonals> {
        let inner = Diagonals::zeros(self.coefficients(), self.neighbour_shifts());
        let border = vec![0.0; self.coefficients() * self.beside()];
        let corner = linalg::Matrix::zeros(self.beside(), self.beside());
        let mut all = Bordered { inner, border, corner };
        let mut pull = vec![0.0; self.size()];
        let mut add = |hats: &Hats, weighed: &[f64]| {
            self.rows(hats, &[]).add_sites(weighed, &vec![0.0; weighed.len()], &mut all, &mut pull);
        };
        let mut from = 0;
        for (set, hats) in sets.iter().zip(self.hats_of(sets, theta)) {
            let own = &sites.precision[from..from + set.weights.len()];
            from += own.len();
            add(&hats, &set.weights.iter().zip(own).map(|(w, p)| w * p).collect::<Vec<_>>());
        }
        if let Some((observed, noise)) = observed {
            let hats = self.taking(&observed.hats, theta, &one_of(observed.kind, self.types()));
            add(&hats, &vec![1.0 / noise; observed.values.len()]);
        }
        all
    }

    /// Mean and variance at the points of these rows.
    pub(crate) fn moments(&self, hats: &Hats, mean: &[f64], spread: &BorderedSpread<Diagonals>) -> Marginals {
        let (mean, variance) = self.rows(hats, spread.inner.shifts()).moments(mean, spread);
        Marginals { mean, variance }
    }

    /// The same without the variance.
    pub(crate) fn levels_at(&self, hats: &Hats, unknowns: &[f64]) -> Vec<f64> {
        self.rows(hats, &[]).levels(unknowns)
    }
}

impl LayersTheta {
    /// An error about numbers that says which parameters led to them.
    fn named(&self, error: Error) -> Error {
        match error {
            Error::NotANumber { .. } | Error::NotPositiveDefinite { .. } => {
                let numbers = self.fields.iter().flat_map(|theta| [theta.range, theta.variance]);
                Error::NotANumber { parameters: numbers.chain(self.loads.concat()).collect() }
            }
            other => other,
        }
    }
}
