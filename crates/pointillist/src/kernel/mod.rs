//! Kernels: prior covariance of f. A kernel is a variance times one factor an axis.
//!
//! A kernel author writes 1-D formulas in one file ([`Formula`]): `k`, and if a closed form is known `phi` (∫k) and `psi`
//! (∫k·k). The rest comes free: [`Formula`]'s default integrals, derivatives through dual numbers, tables over many points.
//! [`Factor`] is the list of them by name; [`Kernel`] puts one on every axis.
//!
//! What it does not do: know windows that are not boxes, inducing points or events. Cost: a table of U×N values is U·N
//! formula evaluations.

mod formula;
mod squared_exponential;

pub use formula::Formula;
pub use squared_exponential::SquaredExponential;

use crate::error::{Error, Result};
use crate::numerics::linalg::Matrix;
use crate::points::Points;
use crate::window::Span;

/// The factors there are, by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Factor {
    /// `se`: exp(−(x−y)²/(2ℓ²)).
    #[cfg_attr(feature = "serde", serde(rename = "se"))]
    SquaredExponential,
}

/// Calls a [`Formula`]'s function for whichever factor `self` is: the one line a new kernel adds.
macro_rules! for_factor {
    ($factor:expr, $function:ident ( $($argument:expr),* )) => {
        match $factor {
            Factor::SquaredExponential => SquaredExponential::$function($($argument),*),
        }
    };
}

impl Factor {
    /// The factor called `name`.
    pub fn by_name(name: &str) -> Option<Self> {
        [Factor::SquaredExponential].into_iter().find(|factor| factor.name() == name)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        for_factor!(self, name())
    }

    /// The names of its parameters, all positive.
    pub fn parameter_names(self) -> &'static [&'static str] {
        for_factor!(self, parameter_names())
    }

    /// k(z_i, x_j) for all pairs: `out` is (Z, X).
    pub(crate) fn gram(self, theta: &[f64], z: &[f64], x: &[f64], out: &mut [f64]) {
        for_factor!(self, gram(theta, z, x, out))
    }

    /// Adjoint of [`Factor::gram`] by θ and z; `k` is its output.
    pub(crate) fn gram_adjoint(
        self,
        theta: &[f64],
        z: &[f64],
        x: &[f64],
        k: &[f64],
        k_bar: &[f64],
        theta_bar: &mut [f64],
        z_bar: Option<&mut [f64]>,
    ) {
        for_factor!(self, gram_adjoint(theta, z, x, k, k_bar, theta_bar, z_bar))
    }

    /// k(z, x).
    pub(crate) fn k(self, theta: &[f64], z: f64, x: f64) -> f64 {
        for_factor!(self, k(theta, z, x))
    }

    /// ∫ k(z_i, x) dx over the span, for all i.
    pub(crate) fn phi(self, theta: &[f64], z: &[f64], span: Span, out: &mut [f64]) {
        for_factor!(self, phi_list(theta, z, span, out))
    }

    /// Adjoint of [`Factor::phi`].
    pub(crate) fn phi_adjoint(
        self,
        theta: &[f64],
        z: &[f64],
        span: Span,
        phi_bar: &[f64],
        theta_bar: &mut [f64],
        z_bar: Option<&mut [f64]>,
    ) {
        for_factor!(self, phi_list_adjoint(theta, z, span, phi_bar, theta_bar, z_bar))
    }

    /// ∫ k(z_i, x) k(x, z_j) dx over the span, for all pairs; symmetric.
    pub(crate) fn psi(self, theta: &[f64], z: &[f64], span: Span, out: &mut [f64]) {
        for_factor!(self, psi_table(theta, z, span, out))
    }

    /// Adjoint of [`Factor::psi`] for a symmetric `psi_bar`.
    pub(crate) fn psi_adjoint(
        self,
        theta: &[f64],
        z: &[f64],
        span: Span,
        psi_bar: &[f64],
        theta_bar: &mut [f64],
        z_bar: Option<&mut [f64]>,
    ) {
        for_factor!(self, psi_table_adjoint(theta, z, span, psi_bar, theta_bar, z_bar))
    }
}

/// One factor with its parameters, on one axis.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct AxisKernel {
    /// Which factor.
    pub factor: Factor,
    /// Its parameters, in the order of [`Factor::parameter_names`].
    pub parameters: Vec<f64>,
}

/// The prior covariance of f: `variance · Π_r factor_r(x_r, y_r)`.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Kernel {
    /// γ: the prior variance of f, in units of the rate.
    pub variance: f64,
    /// One factor an axis.
    pub axes: Vec<AxisKernel>,
}

impl Kernel {
    /// The squared-exponential kernel with one length-scale an axis.
    pub fn squared_exponential(variance: f64, lengthscales: &[f64]) -> Result<Self> {
        let axes = lengthscales
            .iter()
            .map(|&l| AxisKernel { factor: Factor::SquaredExponential, parameters: vec![l] })
            .collect();
        let kernel = Self { variance, axes };
        kernel.check()?;
        Ok(kernel)
    }

    /// Every parameter must be positive and finite.
    pub(crate) fn check(&self) -> Result<()> {
        let good = |v: f64| v.is_finite() && v > 0.0;
        match self.parameters().into_iter().zip(self.parameter_names()).find(|(v, _)| !good(*v)) {
            Some((value, name)) => Err(Error::setting(&name, value, "must be positive and finite")),
            None => Ok(()),
        }
    }

    /// Number of axes.
    pub fn dims(&self) -> usize {
        self.axes.len()
    }

    /// `se`, or whatever it is made of.
    pub fn expression(&self) -> String {
        let mut names: Vec<&str> = self.axes.iter().map(|axis| axis.factor.name()).collect();
        names.dedup();
        names.join("*")
    }

    /// The length-scales, one an axis.
    pub fn lengthscales(&self) -> Vec<f64> {
        self.axes.iter().map(|axis| axis.parameters[0]).collect()
    }

    /// All parameters: the variance first, then axis by axis.
    pub fn parameters(&self) -> Vec<f64> {
        std::iter::once(self.variance).chain(self.axes.iter().flat_map(|axis| axis.parameters.clone())).collect()
    }

    /// `variance`, `lengthscale[0]`, …, in the order of [`Kernel::parameters`].
    pub fn parameter_names(&self) -> Vec<String> {
        let of_axis = |(r, axis): (usize, &AxisKernel)| {
            axis.factor.parameter_names().iter().map(move |name| format!("{name}[{r}]")).collect::<Vec<_>>()
        };
        std::iter::once("variance".into()).chain(self.axes.iter().enumerate().flat_map(of_axis)).collect()
    }

    /// The same kernel with other parameters, in the order of [`Kernel::parameters`].
    pub fn with_parameters(&self, parameters: &[f64]) -> Self {
        let mut kernel = self.clone();
        kernel.variance = parameters[0];
        let mut rest = &parameters[1..];
        for axis in &mut kernel.axes {
            let (mine, others) = rest.split_at(axis.parameters.len());
            axis.parameters.copy_from_slice(mine);
            rest = others;
        }
        kernel
    }

    /// The same kernel seen in coordinates in which axis r is `scales[r]` times longer and the measure `volume` times larger.
    pub(crate) fn rescaled(&self, scales: &[f64], volume: f64) -> Self {
        let mut kernel = self.clone();
        kernel.variance /= volume;
        for (axis, scale) in kernel.axes.iter_mut().zip(scales) {
            axis.parameters[0] *= scale;
        }
        kernel
    }

    /// k(x, y), the plain formula.
    pub fn k(&self, x: &[f64], y: &[f64]) -> f64 {
        self.axes.iter().enumerate().fold(self.variance, |k, (r, axis)| k * axis.factor.k(&axis.parameters, x[r], y[r]))
    }

    /// k(x_i, x_j) for all pairs of points.
    pub(crate) fn gram(&self, points: &Points) -> Matrix {
        let mut out = Matrix::from_fn(points.len(), points.len(), |_, _| self.variance);
        let mut table = vec![0.0; points.len() * points.len()];
        for (r, axis) in self.axes.iter().enumerate() {
            let x = points.axis(r);
            axis.factor.gram(&axis.parameters, &x, &x, &mut table);
            out.data_mut().iter_mut().zip(&table).for_each(|(out, k)| *out *= k);
        }
        out
    }

    /// k(x, x).
    pub fn diagonal(&self, x: &[f64]) -> f64 {
        self.k(x, x)
    }
}
