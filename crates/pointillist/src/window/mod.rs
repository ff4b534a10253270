//! The window: where events were looked for. A rate is per unit of its measure.
//!
//! Units and the origin of time travel with it into every output. Today a window is one box; the enum has room for
//! unions of boxes and polygons, and everything outside this folder asks only the questions below.

mod boxes;
mod nodes;
mod scaling;

pub use boxes::Span;
pub(crate) use nodes::Nodes;
pub(crate) use scaling::Scaling;

use crate::error::{Error, Result};
use crate::points::Points;

/// What an axis is called, and what its numbers mean.
#[derive(Debug, Clone, PartialEq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Axis {
    /// Its name, as the column of the file was called.
    pub name: String,
    /// The unit of its numbers, if known.
    pub unit: Option<String>,
    /// For an axis of time counted from a date: seconds from 1970-01-01 UTC to its zero.
    pub origin: Option<f64>,
}

/// The shape of a window.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
#[non_exhaustive]
pub enum Shape {
    /// A box: one span an axis.
    Box(Vec<Span>),
}

/// Where events were looked for.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Window {
    shape: Shape,
    axes: Vec<Axis>,
}

impl Window {
    /// A box: `(lo, hi)` for each axis.
    pub fn new(spans: &[(f64, f64)]) -> Result<Self> {
        if spans.is_empty() {
            return Err(Error::setting("window", "()", "needs at least one axis"));
        }
        let spans: Vec<Span> =
            spans.iter().enumerate().map(|(axis, &(lo, hi))| Span::new(axis, lo, hi)).collect::<Result<_>>()?;
        let axes = vec![Axis::default(); spans.len()];
        Ok(Self { shape: Shape::Box(spans), axes })
    }

    /// The interval from `lo` to `hi`.
    pub fn interval(lo: f64, hi: f64) -> Result<Self> {
        Self::new(&[(lo, hi)])
    }

    /// The same window with its axes described.
    pub fn with_axes(mut self, axes: Vec<Axis>) -> Result<Self> {
        if axes.len() != self.dims() {
            return Err(Error::Dimension { what: "axis descriptions", expected: self.dims(), found: axes.len() });
        }
        self.axes = axes;
        Ok(self)
    }

    /// The descriptions of the axes.
    pub fn axes(&self) -> &[Axis] {
        &self.axes
    }

    /// The shape.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Number of axes.
    pub fn dims(&self) -> usize {
        self.axes.len()
    }

    /// Length, area or volume.
    pub fn measure(&self) -> f64 {
        match &self.shape {
            Shape::Box(spans) => spans.iter().map(Span::length).product(),
        }
    }

    /// Whether a point lies in it, its border included.
    pub fn contains(&self, point: &[f64]) -> bool {
        match &self.shape {
            Shape::Box(spans) => spans.iter().zip(point).all(|(span, &x)| span.contains(x)),
        }
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

    /// The smallest box around it.
    pub fn bounding_box(&self) -> &[Span] {
        match &self.shape {
            Shape::Box(spans) => spans,
        }
    }

    /// The disjoint boxes it is made of: integrals over it are sums over these.
    pub(crate) fn boxes(&self) -> [&[Span]; 1] {
        match &self.shape {
            Shape::Box(spans) => [spans],
        }
    }

    /// The part of the box `other` that lies in this window, if any does.
    pub fn intersection(&self, other: &Window) -> Option<Window> {
        let (Shape::Box(a), Shape::Box(b)) = (&self.shape, &other.shape);
        let spans: Option<Vec<Span>> = a.iter().zip(b).map(|(a, b)| a.intersection(b)).collect();
        Some(Self { shape: Shape::Box(spans?), axes: self.axes.clone() })
    }

    /// The regular grid of points over the bounding box, ends included.
    pub fn grid(&self, counts: &[usize]) -> Points {
        let spans = self.bounding_box();
        let lo: Vec<f64> = spans.iter().map(|s| s.lo).collect();
        let hi: Vec<f64> = spans.iter().map(|s| s.hi).collect();
        Points::grid(&lo, &hi, counts)
    }

    /// This window in the coordinates of `scaling`.
    pub(crate) fn scaled(&self, scaling: &Scaling) -> Window {
        let Shape::Box(spans) = &self.shape;
        let spans = spans
            .iter()
            .enumerate()
            .map(|(r, s)| Span { lo: scaling.inward(r, s.lo), hi: scaling.inward(r, s.hi) })
            .collect();
        Window { shape: Shape::Box(spans), axes: self.axes.clone() }
    }
}
