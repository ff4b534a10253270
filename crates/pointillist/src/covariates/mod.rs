//! Covariates: surfaces that are known, whose effects on the logarithm of the rate are unknowns (docs/derivation.md, section 18).
//!
//! A covariate is even in the cells of a raster: no value is made up between its values, and what stands for it in an integral is exact. What it adds to
//! f is φ(value)ᵀζ with a few regressors φ and ζ standard normal before events are seen (`regressors.rs`). A number has one regressor, its distance from
//! the mean over the window; a curve has further ones for what deviates from a line (`curve.rs`); a category has one per level but the most common one.

mod curve;
mod regressors;

pub(crate) use regressors::Regressors;
pub use regressors::{CurveState, Effect, EffectState};

use crate::error::{Error, Result};
use crate::window::{Scaling, Span};

/// What the values of a covariate are.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum CovariateKind {
    /// Numbers, whose effect is in proportion to them.
    Linear,
    /// Numbers, whose effect is a smooth curve: a line, and deviations from it.
    Spline,
    /// Numbers of levels, from 0: each level has an effect of its own.
    Categorical {
        /// What the levels are called.
        levels: Vec<String>,
    },
}

/// A known surface over the window, even in the cells of a raster.
///
/// ```
/// use pointillist::{Covariate, Events, Model, Points, Window};
///
/// let window = Window::new(&[(0.0, 2.0), (0.0, 1.0)])?;
/// let elevation = Covariate::linear("elevation", vec![0], vec![vec![0.0, 1.0, 2.0]], vec![100.0, 300.0])?;
/// let rows: Vec<[f64; 2]> = (0..40).map(|i| [0.05 * f64::from(i) % 1.3, 0.37 * f64::from(i) % 1.0]).collect();
/// let events = Events::new(Points::from_rows(&rows)?, window)?;
/// let fit = Model { covariates: vec![elevation], ..Model::default() }.fit(&events)?;
/// let effect = &fit.posterior.effects()[0];
/// assert!(effect.name == "elevation" && effect.mean < 0.0); // fewer events where it is higher
/// # Ok::<(), pointillist::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(remote = "Self"))]
pub struct Covariate {
    /// What it is called.
    name: String,
    /// What its values are.
    kind: CovariateKind,
    /// The window's axes it depends on, rising.
    axes: Vec<usize>,
    /// Where the cells begin on each of these, rising, and where the last one ends.
    lines: Vec<Vec<f64>>,
    /// The values, the last axis varying fastest; NaN where it is not known.
    values: Vec<f64>,
}

crate::reading::checked_when_read!(Covariate);

impl Covariate {
    /// Numbers in the cells between `lines`, on these axes of the window; the last axis varies fastest. Where it is not known it is NaN.
    pub fn linear(name: &str, axes: Vec<usize>, lines: Vec<Vec<f64>>, values: Vec<f64>) -> Result<Self> {
        Self { name: name.into(), kind: CovariateKind::Linear, axes, lines, values }.checked()
    }

    /// The same with an effect that is a smooth curve of the numbers.
    pub fn spline(name: &str, axes: Vec<usize>, lines: Vec<Vec<f64>>, values: Vec<f64>) -> Result<Self> {
        Self { name: name.into(), kind: CovariateKind::Spline, axes, lines, values }.checked()
    }

    /// Levels in the cells between `lines`, by their numbers from 0; none where it is not known.
    ///
    /// ```
    /// # use pointillist::Covariate;
    /// let levels = ["forest", "field"].map(String::from).to_vec();
    /// let cover = Covariate::categorical("cover", vec![0], vec![vec![0.0, 1.0, 4.0]], levels, &[Some(1), Some(0)])?;
    /// assert_eq!(cover.name(), "cover");
    /// # Ok::<(), pointillist::Error>(())
    /// ```
    pub fn categorical(
        name: &str,
        axes: Vec<usize>,
        lines: Vec<Vec<f64>>,
        levels: Vec<String>,
        values: &[Option<usize>],
    ) -> Result<Self> {
        let values = values.iter().map(|level| level.map_or(f64::NAN, |level| level as f64)).collect();
        Self { name: name.into(), kind: CovariateKind::Categorical { levels }, axes, lines, values }.checked()
    }

    /// Where cells begin and end whose middles are these places, rising: half way between them, and as far beyond the outer ones.
    ///
    /// ```
    /// assert_eq!(pointillist::Covariate::lines_about(&[1.0, 2.0, 4.0]), [0.5, 1.5, 3.0, 5.0]);
    /// ```
    pub fn lines_about(places: &[f64]) -> Vec<f64> {
        let [Some(first), Some(last)] = [places.first(), places.last()] else { return vec![] };
        let halves: Vec<f64> = places.windows(2).map(|pair| pair[0] + 0.5 * (pair[1] - pair[0])).collect();
        let [below, above] = match halves[..] {
            [] => [0.5, 0.5],
            _ => [halves[0] - first, last - halves[halves.len() - 1]],
        };
        std::iter::once(first - below).chain(halves).chain([last + above]).collect()
    }

    pub(crate) fn checked(self) -> Result<Self> {
        let Self { name, kind, axes, lines, values } = &self;
        let wrong = |requirement: String| Err(Error::setting("covariate", name, requirement));
        if name.is_empty() {
            return wrong("must have a name".into());
        }
        if axes.is_empty() || axes.len() != lines.len() || !axes.windows(2).all(|pair| pair[0] < pair[1]) {
            return wrong(format!("must have one list of lines per axis, and axes that rise, not {axes:?}"));
        }
        let rising = |line: &Vec<f64>| line.len() >= 2 && line.windows(2).all(|pair| pair[0] < pair[1]);
        if !lines.iter().all(rising) || lines.iter().flatten().any(|x| !x.is_finite()) {
            return wrong("must have two or more rising lines on each axis".into());
        }
        let count = lines.iter().try_fold(1usize, |count, line| count.checked_mul(line.len() - 1));
        if count != Some(values.len()) {
            let expected = count.unwrap_or(usize::MAX);
            return Err(Error::Dimension { what: "values of a covariate", expected, found: values.len() });
        }
        if values.iter().any(|value| value.is_infinite()) {
            return wrong("must be finite where it is known".into());
        }
        if let CovariateKind::Categorical { levels } = kind {
            let is_level = |value: &f64| value.fract() == 0.0 && *value >= 0.0 && *value < levels.len() as f64;
            if values.iter().any(|value| !value.is_nan() && !is_level(value)) {
                return wrong("must have numbers of its levels as values".into());
            }
        }
        Ok(self)
    }

    /// What it is called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What its values are.
    pub fn kind(&self) -> &CovariateKind {
        &self.kind
    }

    /// The window's axes it depends on, rising.
    pub fn axes(&self) -> &[usize] {
        &self.axes
    }

    /// Where the cells begin on each of these, and where the last one ends.
    pub fn lines(&self) -> &[Vec<f64>] {
        &self.lines
    }

    /// The cell that a point lies in; none beyond the raster. Rounding is no distance.
    pub(crate) fn cell(&self, point: &[f64]) -> Option<usize> {
        let mut cell = 0;
        for (&axis, line) in self.axes.iter().zip(&self.lines) {
            let (lo, hi, x) = (line[0], line[line.len() - 1], *point.get(axis)?);
            let slack = 1e-9 * (hi - lo);
            if !(x >= lo - slack && x <= hi + slack) {
                return None;
            }
            cell = cell * (line.len() - 1) + line.partition_point(|end| *end <= x).clamp(1, line.len() - 1) - 1;
        }
        Some(cell)
    }

    /// Its value at a point; NaN where it is not known, or beyond the raster.
    pub fn at(&self, point: &[f64]) -> f64 {
        self.cell(point).map_or(f64::NAN, |cell| self.values[cell])
    }

    /// The least and the largest of its values.
    pub fn reach(&self) -> (f64, f64) {
        let known = self.values.iter().filter(|value| !value.is_nan());
        known.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(*value), high.max(*value)))
    }

    /// Refuses a raster that leaves a part of a box out.
    fn check_covers(&self, spans: &[Span]) -> Result<()> {
        for (&axis, line) in self.axes.iter().zip(&self.lines) {
            let Some(span) = spans.get(axis) else {
                return Err(Error::Dimension { what: "a covariate", expected: spans.len(), found: axis + 1 });
            };
            let slack = 1e-9 * span.length();
            let (lo, hi) = (line[0], line[line.len() - 1]);
            if lo > span.lo + slack || hi < span.hi - slack {
                let requirement =
                    format!("has a raster from {lo} to {hi} on axis {axis}, and must cover {} to {}", span.lo, span.hi);
                return Err(Error::setting("covariate", &self.name, requirement));
            }
        }
        Ok(())
    }

    /// The same where cells that are not known have the value of the nearest one that is, counted in cells.
    fn filled(mut self) -> Self {
        let known: Vec<usize> = (0..self.values.len()).filter(|&cell| !self.values[cell].is_nan()).collect();
        let counts: Vec<usize> = self.lines.iter().map(|line| line.len() - 1).collect();
        let mut next = known.clone();
        // From the known ones outwards, one ring of neighbours after another.
        while !next.is_empty() {
            let mut ring = Vec::new();
            for &cell in &next {
                let mut stride = 1;
                for &count in counts.iter().rev() {
                    let along = cell / stride % count;
                    let below = (along > 0).then(|| cell - stride);
                    let above = (along + 1 < count).then(|| cell + stride);
                    for other in
                        below.into_iter().chain(above).filter(|&other| self.values[other].is_nan()).collect::<Vec<_>>()
                    {
                        self.values[other] = self.values[cell];
                        ring.push(other);
                    }
                    stride *= count;
                }
            }
            next = ring;
        }
        self
    }

    /// The same in other coordinates.
    pub(crate) fn scaled(&self, scaling: &Scaling) -> Self {
        let mut same = self.clone();
        for (&axis, line) in same.axes.iter().zip(&mut same.lines) {
            line.iter_mut().for_each(|x| *x = scaling.inward(axis, *x));
        }
        same
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_that_of_its_cell_and_ends_belong_to_the_raster() {
        let lines = vec![vec![0.0, 1.0, 3.0], vec![0.0, 5.0]];
        let covariate = Covariate::linear("z", vec![0, 2], lines.clone(), vec![2.0, 7.0]).unwrap();
        let at = |x: f64| covariate.at(&[x, 9.0, 5.0]);
        assert_eq!((at(0.0), at(0.99), at(1.0), at(3.0)), (2.0, 2.0, 7.0, 7.0));
        assert!(at(3.1).is_nan() && at(-0.1).is_nan());
        for bad in [vec![2.0], vec![2.0, f64::INFINITY]] {
            assert!(Covariate::linear("z", vec![0, 2], lines.clone(), bad).is_err());
        }
        assert!(Covariate::linear("", vec![0, 2], lines.clone(), vec![1.0, 2.0]).is_err());
        assert!(Covariate::linear("z", vec![2, 0], lines.clone(), vec![1.0, 2.0]).is_err());
        let levels = vec!["a".to_string()];
        assert!(Covariate::categorical("z", vec![0, 2], lines, levels, &[Some(0), Some(1)]).is_err());
    }

    #[test]
    fn what_is_not_known_outside_the_window_is_as_near_by() {
        let nan = f64::NAN;
        let lines = vec![vec![0.0, 1.0, 2.0, 3.0], vec![0.0, 1.0, 2.0, 3.0]];
        let values = vec![1.0, nan, nan, nan, nan, nan, nan, nan, 5.0];
        let filled = Covariate::linear("z", vec![0, 1], lines, values).unwrap().filled();
        assert_eq!(filled.values, [1.0, 1.0, 1.0, 1.0, 1.0, 5.0, 1.0, 5.0, 5.0]);
    }
}
