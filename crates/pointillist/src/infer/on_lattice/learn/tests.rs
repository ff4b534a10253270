//! Learning on draws from the prior, and against slower or plainer versions of itself.

use super::*;
use crate::covariates::Covariate;
use crate::field::lattice::Start as From;
use crate::gaussian::step::{Clamp, Until};
use crate::gaussian::{Precision, Sites};
use crate::infer::lbfgs::End;
use crate::infer::search::{Found, Kind};
use crate::infer::{Prior, Progress};
use crate::numerics::linalg::{self, Matrix};
use crate::terms::LOG_SQUARE;
use crate::testing::{Drawn, check_gradient};
use crate::window::Polygons;
use std::ops::ControlFlow;

fn unit(dims: usize) -> Window {
    Window::new(&vec![(0.0, 1.0); dims]).unwrap()
}

fn wanted(nodes: Option<&[usize]>, smoothness: Smoothness) -> Wanted {
    let nodes = nodes.map(<[usize]>::to_vec);
    Wanted {
        nodes,
        smoothness,
        most_bytes: 2 << 30,
        budget: Budget::Usual,
        dear: f64::INFINITY,
        gain: 1e-4,
        varies: false,
        link: Link::Square,
        integrates_constant: false,
        regressors: None,
        priors: vec![],
        fixed: vec![],
        errors: false,
        average: false,
        penalise: false,
        isotropy: Isotropy::PerAxis,
        sign: 1.0,
        exact: false,
        rival: None,
    }
}

fn learned(points: &Points, window: &Window, wanted: &Wanted) -> Learned {
    tried(points, window, wanted, ControlFlow::Continue(())).unwrap()
}

/// A fit that is told at every step to go on, or not to.
fn tried(points: &Points, window: &Window, wanted: &Wanted, told: ControlFlow<()>) -> Result<Learned> {
    let mut watch = |_: &Progress| told;
    let tally = Tally::new(&mut watch, 500, 0.0);
    learn(Source::Points(points), (window, &Scaling::of(window)), wanted, None, &tally)
}

/// The mean of λ at points.
fn rate(learned: &Learned, at: &Points) -> Vec<f64> {
    rate_of(&learned.lattice, &learned.optimum, at)
}

fn rate_of(lattice: &Lattice, optimum: &Optimum, at: &Points) -> Vec<f64> {
    let f = optimum.marginals(&lattice.grid().at(at).unwrap());
    f.mean.iter().zip(&f.variance).map(|(m, v)| m * m + v).collect()
}

fn within(what: &str, got: f64, want: f64, factor: f64) {
    assert!(got < want * factor && want < got * factor, "{what}: {got} {want}");
}

#[test]
fn range_and_variance_of_a_draw_are_found() {
    let line = Drawn::new(&[600], &[0.1], 0.3, 2000.0, Smoothness::Two, 1).unwrap();
    let plane = Drawn::new(&[60, 40], &[0.2, 0.5], 0.3, 2000.0, Smoothness::Two, 2).unwrap();
    let smooth = Drawn::new(&[40, 40], &[0.4, 0.4], 0.3, 2000.0, Smoothness::Four, 3).unwrap();
    let cases: [(&Drawn, &[f64], &[usize], Smoothness); 3] = [
        (&line, &[0.1], &[300], Smoothness::Two),
        (&plane, &[0.2, 0.5], &[30, 20], Smoothness::Two),
        (&smooth, &[0.4, 0.4], &[20, 20], Smoothness::Four),
    ];
    for (drawn, ranges, nodes, smoothness) in cases {
        let found = learned(&drawn.events, &unit(nodes.len()), &wanted(Some(nodes), smoothness));
        assert!(found.stop.converged() && found.at_bounds.is_empty(), "{:?} {:?}", found.stop, found.at_bounds);
        for (got, want) in found.theta.ranges().iter().zip(ranges) {
            within("range", *got, *want, 2.5);
        }
        within("variance", found.theta.variance, 600.0, 3.0);
        within("mean", found.theta.mean, 1400f64.sqrt(), 1.5);
        let events = found.optimum.expected(found.lattice.region());
        within("events", events, drawn.events.len() as f64, 1.02);
    }
}

#[test]
fn the_gradient_by_what_the_search_moves() {
    let drawn = Drawn::new(&[30, 30], &[0.3, 0.6], 0.3, 300.0, Smoothness::Two, 4).unwrap();
    let (window, ranges) = (unit(2), [0.35, 0.5]);
    let priors = vec![("lengthscale[1]".to_string(), Prior::LogNormal { location: -1.0, scale: 0.5 })];
    for integrates_constant in [false, true] {
        let wanted =
            Wanted { exact: true, priors: priors.clone(), integrates_constant, ..wanted(None, Smoothness::Two) };
        let scaling = Scaling::of(&window);
        let on = OnLattice::new(Source::Points(&drawn.events), &window, &wanted, &scaling).unwrap();
        let level = on.level_as(&[14, 11], margin(&ranges), Detail::Events, None).unwrap();
        let theta = Theta::of_ranges(&ranges, 80.0, 14.0);
        let at = |x: &[f64], gradient: &mut [f64]| {
            let theta = on.unpack(&level, x, &theta);
            let mut sites = level.first_sites(17.0);
            let until = || Until {
                tolerance: 1e-13,
                most: 200,
                clamp: Clamp::UntilSettled,
                foresees: false,
                pulse: &|| Ok(()),
            };
            // The bound is flat at its optimum: steps that no longer change it still bring q nearer.
            for _ in 0..8 {
                sites = on.evaluate(&level, &theta, sites, until(), None).unwrap().sites;
            }
            on.evaluate(&level, &theta, sites, until(), Some((x, gradient))).unwrap().value
        };
        let x = on.pack(&level, &theta).0;
        let mut gradient = vec![0.0; x.len()];
        at(&x, &mut gradient);
        let error = check_gradient(|x| at(x, &mut vec![0.0; x.len()]), &x, &gradient);
        assert!(error < 1e-6, "{error:e} {gradient:?}");
    }
}

/// The same with covariates and a constant beside the lattice, for the log link.
#[test]
fn the_gradient_with_covariates_is_that_of_differences() {
    let events = Points::line(&[0.1, 0.15, 0.3, 0.31, 0.33, 0.6, 0.62, 0.71, 0.9]).unwrap();
    let (window, scaling) = (unit(1), Scaling::of(&unit(1)));
    let lines: Vec<f64> = (0..=5).map(|i| f64::from(i) / 5.0).collect();
    let hill = Covariate::linear("hill", vec![0], vec![lines], vec![1.0, 4.0, 2.0, 2.5, -1.0]).unwrap();
    let side = Covariate::linear("side", vec![0], vec![vec![0.0, 0.37, 1.0]], vec![0.0, 1.0]).unwrap();
    let regressors = Regressors::over(&window, &[hill, side]).unwrap();
    let wanted = Wanted {
        link: Link::Log,
        integrates_constant: true,
        regressors: Some(Arc::new(regressors)),
        penalise: true,
        ..wanted(Some(&[12]), Smoothness::Two)
    };
    let on = OnLattice::new(Source::Points(&events), &window, &wanted, &scaling).unwrap();
    let level = on.level(&[12], vec![0.2], None).unwrap();
    let theta = on.held(&Theta { range: 0.3, variance: 1.7, mean: 0.0, stretch: vec![1.0], scale: vec![] });
    let at = |x: &[f64], gradient: &mut [f64]| {
        let theta = on.unpack(&level, x, &theta);
        let mut sites = level.first_sites(2.2);
        let until =
            || Until { tolerance: 1e-13, most: 200, clamp: Clamp::UntilSettled, foresees: false, pulse: &|| Ok(()) };
        for _ in 0..8 {
            sites = on.evaluate(&level, &theta, sites, until(), None).unwrap().sites;
        }
        on.evaluate(&level, &theta, sites, until(), Some((x, gradient))).unwrap().value
    };
    let x = on.pack(&level, &theta).0;
    let mut gradient = vec![0.0; x.len()];
    at(&x, &mut gradient);
    assert!(gradient.len() == 2 && gradient.iter().all(|slope| slope.abs() > 1e-3), "{gradient:?}");
    let error = check_gradient(|x| at(x, &mut vec![0.0; x.len()]), &x, &gradient);
    assert!(error < 1e-6, "{error:e} {gradient:?}");
}

/// An unknown constant is what a fixed mean with a constant added to the prior is: the same bound from a dense matrix.
#[test]
fn an_unknown_constant_beside_the_lattice_is_a_dense_prior() {
    let events = Points::line(&[0.1, 0.15, 0.3, 0.31, 0.33, 0.6, 0.9]).unwrap();
    let (window, sd) = (unit(1), 2.0);
    let lattice = Lattice::new(&window, &[9], &[0.2], Smoothness::Two).unwrap();
    let theta = Theta { range: 0.5, variance: 3.0, mean: 2.0, stretch: vec![1.0], scale: vec![] };
    let hats = lattice.grid().at(&events).unwrap();
    let weights = vec![1.0; events.len()];
    let bordered = lattice.clone().with_constant(Some(sd));
    let until = Until { tolerance: 1e-12, most: 200, clamp: Clamp::UntilSettled, foresees: false, pulse: &|| Ok(()) };
    let sites = || Sites::flat(&LOG_SQUARE, 2.5, events.len());
    let said = [crate::field::lattice::Weighted { hats: &hats, weights: &weights }];
    let found = bordered.optimum(Link::Square.formula(), &said, &theta, sites(), until).unwrap();
    // dense: the prior of w + constant, Q⁻¹ + sd² 11ᵀ, through whitened features
    let size = lattice.grid().size();
    let q = lattice.prior().precision(&theta);
    let dense = Matrix::from_fn(size, size, |i, j| q.entry(i, j));
    let mut covariance = linalg::inverse_from_cholesky(&dense.factor().unwrap().0);
    covariance.data_mut().iter_mut().for_each(|v| *v += sd * sd);
    let root = covariance.factor().unwrap().0;
    let rows = Matrix::from_fn(size, events.len(), |i, n| hats.pairs(n).filter(|(j, _)| *j == i).map(|(_, v)| v).sum());
    let turn = |columns: &Matrix| linalg::transposed_product(&root, columns);
    let mass = &lattice.region().square.inner;
    let square = Matrix::from_fn(size, size, |i, j| mass.entry(i, j));
    let features = crate::field::inducing::Features {
        points: crate::field::inducing::PointFeatures { a: turn(&rows), residual: vec![0.0; events.len()] },
        region: crate::gaussian::Region {
            square: linalg::product(&turn(&square), &root),
            linear: linalg::lower_transposed_times(&root, &lattice.region().linear),
            residual: 0.0,
            measure: 1.0,
        },
        prior_mean: vec![0.0; size],
        offset: 2.0,
    };
    let design = features.points.rows();
    let said = vec![crate::gaussian::step::Said { design: &design, weights: &weights, potential: &LOG_SQUARE }];
    let prior = crate::gaussian::step::PriorOf {
        precision: None,
        mean: &features.prior_mean,
        log_determinant: 0.0,
        offset: 2.0,
    };
    let identity = || Matrix::scaled_identity(size, 1.0);
    let slow = crate::gaussian::step::Problem::new(prior, Some(&features.region), said, identity);
    let slow = slow.maximise(sites(), until).unwrap();
    assert!((found.bound - slow.step.bound).abs() < 1e-8, "{} {}", found.bound, slow.step.bound);
    let at = lattice.grid().at(&Points::line(&[0.0, 0.42, 1.0]).unwrap()).unwrap();
    let plain = lattice.maximise(&events, &weights, &theta, From::Flat(2.5), (1e-12, 200)).unwrap();
    let (wide, narrow) = (found.marginals(&at), plain.marginals(&at));
    assert!(wide.variance.iter().zip(&narrow.variance).all(|(a, b)| a > b), "{wide:?} {narrow:?}");
    let expected = found.expected(bordered.region());
    assert!((expected - 7.0).abs() < 1.5, "{expected}");
}

#[test]
fn a_finer_lattice_says_the_same_and_auto_stops() {
    let drawn = Drawn::new(&[60, 60], &[0.4, 0.4], 0.3, 800.0, Smoothness::Two, 5).unwrap();
    let fit = |nodes: Option<&[usize]>| learned(&drawn.events, &unit(2), &wanted(nodes, Smoothness::Two));
    let (coarse, fine, auto) = (fit(Some(&[24, 24])), fit(Some(&[48, 48])), fit(None));
    let gain = fine.optimum.bound - coarse.optimum.bound;
    assert!(gain.abs() < 3.0, "{gain}");
    assert!(auto.optimum.bound > fine.optimum.bound - 1.0, "{} {}", auto.optimum.bound, fine.optimum.bound);
    assert!(auto.choice.starts_with("24×24") && auto.choice.contains("nats"), "{}", auto.choice);
    let at = unit(2).grid(&[9, 9]);
    let largest = rate(&fine, &at).iter().fold(0.0, |most: f64, rate| most.max(*rate));
    for ((a, b), c) in rate(&coarse, &at).iter().zip(rate(&fine, &at)).zip(rate(&auto, &at)) {
        assert!((a - b).abs() < 0.1 * largest && (c - b).abs() < 0.1 * largest, "{a} {b} {c}");
    }
}

#[test]
fn a_window_much_longer_than_wide() {
    let drawn = Drawn::new(&[900, 12], &[0.02, 1.0], 0.3, 3000.0, Smoothness::Two, 6).unwrap();
    let found = learned(&drawn.events, &unit(2), &wanted(None, Smoothness::Two));
    let ranges = found.theta.ranges();
    within("range", ranges[0], 0.02, 2.5);
    within("range", ranges[1], 1.0, 4.0);
    assert!(found.lattice.grid().nodes()[0] > 3 * found.lattice.grid().nodes()[1], "{}", found.choice);
}

#[test]
fn a_box_and_the_same_box_as_a_polygon() {
    let drawn = Drawn::new(&[30, 30], &[0.4, 0.4], 0.3, 300.0, Smoothness::Two, 7).unwrap();
    let ring = vec![[0.0, 0.0], [1.0, 0.0], [1.0, 0.3], [1.0, 1.0], [0.0, 1.0]];
    let polygon = Window::inside(Polygons::new(vec![vec![ring]]).unwrap());
    let wanted = wanted(Some(&[20, 20]), Smoothness::Two);
    let (a, b) = (learned(&drawn.events, &unit(2), &wanted), learned(&drawn.events, &polygon, &wanted));
    assert!((a.optimum.bound - b.optimum.bound).abs() < 1e-6, "{} {}", a.optimum.bound, b.optimum.bound);
    within("range", a.theta.range, b.theta.range, 1.001);
}

#[test]
fn the_same_bits_on_one_and_two_threads() {
    let drawn = Drawn::new(&[60, 60], &[0.2, 0.2], 0.1, 30_000.0, Smoothness::Two, 8).unwrap();
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| learned(&drawn.events, &unit(2), &wanted(Some(&[40, 30]), Smoothness::Two)))
    };
    let (one, two) = (run(1), run(2));
    assert!(one.summary.is_some());
    assert_eq!(one.theta, two.theta);
    assert_eq!(one.optimum.bound.to_bits(), two.optimum.bound.to_bits());
    assert_eq!(one.optimum.mean, two.optimum.mean);
}

#[test]
fn nodes_in_place_of_events_say_the_same() {
    let cases: [(&[usize], &[f64], &[usize]); 2] = [(&[1500], &[0.05], &[200]), (&[70, 70], &[0.25, 0.25], &[26, 26])];
    for (own, ranges, nodes) in cases {
        let drawn = Drawn::new(own, ranges, 0.1, 30_000.0, Smoothness::Two, 9).unwrap();
        let window = unit(nodes.len());
        let by_cell = wanted(Some(nodes), Smoothness::Two);
        let raw = learned(&drawn.events, &window, &Wanted { exact: true, ..by_cell.clone() });
        let by_cell = learned(&drawn.events, &window, &by_cell);
        let summary = by_cell.summary.clone().unwrap();
        assert!(summary.nodes < drawn.events.len() / 2 && summary.error < 0.5, "{summary:?}");
        // The bound at this q is no better than that at the optimum of the events, and hardly worse.
        let Learned { lattice, theta, optimum, .. } = &by_cell;
        let sites = Sites::of(&LOG_SQUARE, &optimum.marginals(&lattice.grid().at(&drawn.events).unwrap()));
        let weights = vec![1.0; drawn.events.len()];
        let best = lattice.maximise(&drawn.events, &weights, theta, From::Sites(sites), (1e-6, 100)).unwrap();
        let loss = best.bound - optimum.bound;
        assert!((-1e-6..0.02 + summary.error).contains(&loss), "{loss} {summary:?}");
        within("range", by_cell.theta.range, raw.theta.range, 1.05);
        within("variance", by_cell.theta.variance, raw.theta.variance, 1.1);
        let at = window.grid(&vec![7; nodes.len()]);
        let exact = rate_of(lattice, &best, &at);
        for (a, b) in rate(&by_cell, &at).iter().zip(exact) {
            within("rate", *a, b, 1.01);
        }
    }
}

#[test]
fn memory_is_respected() {
    let drawn = Drawn::new(&[200, 200], &[0.05, 0.05], 0.5, 4000.0, Smoothness::Two, 10).unwrap();
    let small = |nodes| Wanted { most_bytes: 8_000_000, ..wanted(nodes, Smoothness::Two) };
    let found = learned(&drawn.events, &unit(2), &small(None));
    assert!(
        bytes(&found.lattice.grid().nodes(), Smoothness::Two) <= 8e6 && found.choice.contains("memory"),
        "{}",
        found.choice
    );
    let huge = wanted(Some(&[100_000, 100_000]), Smoothness::Two);
    let text = refusal(tried(&drawn.events, &unit(2), &huge, ControlFlow::Continue(())));
    assert!(text.contains("would fit") && text.contains("100000×100000"), "{text}");
}

#[test]
fn what_cannot_be_fitted_is_refused() {
    let refused = |dims: usize, nodes: Option<&[usize]>| {
        let points = Points::new(dims, vec![0.5; 3 * dims]).unwrap();
        refusal(tried(&points, &unit(dims), &wanted(nodes, Smoothness::Two), ControlFlow::Continue(())))
    };
    assert!(refused(4, None).contains("inducing points"));
    assert!(refused(2, Some(&[1, 5])).contains("at least 2"));
    assert!(refused(2, Some(&[5])).contains("nodes of the lattice"));
    let one = Points::line(&[0.5]).unwrap();
    let stopped = tried(&one, &unit(1), &wanted(None, Smoothness::Two), ControlFlow::Break(()));
    assert_eq!(stopped.map(|_| ()), Err(Error::Cancelled));
}

fn refusal(tried: Result<Learned>) -> String {
    tried.map(|_| ()).unwrap_err().to_string()
}

#[test]
fn few_events_and_either_sign() {
    let window = unit(1);
    for events in [vec![0.4], vec![0.2; 4], vec![0.1, 0.5, 0.52, 0.9]] {
        let points = Points::line(&events).unwrap();
        let plus = learned(&points, &window, &wanted(Some(&[30]), Smoothness::Two));
        let minus = learned(&points, &window, &Wanted { sign: -1.0, ..wanted(Some(&[30]), Smoothness::Two) });
        assert!(plus.theta.mean > 0.0 && minus.theta.mean < 0.0);
        assert!((plus.optimum.bound - minus.optimum.bound).abs() < 1e-6);
        assert_eq!(minus.optimum.offset, minus.theta.mean);
    }
}

#[test]
fn nodes_are_no_nearer_than_coordinates_are_rounded() {
    let drawn = Drawn::new(&[100, 100], &[0.05, 0.05], 0.6, 3000.0, Smoothness::Two, 12).unwrap();
    let rounded: Vec<f64> = drawn.events.coordinates().iter().map(|x| (x * 40.0).round() / 40.0).collect();
    let events = Points::new(2, rounded).unwrap();
    let found = learned(&events, &unit(2), &wanted(None, Smoothness::Two));
    let grid = found.lattice.grid();
    assert!((0..2).all(|r| grid.axis(r).step >= 0.024), "{}", found.choice);
    assert!(found.choice.contains("rounded"), "{}", found.choice);
}

#[test]
fn few_events_are_not_taken_for_rounded_ones() {
    // Two places are always one distance apart.
    for events in [vec![0.3, 0.7], vec![0.2, 0.2, 0.6], vec![0.1, 0.4, 0.7]] {
        let found = learned(&Points::line(&events).unwrap(), &unit(1), &wanted(None, Smoothness::Two));
        assert!(found.lattice.grid().axis(0).step < 0.05, "{events:?}: {}", found.choice);
    }
}

/// Θ from coarser lattices, corrected by a few looks, is as good as Θ learned to the end: by the bound, and by what is expected.
#[test]
fn where_steps_are_dear_few_looks_correct_what_coarser_lattices_say() {
    let drawn = Drawn::new(&[90, 90], &[0.15, 0.3], 0.3, 4000.0, Smoothness::Two, 21).unwrap();
    for (link, isotropy) in
        [(Link::Square, Isotropy::PerAxis), (Link::Log, Isotropy::PerAxis), (Link::Log, Isotropy::Tied)]
    {
        let whole = Wanted { link, isotropy, ..wanted(Some(&[96, 96]), Smoothness::Two) };
        let dear = Wanted { dear: 0.9 * seconds(&[96, 96], Smoothness::Two), ..whole.clone() };
        let (whole, dear) = (learned(&drawn.events, &unit(2), &whole), learned(&drawn.events, &unit(2), &dear));
        let left = whole.optimum.bound + whole.log_prior - dear.optimum.bound - dear.log_prior;
        assert!(left.abs() < 1.0, "{link:?} {isotropy:?}: {left}");
        assert!(dear.stop.converged() && dear.choice.contains("corrected by"), "{}", dear.choice);
        assert!(dear.work < whole.work, "{link:?} {isotropy:?}: {} {}", dear.work, whole.work);
        for (a, b) in dear.theta.ranges().iter().zip(whole.theta.ranges()) {
            within("range", *a, b, 1.2);
        }
    }
}

/// Steps that end where the next one is foreseen to gain little are fewer, and as near the optimum as they say.
#[test]
fn a_step_that_would_gain_nothing_is_foreseen() {
    let drawn = Drawn::new(&[40, 40], &[0.15, 0.3], 0.3, 2000.0, Smoothness::Two, 21).unwrap();
    for link in [Link::Square, Link::Log] {
        let wanted = Wanted { link, ..wanted(Some(&[40, 40]), Smoothness::Two) };
        let (window, tolerance) = (unit(2), 0.05);
        let on = OnLattice::new(Source::Points(&drawn.events), &window, &wanted, &Scaling::of(&window)).unwrap();
        let Start { level, theta, .. } = on.start(Some(&vec![40, 40]), 0.3, None).unwrap();
        let found = |tolerance: f64, foresees: bool| {
            let clamp = Clamp::Throughout;
            let until = Until { tolerance, most: 200, clamp, foresees, pulse: &|| Ok(()) };
            on.evaluate(&level, &theta, on.flat_sites(&level), until, None).unwrap().kept
        };
        let (best, plain, foreseen) = (found(1e-9, false), found(tolerance, false), found(tolerance, true));
        assert!(foreseen.converged && foreseen.lacks <= tolerance, "{link:?} {}", foreseen.lacks);
        assert!(best.bound - foreseen.bound < tolerance, "{link:?} {} {}", best.bound, foreseen.bound);
        assert!(foreseen.evaluations < plain.evaluations, "{link:?} {}", foreseen.evaluations);
    }
}

/// Two lobes of the rate that touch: a coarse lattice on which one has a positive and the other a negative f leads to a finer one on which both have one sign.
#[test]
fn a_front_of_changing_sign_is_not_carried_to_a_finer_lattice() {
    let times: Vec<f64> = (0..400).map(|i| (f64::from(i) + 0.5) / 400.0).collect();
    let events = Points::line(&times.iter().map(|t| t + 0.1 * (12.56 * t).sin() / 12.56).collect::<Vec<_>>()).unwrap();
    let (window, wanted) = (unit(1), Wanted { exact: true, ..wanted(None, Smoothness::Two) });
    let scaling = Scaling::of(&window);
    let on = OnLattice::new(Source::Points(&events), &window, &wanted, &scaling).unwrap();
    let level = on.level_as(&[40], vec![0.1], Detail::Events, None).unwrap();
    let theta = Theta::of_ranges(&[0.2], 100.0, 20.0);
    let until = || Until { tolerance: 1e-6, most: 60, clamp: Clamp::UntilSettled, foresees: false, pulse: &|| Ok(()) };
    let signs = |x: f64| if x < 0.5 { 20.0 } else { -20.0 };
    let known = |places: &Points, _: &[Vec<f64>]| {
        let mean: Vec<f64> = places.axis(0).iter().map(|x| signs(*x)).collect();
        Ok(Marginals { variance: vec![1.0; mean.len()], mean })
    };
    let sites = level.sites_of(on.source, known).unwrap();
    let Found { value, sites, kept } = on.evaluate(&level, &theta, sites, until(), None).unwrap();
    let f = |level: &Level, kept: &Optimum| kept.marginals(&level.lattice.grid().at(&events).unwrap()).mean;
    let has_both = |f: &[f64]| f.iter().any(|f| *f > 1.0) && f.iter().any(|f| *f < -1.0);
    assert!(has_both(&f(&level, &kept)), "natural steps remove the front by themselves: nothing is tested");
    let before =
        Run { level, theta, sites, kept, value, curvature: Curvature::default(), gain: 1e-4, end: End::Converged };
    let start = on.continued(&vec![80], &before).unwrap();
    let folded = on.folded(&start, &before).unwrap().unwrap();
    let [own, of_one] = [start.sites.clone(), folded]
        .map(|sites| on.evaluate(&start.level, &start.theta, sites, until(), None).unwrap());
    assert!(of_one.value > own.value + 3.0, "{} {}", of_one.value, own.value);
    // The search takes the higher one.
    let mut watch = |_: &Progress| ControlFlow::Continue(());
    let tally = Tally::new(&mut watch, 500, 0.0);
    let search = Search::new(on, &tally, events.len());
    let start = search.of_one_sign(start, &before).unwrap();
    let Found { value, sites, kept } =
        search.kind.evaluate(&start.level, &start.theta, start.sites, until(), None).unwrap();
    assert!((value - of_one.value).abs() < 0.1 && !has_both(&f(&start.level, &kept)), "{value} {}", of_one.value);
    // Of one sign there is nothing to fold.
    let Start { level, theta, curvature, .. } = start;
    let run = Run { level, theta, sites, kept, value, curvature, gain: 1e-4, end: End::Converged };
    let start = search.kind.continued(&vec![160], &run).unwrap();
    assert!(search.kind.folded(&start, &run).unwrap().is_none());
}
