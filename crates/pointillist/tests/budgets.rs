//! How much work the choice of a lattice may take.

use pointillist::settings::{Budget, Smoothness};
use pointillist::{Events, Fit, LatticeChoice, Link, Model, Points, Window};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Events along a road that is far narrower than the window is wide, so that finer lattices gain for long.
fn road() -> Events {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let coordinates = (0..400).flat_map(|_| {
        let (along, across): (f64, f64) = (rng.random(), rng.random());
        [along, 0.3 + 0.4 * along + 0.004 * across]
    });
    let points = Points::new(2, coordinates.collect()).unwrap();
    Events::new(points, Window::new(&[(0.0, 1.0), (0.0, 1.0)]).unwrap()).unwrap()
}

fn fitted(events: &Events, budget: Budget, threads: usize) -> Fit {
    let family =
        LatticeChoice { smoothness: Some(Smoothness::Two), links: vec![Link::Log], ..LatticeChoice::default() };
    let model = Model { family: family.into(), average: false, budget, ..Model::default() };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    pool.install(|| model.fit(events)).unwrap()
}

/// The nodes of the lattice that was taken.
fn nodes(fit: &Fit) -> usize {
    fit.posterior.lattice().unwrap().nodes.iter().product()
}

#[test]
fn a_larger_budget_gives_a_finer_lattice_and_a_higher_bound() {
    let events = road();
    let [small, middle, large] = [0.2, 1.0, 3.0].map(|seconds| fitted(&events, Budget::Seconds(seconds), 2));
    assert!(nodes(&small) < nodes(&middle) && nodes(&middle) < nodes(&large));
    assert!(small.report.bound.total() < middle.report.bound.total());
    assert!(middle.report.bound.total() < large.report.bound.total());
    assert!(small.report.work < middle.report.work && middle.report.work < large.report.work);
    assert!(large.report.work < 6.0, "what was foreseen is about what was taken: {}", large.report.work);
    let told = &middle.report.choice;
    assert!(told.contains("budget") && told.contains("might gain"), "{told}");
}

#[test]
fn a_budget_is_counted_in_work_and_not_by_the_clock() {
    let events = road();
    let [one, three] = [1, 3].map(|threads| fitted(&events, Budget::Seconds(0.5), threads));
    assert_eq!(one.report.bound, three.report.bound);
    assert_eq!(one.report.work, three.report.work);
    assert_eq!(one.report.choice, three.report.choice);
}

#[test]
fn a_budget_of_nothing_is_refused() {
    for seconds in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let model = Model { budget: Budget::Seconds(seconds), ..Model::default() };
        let told = model.fit(&road()).unwrap_err().to_string();
        assert!(told.contains("budget"), "{told}");
    }
}
