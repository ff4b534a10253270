//! `cargo bench -p pointillist`: one table of ratios, each measured side by side in one run, on one thread.
//!
//! Beside every evaluation stands its floor: the bare factorisations, solves and products of the same sizes, through the same
//! library, that an evaluation of the bound and its gradient cannot avoid. Absolute times mean little on a shared machine.

use pointillist::bound::{Gaussian, bound_adjoint};
use pointillist::field::inducing::{Basis, Hyper, Scattered, ScatteredBasis};
use pointillist::kernel::{Formula, SquaredExponential};
use pointillist::numerics::linalg::{self, Matrix};
use pointillist::numerics::{special, vector};
use pointillist::settings::{Inducing, PriorMean};
use pointillist::window::{Polygons, Span};
use pointillist::{Events, Kernel, Model, Points, Window};
use std::hint::black_box;
use std::time::Instant;

/// Median seconds of a call.
fn seconds(mut call: impl FnMut()) -> f64 {
    let mut timed = || {
        let start = Instant::now();
        call();
        start.elapsed().as_secs_f64()
    };
    let once = timed();
    if once > 3.0 {
        return once; // warming up makes no difference to a call as long as this
    }
    let repeats = (0.4 / once).clamp(3.0, 2000.0) as usize;
    let mut times: Vec<f64> = (0..repeats).map(|_| timed()).collect();
    times.sort_by(f64::total_cmp);
    times[repeats / 2]
}

/// A sequence without structure, the same in every run.
fn scatter(count: usize, step: f64) -> Vec<f64> {
    (0..count).map(|i| (0.5 + step * i as f64).fract()).collect()
}

fn special_functions() {
    println!("{:<34}{:>16}", "function", "million a second");
    let count = 4096;
    let means: Vec<f64> = scatter(count, 0.618034).iter().map(|x| 8.0 * x - 2.0).collect();
    let variances: Vec<f64> = scatter(count, 0.414214).iter().map(|x| 0.01 + x).collect();
    let probabilities = scatter(count, 0.732051);
    let (mut a, mut b, mut c) = (vec![0.0; count], vec![0.0; count], vec![0.0; count]);
    let row = |name: &str, call: &mut dyn FnMut()| {
        println!("{name:<34}{:>16.1}", count as f64 / seconds(call) / 1e6);
    };
    row("E[log f²] and derivatives", &mut || {
        special::expected_log_squares(&means, &variances, &mut a, &mut b, &mut c);
        black_box(&a);
    });
    row("Dawson, its slope and integral", &mut || {
        for x in &means {
            black_box(special::dawson(*x));
        }
    });
    row("quantile of f²", &mut || {
        for i in 0..count {
            black_box(special::square_quantile(means[i], variances[i].sqrt(), probabilities[i]));
        }
    });
    row("erf(b) − erf(a)", &mut || {
        for i in 0..count {
            black_box(special::erf_difference(means[i], means[i] + variances[i]));
        }
    });
    let arguments: Vec<f64> = means.iter().map(|x| -x.abs()).collect();
    let mut values = arguments.clone();
    row("exp, in slices", &mut || {
        values.copy_from_slice(&arguments);
        vector::exp_in_place(&mut values);
        black_box(&values);
    });
}

/// Events, Θ and a grid of inducing points of the wanted size.
struct Case {
    events: Events,
    counts: Vec<usize>,
    hyper: Hyper,
}

fn case(events: usize, counts: &[usize]) -> Case {
    let points = match counts.len() {
        1 => coal(),
        _ => {
            // Waves along both axes, so that there is something to find.
            let wave = |u: f64, waves: f64| {
                u + 0.8 * (std::f64::consts::TAU * waves * u).sin() / (std::f64::consts::TAU * waves)
            };
            let (x, y) = (scatter(events, 0.754878), scatter(events, 0.569840));
            let rows: Vec<[f64; 2]> = x.iter().zip(&y).map(|(&x, &y)| [wave(x, 2.0), wave(y, 1.0)]).collect();
            Events::new(Points::from_rows(&rows).unwrap(), Window::new(&[(0.0, 1.0), (0.0, 1.0)]).unwrap()).unwrap()
        }
    };
    let l = vec![if counts.len() == 1 { 0.1 } else { 0.15 }; counts.len()];
    let rate = points.len() as f64 / points.window().measure();
    let side = points.window().bounding_box()[0].length();
    let l: Vec<f64> = l.iter().map(|l| l * side).collect();
    let kernel = Kernel::squared_exponential(0.36 * rate, &l).unwrap();
    Case { events: points, counts: counts.to_vec(), hyper: Hyper { kernel, mean: 0.8 * rate.sqrt() } }
}

fn coal() -> Events {
    let text = include_str!("coal.csv");
    let years: Vec<f64> = text.lines().skip(1).map(|line| line.split(',').next().unwrap().parse().unwrap()).collect();
    Events::new(Points::line(&years).unwrap(), Window::interval(1851.2026009582, 1962.2197125257).unwrap()).unwrap()
}

/// Seconds of one evaluation of bound and gradient, and of its floor.
fn evaluation(case: &Case) -> (f64, f64) {
    let set = Scattered::new(case.events.window().grid(&case.counts));
    let (points, window) = (case.events.points(), case.events.window());
    let weights = vec![1.0; case.events.len()];
    let size = set.size();
    let q = Gaussian { mean: vec![0.1; size], root: Matrix::scaled_identity(size, 0.5) };
    let evaluate = || {
        let basis = set.basis(&case.hyper, PriorMean::Constant, 1e-8).unwrap();
        let features = basis.features(points, window);
        let (bound, bar, _) = bound_adjoint(&features, &weights, &q, false);
        black_box((bound, basis.features_adjoint(points, window, &features, bar, &[])));
    };
    let basis = set.basis(&case.hyper, PriorMean::Constant, 1e-8).unwrap();
    let features = basis.features(points, window);
    (seconds(evaluate), floor(&basis, &features.points.a, &features.region.square, &q))
}

/// The matrix work alone: K = L Lᵀ; a = L⁻¹k; A = L⁻¹ΨL⁻ᵀ; S; S a; then back: L⁻ᵀā, Σ ā aᵀ, Ā A, and Ψ̄ and K̄ through L.
fn floor(basis: &ScatteredBasis, a: &Matrix, region: &Matrix, q: &Gaussian) -> f64 {
    let l = basis.whitening();
    let k = linalg::lower_square(l);
    let (mut columns, mut product) = (a.clone(), a.clone());
    let mut w = Matrix::zeros(l.rows(), l.rows());
    let mut square = region.clone();
    seconds(|| {
        let mut factor = k.clone();
        linalg::cholesky(&mut factor).unwrap();
        columns.data_mut().copy_from_slice(a.data());
        linalg::solve_lower(l, columns.data_mut());
        square.data_mut().copy_from_slice(region.data());
        linalg::whiten(&mut square, l);
        let covariance = q.covariance();
        linalg::product_columns(&covariance, a.data(), product.data_mut());
        linalg::add_outer_lower(&mut w, 1e-9, product.data(), a.data());
        linalg::solve_lower_transposed(l, product.data_mut());
        let through = linalg::product(region, &covariance);
        for _ in 0..2 {
            square.data_mut().copy_from_slice(region.data());
            linalg::whiten_adjoint(&mut square, l);
        }
        black_box((&factor, &columns, &through, &square, &w));
    })
}

/// Kenya's border, as bundled.
fn kenya() -> Polygons {
    let file: serde_json::Value = serde_json::from_str(include_str!("border.geojson")).unwrap();
    Polygons::new(serde_json::from_value(file["features"][0]["geometry"]["coordinates"].clone()).unwrap()).unwrap()
}

/// Ψ of a 20×20 grid over Kenya's box and over its border, beside the erf's of the naive way: one difference a pair of points and axis.
fn region_integrals() {
    let border = Window::inside(kenya());
    let vertices: usize = border.outlines().flat_map(Polygons::rings).flatten().map(Vec::len).sum();
    let spans: Vec<(f64, f64)> = border.bounding_box().iter().map(|s| (s.lo, s.hi)).collect();
    let (whole, sides) = (Window::new(&spans).unwrap(), spans.iter().map(|s| s.1 - s.0).collect::<Vec<_>>());
    let z = whole.grid(&[20, 20]);
    println!("\nΨ, 20×20 grid{:>21}{:>14}{:>22}{:>18}", "box µs", "border µs", "M² pairs of erf µs", "whitening µs");
    for (text, lengths) in [("SE, length 0.1 of a side", 0.1), ("SE, length 0.05", 0.05)] {
        let lengthscales: Vec<f64> = sides.iter().map(|side| lengths * side).collect();
        let kernel = Kernel::squared_exponential(1.0, &lengthscales).unwrap();
        let basis = Scattered::new(z.clone()).basis(&Hyper { kernel, mean: 1.0 }, PriorMean::Constant, 1e-6).unwrap();
        let naive = || {
            let psi = |axis: usize, a: f64, b: f64| {
                let span = Span { lo: spans[axis].0, hi: spans[axis].1 };
                SquaredExponential::psi(&[lengthscales[axis]], a, b, span)
            };
            for a in z.rows() {
                for b in z.rows() {
                    black_box(psi(0, a[0], b[0]) * psi(1, a[1], b[1]));
                }
            }
        };
        let mut square = basis.over(&whole).square;
        let whitening = seconds(|| linalg::whiten(black_box(&mut square), basis.whitening()));
        let over = |window: &Window| seconds(|| drop(black_box(basis.over(window)))) - whitening;
        let (over_box, over_border) = (over(&whole), over(&border));
        let columns = [over_box, over_border, seconds(naive), whitening].map(|t| t * 1e6);
        println!("{text:<24}{:>10.0}{:>14.0}{:>22.0}{:>18.0}", columns[0], columns[1], columns[2], columns[3]);
    }
    println!("(the border has {vertices} vertices; whitening is what both have in common, and is taken off)");
}

fn main() {
    rayon::ThreadPoolBuilder::new().num_threads(1).build_global().unwrap();
    special_functions();
    region_integrals();
    println!(
        "\n{:>7}{:>8}{:>14}{:>12}{:>8}{:>14}{:>8}{:>16}",
        "N", "M", "evaluation µs", "floor µs", "ratio", "fit ms", "steps", "fit/evaluation"
    );
    for (events, counts) in [(191, vec![10]), (191, vec![31]), (2_000, vec![15, 15]), (20_000, vec![20, 20])] {
        let case = case(events, &counts);
        let (evaluation, floor) = evaluation(&case);
        let model = Model { family: Inducing::Grid(counts.clone()).into(), ..Model::of_maximum_likelihood() };
        let mut evaluations = 0;
        let fit = seconds(|| evaluations = black_box(model.fit(&case.events).unwrap()).report.evaluations);
        println!(
            "{:>7}{:>8}{:>14.1}{:>12.1}{:>8.2}{:>14.3}{:>8}{:>16.1}",
            events,
            counts.iter().product::<usize>(),
            evaluation * 1e6,
            floor * 1e6,
            evaluation / floor,
            fit * 1e3,
            evaluations,
            fit / evaluation
        );
    }
}
