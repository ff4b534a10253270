//! The field's standard: the three intensities of Adams, Murray and MacKay (2009), with known truth.

use super::*;
use pointillist::{Intensity, Simulation};
use pointillist_plot::{ChartFigure, Series, Stroke};

/// Draws of each intensity, and points at which the rate is compared.
const DRAWS: (usize, usize) = (100, 2);
const POINTS: usize = 500;
/// Sweeps of the sampler.
const SWEEPS: usize = 500;

/// A known intensity on [0, end].
struct Truth {
    formula: &'static str,
    end: f64,
}

const TRUTHS: [Truth; 3] = [
    Truth { formula: "2*exp(-s/15) + exp(-((s - 25)/10)^2)", end: 50.0 },
    Truth { formula: "5*sin(s^2) + 6", end: 5.0 },
    Truth { formula: "interp(s, 0,2, 25,3, 50,1, 75,2.5, 100,3)", end: 100.0 },
];

/// All methods on all draws of one intensity.
struct Trial {
    /// By draw, then by method.
    all: Vec<Vec<Performance>>,
    truth: Vec<f64>,
    end: f64,
}

pub fn run(bench: &Bench) -> Result<Section, Failure> {
    let mut section = Section {
        title: "The three intensities of Adams, Murray and MacKay".into(),
        text: vec![format!(
            "{} draws of each, every one with a second draw as held-out events. ISE is the integral of the squared error of the mean rate, coverage \
            the share of the window where the true rate lies in the 90 % band.",
            bench.size(DRAWS.0, DRAWS.1)
        )],
        tables: vec![],
        pictures: vec![],
        goals: vec![],
    };
    let methods = methods(bench, SWEEPS, 1);
    bench.foresee(TRUTHS.len() * bench.size(DRAWS.0, DRAWS.1) * methods.len());
    for (number, truth) in TRUTHS.iter().enumerate() {
        let window = Window::interval(0.0, truth.end)?;
        let (trial, first) = trial(bench, truth, &window, &methods)?;
        section.tables.push(table(number, truth, &methods, &trial));
        section.goals.extend(goals(number, &methods, &trial));
        section.pictures.push(picture(number, truth, &methods, &trial, &first));
    }
    Ok(section)
}

fn trial(bench: &Bench, truth: &Truth, window: &Window, methods: &[Method]) -> Result<(Trial, Events), Failure> {
    let intensity = Intensity::parse(truth.formula, &["s"]).map_err(|error| error.to_string())?;
    let simulation = Simulation::new(window, |point| intensity.at(point))?;
    let at = middles(window, POINTS)?;
    let draw = |number: usize| simulation.draw(bench.seed, number as u64);
    let all = each(bench.size(DRAWS.0, DRAWS.1), |i| {
        let [train, test] = [2 * i, 2 * i + 1].map(|i| Events::new(draw(i)?, window.clone()));
        let (train, test) = (train?, test?);
        methods.iter().map(|method| bench.perform(method, &train, &test, &at)).collect::<Result<Vec<_>, _>>()
    })?;
    let truth = Trial { all, truth: at.rows().map(|row| intensity.at(row)).collect(), end: truth.end };
    Ok((truth, Events::new(draw(0)?, window.clone())?))
}

impl Trial {
    fn squared_error(&self, method: usize) -> Vec<Option<f64>> {
        column(&self.all, method, |p| Some(p.rates.rms(&self.truth).powi(2) * self.end))
    }

    fn coverage(&self, method: usize) -> Vec<Option<f64>> {
        column(&self.all, method, |p| p.rates.coverage(&self.truth))
    }
}

fn table(number: usize, truth: &Truth, methods: &[Method], trial: &Trial) -> Table {
    let row = |(i, method): (usize, &Method)| {
        cells([
            method.name.into(),
            Cell::mean(trial.squared_error(i)),
            Cell::mean(column(&trial.all, i, log_likelihood)),
            Cell::mean(column(&trial.all, i, |p| p.scores.m_p.map(|m| m.value))),
            Cell::mean(trial.coverage(i)),
            largest_r_hat(&trial.all, i),
        ])
    };
    Table {
        name: format!("{}", number + 1),
        caption: format!("`{}` on [0, {}]:", truth.formula, truth.end),
        columns: heads(["method", "ISE", "LL", "M_p", "coverage", "R̂"]),
        rows: methods.iter().enumerate().map(row).collect(),
    }
}

fn goals(number: usize, methods: &[Method], trial: &Trial) -> Vec<Goal> {
    let place = |name: &str| index(methods, name);
    let mut goals = Vec::new();
    for ours in [DEFAULT, ML, AVERAGED] {
        for rival in [TRUNCATED, SGCP] {
            let what = |measure: &str| format!("{}: {ours}, {measure} than {rival}, by 2 standard errors", number + 1);
            let errors = difference(&trial.squared_error(place(rival)), &trial.squared_error(place(ours)));
            goals.push(above_zero(what("smaller ISE"), errors, 2.0));
            let scores = |name: &str| column(&trial.all, place(name), predictive);
            goals.push(above_zero(what("higher M_p"), difference(&scores(ours), &scores(rival)), 2.0));
        }
        let covered = Cell::mean(trial.coverage(place(ours))).value().unwrap_or(f64::NAN);
        goals.push(Goal {
            what: format!("{}: {ours}, coverage of the 90 % band between 85 and 95 %", number + 1),
            measured: format!("{:.1} %", 100.0 * covered),
            reached: (0.85..=0.95).contains(&covered),
        });
    }
    goals
}

/// The first draw: the truth and what the methods made of it.
fn picture(number: usize, truth: &Truth, methods: &[Method], trial: &Trial, first: &Events) -> Picture {
    let step = truth.end / POINTS as f64;
    let x: Vec<f64> = (0..POINTS).map(|i| step * (i as f64 + 0.5)).collect();
    let curve = |label: &str, y: &[f64], stroke| Series::line(label, &x, y.to_vec(), stroke);
    let mut series = vec![curve("truth", &trial.truth, Stroke::Solid)];
    for (method, performance) in methods.iter().zip(&trial.all[0]) {
        let band = performance.rates.band.clone().map(|[lower, upper]| (lower, upper));
        match method.name {
            DEFAULT => series.push(Series {
                band,
                ..curve(&format!("{DEFAULT}, 90 % band"), &performance.rates.mean, Stroke::Solid)
            }),
            AVERAGED | TRUNCATED | SGCP => series.push(curve(method.name, &performance.rates.mean, Stroke::Dashed)),
            _ => {}
        }
    }
    let figure = ChartFigure {
        title: format!("Intensity {}: one of the draws", number + 1),
        x_label: "s".into(),
        y_label: "events per unit of s".into(),
        series,
        levels: vec![],
        events: first.points().coordinates().to_vec(),
        from_zero: true,
    };
    Picture {
        file: format!("adams-{}.svg", number + 1),
        caption: format!("The first draw of intensity {}.", number + 1),
        svg: figure.svg(),
    }
}
