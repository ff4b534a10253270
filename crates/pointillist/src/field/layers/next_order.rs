//! q of several fields as wide as the posterior is, as `field/lattice/next_order.rs` has it for one (docs/derivation.md (69), (70)).
//!
//! A site of the integral loses what its neighbours' curvature takes: all sites of all types together. The mean then moves so that the expected rates
//! pull as they did: one Newton step with the wider variances. Where nearly nothing is known (nodes far from all events, on a lattice that is coarse for a cluster),
//! the next order is no longer small, and one step does not bring the rates back: then q is widened by a part of it, or stays as it was.

use super::{Layers, LayersOptimum, LayersTheta, Observed, Set};
use crate::error::Result;
use crate::field::lattice::Hats;
use crate::gaussian::bordered::BorderedSpread;
use crate::gaussian::{Bordered, Design, Diagonals, Factor, Precision, Sites};
use crate::numerics::linalg;

/// By how much of themselves all sites are made stronger to see what that takes from the variances.
const STRONGER: f64 = 1e-3;
/// The parts of the correction that are tried, …
const PARTS: [f64; 4] = [1.0, 0.5, 0.25, 0.125];
/// … until it moves no more than this part of the expected events from place to place.
const MOST_MOVED: f64 = 0.1;

/// Whether the expected rates are about what they were.
fn are_kept(were: &[f64], are: &[f64]) -> bool {
    let moved: f64 = were.iter().zip(are).map(|(were, are)| (were - are).abs()).sum();
    moved <= MOST_MOVED * were.iter().sum::<f64>()
}

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
        let both = before.iter().zip(&after);
        let taken: Vec<f64> = both.map(|(before, after)| ((before - after) / STRONGER).clamp(0.0, *before)).collect();
        // Expected rates at the places of the integral, and what the rows there add up to with these weights.
        let places: Vec<(&Set, &Hats)> = sets.iter().zip(&hats).filter(|(set, _)| set.is_integral).collect();
        let of_integral = |all: &[f64]| -> Vec<f64> {
            let (mut kept, mut from) = (vec![], 0);
            for set in sets {
                let own = &all[from..from + set.weights.len()];
                from += own.len();
                kept.extend_from_slice(if set.is_integral { own } else { &[] });
            }
            kept
        };
        let expected = |mean: &[f64], variance: &[f64]| -> Vec<f64> {
            let levels = places.iter().flat_map(|(set, hats)| self.levels_at(hats, mean).into_iter().zip(&set.weights));
            levels.zip(variance).map(|((level, weight), v)| weight * (level + 0.5 * v).exp()).collect()
        };
        let were = expected(&optimum.mean, &of_integral(&before));
        for part in PARTS {
            let weaker = |(p, taken): (&f64, &f64)| p / (1.0 + 0.5 * part * taken);
            let weaker = Sites {
                linear: sites.linear.clone(),
                precision: sites.precision.iter().zip(&taken).map(weaker).collect(),
            };
            let (factor, spread) = self.spread_with(said, theta, &weaker)?;
            // Expected rates with the wider variances pull more than they did: the mean gives way.
            let now = of_integral(&variances(&spread, &optimum.mean));
            let more: Vec<f64> =
                expected(&optimum.mean, &now).iter().zip(&were).map(|(now, were)| were - now).collect();
            let (mut pull, mut from) = (vec![0.0; self.size()], 0);
            for (set, hats) in &places {
                let own = from..from + set.weights.len();
                from = own.end;
                self.rows(hats, &[]).add_sum(&more[own], &mut pull);
            }
            factor.solve(&mut pull);
            let mut mean = optimum.mean.clone();
            linalg::add_scaled(&mut mean, 1.0, &pull);
            if are_kept(&were, &expected(&mean, &now)) {
                (optimum.mean, optimum.spread, sites) = (mean, spread, weaker);
                break;
            }
        }
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
