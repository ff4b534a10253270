//! Whether ranges along axes that share a unit differ: by evidence.
//!
//! At the best Θ with one range the bound is about quadratic in the logarithms r of the ratios: v + g r − ½ h r². With the prior r ~ N(0, s²)
//! the evidence gains ½ g²/(h + s⁻²) − ½ log(1 + h s²) for each of them. Where that is a gain Θ is learned anew with the ratios, and stays if
//! the gain is true.

use super::ranges::RangeSlot;
use super::{OnLattice, RATIOS, by_log_ranges};
use crate::error::{Error, Result};
use crate::gaussian::Sites;
use crate::infer::lbfgs::Curvature;
use crate::infer::search::{Kind, Run, Search, Start};

/// By how much a logarithm of a ratio is moved to see how fast the bound falls.
const STEP: f64 = 0.2;
/// How near (nats) q is brought to its optimum there.
const NEAR: f64 = 1e-2;
/// Beyond this the lattice itself should be another.
const FAR: f64 = 0.7;

/// Θ with ratios.
pub(super) struct Found<'a> {
    pub(super) run: Run<OnLattice<'a>>,
    /// Whether a ratio is so large that the nodes should be placed anew.
    pub(super) is_far: bool,
}

/// What one ratio promises.
struct Promise {
    /// By how much the evidence grows.
    gain: f64,
    /// The precision of its logarithm.
    precision: f64,
}

impl<'a> Search<'_, '_, OnLattice<'a>> {
    /// From the best Θ with one range (`tied`, of a search without ratios): the best with ratios, if the evidence is for it.
    pub(super) fn with_ratios(&mut self, tied: &Run<OnLattice<'a>>) -> Result<Option<Found<'a>>> {
        let slots: Vec<usize> = (0..self.kind.ranges.len())
            .filter(|s| matches!(self.kind.ranges.kinds[*s], RangeSlot::Ratio(..)))
            .collect();
        if self.kind.layout.slots[..self.kind.ranges.len()].iter().any(|slot| slot.fixed.is_some()) {
            return Ok(None);
        }
        let mut gain = 0.0;
        let mut volume = 0.0;
        for slot in &slots {
            let Some(promise) = self.promise(tied, *slot)? else { return Ok(None) };
            gain += promise.gain;
            volume += 0.5 * (std::f64::consts::TAU / promise.precision).ln();
        }
        if gain <= 0.0 {
            return Ok(None);
        }
        let start = self.kind.continued_with(&tied.level.nodes, tied.level.margin.clone(), tied)?;
        let run = self.climb(Start { curvature: Curvature::default(), ..start })?;
        if run.value + volume <= tied.value {
            return Ok(None);
        }
        let values = self.kind.values(&run.theta);
        let is_far = slots.iter().any(|slot| values[*slot].ln().abs() > FAR);
        Ok(Some(Found { run, is_far }))
    }

    /// What the ratio in a slot promises; nothing where q cannot be found.
    fn promise(&self, tied: &Run<OnLattice<'a>>, slot: usize) -> Result<Option<Promise>> {
        let slope = self.kind.ranges.slopes(&by_log_ranges(&tied.kept))[slot];
        let bound_at = |theta, sites: Sites| match self.evaluate(
            &tied.level,
            theta,
            sites,
            (NEAR, self.kind.tuning().most_steps),
            None,
        ) {
            Err(Error::Cancelled) => Err(Error::Cancelled),
            Err(_) => Ok(None),
            Ok(found) => Ok(Some(found.kept.bound)),
        };
        let mut values = self.kind.values(&tied.theta);
        values[slot] *= STEP.exp();
        let Some(moved) = bound_at(&self.kind.of_values(&values), tied.sites.clone())? else { return Ok(None) };
        let fall = 2.0 * (tied.kept.bound + slope * STEP - moved) / (STEP * STEP);
        let (fall, prior) = (fall.max(0.0), RATIOS.powi(-2));
        let gain = 0.5 * slope * slope / (fall + prior) - 0.5 * (1.0 + fall / prior).ln();
        Ok(Some(Promise { gain, precision: fall + prior }))
    }
}
