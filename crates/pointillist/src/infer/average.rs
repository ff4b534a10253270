//! Averaging over how long the length-scales are, which few events do not determine.
//!
//! All length-scales are multiplied by one factor, e^t; for each t of a grid the other hyper-parameters are found anew, and the posterior there
//! counts by exp(bound) times the prior. So the band of the rate holds what is not known of its smoothness, which a single best value leaves
//! out. The answer is a posterior with many components.
//!
//! What it does not do: average over the variance and the mean. Cost: some ten fits.

use super::{Family, Fit, Inducing, InducingPoints, Model, Prior, Stop, shortest_length};
use crate::data::events::Events;
use crate::data::seen::Data;
use crate::error::{Error, Result};
use crate::posterior::Posterior;
use crate::window::Window;

/// What a length-scale is called.
const LENGTHSCALE: &str = "lengthscale";
/// The prior of a length-scale of which nothing is said: its median, in units of the window's side, and the spread of its logarithm.
const MEDIAN: f64 = 0.2;
const SPREAD: f64 = 1.0;
/// From one t to the next.
const STEP: f64 = 0.5;
/// Values of t on either side of the best, unless they count for less than e^−this of it before.
const MOST_STEPS: i32 = 6;
const NEGLIGIBLE: f64 = 5.0;
/// Inducing points of a part: at most so many in all (or as many as the best fit has), and no fewer than so many per axis if that has them.
const MOST_POINTS: usize = 576;
const FEWEST_POINTS: usize = 8;
/// A part with less weight than this need not have converged.
const UNHEARD: f64 = 1e-3;

/// One member of the family: the logarithm of its weight, the posterior, and whether its fit converged.
struct Part {
    log_weight: f64,
    posterior: Posterior,
    converged: bool,
}

impl Model {
    /// Fits the model, and again with shorter and longer length-scales: a posterior with a component for each. Where the model has no prior
    /// on length-scales, each has a log-normal one with a fifth of the window's side as its median and 1 as the standard deviation of
    /// its logarithm. The report is that of the best one. This is for inducing points; else it is what [`Model::average`] says.
    ///
    /// ```
    /// # use pointillist::{Events, Model, Points, Window};
    /// let times = Points::line(&[0.3, 1.1, 1.4, 1.9, 2.2, 2.4, 4.0, 5.5, 7.9])?;
    /// let events = Events::new(times, Window::interval(0.0, 10.0)?)?;
    /// let fit = Model::default().fit_averaged(&events)?;
    /// assert!(fit.posterior.weights().len() > 1);
    /// # Ok::<(), pointillist::Error>(())
    /// ```
    pub fn fit_averaged(&self, events: &Events) -> Result<Fit> {
        let Family::Inducing(points) = &self.family else {
            return Model { average: true, ..self.clone() }.fit(events);
        };
        // What is checked is the average.
        let model = Model { family: points.clone().into(), checked: false, ..with_prior(self, events.window()) };
        let mut best = model.fit(events)?;
        let lengthscales = best.posterior.kernel().map_or(vec![], |kernel| kernel.lengthscales());
        let held = model.fixed.iter().any(|(name, _)| name.starts_with(LENGTHSCALE));
        if lengthscales.len() != events.window().dims() || held {
            let remedy =
                "must have one length-scale per axis, not held, to be averaged over; take se or a Matern kernel";
            return Err(Error::setting("kernel", format!("{} length-scales", lengthscales.len()), remedy));
        }
        let family = Scaled {
            model: &model,
            points: points.clone(),
            events,
            lengthscales,
            inducing: &best.report.inducing.clone(),
        };
        let mut parts = vec![Part::of(&best, 0.0)];
        for direction in [-STEP, STEP] {
            for t in (1..=MOST_STEPS).map(|step| direction * f64::from(step)).take_while(|t| family.is_resolved(*t)) {
                let part = family.member(t)?;
                let highest = parts.iter().map(|part| part.log_weight).fold(part.log_weight, f64::max);
                let negligible = part.log_weight < highest - NEGLIGIBLE;
                parts.push(part);
                if negligible {
                    break;
                }
            }
        }
        let top = parts.iter().map(|part| part.log_weight).fold(f64::NEG_INFINITY, f64::max);
        let heard = |part: &&Part| part.log_weight > top + UNHEARD.ln();
        if parts.iter().filter(heard).any(|part| !part.converged) {
            best.report.stop = Stop::Evaluations;
        }
        let posterior = Posterior::average(parts.into_iter().map(|part| (part.log_weight, part.posterior)).collect())?;
        if self.checked {
            best.report.check(&posterior, Data::Events(events))?;
        }
        Ok(Fit { posterior, report: best.report })
    }
}

impl Part {
    /// From a fit, with something to add to its log prior.
    fn of(fit: &Fit, more: f64) -> Self {
        let log_weight = fit.report.bound.total() + fit.report.log_prior + more;
        Self { log_weight, posterior: fit.posterior.clone(), converged: fit.report.stop.converged() }
    }
}

/// The models with length-scales that are e^t as long as the best.
struct Scaled<'a> {
    model: &'a Model,
    points: InducingPoints,
    events: &'a Events,
    lengthscales: Vec<f64>,
    inducing: &'a [usize],
}

impl Scaled<'_> {
    fn member(&self, t: f64) -> Result<Part> {
        let held =
            self.lengthscales.iter().enumerate().map(|(axis, l)| (format!("{LENGTHSCALE}[{axis}]"), l * t.exp()));
        let fixed = self.model.fixed.iter().cloned().chain(held).collect();
        let points = match &self.points.points {
            Inducing::Auto => Inducing::Grid(scaled(self.inducing, t)),
            chosen => chosen.clone(),
        };
        let family = InducingPoints { points, ..self.points.clone() }.into();
        let fit = Model { family, fixed, ..self.model.clone() }.fit(self.events)?;
        // The prior is a density of the length-scales; this makes it one of their logarithms.
        Ok(Part::of(&fit, self.believed() as f64 * t))
    }

    /// Whether length-scales that are e^t as long can be resolved.
    fn is_resolved(&self, t: f64) -> bool {
        let window = self.events.window();
        let sides = window.bounding_box().into_iter().map(|span| span.length());
        sides.zip(&self.lengthscales).all(|(side, l)| l * t.exp() >= shortest_length(window) * side)
    }

    /// The number of length-scales with a prior: `lengthscale` is that of every axis, `lengthscale[0]` that of one.
    fn believed(&self) -> usize {
        let axes = |name: &str| if name == LENGTHSCALE { self.lengthscales.len() } else { 1 };
        priors_on_lengthscales(self.model).map(axes).sum()
    }
}

/// A grid as fine for length-scales that are e^t as long, as far as it can be.
fn scaled(counts: &[usize], t: f64) -> Vec<usize> {
    let whole = counts.iter().product::<usize>().max(MOST_POINTS) as f64;
    let growth = (-t).exp().min((whole / counts.iter().product::<usize>() as f64).powf(1.0 / counts.len() as f64));
    counts.iter().map(|&count| ((count as f64 * growth).ceil() as usize).max(count.min(FEWEST_POINTS))).collect()
}

fn priors_on_lengthscales(model: &Model) -> impl Iterator<Item = &str> {
    model.priors.iter().map(|prior| prior.0.as_str()).filter(|name| name.starts_with(LENGTHSCALE))
}

fn with_prior(model: &Model, window: &Window) -> Model {
    let mut model = model.clone();
    if priors_on_lengthscales(&model).next().is_none() {
        let prior = |side: f64| Prior::LogNormal { location: (MEDIAN * side).ln(), scale: SPREAD };
        let sides = window.bounding_box().into_iter().enumerate();
        model.priors.extend(sides.map(|(axis, span)| (format!("{LENGTHSCALE}[{axis}]"), prior(span.length()))));
    }
    model
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::points::Points;

    fn paper() -> Model {
        Model { family: InducingPoints::default().into(), ..Model::default() }
    }

    fn events() -> Events {
        let times: Vec<f64> = (0..60).map(|i| 10.0 * (f64::from(i) / 60.0).powi(2)).collect();
        Events::new(Points::line(&times).unwrap(), Window::interval(0.0, 10.0).unwrap()).unwrap()
    }

    #[test]
    fn a_single_part_is_itself() {
        let posterior = paper().fit(&events()).unwrap().posterior;
        let alone = Posterior::average(vec![(-3.0, posterior.clone())]).unwrap();
        let twice = Posterior::average(vec![(-3.0, posterior.clone()), (-3.5, posterior.clone())]).unwrap();
        assert_eq!(alone.weights(), [1.0]);
        let at = Points::line(&[0.1, 2.0, 9.5]).unwrap();
        let held_out = Events::new(Points::line(&[0.5, 1.0, 4.0]).unwrap(), events().window().clone()).unwrap();
        assert_eq!(alone.rate(&at).unwrap(), posterior.rate(&at).unwrap());
        let probabilities = [0.05, 0.5, 0.95];
        let close = |ours: f64, theirs: f64| assert!((ours / theirs - 1.0).abs() < 1e-9, "{ours} {theirs}");
        let pairs = twice.quantiles(&at, &probabilities).unwrap().concat().into_iter();
        pairs.zip(posterior.quantiles(&at, &probabilities).unwrap().concat()).for_each(|(a, b)| close(a, b));
        let [ours, theirs] = [&twice, &posterior].map(|p| p.exceedance(&at, 3.0).unwrap());
        ours.iter().zip(&theirs).for_each(|(a, b)| close(*a, *b));
        let [ours, theirs] = [&twice, &posterior].map(|p| p.score(&held_out, 2000, 1).unwrap());
        assert!((ours.l_p - theirs.l_p).abs() < 1e-9 && (ours.m_p.value - theirs.m_p.value).abs() < 0.05);
        let [ours, theirs] = [&twice, &posterior].map(|p| p.log_likelihood(&held_out).unwrap());
        assert!((ours - theirs).abs() < 1e-9);
        let region = Window::interval(1.0, 4.0).unwrap();
        let [ours, theirs] = [&twice, &posterior].map(|p| p.count(&region).unwrap());
        close(ours.mean, theirs.mean);
        close(ours.sd, theirs.sd);
        let regions = [region, Window::interval(4.0, 9.0).unwrap()];
        let [ours, theirs] = [&twice, &posterior].map(|p| p.joint_counts(&regions, 4000, 1).unwrap());
        assert_eq!(ours.draws(), theirs.draws());
        assert!((ours.moments()[1].mean / theirs.moments()[1].mean - 1.0).abs() < 1e-9);
        let [ours, theirs] = [&ours, &theirs].map(|counts| counts.covariance());
        ours.iter().zip(&theirs).for_each(|(a, b)| assert!((a - b).abs() < 0.15 * theirs[0], "{a} {b}"));
        let again = Posterior::from_state(twice.state()).unwrap();
        assert_eq!(again.rate(&at).unwrap(), twice.rate(&at).unwrap());
        assert_eq!(again.sample(&at, 5, 3).unwrap(), twice.sample(&at, 5, 3).unwrap());
    }

    #[test]
    fn what_cannot_be_averaged_is_refused() {
        let posterior = paper().fit(&events()).unwrap().posterior;
        let other = Events::new(Points::line(&[0.5]).unwrap(), Window::interval(0.0, 1.0).unwrap()).unwrap();
        let other = paper().fit(&other).unwrap().posterior;
        assert!(Posterior::average(vec![]).is_err());
        assert!(Posterior::average(vec![(f64::NAN, posterior.clone())]).is_err());
        assert!(Posterior::average(vec![(0.0, posterior.clone()), (0.0, other)]).is_err());
        let mut state = posterior.state();
        state.components[0].weight = 0.5;
        assert!(Posterior::from_state(state.clone()).is_err());
        state.components.clear();
        assert!(Posterior::from_state(state).is_err());
    }

    #[test]
    fn an_average_has_the_moments_and_quantiles_of_its_draws() {
        let averaged = paper().fit_averaged(&events()).unwrap();
        assert!(averaged.report.stop.converged());
        let averaged = averaged.posterior;
        let weights: f64 = averaged.weights().iter().sum();
        assert!(averaged.weights().len() > 3 && (weights - 1.0).abs() < 1e-12);
        let at = Points::line(&[1.0, 9.0]).unwrap();
        let (rate, quantiles) = averaged.rate_and_quantiles(&at, &[0.1, 0.9]).unwrap();
        let high = averaged.exceedance(&at, rate.mean[0]).unwrap();
        let draws = 40_000;
        let mut seen = [[0.0; 5]; 2];
        for draw in averaged.sample(&at, draws, 5).unwrap() {
            for (i, tally) in seen.iter_mut().enumerate() {
                let below = [quantiles[0][i], quantiles[1][i]].map(|q| f64::from(draw[i] < q));
                let above = f64::from(draw[i] > rate.mean[0]);
                let parts = [draw[i], draw[i] * draw[i], below[0], below[1], above];
                tally.iter_mut().zip(parts).for_each(|(sum, part)| *sum += part / draws as f64);
            }
        }
        for (i, [mean, square, low, top, above]) in seen.into_iter().enumerate() {
            assert!((mean / rate.mean[i] - 1.0).abs() < 0.02, "{mean} {}", rate.mean[i]);
            assert!(((square - mean * mean).sqrt() / rate.sd[i] - 1.0).abs() < 0.04);
            assert!((low - 0.1).abs() < 0.01 && (top - 0.9).abs() < 0.01, "{low} {top}");
            assert!((above - high[i]).abs() < 0.01, "{above} {}", high[i]);
        }
        // Counts: moments in closed form against draws, and events of whole sets against both.
        let region = Window::interval(0.0, 3.0).unwrap();
        let count = averaged.count(&region).unwrap();
        let drawn = averaged.count_draws(&region, 20_000, 2).unwrap();
        let mean = drawn.iter().map(|(expected, _)| expected).sum::<f64>() / drawn.len() as f64;
        let variance = drawn.iter().map(|(x, _)| (x - mean).powi(2)).sum::<f64>() / drawn.len() as f64;
        assert!((mean / count.mean - 1.0).abs() < 0.01, "{mean} {count:?}");
        assert!((variance.sqrt() / count.sd - 1.0).abs() < 0.05, "{} {count:?}", variance.sqrt());
        let sets = 3000;
        let inside = |draw: u64| {
            let events = averaged.sample_events(4, draw).unwrap();
            events.rows().filter(|row| row[0] < 3.0).count() as f64
        };
        let events = (0..sets).map(inside).sum::<f64>() / sets as f64;
        let error = ((count.mean + count.sd.powi(2)) / sets as f64).sqrt();
        assert!((events - count.mean).abs() < 4.0 * error, "{events} {count:?}");
    }

    /// What equation (37) asks for, by hand: the logarithm of each weight less that of the first, from a fit of its own at the length-scales
    /// of the part, and the prior density of the logarithms of these.
    fn slow_log_weights(
        averaged: &Posterior,
        events: &Events,
        log_prior_of_log: impl Fn(f64) -> f64,
    ) -> Vec<(f64, f64)> {
        let log_weight = |posterior: Posterior| {
            let lengthscales = posterior.kernel().unwrap().lengthscales();
            let fixed = lengthscales.iter().enumerate().map(|(axis, l)| (format!("lengthscale[{axis}]"), *l)).collect();
            let inducing = Inducing::At(posterior.inducing().unwrap());
            let fit = Model { family: inducing.into(), fixed, ..Model::default() }.fit(events).unwrap();
            (fit.report.bound.total(), lengthscales.iter().map(|l| log_prior_of_log(l.ln())).sum::<f64>())
        };
        (0..averaged.weights().len()).filter_map(|i| averaged.component(i)).map(log_weight).collect()
    }

    /// Compares all weights with (37), and sees to it that neither the bound nor the prior could be left out unnoticed.
    fn check_weights(averaged: &Posterior, slow: &[(f64, f64)]) {
        assert!(slow.len() > 3);
        let (bound, prior) = slow[0];
        let weights = averaged.weights();
        for (weight, (own_bound, own_prior)) in weights.iter().zip(slow) {
            let (got, want) = ((weight / weights[0]).ln(), own_bound - bound + own_prior - prior);
            assert!((got - want).abs() < 2e-3, "{got} {want}");
        }
        assert!(slow.iter().any(|(own, _)| (own - bound).abs() > 0.5), "{slow:?}");
        assert!(slow.iter().any(|(_, own)| (own - prior).abs() > 0.5), "{slow:?}");
    }

    #[test]
    fn the_weights_are_those_of_equation_37_with_the_usual_prior() {
        let events = events();
        let averaged = paper().fit_averaged(&events).unwrap().posterior;
        // log ℓ ~ N(log(a fifth of 10), 1)
        let slow = slow_log_weights(&averaged, &events, |log| -0.5 * (log - 2f64.ln()).powi(2));
        check_weights(&averaged, &slow);
    }

    #[test]
    fn the_weights_are_those_of_equation_37_with_a_prior_on_each_of_two_axes() {
        let points: Vec<[f64; 2]> =
            (0..80).map(|i| (f64::from(i) / 80.0, f64::from(i) * 0.618 % 1.0)).map(|(a, b)| [a * a, 2.0 * b]).collect();
        let window = Window::new(&[(0.0, 1.0), (0.0, 2.0)]).unwrap();
        let events = Events::new(Points::from_rows(&points).unwrap(), window).unwrap();
        let model = Model {
            family: Inducing::Grid(vec![6, 6]).into(),
            priors: vec![("lengthscale".into(), Prior::Gamma { shape: 3.0, rate: 4.0 })],
            ..Model::default()
        };
        let averaged = model.fit_averaged(&events).unwrap().posterior;
        // The density of ℓ is ∝ ℓ² e^−4ℓ, that of its logarithm ℓ times as much.
        let slow = slow_log_weights(&averaged, &events, |log| 3.0 * log - 4.0 * log.exp());
        check_weights(&averaged, &slow);
    }

    #[test]
    fn what_has_no_single_length_is_refused() {
        let kernel = crate::kernel::Expression::parse("se + matern32", &["x"]).unwrap();
        let error = Model {
            family: Family::Inducing(InducingPoints { kernel: Some(kernel), ..InducingPoints::default() }),
            ..Model::default()
        }
        .fit_averaged(&events())
        .unwrap_err();
        assert!(error.to_string().contains("one length-scale per axis"), "{error}");
    }
}
