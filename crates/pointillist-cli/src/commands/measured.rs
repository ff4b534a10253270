//! Measurements beside events: their fit, and what is predicted of them.

use super::fit::{say, watched, write};
use super::meter::shown;
use super::{Context, Failure, Outcome, input, json_line, spec};
use crate::args::FitArgs;
use crate::io::measured::{FittedMeasured, MeasuredSummary, read_measurements, values_of};
use crate::io::{self, Column, ModelFile};
use crate::options::Mode;
use pointillist::measurements::{MeasuredPosterior, Measurements, ValuesAt};
use pointillist::{Error, Points};
use serde::Deserialize;

/// `fit --value COLUMN`, of the table of events or of `--measured FILE`.
pub fn fit(column: &str, args: &FitArgs, context: &Context) -> Result<Outcome, Failure> {
    let [path] = &args.events[..] else {
        return Err(format!("--value {column} needs one table of events; join the tables").into());
    };
    let opened = input::open(path)?;
    if opened.is_summary() {
        return Err(
            format!("--value {column}: {path} is a summary, which has no values; give the table of events").into()
        );
    }
    let bytes = opened.table()?;
    let mut settings = args.options.events.settings();
    if args.measured.is_none() {
        check_column(column, path, &bytes, args)?;
        settings.type_column = Some(column.into());
    }
    let loaded = input::events_with(path, &bytes, &settings)?;
    loaded.refuse_idle(context)?;
    context.refuse_idle(Mode::OnLattice("--value"))?;
    let (events, source, warnings) = (loaded.events, loaded.source, loaded.warnings);
    let refused = |error: Error| refusal(error, args);
    let measurements = match (&args.measured, &loaded.types) {
        (Some(file), _) => read_measurements(file, column, events.window().axes(), &settings.rows)?,
        (None, Some(labels)) => {
            let values = values_of(io::source_name(path), column, labels)?;
            Measurements::new(column, events.points().clone(), values).map_err(refused)?
        }
        (None, None) => return Err(format!("--value {column}: {path} has no such column").into()),
    };
    let model = spec::model(&args.options, events.window().axes(), context)?;
    let found = watched(|watch| model.fit_measured_watched(&events, &measurements, watch)).map_err(refused)?;
    let mut fitted = FittedMeasured::new(found, &events, (&measurements, args.measured.is_none()), source, warnings);
    fitted.model.command = Some(context.typed.command().into());
    fitted.summary.warnings.iter().for_each(|warning| context.warn(warning));
    json_line(&fitted.summary)?;
    if let Some(path) = &args.output {
        write(&fitted.model, path)?;
    }
    say(args, context, || match context.json() {
        true => json_line(&fitted.summary),
        false => Ok(fitted.summary.text(&fitted.model.source)),
    })?;
    Ok(if fitted.summary.converged { Outcome::Done } else { Outcome::NotConverged })
}

/// Refuses a column that is not there, or that says where events are.
fn check_column(column: &str, path: &str, bytes: &[u8], args: &FitArgs) -> Result<(), Failure> {
    let options = &args.options.events;
    if options.trials.is_some() || options.trial_column.is_some() {
        return Err(format!("--value {column} cannot be had with trials; leave one of them out").into());
    }
    let header = io::read_header(io::source_name(path), bytes, &Default::default())?;
    if !header.iter().any(|(name, _)| name.eq_ignore_ascii_case(column)) {
        let names = header.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ");
        return Err(format!("--value {column}: {path} has no such column, only {names}; name one of them, or give a table of measurements with --measured FILE").into());
    }
    if options.settings().columns.iter().flatten().any(|own| own.eq_ignore_ascii_case(column)) {
        return Err(format!("--value {column} is a coordinate too; leave it out of --columns").into());
    }
    Ok(())
}

/// A refusal of the library in words of the command.
fn refusal(error: Error, args: &FitArgs) -> Failure {
    match error {
        Error::Setting { name, value, requirement } if name == "value" => {
            format!("--value: {value} {requirement}").into()
        }
        other => spec::fault(other, &args.options),
    }
}

/// What a fit of events and measurements said, from its file.
pub fn show(path: &str, model: &ModelFile, context: &Context) -> Result<Outcome, Failure> {
    let summary = MeasuredSummary::deserialize(&model.summary)
        .map_err(|error| format!("{path}: its summary makes no sense ({error}); fit again"))?;
    summary.warnings.iter().for_each(|warning| context.warn(warning));
    let text = if context.json() { json_line(&summary)? } else { summary.text(&model.source) };
    io::stdout_text(&text)?;
    Ok(Outcome::Done)
}

/// The posterior of what was measured, if a model has it and it is what is asked for.
pub fn asked(path: &str, model: &ModelFile, of: Option<&str>) -> Result<Option<MeasuredPosterior>, Failure> {
    let (Some(found), Some(of)) = (io::measured::measured(model), of) else { return Ok(None) };
    let found = found?;
    match found.name() == of {
        true => Ok(Some(found)),
        false => Err(format!(
            "--of {of}: {path} knows the rate of the events, and {}; leave --of out, or give that",
            found.name()
        )
        .into()),
    }
}

/// What would be measured at points.
pub fn columns(posterior: &MeasuredPosterior, points: &Points, quantiles: &[f64]) -> Result<Vec<Column>, Failure> {
    let ValuesAt { mean, sd, quantiles: plain, new_quantiles } =
        shown("values and their quantiles", |watch| posterior.values_watched(points, quantiles, watch))?;
    let mut columns = vec![Column::Numbers("mean".into(), mean), Column::Numbers("sd".into(), sd)];
    let named = |first: &str, all: Vec<Vec<f64>>| -> Vec<Column> {
        quantiles.iter().zip(all).map(|(p, values)| Column::Numbers(format!("{first}q{p}"), values)).collect()
    };
    columns.extend(named("", plain));
    columns.extend(named("new_", new_quantiles));
    Ok(columns)
}
