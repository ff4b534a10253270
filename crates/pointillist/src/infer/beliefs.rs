//! What is believed of Θ where nothing is said: penalised-complexity priors (docs/derivation.md (62)), and one length-scale for axes that share a unit.

use super::prior::Prior;
use crate::window::{Scaling, Window};

/// A range is this many length-scales.
pub(super) const RANGE: f64 = 2.0;
/// A range is shorter than this part of the window's side (of one axis, of two and of three or more that share it; half of all ranges of one or two
/// are then shorter than 0.4 sides), and a standard deviation larger than what is vague, with this probability.
const SHORT: [f64; 3] = [0.02, 0.1, 0.1];
const UNLIKELY: f64 = 0.05;
/// How far below the usual floor (of a logarithm) a variance with a prior may be.
pub(super) const SMALLER: f64 = 6.0;
/// The logarithm of the ratio of two ranges that share a unit has this standard deviation.
pub(super) const RATIOS: f64 = 0.5;
/// The logarithm of the scale of f at a knot has this standard deviation, where that varies over the window, and goes at most so far.
pub(super) const SCALES: f64 = 1.0;
pub(super) const MOST_SCALE: f64 = 5.0;
/// No ratio of two ranges goes beyond this; axes so much longer than others have a range of their own.
pub(super) const MOST_RATIO: f64 = 20.0;

/// Whether axes that share a unit share a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Isotropy {
    /// Every axis has its own.
    PerAxis,
    /// One range for all axes of a unit.
    Tied,
    /// The same with ratios, which have a prior about 1.
    Ratios,
}

/// The axes that have one range each.
pub(super) fn groups(window: &Window, scaling: &Scaling, isotropy: Isotropy) -> Vec<Vec<usize>> {
    let axes = window.axes();
    let mut groups: Vec<Vec<usize>> = vec![];
    for r in 0..window.dims() {
        let shares = |group: &&mut Vec<usize>| {
            let ratio = (scaling.scale(group[0]) / scaling.scale(r)).ln().abs();
            let is_tied = isotropy != Isotropy::PerAxis && ratio < MOST_RATIO.ln();
            is_tied && axes[group[0]].shares_unit_with(&axes[r])
        };
        match groups.iter_mut().find(shares) {
            Some(group) => group.push(r),
            None => groups.push(vec![r]),
        }
    }
    groups
}

/// The prior of the length-scale along these axes.
pub(super) fn length(axes: &[usize], scaling: &Scaling) -> Prior {
    let shortest = axes.iter().map(|r| scaling.scale(*r)).fold(f64::INFINITY, f64::min);
    let short = SHORT[axes.len().clamp(1, SHORT.len()) - 1];
    Prior::Length { dims: axes.len(), least: short * shortest / RANGE, share: UNLIKELY }
}

/// The prior of a ratio of two length-scales.
pub(super) fn ratio() -> Prior {
    Prior::LogNormal { location: 0.0, scale: RATIOS }
}

/// The prior of the scale of f at a knot.
pub(super) fn scale() -> Prior {
    Prior::LogNormal { location: 0.0, scale: SCALES }
}

/// The prior of a variance, given a standard deviation that is vague.
pub(super) fn deviation(vague: f64) -> Prior {
    Prior::Deviation { most: vague, share: UNLIKELY }
}
