//! ∫f² over a region as a quadratic form of the coefficients: one struct for every kind of field.

use super::Precision;
use crate::numerics::linalg;

/// What rows a(x) of f = β + aᵀv integrate to over a region, repeats and exposure included.
#[derive(Debug, Clone, PartialEq)]
pub struct Region<P> {
    /// ∫ a aᵀ. // (M, M)
    pub square: P,
    /// ∫ a. // (M)
    pub linear: Vec<f64>,
    /// ∫ of the variance that the rows leave open.
    pub residual: f64,
    /// ∫ 1.
    pub measure: f64,
}

impl<P: Precision> Region<P> {
    /// ∫(β + aᵀv)² = β²|T| + 2β pᵀv + vᵀAv.
    pub fn of_square(&self, offset: f64, v: &[f64]) -> f64 {
        let quadratic = linalg::dot(v, &self.square.times(v));
        offset * offset * self.measure + 2.0 * offset * linalg::dot(&self.linear, v) + quadratic
    }

    /// ∫ Var f for v of this covariance (known at least where A has entries).
    pub fn of_variance(&self, covariance: &P) -> f64 {
        self.residual + self.square.trace_of_product(covariance)
    }

    /// A m + β p: half the slope of ∫f² at v = m.
    pub(crate) fn half_pull(&self, offset: f64, mean: &[f64]) -> Vec<f64> {
        let mut pull = self.square.times(mean);
        linalg::add_scaled(&mut pull, offset, &self.linear);
        pull
    }
}
