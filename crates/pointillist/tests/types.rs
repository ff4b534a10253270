//! Types of events: totals, views of one joint posterior against draws of it, evidence for what is shared, recovery, refusals.

use pointillist::internals::numerics::{Matrix, linalg};
use pointillist::internals::sample::standard_normal;
use pointillist::settings::{Inducing, Smoothness};
use pointillist::state::BasisState;
use pointillist::types::{Latent, ShareOfType, TypesFit, TypesPosterior, by_type};
use pointillist::window::{Exposure, Polygons};
use pointillist::{Error, Events, LatticeChoice, Link, Model, Points, Posterior, Prior, Window};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use std::ops::ControlFlow;

fn model(nodes: &[usize]) -> Model {
    let lattice = LatticeChoice { nodes: Some(nodes.to_vec()), ..LatticeChoice::default() };
    Model { family: lattice.into(), ..Model::default() }
}

fn named(events: Vec<Events>) -> Vec<(String, Events)> {
    events.into_iter().enumerate().map(|(k, events)| (format!("type {k}"), events)).collect()
}

/// Events of a rate that is at most `most` over a window, by thinning.
fn thinned(window: &Window, most: f64, rate: impl Fn(&[f64]) -> f64, rng: &mut ChaCha8Rng) -> Events {
    let sides = window.bounding_box();
    let volume: f64 = sides.iter().map(|side| side.length()).product();
    let (mut rows, mut sum) = (vec![], 0.0);
    loop {
        sum -= (1.0 - rng.random::<f64>()).ln();
        if sum > most * volume {
            break;
        }
        let row: Vec<f64> = sides.iter().map(|side| side.lo + side.length() * rng.random::<f64>()).collect();
        assert!(rate(&row) <= most);
        if rng.random::<f64>() * most < rate(&row) && window.contains(&row) {
            rows.extend(row);
        }
    }
    Events::new(Points::new(window.dims(), rows).unwrap(), window.clone()).unwrap()
}

/// A cluster in the middle of a long window that is otherwise empty: where nearly nothing is known, logarithms of rates are very uncertain, and their means must
/// not run away with the mean rate.
#[test]
fn of_a_cluster_in_an_empty_window_the_expected_number_is_near_its_events() {
    let line = Window::interval(0.0, 10.0).unwrap();
    for (sd, nodes) in [(0.3, vec![96]), (0.3, vec![32]), (0.1, vec![16]), (0.01, vec![32])] {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let mut cluster = |count: usize| {
            let places: Vec<f64> = standard_normal(&mut rng, count).iter().map(|z| 5.0 + sd * z).collect();
            Events::new(Points::line(&places).unwrap(), line.clone()).unwrap()
        };
        let types = named(vec![cluster(29), cluster(31)]);
        let TypesFit { posterior, report, .. } = model(&nodes).fit_types(&types).unwrap();
        let one = |latent| model(&nodes).fit_outputs(&types, latent).unwrap();
        for (name, posterior) in [("own fields", posterior), ("one field", one(Latent::Fields(1)).posterior)] {
            for (k, (_, events)) in types.iter().enumerate() {
                let expected = posterior.of(k).unwrap().expected(&line).unwrap();
                let seen = events.len() as f64;
                assert!((expected / seen - 1.0).abs() < 0.25, "{name}, {sd}, {nodes:?}: {expected} for {seen}");
            }
        }
        assert!(report.expected.iter().all(|expected| *expected < 40.0), "{:?}", report.expected);
    }
}

/// Two types on a line: one rises, the other falls.
fn two_on_a_line() -> Vec<(String, Events)> {
    let window = Window::interval(0.0, 10.0).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let rising = thinned(&window, 20.0, |x| 2.0 * x[0], &mut rng);
    let falling = thinned(&window, 20.0, |x| 20.0 - 1.8 * x[0], &mut rng);
    named(vec![rising, falling])
}

#[test]
fn the_expected_number_of_each_type_is_near_its_events_and_parts_add_up() {
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    let square = Window::new(&[(0.0, 4.0), (0.0, 2.0)]).unwrap();
    let ring = [[0.0, 0.0], [4.0, 0.0], [4.0, 1.0], [1.0, 2.0], [0.0, 2.0]];
    let border = Window::inside(Polygons::new(vec![vec![ring.to_vec()]]).unwrap());
    let line = Window::interval(0.0, 10.0).unwrap();
    let lines = vec![vec![0.0, 4.0, 10.0]];
    let exposed = line.clone().with_exposure(Exposure::cells(vec![0], lines, vec![1.0, 0.25]).unwrap()).unwrap();
    for (window, nodes, halves) in [
        (line, vec![40], [vec![(0.0, 5.0)], vec![(5.0, 10.0)]]),
        (exposed, vec![40], [vec![(0.0, 5.0)], vec![(5.0, 10.0)]]),
        (square, vec![12, 8], [vec![(0.0, 1.5), (0.0, 2.0)], vec![(1.5, 4.0), (0.0, 2.0)]]),
        (border, vec![12, 8], [vec![(0.0, 1.5), (0.0, 2.0)], vec![(1.5, 4.0), (0.0, 2.0)]]),
    ] {
        let kinds = [15.0, 8.0, 4.0].map(|most| thinned(&window, most, |x| most * (0.3 + 0.07 * x[0]), &mut rng));
        let types = named(kinds.to_vec());
        let TypesFit { posterior, report, .. } = model(&nodes).fit_types(&types).unwrap();
        for (k, (_, events)) in types.iter().enumerate() {
            let seen = events.len() as f64;
            assert!((report.expected[k] - seen).abs() < 0.02 * seen + 0.5, "{} of {seen}", report.expected[k]);
            let own = posterior.of(k).unwrap();
            let whole = own.expected(&window).unwrap();
            let parts = halves.iter().map(|half| {
                let half = window.intersection(&Window::new(half).unwrap()).unwrap();
                own.expected(&half).unwrap()
            });
            let sum: f64 = parts.sum();
            assert!((sum / whole - 1.0).abs() < 1e-6, "{sum} {whole}");
            // The count is that of the same intensity, over what was looked at.
            assert!((own.count(&window).unwrap().mean / whole - 1.0).abs() < 0.02);
        }
        let total: f64 = report.joint.weights.iter().sum();
        assert!((total - 1.0).abs() < 1e-12 && report.joint.tried.len() == 3);
    }
}

/// Quantiles of numbers, as good as there are many of them.
fn quantile(values: &[f64], p: f64) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values[((p * values.len() as f64) as usize).min(values.len() - 1)]
}

/// Draws with one seed are of the same unknowns for each type: ratios and shares follow from them, slowly.
#[test]
fn ratios_and_shares_are_those_of_joint_draws() {
    let window = Window::interval(0.0, 10.0).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let kinds = [0.0, 2.0, 4.0].map(|phase| thinned(&window, 14.0, |x| 7.0 * (1.0 + (x[0] + phase).sin()), &mut rng));
    let types = model(&[40]).fit_types(&named(kinds.to_vec())).unwrap().posterior;
    // At nodes of the lattice there is nothing to interpolate.
    let BasisState::Layers(layers) = &types.joint().state().components[0].basis else { panic!("fields of types") };
    let (margin, step) =
        (10.0 * layers.margin[0], 10.0 * (1.0 + 2.0 * layers.margin[0]) / (layers.nodes[0] - 1) as f64);
    let node = |near: f64| step * ((near + margin) / step).round() - margin;
    let places = Points::line(&[0.7, 5.0, 9.1].map(node)).unwrap();
    let draws = 4000;
    let drawn: Vec<Vec<Vec<f64>>> = (0..3).map(|k| types.of(k).unwrap().sample(&places, draws, 7).unwrap()).collect();
    let shares = types.shares(&places, &[0.05, 0.5, 0.95]).unwrap();
    let ratio = types.ratio(0, 2).unwrap();
    let quantiles = ratio.quantiles(&places, &[0.05, 0.5, 0.95]).unwrap();
    for n in 0..places.len() {
        let rates: Vec<[f64; 3]> = (0..draws).map(|d| [0, 1, 2].map(|k| drawn[k][d][n])).collect();
        let ratios: Vec<f64> = rates.iter().map(|rates| rates[0] / rates[2]).collect();
        let width = (quantiles[2][n] / quantiles[0][n]).ln();
        for (q, p) in quantiles.iter().zip([0.05, 0.5, 0.95]) {
            let off = (q[n] / quantile(&ratios, p)).ln().abs();
            assert!(off < 0.06 * width, "{p}: {} {}", q[n], quantile(&ratios, p));
        }
        for (k, share) in shares.iter().enumerate() {
            let own: Vec<f64> = rates.iter().map(|rates| rates[k] / rates.iter().sum::<f64>()).collect();
            let mean = own.iter().sum::<f64>() / draws as f64;
            let width = share.quantiles[2][n] - share.quantiles[0][n];
            assert!((mean - share.mean[n]).abs() < 0.04 * width, "{mean} {}", share.mean[n]);
            for (q, p) in share.quantiles.iter().zip([0.05, 0.5, 0.95]) {
                assert!((q[n] - quantile(&own, p)).abs() < 0.06 * width, "{p}: {} {}", q[n], quantile(&own, p));
            }
        }
        let sum: f64 = shares.iter().map(|share| share.mean[n]).sum();
        assert!((sum - 1.0).abs() < 1e-9);
    }
}

/// Of two types the share is a function of the ratio; and the ratio the other way round is its inverse.
#[test]
fn of_two_types_shares_and_ratios_say_the_same() {
    let types = model(&[40]).fit_types(&two_on_a_line()).unwrap().posterior;
    let places = Points::line(&[0.5, 3.3, 9.5]).unwrap();
    let ps = [0.05, 0.5, 0.95];
    let ratio = types.ratio(0, 1).unwrap().quantiles(&places, &ps).unwrap();
    let inverse = types.ratio(1, 0).unwrap().quantiles(&places, &ps).unwrap();
    let ShareOfType { quantiles, .. } = types.shares(&places, &ps).unwrap().swap_remove(0);
    for n in 0..places.len() {
        let width = quantiles[2][n] - quantiles[0][n];
        for k in 0..3 {
            let share = ratio[k][n] / (1.0 + ratio[k][n]);
            assert!((quantiles[k][n] - share).abs() < 0.05 * width, "{} {share}", quantiles[k][n]);
            assert!((inverse[2 - k][n] * ratio[k][n] - 1.0).abs() < 1e-9);
        }
    }
    // The first type rises where the second one falls.
    let higher = types.ratio(0, 1).unwrap().exceedance(&places, 1.0).unwrap();
    assert!(ratio[1][0] < 0.5 && higher[0] < 0.05, "{ratio:?} {higher:?}");
    assert!(ratio[1][2] > 1.5 && higher[2] > 0.9, "{ratio:?} {higher:?}");
}

#[test]
fn evidence_tells_what_types_share() {
    let window = Window::interval(0.0, 10.0).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    let wave = |phase: f64| move |x: &[f64]| 12.0 * (1.0 + (1.3 * x[0] + phase).sin());
    let alike = vec![thinned(&window, 24.0, wave(0.0), &mut rng), thinned(&window, 24.0, wave(0.0), &mut rng)];
    let other = vec![alike[0].clone(), thinned(&window, 24.0, wave(std::f64::consts::PI), &mut rng)];
    let evidence = |fit: &TypesFit, name: &str| {
        let found = fit.report.joint.tried.iter().find(|tried| tried.name == name).unwrap();
        *found.outcome.as_ref().unwrap()
    };
    let fit = model(&[48]).fit_types(&named(alike)).unwrap();
    assert!(evidence(&fit, "shared alone") > evidence(&fit, "own alone") + 2.0, "{:?}", fit.report.joint.tried);
    let fit = model(&[48]).fit_types(&named(other)).unwrap();
    assert!(evidence(&fit, "own alone") > evidence(&fit, "shared alone") + 5.0, "{:?}", fit.report.joint.tried);
}

/// Units and the order of types change nothing but themselves.
#[test]
fn a_change_of_units_or_of_order_changes_no_more() {
    let types = two_on_a_line();
    let scaled = |(name, events): &(String, Events)| {
        let times: Vec<f64> = events.points().coordinates().iter().map(|t| 1000.0 * t).collect();
        let window = Window::interval(0.0, 10_000.0).unwrap();
        (name.clone(), Events::new(Points::line(&times).unwrap(), window).unwrap())
    };
    let turned: Vec<(String, Events)> = types.iter().rev().map(scaled).collect();
    let one = model(&[32]).fit_types(&types).unwrap();
    let other = model(&[32]).fit_types(&turned).unwrap();
    let (at, scaled_at) = (Points::line(&[2.0, 7.5]).unwrap(), Points::line(&[2000.0, 7500.0]).unwrap());
    let rates = one.posterior.of(0).unwrap().rate(&at).unwrap().mean;
    let same = other.posterior.of(1).unwrap().rate(&scaled_at).unwrap().mean;
    let ratios = one.posterior.ratio(0, 1).unwrap().quantiles(&at, &[0.9]).unwrap();
    let same_ratios = other.posterior.ratio(1, 0).unwrap().quantiles(&scaled_at, &[0.9]).unwrap();
    for n in 0..2 {
        assert!((rates[n] / (1000.0 * same[n]) - 1.0).abs() < 1e-3, "{rates:?} {same:?}");
        assert!((ratios[0][n] / same_ratios[0][n] - 1.0).abs() < 2e-3, "{ratios:?} {same_ratios:?}");
    }
    let units = types.iter().map(|(_, events)| events.len() as f64 * 1000f64.ln()).sum::<f64>();
    for (a, b) in one.report.joint.tried.iter().zip(&other.report.joint.tried) {
        let (a, b) = (a.outcome.as_ref().unwrap(), b.outcome.as_ref().unwrap());
        assert!((a - b - units).abs() < 0.02, "{a} {b} {units}");
    }
}

#[test]
fn a_posterior_of_types_comes_back_from_its_state_to_the_last_bit() {
    let types = model(&[24]).fit_types(&two_on_a_line()).unwrap().posterior;
    let again = Posterior::from_state(types.joint().state()).unwrap();
    let again = TypesPosterior::new(types.names().to_vec(), again).unwrap();
    let places = Points::line(&[0.5, 3.3, 9.5]).unwrap();
    for k in 0..2 {
        let [one, other] = [&types, &again].map(|types| types.of(k).unwrap());
        assert_eq!(one.sample(&places, 5, 1).unwrap(), other.sample(&places, 5, 1).unwrap());
        let [one, other] = [one, other].map(|own| own.rate(&places).unwrap());
        one.mean.iter().zip(&other.mean).for_each(|(a, b)| assert!((a / b - 1.0).abs() < 1e-12, "{a} {b}"));
    }
    assert!(TypesPosterior::new(vec!["one".into()], types.joint().clone()).is_err());
    assert!(TypesPosterior::new(vec!["one".into(); 3], types.joint().clone()).is_err());
}

#[test]
fn what_is_not_known_of_types_is_refused_in_a_sentence() {
    let types = two_on_a_line();
    let refused = |model: Model, types: &[(String, Events)], word: &str| {
        let said = model.fit_types(types).unwrap_err().to_string();
        assert!(said.contains(word), "{said}");
    };
    let lattice = |choice: LatticeChoice| Model { family: choice.into(), ..Model::default() };
    refused(Model::default(), &types[..1], "at least two");
    let many: Vec<_> = (0..50).map(|k| (format!("type {k}"), types[0].1.clone())).collect();
    refused(Model::default(), &many, "more than the 10");
    let one = Events::new(Points::line(&[3.0]).unwrap(), types[0].1.window().clone()).unwrap();
    refused(Model::default(), &[types[0].clone(), ("rare".into(), one)], "rare");
    refused(Model::default(), &[types[0].clone(), types[0].clone()], "twice");
    let elsewhere = Events::new(Points::line(&[3.0, 4.0]).unwrap(), Window::interval(0.0, 5.0).unwrap()).unwrap();
    refused(Model::default(), &[types[0].clone(), ("b".into(), elsewhere)], "another window");
    refused(Model { family: Inducing::Grid(vec![9]).into(), ..Model::default() }, &types, "lattice");
    refused(lattice(LatticeChoice { links: vec![Link::Square], ..LatticeChoice::default() }), &types, "square link");
    let prior = Prior::Normal { mean: 1.0, sd: 1.0 };
    refused(Model { priors: vec![("variance".into(), prior)], ..Model::default() }, &types, "prior");
    refused(Model { fixed: vec![("lengthscale".into(), 1.0)], ..Model::default() }, &types, "value");
    refused(Model::of_maximum_likelihood(), &types, "priors");
    refused(model(&[10, 10]), &types, "expected 1");
    let posterior = model(&[16]).fit_types(&types).unwrap().posterior;
    assert!(posterior.of(2).is_err() && posterior.ratio(0, 0).is_err());
    // Nothing is known beyond the window.
    let ratio = posterior.ratio(0, 1).unwrap();
    assert!(ratio.rate(&Points::line(&[11.0]).unwrap()).is_err());
    let cancelled = model(&[16]).fit_types_watched(&types, &mut |_| ControlFlow::Break(()));
    assert!(matches!(cancelled, Err(Error::Cancelled)));
}

#[test]
fn events_are_told_apart_by_type() {
    let window = Window::interval(0.0, 5.0).unwrap();
    let events = Events::new(Points::line(&[1.0, 2.0, 3.0]).unwrap(), window).unwrap();
    let types = by_type(&events, &[1, 0, 1], &["a".into(), "b".into()]).unwrap();
    let times = |k: usize| types[k].1.points().coordinates().to_vec();
    assert_eq!((times(0), times(1)), (vec![2.0], vec![1.0, 3.0]));
}

/// Draws of a Gaussian field of variance 1 (Matérn, ν = 3/2) in even cells of a line or a square of side 10.
struct Cells {
    middles: Vec<Vec<f64>>,
    step: f64,
    root: Matrix,
}

impl Cells {
    fn new(dims: usize, cells: usize, range: f64) -> Self {
        let step = 10.0 / cells as f64;
        let middle = |n: usize| -> Vec<f64> {
            (0..dims).map(|r| step * ((n / cells.pow(r as u32) % cells) as f64 + 0.5)).collect()
        };
        let middles: Vec<Vec<f64>> = (0..cells.pow(dims as u32)).map(middle).collect();
        let kappa = 12f64.sqrt() / range;
        let mut root = Matrix::from_fn(middles.len(), middles.len(), |i, j| {
            let distance = middles[i].iter().zip(&middles[j]).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
            (1.0 + kappa * distance) * (-kappa * distance).exp() + if i == j { 1e-8 } else { 0.0 }
        });
        linalg::cholesky(&mut root).unwrap();
        Self { middles, step, root }
    }

    fn draw(&self, rng: &mut ChaCha8Rng) -> Vec<f64> {
        let noise = standard_normal(rng, self.root.rows());
        (0..self.root.rows()).map(|i| (0..=i).map(|j| self.root[(i, j)] * noise[j]).sum()).collect()
    }

    fn events(&self, f: &[f64], window: &Window, rng: &mut ChaCha8Rng) -> Events {
        let dims = window.dims();
        let mut rows = vec![];
        for (middle, f) in self.middles.iter().zip(f) {
            let mut sum = -(1.0 - rng.random::<f64>()).ln();
            while sum < f.exp() * self.step.powi(dims as i32) {
                rows.extend(middle.iter().map(|x| x + self.step * (rng.random::<f64>() - 0.5)));
                sum -= (1.0 - rng.random::<f64>()).ln();
            }
        }
        Events::new(Points::new(dims, rows).unwrap(), window.clone()).unwrap()
    }
}

/// How often 90 % intervals hold the truth, for rates, ratios and shares; and those of a plug-in ratio.
#[derive(Default, Debug)]
struct Coverage {
    rates: (usize, usize),
    ratios: (usize, usize),
    shares: (usize, usize),
    plug_in: (usize, usize),
}

impl Coverage {
    fn part((inside, all): (usize, usize)) -> f64 {
        inside as f64 / all as f64
    }
}

fn count(of: &mut (usize, usize), truth: &[f64], ends: &[Vec<f64>]) {
    of.1 += truth.len();
    of.0 += (0..truth.len()).filter(|n| ends[0][*n] <= truth[*n] && truth[*n] <= ends[1][*n]).count();
}

/// Two types with a shared field (sd 0.7) and own ones (sd 0.5), of about so many events each.
fn recovery(dims: usize, events: f64, nodes: &[usize], sets: std::ops::Range<u64>) -> Coverage {
    let cells = Cells::new(dims, if dims == 1 { 80 } else { 16 }, 4.0);
    let window = Window::new(&vec![(0.0, 10.0); dims]).unwrap();
    let every = cells.middles.len() / if dims == 1 { 8 } else { 16 };
    let looked_at: Vec<usize> = (every / 2..cells.middles.len()).step_by(every).collect();
    let places = Points::new(dims, looked_at.iter().flat_map(|n| cells.middles[*n].clone()).collect()).unwrap();
    let level = (events / window.volume()).ln() - 0.5 * (0.49 + 0.25);
    let mut found = Coverage::default();
    for set in sets {
        let mut rng = ChaCha8Rng::seed_from_u64(1000 + set);
        let shared = cells.draw(&mut rng);
        let own: Vec<Vec<f64>> = (0..2).map(|_| cells.draw(&mut rng)).collect();
        let f: Vec<Vec<f64>> = own
            .iter()
            .map(|own| shared.iter().zip(own).map(|(shared, own)| level + 0.7 * shared + 0.5 * own).collect())
            .collect();
        let kinds: Vec<Events> = f.iter().map(|f| cells.events(f, &window, &mut rng)).collect();
        let smoothness = Some(Smoothness::Two);
        let choice = LatticeChoice { nodes: Some(nodes.to_vec()), smoothness, ..LatticeChoice::default() };
        let model = Model { family: choice.into(), ..Model::default() };
        let types = model.fit_types(&named(kinds)).unwrap().posterior;
        let of = |value: &dyn Fn(usize) -> f64| -> Vec<f64> { looked_at.iter().map(|n| value(*n)).collect() };
        let ends = [0.05, 0.95];
        for (k, f) in f.iter().enumerate() {
            let band = types.of(k).unwrap().quantiles(&places, &ends).unwrap();
            count(&mut found.rates, &of(&|n| f[n].exp()), &band);
        }
        let truth = of(&|n| (f[0][n] - f[1][n]).exp());
        let band = types.ratio(0, 1).unwrap().quantiles(&places, &ends).unwrap();
        count(&mut found.ratios, &truth, &band);
        // The band of the first rate over the mean of the second, as if that were known.
        let (above, below) = (types.of(0).unwrap(), types.of(1).unwrap().rate(&places).unwrap().mean);
        let over = |q: Vec<f64>| q.iter().zip(&below).map(|(q, below)| q / below).collect::<Vec<f64>>();
        let plug_in: Vec<Vec<f64>> = above.quantiles(&places, &ends).unwrap().into_iter().map(over).collect();
        count(&mut found.plug_in, &truth, &plug_in);
        let share = types.shares(&places, &ends).unwrap().swap_remove(0);
        count(&mut found.shares, &of(&|n| 1.0 / (1.0 + (f[1][n] - f[0][n]).exp())), &share.quantiles);
    }
    found
}

#[test]
fn bands_of_rates_ratios_and_shares_hold_the_truth() {
    let found = recovery(1, 120.0, &[40], 0..10);
    for part in [found.rates, found.ratios, found.shares] {
        let part = Coverage::part(part);
        assert!((0.78..=0.98).contains(&part), "{found:?}");
    }
}

/// `cargo test --release -p pointillist --test all types:: -- --ignored --nocapture`
#[test]
#[ignore = "200 sets on a line and in a plane"]
fn coverage_of_200_sets() {
    let mut missed = vec![];
    for (dims, events, nodes) in [(1, 120.0, vec![48]), (2, 250.0, vec![14, 14])] {
        let found = recovery(dims, events, &nodes, 0..200);
        let [rates, ratios, shares, plug_in] =
            [found.rates, found.ratios, found.shares, found.plug_in].map(|part| 100.0 * Coverage::part(part));
        println!("{dims} axes: rates {rates:.1} %, ratios {ratios:.1} %, shares {shares:.1} %, plug-in {plug_in:.1} %");
        missed.extend([rates, ratios, shares].into_iter().filter(|part| !(86.0..=94.0).contains(part)));
        // What takes the lower rate for known does not hold the truth.
        assert!(plug_in < 86.0, "{plug_in}");
    }
    assert!(missed.is_empty(), "{missed:?}");
}

/// Types on a line that are outputs of latent fields with these ranges: loads by type and field, and about so many events of each.
struct Outputs {
    ranges: Vec<f64>,
    loads: Vec<Vec<f64>>,
    events: Vec<f64>,
}

impl Outputs {
    fn draw(&self, seed: u64) -> Vec<(String, Events)> {
        let window = Window::interval(0.0, 10.0).unwrap();
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let fields: Vec<(Cells, Vec<f64>)> = self
            .ranges
            .iter()
            .map(|range| {
                let cells = Cells::new(1, 80, *range);
                let drawn = cells.draw(&mut rng);
                (cells, drawn)
            })
            .collect();
        let of_type = |(loads, events): (&Vec<f64>, &f64)| {
            let level = (events / 10.0).ln() - 0.5 * loads.iter().map(|a| a * a).sum::<f64>();
            let f: Vec<f64> =
                (0..80).map(|n| level + loads.iter().zip(&fields).map(|(a, (_, g))| a * g[n]).sum::<f64>()).collect();
            fields[0].0.events(&f, &window, &mut rng)
        };
        named(self.loads.iter().zip(&self.events).map(of_type).collect())
    }

    /// The true loads with the sign that the report gives them.
    fn truth(&self, kind: usize, field: usize, first: usize) -> f64 {
        self.loads[kind][field] * self.loads[first][field].signum()
    }
}

fn one_response() -> Outputs {
    let loads = [0.9, 0.6, -0.7].map(|a| vec![a]).to_vec();
    Outputs { ranges: vec![4.0], loads, events: vec![260.0, 180.0, 180.0] }
}

#[test]
fn loads_of_one_latent_field_are_found_with_their_signs() {
    let outputs = one_response();
    let types = outputs.draw(21);
    let most = (0..3).max_by_key(|k| types[*k].1.len()).unwrap();
    let fit = model(&[40]).fit_outputs(&types, Latent::Fields(1)).unwrap();
    assert_eq!(fit.report.loadings.len(), 3);
    for load in &fit.report.loadings {
        let (low, high) = load.interval.unwrap();
        let truth = outputs.truth(load.kind, 0, most);
        assert!(low < load.value && load.value < high && high - low < 1.5, "{load:?}");
        // An interval of 99 % at this seed: twice as wide holds all three.
        let half = 0.5 * (high - low);
        assert!(low - half < truth && truth < high + half && truth * load.value > 0.0, "{truth} {load:?}");
    }
    // What avoids the others is told by the ratio too: high where the field is low.
    let rates =
        |k: usize| fit.posterior.of(k).unwrap().rate(&Points::line(&[1.0, 3.0, 5.0, 7.0, 9.0]).unwrap()).unwrap().mean;
    let (one, two, three) = (rates(0), rates(1), rates(2));
    let order = |rates: &[f64]| (0..5).max_by(|a, b| rates[*a].total_cmp(&rates[*b])).unwrap();
    assert_eq!(order(&one), order(&two));
    assert_ne!(order(&one), order(&three));
}

#[test]
fn the_number_of_latent_fields_is_told_by_evidence() {
    let own = Outputs {
        ranges: vec![4.0, 4.0],
        loads: vec![vec![0.9, 0.0], vec![0.0, 0.9], vec![0.6, 0.6]],
        events: vec![300.0, 220.0, 150.0],
    };
    let fit = model(&[32]).fit_outputs(&own.draw(5), Latent::Auto).unwrap();
    let evidence: Vec<f64> = fit.report.joint.tried.iter().map(|tried| *tried.outcome.as_ref().unwrap()).collect();
    assert!(evidence[1] > evidence[0] + 5.0, "{:?}", fit.report.joint.tried);
    let of_one = model(&[32]).fit_outputs(&one_response().draw(5), Latent::Auto).unwrap();
    let evidence: Vec<f64> = of_one.report.joint.tried.iter().map(|tried| *tried.outcome.as_ref().unwrap()).collect();
    assert!(evidence[0] > evidence[1], "{:?}", of_one.report.joint.tried);
    let total: f64 = fit.report.joint.weights.iter().sum();
    assert!((total - 1.0).abs() < 1e-12);
    for bad in [0, 4] {
        let said = model(&[32]).fit_outputs(&own.draw(5), Latent::Fields(bad)).unwrap_err().to_string();
        assert!(said.contains("give 1 to 3"), "{said}");
    }
}

/// How often 90 % intervals of loads hold the truth.
#[derive(Default, Debug)]
struct LoadsHeld {
    inside: usize,
    all: usize,
    /// Loads without an interval.
    unknown: usize,
    /// Sets in which the numbers of events have the order of the types: with several fields, and where the first load has a prior of its own, others do not count.
    sets: usize,
}

impl LoadsHeld {
    fn add(&mut self, outputs: &Outputs, types: &[(String, Events)], nodes: usize) {
        let mut order = [0, 1, 2];
        order.sort_by_key(|k| std::cmp::Reverse(types[*k].1.len()));
        self.sets += 1;
        let fit = model(&[nodes]).fit_outputs(types, Latent::Fields(outputs.ranges.len())).unwrap();
        for load in &fit.report.loadings {
            let truth = outputs.truth(load.kind, load.field, order[load.field]);
            let Some((low, high)) = load.interval else {
                self.unknown += 1;
                continue;
            };
            self.all += 1;
            self.inside += usize::from(low <= truth && truth <= high);
        }
    }

    fn tell(&self, name: &str) {
        let LoadsHeld { all, sets, unknown, .. } = self;
        println!("{name}: loads {:.1} % of {all} in {sets} sets; {unknown} without an interval", self.percent());
    }

    fn percent(&self) -> f64 {
        100.0 * self.inside as f64 / self.all as f64
    }
}

fn are_in_order(types: &[(String, Events)]) -> bool {
    types.windows(2).all(|pair| pair[0].1.len() >= pair[1].1.len())
}

/// One field whose range and loads are drawn from what is believed of them before events are seen: P(range < 0.02 sides) = 5 %, the first load is
/// |N(0, 1)|, and the others are N(0, 1) times as high.
fn believed(seed: u64) -> Outputs {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let range = (20f64.ln() * 0.2f64.sqrt() / -rng.random::<f64>().ln()).powi(2);
    let z = standard_normal(&mut rng, 3);
    let first = z[0].abs();
    Outputs {
        ranges: vec![range],
        loads: vec![vec![first], vec![first * z[1]], vec![first * z[2]]],
        events: vec![400.0, 200.0, 130.0],
    }
}

fn held_where_believed(sets: u64) -> LoadsHeld {
    let mut held = LoadsHeld::default();
    for seed in 0..sets {
        let outputs = believed(7000 + seed);
        let types = outputs.draw(8000 + seed);
        if are_in_order(&types) && types[2].1.len() > 1 {
            // So many nodes show ranges that are believed to be shorter with a probability of 8 % alone; with 40 it is 20 %.
            held.add(&outputs, &types, 96);
        }
    }
    held
}

#[test]
fn intervals_of_loads_that_are_drawn_from_their_prior_hold_them() {
    let held = held_where_believed(30);
    assert!((78.0..=99.0).contains(&held.percent()) && held.sets >= 15 && held.unknown == 0, "{held:?}");
}

/// `cargo test --release -p pointillist --test all types::coverage_of_loadings -- --ignored --nocapture`
#[test]
#[ignore = "200 sets of one latent field and of two"]
fn coverage_of_loadings_in_200_sets() {
    let two = Outputs {
        ranges: vec![5.0, 3.0],
        loads: vec![vec![0.9, 0.0], vec![0.6, 0.7], vec![-0.5, 0.8]],
        events: vec![900.0, 300.0, 100.0],
    };
    let mut every = vec![];
    for (name, outputs) in [("1 latent", one_response()), ("2 latent", two)] {
        let mut held = LoadsHeld::default();
        for seed in 0..200 {
            let types = outputs.draw(3000 + seed);
            // With two fields loads are told in the order of the numbers of events, which chance may turn.
            if outputs.ranges.len() == 1 || are_in_order(&types) {
                held.add(&outputs, &types, 40);
            }
        }
        held.tell(name);
        every.push(held);
    }
    assert!(every.iter().all(|held| (86.0..=94.0).contains(&held.percent()) && held.unknown == 0), "{every:?}");
}

/// The same where loads and range are drawn from what is believed of them: if intervals hold these as often as they say, what fixed loads miss is the
/// distance between them and the prior.
#[test]
#[ignore = "200 sets of a latent field that is drawn from the prior"]
fn coverage_of_loadings_drawn_from_the_prior() {
    let held = held_where_believed(200);
    held.tell("1 latent, drawn from the prior");
    assert!((86.0..=94.0).contains(&held.percent()) && held.unknown == 0, "{held:?}");
}
