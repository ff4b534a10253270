//! The baselines: kernel smoothing against plain double loops, quadrature and known answers; the constant rate against its identities.

use pointillist::internals::numerics::GaussLegendre;
use pointillist::testing::check_gradient;
use pointillist::window::{Exposure, Polygons, Ring};
use pointillist::{Error, Events, Points, Window};
use pointillist_rivals::{EdgeCorrection, Homogeneous, KernelSmoother};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use std::f64::consts::PI;

const BOTH: [EdgeCorrection; 2] = [EdgeCorrection::Truncate, EdgeCorrection::None];

/// The coal-mining disasters, in years.
fn coal() -> Vec<f64> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../pointillist-io/data/coal/coal.csv");
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().skip(1).map(|line| line.split(',').next().unwrap().parse().unwrap()).collect()
}

fn interval() -> Window {
    Window::interval(-1.0, 3.0).unwrap()
}

fn rectangle() -> Window {
    Window::new(&[(0.0, 2.0), (-1.0, 0.5)]).unwrap()
}

fn two_boxes() -> Window {
    let right = Window::new(&[(1.3, 2.0), (-0.5, 0.5)]).unwrap().with_repeats(3).unwrap();
    Window::union(&[Window::new(&[(0.0, 1.0), (-1.0, 0.5)]).unwrap(), right]).unwrap()
}

/// A pentagon with a hole.
fn with_hole() -> Polygons {
    let outside: Ring = vec![[0.0, 0.0], [2.0, -0.3], [2.4, 1.1], [1.0, 1.9], [-0.2, 1.0]];
    let hole: Ring = vec![[0.8, 0.5], [1.3, 0.6], [1.0, 1.0]];
    Polygons::new(vec![vec![outside, hole]]).unwrap()
}

fn prism() -> Window {
    Window::inside(with_hole()).times(&Window::interval(10.0, 12.0).unwrap()).unwrap()
}

fn cube() -> Window {
    Window::new(&[(0.0, 1.0), (2.0, 3.0), (-1.0, 1.0)]).unwrap()
}

fn windows() -> Vec<Window> {
    vec![interval(), rectangle(), two_boxes(), Window::inside(with_hole()), prism(), cube()]
}

/// Points with more of them towards the low ends.
fn scattered(window: &Window, count: usize, seed: u64) -> Points {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let spans = window.bounding_box();
    let mut rows: Vec<f64> = vec![];
    while rows.len() < count * spans.len() {
        let row: Vec<f64> = spans.iter().map(|s| s.lo + s.length() * rng.random::<f64>().powf(1.3)).collect();
        if window.contains(&row) {
            rows.extend(row);
        }
    }
    Points::new(spans.len(), rows).unwrap()
}

fn events(window: &Window, count: usize) -> Events {
    Events::new(scattered(window, count, 7), window.clone()).unwrap()
}

/// A bandwidth of general position, a part of each side.
fn some_bandwidth(window: &Window, part: f64) -> Vec<f64> {
    window.bounding_box().iter().enumerate().map(|(r, s)| part * s.length() * (1.0 + 0.3 * r as f64)).collect()
}

fn gaussian(x: &[f64], y: &[f64], h: &[f64]) -> f64 {
    x.iter().zip(y).zip(h).map(|((x, y), h)| (-0.5 * ((x - y) / h).powi(2)).exp() / (h * (2.0 * PI).sqrt())).product()
}

/// ∫ f over polygons, by triangles from the origin to each edge: signed, so that all but the inside cancels.
fn over_polygons(polygons: &Polygons, panels: usize, f: impl Fn(f64, f64) -> f64) -> f64 {
    let rule = GaussLegendre::new(24);
    let nodes: Vec<(f64, f64)> =
        (0..panels).flat_map(|i| rule.on(i as f64 / panels as f64, (i + 1) as f64 / panels as f64)).collect();
    let mut total = 0.0;
    for ring in polygons.rings().iter().flatten() {
        for (a, b) in ring.iter().zip(ring.iter().cycle().skip(1)) {
            let doubled = a[0] * b[1] - a[1] * b[0];
            for (u, wu) in &nodes {
                for (v, wv) in &nodes {
                    let at = [0, 1].map(|r| u * (a[r] + v * (b[r] - a[r])));
                    total += doubled * wu * wv * u * f(at[0], at[1]);
                }
            }
        }
    }
    total
}

/// ∫ of a Gaussian over a window as often as it was looked at, by plain quadrature.
fn mass(window: &Window, centre: &[f64], h: &[f64]) -> f64 {
    let rule = GaussLegendre::new(24);
    let axis = |lo: f64, hi: f64, r: usize| -> f64 {
        let panels = ((hi - lo) / h[r]).ceil() as usize;
        let at = |i: usize| lo + (hi - lo) * i as f64 / panels as f64;
        let density = |x: f64| gaussian(&[x], &centre[r..=r], &h[r..=r]);
        (0..panels).flat_map(|i| rule.on(at(i), at(i + 1))).map(|(x, w)| w * density(x)).sum()
    };
    let piece = |piece: &pointillist::window::Piece| {
        let (flat, first) = match &piece.outline {
            Some(outline) => (over_polygons(outline, 6, |x, y| gaussian(&[x, y], &centre[..2], &h[..2])), 2),
            None => (1.0, 0),
        };
        let rest = first..centre.len();
        piece.repeats * rest.fold(flat, |product, r| product * axis(piece.spans[r].lo, piece.spans[r].hi, r))
    };
    window.pieces().iter().map(piece).sum()
}

/// 1/c_n by the definition.
fn plain_weights(events: &Events, edges: EdgeCorrection, h: &[f64]) -> Vec<f64> {
    let weight = |row: &[f64]| match edges {
        EdgeCorrection::Truncate => 1.0 / mass(events.window(), row, h),
        EdgeCorrection::None => 1.0 / events.window().coverage(row),
    };
    events.points().rows().map(weight).collect()
}

fn close(got: f64, want: f64, tolerance: f64) -> bool {
    (got - want).abs() <= tolerance * want.abs()
}

#[test]
fn rates_and_leave_one_out_are_those_of_a_double_loop() {
    for window in windows() {
        let events = events(&window, 40);
        let h = some_bandwidth(&window, 0.13);
        let at = scattered(&window, 15, 99);
        for edges in BOTH {
            let smoother = KernelSmoother::with_bandwidth(&events, edges, &h).unwrap();
            let weights = plain_weights(&events, edges, &h);
            let sum = |x: &[f64], left_out: usize| -> f64 {
                let rows = events.points().rows().zip(&weights).enumerate();
                rows.filter(|(m, _)| *m != left_out).map(|(_, (y, w))| w * gaussian(x, y, &h)).sum()
            };
            for (got, x) in smoother.rate(&at).unwrap().iter().zip(at.rows()) {
                assert!(close(*got, sum(x, usize::MAX), 1e-9), "{edges:?} {got} {}", sum(x, usize::MAX));
            }
            let logs: f64 = events.points().rows().enumerate().map(|(n, x)| (40.0 / 39.0 * sum(x, n)).ln()).sum();
            assert!(close(smoother.loo(), logs - 40.0, 1e-9), "{edges:?} {} {}", smoother.loo(), logs - 40.0);
        }
    }
}

#[test]
fn with_edge_correction_the_integral_is_the_number_of_events() {
    for window in windows() {
        let events = events(&window, 60);
        for part in [0.02, 0.15, 2.0] {
            let h = some_bandwidth(&window, part);
            let smoother = KernelSmoother::with_bandwidth(&events, EdgeCorrection::Truncate, &h).unwrap();
            assert!(close(smoother.expected(&window).unwrap(), 60.0, 1e-12));
            let plain = KernelSmoother::with_bandwidth(&events, EdgeCorrection::None, &h).unwrap();
            assert!(plain.expected(&window).unwrap() < 60.0);
        }
        // The same integral from rates at nodes, which know nothing of masses.
        let h = some_bandwidth(&window, 0.2);
        let smoother = KernelSmoother::with_bandwidth(&events, EdgeCorrection::Truncate, &h).unwrap();
        let total = integral_of_rate(&smoother, &window);
        assert!(close(total, 60.0, 1e-8), "{total}");
    }
}

/// ∫ λ over the pieces of a window, by rates at nodes.
fn integral_of_rate(smoother: &KernelSmoother, window: &Window) -> f64 {
    let rule = GaussLegendre::new(40);
    let mut total = 0.0;
    for piece in window.pieces() {
        let (mut rows, mut weights) = (vec![vec![]], vec![piece.repeats]);
        let mut first = 0;
        if let Some(outline) = &piece.outline {
            (rows, weights, first) = (vec![], vec![], 2);
            // Signed triangles lie outside too, where the rate with edge correction is 0: split into those that lie inside.
            for [a, b, c] in triangles(outline) {
                let area = ((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])).abs();
                for (u, wu) in rule.on(0.0, 1.0) {
                    for (v, wv) in rule.on(0.0, 1.0) {
                        let at = |r: usize| a[r] + u * (b[r] - a[r] + v * (c[r] - b[r]));
                        rows.push(vec![at(0), at(1)]);
                        weights.push(piece.repeats * area * wu * wv * u);
                    }
                }
            }
        }
        for span in &piece.spans[first..] {
            let nodes: Vec<(f64, f64)> = rule.on(span.lo, span.hi).collect();
            let longer = |row: &Vec<f64>| nodes.iter().map(|(x, _)| [&row[..], &[*x]].concat()).collect::<Vec<_>>();
            weights = weights.iter().flat_map(|w| nodes.iter().map(move |(_, v)| w * v)).collect();
            rows = rows.iter().flat_map(longer).collect();
        }
        let points = Points::new(window.dims(), rows.concat()).unwrap();
        total += smoother.rate(&points).unwrap().iter().zip(&weights).map(|(rate, w)| rate * w).sum::<f64>();
    }
    total
}

/// Triangles that make up the pentagon with the triangular hole: fans from the corners of the hole.
fn triangles(polygons: &Polygons) -> Vec<[[f64; 2]; 3]> {
    let rings = &polygons.rings()[0];
    let (o, mut h) = (&rings[0], rings[1].clone());
    h.reverse(); // counter-clockwise: [0.8, 0.5], [1.3, 0.6], [1.0, 1.0] from some start
    h.sort_by(|a, b| a[1].total_cmp(&b[1]));
    let made = vec![
        [o[0], o[1], h[0]],
        [o[1], h[1], h[0]],
        [o[1], o[2], h[1]],
        [o[2], h[2], h[1]],
        [o[2], o[3], h[2]],
        [o[3], o[4], h[2]],
        [o[4], h[0], h[2]],
        [o[4], o[0], h[0]],
    ];
    let area = |[a, b, c]: &[[f64; 2]; 3]| 0.5 * ((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]));
    assert!((made.iter().map(|t| area(t).abs()).sum::<f64>() - polygons.area()).abs() < 1e-12);
    made
}

#[test]
fn parts_of_a_window_add_up() {
    let window = Window::inside(with_hole());
    let events = events(&window, 80);
    let smoother = KernelSmoother::with_bandwidth(&events, EdgeCorrection::None, &[0.1, 0.2]).unwrap();
    let count = |lo: f64, hi: f64| smoother.expected(&Window::new(&[(-1.0, 3.0), (lo, hi)]).unwrap()).unwrap();
    let parts = count(-0.5, 0.7) + count(0.7, 2.0);
    assert!(close(parts, smoother.expected(&window).unwrap(), 1e-9), "{parts}");
}

#[test]
fn the_gradient_is_that_of_differences() {
    for window in windows() {
        let events = events(&window, 50);
        for edges in BOTH {
            for part in [0.08, 0.5] {
                let h = some_bandwidth(&window, part);
                let smoother = KernelSmoother::with_bandwidth(&events, edges, &h).unwrap();
                let value = |x: &[f64]| {
                    let h: Vec<f64> = x.iter().map(|x| x.exp()).collect();
                    smoother.loo_at(&h).unwrap().0
                };
                let logs: Vec<f64> = h.iter().map(|h| h.ln()).collect();
                let (at, gradient) = smoother.loo_at(&h).unwrap();
                assert!(close(at, smoother.loo(), 1e-12));
                let error = check_gradient(value, &logs, &gradient);
                assert!(error < 1e-7, "{edges:?} {part} {}-D: {error}", window.dims());
            }
        }
    }
}

#[test]
fn many_events_give_the_sums_of_few() {
    // Beyond two thousand events sums are no longer over all pairs: a double loop says whether they are the same.
    for (window, parts) in [
        (interval(), vec![1e-4, 0.01, 0.3]),
        (rectangle(), vec![0.003, 0.03, 0.3]),
        (Window::inside(with_hole()), vec![0.003, 0.03]),
        (cube(), vec![0.02, 0.2]),
        (Window::new(&[(0.0, 1.0); 4]).unwrap(), vec![0.02, 0.1]),
    ] {
        let events = events(&window, 3000);
        for part in parts {
            let h = some_bandwidth(&window, part);
            let smoother = KernelSmoother::with_bandwidth(&events, EdgeCorrection::None, &h).unwrap();
            let logs: f64 = (0..3000).map(|n| left_out_sum(&events, n, &h).ln()).sum();
            let want = logs + 3000.0 * (3000.0f64 / 2999.0).ln() - 3000.0;
            let error = (smoother.loo() - want).abs() / 3000.0; // of a mean logarithm: relative, of a sum
            assert!(error < 1e-9, "{part}: {} {want}", smoother.loo());
        }
    }
}

fn left_out_sum(events: &Events, n: usize, h: &[f64]) -> f64 {
    let x = events.points().row(n);
    let others = events.points().rows().enumerate().filter(|(m, _)| *m != n);
    others.map(|(_, y)| gaussian(x, y, h)).sum()
}

#[test]
fn gradients_of_many_events_are_those_of_differences() {
    for window in [rectangle(), Window::inside(with_hole())] {
        let events = events(&window, 4000);
        let h = some_bandwidth(&window, 0.05);
        let smoother = KernelSmoother::with_bandwidth(&events, EdgeCorrection::Truncate, &h).unwrap();
        let value = |x: &[f64]| smoother.loo_at(&x.iter().map(|x| x.exp()).collect::<Vec<_>>()).unwrap().0;
        let logs: Vec<f64> = h.iter().map(|h| h.ln()).collect();
        let error = check_gradient(value, &logs, &smoother.loo_at(&h).unwrap().1);
        assert!(error < 1e-6, "{error}");
    }
}

#[test]
fn a_box_and_its_outline_are_the_same_window() {
    let plain = rectangle();
    let ring = vec![[0.0, -1.0], [2.0, -1.0], [2.0, 0.5], [0.0, 0.5]];
    let outlined = Window::inside(Polygons::new(vec![vec![ring]]).unwrap());
    for count in [100, 5000] {
        let points = scattered(&plain, count, 3);
        let smooth = |window: &Window, part: f64| {
            let events = Events::new(points.clone(), window.clone()).unwrap();
            KernelSmoother::with_bandwidth(&events, EdgeCorrection::Truncate, &some_bandwidth(window, part)).unwrap()
        };
        for part in [0.01, 0.1, 1.0] {
            let (a, b) = (smooth(&plain, part), smooth(&outlined, part));
            let at = scattered(&plain, 50, 5);
            for (a, b) in a.rate(&at).unwrap().iter().zip(b.rate(&at).unwrap()) {
                assert!(close(*a, b, 1e-8), "{count} {part}: {a} {b}");
            }
            assert!(close(a.loo(), b.loo(), 1e-8));
        }
    }
    let fit = |window: &Window| {
        KernelSmoother::fit(&Events::new(scattered(&plain, 100, 3), window.clone()).unwrap(), EdgeCorrection::Truncate)
    };
    let (a, b) = (fit(&plain).unwrap(), fit(&outlined).unwrap());
    assert!(close(a.bandwidth()[0], b.bandwidth()[0], 1e-4) && close(a.loo(), b.loo(), 1e-8));
}

#[test]
fn the_fitted_bandwidth_is_a_maximum() {
    for window in windows() {
        let events = events(&window, 150);
        for edges in BOTH {
            let smoother = KernelSmoother::fit(&events, edges).unwrap();
            let free: Vec<bool> =
                smoother.bandwidth().iter().zip(window.bounding_box()).map(|(h, s)| *h < 9.9 * s.length()).collect();
            assert_eq!(smoother.warnings.is_empty(), free.iter().all(|f| *f), "{:?}", smoother.warnings);
            let (_, gradient) = smoother.loo_at(smoother.bandwidth()).unwrap();
            for (g, free) in gradient.iter().zip(&free) {
                assert!(!free || g.abs() < 0.02, "{edges:?}: {gradient:?} at {:?}", smoother.bandwidth());
            }
            for factor in [0.3, 0.7, 1.4, 3.0] {
                let other: Vec<f64> = smoother.bandwidth().iter().map(|h| factor * h).collect();
                assert!(smoother.loo_at(&other).unwrap().0 <= smoother.loo() + 1e-6);
            }
        }
    }
}

#[test]
fn the_bandwidth_of_gaussian_events_is_near_the_best_one() {
    // For N points of a standard Gaussian the smallest mean integrated squared error is at h = (4/(d+2))^{1/(d+4)} N^{−1/(d+4)}.
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    for (dims, count) in [(1, 4000), (2, 4000)] {
        let draws: Vec<f64> = (0..dims * count).map(|_| StandardNormal.sample(&mut rng)).collect();
        let window = Window::new(&vec![(-8.0, 8.0); dims]).unwrap();
        let events = Events::new(Points::new(dims, draws).unwrap(), window).unwrap();
        let best = (4.0 / (dims as f64 + 2.0) / count as f64).powf(1.0 / (dims as f64 + 4.0));
        for edges in BOTH {
            let smoother = KernelSmoother::fit(&events, edges).unwrap();
            for h in smoother.bandwidth() {
                assert!(*h > 0.6 * best && *h < 1.7 * best, "{dims}-D: {h} {best}");
            }
        }
    }
}

#[test]
fn units_do_not_change_the_answer() {
    let window = rectangle();
    let points = scattered(&window, 120, 11);
    let fit = |scale: [f64; 2], shift: [f64; 2]| {
        let moved = |r: usize, x: f64| x * scale[r] + shift[r];
        let spans: Vec<(f64, f64)> =
            window.bounding_box().iter().enumerate().map(|(r, s)| (moved(r, s.lo), moved(r, s.hi))).collect();
        let rows: Vec<[f64; 2]> =
            points.rows().map(|row| [0, 1].map(|r| moved(r, row[r]).clamp(spans[r].0, spans[r].1))).collect();
        let events = Events::new(Points::from_rows(&rows).unwrap(), Window::new(&spans).unwrap()).unwrap();
        let smoother = KernelSmoother::fit(&events, EdgeCorrection::Truncate).unwrap();
        let at = Points::from_rows(&[[moved(0, 0.3), moved(1, -0.2)]]).unwrap();
        let unit = scale[0] * scale[1];
        let h: Vec<f64> = smoother.bandwidth().iter().zip(scale).map(|(h, s)| h / s).collect();
        (h, smoother.loo() + 120.0 * unit.ln(), smoother.rate(&at).unwrap()[0] * unit)
    };
    let (h, loo, rate) = fit([1.0; 2], [0.0; 2]);
    for (scale, shift) in [([3e7, 1e-6], [1.6e9, 0.0]), ([1e-3, 1e3], [5.0, -2e3])] {
        let (other_h, other_loo, other_rate) = fit(scale, shift);
        assert!(close(other_h[0], h[0], 1e-3) && close(other_h[1], h[1], 1e-3), "{h:?} {other_h:?}");
        assert!(close(other_loo, loo, 1e-6) && close(other_rate, rate, 1e-3), "{loo} {other_loo} {rate} {other_rate}");
    }
}

#[test]
fn rates_are_those_of_one_repeat() {
    let points = scattered(&rectangle(), 90, 2);
    let smooth = |window: Window, edges| {
        KernelSmoother::with_bandwidth(&Events::new(points.clone(), window).unwrap(), edges, &[0.2, 0.3]).unwrap()
    };
    let at = scattered(&rectangle(), 9, 4);
    for edges in BOTH {
        let (once, thrice) = (smooth(rectangle(), edges), smooth(rectangle().with_repeats(3).unwrap(), edges));
        for (a, b) in once.rate(&at).unwrap().iter().zip(thrice.rate(&at).unwrap()) {
            assert!(close(b, a / 3.0, 1e-13));
        }
        let expected = once.expected(&rectangle()).unwrap();
        assert!(close(thrice.expected(thrice.window()).unwrap(), expected, 1e-13));
        assert!(close(thrice.expected(&rectangle()).unwrap(), expected / 3.0, 1e-13));
        let held = scattered(&rectangle(), 5, 8);
        let seen = |by: &KernelSmoother| Events::new(held.clone(), by.window().clone()).unwrap();
        let difference = once.log_likelihood(&seen(&once)).unwrap() - thrice.log_likelihood(&seen(&thrice)).unwrap();
        assert!(close(difference, 5.0 * 3f64.ln(), 1e-10));
    }
}

#[test]
fn held_out_events_are_scored_by_rate_and_integral() {
    let window = two_boxes();
    let events = events(&window, 70);
    let held = scattered(&window, 30, 21);
    for edges in BOTH {
        let smoother = KernelSmoother::with_bandwidth(&events, edges, &[0.1, 0.2]).unwrap();
        let logs: f64 = smoother.rate(&held).unwrap().iter().map(|r| r.ln()).sum();
        let want = logs - smoother.expected(&window).unwrap();
        assert!(close(
            smoother.log_likelihood(&Events::new(held.clone(), window.clone()).unwrap()).unwrap(),
            want,
            1e-13
        ));
    }
    // Nothing is clipped: a rate of e^{−500} has its logarithm, one beyond doubles none.
    let line = Events::new(Points::line(&[0.1, 0.2]).unwrap(), Window::interval(0.0, 1.0).unwrap()).unwrap();
    let far = |h: f64| {
        let smoother = KernelSmoother::with_bandwidth(&line, EdgeCorrection::None, &[h]).unwrap();
        let held_out = Events::new(Points::line(&[0.9]).unwrap(), line.window().clone()).unwrap();
        smoother.log_likelihood(&held_out).unwrap()
    };
    let h: f64 = 0.7 / 1000f64.sqrt();
    let want = -500.0 - (h * (2.0 * PI).sqrt()).ln() - 2.0;
    assert!((far(h) - want).abs() < 1e-3, "{} {want}", far(h));
    assert_eq!(far(0.01), f64::NEG_INFINITY);
}

#[test]
fn outside_the_window_the_corrected_rate_is_zero() {
    let events = events(&Window::inside(with_hole()), 30);
    let outside = Points::from_rows(&[[1.05, 0.7], [-1.0, 0.0]]).unwrap();
    let rates =
        BOTH.map(|edges| KernelSmoother::with_bandwidth(&events, edges, &[0.3, 0.3]).unwrap().rate(&outside).unwrap());
    assert_eq!(rates[0], [0.0, 0.0]);
    assert!(rates[1].iter().all(|rate| *rate > 0.0));
}

#[test]
fn twins_stop_at_the_floor_and_it_is_said() {
    let twins: Vec<f64> = [0.11, 0.37, 0.52, 0.9].iter().flat_map(|x| [*x, *x]).collect();
    let events = Events::new(Points::line(&twins).unwrap(), Window::interval(0.0, 2.0).unwrap()).unwrap();
    let smoother = KernelSmoother::fit(&events, EdgeCorrection::Truncate).unwrap();
    assert!(close(smoother.bandwidth()[0], 2e-4, 1e-9));
    assert_eq!(smoother.warnings.len(), 1);
    assert!(smoother.warnings[0].contains("every event has a twin"), "{:?}", smoother.warnings);
    // A line of events in the plane has nothing to say about the other axis but that it is a line.
    let line: Vec<[f64; 2]> = (0..30).map(|i| [(i as f64 * 0.618).fract(), 0.25]).collect();
    let events = Events::new(Points::from_rows(&line).unwrap(), Window::new(&[(0.0, 1.0); 2]).unwrap()).unwrap();
    let smoother = KernelSmoother::fit(&events, EdgeCorrection::None).unwrap();
    assert!(close(smoother.bandwidth()[1], 1e-4, 1e-9));
    assert!(smoother.warnings.iter().any(|w| w.contains("axis 1") && w.contains("share")), "{:?}", smoother.warnings);
}

#[test]
fn one_thread_and_four_give_the_same_bits() {
    let events = events(&Window::inside(with_hole()), 3000);
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let smoother = KernelSmoother::fit(&events, EdgeCorrection::Truncate).unwrap();
            (smoother.bandwidth().to_vec(), smoother.loo(), smoother.rate(events.points()).unwrap())
        })
    };
    assert_eq!(on(1), on(4));
}

#[test]
fn what_makes_no_sense_is_refused() {
    let of = |xs: &[f64], window: Window| Events::new(Points::line(xs).unwrap(), window).unwrap();
    let unit = || Window::interval(0.0, 1.0).unwrap();
    let one = of(&[0.5], unit());
    let sentence = KernelSmoother::fit(&one, EdgeCorrection::Truncate).unwrap_err().to_string();
    assert!(sentence.contains("two or more"), "{sentence}");
    let smoother = KernelSmoother::with_bandwidth(&one, EdgeCorrection::Truncate, &[0.1]).unwrap();
    assert_eq!(smoother.loo(), f64::NEG_INFINITY);
    assert!(close(smoother.expected(&unit()).unwrap(), 1.0, 1e-13));
    assert_eq!((smoother.len(), smoother.is_empty(), smoother.edge_correction()), (1, false, EdgeCorrection::Truncate));

    let none = of(&[], unit());
    assert_eq!(KernelSmoother::fit(&none, EdgeCorrection::None).unwrap_err(), Error::NoEvents);
    let exposure = Exposure::grid(vec![0], vec![vec![0.0, 1.0]], vec![1.0, 2.0]).unwrap();
    let exposed = of(&[0.2, 0.4], unit().with_exposure(exposure).unwrap());
    let sentence = KernelSmoother::fit(&exposed, EdgeCorrection::None).unwrap_err().to_string();
    assert!(sentence.contains("kernel smoothing knows no exposure"), "{sentence}");

    let two = of(&[0.2, 0.4], unit());
    for h in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-12] {
        let error = KernelSmoother::with_bandwidth(&two, EdgeCorrection::None, &[h]).unwrap_err();
        assert!(matches!(error, Error::Setting { .. }), "{h}: {error}");
    }
    let wrong = KernelSmoother::with_bandwidth(&two, EdgeCorrection::None, &[0.1, 0.1]);
    assert!(matches!(wrong.unwrap_err(), Error::Dimension { expected: 1, found: 2, .. }));
    let smoother = KernelSmoother::fit(&two, EdgeCorrection::Truncate).unwrap();
    let plane = Points::from_rows(&[[0.1, 0.2]]).unwrap();
    assert!(matches!(smoother.rate(&plane), Err(Error::Dimension { .. })));
    let flat = Events::new(plane, rectangle()).unwrap();
    assert!(matches!(smoother.log_likelihood(&flat), Err(Error::Dimension { .. })));
    assert!(matches!(smoother.expected(&rectangle()), Err(Error::Dimension { .. })));
    assert!(matches!(smoother.expected(&Window::interval(2.0, 3.0).unwrap()), Err(Error::Setting { .. })));
    let wider = Events::new(Points::line(&[0.5, 1.5]).unwrap(), Window::interval(0.0, 2.0).unwrap()).unwrap();
    assert!(matches!(smoother.log_likelihood(&wider), Err(Error::Setting { name, .. }) if name == "held-out window"));
    assert!(matches!(smoother.loo_at(&[-0.1]), Err(Error::Setting { .. })));
    assert!(smoother.loo_at(&[1e-5]).unwrap().1[0].is_nan());
    assert!(Homogeneous::with_prior(&two, -1.0, 0.0).is_err() && Homogeneous::with_prior(&two, 1.0, f64::NAN).is_err());
    assert_eq!(Homogeneous::with_prior(&none, 0.0, 1.0).unwrap_err(), Error::NoEvents);
    assert!(Homogeneous::fit(&two).unwrap().quantiles(&[0.5, 1.5]).is_err());
}

#[test]
fn the_mines_show_their_decline() {
    let (lo, hi) = (1851.2026009582, 1962.2197125257);
    let events = Events::new(Points::line(&coal()).unwrap(), Window::interval(lo, hi).unwrap()).unwrap();
    let smoother = KernelSmoother::fit(&events, EdgeCorrection::Truncate).unwrap();
    let constant = Homogeneous::fit(&events).unwrap();
    assert!(smoother.bandwidth()[0] > 1.0 && smoother.bandwidth()[0] < 8.0, "{:?}", smoother.bandwidth());
    assert!(smoother.loo() > constant.log_likelihood(&events) + 10.0);
    let rate = smoother.rate(&Points::line(&[1870.0, 1930.0]).unwrap()).unwrap();
    assert!(rate[0] > 2.0 && rate[1] < 1.5, "{rate:?}");
}

#[test]
fn the_constant_rate_has_its_gamma_posterior() {
    let events = events(&rectangle().with_repeats(2).unwrap(), 37);
    let fit = Homogeneous::fit(&events).unwrap();
    let (shape, inverse_scale) = fit.parameters();
    assert_eq!((shape, fit.len()), (37.5, 37));
    assert!(close(inverse_scale, 6.0, 1e-15) && close(fit.mean(), 6.25, 1e-15));
    assert!(close(fit.sd(), 37.5f64.sqrt() / 6.0, 1e-15));
    let seen = |count: usize, times: usize| {
        let points = scattered(&rectangle(), count, 3);
        Events::new(points, rectangle().with_repeats(times).unwrap()).unwrap()
    };
    assert!(close(fit.log_likelihood(&seen(30, 2)), 30.0 * 6.25f64.ln() - 37.5, 1e-14));
    // The held-out events of one look at the window, where two were fitted.
    assert!(close(fit.log_likelihood(&seen(30, 1)), 30.0 * 6.25f64.ln() - 18.75, 1e-14));
    for p in [0.001, 0.05, 0.5, 0.975] {
        let q = fit.quantiles(&[p]).unwrap()[0];
        assert!((fit.probability_below(q) - p).abs() < 1e-13);
        assert!((by_quadrature(&fit, |_| 0.0, Some(q)) - p).abs() < 1e-11);
    }
    assert_eq!(fit.quantiles(&[0.0, 1.0]).unwrap(), [0.0, f64::INFINITY]);
    for (held_out, times) in [(0, 2), (1, 2), (30, 2), (60, 2), (30, 1), (30, 5)] {
        let measure = 3.0 * times as f64;
        let log = |rate: f64| held_out as f64 * rate.ln() - measure * rate;
        let want = by_quadrature(&fit, log, None).ln();
        let got = fit.log_predictive(&seen(held_out, times));
        assert!(close(got, want, 1e-12), "{got} {want}");
        // An average over rates is less than the best of them.
        let best = if held_out == 0 { 0.0 } else { log(held_out as f64 / measure) };
        assert!(got < best);
    }
}

/// E[e^{log(λ)}; λ < upto] under a posterior.
fn by_quadrature(fit: &Homogeneous, log: impl Fn(f64) -> f64, upto: Option<f64>) -> f64 {
    let (a, b) = fit.parameters();
    let rule = GaussLegendre::new(60);
    let high = upto.unwrap_or(fit.mean() + 20.0 * fit.sd());
    let density = |x: f64| (a * b.ln() + (a - 1.0) * x.ln() - b * x - libm::lgamma(a)).exp();
    let panel = |i: usize| rule.on(high * i as f64 / 20.0, high * (i + 1) as f64 / 20.0).collect::<Vec<_>>();
    (0..20).flat_map(panel).map(|(x, w)| w * density(x) * log(x).exp()).sum()
}

#[test]
fn no_events_are_data_for_the_constant_rate() {
    let none = Events::new(Points::line(&[]).unwrap(), Window::interval(0.0, 4.0).unwrap()).unwrap();
    let fit = Homogeneous::fit(&none).unwrap();
    assert!(fit.is_empty() && close(fit.mean(), 0.125, 1e-15));
    // Gamma(½) is half a squared Gaussian: P(½, x) = erf(√x).
    for p in [0.05, 0.5, 0.95] {
        let x = 4.0 * fit.quantiles(&[p]).unwrap()[0];
        assert!((libm::erf(x.sqrt()) - p).abs() < 1e-14);
    }
    assert!(close(fit.log_predictive(&none), -0.5 * 2f64.ln(), 1e-14));
}

#[test]
fn a_posterior_is_the_next_prior() {
    let window = || Window::interval(0.0, 3.0).unwrap();
    let of = |count: usize, prior: (f64, f64)| {
        let events = Events::new(scattered(&window(), count, 1), window()).unwrap();
        Homogeneous::with_prior(&events, prior.0, prior.1).unwrap()
    };
    let (first, all) = (of(12, (2.0, 1.0)), of(21, (2.0, 4.0)));
    let second = of(9, first.parameters());
    assert_eq!(second.parameters(), all.parameters());
    // p(9 more, then 5 more) = p(9 more) p(5 more | 9 more), which does not depend on the order
    let seen = |count: usize| Events::new(scattered(&window(), count, 1), window()).unwrap();
    let joint =
        |a: usize, b: usize| first.log_predictive(&seen(a)) + of(a, first.parameters()).log_predictive(&seen(b));
    assert!(close(joint(9, 5), joint(5, 9), 1e-13));
}
