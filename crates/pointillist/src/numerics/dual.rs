//! Dual numbers: a value and its derivatives by a few variables, carried through a formula.
//!
//! A kernel writes its 1-D formulas once over [`Real`]; `f64` gives values, [`Dual`] gives derivatives.

use crate::numerics::special;
use std::f64::consts::FRAC_2_SQRT_PI;
use std::ops::{Add, Div, Mul, Neg, Sub};

/// What a formula may do with a number.
pub trait Real:
    Copy
    + From<f64>
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + Add<f64, Output = Self>
    + Sub<f64, Output = Self>
    + Mul<f64, Output = Self>
{
    /// The number without its derivatives.
    fn value(self) -> f64;
    /// eˣ.
    fn exp(self) -> Self;
    /// √x.
    fn sqrt(self) -> Self;
    /// erf(b) − erf(a), without cancellation.
    fn erf_difference(a: Self, b: Self) -> Self;
}

impl Real for f64 {
    fn value(self) -> f64 {
        self
    }
    fn exp(self) -> f64 {
        f64::exp(self)
    }
    fn sqrt(self) -> f64 {
        f64::sqrt(self)
    }
    fn erf_difference(a: f64, b: f64) -> f64 {
        special::erf_difference(a, b)
    }
}

/// A value with its derivatives by `P` variables.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Dual<const P: usize> {
    value: f64,
    derivatives: [f64; P],
}

impl<const P: usize> Dual<P> {
    /// The `index`-th variable, at `value`.
    pub fn variable(value: f64, index: usize) -> Self {
        let mut derivatives = [0.0; P];
        derivatives[index] = 1.0;
        Self { value, derivatives }
    }

    /// The derivatives by the variables.
    pub fn derivatives(&self) -> &[f64; P] {
        &self.derivatives
    }

    /// f(x) with derivative `slope` there.
    fn chain(self, value: f64, slope: f64) -> Self {
        Self { value, derivatives: self.derivatives.map(|d| slope * d) }
    }

    /// Both derivative lists combined with weights.
    fn combine(self, other: Self, value: f64, mine: f64, theirs: f64) -> Self {
        let derivatives = std::array::from_fn(|i| mine * self.derivatives[i] + theirs * other.derivatives[i]);
        Self { value, derivatives }
    }
}

impl<const P: usize> From<f64> for Dual<P> {
    fn from(value: f64) -> Self {
        Self { value, derivatives: [0.0; P] }
    }
}

impl<const P: usize> Real for Dual<P> {
    fn value(self) -> f64 {
        self.value
    }
    fn exp(self) -> Self {
        let e = self.value.exp();
        self.chain(e, e)
    }
    fn sqrt(self) -> Self {
        let root = self.value.sqrt();
        self.chain(root, 0.5 / root)
    }
    fn erf_difference(a: Self, b: Self) -> Self {
        let slope = |x: f64| FRAC_2_SQRT_PI * (-x * x).exp();
        b.combine(a, special::erf_difference(a.value, b.value), slope(b.value), -slope(a.value))
    }
}

impl<const P: usize> Add for Dual<P> {
    type Output = Self;
    fn add(self, o: Self) -> Self {
        self.combine(o, self.value + o.value, 1.0, 1.0)
    }
}
impl<const P: usize> Sub for Dual<P> {
    type Output = Self;
    fn sub(self, o: Self) -> Self {
        self.combine(o, self.value - o.value, 1.0, -1.0)
    }
}
impl<const P: usize> Mul for Dual<P> {
    type Output = Self;
    fn mul(self, o: Self) -> Self {
        self.combine(o, self.value * o.value, o.value, self.value)
    }
}
impl<const P: usize> Div for Dual<P> {
    type Output = Self;
    fn div(self, o: Self) -> Self {
        let ratio = self.value / o.value;
        self.combine(o, ratio, 1.0 / o.value, -ratio / o.value)
    }
}
impl<const P: usize> Neg for Dual<P> {
    type Output = Self;
    fn neg(self) -> Self {
        self.chain(-self.value, -1.0)
    }
}
impl<const P: usize> Add<f64> for Dual<P> {
    type Output = Self;
    fn add(self, o: f64) -> Self {
        self.chain(self.value + o, 1.0)
    }
}
impl<const P: usize> Sub<f64> for Dual<P> {
    type Output = Self;
    fn sub(self, o: f64) -> Self {
        self.chain(self.value - o, 1.0)
    }
}
impl<const P: usize> Mul<f64> for Dual<P> {
    type Output = Self;
    fn mul(self, o: f64) -> Self {
        self.chain(self.value * o, o)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn formula<R: Real>(x: R, y: R) -> R {
        let z = (x * y + 1.5).sqrt() - x / (y + 3.0);
        (-(z * z)).exp() * 2.0 + R::erf_difference(x, z * y) - 0.25
    }

    #[test]
    fn derivatives_agree_with_finite_differences() {
        for (x, y) in [(0.3, 0.8), (1.7, 0.2), (-0.4, 1.1)] {
            let dual = formula(Dual::<2>::variable(x, 0), Dual::<2>::variable(y, 1));
            assert_eq!(dual.value(), formula(x, y));
            let h = 1e-5;
            let by_x = (formula(x + h, y) - formula(x - h, y)) / (2.0 * h);
            let by_y = (formula(x, y + h) - formula(x, y - h)) / (2.0 * h);
            assert!((dual.derivatives()[0] - by_x).abs() < 1e-8, "{dual:?} {by_x}");
            assert!((dual.derivatives()[1] - by_y).abs() < 1e-8, "{dual:?} {by_y}");
        }
    }
}
