//! The adjoint of the bound: cotangents of the features, in the same structs, and of q. Written once, for every basis.
//!
//! With g1 = ∂E/∂μ and g2 = ∂E/∂σ² at each event: ā_n = w_n (g1 m + 2 g2 S a_n), c̄_n = w_n g2; of the region
//! Ā = −(m mᵀ + S), p̄ = −2β m, c̄ = −1; of q: m̄ = Σ w g1 a − 2(A m + β p) − (m − b),
//! R̄ = 2 Σ w g2 a (Rᵀa)ᵀ − 2 A R − R + R^{−1} on the diagonal. Cost: two N·M² products beyond the bound's own.

use super::{Bound, Gaussian, integral_of_variance, kl_divergence};
use crate::field::inducing::{Features, PointFeatures, RegionFeatures};
use crate::numerics::linalg::{self, Matrix};
use crate::numerics::special::expected_log_square;
use crate::parallel;

/// The features and weights of a block of events.
struct Block<'a> {
    a: &'a [f64],
    residual: &'a [f64],
    weights: &'a [f64],
}

/// Sums over a block of events.
struct EventSums {
    log_rate: f64,
    offset_bar: f64,
    mean_bar: Vec<f64>,
    /// Σ w g2 a aᵀ, lower triangle; empty unless the cotangent of the root is wanted.
    curvature: Matrix,
    residual_bar: Vec<f64>,
}

/// The bound with the cotangents of the features and of q. The root's is computed only if `by_root`.
pub fn bound_adjoint(features: &Features, weights: &[f64], q: &Gaussian, by_root: bool) -> (Bound, Features, Gaussian) {
    let (size, count) = (features.size(), weights.len());
    let covariance = q.covariance();
    let block = parallel::block_length(count);
    let mut points_bar = PointFeatures { a: Matrix::zeros(size, count), residual: Vec::with_capacity(count) };
    let a = features.points.a.data().chunks(block * size).zip(points_bar.a.data_mut().chunks_mut(block * size));
    let blocks = a.zip(features.points.residual.chunks(block)).zip(weights.chunks(block));
    let parts = parallel::map(blocks, count * size, |(((a, a_bar), residual), weights)| {
        event_sums(Block { a, residual, weights }, features.offset, &q.mean, &covariance, by_root, a_bar)
    });

    let region = &features.region;
    let mut offset_bar = -2.0 * (features.offset * region.measure + linalg::dot(&region.linear, &q.mean));
    let mut mean_bar = linalg::times(&region.square, &q.mean);
    for i in 0..size {
        let pull = q.mean[i] - features.prior_mean[i];
        mean_bar[i] = -2.0 * (mean_bar[i] + features.offset * region.linear[i]) - pull;
    }
    let mut curvature = if by_root { Matrix::zeros(size, size) } else { Matrix::default() };
    let mut log_rate = 0.0;
    for part in parts {
        log_rate += part.log_rate;
        offset_bar += part.offset_bar;
        linalg::add_scaled(&mut mean_bar, 1.0, &part.mean_bar);
        linalg::add_scaled(curvature.data_mut(), 1.0, part.curvature.data());
        points_bar.residual.extend(part.residual_bar);
    }

    let bound = Bound {
        log_rate,
        integral_of_mean_square: region.of_square(features.offset, &q.mean),
        integral_of_variance: integral_of_variance(region, q),
        kl: kl_divergence(q, &features.prior_mean),
    };
    let root = if by_root { root_adjoint(&mut curvature, region, q) } else { Matrix::default() };
    let bar = Features {
        points: points_bar,
        region: region_adjoint(features.offset, q, covariance),
        prior_mean: q.mean.iter().zip(&features.prior_mean).map(|(m, b)| m - b).collect(),
        offset: offset_bar,
    };
    (bound, bar, Gaussian { mean: mean_bar, root })
}

/// One block of events; `a_bar` receives its cotangents.
fn event_sums(
    Block { a, residual, weights }: Block<'_>,
    offset: f64,
    mean: &[f64],
    covariance: &Matrix,
    by_root: bool,
    a_bar: &mut [f64],
) -> EventSums {
    let size = mean.len();
    linalg::product_columns(covariance, a, a_bar);
    let mut sums = EventSums {
        log_rate: 0.0,
        offset_bar: 0.0,
        mean_bar: vec![0.0; size],
        curvature: Matrix::default(),
        residual_bar: Vec::with_capacity(weights.len()),
    };
    for (n, (a, a_bar)) in a.chunks_exact(size).zip(a_bar.chunks_exact_mut(size)).enumerate() {
        let variance = residual[n] + linalg::dot(a, a_bar);
        let e = expected_log_square(offset + linalg::dot(a, mean), variance);
        let (g1, g2) = (weights[n] * e.d_mean, weights[n] * e.d_variance);
        sums.log_rate += weights[n] * e.value;
        sums.offset_bar += g1;
        linalg::add_scaled(&mut sums.mean_bar, g1, a);
        a_bar.iter_mut().zip(mean).for_each(|(bar, m)| *bar = 2.0 * g2 * *bar + g1 * m);
        sums.residual_bar.push(g2);
    }
    if by_root {
        let mut scaled = a.to_vec();
        for (column, g2) in scaled.chunks_exact_mut(size).zip(&sums.residual_bar) {
            column.iter_mut().for_each(|v| *v *= g2);
        }
        sums.curvature = Matrix::zeros(size, size);
        linalg::add_outer_lower(&mut sums.curvature, 1.0, &scaled, a);
    }
    sums
}

fn region_adjoint(offset: f64, q: &Gaussian, mut covariance: Matrix) -> RegionFeatures {
    for j in 0..q.mean.len() {
        let m = q.mean[j];
        linalg::add_scaled(covariance.col_mut(j), m, &q.mean);
    }
    covariance.data_mut().iter_mut().for_each(|v| *v = -*v);
    RegionFeatures {
        square: covariance,
        linear: q.mean.iter().map(|m| -2.0 * offset * m).collect(),
        residual: -1.0,
        measure: -offset * offset,
    }
}

/// R̄ = [2 Σ w g2 a aᵀ − 2A − I] R + diag(1/R_ii), lower triangle. `curvature` becomes the bracket.
fn root_adjoint(curvature: &mut Matrix, region: &RegionFeatures, q: &Gaussian) -> Matrix {
    curvature.mirror_lower();
    let size = q.mean.len();
    for (c, a) in curvature.data_mut().iter_mut().zip(region.square.data()) {
        *c = 2.0 * (*c - a);
    }
    curvature.add_to_diagonal(-1.0);
    let mut root_bar = linalg::product(curvature, &q.root);
    for j in 0..size {
        root_bar.col_mut(j)[..j].fill(0.0);
        root_bar[(j, j)] += 1.0 / q.root[(j, j)];
    }
    root_bar
}
