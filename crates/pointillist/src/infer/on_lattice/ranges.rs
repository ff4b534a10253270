//! How the ranges along the axes come from the slots of Θ: one per axis, or one for all axes that share a unit, and, where the events ask for
//! it, ratios between those.
//!
//! In logarithms all of it is linear: log ρ_r = shift_r + Σ_s share_rs log v_s.

use crate::infer::beliefs::{Isotropy, MOST_RATIO, RANGE, groups};
use crate::infer::theta::Slot;
use crate::kernel::Affine;
use crate::window::{Scaling, Window};

/// The map from slots to ranges.
#[derive(Debug, Clone)]
pub(super) struct Ranges {
    /// The slots of the ranges, in order.
    pub(super) kinds: Vec<RangeSlot>,
    /// By axis, then by slot.
    shares: Vec<Vec<f64>>,
    shifts: Vec<f64>,
}

/// What a slot of the ranges is.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum RangeSlot {
    /// The range of these axes; the (geometric) mean of theirs, if there are ratios.
    Common(Vec<usize>),
    /// The range of the second axis over that of the first, in the user's units.
    Ratio(usize, usize),
}

impl Ranges {
    pub(super) fn new(window: &Window, scaling: &Scaling, isotropy: Isotropy) -> Self {
        let groups = groups(window, scaling, isotropy);
        let mut kinds: Vec<RangeSlot> = groups.iter().cloned().map(RangeSlot::Common).collect();
        if isotropy == Isotropy::Ratios {
            let ratios = |group: &Vec<usize>| {
                let (first, rest) = (group[0], group[1..].to_vec());
                rest.into_iter().map(move |r| RangeSlot::Ratio(first, r))
            };
            kinds.extend(groups.iter().flat_map(ratios));
        }
        let group_of = |r: usize| groups.iter().find(|group| group.contains(&r)).map_or(&[][..], |group| &group[..]);
        let share = |r: usize, kind: &RangeSlot| match kind {
            RangeSlot::Common(axes) => f64::from(axes.contains(&r)),
            RangeSlot::Ratio(first, second) => {
                let group = group_of(r);
                let even = if group.contains(first) { 1.0 / group.len() as f64 } else { 0.0 };
                f64::from(r == *second) - even
            }
        };
        let dims = window.dims();
        let shift = |r: usize| (scaling.scale(group_of(r)[0]) / scaling.scale(r)).ln();
        Self {
            shares: (0..dims).map(|r| kinds.iter().map(|kind| share(r, kind)).collect()).collect(),
            shifts: (0..dims).map(shift).collect(),
            kinds,
        }
    }

    /// The slots, without bounds: those depend on the lattice.
    pub(super) fn slots(&self, window: &Window, scaling: &Scaling) -> Vec<Slot> {
        let name = |r: usize| window.axes()[r].name_or_number(r);
        let dims = window.dims();
        let slot = |kind: &RangeSlot| match kind {
            RangeSlot::Common(axes) => {
                let names: Vec<String> = axes.iter().map(|r| name(*r)).collect();
                let is_all = dims > 1 && axes.len() == dims;
                let called = if is_all { "lengthscale".into() } else { format!("lengthscale[{}]", names.join(",")) };
                let unit = Affine { scale: scaling.scale(axes[0]) / RANGE, shift: 0.0 };
                Slot { axis: Some(axes[0]), ..Slot::positive(called, unit, (0.0, 0.0)) }
            }
            RangeSlot::Ratio(first, second) => {
                let unit = Affine { scale: 1.0, shift: 0.0 };
                let called = format!("ratio[{}/{}]", name(*second), name(*first));
                Slot::positive(called, unit, (-MOST_RATIO.ln(), MOST_RATIO.ln()))
            }
        };
        self.kinds.iter().map(slot).collect()
    }

    /// How many slots there are.
    pub(super) fn len(&self) -> usize {
        self.kinds.len()
    }

    /// The ranges at these values of the slots.
    pub(super) fn of_slots(&self, values: &[f64]) -> Vec<f64> {
        let range = |(shares, shift): (&Vec<f64>, &f64)| {
            let log: f64 = shares.iter().zip(values).filter(|(share, _)| **share != 0.0).map(|(s, v)| s * v.ln()).sum();
            (shift + log).exp()
        };
        self.shares.iter().zip(&self.shifts).map(range).collect()
    }

    /// The values of the slots for ranges, or for those nearest to them that the slots can have.
    pub(super) fn to_slots(&self, ranges: &[f64]) -> Vec<f64> {
        let log = |r: usize| ranges[r].ln() - self.shifts[r];
        let value = |kind: &RangeSlot| match kind {
            RangeSlot::Common(axes) => axes.iter().map(|r| log(*r)).sum::<f64>() / axes.len() as f64,
            RangeSlot::Ratio(first, second) => log(*second) - log(*first),
        };
        self.kinds.iter().map(|kind| value(kind).exp()).collect()
    }

    /// Slopes by the logarithms of the ranges as slopes by those of the slots.
    pub(super) fn slopes(&self, by_log_range: &[f64]) -> Vec<f64> {
        let by_slot = |s: usize| self.shares.iter().zip(by_log_range).map(|(shares, slope)| shares[s] * slope).sum();
        (0..self.len()).map(by_slot).collect()
    }

    /// The bounds of each slot, as logarithms, where each axis has a lowest range, a highest, and one that it must not exceed for digits.
    pub(super) fn bounds(&self, of_axis: impl Fn(usize) -> AxisBounds) -> Vec<Option<(f64, f64)>> {
        let bounds = |kind: &RangeSlot| match kind {
            RangeSlot::Ratio(..) => None,
            RangeSlot::Common(axes) => {
                let inner = |r: usize, range: f64| range.ln() - self.shifts[r];
                let over = |which: &dyn Fn(AxisBounds) -> f64, pick: fn(f64, f64) -> f64| {
                    axes.iter().map(|r| inner(*r, which(of_axis(*r)))).reduce(pick).unwrap_or(0.0)
                };
                let low = over(&|axis| axis.least, f64::max);
                let high = over(&|axis| axis.most, f64::max).min(over(&|axis| axis.digits, f64::min));
                Some((low, high.max(low + 2f64.ln())))
            }
        };
        self.kinds.iter().map(bounds).collect()
    }
}

/// The ranges that an axis of a lattice can have.
#[derive(Debug, Clone, Copy)]
pub(super) struct AxisBounds {
    pub(super) least: f64,
    pub(super) most: f64,
    pub(super) digits: f64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::window::Axis;

    fn window(names: &[&str], spans: &[(f64, f64)]) -> Window {
        let window = Window::new(spans).unwrap();
        window.with_axes(names.iter().map(|name| Axis { name: (*name).into(), ..Axis::default() }).collect()).unwrap()
    }

    #[test]
    fn ties_and_ratios_go_there_and_back() {
        let window = window(&["x", "y", "t"], &[(0.0, 20.0), (0.0, 5.0), (0.0, 100.0)]);
        let scaling = Scaling::of(&window);
        let tied = Ranges::new(&window, &scaling, Isotropy::Tied);
        assert_eq!(tied.kinds, [RangeSlot::Common(vec![0, 1]), RangeSlot::Common(vec![2])]);
        let ranges = tied.of_slots(&[0.2, 0.3]); // 4 units on both axes
        assert!(ranges.iter().zip([0.2, 0.8, 0.3]).all(|(is, want)| (is - want).abs() < 1e-12), "{ranges:?}");
        assert!(tied.to_slots(&ranges).iter().zip([0.2, 0.3]).all(|(is, want)| (is - want).abs() < 1e-12));
        let free = Ranges::new(&window, &scaling, Isotropy::Ratios);
        let ranges = [0.3, 0.5, 0.9];
        let back = free.of_slots(&free.to_slots(&ranges));
        assert!(back.iter().zip(ranges).all(|(is, want)| (is - want).abs() < 1e-12), "{back:?}");
        assert!((free.to_slots(&ranges)[2] - 0.5 * 5.0 / (0.3 * 20.0)).abs() < 1e-12, "y over x, in units");
        let per_axis = Ranges::new(&window, &scaling, Isotropy::PerAxis);
        assert_eq!(per_axis.of_slots(&ranges).len(), 3);
        assert_eq!(per_axis.len(), 3);
    }

    #[test]
    fn slopes_are_those_of_the_map() {
        let window = window(&["x", "y"], &[(0.0, 3.0), (0.0, 1.0)]);
        let scaling = Scaling::of(&window);
        let f = |ranges: &[f64]| 1.3 * ranges[0].ln() - 0.4 * ranges[1].ln();
        for isotropy in [Isotropy::PerAxis, Isotropy::Tied, Isotropy::Ratios] {
            let ranges = Ranges::new(&window, &scaling, isotropy);
            let values = ranges.to_slots(&[0.4, 0.9]);
            let slopes = ranges.slopes(&[1.3, -0.4]);
            for s in 0..values.len() {
                let at = |by: f64| {
                    let mut moved = values.clone();
                    moved[s] *= by.exp();
                    f(&ranges.of_slots(&moved))
                };
                let slope = (at(1e-5) - at(-1e-5)) / 2e-5;
                assert!((slope - slopes[s]).abs() < 1e-8, "{isotropy:?} {s}: {slope} {}", slopes[s]);
            }
        }
    }

    #[test]
    fn a_time_has_a_range_of_its_own() {
        let xt = window(&["x", "time"], &[(0.0, 1.0), (0.0, 1.0)]);
        assert_eq!(groups(&xt, &Scaling::of(&xt), Isotropy::Tied).len(), 2);
        let xy = window(&["easting", "northing"], &[(0.0, 1.0), (0.0, 1.0)]);
        assert_eq!(groups(&xy, &Scaling::of(&xy), Isotropy::Tied).len(), 1);
    }
}
