//! Identities that hold whatever the data: q = prior, unit changes, window splits; and properties of the special functions.

use crate::common;
use pointillist::bound::{Gaussian, bound, kl_divergence};
use pointillist::field::inducing::{Basis, Hyper, Scattered, ScatteredBasis};
use pointillist::numerics::linalg::Matrix;
use pointillist::numerics::special::{erf_difference, expected_log_square, normal_cdf, square_quantile};
use pointillist::settings::{Inducing, PriorMean};
use pointillist::{Events, InducingPoints, Kernel, Model, Points, Window};
use proptest::prelude::*;

fn basis(kernel: &Kernel, mean: f64, prior: PriorMean, z: &Points) -> ScatteredBasis {
    Scattered::new(z.clone()).basis(&Hyper { kernel: kernel.clone(), mean }, prior, 0.0).unwrap()
}

#[test]
fn q_equal_to_the_prior_has_no_divergence_and_the_prior_integral() {
    let window = Window::new(&[(0.0, 2.0), (-1.0, 0.5)]).unwrap();
    let kernel = Kernel::squared_exponential(1.7, &[0.6, 0.4]).unwrap();
    let points = Points::from_rows(&[[0.3, -0.2], [1.4, 0.1]]).unwrap();
    let z = window.grid(&[3, 3]);
    for prior in [PriorMean::Constant, PriorMean::Paper] {
        let basis = basis(&kernel, 0.9, prior, &z);
        let features = basis.features(&points, &window);
        let q = Gaussian { mean: features.prior_mean.clone(), root: Matrix::scaled_identity(z.len(), 1.0) };
        let bound = bound(&features, &[1.0, 1.0], &q);
        assert!(bound.kl.abs() < 1e-12);
        // ∫ Var f is the prior's, γ|T|, whatever the inducing points; with a constant mean ∫ E[f]² = ū²|T|.
        assert!((bound.integral_of_variance - 1.7 * window.measure()).abs() < 1e-11);
        if prior == PriorMean::Constant {
            assert!((bound.integral_of_mean_square - 0.81 * window.measure()).abs() < 1e-11);
        }
    }
}

#[test]
fn the_region_of_two_halves_is_the_sum_of_the_halves() {
    let kernel = Kernel::squared_exponential(1.3, &[0.4]).unwrap();
    let z = Points::line(&[0.1, 0.5, 0.7, 1.4]).unwrap();
    let basis = basis(&kernel, 0.0, PriorMean::Constant, &z);
    let over = |lo, hi| basis.over(&Window::interval(lo, hi).unwrap());
    let (whole, left, right) = (over(0.0, 1.5), over(0.0, 0.6), over(0.6, 1.5));
    for (w, (l, r)) in whole.square.data().iter().zip(left.square.data().iter().zip(right.square.data())) {
        assert!((w - l - r).abs() < 1e-11, "{w} {l} {r}");
    }
    for i in 0..z.len() {
        assert!((whole.linear[i] - left.linear[i] - right.linear[i]).abs() < 1e-12);
    }
    assert!((whole.residual - left.residual - right.residual).abs() < 1e-11);
}

#[test]
fn units_do_not_change_the_answer() {
    let years = common::coal();
    let (lo, hi) = common::COAL_WINDOW;
    let model = Model { family: Inducing::Grid(vec![15]).into(), ..Model::of_maximum_likelihood() };
    let fit = |scale: f64, shift: f64| {
        let moved = |x: f64| (x - lo) * scale + shift;
        let points =
            Points::line(&years.iter().map(|&x| moved(x).clamp(shift, moved(hi))).collect::<Vec<_>>()).unwrap();
        let events = Events::new(points, Window::interval(shift, moved(hi)).unwrap()).unwrap();
        let fit = model.fit(&events).unwrap();
        let at = Points::line(&[moved(1880.0), moved(1950.0)]).unwrap();
        (
            fit.report.bound.total() + years.len() as f64 * scale.ln(),
            fit.posterior.rate(&at).unwrap().mean,
            fit.posterior.mean(),
        )
    };
    let (bound, rate, mean) = fit(1.0, lo);
    // seconds since 1970 and micrometres are as good as years
    for (scale, shift) in [(31_557_600.0, 1.6e9), (1e-6, 0.0), (1e-6, 3e-6)] {
        let (other_bound, other_rate, other_mean) = fit(scale, shift);
        assert!((bound - other_bound).abs() < 1e-4, "{scale}: {bound} {other_bound}");
        for (a, b) in rate.iter().zip(&other_rate) {
            assert!((a - b * scale).abs() < 1e-3 * a, "{scale}: {a} {}", b * scale);
        }
        assert!((mean - other_mean * scale.sqrt()).abs() < 1e-3 * mean);
    }
}

#[test]
fn whole_and_parts_of_a_count_agree() {
    let fit = Model { family: Inducing::Grid(vec![20]).into(), ..Model::of_maximum_likelihood() }.fit(&coal()).unwrap();
    let (lo, hi) = common::COAL_WINDOW;
    let count = |lo, hi| fit.posterior.count(&Window::interval(lo, hi).unwrap()).unwrap();
    let whole = count(lo, hi);
    assert!((whole.mean - count(lo, 1900.0).mean - count(1900.0, hi).mean).abs() < 1e-9);
    assert!((whole.mean - fit.report.bound.integral()).abs() < 1e-9);
    // the expected number of events over the window is near the number seen
    assert!((whole.mean - 191.0).abs() < 5.0, "{whole:?}");
    let draws: Vec<f64> = fit
        .posterior
        .count_draws(&Window::interval(lo, 1900.0).unwrap(), 20_000, 3)
        .unwrap()
        .iter()
        .map(|d| d.0)
        .collect();
    let part = count(lo, 1900.0);
    let mean = draws.iter().sum::<f64>() / draws.len() as f64;
    let sd = (draws.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / draws.len() as f64).sqrt();
    assert!((mean - part.mean).abs() < 4.0 * part.sd / 20_000f64.sqrt(), "{mean} {part:?}");
    assert!((sd / part.sd - 1.0).abs() < 0.03, "{sd} {part:?}");
}

fn coal() -> Events {
    let (lo, hi) = common::COAL_WINDOW;
    Events::new(Points::line(&common::coal()).unwrap(), Window::interval(lo, hi).unwrap()).unwrap()
}

proptest! {
    #[test]
    fn expected_log_square_obeys_jensen_and_scaling(mean in -20.0..20.0f64, log_variance in -20.0..10.0f64, log_scale in -3.0..3.0f64) {
        let variance = log_variance.exp();
        let e = expected_log_square(mean, variance);
        // E log f² ≤ log E f², and no less than the value of a pure-noise f
        prop_assert!(e.value <= (mean * mean + variance).ln() + 1e-13);
        prop_assert!(e.value >= variance.ln() - 1.27036284546148 - 1e-13);
        let scaled = expected_log_square(mean * log_scale.exp(), variance * (2.0 * log_scale).exp());
        prop_assert!((scaled.value - e.value - 2.0 * log_scale).abs() < 1e-12 * (1.0 + e.value.abs()));
        prop_assert_eq!(expected_log_square(-mean, variance).value, e.value);
        prop_assert_eq!(expected_log_square(-mean, variance).d_mean, -e.d_mean);
    }

    #[test]
    fn square_quantiles_invert_the_distribution(mean in -5.0..5.0f64, log_sd in -4.0..2.0f64, p in 0.001..0.999f64) {
        let sd = log_sd.exp();
        let root = square_quantile(mean, sd, p).sqrt();
        let below = normal_cdf((root - mean) / sd) - normal_cdf((-root - mean) / sd);
        prop_assert!((below - p).abs() < 1e-10, "{} {}", below, p);
    }

    #[test]
    fn erf_differences_add_up(a in -6.0..6.0f64, b in -6.0..6.0f64, c in -6.0..6.0f64) {
        let sum = erf_difference(a, b) + erf_difference(b, c);
        prop_assert!((sum - erf_difference(a, c)).abs() < 4e-15);
    }

    #[test]
    fn divergence_is_never_negative(mean in prop::collection::vec(-3.0..3.0f64, 3), root in prop::collection::vec(0.05..3.0f64, 6)) {
        let mut matrix = Matrix::zeros(3, 3);
        let mut at = root.into_iter();
        for j in 0..3 {
            for i in j..3 {
                matrix[(i, j)] = at.next().unwrap();
            }
        }
        let kl = kl_divergence(&Gaussian { mean, root: matrix }, &[0.1, -0.2, 0.3]);
        prop_assert!(kl >= 0.0);
    }

    #[test]
    fn the_bound_is_never_above_a_wider_one(shift in 0.0..1.0f64, l in 0.15..1.0f64) {
        // At its best q, the bound with inducing points Z ∪ {z} is at least the bound with Z (Titsias).
        let points = Points::line(&[0.1, 0.3, 0.35, 0.8, 0.9]).unwrap();
        let events = Events::new(points, Window::interval(0.0, 1.0).unwrap()).unwrap();
        let few = vec![0.1, 0.6];
        let more = [few.clone(), vec![0.2 + 0.7 * shift]].concat();
        let best = |z: &[f64]| {
            let model = Model { family: InducingPoints { points: Inducing::At(Points::line(z).unwrap()), jitter: 1e-10, ..InducingPoints::default() }.into(), fixed: vec![("lengthscale".into(), l), ("variance".into(), 2.0), ("mean".into(), 2.0)], ..Model::of_maximum_likelihood() };
            model.fit(&events).unwrap().report.bound.total()
        };
        prop_assert!(best(&more) >= best(&few) - 1e-5);
    }
}
