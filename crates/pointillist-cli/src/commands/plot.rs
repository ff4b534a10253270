//! `plot`: a figure of a model, or of events, which are fitted first.

use super::figure::{self, Look};
use super::{Context, Failure, Outcome, colour, fit, input, json_line, spec, terminal};
use crate::args::PlotArgs;
use crate::io::{self, KeptEvents, ModelFile};
use crate::options::Mode;
use std::path::Path;

/// Pixels of a PNG for each unit of the SVG.
const PNG_SCALE: f64 = 2.0;
/// Lines of a terminal picture.
const LINES: usize = 20;

/// The formats of figures.
enum Format {
    Svg,
    Png,
}

/// Does what was asked for.
pub fn run(args: &PlotArgs, context: &Context) -> Result<Outcome, Failure> {
    if context.json() {
        context.refuse_idle(if args.output.is_some() { Mode::PictureAsJson } else { Mode::NoPicture })?;
    }
    let format = args.output.as_deref().map(format).transpose()?;
    if let Some(path) = &args.output {
        io::check_target(path)?;
    }
    let look = Look { band: band(&args.quantiles)?, title: args.title.clone() };
    let (mut model, outcome) = subject(args, context)?;
    if let Some(path) = &args.overlay {
        let points = input::points(path, None, model.posterior.window().axes(), &args.options.events.rows)?.points;
        model.events = Some(KeptEvents { points, trials: None });
    }
    let figure = figure::of_model(&model, &look)?;
    if context.json() {
        io::stdout_text(&json_line(&serde_json::json!({ "figure": args.output, "events": model.event_count }))?)?;
    } else if args.terminal || args.output.is_none() {
        io::stdout_text(&figure.terminal(terminal().0, LINES, colour()))?;
    }
    if let (Some(path), Some(format)) = (&args.output, format) {
        let bytes = match format {
            Format::Svg => figure.svg().into_bytes(),
            Format::Png => figure.png(PNG_SCALE)?,
        };
        io::write_atomically(path, &bytes)?;
        context.note(&format!("wrote {}", path.display()));
    }
    Ok(outcome)
}

/// By the end of the name.
fn format(path: &Path) -> Result<Format, Failure> {
    let extension = path.extension().map(|extension| extension.to_string_lossy().to_ascii_lowercase());
    match extension.as_deref() {
        Some("svg") => Ok(Format::Svg),
        Some("png") => Ok(Format::Png),
        Some("html") => Err(format!("{}: .html is not in this version; use .svg or .png", path.display()).into()),
        _ => Err(format!("{}: the name of a figure must end in .svg or .png", path.display()).into()),
    }
}

fn band(text: &str) -> Result<(f64, f64), Failure> {
    match spec::quantiles(text)?[..] {
        [lower, upper] if lower < upper => Ok((lower, upper)),
        _ => Err(format!("--quantiles {text}: a band has a lower and an upper quantile, as in 0.05,0.95").into()),
    }
}

/// The model given, or one fitted to the events given.
fn subject(args: &PlotArgs, context: &Context) -> Result<(ModelFile, Outcome), Failure> {
    let path = &args.subject;
    let opened = input::open(path)?;
    if opened.is_json() {
        let model = ModelFile::from_bytes(io::source_name(path), &opened.document(io::MODEL_GROWTH)?)?;
        context.refuse_idle(Mode::ModelPlotted(path))?;
        refuse_for_axes(model.posterior.window().dims(), context)?;
        return Ok((model, Outcome::Done));
    }
    let loaded = input::events_from(path, &opened.table()?, &args.options.events)?;
    if loaded.events.window().dims() > 2 {
        let dims = loaded.events.window().dims();
        return Err(format!("a figure shows one or two axes, and there are {dims}; choose some with --columns").into());
    }
    refuse_for_axes(loaded.events.window().dims(), context)?;
    let fitted = fit::fit(loaded, &args.options, context)?;
    let outcome = fit::outcome(&fitted);
    Ok((fitted.model, outcome))
}

fn refuse_for_axes(dims: usize, context: &Context) -> Result<(), Failure> {
    if dims == 2 { context.refuse_idle(Mode::Map) } else { Ok(()) }
}
