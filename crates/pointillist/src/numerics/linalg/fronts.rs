//! The dense steps of an elimination front by front (`gaussian/dissection/`): L of a front is a list of columns J with rows J and R, the
//! triangle L_JJ on top of L_RJ.

use super::{columns, columns_mut, llt, matmul, triangular, triangular_solve};
use faer::linalg::matmul::triangular::BlockStructure;
use faer::linalg::triangular_inverse;
use faer::{Accum, MatMut, MatRef, Par};

/// L_JJ and L_RJ.
fn parts(panel: &[f64], rows: usize) -> (MatRef<'_, f64>, MatRef<'_, f64>) {
    let panel = columns(panel, rows);
    panel.split_at_row(panel.ncols())
}

/// Entries on each side of the squares in which [`mirror_columns`] goes.
const SQUARE: usize = 16;

/// Makes the columns of a front (lower triangle) those of L, and takes L_RJ L_RJᵀ out of the lower triangle of the `update`; or gives the pivot
/// that was not positive.
pub fn eliminate_front(panel: &mut [f64], rows: usize, update: &mut [f64]) -> Result<(), usize> {
    let panel = columns_mut(panel, rows);
    let cols = panel.ncols();
    let (mut top, mut below) = panel.split_at_row_mut(cols);
    let needed = llt::cholesky_in_place_scratch::<f64>(cols, Par::Seq, Default::default());
    let mut scratch = faer::dyn_stack::MemBuffer::new(needed);
    let stack = faer::dyn_stack::MemStack::new(&mut scratch);
    llt::cholesky_in_place(top.as_mut(), Default::default(), Par::Seq, stack, Default::default())
        .map_err(|llt::LltError::NonPositivePivot { index }| index)?;
    if let Some(pivot) = (0..cols).find(|&i| !top[(i, i)].is_finite()) {
        return Err(pivot); // a NaN passes through the factorisation unnoticed
    }
    if rows > cols {
        triangular_solve::solve_lower_triangular_in_place(top.as_ref(), below.as_mut().transpose_mut(), Par::Seq);
        let left = rows - cols;
        add_product_lower(
            columns_mut(&mut update[..left * left], left),
            -1.0,
            below.as_ref(),
            below.as_ref().transpose(),
        );
    }
    Ok(())
}

/// Adds `factor · A B` to the lower triangle of a square matrix.
fn add_product_lower(out: MatMut<'_, f64>, factor: f64, a: MatRef<'_, f64>, b: MatRef<'_, f64>) {
    let whole = BlockStructure::Rectangular;
    triangular::matmul(out, BlockStructure::TriangularLower, Accum::Add, a, whole, b, whole, factor, Par::Seq);
}

/// The inverse S over J and R of a front, of which S_RR is there, in the columns J from the diagonal down: with Y = L_RJ L_JJ⁻¹,
/// S_RJ = −S_RR Y and S_JJ = L_JJ⁻ᵀ L_JJ⁻¹ − Yᵀ S_RJ. Room is needed for L_JJ⁻¹ and for Y.
pub fn invert_front(panel: &[f64], rows: usize, inverse: &mut [f64], [root, y]: [&mut [f64]; 2]) {
    let (top, below) = parts(panel, rows);
    let cols = top.nrows();
    let (left, right) = columns_mut(&mut inverse[..rows * rows], rows).split_at_col_mut(cols);
    let (mut own, mut beside) = left.split_at_row_mut(cols);
    let known = right.as_ref().subrows(cols, rows - cols);
    let (lower, whole) = (BlockStructure::TriangularLower, BlockStructure::Rectangular);
    let mut root = columns_mut(&mut root[..cols * cols], cols);
    triangular_inverse::invert_lower_triangular(root.as_mut(), top, Par::Seq);
    let (root, upper) = (root.as_ref(), BlockStructure::TriangularUpper);
    let seq = Par::Seq;
    triangular::matmul(own.as_mut(), lower, Accum::Replace, root.transpose(), upper, root, lower, 1.0, seq);
    if rows > cols {
        let mut y = columns_mut(&mut y[..(rows - cols) * cols], rows - cols);
        triangular::matmul(y.as_mut(), whole, Accum::Replace, below, whole, root, lower, 1.0, seq);
        matmul::matmul(beside.as_mut(), Accum::Replace, known, y.as_ref(), -1.0, seq);
        add_product_lower(own.as_mut(), -1.0, y.as_ref().transpose(), beside.as_ref());
    }
}

/// Fills in the first `cols` rows of a symmetric matrix from its first columns, which are there from the diagonal down.
pub fn mirror_columns(matrix: &mut [f64], rows: usize, cols: usize) {
    for left in (0..cols).step_by(SQUARE) {
        for top in (left..rows).step_by(SQUARE) {
            for j in left..cols.min(left + SQUARE) {
                for i in top.max(j + 1)..rows.min(top + SQUARE) {
                    matrix[i * rows + j] = matrix[j * rows + i];
                }
            }
        }
    }
}

/// x_J = L_JJ⁻¹ x_J, and L_RJ x_J taken out of the `rest`; both are lists of columns.
pub fn solve_front(panel: &[f64], rows: usize, x: &mut [f64], rest: &mut [f64]) {
    let (top, below) = parts(panel, rows);
    let mut x = columns_mut(x, top.nrows());
    triangular_solve::solve_lower_triangular_in_place(top, x.as_mut(), Par::Seq);
    if rows > top.nrows() {
        matmul::matmul(columns_mut(rest, below.nrows()), Accum::Add, below, x.as_ref(), -1.0, Par::Seq);
    }
}

/// x_J = L_JJ⁻ᵀ (x_J − L_RJᵀ x_R); both are lists of columns.
pub fn solve_front_transposed(panel: &[f64], rows: usize, x: &mut [f64], known: &[f64]) {
    let (top, below) = parts(panel, rows);
    let mut x = columns_mut(x, top.nrows());
    if rows > top.nrows() {
        matmul::matmul(x.as_mut(), Accum::Add, below.transpose(), columns(known, below.nrows()), -1.0, Par::Seq);
    }
    triangular_solve::solve_upper_triangular_in_place(top.transpose(), x, Par::Seq);
}
