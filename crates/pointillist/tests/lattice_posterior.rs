//! The posterior on a lattice: its draws, counts, scores and numbers, against one another and against inducing points.

use crate::common;
use pointillist::exact::Sampling;
use pointillist::kernel::Expression;
use pointillist::settings::Smoothness;
use pointillist::state::{BasisState, LatticeState};
use pointillist::testing::Drawn;
use pointillist::window::{Exposure, Polygons};
use pointillist::{Events, Family, Fit, InducingPoints, LatticeChoice, Link, Model, Points, Posterior, Prior, Window};

fn coal() -> Events {
    let (lo, hi) = common::COAL_WINDOW;
    Events::new(Points::line(&common::coal()).unwrap(), Window::interval(lo, hi).unwrap()).unwrap()
}

/// Events on a rectangle, denser to one corner.
fn plane() -> Events {
    let u = |i: usize, step: f64| (0.5 + step * i as f64).fract();
    let rows: Vec<[f64; 2]> = (0..300).map(|i| [2.0 * u(i, 0.754878).powi(2), u(i, 0.56984)]).collect();
    Events::new(Points::from_rows(&rows).unwrap(), Window::new(&[(0.0, 2.0), (0.0, 1.0)]).unwrap()).unwrap()
}

fn on_lattice(nodes: &[usize], smoothness: Smoothness, events: &Events) -> Fit {
    let lattice =
        LatticeChoice { nodes: Some(nodes.to_vec()), smoothness: Some(smoothness), ..LatticeChoice::as_in_the_paper() };
    Model { family: lattice.into(), ..Model::of_maximum_likelihood() }.fit(events).unwrap()
}

fn mean_and_sd(values: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    let count = values.clone().count() as f64;
    let mean = values.clone().sum::<f64>() / count;
    (mean, (values.map(|v| (v - mean) * (v - mean)).sum::<f64>() / count).sqrt())
}

#[test]
fn a_lattice_read_back_is_the_same_to_the_last_bit() {
    let fit = on_lattice(&[14, 9], Smoothness::Two, &plane());
    let again = Posterior::from_state(fit.posterior.state()).unwrap();
    let at = Points::from_rows(&[[0.1, 0.2], [1.3, 0.9]]).unwrap();
    assert_eq!(fit.posterior.rate(&at).unwrap(), again.rate(&at).unwrap());
    assert_eq!(fit.posterior.sample(&at, 3, 9).unwrap(), again.sample(&at, 3, 9).unwrap());
    let held_out = Events::new(at, plane().window().clone()).unwrap();
    assert_eq!(fit.posterior.score(&held_out, 100, 1).unwrap(), again.score(&held_out, 100, 1).unwrap());
    let breaks: [fn(&mut LatticeState); 7] = [
        |state| state.q_mean.truncate(3),
        |state| state.q_events.truncate(3),
        |state| state.q_covariance[0] = f64::NAN,
        |state| state.nodes = vec![1, 126],
        |state| state.smoothness = 3,
        |state| state.margin = vec![-1.0, 0.1],
        |state| state.variance = 0.0,
    ];
    for (number, spoil) in breaks.into_iter().enumerate() {
        let mut broken = fit.posterior.state();
        let BasisState::Lattice(state) = &mut broken.components[0].basis else { panic!() };
        spoil(state);
        assert!(Posterior::from_state(broken).is_err(), "{number}");
    }
}

#[test]
fn draws_have_the_moments_of_rates_and_counts() {
    for smoothness in [Smoothness::Two, Smoothness::Four] {
        let posterior = on_lattice(&[14, 9], smoothness, &plane()).posterior;
        let at = Points::from_rows(&[[0.05, 0.5], [1.0, 0.3], [1.95, 0.9]]).unwrap();
        let draws = posterior.sample(&at, 4000, 5).unwrap();
        let (rate, f) = (posterior.rate(&at).unwrap(), posterior.marginals(&at).unwrap());
        for i in 0..at.len() {
            let (mean, sd) = mean_and_sd(draws.iter().map(|draw| draw[i]));
            assert!((mean - rate.mean[i]).abs() < 5.0 * sd / 4000f64.sqrt(), "{mean} {}", rate.mean[i]);
            // Of q itself: what bands show does not follow the pattern of so coarse a lattice.
            let of_square = (2.0 * f.variance[i].powi(2) + 4.0 * f.mean[i].powi(2) * f.variance[i]).sqrt();
            assert!((sd / of_square - 1.0).abs() < 0.07, "{sd} {of_square}");
        }
        let left = Window::new(&[(0.0, 0.7), (0.0, 1.0)]).unwrap();
        let right = Window::new(&[(0.7, 2.0), (0.0, 1.0)]).unwrap();
        let [whole, left_count, right_count] =
            [posterior.window(), &left, &right].map(|region| posterior.count(region).unwrap());
        assert!((left_count.mean + right_count.mean - whole.mean).abs() < 1e-9 * whole.mean);
        let (mean, sd) = mean_and_sd(
            posterior.count_draws(&left, 4000, 6).unwrap().iter().map(|d| d.0).collect::<Vec<_>>().into_iter(),
        );
        assert!((mean - left_count.mean).abs() < 5.0 * sd / 4000f64.sqrt(), "{mean} {left_count:?}");
        assert!((sd / left_count.sd - 1.0).abs() < 0.06, "{sd} {left_count:?}");
    }
}

#[test]
fn no_held_out_events_have_a_score() {
    let nothing = Events::new(Points::new(2, vec![]).unwrap(), plane().window().clone()).unwrap();
    for &link in Link::ALL {
        let family = LatticeChoice { nodes: Some(vec![9, 7]), links: vec![link], ..LatticeChoice::default() };
        let model = Model { family: family.into(), ..Model::of_maximum_likelihood() };
        let posterior = model.fit(&plane()).unwrap().posterior;
        let score = posterior.score(&nothing, 400, 2).unwrap();
        // No events: the log-likelihood is minus the integral.
        let expected = posterior.count(plane().window()).unwrap().mean;
        assert!((score.l_p + expected).abs() < 0.02 * expected, "{link}: {} of {expected}", score.l_p);
        assert!(score.m_p.value >= score.l_p - 1e-6, "{link}: {score:?}");
    }
}

#[test]
fn scores_are_those_of_draws() {
    // Few events: the likelihood of draws must not vary much for its plain mean to be of use.
    let rows: Vec<[f64; 2]> = plane().points().rows().take(8).map(|row| [row[0], row[1]]).collect();
    let events = Events::new(Points::from_rows(&rows).unwrap(), plane().window().clone()).unwrap();
    let posterior = on_lattice(&[14, 9], Smoothness::Two, &events).posterior;
    let held_out = Points::from_rows(&[[0.1, 0.1], [0.3, 0.8], [0.6, 0.5], [1.7, 0.2]]).unwrap();
    let seen = Events::new(held_out.clone(), plane().window().clone()).unwrap();
    let score = posterior.score(&seen, 4000, 2).unwrap();
    assert!(score.l_p < score.m_p.value && score.m_0.se == 0.0 && (score.l_0 - score.m_0.value).abs() < 1e-9);
    // The same seed gives the same intensities, at places and over the window.
    let draws = 20_000;
    let (rates, counts) =
        (posterior.sample(&held_out, draws, 3).unwrap(), posterior.count_draws(posterior.window(), draws, 3).unwrap());
    let logs: Vec<f64> =
        rates.iter().zip(&counts).map(|(rates, count)| rates.iter().map(|r| r.ln()).sum::<f64>() - count.0).collect();
    let top = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = logs.iter().map(|log| (log - top).exp()).collect();
    let (mean, sd) = mean_and_sd(weights.iter().copied());
    let (brute, se) = (top + mean.ln(), sd / mean / (draws as f64).sqrt());
    assert!((score.m_p.value - brute).abs() < 5.0 * (se + score.m_p.se), "{:?} {brute} {se}", score.m_p);
    let (expected, spread) = mean_and_sd(logs.iter().copied());
    assert!((score.l_p - expected).abs() < 5.0 * spread / (draws as f64).sqrt(), "{} {expected}", score.l_p);
}

/// On a line α = 2 is the Matern 3/2 process.
#[test]
fn a_lattice_is_a_matern_process_by_inducing_points() {
    let kernel = Expression::parse("matern32", &["year"]).unwrap();
    let inducing = Model {
        family: Family::Inducing(InducingPoints { kernel: Some(kernel), ..InducingPoints::as_in_the_paper() }),
        ..Model::of_maximum_likelihood()
    }
    .fit(&coal())
    .unwrap();
    let lattice = on_lattice(&[300], Smoothness::Two, &coal());
    let at = coal().window().grid(&[50]);
    let [a, b] = [&inducing, &lattice].map(|fit| fit.posterior.rate(&at).unwrap());
    let (bounds, lengths) = (
        [&inducing, &lattice].map(|fit| fit.report.bound.total()),
        [inducing.posterior.kernel().unwrap().lengthscales()[0], lattice.posterior.lattice().unwrap().lengthscales[0]],
    );
    assert!((bounds[0] - bounds[1]).abs() < 0.05, "{bounds:?}");
    assert!((lengths[0] / lengths[1] - 1.0).abs() < 0.1, "{lengths:?}");
    for i in 0..at.len() {
        assert!((a.mean[i] / b.mean[i] - 1.0).abs() < 0.03, "{i}: {} {}", a.mean[i], b.mean[i]);
        assert!((a.sd[i] / b.sd[i] - 1.0).abs() < 0.06, "{i}: {} {}", a.sd[i], b.sd[i]);
    }
}

#[test]
fn a_finer_lattice_changes_ever_less() {
    let at = coal().window().grid(&[50]);
    let rates = [33, 65, 129, 257].map(|nodes| {
        let posterior = on_lattice(&[nodes], Smoothness::Two, &coal()).posterior;
        posterior.rate(&at).unwrap().mean
    });
    let apart = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a / b - 1.0).abs()).fold(0.0, f64::max);
    let changes: Vec<f64> = rates.windows(2).map(|pair| apart(&pair[0], &pair[1])).collect();
    assert!(changes[1] < 0.6 * changes[0] && changes[2] < 0.6 * changes[1], "{changes:?}");
}

#[test]
fn the_answer_on_a_lattice_is_close_to_the_exact_one() {
    let events = coal();
    let posterior = on_lattice(&[100], Smoothness::Two, &events).posterior;
    let at = posterior.window().grid(&[40]);
    let draws = posterior.sample_exact(events.points(), &at, Sampling::default()).unwrap();
    let rate = posterior.rate(&at).unwrap();
    let mut differences: Vec<f64> = (0..at.len())
        .map(|i| {
            let exact = draws.at(i);
            (rate.mean[i] / (exact.iter().sum::<f64>() / exact.len() as f64) - 1.0).abs()
        })
        .collect();
    differences.sort_by(f64::total_cmp);
    assert!(differences[20] < 0.02, "{differences:?}");
    let coverage = posterior.coverage_of_q(events.points(), 2000, 1).unwrap();
    assert!(
        coverage.k < 0.7
            && coverage.log_evidence.value > on_lattice(&[100], Smoothness::Two, &events).report.bound.total()
    );
}

/// The mean share of true rates inside the 90 % band, over draws from the prior on the unit box.
fn coverage(events: f64, range: f64, nodes: &[usize], at: usize, draws: u64) -> f64 {
    let dims = nodes.len();
    let window = Window::new(&vec![(0.0, 1.0); dims]).unwrap();
    let at = window.grid(&vec![at; dims]);
    let own = if dims == 1 { vec![400] } else { vec![60, 60] };
    let of_draw = |seed: u64| {
        let drawn = Drawn::new(&own, &vec![range; dims], 0.3, events, Smoothness::Two, seed).unwrap();
        let fit = on_lattice(nodes, Smoothness::Two, &Events::new(drawn.events.clone(), window.clone()).unwrap());
        let band = fit.posterior.quantiles(&at, &[0.05, 0.95]).unwrap();
        let truth = drawn.rate(&at).unwrap();
        let inside = (0..at.len()).filter(|i| (band[0][*i]..=band[1][*i]).contains(&truth[*i])).count();
        inside as f64 / at.len() as f64
    };
    (0..draws).map(of_draw).sum::<f64>() / draws as f64
}

#[test]
fn bands_cover_rates_that_are_drawn_from_the_prior() {
    for found in [coverage(1000.0, 0.3, &[200], 100, 24), coverage(2000.0, 0.4, &[48, 48], 12, 8)] {
        assert!((0.85..0.95).contains(&found), "{found}");
    }
}

#[test]
fn a_fit_on_every_kind_of_window() {
    let events = plane();
    let fit =
        |window: Window| on_lattice(&[20, 14], Smoothness::Two, &Events::new(events.points().clone(), window).unwrap());
    let whole = fit(events.window().clone()).posterior;
    let at = events.window().grid(&[5, 4]);
    let rate = whole.rate(&at).unwrap().mean;
    let same = |what: &str, window: Window, factor: f64| {
        let got = fit(window).posterior.rate(&at).unwrap().mean;
        for (got, want) in got.iter().zip(&rate) {
            assert!((got * factor / want - 1.0).abs() < 1e-3, "{what}: {got} {want}");
        }
    };
    let [left, right] = [(0.0, 0.7), (0.7, 2.0)].map(|x| Window::new(&[x, (0.0, 1.0)]).unwrap());
    same("two boxes", Window::union(&[left, right]).unwrap(), 1.0);
    let ring = vec![[0.0, 0.0], [2.0, 0.0], [2.0, 1.0], [0.0, 1.0]];
    same("a border", Window::inside(Polygons::new(vec![vec![ring.clone()]]).unwrap()), 1.0);
    same("three looks", events.window().clone().with_repeats(3).unwrap(), 3.0);
    let exposure = Exposure::grid(vec![0, 1], vec![vec![0.0, 2.0], vec![0.0, 1.0]], vec![5.0; 4]).unwrap();
    same("an exposure", events.window().clone().with_exposure(exposure).unwrap(), 5.0);
    // A hole that no event lies in: nothing was looked for there, so the rate is no lower beside it.
    let hole = vec![[1.72, 0.42], [1.72, 0.5], [1.8, 0.5], [1.8, 0.42]];
    let holed = Window::inside(Polygons::new(vec![vec![ring, hole]]).unwrap());
    let kept = events.points().filter(|row| holed.contains(row));
    let fit = on_lattice(&[20, 14], Smoothness::Two, &Events::new(kept.clone(), holed.clone()).unwrap());
    let count = fit.posterior.count(&holed).unwrap().mean;
    assert!((count / kept.len() as f64 - 1.0).abs() < 0.02, "{count} {}", kept.len());
}

#[test]
fn the_bound_chooses_among_families() {
    let rough = Drawn::new(&[400], &[0.02], 0.5, 400.0, Smoothness::Two, 1).unwrap().events;
    let rough = Events::new(rough, Window::interval(0.0, 1.0).unwrap()).unwrap();
    for events in [coal(), rough] {
        let fit = Model::of_maximum_likelihood().fit(&events).unwrap();
        let tried: Vec<f64> = fit.report.tried.iter().map(|tried| *tried.outcome.as_ref().unwrap()).collect();
        assert_eq!(tried.len(), 6, "two links, three degrees of smoothness");
        let best = tried.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        assert!(fit.posterior.lattice().is_some() && fit.report.bound.total() == best, "{tried:?}");
    }
    let kernel = Expression::parse("se", &["year"]).unwrap();
    let asked = Model {
        family: Family::Inducing(InducingPoints { kernel: Some(kernel.clone()), ..InducingPoints::default() }),
        ..Model::of_maximum_likelihood()
    }
    .fit(&coal())
    .unwrap();
    assert!(asked.report.tried.len() == 1 && asked.posterior.kernel().is_some());
    // A lattice takes priors and held values by the same names, and says which it has.
    let lattice = |fixed: Vec<(String, f64)>, priors: Vec<(String, Prior)>| {
        let family = LatticeChoice { nodes: Some(vec![60]), ..LatticeChoice::as_in_the_paper() }.into();
        Model { family, fixed, priors, ..Model::of_maximum_likelihood() }.fit(&coal())
    };
    let held = lattice(vec![("lengthscale".into(), 20.0), ("mean".into(), 1.3)], vec![]).unwrap().posterior;
    let summary = held.lattice().unwrap();
    assert!((summary.lengthscales[0] - 20.0).abs() < 1e-9 && (held.mean() - 1.3).abs() < 1e-9, "{summary:?}");
    let prior = |location: f64| vec![("lengthscale[0]".to_string(), Prior::LogNormal { location, scale: 0.1 })];
    let lengthscale = |location: f64| {
        let fit = lattice(vec![], prior(location)).unwrap();
        assert!(fit.report.log_prior != 0.0);
        fit.posterior.lattice().unwrap().lengthscales[0]
    };
    assert!(lengthscale(2.0) < lengthscale(3.5) - 5.0, "{} {}", lengthscale(2.0), lengthscale(3.5));
    let refused = lattice(vec![("wavelength".into(), 1.0)], vec![]).unwrap_err().to_string();
    assert!(refused.contains("the model has lengthscale[0], variance, mean"), "{refused}");
    assert!(lattice(vec![("lengthscale".into(), -1.0)], vec![]).unwrap_err().to_string().contains("positive"));
    let fine = LatticeChoice {
        nodes: Some(vec![4000]),
        smoothness: Some(Smoothness::Four),
        ..LatticeChoice::as_in_the_paper()
    };
    let fixed = vec![("lengthscale".to_string(), 20.0)];
    let refused =
        Model { family: fine.into(), fixed, ..Model::of_maximum_likelihood() }.fit(&coal()).map(|_| ()).unwrap_err();
    assert!(refused.to_string().contains("fewer nodes"), "{refused}");
    assert!(lattice(vec![("lengthscale".into(), 1e9)], vec![]).unwrap_err().to_string().contains("inducing points"));
    assert!(lattice(vec![("lengthscale".into(), 0.2)], vec![]).unwrap_err().to_string().contains("more than 60 nodes"));
}

#[test]
fn axes_that_share_a_unit_share_a_range_unless_the_events_speak_against_it() {
    let fit = |ranges: &[f64; 2], seed: u64| {
        let drawn = Drawn::new(&[60, 60], ranges, 0.6, 1500.0, Smoothness::Two, seed).unwrap().events;
        let events = Events::new(drawn, Window::new(&[(0.0, 1.0), (0.0, 1.0)]).unwrap()).unwrap();
        let lattice = LatticeChoice {
            nodes: Some(vec![36, 36]),
            smoothness: Some(Smoothness::Two),
            ..LatticeChoice::as_in_the_paper()
        };
        let lengths = |model: Model| model.fit(&events).unwrap().posterior.lattice().unwrap().lengthscales;
        let model = Model { family: lattice.into(), average: false, ..Model::default() };
        [lengths(model.clone()), lengths(Model { penalise: false, ..model })]
    };
    let [even, free] = fit(&[0.2, 0.2], 3);
    assert!((even[0] / even[1] - 1.0).abs() < 1e-9 && (free[0] / free[1] - 1.0).abs() > 1e-3, "{even:?} {free:?}");
    let [striped, _] = fit(&[0.1, 0.6], 4);
    assert!(striped[1] > 2.0 * striped[0], "{striped:?}");
}

/// f at one place of a posterior of the log link, as its band shows it: mean and variance.
fn shown(posterior: &Posterior, at: &Points) -> Vec<(f64, f64)> {
    let band = posterior.quantiles(at, &[0.05, 0.5, 0.95]).unwrap();
    let of = |n: usize| {
        let sd = (band[2][n] / band[0][n]).ln() / (2.0 * 1.6448536269514722);
        (band[1][n].ln(), sd * sd)
    };
    (0..at.len()).map(of).collect()
}

/// Between nodes f is a mean of its values there, which varies less: bands must not show that.
#[test]
fn bands_do_not_show_the_lattice() {
    let fitted = |nodes: usize, smoothness: Smoothness| {
        let family = LatticeChoice {
            nodes: Some(vec![nodes]),
            smoothness: Some(smoothness),
            links: vec![Link::Log],
            ..LatticeChoice::default()
        };
        let fixed = vec![("lengthscale".to_string(), 0.2), ("variance".to_string(), 1.0)];
        let model = Model { family: family.into(), fixed, average: false, ..Model::default() };
        let times: Vec<f64> = (0..60).map(|i| (0.5 + 0.618034 * f64::from(i)).fract().powf(1.5)).collect();
        let events = Events::new(Points::line(&times).unwrap(), Window::interval(0.0, 1.0).unwrap()).unwrap();
        model.fit(&events).unwrap().posterior
    };
    for smoothness in [Smoothness::One, Smoothness::Two] {
        let (coarse, fine) = (fitted(31, smoothness), fitted(481, smoothness));
        let state = coarse.state();
        let BasisState::Lattice(state) = &state.components[0].basis else { panic!("a lattice") };
        let step = (1.0 + 2.0 * state.margin[0]) / (state.nodes[0] - 1) as f64;
        let node = |x: f64| ((x + state.margin[0]) / step).floor() * step - state.margin[0];
        let (mut off, mut was_off) = (0.0, 0.0);
        for x in [0.15, 0.3, 0.5, 0.7, 0.85] {
            let at = Points::line(&[0.0, 0.5, 1.0].map(|t| node(x) + t * step)).unwrap();
            let (shown, plain) = (shown(&coarse, &at), coarse.marginals(&at).unwrap());
            let arch = |v: [f64; 3]| (v[1] - 0.5 * (v[0] + v[2])).abs();
            let was = arch([0, 1, 2].map(|n| plain.variance[n]));
            // So coarse a lattice loses more than half of the variance under smoothness 1, too much to give all of it back.
            assert!(arch([0, 1, 2].map(|n| shown[n].1)) < 0.35 * was, "{shown:?} {plain:?}");
            // The mean rate stays that of q.
            let mean = (plain.mean[1] + 0.5 * plain.variance[1]).exp();
            assert!((coarse.rate(&at).unwrap().mean[1] / mean - 1.0).abs() < 1e-12);
            let exact = fine.marginals(&at).unwrap().variance;
            for n in 0..3 {
                off += (shown[n].1 - exact[n]).powi(2);
                was_off += (plain.variance[n] - exact[n]).powi(2);
            }
        }
        // Nearer to what a fine lattice says.
        assert!(off < 0.5 * was_off, "{smoothness:?}: {off} of {was_off}");
    }
}
