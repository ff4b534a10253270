//! Quadrature weights over polygons, by Green's theorem.
//!
//! The nodes are those of panels on each axis; two panels make a cell. In a cell, with ξ and η from −1 to 1 across it, the moments
//! C_kl = ∫∫ P_k(ξ) P_l(η) dx dy over what the polygons cover of it are integrals along the border, which has the area on its left:
//! C_kl = ∮ Q_k(x) P_l(η) dy. Here Q_k(x) is the integral of P_k from the left side of the cell to x: (P_{k+1} − P_{k−1}) / (2k+1) times
//! half its width. Right of the cell Q_0 is its width and all others vanish, so that a stretch of border speaks to the cells on its left
//! through k = 0 alone. The weight of node (i, j) is the integral of its Lagrange polynomial, Σ_kl B_ik C_kl B_jl with
//! B_ik = w_i (2k+1)/2 P_k(ξ_i). Exact for what is a polynomial of degree below the order on each cell. Cost: about ten outer
//! products of the size of a cell per edge; the order cubed per cell that the border runs through.

use super::bands::{Edge, Point};
use super::{Panels, Ring};
use crate::numerics::gauss::GaussLegendre;
use crate::numerics::linalg::Matrix;

/// What a cell may be covered by, of its own area, and count as empty; or be short of, and count as full.
const NEGLIGIBLE: f64 = 1e-13;

/// The integral of the Lagrange polynomial of each node over the area inside the rings. // (X, Y)
pub(super) fn weights<'a>(rings: impl Iterator<Item = &'a Ring>, x: &Panels, y: &Panels) -> Matrix {
    let (x, y) = (Axis::new(x), Axis::new(y));
    let mut moments = Moments::new(&x, &y);
    rings.flat_map(Edge::of_ring).for_each(|edge| moments.add_edge(&edge));
    moments.into_weights()
}

/// The panels of an axis, ready for use.
struct Axis<'a> {
    panels: &'a Panels,
    /// Where panels begin, and where the last one ends.
    lines: Vec<f64>,
    /// The index of the first node of each panel.
    starts: Vec<usize>,
}

impl<'a> Axis<'a> {
    fn new(panels: &'a Panels) -> Self {
        let lines = panels.panels.iter().map(|p| p.span.lo).chain(panels.panels.last().map(|p| p.span.hi)).collect();
        let first = |total: &mut usize, order: usize| Some(std::mem::replace(total, *total + order));
        let starts = panels.panels.iter().map(|p| p.order).scan(0, first).collect();
        Self { panels, lines, starts }
    }

    fn count(&self) -> usize {
        self.panels.panels.len()
    }

    fn order(&self, panel: usize) -> usize {
        self.panels.panels[panel].order
    }

    fn half_width(&self, panel: usize) -> f64 {
        0.5 * (self.lines[panel + 1] - self.lines[panel])
    }

    /// How many panels begin at or before a place.
    fn begun(&self, at: f64) -> usize {
        self.lines.partition_point(|line| *line <= at)
    }

    /// The place in a panel, from −1 to 1.
    fn local(&self, panel: usize, at: f64) -> f64 {
        (at - 0.5 * (self.lines[panel] + self.lines[panel + 1])) / self.half_width(panel)
    }

    /// The parts of the way from one place to another at which lines are met.
    fn cut(&self, from: f64, to: f64, cuts: &mut Vec<f64>) {
        let (lo, hi) = (from.min(to), from.max(to));
        let first = self.lines.partition_point(|line| *line <= lo);
        let met = self.lines[first..].iter().take_while(|line| **line < hi);
        cuts.extend(met.map(|line| (line - from) / (to - from)));
    }
}

/// Legendre polynomials of all degrees at several places.
#[derive(Default)]
struct Table {
    places: usize,
    values: Vec<f64>,
}

impl Table {
    /// Degrees 0 to `count` − 1.
    fn fill(&mut self, count: usize, at: &[f64]) {
        let places = at.len();
        self.places = places;
        self.values.clear();
        self.values.resize(places * count.max(2), 1.0);
        self.values[places..2 * places].copy_from_slice(at);
        for degree in 2..count {
            let (known, rest) = self.values.split_at_mut(degree * places);
            let (before, last) = known[(degree - 2) * places..].split_at(places);
            let b = (degree as f64 - 1.0) / degree as f64;
            for (q, new) in rest[..places].iter_mut().enumerate() {
                *new = (1.0 + b) * at[q] * last[q] - b * before[q];
            }
        }
    }

    fn row(&self, degree: usize) -> &[f64] {
        &self.values[degree * self.places..(degree + 1) * self.places]
    }
}

/// The moments of all cells while the border is walked along.
struct Moments<'a> {
    x: &'a Axis<'a>,
    y: &'a Axis<'a>,
    /// C of the cells that the border runs through, by a · (panels of y) + b. // (order of x, order of y), rows one after another
    cells: Vec<Option<Vec<f64>>>,
    /// ∮ P_l dy along the border in panel a of x, or right of all panels; for each node of y one l. // (panels of x + 1, Y)
    rises: Vec<Vec<f64>>,
    scratch: Scratch,
}

#[derive(Default)]
struct Scratch {
    cuts: Vec<f64>,
    places: Vec<f64>,
    /// Q_k at the nodes, times their weights, and P_l. // (k, q) and (q, l)
    q: Vec<f64>,
    p: Vec<f64>,
    table: Table,
}

impl<'a> Moments<'a> {
    fn new(x: &'a Axis<'a>, y: &'a Axis<'a>) -> Self {
        let rises = vec![vec![0.0; y.panels.x.len()]; x.count() + 1];
        Self { x, y, cells: vec![None; x.count() * y.count()], rises, scratch: Scratch::default() }
    }

    /// Cuts an edge at the lines of the panels and adds each piece.
    fn add_edge(&mut self, edge: &Edge) {
        let Edge { from, to } = *edge;
        let mut cuts = std::mem::take(&mut self.scratch.cuts);
        cuts.clear();
        cuts.extend([0.0, 1.0]);
        self.x.cut(from[0], to[0], &mut cuts);
        self.y.cut(from[1], to[1], &mut cuts);
        cuts.sort_by(f64::total_cmp);
        let at = |part: f64| [0, 1].map(|r| if part == 1.0 { to[r] } else { from[r] + part * (to[r] - from[r]) });
        for ends in cuts.windows(2).filter(|ends| ends[0] < ends[1]) {
            self.add_piece(at(ends[0]), at(ends[1]));
        }
        self.scratch.cuts = cuts;
    }

    /// Adds a piece that lies in one cell, or outside of all.
    fn add_piece(&mut self, from: Point, to: Point) {
        let middle = [0, 1].map(|r| 0.5 * (from[r] + to[r]));
        // What lies below or above all panels, or left of them, is in no cell and on the right of none.
        let (Some(a), Some(b)) = (self.x.begun(middle[0]).checked_sub(1), self.y.begun(middle[1]).checked_sub(1))
        else {
            return;
        };
        if b == self.y.count() {
            return;
        }
        let is_in_cell = a < self.x.count();
        let order = [if is_in_cell { self.x.order(a) } else { 1 }, self.y.order(b)];
        if is_in_cell {
            // Also for a level piece, which adds nothing: the cell is neither full nor empty.
            self.cells[a * self.y.count() + b].get_or_insert_with(|| vec![0.0; order[0] * order[1]]);
        }
        let rise = 0.5 * (to[1] - from[1]);
        if rise == 0.0 {
            return;
        }
        let eta = [from, to].map(|p| self.y.local(b, p[1]));
        let xi = if is_in_cell { [from, to].map(|p| self.x.local(a, p[0])) } else { [1.0; 2] };
        let rule = GaussLegendre::shared(nodes_along(order, xi, eta));
        self.add_rise(a, b, eta, rise, &rule);
        if is_in_cell {
            self.add_products(a, b, xi, rise, &rule);
        }
    }

    /// P_l at the nodes of a piece; their integrals, for the cells on the left.
    fn add_rise(&mut self, a: usize, b: usize, eta: [f64; 2], rise: f64, rule: &GaussLegendre) {
        let order = self.y.order(b);
        let Scratch { places, p, table, .. } = &mut self.scratch;
        fill_between(places, eta, rule.nodes());
        table.fill(order, places);
        p.clear();
        p.resize(order * places.len(), 0.0);
        for l in 0..order {
            table.row(l).iter().enumerate().for_each(|(q, value)| p[q * order + l] = *value);
        }
        let sums = &mut self.rises[a][self.y.starts[b]..][..order];
        for (row, weight) in p.chunks_exact(order).zip(rule.weights()) {
            sums.iter_mut().zip(row).for_each(|(sum, value)| *sum += rise * weight * value);
        }
    }

    /// ∫ Q_k P_l dy along a piece, for its own cell.
    fn add_products(&mut self, a: usize, b: usize, xi: [f64; 2], rise: f64, rule: &GaussLegendre) {
        let (order, count) = (self.x.order(a), rule.nodes().len());
        let Scratch { places, q, p, table, .. } = &mut self.scratch;
        fill_between(places, xi, rule.nodes());
        table.fill(order + 1, places);
        q.clear();
        let scale = rise * self.x.half_width(a);
        q.extend((0..count).map(|i| scale * rule.weights()[i] * (1.0 + places[i])));
        for k in 1..order {
            let (above, below, scale) = (table.row(k + 1), table.row(k - 1), scale / (2 * k + 1) as f64);
            q.extend((0..count).map(|i| scale * rule.weights()[i] * (above[i] - below[i])));
        }
        let Some(cell) = &mut self.cells[a * self.y.count() + b] else { return };
        add_product(cell, q, p, count);
    }

    /// Lets the border speak to the cells on its left, and turns moments into weights.
    fn into_weights(mut self) -> Matrix {
        let mut weights = Matrix::zeros(self.x.panels.x.len(), self.y.panels.x.len());
        let (mut to_x, mut to_y) = (Kept::default(), Kept::default());
        let mut right = self.rises.pop().unwrap_or_default();
        for a in (0..self.x.count()).rev() {
            for b in 0..self.y.count() {
                let size = [2.0 * self.x.half_width(a), 2.0 * self.y.half_width(b)];
                let rises = &right[self.y.starts[b]..][..self.y.order(b)];
                let mut cell = self.cells[a * self.y.count() + b].take();
                let level = cell.iter_mut().flatten().zip(rises); // k = 0
                level.for_each(|(moment, rise)| *moment += size[0] * rise);
                let covered = cell.as_ref().map_or(size[0] * rises[0], |cell| cell[0]) / (size[0] * size[1]);
                match cell {
                    Some(cell) if covered > NEGLIGIBLE && covered < 1.0 - NEGLIGIBLE => {
                        let (bx, by) = (to_x.get(self.x.order(a)), to_y.get(self.y.order(b)));
                        scatter(&mut weights, &cell, bx, by, self.x.starts[a], self.y.starts[b]);
                    }
                    _ if covered > 0.5 => self.fill_with_products(&mut weights, a, b),
                    _ => {}
                }
            }
            right.iter_mut().zip(&self.rises[a]).for_each(|(sum, rise)| *sum += rise);
        }
        weights
    }

    /// A cell that is covered as a whole.
    fn fill_with_products(&self, weights: &mut Matrix, a: usize, b: usize) {
        for j in self.y.starts[b]..self.y.starts[b] + self.y.order(b) {
            for i in self.x.starts[a]..self.x.starts[a] + self.x.order(a) {
                weights[(i, j)] = self.x.panels.weights[i] * self.y.panels.weights[j];
            }
        }
    }
}

/// The matrix B of the order last asked for: mostly, all panels have one order.
#[derive(Default)]
struct Kept {
    order: usize,
    matrix: Vec<f64>,
}

impl Kept {
    fn get(&mut self, order: usize) -> &[f64] {
        if self.order != order {
            (self.order, self.matrix) = (order, to_weights(order));
        }
        &self.matrix
    }
}

/// B of a panel: from moments to weights, node by node. // (order, order)
fn to_weights(order: usize) -> Vec<f64> {
    let rule = GaussLegendre::shared(order);
    let mut table = Table::default();
    table.fill(order, rule.nodes());
    let row =
        |(i, w): (usize, &f64)| -> Vec<f64> { (0..order).map(|k| w * (k as f64 + 0.5) * table.row(k)[i]).collect() };
    rule.weights().iter().enumerate().flat_map(row).collect()
}

/// Nodes along a piece from which its integrals are exact to rounding. A polynomial of degree n in ξ = cos θ goes through n times the
/// phase of θ; how many nodes a phase takes was found by experiment. Never more than integrate the whole polynomial.
fn nodes_along(order: [usize; 2], xi: [f64; 2], eta: [f64; 2]) -> usize {
    let angle = |ends: [f64; 2]| (ends[0].clamp(-1.0, 1.0).acos() - ends[1].clamp(-1.0, 1.0).acos()).abs();
    let phase = order[0] as f64 * angle(xi) + order[1] as f64 * angle(eta);
    ((4.0 + 0.3 * phase + 2.2 * phase.sqrt()) as usize).min((order[0] + order[1]) / 2 + 1)
}

/// Nodes moved from [−1, 1] to between two ends.
fn fill_between(places: &mut Vec<f64>, ends: [f64; 2], nodes: &[f64]) {
    let (middle, half) = (0.5 * (ends[0] + ends[1]), 0.5 * (ends[1] - ends[0]));
    places.clear();
    places.extend(nodes.iter().map(|node| middle + half * node));
}

/// `target += left · right`, rows one after another, four of the `inner` terms at a time: the target is then touched less often.
fn add_product(target: &mut [f64], left: &[f64], right: &[f64], inner: usize) {
    let width = right.len() / inner;
    for (row, factors) in target.chunks_exact_mut(width).zip(left.chunks_exact(inner)) {
        let (mut fours, mut rest) = (factors.chunks_exact(4), right);
        for four in &mut fours {
            let (now, later) = rest.split_at(4 * width);
            let (ab, cd) = now.split_at(2 * width);
            let ((a, b), (c, d)) = (ab.split_at(width), cd.split_at(width));
            for l in 0..width {
                row[l] += four[0] * a[l] + four[1] * b[l] + four[2] * c[l] + four[3] * d[l];
            }
            rest = later;
        }
        for (factor, values) in fours.remainder().iter().zip(rest.chunks_exact(width)) {
            row.iter_mut().zip(values).for_each(|(sum, value)| *sum += factor * value);
        }
    }
}

/// Writes B_x C B_yᵀ to where the nodes of a cell stand.
fn scatter(weights: &mut Matrix, moments: &[f64], bx: &[f64], by: &[f64], first_x: usize, first_y: usize) {
    let columns = by.len().isqrt();
    let rows = moments.len() / columns;
    let mut half = vec![0.0; rows * columns]; // B_x C
    add_product(&mut half, bx, moments, rows);
    for i in 0..rows {
        for j in 0..columns {
            let pairs = half[i * columns..][..columns].iter().zip(&by[j * columns..][..columns]);
            weights[(first_x + i, first_y + j)] = pairs.map(|(c, b)| c * b).sum();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Span;
    use super::*;

    /// A slanted pentagon with a dent, and a hole in it.
    fn pentagon() -> Vec<Ring> {
        let hole = vec![[0.9, 0.3], [0.7, 0.8], [1.3, 0.7]];
        vec![vec![[0.2, -0.5], [2.7, 0.3], [2.1, 1.9], [1.2, 1.1], [-0.4, 1.6]], hole]
    }

    fn panels(lo: f64, hi: f64, count: usize, order: usize) -> Panels {
        let width = (hi - lo) / count as f64;
        Panels::new(Span { lo, hi }, vec![], 1.0001 * width, |_| order)
    }

    fn integral(weights: &Matrix, x: &Panels, y: &Panels, f: impl Fn(f64, f64) -> f64) -> f64 {
        let rows = (0..x.x.len()).map(|i| (0..y.x.len()).map(|j| weights[(i, j)] * f(x.x[i], y.x[j])).sum::<f64>());
        rows.sum()
    }

    /// ∫∫ xᵖ yᵠ over rings, edge by edge: ∮ xᵖ⁺¹ yᵠ dy / (p + 1).
    fn monomial(rings: &[Ring], p: i32, q: i32) -> f64 {
        let rule = GaussLegendre::new(30);
        let along = |edge: Edge| -> f64 {
            let at = |part: f64| [0, 1].map(|r| edge.from[r] + part * (edge.to[r] - edge.from[r]));
            let values = rule.on(0.0, 1.0).map(|(t, w)| w * at(t)[0].powi(p + 1) * at(t)[1].powi(q));
            values.sum::<f64>() * (edge.to[1] - edge.from[1]) / f64::from(p + 1)
        };
        rings.iter().flat_map(Edge::of_ring).map(along).sum()
    }

    #[test]
    fn polynomials_up_to_the_order_are_integrated_exactly() {
        for (count, order) in [(1, 1), (1, 6), (3, 5), (7, 3), (2, 24), (1, 40)] {
            let (x, y) = (panels(-0.4, 2.7, count, order), panels(-0.5, 1.9, count + 1, order + 2));
            let weights = weights(pentagon().iter(), &x, &y);
            for p in 0..order.min(9) as i32 {
                for q in 0..(order + 2).min(9) as i32 {
                    let got = integral(&weights, &x, &y, |x, y| x.powi(p) * y.powi(q));
                    let want = monomial(&pentagon(), p, q);
                    assert!(
                        (got - want).abs() < 2e-14 * 2.7f64.powi(p + q).max(1.0),
                        "{count}×{order} {p} {q}: {got} {want}"
                    );
                }
            }
        }
    }

    #[test]
    fn panels_may_cover_a_part_of_the_polygons_or_more() {
        let square = |lo: f64, hi: f64| vec![vec![[lo, lo], [hi, lo], [hi, hi], [lo, hi]]];
        let (x, y) = (panels(0.0, 1.0, 3, 4), panels(0.5, 2.0, 2, 5));
        for (lo, hi, area) in [
            (-1.0, 3.0, 1.5),
            (-1.0, 0.7, 0.14),
            (0.2, 0.9, 0.28),
            (0.6, 3.0, 0.56),
            (3.0, 4.0, 0.0),
            (-2.0, -1.0, 0.0),
        ] {
            let total: f64 = weights(square(lo, hi).iter(), &x, &y).data().iter().sum();
            assert!((total - area).abs() < 1e-15 * 10.0, "{lo} {hi}: {total}");
        }
    }

    #[test]
    fn a_box_weighs_its_nodes_by_their_products() {
        let (x, y) = (panels(0.3, 1.7, 4, 7), panels(-2.0, 5.0, 3, 9));
        let ring = vec![[0.3, -2.0], [1.7, -2.0], [1.7, 5.0], [0.3, 5.0]];
        let product = Matrix::from_fn(x.x.len(), y.x.len(), |i, j| x.weights[i] * y.weights[j]);
        assert_eq!(weights([ring].iter(), &x, &y), product);
        // A box that ends inside of cells: products of the weights of intervals, which are boxes with the whole of the other axis.
        let (xs, ys) = ([0.41, 1.52], [-1.3, 4.9]);
        let of = |xs: [f64; 2], ys: [f64; 2]| {
            let ring = vec![[xs[0], ys[0]], [xs[1], ys[0]], [xs[1], ys[1]], [xs[0], ys[1]]];
            weights([ring].iter(), &x, &y)
        };
        let (both, wide, tall) = (of(xs, ys), of([0.3, 1.7], ys), of(xs, [-2.0, 5.0]));
        for i in 0..x.x.len() {
            for j in 0..y.x.len() {
                let want = tall[(i, j)] / y.weights[j] * wide[(i, j)] / x.weights[i];
                assert!((both[(i, j)] - want).abs() < 1e-14, "{i} {j}: {} {want}", both[(i, j)]);
            }
        }
    }

    #[test]
    fn cells_without_border_are_full_or_empty() {
        let (x, y) = (panels(-0.4, 2.7, 40, 3), panels(-0.5, 1.9, 40, 3));
        let weights = weights(pentagon().iter(), &x, &y);
        // the first cell lies outside, the one around (0.5, 1.0) inside, the one around (0.95, 0.6) in the hole
        let at = |px: f64, py: f64| (x.x.partition_point(|x| *x < px), y.x.partition_point(|y| *y < py));
        let (i, j) = at(0.5, 1.0);
        assert_eq!((weights[(0, 0)], weights[(i, j)]), (0.0, x.weights[i] * y.weights[j]));
        assert_eq!(weights[at(0.95, 0.6)], 0.0);
    }

    #[test]
    fn fewer_nodes_along_short_pieces_lose_nothing() {
        // Pieces of all sizes, in the middle, near sides, near corners.
        let ends = [
            [-1.0, 1.0],
            [-1.0, -0.99],
            [0.9, 1.0],
            [0.995, 0.9999],
            [-0.1, 0.3],
            [0.5, 0.51],
            [-0.7, 0.9],
            [0.2, 0.2],
        ];
        for order in [3, 12, 40] {
            for xi in ends {
                for eta in ends.map(|[from, to]| [to, from]) {
                    let few = products(order, xi, eta, nodes_along([order; 2], xi, eta));
                    let all = products(order, xi, eta, order + 1);
                    let worst = few.iter().zip(&all).fold(0.0f64, |worst, (a, b)| worst.max((a - b).abs()));
                    // Rounding of ξ counts as often as the slope of the polynomial is steep.
                    assert!(worst < 1e-15 * (4.0 + order as f64), "{order} {xi:?} {eta:?}: {worst:e}");
                }
            }
        }
    }

    /// ∫ Q_k P_l along a piece of unit rise, for all k and l.
    fn products(order: usize, xi: [f64; 2], eta: [f64; 2], count: usize) -> Vec<f64> {
        let rule = GaussLegendre::new(count);
        let (x, y) = (panels(-1.0, 1.0, 1, order), panels(-1.0, 1.0, 1, order));
        let (x, y) = (Axis::new(&x), Axis::new(&y));
        let mut moments = Moments::new(&x, &y);
        moments.cells[0] = Some(vec![0.0; order * order]);
        moments.add_rise(0, 0, eta, 0.5, &rule);
        moments.add_products(0, 0, xi, 0.5, &rule);
        moments.cells.remove(0).unwrap_or_default()
    }
}
