//! Modified Bessel functions of the first kind, scaled: e⁻ˣ I_k(x) for k = 0, 1, ..., as many as matter in double precision.
//!
//! By Miller's backward recurrence I_{k−1} = I_{k+1} + (2k/x) I_k, which has positive terms only, and the sum
//! I₀ + 2 Σ I_k = eˣ to fix the scale. Not: negative arguments (I_k(−x) = (−1)ᵏ I_k(x)), orders that are not whole, other
//! kinds. Cost: two operations per term, and 9√x + 8 terms.

/// Below it the first two functions are known to the last bit from their series, and 2k/x might overflow.
const TINY: f64 = 1e-10;

/// Number of functions that matter for x ≥ 0: from this order on they are below 1e-18 of I₀.
pub fn bessel_terms(x: f64) -> usize {
    (9.2 * x.sqrt() + 8.0).ceil() as usize
}

/// e⁻ˣ I_k(x) for x ≥ 0 and k below [`bessel_terms`]; an absolute accuracy of 1e-16, relative but for the last few.
pub fn scaled_bessel(x: f64) -> Vec<f64> {
    let mut out = vec![0.0; bessel_terms(x)];
    if x < TINY {
        (out[0], out[1]) = (1.0 - x, 0.5 * x);
        return out;
    }
    let last = out.len() - 1;
    let (mut after, mut now, mut sum) = (0.0, 1e-200, 0.0);
    let step = 2.0 / x;
    for k in (1..=last).rev() {
        out[k] = now;
        sum += now;
        (after, now) = (now, after + k as f64 * step * now);
    }
    out[0] = now;
    let scale = 1.0 / (now + 2.0 * sum);
    out.iter_mut().for_each(|value| *value *= scale);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const ARGUMENTS: [f64; 9] = [0.0, 1e-12, 1e-9, 0.01, 0.7, 2.0, 31.0, 400.0, 2e4];

    #[test]
    fn generating_function() {
        for x in ARGUMENTS {
            let bessel = scaled_bessel(x);
            for angle in [0.0f64, 0.1, 1.0, 2.5, 3.1] {
                let cosines = bessel.iter().enumerate().skip(1).map(|(k, b)| 2.0 * b * (k as f64 * angle).cos());
                let got = bessel[0] + cosines.sum::<f64>();
                let want = (-2.0 * x * (0.5 * angle).sin().powi(2)).exp();
                assert!((got - want).abs() < 1e-14, "{x} {angle}: {got} {want}");
            }
        }
    }

    #[test]
    fn series_of_single_functions() {
        for x in [1e-9f64, 0.01, 0.7, 2.0] {
            let bessel = scaled_bessel(x);
            for k in 0..8 {
                let mut term = (-x).exp() * (1..=k).fold(1.0, |product, i| product * 0.5 * x / i as f64);
                let mut want = 0.0;
                for m in 1..40 {
                    want += term;
                    term *= 0.25 * x * x / (m * (m + k)) as f64;
                }
                assert!((bessel[k] - want).abs() <= 1e-14 * want + 1e-20, "{k} {x}: {} {want}", bessel[k]);
            }
        }
    }

    #[test]
    fn what_is_left_off_does_not_matter() {
        for x in &ARGUMENTS[3..] {
            let bessel = scaled_bessel(*x);
            assert!(*bessel.last().unwrap() < 1e-17 * bessel[0], "{x}");
        }
    }
}
