//! Averages over Θ and families on lattices: what they are made of, and whether their bands cover.

use pointillist::settings::{LatticeMean, Smoothness};
use pointillist::{Events, Fit, LatticeChoice, Link, Model, Points, Window, simulate};

fn averaged(events: &Events) -> Fit {
    Model::default().fit(events).unwrap()
}

/// Sets of events from an intensity on an interval.
fn sets(window: &Window, rate: impl Fn(f64) -> f64 + Sync, count: u64) -> Vec<Events> {
    let draw = |number: u64| Events::new(simulate(window, |x| rate(x[0]), 7, number).unwrap(), window.clone()).unwrap();
    (0..count).map(draw).collect()
}

/// The share of places at which the 90 % band holds the truth, the mean integrated squared error, and the share of sets whose 90 % interval
/// of the total holds the truth, with the median of its standard deviation over √N.
fn coverage(window: &Window, rate: impl Fn(f64) -> f64 + Sync, count: u64) -> [f64; 4] {
    let span = window.bounding_box()[0];
    let places: Vec<f64> = (0..100).map(|i| span.lo + span.length() * (f64::from(i) + 0.5) / 100.0).collect();
    let at = Points::line(&places).unwrap();
    let total: f64 = places.iter().map(|x| rate(*x)).sum::<f64>() * span.length() / 100.0;
    let (mut held, mut error, mut whole, mut ratios) = (0.0, 0.0, 0.0, vec![]);
    for events in sets(window, &rate, count) {
        let posterior = averaged(&events).posterior;
        let (mean, band) = posterior.rate_and_quantiles(&at, &[0.05, 0.95]).unwrap();
        for (i, x) in places.iter().enumerate() {
            held += f64::from(band[0][i] <= rate(*x) && rate(*x) <= band[1][i]) / 100.0;
            error += (mean.mean[i] - rate(*x)).powi(2) * span.length() / 100.0;
        }
        let counts = posterior.joint_counts(std::slice::from_ref(window), 1000, 1).unwrap();
        let interval = counts.quantiles(0, &[0.05, 0.95]);
        whole += f64::from(interval[0] <= total && total <= interval[1]);
        ratios.push(counts.moments()[0].sd / (events.len() as f64).sqrt());
    }
    ratios.sort_by(f64::total_cmp);
    let share = |sum: f64| sum / count as f64;
    [share(held), share(error), share(whole), ratios[ratios.len() / 2]]
}

#[test]
fn flat_events_have_bands_that_cover() {
    let unit = Window::interval(0.0, 1.0).unwrap();
    let [held, _, whole, ratio] = coverage(&unit, |_| 50.0, 40);
    eprintln!("flat: {held} {whole} {ratio}");
    assert!(held > 0.85 && whole >= 0.8 && (0.9..1.1).contains(&ratio), "{held} {whole} {ratio}");
}

#[test]
fn the_first_intensity_of_adams_is_no_comb() {
    let window = Window::interval(0.0, 50.0).unwrap();
    let rate = |s: f64| 2.0 * (-s / 15.0).exp() + (-((s - 25.0) / 10.0).powi(2)).exp();
    let [held, error, whole, _] = coverage(&window, rate, 20);
    eprintln!("adams 1: {held} {error} {whole}");
    assert!(held > 0.85 && error < 6.0 && whole >= 0.75, "{held} {error} {whole}");
}

/// 60 events in a thousandth of the window: a lattice whose steps are wider than the edges of that is worse by evidence, and is not the last.
#[test]
fn a_cluster_in_a_wide_window_gets_the_nodes_that_it_needs() {
    let window = Window::interval(0.0, 1000.0).unwrap();
    let inside = |x: f64| (250.0..251.0).contains(&x);
    let events = &sets(&window, |x| if inside(x) { 60.0 } else { 0.0 }, 1)[0];
    let fit = |nodes: Option<usize>| {
        let nodes = nodes.map(|nodes| vec![nodes]);
        let rough = LatticeChoice {
            nodes,
            smoothness: Some(Smoothness::One),
            links: vec![Link::Log],
            ..LatticeChoice::default()
        };
        Model { family: rough.into(), checked: false, ..Model::default() }.fit(events).unwrap()
    };
    let (found, coarse) = (fit(None), fit(Some(2048)));
    let evidence = |fit: &Fit| fit.report.log_evidence.unwrap();
    assert!(evidence(&found) > evidence(&coarse) + 1.0, "{} {}", evidence(&found), evidence(&coarse));
    // Near an edge the rate is the cluster's inside, and far less outside.
    let rate = found.posterior.rate(&Points::line(&[249.6, 250.2, 250.8, 251.4]).unwrap()).unwrap().mean;
    assert!(rate[1].min(rate[2]) > 2.0 * rate[0].max(rate[3]), "{rate:?}");
}

#[test]
fn it_is_a_mixture_of_families_and_its_weights_are_those_of_single_fits() {
    let unit = Window::interval(0.0, 1.0).unwrap();
    let events = &sets(&unit, |x| 10.0 * (3.0 * x).exp(), 1)[0];
    let fit = averaged(events);
    assert!(fit.posterior.weights().len() > 5 && fit.report.tried.len() == 7);
    assert!((fit.posterior.weights().iter().sum::<f64>() - 1.0).abs() < 1e-12);
    let links: Vec<Link> =
        (0..fit.posterior.weights().len()).map(|i| fit.posterior.component(i).unwrap().link()).collect();
    assert!(Link::ALL.iter().all(|link| links.contains(link)), "{links:?}");
    let count = fit.posterior.count(&unit).unwrap();
    assert!((count.mean / events.len() as f64 - 1.0).abs() < 0.02, "{count:?}");
    // Weights of two members of one family differ as bound and prior do at their Θ.
    let one = LatticeChoice {
        nodes: Some(vec![160]),
        smoothness: Some(Smoothness::Two),
        mean: LatticeMean::Integrated,
        links: vec![Link::Log],
        ..LatticeChoice::default()
    };
    let model = Model { family: one.into(), ..Model::default() };
    let average = model.fit(events).unwrap().posterior;
    let log_weight = |number: usize| {
        let lattice = average.component(number).unwrap().lattice().unwrap();
        let (length, variance) = (lattice.lengthscales[0], lattice.variance);
        let fixed = vec![("lengthscale".into(), length), ("variance".into(), variance)];
        let bound = Model { fixed, average: false, ..model.clone() }.fit(events).unwrap().report.bound.total();
        // P(range < 0.02) = P(sd > 3) = 0.05; densities of the logarithms
        let (short, wide) = (-0.05f64.ln() * 0.01f64.sqrt(), -0.05f64.ln() / 3.0);
        bound - 0.5 * length.ln() - short / length.sqrt() + 0.5 * variance.ln() - wide * variance.sqrt()
    };
    let weights = average.weights();
    // The margin of a single fit is that of its own range: the same, at its widest, for all that are long.
    let is_long = |number: &usize| average.component(*number).unwrap().lattice().unwrap().lengthscales[0] > 0.3;
    let long: Vec<usize> = (1..weights.len()).filter(is_long).collect();
    assert!(is_long(&0) && long.len() >= 5, "{long:?}");
    for number in long {
        let (got, want) = ((weights[number] / weights[0]).ln(), log_weight(number) - log_weight(0));
        assert!((got - want).abs() < 1e-3, "{got} {want}");
    }
}

#[test]
fn rounded_times_are_no_comb() {
    // 200 even places, rounded to a tenth: two events per place, and nothing between them.
    let even = |n: usize| 10.0 * (n as f64 * 0.618_033_988_749_895).fract();
    let times: Vec<f64> = (0..200).map(|n| (even(n) * 10.0).round() / 10.0).collect();
    let events = Events::new(Points::line(&times).unwrap(), Window::interval(0.0, 10.0).unwrap()).unwrap();
    let fit = Model::default().fit(&events).unwrap();
    let at: Vec<f64> = (1..200).map(|n| 0.05 * f64::from(n)).collect();
    let rate = fit.posterior.rate(&Points::line(&at).unwrap()).unwrap();
    let (low, high) =
        rate.mean.iter().fold((f64::INFINITY, 0f64), |(low, high), rate| (low.min(*rate), high.max(*rate)));
    assert!(low > 14.0 && high < 28.0, "rates from {low} to {high}, of 20");
}

#[test]
fn parts_far_from_each_other_are_seen_or_it_is_said() {
    // All events of the first part lie in a fifth of it.
    let cluster = |n: usize| 2.0 + 2.0 * (n as f64 * 0.618_033_988_749_895).fract();
    let times: Vec<f64> = (0..150).map(cluster).chain((0..30).map(|n| 100_000.2 + 0.33 * f64::from(n))).collect();
    for gap in [100.0, 100_000.0] {
        let window =
            Window::union(&[(0.0, 10.0), (gap, gap + 10.0)].map(|(lo, hi)| Window::interval(lo, hi).unwrap())).unwrap();
        let moved: Vec<f64> = times.iter().map(|t| if *t > 50.0 { t - 100_000.0 + gap } else { *t }).collect();
        let fit = Model::default().fit(&Events::new(Points::line(&moved).unwrap(), window).unwrap()).unwrap();
        let seen = fit.posterior.count(&Window::interval(2.0, 4.0).unwrap()).unwrap().mean;
        let is_said = fit.report.warnings.iter().any(|warning| warning.contains("hardly see inside"));
        assert!(seen > 120.0 || is_said, "{seen} of 150 events, gap {gap}: {:?}", fit.report.warnings);
    }
}

#[test]
fn a_length_that_is_held_is_held_along_every_axis() {
    // Stripes, which ask for a ratio.
    let window = Window::new(&[(0.0, 10.0), (0.0, 10.0)]).unwrap();
    let drawn = simulate(&window, |x| 3.0 + 2.5 * (2.0 * x[0]).sin(), 3, 0).unwrap();
    let events = Events::new(drawn, window).unwrap();
    let family = LatticeChoice { nodes: Some(vec![16, 16]), ..LatticeChoice::default() };
    let model = Model { family: family.into(), fixed: vec![("lengthscale".into(), 2.0)], ..Model::default() };
    let posterior = model.fit(&events).unwrap().posterior;
    for number in 0..posterior.weights().len() {
        let lattice = posterior.component(number).unwrap().lattice().unwrap();
        assert!(lattice.lengthscales.iter().all(|length| (length - 2.0).abs() < 1e-9), "{:?}", lattice.lengthscales);
    }
}
