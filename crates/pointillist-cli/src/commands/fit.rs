//! `fit`: events to a model file. Also the fit that `plot` and the demonstration make.

use super::input::{self, Loaded, Peeked};
use super::summarize::{self, Summarised};
use super::summary::{Fitted, Subject, Summary};
use super::{Context, Failure, Outcome, colour, figure, json_line, measured, meter, spec, terminal, types};
use crate::args::{FitArgs, FitOptions};
use crate::io::covariates::{CovariateSettings, CovariateSource};
use crate::io::update::{Names, added, as_before};
use crate::io::{self, ModelFile, SummaryFile, Written};
use crate::options::Mode;
use crate::spelling::{Options, spelled};
use pointillist::watch::FitStage;
use pointillist::{Covariate, Error, Events, Fit, Model, Progress};
use std::ops::ControlFlow;

/// Tables of more bytes than this are summarised first, ...
const LARGE: u64 = 200_000_000;
/// ... and Parquet files of more rows than this.
const MANY_ROWS: u64 = 5_000_000;
/// How long a fit is, beside what is told and drawn of it.
const STAGES: [f64; 2] = [0.9, 0.1];
/// What a byte of gzip holds, about.
const GZIP_GAIN: u64 = 4;

/// 0 or 1.
pub fn outcome(fitted: &Fitted) -> Outcome {
    if fitted.summary.converged { Outcome::Done } else { Outcome::NotConverged }
}

/// Does what was asked for.
pub fn run(args: &FitArgs, context: &Context) -> Result<Outcome, Failure> {
    if let Some(path) = &args.output {
        // Better now than after a long fit.
        io::check_name(path, Written::Model)?;
        io::check_target(path)?;
    }
    if let (Some(latent), None) = (&args.latent, &args.types) {
        let said = format!("--latent {latent} is for types of events; name their column with --type, or leave it out");
        return Err(said.into());
    }
    if let Some(column) = &args.types {
        return types::fit(column, args, context);
    }
    if let Some(column) = &args.value {
        return measured::fit(column, args, context);
    }
    if let Some(table) = &args.measured {
        return Err(
            format!("--measured {table} needs the name of the column that was measured; give --value COLUMN").into()
        );
    }
    let mut fitted = fit_given(args, context)?;
    fitted.model.command = Some(context.typed.command().into());
    // Numbers that must not leave are found before the model is written.
    json_line(&fitted.summary)?;
    if let Some(path) = &args.output {
        write(&fitted.model, path)?;
    }
    say(args, context, || text(&fitted.summary, &fitted.model, context))?;
    Ok(outcome(&fitted))
}

/// Prints what a fit has to say, and where its model went.
pub(super) fn say(
    args: &FitArgs,
    context: &Context,
    text: impl FnOnce() -> Result<String, Failure>,
) -> Result<(), Failure> {
    // With the model itself on stdout there is no room for anything else.
    if !is_stdout(args) && (context.json() || !context.quiet()) {
        io::stdout_text(&text()?)?;
    }
    match &args.output {
        Some(path) if !is_stdout(args) => context.note(&format!("wrote {}", path.display())),
        Some(_) => {}
        None => context.note("the model was not saved; to keep it, add -o model.json"),
    }
    Ok(())
}

/// Prints the summary of a model.
pub fn print(summary: &Summary, model: &ModelFile, context: &Context) -> Result<(), Failure> {
    Ok(io::stdout_text(&text(summary, model, context)?)?)
}

/// The summary of a model, with a picture on a terminal; or as JSON.
fn text(summary: &Summary, model: &ModelFile, context: &Context) -> Result<String, Failure> {
    if context.json() {
        return json_line(summary);
    }
    let (width, is_terminal) = terminal();
    let mut text = summary.text(&model.source, &Options);
    if is_terminal && let Ok(figure) = figure::of_model(model, &Default::default()) {
        text += &format!("\n{}", figure.terminal(width, 14, colour()));
    }
    Ok(text)
}

/// Fits what was given: summaries, tables by way of a summary, or the events of one table.
fn fit_given(args: &FitArgs, context: &Context) -> Result<Fitted, Failure> {
    let (paths, options) = (&args.events, &args.options);
    let mut given = Peeked::look_at(paths)?;
    let (summaries, tables): (Vec<_>, Vec<_>) = given.iter().partition(|given| given.is_summary());
    if let (Some(summary), Some(table)) = (summaries.first(), tables.first()) {
        let (summary, table) = (summary.path(), table.path());
        return Err(format!(
            "{summary} is a summary and {table} is not; summarise {table} first, with `pointillist summarize {table} -o SUMMARY`"
        )
        .into());
    }
    let has_covariates = !covariate_settings(args).is_empty();
    if has_covariates && (paths.len() > 1 || !summaries.is_empty()) {
        let why =
            "needs to know where each event is, and summaries and several tables do not say; give one table of events";
        return Err(format!("--covariate {why}").into());
    }
    if !summaries.is_empty() {
        context.refuse_idle(Mode::SummaryFitted(&paths[0]))?;
        let file = SummaryFile::read_all(given.iter_mut().map(Peeked::open))?;
        return fit_summary(Summarised { file, warnings: Vec::new() }, args, context);
    }
    if let Some(model) = &args.update {
        let table = &paths[0];
        return Err(format!(
            "--update {model} adds a summary; make one of {table} with the same --window, with `pointillist summarize`"
        )
        .into());
    }
    let is_several = paths.len() > 1;
    if is_several && options.exact {
        return Err("--exact fits the events of one table; join the tables, or leave it out".to_string().into());
    }
    let has_trials = options.events.trials.is_some() || options.events.trial_column.is_some();
    if is_several || !options.exact && !has_trials && !has_covariates && is_large(&mut given[0])? {
        let why = if is_several { "several tables are" } else { "a table so large is" };
        context.note(&format!("{why} summarised first, and the summary is fitted"));
        let summarised = summarize::events(given, &options.events, None, context)?;
        return fit_summary(summarised, args, context);
    }
    let bytes = given[0].open()?.table()?;
    let mut loaded = input::events_from(&paths[0], &bytes, &options.events)?;
    let covariates = covariates(args, &bytes, &loaded.events, &mut loaded.warnings)?;
    fit_with(loaded, options, covariates, context)
}

fn covariate_settings(args: &FitArgs) -> CovariateSettings {
    CovariateSettings {
        sources: args.covariate.iter().cloned().map(CovariateSource::Path).collect(),
        epsg: None,
        categorical: args.categorical.clone(),
        spline: args.spline.clone(),
    }
}

/// The covariates that are asked for, beside the events of one table.
pub fn covariates(
    args: &FitArgs,
    bytes: &[u8],
    events: &Events,
    warnings: &mut Vec<String>,
) -> Result<Vec<Covariate>, Failure> {
    let covariates = io::covariates::read_covariates(&covariate_settings(args), events)?;
    let path = &args.events[0];
    for covariate in io::covariates::columns_beside((path, bytes), &args.options.events.rows.settings(), &covariates)? {
        let column = Some(covariate.name().to_string());
        let settings = io::EventSettings { type_column: column, ..args.options.events.settings() };
        let read = input::events_with(path, bytes, &settings).ok();
        let column = read.as_ref().and_then(|read| Some((read.events.points(), read.types.as_ref()?)));
        warnings.push(io::covariates::not_used(path, covariate, column));
    }
    Ok(covariates)
}

/// Whether a table has more events than should be held. How many come out of a pipe nobody knows.
fn is_large(given: &mut Peeked) -> Result<bool, Failure> {
    if !given.can_be_read_again() {
        return Ok(false);
    }
    let opened = given.open()?;
    let (bytes, is_gzip) = (opened.size().unwrap_or(0), opened.is_gzip());
    if let Some(rows) = opened.parquet_rows()? {
        return Ok(rows > MANY_ROWS);
    }
    let gain = if is_gzip { GZIP_GAIN } else { 1 };
    Ok(bytes.saturating_mul(gain) > LARGE)
}

/// Fits a summary of what was given as the options say, and says its warnings. With `--update` it is added to that of the model, from
/// which the fit then starts.
fn fit_summary(summarised: Summarised, args: &FitArgs, context: &Context) -> Result<Fitted, Failure> {
    let (options, mut source) = (&args.options, summarize::names(&args.events));
    let Summarised { mut file, warnings } = summarised;
    let before = args.update.as_deref().map(ModelFile::read).transpose()?;
    if let (Some(before), Some(path)) = (&before, &args.update) {
        context.refuse_idle(Mode::ModelUpdated(path))?;
        file = added(before, file, Names { model: path, summary: &args.events[0] })?;
        source = format!("{} and {source}", before.source);
    }
    if let Some(name) = spec::repeated(&file.sources) {
        context.warn(&format!(
            "two of the sources are called {name}: if they are the same, its events count twice; give it once"
        ));
    }
    let window = file.summary.window();
    let model = spec::model(options, window.axes(), context)?;
    let model = match &before {
        Some(before) => as_before(model, before, &options.settings()),
        None => model,
    };
    let fit = watched(|watch| match &before {
        Some(before) => model.update_watched(&before.posterior, &file.summary, watch),
        None => model.fit_summary_watched(&file.summary, watch),
    });
    let fit = fit.map_err(|error| spec::fault(error, options))?;
    let subject = Subject::of_summary(&file, &fit, source, warnings);
    Ok(fitted(&model, fit, subject, context))
}

fn is_stdout(args: &FitArgs) -> bool {
    args.output.as_deref() == Some(std::path::Path::new("-"))
}

pub(super) fn write(model: &ModelFile, path: &std::path::Path) -> Result<(), Failure> {
    if path == std::path::Path::new("-") {
        io::stdout_text(&model.to_json())?
    } else {
        model.write(path)?
    }
    Ok(())
}

/// Fits events as the options say, and says its warnings.
pub fn fit(loaded: Loaded, options: &FitOptions, context: &Context) -> Result<Fitted, Failure> {
    fit_with(loaded, options, vec![], context)
}

fn fit_with(
    loaded: Loaded,
    options: &FitOptions,
    covariates: Vec<Covariate>,
    context: &Context,
) -> Result<Fitted, Failure> {
    loaded.refuse_idle(context)?;
    let Loaded { events, trials, source, mut warnings, .. } = loaded;
    options.settings().check_cycles(events.window())?;
    let model = Model { covariates, ..spec::model(options, events.window().axes(), context)? };
    let fit = watched(|watch| model.fit_watched(&events, watch)).map_err(|error| spec::fault(error, options))?;
    warnings.extend(io::outage(&fit.posterior, events.points()).as_ref().map(spelled));
    let subject = Subject::of_events(&events, trials, source, warnings);
    Ok(fitted(&model, fit, subject, context))
}

/// What is to be kept and said of a fit; its warnings are said.
fn fitted(model: &Model, fit: Fit, subject: Subject, context: &Context) -> Fitted {
    for (lengthscale, bound) in &fit.report.starts {
        context.detail(&format!("start: length-scale {lengthscale} of the window, bound {bound:.4}"));
    }
    let fitted = Fitted::new(model, fit, subject);
    let doubt = fitted.summary.not_converged().as_ref().map(spelled);
    fitted.summary.warnings.iter().chain(&doubt).for_each(|warning| context.warn(warning));
    fitted
}

/// The fit itself, which can be interrupted and shows its progress on a terminal.
pub(super) fn watched<T>(
    fit: impl FnOnce(&mut dyn FnMut(&Progress) -> ControlFlow<()>) -> Result<T, Error>,
) -> Result<T, Error> {
    meter::plan(&STAGES);
    meter::stage(FitStage::Search.as_str());
    let mut watch = |progress: &Progress| {
        let Progress { stage, size, part, .. } = progress;
        meter::show(&format!("{}, {size} unknowns", stage.as_str()), *part);
        ControlFlow::Continue(())
    };
    let fit = fit(&mut watch);
    meter::stage("looking at the answer");
    fit
}
