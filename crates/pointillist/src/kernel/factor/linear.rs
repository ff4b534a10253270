//! The linear factor, (x−o)(y−o) + offset: straight lines. The polynomial of degree 1.

use super::Polynomial;
use super::polynomial::{OFFSET, ORIGIN};
use crate::kernel::{Formula, Parameter};
use crate::numerics::dual::Real;
use crate::window::Span;

/// (x−o)(y−o) + offset.
pub struct Linear;

impl Formula for Linear {
    fn name() -> &'static str {
        "linear"
    }

    fn formula() -> &'static str {
        "(x - origin)·(y - origin) + offset"
    }

    fn parameters() -> &'static [Parameter] {
        &[OFFSET, ORIGIN]
    }

    fn homogeneity(_theta: &[f64]) -> f64 {
        2.0
    }

    fn has_unit_diagonal() -> bool {
        false
    }

    fn k<R: Real>(theta: &[R], z: R, x: R) -> R {
        Polynomial::k(&of_degree_1(theta), z, x)
    }

    fn length(_theta: &[f64]) -> f64 {
        1.0 // see Polynomial
    }

    fn phi<R: Real>(theta: &[R], z: R, span: Span) -> R {
        Polynomial::phi(&of_degree_1(theta), z, span)
    }

    fn psi<R: Real>(theta: &[R], z: R, w: R, span: Span) -> R {
        Polynomial::psi(&of_degree_1(theta), z, w, span)
    }
}

/// The parameters as the polynomial wants them.
fn of_degree_1<R: Real>(theta: &[R]) -> [R; 3] {
    [R::from(1.0), theta[0], theta[1]]
}
