//! q of several fields as wide as the posterior is, as `field/lattice/next_order.rs` has it for one (docs/derivation.md (69), (70)).
//!
//! A site of the integral loses what its neighbours' curvature takes: all sites of all types together. The mean then moves so that the expected rates
//! pull as they did: one Newton step with the wider variances.

use super::{Layers, LayersOptimum, LayersTheta, Observed, Set};
use crate::error::Result;
use crate::gaussian::bordered::BorderedSpread;
use crate::gaussian::{Bordered, Design, Diagonals, Factor, Precision, Sites};
use crate::numerics::linalg;

/// By how much of themselves all sites are made stronger to see what that takes from the variances.
const STRONGER: f64 = 1e-3;

impl Layers {
    /// What it says with weaker sites, and these.
    pub(crate) fn to_next_order(
        &self,
        said: (&[Set], Option<(&Observed, f64)>),
        theta: &LayersTheta,
        mut optimum: LayersOptimum,
        mut sites: Sites,
    ) -> Result<(LayersOptimum, Sites)> {
        let (sets, _) = said;
        let hats = self.hats_of(sets, theta);
        let variances = |spread: &BorderedSpread<Diagonals>, mean: &[f64]| -> Vec<f64> {
            let both = sets.iter().zip(&hats);
            both.flat_map(|(set, hats)| match set.is_integral {
                true => self.moments(hats, mean, spread).variance,
                false => vec![0.0; set.weights.len()],
            })
            .collect()
        };
        let before = variances(&optimum.spread, &optimum.mean);
        let stronger =
            Sites { linear: vec![], precision: sites.precision.iter().map(|p| (1.0 + STRONGER) * p).collect() };
        let (_, less) = self.spread_with(said, theta, &stronger)?;
        let after = variances(&less, &optimum.mean);
        for (precision, (before, after)) in sites.precision.iter_mut().zip(before.iter().zip(&after)) {
            let taken = ((before - after) / STRONGER).clamp(0.0, *before);
            *precision /= 1.0 + 0.5 * taken;
        }
        let (factor, spread) = self.spread_with(said, theta, &sites)?;
        // Expected rates with the wider variances pull more than they did: the mean gives way.
        let mut pull = vec![0.0; self.size()];
        let now = variances(&spread, &optimum.mean);
        let mut from = 0;
        for (set, hats) in sets.iter().zip(&hats) {
            let own = from..from + set.weights.len();
            from = own.end;
            if !set.is_integral {
                continue;
            }
            let levels = self.levels_at(hats, &optimum.mean);
            let more: Vec<f64> = own
                .zip(levels)
                .zip(&set.weights)
                .map(|((n, level), weight)| -weight * ((level + 0.5 * now[n]).exp() - (level + 0.5 * before[n]).exp()))
                .collect();
            self.rows(hats, &[]).add_sum(&more, &mut pull);
        }
        factor.solve(&mut pull);
        linalg::add_scaled(&mut optimum.mean, 1.0, &pull);
        optimum.spread = spread;
        Ok((optimum, sites))
    }

    /// The factor of the precision with these sites, and what variances are read from.
    #[allow(clippy::type_complexity)] // the factor of a bordered band
    pub(crate) fn spread_with(
        &self,
        said: (&[Set], Option<(&Observed, f64)>),
        theta: &LayersTheta,
        sites: &Sites,
    ) -> Result<(<Bordered<Diagonals> as Precision>::Factor, BorderedSpread<Diagonals>)> {
        let mut precision = self.precision(theta);
        precision.add_scaled(1.0, &self.precision_of_sites(said, theta, sites));
        let factor = precision.factor()?;
        let spread = factor.spread(factor.inner.selected_inverse(&self.shifts));
        Ok((factor, spread))
    }
}
