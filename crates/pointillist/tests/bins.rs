//! Counts in bins and pairs: bands hold what they say, for sets drawn from the model itself and for a known truth.

use pointillist::report::{Bin, Nearness, Pairs};
use pointillist::settings::Smoothness;
use pointillist::{Events, LatticeChoice, Link, Model, Points, Posterior, Simulation, Window, simulate};
use std::ops::ControlFlow;

fn wave(t: &[f64]) -> f64 {
    20.0 + 12.0 * (1.3 * t[0]).sin()
}

fn window() -> Window {
    Window::interval(0.0, 10.0).unwrap()
}

fn fitted(seed: u64) -> (Posterior, Points) {
    let family =
        LatticeChoice { smoothness: Some(Smoothness::Two), links: vec![Link::Log], ..LatticeChoice::default() };
    let model = Model { family: family.into(), checked: false, average: true, ..Model::default() };
    let points = simulate(&window(), wave, seed, 0).unwrap();
    (model.fit(&Events::new(points.clone(), window()).unwrap()).unwrap().posterior, points)
}

fn bins(posterior: &Posterior, events: &Points) -> Vec<Bin> {
    // As many bins whatever is counted in them.
    let regions = posterior.even_bins(200).unwrap();
    posterior.bins(&regions, events, 3, &mut |_| ControlFlow::Continue(())).unwrap()
}

fn inside(bins: &[Bin]) -> f64 {
    bins.iter().filter(|bin| !bin.is_outside()).count() as f64 / bins.len() as f64
}

fn mean_and_error(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let square = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
    (mean, (square / count).sqrt())
}

/// P(N ≤ count) of a Poisson number, by its sum.
fn poisson_at_most(count: f64, mean: f64) -> f64 {
    let (mut term, mut sum) = ((-mean).exp(), 0.0);
    for n in 0..=count as u64 {
        sum += term;
        term *= mean / (n + 1) as f64;
    }
    sum
}

/// Counts are whole, so that a band of 95 % holds a little more: just as much as the distribution of a new count says.
#[test]
fn bands_hold_the_counts_of_events_drawn_from_the_model() {
    let (posterior, _) = fitted(1);
    let regions = posterior.even_bins(200).unwrap();
    let counts = posterior.joint_counts(&regions, 1000, 3).unwrap();
    let known = bins(&posterior, &Points::line(&[]).unwrap());
    let holds = |(region, bin): (usize, &Bin)| {
        let of = |mean: &f64| {
            poisson_at_most(bin.upper, *mean)
                - if bin.lower > 0.0 { poisson_at_most(bin.lower - 1.0, *mean) } else { 0.0 }
        };
        counts.of(region).iter().map(of).sum::<f64>() / counts.draws() as f64
    };
    let said: Vec<f64> = known.iter().enumerate().map(holds).collect();
    assert!(said.iter().all(|part| (0.945..0.995).contains(part)), "{said:?}");
    let said = said.iter().sum::<f64>() / said.len() as f64;
    let held: Vec<f64> =
        (0..60).map(|set| inside(&bins(&posterior, &posterior.sample_events(5, set).unwrap()))).collect();
    let (held, error) = mean_and_error(&held);
    println!("said {said:.4}, held {held:.4} ± {error:.4}");
    assert!((held - said).abs() < 4.0 * error && error < 0.02, "said {said}, held {held} ± {error}");
}

/// New events of a known truth: the band knows the uncertainty of the rate as well as the chance of counts. Those of the fit are inside more often.
#[test]
fn bands_hold_the_counts_of_new_events_of_a_known_truth() {
    let (mut new, mut own) = (vec![], vec![]);
    for seed in 0..14 {
        let (posterior, events) = fitted(100 + seed);
        own.push(inside(&bins(&posterior, &events)));
        new.push(inside(&bins(&posterior, &simulate(&window(), wave, 900 + seed, 0).unwrap())));
    }
    let ((new, error), (own, _)) = (mean_and_error(&new), mean_and_error(&own));
    println!("new {new:.4} ± {error:.4}, own {own:.4}");
    // 14 sets of 25 bins: the standard error of 95 % of 350 is 1.2 %.
    assert!((0.95 - 4.0 * 0.012..=0.995).contains(&new) && own >= 0.95 && own >= new - 0.01, "{new} {own}");
}

fn pairs(posterior: &Posterior, events: &Points) -> Pairs {
    posterior.pairs(events, 8, &|_| ControlFlow::Continue(())).unwrap().unwrap()
}

/// Independent events at the posterior mean rate, which the fit has not seen: what the envelope and p are of. Events of the fit are inside more often.
#[test]
fn pairs_of_independent_events_at_the_mean_rate_are_not_blamed() {
    let (posterior, _) = fitted(1);
    let process = Simulation::of_batches(posterior.window(), |points| Ok(posterior.rate(points)?.mean)).unwrap();
    let (mut p, mut fewer, mut closest, mut held) = (vec![], vec![], vec![], vec![]);
    for set in 0..40 {
        let pairs = pairs(&posterior, &process.draw(77, set).unwrap());
        let is_inside = |k: &usize| (pairs.envelope[*k].0..=pairs.envelope[*k].1).contains(&pairs.seen[*k]);
        held.push((0..pairs.seen.len()).filter(is_inside).count() as f64 / pairs.seen.len() as f64);
        p.push(pairs.p);
        fewer.push(pairs.p_fewer);
        closest.push(pairs.closest.p);
    }
    let (held, error) = mean_and_error(&held);
    println!("held {held:.3} ± {error:.3}, p {p:?}, closest {closest:?}");
    // Eight or more of forty have a probability of 0.1 %.
    for p in [&p, &fewer, &closest] {
        assert!(p.iter().filter(|p| **p <= 0.05).count() < 8, "{p:?}");
    }
    // The envelope is the same for all sets, and K at one distance is much like that at the next: 40 sets count as 40 numbers.
    assert!(held > 0.95 - 4.0 * 0.034, "{held} ± {error}");
    // Even numbers have a mean of one half, with a standard error of 0.046.
    let (middle, _) = mean_and_error(&p);
    assert!((middle - 0.5).abs() < 4.0 * 0.046, "{middle} {p:?}");
}

/// Twins that are far closer than K looks are found, and what they are is said.
#[test]
fn twins_are_found() {
    let (posterior, events) = fitted(1);
    let twins = events.axis(0).into_iter().enumerate().flat_map(|(n, t)| {
        let twin = (n % 12 == 0).then_some((t + 0.0005).min(10.0));
        [Some(t), twin].into_iter().flatten()
    });
    let twins = Points::line(&twins.collect::<Vec<f64>>()).unwrap();
    let of = |events: &Points| pairs(&posterior, events).closest;
    let (with, without) = (of(&twins), of(&events));
    assert!(with.p <= 0.01 && with.seen >= 15 && with.distance < 0.002, "{with:?}");
    assert!(without.p > 0.05, "{without:?}");
}

/// Independent events at a rate that the fit has followed: it takes pairs away, and that is not held against them.
#[test]
fn pairs_of_independent_events_of_a_fit_are_not_blamed() {
    let rate = |t: &[f64]| 5.0 + 3.0 * (std::f64::consts::TAU * t[0] / 24.0).sin();
    let window = Window::interval(0.0, 240.0).unwrap();
    for seed in 0..10 {
        let points = simulate(&window, rate, 40 + seed, 0).unwrap();
        let model = Model { checked: false, average: false, ..Model::default() };
        let posterior = model.fit(&Events::new(points.clone(), window.clone()).unwrap()).unwrap().posterior;
        let found = pairs(&posterior, &points);
        let parts: Vec<f64> = found.seen.iter().zip(&found.expected).map(|(seen, expected)| seen / expected).collect();
        println!(
            "{} events, p {} and {}, {:?}, seen/expected {parts:.3?}",
            points.len(),
            found.p,
            found.p_fewer,
            found.nearness()
        );
        assert!(!matches!(found.nearness(), Nearness::Closer(_) | Nearness::Apart(_)), "{found:?}");
    }
}

/// Clusters that the rate follows are never said to keep a distance, and regular events on the same line are.
#[test]
fn clusters_and_regular_events_are_told_apart() {
    let window = Window::interval(0.0, 240.0).unwrap();
    let fitted = |times: Vec<f64>| {
        let points = Points::line(&times).unwrap();
        let model = Model { checked: false, ..Model::default() };
        let posterior = model.fit(&Events::new(points.clone(), window.clone()).unwrap()).unwrap().posterior;
        let found = pairs(&posterior, &points);
        println!("p {} and {}, {:?}, closest {:?}", found.p, found.p_fewer, found.nearness(), found.closest);
        found.nearness()
    };
    let mut state = 7u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    for _ in 0..3 {
        let parents: Vec<f64> = (0..120).map(|_| 239.7 * random()).collect();
        let clusters = fitted((0..480).map(|n| parents[n / 4] + 0.3 * random()).collect());
        assert!(!matches!(clusters, Nearness::Apart(_)), "{clusters:?}");
    }
    // A distance of 0.4 at least, at a mean one of 0.8.
    let mut at = 0.0;
    let mut next = || {
        at += 0.4 + 0.8 * random();
        at
    };
    let regular = fitted((0..400).map(|_| next()).filter(|t| *t < 240.0).collect());
    assert!(matches!(regular, Nearness::Apart(within) if within < 1.0), "{regular:?}");
}
