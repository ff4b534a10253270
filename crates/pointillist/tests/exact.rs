//! The exact sampler against brute force, and the variational answer against the sampler.

use crate::common;
use pointillist::exact::Sampling;
use pointillist::settings::Inducing;
use pointillist::{Events, InducingPoints, Model, Points, Window};

fn quantile(sorted: &[f64], p: f64) -> f64 {
    sorted[((sorted.len() - 1) as f64 * p).round() as usize]
}

fn sorted(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_by(f64::total_cmp);
    values
}

/// Three events, one inducing point under a long length-scale: f is one number, and its posterior an integral on a line.
#[test]
fn a_case_on_a_line_agrees_with_quadrature() {
    let events = Points::line(&[0.2, 0.5, 0.6]).unwrap();
    let model = Model {
        family: InducingPoints { points: Inducing::Grid(vec![1]), jitter: 1e-12, ..InducingPoints::default() }.into(),
        fixed: vec![("lengthscale".into(), 1e2), ("variance".into(), 2.0), ("mean".into(), 1.0)],
        ..Model::of_maximum_likelihood()
    };
    let fit = model.fit(&Events::new(events.clone(), Window::interval(0.0, 1.0).unwrap()).unwrap()).unwrap();
    let at = Points::line(&[0.5]).unwrap();
    let sampling = Sampling { draws: 20_000, ..Sampling::default() };
    let draws = sorted(fit.posterior.sample_exact(&events, &at, sampling).unwrap().at(0));
    // p(f | x) ∝ f⁶ exp(−f²) N(f; 1, 2)
    let density = |f: f64| f.powi(6) * (-f * f - (f - 1.0).powi(2) / 4.0).exp();
    let grid: Vec<f64> = (-40_000..40_000).map(|i| f64::from(i) * 2e-4).collect();
    let mass: f64 = grid.iter().map(|f| density(*f)).sum();
    let mean = grid.iter().map(|f| f * f * density(*f)).sum::<f64>() / mass;
    let got = draws.iter().sum::<f64>() / draws.len() as f64;
    assert!((got - mean).abs() < 0.02 * mean, "{got} {mean}");
    for p in [0.05, 0.5, 0.95] {
        let below = |y: f64| grid.iter().filter(|f| **f * **f < y).map(|f| density(*f)).sum::<f64>() / mass;
        let share = below(quantile(&draws, p));
        assert!((share - p).abs() < 0.01, "{p}: {share}");
    }
}

#[test]
fn the_variational_answer_on_coal_is_close_to_the_exact_one() {
    let years = Points::line(&common::coal()).unwrap();
    let (lo, hi) = common::COAL_WINDOW;
    let fit = Model { family: InducingPoints::default().into(), ..Model::of_maximum_likelihood() }
        .fit(&Events::new(years.clone(), Window::interval(lo, hi).unwrap()).unwrap())
        .unwrap();
    let at = fit.posterior.window().grid(&[60]);
    let draws = fit.posterior.sample_exact(&years, &at, Sampling::default()).unwrap();
    let (rate, band) = (fit.posterior.rate(&at).unwrap(), fit.posterior.quantiles(&at, &[0.05, 0.95]).unwrap());
    let mut differences = [vec![], vec![], vec![]];
    for i in 0..at.len() {
        let exact = sorted(draws.at(i));
        let mean = exact.iter().sum::<f64>() / exact.len() as f64;
        let pairs = [(rate.mean[i], mean), (band[0][i], quantile(&exact, 0.05)), (band[1][i], quantile(&exact, 0.95))];
        for (list, (ours, exact)) in differences.iter_mut().zip(pairs) {
            list.push((ours / exact - 1.0).abs());
        }
    }
    let medians = differences.map(|list| quantile(&sorted(list), 0.5));
    println!("median relative differences of mean, 5 % and 95 % quantile: {medians:?}");
    assert!(medians[0] < 0.02 && medians[1] < 0.05 && medians[2] < 0.05, "{medians:?}");
    let k = fit.posterior.coverage_of_q(&years, 4000, 0).unwrap();
    println!(
        "log evidence {:.3} ± {:.3}, k {:.2}, bound {:.3}",
        k.log_evidence.value,
        k.log_evidence.se,
        k.k,
        fit.report.bound.total()
    );
    assert!(k.log_evidence.value > fit.report.bound.total() - 3.0 * k.log_evidence.se && k.k < 0.7, "{k:?}");
}
