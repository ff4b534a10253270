//! Events in time: coal mining, tweets, aftershocks (the paper's real data in one dimension, and one more).
//!
//! For each: the rates of all methods, scores on random halves, and the scores against the number of inducing points, on a grid and optimised.

use super::*;
use crate::commands::check;
use crate::commands::figure::label;
use crate::commands::summary::rate_unit;
use pointillist::InducingPoints;
use pointillist::exact::Sampling;
use pointillist::settings::Inducing;
use pointillist_plot::{ChartFigure, Level, Series, Stroke};
use pointillist_rivals::compare::halves;

/// Random halves, and how many of them serve for the numbers of inducing points.
const SPLITS: (usize, usize) = (20, 2);
const SPLITS_BY_INDUCING: (usize, usize) = (10, 2);
/// Numbers of inducing points.
const INDUCING: (&[usize], &[usize]) = (&[4, 6, 8, 12, 16, 24, 31, 40], &[4, 8]);
/// Points along a curve.
const CURVE: usize = 501;
/// Exact draws that the variational answer is held against.
const EXACT_DRAWS: (usize, usize) = (8000, 200);

/// What is special of a set.
struct Set {
    name: &'static str,
    title: &'static str,
    text: &'static [&'static str],
    /// Sweeps of the sampler on a half and on all events: fewer where a high peak makes each cost much more.
    sweeps: (usize, usize),
}

pub fn coal(bench: &Bench) -> Result<Section, Failure> {
    let mut section = run(
        bench,
        &Set {
            name: "coal",
            title: "Coal mining disasters",
            text: &[
                "191 explosions in British mines, 1851 to 1962 (the paper: 190 of the same events). The paper found VBPP above kernel \
                smoothing and SGCP with 10 inducing points and more, without further gain from there on, and the bound L_0 tight.",
            ],
            sweeps: (1200, 2000),
        },
    )?;
    section.goals.extend(against_exact(bench)?);
    Ok(section)
}

pub fn twitter(bench: &Bench) -> Result<Section, Failure> {
    run(
        bench,
        &Set {
            name: "tweets",
            title: "Tweets",
            text: &[
                "The paper's 189 tweets are not public. In their place stand 209 of another politician, also a week either side of a vote: the \
                same design, other numbers. The paper found VBPP far above both rivals, and optimised inducing points better than a grid.",
            ],
            sweeps: (600, 2000),
        },
    )
}

pub fn aftershocks(bench: &Bench) -> Result<Section, Failure> {
    run(
        bench,
        &Set {
            name: "aftershocks",
            title: "Aftershocks",
            text: &[
                "Not in the paper: 208 earthquakes in the two weeks around a large one. Nothing happens for a week, then the rate jumps: \
                hard for every smooth prior.",
            ],
            sweeps: (300, 300),
        },
    )
}

fn run(bench: &Bench, set: &Set) -> Result<Section, Failure> {
    let events = bundled(set.name)?;
    let splits: Vec<(Events, Events)> = (0..bench.size(SPLITS.0, SPLITS.1) as u64)
        .map(|number| halves(&events, bench.seed, number))
        .collect::<Result<_, _>>()?;
    let methods = methods(bench, set.sweeps.0, 1);
    let nowhere = Points::line(&[])?;
    let some = bench.size(SPLITS_BY_INDUCING.0, SPLITS_BY_INDUCING.1);
    let of_inducing = 2 * some * bench.size(INDUCING.0, INDUCING.1).len();
    bench.foresee(splits.len() * methods.len() + of_inducing + methods.len() - NOT_PICTURED.len());
    let all = each(splits.len(), |split| {
        let (train, test) = &splits[split];
        methods.iter().map(|method| bench.perform(method, train, test, &nowhere)).collect::<Result<Vec<_>, _>>()
    })?;
    let (grid, optimised) = (by_inducing(bench, &splits[..some], false)?, by_inducing(bench, &splits[..some], true)?);
    let levels = levels(&methods, &all[..some]);
    Ok(Section {
        title: set.title.into(),
        text: set.text.iter().map(|text| text.to_string()).collect(),
        goals: goals(&methods, &all),
        pictures: vec![
            rates_picture(bench, set, &events)?,
            scores_picture(set, "on a grid", "grid", &grid, &levels),
            scores_picture(set, "optimised", "optimised", &optimised, &levels),
        ],
        tables: vec![scores_table(&methods, &all), inducing_table(&grid, &optimised)],
    })
}

/// Scores by method, and differences from VBPP.
fn scores_table(methods: &[Method], all: &[Vec<Performance>]) -> Table {
    let reference = index(methods, DEFAULT);
    let row = |(i, method): (usize, &Method)| {
        let apart = difference(&column(all, reference, predictive), &column(all, i, predictive));
        cells([
            method.name.into(),
            Cell::mean(column(all, i, log_likelihood)),
            Cell::mean(column(all, i, |p| p.scores.m_p.map(|m| m.value))),
            Cell::mean(column(all, i, |p| p.scores.l_p)),
            Cell::mean(column(all, i, |p| p.scores.l_0)),
            apart.filter(|_| i != reference).map_or(Cell::Missing(()), |(mean, se)| Cell::Estimate { mean, se }),
            largest_r_hat(all, i),
        ])
    };
    Table {
        name: "scores".into(),
        caption: format!(
            "Held-out scores on {} random halves, means with standard errors over halves. The last but one column is paired: M_p of the default \
            above the method's own M_p (its LL where it has no posterior). R̂ is the median over halves of the largest of a run.",
            all.len()
        ),
        columns: heads(["method", "LL", "M_p", "L_p", "L_0", "the default above it", "R̂"]),
        rows: methods.iter().enumerate().map(row).collect(),
    }
}

fn goals(methods: &[Method], all: &[Vec<Performance>]) -> Vec<Goal> {
    let scores = |name: &str| column(all, index(methods, name), predictive);
    let apart = |a: &str, b: &str| difference(&scores(a), &scores(b));
    let goal = |ours: &str, rival: &str| {
        above_zero(format!("{ours}: M_p above {rival} on average over halves"), apart(ours, rival), 0.0)
    };
    let ours = [DEFAULT, ML, AVERAGED];
    ours.into_iter().flat_map(|ours| [goal(ours, TRUNCATED), goal(ours, SGCP)]).collect()
}

/// The sampled and bounded scores for each number of inducing points, one of each a half.
struct ByInducing {
    counts: Vec<usize>,
    /// By count, then by half.
    performances: Vec<Vec<Performance>>,
}

/// How the four scores are called, and how they are picked.
type Pick = fn(&Performance) -> Option<f64>;
const SCORES: [(&str, Pick, Stroke); 4] = [
    ("L_0", |p| p.scores.l_0, Stroke::Dashed),
    ("L_p", |p| p.scores.l_p, Stroke::Dotted),
    ("M_0", |p| p.scores.m_0.map(|m| m.value), Stroke::Solid),
    ("M_p", |p| p.scores.m_p.map(|m| m.value), Stroke::Solid),
];

fn by_inducing(bench: &Bench, splits: &[(Events, Events)], optimised: bool) -> Result<ByInducing, Failure> {
    let counts = bench.size(INDUCING.0, INDUCING.1).to_vec();
    let nowhere = Points::line(&[])?;
    let flat = each(counts.len() * splits.len(), |i| {
        let (count, (train, test)) = (counts[i / splits.len()], &splits[i % splits.len()]);
        let model = Model {
            family: InducingPoints {
                points: Inducing::Grid(vec![count]),
                optimise: optimised,
                ..InducingPoints::as_in_the_paper()
            }
            .into(),
            ..paper()
        };
        bench.perform(&Method { name: ML, contender: Contender::Variational(model) }, train, test, &nowhere)
    })?;
    Ok(ByInducing { performances: flat.chunks(splits.len()).map(<[_]>::to_vec).collect(), counts })
}

impl ByInducing {
    fn cell(&self, row: usize, pick: Pick) -> Cell {
        Cell::mean(self.performances[row].iter().map(pick))
    }
}

fn inducing_table(grid: &ByInducing, optimised: &ByInducing) -> Table {
    let rows = |name: &str, of: &ByInducing| -> Vec<Vec<Cell>> {
        let row = |(i, &count): (usize, &usize)| {
            let scores = SCORES.iter().map(|(_, pick, _)| of.cell(i, *pick));
            [name.into(), count.into(), of.cell(i, log_likelihood)].into_iter().chain(scores).collect()
        };
        of.counts.iter().enumerate().map(row).collect()
    };
    Table {
        name: "inducing".into(),
        caption: "The scores of VBPP (ML) against the number of inducing points, over the first halves of these."
            .into(),
        columns: heads(["inducing points", "number", "LL", "L_0", "L_p", "M_0", "M_p"]),
        rows: [rows("grid", grid), rows("optimised", optimised)].concat(),
    }
}

/// The rivals' mean scores, as lines across a chart.
fn levels(methods: &[Method], all: &[Vec<Performance>]) -> Vec<Level> {
    let level = |name: &str| {
        let y = Cell::mean(column(all, index(methods, name), predictive)).value().unwrap_or(f64::NAN);
        Level { label: name.into(), y, stroke: Stroke::Dashed }
    };
    [TRUNCATED, PLAIN, SGCP].map(level).to_vec()
}

fn scores_picture(set: &Set, how: &str, name: &str, of: &ByInducing, levels: &[Level]) -> Picture {
    let x: Vec<f64> = of.counts.iter().map(|&count| count as f64).collect();
    let series = |(label, pick, stroke): &(&str, Pick, Stroke)| {
        let y = (0..of.counts.len()).map(|i| of.cell(i, *pick).value().unwrap_or(f64::NAN)).collect();
        Series { marks: true, ..Series::line(*label, &x, y, *stroke) }
    };
    let figure = ChartFigure {
        title: format!("{}: scores, inducing points {how}", set.title),
        x_label: "number of inducing points".into(),
        y_label: "held-out score (nats)".into(),
        series: SCORES.iter().map(series).collect(),
        levels: levels.to_vec(),
        events: vec![],
        from_zero: false,
    };
    Picture {
        file: format!("{}-{name}.svg", set.name),
        caption: format!("Mean held-out scores over halves, inducing points {how}; the lines across are the rivals."),
        svg: figure.svg(),
    }
}

/// Methods whose rates are left out of the chart of rates.
const NOT_PICTURED: [&str; 2] = [AVERAGED, HOMOGENEOUS];

/// The rates that the methods find in all events, as a chart.
fn rates_picture(bench: &Bench, set: &Set, events: &Events) -> Result<Picture, Failure> {
    let window = events.window();
    let at = window.grid(&[CURVE]);
    let series = |method: Method| -> Result<Series, Failure> {
        let question = (&method.contender, events, &at, bench.samples(), bench.seed);
        let rates = bench.kept.answer(method.name, question, || {
            Ok(method.contender.fit(events)?.rates(&at, bench.samples(), bench.seed)?)
        })?;
        bench.tick(method.name);
        let ours = method.name == DEFAULT;
        let (label, stroke) = match ours {
            true => (format!("{DEFAULT}, 90 % band"), Stroke::Solid),
            false => (method.name.into(), Stroke::Dashed),
        };
        let band = rates.band.filter(|_| ours).map(|[lower, upper]| (lower, upper));
        Ok(Series { band, ..Series::line(label, at.coordinates(), rates.mean, stroke) })
    };
    let shown = methods(bench, set.sweeps.1, 1).into_iter().filter(|method| !NOT_PICTURED.contains(&method.name));
    let figure = ChartFigure {
        title: format!("{}: the rate", set.title),
        x_label: label(&window.axes()[0]),
        y_label: rate_unit(window),
        series: shown.map(series).collect::<Result<_, _>>()?,
        levels: vec![],
        events: events.points().coordinates().to_vec(),
        from_zero: true,
    };
    Ok(Picture {
        file: format!("{}-rates.svg", set.name),
        caption: "The rate that each method finds in all events, with the events below.".into(),
        svg: figure.svg(),
    })
}

/// The variational answer on all of coal beside the exact posterior of the same model.
fn against_exact(bench: &Bench) -> Result<Vec<Goal>, Failure> {
    let events = bundled("coal")?;
    let posterior = paper().fit(&events)?.posterior;
    let chains = Sampling::default().chains;
    let draws = bench.size(EXACT_DRAWS.0, EXACT_DRAWS.1).div_ceil(chains);
    let sampling = Sampling { draws, seed: bench.seed, ..Sampling::default() };
    let checked = check::check(&posterior, events.points(), sampling)?;
    let goal = |what: &str, median: f64, most: f64| Goal {
        what: format!("{what}: median difference from the exact posterior under {most} %"),
        measured: format!("{:.2} %", 100.0 * median),
        reached: 100.0 * median < most,
    };
    Ok(vec![
        goal("mean rate", checked.mean.median, 2.0),
        goal("5 % quantile", checked.lower.median, 5.0),
        goal("95 % quantile", checked.upper.median, 5.0),
    ])
}
