//! `cargo bench -p pointillist --bench lattice`: what a natural step on a lattice costs by the band, beside the bare operations on blocks (one
//! thread); by nested dissection, beside the band and beside its products alone (all cores), up to a million nodes; and what whole fits cost in
//! seconds and memory. Events are draws from the prior, whose Θ is learned anew. With `--steps` without the fits. The time of a step by number of
//! nodes is drawn in target/lattice.svg.

use pointillist::field::lattice::{Elimination, Lattice, Theta};
use pointillist::numerics::linalg::{self, Matrix};
use pointillist::settings::Smoothness;
use pointillist::testing::Drawn;
use pointillist::{Events, LatticeChoice, Link, Model, Points, Window};
use pointillist_plot::{ChartFigure, Series, Stroke};
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
    println!("\n| a natural step, all cores | band | dissection | ratio |\n|---|---|---|---|");
    let shapes: [(&[usize], Smoothness, Link); 7] = [
        (&[40, 40], Smoothness::Two, Link::Square),
        (&[110, 55], Smoothness::Two, Link::Square),
        (&[110, 55], Smoothness::Four, Link::Square),
        (&[200, 200], Smoothness::Two, Link::Square),
        (&[316, 316], Smoothness::Two, Link::Square),
        (&[316, 316], Smoothness::Two, Link::Log),
        (&[24, 24, 24], Smoothness::Two, Link::Square),
    ];
    shapes.iter().for_each(|(nodes, smoothness, link)| side_by_side(nodes, *smoothness, *link));
    by_nodes();
    println!(
        "\n| one step by dissection | products and sums | at the speed of products | step | ratio | peak memory |\n|---|---|---|---|---|---|"
    );
    beside_its_products(&[600, 600]);
    beside_its_products(&[1000, 1000]);
    beside_its_products(&[50, 50, 50]);
    if std::env::args().any(|argument| argument == "--steps") {
        return;
    }
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

/// Natural steps with 10,000 events.
struct Steps {
    lattice: Lattice,
    window: Window,
    events: Points,
    theta: Theta,
    link: Link,
}

impl Steps {
    fn new(nodes: &[usize], smoothness: Smoothness, link: Link, elimination: Elimination) -> Self {
        let dims = nodes.len();
        let window = Window::new(&vec![(0.0, 1.0); dims]).unwrap();
        let places = |n: usize| (0..dims).map(move |r| (0.5 + [0.754878, 0.569840, 0.430160][r] * n as f64).fract());
        let events = Points::new(dims, (0..10_000).flat_map(places).collect()).unwrap();
        let lattice = Lattice::new(&window, nodes, &vec![0.1; dims], smoothness).unwrap().with_elimination(elimination);
        let (variance, mean) = if link == Link::Square { (1e4, 100.0) } else { (1.0, 10_000f64.ln()) };
        Self {
            lattice,
            window,
            events,
            theta: Theta { range: 0.2, variance, mean, stretch: vec![1.0; dims], scale: vec![] },
            link,
        }
    }

    /// Seconds for so many steps, and what is done once.
    fn seconds(&self, count: usize) -> f64 {
        let start = Instant::now();
        let run = self.lattice.maximise_linked(self.link, &self.window, &self.events, &self.theta, (0.0, count));
        assert_eq!(run.unwrap().evaluations, count);
        start.elapsed().as_secs_f64()
    }

    /// Seconds for one step: the difference of two and one.
    fn one(&self, runs: usize) -> f64 {
        least(runs, || self.seconds(2)) - least(runs, || self.seconds(1))
    }
}

/// A step by the band beside its bare blocks, on one thread.
fn one_step(nodes: &[usize], smoothness: Smoothness) {
    let step = Steps::new(nodes, smoothness, Link::Square, Elimination::Band).one(3);
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

/// A step by the band and by dissection.
fn side_by_side(nodes: &[usize], smoothness: Smoothness, link: Link) {
    let runs = if nodes.iter().product::<usize>() > 20_000 { 2 } else { 20 };
    let of = |elimination| Steps::new(nodes, smoothness, link, elimination);
    let (band, dissection) = (of(Elimination::Band), of(Elimination::Dissection));
    // One after the other, so that both see the same machine.
    let mut times = [[f64::INFINITY; 2]; 2];
    for _ in 0..runs {
        for (steps, times) in [&band, &dissection].iter().zip(&mut times) {
            (0..2).for_each(|k| times[k] = times[k].min(steps.seconds(k + 1)));
        }
    }
    let [band, dissection] = times.map(|[one, two]| two - one);
    let (alpha, link) = (smoothness.alpha(), if link == Link::Square { "square" } else { "log" });
    println!(
        "| {}, smoothness {alpha}, {link} | {:.1} ms | {:.1} ms | {:.1} |",
        describe(nodes),
        1e3 * band,
        1e3 * dissection,
        band / dissection
    );
}

/// A step by dissection on square lattices from 10⁴ to 10⁶ nodes, the slope of its time, and a picture.
fn by_nodes() {
    println!(
        "\n| a natural step by dissection, all cores | nodes | seconds | microseconds per node |\n|---|---|---|---|"
    );
    let (mut nodes, mut logs) = (vec![], vec![]);
    for side in [100, 178, 316, 562, 1000] {
        let steps = Steps::new(&[side, side], Smoothness::Two, Link::Square, Elimination::Dissection);
        let (count, seconds) = ((side * side) as f64, steps.one(if side < 500 { 5 } else { 2 }));
        println!("| {side}×{side} | {count} | {seconds:.3} | {:.2} |", 1e6 * seconds / count);
        nodes.push(count.log10());
        logs.push(seconds.log10());
    }
    let mean = |list: &[f64]| list.iter().sum::<f64>() / list.len() as f64;
    let (x, y) = (mean(&nodes), mean(&logs));
    let both: f64 = nodes.iter().zip(&logs).map(|(a, b)| (a - x) * (b - y)).sum();
    let slope = both / nodes.iter().map(|a| (a - x) * (a - x)).sum::<f64>();
    println!("\nSlope of log seconds in log nodes: {slope:.2}.");
    let line = nodes.iter().map(|a| y + slope * (a - x)).collect();
    let fitted = Series::line(format!("slope {slope:.2}"), &nodes, line, Stroke::Dashed);
    let measured = Series { marks: true, ..Series::line("a natural step", &nodes, logs, Stroke::Solid) };
    let figure = ChartFigure {
        title: "A natural step by nested dissection".into(),
        x_label: "log10 nodes".into(),
        y_label: "log10 seconds".into(),
        series: vec![fitted, measured],
        levels: vec![],
        events: vec![],
        from_zero: false,
    };
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/lattice.svg");
    std::fs::write(path, figure.svg()).unwrap();
}

/// Products and sums per second of matrix products on all cores at once.
fn product_speed() -> f64 {
    use rayon::prelude::*;
    let (size, threads) = (1000, rayon::current_num_threads());
    let matrix = Matrix::from_fn(size, size, |i, j| ((i * 7 + j * 3) % 11) as f64);
    let start = Instant::now();
    (0..4 * threads).into_par_iter().for_each(|_| drop(std::hint::black_box(linalg::product(&matrix, &matrix))));
    8.0 * threads as f64 * (size * size * size) as f64 / start.elapsed().as_secs_f64()
}

/// A step by dissection beside the time that its products and sums alone would take.
fn beside_its_products(nodes: &[usize]) {
    let steps = Steps::new(nodes, Smoothness::Two, Link::Square, Elimination::Dissection);
    let work = steps.lattice.dissection_work();
    let _ = std::fs::write("/proc/self/clear_refs", "5"); // the peak begins anew
    let before = product_speed();
    let step = steps.one(1);
    let (speed, peak) = (0.5 * (before + product_speed()), peak_memory().unwrap_or(f64::NAN));
    let floor = work / speed;
    println!(
        "| {} | {:.1} G | {floor:.2} s ({:.0} G per second) | {step:.2} s | {:.2} | {peak:.2} GB |",
        describe(nodes),
        1e-9 * work,
        1e-9 * speed,
        step / floor
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
