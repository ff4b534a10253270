//! Events drawn from known intensities: as many as there should be, where they should be, and Poisson. Seeds are fixed.

use pointillist::window::{Exposure, Polygons};
use pointillist::{Error, Intensity, Points, Simulation, Window, simulate};

/// Standard errors a mean may be off; with fixed seeds it either always is or never.
const ERRORS: f64 = 4.0;

fn drawn(simulation: &Simulation, draws: u64) -> Vec<Points> {
    (0..draws).map(|draw| simulation.draw(11, draw).unwrap()).collect()
}

/// How often each draw has a point for which `inside` holds.
fn counts(draws: &[Points], inside: impl Fn(&[f64]) -> bool) -> Vec<f64> {
    draws.iter().map(|points| points.rows().filter(|row| inside(row)).count() as f64).collect()
}

/// Counts that must be Poisson with this mean: their mean, and their scatter about it.
#[track_caller]
fn is_poisson(counts: &[f64], mean: f64) {
    let n = counts.len() as f64;
    let z = (counts.iter().sum::<f64>() - n * mean) / (n * mean).sqrt();
    assert!(z.abs() < ERRORS, "the mean is off by {z} standard errors of {mean}");
    // Σ (k − μ)²/μ has mean n and variance n (2 + 1/μ).
    let chi_square: f64 = counts.iter().map(|k| (k - mean).powi(2) / mean).sum();
    let z = (chi_square - n) / (n * (2.0 + 1.0 / mean)).sqrt();
    assert!(z.abs() < ERRORS, "the scatter is off by {z} standard errors");
}

/// Adams, Murray and MacKay's three intensities on their windows, with their integrals.
fn adams() -> [(&'static str, f64, f64); 3] {
    [
        ("2*exp(-s/15) + exp(-((s - 25)/10)^2)", 50.0, 46.647_105_7),
        ("5*sin(s^2) + 6", 5.0, 32.639_586_4),
        ("interp(s, 0,2, 25,3, 50,1, 75,2.5, 100,3)", 100.0, 225.0),
    ]
}

#[test]
fn the_three_intensities_of_adams_have_their_numbers_of_events() {
    for (text, hi, mean) in adams() {
        let (window, intensity) = (Window::interval(0.0, hi).unwrap(), Intensity::parse(text, &["s"]).unwrap());
        let simulation = Simulation::new(&window, |x| intensity.at(x)).unwrap();
        assert!((simulation.expected().unwrap() / mean - 1.0).abs() < 1e-7, "{:?}", simulation.expected());
        assert!(simulation.candidates() < 1.6 * mean, "{} candidates", simulation.candidates());
        let draws = drawn(&simulation, 400);
        is_poisson(&counts(&draws, |_| true), mean);
        assert!(draws.iter().all(|points| points.coordinates().is_sorted()), "on one axis they rise");
    }
}

#[test]
fn counts_in_parts_of_the_window_are_poisson_and_apart() {
    let (text, hi, _) = adams()[1];
    let (window, intensity) = (Window::interval(0.0, hi).unwrap(), Intensity::parse(text, &["s"]).unwrap());
    let draws = drawn(&Simulation::new(&window, |x| intensity.at(x)).unwrap(), 1000);
    let part = |k: usize| (0.5 * k as f64, 0.5 * (k + 1) as f64);
    let mut deviations = Vec::new();
    for k in 0..10 {
        let (lo, hi) = part(k);
        let region = Window::interval(lo, hi).unwrap();
        let mean = Simulation::new(&region, |x| intensity.at(x)).unwrap().expected().unwrap();
        let counts = counts(&draws, |x| lo <= x[0] && x[0] < hi);
        is_poisson(&counts, mean);
        deviations.push(counts.iter().map(|n| (n - mean) / mean.sqrt()).collect::<Vec<_>>());
    }
    for (k, one) in deviations.iter().enumerate() {
        for other in &deviations[k + 1..] {
            let together = one.iter().zip(other).map(|(a, b)| a * b).sum::<f64>() / (one.len() as f64).sqrt();
            assert!(together.abs() < ERRORS, "{together}");
        }
    }
}

/// A square of side 10 with a hole of side 2.
fn holed_square() -> Polygons {
    let outside = vec![[0.0, 0.0], [10.0, 0.0], [10.0, 10.0], [0.0, 10.0]];
    let hole = vec![[4.0, 4.0], [4.0, 6.0], [6.0, 6.0], [6.0, 4.0]];
    Polygons::new(vec![vec![outside, hole]]).unwrap()
}

#[test]
fn events_stay_inside_borders() {
    let triangle = Polygons::new(vec![vec![vec![[0.0, 0.0], [8.0, 1.0], [3.0, 9.0]]]]).unwrap();
    let area = triangle.area();
    let window = Window::inside(triangle);
    let simulation = Simulation::new(&window, |_| 0.7).unwrap();
    assert!((simulation.expected().unwrap() - 0.7 * area).abs() < 1e-9);
    let draws = drawn(&simulation, 300);
    draws.iter().for_each(|points| window.check_inside(points).unwrap());
    is_poisson(&counts(&draws, |_| true), 0.7 * area);

    let window = Window::inside(holed_square());
    let simulation = Simulation::new(&window, |p| 0.1 * p[0]).unwrap();
    let draws = drawn(&simulation, 300);
    draws.iter().for_each(|points| window.check_inside(points).unwrap());
    is_poisson(&counts(&draws, |p| p[0] < 4.0), 0.1 * 8.0 * 10.0);
    is_poisson(&counts(&draws, |p| p[0] > 4.0 && p[0] < 6.0), 0.1 * 10.0 * 8.0);
    is_poisson(&counts(&draws, |_| true), 48.0);
}

#[test]
fn a_rate_need_not_exist_outside_the_border() {
    let triangle = Polygons::new(vec![vec![vec![[1.0, 0.0], [9.0, 0.0], [9.0, 8.0]]]]).unwrap();
    let window = Window::inside(triangle);
    // Defined where x > y only, which is all of the triangle but its long side.
    let simulation = Simulation::new(&window, |p| 3.0 * (p[0] - p[1]).sqrt()).unwrap();
    let draws = drawn(&simulation, 100);
    draws.iter().for_each(|points| window.check_inside(points).unwrap());
    // x − y = 1 + u where u runs from 0 at the long side to 8, in strips of length 8 − u along the side: ∫ √(1 + u) (8 − u) du.
    let whole = |u: f64| 6.0 * (1.0 + u).powf(1.5) - 0.4 * (1.0 + u).powf(2.5);
    is_poisson(&counts(&draws, |_| true), 3.0 * (whole(8.0) - whole(0.0)));
}

#[test]
fn space_and_time_unions_and_repeats_have_their_parts() {
    let prism = Window::inside(holed_square()).times(&Window::interval(0.0, 4.0).unwrap()).unwrap();
    let simulation = Simulation::new(&prism, |p| 0.05 * p[2]).unwrap();
    let draws = drawn(&simulation, 300);
    draws.iter().for_each(|points| prism.check_inside(points).unwrap());
    is_poisson(&counts(&draws, |p| p[2] < 2.0), 0.05 * 96.0 * 2.0);
    is_poisson(&counts(&draws, |p| p[2] > 2.0), 0.05 * 96.0 * 6.0);

    let parts = [Window::interval(0.0, 1.0).unwrap(), Window::interval(5.0, 9.0).unwrap().with_repeats(3).unwrap()];
    let union = Window::union(&parts).unwrap();
    let simulation = Simulation::new(&union, |x| x[0]).unwrap();
    assert!((simulation.expected().unwrap() - 84.5).abs() < 1e-9);
    let draws = drawn(&simulation, 1000);
    is_poisson(&counts(&draws, |x| x[0] <= 1.0), 0.5);
    is_poisson(&counts(&draws, |x| x[0] >= 5.0), 84.0);
    draws.iter().for_each(|points| union.check_inside(points).unwrap());

    let trials: Vec<(f64, f64)> = (0..500).map(|i| (0.01 * i as f64, 0.01 * i as f64 + 2.0)).collect();
    let trials = Window::trials(&trials).unwrap();
    is_poisson(&counts(&drawn(&Simulation::new(&trials, |_| 0.3).unwrap(), 200), |_| true), 0.3 * 1000.0);
}

#[test]
fn an_exposure_multiplies_the_rate_however_narrow_it_is() {
    // A peak of exposure from 6.499 to 6.501, which no cell would look at: 1000 · 0.001 = 1 on top of 10.
    let lines = vec![vec![0.0, 6.499, 6.5, 6.501, 10.0]];
    let exposure = Exposure::grid(vec![0], lines, vec![1.0, 1.0, 1001.0, 1.0, 1.0]).unwrap();
    let window = Window::interval(0.0, 10.0).unwrap().with_exposure(exposure).unwrap();
    let simulation = Simulation::new(&window, |_| 2.0).unwrap();
    assert!((simulation.expected().unwrap() - 22.0).abs() < 1e-9);
    let draws = drawn(&simulation, 2000);
    is_poisson(&counts(&draws, |x| (x[0] - 6.5).abs() < 0.001), 2.004);
    is_poisson(&counts(&draws, |x| (x[0] - 6.5).abs() >= 0.001), 19.996);

    let exposure = Exposure::grid(vec![1], vec![vec![0.0, 1.0]], vec![0.0, 4.0]).unwrap();
    let window = Window::new(&[(0.0, 3.0), (0.0, 1.0)]).unwrap().with_exposure(exposure).unwrap();
    let draws = drawn(&Simulation::new(&window, |_| 5.0).unwrap(), 500);
    is_poisson(&counts(&draws, |p| p[1] < 0.5), 5.0 * 3.0 * 0.5);
    is_poisson(&counts(&draws, |p| p[1] > 0.5), 5.0 * 3.0 * 1.5);
}

#[test]
fn spikes_are_cheap_and_right() {
    let line = Window::interval(0.0, 100.0).unwrap();
    let needle = |x: &[f64]| 1.0 + 1e7 * (-((x[0] - 61.803) / 1e-2).powi(2)).exp();
    let simulation = Simulation::new(&line, needle).unwrap();
    let mean = 1e5 * std::f64::consts::PI.sqrt();
    assert!(simulation.candidates() < 2.5 * mean, "{}", simulation.candidates());
    is_poisson(&counts(&drawn(&simulation, 10), |x| (x[0] - 61.803).abs() < 0.1), mean + 0.2);

    let plane = Window::new(&[(0.0, 1.0), (0.0, 1.0)]).unwrap();
    let peak = |p: &[f64]| 1e8 * (-((p[0] - 0.3).powi(2) + (p[1] - 0.7).powi(2)) / 4e-6).exp();
    let simulation = Simulation::new(&plane, peak).unwrap();
    let mean = 1e8 * std::f64::consts::PI * 4e-6;
    assert!(simulation.candidates() < 4.0 * mean, "{}", simulation.candidates());
    is_poisson(&counts(&drawn(&simulation, 30), |_| true), mean);

    let disc = |p: &[f64]| if p[0].hypot(p[1] - 0.5) < 0.3 { 5e4 } else { 0.0 };
    let simulation = Simulation::new(&plane, disc).unwrap();
    let mean = 5e4 * 0.5 * std::f64::consts::PI * 0.09;
    assert!(simulation.candidates() < 1.8 * mean, "{}", simulation.candidates());
    is_poisson(&counts(&drawn(&simulation, 40), |_| true), mean);
}

#[test]
fn few_events_are_as_few_as_they_should_be() {
    let window = Window::interval(0.0, 10.0).unwrap();
    let simulation = Simulation::new(&window, |x| 0.05 * (-((x[0] - 3.21) / 0.02).powi(2)).exp()).unwrap();
    is_poisson(&counts(&drawn(&simulation, 200_000), |_| true), 0.05 * 0.02 * std::f64::consts::PI.sqrt());
    let none = Simulation::new(&window, |_| 0.0).unwrap();
    assert!(none.draw(0, 0).unwrap().is_empty() && none.expected() == Some(0.0));
}

#[test]
fn no_period_hides_between_the_points() {
    for period in [1.0, 0.5, 0.25, 4.0 / 3.0] {
        let window = Window::interval(0.0, 4096.0).unwrap();
        let simulation =
            Simulation::new(&window, |x| 2.0 * (std::f64::consts::PI * x[0] / period).sin().powi(2)).unwrap();
        is_poisson(&counts(&drawn(&simulation, 20), |_| true), 4096.0);
    }
}

#[test]
fn the_same_seed_gives_the_same_bits_on_any_number_of_threads() {
    let window = Window::new(&[(0.0, 1.0), (0.0, 2.0)]).unwrap();
    let rate = |p: &[f64]| 2e4 * (1.0 + (3.0 * p[0]).sin() * p[1]);
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| simulate(&window, rate, 5, 3).unwrap())
    };
    let one = on(1);
    assert_eq!(one, on(4));
    assert_eq!(one, Simulation::new(&window, rate).unwrap().draw(5, 3).unwrap());
    let at_once = |points: &Points| Ok(points.rows().map(rate).collect());
    assert_eq!(one, Simulation::of_batches(&window, at_once).unwrap().draw(5, 3).unwrap());
    assert_ne!(one, simulate(&window, rate, 5, 4).unwrap());
    assert_ne!(one, simulate(&window, rate, 6, 3).unwrap());
}

#[test]
fn the_order_on_several_axes_says_nothing() {
    let window = Window::new(&[(0.0, 1.0), (0.0, 1.0)]).unwrap();
    let points = simulate(&window, |_| 1e4, 0, 0).unwrap();
    let half = points.len() / 2;
    let mean = |r: usize| points.rows().take(half).map(|row| row[r]).sum::<f64>() / half as f64;
    let error = (1.0 / 12.0 / half as f64).sqrt();
    assert!((mean(0) - 0.5).abs() < ERRORS * error && (mean(1) - 0.5).abs() < ERRORS * error);
}

#[test]
fn many_axes_work_up_to_a_number() {
    for dims in 3..=8 {
        let window = Window::new(&vec![(0.0, 2.0); dims]).unwrap();
        let volume = 2f64.powi(dims as i32);
        let simulation = Simulation::new(&window, |p| p[0] * p[dims - 1]).unwrap();
        assert!((simulation.expected().unwrap() / volume - 1.0).abs() < 1e-9);
        is_poisson(&counts(&drawn(&simulation, 100), |_| true), volume);
    }
    let nine = Window::new(&[(0.0, 1.0); 9]).unwrap();
    assert!(Simulation::new(&nine, |_| 1.0).err().unwrap().to_string().contains("at most 8"));
}

#[test]
fn what_is_no_rate_is_refused_with_its_place() {
    let window = Window::interval(0.0, 10.0).unwrap();
    let refused = |rate: &(dyn Fn(f64) -> f64 + Sync)| simulate(&window, |x| rate(x[0]), 0, 0).unwrap_err();
    for (rate, wrong) in [
        (
            &(|x: f64| 1.0 - x) as &(dyn Fn(f64) -> f64 + Sync),
            &(|x: f64, value: f64| x > 1.0 && value == 1.0 - x) as &dyn Fn(f64, f64) -> bool,
        ),
        (&|x: f64| (x - 5.0).sqrt(), &|x: f64, value: f64| x < 5.0 && value.is_nan()),
        (&|x: f64| 1.0 / x, &|x: f64, value: f64| x == 0.0 && value == f64::INFINITY),
    ] {
        let Error::BadRate { point, value } = refused(rate) else { panic!() };
        assert!(wrong(point[0], value), "{point:?} {value}");
    }
    let sentence = refused(&|_| 1e12).to_string();
    assert!(sentence.contains("candidates") && sentence.contains("1.300e13"), "{sentence}");
    assert!(refused(&|x| f64::MAX / 2.0 * (1.0 + x / 20.0)).to_string().contains("candidates"));
    let short = Simulation::of_batches(&window, |_| Ok(vec![1.0]));
    assert!(matches!(short.err(), Some(Error::Dimension { what: "rates", .. })));
}

#[test]
fn an_expected_number_is_right_or_not_told() {
    let window = Window::interval(0.0, 1000.0).unwrap();
    // A narrow step: panels of a 256th of the window saw 136 of its 200 events.
    let step = Simulation::new(&window, |x| if (250.0..251.0).contains(&x[0]) { 200.0 } else { 0.0 }).unwrap();
    assert!(step.expected().is_none_or(|expected| (expected / 200.0 - 1.0).abs() < 0.01), "{:?}", step.expected());
    let peak = Simulation::new(&window, |x| 50.0 * (-((x[0] - 333.3) / 0.5).powi(2)).exp()).unwrap();
    let truth = 25.0 * std::f64::consts::PI.sqrt();
    assert!((peak.expected().unwrap() / truth - 1.0).abs() < 1e-3, "{:?}", peak.expected());
}
