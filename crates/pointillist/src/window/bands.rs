//! The edges of polygons, sorted into bands of the second axis, so that a question about a place looks at few of them.
//!
//! An edge stands in every band it passes through; the bands are as narrow as keeps the copies to a few per edge. Building costs O(E),
//! a question the edges of the bands it falls into: about four for a border without long edges.

use super::{Ring, Span};

/// A point of the plane.
pub(super) type Point = [f64; 2];

/// How many copies of an edge there are on average, at most.
const COPIES: f64 = 4.0;

/// From a point to the next one of a ring: the area lies on the left.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Edge {
    pub(super) from: Point,
    pub(super) to: Point,
}

impl Edge {
    /// The edges of a ring.
    pub(super) fn of_ring(ring: &Ring) -> impl Iterator<Item = Edge> + '_ {
        ring.iter().zip(ring.iter().cycle().skip(1)).map(|(&from, &to)| Edge { from, to })
    }

    /// How far a point lies to the left of the line through the edge.
    pub(super) fn offset(&self, point: Point) -> f64 {
        cross(minus(self.to, self.from), minus(point, self.from)) / length(minus(self.to, self.from))
    }

    /// Whether a point lies on the edge, to within `tolerance`.
    pub(super) fn has_on_it(&self, point: Point, tolerance: f64) -> bool {
        let between = |r: usize| {
            let (lo, hi) = (self.from[r].min(self.to[r]), self.from[r].max(self.to[r]));
            lo - tolerance <= point[r] && point[r] <= hi + tolerance
        };
        between(0) && between(1) && self.offset(point).abs() <= tolerance
    }

    /// Whether the half line from a point towards larger x crosses it. Of two edges that meet on that line, one counts.
    fn is_crossed_from(&self, point: Point) -> bool {
        let upward = self.from[1] <= point[1];
        let left = || cross(minus(self.to, self.from), minus(point, self.from)) > 0.0;
        upward != (self.to[1] <= point[1]) && left() == upward
    }

    /// Whether it has a point in common with a box, borders included: cuts off what lies outside, side by side.
    fn meets_box(&self, spans: [Span; 2]) -> bool {
        let (mut start, mut end) = (0.0f64, 1.0f64);
        for (r, span) in spans.iter().enumerate() {
            let (from, step) = (self.from[r], self.to[r] - self.from[r]);
            if step == 0.0 {
                if !span.contains(from) {
                    return false;
                }
                continue;
            }
            let (one, other) = ((span.lo - from) / step, (span.hi - from) / step);
            start = start.max(one.min(other));
            end = end.min(one.max(other));
        }
        start <= end
    }
}

pub(super) fn minus(a: Point, b: Point) -> Point {
    [a[0] - b[0], a[1] - b[1]]
}

pub(super) fn cross(a: Point, b: Point) -> f64 {
    a[0] * b[1] - a[1] * b[0]
}

pub(super) fn dot(a: Point, b: Point) -> f64 {
    a[0] * b[0] + a[1] * b[1]
}

pub(super) fn length(a: Point) -> f64 {
    dot(a, a).sqrt()
}

/// Whether a point lies inside rings (not: on them), which may be nested: it is cut off from infinity by an odd number of them.
pub(super) fn is_inside(edges: &[Edge], point: Point) -> bool {
    edges.iter().fold(false, |inside, edge| inside ^ edge.is_crossed_from(point))
}

/// The box around points; inside out if there are none.
pub(super) fn box_around<'a>(points: impl Iterator<Item = &'a Point>) -> [Span; 2] {
    let nothing = [Span { lo: f64::INFINITY, hi: f64::NEG_INFINITY }; 2];
    points.fold(nothing, |spans, point| {
        [0, 1].map(|r| Span { lo: spans[r].lo.min(point[r]), hi: spans[r].hi.max(point[r]) })
    })
}

/// The distance within which two places are the same: a rounding error or so of the coordinates.
pub(super) fn tolerance(spans: &[Span; 2]) -> f64 {
    let extent = spans.iter().map(Span::length).fold(0.0, f64::max);
    let largest = spans.iter().flat_map(|s| [s.lo.abs(), s.hi.abs()]).fold(0.0, f64::max);
    1e-12 * extent + 4.0 * f64::EPSILON * largest
}

/// The edges in bands.
#[derive(Debug, Clone)]
pub(super) struct Bands {
    spans: [Span; 2],
    tolerance: f64,
    /// Bands per unit of y.
    density: f64,
    /// Where the edges of each band start, and where those of the last end.
    starts: Vec<usize>,
    edges: Vec<Edge>,
}

impl Bands {
    pub(super) fn new<'a>(rings: impl Iterator<Item = &'a Ring> + Clone) -> Self {
        let spans = box_around(rings.clone().flatten());
        let all: Vec<Edge> = rings.flat_map(Edge::of_ring).collect();
        let climb: f64 = all.iter().map(|edge| (edge.to[1] - edge.from[1]).abs()).sum();
        let height = spans[1].length();
        let count = (COPIES * all.len() as f64 * height / climb).min(all.len() as f64).max(1.0).floor();
        let mut bands = Self {
            spans,
            tolerance: tolerance(&spans),
            density: count / height,
            starts: vec![0; count as usize + 1],
            edges: vec![],
        };
        bands.fill(&all);
        bands
    }

    /// Counts the edges of each band, then puts them there.
    fn fill(&mut self, all: &[Edge]) {
        let range = |bands: &Self, edge: &Edge| bands.range(edge.from[1].min(edge.to[1]), edge.from[1].max(edge.to[1]));
        for edge in all {
            let (first, last) = range(self, edge);
            self.starts[first..=last].iter_mut().for_each(|count| *count += 1);
        }
        let mut total = 0;
        for start in &mut self.starts {
            (*start, total) = (total, total + *start);
        }
        let mut next = self.starts.clone();
        self.edges = vec![Edge { from: [0.0; 2], to: [0.0; 2] }; total];
        for edge in all {
            let (first, last) = range(self, edge);
            for next in &mut next[first..=last] {
                self.edges[*next] = *edge;
                *next += 1;
            }
        }
    }

    /// The band at a height; the first or the last for what lies beyond.
    fn band(&self, y: f64) -> usize {
        (((y - self.spans[1].lo) * self.density) as usize).min(self.starts.len() - 2) // a cast to an integer saturates
    }

    /// The first and the last band between two heights.
    fn range(&self, lo: f64, hi: f64) -> (usize, usize) {
        (self.band(lo - self.tolerance), self.band(hi + self.tolerance))
    }

    /// All edges that come near the heights from `lo` to `hi`, some of them several times.
    pub(super) fn near(&self, lo: f64, hi: f64) -> &[Edge] {
        let (first, last) = self.range(lo, hi);
        &self.edges[self.starts[first]..self.starts[last + 1]]
    }

    /// The edges of one band, each once: enough to tell what lies at that height.
    fn at(&self, y: f64) -> &[Edge] {
        let band = self.band(y);
        &self.edges[self.starts[band]..self.starts[band + 1]]
    }

    pub(super) fn contains(&self, point: Point) -> bool {
        let around = |r: usize| {
            let Span { lo, hi } = self.spans[r];
            lo - self.tolerance <= point[r] && point[r] <= hi + self.tolerance
        };
        if !(around(0) && around(1)) {
            return false;
        }
        let edges = self.at(point[1]);
        is_inside(edges, point) || edges.iter().any(|edge| edge.has_on_it(point, self.tolerance))
    }

    pub(super) fn meets_box(&self, x: Span, y: Span) -> bool {
        let crossed = self.near(y.lo, y.hi).iter().any(|edge| edge.meets_box([x, y]));
        // No edge meets the box: it lies inside with all of its corners, or outside.
        crossed || self.contains([x.lo, y.lo])
    }
}
