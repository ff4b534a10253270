//! The loop of natural steps, in the form of one Gaussian site an event (docs/derivation.md (14) to (18)).
//!
//! −∫f² is quadratic in f and so conjugate; only E[log f²] is not. A natural step replaces it at each event by a Gaussian:
//! precision η2 and linear term η1,
//!
//!   next   η2 = −2 min(g2, 0),   η1 = g1 + η2 μ.
//!
//! Sites speak of f at the events, not of a basis: they stay a good start when Θ or the basis change. The clamp keeps the
//! precision of q positive definite far from the optimum; where it is still at work at the end, steps without it follow.
//! What q is, and what its bound, is the caller's (`natural.rs`, `lattice/natural.rs`).

use crate::bound::Marginals;
use crate::error::Result;
use crate::numerics::special::expected_log_square;

/// Steps that must gain at a shorter length before a longer one is tried again: where a few events leave f's sign open, full steps
/// overshoot all the way.
const PATIENCE: usize = 4;
/// Relative rounding of a bound summed over many events.
const ROUNDING: f64 = 1e-12;
/// A step shorter than this leads nowhere …
const SHORTEST: f64 = 1e-5;
/// … and below this it is the clamp that leads nowhere.
const CLAMPED: f64 = 0.2;

/// One Gaussian site an event: exp(η1 f − ½ η2 f²).
#[derive(Debug, Clone, PartialEq)]
pub struct Sites {
    pub(crate) linear: Vec<f64>,
    pub(crate) precision: Vec<f64>,
}

impl Sites {
    /// The sites of a flat intensity: f = `level` at every event, known well.
    pub fn flat(level: f64, events: usize) -> Self {
        let precision = 2.0 / (level * level);
        Self { linear: vec![2.0 / level + precision * level; events], precision: vec![precision; events] }
    }

    /// The sites that f at the events asks for: what a natural step from q makes them.
    pub fn of(f: &Marginals) -> Self {
        let slopes = f.mean.iter().zip(&f.variance).map(|(mean, variance)| expected_log_square(*mean, *variance));
        let precision: Vec<f64> = slopes.clone().map(|e| -2.0 * e.d_variance.min(0.0)).collect();
        let linear = slopes.zip(f.mean.iter().zip(&precision)).map(|(e, (mean, p))| e.d_mean + p * mean).collect();
        Self { linear, precision }
    }

    /// Number of events.
    pub fn len(&self) -> usize {
        self.linear.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.linear.is_empty()
    }

    /// The sites of −f.
    pub(crate) fn negated(mut self) -> Self {
        self.linear.iter_mut().for_each(|l| *l = -*l);
        self
    }

    /// Whether some precision is negative, as at the optimum it may be where f could have either sign.
    fn any_negative(&self) -> bool {
        self.precision.iter().any(|p| *p < 0.0)
    }

    /// The same sites without the negative ones: the precision of q is then positive definite whatever Θ is.
    fn without_negative(&self) -> Self {
        let keep =
            |values: &[f64]| values.iter().zip(&self.precision).map(|(v, p)| if *p < 0.0 { 0.0 } else { *v }).collect();
        Self { linear: keep(&self.linear), precision: keep(&self.precision) }
    }

    /// (1−ρ) self + ρ other.
    fn blend(&self, other: &Sites, rho: f64) -> Self {
        let mix = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a + rho * (b - a)).collect();
        Self { linear: mix(&self.linear, &other.linear), precision: mix(&self.precision, &other.precision) }
    }
}

/// What each event says at the present q: μ, g1 = ∂E/∂μ and −2 g2 = −2 ∂E/∂σ².
#[derive(Default)]
pub(crate) struct EventTerms {
    pub(crate) level: Vec<f64>,
    pub(crate) slope: Vec<f64>,
    pub(crate) curvature: Vec<f64>,
}

/// q from sites, its bound, and f at the events.
pub(crate) struct Step<Q> {
    pub(crate) q: Q,
    pub(crate) bound: f64,
    pub(crate) events: EventTerms,
}

impl<Q> Step<Q> {
    /// The sites of the next step; with the clamp none is negative.
    fn next(&self, clamp: bool) -> Sites {
        let EventTerms { level, slope, curvature } = &self.events;
        let precision: Vec<f64> = curvature.iter().map(|c| if clamp { c.max(0.0) } else { *c }).collect();
        let linear = (0..level.len()).map(|n| slope[n] + precision[n] * level[n]).collect();
        Sites { linear, precision }
    }

    /// Whether the clamp changes the next step: then its fixed point is not that of the bound.
    fn clamp_matters(&self) -> bool {
        self.events.curvature.iter().any(|c| *c < 0.0)
    }
}

/// Where [`maximise`] arrived.
pub(crate) struct Optimum<Q> {
    pub(crate) step: Step<Q>,
    pub(crate) sites: Sites,
    pub(crate) evaluations: usize,
    /// Whether the last step gained less than the tolerance.
    pub(crate) converged: bool,
}

/// What becomes of the clamp in the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Clamp {
    /// Where it is still at work when steps gain no more, steps without it follow.
    UntilSettled,
    /// It stays. Of many thousands of events it then holds a handful; what they could gain is nothing, and the way there long.
    Throughout,
}

/// Natural steps from `sites` until one gains less than `tolerance` nats, halved when the bound falls; at most `most` of them.
/// `evaluate` makes q and its bound from sites.
pub(crate) fn maximise<Q>(
    sites: Sites,
    tolerance: f64,
    most: usize,
    clamp: Clamp,
    evaluate: impl Fn(&Sites) -> Result<Step<Q>>,
) -> Result<Optimum<Q>> {
    let stays = clamp == Clamp::Throughout;
    let mut climb = Climb::start(if stays { sites.without_negative() } else { sites }, &evaluate)?;
    // The bound of many events is a large number: a gain below its rounding is none.
    let rounding = ROUNDING * climb.best.bound.abs();
    let tolerance = tolerance.max(rounding);
    let (mut evaluations, mut converged) = (1, false);
    while evaluations < most && !converged && climb.rho >= SHORTEST {
        let length = climb.rho;
        let gain = climb.advance(rounding, &evaluate);
        evaluations += 1;
        let settled = gain.abs() <= tolerance * length;
        let left = !stays && (settled || climb.rho < CLAMPED) && climb.leave_clamp();
        converged = settled && !left;
    }
    Ok(Optimum { step: climb.best, sites: climb.sites, evaluations, converged })
}

/// The steps so far.
struct Climb<Q> {
    best: Step<Q>,
    /// Those that made `best`.
    sites: Sites,
    clamp: bool,
    /// Length of the next step.
    rho: f64,
    /// Steps of this length that gained.
    gained: usize,
}

impl<Q> Climb<Q> {
    fn start(sites: Sites, evaluate: &impl Fn(&Sites) -> Result<Step<Q>>) -> Result<Self> {
        let clamp = !sites.any_negative();
        match evaluate(&sites) {
            Ok(best) => Ok(Self { best, sites, clamp, rho: 1.0, gained: 0 }),
            Err(_) if !clamp => {
                let sites = sites.without_negative();
                Ok(Self { best: evaluate(&sites)?, sites, clamp: true, rho: 1.0, gained: 0 })
            }
            Err(error) => Err(error),
        }
    }

    /// Tries one step, and returns its gain.
    fn advance(&mut self, rounding: f64, evaluate: &impl Fn(&Sites) -> Result<Step<Q>>) -> f64 {
        let sites = self.sites.blend(&self.best.next(self.clamp), self.rho);
        let trial = evaluate(&sites);
        let gain = trial.as_ref().map_or(f64::NEG_INFINITY, |trial| trial.bound - self.best.bound);
        match trial {
            // A loss that is rounding is none: near the optimum each step brings q nearer, though the bound no longer
            // shows it.
            Ok(trial) if gain >= -rounding => {
                (self.best, self.sites) = (trial, sites);
                self.gained += 1;
                if self.gained >= PATIENCE {
                    (self.rho, self.gained) = (f64::min(1.0, 2.0 * self.rho), 0);
                }
            }
            _ => (self.rho, self.gained) = (0.5 * self.rho, 0),
        }
        gain
    }

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
