//! `cargo bench -p pointillist --bench scale [-- --data DIR]`: what events, inducing points and nodes cost. The events are drawn from a ramp and
//! three bumps. With a directory of data (an absolute path) it says instead how far fits of summaries are from fits of the events themselves.

use pointillist::field::inducing::Hyper;
use pointillist::numerics::linalg::{self, Matrix};
use pointillist::settings::{Inducing, Smoothness};
use pointillist::{Events, Fit, Kernel, LatticeChoice, Model, Points, Summary, Window};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use std::hint::black_box;
use std::time::Instant;

const MILLION: usize = 1_000_000;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    // `cargo test` runs benches too, as a check that they build.
    if !arguments.iter().any(|argument| argument == "--bench") {
        return;
    }
    if let Some(at) = arguments.iter().position(|argument| argument == "--data") {
        return errors(&arguments[at + 1]);
    }
    let largest = drawn(10 * MILLION);
    pass(&largest);
    step();
    numbers_of_events(&largest);
    unknowns(&part(&largest, MILLION));
}

fn seconds<R>(work: impl FnOnce() -> R) -> (f64, R) {
    let started = Instant::now();
    let result = work();
    (started.elapsed().as_secs_f64(), result)
}

fn unit() -> Window {
    Window::new(&[(0.0, 1.0), (0.0, 1.0)]).unwrap()
}

/// Events on the unit square: a ramp and three bumps.
fn drawn(count: usize) -> Points {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let rate = |x: f64, y: f64| {
        let bump = |a: f64, b: f64, s: f64| (-((x - a).powi(2) + (y - b).powi(2)) / (2.0 * s * s)).exp();
        0.1 + 0.17 * x + 0.67 * bump(0.3, 0.3, 0.08) + 0.5 * bump(0.7, 0.6, 0.12) + 0.4 * bump(0.2, 0.8, 0.05)
    };
    let mut coordinates = Vec::with_capacity(2 * count);
    while coordinates.len() < 2 * count {
        let [x, y, u]: [f64; 3] = std::array::from_fn(|_| rng.random());
        if u < rate(x, y) {
            coordinates.extend([x, y]);
        }
    }
    Points::new(2, coordinates).unwrap()
}

fn part(points: &Points, count: usize) -> Points {
    Points::new(2, points.coordinates()[..2 * count].to_vec()).unwrap()
}

fn summary(points: &Points, cells: usize) -> Summary {
    let mut summary = Summary::new(&unit(), &[cells, cells]).unwrap();
    summary.add(points).unwrap();
    summary
}

/// The pass over the events beside the least that reading them as text costs: telling lines and numbers apart.
fn pass(points: &Points) {
    let count = points.len();
    let text: Vec<String> = (points.coordinates().chunks(2 << 18))
        .map(|rows| rows.chunks(2).map(|row| format!("{:.9},{:.9}\n", row[0], row[1])).collect())
        .collect();
    let parse = |block: &String| -> f64 {
        let fields = block.lines().flat_map(|line| line.split(','));
        fields.map(|field| field.parse::<f64>().unwrap()).sum()
    };
    let (parsing, _) = seconds(|| black_box(text.par_iter().map(parse).sum::<f64>()));
    println!("| the pass over {count} events in memory | seconds | million events a second | of parsing them as CSV |");
    println!("|---|---|---|---|");
    println!("| parsing CSV, lines and numbers alone | {parsing:.2} | {:.1} | 1 |", 1e-6 * count as f64 / parsing);
    for cells in [64, 720] {
        let (taken, _) = seconds(|| black_box(summary(points, cells)));
        let rate = 1e-6 * count as f64 / taken;
        println!("| {cells}×{cells} cells | {taken:.2} | {rate:.1} | {:.2} |", taken / parsing);
    }
}

/// A natural step at 50×50 beside one Cholesky factor and inverse of that size, both on one thread.
fn step() {
    let one_thread = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let summary = summary(&drawn(MILLION), 720);
    let hyper = Hyper { kernel: Kernel::squared_exponential(3e4 / 0.3, &[0.1, 0.1]).unwrap(), mean: 800.0 };
    println!("\n| a natural step, one thread | Cholesky and inverse | step | ratio |\n|---|---|---|---|");
    for side in [32, 50] {
        let model = Model { family: Inducing::Grid(vec![side, side]).into(), ..Model::of_maximum_likelihood() };
        let steps = |most: usize| {
            let run = || model.bound_at_fixed(&summary, &hyper, most).unwrap().1;
            (0..3).map(|_| seconds(run)).fold((f64::INFINITY, 0), |best, now| if now.0 < best.0 { now } else { best })
        };
        one_thread.install(|| {
            let (few, many) = (steps(1), steps(6));
            let step = (many.0 - few.0) / (many.1 - few.1) as f64;
            let bare = (0..3).map(|_| seconds(|| bare(side * side)).0).fold(f64::INFINITY, f64::min);
            println!("| {side}×{side} points | {:.1} ms | {:.1} ms | {:.2} |", 1e3 * bare, 1e3 * step, step / bare);
        });
    }
}

fn bare(size: usize) {
    let mut matrix =
        Matrix::from_fn(size, size, |i, j| if i == j { 2.0 } else { 1.0 / (1.0 + i.abs_diff(j) as f64).powi(2) });
    linalg::cholesky(&mut matrix).unwrap();
    black_box(linalg::inverse_from_cholesky(&matrix));
}

fn grid(side: usize) -> Model {
    Model { family: Inducing::Grid(vec![side, side]).into(), ..Model::of_maximum_likelihood() }
}

fn lattice(side: usize) -> Model {
    let nodes = Some(vec![side, side]);
    let lattice = LatticeChoice { nodes, smoothness: Some(Smoothness::Two), ..LatticeChoice::default() };
    Model { family: lattice.into(), ..Model::default() }
}

/// Fits of more and more events after the pass, on the same grid and lattice.
fn numbers_of_events(points: &Points) {
    for (name, model) in [("20×20 inducing points", grid(20)), ("100×100 nodes", lattice(100))] {
        println!("\n| {name}: events | the pass, s | the fit, s | natural steps | bound | error by the summary |");
        println!("|---|---|---|---|---|---|");
        let mut times = vec![];
        for power in 2..=7 {
            let events = part(points, 10usize.pow(power));
            let (pass, summary) = seconds(|| summary(&events, 720));
            let runs = (0..3).map(|_| seconds(|| model.fit_summary(&summary).unwrap()));
            let (taken, fit) = runs.min_by(|a, b| a.0.total_cmp(&b.0)).unwrap();
            times.push(taken);
            row(&format!("10^{power}"), pass, taken, &fit);
        }
        println!("fit of 10^7 events against 10^5: {:.2} times the time", times[5] / times[3]);
    }
}

fn row(name: &str, pass: f64, taken: f64, fit: &Fit) {
    let report = &fit.report;
    let error = report.summarised.as_ref().map_or("events one by one".into(), |s| format!("{:.1e}", s.error));
    let (bound, steps) = (report.bound.total(), report.evaluations);
    println!("| {name} | {pass:.3} | {taken:.3} | {steps} | {bound:.3} | {error} |");
}

/// Fits with more and more unknowns, to the same events.
fn unknowns(points: &Points) {
    let summary = summary(points, 720);
    println!("\n| {} events: unknowns | seconds | natural steps | bound |\n|---|---|---|---|", points.len());
    let grids = [3, 10, 20, 32, 50].map(|side| (format!("{side}×{side} inducing points"), grid(side)));
    let lattices = [10, 32, 100, 200, 316].map(|side| (format!("{side}×{side} nodes"), lattice(side)));
    for (name, model) in grids.into_iter().chain(lattices) {
        let (taken, fit) = seconds(|| model.fit_summary(&summary).unwrap());
        let (bound, steps) = (fit.report.bound.total(), fit.report.evaluations);
        println!("| {name} | {taken:.2} | {steps} | {bound:.1} |");
    }
}

/// The data term at the q of a summary, by the summary and by the events.
fn errors(folder: &str) {
    println!(
        "\n| a fit of a summary | events | bound | that of the events at its q | difference | of the data term | said |"
    );
    println!("|---|---|---|---|---|---|---|");
    let coal = columns(&format!("{folder}/coal/coal.csv"), &[0]);
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let (lo, hi) = (1851.2026009582, 1962.2197125257);
    let jittered = coal.iter().flat_map(|x| (0..1000).map(|_| x + rng.random_range(-0.5..0.5)).collect::<Vec<_>>());
    let jittered: Vec<f64> = jittered.map(|x| x.clamp(lo, hi)).collect();
    let line = Window::interval(lo, hi).unwrap();
    error("coal ×1000, jittered, 31 points", Points::line(&jittered).unwrap(), line, &Inducing::Grid(vec![31]));
    for (name, file, at) in [
        ("quakes_global, 20×20", "quakes_global/quakes_global.csv", [1, 2]),
        ("uk_accidents, 20×20", "uk_accidents/uk_accidents.csv", [0, 1]),
    ] {
        let points = Points::new(2, columns(&format!("{folder}/{file}"), &at)).unwrap();
        let ends = |r: usize| points.axis(r).iter().fold((f64::MAX, f64::MIN), |(lo, hi), x| (lo.min(*x), hi.max(*x)));
        let window = Window::new(&[ends(0), ends(1)]).unwrap();
        error(name, points, window, &Inducing::Grid(vec![20, 20]));
    }
}

fn error(name: &str, points: Points, window: Window, inducing: &Inducing) {
    let events = Events::new(points, window).unwrap();
    let fit = Model { family: inducing.clone().into(), ..Model::of_maximum_likelihood() }.fit(&events).unwrap();
    let said = fit.report.summarised.as_ref().map_or(0.0, |summarised| summarised.error);
    let ours = fit.report.bound.log_rate;
    let blocks = events.points().coordinates().chunks(10_000 * events.points().dims());
    let of_block = |rows: &[f64]| {
        let points = Points::new(events.points().dims(), rows.to_vec()).unwrap();
        fit.posterior.expected_log_rate(&points).unwrap().iter().sum::<f64>()
    };
    let raw: f64 = blocks.map(of_block).sum();
    let bound = fit.report.bound.total();
    let unit_data_term = ours + events.len() as f64 * events.window().measure().ln();
    println!(
        "| {name} | {} | {bound:.4} | {:.4} | {:.1e} | {:.1e} | {:.1e} |",
        events.len(),
        bound + raw - ours,
        raw - ours,
        (raw - ours).abs() / unit_data_term.abs(),
        said / unit_data_term.abs()
    );
}

/// Columns of a CSV file with a header, row after row.
fn columns(path: &str, at: &[usize]) -> Vec<f64> {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let row = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        at.iter().map(|i| fields[*i].parse::<f64>().unwrap()).collect::<Vec<f64>>()
    };
    text.lines().filter(|line| !line.starts_with('#')).skip(1).flat_map(row).collect()
}
