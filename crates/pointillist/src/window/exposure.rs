//! Exposure: how closely the window was looked at, e(x) ≥ 0. Population at risk, chance of detection, effort.
//!
//! On a grid it is multilinear between the nodes of the grid, in cells it is constant in each, so quadrature panels that end at the lines
//! of either see a polynomial. Weights at places are spread over cells (`spread.rs`).

use super::spread::{self, Spread};
use super::{Scaling, Span, Window};
use crate::data::points::Points;
use crate::error::{Error, Result};

/// A known exposure.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase", remote = "Self"))]
pub enum Exposure {
    /// Values on a grid, linear between its lines.
    Grid {
        /// The window's axes it depends on, rising.
        axes: Vec<usize>,
        /// The coordinates of the grid on each of these, rising.
        lines: Vec<Vec<f64>>,
        /// The values, the last axis varying fastest.
        values: Vec<f64>,
    },
    /// Values in the cells between the lines of a grid, the same all over a cell.
    Cells {
        /// The window's axes it depends on, rising.
        axes: Vec<usize>,
        /// Where the cells begin on each of these, rising, and where the last one ends.
        lines: Vec<Vec<f64>>,
        /// The values, the last axis varying fastest.
        values: Vec<f64>,
    },
}

crate::reading::checked_when_read!(Exposure);

impl Exposure {
    /// Values on the grid of `lines`, on these axes of the window; the last axis varies fastest.
    pub fn grid(axes: Vec<usize>, lines: Vec<Vec<f64>>, values: Vec<f64>) -> Result<Self> {
        Self::Grid { axes, lines, values }.checked()
    }

    /// Values in the cells between `lines`, on these axes of the window; the last axis varies fastest.
    pub fn cells(axes: Vec<usize>, lines: Vec<Vec<f64>>, values: Vec<f64>) -> Result<Self> {
        Self::Cells { axes, lines, values }.checked()
    }

    /// Weights at places in a window, each spread over the part of the window that is nearest to its place. Its integral over the window
    /// (each part of it counted once) is the sum of the weights inside; those outside do not count.
    pub fn spread(window: &Window, places: &Points, weights: &[f64]) -> Result<Spread> {
        spread::spread(window, places, weights)
    }

    pub(crate) fn checked(self) -> Result<Self> {
        let (axes, lines, values) = self.parts();
        let rising = |line: &Vec<f64>| line.len() >= 2 && line.windows(2).all(|w| w[0] < w[1]);
        if axes.is_empty() || axes.len() != lines.len() || !axes.windows(2).all(|w| w[0] < w[1]) {
            return Err(Error::setting("exposure", format!("{axes:?}"), "needs one list of coordinates an axis"));
        }
        if !lines.iter().all(rising) || lines.iter().flatten().any(|x| !x.is_finite()) {
            return Err(Error::setting("exposure", "grid", "needs two or more rising coordinates on each axis"));
        }
        let count = (0..lines.len()).try_fold(1usize, |count, place| count.checked_mul(self.values_along(place)));
        if count != Some(values.len()) {
            let (expected, found) = (count.unwrap_or(usize::MAX), values.len());
            return Err(Error::Dimension { what: "values of the exposure", expected, found });
        }
        match values.iter().find(|v| !(v.is_finite() && **v >= 0.0)) {
            Some(bad) => Err(Error::setting("exposure", bad, "must be a finite number and not negative")),
            None if values.iter().all(|v| *v == 0.0) => {
                Err(Error::setting("exposure", 0, "is zero everywhere: no event could have been seen"))
            }
            None => Ok(self),
        }
    }

    /// The axes it depends on, the lines across each of them, and the values.
    fn parts(&self) -> (&[usize], &[Vec<f64>], &[f64]) {
        let (Exposure::Grid { axes, lines, values } | Exposure::Cells { axes, lines, values }) = self;
        (axes, lines, values)
    }

    /// How many values stand side by side on the axis at this place in its list.
    pub(super) fn values_along(&self, place: usize) -> usize {
        match self {
            Exposure::Grid { lines, .. } => lines[place].len(),
            Exposure::Cells { lines, .. } => lines[place].len() - 1,
        }
    }

    /// Refuses an exposure that leaves a part of the box out.
    pub(super) fn check_covers(&self, spans: Vec<Span>) -> Result<()> {
        let (axes, lines, _) = self.parts();
        for (&axis, line) in axes.iter().zip(lines) {
            let Some(span) = spans.get(axis) else {
                return Err(Error::Dimension { what: "exposure", expected: spans.len(), found: axis + 1 });
            };
            let slack = 1e-9 * span.length();
            let (lo, hi) = (line[0], line[line.len() - 1]);
            if lo > span.lo + slack || hi < span.hi - slack {
                let requirement = format!("must cover the window, {} to {} on axis {axis}", span.lo, span.hi);
                return Err(Error::setting("exposure", format!("{lo} to {hi}"), requirement));
            }
        }
        Ok(())
    }

    /// The two values on the axis at this place in its list that e(x) is between, and their shares in it.
    pub(super) fn shares(&self, place: usize, x: f64) -> [(usize, f64); 2] {
        let line = &self.parts().1[place];
        let x = x.clamp(line[0], line[line.len() - 1]);
        let cell = line.partition_point(|v| *v <= x).clamp(1, line.len() - 1) - 1;
        match self {
            Exposure::Grid { .. } => {
                let share = (x - line[cell]) / (line[cell + 1] - line[cell]);
                [(cell, 1.0 - share), (cell + 1, share)]
            }
            Exposure::Cells { .. } => [(cell, 1.0), (cell, 0.0)],
        }
    }

    /// e where the axes it depends on have these shares.
    pub(super) fn value(&self, shares: &[[(usize, f64); 2]]) -> f64 {
        self.value_after(0, 1.0, shares, 0)
    }

    /// The sum over the values after the axes before `place` have led to `at`.
    fn value_after(&self, at: usize, weight: f64, shares: &[[(usize, f64); 2]], place: usize) -> f64 {
        let Some(two) = shares.get(place) else { return weight * self.parts().2[at] };
        let start = at * self.values_along(place);
        let there = two.iter().filter(|(_, share)| *share != 0.0);
        there.map(|(i, share)| self.value_after(start + i, weight * share, shares, place + 1)).sum()
    }

    /// e(x).
    pub(crate) fn at(&self, point: &[f64]) -> f64 {
        let shares: Vec<_> = self.axes().iter().enumerate().map(|(place, &r)| self.shares(place, point[r])).collect();
        self.value(&shares)
    }

    /// The largest value it takes.
    pub(super) fn most(&self) -> f64 {
        self.parts().2.iter().copied().fold(0.0, f64::max)
    }

    /// The most that it is in the box from `lo` to `hi`.
    pub(crate) fn most_in(&self, lo: &[f64], hi: &[f64]) -> f64 {
        let (axes, lines, values) = self.parts();
        let mut nodes = vec![0];
        for (place, (&r, line)) in axes.iter().zip(lines).enumerate() {
            let count = self.values_along(place);
            let first = line.partition_point(|x| *x <= lo[r]).saturating_sub(1).min(count - 1);
            // Between the nodes of a grid it is no more than at one of them: the one behind counts too.
            let behind = line.partition_point(|x| *x < hi[r]).saturating_sub(line.len() - count);
            let last = behind.clamp(first, count - 1);
            nodes = nodes.iter().flat_map(|node| (first..=last).map(move |i| node * count + i)).collect();
        }
        nodes.iter().map(|&node| values[node]).fold(0.0, f64::max)
    }

    /// The lines across `axis` at which e has a kink or a jump.
    pub(super) fn lines(&self, axis: usize) -> &[f64] {
        let (axes, lines, _) = self.parts();
        axes.iter().position(|a| *a == axis).map_or(&[], |place| lines[place].as_slice())
    }

    /// The values, the last axis varying fastest.
    pub(super) fn values(&self) -> &[f64] {
        self.parts().2
    }

    /// The axes it depends on.
    pub(super) fn axes(&self) -> &[usize] {
        self.parts().0
    }

    /// The same exposure in other coordinates.
    pub(super) fn scaled(&self, scaling: &Scaling) -> Self {
        let mut same = self.clone();
        let (Exposure::Grid { axes, lines, .. } | Exposure::Cells { axes, lines, .. }) = &mut same;
        for (&axis, line) in axes.iter().zip(lines) {
            line.iter_mut().for_each(|x| *x = scaling.inward(axis, *x));
        }
        same
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_a_box_it_is_bounded_by_the_values_there() {
        let (lines, values) = (vec![vec![0.0, 1.0, 2.0], vec![0.0, 5.0]], vec![1.0, 2.0, 3.0, 9.0, 5.0, 6.0]);
        let exposure = Exposure::grid(vec![0, 2], lines.clone(), values).unwrap();
        let most = |lo: f64, hi: f64| exposure.most_in(&[lo, 7.0, 1.0], &[hi, 8.0, 2.0]);
        assert_eq!((most(0.2, 0.4), most(1.0, 2.0), most(1.5, 1.6), most(0.0, 1.0)), (9.0, 9.0, 9.0, 9.0));
        let flat = Exposure::grid(vec![0], lines[..1].to_vec(), vec![1.0, 2.0, 5.0]).unwrap();
        let most = |lo: f64, hi: f64| flat.most_in(&[lo], &[hi]);
        assert_eq!((most(0.0, 1.0), most(0.5, 1.0), most(0.5, 1.1), most(2.0, 2.0)), (2.0, 2.0, 5.0, 5.0));
        let cells = Exposure::cells(vec![0], lines[..1].to_vec(), vec![2.0, 5.0]).unwrap();
        let most = |lo: f64, hi: f64| cells.most_in(&[lo], &[hi]);
        assert_eq!((most(0.0, 1.0), most(0.5, 1.1), most(1.0, 1.5), most(2.0, 2.0)), (2.0, 5.0, 5.0, 5.0));
    }

    #[test]
    fn cells_are_even_and_their_ends_belong_to_them() {
        let lines = vec![vec![0.0, 1.0, 3.0], vec![0.0, 5.0]];
        let cells = Exposure::cells(vec![0, 1], lines.clone(), vec![2.0, 7.0]).unwrap();
        let at = |x: f64| cells.at(&[x, 5.0]);
        assert_eq!((at(0.0), at(0.99), at(1.0), at(3.0), at(4.0)), (2.0, 2.0, 7.0, 7.0, 7.0));
        assert!(Exposure::cells(vec![0, 1], lines, vec![2.0, 7.0, 1.0]).is_err());
    }
}
