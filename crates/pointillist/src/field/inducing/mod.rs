//! The basis: from a kernel to whitened features, and back from their cotangents to its parameters.
//!
//! The bound never sees a kernel. It sees [`Features`]: with u = L v (+ mean), K = L Lᵀ, a point x has features
//! a(x) = L⁻¹ k_z(x) and residual variance c(x) = k(x,x) − |a(x)|², the region has ∫ a aᵀ, ∫ a and ∫ c, and v has prior
//! N(prior_mean, I) (docs/derivation.md (4) to (6)). A [`Basis`] produces them; it is the one trait chosen at run time. What takes
//! cotangents back to Θ is each basis's own: [`Scattered`] points with dense matrices, [`GridPoints`] axis by axis. Features as rows of a design are
//! in `gaussian/dense.rs` and in `by_axis.rs`.

pub(crate) mod by_axis;
mod constant;
mod grid;
mod region;
mod scattered;
mod tensor;

pub(crate) use constant::{WithConstant, region_with_constant};
pub(crate) use grid::{BesideConstant, TensorFeatures};
pub use grid::{GridBasis, GridPoints};
pub use scattered::{Scattered, ScatteredBasis};

use crate::data::points::Points;
use crate::gaussian::{Columns, Region};
use crate::kernel::Kernel;
use crate::numerics::linalg::Matrix;
use crate::window::Window;

/// The prior mean of f: three models, one formula (β is what f falls back to far from the inducing points).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum PriorMean {
    /// f has prior mean ū everywhere (β = ū), which is learned.
    Constant,
    /// The paper's: u has prior mean ū, f falls back to 0 away from the inducing points (β = 0).
    Paper,
    /// f has a constant that is an unknown of q, with a vague prior about the level ū of the mean rate (β = ū).
    #[default]
    Integrated,
}

impl PriorMean {
    /// β, and the prior mean of u − β.
    pub(crate) fn split(self, mean: f64) -> (f64, f64) {
        match self {
            PriorMean::Constant | PriorMean::Integrated => (mean, 0.0),
            PriorMean::Paper => (0.0, mean),
        }
    }

    /// Adjoint of [`PriorMean::split`].
    fn split_adjoint(self, offset_bar: f64, inducing_bar: f64) -> f64 {
        match self {
            PriorMean::Constant | PriorMean::Integrated => offset_bar,
            PriorMean::Paper => inducing_bar,
        }
    }
}

/// Hyper-parameters Θ: the kernel's, and the prior mean ū.
#[derive(Debug, Clone, PartialEq)]
pub struct Hyper {
    /// The kernel with its parameters.
    pub kernel: Kernel,
    /// ū.
    pub mean: f64,
}

/// Features at points.
#[derive(Debug, Clone, PartialEq)]
pub struct PointFeatures {
    /// a(x_n), one column per point. // (M, N)
    pub a: Matrix,
    /// Residual variance c(x_n). // (N)
    pub residual: Vec<f64>,
}

impl PointFeatures {
    /// As the rows of a design.
    pub(crate) fn rows(&self) -> Columns<'_> {
        Columns { a: &self.a, residual: &self.residual }
    }
}

/// Features of a region.
pub type RegionFeatures = Region<Matrix>;

/// All that the bound knows of kernel, inducing set, events and window; and, in an adjoint, the cotangents of the same.
#[derive(Debug, Clone, PartialEq)]
pub struct Features {
    /// At the events.
    pub points: PointFeatures,
    /// Of the window.
    pub region: RegionFeatures,
    /// Prior mean of v. // (M)
    pub prior_mean: Vec<f64>,
    /// β.
    pub offset: f64,
}

impl Features {
    /// Number of features M.
    pub fn size(&self) -> usize {
        self.prior_mean.len()
    }
}

/// Cotangents of the hyper-parameters and of the inducing locations.
#[derive(Debug, Clone, PartialEq)]
pub struct HyperBar {
    /// By the kernel's parameters, in the order of [`Kernel::parameters`].
    pub parameters: Vec<f64>,
    /// By ū.
    pub mean: f64,
    /// By the inducing locations, row by row; empty unless the basis was asked for them.
    pub locations: Vec<f64>,
}

/// A basis at one Θ: K factored, ready to give features of any points and regions.
pub trait Basis: Send + Sync {
    /// Number of features M.
    fn size(&self) -> usize;

    /// Features at points.
    fn at(&self, points: &Points) -> PointFeatures;

    /// Features of a region.
    fn over(&self, window: &Window) -> RegionFeatures;

    /// The same with more nodes wherever a quadrature is used: what differs is its error.
    fn over_more_nodes(&self, window: &Window) -> RegionFeatures;

    /// Prior mean of v, and β.
    fn prior(&self) -> (Vec<f64>, f64);
}

impl<B: Basis + ?Sized> Basis for &B {
    fn size(&self) -> usize {
        (**self).size()
    }

    fn at(&self, points: &Points) -> PointFeatures {
        (**self).at(points)
    }

    fn over(&self, window: &Window) -> RegionFeatures {
        (**self).over(window)
    }

    fn over_more_nodes(&self, window: &Window) -> RegionFeatures {
        (**self).over_more_nodes(window)
    }

    fn prior(&self) -> (Vec<f64>, f64) {
        (**self).prior()
    }
}
