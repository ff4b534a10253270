//! A link without any closed form, λ = log(1 + eᶠ), by quadrature: what the engine must be able to do with sites at the nodes of the integral.

use super::*;
use crate::data::points::Points;
use crate::field::lattice::{Lattice, Optimum, Smoothness, Theta, Weighted, above};
use crate::gaussian::Sites;
use crate::gaussian::step::{Clamp, Until};
use crate::numerics::gauss::GaussLegendre;
use crate::testing::check_gradient;
use crate::window::Window;

struct Softplus;
struct Log;
struct Minus;

fn softplus(f: f64) -> f64 {
    if f > 30.0 { f } else { f.exp().ln_1p() }
}

/// E g(f), E g'(f) and ½ E g''(f) for f ~ N(mean, variance), by Gauss-Legendre over ten standard deviations and differences.
fn expectations(g: impl Fn(f64) -> f64, mean: f64, variance: f64) -> [f64; 3] {
    let (rule, sd, h) = (GaussLegendre::new(40), variance.max(1e-12).sqrt(), 1e-4);
    let mut sums = [0.0; 3];
    for (z, w) in (-4..4).flat_map(|i| rule.on(1.5 * f64::from(i), 1.5 * f64::from(i + 1)).collect::<Vec<_>>()) {
        let (f, weight) = (mean + sd * z, w * (-0.5 * z * z).exp() / std::f64::consts::TAU.sqrt());
        let [low, middle, high] = [f - h, f, f + h].map(&g);
        sums[0] += weight * middle;
        sums[1] += weight * (high - low) / (2.0 * h);
        sums[2] += 0.5 * weight * (high - 2.0 * middle + low) / (h * h);
    }
    sums
}

fn fill(g: impl Fn(f64) -> f64, mean: &[f64], variance: &[f64], out: [&mut [f64]; 3]) {
    for n in 0..mean.len() {
        let found = expectations(&g, mean[n], variance[n]);
        (0..3).for_each(|i| out[i][n] = found[i]);
    }
}

impl Potential for Log {
    fn expected(&self, mean: &[f64], variance: &[f64], [value, by_mean, by_variance]: [&mut [f64]; 3]) {
        fill(|f| softplus(f).ln(), mean, variance, [value, by_mean, by_variance]);
    }

    fn at(&self, f: f64) -> [f64; 3] {
        let [value, slope, half] = expectations(|f| softplus(f).ln(), f, 1e-6);
        [value, slope, -2.0 * half]
    }
}

impl Potential for Minus {
    fn expected(&self, mean: &[f64], variance: &[f64], [value, by_mean, by_variance]: [&mut [f64]; 3]) {
        fill(|f| -softplus(f), mean, variance, [value, by_mean, by_variance]);
    }

    fn at(&self, f: f64) -> [f64; 3] {
        let [value, slope, half] = expectations(|f| -softplus(f), f, 1e-6);
        [value, slope, -2.0 * half]
    }
}

impl LinkFormula for Softplus {
    fn name(&self) -> &'static str {
        "softplus"
    }
    fn events(&self) -> &'static dyn Potential {
        &Log
    }
    fn integral(&self) -> Part {
        Part::Sites(&Minus)
    }
    fn rate(&self, f: f64) -> f64 {
        softplus(f)
    }
    fn start(&self, rate: f64) -> LinkStart {
        let flat = rate.exp_m1().ln();
        LinkStart { flat, mean: flat, variance: 1.0, vague: 1.0 }
    }
    fn range(&self, rate: f64, _: f64) -> LinkRange {
        LinkRange { variance: (1e-3, 100.0), mean: (-10.0 * rate, 10.0 * rate), unit: rate }
    }
    fn outward(&self, volume: f64) -> (f64, f64) {
        (1.0 / volume, 0.0) // as good as linear where rates are high
    }
    fn times(&self, f: f64, times: f64) -> f64 {
        (times * softplus(f)).exp_m1().ln()
    }
    fn moments(&self, mean: f64, variance: f64) -> (f64, f64) {
        let [first, ..] = expectations(softplus, mean, variance);
        let [second, ..] = expectations(|f| softplus(f).powi(2), mean, variance);
        (first, (second - first * first).max(0.0).sqrt())
    }
    fn widened(&self, mean: f64, variance: f64, by: f64) -> (f64, f64) {
        let rate = |mean: f64, variance: f64| self.moments(mean, variance).0;
        let lost = rate(mean, variance + by) - rate(mean, variance);
        (mean - lost / (rate(mean + 0.5, variance) - rate(mean - 0.5, variance)), variance + by)
    }
    fn below(&self, mean: f64, variance: f64, rate: f64) -> f64 {
        crate::numerics::special::normal_cdf((rate.exp_m1().ln() - mean) / variance.sqrt())
    }
    fn quantile(&self, mean: f64, variance: f64, probability: f64) -> f64 {
        softplus(mean + variance.sqrt() * crate::numerics::special::normal_quantile(probability))
    }
}

/// A lattice on the unit interval with events and nodes of the integral on it.
fn optimum(theta: &Theta, steps: usize) -> (Optimum, f64) {
    let window = Window::interval(0.0, 1.0).unwrap();
    let lattice = Lattice::new(&window, &[13], &[0.2], Smoothness::Two).unwrap();
    let events = Points::line(&(0..40).map(|i| (f64::from(i) / 40.0).powi(2)).collect::<Vec<_>>()).unwrap();
    let places: Vec<f64> = (0..200).map(|i| (f64::from(i) + 0.5) / 200.0).collect();
    let (weights, ones) = (vec![1.0 / 200.0; 200], vec![1.0; 40]);
    let [hats, nodes] = [&events, &Points::line(&places).unwrap()].map(|points| lattice.grid().at(points).unwrap());
    let said = [Weighted { hats: &hats, weights: &ones }, Weighted { hats: &nodes, weights: &weights }];
    let flat = Softplus.start(40.0).flat;
    let sites = Sites::flat(&Log, flat, 40).followed_by(Sites::flat(&Minus, flat, 200));
    let until = Until { tolerance: 1e-12, most: steps, clamp: Clamp::UntilSettled, foresees: false, pulse: &|| Ok(()) };
    let found = lattice.optimum(&Softplus, &said, theta, sites, until).unwrap();
    let f = found.marginals(&nodes);
    let expected = (0..200).map(|n| weights[n] * Softplus.moments(f.mean[n], f.variance[n]).0).sum();
    (found, expected)
}

#[test]
fn a_link_with_sites_at_the_nodes_of_the_integral_is_fitted() {
    let theta = Theta { range: 0.6, variance: 400.0, mean: 40.0, stretch: vec![1.0], scale: vec![] };
    let (found, expected) = optimum(&theta, 100);
    assert!(found.converged && (expected - 40.0).abs() < 3.0, "{expected}");
    let (fewer, _) = optimum(&theta, 2);
    assert!(fewer.bound <= found.bound, "{} {}", fewer.bound, found.bound);
}

#[test]
fn its_gradient_is_that_of_finite_differences() {
    let theta =
        |x: &[f64]| Theta { range: x[0].exp(), variance: x[1].exp(), mean: x[2], stretch: vec![1.0], scale: vec![] };
    let x = [-0.5, 6.0, 38.0];
    let slopes = optimum(&theta(&x), 200).0.slopes().clone();
    let error =
        check_gradient(|x| optimum(&theta(x), 200).0.bound, &x, &[slopes.log_range, slopes.log_variance, slopes.mean]);
    assert!(error < 1e-5, "{error} {slopes:?}");
}

#[test]
fn links_go_by_their_names() {
    for link in Link::ALL {
        assert_eq!(link.to_string().parse::<Link>().unwrap(), *link);
    }
    assert!("cube".parse::<Link>().unwrap_err().to_string().contains("square"));
}

/// Moments, shares below and quantiles of λ for f ~ N(mean, variance), against evenly spread draws.
fn check_distribution(link: Link, mean: f64, variance: f64) {
    let link = link.formula();
    let draws: Vec<f64> = (1..200_000)
        .map(|i| crate::numerics::special::normal_quantile(f64::from(i) / 200_000.0))
        .map(|z| link.rate(mean + f64::sqrt(variance) * z))
        .collect();
    let average = draws.iter().sum::<f64>() / draws.len() as f64;
    let square = draws.iter().map(|x| x * x).sum::<f64>() / draws.len() as f64;
    let (want, sd) = link.moments(mean, variance);
    assert!((average - want).abs() < 1e-3 && ((square - average * average).sqrt() - sd).abs() < 5e-3);
    for rate in [0.1, 1.0, 4.0] {
        let share = draws.iter().filter(|x| **x <= rate).count() as f64 / draws.len() as f64;
        let below = link.below(mean, variance, rate);
        assert!((share - below).abs() < 1e-4, "{share} {below}");
        assert!((link.quantile(mean, variance, below) - rate).abs() < 1e-6 * rate);
    }
}

#[test]
fn links_have_the_distribution_of_their_draws() {
    check_distribution(Link::Square, 1.3, 0.8);
    check_distribution(Link::Log, -0.4, 0.6);
    assert_eq!(Link::Log.formula().below(-0.4, 0.6, 0.0), 0.0);
}

/// q(w, constant) at its optimum for one of the golden cases.
fn of_case(case: &serde_json::Value, theta: &Theta) -> (Lattice, Optimum) {
    let list = |value: &serde_json::Value| -> Vec<f64> {
        value.as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()
    };
    let nodes: Vec<usize> = list(&case["nodes"]).iter().map(|n| *n as usize).collect();
    let spans: Vec<(f64, f64)> = list(&case["lo"]).into_iter().zip(list(&case["hi"])).collect();
    let window = Window::new(&spans).unwrap();
    let smoothness = Smoothness::of(case["alpha"].as_u64().unwrap() as usize).unwrap();
    let margin = vec![case["margin"].as_f64().unwrap(); nodes.len()];
    let vague = case["constant_variance"].as_f64().unwrap().sqrt();
    let lattice = Lattice::new(&window, &nodes, &margin, smoothness).unwrap().with_constant(Some(vague));
    let link: Link = case["link"].as_str().unwrap().parse().unwrap();
    let rows: Vec<f64> = case["events"].as_array().unwrap().iter().flat_map(list).collect();
    let events = Points::new(nodes.len(), rows).unwrap();
    let (places, weights) = above(lattice.grid(), &window).unwrap(); // as the oracle has it
    let [hats, at] = [&events, &places].map(|points| lattice.grid().at(points).unwrap());
    let ones = vec![1.0; events.len()];
    let mut said = vec![Weighted { hats: &hats, weights: &ones }];
    let flat = link.formula().start(events.len() as f64 / window.measure()).flat;
    let mut sites = Sites::flat(link.formula().events(), flat, events.len());
    if let Part::Sites(potential) = link.formula().integral() {
        said.push(Weighted { hats: &at, weights: &weights });
        sites = sites.followed_by(Sites::flat(potential, flat, weights.len()));
    }
    let until = Until { tolerance: 1e-13, most: 500, clamp: Clamp::UntilSettled, foresees: false, pulse: &|| Ok(()) };
    for _ in 0..8 {
        sites = lattice.optimum(link.formula(), &said, theta, sites, until).unwrap().sites;
    }
    let found = lattice.optimum(link.formula(), &said, theta, sites, until).unwrap();
    (lattice, found)
}

#[test]
fn both_links_have_their_golden_values_with_a_constant_in_q() {
    let golden: serde_json::Value = serde_json::from_str(include_str!("../../tests/golden/links.json")).unwrap();
    let close = |what: &str, got: f64, want: &serde_json::Value, tolerance: f64| {
        let want = want.as_f64().unwrap();
        assert!((got - want).abs() <= tolerance * want.abs().max(1.0), "{what}: {got} {want}");
    };
    let cases = golden["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 8);
    for case in cases {
        let number = |name: &str| case[name].as_f64().unwrap();
        let stretch: Vec<f64> = case["s"].as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect();
        let theta = Theta {
            range: number("range"),
            variance: number("variance"),
            mean: number("constant_mean"),
            stretch,
            scale: vec![],
        };
        let (lattice, found) = of_case(case, &theta);
        close("bound", found.bound, &case["elbo"], 1e-9);
        let integral = found.minus_integral.map_or_else(|| found.expected(lattice.region()), |minus| -minus);
        close("integral", integral, &case["integral"], 1e-6);
        let slopes = found.slopes();
        close("by log range", slopes.log_range, &case["slopes"][0], 1e-5);
        close("by log variance", slopes.log_variance, &case["slopes"][1], 1e-5);
        if let Some(by_stretch) = case["slopes"].get(2) {
            close("by the stretch", slopes.log_stretch[1], by_stretch, 1e-5);
        }
        let at: Vec<f64> = case["at"]
            .as_array()
            .unwrap()
            .iter()
            .flat_map(|row| row.as_array().unwrap())
            .map(|v| v.as_f64().unwrap())
            .collect();
        let at = lattice.grid().at(&Points::new(lattice.grid().dims(), at).unwrap()).unwrap();
        let f = found.marginals(&at);
        for n in 0..at.len() {
            close("mean of f", f.mean[n], &case["f_mean"][n], 1e-6);
            close("variance of f", f.variance[n], &case["f_var"][n], 1e-6);
        }
    }
}

#[test]
fn potentials_of_the_log_have_the_derivatives_of_finite_differences() {
    let Part::Sites(minus) = Link::Log.formula().integral() else { panic!() };
    for potential in [Link::Log.formula().events(), minus] {
        let at = |mean: f64, variance: f64| {
            let [mut value, mut by_mean, mut by_variance] = [[0.0]; 3];
            potential.expected(&[mean], &[variance], [&mut value, &mut by_mean, &mut by_variance]);
            [value[0], by_mean[0], by_variance[0]]
        };
        let (mean, variance, h) = (0.7, 0.9, 1e-5);
        let [_, by_mean, by_variance] = at(mean, variance);
        assert!(((at(mean + h, variance)[0] - at(mean - h, variance)[0]) / (2.0 * h) - by_mean).abs() < 1e-8);
        assert!(((at(mean, variance + h)[0] - at(mean, variance - h)[0]) / (2.0 * h) - by_variance).abs() < 1e-8);
        let [value, slope, curvature] = potential.at(mean);
        assert_eq!(value, at(mean, 0.0)[0]);
        assert!((slope - at(mean, 0.0)[1]).abs() < 1e-12 && (curvature + 2.0 * at(mean, 0.0)[2]).abs() < 1e-12);
    }
}

/// f that is less known keeps its mean rate, its sign, and varies by what is said.
#[test]
fn widening_keeps_the_mean_rate() {
    for &link in Link::ALL {
        for (mean, variance, by) in
            [(1.3, 0.2, 0.1), (-2.0, 0.5, 0.4), (0.0, 1.0, 0.5), (0.2, 0.1, 0.3), (3.0, 0.0, 0.0)]
        {
            let link = link.formula();
            let (wide, more) = link.widened(mean, variance, by);
            let (before, after) = (link.moments(mean, variance), link.moments(wide, more));
            assert!((after.0 / before.0 - 1.0).abs() < 1e-14, "{} {mean} {variance} {by}", link.name());
            assert!(after.1 >= before.1 && more >= variance && wide * mean >= 0.0 || link.name() == "log");
            assert!((more - variance - by).abs() < 1e-15 || mean * mean < by);
        }
    }
}
