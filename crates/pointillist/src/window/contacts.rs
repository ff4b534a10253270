//! Whether rings bound an area: which of them cross, touch along a segment, or lie where they must not.
//!
//! Every edge has the area on its left. Where two rings meet in a point, each bounds a wedge there; what the wedges have in common tells
//! touching from crossing. Places closer than a rounding error are the same, so that neighbours may share a border to the last bit
//! but one. Allowed: touching in points, and polygons that share a border. Cost: a sweep along the axis on which edges are shorter,
//! O(E log E + E × edges abreast).

use super::bands::{Edge, Point, box_around, cross, dot, is_inside, length, minus};
use super::{Ring, Span};
use crate::error::{Error, Result};
use std::f64::consts::TAU;

/// An edge, whose it is, and the point before it.
#[derive(Debug, Clone, Copy)]
struct Side {
    polygon: usize,
    ring: usize,
    /// Its place in the ring, and how many there are.
    index: usize,
    count: usize,
    before: Point,
    edge: Edge,
}

impl Side {
    /// The path of the ring through the start of the edge.
    fn path(&self) -> Path {
        Path { before: self.before, at: self.edge.from, after: self.edge.to }
    }

    fn shares_ring(&self, other: &Side) -> bool {
        (self.polygon, self.ring) == (other.polygon, other.ring)
    }

    fn is_neighbour(&self, other: &Side) -> bool {
        let steps = self.index.abs_diff(other.index);
        self.shares_ring(other) && (steps <= 1 || steps == self.count - 1)
    }

    fn range(&self, axis: usize) -> (f64, f64) {
        let (a, b) = (self.edge.from[axis], self.edge.to[axis]);
        (a.min(b), a.max(b))
    }
}

/// Three points of a ring that follow each other.
#[derive(Debug, Clone, Copy)]
struct Path {
    before: Point,
    at: Point,
    after: Point,
}

impl Path {
    /// The directions in which the area on its left begins and ends, counter-clockwise.
    fn wedge(&self) -> [Point; 2] {
        [minus(self.after, self.at), minus(self.before, self.at)]
    }

    /// Whether the ring comes back the way it went.
    fn turns_back(&self, tolerance: f64) -> bool {
        let [after, before] = self.wedge();
        is_same_direction(after, before, tolerance)
    }

    /// Whether the rings of two paths through one point cross there. Those of one polygon may have their areas or their outsides apart
    /// (the hole that touches its outside), those of two polygons only their areas.
    fn crosses(&self, other: &Path, one_polygon: bool, tolerance: f64) -> bool {
        let ([a, b], [c, d]) = (self.wedge(), other.wedge());
        let outsides_overlap = || wedges_overlap([b, a], [d, c], tolerance);
        wedges_overlap([a, b], [c, d], tolerance) && (!one_polygon || outsides_overlap())
    }
}

/// Whether the shorter of two steps ends on the way of the longer.
fn is_same_direction(a: Point, b: Point, tolerance: f64) -> bool {
    dot(a, b) > 0.0 && cross(a, b).abs() <= tolerance * length(a).max(length(b))
}

/// Whether two wedges, each from its first direction counter-clockwise to its second, have more than a ray in common.
fn wedges_overlap(one: [Point; 2], other: [Point; 2], tolerance: f64) -> bool {
    let turn = |a: Point, b: Point| cross(a, b).atan2(dot(a, b)).rem_euclid(TAU);
    let begins_in = |[start, end]: [Point; 2], begin: Point| {
        let same = |direction| is_same_direction(direction, begin, tolerance);
        same(start) || (!same(end) && turn(start, begin) < turn(start, end))
    };
    begins_in(one, other[0]) || begins_in(other, one[0])
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Fault {
    Crosses,
    RunsAlong,
    TurnsBack,
}

/// What is wrong between two edges, and where.
#[derive(Debug, Clone, Copy)]
struct Contact {
    fault: Fault,
    place: Point,
    between: [(usize, usize); 2],
}

impl Contact {
    /// The later of the two rings is told that it is in the way of the earlier.
    fn error(&self) -> Error {
        let [first, (polygon, ring)] =
            if self.between[0] <= self.between[1] { self.between } else { [self.between[1], self.between[0]] };
        let other = match first {
            other if other == (polygon, ring) => "itself".into(),
            (other, 0) if other == polygon => "the outside".into(),
            (other, hole) if other == polygon => format!("ring {hole}"),
            (other, hole) => format!("ring {hole} of polygon {other}"),
        };
        let why = match self.fault {
            Fault::Crosses => format!("crosses {other}"),
            Fault::RunsAlong if first.0 == polygon => format!("touches {other} along a segment"),
            Fault::RunsAlong => format!("overlaps polygon {}", first.0),
            Fault::TurnsBack => "turns back on itself".into(),
        };
        Error::Polygon { polygon, ring, why, place: self.place }
    }
}

/// What two edges do to each other that they must not.
fn meeting(a: &Side, b: &Side, tolerance: f64) -> Option<Contact> {
    if a.is_neighbour(b) {
        return None; // they share a point; that they do not share more is seen there
    }
    let found = |fault, place| Some(Contact { fault, place, between: [(a.polygon, a.ring), (b.polygon, b.ring)] });
    let one_polygon = a.polygon == b.polygon;
    let (e, f) = (&a.edge, &b.edge);
    let side = |edge: &Edge, point: Point| Some(edge.offset(point)).filter(|d| d.abs() > tolerance).unwrap_or(0.0);
    let (f_from, f_to) = (side(e, f.from), side(e, f.to));
    if f_from * f_to > 0.0 {
        return None;
    }
    let (e_from, e_to) = (side(f, e.from), side(f, e.to));
    if e_from * e_to < 0.0 && f_from * f_to < 0.0 {
        let part = e_from / (e_from - e_to);
        return found(Fault::Crosses, [0, 1].map(|r| e.from[r] + part * (e.to[r] - e.from[r])));
    }
    let parallel = (e_from == 0.0 && e_to == 0.0) || (f_from == 0.0 && f_to == 0.0);
    if parallel
        && let Some((place, along)) = shared_stretch(e, f, tolerance)
        && (one_polygon || along)
    {
        return found(Fault::RunsAlong, place);
    }
    // Each meeting in a corner is looked at once: by the edges that start there.
    let is_at = |p: Point, q: Point| length(minus(p, q)) <= tolerance;
    let through = |edge: &Edge, at: Point| Path { before: edge.from, at, after: edge.to };
    if f.has_on_it(e.from, tolerance) && !is_at(e.from, f.to) {
        let other = if is_at(e.from, f.from) { b.path() } else { through(f, e.from) };
        if a.path().crosses(&other, one_polygon, tolerance) {
            return found(Fault::Crosses, e.from);
        }
    }
    if e.has_on_it(f.from, tolerance)
        && !is_at(f.from, e.to)
        && !is_at(f.from, e.from)
        && through(e, f.from).crosses(&b.path(), one_polygon, tolerance)
    {
        return found(Fault::Crosses, f.from);
    }
    None
}

/// The middle of what two parallel edges have in common, if that has a length, and whether they run the same way.
fn shared_stretch(e: &Edge, f: &Edge, tolerance: f64) -> Option<(Point, bool)> {
    let (step, size) = (minus(e.to, e.from), length(minus(e.to, e.from)));
    let along = |point: Point| dot(step, minus(point, e.from)) / size;
    let (one, other) = (along(f.from), along(f.to));
    let (start, end) = (one.min(other).max(0.0), one.max(other).min(size));
    let middle = 0.5 * (start + end) / size;
    (end - start > tolerance).then(|| ([0, 1].map(|r| e.from[r] + middle * step[r]), one < other))
}

/// The first fault the sweep comes across.
fn first_contact(sides: &[Side], tolerance: f64) -> Option<Contact> {
    // Along the axis on which the edges cover less of the whole, fewer are abreast.
    let spans = box_around(sides.iter().map(|side| &side.edge.from));
    let extent = |side: &Side, axis: usize| side.range(axis).1 - side.range(axis).0;
    let crowd = |axis: usize| sides.iter().map(|side| extent(side, axis)).sum::<f64>() / spans[axis].length();
    let axis = if crowd(0) <= crowd(1) { 0 } else { 1 };
    let mut order: Vec<&Side> = sides.iter().collect();
    order.sort_by(|a, b| a.range(axis).0.total_cmp(&b.range(axis).0));
    // What is asked of each edge abreast, again and again, is kept at hand: where it ends, and its range across.
    let mut abreast: Vec<(f64, (f64, f64), &Side)> = vec![];
    for side in order {
        let ((start, end), (lo, hi)) = (side.range(axis), side.range(1 - axis));
        abreast.retain(|other| other.0 + tolerance >= start);
        let near = abreast.iter().filter(|(_, other, _)| other.0 <= hi + tolerance && lo <= other.1 + tolerance);
        if let Some(contact) = near.map(|near| near.2).find_map(|other| meeting(side, other, tolerance)) {
            return Some(contact);
        }
        abreast.push((end, (lo, hi), side));
    }
    None
}

fn sides(polygons: &[Vec<Ring>]) -> Vec<Side> {
    let of_ring = |polygon: usize, ring: usize, points: &Ring| {
        let count = points.len();
        let side = |(index, edge): (usize, Edge)| Side {
            polygon,
            ring,
            index,
            count,
            before: points[(index + count - 1) % count],
            edge,
        };
        Edge::of_ring(points).enumerate().map(side).collect::<Vec<_>>()
    };
    let of_polygon = |(polygon, rings): (usize, &Vec<Ring>)| -> Vec<Side> {
        rings.iter().enumerate().flat_map(|(ring, points)| of_ring(polygon, ring, points)).collect()
    };
    polygons.iter().enumerate().flat_map(of_polygon).collect()
}

/// Twice the area of a ring, positive if it runs counter-clockwise.
pub(super) fn doubled_area(ring: &Ring) -> f64 {
    Edge::of_ring(ring).map(|edge| cross(minus(edge.from, ring[0]), minus(edge.to, ring[0]))).sum()
}

/// Refuses rings that bound no area, or not the way outsides (counter-clockwise) and holes (clockwise) should.
pub(super) fn check(polygons: &[Vec<Ring>], tolerance: f64) -> Result<()> {
    let sides = sides(polygons);
    let contact = first_contact(&sides, tolerance);
    if let Some(contact) = contact.filter(|contact| contact.fault == Fault::Crosses) {
        return Err(contact.error());
    }
    check_areas(polygons, tolerance)?;
    let between = |side: &Side| [(side.polygon, side.ring); 2];
    let back = sides.iter().find(|side| side.path().turns_back(tolerance));
    let back = back.map(|side| Contact { fault: Fault::TurnsBack, place: side.edge.from, between: between(side) });
    match back.or(contact) {
        Some(contact) => Err(contact.error()),
        None => check_nesting(polygons),
    }
}

fn check_areas(polygons: &[Vec<Ring>], tolerance: f64) -> Result<()> {
    for (polygon, rings) in polygons.iter().enumerate() {
        for (ring, points) in rings.iter().enumerate() {
            let around: f64 = Edge::of_ring(points).map(|edge| length(minus(edge.to, edge.from))).sum();
            let area = doubled_area(points).abs();
            let why = match area {
                area if !area.is_finite() => "is too large for its area to be a number",
                area if area <= tolerance * around => "has no area",
                _ => continue,
            };
            return Err(Error::Polygon { polygon, ring, why: why.into(), place: points[0] });
        }
    }
    Ok(())
}

/// Rings that do not cross lie inside or outside each other as any point of theirs does.
fn check_nesting(polygons: &[Vec<Ring>]) -> Result<()> {
    for (polygon, rings) in polygons.iter().enumerate() {
        let refuse = |ring: usize, why| Err(Error::Polygon { polygon, ring, why, place: rings[ring][0] });
        let alone: Vec<Whole> = rings.iter().map(|ring| Whole::new(std::slice::from_ref(ring))).collect();
        let (outside, holes) = (&alone[0], &alone[1..]);
        let is_out = |hole: &Whole| hole.area > outside.area || !outside.contains(hole.within);
        if let Some(index) = holes.iter().position(is_out) {
            return refuse(index + 1, "lies outside its polygon".into());
        }
        if let Some([first, second]) = overlapping(holes) {
            return refuse(second + 1, format!("overlaps ring {}", first + 1));
        }
    }
    let wholes: Vec<Whole> = polygons.iter().map(|rings| Whole::new(rings)).collect();
    let Some([first, polygon]) = overlapping(&wholes) else { return Ok(()) };
    let (why, place) = (format!("overlaps polygon {first}"), polygons[polygon][0][0]);
    Err(Error::Polygon { polygon, ring: 0, why, place })
}

/// Two of several areas, one of which lies in the other; in their order.
fn overlapping(areas: &[Whole]) -> Option<[usize; 2]> {
    let mut pairs = (0..areas.len()).flat_map(|second| (0..second).map(move |first| [first, second]));
    pairs.find(|&[a, b]| areas[a].contains(areas[b].within) || areas[b].contains(areas[a].within))
}

/// Rings that bound one area, and a point of it.
struct Whole {
    spans: [Span; 2],
    edges: Vec<Edge>,
    within: Point,
    area: f64,
}

impl Whole {
    fn new(rings: &[Ring]) -> Self {
        let edges: Vec<Edge> = rings.iter().flat_map(Edge::of_ring).collect();
        let area = 0.5 * rings.iter().map(doubled_area).sum::<f64>().abs();
        Self { spans: box_around(rings.iter().flatten()), within: point_within(&edges), edges, area }
    }

    fn contains(&self, point: Point) -> bool {
        self.spans[0].contains(point[0]) && self.spans[1].contains(point[1]) && is_inside(&self.edges, point)
    }
}

/// A point well inside: in the middle of the widest stretch, half-way between the two heights of corners that are furthest apart.
fn point_within(edges: &[Edge]) -> Point {
    let widest = |sorted: &[f64], step: usize| {
        let pairs = sorted.windows(2).step_by(step).map(|pair| (pair[1] - pair[0], 0.5 * (pair[0] + pair[1])));
        pairs.max_by(|a, b| a.0.total_cmp(&b.0)).map_or(f64::NAN, |(_, middle)| middle)
    };
    let mut heights: Vec<f64> = edges.iter().map(|edge| edge.from[1]).collect();
    heights.sort_by(f64::total_cmp);
    let y = widest(&heights, 1);
    let passes = edges.iter().filter(|edge| (edge.from[1] <= y) != (edge.to[1] <= y));
    let at_height =
        |edge: &Edge| edge.from[0] + (y - edge.from[1]) / (edge.to[1] - edge.from[1]) * (edge.to[0] - edge.from[0]);
    let mut crossings: Vec<f64> = passes.map(at_height).collect();
    crossings.sort_by(f64::total_cmp);
    [widest(&crossings, 2), y]
}
