//! The posterior of the intensity: rate, quantiles, counts, draws. It holds no events.
//!
//! λ(x) = f(x)² with f(x) ~ N(μ, σ²): mean μ² + σ², variance 2σ⁴ + 4μ²σ², exact quantiles (docs/derivation.md (25), (26)). Inside, coordinates are
//! those of the unit box; everything that comes out is in the user's units. Cost: M² a point.

use crate::basis::{Basis, Hyper, InducingSet, PriorMean, Scattered};
use crate::bound::{self, Gaussian, Marginals};
use crate::error::{Error, Result};
use crate::kernel::Kernel;
use crate::numerics::linalg::{self, Matrix};
use crate::numerics::special::square_quantile;
use crate::points::Points;
use crate::sample::{self, gaussian, thinning};
use crate::window::{Exposure, Scaling, Window};
use std::sync::Arc;

/// Up to this many points are drawn jointly to the last correlation; beyond, what the inducing points leave unexplained is drawn
/// independently at each point.
const JOINT_POINTS: usize = 2000;
/// Residual variance, relative to the prior's, that is not worth a joint draw.
const NEGLIGIBLE: f64 = 1e-6;

/// The posterior of an intensity over a window.
#[derive(Clone)]
pub struct Posterior {
    window: Window,
    scaling: Scaling,
    hyper: Hyper,
    prior_mean: PriorMean,
    jitter: f64,
    locations: Points,
    q: Gaussian,
    basis: Arc<dyn Basis>,
}

impl std::fmt::Debug for Posterior {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let inducing = self.locations.len();
        f.debug_struct("Posterior").field("window", &self.window).field("inducing", &inducing).finish_non_exhaustive()
    }
}

/// Mean and standard deviation of the rate at points.
#[derive(Debug, Clone, PartialEq)]
pub struct Rate {
    /// Posterior means.
    pub mean: Vec<f64>,
    /// Posterior standard deviations.
    pub sd: Vec<f64>,
}

/// The expected number of events in a region, as a random quantity: its posterior mean and standard deviation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Count {
    /// Mean of ∫λ.
    pub mean: f64,
    /// Standard deviation of ∫λ.
    pub sd: f64,
}

/// All numbers of a posterior, in the coordinates of the unit box: what a file must hold to give the same answers to the last bit.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct PosteriorState {
    /// The window, in the user's units.
    pub window: Window,
    /// The kernel in unit coordinates.
    pub kernel: Kernel,
    /// ū in unit coordinates.
    pub mean: f64,
    /// The kind of prior mean.
    pub prior_mean: PriorMean,
    /// Relative jitter on K.
    pub jitter: f64,
    /// Inducing locations in unit coordinates.
    pub inducing: Points,
    /// Mean of q(v), v the whitened inducing values.
    pub q_mean: Vec<f64>,
    /// Lower triangle of the root of q(v)'s covariance, column by column.
    pub q_root: Vec<f64>,
}

impl Posterior {
    pub(crate) fn new(
        window: Window,
        scaling: Scaling,
        hyper: Hyper,
        prior_mean: PriorMean,
        jitter: f64,
        locations: Points,
        q: Gaussian,
    ) -> Result<Self> {
        let basis = Scattered::new(locations.clone()).basis(&hyper, prior_mean, jitter)?.into();
        Ok(Self { window, scaling, hyper, prior_mean, jitter, locations, q, basis })
    }

    /// All its numbers.
    pub fn state(&self) -> PosteriorState {
        let size = self.q.mean.len();
        PosteriorState {
            window: self.window.clone(),
            kernel: self.hyper.kernel.clone(),
            mean: self.hyper.mean,
            prior_mean: self.prior_mean,
            jitter: self.jitter,
            inducing: self.locations.clone(),
            q_mean: self.q.mean.clone(),
            q_root: (0..size).flat_map(|j| self.q.root.col(j)[j..].to_vec()).collect(),
        }
    }

    /// The posterior with these numbers, once they are found to make sense.
    pub fn from_state(state: PosteriorState) -> Result<Self> {
        let PosteriorState { window, kernel, mean, prior_mean, jitter, inducing, q_mean, q_root } = state;
        let window = window.checked()?;
        let inducing = Points::new(inducing.dims(), inducing.coordinates().to_vec())?;
        let size = inducing.len();
        kernel.check()?;
        for (what, found) in [("kernel", kernel.dims), ("inducing locations", inducing.dims())] {
            if found != window.dims() {
                return Err(Error::Dimension { what, expected: window.dims(), found });
            }
        }
        if size == 0 || q_mean.len() != size || q_root.len() != size * (size + 1) / 2 {
            return Err(Error::setting("q", q_mean.len(), format!("does not fit {size} inducing points")));
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
        let scaling = Scaling::of(&window);
        Self::new(
            window,
            scaling,
            Hyper { kernel, mean },
            prior_mean,
            jitter,
            inducing,
            Gaussian { mean: q_mean, root },
        )
    }

    /// The window.
    pub fn window(&self) -> &Window {
        &self.window
    }

    /// The kernel, in the user's units.
    pub fn kernel(&self) -> Kernel {
        self.hyper.kernel.outward(&self.scaling)
    }

    /// ū, in the user's units (the root of a rate).
    pub fn mean(&self) -> f64 {
        self.hyper.mean / self.scaling.volume().sqrt()
    }

    /// The kind of prior mean.
    pub fn prior_mean(&self) -> PriorMean {
        self.prior_mean
    }

    /// The inducing locations, in the user's units.
    pub fn inducing(&self) -> Points {
        self.scaling.points_outward(&self.locations)
    }

    /// Mean and variance of f at points, in the user's units.
    pub fn marginals(&self, points: &Points) -> Result<Marginals> {
        self.check_dims(points)?;
        let mut marginals = self.inner_marginals(&self.scaling.points_inward(points));
        let volume = self.scaling.volume();
        marginals.mean.iter_mut().for_each(|m| *m /= volume.sqrt());
        marginals.variance.iter_mut().for_each(|v| *v /= volume);
        Ok(marginals)
    }

    fn inner_marginals(&self, points: &Points) -> Marginals {
        bound::marginals(&self.basis.at(points), self.offset(), &self.q)
    }

    fn offset(&self) -> f64 {
        self.prior_mean.split(self.hyper.mean).0
    }

    fn check_dims(&self, points: &Points) -> Result<()> {
        let (expected, found) = (self.window.dims(), points.dims());
        if expected == found { Ok(()) } else { Err(Error::Dimension { what: "points", expected, found }) }
    }

    /// Mean and standard deviation of the rate at points.
    pub fn rate(&self, points: &Points) -> Result<Rate> {
        let f = self.marginals(points)?;
        let mean = f.mean.iter().zip(&f.variance).map(|(m, v)| m * m + v).collect();
        let sd = f.mean.iter().zip(&f.variance).map(|(m, v)| (2.0 * v * v + 4.0 * m * m * v).sqrt()).collect();
        Ok(Rate { mean, sd })
    }

    /// Exact posterior quantiles of the rate: for each probability, one value a point.
    pub fn quantiles(&self, points: &Points, probabilities: &[f64]) -> Result<Vec<Vec<f64>>> {
        if let Some(p) = probabilities.iter().find(|p| !(0.0..=1.0).contains(*p)) {
            return Err(Error::setting("quantile", p, "must lie between 0 and 1"));
        }
        let f = self.marginals(points)?;
        let quantile = |p: f64| f.mean.iter().zip(&f.variance).map(|(m, v)| square_quantile(*m, v.sqrt(), p)).collect();
        Ok(probabilities.iter().map(|&p| quantile(p)).collect())
    }

    /// `draws` joint draws of the intensity at points.
    pub fn sample(&self, points: &Points, draws: usize, seed: u64) -> Result<Vec<Vec<f64>>> {
        self.check_dims(points)?;
        let inner = self.scaling.points_inward(points);
        let field = Field::new(self, &inner)?;
        let volume = self.scaling.volume();
        Ok((0..draws)
            .map(|draw| {
                let mut rng = sample::stream(seed, draw as u64);
                let v = self.draw_v(&mut rng);
                field.draw(&v, &mut rng).iter().map(|f| f * f / volume).collect()
            })
            .collect())
    }

    /// One draw of v from q.
    fn draw_v(&self, rng: &mut impl rand::Rng) -> Vec<f64> {
        let mut v = linalg::lower_times(&self.q.root, &gaussian::standard_normal(rng, self.q.mean.len()));
        linalg::add_scaled(&mut v, 1.0, &self.q.mean);
        v
    }

    /// The expected number of events in that part of a region that lies inside the window: of one repeat, unless the region says
    /// otherwise, and under the window's exposure. What the inducing points leave unexplained counts in the mean,
    /// not in the standard deviation.
    pub fn count(&self, region: &Window) -> Result<Count> {
        let features = self.region(region)?;
        let mean = bound::integral_of_mean_square(&features, self.offset(), &self.q.mean)
            + bound::integral_of_variance(&features, &self.q);
        // λ integrates to a quadratic form of v: Var = 2 tr(ASAS) + 4 hᵀSh, h = Am + βp
        let mut inner = linalg::product(&features.square, &self.q.root);
        let root = Matrix::from_fn(inner.rows(), inner.rows(), |i, j| self.q.root[(j, i)]);
        inner = linalg::product(&root, &inner);
        let mut pull = linalg::times(&features.square, &self.q.mean);
        linalg::add_scaled(&mut pull, self.offset(), &features.linear);
        let pull = linalg::times(&root, &pull);
        let variance = 2.0 * linalg::dot(inner.data(), inner.data()) + 4.0 * linalg::dot(&pull, &pull);
        Ok(Count { mean, sd: variance.sqrt() })
    }

    /// Draws of the expected number of events in a region, and of a number of events given each.
    pub fn count_draws(&self, region: &Window, draws: usize, seed: u64) -> Result<Vec<(f64, u64)>> {
        let features = self.region(region)?;
        Ok((0..draws)
            .map(|draw| {
                let mut rng = sample::stream(seed, draw as u64);
                let v = self.draw_v(&mut rng);
                let expected = bound::integral_of_mean_square(&features, self.offset(), &v) + features.residual;
                (expected, thinning::poisson(&mut rng, expected))
            })
            .collect())
    }

    fn region(&self, region: &Window) -> Result<crate::basis::RegionFeatures> {
        if region.dims() != self.window.dims() {
            return Err(Error::Dimension { what: "region", expected: self.window.dims(), found: region.dims() });
        }
        let ends = |window: &Window| {
            window.bounding_box().iter().map(|s| format!("{},{}", s.lo, s.hi)).collect::<Vec<_>>().join(",")
        };
        let Some(inside) = self.window.intersection(region) else {
            let requirement = format!("lies outside the window {}", ends(&self.window));
            return Err(Error::setting("region", ends(region), requirement));
        };
        Ok(self.basis.over(&inside.scaled(&self.scaling)))
    }

    /// A whole new set of events: an intensity from the posterior, then events from it. Draw number `draw` of `seed`.
    pub fn sample_events(&self, seed: u64, draw: u64) -> Result<Points> {
        if let Some(Exposure::Nodes { .. }) = self.window.exposure() {
            return Err(Error::setting(
                "exposure",
                "weighted points",
                "events cannot be drawn: it is known at these points only",
            ));
        }
        let mut rng = sample::stream(seed, draw);
        let v = self.draw_v(&mut rng);
        let dims = self.window.dims();
        let mut ceiling = self.ceiling(&v)?;
        let most = self.window.most_coverage();
        loop {
            let everywhere = thinning::candidates(&mut rng, &vec![0.0; dims], &vec![1.0; dims], most * ceiling);
            let outer = self.scaling.points_outward(&Points::new(dims, everywhere)?);
            let outer = outer.filter(|row| self.window.contains(row));
            let field = Field::new(self, &self.scaling.points_inward(&outer))?;
            let squares: Vec<f64> = field.draw(&v, &mut rng).iter().map(|f| f * f).collect();
            let highest = squares.iter().copied().fold(0.0, f64::max);
            if highest > ceiling {
                ceiling = 1.5 * highest; // the ceiling was not one: thin anew under a true one
                continue;
            }
            let rates: Vec<f64> = outer.rows().zip(&squares).map(|(row, f)| self.window.coverage(row) * f).collect();
            let keep = thinning::keep(&mut rng, &rates, most * ceiling);
            let kept = outer.rows().zip(keep).filter(|(_, keep)| *keep).flat_map(|(row, _)| row.to_vec()).collect();
            return Points::new(dims, kept);
        }
    }

    /// A rate that the intensity of `v` hardly exceeds: the largest on a grid, residual included, and a fifth more.
    fn ceiling(&self, v: &[f64]) -> Result<f64> {
        let dims = self.window.dims();
        let side = if dims == 1 { 400 } else { (10_000f64.powf(1.0 / dims as f64) as usize).max(5) };
        let grid = self.window.grid(&vec![side; dims]);
        let inside = grid.filter(|row| self.window.contains(row));
        let grid = self.scaling.points_inward(if inside.is_empty() { &grid } else { &inside });
        let features = self.basis.at(&grid);
        let rate = |n: usize| {
            let level = (self.offset() + linalg::dot(features.a.col(n), v)).abs() + 4.0 * features.residual[n].sqrt();
            level * level
        };
        Ok(1.2 * (0..grid.len()).map(rate).fold(f64::MIN_POSITIVE, f64::max))
    }

    pub(crate) fn q(&self) -> &Gaussian {
        &self.q
    }

    pub(crate) fn basis(&self) -> &dyn Basis {
        &*self.basis
    }

    pub(crate) fn inner_offset(&self) -> f64 {
        self.offset()
    }

    pub(crate) fn scaling(&self) -> &Scaling {
        &self.scaling
    }

    pub(crate) fn inner_kernel(&self) -> &Kernel {
        &self.hyper.kernel
    }
}

/// f at a set of points given v: linear in v, plus what the inducing points leave unexplained.
struct Field {
    a: Matrix,
    offset: f64,
    residual: Residual,
}

enum Residual {
    /// Standard deviations, drawn independently.
    Independent(Vec<f64>),
    /// Rows of a factor of the joint covariance. // (rank, N)
    Joint(Matrix),
}

impl Field {
    fn new(posterior: &Posterior, points: &Points) -> Result<Self> {
        let features = posterior.basis.at(points);
        let largest = features.residual.iter().copied().fold(0.0, f64::max);
        let small = largest <= NEGLIGIBLE * posterior.hyper.kernel.variance();
        let residual = if small || points.len() > JOINT_POINTS {
            Residual::Independent(features.residual.iter().map(|c| c.sqrt()).collect())
        } else {
            Residual::Joint(linalg::pivoted_cholesky(&residual_covariance(
                &posterior.hyper.kernel,
                points,
                &features.a,
            )))
        };
        Ok(Self { a: features.a, offset: posterior.offset(), residual })
    }

    fn draw(&self, v: &[f64], rng: &mut impl rand::Rng) -> Vec<f64> {
        let count = self.a.cols();
        let mut f: Vec<f64> = (0..count).map(|n| self.offset + linalg::dot(self.a.col(n), v)).collect();
        match &self.residual {
            Residual::Independent(sd) => {
                let noise = gaussian::standard_normal(rng, count);
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

/// k(x, x') − a(x)ᵀa(x') for all pairs of points.
pub(crate) fn residual_covariance(kernel: &Kernel, points: &Points, a: &Matrix) -> Matrix {
    let mut covariance = kernel.gram(points);
    let transposed = Matrix::from_fn(a.cols(), a.rows(), |n, m| a[(m, n)]);
    let explained = linalg::product(&transposed, a);
    linalg::add_scaled(covariance.data_mut(), -1.0, explained.data());
    covariance
}
