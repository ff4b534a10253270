//! The square link, λ = f² (the paper's): −∫f² is quadratic in f; log f² at the events are sites (docs/derivation.md (9), (25), (26)).

use super::{LinkFormula, LinkRange, LinkStart, Part, Potential};
use crate::numerics::special::{expected_log_squares, normal_cdf, square_quantile};

/// λ = f².
pub(super) struct Square;

/// log f².
pub(crate) struct LogSquare;

/// The potential of an event.
pub(crate) static LOG_SQUARE: LogSquare = LogSquare;

/// Part of the mean rate that the prior variance starts with; E f² = ū² + γ is the rate, and most of it is in the mean.
const VARIANCE: f64 = 0.36;
/// Part of the root of the mean rate that the prior mean starts with.
const MEAN: f64 = 0.8;
/// The variance, up to this multiple of the mean rate …
const MOST_VARIANCE: f64 = 1e3;
/// … and down to this over the window's measure. N events leave f uncertain by ½/√|T| however flat they are; a prior variance that
/// maximum likelihood takes to 0 would deny it, and the band with it. With very few events no more than half their rate.
const LEAST_VARIANCE: f64 = 4.0;
/// The prior mean, up to this multiple of the root of the mean rate, of either sign.
const MEANS: f64 = 10.0;

impl LinkFormula for Square {
    fn name(&self) -> &'static str {
        "square"
    }

    fn events(&self) -> &'static dyn Potential {
        &LOG_SQUARE
    }

    fn integral(&self) -> Part {
        Part::Quadratic
    }

    fn rate(&self, f: f64) -> f64 {
        f * f
    }

    fn start(&self, rate: f64) -> LinkStart {
        LinkStart { flat: rate.sqrt(), mean: MEAN * rate.sqrt(), variance: VARIANCE * rate, vague: rate.sqrt() }
    }

    fn range(&self, rate: f64, measure: f64) -> LinkRange {
        let (least, unit) = ((LEAST_VARIANCE / measure).min(0.5 * rate), rate.sqrt());
        LinkRange { variance: (least, MOST_VARIANCE * rate), mean: (-MEANS * unit, MEANS * unit), unit }
    }

    fn outward(&self, volume: f64) -> (f64, f64) {
        (1.0 / volume.sqrt(), 0.0)
    }

    fn is_even(&self) -> bool {
        true
    }

    fn times(&self, f: f64, times: f64) -> f64 {
        times.sqrt() * f
    }

    fn moments(&self, mean: f64, variance: f64) -> (f64, f64) {
        let square = mean * mean;
        (square + variance, (2.0 * variance * variance + 4.0 * square * variance).sqrt())
    }

    /// All of the mean rate can be variance, no more.
    fn widened(&self, mean: f64, variance: f64, by: f64) -> (f64, f64) {
        let by = by.min(mean * mean);
        ((mean * mean - by).sqrt().copysign(mean), variance + by)
    }

    fn below(&self, mean: f64, variance: f64, rate: f64) -> f64 {
        let (sd, root) = (variance.max(0.0).sqrt(), rate.max(0.0).sqrt());
        let standard = |x: f64| if sd > 0.0 { normal_cdf((x - mean) / sd) } else { f64::from(x >= mean) };
        if rate < 0.0 { 0.0 } else { standard(root) - standard(-root) }
    }

    fn quantile(&self, mean: f64, variance: f64, probability: f64) -> f64 {
        square_quantile(mean, variance.sqrt(), probability)
    }
}

impl Potential for LogSquare {
    fn expected(&self, mean: &[f64], variance: &[f64], [value, by_mean, by_variance]: [&mut [f64]; 3]) {
        expected_log_squares(mean, variance, value, by_mean, by_variance);
    }

    fn at(&self, f: f64) -> [f64; 3] {
        [(f * f).ln(), 2.0 / f, 2.0 / (f * f)]
    }
}
