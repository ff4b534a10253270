//! Sets of events from a posterior against the numbers that it expects; answers in blocks against answers at once.

use pointillist::exact::Sampling;
use pointillist::settings::{Inducing, Smoothness};
use pointillist::state::PosteriorState;
use pointillist::{Events, LatticeChoice, Model, Points, Posterior, Window, simulate};

/// A rate that is low but for one peak, which is narrow, high, and holds two events.
fn peak(x: &[f64]) -> f64 {
    1.0 + 266.0 * (-0.5 * ((x[0] - 3.22) / 0.003f64).powi(2)).exp()
}

/// Posteriors that know it well, from many looks; for one more look.
fn peaked() -> [Posterior; 2] {
    let window = Window::interval(0.0, 10.0).unwrap();
    let often = window.clone().with_repeats(300).unwrap();
    let events = Events::new(simulate(&often, peak, 1, 0).unwrap(), often).unwrap();
    let smoothness = Some(Smoothness::Two);
    let lattice = LatticeChoice { nodes: Some(vec![6000]), smoothness, ..LatticeChoice::as_in_the_paper() };
    let on_lattice = Model { family: lattice.into(), ..Model::of_maximum_likelihood() };
    // Inducing points close together about the peak.
    let near = (0..60).map(|i| 3.22 + 0.001 * (f64::from(i) - 29.5));
    let places: Vec<f64> = (0..40).map(|i| 0.25 * (f64::from(i) + 0.5)).chain(near).collect();
    let inducing = Inducing::At(Points::line(&places).unwrap());
    let fixed = vec![("lengthscale".to_string(), 0.004)];
    let by_inducing = Model { family: inducing.into(), fixed, ..Model::of_maximum_likelihood() };
    [on_lattice, by_inducing].map(|model| {
        let state = model.fit(&events).unwrap().posterior.state();
        Posterior::from_state(PosteriorState { window: window.clone(), ..state }).unwrap()
    })
}

#[test]
fn sets_of_events_are_as_large_as_their_intensities_say_at_a_sharp_peak_too() {
    for posterior in peaked() {
        let regions = [(3.205, 3.235), (0.0, 10.0)].map(|(lo, hi)| Window::interval(lo, hi).unwrap());
        let draws = 400;
        let sets: Vec<Points> = (0..draws).map(|draw| posterior.sample_events(9, draw).unwrap()).collect();
        for region in &regions {
            // Draw i of both is of the same intensity.
            let expected: f64 =
                posterior.count_draws(region, draws as usize, 9).unwrap().iter().map(|(expected, _)| expected).sum();
            let found: usize = sets.iter().map(|set| set.rows().filter(|row| region.contains(row)).count()).sum();
            let apart = (found as f64 - expected) / expected.sqrt();
            assert!(apart.abs() < 4.0, "{region:?}: {found} of {expected} events, {apart} standard errors");
        }
    }
}

#[test]
fn an_answer_does_not_depend_on_how_many_points_are_asked_about() {
    let window = Window::new(&[(0.0, 2.0), (0.0, 1.0)]).unwrap();
    let events = Events::new(simulate(&window, |x| 300.0 * x[0], 2, 0).unwrap(), window).unwrap();
    let inducing = Model { family: Inducing::Grid(vec![6, 5]).into(), ..Model::of_maximum_likelihood() };
    let nodes = Some(vec![20, 12]);
    let lattice = LatticeChoice { nodes, smoothness: Some(Smoothness::Two), ..LatticeChoice::as_in_the_paper() };
    let lattice = Model { family: lattice.into(), ..Model::of_maximum_likelihood() };
    let single = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    for model in [inducing, lattice] {
        let posterior = model.fit(&events).unwrap().posterior;
        let many = posterior.window().grid(&[110, 91]); // 10010: more than two blocks
        let (rate, quantiles) = posterior.rate_and_quantiles(&many, &[0.05, 0.95]).unwrap();
        assert_eq!(posterior.rate(&many).unwrap(), rate);
        assert_eq!(posterior.quantiles(&many, &[0.05, 0.95]).unwrap(), quantiles);
        assert_eq!(
            single.install(|| posterior.rate_and_quantiles(&many, &[0.05, 0.95]).unwrap()),
            (rate.clone(), quantiles.clone())
        );
        for n in [0, 4095, 4096, 5000, 10_009] {
            let one = Points::new(2, many.row(n).to_vec()).unwrap();
            let (alone, band) = posterior.rate_and_quantiles(&one, &[0.05, 0.95]).unwrap();
            assert!((alone.mean[0] / rate.mean[n] - 1.0).abs() < 1e-13, "{n}: {} {}", alone.mean[0], rate.mean[n]);
            assert!((band[1][0] / quantiles[1][n] - 1.0).abs() < 1e-12, "{n}");
        }
        // One intensity is drawn at all points, however they are divided.
        let drawn = posterior.sample(&many, 2, 3).unwrap();
        let half = Points::new(2, many.coordinates()[..2 * 5005].to_vec()).unwrap();
        for (whole, part) in drawn.iter().zip(posterior.sample(&half, 2, 3).unwrap()) {
            for (a, b) in whole.iter().zip(&part) {
                assert!((a - b).abs() < 1e-9 * (1.0 + a), "{a} {b}");
            }
        }
    }
}

#[test]
fn the_exact_posterior_of_a_lattice_is_sampled_whatever_the_number_of_events() {
    let window = Window::interval(0.0, 1.0).unwrap();
    let points = simulate(&window, |x| 4000.0 * (1.0 + x[0]), 3, 0).unwrap();
    assert!(points.len() > 5000);
    let events = Events::new(points, window).unwrap();
    let lattice =
        LatticeChoice { nodes: Some(vec![60]), smoothness: Some(Smoothness::Two), ..LatticeChoice::as_in_the_paper() };
    let posterior = Model { family: lattice.into(), ..Model::of_maximum_likelihood() }.fit(&events).unwrap().posterior;
    let at = Points::line(&[0.1, 0.5, 0.9]).unwrap();
    let sampling = Sampling { chains: 2, draws: 500, warm_up: 100, moves: 5, seed: 1 };
    let exact = posterior.sample_exact(events.points(), &at, sampling).unwrap();
    let rate = posterior.rate(&at).unwrap();
    for i in 0..3 {
        let values = exact.at(i);
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        // So many events leave nothing for the variational answer to miss.
        assert!((mean - rate.mean[i]).abs() < 0.3 * rate.sd[i], "{mean} {rate:?}");
        let sd = (values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / values.len() as f64).sqrt();
        assert!((sd / rate.sd[i] - 1.0).abs() < 0.15, "{sd} {rate:?}");
    }
}
