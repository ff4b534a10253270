//! The distribution function of the Gamma distribution, both tails, and its inverse.
//!
//! P(a, x) by its power series below the mean, Q = 1 − P by Legendre's continued fraction above (DLMF 8.11.4 and 8.9.2). The factor
//! x^a e^{−x} / Γ(a+1) of both is written with the distance from the mean where a is large, so that nothing cancels: about 1e-13 relative
//! for a up to 1e8. Cost: about 10 √a operations.

use std::f64::consts::PI;

/// From here on Stirling's series is exact to rounding.
const LARGE: f64 = 20.0;
/// Steps of a root search; it needs a handful.
const STEPS: usize = 100;

/// x^a e^{−x} / Γ(a+1).
fn factor(a: f64, x: f64) -> f64 {
    if a < LARGE {
        return (a * x.ln() - x - libm::lgamma(a + 1.0)).exp();
    }
    // 1/(12a) − 1/(360a³) + ...: log Γ(a+1) less a log a − a + ½ log 2πa
    let u = 1.0 / (a * a);
    let stirling = (1.0 / 12.0 - u * (1.0 / 360.0 - u * (1.0 / 1260.0 - u * (1.0 / 1680.0 - u / 1188.0)))) / a;
    (-a * excess((x - a) / a) - stirling).exp() / (2.0 * PI * a).sqrt()
}

/// y − log(1 + y), without cancellation near 0.
fn excess(y: f64) -> f64 {
    if y.abs() > 0.5 {
        return y - y.ln_1p();
    }
    // log(1+y) = 2 artanh s, s = y/(2+y); y − 2s = ys
    let s = y / (2.0 + y);
    let mut power = s * s * s;
    let mut rest = 0.0;
    for n in 1..20 {
        rest += power / f64::from(2 * n + 1);
        power *= s * s;
    }
    y * s - 2.0 * rest
}

/// The smaller tails are exact: (P, Q) with P + Q = 1.
pub(super) fn tails(a: f64, x: f64) -> (f64, f64) {
    if x <= 0.0 {
        return (0.0, 1.0);
    }
    if x.is_infinite() {
        return (1.0, 0.0);
    }
    if x < a + 1.0 {
        let below = factor(a, x) * series(a, x);
        (below, 1.0 - below)
    } else {
        let above = factor(a, x) * a * fraction(a, x);
        (1.0 - above, above)
    }
}

/// 1 + x/(a+1) + x²/((a+1)(a+2)) + ...
fn series(a: f64, x: f64) -> f64 {
    let (mut sum, mut term, mut n) = (1.0, 1.0, 0.0);
    while term > 1e-17 * sum {
        n += 1.0;
        term *= x / (a + n);
        sum += term;
    }
    sum
}

/// 1/(x+1−a − 1(1−a)/(x+3−a − 2(2−a)/(x+5−a − ...))), by Lentz's method.
fn fraction(a: f64, x: f64) -> f64 {
    let tiny = 1e-300;
    let mut b = x + 1.0 - a;
    let mut c = 1.0 / tiny;
    let mut d = 1.0 / b;
    let mut value = d;
    let most = 100.0 + 100.0 * a.max(1.0).sqrt();
    let mut n = 0.0;
    while n < most {
        n += 1.0;
        let numerator = -n * (n - a);
        b += 2.0;
        let away = |v: f64| if v.abs() < tiny { tiny } else { v };
        d = 1.0 / away(numerator * d + b);
        c = away(b + numerator / c);
        let change = c * d;
        value *= change;
        if (change - 1.0).abs() < 1e-16 {
            break;
        }
    }
    value
}

/// The x with P(a, x) = p, for a > 0 and 0 ≤ p ≤ 1.
pub(super) fn quantile(a: f64, p: f64) -> f64 {
    if p <= 0.0 {
        return 0.0;
    }
    if p >= 1.0 {
        return f64::INFINITY;
    }
    let (mut lo, mut hi) = (0.0, f64::INFINITY);
    let mut x = start(a, p);
    let mut is_near = false;
    for _ in 0..STEPS {
        let (below, above) = tails(a, x);
        // Newton's step for the logarithm of the tail in which p lies: it is concave, and has the digits.
        let step = if p < 0.5 { below * (p / below).ln() } else { above * (above / (1.0 - p)).ln() };
        if step < 0.0 {
            hi = x
        } else {
            lo = x
        }
        let next = x + step * x / (factor(a, x) * a);
        // Once steps are small the next is the last: after it nothing is left but rounding, which would lead the search astray.
        if is_near && next.is_finite() {
            return next;
        }
        is_near = (next - x).abs() <= 1e-6 * x;
        x = if lo < next && next < hi || is_near { next } else { between(lo, hi) };
    }
    x
}

/// A place between the ends of a search.
fn between(lo: f64, hi: f64) -> f64 {
    match (lo > 0.0, hi.is_finite()) {
        (true, true) => (lo * hi).sqrt(),
        (true, false) => 2.0 * lo,
        (false, true) => hi / 16.0,
        (false, false) => 1.0,
    }
}

/// Near the root: the series' first term for what lies far below the mean, Wilson and Hilferty's cube for the rest.
fn start(a: f64, p: f64) -> f64 {
    let low = ((p.ln() + libm::lgamma(a + 1.0)) / a).exp();
    let z = pointillist::internals::numerics::normal_quantile(p);
    let cube = a * (1.0 - 1.0 / (9.0 * a) + z / (3.0 * a.sqrt())).powi(3);
    if low < 0.2 * (a + 1.0) || !(cube > 0.0 && cube.is_finite()) { low.max(f64::MIN_POSITIVE) } else { cube }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shape, probability, quantile: by 40-digit arithmetic (mpmath).
    const QUANTILES: [(f64, f64, f64); 15] = [
        (0.5, 1e-10, 7.853_981_633_974_484e-21),
        (0.5, 0.025, 0.000_491_034_558_587_628),
        (0.5, 0.975, 2.511_943_093_657_443_6),
        (0.5, 0.999999, 11.964_063_488_439_734),
        (1.0, 0.5, std::f64::consts::LN_2),
        (3.5, 1e-10, 0.002_802_834_246_240_622_7),
        (3.5, 0.975, 8.006_382_137_314_661),
        (19.5, 0.025, 11.827_162_278_796_51),
        (19.5, 0.999999, 48.062_782_456_463_22),
        (20.5, 1e-10, 3.203_967_732_345_263),
        (20.5, 0.5, 20.167_647_460_374_564),
        (20.5, 0.975, 30.280_285_867_421_874),
        (143.5, 1e-10, 79.911_663_438_173_96),
        (143.5, 0.025, 120.982_312_470_419_97),
        (143.5, 0.999999, 207.798_520_924_524_84),
    ];

    #[test]
    fn quantiles_are_those_of_forty_digits() {
        for (a, p, want) in QUANTILES {
            let got = quantile(a, p);
            assert!((got / want - 1.0).abs() < 1e-13, "{a} {p}: {got} {want}");
        }
        assert_eq!(quantile(2.0, 0.0), 0.0);
        assert_eq!(quantile(2.0, 1.0), f64::INFINITY);
    }

    #[test]
    fn tails_of_large_shapes_are_those_of_forty_digits() {
        let cases = [
            (100_000.5, 100_500.25, 0.942_805_936_862_903_6, 0.057_194_063_137_096_414),
            (100_000.5, 99_500.25, 0.056_651_896_017_459_62, 0.943_348_103_982_540_4),
            (1_000_000.5, 1_004_000.0, 0.999_967_586_267_290_7, 3.241_373_270_932_196e-5),
            (1_000_000.5, 996_000.0, 3.094_155_407_434_908_6e-5, 0.999_969_058_445_925_7),
        ];
        for (a, x, below, above) in cases {
            let got = tails(a, x);
            let close = |got: f64, want: f64| (got / want - 1.0).abs() < 1e-11;
            assert!(close(got.0, below) && close(got.1, above), "{a} {x}: {got:?}");
        }
    }

    #[test]
    fn quantiles_invert_both_tails() {
        for a in [1e-3, 0.1, 0.5, 2.0, 17.0, 999.5, 1e5, 1e7] {
            for p in [1e-300, 1e-20, 1e-3, 0.1, 0.4999, 0.5, 0.51, 0.9, 1.0 - 1e-9] {
                let x = quantile(a, p);
                if x < 1e-290 {
                    continue; // the root is under the smallest double, or nearly
                }
                let (below, above) = tails(a, x);
                let error = if p < 0.5 { below / p - 1.0 } else { above / (1.0 - p) - 1.0 };
                // The relative rounding of x, times x times the density over the tail.
                let unavoidable = 1e-15 * (1.0 + (factor(a, x) * a) / below.min(above));
                assert!(error.abs() < 1e-13 + 4.0 * unavoidable, "{a} {p}: {x} {error}");
            }
        }
    }
}
