//! Quadrature over a window, piece by piece.
//!
//! On each axis: panels that end wherever the integrand may have a kink (at inducing coordinates of a kernel that has them, at the lines
//! of an exposure), each with Gauss-Legendre nodes. A box weighs their tensor product by the product of the weights. A polygon weighs the
//! nodes of its two axes jointly: each node by the integral of its Lagrange polynomial over the polygon, which Green's theorem gives
//! exactly (`polygon.rs`). An exposure multiplies the weights; where it has many lines, few nodes are made to stand for many
//! (`gather.rs`). So every window and every kernel share one form: Σ w h(x).

use super::{Exposure, Piece, Polygons, Span, Window, gather};
use crate::data::points::Points;
use crate::numerics::gauss::GaussLegendre;
use crate::numerics::linalg::Matrix;

/// Panels under an outline are no wider than this many lengths: the work of an outline grows with the square of a panel's nodes.
const OUTLINED_WIDTH: f64 = 6.0;

/// Other panels are no wider than this: to find the nodes of a rule takes the square of their number.
const WIDEST: f64 = 64.0;

/// What an integrand asks of the nodes on an axis.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AxisRule<'a> {
    /// The length over which each of two factors of the integrand varies.
    pub(crate) length: f64,
    /// Where it may have kinks.
    pub(crate) kinks: &'a [f64],
}

impl AxisRule<'_> {
    pub(crate) fn smooth(length: f64) -> Self {
        Self { length, kinks: &[] }
    }
}

/// An interval with Gauss-Legendre nodes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Panel {
    pub(crate) span: Span,
    pub(crate) order: usize,
}

/// Panels side by side, and all their nodes with weights.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Panels {
    pub(crate) panels: Vec<Panel>,
    pub(crate) x: Vec<f64>,
    pub(crate) weights: Vec<f64>,
}

impl Panels {
    /// Panels over a span, cut at `cuts`, no wider than `widest`, with `order(width)` nodes each.
    pub(crate) fn new(span: Span, mut cuts: Vec<f64>, widest: f64, order: impl Fn(f64) -> usize) -> Self {
        let least = 1e-12 * span.length();
        cuts.retain(|x| span.lo + least < *x && *x < span.hi - least);
        cuts.extend([span.lo, span.hi]);
        cuts.sort_by(f64::total_cmp);
        cuts.dedup_by(|b, a| *b - *a < least);
        let mut made = Self { panels: vec![], x: vec![], weights: vec![] };
        for ends in cuts.windows(2) {
            let width = ends[1] - ends[0];
            let count = (width / widest).ceil().clamp(1.0, 1e4) as usize;
            let order = rounded_up(order(width / count as f64));
            let rule = GaussLegendre::shared(order);
            for i in 0..count {
                let at = |i: usize| if i == count { ends[1] } else { ends[0] + width * i as f64 / count as f64 };
                let span = Span { lo: at(i), hi: at(i + 1) };
                made.panels.push(Panel { span, order });
                for (x, w) in rule.on(span.lo, span.hi) {
                    made.x.push(x);
                    made.weights.push(w);
                }
            }
        }
        made
    }

    /// Nodes for the integral of a product of two factors that vary over `length`, to about 1e-13.
    pub(crate) fn for_product(span: Span, rule: AxisRule<'_>, cuts: &[f64]) -> Self {
        // Found by experiment: three nodes per length, and a dozen more; fewer where a panel is a small part of a length.
        let order = |width: f64| {
            let lengths = (width / rule.length).min(1e5);
            (3.0 * lengths + 4.0 + f64::min(10.0, 40.0 * lengths)).ceil() as usize
        };
        Self::new(span, [rule.kinks, cuts].concat(), WIDEST * rule.length, order)
    }

    /// Nodes at which the same product can be interpolated, so that a border may run through the panels.
    fn for_interpolation(span: Span, rule: AxisRule<'_>, cuts: &[f64]) -> Self {
        let order = |width: f64| {
            // Found by experiment: 1e-13 of the whole integral, up to any place in the panel.
            let lengths = (width / rule.length).min(1e5);
            (3.6 * lengths + 4.0 + 6.5 * lengths.sqrt()).ceil() as usize
        };
        Self::new(span, [rule.kinks, cuts].concat(), OUTLINED_WIDTH * rule.length, order)
    }
}

/// A large order up to the next of a few, so that rules can be kept from one step of a fit to the next.
fn rounded_up(order: usize) -> usize {
    let step = (order.next_power_of_two() / 32).max(1);
    order.div_ceil(step) * step
}

/// How the nodes of the axes are weighed together.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Weights {
    /// By the product of the axes' own weights.
    Product,
    /// Jointly on the first two axes, by the product with the others' weights. // (X, Y)
    Pair(Matrix),
    /// One by one: points with weights, of no structure.
    Single(Nodes),
}

/// Nodes over one piece of a window.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PieceNodes {
    pub(crate) axes: Vec<Panels>,
    pub(crate) weights: Weights,
    /// A factor of all weights.
    pub(crate) repeats: f64,
}

/// Points with weights: Σ w h(x) ≈ ∫ h over the window.
#[derive(Debug, Clone, PartialEq)]
pub struct Nodes {
    /// x.
    pub points: Points,
    /// w.
    pub weights: Vec<f64>,
}

impl Window {
    /// Nodes for the integral of a product of two kernels over each piece.
    pub(crate) fn nodes(&self, rules: &[AxisRule<'_>]) -> Vec<PieceNodes> {
        self.pieces.iter().map(|piece| self.piece_nodes(piece, rules)).collect()
    }

    /// About how many nodes [`Window::nodes`] makes for boxes, before any is made.
    pub(crate) fn node_estimate(&self, rules: &[AxisRule<'_>]) -> f64 {
        let on_axis = |(span, rule): (&Span, &AxisRule<'_>)| 3.0 * span.length() / rule.length + 4.0;
        self.pieces.iter().map(|piece| piece.spans.iter().zip(rules).map(on_axis).product::<f64>()).sum()
    }

    /// The shortest length, relative to the box around it, over which an integrand may vary: what nodes can show without filling the
    /// memory. Nothing for boxes, whose integrals go axis by axis.
    pub(crate) fn shortest_length(&self) -> f64 {
        let exposed = match &self.exposure {
            Some(Exposure::Grid { axes, .. }) => axes.len(),
            _ => 0,
        };
        let outlined = if self.outlines().next().is_some() { 2 } else { 0 };
        match exposed.max(outlined) {
            0 => 0.0,
            1 => 1e-4,
            2 => 4e-3,
            _ => 2e-2,
        }
    }

    fn piece_nodes(&self, piece: &Piece, rules: &[AxisRule<'_>]) -> PieceNodes {
        if let Some(exposure) = &self.exposure {
            return Exposed::new(piece, exposure, rules).nodes();
        }
        let axes: Vec<Panels> = (0..self.dims()).map(|r| piece.panels(r, rules[r], &[])).collect();
        let joint = piece.outline.as_ref().map(|outline| outline.weights(&axes[0], &axes[1]));
        PieceNodes { axes, weights: joint.map_or(Weights::Product, Weights::Pair), repeats: piece.repeats }
    }
}

impl Piece {
    /// Panels on an axis that end at `cuts`.
    fn panels(&self, axis: usize, rule: AxisRule<'_>, cuts: &[f64]) -> Panels {
        let outlined = self.outline.is_some() && axis < 2;
        let make = if outlined { Panels::for_interpolation } else { Panels::for_product };
        make(self.spans[axis], rule, cuts)
    }
}

/// A piece of a window under an exposure, whose nodes are gathered axis by axis.
struct Exposed<'a> {
    piece: &'a Piece,
    exposure: &'a Exposure,
    axes: Vec<gather::Axis>,
}

impl<'a> Exposed<'a> {
    fn new(piece: &'a Piece, exposure: &'a Exposure, rules: &[AxisRule<'_>]) -> Self {
        let axis = |(r, &rule): (usize, &AxisRule<'_>)| {
            let fine = piece.panels(r, rule, exposure.lines(r));
            gather::Axis::new(fine, Panels::for_interpolation(piece.spans[r], rule, &[]))
        };
        Self { piece, exposure, axes: rules.iter().enumerate().map(axis).collect() }
    }

    fn nodes(self) -> PieceNodes {
        let exposed = self.exposure.axes().to_vec();
        let outline = self.piece.outline.as_ref();
        let cut_out = |outline: &Polygons| outline.weights(self.axes[0].fine(), self.axes[1].fine());
        let (order, tensor, mut weights) = match outline {
            Some(outline) if exposed[0] < 2 || exposed.len() > 1 => {
                let after = exposed.iter().copied().filter(|r| *r >= 2);
                ([1, 0].into_iter().chain(after).collect(), self.outlined(&cut_out(outline)), Weights::Product)
            }
            Some(outline) => {
                (exposed.clone(), self.gathered(0, self.exposure.values().to_vec()), Weights::Pair(cut_out(outline)))
            }
            None => (exposed.clone(), self.gathered(0, self.exposure.values().to_vec()), Weights::Product),
        };
        let mut axes: Vec<Panels> = self.axes.into_iter().map(gather::Axis::into_panels).collect();
        match order[..] {
            [axis] => axes[axis].weights = tensor,
            [1, 0] => weights = Weights::Pair(Matrix::from_columns(axes[0].x.len(), tensor)),
            [0, 1] => {
                let (rows, cols) = (axes[0].x.len(), axes[1].x.len());
                weights = Weights::Pair(Matrix::from_fn(rows, cols, |i, j| tensor[i * cols + j]));
            }
            _ => weights = Weights::Single(Nodes::of_tensor(order, tensor, &axes)),
        }
        PieceNodes { axes, weights, repeats: self.piece.repeats }
    }

    /// Gathers along the exposure's axes from the one at `place` of its list on; what comes before them in the tensor must be gathered.
    fn gathered(&self, place: usize, mut tensor: Vec<f64>) -> Vec<f64> {
        for (place, &r) in self.exposure.axes().iter().enumerate().skip(place) {
            let (axis, count) = (&self.axes[r], self.exposure.values_along(place));
            let Panels { x, weights, .. } = axis.fine();
            tensor = axis.gathered(&tensor, count, |n| {
                self.exposure.shares(place, x[n]).map(|(value, share)| (value, share * weights[n]))
            });
        }
        tensor
    }

    /// The weights on the second axis, the first, and the others that the exposure depends on, given what the outline makes of the first
    /// two. The exposure cannot be told apart on these, so it is gathered for each of its values on the others.
    fn outlined(&self, joint: &Matrix) -> Vec<f64> {
        let (exposed, exposure) = (self.exposure.axes(), self.exposure);
        let flat = exposed.iter().filter(|r| **r < 2).count();
        let along = |place: usize| -> Vec<[(usize, f64); 2]> {
            self.axes[exposed[place]].fine().x.iter().map(|&x| exposure.shares(place, x)).collect()
        };
        let shares: Vec<_> = (0..flat).map(along).collect();
        let others: Vec<usize> = (flat..exposed.len()).map(|place| exposure.values_along(place)).collect();
        let mut tensor = Vec::new();
        for slice in 0..others.iter().product() {
            let mut at = vec![[(0, 1.0), (0, 0.0)]; exposed.len()];
            let mut rest = slice;
            for (place, count) in others.iter().enumerate().rev() {
                at[flat + place][0].0 = rest % count;
                rest /= count;
            }
            let mut weights = joint.clone();
            for j in 0..joint.cols() {
                for (i, w) in weights.col_mut(j).iter_mut().enumerate().filter(|(_, w)| **w != 0.0) {
                    (0..flat).for_each(|place| at[place] = shares[place][if exposed[place] == 0 { i } else { j }]);
                    *w *= exposure.value(&at);
                }
            }
            let rows = self.axes[1].gathered(weights.data(), joint.cols(), |n| [(n, 1.0)]);
            tensor.extend(self.axes[0].gathered(&rows, joint.rows(), |n| [(n, 1.0)]));
        }
        self.gathered(flat, tensor)
    }
}

impl Nodes {
    /// The nodes of all pieces as one list.
    pub(crate) fn of_pieces(pieces: &[PieceNodes]) -> Self {
        let mut all = pieces[0].flatten();
        for piece in &pieces[1..] {
            let Nodes { points, weights } = piece.flatten();
            all.points = all.points.followed_by(&points);
            all.weights.extend(weights);
        }
        all
    }

    /// The points of a tensor of weights on axes in this order; on those that are not in it, of their own weights.
    fn of_tensor(mut order: Vec<usize>, mut tensor: Vec<f64>, axes: &[Panels]) -> Self {
        for r in (0..axes.len()).filter(|r| !order.contains(r)).collect::<Vec<_>>() {
            tensor = tensor.iter().flat_map(|w| axes[r].weights.iter().map(move |v| w * v)).collect();
            order.push(r);
        }
        let (mut rows, mut weights, mut row) = (Vec::new(), Vec::new(), vec![0.0; axes.len()]);
        for (at, &weight) in tensor.iter().enumerate().filter(|(_, weight)| **weight != 0.0) {
            let mut rest = at;
            for &r in order.iter().rev() {
                row[r] = axes[r].x[rest % axes[r].x.len()];
                rest /= axes[r].x.len();
            }
            rows.extend_from_slice(&row);
            weights.push(weight);
        }
        Self { points: Points::of_rows(axes.len(), rows), weights }
    }
}

/// How many points [`Nodes::of_pieces`] gives at most.
pub(crate) fn count(pieces: &[PieceNodes]) -> usize {
    pieces.iter().fold(0usize, |n, piece| n.saturating_add(piece.count()))
}

impl PieceNodes {
    /// How many points [`PieceNodes::flatten`] gives at most.
    fn count(&self) -> usize {
        match &self.weights {
            Weights::Single(nodes) => nodes.weights.len(),
            Weights::Pair(joint) => {
                let inside = joint.data().iter().filter(|w| **w != 0.0).count();
                self.axes[2..].iter().fold(inside, |n, axis| n.saturating_mul(axis.x.len()))
            }
            Weights::Product => self.axes.iter().fold(1usize, |n, axis| n.saturating_mul(axis.x.len())),
        }
    }

    /// The sum of all weights: the measure of the piece.
    pub(crate) fn total(&self) -> f64 {
        let sum = |axes: &[Panels]| axes.iter().map(|axis| axis.weights.iter().sum::<f64>()).product::<f64>();
        let total = match &self.weights {
            Weights::Single(nodes) => nodes.weights.iter().sum(),
            Weights::Pair(joint) => joint.data().iter().sum::<f64>() * sum(&self.axes[2..]),
            Weights::Product => sum(&self.axes),
        };
        self.repeats * total
    }

    /// The nodes as a list of points, those without weight left out.
    pub(crate) fn flatten(&self) -> Nodes {
        if let Weights::Single(nodes) = &self.weights {
            let weights = nodes.weights.iter().map(|w| w * self.repeats).collect();
            return Nodes { points: nodes.points.clone(), weights };
        }
        let (mut rows, mut weights) = (Vec::new(), Vec::new());
        self.for_each(&mut |point: &[f64], weight: f64| {
            rows.extend_from_slice(point);
            weights.push(weight);
        });
        Nodes { points: Points::of_rows(self.axes.len(), rows), weights }
    }

    /// Visits the nodes with their weights, in order: those of [`PieceNodes::flatten`], without a list of them.
    pub(crate) fn for_each(&self, visit: &mut impl FnMut(&[f64], f64)) {
        let mut point = vec![0.0; self.axes.len()];
        match &self.weights {
            Weights::Single(nodes) => {
                nodes.points.rows().zip(&nodes.weights).for_each(|(point, weight)| visit(point, self.repeats * weight));
            }
            Weights::Product => self.along(0, self.repeats, &mut point, visit),
            Weights::Pair(joint) => {
                for i in 0..self.axes[0].x.len() {
                    for j in (0..self.axes[1].x.len()).filter(|&j| joint[(i, j)] != 0.0) {
                        (point[0], point[1]) = (self.axes[0].x[i], self.axes[1].x[j]);
                        self.along(2, self.repeats * joint[(i, j)], &mut point, visit);
                    }
                }
            }
        }
    }

    /// Visits the nodes on the axes from this one on, those before being at `point`.
    fn along(&self, axis: usize, weight: f64, point: &mut [f64], visit: &mut impl FnMut(&[f64], f64)) {
        let Some(panels) = self.axes.get(axis) else { return visit(point, weight) };
        for (x, w) in panels.x.iter().zip(&panels.weights) {
            point[axis] = *x;
            self.along(axis + 1, weight * w, point, visit);
        }
    }
}
