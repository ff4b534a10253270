//! `predict`: the rate at points.

use super::layers::{self, Cells, Format};
use super::meter::shown;
use super::{Context, Failure, Outcome, components, figure, input, spec};
use crate::args::{Places, PredictArgs};
use crate::io::{self, Column, Given, ModelFile, Setting, Written};
use crate::options::Mode;
use pointillist::{Points, Posterior, Rate, Window};

/// Most points of a grid: more would be gigabytes of text.
const MOST_POINTS: usize = 10_000_000;

/// Does what was asked for.
pub fn run(args: &PredictArgs, context: &Context) -> Result<Outcome, Failure> {
    if args.place.places.at.is_none() {
        context.refuse_idle(Mode::NoFileOfPoints)?;
    }
    let (quantiles, thresholds) = (spec::quantiles(&args.quantiles)?, spec::thresholds(&args.exceed)?);
    let (places, output) = (&args.place.places, args.output.as_deref());
    let format = Format::of(output, Written::Rates, context)?;
    let mut model = ModelFile::read(&args.model)?;
    model.posterior = io::covariates::set(&model.posterior, &args.set)?;
    let posterior = &model.posterior;
    if let (Format::GeoTiff | Format::GeoJson, Some(path)) = (format, output) {
        layers::check_axes(posterior.window(), path, 2)?;
    }
    let answers = |points: &Points| match args.components {
        true => components::columns(posterior, points, &args.quantiles),
        false => answers(posterior, points, &quantiles, &thresholds, context),
    };
    if let (Format::GeoTiff | Format::GeoJson, None, Some(path)) = (format, &places.at, output) {
        let cells = Cells::new(&model, places.grid.as_deref(), MOST_POINTS)?;
        let columns = answers(&cells.points)?;
        let bytes = match format {
            Format::GeoTiff => cells.geotiff(&columns, context)?,
            _ => cells.geojson(&columns, context)?.into_bytes(),
        };
        context.emit_file(path, &bytes)?;
        return Ok(Outcome::Done);
    }
    if format == Format::GeoTiff {
        return Err("a GeoTIFF is a grid of cells, and --at gives points; write .csv or .geojson, or leave it out"
            .to_string()
            .into());
    }
    // So many that a cycle is not seen as a slower one.
    let fine = figure::points_needed(posterior);
    let points = place(places, args.place.columns.as_deref(), (posterior.window(), fine), MOST_POINTS, context)?;
    let columns: Vec<Column> = answers(&points)?.into_iter().chain(inside(&points, posterior.window())).collect();
    match output.filter(|_| format == Format::GeoJson) {
        Some(path) => context.emit_file(path, layers::points(&model, &points, &columns, context)?.as_bytes())?,
        None => context.emit_columns(output, &[coordinates(&points, posterior.window()), columns].concat())?,
    }
    Ok(Outcome::Done)
}

/// What is asked of the rate at each point.
fn answers(
    posterior: &Posterior,
    points: &Points,
    quantiles: &[f64],
    thresholds: &[f64],
    context: &Context,
) -> Result<Vec<Column>, Failure> {
    let mut columns = rates(posterior, points, quantiles, context)?;
    if !thresholds.is_empty() {
        let higher = shown("probabilities of higher rates", context, |watch| {
            posterior.exceedances_watched(points, thresholds, watch)
        })?;
        let named = thresholds.iter().zip(higher);
        columns.extend(named.map(|(threshold, higher)| Column::Numbers(format!("p>{threshold}"), higher)));
    }
    Ok(columns)
}

/// Mean, standard deviation and quantiles.
fn rates(
    posterior: &Posterior,
    points: &Points,
    probabilities: &[f64],
    context: &Context,
) -> Result<Vec<Column>, Failure> {
    let (Rate { mean, sd }, quantiles) = shown("rates and their quantiles", context, |watch| {
        posterior.rate_and_quantiles_watched(points, probabilities, watch)
    })?;
    let mut columns = vec![Column::Numbers("mean".into(), mean), Column::Numbers("sd".into(), sd)];
    columns.extend(probabilities.iter().zip(quantiles).map(|(p, values)| Column::Numbers(format!("q{p}"), values)));
    Ok(columns)
}

/// The points asked for: from (these columns of) a file, on a grid, or on a grid of the usual size, on a line with at least `fine` points.
pub fn place(
    places: &Places,
    columns: Option<&[String]>,
    (window, fine): (&Window, usize),
    most: usize,
    context: &Context,
) -> Result<Points, Failure> {
    let axes = window.axes();
    if let Some(path) = &places.at {
        let points = input::points(path, columns, axes, &Default::default())?.points;
        let outside = points.rows().filter(|row| !window.contains(row)).count();
        if outside > 0 {
            let (total, shown) = (points.len(), io::show_window(window));
            context.warn(&format!(
                "{outside} of {total} points lie outside the window {shown}: the model says little there"
            ));
        }
        return Ok(points);
    }
    let counts = match &places.grid {
        Some(text) => io::spec::counts(Given { setting: Setting::Grid, text }, axes)?,
        None if axes.len() == 1 => vec![fine.clamp(200, 20_000)],
        None => vec![[200, 50, 20].get(axes.len() - 1).copied().unwrap_or(8); axes.len()],
    };
    let total: usize = counts.iter().product();
    if total > most {
        let text = places.grid.as_deref().unwrap_or_default();
        return Err(format!("--grid {text} has {total} points; ask for at most {most}").into());
    }
    Ok(window.grid(&counts))
}

/// Which points lie inside the window, 1 or 0; no column where all do.
pub fn inside(points: &Points, window: &Window) -> Option<Column> {
    let inside: Vec<u64> = points.rows().map(|row| window.contains(row).into()).collect();
    inside.contains(&0).then(|| Column::Whole("inside".into(), inside))
}

/// The coordinates as columns, on the globe in degrees, then the dates of those that are time.
pub fn coordinates(points: &Points, window: &Window) -> Vec<Column> {
    let axes = window.axes();
    let numbers = axes.iter().enumerate().map(|(r, axis)| {
        Column::Numbers(axis.name.clone(), points.axis(r).iter().map(|&v| io::geography::outward(axis, v)).collect())
    });
    let dates = axes.iter().enumerate().filter_map(|(r, axis)| {
        let time = io::time_axis(axis)?;
        Some(Column::Texts(format!("{}_iso", axis.name), points.axis(r).iter().map(|&v| time.to_iso(v)).collect()))
    });
    numbers.chain(dates).collect()
}
