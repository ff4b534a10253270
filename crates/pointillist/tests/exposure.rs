//! Exposures: weights stand for the exposure they are spread to, cells that are cut finer change nothing, regions add up, rates are found.

use crate::common::{bound_on, scatter};
use pointillist::field::lattice::{Grid, Mass};
use pointillist::kernel::{Factor, Part, Term};
use pointillist::settings::Inducing;
use pointillist::window::{Exposure, Polygons};
use pointillist::{Error, Events, Family, Fit, Kernel, LatticeChoice, Model, Points, Window, simulate};

fn interval(lo: f64, hi: f64) -> Window {
    Window::interval(lo, hi).unwrap()
}

fn square() -> Window {
    Window::new(&[(0.0, 1.0), (0.0, 1.0)]).unwrap()
}

/// An L with a hole.
fn border() -> Window {
    let outside = vec![[0.0, 0.0], [1.0, 0.0], [1.0, 0.5], [0.6, 0.55], [0.5, 1.0], [0.0, 0.9]];
    let hole = vec![[0.15, 0.15], [0.3, 0.2], [0.2, 0.35]];
    Window::inside(Polygons::new(vec![vec![outside, hole]]).unwrap())
}

/// One window of each kind on one to three axes.
fn windows() -> Vec<Window> {
    let gap = Window::union(&[interval(0.0, 0.4), interval(0.55, 1.0)]).unwrap();
    vec![
        interval(0.0, 1.0),
        gap,
        square().with_repeats(3).unwrap(),
        border(),
        square().times(&interval(0.0, 1.0)).unwrap(),
        border().times(&interval(0.0, 1.0)).unwrap(),
    ]
}

/// The bound at a fixed q: with a smooth kernel, or with one that has a kink at each inducing point.
fn bound(window: &Window, kink: bool) -> f64 {
    let dims = window.dims();
    let points = Points::new(dims, scatter(12 * dims, 0.6180)).unwrap().filter(|row| window.contains(row));
    let kernel = match kink {
        false => Kernel::squared_exponential(1.3, &vec![0.3; dims]).unwrap(),
        true => {
            let part = |axis| Part { axis, factor: Factor::Matern32, parameters: vec![0.4] };
            Kernel::new(dims, vec![Term { variance: 1.3, parts: (0..dims).map(part).collect() }]).unwrap()
        }
    };
    bound_on(window, &kernel, &points).total()
}

/// ∫f² over a window for some f on a lattice.
fn lattice_integral(window: &Window) -> f64 {
    let dims = window.dims();
    let grid = Grid::around(window, &[7, 6, 5][..dims], &vec![0.1; dims]).unwrap();
    let mass = Mass::over(&grid, window).unwrap();
    let f: Vec<f64> = (0..grid.size()).map(|i| (i as f64 * 0.9).cos()).collect();
    let square: f64 = mass.square.times(&f).iter().zip(&f).map(|(a, b)| a * b).sum();
    square + mass.linear.iter().zip(&f).map(|(a, b)| a * b).sum::<f64>() + mass.measure
}

#[track_caller]
fn close(a: f64, b: f64, tolerance: f64, what: &str) {
    assert!((a - b).abs() <= tolerance * b.abs().max(1.0), "{what}: {a} is not {b}");
}

/// Weights on a grid of the unit box: so many places on each axis, in the middles of even cells.
fn middles(counts: &[usize]) -> Points {
    let half = |n: &usize| 0.5 / *n as f64;
    let lo: Vec<f64> = counts.iter().map(half).collect();
    let hi: Vec<f64> = lo.iter().map(|half| 1.0 - half).collect();
    Points::grid(&lo, &hi, counts)
}

#[test]
fn even_weights_on_a_grid_change_nothing() {
    for window in
        windows().into_iter().filter(|window| window.outlines().next().is_none() && window.pieces().len() == 1)
    {
        let counts = &[5, 4, 3][..window.dims()];
        let places = middles(counts);
        let weight = 1.0 / places.len() as f64;
        let spread = Exposure::spread(&window, &places, &vec![weight; places.len()]).unwrap();
        assert_eq!(spread.left_out, 0);
        let exposed = window.clone().with_exposure(spread.exposure).unwrap();
        close(exposed.measure(), window.measure(), 1e-12, "measure");
        close(bound(&exposed, false), bound(&window, false), 1e-9, "bound");
        close(lattice_integral(&exposed), lattice_integral(&window), 1e-11, "lattice");
    }
}

#[test]
fn weights_are_the_exposure_that_they_are_spread_to() {
    // Steps are all but drawn by a grid that has two lines, hardly apart, where a cell ends.
    let weights: Vec<f64> = scatter(5, 0.618).iter().map(|u| 0.2 + u).collect();
    let places = [0.05, 0.3, 0.5, 0.6, 0.9];
    let lines = [0.0, 0.175, 0.4, 0.55, 0.75, 1.0];
    let window = interval(0.0, 1.0);
    let spread = Exposure::spread(&window, &Points::line(&places).unwrap(), &weights).unwrap();
    let (mut steps, mut values) = (vec![], vec![]);
    for (i, weight) in weights.iter().enumerate() {
        let inward = |end: usize, by: f64| if end == 0 || end == 5 { lines[end] } else { lines[end] + by };
        steps.extend([inward(i, 1e-9), inward(i + 1, -1e-9)]);
        values.extend([weight / (lines[i + 1] - lines[i]); 2]);
    }
    let cells = window.clone().with_exposure(spread.exposure).unwrap();
    let grid = window.with_exposure(Exposure::grid(vec![0], vec![steps], values).unwrap()).unwrap();
    for x in [0.0, 0.1, 0.2, 0.5, 0.7, 0.8, 1.0] {
        close(cells.coverage(&[x]), grid.coverage(&[x]), 1e-9, "coverage");
    }
    for kink in [false, true] {
        close(bound(&cells, kink), bound(&grid, kink), 1e-7, "bound");
    }
    close(lattice_integral(&cells), lattice_integral(&grid), 1e-7, "lattice");
    // Part of a window has the weight of that part.
    let part = cells.intersection(&interval(0.1, 0.6)).unwrap();
    let share = |i: usize, length: f64| weights[i] * length / (lines[i + 1] - lines[i]);
    close(part.measure(), share(0, 0.075) + weights[1] + weights[2] + share(3, 0.05), 1e-12, "part");
}

#[test]
fn cutting_the_cells_finer_changes_nothing() {
    // Each cell becomes 40 on an axis, 12 where there are three: far more than the integrand needs, so that they are gathered.
    for window in windows() {
        let dims = window.dims();
        let (counts, parts) = (&[4, 3, 2][..dims], if dims == 3 { 12 } else { 40 });
        let values: Vec<f64> = scatter(counts.iter().product(), 0.618).iter().map(|u| 0.2 + u).collect();
        let even = |count: usize| (0..=count).map(|i| i as f64 / count as f64).collect::<Vec<f64>>();
        let fine: Vec<usize> = counts.iter().map(|count| count * parts).collect();
        let value = |mut cell: usize| {
            let (mut at, mut stride) = (0, 1);
            for r in (0..dims).rev() {
                at += cell % fine[r] / parts * stride;
                (cell, stride) = (cell / fine[r], stride * counts[r]);
            }
            values[at]
        };
        let fine_values = (0..fine.iter().product()).map(value).collect();
        let exposed = |counts: &[usize], values: Vec<f64>| {
            let lines = counts.iter().map(|&count| even(count)).collect();
            let exposure = Exposure::cells((0..dims).collect(), lines, values).unwrap();
            window.clone().with_exposure(exposure).unwrap()
        };
        let (few, many) = (exposed(counts, values.clone()), exposed(&fine, fine_values));
        close(many.measure(), few.measure(), 1e-12, "measure");
        for kink in [false, true] {
            close(bound(&many, kink), bound(&few, kink), 1e-9, "bound");
        }
        close(lattice_integral(&many), lattice_integral(&few), 1e-11, "lattice");
    }
}

fn fits(events: &Events) -> [Fit; 2] {
    let inducing =
        Model { family: Inducing::Grid(vec![6; events.window().dims()]).into(), ..Model::of_maximum_likelihood() };
    let lattice = Model { family: Family::Lattice(LatticeChoice::default()), ..Model::default() };
    [inducing, lattice].map(|model| model.fit(events).unwrap())
}

#[test]
fn a_known_rate_under_weights_is_found_and_its_regions_add_up() {
    // Twenty times as closely looked at in the middle, and a rate that falls: the events alone would show a hill.
    let people = |p: &[f64]| 0.05 + (-((p[0] - 0.5).powi(2) + (p[1] - 0.5).powi(2)) / 0.04).exp();
    let rate = |p: &[f64]| 5000.0 * (1.5 - p[0]);
    let (x, y) = (scatter(600, 0.7548776662), scatter(600, 0.5698402910));
    let scattered = Points::new(2, x.into_iter().zip(y).flat_map(|(x, y)| [x, y]).collect()).unwrap();
    for (places, border) in [(middles(&[30, 20]), false), (scattered, false), (middles(&[30, 20]), true)] {
        let window = if border { border_around() } else { square() };
        let weights: Vec<f64> = places.rows().map(|p| people(p) / places.len() as f64).collect();
        let spread = Exposure::spread(&window, &places, &weights).unwrap();
        let window = window.with_exposure(spread.exposure).unwrap();
        let points = simulate(&window, rate, 7, 0).unwrap();
        let count = points.len() as f64;
        assert!(count > 500.0, "{count}");
        let events = Events::new(points, window.clone()).unwrap();
        for fit in fits(&events) {
            close(fit.report.bound.integral(), count, 0.02, "integral");
            let at = Points::from_rows(&[[0.3, 0.5], [0.5, 0.4], [0.7, 0.5]]).unwrap();
            let found = fit.posterior.rate(&at).unwrap();
            for (row, (mean, sd)) in at.rows().zip(found.mean.iter().zip(&found.sd)) {
                assert!(
                    (mean - rate(row)).abs() < 3.0 * sd && *sd < 0.25 * mean,
                    "{row:?} {mean} ± {sd}, {}",
                    rate(row)
                );
            }
            let part = |x: (f64, f64), y: (f64, f64)| fit.posterior.count(&Window::new(&[x, y]).unwrap()).unwrap().mean;
            let parts = part((0.0, 0.33), (0.0, 1.0)) + part((0.33, 1.0), (0.0, 0.51)) + part((0.33, 1.0), (0.51, 1.0));
            let whole = fit.posterior.count(&window).unwrap().mean;
            close(parts, whole, 1e-7, "parts");
            close(whole, count, 0.02, "whole");
            // New events follow the weights: as many in the middle as were there.
            let drawn = fit.posterior.sample_events(1, 0).unwrap();
            let middle =
                |points: &Points| points.filter(|p| (p[0] - 0.5).abs() < 0.2 && (p[1] - 0.5).abs() < 0.2).len();
            let (here, there) = (middle(events.points()) as f64, middle(&drawn) as f64);
            assert!((here - there).abs() < 4.0 * (2.0 * here).sqrt(), "{here} {there}");
        }
    }
}

/// The unit square without two of its corners.
fn border_around() -> Window {
    let corners = vec![[0.0, 0.0], [0.8, 0.0], [1.0, 0.3], [1.0, 1.0], [0.1, 1.0], [0.0, 0.9]];
    Window::inside(Polygons::new(vec![vec![corners]]).unwrap())
}

#[test]
fn an_event_where_the_weight_is_zero_is_refused() {
    let window = interval(0.0, 3.0);
    let spread = Exposure::spread(&window, &Points::line(&[0.5, 1.5, 2.5]).unwrap(), &[1.0, 0.0, 1.0]).unwrap();
    let window = window.with_exposure(spread.exposure).unwrap();
    let refused = Events::new(Points::line(&[0.5, 1.7]).unwrap(), window).unwrap_err();
    assert!(matches!(refused, Error::Unexposed { index: 1, .. }), "{refused}");
}
