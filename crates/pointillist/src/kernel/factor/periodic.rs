//! The periodic factor, exp(−2 sin²(π(x−y)/period)/ℓ²): any shape that repeats itself. ℓ is a plain number.
//!
//! 2 sin² = 1 − cos 2(·) makes the integrand of φ, and of Ψ too, a constant times exp(q (cos θ − 1)) with q ≥ 0 and θ an angle
//! that runs with x. Its integral is a series in Bessel functions ([`series`]). Where that cancels (the span avoids the
//! peak of a narrow bump) or is long (a tiny ℓ), panels of quadrature laid where the integrand is do it ([`panels`]).
//!
//! Cost: 0.3 µs per value of Ψ for ℓ = 1, 1 for ℓ = 0.1, up to 5 by panels. Tables of k take sines of points, not of pairs.

use super::cosine::Angles;
use crate::kernel::{Bars, Formula, Parameter, Unit};
use crate::numerics::bessel::{bessel_terms, scaled_bessel};
use crate::numerics::dual::Real;
use crate::numerics::gauss::GaussLegendre;
use crate::numerics::vector::exp_in_place;
use crate::window::Span;
use std::f64::consts::{PI, TAU};
use std::sync::OnceLock;

/// exp(−2 sin²(π(x−y)/period)/ℓ²).
pub struct Periodic;

/// In units of the period, as it were: what matters is whether it is above or below 1.
const LENGTHSCALE: Parameter =
    Parameter { name: "lengthscale", unit: Unit::Number, start: 1.0, range: (1e-2, 1e2), learned: true };

/// A narrower bump than this is none.
const NARROWEST: f64 = 1e-3;

impl Formula for Periodic {
    fn name() -> &'static str {
        "periodic"
    }

    fn formula() -> &'static str {
        "exp(-2·sin²(π·d/period)/lengthscale²)"
    }

    fn parameters() -> &'static [Parameter] {
        &[Parameter::PERIOD, LENGTHSCALE]
    }

    fn k<R: Real>(theta: &[R], z: R, x: R) -> R {
        let sine = ((z - x) / theta[0] * PI).sin() / theta[1];
        (sine * sine * -2.0).exp()
    }

    fn period(theta: &[f64]) -> Option<f64> {
        Some(theta[0])
    }

    fn length(theta: &[f64]) -> f64 {
        // that of the wave, and of the peak of a squared exponential if it is much narrower
        theta[0] / TAU * (theta[1] / 1f64.hypot(theta[1]))
    }

    fn objection(theta: &[f64]) -> Option<String> {
        let why =
            || format!("the lengthscale of a periodic kernel, a part of its period, must be at least {NARROWEST}");
        (theta[1] < NARROWEST).then(why)
    }

    fn pair_by_pair_up_to() -> usize {
        32 // measured: a series per pair costs more than a share of the nodes
    }

    fn phi<R: Real>(theta: &[R], z: R, span: Span) -> R {
        let (period, strength) = (theta[0], R::from(1.0) / (theta[1] * theta[1]));
        bump_integral(strength, z, period, span)
    }

    fn psi<R: Real>(theta: &[R], z: R, w: R, span: Span) -> R {
        let (period, strength) = (theta[0], R::from(2.0) / (theta[1] * theta[1]));
        let angle = (z - w) / period * PI;
        let (sin, cos) = (angle.sin(), angle.cos());
        // The product of two bumps is a bump half-way between them, on that side of the circle where they are nearer.
        let is_far = cos.value() < 0.0;
        let cos = if is_far { -cos } else { cos };
        let middle = (z + w) * 0.5;
        let peak = if is_far { middle + period * 0.5 } else { middle };
        // exp(strength·(cos − 1)), without cancellation
        let height = (-(strength * sin * sin / (cos + 1.0))).exp();
        if height.value() == 0.0 {
            return height; // most pairs, if ℓ is tiny
        }
        height * bump_integral(strength * cos, peak, period, span)
    }

    fn gram(theta: &[f64], z: &[f64], x: &[f64], out: &mut [f64]) {
        let (frequency, factor) = (PI / theta[0], -2.0 / (theta[1] * theta[1]));
        let (z, x) = (Angles::new(z, z[0], frequency), Angles::new(x, z[0], frequency));
        for (column, &x) in out.chunks_exact_mut(z.0.len()).zip(&x.0) {
            for (out, z) in column.iter_mut().zip(&z.0) {
                let sin = z.sin_to(x);
                *out = factor * sin * sin;
            }
            exp_in_place(column);
        }
    }

    fn gram_adjoint(theta: &[f64], z: &[f64], x: &[f64], k: &[f64], k_bar: &[f64], bars: Bars<'_>) {
        let Bars { theta: theta_bar, z: mut z_bar } = bars;
        let (frequency, factor) = (PI / theta[0], -2.0 / (theta[1] * theta[1]));
        let (z_angles, x_angles) = (Angles::new(z, z[0], frequency), Angles::new(x, z[0], frequency));
        let (mut by_frequency, mut squares) = (0.0, 0.0);
        for (j, (k, k_bar)) in k.chunks_exact(z.len()).zip(k_bar.chunks_exact(z.len())).enumerate() {
            for i in 0..z.len() {
                let (sin, cos) = (z_angles.0[i].sin_to(x_angles.0[j]), z_angles.0[i].cos_to(x_angles.0[j]));
                let bar = k_bar[i] * k[i];
                let by_angle = 2.0 * factor * bar * sin * cos;
                squares += bar * sin * sin;
                by_frequency += by_angle * (z[i] - x[j]);
                if let Some(z_bar) = &mut z_bar {
                    z_bar[i] += by_angle * frequency;
                }
            }
        }
        theta_bar[0] -= by_frequency * frequency / theta[0];
        theta_bar[1] -= 2.0 * factor * squares / theta[1];
    }
}

/// ∫ exp(q (cos θ − 1)) dx over the span, θ = 2π(x − peak)/period.
fn bump_integral<R: Real>(q: R, peak: R, period: R, span: Span) -> R {
    let frequency = R::from(TAU) / period;
    let (a, b) = (frequency * (-peak + span.lo), frequency * (-peak + span.hi));
    let (q_value, from, to) = (q.value(), a.value(), b.value());
    let integral = series(q_value, from, to).unwrap_or_else(|| panels(q_value, from, to));
    let by_ends = b.chain(0.0, bump(q_value, to)) - a.chain(0.0, bump(q_value, from));
    (q.chain(integral.value, integral.by_q) + by_ends) / frequency
}

/// exp(q (cos θ − 1)), without cancellation.
fn bump(q: f64, angle: f64) -> f64 {
    let sin = (0.5 * angle).sin();
    (-2.0 * q * sin * sin).exp()
}

/// ∫ exp(q (cos θ − 1)) dθ and its derivative by q.
#[derive(Debug, Clone, Copy)]
struct Integral {
    value: f64,
    by_q: f64,
}

impl Integral {
    const ZERO: Self = Self { value: 0.0, by_q: 0.0 };

    fn plus(self, other: Self, times: f64) -> Self {
        Self { value: self.value + times * other.value, by_q: self.by_q + times * other.by_q }
    }
}

/// The integral as e⁻q (I₀θ + 2 Σ I_k sin(kθ)/k) from a to b; nothing if that is long, or loses more than two digits.
fn series(q: f64, a: f64, b: f64) -> Option<Integral> {
    /// From here on the panels are faster.
    const MOST_TERMS: usize = 300;
    /// The share that must be left of the sum of the terms' sizes.
    const LEAST_SHARE: f64 = 0.01;
    if bessel_terms(q) > MOST_TERMS {
        return None;
    }
    let bessel = scaled_bessel(q);
    let slope = |k: usize| 0.5 * (bessel[k - 1] + bessel.get(k + 1).unwrap_or(&0.0)) - bessel[k];
    let (middle, half) = (0.5 * (a + b), 0.5 * (b - a));
    let (middle_turn, half_turn) = (middle.sin_cos(), half.sin_cos());
    let (mut at_middle, mut at_half) = (middle_turn, half_turn); // sine and cosine of k times the angle
    let mut sum = Integral { value: half * bessel[0], by_q: half * (bessel[1] - bessel[0]) };
    let mut size = sum.value;
    for k in 1..bessel.len() {
        let wave = 2.0 * at_middle.1 * at_half.0 / k as f64; // half of sin kb − sin ka, and it does not cancel
        let term = wave * bessel[k];
        sum.value += term;
        sum.by_q += wave * slope(k);
        size += term.abs();
        (at_middle, at_half) = (turned(at_middle, middle_turn), turned(at_half, half_turn));
    }
    (sum.value >= LEAST_SHARE * size).then(|| Integral::ZERO.plus(sum, 2.0))
}

/// Sine and cosine of the sum of two angles.
fn turned((sin, cos): (f64, f64), (sin_by, cos_by): (f64, f64)) -> (f64, f64) {
    (sin * cos_by + cos * sin_by, cos * cos_by - sin * sin_by)
}

/// The integral by quadrature: whole turns at once, what is left cut at the peaks and the troughs.
fn panels(q: f64, a: f64, b: f64) -> Integral {
    let turns = ((b - a) / TAU).floor();
    let mut sum = Integral::ZERO;
    if turns > 0.0 {
        sum = sum.plus(slope_integral(q, 0.0, PI), 2.0 * turns);
    }
    let b = b - turns * TAU;
    let (first, last) = ((a / PI).floor() as i64, (b / PI).floor() as i64);
    for half_turn in first..=last {
        let (start, end) = (half_turn as f64 * PI, (half_turn + 1) as f64 * PI);
        let (from, to) = (a.max(start), b.min(end));
        // as distances from the peak, which stands at even half turns
        let (near, far) = if half_turn % 2 == 0 { (from - start, to - start) } else { (end - to, end - from) };
        if near < far {
            sum = sum.plus(slope_integral(q, near, far), 1.0);
        }
    }
    sum
}

/// The integral over angles from `near` to `far`, both from 0 to π, where the integrand falls.
fn slope_integral(q: f64, near: f64, far: f64) -> Integral {
    static RULE: OnceLock<GaussLegendre> = OnceLock::new();
    /// e to minus this is nothing.
    const DEEP: f64 = 42.0;
    let rule = RULE.get_or_init(|| GaussLegendre::new(24));
    let far = far.min((near.cos() - DEEP / q).max(-1.0).acos().max(near));
    let count = ((far - near) * 0.5 * q.max(1.0).sqrt()).ceil().max(1.0); // two standard deviations per panel
    let step = (far - near) / count;
    let mut sum = Integral::ZERO;
    for panel in 0..count as usize {
        let start = near + step * panel as f64;
        for (angle, weight) in rule.on(start, start + step) {
            let sin = (0.5 * angle).sin();
            let value = weight * (-2.0 * q * sin * sin).exp();
            sum = sum.plus(Integral { value, by_q: -2.0 * sin * sin * value }, 1.0);
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numerics::dual::Dual;

    #[test]
    fn series_and_panels_agree() {
        for q in [0.0, 0.03, 0.9, 3.0, 40.0, 700.0] {
            for (a, b) in [(-1.0, 0.4), (0.3, 2.0), (-9.0, 17.0), (2.9, 3.3), (-0.1, 6.2), (3.0 * PI, 4.0 * PI)] {
                let panels = panels(q, a, b);
                if let Some(series) = series(q, a, b) {
                    assert!((series.value / panels.value - 1.0).abs() < 1e-12, "{q} {a} {b}: {series:?} {panels:?}");
                    assert!((series.by_q - panels.by_q).abs() < 1e-13 * (b - a), "{q} {a} {b}: {series:?} {panels:?}");
                }
            }
        }
    }

    #[test]
    fn each_has_its_cases() {
        assert!(series(3.0, -1.0, 0.4).is_some());
        assert!(series(40.0, 2.9, 3.3).is_none()); // cancels
        assert!(series(1e4, -1.0, 0.4).is_none()); // is long
    }

    #[test]
    fn derivative_by_q() {
        let h = 1e-4;
        for (q, a, b) in [(0.7, -0.4, 1.9), (30.0, -0.2, 8.0), (2e3, -0.03, 0.05), (50.0, 2.0, 3.5)] {
            let value = |q: f64| series(q, a, b).unwrap_or_else(|| panels(q, a, b)).value;
            let slope = (value(q + h) - value(q - h)) / (2.0 * h);
            let got = series(q, a, b).unwrap_or_else(|| panels(q, a, b)).by_q;
            assert!((got / slope - 1.0).abs() < 1e-7, "{q}: {got} {slope}");
        }
    }

    #[test]
    fn psi_is_smooth_where_the_two_bumps_are_a_quarter_turn_apart() {
        let span = Span { lo: 0.0, hi: 1.7 };
        let psi = |w: f64| {
            let theta = [Dual::<4>::variable(1.0, 0), Dual::variable(0.8, 1)];
            Periodic::psi(&theta, Dual::variable(0.3, 2), Dual::variable(w, 3), span)
        };
        let (before, after) = (psi(0.8 - 1e-9), psi(0.8 + 1e-9));
        assert!((before.value() - after.value()).abs() < 1e-8);
        for (before, after) in before.derivatives().iter().zip(after.derivatives()) {
            assert!((before - after).abs() < 1e-7, "{before} {after}");
        }
    }
}
