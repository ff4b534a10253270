//! The log link on lattices: every form of input, and every answer against another way to it.

use pointillist::settings::{LatticeMean, Smoothness};
use pointillist::window::{Exposure, Polygons};
use pointillist::{Events, Fit, LatticeChoice, Link, Model, Points, Posterior, Summary, Window};

fn model(nodes: &[usize], smoothness: Smoothness) -> Model {
    let lattice = LatticeChoice {
        nodes: Some(nodes.to_vec()),
        smoothness: Some(smoothness),
        mean: LatticeMean::Integrated,
        links: vec![Link::Log],
        ..LatticeChoice::default()
    };
    Model { family: lattice.into(), ..Model::of_maximum_likelihood() }
}

fn fit(nodes: &[usize], smoothness: Smoothness, events: &Events) -> Fit {
    let fit = model(nodes, smoothness).fit(events).unwrap();
    assert!(fit.report.stop.converged());
    fit
}

/// Places that crowd towards 0 on each axis.
fn crowded(dims: usize, count: usize) -> Points {
    let golden = [0.819173, 0.671044, 0.549700];
    let power = if dims == 3 { 1.2 } else { 1.7 }; // a lattice in space is coarse
    let place = |n: usize| (0..dims).map(move |r| (0.5 + golden[r] * n as f64).fract().powf(power));
    Points::new(dims, (0..count).flat_map(place).collect()).unwrap()
}

fn unit(dims: usize) -> Window {
    Window::new(&vec![(0.0, 1.0); dims]).unwrap()
}

/// The fitted integral is about the number of events; halves add up to the whole; the bound's integral is the same number.
fn check(what: &str, fit: &Fit, events: usize) {
    let posterior = &fit.posterior;
    let window = posterior.window().clone();
    let whole = posterior.count(&window).unwrap().mean;
    assert!((whole / events as f64 - 1.0).abs() < 0.02, "{what}: {whole} of {events}");
    assert!(
        (fit.report.bound.integral() / whole - 1.0).abs() < 2e-3,
        "{what}: {} {whole}",
        fit.report.bound.integral()
    );
    // Regions count one repeat and no exposure.
    let count = |region: &Window| posterior.count(&window.intersection(region).unwrap()).unwrap().mean;
    let (parts, whole) = (halves(&window).iter().map(count).sum::<f64>(), count(&around(&window)));
    assert!((parts / whole - 1.0).abs() < 1e-6, "{what}: {parts} {whole}");
}

fn around(window: &Window) -> Window {
    Window::new(&window.bounding_box().iter().map(|span| (span.lo, span.hi)).collect::<Vec<_>>()).unwrap()
}

fn halves(window: &Window) -> [Window; 2] {
    let spans: Vec<(f64, f64)> = window.bounding_box().iter().map(|span| (span.lo, span.hi)).collect();
    let cut = spans[0].0 + 0.37 * (spans[0].1 - spans[0].0);
    [(spans[0].0, cut), (cut, spans[0].1)].map(|first| Window::new(&[&[first], &spans[1..]].concat()).unwrap())
}

#[test]
fn every_form_of_input_is_fitted() {
    for smoothness in [Smoothness::One, Smoothness::Two, Smoothness::Four] {
        let events = Events::new(crowded(1, 90), unit(1)).unwrap();
        check("a line", &fit(&[60], smoothness, &events), 90);
    }
    let plane = crowded(2, 200);
    check("a plane", &fit(&[20, 16], Smoothness::Two, &Events::new(plane.clone(), unit(2)).unwrap()), 200);
    check("space", &fit(&[9, 8, 7], Smoothness::Two, &Events::new(crowded(3, 150), unit(3)).unwrap()), 150);
    let repeated = unit(1).with_repeats(4).unwrap();
    let trials = fit(&[60], Smoothness::Two, &Events::new(crowded(1, 90), repeated).unwrap());
    check("repeats", &trials, 90);
    let once = trials.posterior.count(&unit(1)).unwrap().mean;
    assert!((4.0 * once / trials.posterior.count(trials.posterior.window()).unwrap().mean - 1.0).abs() < 1e-9);
    let uneven = Window::trials(&[(0.0, 1.0), (0.0, 0.6), (0.2, 1.0)]).unwrap();
    check("trials", &fit(&[60], Smoothness::Two, &Events::new(crowded(1, 90), uneven).unwrap()), 90);
    let exposure = Exposure::grid(vec![0], vec![vec![0.0, 0.3, 1.0]], vec![1.0, 3.0, 0.5]).unwrap();
    let exposed = unit(1).with_exposure(exposure).unwrap();
    check("exposure", &fit(&[60], Smoothness::Two, &Events::new(crowded(1, 90), exposed).unwrap()), 90);
    let ring = vec![[0.0, 0.0], [1.0, 0.0], [0.8, 1.0], [0.1, 0.7]];
    let polygon = Window::inside(Polygons::new(vec![vec![ring]]).unwrap());
    let inside = plane.filter(|row| polygon.contains(row));
    let count = inside.len();
    check("a polygon", &fit(&[24, 20], Smoothness::Two, &Events::new(inside, polygon).unwrap()), count);
    let boxes = Window::union(&[Window::interval(0.0, 0.5).unwrap(), Window::interval(0.7, 1.0).unwrap()]).unwrap();
    let seen = crowded(1, 90).filter(|row| boxes.contains(row));
    let count = seen.len();
    check("two boxes", &fit(&[60], Smoothness::Two, &Events::new(seen, boxes).unwrap()), count);
}

#[test]
fn other_units_change_nothing_but_the_units() {
    let events = Events::new(crowded(1, 90), unit(1)).unwrap();
    let wide = Events::new(
        Points::line(&crowded(1, 90).axis(0).iter().map(|x| 50.0 * x - 3.0).collect::<Vec<_>>()).unwrap(),
        Window::interval(-3.0, 47.0).unwrap(),
    )
    .unwrap();
    let [a, b] = [&events, &wide].map(|events| fit(&[60], Smoothness::Two, events));
    let [at, there] = [[0.1, 0.9], [2.0, 42.0]].map(|x| Points::line(&x).unwrap());
    let (near, far) = (a.posterior.rate(&at).unwrap(), b.posterior.rate(&there).unwrap());
    near.mean.iter().zip(&far.mean).for_each(|(a, b)| assert!((a / (50.0 * b) - 1.0).abs() < 1e-3, "{a} {b}"));
    assert!((a.posterior.mean() - b.posterior.mean() - 50f64.ln()).abs() < 1e-6);
    assert!((a.report.bound.total() - b.report.bound.total() - 90.0 * 50f64.ln()).abs() < 1e-3);
}

#[test]
fn many_events_by_their_sums_of_hats_are_the_events_themselves() {
    let events = Events::new(crowded(2, 6000), unit(2)).unwrap();
    let by_hats = fit(&[24, 24], Smoothness::Two, &events);
    let exact = Model { exact: true, ..model(&[24, 24], Smoothness::Two) }.fit(&events).unwrap();
    assert!(by_hats.report.summarised.as_ref().unwrap().error < 1e-6, "{:?}", by_hats.report.summarised);
    let [a, b] = [&by_hats, &exact].map(|fit| fit.report.bound.total());
    assert!((a - b).abs() < 1e-2, "{a} {b}");
    let mut summary = Summary::new(&unit(2), &[240, 240]).unwrap();
    summary.add(events.points()).unwrap();
    let summarised = model(&[24, 24], Smoothness::Two).fit_summary(&summary).unwrap();
    assert!((summarised.posterior.count(&unit(2)).unwrap().mean / 6000.0 - 1.0).abs() < 1e-3);
    assert!((summarised.report.bound.total() - b).abs() < 1e-3 * b.abs(), "{} {b}", summarised.report.bound.total());
}

fn posterior() -> (Posterior, Events) {
    let events = Events::new(crowded(1, 90), unit(1)).unwrap();
    (fit(&[60], Smoothness::Two, &events).posterior, events)
}

#[test]
fn rates_counts_and_quantiles_are_those_of_draws() {
    let (posterior, _) = posterior();
    let at = Points::line(&[0.05, 0.8]).unwrap();
    let (rate, quantiles) = posterior.rate_and_quantiles(&at, &[0.1, 0.9]).unwrap();
    let draws = posterior.sample(&at, 40_000, 3).unwrap();
    for i in 0..2 {
        let mean = draws.iter().map(|draw| draw[i]).sum::<f64>() / draws.len() as f64;
        let below = |q: f64| draws.iter().filter(|draw| draw[i] < q).count() as f64 / draws.len() as f64;
        assert!((mean / rate.mean[i] - 1.0).abs() < 0.01, "{mean} {}", rate.mean[i]);
        assert!((below(quantiles[0][i]) - 0.1).abs() < 0.01 && (below(quantiles[1][i]) - 0.9).abs() < 0.01);
    }
    let region = Window::interval(0.1, 0.45).unwrap();
    let count = posterior.count(&region).unwrap();
    let drawn = posterior.count_draws(&region, 20_000, 5).unwrap();
    let mean = drawn.iter().map(|(expected, _)| expected).sum::<f64>() / drawn.len() as f64;
    let sd = (drawn.iter().map(|(x, _)| (x - mean).powi(2)).sum::<f64>() / drawn.len() as f64).sqrt();
    assert!((mean / count.mean - 1.0).abs() < 0.01, "{mean} {count:?}");
    assert!((sd / count.sd - 1.0).abs() < 0.06, "{sd} {count:?}");
    let sets: f64 = (0..2000).map(|draw| posterior.sample_events(4, draw).unwrap().len() as f64).sum::<f64>() / 2000.0;
    let whole = posterior.count(&unit(1)).unwrap();
    assert!((sets - whole.mean).abs() < 4.0 * ((whole.mean + whole.sd.powi(2)) / 2000.0).sqrt(), "{sets} {whole:?}");
}

#[test]
fn a_score_is_the_average_likelihood_of_draws() {
    let (posterior, _) = posterior();
    let others: Vec<f64> = crowded(1, 80).axis(0).iter().map(|x| 0.01 + 0.98 * x).collect();
    let held_out = Events::new(Points::line(&others).unwrap(), unit(1)).unwrap();
    let score = posterior.score(&held_out, 20_000, 1).unwrap();
    assert!(score.m_p.k < 0.7 && score.l_p < score.m_p.value + 3.0 * score.m_p.se);
    // By plain draws of the intensity at the events and at nodes of the integral.
    let nodes: Vec<f64> = (0..400).map(|i| (f64::from(i) + 0.5) / 400.0).collect();
    let all = held_out.points().followed_by(&Points::line(&nodes).unwrap());
    let log_likelihood =
        |draw: &Vec<f64>| draw[..80].iter().map(|rate| rate.ln()).sum::<f64>() - draw[80..].iter().sum::<f64>() / 400.0;
    let logs: Vec<f64> = posterior.sample(&all, 40_000, 2).unwrap().iter().map(log_likelihood).collect();
    let top = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let plain = top + (logs.iter().map(|log| (log - top).exp()).sum::<f64>() / logs.len() as f64).ln();
    assert!((plain - score.m_p.value).abs() < 0.05, "{plain} {:?}", score.m_p);
}

#[test]
fn the_exact_posterior_is_near_and_its_evidence_above_the_bound() {
    let events = Events::new(crowded(1, 90), unit(1)).unwrap();
    let fit = fit(&[60], Smoothness::Two, &events);
    let coverage = fit.posterior.coverage_of_q(events.points(), 4000, 1).unwrap();
    let bound = fit.report.bound.total();
    assert!(
        coverage.k < 0.7 && coverage.log_evidence.value > bound && coverage.log_evidence.value < bound + 0.5,
        "{coverage:?} {bound}"
    );
    let at = Points::line(&[0.05, 0.5, 0.95]).unwrap();
    let exact = fit
        .posterior
        .sample_exact(events.points(), &at, pointillist::exact::Sampling { draws: 1000, ..Default::default() })
        .unwrap();
    let rate = fit.posterior.rate(&at).unwrap();
    for i in 0..3 {
        let draws = exact.at(i);
        let mean = draws.iter().sum::<f64>() / draws.len() as f64;
        assert!((mean / rate.mean[i] - 1.0).abs() < 0.06, "{mean} {}", rate.mean[i]);
    }
}

#[test]
fn an_empty_place_is_empty() {
    // 200 events in one unit of a thousand
    let places: Vec<f64> = (0..200).map(|i| 200.0 + f64::from(i) / 200.0).collect();
    let window = Window::interval(0.0, 1000.0).unwrap();
    let events = Events::new(Points::line(&places).unwrap(), window).unwrap();
    let lattice = LatticeChoice { mean: LatticeMean::Integrated, links: vec![Link::Log], ..LatticeChoice::default() };
    let posterior = Model { family: lattice.into(), ..Model::of_maximum_likelihood() }.fit(&events).unwrap().posterior;
    let empty = posterior.count(&Window::interval(500.0, 1000.0).unwrap()).unwrap().mean;
    assert!(empty < 2.0, "{empty}");
}

#[test]
fn flat_events_leave_their_total_as_uncertain_as_poisson() {
    let mut ratios: Vec<f64> = (0..10)
        .map(|seed| {
            let intensity = |_: &[f64]| 100.0;
            let events = pointillist::simulate(&unit(1), intensity, seed, 0).unwrap();
            let count = events.len();
            let fit = fit(&[40], Smoothness::Two, &Events::new(events, unit(1)).unwrap());
            fit.posterior.count(&unit(1)).unwrap().sd / (count as f64).sqrt()
        })
        .collect();
    ratios.sort_by(f64::total_cmp);
    assert!(ratios[0] > 0.85 && ratios[9] < 1.2, "{ratios:?}");
}

#[test]
fn a_file_keeps_it_and_an_update_goes_on_with_it() {
    let (posterior, events) = posterior();
    let again = Posterior::from_state(posterior.state()).unwrap();
    let at = Points::line(&[0.05, 0.8]).unwrap();
    assert_eq!(again.rate(&at).unwrap(), posterior.rate(&at).unwrap());
    assert_eq!(again.link(), Link::Log);
    let mut summary = Summary::new(&unit(1), &[1000]).unwrap();
    summary.add(events.points()).unwrap();
    summary.add(&crowded(1, 500)).unwrap();
    let updated = model(&[60], Smoothness::Two)
        .update_watched(&posterior, &summary, &mut |_| std::ops::ControlFlow::Continue(()))
        .unwrap();
    assert_eq!(updated.posterior.link(), Link::Log);
    assert!((updated.posterior.count(&unit(1)).unwrap().mean / 590.0 - 1.0).abs() < 0.02);
}
