//! Whether ranges along axes that share a unit differ: by evidence.
//!
//! At the best Θ with one range the bound is about quadratic in the logarithms r of the ratios: v + g r − ½ h r². With the prior r ~ N(0, s²)
//! the evidence gains ½ g²/(h + s⁻²) − ½ log(1 + h s²) for each of them. Where that is a gain Θ is learned anew with the ratios, and stays if
//! the gain is true.

use super::beliefs::RATIOS;
use super::lbfgs::Curvature;
use super::search::{Kind, Run, Search, Start};
use crate::error::{Error, Result};

/// By how much a logarithm of a ratio is moved to see how fast the bound falls.
const STEP: f64 = 0.2;
/// How near (nats) q is brought to its optimum there.
const NEAR: f64 = 1e-2;

/// What one ratio promises.
struct Promise {
    /// By how much the evidence grows.
    gain: f64,
    /// The precision of its logarithm.
    precision: f64,
}

impl<K: Kind> Search<'_, '_, K> {
    /// From the best Θ with one range (`tied`, of a search without ratios): the best with ratios, if the evidence is for it. `start` is the same Θ.
    pub(super) fn with_ratios(&mut self, tied: &Run<K>, start: Start<K>) -> Result<Option<Run<K>>> {
        let (x, _) = self.kind.pack(&start.level, &start.theta);
        let mut slopes = vec![0.0; x.len()];
        let steps = (NEAR, self.kind.tuning().most_steps);
        let found = self.evaluate(&start.level, &start.theta, start.sites.clone(), steps, Some((&x, &mut slopes)));
        let even = match found {
            Err(Error::Cancelled) => return Err(Error::Cancelled),
            Err(_) => return Ok(None),
            Ok(found) => found.value,
        };
        let (mut gain, mut volume) = (0.0, 0.0);
        for at in self.kind.ratios() {
            let Some(promise) = self.promise(&start, (&x, at), (even, slopes[at]))? else { return Ok(None) };
            gain += promise.gain;
            volume += 0.5 * (std::f64::consts::TAU / promise.precision).ln();
        }
        if gain <= 0.0 {
            return Ok(None);
        }
        let run = self.climb(Start { curvature: Curvature::default(), ..start })?;
        Ok(Some(run).filter(|run| run.value + volume > tied.value))
    }

    /// What the ratio at a coordinate promises, given the objective and its slope where it is 1; nothing where q cannot be found.
    fn promise(
        &self,
        start: &Start<K>,
        (x, at): (&[f64], usize),
        (even, slope): (f64, f64),
    ) -> Result<Option<Promise>> {
        let mut moved = x.to_vec();
        moved[at] += STEP;
        let theta = self.kind.unpack(&start.level, &moved, &start.theta);
        let steps = (NEAR, self.kind.tuning().most_steps);
        let value = match self.evaluate(&start.level, &theta, start.sites.clone(), steps, None) {
            Err(Error::Cancelled) => return Err(Error::Cancelled),
            Err(_) => return Ok(None),
            Ok(found) => found.value,
        };
        let prior = RATIOS.powi(-2);
        let precision = (2.0 * (even + slope * STEP - value) / (STEP * STEP)).max(prior);
        let gain = 0.5 * slope * slope / precision - 0.5 * (precision / prior).ln();
        Ok(Some(Promise { gain, precision }))
    }
}
