//! Kernels that are a polynomial times an exponential of the distance, P(r) e⁻ʳ with r = rate·|x−y|: the Matérn family.
//!
//! Their integrals over a span are cut at the points. On each piece the integrand is again a polynomial times an
//! exponential (or, between two points, a polynomial times a constant), and every polynomial is expanded about that end of
//! the piece where its coefficients are positive: there is no cancellation, whatever the rate and wherever the points are.
//!
//! Not: polynomials of more than three coefficients, or with a negative one. Cost: a value of φ or Ψ is two lists of moments
//! of an exponential, 50 ns each, and some dozens of products; tables run the vector exponential.

use crate::numerics::dual::Real;
use crate::numerics::vector::exp_in_place;
use crate::window::Span;

/// The coefficients of P, lowest first; none negative.
#[derive(Clone, Copy)]
pub(crate) struct PolynomialDecay<const N: usize>(pub(crate) [f64; N]);

/// Coefficients of a product of two polynomials of three.
const MOST: usize = 5;

impl<const N: usize> PolynomialDecay<N> {
    /// P(r) e⁻ʳ.
    pub(crate) fn at<R: Real>(self, r: R) -> R {
        self.0.iter().rev().fold(R::from(0.0), |sum, &c| sum * r + c) * (-r).exp()
    }

    /// ∫ P(r) e⁻ʳ dx over the span, with r = rate·|x−z|.
    pub(crate) fn integral<R: Real>(self, rate: R, z: R, span: Span) -> R {
        let (above, below) = (at_least(z, span.lo), at_most(z, span.hi));
        let tail = |gap: R, length: R| (-gap).exp() * dot(&self.expanded(gap), &moments(length, 1.0, N));
        let mut sum = R::from(0.0);
        if above.value() <= span.hi {
            sum = sum + tail(rate * (above - z), rate * (-above + span.hi));
        }
        if below.value() >= span.lo {
            sum = sum + tail(rate * (z - below), rate * (below - span.lo));
        }
        sum / rate
    }

    /// ∫ P(r) P(s) e⁻ʳ⁻ˢ dx over the span, with r = rate·|x−z| and s = rate·|x−w|.
    pub(crate) fn product_integral<R: Real>(self, rate: R, z: R, w: R, span: Span) -> R {
        let (z, w) = if z.value() <= w.value() { (z, w) } else { (w, z) };
        let (above, below) = (at_least(w, span.lo), at_most(z, span.hi));
        let (from, to) = (at_least(z, span.lo), at_most(w, span.hi));
        let mut sum = R::from(0.0);
        if above.value() <= span.hi {
            sum = sum + self.beyond(rate * (above - z), rate * (above - w), rate * (-above + span.hi));
        }
        if below.value() >= span.lo {
            sum = sum + self.beyond(rate * (w - below), rate * (z - below), rate * (below - span.lo));
        }
        if from.value() <= to.value() {
            sum = sum + self.between(rate * (from - z), rate * (w - to), rate * (to - from));
        }
        sum / rate
    }

    /// ∫₀ʰ of the product with r = a + t and s = b + t.
    fn beyond<R: Real>(self, a: R, b: R, h: R) -> R {
        let (left, right) = (self.expanded(a), self.expanded(b));
        let mut product = [R::from(0.0); MOST];
        for i in 0..N {
            for j in 0..N {
                product[i + j] = product[i + j] + left[i] * right[j];
            }
        }
        (-(a + b)).exp() * dot(&product[..2 * N - 1], &moments(h, 2.0, 2 * N - 1))
    }

    /// ∫₀ʰ of the product with r = a + t and s = b + h − t: ∫ tⁱ (h−t)ʲ dt = hⁱ⁺ʲ⁺¹ i! j! / (i+j+1)!.
    fn between<R: Real>(self, a: R, b: R, h: R) -> R {
        const FACTORIAL: [f64; 6] = [1.0, 1.0, 2.0, 6.0, 24.0, 120.0];
        let (left, right) = (self.expanded(a), self.expanded(b));
        let mut by_power = [R::from(0.0); MOST];
        for i in 0..N {
            for j in 0..N {
                let beta = FACTORIAL[i] * FACTORIAL[j] / FACTORIAL[i + j + 1];
                by_power[i + j] = by_power[i + j] + left[i] * right[j] * beta;
            }
        }
        let polynomial = by_power[..2 * N - 1].iter().rev().fold(R::from(0.0), |sum, &c| sum * h + c) * h;
        (-(a + b + h)).exp() * polynomial
    }

    /// The coefficients of P(a + t) by powers of t.
    fn expanded<R: Real>(self, a: R) -> [R; N] {
        let mut out = self.0.map(R::from);
        for i in 1..N {
            for j in (i - 1..N - 1).rev() {
                out[j] = out[j] + a * out[j + 1];
            }
        }
        out
    }

    /// The kernel of all pairs; `out` is (Z, X).
    pub(crate) fn gram(self, rate: f64, z: &[f64], x: &[f64], out: &mut [f64]) {
        // column by column, so that the second pass finds its numbers near
        for (column, &x) in out.chunks_exact_mut(z.len()).zip(x) {
            column.iter_mut().zip(z).for_each(|(out, &z)| *out = -rate * (z - x).abs());
            exp_in_place(column);
            column.iter_mut().zip(z).for_each(|(out, &z)| *out *= horner(&self.0, rate * (z - x).abs()));
        }
    }

    /// Adjoint of [`PolynomialDecay::gram`] by the rate, which it returns, and by z; `k` is its output.
    pub(crate) fn gram_adjoint(
        self,
        rate: f64,
        (z, x): (&[f64], &[f64]),
        k: &[f64],
        k_bar: &[f64],
        z_bar: Option<&mut [f64]>,
    ) -> f64 {
        let slope = self.slope();
        // k̄ times the derivative by r; e⁻ʳ is k/P, which saves the exponential
        let by_r = |k: f64, bar: f64, r: f64| bar * k * horner(&slope, r) / horner(&self.0, r);
        let columns = || k.chunks_exact(z.len()).zip(k_bar.chunks_exact(z.len())).zip(x);
        let mut rate_bar = 0.0;
        if let Some(z_bar) = z_bar {
            for ((k, k_bar), &x) in columns() {
                for i in 0..z.len() {
                    let d = z[i] - x;
                    let bar = by_r(k[i], k_bar[i], rate * d.abs());
                    rate_bar += bar * d.abs();
                    z_bar[i] += bar * rate * (f64::from(d > 0.0) - f64::from(d < 0.0)); // no slope at the kink
                }
            }
        } else {
            for ((k, k_bar), &x) in columns() {
                let terms = (0..z.len()).map(|i| by_r(k[i], k_bar[i], rate * (z[i] - x).abs()) * (z[i] - x).abs());
                rate_bar += terms.sum::<f64>();
            }
        }
        rate_bar
    }

    /// The coefficients of P′ − P: d/dr P e⁻ʳ = (P′ − P) e⁻ʳ.
    fn slope(self) -> [f64; N] {
        std::array::from_fn(|i| self.0.get(i + 1).map_or(0.0, |next| (i + 1) as f64 * next) - self.0[i])
    }
}

/// Σ cₙ rⁿ.
#[inline(always)]
fn horner(coefficients: &[f64], r: f64) -> f64 {
    coefficients.iter().rev().fold(0.0, |sum, c| sum * r + c)
}

fn dot<R: Real>(a: &[R], b: &[R]) -> R {
    a.iter().zip(b).fold(R::from(0.0), |sum, (&a, &b)| sum + a * b)
}

/// x or the bound. A tie is x, here and below, and pieces of no length count: all then speak of the same side of the kink,
/// and their derivatives add up.
fn at_least<R: Real>(x: R, bound: f64) -> R {
    if x.value() >= bound { x } else { R::from(bound) }
}

fn at_most<R: Real>(x: R, bound: f64) -> R {
    if x.value() <= bound { x } else { R::from(bound) }
}

/// ∫₀ʰ tⁿ e^{−decay·t} dt for the first `count` n; zero from there on.
fn moments<R: Real>(h: R, decay: f64, count: usize) -> [R; MOST] {
    let gamma = incomplete_gamma(decay * h.value(), count);
    let (mut power, mut scale) = ((-decay * h.value()).exp(), 1.0 / decay); // hⁿ e^{−decay·h} and decay^{−n−1}
    let mut out = [R::from(0.0); MOST];
    for n in 0..count {
        out[n] = h.chain(scale * gamma[n], power);
        power *= h.value();
        scale /= decay;
    }
    out
}

/// ∫₀ˣ tⁿ e⁻ᵗ dt for the first `count` n, each to a few units in the last place.
fn incomplete_gamma(x: f64, count: usize) -> [f64; MOST] {
    /// Above it the recurrence may run upwards, the fast direction: it loses less than a digit there.
    const UPWARDS: f64 = 4.0;
    let mut out = [0.0; MOST];
    let decay = (-x).exp();
    if x > UPWARDS {
        out[0] = -(-x).exp_m1();
        let mut edge = decay;
        for n in 1..count {
            edge *= x;
            out[n] = n as f64 * out[n - 1] - edge;
        }
        return out;
    }
    // The series of the last, xⁿ⁺¹ e⁻ˣ Σ xᵏ/((n+1)…(n+1+k)), and from there down: positive terms only.
    let last = count - 1;
    let mut divisor = count as f64;
    let (mut term, mut sum) = (1.0 / divisor, 0.0);
    while term > 1e-17 * sum {
        sum += term;
        divisor += 1.0;
        term *= x / divisor;
    }
    out[last] = x.powi(count as i32) * decay * sum;
    for n in (0..last).rev() {
        out[n] = (out[n + 1] + x.powi(n as i32 + 1) * decay) / (n + 1) as f64;
    }
    out
}

/// A factor P(r) e⁻ʳ, r = rate·|x−y|/lengthscale, with everything that follows from its polynomial.
macro_rules! polynomial_decay {
    ($(#[$doc:meta])* $type:ident, $name:literal, $formula:literal, $coefficients:expr, $rate:expr) => {
        use $crate::kernel::poly_exp::PolynomialDecay;
        use $crate::kernel::{Bars, Formula, Parameter};
        use $crate::numerics::dual::Real;
        use $crate::window::Span;

        $(#[$doc])*
        pub struct $type;

        const SHAPE: PolynomialDecay<{ $coefficients.len() }> = PolynomialDecay($coefficients);
        const RATE: f64 = $rate;

        impl Formula for $type {
            fn name() -> &'static str {
                $name
            }

            fn formula() -> &'static str {
                $formula
            }

            fn parameters() -> &'static [Parameter] {
                &[Parameter::LENGTHSCALE]
            }

            fn k<R: Real>(theta: &[R], z: R, x: R) -> R {
                SHAPE.at((z - x).abs() / theta[0] * RATE)
            }

            fn length(theta: &[f64]) -> f64 {
                theta[0]
            }

            fn has_kink() -> bool {
                true
            }

            fn phi<R: Real>(theta: &[R], z: R, span: Span) -> R {
                SHAPE.integral(R::from(RATE) / theta[0], z, span)
            }

            fn psi<R: Real>(theta: &[R], z: R, w: R, span: Span) -> R {
                SHAPE.product_integral(R::from(RATE) / theta[0], z, w, span)
            }

            fn gram(theta: &[f64], z: &[f64], x: &[f64], out: &mut [f64]) {
                SHAPE.gram(RATE / theta[0], z, x, out);
            }

            fn gram_adjoint(
                theta: &[f64],
                z: &[f64],
                x: &[f64],
                k: &[f64],
                k_bar: &[f64],
                bars: Bars<'_>,
            ) {
                let rate = RATE / theta[0];
                bars.theta[0] -= rate / theta[0] * SHAPE.gram_adjoint(rate, (z, x), k, k_bar, bars.z);
            }
        }
    };
}
pub(crate) use polynomial_decay;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numerics::dual::Dual;
    use crate::numerics::gauss::GaussLegendre;

    const SHAPE: PolynomialDecay<3> = PolynomialDecay([1.0, 1.0, 1.0 / 3.0]);

    #[test]
    fn moments_by_quadrature() {
        let rule = GaussLegendre::new(40);
        for x in [1e-9, 1e-3, 0.3, 1.0, 3.99, 4.01, 7.0, 20.0] {
            for count in [1, 2, 3, 5] {
                let got = incomplete_gamma(x, count);
                for n in 0..count {
                    let want: f64 = rule.on(0.0, x).map(|(t, weight)| weight * t.powi(n as i32) * (-t).exp()).sum();
                    assert!((got[n] / want - 1.0).abs() < 3e-14, "{x} {n} of {count}: {} {want}", got[n]);
                }
            }
        }
        assert_eq!(incomplete_gamma(0.0, 3), [0.0; MOST]);
        assert_eq!(incomplete_gamma(1e4, 5), [1.0, 1.0, 2.0, 6.0, 24.0]);
    }

    #[test]
    fn expansion_about_another_point() {
        let (a, t) = (0.7, 0.4);
        let got = horner(&SHAPE.expanded(a), t);
        assert!((got - horner(&SHAPE.0, a + t)).abs() < 1e-15);
        assert!((SHAPE.at(1.1) - horner(&SHAPE.0, 1.1) * (-1.1f64).exp()).abs() < 1e-15);
    }

    #[test]
    fn derivatives_are_continuous_where_points_meet_each_other_and_the_ends() {
        let span = Span { lo: 0.2, hi: 1.1 };
        let derivatives = |z: f64, w: f64| {
            let (rate, z, w) = (Dual::<3>::variable(3.0, 0), Dual::variable(z, 1), Dual::variable(w, 2));
            *SHAPE.product_integral(rate, z, w, span).derivatives()
        };
        for (z, w) in [(0.5, 0.5), (0.2, 0.7), (1.1, 0.4), (0.2, 0.2), (1.1, 0.2), (-0.3, 0.2), (1.4, 1.1)] {
            let at = derivatives(z, w);
            for (dz, dw) in [(1e-9, 0.0), (-1e-9, 0.0), (0.0, 1e-9), (0.0, -1e-9)] {
                let near = derivatives(z + dz, w + dw);
                assert!(at.iter().zip(&near).all(|(a, b)| (a - b).abs() < 1e-7), "{z} {w}: {at:?} {near:?}");
            }
        }
    }
}
