//! What a fit says of itself: p-values are those of the model, a flattened peak is seen, and q is compared with the exact posterior.

use crate::common;
use pointillist::exact::Sampling;
use pointillist::settings::Smoothness;
use pointillist::{Events, Fit, LatticeChoice, Link, Model, Points, Summary, Window, simulate};

fn lattice(smoothness: Smoothness, link: Link) -> Model {
    let family = LatticeChoice { smoothness: Some(smoothness), links: vec![link], ..LatticeChoice::default() };
    Model { family: family.into(), ..Model::default() }
}

fn fitted(model: &Model, window: &Window, rate: impl Fn(&[f64]) -> f64 + Sync, seed: u64) -> Fit {
    let events = Events::new(simulate(window, rate, seed, 0).unwrap(), window.clone()).unwrap();
    model.fit(&events).unwrap()
}

fn p_of(fit: &Fit) -> f64 {
    fit.report.goodness.as_ref().unwrap().p
}

#[test]
fn p_values_are_those_of_the_model() {
    let line = Window::interval(0.0, 10.0).unwrap();
    let plane = Window::new(&[(0.0, 1.0), (0.0, 1.0)]).unwrap();
    let wave = |t: &[f64]| 12.0 + 8.0 * (t[0] * 1.3).sin();
    let bump = |x: &[f64]| 100.0 + 400.0 * (-8.0 * ((x[0] - 0.3).powi(2) + (x[1] - 0.6).powi(2))).exp();
    let model = lattice(Smoothness::Two, Link::Square);
    for (name, p) in [
        ("line", (0..60).map(|seed| p_of(&fitted(&model, &line, wave, seed))).collect::<Vec<_>>()),
        ("plane", (0..20).map(|seed| p_of(&fitted(&model, &plane, bump, seed))).collect()),
    ] {
        let below = |limit: f64| p.iter().filter(|p| **p < limit).count();
        println!("{name}: {} of {} below 0.05, {} below 0.5", below(0.05), p.len(), below(0.5));
        // 3 and 1 are expected at most: more than this has a probability of about 2 %.
        assert!(below(0.05) <= p.len() / 10 + 1 && below(0.001) == 0, "{name}: {p:?}");
    }
}

/// A response to a stimulus, 10/s and 55/s for 20 ms in 30 trials of 4 s, that one length-scale flattens.
#[test]
fn a_flattened_peak_is_seen() {
    let response = |t: &[f64]| if (0.5..0.52).contains(&t[0]) { 55.0 } else { 10.0 };
    let window = Window::interval(0.0, 4.0).unwrap().with_repeats(30).unwrap();
    let (model, mut seen, mut at_the_peak) = (lattice(Smoothness::Two, Link::Square), 0, 0);
    for seed in 0..12 {
        let fit = fitted(&model, &window, response, seed);
        let goodness = fit.report.goodness.unwrap();
        let peak = fit.posterior.rate(&Points::line(&[0.51]).unwrap()).unwrap();
        println!("{seed}: peak {:.1} ± {:.1}, {goodness:?}", peak.mean[0], peak.sd[0]);
        if goodness.p < 0.01 {
            seen += 1;
            at_the_peak += usize::from(goodness.place[0].lo < 0.55 && goodness.place[0].hi > 0.47);
            assert!(fit.report.warnings.iter().any(|warning| warning.contains("do not look like events of this rate")));
        }
    }
    assert!(seen >= 8 && at_the_peak == seen, "{seen} {at_the_peak}");
}

/// Four responses of 47/s and 15 ms above a rate that goes up and down slowly, in 30 trials of 20 s: cells must be as short as these are.
#[test]
fn short_peaks_in_a_long_window_are_seen() {
    let window = Window::interval(0.0, 20.0).unwrap().with_repeats(30).unwrap();
    let centres = [3.3, 9.1, 13.8, 17.0];
    let rate = |t: &[f64]| {
        let peaks = centres.iter().map(|c| 47.0 * (-0.5 * ((t[0] - c) / 0.015).powi(2)).exp());
        8.0 * (1.2 * (0.9 * t[0]).sin()).exp() + peaks.sum::<f64>()
    };
    for seed in 0..4 {
        let fit = fitted(&lattice(Smoothness::Two, Link::Log), &window, rate, seed);
        let goodness = fit.report.goodness.unwrap();
        println!("{seed}: {goodness:?}");
        assert!(goodness.p < 0.01 && centres.iter().any(|c| (goodness.place[0].lo - c).abs() < 0.1), "{goodness:?}");
    }
}

/// Rates as rough as the model thinks, which a fit follows closely, raise no alarm.
#[test]
fn a_fit_that_follows_its_events_is_not_called_poor() {
    let window = Window::interval(0.0, 1.0).unwrap().with_repeats(50).unwrap();
    let model = lattice(Smoothness::Two, Link::Log);
    let p_of_seed = |seed: u64| {
        let wave = |t: f64, speed: f64, phase: f64| (speed * t + phase * seed as f64).sin();
        let rate = |t: &[f64]| {
            10.0 * (0.9 * wave(t[0], 40.0, 1.0) + 0.7 * wave(t[0], 67.0, 2.3) + 0.5 * wave(t[0], 23.0, 3.1)).exp()
        };
        p_of(&fitted(&model, &window, rate, seed))
    };
    let p: Vec<f64> = (0..60).map(p_of_seed).collect();
    let below = |limit: f64| p.iter().filter(|p| **p < limit).count();
    println!("{} below 0.01, {} below 0.05, {} below 0.5 of 60", below(0.01), below(0.05), below(0.5));
    // 0.6 and 3 are expected at most: more than this has a probability of 0.3 and 3 %.
    assert!(below(0.01) <= 3 && below(0.05) <= 6, "{p:?}");
}

#[test]
fn events_that_a_rate_cannot_explain_are_seen_in_the_plane_and_in_summaries() {
    // A hundred events at nearly one place beside four hundred scattered ones, under a prior that cannot follow.
    let mut rows: Vec<[f64; 2]> =
        (0..400).map(|i| [f64::from(i) * 0.618_034 % 1.0, f64::from(i) * 0.754_878 % 1.0]).collect();
    rows.extend((0..100).map(|i| [0.7 + 1e-4 * f64::from(i), 0.3 + 1e-4 * f64::from((i * 37) % 100)]));
    let window = Window::new(&[(0.0, 1.0), (0.0, 1.0)]).unwrap();
    let points = Points::from_rows(&rows).unwrap();
    let family =
        LatticeChoice { nodes: Some(vec![24, 24]), smoothness: Some(Smoothness::Two), ..LatticeChoice::default() };
    let stiff = Model { family: family.into(), fixed: vec![("lengthscale".into(), 0.8)], ..Model::default() };
    let events = Events::new(points.clone(), window.clone()).unwrap();
    let goodness = stiff.fit(&events).unwrap().report.goodness.unwrap();
    assert!(goodness.p < 0.01 && goodness.seen > 3.0 * goodness.expected, "{goodness:?}");
    assert!(goodness.place[0].lo <= 0.7 && goodness.place[0].hi >= 0.7 && goodness.place[1].hi >= 0.3, "{goodness:?}");
    let mut summary = Summary::new(&window, &[720, 720]).unwrap();
    summary.add(&points).unwrap();
    let again = stiff.fit_summary(&summary).unwrap().report.goodness.unwrap();
    assert!(again.p < 0.01 && (again.expected / goodness.expected - 1.0).abs() < 0.5, "{again:?}");
    assert_eq!(Model { checked: false, ..stiff }.fit(&events).unwrap().report.goodness, None);
}

#[test]
fn an_average_is_compared_with_the_exact_posterior() {
    let years = Points::line(&common::coal()).unwrap();
    let (lo, hi) = common::COAL_WINDOW;
    let events = Events::new(years.clone(), Window::interval(lo, hi).unwrap()).unwrap();
    let fit = Model { average: true, ..Model::default() }.fit(&events).unwrap();
    let coverage = fit.report.coverage.unwrap();
    assert!(coverage.k < 0.7 && coverage.gap.abs() < 0.3 && !coverage.is_far(), "{coverage:?}");
    assert!(p_of(&fit) > 0.05, "{:?}", fit.report.goodness);
    let few = fit.posterior.heaviest(3);
    assert!((few.weights().iter().sum::<f64>() - 1.0).abs() < 1e-12 && few.weights().len() == 3);
    let at = few.window().grid(&[20]);
    let draws = few.sample_exact(&years, &at, Sampling { draws: 600, ..Sampling::default() }).unwrap();
    assert_eq!(draws.at(0).len(), 4 * 600);
    let band = few.quantiles(&at, &[0.05, 0.95]).unwrap();
    let held = |i: usize| draws.at(i).iter().filter(|rate| (band[0][i]..=band[1][i]).contains(rate)).count() as f64;
    let inside = (0..at.len()).map(held).sum::<f64>() / (at.len() * 4 * 600) as f64;
    assert!((0.87..0.93).contains(&inside), "{inside}");
}
