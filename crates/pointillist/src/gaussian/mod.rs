//! Gaussians by their precision, and the one natural step by which every q is found.
//!
//! q(v) = N(m, P⁻¹) with P = Q + conjugate part + Σ site. How P is stored is its own business ([`Precision`]): a dense `Matrix`, a few
//! [`Diagonals`], either of them [`Bordered`] by a few dense unknowns. A [`Factor`] solves, draws, and gives log|P|. Rows at weighted points are a
//! [`Design`]: columns of a matrix (`dense.rs`), products over the axes of a grid (`field/inducing/by_axis.rs`), hats of a lattice
//! (`field/lattice/hats.rs`). Nothing above knows which it is: `step.rs` is written once. What the sites are is in `terms/`.

mod band;
mod banded;
mod blocks;
pub(crate) mod bordered;
mod dense;
mod diagonals;
pub(crate) mod dissection;
mod integral;
pub(crate) mod sites;
pub(crate) mod step;

pub use banded::BandedFactor;
pub use bordered::{Bordered, BorderedDesign};
pub use dense::{Columns, DenseFactor};
pub use diagonals::Diagonals;
pub use integral::Region;
pub use sites::Sites;

use crate::error::Result;

/// A symmetric positive definite matrix, stored in some way.
pub trait Precision: Clone + Send + Sync {
    /// Its Cholesky factor.
    type Factor: Factor;

    /// Number of rows.
    fn size(&self) -> usize;

    /// Adds `factor` times another matrix, which has no entries where this one has no room for them.
    fn add_scaled(&mut self, factor: f64, other: &Self);

    /// P v.
    fn times(&self, v: &[f64]) -> Vec<f64>;

    /// tr(P X) for a symmetric X that is known at least where P has entries.
    fn trace_of_product(&self, other: &Self) -> f64;

    /// P = L Lᵀ. Takes P, which may be as large as its factor.
    fn factor(self) -> Result<Self::Factor>;
}

/// L of P = L Lᵀ.
pub trait Factor: Send + Sync {
    /// log|P|.
    fn log_determinant(&self) -> f64;

    /// L⁻¹ x, in place, column by column: its square is xᵀP⁻¹x.
    fn solve_lower(&self, x: &mut [f64]);

    /// L⁻ᵀ x, in place, column by column: makes independent standard normal numbers a draw from N(0, P⁻¹).
    fn solve_lower_transposed(&self, x: &mut [f64]);

    /// P⁻¹ x, in place.
    fn solve(&self, x: &mut [f64]) {
        self.solve_lower(x);
        self.solve_lower_transposed(x);
    }
}

/// Rows a(x_n) of f(x_n) = β + a(x_n)ᵀv + what they leave open, at a set of points.
pub trait Design: Sync {
    /// How the precision of v is stored.
    type Precision: Precision;
    /// What variances are read from, once P is factored. It is kept of q beside the mean.
    type Spread: Send + Sync;

    /// Number of points.
    fn len(&self) -> usize;

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The variance that the rows leave open at each point, if they do.
    fn residual(&self) -> Option<&[f64]>;

    /// A copy of a matrix that is about to be added to and factored.
    fn copied(&self, matrix: &Self::Precision) -> Self::Precision {
        matrix.clone()
    }

    /// Adds Σ p_n a aᵀ to a precision, and Σ l_n a to a vector.
    fn add_sites(&self, precision: &[f64], linear: &[f64], matrix: &mut Self::Precision, vector: &mut [f64]);

    /// Adds Σ w_n a.
    fn add_sum(&self, weights: &[f64], vector: &mut [f64]);

    /// What variances are read from.
    fn spread(&self, factor: <Self::Precision as Precision>::Factor) -> Self::Spread;

    /// aᵀv at each point.
    fn levels(&self, v: &[f64]) -> Vec<f64>;

    /// aᵀm and aᵀP⁻¹a at each point.
    fn moments(&self, mean: &[f64], spread: &Self::Spread) -> (Vec<f64>, Vec<f64>);
}

/// Σ vᵢ² of the difference of two lists.
pub(crate) fn distance_squared(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum()
}
