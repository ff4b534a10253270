//! The squared-exponential factor, exp(−(x−y)²/(2ℓ²)); the paper's α is ℓ².
//!
//! Its integrals over a span are erf's (the paper's Ψ). Its tables are overridden for speed: `gram` runs the vector
//! exponential, `gram_adjoint` reuses the values, and Ψ of an evenly spaced list depends on z−w and z+w alone, which leaves
//! 2U−1 pairs of erf's in place of U².

use crate::kernel::{Bars, Formula, Parameter};
use crate::numerics::dual::Real;
use crate::numerics::special::erf_difference;
use crate::numerics::vector::exp_in_place;
use crate::window::Span;
use std::f64::consts::{PI, SQRT_2};

/// exp(−(x−y)²/(2ℓ²)).
pub struct SquaredExponential;

impl Formula for SquaredExponential {
    fn name() -> &'static str {
        "se"
    }

    fn formula() -> &'static str {
        "exp(-d²/(2·lengthscale²))"
    }

    fn parameters() -> &'static [Parameter] {
        &[Parameter::LENGTHSCALE]
    }

    fn k<R: Real>(theta: &[R], z: R, x: R) -> R {
        let distance = (z - x) / theta[0];
        (distance * distance * -0.5).exp()
    }

    fn length(theta: &[f64]) -> f64 {
        theta[0]
    }

    fn phi<R: Real>(theta: &[R], z: R, span: Span) -> R {
        let width = theta[0] * SQRT_2;
        let ends = R::erf_difference((-z + span.lo) / width, (-z + span.hi) / width);
        width * ends * (0.5 * PI.sqrt())
    }

    fn psi<R: Real>(theta: &[R], z: R, w: R, span: Span) -> R {
        let (middle, distance) = ((z + w) * 0.5, (z - w) / theta[0]);
        let ends = R::erf_difference((-middle + span.lo) / theta[0], (-middle + span.hi) / theta[0]);
        theta[0] * (distance * distance * -0.25).exp() * ends * (0.5 * PI.sqrt())
    }

    fn gram(theta: &[f64], z: &[f64], x: &[f64], out: &mut [f64]) {
        let factor = -0.5 / (theta[0] * theta[0]);
        for (column, &x) in out.chunks_exact_mut(z.len()).zip(x) {
            column.iter_mut().zip(z).for_each(|(out, &z)| *out = factor * (z - x) * (z - x));
        }
        exp_in_place(out);
    }

    fn gram_adjoint(theta: &[f64], z: &[f64], x: &[f64], k: &[f64], k_bar: &[f64], bars: Bars<'_>) {
        let Bars { theta: theta_bar, z: z_bar } = bars;
        let mut square = 0.0; // Σ k̄ k (z−x)²
        let mut none = Vec::new();
        let z_bar = z_bar.unwrap_or(&mut none);
        let inverse = 1.0 / (theta[0] * theta[0]);
        let columns = k.chunks_exact(z.len()).zip(k_bar.chunks_exact(z.len()));
        for ((k, k_bar), &x) in columns.zip(x) {
            square += weighted_squares(k, k_bar, z, x);
            for (i, sum) in z_bar.iter_mut().enumerate() {
                *sum -= k_bar[i] * k[i] * (z[i] - x) * inverse;
            }
        }
        theta_bar[0] += square * inverse / theta[0];
    }

    fn psi_table(theta: &[f64], z: &[f64], span: Span, out: &mut [f64]) {
        let Some(even) = EvenPsi::new(theta[0], z, span) else {
            return Self::psi_pair_by_pair(theta, z, span, out);
        };
        for (j, column) in out.chunks_exact_mut(z.len()).enumerate() {
            for (i, psi) in column.iter_mut().enumerate() {
                *psi = even.distance[i.abs_diff(j)] * even.ends[i + j];
            }
        }
    }

    fn psi_table_adjoint(theta: &[f64], z: &[f64], span: Span, psi_bar: &[f64], bars: Bars<'_>) {
        let Bars { theta: theta_bar, z: mut z_bar } = bars;
        let l = theta[0];
        let even = if z_bar.is_none() { EvenPsi::new(l, z, span) } else { None };
        let mut sum = 0.0;
        for (j, column) in psi_bar.chunks_exact(z.len()).enumerate() {
            for (i, &bar) in column.iter().enumerate() {
                let by_l = match &even {
                    Some(even) => {
                        let (d, s) = (i.abs_diff(j), i + j);
                        even.distance_by_l[d] * even.ends[s] + even.distance[d] * even.ends_by_l[s]
                    }
                    None => {
                        let (by_l, by_z) = psi_derivatives(l, z[i], z[j], span);
                        if let Some(z_bar) = &mut z_bar {
                            z_bar[i] += 2.0 * bar * by_z; // psi_bar is symmetric
                        }
                        by_l
                    }
                };
                sum += bar * by_l;
            }
        }
        theta_bar[0] += sum;
    }
}

/// Σ_i k̄_i k_i (z_i − x)², with four running sums so that it vectorises.
fn weighted_squares(k: &[f64], k_bar: &[f64], z: &[f64], x: f64) -> f64 {
    let mut sums = [0.0; 4];
    let whole = z.len() / 4 * 4;
    for i in (0..whole).step_by(4) {
        for lane in 0..4 {
            let d = z[i + lane] - x;
            sums[lane] += k_bar[i + lane] * k[i + lane] * d * d;
        }
    }
    let tail: f64 = (whole..z.len()).map(|i| k_bar[i] * k[i] * (z[i] - x) * (z[i] - x)).sum();
    sums.iter().sum::<f64>() + tail
}

/// Ψ's derivatives by ℓ and by its first point.
fn psi_derivatives(l: f64, z: f64, w: f64, span: Span) -> (f64, f64) {
    let (middle, distance) = (0.5 * (z + w), (z - w) / l);
    let decay = (-0.25 * distance * distance).exp();
    let (a, b) = ((span.lo - middle) / l, (span.hi - middle) / l);
    let (at_a, at_b) = ((-a * a).exp(), (-b * b).exp());
    let psi = 0.5 * PI.sqrt() * l * decay * erf_difference(a, b);
    let by_l = psi / l * (1.0 + 0.5 * distance * distance) - decay * (b * at_b - a * at_a);
    let by_z = -0.5 * distance / l * psi - 0.5 * decay * (at_b - at_a);
    (by_l, by_z)
}

/// Ψ of an evenly spaced list: a function of |i−j| times a function of i+j.
struct EvenPsi {
    distance: Vec<f64>,
    distance_by_l: Vec<f64>,
    ends: Vec<f64>,
    ends_by_l: Vec<f64>,
}

impl EvenPsi {
    fn new(l: f64, z: &[f64], span: Span) -> Option<Self> {
        let (first, last) = (*z.first()?, *z.last()?);
        let step = (last - first) / (z.len() as f64 - 1.0);
        // A list that rounding alone has moved counts as even; Ψ then moves by rounding too.
        let slack = 4.0 * f64::EPSILON * (first.abs() + last.abs() + span.length());
        let is_even = z.len() > 2 && z.iter().enumerate().all(|(i, z)| (z - first - step * i as f64).abs() <= slack);
        if !is_even {
            return None;
        }
        let mut even = Self { distance: vec![], distance_by_l: vec![], ends: vec![], ends_by_l: vec![] };
        for i in 0..z.len() {
            let d = step * i as f64 / l;
            let decay = (-0.25 * d * d).exp();
            even.distance.push(decay);
            even.distance_by_l.push(decay * 0.5 * d * d / l);
        }
        for i in 0..2 * z.len() - 1 {
            let middle = 0.5 * (z[i / 2] + z[i.div_ceil(2)]);
            let (a, b) = ((span.lo - middle) / l, (span.hi - middle) / l);
            let erf = 0.5 * PI.sqrt() * erf_difference(a, b);
            even.ends.push(l * erf);
            even.ends_by_l.push(erf - (b * (-b * b).exp() - a * (-a * a).exp()));
        }
        Some(even)
    }
}
