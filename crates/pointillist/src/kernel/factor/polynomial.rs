//! The polynomial factor, ((x−o)(y−o) + offset)^degree: trends. An origin o of 0 gives the textbook formula.
//!
//! Its integrals are exact: the integrand is a polynomial in x, and Gauss-Legendre with enough nodes leaves nothing out.
//! (Expanded into monomials the same integral would lose the digits in which they cancel.) Cost: degree + 1 values of k for
//! Ψ, half as many for φ.

use crate::kernel::{Formula, Parameter, Unit};
use crate::numerics::dual::Real;
use crate::numerics::gauss::GaussLegendre;
use crate::window::Span;
use std::sync::OnceLock;

/// ((x−o)(y−o) + offset)^degree.
pub struct Polynomial;

const MOST_DEGREE: usize = 20;

const DEGREE: Parameter =
    Parameter { name: "degree", unit: Unit::Number, start: 2.0, range: (1.0, MOST_DEGREE as f64), learned: false };

/// How far f is from 0 at the origin: the square of a length, because it is added to a product of two.
pub(super) const OFFSET: Parameter =
    Parameter { name: "offset", unit: Unit::Area, start: 0.25, range: (1e-6, 1e4), learned: true };

/// Where the two distances are measured from.
pub(super) const ORIGIN: Parameter =
    Parameter { name: "origin", unit: Unit::Place, start: 0.5, range: (-1e2, 1e2), learned: false };

impl Formula for Polynomial {
    fn name() -> &'static str {
        "polynomial"
    }

    fn formula() -> &'static str {
        "((x - origin)·(y - origin) + offset)^degree"
    }

    fn parameters() -> &'static [Parameter] {
        &[DEGREE, OFFSET, ORIGIN]
    }

    fn objection(theta: &[f64]) -> Option<String> {
        let is_possible = (1..=MOST_DEGREE).any(|degree| degree as f64 == theta[0]);
        (!is_possible).then(|| {
            format!(
                "the degree of a polynomial must be a whole number from 1 to {MOST_DEGREE}, not {}; for something more \
                 flexible use `se`, for something smoother a lower degree or `linear`",
                theta[0]
            )
        })
    }

    fn homogeneity(theta: &[f64]) -> f64 {
        2.0 * theta[0]
    }

    fn has_unit_diagonal() -> bool {
        false
    }

    fn k<R: Real>(theta: &[R], z: R, x: R) -> R {
        let (offset, origin) = (theta[1], theta[2]);
        ((z - origin) * (x - origin) + offset).powi(degree(theta) as i32)
    }

    fn length(theta: &[f64]) -> f64 {
        // A polynomial has no length of its own. In units of the window this one gives a span enough nodes to be exact on it.
        1.0 / theta[0]
    }

    fn phi<R: Real>(theta: &[R], z: R, span: Span) -> R {
        exact_rule(degree(theta))
            .on(span.lo, span.hi)
            .fold(R::from(0.0), |sum, (x, weight)| sum + Self::k(theta, z, R::from(x)) * weight)
    }

    fn psi<R: Real>(theta: &[R], z: R, w: R, span: Span) -> R {
        exact_rule(2 * degree(theta)).on(span.lo, span.hi).fold(R::from(0.0), |sum, (x, weight)| {
            sum + Self::k(theta, z, R::from(x)) * Self::k(theta, R::from(x), w) * weight
        })
    }
}

/// The degree: no variable, whatever derivatives come with it.
fn degree<R: Real>(theta: &[R]) -> usize {
    theta[0].value() as usize
}

/// The smallest rule that is exact for polynomials of this degree, made when it is first asked for.
fn exact_rule(degree: usize) -> &'static GaussLegendre {
    static RULES: [OnceLock<GaussLegendre>; MOST_DEGREE + 1] = [const { OnceLock::new() }; MOST_DEGREE + 1];
    let half = (degree / 2).min(MOST_DEGREE); // a higher degree has been objected to
    RULES[half].get_or_init(|| GaussLegendre::new(half + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ∫ (a x + b)ⁿ (c x + d)ⁿ dx over the span by monomials, in which the digits cancel: good for low degrees and near 0.
    fn by_monomials(n: i32, (a, b): (f64, f64), (c, d): (f64, f64), span: Span) -> f64 {
        let linear = [b * d, a * d + b * c, a * c];
        let mut coefficients = vec![1.0];
        for _ in 0..n {
            let mut next = vec![0.0; coefficients.len() + 2];
            for (i, c) in coefficients.iter().enumerate() {
                linear.iter().enumerate().for_each(|(j, l)| next[i + j] += c * l);
            }
            coefficients = next;
        }
        let antiderivative = |x: f64| -> f64 {
            coefficients.iter().enumerate().map(|(i, c)| c * x.powi(i as i32 + 1) / (i + 1) as f64).sum()
        };
        antiderivative(span.hi) - antiderivative(span.lo)
    }

    #[test]
    fn exact_rule_against_monomials() {
        let span = Span { lo: -0.4, hi: 1.1 };
        let (z, w, offset, origin) = (0.6, 0.9, 0.8, 0.25);
        for n in 1..=MOST_DEGREE {
            let line = |z: f64| (z - origin, offset - origin * (z - origin));
            let got = Polynomial::psi(&[n as f64, offset, origin], z, w, span);
            let want = by_monomials(n as i32, line(z), line(w), span);
            assert!((got / want - 1.0).abs() < 1e-13, "{n}: {got} {want}");
        }
    }

    #[test]
    fn degrees_that_are_none() {
        for degree in [0.5, 1.5, 20.5, 21.0, 1e9] {
            let objection = Polynomial::objection(&[degree, 1.0, 0.0]).unwrap();
            assert!(objection.contains("whole number") && objection.contains("`se`"), "{objection}");
        }
        assert!((1..=20).all(|degree| Polynomial::objection(&[degree as f64, 1.0, 0.0]).is_none()));
    }
}
