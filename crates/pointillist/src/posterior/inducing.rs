//! q(f) by inducing points: the coefficients are the whitened inducing values v, f(x) = β + a(x)ᵀv plus what they leave unexplained.

use super::Count;
use super::beyond::Beyond;
use super::field::{Field, Given, Integral, Parts, RegionForm};
use super::folding::Representation;
use crate::bound::{self, Gaussian};
use crate::data::points::Points;
use crate::error::{Error, Result};
use crate::exact::{self, Reference};
use crate::field::inducing::{Basis, GridPoints, Hyper, PriorMean, RegionFeatures, Scattered, WithConstant};
use crate::kernel::Kernel;
use crate::numerics::linalg::{self, Matrix};
use crate::sample::gaussian;
use crate::score::SquareProduct;
use crate::terms::Marginals;
use crate::window::{Span, Window};
use rand_chacha::ChaCha8Rng;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Up to this many points are drawn jointly to the last correlation; beyond, what the inducing points leave unexplained is drawn
/// independently at each point.
const JOINT_POINTS: usize = 2000;
/// Residual variance, relative to the prior's, that is not worth a joint draw.
const NEGLIGIBLE: f64 = 1e-6;

/// With so many unknowns it is worth finding out whether a region has less than one direction for so many of them.
const MANY: usize = 64;
const FEW: usize = 4;

type LastRegion = Option<(Window, Arc<RegionFeatures>)>;

/// q(f) by inducing points.
#[derive(Clone)]
pub(crate) struct InducingField {
    pub(crate) hyper: Hyper,
    pub(crate) prior_mean: PriorMean,
    /// The prior standard deviation of a constant that is the last unknown of q, if there is one.
    pub(crate) constant: Option<f64>,
    pub(crate) jitter: f64,
    /// Whether K was factored axis by axis.
    by_axis: bool,
    pub(crate) locations: Points,
    pub(crate) q: Gaussian,
    pub(super) basis: Arc<dyn Basis>,
    /// The last region asked about: scores ask several times.
    last: Arc<Mutex<LastRegion>>,
}

/// All its numbers, in the coordinates of the unit box.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct InducingState {
    /// The kernel.
    pub kernel: Kernel,
    /// ū.
    pub mean: f64,
    /// The kind of prior mean.
    pub prior_mean: PriorMean,
    /// The prior standard deviation of the constant, where that is an unknown of q: the last one, in units of this.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub constant: Option<f64>,
    /// Relative jitter on K.
    pub jitter: f64,
    /// Whether the inducing points are a grid and K was factored axis by axis: the jitter is then on each axis.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "std::ops::Not::not"))]
    pub by_axis: bool,
    /// Inducing locations.
    pub inducing: Points,
    /// Mean of q(v), v the whitened inducing values.
    pub q_mean: Vec<f64>,
    /// Lower triangle of the root of q(v)'s covariance, column by column.
    pub q_root: Vec<f64>,
}

impl InducingField {
    pub(crate) fn new(
        hyper: Hyper,
        (prior_mean, constant): (PriorMean, Option<f64>),
        jitter: f64,
        by_axis: bool,
        locations: Points,
        q: Gaussian,
    ) -> Result<Self> {
        let sd = constant;
        let basis: Arc<dyn Basis> = match GridPoints::of(&locations).filter(|_| by_axis) {
            Some(grid) if GridPoints::suits(&hyper.kernel) => {
                Arc::new(WithConstant { inner: grid.basis(&hyper, prior_mean, jitter)?, sd })
            }
            _ if by_axis => return Err(Error::setting("by_axis", true, "needs a full grid and a product of kernels")),
            _ => {
                let inner = Scattered::new(locations.clone()).basis(&hyper, prior_mean, jitter)?;
                Arc::new(WithConstant { inner, sd })
            }
        };
        Ok(Self { hyper, prior_mean, constant, jitter, by_axis, locations, q, basis, last: Arc::default() })
    }

    pub(super) fn state(&self) -> InducingState {
        let size = self.q.mean.len();
        InducingState {
            kernel: self.hyper.kernel.clone(),
            mean: self.hyper.mean,
            prior_mean: self.prior_mean,
            constant: self.constant,
            jitter: self.jitter,
            by_axis: self.by_axis,
            inducing: self.locations.clone(),
            q_mean: self.q.mean.clone(),
            q_root: (0..size).flat_map(|j| self.q.root.col(j)[j..].to_vec()).collect(),
        }
    }

    /// With these numbers, once they are found to make sense over a window of so many axes.
    pub(super) fn from_state(state: InducingState, dims: usize) -> Result<Self> {
        let InducingState { kernel, mean, prior_mean, constant, jitter, by_axis, inducing, q_mean, q_root } = state;
        let size = inducing.len() + usize::from(constant.is_some());
        kernel.check()?;
        for (what, found) in [("kernel", kernel.dims), ("inducing locations", inducing.dims())] {
            if found != dims {
                return Err(Error::Dimension { what, expected: dims, found });
            }
        }
        if inducing.is_empty() || q_mean.len() != size || q_root.len() != size * (size + 1) / 2 {
            return Err(Error::setting("q", q_mean.len(), format!("does not fit {} inducing points", inducing.len())));
        }
        let is_good = constant.is_none_or(|sd| sd.is_finite() && sd > 0.0);
        if !is_good || constant.is_some() != (prior_mean == PriorMean::Integrated) {
            return Err(Error::setting("constant", constant.unwrap_or(f64::NAN), "does not fit the prior mean"));
        }
        let numbers = [&q_mean[..], &q_root, &[mean, jitter]].concat();
        if numbers.iter().any(|v| !v.is_finite()) || jitter < 0.0 {
            return Err(Error::setting("q", "a number", "is not finite"));
        }
        let mut root = Matrix::zeros(size, size);
        let mut rest = &q_root[..];
        for j in 0..size {
            let (column, others) = rest.split_at(size - j);
            root.col_mut(j)[j..].copy_from_slice(column);
            rest = others;
        }
        let q = Gaussian { mean: q_mean, root };
        Self::new(Hyper { kernel, mean }, (prior_mean, constant), jitter, by_axis, inducing, q)
    }

    /// The features of a region.
    pub(super) fn region(&self, window: &Window) -> Arc<RegionFeatures> {
        // A thread that panicked leaves nothing half done here.
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        match &*last {
            Some((known, features)) if known == window => features.clone(),
            _ => {
                let features = Arc::new(self.basis.over(window));
                *last = Some((window.clone(), features.clone()));
                features
            }
        }
    }

    /// ∫f² = level + 2hᵀz + zᵀAz, h = Am + βp, whose parts have the variances 4 hᵀSh and 2 tr(ASAS).
    fn form_of(&self, features: &RegionFeatures) -> RegionForm {
        let half_pull = features.half_pull(self.offset(), &self.q.mean);
        let (trace, square) = of_square(&features.square, &self.q.root);
        let rotated = linalg::lower_transposed_times(&self.q.root, &half_pull);
        let level = features.of_square(self.offset(), &self.q.mean) + features.residual;
        RegionForm {
            mean: level + trace,
            level,
            linear_variance: Some(4.0 * linalg::dot(&rotated, &rotated)),
            square_variance: Some(2.0 * square),
            parts: Box::new(Dense { half_pull, square: features.square.clone() }),
        }
    }

    /// Mean and variance of f at points.
    pub(crate) fn at_points(&self, points: &Points) -> Marginals {
        bound::marginals(&self.basis.at(points), self.offset(), &self.q)
    }

    /// ∫E[f²] over a region.
    pub(crate) fn expected_over(&self, region: &Window) -> f64 {
        let features = self.region(region);
        features.of_square(self.offset(), &self.q.mean) + bound::integral_of_variance(&features, &self.q)
    }

    /// β.
    pub(super) fn offset(&self) -> f64 {
        self.prior_mean.split(self.hyper.mean).0
    }

    /// The prior covariance of f less a(x)ᵀa(x') for all pairs of points.
    pub(super) fn residual_covariance(&self, points: &Points, a: &Matrix) -> Matrix {
        let mut covariance = self.hyper.kernel.gram(points);
        if let Some(sd) = self.constant {
            covariance.data_mut().iter_mut().for_each(|k| *k += sd * sd);
        }
        let transposed = Matrix::from_fn(a.cols(), a.rows(), |n, m| a[(m, n)]);
        let explained = linalg::product(&transposed, a);
        linalg::add_scaled(covariance.data_mut(), -1.0, explained.data());
        covariance
    }
}

impl Field for InducingField {
    fn marginals(&self, points: &Points) -> Result<Marginals> {
        Ok(self.at_points(points))
    }

    /// What the inducing points leave unexplained counts in the mean, not in the standard deviation.
    fn count(&self, region: &Window) -> Result<Count> {
        Ok(self.form_of(&self.region(region)).moments(&[]))
    }

    fn expected(&self, region: &Window) -> Result<f64> {
        Ok(self.expected_over(region))
    }

    /// At points, what is left unexplained is known already.
    fn reaching(&self, spans: &[Span], counted: bool) -> Result<Option<Box<dyn Field>>> {
        if !counted {
            return Ok(None);
        }
        let of_constant = self.constant.map_or(0.0, |sd| sd * sd);
        let beyond = Beyond::new(self.basis.clone(), (&self.hyper.kernel, of_constant), &self.locations, spans)?;
        let Some(beyond) = beyond else { return Ok(None) };
        let (q, locations) = (beyond.widened(&self.q), self.locations.followed_by(&beyond.places));
        let (basis, last) = (Arc::new(beyond), Arc::default());
        Ok(Some(Box::new(Self { q, locations, basis, last, by_axis: false, ..self.clone() })))
    }

    fn collapsed(&self) -> Arc<dyn Field> {
        let q = Gaussian { mean: self.q.mean.clone(), root: Matrix::zeros(self.size(), self.size()) };
        Arc::new(Self { q, ..self.clone() })
    }

    fn size(&self) -> usize {
        self.q.mean.len()
    }

    fn deviations(&self, noise: Vec<f64>) -> Result<Vec<f64>> {
        let mut z = vec![0.0; noise.len()];
        linalg::lower_product_columns(&self.q.root, &noise, &mut z);
        Ok(z)
    }

    fn draw(&self, noise: &[f64]) -> Result<Vec<f64>> {
        let mut v = linalg::lower_times(&self.q.root, noise);
        linalg::add_scaled(&mut v, 1.0, &self.q.mean);
        Ok(v)
    }

    fn log_prior_over_q(&self, v: &[f64], noise: &[f64]) -> Result<f64> {
        let from_prior: f64 = v.iter().zip(self.basis.prior().0).map(|(v, b)| (v - b) * (v - b)).sum();
        let log_root: f64 = (0..self.size()).map(|i| self.q.root[(i, i)].abs().ln()).sum();
        Ok(-0.5 * from_prior + 0.5 * linalg::dot(noise, noise) + log_root)
    }

    fn at<'a>(&'a self, points: &'a Points) -> Result<Box<dyn Given + 'a>> {
        let features = self.basis.at(points);
        Ok(Box::new(At { field: self, points, a: features.a, variances: features.residual, noise: OnceLock::new() }))
    }

    fn over(&self, region: &Window) -> Result<Integral> {
        let (features, offset) = (self.region(region), self.offset());
        Ok(Box::new(move |v| features.of_square(offset, v) + features.residual))
    }

    fn form(&self, region: &Window) -> Result<RegionForm> {
        Ok(self.form_of(&self.basis.over(region)))
    }

    fn folded(&self, points: &Points, window: &Window) -> Result<(SquareProduct, f64)> {
        Representation::new(self, points, window, &self.q).folded()
    }

    fn exact(&self, events: &Points, points: &Points, window: &Window) -> Result<Box<dyn Reference>> {
        let (mean, _) = self.basis.prior();
        let prior = Gaussian { root: Matrix::scaled_identity(mean.len(), 1.0), mean };
        let joint = Representation::new(self, &events.followed_by(points), window, &prior).folded()?.0;
        Ok(Box::new(exact::Dense::new(joint, &self.marginals(events)?.mean)?))
    }
}

/// tr(AS) and tr(ASAS), S = RRᵀ. A region that is small beside the window has a few directions alone: with A = FᵀF these are |FR|² and |FR(FR)ᵀ|².
fn of_square(square: &Matrix, root: &Matrix) -> (f64, f64) {
    let size = root.rows();
    let few = if size < MANY { None } else { linalg::pivoted_cholesky_within(square, size / FEW) };
    let Some(factor) = few else {
        let inner = linalg::transposed_product(root, &linalg::product(square, root));
        return (inner.trace(), linalg::dot(inner.data(), inner.data()));
    };
    let turned = linalg::product(&factor, root);
    let mirrored = Matrix::from_fn(turned.cols(), turned.rows(), |i, j| turned[(j, i)]);
    let inner = linalg::product(&turned, &mirrored);
    (linalg::dot(turned.data(), turned.data()), linalg::dot(inner.data(), inner.data()))
}

/// 2hᵀz and zᵀAz.
struct Dense {
    half_pull: Vec<f64>,
    square: Matrix,
}

impl Parts for Dense {
    fn at(&self, z: &[f64]) -> Vec<[f64; 2]> {
        let size = self.half_pull.len();
        let mut turned = vec![0.0; z.len()];
        linalg::product_columns(&self.square, z, &mut turned);
        let both = z.chunks_exact(size).zip(turned.chunks_exact(size));
        both.map(|(z, turned)| [2.0 * linalg::dot(&self.half_pull, z), linalg::dot(z, turned)]).collect()
    }

    fn bytes(&self) -> usize {
        8 * (self.half_pull.len() + self.square.data().len())
    }
}

/// f at points: linear in v, plus what the inducing points leave unexplained.
struct At<'a> {
    field: &'a InducingField,
    points: &'a Points,
    a: Matrix,
    variances: Vec<f64>,
    noise: OnceLock<Residual>,
}

/// How what is left unexplained is drawn.
enum Residual {
    /// Standard deviations, drawn independently.
    Independent(Vec<f64>),
    /// Rows of a factor of the joint covariance. // (rank, N)
    Joint(Matrix),
}

impl At<'_> {
    fn noise(&self) -> Residual {
        let largest = self.variances.iter().copied().fold(0.0, f64::max);
        let small = largest <= NEGLIGIBLE * self.field.hyper.kernel.variance();
        if small || self.points.len() > JOINT_POINTS {
            Residual::Independent(self.variances.iter().map(|c| c.sqrt()).collect())
        } else {
            Residual::Joint(linalg::pivoted_cholesky(&self.field.residual_covariance(self.points, &self.a)))
        }
    }
}

impl Given for At<'_> {
    fn mean(&self, v: &[f64]) -> Vec<f64> {
        (0..self.a.cols()).map(|n| self.field.offset() + linalg::dot(self.a.col(n), v)).collect()
    }

    fn residual(&self) -> &[f64] {
        &self.variances
    }

    fn draw(&self, v: &[f64], rng: &mut ChaCha8Rng) -> Vec<f64> {
        let mut f = self.mean(v);
        match self.noise.get_or_init(|| self.noise()) {
            Residual::Independent(sd) => {
                let noise = gaussian::standard_normal(rng, f.len());
                f.iter_mut().zip(noise.iter().zip(sd)).for_each(|(f, (e, sd))| *f += e * sd);
            }
            Residual::Joint(factor) => {
                let noise = gaussian::standard_normal(rng, factor.rows());
                f.iter_mut().enumerate().for_each(|(n, f)| *f += linalg::dot(factor.col(n), &noise));
            }
        }
        f
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A region of few directions beside the same numbers by whole matrices, and one of many directions.
    #[test]
    fn few_directions_have_the_moments_of_all() {
        let size = 2 * MANY;
        let root = Matrix::from_fn(size, size, |i, j| {
            if i < j { 0.0 } else { ((i * 5 + j * 3 + 1) as f64).sin() / (1.0 + (i - j) as f64) }
        });
        for rank in [3, size / FEW + 1] {
            let factor = Matrix::from_fn(rank, size, |i, j| ((i * i * 13 + i * j * 5 + j * j * 7 + 2) as f64).cos());
            let square = linalg::transposed_product(&factor, &factor);
            assert_eq!(linalg::pivoted_cholesky_within(&square, size / FEW).is_some(), rank == 3);
            let inner = linalg::transposed_product(&root, &linalg::product(&square, &root));
            let (trace, of_inner) = of_square(&square, &root);
            assert!((trace / inner.trace() - 1.0).abs() < 1e-12, "{rank}");
            assert!((of_inner / linalg::dot(inner.data(), inner.data()) - 1.0).abs() < 1e-12, "{rank}");
        }
    }
}
