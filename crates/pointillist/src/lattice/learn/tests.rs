//! Learning on draws from the prior, and against slower or plainer versions of itself.

use super::*;
use crate::lattice::Smoothness;
use crate::lattice::level::{Coordinates, Level};
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
        gain: 1e-4,
        most_evaluations: 500,
        sign: 1.0,
        exact: false,
        rival: None,
    }
}

fn learned(points: &Points, window: &Window, wanted: &Wanted) -> Learned {
    learn(Source::Points(points), window, wanted, None, &mut |_, _, _| ControlFlow::Continue(())).unwrap()
}

/// The mean of λ at points.
fn rate(learned: &Learned, at: &Points) -> Vec<f64> {
    let f = learned.optimum.marginals(&learned.lattice.grid().at(at).unwrap());
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
        let events = found.optimum.integral(found.lattice.mass());
        within("events", events, drawn.events.len() as f64, 1.02);
    }
}

#[test]
fn the_gradient_by_what_the_search_moves() {
    let drawn = Drawn::new(&[30, 30], &[0.3, 0.6], 0.3, 300.0, Smoothness::Two, 4).unwrap();
    let (window, ranges) = (unit(2), [0.35, 0.5]);
    let level = Level::new(
        Source::Points(&drawn.events),
        &window,
        &[14, 11],
        margin(&ranges),
        Smoothness::Two,
        Detail::Events,
        None,
    )
    .unwrap();
    let coordinates = Coordinates::new(&level.steps(), Smoothness::Two, 300.0, 1.0);
    let theta = Theta::of_ranges(&ranges, 80.0, 14.0);
    let at = |x: &[f64]| {
        let mut sites = Sites::flat(17.0, drawn.events.len());
        // The bound is flat at its optimum: steps that no longer change it still bring q nearer.
        for _ in 0..8 {
            sites = level.maximise(&coordinates.unpack(x), sites, 1e-13, 200).unwrap().sites;
        }
        level.maximise(&coordinates.unpack(x), sites, 1e-13, 200).unwrap()
    };
    let x = coordinates.pack(&theta);
    let mut gradient = vec![0.0; x.len()];
    coordinates.gradient(at(&x).slopes(), &mut gradient);
    let error = check_gradient(|x| at(x).bound, &x, &gradient);
    assert!(error < 1e-6, "{error:e} {gradient:?}");
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
        let sites = Sites::of(&optimum.marginals(&lattice.grid().at(&drawn.events).unwrap()));
        let best = lattice.maximise(&drawn.events, &vec![1.0; drawn.events.len()], theta, sites, 1e-6, 100).unwrap();
        let loss = best.bound - optimum.bound;
        assert!((-1e-6..0.02 + summary.error).contains(&loss), "{loss} {summary:?}");
        within("range", by_cell.theta.range, raw.theta.range, 1.05);
        within("variance", by_cell.theta.variance, raw.theta.variance, 1.1);
        let at = window.grid(&vec![7; nodes.len()]);
        let exact = Learned { optimum: best, ..by_cell.clone() };
        for (a, b) in rate(&by_cell, &at).iter().zip(rate(&exact, &at)) {
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
    let error = learn(Source::Points(&drawn.events), &unit(2), &huge, None, &mut |_, _, _| ControlFlow::Continue(()))
        .unwrap_err();
    let text = error.to_string();
    assert!(text.contains("would fit") && text.contains("100000×100000"), "{text}");
}

#[test]
fn what_cannot_be_fitted_is_refused() {
    let refused = |dims: usize, nodes: Option<&[usize]>| {
        let points = Points::new(dims, vec![0.5; 3 * dims]).unwrap();
        let go_on = &mut |_: usize, _: f64, _: usize| ControlFlow::Continue(());
        learn(Source::Points(&points), &unit(dims), &wanted(nodes, Smoothness::Two), None, go_on)
            .unwrap_err()
            .to_string()
    };
    assert!(refused(4, None).contains("inducing points"));
    assert!(refused(2, Some(&[1, 5])).contains("at least 2"));
    assert!(refused(2, Some(&[5])).contains("nodes of the lattice"));
    let stop = &mut |_: usize, _: f64, _: usize| ControlFlow::Break(());
    let one = Points::line(&[0.5]).unwrap();
    assert_eq!(
        learn(Source::Points(&one), &unit(1), &wanted(None, Smoothness::Two), None, stop).unwrap_err(),
        Error::Cancelled
    );
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
