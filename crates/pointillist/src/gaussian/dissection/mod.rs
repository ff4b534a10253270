//! The Cholesky factor of a matrix on a lattice by nested dissection: solves, and the inverse between neighbours (docs/derivation.md (77), (78)).
//!
//! `plan.rs` says in which order nodes are eliminated, `cost.rs` what that costs. Fronts are dense. Up the tree, a front adds what its children
//! leave to its numbers of P, makes its columns those of L, and leaves the update −L_RJ L_RJᵀ to its parent. Down the tree, it takes S_RR
//! out of its parent's inverse, and makes S_RJ and S_JJ. Subtrees go side by side; each front does the same whoever its neighbours are, so that the
//! bits are the same on any number of threads. Cost on a plane: M^1.5 products, M log M numbers in L; in space M² and M^4/3.

mod cost;
mod plan;
mod spare;

pub(crate) use cost::{Cost, cost};
pub(crate) use plan::Plan;

use super::Diagonals;
use crate::numerics::linalg;
use crate::parallel;
use plan::Front;
use spare::{Kept, Spare};
use std::sync::Arc;

/// Products and sums below which subtrees go one after another: a task of half a millisecond.
const SMALL: f64 = 2e7;
/// Numbers of L per unknown, roughly.
const PER_UNKNOWN: usize = 100;

/// L of P = L Lᵀ, nodes in the order of a plan.
#[derive(Debug, Clone)]
pub(super) struct DissectionFactor {
    plan: Arc<Plan>,
    /// L of each front, its columns J one after another. // (|J| + |R|, |J|)
    panels: Vec<Vec<f64>>,
}

impl Drop for DissectionFactor {
    fn drop(&mut self) {
        self.plan.kept.give_back_panels(std::mem::take(&mut self.panels));
    }
}

impl DissectionFactor {
    /// The factor, or the pivot that was not positive. The diagonals are those of the plan.
    pub(super) fn new(matrix: &Diagonals, plan: &Arc<Plan>) -> Result<Self, usize> {
        let mut panels = plan.kept.panels(plan.fronts.len());
        let (root, mut spare) = (plan.fronts.len() - 1, plan.kept.spare());
        let update = plan.eliminate(root, matrix.values(), &mut panels, &mut spare);
        spare.give(update.map_err(|position| plan.order[position] as usize)?);
        plan.kept.give_back(spare);
        Ok(Self { plan: plan.clone(), panels })
    }

    /// Number of rows.
    pub(super) fn size(&self) -> usize {
        self.plan.size()
    }

    pub(super) fn multiplications(&self) -> f64 {
        2.0 * self.plan.entries() as f64
    }

    pub(super) fn log_determinant(&self) -> f64 {
        let roots = self.plan.fronts.iter().zip(&self.panels);
        let of_front = |(front, panel): (&Front, &Vec<f64>)| -> f64 {
            panel.iter().step_by(front.rows() + 1).map(|root| root.ln()).sum()
        };
        2.0 * roots.map(of_front).sum::<f64>()
    }

    /// L⁻¹ X for a list of columns.
    pub(super) fn solve_lower(&self, x: &mut [f64]) {
        self.in_order(x, |count, x| {
            self.forward(self.panels.len() - 1, count, x);
        });
    }

    /// L⁻ᵀ X for a list of columns.
    pub(super) fn solve_lower_transposed(&self, x: &mut [f64]) {
        self.in_order(x, |count, x| self.backward(self.panels.len() - 1, count, x, &[]));
    }

    /// Lets something work on a list of columns as one of blocks: those of the rows J of the first front, of the second, ….
    fn in_order(&self, x: &mut [f64], work: impl FnOnce(usize, &mut [f64])) {
        let (size, plan) = (self.size(), &self.plan);
        let count = x.len() / size;
        let mut blocks = Vec::with_capacity(x.len());
        for front in &plan.fronts {
            let nodes = &plan.order[front.first..][..front.cols];
            (0..count).for_each(|c| blocks.extend(nodes.iter().map(|node| x[c * size + *node as usize])));
        }
        work(count, &mut blocks);
        let mut values = blocks.iter();
        for front in &plan.fronts {
            let nodes = &plan.order[front.first..][..front.cols];
            for c in 0..count {
                nodes.iter().zip(&mut values).for_each(|(node, value)| x[c * size + *node as usize] = *value);
            }
        }
    }

    /// Solves on the subtree that ends at a front, and returns what is to be added to x at R.
    fn forward(&self, s: usize, count: usize, x: &mut [f64]) -> Vec<f64> {
        let (plan, front) = (&*self.plan, &self.plan.fronts[s]);
        let (parts, own) = plan.split(s, x, |front| front.first * count);
        let touched = plan.solved_before(front, count) * PER_UNKNOWN;
        let left = parallel::map(parts.into_iter(), touched, |(c, x)| self.forward(c, count, x));
        let (rows, below) = (front.rows(), front.below.len());
        let mut rest = vec![0.0; below * count];
        for (&child, left) in front.children.iter().zip(&left) {
            let child = &plan.fronts[child];
            for c in 0..count {
                for run in &child.runs {
                    let from = &left[c * child.below.len() + run.own..][..run.length];
                    for (place, value) in (run.parent..).zip(from) {
                        match place.checked_sub(front.cols) {
                            None => own[c * front.cols + place] += value,
                            Some(row) => rest[c * below + row] += value,
                        }
                    }
                }
            }
        }
        linalg::solve_front(&self.panels[s], rows, own, &mut rest);
        rest
    }

    /// Solves on the subtree that ends at a front, from the parent's rows J and R.
    fn backward(&self, s: usize, count: usize, x: &mut [f64], parent: &[f64]) {
        let (plan, front) = (&*self.plan, &self.plan.fronts[s]);
        let (parts, own) = plan.split(s, x, |front| front.first * count);
        let (rows, below) = (front.rows(), front.below.len());
        let parent_rows = parent.len() / count.max(1);
        let mut known = vec![0.0; below * count];
        for c in 0..count {
            for run in &front.runs {
                let from = &parent[c * parent_rows + run.parent..][..run.length];
                known[c * below + run.own..][..run.length].copy_from_slice(from);
            }
        }
        linalg::solve_front_transposed(&self.panels[s], rows, own, &known);
        if parts.is_empty() {
            return;
        }
        let mut whole = Vec::with_capacity(rows * count);
        for c in 0..count {
            whole.extend_from_slice(&own[c * front.cols..][..front.cols]);
            whole.extend_from_slice(&known[c * below..][..below]);
        }
        let touched = plan.solved_before(front, count) * PER_UNKNOWN;
        parallel::for_each(parts.into_iter(), touched, |(c, x)| self.backward(c, count, x, &whole));
    }

    /// P⁻¹ on these diagonals of P.
    pub(super) fn selected_inverse(&self, shifts: &[usize]) -> Diagonals {
        let plan = &*self.plan;
        let mut spare = plan.kept.spare();
        // Every front writes its numbers: nothing of what was there is left.
        let mut found = spare.take(plan.sources.len());
        self.invert(plan.fronts.len() - 1, (0, &[]), &mut found[..plan.sources.len()], &mut spare);
        let mut inverse = Diagonals::zeros(self.size(), plan.shifts.clone());
        let values = inverse.values_mut();
        plan.sources.iter().zip(&found).for_each(|(source, value)| values[*source as usize] = *value);
        spare.give(found);
        plan.kept.give_back(spare);
        if shifts == plan.shifts { inverse } else { inverse.on(shifts.to_vec()) }
    }

    /// The inverse on the subtree that ends at a front, from that of its parent's rows J and R (their number, and all columns).
    fn invert(&self, s: usize, (parent_rows, parent): (usize, &[f64]), found: &mut [f64], spare: &mut Spare) {
        let (plan, front) = (&*self.plan, &self.plan.fronts[s]);
        let (parts, own) = plan.split(s, found, |front| front.entries.start);
        let (rows, cols) = (front.rows(), front.cols);
        let [mut inverse, mut root, mut turned] =
            [rows * rows, cols * cols, (rows - cols) * cols].map(|count| spare.take(count));
        for columns in &front.runs {
            for j in 0..columns.length {
                let from = &parent[(columns.parent + j) * parent_rows..][..parent_rows];
                let to = &mut inverse[(cols + columns.own + j) * rows + cols..][..rows - cols];
                for run in &front.runs {
                    to[run.own..][..run.length].copy_from_slice(&from[run.parent..][..run.length]);
                }
            }
        }
        linalg::invert_front(&self.panels[s], rows, &mut inverse, [&mut root, &mut turned]);
        [root, turned].into_iter().for_each(|list| spare.give(list));
        let targets = &plan.targets[front.entries.clone()];
        own.iter_mut().zip(targets).for_each(|(value, target)| *value = inverse[*target as usize]);
        if !parts.is_empty() {
            linalg::mirror_columns(&mut inverse, rows, cols);
            side_by_side(parts, front.work >= SMALL, (&plan.kept, spare), |(c, found), spare| {
                self.invert(c, (rows, &inverse), found, spare);
            });
        }
        spare.give(inverse);
    }
}

/// The results of `work` on each part, in order: on threads if that is worth it, each with memory of its own.
fn side_by_side<T: Send, R: Send>(
    parts: Vec<T>,
    worth_it: bool,
    (kept, own): (&Kept, &mut Spare),
    work: impl Fn(T, &mut Spare) -> R + Sync,
) -> Vec<R> {
    if !worth_it {
        return parts.into_iter().map(|part| work(part, own)).collect();
    }
    parallel::map(parts.into_iter(), usize::MAX, |part| {
        let mut spare = kept.spare();
        let result = work(part, &mut spare);
        kept.give_back(spare);
        result
    })
}

/// A front, and what of a list belongs to the subtree that ends there.
type Share<'a, T> = (usize, &'a mut [T]);

impl Plan {
    /// Of what belongs to the subtree that ends at a front: what belongs to those of its children, and what to the front itself. `start` is where
    /// in the whole list a front begins.
    fn split<'a, T>(
        &self,
        s: usize,
        list: &'a mut [T],
        start: impl Fn(&Front) -> usize,
    ) -> (Vec<Share<'a, T>>, &'a mut [T]) {
        let (mut rest, mut at) = (list, start(&self.fronts[self.fronts[s].subtree]));
        let mut parts = Vec::with_capacity(self.fronts[s].children.len());
        for &child in &self.fronts[s].children {
            let end = start(&self.fronts[child + 1]);
            let (part, later) = rest.split_at_mut(end - at);
            parts.push((child, part));
            (rest, at) = (later, end);
        }
        (parts, rest)
    }

    /// Unknowns of the subtrees of a front's children.
    fn solved_before(&self, front: &Front, count: usize) -> usize {
        (front.first - self.fronts[front.subtree].first) * count
    }

    /// Eliminates the subtree that ends at a front, and returns its update of R (lower triangle), or the position whose pivot was not
    /// positive.
    fn eliminate(
        &self,
        s: usize,
        values: &[f64],
        panels: &mut [Vec<f64>],
        spare: &mut Spare,
    ) -> Result<Vec<f64>, usize> {
        let front = &self.fronts[s];
        let (parts, own) = self.split(s, panels, |front| front.number);
        let memory = (&self.kept, &mut *spare);
        let updates = side_by_side(parts, front.work >= SMALL, memory, |(c, panels), spare| {
            self.eliminate(c, values, panels, spare)
        });
        let (rows, below) = (front.rows(), front.below.len());
        let (panel, mut update) = (&mut own[0], spare.take(below * below));
        for (list, count) in [(&mut *panel, rows * front.cols), (&mut update, below * below)] {
            list.resize(list.len().max(count), 0.0);
            list[..count].fill(0.0);
        }
        let entries = front.entries.clone();
        let both = self.sources[entries.clone()].iter().zip(&self.targets[entries]);
        both.for_each(|(source, target)| panel[*target as usize] = values[*source as usize]);
        for (child, from) in front.children.iter().zip(updates) {
            let from = from?;
            front.take_up(&self.fronts[*child], &from, panel, &mut update);
            spare.give(from);
        }
        linalg::eliminate_front(panel, rows, &mut update).map_err(|pivot| front.first + pivot)?;
        Ok(update)
    }
}

impl Front {
    /// Adds the update of a child (lower triangle) to the columns and to the update of this front.
    fn take_up(&self, child: &Front, from: &[f64], panel: &mut [f64], update: &mut [f64]) {
        let (rows, below, height) = (self.rows(), self.below.len(), child.below.len());
        for (number, columns) in child.runs.iter().enumerate() {
            for j in 0..columns.length {
                let (col, place) = (&from[(columns.own + j) * height..][..height], columns.parent + j);
                // Rows from the diagonal down.
                let (to, above) = match place.checked_sub(self.cols) {
                    None => (&mut panel[place * rows..][..rows], 0),
                    Some(place) => (&mut update[place * below..][..below], self.cols),
                };
                let mut skip = j;
                for run in &child.runs[number..] {
                    let (own, length) = (run.own + skip, run.length - skip);
                    let to = &mut to[run.parent + skip - above..][..length];
                    to.iter_mut().zip(&col[own..][..length]).for_each(|(to, from)| *to += from);
                    skip = 0;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gaussian::{BandedFactor, Factor};
    use crate::numerics::linalg::Matrix;
    use proptest::prelude::*;

    /// Half of the offsets whose lengths sum to at most `reach`, and of the neighbours across a cell, where the lattice is wide enough.
    fn offsets(nodes: [usize; 3], reach: isize) -> Vec<[isize; 3]> {
        let all = || -reach..=reach;
        let cube = all().flat_map(|a| all().flat_map(move |b| all().map(move |c| [a, b, c])));
        let strides = [nodes[1] * nodes[2], nodes[2], 1];
        let shift = |o: &[isize; 3]| (0..3).map(|r| o[r] * strides[r] as isize).sum::<isize>();
        cube.filter(|o| o.iter().map(|o| o.abs()).sum::<isize>() <= reach || o.iter().all(|o| o.abs() <= 1))
            .filter(|o| (0..3).all(|r| o[r].unsigned_abs() < nodes[r]))
            .filter(|o| shift(o) >= 0)
            .collect()
    }

    /// A positive definite matrix of no special structure on a lattice, with a plan and without.
    fn sample(nodes: [usize; 3], reach: isize, seed: usize) -> (Diagonals, Diagonals) {
        let offsets = offsets(nodes, reach);
        let plan = Arc::new(Plan::new(nodes, &offsets));
        let mut planned = Diagonals::planned(plan);
        let size = planned.size();
        let strides = [nodes[1] * nodes[2], nodes[2], 1];
        let mut sums = vec![0.1; size];
        for offset in offsets.iter().filter(|offset| **offset != [0; 3]) {
            let shift = (0..3).map(|r| offset[r] * strides[r] as isize).sum::<isize>() as usize;
            let place = planned.place(shift).unwrap();
            for node in 0..size {
                let at = [node / strides[0], node / strides[1] % nodes[1], node % nodes[2]];
                if (0..3).all(|r| at[r].checked_add_signed(offset[r]).is_some_and(|i| i < nodes[r])) {
                    let value = ((node * 7 + shift * 3 + seed) as f64).sin();
                    planned.diagonal_mut(place)[node] = value;
                    sums[node] += value.abs();
                    sums[node + shift] += value.abs();
                }
            }
        }
        planned.set_diagonal(0, &sums);
        let mut plain = Diagonals::zeros(size, planned.shifts().to_vec());
        plain.add_scaled(1.0, &planned);
        (planned, plain)
    }

    /// Everything that a factor is asked, by dissection and by the band. Only neighbours have an entry of the inverse by dissection.
    fn agrees(nodes: [usize; 3], reach: isize, seed: usize) {
        let (planned, plain) = sample(nodes, reach, seed);
        let (got, want) = (BandedFactor::new(&planned).unwrap(), BandedFactor::new(&plain).unwrap());
        let size = plain.size();
        let close = |a: f64, b: f64, what: &str| {
            assert!((a - b).abs() < 1e-11 * (1.0 + b.abs()), "{nodes:?} {reach} {what}: {a} {b}");
        };
        close(got.log_determinant(), want.log_determinant(), "log determinant");
        for count in [1, 3] {
            let x: Vec<f64> = (0..count * size).map(|i| ((i + seed) as f64 * 0.7).sin()).collect();
            let (mut one, mut other) = (x.clone(), x.clone());
            got.solve(&mut one);
            other.chunks_exact_mut(size).for_each(|x| want.solve(x));
            one.iter().zip(&other).for_each(|(a, b)| close(*a, *b, "solve"));
            let (mut down, mut up) = (x.clone(), x.clone());
            got.solve_lower(&mut down);
            got.solve_lower_transposed(&mut up);
            for c in 0..count {
                let column = |list: &[f64]| list[c * size..][..size].to_vec();
                let (own, down, up) = (column(&x), column(&down), column(&up));
                close(linalg::dot(&down, &down), linalg::dot(&own, &column(&one)), "square of L⁻¹x");
                close(linalg::dot(&up, &plain.times(&up)), linalg::dot(&own, &own), "draw");
            }
        }
        let (found, known) = (got.selected_inverse(plain.shifts()), want.selected_inverse(plain.shifts()));
        let strides = [nodes[1] * nodes[2], nodes[2], 1];
        for offset in offsets(nodes, reach) {
            let shift = (0..3).map(|r| offset[r] * strides[r] as isize).sum::<isize>() as usize;
            for node in 0..size {
                let at = [node / strides[0], node / strides[1] % nodes[1], node % nodes[2]];
                if (0..3).all(|r| at[r].checked_add_signed(offset[r]).is_some_and(|i| i < nodes[r])) {
                    close(found.entry(node, node + shift), known.entry(node, node + shift), "inverse");
                }
            }
        }
        let few = got.selected_inverse(&plain.shifts()[..2]);
        assert_eq!(few.diagonal(1), found.diagonal(1));
    }

    #[test]
    fn dissection_agrees_with_the_band() {
        let plane = [[1, 23, 17], [1, 40, 9], [1, 61, 3], [1, 33, 32], [1, 2, 2], [1, 150, 2]];
        for reach in [1, 2, 4] {
            plane.iter().for_each(|nodes| agrees(*nodes, reach, 3));
            [[1, 1, 300], [1, 1, 5]].iter().for_each(|nodes| agrees(*nodes, reach, 1));
            [[11, 9, 7], [20, 5, 3], [8, 8, 8], [3, 3, 2]].iter().for_each(|nodes| agrees(*nodes, reach, 2));
        }
    }

    /// Against the dense inverse, which knows no order.
    #[test]
    fn dissection_agrees_with_the_dense_inverse() {
        for (nodes, reach) in [([1, 18, 13], 2), ([1, 21, 15], 4), ([7, 6, 5], 2)] {
            let (planned, plain) = sample(nodes, reach, 5);
            let size = plain.size();
            let mut root = Matrix::from_fn(size, size, |i, j| plain.entry(i, j));
            linalg::cholesky(&mut root).unwrap();
            let inverse = linalg::inverse_from_cholesky(&root);
            let factor = BandedFactor::new(&planned).unwrap();
            assert!((factor.log_determinant() - linalg::log_determinant(&root)).abs() < 1e-10);
            let found = factor.selected_inverse(plain.shifts());
            for place in 0..plain.shifts().len() {
                let shift = plain.shifts()[place];
                // A pair that the stencil joins has a number in P.
                for i in (0..size - shift).filter(|i| plain.diagonal(place)[*i] != 0.0) {
                    assert!(
                        (found.entry(i, i + shift) - inverse[(i, i + shift)]).abs() < 1e-12,
                        "{nodes:?} {shift} {i}"
                    );
                }
            }
            let x: Vec<f64> = (0..size).map(|i| (i as f64).cos()).collect();
            let (mut got, want) = (x.clone(), linalg::times(&inverse, &x));
            factor.solve(&mut got);
            got.iter().zip(&want).for_each(|(a, b)| assert!((a - b).abs() < 1e-12, "{a} {b}"));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn dissection_agrees_with_the_band_whatever_the_shape(
            a in 1usize..7, b in 1usize..30, c in 1usize..30, reach in 0usize..3, seed in 0usize..1000,
        ) {
            prop_assume!(a * b * c > 1 && b * c * c * a < 20_000);
            agrees([a, b, c], [1, 2, 4][reach], seed);
        }
    }

    #[test]
    fn the_bits_are_the_same_on_any_number_of_threads() {
        let (planned, _) = sample([1, 120, 90], 2, 9);
        let x: Vec<f64> = (0..2 * planned.size()).map(|i| (i as f64 * 0.3).cos()).collect();
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let factor = BandedFactor::new(&planned).unwrap();
                let mut solved = x.clone();
                factor.solve(&mut solved);
                (solved, factor.selected_inverse(planned.shifts()), factor.log_determinant())
            })
        };
        let one = run(1);
        assert!(one == run(2) && one == run(4));
    }

    #[test]
    fn a_matrix_that_is_not_positive_definite_is_refused_with_a_node() {
        let (mut planned, _) = sample([1, 30, 20], 2, 1);
        planned.diagonal_mut(0)[314] = -1.0;
        assert!(matches!(
            BandedFactor::new(&planned),
            Err(crate::Error::NotPositiveDefinite { pivot: 314, size: 600, .. })
        ));
        planned.diagonal_mut(0)[314] = f64::NAN;
        assert!(BandedFactor::new(&planned).is_err());
    }

    #[test]
    fn the_cost_is_that_of_the_plan() {
        let shapes = [([1, 200, 200], 2), ([1, 300, 100], 4), ([1, 150, 150], 1), ([25, 20, 15], 2), ([1, 1, 5000], 2)];
        for (nodes, reach) in shapes {
            let plan = Plan::new(nodes, &offsets(nodes, reach as isize));
            let cost = cost(nodes, reach);
            assert_eq!(cost.fronts, plan.fronts.len() as f64, "{nodes:?}");
            for (what, predicted, is) in [("work", cost.work, plan.work()), ("L", cost.entries, plan.entries() as f64)]
            {
                assert!((predicted / is - 1.0).abs() < 0.02, "{nodes:?} {what}: {predicted:e} {is:e}");
            }
        }
    }
}
