//! The one natural step: q(v) = N(m, P⁻¹) at fixed Θ, whatever v is and however P is stored (docs/derivation.md (14) to (18)).
//!
//! With f = β + aᵀv, v ~ N(b, Q⁻¹), a quadratic part −∫f² with A = ∫aaᵀ and p = ∫a, and sites (η1, η2) at points of weight w,
//!
//!   P = Q + 2A + Σ w η2 aaᵀ,   P m = Q b − 2β p + Σ w (η1 − η2 β) a,
//!   bound = Σ w E[g] − ∫μ² − ∫c − ½ (m−b)ᵀQ(m−b) − ½ log|P| + ½ log|Q| + ½ Σ w η2 aᵀSa,
//!
//! the last because tr(SP) is the number of unknowns, which turns the traces of the bound into a sum over points. A step makes the
//! next sites from the potential's derivatives at q: η2 = −2 min(g2, 0), η1 = g1 + η2 μ. The clamp at 0 keeps P positive definite far
//! from the optimum; where it is still at work at the end, steps without it follow.

use super::{Design, Factor, Precision, Region, Sites, distance_squared};
use crate::error::{Error, Result};
use crate::numerics::linalg;
use crate::terms::{self, Expected, Marginals, Potential};
use std::cell::RefCell;

/// Steps that must gain at a shorter length before a longer one is tried again: where a few events leave f's sign open, full steps
/// overshoot all the way.
const PATIENCE: usize = 4;
/// Relative rounding of a bound summed over many events.
const ROUNDING: f64 = 1e-12;
/// A step so short, near a maximum, changes the bound by less than a nearly singular precision rounds it: up to so many nats.
const SHORT: f64 = 0.02;
const MOST_ROUNDING: f64 = 0.01;
/// A step shorter than this leads nowhere …
const SHORTEST: f64 = 1e-5;
/// … and below this it is the clamp that leads nowhere.
const CLAMPED: f64 = 0.2;

/// Weighted points that say something of f through a potential.
pub(crate) struct Said<'a, D> {
    pub(crate) design: &'a D,
    pub(crate) weights: &'a [f64],
    pub(crate) potential: &'a dyn Potential,
}

/// The prior of v.
pub(crate) struct PriorOf<'a, P> {
    /// Q; none for the identity.
    pub(crate) precision: Option<&'a P>,
    /// b.
    pub(crate) mean: &'a [f64],
    /// log|Q|.
    pub(crate) log_determinant: f64,
    /// β.
    pub(crate) offset: f64,
}

/// The bound at one Θ, as a function of sites.
pub(crate) struct Problem<'a, D: Design> {
    prior: PriorOf<'a, D::Precision>,
    /// That of −∫f², if there is one.
    region: Option<&'a Region<D::Precision>>,
    said: Vec<Said<'a, D>>,
    /// Q + 2A, and Q b − 2β p: what no site changes.
    base: D::Precision,
    pull: Vec<f64>,
    /// Lists that were done with, to be written over.
    spare: Spare,
}

/// Lists of numbers that were done with: one step after another needs the same ones.
#[derive(Default)]
struct Spare(RefCell<Vec<Vec<f64>>>);

impl Spare {
    /// Most lists that are kept, and most numbers in one: to get a longer one takes little beside what is done with it.
    const MOST: usize = 16;
    const LONGEST: usize = 500_000;

    /// A list with nothing in it.
    fn take(&self) -> Vec<f64> {
        let mut list = self.0.borrow_mut().pop().unwrap_or_default();
        list.clear();
        list
    }

    fn give(&self, lists: impl IntoIterator<Item = Vec<f64>>) {
        let mut kept = self.0.borrow_mut();
        kept.extend(lists.into_iter().filter(|list| list.capacity() <= Self::LONGEST));
        kept.truncate(Self::MOST);
    }

    fn give_sites(&self, sites: Sites) {
        self.give([sites.linear, sites.precision]);
    }

    fn give_step<S>(&self, step: Step<S>) {
        let Terms { level, slope, curvature, haste } = step.terms;
        self.give([step.mean, level, slope, curvature, haste]);
    }
}

/// How long steps go on.
#[derive(Clone, Copy)]
pub(crate) struct Until<'a> {
    /// Until one gains less than this many nats …
    pub(crate) tolerance: f64,
    /// … or there were so many.
    pub(crate) most: usize,
    pub(crate) clamp: Clamp,
    /// Whether they also end where the next one is foreseen to gain less: full steps that gain ever less go on to do so, in about the same proportion or a smaller
    /// one. Where a step is dear, none is made to see it.
    pub(crate) foresees: bool,
    /// Called before each step; an error ends them.
    pub(crate) pulse: &'a dyn Fn() -> Result<()>,
}

/// What becomes of the clamp in the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Clamp {
    /// Where it is still at work when steps gain no more, steps without it follow.
    UntilSettled,
    /// It stays. Of many thousands of events it then holds a handful; what they could gain is nothing, and the way there long.
    Throughout,
}

/// What each point says at the present q: μ, g1 = ∂E/∂μ and −2 g2 = −2 ∂E/∂σ².
#[derive(Default)]
pub(crate) struct Terms {
    pub(crate) level: Vec<f64>,
    pub(crate) slope: Vec<f64>,
    pub(crate) curvature: Vec<f64>,
    /// The part of the way to it that a site's precision goes in one step.
    haste: Vec<f64>,
}

/// q from sites, its bound, and f at the points.
pub(crate) struct Step<S> {
    pub(crate) mean: Vec<f64>,
    pub(crate) spread: S,
    pub(crate) bound: f64,
    /// Σ w E[g] of each set of points.
    pub(crate) sums: Vec<f64>,
    pub(crate) terms: Terms,
}

/// Where [`Problem::maximise`] arrived.
pub(crate) struct Optimum<S> {
    pub(crate) step: Step<S>,
    pub(crate) sites: Sites,
    pub(crate) evaluations: usize,
    /// Whether the last step gained less than the tolerance.
    pub(crate) converged: bool,
    /// What another step is foreseen to gain, or, where nothing is foreseen, what the last one gained.
    pub(crate) lacks: f64,
}

impl<'a, D: Design> Problem<'a, D> {
    /// `identity` is the matrix of that kind with ones on the diagonal, for a prior without a precision of its own.
    pub(crate) fn new(
        prior: PriorOf<'a, D::Precision>,
        region: Option<&'a Region<D::Precision>>,
        said: Vec<Said<'a, D>>,
        identity: impl Fn() -> D::Precision,
    ) -> Self {
        let mut base = prior.precision.map_or_else(identity, |precision| precision.clone());
        let mut pull = prior.precision.map_or_else(|| prior.mean.to_vec(), |precision| precision.times(prior.mean));
        if let Some(region) = region {
            base.add_scaled(2.0, &region.square);
            linalg::add_scaled(&mut pull, -2.0 * prior.offset, &region.linear);
        }
        Self { prior, region, said, base, pull, spare: Spare::default() }
    }

    /// Natural steps from `sites`, halved when the bound falls.
    pub(crate) fn maximise(&self, sites: Sites, until: Until<'_>) -> Result<Optimum<D::Spread>> {
        let stays = until.clamp == Clamp::Throughout;
        let mut climb = self.start(if stays { sites.without_negative() } else { sites })?;
        // The bound of many events is a large number: a gain below its rounding is none.
        let rounding = ROUNDING * climb.best.bound.abs();
        let tolerance = until.tolerance.max(rounding);
        let (mut evaluations, mut converged) = (1, false);
        let (mut before, mut lacks): (Option<f64>, f64) = (None, f64::INFINITY);
        while evaluations < until.most && !converged && climb.rho >= SHORTEST {
            (until.pulse)()?;
            let length = climb.rho;
            let gain = self.advance(&mut climb, rounding);
            evaluations += 1;
            let full = Some(gain).filter(|gain| length == 1.0 && *gain > 0.0);
            lacks = match full.zip(before).filter(|_| until.foresees) {
                Some((gain, before)) => gain * f64::min(gain / before, 1.0),
                None => gain.abs(),
            };
            before = full;
            // So short a step can only gain: what it lost was rounding.
            let is_rounding = length < SHORT && gain.abs() < MOST_ROUNDING;
            let settled = lacks <= tolerance * length || is_rounding;
            let left = !stays && (settled || climb.rho < CLAMPED) && climb.leave_clamp();
            converged = settled && !left;
        }
        Ok(Optimum { step: climb.best, sites: climb.sites, evaluations, converged, lacks })
    }

    fn start(&self, sites: Sites) -> Result<Climb<D::Spread>> {
        let clamp = !sites.any_negative();
        match self.evaluate(&sites) {
            Ok(best) => Ok(Climb { best, sites, clamp, rho: 1.0, gained: 0 }),
            Err(_) if !clamp => {
                let sites = sites.without_negative();
                Ok(Climb { best: self.evaluate(&sites)?, sites, clamp: true, rho: 1.0, gained: 0 })
            }
            Err(error) => Err(error),
        }
    }

    /// Tries one step, and returns its gain.
    fn advance(&self, climb: &mut Climb<D::Spread>, rounding: f64) -> f64 {
        let sites = climb.best.next(climb.clamp, &climb.sites, &self.spare).blended(&climb.sites, climb.rho);
        let trial = self.evaluate(&sites);
        let gain = trial.as_ref().map_or(f64::NEG_INFINITY, |trial| trial.bound - climb.best.bound);
        match trial {
            // A loss that is rounding is none: near the optimum each step brings q nearer, though the bound no longer
            // shows it.
            Ok(trial) if gain >= -rounding => {
                self.spare.give_step(std::mem::replace(&mut climb.best, trial));
                self.spare.give_sites(std::mem::replace(&mut climb.sites, sites));
                climb.gained += 1;
                if climb.gained >= PATIENCE {
                    (climb.rho, climb.gained) = (f64::min(1.0, 2.0 * climb.rho), 0);
                }
            }
            trial => {
                trial.into_iter().for_each(|trial| self.spare.give_step(trial));
                self.spare.give_sites(sites);
                (climb.rho, climb.gained) = (0.5 * climb.rho, 0);
            }
        }
        gain
    }

    /// q from sites, and its bound.
    fn evaluate(&self, sites: &Sites) -> Result<Step<D::Spread>> {
        let offset = self.prior.offset;
        let (mut precision, mut mean) = (self.said[0].design.copied(&self.base), self.spare.take());
        mean.extend_from_slice(&self.pull);
        let mut scaled: Vec<Vec<f64>> = Vec::with_capacity(self.said.len());
        let mut from = 0;
        for said in &self.said {
            let range = from..from + said.weights.len();
            let (eta1, eta2) = (&sites.linear[range.clone()], &sites.precision[range.clone()]);
            let (mut weighed, mut linear) = (self.spare.take(), self.spare.take());
            weighed.extend(said.weights.iter().zip(eta2).map(|(w, p)| w * p));
            let both = said.weights.iter().zip(eta1.iter().zip(eta2));
            linear.extend(both.map(|(w, (l, p))| w * (l - p * offset)));
            said.design.add_sites(&weighed, &linear, &mut precision, &mut mean);
            self.spare.give([linear]);
            scaled.push(weighed);
            from = range.end;
        }
        let factor = precision.factor()?;
        factor.solve(&mut mean);
        let log_determinant = factor.log_determinant();
        let spread = self.said[0].design.spread(factor);
        let (mut sums, mut traces) = (Vec::with_capacity(self.said.len()), 0.0);
        let mut all = Terms {
            level: self.spare.take(),
            slope: self.spare.take(),
            curvature: self.spare.take(),
            haste: self.spare.take(),
        };
        for (said, scaled) in self.said.iter().zip(&scaled) {
            let (sum, trace) = said.terms(offset, &mean, &spread, scaled, &mut all);
            sums.push(sum);
            traces += trace;
        }
        self.spare.give(scaled);
        let bound = sums.iter().sum::<f64>() + traces + self.conjugate(&mean)
            - 0.5 * (self.off_prior(&mean) + log_determinant - self.prior.log_determinant);
        if !bound.is_finite() {
            return Err(Error::NotANumber { parameters: vec![] });
        }
        Ok(Step { mean, spread, bound, sums, terms: all })
    }

    /// −∫μ² − ∫c.
    fn conjugate(&self, mean: &[f64]) -> f64 {
        self.region.map_or(0.0, |region| -region.of_square(self.prior.offset, mean) - region.residual)
    }

    /// (m−b)ᵀQ(m−b).
    fn off_prior(&self, mean: &[f64]) -> f64 {
        match self.prior.precision {
            None => distance_squared(mean, self.prior.mean),
            Some(precision) => {
                let moved: Vec<f64> = mean.iter().zip(self.prior.mean).map(|(m, b)| m - b).collect();
                linalg::dot(&moved, &precision.times(&moved))
            }
        }
    }
}

impl<D: Design> Said<'_, D> {
    /// Σ w E[g] and ½ Σ w η2 aᵀSa at a q; what each point says goes to the end of `all`.
    fn terms(&self, offset: f64, mean: &[f64], spread: &D::Spread, scaled: &[f64], all: &mut Terms) -> (f64, f64) {
        let (mut level, spread) = self.design.moments(mean, spread);
        level.iter_mut().for_each(|f| *f += offset);
        let trace = 0.5 * linalg::dot(scaled, &spread);
        let variance = match self.design.residual() {
            Some(residual) => residual.iter().zip(&spread).map(|(c, s)| c + s.max(0.0)).collect(),
            None => spread,
        };
        let f = Marginals { mean: level, variance };
        let Expected { value, by_mean, by_variance } = terms::expected(self.potential, &f);
        // Where nothing happened nothing is asked for.
        let curvature = by_variance.iter().zip(self.weights).map(|(g, w)| if *w == 0.0 { 0.0 } else { -2.0 * g });
        all.curvature.extend(curvature);
        let caution = self.potential.caution();
        all.haste.extend(f.variance.iter().map(|variance| 1.0 / (1.0 + caution * variance)));
        all.level.extend(f.mean);
        all.slope.extend(by_mean);
        (linalg::dot(self.weights, &value), trace)
    }
}

impl<S> Step<S> {
    /// The sites of the next step after those; with the clamp none is negative. The slope is that of this q whatever the precision is, so that
    /// haste changes the way and not where it leads.
    fn next(&self, clamp: bool, last: &Sites, spare: &Spare) -> Sites {
        let Terms { level, slope, curvature, haste } = &self.terms;
        let wanted = curvature.iter().map(|c| if clamp { c.max(0.0) } else { *c });
        let both = last.precision.iter().zip(haste);
        let (mut precision, mut linear) = (spare.take(), spare.take());
        precision.extend(wanted.zip(both).map(|(wanted, (last, haste))| haste * wanted + (1.0 - haste) * last));
        linear.extend((0..level.len()).map(|n| slope[n] + precision[n] * level[n]));
        Sites { linear, precision }
    }

    /// Whether the clamp changes the next step: then its fixed point is not that of the bound.
    fn clamp_matters(&self) -> bool {
        self.terms.curvature.iter().any(|c| *c < 0.0)
    }
}

/// The steps so far.
struct Climb<S> {
    best: Step<S>,
    /// Those that made `best`.
    sites: Sites,
    clamp: bool,
    /// Length of the next step.
    rho: f64,
    /// Steps of this length that gained.
    gained: usize,
}

impl<S> Climb<S> {
    /// The clamp is for the way there: once it holds nothing more, or leads nowhere, the true curvature takes over. Whether it
    /// does so now.
    fn leave_clamp(&mut self) -> bool {
        let leave = self.clamp && self.best.clamp_matters();
        if leave {
            (self.clamp, self.rho) = (false, 1.0);
        }
        leave
    }
}
