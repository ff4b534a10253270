//! `fit`: events to a model file. Also the fit that `plot` and the demonstration make.

use super::input::{self, Loaded};
use super::meter::Meter;
use super::summary::Summary;
use super::{Context, Failure, Outcome, colour, figure, json_line, spec, terminal};
use crate::args::{FitArgs, FitOptions};
use crate::io::{self, KeptEvents, MOST_EVENTS, ModelFile};
use crate::{interrupt, plot};
use pointillist::{Error, Events, Fit, Model, Progress};
use std::ops::ControlFlow;

/// A model just fitted, and what there is to say.
pub struct Fitted {
    /// As it goes into a file.
    pub model: ModelFile,
    /// What it has to say.
    pub summary: Summary,
}

impl Fitted {
    /// 0 or 1.
    pub fn outcome(&self) -> Outcome {
        if self.summary.converged { Outcome::Done } else { Outcome::NotConverged }
    }
}

/// Does what was asked for.
pub fn run(args: &FitArgs, context: &Context) -> Result<Outcome, Failure> {
    if let Some(path) = &args.output {
        // Better now than after a long fit.
        io::check_target(path)?;
    }
    let fitted = fit(input::events(&args.events, &args.options.events)?, &args.options, context)?;
    if let Some(path) = &args.output {
        write(&fitted.model, path)?;
    }
    let (width, is_terminal) = terminal();
    if context.json() {
        // With the model itself on stdout there is no room for anything else.
        if !is_stdout(args) {
            io::stdout_text(&json_line(&fitted.summary)?)?;
        }
    } else if !context.quiet() && !is_stdout(args) {
        let mut text = fitted.summary.text(&fitted.model.source);
        if is_terminal && let Ok(figure) = figure::of_model(&fitted.model, &Default::default()) {
            text += &format!("\n{}", plot::terminal(&figure, width, 14, colour()));
        }
        io::stdout_text(&text)?;
    }
    match &args.output {
        Some(path) if !is_stdout(args) => context.note(&format!("wrote {}", path.display())),
        Some(_) => {}
        None => context.note("the model was not saved; to keep it, add -o model.json"),
    }
    Ok(fitted.outcome())
}

fn is_stdout(args: &FitArgs) -> bool {
    args.output.as_deref() == Some(std::path::Path::new("-"))
}

fn write(model: &ModelFile, path: &std::path::Path) -> Result<(), Failure> {
    if path == std::path::Path::new("-") {
        io::stdout_text(&model.to_json())?
    } else {
        model.write(path)?
    }
    Ok(())
}

/// Fits events as the options say, and says its warnings.
pub fn fit(loaded: Loaded, options: &FitOptions, context: &Context) -> Result<Fitted, Failure> {
    let Loaded { events, trials, source, warnings } = loaded;
    let model = spec::model(options, events.window().axes())?;
    let fit = watched(&model, &events, context).map_err(|error| spec::fault(error, options))?;
    for (lengthscale, bound) in &fit.report.starts {
        context.detail(&format!("start: length-scale {lengthscale} of the window, bound {bound:.4}"));
    }
    let summary = Summary::new(&model, &events, &fit, warnings);
    for warning in &summary.warnings {
        context.warn(warning);
    }
    if !summary.converged {
        context.warn(match summary.stop {
            "max_evaluations" => {
                "the fit did not converge: the evaluations allowed were used up; allow more with --max-evaluations"
            }
            _ => "the fit did not converge: no better point was found; try fewer inducing points or nodes, or a larger --jitter",
        });
    }
    let kept = (events.len() <= MOST_EVENTS).then(|| KeptEvents { points: events.points().clone(), trials });
    let model = ModelFile {
        source,
        summary: summary.for_file(),
        posterior: fit.posterior,
        event_count: events.len(),
        events: kept,
    };
    Ok(Fitted { model, summary })
}

/// The fit itself, which can be interrupted and shows its progress on a terminal.
fn watched(model: &Model, events: &Events, context: &Context) -> Result<Fit, Error> {
    let mut meter = Meter::new(context);
    let _fitting = interrupt::Fitting::begin();
    let mut watch = |progress: &Progress| {
        let Progress { evaluations, bound, size, .. } = progress;
        meter.show(|| format!("fitting: {evaluations} evaluations, bound {bound:.4}, {size} unknowns"));
        if interrupt::asked() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let fit = model.fit_watched(events, &mut watch);
    meter.clear();
    fit
}
