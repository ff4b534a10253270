//! Calls that tell how far they are: the same answers to the last bit, and an early end where that is asked for.

use pointillist::settings::{Inducing, Smoothness};
use pointillist::watch::{FitStage, PartWatch};
use pointillist::{Error, Events, LatticeChoice, Model, Points, Posterior, Progress, Result, Window, simulate};
use std::fmt::Debug;
use std::ops::ControlFlow;
use std::sync::Mutex;

const BAND: [f64; 2] = [0.05, 0.95];

fn events(seed: u64) -> Events {
    let window = Window::new(&[(0.0, 2.0), (0.0, 1.0)]).unwrap();
    Events::new(simulate(&window, |x| 40.0 * x[0], seed, 0).unwrap(), window).unwrap()
}

/// By inducing points, on a lattice, and the average of both.
fn posteriors() -> [Posterior; 3] {
    let nodes = Some(vec![20, 12]);
    let lattice = LatticeChoice { nodes, smoothness: Some(Smoothness::Two), ..LatticeChoice::as_in_the_paper() };
    let [inducing, lattice] = [Inducing::Grid(vec![6, 5]).into(), lattice.into()]
        .map(|family| Model { family, ..Model::of_maximum_likelihood() }.fit(&events(1)).unwrap().posterior);
    let average = Posterior::average(vec![(0.0, inducing.clone()), (-0.5, lattice.clone())]).unwrap();
    [inducing, lattice, average]
}

/// More than two blocks, some of them outside the window.
fn many() -> Points {
    Points::grid(&[0.0, 0.0], &[2.2, 1.0], &[110, 91])
}

/// What comes of a call without a watch, of one that is watched to its end, and of one that is stopped.
fn check<T: Debug + PartialEq + Send>(
    what: &str,
    plain: Result<T>,
    watched: impl Fn(&PartWatch<'_>) -> Result<T> + Sync,
) {
    let told = Mutex::new(vec![]);
    let answer = watched(&|done| {
        told.lock().unwrap().push(done);
        ControlFlow::Continue(())
    });
    assert!(plain.is_ok() && answer == plain, "{what}: other bits where it is watched");
    let told = told.into_inner().unwrap();
    assert!(told.len() > 2 && told.iter().all(|done| (0.0..=1.0).contains(done)), "{what}: {told:?}");
    assert_eq!(told.iter().copied().fold(0.0, f64::max), 1.0, "{what}: it did not tell of its end");
    // On one thread nothing is done after the watch has said no.
    let single = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    for last in [1, told.len() / 2] {
        let calls = Mutex::new(0);
        let stopped = single.install(|| {
            watched(&|_| {
                let mut calls = calls.lock().unwrap();
                *calls += 1;
                if *calls < last { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            })
        });
        assert_eq!(stopped, Err(Error::Cancelled), "{what}");
        assert_eq!(calls.into_inner().unwrap(), last, "{what}: it went on");
    }
}

#[test]
fn a_fit_tells_how_far_it_is_and_never_goes_back() {
    // A map that takes some seconds: a finer lattice in two of its families, averages over many hyper-parameters in all.
    let window = Window::new(&[(0.0, 1.0), (0.0, 1.0)]).unwrap();
    let rate = |x: &[f64]| 1500.0 * (1.0 + (12.0 * x[0]).sin() * (12.0 * x[1]).cos());
    let events = Events::new(simulate(&window, rate, 3, 0).unwrap(), window).unwrap();
    let mut told: Vec<Progress> = vec![];
    let fit = Model::default().fit_watched(&events, &mut |progress| {
        told.push(*progress);
        ControlFlow::Continue(())
    });
    assert_eq!(fit.unwrap().posterior.state(), Model::default().fit(&events).unwrap().posterior.state());
    assert!(told.windows(2).all(|pair| pair[0].part <= pair[1].part), "it went back");
    assert!(told[0].part < 0.05 && told.last().unwrap().part == 1.0, "{:?} {:?}", told[0], told.last());
    assert!(told[..told.len() - 1].iter().all(|progress| progress.part < 1.0), "an end before the end");
    // A step costs about the square of its unknowns. When half of all that is done, about a half is said to be.
    let search: Vec<&Progress> = told.iter().filter(|progress| progress.stage != FitStage::Check).collect();
    assert!(search.windows(2).all(|pair| pair[0].evaluations <= pair[1].evaluations));
    let work = |pair: &[&Progress]| (pair[1].evaluations - pair[0].evaluations) as f64 * (pair[1].size as f64).powi(2);
    let all: f64 = search.windows(2).map(work).sum();
    let mut done = 0.0;
    let half = search.windows(2).find(|pair| {
        done += work(pair);
        done >= 0.5 * all
    });
    let part = half.unwrap()[1].part;
    assert!((0.2..0.8).contains(&part), "{part}");
}

#[test]
fn predictions_tell_how_they_go_and_can_be_stopped() {
    let many = many();
    for posterior in posteriors() {
        check("rate", posterior.rate_and_quantiles(&many, &BAND), |watch| {
            posterior.rate_and_quantiles_watched(&many, &BAND, watch)
        });
        check("exceedance", posterior.exceedance(&many, 30.0), |watch| {
            posterior.exceedance_watched(&many, 30.0, watch)
        });
    }
}

#[test]
fn draws_tell_how_they_go_and_can_be_stopped() {
    let (many, half) = (many(), Window::new(&[(0.0, 1.0), (0.0, 1.0)]).unwrap());
    for posterior in posteriors() {
        check("sample", posterior.sample(&many, 5, 3), |watch| posterior.sample_watched(&many, 5, 3, watch));
        check("count", posterior.count_draws(&half, 50, 3), |watch| posterior.count_draws_watched(&half, 50, 3, watch));
    }
}

#[test]
fn scores_tell_how_they_go_and_can_be_stopped() {
    let held_out = events(2);
    for posterior in posteriors() {
        check("score", posterior.score(&held_out, 1500, 3), |watch| posterior.score_watched(&held_out, 1500, 3, watch));
    }
}
