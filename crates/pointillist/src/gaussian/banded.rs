//! The Cholesky factor of a matrix that is a few of its diagonals: by the method that suits the width of its band, or by nested dissection where the
//! matrix has a plan for it.

use super::band::BandFactor;
use super::blocks::BlockFactor;
use super::dissection::DissectionFactor;
use super::{Diagonals, Factor, Precision};
use crate::error::{Error, Result};

/// Up to this width plain loops beat dense blocks.
const NARROW: usize = 8;

/// L of P = L Lᵀ, P positive definite with a band.
#[derive(Debug, Clone)]
pub struct BandedFactor(Kind);

#[derive(Debug, Clone)]
enum Kind {
    Band(BandFactor),
    Blocks(BlockFactor),
    Dissection(DissectionFactor),
}

impl BandedFactor {
    /// Factors a matrix.
    pub fn new(matrix: &Diagonals) -> Result<Self> {
        let width = matrix.shifts().last().copied().unwrap_or_default();
        let kind = match matrix.plan() {
            Some(plan) => DissectionFactor::new(matrix, plan).map(Kind::Dissection),
            None if width <= NARROW => BandFactor::new(matrix, width).map(Kind::Band),
            None => BlockFactor::new(matrix, width).map(Kind::Blocks),
        };
        kind.map(Self).map_err(|pivot| Error::NotPositiveDefinite { pivot, size: matrix.size(), jitter: 0.0 })
    }

    /// Multiplications of a solve.
    pub(crate) fn multiplications(&self) -> f64 {
        match &self.0 {
            Kind::Band(factor) => factor.multiplications(),
            Kind::Blocks(factor) => factor.multiplications(),
            Kind::Dissection(factor) => factor.multiplications(),
        }
    }

    /// P⁻¹ on some of the diagonals of P.
    pub fn selected_inverse(&self, shifts: &[usize]) -> Diagonals {
        match &self.0 {
            Kind::Band(factor) => factor.selected_inverse(shifts),
            Kind::Blocks(factor) => factor.selected_inverse(shifts),
            Kind::Dissection(factor) => factor.selected_inverse(shifts),
        }
    }
}

impl Precision for Diagonals {
    type Factor = BandedFactor;

    fn size(&self) -> usize {
        self.size()
    }

    fn add_scaled(&mut self, factor: f64, other: &Self) {
        self.add_scaled(factor, other);
    }

    fn times(&self, v: &[f64]) -> Vec<f64> {
        self.times(v)
    }

    fn trace_of_product(&self, other: &Self) -> f64 {
        other.trace_of_product(self)
    }

    fn factor(self) -> Result<BandedFactor> {
        BandedFactor::new(&self)
    }
}

impl Factor for BandedFactor {
    fn log_determinant(&self) -> f64 {
        match &self.0 {
            Kind::Band(factor) => factor.log_determinant(),
            Kind::Blocks(factor) => factor.log_determinant(),
            Kind::Dissection(factor) => factor.log_determinant(),
        }
    }

    fn solve_lower(&self, x: &mut [f64]) {
        match &self.0 {
            Kind::Band(factor) => x.chunks_exact_mut(factor.size()).for_each(|x| factor.solve_lower(x)),
            Kind::Blocks(factor) => x.chunks_exact_mut(factor.size()).for_each(|x| factor.solve_lower(x)),
            Kind::Dissection(factor) => factor.solve_lower(x),
        }
    }

    /// Many columns at once cost less than one after another.
    fn solve_lower_transposed(&self, x: &mut [f64]) {
        match &self.0 {
            Kind::Band(factor) => x.chunks_exact_mut(factor.size()).for_each(|x| factor.solve_lower_transposed(x)),
            Kind::Blocks(factor) if x.len() == factor.size() => factor.solve_lower_transposed(x),
            Kind::Blocks(factor) => factor.solve_lower_transposed_columns(x),
            Kind::Dissection(factor) => factor.solve_lower_transposed(x),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numerics::linalg::{self, Matrix};

    /// A positive definite matrix with these diagonals, of no special structure.
    fn sample(size: usize, shifts: &[usize]) -> Diagonals {
        let mut matrix = Diagonals::zeros(size, shifts.to_vec());
        for place in 0..matrix.shifts().len() {
            let shift = matrix.shifts()[place];
            let values = matrix.diagonal_mut(place);
            for i in 0..size - shift.min(size) {
                values[i] = if shift == 0 { 4.0 + (i as f64).cos() } else { ((i * 7 + shift * 3) as f64).sin() * 0.6 };
            }
        }
        matrix
    }

    fn dense(matrix: &Diagonals) -> Matrix {
        Matrix::from_fn(matrix.size(), matrix.size(), |i, j| matrix.entry(i, j))
    }

    #[test]
    fn band_and_blocks_agree_with_the_dense_inverse() {
        // Sizes that are and are not whole blocks, and one that is less than a block.
        for (size, shifts) in [(23, vec![0, 1, 2]), (24, vec![0, 1, 4]), (60, vec![0, 1, 9, 10, 12]), (7, vec![0, 2])] {
            let matrix = sample(size, &shifts);
            let width = *shifts.last().unwrap();
            let mut root = dense(&matrix);
            linalg::cholesky(&mut root).unwrap();
            let inverse = linalg::inverse_from_cholesky(&root);
            let x: Vec<f64> = (0..size).map(|i| (i as f64 * 0.7).sin()).collect();
            let want = linalg::times(&inverse, &x);
            let kinds = [
                BandedFactor(Kind::Band(BandFactor::new(&matrix, width).unwrap())),
                BandedFactor(Kind::Blocks(BlockFactor::new(&matrix, width).unwrap())),
                BandedFactor(Kind::Blocks(BlockFactor::new(&matrix, size).unwrap())),
            ];
            for factor in kinds {
                assert!((factor.log_determinant() - linalg::log_determinant(&root)).abs() < 1e-12);
                let mut got = x.clone();
                factor.solve(&mut got);
                (0..size).for_each(|i| assert!((got[i] - want[i]).abs() < 1e-13, "{size} {i}"));
                // |L⁻ᵀx|² needs P⁻¹ in another order: compare through P.
                let mut draw = x.clone();
                factor.solve_lower_transposed(&mut draw);
                let back = linalg::dot(&draw, &matrix.times(&draw));
                assert!((back - linalg::dot(&x, &x)).abs() < 1e-12);
                let columns: Vec<f64> = (0..5 * size).map(|i| (i as f64 * 0.3).cos()).collect();
                let mut together = columns.clone();
                factor.solve_lower_transposed(&mut together);
                for (own, together) in columns.chunks_exact(size).zip(together.chunks_exact(size)) {
                    let mut alone = own.to_vec();
                    factor.solve_lower_transposed(&mut alone);
                    alone.iter().zip(together).for_each(|(a, b)| assert!((a - b).abs() < 1e-13, "{a} {b}"));
                }
                let selected = factor.selected_inverse(matrix.shifts());
                for &shift in &shifts {
                    for i in 0..size - shift {
                        let (got, want) = (selected.entry(i, i + shift), inverse[(i, i + shift)]);
                        assert!((got - want).abs() < 1e-13, "{size} {shift} {i}: {got} {want}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_matrix_that_is_not_positive_definite_is_refused_with_its_pivot() {
        for shifts in [vec![0, 2], vec![0, 10]] {
            let mut matrix = sample(40, &shifts);
            matrix.diagonal_mut(0)[25] = -1.0;
            assert!(matches!(BandedFactor::new(&matrix), Err(Error::NotPositiveDefinite { pivot: 25, size: 40, .. })));
        }
    }
}
