//! Five functions in the plane from the SGCP's own generative process (the paper's Table 1), and maps of one of them.

use super::*;
use pointillist_plot::{MapFigure, PanelsFigure};
use pointillist_rivals::compare::{Fitted, Scores};
use pointillist_rivals::sgcp::{Parameters, draw};

/// Side of the square window: the paper's scores and errors fit about this.
const SIDE: f64 = 10.0;
/// Cells along each side of the maps.
const CELLS: usize = 50;
/// Sets of held-out events.
const TESTS: (usize, usize) = (10, 2);
/// Sweeps of the sampler.
const SWEEPS: usize = 600;
/// λ* and length-scale of each function; about λ*·50 events, as the paper's scores suggest.
const FUNCTIONS: [(f64, f64); 5] = [(8.0, 2.0), (2.0, 3.0), (5.0, 2.0), (6.0, 1.5), (9.0, 1.5)];
/// Variance of f, with mean 0: the rate goes through most of its range.
const VARIANCE: f64 = 2.0;
/// The paper's log-likelihood and RMS: SGCP, KS+EC, VBPP (L_0).
const PAPER: [[(f64, f64); 3]; 5] = [
    [(446.1, 1.37), (389.8, 1.48), (392.9, 1.21)],
    [(-61.1, 0.38), (-78.3, 0.46), (-76.1, 0.38)],
    [(122.4, 0.88), (84.3, 1.04), (92.6, 0.81)],
    [(175.8, 1.71), (147.0, 1.26), (148.3, 1.14)],
    [(446.1, 2.94), (413.6, 2.02), (415.5, 1.81)],
];

/// One method on one function.
#[derive(serde::Serialize, serde::Deserialize)]
struct Answer {
    name: String,
    /// By test set.
    scores: Vec<Scores>,
    rate: Vec<f64>,
    rms: f64,
    seconds: f64,
    r_hat: Option<f64>,
}

pub fn run(bench: &Bench) -> Result<Section, Failure> {
    let mut rows = Vec::new();
    let mut all = Vec::new();
    let mut maps = None;
    bench.foresee(bench.size(FUNCTIONS.len(), 1) * methods(bench, SWEEPS, 2).len());
    for number in bench.size(0..FUNCTIONS.len(), 1..2) {
        let function = Function::draw(bench, number)?;
        let results = function.results(bench)?;
        rows.extend(results.iter().map(|result| row(number, function.train.len(), result)));
        maps.get_or_insert_with(|| picture(&function, &results));
        all.push(results);
    }
    Ok(Section {
        title: "Synthetic data in the plane (Table 1)".into(),
        text: vec![format!(
            "Functions from the SGCP's generative process on a square of side {SIDE}, f with variance {VARIANCE}; each with one set of events to fit \
            and {} to score, over which scores are averaged. The paper's functions are not published: only the order of the methods can be \
            compared, and SGCP has the right link function and sampled hyper-parameters.",
            bench.size(TESTS.0, TESTS.1)
        )],
        goals: goals(&all),
        tables: vec![Table {
            name: "scores".into(),
            caption: "Mean scores over the test sets; RMS of the mean rate over the window. The paper's scores are L_0 for VBPP.".into(),
            columns: heads([
                "function", "events", "method", "LL", "M_p", "L_p", "L_0", "RMS", "seconds", "R̂", "paper: LL", "paper: RMS",
            ]),
            rows,
        }],
        pictures: maps.into_iter().collect(),
    })
}

struct Function {
    truth: Vec<f64>,
    cells: Points,
    centres: Vec<f64>,
    train: Events,
    tests: Vec<Events>,
}

impl Function {
    fn draw(bench: &Bench, number: usize) -> Result<Self, Failure> {
        let (ceiling, lengthscale) = FUNCTIONS[number];
        let window = Window::new(&[(0.0, SIDE), (0.0, SIDE)])?;
        let cells = bench.size(CELLS, 10);
        let centres: Vec<f64> = (0..cells).map(|i| SIDE * (i as f64 + 0.5) / cells as f64).collect();
        let grid = Points::new(2, centres.iter().flat_map(|&y| centres.iter().flat_map(move |&x| [x, y])).collect())?;
        let parameters = Parameters { ceiling, lengthscales: vec![lengthscale; 2], variance: VARIANCE, mean: 0.0 };
        let sets = 1 + bench.size(TESTS.0, TESTS.1);
        let mut drawn = draw(&window, &parameters, &grid, sets, bench.seed + number as u64)?;
        let tests = drawn.sets.split_off(1);
        let train = drawn.sets.pop().ok_or_else(|| "no events were drawn".to_string())?;
        Ok(Self { truth: drawn.rate, cells: grid, centres, train, tests })
    }

    /// One after the other, so that the seconds mean something.
    fn results(&self, bench: &Bench) -> Result<Vec<Answer>, Failure> {
        let methods = methods(bench, SWEEPS, 2).into_iter();
        methods.map(|method| self.result(bench, &method)).collect()
    }

    fn result(&self, bench: &Bench, method: &Method) -> Result<Answer, Failure> {
        let question = (&method.contender, &self.train, &self.tests, &self.cells, bench.samples(), bench.seed);
        let answer = bench.kept.answer(method.name, question, || self.found(bench, method))?;
        bench.tick(method.name);
        Ok(answer)
    }

    fn found(&self, bench: &Bench, method: &Method) -> Result<Answer, Failure> {
        let fitted: Fitted = method.contender.fit(&self.train)?;
        let rates = fitted.rates(&self.cells, bench.samples(), bench.seed)?;
        let scores = fitted.scores(&self.tests, bench.samples(), bench.seed)?;
        Ok(Answer {
            name: method.name.into(),
            scores,
            rms: rates.rms(&self.truth),
            rate: rates.mean,
            seconds: fitted.seconds,
            r_hat: fitted.diagnostics().map(|diagnostics| diagnostics.worst_r_hat()),
        })
    }
}

impl Answer {
    fn over(&self, pick: impl Fn(&Scores) -> Option<f64>) -> Vec<Option<f64>> {
        self.scores.iter().map(pick).collect()
    }

    /// M_p, or the log-likelihood where there is no posterior.
    fn predictive(&self) -> Vec<Option<f64>> {
        self.over(|s| Some(s.predictive()))
    }
}

fn row(number: usize, events: usize, result: &Answer) -> Vec<Cell> {
    let paper = [SGCP, TRUNCATED, ML].iter().position(|name| *name == result.name).map(|i| PAPER[number][i]);
    let mean = |values: Vec<Option<f64>>| Cell::from(Cell::mean(values).value());
    cells([
        (number + 1).into(),
        events.into(),
        result.name.as_str().into(),
        mean(result.over(|s| Some(s.log_likelihood))),
        mean(result.over(|s| s.m_p.map(|m| m.value))),
        mean(result.over(|s| s.l_p)),
        mean(result.over(|s| s.l_0)),
        result.rms.into(),
        result.seconds.into(),
        result.r_hat.into(),
        paper.map(|paper| paper.0).into(),
        paper.map(|paper| paper.1).into(),
    ])
}

fn goals(all: &[Vec<Answer>]) -> Vec<Goal> {
    let of = |results: &'_ [Answer], name: &str| results.iter().position(|r| r.name == name).unwrap_or_default();
    let count = |holds: &dyn Fn(&[Answer]) -> bool| all.iter().filter(|results| holds(results)).count();
    let goal = |what: String, reached: usize, needed: usize| Goal {
        what: format!("{what}, on {needed} of {} functions", all.len()),
        measured: format!("{reached} of {}", all.len()),
        reached: reached >= needed,
    };
    let mut goals = Vec::new();
    for ours in [DEFAULT, ML, AVERAGED] {
        let apart = |results: &[Answer], rival: &str| {
            difference(&results[of(results, ours)].predictive(), &results[of(results, rival)].predictive())
        };
        let rms = count(&|results| results[of(results, ours)].rms < results[of(results, TRUNCATED)].rms);
        goals.push(goal(format!("{ours}: RMS below KS+EC's"), rms, all.len()));
        let above = count(&|results| apart(results, TRUNCATED).is_some_and(|(mean, _)| mean > 0.0));
        goals.push(goal(format!("{ours}: M_p above KS+EC's log-likelihood"), above, all.len()));
        let near = count(&|results| apart(results, SGCP).is_some_and(|(mean, se)| mean > -2.0 * se));
        goals.push(goal(format!("{ours}: M_p above SGCP's or within 2 standard errors"), near, all.len().min(3)));
    }
    goals
}

/// Truth, VBPP, KS+EC and SGCP, with one colour scale.
fn picture(function: &Function, results: &[Answer]) -> Picture {
    let map = |title: &str, values: &[f64], events: &Points| MapFigure {
        title: title.into(),
        x_label: "x".into(),
        y_label: "y".into(),
        value_label: "events per unit area".into(),
        x: function.centres.clone(),
        y: function.centres.clone(),
        x_range: (0.0, SIDE),
        y_range: (0.0, SIDE),
        values: values.to_vec(),
        inside: vec![],
        border: vec![],
        events: events.rows().map(|row| [row[0], row[1]]).collect(),
        anomalies: vec![],
    };
    let events = function.train.points();
    let nothing = events.filter(|_| false);
    let of = |name: &'static str| {
        let values = results.iter().find(|result| result.name == name).map_or(&[][..], |result| &result.rate);
        map(name, values, &nothing)
    };
    let truth = map("truth", &function.truth, events);
    let figure = PanelsFigure {
        title: "Function 1: the truth and four estimates".into(),
        columns: 2,
        panels: vec![truth, of(ML), of(DEFAULT), of(TRUNCATED), of(SGCP)],
    };
    Picture {
        file: "synthetic-maps.svg".into(),
        caption: "The paper's figure of four maps, and the default: truth, VBPP, default, KS+EC, SGCP.".into(),
        svg: figure.svg(),
    }
}
