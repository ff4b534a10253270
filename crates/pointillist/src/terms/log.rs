//! The log link, λ = exp(f), a log-Gaussian Cox process: log λ at the events is linear in f; −exp f at the nodes of the integral are
//! sites (docs/derivation.md, section 15).

use super::{LinkFormula, LinkRange, LinkStart, Part, Potential};
use crate::numerics::special::{normal_cdf, normal_quantile};
use crate::numerics::vector::exp_in_place;

/// λ = exp(f).
pub(super) struct Log;

/// f itself.
struct Linear;

/// −exp f.
struct MinusExp;

/// Prior variance at which learning starts.
const VARIANCE: f64 = 1.0;
/// The range of a variance: N events leave log λ uncertain by 1/√N however flat they are; see the square's …
const LEAST_VARIANCE: f64 = 16.0;
/// … and how large it may be.
const MOST_VARIANCE: f64 = 100.0;
/// How far the prior mean may be from the level of the mean rate.
const MEANS: f64 = 20.0;
/// Standard deviation of a vague constant: rates up to 20 times as high, or as low.
const VAGUE: f64 = 3.0;

impl LinkFormula for Log {
    fn name(&self) -> &'static str {
        "log"
    }

    fn events(&self) -> &'static dyn Potential {
        &Linear
    }

    fn integral(&self) -> Part {
        Part::Sites(&MinusExp)
    }

    fn is_linear(&self) -> bool {
        true
    }

    fn rate(&self, f: f64) -> f64 {
        f.exp()
    }

    fn start(&self, rate: f64) -> LinkStart {
        LinkStart { flat: rate.ln(), mean: rate.ln(), variance: VARIANCE, vague: VAGUE }
    }

    fn range(&self, rate: f64, measure: f64) -> LinkRange {
        let least = (LEAST_VARIANCE / (rate * measure)).min(0.5 * VARIANCE);
        let level = rate.ln();
        LinkRange { variance: (least, MOST_VARIANCE), mean: (level - MEANS, level + MEANS), unit: 1.0 }
    }

    fn outward(&self, volume: f64) -> (f64, f64) {
        (1.0, -volume.ln())
    }

    fn times(&self, f: f64, times: f64) -> f64 {
        f + times.ln()
    }

    fn moments(&self, mean: f64, variance: f64) -> (f64, f64) {
        let variance = variance.max(0.0);
        let rate = (mean + 0.5 * variance).exp();
        (rate, rate * variance.exp_m1().sqrt())
    }

    fn widened(&self, mean: f64, variance: f64, by: f64) -> (f64, f64) {
        (mean - 0.5 * by, variance + by)
    }

    fn below(&self, mean: f64, variance: f64, rate: f64) -> f64 {
        let (sd, f) = (variance.max(0.0).sqrt(), rate.max(0.0).ln());
        if sd > 0.0 { normal_cdf((f - mean) / sd) } else { f64::from(f >= mean) }
    }

    fn quantile(&self, mean: f64, variance: f64, probability: f64) -> f64 {
        let sd = variance.max(0.0).sqrt();
        if sd > 0.0 { (mean + sd * normal_quantile(probability)).exp() } else { mean.exp() }
    }
}

impl Potential for Linear {
    fn expected(&self, mean: &[f64], _: &[f64], [value, by_mean, by_variance]: [&mut [f64]; 3]) {
        value.copy_from_slice(mean);
        by_mean.fill(1.0);
        by_variance.fill(0.0);
    }

    fn at(&self, f: f64) -> [f64; 3] {
        [f, 1.0, 0.0]
    }
}

impl Potential for MinusExp {
    fn expected(&self, mean: &[f64], variance: &[f64], [value, by_mean, by_variance]: [&mut [f64]; 3]) {
        for (rate, (mean, variance)) in value.iter_mut().zip(mean.iter().zip(variance)) {
            *rate = mean + 0.5 * variance;
        }
        exp_in_place(value);
        for (value, (by_mean, by_variance)) in value.iter_mut().zip(by_mean.iter_mut().zip(by_variance)) {
            let rate = *value;
            (*value, *by_mean, *by_variance) = (-rate, -rate, -0.5 * rate);
        }
    }

    /// e^{σ²/2} makes σ² smaller, which makes it smaller in turn: at full speed the two overshoot.
    fn caution(&self) -> f64 {
        0.3
    }

    fn at(&self, f: f64) -> [f64; 3] {
        let rate = f.exp();
        [-rate, -rate, rate]
    }
}
