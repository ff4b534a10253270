//! A scale of f that varies over the window: what becomes of it in a fit.

use pointillist::field::lattice::{Lattice, Optimum, Start, Theta};
use pointillist::settings::{Smoothness, Vary};
use pointillist::testing::check_gradient;
use pointillist::{Events, Fit, LatticeChoice, Model, Points, Posterior, Simulation, Window};

/// A response of 55 above a level of 5, in 25 trials of a unit of time.
fn peak(t: f64) -> f64 {
    125.0 + 1250.0 * (-0.5 * ((t - 0.4) / 0.015).powi(2)).exp()
}

fn events(rate: impl Fn(f64) -> f64 + Sync, number: u64) -> Events {
    let window = Window::interval(0.0, 1.0).unwrap();
    let simulation = Simulation::new(&window, |place| rate(place[0])).unwrap();
    Events::new(simulation.draw(0, number).unwrap(), window.clone()).unwrap()
}

fn fit(events: &Events, vary: Vary) -> Fit {
    let family = LatticeChoice { vary, ..LatticeChoice::default() }.into();
    Model { family, ..Model::default() }.fit(events).unwrap()
}

/// The weight of components whose scale varies.
fn weight(posterior: &Posterior) -> f64 {
    let varies = |number: usize| {
        posterior.component(number).and_then(|one| one.lattice()).is_some_and(|lattice| !lattice.scale.is_empty())
    };
    posterior.weights().iter().enumerate().filter(|(number, _)| varies(*number)).map(|(_, weight)| weight).sum()
}

fn has_tried(fit: &Fit) -> bool {
    fit.report.tried.iter().any(|tried| tried.name.ends_with("local scale"))
}

#[test]
fn the_gradient_of_the_bound_by_the_scale_is_that_of_finite_differences() {
    let (window, events) = (Window::interval(0.0, 1.0).unwrap(), [0.1, 0.15, 0.3, 0.31, 0.33, 0.6, 0.72, 0.75, 0.8]);
    let events = Points::line(&events).unwrap();
    for smoothness in [Smoothness::Two, Smoothness::Four] {
        let lattice = Lattice::new(&window, &[12], &[0.2], smoothness).unwrap();
        let theta = |x: &[f64]| Theta {
            range: x[0].exp(),
            variance: x[1].exp(),
            mean: 3.0,
            stretch: vec![1.0],
            scale: x[2..].iter().map(|s| s.exp()).collect(),
        };
        let optimum = |x: &[f64]| -> Optimum {
            let (weights, theta) = (vec![1.0; events.len()], theta(x));
            let mut start = Start::Flat(theta.mean);
            for _ in 0..4 {
                let found = lattice.maximise(&events, &weights, &theta, start, (1e-13, 200)).unwrap();
                start = Start::Sites(found.sites);
            }
            lattice.maximise(&events, &weights, &theta, start, (1e-13, 200)).unwrap()
        };
        let x = [-0.9, 0.3, -0.6, 0.8, 0.2];
        let found = optimum(&x);
        let slopes = found.slopes();
        let slopes = [&[slopes.log_range, slopes.log_variance], &slopes.log_scale[..]].concat();
        let error = check_gradient(|x| optimum(x).bound, &x, &slopes);
        assert!(error < 1e-4, "{smoothness:?} {error:e}");
    }
}

#[test]
fn the_gradient_by_the_scale_in_a_plane_is_that_of_finite_differences() {
    let window = Window::new(&[(0.0, 1.0), (0.0, 1.0)]).unwrap();
    let place = |i: u32| (f64::from(i) * 0.618_033_988_749_894_9 % 1.0, f64::from(i) * 0.754_877_666_246_692_8 % 1.0);
    let rows: Vec<f64> = (1..40).map(place).flat_map(|(x, y)| [x * x, y]).collect();
    let (events, weights) = (Points::new(2, rows).unwrap(), vec![1.0; 39]);
    let lattice = Lattice::new(&window, &[8, 7], &[0.2, 0.2], Smoothness::Two).unwrap();
    let theta = |x: &[f64]| Theta {
        range: 0.5,
        variance: 0.8,
        mean: 6.0,
        stretch: vec![1.0, 1.0],
        scale: x.iter().map(|s| s.exp()).collect(),
    };
    let optimum = |x: &[f64]| -> Optimum {
        let theta = theta(x);
        let mut start = Start::Flat(theta.mean);
        for _ in 0..4 {
            start = Start::Sites(lattice.maximise(&events, &weights, &theta, start, (1e-13, 200)).unwrap().sites);
        }
        lattice.maximise(&events, &weights, &theta, start, (1e-13, 200)).unwrap()
    };
    let x = [-0.6, 0.8, 0.2, 0.0, 0.5, -0.3, 0.1, 0.4, -0.2];
    let error = check_gradient(|x| optimum(x).bound, &x, &optimum(&x).slopes().log_scale);
    assert!(error < 1e-4, "{error:e}");
}

/// A hot spot in a plane, and a flat plane.
#[test]
fn a_hot_spot_in_a_plane_asks_for_a_scale_that_varies_and_a_flat_plane_does_not() {
    let window = Window::new(&[(0.0, 10.0), (0.0, 10.0)]).unwrap();
    let spot = |at: &[f64]| 5.0 + 300.0 * (-((at[0] - 6.0).powi(2) + (at[1] - 4.0).powi(2)) / 0.32).exp();
    let core = Window::new(&[(5.4, 6.6), (3.4, 4.6)]).unwrap();
    let (mut seen, mut even, mut varying) = (0.0, 0.0, 0.0);
    for number in 0..3 {
        let points = Simulation::new(&window, spot).unwrap().draw(0, number).unwrap();
        seen += points.rows().filter(|at| core.contains(at)).count() as f64;
        let events = Events::new(points, window.clone()).unwrap();
        let (off, auto) = (fit(&events, Vary::Off), fit(&events, Vary::Auto));
        assert!(has_tried(&auto) && weight(&auto.posterior) > 0.5);
        let (whole, count) = (auto.posterior.expected(&window).unwrap(), events.len() as f64);
        assert!((whole - count).abs() < 0.05 * count, "{whole} {count}");
        even += off.posterior.expected(&core).unwrap();
        varying += auto.posterior.expected(&core).unwrap();
    }
    assert!(even < varying && (varying / seen - 1.0).abs() < 0.04, "{seen} {even} {varying}");
    let flat = Simulation::new(&window, |_| 2.0).unwrap().draw(0, 1).unwrap();
    assert!(!has_tried(&fit(&Events::new(flat, window).unwrap(), Vary::Auto)));
}

#[test]
fn a_narrow_peak_asks_for_a_scale_that_varies_and_is_less_flattened() {
    let at = Points::line(&[0.4]).unwrap();
    let (mut even, mut varying) = (0.0, 0.0);
    for number in 0..4 {
        let events = events(peak, number);
        let (off, auto) = (fit(&events, Vary::Off), fit(&events, Vary::Auto));
        assert!(!has_tried(&off) && weight(&off.posterior) == 0.0);
        assert!(has_tried(&auto));
        let (whole, count) = (auto.posterior.expected(events.window()).unwrap(), events.len() as f64);
        assert!((whole - count).abs() < 0.05 * count, "{whole} {count}");
        let half = |lo, hi| auto.posterior.expected(&Window::interval(lo, hi).unwrap()).unwrap();
        assert!((half(0.0, 0.41) + half(0.41, 1.0) - whole).abs() < 1e-8 * whole);
        even += off.posterior.rate(&at).unwrap().mean[0] / 4.0;
        varying += auto.posterior.rate(&at).unwrap().mean[0] / 4.0;
        assert!(weight(&auto.posterior) > 0.5);
    }
    assert!(even < varying && (varying / 1375.0 - 1.0).abs() < 0.15, "{even} {varying}");
}

/// Where nothing promises that it counts, it is not tried, and the answer is that without it to the last bit.
#[test]
fn a_flat_rate_does_not_ask_for_it() {
    let events = events(|_| 60.0, 1);
    let (off, auto) = (fit(&events, Vary::Off), fit(&events, Vary::Auto));
    assert!(!has_tried(&auto));
    assert_eq!(off.posterior.state(), auto.posterior.state());
    // If it is asked for, its evidence is not ahead.
    let on = fit(&events, Vary::On);
    assert!(has_tried(&on) && weight(&on.posterior) < 0.3, "{}", weight(&on.posterior));
}

#[test]
fn its_numbers_make_the_same_posterior_and_go_beyond_the_window() {
    let events = events(peak, 2);
    let posterior = fit(&events, Vary::Auto).posterior;
    assert!(weight(&posterior) > 0.1);
    let again = Posterior::from_state(posterior.state()).unwrap();
    assert_eq!(weight(&again), weight(&posterior));
    let at = Points::line(&[0.05, 0.39, 0.4, 0.77]).unwrap();
    assert_eq!(again.rate(&at).unwrap(), posterior.rate(&at).unwrap());
    assert_eq!(again.sample(&at, 5, 1).unwrap(), posterior.sample(&at, 5, 1).unwrap());
    let beyond = Points::line(&[-0.2, 1.1, 1.3]).unwrap();
    let [one, other] = [&posterior, &again].map(|posterior| posterior.quantiles(&beyond, &[0.05, 0.95]).unwrap());
    assert_eq!(one, other);
    assert!(one.iter().flatten().all(|rate| rate.is_finite()) && one[0].iter().zip(&one[1]).all(|(lo, hi)| lo < hi));
}

#[test]
fn bands_hold_a_narrow_peak_about_as_often_as_they_say() {
    let at: Vec<f64> = (0..40).map(|i| (i as f64 + 0.5) / 40.0).collect();
    let places = Points::line(&at).unwrap();
    let (mut inside, mut total) = (0, 0);
    for number in 0..10 {
        let band = fit(&events(peak, 100 + number), Vary::Auto).posterior.quantiles(&places, &[0.05, 0.95]).unwrap();
        for (i, t) in at.iter().enumerate() {
            total += 1;
            inside += usize::from((band[0][i]..=band[1][i]).contains(&peak(*t)));
        }
    }
    let share = inside as f64 / f64::from(total);
    assert!((0.85..=0.99).contains(&share), "{share}");
}
