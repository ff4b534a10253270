//! Every kernel on every kind of window: gradients, and windows that are the same written in two ways.

use crate::common::{bound_on, scatter};
use pointillist::internals::{Given, bound_at};
use pointillist::kernel::{Expression, Factor, Part, Term};
use pointillist::numerics::linalg::Matrix;
use pointillist::settings::{Inducing, PriorMean};
use pointillist::testing::check_gradient;
use pointillist::window::{Exposure, Polygons};
use pointillist::{Error, Events, Family, InducingPoints, Kernel, LatticeChoice, Model, Points, Window};

/// A kernel with every parameter at its start, or the value given.
fn kernel(text: &str, axes: &[&str]) -> Kernel {
    let expression = Expression::parse(text, axes).unwrap();
    let terms = expression.terms.iter().map(|term| {
        let parts = term.parts.iter().map(|part| {
            let known = part.parameters.iter().zip(part.factor.parameters());
            let parameters = known
                .map(|(said, parameter)| {
                    said.value.unwrap_or(if parameter.learned { 1.7 } else { 1.0 } * parameter.start)
                })
                .collect();
            Part { axis: part.axis, factor: part.factor, parameters }
        });
        Term { variance: 1.3, parts: parts.collect() }
    });
    Kernel::new(axes.len(), terms.collect()).unwrap()
}

/// An L with a hole.
fn polygon() -> Polygons {
    let outside = vec![[0.0, 0.0], [1.0, 0.0], [1.0, 0.5], [0.6, 0.55], [0.5, 1.0], [0.0, 0.9]];
    let hole = vec![[0.15, 0.15], [0.3, 0.2], [0.2, 0.35]];
    Polygons::new(vec![vec![outside, hole]]).unwrap()
}

const WEIGHED_BOX: &str = "a weighed box";

/// A window under uneven weights at these places.
fn weighed(window: Window, places: &Points) -> Window {
    let weights: Vec<f64> = scatter(places.len(), 0.618).iter().map(|u| 0.2 + u).collect();
    let spread = Exposure::spread(&window, places, &weights).unwrap();
    window.with_exposure(spread.exposure).unwrap()
}

/// One window of each kind, by dimension.
fn windows(dims: usize) -> Vec<(&'static str, Window)> {
    let interval = |lo, hi| Window::interval(lo, hi).unwrap();
    let square = || Window::new(&[(0.0, 1.0), (0.0, 1.0)]).unwrap();
    let grid = |axes: Vec<usize>, shape: &[usize]| {
        let lines = shape.iter().map(|&n| (0..n).map(|i| i as f64 / (n - 1) as f64).collect()).collect();
        let values = scatter(shape.iter().product(), 0.618).iter().map(|u| 0.2 + u).collect();
        Exposure::grid(axes, lines, values).unwrap()
    };
    match dims {
        1 => vec![
            ("an interval", interval(0.0, 1.0)),
            ("intervals with a gap", Window::union(&[interval(0.0, 0.4), interval(0.55, 1.0)]).unwrap()),
            ("trials", Window::trials(&[(0.0, 0.8), (0.1, 1.0), (0.0, 0.6)]).unwrap()),
            ("an exposure", interval(0.0, 1.0).with_exposure(grid(vec![0], &[4])).unwrap()),
        ],
        2 => vec![
            ("a box", square()),
            ("repeats", square().with_repeats(5).unwrap()),
            ("a polygon", Window::inside(polygon())),
            ("an exposed polygon", Window::inside(polygon()).with_exposure(grid(vec![0, 1], &[3, 4])).unwrap()),
            ("an exposed box", square().with_exposure(grid(vec![1], &[3])).unwrap()),
            ("weights on a grid", {
                let points = Points::grid(&[0.1, 0.08], &[0.9, 0.92], &[3, 4]);
                weighed(square(), &points)
            }),
        ],
        _ => vec![
            ("a prism", Window::inside(polygon()).times(&interval(0.0, 1.0)).unwrap()),
            (WEIGHED_BOX, {
                let places = Points::grid(&[0.2, 0.5, 0.3], &[0.8, 0.5, 0.9], &[2, 1, 2]);
                weighed(square().times(&interval(0.0, 1.0)).unwrap(), &places)
            }),
            ("an exposed prism", {
                let prism = Window::inside(polygon()).times(&interval(0.0, 1.0)).unwrap();
                prism.with_exposure(grid(vec![0, 1], &[2, 3])).unwrap()
            }),
        ],
    }
}

fn kernels(dims: usize) -> Vec<String> {
    let axes = ["x", "y", "t"];
    let mut all: Vec<String> = Factor::ALL.iter().map(|factor| factor.name().to_string()).collect();
    all.push(format!("se({0})*periodic({0}, period=0.6) + matern32({1})", axes[0], axes[dims - 1]));
    all.push(format!("(se({0}) + linear({0}))*matern12({1})", axes[0], axes[dims - 1]));
    all
}

/// The gradient of the bound by every parameter, by the prior mean, by q and by every inducing location.
#[test]
fn gradients_for_every_kernel_on_every_kind_of_window() {
    for dims in 1..=3 {
        let axes = &["x", "y", "t"][..dims];
        let all = windows(dims);
        let pairs = all.iter().flat_map(|window| kernels(dims).into_iter().map(move |text| (window, text)));
        // Its nodes are points of no structure, and many: one kernel must do.
        for ((name, window), text) in pairs.filter(|(window, text)| window.0 != WEIGHED_BOX || text == "se") {
            let kernel = kernel(&text, axes);
            let points = Points::new(dims, scatter(9 * dims, 0.6180)).unwrap().filter(|row| window.contains(row));
            let events = Events::new(points, window.clone()).unwrap();
            // not where an event is: a kink there has no derivative
            let z = Points::new(dims, scatter(4 * dims, 0.2764).iter().map(|u| (u + 0.071).fract()).collect()).unwrap();
            let root = Matrix::from_fn(4, 4, |i, j| {
                if i == j {
                    0.8
                } else if i > j {
                    0.2
                } else {
                    0.0
                }
            });
            let parameters = kernel.parameters();
            let count = parameters.len();
            let x = [parameters, vec![0.9], vec![1.2, 0.8, 1.1, 1.4], z.coordinates().to_vec()].concat();
            // a degree is a whole number: it does not move
            let whole: Vec<usize> = (0..count).filter(|&i| kernel.parameter_names()[i].contains("degree")).collect();
            let evaluate = |moved: &[f64]| {
                let mut at = moved.to_vec();
                whole.iter().for_each(|&i| at[i] = x[i]);
                let kernel = kernel.with_parameters(&at[..count]);
                let z = Points::new(dims, at[count + 5..].to_vec()).unwrap();
                let q_mean = &at[count + 1..count + 5];
                let given = Given {
                    kernel: &kernel,
                    mean: at[count],
                    prior_mean: PriorMean::Constant,
                    inducing: &z,
                    q_mean,
                    q_root: &root,
                    jitter: 1e-2,
                };
                bound_at(&events, &given).unwrap()
            };
            let (_, g) = evaluate(&x);
            let mut gradient = [g.parameters, vec![g.mean], g.q_mean, g.inducing].concat();
            whole.iter().for_each(|&i| gradient[i] = 0.0);
            let worst = check_gradient(|x| evaluate(x).0.total(), &x, &gradient);
            assert!(worst < 1e-6, "{text} on {name}: {worst:e}");
        }
    }
}

fn assert_same(a: f64, b: f64, what: &str) {
    assert!((a - b).abs() < 1e-9 * a.abs().max(1.0), "{what}: {a} {b}");
}

#[test]
fn a_window_written_in_two_ways_gives_one_bound() {
    let whole = Window::new(&[(0.0, 1.0), (0.0, 2.0)]).unwrap();
    let halves = [(0.0, 0.3), (0.3, 1.0)].map(|x| Window::new(&[x, (0.0, 2.0)]).unwrap());
    let corners = vec![[0.0, 0.0], [0.0, 2.0], [1.0, 2.0], [1.0, 0.0], [0.0, 0.0]];
    // the same box again, with a vertex in the middle of an edge, in two parts that touch, and as a triangle pair
    let parts = vec![
        vec![vec![[0.0, 0.0], [0.6, 0.0], [0.25, 2.0], [0.0, 2.0]]],
        vec![vec![[0.6, 0.0], [1.0, 0.0], [1.0, 2.0], [0.25, 2.0]]],
    ];
    let ones = Exposure::grid(vec![0, 1], vec![vec![0.0, 0.2, 1.0], vec![0.0, 1.3, 2.0]], vec![1.0; 9]).unwrap();
    let ways = [
        ("two halves", Window::union(&halves).unwrap()),
        ("a polygon", Window::inside(Polygons::new(vec![vec![corners]]).unwrap())),
        ("two polygons", Window::inside(Polygons::new(parts).unwrap())),
        ("an exposure of one", whole.clone().with_exposure(ones.clone()).unwrap()),
        ("a box looked at once", whole.clone().with_repeats(1).unwrap()),
        ("an exposed union", Window::union(&halves).unwrap().with_exposure(ones).unwrap()),
    ];
    let points = Points::new(2, scatter(24, 0.618)).unwrap();
    for text in
        ["se(x, lengthscale=0.4)*se(y, lengthscale=0.7)", "matern32", "se(x)*periodic(x, period=0.5) + matern52(y)"]
    {
        let kernel = kernel(text, &["x", "y"]);
        let want = bound_on(&whole, &kernel, &points);
        for (name, window) in &ways {
            assert_same(window.measure(), 2.0, name);
            let got = bound_on(window, &kernel, &points);
            assert_same(want.integral_of_mean_square, got.integral_of_mean_square, &format!("{text} on {name}"));
            assert_same(want.integral_of_variance, got.integral_of_variance, &format!("{text} on {name}"));
            assert_same(want.total(), got.total(), &format!("{text} on {name}"));
        }
    }
}

#[test]
fn repeats_trials_and_a_constant_exposure_are_one_thing() {
    let (kernel, points) = (kernel("se", &["t"]), Points::new(1, scatter(12, 0.618)).unwrap());
    let once = Window::interval(0.0, 1.0).unwrap();
    let repeated = bound_on(&once.clone().with_repeats(4).unwrap(), &kernel, &points);
    let trials = bound_on(&Window::trials(&[(0.0, 1.0); 4]).unwrap(), &kernel, &points);
    assert_same(repeated.total(), trials.total(), "four trials");
    assert_same(4.0 * bound_on(&once, &kernel, &points).integral(), repeated.integral(), "four times the integral");
    let four = Exposure::grid(vec![0], vec![vec![-1.0, 2.0]], vec![4.0, 4.0]).unwrap();
    let exposed = bound_on(&once.with_exposure(four).unwrap(), &kernel, &points);
    assert_same(repeated.integral(), exposed.integral(), "an exposure of four");
    // trials of different lengths: times count as often as they are covered
    let window = Window::trials(&[(0.0, 0.7), (0.2, 1.0)]).unwrap();
    assert_same(window.measure(), 1.5, "measure");
    assert_eq!([0.1, 0.5, 0.9].map(|t| window.coverage(&[t])), [1.0, 2.0, 1.0]);
}

#[test]
fn an_exposure_enters_the_integral_and_the_events() {
    // e = 1 + x on [0, 1], f² = 1: ∫ e f² = 3/2, and the log-likelihood has Σ log e
    let line = Exposure::grid(vec![0], vec![vec![0.0, 1.0]], vec![1.0, 2.0]).unwrap();
    let window = Window::interval(0.0, 1.0).unwrap().with_exposure(line).unwrap();
    assert_same(window.measure(), 1.5, "measure");
    // a rate of 20 (1 + x): many events, and f² is flat
    let place = |u: f64| (1.0 + 3.0 * u).sqrt() - 1.0;
    let points = Points::line(&(0..300).map(|i| place((i as f64 + 0.5) / 300.0)).collect::<Vec<_>>()).unwrap();
    let fit = Model { family: Inducing::Grid(vec![10]).into(), ..Model::of_maximum_likelihood() }
        .fit(&Events::new(points.clone(), window.clone()).unwrap())
        .unwrap();
    let rate = fit.posterior.rate(&Points::line(&[0.05, 0.5, 0.95]).unwrap()).unwrap();
    for mean in rate.mean {
        assert!((mean - 200.0).abs() < 12.0, "{mean}");
    }
    assert!(fit.report.integral_error.unwrap() < 1e-9);
    let half = fit.posterior.count(&Window::interval(0.5, 1.0).unwrap()).unwrap();
    assert!((half.mean - 175.0).abs() < 8.0, "{half:?}");
    // the score of the very events is close to the bound without its divergence
    let score = fit.posterior.score(&Events::new(points, window).unwrap(), 10, 0).unwrap();
    assert_same(score.l_p, fit.report.bound.log_rate - fit.report.bound.integral(), "l_p");
    let drawn: Vec<Points> = (0..40).map(|draw| fit.posterior.sample_events(3, draw).unwrap()).collect();
    let mean = |of: &dyn Fn(&Points) -> usize| drawn.iter().map(|points| of(points) as f64).sum::<f64>() / 40.0;
    let right = mean(&|points| points.axis(0).iter().filter(|x| **x > 0.5).count());
    // A draw has a standard deviation of about 24, and its right half one of 19.
    assert!((mean(&Points::len) - 300.0).abs() < 16.0 && (right - 175.0).abs() < 12.0, "{right}");
}

#[test]
fn held_out_events_are_scored_in_their_own_window() {
    let line = |times: usize| Window::interval(0.0, 10.0).unwrap().with_repeats(times).unwrap();
    let times: Vec<f64> = (0..90).map(|i| 10.0 * (f64::from(i) / 90.0).powf(1.4)).collect();
    let held_out = Points::line(&[0.5, 3.0, 3.5, 8.0]).unwrap();
    let train = Events::new(Points::line(&times).unwrap(), line(15)).unwrap();
    let inducing = Model { family: Inducing::Grid(vec![8]).into(), ..Model::of_maximum_likelihood() };
    let lattice = Model { family: Family::Lattice(LatticeChoice::default()), ..Model::default() };
    for model in [inducing, lattice] {
        let posterior = model.fit(&train).unwrap().posterior;
        let logs: f64 = posterior.rate(&held_out).unwrap().mean.iter().map(|rate| rate.ln()).sum();
        let expected = |region: &Window| posterior.count(region).unwrap().mean;
        let trials = Window::trials(&[(0.0, 4.0), (2.0, 9.0)]).unwrap();
        for window in [line(1), line(5), line(15), trials] {
            let seen = Events::new(held_out.clone(), window.clone()).unwrap();
            let (got, want) = (posterior.log_likelihood(&seen).unwrap(), logs - expected(&window));
            assert!((got - want).abs() < 1e-9 * want.abs(), "{got} {want}");
        }
        // E[log p] loses what a look is expected to show, for each look more.
        let l_p = |times: usize| {
            let seen = Events::new(held_out.clone(), line(times)).unwrap();
            posterior.score(&seen, 10, 0).unwrap().l_p
        };
        let (gained, ten) = (l_p(5) - l_p(15), 10.0 * expected(&line(1)));
        // The integral of the bound is that of a few panels per cell, which is never too low; that of a count has more.
        let is_lattice = posterior.lattice().is_some();
        let above = if is_lattice { 1e-5 } else { 1e-8 };
        assert!(gained > ten * (1.0 - 1e-8) && gained < ten * (1.0 + above), "{gained} {ten}");
        let wider = Events::new(held_out.clone(), Window::interval(0.0, 11.0).unwrap()).unwrap();
        assert!(
            matches!(posterior.score(&wider, 10, 0), Err(Error::Setting { name, .. }) if name == "held-out window")
        );
    }
}

#[test]
fn what_cannot_be_a_window_is_refused() {
    let interval = |lo, hi| Window::interval(lo, hi).unwrap();
    let overlap = Window::union(&[interval(0.0, 2.0), interval(3.0, 4.0), interval(1.5, 2.5)]).unwrap_err();
    assert_eq!(overlap, Error::Overlap { first: 0, second: 2, at: vec![(1.5, 2.0)] });
    assert!(Window::union(&[]).is_err());
    assert!(interval(0.0, 1.0).with_repeats(0).is_err());
    assert!(Window::trials(&[]).is_err() && Window::trials(&[(1.0, 1.0)]).is_err());
    let grid = |values: Vec<f64>| Exposure::grid(vec![0], vec![vec![0.0, 1.0]], values);
    assert!(grid(vec![1.0, -1.0]).unwrap_err().to_string().contains("negative"));
    assert!(grid(vec![0.0, 0.0]).unwrap_err().to_string().contains("zero everywhere"));
    assert!(grid(vec![1.0]).is_err());
    let short = interval(0.0, 2.0).with_exposure(grid(vec![1.0, 1.0]).unwrap()).unwrap_err();
    assert!(short.to_string().contains("cover the window"), "{short}");
    let zero = interval(0.0, 1.0).with_exposure(grid(vec![0.0, 1.0]).unwrap()).unwrap();
    let event = Events::new(Points::line(&[0.5, 0.0]).unwrap(), zero).unwrap_err();
    assert!(matches!(event, Error::Unexposed { index: 1, .. }), "{event}");
}

#[test]
fn every_kernel_can_be_fitted_without_a_word_on_its_parameters() {
    // events that come in five waves, more of them late
    let times: Vec<f64> =
        (0..150).map(|i| ((i % 5) as f64 + scatter(150, 0.618)[i].sqrt() * 0.7) / 5.0).map(f64::sqrt).collect();
    let events = Events::new(Points::line(&times).unwrap(), Window::interval(0.0, 1.0).unwrap()).unwrap();
    let flat = 150.0 * 150f64.ln() - 150.0;
    let mut texts: Vec<String> = Factor::ALL.iter().map(|factor| factor.name().to_string()).collect();
    texts.extend(
        ["se + se", "se*periodic", "linear + cosine", "(se + constant)*polynomial(0, degree=3)"].map(String::from),
    );
    for text in texts {
        let kernel = Some(Expression::parse(&text, &["t"]).unwrap());
        for inducing in [Inducing::Grid(vec![16]), Inducing::Auto] {
            let model = Model {
                family: Family::Inducing(InducingPoints {
                    kernel: kernel.clone(),
                    points: inducing.clone(),
                    ..InducingPoints::default()
                }),
                ..Model::of_maximum_likelihood()
            };
            let fit = model.fit(&events).unwrap_or_else(|error| panic!("{text}: {error}"));
            let bound = fit.report.bound.total();
            println!(
                "{text} {inducing:?} {:?}: {bound:.2} {:?} {:?}",
                fit.report.inducing, fit.report.stop, fit.report.seconds
            );
            // no worse than a constant rate by more than the price of not knowing it
            assert!(bound > flat - 12.0 && fit.report.stop.converged(), "{text}: {bound} {flat} {:?}", fit.report);
            let rate = fit.posterior.rate(&Points::line(&[0.1, 0.5, 0.9]).unwrap()).unwrap();
            assert!(rate.mean.iter().chain(&rate.sd).all(|v| v.is_finite() && *v >= 0.0), "{text}: {rate:?}");
        }
    }
}
