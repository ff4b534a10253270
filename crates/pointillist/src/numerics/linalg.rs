//! Dense matrices: a dozen operations on column-major slices, all on one thread but for two (`linalg/threaded.rs`).
//!
//! This module alone knows the linear-algebra library. It runs sequentially on purpose: threads are ours, over blocks of
//! events, with a fixed partition, so that the same input gives the same bits on any number of threads.

mod fronts;
mod threaded;

pub use fronts::{eliminate_front, invert_front, mirror_columns, solve_front, solve_front_transposed};
pub use threaded::{cholesky_on_all_cores, inverse_on_all_cores};

use faer::linalg::cholesky::llt::factor as llt;
use faer::linalg::matmul::triangular::{self, BlockStructure};
use faer::linalg::{matmul, triangular_inverse, triangular_solve};
use faer::{Accum, MatMut, MatRef, Par};

/// A dense matrix, columns one after another.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Matrix {
    rows: usize,
    cols: usize,
    data: Vec<f64>,
}

impl Matrix {
    /// All zeros.
    pub fn zeros(rows: usize, cols: usize) -> Self {
        Self { rows, cols, data: vec![0.0; rows * cols] }
    }

    /// The identity times `value`.
    pub fn scaled_identity(size: usize, value: f64) -> Self {
        let mut matrix = Self::zeros(size, size);
        matrix.add_to_diagonal(value);
        matrix
    }

    /// From a list of columns of length `rows`.
    pub fn from_columns(rows: usize, data: Vec<f64>) -> Self {
        Self { rows, cols: data.len() / rows.max(1), data }
    }

    /// From a function of row and column.
    pub fn from_fn(rows: usize, cols: usize, mut f: impl FnMut(usize, usize) -> f64) -> Self {
        let mut data = Vec::with_capacity(rows * cols);
        for j in 0..cols {
            data.extend((0..rows).map(|i| f(i, j)));
        }
        Self { rows, cols, data }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// All entries, column after column.
    pub fn data(&self) -> &[f64] {
        &self.data
    }

    /// All entries, column after column.
    pub fn data_mut(&mut self) -> &mut [f64] {
        &mut self.data
    }

    /// Column `j`.
    pub fn col(&self, j: usize) -> &[f64] {
        &self.data[j * self.rows..(j + 1) * self.rows]
    }

    /// Column `j`.
    pub fn col_mut(&mut self, j: usize) -> &mut [f64] {
        &mut self.data[j * self.rows..(j + 1) * self.rows]
    }

    /// Adds `value` to every diagonal entry.
    pub fn add_to_diagonal(&mut self, value: f64) {
        let step = self.rows + 1;
        self.data.iter_mut().step_by(step).for_each(|d| *d += value);
    }

    /// Sum of the diagonal.
    pub fn trace(&self) -> f64 {
        self.data.iter().step_by(self.rows + 1).sum()
    }

    /// Copies the lower triangle onto the upper one.
    pub fn mirror_lower(&mut self) {
        for j in 0..self.cols {
            for i in j + 1..self.rows {
                self.data[i * self.rows + j] = self.data[j * self.rows + i];
            }
        }
    }

    /// Replaces the matrix by half the sum of itself and its transpose.
    pub fn symmetrise(&mut self) {
        for j in 0..self.cols {
            for i in j + 1..self.rows {
                let mean = 0.5 * (self.data[i * self.rows + j] + self.data[j * self.rows + i]);
                self.data[i * self.rows + j] = mean;
                self.data[j * self.rows + i] = mean;
            }
        }
    }

    /// Rows as columns.
    pub fn transposed(&self) -> Self {
        Self::from_fn(self.cols, self.rows, |i, j| self[(j, i)])
    }

    fn view(&self) -> MatRef<'_, f64> {
        MatRef::from_column_major_slice(&self.data, self.rows, self.cols)
    }

    fn view_mut(&mut self) -> MatMut<'_, f64> {
        MatMut::from_column_major_slice_mut(&mut self.data, self.rows, self.cols)
    }
}

impl std::ops::Index<(usize, usize)> for Matrix {
    type Output = f64;
    fn index(&self, (i, j): (usize, usize)) -> &f64 {
        &self.data[j * self.rows + i]
    }
}

impl std::ops::IndexMut<(usize, usize)> for Matrix {
    fn index_mut(&mut self, (i, j): (usize, usize)) -> &mut f64 {
        &mut self.data[j * self.rows + i]
    }
}

/// A list of columns of length `rows`, as a matrix view.
fn columns(data: &[f64], rows: usize) -> MatRef<'_, f64> {
    MatRef::from_column_major_slice(data, rows, data.len() / rows)
}

fn columns_mut(data: &mut [f64], rows: usize) -> MatMut<'_, f64> {
    let cols = data.len() / rows;
    MatMut::from_column_major_slice_mut(data, rows, cols)
}

/// Σ aᵢ bᵢ.
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    // Four running sums: the compiler may then keep them in one vector register.
    let mut sums = [0.0; 4];
    let (heads, tails) = (a.chunks_exact(4).zip(b.chunks_exact(4)), a.len() / 4 * 4);
    for (x, y) in heads {
        for k in 0..4 {
            sums[k] += x[k] * y[k];
        }
    }
    let tail: f64 = a[tails..].iter().zip(&b[tails..]).map(|(x, y)| x * y).sum();
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + tail
}

/// `y += factor · x`.
pub fn add_scaled(y: &mut [f64], factor: f64, x: &[f64]) {
    y.iter_mut().zip(x).for_each(|(y, x)| *y += factor * x);
}

/// Replaces a symmetric matrix (its lower triangle is read) by its lower Cholesky factor, zeros above the diagonal.
/// On failure gives the pivot that was not positive.
pub fn cholesky(matrix: &mut Matrix) -> Result<(), usize> {
    let size = matrix.rows;
    let mut scratch =
        faer::dyn_stack::MemBuffer::new(llt::cholesky_in_place_scratch::<f64>(size, Par::Seq, Default::default()));
    let stack = faer::dyn_stack::MemStack::new(&mut scratch);
    llt::cholesky_in_place(matrix.view_mut(), Default::default(), Par::Seq, stack, Default::default())
        .map_err(|llt::LltError::NonPositivePivot { index }| index)?;
    if let Some(pivot) = (0..size).find(|&i| !matrix[(i, i)].is_finite()) {
        return Err(pivot); // a NaN passes through the factorisation unnoticed
    }
    for j in 1..size {
        matrix.data[j * size..j * size + j].fill(0.0);
    }
    Ok(())
}

/// `L⁻¹ B`, in place; `rhs` is a list of columns.
pub fn solve_lower(l: &Matrix, rhs: &mut [f64]) {
    triangular_solve::solve_lower_triangular_in_place(l.view(), columns_mut(rhs, l.rows), Par::Seq);
}

/// `L⁻ᵀ B`, in place; `rhs` is a list of columns.
pub fn solve_lower_transposed(l: &Matrix, rhs: &mut [f64]) {
    triangular_solve::solve_upper_triangular_in_place(l.view().transpose(), columns_mut(rhs, l.rows), Par::Seq);
}

/// `B L⁻¹` for a square B, in place.
fn solve_lower_from_right(b: &mut Matrix, l: &Matrix) {
    // B L⁻¹ = (L⁻ᵀ Bᵀ)ᵀ
    let rhs = b.view_mut().transpose_mut();
    triangular_solve::solve_upper_triangular_in_place(l.view().transpose(), rhs, Par::Seq);
}

/// `B L⁻ᵀ` for a square B, in place.
fn solve_lower_transposed_from_right(b: &mut Matrix, l: &Matrix) {
    let rhs = b.view_mut().transpose_mut();
    triangular_solve::solve_lower_triangular_in_place(l.view(), rhs, Par::Seq);
}

/// `L⁻¹ B L⁻ᵀ`, in place: a matrix seen in whitened coordinates.
pub fn whiten(b: &mut Matrix, l: &Matrix) {
    solve_lower(l, &mut b.data);
    solve_lower_transposed_from_right(b, l);
}

/// `L⁻ᵀ B L⁻¹`, in place: the adjoint of [`whiten`].
pub fn whiten_adjoint(b: &mut Matrix, l: &Matrix) {
    solve_lower_transposed(l, &mut b.data);
    solve_lower_from_right(b, l);
}

/// `L⁻¹`, lower triangular.
pub fn inverse_lower(l: &Matrix) -> Matrix {
    let mut inverse = Matrix::zeros(l.rows, l.rows);
    triangular_inverse::invert_lower_triangular(inverse.view_mut(), l.view(), Par::Seq);
    inverse
}

/// Columns solved for at a time in [`solve_lower_for_lower`]: what lies above them is zero and left out.
const LOWER_COLUMNS: usize = 48;

/// `L⁻¹ B` for a lower triangular B, in place: lower triangular too, at a third of the cost.
pub fn solve_lower_for_lower(l: &Matrix, b: &mut Matrix) {
    let size = l.rows;
    for start in (0..size).step_by(LOWER_COLUMNS) {
        let count = LOWER_COLUMNS.min(size - start);
        let left = size - start;
        let rhs = b.view_mut().submatrix_mut(start, start, left, count);
        triangular_solve::solve_lower_triangular_in_place(l.view().submatrix(start, start, left, left), rhs, Par::Seq);
    }
}

/// `L⁻¹`, lower triangular, into `out`, whose upper triangle stays as it is.
pub fn inverse_lower_into(l: &Matrix, out: &mut Matrix) {
    triangular_inverse::invert_lower_triangular(out.view_mut(), l.view(), Par::Seq);
}

fn transposed_lower_product(
    out: &mut Matrix,
    structure: BlockStructure,
    accum: Accum,
    factor: f64,
    a: &Matrix,
    b: &Matrix,
) {
    triangular::matmul(
        out.view_mut(),
        structure,
        accum,
        a.view().transpose(),
        BlockStructure::TriangularUpper,
        b.view(),
        BlockStructure::TriangularLower,
        factor,
        Par::Seq,
    );
}

/// `Aᵀ B` for lower triangular A and B: a whole matrix.
pub fn lower_transposed_product_into(a: &Matrix, b: &Matrix, out: &mut Matrix) {
    transposed_lower_product(out, BlockStructure::Rectangular, Accum::Replace, 1.0, a, b);
}

/// The lower triangle of `Lᵀ L` for a lower triangular L.
pub fn lower_gram_into(l: &Matrix, out: &mut Matrix) {
    transposed_lower_product(out, BlockStructure::TriangularLower, Accum::Replace, 1.0, l, l);
}

/// Adds `factor · Lᵀ L` to the lower triangle of `out`, for a lower triangular L.
pub fn add_lower_gram(out: &mut Matrix, factor: f64, l: &Matrix) {
    transposed_lower_product(out, BlockStructure::TriangularLower, Accum::Add, factor, l, l);
}

/// Adds `Xᵀ Y` to the lower triangle of `out`.
pub fn add_transposed_product_lower(out: &mut Matrix, x: &Matrix, y: &Matrix) {
    triangular::matmul(
        out.view_mut(),
        BlockStructure::TriangularLower,
        Accum::Add,
        x.view().transpose(),
        BlockStructure::Rectangular,
        y.view(),
        BlockStructure::Rectangular,
        1.0,
        Par::Seq,
    );
}

/// `(L Lᵀ)⁻¹`, both triangles.
pub fn inverse_from_cholesky(l: &Matrix) -> Matrix {
    let root = inverse_lower(l);
    let mut inverse = Matrix::zeros(l.rows, l.rows);
    triangular::matmul(
        inverse.view_mut(),
        BlockStructure::TriangularLower,
        Accum::Replace,
        root.view().transpose(),
        BlockStructure::TriangularUpper,
        root.view(),
        BlockStructure::TriangularLower,
        1.0,
        Par::Seq,
    );
    inverse.mirror_lower();
    inverse
}

/// `log |L Lᵀ|`.
pub fn log_determinant(l: &Matrix) -> f64 {
    2.0 * (0..l.rows).map(|i| l[(i, i)].ln()).sum::<f64>()
}

/// `A B`.
pub fn product(a: &Matrix, b: &Matrix) -> Matrix {
    let mut out = Matrix::zeros(a.rows, b.cols);
    matmul::matmul(out.view_mut(), Accum::Replace, a.view(), b.view(), 1.0, Par::Seq);
    out
}

/// `Aᵀ B`.
pub fn transposed_product(a: &Matrix, b: &Matrix) -> Matrix {
    let mut out = Matrix::zeros(a.cols, b.cols);
    matmul::matmul(out.view_mut(), Accum::Replace, a.view().transpose(), b.view(), 1.0, Par::Seq);
    out
}

/// `Aᵀ B` for lists of columns of length `rows`.
pub fn transposed_product_columns(a: &[f64], b: &[f64], rows: usize, out: &mut [f64]) {
    let a = columns(a, rows);
    let out = columns_mut(out, a.ncols());
    matmul::matmul(out, Accum::Replace, a.transpose(), columns(b, rows), 1.0, Par::Seq);
}

/// `A Bᵀ`.
pub fn product_transposed(a: &Matrix, b: &Matrix) -> Matrix {
    let mut out = Matrix::zeros(a.rows, b.rows);
    matmul::matmul(out.view_mut(), Accum::Replace, a.view(), b.view().transpose(), 1.0, Par::Seq);
    out
}

/// `A B` for lists of columns `b` and `out`.
pub fn product_columns(a: &Matrix, b: &[f64], out: &mut [f64]) {
    matmul::matmul(columns_mut(out, a.rows), Accum::Replace, a.view(), columns(b, a.cols), 1.0, Par::Seq);
}

/// The rows of `A B` from `first` on, for lists of columns of length `rows`; those before stay as they are in `out`.
pub fn product_rows_from(first: usize, rows: usize, a: &[f64], b: &[f64], out: &mut [f64]) {
    let (a, count) = (columns(a, rows), rows - first);
    let out = columns_mut(out, rows).subrows_mut(first, count);
    matmul::matmul(out, Accum::Replace, a.subrows(first, count), columns(b, a.ncols()), 1.0, Par::Seq);
}

/// `L B` for a lower triangular L and a list of columns.
pub fn lower_product_columns(l: &Matrix, b: &[f64], out: &mut [f64]) {
    triangular::matmul(
        columns_mut(out, l.rows),
        BlockStructure::Rectangular,
        Accum::Replace,
        l.view(),
        BlockStructure::TriangularLower,
        columns(b, l.rows),
        BlockStructure::Rectangular,
        1.0,
        Par::Seq,
    );
}

/// `A x`.
pub fn times(a: &Matrix, x: &[f64]) -> Vec<f64> {
    let mut out = vec![0.0; a.rows];
    product_columns(a, x, &mut out);
    out
}

/// `L x` for a lower triangular L.
pub fn lower_times(l: &Matrix, x: &[f64]) -> Vec<f64> {
    (0..l.rows).map(|i| (0..=i).map(|j| l[(i, j)] * x[j]).sum()).collect()
}

/// `Lᵀ x` for a lower triangular L.
pub fn lower_transposed_times(l: &Matrix, x: &[f64]) -> Vec<f64> {
    (0..l.rows).map(|j| dot(&l.col(j)[j..], &x[j..])).collect()
}

/// `L Lᵀ`, both triangles.
pub fn lower_square(l: &Matrix) -> Matrix {
    let mut out = Matrix::zeros(l.rows, l.rows);
    triangular::matmul(
        out.view_mut(),
        BlockStructure::TriangularLower,
        Accum::Replace,
        l.view(),
        BlockStructure::TriangularLower,
        l.view().transpose(),
        BlockStructure::TriangularUpper,
        1.0,
        Par::Seq,
    );
    out.mirror_lower();
    out
}

/// Adds `factor · X Yᵀ` to the lower triangle of `out`; X and Y are lists of columns.
pub fn add_outer_lower(out: &mut Matrix, factor: f64, x: &[f64], y: &[f64]) {
    let rows = out.rows;
    triangular::matmul(
        out.view_mut(),
        BlockStructure::TriangularLower,
        Accum::Add,
        columns(x, rows),
        BlockStructure::Rectangular,
        columns(y, rows).transpose(),
        BlockStructure::Rectangular,
        factor,
        Par::Seq,
    );
}

/// `X diag(w) Yᵀ` for lists of columns of length `rows`.
pub fn weighted_outer(x: &[f64], weights: &[f64], y: &[f64], rows: usize, out: &mut [f64]) {
    let scaled = scaled_columns(x, weights, rows);
    matmul::matmul(
        columns_mut(out, rows),
        Accum::Replace,
        columns(&scaled, rows),
        columns(y, rows).transpose(),
        1.0,
        Par::Seq,
    );
}

/// Adjoint of [`weighted_outer`] by X and Y.
pub fn weighted_outer_adjoint(x: &[f64], weights: &[f64], y: &[f64], rows: usize, bar: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let (mut x_bar, mut y_bar) = (vec![0.0; x.len()], vec![0.0; y.len()]);
    let bar = columns(bar, rows);
    matmul::matmul(columns_mut(&mut x_bar, rows), Accum::Replace, bar, columns(y, rows), 1.0, Par::Seq);
    matmul::matmul(columns_mut(&mut y_bar, rows), Accum::Replace, bar.transpose(), columns(x, rows), 1.0, Par::Seq);
    (scaled_columns(&x_bar, weights, rows), scaled_columns(&y_bar, weights, rows))
}

/// The columns of X, each times its weight.
pub(crate) fn scaled_columns(x: &[f64], weights: &[f64], rows: usize) -> Vec<f64> {
    x.chunks_exact(rows).zip(weights).flat_map(|(column, w)| column.iter().map(move |v| w * v)).collect()
}

/// `X y` for a list of columns X of length `rows`.
pub fn columns_times(x: &[f64], rows: usize, y: &[f64]) -> Vec<f64> {
    let mut out = vec![0.0; rows];
    for (column, &weight) in x.chunks_exact(rows).zip(y) {
        add_scaled(&mut out, weight, column);
    }
    out
}

/// A factor F with FᵀF = C for a positive semi-definite C of any rank, by Cholesky with pivoting; column n of F belongs to
/// row n of C. Directions with less than 1e-14 of the largest variance are dropped. // (rank, N)
pub fn pivoted_cholesky(matrix: &Matrix) -> Matrix {
    let (size, directions) = (matrix.rows, pivoted_directions(matrix, matrix.rows));
    Matrix::from_fn(directions.len(), size, |i, j| directions[i][j])
}

/// The same where the rank is lower than `most`; else none, after so much of the work.
pub fn pivoted_cholesky_within(matrix: &Matrix, most: usize) -> Option<Matrix> {
    let (size, directions) = (matrix.rows, pivoted_directions(matrix, most));
    (directions.len() < most).then(|| Matrix::from_fn(directions.len(), size, |i, j| directions[i][j]))
}

/// The rows of the factor, at most so many.
fn pivoted_directions(matrix: &Matrix, most: usize) -> Vec<Vec<f64>> {
    let size = matrix.rows;
    let mut left: Vec<f64> = (0..size).map(|i| matrix[(i, i)].max(0.0)).collect();
    let floor = 1e-14 * left.iter().copied().fold(0.0, f64::max);
    let mut directions: Vec<Vec<f64>> = Vec::new();
    while directions.len() < size.min(most) {
        let pivot = (0..size).max_by(|&i, &j| left[i].total_cmp(&left[j])).unwrap_or(0);
        if left.is_empty() || left[pivot] <= floor {
            break;
        }
        let mut direction = matrix.col(pivot).to_vec();
        for known in &directions {
            add_scaled(&mut direction, -known[pivot], known);
        }
        let scale = 1.0 / left[pivot].sqrt();
        direction.iter_mut().for_each(|d| *d *= scale);
        left.iter_mut().zip(&direction).for_each(|(left, d)| *left = (*left - d * d).max(0.0));
        left[pivot] = 0.0;
        directions.push(direction);
    }
    directions
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(size: usize) -> Matrix {
        let g = Matrix::from_fn(size, size, |i, j| ((i * 7 + j * 13 + 3) % 11) as f64 - 5.0 + 0.1 * i as f64);
        let mut k = product(&g, &Matrix::from_fn(size, size, |i, j| g[(j, i)]));
        k.add_to_diagonal(1.0);
        k
    }

    fn naive(a: &Matrix, b: &Matrix) -> Matrix {
        Matrix::from_fn(a.rows, b.cols, |i, j| (0..a.cols).map(|k| a[(i, k)] * b[(k, j)]).sum())
    }

    fn close(a: &Matrix, b: &Matrix) {
        let scale = b.data.iter().fold(1.0, |s: f64, v| s.max(v.abs()));
        for (x, y) in a.data.iter().zip(&b.data) {
            assert!((x - y).abs() < 1e-11 * scale, "{x} {y}");
        }
    }

    #[test]
    fn triangles_agree_with_whole_matrices() {
        for size in [1, 5, 47, 100] {
            let lower = |seed: usize| {
                let value = |i: usize, j: usize| ((i * 7 + j * 13 + seed) % 11) as f64 / 11.0 - 0.4;
                let entry = |i: usize, j: usize| if i == j { 3.0 } else { value(i, j) / (1 + i.abs_diff(j)) as f64 };
                Matrix::from_fn(size, size, |i, j| if i >= j { entry(i, j) } else { 0.0 })
            };
            let transposed = |a: &Matrix| Matrix::from_fn(size, size, |i, j| a[(j, i)]);
            let (l, b) = (lower(1), lower(5));
            let mut solved = b.clone();
            solve_lower_for_lower(&l, &mut solved);
            close(&naive(&l, &solved), &b);
            let mut inverse = Matrix::zeros(size, size);
            inverse_lower_into(&l, &mut inverse);
            close(&naive(&l, &inverse), &Matrix::scaled_identity(size, 1.0));
            let mut out = Matrix::zeros(size, size);
            lower_transposed_product_into(&l, &b, &mut out);
            close(&out, &naive(&transposed(&l), &b));
            lower_gram_into(&l, &mut out);
            add_lower_gram(&mut out, -0.5, &b);
            add_transposed_product_lower(&mut out, &l, &b);
            out.mirror_lower();
            let [ll, bb, lb] = [(&l, &l), (&b, &b), (&l, &b)].map(|(x, y)| naive(&transposed(x), y));
            let mut want = Matrix::from_fn(size, size, |i, j| ll[(i, j)] - 0.5 * bb[(i, j)] + lb[(i, j)]);
            want.mirror_lower();
            close(&out, &want);
        }
    }

    #[test]
    fn factors_solves_and_products_agree_with_naive_loops() {
        for size in [1, 2, 5, 37] {
            let k = sample(size);
            let mut l = k.clone();
            cholesky(&mut l).unwrap();
            let transposed = Matrix::from_fn(size, size, |i, j| l[(j, i)]);
            close(&naive(&l, &transposed), &k);
            close(&lower_square(&l), &k);
            close(&naive(&inverse_from_cholesky(&l), &k), &Matrix::scaled_identity(size, 1.0));
            let mut white = k.clone();
            whiten(&mut white, &l);
            close(&white, &Matrix::scaled_identity(size, 1.0));
            let mut b = Matrix::from_fn(size, size, |i, j| (i + 2 * j) as f64);
            let want =
                naive(&naive(&Matrix::from_fn(size, size, |i, j| inverse_lower(&l)[(j, i)]), &b), &inverse_lower(&l));
            whiten_adjoint(&mut b, &l);
            close(&b, &want);
            let x: Vec<f64> = (0..size).map(|i| i as f64 - 1.5).collect();
            close(
                &Matrix { rows: size, cols: 1, data: lower_times(&l, &x) },
                &naive(&l, &Matrix { rows: size, cols: 1, data: x.clone() }),
            );
            close(
                &Matrix { rows: size, cols: 1, data: lower_transposed_times(&l, &x) },
                &naive(&transposed, &Matrix { rows: size, cols: 1, data: x.clone() }),
            );
            let mut columns = vec![0.0; size * size];
            lower_product_columns(&l, &k.data, &mut columns);
            close(&Matrix { rows: size, cols: size, data: columns }, &naive(&l, &k));
        }
    }

    #[test]
    fn a_pivoted_factor_rebuilds_a_matrix_of_low_rank() {
        let g = Matrix::from_fn(3, 12, |i, j| ((i * 5 + j * 3) % 7) as f64 - 3.0);
        let c = naive(&Matrix::from_fn(12, 3, |i, j| g[(j, i)]), &g);
        let f = pivoted_cholesky(&c);
        assert_eq!(f.rows(), 3);
        close(&naive(&Matrix::from_fn(12, 3, |i, j| f[(j, i)]), &f), &c);
        assert_eq!(pivoted_cholesky(&Matrix::zeros(4, 4)).rows(), 0);
    }

    #[test]
    fn a_matrix_that_is_not_positive_definite_names_its_pivot() {
        let mut k = Matrix::scaled_identity(4, 1.0);
        k[(2, 2)] = -1.0;
        assert_eq!(cholesky(&mut k), Err(2));
        let mut k = Matrix::scaled_identity(4, 1.0);
        k[(1, 1)] = f64::NAN;
        assert!(cholesky(&mut k).is_err());
    }
}
