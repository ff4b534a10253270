//! `count`: the numbers of events in regions.

use super::layers::{self, Format};
use super::predict::warn_of_ruled_means;
use super::score::check_draws;
use super::summary::{brief, is_repeated};
use super::types::{Chosen, stacked, which};
use super::{Context, Failure, Outcome, json_line, meter, spec};
use crate::args::CountArgs;
use crate::io::types::TypesModel;
use crate::io::{self, Column, ModelFile, Region, Written};
use crate::spelling::spelled;
use pointillist::watch::{CountProgress, CountStage, CountWatch};
use pointillist::window::Span;
use pointillist::{Axis, JointCounts, Posterior, Window};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// What is said while nothing is known of it yet.
const COUNTING: &str = "counting";

/// The JSON of one region; scripts rely on the names.
#[derive(Serialize)]
pub(super) struct Answer {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(skip_serializing_if = "serde_json::Map::is_empty")]
    properties: serde_json::Map<String, Value>,
    /// The box around what is counted, `[lo, hi]` for each axis; on the globe in degrees.
    region: Vec<[f64; 2]>,
    /// The same as dates, by the names of the axes that have them.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    dates: BTreeMap<String, [String; 2]>,
    #[serde(flatten)]
    pub(super) expected: Moments,
    new_count: Moments,
    /// How many events of the fit lie there, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    seen: Option<u64>,
}

/// A random number, told by a few.
#[derive(Serialize)]
pub(super) struct Moments {
    pub(super) mean: f64,
    pub(super) sd: f64,
    pub(super) quantiles: BTreeMap<String, f64>,
}

/// Does what was asked for.
pub fn run(args: &CountArgs, context: &Context) -> Result<Outcome, Failure> {
    let probabilities = spec::quantiles(&args.quantiles)?;
    check_draws(args.draws)?;
    warn_of_few_draws(&probabilities, args.draws, context);
    let format = Format::of(args.output.as_deref(), Written::Counts, context)?;
    let model = match Chosen::read_with(&args.model, args.of.as_deref(), &args.set, context)? {
        Chosen::All(types) => return run_of_types(&types, &probabilities, format, args, context),
        chosen => chosen.one(&args.model)?,
    };
    let posterior = &model.posterior;
    if let (Format::GeoJson, Some(path)) = (format, &args.output) {
        layers::check_axes(posterior.window(), path, usize::MAX)?;
    }
    let (regions, answers) = answered(&model, &probabilities, args, context)?;
    let trial = if is_repeated(posterior.window()) { ", one trial" } else { "" };
    let json = match &answers[..] {
        [answer] => json_line(answer)?,
        answers => json_line(&BTreeMap::from([("regions", answers)]))?,
    };
    let text = match (context.json(), &answers[..]) {
        (true, _) => json,
        (false, answers) if format == Format::GeoJson => {
            let columns = columns(&regions, answers, &probabilities, posterior.window().axes(), format);
            layers::regions(&model, &regions, &columns, context)?
        }
        (false, answers) if args.output.is_some() => {
            io::csv_text(&columns(&regions, answers, &probabilities, posterior.window().axes(), format))?
        }
        (false, answers) => {
            let name = |region: &Region| format!("{}{trial}", region.name);
            regions.iter().zip(answers).map(|(region, answer)| table(&name(region), answer, &probabilities)).collect()
        }
    };
    context.emit(args.output.as_deref(), &text)?;
    Ok(Outcome::Done)
}

/// What is asked of the regions under one model.
fn answered(
    model: &ModelFile,
    probabilities: &[f64],
    args: &CountArgs,
    context: &Context,
) -> Result<(Vec<Region>, Vec<Answer>), Failure> {
    let posterior = &model.posterior;
    let beyond = args.exposure_beyond;
    let regions = regions((&args.regions, args.every.as_deref(), beyond), posterior, context)?;
    let counts = joint_counts(posterior, &regions, args.draws, context.seed())?;
    let seen = io::regions::seen_in_each(&regions, model);
    let answer = |(number, (region, seen)): (usize, (&Region, Option<u64>))| Answer {
        seen,
        ..answer(region, &counts, number, probabilities)
    };
    let answers: Vec<Answer> = regions.iter().zip(seen).enumerate().map(answer).collect();
    let moments = answers.iter().map(|answer| (answer.expected.mean, answer.expected.sd));
    warn_of_ruled_means(["in", "regions"], moments, context);
    Ok((regions, answers))
}

/// The same for each type of a model, one after the other.
fn run_of_types(
    types: &TypesModel,
    probabilities: &[f64],
    format: Format,
    args: &CountArgs,
    context: &Context,
) -> Result<Outcome, Failure> {
    if format == Format::GeoJson {
        return Err(which(&args.model, types));
    }
    let names: Vec<&str> = types.types.names().iter().map(String::as_str).collect();
    let (mut text, mut tables, mut all) = (String::new(), vec![], vec![]);
    for (kind, name) in names.iter().enumerate() {
        let model = types.one(kind)?;
        let (regions, answers) = answered(&model, probabilities, args, context)?;
        for (region, answer) in regions.iter().zip(&answers) {
            text += &table(&format!("{}, {name}", region.name), answer, probabilities);
        }
        tables.push(columns(&regions, &answers, probabilities, model.posterior.window().axes(), format));
        all.push(serde_json::json!({ "type": name, "regions": answers }));
    }
    let json = json_line(&BTreeMap::from([("types", all)]))?;
    let text = match args.output.is_some() {
        _ if context.json() => json,
        true => io::csv_text(&stacked(&names, tables))?,
        false => text,
    };
    context.emit(args.output.as_deref(), &text)?;
    Ok(Outcome::Done)
}

/// Beyond its first and last draw a sample knows nothing.
pub(super) fn warn_of_few_draws(probabilities: &[f64], draws: usize, context: &Context) {
    if let Some(p) = probabilities.iter().find(|p| p.min(1.0 - **p) * (draws as f64) < 1.0) {
        let needed = (1.0 / p.min(1.0 - p)).round();
        context.warn(&format!(
            "the quantile {p} is that of {draws} draws; for a better one take {needed} --draws or more"
        ));
    }
}

/// Joint draws for all regions, with a meter.
pub(super) fn joint_counts(
    posterior: &Posterior,
    regions: &[Region],
    samples: usize,
    seed: u64,
) -> Result<JointCounts, Failure> {
    let windows: Vec<Window> = regions.iter().map(|region| region.window.clone()).collect();
    counting(|watch| posterior.joint_counts_watched(&windows, samples, seed, watch))
}

/// The next stage of the line of progress: work on counts.
pub(super) fn counting<T>(work: impl FnOnce(&mut CountWatch<'_>) -> pointillist::Result<T>) -> Result<T, Failure> {
    meter::stage(COUNTING);
    let found = work(&mut |progress| {
        let CountProgress { stage, done } = progress;
        let what = match stage {
            CountStage::Draws => "counting, draws of the intensity",
            CountStage::Regions => "counting, the regions",
            CountStage::Sums => "counting, sums over the regions",
        };
        meter::show(what, done);
        ControlFlow::Continue(())
    });
    Ok(found?)
}

/// The regions asked for, each as it is counted; the whole window if none is.
pub(super) fn regions(
    (texts, every, exposure_beyond): (&[String], Option<&str>, Option<f64>),
    posterior: &Posterior,
    context: &Context,
) -> Result<Vec<Region>, Failure> {
    let mut regions = Vec::new();
    let mut groups = io::regions::regions(texts, every, posterior.window())?;
    if let Some(exposure) = exposure_beyond {
        io::regions::expose_beyond(&mut groups, exposure, posterior)?;
    }
    for group in groups {
        let (counted, said) = io::regions::counted(group, posterior)?;
        said.iter().for_each(|message| context.warn(&spelled(message)));
        regions.extend(counted);
    }
    Ok(regions)
}

/// What is said of one of the regions.
pub(super) fn answer(region: &Region, counts: &JointCounts, number: usize, probabilities: &[f64]) -> Answer {
    let exact = counts.moments()[number];
    let named = |values: Vec<f64>| probabilities.iter().map(f64::to_string).zip(values).collect();
    let spans = region.counted.bounding_box();
    let dates = region.counted.axes().iter().zip(&spans).filter_map(|(axis, span)| {
        let time = io::time_axis(axis)?;
        Some((axis.name.clone(), [time.to_iso(span.lo), time.to_iso(span.hi)]))
    });
    Answer {
        name: region.is_named.then(|| region.name.clone()),
        properties: region.properties.iter().cloned().collect(),
        region: spans.iter().zip(region.counted.axes()).map(ends).collect(),
        dates: dates.collect(),
        expected: Moments { mean: exact.mean, sd: exact.sd, quantiles: named(counts.quantiles(number, probabilities)) },
        new_count: Moments {
            mean: exact.mean,
            // A Poisson number with a random mean: its own variance, and the mean's.
            sd: (exact.mean + exact.sd * exact.sd).sqrt(),
            quantiles: named(counts.new_count_quantiles(number, probabilities)),
        },
        seen: None,
    }
}

/// The ends of a span as people know them.
fn ends((span, axis): (&Span, &Axis)) -> [f64; 2] {
    [span.lo, span.hi].map(|end| io::geography::outward(axis, end))
}

fn table(name: &str, answer: &Answer, probabilities: &[f64]) -> String {
    let row = |name: &str, moments: &Moments| {
        let quantiles: String =
            probabilities.iter().map(|p| format!(" {:>11}", brief(moments.quantiles[&p.to_string()]))).collect();
        format!("  {name:<10} {:>11} {:>11}{quantiles}\n", brief(moments.mean), brief(moments.sd))
    };
    let names: String = probabilities.iter().map(|p| format!(" {:>11}", format!("q{p}"))).collect();
    let head = format!("in {name}\n  {:<10} {:>11} {:>11}{names}\n", "", "mean", "sd");
    let seen = answer.seen.map_or(String::new(), |seen| format!("  {:<10} {seen:>11}\n", "seen"));
    head + &row("expected", &answer.expected) + &row("new count", &answer.new_count) + &seen
}

/// One row for each region: its name and properties, the ends of the box around it, what is expected there, and a new count; on a map also the area
/// that is counted.
fn columns(
    regions: &[Region],
    answers: &[Answer],
    probabilities: &[f64],
    axes: &[Axis],
    format: Format,
) -> Vec<Column> {
    let mut columns = vec![Column::Texts("region".into(), regions.iter().map(row_name).collect())];
    let numbers = |name: String, of: &dyn Fn(&Answer) -> f64| Column::Numbers(name, answers.iter().map(of).collect());
    let mut results = Vec::new();
    for (r, axis) in axes.iter().enumerate() {
        for (side, end) in ["lo", "hi"].into_iter().enumerate() {
            results.push(numbers(format!("{}_{end}", axis.name), &|answer| answer.region[r][side]));
        }
    }
    for axis in axes.iter().filter(|axis| io::time_axis(axis).is_some()) {
        for (side, end) in ["lo", "hi"].into_iter().enumerate() {
            let dates = answers.iter().map(|answer| answer.dates[&axis.name][side].clone()).collect();
            results.push(Column::Texts(format!("{}_{end}_iso", axis.name), dates));
        }
    }
    for prefix in ["", "new_"] {
        results.push(numbers(format!("{prefix}mean"), &|answer| moments(answer, prefix).mean));
        results.push(numbers(format!("{prefix}sd"), &|answer| moments(answer, prefix).sd));
        for p in probabilities {
            let key = p.to_string();
            results.push(numbers(format!("{prefix}q{p}"), &|answer| moments(answer, prefix).quantiles[&key]));
        }
    }
    if let Some(seen) = answers.iter().map(|answer| answer.seen).collect() {
        results.push(Column::Whole("seen".into(), seen));
    }
    if format == Format::GeoJson && axes.len() == 2 {
        let areas = regions.iter().map(|region| region.counted.volume()).collect();
        results.push(Column::Numbers("area".into(), areas));
    }
    columns.extend(properties(regions, &results));
    columns.extend(results);
    columns
}

/// The name of a region in a row: one that is a place without commas, which would have to be quoted, as in `8 to 9 by 47 to 48`.
fn row_name(region: &Region) -> String {
    if region.is_named {
        return region.name.clone();
    }
    let spans = |window: &Window| {
        let span =
            |(span, axis): (&Span, &Axis)| format!("{} to {}", io::place(axis, span.lo), io::place(axis, span.hi));
        window.bounding_box().iter().zip(window.axes()).map(span).collect::<Vec<_>>().join(" by ")
    };
    match region.window.is_one_box() {
        true => spans(&region.window),
        false => format!("within {}", spans(&region.window)),
    }
}

/// What the columns with this prefix tell of.
fn moments<'a>(answer: &'a Answer, prefix: &str) -> &'a Moments {
    if prefix.is_empty() { &answer.expected } else { &answer.new_count }
}

/// A column for each property that any region has; one that is called as a column of results gets another name.
fn properties(regions: &[Region], results: &[Column]) -> Vec<Column> {
    let mut names: Vec<&String> = Vec::new();
    for (name, _) in regions.iter().flat_map(|region| &region.properties) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let column = |name: &&String| {
        let of = |region: &Region| {
            let found = region.properties.iter().find(|(own, _)| own == *name);
            found.map_or(Value::Null, |(_, value)| value.clone())
        };
        let values: Vec<Value> = regions.iter().map(of).collect();
        let taken = *name == "region" || results.iter().any(|column| column.name() == name.as_str());
        let name = if taken { format!("property_{name}") } else { name.to_string() };
        match values.iter().map(Value::as_f64).collect::<Option<Vec<f64>>>() {
            Some(numbers) => Column::Numbers(name, numbers),
            None => Column::Texts(name, values.iter().map(io::regions::plain).collect()),
        }
    };
    names.iter().map(column).collect()
}
