//! How much of a Gaussian lies in a window, each part counted as often as it was looked at; and its derivatives by the log-bandwidths.
//!
//! A box: a product of differences of erf. Several pieces: their sum. An outline, in units of the bandwidth, is a sum over its edges of
//! the mass of the triangle between edge and centre (p the distance of the edge's line, positive if the centre lies on the left, s along
//! the edge from the foot of p):
//!
//! ```text
//! mass = Σ_edges p/2π ∫ E(p² + s²) ds,   E(z) = (1 − e^{−z/2}) / z
//! ```
//!
//! Where z is large this is the angle under which an edge is seen, and all angles add up to a turn or to none: so only edges within nine
//! bandwidths are looked at, for what they lack of their angle. The derivatives are integrals of the Gaussian along the border, closed
//! forms. With many events and edges it is cheaper to sum over quadrature nodes of the outline's area, by `gauss_sum.rs`.
//!
//! Error: 1e-12 of the mass by closed forms and edges, 1e-10 by nodes. Not: exposures.

use super::gauss_sum::{Cloud, Job, sums};
use pointillist::Points;
use pointillist::Window;
use pointillist::internals;
use pointillist::internals::numerics::GaussLegendre;
use pointillist::internals::numerics::erf_difference;
use pointillist::internals::parallel;
use pointillist::window::{Piece, Polygons, Span};
use std::f64::consts::{FRAC_1_SQRT_2, PI, SQRT_2};
use std::sync::Arc;

/// Bandwidths beyond which nothing of a Gaussian is left.
const REACH: f64 = 9.0;
/// Most nodes an outline may have.
const MOST_NODES: f64 = 2e6;
/// What a pair of a point and an edge costs, and a node, in seconds: to choose between them.
const PAIR_COST: f64 = 1e-7;
const NODE_COST: f64 = 4e-7;
/// Most buckets on an axis, into which edges are sorted.
const MOST_BUCKETS: f64 = 256.0;

/// The masses of Gaussians around points.
pub(super) struct Masses {
    stride: usize,
    /// For each point the mass, then its derivatives by the log-bandwidths. // (points, 1 + dims)
    data: Vec<f64>,
}

impl Masses {
    /// Of Gaussians with these bandwidths around points, in a window without exposure.
    pub(super) fn new(window: &Window, points: &Points, bandwidth: &[f64]) -> Self {
        let stride = 1 + points.dims();
        let mut data = vec![0.0; points.len() * stride];
        for piece in window.pieces() {
            let flat = piece.outline.as_ref().map(|outline| outline_masses(outline, points, bandwidth));
            let block = parallel::block_length(points.len());
            let blocks = data.chunks_mut(block * stride).enumerate();
            parallel::for_each(blocks, 20 * points.len(), |(index, rows)| {
                for (n, row) in rows.chunks_exact_mut(stride).enumerate() {
                    let n = index * block + n;
                    add_piece(row, piece, flat.as_ref().map(|flat| flat[n]), points.row(n), bandwidth);
                }
            });
        }
        Self { stride, data }
    }

    /// For each point the mass, then its derivatives by the log-bandwidths.
    pub(super) fn rows(&self) -> std::slice::ChunksExact<'_, f64> {
        self.data.chunks_exact(self.stride)
    }
}

/// A mass on some axes and its derivatives by the first two log-bandwidths.
type Flat = [f64; 3];

/// Adds what a piece has of a Gaussian: the product of what its outline and its spans have.
fn add_piece(row: &mut [f64], piece: &Piece, flat: Option<Flat>, point: &[f64], bandwidth: &[f64]) {
    let own = if flat.is_some() { 2 } else { 0 }; // axes of the outline
    let [mass, by_x, by_y] = flat.unwrap_or([1.0, 0.0, 0.0]);
    let span = |r: usize| span_mass(piece.spans[r], point[r], bandwidth[r]);
    let others = |left_out: usize| {
        (own..point.len()).filter(|r| *r != left_out).fold(piece.repeats, |product, r| product * span(r).0)
    };
    let all = others(usize::MAX);
    if all == 0.0 {
        return;
    }
    row[0] += mass * all;
    for r in 0..point.len() {
        row[1 + r] += match r {
            0 if own == 2 => by_x * all,
            1 if own == 2 => by_y * all,
            _ => {
                let slope = span(r).1;
                if slope == 0.0 { 0.0 } else { mass * slope * others(r) }
            }
        };
    }
}

/// What a span has of a Gaussian, and the derivative by the log-bandwidth.
fn span_mass(span: Span, centre: f64, bandwidth: f64) -> (f64, f64) {
    let (a, b) = ((span.lo - centre) / bandwidth, (span.hi - centre) / bandwidth);
    if a < -REACH && b > REACH {
        return (1.0, 0.0);
    }
    if a > 40.0 || b < -40.0 {
        return (0.0, 0.0);
    }
    let mass = 0.5 * erf_difference(a * FRAC_1_SQRT_2, b * FRAC_1_SQRT_2);
    let density = |x: f64| (-0.5 * x * x).exp() / (2.0 * PI).sqrt();
    (mass, a * density(a) - b * density(b))
}

/// What an outline has of Gaussians on the first two axes.
fn outline_masses(outline: &Polygons, points: &Points, bandwidth: &[f64]) -> Vec<Flat> {
    let edges: usize = outline.rings().iter().flatten().map(Vec::len).sum();
    let spans = outline.bounding_box();
    // The quadrature of `nodes.rs` has about this many nodes on an axis.
    let on_axis = |r: usize| 5.0 * spans[r].length() / bandwidth[r] + 12.0;
    let nodes = on_axis(0) * on_axis(1);
    // Of the edges this share is within reach of a point, of the points this share within reach of an edge, very roughly.
    let share = |r: usize| (2.0 * REACH * bandwidth[r] / spans[r].length()).min(1.0);
    let pairs = points.len() as f64 * edges as f64 * share(0).max(share(1)).powi(2);
    if nodes <= MOST_NODES && NODE_COST * (nodes + points.len() as f64) < PAIR_COST * pairs {
        by_nodes(outline, points, bandwidth)
    } else {
        by_edges(outline, points, bandwidth)
    }
}

/// Sums over the quadrature nodes of the area.
fn by_nodes(outline: &Polygons, points: &Points, bandwidth: &[f64]) -> Vec<Flat> {
    // The nodes are made for a product of two Gaussians of a length: one of length/√2.
    let lengths = [0, 1].map(|r| SQRT_2 * bandwidth[r]);
    let nodes = internals::nodes(&Window::inside(outline.clone()), &lengths, usize::MAX);
    let sources = Cloud::new(&nodes.points, bandwidth);
    let weights: Vec<f64> = nodes.weights.iter().map(|w| w / (2.0 * PI * bandwidth[0] * bandwidth[1])).collect();
    let targets = Cloud { axes: Cloud::new(points, bandwidth).axes[..2].to_vec() };
    let job = Job { targets: &targets, sources: &sources, weights: &weights, leave_out: false, squares: true };
    sums(job).rows().map(|s| [s[0], s[1] - s[0], s[2] - s[0]]).collect()
}

/// Sums over the edges within reach.
fn by_edges(outline: &Polygons, points: &Points, bandwidth: &[f64]) -> Vec<Flat> {
    let border = Border::new(outline, [bandwidth[0], bandwidth[1]]);
    let block = parallel::block_length(points.len());
    let blocks = (0..points.len()).step_by(block).map(|start| start..(start + block).min(points.len()));
    let parts = parallel::map(blocks, points.len() * 100, |block| {
        let mass = |n: usize| border.mass([points.row(n)[0], points.row(n)[1]]);
        block.map(mass).collect::<Vec<Flat>>()
    });
    parts.concat()
}

type Point = [f64; 2];

/// The border of an outline in units of the bandwidth, its edges sorted into buckets.
struct Border<'a> {
    outline: &'a Polygons,
    bandwidth: Point,
    low: Point,
    /// Buckets, and buckets a unit, on each axis.
    counts: [usize; 2],
    density: Point,
    edges: Vec<[Point; 2]>,
    /// The edges within reach of some place in each bucket.
    buckets: Vec<Vec<u32>>,
    /// Gauss-Legendre rules of 4, 8, 12, ... nodes.
    rules: Vec<Arc<GaussLegendre>>,
}

impl<'a> Border<'a> {
    fn new(outline: &'a Polygons, bandwidth: Point) -> Self {
        let scaled = |p: &Point| [p[0] / bandwidth[0], p[1] / bandwidth[1]];
        let ring_edges = |ring: &'a Vec<Point>| ring.iter().zip(ring.iter().cycle().skip(1));
        let edges = outline.rings().iter().flatten().flat_map(ring_edges).map(|(a, b)| [scaled(a), scaled(b)]);
        let spans = outline.bounding_box();
        let lengths = [0, 1].map(|r| spans[r].length() / bandwidth[r]);
        let counts = lengths.map(|length| (length / REACH).floor().clamp(1.0, MOST_BUCKETS) as usize);
        let mut border = Self {
            outline,
            bandwidth,
            low: [0, 1].map(|r| spans[r].lo / bandwidth[r]),
            counts,
            density: [0, 1].map(|r| counts[r] as f64 / lengths[r]),
            edges: edges.collect(),
            buckets: vec![vec![]; counts[0] * counts[1]],
            rules: (1..=14).map(|n| GaussLegendre::shared(4 * n)).collect(),
        };
        (0..border.edges.len()).for_each(|edge| border.sort_in(edge));
        border
    }

    /// The bucket of a coordinate; the first or the last for what lies beyond.
    fn bucket(&self, r: usize, x: f64) -> usize {
        (((x - self.low[r]) * self.density[r]) as usize).min(self.counts[r] - 1)
    }

    /// Puts an edge into every bucket from which it can be reached.
    fn sort_in(&mut self, index: usize) {
        let edge = self.edges[index];
        let range = |r: usize| {
            let (lo, hi) = (edge[0][r].min(edge[1][r]), edge[0][r].max(edge[1][r]));
            self.bucket(r, lo - REACH)..=self.bucket(r, hi + REACH)
        };
        let (across, along) = (range(0), range(1));
        for i in across {
            for j in along.clone() {
                let side = |r: usize, at: usize| {
                    let start = self.low[r] + at as f64 / self.density[r];
                    (start - REACH, start + 1.0 / self.density[r] + REACH)
                };
                if meets_box(&edge, [side(0, i), side(1, j)]) {
                    self.buckets[i * self.counts[1] + j].push(index as u32);
                }
            }
        }
    }

    /// What lies inside of a Gaussian around a place, and the derivatives by the log-bandwidths.
    fn mass(&self, place: Point) -> Flat {
        let inside = self.outline.contains(place);
        let at = [place[0] / self.bandwidth[0], place[1] / self.bandwidth[1]];
        let bucket = &self.buckets[self.bucket(0, at[0]) * self.counts[1] + self.bucket(1, at[1])];
        let mut sum = EdgeSums::default();
        for &edge in bucket {
            let [from, to] = self.edges[edge as usize].map(|p| [p[0] - at[0], p[1] - at[1]]);
            sum.add(from, to, &self.rules);
        }
        let mass = if sum.whole == self.edges.len() { sum.triangles } else { sum.rest(inside) };
        [mass, sum.by_x, sum.by_y]
    }
}

/// Whether a segment has a point in common with a box.
fn meets_box(edge: &[Point; 2], sides: [(f64, f64); 2]) -> bool {
    let (mut start, mut end) = (0.0f64, 1.0f64);
    for r in 0..2 {
        let (from, step, (lo, hi)) = (edge[0][r], edge[1][r] - edge[0][r], sides[r]);
        if step == 0.0 {
            if from < lo || hi < from {
                return false;
            }
            continue;
        }
        let (one, other) = ((lo - from) / step, (hi - from) / step);
        start = start.max(one.min(other));
        end = end.min(one.max(other));
    }
    start <= end
}

/// Sums over the edges near a centre.
#[derive(Default)]
struct EdgeSums {
    /// The masses of the triangles between centre and edges.
    triangles: f64,
    /// The angles of these triangles, in turns.
    turns: f64,
    by_x: f64,
    by_y: f64,
    /// How many edges were added, and none of them cut.
    whole: usize,
}

impl EdgeSums {
    /// Adds what of an edge lies within reach of the centre, which is at 0.
    fn add(&mut self, from: Point, to: Point, rules: &[Arc<GaussLegendre>]) {
        let step = [to[0] - from[0], to[1] - from[1]];
        let length = step[0].hypot(step[1]);
        let t = [step[0] / length, step[1] / length];
        let p = from[0] * t[1] - from[1] * t[0];
        let foot = [p * t[1], -p * t[0]];
        let along = |point: Point| point[0] * t[0] + point[1] * t[1];
        let (s1, s2) = (along(from).max(-REACH), along(to).min(REACH));
        // Not so for an edge without length either.
        let is_near = s1 < s2 && p.abs() <= REACH;
        if !is_near {
            return;
        }
        let end = |point: Point, s: f64| {
            if s.abs() < REACH { point } else { [foot[0] + s * t[0], foot[1] + s * t[1]] }
        };
        self.whole += usize::from(s1 > -REACH && s2 < REACH);
        let angle = |point: Point| point[1].atan2(point[0]);
        self.turns += (angle(end(to, s2)) - angle(end(from, s1))) / (2.0 * PI);
        let integral: f64 = rule(rules, s2 - s1).on(s1, s2).map(|(s, w)| w * lacking(p * p + s * s)).sum();
        self.triangles += p * integral / (2.0 * PI);

        // ∂mass/∂log h_x = −∮ φ u_x du_y and ∂mass/∂log h_y = ∮ φ u_y du_x, φ = e^{−p²/2} e^{−s²/2} / 2π
        let density = (-0.5 * p * p).exp() / (2.0 * PI);
        let zeroth = (0.5 * PI).sqrt() * erf_difference(s1 * FRAC_1_SQRT_2, s2 * FRAC_1_SQRT_2);
        let first = (-0.5 * s1 * s1).exp() - (-0.5 * s2 * s2).exp();
        self.by_x -= density * t[1] * (foot[0] * zeroth + t[0] * first);
        self.by_y += density * t[0] * (foot[1] * zeroth + t[1] * first);
    }

    /// The mass if the other edges are so far that they count with their angles: with those of the near ones these make one turn or none,
    /// so the mass is known but for a whole number. It is not 0 inside and not 1 outside.
    fn rest(&self, inside: bool) -> f64 {
        let part = self.triangles - self.turns;
        let part = part - part.floor();
        let slack = 1e-12;
        match inside {
            true if part < slack => part + 1.0,
            false if part > 1.0 - slack => part - 1.0,
            _ => part,
        }
    }
}

/// E(z) = (1 − e^{−z/2}) / z.
fn lacking(z: f64) -> f64 {
    if z == 0.0 { 0.5 } else { -(-0.5 * z).exp_m1() / z }
}

/// The rule for an integral of E over a length, found by experiment: 1e-13.
fn rule(rules: &[Arc<GaussLegendre>], length: f64) -> &GaussLegendre {
    let nodes = 2.2 * length + 4.0 + f64::min(10.0, 28.0 * length);
    &rules[((nodes / 4.0).ceil() as usize).clamp(1, rules.len()) - 1]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ring(corners: usize, radius: f64, turn: f64) -> Vec<Point> {
        let corner = |i: usize| {
            let (sin, cos) = (turn + 2.0 * PI * i as f64 / corners as f64).sin_cos();
            let radius = radius * (1.0 + 0.3 * (3.0 * turn + i as f64).sin());
            [0.5 + radius * cos, 0.5 + radius * sin]
        };
        (0..corners).map(corner).collect()
    }

    fn with_hole() -> Polygons {
        Polygons::new(vec![vec![ring(9, 0.35, 0.3), ring(5, 0.1, 0.9)]]).unwrap()
    }

    /// Points inside: some anywhere, a corner of each ring, the middle of an edge of each.
    fn places(polygons: &Polygons) -> Points {
        let anywhere = (0..400).map(|n| [(n as f64 * 0.618_034).fract(), (n as f64 * 0.754_878).fract()]);
        let mut rows: Vec<Point> = anywhere.filter(|p| polygons.contains(*p)).collect();
        for ring in polygons.rings().iter().flatten() {
            rows.extend([ring[1], [0.5 * (ring[2][0] + ring[3][0]), 0.5 * (ring[2][1] + ring[3][1])]]);
        }
        Points::from_rows(&rows).unwrap()
    }

    #[test]
    fn edges_and_nodes_agree() {
        let polygons = with_hole();
        let points = places(&polygons);
        for bandwidth in [[5.0, 3.0], [0.4, 0.7], [0.1, 0.05], [0.02, 0.03], [0.01, 0.01], [0.004, 0.3]] {
            let edges = by_edges(&polygons, &points, &bandwidth);
            let nodes = by_nodes(&polygons, &points, &bandwidth);
            for ((a, b), at) in edges.iter().zip(&nodes).zip(points.rows()) {
                let close = |r: usize| (a[r] - b[r]).abs() < 1e-10 * (a[0] + a[r].abs());
                assert!((0..3).all(close), "{bandwidth:?} {at:?}: {a:?} {b:?}");
            }
        }
    }

    #[test]
    fn an_outlined_box_is_the_box() {
        let spans = [Span { lo: 0.1, hi: 0.9 }, Span { lo: 0.3, hi: 0.6 }];
        let [x, y] = spans;
        let corners = vec![[x.lo, y.lo], [x.hi, y.lo], [x.hi, y.hi], [x.lo, y.hi]];
        let outline = Polygons::new(vec![vec![corners]]).unwrap();
        let points = Points::from_rows(&[[0.1, 0.3], [0.5, 0.45], [0.9, 0.4], [0.2, 0.59], [0.05, 0.2], [0.5, 0.6]]);
        let points = points.unwrap();
        for bandwidth in [[8.0, 4.0], [0.5, 0.2], [0.03, 0.05], [0.003, 0.002]] {
            for (found, point) in by_edges(&outline, &points, &bandwidth).iter().zip(points.rows()) {
                let [x, y] = [0, 1].map(|r| span_mass(spans[r], point[r], bandwidth[r]));
                for (got, want) in found.iter().zip([x.0 * y.0, x.1 * y.0, x.0 * y.1]) {
                    assert!((got - want).abs() < 1e-13, "{bandwidth:?} {point:?}: {found:?} {want}");
                }
            }
        }
    }

    #[test]
    fn derivatives_are_those_of_differences() {
        let polygons = with_hole();
        let points = places(&polygons);
        for bandwidth in [[0.4, 0.7], [0.05, 0.03]] {
            let middle = by_edges(&polygons, &points, &bandwidth);
            for r in 0..2 {
                let moved = |step: f64| {
                    let mut moved = bandwidth;
                    moved[r] *= f64::exp(step);
                    by_edges(&polygons, &points, &moved)
                };
                let (above, below) = (moved(1e-4), moved(-1e-4));
                for ((a, b), m) in above.iter().zip(&below).zip(&middle) {
                    assert!(((a[0] - b[0]) / 2e-4 - m[1 + r]).abs() < 1e-7, "{m:?}");
                }
            }
        }
    }
}
