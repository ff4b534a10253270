//! A regular lattice of nodes in one to three dimensions, with the tensor product of hat functions on it.
//!
//! Inside, every lattice has three axes, those that it lacks first and with one node each, then from the one with most
//! nodes to the one with fewest: neighbours on the last axis stand next to each other, and the band of a matrix is as
//! narrow as it can be. Outside, axes are those of the window. A point outside the lattice is treated as the nearest
//! one on its border: f goes on flat.

use crate::data::points::Points;
use crate::error::{Error, Result};
use crate::gaussian::{BandedFactor, Design, Diagonals};
use crate::parallel;
use crate::window::{Span, Window};
use std::ops::Range;

/// The nodes of one axis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct GridAxis {
    pub(crate) lo: f64,
    pub(crate) step: f64,
    pub(crate) nodes: usize,
}

impl GridAxis {
    /// An axis that is not there.
    const NONE: Self = Self { lo: 0.0, step: 1.0, nodes: 1 };

    /// The cell of a coordinate, and how far across it lies.
    pub(crate) fn locate(&self, x: f64) -> (usize, f64) {
        let place = ((x - self.lo) / self.step).clamp(0.0, (self.nodes - 1) as f64);
        let cell = (place as usize).min(self.nodes - 2);
        (cell, place - cell as f64)
    }

    /// Where the nodes are.
    pub(crate) fn places(&self) -> Vec<f64> {
        (0..self.nodes).map(|i| self.lo + self.step * i as f64).collect()
    }

    /// The same of those in a span, and of a few beside it.
    pub(crate) fn places_about(&self, span: Span) -> Vec<f64> {
        let near = |x: f64, by: f64| ((x - self.lo) / self.step + by).clamp(0.0, self.nodes as f64) as usize;
        (near(span.lo, -1.0)..near(span.hi, 3.0)).map(|i| self.lo + self.step * i as f64).collect()
    }
}

/// A regular lattice.
#[derive(Debug, Clone, PartialEq)]
pub struct Grid {
    dims: usize,
    /// In the order inside.
    axes: [GridAxis; 3],
    /// Where the window's axes stand inside.
    places: Vec<usize>,
}

/// The hats that are not zero at points: 2^d at each.
#[derive(Debug, Clone, PartialEq)]
pub struct Hats {
    /// The first corner of each point's cell. // (N)
    pub(crate) first: Vec<usize>,
    /// The hats of all corners. // (N, 2^d)
    pub(crate) values: Vec<f64>,
    /// How much further each corner's index is than the first one's, rising. // (2^d)
    pub(crate) shifts: Vec<usize>,
    /// The regressors of covariates at the points; none where all of them are 0. // (k) of (N)
    pub(crate) dense: Vec<Vec<f64>>,
}

impl Hats {
    /// The same with these values of regressors beside them.
    pub(crate) fn beside(self, dense: Vec<Vec<f64>>) -> Self {
        Self { dense, ..self }
    }

    /// Number of points.
    pub fn len(&self) -> usize {
        self.first.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.first.is_empty()
    }

    /// The nodes whose hats are not zero at point `n`, and their values there.
    pub fn pairs(&self, n: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        let values = &self.values[n * self.shifts.len()..][..self.shifts.len()];
        self.shifts.iter().zip(values).map(move |(shift, value)| (self.first[n] + shift, *value))
    }

    /// Σ_j ψ_j(x_n) v_j.
    pub fn sum(&self, n: usize, v: &[f64]) -> f64 {
        self.pairs(n).map(|(i, value)| value * v[i]).sum()
    }

    /// Adds Σ_n weight(n) ψ(x_n).
    pub(crate) fn add_sums(&self, out: &mut [f64], weight: impl Fn(usize) -> f64) {
        match self.shifts.len() {
            2 => self.add_sums_of(2, out, weight),
            4 => self.add_sums_of(4, out, weight),
            8 => self.add_sums_of(8, out, weight),
            corners => self.add_sums_of(corners, out, weight),
        }
    }

    #[inline(always)]
    fn add_sums_of(&self, corners: usize, out: &mut [f64], weight: impl Fn(usize) -> f64) {
        let shifts = &self.shifts[..corners];
        for (n, (first, values)) in self.cells(corners, 0..self.len()).enumerate() {
            let weight = weight(n);
            (0..corners).for_each(|c| out[first + shifts[c]] += weight * values[c]);
        }
    }

    /// Adds Σ_n weight(n) ψ(x_n)ψ(x_n)ᵀ.
    pub fn add_squares(&self, out: &mut Diagonals, weight: impl Fn(usize) -> f64) {
        let (pairs, out) = (self.pair_places(out), out.values_mut());
        match self.shifts.len() {
            2 => self.add_squares_of(2, out, &pairs, weight),
            4 => self.add_squares_of(4, out, &pairs, weight),
            8 => self.add_squares_of(8, out, &pairs, weight),
            corners => self.add_squares_of(corners, out, &pairs, weight),
        }
    }

    #[inline(always)]
    fn add_squares_of(&self, corners: usize, out: &mut [f64], pairs: &[PairPlace], weight: impl Fn(usize) -> f64) {
        for (n, (first, values)) in self.cells(corners, 0..self.len()).enumerate() {
            let weight = weight(n);
            for &PairPlace { a, b, place } in pairs {
                out[place + first] += weight * values[a] * values[b];
            }
        }
    }

    /// Σ_j ψ_j(x_n) v_j at some of the points.
    fn sums(&self, points: Range<usize>, v: &[f64]) -> Vec<f64> {
        match self.shifts.len() {
            2 => self.sums_of(2, points, v),
            4 => self.sums_of(4, points, v),
            8 => self.sums_of(8, points, v),
            corners => self.sums_of(corners, points, v),
        }
    }

    #[inline(always)]
    fn sums_of(&self, corners: usize, points: Range<usize>, v: &[f64]) -> Vec<f64> {
        let shifts = &self.shifts[..corners];
        let sum =
            |(first, values): (usize, &[f64])| -> f64 { (0..corners).map(|c| values[c] * v[first + shifts[c]]).sum() };
        self.cells(corners, points).map(sum).collect()
    }

    /// ψ(x_n)ᵀ X ψ(x_n) at some of the points; `pairs` are those of X.
    fn quadratics(&self, points: Range<usize>, pairs: &[PairPlace], matrix: &Diagonals) -> Vec<f64> {
        match self.shifts.len() {
            2 => self.quadratics_of(2, points, pairs, matrix.values()),
            4 => self.quadratics_of(4, points, pairs, matrix.values()),
            8 => self.quadratics_of(8, points, pairs, matrix.values()),
            corners => self.quadratics_of(corners, points, pairs, matrix.values()),
        }
    }

    #[inline(always)]
    fn quadratics_of(&self, corners: usize, points: Range<usize>, pairs: &[PairPlace], matrix: &[f64]) -> Vec<f64> {
        let sum = |(first, values): (usize, &[f64])| -> f64 {
            let part = |&PairPlace { a, b, place }: &PairPlace| {
                let entry = matrix[place + first] * values[a] * values[b];
                if a == b { entry } else { 2.0 * entry }
            };
            pairs.iter().map(part).sum()
        };
        self.cells(corners, points).map(sum).collect()
    }

    /// The first corner of the cells of some points, and the hats of all corners. How many these are is an argument so that the usual numbers (a lattice of
    /// one field) are known when it is compiled; several fields have as many times more.
    #[inline(always)]
    fn cells(&self, corners: usize, points: Range<usize>) -> impl Iterator<Item = (usize, &[f64])> {
        let values = self.values[points.start * corners..points.end * corners].chunks_exact(corners);
        self.first[points].iter().copied().zip(values)
    }

    /// The pairs of corners, and where the diagonals of a matrix on which they lie begin.
    fn pair_places(&self, matrix: &Diagonals) -> Vec<PairPlace> {
        let corners = self.shifts.len();
        let all = (0..corners).flat_map(|a| (a..corners).map(move |b| (a, b)));
        let place = |(a, b)| {
            let diagonal = matrix.place(self.shifts[b] - self.shifts[a])?;
            Some(PairPlace { a, b, place: diagonal * matrix.size() + self.shifts[a] })
        };
        all.filter_map(place).collect()
    }
}

/// Hats as the rows of a design, with the covariance of coefficients on these diagonals.
pub(crate) struct HatRows<'a> {
    pub(crate) hats: &'a Hats,
    pub(crate) shifts: &'a [usize],
}

impl Design for HatRows<'_> {
    type Precision = Diagonals;
    type Spread = Diagonals;

    fn len(&self) -> usize {
        self.hats.len()
    }

    fn residual(&self) -> Option<&[f64]> {
        None
    }

    fn add_sites(&self, precision: &[f64], linear: &[f64], matrix: &mut Diagonals, vector: &mut [f64]) {
        self.hats.add_squares(matrix, |n| precision[n]);
        self.add_sum(linear, vector);
    }

    fn add_sum(&self, weights: &[f64], vector: &mut [f64]) {
        self.hats.add_sums(vector, |n| weights[n]);
    }

    fn spread(&self, factor: BandedFactor) -> Diagonals {
        factor.selected_inverse(self.shifts)
    }

    fn levels(&self, v: &[f64]) -> Vec<f64> {
        self.hats.sums(0..self.hats.len(), v)
    }

    /// Threads over blocks of points.
    fn moments(&self, mean: &[f64], covariance: &Diagonals) -> (Vec<f64>, Vec<f64>) {
        let (hats, pairs) = (self.hats, self.hats.pair_places(covariance));
        let block = parallel::block_length(hats.len());
        let blocks = (0..hats.len()).step_by(block).map(|start| start..hats.len().min(start + block));
        let parts = parallel::map(blocks, hats.len() * pairs.len(), |block| {
            (hats.sums(block.clone(), mean), hats.quadratics(block, &pairs, covariance))
        });
        let mut parts = parts.into_iter();
        let (mut levels, mut variances) = parts.next().unwrap_or_default();
        for (more, their) in parts {
            levels.extend(more);
            variances.extend(their);
        }
        (levels, variances)
    }
}

/// Two corners of a cell, and where among the numbers of a matrix their entry lies in the cell of index 0.
struct PairPlace {
    a: usize,
    b: usize,
    place: usize,
}

impl Grid {
    /// `nodes[r]` nodes on axis r over a box, ends included.
    pub fn new(spans: &[Span], nodes: &[usize]) -> Result<Self> {
        let dims = spans.len();
        if !(1..=3).contains(&dims) {
            return Err(Error::setting("lattice", format!("{dims} axes"), "has one to three axes"));
        }
        if nodes.len() != dims {
            return Err(Error::Dimension { what: "nodes of the lattice", expected: dims, found: nodes.len() });
        }
        if let Some(few) = nodes.iter().find(|n| **n < 2) {
            return Err(Error::setting("nodes", few, "must be at least 2 on each axis"));
        }
        let mut order: Vec<usize> = (0..dims).collect();
        order.sort_by_key(|&r| std::cmp::Reverse(nodes[r])); // stable: equal axes keep their order
        let (mut axes, mut places) = ([GridAxis::NONE; 3], vec![0; dims]);
        for (rank, &r) in order.iter().enumerate() {
            places[r] = 3 - dims + rank;
            let step = spans[r].length() / (nodes[r] - 1) as f64;
            axes[places[r]] = GridAxis { lo: spans[r].lo, step, nodes: nodes[r] };
        }
        Ok(Self { dims, axes, places })
    }

    /// The same over the box around a window, and `margin[r]` more on both sides of it.
    pub fn around(window: &Window, nodes: &[usize], margin: &[f64]) -> Result<Self> {
        let spans = window.bounding_box();
        if margin.len() != spans.len() {
            return Err(Error::Dimension { what: "margin", expected: spans.len(), found: margin.len() });
        }
        if let Some(bad) = margin.iter().find(|m| !(m.is_finite() && **m >= 0.0)) {
            return Err(Error::setting("margin", bad, "must be a finite number and not negative"));
        }
        let wider = |(span, m): (&Span, &f64)| Span { lo: span.lo - m, hi: span.hi + m };
        Self::new(&spans.iter().zip(margin).map(wider).collect::<Vec<_>>(), nodes)
    }

    /// A lattice over the same box, its cells cut into so many along each axis.
    pub(super) fn finer(&self, times: usize) -> Result<Self> {
        let span = |axis: GridAxis| Span { lo: axis.lo, hi: axis.lo + axis.step * (axis.nodes - 1) as f64 };
        let axes: Vec<GridAxis> = (0..self.dims).map(|r| self.axis(r)).collect();
        let nodes: Vec<usize> = axes.iter().map(|axis| times * (axis.nodes - 1) + 1).collect();
        Self::new(&axes.into_iter().map(span).collect::<Vec<_>>(), &nodes)
    }

    /// The same lattice, the same step, with `more[r]` nodes below and above on axis r; and the index there of each node here.
    pub(super) fn widened(&self, more: &[[usize; 2]]) -> Result<(Self, Vec<usize>)> {
        let spans: Vec<Span> = more
            .iter()
            .enumerate()
            .map(|(r, [below, above])| {
                let axis = self.axis(r);
                let end = |i: f64| axis.lo + axis.step * i;
                Span { lo: end(-(*below as f64)), hi: end((axis.nodes - 1 + above) as f64) }
            })
            .collect();
        let nodes: Vec<usize> = more.iter().enumerate().map(|(r, [a, b])| self.axis(r).nodes + a + b).collect();
        let wide = Self::new(&spans, &nodes)?;
        let mut places = vec![0; self.size()];
        let counts = self.nodes();
        for number in 0..self.size() {
            let (mut rest, mut node) = (number, vec![0; self.dims]);
            for r in (0..self.dims).rev() {
                (node[r], rest) = (rest % counts[r], rest / counts[r]);
            }
            let moved: Vec<usize> = node.iter().zip(more).map(|(i, [below, _])| i + below).collect();
            places[self.index(&node)] = wide.index(&moved);
        }
        Ok((wide, places))
    }

    /// Nodes to add below and above on each axis so that the lattice reaches `reach[r]` beyond a box, on the sides on which that lies
    /// outside the unit box.
    pub(super) fn missing(&self, spans: &[Span], reach: &[f64]) -> Vec<[f64; 2]> {
        let one = |r: usize| {
            let axis = self.axis(r);
            let end = axis.lo + axis.step * (axis.nodes - 1) as f64;
            let below = if spans[r].lo < 0.0 { (axis.lo - (spans[r].lo - reach[r])) / axis.step } else { 0.0 };
            let above = if spans[r].hi > 1.0 { (spans[r].hi + reach[r] - end) / axis.step } else { 0.0 };
            [below.ceil().max(0.0), above.ceil().max(0.0)]
        };
        (0..self.dims).map(one).collect()
    }

    /// Number of axes.
    pub fn dims(&self) -> usize {
        self.dims
    }

    /// Number of nodes M.
    pub fn size(&self) -> usize {
        self.axes.iter().map(|axis| axis.nodes).product()
    }

    /// The index of a node, from its place on each of the window's axes.
    pub fn index(&self, node: &[usize]) -> usize {
        let strides = self.strides();
        node.iter().zip(&self.places).map(|(i, &place)| i * strides[place]).sum()
    }

    /// Where the nodes are, by index.
    pub(crate) fn node_places(&self) -> Points {
        let axes: Vec<Vec<f64>> = self.axes.iter().map(GridAxis::places).collect();
        let mut coordinates = Vec::with_capacity(self.size() * self.dims);
        for a in &axes[0] {
            for b in &axes[1] {
                for c in &axes[2] {
                    let inside = [*a, *b, *c];
                    coordinates.extend(self.places.iter().map(|&place| inside[place]));
                }
            }
        }
        Points::of_rows(self.dims, coordinates)
    }

    /// The nodes that have a weight, and these.
    pub(crate) fn weighed(&self, weights: &[f64]) -> (Points, Vec<f64>) {
        let (places, mut coordinates) = (self.node_places(), vec![]);
        let kept = weights.iter().enumerate().filter(|(_, weight)| **weight != 0.0);
        kept.for_each(|(i, _)| coordinates.extend_from_slice(places.row(i)));
        (Points::of_rows(self.dims, coordinates), weights.iter().copied().filter(|weight| *weight != 0.0).collect())
    }

    /// The hats at points.
    pub fn at(&self, points: &Points) -> Result<Hats> {
        if points.dims() != self.dims {
            return Err(Error::Dimension { what: "points", expected: self.dims, found: points.dims() });
        }
        let corners = 1 << self.dims;
        let mut hats = Hats {
            first: Vec::with_capacity(points.len()),
            values: Vec::with_capacity(points.len() * corners),
            shifts: self.corner_shifts(),
            dense: vec![],
        };
        for row in points.rows() {
            let (first, values) = self.hats_at(row);
            hats.first.push(first);
            hats.values.extend_from_slice(&values[..corners]);
        }
        Ok(hats)
    }

    /// The first corner of a point's cell, and the hats of all corners.
    pub(crate) fn hats_at(&self, point: &[f64]) -> (usize, [f64; 8]) {
        let strides = self.strides();
        let mut values = [0.0; 8];
        values[0] = 1.0;
        let (mut first, mut count) = (0, 1);
        for place in 3 - self.dims..3 {
            let (cell, share) = self.axes[place].locate(point[self.outside(place)]);
            first += cell * strides[place];
            for c in (0..count).rev() {
                (values[2 * c], values[2 * c + 1]) = (values[c] * (1.0 - share), values[c] * share);
            }
            count *= 2;
        }
        (first, values)
    }

    /// How much further the index of each corner of a cell is than that of its first, rising.
    pub(crate) fn corner_shifts(&self) -> Vec<usize> {
        let strides = self.strides();
        let both = |sums: Vec<usize>, place: usize| sums.iter().flat_map(|s| [*s, s + strides[place]]).collect();
        (3 - self.dims..3).fold(vec![0], both)
    }

    /// The distances of the indices of neighbours.
    pub(crate) fn neighbour_shifts(&self) -> Vec<usize> {
        let corners = self.corner_shifts();
        corners.iter().flat_map(|a| corners.iter().map(|b| a.abs_diff(*b))).collect()
    }

    /// Nodes on each of the window's axes.
    pub fn nodes(&self) -> Vec<usize> {
        (0..self.dims).map(|r| self.axis(r).nodes).collect()
    }

    /// How far the lattice begins before zero on each of the window's axes.
    pub(crate) fn margin(&self) -> Vec<f64> {
        (0..self.dims).map(|r| -self.axis(r).lo).collect()
    }

    /// The window's axis r.
    pub(crate) fn axis(&self, r: usize) -> GridAxis {
        self.axes[self.places[r]]
    }

    /// How much further the next node is on each of the window's axes; those that it lacks have one node.
    pub(super) fn outer_strides(&self) -> [usize; 3] {
        [0, 1, 2].map(|r| self.places.get(r).map_or(0, |&place| self.strides()[place]))
    }

    /// [`Grid::shift`] for an offset on the window's axes; none if it needs one that is not there.
    pub(super) fn outer_shift(&self, offset: [isize; 3]) -> Option<usize> {
        let mut inside = [0; 3];
        self.places.iter().zip(offset).for_each(|(&place, o)| inside[place] = o);
        self.shift(inside).filter(|_| offset[self.dims..].iter().all(|o| *o == 0))
    }

    /// The axes in the order inside.
    pub(crate) fn axes(&self) -> &[GridAxis; 3] {
        &self.axes
    }

    /// Where the window's axes stand inside.
    pub(super) fn places(&self) -> &[usize] {
        &self.places
    }

    /// The window's axis that stands at a place inside.
    fn outside(&self, place: usize) -> usize {
        self.places.iter().position(|p| *p == place).unwrap_or_default()
    }

    /// How much further the next node on each axis is, in the order inside.
    pub(super) fn strides(&self) -> [usize; 3] {
        [self.axes[1].nodes * self.axes[2].nodes, self.axes[2].nodes, 1]
    }

    /// How much further the index is at an offset, in the order inside; none for what is before, or wider than the
    /// lattice. No two nodes are in both orders, so that a symmetric matrix needs these alone.
    pub(super) fn shift(&self, offset: [isize; 3]) -> Option<usize> {
        let strides = self.strides();
        let fits = (0..3).all(|place| offset[place].unsigned_abs() < self.axes[place].nodes);
        let shift: isize = (0..3).map(|place| offset[place] * strides[place] as isize).sum();
        usize::try_from(shift).ok().filter(|_| fits)
    }

    /// The range of nodes on the axis at `place` from which an offset stays on the lattice.
    pub(super) fn range(&self, place: usize, offset: isize) -> Range<usize> {
        let (nodes, reach) = (self.axes[place].nodes, offset.unsigned_abs());
        if offset < 0 { reach..nodes } else { 0..nodes - reach }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hats_are_linear_between_nodes_and_sum_to_one() {
        let span = |lo: f64, hi: f64| Span { lo, hi };
        let spans = [span(-1.0, 2.0), span(0.0, 5.0), span(3.0, 4.0)];
        for dims in 1..=3 {
            let nodes = [3, 6, 4];
            let grid = Grid::new(&spans[..dims], &nodes[..dims]).unwrap();
            let at = [0.3, 2.7, 3.1];
            let hats = grid.at(&Points::new(dims, at[..dims].to_vec()).unwrap()).unwrap();
            let mut found = vec![0.0; dims + 1];
            let counts: Vec<usize> = nodes[..dims].to_vec();
            let lo: Vec<f64> = spans[..dims].iter().map(|s| s.lo).collect();
            let hi: Vec<f64> = spans[..dims].iter().map(|s| s.hi).collect();
            // The coordinates of the nodes, weighed by the hats, are the point itself.
            for (n, place) in Points::grid(&lo, &hi, &counts).rows().enumerate() {
                let mut rest = n;
                let mut node = vec![0; dims];
                for r in (0..dims).rev() {
                    (node[r], rest) = (rest % counts[r], rest / counts[r]);
                }
                let index = grid.index(&node);
                let value: f64 = hats.pairs(0).filter(|(i, _)| *i == index).map(|(_, v)| v).sum();
                (0..dims).for_each(|r| found[r] += value * place[r]);
                found[dims] += value;
            }
            (0..dims).for_each(|r| assert!((found[r] - at[r]).abs() < 1e-14, "{dims} {r} {found:?}"));
            assert!((found[dims] - 1.0).abs() < 1e-14);
        }
    }

    #[test]
    fn what_is_no_lattice_is_refused() {
        let window = Window::interval(0.0, 1.0).unwrap();
        assert!(Grid::around(&window, &[1], &[0.1]).is_err());
        assert!(Grid::around(&window, &[5], &[-0.1]).is_err());
        assert!(Grid::around(&window, &[5, 5], &[0.1]).is_err());
    }
}
