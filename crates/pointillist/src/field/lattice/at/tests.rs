//! Covariates beside a lattice against dense matrices and slow sums.

use super::super::{IntegralNodes, Smoothness};
use super::*;
use crate::covariates::{Covariate, Regressors};
use crate::data::points::Points;
use crate::gaussian::Precision;
use crate::gaussian::step::Clamp;
use crate::numerics::gauss::GaussLegendre;
use crate::terms::Link;
use crate::window::{Exposure, Polygons, Window};
use std::sync::Arc;

fn slope() -> Covariate {
    let lines: Vec<f64> = (0..=7).map(|i| f64::from(i) / 7.0).collect();
    Covariate::linear("slope", vec![0], vec![lines], vec![0.3, 2.0, 1.0, -1.0, 0.5, 4.0, 3.5]).unwrap()
}

fn cover(axis: usize) -> Covariate {
    let levels = ["a", "b", "c"].map(String::from).to_vec();
    let values = [Some(0), Some(1), Some(0), Some(2)];
    Covariate::categorical("cover", vec![axis], vec![vec![0.0, 0.2, 0.45, 0.8, 1.0]], levels, &values).unwrap()
}

fn with(lattice: Lattice, window: &Window, covariates: &[Covariate]) -> Lattice {
    lattice.with_constant(Some(3.0)).with_regressors(Some(Arc::new(Regressors::over(window, covariates).unwrap())))
}

/// The bound with a constant and three regressors, beside plain sums over dense matrices at the same q; and q where that bound is highest.
#[test]
fn the_bound_with_covariates_is_that_of_dense_matrices() {
    the_bound_is_that_of_dense_matrices(&[]);
}

/// The same where f varies more in some parts of the window than in others: log|Q| is then that of a dense matrix too.
#[test]
fn the_bound_with_a_scale_that_varies_is_that_of_dense_matrices() {
    the_bound_is_that_of_dense_matrices(&[0.4, 2.5, 1.3]);
}

fn the_bound_is_that_of_dense_matrices(scale: &[f64]) {
    let window = Window::interval(0.0, 1.0).unwrap();
    let lattice = with(Lattice::new(&window, &[8], &[0.2], Smoothness::Two).unwrap(), &window, &[slope(), cover(0)]);
    let theta = Theta { range: 0.5, variance: 0.7, mean: 2.0, stretch: vec![1.0], scale: scale.to_vec() };
    let events = lattice.at(&Points::line(&[0.1, 0.15, 0.3, 0.31, 0.33, 0.6, 0.72, 0.75, 0.8, 0.9]).unwrap()).unwrap();
    let IntegralNodes { hats: nodes, weights, .. } = lattice.integral_nodes(&window).unwrap();
    let (link, ones) = (Link::Log.formula(), vec![1.0; events.len()]);
    let Part::Sites(integral) = link.integral() else { unreachable!() };
    let sites = Sites::flat(link.events(), 2.0, events.len()).followed_by(Sites::flat(integral, 2.0, weights.len()));
    let until = Until { tolerance: 1e-13, most: 400, clamp: Clamp::UntilSettled, foresees: false, pulse: &|| Ok(()) };
    let said = [Weighted { hats: &events, weights: &ones }, Weighted { hats: &nodes, weights: &weights }];
    let found = lattice.optimum(link, &said, &theta, sites, until).unwrap();

    let (inner, size) = (lattice.grid().size(), lattice.size());
    assert_eq!(size, 8 + 1 + 3);
    // (ψ, sd, z) of each point.
    let rows = |hats: &Hats| -> Vec<Vec<f64>> {
        let row = |n: usize| {
            let mut row = vec![0.0; inner];
            hats.pairs(n).for_each(|(i, value)| row[i] += value);
            row.push(3.0);
            row.extend(hats.dense.iter().map(|z| z[n]));
            row
        };
        (0..hats.len()).map(row).collect()
    };
    let (at_events, at_nodes) = (rows(&events), rows(&nodes));
    let q = lattice.prior().precision(&theta);
    let prior = Matrix::from_fn(size, size, |i, j| match i < inner && j < inner {
        true => q.entry(i, j),
        false => f64::from(u8::from(i == j)),
    });
    let mut posterior = prior.clone();
    for (n, row) in at_nodes.iter().enumerate() {
        let precision = weights[n] * found.sites.precision()[events.len() + n];
        (0..size).for_each(|i| (0..size).for_each(|j| posterior[(i, j)] += precision * row[i] * row[j]));
    }
    let root = posterior.factor().unwrap().0;
    let covariance = linalg::inverse_from_cholesky(&root);
    let quadratic = |row: &[f64]| {
        (0..size).map(|i| row[i] * (0..size).map(|j| covariance[(i, j)] * row[j]).sum::<f64>()).sum::<f64>()
    };
    let bound = |mean: &[f64]| {
        let level = |row: &Vec<f64>| theta.mean + linalg::dot(row, mean);
        let data: f64 = at_events.iter().map(level).sum();
        let rate: f64 =
            at_nodes.iter().zip(&weights).map(|(row, w)| w * (level(row) + 0.5 * quadratic(row)).exp()).sum();
        let trace: f64 = (0..size).map(|i| (0..size).map(|j| prior[(i, j)] * covariance[(i, j)]).sum::<f64>()).sum();
        let of_prior = linalg::log_determinant(&prior.clone().factor().unwrap().0);
        let kl = 0.5
            * (trace + linalg::dot(mean, &linalg::times(&prior, mean)) - size as f64 + linalg::log_determinant(&root)
                - of_prior);
        data - rate - kl
    };
    let plain = bound(&found.mean);
    assert!((found.bound - plain).abs() < 1e-8 * plain.abs(), "{} {plain}", found.bound);
    for i in 0..size {
        let moved = |by: f64| {
            let mut mean = found.mean.clone();
            mean[i] += by;
            bound(&mean)
        };
        assert!((moved(1e-4) - moved(-1e-4)).abs() < 1e-4 * 1e-4, "unknown {i} is not at its best");
    }
    let corner = found.spread.corner_covariance();
    for k in 0..4 {
        for l in 0..4 {
            let dense = covariance[(inner + k, inner + l)];
            assert!((corner[(k, l)] - dense).abs() < 1e-8, "{k} {l}: {} {dense}", corner[(k, l)]);
        }
    }
    let at = lattice.at(&Points::line(&[0.02, 0.5, 0.99]).unwrap()).unwrap();
    for (row, variance) in rows(&at).iter().zip(found.marginals(&at).variance) {
        assert!((variance - quadratic(row)).abs() < 1e-9, "{variance} {}", quadratic(row));
    }
}

/// ∫ exp of something linear and of the covariates, by the nodes and by brute force: never below, and near; what does not vary has its exact integral.
#[test]
fn nodes_with_covariates_lie_above_the_integral_and_near_it() {
    let line = Window::interval(0.0, 1.0).unwrap();
    let square = Window::new(&[(0.0, 1.0), (0.0, 1.0)]).unwrap();
    let ring = vec![[0.0, 0.0], [1.0, 0.1], [0.3, 1.0]];
    let triangle = Window::inside(Polygons::new(vec![vec![ring]]).unwrap());
    let exposure = Exposure::grid(vec![0], vec![vec![0.0, 0.3, 1.0]], vec![1.0, 4.0, 0.5]).unwrap();
    let exposed = square.clone().with_exposure(exposure).unwrap();
    let trials = Window::trials(&[(0.0, 1.0), (0.0, 0.6)]).unwrap();
    for (window, nodes, slopes, rounding, error) in [
        (&line, vec![9], vec![3.0], 1e-9, 1e-3),
        (&trials, vec![9], vec![3.0], 1e-6, 1e-3),
        (&square, vec![9, 12], vec![2.0, -3.0], 1e-6, 2e-3),
        (&exposed, vec![9, 12], vec![2.0, -3.0], 1e-6, 2e-3),
        (&triangle, vec![20, 24], vec![2.0, -3.0], 3e-4, 3e-3), // the brute force is no better at a border
    ] {
        let dims = window.dims();
        let plain = Lattice::new(window, &nodes, &vec![0.13; dims], Smoothness::Two).unwrap();
        let lattice = with(plain, window, &[slope(), cover(dims - 1)]);
        let regressors = lattice.regressors().unwrap();
        let IntegralNodes { hats, weights, points } = lattice.integral_nodes(window).unwrap();
        let f = |row: &[f64], z: &[f64]| {
            let linear: f64 = row.iter().zip(&slopes).map(|(x, s)| s * x).sum();
            (linear + 0.2 * z[0] - 0.3 * z[1] + 0.4 * z[2]).exp()
        };
        let z = |n: usize| hats.dense.iter().map(|z| z[n]).collect::<Vec<f64>>();
        let above: f64 = points.rows().enumerate().map(|(n, row)| weights[n] * f(row, &z(n))).sum();
        let rule = GaussLegendre::new(3);
        let side: Vec<(f64, f64)> = (0..420)
            .flat_map(|i| rule.on(f64::from(i) / 420.0, f64::from(i + 1) / 420.0).collect::<Vec<_>>())
            .collect();
        let value = |row: &[f64]| window.coverage(row) * f(row, &regressors.row(&regressors.values(row)));
        let exact: f64 = match dims {
            1 => side.iter().map(|(x, w)| w * value(&[*x])).sum(),
            _ => side.iter().map(|(x, w)| w * side.iter().map(|(y, v)| v * value(&[*x, *y])).sum::<f64>()).sum(),
        };
        assert!(above > exact * (1.0 - rounding) && above < exact * (1.0 + error), "{above} {exact}");
        let total: f64 = weights.iter().sum();
        assert!((total / window.measure() - 1.0).abs() < 1e-9 && weights.iter().all(|w| *w > 0.0), "{total}");
    }
}
