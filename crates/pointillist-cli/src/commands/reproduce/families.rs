//! Which basis: inducing points with a smooth kernel, or a lattice, rougher or smoother; and whether the average over lattices loses anything to them.

use super::*;
use pointillist::settings::Smoothness;
use pointillist::{LatticeChoice, Simulation};
use pointillist_rivals::compare::halves;
use std::f64::consts::TAU;

/// Draws of a map; random halves of real events.
const DRAWS: (usize, usize) = (20, 2);
/// Events expected in a map.
const EVENTS: (&[f64], &[f64]) = (&[500.0, 5000.0], &[60.0]);
/// Real events in time.
const LINES: [&str; 3] = ["coal", "tweets", "aftershocks"];
/// Nats that the default may lose on average: on maps, on lines.
const MOST_LOST: [f64; 2] = [1.0, 0.5];
/// Draws for the scores of maps that are not shown.
const FEW: usize = 100;

pub fn run(bench: &Bench) -> Result<Section, Failure> {
    let methods = bases();
    let mut rows = Vec::new();
    let mut goals = Vec::new();
    bench.foresee((bench.size(EVENTS.0, EVENTS.1).len() + LINES.len()) * bench.size(DRAWS.0, DRAWS.1) * methods.len());
    for events in bench.size(EVENTS.0, EVENTS.1) {
        let all = maps(bench, &methods, *events)?;
        rows.push(row(format!("smooth map, {events:.0} events"), &all, log_likelihood));
        goals.extend(lost(&format!("smooth map, {events:.0} events"), &methods, &all, log_likelihood, MOST_LOST[0]));
    }
    for name in LINES {
        let all = lines(bench, &methods, name)?;
        rows.push(row(name.into(), &all, predictive));
        goals.extend(lost(name, &methods[..2], &all, predictive, MOST_LOST[1]));
    }
    let draws = bench.size(DRAWS.0, DRAWS.1);
    Ok(Section {
        title: "Which basis".into(),
        text: vec![format!(
            "Not in the paper. The default averages over lattices of both links and all degrees of smoothness. Beside it stand the paper's inducing points with a squared \
            exponential kernel and lattices of smoothness 2 and 4 with the square link, each by maximum likelihood, and inducing points averaged over their hyper-parameters. The smooth maps are three Gaussian bumps \
            and a sine on a square; {draws} draws, each scored by a second draw. The real events are cut into random halves, {draws} times.",
        )],
        goals,
        tables: vec![Table {
            name: "scores".into(),
            caption: "Held-out log-likelihood of the mean rate (maps) and M_p (real events), means with standard errors. What counts is how \
                far apart they are; that is paired, and stands above."
                .into(),
            columns: std::iter::once("events").chain(methods.iter().map(|m| m.name)).map(String::from).collect(),
            rows,
        }],
        pictures: vec![],
    })
}

/// The default first, then what it is compared with.
fn bases() -> Vec<Method> {
    let lattice = |smoothness| {
        let lattice = LatticeChoice { smoothness: Some(smoothness), ..LatticeChoice::as_in_the_paper() };
        Model { family: lattice.into(), ..Model::of_maximum_likelihood() }
    };
    let method = |name, model| Method { name, contender: Contender::Variational(model) };
    vec![
        method(DEFAULT, Model::default()),
        method("inducing, SE", paper()),
        method("inducing, SE, averaged", averaged()),
        method("lattice, smoothness 2", lattice(Smoothness::Two)),
        method("lattice, smoothness 4", lattice(Smoothness::Four)),
    ]
}

/// Three Gaussian bumps and a sine on the unit square.
fn bumps_and_sine(x: &[f64]) -> f64 {
    let bump = |at: [f64; 2], width: f64| {
        let distance = (x[0] - at[0]).powi(2) + (x[1] - at[1]).powi(2);
        (-0.5 * distance / (width * width)).exp()
    };
    let bumps = 3.0 * bump([0.3, 0.3], 0.1) + 2.0 * bump([0.7, 0.6], 0.15) + 4.0 * bump([0.25, 0.8], 0.07);
    0.5 + bumps + 0.4 * (TAU * (x[0] + 0.5 * x[1])).sin()
}

fn maps(bench: &Bench, methods: &[Method], events: f64) -> Result<Vec<Vec<Performance>>, Failure> {
    let window = Window::new(&[(0.0, 1.0), (0.0, 1.0)])?;
    let grid = window.grid(&[200, 200]);
    let scale = events / (grid.rows().map(bumps_and_sine).sum::<f64>() / grid.len() as f64);
    let simulation = Simulation::new(&window, |x| scale * bumps_and_sine(x))?;
    let nowhere = grid.filter(|_| false);
    let draw = |number: usize| {
        let [train, test] = [0, 1].map(|part| simulation.draw(bench.seed, (2 * number + part) as u64));
        let (train, test) = (Events::new(train?, window.clone())?, Events::new(test?, window.clone())?);
        methods.iter().map(|method| bench.perform_with(FEW, method, &train, &test, &nowhere)).collect()
    };
    (0..bench.size(DRAWS.0, DRAWS.1)).map(draw).collect()
}

fn lines(bench: &Bench, methods: &[Method], name: &str) -> Result<Vec<Vec<Performance>>, Failure> {
    let events = bundled(name)?;
    let nowhere = Points::line(&[])?;
    each(bench.size(DRAWS.0, DRAWS.1), |number| {
        let (train, test) = halves(&events, bench.seed, number as u64)?;
        methods.iter().map(|method| bench.perform(method, &train, &test, &nowhere)).collect()
    })
}

fn row(name: String, all: &[Vec<Performance>], score: fn(&Performance) -> Option<f64>) -> Vec<Cell> {
    let methods = all.first().map_or(0, Vec::len);
    std::iter::once(Cell::from(name.as_str())).chain((0..methods).map(|i| Cell::mean(column(all, i, score)))).collect()
}

/// What the default loses to each basis, on average.
fn lost(
    name: &str,
    methods: &[Method],
    all: &[Vec<Performance>],
    score: fn(&Performance) -> Option<f64>,
    most: f64,
) -> Vec<Goal> {
    let against = |(i, method): (usize, &Method)| {
        let apart = difference(&column(all, 0, score), &column(all, i, score)).unwrap_or((f64::NAN, f64::NAN));
        Goal {
            what: format!("{name}: {DEFAULT} not more than {most} nats below {}", method.name),
            measured: signed(apart),
            reached: apart.0 > -most,
        }
    };
    methods.iter().enumerate().skip(1).map(against).collect()
}
