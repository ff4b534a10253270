//! Inducing points on a full grid with a kernel that is a product over the axes (docs/derivation.md (47)).
//!
//! K = ⊗ K_r, so its factor, its features and its integrals over a box are tensor products of those of the axes, and each
//! axis is a set of inducing points on a line (`scattered.rs`), the variance with the first of them. K itself is never
//! factored. Jitter is relative to the diagonal of each K_r. Events come as the weighted nodes of a tensor grid
//! (`data/summary/`); sums over them go axis by axis (`tensor.rs`). Cost with P nodes and M points per axis, in two dimensions:
//! P M³ per axis for K and the features, P²M² + P M⁴ for a sum.
//! Inside, axes stand from last to first: that of the last axis varies fastest among the points.

use super::scattered::{BlockBar, FINER, ScatteredBasis};
use super::tensor::{self, Pairing};
use super::{Basis, Hyper, HyperBar, PointFeatures, PriorMean, RegionFeatures, Scattered};
use crate::data::points::Points;
use crate::error::Result;
use crate::kernel::{Factor, Kernel, Part, Term};
use crate::numerics::linalg::{self, Matrix};
use crate::window::{AxisRule, Nodes, Piece, Window};

/// A full grid of inducing points.
#[derive(Debug, Clone, PartialEq)]
pub struct GridPoints {
    /// The places on each axis, rising.
    axes: Vec<Vec<f64>>,
}

impl GridPoints {
    /// The axes of these locations, if they are a full grid in the order of [`Points::grid`].
    pub fn of(locations: &Points) -> Option<Self> {
        let axes: Vec<Vec<f64>> = (0..locations.dims())
            .map(|r| {
                let mut places = locations.axis(r);
                places.sort_by(f64::total_cmp);
                places.dedup();
                places
            })
            .collect();
        let is_full = axes.iter().map(Vec::len).product::<usize>() == locations.len();
        let in_order = |(m, row): (usize, &[f64])| {
            let mut rest = m;
            row.iter().zip(&axes).rev().all(|(x, places)| {
                let place = rest % places.len();
                rest /= places.len();
                places[place] == *x
            })
        };
        (is_full && locations.rows().enumerate().all(in_order)).then_some(Self { axes })
    }

    /// Number of points on each axis.
    pub fn counts(&self) -> Vec<usize> {
        self.axes.iter().map(Vec::len).collect()
    }

    /// Whether a kernel is a product over all axes, so that a grid of several axes gains by it.
    pub fn suits(kernel: &Kernel) -> bool {
        let varies = |r: usize| !kernel.parts(0, r).is_empty();
        kernel.terms.len() == 1 && kernel.dims > 1 && (0..kernel.dims).all(varies)
    }

    /// The prior factored at Θ.
    pub fn basis(&self, hyper: &Hyper, prior: PriorMean, jitter: f64) -> Result<GridBasis> {
        let dims = self.axes.len();
        let axes =
            (0..dims).rev().map(|r| AxisBasis::new(&self.axes[r], r, hyper, jitter)).collect::<Result<Vec<_>>>()?;
        let counts: Vec<usize> = axes.iter().map(|axis| axis.basis.size()).collect();
        let size = counts.iter().product();
        Ok(GridBasis { axes, pairing: Pairing::new(&counts), counts, size, hyper: hyper.clone(), prior })
    }
}

/// What a constant beside the inducing values (`constant.rs`) adds to f, at q.
#[derive(Debug, Default)]
pub(crate) struct BesideConstant {
    /// Its mean.
    pub(crate) mean: f64,
    /// Its covariance with v; empty without one.
    pub(crate) covariance: Vec<f64>,
}

/// One axis at one Θ.
struct AxisBasis {
    basis: ScatteredBasis,
    /// Which of the window's axes it is.
    axis: usize,
    /// Where the parameters of its kernel stand among those of the whole; the variance with the first axis alone.
    parameters: Vec<Option<usize>>,
    /// L⁻¹ 1.
    ones: Vec<f64>,
}

impl AxisBasis {
    fn new(places: &[f64], axis: usize, hyper: &Hyper, jitter: f64) -> Result<Self> {
        let term = &hyper.kernel.terms[0];
        let is_first = axis + 1 == hyper.kernel.dims;
        let mut parameters = vec![is_first.then_some(0)];
        let mut parts = vec![];
        let mut at = 1;
        for part in &term.parts {
            let count = part.parameters.len();
            if part.axis == axis && part.factor != Factor::Constant {
                parts.push(Part { axis: 0, ..part.clone() });
                parameters.extend((at..at + count).map(Some));
            }
            at += count;
        }
        let variance = if is_first { term.variance } else { 1.0 };
        let kernel = Kernel { dims: 1, terms: vec![Term { variance, parts }] };
        let points = Points::line(places)?;
        let own = Hyper { kernel, mean: 0.0 };
        let mut basis = ScatteredBasis::new(Scattered::new(points), &own, PriorMean::Constant, jitter)?;
        basis.times = term.variance / variance;
        let mut ones = vec![1.0; places.len()];
        linalg::solve_lower(&basis.l, &mut ones);
        Ok(Self { basis, axis, parameters, ones })
    }
}

/// [`GridPoints`] at one Θ.
pub struct GridBasis {
    axes: Vec<AxisBasis>,
    counts: Vec<usize>,
    size: usize,
    pairing: Pairing,
    hyper: Hyper,
    prior: PriorMean,
}

/// Features at the nodes of a tensor grid, and of a window of boxes.
pub(crate) struct TensorFeatures {
    axes: Vec<AxisFeatures>,
    /// c at the nodes.
    pub(crate) residual: Vec<f64>,
    pieces: Vec<PieceFeatures>,
    /// Of the window.
    pub(crate) region: RegionFeatures,
    /// Prior mean of v.
    pub(crate) prior_mean: Vec<f64>,
    /// β.
    pub(crate) offset: f64,
}

/// Features on one axis.
struct AxisFeatures {
    points: Points,
    at: PointFeatures,
    /// The features, one row per node. // (P, M)
    transposed: Matrix,
    /// |a|² at the nodes.
    norms: Vec<f64>,
    /// Products of two features, and one row per node. // (pairs, P), (P, pairs)
    pairs: Matrix,
    pairs_transposed: Matrix,
}

/// A box of the window, axis by axis.
struct PieceFeatures {
    repeats: f64,
    windows: Vec<Window>,
    axes: Vec<RegionFeatures>,
}

/// c and |a|² of a product, from those of its factors: Π(c + |a|²) − Π|a|² without the difference.
fn join((c, norm): (f64, f64), (other_c, other_norm): (f64, f64)) -> (f64, f64) {
    (c * (other_c + other_norm) + norm * other_c, norm * other_norm)
}

impl TensorFeatures {
    fn on_axes<'a>(&'a self, pick: impl Fn(&'a AxisFeatures) -> &'a Matrix) -> Vec<&'a Matrix> {
        self.axes.iter().map(pick).collect()
    }

    /// Pairs of features on each axis.
    fn pair_counts(&self) -> Vec<usize> {
        self.axes.iter().map(|axis| axis.pairs.rows()).collect()
    }

    /// Σ w a.
    pub(crate) fn sum(&self, weights: &[f64]) -> Vec<f64> {
        tensor::contract(weights, &self.on_axes(|axis| &axis.transposed))
    }

    /// aᵀm at the nodes.
    pub(crate) fn means(&self, m: &[f64]) -> Vec<f64> {
        tensor::contract(m, &self.on_axes(|axis| &axis.at.a))
    }
}

impl GridBasis {
    /// Features at the nodes of the tensor grid over `nodes` (of the window's axes), and of a window of boxes.
    pub(crate) fn tensor_features(&self, nodes: &[Vec<f64>], window: &Window) -> Result<TensorFeatures> {
        let axes = self.axes.iter().map(|axis| axis_features(axis, &nodes[axis.axis])).collect::<Result<Vec<_>>>()?;
        let residual = joined(&axes);
        let pieces = self.pieces(window)?;
        let (prior_mean, offset) = self.prior();
        let region = self.region(&pieces, window.measure());
        Ok(TensorFeatures { axes, residual, pieces, region, prior_mean, offset })
    }

    fn pieces(&self, window: &Window) -> Result<Vec<PieceFeatures>> {
        let of_piece = |piece: &Piece| {
            let windows = (self.axes.iter())
                .map(|axis| Window::interval(piece.spans[axis.axis].lo, piece.spans[axis.axis].hi))
                .collect::<Result<Vec<_>>>()?;
            let axes = self.axes.iter().zip(&windows).map(|(axis, window)| axis.basis.over(window)).collect();
            Ok(PieceFeatures { repeats: piece.repeats, windows, axes })
        };
        window.pieces().iter().map(of_piece).collect()
    }

    fn region(&self, pieces: &[PieceFeatures], measure: f64) -> RegionFeatures {
        let mut square = Matrix::zeros(self.size, self.size);
        let mut linear = vec![0.0; self.size];
        let mut residual = 0.0;
        for piece in pieces {
            let pairs: Vec<Vec<f64>> = piece.axes.iter().map(|axis| tensor::pairs_of(&axis.square)).collect();
            let mut product = tensor::product(&pairs.iter().map(Vec::as_slice).collect::<Vec<_>>());
            product.iter_mut().for_each(|v| *v *= piece.repeats);
            self.pairing.add_unfolded(&product, &mut square);
            let lines: Vec<&[f64]> = piece.axes.iter().map(|axis| &axis.linear[..]).collect();
            linalg::add_scaled(&mut linear, piece.repeats, &tensor::product(&lines));
            let parts = piece.axes.iter().map(|axis| (axis.residual, axis.square.trace()));
            residual += piece.repeats * parts.reduce(join).map_or(0.0, |(c, _)| c);
        }
        square.mirror_lower();
        RegionFeatures { square, linear, residual, measure }
    }

    /// Adds Σ w a aᵀ to the lower triangle.
    pub(crate) fn add_gram(&self, features: &TensorFeatures, weights: &[f64], out: &mut Matrix) {
        let sums = tensor::contract(weights, &features.on_axes(|axis| &axis.pairs_transposed));
        self.pairing.add_unfolded(&sums, out);
    }

    /// aᵀSa at the nodes.
    pub(crate) fn spreads(&self, features: &TensorFeatures, covariance: &Matrix) -> Vec<f64> {
        tensor::contract(&self.pairing.folded(covariance), &features.on_axes(|axis| &axis.pairs))
    }

    /// Adjoint of the bound by Θ, at q(v) = N(`m`, `covariance`): `by_mean` and `by_variance` are its cotangents by mean and variance of
    /// f at the nodes.
    pub(crate) fn adjoint(
        &self,
        features: &TensorFeatures,
        (by_mean, by_variance): (&[f64], &[f64]),
        (m, covariance): (&[f64], &Matrix),
        constant: &BesideConstant,
    ) -> HyperBar {
        let mut lines = vec![(by_mean.to_vec(), m)];
        if !constant.covariance.is_empty() {
            // The variance of f holds twice its covariance with the constant.
            lines.push((by_variance.iter().map(|bar| 2.0 * bar).collect(), &constant.covariance));
        }
        let mut bars: Vec<BlockBar> = self.nodes_adjoint(features, &lines, by_variance, covariance);
        let offset = features.offset + constant.mean;
        let mut pull: Vec<f64> = m.iter().map(|m| offset * m).collect();
        linalg::add_scaled(&mut pull[..constant.covariance.len()], 1.0, &constant.covariance);
        self.region_adjoint(features, (m, covariance), &pull, &mut bars);
        let mean = self.prior_adjoint(features, by_mean, (m, offset), &mut bars);
        let mut parameters = vec![0.0; self.hyper.kernel.parameters().len()];
        for (axis, bar) in self.axes.iter().zip(&mut bars) {
            axis.basis.cholesky_adjoint(bar);
            let found = axis.parameters.iter().zip(&bar.parameters);
            found.filter_map(|(at, bar)| Some(((*at)?, bar))).for_each(|(at, bar)| parameters[at] += bar);
        }
        HyperBar { parameters, mean, locations: vec![] }
    }

    /// What the nodes ask of each axis. `lines` are cotangents at the nodes, each of aᵀ a vector.
    fn nodes_adjoint(
        &self,
        features: &TensorFeatures,
        lines: &[(Vec<f64>, &[f64])],
        by_variance: &[f64],
        covariance: &Matrix,
    ) -> Vec<BlockBar> {
        let folded = self.pairing.folded(covariance);
        let pair_counts = features.pair_counts();
        let node_counts: Vec<usize> = features.axes.iter().map(|axis| axis.norms.len()).collect();
        let (a, pairs) = (features.on_axes(|axis| &axis.at.a), features.on_axes(|axis| &axis.pairs));
        let of_axis = |r: usize| {
            let axis = &features.axes[r];
            let by_variance = tensor::first(by_variance.to_vec(), &node_counts, r);
            let mut a_bar = Matrix::zeros(self.counts[r], axis.norms.len());
            for (bar, vector) in lines {
                let bar = tensor::first(bar.clone(), &node_counts, r);
                let own = linalg::product_transposed(&tensor::contract_others(vector, &self.counts, &a, r), &bar);
                linalg::add_scaled(a_bar.data_mut(), 1.0, own.data());
            }
            let pairs_bar = tensor::contract_others(&folded, &pair_counts, &pairs, r);
            let pairs_bar = linalg::product_transposed(&pairs_bar, &by_variance);
            tensor::add_pair_products_adjoint(&axis.at.a, &pairs_bar, &mut a_bar);
            // c = Π d − Π |a|², d = c + |a|²: by c_r it is Π of the other d, by |a_r|² that less Π of the other |a|².
            let (others, norms) = others_at(&features.axes, r);
            let sum = |list: &[f64]| linalg::times(&by_variance, list);
            let (residual_bar, of_norms) = (sum(&others), sum(&norms));
            for n in 0..residual_bar.len() {
                let bar = 2.0 * (residual_bar[n] - of_norms[n]);
                linalg::add_scaled(a_bar.col_mut(n), bar, axis.at.a.col(n));
            }
            self.axes[r].basis.points_adjoint(&axis.points, &axis.at.a, &mut a_bar, &residual_bar)
        };
        (0..self.axes.len()).map(of_axis).collect()
    }

    /// What the integral over the window asks of each axis: Ā = −(m mᵀ + S), p̄ = −2 `pull`, c̄ = −1.
    fn region_adjoint(
        &self,
        features: &TensorFeatures,
        (m, covariance): (&[f64], &Matrix),
        pull: &[f64],
        bars: &mut [BlockBar],
    ) {
        let mut square_bar = covariance.clone();
        (0..m.len()).for_each(|j| linalg::add_scaled(square_bar.col_mut(j), m[j], m));
        let folded = self.pairing.folded(&square_bar);
        let pair_counts = features.pair_counts();
        for piece in &features.pieces {
            let column = |list: Vec<f64>| Matrix::from_columns(list.len(), list);
            let pairs: Vec<Matrix> = piece.axes.iter().map(|axis| column(tensor::pairs_of(&axis.square))).collect();
            let lines: Vec<Matrix> = piece.axes.iter().map(|axis| column(axis.linear.clone())).collect();
            let (pairs, lines): (Vec<&Matrix>, Vec<&Matrix>) = (pairs.iter().collect(), lines.iter().collect());
            for (r, bar) in bars.iter_mut().enumerate() {
                let own = &piece.axes[r];
                let of_pairs = tensor::contract_others(&folded, &pair_counts, &pairs, r);
                let of_lines = tensor::contract_others(pull, &self.counts, &lines, r);
                let mut square = tensor::pairs_adjoint(self.counts[r], of_pairs.data());
                square.data_mut().iter_mut().for_each(|v| *v *= -piece.repeats);
                let others = piece.axes.iter().enumerate().filter(|(other, _)| *other != r);
                let (whole, trace) = others.fold((1.0, 1.0), |(whole, trace), (_, other)| {
                    (whole * (other.residual + other.square.trace()), trace * other.square.trace())
                });
                square.add_to_diagonal(-piece.repeats * (whole - trace));
                let linear = of_lines.data().iter().map(|v| -2.0 * piece.repeats * v).collect();
                let mut region_bar = RegionFeatures { square, linear, residual: -piece.repeats * whole, measure: 0.0 };
                self.axes[r].basis.region_adjoint(&piece.windows[r], own, &mut region_bar, bar);
            }
        }
    }

    /// What the prior mean asks of each axis, f having the mean `offset` + aᵀm; returns the cotangent of ū.
    fn prior_adjoint(
        &self,
        features: &TensorFeatures,
        by_mean: &[f64],
        (m, offset): (&[f64], f64),
        bars: &mut [BlockBar],
    ) -> f64 {
        let region = &features.region;
        let offset_bar = by_mean.iter().sum::<f64>() - 2.0 * (offset * region.measure + linalg::dot(&region.linear, m));
        let inducing = self.prior.split(self.hyper.mean).1;
        let prior_bar: Vec<f64> = m.iter().zip(&features.prior_mean).map(|(m, b)| m - b).collect();
        let ones: Vec<Matrix> =
            self.axes.iter().map(|axis| Matrix::from_columns(axis.ones.len(), axis.ones.clone())).collect();
        let ones: Vec<&Matrix> = ones.iter().collect();
        if inducing != 0.0 {
            for (r, bar) in bars.iter_mut().enumerate() {
                let mut own = tensor::contract_others(&prior_bar, &self.counts, &ones, r);
                own.data_mut().iter_mut().for_each(|v| *v *= inducing);
                linalg::add_outer_lower(&mut bar.w, -1.0, own.data(), &self.axes[r].ones);
            }
        }
        self.prior.split_adjoint(offset_bar, tensor::contract(&prior_bar, &ones)[0])
    }
}

fn axis_features(axis: &AxisBasis, nodes: &[f64]) -> Result<AxisFeatures> {
    let points = Points::line(nodes)?;
    let at = axis.basis.at(&points);
    let norms = (0..nodes.len()).map(|n| linalg::dot(at.a.col(n), at.a.col(n))).collect();
    let pairs = tensor::pair_products(&at.a);
    Ok(AxisFeatures { transposed: at.a.transposed(), pairs_transposed: pairs.transposed(), points, at, norms, pairs })
}

/// c at all nodes.
fn joined(axes: &[AxisFeatures]) -> Vec<f64> {
    let all = axes.iter().fold(vec![], |all: Vec<(f64, f64)>, axis| {
        let own = || axis.at.residual.iter().copied().zip(axis.norms.iter().copied());
        if all.is_empty() {
            return own().collect();
        }
        own().flat_map(|own| all.iter().map(move |before| join(*before, own))).collect()
    });
    all.into_iter().map(|(c, _)| c).collect()
}

/// Π (c + |a|²) and Π |a|² of all axes but one, in the order of [`tensor::first`].
fn others_at(axes: &[AxisFeatures], axis: usize) -> (Vec<f64>, Vec<f64>) {
    let others: Vec<&AxisFeatures> = (1..axes.len()).map(|i| &axes[(axis + i) % axes.len()]).collect();
    let whole = |axis: &AxisFeatures| axis.at.residual.iter().zip(&axis.norms).map(|(c, norm)| c + norm).collect();
    let wholes: Vec<Vec<f64>> = others.iter().map(|axis| whole(axis)).collect();
    let norms: Vec<&[f64]> = others.iter().map(|axis| &axis.norms[..]).collect();
    (tensor::product(&wholes.iter().map(Vec::as_slice).collect::<Vec<_>>()), tensor::product(&norms))
}

/// Points whose features are held at a time in an integral by points.
const BLOCK: usize = 2048;

impl GridBasis {
    /// What the features integrate to over a window of any shape, from their values at points.
    fn by_points(&self, window: &Window, fineness: f64) -> RegionFeatures {
        let mut rules: Vec<AxisRule<'_>> = self.axes.iter().map(|axis| axis.basis.rules(fineness)[0]).collect();
        rules.reverse();
        let Nodes { points, weights } = Nodes::of_pieces(&window.nodes(&rules));
        let mut square = Matrix::zeros(self.size, self.size);
        let (mut linear, mut residual) = (vec![0.0; self.size], 0.0);
        for (rows, weights) in points.coordinates().chunks(BLOCK * points.dims()).zip(weights.chunks(BLOCK)) {
            let at = self.at(&Points::of_rows(points.dims(), rows.to_vec()));
            linalg::add_scaled(&mut linear, 1.0, &linalg::columns_times(at.a.data(), self.size, weights));
            residual += linalg::dot(weights, &at.residual);
            let mut scaled = at.a.clone();
            let columns = scaled.data_mut().chunks_exact_mut(self.size).zip(weights);
            columns.for_each(|(column, w)| column.iter_mut().for_each(|v| *v *= w));
            linalg::add_outer_lower(&mut square, 1.0, scaled.data(), at.a.data());
        }
        square.mirror_lower();
        RegionFeatures { square, linear, residual, measure: window.measure() }
    }
}

impl Basis for GridBasis {
    fn size(&self) -> usize {
        self.size
    }

    fn at(&self, points: &Points) -> PointFeatures {
        let on_axis = |axis: &AxisBasis| axis.basis.at(&Points::of_rows(1, points.axis(axis.axis)));
        let axes: Vec<PointFeatures> = self.axes.iter().map(on_axis).collect();
        let mut a = Matrix::zeros(self.size, points.len());
        let mut residual = Vec::with_capacity(points.len());
        for n in 0..points.len() {
            a.col_mut(n).copy_from_slice(&tensor::product(&axes.iter().map(|axis| axis.a.col(n)).collect::<Vec<_>>()));
            let parts = axes.iter().map(|axis| (axis.residual[n], linalg::dot(axis.a.col(n), axis.a.col(n))));
            residual.push(parts.reduce(join).map_or(0.0, |(c, _)| c));
        }
        PointFeatures { a, residual }
    }

    fn over(&self, window: &Window) -> RegionFeatures {
        match self.pieces(window) {
            Ok(pieces) if window.is_boxes() => self.region(&pieces, window.measure()),
            _ => self.by_points(window, 1.0),
        }
    }

    fn over_more_nodes(&self, window: &Window) -> RegionFeatures {
        if window.is_boxes() { self.over(window) } else { self.by_points(window, FINER) }
    }

    fn prior(&self) -> (Vec<f64>, f64) {
        let (offset, inducing) = self.prior.split(self.hyper.mean);
        let ones: Vec<&[f64]> = self.axes.iter().map(|axis| &axis.ones[..]).collect();
        (tensor::product(&ones).iter().map(|v| inducing * v).collect(), offset)
    }
}
