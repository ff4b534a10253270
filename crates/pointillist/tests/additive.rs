//! The parts of f: against dense matrices, as parts of the whole, and against what made the events.

use pointillist::kernel::{Expression, Kernel};
use pointillist::parts::{PartAtPlaces, PartOfF};
use pointillist::state::{BasisState, InducingState};
use pointillist::{Events, Family, InducingPoints, Model, Points, Posterior, Window, simulate};
use std::f64::consts::TAU;

const KERNEL: &str = "se(t) + se(t)*periodic(t, period=1!)";

fn part(terms: &[usize], constant: bool) -> PartOfF {
    PartOfF { terms: terms.to_vec(), constant }
}

fn fitted(rate: impl Fn(f64) -> f64 + Sync, days: f64, average: bool, seed: u64) -> Posterior {
    let window = Window::interval(0.0, days).unwrap();
    let times = simulate(&window, |x| rate(x[0]), seed, 0).unwrap();
    let events = Events::new(times, window).unwrap();
    let kernel = Some(Expression::parse(KERNEL, &["t"]).unwrap());
    let family = Family::Inducing(InducingPoints { kernel, ..InducingPoints::default() });
    let start = if average { Model::default() } else { Model::of_maximum_likelihood() };
    Model { family, ..start }.fit(&events).unwrap().posterior
}

/// Solves a small linear system by elimination with pivots.
fn solved(mut a: Vec<Vec<f64>>, mut b: Vec<f64>) -> Vec<f64> {
    let n = b.len();
    for i in 0..n {
        let pivot = (i..n).max_by(|&p, &q| a[p][i].abs().total_cmp(&a[q][i].abs())).unwrap();
        a.swap(i, pivot);
        b.swap(i, pivot);
        for row in i + 1..n {
            let factor = a[row][i] / a[i][i];
            for column in i..n {
                a[row][column] -= factor * a[i][column];
            }
            b[row] -= factor * b[i];
        }
    }
    for i in (0..n).rev() {
        let rest: f64 = (i + 1..n).map(|j| a[i][j] * b[j]).sum();
        b[i] = (b[i] - rest) / a[i][i];
    }
    b
}

/// A sum of terms at places with weights: for each term its own list.
type Functional = Vec<Vec<(f64, f64)>>;

/// What a part of f is, in the coordinates of the unit box: its terms at places x, and the averages over the window that belong to it.
fn functional(of: &PartOfF, terms: usize, x: &[f64]) -> Functional {
    let places = 200; // as many as the library takes
    let all = |sign: f64| (0..places).map(move |i| (i as f64 / (places - 1) as f64, sign / places as f64));
    let here = || x.iter().map(|at| (*at, 1.0 / x.len() as f64));
    let of_term = |term: usize| match (of.terms.contains(&term), of.constant) {
        (true, true) => here().collect(),
        (true, false) => here().chain(all(-1.0)).collect(),
        (false, true) => all(1.0).collect(),
        (false, false) => vec![],
    };
    (0..terms).map(of_term).collect()
}

/// Mean and variance of such a sum, by the textbook: E[f_j | u] = k_j K⁻¹ u, and q(u) = N(Lm, L S Lᵀ) with K = L Lᵀ.
fn by_dense_matrices(state: &InducingState, of: &PartOfF, x: &[f64]) -> (f64, f64) {
    let z = state.inducing.axis(0);
    let size = z.len();
    let alone = |t: usize| Kernel { dims: 1, terms: vec![state.kernel.terms[t].clone()] };
    let sum = functional(of, state.kernel.terms.len(), x);
    let mut gram: Vec<Vec<f64>> = z.iter().map(|a| z.iter().map(|b| state.kernel.k(&[*a], &[*b])).collect()).collect();
    (0..size).for_each(|i| gram[i][i] *= 1.0 + state.jitter);
    // L by its definition.
    let mut l = vec![vec![0.0; size]; size];
    for i in 0..size {
        for j in 0..=i {
            let sum: f64 = (0..j).map(|m| l[i][m] * l[j][m]).sum();
            l[i][j] = if i == j { (gram[i][i] - sum).sqrt() } else { (gram[i][j] - sum) / l[j][j] };
        }
    }
    let full = size + usize::from(state.constant.is_some());
    let mut root = vec![vec![0.0; full]; full];
    let mut rest = state.q_root.iter();
    for j in 0..full {
        (j..full).for_each(|i| root[i][j] = *rest.next().unwrap());
    }
    let with = |z: f64| -> f64 {
        sum.iter().enumerate().flat_map(|(t, list)| list.iter().map(move |(x, w)| w * alone(t).k(&[z], &[*x]))).sum()
    };
    let cross: Vec<f64> = z.iter().map(|z| with(*z)).collect();
    let weights = solved(gram.clone(), cross.clone()); // K⁻¹ k_j
    let sd = if of.constant { state.constant.unwrap_or(0.0) } else { 0.0 };
    // f_j = weightsᵀ L v + sd ζ
    let mut on_v: Vec<f64> = (0..size).map(|m| (0..size).map(|i| weights[i] * l[i][m]).sum()).collect();
    on_v.resize(full, sd);
    let mean: f64 = on_v.iter().zip(&state.q_mean).map(|(a, m)| a * m).sum();
    let spread: f64 = (0..full).map(|j| (0..full).map(|i| on_v[i] * root[i][j]).sum::<f64>().powi(2)).sum();
    let of_term = |(t, list): (usize, &Vec<(f64, f64)>)| -> f64 {
        let kernel = alone(t);
        list.iter()
            .flat_map(|(x, v)| list.iter().map(|(y, w)| v * w * kernel.k(&[*x], &[*y])).collect::<Vec<_>>())
            .sum()
    };
    let prior: f64 = sum.iter().enumerate().map(of_term).sum();
    let explained: f64 = cross.iter().zip(&weights).map(|(k, w)| k * w).sum();
    (mean + if of.constant { state.mean } else { 0.0 }, spread + (prior - explained).max(0.0))
}

#[test]
fn parts_are_those_of_dense_matrices() {
    let days = 6.0;
    let posterior = fitted(|t| 8.0 + 6.0 * (TAU * t).cos(), days, false, 3);
    let state = posterior.state();
    let BasisState::Inducing(inner) = &state.components[0].basis else { panic!("inducing points were asked for") };
    let places: Vec<Vec<f64>> = vec![vec![0.2], vec![3.31], vec![5.9], vec![0.25, 1.25, 2.25, 5.25]];
    let points: Vec<Points> = places.iter().map(|x| Points::line(x).unwrap()).collect();
    for of in [part(&[0], true), part(&[1], false), part(&[0, 1], true), part(&[1], true), part(&[0], false)] {
        let got = posterior.part(&of, &points, &[0.1]).unwrap();
        for (n, x) in places.iter().enumerate() {
            let unit: Vec<f64> = x.iter().map(|x| x / days).collect();
            let (mean, variance) = by_dense_matrices(inner, &of, &unit);
            // f is the root of a rate: the unit box has `days` times as many events per unit.
            let (mean, sd) = (mean / days.sqrt(), (variance / days).sqrt());
            // K has a condition number of about 1/jitter.
            assert!((got.mean[n] - mean).abs() < 1e-6 * sd.max(1.0), "{of:?} {x:?}: {} {mean}", got.mean[n]);
            assert!((got.sd[n] - sd).abs() < 1e-4 * sd, "{of:?} {x:?}: {} {sd}", got.sd[n]);
            assert!((got.quantiles[0][n] - (got.mean[n] - 1.281_551_565_544_6 * got.sd[n])).abs() < 1e-9);
        }
    }
}

#[test]
fn parts_add_up_to_the_whole() {
    for average in [false, true] {
        let posterior = fitted(|t| 12.0 + 9.0 * (TAU * t).cos(), 5.0, average, 11);
        let times: Vec<f64> = (0..50).map(|i| 0.1 * i as f64 + 0.03).collect();
        let places: Vec<Points> = times.iter().map(|t| Points::line(&[*t]).unwrap()).collect();
        let ask = |of: PartOfF| posterior.part(&of, &places, &[0.05, 0.95]).unwrap();
        let (trend, cycle, whole) = (ask(part(&[0], true)), ask(part(&[1], false)), ask(part(&[0, 1], true)));
        let rate = posterior.rate(&Points::line(&times).unwrap()).unwrap();
        for n in 0..times.len() {
            assert!((trend.mean[n] + cycle.mean[n] - whole.mean[n]).abs() < 1e-9, "{n}");
            // Nothing is left beside the whole, so that its rate is the rate.
            assert!((whole.rate.mean[n] / rate.mean[n] - 1.0).abs() < 1e-9, "{n}");
            assert!((whole.rate.sd[n] / rate.sd[n] - 1.0).abs() < 1e-6, "{n}");
        }
        let ordered = |part: &PartAtPlaces| {
            let [low, high] = &part.quantiles[..] else { return false };
            (0..times.len()).all(|n| low[n] < part.mean[n] && part.mean[n] < high[n])
        };
        assert!([&trend, &cycle, &whole].into_iter().all(ordered));
        if !average {
            let f = posterior.marginals(&Points::line(&times).unwrap()).unwrap();
            assert!(f.mean.iter().zip(&whole.mean).all(|(f, sum)| (f - sum).abs() < 1e-9));
        }
    }
}

/// Several sets whose rate is the square of a constant, a slow wave and a daily one: each wave is told from the other, within its band.
#[test]
fn bands_of_parts_hold_what_made_the_events() {
    let (days, sets) = (14.0, 12);
    let slow = |t: f64| 1.2 * (TAU * t / 9.0).sin();
    let daily = |t: f64| 2.0 * (TAU * t).cos();
    let hours: Vec<f64> = (0..24).map(|h| h as f64 / 24.0).collect();
    let all_days = |phase: f64| Points::line(&(0..14).map(|d| d as f64 + phase).collect::<Vec<_>>()).unwrap();
    let (mut inside, mut of) = (0, 0);
    for seed in 0..sets {
        let posterior = fitted(|t| (4.0 + slow(t) + daily(t)).powi(2), days, true, 40 + seed);
        let day =
            posterior.part(&part(&[1], false), &hours.iter().map(|h| all_days(*h)).collect::<Vec<_>>(), &[0.05, 0.95]);
        let day = day.unwrap();
        inside += hours
            .iter()
            .enumerate()
            .filter(|(n, h)| (day.quantiles[0][*n]..day.quantiles[1][*n]).contains(&daily(**h)))
            .count();
        of += hours.len();
        let trend_at: Vec<f64> = (1..14).map(f64::from).collect();
        let trend = posterior.part(
            &part(&[0], true),
            &trend_at.iter().map(|t| Points::line(&[*t]).unwrap()).collect::<Vec<_>>(),
            &[0.05, 0.95],
        );
        let trend = trend.unwrap();
        let within = |(n, t): (usize, &f64)| (trend.quantiles[0][n]..trend.quantiles[1][n]).contains(&(4.0 + slow(*t)));
        inside += trend_at.iter().enumerate().filter(|(n, t)| within((*n, *t))).count();
        of += trend_at.len();
    }
    let covered = inside as f64 / of as f64;
    println!("90 % bands of the parts hold {covered:.3} of the truth");
    // As for bands of rates (CONTRIBUTING.md): correlated places in few sets.
    assert!((0.80..=0.97).contains(&covered), "{covered}");
}

#[test]
fn a_part_that_is_not_there_is_refused() {
    let posterior = fitted(|t| 12.0 + 9.0 * (TAU * t).cos(), 5.0, false, 11);
    let at = [Points::line(&[1.0]).unwrap()];
    assert_eq!(posterior.term_count(), 2);
    let sentence = posterior.part(&part(&[2], false), &at, &[]).unwrap_err().to_string();
    assert!(sentence.contains("one of the 2"), "{sentence}");
    assert!(posterior.part(&part(&[0], false), &at, &[1.5]).is_err());
}
