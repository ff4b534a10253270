//! Events and real numbers that were measured beside them: the rate, and what would be measured at a place.
//!
//! Both are views of the same unknowns (`field/layers/`): the first type is the events, the second what was measured, whose f is the value itself. Under each
//! component a value is normal, so that means add and quantiles invert a mixture.

use super::component::BLOCK;
use super::effects::quantile;
use super::predict::check_probabilities;
use super::{Component, Field, Posterior, PosteriorBasis};
use crate::covariates::Effect;
use crate::data::points::Points;
use crate::error::{Error, Result};
use crate::field::layers::one_of;
use crate::numerics::special::normal_cdf;
use crate::parallel;
use crate::sample::gaussian;
use crate::watch::{PartWatch, Work, unwatched};

/// What is looked at: events, and what was measured.
const VIEWS: usize = 2;

/// What is known of events and of measurements beside them; [`crate::Model::fit_measured`] has an example.
#[derive(Debug, Clone)]
pub struct MeasuredPosterior {
    joint: Posterior,
    state: MeasuredState,
}

/// All numbers of it beyond those of the posterior of the rate.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct MeasuredState {
    /// What was measured.
    pub name: String,
    /// A value is this, …
    pub level: f64,
    /// … and so many times what the second view of the posterior is.
    pub unit: f64,
    /// The standard deviation of noise under each component, in the unit of the values.
    pub noise: Vec<f64>,
}

/// What would be measured at places.
#[derive(Debug, Clone, PartialEq)]
pub struct ValuesAt {
    /// The posterior mean of what is there.
    pub mean: Vec<f64>,
    /// Its posterior standard deviation.
    pub sd: Vec<f64>,
    /// For each probability that was asked for, one value per place.
    pub quantiles: Vec<Vec<f64>>,
    /// The same of a new measurement there, which has noise.
    pub new_quantiles: Vec<Vec<f64>>,
}

impl MeasuredPosterior {
    /// Of a posterior with two views, and a noise for each of its components.
    pub fn new(joint: Posterior, state: MeasuredState) -> Result<Self> {
        let knows_both = |component: &Component| match &component.basis {
            PosteriorBasis::Layers(field) => field.types() == VIEWS,
            _ => false,
        };
        let fits = state.noise.len() == joint.components().len()
            && state.noise.iter().all(|noise| noise.is_finite() && *noise >= 0.0)
            && state.level.is_finite()
            && state.unit.is_finite()
            && state.unit > 0.0;
        if !fits || !joint.components().iter().all(knows_both) {
            return Err(Error::setting("measurements", &state.name, "do not fit the posterior"));
        }
        Ok(Self { joint, state })
    }

    /// What was measured.
    pub fn name(&self) -> &str {
        &self.state.name
    }

    /// The posterior of the rate of the events.
    pub fn rate(&self) -> &Posterior {
        &self.joint
    }

    /// Its numbers beyond those of the posterior of the rate, for a file.
    pub fn state(&self) -> &MeasuredState {
        &self.state
    }

    /// The effects of covariates on what was measured, in its unit; those on the rate are [`Posterior::effects`] of [`MeasuredPosterior::rate`].
    pub fn effects(&self) -> Vec<Effect> {
        let mut view = self.joint.clone();
        for component in &mut view.components {
            if let PosteriorBasis::Layers(field) = &component.basis {
                component.basis = PosteriorBasis::Layers(field.taking(&one_of(1, VIEWS), 0.0));
            }
        }
        let unit = self.state.unit;
        let in_unit = |effect: Effect| Effect {
            mean: unit * effect.mean,
            sd: unit * effect.sd,
            quantiles: effect.quantiles.map(|value| unit * value),
            ..effect
        };
        view.effects().into_iter().map(in_unit).collect()
    }

    /// The same with covariates held at values all over the window, as [`Posterior::with_covariates`] has it.
    pub fn with_covariates(&self, values: &[(String, f64)]) -> Result<Self> {
        Ok(Self { joint: self.joint.with_covariates(values)?, state: self.state.clone() })
    }

    /// The probability at each place that what is there is higher than each threshold, and that a new measurement there is.
    pub fn exceedances(&self, points: &Points, thresholds: &[f64]) -> Result<[Vec<Vec<f64>>; 2]> {
        if let Some(threshold) = thresholds.iter().find(|threshold| threshold.is_nan()) {
            return Err(Error::setting("threshold", threshold, "must be a number"));
        }
        self.joint.check_dims(points)?;
        let inner = self.joint.scaling().points_inward(points);
        let mut all = [vec![vec![]; thresholds.len()], vec![vec![]; thresholds.len()]];
        let rows: Vec<&[f64]> = inner.rows().collect();
        for block in rows.chunks(BLOCK) {
            let places = Points::new(inner.dims(), block.concat())?;
            let parts = self.mixtures(&places)?;
            for n in 0..places.len() {
                for (k, threshold) in thresholds.iter().enumerate() {
                    let higher = |noises: &dyn Fn(usize) -> f64| -> f64 {
                        let part = |(i, part): (usize, &Vec<(f64, f64, f64)>)| {
                            let (weight, mean, sd) = part[n];
                            weight * normal_cdf((mean - threshold) / sd.hypot(noises(i)))
                        };
                        parts.iter().enumerate().map(part).sum()
                    };
                    all[0][k].push(higher(&|_| 0.0));
                    all[1][k].push(higher(&|i| self.state.noise[i]));
                }
            }
        }
        Ok(all)
    }

    /// What is at places in the window: mean, standard deviation, and quantiles with and without noise.
    pub fn values(&self, points: &Points, probabilities: &[f64]) -> Result<ValuesAt> {
        self.values_watched(points, probabilities, &unwatched)
    }

    /// The same, telling `watch` which part of it is done.
    pub fn values_watched(&self, points: &Points, probabilities: &[f64], watch: &PartWatch<'_>) -> Result<ValuesAt> {
        check_probabilities(probabilities)?;
        self.joint.check_dims(points)?;
        let (inner, work) = (self.joint.scaling().points_inward(points), Work::new(points.len(), watch));
        let none = || vec![vec![]; probabilities.len()];
        let mut all = ValuesAt { mean: vec![], sd: vec![], quantiles: none(), new_quantiles: none() };
        let rows: Vec<&[f64]> = inner.rows().collect();
        for block in rows.chunks(BLOCK) {
            let places = Points::new(inner.dims(), block.concat())?;
            let parts = self.mixtures(&places)?;
            let of_place = |n: usize| {
                let plain: Vec<(f64, f64, f64)> = parts.iter().map(|part| part[n]).collect();
                let noisy: Vec<(f64, f64, f64)> = plain
                    .iter()
                    .zip(&self.state.noise)
                    .map(|((weight, mean, sd), noise)| (*weight, *mean, sd.hypot(*noise)))
                    .collect();
                let mean: f64 = plain.iter().map(|(weight, mean, _)| weight * mean).sum();
                let square: f64 = plain.iter().map(|(w, m, sd)| w * (sd * sd + (m - mean).powi(2))).sum();
                let of = |mixture: &[(f64, f64, f64)]| -> Vec<f64> {
                    probabilities.iter().map(|p| quantile(mixture, *p)).collect()
                };
                Ok((mean, square.sqrt(), of(&plain), of(&noisy)))
            };
            for (mean, sd, plain, noisy) in parallel::try_each(places.len(), of_place)? {
                all.mean.push(mean);
                all.sd.push(sd);
                all.quantiles.iter_mut().zip(plain).for_each(|(all, q)| all.push(q));
                all.new_quantiles.iter_mut().zip(noisy).for_each(|(all, q)| all.push(q));
            }
            work.advance(places.len())?;
        }
        Ok(all)
    }

    /// A whole new set of events with what is measured at each of them: draw number `draw` of `seed`. Rate and values belong to one draw of the fields. The events
    /// are those of [`Posterior::sample_events`] of the rate.
    pub fn sample_events(&self, seed: u64, draw: u64) -> Result<(Points, Vec<f64>)> {
        let mut drawn = self.joint.drawn(seed, draw)?;
        let points = self.joint.events_of(&mut drawn, (0, draw))?;
        let PosteriorBasis::Layers(field) = &self.joint.components()[drawn.number].basis else {
            return Err(unknown());
        };
        let (view, inner) = (field.taking(&one_of(1, VIEWS), 0.0), self.joint.scaling().points_inward(&points));
        let f = view.at(&inner)?.mean(&drawn.coefficients);
        let errors = gaussian::standard_normal(&mut drawn.rng, points.len());
        let MeasuredState { level, unit, noise, .. } = &self.state;
        let value = |(f, error): (f64, f64)| level + unit * f + noise[drawn.number] * error;
        Ok((points, f.into_iter().zip(errors).map(value).collect()))
    }

    /// Weight, mean and standard deviation at each place, by component.
    fn mixtures(&self, places: &Points) -> Result<Vec<Vec<(f64, f64, f64)>>> {
        let of = |component: &Component| {
            let PosteriorBasis::Layers(field) = &component.basis else {
                return Err(unknown());
            };
            let view = field.taking(&one_of(1, VIEWS), 0.0);
            // Between nodes the variance is that of a field that goes on there; the mean is linear and stays.
            let (mean, variance) = (view.marginals(places)?.mean, view.shown(places)?.variance);
            let MeasuredState { level, unit, .. } = &self.state;
            let value =
                |(mean, variance): (f64, f64)| (component.weight, level + unit * mean, unit * variance.max(0.0).sqrt());
            Ok(mean.into_iter().zip(variance).map(value).collect())
        };
        self.joint.components().iter().map(of).collect()
    }
}

fn unknown() -> Error {
    Error::setting("measurements", 1, "are not known to this posterior")
}
