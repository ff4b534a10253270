//! Whether clusters are due to the rate or to memory: pairs of events that bring about others, and of events at a rate with sharp peaks.

use pointillist::report::Nearness;
use pointillist::{Events, Model, Points, Window};
use pointillist_io::fit_summary::ComponentSummary;
use std::ops::ControlFlow;

const SIDE: f64 = 50.0;

/// Even numbers (SplitMix64).
struct Even(u64);

impl Even {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    fn waiting(&mut self) -> f64 {
        -(1.0 - self.next()).ln()
    }
}

/// A self-exciting process: one event per unit by itself, and each brings about `children` others on the mean, after `memory` on the mean.
fn hawkes(seed: u64, children: f64, memory: f64) -> Vec<f64> {
    let mut rng = Even(seed);
    let (mut all, mut at) = (vec![], 0.0);
    loop {
        at += rng.waiting();
        if at > SIDE {
            break;
        }
        all.push(at);
    }
    let mut next = 0;
    while next < all.len() {
        let mut sum = rng.waiting();
        while sum < children {
            let child = all[next] + memory * rng.waiting();
            if child < SIDE {
                all.push(child);
            }
            sum += rng.waiting();
        }
        next += 1;
    }
    all
}

/// Independent events at a rate of four per unit with peaks ten times as high and this wide, one in ten units, by thinning.
fn peaks(seed: u64, width: f64) -> Vec<f64> {
    let mut rng = Even(seed);
    let rate = |t: f64| {
        let off = (t % 10.0 - 4.0) / width;
        4.0 + 40.0 * (-0.5 * off * off).exp()
    };
    let (mut all, mut at) = (vec![], 0.0);
    loop {
        at += rng.waiting() / 44.0;
        if at > SIDE {
            return all;
        }
        if 44.0 * rng.next() < rate(at) {
            all.push(at);
        }
    }
}

/// Of how many of some sets memory is spoken: they have more pairs than their fitted rate explains, or the rate changes too fast to be one, as `check --fit` says.
fn fires(sets: u64, times: impl Fn(u64) -> Vec<f64>) -> usize {
    let is_closer = |set: &u64| {
        let points = Points::line(&times(*set)).unwrap();
        let events = Events::new(points.clone(), Window::interval(0.0, SIDE).unwrap()).unwrap();
        let fit = Model { checked: false, ..Model::default() }.fit(&events).unwrap();
        let pairs = fit.posterior.pairs(&points, 0, &|_| ControlFlow::Continue(())).unwrap().unwrap();
        let components = ComponentSummary::of(&fit.posterior);
        let bursts = ComponentSummary::of_bursts(&components, &fit.report.priors, events.window().axes());
        matches!(pairs.nearness(), Nearness::Closer(_))
            || bursts.is_some_and(|said| ComponentSummary::is_of_bursts(&said))
    };
    (0..sets).filter(is_closer).count()
}

#[test]
fn memory_is_spoken_of_where_events_bring_about_others_and_not_where_the_rate_has_peaks() {
    let (of_memory, of_peaks) = (fires(2, |set| hawkes(set, 0.5, 0.05)), fires(2, |set| peaks(set, 0.5)));
    assert!(of_memory == 2 && of_peaks == 0, "{of_memory} and {of_peaks} of 2");
}

/// `cargo test --release -p pointillist-io --test memory -- --ignored --nocapture`.
#[test]
#[ignore = "long: minutes"]
fn how_often_memory_is_spoken_of() {
    let sets = 50;
    let of_memory = [0.05, 0.3].map(|memory| {
        let found = fires(sets, |set| hawkes(set, 0.5, memory));
        println!("one event per unit, each brings about 0.5 others after {memory}: {found} of {sets}");
        found
    });
    let of_peaks = [1.0, 0.5, 0.2].map(|width| {
        let found = fires(sets, |set| peaks(set, width));
        println!("independent events at a rate with peaks of sd {width}, ten times as high: {found} of {sets}");
        found
    });
    // A memory that is long beside the distance of events is not noticed, and peaks that are narrow enough look like memory.
    assert!(of_memory[0] >= 45 && of_peaks[..2].iter().all(|found| *found <= 5), "{of_memory:?} {of_peaks:?}");
}
