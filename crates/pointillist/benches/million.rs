//! `cargo bench -p pointillist --features serde --bench million`: large lattices with everything learned and all families tried, as `fit --nodes` has it: 1000×1000
//! nodes with 10⁷ events, and 50×50×50 nodes. Printed are wall and CPU seconds, memory, natural steps on each lattice on the way, and what a model file is. Events are
//! draws from the prior of the square link. Words: `plane` or `space` for one of them, `250x250` for another lattice, `1e6` for so many events.

use pointillist::settings::{Budget, Smoothness};
use pointillist::state::PosteriorState;
use pointillist::testing::Drawn;
use pointillist::{Events, Fit, LatticeChoice, Model, Points, Posterior, Window};
use std::ops::ControlFlow;
use std::time::Instant;

/// Memory that may be used.
const MOST_BYTES: usize = 12_000_000_000;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    // `cargo test` runs benches too, as a check that they build.
    if !words.iter().any(|word| word == "--bench") {
        return;
    }
    let nodes = words.iter().find_map(|word| word.split('x').map(|n| n.parse().ok()).collect::<Option<Vec<usize>>>());
    let nodes = nodes.filter(|nodes| nodes.len() > 1);
    let events = words.iter().filter(|word| word.contains('e')).find_map(|word| word.parse::<f64>().ok());
    let says = |word: &str| words.iter().any(|own| own == word);
    if !says("space") {
        fit(nodes.as_deref().unwrap_or(&[1000, 1000]), &[0.05, 0.08], events.unwrap_or(1e7));
    }
    if !says("plane") {
        fit(nodes.as_deref().unwrap_or(&[50, 50, 50]), &[0.3, 0.4, 0.3], events.unwrap_or(1e5));
    }
}

fn describe(nodes: &[usize]) -> String {
    nodes.iter().map(usize::to_string).collect::<Vec<_>>().join("×")
}

/// What was done on one lattice.
struct Stretch {
    size: usize,
    steps: usize,
    seconds: f64,
}

fn fit(nodes: &[usize], ranges: &[f64], events: f64) {
    let own: &[usize] = [&[300, 300][..], &[24, 24, 24]][nodes.len() - 2];
    let drawn = Drawn::new(own, ranges, 0.3, events, Smoothness::Two, 11).unwrap();
    let window = Window::new(&vec![(0.0, 1.0); nodes.len()]).unwrap();
    let events = Events::new(drawn.events, window).unwrap();
    let lattice = LatticeChoice { nodes: Some(nodes.to_vec()), ..LatticeChoice::default() };
    let model = Model { family: lattice.into(), most_bytes: MOST_BYTES, budget: Budget::Unlimited, ..Model::default() };
    println!("\n{} nodes, {} events", describe(nodes), events.len());
    let _ = std::fs::write("/proc/self/clear_refs", "5"); // the peak begins anew
    let (start, cpu) = (Instant::now(), cpu_seconds());
    let Fit { posterior, report, .. } = watched(&model, &events);
    let (seconds, cpu) = (start.elapsed().as_secs_f64(), cpu_seconds() - cpu);
    println!(
        "\n{seconds:.1} s, {cpu:.1} CPU seconds, at most {:.2} GB, {} natural steps, {:.0} s foreseen; {}: {}",
        peak_memory().unwrap_or(f64::NAN),
        report.evaluations,
        report.work,
        report.stop.as_str(),
        report.choice
    );
    for tried in &report.tried {
        let outcome = tried.outcome.as_ref().map_or_else(String::clone, |value| format!("{value:.1}"));
        println!("{}: {outcome} {}", tried.name, tried.ended_early.as_deref().unwrap_or(""));
    }
    if let Some(above) = report.integral_error {
        println!("the integral of the bound is {above:.1e} too high");
    }
    file(&posterior);
}

/// The fit; and for each lattice in turn how many steps there were, and how long they took.
fn watched(model: &Model, events: &Events) -> Fit {
    let start = Instant::now();
    let mut stretches: Vec<Stretch> = vec![];
    let (mut steps, mut last) = (0, 0.0);
    let mut watch = |progress: &pointillist::Progress| {
        let now = start.elapsed().as_secs_f64();
        if stretches.last().is_none_or(|stretch| stretch.size != progress.size) {
            if let Some(done) = stretches.last() {
                println!("| {} | {} | {:.1} |", done.size, done.steps, done.seconds);
            }
            stretches.push(Stretch { size: progress.size, steps: 0, seconds: 0.0 });
        }
        if let Some(stretch) = stretches.last_mut() {
            // A family begins to count anew.
            stretch.steps += progress.evaluations.saturating_sub(steps);
            stretch.seconds += now - last;
        }
        (steps, last) = (progress.evaluations, now);
        ControlFlow::Continue(())
    };
    println!("\n| nodes | natural steps | seconds |\n|---|---|---|");
    let fit = model.fit_watched(events, &mut watch).unwrap();
    if let Some(done) = stretches.last() {
        println!("| {} | {} | {:.1} |", done.size, done.steps, done.seconds);
    }
    fit
}

/// How large the numbers of a model file are, and how long it takes to read them.
fn file(posterior: &Posterior) {
    let path = std::env::temp_dir().join("pointillist-million.json");
    std::fs::write(&path, serde_json::to_vec(&posterior.state()).unwrap()).unwrap();
    let start = Instant::now();
    let bytes = std::fs::read(&path).unwrap();
    let state: PosteriorState = serde_json::from_slice(&bytes).unwrap();
    let read = Posterior::from_state(state).unwrap();
    let opened = start.elapsed().as_secs_f64();
    let at = Points::new(read.window().dims(), vec![0.5; read.window().dims()]).unwrap();
    let rate = read.rate(&at).unwrap().mean[0];
    let asked = start.elapsed().as_secs_f64();
    assert_eq!(rate, posterior.rate(&at).unwrap().mean[0]);
    println!("a model file of {:.0} MB, opened in {opened:.2} s, a rate after {asked:.2} s", 1e-6 * bytes.len() as f64);
    let _ = std::fs::remove_file(path);
}

/// User and system seconds of this process so far, where the system tells (Linux).
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or("").split_whitespace().collect();
    let ticks = |place: usize| fields.get(place).and_then(|field| field.parse::<f64>().ok()).unwrap_or(f64::NAN);
    0.01 * (ticks(11) + ticks(12))
}

/// The most memory that was held, in GB, where the system tells (Linux).
fn peak_memory() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    Some(1.024e-6 * line.split_whitespace().nth(1)?.parse::<f64>().ok()?)
}
