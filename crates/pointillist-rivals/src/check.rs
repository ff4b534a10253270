//! The variational answer beside the exact posterior of the same model, sampled.

use pointillist::exact::Sampling;
use pointillist::report::Goodness;
use pointillist::watch::PartWatch;
use pointillist::{Points, Posterior, Result};

/// Places at which both are compared, by the number of axes.
const PLACES: [usize; 3] = [200, 24, 8];
/// Draws of q for its Pareto k̂.
const WEIGHTS: usize = 4000;
/// Components of an average that are checked at most, the heaviest.
const MOST_COMPONENTS: usize = 8;
/// The part of the work that exact draws are.
const EXACT: f64 = 0.9;

/// How far apart two lists are, relative to the exact one.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Difference {
    /// In the middle.
    pub median: f64,
    /// At most.
    pub largest: f64,
}

/// How much of the exact posterior a band holds.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Inside {
    /// Over all places.
    pub mean: f64,
    /// Where it is least.
    pub lowest: f64,
}

/// How the two compare over the window; the JSON of `check`, whose names scripts rely on.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Checked {
    /// How many events there are.
    pub events: usize,
    /// Components that were checked, the heaviest, ...
    pub components: usize,
    /// ... and their part of the weight.
    pub weight: f64,
    /// Places at which both were looked at.
    pub places: usize,
    /// Exact draws.
    pub draws: usize,
    /// Of the mean.
    pub mean: Difference,
    /// Of the 5 % quantile.
    #[cfg_attr(feature = "serde", serde(rename = "q0.05"))]
    pub lower: Difference,
    /// Of the 95 % quantile.
    #[cfg_attr(feature = "serde", serde(rename = "q0.95"))]
    pub upper: Difference,
    /// Part of the exact posterior that lies in the printed 90 % band: on the mean over all places, and where it is lowest.
    pub inside: Inside,
    /// log p(events).
    pub log_evidence: f64,
    /// Its standard error.
    pub log_evidence_se: f64,
    /// By how many nats the bound lies below that.
    pub gap: f64,
    /// None if the weights are beyond all comparison.
    pub pareto_k: Option<f64>,
    /// Whether the events look like events drawn from the model.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub goodness: Option<Goodness>,
}

/// A grid over the window, without what lies outside.
fn places(posterior: &Posterior) -> Points {
    let window = posterior.window();
    let count = PLACES.get(window.dims() - 1).copied().unwrap_or(4);
    window.grid(&vec![count; window.dims()]).filter(|row| window.contains(row))
}

/// The posterior beside exact draws, over the window; `watch` is told how far it is.
pub fn check(posterior: &Posterior, events: &Points, sampling: Sampling, watch: &PartWatch<'_>) -> Result<Checked> {
    let goodness = posterior.goodness_of_fit(events)?;
    let weight = posterior.weights().iter().take(MOST_COMPONENTS).sum::<f64>();
    let posterior = &posterior.heaviest(MOST_COMPONENTS);
    let places = &places(posterior);
    let exact = posterior.sample_exact_watched(events, places, sampling, &|part| watch(EXACT * part))?;
    let weights =
        posterior.coverage_of_q_watched(events, WEIGHTS, sampling.seed, &|part| watch(EXACT + (1.0 - EXACT) * part))?;
    let (rate, band) = posterior.rate_and_quantiles(places, &[0.05, 0.95])?;
    let mut apart = [vec![], vec![], vec![]];
    let (mut draws, mut held) = (0, vec![]);
    for i in 0..places.len() {
        let mut values = exact.at(i);
        values.sort_by(f64::total_cmp);
        draws = values.len();
        held.push(
            values.iter().filter(|value| (band[0][i]..=band[1][i]).contains(value)).count() as f64 / draws as f64,
        );
        let mean = values.iter().sum::<f64>() / draws as f64;
        let pairs =
            [(rate.mean[i], mean), (band[0][i], quantile(&values, 0.05)), (band[1][i], quantile(&values, 0.95))];
        for (list, (ours, exact)) in apart.iter_mut().zip(pairs) {
            list.push((ours / exact - 1.0).abs());
        }
    }
    let [mean, lower, upper] = apart.map(difference);
    Ok(Checked {
        events: events.len(),
        components: posterior.weights().len(),
        weight,
        places: places.len(),
        draws,
        mean,
        lower,
        upper,
        inside: Inside {
            mean: held.iter().sum::<f64>() / held.len() as f64,
            lowest: held.iter().copied().fold(1.0, f64::min),
        },
        log_evidence: weights.log_evidence.value,
        log_evidence_se: weights.log_evidence.se,
        gap: weights.gap,
        pareto_k: Some(weights.k).filter(|k| k.is_finite()),
        goodness,
    })
}

fn difference(mut apart: Vec<f64>) -> Difference {
    apart.sort_by(f64::total_cmp);
    Difference { median: quantile(&apart, 0.5), largest: quantile(&apart, 1.0) }
}

/// The smallest of the sorted values that at least a part `p` of them does not exceed: a count stays a count.
fn quantile(sorted: &[f64], p: f64) -> f64 {
    let rank = (p * sorted.len() as f64).ceil() as usize;
    sorted[rank.clamp(1, sorted.len()) - 1]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_values_that_occurred() {
        let sorted = [1.0, 2.0, 3.0, 4.0];
        assert_eq!(quantile(&sorted, 0.25), 1.0);
        assert_eq!(quantile(&sorted, 0.26), 2.0);
        assert_eq!(quantile(&sorted, 0.999), 4.0);
        assert_eq!(quantile(&sorted, 1e-9), 1.0);
    }
}
