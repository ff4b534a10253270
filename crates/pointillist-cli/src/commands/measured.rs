//! Measurements beside events: their fit, and what is predicted of them.

use super::fit::{covariates, watched};
use super::meter::shown;
use super::predict::of_thresholds;
use super::sample::Sets;
use super::{Context, Failure, Outcome, input, jointly, predict, spec};
use crate::args::FitArgs;
use crate::io::measured::{FittedMeasured, read_measurements, values_of};
use crate::io::{self, Column, ModelFile};
use crate::options::Mode;
use pointillist::measurements::{MeasuredPosterior, Measurements, ValuesAt};
use pointillist::{Error, Model, Points};

/// `fit --value COLUMN`, of the table of events or of `--measured FILE`.
pub fn fit(column: &str, args: &FitArgs, context: &Context) -> Result<Outcome, Failure> {
    let (path, bytes) = jointly::one_table(&format!("--value {column}"), "has no values", args)?;
    let mut settings = args.options.events.settings();
    if args.measured.is_none() {
        check_column(column, &path, &bytes, args)?;
        settings.type_column = Some(column.into());
    }
    let loaded = input::events_with(&path, &bytes, &settings)?;
    loaded.refuse_idle(context)?;
    context.refuse_idle(Mode::OnLattice("--value"))?;
    let (events, source, mut warnings) = (loaded.events, loaded.source, loaded.warnings);
    let refused = |error: Error| refusal(error, args);
    let measurements = match (&args.measured, &loaded.types) {
        (Some(file), _) => read_measurements(file, column, events.window().axes(), &settings.rows)?,
        (None, Some(labels)) => {
            let values = values_of(io::source_name(&path), column, labels)?;
            Measurements::new(column, events.points().clone(), values).map_err(refused)?
        }
        (None, None) => return Err(format!("--value {column}: {path} has no such column").into()),
    };
    let covariates = covariates(args, &bytes, &events, &mut warnings)?;
    let model = Model { covariates, ..spec::model(&args.options, events.window().axes(), context)? };
    let found = watched(|watch| model.fit_measured_watched(&events, &measurements, watch)).map_err(refused)?;
    let of_values = (&measurements, args.measured.is_none());
    let FittedMeasured { model, summary } = FittedMeasured::new(found, &events, of_values, source, warnings);
    jointly::tell(model, &summary, args, context)
}

/// Refuses a column that is not there, or that says where events are.
fn check_column(column: &str, path: &str, bytes: &[u8], args: &FitArgs) -> Result<(), Failure> {
    let options = &args.options.events;
    if options.trials.is_some() || options.trial_column.is_some() {
        return Err(format!("--value {column} cannot be had with trials; leave one of them out").into());
    }
    let header = io::header_of(path, bytes, &options.rows.settings())?;
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

/// The posterior of what was measured, if a model has it. Another name is refused.
pub fn asked(path: &str, model: &ModelFile, of: &str) -> Result<Option<MeasuredPosterior>, Failure> {
    let Some(found) = io::measured::measured(model).transpose()? else { return Ok(None) };
    match found.name() == of {
        true => Ok(Some(found)),
        false => Err(format!(
            "--of {of}: {path} knows the rate of the events, and {}; leave --of out, or give that",
            found.name()
        )
        .into()),
    }
}

/// What would be measured at points, and how probably it is higher than thresholds.
pub fn columns(
    posterior: &MeasuredPosterior,
    points: &Points,
    quantiles: &[f64],
    thresholds: &[f64],
) -> Result<Vec<Column>, Failure> {
    let ValuesAt { mean, sd, quantiles: plain, new_quantiles } =
        shown("values and their quantiles", |watch| posterior.values_watched(points, quantiles, watch))?;
    let mut columns = vec![Column::Numbers("mean".into(), mean), Column::Numbers("sd".into(), sd)];
    let named = |first: &str, all: Vec<Vec<f64>>| -> Vec<Column> {
        quantiles.iter().zip(all).map(|(p, values)| Column::Numbers(format!("{first}q{p}"), values)).collect()
    };
    columns.extend(named("", plain));
    columns.extend(named("new_", new_quantiles));
    if !thresholds.is_empty() {
        let [higher, new] = posterior.exceedances(points, thresholds)?;
        columns.extend(of_thresholds(thresholds, higher));
        columns.extend(of_thresholds(thresholds, new).map(|column| {
            let name = format!("new_{}", column.name());
            column.called(name)
        }));
    }
    Ok(columns)
}

/// Sets of events with what is measured at each of them. `limit` refuses too many.
pub fn event_sets(
    values: &MeasuredPosterior,
    draws: usize,
    limit: impl Fn(usize) -> Result<(), Failure>,
    context: &Context,
) -> Result<Vec<Column>, Failure> {
    let window = values.rate().window();
    limit((values.rate().expected(window)?.max(1.0) * draws as f64) as usize)?;
    let Sets { numbers, coordinates, marks } = Sets::of(draws, |draw| values.sample_events(context.seed(), draw))?;
    let points = Points::new(window.dims(), coordinates)?;
    let own = vec![Column::Whole("draw".into(), numbers)];
    let mut columns = predict::apart_as("set_", own, window, context);
    columns.extend(predict::coordinates(&points, window));
    columns.push(Column::Numbers(values.name().into(), marks));
    Ok(columns)
}

/// Refuses options of rates where values are meant: each with whether it is given.
pub fn refuse_rates(name: &str, options: &[(&str, bool)]) -> Result<(), Failure> {
    match options.iter().find(|(_, is_given)| *is_given) {
        Some((option, _)) => Err(format!("{option} is of rates, and {name} is no rate; leave it or --of out").into()),
        None => Ok(()),
    }
}
