//! `predict`: the rate at points.

use super::meter::shown;
use super::{Context, Failure, Outcome, input, spec};
use crate::args::{Places, PredictArgs};
use crate::io::{self, Column, Given, ModelFile, Setting};
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
    context.check_table(args.output.as_deref())?;
    let model = ModelFile::read(&args.model)?;
    let points =
        place(&args.place.places, args.place.columns.as_deref(), model.posterior.window(), MOST_POINTS, context)?;
    let mut columns = coordinates(&points, model.posterior.window());
    columns.extend(rates(&model.posterior, &points, &quantiles, context)?);
    for threshold in thresholds {
        let what = format!("probabilities of more than {threshold}");
        let higher = shown(&what, context, |watch| model.posterior.exceedance_watched(&points, threshold, watch))?;
        columns.push(Column::Numbers(format!("p>{threshold}"), higher));
    }
    columns.extend(inside(&points, model.posterior.window()));
    context.emit_columns(args.output.as_deref(), &columns)?;
    Ok(Outcome::Done)
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

/// The points asked for: from (these columns of) a file, on a grid, or on a grid of the usual size.
pub fn place(
    places: &Places,
    columns: Option<&[String]>,
    window: &Window,
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
