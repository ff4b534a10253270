//! Nodes for a product of what repeats itself after a short period and what changes slowly.
//!
//! ∫ S(x) P(x) dx, P with period p, over n whole periods is ∫₀ᵖ P(u) Σ_j S(u + jp) du. The integral over u has ordinary nodes; the sum
//! over n evenly spaced places of a smooth function is a Gauss rule for that sum (the one of the Gram polynomials), with far fewer
//! nodes than places. So a thousand periods cost what the slow factors ask for times what one period does. A node has two
//! coordinates: one for the slow factors, one for the phase. What is left of a span after whole periods has ordinary nodes.

use super::integrals::{PartAt, length};
use crate::window::{AxisRule, Panels, Span};
use std::borrow::Cow;

/// Fewer whole periods than this are not worth the trouble.
const LEAST_PERIODS: f64 = 4.0;
/// A stretch is folded if that leaves no more than this part of its periods.
const WORTHWHILE: f64 = 0.6;
/// Lengths of the slow factors in one panel.
const PANEL: f64 = 16.0;

/// Nodes on an axis.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct AxisNodes {
    /// Where factors without this period are looked at, ...
    pub(super) x: Vec<f64>,
    pub(super) weights: Vec<f64>,
    /// ... and where those with it are, if that is elsewhere.
    pub(super) phases: Option<Phases>,
}

/// The places of nodes as what repeats itself sees them.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Phases {
    pub(super) period: f64,
    pub(super) x: Vec<f64>,
}

impl AxisNodes {
    /// Nodes over a span for the integral of any of these products of factors with any other, seen from any of the points `kinks`.
    pub(super) fn new(products: &[&[PartAt<'_>]], kinks: &[f64], span: Span) -> Self {
        let rule = AxisRule { length: shortest(products), kinks };
        match Folding::of(products, span) {
            Some(folding) => folding.nodes(kinks, span, rule.length),
            None => {
                let Panels { x, weights, .. } = Panels::for_product(span, rule, &[]);
                Self { x, weights, phases: None }
            }
        }
    }

    /// Where a factor with this period, if it has one, is looked at.
    pub(super) fn seen_by(&self, period: Option<f64>) -> &[f64] {
        match &self.phases {
            Some(phases) if repeats_after(period, phases.period) => &phases.x,
            _ => &self.x,
        }
    }

    /// So many periods each node seems nearer to a factor with this period than it is; nothing where it is seen in its place.
    pub(super) fn turns(&self, period: Option<f64>) -> Option<Vec<f64>> {
        let phases = self.phases.as_ref().filter(|phases| repeats_after(period, phases.period))?;
        Some(self.x.iter().zip(&phases.x).map(|(x, phase)| (x - phase) / period.unwrap_or(phases.period)).collect())
    }

    /// The same nodes in blocks of at most so many.
    pub(super) fn blocks(&self, length: usize) -> impl Iterator<Item = Cow<'_, Self>> {
        let (length, count) = (length.max(1), self.x.len());
        let cut = move |from: usize| -> Cow<'_, Self> {
            let range = from..count.min(from + length);
            let phases = self.phases.as_ref();
            match range.len() == count {
                true => Cow::Borrowed(self),
                false => Cow::Owned(Self {
                    x: self.x[range.clone()].to_vec(),
                    weights: self.weights[range.clone()].to_vec(),
                    phases: phases.map(|phases| Phases { period: phases.period, x: phases.x[range].to_vec() }),
                }),
            }
        };
        (0..count).step_by(length).map(cut)
    }

    fn push(&mut self, x: f64, weight: f64, phase: f64) {
        self.x.push(x);
        self.weights.push(weight);
        self.phases.iter_mut().for_each(|phases| phases.x.push(phase));
    }
}

/// Whether what has this period, if it has one, looks the same one `later` period on.
fn repeats_after(period: Option<f64>, later: f64) -> bool {
    const EXACT: f64 = 1e-13;
    period.is_some_and(|period| {
        let times = later / period;
        times > 0.5 && (times - times.round()).abs() <= EXACT * times
    })
}

/// The shortest length over which one of these products varies.
fn shortest(products: &[&[PartAt<'_>]]) -> f64 {
    products.iter().map(|parts| length(parts)).fold(f64::INFINITY, f64::min)
}

/// What repeats itself, and what does not.
struct Folding {
    period: f64,
    /// Over which the factors with this period vary, and over which the others do.
    fast: f64,
    slow: f64,
}

impl Folding {
    /// By that period of a factor which leaves the fewest nodes, if any leaves fewer than ordinary ones; those that divide it fold too, as
    /// days do in a week.
    fn of(products: &[&[PartAt<'_>]], span: Span) -> Option<Self> {
        let folding = |period: f64| {
            let of = |folds: bool| {
                let side = |parts: &&[PartAt<'_>]| {
                    let some = parts.iter().copied().filter(|p| repeats_after(p.period(), period) == folds);
                    length(&some.collect::<Vec<_>>())
                };
                products.iter().map(side).fold(f64::INFINITY, f64::min)
            };
            Self { period, fast: of(true), slow: of(false) }
        };
        let foldings = products.iter().copied().flatten().filter_map(PartAt::period).map(folding);
        let worthwhile = foldings.filter(|f| span.length() > LEAST_PERIODS * f.period && f.slow > f.period);
        let best = worthwhile.min_by(|a, b| a.nodes_a_length().total_cmp(&b.nodes_a_length()))?;
        let ordinary = 1.0 / shortest(products);
        (best.nodes_a_length() < ordinary).then_some(best)
    }

    /// About how many nodes there are over a length of 1, a third of them.
    fn nodes_a_length(&self) -> f64 {
        (self.period / self.fast + 4.0) * (3.0 / self.slow + 4.0)
    }

    fn nodes(&self, kinks: &[f64], span: Span, length: f64) -> AxisNodes {
        let mut cuts: Vec<f64> = kinks.iter().copied().filter(|x| span.lo < *x && *x < span.hi).collect();
        cuts.extend([span.lo, span.hi]);
        cuts.sort_by(f64::total_cmp);
        cuts.dedup();
        let mut nodes = AxisNodes { phases: Some(Phases { period: self.period, x: vec![] }), ..AxisNodes::default() };
        for ends in cuts.windows(2) {
            let periods = ((ends[1] - ends[0]) / self.period).floor();
            let left = self.order(periods) as f64;
            let periods = if left > WORTHWHILE * periods { 0 } else { periods as usize };
            self.whole_periods(ends[0], periods, &mut nodes);
            let rest = Span { lo: ends[0] + self.period * periods as f64, hi: ends[1] };
            if rest.lo < rest.hi {
                let panels = Panels::for_product(rest, AxisRule::smooth(length), &[]);
                panels.x.iter().zip(&panels.weights).for_each(|(x, w)| nodes.push(*x, *w, *x));
            }
        }
        nodes
    }

    /// Nodes for a sum over so many places a period apart: as many as ordinary ones for an integral.
    fn order(&self, periods: f64) -> usize {
        let lengths = self.period * periods / self.slow;
        (3.0 * lengths + 4.0 + f64::min(10.0, 40.0 * lengths)).ceil() as usize
    }

    fn whole_periods(&self, lo: f64, periods: usize, nodes: &mut AxisNodes) {
        let phases = Panels::for_product(Span { lo, hi: lo + self.period }, AxisRule::smooth(self.fast), &[]);
        let panels = (periods as f64 * self.period / (PANEL * self.slow)).ceil().max(1.0) as usize;
        for panel in 0..panels {
            let (first, end) = (periods * panel / panels, periods * (panel + 1) / panels);
            for (place, weight) in even_places(end - first, self.order((end - first) as f64)) {
                for (u, w) in phases.x.iter().zip(&phases.weights) {
                    nodes.push(u + self.period * (first as f64 + place), w * weight, *u);
                }
            }
        }
    }
}

/// Nodes and weights for Σ_{j<n} g(j), exact for polynomials of degree below 2·order: the places themselves if they are no more.
///
/// The nodes are the eigenvalues of the Jacobi matrix of the Gram polynomials (zero diagonal about the middle, and
/// b_k² = k²(n²−k²)/(4(4k²−1)) beside it), found by bisection on the signs of its pivots; the weights are 1/Σ_k p_k² of the orthonormal
/// polynomials.
fn even_places(n: usize, order: usize) -> Vec<(f64, f64)> {
    if order >= n {
        return (0..n).map(|j| (j as f64, 1.0)).collect();
    }
    let size = n as f64;
    let square = |k: usize| {
        let k = (k * k) as f64;
        0.25 * k * (size * size - k) / (4.0 * k - 1.0)
    };
    let squares: Vec<f64> = (1..order).map(square).collect();
    let below = |x: f64| {
        let mut pivot = -x;
        let mut count = usize::from(pivot < 0.0);
        for b in &squares {
            // A pivot of zero is as good as a tiny one.
            let last = if pivot == 0.0 { f64::MIN_POSITIVE } else { pivot };
            pivot = -x - b / last;
            count += usize::from(pivot < 0.0);
        }
        count
    };
    let half = 0.5 * size;
    let node = |i: usize| {
        let (mut lo, mut hi) = (-half, half);
        for _ in 0..64 {
            let middle = 0.5 * (lo + hi);
            if below(middle) > i { hi = middle } else { lo = middle }
        }
        0.5 * (lo + hi)
    };
    let weight = |x: f64| {
        let (mut before, mut now) = (0.0, 1.0 / size.sqrt());
        let (mut sum, mut last) = (now * now, 0.0);
        for b in squares.iter().map(|b| b.sqrt()) {
            (before, now) = (now, (x * now - last * before) / b);
            sum += now * now;
            last = b;
        }
        1.0 / sum
    };
    (0..order).map(node).map(|x| (x + 0.5 * (size - 1.0), weight(x))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::integrals::{psi_table, psi_table_adjoint, psi_table_plainly};
    use crate::kernel::{Bars, Factor, Part};

    #[test]
    fn sums_over_even_places_are_those_of_polynomials() {
        for (n, order) in [(20, 5), (100, 12), (1000, 30), (50, 40), (7, 9)] {
            let rule = even_places(n, order);
            assert!(rule.len() <= order);
            for degree in 0..(2 * order).min(60) {
                // Chebyshev polynomials: powers would say little of the last digits
                let g = |j: f64| (degree as f64 * (2.0 * j / (n as f64 - 1.0) - 1.0).clamp(-1.0, 1.0).acos()).cos();
                let want: f64 = (0..n).map(|j| g(j as f64)).sum();
                let got: f64 = rule.iter().map(|(x, w)| w * g(*x)).sum();
                assert!((got - want).abs() < 1e-11 * n as f64, "{n} {order} {degree}: {got} {want}");
            }
        }
    }

    fn part(factor: Factor, parameters: &[f64]) -> Part {
        Part { axis: 0, factor, parameters: parameters.to_vec() }
    }

    /// The integrals of products with many periods, and their derivatives, beside those by ordinary nodes, which are slow.
    #[test]
    fn many_periods_are_integrated_as_one_by_one() {
        let span = Span { lo: 0.0, hi: 0.9973 };
        let z = [0.0, 0.013, 0.31, 0.3104, 0.77, 1.0];
        let products: Vec<Vec<Part>> = vec![
            vec![part(Factor::Periodic, &[0.0131, 1.0]), part(Factor::SquaredExponential, &[0.2])],
            vec![part(Factor::SquaredExponential, &[0.05]), part(Factor::Periodic, &[0.004, 0.3])],
            vec![part(Factor::Periodic, &[0.0071, 2.0]), part(Factor::Matern32, &[0.3])],
            vec![part(Factor::Cosine, &[0.011]), part(Factor::RationalQuadratic, &[0.4, 1.5])],
            vec![
                part(Factor::Periodic, &[0.006, 1.0]),
                part(Factor::Periodic, &[0.21, 0.9]),
                part(Factor::SquaredExponential, &[0.5]),
            ],
            vec![part(Factor::Periodic, &[0.009, 0.7])],
            vec![
                part(Factor::Periodic, &[0.002, 1.0]),
                part(Factor::Periodic, &[0.014, 0.8]),
                part(Factor::SquaredExponential, &[0.3]),
            ],
        ];
        let places = |parts: &[Part], mut at: usize| -> Vec<usize> {
            let mut places = vec![];
            for part in parts {
                places.push(at);
                at += part.parameters.len();
            }
            places
        };
        for (l, left) in products.iter().enumerate() {
            for (r, right) in products.iter().enumerate().filter(|(r, _)| *r == l || *r == 1) {
                let first = places(left, 0);
                let second = if r == l { first.clone() } else { places(right, 10) };
                let left: Vec<PartAt<'_>> = left.iter().zip(first).map(|(part, at)| PartAt { part, at }).collect();
                let right: Vec<PartAt<'_>> = right.iter().zip(second).map(|(part, at)| PartAt { part, at }).collect();
                let mut got = vec![0.0; 36];
                let bar: Vec<f64> = (0..36).map(|i| 1.0 / (1.0 + (i % 6 + i / 6) as f64)).collect();
                let (mut got_bar, mut want_bar) = (vec![0.0; 20], vec![0.0; 20]);
                let (mut got_z, mut want_z) = (vec![0.0; 6], vec![0.0; 6]);
                psi_table(&left, &right, &z, span, &mut got);
                psi_table_adjoint(&left, &right, &z, span, &bar, Bars { theta: &mut got_bar, z: Some(&mut got_z) });
                let bars = Bars { theta: &mut want_bar, z: Some(&mut want_z) };
                let want = psi_table_plainly(&left, &right, &z, span, &bar, bars);
                let size = want.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
                for (got, want) in got.iter().zip(&want) {
                    assert!((got - want).abs() < 1e-12 * size, "{l} {r}: {got} {want}");
                }
                for (got, want) in got_bar.iter().chain(&got_z).zip(want_bar.iter().chain(&want_z)) {
                    let size = want_bar.iter().chain(&want_z).fold(0.0, |m: f64, v| m.max(v.abs()));
                    // by the period large terms cancel
                    assert!((got - want).abs() < 1e-9 * size, "{l} {r}: {got} {want} of {size}");
                }
            }
        }
    }

    #[test]
    fn a_thousand_periods_take_few_nodes() {
        let parts = [part(Factor::Periodic, &[0.001, 1.0]), part(Factor::SquaredExponential, &[0.2])];
        let parts: Vec<PartAt<'_>> = parts.iter().map(|part| PartAt { part, at: 0 }).collect();
        let span = Span { lo: 0.0, hi: 1.0 };
        assert!(AxisNodes::new(&[&parts, &parts], &[], span).x.len() < 2000);
    }
}
