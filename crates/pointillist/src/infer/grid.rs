//! The bound at one Θ with inducing points on a grid and events summarised on a tensor grid: natural steps and gradient
//! axis by axis (docs/derivation.md (14) to (18), math: grids).
//!
//! A step costs one Cholesky factor and one inverse of an M×M matrix, P = S⁻¹; everything else is small beside them.

use super::sites::{self, Clamp, EventTerms, Optimum, Sites, Step};
use crate::basis::{GridBasis, HyperBar, RegionFeatures, TensorFeatures};
use crate::bound::{self, Bound, ExpectedLogs, Gaussian, Marginals};
use crate::error::{Error, Result};
use crate::numerics::linalg::{self, Matrix};
use crate::window::Window;
use std::cell::RefCell;
use std::rc::Rc;

/// Large matrices that are not in use: a natural step takes them from here, for fresh memory costs a tenth of it.
#[derive(Debug, Clone, Default)]
pub(super) struct Spare(Rc<RefCell<Vec<Matrix>>>);

impl Spare {
    /// A matrix of this size with anything in it.
    fn take(&self, size: usize) -> Matrix {
        let mut spare = self.0.borrow_mut();
        spare.retain(|matrix| matrix.rows() == size); // another grid, other matrices
        spare.pop().unwrap_or_else(|| Matrix::zeros(size, size))
    }

    fn put(&self, matrix: Matrix) {
        self.0.borrow_mut().push(matrix);
    }
}

/// q(v) = N(mean, covariance).
pub(super) struct Solved {
    mean: Vec<f64>,
    covariance: Matrix,
    /// Σ w E[log f²].
    log_rate: f64,
    spare: Spare,
}

impl Drop for Solved {
    fn drop(&mut self) {
        self.spare.put(std::mem::take(&mut self.covariance));
    }
}

/// One Θ.
pub(super) struct GridProblem<'a> {
    basis: GridBasis,
    features: TensorFeatures,
    weights: &'a [f64],
    spare: Spare,
}

impl<'a> GridProblem<'a> {
    /// With the nodes of a tensor grid, given axis by axis, and their weights, the last axis fastest.
    pub(super) fn new(
        basis: GridBasis,
        nodes: &[Vec<f64>],
        weights: &'a [f64],
        window: &Window,
        spare: Spare,
    ) -> Result<Self> {
        let features = basis.tensor_features(nodes, window)?;
        Ok(Self { basis, features, weights, spare })
    }

    pub(super) fn basis(&self) -> &GridBasis {
        &self.basis
    }

    pub(super) fn region(&self) -> &RegionFeatures {
        &self.features.region
    }

    /// Natural steps from `sites` until one gains less than `tolerance` nats, at most `most` of them.
    pub(super) fn maximise(&self, sites: Sites, tolerance: f64, most: usize) -> Result<Optimum<Solved>> {
        sites::maximise(sites, tolerance, most, Clamp::UntilSettled, |sites| self.evaluate(sites))
    }

    /// q(v) from sites, its bound, and f at the nodes.
    fn evaluate(&self, sites: &Sites) -> Result<Step<Solved>> {
        let (features, weights, count) = (&self.features, self.weights, self.weights.len());
        let (precision_root, mean) = self.solve(sites)?;
        let (mut root, mut covariance) = (self.spare.take(mean.len()), self.spare.take(mean.len()));
        linalg::inverse_on_all_cores(&precision_root, &mut root, &mut covariance);
        let log_determinant = linalg::log_determinant(&precision_root);
        [root, precision_root].into_iter().for_each(|matrix| self.spare.put(matrix));
        let (spread, f) = self.marginals_at(features, &mean, &covariance);
        let ExpectedLogs { value, slope, by_variance } = bound::expected_logs(&f);
        // Where nothing happened nothing is asked for.
        let curvature = by_variance.iter().zip(weights).map(|(g, w)| if *w == 0.0 { 0.0 } else { -2.0 * g }).collect();
        let traces: f64 = (0..count).map(|n| 0.5 * weights[n] * sites.precision[n] * spread[n]).sum();
        let mean_square = bound::integral_of_mean_square(&features.region, features.offset, &mean);
        let distance: f64 = mean.iter().zip(&features.prior_mean).map(|(m, b)| (m - b) * (m - b)).sum();
        let log_rate = linalg::dot(weights, &value);
        let bound = log_rate + traces - mean_square - features.region.residual - 0.5 * (distance + log_determinant);
        if !bound.is_finite() {
            return Err(Error::NotANumber { parameters: vec![] });
        }
        Ok(Step {
            q: Solved { mean, covariance, log_rate, spare: self.spare.clone() },
            bound,
            events: EventTerms { level: f.mean, slope, curvature },
        })
    }

    /// Cholesky factor of P = I + 2A + Σ w η2 a aᵀ, and m with P m = Σ w (η1 − η2 β) a − 2β p + b.
    fn solve(&self, sites: &Sites) -> Result<(Matrix, Vec<f64>)> {
        let (features, size) = (&self.features, self.features.size());
        let times = |values: &[f64]| self.weights.iter().zip(values).map(|(w, v)| w * v).collect::<Vec<f64>>();
        let mut p = self.spare.take(size);
        p.data_mut().iter_mut().zip(features.region.square.data()).for_each(|(p, a)| *p = 2.0 * a);
        p.add_to_diagonal(1.0);
        let precision = times(&sites.precision);
        self.basis.add_gram(features, &precision, &mut p);
        let pull: Vec<f64> =
            times(&sites.linear).iter().zip(&precision).map(|(l, p)| l - p * features.offset).collect();
        let mut mean = features.sum(&pull);
        for i in 0..size {
            mean[i] += features.prior_mean[i] - 2.0 * features.offset * features.region.linear[i];
        }
        linalg::cholesky_on_all_cores(&mut p).map_err(|pivot| Error::NotPositiveDefinite {
            pivot,
            size,
            jitter: 0.0,
        })?;
        linalg::solve_lower(&p, &mut mean);
        linalg::solve_lower_transposed(&p, &mut mean);
        Ok((p, mean))
    }

    /// The gradient of the bound by Θ, q at its optimum.
    pub(super) fn gradient(&self, optimum: &Optimum<Solved>) -> HyperBar {
        let Step { q, events, .. } = &optimum.step;
        let times = |values: &[f64], factor: f64| {
            self.weights.iter().zip(values).map(|(w, v)| factor * w * v).collect::<Vec<f64>>()
        };
        let (by_mean, by_variance) = (times(&events.slope, 1.0), times(&events.curvature, -0.5));
        self.basis.adjoint(&self.features, &by_mean, &by_variance, &q.mean, &q.covariance)
    }

    /// The bound in its parts.
    pub(super) fn parts(&self, optimum: &Optimum<Solved>) -> Bound {
        let (region, Solved { mean, covariance, log_rate, .. }) = (&self.features.region, &optimum.step.q);
        let integral_of_mean_square = bound::integral_of_mean_square(region, self.features.offset, mean);
        let integral_of_variance = region.residual + linalg::dot(region.square.data(), covariance.data());
        let kl = log_rate - integral_of_mean_square - integral_of_variance - optimum.step.bound;
        Bound { log_rate: *log_rate, integral_of_mean_square, integral_of_variance, kl }
    }

    /// Σ w E[log f²] over other nodes.
    pub(super) fn data_term(
        &self,
        optimum: &Optimum<Solved>,
        nodes: &[Vec<f64>],
        weights: &[f64],
        window: &Window,
    ) -> Result<f64> {
        let features = self.basis.tensor_features(nodes, window)?;
        let f = self.marginals_at(&features, &optimum.step.q.mean, &optimum.step.q.covariance).1;
        Ok(linalg::dot(weights, &bound::expected_logs(&f).value))
    }

    /// Mean and variance of f at the nodes for a q.
    pub(super) fn marginals(&self, mean: &[f64], covariance: &Matrix) -> Marginals {
        self.marginals_at(&self.features, mean, covariance).1
    }

    /// aᵀSa at nodes, and mean and variance of f there.
    fn marginals_at(&self, features: &TensorFeatures, mean: &[f64], covariance: &Matrix) -> (Vec<f64>, Marginals) {
        let spread = self.basis.spreads(features, covariance);
        let mean = features.means(mean).iter().map(|f| features.offset + f).collect();
        let variance = features.residual.iter().zip(&spread).map(|(c, s)| c + s.max(0.0)).collect();
        (spread, Marginals { mean, variance })
    }
}

impl Step<Solved> {
    /// q(v) as mean and root of the covariance.
    pub(super) fn gaussian(&self) -> Result<Gaussian> {
        let mut root = self.q.covariance.clone();
        let size = root.rows();
        linalg::cholesky_on_all_cores(&mut root).map_err(|pivot| Error::NotPositiveDefinite {
            pivot,
            size,
            jitter: 0.0,
        })?;
        Ok(Gaussian { mean: self.q.mean.clone(), root })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::basis::{Basis, GridPoints, Hyper, PriorMean, Scattered};
    use crate::bound::bound_adjoint;
    use crate::infer::natural;
    use crate::kernel::{Expression, Kernel, Part, Term};
    use crate::points::Points;
    use crate::testing::check_gradient;

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
    }

    fn cases() -> Vec<Case> {
        let all = KERNELS.iter().flat_map(|k| [PriorMean::Constant, PriorMean::Paper].map(|prior| (k, prior)));
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
            }
        };
        all.map(make).collect()
    }

    impl Case {
        fn grid(&self, hyper: &Hyper) -> GridProblem<'_> {
            let basis = GridPoints::of(&self.locations).unwrap().basis(hyper, self.prior, 0.0).unwrap();
            GridProblem::new(basis, &self.axes, &self.weights, &self.window, Spare::default()).unwrap()
        }

        fn sites(&self) -> Sites {
            Sites::flat(3.0, self.weights.len())
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
            let features = basis.features(&points, &case.window);
            let found = grid.maximise(case.sites(), 1e-9, 8).unwrap();
            let dense = natural::maximise(&features, &case.weights, case.sites(), 1e-9, 8).unwrap();
            close(&[found.step.bound], &[dense.step.bound], "bound");
            let (got, want) = (found.step.gaussian().unwrap(), dense.step.gaussian().unwrap());
            close(&got.mean, &want.mean, "mean");
            close(got.root.data(), want.root.data(), "root");
            let (bound, bar, _) = bound_adjoint(&features, &case.weights, &want, false);
            let parts = grid.parts(&found);
            let list = |b: Bound| [b.log_rate, b.integral_of_mean_square, b.integral_of_variance, b.kl];
            close(&list(parts), &list(bound), "parts");
            let want = basis.features_adjoint(&points, &case.window, &features, bar, &[]);
            let got = grid.gradient(&found);
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
            let got = grid.gradient(&grid.maximise(case.sites(), 1e-12, 100).unwrap());
            let mut values = case.hyper.kernel.parameters();
            let mut wanted = got.parameters.clone();
            // The degree of a polynomial is not learned.
            let degree = case.hyper.kernel.parameter_names().iter().position(|name| name.contains("degree"));
            let held = degree.map(|at| (wanted.remove(at), values.remove(at)).1);
            let bound = |x: &[f64]| {
                let mut x = x.to_vec();
                degree.zip(held).into_iter().for_each(|(at, held)| x.insert(at, held));
                let hyper = Hyper { kernel: case.hyper.kernel.with_parameters(&x), mean: case.hyper.mean };
                case.grid(&hyper).maximise(case.sites(), 1e-12, 100).unwrap().step.bound
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
