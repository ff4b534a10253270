//! The dense steps of an elimination front by front (`gaussian/dissection/`): L of a front is a list of columns J with rows J and R, the
//! triangle L_JJ on top of L_RJ.

use super::{Matrix, columns, columns_mut, llt, matmul, triangular, triangular_solve};
use faer::linalg::matmul::triangular::BlockStructure;
use faer::linalg::triangular_inverse;
use faer::{Accum, MatMut, MatRef, Par};

/// L_JJ and L_RJ.
fn parts(panel: &[f64], rows: usize) -> (MatRef<'_, f64>, MatRef<'_, f64>) {
    let panel = columns(panel, rows);
    panel.split_at_row(panel.ncols())
}

/// Makes the columns of a front (lower triangle) those of L, and takes L_RJ L_RJᵀ out of the lower triangle of the `update`; or gives the pivot
/// that was not positive.
pub fn eliminate_front(panel: &mut [f64], rows: usize, update: &mut Matrix) -> Result<(), usize> {
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
        add_product_lower(update.view_mut(), -1.0, below.as_ref(), below.as_ref().transpose());
    }
    Ok(())
}

/// Adds `factor · A B` to the lower triangle of a square matrix.
fn add_product_lower(out: MatMut<'_, f64>, factor: f64, a: MatRef<'_, f64>, b: MatRef<'_, f64>) {
    let whole = BlockStructure::Rectangular;
    triangular::matmul(out, BlockStructure::TriangularLower, Accum::Add, a, whole, b, whole, factor, Par::Seq);
}

/// The inverse S over J and R of a front, of which S_RR is there: with Y = L_RJ L_JJ⁻¹,
/// S_RJ = −S_RR Y and S_JJ = L_JJ⁻ᵀ L_JJ⁻¹ − Yᵀ S_RJ. What lies above the diagonal of the columns J is filled in if `whole`.
pub fn invert_front(panel: &[f64], rows: usize, inverse: &mut Matrix, whole: bool) {
    let (top, below) = parts(panel, rows);
    let cols = top.nrows();
    let (left, right) = inverse.view_mut().split_at_col_mut(cols);
    let (mut own, mut beside) = left.split_at_row_mut(cols);
    let (mut above, known) = right.split_at_row_mut(cols);
    let mut root = Matrix::zeros(cols, cols);
    triangular_inverse::invert_lower_triangular(root.view_mut(), top, Par::Seq);
    triangular::matmul(
        own.as_mut(),
        BlockStructure::TriangularLower,
        Accum::Replace,
        root.view().transpose(),
        BlockStructure::TriangularUpper,
        root.view(),
        BlockStructure::TriangularLower,
        1.0,
        Par::Seq,
    );
    if rows > cols {
        let mut y = Matrix::zeros(rows - cols, cols);
        triangular::matmul(
            y.view_mut(),
            BlockStructure::Rectangular,
            Accum::Replace,
            below,
            BlockStructure::Rectangular,
            root.view(),
            BlockStructure::TriangularLower,
            1.0,
            Par::Seq,
        );
        matmul::matmul(beside.as_mut(), Accum::Replace, known.as_ref(), y.view(), -1.0, Par::Seq);
        add_product_lower(own.as_mut(), -1.0, y.view().transpose(), beside.as_ref());
    }
    if whole {
        above.copy_from(beside.as_ref().transpose());
        for j in 0..cols {
            (0..j).for_each(|i| own[(i, j)] = own[(j, i)]);
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
