//! Rows at the nodes of a tensor grid, with inducing points on a grid: every sum goes axis by axis
//! (docs/derivation.md (47), (48)).
//!
//! A natural step costs one Cholesky factor and one inverse of an M×M matrix; everything else is small beside them.

use super::{BesideConstant, GridBasis, HyperBar, TensorFeatures};
use crate::gaussian::bordered::BorderedSpread;
use crate::gaussian::step::{Optimum, Step};
use crate::gaussian::{BorderedDesign, DenseFactor, Design};
use crate::numerics::linalg::{self, Matrix};
use crate::terms::Marginals;
use std::sync::{Arc, Mutex, PoisonError};

/// Large matrices that are not in use. A natural step takes them from here: fresh memory would cost a tenth of its time.
#[derive(Debug, Clone, Default)]
pub(crate) struct Spare(Arc<Mutex<Vec<Matrix>>>);

impl Spare {
    /// A matrix of this size with anything in it.
    fn take(&self, size: usize) -> Matrix {
        let mut spare = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        spare.retain(|matrix| matrix.rows() == size); // another grid, other matrices
        spare.pop().unwrap_or_else(|| Matrix::zeros(size, size))
    }

    fn put(&self, matrix: Matrix) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(matrix);
    }
}

/// The covariance of v, which goes back to the spare matrices in the end.
pub(crate) struct Covariance {
    matrix: Matrix,
    spare: Spare,
}

impl Drop for Covariance {
    fn drop(&mut self) {
        self.spare.put(std::mem::take(&mut self.matrix));
    }
}

impl Covariance {
    pub(crate) fn matrix(&self) -> &Matrix {
        &self.matrix
    }
}

/// Rows at the nodes of a tensor grid.
pub(crate) struct ByAxis<'a> {
    pub(crate) basis: &'a GridBasis,
    pub(crate) features: &'a TensorFeatures,
    pub(crate) spare: &'a Spare,
}

impl Design for ByAxis<'_> {
    type Precision = Matrix;
    type Spread = Covariance;

    fn len(&self) -> usize {
        self.features.residual.len()
    }

    fn residual(&self) -> Option<&[f64]> {
        Some(&self.features.residual)
    }

    fn copied(&self, matrix: &Matrix) -> Matrix {
        let mut copy = self.spare.take(matrix.rows());
        copy.data_mut().copy_from_slice(matrix.data());
        copy
    }

    fn add_sites(&self, precision: &[f64], linear: &[f64], matrix: &mut Matrix, vector: &mut [f64]) {
        self.basis.add_gram(self.features, precision, matrix);
        self.add_sum(linear, vector);
    }

    fn add_sum(&self, weights: &[f64], vector: &mut [f64]) {
        linalg::add_scaled(vector, 1.0, &self.features.sum(weights));
    }

    fn spread(&self, factor: DenseFactor) -> Covariance {
        let size = factor.0.rows();
        let (mut root, mut matrix) = (self.spare.take(size), self.spare.take(size));
        linalg::inverse_on_all_cores(&factor.0, &mut root, &mut matrix);
        [root, factor.0].into_iter().for_each(|matrix| self.spare.put(matrix));
        Covariance { matrix, spare: self.spare.clone() }
    }

    fn levels(&self, v: &[f64]) -> Vec<f64> {
        self.features.means(v)
    }

    fn moments(&self, mean: &[f64], spread: &Covariance) -> (Vec<f64>, Vec<f64>) {
        (self.levels(mean), self.basis.spreads(self.features, &spread.matrix))
    }
}

/// q(v), and what a constant beside v adds to f.
struct Apart {
    mean: Vec<f64>,
    covariance: Matrix,
    constant: BesideConstant,
    /// The variance of the constant.
    variance: f64,
}

impl Apart {
    /// From mean and covariance of v and, last, of the constant in units of its prior standard deviation, if there is one.
    fn new(mean: &[f64], covariance: &Matrix, sd: Option<f64>) -> Self {
        let Some(sd) = sd else {
            let (mean, covariance) = (mean.to_vec(), covariance.clone());
            return Self { mean, covariance, constant: BesideConstant::default(), variance: 0.0 };
        };
        let size = mean.len() - 1;
        Self {
            mean: mean[..size].to_vec(),
            covariance: Matrix::from_fn(size, size, |i, j| covariance[(i, j)]),
            constant: BesideConstant {
                mean: sd * mean[size],
                covariance: covariance.col(size)[..size].iter().map(|c| sd * c).collect(),
            },
            variance: sd * sd * covariance[(size, size)],
        }
    }
}

impl BorderedDesign<ByAxis<'_>> {
    /// The prior standard deviation of the constant.
    pub(crate) fn sd(&self) -> Option<f64> {
        self.dense.first().and_then(|sd| sd.first()).copied()
    }

    /// Mean and variance of f at the nodes for a q.
    pub(crate) fn marginals(&self, mean: &[f64], covariance: &Matrix) -> Marginals {
        let (rows, apart) = (&self.inner, Apart::new(mean, covariance, self.sd()));
        let features = rows.features;
        let level = features.offset + apart.constant.mean;
        let mut variance = rows.basis.spreads(features, &apart.covariance);
        if !apart.constant.covariance.is_empty() {
            linalg::add_scaled(&mut variance, 2.0, &features.means(&apart.constant.covariance));
        }
        let variance = features.residual.iter().zip(&variance).map(|(c, s)| c + (s + apart.variance).max(0.0));
        Marginals { mean: rows.levels(&apart.mean).iter().map(|f| level + f).collect(), variance: variance.collect() }
    }

    /// The gradient of the bound by Θ, q at its optimum.
    pub(crate) fn gradient(&self, optimum: &Optimum<BorderedSpread<Covariance>>, weights: &[f64]) -> HyperBar {
        let Step { mean, spread, terms, .. } = &optimum.step;
        let times =
            |values: &[f64], factor: f64| weights.iter().zip(values).map(|(w, v)| factor * w * v).collect::<Vec<f64>>();
        let (by_mean, by_variance) = (times(&terms.slope, 1.0), times(&terms.curvature, -0.5));
        let apart = Apart::new(mean, &spread.covariance(), self.sd());
        let q = (&apart.mean[..], &apart.covariance);
        self.inner.basis.adjoint(self.inner.features, (&by_mean, &by_variance), q, &apart.constant)
    }
}

impl BorderedSpread<Covariance> {
    /// The covariance of v and of the dense unknowns beside it (docs/derivation.md (56)).
    pub(crate) fn covariance(&self) -> Matrix {
        let (inner, size) = (self.inner.matrix(), self.inner.matrix().rows());
        let corner = self.corner_covariance();
        let count = corner.rows();
        if count == 0 {
            return inner.clone();
        }
        let column = |k: usize| &self.border[k * size..][..size];
        // −U T⁻¹, column by column.
        let beside: Vec<Vec<f64>> = (0..count)
            .map(|k| {
                let mut sum = vec![0.0; size];
                (0..count).for_each(|l| linalg::add_scaled(&mut sum, -corner[(l, k)], column(l)));
                sum
            })
            .collect();
        Matrix::from_fn(size + count, size + count, |i, j| match (i.min(j), i.max(j)) {
            (_, last) if last < size => inner[(i, j)] - (0..count).map(|k| column(k)[i] * beside[k][j]).sum::<f64>(),
            (first, last) if first < size => beside[last - size][first],
            (first, last) => corner[(first - size, last - size)],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Basis, GridPoints, Hyper, PriorMean, Scattered, region_with_constant};
    use super::*;
    use crate::bound::{Bound, Gaussian, bound, bound_adjoint};
    use crate::data::points::Points;
    use crate::gaussian::step::{Clamp, Until};
    use crate::gaussian::{Precision, Sites};
    use crate::infer::{grid_optimum, optimum};
    use crate::kernel::{Expression, Kernel, Part, Term};
    use crate::terms::LOG_SQUARE;
    use crate::testing::check_gradient;
    use crate::window::Window;

    /// A kernel on the first axes with parameters as given, or where they start.
    fn kernel(text: &str, dims: usize) -> Kernel {
        let expression = Expression::parse(text, &["x", "y", "z"][..dims]).unwrap();
        let part = |part: &crate::kernel::PartExpression| {
            let known = part.parameters.iter().zip(part.factor.parameters());
            let parameters = known.map(|(said, parameter)| said.value.unwrap_or(parameter.start)).collect();
            Part { axis: part.axis, factor: part.factor, parameters }
        };
        let parts = expression.terms[0].parts.iter().map(part).collect();
        Kernel::new(dims, vec![Term { variance: 1.3, parts }]).unwrap()
    }

    const KERNELS: [(&str, usize); 4] = [
        ("se(x, lengthscale=0.3)*se(y, lengthscale=0.4)", 2),
        ("matern32(y, lengthscale=0.3)*matern52(x, lengthscale=0.5)*periodic(x, period=1.7)", 2),
        ("polynomial(x, degree=1)*se(x, lengthscale=0.5)*rational_quadratic(y, lengthscale=0.4)", 2),
        ("se(x, lengthscale=0.5)*matern12(y)*se(z, lengthscale=0.6)", 3),
    ];

    struct Case {
        hyper: Hyper,
        prior: PriorMean,
        locations: Points,
        axes: Vec<Vec<f64>>,
        weights: Vec<f64>,
        window: Window,
        /// The prior standard deviation of a constant.
        constant: Option<f64>,
    }

    fn cases() -> Vec<Case> {
        let priors = [PriorMean::Constant, PriorMean::Paper, PriorMean::Integrated];
        let all = KERNELS.iter().flat_map(|k| priors.map(|prior| (k, prior)));
        let make = |((text, dims), prior): (&(&str, usize), PriorMean)| {
            let counts = [[5, 4, 1], [3, 2, 3]][usize::from(*dims == 3)];
            let axes: Vec<Vec<f64>> = (0..*dims)
                .map(|r| (0..4 + r).map(|i| (0.31 * (i + 1) as f64 * (1.2 + r as f64)).fract()).collect())
                .collect();
            let count: usize = axes.iter().map(Vec::len).product();
            let mut weights: Vec<f64> = (0..count).map(|n| 2.0 + (1.7 * n as f64).sin()).collect();
            weights[3] = 0.0;
            let spans = vec![(0.0, 1.0); *dims];
            Case {
                hyper: Hyper { kernel: kernel(text, *dims), mean: 2.5 },
                prior,
                locations: Points::grid(&vec![0.0; *dims], &vec![1.0; *dims], &counts[..*dims]),
                axes,
                weights,
                window: Window::new(&spans).unwrap().with_repeats(2).unwrap(),
                constant: (prior == PriorMean::Integrated).then_some(1.7),
            }
        };
        all.map(make).collect()
    }

    fn until((tolerance, most): (f64, usize)) -> Until<'static> {
        Until { tolerance, most, clamp: Clamp::UntilSettled, foresees: false, pulse: &|| Ok(()) }
    }

    /// All that a Θ gives axis by axis.
    struct OnGrid {
        basis: GridBasis,
        features: TensorFeatures,
        spare: Spare,
    }

    impl OnGrid {
        fn rows(&self, case: &Case) -> BorderedDesign<ByAxis<'_>> {
            let rows = ByAxis { basis: &self.basis, features: &self.features, spare: &self.spare };
            BorderedDesign::with_constant(rows, case.constant)
        }

        fn optimum(&self, case: &Case, steps: (f64, usize)) -> Optimum<BorderedSpread<Covariance>> {
            grid_optimum(&self.rows(case), &case.weights, case.sites(), until(steps)).unwrap()
        }
    }

    impl Case {
        fn grid(&self, hyper: &Hyper) -> OnGrid {
            let basis = GridPoints::of(&self.locations).unwrap().basis(hyper, self.prior, 0.0).unwrap();
            let features = basis.tensor_features(&self.axes, &self.window).unwrap();
            OnGrid { basis, features, spare: Spare::default() }
        }

        fn sites(&self) -> Sites {
            Sites::flat(&LOG_SQUARE, 3.0, self.weights.len())
        }

        /// The nodes as points, in the order of the weights.
        fn points(&self) -> Points {
            let row = |n: usize| {
                let stride = |r: usize| self.axes[r + 1..].iter().map(Vec::len).product::<usize>();
                (0..self.axes.len()).map(move |r| self.axes[r][n / stride(r) % self.axes[r].len()])
            };
            Points::new(self.axes.len(), (0..self.weights.len()).flat_map(row).collect()).unwrap()
        }
    }

    fn marginals(features: &crate::field::inducing::Features, dense: &Optimum<DenseFactor>) -> Marginals {
        let covariance = linalg::inverse_from_cholesky(&dense.step.spread.0);
        let q = Gaussian { mean: dense.step.mean.clone(), root: covariance.factor().unwrap().0 };
        crate::bound::marginals(&features.points, features.offset, &q)
    }

    fn close(got: &[f64], want: &[f64], what: &str) {
        let scale = want.iter().fold(1.0, |m: f64, v| m.max(v.abs()));
        assert_eq!(got.len(), want.len());
        got.iter().zip(want).for_each(|(a, b)| assert!((a - b).abs() < 1e-9 * scale, "{what}: {a} {b}"));
    }

    #[test]
    fn axis_by_axis_is_the_dense_way() {
        for case in cases() {
            let (points, grid) = (case.points(), case.grid(&case.hyper));
            let basis = Scattered::new(case.locations.clone()).basis(&case.hyper, case.prior, 0.0).unwrap();
            let features = basis.features(&points, &case.window).with_constant(case.constant);
            let found = grid.optimum(&case, (1e-9, 8));
            let before = (&features.prior_mean[..], features.offset, &features.region);
            let rows = features.points.rows();
            let dense = optimum(&rows, &case.weights, before, case.sites(), until((1e-9, 8))).unwrap();
            close(&[found.step.bound], &[dense.step.bound], "bound");
            close(&found.step.mean, &dense.step.mean, "mean");
            let covariance = linalg::inverse_from_cholesky(&dense.step.spread.0);
            let own = found.step.spread.covariance();
            close(own.data(), covariance.data(), "covariance");
            let (got, want) = (grid.rows(&case).marginals(&dense.step.mean, &covariance), marginals(&features, &dense));
            close(&got.mean, &want.mean, "means of f");
            close(&got.variance, &want.variance, "variances of f");
            let q = Gaussian { mean: dense.step.mean.clone(), root: covariance.factor().unwrap().0 };
            let (total, bar, _) = bound_adjoint(&features, &case.weights, &q, false);
            let list = |b: Bound| [b.log_rate, b.integral_of_mean_square, b.integral_of_variance, b.kl];
            let region = region_with_constant(grid.features.region.clone(), case.constant);
            let mean_square = region.of_square(features.offset, &found.step.mean);
            let variance = region.of_variance(&own);
            let parts = Bound::of_step(found.step.bound, found.step.sums[0], mean_square, variance);
            close(&list(parts), &list(total), "parts");
            close(&list(bound(&features, &case.weights, &q)), &list(total), "parts without the adjoint");
            let (inner, bar) = (features.without_constant(case.constant), bar.with_constant_adjoint(case.constant));
            let want = basis.features_adjoint(&points, &case.window, &inner, bar, &[]);
            let got = grid.rows(&case).gradient(&found, &case.weights);
            close(&got.parameters, &want.parameters, "gradient");
            close(&[got.mean], &[want.mean], "gradient by the mean");

            let other = Points::new(points.dims(), points.coordinates().iter().map(|x| x * x).collect()).unwrap();
            let (got, want) = (grid.basis.at(&other), basis.at(&other));
            close(got.a.data(), want.a.data(), "features");
            close(&got.residual, &want.residual, "residual");
        }
    }

    #[test]
    fn the_gradient_is_that_of_finite_differences() {
        for case in cases() {
            let grid = case.grid(&case.hyper);
            let got = grid.rows(&case).gradient(&grid.optimum(&case, (1e-12, 100)), &case.weights);
            let mut values = case.hyper.kernel.parameters();
            let mut wanted = got.parameters.clone();
            // The degree of a polynomial is not learned.
            let degree = case.hyper.kernel.parameter_names().iter().position(|name| name.contains("degree"));
            let held = degree.map(|at| (wanted.remove(at), values.remove(at)).1);
            let bound = |x: &[f64]| {
                let mut x = x.to_vec();
                degree.zip(held).into_iter().for_each(|(at, held)| x.insert(at, held));
                let hyper = Hyper { kernel: case.hyper.kernel.with_parameters(&x), mean: case.hyper.mean };
                case.grid(&hyper).optimum(&case, (1e-12, 100)).step.bound
            };
            let error = check_gradient(bound, &values, &wanted);
            assert!(error < 1e-5, "{error}");
        }
    }

    #[test]
    fn regions_of_any_shape_are_those_of_the_dense_way() {
        let case = &cases()[0];
        let grid = case.grid(&case.hyper).basis;
        let dense = Scattered::new(case.locations.clone()).basis(&case.hyper, case.prior, 0.0).unwrap();
        let ring = vec![vec![[0.1, 0.0], [0.9, 0.1], [1.0, 0.6], [0.2, 0.9]]];
        let polygon = Window::inside(crate::window::Polygons::new(vec![ring]).unwrap());
        let halves = [Window::new(&[(0.0, 0.3), (0.0, 1.0)]).unwrap(), Window::new(&[(0.5, 1.0), (0.2, 0.7)]).unwrap()];
        for window in [polygon, Window::union(&halves).unwrap()] {
            let (got, want) = (grid.over(&window), dense.over(&window));
            close(got.square.data(), want.square.data(), "square");
            close(&got.linear, &want.linear, "linear");
            close(&[got.residual, got.measure], &[want.residual, want.measure], "residual");
        }
    }
}
