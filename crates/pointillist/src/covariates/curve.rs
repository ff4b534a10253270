//! A curve of a covariate: a line, and what deviates from it at evenly spaced knots, linear between them.
//!
//! The deviations c at the knots have second differences Dc = τu with u standard normal, and nothing of a line in them: c = τ Dᵀ(DDᵀ)⁻¹u, a random walk of second order.
//! τ is such that they have a standard deviation of [`SPREAD`] on average over the window.

use crate::numerics::linalg::{self, Matrix};

/// Knots of a curve.
pub(super) const KNOTS: usize = 10;
/// How much a curve deviates from a line before events are seen, in the logarithm of the rate.
const SPREAD: f64 = 1.0;

/// The deviations of a curve from a line.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Curve {
    ends: [f64; 2],
    /// Dᵀ(DDᵀ)⁻¹, by knot and then by unknown. // (K, K − 2)
    at_knots: Matrix,
}

impl Curve {
    pub(super) fn new(ends: [f64; 2]) -> Self {
        let count = KNOTS - 2;
        // (DDᵀ)⁻¹: D has rows 1, −2, 1.
        let second = |i: usize, j: usize| match j as isize - i as isize {
            0 | 2 => 1.0,
            1 => -2.0,
            _ => 0.0,
        };
        let mut gram = Matrix::from_fn(count, count, |i, k| (0..KNOTS).map(|j| second(i, j) * second(k, j)).sum());
        // It is positive definite whatever the number of knots is.
        let inverse = match linalg::cholesky(&mut gram) {
            Ok(()) => linalg::inverse_from_cholesky(&gram),
            Err(_) => Matrix::scaled_identity(count, 1.0),
        };
        let at_knots = Matrix::from_fn(KNOTS, count, |j, k| (0..count).map(|i| second(i, j) * inverse[(i, k)]).sum());
        Self { ends, at_knots }
    }

    /// Number of unknowns.
    pub(super) fn len() -> usize {
        KNOTS - 2
    }

    /// What each unknown adds at a value, times τ; beyond the ends as at the nearest one.
    pub(super) fn row(&self, value: f64, tau: f64) -> impl Iterator<Item = f64> + '_ {
        let [low, high] = self.ends;
        let place = ((value - low) / (high - low) * (KNOTS - 1) as f64).clamp(0.0, (KNOTS - 1) as f64);
        let knot = (place as usize).min(KNOTS - 2);
        let share = place - knot as f64;
        (0..Self::len())
            .map(move |k| tau * ((1.0 - share) * self.at_knots[(knot, k)] + share * self.at_knots[(knot + 1, k)]))
    }

    /// τ, for values with shares of the window.
    pub(super) fn tau(&self, shares: &[(f64, f64)]) -> f64 {
        let square = |value: f64| self.row(value, 1.0).map(|row| row * row).sum::<f64>();
        let mean: f64 = shares.iter().map(|(value, share)| share * square(*value)).sum();
        SPREAD / mean.sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deviations_have_nothing_of_a_line_in_them_and_the_second_differences_of_their_unknowns() {
        let curve = Curve::new([2.0, 20.0]);
        let knot = |j: usize| 2.0 + 2.0 * j as f64;
        let at: Vec<Vec<f64>> = (0..KNOTS).map(|j| curve.row(knot(j), 1.0).collect()).collect();
        for k in 0..Curve::len() {
            let (sum, slope): (f64, f64) =
                (at.iter().map(|row| row[k]).sum(), (0..KNOTS).map(|j| at[j][k] * j as f64).sum());
            assert!(sum.abs() < 1e-10 && slope.abs() < 1e-9, "{sum} {slope}");
            for i in 0..Curve::len() {
                let second = at[i][k] - 2.0 * at[i + 1][k] + at[i + 2][k];
                assert!((second - f64::from(u8::from(i == k))).abs() < 1e-10, "{i} {k} {second}");
            }
        }
        let between: Vec<f64> = curve.row(5.0, 3.0).collect();
        assert!((0..Curve::len()).all(|k| (between[k] - 1.5 * (at[1][k] + at[2][k])).abs() < 1e-12));
        let shares = [(3.0, 0.5), (11.0, 0.25), (19.5, 0.25)];
        let tau = curve.tau(&shares);
        let mean: f64 =
            shares.iter().map(|(v, share)| share * curve.row(*v, tau).map(|row| row * row).sum::<f64>()).sum();
        assert!((mean - SPREAD * SPREAD).abs() < 1e-12);
    }
}
