//! Every gradient against finite differences, at points in general position, with the one generic checker.

use crate::common::scatter;
use pointillist::bound::{Gaussian, bound, bound_adjoint};
use pointillist::field::inducing::{Features, Hyper, Scattered};
use pointillist::internals::{Given, bound_at};
use pointillist::kernel::SquaredExponential;
use pointillist::numerics::linalg::Matrix;
use pointillist::settings::PriorMean;
use pointillist::state::BasisState;
use pointillist::testing::{check_gradient, check_kernel};
use pointillist::window::Span;
use pointillist::{Events, Kernel, Points, Window};

#[test]
fn the_kernel_battery() {
    for (l, lo, hi) in [(0.3, 0.0, 1.0), (1.7, -2.0, 3.0), (0.05, 0.0, 1.0)] {
        let check = check_kernel::<SquaredExponential>(&[l], Span { lo, hi });
        assert_eq!(check.symmetry, 0.0);
        assert!(
            check.phi < 1e-12 && check.psi < 1e-11 && check.tables < 1e-13 && check.adjoints < 1e-12,
            "{l}: {check:?}"
        );
    }
}

struct Setting {
    window: Window,
    points: Points,
    z: Points,
    q: Gaussian,
}

fn setting(dims: usize, count: usize, size: usize) -> Setting {
    let spans: Vec<(f64, f64)> = (0..dims).map(|r| (-0.3 * r as f64, 1.0 + 0.5 * r as f64)).collect();
    let window = Window::new(&spans).unwrap();
    let place = |u: Vec<f64>| -> Points {
        let at = |(i, u): (usize, f64)| spans[i % dims].0 + (spans[i % dims].1 - spans[i % dims].0) * u;
        Points::new(dims, u.into_iter().enumerate().map(at).collect()).unwrap()
    };
    let steps = scatter(size * size, 0.7548);
    let root = Matrix::from_fn(size, size, |i, j| {
        let u = steps[i * size + j];
        if i == j {
            0.4 + u
        } else if i > j {
            0.6 * (u - 0.5)
        } else {
            0.0
        }
    });
    let q = Gaussian { mean: scatter(size, 0.4142).iter().map(|u| 1.0 + u).collect(), root };
    Setting { points: place(scatter(count * dims, 0.6180)), z: place(scatter(size * dims, 0.2764)), window, q }
}

/// The bound's derivatives by its features and by q.
#[test]
fn the_adjoint_of_the_bound() {
    let Setting { window, points, z, q } = setting(2, 7, 4);
    let kernel = Kernel::squared_exponential(1.4, &[0.5, 0.7]).unwrap();
    let basis = Scattered::new(z).basis(&Hyper { kernel, mean: 0.8 }, PriorMean::Constant, 0.0).unwrap();
    let features = basis.features(&points, &window);
    let weights: Vec<f64> = (0..7).map(|n| 0.5 + 0.3 * n as f64).collect();
    let (value, bar, q_bar) = bound_adjoint(&features, &weights, &q, true);
    assert!((value.total() - bound(&features, &weights, &q).total()).abs() < 1e-12);

    let size = q.mean.len();
    let pack = |f: &Features, q: &Gaussian| -> Vec<f64> {
        let region = [f.region.square.data(), &f.region.linear, &[f.region.residual, f.region.measure]].concat();
        let points = [f.points.a.data(), &f.points.residual[..]].concat();
        [points, region, f.prior_mean.clone(), vec![f.offset], q.mean.clone(), q.root.data().to_vec()].concat()
    };
    let unpack = |x: &[f64]| {
        let mut rest = x;
        let mut take = |count: usize| {
            let (head, tail) = rest.split_at(count);
            rest = tail;
            head.to_vec()
        };
        let mut f = features.clone();
        let count = weights.len();
        f.points.a.data_mut().copy_from_slice(&take(size * count));
        f.points.residual = take(count);
        f.region.square.data_mut().copy_from_slice(&take(size * size));
        f.region.linear = take(size);
        (f.region.residual, f.region.measure) = (take(1)[0], take(1)[0]);
        f.prior_mean = take(size);
        f.offset = take(1)[0];
        let mut q = q.clone();
        q.mean = take(size);
        q.root.data_mut().copy_from_slice(&take(size * size));
        (f, q)
    };
    let function = |x: &[f64]| {
        let (f, mut q) = unpack(x);
        for j in 0..size {
            q.root.col_mut(j)[..j].fill(0.0); // only the lower triangle counts
        }
        bound(&f, &weights, &q).total()
    };
    let worst = check_gradient(function, &pack(&features, &q), &pack(&bar, &q_bar));
    assert!(worst < 1e-8, "{worst:e}");
}

/// The whole chain, in one, two and three dimensions, both prior means, with and without jitter.
#[test]
fn the_gradient_by_parameters_and_locations() {
    for dims in 1..=3 {
        for prior in [PriorMean::Constant, PriorMean::Paper] {
            for jitter in [0.0, 1e-3] {
                let Setting { window, points, z, q } = setting(dims, 9, 5);
                let events = Events::new(points, window).unwrap();
                let l: Vec<f64> = (0..dims).map(|r| 0.35 + 0.1 * r as f64).collect();
                let x = [vec![1.3], l, vec![0.9], q.mean.clone(), z.coordinates().to_vec()].concat();
                let evaluate = |x: &[f64]| {
                    let kernel = Kernel::squared_exponential(x[0], &x[1..=dims]).unwrap();
                    let z = Points::new(dims, x[dims + 7..].to_vec()).unwrap();
                    let given = Given {
                        kernel: &kernel,
                        mean: x[dims + 1],
                        prior_mean: prior,
                        inducing: &z,
                        q_mean: &x[dims + 2..dims + 7],
                        q_root: &q.root,
                        jitter,
                    };
                    bound_at(&events, &given).unwrap()
                };
                let (_, g) = evaluate(&x);
                let gradient = [g.parameters, vec![g.mean], g.q_mean, g.inducing].concat();
                let worst = check_gradient(|x| evaluate(x).0.total(), &x, &gradient);
                assert!(worst < 1e-7, "{dims} {prior:?} {jitter}: {worst:e}");
            }
        }
    }
}

/// The gradient of the collapsed bound: q at its optimum for every Θ.
#[test]
fn the_envelope_gradient() {
    use pointillist::Model;
    use pointillist::settings::Inducing;
    let Setting { window, points, .. } = setting(1, 30, 5);
    let events = Events::new(points, window).unwrap();
    let model = |x: &[f64]| Model {
        family: Inducing::Grid(vec![8]).into(),
        fixed: vec![("variance".into(), x[0]), ("lengthscale".into(), x[1]), ("mean".into(), x[2])],
        ..Model::of_maximum_likelihood()
    };
    let x = [12.0, 0.25, 4.5];
    let fit = model(&x).fit(&events).unwrap();
    // q(u) of the fit, in u: its bound_at gradient by Θ at fixed v is what the optimiser uses; compare through differences
    let slope = |i: usize| {
        let h = 1e-3 * x[i];
        let at = |step: f64| {
            let mut moved = x;
            moved[i] += step;
            model(&moved).fit(&events).unwrap().report.bound.total()
        };
        (8.0 * (at(h) - at(-h)) - (at(2.0 * h) - at(-2.0 * h))) / (12.0 * h)
    };
    let BasisState::Inducing(state) = fit.posterior.state().components.remove(0).basis else {
        panic!("not by inducing points")
    };
    let hyper = Hyper { kernel: state.kernel.clone(), mean: state.mean };
    let basis = Scattered::new(state.inducing.clone()).basis(&hyper, state.prior_mean, state.jitter).unwrap();
    let unit = Window::interval(0.0, 1.0).unwrap();
    let features = basis.features(events.points(), &unit); // the window of dims = 1 is the unit interval already
    let size = state.q_mean.len();
    let mut root = Matrix::zeros(size, size);
    let mut rest = &state.q_root[..];
    for j in 0..size {
        root.col_mut(j)[j..].copy_from_slice(&rest[..size - j]);
        rest = &rest[size - j..];
    }
    let q = Gaussian { mean: state.q_mean, root };
    let (_, bar, q_bar) = bound_adjoint(&features, &[1.0; 30], &q, true);
    let hyper_bar = basis.features_adjoint(events.points(), &unit, &features, bar, &[]);
    let at_rest = q_bar.mean.iter().chain(q_bar.root.data()).fold(0.0, |m: f64, g| m.max(g.abs()));
    assert!(at_rest < 1e-3, "q is not at its optimum: {at_rest}");
    for (i, got) in [hyper_bar.parameters[0], hyper_bar.parameters[1], hyper_bar.mean].into_iter().enumerate() {
        assert!((got - slope(i)).abs() < 1e-4 * (1.0 + slope(i).abs()), "{i}: {got} {}", slope(i));
    }
}
