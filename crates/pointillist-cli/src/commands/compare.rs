//! `compare`: every method on the same events, scored in the same way.

use super::score::check_samples;
use super::{Context, Failure, Outcome, input, json_line, spec};
use crate::args::CompareArgs;
use crate::io::{self, Column, Written};
use pointillist::baseline::{EdgeCorrection, sgcp};
use pointillist::compare::{Contender, Performance, halves, paired};
use pointillist::{Axis, Events, Model, Points};
use serde::Serialize;

/// The names of the methods.
const METHODS: [&str; 6] = ["vbpp", "averaged", "ks+ec", "ks-ec", "homogeneous", "sgcp"];

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
    log_likelihood: f64,
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
    check_samples(args.samples)?;
    let loaded = input::events(&args.train, &args.options.events)?;
    loaded.warnings.iter().for_each(|warning| context.warn(warning));
    let events = loaded.events;
    let contenders = contenders(args, &events)?;
    let truth = args.truth.as_ref().map(|path| truth(path, &events)).transpose()?;
    let splits = splits(args, events, context)?;
    let mut performances: Vec<Vec<Performance>> = contenders.iter().map(|_| Vec::new()).collect();
    let nowhere = Points::new(splits[0].0.window().dims(), vec![])?;
    let at = truth.as_ref().map_or(&nowhere, |truth| &truth.points);
    for (number, (train, test)) in splits.iter().enumerate() {
        for ((name, contender), list) in contenders.iter().zip(&mut performances) {
            context.detail(&format!("split {}: {name}", number + 1));
            list.push(contender.perform(train, test, at, args.samples, context.seed())?);
        }
    }
    if let Some(path) = &args.csv {
        io::write_atomically(path, io::csv_text(&every_row(&contenders, &performances, truth.as_ref())).as_bytes())?;
        context.note(&format!("wrote {}", path.display()));
    }
    let mean =
        |size: &dyn Fn(&(Events, Points)) -> usize| splits.iter().map(size).sum::<usize>() as f64 / splits.len() as f64;
    let comparison = Comparison {
        train: mean(&|split| split.0.len()),
        test: mean(&|split| split.1.len()),
        splits: splits.len(),
        methods: rows(&contenders, &performances, truth.as_ref()),
    };
    io::stdout_text(&if context.json() { json_line(&comparison)? } else { comparison.table() })?;
    Ok(Outcome::Done)
}

fn contenders(args: &CompareArgs, events: &Events) -> Result<Vec<(String, Contender)>, Failure> {
    // Once for all: its inducing points may come out of a pipe.
    let mut made: Option<Model> = None;
    let mut model = || -> Result<Model, Failure> {
        if made.is_none() {
            made = Some(spec::model(&args.options, events.window().axes())?);
        }
        Ok(made.clone().unwrap_or_default())
    };
    let mut contender = |name: &String| -> Result<Contender, Failure> {
        Ok(match name.as_str() {
            "vbpp" => Contender::Variational(model()?),
            "averaged" => Contender::Averaged(model()?),
            "ks+ec" => Contender::Smoother(EdgeCorrection::Truncate),
            "ks-ec" => Contender::Smoother(EdgeCorrection::None),
            "homogeneous" => Contender::Homogeneous,
            "sgcp" => Contender::Sgcp(sgcp::Settings::default()),
            _ => return Err(format!("--methods: `{name}` is none of {}", METHODS.join(", ")).into()),
        })
    };
    args.methods.iter().map(|name| Ok((name.clone(), contender(name)?))).collect()
}

/// Training and held-out events, as often as asked for.
fn splits(args: &CompareArgs, events: Events, context: &Context) -> Result<Vec<(Events, Points)>, Failure> {
    if let Some(path) = &args.test {
        let test = input::events_in(
            path,
            None,
            events.window(),
            args.options.events.clip,
            &args.options.events.rows,
            context,
        )?;
        return Ok(vec![(events, test)]);
    }
    if args.splits == 0 {
        return Err("--splits 0 asks for nothing; take at least 1".to_string().into());
    }
    (0..args.splits).map(|number| Ok(halves(&events, context.seed(), number)?)).collect()
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
    let options = io::ReadOptions { columns: Some(columns), time_unit, ..Default::default() };
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
            log_likelihood: over(&|p| Some(p.scores.log_likelihood)).unwrap_or(f64::NAN),
            l_p: over(&|p| p.scores.l_p),
            l_0: over(&|p| p.scores.l_0),
            m_p: over(&|p| p.scores.m_p.map(|m| m.value)),
            m_0: over(&|p| p.scores.m_0.map(|m| m.value)),
            rms: truth.and_then(|truth| over(&|p| Some(p.rates.rms(&truth.rate)))),
            ise: truth.and_then(|truth| over(&|p| Some(p.rates.rms(&truth.rate).powi(2) * truth.volume))),
            coverage: truth.and_then(|truth| over(&|p| p.rates.coverage(&truth.rate))),
            difference: (i > 0 && list.len() > 1).then(|| paired(&scores(list), &first)),
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
    let numbers = |name: &str, pick: &dyn Fn(&Performance) -> f64| {
        Column::Numbers(name.into(), flat.iter().map(|(_, _, p)| pick(p)).collect())
    };
    let mut columns = vec![
        Column::Whole("split".into(), flat.iter().map(|row| row.0).collect()),
        Column::Texts("method".into(), flat.iter().map(|row| row.1.clone()).collect()),
        numbers("log_likelihood", &|p| p.scores.log_likelihood),
        numbers("m_p", &|p| p.scores.m_p.map_or(f64::NAN, |m| m.value)),
        numbers("m_p_se", &|p| p.scores.m_p.map_or(f64::NAN, |m| m.se)),
        numbers("l_p", &|p| p.scores.l_p.unwrap_or(f64::NAN)),
        numbers("l_0", &|p| p.scores.l_0.unwrap_or(f64::NAN)),
        numbers("seconds", &|p| p.seconds),
    ];
    if let Some(truth) = truth {
        columns.push(numbers("rms", &|p| p.rates.rms(&truth.rate)));
        columns.push(numbers("coverage", &|p| p.rates.coverage(&truth.rate).unwrap_or(f64::NAN)));
    }
    columns
}

impl Comparison {
    fn table(&self) -> String {
        let cell = |value: Option<f64>| value.map_or("–".into(), |v| format!("{v:.2}"));
        let splits = spec::plural(self.splits, "split", "splits");
        let mut text = format!("{splits}: {} events to fit, {} held out\n", self.train, self.test);
        text += &format!(
            "  {:<13}{:>15}{:>12}{:>12}{:>12}{:>22}{:>10}\n",
            "method", "log likelihood", "m_p", "l_p", "rms", "difference", "seconds"
        );
        for row in &self.methods {
            let difference = row.difference.map_or(String::new(), |(mean, se)| format!("{mean:+.2} ± {se:.2}"));
            text += &format!(
                "  {:<13}{:>15.2}{:>12}{:>12}{:>12}{difference:>22}{:>10.3}\n",
                row.name,
                row.log_likelihood,
                cell(row.m_p),
                cell(row.l_p),
                row.rms.map_or("–".into(), |v| format!("{v:.4}")),
                row.seconds
            );
        }
        text
    }
}
