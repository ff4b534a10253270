//! Fits to a summary against fits to the events themselves; parts, threads, updates.

use crate::common;
use pointillist::report::Summarised;
use pointillist::settings::{Inducing, Smoothness};
use pointillist::{Error, Events, Fit, LatticeChoice, Model, Points, Summary, Window};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::ops::ControlFlow;

/// Events in the unit box of so many axes: a ramp and a few bumps.
fn drawn(dims: usize, count: usize) -> Points {
    let mut rng = ChaCha8Rng::seed_from_u64(11);
    let bump = |x: &[f64], at: f64, width: f64| {
        (-x.iter().map(|x| (x - at) * (x - at)).sum::<f64>() / (2.0 * width * width)).exp()
    };
    let mut coordinates = vec![];
    while coordinates.len() < dims * count {
        let x: Vec<f64> = (0..dims).map(|_| rng.random()).collect();
        let rate = 0.2 + 0.4 * x[0] + 1.2 * bump(&x, 0.3, 0.12) + 0.9 * bump(&x, 0.7, 0.2);
        if 2.0 * rng.random::<f64>() < rate {
            coordinates.extend(x);
        }
    }
    Points::new(dims, coordinates).unwrap()
}

fn unit(dims: usize) -> Window {
    Window::new(&vec![(0.0, 1.0); dims]).unwrap()
}

fn summary(points: &Points, window: &Window, cells: &[usize]) -> Summary {
    let mut summary = Summary::new(window, cells).unwrap();
    summary.add(points).unwrap();
    summary
}

fn grid(counts: &[usize]) -> Model {
    Model { family: Inducing::Grid(counts.to_vec()).into(), ..Model::of_maximum_likelihood() }
}

fn lattice(nodes: &[usize]) -> Model {
    let lattice = LatticeChoice {
        nodes: Some(nodes.to_vec()),
        smoothness: Some(Smoothness::Two),
        ..LatticeChoice::as_in_the_paper()
    };
    Model { family: lattice.into(), ..Model::of_maximum_likelihood() }
}

fn rates(fit: &Fit, dims: usize) -> Vec<f64> {
    let counts = [50, 12, 6][dims - 1];
    fit.posterior.rate(&Points::grid(&vec![0.0; dims], &vec![1.0; dims], &vec![counts; dims])).unwrap().mean
}

/// The same bound to the tolerance of the summary, the same Θ and rate to that of the optimiser.
fn same(got: &Fit, want: &Fit, dims: usize) {
    let (ours, theirs) = (got.report.bound.total(), want.report.bound.total());
    let most = 1e-6 * want.report.bound.log_rate.abs() + 1e-4;
    assert!((ours - theirs).abs() < most, "bound {ours} {theirs}");
    let theta = |fit: &Fit| fit.posterior.kernel().map(|kernel| kernel.parameters()).unwrap_or_default();
    for (a, b) in theta(got).iter().zip(theta(want)) {
        assert!((a / b - 1.0).abs() < 0.01, "Θ {a} {b}");
    }
    for (a, b) in rates(got, dims).iter().zip(rates(want, dims)) {
        assert!((a / b - 1.0).abs() < 2e-3, "rate {a} {b}");
    }
}

#[test]
fn a_summary_leads_where_the_events_lead() {
    for (dims, counts) in [(1, vec![20]), (2, vec![7, 6]), (3, vec![4, 3, 4])] {
        let points = drawn(dims, 7000);
        let events = Events::new(points.clone(), unit(dims)).unwrap();
        let want = Model { exact: true, ..grid(&counts) }.fit(&events).unwrap();
        assert_eq!(want.report.summarised, None);
        let by_itself = grid(&counts).fit(&events).unwrap();
        let cells = [240, 120, 24][dims - 1];
        let given = grid(&counts).fit_summary(&summary(&points, &unit(dims), &vec![cells; dims])).unwrap();
        for fit in [&by_itself, &given] {
            let Summarised { nodes, error, .. } = fit.report.summarised.clone().expect("7,000 events are many");
            assert!(nodes > 0 && error < 1e-6 * fit.report.bound.log_rate.abs().max(7000.0 * 7000f64.ln()));
            same(fit, &want, dims);
        }
    }
}

#[test]
fn coal_a_thousand_times_is_fitted_in_cells_to_the_tolerance() {
    let (lo, hi) = common::COAL_WINDOW;
    let (coal, window) = (common::coal(), Window::interval(lo, hi).unwrap());
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let jittered = coal.iter().flat_map(|x| (0..1000).map(|_| x + rng.random_range(-0.5..0.5)).collect::<Vec<_>>());
    let points = Points::line(&jittered.map(|x| x.clamp(lo, hi)).collect::<Vec<_>>()).unwrap();
    let events = Events::new(points, window).unwrap();
    let got = grid(&[31]).fit(&events).unwrap();
    let want = Model { exact: true, ..grid(&[31]) }.fit(&events).unwrap();
    let Summarised { nodes, error, .. } = got.report.summarised.unwrap();
    assert!(nodes < 2000, "{nodes}");
    let data_term = want.report.bound.log_rate.abs();
    assert!(
        error < 1e-6 * data_term && (got.report.bound.total() - want.report.bound.total()).abs() < 1e-6 * data_term
    );
}

#[test]
fn polygons_and_sums_of_kernels_take_nodes_as_events() {
    let points = drawn(2, 40_000);
    let ring = vec![vec![[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.5, 0.8], [0.0, 1.0]]];
    let window = Window::inside(pointillist::window::Polygons::new(vec![ring]).unwrap());
    let (events, _) = Events::clipped(points, window.clone()).unwrap();
    let got = grid(&[5, 5]).fit_summary(&summary(events.points(), &window, &[60, 60])).unwrap();
    let want = Model { exact: true, ..grid(&[5, 5]) }.fit(&events).unwrap();
    assert!(got.report.summarised.is_some_and(|summarised| summarised.nodes < 20_000));
    assert!((got.report.bound.total() - want.report.bound.total()).abs() < 1e-6 * want.report.bound.log_rate.abs());
}

#[test]
fn a_lattice_lines_up_with_the_cells() {
    for (dims, nodes) in [(1, vec![60]), (2, vec![24, 20])] {
        let points = drawn(dims, 7000);
        let cells = vec![[2520, 120][dims - 1]; dims];
        let got = lattice(&nodes).fit_summary(&summary(&points, &unit(dims), &cells)).unwrap();
        let used = got.posterior.lattice().unwrap().nodes;
        assert!(used.iter().zip(&nodes).all(|(used, asked)| (*asked..asked + 2).contains(used)), "{used:?}");
        let events = Events::new(points, unit(dims)).unwrap();
        let want = Model { exact: true, ..lattice(&nodes) }.fit(&events).unwrap();
        // Its nodes stand elsewhere: that, not the summary, is the difference.
        let difference = got.report.bound.total() - want.report.bound.total();
        assert!(difference.abs() < 3.0, "{difference}");
        let off: Vec<f64> =
            rates(&got, dims).iter().zip(rates(&want, dims)).map(|(a, b)| (a / b - 1.0).abs()).collect();
        let mean = off.iter().sum::<f64>() / off.len() as f64;
        assert!(mean < 0.02, "{mean}");
    }
}

#[test]
fn the_data_term_of_a_lattice_is_that_of_the_events() {
    let points = drawn(2, 20_000);
    let fit = lattice(&[24, 20]).fit_summary(&summary(&points, &unit(2), &[120, 120])).unwrap();
    let rate = fit.posterior.rate(&points).unwrap();
    // E[log f²] of a narrow q is close to the logarithm of its mean.
    let plain: f64 = rate.mean.iter().map(|mean| mean.ln()).sum();
    let ours = fit.report.bound.log_rate;
    assert!(ours < plain && (ours - plain).abs() < 2e-3 * plain, "{ours} {plain}");
}

#[test]
fn parts_add_up_and_others_are_refused() {
    let points = drawn(2, 9000);
    let whole = summary(&points, &unit(2), &[60, 60]);
    let mut parts = Summary::new(&unit(2), &[60, 60]).unwrap();
    for part in points.coordinates().chunks(2 * 2500) {
        parts.merge(&summary(&Points::new(2, part.to_vec()).unwrap(), &unit(2), &[60, 60])).unwrap();
    }
    assert_eq!((parts.events(), parts.len()), (9000, whole.len()));
    let [a, b] = [&whole, &parts].map(|summary| grid(&[6, 6]).fit_summary(summary).unwrap().report.bound.total());
    assert!((a - b).abs() < 1e-7 * a.abs(), "{a} {b}");

    let wide = Window::new(&[(0.0, 1.0), (0.0, 2.0)]).unwrap();
    for other in [summary(&points, &wide, &[60, 60]), summary(&points, &unit(2), &[60, 30])] {
        assert!(matches!(parts.merge(&other), Err(Error::Setting { .. })));
    }
    let outside = Points::from_rows(&[[0.5, 0.5], [0.5, 1.5]]).unwrap();
    assert!(matches!(parts.add(&outside), Err(Error::OutsideWindow { index: 1, count: 1, total: 2, .. })));
    assert_eq!(parts.events(), 9000, "nothing is added if something is wrong");
    assert!(matches!(
        Model { exact: true, ..Model::of_maximum_likelihood() }.fit_summary(&parts),
        Err(Error::Setting { .. })
    ));
    assert!(matches!(
        Model::of_maximum_likelihood().fit_summary(&Summary::new(&unit(2), &[9, 9]).unwrap()),
        Err(Error::NoEvents)
    ));
}

#[test]
fn a_summary_comes_back_from_its_records() {
    let window = unit(2).with_repeats(3).unwrap();
    let whole = summary(&drawn(2, 3000), &window, &[24, 24]);
    let again = Summary::from_records(&window, &whole.cells(), whole.log_exposure(), whole.records()).unwrap();
    assert_eq!((again.events(), again.nodes()), (whole.events(), whole.nodes()));
    let mut damaged: Vec<_> = whole.records().collect();
    damaged[0].count = 1 << 40;
    damaged[0].values.pop();
    assert!(Summary::from_records(&window, &whole.cells(), 0.0, damaged).is_err());
}

#[test]
fn the_same_bits_on_any_number_of_threads() {
    let points = drawn(2, 30_000);
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let summary = summary(&points, &unit(2), &[120, 120]);
            let fits = [grid(&[9, 9]), lattice(&[30, 30])].map(|model| model.fit_summary(&summary).unwrap());
            fits.map(|fit| (fit.report.bound, rates(&fit, 2)))
        })
    };
    let one = run(1);
    assert!(one == run(2) && one == run(4));
}

#[test]
fn an_update_is_a_fit_of_everything_for_less() {
    let points = drawn(2, 40_000);
    let (old, new) = points.coordinates().split_at(2 * 30_000);
    for model in [grid(&[8, 8]), lattice(&[30, 30])] {
        let mut seen = summary(&Points::new(2, old.to_vec()).unwrap(), &unit(2), &[120, 120]);
        let before = model.fit_summary(&seen).unwrap();
        seen.merge(&summary(&Points::new(2, new.to_vec()).unwrap(), &unit(2), &[120, 120])).unwrap();
        let go_on = &mut |_: &_| ControlFlow::Continue(());
        let updated = model.update_watched(&before.posterior, &seen, go_on).unwrap();
        let fresh = model.fit_summary(&seen).unwrap();
        let difference = updated.report.bound.total() - fresh.report.bound.total();
        assert!(difference.abs() < 0.05, "{difference}");
        for (a, b) in rates(&updated, 2).iter().zip(rates(&fresh, 2)) {
            assert!((a / b - 1.0).abs() < 0.01, "{a} {b}");
        }
        let (ours, theirs) = (updated.report.evaluations, fresh.report.evaluations);
        assert!(3 * ours < 2 * theirs, "{ours} {theirs}");
    }
}
