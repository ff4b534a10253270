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
    /// f(x), given what f and f′ are there: how a formula uses a function that this trait does not have.
    fn chain(self, value: f64, slope: f64) -> Self;
    /// eˣ.
    fn exp(self) -> Self;
    /// √x.
    fn sqrt(self) -> Self;
    /// erf(b) − erf(a), without cancellation.
    fn erf_difference(a: Self, b: Self) -> Self;

    /// sin x.
    fn sin(self) -> Self {
        let (sin, cos) = self.value().sin_cos();
        self.chain(sin, cos)
    }
    /// cos x.
    fn cos(self) -> Self {
        let (sin, cos) = self.value().sin_cos();
        self.chain(cos, -sin)
    }
    /// log x.
    fn ln(self) -> Self {
        self.chain(self.value().ln(), 1.0 / self.value())
    }
    /// log(1 + x).
    fn ln_1p(self) -> Self {
        self.chain(self.value().ln_1p(), 1.0 / (1.0 + self.value()))
    }
    /// xⁿ.
    fn powi(self, n: i32) -> Self {
        let slope = if n == 0 { 0.0 } else { f64::from(n) * self.value().powi(n - 1) };
        self.chain(self.value().powi(n), slope)
    }
    /// xᵖ.
    fn powf(self, p: f64) -> Self {
        let slope = if p == 0.0 { 0.0 } else { p * self.value().powf(p - 1.0) };
        self.chain(self.value().powf(p), slope)
    }
    /// |x|; its slope at 0 is taken to be 0, the mean of those on either side.
    fn abs(self) -> Self {
        let x = self.value();
        self.chain(x.abs(), if x == 0.0 { 0.0 } else { x.signum() })
    }
}

impl Real for f64 {
    fn value(self) -> f64 {
        self
    }
    fn chain(self, value: f64, _slope: f64) -> f64 {
        value
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
    fn chain(self, value: f64, slope: f64) -> Self {
        Self { value, derivatives: self.derivatives.map(|d| slope * d) }
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

    fn other_formula<R: Real>(x: R, y: R) -> R {
        let z = (x * y - 0.7).sin() + (x - y).cos() * (y + 1.0).ln();
        z.abs().powf(1.3) - (x * x).ln_1p() * z.powi(3) + (-y).abs() + z.powi(0)
    }

    /// The derivatives a formula carries against finite differences of its values, at three places.
    fn check(formula: fn(f64, f64) -> f64, dual_formula: fn(Dual<2>, Dual<2>) -> Dual<2>) {
        for (x, y) in [(0.3, 0.8), (1.7, 0.2), (-0.4, 1.1)] {
            let dual = dual_formula(Dual::variable(x, 0), Dual::variable(y, 1));
            assert_eq!(dual.value(), formula(x, y));
            let h = 1e-5;
            let by_x = (formula(x + h, y) - formula(x - h, y)) / (2.0 * h);
            let by_y = (formula(x, y + h) - formula(x, y - h)) / (2.0 * h);
            assert!((dual.derivatives()[0] - by_x).abs() < 1e-8, "{dual:?} {by_x}");
            assert!((dual.derivatives()[1] - by_y).abs() < 1e-8, "{dual:?} {by_y}");
        }
    }

    #[test]
    fn derivatives_agree_with_finite_differences() {
        check(formula, formula);
        check(other_formula, other_formula);
    }

    #[test]
    fn slopes_where_a_formula_is_not_smooth() {
        let zero = Dual::<1>::variable(0.0, 0);
        assert_eq!(zero.abs().derivatives(), &[0.0]);
        assert_eq!(zero.powi(0), Dual::from(1.0)); // and no 0·∞
        assert_eq!(zero.powf(0.0), Dual::from(1.0));
        assert_eq!(zero.powi(1), zero);
    }
}
