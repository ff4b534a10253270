//! The variance of f as bands show it: without the pattern of the lattice (docs/derivation.md (73)).
//!
//! Between nodes f is a weighted mean of its values there, and varies less than each of them: by c = ½ Σ ψ_iψ_j Var(f_i − f_j). A field as rough
//! as Brownian motion has just the variance c between two nodes that are known, so that the nodes' variances, interpolated, are right. A smoother
//! one varies too much at nodes and too little between them, about a truth that is near the mean over a cell.

use super::{Grid, Hats, Lattice, Smoothness};
use crate::gaussian::bordered::BorderedSpread;
use crate::gaussian::{Design, Diagonals};

/// The part of the middle of a cell in a mean over it: what is lost, 4t(1 − t) of what is lost there, has this mean.
pub(crate) const MIDDLE: f64 = 2.0 / 3.0;

/// What a variance is changed by: all of it while it is small, at most half of the variance. Where one cell is full of events and the next one is
/// empty, neighbours say little about each other.
pub(crate) fn of_first_order(more: f64, variance: f64) -> f64 {
    let both = variance * variance + more * more;
    if both > 0.0 { more * variance * variance / both } else { 0.0 }
}

impl Lattice {
    /// The variance of f at each node, covariates being at their means.
    pub(crate) fn variances(&self, spread: &BorderedSpread<Diagonals>) -> Vec<f64> {
        let mut variances = spread.inner.diagonal(0).to_vec();
        let (size, covariance) = (variances.len(), spread.corner_covariance());
        // z − Uᵀe at a node, z being 1 for the constant and 0 for covariates at their means.
        let left = |k: usize, node: usize| match (k, self.beside.constant) {
            (0, Some(sd)) => sd - spread.border[node],
            _ => -spread.border[k * size + node],
        };
        for (node, variance) in variances.iter_mut().enumerate() {
            for k in 0..covariance.rows() {
                *variance +=
                    (0..covariance.rows()).map(|l| left(k, node) * left(l, node) * covariance[(k, l)]).sum::<f64>();
            }
        }
        variances
    }

    /// What to interpolate between nodes.
    pub(crate) fn shown_variances(&self, spread: &BorderedSpread<Diagonals>) -> Vec<f64> {
        let mut shown = self.variances(spread);
        if self.prior.smoothness() == Smoothness::One {
            return shown;
        }
        let middles = self.grid.middles();
        let (_, variances) = self.rows(&middles, spread.inner.shifts()).moments(&vec![0.0; self.size()], spread);
        // Of the cells around each node: the sum, and how many they are.
        let (mut around, mut cells) = (vec![0.0; shown.len()], vec![0.0; shown.len()]);
        for (n, variance) in variances.iter().enumerate() {
            middles.pairs(n).for_each(|(node, _)| {
                around[node] += variance;
                cells[node] += 1.0;
            });
        }
        let both = around.iter().zip(&cells);
        shown.iter_mut().zip(both).for_each(|(v, (sum, count))| *v += MIDDLE * (sum / count - *v));
        shown
    }
}

impl Grid {
    /// The hats in the middle of each cell.
    pub(crate) fn middles(&self) -> Hats {
        let (strides, shifts) = (self.strides(), self.corner_shifts());
        let [a, b, c] = self.axes().map(|axis| 0..(axis.nodes - 1).max(1));
        let first: Vec<usize> = a
            .flat_map(|i| b.clone().map(move |j| i * strides[0] + j * strides[1]))
            .flat_map(|row| c.clone().map(move |k| row + k))
            .collect();
        let values = vec![1.0 / shifts.len() as f64; first.len() * shifts.len()];
        Hats { first, values, shifts, dense: vec![] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::lattice::Theta;
    use crate::gaussian::Precision;
    use crate::window::Window;

    /// Shown variances of the prior in the middle of a wide window of length-scales, on lattices of this step: at a node, and between nodes.
    fn of_the_prior(smoothness: Smoothness, dims: usize, nodes: usize) -> [f64; 4] {
        let window = Window::new(&vec![(0.0, 1.0); dims]).unwrap();
        let lattice = Lattice::new(&window, &vec![nodes; dims], &vec![0.0; dims], smoothness).unwrap();
        let theta = Theta { range: 0.35, variance: 1.0, mean: 0.0, stretch: vec![1.0; dims], scale: vec![] };
        let precision = lattice.precision(&theta);
        let (hats, shifts) = (lattice.grid().middles(), precision.inner.shifts().to_vec());
        let spread = lattice.rows(&hats, &shifts).spread(precision.factor().unwrap());
        let (plain, shown) = (lattice.variances(&spread), lattice.shown_variances(&spread));
        let between = lattice.rows(&hats, &shifts).moments(&vec![0.0; lattice.size()], &spread).1;
        let node = lattice.grid().index(&vec![nodes / 2; dims]);
        let cell = hats.first.iter().position(|first| *first == node).unwrap();
        [plain[node], between[cell], shown[node], hats.sum(cell, &shown)]
    }

    /// A prior of variance 1 far from the border shows as 1 at nodes and between them.
    #[test]
    fn the_prior_looks_the_same_at_nodes_and_between() {
        for (smoothness, dims, nodes) in
            [(Smoothness::Two, 1, 31), (Smoothness::Four, 1, 31), (Smoothness::One, 1, 61), (Smoothness::Two, 2, 31)]
        {
            let [node, between, shown, shown_between] = of_the_prior(smoothness, dims, nodes);
            assert!(node - between > 0.01, "{smoothness:?}: no pattern to take away: {node} {between}");
            assert!((shown - shown_between).abs() < 0.02 * (node - between), "{smoothness:?}: {shown} {shown_between}");
            // Fields in the plane have a variance that is not quite 1 on a lattice.
            let (off, was_off) = ((shown - 1.0).abs(), (node - 1.0).abs().max((between - 1.0).abs()));
            assert!(off < 0.6 * was_off, "{smoothness:?} on {dims} axes: {node} {between}, shown {shown}");
        }
    }
}
