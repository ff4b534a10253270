//! Counts beyond the window: how often their intervals hold what came.

use pointillist::kernel::Expression;
use pointillist::settings::Inducing;
use pointillist::{Events, Family, InducingPoints, LatticeChoice, Link, Model, Points, Posterior, Window, simulate};
use std::f64::consts::TAU;

/// Events per day, about 30 of them.
fn daily(t: f64) -> f64 {
    (5.2 + 2.4 * (TAU * (t - 0.6)).cos()).powi(2)
}

fn fitted(times: Points, window: Window) -> Posterior {
    let events = Events::new(times, window).unwrap();
    let kernel = Some(Expression::parse("se(t) + se(t)*periodic(t, period=1!)", &["t"]).unwrap());
    let points = Inducing::Grid(vec![60]);
    let family = Family::Inducing(InducingPoints { kernel, points, ..InducingPoints::default() });
    Model { family, ..Model::default() }.fit(&events).unwrap().posterior
}

/// The count of the next day lies in its 90 % predictive interval in about 90 % of 60 sets: between 48 and 59 of them with a chance of 99 % (the binomial
/// distribution). An interval of whole numbers holds a little more than 90 %. Half of the sets have a gap in their window.
#[test]
fn intervals_of_tomorrow_hold_it_as_often_as_they_say() {
    let (days, sets) = (8.0, 60);
    let tomorrow = Window::interval(days, days + 1.0).unwrap();
    let (mut held, mut wide) = (0, 0.0);
    for set in 0..sets {
        let whole = Window::interval(0.0, days).unwrap();
        let parts = [(0.0, 4.2), (4.7, days)].map(|(lo, hi)| Window::interval(lo, hi).unwrap());
        let window = if set % 2 == 0 { whole } else { Window::union(&parts).unwrap() };
        let times = simulate(&window, |x| daily(x[0]), 70, set).unwrap();
        let came = simulate(&tomorrow, |x| daily(x[0]), 71, set).unwrap().len() as u64;
        let draws = fitted(times, window).count_draws(&tomorrow, 2000, set).unwrap();
        let mut counts: Vec<u64> = draws.iter().map(|(_, count)| *count).collect();
        counts.sort_unstable();
        let (low, high) = (counts[100], counts[1899]);
        held += usize::from((low..=high).contains(&came));
        wide += (high - low) as f64 / sets as f64;
    }
    println!("{held} of {sets} days lie in their 90 % intervals, {wide:.1} wide on average");
    assert!((48..=59).contains(&held), "{held}");
    // A Poisson count of 30 alone is 18 wide.
    assert!(wide > 18.0 && wide < 60.0, "{wide}");
}

#[test]
fn pieces_are_counted_with_what_lies_after_them() {
    let parts = [(0.0, 3.0), (4.0, 8.0)].map(|(lo, hi)| Window::interval(lo, hi).unwrap());
    let window = Window::union(&parts).unwrap();
    let posterior = fitted(simulate(&window, |x| daily(x[0]), 3, 0).unwrap(), window);
    let count = |lo: f64, hi: f64| posterior.count(&Window::interval(lo, hi).unwrap()).unwrap().mean;
    assert!(posterior.counts_beyond_the_window());
    assert!((count(7.0, 9.0) / (count(7.0, 8.0) + count(8.0, 9.0)) - 1.0).abs() < 1e-6);
    assert!((count(-1.0, 9.0) / (count(-1.0, 0.0) + count(0.0, 8.0) + count(8.0, 9.0)) - 1.0).abs() < 1e-6);
    // Nobody looked in the gap: what the model expects there is counted with the rest, by itself and in parts.
    assert!((count(2.0, 5.0) / (count(2.0, 3.0) + count(3.0, 4.0) + count(4.0, 5.0)) - 1.0).abs() < 1e-6);
    assert!((count(3.0, 4.0) / (count(3.0, 3.4) + count(3.4, 4.0)) - 1.0).abs() < 1e-6);
    let looked_at = posterior.count(posterior.window()).unwrap().mean;
    assert!((count(0.0, 8.0) / (looked_at + count(3.0, 4.0)) - 1.0).abs() < 1e-6, "the window is what was looked at");
}

/// How often the events that nobody saw in a gap are as many as the interval of a new count there says.
#[test]
fn counts_in_gaps_hold_what_nobody_saw() {
    let sets = 60;
    let parts = [(0.0, 4.0), (5.0, 10.0)].map(|(lo, hi)| Window::interval(lo, hi).unwrap());
    let (window, whole) = (Window::union(&parts).unwrap(), Window::interval(0.0, 10.0).unwrap());
    let gap = Window::interval(4.0, 5.0).unwrap();
    let mut held = 0;
    for set in 0..sets {
        let phase = 0.61803 * set as f64;
        let rate = |x: &[f64]| 30.0 * (1.0 + 0.6 * (0.7 * x[0] + TAU * phase).sin());
        let all = simulate(&whole, rate, 77, set).unwrap();
        let seen = all.filter(|row| window.contains(row));
        let unseen = (all.len() - seen.len()) as f64;
        let posterior = Model::default().fit(&Events::new(seen, window.clone()).unwrap()).unwrap().posterior;
        let counts = posterior.joint_counts(std::slice::from_ref(&gap), 400, 1).unwrap();
        let ends = counts.new_count_quantiles(0, &[0.05, 0.95]);
        held += usize::from((ends[0]..=ends[1]).contains(&unseen));
    }
    println!("{held} of {sets} gaps lie in their 90 % intervals");
    assert!((48..=59).contains(&held), "{held}");
}

/// Parts of a forecast that are asked for together are of one lattice and add up; asked for one by one each has a lattice that ends elsewhere.
#[test]
fn parts_of_a_forecast_add_up() {
    let window = Window::interval(0.0, 10.0).unwrap();
    let events = simulate(&window, |x: &[f64]| 12.0 * (1.0 + 0.6 * (0.7 * x[0]).sin()), 5, 0).unwrap();
    let lattice = LatticeChoice { links: vec![Link::Log], ..LatticeChoice::default() };
    let model = Model { family: lattice.into(), ..Model::default() };
    let posterior = model.fit(&Events::new(events, window).unwrap()).unwrap().posterior;
    let regions = [(10.0, 12.0), (10.0, 11.2), (11.2, 12.0)].map(|(lo, hi)| Window::interval(lo, hi).unwrap());
    let means = |regions: &[Window]| -> Vec<f64> {
        posterior.joint_counts(regions, 200, 1).unwrap().moments().iter().map(|count| count.mean).collect()
    };
    let together = means(&regions);
    assert!(((together[1] + together[2]) / together[0] - 1.0).abs() < 1e-6, "{together:?}");
    let apart: Vec<f64> = regions.iter().flat_map(|region| means(std::slice::from_ref(region))).collect();
    assert!(((apart[1] + apart[2]) / apart[0] - 1.0).abs() < 1e-3, "{apart:?}");
}
