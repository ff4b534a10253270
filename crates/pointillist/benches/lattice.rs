//! `cargo bench -p pointillist --bench lattice`: what a natural step on a lattice costs beside the bare operations on blocks, on one thread,
//! and what whole fits cost in seconds and memory, on all cores. Events are draws from the prior, whose Θ is learned anew.

use pointillist::field::lattice::{Lattice, Start, Theta};
use pointillist::numerics::linalg::{self, Matrix};
use pointillist::settings::Smoothness;
use pointillist::testing::Drawn;
use pointillist::{Events, LatticeChoice, Model, Points, Window};
use std::time::Instant;

fn main() {
    // `cargo test` runs benches too, as a check that they build.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    println!("| a natural step, one thread | bare blocks | step | ratio |\n|---|---|---|---|");
    let steps: [(&[usize], Smoothness); 4] = [
        (&[110, 55], Smoothness::Two),
        (&[110, 55], Smoothness::Four),
        (&[200, 200], Smoothness::Two),
        (&[40, 20, 12], Smoothness::Two),
    ];
    let one_thread = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    one_thread.install(|| steps.iter().for_each(|(nodes, smoothness)| one_step(nodes, *smoothness)));
    println!("\n| a fit, everything learned | events | seconds | peak memory | natural steps |\n|---|---|---|---|---|");
    fit(&[110, 55], &[0.15, 0.25], 2_000.0);
    fit(&[200, 200], &[0.05, 0.08], 1e6);
    fit(&[316, 316], &[0.05, 0.08], 1e6);
    fit(&[100_000], &[0.001], 1e6);
    fit(&[30, 30, 30], &[0.3, 0.4, 0.3], 20_000.0);
}

fn describe(nodes: &[usize]) -> String {
    nodes.iter().map(usize::to_string).collect::<Vec<_>>().join("×")
}

fn least(runs: usize, seconds: impl Fn() -> f64) -> f64 {
    (0..runs).map(|_| seconds()).fold(f64::INFINITY, f64::min)
}

/// One natural step with 10,000 events: the difference of four steps and one, a third of it.
fn one_step(nodes: &[usize], smoothness: Smoothness) {
    let dims = nodes.len();
    let window = Window::new(&vec![(0.0, 1.0); dims]).unwrap();
    let places = |n: usize| (0..dims).map(move |r| (0.5 + [0.754878, 0.569840, 0.430160][r] * n as f64).fract());
    let events = Points::new(dims, (0..10_000).flat_map(places).collect()).unwrap();
    let lattice = Lattice::new(&window, nodes, &vec![0.1; dims], smoothness).unwrap();
    let theta = Theta { range: 0.2, variance: 1e4, mean: 100.0, stretch: vec![1.0; dims] };
    let seconds = |steps: usize| {
        let start = Instant::now();
        lattice.maximise(&events, &vec![1.0; events.len()], &theta, Start::Flat(100.0), (0.0, steps)).unwrap();
        start.elapsed().as_secs_f64()
    };
    let step = (least(3, || seconds(4)) - least(3, || seconds(1))) / 3.0;
    let total: usize = nodes.iter().product();
    let block = smoothness.alpha() * total / nodes.iter().max().unwrap();
    let bare = least(3, || bare_blocks(block, total.div_ceil(block)));
    let alpha = smoothness.alpha();
    println!(
        "| {}, smoothness {alpha} | {:.1} ms | {:.1} ms | {:.2} |",
        describe(nodes),
        1e3 * bare,
        1e3 * step,
        step / bare
    );
}

/// The bare operations on blocks that one natural step needs: seconds for `count` blocks.
fn bare_blocks(block: usize, count: usize) -> f64 {
    let lower = |i: usize, j: usize| if i > j { 0.3 / (1 + i - j) as f64 } else { 0.0 };
    let precision = Matrix::from_fn(block, block, |i, j| if i == j { 4.0 } else { lower(i, j) + lower(j, i) });
    let coupling = Matrix::from_fn(block, block, |i, j| if i >= j { 0.1 / (1 + i - j) as f64 } else { 0.0 });
    let [mut later, mut inverse, mut t, mut product] = [0; 4].map(|_| Matrix::zeros(block, block));
    let start = Instant::now();
    for _ in 0..count {
        let (mut root, mut link) = (precision.clone(), coupling.clone());
        linalg::add_lower_gram(&mut root, -1.0, &coupling);
        linalg::cholesky(&mut root).unwrap();
        linalg::solve_lower_for_lower(&root, &mut link);
        let root = linalg::inverse_lower(&root);
        linalg::lower_gram_into(&root, &mut inverse);
        linalg::lower_transposed_product_into(&link, &root, &mut t);
        linalg::product_columns(&later, t.data(), product.data_mut());
        linalg::add_transposed_product_lower(&mut inverse, &t, &product);
        inverse.mirror_lower();
        std::mem::swap(&mut later, &mut inverse);
    }
    start.elapsed().as_secs_f64()
}

/// A fit to about so many events of a rate with these ranges.
fn fit(nodes: &[usize], ranges: &[f64], events: f64) {
    let own: &[usize] = [&[100_000][..], &[300, 300], &[24, 24, 24]][nodes.len() - 1];
    let drawn = Drawn::new(own, ranges, 0.3, events, Smoothness::Two, 11).unwrap();
    let window = Window::new(&vec![(0.0, 1.0); nodes.len()]).unwrap();
    let events = Events::new(drawn.events, window).unwrap();
    let lattice =
        LatticeChoice { nodes: Some(nodes.to_vec()), smoothness: Some(Smoothness::Two), ..LatticeChoice::default() };
    let model = Model { family: lattice.into(), ..Model::default() };
    let _ = std::fs::write("/proc/self/clear_refs", "5"); // the peak begins anew
    let start = Instant::now();
    let fit = model.fit(&events).unwrap();
    let (seconds, peak) = (start.elapsed().as_secs_f64(), peak_memory().unwrap_or(f64::NAN));
    let (nodes, steps) = (describe(nodes), fit.report.evaluations);
    println!("| {nodes} | {} | {seconds:.2} | {peak:.2} GB | {steps} |", events.len());
}

/// The most memory that was held, in GB, where the system tells (Linux).
fn peak_memory() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    Some(1.024e-6 * line.split_whitespace().nth(1)?.parse::<f64>().ok()?)
}
