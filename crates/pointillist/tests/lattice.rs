//! The lattice: against values computed outside, against dense and obvious versions of itself, its gradient, other
//! shapes of one window.

use crate::common::{golden, number, numbers, rows};
use pointillist::field::lattice::{Elimination, Grid, Lattice, Mass, Optimum, Prior, PriorSlopes, Start, Theta};
use pointillist::gaussian::{BandedFactor, Diagonals, Factor};
use pointillist::numerics::gauss::GaussLegendre;
use pointillist::numerics::linalg::{self, Matrix};
use pointillist::settings::Smoothness;
use pointillist::terms::Marginals;
use pointillist::testing::check_gradient;
use pointillist::window::{Exposure, Polygons, Span};
use pointillist::{Link, Points, Window};
use serde_json::Value;

fn window(case: &Value) -> Window {
    let spans: Vec<(f64, f64)> = numbers(&case["lo"]).into_iter().zip(numbers(&case["hi"])).collect();
    Window::new(&spans).unwrap()
}

fn points(rows: &[Vec<f64>]) -> Points {
    Points::new(rows[0].len(), rows.concat()).unwrap()
}

fn close(what: &str, got: f64, want: f64, tolerance: f64) {
    assert!((got - want).abs() <= tolerance * want.abs().max(1.0), "{what}: {got} {want} ({:e})", (got - want).abs());
}

/// q of events with weight 1, brought as near its optimum as rounding allows.
fn optimum(lattice: &Lattice, events: &Points, theta: &Theta) -> Optimum {
    let mut start = Start::Flat(theta.mean);
    // The bound is flat at its optimum: steps that no longer change it still bring q nearer.
    for _ in 0..8 {
        let found = lattice.maximise(events, &vec![1.0; events.len()], theta, start, (1e-13, 200)).unwrap();
        assert!(found.converged);
        start = Start::Sites(found.sites);
    }
    lattice.maximise(events, &vec![1.0; events.len()], theta, start, (1e-13, 200)).unwrap()
}

/// What the golden values start from: q = N(0, (Q + 2𝓜)⁻¹), which has seen the window and no event.
fn blank(lattice: &Lattice, events: &Points, theta: &Theta) -> Start {
    let mut precision = lattice.prior().precision(theta);
    precision.add_scaled(2.0, &lattice.region().square.inner);
    let factor = BandedFactor::new(&precision).unwrap();
    let hats = lattice.grid().at(events).unwrap();
    let variance = |n: usize| {
        let mut row = vec![0.0; lattice.grid().size()];
        hats.pairs(n).for_each(|(i, value)| row[i] = value);
        factor.solve_lower(&mut row);
        linalg::dot(&row, &row)
    };
    let variance = (0..events.len()).map(variance).collect();
    Start::Known(Marginals { mean: vec![theta.mean; events.len()], variance })
}

/// The oracle took `steps` full natural steps from a blank q, which leaves means and variances 1e-7 from their optimum:
/// so do we here.
#[test]
fn golden_values() {
    for case in golden("lattice") {
        let nodes: Vec<usize> = numbers(&case["nodes"]).iter().map(|n| *n as usize).collect();
        let smoothness = if case["alpha"] == 2 { Smoothness::Two } else { Smoothness::Four };
        let margin = vec![number(&case["margin"]); nodes.len()];
        let lattice = Lattice::new(&window(&case), &nodes, &margin, smoothness).unwrap();
        let theta = Theta {
            range: number(&case["range"]),
            variance: number(&case["variance"]),
            mean: number(&case["mean"]),
            stretch: numbers(&case["s"]),
            scale: vec![],
        };
        let events = points(&rows(&case["events"]));
        close("log|Q|", lattice.prior().log_determinant(&theta), number(&case["log_det_Q"]), 1e-12);
        let steps = case["steps"].as_u64().unwrap() as usize;
        let start = blank(&lattice, &events, &theta);
        let found = lattice.maximise(&events, &vec![1.0; events.len()], &theta, start, (0.0, steps)).unwrap();
        assert_eq!(found.evaluations, steps);
        close("bound", found.bound, number(&case["elbo"]), 1e-10);
        close("integral", found.expected(lattice.region()), number(&case["integral"]), 1e-10);
        let at = found.marginals(&lattice.grid().at(&points(&rows(&case["at"]))).unwrap());
        for (n, (mean, variance)) in numbers(&case["f_mean"]).into_iter().zip(numbers(&case["f_var"])).enumerate() {
            close("mean of f", at.mean[n], mean, 1e-10);
            close("variance of f", at.variance[n], variance, 1e-10);
        }
        let best = optimum(&lattice, &events, &theta);
        close("bound at the optimum", best.bound, number(&case["elbo"]), 1e-8);
        assert!(best.bound > number(&case["elbo"]) - 1e-12);
    }
}

/// The expected number of events at the optimum of the first two golden cases, by plain loops elsewhere, to
/// convergence.
#[test]
fn the_integral_at_the_optimum() {
    for (case, want) in golden("lattice").iter().zip([47.63243794235167, 48.22853526408421]) {
        let nodes = [case["nodes"][0].as_u64().unwrap() as usize];
        let smoothness = if case["alpha"] == 2 { Smoothness::Two } else { Smoothness::Four };
        let lattice = Lattice::new(&window(case), &nodes, &[number(&case["margin"])], smoothness).unwrap();
        let [range, variance, mean] = ["range", "variance", "mean"].map(|name| number(&case[name]));
        let theta = Theta { range, variance, mean, stretch: vec![1.0], scale: vec![] };
        let found = optimum(&lattice, &points(&rows(&case["events"])), &theta);
        close("integral", found.expected(lattice.region()), want, 1e-9);
    }
}

// ---------------------------------------------------------------------------------------------------------------------
// Dense and obvious versions
// ---------------------------------------------------------------------------------------------------------------------

/// Lattices in one, two and three dimensions, the longest axis first, last and in between; some shorter than the reach
/// of Q.
fn grids() -> Vec<Grid> {
    SHAPES.iter().map(|nodes| Grid::new(&SPANS[..nodes.len()], nodes).unwrap()).collect()
}

fn nodes_of(shape: &[usize]) -> Vec<Vec<usize>> {
    let grow = |rows: Vec<Vec<usize>>, n: &usize| {
        rows.iter().flat_map(|row| (0..*n).map(move |i| [row.as_slice(), &[i]].concat())).collect()
    };
    shape.iter().fold(vec![vec![]], grow)
}

fn theta(dims: usize) -> Theta {
    Theta { range: 1.1, variance: 0.8, mean: 1.3, stretch: [1.2, 0.6, 1.7][..dims].to_vec(), scale: vec![] }
}

fn dense(matrix: &Diagonals) -> Matrix {
    Matrix::from_fn(matrix.size(), matrix.size(), |i, j| matrix.entry(i, j))
}

fn largest_difference(a: &Matrix, b: &Matrix) -> f64 {
    let scale = b.data().iter().fold(0.0, |s: f64, v| s.max(v.abs()));
    a.data().iter().zip(b.data()).fold(0.0, |d: f64, (a, b)| d.max((a - b).abs())) / scale
}

/// A scale with as many knots on each axis as asked for.
fn scale(knots: usize, dims: usize) -> Vec<f64> {
    (0..knots.pow(dims as u32)).map(|k| (0.9 * (1.7 * k as f64 + 0.4).sin()).exp()).collect()
}

/// s at a place by hand: multilinear between knots over the unit box, and beyond it what it is on the border.
fn obvious_log_scale(theta: &Theta, knots: usize, place: &[f64]) -> f64 {
    let hat = |x: f64, k: usize| (1.0 - (x.clamp(0.0, 1.0) * (knots - 1) as f64 - k as f64).abs()).max(0.0);
    let of_knot = |(knot, scale): (Vec<usize>, &f64)| {
        let hats: f64 = knot.iter().zip(place).map(|(k, x)| hat(*x, *k)).product();
        hats * scale.ln()
    };
    nodes_of(&vec![knots; place.len()]).into_iter().zip(&theta.scale).map(of_knot).sum()
}

/// τ² C^½ (κ² + Σ s_r A_r)^{α/2} e^{−2s} (κ² + Σ s_r A_r)^{α/2} C^½ in the words of the definition, all matrices dense; s at each node.
fn obvious_precision(shape: &[usize], alpha: usize, theta: &Theta, grid: &Grid, s: &[f64]) -> Matrix {
    let (dims, all) = (shape.len(), nodes_of(shape));
    let size = all.len();
    let step = |r: usize| SPANS[r].length() / (shape[r] - 1) as f64;
    let end = |r: usize, i: usize| i == 0 || i + 1 == shape[r];
    let mass = |r: usize, i: usize| if end(r, i) { 0.5 * step(r) } else { step(r) };
    let stiffness = |r: usize, i: usize, j: usize| match i.abs_diff(j) {
        0 => (if end(r, i) { 1.0 } else { 2.0 }) / step(r),
        1 => -1.0 / step(r),
        _ => 0.0,
    };
    let nu = alpha as f64 - 0.5 * dims as f64;
    let kappa = (8.0 * nu).sqrt() / theta.range;
    let mut operator = Matrix::zeros(size, size);
    for a in &all {
        for b in &all {
            let others = |r: usize| (0..dims).filter(|q| *q != r).all(|q| a[q] == b[q]);
            let along = |r: usize| theta.stretch[r] * stiffness(r, a[r], b[r]) / (mass(r, a[r]) * mass(r, b[r])).sqrt();
            let level = if a == b { kappa * kappa } else { 0.0 };
            let sum: f64 = (0..dims).filter(|&r| others(r)).map(along).sum();
            operator[(grid.index(a), grid.index(b))] = level + sum;
        }
    }
    let half = (1..alpha / 2).fold(operator.clone(), |power, _| linalg::product(&power, &operator));
    let scaled = Matrix::from_fn(size, size, |i, j| (-2.0 * s[i]).exp() * half[(i, j)]);
    let power = linalg::product(&half, &scaled);
    let gamma = |x: f64| if x == 0.5 { std::f64::consts::PI.sqrt() } else { half_integer_gamma(x) };
    let tau = gamma(nu)
        / (gamma(alpha as f64) * (4.0 * std::f64::consts::PI).powf(0.5 * dims as f64))
        / kappa.powf(2.0 * nu)
        / theta.variance;
    let mut root = vec![0.0; size];
    all.iter().for_each(|a| root[grid.index(a)] = (0..dims).map(|r| mass(r, a[r])).product::<f64>().sqrt());
    Matrix::from_fn(size, size, |i, j| tau * root[i] * power[(i, j)] * root[j])
}

/// Γ(x) = (x − 1) Γ(x − 1), down to Γ(½) or Γ(1).
fn half_integer_gamma(x: f64) -> f64 {
    match x {
        0.5 => std::f64::consts::PI.sqrt(),
        1.0 => 1.0,
        _ => (x - 1.0) * half_integer_gamma(x - 1.0),
    }
}

const SHAPES: [&[usize]; 7] = [&[9], &[3], &[5, 7], &[8, 3], &[4, 6, 3], &[3, 4, 7], &[2, 2, 3]];
const SPANS: [Span; 3] = [Span { lo: -0.3, hi: 2.0 }, Span { lo: 1.0, hi: 3.5 }, Span { lo: 0.0, hi: 1.0 }];

#[test]
fn the_precision_and_its_determinant_are_those_of_dense_matrices() {
    for (grid, shape) in grids().iter().zip(SHAPES) {
        for smoothness in [Smoothness::Two, Smoothness::Four] {
            let theta = theta(shape.len());
            let prior = Prior::new(grid, smoothness);
            let want = obvious_precision(shape, smoothness.alpha(), &theta, grid, &vec![0.0; grid.size()]);
            let got = prior.precision(&theta);
            assert!(largest_difference(&dense(&got), &want) < 1e-13, "{shape:?} {smoothness:?}");
            let mut root = want.clone();
            linalg::cholesky(&mut root).unwrap();
            close("log|Q|", prior.log_determinant(&theta), linalg::log_determinant(&root), 1e-9);
        }
    }
}

#[test]
fn with_a_scale_that_varies_they_are_those_of_dense_matrices_too() {
    for (grid, shape) in grids().iter().zip(SHAPES) {
        for smoothness in [Smoothness::Two, Smoothness::Four] {
            let (dims, prior) = (shape.len(), Prior::new(grid, smoothness));
            let theta = Theta { scale: scale(3, dims), ..theta(dims) };
            let mut s = vec![0.0; grid.size()];
            for node in nodes_of(shape) {
                let at = |r: usize| SPANS[r].lo + SPANS[r].length() * node[r] as f64 / (shape[r] - 1) as f64;
                let place: Vec<f64> = (0..dims).map(at).collect();
                s[grid.index(&node)] = obvious_log_scale(&theta, 3, &place);
            }
            let want = obvious_precision(shape, smoothness.alpha(), &theta, grid, &s);
            assert!(largest_difference(&dense(&prior.precision(&theta)), &want) < 1e-12, "{shape:?} {smoothness:?}");
            let mut root = want.clone();
            linalg::cholesky(&mut root).unwrap();
            close("log|Q|", prior.log_determinant(&theta), linalg::log_determinant(&root), 1e-9);
        }
    }
}

/// A scale of 1 at all knots is none: the prior, its log determinant and all slopes are those without one.
#[test]
fn a_scale_of_one_everywhere_changes_nothing() {
    for (grid, shape) in grids().iter().zip(SHAPES) {
        for smoothness in [Smoothness::Two, Smoothness::Four] {
            let (even, prior) = (theta(shape.len()), Prior::new(grid, smoothness));
            let ones = Theta { scale: vec![1.0; 4usize.pow(shape.len() as u32)], ..even.clone() };
            let (want, got) = (prior.precision(&even), prior.precision(&ones));
            assert!(largest_difference(&dense(&got), &dense(&want)) < 1e-12, "{shape:?} {smoothness:?}");
            assert_eq!(prior.log_determinant(&ones), prior.log_determinant(&even));
            let mean: Vec<f64> = (0..grid.size()).map(|i| (i as f64 * 1.3).sin()).collect();
            let [want, got] = [&even, &ones].map(|theta| prior.precision_slopes(theta, &want, &mean));
            close("range", got.log_range, want.log_range, 1e-12 * want.log_range.abs().max(1.0));
            close("variance", got.log_variance, want.log_variance, 1e-12 * want.log_variance.abs().max(1.0));
            for (got, want) in got.log_stretch.iter().zip(&want.log_stretch) {
                close("stretch", *got, *want, 1e-12 * want.abs().max(1.0));
            }
        }
    }
}

/// Variance of f in the middle of a lattice under the prior, and its covariance with f at other nodes of the first
/// axis.
fn prior_in_the_middle(nodes: &[usize], side: f64, smoothness: Smoothness, theta: &Theta) -> Vec<f64> {
    let spans = vec![Span { lo: 0.0, hi: side }; nodes.len()];
    let grid = Grid::new(&spans, nodes).unwrap();
    let middle: Vec<usize> = nodes.iter().map(|n| n / 2).collect();
    let mut column = vec![0.0; grid.size()];
    column[grid.index(&middle)] = 1.0;
    BandedFactor::new(&Prior::new(&grid, smoothness).precision(theta)).unwrap().solve(&mut column);
    (middle[0]..nodes[0]).map(|i| column[grid.index(&[&[i], &middle[1..]].concat())]).collect()
}

#[test]
fn far_from_the_border_the_prior_is_a_matern_process() {
    let theta =
        |stretch: &[f64]| Theta { range: 2.0, variance: 0.7, mean: 0.0, stretch: stretch.to_vec(), scale: vec![] };
    // On a line, α = 2 is Matérn 3/2.
    let (nodes, kappa) = (801, 12f64.sqrt() / 2.0);
    let covariance = prior_in_the_middle(&[nodes], 20.0, Smoothness::Two, &theta(&[1.0]));
    for (i, got) in covariance.iter().enumerate().take(200) {
        let way = kappa * 0.025 * i as f64;
        assert!((got - 0.7 * (1.0 + way) * (-way).exp()).abs() < 2e-4, "{i} {got}");
    }
    // On a plane a lattice of 16 steps a range adds a little variance: how much was summed over its eigenvectors
    // elsewhere. It falls with the square of the step.
    for (smoothness, stretch, more) in [
        (Smoothness::Two, [1.0, 1.0], 0.019087356141847),
        (Smoothness::Four, [1.0, 1.0], 0.006049497066145),
        (Smoothness::Two, [1.0, 0.5], 0.025468453462618),
        (Smoothness::Four, [1.3, 0.7], 0.006686708785187),
    ] {
        let found = prior_in_the_middle(&[81, 81], 10.0, smoothness, &theta(&stretch));
        let want = (1.0 + more) * 0.7 / (stretch[0] * stretch[1]).sqrt();
        close("variance", found[0], want, 1e-8);
        if stretch[0] == 1.0 {
            let correlation = found[16] / found[0]; // two units away: the range
            assert!((0.1..0.15).contains(&correlation), "{smoothness:?} {correlation}");
        }
    }
}

/// Θ from (log range, log variance, ū, log s), and back.
fn unpack(x: &[f64]) -> Theta {
    unpack_with_scale(x, x.len() - 3)
}

/// The same, with the logarithms of a scale after those of so many stretches.
fn unpack_with_scale(x: &[f64], dims: usize) -> Theta {
    let exp = |logs: &[f64]| logs.iter().map(|s| s.exp()).collect();
    let (stretch, scale) = (exp(&x[3..3 + dims]), exp(&x[3 + dims..]));
    Theta { range: x[0].exp(), variance: x[1].exp(), mean: x[2], stretch, scale }
}

fn pack(theta: &Theta) -> Vec<f64> {
    let mut x = vec![theta.range.ln(), theta.variance.ln(), theta.mean];
    x.extend(theta.stretch.iter().chain(&theta.scale).map(|s| s.ln()));
    x
}

#[test]
fn derivatives_of_the_precision_and_its_determinant() {
    for (grid, shape) in grids().iter().zip(SHAPES) {
        let dims = shape.len();
        let ways =
            [Smoothness::Two, Smoothness::Four].map(|smoothness| [(smoothness, vec![]), (smoothness, scale(3, dims))]);
        for (smoothness, scale) in ways.into_iter().flatten() {
            let (theta, prior) = (Theta { scale, ..theta(dims) }, Prior::new(grid, smoothness));
            let unpack = |x: &[f64]| unpack_with_scale(x, dims);
            let flat =
                |s: PriorSlopes| [&[s.log_range, s.log_variance, 0.0], &s.log_stretch[..], &s.log_scale[..]].concat();
            let slopes = flat(prior.log_determinant_slopes(&theta));
            let error = check_gradient(|x| prior.log_determinant(&unpack(x)), &pack(&theta), &slopes);
            assert!(error < 1e-8, "log|Q| {shape:?} {smoothness:?} {error:e}");
            // Any symmetric matrix in the place of S, and any mean.
            let precision = prior.precision(&theta);
            let mean: Vec<f64> = (0..grid.size()).map(|i| (i as f64 * 1.3).sin()).collect();
            let mut covariance = precision.clone();
            let other = Theta { range: 2.0 * theta.range, ..theta.clone() };
            covariance = add(&covariance, &prior.precision(&other));
            let value = |x: &[f64]| {
                let q = prior.precision(&unpack(x));
                q.trace_of_product(&covariance) + linalg::dot(&mean, &q.times(&mean))
            };
            let slopes = flat(prior.precision_slopes(&theta, &covariance, &mean));
            let error = check_gradient(value, &pack(&theta), &slopes);
            assert!(error < 1e-8, "Q {shape:?} {smoothness:?} {error:e}");
        }
    }
}

/// Two matrices with the same diagonals, one after the other: here only their being different matters.
fn add(a: &Diagonals, b: &Diagonals) -> Diagonals {
    let mut sum = a.clone();
    for place in 0..a.shifts().len() {
        let values: Vec<f64> = a.diagonal(place).iter().zip(b.diagonal(place)).map(|(a, b)| a + 0.3 * b).collect();
        sum.set_diagonal(place, &values);
    }
    sum
}

/// ∫ψ_iψ_j and ∫ψ_i by so many midpoints that only a coarse comparison is possible: nothing clever.
fn midpoints(grid: &Grid, window: &Window, side: usize) -> (Matrix, Vec<f64>, f64) {
    let spans = window.bounding_box();
    let counts = vec![side; spans.len()];
    let lo: Vec<f64> = spans.iter().map(|s| s.lo + 0.5 * s.length() / side as f64).collect();
    let hi: Vec<f64> = spans.iter().map(|s| s.hi - 0.5 * s.length() / side as f64).collect();
    let points = Points::grid(&lo, &hi, &counts);
    let weight = spans.iter().map(|s| s.length() / side as f64).product::<f64>();
    let hats = grid.at(&points).unwrap();
    let (mut square, mut linear, mut measure) = (Matrix::zeros(grid.size(), grid.size()), vec![0.0; grid.size()], 0.0);
    for (n, row) in points.rows().enumerate() {
        let weight = weight * window.coverage(row);
        measure += weight;
        for (i, a) in hats.pairs(n) {
            linear[i] += weight * a;
            hats.pairs(n).for_each(|(j, b)| square[(i, j)] += weight * a * b);
        }
    }
    (square, linear, measure)
}

#[test]
fn the_mass_is_what_midpoints_approach() {
    let exposure = Exposure::grid(vec![0], vec![vec![0.0, 0.7, 2.0]], vec![1.0, 3.0, 0.5]).unwrap();
    let interval = Window::trials(&[(0.0, 1.5), (0.5, 2.0)]).unwrap();
    let plane = Window::new(&[(0.1, 1.9), (1.2, 3.3)]).unwrap();
    let solid = Window::new(&[(0.1, 1.9), (1.2, 3.3), (0.2, 0.9)]).unwrap();
    let ring = vec![[0.1, 1.3], [1.8, 1.1], [1.4, 3.3], [0.9, 2.2]];
    let hole = vec![[0.9, 1.5], [1.3, 1.5], [1.1, 1.9]];
    let polygon = Window::inside(Polygons::new(vec![vec![ring, hole]]).unwrap());
    let prism = polygon.times(&Window::interval(0.2, 0.9).unwrap()).unwrap();
    let exposed = polygon.clone().with_exposure(exposure.clone()).unwrap();
    let values = (0..6).map(|n| 1.0 + 0.4 * n as f64).collect();
    let slanted = Exposure::grid(vec![0, 2], vec![vec![0.0, 0.7, 2.0], vec![0.0, 1.0]], values).unwrap();
    let cases = [
        (interval.clone(), vec![9], 4000, 1e-5),
        (interval.with_exposure(exposure).unwrap(), vec![9], 4000, 1e-5),
        (plane, vec![6, 9], 400, 1e-3),
        (solid.clone(), vec![4, 6, 3], 70, 1e-2),
        (solid.with_exposure(slanted).unwrap(), vec![4, 6, 3], 70, 1e-2),
        (polygon, vec![9, 6], 600, 2e-3),
        (exposed, vec![9, 6], 600, 2e-3),
        (prism, vec![6, 4, 5], 90, 3e-2),
    ];
    for (window, nodes, side, tolerance) in cases {
        let grid = Grid::around(&window, &nodes, &vec![0.13; nodes.len()]).unwrap();
        let mass = Mass::over(&grid, &window).unwrap();
        let (square, linear, measure) = midpoints(&grid, &window, side);
        assert!(largest_difference(&dense(&mass.square), &square) < tolerance, "{nodes:?}");
        let scale = linear.iter().fold(0.0, |s: f64, v| s.max(*v));
        (0..linear.len()).for_each(|i| assert!((mass.linear[i] - linear[i]).abs() < tolerance * scale, "{nodes:?}"));
        close("measure", mass.measure, measure, tolerance);
        // The hats sum to one: exact, however coarse the midpoints are.
        close("sum of hats", mass.linear.iter().sum(), mass.measure, 1e-13);
        let ones = vec![1.0; grid.size()];
        mass.square.times(&ones).iter().zip(&mass.linear).for_each(|(s, l)| close("rows", *s, *l, 1e-13));
        close("measure of the window", mass.measure, window.measure(), 1e-12);
    }
}

/// ∫ of a product of two hats of one axis over a span, cut at every line: the integrand is a parabola between them.
fn obvious_product(nodes: usize, whole: Span, span: Span, i: usize, j: Option<usize>) -> f64 {
    let step = whole.length() / (nodes - 1) as f64;
    let hat = |i: usize, x: f64| (1.0 - (x - whole.lo - i as f64 * step).abs() / step).max(0.0);
    let mut cuts: Vec<f64> = (0..nodes).map(|i| whole.lo + i as f64 * step).collect();
    cuts.retain(|x| span.lo < *x && *x < span.hi);
    cuts.extend([span.lo, span.hi]);
    cuts.sort_by(f64::total_cmp);
    let rule = GaussLegendre::new(3);
    let panel = |ends: &[f64]| -> f64 {
        rule.on(ends[0], ends[1]).map(|(x, w)| w * hat(i, x) * j.map_or(1.0, |j| hat(j, x))).sum()
    };
    cuts.windows(2).map(panel).sum()
}

#[test]
fn the_mass_of_a_box_is_a_product_of_axes() {
    for (grid, shape) in grids().iter().zip(SHAPES) {
        let dims = shape.len();
        let spans = [Span { lo: 0.11, hi: 1.9 }, Span { lo: 1.0, hi: 2.7 }, Span { lo: 0.2, hi: 0.9 }];
        let window = Window::new(&spans[..dims].iter().map(|s| (s.lo, s.hi)).collect::<Vec<_>>()).unwrap();
        let mass = Mass::over(grid, &window).unwrap();
        let all = nodes_of(shape);
        let product = |a: &[usize], b: Option<&[usize]>| -> f64 {
            let axis = |r: usize| obvious_product(shape[r], SPANS[r], spans[r], a[r], b.map(|b| b[r]));
            (0..dims).map(axis).product()
        };
        let mut want = Matrix::zeros(all.len(), all.len());
        for a in &all {
            close("∫ψ", mass.linear[grid.index(a)], product(a, None), 1e-14);
            all.iter().for_each(|b| want[(grid.index(a), grid.index(b))] = product(a, Some(b)));
        }
        assert!(largest_difference(&dense(&mass.square), &want) < 1e-13, "{shape:?}");
    }
}

/// Moments of a polygon by Green's theorem on the square of a linear function that lies in the span of the hats.
#[test]
fn the_mass_of_a_polygon_integrates_linear_functions_exactly() {
    let ring = vec![[0.1, 1.3], [1.8, 1.1], [1.4, 3.3], [0.9, 2.2]];
    let window = Window::inside(Polygons::new(vec![vec![ring.clone()]]).unwrap());
    let grid = Grid::around(&window, &[7, 5], &[0.2, 0.1]).unwrap();
    let mass = Mass::over(&grid, &window).unwrap();
    // The coefficients of f = x: the coordinates of the nodes.
    let lo: Vec<f64> = window.bounding_box().iter().zip([0.2, 0.1]).map(|(s, m)| s.lo - m).collect();
    let hi: Vec<f64> = window.bounding_box().iter().zip([0.2, 0.1]).map(|(s, m)| s.hi + m).collect();
    let nodes = Points::grid(&lo, &hi, &[7, 5]);
    let (mut x, mut y) = (vec![0.0; 35], vec![0.0; 35]);
    for (at, node) in nodes.rows().zip(nodes_of(&[7, 5])) {
        (x[grid.index(&node)], y[grid.index(&node)]) = (at[0], at[1]);
    }
    let (mut xx, mut xy) = (0.0, 0.0);
    for (a, b) in ring.iter().zip(ring.iter().cycle().skip(1)) {
        let cross = a[0] * b[1] - b[0] * a[1];
        xx += cross * (a[0] * a[0] + a[0] * b[0] + b[0] * b[0]) / 12.0;
        xy += cross * (a[0] * b[1] + 2.0 * a[0] * a[1] + 2.0 * b[0] * b[1] + b[0] * a[1]) / 24.0;
    }
    close("∫x²", linalg::dot(&x, &mass.square.times(&x)), xx, 1e-13);
    close("∫xy", linalg::dot(&x, &mass.square.times(&y)), xy, 1e-13);
}

// ---------------------------------------------------------------------------------------------------------------------
// The optimum of q
// ---------------------------------------------------------------------------------------------------------------------

/// Events of no special place in a box, denser at its lower end.
fn scattered(window: &Window, count: usize) -> Points {
    let spans = window.bounding_box();
    let place = |n: usize, r: usize| ((n as f64 + 0.5) * [0.618_034, 0.754_878, 0.569_840][r]).fract().powf(1.4);
    let row = |n: usize| (0..spans.len()).map(move |r| (n, r));
    let coordinates = (0..count).flat_map(row).map(|(n, r)| spans[r].lo + spans[r].length() * place(n, r)).collect();
    Points::new(spans.len(), coordinates).unwrap()
}

#[test]
fn the_envelope_gradient() {
    let cases: [(Window, &[usize], Smoothness); 4] = [
        (Window::interval(0.0, 3.0).unwrap(), &[25], Smoothness::Four),
        (Window::new(&[(0.0, 3.0), (0.0, 2.0)]).unwrap(), &[12, 9], Smoothness::Two),
        (Window::new(&[(0.0, 3.0), (0.0, 2.0)]).unwrap(), &[8, 11], Smoothness::Four),
        (Window::new(&[(0.0, 3.0), (0.0, 2.0), (0.0, 1.0)]).unwrap(), &[6, 5, 4], Smoothness::Two),
    ];
    for (window, nodes, smoothness) in cases {
        let dims = nodes.len();
        let events = scattered(&window, 40);
        let lattice = Lattice::new(&window, nodes, &vec![0.3; dims], smoothness).unwrap();
        let level = (40.0 / window.measure()).sqrt();
        let theta = Theta { mean: level, variance: 0.2 * level * level, ..theta(dims) };
        let found = optimum(&lattice, &events, &theta);
        let slopes = found.slopes();
        let gradient = [&[slopes.log_range, slopes.log_variance, slopes.mean], &slopes.log_stretch[..]].concat();
        let error = check_gradient(|x| optimum(&lattice, &events, &unpack(x)).bound, &pack(&theta), &gradient);
        assert!(error < 1e-6, "{nodes:?} {smoothness:?} {error:e}");
    }
}

#[test]
fn one_region_in_three_shapes_has_one_bound() {
    let whole = Window::new(&[(0.0, 3.0), (0.0, 2.0)]).unwrap();
    let [left, right] = [(0.0, 1.1), (1.1, 3.0)].map(|x| Window::new(&[x, (0.0, 2.0)]).unwrap());
    let halves = Window::union(&[left, right]).unwrap();
    let ring = vec![[0.0, 0.0], [3.0, 0.0], [3.0, 0.7], [3.0, 2.0], [0.0, 2.0]];
    let polygon = Window::inside(Polygons::new(vec![vec![ring]]).unwrap());
    let events = scattered(&whole, 60);
    let theta = Theta { mean: 3.0, variance: 2.0, ..theta(2) };
    let bound = |window: &Window| {
        let lattice = Lattice::new(window, &[14, 10], &[0.3, 0.3], Smoothness::Two).unwrap();
        let found = optimum(&lattice, &events, &theta);
        (found.bound, found.expected(lattice.region()))
    };
    let (want, integral) = bound(&whole);
    for other in [halves, polygon] {
        let got = bound(&other);
        close("bound", got.0, want, 1e-9);
        close("integral", got.1, integral, 1e-9);
    }
}

#[test]
fn an_event_of_weight_two_is_two_events_and_repeats_are_weights() {
    let window = Window::interval(0.0, 3.0).unwrap();
    let twice = Window::trials(&[(0.0, 3.0), (0.0, 3.0)]).unwrap();
    let events = scattered(&window, 30);
    let doubled = Points::new(1, [events.coordinates(), events.coordinates()].concat()).unwrap();
    let lattice = Lattice::new(&twice, &[30], &[0.3], Smoothness::Two).unwrap();
    let theta = Theta { mean: 3.0, variance: 2.0, ..theta(1) };
    let want = optimum(&lattice, &doubled, &theta);
    let got = lattice.maximise(&events, &[2.0; 30], &theta, Start::Flat(theta.mean), (1e-12, 100)).unwrap();
    close("bound", got.bound, want.bound, 1e-10);
    // At the optimum f could be anything times one factor: the expected number of events is about that of the events.
    close("integral", got.expected(lattice.region()), 60.0, 0.05);
}

#[test]
fn the_same_bits_on_one_and_two_threads() {
    let window = Window::new(&[(0.0, 3.0), (0.0, 2.0)]).unwrap();
    let events = scattered(&window, 30_000); // enough for threads to be used
    let lattice = Lattice::new(&window, &[80, 40], &[0.3, 0.3], Smoothness::Two).unwrap(); // so are its blocks
    let level = (events.len() as f64 / window.measure()).sqrt();
    let theta = Theta { mean: level, variance: level * level, ..theta(2) };
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            lattice.maximise(&events, &vec![1.0; events.len()], &theta, Start::Flat(level), (1e-6, 50)).unwrap()
        })
    };
    let (one, two) = (run(1), run(2));
    assert_eq!(one.bound.to_bits(), two.bound.to_bits());
    assert_eq!(one.mean, two.mean);
    assert_eq!(one.covariance(), two.covariance());
    assert_eq!(one.slopes(), two.slopes());
}

/// Everything that a natural step gives, by the band and by nested dissection.
#[test]
fn both_orders_of_elimination_lead_to_the_same_q() {
    let shapes: [(&[usize], Smoothness, Link); 5] = [
        (&[31, 22], Smoothness::Two, Link::Square),
        (&[29, 40], Smoothness::Two, Link::Log),
        (&[26, 21], Smoothness::Four, Link::Square),
        (&[11, 8, 9], Smoothness::Two, Link::Square),
        (&[7, 13, 6], Smoothness::Two, Link::Log),
    ];
    for (nodes, smoothness, link) in shapes {
        let dims = nodes.len();
        let window = Window::new(&vec![(0.0, 1.0); dims]).unwrap();
        let events = scattered(&window, 150);
        let level = if link == Link::Square { 12.0 } else { 5.0 };
        let theta = Theta { mean: level, variance: 0.2 * level, ..theta(dims) };
        let run = |elimination: Elimination, threads: usize| {
            let lattice = Lattice::new(&window, nodes, &vec![0.15; dims], smoothness).unwrap();
            let lattice = lattice.with_elimination(elimination);
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| lattice.maximise_linked(link, &window, &events, &theta, (0.0, 4))).unwrap()
        };
        let (band, dissected) = (run(Elimination::Band, 1), run(Elimination::Dissection, 1));
        let what = format!("{nodes:?} {smoothness:?} {link:?}");
        // As many steps: where they end by themselves is a matter of rounding.
        assert_eq!((band.evaluations, dissected.evaluations), (4, 4), "{what}");
        close(&format!("bound, {what}"), dissected.bound, band.bound, 1e-10);
        let scale = band.mean.iter().fold(0.0, |most: f64, v| most.max(v.abs()));
        band.mean
            .iter()
            .zip(&dissected.mean)
            .for_each(|(a, b)| assert!((a - b).abs() < 1e-8 * scale, "{what}: {a} {b}"));
        let (a, b) = (band.slopes(), dissected.slopes());
        close(&format!("by log range, {what}"), b.log_range, a.log_range, 1e-7);
        close(&format!("by log variance, {what}"), b.log_variance, a.log_variance, 1e-7);
        (0..dims).for_each(|r| close(&format!("by stretch, {what}"), b.log_stretch[r], a.log_stretch[r], 1e-7));
        let hats = Grid::around(&window, nodes, &vec![0.15; dims]).unwrap().at(&events).unwrap();
        let (a, b) = (band.marginals(&hats), dissected.marginals(&hats));
        a.variance.iter().zip(&b.variance).for_each(|(a, b)| close(&format!("variance, {what}"), *b, *a, 1e-8));
        for threads in [2, 4] {
            let again = run(Elimination::Dissection, threads);
            assert_eq!(again.mean, dissected.mean, "{what} on {threads} threads");
            assert_eq!(again.bound.to_bits(), dissected.bound.to_bits(), "{what} on {threads} threads");
        }
    }
}

#[test]
fn draws_have_the_covariance_of_q() {
    // L⁻ᵀ applied to unit vectors gives columns R with R Rᵀ = S.
    let window = Window::new(&[(0.0, 3.0), (0.0, 2.0)]).unwrap();
    let lattice = Lattice::new(&window, &[8, 6], &[0.3, 0.3], Smoothness::Two).unwrap();
    let theta = Theta { mean: 3.0, variance: 2.0, ..theta(2) };
    let events = scattered(&window, 50);
    let found = optimum(&lattice, &events, &theta);
    let mut precision = lattice.prior().precision(&theta);
    precision.add_scaled(2.0, &lattice.region().square.inner);
    lattice.grid().at(&events).unwrap().add_squares(&mut precision, |n| found.sites.precision()[n]);
    let (size, factor) = (lattice.grid().size(), BandedFactor::new(&precision).unwrap());
    let mut sums = Matrix::zeros(size, size);
    for j in 0..size {
        let mut draw: Vec<f64> = (0..size).map(|i| if i == j { 1.0 } else { 0.0 }).collect();
        factor.solve_lower_transposed(&mut draw);
        (0..size).for_each(|i| linalg::add_scaled(sums.col_mut(i), draw[i], &draw));
    }
    let covariance = found.covariance();
    for &shift in covariance.shifts() {
        for i in 0..size - shift {
            close("covariance", covariance.entry(i, i + shift), sums[(i, i + shift)], 1e-11);
        }
    }
}

#[test]
fn what_is_no_lattice_or_no_theta_is_refused() {
    let window = Window::interval(0.0, 3.0).unwrap();
    assert!(Lattice::new(&window, &[10, 10], &[0.1], Smoothness::Two).is_err());
    let lattice = Lattice::new(&window, &[10], &[0.1], Smoothness::Two).unwrap();
    let events = scattered(&window, 5);
    let fit = |theta: &Theta, weights: &[f64]| {
        lattice.maximise(&events, weights, theta, Start::Flat(1.0), (1e-6, 50)).is_ok()
    };
    assert!(fit(&theta(1), &[1.0; 5]));
    assert!(!fit(&theta(1), &[1.0; 4]));
    assert!(!fit(&theta(2), &[1.0; 5]));
    assert!(!fit(&Theta { range: -1.0, ..theta(1) }, &[1.0; 5]));
    assert!(!fit(&Theta { variance: f64::NAN, ..theta(1) }, &[1.0; 5]));
}

/// Long ranges cost digits of the factor, most of all for α = 4, where the search stays below 80 steps of the lattice.
#[test]
fn log_determinants_keep_their_digits_where_the_search_goes() {
    let window = Window::new(&[(0.0, 1.5), (0.0, 1.0)]).unwrap();
    for (smoothness, steps, digits) in [
        (Smoothness::Two, 20.0, 1e-8),
        (Smoothness::Two, 320.0, 1e-5),
        (Smoothness::Four, 20.0, 1e-5),
        (Smoothness::Four, 80.0, 1e-2),
    ] {
        let grid = Grid::around(&window, &[91, 61], &[0.0, 0.0]).unwrap();
        let prior = Prior::new(&grid, smoothness);
        let theta = Theta { range: steps / 60.0, variance: 1.0, mean: 1.0, stretch: vec![1.0; 2], scale: vec![] };
        let by_factor = BandedFactor::new(&prior.precision(&theta)).unwrap().log_determinant();
        let difference = by_factor - prior.log_determinant(&theta);
        assert!(difference.abs() < digits, "{smoothness:?}, a range of {steps} steps: {difference}");
    }
}
