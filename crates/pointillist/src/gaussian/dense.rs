//! A dense precision, and rows as the columns of a matrix.
//!
//! Cost of a step: two N·M² products, one Cholesky factor. No inverse is formed: a variance is |L⁻¹a|².

use super::{Design, Factor, Precision};
use crate::error::{Error, Result};
use crate::numerics::linalg::{self, Matrix};
use crate::parallel;

/// Columns scaled at a time: the scaled copy stays in the cache.
const BATCH: usize = 256;

/// From this size on a factor is worth more than one thread.
const LARGE: usize = 192;

/// L, dense.
#[derive(Debug, Clone)]
pub struct DenseFactor(pub(crate) Matrix);

impl Precision for Matrix {
    type Factor = DenseFactor;

    fn size(&self) -> usize {
        self.rows()
    }

    fn add_scaled(&mut self, factor: f64, other: &Self) {
        linalg::add_scaled(self.data_mut(), factor, other.data());
    }

    fn times(&self, v: &[f64]) -> Vec<f64> {
        linalg::times(self, v)
    }

    fn trace_of_product(&self, other: &Self) -> f64 {
        linalg::dot(self.data(), other.data())
    }

    /// Reads the lower triangle alone.
    fn factor(mut self) -> Result<DenseFactor> {
        let size = self.rows();
        let done = if size > LARGE { linalg::cholesky_on_all_cores(&mut self) } else { linalg::cholesky(&mut self) };
        done.map_err(|pivot| Error::NotPositiveDefinite { pivot, size, jitter: 0.0 })?;
        Ok(DenseFactor(self))
    }
}

impl Factor for DenseFactor {
    fn log_determinant(&self) -> f64 {
        linalg::log_determinant(&self.0)
    }

    fn solve_lower(&self, x: &mut [f64]) {
        linalg::solve_lower(&self.0, x);
    }

    fn solve_lower_transposed(&self, x: &mut [f64]) {
        linalg::solve_lower_transposed(&self.0, x);
    }
}

/// Rows as the columns of a matrix: features of inducing points anywhere.
pub struct Columns<'a> {
    /// One column per point. // (M, N)
    pub(crate) a: &'a Matrix,
    /// The variance that they leave open. // (N)
    pub(crate) residual: &'a [f64],
}

impl Columns<'_> {
    fn size(&self) -> usize {
        self.a.rows()
    }

    /// About the entries that a pass over all points touches.
    fn work(&self) -> usize {
        self.len() * self.size()
    }

    /// The columns of each block of points.
    fn blocks(&self, block: usize) -> impl Iterator<Item = &[f64]> {
        self.a.data().chunks(block * self.size())
    }
}

impl Design for Columns<'_> {
    type Precision = Matrix;
    type Spread = DenseFactor;

    fn len(&self) -> usize {
        self.residual.len()
    }

    fn residual(&self) -> Option<&[f64]> {
        Some(self.residual)
    }

    fn add_sites(&self, precision: &[f64], linear: &[f64], matrix: &mut Matrix, vector: &mut [f64]) {
        let (size, block) = (self.size(), parallel::block_length(self.len()));
        let blocks = self.blocks(block).zip(precision.chunks(block).zip(linear.chunks(block)));
        let parts = parallel::map(blocks, self.work(), |(a, (precision, linear))| {
            let mut gram = Matrix::zeros(size, size);
            add_weighted_gram(&mut gram, a, precision);
            (gram, linalg::columns_times(a, size, linear))
        });
        for (gram, pull) in &parts {
            linalg::add_scaled(matrix.data_mut(), 1.0, gram.data());
            linalg::add_scaled(vector, 1.0, pull);
        }
    }

    fn add_sum(&self, weights: &[f64], vector: &mut [f64]) {
        linalg::add_scaled(vector, 1.0, &linalg::columns_times(self.a.data(), self.size(), weights));
    }

    fn levels(&self, v: &[f64]) -> Vec<f64> {
        self.a.data().chunks_exact(self.size()).map(|a| linalg::dot(a, v)).collect()
    }

    fn spread(&self, factor: DenseFactor) -> DenseFactor {
        factor
    }

    fn moments(&self, mean: &[f64], spread: &DenseFactor) -> (Vec<f64>, Vec<f64>) {
        let block = parallel::block_length(self.len());
        let parts = parallel::map(self.blocks(block), self.work(), |a| block_moments(a, mean, &spread.0));
        let (mut level, mut variance) = (Vec::with_capacity(self.len()), Vec::with_capacity(self.len()));
        for (of_block, spread) in parts {
            level.extend(of_block);
            variance.extend(spread);
        }
        (level, variance)
    }
}

/// Adds Σ p a aᵀ to the lower triangle.
fn add_weighted_gram(gram: &mut Matrix, a: &[f64], precision: &[f64]) {
    let size = gram.rows();
    let mut scaled = Vec::with_capacity(size * BATCH.min(precision.len()));
    for (a, precision) in a.chunks(size * BATCH).zip(precision.chunks(BATCH)) {
        scaled.clear();
        for (a, p) in a.chunks_exact(size).zip(precision) {
            scaled.extend(a.iter().map(|a| p * a));
        }
        linalg::add_outer_lower(gram, 1.0, &scaled, a);
    }
}

/// aᵀm and |L⁻¹a|² for a block of columns.
fn block_moments(a: &[f64], mean: &[f64], root: &Matrix) -> (Vec<f64>, Vec<f64>) {
    let size = mean.len();
    let count = a.len() / size;
    let mut rotated = Vec::with_capacity(size * BATCH.min(count));
    let (mut level, mut variance) = (Vec::with_capacity(count), Vec::with_capacity(count));
    for a in a.chunks(size * BATCH) {
        rotated.clear();
        rotated.extend_from_slice(a);
        linalg::solve_lower(root, &mut rotated);
        level.extend(a.chunks_exact(size).map(|a| linalg::dot(a, mean)));
        variance.extend(rotated.chunks_exact(size).map(|r| linalg::dot(r, r)));
    }
    (level, variance)
}
