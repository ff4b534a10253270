//! What the data say of f, as a conjugate part and sites (docs/derivation.md, section 5).
//!
//! The conjugate part is linear or quadratic in f: it leaves a Gaussian a Gaussian. A site stands for a potential at a weighted
//! point. Of a potential only its expectation under f ~ N(μ, σ²) is needed, with the two derivatives.
//!
//! A [`Link`] says how the intensity is made from f. For the square −∫f² is quadratic, and log f² at the events are sites. Another
//! link may have sites at the nodes of the integral too. To add a link: its file in this folder, and its line in the list.

pub(crate) use square::LOG_SQUARE;

use crate::parallel;

/// The list of links; hands it on to another macro.
macro_rules! with_links {
    ($then:ident $($rest:tt)*) => {
        $then! { [
            square::Square,
            log::Log,
        ] $($rest)* }
    };
}

/// Declares the files and the enum.
macro_rules! declare {
    ([$($file:ident :: $formula:ident),* $(,)?]) => {
        $(mod $file;)*

        /// How the intensity is made from the Gaussian process f.
        ///
        /// ```
        /// use pointillist::{LatticeChoice, Link};
        ///
        /// assert_eq!(Link::default(), Link::Square); // λ = f²
        /// let lattice = LatticeChoice { links: vec![Link::Log], ..LatticeChoice::default() };
        /// assert_eq!(lattice.links[0].name(), "log");
        /// ```
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        #[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
        #[non_exhaustive]
        #[allow(missing_docs)] // each file says what its own is
        pub enum Link { #[default] $($formula),* }

        impl Link {
            /// All of them.
            pub const ALL: &'static [Link] = &[$(Link::$formula),*];

            /// The formulas of whichever it is.
            pub(crate) fn formula(self) -> &'static dyn LinkFormula {
                match self { $(Link::$formula => &$file::$formula),* }
            }
        }
    };
}
with_links!(declare);

impl Link {
    /// Its name, as in the options of the command.
    pub fn name(self) -> &'static str {
        self.formula().name()
    }
}

impl std::fmt::Display for Link {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl std::str::FromStr for Link {
    type Err = crate::Error;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let names = || Link::ALL.iter().map(|link| link.name()).collect::<Vec<_>>().join(", ");
        let found = Link::ALL.iter().copied().find(|link| link.name() == name);
        found.ok_or_else(|| crate::Error::setting("link", name, format!("must be one of {}", names())))
    }
}

/// How a term of the log-likelihood enters.
pub(crate) enum Part {
    /// −∫f²: quadratic, by the exact matrices of the region.
    Quadratic,
    /// Sites with this potential at the nodes of the integral: −λ.
    Sites(&'static dyn Potential),
}

/// What the author of a link writes.
pub(crate) trait LinkFormula: Sync {
    /// Its name.
    fn name(&self) -> &'static str;

    /// log λ at the events.
    fn events(&self) -> &'static dyn Potential;

    /// −∫λ.
    fn integral(&self) -> Part;

    /// λ at f.
    fn rate(&self, f: f64) -> f64;

    /// Where learning starts, for a mean rate.
    fn start(&self, rate: f64) -> LinkStart;

    /// Where it searches, for a mean rate over a window of this measure.
    fn range(&self, rate: f64, measure: f64) -> LinkRange;

    /// (a, b) with f outside = a f + b, where the rate outside is that inside over `volume`.
    fn outward(&self, volume: f64) -> (f64, f64);

    /// Whether log λ is linear in f: then sums over events are exact whatever stands for these, as long as it has their sums of hats.
    fn is_linear(&self) -> bool {
        false
    }

    /// Whether f and −f are the same intensity.
    fn is_even(&self) -> bool {
        false
    }

    /// f for a rate that is so many times as high.
    fn times(&self, f: f64, times: f64) -> f64;

    /// Mean and standard deviation of λ for f ~ N(mean, variance).
    fn moments(&self, mean: f64, variance: f64) -> (f64, f64);

    /// Mean and variance of an f that is less known, by so much more variance, with the same mean rate.
    fn widened(&self, mean: f64, variance: f64, by: f64) -> (f64, f64);

    /// P(λ ≤ rate).
    fn below(&self, mean: f64, variance: f64, rate: f64) -> f64;

    /// The quantile of λ.
    fn quantile(&self, mean: f64, variance: f64, probability: f64) -> f64;
}

/// Where learning starts.
pub(crate) struct LinkStart {
    /// The f of the mean rate.
    pub(crate) flat: f64,
    /// The prior mean of f.
    pub(crate) mean: f64,
    /// Its prior variance.
    pub(crate) variance: f64,
    /// Prior standard deviation of a constant of which nothing is known.
    pub(crate) vague: f64,
}

/// Where learning searches.
pub(crate) struct LinkRange {
    /// The prior variance.
    pub(crate) variance: (f64, f64),
    /// The prior mean.
    pub(crate) mean: (f64, f64),
    /// A change of the prior mean that matters.
    pub(crate) unit: f64,
}

/// A function of f at a point, through its expectation under f ~ N(μ, σ²).
pub(crate) trait Potential: Sync {
    /// The expectation for each pair of μ and σ², and its derivatives by these.
    fn expected(&self, mean: &[f64], variance: &[f64], out: [&mut [f64]; 3]);

    /// Value, slope and curvature (with its sign turned) at an f that is known.
    fn at(&self, f: f64) -> [f64; 3];

    /// How much slower, per unit of the variance of f, the precision of a site follows that variance. None where it hardly depends on it.
    fn caution(&self) -> f64 {
        0.0
    }
}

/// Mean and variance of f at points.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Marginals {
    /// Means. // (N)
    pub mean: Vec<f64>,
    /// Variances. // (N)
    pub variance: Vec<f64>,
}

/// The expectation of a potential at points, with its derivatives by mean and variance of f.
pub(crate) struct Expected {
    pub(crate) value: Vec<f64>,
    pub(crate) by_mean: Vec<f64>,
    pub(crate) by_variance: Vec<f64>,
}

/// The expectation of a potential at points: threads over blocks of them.
pub(crate) fn expected(potential: &dyn Potential, f: &Marginals) -> Expected {
    let (count, block) = (f.mean.len(), parallel::block_length(f.mean.len()));
    let mut all = Expected { value: vec![0.0; count], by_mean: vec![0.0; count], by_variance: vec![0.0; count] };
    let Expected { value, by_mean, by_variance } = &mut all;
    let given = f.mean.chunks(block).zip(f.variance.chunks(block));
    let found = value.chunks_mut(block).zip(by_mean.chunks_mut(block)).zip(by_variance.chunks_mut(block));
    parallel::for_each(given.zip(found), 16 * count, |((mean, variance), ((value, by_mean), by_variance))| {
        potential.expected(mean, variance, [value, by_mean, by_variance])
    });
    all
}

/// Σ w E over points.
pub(crate) fn expected_sum(potential: &dyn Potential, f: &Marginals, weights: &[f64]) -> f64 {
    crate::numerics::linalg::dot(weights, &expected(potential, f).value)
}

#[cfg(test)]
mod tests;
