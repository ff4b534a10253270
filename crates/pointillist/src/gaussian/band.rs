//! A narrow band matrix: Cholesky factor, solves, and the inverse on the band, all linear in its size.
//!
//! The inverse is Takahashi's: from S L = L⁻ᵀ every entry of a column of S on the band follows from later columns on
//! the band.

use super::Diagonals;

/// L of P = L Lᵀ, column by column from its diagonal down. // (size, width + 1)
#[derive(Debug, Clone)]
pub(super) struct BandFactor {
    size: usize,
    width: usize,
    columns: Vec<f64>,
}

impl BandFactor {
    /// The factor, or the pivot that was not positive.
    pub(super) fn new(matrix: &Diagonals, width: usize) -> Result<Self, usize> {
        let size = matrix.size();
        // Columns beyond the last hold what the loops write past the end.
        let mut factor = Self { size, width, columns: vec![0.0; (size + width) * (width + 1)] };
        for (shift, values) in matrix.iter() {
            let count = size.saturating_sub(shift);
            (0..count).for_each(|j| factor.columns[j * (width + 1) + shift] = values[j]);
        }
        for j in 0..size {
            factor.eliminate(j)?;
        }
        Ok(factor)
    }

    /// Makes column j one of L, and takes it out of the later ones.
    fn eliminate(&mut self, j: usize) -> Result<(), usize> {
        let length = self.width + 1;
        let (column, later) = self.columns[j * length..].split_at_mut(length);
        if !(column[0] > 0.0 && column[0].is_finite()) {
            return Err(j);
        }
        let root = column[0].sqrt();
        column.iter_mut().for_each(|value| *value /= root);
        for d in 1..length {
            let target = &mut later[(d - 1) * length..];
            (d..length).for_each(|e| target[e - d] -= column[d] * column[e]);
        }
        Ok(())
    }

    fn column(&self, j: usize) -> &[f64] {
        &self.columns[j * (self.width + 1)..][..self.width + 1]
    }

    /// How many entries below the diagonal of column j are in the matrix.
    fn below(&self, j: usize) -> usize {
        self.width.min(self.size - 1 - j)
    }

    pub(super) fn size(&self) -> usize {
        self.size
    }

    pub(super) fn multiplications(&self) -> f64 {
        2.0 * self.columns.len() as f64
    }

    pub(super) fn log_determinant(&self) -> f64 {
        2.0 * (0..self.size).map(|j| self.column(j)[0].ln()).sum::<f64>()
    }

    /// L⁻¹ x.
    pub(super) fn solve_lower(&self, x: &mut [f64]) {
        for j in 0..self.size {
            let column = self.column(j);
            x[j] /= column[0];
            (1..=self.below(j)).for_each(|d| x[j + d] -= column[d] * x[j]);
        }
    }

    /// L⁻ᵀ x.
    pub(super) fn solve_lower_transposed(&self, x: &mut [f64]) {
        for j in (0..self.size).rev() {
            let column = self.column(j);
            let known: f64 = (1..=self.below(j)).map(|d| column[d] * x[j + d]).sum();
            x[j] = (x[j] - known) / column[0];
        }
    }

    /// P⁻¹ on these diagonals, which lie in the band.
    pub(super) fn selected_inverse(&self, shifts: &[usize]) -> Diagonals {
        let length = self.width + 1;
        let mut inverse = vec![0.0; (self.size + self.width) * length]; // laid out as the factor is
        for j in (0..self.size).rev() {
            let column = self.column(j);
            for d in (0..=self.below(j)).rev() {
                // S(j + e, j + d) of later columns; for d = 0 of this one, whose entries below the diagonal are known
                // by then
                let known = |e: usize| inverse[(j + e.min(d)) * length + e.abs_diff(d)];
                let sum: f64 = (1..=self.below(j)).map(|e| column[e] * known(e)).sum();
                let own = if d == 0 { 1.0 / column[0] } else { 0.0 };
                inverse[j * length + d] = (own - sum) / column[0];
            }
        }
        let mut out = Diagonals::zeros(self.size, shifts.to_vec());
        for (place, &shift) in shifts.iter().enumerate() {
            let count = self.size.saturating_sub(shift);
            let values = out.diagonal_mut(place);
            (0..count).for_each(|j| values[j] = inverse[j * length + shift]);
        }
        out
    }
}
