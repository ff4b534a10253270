//! The cosine factor, cos(2π(x−y)/period): one wave, for ever.
//!
//! Its integrals are sines. Its tables take the sine and cosine of each point, not of each pair.

use crate::kernel::{Bars, Formula, Parameter};
use crate::numerics::dual::Real;
use crate::window::Span;
use std::f64::consts::TAU;

/// cos(2π(x−y)/period).
pub struct Cosine;

impl Formula for Cosine {
    fn name() -> &'static str {
        "cosine"
    }

    fn formula() -> &'static str {
        "cos(2π·d/period)"
    }

    fn parameters() -> &'static [Parameter] {
        &[Parameter::PERIOD]
    }

    fn k<R: Real>(theta: &[R], z: R, x: R) -> R {
        ((z - x) / theta[0] * TAU).cos()
    }

    fn period(theta: &[f64]) -> Option<f64> {
        Some(theta[0])
    }

    fn length(theta: &[f64]) -> f64 {
        theta[0] / TAU * 2.0
    }

    fn phi<R: Real>(theta: &[R], z: R, span: Span) -> R {
        let frequency = R::from(TAU) / theta[0];
        let middle = 0.5 * (span.lo + span.hi);
        (frequency * (0.5 * span.length())).sin() / frequency * (frequency * (z - middle)).cos() * 2.0
    }

    fn psi<R: Real>(theta: &[R], z: R, w: R, span: Span) -> R {
        // cos·cos = half the cosine of the difference, which x is not in, and half that of the sum
        let frequency = R::from(TAU) / theta[0];
        let difference = (frequency * (z - w)).cos() * span.length();
        let middle = span.lo + span.hi;
        let sum = (frequency * span.length()).sin() / frequency * (frequency * (z + w - middle)).cos();
        (difference + sum) * 0.5
    }

    fn gram(theta: &[f64], z: &[f64], x: &[f64], out: &mut [f64]) {
        let frequency = TAU / theta[0];
        let (z, x) = (Angles::new(z, z[0], frequency), Angles::new(x, z[0], frequency));
        for (column, &x) in out.chunks_exact_mut(z.0.len()).zip(&x.0) {
            column.iter_mut().zip(&z.0).for_each(|(out, z)| *out = z.cos_to(x));
        }
    }

    fn gram_adjoint(theta: &[f64], z: &[f64], x: &[f64], _k: &[f64], k_bar: &[f64], bars: Bars<'_>) {
        let Bars { theta: theta_bar, z: mut z_bar } = bars;
        let frequency = TAU / theta[0];
        let (z_angles, x_angles) = (Angles::new(z, z[0], frequency), Angles::new(x, z[0], frequency));
        let mut by_frequency = 0.0;
        for (j, column) in k_bar.chunks_exact(z.len()).enumerate() {
            for (i, bar) in column.iter().enumerate() {
                let by_angle = -bar * z_angles.0[i].sin_to(x_angles.0[j]);
                by_frequency += by_angle * (z[i] - x[j]);
                if let Some(z_bar) = &mut z_bar {
                    z_bar[i] += by_angle * frequency;
                }
            }
        }
        theta_bar[0] -= by_frequency * frequency / theta[0];
    }
}

/// An angle by its sine and cosine, which give those of any difference without another call.
#[derive(Clone, Copy)]
pub(super) struct Angle {
    sin: f64,
    cos: f64,
}

impl Angle {
    /// The sine of this angle less the other.
    #[inline(always)]
    pub(super) fn sin_to(self, other: Self) -> f64 {
        self.sin * other.cos - self.cos * other.sin
    }

    /// The cosine of this angle less the other.
    #[inline(always)]
    pub(super) fn cos_to(self, other: Self) -> f64 {
        self.cos * other.cos + self.sin * other.sin
    }
}

/// Angles of points.
pub(super) struct Angles(pub(super) Vec<Angle>);

impl Angles {
    /// frequency·(point − zero); a zero near the points keeps the angles small, and their sines exact.
    pub(super) fn new(points: &[f64], zero: f64, frequency: f64) -> Self {
        let angle = |point: &f64| {
            let (sin, cos) = ((point - zero) * frequency).sin_cos();
            Angle { sin, cos }
        };
        Self(points.iter().map(angle).collect())
    }
}
