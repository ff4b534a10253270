//! `predict`: the rate at points.

use super::layers::{self, Cells, Format};
use super::meter::shown;
use super::summary::rate_unit;
use super::types::{Chosen, held, shares, stacked, which};
use super::{Context, Failure, Outcome, components, contrast, figure, input, measured, spec};
use crate::args::{Places, PredictArgs};
use crate::io::types::{Of, TypesModel};
use crate::io::{self, Column, Given, ModelFile, Setting, Written};
use crate::options::Mode;
use crate::spelling::spelled;
use pointillist::estimates::RateRatio;
use pointillist::{Points, Posterior, Rate, Window};

/// Most points of a grid: more would be gigabytes of text.
const MOST_POINTS: usize = 10_000_000;

/// What to do about models that cannot be held over each other.
const SAME_WINDOW: &str = "fit both with the same --window";

/// Does what was asked for.
pub fn run(args: &PredictArgs, context: &Context) -> Result<Outcome, Failure> {
    if args.place.places.at.is_none() {
        context.refuse_idle(Mode::NoFileOfPoints)?;
    }
    let (quantiles, thresholds) =
        (spec::quantiles(&args.quantiles)?, spec::thresholds(&args.exceed, f64::NEG_INFINITY)?);
    let (places, output) = (&args.place.places, args.output.as_deref());
    let format = Format::of(output, Written::Rates, context)?;
    let model = held(ModelFile::read_any(&args.model)?, &args.set, context)?;
    let chosen = Chosen::new(&args.model, model, args.of.as_deref())?;
    if !matches!(chosen, Chosen::Values(..)) {
        // What was measured may be below 0, a rate may not.
        spec::thresholds(&args.exceed, 0.0)?;
    }
    if args.shares || matches!(chosen, Chosen::All(_)) {
        return run_of_types(args, (&quantiles, &thresholds), format, context);
    }
    let (model, is_ratio, values) = match chosen {
        Chosen::Ratio(model) => (model, true, None),
        Chosen::Values(model, values) => (model, false, Some(values)),
        chosen => (chosen.one(&args.model)?, false, None),
    };
    if let Some(values) = &values {
        let given = [("--components", args.components)];
        measured::refuse_rates(values.name(), &given)?;
    }
    let posterior = &model.posterior;
    if let (Format::GeoTiff | Format::GeoJson, Some(path)) = (format, output) {
        layers::check_axes(posterior.window(), path, 2)?;
    }
    let other = args.over.as_deref().map(ModelFile::read).transpose()?;
    if let (Some(over), [text, ..]) = (&args.over, &args.set[..]) {
        let model = &args.model;
        return Err(format!(
            "--set {text} would change {model} and not {over}, so that the ratio compares different places; leave --set or --over out"
        )
        .into());
    }
    let other = other.map(|other| Other::new((&args.model, &model), args, other, context)).transpose()?;
    let answers = |points: &Points| match (&other, &values) {
        (Some(other), _) => other.ratios(posterior, points, &quantiles, &thresholds, context),
        (None, Some(values)) => measured::columns(values, points, &quantiles, &thresholds),
        _ if args.components => components::columns(posterior, points, &args.quantiles),
        _ if is_ratio => {
            let columns = answers(posterior, points, &quantiles, &thresholds)?;
            Ok(columns.into_iter().map(as_ratio).collect())
        }
        _ => answers(posterior, points, &quantiles, &thresholds),
    };
    let unit =
        if other.is_some() || is_ratio || values.is_some() { String::new() } else { rate_unit(posterior.window()) };
    if let (Format::GeoTiff | Format::GeoJson, None, Some(path)) = (format, &places.at, output) {
        let cells = Cells::new(&model, places.grid.as_deref(), MOST_POINTS)?;
        let columns = apart(answers(&cells.points)?, posterior.window(), context);
        let bytes = match format {
            // Rates come first, and what is higher than a threshold has a probability, which has no unit.
            Format::GeoTiff => {
                if !unit.is_empty() && !args.components {
                    cells.warn_if_coarse(&columns, context)?;
                }
                cells.geotiff(&columns, &vec![unit; columns.len() - thresholds.len()], context)?
            }
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
    let windows: Vec<&Window> =
        std::iter::once(posterior.window()).chain(other.as_ref().map(|other| other.posterior.window())).collect();
    let columns: Vec<Column> = answers(&points)?.into_iter().chain(inside(&points, &windows)).collect();
    if let [Column::Numbers(mean, means), Column::Numbers(_, sds), ..] = &columns[..]
        && values.is_none()
        && ["mean", "ratio_mean"].contains(&mean.as_str())
    {
        warn_of_ruled_means(["at", "points"], means.iter().copied().zip(sds.iter().copied()), context);
    }
    let columns = apart(columns, posterior.window(), context);
    match output.filter(|_| format == Format::GeoJson) {
        Some(path) => context.emit_file(path, layers::points(&model, &points, &columns, context)?.as_bytes())?,
        None => context.emit_columns(output, &[coordinates(&points, posterior.window()), columns].concat())?,
    }
    Ok(Outcome::Done)
}

/// The rates of all types, or how probable each type is, one type below the other.
fn run_of_types(
    args: &PredictArgs,
    (quantiles, thresholds): (&[f64], &[f64]),
    format: Format,
    context: &Context,
) -> Result<Outcome, Failure> {
    let path = &args.model;
    let mut model = ModelFile::read_any(path)?;
    model.posterior = io::covariates::set(&model.posterior, &args.set)?;
    let Some(types) = TypesModel::of(&model) else {
        return Err(format!("--shares: {path} has no types; fit with --type COLUMN").into());
    };
    let types = types?;
    if args.shares && !thresholds.is_empty() {
        return Err("--exceed is of rates and ratios, and --shares are probabilities; leave one of them out"
            .to_string()
            .into());
    }
    let kinds = match args.of.as_deref().map(|of| types.asked(of)).transpose()? {
        None => (0..types.types.names().len()).collect(),
        Some(Of::Type(kind)) => vec![kind],
        Some(Of::Ratio(..)) => {
            return Err(
                format!("--of {}: --shares are of one type; name one", args.of.as_deref().unwrap_or_default()).into()
            );
        }
    };
    if matches!(format, Format::GeoTiff | Format::GeoJson) || args.components || args.over.is_some() {
        return Err(which(path, &types));
    }
    let window = types.model.posterior.window();
    let points = place(&args.place.places, args.place.columns.as_deref(), (window, 0), MOST_POINTS, context)?;
    let names: Vec<&str> = kinds.iter().map(|kind| types.types.names()[*kind].as_str()).collect();
    let mut tables = vec![];
    let shares = match args.shares {
        true => shares(&types, &kinds, &points, quantiles)?,
        false => vec![],
    };
    for kind in kinds {
        let mut columns = coordinates(&points, window);
        if !args.shares {
            let posterior = types.types.of(kind)?;
            columns.extend(apart(answers(&posterior, &points, quantiles, thresholds)?, window, context));
        }
        columns.extend(inside(&points, &[window]));
        tables.push(columns);
    }
    let columns: Vec<Column> = stacked(&names, tables).into_iter().chain(shares).collect();
    context.emit_columns(args.output.as_deref(), &columns)?;
    Ok(Outcome::Done)
}

/// A standard deviation above so many means is that of a few very high rates.
const RULED: f64 = 3.0;

/// Says where means and standard deviations are those of rates that are very high and hardly ever come true, as far away from all events under the log link.
pub fn warn_of_ruled_means([at, what]: [&str; 2], found: impl ExactSizeIterator<Item = (f64, f64)>, context: &Context) {
    let total = found.len();
    let ruled = found.filter(|(mean, sd)| *sd > RULED * mean).count();
    if ruled > 0 {
        context.warn(&format!(
            "{at} {ruled} of {total} {what} the standard deviation is more than {RULED} times the mean: both are those of very high rates that hardly ever come \
             true; read the quantiles"
        ));
    }
}

/// A column of what is called a rate, where that is a ratio.
fn as_ratio(column: Column) -> Column {
    let is_probability = column.name().starts_with("p>");
    let name = format!("ratio_{}", column.name());
    if is_probability { column } else { column.called(name) }
}

/// What is asked of the rate at each point.
fn answers(
    posterior: &Posterior,
    points: &Points,
    quantiles: &[f64],
    thresholds: &[f64],
) -> Result<Vec<Column>, Failure> {
    let mut columns = rates(posterior, points, quantiles)?;
    if !thresholds.is_empty() {
        let higher =
            shown("probabilities of higher rates", |watch| posterior.exceedances_watched(points, thresholds, watch))?;
        columns.extend(of_thresholds(thresholds, higher));
    }
    Ok(columns)
}

/// Mean, standard deviation and quantiles.
fn rates(posterior: &Posterior, points: &Points, probabilities: &[f64]) -> Result<Vec<Column>, Failure> {
    let (Rate { mean, sd }, quantiles) =
        shown("rates and their quantiles", |watch| posterior.rate_and_quantiles_watched(points, probabilities, watch))?;
    let mut columns = vec![Column::Numbers("mean".into(), mean), Column::Numbers("sd".into(), sd)];
    columns.extend(of_quantiles(probabilities, quantiles));
    Ok(columns)
}

/// The model over whose rate that of another is asked for.
struct Other {
    path: String,
    posterior: Posterior,
    /// Ratios are divided by this.
    average: f64,
}

impl Other {
    /// Refuses a model that has nothing to do with the first.
    fn new(
        (path, model): (&str, &ModelFile),
        args: &PredictArgs,
        other: ModelFile,
        context: &Context,
    ) -> Result<Self, Failure> {
        let over = args.over.as_deref().unwrap_or_default();
        let [one, two] = [&model.posterior, &other.posterior];
        let windows = [(path, one.window()), (over, two.window())];
        contrast::check_same_axes(windows, Some(SAME_WINDOW))?;
        // The same km must be the same place.
        let globes =
            |posterior: &Posterior| posterior.window().axes().iter().map(|axis| axis.globe).collect::<Vec<_>>();
        if globes(one) != globes(two) {
            return Err(format!("{path} and {over} have different maps of the globe; {SAME_WINDOW}").into());
        }
        contrast::check_independent([(path, one), (over, two)], "give another model to --over")?;
        contrast::warn_of_shared_events([path, over], [model, &other], context);
        if args.relative && !contrast::is_same_window(one.window(), two.window()) {
            let [one, two] = [one, two].map(|posterior| io::show_window(posterior.window()));
            return Err(format!(
                "--relative divides by the average over one window, and those of {path}, {one}, and {over}, {two}, differ; {SAME_WINDOW}"
            )
            .into());
        }
        if args.relative && !is_looked_at_alike(one.window(), two.window()) {
            return Err(format!(
                "--relative divides by one average, and {path} and {over} were not looked at alike: their exposures or trials differ; leave it out, since with them \
                 the ratio of the rates is the risk itself"
            )
            .into());
        }
        let mean_rate = |model: &ModelFile| model.event_count as f64 / model.posterior.window().measure();
        let average = if args.relative { mean_rate(model) / mean_rate(&other) } else { 1.0 };
        Ok(Self { path: over.into(), posterior: other.posterior, average })
    }

    /// Quantiles of the ratio, and how probable it is that it is higher than thresholds.
    fn ratios(
        &self,
        posterior: &Posterior,
        points: &Points,
        probabilities: &[f64],
        thresholds: &[f64],
        context: &Context,
    ) -> Result<Vec<Column>, Failure> {
        let outside = points.rows().filter(|row| !self.posterior.window().contains(row)).count();
        if outside > 0 {
            let (path, total, shown) = (&self.path, points.len(), io::show_window(self.posterior.window()));
            context.warn(&format!(
                "{outside} of {total} points lie outside the window of {path}, {shown}: the ratio says little there"
            ));
        }
        let inner: Vec<f64> = thresholds.iter().map(|threshold| threshold * self.average).collect();
        let RateRatio { quantiles, exceedances } = shown("ratios of rates", |watch| {
            posterior.rate_ratio_watched(&self.posterior, points, (probabilities, &inner), watch)
        })?;
        let of_average = |values: Vec<f64>| values.into_iter().map(|ratio| ratio / self.average).collect();
        let named = of_quantiles(probabilities, quantiles.into_iter().map(of_average)).into_iter();
        let mut columns: Vec<Column> = named.map(as_ratio).collect();
        columns.extend(of_thresholds(thresholds, exceedances));
        Ok(columns)
    }
}

/// Whether two windows have the same exposure, and each of them as many looks everywhere.
fn is_looked_at_alike(one: &Window, other: &Window) -> bool {
    let evenly = |window: &Window| {
        let pieces = window.pieces();
        pieces.iter().all(|piece| piece.repeats == pieces[0].repeats)
    };
    one.exposure() == other.exposure() && evenly(one) && evenly(other)
}

/// A column for each quantile, ...
fn of_quantiles(probabilities: &[f64], values: impl IntoIterator<Item = Vec<f64>>) -> Vec<Column> {
    probabilities.iter().zip(values).map(|(p, values)| Column::Numbers(format!("q{p}"), values)).collect()
}

/// ... and for each threshold.
pub fn of_thresholds(thresholds: &[f64], values: Vec<Vec<f64>>) -> impl Iterator<Item = Column> {
    thresholds.iter().zip(values).map(|(threshold, higher)| Column::Numbers(format!("p>{threshold}"), higher))
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
                "{outside} of {total} points lie outside the window {shown}: the model says little there, and its quantiles say more than its mean"
            ));
        }
        io::odd_times(&points, axes).iter().for_each(|warning| context.warn(&spelled(warning)));
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

/// Which points lie inside all of some windows, 1 or 0; no column where all do.
pub fn inside(points: &Points, windows: &[&Window]) -> Option<Column> {
    let inside: Vec<u64> = points.rows().map(|row| windows.iter().all(|window| window.contains(row)).into()).collect();
    inside.contains(&0).then(|| Column::Whole("inside".into(), inside))
}

/// Answers beside the coordinates: where one is called as an axis is, all get a name of their own, as in `rate_mean`.
pub fn apart(answers: Vec<Column>, window: &Window, context: &Context) -> Vec<Column> {
    apart_as("rate_", answers, window, context)
}

/// The same with this before the names.
pub fn apart_as(first: &str, answers: Vec<Column>, window: &Window, context: &Context) -> Vec<Column> {
    let is_axis =
        |name: &str| window.axes().iter().any(|axis| axis.name == name || format!("{}_iso", axis.name) == name);
    let Some(taken) = answers.iter().map(Column::name).find(|name| is_axis(name)).map(String::from) else {
        return answers;
    };
    let mut prefix = first.to_string();
    while answers.iter().any(|column| is_axis(&format!("{prefix}{}", column.name()))) {
        prefix.push_str(first);
    }
    context
        .warn(&format!("`{taken}` is an axis of the model: columns of answers are called {prefix}{taken} and so on"));
    answers
        .into_iter()
        .map(|column| (format!("{prefix}{}", column.name()), column))
        .map(|(name, column)| column.called(name))
        .collect()
}

/// The coordinates as columns, on the globe in degrees, then the dates of those that are time.
pub fn coordinates(points: &Points, window: &Window) -> Vec<Column> {
    let axes = window.axes();
    let numbers = axes.iter().enumerate().map(|(r, axis)| {
        Column::Numbers(axis.name.clone(), points.axis(r).iter().map(|&v| io::geography::outward(axis, v)).collect())
    });
    let dates = axes.iter().enumerate().filter_map(|(r, axis)| {
        let time = io::time_axis(axis)?;
        let mut name = format!("{}_iso", axis.name);
        while axes.iter().any(|axis| axis.name == name) {
            name.push_str("_iso");
        }
        Some(Column::Texts(name, points.axis(r).iter().map(|&v| time.to_iso(v)).collect()))
    });
    numbers.chain(dates).collect()
}
