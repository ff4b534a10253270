//! Events and real numbers that were measured at places, fitted together: λ = exp(β + g), y = a + b g + h + noise (docs/observations.md).
//!
//! Three ways in which the two may belong together are fitted and averaged over by their evidence: what is measured follows the rate and nothing else
//! (h = 0), it follows the rate and has a field of its own, and it has a field of its own alone (b = 0). Values are counted in units of
//! twice their standard deviation, so that the priors of b, h and the noise mean the same whatever was measured.

use super::course::Courses;
use super::layered::{FieldReport, JointReport, MemberOfGroup, Things, UNHEARD, looked_at, moments};
use super::on_lattice::types::{FoundTypes, Measured, OnLayers, Seen, Structure, TypesWanted, learn_types};
use super::profile::{Profile, Tabulated};
use super::tally::Tally;
use super::{Asked, FitStage, FitWatch, Model, Progress, Stop, Tried};
use crate::data::events::Events;
use crate::data::points::Points;
use crate::error::{Error, Result};
use crate::posterior::{Goodness, LayersField, MeasuredPosterior, MeasuredState, Posterior, PosteriorBasis};
use crate::terms::Link;
use crate::window::Scaling;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant;

/// Fewest values of which something can be learned.
const FEWEST: usize = 5;
/// Values are counted in so many of their standard deviations.
const UNIT: f64 = 2.0;
/// What is said of measurements that are refused.
const IN_WORDS: Things = Things {
    setting: "value",
    name: "measurements",
    of_link: "which are compared with the logarithm of the rate",
    told_apart: "link and own field are",
};
/// What b is called among hyper-parameters.
const SLOPE: &str = "slope";
/// The probability of each way before anything is seen: linked or not are alike.
const BEFORE: [f64; 3] = [0.25, 0.25, 0.5];

/// Real numbers that were measured at places.
///
/// ```
/// use pointillist::Points;
/// use pointillist::measurements::Measurements;
///
/// let places = Points::line(&[0.5, 1.0, 2.5, 4.0, 4.5])?;
/// assert!(Measurements::new("ph", places.clone(), vec![6.1, 6.4, 5.9, 5.5, 5.4]).is_ok());
/// assert!(Measurements::new("ph", places, vec![6.0; 5]).is_err()); // the same everywhere
/// # Ok::<(), pointillist::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Measurements {
    name: String,
    places: Points,
    values: Vec<f64>,
}

impl Measurements {
    /// What was measured, where, and its values.
    pub fn new(name: impl Into<String>, places: Points, values: Vec<f64>) -> Result<Self> {
        let name = name.into();
        let refuse = |requirement: String| Err(Error::setting("value", &name, requirement));
        if values.len() != places.len() {
            return refuse(format!("has {} values at {} places; give one for each", values.len(), places.len()));
        }
        if let Some(row) = values.iter().position(|value| !value.is_finite()) {
            return refuse(format!("is {} in row {}; give a finite number or leave the row out", values[row], row + 1));
        }
        if values.len() < FEWEST {
            let count = values.len();
            return refuse(format!("has {count} values, of which nothing can be learned; give at least {FEWEST}"));
        }
        if values.iter().all(|value| *value == values[0]) {
            return refuse(format!("is {} at all places, which tells nothing; leave it out", values[0]));
        }
        Ok(Self { name, places, values })
    }

    /// What was measured.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where.
    pub fn places(&self) -> &Points {
        &self.places
    }

    /// The values.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// Their mean, and the unit in which the fit counts them.
    fn unit(&self) -> (f64, f64) {
        let count = self.values.len() as f64;
        let mean = self.values.iter().sum::<f64>() / count;
        let variance = self.values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count;
        (mean, UNIT * variance.sqrt())
    }
}

/// A posterior of events and measurements with the story of its making.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct MeasuredFit {
    /// The posterior.
    pub posterior: MeasuredPosterior,
    /// How it came about.
    pub report: MeasuredReport,
}

/// What a fit of events and measurements did.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct MeasuredReport {
    /// Each way in which values may belong to the rate: `linked`, `linked and own`, `apart`; before the data are seen linked or not are alike. Their fields: `rate`,
    /// and `own` of what is measured, whose standard deviation is in its unit. And how the fit went.
    pub joint: JointReport,
    /// By how much the log evidence is higher with the link than without.
    pub link: f64,
    /// What is known of b, given that there is a link.
    pub slope: Slope,
    /// Posterior mean and standard deviation of the standard deviation of noise.
    pub noise: (f64, f64),
    /// The expected number of events over the window.
    pub expected: f64,
    /// Whether the events look like events of the rate, where that could be looked at.
    pub goodness: Option<Goodness>,
    /// Whatever the user should know, in sentences.
    pub warnings: Vec<String>,
}

/// b of y = a + b log λ + …: by how much a value is higher where the rate is e times as high.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Slope {
    /// Posterior mean.
    pub mean: f64,
    /// Posterior standard deviation.
    pub sd: f64,
    /// 5 %, 50 % and 95 % quantiles.
    pub quantiles: [f64; 3],
    /// The probability that it is above 0.
    pub positive: f64,
}

impl Model {
    /// Fits events and real numbers that were measured at places together: λ = exp(β + g), y = a + b g + a field of its own + noise. Where values are
    /// measured at the events themselves, b says whether places are chosen by what is found there. On a lattice with the log link. Covariates have effects on the
    /// rate, and effects of their own on the values; g is then what the rate has beyond them.
    ///
    /// ```
    /// use pointillist::measurements::Measurements;
    /// use pointillist::{Events, LatticeChoice, Model, Points, Window};
    ///
    /// let times = Points::line(&[0.4, 0.9, 1.1, 1.3, 1.6, 2.2, 5.0, 8.1])?;
    /// let events = Events::new(times.clone(), Window::interval(0.0, 10.0)?)?;
    /// let values = Measurements::new("level", times, vec![2.0, 2.9, 3.1, 3.0, 2.7, 2.1, 1.2, 0.9])?;
    /// let coarse = LatticeChoice { nodes: Some(vec![20]), ..LatticeChoice::default() };
    /// let fit = Model { family: coarse.into(), ..Model::default() }.fit_measured(&events, &values)?;
    /// assert!(fit.report.slope.mean > 0.0); // more events where values are high
    /// let at = fit.posterior.values(&Points::line(&[1.2, 9.0])?, &[0.05, 0.95])?;
    /// assert!(at.mean[0] > at.mean[1] && at.quantiles[0][0] < at.mean[0]);
    /// # Ok::<(), pointillist::Error>(())
    /// ```
    pub fn fit_measured(&self, events: &Events, measurements: &Measurements) -> Result<MeasuredFit> {
        self.fit_measured_watched(events, measurements, &mut |_| ControlFlow::Continue(()))
    }

    /// The same, calling `watch` as [`Model::fit_watched`] does.
    pub fn fit_measured_watched<'a>(
        &self,
        events: &Events,
        measurements: &Measurements,
        watch: &'a mut FitWatch<'a>,
    ) -> Result<MeasuredFit> {
        Asked::from(self).fit_measured(events, measurements, watch)
    }
}

/// The ways in which values may belong to the rate.
fn families() -> [(&'static str, Structure); 3] {
    let structure = |groups: &[&str], of_values: Vec<f64>, is_linked: bool| {
        let of_events = (0..groups.len()).map(|l| f64::from(u8::from(l == 0))).collect();
        Structure {
            groups: groups.iter().map(|name| ((*name).to_string(), 1)).collect(),
            loads: vec![of_events, of_values],
            learned: if is_linked { vec![(1, 0, SLOPE.into())] } else { vec![] },
            unit: false,
            // Over the load of the events, which is 1: the slope itself.
            first: vec![0; groups.len()],
        }
    };
    [
        ("linked", structure(&["rate"], vec![0.0], true)),
        ("linked and own", structure(&["rate", "own"], vec![0.0, 1.0], true)),
        ("apart", structure(&["rate", "own"], vec![0.0, 1.0], false)),
    ]
}

/// A member of any way with the logarithm of its weight.
struct Weighed {
    log_weight: f64,
    part: Posterior,
    noise: f64,
    fields: Vec<(String, Vec<f64>, f64)>,
}

impl Asked {
    fn fit_measured(
        &self,
        events: &Events,
        measurements: &Measurements,
        watch: &mut FitWatch<'_>,
    ) -> Result<MeasuredFit> {
        let started = Instant::now();
        self.check_measured(events, measurements)?;
        let window = events.window();
        let scaling = Scaling::of(window);
        let inner = window.scaled(&scaling);
        let seen = [Seen { window: inner.clone(), events: scaling.points_inward(events.points()) }];
        let (level, unit) = measurements.unit();
        let measured = Measured {
            places: scaling.points_inward(&measurements.places),
            values: measurements.values.iter().map(|value| (value - level) / unit).collect(),
        };
        let log_units = scaling.log_units(window, events.points()) + measurements.values.len() as f64 * unit.ln();
        let wanted = TypesWanted { regressors: self.regressors_over(window)?, ..self.wanted_of_layers() };
        let courses = Courses::new(vec![1.0, 4.0, 4.0], 0.0);
        let (mut tried, mut found, mut evaluations) = (vec![], vec![], 0);
        for (place, (name, structure)) in families().into_iter().enumerate() {
            let mut tell = |progress: &Progress| watch(&courses.whole(place, progress));
            let tally = Tally::new(&mut tell, self.most_evaluations, log_units);
            let kind = OnLayers::new((&seen, Some(&measured)), structure, &wanted, &scaling, &inner);
            let outcome = learn_types(kind, &wanted, &tally);
            evaluations += tally.steps();
            courses.ended(place);
            if matches!(outcome, Err(Error::Cancelled)) {
                return Err(Error::Cancelled);
            }
            let said = outcome.as_ref().map(|found| found.log_evidence - log_units).map_err(Error::to_string);
            tried.push(Tried { name: name.into(), outcome: said, ended_early: None });
            found.push(outcome);
        }
        let evidence: Vec<f64> =
            found.iter().map(|one| one.as_ref().map_or(f64::NEG_INFINITY, |f| f.log_evidence)).collect();
        let weights = weights(&evidence);
        let link = log_mean(&evidence[..2]) - evidence[2];
        let stop = stop(&found, &weights);
        let best = found.iter().flatten().max_by(|a, b| a.log_evidence.total_cmp(&b.log_evidence));
        let gains = best.map_or(Ok(vec![]), |best| {
            let mut tell = |progress: &Progress| watch(&Progress { stage: FitStage::Check, part: 1.0, ..*progress });
            let tally = Tally::new(&mut tell, self.most_evaluations, log_units);
            self.gains_of_layers((window, &wanted), best.log_evidence, |wanted| {
                let data = (&seen[..], Some(&measured));
                let kind = OnLayers::new(data, best.structure.clone(), wanted, &scaling, &inner);
                Ok(learn_types(kind, wanted, &tally)?.log_evidence)
            })
        })?;
        let slope = slope(&found, &weights, unit)?;
        let (mut members, mut first_error) = (vec![], None);
        for (outcome, weight) in found.into_iter().zip(&weights) {
            match outcome {
                Ok(found) => members.extend(weighed(found, weight.ln(), |basis| {
                    Posterior::new(window.clone(), scaling.clone(), Link::Log, basis)
                })),
                Err(error) => first_error = first_error.or(Some(error)),
            }
        }
        if !self.average {
            let best = members.iter().map(|member| member.log_weight).fold(f64::NEG_INFINITY, f64::max);
            members.retain(|member| member.log_weight == best);
        }
        let members = heard(members);
        if members.is_empty() {
            return Err(first_error.unwrap_or(Error::NoEvents));
        }
        let (noise, fields) = (noise(&members, unit), fields(&members, &scaling, unit));
        let noises = members.iter().map(|member| unit * member.noise.sqrt()).collect();
        let joint = Posterior::average(members.into_iter().map(|member| (member.log_weight, member.part)).collect())?;
        let state = MeasuredState { name: measurements.name.clone(), level, unit, noise: noises };
        let posterior = MeasuredPosterior::new(joint, state)?;
        let expected = posterior.rate().expected(window)?;
        let mut warnings = vec![];
        let goodness = if self.checked { looked_at(posterior.rate(), events, &mut warnings)? } else { None };
        let mut joint =
            JointReport { tried, weights, fields, stop, gains, ..JointReport::new(wanted.smoothness, evaluations) };
        joint.ended(posterior.rate(), started);
        let report = MeasuredReport { joint, link, slope, noise, expected, goodness, warnings };
        Ok(MeasuredFit { posterior, report })
    }

    /// Refuses what is not known of measurements.
    fn check_measured(&self, events: &Events, measurements: &Measurements) -> Result<()> {
        let window = events.window();
        if measurements.places.dims() != window.dims() {
            let found = measurements.places.dims();
            return Err(Error::Dimension { what: "places of measurement", expected: window.dims(), found });
        }
        if events.is_empty() {
            return Err(Error::NoEvents);
        }
        let spans = window.bounding_box();
        let is_outside = |row: &&[f64]| row.iter().zip(&spans).any(|(x, span)| *x < span.lo || *x > span.hi);
        let outside = measurements.places.rows().filter(is_outside).count();
        if outside > 0 {
            let total = measurements.places.len();
            let requirement = format!(
                "was measured at {total} places, of which {outside} lie outside the box around the window; leave them out or widen the window"
            );
            return Err(Error::setting("value", &measurements.name, requirement));
        }
        self.check_layers(&IN_WORDS, (window.dims(), 2))
    }
}

/// log of the mean of exponentials.
fn log_mean(logs: &[f64]) -> f64 {
    let top = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    top + (logs.iter().map(|log| (log - top).exp()).sum::<f64>() / logs.len() as f64).ln()
}

/// The probability of each way.
fn weights(evidence: &[f64]) -> Vec<f64> {
    let top = evidence.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let each: Vec<f64> = evidence.iter().zip(BEFORE).map(|(log, before)| before * (log - top).exp()).collect();
    let total: f64 = each.iter().sum();
    each.iter().map(|weight| weight / total).collect()
}

fn stop(found: &[Result<FoundTypes>], weights: &[f64]) -> Stop {
    let is_short = |(one, weight): (&Result<FoundTypes>, &f64)| {
        *weight > UNHEARD && one.as_ref().is_ok_and(|found| !found.converged)
    };
    if found.iter().zip(weights).any(is_short) { Stop::Evaluations } else { Stop::Converged }
}

/// b of the ways that have one, in the unit of what was measured.
fn slope(found: &[Result<FoundTypes>], weights: &[f64], unit: f64) -> Result<Slope> {
    let profile = |(one, weight): (&'_ Result<FoundTypes>, &f64)| -> Option<(f64, Profile)> {
        let found = one.as_ref().ok()?;
        Some((*weight, found.learned.first()?.clone()?))
    };
    let parts: Vec<(f64, Profile)> = found.iter().zip(weights).filter_map(profile).collect();
    // Where the data are all against a link its ways still have shares of what is left.
    let total: f64 = parts.iter().map(|(weight, _)| weight).sum();
    let share = |weight: f64| if total > f64::MIN_POSITIVE { weight / total } else { 1.0 };
    let parts: Vec<(f64, &Profile)> = parts.iter().map(|(weight, profile)| (share(*weight), profile)).collect();
    let Some(table) = Tabulated::mixed(&parts) else { return Err(Error::NotANumber { parameters: vec![] }) };
    let (mean, sd) = table.moments();
    let quantiles = [0.05, 0.5, 0.95].map(|p| unit * table.quantile(p));
    Ok(Slope { mean: unit * mean, sd: unit * sd, quantiles, positive: table.positive() })
}

/// The members of one way, whose weights add up to that of the way.
fn weighed(found: FoundTypes, log_weight: f64, posterior: impl Fn(PosteriorBasis) -> Posterior) -> Vec<Weighed> {
    let top = found.members.iter().map(|(log, _)| *log).fold(f64::NEG_INFINITY, f64::max);
    let total = found.members.iter().map(|(log, _)| (log - top).exp()).sum::<f64>().ln();
    let (layers, structure) = (Arc::new(found.layers), found.structure);
    let member = |(log, member): (f64, super::on_lattice::types::TypesMember)| {
        let fields =
            member.groups(&structure).map(|(name, ranges, v)| (name.into(), ranges.to_vec(), v.sqrt())).collect();
        let noise = member.noise();
        let field = LayersField::new(layers.clone(), member.layers, member.mean, member.said, member.spread);
        let part = posterior(PosteriorBasis::Layers(field));
        Weighed { log_weight: log_weight + log - top - total, part, noise, fields }
    };
    found.members.into_iter().map(member).collect()
}

/// Those that count, the heaviest first.
fn heard(mut members: Vec<Weighed>) -> Vec<Weighed> {
    members.sort_by(|a, b| b.log_weight.total_cmp(&a.log_weight));
    let least = members.first().map_or(0.0, |member| member.log_weight) + UNHEARD.ln();
    members.retain(|member| member.log_weight >= least);
    members
}

fn noise(members: &[Weighed], unit: f64) -> (f64, f64) {
    moments(members.iter().map(|member| (member.log_weight.exp(), unit * member.noise.sqrt())))
}

/// What is known of each field, over the members that have it.
fn fields(members: &[Weighed], scaling: &Scaling, unit: f64) -> Vec<FieldReport> {
    let report = |name: &str| {
        let own = |member: &Weighed| -> Vec<MemberOfGroup> {
            let of_name = member.fields.iter().filter(|(of, ..)| of == name);
            of_name.map(|(_, ranges, sd)| (member.log_weight.exp(), ranges.clone(), *sd)).collect()
        };
        let own: Vec<MemberOfGroup> = members.iter().flat_map(own).collect();
        let unit = if name == "own" { unit } else { 1.0 };
        (!own.is_empty()).then(|| FieldReport::of(name.into(), &own, (scaling, unit)))
    };
    ["rate", "own"].into_iter().filter_map(report).collect()
}

#[cfg(test)]
mod tests {
    use crate::data::points::Points;
    use crate::field::lattice::{Smoothness, Theta, from_above};
    use crate::field::layers::{Layers, LayersTheta, Observed, Set, one_of};
    use crate::gaussian::Sites;
    use crate::gaussian::step::{Clamp, Until};
    use crate::numerics::linalg::{self, Matrix};
    use crate::window::Window;
    use std::f64::consts::TAU;

    /// Σ over rows of a potential's slope and curvature at a Gaussian q.
    struct Dense {
        rows: Vec<Vec<f64>>,
        /// 1 for an event, else minus the weight of a node.
        weights: Vec<f64>,
        measured: Vec<Vec<f64>>,
        values: Vec<f64>,
        noise: f64,
        precision: Matrix,
        prior_mean: Vec<f64>,
    }

    impl Dense {
        fn of(rows: &crate::field::lattice::Hats, size: usize, types: usize) -> Vec<Vec<f64>> {
            let row = |k: usize| {
                let mut row = vec![0.0; size];
                rows.pairs(k).for_each(|(i, value)| row[i] += value);
                (0..types).for_each(|c| row[size - types + c] = rows.dense[c][k]);
                row
            };
            (0..rows.len()).map(row).collect()
        }

        /// Newton steps over the mean and the covariance in turn, all dense; then the bound, term by term.
        fn maximised(&self) -> (Vec<f64>, f64) {
            let n = self.prior_mean.len();
            let (mut mean, mut covariance) = (self.prior_mean.clone(), Matrix::scaled_identity(n, 1e-3));
            let mut root = Matrix::zeros(n, n);
            let moments = |row: &Vec<f64>, mean: &[f64], s: &Matrix| {
                (linalg::dot(row, mean), linalg::dot(row, &linalg::times(s, row)))
            };
            for step in 0..400 {
                let moved: Vec<f64> = mean.iter().zip(&self.prior_mean).map(|(m, b)| m - b).collect();
                let mut slope: Vec<f64> = linalg::times(&self.precision, &moved).iter().map(|g| -g).collect();
                let mut p = self.precision.clone();
                let mut add = |row: &Vec<f64>, by: f64, curvature: f64, slope: &mut Vec<f64>| {
                    linalg::add_scaled(slope, by, row);
                    for j in 0..n {
                        for i in 0..n {
                            p[(i, j)] += curvature * row[i] * row[j];
                        }
                    }
                };
                for (row, weight) in self.rows.iter().zip(&self.weights) {
                    let (m, v) = moments(row, &mean, &covariance);
                    let rate = if *weight < 0.0 { -weight * (m + 0.5 * v).exp() } else { 0.0 };
                    add(row, if *weight < 0.0 { -rate } else { *weight }, rate, &mut slope);
                }
                for (row, y) in self.measured.iter().zip(&self.values) {
                    let f = linalg::dot(row, &mean);
                    add(row, (y - f) / self.noise, 1.0 / self.noise, &mut slope);
                }
                linalg::cholesky(&mut p).unwrap();
                covariance = linalg::inverse_from_cholesky(&p);
                root = p;
                let part = if step < 60 { 0.3 } else { 1.0 };
                linalg::add_scaled(&mut mean, part, &linalg::times(&covariance, &slope));
            }
            let mut bound = 0.0;
            for (row, weight) in self.rows.iter().zip(&self.weights) {
                let (m, v) = moments(row, &mean, &covariance);
                bound += if *weight < 0.0 { weight * (m + 0.5 * v).exp() } else { weight * m };
            }
            for (row, y) in self.measured.iter().zip(&self.values) {
                let (m, v) = moments(row, &mean, &covariance);
                bound -= 0.5 * (((y - m).powi(2) + v) / self.noise + (TAU * self.noise).ln());
            }
            let mut prior = self.precision.clone();
            linalg::cholesky(&mut prior).unwrap();
            let moved: Vec<f64> = mean.iter().zip(&self.prior_mean).map(|(m, b)| m - b).collect();
            let trace: f64 =
                (0..n).map(|i| (0..n).map(|j| self.precision[(i, j)] * covariance[(j, i)]).sum::<f64>()).sum();
            let off = linalg::dot(&moved, &linalg::times(&self.precision, &moved));
            let logs = linalg::log_determinant(&root) - linalg::log_determinant(&prior);
            (mean, bound - 0.5 * (trace + off - n as f64 + logs))
        }
    }

    /// Events and values that follow the same field with a slope, beside dense matrices: the mean of q and the bound.
    #[test]
    fn events_and_values_together_have_the_bound_of_dense_matrices() {
        let window = Window::interval(0.0, 1.0).unwrap();
        let layers = Layers::new(&window, (&[7], &[0.1]), Smoothness::Two, 2, vec![2.0, 0.3]).unwrap();
        let (places, nodes) = from_above(layers.grid(), &window).unwrap();
        let hats = |points: &Points| layers.grid().at(points).unwrap();
        let line = |x: &[f64]| Points::line(x).unwrap();
        let events = line(&[0.1, 0.15, 0.2, 0.22, 0.5, 0.9]);
        let sets = [
            Set { kind: 0, hats: hats(&events), weights: vec![1.0; 6], is_integral: false },
            Set { kind: 0, hats: hats(&places), weights: nodes.clone(), is_integral: true },
        ];
        let values = vec![1.0, 0.8, 0.1, -0.4];
        let observed = Observed { kind: 1, hats: hats(&line(&[0.12, 0.2, 0.6, 0.95])), values: values.clone() };
        let field = |range: f64, variance: f64| Theta::of_ranges(&[range], variance, 0.0);
        let theta =
            LayersTheta { fields: vec![field(0.5, 0.8), field(0.3, 0.2)], loads: vec![vec![1.0, 0.0], vec![0.7, 1.0]] };
        let noise = 0.1;
        let flat = |set: &Set| Sites::flat(set.potential(), 1.7, set.weights.len());
        let sites = sets.iter().map(flat).fold(Sites::none(), Sites::followed_by);
        let until =
            Until { tolerance: 1e-12, most: 300, clamp: Clamp::UntilSettled, foresees: false, pulse: &|| Ok(()) };
        let found = layers.optimum((&sets, Some((&observed, noise))), &theta, sites, until).unwrap();
        let (size, types, prior) = (layers.size(), layers.types(), layers.precision(&theta));
        let inner = layers.coefficients();
        let entry = |i: usize, j: usize| match (i < inner, j < inner) {
            (true, true) => prior.inner.entry(i.max(j), i.min(j)),
            (false, false) => prior.corner[(i - inner, j - inner)],
            _ => 0.0,
        };
        let rows = |hats: &crate::field::lattice::Hats, kind: usize| {
            Dense::of(&layers.taking(hats, &theta, &one_of(kind, types)), size, types)
        };
        let dense = Dense {
            rows: [rows(&sets[0].hats, 0), rows(&sets[1].hats, 0)].concat(),
            weights: vec![1.0; 6].into_iter().chain(nodes.iter().map(|w| -w)).collect(),
            measured: rows(&observed.hats, 1),
            values,
            noise,
            precision: Matrix::from_fn(size, size, entry),
            prior_mean: layers.prior_mean(),
        };
        let (mean, bound) = dense.maximised();
        assert!((found.bound - bound).abs() < 1e-7, "{} {bound}", found.bound);
        let f = |mean: &[f64]| dense.measured.iter().map(|row| linalg::dot(row, mean)).collect::<Vec<f64>>();
        for (a, b) in f(&found.mean).iter().zip(f(&mean)) {
            assert!((a - b).abs() < 1e-5, "{a} {b}");
        }
    }
}
