//! Sums over tensor grids, one axis at a time (docs/derivation.md (48)).
//!
//! A tensor is a list, its first axis fastest. A feature at a node of a tensor grid is a product of features on the axes,
//! and so is a feature's square: Σ W (a_x a_xᵀ) ⊗ (a_y a_yᵀ) is summed over one axis after the other, P_x P_y M_x² + P_y M²
//! operations in place of P_x P_y M². As a_r a_rᵀ is symmetric, only its pairs k ≥ l are kept. What is here knows no kernels.

use crate::numerics::linalg::{self, Matrix};
use crate::parallel;

/// Number of pairs k ≥ l below `count`.
fn pair_count(count: usize) -> usize {
    count * (count + 1) / 2
}

/// The place of a pair.
fn pair(k: usize, l: usize) -> usize {
    let (k, l) = (k.max(l), k.min(l));
    pair_count(k) + l
}

/// All products of two entries of each column. // (pairs, P)
pub(super) fn pair_products(a: &Matrix) -> Matrix {
    let mut out = Matrix::zeros(pair_count(a.rows()), a.cols());
    for n in 0..a.cols() {
        let mut rest = out.col_mut(n);
        let column = a.col(n);
        for k in 0..column.len() {
            let (row, others) = rest.split_at_mut(k + 1);
            row.iter_mut().zip(column).for_each(|(out, v)| *out = column[k] * v);
            rest = others;
        }
    }
    out
}

/// Adjoint of [`pair_products`], added.
pub(super) fn add_pair_products_adjoint(a: &Matrix, bar: &Matrix, a_bar: &mut Matrix) {
    for n in 0..a.cols() {
        let (column, column_bar, mut rest) = (a.col(n), a_bar.col_mut(n), bar.col(n));
        for k in 0..column.len() {
            let (row, others) = rest.split_at(k + 1);
            column_bar[k] += linalg::dot(row, &column[..=k]);
            linalg::add_scaled(&mut column_bar[..=k], column[k], row);
            rest = others;
        }
    }
}

/// A symmetric matrix as a list of its pairs.
pub(super) fn pairs_of(matrix: &Matrix) -> Vec<f64> {
    (0..matrix.rows()).flat_map(|k| (0..=k).map(move |l| matrix[(k, l)])).collect()
}

/// The adjoint of [`pairs_of`], as a symmetric matrix.
pub(super) fn pairs_adjoint(size: usize, bar: &[f64]) -> Matrix {
    Matrix::from_fn(size, size, |k, l| if k == l { bar[pair(k, l)] } else { 0.5 * bar[pair(k, l)] })
}

/// Sums over the first axis: T as (n, rest) becomes (rest, columns of `with`).
fn turn(tensor: &[f64], with: &Matrix) -> Vec<f64> {
    let (count, rest) = (with.rows(), tensor.len() / with.rows());
    let mut out = vec![0.0; rest * with.cols()];
    let block = with.cols().div_ceil(BLOCKS);
    let blocks = out.chunks_mut(rest * block).zip(with.data().chunks(count * block));
    parallel::for_each(blocks, count * rest, |(out, with)| {
        linalg::transposed_product_columns(tensor, with, count, out)
    });
    out
}

/// Blocks of columns that threads share: fixed, so that the bits do not depend on their number.
const BLOCKS: usize = 8;

/// The first axis becomes the last.
fn rotated(tensor: &[f64], count: usize) -> Vec<f64> {
    let rest = tensor.len() / count;
    (0..count).flat_map(|i| (0..rest).map(move |j| tensor[j * count + i])).collect()
}

/// Sums over every axis r with `with[r]`, (n_r, columns).
pub(super) fn contract(tensor: &[f64], with: &[&Matrix]) -> Vec<f64> {
    with.iter().fold(tensor.to_vec(), |tensor, with| turn(&tensor, with))
}

/// Sums over every axis but `axis`, which comes first: (n, rest) of a tensor of these counts.
pub(super) fn contract_others(tensor: &[f64], counts: &[usize], with: &[&Matrix], axis: usize) -> Matrix {
    let mut found = tensor.to_vec();
    for r in 0..counts.len() {
        found = if r == axis { rotated(&found, counts[r]) } else { turn(&found, with[r]) };
    }
    let counts: Vec<usize> = (0..counts.len()).map(|r| if r == axis { counts[r] } else { with[r].cols() }).collect();
    first(found, &counts, axis)
}

/// The tensor with `axis` first, the others behind it in their order around. // (n, rest)
pub(super) fn first(mut tensor: Vec<f64>, counts: &[usize], axis: usize) -> Matrix {
    for count in &counts[..axis] {
        tensor = rotated(&tensor, *count);
    }
    Matrix::from_columns(counts[axis], tensor)
}

/// The tensor product of lists.
pub(super) fn product(lists: &[&[f64]]) -> Vec<f64> {
    lists.iter().fold(vec![1.0], |tensor, list| list.iter().flat_map(|v| tensor.iter().map(move |t| t * v)).collect())
}

/// Where the pairs of points of a grid stand in a tensor over the pairs of its axes.
pub(super) struct Pairing {
    /// Points on the first axis.
    first: usize,
    /// Pairs on the first axis.
    pairs: usize,
    /// Points on all others together.
    others: usize,
    /// For each two of these, the place of their pairs. // (others, others)
    places: Vec<usize>,
}

impl Pairing {
    pub(super) fn new(counts: &[usize]) -> Self {
        let others: usize = counts[1..].iter().product();
        let place = |mut k: usize, mut l: usize| {
            let (mut place, mut stride) = (0, 1);
            for &count in &counts[1..] {
                place += stride * pair(k % count, l % count);
                stride *= pair_count(count);
                (k, l) = (k / count, l / count);
            }
            place
        };
        let places = (0..others * others).map(|i| place(i % others, i / others)).collect();
        Self { first: counts[0], pairs: pair_count(counts[0]), others, places }
    }

    /// Adds a tensor over pairs to the lower triangle of a matrix over points.
    pub(super) fn add_unfolded(&self, tensor: &[f64], out: &mut Matrix) {
        let size = out.rows();
        parallel::for_each(out.data_mut().chunks_mut(size * self.first).enumerate(), size * size, |(l, columns)| {
            for k in l..self.others {
                let from = &tensor[self.places[l * self.others + k] * self.pairs..][..self.pairs];
                for (j, column) in columns.chunks_exact_mut(size).enumerate() {
                    let out = &mut column[k * self.first..][..self.first];
                    out[..j].iter_mut().zip(&from[pair_count(j)..]).for_each(|(out, v)| *out += v);
                    (j..self.first).for_each(|i| out[i] += from[pair_count(i) + j]);
                }
            }
        });
    }

    /// A symmetric matrix over points as a tensor over pairs, all its entries summed: the adjoint of unfolding.
    pub(super) fn folded(&self, matrix: &Matrix) -> Vec<f64> {
        let count = self.places.iter().max().map_or(0, |last| last + 1);
        let mut blocks: Vec<Vec<usize>> = vec![vec![]; count];
        self.places.iter().enumerate().for_each(|(at, place)| blocks[*place].push(at));
        let mut out = vec![0.0; count * self.pairs];
        parallel::for_each(out.chunks_mut(self.pairs).zip(&blocks), matrix.data().len(), |(out, blocks)| {
            for block in blocks {
                let (l, k) = (block / self.others, block % self.others);
                for j in 0..self.first {
                    let column = &matrix.col(l * self.first + j)[k * self.first..][..self.first];
                    column[..j].iter().zip(&mut out[pair_count(j)..]).for_each(|(v, out)| *out += v);
                    (j..self.first).for_each(|i| out[pair_count(i) + j] += column[i]);
                }
            }
        });
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(count: usize) -> Vec<f64> {
        (0..count).map(|i| (0.7 * i as f64 + 0.3).sin()).collect()
    }

    #[test]
    fn folding_is_the_adjoint_of_unfolding_and_both_are_the_plain_sums() {
        for counts in [vec![4], vec![3, 4], vec![2, 3, 4]] {
            let (pairing, size) = (Pairing::new(&counts), counts.iter().product::<usize>());
            let digits = |mut m: usize| -> Vec<usize> { counts.iter().map(|c| (m % c, m /= c).0).collect() };
            let pairs: usize = counts.iter().map(|c| pair_count(*c)).product();
            let place = |a: usize, b: usize| {
                let axes = digits(a).into_iter().zip(digits(b)).zip(&counts);
                axes.fold((0, 1), |(at, stride), ((k, l), c)| (at + stride * pair(k, l), stride * pair_count(*c))).0
            };
            let tensor = numbers(pairs);
            let mut unfolded = Matrix::zeros(size, size);
            pairing.add_unfolded(&tensor, &mut unfolded);
            let matrix = Matrix::from_fn(size, size, |i, j| ((i * j) as f64 + (i + j) as f64).cos());
            let mut folded = vec![0.0; pairs];
            for (i, j) in (0..size).flat_map(|i| (0..size).map(move |j| (i, j))) {
                folded[place(i, j)] += matrix[(i, j)];
                assert!(i < j || unfolded[(i, j)] == tensor[place(i, j)]);
            }
            let got = pairing.folded(&matrix);
            got.iter().zip(&folded).for_each(|(a, b)| assert!((a - b).abs() < 1e-12));
        }
    }

    #[test]
    fn contractions_are_the_plain_sums() {
        let (counts, sizes) = ([3, 4, 2], [2, 3, 5]);
        let with: Vec<Matrix> =
            (0..3).map(|r| Matrix::from_columns(counts[r], numbers(counts[r] * sizes[r]))).collect();
        let with: Vec<&Matrix> = with.iter().collect();
        let tensor = numbers(24);
        let at = |i: usize, j: usize, k: usize| tensor[i + 3 * (j + 4 * k)];
        let got = contract(&tensor, &with);
        let mut all = (0..2usize).flat_map(|a| (0..3usize).flat_map(move |b| (0..5usize).map(move |c| (a, b, c))));
        assert!(all.all(|(a, b, c)| {
            let nodes = (0..3).flat_map(|i| (0..4).flat_map(move |j| (0..2).map(move |k| (i, j, k))));
            let want: f64 =
                nodes.map(|(i, j, k)| at(i, j, k) * with[0][(i, a)] * with[1][(j, b)] * with[2][(k, c)]).sum();
            (want - got[a + 2 * (b + 3 * c)]).abs() < 1e-12
        }));
        let got = contract_others(&tensor, &counts, &with, 1);
        for (j, c, a) in (0..4).flat_map(|j| (0..5).flat_map(move |c| (0..2).map(move |a| (j, c, a)))) {
            let nodes = (0..3).flat_map(|i| (0..2).map(move |k| (i, k)));
            let want: f64 = nodes.map(|(i, k)| at(i, j, k) * with[0][(i, a)] * with[2][(k, c)]).sum();
            assert!((want - got[(j, c + 5 * a)]).abs() < 1e-12);
        }
    }

    #[test]
    fn pairs_and_their_adjoints() {
        let a = Matrix::from_columns(3, numbers(6));
        let products = pair_products(&a);
        assert_eq!(products[(pair(1, 2), 1)], a[(1, 1)] * a[(2, 1)]);
        let bar = Matrix::from_columns(6, numbers(12));
        let value = |a: &Matrix| linalg::dot(pair_products(a).data(), bar.data());
        let mut a_bar = Matrix::zeros(3, 2);
        add_pair_products_adjoint(&a, &bar, &mut a_bar);
        for i in 0..6 {
            let moved = |by: f64| {
                let mut a = a.clone();
                a.data_mut()[i] += by;
                value(&a)
            };
            assert!((a_bar.data()[i] - (moved(1e-5) - moved(-1e-5)) / 2e-5).abs() < 1e-8);
        }
        let square = Matrix::from_fn(3, 3, |i, j| (i + j) as f64 + 1.0);
        let bar = numbers(6);
        let folded = pairs_adjoint(3, &bar);
        assert!((linalg::dot(&pairs_of(&square), &bar) - linalg::dot(square.data(), folded.data())).abs() < 1e-12);
    }
}
