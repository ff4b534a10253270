//! The bound at a q(u) that the caller brings, with its gradient by everything: for checking, and for other optimisers.
//!
//! Works in the caller's coordinates, and in u, not v: m and L are those of the paper.

use crate::bound::{Bound, Gaussian, bound_adjoint};
use crate::data::events::Events;
use crate::data::points::Points;
use crate::error::{Error, Result};
use crate::field::inducing::{Hyper, PriorMean, Scattered};
use crate::kernel::Kernel;
use crate::numerics::linalg::{self, Matrix};

/// The gradient of the bound by all it depends on.
#[derive(Debug, Clone, PartialEq)]
pub struct Gradient {
    /// By the kernel's parameters, in the order of [`Kernel::parameters`].
    pub parameters: Vec<f64>,
    /// By ū.
    pub mean: f64,
    /// By m.
    pub q_mean: Vec<f64>,
    /// By L, S = L Lᵀ; zero above the diagonal.
    pub q_root: Matrix,
    /// By the inducing locations, row by row.
    pub inducing: Vec<f64>,
}

/// All that the bound depends on beside the events.
#[derive(Debug, Clone, Copy)]
pub struct Given<'a> {
    /// The prior covariance of f.
    pub kernel: &'a Kernel,
    /// ū, the prior mean.
    pub mean: f64,
    /// What has the mean ū: f itself, or u alone as in the paper.
    pub prior_mean: PriorMean,
    /// The inducing locations.
    pub inducing: &'a Points,
    /// m.
    pub q_mean: &'a [f64],
    /// L, S = L Lᵀ.
    pub q_root: &'a Matrix,
    /// The share of its diagonal that is added to the matrix of the inducing points.
    pub jitter: f64,
}

/// The bound of q(u) = N(m, L Lᵀ) and its gradient.
pub fn bound_at(events: &Events, given: &Given<'_>) -> Result<(Bound, Gradient)> {
    let Given { kernel, mean, prior_mean, inducing, q_mean, q_root, jitter } = *given;
    let size = inducing.len();
    for (what, expected, found) in [
        ("kernel", events.window().dims(), kernel.dims),
        ("inducing locations", events.window().dims(), inducing.dims()),
        ("m", size, q_mean.len()),
        ("rows of L", size, q_root.rows()),
        ("columns of L", size, q_root.cols()),
    ] {
        if expected != found {
            return Err(Error::Dimension { what, expected, found });
        }
    }
    kernel.check()?;
    let hyper = Hyper { kernel: kernel.clone(), mean };
    let basis = Scattered::moving(inducing.clone()).basis(&hyper, prior_mean, jitter)?;
    let features = basis.features(events.points(), events.window());
    let mut q = Gaussian { mean: q_mean.iter().map(|m| m - features.offset).collect(), root: q_root.clone() };
    linalg::solve_lower(basis.whitening(), &mut q.mean);
    linalg::solve_lower(basis.whitening(), q.root.data_mut());

    let weights = vec![1.0; events.len()];
    let (bound, mut bar, mut q_bar) = bound_adjoint(&features, &weights, &q, true);
    let whitened_bar = q_bar.clone();
    linalg::solve_lower_transposed(basis.whitening(), &mut q_bar.mean);
    linalg::solve_lower_transposed(basis.whitening(), q_bar.root.data_mut());
    for j in 0..size {
        q_bar.root.col_mut(j)[..j].fill(0.0);
    }
    bar.offset -= q_bar.mean.iter().sum::<f64>();
    let also = [(&whitened_bar.mean[..], &q.mean[..]), (whitened_bar.root.data(), q.root.data())];
    let hyper_bar = basis.features_adjoint(events.points(), events.window(), &features, bar, &also);
    let gradient = Gradient {
        parameters: hyper_bar.parameters,
        mean: hyper_bar.mean,
        q_mean: q_bar.mean,
        q_root: q_bar.root,
        inducing: hyper_bar.locations,
    };
    Ok((bound, gradient))
}
