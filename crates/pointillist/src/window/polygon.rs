//! Polygons with holes: checked once, then asked for their area, what lies inside, and what two of them have in common.
//!
//! What a set of rings must be is in `contacts.rs`, fast look-up in `bands.rs`, integrals over the area in `moments.rs`. The common part
//! of two areas is left to the `i_overlay` crate, which works on a grid of 2³⁰ steps: the corners it finds are put back where they belong.

use super::bands::{Bands, Edge, Point, box_around, cross, length, minus, tolerance};
use super::{Panels, Span, contacts, moments};
use crate::error::{Error, Result};
use crate::numerics::linalg::Matrix;
use i_overlay::core::{fill_rule::FillRule, overlay_rule::OverlayRule};
use i_overlay::float::overlay::{FloatOverlay, OverlayOptions};
use std::sync::OnceLock;

/// What two areas have in common is nothing if it is less than this part of the box around the smaller one.
const LEAST_PART: f64 = 1e-12;

/// How far the corners of a common part may be off, relative to the box around both areas.
const GRID_ERROR: f64 = 2e-8;

/// A closed ring, its first point not repeated at the end.
pub type Ring = Vec<Point>;

/// Polygons that do not overlap; each has an outer ring (counter-clockwise) and holes (clockwise).
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(remote = "Self"))]
pub struct Polygons {
    polygons: Vec<Vec<Ring>>,
    #[cfg_attr(feature = "serde", serde(skip))]
    lookup: Lookup,
}

crate::reading::checked_when_read!(Polygons);

/// The bands of the edges, made when first asked for. They follow from the rings and are no part of the value.
#[derive(Clone, Default)]
struct Lookup(OnceLock<Bands>);

impl PartialEq for Lookup {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl std::fmt::Debug for Lookup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Lookup")
    }
}

impl Polygons {
    /// Polygons from rings, the first of each its outside, closed or not, in either direction. Rings may touch in points, and polygons
    /// may share borders; they may not cross or overlap.
    pub fn new(polygons: Vec<Vec<Ring>>) -> Result<Self> {
        Self::of_rings(polygons).checked()
    }

    fn of_rings(polygons: Vec<Vec<Ring>>) -> Self {
        Self { polygons, lookup: Lookup::default() }
    }

    pub(crate) fn of_box(x: Span, y: Span) -> Self {
        Self::of_rings(vec![vec![vec![[x.lo, y.lo], [x.hi, y.lo], [x.hi, y.hi], [x.lo, y.hi]]]])
    }

    /// The same, cleaned and checked.
    pub(crate) fn checked(self) -> Result<Self> {
        check_numbers(&self.polygons)?;
        let tolerance = tolerance(&self.bounding_box());
        let cleaned: Vec<Vec<Ring>> = self.polygons.into_iter().map(|rings| cleaned(rings, tolerance)).collect();
        for (polygon, rings) in cleaned.iter().enumerate() {
            if let Some(ring) = rings.iter().position(|points| points.len() < 3) {
                let why = "has fewer than 3 distinct points".into();
                return Err(Error::Polygon {
                    polygon,
                    ring,
                    why,
                    place: rings[ring].first().copied().unwrap_or_default(),
                });
            }
        }
        contacts::check(&cleaned, tolerance)?;
        let checked = Self::of_rings(cleaned);
        super::check_size("its size", checked.area())?;
        checked.bounding_box().iter().try_for_each(|span| super::check_size("a side", span.length()))?;
        Ok(checked)
    }

    /// The rings of each polygon.
    pub fn rings(&self) -> &[Vec<Ring>] {
        &self.polygons
    }

    fn all_rings(&self) -> impl Iterator<Item = &Ring> + Clone {
        self.polygons.iter().flatten()
    }

    /// The area inside.
    pub fn area(&self) -> f64 {
        0.5 * self.all_rings().map(contacts::doubled_area).sum::<f64>()
    }

    /// Whether a point lies inside or on the border.
    pub fn contains(&self, point: [f64; 2]) -> bool {
        self.bands().contains(point)
    }

    fn bands(&self) -> &Bands {
        self.lookup.0.get_or_init(|| Bands::new(self.all_rings()))
    }

    /// The box around them.
    pub fn bounding_box(&self) -> [Span; 2] {
        box_around(self.all_rings().flatten())
    }

    /// What two sets of polygons have in common, if it has an area.
    pub fn intersection(&self, other: &Polygons) -> Option<Self> {
        let [x, y] = [0, 1].map(|r| self.bounding_box()[r].intersection(&other.bounding_box()[r]));
        let [one, two] = [self, other].map(|polygons| polygons.all_rings().cloned().collect::<Vec<Ring>>());
        let common = FloatOverlay::with_subj_and_clip_custom(&one, &two, OverlayOptions::ogc(), Default::default())
            .overlay(OverlayRule::Intersect, FillRule::EvenOdd);
        let sharpened = Sharpener::new(self, other, [x?, y?]).polygons(&common);
        let smaller = [self, other].map(|polygons| polygons.bounding_box().iter().map(Span::length).product());
        let least = LEAST_PART * f64::min(smaller[0], smaller[1]);
        let left: Vec<Vec<Ring>> = sharpened.into_iter().filter_map(|rings| with_area(rings, least)).collect();
        (!left.is_empty()).then(|| Self::of_rings(left))
    }

    /// Whether a box and the area inside have a point in common, borders included.
    pub(crate) fn meets_box(&self, x: Span, y: Span) -> bool {
        self.bands().meets_box(x, y)
    }

    /// With each axis mapped by an increasing function.
    pub(crate) fn map(&self, map: impl Fn(usize, f64) -> f64) -> Self {
        let point = |p: &Point| [map(0, p[0]), map(1, p[1])];
        let ring = |ring: &Ring| ring.iter().map(point).collect();
        Self::of_rings(self.polygons.iter().map(|rings| rings.iter().map(ring).collect()).collect())
    }

    /// The integral of each node's Lagrange polynomial over the polygons. // (X, Y)
    pub(crate) fn weights(&self, x: &Panels, y: &Panels) -> Matrix {
        moments::weights(self.all_rings(), x, y)
    }
}

/// Refuses what holds no points, and points that are none.
fn check_numbers(polygons: &[Vec<Ring>]) -> Result<()> {
    let refuse = |polygon, ring, why: &str, place| Err(Error::Polygon { polygon, ring, why: why.into(), place });
    if polygons.is_empty() {
        return refuse(0, 0, "there are no polygons", [0.0; 2]);
    }
    let is_point = |point: &Point| point.iter().all(|x| x.is_finite());
    for (polygon, rings) in polygons.iter().enumerate() {
        if rings.is_empty() {
            return refuse(polygon, 0, "there are no rings", [0.0; 2]);
        }
        for (ring, points) in rings.iter().enumerate() {
            let Some(bad) = points.iter().position(|point| !is_point(point)) else { continue };
            // The point itself has no place; the one before it, or any, shows where to look.
            let place = points[..bad].last().or_else(|| points.iter().find(|point| is_point(point)));
            return refuse(
                polygon,
                ring,
                "has a coordinate that is not a finite number",
                place.copied().unwrap_or_default(),
            );
        }
    }
    Ok(())
}

/// The rings of a polygon without points that repeat the one before, the outside counter-clockwise, holes clockwise.
fn cleaned(rings: Vec<Ring>, tolerance: f64) -> Vec<Ring> {
    let is_near = |p: &Point, q: &Point| length(minus(*p, *q)) <= tolerance;
    let clean = |(index, mut ring): (usize, Ring)| {
        ring.dedup_by(|next, kept| is_near(next, kept));
        while ring.len() > 1 && is_near(&ring[0], &ring[ring.len() - 1]) {
            ring.pop();
        }
        let sign = if index == 0 { 1.0 } else { -1.0 };
        if sign * contacts::doubled_area(&ring) < 0.0 {
            ring.reverse();
        }
        ring
    };
    rings.into_iter().enumerate().map(clean).collect()
}

/// The rings of a polygon without those that hold less than `least`; nothing if its outside is one of them.
fn with_area(mut rings: Vec<Ring>, least: f64) -> Option<Vec<Ring>> {
    let is_large = |ring: &Ring| ring.len() >= 3 && 0.5 * contacts::doubled_area(ring).abs() > least;
    if !rings.first().is_some_and(is_large) {
        return None;
    }
    rings.retain(is_large);
    Some(rings)
}

/// Puts the corners of a common part back from the grid on which it was found: to the corner of one of the two areas that lies there,
/// or to where their borders cross.
struct Sharpener<'a> {
    areas: [&'a Bands; 2],
    /// The box that the common part cannot leave.
    limits: [Span; 2],
    reach: f64,
}

impl<'a> Sharpener<'a> {
    fn new(one: &'a Polygons, other: &'a Polygons, limits: [Span; 2]) -> Self {
        let ends = [one, other].map(|polygons| polygons.bounding_box().map(|s| [s.lo, s.hi]));
        let around = box_around([0, 1].map(|end| ends.map(|[x, y]| [x[end], y[end]])).as_flattened().iter());
        let extent = around.iter().map(Span::length).fold(0.0, f64::max);
        Self { areas: [one.bands(), other.bands()], limits, reach: GRID_ERROR * extent }
    }

    fn polygons(&self, found: &[Vec<Ring>]) -> Vec<Vec<Ring>> {
        let ring = |rough: &Ring| rough.iter().map(|&corner| self.corner(corner)).collect::<Ring>();
        found.iter().map(|rings| cleaned(rings.iter().map(ring).collect(), 0.0)).collect()
    }

    fn corner(&self, rough: Point) -> Point {
        let near = self.areas.map(|bands| self.near(bands, rough));
        let corners = near.iter().flatten().map(|edge| edge.from).chain(near.iter().flatten().map(|edge| edge.to));
        let crossings = near[0].iter().flat_map(|e| near[1].iter().filter_map(|f| crossing(e, f)));
        let closest = |found: Option<Point>, next: Point| {
            let distance = |p: Point| length(minus(p, rough));
            if found.is_some_and(|p| distance(p) <= distance(next)) { found } else { Some(next) }
        };
        let reachable = |p: &Point| length(minus(*p, rough)) <= self.reach;
        let found = corners.filter(reachable).fold(None, closest);
        let found = found.or_else(|| crossings.filter(reachable).fold(None, closest)).unwrap_or(rough);
        [0, 1].map(|r| found[r].clamp(self.limits[r].lo, self.limits[r].hi))
    }

    /// The edges that pass a place.
    fn near(&self, bands: &Bands, place: Point) -> Vec<Edge> {
        let edges = bands.near(place[1] - self.reach, place[1] + self.reach);
        edges.iter().filter(|edge| edge.has_on_it(place, self.reach)).copied().collect()
    }
}

/// Where the lines through two edges cross.
fn crossing(e: &Edge, f: &Edge) -> Option<Point> {
    let (step, other) = (minus(e.to, e.from), minus(f.to, f.from));
    let part = cross(minus(f.from, e.from), other) / cross(step, other);
    // On an edge along an axis the coordinate across it is that of the edge, to the last bit.
    let place = |r: usize| if other[r] == 0.0 { f.from[r] } else { e.from[r] + part * step[r] };
    part.is_finite().then(|| [place(0), place(1)])
}
