//! exp(−∫f²) folded into q, for f by inducing points (docs/derivation.md (29)).
//!
//! It is the exponential of a quadratic form, so that q times it is a Gaussian again, found here exactly. Scores and the exact
//! sampler are left with the product of f² over points.

use super::inducing::InducingField;
use crate::bound::Gaussian;
use crate::data::points::Points;
use crate::error::{Error, Result};
use crate::field::inducing::{PointFeatures, RegionFeatures};
use crate::numerics::linalg::{self, Matrix};
use crate::score::SquareProduct;
use crate::window::{AxisRule, Nodes, Window, node_count};

/// Residual variance, relative to the prior's, up to which it is integrated out point by point.
const NEGLIGIBLE: f64 = 1e-8;
/// Most points (held-out and quadrature nodes together) at which the residual process is represented exactly.
const EXACT_POINTS: usize = 2000;

/// f at the held-out points and ∫f² in terms of ε ~ N(0, I):
/// f_k = mean_k + rows_kᵀ ε (+ independent noise of variance extra_k), ∫f² = constant + 2 linearᵀε + εᵀ square ε.
pub(super) struct Representation {
    mean: Vec<f64>,
    rows: Matrix, // (D, K)
    extra: Vec<f64>,
    constant: f64,
    linear: Vec<f64>,
    square: Matrix, // (D, D)
}

impl Representation {
    /// By the features alone where they explain f, else by f at the points and at quadrature nodes, which leaves nothing out.
    pub(super) fn new(field: &InducingField, points: &Points, window: &Window, q: &Gaussian) -> Self {
        let kernel = &field.hyper.kernel;
        let region = field.region(window);
        let explained = region.residual <= NEGLIGIBLE * kernel.variance() * region.measure;
        let room = EXACT_POINTS.saturating_sub(points.len());
        if !explained {
            let rules: Vec<AxisRule<'_>> = (0..kernel.dims).map(|r| AxisRule::smooth(kernel.length(r))).collect();
            let is_small = !window.is_boxes() || window.node_estimate(&rules) <= room as f64;
            let nodes = if is_small { window.nodes(&rules) } else { vec![] };
            if is_small && node_count(&nodes) <= room {
                return Self::by_values(field, points, &Nodes::of_pieces(&nodes), q);
            }
        }
        Self::by_features(field, &field.basis.at(points), &region, q)
    }

    fn by_features(field: &InducingField, features: &PointFeatures, region: &RegionFeatures, q: &Gaussian) -> Self {
        let offset = field.offset();
        let rotate = Matrix::from_fn(q.mean.len(), q.mean.len(), |i, j| q.root[(j, i)]);
        let pull = region.half_pull(offset, &q.mean);
        Self {
            mean: (0..features.residual.len()).map(|k| offset + linalg::dot(features.a.col(k), &q.mean)).collect(),
            rows: linalg::product(&rotate, &features.a),
            extra: features.residual.clone(),
            constant: region.of_square(offset, &q.mean) + region.residual,
            linear: linalg::times(&rotate, &pull),
            square: linalg::product(&rotate, &linalg::product(&region.square, &q.root)),
        }
    }

    fn by_values(field: &InducingField, points: &Points, nodes: &Nodes, q: &Gaussian) -> Self {
        let all = points.followed_by(&nodes.points);
        let features = field.basis.at(&all);
        let mut covariance = field.residual_covariance(&all, &features.a);
        let rotate = Matrix::from_fn(q.mean.len(), q.mean.len(), |i, j| q.root[(j, i)]);
        let rotated = linalg::product(&rotate, &features.a);
        for j in 0..all.len() {
            for i in 0..all.len() {
                covariance[(i, j)] += linalg::dot(rotated.col(i), rotated.col(j));
            }
        }
        let factor = linalg::pivoted_cholesky(&covariance);
        let (dims, count) = (factor.rows(), points.len());
        let mean = |n: usize| field.offset() + linalg::dot(features.a.col(n), &q.mean);
        let mut square = Matrix::zeros(dims, dims);
        let mut linear = vec![0.0; dims];
        let mut constant = 0.0;
        for (j, weight) in nodes.weights.iter().enumerate() {
            let (row, level) = (factor.col(count + j), mean(count + j));
            constant += weight * level * level;
            linalg::add_scaled(&mut linear, weight * level, row);
            let scaled: Vec<f64> = row.iter().map(|v| weight * v).collect();
            linalg::add_outer_lower(&mut square, 1.0, &scaled, row);
        }
        square.mirror_lower();
        Self {
            mean: (0..count).map(mean).collect(),
            rows: Matrix::from_fn(dims, count, |i, k| factor[(i, k)]),
            extra: vec![0.0; count],
            constant,
            linear,
            square,
        }
    }

    /// f at the points under exp(−∫f²) N(ε; 0, I), which is a Gaussian again (precision T = I + 2B, mean −2T⁻¹l), in terms of δ ~ N(0, I);
    /// and the log of its mass.
    pub(super) fn folded(self) -> Result<(SquareProduct, f64)> {
        let dims = self.linear.len();
        let mut t = Matrix::from_fn(dims, dims, |i, j| 2.0 * self.square[(i, j)]);
        t.add_to_diagonal(1.0);
        linalg::cholesky(&mut t).map_err(|pivot| Error::NotPositiveDefinite { pivot, size: dims, jitter: 0.0 })?;
        let mut pull = self.linear.clone();
        linalg::solve_lower(&t, &mut pull);
        let log_normaliser = -self.constant - 0.5 * linalg::log_determinant(&t) + 2.0 * linalg::dot(&pull, &pull);
        let mut rows = self.rows;
        linalg::solve_lower(&t, rows.data_mut());
        let mean: Vec<f64> =
            self.mean.iter().enumerate().map(|(k, m)| m - 2.0 * linalg::dot(rows.col(k), &pull)).collect();
        if rows.cols() < dims {
            // Fewer points than directions: f at the points is all that matters.
            let transposed = Matrix::from_fn(rows.cols(), dims, |k, d| rows[(d, k)]);
            rows = linalg::pivoted_cholesky(&linalg::product(&transposed, &rows));
        }
        Ok((SquareProduct { mean, rows, extra: self.extra }, log_normaliser))
    }
}
