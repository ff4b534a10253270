//! Products of factors on one axis: their tables over points, and their integrals over a span.
//!
//! A single factor with itself has its own closed form or default ([`Factor`]); any other pair, and every product of several factors, is
//! integrated with one set of Gauss-Legendre nodes for all pairs of points, Ψ = G D G'ᵀ: the panels end at every point where a kernel
//! has a kink, so the result is as good as pair by pair, at the price of two tables. Cost: U·Q formula evaluations and U²·Q products.
//! Where a factor has many periods in the span, `folded.rs` has far fewer nodes.

use super::folded::AxisNodes;
use super::{Bars, Factor, Parameter, Part};
use crate::numerics::linalg::{self, Matrix};
use crate::window::Span;

/// Most values of a table that are held at a time.
const MOST_VALUES: usize = 16_000_000;
/// The same for a sum, whose tables are many: so few stay near the processor, and memory is not asked for anew.
const FEW_VALUES: usize = 1 << 16;

/// A part, and the place of its first parameter among those of its kernel.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct PartAt<'a> {
    pub(crate) part: &'a Part,
    pub(crate) at: usize,
}

impl PartAt<'_> {
    fn range(&self) -> std::ops::Range<usize> {
        self.at..self.at + self.part.parameters.len()
    }

    pub(super) fn period(&self) -> Option<f64> {
        self.part.factor.period(&self.part.parameters)
    }
}

/// The length over which a product of factors varies: as for Gaussians, inverse squares add.
pub(crate) fn length(parts: &[PartAt<'_>]) -> f64 {
    let inverse = |p: &PartAt<'_>| p.part.factor.length(&p.part.parameters).powi(-2);
    // An empty sum is −0, and its root's inverse −∞: begin at 0.
    parts.iter().map(inverse).fold(0.0, |sum, v| sum + v).sqrt().recip()
}

/// Π k(z_i, x_j) for all pairs: (Z, X).
pub(crate) fn gram(parts: &[PartAt<'_>], z: &[f64], x: &[f64]) -> Vec<f64> {
    product(tables(parts, z, x.len(), |_| x), z.len() * x.len())
}

/// The same at nodes.
fn gram_at(parts: &[PartAt<'_>], z: &[f64], nodes: &AxisNodes) -> Vec<f64> {
    let count = nodes.x.len();
    product(tables(parts, z, count, |p| nodes.seen_by(p.period())), z.len() * count)
}

fn product(tables: Vec<Vec<f64>>, size: usize) -> Vec<f64> {
    let multiplied = |mut out: Vec<f64>, table: Vec<f64>| {
        out.iter_mut().zip(table).for_each(|(out, k)| *out *= k);
        out
    };
    tables.into_iter().reduce(multiplied).unwrap_or_else(|| vec![1.0; size])
}

/// One table a part, which sees `count` places where `seen_by` says.
fn tables<'x>(
    parts: &[PartAt<'_>],
    z: &[f64],
    count: usize,
    seen_by: impl Fn(&PartAt<'_>) -> &'x [f64],
) -> Vec<Vec<f64>> {
    let table = |p: &PartAt<'_>| {
        let mut table = vec![0.0; z.len() * count];
        p.part.gram(z, seen_by(p), &mut table);
        table
    };
    parts.iter().map(table).collect()
}

/// Adjoint of [`gram`] by the parameters and z; `k` is its output.
pub(crate) fn gram_adjoint(parts: &[PartAt<'_>], z: &[f64], x: &[f64], k: &[f64], k_bar: &[f64], mut bars: Bars<'_>) {
    let mut one = |p: &PartAt<'_>, k: &[f64], k_bar: &[f64]| {
        p.part.gram_adjoint(z, x, k, k_bar, bars.of(p.range()));
    };
    match parts {
        [] => {}
        [single] => one(single, k, k_bar),
        _ => {
            let tables = tables(parts, z, x.len(), |_| x);
            for (p, part) in parts.iter().enumerate() {
                one(part, &tables[p], &times_others(k_bar, &tables, p));
            }
        }
    }
}

/// Adjoint of [`gram_at`] by the parameters and z.
fn gram_at_adjoint(parts: &[PartAt<'_>], z: &[f64], nodes: &AxisNodes, k_bar: &[f64], mut bars: Bars<'_>) {
    let tables = tables(parts, z, nodes.x.len(), |p| nodes.seen_by(p.period()));
    for (p, part) in parts.iter().enumerate() {
        let (x, bar) = (nodes.seen_by(part.period()), times_others(k_bar, &tables, p));
        part.part.gram_adjoint(z, x, &tables[p], &bar, bars.of(part.range()));
        let Some(turns) = nodes.turns(part.period()) else { continue };
        // A node seen so many periods nearer than it is moves by as many when the period grows; k is symmetric, so the derivative by
        // its second point is that by the first with both exchanged.
        let mut names = part.part.factor.parameters().iter().map(|p| p.name);
        let Some(period) = names.position(|name| name == Parameter::PERIOD.name) else { continue };
        let (k, bar) = (transposed(&tables[p], z.len()), transposed(&bar, z.len()));
        let (mut unused, mut x_bar) = (vec![0.0; part.part.parameters.len()], vec![0.0; x.len()]);
        part.part.gram_adjoint(x, z, &k, &bar, Bars { theta: &mut unused, z: Some(&mut x_bar) });
        bars.theta[part.at + period] -= x_bar.iter().zip(&turns).map(|(bar, turns)| bar * turns).sum::<f64>();
    }
}

/// k̄ of one part: that of the product times all other parts.
fn times_others(k_bar: &[f64], tables: &[Vec<f64>], part: usize) -> Vec<f64> {
    let mut bar = k_bar.to_vec();
    for (_, other) in tables.iter().enumerate().filter(|(o, _)| *o != part) {
        bar.iter_mut().zip(other).for_each(|(bar, k)| *bar *= k);
    }
    bar
}

/// A table of so many rows, column by column, with rows and columns exchanged.
fn transposed(table: &[f64], rows: usize) -> Vec<f64> {
    (0..rows).flat_map(|i| table.iter().skip(i).step_by(rows).copied()).collect()
}

/// ∫ Π k(z_i, x) dx over the span, for all i.
pub(crate) fn phi_list(parts: &[PartAt<'_>], z: &[f64], span: Span, out: &mut [f64]) {
    match parts {
        [] => out.fill(span.length()),
        [single] => single.part.phi(z, span, out),
        _ => {
            out.fill(0.0);
            for nodes in nodes(parts, &[], z, span).blocks(MOST_VALUES / z.len().max(1)) {
                let sums = linalg::columns_times(&gram_at(parts, z, &nodes), z.len(), &nodes.weights);
                linalg::add_scaled(out, 1.0, &sums);
            }
        }
    }
}

/// Adjoint of [`phi_list`].
pub(crate) fn phi_list_adjoint(parts: &[PartAt<'_>], z: &[f64], span: Span, phi_bar: &[f64], mut bars: Bars<'_>) {
    match parts {
        [] => {}
        [single] => single.part.phi_adjoint(z, span, phi_bar, bars.of(single.range())),
        _ => {
            for nodes in nodes(parts, &[], z, span).blocks(MOST_VALUES / z.len().max(1)) {
                let k_bar: Vec<f64> =
                    nodes.weights.iter().flat_map(|w| phi_bar.iter().map(move |bar| w * bar)).collect();
                gram_at_adjoint(parts, z, &nodes, &k_bar, bars.lend());
            }
        }
    }
}

/// ∫ Π_left k(z_i, x) · Π_right k(x, z_j) dx over the span, for all pairs: (Z, Z).
pub(crate) fn psi_table(left: &[PartAt<'_>], right: &[PartAt<'_>], z: &[f64], span: Span, out: &mut [f64]) {
    let size = z.len();
    match pair(left, right, size) {
        Pair::Itself(part) => part.part.psi(z, span, out),
        Pair::LeftAlone => {
            phi_list(left, z, span, &mut out[..size]);
            let (first, rest) = out.split_at_mut(size);
            rest.chunks_exact_mut(size).for_each(|column| column.copy_from_slice(first));
        }
        Pair::RightAlone => {
            let mut list = vec![0.0; size];
            phi_list(right, z, span, &mut list);
            out.chunks_exact_mut(size).zip(list).for_each(|(column, phi)| column.fill(phi));
        }
        Pair::Two => psi_at(left, right, z, &nodes(left, right, z, span), out),
    }
}

/// Adjoint of [`psi_table`]; where left and right are the same `psi_bar` must be symmetric.
pub(crate) fn psi_table_adjoint(
    left: &[PartAt<'_>],
    right: &[PartAt<'_>],
    z: &[f64],
    span: Span,
    psi_bar: &[f64],
    mut bars: Bars<'_>,
) {
    let size = z.len();
    match pair(left, right, size) {
        Pair::Itself(part) => part.part.psi_adjoint(z, span, psi_bar, bars.of(part.range())),
        Pair::LeftAlone => {
            let sums = linalg::columns_times(psi_bar, size, &vec![1.0; size]);
            phi_list_adjoint(left, z, span, &sums, bars);
        }
        Pair::RightAlone => {
            let sums: Vec<f64> = psi_bar.chunks_exact(size).map(|column| column.iter().sum()).collect();
            phi_list_adjoint(right, z, span, &sums, bars);
        }
        Pair::Two => psi_at_adjoint(left, right, z, &nodes(left, right, z, span), psi_bar, bars),
    }
}

/// [`psi_table`] by nodes, a block of them after the other.
fn psi_at(left: &[PartAt<'_>], right: &[PartAt<'_>], z: &[f64], nodes: &AxisNodes, out: &mut [f64]) {
    let mut block_sum = vec![0.0; out.len()];
    out.fill(0.0);
    for nodes in nodes.blocks(MOST_VALUES / z.len().max(1)) {
        let (g, h) = (gram_at(left, z, &nodes), gram_at(right, z, &nodes));
        linalg::weighted_outer(&g, &nodes.weights, &h, z.len(), &mut block_sum);
        linalg::add_scaled(out, 1.0, &block_sum);
    }
}

/// Adjoint of [`psi_at`].
fn psi_at_adjoint(
    left: &[PartAt<'_>],
    right: &[PartAt<'_>],
    z: &[f64],
    nodes: &AxisNodes,
    psi_bar: &[f64],
    mut bars: Bars<'_>,
) {
    for nodes in nodes.blocks(MOST_VALUES / z.len().max(1)) {
        let (g, h) = (gram_at(left, z, &nodes), gram_at(right, z, &nodes));
        let (g_bar, h_bar) = linalg::weighted_outer_adjoint(&g, &nodes.weights, &h, z.len(), psi_bar);
        gram_at_adjoint(left, z, &nodes, &g_bar, bars.lend());
        gram_at_adjoint(right, z, &nodes, &h_bar, bars.lend());
    }
}

/// How a pair of products is integrated.
enum Pair<'a, 'b> {
    /// One factor with itself, pair by pair.
    Itself(&'a PartAt<'b>),
    /// Only the left one varies.
    LeftAlone,
    /// Only the right one varies.
    RightAlone,
    /// Anything else.
    Two,
}

fn pair<'a, 'b>(left: &'a [PartAt<'b>], right: &'a [PartAt<'b>], points: usize) -> Pair<'a, 'b> {
    match (left, right) {
        ([l], [r]) if l.at == r.at && points <= l.part.factor.pair_by_pair_up_to() => Pair::Itself(l),
        (_, []) => Pair::LeftAlone,
        ([], _) => Pair::RightAlone,
        _ => Pair::Two,
    }
}

/// Nodes over a span for a product with a product, seen from any of the points.
fn nodes(left: &[PartAt<'_>], right: &[PartAt<'_>], z: &[f64], span: Span) -> AxisNodes {
    nodes_of(&[left, right], z, span)
}

/// The same for any of some products with any other.
fn nodes_of(products: &[&[PartAt<'_>]], z: &[f64], span: Span) -> AxisNodes {
    let kinks = products.iter().copied().flatten().any(|p| p.part.factor.has_kink());
    AxisNodes::new(products, if kinks { z } else { &[] }, span)
}

/// A sum of products on one axis, each with its variance: k = Σ v Π k. By nodes that all of them share Ψ of the sum is one product of matrices
/// and φ one more column, where pair by pair there would be a product for each two of them.
pub(crate) struct Sum<'a> {
    pub(crate) terms: Vec<(f64, Vec<PartAt<'a>>)>,
}

impl<'a> Sum<'a> {
    /// Whether nodes of all take the place of pairs: of several terms, where some pair has no closed form.
    pub(crate) fn is_worth_it(&self, points: usize) -> bool {
        let has_form = |(left, right): (&[PartAt<'_>], &[PartAt<'_>])| !matches!(pair(left, right, points), Pair::Two);
        let pairs = || (0..self.terms.len()).flat_map(|t| (t..self.terms.len()).map(move |u| (t, u)));
        self.terms.len() > 1 && !pairs().all(|(t, u)| has_form((&self.terms[t].1, &self.terms[u].1)))
    }

    fn nodes(&self, z: &[f64], span: Span) -> AxisNodes {
        nodes_of(&self.terms.iter().map(|(_, parts)| parts.as_slice()).collect::<Vec<_>>(), z, span)
    }

    /// The table of each term, and Σ v of them. // (Z, Q)
    fn gram(&self, z: &[f64], nodes: &AxisNodes) -> (Vec<Vec<f64>>, Vec<f64>) {
        let mut sum = vec![0.0; z.len() * nodes.x.len()];
        let table = |(variance, parts): &(f64, Vec<PartAt<'a>>)| {
            let table = gram_at(parts, z, nodes);
            linalg::add_scaled(&mut sum, *variance, &table);
            table
        };
        (self.terms.iter().map(table).collect(), sum)
    }

    /// Adds the lower half of Ψ, and φ, over a span, so many times.
    pub(crate) fn add_integrals(&self, z: &[f64], span: Span, times: f64, psi: &mut Matrix, phi: &mut [f64]) {
        for nodes in self.nodes(z, span).blocks(FEW_VALUES / z.len().max(1)) {
            let (_, g) = self.gram(z, &nodes);
            linalg::add_outer_lower(psi, times, &linalg::scaled_columns(&g, &nodes.weights, z.len()), &g);
            linalg::add_scaled(phi, times, &linalg::columns_times(&g, z.len(), &nodes.weights));
        }
    }

    /// Adjoint of [`Sum::add_integrals`] for a symmetric cotangent of the whole of Ψ; returns the cotangents of the variances.
    pub(crate) fn integrals_adjoint(
        &self,
        z: &[f64],
        span: Span,
        times: f64,
        (psi_bar, phi_bar): (&Matrix, &[f64]),
        mut bars: Bars<'_>,
    ) -> Vec<f64> {
        let mut variances_bar = vec![0.0; self.terms.len()];
        for nodes in self.nodes(z, span).blocks(FEW_VALUES / z.len().max(1)) {
            let (tables, g) = self.gram(z, &nodes);
            let mut g_bar = vec![0.0; g.len()];
            linalg::product_columns(psi_bar, &g, &mut g_bar);
            for (column, w) in g_bar.chunks_exact_mut(z.len()).zip(&nodes.weights) {
                column.iter_mut().zip(phi_bar).for_each(|(bar, phi)| *bar = times * w * (2.0 * *bar + phi));
            }
            for (((variance, parts), table), bar) in self.terms.iter().zip(&tables).zip(&mut variances_bar) {
                *bar += linalg::dot(&g_bar, table);
                let table_bar: Vec<f64> = g_bar.iter().map(|bar| variance * bar).collect();
                gram_at_adjoint(parts, z, &nodes, &table_bar, bars.lend());
            }
        }
        variances_bar
    }
}

/// [`psi_table`] and its adjoint by ordinary nodes, however many that takes: what faster ways are compared with.
#[cfg(test)]
pub(super) fn psi_table_plainly(
    left: &[PartAt<'_>],
    right: &[PartAt<'_>],
    z: &[f64],
    span: Span,
    psi_bar: &[f64],
    bars: Bars<'_>,
) -> Vec<f64> {
    let rule = crate::window::AxisRule { length: length(left).min(length(right)), kinks: z };
    let crate::window::Panels { x, weights, .. } = crate::window::Panels::for_product(span, rule, &[]);
    let nodes = AxisNodes { x, weights, phases: None };
    let mut table = vec![0.0; z.len() * z.len()];
    psi_at(left, right, z, &nodes, &mut table);
    psi_at_adjoint(left, right, z, &nodes, psi_bar, bars);
    table
}

/// ∫ left(z, x) right(x, w) dx over the span, for two factors with their parameters.
pub fn cross_psi(left: (Factor, &[f64]), right: (Factor, &[f64]), z: f64, w: f64, span: Span) -> f64 {
    let part = |(factor, theta): (Factor, &[f64])| Part { axis: 0, factor, parameters: theta.to_vec() };
    let (l, r) = (part(left), part(right));
    let varies = |part: &Part| part.factor != Factor::Constant;
    let same = l == r;
    let l: Vec<PartAt<'_>> = varies(&l).then_some(PartAt { part: &l, at: 0 }).into_iter().collect();
    let r: Vec<PartAt<'_>> =
        varies(&r).then_some(PartAt { part: &r, at: if same { 0 } else { usize::MAX } }).into_iter().collect();
    let mut table = [0.0; 4];
    psi_table(&l, &r, &[z, w], span, &mut table);
    table[2]
}
