//! A prior whose innovations have a scale of their own in each part of the window (docs/derivation.md (79), (80)).
//!
//! For even α the precision is Q = BᵀB with B = τ (κ² + Σ_r s_r A_r)^{α/2} C^½: under the prior the entries of Bw, the innovations, are
//! independent standard normal numbers. With a scale e^{s_j} for each of them
//!
//!   Q = Bᵀ diag(e^{−2 s_j}) B,   log|Q| = log|BᵀB| − 2 Σ_j s_j,
//!
//! on the diagonals that Q has in any case. s is multilinear between a few knots over the unit box, and beyond it what it is on the border.
//! Cost: a few dozen numbers per node.

use super::{Prior, PriorSlopes, Term, Theta, lumped_mass, sum_of_lengths, terms};
use crate::gaussian::Diagonals;

/// Rows of B, or of its derivatives: what row j has at node j + shift. // (offset, node)
struct Rows {
    shifts: Vec<isize>,
    values: Vec<Vec<f64>>,
}

impl Rows {
    /// The nodes for which two offsets lead to nodes.
    fn both(&self, a: usize, b: usize) -> std::ops::Range<usize> {
        let (least, most) =
            (self.shifts[a].min(self.shifts[b]).min(0), self.shifts[a].max(self.shifts[b]).max(0) as usize);
        let size = self.values[a].len();
        least.unsigned_abs().min(size)..size.saturating_sub(most).max(least.unsigned_abs().min(size))
    }
}

/// What q says of the innovation of one node: its variance, and the square of its mean; in units of its scale.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Innovation {
    pub(crate) variance: f64,
    pub(crate) mean_square: f64,
}

impl Prior {
    /// Whether a scale can vary: a rough field has no sparse B.
    pub(crate) fn can_vary(&self) -> bool {
        self.smoothness.alpha().is_multiple_of(2)
    }

    /// Q with a scale that varies.
    pub(super) fn scaled_precision(&self, theta: &Theta) -> Diagonals {
        let (rows, weights) = (self.innovations(theta, &|_| 1.0), self.weights(theta));
        let mut precision = self.zeros();
        for a in 0..rows.shifts.len() {
            for b in 0..rows.shifts.len() {
                let apart = rows.shifts[b] - rows.shifts[a];
                let Some(place) = (apart >= 0).then(|| precision.place(apart as usize)).flatten() else { continue };
                let values = precision.diagonal_mut(place);
                for j in rows.both(a, b) {
                    let at = j.wrapping_add_signed(rows.shifts[a]);
                    values[at] += weights[j] * rows.values[a][j] * rows.values[b][j];
                }
            }
        }
        precision
    }

    /// Derivatives of tr((S + m mᵀ) Q) with a scale that varies.
    pub(super) fn scaled_slopes(&self, theta: &Theta, covariance: &Diagonals, mean: &[f64]) -> PriorSlopes {
        let (rows, weights) = (self.innovations(theta, &|_| 1.0), self.weights(theta));
        let turned = self.turned(&rows, covariance, mean);
        // Σ_j e^{−2 s_j} Σ_a v_a y_a, for v = B or one of its derivatives.
        let with = |own: &Rows| -> f64 {
            let all = own.values.iter().zip(&turned);
            all.map(|(v, y)| v.iter().zip(y).zip(&weights).map(|((v, y), w)| v * y * w).sum::<f64>()).sum()
        };
        let nu = self.smoothness.nu(self.grid.dims());
        let by_kappa = 2.0 * with(&self.innovations(theta, &|term| term.rest as f64 - 0.5 * nu));
        let stretch = |place: usize| 2.0 * with(&self.innovations(theta, &|term| term.powers[place] as f64));
        let squares = squares(&rows, &turned, &weights);
        PriorSlopes {
            log_range: -2.0 * by_kappa,
            log_variance: -with(&rows),
            log_stretch: self.grid.places().iter().map(|&place| stretch(place)).collect(),
            log_scale: self.by_knot(theta.scale.len(), |j| -2.0 * squares[j]),
        }
    }

    /// What q says of the innovations.
    pub(crate) fn said_of_innovations(&self, theta: &Theta, covariance: &Diagonals, mean: &[f64]) -> Vec<Innovation> {
        let (rows, weights) = (self.innovations(theta, &|_| 1.0), self.weights(theta));
        let nothing = vec![0.0; mean.len()];
        let variances = squares(&rows, &self.turned(&rows, covariance, &nothing), &weights);
        let means = (0..mean.len()).map(|j| {
            let at = |a: usize| mean[j.wrapping_add_signed(rows.shifts[a])] * rows.values[a][j];
            let is_there = |a: &usize| rows.values[*a][j] != 0.0;
            weights[j] * (0..rows.shifts.len()).filter(is_there).map(at).sum::<f64>().powi(2)
        });
        variances.into_iter().zip(means).map(|(variance, mean_square)| Innovation { variance, mean_square }).collect()
    }

    /// y_a[j] = Σ_b B_{j,j+b} (S + m mᵀ)_{j+a,j+b}.
    fn turned(&self, rows: &Rows, covariance: &Diagonals, mean: &[f64]) -> Vec<Vec<f64>> {
        let mut turned = vec![vec![0.0; mean.len()]; rows.shifts.len()];
        for (a, turned) in turned.iter_mut().enumerate() {
            for b in 0..rows.shifts.len() {
                let (from, to) = (rows.shifts[a], rows.shifts[b]);
                let Some(place) = covariance.place(from.abs_diff(to)) else { continue };
                let values = covariance.diagonal(place);
                for j in rows.both(a, b) {
                    let (i, l) = (j.wrapping_add_signed(from), j.wrapping_add_signed(to));
                    turned[j] += rows.values[b][j] * (values[i.min(l)] + mean[i] * mean[l]);
                }
            }
        }
        turned
    }

    /// B, each of its terms weighed: with 1, or as a derivative has it.
    fn innovations(&self, theta: &Theta, weigh: &dyn Fn(&Term) -> f64) -> Rows {
        let half = self.smoothness.alpha() / 2;
        let axes = self.grid.axes();
        let fits = |offset: &[isize; 3]| (0..3).all(|place| offset[place].unsigned_abs() < axes[place].nodes);
        let reach = -(half as isize)..=half as isize;
        let cube = reach.clone().flat_map(|a| reach.clone().map(move |b| (a, b)));
        let cube = cube.flat_map(|(a, b)| reach.clone().map(move |c| [a, b, c]));
        let offsets: Vec<[isize; 3]> = cube.filter(|offset| sum_of_lengths(offset) <= half && fits(offset)).collect();
        let ((kappa, tau), stretch) = (self.scales(theta), self.stretch(theta));
        let terms = terms(half, axes.map(|axis| axis.nodes > 1));
        let root = self.root_of_mass();
        let row = |offset: &[isize; 3]| {
            let mut values = vec![0.0; self.grid.size()];
            for term in terms.iter().filter(|term| term.reaches(*offset)) {
                let power: f64 = (0..3).map(|place| stretch[place].powi(term.powers[place] as i32)).product();
                let coefficient = tau.sqrt() * term.ways * kappa.powi(term.rest as i32) * power * weigh(term);
                self.for_each_row(*offset, term, |factor, row, last| {
                    crate::numerics::linalg::add_scaled(&mut values[row], coefficient * factor, last);
                });
            }
            values.iter_mut().zip(&root).for_each(|(value, root)| *value /= root);
            values
        };
        let strides = self.grid.strides();
        let shift = |offset: &[isize; 3]| (0..3).map(|place| offset[place] * strides[place] as isize).sum();
        Rows { values: offsets.iter().map(row).collect(), shifts: offsets.iter().map(shift).collect() }
    }

    /// √C of each node.
    fn root_of_mass(&self) -> Vec<f64> {
        let [a, b, c] = self.grid.axes().map(|axis| lumped_mass(axis.nodes, axis.step));
        let rows = a.iter().flat_map(|a| b.iter().map(move |b| a * b));
        rows.flat_map(|row| c.iter().map(move |c| (row * c).sqrt())).collect()
    }

    /// e^{−2 s} of each node; 1 for all where there are no knots.
    fn weights(&self, theta: &Theta) -> Vec<f64> {
        self.log_scales(theta).into_iter().map(|s| (-2.0 * s).exp()).collect()
    }

    /// s at each node.
    pub(super) fn log_scales(&self, theta: &Theta) -> Vec<f64> {
        let logs: Vec<f64> = theta.scale.iter().map(|scale| scale.ln()).collect();
        let mut at = vec![0.0; self.grid.size()];
        self.for_each_knot(logs.len(), |j, knot, hat| at[j] += hat * logs[knot]);
        at
    }

    /// Σ_j b_k(x_j) value(j) of every knot k.
    pub(crate) fn by_knot(&self, knots: usize, value: impl Fn(usize) -> f64) -> Vec<f64> {
        let mut sums = vec![0.0; knots];
        self.for_each_knot(knots, |j, knot, hat| sums[knot] += hat * value(j));
        sums
    }

    /// Visits every node, the knots about it and their hats there. The last axis goes fastest.
    fn for_each_knot(&self, knots: usize, mut visit: impl FnMut(usize, usize, f64)) {
        let Some(per_axis) = knots_per_axis(knots, self.grid.dims()) else { return };
        let cells = self.grid.axes().map(|axis| {
            let cell = |i: usize| {
                let place = (axis.lo + axis.step * i as f64).clamp(0.0, 1.0) * (per_axis - 1) as f64;
                let first = (place as usize).min(per_axis - 2);
                (first, place - first as f64)
            };
            (0..axis.nodes).map(cell).collect::<Vec<(usize, f64)>>()
        });
        let (strides, places) = (self.grid.strides(), self.grid.places());
        for j in 0..self.grid.size() {
            let node = [j / strides[0], j % strides[0] / strides[1], j % strides[1]];
            for corner in 0..1usize << places.len() {
                let (mut knot, mut hat) = (0, 1.0);
                for (r, &place) in places.iter().enumerate() {
                    let (first, across) = cells[place][node[place]];
                    let above = corner >> r & 1;
                    knot = knot * per_axis + first + above;
                    hat *= if above == 1 { across } else { 1.0 - across };
                }
                if hat != 0.0 {
                    visit(j, knot, hat);
                }
            }
        }
    }
}

/// e^{−2 s_j} Σ_a v_a y_a at each node.
fn squares(rows: &Rows, turned: &[Vec<f64>], weights: &[f64]) -> Vec<f64> {
    let at = |j: usize| rows.values.iter().zip(turned).map(|(v, y)| v[j] * y[j]).sum::<f64>();
    weights.iter().enumerate().map(|(j, weight)| weight * at(j)).collect()
}

/// The knots on each axis, if so many are a grid with as many on each.
pub(super) fn knots_per_axis(knots: usize, dims: usize) -> Option<usize> {
    let per_axis = (knots as f64).powf(1.0 / dims as f64).round() as usize;
    (per_axis >= 2 && per_axis.checked_pow(dims as u32) == Some(knots)).then_some(per_axis)
}
