//! A wide band matrix as dense blocks on three diagonals: Cholesky factor, solves, and the inverse on the band
//! (docs/derivation.md (43)).
//!
//! The blocks are as wide as the band, so that what couples a block to the next is a triangle, E_k. With G_k = F_kᵀ =
//! L_k⁻¹ E_kᵀ, lower:
//!
//!   L_k L_kᵀ = D_k − G_{k−1}ᵀ G_{k−1},     T = G_kᵀ L_k⁻¹,
//!   S_{k+1,k} = −S_{k+1,k+1} T,   S_kk = L_k⁻ᵀ L_k⁻¹ + Tᵀ S_{k+1,k+1} T.
//!
//! Two chains of blocks run from both ends to the one in the middle, the inverse from there outwards: two threads, and
//! the same bits on one. The right chain works on the matrix turned around, whose blocks have the same shape. L and G
//! are kept; of S two blocks per chain, from which the diagonals asked for are read. The last block is filled up with the
//! identity. Cost: about 5 block³ per block, nearly all of it products.

use super::Diagonals;
use crate::numerics::linalg::{self, Matrix};
use crate::parallel;

/// L of P = L Lᵀ in blocks, those of the ends first and that in the middle last.
#[derive(Debug, Clone)]
pub(super) struct BlockFactor {
    /// Without what was filled up.
    size: usize,
    block: usize,
    /// From the left end, and from the right end turned around.
    chains: Vec<Chain>,
    /// L of the block in the middle.
    middle: Matrix,
}

/// Blocks one after another up to the middle.
#[derive(Debug, Clone)]
struct Chain {
    /// L_k, lower. // (block, block)
    roots: Vec<Matrix>,
    /// G_k, lower, to the next block. // (block, block)
    links: Vec<Matrix>,
}

impl BlockFactor {
    /// The factor, or the pivot that was not positive; no diagonal lies further out than `block`.
    pub(super) fn new(matrix: &Diagonals, block: usize) -> Result<Self, usize> {
        let size = matrix.size();
        let whole = matrix.filled_up(size.div_ceil(block) * block);
        let turned = whole.turned_around();
        let lengths = chain_lengths(whole.size() / block);
        let sides = [(&whole, lengths[0]), (&turned, lengths[1])];
        let found = parallel::map(sides.into_iter(), size * block, |(side, length)| Chain::new(side, block, length));
        let turn_pivot = |(side, found): (usize, Result<Chain, usize>)| {
            found.map_err(|pivot| if side == 0 { pivot } else { whole.size() - 1 - pivot })
        };
        let chains = found.into_iter().enumerate().map(turn_pivot).collect::<Result<Vec<_>, _>>()?;
        let mut middle = diagonal_block(&turned, lengths[1], block);
        chains[1].take_out(&mut middle);
        turn_lower(&mut middle); // the left chain sees it from the other side
        chains[0].take_out(&mut middle);
        linalg::cholesky(&mut middle).map_err(|pivot| lengths[0] * block + pivot)?;
        Ok(Self { size, block, chains, middle })
    }

    pub(super) fn multiplications(&self) -> f64 {
        2.0 * self.size as f64 * self.block as f64
    }

    pub(super) fn log_determinant(&self) -> f64 {
        let roots = self.chains.iter().flat_map(|chain| &chain.roots);
        roots.map(linalg::log_determinant).sum::<f64>() + linalg::log_determinant(&self.middle)
    }

    /// L⁻¹ x.
    pub(super) fn solve_lower(&self, x: &mut [f64]) {
        self.on_parts(x, |[left, right], middle| {
            self.chains[1].forward(right, middle);
            middle.reverse();
            self.chains[0].forward(left, middle);
            linalg::solve_lower(&self.middle, middle);
        });
    }

    /// L⁻ᵀ x.
    pub(super) fn solve_lower_transposed(&self, x: &mut [f64]) {
        self.on_parts(x, |[left, right], middle| {
            middle.reverse();
            linalg::solve_lower_transposed(&self.middle, middle);
            self.chains[0].backward(left, middle);
            middle.reverse();
            self.chains[1].backward(right, middle);
            middle.reverse();
        });
    }

    /// L⁻ᵀ X for many columns at once: the same by products of blocks, which read L once for all of them.
    /// Number of rows.
    pub(super) fn size(&self) -> usize {
        self.size
    }

    pub(super) fn solve_lower_transposed_columns(&self, x: &mut [f64]) {
        let (count, lengths) = (x.len() / self.size, [self.chains[0].roots.len(), self.chains[1].roots.len()]);
        let whole = (lengths[0] + lengths[1] + 1) * self.block;
        // Row `row` of block k of the left chain, and of the right one turned around; the middle follows the left chain.
        let left = |k: usize, row: usize| k * self.block + row;
        let right = |k: usize, row: usize| whole - 1 - left(k, row);
        let read = |x: &[f64], at: &dyn Fn(usize) -> usize| {
            Matrix::from_fn(
                self.block,
                count,
                |row, j| if at(row) < self.size { x[j * self.size + at(row)] } else { 0.0 },
            )
        };
        let write = |x: &mut [f64], part: &Matrix, at: &dyn Fn(usize) -> usize| {
            for j in 0..count {
                for row in (0..self.block).filter(|row| at(*row) < self.size) {
                    x[j * self.size + at(row)] = part[(row, j)];
                }
            }
        };
        let middle_at = |row: usize| left(lengths[0], row);
        let mut middle = read(x, &middle_at);
        linalg::solve_lower_transposed(&self.middle, middle.data_mut());
        write(x, &middle, &middle_at);
        let turned = Matrix::from_fn(self.block, count, |row, j| middle[(self.block - 1 - row, j)]);
        for (chain, mut known, is_left) in [(&self.chains[0], middle, true), (&self.chains[1], turned, false)] {
            for (k, (root, link)) in chain.roots.iter().zip(&chain.links).enumerate().rev() {
                let at = |row: usize| if is_left { left(k, row) } else { right(k, row) };
                let mut part = read(x, &at);
                let mut taken = Matrix::zeros(self.block, count);
                linalg::lower_product_columns(link, known.data(), taken.data_mut());
                linalg::add_scaled(part.data_mut(), -1.0, taken.data());
                linalg::solve_lower_transposed(root, part.data_mut());
                write(x, &part, &at);
                known = part;
            }
        }
    }

    /// Cuts x into what belongs to the chains and to the middle, all that is the right chain's or the middle's turned
    /// around at first. The middle is left in order.
    fn on_parts(&self, x: &mut [f64], work: impl FnOnce([&mut [f64]; 2], &mut [f64])) {
        let mut whole = x.to_vec();
        whole.resize((self.chains[0].roots.len() + self.chains[1].roots.len() + 1) * self.block, 0.0);
        let (left, rest) = whole.split_at_mut(self.chains[0].roots.len() * self.block);
        rest.reverse();
        let (right, middle) = rest.split_at_mut(self.chains[1].roots.len() * self.block);
        work([left, right], middle);
        middle.reverse();
        rest.reverse();
        x.copy_from_slice(&whole[..x.len()]);
    }

    /// P⁻¹ on these diagonals, none further out than the block is wide.
    pub(super) fn selected_inverse(&self, shifts: &[usize]) -> Diagonals {
        let middle = linalg::inverse_from_cholesky(&self.middle);
        let whole = (self.chains[0].roots.len() + self.chains[1].roots.len() + 1) * self.block;
        let mut turned = middle.clone();
        turned.data_mut().reverse(); // symmetric: the other end first
        let work = self.chains.iter().zip([&middle, &turned]);
        let mut parts = parallel::map(work, self.size * self.block, |(chain, middle)| {
            let mut out = Diagonals::zeros(whole, shifts.to_vec());
            chain.selected_inverse(middle, &mut out);
            out
        });
        read_diagonal_block(&middle, self.chains[0].roots.len(), &mut parts[0]);
        let right = parts[1].turned_around();
        parts[0].add_scaled(1.0, &right);
        parts[0].cut_off(self.size)
    }
}

/// Blocks left of the middle and right of it.
fn chain_lengths(blocks: usize) -> [usize; 2] {
    [blocks / 2, blocks - blocks / 2 - 1]
}

/// Turns a symmetric matrix around of which only the lower triangle is there.
fn turn_lower(matrix: &mut Matrix) {
    matrix.mirror_lower();
    matrix.data_mut().reverse();
}

impl Chain {
    /// The first `length` blocks, or the pivot that was not positive.
    fn new(matrix: &Diagonals, block: usize, length: usize) -> Result<Self, usize> {
        let mut chain = Self { roots: Vec::with_capacity(length), links: Vec::with_capacity(length) };
        for k in 0..length {
            let mut root = diagonal_block(matrix, k, block);
            chain.take_out(&mut root);
            linalg::cholesky(&mut root).map_err(|pivot| k * block + pivot)?;
            let mut link = coupling(matrix, k, block);
            linalg::solve_lower_for_lower(&root, &mut link);
            chain.links.push(link);
            chain.roots.push(root);
        }
        Ok(chain)
    }

    /// Takes what is known of the chain so far out of the next block.
    fn take_out(&self, next: &mut Matrix) {
        if let Some(link) = self.links.last() {
            linalg::add_lower_gram(next, -1.0, link);
        }
    }

    /// L⁻¹ x along the chain, and what it takes out of the `next` part.
    fn forward(&self, x: &mut [f64], next: &mut [f64]) {
        for (k, (root, link)) in self.roots.iter().zip(&self.links).enumerate() {
            let (part, later) = x[k * root.rows()..].split_at_mut(root.rows());
            linalg::solve_lower(root, part);
            let target = if later.is_empty() { &mut *next } else { &mut later[..root.rows()] };
            linalg::add_scaled(target, -1.0, &linalg::lower_transposed_times(link, part));
        }
    }

    /// L⁻ᵀ x back along the chain from the `next` part.
    fn backward(&self, x: &mut [f64], next: &[f64]) {
        for (k, (root, link)) in self.roots.iter().zip(&self.links).enumerate().rev() {
            let (part, later) = x[k * root.rows()..].split_at_mut(root.rows());
            let known = if later.is_empty() { next } else { &later[..root.rows()] };
            for (j, factor) in known.iter().enumerate() {
                linalg::add_scaled(&mut part[j..], -factor, &link.col(j)[j..]);
            }
            linalg::solve_lower_transposed(root, part);
        }
    }

    /// The inverse back along the chain, from its block `next` after the last.
    fn selected_inverse(&self, next: &Matrix, out: &mut Diagonals) {
        let block = next.rows();
        let mut later = next.clone();
        // S_kk, L_k⁻¹, T and S_{k+1,k+1} T: made once, written over at every block
        let [mut inverse, mut root, mut t, mut product] = [0; 4].map(|_| Matrix::zeros(block, block));
        for (k, link) in self.links.iter().enumerate().rev() {
            linalg::inverse_lower_into(&self.roots[k], &mut root);
            linalg::lower_gram_into(&root, &mut inverse);
            linalg::lower_transposed_product_into(link, &root, &mut t);
            linalg::product_columns(&later, t.data(), product.data_mut());
            linalg::add_transposed_product_lower(&mut inverse, &t, &product);
            inverse.mirror_lower();
            read_coupling(&product, k, out);
            read_diagonal_block(&inverse, k, out);
            std::mem::swap(&mut later, &mut inverse);
        }
    }
}

/// D_k, its lower triangle.
fn diagonal_block(matrix: &Diagonals, k: usize, block: usize) -> Matrix {
    let mut dense = Matrix::zeros(block, block);
    for (shift, values) in matrix.iter().take_while(|(shift, _)| *shift < block) {
        let values = &values[k * block..][..block - shift];
        values.iter().enumerate().for_each(|(i, value)| dense[(i + shift, i)] = *value);
    }
    dense
}

/// E_kᵀ: rows in block k, columns in block k + 1.
fn coupling(matrix: &Diagonals, k: usize, block: usize) -> Matrix {
    let mut dense = Matrix::zeros(block, block);
    for (shift, values) in matrix.iter() {
        let first = block - shift.min(block);
        (first..block).for_each(|row| dense[(row, row - first)] = values[k * block + row]);
    }
    dense
}

/// Reads the diagonals from S_{k+1,k} = −`product`.
fn read_coupling(product: &Matrix, k: usize, out: &mut Diagonals) {
    let block = product.rows();
    for place in 0..out.shifts().len() {
        let first = block - out.shifts()[place].min(block);
        let values = &mut out.diagonal_mut(place)[k * block..];
        (first..block).for_each(|row| values[row] = -product[(row - first, row)]);
    }
}

/// Reads the diagonals from S_kk.
fn read_diagonal_block(inverse: &Matrix, k: usize, out: &mut Diagonals) {
    let block = inverse.rows();
    for place in 0..out.shifts().len() {
        let shift = out.shifts()[place];
        let values = &mut out.diagonal_mut(place)[k * block..];
        (0..block.saturating_sub(shift)).for_each(|i| values[i] = inverse[(i + shift, i)]);
    }
}
