//! Quadrature over a window, piece by piece.
//!
//! On each axis: panels that end wherever the integrand may have a kink (at inducing coordinates of a kernel that has them, at the lines
//! of an exposure), each with Gauss-Legendre nodes. A box weighs their tensor product by the product of the weights. A polygon weighs the
//! nodes of its two axes jointly: each node by the integral of its Lagrange polynomial over the polygon, which Green's theorem gives
//! exactly (`polygon.rs`). An exposure multiplies the weights. So every window and every kernel share one form: Σ w h(x).

use super::{Exposure, Piece, Span, Window};
use crate::numerics::gauss::GaussLegendre;
use crate::numerics::linalg::Matrix;
use crate::points::Points;

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
        // Found by experiment: three nodes a length, and a dozen more; fewer where a panel is a small part of a length.
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
pub(crate) struct Nodes {
    pub(crate) points: Points,
    pub(crate) weights: Vec<f64>,
}

impl Window {
    /// Nodes for the integral of a product of two kernels over each piece.
    pub(crate) fn nodes(&self, rules: &[AxisRule<'_>]) -> Vec<PieceNodes> {
        if let Some(Exposure::Nodes { points, weights }) = &self.exposure {
            let nodes = Nodes { points: points.clone(), weights: weights.clone() };
            return vec![PieceNodes { axes: vec![], weights: Weights::Single(nodes), repeats: 1.0 }];
        }
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
        let axes: Vec<Panels> = (0..self.dims())
            .map(|r| {
                let cuts = self.exposure.as_ref().map_or(&[][..], |exposure| exposure.lines(r));
                let outlined = piece.outline.is_some() && r < 2;
                let make = if outlined { Panels::for_interpolation } else { Panels::for_product };
                make(piece.spans[r], rules[r], cuts)
            })
            .collect();
        let joint = piece.outline.as_ref().map(|outline| outline.weights(&axes[0], &axes[1]));
        let weights = joint.map_or(Weights::Product, Weights::Pair);
        let mut nodes = PieceNodes { axes, weights, repeats: piece.repeats };
        if let Some(exposure) = &self.exposure {
            nodes.expose(exposure);
        }
        nodes
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
}

/// How many points [`Nodes::of_pieces`] gives at most.
pub(crate) fn count(pieces: &[PieceNodes]) -> usize {
    pieces.iter().fold(0usize, |n, piece| n.saturating_add(piece.count()))
}

impl PieceNodes {
    /// Multiplies the weights by the exposure.
    fn expose(&mut self, exposure: &Exposure) {
        let dims = self.axes.len();
        let mut point = vec![0.0; dims];
        match exposure.axes()[..] {
            [axis] if axis >= 2 || matches!(self.weights, Weights::Product) => {
                let Panels { x, weights, .. } = &mut self.axes[axis];
                for (x, w) in x.iter().zip(weights) {
                    point[axis] = *x;
                    *w *= exposure.at(&point);
                }
            }
            [.., last] if last < 2 => {
                let (x, y) = (&self.axes[0], &self.axes[1]);
                let mut joint = match std::mem::replace(&mut self.weights, Weights::Product) {
                    Weights::Pair(joint) => joint,
                    _ => Matrix::from_fn(x.x.len(), y.x.len(), |i, j| x.weights[i] * y.weights[j]),
                };
                for j in 0..y.x.len() {
                    for i in 0..x.x.len() {
                        (point[0], point[1]) = (x.x[i], y.x[j]);
                        joint[(i, j)] *= exposure.at(&point);
                    }
                }
                self.weights = Weights::Pair(joint);
            }
            _ => {
                let mut nodes = self.flatten();
                for (row, w) in nodes.points.rows().zip(&mut nodes.weights) {
                    *w *= exposure.at(row) / self.repeats;
                }
                self.weights = Weights::Single(nodes);
            }
        }
    }

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
        let mut rows: Vec<(Vec<f64>, f64)> = vec![(vec![], self.repeats)];
        let rest = match &self.weights {
            Weights::Single(nodes) => {
                let weights = nodes.weights.iter().map(|w| w * self.repeats).collect();
                return Nodes { points: nodes.points.clone(), weights };
            }
            Weights::Product => &self.axes[..],
            Weights::Pair(joint) => {
                let (x, y) = (&self.axes[0].x, &self.axes[1].x);
                let pairs = (0..x.len()).flat_map(|i| (0..y.len()).map(move |j| (i, j)));
                rows = pairs
                    .filter(|&at| joint[at] != 0.0)
                    .map(|(i, j)| (vec![x[i], y[j]], self.repeats * joint[(i, j)]))
                    .collect();
                &self.axes[2..]
            }
        };
        for axis in rest {
            let extended = |(x, w): &(Vec<f64>, f64)| -> Vec<(Vec<f64>, f64)> {
                axis.x.iter().zip(&axis.weights).map(|(y, v)| ([x.as_slice(), &[*y]].concat(), w * v)).collect()
            };
            rows = rows.iter().flat_map(extended).collect();
        }
        let (points, weights): (Vec<Vec<f64>>, Vec<f64>) = rows.into_iter().unzip();
        Nodes { points: Points::of_rows(self.axes.len(), points.concat()), weights }
    }
}
