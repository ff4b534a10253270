//! The posterior averaged over how long the length-scales are, which few events do not determine.
//!
//! All length-scales are multiplied by one factor, e^t; for each t of a grid the other hyper-parameters are found anew, and the posterior there
//! counts by exp(bound) times the prior. So the band of the rate holds what is not known of its smoothness, which a single best value leaves
//! out.
//!
//! What it does not do: average over the variance and the mean. Cost: some ten fits.

use crate::data::events::Events;
use crate::data::points::Points;
use crate::error::{Error, Result};
use crate::infer::{Family, Fit, Inducing, Model, Prior, shortest_length};
use crate::numerics::special::normal_cdf;
use crate::posterior::{Posterior, Rate};
use crate::sample::importance::LogMean;
use crate::terms::Marginals;
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
/// Inducing points of a part: at most so many in all (or as many as the best fit has), and no fewer than so many an axis if that has them.
const MOST_POINTS: usize = 576;
const FEWEST_POINTS: usize = 8;
/// Weights up to which a part is left out of a score, and the fewest draws for one that is not.
const UNHEARD: f64 = 1e-3;
const FEWEST_DRAWS: usize = 1000;
/// Halvings of an interval that holds a quantile.
const HALVINGS: usize = 50;

/// A posterior that is a sum of posteriors, one for each length of the length-scales.
#[derive(Debug, Clone)]
pub struct Averaged {
    parts: Vec<(f64, Posterior)>,
    converged: bool,
}

/// One member of the family: the logarithm of its weight, the posterior, and whether its fit converged.
struct Part {
    log_weight: f64,
    posterior: Posterior,
    converged: bool,
}

impl Averaged {
    /// Fits the model, and again with shorter and longer length-scales. Where it has no prior on them, each has a log-normal one with a fifth
    /// of the window's side as its median and 1 as the standard deviation of its logarithm.
    pub fn fit(model: &Model, events: &Events) -> Result<Self> {
        let model = Model { family: Family::Inducing, ..with_prior(model, events.window()) };
        let best = model.fit(events)?;
        let lengthscales = best.posterior.kernel().map_or(vec![], |kernel| kernel.lengthscales());
        let held = model.fixed.iter().any(|(name, _)| name.starts_with(LENGTHSCALE));
        if lengthscales.len() != events.window().dims() || held {
            let remedy =
                "must have one length-scale an axis, not held, to be averaged over; take se or a Matern kernel";
            return Err(Error::setting("kernel", format!("{} length-scales", lengthscales.len()), remedy));
        }
        let family = Scaled { model: &model, events, lengthscales, inducing: &best.report.inducing.clone() };
        let mut parts = vec![Part::of(best, 0.0)];
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
        Ok(Self::weighted(parts))
    }

    /// From the logarithms of weights.
    fn weighted(parts: Vec<Part>) -> Self {
        let top = parts.iter().map(|part| part.log_weight).fold(f64::NEG_INFINITY, f64::max);
        let total: f64 = parts.iter().map(|part| (part.log_weight - top).exp()).sum();
        let weight = |part: &Part| (part.log_weight - top).exp() / total;
        let converged = parts.iter().all(|part| part.converged || weight(part) < UNHEARD);
        Self { parts: parts.into_iter().map(|part| (weight(&part), part.posterior)).collect(), converged }
    }

    /// Whether the fits of all parts that count converged.
    pub fn converged(&self) -> bool {
        self.converged
    }

    /// The posteriors and their weights, which add up to 1.
    pub fn parts(&self) -> &[(f64, Posterior)] {
        &self.parts
    }

    /// Where events were looked for.
    pub fn window(&self) -> &Window {
        self.parts[0].1.window()
    }

    /// Mean and standard deviation of the rate at points.
    pub fn rate(&self, points: &Points) -> Result<Rate> {
        let mut mean = vec![0.0; points.len()];
        let mut square = vec![0.0; points.len()];
        for (weight, posterior) in &self.parts {
            let rate = posterior.rate(points)?;
            for (i, (m, sd)) in rate.mean.iter().zip(&rate.sd).enumerate() {
                mean[i] += weight * m;
                square[i] += weight * (m * m + sd * sd);
            }
        }
        let sd = mean.iter().zip(&square).map(|(m, s)| (s - m * m).max(0.0).sqrt()).collect();
        Ok(Rate { mean, sd })
    }

    /// Quantiles of the rate: for each probability, one value a point.
    pub fn quantiles(&self, points: &Points, probabilities: &[f64]) -> Result<Vec<Vec<f64>>> {
        let marginals = self.parts.iter().map(|part| part.1.marginals(points)).collect::<Result<Vec<_>>>()?;
        let of_parts = self.parts.iter().map(|part| part.1.quantiles(points, probabilities));
        let of_parts = of_parts.collect::<Result<Vec<_>>>()?;
        let below = |i: usize, rate: f64| -> f64 {
            let share = |((weight, _), f): (&(f64, Posterior), &Marginals)| {
                let (mean, sd, root) = (f.mean[i], f.variance[i].max(0.0).sqrt(), rate.sqrt());
                let standard = |x: f64| if sd > 0.0 { normal_cdf((x - mean) / sd) } else { f64::from(x >= mean) };
                weight * (standard(root) - standard(-root))
            };
            self.parts.iter().zip(&marginals).map(share).sum()
        };
        let quantile = |which: usize, i: usize| {
            // Between the quantiles of the parts.
            let each = || of_parts.iter().map(|part| part[which][i]);
            let (mut low, mut high) = (each().fold(f64::INFINITY, f64::min), each().fold(0.0, f64::max));
            for _ in 0..HALVINGS {
                let middle = 0.5 * (low + high);
                if below(i, middle) < probabilities[which] { low = middle } else { high = middle }
            }
            0.5 * (low + high)
        };
        Ok((0..probabilities.len()).map(|which| (0..points.len()).map(|i| quantile(which, i)).collect()).collect())
    }

    /// The log-likelihood of held-out events at the mean rate.
    pub fn log_likelihood(&self, held_out: &Events) -> Result<f64> {
        let (points, window) = (held_out.points(), held_out.window());
        self.window().check_covers(window)?;
        let rates = self.rate(points)?.mean;
        let mut expected = 0.0;
        for (weight, posterior) in &self.parts {
            expected += weight * posterior.field().expected(&window.scaled(posterior.scaling()))?;
        }
        let log = |(row, rate): (&[f64], &f64)| (window.exposure_at(row) * rate).ln();
        Ok(points.rows().zip(&rates).map(log).sum::<f64>() - expected)
    }

    /// log E[p(H|f)] and E[log p(H|f)] for held-out events.
    pub fn score(&self, held_out: &Events, samples: usize, seed: u64) -> Result<(LogMean, f64)> {
        // Draws where they count.
        let draws = |weight: f64| ((samples as f64 * weight) as usize).max(FEWEST_DRAWS.min(samples));
        let score = |(weight, posterior): &&(f64, Posterior)| posterior.score(held_out, draws(*weight), seed);
        let heard: Vec<&(f64, Posterior)> = self.parts.iter().filter(|part| part.0 > UNHEARD).collect();
        let scores = heard.iter().map(score).collect::<Result<Vec<_>>>()?;
        let logs: Vec<f64> = heard.iter().zip(&scores).map(|((w, _), score)| w.ln() + score.m_p.value).collect();
        let top = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let total: f64 = logs.iter().map(|log| (log - top).exp()).sum();
        let shares: Vec<f64> = logs.iter().map(|log| (log - top).exp() / total).collect();
        let variance: f64 = shares.iter().zip(&scores).map(|(share, score)| (share * score.m_p.se).powi(2)).sum();
        // A part without a say cannot make the sum unsure.
        let unsure = shares.iter().zip(&scores).filter(|(share, _)| **share > 0.01).map(|(_, score)| score.m_p.k);
        let k = unsure.fold(f64::NEG_INFINITY, f64::max);
        let m_p = LogMean { value: top + total.ln(), se: variance.sqrt(), k };
        Ok((m_p, heard.iter().zip(&scores).map(|((weight, _), score)| weight * score.l_p).sum()))
    }
}

impl Part {
    /// From a fit, with something to add to its log prior.
    fn of(fit: Fit, more: f64) -> Self {
        let log_weight = fit.report.bound.total() + fit.report.log_prior + more;
        Self { log_weight, posterior: fit.posterior, converged: fit.report.stop.converged() }
    }
}

/// The models with length-scales that are e^t as long as the best.
struct Scaled<'a> {
    model: &'a Model,
    events: &'a Events,
    lengthscales: Vec<f64>,
    inducing: &'a [usize],
}

impl Scaled<'_> {
    fn member(&self, t: f64) -> Result<Part> {
        let held =
            self.lengthscales.iter().enumerate().map(|(axis, l)| (format!("{LENGTHSCALE}[{axis}]"), l * t.exp()));
        let fixed = self.model.fixed.iter().cloned().chain(held).collect();
        let inducing = match &self.model.inducing {
            Inducing::Auto => Inducing::Grid(scaled(self.inducing, t)),
            chosen => chosen.clone(),
        };
        let fit = Model { fixed, inducing, ..self.model.clone() }.fit(self.events)?;
        // The prior is a density of the length-scales; this makes it one of their logarithms.
        Ok(Part::of(fit, self.believed() as f64 * t))
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

    fn events() -> Events {
        let times: Vec<f64> = (0..60).map(|i| 10.0 * (f64::from(i) / 60.0).powi(2)).collect();
        Events::new(Points::line(&times).unwrap(), Window::interval(0.0, 10.0).unwrap()).unwrap()
    }

    #[test]
    fn a_single_part_is_itself() {
        let posterior = Model::default().fit(&events()).unwrap().posterior;
        let alone = Averaged::weighted(vec![Part { log_weight: -3.0, posterior: posterior.clone(), converged: false }]);
        assert!(!alone.converged());
        let at = Points::line(&[0.1, 2.0, 9.5]).unwrap();
        let held_out = Events::new(Points::line(&[0.5, 1.0, 4.0]).unwrap(), events().window().clone()).unwrap();
        assert_eq!(alone.rate(&at).unwrap().mean, posterior.rate(&at).unwrap().mean);
        let probabilities = [0.05, 0.5, 0.95];
        let pairs = alone.quantiles(&at, &probabilities).unwrap().concat().into_iter();
        for (ours, theirs) in pairs.zip(posterior.quantiles(&at, &probabilities).unwrap().concat()) {
            assert!((ours / theirs - 1.0).abs() < 1e-9, "{ours} {theirs}");
        }
        let (m_p, l_p) = alone.score(&held_out, 2000, 1).unwrap();
        let score = posterior.score(&held_out, 2000, 1).unwrap();
        assert!((m_p.value - score.m_p.value).abs() < 1e-12 && (l_p - score.l_p).abs() < 1e-12);
        let both = [alone.log_likelihood(&held_out), posterior.log_likelihood(&held_out)].map(Result::unwrap);
        assert!((both[0] - both[1]).abs() < 1e-12);
    }

    #[test]
    fn an_average_has_the_moments_and_quantiles_of_its_draws() {
        let averaged = Averaged::fit(&Model::default(), &events()).unwrap();
        let weights: f64 = averaged.parts().iter().map(|part| part.0).sum();
        assert!(averaged.converged() && averaged.parts().len() > 3 && (weights - 1.0).abs() < 1e-12);
        let at = Points::line(&[1.0, 9.0]).unwrap();
        let (rate, quantiles) = (averaged.rate(&at).unwrap(), averaged.quantiles(&at, &[0.1, 0.9]).unwrap());
        let draws = 40_000.0;
        let mut seen = [[0.0; 4]; 2];
        for (number, (weight, posterior)) in averaged.parts().iter().enumerate() {
            let count = (draws * weight) as usize;
            for draw in posterior.sample(&at, count, number as u64).unwrap() {
                for (i, tally) in seen.iter_mut().enumerate() {
                    let below = [quantiles[0][i], quantiles[1][i]].map(|q| f64::from(draw[i] < q));
                    let parts = [draw[i], draw[i] * draw[i], below[0], below[1]];
                    tally.iter_mut().zip(parts).for_each(|(sum, part)| *sum += part / draws);
                }
            }
        }
        for (i, [mean, square, low, high]) in seen.into_iter().enumerate() {
            assert!((mean / rate.mean[i] - 1.0).abs() < 0.02, "{mean} {}", rate.mean[i]);
            assert!(((square - mean * mean).sqrt() / rate.sd[i] - 1.0).abs() < 0.04);
            assert!((low - 0.1).abs() < 0.01 && (high - 0.9).abs() < 0.01, "{low} {high}");
        }
    }

    /// What equation (37) asks for, by hand: the logarithm of each weight less that of the first, from a fit of its own at the length-scales
    /// of the part, and the prior density of the logarithms of these.
    fn slow_log_weights(
        averaged: &Averaged,
        events: &Events,
        log_prior_of_log: impl Fn(f64) -> f64,
    ) -> Vec<(f64, f64)> {
        let log_weight = |(_, posterior): &(f64, Posterior)| {
            let lengthscales = posterior.kernel().unwrap().lengthscales();
            let fixed = lengthscales.iter().enumerate().map(|(axis, l)| (format!("lengthscale[{axis}]"), *l)).collect();
            let inducing = Inducing::At(posterior.inducing().unwrap());
            let fit = Model { fixed, inducing, family: Family::Inducing, ..Model::default() }.fit(events).unwrap();
            (fit.report.bound.total(), lengthscales.iter().map(|l| log_prior_of_log(l.ln())).sum::<f64>())
        };
        averaged.parts().iter().map(log_weight).collect()
    }

    /// Compares all weights with (37), and sees to it that neither the bound nor the prior could be left out unnoticed.
    fn check_weights(averaged: &Averaged, slow: &[(f64, f64)]) {
        assert!(slow.len() > 3);
        let (bound, prior) = slow[0];
        for (part, (own_bound, own_prior)) in averaged.parts().iter().zip(slow) {
            let (got, want) = ((part.0 / averaged.parts()[0].0).ln(), own_bound - bound + own_prior - prior);
            assert!((got - want).abs() < 2e-3, "{got} {want}");
        }
        assert!(slow.iter().any(|(own, _)| (own - bound).abs() > 0.5), "{slow:?}");
        assert!(slow.iter().any(|(_, own)| (own - prior).abs() > 0.5), "{slow:?}");
    }

    #[test]
    fn the_weights_are_those_of_equation_37_with_the_usual_prior() {
        let events = events();
        let averaged = Averaged::fit(&Model::default(), &events).unwrap();
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
            inducing: Inducing::Grid(vec![6, 6]),
            priors: vec![("lengthscale".into(), Prior::Gamma { shape: 3.0, rate: 4.0 })],
            ..Model::default()
        };
        let averaged = Averaged::fit(&model, &events).unwrap();
        // The density of ℓ is ∝ ℓ² e^−4ℓ, that of its logarithm ℓ times as much.
        let slow = slow_log_weights(&averaged, &events, |log| 3.0 * log - 4.0 * log.exp());
        check_weights(&averaged, &slow);
    }

    #[test]
    fn what_has_no_single_length_is_refused() {
        let kernel = crate::kernel::Expression::parse("se + matern32", &["x"]).unwrap();
        let error = Averaged::fit(&Model { kernel: Some(kernel), ..Model::default() }, &events()).unwrap_err();
        assert!(error.to_string().contains("one length-scale an axis"), "{error}");
    }
}
