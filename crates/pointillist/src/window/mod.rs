//! The window: where, how often and how closely events were looked for. A rate is per unit of its measure.
//!
//! A window is a list of disjoint pieces. A piece is a box, cut out by polygons on its first two axes if it has an outline, and looked
//! at once or several times (repeats, trials). A known exposure e(x) may weigh it all: λ = e f². Integrals over the window are sums over
//! pieces; `nodes.rs` turns any of them into quadrature. Units and the origin of time travel with it into every output.

mod bands;
mod boxes;
mod contacts;
mod exposure;
mod gather;
mod moments;
mod nodes;
mod polygon;
mod scaling;
mod shape;
mod spread;

pub use boxes::Span;
pub use exposure::Exposure;
#[doc(hidden)]
pub use nodes::Nodes;
pub(crate) use nodes::{AxisRule, Panels, PieceNodes, Weights, count as node_count};
pub use polygon::{Polygons, Ring};
#[doc(hidden)]
pub use scaling::Scaling;
pub use spread::Spread;

use crate::data::points::Points;
use crate::error::{Error, Result};

/// What an axis is called, and what its numbers mean.
///
/// ```
/// use pointillist::{Axis, Window};
///
/// let axis = Axis { name: "time".into(), unit: Some("days".into()), ..Axis::default() };
/// let window = Window::interval(0.0, 365.0)?.with_axes(vec![axis])?;
/// assert_eq!(window.axes()[0].name, "time");
/// # Ok::<(), pointillist::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Axis {
    /// Its name, as the column of the file was called.
    pub name: String,
    /// The unit of its numbers, if known.
    pub unit: Option<String>,
    /// For an axis of time counted from a date: seconds from 1970-01-01 UTC to its zero.
    pub origin: Option<f64>,
    /// The time zone whose clocks the axis follows, if not those of UTC: its zero is then so many seconds after 1970-01-01 00:00 as these clocks show it.
    ///
    /// It only travels with the axis here; who reads and writes dates does the arithmetic.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub zone: Option<String>,
    /// For an axis in km that stands for degrees of longitude or latitude: how.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub globe: Option<Globe>,
    /// For the two axes of a map that is no globe: the name of its coordinate reference system, as in `EPSG:27700`.
    ///
    /// It only travels with the axis here.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub crs: Option<String>,
}

/// What the km of an axis are on the globe: one of the two coordinates of a cylindrical equal-area projection, whose other one stands on another axis.
///
/// It only travels with the axis here; who reads and writes degrees does the arithmetic.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Globe {
    /// Which of the two.
    pub direction: Direction,
    /// Where both are zero: longitude and latitude, in degrees.
    pub centre: [f64; 2],
    /// The latitude on which lengths in both directions are true, in degrees.
    pub parallel: f64,
}

#[cfg(feature = "serde")]
impl Globe {
    /// Refuses a projection that is none: one in a file may be.
    fn check(&self) -> Result<()> {
        let [longitude, latitude] = self.centre;
        let is_one = longitude.abs() <= 360.0 && latitude.abs() <= 90.0 && self.parallel.abs() < 90.0;
        if is_one {
            Ok(())
        } else {
            Err(Error::setting("globe", format!("{self:?}"), "must be degrees, and its parallel not a pole"))
        }
    }
}

/// A direction on the globe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Direction {
    /// That of longitudes.
    East,
    /// That of latitudes.
    North,
}

/// Names of axes that are times where no unit says so.
const TIMES: [&str; 12] =
    ["t", "time", "date", "datetime", "timestamp", "year", "month", "week", "day", "days", "hour", "seconds"];

impl Axis {
    /// Its name, or its number where it has none.
    pub(crate) fn name_or_number(&self, number: usize) -> String {
        if self.name.is_empty() { number.to_string() } else { self.name.clone() }
    }

    /// Whether lengths along two axes can be compared: their units are the same, or nobody has said what they are and not just one of them is
    /// called like a time.
    pub(crate) fn shares_unit_with(&self, other: &Axis) -> bool {
        let is_time = |axis: &Axis| {
            let name = axis.name.to_lowercase();
            axis.origin.is_some() || TIMES.iter().any(|time| name == *time || name.starts_with(&format!("{time}_")))
        };
        self.unit == other.unit && is_time(self) == is_time(other)
    }
}

/// A part of a window.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Piece {
    /// The box around it: one span per axis.
    pub spans: Vec<Span>,
    /// What is cut out of the box on its first two axes; the whole box if nothing is.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub outline: Option<Polygons>,
    /// How many times it was looked at.
    pub repeats: f64,
}

impl Piece {
    fn volume(&self) -> f64 {
        let (flat, rest) = match &self.outline {
            Some(outline) => (outline.area(), &self.spans[2..]),
            None => (1.0, &self.spans[..]),
        };
        rest.iter().fold(flat, |volume, span| volume * span.length())
    }

    fn contains(&self, point: &[f64]) -> bool {
        let inside = |outline: &Polygons| outline.contains([point[0], point[1]]);
        self.spans.iter().zip(point).all(|(span, &x)| span.contains(x)) && self.outline.as_ref().is_none_or(inside)
    }

    /// The common part of two pieces, looked at as often as this one.
    fn intersection(&self, other: &Piece) -> Option<Piece> {
        let mut spans: Vec<Span> =
            self.spans.iter().zip(&other.spans).map(|(a, b)| a.intersection(b)).collect::<Option<_>>()?;
        if self.outline.is_none() && other.outline.is_none() {
            return Some(Piece { spans, outline: None, repeats: self.repeats });
        }
        let flat =
            |piece: &Piece| piece.outline.clone().unwrap_or_else(|| Polygons::of_box(piece.spans[0], piece.spans[1]));
        let outline = flat(self).intersection(&flat(other))?;
        spans.splice(..2, outline.bounding_box());
        Some(Piece { spans, outline: Some(outline), repeats: self.repeats })
    }

    /// Whether the box `centre` ± `reach` meets it.
    fn is_near(&self, centre: &[f64], reach: &[f64]) -> bool {
        let around = |r: usize| Span { lo: centre[r] - reach[r], hi: centre[r] + reach[r] };
        let meets = |r: usize| self.spans[r].lo <= around(r).hi && around(r).lo <= self.spans[r].hi;
        let touched = |outline: &Polygons| outline.meets_box(around(0), around(1));
        (0..self.spans.len()).all(meets) && self.outline.as_ref().is_none_or(touched)
    }
}

/// Lengths, areas and volumes of windows must lie between these: then squares of rates are numbers too.
const SIZES: (f64, f64) = (1e-100, 1e100);

/// Refuses a length, area or volume beyond all sizes.
pub(crate) fn check_size(what: &str, size: f64) -> Result<()> {
    if size >= SIZES.0 && size <= SIZES.1 {
        return Ok(());
    }
    let requirement = format!("is not between {:e} and {:e}: count the axes in other units", SIZES.0, SIZES.1);
    Err(Error::setting("window", format!("{what} of {size:e}"), requirement))
}

/// Where events were looked for.
///
/// ```
/// use pointillist::Window;
///
/// let field = Window::new(&[(0.0, 4.0), (0.0, 2.0)])?; // a box
/// let years = Window::union(&[Window::interval(1990.0, 1995.0)?, Window::interval(2000.0, 2010.0)?])?; // with a gap
/// assert_eq!((field.volume(), years.volume()), (8.0, 15.0));
/// assert!(!years.contains(&[1997.0]));
/// # Ok::<(), pointillist::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(remote = "Self"))]
pub struct Window {
    pieces: Vec<Piece>,
    axes: Vec<Axis>,
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    exposure: Option<Exposure>,
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    exposure_unit: Option<String>,
}

crate::reading::checked_when_read!(Window);

impl Window {
    /// A box: `(lo, hi)` for each axis.
    pub fn new(spans: &[(f64, f64)]) -> Result<Self> {
        if spans.is_empty() {
            return Err(Error::setting("window", "()", "needs at least one axis"));
        }
        let spans: Vec<Span> =
            spans.iter().enumerate().map(|(axis, &(lo, hi))| Span::new(axis, lo, hi)).collect::<Result<_>>()?;
        Self::of_pieces(vec![Piece { spans, outline: None, repeats: 1.0 }]).representable()
    }

    /// The interval from `lo` to `hi`.
    pub fn interval(lo: f64, hi: f64) -> Result<Self> {
        Self::new(&[(lo, hi)])
    }

    /// What lies inside polygons.
    pub fn inside(polygons: Polygons) -> Self {
        Self::of_pieces(vec![Piece { spans: polygons.bounding_box().to_vec(), outline: Some(polygons), repeats: 1.0 }])
    }

    /// Several windows that do not overlap, as one.
    pub fn union(windows: &[Window]) -> Result<Self> {
        let Some(first) = windows.first() else {
            return Err(Error::setting("window", "()", "needs at least one piece"));
        };
        if let Some(other) = windows.iter().find(|w| w.dims() != first.dims()) {
            return Err(Error::Dimension { what: "windows", expected: first.dims(), found: other.dims() });
        }
        let pieces: Vec<Piece> = windows.iter().flat_map(|window| window.pieces.clone()).collect();
        for (second, b) in pieces.iter().enumerate() {
            for (first, a) in pieces[..second].iter().enumerate() {
                if let Some(common) = a.intersection(b) {
                    let at = common.spans.iter().map(|s| (s.lo, s.hi)).collect();
                    return Err(Error::Overlap { first, second, at });
                }
            }
        }
        Self { axes: first.axes.clone(), ..Self::of_pieces(pieces) }.representable()
    }

    /// Trials, each over its own interval: as often as several of them cover a time, that time counts.
    pub fn trials(intervals: &[(f64, f64)]) -> Result<Self> {
        for &(lo, hi) in intervals {
            Span::new(0, lo, hi)?;
        }
        let mut cuts: Vec<f64> = intervals.iter().flat_map(|&(lo, hi)| [lo, hi]).collect();
        cuts.sort_by(f64::total_cmp);
        cuts.dedup();
        let covered = |lo: f64, hi: f64| intervals.iter().filter(|t| t.0 <= lo && hi <= t.1).count() as f64;
        let piece = |ends: &[f64]| {
            let (lo, hi) = (ends[0], ends[1]);
            Piece { spans: vec![Span { lo, hi }], outline: None, repeats: covered(lo, hi) }
        };
        let pieces: Vec<Piece> = cuts.windows(2).map(piece).filter(|piece| piece.repeats > 0.0).collect();
        if pieces.is_empty() {
            return Err(Error::setting("trials", "none", "there must be at least one"));
        }
        Self::of_pieces(pieces).representable()
    }

    /// Refuses a window in whose units rates could not be written down.
    fn representable(self) -> Result<Self> {
        let spans = self.bounding_box();
        spans.iter().try_for_each(|span| check_size("a side", span.length()))?;
        check_size("its size", spans.iter().map(Span::length).product())?;
        check_size("its size", self.measure())?;
        Ok(self)
    }

    fn of_pieces(pieces: Vec<Piece>) -> Self {
        let axes = vec![Axis::default(); pieces[0].spans.len()];
        Self { pieces, axes, exposure: None, exposure_unit: None }
    }

    /// This window on the first axes and `other` on those that follow: space × time.
    pub fn times(&self, other: &Window) -> Result<Self> {
        if other.pieces.iter().any(|piece| piece.outline.is_some()) {
            return Err(Error::setting("window", "polygons", "must stand on the first two axes"));
        }
        let both = |a: &Piece, b: &Piece| Piece {
            spans: [&a.spans[..], &b.spans].concat(),
            outline: a.outline.clone(),
            repeats: a.repeats * b.repeats,
        };
        let pieces = self.pieces.iter().flat_map(|a| other.pieces.iter().map(move |b| both(a, b))).collect();
        let axes = [&self.axes[..], &other.axes].concat();
        Self { axes, ..Self::of_pieces(pieces) }.representable()
    }

    /// The same window with its axes described.
    pub fn with_axes(mut self, axes: Vec<Axis>) -> Result<Self> {
        if axes.len() != self.dims() {
            return Err(Error::Dimension { what: "axis descriptions", expected: self.dims(), found: axes.len() });
        }
        if let Some(origin) = axes.iter().filter_map(|axis| axis.origin).find(|origin| !origin.is_finite()) {
            return Err(Error::setting("origin", origin, "must be a finite number"));
        }
        self.axes = axes;
        Ok(self)
    }

    /// The same window looked at `times` times (trials): rates are those of one time.
    pub fn with_repeats(mut self, times: usize) -> Result<Self> {
        if times == 0 {
            return Err(Error::setting("repeats", times, "must be at least 1"));
        }
        self.pieces.iter_mut().for_each(|piece| piece.repeats *= times as f64);
        self.representable()
    }

    /// The same window looked at once everywhere.
    pub fn looked_at_once(mut self) -> Self {
        self.pieces.iter_mut().for_each(|piece| piece.repeats = 1.0);
        self
    }

    /// The same window looked at with this exposure.
    pub fn with_exposure(mut self, exposure: Exposure) -> Result<Self> {
        exposure.check_covers(self.bounding_box())?;
        self.exposure = Some(exposure);
        if self.measure() == 0.0 {
            return Err(Error::setting("exposure", 0, "is zero over the whole window: no event could have been seen"));
        }
        self.representable()
    }

    /// The same window with the unit of its exposure named, as in `person-years`. Without an exposure there is nothing to name.
    pub fn with_exposure_unit(mut self, unit: Option<String>) -> Self {
        self.exposure_unit = unit.filter(|_| self.exposure.is_some());
        self
    }

    /// A window of parts that came from a file, each of which has been checked by itself, built anew.
    #[cfg(feature = "serde")]
    fn checked(self) -> Result<Self> {
        let Window { pieces, axes, exposure, exposure_unit } = self;
        let mut whole = Vec::with_capacity(pieces.len());
        for Piece { spans, outline, repeats } in pieces {
            let ends: Vec<(f64, f64)> = spans.iter().map(|s| (s.lo, s.hi)).collect();
            let plain = match outline {
                None => Self::new(&ends)?,
                Some(outline) => match ends.get(2..) {
                    Some([]) => Self::inside(outline),
                    Some(rest) => Self::inside(outline).times(&Self::new(rest)?)?,
                    None => return Err(Error::Dimension { what: "window", expected: 2, found: ends.len() }),
                },
            };
            if !(repeats.is_finite() && repeats > 0.0) {
                return Err(Error::setting("repeats", repeats, "must be positive"));
            }
            whole.push(Self { pieces: vec![Piece { repeats, ..plain.pieces[0].clone() }], ..plain });
        }
        axes.iter().filter_map(|axis| axis.globe.as_ref()).try_for_each(Globe::check)?;
        if axes.iter().filter_map(|axis| axis.crs.as_ref()).any(|crs| crs.chars().any(char::is_control)) {
            return Err(Error::setting("crs", "a text", "must be one line"));
        }
        let window = Self::union(&whole)?.with_axes(axes)?;
        match exposure {
            Some(exposure) => Ok(window.with_exposure(exposure)?.with_exposure_unit(exposure_unit)),
            None => Ok(window),
        }
    }

    /// The descriptions of the axes.
    pub fn axes(&self) -> &[Axis] {
        &self.axes
    }

    /// The pieces, which do not overlap.
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// The exposure, if there is one.
    pub fn exposure(&self) -> Option<&Exposure> {
        self.exposure.as_ref()
    }

    /// The unit of the exposure, if it has a name.
    pub fn exposure_unit(&self) -> Option<&str> {
        self.exposure_unit.as_deref()
    }

    /// The polygons it is cut out by, if any.
    pub fn outlines(&self) -> impl Iterator<Item = &Polygons> {
        self.pieces.iter().filter_map(|piece| piece.outline.as_ref())
    }

    /// Whether it is one box, looked at evenly.
    pub fn is_one_box(&self) -> bool {
        self.pieces.len() == 1 && self.pieces[0].outline.is_none() && self.exposure.is_none()
    }

    /// Whether it is made of boxes, each looked at evenly.
    pub fn is_boxes(&self) -> bool {
        self.outlines().next().is_none() && self.exposure.is_none()
    }

    /// Number of axes.
    pub fn dims(&self) -> usize {
        self.axes.len()
    }

    /// Length, area or volume, each part counted as often as it was looked at and weighed by the exposure: a rate times this is an
    /// expected number of events.
    pub fn measure(&self) -> f64 {
        match &self.exposure {
            None => self.pieces.iter().map(|piece| piece.repeats * piece.volume()).sum(),
            // Flat functions ask for no more than the exposure itself does.
            Some(_) => {
                self.nodes(&vec![AxisRule::smooth(f64::INFINITY); self.dims()]).iter().map(PieceNodes::total).sum()
            }
        }
    }

    /// Length, area or volume as such.
    pub fn volume(&self) -> f64 {
        self.pieces.iter().map(Piece::volume).sum()
    }

    /// Whether a point lies in it, its border included.
    pub fn contains(&self, point: &[f64]) -> bool {
        self.pieces.iter().any(|piece| piece.contains(point))
    }

    /// How much of an event's chance to be seen the window gives at a point: repeats times exposure, 0 outside.
    pub fn coverage(&self, point: &[f64]) -> f64 {
        let Some(piece) = self.pieces.iter().find(|piece| piece.contains(point)) else { return 0.0 };
        piece.repeats * self.exposure_at(point)
    }

    /// The exposure at a point; 1 where none is given.
    pub fn exposure_at(&self, point: &[f64]) -> f64 {
        self.exposure.as_ref().map_or(1.0, |exposure| exposure.at(point))
    }

    /// Refuses points that lie outside, and says which.
    pub fn check_inside(&self, points: &Points) -> Result<()> {
        if points.dims() != self.dims() {
            return Err(Error::Dimension { what: "events", expected: self.dims(), found: points.dims() });
        }
        let mut outside = points.rows().enumerate().filter(|(_, row)| !self.contains(row));
        let Some((index, row)) = outside.next() else { return Ok(()) };
        Err(Error::OutsideWindow { index, point: row.to_vec(), count: 1 + outside.count(), total: points.len() })
    }

    /// Refuses a window that reaches beyond this one.
    pub(crate) fn check_covers(&self, other: &Window) -> Result<()> {
        if other.dims() != self.dims() {
            return Err(Error::Dimension { what: "window", expected: self.dims(), found: other.dims() });
        }
        let common = self.intersection(other).map_or(0.0, |common| common.volume());
        // As much as borders may lose in the cutting.
        if common >= other.volume() * (1.0 - 1e-9) {
            return Ok(());
        }
        let ends = |window: &Window| {
            window.bounding_box().iter().map(|s| format!("{},{}", s.lo, s.hi)).collect::<Vec<_>>().join(",")
        };
        let requirement = format!("must lie inside the window that was fitted, {}", ends(self));
        Err(Error::setting("held-out window", ends(other), requirement))
    }

    /// The smallest box around it.
    pub fn bounding_box(&self) -> Vec<Span> {
        let end = |r: usize, pick: fn(&Span) -> f64, of: fn(f64, f64) -> f64| {
            self.pieces.iter().map(|piece| pick(&piece.spans[r])).reduce(of).unwrap_or_default()
        };
        (0..self.dims()).map(|r| Span { lo: end(r, |s| s.lo, f64::min), hi: end(r, |s| s.hi, f64::max) }).collect()
    }

    /// The part of `other` that lies in this window, if any does: repeated as `other` is, with this window's exposure.
    pub fn intersection(&self, other: &Window) -> Option<Window> {
        let place = |piece: &Piece| (piece.spans.clone(), piece.outline.clone());
        if other.pieces.iter().map(place).eq(self.pieces.iter().map(place)) {
            return Some(Window { pieces: other.pieces.clone(), ..self.clone() });
        }
        let common = |a: &Piece| other.pieces.iter().filter_map(|b| b.intersection(a)).collect::<Vec<_>>();
        let pieces: Vec<Piece> = self.pieces.iter().flat_map(common).collect();
        (!pieces.is_empty()).then(|| Window { pieces, ..self.clone() })
    }

    /// The part of this window that lies in `region`, if any does, looked at as this window is: with its repeats and its exposure.
    pub fn looked_at(&self, region: &Window) -> Option<Window> {
        let common = |own: &Piece| region.pieces.iter().filter_map(|other| own.intersection(other)).collect::<Vec<_>>();
        let pieces: Vec<Piece> = self.pieces.iter().flat_map(common).collect();
        (!pieces.is_empty()).then(|| Window { pieces, ..self.clone() })
    }

    /// The most that [`Window::coverage`] can be.
    pub(crate) fn most_coverage(&self) -> f64 {
        let repeats = self.pieces.iter().map(|piece| piece.repeats).fold(0.0, f64::max);
        repeats * self.exposure.as_ref().map_or(1.0, Exposure::most)
    }

    /// The regular grid of points over the bounding box, ends included.
    pub fn grid(&self, counts: &[usize]) -> Points {
        let spans = self.bounding_box();
        let lo: Vec<f64> = spans.iter().map(|s| s.lo).collect();
        let hi: Vec<f64> = spans.iter().map(|s| s.hi).collect();
        Points::grid(&lo, &hi, counts)
    }

    /// [`Window::grid`] without the points that are further than one step of the grid from the window.
    pub fn grid_nearby(&self, counts: &[usize]) -> Points {
        let grid = self.grid(counts);
        if self.is_one_box() {
            return grid;
        }
        let step = |(span, &count): (&Span, &usize)| span.length() / (count.max(2) - 1) as f64;
        let reach: Vec<f64> = self.bounding_box().iter().zip(counts).map(step).collect();
        let near = grid.filter(|row| self.pieces.iter().any(|piece| piece.is_near(row, &reach)));
        if near.is_empty() { grid } else { near }
    }

    /// This window in the coordinates of `scaling`.
    pub(crate) fn scaled(&self, scaling: &Scaling) -> Window {
        let inward = |piece: &Piece| Piece {
            spans: (piece.spans.iter().enumerate())
                .map(|(r, s)| Span { lo: scaling.inward(r, s.lo), hi: scaling.inward(r, s.hi) })
                .collect(),
            outline: piece.outline.as_ref().map(|outline| outline.map(|r, x| scaling.inward(r, x))),
            repeats: piece.repeats,
        };
        Window {
            pieces: self.pieces.iter().map(inward).collect(),
            axes: self.axes.clone(),
            exposure: self.exposure.as_ref().map(|exposure| exposure.scaled(scaling)),
            exposure_unit: self.exposure_unit.clone(),
        }
    }
}
