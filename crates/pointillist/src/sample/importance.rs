//! The mean of importance weights, Pareto-smoothed (Vehtari, Simpson, Gelman, Yao and Gabry), with its Monte Carlo error.
//!
//! The largest weights are replaced by the expected order statistics of a generalised Pareto distribution fitted to them; its shape
//! k̂ says whether the mean can be trusted (below 0.7) whatever the error says.

/// log of the mean of weights.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct LogMean {
    /// `log E[w]`.
    pub value: f64,
    /// Its standard error.
    #[cfg_attr(feature = "serde", serde(with = "crate::reading::any_number"))]
    pub se: f64,
    /// Pareto k̂ of the weights' tail; −∞ where all weights are alike.
    #[cfg_attr(feature = "serde", serde(with = "crate::reading::any_number"))]
    pub k: f64,
}

impl LogMean {
    /// With all weights multiplied by one factor, of which this is the logarithm.
    pub(crate) fn times(self, log_factor: f64) -> Self {
        Self { value: self.value + log_factor, ..self }
    }

    /// That of a mixture with these weights.
    pub(crate) fn mixed(parts: &[(f64, Self)]) -> Self {
        let logs: Vec<f64> = parts.iter().map(|(weight, mean)| weight.ln() + mean.value).collect();
        let top = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let total: f64 = logs.iter().map(|log| (log - top).exp()).sum();
        let shares: Vec<f64> = logs.iter().map(|log| (log - top).exp() / total).collect();
        let variance: f64 = shares.iter().zip(parts).map(|(share, (_, mean))| (share * mean.se).powi(2)).sum();
        // A part without a say cannot make the sum unsure.
        let unsure = shares.iter().zip(parts).filter(|(share, _)| **share > 0.01).map(|(_, (_, mean))| mean.k);
        Self { value: top + total.ln(), se: variance.sqrt(), k: unsure.fold(f64::NEG_INFINITY, f64::max) }
    }
}

/// log of the mean of exp(log_weights).
pub fn log_mean(log_weights: &[f64]) -> LogMean {
    let n = log_weights.len() as f64;
    let largest = log_weights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if !largest.is_finite() {
        return LogMean { value: largest, se: f64::NAN, k: f64::INFINITY };
    }
    let mut weights: Vec<f64> = log_weights.iter().map(|w| (w - largest).exp()).collect();
    weights.sort_by(f64::total_cmp);
    let k = smooth_tail(&mut weights);
    let mean = weights.iter().sum::<f64>() / n;
    let variance = weights.iter().map(|w| (w - mean) * (w - mean)).sum::<f64>() / (n - 1.0).max(1.0);
    LogMean { value: largest + mean.ln(), se: (variance / n).sqrt() / mean, k }
}

/// Replaces the tail of rising weights by its fitted quantiles; returns k̂.
fn smooth_tail(weights: &mut [f64]) -> f64 {
    let n = weights.len();
    let tail = (0.2 * n as f64).min(3.0 * (n as f64).sqrt()) as usize;
    if tail < 5 {
        return f64::INFINITY;
    }
    let threshold = weights[n - tail - 1];
    let excess: Vec<f64> = weights[n - tail..].iter().map(|w| w - threshold).collect();
    if excess[tail - 1] <= 1e-12 * weights[n - 1] {
        return f64::NEG_INFINITY; // all weights alike: no tail
    }
    let (k, sigma) = fit_generalised_pareto(&excess);
    let largest = weights[n - 1];
    for (i, w) in weights[n - tail..].iter_mut().enumerate() {
        let p = (i as f64 + 0.5) / tail as f64;
        let quantile = if k.abs() < 1e-12 { -sigma * (-p).ln_1p() } else { sigma / k * ((-k * (-p).ln_1p()).exp_m1()) };
        *w = (threshold + quantile).min(largest);
    }
    k
}

/// Shape and scale of a generalised Pareto distribution for rising excesses (Zhang and Stephens 2009), with the weak prior on the
/// shape that is usual for this purpose.
fn fit_generalised_pareto(excess: &[f64]) -> (f64, f64) {
    let n = excess.len();
    let (quartile, largest) = (excess[(n as f64 / 4.0 + 0.5) as usize - 1].max(f64::MIN_POSITIVE), excess[n - 1]);
    let points = 30 + (n as f64).sqrt() as usize;
    let b_of = |i: usize| (1.0 / largest) + (1.0 - (points as f64 / (i as f64 + 0.5)).sqrt()) / (3.0 * quartile);
    let k_of = |b: f64| excess.iter().map(|x| (-b * x).ln_1p()).sum::<f64>() / n as f64;
    let profile: Vec<(f64, f64)> = (0..points)
        .map(|i| {
            let b = b_of(i);
            let k = k_of(b);
            (b, n as f64 * ((-b / k).ln() - k - 1.0))
        })
        .filter(|(_, l)| l.is_finite())
        .collect();
    let top = profile.iter().map(|(_, l)| *l).fold(f64::NEG_INFINITY, f64::max);
    let total: f64 = profile.iter().map(|(_, l)| (l - top).exp()).sum();
    let b = profile.iter().map(|(b, l)| b * (l - top).exp()).sum::<f64>() / total;
    let k = k_of(b);
    let sigma = -k / b;
    ((k * n as f64 + 5.0) / (n as f64 + 10.0), sigma)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recovers_the_shape_of_a_pareto_tail_and_the_mean_of_light_weights() {
        // Weights that are exact quantiles of a Pareto law with shape k: w = u^{-k}.
        for k in [0.2, 0.5, 0.9] {
            let log_weights: Vec<f64> = (0..10_000).map(|i| -k * ((i as f64 + 0.5) / 10_000.0).ln()).collect();
            let found = log_mean(&log_weights);
            assert!((found.k - k).abs() < 0.06, "{k} {found:?}");
            if k < 0.4 {
                let want = (1.0f64 / (1.0 - k)).ln();
                assert!((found.value - want).abs() < 4.0 * found.se, "{found:?} {want}");
            }
        }
        let flat = log_mean(&[2.5; 1000]);
        assert!((flat.value - 2.5).abs() < 1e-14 && flat.se < 1e-12);
    }
}
