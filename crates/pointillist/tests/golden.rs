//! Against values computed outside, with 30 digits: the bound and its gradient, Ψ and φ, the predictive scores.

use crate::common::{golden, number, numbers, rows};
use pointillist::bound::Bound;
use pointillist::internals::{Given, Gradient, bound_at};
use pointillist::kernel::{Formula, SquaredExponential};
use pointillist::numerics::linalg::Matrix;
use pointillist::settings::PriorMean;
use pointillist::state::{BasisState, ComponentState, InducingState, PosteriorState};
use pointillist::{Events, Kernel, Link, Points, Posterior, Window};
use serde_json::Value;

fn points(rows: &[Vec<f64>], dims: usize) -> Points {
    Points::new(dims, rows.concat()).unwrap()
}

fn window(case: &Value) -> Window {
    let spans: Vec<(f64, f64)> = numbers(&case["lo"]).into_iter().zip(numbers(&case["hi"])).collect();
    Window::new(&spans).unwrap()
}

fn kernel(case: &Value) -> Kernel {
    let lengthscales: Vec<f64> = numbers(&case["alpha"]).iter().map(|a| a.sqrt()).collect();
    Kernel::squared_exponential(number(&case["gamma"]), &lengthscales).unwrap()
}

fn prior_mean(case: &Value) -> PriorMean {
    if case["mean"] == "paper" { PriorMean::Paper } else { PriorMean::Constant }
}

fn root(case: &Value) -> Matrix {
    let rows = rows(&case["L"]);
    Matrix::from_fn(rows.len(), rows.len(), |i, j| rows[i][j])
}

/// |got − want| relative to |want|.
fn relative(got: f64, want: f64) -> f64 {
    (got - want).abs() / want.abs()
}

/// The bound of a record with its gradient, and its kernel and inducing points.
fn evaluate(case: &Value) -> ((Bound, Gradient), Kernel, Points) {
    let dims = case["lo"].as_array().unwrap().len();
    let events = Events::new(points(&rows(&case["X"]), dims), window(case)).unwrap();
    let inducing = points(&rows(&case["Z"]), dims);
    let (kernel, mean, m, root) = (kernel(case), number(&case["ubar"]), numbers(&case["m"]), root(case));
    let given = Given {
        kernel: &kernel,
        mean,
        prior_mean: prior_mean(case),
        inducing: &inducing,
        q_mean: &m,
        q_root: &root,
        jitter: 0.0,
    };
    let found = bound_at(&events, &given).unwrap();
    (found, kernel, inducing)
}

#[test]
fn the_bound_and_its_parts() {
    for case in golden("bound") {
        let ((bound, _), kernel, inducing) = evaluate(&case);
        for (what, got, want) in [
            ("elbo", bound.total(), &case["elbo"]),
            ("int_mean2", bound.integral_of_mean_square, &case["int_mean2"]),
            ("int_var", bound.integral_of_variance, &case["int_var"]),
            ("data", bound.log_rate, &case["data"]),
            ("kl", bound.kl, &case["kl"]),
        ] {
            let tolerance = if well_conditioned(&kernel, &inducing) { 1e-12 } else { 1e-9 };
            assert!(relative(got, number(want)) < tolerance, "{what}: {got} {want}");
        }
    }
}

/// Whether no two inducing points are so close that their values are nearly the same: correlations below 0.99.
fn well_conditioned(kernel: &Kernel, inducing: &Points) -> bool {
    let size = inducing.len();
    let close = |i: usize, j: usize| kernel.k(inducing.row(i), inducing.row(j)) > 0.99 * kernel.variance();
    (0..size).all(|i| (0..i).all(|j| !close(i, j)))
}

#[test]
fn the_gradient_by_everything() {
    for case in golden("bound") {
        let ((_, gradient), kernel, inducing) = evaluate(&case);
        let want = &case["gradient"];
        let by_alpha: Vec<f64> =
            gradient.parameters[1..].iter().zip(kernel.lengthscales()).map(|(g, l)| g / (2.0 * l)).collect();
        let want_root = rows(&want["L"]);
        let size = inducing.len();
        let by_root: Vec<f64> = (0..size * size).map(|i| gradient.q_root[(i / size, i % size)]).collect();
        for (what, got, want) in [
            ("gamma", vec![gradient.parameters[0]], vec![number(&want["gamma"])]),
            ("alpha", by_alpha, numbers(&want["alpha"])),
            ("ubar", vec![gradient.mean], vec![number(&want["ubar"])]),
            ("m", gradient.q_mean, numbers(&want["m"])),
            ("L", by_root, want_root.concat()),
            ("Z", gradient.inducing, rows(&want["Z"]).concat()),
        ] {
            let scale = want.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
            for (got, want) in got.iter().zip(&want) {
                assert!((got - want).abs() < 1e-10 * scale, "{what}: {got} {want}");
            }
        }
    }
}

fn se(record: &Value) -> Option<(f64, f64)> {
    (record["name"] == "se").then(|| (number(&record["variance"]), number(&record["alpha"]).sqrt()))
}

#[test]
fn psi_and_phi_of_the_squared_exponential() {
    let span = |case: &Value| Window::interval(number(&case["lo"]), number(&case["hi"])).unwrap().bounding_box()[0];
    let mut seen = 0;
    for case in golden("phi_1d") {
        let Some((variance, l)) = se(&case["kernel"]) else { continue };
        let got = variance * SquaredExponential::phi(&[l], number(&case["z"]), span(&case));
        assert!(relative(got, number(&case["phi"])) < 1e-12, "{case}");
        seen += 1;
    }
    for case in golden("psi_1d") {
        let (Some((left, l)), Some((right, other))) = (se(&case["left"]), se(&case["right"])) else { continue };
        if l != other {
            continue; // a pair of different kernels
        }
        let got = left * right * SquaredExponential::psi(&[l], number(&case["z"]), number(&case["w"]), span(&case));
        assert!(relative(got, number(&case["psi"])) < 1e-12, "{case}");
        seen += 1;
    }
    assert!(seen >= 5, "only {seen} records of this kernel");
}

/// The posterior with the q(u) of a record: whitened here with a Cholesky factor written out on the spot.
fn posterior(case: &Value) -> Posterior {
    let window = window(case);
    let spans = window.bounding_box().to_vec();
    let volume = window.measure();
    let kernel = kernel(case);
    let z = rows(&case["Z"]);
    let size = z.len();
    let mean = number(&case["ubar"]);
    let offset = if prior_mean(case) == PriorMean::Paper { 0.0 } else { mean };
    let l = {
        let mut l = vec![vec![0.0; size]; size];
        for i in 0..size {
            for j in 0..=i {
                let sum: f64 = (0..j).map(|k| l[i][k] * l[j][k]).sum();
                let k = kernel.k(&z[i], &z[j]);
                l[i][j] = if i == j { (k - sum).sqrt() } else { (k - sum) / l[j][j] };
            }
        }
        l
    };
    let solve = |mut x: Vec<f64>| {
        for i in 0..size {
            let sum: f64 = (0..i).map(|j| l[i][j] * x[j]).sum();
            x[i] = (x[i] - sum) / l[i][i];
        }
        x
    };
    let root = root(case);
    // Whitened values have no unit: only the locations and the kernel move to the unit box.
    let unit: Vec<f64> = z.iter().flat_map(|z| z.iter().zip(&spans).map(|(z, s)| (z - s.lo) / s.length())).collect();
    let scales: Vec<f64> = kernel.lengthscales().iter().zip(&spans).map(|(l, s)| l / s.length()).collect();
    let basis = BasisState::Inducing(InducingState {
        kernel: Kernel::squared_exponential(kernel.variance() * volume, &scales).unwrap(),
        mean: mean * volume.sqrt(),
        prior_mean: prior_mean(case),
        constant: None,
        jitter: 0.0,
        by_axis: false,
        inducing: Points::new(spans.len(), unit).unwrap(),
        q_mean: solve(numbers(&case["m"]).iter().map(|m| m - offset).collect()),
        q_root: (0..size).flat_map(|j| solve(root.col(j).to_vec())[j..].to_vec()).collect(),
    });
    let components = vec![ComponentState { weight: 1.0, link: Link::Square, basis }];
    Posterior::from_state(PosteriorState { window, components, covariates: vec![] }).unwrap()
}

#[test]
fn predictive_bounds_and_marginals() {
    for case in golden("bound") {
        let posterior = posterior(&case);
        let held_out = points(&rows(&case["X"]), posterior.window().dims());
        let seen = Events::new(held_out.clone(), posterior.window().clone()).unwrap();
        let score = posterior.score(&seen, 2, 0).unwrap();
        let well = well_conditioned(&kernel(&case), &points(&rows(&case["Z"]), posterior.window().dims()));
        let tolerance = if well { 1e-12 } else { 1e-9 };
        assert!(relative(score.l_p, number(&case["l_p"])) < tolerance, "{} {}", score.l_p, case["l_p"]);
        assert!(relative(score.l_0, number(&case["l_0"])) < tolerance, "{} {}", score.l_0, case["l_0"]);
        let f = posterior.marginals(&held_out).unwrap();
        for (got, want) in f.mean.iter().zip(numbers(&case["mu"])).chain(f.variance.iter().zip(numbers(&case["var"]))) {
            assert!(relative(*got, want) < tolerance, "{got} {want}");
        }
    }
}

#[test]
fn sampled_scores_agree_with_values_without_sampling() {
    for case in golden("predictive") {
        let posterior = posterior(&case);
        let held_out = points(&rows(&case["held_out"]), posterior.window().dims());
        let seen = Events::new(held_out, posterior.window().clone()).unwrap();
        let score = posterior.score(&seen, 20_000, 7).unwrap();
        for (name, got, want) in [("M_p", score.m_p, number(&case["M_p"])), ("M_0", score.m_0, number(&case["M_0"]))] {
            println!("{name} {got:?} {want}");
            assert!(got.se < 0.02 && got.k < 0.7, "{name} {got:?}");
            assert!((got.value - want).abs() < 4.0 * got.se + 1e-7, "{name}: {got:?} against {want}");
        }
    }
}
