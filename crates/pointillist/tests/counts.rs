//! Joint counts of many regions: against closed forms, against one another, and against slow versions.

use crate::common;
use pointillist::settings::{Inducing, Smoothness};
use pointillist::{Error, Events, Family, JointCounts, LatticeChoice, Link, Model, Points, Posterior, Window};
use std::ops::ControlFlow;

fn on_a_line(lattice: bool) -> Posterior {
    let (lo, hi) = common::COAL_WINDOW;
    let window = Window::interval(lo, hi).unwrap();
    let events = Events::new(Points::line(&common::coal()).unwrap(), window).unwrap();
    let inducing = Model { family: Inducing::Grid(vec![18]).into(), ..Model::of_maximum_likelihood() };
    let model = if lattice { lattice_model(&[300]) } else { inducing };
    model.fit(&events).unwrap().posterior
}

fn lattice_model(nodes: &[usize]) -> Model {
    let (nodes, smoothness) = (Some(nodes.to_vec()), Some(Smoothness::Two));
    Model {
        family: Family::Lattice(LatticeChoice { nodes, smoothness, ..LatticeChoice::as_in_the_paper() }),
        ..Model::of_maximum_likelihood()
    }
}

fn on_a_plane() -> Posterior {
    let u = |i: usize, step: f64| (0.5 + step * i as f64).fract();
    let rows: Vec<[f64; 2]> = (0..300).map(|i| [2.0 * u(i, 0.754878).powi(2), u(i, 0.56984)]).collect();
    let window = Window::new(&[(0.0, 2.0), (0.0, 1.0)]).unwrap();
    let events = Events::new(Points::from_rows(&rows).unwrap(), window).unwrap();
    lattice_model(&[24, 16]).fit(&events).unwrap().posterior
}

fn strips(posterior: &Posterior, count: usize) -> Vec<Window> {
    let spans = posterior.window().bounding_box();
    let cut = |i: usize| spans[0].lo + spans[0].length() * i as f64 / count as f64;
    let strip = |i: usize| {
        let rest = spans[1..].iter().map(|span| (span.lo, span.hi));
        Window::new(&[(cut(i), cut(i + 1))].into_iter().chain(rest).collect::<Vec<_>>()).unwrap()
    };
    (0..count).map(strip).collect()
}

fn mean_and_sd(values: &[f64]) -> (f64, f64) {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    (mean, (values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / values.len() as f64).sqrt())
}

fn all() -> [Posterior; 3] {
    [on_a_line(false), on_a_line(true), on_a_plane()]
}

#[test]
fn joint_draws_have_the_moments_of_single_regions() {
    for posterior in all() {
        let regions = strips(&posterior, 5);
        let counts = posterior.joint_counts(&regions, 4000, 1).unwrap();
        for (i, region) in regions.iter().enumerate() {
            let (exact, told) = (posterior.count(region).unwrap(), counts.moments()[i]);
            assert!((told.mean - exact.mean).abs() < 1e-9 * exact.mean, "{told:?} {exact:?}");
            // On a lattice the part that is quadratic in f's deviation comes from draws.
            assert!((told.sd / exact.sd - 1.0).abs() < 0.01, "{told:?} {exact:?}");
            let (mean, sd) = mean_and_sd(counts.of(i));
            assert!((mean - exact.mean).abs() < 4.0 * exact.sd / 4000f64.sqrt(), "{mean} {exact:?}");
            assert!((sd / exact.sd - 1.0).abs() < 0.07, "{sd} {exact:?}");
            let [low, high] = counts.quantiles(i, &[0.05, 0.95])[..] else { panic!() };
            assert!(((high - low) / (3.29 * exact.sd) - 1.0).abs() < 0.1, "{low} {high} {exact:?}");
            let [low, high] = counts.new_count_quantiles(i, &[0.05, 0.95])[..] else { panic!() };
            let spread = (exact.mean + exact.sd * exact.sd).sqrt();
            assert!((high - low - 3.29 * spread).abs() < 2.0 + 0.1 * spread, "{low} {high} {spread}");
            assert!(low.fract() == 0.0 && high.fract() == 0.0, "a count is a whole number");
        }
    }
}

#[test]
fn parts_sum_to_the_whole_draw_by_draw() {
    for posterior in all() {
        let mut regions = strips(&posterior, 7);
        regions.push(posterior.window().clone());
        let counts = posterior.joint_counts(&regions, 200, 3).unwrap();
        assert_eq!((counts.draws(), counts.values().len()), (200, 8 * 200));
        for draw in 0..counts.draws() {
            let parts: f64 = (0..7).map(|i| counts.of(i)[draw]).sum();
            let whole = counts.of(7)[draw];
            assert!((parts - whole).abs() < 1e-9 * whole, "{draw}: {parts} {whole}");
        }
    }
}

#[test]
fn covariances_are_those_of_drawn_intensities() {
    for posterior in all() {
        let regions = &strips(&posterior, 14)[3..5];
        // Slow and obvious: intensities at the middles of fine cells, summed.
        let side = if posterior.window().dims() == 1 { 400 } else { 40 };
        let cells: Vec<Points> = regions.iter().map(|region| middles(region, side)).collect();
        let both = cells[0].rows().chain(cells[1].rows()).flatten().copied().collect();
        let points = Points::new(posterior.window().dims(), both).unwrap();
        let drawn = posterior.sample(&points, 4000, 11).unwrap();
        let sum = |draw: &[f64], region: usize| {
            let own = if region == 0 { &draw[..cells[0].len()] } else { &draw[cells[0].len()..] };
            own.iter().sum::<f64>() * regions[region].volume() / own.len() as f64
        };
        let slow = [0, 1].map(|region| drawn.iter().map(|draw| sum(draw, region)).collect::<Vec<f64>>());
        let counts = posterior.joint_counts(regions, 4000, 2).unwrap();
        let correlation = |a: &[f64], b: &[f64]| {
            let ((ma, sa), (mb, sb)) = (mean_and_sd(a), mean_and_sd(b));
            a.iter().zip(b).map(|(a, b)| (a - ma) * (b - mb)).sum::<f64>() / (a.len() as f64 * sa * sb)
        };
        let (slow, fast) = (correlation(&slow[0], &slow[1]), correlation(counts.of(0), counts.of(1)));
        // The standard error of a correlation of 4000 draws is under 1/√4000, of 2000 pairs under 1/√2000.
        assert!((slow - fast).abs() < 4.0 * (1.0 / 4000.0 + 1.0 / 2000.0f64).sqrt(), "{slow} {fast}");
        assert!(fast.abs() > 0.1, "neighbours are correlated: {fast}");
    }
}

/// The middles of even cells of a box.
fn middles(region: &Window, side: usize) -> Points {
    let spans = region.bounding_box();
    let half = |r: usize| 0.5 * spans[r].length() / side as f64;
    let lo: Vec<f64> = (0..spans.len()).map(|r| spans[r].lo + half(r)).collect();
    let hi: Vec<f64> = (0..spans.len()).map(|r| spans[r].hi - half(r)).collect();
    Points::grid(&lo, &hi, &vec![side; spans.len()])
}

#[test]
fn a_region_does_not_depend_on_the_others_nor_on_threads() {
    let single = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    for posterior in all() {
        let regions = strips(&posterior, 40);
        let counts: JointCounts = posterior.joint_counts(&regions, 100, 5).unwrap();
        assert_eq!(single.install(|| posterior.joint_counts(&regions, 100, 5).unwrap()), counts);
        let alone = posterior.joint_counts(&regions[17..18], 100, 5).unwrap();
        assert_eq!((alone.of(0), alone.moments()[0]), (counts.of(17), counts.moments()[17]));
    }
}

#[test]
fn work_tells_how_it_goes_and_can_be_stopped() {
    let posterior = on_a_line(true);
    let regions = strips(&posterior, 40);
    let mut last = 0.0;
    let mut watch = |progress: pointillist::watch::CountProgress| {
        assert!(progress.done >= last && progress.done <= 1.0, "{progress:?} {last}");
        last = progress.done;
        ControlFlow::Continue(())
    };
    posterior.joint_counts_watched(&regions, 100, 5, &mut watch).unwrap();
    assert_eq!(last, 1.0);
    let stopped = posterior.joint_counts_watched(&regions, 100, 5, &mut |_| ControlFlow::Break(()));
    assert!(matches!(stopped, Err(Error::Cancelled)));
    assert!(posterior.joint_counts(&regions, usize::MAX, 5).is_err());
}

/// Peaks that are much narrower than the cells of a lattice: the nodes of the bound count them too high. Mean, draws and quantiles of a count are of one
/// integral all the same.
#[test]
fn on_a_lattice_too_coarse_for_its_peaks_the_mean_lies_in_the_interval() {
    let u = |i: usize, step: f64| (0.5 + step * i as f64).fract();
    let near = |i: usize| [[0.03, 0.04], [0.97, 0.5]][i % 3 / 2];
    let place = |i: usize| -> [f64; 2] {
        let middle = near(i);
        [0, 1].map(|r| (middle[r] + 0.08 * (u(i, [0.754878, 0.56984][r]) - 0.5)).clamp(0.0, 1.0))
    };
    let rows: Vec<[f64; 2]> = (0..600).map(place).chain((0..20).map(|i| [u(i, 0.754878), u(i, 0.56984)])).collect();
    let window = Window::new(&[(0.0, 1.0), (0.0, 1.0)]).unwrap();
    let events = Events::new(Points::from_rows(&rows).unwrap(), window.clone()).unwrap();
    let coarse = LatticeChoice {
        nodes: Some(vec![6, 6]),
        smoothness: Some(Smoothness::Two),
        links: vec![Link::Log],
        ..LatticeChoice::default()
    };
    let model = Model { family: Family::Lattice(coarse), average: false, ..Model::default() };
    let counts = model.fit(&events).unwrap().posterior.joint_counts(&[window], 2000, 0).unwrap();
    let (mean, ends) = (counts.moments()[0].mean, counts.quantiles(0, &[0.05, 0.95]));
    let drawn = counts.of(0).iter().sum::<f64>() / counts.draws() as f64;
    assert!((drawn / mean - 1.0).abs() < 0.02, "{drawn} {mean}");
    assert!(ends[0] < mean && mean < ends[1], "{mean} {ends:?}");
    assert!((3.29 * counts.moments()[0].sd / (ends[1] - ends[0]) - 1.0).abs() < 0.1, "{:?} {ends:?}", counts.moments());
}
