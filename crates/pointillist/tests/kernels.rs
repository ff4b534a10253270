//! Every factor: its closed forms, tables and derivatives against quadrature and the plain formulas, and against values
//! computed outside with 30 digits.

use crate::common::{golden, number};
use pointillist::kernel::{
    Constant, Cosine, Factor, Formula, Linear, Matern12, Matern32, Matern52, Parameter, Periodic, Polynomial,
    RationalQuadratic, SquaredExponential, cross_psi,
};
use pointillist::numerics::dual::{Dual, Real};
use pointillist::numerics::gauss::GaussLegendre;
use pointillist::testing::check_kernel;
use pointillist::window::Span;
use serde_json::Value;

const UNIT: Span = Span { lo: 0.0, hi: 1.0 };
const WIDE: Span = Span { lo: -1.3, hi: 1.6 };

/// The battery at several parameters, on two spans. `integrals` bounds the relative errors of φ and Ψ.
fn check<F: Formula>(thetas: &[&[f64]], integrals: f64) {
    for theta in thetas {
        for span in [UNIT, WIDE] {
            let check = check_kernel::<F>(theta, span);
            let name = F::name();
            assert!(check.symmetry <= 1e-15, "{name} {theta:?}: {check:?}");
            assert!(check.phi <= integrals && check.psi <= integrals, "{name} {theta:?}: {check:?}");
            assert!(check.tables <= 1e-13 && check.adjoints <= 1e-12, "{name} {theta:?}: {check:?}");
            let worst = worst_derivative::<F>(theta, span);
            assert!(
                worst <= 1e-12,
                "{name} {theta:?}: derivatives of closed forms and of quadrature differ by {worst}"
            );
            let worst = worst_single_panel::<F>(theta, span);
            assert!(worst <= 1e-12, "{name} {theta:?}: a single panel leaves {worst}");
        }
    }
}

/// Largest error of Ψ by one panel between the kinks, with as many nodes as the kernel's length asks for: what the integral of
/// a product of two different factors relies on.
fn worst_single_panel<F: Formula>(theta: &[f64], span: Span) -> f64 {
    let mut worst = 0.0f64;
    for (z, w) in [(0.1, 0.37), (0.9, 0.2), (0.55, 0.56), (-0.05, 0.3)] {
        let (z, w) = (span.lo + z * span.length(), span.lo + w * span.length());
        let mut cuts = vec![span.lo, span.hi];
        if F::has_kink() {
            cuts.extend([z, w].iter().filter(|at| span.contains(**at)));
            cuts.sort_by(f64::total_cmp);
        }
        let (mut sum, mut size) = (0.0, 0.0);
        for ends in cuts.windows(2) {
            let lengths = (ends[1] - ends[0]) / F::length(theta);
            let order = (3.0 * lengths + 4.0 + f64::min(10.0, 40.0 * lengths)).ceil() as usize;
            for (x, weight) in GaussLegendre::new(order).on(ends[0], ends[1]) {
                let term = weight * F::k(theta, z, x) * F::k(theta, x, w);
                (sum, size) = (sum + term, size + term.abs());
            }
        }
        worst = worst.max((sum - F::psi(theta, z, w, span)).abs() / size);
    }
    worst
}

/// Largest difference between the derivatives of φ and Ψ and those of their quadrature, relative to the largest.
fn worst_derivative<F: Formula>(theta: &[f64], span: Span) -> f64 {
    let theta: Vec<Dual<5>> = theta.iter().enumerate().map(|(i, &t)| Dual::variable(t, i)).collect();
    let place = |share: f64, slot: usize| Dual::variable(span.lo + share * span.length(), slot);
    let mut worst = 0.0f64;
    let mut compare = |got: Dual<5>, want: Dual<5>| {
        let scale = want.derivatives().iter().fold(want.value().abs(), |m, d| m.max(d.abs()));
        let pairs = got.derivatives().iter().zip(want.derivatives());
        worst = pairs.fold(worst, |worst, (got, want)| worst.max((got - want).abs() / scale));
    };
    for (z, w) in [(0.1, 0.37), (0.9, 0.2), (0.55, 0.55), (-0.12, 0.4), (1.07, -0.2)] {
        let (z, w) = (place(z, 3), place(w, 4));
        compare(F::phi(&theta, z, span), F::phi_by_quadrature(&theta, z, span));
        compare(F::psi(&theta, z, w, span), F::psi_by_quadrature(&theta, z, w, span));
    }
    worst
}

#[test]
fn squared_exponential() {
    check::<SquaredExponential>(&[&[0.07], &[0.4], &[3.0]], 1e-12);
}

#[test]
fn matern() {
    check::<Matern12>(&[&[0.07], &[0.4], &[30.0]], 1e-13);
    check::<Matern32>(&[&[0.07], &[0.4], &[30.0]], 1e-13);
    check::<Matern52>(&[&[0.07], &[0.4], &[30.0]], 1e-13);
}

#[test]
fn periodic() {
    check::<Periodic>(&[&[0.3, 1.0], &[0.8, 0.35], &[0.21, 3.0]], 1e-12);
    check::<Periodic>(&[&[5.0, 0.7], &[1.1, 0.06], &[0.5, 0.15]], 1e-12);
}

#[test]
fn cosine() {
    check::<Cosine>(&[&[0.19], &[0.9], &[20.0]], 1e-12);
}

#[test]
fn polynomial_and_linear() {
    for degree in 1..=8 {
        check::<Polynomial>(&[&[degree as f64, 0.7, 0.5], &[degree as f64, 1.3, 0.0]], 1e-12);
    }
    check::<Polynomial>(&[&[20.0, 2.0, 0.4]], 1e-12);
    check::<Linear>(&[&[0.25, 0.5], &[2.0, -1.0], &[1e-3, 0.3]], 1e-12);
    let (z, x) = (0.3, -0.8);
    assert_eq!(Linear::k(&[0.6, 0.1], z, x), Polynomial::k(&[1.0, 0.6, 0.1], z, x));
}

#[test]
fn constant() {
    check::<Constant>(&[&[]], 1e-14);
}

#[test]
fn rational_quadratic() {
    check::<RationalQuadratic>(&[&[0.2, 1.0], &[0.1, 0.02], &[0.1, 30.0]], 1e-12);
}

/// A kernel of a golden record: variance, factor, parameters.
fn kernel(of: &Value) -> (f64, Factor, Vec<f64>) {
    let name = of["name"].as_str().unwrap();
    let value = |parameter: &Parameter| match (name, parameter.name) {
        ("se", _) => number(&of["alpha"]).sqrt(),
        ("polynomial", "origin") => 0.0,
        (_, parameter) => number(&of[parameter]),
    };
    let factor = Factor::by_name(name).unwrap();
    (number(&of["variance"]), factor, factor.parameters().iter().map(value).collect())
}

fn span(case: &Value) -> Span {
    Span { lo: number(&case["lo"]), hi: number(&case["hi"]) }
}

fn phi(factor: Factor, theta: &[f64], z: f64, span: Span) -> f64 {
    match factor {
        Factor::SquaredExponential => SquaredExponential::phi(theta, z, span),
        Factor::Matern12 => Matern12::phi(theta, z, span),
        Factor::Matern32 => Matern32::phi(theta, z, span),
        Factor::Matern52 => Matern52::phi(theta, z, span),
        Factor::Periodic => Periodic::phi(theta, z, span),
        Factor::Cosine => Cosine::phi(theta, z, span),
        Factor::Polynomial => Polynomial::phi(theta, z, span),
        Factor::Constant => Constant::phi(theta, z, span),
        other => panic!("no golden record of {}", other.name()),
    }
}

fn psi(factor: Factor, theta: &[f64], z: f64, w: f64, span: Span) -> f64 {
    match factor {
        Factor::SquaredExponential => SquaredExponential::psi(theta, z, w, span),
        Factor::Matern12 => Matern12::psi(theta, z, w, span),
        Factor::Matern32 => Matern32::psi(theta, z, w, span),
        Factor::Matern52 => Matern52::psi(theta, z, w, span),
        Factor::Periodic => Periodic::psi(theta, z, w, span),
        Factor::Cosine => Cosine::psi(theta, z, w, span),
        Factor::Polynomial => Polynomial::psi(theta, z, w, span),
        Factor::Constant => Constant::psi(theta, z, w, span),
        other => panic!("no golden record of {}", other.name()),
    }
}

fn assert_close(got: f64, want: f64, case: &Value) {
    assert!((got - want).abs() <= 1e-12 * want.abs(), "{got} {want}: {case}");
}

#[test]
fn golden_phi() {
    for case in golden("phi_1d") {
        let (variance, factor, theta) = kernel(&case["kernel"]);
        let got = variance * phi(factor, &theta, number(&case["z"]), span(&case));
        assert_close(got, number(&case["phi"]), &case);
    }
}

#[test]
fn golden_psi_of_any_two() {
    for case in golden("psi_1d") {
        let (left_variance, left, left_theta) = kernel(&case["left"]);
        let (right_variance, right, right_theta) = kernel(&case["right"]);
        let (z, w, span, want) = (number(&case["z"]), number(&case["w"]), span(&case), number(&case["psi"]));
        let got = cross_psi((left, &left_theta), (right, &right_theta), z, w, span);
        assert_close(left_variance * right_variance * got, want, &case);
        if left == right && left_theta == right_theta {
            assert_close(left_variance * right_variance * psi(left, &left_theta, z, w, span), want, &case);
        }
    }
}

/// Whether a symmetric matrix is positive definite: whether it has a Cholesky root.
fn is_positive_definite(mut a: Vec<f64>, size: usize) -> bool {
    for j in 0..size {
        if a[j * size + j] <= 0.0 {
            return false;
        }
        for i in j + 1..size {
            let ratio = a[j * size + i] / a[j * size + j];
            for k in j..size {
                a[k * size + i] -= ratio * a[k * size + j];
            }
        }
    }
    true
}

fn check_definite<F: Formula>(theta: &[f64]) {
    let x: Vec<f64> = (0..12).map(|i| (i as f64 * 0.618_034).fract() * 1.4 - 0.2).collect();
    let size = x.len();
    let mut gram = vec![0.0; size * size];
    F::gram(theta, &x, &x, &mut gram);
    let trace: f64 = (0..size).map(|i| gram[i * size + i]).sum();
    (0..size).for_each(|i| gram[i * size + i] += 1e-12 * trace);
    assert!(is_positive_definite(gram.clone(), size), "{}: k", F::name());
    F::psi_table(theta, &x, UNIT, &mut gram);
    let trace: f64 = (0..size).map(|i| gram[i * size + i]).sum();
    (0..size).for_each(|i| gram[i * size + i] += 1e-12 * trace);
    assert!(is_positive_definite(gram, size), "{}: psi", F::name());
}

#[test]
fn tables_are_positive_definite() {
    check_definite::<SquaredExponential>(&[0.2]);
    check_definite::<Matern12>(&[0.2]);
    check_definite::<Matern32>(&[0.2]);
    check_definite::<Matern52>(&[0.2]);
    check_definite::<RationalQuadratic>(&[0.2, 0.7]);
    check_definite::<Periodic>(&[0.3, 0.8]);
    check_definite::<Cosine>(&[0.3]);
    check_definite::<Polynomial>(&[3.0, 0.25, 0.5]);
    check_definite::<Linear>(&[0.25, 0.5]);
    check_definite::<Constant>(&[]);
}
