//! The list of factors. To add one: its file in this folder, and its line in the list.

use super::Part;
use super::formula::{Bars, Formula, Parameter};
use crate::window::Span;

/// The list; hands it on to another macro.
macro_rules! with_factors {
    ($then:ident $($rest:tt)*) => {
        $then! { [
            squared_exponential::SquaredExponential,
            matern12::Matern12,
            matern32::Matern32,
            matern52::Matern52,
            rational_quadratic::RationalQuadratic,
            periodic::Periodic,
            cosine::Cosine,
            linear::Linear,
            polynomial::Polynomial,
            constant::Constant,
        ] $($rest)* }
    };
}

/// Declares the files and the enum.
macro_rules! declare {
    ([$($file:ident :: $formula:ident),* $(,)?]) => {
        $(mod $file; pub use $file::$formula;)*

        /// A 1-D factor of a kernel, by name.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        #[cfg_attr(feature = "serde", serde(try_from = "String", into = "String"))]
        #[non_exhaustive]
        #[allow(missing_docs)] // each file says what its own is
        pub enum Factor { $($formula),* }

        impl Factor {
            /// All of them.
            pub const ALL: &'static [Factor] = &[$(Factor::$formula),*];
        }
    };
}
with_factors!(declare);

/// Calls a function of the [`Formula`] of whichever factor it is.
macro_rules! dispatch {
    ([$($file:ident :: $formula:ident),* $(,)?] $factor:expr, $function:ident $arguments:tt) => {
        match $factor { $(Factor::$formula => $formula::$function $arguments),* }
    };
}

impl Factor {
    /// The factor called `name`.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|factor| factor.name() == name)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        with_factors!(dispatch self, name())
    }

    /// The formula as people write it.
    pub fn formula(self) -> &'static str {
        with_factors!(dispatch self, formula())
    }

    /// Its parameters.
    pub fn parameters(self) -> &'static [Parameter] {
        with_factors!(dispatch self, parameters())
    }

    /// What is wrong with these parameters, if anything is.
    pub(crate) fn objection(self, theta: &[f64]) -> Option<String> {
        with_factors!(dispatch self, objection(theta))
    }

    /// See [`Formula::homogeneity`].
    pub(crate) fn homogeneity(self, theta: &[f64]) -> f64 {
        with_factors!(dispatch self, homogeneity(theta))
    }

    /// Whether k(x, x) = 1 everywhere.
    pub(crate) fn has_unit_diagonal(self) -> bool {
        with_factors!(dispatch self, has_unit_diagonal())
    }

    /// Whether k(z, x) has a kink at x = z.
    pub(crate) fn has_kink(self) -> bool {
        with_factors!(dispatch self, has_kink())
    }

    /// See [`Formula::pair_by_pair_up_to`].
    pub(crate) fn pair_by_pair_up_to(self) -> usize {
        with_factors!(dispatch self, pair_by_pair_up_to())
    }

    /// The period after which k repeats itself, if it does.
    pub(crate) fn period(self, theta: &[f64]) -> Option<f64> {
        with_factors!(dispatch self, period(theta))
    }

    /// The length over which k varies.
    pub(crate) fn length(self, theta: &[f64]) -> f64 {
        with_factors!(dispatch self, length(theta))
    }

    /// k(z, x).
    pub fn k(self, theta: &[f64], z: f64, x: f64) -> f64 {
        with_factors!(dispatch self, k(theta, z, x))
    }
}

/// The formulas with the parameters of the part.
impl Part {
    /// Adjoint of x ↦ k(x, x) by θ.
    pub(crate) fn diagonal_adjoint(&self, x: f64, bar: f64, theta_bar: &mut [f64]) {
        with_factors!(dispatch self.factor, diagonal_adjoint(&self.parameters, x, bar, theta_bar))
    }

    /// k(z_i, x_j) for all pairs: `out` is (Z, X).
    pub(crate) fn gram(&self, z: &[f64], x: &[f64], out: &mut [f64]) {
        with_factors!(dispatch self.factor, gram(&self.parameters, z, x, out))
    }

    /// Adjoint of [`Part::gram`] by θ and z; `k` is its output.
    pub(crate) fn gram_adjoint(&self, z: &[f64], x: &[f64], k: &[f64], k_bar: &[f64], bars: Bars<'_>) {
        with_factors!(dispatch self.factor, gram_adjoint(&self.parameters, z, x, k, k_bar, bars))
    }

    /// ∫ k(z_i, x) dx over the span, for all i.
    pub(crate) fn phi(&self, z: &[f64], span: Span, out: &mut [f64]) {
        with_factors!(dispatch self.factor, phi_list(&self.parameters, z, span, out))
    }

    /// Adjoint of [`Part::phi`].
    pub(crate) fn phi_adjoint(&self, z: &[f64], span: Span, phi_bar: &[f64], bars: Bars<'_>) {
        with_factors!(dispatch self.factor, phi_list_adjoint(&self.parameters, z, span, phi_bar, bars))
    }

    /// ∫ k(z_i, x) k(x, z_j) dx over the span, for all pairs; symmetric.
    pub(crate) fn psi(&self, z: &[f64], span: Span, out: &mut [f64]) {
        with_factors!(dispatch self.factor, psi_table(&self.parameters, z, span, out))
    }

    /// Adjoint of [`Part::psi`] for a symmetric `psi_bar`.
    pub(crate) fn psi_adjoint(&self, z: &[f64], span: Span, psi_bar: &[f64], bars: Bars<'_>) {
        with_factors!(dispatch self.factor, psi_table_adjoint(&self.parameters, z, span, psi_bar, bars))
    }
}

impl From<Factor> for String {
    fn from(factor: Factor) -> Self {
        factor.name().into()
    }
}

impl TryFrom<String> for Factor {
    type Error = String;
    fn try_from(name: String) -> Result<Self, String> {
        Self::by_name(&name).ok_or_else(|| format!("there is no kernel called {name}"))
    }
}
