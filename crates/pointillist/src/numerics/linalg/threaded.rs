//! The Cholesky factor and the inverse of a large matrix on all cores, by blocks of columns: the blocks are the same on any number
//! of threads, and so are the bits.

use super::{Matrix, cholesky, triangular_solve};
use crate::parallel;
use faer::linalg::matmul;
use faer::{Accum, MatMut, MatRef, Par};

/// Columns of a block. Smaller ones share work better among threads, larger ones work faster.
const BLOCK: usize = 192;

/// [`super::cholesky`] on all cores.
pub fn cholesky_on_all_cores(matrix: &mut Matrix) -> Result<(), usize> {
    let size = matrix.rows;
    let mut corner = Matrix::default();
    for start in (0..size).step_by(BLOCK) {
        let width = BLOCK.min(size - start);
        let rest = start + width;
        // The block on the diagonal, by itself.
        corner.rows = width;
        corner.cols = width;
        corner.data.clear();
        (start..rest).for_each(|j| corner.data.extend_from_slice(&matrix.col(j)[start..rest]));
        cholesky(&mut corner).map_err(|pivot| start + pivot)?;
        for j in 0..width {
            matrix.col_mut(start + j)[..start].fill(0.0);
            matrix.col_mut(start + j)[start..rest].copy_from_slice(corner.col(j));
        }
        // What lies below it, then what lies to the right of that.
        let (left, right) = matrix.view_mut().split_at_col_mut(rest);
        let mut below = left.submatrix_mut(rest, start, size - rest, width);
        parallel::for_each(row_blocks(below.as_mut()), size * width, |rows| {
            triangular_solve::solve_lower_triangular_in_place(corner.view(), rows.transpose_mut(), Par::Seq);
        });
        let below = below.as_ref();
        let trailing = right.submatrix_mut(rest, 0, size - rest, size - rest);
        parallel::for_each(column_blocks(trailing).enumerate(), size * width, |(b, columns)| {
            subtract_outer(columns, below, b * BLOCK);
        });
    }
    Ok(())
}

/// Takes B Bᵀ from some of its columns, from row `first` on; above the diagonal anything may happen.
fn subtract_outer(columns: MatMut<'_, f64>, below: MatRef<'_, f64>, first: usize) {
    let (width, count) = (columns.ncols(), below.nrows() - first);
    let rows = below.subrows(first, count);
    let out = columns.subrows_mut(first, count);
    matmul::matmul(out, Accum::Add, rows, rows.subrows(0, width).transpose(), -1.0, Par::Seq);
}

/// `(L Lᵀ)⁻¹`, both triangles, into `out`, on all cores; `root` is overwritten by L⁻¹.
pub fn inverse_on_all_cores(l: &Matrix, root: &mut Matrix, out: &mut Matrix) {
    let size = l.rows;
    root.data.fill(0.0);
    (0..size).for_each(|i| root.data[i * size + i] = 1.0);
    parallel::for_each(column_blocks(root.view_mut()).enumerate(), size * size, |(b, columns)| {
        let (start, left) = (b * BLOCK, size - b * BLOCK);
        let factor = l.view().submatrix(start, start, left, left);
        triangular_solve::solve_lower_triangular_in_place(factor, columns.subrows_mut(start, left), Par::Seq);
    });
    let root = root.view();
    parallel::for_each(column_blocks(out.view_mut()).enumerate(), size * size, |(b, mut columns)| {
        let (first, width) = (b * BLOCK, columns.ncols());
        for start in (first..size).step_by(BLOCK) {
            let (count, left) = (BLOCK.min(size - start), size - start);
            let (a, b) = (root.submatrix(start, start, left, count), root.submatrix(start, first, left, width));
            matmul::matmul(columns.as_mut().subrows_mut(start, count), Accum::Replace, a.transpose(), b, 1.0, Par::Seq);
        }
    });
    out.mirror_lower();
}

/// Blocks of columns.
fn column_blocks(matrix: MatMut<'_, f64>) -> impl Iterator<Item = MatMut<'_, f64>> {
    let mut rest = Some(matrix);
    std::iter::from_fn(move || {
        let matrix = rest.take()?;
        if matrix.ncols() <= BLOCK {
            return (matrix.ncols() > 0).then_some(matrix);
        }
        let (block, others) = matrix.split_at_col_mut(BLOCK);
        rest = Some(others);
        Some(block)
    })
}

/// Blocks of rows.
fn row_blocks(matrix: MatMut<'_, f64>) -> impl Iterator<Item = MatMut<'_, f64>> {
    column_blocks(matrix.transpose_mut()).map(|block| block.transpose_mut())
}

#[cfg(test)]
mod tests {
    use super::super::*;
    use super::*;

    fn positive(size: usize) -> Matrix {
        let a = Matrix::from_fn(size, size, |i, j| ((3 * i + 7 * j) as f64).sin());
        let mut square = product_transposed(&a, &a);
        square.add_to_diagonal(1.0);
        square
    }

    #[test]
    fn blocks_give_what_the_whole_gives_and_the_same_bits_on_any_number_of_threads() {
        for size in [1, 50, BLOCK, 2 * BLOCK + 37] {
            let matrix = positive(size);
            let mut want = matrix.clone();
            cholesky(&mut want).unwrap();
            let run = |threads: usize| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                pool.install(|| {
                    let mut l = matrix.clone();
                    cholesky_on_all_cores(&mut l).unwrap();
                    let (mut root, mut inverse) = (Matrix::zeros(size, size), Matrix::zeros(size, size));
                    inverse_on_all_cores(&l, &mut root, &mut inverse);
                    (l, inverse)
                })
            };
            let (l, inverse) = run(1);
            assert!((&l, &inverse) == (&run(2).0, &run(2).1) && l == run(4).0);
            let close = |a: &Matrix, b: &Matrix| {
                let scale = b.data().iter().fold(0.0, |m: f64, v| m.max(v.abs()));
                a.data().iter().zip(b.data()).for_each(|(a, b)| assert!((a - b).abs() < 1e-11 * scale, "{a} {b}"));
            };
            close(&l, &want);
            close(&inverse, &inverse_from_cholesky(&want));
        }
    }

    #[test]
    fn what_is_not_positive_definite_is_told_by_its_pivot() {
        let mut matrix = positive(BLOCK + 20);
        let last = BLOCK + 11;
        matrix[(last, last)] = -1.0;
        let mut plain = matrix.clone();
        assert_eq!(cholesky_on_all_cores(&mut matrix), Err(last));
        assert_eq!(cholesky(&mut plain), Err(last));
    }
}
