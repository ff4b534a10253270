//! What covariates add to f: φ(x)ᵀζ, ζ standard normal before events are seen.
//!
//! A number v has φ = s (v − mean)/sd, mean and sd over the window; a level that is not the most common one has φ = s where it is found. So s is the prior
//! standard deviation of an effect on the logarithm of the rate, of one sd of a number or of a level beside the most common one.

use super::curve::{Curve, KNOTS};
use super::{Covariate, CovariateKind};
use crate::data::points::Points;
use crate::error::{Error, Result};
use crate::numerics::linalg::Matrix;
use crate::window::{AxisRule, Scaling, Span, Window};
use std::collections::HashMap;

/// s: effects of up to e^±3.3 by 90 %, a rate 27 times as high or as low.
pub(crate) const EFFECT_SD: f64 = 2.0;
/// What is left of a regressor's variance beside the others where these explain it wholly.
const NOTHING_LEFT: f64 = 1e-8;
/// A raster varies if its values are further apart than this part of the largest one: what rounding leaves of one that is the same everywhere.
const VARIES: f64 = 4.0 * f64::EPSILON;
/// A level that has a smaller part of the window is none of it.
const HARDLY_THERE: f64 = 1e-12;
/// The parts of the window below the values at which a curve is told.
const PLACES: [f64; 5] = [0.05, 0.25, 0.5, 0.75, 0.95];
/// Most cells of all rasters over each other.
const MOST_CELLS: f64 = 300_000.0;

/// A covariate with what was found about it over the window, in the user's units: what a file must hold.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct EffectState {
    /// The covariate, in the user's coordinates, known all over its raster.
    pub covariate: Covariate,
    /// Mean and standard deviation over the window of a covariate that is a number; 0 and 1 of another.
    pub mean: f64,
    /// See `mean`.
    pub sd: f64,
    /// The levels that the window has, the most common one first; none of a number.
    pub levels: Vec<usize>,
    /// Of a curve.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub curve: Option<CurveState>,
    /// The value that it is held at everywhere, if it is.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub held: Option<f64>,
}

/// What a file must hold of a curve.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct CurveState {
    /// The least and the largest value over the window, between which it has knots.
    pub ends: [f64; 2],
    /// What makes its deviations from a line as large as they are believed to be.
    pub tau: f64,
    /// Values at which it is told: from low to high over the window.
    pub places: Vec<f64>,
}

/// The effect of a covariate, or of one of its levels, on the logarithm of the rate: a posterior mean with quantiles, in the user's units.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Effect {
    /// The name of the covariate.
    pub name: String,
    /// The level, and the one that it is compared with; of a curve a value and the mean over the window, as texts; none of a number.
    pub level: Option<(String, String)>,
    /// What the covariate is on average over the window, and its standard deviation there; 0 and 1 of a level.
    pub over_window: (f64, f64),
    /// The posterior mean of the effect: of one unit of the covariate, or of the level beside the other.
    pub mean: f64,
    /// Its posterior standard deviation.
    pub sd: f64,
    /// Its quantiles at 5, 50 and 95 %.
    pub quantiles: [f64; 3],
}

/// One covariate in the coordinates of the unit box.
#[derive(Debug, Clone, PartialEq)]
struct Part {
    /// As it is kept.
    state: EffectState,
    /// In unit coordinates.
    covariate: Covariate,
    /// Its deviations from a line, if it is a curve.
    curve: Option<Curve>,
}

impl Part {
    fn new(state: EffectState, scaling: &Scaling) -> Self {
        let curve = state.curve.as_ref().map(|curve| Curve::new(curve.ends));
        Self { covariate: state.covariate.scaled(scaling), state, curve }
    }

    /// Number of regressors.
    fn len(&self) -> usize {
        match self.covariate.kind {
            CovariateKind::Linear => 1,
            CovariateKind::Spline => 1 + Curve::len(),
            CovariateKind::Categorical { .. } => self.state.levels.len() - 1,
        }
    }

    fn value(&self, point: &[f64]) -> f64 {
        self.state.held.unwrap_or_else(|| self.covariate.at(point))
    }

    fn line(&self, value: f64) -> f64 {
        EFFECT_SD * (value - self.state.mean) / self.state.sd
    }

    /// φ at a value, to the end of a list.
    fn push(&self, value: f64, row: &mut Vec<f64>) {
        match self.covariate.kind {
            CovariateKind::Linear => row.push(self.line(value)),
            CovariateKind::Spline => {
                row.push(self.line(value));
                let both = self.curve.as_ref().zip(self.state.curve.as_ref());
                both.into_iter().for_each(|(curve, CurveState { tau, .. })| row.extend(curve.row(value, *tau)));
            }
            CovariateKind::Categorical { .. } => {
                let others = &self.state.levels[1..];
                row.extend(others.iter().map(|level| if value == *level as f64 { EFFECT_SD } else { 0.0 }));
            }
        }
    }
}

impl Part {
    /// Its effects, and what of its own ζ they are made of.
    fn named(&self) -> Vec<(Effect, Vec<f64>)> {
        let EffectState { mean, sd, levels: numbers, curve, .. } = &self.state;
        let blank = |level: Option<(String, String)>| {
            let name = self.covariate.name.clone();
            Effect { name, level, over_window: (*mean, *sd), mean: 0.0, sd: 0.0, quantiles: [0.0; 3] }
        };
        match &self.covariate.kind {
            CovariateKind::Linear => vec![(blank(None), vec![EFFECT_SD / sd])],
            CovariateKind::Spline => {
                let row = |value: f64| {
                    let mut row = Vec::with_capacity(self.len());
                    self.push(value, &mut row);
                    row
                };
                let middle = row(*mean);
                let at = |value: &f64| {
                    let direction = row(*value).iter().zip(&middle).map(|(own, middle)| own - middle).collect();
                    (blank(Some((value.to_string(), format!("{}, its mean", rounded(*mean, self.range()))))), direction)
                };
                curve.iter().flat_map(|curve| &curve.places).map(at).collect()
            }
            CovariateKind::Categorical { levels } => {
                let name = |number: usize| levels[numbers[number]].clone();
                let level = |number: usize| {
                    let mut direction = vec![0.0; self.len()];
                    direction[number - 1] = EFFECT_SD;
                    (blank(Some((name(number), name(0)))), direction)
                };
                (1..numbers.len()).map(level).collect()
            }
        }
    }

    /// From the least to the largest value of a curve over the window.
    fn range(&self) -> f64 {
        self.state.curve.as_ref().map_or(self.state.sd, |CurveState { ends: [low, high], .. }| high - low)
    }

    /// Which of its regressors are compared with those of others: of a curve the line alone, whose deviations have a prior that holds them.
    fn main(&self) -> usize {
        if self.curve.is_some() { 1 } else { self.len() }
    }
}

/// All regressors of a model, in the coordinates of the unit box.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Regressors {
    parts: Vec<Part>,
}

impl Regressors {
    /// Those of covariates over a window, both in the user's coordinates, once they are found to make sense there.
    pub(crate) fn over(window: &Window, covariates: &[Covariate]) -> Result<Self> {
        let scaling = Scaling::of(window);
        for (i, covariate) in covariates.iter().enumerate() {
            covariate.check_covers(&window.bounding_box())?;
            if covariates[..i].iter().any(|other| other.name == covariate.name) {
                return Err(Error::setting("covariate", &covariate.name, "is given twice; keep one of the two"));
            }
        }
        let plain = |covariate: &Covariate| EffectState {
            covariate: covariate.clone(),
            mean: 0.0,
            sd: 1.0,
            levels: vec![],
            curve: None,
            held: None,
        };
        let parts = covariates.iter().map(|covariate| Part::new(plain(covariate), &scaling)).collect();
        let mut all = Self { parts };
        all.check_size()?;
        let inner = window.scaled(&scaling);
        let shares = all.shares(&inner);
        all.refuse_missing(&inner)?;
        for i in 0..all.parts.len() {
            let state = found_over(&all.parts[i].state, shares.iter().map(|(values, share)| (values[i], *share)))?;
            all.parts[i] = Part::new(state, &scaling);
        }
        all.refuse_collinear(&shares)?;
        Ok(all)
    }

    /// Those that a file holds, over a window in the user's coordinates.
    pub(crate) fn of_states(window: &Window, states: Vec<EffectState>) -> Result<Self> {
        let (scaling, spans) = (Scaling::of(window), window.bounding_box());
        for state in &states {
            state.covariate.check_covers(&spans)?;
            let levels = match &state.covariate.kind {
                CovariateKind::Linear | CovariateKind::Spline => 0,
                CovariateKind::Categorical { levels } => levels.len(),
            };
            let is_curve = state.curve.as_ref().is_some_and(|curve| {
                let CurveState { ends: [low, high], tau, places } = curve;
                [low, high, tau].iter().chain(&places.iter().collect::<Vec<_>>()).all(|v| v.is_finite())
                    && low < high
                    && *tau > 0.0
            });
            let is_wrong = state.levels.iter().any(|level| *level >= levels)
                || (levels > 0) == state.levels.is_empty()
                || (state.covariate.kind == CovariateKind::Spline) != is_curve
                || state.curve.is_some() != is_curve;
            let numbers = [state.mean, state.sd, state.held.unwrap_or(0.0)];
            if is_wrong
                || numbers.iter().any(|v| !v.is_finite())
                || state.sd <= 0.0
                || state.covariate.values.iter().any(|v| v.is_nan())
            {
                return Err(Error::setting("covariate", &state.covariate.name, "does not make sense"));
            }
        }
        let all = Self { parts: states.into_iter().map(|state| Part::new(state, &scaling)).collect() };
        all.check_size()?;
        Ok(all)
    }

    pub(crate) fn states(&self) -> Vec<EffectState> {
        self.parts.iter().map(|part| part.state.clone()).collect()
    }

    /// Number of regressors.
    pub(crate) fn len(&self) -> usize {
        self.parts.iter().map(Part::len).sum()
    }

    /// The lines across an axis at which some of them jump.
    pub(crate) fn lines(&self, axis: usize) -> Vec<f64> {
        let own = |part: &Part| {
            let place = part.covariate.axes.iter().position(|r| *r == axis).filter(|_| part.state.held.is_none());
            place.map_or_else(Vec::new, |place| part.covariate.lines[place].clone())
        };
        let mut lines: Vec<f64> = self.parts.iter().flat_map(own).collect();
        lines.sort_by(f64::total_cmp);
        lines.dedup();
        lines
    }

    /// The values of the covariates at a point.
    pub(crate) fn values(&self, point: &[f64]) -> Vec<f64> {
        self.parts.iter().map(|part| part.value(point)).collect()
    }

    /// The regressors at values of the covariates.
    pub(crate) fn row(&self, values: &[f64]) -> Vec<f64> {
        let mut row = Vec::with_capacity(self.len());
        self.parts.iter().zip(values).for_each(|(part, value)| part.push(*value, &mut row));
        row
    }

    /// The regressors at points, one list per regressor; refused beyond a raster.
    pub(crate) fn at(&self, points: &Points) -> Result<Vec<Vec<f64>>> {
        let mut columns = vec![Vec::with_capacity(points.len()); self.len()];
        let (mut row, mut beyond) = (Vec::new(), vec![0usize; self.parts.len()]);
        for point in points.rows() {
            row.clear();
            for (part, beyond) in self.parts.iter().zip(&mut beyond) {
                let value = part.value(point);
                *beyond += usize::from(value.is_nan());
                part.push(value, &mut row);
            }
            columns.iter_mut().zip(&row).for_each(|(column, value)| column.push(*value));
        }
        match beyond.iter().zip(&self.parts).find(|(count, _)| **count > 0) {
            None => Ok(columns),
            Some((count, part)) => {
                let requirement = format!(
                    "is not known at {count} of {} places, which lie beyond its raster; give it a value there, or ask within it",
                    points.len()
                );
                Err(Error::setting("covariate", &part.covariate.name, requirement))
            }
        }
    }

    /// Refuses a region of which a part lies beyond a raster.
    pub(crate) fn check_covers(&self, spans: &[Span]) -> Result<()> {
        let free = self.parts.iter().filter(|part| part.state.held.is_none());
        free.map(|part| &part.covariate).try_for_each(|covariate| {
            let is_short = |(&axis, line): (&usize, &Vec<f64>)| {
                let slack = 1e-9 * spans[axis].length();
                line[0] > spans[axis].lo + slack || line[line.len() - 1] < spans[axis].hi - slack
            };
            match covariate.axes.iter().zip(&covariate.lines).any(is_short) {
                true => {
                    let requirement = "is not known all over the region, which reaches beyond its raster; give it a value, or ask within it";
                    Err(Error::setting("covariate", &covariate.name, requirement))
                }
                false => Ok(()),
            }
        })
    }

    /// The same with some covariates held at values, by name.
    pub(crate) fn holding(&self, values: &[(String, f64)]) -> Result<Self> {
        let mut same = self.clone();
        for (name, value) in values {
            let names = || self.parts.iter().map(|part| part.covariate.name.as_str()).collect::<Vec<_>>().join(", ");
            let Some(part) = same.parts.iter_mut().find(|part| part.covariate.name == *name) else {
                return Err(Error::setting("covariate", name, format!("is none of the model, which has {}", names())));
            };
            let is_known = match &part.covariate.kind {
                CovariateKind::Linear | CovariateKind::Spline => value.is_finite(),
                CovariateKind::Categorical { .. } => part.state.levels.iter().any(|level| *level as f64 == *value),
            };
            if !is_known {
                return Err(Error::setting("covariate", name, format!("cannot be {value}: that is no value it has")));
            }
            part.state.held = Some(*value);
        }
        Ok(same)
    }

    /// The number of a level of a covariate that the window has, by name.
    pub(crate) fn level(&self, name: &str, level: &str) -> Option<f64> {
        let part = self.parts.iter().find(|part| part.covariate.name == name)?;
        let CovariateKind::Categorical { levels } = &part.covariate.kind else { return None };
        let number = part.state.levels.iter().find(|number| levels[**number] == level)?;
        Some(*number as f64)
    }

    /// The effects that there are, without their numbers, and what they are made of: dᵀζ.
    pub(crate) fn named(&self) -> Vec<(Effect, Vec<f64>)> {
        let (mut all, mut from) = (Vec::new(), 0);
        for part in &self.parts {
            for (effect, own) in part.named() {
                let mut direction = vec![0.0; self.len()];
                direction[from..from + own.len()].copy_from_slice(&own);
                all.push((effect, direction));
            }
            from += part.len();
        }
        all
    }

    /// The names of the covariates.
    pub(crate) fn names(&self) -> Vec<String> {
        self.parts.iter().map(|part| part.covariate.name.clone()).collect()
    }

    fn check_size(&self) -> Result<()> {
        let dims = self.parts.iter().flat_map(|part| &part.covariate.axes).max().map_or(0, |axis| axis + 1);
        let cells: f64 = (0..dims).map(|r| (self.lines(r).len().max(2) - 1) as f64).product();
        if cells <= MOST_CELLS {
            return Ok(());
        }
        let requirement = format!(
            "has too fine a raster: {cells:.0} cells, all rasters laid over each other, and {MOST_CELLS} can be used; give means over larger cells"
        );
        Err(Error::setting("covariate", self.names().join(", "), requirement))
    }

    /// The values that occur together in a window in unit coordinates, with their shares of it, which add up to 1.
    fn shares(&self, window: &Window) -> Vec<(Vec<f64>, f64)> {
        let mut places: HashMap<Vec<u64>, usize> = HashMap::new();
        let mut shares: Vec<(Vec<f64>, f64)> = Vec::new();
        self.for_each(window, |point, weight| {
            let values = self.values(point);
            let place = *places.entry(values.iter().map(|v| v.to_bits()).collect()).or_insert_with(|| {
                shares.push((values, 0.0));
                shares.len() - 1
            });
            shares[place].1 += weight;
        });
        let total: f64 = shares.iter().map(|(_, share)| share).sum();
        shares.iter_mut().for_each(|(_, share)| *share /= total);
        shares
    }

    /// Quadrature over a window in unit coordinates between the lines of the rasters.
    fn for_each(&self, window: &Window, mut visit: impl FnMut(&[f64], f64)) {
        let lines: Vec<Vec<f64>> = (0..window.dims()).map(|r| self.lines(r)).collect();
        let rules: Vec<_> = lines.iter().map(|kinks| AxisRule { length: f64::INFINITY, kinks }).collect();
        window.nodes(&rules).iter().for_each(|piece| piece.for_each(&mut visit));
    }

    /// Refuses a covariate that is not known in cells which the window meets, with their number.
    fn refuse_missing(&self, window: &Window) -> Result<()> {
        for part in self.parts.iter().filter(|part| part.covariate.values.iter().any(|value| value.is_nan())) {
            let covariate = &part.covariate;
            let mut met = vec![0.0; covariate.values.len()];
            self.for_each(window, |point, weight| {
                covariate.cell(point).into_iter().for_each(|cell| met[cell] += weight);
            });
            // An outline weighs nodes by polynomials, whose sums may miss 0 by rounding.
            let least = 1e-12 * met.iter().sum::<f64>();
            let all = met.iter().filter(|weight| **weight > least).count();
            let missing =
                met.iter().zip(&covariate.values).filter(|(weight, value)| **weight > least && value.is_nan()).count();
            if missing > 0 {
                let requirement = format!(
                    "is missing in {missing} of the {all} cells that the window meets; fill them, or leave them out of the window"
                );
                return Err(Error::setting("covariate", &covariate.name, requirement));
            }
        }
        Ok(())
    }

    /// Refuses a covariate that the others explain wholly, and says which.
    fn refuse_collinear(&self, shares: &[(Vec<f64>, f64)]) -> Result<()> {
        let (mut names, mut main, mut from) = (Vec::new(), Vec::new(), 0);
        for part in &self.parts {
            main.extend(from..from + part.main());
            names.extend(vec![part.covariate.name.clone(); part.main()]);
            from += part.len();
        }
        let count = main.len();
        let mut mean = vec![0.0; count];
        let mut second = Matrix::zeros(count, count);
        for (values, share) in shares.iter().filter(|(values, _)| values.iter().all(|v| !v.is_nan())) {
            let row = self.row(values);
            let row: Vec<f64> = main.iter().map(|k| row[*k]).collect();
            for k in 0..count {
                mean[k] += share * row[k];
                (0..count).for_each(|l| second[(k, l)] += share * row[k] * row[l]);
            }
        }
        let covariance = Matrix::from_fn(count, count, |k, l| second[(k, l)] - mean[k] * mean[l]);
        // Cholesky by hand: a pivot is what the regressors before leave of a variance.
        let mut root = Matrix::zeros(count, count);
        for k in 0..count {
            for l in 0..k {
                let known: f64 = (0..l).map(|m| root[(k, m)] * root[(l, m)]).sum();
                root[(k, l)] = (covariance[(k, l)] - known) / root[(l, l)];
            }
            let left = covariance[(k, k)] - (0..k).map(|m| root[(k, m)] * root[(k, m)]).sum::<f64>();
            if left.is_nan() || left <= NOTHING_LEFT * covariance[(k, k)] {
                let before: Vec<&str> =
                    names[..k].iter().map(String::as_str).filter(|name| *name != names[k]).collect();
                let mut before = before;
                before.dedup();
                let requirement = format!(
                    "is the same over the window as a combination of {}: their effects cannot be told apart; leave one out",
                    before.join(", ")
                );
                return Err(Error::setting("covariate", &names[k], requirement));
            }
            root[(k, k)] = left.sqrt();
        }
        Ok(())
    }
}

/// A covariate with what is found about it from its values over the window with their shares.
fn found_over(state: &EffectState, shares: impl Iterator<Item = (f64, f64)>) -> Result<EffectState> {
    let known: Vec<(f64, f64)> = shares.filter(|(value, _)| !value.is_nan()).collect();
    let covariate = state.covariate.clone().filled();
    let constant = |what: &str| {
        let requirement = format!(
            "is {what} all over the window: its effect cannot be told apart from the level of the rate; leave it out"
        );
        Err(Error::setting("covariate", covariate.name(), requirement))
    };
    match &covariate.kind {
        CovariateKind::Linear | CovariateKind::Spline => {
            // From one of them on, so that what a large offset is known to is not lost in sums.
            let origin = known.first().map_or(0.0, |(value, _)| *value);
            let total: f64 = known.iter().map(|(_, share)| share).sum();
            let mean = origin + known.iter().map(|(value, share)| (value - origin) * share).sum::<f64>() / total;
            let variance = known.iter().map(|(value, share)| share * (value - mean).powi(2)).sum::<f64>() / total;
            let largest = known.iter().map(|(value, _)| value.abs()).fold(0.0, f64::max);
            let sd = variance.max(0.0).sqrt();
            let ends = known.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), (value, _)| {
                (low.min(*value), high.max(*value))
            });
            if ends.1 - ends.0 <= VARIES * largest || sd == 0.0 {
                return constant(&mean.to_string());
            }
            let curve = match covariate.kind {
                CovariateKind::Spline => Some(curve_over(covariate.name(), known)?),
                _ => None,
            };
            Ok(EffectState { mean, sd, curve, covariate, ..state.clone() })
        }
        CovariateKind::Categorical { levels } => {
            let mut of_level = vec![0.0; levels.len()];
            known.iter().for_each(|(value, share)| of_level[*value as usize] += share);
            let mut there: Vec<usize> = (0..levels.len()).filter(|&level| of_level[level] > HARDLY_THERE).collect();
            there.sort_by(|a, b| of_level[*b].total_cmp(&of_level[*a]).then(a.cmp(b)));
            if there.len() < 2 {
                return constant(there.first().map_or("nothing", |level| &levels[*level]));
            }
            Ok(EffectState { levels: there, covariate, ..state.clone() })
        }
    }
}

/// A curve of values over the window with their shares.
fn curve_over(name: &str, mut known: Vec<(f64, f64)>) -> Result<CurveState> {
    known.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut distinct: Vec<f64> = known.iter().map(|(value, _)| *value).collect();
    distinct.dedup();
    if distinct.len() < KNOTS {
        let requirement = format!(
            "has {} different values over the window, too few for a curve of {KNOTS} knots; take them as levels, or in proportion",
            distinct.len()
        );
        return Err(Error::setting("covariate", name, requirement));
    }
    let ends = [distinct[0], distinct[distinct.len() - 1]];
    let place = |part: f64| {
        let mut sum = 0.0;
        let reached = known.iter().find(|(_, share)| {
            sum += share;
            sum >= part
        });
        rounded(reached.map_or(ends[1], |(value, _)| *value), ends[1] - ends[0])
    };
    let mut places: Vec<f64> = PLACES.map(place).to_vec();
    places.dedup();
    Ok(CurveState { ends, tau: Curve::new(ends).tau(&known), places })
}

/// A value to about a thousandth of a range.
fn rounded(value: f64, range: f64) -> f64 {
    let digits = 10f64.powf(range.log10().floor() - 2.0);
    let near = (value / digits).round() * digits;
    // As people write it.
    format!("{near:.*}", (-digits.log10().round()).max(0.0) as usize).parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn square() -> Window {
        Window::new(&[(0.0, 2.0), (0.0, 1.0)]).unwrap()
    }

    fn along(name: &str, axis: usize, lines: &[f64], values: &[f64]) -> Covariate {
        Covariate::linear(name, vec![axis], vec![lines.to_vec()], values.to_vec()).unwrap()
    }

    fn refusal(window: &Window, covariates: &[Covariate]) -> String {
        Regressors::over(window, covariates).unwrap_err().to_string()
    }

    #[test]
    fn numbers_are_counted_from_their_mean_over_the_window() {
        // Half of the window has 1, a quarter 2 and a quarter 6; what lies beyond does not count.
        let raster = along("z", 0, &[-1.0, 1.0, 1.5, 2.0, 9.0], &[1.0, 2.0, 6.0, 100.0]);
        let found = Regressors::over(&square(), &[raster]).unwrap();
        let EffectState { mean, sd, .. } = &found.states()[0];
        assert!((mean - 2.5).abs() < 1e-12 && (sd - (0.5 * 2.25 + 0.25 * 0.25 + 0.25 * 12.25f64).sqrt()).abs() < 1e-12);
        let at = found.at(&Points::from_rows(&[[0.1, 0.5], [0.9, 0.5]]).unwrap()).unwrap();
        assert!(
            (at[0][0] - EFFECT_SD * (1.0 - mean) / sd).abs() < 1e-12
                && (at[0][1] - EFFECT_SD * (6.0 - mean) / sd).abs() < 1e-12
        );
    }

    #[test]
    fn levels_are_compared_with_the_most_common_one_and_those_outside_do_not_count() {
        let levels = ["sea", "wood", "field"].map(String::from).to_vec();
        let cover = Covariate::categorical(
            "cover",
            vec![0],
            vec![vec![0.0, 0.5, 2.0, 3.0]],
            levels,
            &[Some(2), Some(1), Some(0)],
        );
        let found = Regressors::over(&square(), &[cover.unwrap()]).unwrap();
        assert_eq!((found.states()[0].levels.clone(), found.len()), (vec![1, 2], 1));
        let (effect, direction) = &found.named()[0];
        assert_eq!((effect.level.clone(), &direction[..]), (Some(("field".into(), "wood".into())), &[EFFECT_SD][..]));
        assert_eq!(found.row(&[2.0]), [EFFECT_SD]);
        assert_eq!((found.level("cover", "wood"), found.level("cover", "sea")), (Some(1.0), None));
    }

    #[test]
    fn a_curve_has_a_line_and_deviations_and_is_told_beside_its_mean() {
        let lines: Vec<f64> = (0..=40).map(|i| f64::from(i) / 20.0).collect();
        let values: Vec<f64> = (0..40).map(|i| f64::from(i * i) / 7.0).collect();
        let curve = Covariate::spline("z", vec![0], vec![lines], values).unwrap();
        let found = Regressors::over(&square(), &[along("a", 1, &[0.0, 0.2, 1.0], &[1.0, 2.0]), curve]).unwrap();
        assert_eq!(found.len(), 1 + 1 + KNOTS - 2);
        let states = found.states();
        let CurveState { ends, places, .. } = states[1].curve.as_ref().unwrap();
        assert!(*ends == [0.0, 1521.0 / 7.0] && places.len() == 5 && places.windows(2).all(|pair| pair[0] < pair[1]));
        let named = found.named();
        assert_eq!(
            named.iter().map(|(effect, _)| effect.name.as_str()).collect::<Vec<_>>(),
            ["a", "z", "z", "z", "z", "z"]
        );
        let (at, middle) = (found.row(&[1.0, places[4]]), found.row(&[1.0, states[1].mean]));
        assert!(
            named[5].1[1..].iter().zip(at[1..].iter().zip(&middle[1..])).all(|(d, (a, m))| (d - (a - m)).abs() < 1e-12)
        );
        let again = Regressors::of_states(&square(), states.clone()).unwrap();
        assert_eq!(again, found);
        let mut damaged = states;
        damaged[1].curve = None;
        assert!(Regressors::of_states(&square(), damaged).is_err());
        let coarse = Covariate::spline("z", vec![0], vec![vec![0.0, 1.0, 2.0]], vec![1.0, 2.0]).unwrap();
        assert!(refusal(&square(), &[coarse]).contains("has 2 different values"));
        assert_eq!((rounded(123.456, 80.0), rounded(0.012345, 0.05), rounded(-7.0, 20.0)), (123.5, 0.0123, -7.0));
    }

    /// What counts is how far values are from each other, not from 0.
    #[test]
    fn numbers_about_a_large_one_vary_and_rounding_does_not() {
        let (lines, window) = ([0.0, 0.5, 1.0, 2.0], square());
        let far = |values: [f64; 3]| along("z", 0, &lines, &values.map(|value| 1e15 + value));
        let (near, plain) = (far([0.0, 2.0, 8.0]), along("z", 0, &lines, &[0.0, 2.0, 8.0]));
        let [found, want] =
            [near, plain].map(|raster| Regressors::over(&window, &[raster]).unwrap().states().remove(0));
        assert!((found.sd / want.sd - 1.0).abs() < 0.02 && (found.mean - 1e15 - want.mean).abs() < 0.2);
        let rounded = along("z", 0, &lines, &[0.1 + 0.2, 0.3, 0.3]);
        assert!(refusal(&window, &[rounded]).contains("all over the window"));
    }

    #[test]
    fn what_says_nothing_or_is_not_there_is_refused_with_a_count() {
        let (lines, window) = ([0.0, 0.5, 1.0, 2.0], square());
        assert!(refusal(&window, &[along("z", 0, &lines, &[3.0; 3])]).contains("is 3 all over the window"));
        let short = refusal(&window, &[along("z", 0, &[0.0, 0.5, 1.0], &[1.0, 2.0])]);
        assert!(short.contains("from 0 to 1 on axis 0, and must cover 0 to 2"), "{short}");
        let missing = refusal(&window, &[along("z", 0, &lines, &[1.0, f64::NAN, 2.0])]);
        assert!(missing.contains("missing in 1 of the 3 cells"), "{missing}");
        // Of no account outside the window.
        assert!(Regressors::over(&window, &[along("z", 0, &[0.0, 0.5, 2.0, 5.0], &[1.0, 2.0, f64::NAN])]).is_ok());
        let (a, b) = (along("a", 0, &lines, &[1.0, 2.0, 5.0]), along("b", 1, &[0.0, 0.2, 1.0], &[1.0, 2.0]));
        let twice = along("c", 0, &lines, &[12.0, 14.0, 20.0]);
        let collinear = refusal(&window, &[a.clone(), b.clone(), twice]);
        assert!(collinear.contains("covariate = c: ") && collinear.contains("combination of a, b"), "{collinear}");
        assert!(refusal(&window, &[a.clone(), a.clone()]).contains("given twice"));
        let both = Regressors::over(&window, &[a, b]).unwrap();
        let beyond = both.at(&Points::from_rows(&[[0.5, 0.5], [1.2, 0.5]]).unwrap()).unwrap_err().to_string();
        assert!(beyond.contains("not known at 1 of 2 places"), "{beyond}");
        assert!(both.holding(&[("a".into(), 1.0)]).unwrap().at(&Points::from_rows(&[[1.2, 0.5]]).unwrap()).is_ok());
        assert!(both.holding(&[("q".into(), 1.0)]).unwrap_err().to_string().contains("which has a, b"));
    }
}
