//! `compare`: every method on the same events, scored in the same way.

use super::input;
use super::score::check_draws;
use super::summary::brief;
use super::{Context, Failure, Outcome, json_line, meter, spec};
use crate::args::{CompareArgs, ContenderName};
use crate::io::{self, Column, Written};
use crate::options::Mode;
use pointillist::{Axis, Events, Model, Points};
use pointillist_rivals::compare::{Contender, Performance, as_in_the_paper, halves, on_inducing, paired};
use pointillist_rivals::{EdgeCorrection, sgcp};
use serde::Serialize;
use std::ops::ControlFlow;

/// Most random halves.
const MOST_SPLITS: u64 = 100_000;

/// The true rate of the training events at points.
struct Truth {
    points: Points,
    rate: Vec<f64>,
    /// Of the window.
    volume: f64,
}

/// One method over all splits; scores are means over splits.
#[derive(Debug, Serialize)]
struct Row {
    name: String,
    /// None if in some split a held-out event stands where the method sees no chance of one.
    log_likelihood: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    l_p: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    l_0: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    m_p: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    m_0: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ise: Option<f64>,
    /// Share of the true rates inside the 90 % band.
    #[serde(skip_serializing_if = "Option::is_none")]
    coverage: Option<f64>,
    /// Mean difference of `log_likelihood` from the first method, and its standard error over splits.
    #[serde(skip_serializing_if = "Option::is_none")]
    difference: Option<(f64, f64)>,
    seconds: f64,
    converged: usize,
}

/// The JSON of `compare`; scripts rely on the names.
#[derive(Serialize)]
struct Comparison {
    train: f64,
    test: f64,
    splits: usize,
    methods: Vec<Row>,
}

/// Does what was asked for.
pub fn run(args: &CompareArgs, context: &Context) -> Result<Outcome, Failure> {
    if let Some(path) = &args.csv {
        io::check_name(path, Written::Csv)?;
        io::check_target(path)?;
    }
    check_draws(args.draws)?;
    refuse_idle(args, context)?;
    let loaded = input::events(&args.train, &args.options.events)?;
    loaded.refuse_idle(context)?;
    loaded.warnings.iter().for_each(|warning| context.warn(warning));
    let events = loaded.events;
    let contenders = contenders(args, &events, context)?;
    let truth = args.truth.as_ref().map(|path| truth(path, &events)).transpose()?;
    let mut performances: Vec<Vec<Performance>> = contenders.iter().map(|_| Vec::new()).collect();
    let nowhere = Points::new(events.window().dims(), vec![])?;
    let at = truth.as_ref().map_or(&nowhere, |truth| &truth.points);
    let (mut count, mut trained, mut tested) = (0, 0.0, 0.0);
    meter::stage("splitting the events");
    let mut shares = Shares::new(&contenders, if args.heldout.is_some() { 1 } else { args.splits as usize });
    for split in splits(args, &events, context)? {
        let (train, test) = split?;
        (count, trained, tested) = (count + 1, trained + train.len() as f64, tested + test.len() as f64);
        for (place, (name, contender)) in contenders.iter().enumerate() {
            context.detail(&format!("split {count}: {name}"));
            let stage = format!("split {count}: {name}");
            let show = |part: f64| {
                meter::show(&stage, shares.done(count - 1, place, part));
                ControlFlow::Continue(())
            };
            let _ = show(0.0);
            let performed = contender.perform_watched(&train, &test, at, (args.draws, context.seed()), &show);
            performances[place].push(performed?);
        }
        shares.learn(performances.iter().map(|list| list[count - 1].seconds));
    }
    if let Some(path) = &args.csv {
        io::write_atomically(path, io::csv_text(&every_row(&contenders, &performances, truth.as_ref()))?.as_bytes())?;
        context.note(&format!("wrote {}", path.display()));
    }
    let comparison = Comparison {
        train: trained / count as f64,
        test: tested / count as f64,
        splits: count,
        methods: rows(&contenders, &performances, truth.as_ref()),
    };
    for row in comparison.methods.iter().filter(|row| row.log_likelihood.is_none()) {
        let name = &row.name;
        context.warn(&format!("{name} gives a held-out event no chance at all, so its log likelihood has no number"));
    }
    let json = json_line(&comparison)?;
    io::stdout_text(&if context.json() { json } else { comparison.table() })?;
    Ok(Outcome::Done)
}

/// What part of a split each method takes: guessed at first, then as in the last split.
struct Shares {
    seconds: Vec<f64>,
    splits: f64,
}

impl Shares {
    fn new(contenders: &[(String, Contender)], splits: usize) -> Self {
        let guess = |(_, contender): &(String, Contender)| match contender {
            Contender::Sgcp(_) => 10.0,
            Contender::Variational(_) => 1.0,
            _ => 0.01,
        };
        Self { seconds: contenders.iter().map(guess).collect(), splits: splits.max(1) as f64 }
    }

    fn learn(&mut self, seconds: impl Iterator<Item = f64>) {
        self.seconds = seconds.collect();
    }

    /// The part of everything that is done when a part of what one method does in a split is.
    fn done(&self, split: usize, place: usize, part: f64) -> f64 {
        let all: f64 = self.seconds.iter().sum();
        let so_far = self.seconds[..place].iter().sum::<f64>() + part * self.seconds[place];
        (split as f64 + so_far / all.max(f64::MIN_POSITIVE)) / self.splits
    }
}

/// Refuses options that mean nothing for these methods, or without held-out events.
fn refuse_idle(args: &CompareArgs, context: &Context) -> Result<(), Failure> {
    let has_one = |names: &[ContenderName]| args.methods.iter().any(|name| names.contains(name));
    if !has_one(&[ContenderName::Vbpp, ContenderName::Paper, ContenderName::Inducing]) {
        context.refuse_idle(Mode::OnlyRivals)?;
    }
    if !has_one(&[ContenderName::Vbpp, ContenderName::Paper, ContenderName::Inducing, ContenderName::Sgcp]) {
        context.refuse_idle(Mode::NothingSampled)?;
    }
    if args.heldout.is_none() {
        context.refuse_idle(Mode::NothingHeldOut)?;
    }
    Ok(())
}

fn contenders(args: &CompareArgs, events: &Events, context: &Context) -> Result<Vec<(String, Contender)>, Failure> {
    // Once for all: its inducing points may come out of a pipe.
    let mut made: Option<Model> = None;
    let mut model = || -> Result<Model, Failure> {
        if made.is_none() {
            made = Some(spec::model(&args.options, events.window().axes(), context)?);
        }
        Ok(made.clone().unwrap_or_default())
    };
    let mut contender = |name: ContenderName| -> Result<Contender, Failure> {
        Ok(match name {
            ContenderName::Vbpp => Contender::Variational(model()?),
            ContenderName::Paper => Contender::Variational(as_in_the_paper(on_inducing(model()?))),
            ContenderName::Inducing => Contender::Variational(on_inducing(model()?)),
            ContenderName::SmoothedWithin => Contender::Smoother(EdgeCorrection::Truncate),
            ContenderName::Smoothed => Contender::Smoother(EdgeCorrection::None),
            ContenderName::Homogeneous => Contender::Homogeneous,
            ContenderName::Sgcp => Contender::Sgcp(sgcp::Settings::default()),
        })
    };
    args.methods.iter().map(|&name| Ok((name.name(), contender(name)?))).collect()
}

/// A split: training and held-out events.
type Split = Result<(Events, Events), Failure>;

/// Training and held-out events, as often as asked for, one after the other.
fn splits<'a>(
    args: &CompareArgs,
    events: &'a Events,
    context: &Context,
) -> Result<Box<dyn Iterator<Item = Split> + 'a>, Failure> {
    if let Some(path) = &args.heldout {
        let asked = input::beside(path, &args.looks, &args.options.events);
        let held_out = input::held_out(&asked, events.window(), context)?.events;
        return Ok(Box::new(std::iter::once(Ok((events.clone(), held_out)))));
    }
    match args.splits {
        0 => Err("--splits 0 asks for nothing; take at least 1".to_string().into()),
        1..=MOST_SPLITS => {
            let seed = context.seed();
            Ok(Box::new((0..args.splits).map(move |number| Ok(halves(events, seed, number)?))))
        }
        splits => {
            Err(format!("--splits {splits} is a fit of every method as often; take at most {MOST_SPLITS}").into())
        }
    }
}

/// The table of the truth: the axes' columns by name, and the one that is left.
fn truth(path: &str, events: &Events) -> Result<Truth, Failure> {
    let axes = events.window().axes();
    let bytes = input::bytes_of(path)?;
    let header = io::read_header(io::source_name(path), &bytes, &Default::default())?;
    // Dates stand beside the numbers of the same times.
    let is_axis = |name: &str, axis: &Axis| axis.name == name || io::column_of(&header, axis) == Some(name);
    let others: Vec<&String> =
        header.iter().map(|(name, _)| name).filter(|name| !axes.iter().any(|axis| is_axis(name, axis))).collect();
    let [rate] = others[..] else {
        let names: Vec<&str> = axes.iter().map(|axis| axis.name.as_str()).collect();
        return Err(format!("{path}: needs the columns {} and one more, the rate", names.join(", ")).into());
    };
    let own_column = |axis: &Axis| io::column_of(&header, axis).unwrap_or(&axis.name).to_string();
    let columns: Vec<String> = axes.iter().map(own_column).chain([rate.clone()]).collect();
    let time_unit = axes.iter().find_map(io::time_axis).map(|time| time.unit).unwrap_or_default();
    let zone = axes.iter().find_map(io::time_axis).and_then(|time| time.zone);
    let dates = io::Dates { zone, ..Default::default() };
    let options = io::ReadOptions { columns: Some(columns), time_unit, dates, ..Default::default() };
    let mut table = io::read_bytes(io::source_name(path), &bytes, &options)?;
    for (column, axis) in axes.iter().enumerate() {
        io::onto_axis(&mut table, column, axis, false)?;
    }
    let dims = axes.len();
    let all = &table.rows;
    let points = Points::new(dims, all.chunks_exact(dims + 1).flat_map(|row| row[..dims].to_vec()).collect())?;
    let rate = all.chunks_exact(dims + 1).map(|row| row[dims]).collect();
    Ok(Truth { points, rate, volume: events.window().volume() })
}

/// A score, unless it is infinitely bad.
fn known(score: f64) -> Option<f64> {
    Some(score).filter(|score| score.is_finite())
}

fn mean(values: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    let values: Vec<f64> = values.collect::<Option<_>>()?;
    Some(values.iter().sum::<f64>() / values.len() as f64)
}

fn rows(contenders: &[(String, Contender)], all: &[Vec<Performance>], truth: Option<&Truth>) -> Vec<Row> {
    let scores = |list: &[Performance]| list.iter().map(|p| p.scores.log_likelihood).collect::<Vec<_>>();
    let first = scores(&all[0]);
    let row = |(i, (name, _)): (usize, &(String, Contender))| {
        let list = &all[i];
        let over = |pick: &dyn Fn(&Performance) -> Option<f64>| mean(list.iter().map(pick));
        Row {
            name: name.clone(),
            log_likelihood: over(&|p| known(p.scores.log_likelihood)),
            l_p: over(&|p| p.scores.l_p.and_then(known)),
            l_0: over(&|p| p.scores.l_0.and_then(known)),
            m_p: over(&|p| p.scores.m_p.and_then(|m| known(m.value))),
            m_0: over(&|p| p.scores.m_0.and_then(|m| known(m.value))),
            rms: truth.and_then(|truth| over(&|p| Some(p.rates.rms(&truth.rate)))),
            ise: truth.and_then(|truth| over(&|p| Some(p.rates.rms(&truth.rate).powi(2) * truth.volume))),
            coverage: truth.and_then(|truth| over(&|p| p.rates.coverage(&truth.rate))),
            difference: (i > 0 && list.len() > 1)
                .then(|| paired(&scores(list), &first))
                .filter(|(mean, se)| mean.is_finite() && se.is_finite()),
            seconds: over(&|p| Some(p.seconds)).unwrap_or_default(),
            converged: list.iter().filter(|p| p.converged).count(),
        }
    };
    contenders.iter().enumerate().map(row).collect()
}

/// One row a split and method.
fn every_row(contenders: &[(String, Contender)], all: &[Vec<Performance>], truth: Option<&Truth>) -> Vec<Column> {
    let flat: Vec<(u64, &String, &Performance)> = (contenders.iter().zip(all))
        .flat_map(|((name, _), list)| list.iter().enumerate().map(move |(i, p)| (i as u64 + 1, name, p)))
        .collect();
    let numbers = |name: &str, pick: &dyn Fn(&Performance) -> Option<f64>| {
        Column::Maybe(name.into(), flat.iter().map(|(_, _, p)| pick(p).and_then(known)).collect())
    };
    let mut columns = vec![
        Column::Whole("split".into(), flat.iter().map(|row| row.0).collect()),
        Column::Texts("method".into(), flat.iter().map(|row| row.1.clone()).collect()),
        numbers("log_likelihood", &|p| Some(p.scores.log_likelihood)),
        numbers("m_p", &|p| p.scores.m_p.map(|m| m.value)),
        numbers("m_p_se", &|p| p.scores.m_p.map(|m| m.se)),
        numbers("l_p", &|p| p.scores.l_p),
        numbers("l_0", &|p| p.scores.l_0),
        numbers("seconds", &|p| Some(p.seconds)),
    ];
    if let Some(truth) = truth {
        columns.push(numbers("rms", &|p| Some(p.rates.rms(&truth.rate))));
        columns.push(numbers("coverage", &|p| p.rates.coverage(&truth.rate)));
    }
    columns
}

impl Comparison {
    fn table(&self) -> String {
        let cell = |value: Option<f64>| value.map_or("–".into(), |v| format!("{v:.2}"));
        let splits = spec::plural(self.splits, "split", "splits");
        let mut text = format!("{splits}: {} events to fit, {} held out\n", brief(self.train), brief(self.test));
        text += &format!(
            "  {:<13}{:>15}{:>12}{:>12}{:>12}{:>22}{:>10}\n",
            "method", "log likelihood", "m_p", "l_p", "rms", "difference", "seconds"
        );
        for row in &self.methods {
            let difference = row.difference.map_or(String::new(), |(mean, se)| format!("{mean:+.2} ± {se:.2}"));
            text += &format!(
                "  {:<13}{:>15}{:>12}{:>12}{:>12}{difference:>22}{:>10.3}\n",
                row.name,
                cell(row.log_likelihood),
                cell(row.m_p),
                cell(row.l_p),
                row.rms.map_or("–".into(), |v| format!("{v:.4}")),
                row.seconds
            );
        }
        text
    }
}
