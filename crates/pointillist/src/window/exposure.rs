//! Exposure: how closely the window was looked at, e(x) ≥ 0. Population at risk, chance of detection, effort.
//!
//! On a grid it is multilinear between the nodes of the grid, so quadrature panels that end at the grid's lines see a polynomial. Given
//! as a list of weighted points it is itself the quadrature of the window.

use super::{Scaling, Span};
use crate::error::{Error, Result};
use crate::points::Points;

/// A known exposure.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase", remote = "Self"))]
pub enum Exposure {
    /// Values on a grid.
    Grid {
        /// The window's axes it depends on, rising.
        axes: Vec<usize>,
        /// The coordinates of the grid on each of these, rising.
        lines: Vec<Vec<f64>>,
        /// The values, the last axis varying fastest.
        values: Vec<f64>,
    },
    /// Points with weights: Σ w f(x)² stands for ∫ e f².
    Nodes {
        /// The points.
        points: Points,
        /// Their weights.
        weights: Vec<f64>,
    },
}

crate::reading::checked_when_read!(Exposure);

impl Exposure {
    /// Values on the grid of `lines`, on these axes of the window; the last axis varies fastest.
    pub fn grid(axes: Vec<usize>, lines: Vec<Vec<f64>>, values: Vec<f64>) -> Result<Self> {
        Self::Grid { axes, lines, values }.checked()
    }

    /// Weighted points.
    pub fn nodes(points: Points, weights: Vec<f64>) -> Result<Self> {
        Self::Nodes { points, weights }.checked()
    }

    pub(crate) fn checked(self) -> Result<Self> {
        let values = match &self {
            Exposure::Grid { axes, lines, values } => {
                let rising = |line: &Vec<f64>| line.len() >= 2 && line.windows(2).all(|w| w[0] < w[1]);
                if axes.is_empty() || axes.len() != lines.len() || !axes.windows(2).all(|w| w[0] < w[1]) {
                    return Err(Error::setting(
                        "exposure",
                        format!("{axes:?}"),
                        "needs one list of coordinates an axis",
                    ));
                }
                if !lines.iter().all(rising) || lines.iter().flatten().any(|x| !x.is_finite()) {
                    return Err(Error::setting(
                        "exposure",
                        "grid",
                        "needs two or more rising coordinates on each axis",
                    ));
                }
                let count = lines.iter().map(Vec::len).product();
                if values.len() != count {
                    return Err(Error::Dimension {
                        what: "values of the exposure",
                        expected: count,
                        found: values.len(),
                    });
                }
                values
            }
            Exposure::Nodes { points, weights } => {
                if points.len() != weights.len() || points.is_empty() {
                    let (expected, found) = (points.len(), weights.len());
                    return Err(Error::Dimension { what: "weights of the exposure", expected, found });
                }
                weights
            }
        };
        match values.iter().find(|v| !(v.is_finite() && **v >= 0.0)) {
            Some(bad) => Err(Error::setting("exposure", bad, "must be a finite number and not negative")),
            None if values.iter().all(|v| *v == 0.0) => {
                Err(Error::setting("exposure", 0, "is zero everywhere: no event could have been seen"))
            }
            None => Ok(self),
        }
    }

    /// Refuses an exposure that leaves a part of the box out.
    pub(super) fn check_covers(&self, spans: Vec<Span>) -> Result<()> {
        match self {
            Exposure::Grid { axes, lines, .. } => {
                for (&axis, line) in axes.iter().zip(lines) {
                    let Some(span) = spans.get(axis) else {
                        return Err(Error::Dimension { what: "exposure", expected: spans.len(), found: axis + 1 });
                    };
                    let slack = 1e-9 * span.length();
                    let (lo, hi) = (line[0], line[line.len() - 1]);
                    if lo > span.lo + slack || hi < span.hi - slack {
                        let requirement = format!("must cover the window, {} to {} on axis {axis}", span.lo, span.hi);
                        return Err(Error::setting("exposure", format!("{lo} to {hi}"), requirement));
                    }
                }
                Ok(())
            }
            Exposure::Nodes { points, .. } if points.dims() != spans.len() => {
                Err(Error::Dimension { what: "exposure", expected: spans.len(), found: points.dims() })
            }
            Exposure::Nodes { .. } => Ok(()),
        }
    }

    /// e(x): multilinear on a grid; not known, and taken as 1, for weighted points.
    pub(crate) fn at(&self, point: &[f64]) -> f64 {
        let Exposure::Grid { axes, lines, values } = self else { return 1.0 };
        let mut corners = vec![(0usize, 1.0)];
        for (&axis, line) in axes.iter().zip(lines) {
            let x = point[axis].clamp(line[0], line[line.len() - 1]);
            let cell = line.partition_point(|v| *v <= x).clamp(1, line.len() - 1) - 1;
            let share = (x - line[cell]) / (line[cell + 1] - line[cell]);
            corners = corners
                .iter()
                .flat_map(|&(at, weight)| {
                    let at = at * line.len() + cell;
                    [(at, weight * (1.0 - share)), (at + 1, weight * share)]
                })
                .collect();
        }
        corners.iter().map(|&(at, weight)| values[at] * weight).sum()
    }

    /// The largest value it takes.
    pub(super) fn most(&self) -> f64 {
        match self {
            Exposure::Grid { values, .. } => values.iter().copied().fold(0.0, f64::max),
            Exposure::Nodes { .. } => 1.0,
        }
    }

    /// The lines across `axis` at which e has a kink.
    pub(super) fn lines(&self, axis: usize) -> &[f64] {
        match self {
            Exposure::Grid { axes, lines, .. } => {
                axes.iter().position(|a| *a == axis).map_or(&[], |place| lines[place].as_slice())
            }
            Exposure::Nodes { .. } => &[],
        }
    }

    /// The axes it depends on.
    pub(super) fn axes(&self) -> Vec<usize> {
        match self {
            Exposure::Grid { axes, .. } => axes.clone(),
            Exposure::Nodes { points, .. } => (0..points.dims()).collect(),
        }
    }

    /// The same exposure in other coordinates.
    pub(super) fn scaled(&self, scaling: &Scaling) -> Self {
        let map = |r: usize, x: f64| scaling.inward(r, x);
        match self {
            Exposure::Grid { axes, lines, values } => {
                let moved = |(&axis, line): (&usize, &Vec<f64>)| line.iter().map(|&x| map(axis, x)).collect();
                Exposure::Grid {
                    axes: axes.clone(),
                    lines: axes.iter().zip(lines).map(moved).collect(),
                    values: values.clone(),
                }
            }
            Exposure::Nodes { points, weights } => {
                let weights = weights.iter().map(|w| w / scaling.volume()).collect();
                Exposure::Nodes { points: points.map(map), weights }
            }
        }
    }
}
