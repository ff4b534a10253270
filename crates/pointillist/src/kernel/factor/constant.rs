//! The constant factor: 1. A term of it alone lets the level of f vary as a whole.

use crate::kernel::{Formula, Parameter};
use crate::numerics::dual::Real;
use crate::window::Span;

/// 1.
pub struct Constant;

impl Formula for Constant {
    fn name() -> &'static str {
        "constant"
    }

    fn formula() -> &'static str {
        "1"
    }

    fn parameters() -> &'static [Parameter] {
        &[]
    }

    fn k<R: Real>(_theta: &[R], _z: R, _x: R) -> R {
        R::from(1.0)
    }

    fn length(_theta: &[f64]) -> f64 {
        f64::INFINITY
    }

    fn phi<R: Real>(_theta: &[R], _z: R, span: Span) -> R {
        R::from(span.length())
    }

    fn psi<R: Real>(_theta: &[R], _z: R, _w: R, span: Span) -> R {
        R::from(span.length())
    }
}
